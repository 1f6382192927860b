"""The arrays of a skeleton: compiled from its objects, and current when asked."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import empty
from numpy.typing import NDArray

from kido.jit import Struct
from kido.kernels import current, lazy
from kido.skeleton.compiler import Links, compile_skeleton, fill_properties
from kido.skeleton.external import row_seen_from
from kido.skeleton.frames.frame import POSE, VELOCITY

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.host import Host
    from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom
    from kido.skeleton.results.workspace import Workspace

Array = NDArray[np.float64]

# What is current of all bodies, as bits; and the bits of each body (kido.kernels.lazy) that go with them.
TRANSFORMS, VELOCITIES, ACCELERATIONS, MASS_MATRIX = 1, 2, 4, 8
_BITS_OF_BODIES = {
    TRANSFORMS: lazy.POSE | lazy.INERTIA,
    VELOCITIES: lazy.VELOCITY,
    ACCELERATIONS: lazy.ACCELERATION,
}
_COUNTED = ("transforms", "inertias", "velocities", "accelerations")  # columns of DATA.evaluated
_MAX_KEPT = 1000  # results in a table: keys may hold numbers, and a state may be held for long
_EPOCHS = itertools.count(1)
_EPOCH = 1 << 40  # more than any body is ever evaluated
# What a kept result depends on: positions; those and velocities; those and accelerations; or positions,
# velocities, joint forces and external forces.
OF_POSITIONS, OF_VELOCITIES, OF_ACCELERATIONS, OF_FORCES = range(4)
STATE_FIELDS = ("q", "u", "udot", "tau", "command")
_POSE, _SIX = (4, 4), (6,)  # shapes made once
STANDARD_GRAVITY = (0.0, 0.0, -9.81)


class SkeletonArrays:
    """Arrays on its own or as a window on a world's, and which results in them are current."""

    name: str
    _bodies: list[BodyNode]
    _dofs: list[DegreeOfFreedom]

    def __init__(self) -> None:
        self._links: Links | None = None
        self._tree: Struct | None = None
        self._data: Struct | None = None
        self._scratch: Struct | None = None
        self._ready: Workspace | None = None  # of calls with the state given, while nothing needs compiling
        self._current: tuple[int, int] | None = None  # addresses of tree and data while nothing needs compiling
        self._saved: dict[Any, tuple[Array, ...]] = {}
        self._applied: dict[int, Array] = {}  # external forces of bodies, in their own axes
        self._impulses: dict[int, Array] = {}  # impulses on bodies, as rows like those of external forces
        self._joint_impulses: Array | None = None
        self._selections: dict[Any, Any] = {}  # paths and choices of bodies, see skeleton.selections
        self._fresh = 0
        self._results: tuple[dict[Any, Any], ...] = ({}, {}, {}, {})
        self._counts: Counter[str] = Counter()
        self._epoch = 0  # with a body's count of evaluations: a number that no other evaluation has
        self._structure_version = 0  # counts changes of bodies, joints and coordinates
        self._properties_version = 0  # and of their properties
        self._world: Host | None = None
        self._world_version = -1
        self._gravity = np.array(STANDARD_GRAVITY)
        self._properties_stale = False
        self._has_actuators = False  # that dynamics alone must respect: not FORCE or MIMIC; known when compiled

    def _drop_arrays(self) -> None:
        """Keep the state by body, and compile on next use."""
        if self._data is not None and self._tree is not None and self._links is not None:
            d, first = self._data, self._tree.first_dof
            for i, body in enumerate(self._links.top):
                part = slice(int(first[i]), int(first[i + 1]))
                self._saved[body] = tuple(getattr(d, f)[part].copy() for f in STATE_FIELDS)
            self._counts = self._evaluation_counts()
        self._links = self._tree = self._data = self._scratch = self._current = None
        self._drop_selections()

    def _drop_selections(self) -> None:
        """Forget paths and choices of bodies, and what has their addresses."""
        self._selections.clear()
        self._ready = None

    def _structure_changed(self) -> None:
        """Arrays no longer fit the objects."""
        self._structure_version += 1
        self._drop_arrays()
        if self._world is not None:
            self._world.structure_changed()

    def _properties_changed(self) -> None:
        """Numbers in the arrays no longer fit the objects."""
        self._properties_version += 1
        self._properties_stale = True
        self._current = None
        self._drop_selections()
        if self._world is not None:
            self._world.properties_changed()

    def _adopt(self, links: Links, tree: Struct, data: Struct) -> None:
        """Take new arrays; write kept states, or the initial state of joints that are new, into them."""
        for i, body in enumerate(links.top):
            part = slice(int(tree.first_dof[i]), int(tree.first_dof[i + 1]))
            joint = body.parent_joint
            kept = self._saved.get(body)
            if kept is None or len(kept[0]) != joint.num_dofs:
                data.q[part] = joint._properties["initial_position"]
                data.u[part] = joint._properties["initial_velocity"]
            else:
                for field, values in zip(STATE_FIELDS, kept, strict=True):
                    getattr(data, field)[part] = values
        self._saved = {}
        self._links, self._tree, self._data = links, tree, data
        self._drop_selections()
        for link in {int(links.of_body[index]) for index in self._applied}:
            self._write_external(data, link)
        self._scratch = self._current = None
        self._epoch = next(_EPOCHS) * _EPOCH
        self._invalidate()
        self._properties_stale = False

    def _write_external(self, d: Struct, link: int) -> None:
        """Sum the external forces of a link's bodies, in their order, into its row."""
        links, applied = self._links, self._applied
        rows = [row_seen_from(applied[i], links.offset[i]) for i in links.members[link] if i in applied]  # type: ignore[union-attr]
        d.external[link] = sum(rows, np.zeros(24))
        d.has_external[link] = int(bool(rows))

    def _compiled(self) -> Struct:
        """The data, compiled if need be, with `_fresh` telling what is current."""
        world = self._world
        if world is not None:
            if world.present_engine is None:
                _ = world.engine
            if self._world_version != world.version:
                self._world_version = world.version
                self._invalidate()
        elif self._data is None:
            self._adopt(*compile_skeleton(self, self._gravity))  # type: ignore[arg-type]
        if self._properties_stale:
            fill_properties(self._links, self, self._tree)  # type: ignore[arg-type]
            self._properties_stale = False
            self._invalidate()
        return self._data  # type: ignore[return-value]

    def _hold(self) -> tuple[int, int]:
        """Addresses of the tree and of the data, compiled if need be: what getters of a microsecond need."""
        data = self._compiled().address
        addresses = self._tree.address, data  # type: ignore[union-attr]
        if self._world is None:  # a world's steps would go unnoticed
            self._current = addresses
        return addresses

    def _invalidate(self, kept: int = 0, *tables: int) -> None:
        """Results are stale, but for the bits `kept` and, if tables are named, for the others."""
        if self._data is not None:
            bits = sum(of_body for what, of_body in _BITS_OF_BODIES.items() if kept & what)
            np.bitwise_and(self._data.fresh, bits, out=self._data.fresh)
        self._stale_results(kept, *tables)

    def _stale_results(self, kept: int = 0, *tables: int) -> None:
        """What is made from bodies' results is stale; which of those are is marked already."""
        self._fresh &= kept
        for table in tables or (OF_POSITIONS, OF_VELOCITIES, OF_ACCELERATIONS, OF_FORCES):
            self._results[table].clear()

    def _result(self, depends_on: int, key: Any, compute: Callable[[], Any]) -> Any:
        """A result of the current state, computed if it is not kept (the kept object: copy what users get).

        Args:
            depends_on: OF_POSITIONS, OF_VELOCITIES, OF_ACCELERATIONS or OF_FORCES.
            key: names the result; a tuple if there is one for each body, say.
        """
        self._compiled()
        table = self._results[depends_on]
        value = table.get(key)
        if value is None:
            if len(table) >= _MAX_KEPT:
                table.clear()
            value = table[key] = compute()
            self._counts[key[0] if isinstance(key, tuple) else key] += 1
        return value

    def _evaluation_counts(self) -> Counter[str]:
        counts = self._counts.copy()
        if self._data is not None:
            for what, number in zip(_COUNTED, self._data.evaluated.sum(axis=0).tolist(), strict=True):
                counts[what] += number
        return counts

    @property
    def evaluations(self) -> dict[str, int]:
        """How often results of the current state were evaluated since the skeleton was made.

        For each body that was evaluated one count of "transforms", "inertias", "velocities" or "accelerations";
        for each result of the whole, such as "mass_matrix", one of that. A result that was current when it was
        asked for does not count. Steps of a world and calls with a state as argument do not either.
        """
        self._compiled()
        return dict(self._evaluation_counts())

    def _with(self, bits: int, level: int) -> Struct:
        d = self._compiled()
        if self._fresh & bits != bits:
            current.refresh.call(self._tree.address, d.address, level)  # type: ignore[union-attr]
            self._fresh |= bits
        return d

    def _with_transforms(self) -> Struct:
        return self._with(TRANSFORMS, 0)

    def _with_velocities(self) -> Struct:
        return self._with(TRANSFORMS | VELOCITIES, 1)

    def _with_accelerations(self) -> Struct:
        return self._with(TRANSFORMS | VELOCITIES | ACCELERATIONS, 2)

    # A body is a place on a link ----------------------------------------------------------------------------

    def _pose_of(self, index: int) -> Array:
        """World transform of a body, 4x4."""
        tree, data = self._current or self._hold()
        X = empty(_POSE)
        current.pose_of.call(tree, data, index, X)
        return X

    def _velocity_of(self, index: int) -> Array:
        """[angular; linear] velocity of a body's origin, world axes."""
        tree, data = self._current or self._hold()
        V = empty(_SIX)
        current.velocity_of.call(tree, data, index, V)
        return V

    def _joint_acceleration_of(self, index: int) -> Array:
        """H udot of the joint above a body, in the body's axes."""
        R = self._pose_of(index)[:3, :3]
        d, joint = self._compiled(), self._bodies[index].parent_joint
        A = np.zeros(6)
        if joint.num_dofs > 0:
            part = joint._coordinates()
            A = d.H[part].T @ d.udot[part]
        return np.concatenate([A[:3] @ R, A[3:] @ R])

    def _update_frame(self, body: BodyNode, level: int) -> None:
        """What a body is to the frames on it: its pose, velocity and acceleration, and numbers that tell changes."""
        tree, data = self._current or self._hold()
        index, epoch = body._index, self._epoch
        if body._X is None:
            body._X, body._V, body._A = empty(_POSE), empty(_SIX), empty(_SIX)
        body._pose_stamp = epoch + current.pose_of.call(tree, data, index, body._X)
        if level > POSE:
            body._velocity_stamp = epoch + current.velocity_of.call(tree, data, index, body._V)
        if level > VELOCITY:
            body._acceleration_stamp = epoch + current.acceleration_of.call(tree, data, index, body._A)
