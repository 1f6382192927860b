"""Sleeping and waking: carries out what the stage `kido.simulation.sleep` found, and keeps sleepers' contacts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.collision.detector import CONTACT_FIELDS, OLD_CONTACT_FIELDS, OLD_PAIR_FIELDS, PAIR_FIELDS
from kido.jit import Struct
from kido.jit.kept import FINITE, FLAG, NOT_NEGATIVE, checked_array, checked_arrays, index
from kido.simulation.feature import Feature
from kido.simulation.motion import Motion
from kido.simulation.options import Sleeping
from kido.simulation.sleep import SLEEP, sleep_begin, sleep_check, sleep_end
from kido.simulation.step import AT_END
from kido.simulation.world_struct import BEGIN, CHECK, END

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


_STATE = {
    "asleep": FLAG,
    "island": index("trees"),
    "quiet": NOT_NEGATIVE,
    "length": NOT_NEGATIVE,
    **dict.fromkeys(("q", "tau", "command", "external", "gravity"), FINITE),
}
_KEPT = ("limit_impulse", "friction_impulse", "actuator_impulse", "constraint_force", "actuator_force")


class Sleepers(Feature):
    """The sleeping parts of an engine."""

    key = "sleepers"
    engine: Engine

    def __init__(self, engine: Engine):
        super().__init__(engine)
        self._rule: Sleeping | None = None

    def stages(self) -> dict[str | int, Any]:
        return {} if self._rule is None else {BEGIN: sleep_begin, CHECK: sleep_check, END: sleep_end}

    @property
    def own_struct(self) -> Struct | None:
        return self.container if self.is_active else None

    def options_changed(self) -> None:
        engine = self.engine
        if not engine.is_adopted:
            return
        rule = engine.options.sleeping if engine.feature(Motion).is_staged and engine.extra_dofs == 0 else None
        if rule is None:
            self.wake_all()
        elif self._rule is None:
            self._start()
        self._rule = rule
        if rule is not None:
            self.container.speed, self.container.time = rule.speed, rule.time

    def _start(self) -> None:
        engine, tree = self.engine, self.engine.tree
        dofs, trees = len(engine.data.q), len(engine.skeletons)
        self.container = SLEEP(dofs=dofs, trees=trees, bodies=len(tree.parent))
        self.tree_of_dof = np.repeat(np.arange(trees), np.diff(tree.tree_dof))
        self.mobile = tree.tree_mobile.copy()
        self.moves = tree.moves.copy()
        self.store = self._empty()
        self.set_lengths()

    def _empty(self) -> dict[str, np.ndarray]:
        """No pairs and no contacts."""
        c = self.engine.detector.container
        return {f: getattr(c, f)[:0].copy() for f in (*PAIR_FIELDS, *CONTACT_FIELDS)}

    def set_lengths(self) -> None:
        """Take from the skeletons who may sleep, and the speeds of their coordinates per velocity."""
        for tree_index, skeleton in enumerate(self.engine.skeletons):
            self._set_permission(tree_index)
            own = self._dofs(tree_index)
            if skeleton.mobile and own.stop > own.start:
                self.container.length[own] = coordinate_lengths(skeleton)

    # What the engine tells -------------------------------------------------------------------------------

    def begin_run(self) -> None:
        self.wake_disturbed()

    def answer(self, stage: int) -> None:
        if stage == AT_END and self.is_active and self.container.chosen.any():
            self.put_to_sleep()

    def properties_changed(self) -> None:
        if self.is_active:
            self.wake_all()
            self.set_lengths()

    def surfaces_changed(self) -> None:
        self.wake_all()

    def disturb(self, trees: Iterable[int]) -> None:
        self.wake(trees)

    def add_contacts(self, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if not self.is_active:
            return found
        return {f: np.concatenate([values, self.store[f]]) for f, values in found.items()}

    def _dofs(self, tree_index: int) -> slice:
        first = self.engine.tree.tree_dof
        return slice(int(first[tree_index]), int(first[tree_index + 1]))

    def permission_changed(self, skeleton: Any) -> None:
        """A skeleton may sleep from now on, or must not."""
        if self.is_active:
            tree_index = self.engine.skeletons.index(skeleton)
            self.wake([tree_index])
            self._set_permission(tree_index)

    def _set_permission(self, tree_index: int) -> None:
        """Take from a skeleton whether it may sleep."""
        skeleton, own = self.engine.skeletons[tree_index], self._dofs(tree_index)
        self.container.may[tree_index] = int(
            skeleton.can_sleep
            and skeleton.mobile
            and own.stop > own.start
            and not skeleton.soft_bodies
            and skeleton not in self.engine.controlled
        )

    def is_asleep(self, skeleton: Any) -> bool:
        """Whether a skeleton sleeps."""
        self.wake_disturbed()
        return self.is_active and bool(self.container.asleep[self.engine.skeletons.index(skeleton)])

    # Going to sleep --------------------------------------------------------------------------------------

    def put_to_sleep(self) -> None:
        """Put the trees to sleep that the stage chose after a step."""
        engine, s = self.engine, self.container
        d, world, row_origins = engine.data, engine.world, engine.row_origins
        chosen = np.flatnonzero(s.chosen)
        s.asleep[chosen] = 1
        s.island[chosen] = s.root[chosen]
        dofs = np.flatnonzero(s.chosen[self.tree_of_dof])
        bodies = np.flatnonzero(s.chosen[engine.tree.tree_of_body])
        d.u[dofs] = 0.0
        d.udot[dofs] = 0.0
        s.q[dofs] = d.q[dofs]
        s.tau[dofs], s.command[dofs] = d.tau[dofs], d.command[dofs]
        s.external[bodies] = d.external[bodies]
        for name in _KEPT:
            getattr(s, name)[dofs] = getattr(row_origins if name.endswith("impulse") else world, name)[dofs]
        still = self.mobile[self.tree_of_dof] == 0
        s.q[still] = d.q[still]
        s.gravity[:] = engine.tree.gravity
        self._set_moving(chosen, False)
        self._put_aside()

    def _set_moving(self, trees: np.ndarray, moving: bool) -> None:
        tree, c = self.engine.tree, self.engine.detector.container
        mask = np.zeros(len(self.mobile), bool)
        mask[trees] = True
        bodies = mask[tree.tree_of_body]
        tree.tree_mobile[trees] = self.mobile[trees] if moving else 0
        tree.moves[bodies] = self.moves[bodies] if moving else 0
        c.body_moving[bodies] = tree.moves[bodies]

    def _put_aside(self) -> None:
        """Move the pairs and contacts of bodies that do not move from the detector to the store."""
        c = self.engine.detector.container
        pairs = c.num_pairs
        body = c.shape_body
        moving = c.body_moving[body[c.pair_a[:pairs]]] + c.body_moving[body[c.pair_b[:pairs]]] > 0
        if moving.all():
            return
        present = {f: getattr(c, f)[:pairs] for f in PAIR_FIELDS}
        present |= {f: getattr(c, f)[: c.num_contacts] for f in CONTACT_FIELDS}
        aside = chosen_pairs(present, np.flatnonzero(~moving))
        left = chosen_pairs(present, np.flatnonzero(moving))
        self._write(left)
        self._set_store(joined([self.store, aside]))

    def _write(self, pairs: dict[str, np.ndarray]) -> None:
        """Make pairs with their contacts the present ones of the detector."""
        detector = self.engine.detector
        detector.set_state(pairs)
        c = detector.container
        c.num_pairs, c.num_contacts = len(pairs["pair_a"]), len(pairs["gap"])
        self.engine.link()

    def _set_store(self, store: dict[str, np.ndarray]) -> None:
        self.store = store
        self.container.stored = len(store["gap"])
        self.container.deepest = max(0.0, -float(store["gap"].min(initial=0.0)))

    # Waking ----------------------------------------------------------------------------------------------

    def wake(self, trees: Iterable[int]) -> None:
        """Wake trees and all that fell asleep with them; their contacts are the detector's again."""
        if not self.is_active:
            return
        s = self.container
        islands = {int(s.island[p]) for p in trees if s.asleep[p]}
        if not islands:
            return
        islands |= self._carried(islands)
        woken = np.flatnonzero((s.asleep != 0) & np.isin(s.island, list(islands)))
        s.asleep[woken] = 0
        s.quiet[woken] = 0.0
        self._set_moving(woken, True)
        c = self.engine.detector.container
        body = c.shape_body
        moving = c.body_moving[body[self.store["pair_a"]]] + c.body_moving[body[self.store["pair_b"]]] > 0
        if not moving.any():
            return
        back = chosen_pairs(self.store, np.flatnonzero(moving))
        self._set_store(chosen_pairs(self.store, np.flatnonzero(~moving)))
        pairs = c.num_pairs
        present = {f: getattr(c, f)[:pairs] for f in PAIR_FIELDS}
        present |= {f: getattr(c, f)[: c.num_contacts] for f in CONTACT_FIELDS}
        both = joined([present, back])
        self._write(chosen_pairs(both, np.lexsort((both["pair_b"], both["pair_a"]))))

    def _carried(self, islands: set[int]) -> set[int]:
        """Islands that touch kinematic ones among these, which push nothing and are pushed by nothing."""
        s, tree, c = self.container, self.engine.tree, self.engine.detector.container
        driven = [p for p in islands if self.engine.skeletons[p].kinematic]
        touching = self.store["pair_count"] > 0
        one, two = (tree.tree_of_body[c.shape_body[self.store[f][touching]]] for f in ("pair_a", "pair_b"))
        beside = np.concatenate([two[np.isin(one, driven)], one[np.isin(two, driven)]])
        return set(s.island[beside[s.asleep[beside] != 0]].tolist())

    def wake_all(self) -> None:
        """Wake all trees."""
        if self.is_active:
            self.wake(np.flatnonzero(self.container.asleep).tolist())

    def undo_step(self) -> None:
        """Wake the trees that the stage chose at a solution, and go back to before the step."""
        if not self.is_active:
            return
        engine, s = self.engine, self.container
        c, d = engine.detector.container, engine.data
        awake = engine.tree.tree_mobile[self.tree_of_dof] != 0
        d.q[awake], d.u[awake] = s.start_q[awake], s.start_u[awake]
        # The contacts before the step, as far as they are known.
        pairs = c.num_old_pairs
        contacts = int(c.old_pair_count[:pairs].sum())
        for field, old in zip(PAIR_FIELDS, OLD_PAIR_FIELDS, strict=True):
            getattr(c, field)[:pairs] = getattr(c, old)[:pairs]
        for old in OLD_CONTACT_FIELDS:
            getattr(c, old.removeprefix("old_"))[:contacts] = getattr(c, old)[:contacts]
        c.num_pairs, c.num_contacts, c.pending = pairs, contacts, 0
        self.wake(np.flatnonzero(s.chosen).tolist())

    def wake_disturbed(self) -> None:
        """Wake the trees whose state, commands or external forces were changed since they fell asleep.

        All of them if gravity was changed, or an immobile skeleton was moved.
        """
        if not (self.is_active and self.container.asleep.any()):
            return
        engine, s = self.engine, self.container
        d, tree = engine.data, engine.tree
        asleep = s.asleep[self.tree_of_dof] != 0
        still = self.mobile[self.tree_of_dof] == 0
        if not np.array_equal(s.gravity, tree.gravity) or (d.q[still] != s.q[still]).any():
            self.wake_all()
            return
        changed = (d.q != s.q) | (d.u != 0.0) | (d.tau != s.tau) | (d.command != s.command)
        trees = self.tree_of_dof[changed & asleep]
        if d.has_external.any() or s.external.any():
            other = (d.external != s.external).any(axis=1) & (s.asleep[tree.tree_of_body] != 0)
            trees = np.concatenate([trees, tree.tree_of_body[other]])
        if len(trees):
            self.wake(np.unique(trees).tolist())

    # State -----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any] | None:
        if not self.is_active:
            return None
        s = self.container
        kept = np.stack([getattr(s, name) for name in _KEPT], axis=1)
        store = {k: v.copy() for k, v in self.store.items()}
        return {**{f: getattr(s, f).copy() for f in _STATE}, "kept": kept, "store": store}

    def checked_state(self, state: Any, where: str) -> dict[str, Any] | None:
        if state is None or not self.is_active:
            return None
        found: dict[str, Any] = checked_arrays(self.container, _STATE, state, where)
        shape = len(self.container.q), len(_KEPT)
        found["kept"] = checked_array(state.get("kept"), "f", shape, FINITE, f"{where}.kept")
        found["store"] = self.engine.detector.checked_pairs(state.get("store"), f"{where}.store")
        return found

    def set_state(self, state: dict[str, Any] | None) -> None:
        if not self.is_active:
            return
        s = self.container
        trees = np.arange(len(self.mobile))
        s.asleep[:] = 0
        s.quiet[:] = 0.0
        self._set_moving(trees, True)
        self._set_store(self._empty())
        if state is None:
            return
        for field in _STATE:
            getattr(s, field)[...] = state[field]
        for column, name in enumerate(_KEPT):
            getattr(s, name)[:] = state["kept"][:, column]
        self._set_moving(np.flatnonzero(s.asleep), False)
        self._set_store({f: state["store"][f].copy() for f in (*PAIR_FIELDS, *CONTACT_FIELDS)})


