"""`ControlProblem`: a motion of least cost as a problem with bounds and constraints, by direct multiple shooting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.math.transform import as_vector
from kido.optimal_control.cost import Cost, QuadraticCost, ResidualCost, StackedCost
from kido.optimal_control.dynamics import Array, Dynamics
from kido.optimization import Function, LeastSquares, Problem

_DENSE = (
    400  # variables up to which derivatives are arrays: solvers and certificates then know bounds' multipliers best
)
Limits = tuple[ArrayLike, ArrayLike]
_Rows = ResidualCost | Callable[[Array, Any], ArrayLike]
Rows = _Rows | Sequence[_Rows]


class ControlProblem(Problem):
    """Minimize sum_k l(x_k, u_k) + l_N(x_N) with x_{k+1} = f(x_k, u_k), limits and constraints.

    The variables are all states and controls, [x_0, u_0, x_1, u_1, ..., x_N] (direct multiple shooting): the dynamics
    are equality constraints, the *gaps* f(x_k, u_k) - x_{k+1}. `ShootingSolver` and `DdpSolver` know this structure;
    any other solver of `kido.optimization` takes the problem too. On manifolds the variables of a state are the move to
    it from where the search starts; rotations by less than a half turn from there can be found.

    Args:
        dynamics: f.
        start: x_0 (n,).
        steps: N.
        cost: l, a `Cost` or several.
        terminal_cost: l_N likewise; none by default.
        free: indices of the numbers of x_0 that are free, such as a duration that is sought.
        control_limits: lower and upper (m,).
        state_limits: lower and upper (n,), of x_1, ..., x_N and of what is free of x_0; infinite for positions of ball
            and free joints, of which constraints may be made.
        terminal_limits: lower and upper (n,) of x_N besides; equal where a number is to be reached.
        equality, inequality: functions of nodes' states and controls that must be zero, or not above zero, at nodes
            0, ..., N-1: (nodes, n), (nodes, m) -> (nodes, rows); a `ResidualCost` where Jacobians are known; or a list
            of both.
        terminal_equality, terminal_inequality: of the last node; its controls are None.
        states: (N + 1, n) where to start the search; x_0 at all nodes by default.
        controls: (N, m); zero by default.

    Raises:
        ModelError: arguments that do not fit.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        start: ArrayLike,
        steps: int,
        cost: Cost | Sequence[Cost],
        terminal_cost: Cost | Sequence[Cost] = (),
        *,
        free: Sequence[int] = (),
        control_limits: Limits | None = None,
        state_limits: Limits | None = None,
        terminal_limits: Limits | None = None,
        equality: Rows | None = None,
        inequality: Rows | None = None,
        terminal_equality: Rows | None = None,
        terminal_inequality: Rows | None = None,
        states: ArrayLike | None = None,
        controls: ArrayLike | None = None,
    ) -> None:
        if not isinstance(dynamics, Dynamics):
            raise ModelError(f"control problem: dynamics: expected kido.optimal_control.Dynamics, got {dynamics!r:.80}")
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
            raise ModelError(f"control problem: steps: expected a whole number above 0, got {steps!r}")
        self.dynamics, self.steps = dynamics, int(steps)
        self.costs = _costs(cost, "cost", dynamics)
        self.terminal_costs = _costs(terminal_cost, "terminal_cost", dynamics)
        n, m, N = dynamics.num_states, dynamics.num_controls, self.steps
        self.start: Array = as_vector(start, "start", n)
        given = list(free) if isinstance(free, Iterable) else [free]
        if not all(isinstance(i, int | np.integer) and not isinstance(i, bool) and 0 <= i < n for i in given):
            raise ModelError(f"control problem: free: expected indices below {n}, got {free!r}")
        self.free = tuple(int(i) for i in given)
        # Where nodes lie among the variables.
        self._of_states = (n + m) * np.arange(N + 1)[:, None] + np.arange(n)
        self._of_controls = (n + m) * np.arange(N)[:, None] + n + np.arange(m)
        low, high = np.full((2, N * (n + m) + n), -np.inf)
        high[:] = np.inf
        low[self._of_controls], high[self._of_controls] = _limits(control_limits, m, "control_limits")
        self.control_limits: tuple[Array, Array] = low[self._of_controls], high[self._of_controls]
        x_low, x_high = _limits(state_limits, n, "state_limits")
        last_low, last_high = _limits(terminal_limits, n, "terminal_limits")
        for what, numbers in (("state_limits", (x_low, x_high)), ("terminal_limits", (last_low, last_high))):
            if np.isfinite(np.array(numbers)[:, list(dynamics.curved)]).any():
                raise ModelError(
                    f"control problem: {what}: expected none for numbers {list(dynamics.curved)}, which lie on "
                    "manifolds: use `equality`, `inequality`, `terminal_equality` or a cost"
                )
        self.state_limits: tuple[Array, Array] = np.tile(x_low, (N + 1, 1)), np.tile(x_high, (N + 1, 1))
        self.state_limits[0][-1] = np.maximum(x_low, last_low)
        self.state_limits[1][-1] = np.minimum(x_high, last_high)
        held = np.setdiff1d(np.arange(n), self.free)
        X = np.tile(self.start, (N + 1, 1)) if states is None else np.array(states, dtype=float)
        U = np.zeros((N, m)) if controls is None else np.asarray(controls, dtype=float)
        if X.shape != (N + 1, n) or U.shape != (N, m) or not (np.isfinite(X).all() and np.isfinite(U).all()):
            raise ModelError(
                f"control problem: expected finite states {(N + 1, n)} and controls {(N, m)}, got {X.shape}, {U.shape}"
            )
        # Moves are from these states.
        self._reference: Array | None = None
        if dynamics.curved:
            X[0] = self.start
            self._reference = X.copy()
            self._reference[:, np.setdiff1d(np.arange(n), dynamics.curved)] = 0.0
        low[self._of_states], high[self._of_states] = self.state_limits
        low[held] = high[held] = np.where(np.isin(held, dynamics.curved), 0.0, self.start[held])
        self.path = tuple(_rows(f, what, dynamics) for f, what in ((equality, "equality"), (inequality, "inequality")))
        self.terminal = tuple(
            _rows(f, what, dynamics)
            for f, what in ((terminal_equality, "terminal_equality"), (terminal_inequality, "terminal_inequality"))
        )
        bound = [
            [*((_PathRows(self, self.path[k]),) if self.path[k] else ()),
             *((_TerminalRows(self, self.terminal[k]),) if self.terminal[k] else ())]
            for k in (0, 1)
        ]  # fmt: skip
        super().__init__(
            len(low),
            initial=self.joined(X, U),
            lower=low,
            upper=high,
            objective=_TotalCost(self),
            equality=[_Gaps(self), *bound[0]],
            inequality=bound[1],
        )

    def split(self, x: Array) -> tuple[Array, Array]:
        """States (N + 1, n) and controls (N, m) among the variables, or of a solution's `x`."""
        X = x[self._of_states]
        return X if self._reference is None else self.dynamics.moved(self._reference, X), x[self._of_controls]

    def joined(self, states: Array, controls: Array) -> Array:
        """The variables of states and controls."""
        return self._flat(
            states if self._reference is None else self.dynamics.differences(states, self._reference), controls
        )

    def _flat(self, of_states: Array, of_controls: Array) -> Array:
        x = np.empty(of_states.size + of_controls.size)
        x[self._of_states], x[self._of_controls] = of_states, of_controls
        return x

    def _moves(self, x: Array) -> Array | None:
        """Moves of states by their variables (nodes, n, n); None for unit matrices."""
        found = self.dynamics.move_derivatives(x[self._of_states])
        return None if found is None else found[0]

    def gradient_of_variables(self, x: Array) -> Array:
        """The cost's gradient by the variables."""
        lx, lu = self.gradient_of_cost(*self.split(x))
        J = self._moves(x)
        return self._flat(lx if J is None else np.einsum("kji,kj->ki", J, lx), lu)

    def cost_of(self, states: Array, controls: Array) -> float:
        """The whole cost."""
        total = sum(float(np.sum(cost.value(states[:-1], controls))) for cost in self.costs)
        return total + sum(float(cost.value(states[-1:], None)[0]) for cost in self.terminal_costs)

    def gradient_of_cost(self, states: Array, controls: Array) -> tuple[Array, Array]:
        """Its derivatives by states and controls."""
        lx, lu = np.zeros_like(states), np.zeros_like(controls)
        for cost in self.costs:
            part = cost.quadratic(states[:-1], controls)
            lx[:-1] += part.x
            lu += part.u
        for cost in self.terminal_costs:
            lx[-1:] += cost.quadratic(states[-1:], None).x
        return lx, lu

    def sparse_rows(self, at: Array, x: Array | None, u: Array | None, nodes: slice) -> Any:
        """Derivatives of rows of nodes, (nodes, rows, n) by states and (nodes, rows, m) by controls, as sparse ones.

        They are taken at variables `at`.
        """
        moves, parts = self._moves(at), []
        if moves is not None and x is not None:
            x = x @ moves[nodes]
        for D, place in ((x, self._of_states), (u, self._of_controls)):
            if D is not None:
                count, rows, _ = D.shape
                row = np.broadcast_to(np.arange(count * rows).reshape(count, rows, 1), D.shape)
                column = np.broadcast_to(place[nodes][:, None, :], D.shape)
                parts.append((D.reshape(-1), row.reshape(-1), column.reshape(-1), count * rows))
        data, row, column = (np.concatenate([part[i] for part in parts]) for i in range(3))
        found = scipy.sparse.csr_array((data, (row, column)), shape=(parts[0][3], self.dimension))
        return found if self.dimension > _DENSE else found.toarray()


