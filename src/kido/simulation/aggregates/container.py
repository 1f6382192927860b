"""Which skeletons of a world have loops that are aggregates of their trees, and their containers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.constraints.loop_schema import LOOPS
from kido.dynamics.embedding.container import embed
from kido.dynamics.registry import AUTO
from kido.dynamics.schema import DYNAMICS
from kido.errors import StateError
from kido.integrators import MoreauMidpoint
from kido.jit import Struct
from kido.jit.kept import FINITE, FLAG, checked_arrays, index, up_to
from kido.joints import ActuatorType
from kido.simulation.aggregates.answers import look_for_void_rows
from kido.simulation.world_struct import AGGREGATE_STEP
from kido.tree.schema import DATA

if TYPE_CHECKING:
    from kido.constraints.constraint import Constraint
    from kido.simulation.engine import Engine

VOID_SAMPLES = 4  # positions at which rows that nothing moves are looked for
MAX_PLACES, MAX_COLUMNS = 40, 12  # coordinates of an aggregate, and independent ones of them: what is larger costs more
OWN_AT_END = ("S", "K", "X", "xb", "point", "A", "f", "h", "D", "g", "y", "w", "F", "P", "rest")
# What the next step depends on; the rest of a partition follows.
_KEPT = {
    "kept": index("rows"),
    "solved": index("places"),
    "rank": up_to("rows"),
    **dict.fromkeys(("row_scale", "weak", "steep", "least", "largest", "lever"), FINITE),
}
_KEPT_OF_STEP = {"anew": FLAG}
_PREFIX = "compound_"


class _Rows:
    """What `embed` takes for a system: rows of a world's groups, by the slots that they have there.

    Links of skeletons that do not move are the world to it.
    """

    def __init__(self, engine: Engine, loops: Struct, joined: list[Constraint], groups: np.ndarray):
        tree = engine.tree
        self.tree, self.constraints = tree, joined
        self.loops = SimpleNamespace(**{name: getattr(loops, name) for name in LOOPS.arrays})
        still = np.append(
            tree.tree_mobile[tree.tree_of_body[: len(tree.parent)]] == 0, True
        )  # the last one: of link -1
        self.loops.body_a = np.where(still[loops.body_a], -1, loops.body_a)
        self.loops.body_b = np.where(still[loops.body_b], -1, loops.body_b)
        slots = int(loops.group_slot[loops.num_groups])
        self.slots = [-1] * slots
        for g in groups:
            for s in range(int(loops.group_slot[g]), int(loops.group_slot[g + 1])):
                self.slots[s] = int(loops.slot[s])


class AggregateLoops:
    """Containers of the aggregates of a world's skeletons.

    Args:
        engine: of the world.
        loops: its LOOPS.
        joined: the constraints that it holds.

    Attributes:
        container: AGGREGATE_STEP.
        any: whether some skeleton has loops that may be aggregates.
    """

    def __init__(self, engine: Engine, loops: Struct, joined: list[Constraint]):
        tree = engine.tree
        groups = loops.num_groups
        alone = np.array([g for g in range(groups) if _may_fit(engine, loops, g)], np.int64)
        system: Any = _Rows(engine, loops, joined, alone)
        self.embedding = embed(system)
        fits = np.array([g for g in alone if self._fits(tree, loops, g)], np.int64)
        if len(fits) < len(alone):
            system = _Rows(engine, loops, joined, fits)
            self.embedding = embed(system)
        self.any = len(fits) > 0
        if not self.any:
            return
        bodies, dofs = len(tree.parent), max(len(tree.body_of_dof), 1)
        e = self.embedding
        self.end_embedding = e.sharing(**{name: np.zeros_like(getattr(e, name)) for name in OWN_AT_END})
        self.end_data = DATA(**{name: np.zeros_like(getattr(engine.data, name)) for name in DATA.arrays})
        self.dynamics = DYNAMICS(bodies=1, dofs=1, slots=max(len(system.slots), 1), rows=1)
        self.container = AGGREGATE_STEP(groups=max(groups, 1), bodies=bodies, dofs=dofs, aggregates=len(e.parent))
        self._look_for_void_rows(engine, loops)
        self.container.fits[fits] = 1
        self.container.anew[:] = 1
        z: Any = self.container
        z.embedding, z.dynamics, z.end_data, z.end_embedding = e, self.dynamics, self.end_data, self.end_embedding
        for g in fits:
            tree_index = int(loops.member[loops.group_member[g]])
            mass = float(tree.mass[int(tree.tree_body[tree_index]) : int(tree.tree_body[tree_index + 1])].sum())
            loops.compliance[g] = 1.0 / mass

    def _look_for_void_rows(self, engine: Engine, loops: Struct) -> None:
        """Count the rows of each aggregate that do not follow from others by the directions of all axes."""
        kept = {name: getattr(loops, name).copy() for name in ("phi", "force", "point", "moment", "angle")}
        e, void, random = self.embedding, np.ones(len(self.embedding.row), np.int64), np.random.default_rng(0)
        for _ in range(VOID_SAMPLES):
            self.end_data.q[:] = random.uniform(-1.0, 1.0, len(self.end_data.q))
            look_for_void_rows(engine.tree.address, self.end_data.address, loops.address, e.address, void)
        for name, values in kept.items():
            getattr(loops, name)[:] = values
        for c in range(e.num_aggregates):
            rows = slice(int(e.first_row[c]), int(e.first_row[c + 1]))
            self.container.wanted[c] = int((void[rows] == 0).sum())

    def _fits(self, tree: Struct, loops: Struct, g: int) -> bool:
        """Whether a group's rows are all of aggregates, and these small enough to cost less than elimination."""
        e, tree_index, found = self.embedding, int(loops.member[loops.group_member[g]]), 0
        items = e.item[int(e.tree_item[tree_index]) : int(e.tree_item[tree_index + 1])]
        for c in (-1 - int(i) for i in items if i < 0):
            places, rows = (int(first[c + 1] - first[c]) for first in (e.first_place, e.first_row))
            found += rows
            if places > MAX_PLACES or places - rows > MAX_COLUMNS:
                return False
        return found == int(loops.group_slot[g + 1] - loops.group_slot[g])  # others are within one link

    def state(self) -> dict[str, Any]:
        """What the next step depends on."""
        state = {f"{_PREFIX}{key}": getattr(self.embedding, key).copy() for key in _KEPT}
        return state | {f"{_PREFIX}{key}": getattr(self.container, key).copy() for key in _KEPT_OF_STEP}

    def _is_of_others(self, state: dict[str, Any]) -> bool:
        """Whether a state is of other aggregates, or of none, so that all is chosen anew."""
        return any(
            getattr(state.get(_PREFIX + key), "shape", ()) != getattr(holder, key).shape
            for holder, keys in ((self.embedding, _KEPT), (self.container, _KEPT_OF_STEP))
            for key in keys
        )

    def checked_state(self, state: dict[str, Any], where: str) -> dict[str, Any]:
        """A state that came from outside, as `state` gives them; nothing if it is of other aggregates.

        Raises:
            StateError: these aggregates cannot have been in it; says what is wrong.
        """
        if self._is_of_others(state):
            return {}
        own = {key.removeprefix(_PREFIX): value for key, value in state.items() if key.startswith(_PREFIX)}
        e, where = self.embedding, f"{where}.{_PREFIX[:-1]}"
        found = checked_arrays(e, _KEPT, own, where) | checked_arrays(self.container, _KEPT_OF_STEP, own, where)
        for c in range(e.num_aggregates):
            rows, places = (int(first[c + 1] - first[c]) for first in (e.first_row, e.first_place))
            orders = (("kept", e.first_row, rows), ("solved", e.first_place, places))
            for key, first, number in orders:
                part = found[key][int(first[c]) : int(first[c + 1])]
                if found["rank"][c] == 0 and not part.any():
                    found["anew"][:] = 1  # no step has been done: nothing is chosen
                elif not np.array_equal(np.sort(part), np.arange(number)):
                    raise StateError(f"{where}.{key}: of aggregate {c} it is no order of {number} numbers")
            if found["rank"][c] > min(rows, places):
                raise StateError(f"{where}.rank[{c}] is {found['rank'][c]}; expected 0 to {min(rows, places)}")
        return {f"{_PREFIX}{key}": value for key, value in found.items()}

    def set_state(self, state: dict[str, Any]) -> bool:
        """Restore what `state` returned. Returns False if it is of other aggregates, or of none: all is chosen anew."""
        if self._is_of_others(state):
            self.container.anew[:] = 1
            return False
        for holder, keys in ((self.embedding, _KEPT), (self.container, _KEPT_OF_STEP)):
            for key in keys:
                getattr(holder, key)[:] = state[_PREFIX + key]
        return True


def _may_fit(engine: Engine, loops: Struct, g: int) -> bool:
    """Whether a group is one skeleton whose coordinates all move by forces, in a world that steps by the midpoint."""
    if engine.options.loop_solver not in (AUTO, "CE", "CE+TA") or engine.extra_dofs > 0:
        return False
    if (
        not isinstance(engine.options.integrator, MoreauMidpoint)
        or loops.group_member[g + 1] - loops.group_member[g] != 1
    ):
        return False
    if any(joint.has_modes for skeleton in engine.skeletons for joint in skeleton.joints):
        return False  # responses of their trees are made by others already
    tree, tree_index = engine.tree, int(loops.member[loops.group_member[g]])
    dofs = slice(int(tree.tree_dof[tree_index]), int(tree.tree_dof[tree_index + 1]))
    if tree.prescribed[dofs].any() or (tree.actuator[dofs] == ActuatorType.MIMIC).any():
        return False
    return bool(tree.mass[int(tree.tree_body[tree_index]) : int(tree.tree_body[tree_index + 1])].sum() > 0.0)
