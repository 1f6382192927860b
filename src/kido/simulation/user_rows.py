"""Rows of users' constraints: asked for in each step, between contact detection and assembly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.constraints.constraint import UserConstraint, checked_bias, checked_rows
from kido.constraints.loop_schema import USER_ROWS
from kido.constraints.row_origins import ROW_ORIGINS, distance_biases
from kido.errors import StateError
from kido.integrators import ExplicitEuler, MoreauMidpoint
from kido.jit import entry, view
from kido.jit.kept import FINITE, Values, checked_array
from kido.joints import JointKind
from kido.kernels.forward_dynamics import articulated_inertias
from kido.kernels.inertia import body_inertia
from kido.kernels.integration import advance, to_body_axes
from kido.kernels.kinematics import transforms
from kido.kernels.soft import displace_inertia
from kido.simulation.soft_predict import soft_inertias
from kido.tree.schema import DATA, TREE
from kido.tree.soft import SOFT

if TYPE_CHECKING:
    from kido.simulation.engine import Engine

Array = NDArray[np.float64]
MOST = 2**24  # numbers in the Jacobian of users' rows that a state may ask room for
RECALLED = {"impulse": FINITE, "lower": Values(-np.inf, np.inf), "upper": Values(-np.inf, np.inf)}  # of USER_ROWS


@entry("UniTuple(f8,2)(i8,f8)")
def _gap_biases(row_origins, gap):
    return distance_biases(view(ROW_ORIGINS, row_origins), gap)


@entry("i8(i8,i8)")
def _natural_axes(tree, data):
    """Velocities of free joints in body axes. Returns 0."""
    t, d = view(TREE, tree), view(DATA, data)
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            to_body_axes(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], d.u)
    return 0


@entry("i8(i8,i8,f8)")
def _move_on(tree, data, time):
    """Positions and transforms after some time at the velocities, free joints' in fixed axes. Returns 0."""
    t, d = view(TREE, tree), view(DATA, data)
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            advance(t, d, first, last, time)
            transforms(t, d, first, last)
    return 0


@entry("i8(i8,i8,f8)")
def _restore(tree, data, h):
    """Transforms and articulated inertias as the assembly needs them. Returns 0."""
    t, d = view(TREE, tree), view(DATA, data)
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        transforms(t, d, first, last)
        if t.tree_mobile[tree_index] != 0:
            for i in range(first, last):
                body_inertia(t, d, i)
            articulated_inertias(t, d, first, last, h)
    return 0


@entry("i8(i8,i8,i8,f8)")
def _restore_soft(tree, data, soft, h):
    """`_restore` in worlds with soft bodies. Returns 0."""
    t, d, so = view(TREE, tree), view(DATA, data), view(SOFT, soft)
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        transforms(t, d, first, last)
        if t.tree_mobile[tree_index] != 0:
            for i in range(first, last):
                body_inertia(t, d, i)
            for s in range(so.link.shape[0]):
                if so.tree_index[s] == tree_index:
                    displace_inertia(t, d, so, s)
            soft_inertias(t, d, so, tree_index, first, last, h)
    return 0


def _velocities(constraint: UserConstraint) -> Array:
    return np.concatenate([s.velocities for s in constraint.skeletons])