class _TotalCost(Function):
    name = "cost"

    def __init__(self, problem: ControlProblem) -> None:
        self.problem = problem

    def evaluate(self, x: Array) -> float:
        return self.problem.cost_of(*self.problem.split(x))

    def gradient(self, x: Array) -> Array:
        return self.problem.gradient_of_variables(x)


class _Gaps(LeastSquares):
    name = "dynamics"

    def __init__(self, problem: ControlProblem) -> None:
        self.problem = problem

    def residuals(self, x: Array) -> Array:
        X, U = self.problem.split(x)
        dynamics = self.problem.dynamics
        return dynamics.differences(dynamics.step(X[:-1], U), X[1:]).reshape(-1)

    def jacobian(self, x: Array) -> Any:
        problem = self.problem
        X, U = problem.split(x)
        A, B = problem.dynamics.derivatives(X[:-1], U)
        N, n = A.shape[:2]
        after: Any = np.broadcast_to(-np.eye(n), (N, n, n))
        if problem.dynamics.curved:
            gaps = self.residuals(x).reshape(N, n)
            ahead, behind = (problem.dynamics.move_derivatives(part) for part in (gaps, -gaps))
            if ahead is not None and behind is not None:
                J = np.linalg.inv(ahead[0])
                A, B, after = J @ A, J @ B, -np.linalg.inv(behind[0])
        return problem.sparse_rows(x, A, B, slice(0, N)) + problem.sparse_rows(x, after, None, slice(1, N + 1))


