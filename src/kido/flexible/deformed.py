"""Results of a state of a skeleton that has flexible bodies: kinematics for all, quantities by name, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.flexible import entries
from kido.flexible.filling import fill
from kido.kernels.entries import OK, REFUSED
from kido.quantities import TABLE
from kido.quantities.quantity import OF_ACCELERATIONS
from kido.skeleton.frames.frame import ORIGIN
from kido.skeleton.state.arrays import StateArrays
from kido.tree import data_for

Array = NDArray[np.float64]
ALL_BITS = 15  # of DATA.fresh: poses, inertias, velocities and accelerations


class Deformed:
    """What computes for a state of a skeleton with flexible bodies.

    Poses, velocities and accelerations of all links are made at once whenever the state has changed, and all that
    depends on them alone is computed as for rigid bodies: frames, nodes, markers, sensors. Quantities that know of
    inertias or of columns have sweeps of their own here; what has none is refused by its name.

    Args:
        state: of the skeleton; its own arrays are compiled.
    """

    def __init__(self, state: StateArrays):
        self._state: Any = state
        self._flex: Any = None
        self._work: Any = None
        self._seen: Any = None

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
            ModelError: it is not known for flexible bodies, or not with such arguments; names it.
        """
        route = _ROUTES.get(name)
        if route is None:
            self._refuse(name)
        given = {key: value for key, value in arguments.items() if value is not None and value is not ORIGIN}
        unknown = sorted(set(given) - {"node", "offset", "in_coordinates_of", "about"})
        if unknown:
            self._refuse(f"{name} of given {', '.join(unknown)}")
        self.follow()
        return route(self, **given)

    def at(self, name: str, arguments: dict[str, Any], **state: Any) -> Any:
        """A quantity, or a verb, at a state that is given."""
        made = self._state.at(**state)
        return TABLE[name].current(made, **arguments) if name in TABLE else made.deformed.answer(name, arguments)

    def _refuse(self, what: str) -> NoReturn:
        raise ModelError(
            f"skeleton {self._state.name!r} has flexible bodies, for which {what} is not known; known are "
            f"{', '.join(sorted(_ROUTES))}"
        )

    # Sweeps ----------------------------------------------------------------------------------------------

    def _call(self, entry: Any, *arguments: Any) -> None:
        status = entry(self._state.tree.address, self._work.address, self._flex.address, self.q, *arguments)
        assert status != REFUSED  # states hold finite numbers
        if status != OK:
            self._state.raise_singular(status - 2)

    @property
    def q(self) -> Array:
        """Positions."""
        return self._state.data.q

    @property
    def u(self) -> Array:
        """Velocities."""
        return self._state.data.u

    def _square(self, entry: Any) -> Array:
        out = np.empty((len(self.q),) * 2)
        self._call(entry, out)
        return out

    def forces(self, u: Array, udot: Array, loaded: bool = True) -> Array:
        """tau by Newton-Euler, with external forces if `loaded`."""
        out, work = np.empty(len(self.q)), self._work
        flags = work.has_external.copy()
        if not loaded:
            work.has_external[:] = 0
        self._call(entries.inverse_dynamics, u, udot, 0, out)
        work.has_external[:] = flags
        return out

    def accelerations(self, tau: Array, loaded: bool = True) -> Array:
        """udot by articulated bodies, with external forces if `loaded`."""
        out, work = np.empty(len(self.q)), self._work
        flags = work.has_external.copy()
        if not loaded:
            work.has_external[:] = 0
        try:
            self._call(entries.forward_dynamics, self.u, tau, 0, out)
        finally:
            work.has_external[:] = flags
        return out

    def driven_accelerations(self, tau: Array) -> Array:
        """`accelerations` with external forces, of a skeleton whose actuators give forces."""
        state = self._state
        if state.prescribed_by_actuators().any():
            self._refuse("forward dynamics with coordinates whose actuators give motion")
        return self.accelerations(tau)

    def velocity_changes(self, on_bodies: dict[int, Array], on_joints: Array, prescribed: Any = None) -> Array:
        """M^-1 (impulses + sum J^T p) of impulses on coordinates, and of p (6,) on bodies' origins by index."""
        if prescribed is not None and np.any(prescribed):
            self._refuse("a change of velocity with coordinates whose actuators give motion")
        impulses, bodies = np.array(on_joints), self._state.skeleton.bodies
        for index, p in on_bodies.items():
            impulses += self.jacobian(bodies[index]).T @ p
        return self._square(entries.inverse_mass_matrix) @ impulses

    def sums(self) -> Array:
        """Kinetic and potential energy, momentum about the world's origin (6,), mass times centre of mass, mass."""
        out = np.empty(12)
        self._call(entries.sums, self.u, out)
        return out

    def jacobian(self, node: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None) -> Array:
        """Of a point of a node."""
        state, out = self._state, np.empty((6, len(self.q)))
        state.place_of(node, offset)  # checks both
        body, pose = state.carried_by(node)
        place = np.append(np.asarray(offset, float), 1.0)
        place = state.links.offset[body.index] @ (place if pose is None else pose @ place)
        self._call(entries.jacobian, int(state.links.of_body[body.index]), place[:3].copy(), out)
        return out if in_coordinates_of is None else state.turned(out, in_coordinates_of)

    def bias(self, u: Array, gravity: bool = True) -> Array:
        """C(q, u) u, with g(q) if `gravity`."""
        found = self.forces(u, np.zeros(len(u)), loaded=False)
        return found if gravity else found - self.bias(np.zeros(len(u)))

    def centroidal_momentum(self) -> Array:
        """[angular about the centre of mass; linear]."""
        x = self.sums()
        return self.momentum_about(x[8:11] / x[11])

    def momentum_about(self, about: Any) -> Array:
        """[angular about a point; linear]."""
        x = self.sums()
        return np.append(x[2:5] - np.cross(self._state.point_of_world(about), x[5:8]), x[5:8])


def _external(of: Deformed) -> Array:
    rest = np.zeros(len(of.q))
    return of.forces(rest, rest, loaded=False) - of.forces(rest, rest)


_ROUTES: dict[str, Callable[..., Any]] = {
    "jacobian": Deformed.jacobian,
    "mass_matrix": lambda of: of._square(entries.mass_matrix),
    "inverse_mass_matrix": lambda of: of._square(entries.inverse_mass_matrix),
    "log_det_mass_matrix": lambda of: _first(of, entries.log_determinant),
    "coriolis_forces": lambda of: of.bias(of.u, gravity=False),
    "gravity_forces": lambda of: of.bias(np.zeros(len(of.u))),
    "coriolis_and_gravity_forces": lambda of: of.bias(of.u),
    "external_forces": _external,
    "com": lambda of: of.sums()[8:11] / of.sums()[11],
    "com_velocity": lambda of: of.sums()[5:8] / of.sums()[11],
    "momentum_about": Deformed.momentum_about,
    "centroidal_momentum": Deformed.centroidal_momentum,
    "kinetic_energy": lambda of: float(of.sums()[0]),
    "potential_energy": lambda of: float(of.sums()[1]),
    "forward_kinematics": lambda of: TABLE["world_transforms"].current(of._state),
    "inverse_dynamics": lambda of: of.forces(of.u, of._state.data.udot, loaded=False),
    "forward_dynamics": lambda of: of.accelerations(of._state.data.tau, loaded=False),
}


def _first(of: Deformed, entry: Any) -> float:
    out = np.empty(1)
    of._call(entry, out)
    return float(out[0])
