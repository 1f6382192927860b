"""Solvers that know the structure of control problems: their steps are Riccati recursions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.optimal_control.dynamics import Array, differences_of_nodes
from kido.optimal_control.problem import ControlProblem, dense_jacobians
from kido.optimal_control.riccati import adjoint, backward, forward, matrices
from kido.optimization import Evaluator, Outcome, Reason, Solver

_SHORTEST = 1e-6  # step of a line search
_MOST_DAMPING = 1e10
_HEAVIEST = 1e12  # weight of constraints: they contradict each other if that does not make them hold
_HALF = 0.5  # of tolerances: certificates are asked for a little less than solvers reach


@dataclass(kw_only=True)
class ShootingSolver(Solver):
    """Direct multiple shooting: Gauss-Newton steps of all states and controls at once, by Riccati's recursion.

    All nodes are evaluated together, in lanes; the recursion is compiled. Gaps of the dynamics may be open at the start
    and are closed by steps of full length. Bounds of controls hold in each step (Tassa, Mansard, Todorov 2014); those
    of states, and constraints, enter by an augmented Lagrangian (Nocedal and Wright, section 17.4). Steps are judged by
    cost + v |gaps|_1 with v above the costates; once that refuses a step, it and all later ones are rolled out as
    those of `DdpSolver`.

    Attributes:
        damping: added to the second derivative by controls once a step fails, relative to its largest element; it grows
            and shrinks by tens.
        constraint_weight: of the augmented Lagrangian at the start.
        second_order: with second derivatives of the dynamics along the costates, as Newton's method has them, for costs
            that have little curvature of their own, such as durations; by differences of the dynamics' derivatives.
    """

    max_iterations: int = 500
    damping: float = 1e-8
    constraint_weight: float = 10.0
    second_order: bool = False

    rolls_out: ClassVar[bool] = False

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start.

        Raises:
            ModelError: no `ControlProblem`.
        """
        problem = evaluator.problem
        if not isinstance(problem, ControlProblem):
            raise ModelError(f"{self.name}: expected a kido.optimal_control.ControlProblem, got {problem!r}")
        return _Run(self, problem, start).go()

    def feedback(self, problem: ControlProblem, x: Array) -> Array:
        """Gains K (nodes, m, n) of the Riccati recursion at a solution: u = u_k + K_k (x - x_k) if x is not x_k.

        Rows of controls at their bounds are zero; constraints count as penalties of `constraint_weight`.

        Args:
            problem: which was solved.
            x: `solution.x`.

        Raises:
            ModelError: the quadratic approximation there has no minimum.
        """
        run = _Run(self, problem, x)
        _, gaps = run.value(run.X, run.U)
        run.expand(gaps)
        while np.isfinite(run.damping):
            if run.direction(gaps):
                return run.K
            run.stiffen()
        raise ModelError(f"{self.name}: feedback: the quadratic approximation of the problem has no minimum")


@dataclass(kw_only=True)
class DdpSolver(ShootingSolver):
    """Feasibility-driven differential dynamic programming: steps of `ShootingSolver`, rolled out.

    Trials follow the dynamics themselves under u = u_k + a step_k + K_k (x - x_k), with gaps smaller by 1 - a (Mastalli
    et al. 2020, "Crocoddyl"), so that they stay near motions that can be, where linear steps do not.
    """

    rolls_out: ClassVar[bool] = True


class _Rows:
    """Rows of constraints at nodes: c = 0, or c <= 0, with multipliers y."""

    def __init__(self, rows: Any, equal: bool, last: bool) -> None:
        self.rows, self.equal, self.last = rows, equal, last
        self.y: Any = 0.0

    def nodes(self, X: Array, U: Array) -> tuple[Array, Array | None]:
        return (X[-1:], None) if self.last else (X[:-1], U)

    def shifted(self, c: Array, weight: float) -> Array:
        s = self.y + weight * c
        return s if self.equal else np.maximum(s, 0.0)

    def violation(self, c: Array) -> float:
        return float(np.max(np.abs(c) if self.equal else np.maximum(c, 0.0), initial=0.0))