class _PathRows(LeastSquares):
    name = "constraints of nodes"

    def __init__(self, problem: ControlProblem, rows: ResidualCost | None) -> None:
        assert rows is not None
        self.problem, self.rows = problem, rows

    def residuals(self, x: Array) -> Array:
        X, U = self.problem.split(x)
        return self.rows.residuals(X[:-1], U).reshape(-1)

    def jacobian(self, x: Array) -> Any:
        X, U = self.problem.split(x)
        return self.problem.sparse_rows(x, *dense_jacobians(self.rows, X[:-1], U), slice(0, self.problem.steps))


class _TerminalRows(_PathRows):
    name = "constraints of the last node"

    def residuals(self, x: Array) -> Array:
        return self.rows.residuals(self.problem.split(x)[0][-1:], None).reshape(-1)

    def jacobian(self, x: Array) -> Any:
        X, _ = self.problem.split(x)
        Jx, _ = dense_jacobians(self.rows, X[-1:], None)
        return self.problem.sparse_rows(x, Jx, None, slice(self.problem.steps, self.problem.steps + 1))


def dense_jacobians(rows: ResidualCost, states: Array, controls: Array | None) -> tuple[Array, Array | None]:
    """Derivatives by states and controls, (nodes, rows, ...) each."""
    Jx, Ju = rows.jacobians(states, controls)
    if controls is None:
        return Jx, None
    return Jx, Ju if isinstance(Ju, np.ndarray) else np.zeros((*Jx.shape[:2], controls.shape[1]))


def _costs(given: Any, what: str, dynamics: Dynamics) -> tuple[Cost, ...]:
    costs = (given,) if isinstance(given, Cost) else tuple(given)
    for cost in costs:
        if not isinstance(cost, Cost):
            raise ModelError(f"control problem: {what}: expected a kido.optimal_control.Cost, got {cost!r:.80}")
    return tuple(cost.on(dynamics) for cost in costs) or (QuadraticCost(),)


def _rows(given: Any, what: str, dynamics: Dynamics) -> ResidualCost | None:
    if given is None:
        return None
    if isinstance(given, list | tuple):
        parts = [_rows(part, what, dynamics) for part in given]
        return StackedCost([part for part in parts if part is not None]) if parts else None
    function: Any = given
    if not isinstance(given, ResidualCost):
        if not callable(given):
            raise ModelError(f"control problem: {what}: expected a function of states and controls, got {given!r:.80}")
        given = ResidualCost(function)
    return given.on(dynamics)


def _limits(given: Limits | None, size: int, what: str) -> tuple[Array, Array]:
    if given is None:
        return np.full(size, -np.inf), np.full(size, np.inf)
    try:
        low, high = (np.array(np.broadcast_to(np.asarray(v, dtype=float), size)) for v in given)
    except (TypeError, ValueError):
        raise ModelError(f"control problem: {what}: expected lower and upper ({size},), got {given!r:.80}") from None
    if not (low <= high).all():
        raise ModelError(f"control problem: {what}: expected lower <= upper, got {low.tolist()} and {high.tolist()}")
    return low, high
