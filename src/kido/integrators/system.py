"""A mechanical system as integrators see it: accelerations at a state, and positions moved on their manifold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError, StateError
from kido.integrators import run
from kido.integrators.dense import RungeKuttaSegment
from kido.integrators.integrator import CompiledIntegrator, Integrator
from kido.integrators.schema import (
    DONE,
    FAILED,
    FORCES,
    MOTION,
    NOT_CLOSED,
    NOT_FINITE,
    NOT_SOLVED,
    PAUSED,
    TOO_MANY,
    TOO_SMALL,
)
from kido.jit import Struct
from kido.joints import ActuatorType
from kido.kernels.manifold import position_differences
from kido.math.transform import takes
from kido.quantities.soft import refuse_free_points
from kido.skeleton import Skeleton
from kido.skeleton.state.actuation import is_prescribed, takes_force
from kido.tree import TREE, data_for

Array = NDArray[np.float64]
Forces = Callable[[float, Array, Array], Array]
SkeletonForces = Callable[[float, Skeleton], ArrayLike]

_REASONS = {
    NOT_FINITE: "the motion became NaN or infinite; a smaller time step or smaller forces may help",
    TOO_SMALL: "the tolerances ask for steps below rounding; the motion may be singular there",
    TOO_MANY: "the integrator's max_steps are used up; allow more, or larger tolerances",
    NOT_CLOSED: "the constraints could not be closed; a smaller time step may help, or the mechanism is singular there",
    NOT_SOLVED: "the variational integrator's equation was not solved in max_iterations; a smaller time step may help",
}


def with_arrays(tree: Struct, **others: Array) -> TREE:
    """A tree that shares all arrays but the given ones."""
    arrays = {name: getattr(tree, name) for name in TREE.arrays}
    return TREE(**{**arrays, **{name: np.ascontiguousarray(x, np.int64) for name, x in others.items()}})


class System(FixedAttributes):
    """Joints, bodies, and the forces that act on them.

    Args:
        name: for messages.
        tree: with free joints of kind FREE.
        mixed: the same with free joints of kind FREE_MIXED, but for those with prescribed coordinates.
        data: holds external forces.
        constant: joint forces (dofs,).
        given: accelerations (dofs,) of prescribed coordinates.
        forces: (time, positions, velocities) -> joint forces instead; None if they are constant.
        raise_singular: called with a coordinate that sees no inertia.
    """

    def __init__(
        self,
        name: str,
        tree: Struct,
        mixed: Struct,
        data: Struct,
        constant: Array,
        given: Array,
        forces: Forces | None = None,
        raise_singular: Callable[[int], Any] | None = None,
    ):
        self.name, self.forces, self._raise_singular = name, forces, raise_singular
        self._tree = tree
        self.mixed = mixed
        self._source, self.constant, self._given = data, constant, given
        self.data = self._new_data()

    @cached_property
    def _next(self) -> Any:
        """Data of the end of a step, for integrators that look ahead."""
        return self._new_data()

    @cached_property
    def evaluation(self) -> MOTION:
        return self._new_motion(self.mixed, 0)

    @cached_property
    def _between(self) -> MOTION:
        return self._new_motion(self.mixed, 1)

    @cached_property
    def _moves(self) -> MOTION:
        return self._new_motion(self._tree, 0)

    def _new_data(self) -> Any:
        d = self._source
        return data_for(self._tree, external=d.external, has_external=d.has_external)

    def _new_motion(self, tree: Any, outputs: int) -> MOTION:
        motion = MOTION(bodies=len(tree.parent), dofs=self.num_dofs, outputs=outputs)
        motion.tree = tree
        motion.data = self.data
        motion.command[:] = self.constant
        motion.given[:] = self._given
        motion.counted[:] = 1
        return motion

    # A copy makes what holds addresses anew. It is there to read a motion that is done, so that the functions that
    # drove it, which often cannot be copied, stay behind.

    def __getstate__(self) -> dict[str, Any]:
        kept = ("name", "_tree", "mixed", "_source", "constant", "_given")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, forces=None, _raise_singular=None)
        self.data = self._new_data()

    def frozen(self) -> Self:
        """The system as it is now, whatever becomes of the skeleton: what a motion that is done is read by."""
        made, memo = object.__new__(type(self)), {}
        state = self.__getstate__()
        state.update({name: copy.deepcopy(state[name], memo) for name in ("_tree", "mixed")})
        made.__setstate__(state)
        return made

    def set_constant(self, forces: Array, given: Array, *motions: MOTION) -> None:
        """Change the constant joint forces and prescribed accelerations, also of motions made already."""
        self.constant, self._given = forces.copy(), given.copy()
        for motion in (self.evaluation, *motions):
            motion.command[:], motion.given[:] = forces, given

    @property
    def num_dofs(self) -> int:
        """Number of coordinates."""
        return int(self._tree.first_dof[-1])

    @classmethod
    def of_skeleton(cls, skeleton: Skeleton, forces: ArrayLike | SkeletonForces | None = None) -> System:
        """A skeleton on its own, with the forces that `kido.integrators.simulate` describes.

        Raises:
            StateError: forces of the wrong count or not finite.
            ModelError: a coordinate has a servo, a POSITION actuator or a gear, or a soft body points that are free.
        """
        data = skeleton.current_state.compiled()
        state = skeleton.current_state
        refuse_free_points(state, "simulate")
        function, constant = joint_forces(skeleton, forces)
        tree: TREE = skeleton.current_state.tree  # the skeleton is compiled
        for kind in (ActuatorType.SERVO, ActuatorType.POSITION, ActuatorType.MIMIC):
            if (tree.actuator == kind).any():
                dof = skeleton.dofs[int(np.flatnonzero(tree.actuator == kind)[0])]
                raise ModelError(
                    f"skeleton {skeleton.name!r}: dof {dof.name!r} has a {kind.name} actuator, which works by impulses "
                    "in worlds alone; make it PASSIVE or FORCE for smooth motion"
                )
        natural = with_arrays(tree, prescribed=is_prescribed(tree.actuator))
        kind = skeleton.current_state.links.kinds_in_worlds(tree.kind)
        mixed = natural if np.array_equal(kind, tree.kind) else with_arrays(natural, kind=kind)
        given = np.where(tree.actuator == ActuatorType.ACCELERATION, data.command, 0.0)
        constant = np.where(takes_force(tree.actuator), constant, 0.0)
        made = cls if state.deformed is None else state.deformed.system
        return made(
            f"skeleton {skeleton.name!r}",
            natural,
            mixed,
            data,
            constant,
            given,
            function,
            skeleton.current_state.raise_singular,
        )

    def start_velocities(self, velocities: Array) -> Array:
        """Velocities (dofs,) as VELOCITY and LOCKED actuators have them from the start."""
        t, d = self._tree, self._source
        u = np.where(t.actuator == ActuatorType.VELOCITY, d.command, velocities)
        return np.where(t.actuator == ActuatorType.LOCKED, 0.0, u)

    def start(self, time: float, positions: Array, velocities: Array) -> tuple[Array, Array]:
        """The state that a motion starts from at a time, for that which the skeleton holds."""
        return positions, self.start_velocities(velocities)

    # For integrators in Python -----------------------------------------------------------------------------

    def accelerations(self, time: float, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """udot (dofs,) at a state [m/s^2, rad/s^2]; springs and dampers of joints, external forces included.

        Coordinates whose acceleration is prescribed have that.
        """
        m, d = self.evaluation, self.data
        q, u = np.asarray(positions, float), np.asarray(velocities, float)
        if self.forces is not None:
            m.command[:] = self.forces(time, q, u)
        m.now = time
        d.q[:], d.u[:] = q, u
        self.check(run.accelerations_of(m.address), time)
        return d.udot.copy()

    def advance(self, positions: ArrayLike, velocities: ArrayLike, duration: float = 1.0) -> Array:
        """Positions (dofs,) moved along constant velocities for a time [s], on the manifold of each joint."""
        m = self._moves
        m.q0[:] = positions
        m.x[:] = np.asarray(velocities, float) * duration
        run.displaced(m.address)
        return self.data.q.copy()

    def close(self, time: float, positions: Array, velocities: Array) -> tuple[Array, Array]:
        """A state near to the motion, on it as far as the system knows: that of a tree is as it is."""
        return positions, velocities

    def displacement(self, before: Array, after: Array) -> Array:
        """x with `advance(before, x)` = after."""
        x = np.empty(self.num_dofs)
        position_differences.call(self._tree.address, self.data.address, after, before, x)
        return x

    def displacement_rate(self, x: Array, velocities: Array) -> Array:
        """xdot of a displacement that grows with the velocities at its end."""
        m = self._moves
        m.x[:], self.data.u[:] = x, velocities
        run.rate_of_displacement(m.address)
        return m.K[0].copy()

    @property
    def evaluations(self) -> int:
        """How often `accelerations` was called."""
        return self.evaluation.evaluations

    def step(self, integrator: Integrator, time: float, q: Array, u: Array, h: float) -> tuple[Array, Array]:
        """One step of a user's integrator, its result checked.

        Raises:
            StateError: it returned something else than two finite vectors.
        """
        result = integrator.step(self, time, q.copy(), u.copy(), h)
        try:
            new_q, new_u = (np.array(x, dtype=np.float64) for x in result)
        except (TypeError, ValueError):
            raise StateError(f"{integrator.name}.step: expected positions and velocities, got {result!r}") from None
        if new_q.shape != q.shape or new_u.shape != u.shape:
            raise StateError(
                f"{integrator.name}.step: expected {len(q)} positions and {len(u)} velocities, got arrays of "
                f"shape {new_q.shape} and {new_u.shape}"
            )
        if not (np.isfinite(new_q).all() and np.isfinite(new_u).all()):
            self.check(NOT_FINITE, time)
        return new_q, new_u

    # For compiled integrators ------------------------------------------------------------------------------

    def motion(self, integrator: CompiledIntegrator, times: Array, largest: float, q: Array, u: Array) -> MOTION:
        """The container of an integration through given times, which starts from the state q, u."""
        m = self._new_motion(self.mixed, len(times))
        m.step = integrator.step_function
        if integrator.looks_ahead:
            m.end_data = self._next
        m.times[:] = times
        m.max_step = integrator.max_step if integrator.adaptive else largest
        m.start = m.now = times[0]
        m.asks = int(self.forces is not None)
        m.output = 1
        integrator.configure(m)
        m.Q[0], m.U[0] = q, u
        self.data.q[:], self.data.u[:] = q, u
        return m

    def results(self, times: Array) -> MOTION:
        """A container of no integration, with rows for results at given times."""
        m = self._new_motion(self.mixed, len(times))
        m.times[:] = times
        return m

    def go_on(self, m: MOTION, budget: int) -> bool:
        """Try up to so many steps, or one where joint forces are a function. Returns whether all results are there.

        Raises:
            StateError: the integration failed.
        """
        while True:
            status = run.run(m.address, budget)
            if status != FORCES:
                self.check(status, m.start)
                return status == DONE
            assert self.forces is not None
            q, u = np.empty(self.num_dofs), np.empty(self.num_dofs)
            run.asked_state(m.address, q, u)
            m.command[:] = self.forces(m.now, q, u)
            budget = 0  # ends the step

    def state(self, m: MOTION) -> tuple[Array, Array]:
        """The last state that was completed."""
        run.rewind(m.address)
        return self.data.q.copy(), self.data.u.copy()

    def present(self) -> tuple[Array, Array]:
        """The state in the data."""
        return self.data.q.copy(), self.data.u.copy()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Whatever is evaluated meanwhile, an integration under way finds its state as it was."""
        kept = self.data.q.copy(), self.data.u.copy()
        try:
            yield
        finally:
            self.data.q[:], self.data.u[:] = kept

    def interpolated(self, segment: RungeKuttaSegment, time: float) -> tuple[Array, Array]:
        """The state at a time within a step, by the interpolant of the method."""
        m = self._between
        m.num_stages, m.start, m.size, m.times[0] = segment.num_stages, segment.start, segment.size, time
        for name, numbers in segment.kept.items():
            getattr(m, name)[:] = numbers
        self.check(run.interpolated(m.address), time)
        return self.data.q.copy(), self.data.u.copy()

    def compiled_step(
        self, integrator: CompiledIntegrator, time: float, positions: ArrayLike, velocities: ArrayLike, h: float
    ) -> tuple[Array, Array]:
        """One step of a compiled integrator."""
        q, u = np.asarray(positions, float), np.asarray(velocities, float)
        m = self.motion(integrator, np.array([time, time + h]), np.inf, q, u)
        if integrator.adaptive:
            m.next_size = min(h, integrator.max_step)
        while not self.go_on(m, 1000):
            pass
        return self.state(m)

    def check(self, status: int, time: float) -> None:
        """Raise the error that a status stands for.

        Raises:
            StateError: the integration failed.
            ModelError: a coordinate has no inertia.
        """
        if status in (DONE, PAUSED):
            return
        if status < FAILED:
            if self._raise_singular is not None:
                self._raise_singular(FAILED - 1 - status)
            raise StateError(
                f"{self.name}: at t = {time:g} s the inertia seen by dof {FAILED - 1 - status} is not positive"
            )
        raise StateError(f"{self.name}: at t = {time:g} s {_REASONS[status]}")


def joint_forces(skeleton: Skeleton, forces: Any) -> tuple[Any, Array]:
    """Joint forces as a function of (time, q, u), or None and constant ones."""
    if not callable(forces):
        return None, skeleton.forces if forces is None else checked_forces(skeleton, forces, "forces")
    if not takes(forces, 2):
        raise ModelError(f"forces: expected a function of the time and the skeleton, got {forces!r}")

    def at(time: float, positions: Array, velocities: Array) -> Array:
        skeleton.positions, skeleton.velocities = positions, velocities
        return checked_forces(skeleton, forces(time, skeleton), f"forces at t = {time:g} s")

    return at, np.zeros(skeleton.num_dofs)


def checked_forces(skeleton: Skeleton, value: Any, what: str) -> Array:
    vector = skeleton.current_state.vector(value, skeleton.num_dofs, what)
    if not np.isfinite(vector).all():
        skeleton.current_state.raise_not_finite(what, vector)
    return vector
