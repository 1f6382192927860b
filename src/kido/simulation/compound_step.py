"""Skeletons with loops as trees of compound bodies, in the midpoint step of a world.

Loops over few coordinates are compounds (kido.dynamics.embedding): dependent velocities follow from independent ones,
and the recursions of a tree run on what is one. The step of `kido.simulation.loops` then is, with the rows' numbers K
at mid-step,

    K_d udot_d + K_i udot_i = -(2/h) K u        so that the mean of the old and the new velocity is what K annuls
    u_M = u + (h/2) udot(q_M, u),  u_free = u + h udot(q_M, u_M)          one articulation, two sweeps
    responses of contacts, limits and motors by sweeps of the same tree: the contact problem has no rows of loops
    q_new: by what takes least energy, the rest by Newton's method;  u_new = u + M^-1 K^T x with G(q_new) u_new = 0

The last condition leaves the momentum along what the loops allow as it is. With e_d = u_d - X(q_new) u_i, how far
dependent velocities are off at the end, the impulse that changes them by -e_d at mid-step leaves an e_d smaller by a
factor of order h; after two or three rounds nothing is left but rounding.

What does not fit is eliminated instead (kido.constraints.loop_solve): see `is_embeddable`.
"""

from __future__ import annotations

from kido.constraints.loop_rows import add_body_jacobian, is_moved
from kido.constraints.loop_schema import COUPLE, ELIMINATED, GROUPS, LOOP_ROWS_COUNT, ONE_SIDED
from kido.constraints.loop_solve import is_awake
from kido.dynamics.embedding.compound import compound_rest
from kido.dynamics.embedding.elimination import (
    dependent_rows,
    mark_rows,
    note_partition,
    reduce_rows_against,
    solve_transposed,
    write_all_rows,
)
from kido.dynamics.embedding.rows import compound_columns
from kido.dynamics.embedding.schema import COMPOUNDS
from kido.dynamics.embedding.settle import (
    close_compound,
    closing_direction,
    is_poor,
    measure_compound,
    misfit,
    openness,
    partition,
)
from kido.dynamics.embedding.solve import motions_from
from kido.dynamics.embedding.sweeps import articulate_tree, gather_bias_of_tree, scatter_accelerations
from kido.jit import kernel
from kido.kernels.forward_dynamics import start_bias
from kido.kernels.inertia import body_inertia, spatial_momentum, start_inertia
from kido.kernels.integration import advance
from kido.kernels.inverse_dynamics import column_dot
from kido.kernels.kinematics import transforms, velocities
from kido.math.so3 import cross
from kido.simulation.smooth import joint_loads

CLOSED = 1e-12  # [m or rad] rows this near to zero are met
OPEN = 1e-8  # [m or rad] rows farther from it are closed by elimination in the next step
NEAR = 0.2  # [m or rad] most that dependent coordinates are moved by with all others
STILL, ROUNDS = 1e-11, 5  # share of the velocities by which dependent ones may be off; rounds to get there, at most
VOID = 1e-4  # share of a compound's largest number that a row never has which nothing moves
FLAT, STEEP = 0.002, 60.0  # least lever, and largest number in X, of loops that are compounds


@kernel
def part_of_group(lp, g):
    """The first part of a group, the only one of those whose loops are compounds."""
    return lp.member[lp.group_member[g]]


@kernel
def implicit(t, k, h):
    """What damper and spring of coordinate k add to its inertia."""
    return h * (t.damping[k] + 0.25 * h * t.stiffness[k])


@kernel
def is_whole(lp, g):
    """Whether none of a group's constraints is broken."""
    broken = 0
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        broken += 1 - lp.enabled[lp.of[lp.slot[s]]]
    return broken == 0


@kernel
def reach(lp, e, c, u, share):
    """X of a compound, with share * K u on its rows' right-hand side. Returns its largest number."""
    e.least[c] = reduce_rows_against(lp, e, c, u, share)
    return dependent_rows(e, c)


@kernel
def is_near_singular(e, c):
    """Whether a compound's position is near to one where its rows lose rank: elimination does better there."""
    return not (e.lever[c] > FLAT and e.largest[c] < STEEP)


