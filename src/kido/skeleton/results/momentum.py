"""Centre of mass, momentum and energy of a skeleton or of some of its bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.jit import REFUSALS
from kido.kernels import momentum_entries as entries
from kido.kernels.entries import REFUSED
from kido.math.transform import as_vector
from kido.skeleton.arrays import OF_ACCELERATIONS, OF_POSITIONS, OF_VELOCITIES, Array
from kido.skeleton.frames.frame import Frame
from kido.skeleton.results.jacobians import SkeletonJacobians
from kido.skeleton.results.selections import NOTHING, Bodies
from kido.skeleton.results.skins import (
    kinetic_energy_share,
    mass_moment_share,
    momentum_share,
    potential_energy_share,
    refuse_soft,
    soft_among,
)

_CENTRE = np.zeros(3)


class SkeletonMomentum(SkeletonJacobians):
    """What the masses do together.

    `bodies` chooses whose: bodies, names or indices, such as `body.subtree`; None means all. Momenta are
    [angular; linear], in world axes. All methods that need a centre of mass raise ModelError if there is no mass.
    """

    # Centre of mass --------------------------------------------------------------------------------------

    def _current_com(self, bodies: Bodies, level: int) -> Array:
        """Position, velocity or acceleration of the centre of mass, by level."""
        key = self._indices_of(bodies)

        def compute() -> Array:
            d = (self._with_transforms, self._with_velocities, self._with_accelerations)[level]()
            out = empty(3)
            subset = self._subset(key)
            self._check_mass(self._of_current(entries.com, d, subset, 0, level, NOTHING, NOTHING, NOTHING, out))
            return out

        value = self._result((OF_POSITIONS, OF_VELOCITIES, OF_ACCELERATIONS)[level], ("com", key), compute)
        if level > 1:
            refuse_soft(self, key, "com_acceleration")
        elif soft := soft_among(self, key):
            share = mass_moment_share(soft) if level == 0 else momentum_share(soft)[3:]
            value = value + share / self._mass_of(key)
        return value

    def _frame(self, frame: Any, what: str) -> Frame:
        if frame is None:
            return Frame.world()
        if not isinstance(frame, Frame):
            raise ModelError(f"skeleton {self.name!r}: {what}: expected a frame or None (the world), got {frame!r}")
        return frame

    def com_position(self, bodies: Bodies = None, with_respect_to: Frame | None = None) -> Array:
        """Centre of mass [m], from the origin of a frame in its axes; None for the world.

        Raises:
            ModelError: the bodies have no mass.
        """
        p = self._current_com(bodies, 0).copy()
        if with_respect_to is None:
            return p
        X = self._frame(with_respect_to, "with_respect_to").world_transform
        return X[:3, :3].T @ (p - X[:3, 3])

    def com_velocity(
        self, bodies: Bodies = None, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> Array:
        """Velocity of the centre of mass [m/s].

        Args:
            bodies: whose.
            relative_to: frame of the observer, who moves and turns with it; None for the world.
            in_coordinates_of: frame in whose axes the result is; None for the world's.
        """
        v = self._current_com(bodies, 1).copy()
        if relative_to is not None:
            frame = self._frame(relative_to, "relative_to")
            V, r = frame.spatial_velocity, self._current_com(bodies, 0) - frame.world_transform[:3, 3]
            v -= V[3:] + np.cross(V[:3], r)
        return v if in_coordinates_of is None else self._axes_of(in_coordinates_of).T @ v

    def com_acceleration(
        self, bodies: Bodies = None, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> Array:
        """Acceleration of the centre of mass [m/s^2] by the current accelerations; arguments as for `com_velocity`."""
        a = self._current_com(bodies, 2).copy()
        if relative_to is not None:
            frame = self._frame(relative_to, "relative_to")
            V, r = frame.spatial_velocity, self._current_com(bodies, 0) - frame.world_transform[:3, 3]
            w, wdot = V[:3], frame.angular_acceleration()
            turning = np.cross(w, r)
            v = self._current_com(bodies, 1) - V[3:] - turning
            a -= frame.linear_acceleration() + np.cross(wdot, r) + np.cross(w, turning) + 2.0 * np.cross(w, v)
        return a if in_coordinates_of is None else self._axes_of(in_coordinates_of).T @ a

    # Momentum --------------------------------------------------------------------------------------------

    def _current_momentum(self, bodies: Bodies, about: ArrayLike | None) -> Array:
        key = self._indices_of(bodies)
        point = _CENTRE if about is None else as_vector(about, f"skeleton {self.name!r}: about")

        def compute() -> Array:
            h = empty(6)
            d, subset = self._with_velocities(), self._subset(key)
            entry = entries.momentum
            self._check_mass(self._of_current(entry, d, subset, 0, int(about is None), point, NOTHING, NOTHING, h))
            return h

        value = self._result(OF_VELOCITIES, ("momentum", key, None if about is None else tuple(point)), compute)
        if soft := soft_among(self, key):
            if about is None:  # about the true centre of mass, which the points have moved
                return self._current_momentum(bodies, self._current_com(bodies, 0))
            value = value + momentum_share(soft, point)
        return value

    def momentum_about(self, about: ArrayLike, bodies: Bodies = None) -> Array:
        """[angular; linear] momentum (6,) about a point of the world [kg m^2/s, kg m/s]."""
        return self._current_momentum(bodies, about).copy()

    def angular_momentum(self, about: ArrayLike | None = None, bodies: Bodies = None) -> Array:
        """Angular momentum (3,) about a point of the world; None for the centre of mass of the bodies."""
        return self._current_momentum(bodies, about)[:3].copy()

    def linear_momentum(self, bodies: Bodies = None) -> Array:
        """Linear momentum (3,) [kg m/s]."""
        return self._current_momentum(bodies, (0.0, 0.0, 0.0))[3:].copy()

    @property
    def centroidal_momentum(self) -> Array:
        """[angular; linear] momentum (6,) about the centre of mass (a copy)."""
        return self._current_momentum(None, None).copy()

    def _current_centroidal_matrix(self, key: tuple[int, ...] | None) -> Array:
        def compute() -> Array:
            A = empty((6, len(self._dofs)))
            d, subset = self._with_transforms(), self._subset(key)
            self._check_mass(self._of_current(entries.centroidal_matrix, d, subset, 0, NOTHING, A))
            return A

        return self._result(OF_POSITIONS, ("centroidal momentum matrix", key), compute)

    @property
    def centroidal_momentum_matrix(self) -> Array:
        """A (6, dofs) with `centroidal_momentum` = A u (a copy); rows [angular; linear], world axes."""
        return self._current_centroidal_matrix(None).copy()

    @property
    def centroidal_momentum_matrix_derivative(self) -> Array:
        """dA/dt (6, dofs): the rate of `centroidal_momentum` is A udot + (dA/dt) u (a copy)."""
        return self._current_centroidal_rate(None).copy()

    @property
    def centroidal_inertia(self) -> Array:
        """All bodies as one rigid body about the centre of mass (6, 6), world axes: [[J, 0], [0, m I]] (a copy)."""

        def compute() -> Array:
            inertia = empty((6, 6))
            d, subset = self._with_transforms(), self._subset(None)
            self._check_mass(self._of_current(entries.centroidal_inertia, d, subset, 0, NOTHING, inertia))
            return inertia

        return self._result(OF_POSITIONS, "centroidal inertia", compute).copy()

    # Energy ----------------------------------------------------------------------------------------------

    def kinetic_energy_of(self, bodies: Bodies) -> float:
        """Kinetic energy of some bodies [J]."""
        key = self._indices_of(bodies)

        def compute() -> float:
            d = self._with_velocities()
            return self._of_current(entries.kinetic_energy, d, self._subset(key), 0, NOTHING, NOTHING)

        energy = self._result(OF_VELOCITIES, ("kinetic energy", key), compute)
        soft = soft_among(self, key)
        return energy + kinetic_energy_share(soft) if soft else energy

    def potential_energy_of(self, bodies: Bodies) -> float:
        """Gravity's of some bodies, zero at the world origin, and that of the springs of the joints above them [J]."""
        key = self._indices_of(bodies)

        def compute() -> float:
            d = self._with_transforms()
            return self._of_current(entries.potential_energy, d, self._subset(key), 0, NOTHING)

        energy = self._result(OF_POSITIONS, ("potential energy", key), compute)
        soft = soft_among(self, key)
        return energy + potential_energy_share(self, soft) if soft else energy  # type: ignore[arg-type]

    @property
    def lagrangian(self) -> float:
        """Kinetic less potential energy [J]."""
        return self.kinetic_energy - self.potential_energy

    # Of a given state ------------------------------------------------------------------------------------

    def compute_com(self, positions: ArrayLike, bodies: Bodies = None) -> Array:
        """Centre of mass in the world at given positions [m]; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        out = empty(3)
        try:
            status = entries.com.call(w.tree, w.data, subset, 1, 0, positions, NOTHING, NOTHING, out)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_mass(self._again(entries.com, (subset, 1, 0), (NOTHING, NOTHING, out), positions=positions))
        return out

    def compute_com_velocity(self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies = None) -> Array:
        """Velocity of the centre of mass of a given state, world axes [m/s]; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        out = empty(3)
        try:
            status = entries.com.call(w.tree, w.data, subset, 1, 1, positions, velocities, NOTHING, out)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_mass(
                self._again(entries.com, (subset, 1, 1), (NOTHING, out), positions=positions, velocities=velocities)
            )
        return out

    def compute_com_acceleration(
        self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike, bodies: Bodies = None
    ) -> Array:
        """Acceleration of the centre of mass of a given state, world axes [m/s^2]; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        out = empty(3)
        try:
            status = entries.com.call(w.tree, w.data, subset, 1, 2, positions, velocities, accelerations, out)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_mass(
                self._again(
                    entries.com,
                    (subset, 1, 2),
                    (out,),
                    positions=positions,
                    velocities=velocities,
                    accelerations=accelerations,
                )
            )
        return out

    def compute_centroidal_momentum(self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies = None) -> Array:
        """[angular; linear] momentum (6,) about the centre of mass, of a given state; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        h = empty(6)
        try:
            status = entries.momentum.call(w.tree, w.data, subset, 1, 1, _CENTRE, positions, velocities, h)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_mass(
                self._again(entries.momentum, (subset, 1, 1, _CENTRE), (h,), positions=positions, velocities=velocities)
            )
        return h

    def compute_centroidal_momentum_matrix(self, positions: ArrayLike, bodies: Bodies = None) -> Array:
        """`centroidal_momentum_matrix` at given positions; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        A = empty(w.six_rows)
        try:
            status = entries.centroidal_matrix.call(w.tree, w.data, subset, 1, positions, A)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_mass(self._again(entries.centroidal_matrix, (subset, 1), (A,), positions=positions))
        return A

    def compute_centroidal_momentum_matrix_derivative(
        self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies = None
    ) -> Array:
        """`centroidal_momentum_matrix_derivative` of a given state; the current state stays."""
        return self._centroidal_rate_at(positions, velocities, bodies)

    def compute_centroidal_inertia(self, positions: ArrayLike, bodies: Bodies = None) -> Array:
        """`centroidal_inertia` at given positions; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        inertia = empty((6, 6))
        try:
            status = entries.centroidal_inertia.call(w.tree, w.data, subset, 1, positions, inertia)
        except REFUSALS:
            status = REFUSED
        if status:
            self._check_mass(self._again(entries.centroidal_inertia, (subset, 1), (inertia,), positions=positions))
        return inertia

    def compute_kinetic_energy(self, positions: ArrayLike, velocities: ArrayLike, bodies: Bodies = None) -> float:
        """Kinetic energy of a given state [J]; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        try:
            energy = entries.kinetic_energy.call(w.tree, w.data, subset, 1, positions, velocities)
        except REFUSALS:
            energy = np.nan
        if energy != energy:  # refused
            energy = self._again(entries.kinetic_energy, (subset, 1), (), positions=positions, velocities=velocities)
        return energy

    def compute_potential_energy(self, positions: ArrayLike, bodies: Bodies = None) -> float:
        """Potential energy of gravity and of the joint springs at given positions [J]; the current state stays."""
        w = self._ready or self._workspace()
        subset = w.all_bodies if bodies is None else self._subset(bodies)
        try:
            energy = entries.potential_energy.call(w.tree, w.data, subset, 1, positions)
        except REFUSALS:
            energy = np.nan
        if energy != energy:  # refused
            energy = self._again(entries.potential_energy, (subset, 1), (), positions=positions)
        return energy