def coordinate_lengths(skeleton: Any) -> np.ndarray:
    """sqrt(M_kk / m) of each coordinate, m the mass that it moves; 1 where it moves none."""
    mass = np.array([body.mass for body in skeleton.bodies])
    for body in reversed(skeleton.bodies):
        if body.parent is not None:
            mass[body.parent.index] += mass[body.index]
    moved = np.array([mass[dof.joint.child.index] for dof in skeleton.dofs])
    inertia = np.diag(skeleton.mass_matrix)
    return np.sqrt(np.divide(inertia, moved, out=np.ones_like(moved), where=(moved > 0.0) & (inertia > 0.0)))


def chosen_pairs(pairs: dict[str, np.ndarray], which: np.ndarray) -> dict[str, np.ndarray]:
    """Some of the pairs, in the given order, with their contacts end to end."""
    chosen = {f: pairs[f][which] for f in PAIR_FIELDS}
    first, count = chosen["pair_first"], chosen["pair_count"]
    starts = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    contacts = np.arange(starts[-1]) + np.repeat(first - starts[:-1], count)
    chosen["pair_first"] = starts[:-1]
    return chosen | {f: pairs[f][contacts] for f in CONTACT_FIELDS}


def joined(trees: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Pairs with their contacts, one set after another."""
    whole = {f: np.concatenate([p[f] for p in trees]) for f in (*PAIR_FIELDS, *CONTACT_FIELDS)}
    shift = np.repeat([0, *np.cumsum([len(p["gap"]) for p in trees])[:-1]], [len(p["pair_a"]) for p in trees])
    whole["pair_first"] = whole["pair_first"] + shift.astype(np.int64)
    return whole
