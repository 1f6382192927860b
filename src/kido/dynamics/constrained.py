"""Forward dynamics of a skeleton with loops, by a solver that is chosen by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import ReadOnlyArray, fixed, read_only_copy
from kido.attributes import named_arguments
from kido.constraints.body_constraint import BodyConstraint
from kido.constraints.constraint import Constraint
from kido.dynamics import flexible_rows
from kido.dynamics.assembly import Assembler, Assembly, frozen_mask, random_generator
from kido.dynamics.motion import ClosedSystem
from kido.dynamics.registry import AUTO, solver_class
from kido.dynamics.rows import actuator_forces, free_axis_forces
from kido.dynamics.solver import DynamicsReport, DynamicsSolver
from kido.dynamics.system import ConstrainedSystem, Rates
from kido.errors import ModelError, StateError
from kido.integrators.integrator import Integrator, count, positive
from kido.integrators.simulate import Movable
from kido.math.transform import as_flag, as_numbers, as_vector
from kido.quantities.impulses import reactions
from kido.skeleton import Skeleton
from kido.skeleton.state.loads import wrench_of_row
from kido.turns import Turn, in_turn

__all__ = ["ConstrainedDynamics"]

Array = NDArray[np.float64]
CONTRADICTS = 1e-6  # share of the accelerations by which rows may be missed before they count as contradictory


class ConstrainedDynamics(Movable):
    """Smooth forward dynamics of one skeleton with closed loops, gears and mimics.

    M(q) udot + C(q, u) = T + springs and dampers + J^T f_ext + G^T lambda,   G udot = gamma = Udot - Gdot u

    It follows the skeleton: a body that comes or goes, another actuator or mass is seen by the next call. Results
    (`multipliers` and the others) belong to the last call.

    Args:
        skeleton, constraints, rates: as of `ConstrainedSystem`.
        solver: "tree", "TA", "FA", "CE", "CE+TA", or "auto" to have it chosen.
        passive: whether springs and dampers of joints act.

    Raises:
        ModelError: as `ConstrainedSystem`.
        NameLookupError: there is no such solver.

    Example:
        >>> dynamics = kido.ConstrainedDynamics(robot)
        >>> dynamics.accelerations(forces=T)
    """

    def __init__(
        self,
        skeleton: Skeleton,
        constraints: Iterable[Constraint] | None = None,
        solver: str = AUTO,
        *,
        rates: Rates | None = None,
        passive: bool = True,
    ):
        self._system = ConstrainedSystem(skeleton, constraints, rates)
        self._skeleton, self.turn = skeleton, Turn()
        self._given = self._system._given
        self._rates, self._name = rates, solver
        self._passive = as_flag(passive, f"skeleton {skeleton.name!r}: constrained dynamics: passive")
        self._solver: DynamicsSolver | None = None
        self._evaluated = False
        self._q = self._u = self._udot = np.zeros(0)
        solver_class(solver, self._system)

    # Description -----------------------------------------------------------------------------------------

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton."""
        return self._skeleton

    @property
    def system(self) -> ConstrainedSystem:
        """The skeleton with its rows, current."""
        if not self._system.is_current:
            self.update()
        return self._system

    @property
    def solver(self) -> DynamicsSolver:
        """The solver, made when first needed."""
        system = self.system
        if self._solver is None:
            self._solver = solver_class(self._name, system)(system, passive=self._passive)
        return self._solver

    @in_turn
    def update(self) -> None:
        """Read the constraints anew: after a change of one's frames, offset or other numbers."""
        self._system = ConstrainedSystem(self._skeleton, self._given, self._rates)
        self._solver, self._evaluated = None, False

    # Dynamics --------------------------------------------------------------------------------------------

    @in_turn
    def accelerations(
        self,
        q: ArrayLike | None = None,
        u: ArrayLike | None = None,
        forces: ArrayLike | None = None,
        time: float = 0.0,
    ) -> Array:
        """udot (dofs,) at a state [m/s^2, rad/s^2]; the skeleton's own state stays.

        Coordinates with ACCELERATION actuators have the acceleration that is commanded, those with VELOCITY and
        LOCKED actuators none.

        Args:
            q, u: positions and velocities; by default those that the skeleton holds.
            forces: joint forces (dofs,); by default the commands that the skeleton holds.
            time: [s] at which rates of constraints are taken.

        Raises:
            StateError: arguments of the wrong count or not finite; constraints that contradict each other, or what
                is prescribed, which names their rows.
            ModelError: the inertia seen by a coordinate is not positive.
        """
        solver = self.solver
        q, u = self._system.checked_state(q, u)
        time = self._system.checked_time(time)
        T = None if forces is None else self._system.checked(forces, "forces")
        self._evaluated = False
        udot = solver.accelerate(q, u, T, time)
        self._refuse_contradictions(solver, udot)
        self._evaluated = True
        self._q, self._u, self._udot = q.copy(), u.copy(), udot.copy()
        return udot

    def _refuse_contradictions(self, solver: DynamicsSolver, udot: Array) -> None:
        residual = solver.container.residual[: self._system.num_rows]
        size = max(np.abs(udot).max(initial=0.0), np.abs(solver.data.A).max(initial=0.0), 1.0)
        wrong = np.flatnonzero(~(np.abs(residual) <= CONTRADICTS * size))
        if len(wrong):
            names = self._system.row_names
            listed = ", ".join(f"{names[s]} ({residual[s]:.3g})" for s in wrong[:5])
            raise StateError(
                f"skeleton {self._skeleton.name!r}: constraints contradict each other or prescribed coordinates; "
                f"accelerations [m/s^2, rad/s^2] by which rows are missed: {listed}{' ...' if len(wrong) > 5 else ''}"
            )

    @in_turn
    def impulse_response(self, impulse: ArrayLike, q: ArrayLike | None = None, jump: ArrayLike | None = None) -> Array:
        """Velocities (dofs,) that change by an impulse: M du = impulse + G^T p, G du = jump.

        Without a jump the response is that of the constrained system, (M^-1 - M^-1 G^T S^+ G M^-1) impulse.

        Args:
            impulse: generalized (dofs,) [N s, N m s].
            q: positions; by default those that the skeleton holds.
            jump: change (nc,) of the rates of rows [m/s, rad/s]; None: none.

        Raises:
            StateError: an impulse or positions of the wrong count or not finite.
            ModelError: a jump that is none.
        """
        solver = self.solver
        q, _ = self._system.checked_state(q, np.zeros(self._system.num_dofs))
        p = self._system.checked(impulse, "impulse")
        m = self._system.num_rows
        change = np.zeros(m) if jump is None else as_vector(jump, f"skeleton {self._skeleton.name!r}: jump", m)
        return solver.respond(q, p, change)

    @in_turn
    def inverse_mass_product(self, vector: ArrayLike, q: ArrayLike | None = None) -> Array:
        """The constrained inverse mass matrix times a vector (dofs,), or times each row of a block (rows, dofs).

        Raises:
            StateError: another shape, or numbers that are not finite.
        """
        n = self.system.num_dofs
        try:
            given = as_numbers(vector)
        except (TypeError, ValueError):
            given = np.zeros((0, 0, 0))
        if given.ndim not in (1, 2) or given.shape[-1] != n:
            raise StateError(
                f"skeleton {self._skeleton.name!r}: vector: expected numbers ({n},) or (rows, {n}), got {vector!r}"
            )
        result = np.array([self.impulse_response(row, q) for row in given.reshape(-1, n)])
        return result.reshape(given.shape)

    @in_turn
    def project_velocities(self, q: ArrayLike | None = None, u: ArrayLike | None = None, time: float = 0.0) -> Array:
        """Velocities (dofs,) with G u = U that are nearest in kinetic energy: what an inelastic impulse leaves."""
        solver = self.solver
        q, u = self._system.checked_state(q, u)
        _, _, rate, wanted, _ = self._system.evaluate(q, u, time)
        return u + solver.respond(q, np.zeros_like(u), wanted - rate)

    # Assembly --------------------------------------------------------------------------------------------

    @in_turn
    @named_arguments
    def assemble(
        self,
        freeze: Any = (),
        *,
        freeze_positions: Any = (),
        freeze_velocities: Any = (),
        limits: bool = True,
        restarts: int = 10,
        seed: int = 0,
        tolerance: float = 1e-6,
        time: float = 0.0,
    ) -> Assembly:
        """Close the loops: positions and velocities of the skeleton, from those that it holds.

        Positions by Levenberg-Marquardt steps within limits and Newton's method at the end, then along closed positions
        back to near the start: the distance in the metric of the mass matrix there becomes least, to about one percent,
        among those on the same branch. Where that ends in a local minimum of |phi|, other starts are tried for the
        loops that are open, farther and farther away. Velocities as `assemble_velocities`.

        Rows that contradict each other by the few digits of a file are met as nearly as they can be, and named as
        `missed`; all others are met to rounding.

        Args:
            freeze: coordinates, joints, or names of either, whose positions and velocities stay. Positions of LOCKED
                coordinates stay anyway, and those of modes of flexible bodies: what deforms them are forces.
            freeze_positions, freeze_velocities: the same for one of the two.
            limits: keep to joint limits; coordinates that start outside of theirs may stay there, but go no farther.
            restarts: how many other starts are tried.
            seed: of those.
            tolerance: by how much rows may be missed that contradict others [m or rad].
            time: [s] at which rates of constraints are taken.

        Raises:
            AssemblyError: loops cannot be closed; it has the positions that miss them least, the rows and limits that
                contradict each other there, and by how much. The skeleton then is as it was.
            StateError: velocities cannot meet all rows, and which; the skeleton is as it was.
            NameLookupError: there is no such coordinate or joint.
            ModelError: something else.

        Example:
            >>> robot = kido.load("robot_with_loops.urdf")
            >>> kido.ConstrainedDynamics(robot).assemble(freeze="hip")
        """
        system, skeleton = self.system, self._skeleton
        what = "assemble"
        close = positive(tolerance, f"{what}: tolerance")
        tries = count(restarts, f"{what}: restarts", zero=True)
        held = frozen_mask(skeleton, freeze, freeze_positions)
        held |= np.array([dof.joint.has_modes for dof in skeleton.dofs], bool)
        moving = frozen_mask(skeleton, freeze, freeze_velocities)
        assembler = Assembler(system, held, as_flag(limits, f"{what}: limits"), time, close)
        found = assembler.positions(skeleton.positions, tries, random_generator(seed, what))
        u = assembler.velocities(found.positions, skeleton.velocities, moving)
        skeleton.positions, skeleton.velocities = found.positions, u
        return replace(found, velocities=u)

    @in_turn
    def assemble_velocities(self, freeze: Any = (), *, time: float = 0.0) -> Array:
        """Velocities (dofs,) of the skeleton with G u = U, changed least in kinetic energy; positions stay.

        Args:
            freeze: coordinates, joints, or names of either, whose velocities stay: with independent ones the others
                follow. Velocities of prescribed coordinates stay anyway.
            time: [s] at which rates of constraints are taken.

        Raises:
            StateError: rows cannot be met, and which. The skeleton then is as it was.
        """
        skeleton = self._skeleton
        frozen = frozen_mask(skeleton, freeze)
        assembler = Assembler(self.system, np.zeros_like(frozen), True, time, 1.0)
        u = assembler.velocities(skeleton.positions, skeleton.velocities, frozen)
        skeleton.velocities = u
        return u

    def _motion_system(self, forces: Any, integrator: Integrator, stabilization: Any) -> ClosedSystem:
        return ClosedSystem(
            self._skeleton, self._given, self._rates, self._name, self._passive, forces, integrator, stabilization
        )

    # Results ---------------------------------------------------------------------------------------------

    def _evaluated_solver(self) -> DynamicsSolver:
        if not self._evaluated or self._solver is None:
            raise StateError(f"skeleton {self._skeleton.name!r}: constrained dynamics: call accelerations() first")
        return self._solver

    @property
    @in_turn
    def multipliers(self) -> Array:
        """Force of each row (nc,) on its second body [N or N m]; where rows follow from others, the smallest.

        Smallest in the sum of squares of all. `system.row_names` tells what the rows are.
        """
        solver, m = self._evaluated_solver(), self._system.num_rows
        found = solver.container.multiplier[:m].copy()
        if solver.container.redundant[:m].any():
            G = self._system.G(self._q)
            found = np.asarray(np.linalg.lstsq(G.T, self.constraint_forces, rcond=1e-10)[0], np.float64)
        return fixed(found)

    @property
    @in_turn
    def constraint_forces(self) -> Array:
        """G^T lambda (dofs,) [N, N m]: joint forces of all rows."""
        return read_only_copy(ReadOnlyArray, self._evaluated_solver().container.constraint_force)

    @property
    @in_turn
    def actuator_forces(self) -> Array:
        """Forces (dofs,) of the actuators [N, N m]: as given, and what prescribed coordinates take."""
        solver, flex = self._evaluated_solver(), self._system.flex
        out = np.zeros(self._system.num_dofs)
        self._restore(solver)
        if flex is not None:
            flexible_rows.actuator_forces(solver.container.address, flex.address, out)
        else:
            actuator_forces(solver.container.address, out)
        return fixed(np.where(self._system.tree.prescribed != 0, out, solver.container.command))

    @in_turn
    def wrench(self, constraint: Constraint) -> Array:
        """[moment; force] (6,) of a constraint on its second body, about the origin of its frame B [N m, N].

        In world axes; the first body feels the opposite, at the same place. Springs and given forces are part of it.

        Raises:
            ModelError: the system has no such constraint, or it is a coupler, which has no wrench.
        """
        solver = self._evaluated_solver()
        self._system.require(constraint)
        if not isinstance(constraint, BodyConstraint):
            raise ModelError(
                f"skeleton {self._skeleton.name!r}: constrained dynamics: constraint {constraint.name!r} couples "
                "coordinates: see multipliers"
            )
        return self._wrenches(solver)[self._system.constraints.index(constraint)][0]

    def _restore(self, solver: DynamicsSolver) -> None:
        """Have the solver's data hold the state of the last call."""
        solver.data.q[:], solver.data.u[:], solver.data.udot[:] = self._q, self._u, self._udot

    def _free_axis_forces(self, solver: DynamicsSolver, out: Array) -> None:
        flex = self._system.flex
        if flex is not None:
            flexible_rows.free_axis_forces(solver.container.address, flex.address, out)
        else:
            free_axis_forces(solver.container.address, out)

    def _wrenches(self, solver: DynamicsSolver) -> list[tuple[Array, Array]]:
        """Wrench of each constraint on its second body, and the point that it is about."""
        system, lp = self._system, self._system.loops
        force = np.zeros(len(lp.kind))
        self._restore(solver)
        self._free_axis_forces(solver, force)
        force[system.loops.slot[: system.num_rows]] = self.multipliers
        self._restore(solver)
        self._free_axis_forces(solver, np.zeros_like(force))  # directions at this state
        wrenches = np.concatenate([lp.moment, lp.force], axis=1) * force[:, None]
        made = []
        for k in range(len(system.constraints)):
            rows = slice(int(lp.first_row[k]), int(lp.first_row[k + 1]))
            made.append((wrenches[rows].sum(axis=0), lp.point[rows.start].copy()))
        return made

    @property
    @in_turn
    def reactions(self) -> Array:
        """Wrench (bodies, 6) that each body's joint carries to it, about the body's origin, world axes [N m, N].

        [torque; force] on the body from its parent: all that the joint does, as `Skeleton.reaction_wrenches`. What
        constraints between bodies do is `wrench`.
        """
        solver, system, skeleton = self._evaluated_solver(), self._system, self._skeleton
        X = skeleton.forward_kinematics(self._q)
        external = np.zeros((skeleton.num_bodies, 6))
        for index, row in skeleton.current_state.applied.items():
            external[index] += wrench_of_row(row, X[index])
        for constraint, (wrench, point) in zip(system.constraints, self._wrenches(solver), strict=True):
            if isinstance(constraint, BodyConstraint):
                for sign, body in ((1.0, constraint.body_b), (-1.0, constraint.body_a)):
                    if body is not None:
                        arm = point - X[body.index, :3, 3]
                        external[body.index, :3] += sign * (wrench[:3] + np.cross(arm, wrench[3:]))
                        external[body.index, 3:] += sign * wrench[3:]
        return fixed(reactions(skeleton.current_state.at(self._q, self._u, self._udot), external))

    @property
    @in_turn
    def report(self) -> DynamicsReport:
        """Rows, rank, redundant rows, independent coordinates, and how exactly rows are met."""
        return self._evaluated_solver().report

    # Travelling ------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_system": None, "_solver": None, "_evaluated": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._system = ConstrainedSystem(self._skeleton, self._given, self._rates)

    def __repr__(self) -> str:
        return f"ConstrainedDynamics({self._skeleton.name!r}, solver={self._name!r})"
