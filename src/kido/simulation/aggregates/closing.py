"""Closing of aggregates at the end of a step, and what their rows' impulses were.

What is of mid-step stays as it is: poses, columns and X of the end have containers of their own.
"""

from __future__ import annotations

from kido.constraints.closure import CLOSURE_TOLERANCE, DIGITS_TOLERANCE, MAX_CLOSURE_MOVE, OPEN_TOLERANCE
from kido.dynamics.embedding.elimination import solve_transposed
from kido.dynamics.embedding.jumps import jump_tree
from kido.dynamics.embedding.project_dependent import (
    close_aggregate,
    closing_direction_again,
    measure_aggregate,
    misfit,
    openness,
)
from kido.dynamics.embedding.rows import aggregate_columns
from kido.jit import kernel
from kido.kernels.articulated import add_column, at_parent, parent_motion
from kido.kernels.inertia import spatial_momentum
from kido.kernels.integration import advance
from kido.kernels.inverse_dynamics import column_dot
from kido.kernels.kinematics import transforms
from kido.simulation.aggregates.choose import reach, tree_of_group
from kido.simulation.aggregates.motion import implicit, second_half
from kido.simulation.balance import SLOW, speeds

# Share of the velocities by which dependent ones may be off; rounds to get there, at most
STILL_SHARE, MAX_VELOCITY_ROUNDS = 1e-11, 5


@kernel
def answer_off(t, d, lp, e, z, tree_index, u, h):
    """Change velocities u of a tree by the impulse of its rows that changes dependent ones by xb at mid-step."""
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        z.loaded[k] = 0.0
    jump_tree(t, d, e, tree_index, h, z.loaded, lp.kept_u)
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        u[k] += lp.kept_u[k]


@kernel
def measure_tree(t, d, lp, e, tree_index):
    """Poses of a tree, values and directions of the rows of its aggregates."""
    transforms(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1])
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        if e.item[q] < 0:
            measure_aggregate(d, lp, e, -1 - e.item[q])


@kernel
def openness_of_tree(lp, y, e, tree_index, whole):
    """`openness` of all aggregates of a tree."""
    worst = 0.0
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        if e.item[q] < 0:
            value = openness(lp, y, e, -1 - e.item[q], whole)
            if not value <= worst:
                worst = value
    return worst


@kernel
def move_to_close(t, d, lp, y, e, end_d, end_e, z, tree_index, h):
    """Positions of the end nearer to phi = 0, by the motion that takes least kinetic energy at mid-step."""
    measure_tree(t, end_d, lp, end_e, tree_index)
    largest = 0.0
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            for s in range(e.first_place[c], e.first_place[c + 1]):
                e.xb[s] = 0.0
            closing_direction_again(lp, y, e, c)  # by the rows of mid-step, which this motion keeps to
            for s in range(e.first_place[c], e.first_place[c + 1]):
                largest = max(largest, abs(e.xb[s]))
    if largest > CLOSURE_TOLERANCE and largest < MAX_CLOSURE_MOVE:
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            end_d.u[k] = 0.0
        answer_off(t, d, lp, e, z, tree_index, end_d.u, h)
        advance(t, end_d, t.tree_body[tree_index], t.tree_body[tree_index + 1], 1.0)
        measure_tree(t, end_d, lp, end_e, tree_index)


@kernel
def take_poses_elsewhere(t, d, lp, e, end_d, tree_index):
    """Poses of what does not move and constraints of a tree's aggregates hang on, for the data of the end."""
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            for n in range(e.first_tie[c], e.first_tie[c + 1]):
                for side in range(2):
                    i = lp.body_a[e.tie[n]] if side == 0 else lp.body_b[e.tie[n]]
                    if i >= 0 and t.tree_of_body[i] != tree_index:
                        for k in range(9):
                            end_d.R[i, k] = d.R[i, k]
                        end_d.p[i, 0], end_d.p[i, 1], end_d.p[i, 2] = d.p[i, 0], d.p[i, 1], d.p[i, 2]