class UserRows:
    """The users' constraints of a world, and the container of their rows."""

    def __init__(self, engine: Engine, constraints: list[UserConstraint]):
        self.engine, self.constraints = engine, constraints
        self.trees = {s: k for k, s in enumerate(engine.skeletons)}
        self.rows_of: dict[UserConstraint, slice] = {c: slice(0, 0) for c in constraints}
        self.container = self._made(max(len(constraints), 1))

    def _made(self, rows: int) -> USER_ROWS:
        return USER_ROWS(rows=rows, dofs=max(len(self.engine.data.q), 1))

    def impulses(self, constraint: UserConstraint) -> Array:
        """Impulses of a constraint's rows in the last step."""
        return self.container.impulse[self.rows_of[constraint]].copy()

    def state(self) -> dict[str, np.ndarray]:
        """What the next step recalls of the last one's rows: how many each constraint had, impulses, and bounds."""
        us, total = self.container, max((rows.stop for rows in self.rows_of.values()), default=0)
        counts = np.array([rows.stop - rows.start for rows in self.rows_of.values()], np.int64)
        return {"user_rows": counts, **{f"user_{key}": getattr(us, key)[:total].copy() for key in RECALLED}}

    def checked_state(self, state: dict[str, Any], where: str) -> dict[str, np.ndarray]:
        """The same of a state from outside; nothing is recalled of other constraints, or by older files.

        Raises:
            StateError: the world cannot have been in it.
        """
        counts = state.get("user_rows", np.zeros(0, np.int64))
        if getattr(counts, "shape", ()) != (len(self.constraints),):
            return UserRows(self.engine, self.constraints).state()
        found = {"user_rows": checked_array(counts, "i", counts.shape, Values(0, MOST), f"{where}.user_rows")}
        rows = int(found["user_rows"].sum())
        if rows * len(self.engine.data.q) > MOST:
            raise StateError(f"{where}.user_rows: {rows} rows are more than memory should have room for")
        for key, values in RECALLED.items():
            found[f"user_{key}"] = checked_array(state.get(f"user_{key}"), "f", (rows,), values, f"{where}.user_{key}")
        return found

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Restore what `state` returned."""
        if len(state["user_rows"]) != len(self.constraints):
            return
        ends = np.cumsum(state["user_rows"]).tolist()
        self.rows_of = dict(zip(self.constraints, map(slice, [0, *ends], ends), strict=False))
        total = ends[-1] if ends else 0
        if total > len(self.container.impulse):
            self._grow(total)
        for key in RECALLED:
            getattr(self.container, key)[:total] = state[f"user_{key}"]

    def _grow(self, rows: int) -> None:
        larger = self._made(rows)
        for key in RECALLED:
            own = getattr(self.container, key)
            getattr(larger, key)[: len(own)] = own
        self.container = larger
        self.engine.link()

    def ask(self) -> None:
        """Fill the container for the step that is under way. Skeletons answer for mid-step while users are asked.

        Raises:
            ModelError: a constraint gave something else than rows; and what its own code raises.
        """
        engine = self.engine
        d, tree = engine.data, engine.stepped
        world: Any = engine.skeletons[0].host
        q, u = d.q.copy(), d.u.copy()
        try:
            h = engine.world.time_step
            self._show(d.u)
            found = [(c, *checked_rows(c)) for c in self.constraints]
            biases = [checked_bias(c, h, len(J)) for c, J, *_ in found]
            turning = self._turning(found, h)
        finally:
            d.q[:], d.u[:] = q, u
            world.version += 1
            implicit = 0.0 if isinstance(engine.options.integrator, ExplicitEuler) else engine.world.time_step
            if engine.world.soft:
                _restore_soft(tree.address, d.address, engine.world.soft.address, implicit)
            else:
                _restore(tree.address, d.address, implicit)
        total = sum(len(J) for _, J, *_ in found)
        if total > len(self.container.bias):
            self._grow(2 * total)
        us, first = self.container, 0
        us.J[:] = 0.0
        for (c, J, error, lower, upper), bias in zip(found, biases, strict=True):
            if self.rows_of[c] != slice(first, first + len(J)):
                us.impulse[first : first + len(J)] = 0.0
            self.rows_of[c] = slice(first, first + len(J))
            self._scatter(c, J, first)
            for k in range(len(J)):
                self._set(first + k, h, error[k], lower[k], upper[k], None if bias is None else bias[k], turning[c][k])
            first += len(J)
        us.num_rows = first

    def _show(self, u: Array) -> None:
        """Have skeletons answer for the present positions and velocities u, free joints' in fixed axes."""
        engine = self.engine
        engine.data.u[:] = u
        _natural_axes(engine.stepped.address, engine.data.address)
        engine.skeletons[0].host.version += 1  # type: ignore[union-attr]  # in a world

    def _turning(self, found: list[Any], h: float) -> dict[UserConstraint, Array]:
        """(J_end - J_M) u_free of each row, J_end at the end of the step.

        Rows that hold are to hold there, for positions and energies of second order in h; impulses act along those at
        mid-step. See `kido.simulation.row_motion`.
        """
        d = self.engine.data
        u_free = self.engine.problem.u_free[: len(d.u)]  # behind those are soft skins'
        turning = {c: np.zeros(len(J)) for c, J, *_ in found}
        holding = {c: self._holds(c, lower, upper) for c, _, _, lower, upper in found}
        moved = [(c, J) for c, J, *_ in found if holding[c].any()]
        if moved and isinstance(self.engine.options.integrator, MoreauMidpoint):
            self._show(u_free)
            at_middle = [J @ _velocities(c) for c, J in moved]
            d.u[:] = u_free
            _move_on(self.engine.stepped.address, d.address, 0.5 * h)
            self._show(u_free)
            for (c, J), before in zip(moved, at_middle, strict=True):
                at_end = checked_rows(c)[0]
                if at_end.shape == J.shape:
                    turning[c] = np.where(holding[c], at_end @ _velocities(c) - before, 0.0)
        return turning

    def _holds(self, constraint: UserConstraint, lower: Array, upper: Array) -> Array:
        """Whether rows are equations, or were within their bounds in the last step."""
        rows = self.rows_of[constraint]
        if rows.stop - rows.start != len(lower):
            return (lower == -np.inf) & (upper == np.inf)
        us = self.container
        return (us.lower[rows] < us.impulse[rows]) & (us.impulse[rows] < us.upper[rows])

    def _scatter(self, constraint: UserConstraint, J: Array, first: int) -> None:
        """Rows over the skeletons' coordinates into rows over the forest's, free joints in fixed axes."""
        tree, q, column = self.engine.tree, self.engine.data.q, 0
        for s in constraint.skeletons:
            tree_index = self.trees[s]
            begin = int(tree.tree_dof[tree_index])
            block = J[:, column : column + s.num_dofs].copy()
            for i in range(int(tree.tree_body[tree_index]), int(tree.tree_body[tree_index + 1])):
                if tree.kind[i] == JointKind.FREE_MIXED:
                    k = int(tree.first_dof[i])
                    R = scipy.spatial.transform.Rotation.from_rotvec(q[k : k + 3]).as_matrix()
                    block[:, k + 3 - begin : k + 6 - begin] = block[:, k + 3 - begin : k + 6 - begin] @ R.T
            self.container.J[first : first + len(J), begin : begin + s.num_dofs] = block
            column += s.num_dofs

    def _set(
        self, r: int, h: float, error: float, lower: float, upper: float, bias: float | None, turning: float
    ) -> None:
        us, row_origins = self.container, self.engine.row_origins
        us.position_bias[r] = 0.0
        if bias is None and upper == 0.0 and lower < 0.0:  # phi <= 0: the same row turned round
            us.J[r] *= -1.0
            error, lower, upper, turning = -error, 0.0, -lower, -turning
        if bias is None and lower == 0.0:
            bias, us.position_bias[r] = _gap_biases(row_origins.address, error)
        elif bias is None:
            share = 1.0 if lower == -np.inf and upper == np.inf else row_origins.erp
            most = row_origins.max_correction
            bias = float(np.clip(share * error, -most, most)) / h
        us.bias[r], us.lower[r], us.upper[r] = bias + turning, lower * h, upper * h
        us.impulse[r] = min(max(us.impulse[r], us.lower[r]), us.upper[r])
