"""Constrained systems as integrators see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.constraints.constraint import Constraint
from kido.dynamics.augmented import TreeAugmentedSolver
from kido.dynamics.moving import MOVING
from kido.dynamics.registry import solver_class
from kido.dynamics.stabilization import Baumgarte, checked_stabilization
from kido.dynamics.system import ConstrainedSystem, Rates
from kido.errors import ModelError, StateError
from kido.integrators import run
from kido.integrators.explicit import explicit_step
from kido.integrators.integrator import CompiledIntegrator, Integrator
from kido.integrators.schema import MOTION
from kido.integrators.system import System, joint_forces, with_arrays
from kido.joints import ActuatorType
from kido.skeleton import Skeleton
from kido.skeleton.state.actuation import takes_force

__all__ = ["ClosedSystem"]

Array = NDArray[np.float64]
START_TOLERANCE = 1e-6  # [m or rad] rows farther from what they are driven to are open; also a share of velocities


class ClosedSystem(System):
    """A skeleton with the rows that hold on it, for one integration.

    A solver that projects states (constraint embedding) makes an ordinary differential equation of its independent
    coordinates, but for singular positions, which the tree-augmented solver takes it through; with others the
    stabilization keeps rows met.

    Args:
        skeleton, constraints, rates, solver, passive: as of `kido.ConstrainedDynamics`.
        forces: as of `kido.integrators.simulate`.
        integrator: has to be an explicit one.
        stabilization: of `kido.dynamics`, or its name; None: `Projection`.

    Raises:
        ModelError: an implicit integrator; a stabilization for a solver that needs none.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        constraints: Iterable[Constraint] | None,
        rates: Rates | None,
        solver: str,
        passive: bool,
        forces: Any,
        integrator: Integrator,
        stabilization: Any,
    ):
        if isinstance(integrator, CompiledIntegrator) and integrator.step_function is not explicit_step:
            raise ModelError(
                "simulate: closed loops are integrated by explicit methods (DormandPrince, RK4, ExplicitEuler, or one "
                f"of your own), got {integrator.name}"
            )
        self.rows = ConstrainedSystem(skeleton, constraints, rates)
        function, constant = joint_forces(skeleton, forces)
        natural = self.rows.tree
        kind = skeleton.current_state.links.kinds_in_worlds(natural.kind)
        mixed = natural if np.array_equal(kind, natural.kind) else with_arrays(natural, kind=kind)
        source = skeleton.current_state.compiled()
        super().__init__(
            f"skeleton {skeleton.name!r}",
            natural,
            mixed,
            source,
            np.where(takes_force(natural.actuator), constant, 0.0),
            np.where(natural.actuator == ActuatorType.ACCELERATION, source.command, 0.0),
            function,
            skeleton.current_state.raise_singular,
        )
        self._passive = passive
        self._kind = solver_class(solver, self.rows, stabilized=stabilization is not None)
        self.projects = self._kind.project_stage is not None
        if self.projects and stabilization is not None:
            raise ModelError(
                f"simulate: solver {self._kind.name} keeps its rows met by itself: expected no stabilization, got "
                f"{stabilization!r}"
            )
        self.stabilization = checked_stabilization(stabilization)
        self._make_solver()

    def _make_solver(self) -> None:
        """The solver, what goes with it, and what callbacks find of them."""
        self.solver = self._kind(self.rows, tree=self.mixed, data=self.data, passive=self._passive)
        self._moving = MOVING(slots=len(self.solver.container.aim), dofs=self.num_dofs)
        self._moving.solver = self.solver.container
        if self.projects and self.rows.flex is None:
            self._fallback = TreeAugmentedSolver(self.rows, tree=self.mixed, data=self.data, passive=self._passive)
            self._moving.fallback = self._fallback.container
            self._moving.lever, self._moving.decided_at = 1.0, np.nan
        elif not self.projects:
            self._moving.alpha, self._moving.beta = self.stabilization.gains
        self._joint_forces = self.forces
        if self.rows.has_functions:
            self.forces = self._forces_and_rates
        self._drive(0.0)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in ("rows", "projects", "stabilization", "_kind", "_passive")}
        return {**super().__getstate__(), **kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._make_solver()

    # Rates in time -----------------------------------------------------------------------------------------

    def _drive(self, time: float) -> None:
        """Note what rows are driven to at a time."""
        g, y = self._moving, self.solver.container
        self.rows.drive(y, time)
        g.driven_at = time
        g.aim[:], g.rate[:], g.rate_change[:] = y.aim, y.rate, y.rate_change

    def _forces_and_rates(self, time: float, positions: Array, velocities: Array) -> Array:
        self._drive(time)
        return self.constant if self._joint_forces is None else self._joint_forces(time, positions, velocities)

    # What integrators call ---------------------------------------------------------------------------------

    def _new_motion(self, tree: Any, outputs: int) -> MOTION:
        motion = super()._new_motion(tree, outputs)
        motion.owner = self._moving.address
        motion.accelerate = self._kind.moves.accelerate
        kind = self.stabilization
        if self.projects:
            motion.project = self.solver.project_stage
            motion.close = self.solver.project_step
        else:
            if kind.closes_stages:
                motion.project = self._kind.moves.project_velocities
            if kind.closes_steps:
                motion.close = self._kind.moves.project
                motion.altered = 1
        return motion

    def motion(self, integrator: CompiledIntegrator, times: Array, largest: float, q: Array, u: Array) -> MOTION:
        """The container of an integration; see `System.motion`."""
        m = super().motion(integrator, times, largest, q, u)
        if self.rows.has_functions:
            m.dense = 0  # results between steps are closed at a time at which nobody asks Python
        return m

    def start(self, time: float, positions: Array, velocities: Array) -> tuple[Array, Array]:
        """The state to start from: closed to rounding.

        Raises:
            StateError: loops are open by more than 1e-6, or velocities open them.
        """
        u = self.start_velocities(velocities)
        phi, _, rate, wanted, _ = self.rows.evaluate(positions, u, time)
        scale = max(float(np.abs(u).max(initial=0.0)), 1.0)
        names = self.rows.row_names
        for what, error, most, help_ in (
            ("loops are open", phi, START_TOLERANCE, "assemble()"),
            ("velocities open loops", rate - wanted, START_TOLERANCE * scale, "assemble_velocities()"),
        ):
            wrong = np.flatnonzero(~(np.abs(error) <= most))
            if len(wrong):
                listed = ", ".join(f"{names[s]} ({error[s]:.3g})" for s in wrong[:4])
                raise StateError(
                    f"{self.name}: at the start {what}: {listed}{' ...' if len(wrong) > 4 else ''}; "
                    f"kido.ConstrainedDynamics.{help_} closes them"
                )
        return self.close(time, positions, u)

    def close(self, time: float, positions: Array, velocities: Array) -> tuple[Array, Array]:
        """A state near to the motion, with its rows met."""
        self._drive(time)
        m, d = self._closing, self.data
        m.now = time
        d.q[:], d.u[:] = positions, velocities
        self.check(run.closed(m.address), time)
        return d.q.copy(), d.u.copy()

    def row_forces(self, time: float, positions: Array, velocities: Array) -> Array:
        """Forces of the rows (nc,) at a state, by the solver in use [N or N m]."""
        with self.aside():
            self._moving.whole = 1
            self.accelerations(time, positions, velocities)
            used = self.solver.container
            if self._moving.uses_fallback:
                used = self._fallback.container
            return used.multiplier[: self.rows.num_rows].copy()

    def interpolated(self, segment: Any, time: float) -> tuple[Array, Array]:
        """The state at a time within a step, with its rows met."""
        self._drive(time)
        return super().interpolated(segment, time)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Whatever is evaluated meanwhile, an integration under way finds its state as it was."""
        g = self._moving
        arrays = {name: getattr(g, name).copy() for name in MOVING.arrays}
        numbers = {name: getattr(g, name) for name, f in MOVING.fields.items() if f.kind in "FI"}
        with super().aside():
            yield
        for name, values in arrays.items():
            getattr(g, name)[:] = values
        for name, value in numbers.items():
            setattr(g, name, value)

    @property
    def _closing(self) -> MOTION:
        """A motion whose end of a step is closed, also by a method that leaves that to its accelerations."""
        m = self.evaluation
        if not self.projects and isinstance(self.stabilization, Baumgarte):
            m.close = self._kind.moves.project
        return m

    def step(self, integrator: Integrator, time: float, q: Array, u: Array, h: float) -> tuple[Array, Array]:
        """One step of any integrator, closed at its end unless that is left to the accelerations."""
        state = super().step(integrator, time, q, u, h)
        if isinstance(integrator, CompiledIntegrator) or isinstance(self.stabilization, Baumgarte):
            return state
        return self.close(time + h, *state)