@kernel
def close_positions(t, d, lp, y, e, end_d, end_e, z, tree_index, h):
    """Positions of a tree at the end of the step onto phi = 0; poses at the end go to the data of the end.

    Returns:
        The largest |phi| of all rows, those left out too, and whether the kept rows are closed.
    """
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        end_d.q[k] = d.q[k]
    take_poses_elsewhere(t, d, lp, e, end_d, tree_index)
    move_to_close(t, d, lp, y, e, end_d, end_e, z, tree_index, h)
    error = openness_of_tree(lp, y, end_e, tree_index, 0)
    if not error <= CLOSURE_TOLERANCE:
        error = 0.0
        for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
            i = e.item[q]
            if i >= 0:
                transforms(t, end_d, i, i + 1)
            else:
                left = close_aggregate(t, end_d, lp, y, end_e, -1 - i, CLOSURE_TOLERANCE)
                error = left if not left <= error else error
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        d.q[k] = end_d.q[k]
    return openness_of_tree(lp, y, end_e, tree_index, 1), error <= OPEN_TOLERANCE


@kernel
def dependent_at_end(lp, e, end_d, end_e, tree_index):
    """X of a tree's aggregates at the end of the step."""
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            aggregate_columns(end_d, end_e, c)
            end_e.largest[c] = reach(lp, end_e, c, end_d.u, 0.0)


@kernel
def off_at_end(e, end_e, c, u):
    """xb = X(q_new) u_i - u_d of an aggregate: how far its dependent velocities are off. Returns the largest."""
    place, rank, columns = e.first_place[c], e.rank[c], e.columns[c]
    largest = 0.0
    for s in range(place, e.first_place[c + 1]):
        role = e.role[s]
        e.xb[s] = 0.0
        if role < 0:
            value = -u[e.dof[s]]
            X = e.X_at[c] + (-1 - role) * (columns + 1)
            for a in range(columns):
                value += end_e.X[X + a] * u[e.dof[place + e.solved[place + rank + a]]]
            e.xb[s] = value
            largest = max(largest, abs(value))
    return largest


@kernel
def follow_independent(e, c, u):
    """Take what `off_at_end` found into the dependent velocities."""
    for s in range(e.first_place[c], e.first_place[c + 1]):
        u[e.dof[s]] += e.xb[s]


@kernel
def misfit_at_end(lp, y, e, end_d, end_e, tree_index, u):
    """Largest |G u| of a tree's rows that were left out, as `right` of their slots too."""
    worst = 0.0
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            left = 0.0
            if e.rank[c] < e.first_row[c + 1] - e.first_row[c]:
                for s in range(e.first_place[c], e.first_place[c + 1]):
                    end_d.u[e.dof[s]] = u[e.dof[s]]
                left, _ = misfit(end_d, lp, y, end_e, c)
            for row in range(e.first_row[c], e.first_row[c + 1]):
                lp.right[e.slot[row]] = left if e.pivot[row] < 0 else 0.0
            worst = max(worst, left)
    return worst


@kernel
def close_velocities(t, d, lp, y, e, end_d, end_e, z, tree_index, u, h):
    """Velocities u of a tree at the end of the step onto G u = 0. Returns the largest |G u| of rows left out."""
    dependent_at_end(lp, e, end_d, end_e, tree_index)
    speed = 0.0
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        speed = max(speed, abs(u[k]))
    for round in range(MAX_VELOCITY_ROUNDS + 1):
        off = 0.0
        for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
            if e.item[q] < 0:
                off = max(off, off_at_end(e, end_e, -1 - e.item[q], u))
        if not off > STILL_SHARE * speed or round == MAX_VELOCITY_ROUNDS:
            break
        answer_off(t, d, lp, e, z, tree_index, u, h)
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        if e.item[q] < 0:
            follow_independent(e, -1 - e.item[q], u)
    return misfit_at_end(lp, y, e, end_d, end_e, tree_index, u)