@kernel
def note_void_rows(t, d, lp, e, void):
    """Take out of `void` (rows of compounds) those that have numbers at the positions of the data.

    Such rows, as those across the plane of a planar linkage, never move; any other that follows from the rest tells a
    singular position, or a linkage that owes its mobility to its proportions.
    """
    transforms(t, d, 0, t.parent.shape[0])
    for c in range(e.count[COMPOUNDS]):
        measure_compound(d, lp, e, c)
        compound_columns(d, e, c)
        write_all_rows(lp, e, c)
        whole = 0.0
        at, width = e.matrix_at[c], e.first_place[c + 1] - e.first_place[c] + 1
        for row in range(e.first_row[c], e.first_row[c + 1]):
            e.reach[row] = 0.0
            for k in range(width):
                e.reach[row] = max(e.reach[row], abs(e.K[at + k]))
                e.K[at + k] = 0.0
            whole = max(whole, e.reach[row])
            at += width
        for row in range(e.first_row[c], e.first_row[c + 1]):
            if e.reach[row] > VOID * whole:
                void[row] = 0


@kernel
def choose_group(t, d, lp, y, e, end, z, g):
    """Whether the loops of a group are compounds in this step; partitions are chosen anew where they are poor."""
    part = part_of_group(lp, g)
    chosen = 0
    for q in range(e.part_item[part], e.part_item[part + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            if z.anew[g] != 0 or is_poor(e, c) or is_near_singular(e, c):
                if chosen == 0:
                    transforms(t, d, t.part_body[part], t.part_body[part + 1])
                    chosen = 1
                partition(t, d, lp, y, e, c)
                e.largest[c] = reach(lp, e, c, d.u, 0.0)
                for k in range(e.matrix_at[c], e.matrix_at[c] + rows_times_width(e, c)):
                    end.K[k] = 0.0
            if e.rank[c] < z.wanted[c] or is_near_singular(e, c):
                z.anew[g] = 1
                return False
    z.anew[g] = 0
    return True


@kernel
def rows_times_width(e, c):
    """Entries of K of a compound."""
    return (e.first_row[c + 1] - e.first_row[c]) * (e.first_place[c + 1] - e.first_place[c] + 1)


@kernel
def restore_partitions(t, lp, e, end):
    """All that follows from the kept fields of partitions (kido.simulation.compound_loops)."""
    for c in range(e.count[COMPOUNDS]):
        mark_rows(e, c)
        note_partition(t, lp, e, c)
        for k in range(e.matrix_at[c], e.matrix_at[c] + rows_times_width(e, c)):
            end.K[k] = 0.0


@kernel
def choose_compounds(t, d, lp, y, e, end, z, r):
    """Decide for each group whether its loops are compounds in this step: `embedded`, and `apart` of its part."""
    for g in range(lp.count[GROUPS]):
        if z.fits[g] != 0:
            now = 0
            if is_awake(t, lp, g) and lp.left_open[g] == 0 and is_whole(lp, g):
                now = 1 if choose_group(t, d, lp, y, e, end, z, g) else 0
            else:
                z.anew[g] = 1
            lp.embedded[g] = now
            r.apart[part_of_group(lp, g)] = now


@kernel
def hold_rows(d, lp, e, part, u, h):
    """Columns, X and, in its last column, K_d^-1 of -(2/h) K u of a part's compounds. Returns whether they are well."""
    for q in range(e.part_item[part], e.part_item[part + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            compound_columns(d, e, c)
            e.largest[c] = reach(lp, e, c, u, -2.0 / h)
            if is_near_singular(e, c):
                return False
    return True


@kernel
def start_loads(t, e, z, part, h):
    """`loaded`: the joint forces, less what implicit dampers and springs take for dependent coordinates' own part."""
    for k in range(t.part_dof[part], t.part_dof[part + 1]):
        z.loaded[k] = z.tau[k]
    for q in range(e.part_item[part], e.part_item[part + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            for s in range(e.first_place[c], e.first_place[c + 1]):
                role = e.role[s]
                if role < 0:
                    k = e.dof[s]
                    X = e.X_at[c] + (-1 - role) * (e.columns[c] + 1)
                    z.loaded[k] -= implicit(t, k, h) * e.X[X + e.columns[c]]


@kernel
def add_predicted(t, d, lp, z, part, h):
    """Add to `loaded` what springs, motors and dry friction of constraints did in the last step."""
    for r in range(lp.count[LOOP_ROWS_COUNT]):
        p = lp.impulse[r] / h
        if p == 0.0 or lp.mode[r] == ELIMINATED or lp.mode[r] == ONE_SIDED or lp.enabled[lp.of[r]] == 0:
            continue
        c = lp.of[r]
        if lp.kind[r] == COUPLE:
            for n in range(lp.first_term[c], lp.first_term[c + 1]):
                k = lp.term_dof[n]
                if t.part[t.body_of_dof[k]] == part:
                    z.loaded[k] += p * lp.sign[r] * lp.term_factor[n]
        else:
            a, b = lp.body_a[c], lp.body_b[c]
            if is_moved(t, a) and t.part[a] == part:
                add_body_jacobian(t, d, lp, r, a, -p, z.loaded, t.part_dof[part])
            if is_moved(t, b) and t.part[b] == part:
                add_body_jacobian(t, d, lp, r, b, p, z.loaded, t.part_dof[part])


@kernel
def begin_motion(t, d, e, part):
    """Velocities, biases and compounds' motions at rest of a part at its velocities d.u."""
    first, last = t.part_body[part], t.part_body[part + 1]
    velocities(t, d, first, last)
    for i in range(first, last):
        start_bias(t, d, i)
    for q in range(e.part_item[part], e.part_item[part + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            compound_rest(d, e, c)


@kernel
def end_motion(t, d, e, z, part):
    """udot of a part under the forces `loaded`, after `begin_motion`."""
    begin, end = e.part_item[part], e.part_item[part + 1]
    gather_bias_of_tree(t, d, e, begin, end, 1.0, z.loaded)
    scatter_accelerations(t, d, e, begin, end, 1.0, d.A, d.udot)


@kernel
def note_biases(t, d, z, part, share):
    """Add a share of velocity products and biases, before the gather, to those of the step; share 1 begins them."""
    for i in range(t.part_body[part], t.part_body[part + 1]):
        for j in range(6):
            if share == 1.0:
                z.product[i, j], z.bias[i, j] = d.a[i, j], d.z[i, j]
            else:
                z.product[i, j] += share * d.a[i, j]
                z.bias[i, j] += share * d.z[i, j]


@kernel
def predict_compounds(t, d, w, lp, e, z, part, h):
    """Velocities of a part predicted for mid-step, into d.u; needs transforms and `measure_all`.

    Returns:
        1 + a coordinate whose inertia is not positive, 0 if there is none; -1: near to a singular position, and
        nothing was done.
    """
    if not hold_rows(d, lp, e, part, d.u, h):
        return -1
    first, last = t.part_body[part], t.part_body[part + 1]
    begin, end = t.part_dof[part], t.part_dof[part + 1]
    for i in range(first, last):
        body_inertia(t, d, i)
        start_inertia(t, d, i)
    joint_loads(t, d, w, first, last)
    for k in range(begin, end):
        w.target[k] = d.command[k]
        z.tau[k] = d.tau[k]
    status = articulate_tree(t, d, e, e.part_item[part], e.part_item[part + 1], h)
    start_loads(t, e, z, part, h)
    add_predicted(t, d, lp, z, part, h)
    begin_motion(t, d, e, part)
    end_motion(t, d, e, z, part)
    for k in range(begin, end):
        d.u[k] += 0.5 * h * d.udot[k]
    if status < -1:  # of a compound: its first coordinate stands for it
        status = e.dof[e.first_place[-2 - status]]
    return 1 + status


@kernel
def free_compounds(t, d, w, pr, e, z, part, h):
    """u_free of a part at mid-step, from the predicted velocities."""
    start_loads(t, e, z, part, h)
    begin_motion(t, d, e, part)
    note_biases(t, d, z, part, 1.0)
    end_motion(t, d, e, z, part)
    for k in range(t.part_dof[part], t.part_dof[part + 1]):
        pr.u_free[k] = w.start_u[k] + h * d.udot[k]
        d.u[k] = w.start_u[k]
        d.tau[k] = w.command[k]


@kernel
def forget_turns(e, part):
    """Zero what dependent coordinates have besides X times the independent ones."""
    for q in range(e.part_item[part], e.part_item[part + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            for s in range(e.rank[c]):
                e.X[e.X_at[c] + s * (e.columns[c] + 1) + e.columns[c]] = 0.0


@kernel
def second_half(t, d, w, pr, lp, e, z, part, h):
    """`kido.simulation.loops.second_half` for a part with compounds."""
    forget_turns(e, part)
    begin, end = t.part_dof[part], t.part_dof[part + 1]
    for k in range(begin, end):
        z.loaded[k] = z.tau[k]
        d.u[k] = pr.u[k]
    begin_motion(t, d, e, part)
    note_biases(t, d, z, part, 0.5)
    end_motion(t, d, e, z, part)
    for k in range(begin, end):
        lp.kept_u[k] = d.udot[k]
        d.u[k] = 2.0 * lp.predicted[k] - w.start_u[k]
    begin_motion(t, d, e, part)
    note_biases(t, d, z, part, -0.5)
    end_motion(t, d, e, z, part)
    for k in range(begin, end):
        pr.u[k] += 0.5 * h * (lp.kept_u[k] - d.udot[k])


@kernel
def answer_off(t, d, lp, e, z, part, u, h):
    """Change velocities u of a part by the impulse of its rows that changes dependent ones by xb at mid-step."""
    first, last = t.part_body[part], t.part_body[part + 1]
    begin, end = e.part_item[part], e.part_item[part + 1]
    for i in range(first, last):
        for j in range(6):
            d.z[i, j] = 0.0
    for k in range(t.part_dof[part], t.part_dof[part + 1]):
        z.loaded[k] = 0.0
    for q in range(begin, end):
        c = -1 - e.item[q]
        if c >= 0:
            for s in range(e.first_place[c], e.first_place[c + 1]):
                z.loaded[e.dof[s]] = -implicit(t, e.dof[s], h) * e.xb[s]
            motions_from(e, c)
    gather_bias_of_tree(t, d, e, begin, end, 0.0, z.loaded)
    scatter_accelerations(t, d, e, begin, end, 0.0, d.B, lp.kept_u)
    for k in range(t.part_dof[part], t.part_dof[part + 1]):
        u[k] += lp.kept_u[k]


@kernel
def move_to_close(t, d, lp, y, e, end_d, end_e, z, part, h):
    """Positions of the end nearer to phi = 0, by the motion that takes least kinetic energy at mid-step."""
    first, last = t.part_body[part], t.part_body[part + 1]
    transforms(t, end_d, first, last)
    largest = 0.0
    for q in range(e.part_item[part], e.part_item[part + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            measure_compound(end_d, lp, end_e, c)
            closing_direction(end_d, lp, y, end_e, c)
            for s in range(e.first_place[c], e.first_place[c + 1]):
                e.xb[s] = end_e.xb[s] if e.role[s] < 0 else 0.0
                largest = max(largest, abs(e.xb[s]))
    if largest > CLOSED and largest < NEAR:
        for k in range(t.part_dof[part], t.part_dof[part + 1]):
            end_d.u[k] = 0.0
        answer_off(t, d, lp, e, z, part, end_d.u, h)
        advance(t, end_d, first, last, 1.0)


@kernel
def close_positions(t, d, lp, y, e, end_d, end_e, z, part, h):
    """Positions of a part at the end of the step onto phi = 0; poses at the end go to the data of the end.

    Returns:
        The largest |phi| of all rows, those left out too.
    """
    for k in range(t.part_dof[part], t.part_dof[part + 1]):
        end_d.q[k] = d.q[k]
    move_to_close(t, d, lp, y, e, end_d, end_e, z, part, h)
    worst = 0.0
    for q in range(e.part_item[part], e.part_item[part + 1]):
        i = e.item[q]
        if i >= 0:
            transforms(t, end_d, i, i + 1)
        else:
            close_compound(t, end_d, lp, y, end_e, -1 - i, CLOSED)
            worst = max(worst, openness(lp, y, end_e, -1 - i, 1))
    for k in range(t.part_dof[part], t.part_dof[part + 1]):
        d.q[k] = end_d.q[k]
    return worst


@kernel
def dependent_at_end(lp, e, end_d, end_e, part):
    """X of a part's compounds at the end of the step."""
    for q in range(e.part_item[part], e.part_item[part + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            compound_columns(end_d, end_e, c)
            end_e.largest[c] = reach(lp, end_e, c, end_d.u, 0.0)


@kernel
def off_at_end(e, end_e, c, u):
    """xb = X(q_new) u_i - u_d of a compound: how far its dependent velocities are off. Returns the largest."""
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
def misfit_at_end(lp, y, e, end_d, end_e, part, u):
    """Largest |G u| of a part's rows that were left out, as `right` of their slots too."""
    worst = 0.0
    for q in range(e.part_item[part], e.part_item[part + 1]):
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
def close_velocities(t, d, lp, y, e, end_d, end_e, z, part, u, h):
    """Velocities u of a part at the end of the step onto G u = 0. Returns the largest |G u| of rows left out."""
    dependent_at_end(lp, e, end_d, end_e, part)
    speed = 0.0
    for k in range(t.part_dof[part], t.part_dof[part + 1]):
        speed = max(speed, abs(u[k]))
    for round in range(ROUNDS + 1):
        off = 0.0
        for q in range(e.part_item[part], e.part_item[part + 1]):
            if e.item[q] < 0:
                off = max(off, off_at_end(e, end_e, -1 - e.item[q], u))
        if not off > STILL * speed or round == ROUNDS:
            break
        answer_off(t, d, lp, e, z, part, u, h)
    for q in range(e.part_item[part], e.part_item[part + 1]):
        if e.item[q] < 0:
            follow_independent(e, -1 - e.item[q], u)
    return misfit_at_end(lp, y, e, end_d, end_e, part, u)


@kernel
def react(t, d, w, lp, e, z, part, u, h):
    """`total` of a part's slots and `reaction` of its coordinates: what the step's motion took beyond all else.

    By inverse dynamics at mid-step, G^T x = M (u_new - u) + h (bias - tau) - J^T p, with implicit dampers and springs
    in M; each compound's kept rows then give x = K_d^-T of the dependent coordinates' numbers.
    """
    first, last = t.part_body[part], t.part_body[part + 1]
    for i in range(first, last):
        p = t.parent[i]
        if p >= first:
            a0, a1, a2 = d.B[p, 0], d.B[p, 1], d.B[p, 2]
            x, y, v = cross(a0, a1, a2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
            a3, a4, a5 = d.B[p, 3] + x, d.B[p, 4] + y, d.B[p, 5] + v
        else:
            a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, -t.gravity[0], -t.gravity[1], -t.gravity[2]
        a0, a1, a2 = a0 + z.product[i, 0], a1 + z.product[i, 1], a2 + z.product[i, 2]
        a3, a4, a5 = a3 + z.product[i, 3], a4 + z.product[i, 4], a5 + z.product[i, 5]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            v = (u[k] - w.start_u[k]) / h
            a0 += d.H[k, 0] * v
            a1 += d.H[k, 1] * v
            a2 += d.H[k, 2] * v
            a3 += d.H[k, 3] * v
            a4 += d.H[k, 4] * v
            a5 += d.H[k, 5] * v
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
            x, y, v = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], f3, f4, f5)
            z.force[p, 0] += f0 + x
            z.force[p, 1] += f1 + y
            z.force[p, 2] += f2 + v
            z.force[p, 3] += f3
            z.force[p, 4] += f4
            z.force[p, 5] += f5
    for q in range(e.part_item[part], e.part_item[part + 1]):
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
def close_compounds(t, d, w, pr, lp, y, e, end_d, end_e, z, g, loaded):
    """Positions and velocities of a group at the end of the step; impulses of its rows.

    Returns:
        What is left of |phi| and of |G u|.
    """
    h, part = w.time_step[0], part_of_group(lp, g)
    if loaded:
        second_half(t, d, w, pr, lp, e, z, part, h)
    error = close_positions(t, d, lp, y, e, end_d, end_e, z, part, h)
    left = close_velocities(t, d, lp, y, e, end_d, end_e, z, part, pr.u, h)
    react(t, d, w, lp, e, z, part, pr.u, h)
    lp.left_open[g] = 0 if error <= OPEN else 1
    return error, left