class _Run:
    """One run: states, controls, multipliers, and memory for steps."""

    def __init__(self, solver: ShootingSolver, problem: ControlProblem, start: Array) -> None:
        self.solver, self.problem, self.dynamics = solver, problem, problem.dynamics
        self.rolled = solver.rolls_out
        self.X, self.U = (np.ascontiguousarray(part) for part in problem.split(start))
        N, n, m = problem.steps, problem.dynamics.num_states, problem.dynamics.num_controls
        self.x_low, self.x_high = (limits.copy() for limits in problem.state_limits)
        self.low, self.high = problem.control_limits
        held = np.setdiff1d(np.arange(n), problem.free)
        self.free = list(problem.free)
        self.x_low[0, held], self.x_high[0, held] = -np.inf, np.inf
        self.bounded = bool(np.isfinite(self.x_low).any() or np.isfinite(self.x_high).any())
        self.reached = self.x_low == self.x_high  # numbers that are given
        self.y_low, self.y_high = np.zeros((2, N + 1, n))
        self.groups = [
            _Rows(rows, equal=k == 0, last=last)
            for last, both in ((False, problem.path), (True, problem.terminal))
            for k, rows in enumerate(both)
            if rows is not None
        ]
        self.constrained = self.bounded or bool(self.groups)
        self.weight, self.damping, self.penalty = solver.constraint_weight, 0.0, 0.0
        self.lx, self.lu = np.zeros((N + 1, n)), np.zeros((N, m))
        self.lxx, self.lux, self.luu = np.zeros((N + 1, n, n)), np.zeros((N, m, n)), np.zeros((N, m, m))
        self.K, self.k = np.zeros((N, m, n)), np.zeros((N, m, 1))
        self.Vx, self.costates, self.slopes = np.zeros((N + 1, n)), np.zeros((N + 1, n)), np.zeros((N, m))
        self.dx, self.du, self.fixed = np.zeros((N + 1, n)), np.zeros((N, m)), np.zeros((N, m))
        self.rows, self.blocks = matrices(n, m)
        self.V, self.G, self.smalls = np.zeros((1, n, n)), np.zeros((1, max(m, 1), n)), np.zeros((3, m, m))

    # Values and derivatives -----------------------------------------------------------------------------------

    def value(self, X: Array, U: Array) -> tuple[float, Array]:
        """The augmented Lagrangian, and the gaps."""
        with np.errstate(all="ignore"):
            gaps = self.dynamics.differences(self.dynamics.step(np.ascontiguousarray(X[:-1]), U), X[1:])
            total = self.problem.cost_of(X, U)
            w = self.weight
            for group in self.groups:
                s = group.shifted(group.rows.residuals(*group.nodes(X, U)), w)
                total += float(np.sum(s * s)) / (2.0 * w)
            if self.bounded:
                over, under = self._beyond(X)
                total += (float(np.sum(over * over)) + float(np.sum(under * under))) / (2.0 * w)
        return total, gaps

    def _beyond(self, X: Array) -> tuple[Array, Array]:
        over, under = self.y_high + self.weight * (X - self.x_high), self.y_low + self.weight * (self.x_low - X)
        return np.where(self.reached, over, np.maximum(over, 0.0)), np.where(self.reached, 0.0, np.maximum(under, 0.0))

    def expand(self, gaps: Array) -> None:
        """Derivatives at the current point into the arrays of the recursion."""
        X, U, w = self.X, self.U, self.weight
        self.A, self.B = self.dynamics.derivatives(np.ascontiguousarray(X[:-1]), U)
        self.across = self.dynamics.move_derivatives(-gaps)
        if self.across is not None:  # moves of what follows as moves of the next node's state, beyond the gap
            self.A, self.B = self.across[1] @ self.A, self.across[1] @ self.B
        lx, lu, lxx, lux, luu = self.lx, self.lu, self.lxx, self.lux, self.luu
        for k, cost in enumerate(self.problem.costs):
            part = cost.quadratic(X[:-1], U)
            for whole, term in ((lx[:-1], part.x), (lu, part.u), (lxx[:-1], part.xx), (lux, part.ux), (luu, part.uu)):
                if k == 0:
                    whole[...] = term
                else:
                    whole += term
        for k, cost in enumerate(self.problem.terminal_costs):
            part = cost.quadratic(X[-1:], None)
            lx[-1:], lxx[-1:] = (part.x, part.xx) if k == 0 else (lx[-1:] + part.x, lxx[-1:] + part.xx)
        self.largest = max(1.0, float(np.abs(lx).max()), float(np.abs(lu).max()))
        for group in self.groups:
            nodes = group.nodes(X, U)
            s = group.shifted(group.rows.residuals(*nodes), w)
            Jx, Ju = dense_jacobians(group.rows, *nodes)
            active = np.ones_like(s) if group.equal else (s > 0.0).astype(float)
            at, xt = (slice(-1, None) if group.last else slice(0, -1)), np.swapaxes(Jx, 1, 2)
            lx[at] += (xt @ s[:, :, None])[:, :, 0]
            lxx[at] += w * xt @ (active[:, :, None] * Jx)
            if Ju is not None:
                ut = np.swapaxes(Ju, 1, 2)
                lu += (ut @ s[:, :, None])[:, :, 0]
                lux += w * ut @ (active[:, :, None] * Jx)
                luu += w * ut @ (active[:, :, None] * Ju)
        if self.bounded:
            over, under = self._beyond(X)
            lx += over - under
            i = np.arange(lx.shape[1])
            lxx[:, i, i] += w * (self.reached | (over > 0.0) | (under > 0.0))
        adjoint(self.A, self.B, lx, lu, self.costates, self.slopes)
        if self.solver.second_order:
            self.bend()

    def bend(self) -> None:
        """Second derivatives of the dynamics along costates, by differences of first ones; all nodes together."""
        n, prices = self.X.shape[1], self.costates[1:, None, :]

        def pulled(z: Array) -> Array:
            A, B = self.dynamics.derivatives(np.ascontiguousarray(z[:, :n]), np.ascontiguousarray(z[:, n:]))
            if self.across is not None:
                A, B = self.across[1] @ A, self.across[1] @ B
            return np.concatenate([(prices @ A)[:, 0], (prices @ B)[:, 0]], axis=1)

        H = differences_of_nodes(pulled, np.concatenate([self.X[:-1], self.U], axis=1), self.dynamics.moved_pairs)
        H = 0.5 * (H + np.swapaxes(H, 1, 2))
        self.lxx[:-1] += H[:, :n, :n]
        self.lux += H[:, n:, :n]
        self.luu += H[:, n:, n:]

    def stationarity(self) -> float:
        """The largest derivative by a control or a free start that is not held by its bound."""
        slope = np.where(
            ((self.low >= self.U) & (self.slopes > 0.0)) | ((self.high <= self.U) & (self.slopes < 0.0)),
            0.0,
            self.slopes,
        )
        largest = float(np.abs(slope).max())
        if self.free:
            largest = max(largest, float(np.abs(self.costates[0, self.free]).max()))
        return largest / self.largest

    # Iterations -----------------------------------------------------------------------------------------------

    def go(self) -> Outcome:
        solver = self.solver
        total, gaps = self.value(self.X, self.U)
        accuracy = 1e-2 if self.constrained else _HALF * solver.optimality
        before, steps, stale = np.inf, 0, True
        reason, message = Reason.ITERATIONS, ""
        for _ in range(solver.max_iterations + 100):
            if stale:
                self.expand(gaps)
                stale = False
            closed = float(np.abs(gaps).max()) <= _HALF * solver.tolerance
            if closed and self.stationarity() <= accuracy:
                violation = self.violation()
                if violation <= _HALF * solver.tolerance and accuracy <= _HALF * solver.optimality:
                    reason = Reason.CONVERGED
                    break
                heavier = violation > 0.25 * before
                if heavier and self.weight >= _HEAVIEST:
                    reason = Reason.INFEASIBLE
                    break
                self.update(heavier)
                before, accuracy = violation, max(0.1 * accuracy, _HALF * solver.optimality)
                total, gaps = self.value(self.X, self.U)
                stale = True
                continue
            if steps == solver.max_iterations:
                break
            if not self.direction(gaps):
                if self.damping > _MOST_DAMPING:
                    reason, message = Reason.STALLED, "no step is a descent"
                    break
                continue
            found = self.search(total, gaps)
            if found is None:
                if not self.stiffen():
                    reason = Reason.STALLED
                    break
                continue
            (self.X, self.U), total, gaps = found
            steps, stale = steps + 1, True
        x = self.problem.joined(self.X, self.U)
        return Outcome(x, steps, reason, message, self.multipliers())

    def stiffen(self) -> bool:
        """More damping; False if there is no more to try."""
        scale = max(float(np.abs(self.luu).max()), 1e-8)
        self.damping = max(10.0 * self.damping, self.solver.damping * scale)
        return self.damping <= _MOST_DAMPING * scale

    def direction(self, gaps: Array) -> bool:
        """The step dx, du; False if it needed more damping."""
        low, high = self.low - self.U, self.high - self.U
        failed = backward(
            self.A, self.B, self.lx, self.lu, self.lxx, self.lux, self.luu, gaps, low, high, self.damping, self.K,
            self.k, self.Vx, self.fixed, self.rows.address, self.blocks.address, self.V, self.G, self.smalls,
        )  # fmt: skip
        if failed >= 0:
            if not self.stiffen():
                self.damping = np.inf
            return False
        self.dx[0] = 0.0
        if self.free:
            V = self.V[0][np.ix_(self.free, self.free)]
            V = V + (self.damping + 1e-12 * max(1.0, float(np.abs(V).max()))) * np.eye(len(self.free))
            self.dx[0, self.free] = np.linalg.lstsq(V, -self.Vx[0, self.free], rcond=None)[0]
        forward(self.A, self.B, gaps, low, high, self.K, self.k, self.dx, self.du)
        return bool(np.isfinite(self.dx).all())

    def search(self, total: float, gaps: Array) -> tuple[tuple[Array, Array], float, Array] | None:
        """The first of shorter and shorter steps that is good enough."""
        open_gaps = float(np.abs(gaps).sum())
        slope = float(np.sum(self.lx * self.dx) + np.sum(self.lu * self.du))
        self.penalty = 1.1 * float(np.abs(self.costates[1:]).max())
        if float(np.abs(gaps).max()) > _HALF * self.solver.tolerance:
            self.penalty = max(self.penalty, 1.1 * self.price(), 2.0 * slope / open_gaps)
        promised = slope - self.penalty * open_gaps
        rounding = 1e-13 * (abs(total) + self.penalty * open_gaps)
        if promised > rounding:
            return None
        a = 1.0
        while a >= _SHORTEST:
            X, U = self.trial(a, gaps, self.rolled)
            value, left = self.value(X, U) if np.isfinite(X).all() else (np.inf, gaps)
            merit = value - total + self.penalty * (float(np.abs(left).sum()) - open_gaps)
            if merit <= 1e-4 * a * promised + rounding:
                if a > 0.5:
                    self.damping = self.damping / 10.0 if self.damping > 1e-12 else 0.0
                return (X, U), value, left
            if self.rolled:
                a *= 0.5
            self.rolled = True
        return None

    def price(self) -> float:
        """The largest costate of the linear-quadratic problem at its solution."""
        dx, du = self.dx[:, :, None], self.du[:, :, None]
        lx = self.lx + (self.lxx @ dx)[:, :, 0]
        lx[:-1] += (np.swapaxes(self.lux, 1, 2) @ du)[:, :, 0]
        costates = np.empty_like(lx)
        adjoint(self.A, self.B, lx, self.lu, costates, np.empty_like(self.lu))
        return float(np.abs(costates[1:]).max())

    def trial(self, a: float, gaps: Array, rolled: bool) -> tuple[Array, Array]:
        """States and controls after a step of length a."""
        if not rolled:
            return self.dynamics.moved(self.X, a * self.dx), np.clip(self.U + a * self.du, self.low, self.high)
        start = self.dynamics.moved(self.X[:1], a * self.dx[:1])[0]
        with np.errstate(all="ignore"):
            return self.dynamics.rollout(
                start, self.X, self.U, self.K, a * self.k[:, :, 0], (1.0 - a) * gaps, (self.low, self.high)
            )

    # Constraints ----------------------------------------------------------------------------------------------

    def violation(self) -> float:
        found = [group.violation(group.rows.residuals(*group.nodes(self.X, self.U))) for group in self.groups]
        if self.bounded:
            found.append(float(np.max(np.maximum(self.X - self.x_high, self.x_low - self.X))))
        return max([0.0, *found])

    def update(self, heavier: bool) -> None:
        """Multipliers at the current point; a larger weight where violations have not shrunk."""
        for group in self.groups:
            group.y = group.shifted(group.rows.residuals(*group.nodes(self.X, self.U)), self.weight)
        if self.bounded:
            self.y_high, self.y_low = self._beyond(self.X)
        if heavier:
            self.weight *= 10.0

    def multipliers(self) -> tuple[Array, Array]:
        """Of equalities and inequalities, as the certificate takes them."""
        parts: tuple[list[Array], list[Array]] = ([self.costates[1:].reshape(-1)], [])
        for group in self.groups:
            s = group.shifted(group.rows.residuals(*group.nodes(self.X, self.U)), self.weight)
            parts[0 if group.equal else 1].append(s.reshape(-1))
        return np.concatenate(parts[0]), np.concatenate([np.zeros(0), *parts[1]])
