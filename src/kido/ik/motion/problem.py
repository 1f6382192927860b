"""Motion inverse kinematics: poses, one or a sequence of them, that satisfy constraints and fulfil wishes."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.batch import Batch
from kido.errors import ModelError
from kido.ik.coupling import coupling_of
from kido.ik.motion.boxes import ConstraintBox, ObjectiveBox
from kido.ik.motion.constraint import PoseConstraint, Poses
from kido.ik.motion.rows import (
    BandedNormalEquations,
    ConstraintRows,
    Part,
    Rows,
    add_normal_equations,
    parts_of,
    sparse_jacobian,
)
from kido.ik.motion.smoothness import AccelerationRows, VelocityRows, pieces_of
from kido.ik.motion.variable import Variable
from kido.ik.result import IkResult
from kido.ik.tasks import Task
from kido.math.lie import exp_rotation
from kido.math.rotation_rates import right_jacobian
from kido.math.transform import as_numbers, number_or_nan
from kido.optimization import Evaluator, GaussNewtonSolver, LeastSquares, Problem, Solver

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]

_REMEMBERED = 4  # sets of poses: the current one, and trials of a line search


class MotionProblem(Problem):
    """Find positions q of each frame that minimize

        sum of w/2 |c|^2 over the objective box + 1/2 sum of h (w_v |v|^2 + w_a |a|^2) over the frames

    subject to c = 0, or c <= 0, of the constraint box and the bounds of the variables. v and a are velocities and
    accelerations between frames, h the time step. One frame is a pose (RTQL8 tutorial, section 6); many are a motion,
    whose normal equations are banded, so that time grows with the number of frames and no faster.

    x (frames x variables,) holds the variables of the first frame, then of the second, and so on. It is moved on the
    joints' manifolds: coordinates of ball and free joints by velocity coordinates. The skeleton's own state is neither
    used later nor changed.

    Args:
        skeleton: what moves.
        frames: how many poses there are.
        time_step: h [s], from frame to frame.
        variables: coordinates that may move; unless given all, within their limits, but for LOCKED ones. Those that
            mimic variables follow them, within their own limits; smoothness is that of variables.
        initial: where to start, (dofs,) or (frames, dofs) [m, rad]; the present positions unless given. Coordinates
            that are no variables stay there.
        constraints: what must hold: a `ConstraintBox`, or tasks and pose constraints that must be zero.
        objectives: what is wished for: an `ObjectiveBox`, or tasks and pose constraints.
        velocity_weight: w_v, one number or one for each coordinate of the skeleton.
        acceleration_weight: w_a, likewise.

    Raises:
        ModelError: something of a wrong size or kind.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        *,
        frames: int = 1,
        time_step: float = 1.0,
        variables: Iterable[Variable] | None = None,
        initial: ArrayLike | None = None,
        constraints: ConstraintBox | Iterable[PoseConstraint | Task] = (),
        objectives: ObjectiveBox | Iterable[PoseConstraint | Task] = (),
        velocity_weight: ArrayLike = 0.0,
        acceleration_weight: ArrayLike = 0.0,
    ) -> None:
        if isinstance(frames, bool) or not isinstance(frames, int | np.integer) or frames < 1:
            raise ModelError(f"frames: expected a whole number above 0, got {frames!r}")
        self.skeleton, self.frames = skeleton, int(frames)
        self.time_step = number_or_nan(time_step)
        if not 0.0 < self.time_step < np.inf:
            raise ModelError(f"time_step: expected a finite number above 0, got {time_step!r}")
        self.variables = self._checked_variables(variables)
        self.constraints = constraints if isinstance(constraints, ConstraintBox) else ConstraintBox(constraints)
        self.objectives = objectives if isinstance(objectives, ObjectiveBox) else ObjectiveBox(objectives)
        self.batch = Batch(skeleton, threads=1)
        self._dofs = np.array([v.dof.index for v in self.variables], dtype=np.int64)
        self._base = self._checked_positions(initial)
        self._known: list[tuple[bytes, Poses]] = []
        self._soft: list[Rows] = [self._rows(c, True) for c in self.objectives]
        self._soft += self._smoothness(velocity_weight, acceleration_weight)
        self._reach = max([1, *(2 if isinstance(r, VelocityRows) else 3 for r in self._soft[len(self.objectives) :])])
        self._fixed_blocks: list[Array] | None = None
        hard = [[self._rows(c, False) for c in box] for box in (self.constraints.equality, self.constraints.inequality)]
        equality, inequality = ([_MotionRows(self, rows)] if rows else [] for rows in hard)
        super().__init__(
            self.frames * len(self.variables),
            initial=self._base[:, self._dofs].ravel(),
            lower=np.tile(np.array([v.lower for v in self.variables], dtype=float), self.frames),
            upper=np.tile(np.array([v.upper for v in self.variables], dtype=float), self.frames),
            objective=_MotionRows(self, self._soft),
            equality=equality,
            inequality=inequality,
        )

    # Positions -------------------------------------------------------------------------------------------------

    def positions(self, x: Array) -> Array:
        """Positions (frames, dofs) of all coordinates at x."""
        q = self._base.copy()
        q[:, self._dofs] = x.reshape(self.frames, -1)
        return coupling_of(self.skeleton).spread(q, self._dofs)

    def retract(self, x: Array, dx: Array) -> Array:
        """x moved by dx on the joints' manifolds."""
        u = np.zeros_like(self._base)
        u[:, self._dofs] = dx.reshape(self.frames, -1)
        return self.batch.integrate(self.positions(x), u, 1.0)[:, self._dofs].ravel()

    def to_chart(self, x: Array, rows: Array) -> Array:
        """Derivatives by displacements as derivatives by the numbers x: those of rotations by their right Jacobian."""
        q, n = self.positions(x), len(self._dofs)
        rows = np.array(rows, dtype=float)
        by_frame = rows.reshape(*rows.shape[:-1], self.frames, n)
        for piece in pieces_of(self.skeleton, self._dofs):
            if piece.rotation:
                to_rates = np.zeros((self.frames, len(piece.dofs), len(piece.dofs)))
                v = q[:, piece.dofs[:3]]
                to_rates[:, :3, :3] = right_jacobian(v)
                if len(piece.dofs) > 3:
                    to_rates[:, 3:, 3:] = exp_rotation(v).transpose(0, 2, 1)
                chosen = to_rates[:, piece.chosen][:, :, piece.chosen]
                by_frame[..., piece.columns] = np.einsum("...ki,kij->...kj", by_frame[..., piece.columns], chosen)
        return rows

    def poses(self, x: Array) -> Poses:
        """The skeleton in the poses of x."""
        key = x.tobytes()
        for known, poses in self._known:
            if known == key:
                return poses
        poses = Poses(self.batch, self.positions(x))
        self._known = [*self._known[1 - _REMEMBERED :], (key, poses)]
        return poses

    # Solving ---------------------------------------------------------------------------------------------------

    def evaluator(self) -> Evaluator:
        """One that knows of the bands, unless other functions have been added."""
        own = all(isinstance(f, _MotionRows) for f in (self.objective, *self.equality, *self.inequality))
        return _MotionEvaluator(self) if own else super().evaluator()

    def solve_motion(self, solver: Solver | None = None) -> IkResult:
        """Solve it; failing is no error, the result tells. The skeleton stays where it is.

        Args:
            solver: a `GaussNewtonSolver` unless given, which is the one that uses the bands.
        """
        solution = (GaussNewtonSolver() if solver is None else solver).solve(self)
        poses = self.poses(solution.x)
        every = [*self.constraints, *self.objectives]
        errors = [(c, c.evaluate_frames(poses, c.frames_of(self.frames))) for c in every]
        return IkResult.of(poses.positions, solution.converged, errors, solution.iterations, solution=solution)

    def clone(self) -> Self:
        """An independent copy, with a copy of the skeleton."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": [], "batch": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.batch = Batch(self.skeleton, threads=1)

    # -----------------------------------------------------------------------------------------------------------

    def normal_blocks(self, sources: list[Rows], poses: Poses) -> list[Array]:
        """J^T J of some rows, as blocks of frames and of frames with their next ones."""
        n = len(self._dofs)
        blocks = [np.zeros((self.frames - d, n, n)) for d in range(min(self._reach, self.frames))]
        for parts in merged([parts_of(rows, poses) for rows in sources]):
            add_normal_equations(blocks, parts)
        return blocks

    def soft_blocks(self, poses: Poses) -> list[Array]:
        """J^T J of the objective."""
        if self._fixed_blocks is None:
            self._fixed_blocks = self.normal_blocks([rows for rows in self._soft if rows.constant], poses)
        blocks = self.normal_blocks([rows for rows in self._soft if not rows.constant], poses)
        return [a + b for a, b in zip(blocks, self._fixed_blocks)]

    def _rows(self, constraint: PoseConstraint, weighted: bool) -> Rows:
        return ConstraintRows(constraint, constraint.frames_of(self.frames), self._dofs, weighted)

    def _smoothness(self, velocity_weight: ArrayLike, acceleration_weight: ArrayLike) -> list[Rows]:
        h, rows = self.time_step, []
        for kind, weight, least in ((VelocityRows, velocity_weight, 2), (AccelerationRows, acceleration_weight, 3)):
            what = "velocity_weight" if kind is VelocityRows else "acceleration_weight"
            try:
                w = np.broadcast_to(as_numbers(weight), (self.skeleton.num_dofs,))
            except (TypeError, ValueError):
                w = np.full(1, np.nan)
            if not (np.isfinite(w).all() and (w >= 0.0).all()):
                raise ModelError(
                    f"{what}: expected one or {self.skeleton.num_dofs} numbers not below 0, got {weight!r}"
                )
            if w.any() and self.frames >= least:
                pieces = pieces_of(self.skeleton, self._dofs)
                rows += [kind(piece, np.sqrt(h * w[piece.dofs]), h) for piece in pieces]
        return rows

    def _checked_variables(self, variables: Iterable[Variable] | None) -> list[Variable]:
        chosen = Variable.of(self.skeleton) if variables is None else list(variables)
        own = self.skeleton.dofs
        for variable in chosen:
            if not isinstance(variable, Variable) or variable.dof not in own:
                raise ModelError(f"variables: expected those of skeleton {self.skeleton.name!r}, got {variable!r}")
        if len({v.dof.index for v in chosen}) != len(chosen):
            raise ModelError("variables: a coordinate is listed twice")
        coupling_of(self.skeleton).checked([v.dof.index for v in chosen])
        return chosen

    def _checked_positions(self, initial: ArrayLike | None) -> Array:
        n = self.skeleton.num_dofs
        if initial is None:
            return np.tile(self.skeleton.positions, (self.frames, 1))
        try:
            q = as_numbers(initial)
        except (TypeError, ValueError):
            q = np.array(np.nan)
        if q.shape not in ((n,), (self.frames, n)) or not np.isfinite(q).all():
            raise ModelError(f"initial: expected ({n},) or ({self.frames}, {n}) finite numbers, got {initial!r}")
        return np.broadcast_to(q, (self.frames, n)).copy()


class _MotionRows(LeastSquares):
    """Some rows of a motion, as one function of x."""

    def __init__(self, problem: MotionProblem, sources: list[Rows]) -> None:
        self.problem, self.sources = problem, sources
        self.name = "motion"

    def residuals(self, x: Array) -> Array:
        """All rows, one source after the other."""
        poses = self.problem.poses(x)
        return np.concatenate([np.zeros(0), *(rows.residuals(poses).ravel() for rows in self.sources)])

    def gradient(self, x: Array) -> Array:
        """J^T r (n,)."""
        return self.pull_back(x, self.residuals(x))

    def pull_back(self, x: Array, y: Array) -> Array:
        """J^T y (n,), with derivatives at x."""
        poses, first = self.problem.poses(x), 0
        gradient = np.zeros((self.problem.frames, len(self.problem.variables)))
        for rows in self.sources:
            parts = parts_of(rows, poses)
            groups, m, _ = parts[0].matrices.shape
            values = y[first : first + groups * m].reshape(groups, 1, m)
            first += groups * m
            for part in parts:
                gradient[part.frames[:, None], part.columns] += (values @ part.matrices)[:, 0]
        return gradient.ravel()

    def jacobian(self, x: Array) -> Any:
        """Derivatives of all rows, sparse where there is more than one frame."""
        problem = self.problem
        J = sparse_jacobian(self.sources, problem.poses(x), len(problem.variables))
        return J if problem.frames > 1 else J.toarray()


class _MotionEvaluator(Evaluator):
    """Makes normal equations and gradients by blocks."""

    def pull_back(self, x: Array, residuals: Array | None, equality: Array, inequality: Array) -> Array:
        problem = self.problem
        gradient = np.zeros(x.size)
        for functions, values in (
            ([problem.objective], residuals),
            (problem.equality, equality),
            (problem.inequality, inequality),
        ):
            if values is not None and values.size:
                for function in functions:
                    assert isinstance(function, _MotionRows)
                    gradient += function.pull_back(x, values)
        return gradient

    def normal_equations(self, x: Array, a: Array, b: Array, weight: float) -> BandedNormalEquations:
        problem = self.problem
        assert isinstance(problem, MotionProblem)
        poses = problem.poses(x)
        blocks = [block.copy() for block in problem.soft_blocks(poses)]
        if weight > 0.0:
            for function in problem.equality:
                self._add(blocks, function, poses, None, weight)
            for function in problem.inequality:
                self._add(blocks, function, poses, b + weight * self.inequality(x) > 0.0, weight)
        return BandedNormalEquations(blocks)

    def _add(self, blocks: list[Array], function: Any, poses: Poses, active: Any, weight: float) -> None:
        root, first = np.sqrt(weight), 0
        for rows in function.sources:
            (part,) = parts_of(rows, poses)
            groups, m, _ = part.matrices.shape
            matrices = root * part.matrices
            if active is not None:
                matrices = matrices * active[first : first + groups * m].reshape(groups, m, 1)
            first += groups * m
            add_normal_equations(blocks, [Part(part.frames, part.columns, matrices)])


def merged(groups: list[list[Part]]) -> list[list[Part]]:
    """Rows that depend on the same single frames, put together: few large products are faster than many small ones."""
    alike: dict[bytes, list[Part]] = {}
    others = []
    for parts in groups:
        if len(parts) == 1:
            alike.setdefault(parts[0].frames.tobytes(), []).append(parts[0])
        else:
            others.append(parts)
    together = [
        [Part(p[0].frames, p[0].columns, np.concatenate([part.matrices for part in p], axis=1))] for p in alike.values()
    ]
    return together + others