@kernel
def react(t, d, w, lp, e, z, tree_index, u, h):
    """`total` of a tree's slots and `reaction` of its coordinates: what the step's motion took beyond all else.

    By inverse dynamics at mid-step, G^T x = M (u_new - u) + h (bias - tau) - J^T p, with implicit dampers and springs
    in M; each aggregate's kept rows then give x = K_d^-T of the dependent coordinates' numbers.
    """
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    for i in range(first, last):
        p = t.parent[i]
        if p >= first:
            a0, a1, a2, a3, a4, a5 = parent_motion(d, d.B, i, p)
        else:
            a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, -t.gravity[0], -t.gravity[1], -t.gravity[2]
        a0, a1, a2 = a0 + z.product[i, 0], a1 + z.product[i, 1], a2 + z.product[i, 2]
        a3, a4, a5 = a3 + z.product[i, 3], a4 + z.product[i, 4], a5 + z.product[i, 5]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            v = (u[k] - w.start_u[k]) / h
            a0, a1, a2, a3, a4, a5 = add_column(d, k, v, a0, a1, a2, a3, a4, a5)
        d.B[i, 0], d.B[i, 1], d.B[i, 2], d.B[i, 3], d.B[i, 4], d.B[i, 5] = a0, a1, a2, a3, a4, a5
        f0, f1, f2, f3, f4, f5 = spatial_momentum(t, d, i, a0, a1, a2, a3, a4, a5)
        z.force[i, 0], z.force[i, 1], z.force[i, 2] = f0 + z.bias[i, 0], f1 + z.bias[i, 1], f2 + z.bias[i, 2]
        z.force[i, 3], z.force[i, 4], z.force[i, 5] = f3 + z.bias[i, 3], f4 + z.bias[i, 4], f5 + z.bias[i, 5]
    for i in range(last - 1, first - 1, -1):
        f0, f1, f2 = z.force[i, 0], z.force[i, 1], z.force[i, 2]
        f3, f4, f5 = z.force[i, 3], z.force[i, 4], z.force[i, 5]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            own = column_dot(d, k, f0, f1, f2, f3, f4, f5) - z.tau[k]
            z.reaction[k] = h * own + (t.armature[k] + implicit(t, k, h)) * (u[k] - w.start_u[k]) - lp.load[k]
        p = t.parent[i]
        if p >= first:
            f0, f1, f2, f3, f4, f5 = at_parent(d, i, f0, f1, f2, f3, f4, f5)
            z.force[p, 0] += f0
            z.force[p, 1] += f1
            z.force[p, 2] += f2
            z.force[p, 3] += f3
            z.force[p, 4] += f4
            z.force[p, 5] += f5
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            place, row0 = e.first_place[c], e.first_row[c]
            for s in range(place, e.first_place[c + 1]):
                e.w[s] = z.reaction[e.dof[s]]
            solve_transposed(e, c)
            for s in range(e.first_row[c + 1] - row0):
                row = row0 + e.kept[row0 + s]
                lp.total[e.slot[row]] = e.w[place + e.solved[place + s]] if s < e.rank[c] else 0.0
                lp.redundant[e.row[row]] = 0 if s < e.rank[c] else 1
            for s in range(place, e.first_place[c + 1]):
                w.constraint_force[e.dof[s]] += z.reaction[e.dof[s]] / h


@kernel
def close_aggregates(t, d, w, pr, lp, y, e, end_d, end_e, z, g, loaded):
    """Positions and velocities of a group at the end of the step; impulses of its rows.

    Returns:
        What is left of |phi| and of |G u|.
    """
    h, tree_index = w.time_step, tree_of_group(lp, g)
    most, change = speeds(w, pr, t.tree_dof[tree_index], t.tree_dof[tree_index + 1])
    if loaded and change > 0.0 and h * most > SLOW:
        second_half(t, d, w, pr, lp, e, z, tree_index, h)
    error, closed = close_positions(t, d, lp, y, e, end_d, end_e, z, tree_index, h)
    left = close_velocities(t, d, lp, y, e, end_d, end_e, z, tree_index, pr.u, h)
    react(t, d, w, lp, e, z, tree_index, pr.u, h)
    lp.left_open[g] = 0 if closed and error <= DIGITS_TOLERANCE else 1
    return error, left
