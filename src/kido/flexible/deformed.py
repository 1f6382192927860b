"""What computes for a state of a skeleton with flexible bodies: kinematics for all, quantities by name, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.flexible import entries
from kido.flexible.differentials import Differentials
from kido.flexible.filling import fill, some_inertias, some_modes
from kido.flexible.operators import snapshot
from kido.kernels.entries import OK, REFUSED
from kido.quantities import TABLE
from kido.quantities.quantity import OF_ACCELERATIONS
from kido.skeleton.frames.frame import ORIGIN
from kido.skeleton.state.arrays import StateArrays
from kido.tree import data_for

Array = NDArray[np.float64]
ALL_BITS = 15  # of DATA.fresh: poses, inertias, velocities and accelerations
_MAX_PARTS = 100  # choices of bodies that are kept


class Deformed:
    """What computes for a state of a skeleton with flexible bodies.

    Poses, velocities and accelerations of all links are made at once whenever the state has changed, and all that
    depends on them alone is computed as for rigid bodies: frames, nodes, markers, sensors. Quantities that know of
    inertias or of columns have sweeps of their own (`kido.flexible.answers`); what has none is refused by its name.

    Args:
        state: of the skeleton; its own arrays are compiled.
    """

    def __init__(self, state: StateArrays):
        self._state: Any = state
        self._flex: Any = None
        self._work: Any = None
        self._tree: Any = None
        self._differentials: Differentials | None = None
        self._seen: Any = None
        self._parts: dict[Any, Deformed] = {}
        self.operators: Any = None  # spatial operators of all bodies, once they were needed
        self.bodies: Any = None  # whose inertia, weight and springs are meant; None: all

    def follow(self) -> None:
        """Have the arrays of the state say where links are and how they move.

        Raises:
            ModelError: a flexible body was taken apart; see `FlexibleBody.check`.
        """
        state = self._state
        data = state.data
        if self._flex is None:
            self._flex = fill([state.links])
            self._work = data_for(state.tree, external=data.external, has_external=data.has_external)
            self._tree = state.tree.sharing(prescribed=np.zeros_like(state.tree.prescribed))
        stamp = state.stamps[OF_ACCELERATIONS]
        if self._seen is not stamp or (data.fresh != ALL_BITS).any():
            entries.follow(state.tree.address, data.address, self._flex.address)
            data.fresh[:] = ALL_BITS
            self._seen = stamp

    def answer(self, name: str, arguments: dict[str, Any]) -> Any:
        """A quantity of the state.

        Args:
            name: as in `kido.quantities.TABLE`.
            arguments: besides the state, by name.

        Raises:
            ModelError: it is not known for flexible bodies; names it.
        """
        from kido.flexible.answers import ROUTES

        route = ROUTES.get(name)
        if route is None:
            self.refuse(name)
        given = {key: value for key, value in arguments.items() if value is not None and value is not ORIGIN}
        self.follow()
        of = self.of_some(given.pop("bodies")) if route.sums and "bodies" in given else self
        return route.function(of, **given)

    def of_some(self, bodies: Any) -> Deformed:
        """What computes sums over some bodies, the others without inertia, weight and springs.

        A flexible body is chosen with its modes; its body BODY_modes adds nothing by itself.
        """
        key = self._state.indices_of(bodies)
        made = self._parts.get(key)
        if made is None:
            if len(self._parts) >= _MAX_PARTS:
                self._parts.clear()
            made = self._parts[key] = Deformed(self._state)
            made.bodies = key
            made._flex, made._tree = (
                some_modes(self._flex, self._state, key),
                some_inertias(self._tree, self._state, key),
            )
            made._work = data_for(made._tree)
        return made

    def at(self, name: str, arguments: dict[str, Any], **state: Any) -> Any:
        """A quantity, or a verb, at a state that is given."""
        made = self._state.at(**state)
        return TABLE[name].current(made, **arguments) if name in TABLE else made.deformed.answer(name, arguments)

    def refuse(self, what: str) -> NoReturn:
        """Say that something is not known.

        Raises:
            ModelError: always.
        """
        from kido.flexible.answers import ROUTES

        raise ModelError(
            f"skeleton {self._state.name!r} has flexible bodies, for which {what} is not known; known are "
            f"{', '.join(sorted(ROUTES))}"
        )

    # Sweeps ----------------------------------------------------------------------------------------------

    def _call(self, entry: Any, *arguments: Any) -> None:
        status = entry(self._tree.address, self._work.address, self._flex.address, self.q, *arguments)
        assert status != REFUSED  # states hold finite numbers
        if status != OK:
            self._state.raise_singular(status - 2)

    def snapshot(self, members: int, bodies: int, blocks: int, q: Array, u: Array) -> None:
        """Fill lists of bodies of spatial operators, at their addresses, at another state of the skeleton."""
        self.follow()
        status = snapshot(self._tree.address, self._work.address, self._flex.address, members, bodies, blocks, q, u)
        assert status == OK

    def system(self, *arguments: Any) -> Any:
        """What integrators move: a `kido.integrators.System` of these arguments, by sweeps that know of modes."""
        from kido.flexible.integration import FlexibleSystem

        self.follow()
        return FlexibleSystem(self._flex, *arguments)

    @property
    def state(self) -> Any:
        """The state that it computes for."""
        return self._state

    @property
    def mass(self) -> Array:
        """(links,) of the bodies that are meant."""
        return self._tree.mass

    @property
    def armature(self) -> Array:
        """(dofs,) of the joints of the bodies that are meant."""
        return self._tree.armature

    @property
    def q(self) -> Array:
        """Positions."""
        return self._state.data.q

    @property
    def u(self) -> Array:
        """Velocities."""
        return self._state.data.u

    @property
    def udot(self) -> Array:
        """Accelerations."""
        return self._state.data.udot

    @contextmanager
    def holding(self, flags: Any) -> Iterator[None]:
        """For a while, coordinates (dofs,) with a flag do not give way."""
        if flags is not None and np.size(flags):
            self._tree.prescribed[:] = np.asarray(flags) != 0
        try:
            yield
        finally:
            self._tree.prescribed[:] = 0

    @contextmanager
    def _loads(self, loaded: bool) -> Iterator[None]:
        flags = self._work.has_external.copy()
        if not loaded:
            self._work.has_external[:] = 0
        try:
            yield
        finally:
            self._work.has_external[:] = flags

    def square(self, entry: Any) -> Array:
        """A matrix over coordinates that an entry makes of positions."""
        out = np.empty((len(self.q),) * 2)
        self._call(entry, out)
        return out

    def own_inertias(self) -> Array:
        """(bodies, 6, 6) of each body alone about its origin, as it is deformed, world axes."""
        from kido.flexible.by_body import own_inertias

        return own_inertias(self)

    def forces(self, u: Array, udot: Array, loaded: bool = True) -> Array:
        """tau by Newton-Euler, with external forces if `loaded`."""
        out = np.empty(len(self.q))
        with self._loads(loaded):
            self._call(entries.inverse_dynamics, u, udot, 0, out)
        return out

    def accelerations(self, tau: Array, loaded: bool = True, flags: Any = None, given: Array | None = None) -> Array:
        """udot by articulated bodies, with external forces if `loaded`; coordinates with flags have those given."""
        out = np.empty(len(self.q))
        with self._loads(loaded), self.holding(flags):
            self._work.udot[:] = 0.0 if given is None else given
            self._call(entries.forward_dynamics, self.u, tau, 0, out)
        return out

    def driven_accelerations(self, udot: Array, tau: Array) -> Array:
        """`accelerations` with external forces; where actuators give `udot`, `tau` becomes the forces that it takes."""
        flags = self._state.prescribed_by_actuators()
        found = self.accelerations(tau, flags=flags, given=udot)
        if flags.any():
            tau[flags] = self.forces(self.u, found)[flags]
        return found

    def hybrid(self, values: Array, flags: Array) -> tuple[Array, Array]:
        """All accelerations and forces, of accelerations where there are flags and forces elsewhere, without loads."""
        held = flags != 0
        udot = self.accelerations(np.where(held, 0.0, values), False, flags, np.where(held, values, 0.0))
        tau = np.where(held, self.forces(self.u, udot, loaded=False), values)
        return udot, tau

    def velocity_changes(self, on_bodies: dict[int, Array], on_joints: Array, flags: Any = None) -> Array:
        """M^-1 (impulses + sum J^T p) of impulses on coordinates, and of p (6,) on bodies' origins by index."""
        impulses, bodies = np.array(on_joints), self._state.skeleton.bodies
        for index, p in on_bodies.items():
            impulses += self.jacobian(bodies[index]).T @ p
        return self.responses(impulses[None], flags)[0]

    def responses(self, impulses: Array, flags: Any = None) -> Array:
        """M^-1 times each row of impulses (rows, dofs), with coordinates that have flags held."""
        out = np.empty_like(impulses)
        with self.holding(flags):
            self._call(entries.responses, np.ascontiguousarray(impulses), out)
        return out

    def sums(self) -> Array:
        """Kinetic and potential energy, momentum about the world's origin (6,), mass times centre of mass, mass."""
        out = np.empty(12)
        self._call(entries.sums, self.u, out)
        return out

    def place(self, node: Any, offset: ArrayLike = ORIGIN) -> tuple[int, Array]:
        """Link of a point of a node, and where it is in the link's axes."""
        state = self._state
        _, x, y, z = state.place_of(node, offset)
        body, _ = state.carried_by(node)
        return int(state.links.of_body[body.index]), np.array([x, y, z])

    def jacobian(self, node: Any, offset: Any = ORIGIN) -> Array:
        """Of a point of a node, world axes."""
        out = np.empty((6, len(self.q)))
        self._call(entries.jacobian, *self.place(node, offset), out)
        return out

    def point_motion(self, node: Any, offset: Any, udot: Array) -> Array:
        """[w; v; wdot; a] (12,) of a point of a node at accelerations, without gravity."""
        link, place = self.place(node, offset)
        n = len(self._state.links.top)
        V, A = np.empty((2, n, 6))
        self._call(entries.motions, self.u, udot, V, A)
        r, (w, v), (wdot, a) = self._work.R[link].reshape(3, 3) @ place, V[link].reshape(2, 3), A[link].reshape(2, 3)
        turning = np.cross(w, r)
        return np.concatenate([w, v + turning, wdot, a + np.cross(wdot, r) + np.cross(w, turning)])

    def bias(self, u: Array, gravity: bool = True) -> Array:
        """C(q, u) u, with g(q) if `gravity`."""
        found = self.forces(u, np.zeros(len(u)), loaded=False)
        return found if gravity else found - self.bias(np.zeros(len(u)))

    # Derivatives -----------------------------------------------------------------------------------------

    def along(self, stage: Any, results: tuple[str, ...], **given: Any) -> list[Array]:
        """See `Differentials.along`."""
        w, d = self._work, self._state.data
        w.q[:], w.u[:], w.udot[:] = d.q, d.u, d.udot
        if self._differentials is None:
            self._differentials = Differentials(self._tree, w, self._flex)
        return self._differentials.along(stage, results, **given)
