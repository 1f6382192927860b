"""End of a step of skeletons with aggregates: closed, and what their rows' impulses were."""

from __future__ import annotations

from kido.constraints.closure import DIGITS_TOLERANCE
from kido.dynamics.embedding.elimination import solve_transposed
from kido.jit import kernel
from kido.kernels.articulated import add_column, at_parent, parent_motion
from kido.kernels.inertia import spatial_momentum
from kido.kernels.inverse_dynamics import column_dot
from kido.simulation.aggregates.choose import tree_of_group
from kido.simulation.aggregates.closing import close_positions, close_velocities
from kido.simulation.aggregates.motion import implicit, second_half


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
            z.reaction[k] = h * own + implicit(t, k, h) * (u[k] - w.start_u[k]) - lp.load[k]
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
    if loaded:
        second_half(t, d, w, pr, lp, e, z, tree_index, h)
    error, closed = close_positions(t, d, lp, y, e, end_d, end_e, z, tree_index, h)
    left = close_velocities(t, d, lp, y, e, end_d, end_e, z, tree_index, pr.u, h)
    react(t, d, w, lp, e, z, tree_index, pr.u, h)
    lp.left_open[g] = 0 if closed and error <= DIGITS_TOLERANCE else 1
    return error, left
