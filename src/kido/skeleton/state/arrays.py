"""The arrays of a state, what in them is current, and results that are kept."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError, StateError
from kido.jit import Struct
from kido.joints import ActuatorType
from kido.kernels import lazy
from kido.math.transform import as_numbers
from kido.quantities import TABLE
from kido.quantities.quantity import OF_FORCES
from kido.skeleton.compiler import Links, check_masses, compile_skeleton, fill_properties
from kido.skeleton.state.held_skins import HeldSkins
from kido.skeleton.state.loads import row_seen_from
from kido.skeleton.state.members import HELD
from kido.skeleton.state.selections import Selections
from kido.skeleton.state.workspace import Kept, Workspace
from kido.tree import data_for
from kido.turns import Turn

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]

_COUNTED = {"transforms": "num_poses", "inertias": "num_inertias", "velocities": "num_velocities",
            "accelerations": "num_accelerations"}  # fmt: skip
_MAX_KEPT = 1000  # results: keys may hold numbers, and a state may be held for long
_EPOCHS = itertools.count(1)
_EPOCH = 1 << 40  # more than any body is ever evaluated
STATE_FIELDS = ("q", "u", "udot", "tau", "command")


class StateArrays(Selections, FixedAttributes):
    """Arrays of a state: its own, or a window on a world's.

    Staleness: `stamps` holds something new after each change: of positions; of these or velocities; of these or
    accelerations; of positions, velocities, forces or loads. A kept result has the stamp it was made at, and is
    current while that is the same. What is current of each body, the bits `DATA.fresh` say (`kido.kernels.lazy`).

    Attributes:
        skeleton: what it is a state of.
        tree, data: its arrays, once compiled.
        scratch: data for calls that are given a state.
        ready: what such calls work with, while nothing needs compiling.
        settled: the same, while nothing but this state changes its numbers: not in a world, whose steps do.
        kept: results by key.
        selections: paths and choices of bodies.
        applied: external forces by index of the body, as rows of `kido.kernels.external` in its own axes.
        impulses: impulses by index of the body, as such rows.
        saved: numbers by body, while there are no arrays.
    """

    def __init__(self, skeleton: Skeleton):
        self.skeleton = skeleton
        self.links: Any = None
        self.tree: Any = None
        self.data: Any = None
        self.scratch: Any = None
        self.ready: Workspace | None = None
        self.settled: Workspace | None = None
        self._made: Workspace | None = None
        self.kept: dict[Any, Kept] = {}
        self.selections: dict[Any, Any] = {}
        self.applied: dict[int, Array] = {}
        self.impulses: dict[int, Array] = {}
        self.own_joint_impulses: Array | None = None
        self.saved: dict[Any, tuple[Array, ...]] = {}
        self.stamps: list[Any] = [1] * 4  # this one list always: setters have its address
        self.held = HELD(stamps=id(self.stamps), clock=1)
        self.handle = self.held.address
        self.has_soft = False
        self.deformed: Any = None  # what computes for it, if the skeleton has flexible bodies
        self.skins: HeldSkins | None = None  # of the current state, if the skeleton has soft bodies
        self._skins_seen = 0
        self.samples: dict[int, Any] = {}  # by thread: a state for quantities of a given one
        self._counts: Counter[str] = Counter()
        self._turn = Turn()
        self.stamp = 0  # with a body's count of evaluations: a number that no other evaluation has
        self._seen_of_world = -1
        self._filled = -1  # version of the skeleton whose properties the arrays have
        self._source: Any = None  # the tree that a state beside the current one was made from
        self._gravity_seen: Array | None = None

    @property
    def name(self) -> str:
        """Of its skeleton."""
        return self.skeleton.name

    # Compiling -------------------------------------------------------------------------------------------

    def compiled(self) -> Any:
        """The data, compiled if need be."""
        skeleton = self.skeleton
        if skeleton.current_state is not self:
            return self._beside()
        world = skeleton.host
        if self.data is None:  # in a world too, whose engine gives it other arrays once there is one
            with self._not_edited():
                if self.data is None:
                    self.adopt(*compile_skeleton(skeleton, skeleton.own_gravity))
        if world is not None:
            while self._seen_of_world != world.version:  # which may have been stepped by another thread meanwhile
                version = world.version
                self.invalidate()
                self._seen_of_world = version
            if world.is_stepping:  # the last that is looked at: what follows is one call, which other threads wait for
                world.turn.sole()
                if self._seen_of_world != world.version:  # it was another thread's step, and is done
                    return self.compiled()
        if self._filled != skeleton.version:
            with self._not_edited():
                self._fill()
        skins = self.skins
        if skins and skins.refresh():
            self._inertias_changed()
        return self.data

    def _fill(self) -> None:
        """Have the arrays hold the properties of the skeleton."""
        skeleton, skins = self.skeleton, self.skins
        if self.data is None:  # another thread dropped them just now
            self.compiled()
        elif self._filled != skeleton.version:
            fill_properties(self.links, skeleton, skins.at_rest if skins else self.tree)
            self.deformed = self._find_deformed()
            if skins:
                skins.forget()
            self._filled = skeleton.version
            self.invalidate()

    def _find_deformed(self) -> Any:
        """What computes for the state, if the skeleton has flexible bodies."""
        modal = next((b.parent_joint for b in self.links.top if b.parent_joint.has_modes), None)
        return None if modal is None else modal._deformed_state(self)

    def _not_edited(self) -> Any:
        """To be entered: meanwhile other threads neither edit the skeleton nor drop its arrays.

        While its world is stepped there is nothing to wait for: a callback may wait for the thread that asks.
        """
        turn = self.skeleton.turn
        return nullcontext() if turn.doing else turn

    def _inertias_changed(self) -> None:
        self.properties_changed()
        self.invalidate()

    def compiled_tree(self) -> Any:
        """The tree, compiled if need be; other threads may ask for it while a world is stepped."""
        host = self.skeleton.host
        if (
            host is None
            or host.present_engine is None
            or self.tree is None
            or self._filled != self.skeleton.version
            or (self.skins and not host.is_stepping)
        ):
            self.compiled()
        return self.tree

    def _beside(self) -> Struct:
        """The data of a state that is not the current one: of the same tree, but for the mask of hybrid dynamics."""
        first = self.skeleton.current_state
        tree = first.compiled_tree()
        if self._source is not tree:
            own = tree.sharing(prescribed=np.zeros_like(tree.prescribed))
            self.adopt(first.links, own, data_for(own))
            self._source = tree
        if first.skins and self._skins_seen != first.skins.changes:
            self._skins_seen = first.skins.changes
            self._inertias_changed()
        if self._gravity_seen is None or not np.array_equal(self._gravity_seen, tree.gravity):
            self._gravity_seen = tree.gravity.copy()
            self.invalidate()
        return self.data

    def adopt(self, links: Links, tree: Struct, data: Struct) -> None:
        """Take new arrays; write kept numbers, or the initial state of joints that are new, into them."""
        for i, body in enumerate(links.top):
            part = slice(int(tree.first_dof[i]), int(tree.first_dof[i + 1]))
            joint = body.parent_joint
            kept = self.saved.get(body)
            if kept is None or len(kept[0]) != joint.num_dofs:
                data.q[part] = joint.get_property("initial_position")
                data.u[part] = joint.get_property("initial_velocity")
                data.command[part] = np.where(tree.actuator[part] == ActuatorType.POSITION, data.q[part], 0.0)
            else:
                for field, values in zip(STATE_FIELDS, kept, strict=True):
                    getattr(data, field)[part] = values
        self.saved = {}
        self.has_soft, self.skins = bool(self.skeleton.soft_bodies), None
        if self.has_soft and self.skeleton.current_state is self:
            self.skins = HeldSkins(links, self.skeleton, tree)
            tree = self.skins.tree
        self.links, self.tree, self.data = links, tree, data
        self.deformed = self._find_deformed()
        self.properties_changed()
        for link in {int(links.of_body[index]) for index in self.applied}:
            self.write_external(link)
        self.scratch = None
        self.stamp = next(_EPOCHS) * _EPOCH
        self.invalidate()
        self._filled = self.skeleton.version

    def drop_arrays(self) -> None:
        """Keep the numbers by body, and compile on next use."""
        if self.data is not None:
            d, first = self.data, self.tree.first_dof
            for i, body in enumerate(self.links.top):
                part = slice(int(first[i]), int(first[i + 1]))
                self.saved[body] = tuple(getattr(d, f)[part].copy() for f in STATE_FIELDS)
            self._counts = self._evaluation_counts()
        self.links = self.tree = self.data = self.scratch = self._source = self.skins = None
        self._seen_of_world = -1
        self.kept.clear()
        self.properties_changed()

    def properties_changed(self) -> None:
        """Forget paths and choices of bodies, and what has their addresses."""
        self._forget_kept()
        self.selections = {}  # another thread's call may work with what was there
        self.samples = {}
        self.ready = self.settled = self._made = None
        self.held.tree = 0
        if self.skeleton.current_state is self:
            self.skeleton.ready = None
        self.renew(0, 4)

    def prepare(self) -> Workspace:
        """What calls that are given a state work with."""
        self.compiled()
        made = self._made
        if made is None:
            with self._not_edited():
                made = self._made or self._prepare()
        return made

    def _prepare(self) -> Workspace:
        skeleton, data = self.skeleton, self.compiled()
        if self.scratch is None:
            self.scratch = data_for(self.tree)
        subset = self.subset(None)
        made = Workspace(self.tree, data, self.scratch, subset, skeleton.num_bodies, self.selections)
        self._made = made
        if not self.has_soft and self.deformed is None:  # else each call is to look where points are
            self.ready = made
            if skeleton.current_state is self:
                skeleton.ready = made
        return made

    def settle(self) -> Workspace:
        """What calls on this state work with, compiled if need be."""
        self.compiled()
        w = self.ready or self.prepare()
        if self.deformed is not None:
            self.deformed.follow()
        elif self.skeleton.host is None and not self.has_soft:  # a world's steps would go unnoticed, and points' moves
            self.settled = w
            self.held.data, self.held.tree = w.held, w.tree
        return w

    # Staleness -------------------------------------------------------------------------------------------

    def renew(self, first: int, last: int) -> None:
        """Results with the stamps first..last-1 are stale."""
        self.stamps[first:last] = [object()] * (last - first)

    def invalidate(self) -> None:
        """All results are stale."""
        if self.data is not None:
            self.data.fresh[:] = 0
        self.renew(0, 4)

    def gravity_changed(self) -> None:
        """Accelerations of bodies, which have gravity in them, and all that depends on it are stale."""
        if self.data is not None:
            np.bitwise_and(self.data.fresh, ~lazy.ACCELERATION_BIT, out=self.data.fresh)
        for key, kept in self.kept.items():
            row = TABLE.get(key[0] if isinstance(key, tuple) else key)
            if row is None or row.has_gravity:
                kept.stamp = 0

    def loads_changed(self) -> None:
        """What depends on forces and loads is stale."""
        self.stamps[OF_FORCES] = object()

    def keep(self, key: Any, value: Any) -> Kept:
        """A place for a result; its stamp is that of none."""
        if len(self.kept) >= _MAX_KEPT:
            self._forget_kept()
        made = self.kept[key] = Kept(value)
        return made

    def _forget_kept(self) -> None:
        for key, kept in self.kept.items():
            if kept.count:
                self._counts[key[0] if isinstance(key, tuple) else key] += kept.count
        self.kept.clear()

    def result(self, stamp: int, key: Any, compute: Callable[[], Any]) -> Any:
        """A result of this state, computed if it is not kept (the kept object: copy what users get).

        Args:
            stamp: OF_POSITIONS, OF_VELOCITIES, OF_ACCELERATIONS or OF_FORCES, as it depends on them.
            key: names the result; a tuple if there is one for each body, say.
        """
        self.compiled()
        return self.result_at(self.stamps[stamp], key, compute)

    def result_at(self, stamp: Any, key: Any, compute: Callable[[], Any]) -> Any:
        """`result` with a stamp as it is now, or several."""
        kept = self.kept.get(key) or self.keep(key, None)
        if kept.stamp != stamp:
            kept.value = compute()
            kept.stamp = stamp
            kept.count += 1
        return kept.value

    def _evaluation_counts(self) -> Counter[str]:
        counts = self._counts.copy()
        for key, kept in self.kept.items():
            counts[key[0] if isinstance(key, tuple) else key] += kept.count
        if self.data is not None:
            for what, field in _COUNTED.items():
                counts[what] += int(getattr(self.data, field).sum())
        return counts

    @property
    def evaluations(self) -> dict[str, int]:
        """How often results of the current state were evaluated since it was made.

        For each body that was evaluated one count of "transforms", "inertias", "velocities" or "accelerations";
        for each result of the whole, such as "mass_matrix", one of that. A result that was current when it was
        asked for does not count. Steps of a world and calls with a state as argument do not either.
        """
        self.compiled()
        return {name: count for name, count in self._evaluation_counts().items() if count or name in _COUNTED}

    # Loads -----------------------------------------------------------------------------------------------

    def write_external(self, link: int) -> None:
        """Sum the external forces of a link's bodies, in their order, into its row."""
        links, applied = self.links, self.applied
        rows = [row_seen_from(applied[i], links.offset[i]) for i in links.members[link] if i in applied]
        self.data.external[link] = sum(rows, np.zeros(24))
        self.data.has_external[link] = int(bool(rows))

    # Calls -----------------------------------------------------------------------------------------------

    def at(self, positions: Any = None, velocities: Any = None, accelerations: Any = None, forces: Any = None) -> Any:
        """A state without loads that holds the given numbers; the thread's next such call writes it anew.

        Raises:
            StateError: numbers of the wrong size or not finite.
        """
        made = self.samples.get(get_ident())
        if made is None or made.skeleton is not self.skeleton:
            self.compiled_tree()
            made = self.samples[get_ident()] = self.skeleton.empty_state()
        given = {"positions": positions, "velocities": velocities, "accelerations": accelerations, "forces": forces}
        for what, value in given.items():
            if value is not None:
                setattr(made, what, value)
        return made

    def repeat(self, entry: Any, first: tuple[Any, ...], out: tuple[Array, ...], **given: Any) -> Any:
        """Call an entry (tree, data, *first, *given, *out) with checked and converted copies of the numbers given.

        Raises:
            StateError: a state of the wrong size or not finite.
        """
        vectors = [self.vector(value, self.skeleton.num_dofs, what) for what, value in given.items()]
        for what, vector in zip(given, vectors, strict=True):
            if not np.isfinite(vector).all():
                self.raise_not_finite(what, vector)
        w = self.prepare() if self.ready is None else self.ready
        return entry(w.tree, w.data, *first, *vectors, *out)

    def vector(self, value: Any, size: int, what: str) -> Array:
        """A vector of numbers.

        Raises:
            StateError: of another size, or no numbers.
        """
        try:
            array = as_numbers(value)
        except (TypeError, ValueError):
            raise StateError(f"skeleton {self.name!r}: {what}: expected {size} numbers, got {value!r}") from None
        if array.shape != (size,):
            raise StateError(
                f"skeleton {self.name!r}: {what}: expected {size} numbers, one for each degree of freedom, "
                f"got an array of shape {array.shape}"
            )
        return array

    def finite(self, value: Any, what: str) -> Array:
        """A vector of finite numbers over the coordinates.

        Raises:
            StateError: of another size, or not finite.
        """
        vector = self.vector(value, self.skeleton.num_dofs, what)
        if not np.isfinite(vector).all():
            self.raise_not_finite(what, vector)
        return vector

    def raise_not_finite(self, what: str, value: Any) -> None:
        """Name the first number that is not finite."""
        array = np.asarray(value, dtype=np.float64)
        k = int(np.flatnonzero(~np.isfinite(array))[0])
        raise StateError(
            f"skeleton {self.name!r}: {what}: expected finite numbers, got {array[k]} for dof {k} "
            f"({self.skeleton.dofs[k].name!r})"
        )

    def raise_singular(self, dof: int) -> None:
        """Say that a coordinate moves no inertia, and why if that is known."""
        check_masses(self.skeleton)
        raise ModelError(
            f"skeleton {self.name!r}: the inertia seen by dof {dof} ({self.skeleton.dofs[dof].name!r}) is not "
            "positive; a body it moves needs mass or rotational inertia, or axes of its joint coincide at this position"
            + (", or deflections are not small beside the bodies" if self.deformed is not None else "")
        )
