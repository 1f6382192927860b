"""Momentum of skeletons that float, and velocity products where impulses change velocities, at the end of a step.

A step of a tree takes its velocity products at the velocity u_M that is predicted for its middle, as if nothing
touched. Impulses there change velocities by du, so that the second half of the step has other products: with a(u) the
accelerations at mid-step under the step's forces,

    u_new = u_free + du + (h/2) (a(u_M + du) - a(u_M))

An impact that changes a spin would leave an error of first order in h otherwise, a contact that holds one of second
order in each step. Coordinates that servos, limits or dry friction hold have the velocities that these found, and are
as if prescribed in a(u).

Of a tree on a free joint, the rest is known: with P and L its linear momentum and its angular momentum about its centre
of mass x, F and N the forces and impulses at mid-step over h and their moment about x_M = x + (h/2) P / m,

    P_new = P + h F,    L_new = L + h N,    x_new = x_M + (h/2) P_new / m

hold for any motion of its joints, wherever the frame of its base is. So the base gets the twist of the locked tree that
makes up for what is lacking, and is put where x_new says: momentum, also the angular one about any fixed point, is kept
to rounding, and a tree that falls has its centre of mass on its parabola.
"""

from __future__ import annotations

from kido.constraints.applied_forces import applied_forces
from kido.constraints.row_origins import FROM_CONSTRAINT, FROM_MIMIC
from kido.jit import kernel, where_positive
from kido.joints.kinds import FREE, FREE_MIXED
from kido.kernels.articulated import link_velocities
from kido.kernels.forward_dynamics import articulated_inertias
from kido.kernels.inertia import body_inertia, inertia_of, rigid_momentum
from kido.kernels.integration import advance
from kido.kernels.kinematics import transforms
from kido.math.choices import larger
from kido.math.so3 import cross
from kido.simulation.predict import evaluate, joint_loads
from kido.solvers.problem import BOUNDED, CONTACT
from kido.solvers.rows import num_segments, segment

COUPLED = -1  # `holds` of a tree with rows of several coordinates: what changes velocities would not keep them
# [rad, m] way of a coordinate in a step up to which impulses do not change velocity products: by less than this share
# of the change of velocity that they make. Robots that stand are slower.
SLOW = 3e-5


@kernel
def floating_base(t, first, last):
    """The link of a tree that is on a free joint in the world, if nothing prescribes it and all that moves is on it.

    Links welded to the world may come before it; -1: there is none.
    """
    base = first
    while base < last and t.first_dof[base] == t.first_dof[base + 1]:
        base += 1
    if base == last or t.kind[base] != FREE_MIXED:
        return -1
    for i in range(base + 1, last):
        if t.parent[i] < base:
            return -1
    for k in range(t.first_dof[base], t.first_dof[base + 1]):
        if t.prescribed[k] != 0:
            return -1
    return base


@kernel
def is_loose(t, base):
    """Whether neither damper nor spring acts on the joint of a link, nor a rotor in the world."""
    held = 0.0
    for k in range(t.first_dof[base], t.first_dof[base + 1]):
        held += abs(t.damping[k]) + abs(t.stiffness[k]) + t.armature[k]
    return held == 0.0


@kernel
def centre_of(t, d, first, last):
    """Mass and centre of mass of links first..last-1, from their mc."""
    m = x = y = z = 0.0
    for i in range(first, last):
        m += t.mass[i]
        x += t.mass[i] * d.p[i, 0] + d.mc[i, 0]
        y += t.mass[i] * d.p[i, 1] + d.mc[i, 1]
        z += t.mass[i] * d.p[i, 2] + d.mc[i, 2]
    return m, x / m, y / m, z / m


@kernel
def plus(h, g):
    """Sum of two vectors of six numbers."""
    return h[0] + g[0], h[1] + g[1], h[2] + g[2], h[3] + g[3], h[4] + g[4], h[5] + g[5]


@kernel
def about(d, i, g, x, y, z):
    """A vector g = [n; f] at the origin of link i, its moment taken about (x, y, z)."""
    a, b, c = cross(d.p[i, 0] - x, d.p[i, 1] - y, d.p[i, 2] - z, g[3], g[4], g[5])
    return g[0] + a, g[1] + b, g[2] + c, g[3], g[4], g[5]


@kernel
def links_momentum(t, d, first, base, last, u, x, y, z):
    """[angular about (x, y, z); linear] momentum of links base..last-1 at velocities u, world axes; uses d.B."""
    link_velocities(t, d, first, last, u)
    h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    B = d.B
    for i in range(base, last):
        mc = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
        g = rigid_momentum(inertia_of(d, i), mc, t.mass[i], B[i, 0], B[i, 1], B[i, 2], B[i, 3], B[i, 4], B[i, 5])
        h = plus(h, about(d, i, g, x, y, z))
    return h


@kernel
def solve_symmetric(a, x, y, z):
    """Solution of A s = (x, y, z) for A = (xx, xy, xz, yy, yz, zz), by cofactors; zero for a singular one."""
    c0, c1, c2 = a[3] * a[5] - a[4] * a[4], a[2] * a[4] - a[1] * a[5], a[1] * a[4] - a[2] * a[3]
    c3, c4, c5 = a[0] * a[5] - a[2] * a[2], a[1] * a[2] - a[0] * a[4], a[0] * a[3] - a[1] * a[1]
    det = a[0] * c0 + a[1] * c1 + a[2] * c2
    size = a[0] + a[3] + a[5]
    regular = det - 1e-12 * size * size * size
    det = where_positive(regular, det, 1.0)
    return (
        where_positive(regular, (c0 * x + c1 * y + c2 * z) / det, 0.0),
        where_positive(regular, (c1 * x + c3 * y + c4 * z) / det, 0.0),
        where_positive(regular, (c2 * x + c4 * y + c5 * z) / det, 0.0),
    )


@kernel
def locked_inertia(t, d, first, last, x, y, z):
    """Inertia of links first..last-1, as if locked, about (x, y, z)."""
    xx = xy = xz = yy = yz = zz = 0.0
    for i in range(first, last):
        m = t.mass[i]
        a, b, c = d.p[i, 0] - x, d.p[i, 1] - y, d.p[i, 2] - z
        e, f, g = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
        # sum of m ((p + c)(p + c) 1 - (p + c)(p + c)^T) less that about the origin of the link
        pp, qq, rr = a * (m * a + 2.0 * e), b * (m * b + 2.0 * f), c * (m * c + 2.0 * g)
        xx += d.J[i, 0] + qq + rr
        yy += d.J[i, 3] + pp + rr
        zz += d.J[i, 5] + pp + qq
        xy += d.J[i, 1] - (m * a * b + a * f + b * e)
        xz += d.J[i, 2] - (m * a * c + a * g + c * e)
        yz += d.J[i, 4] - (m * b * c + b * g + c * f)
    return xx, xy, xz, yy, yz, zz


@kernel
def add_to_base(t, d, base, last, lack, u):
    """Add to the velocities u what gives a locked tree the momentum `lack` about its centre of mass."""
    m, x, y, z = centre_of(t, d, base, last)
    w0, w1, w2 = solve_symmetric(locked_inertia(t, d, base, last, x, y, z), lack[0], lack[1], lack[2])
    v0, v1, v2 = cross(w0, w1, w2, d.p[base, 0] - x, d.p[base, 1] - y, d.p[base, 2] - z)
    v0, v1, v2 = v0 + lack[3] / m, v1 + lack[4] / m, v2 + lack[5] / m
    k = t.first_dof[base]
    for j in range(k, k + 3):  # unit columns; a turn about the joint may also move the link's origin
        s = d.H[j, 0] * w0 + d.H[j, 1] * w1 + d.H[j, 2] * w2
        u[j] += s
        v0 -= s * d.H[j, 3]
        v1 -= s * d.H[j, 4]
        v2 -= s * d.H[j, 5]
    for j in range(k + 3, k + 6):
        u[j] += d.H[j, 3] * v0 + d.H[j, 4] * v1 + d.H[j, 5] * v2


@kernel
def speeds(w, pr, begin, end):
    """Fastest coordinate of a tree in a step, and the largest change of one by impulses."""
    most = change = 0.0
    for k in range(begin, end):
        most = max(most, max(abs(w.start_u[k]), abs(pr.u[k])))
        change = max(change, abs(pr.u[k] - pr.u_free[k]))
    return most, change


@kernel
def note_held(t, pr, w):
    """Note the trees that friction holds against what does not move, which have no momentum to keep; and coordinates
    that rows of their own hold."""
    src = w.row_origins
    for tree_index in range(t.tree_mobile.shape[0]):
        w.grounded[tree_index] = 0
        if w.holds[tree_index] != 0:
            w.holds[tree_index] = 0
            for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
                w.held[k] = 0
    for b in range(pr.num_blocks):
        p = pr.impulse[pr.row[b]]
        if pr.kind[b] == CONTACT:
            if pr.mu[b] > 0.0 and p > 0.0:
                if pr.len_a[b] == 0 and pr.len_b[b] > 0:
                    w.grounded[t.tree_of_body[t.body_of_dof[pr.dof_b[b]]]] = 1
                if pr.len_b[b] == 0 and pr.len_a[b] > 0:
                    w.grounded[t.tree_of_body[t.body_of_dof[pr.dof_a[b]]]] = 1
        elif src.origin[b] >= FROM_CONSTRAINT:  # may hold it against anything
            for s in range(num_segments(pr, b)):
                dof, length, _ = segment(pr, b, s)
                if length > 0:
                    w.grounded[t.tree_of_body[t.body_of_dof[dof]]] = 1
        elif pr.kind[b] == BOUNDED and p != 0.0 and pr.lower[b] < p < pr.upper[b]:
            tree_index = t.tree_of_body[t.body_of_dof[pr.dof_a[b]]]
            k = src.index[b]
            if src.origin[b] == FROM_MIMIC or t.kind[t.body_of_dof[k]] == FREE:
                w.holds[tree_index] = COUPLED
            else:
                w.held[k] = 1
                if w.holds[tree_index] == 0:
                    w.holds[tree_index] = 1


@kernel
def hold(t, w, tree_index, value):
    """Prescribe the coordinates of a tree that rows hold, or no longer."""
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        if w.held[k] != 0:
            t.prescribed[k] = value


@kernel
def begin_products(t, d, w, pr, first, last, h):
    """Loads and velocities of a tree with which `add_products` evaluates its accelerations; in lanes too."""
    begin, end = t.first_dof[first], t.first_dof[last]
    for k in range(begin, end):
        d.u[k] = w.start_u[k]
    joint_loads(t, d, w, first, last)
    for k in range(begin, end):
        d.u[k] = w.middle_u[k] + (pr.u[k] - pr.u_free[k])
        d.udot[k] = (pr.u_free[k] - w.start_u[k]) / h  # of prescribed coordinates


@kernel
def end_products(t, d, w, pr, first, last, h):
    """Add to pr.u what these accelerations differ by from those of u_free; in lanes too."""
    for k in range(t.first_dof[first], t.first_dof[last]):
        d.tau[k] = w.command[k]
        if t.prescribed[k] == 0:
            pr.u[k] += 0.5 * (h * d.udot[k] - (pr.u_free[k] - w.start_u[k]))


@kernel
def add_products(t, d, w, pr, tree_index, h):
    """Velocity products of the second half of a step, see above; pr.u is changed."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    holds = w.holds[tree_index]
    if holds == COUPLED:
        return
    begin_products(t, d, w, pr, first, last, h)
    if holds != 0:
        hold(t, w, tree_index, 1)
        articulated_inertias(t, d, first, last, h)
    evaluate(t, d, first, last)
    end_products(t, d, w, pr, first, last, h)
    if holds != 0:
        hold(t, w, tree_index, 0)


@kernel
def base_wrench(t, d, w, first, base, last):
    """[moment about the base's origin; force] at mid-step on a tree that floats, impulses over h included."""
    applied_forces(t, d, first, last)
    k = t.first_dof[base]
    f0, f1, f2 = 0.0, 0.0, 0.0
    for j in range(k + 3, k + 6):
        s = d.e[j] + w.constraint_force[j] + (w.actuator_force[j] - w.command[j])
        f0 += s * d.H[j, 3]
        f1 += s * d.H[j, 4]
        f2 += s * d.H[j, 5]
    n0, n1, n2 = 0.0, 0.0, 0.0
    for j in range(k, k + 3):
        s = d.e[j] + w.constraint_force[j] + (w.actuator_force[j] - w.command[j])
        s -= d.H[j, 3] * f0 + d.H[j, 4] * f1 + d.H[j, 5] * f2
        n0 += s * d.H[j, 0]
        n1 += s * d.H[j, 1]
        n2 += s * d.H[j, 2]
    return n0, n1, n2, f0, f1, f2


@kernel
def place_anew(t, d, first, last):
    """Transforms and inertias of a tree at its positions."""
    transforms(t, d, first, last)
    for i in range(first, last):
        body_inertia(t, d, i)


@kernel
def momentum_at_end(t, d, w, base, last, wrench, p, middle, h):
    """x_new and [L_new; P_new] of a tree whose transforms are those of the step's start.

    Args:
        wrench: `base_wrench`, about p, where the base's origin is at mid-step.
        middle: of the step, from its start on.
    """
    n0, n1, n2, f0, f1, f2 = wrench
    m, x, y, z = centre_of(t, d, base, last)
    g = links_momentum(t, d, t.tree_body[t.tree_of_body[base]], base, last, w.start_u, x, y, z)
    s = middle / m
    x, y, z = x + s * g[3], y + s * g[4], z + s * g[5]
    a, b, c = cross(p[0] - x, p[1] - y, p[2] - z, f0, f1, f2)
    g = plus(g, (h * (n0 + a), h * (n1 + b), h * (n2 + c), h * f0, h * f1, h * f2))
    s = (h - middle) / m
    return (x + s * g[3], y + s * g[4], z + s * g[5]), g


@kernel
def wanted_momentum(t, d, w, first, base, last, h):
    """x_new and [L_new; P_new] of a tree that floats, whose positions are those of mid-step; moves the tree.

    In lanes too.
    """
    begin, end = t.first_dof[first], t.first_dof[last]
    wrench = base_wrench(t, d, w, first, base, last)
    p = d.p[base, 0], d.p[base, 1], d.p[base, 2]
    for k in range(begin, end):
        w.middle_q[k] = d.q[k]
        d.u[k] = w.start_u[k]
    advance(t, d, first, last, -0.5 * h)
    place_anew(t, d, first, last)
    for k in range(begin, end):
        d.q[k] = w.middle_q[k]
    return momentum_at_end(t, d, w, base, last, wrench, p, 0.5 * h, h)


@kernel
def wanted_momentum_beside(t, d, w, first, base, last, h):
    """`wanted_momentum` in a step whose middle was moved: m P + (h - m) P_new is short of constant forces F by
    (m - h/2) h F."""
    begin, end = t.first_dof[first], t.first_dof[last]
    middle = w.row_origins.middle[0]
    wrench = base_wrench(t, d, w, first, base, last)
    p = d.p[base, 0], d.p[base, 1], d.p[base, 2]
    f0, f1, f2 = 0.0, 0.0, 0.0
    for j in range(t.first_dof[base] + 3, t.first_dof[base] + 6):
        f0 += w.constraint_force[j] * d.H[j, 3]
        f1 += w.constraint_force[j] * d.H[j, 4]
        f2 += w.constraint_force[j] * d.H[j, 5]
    for k in range(begin, end):
        w.middle_q[k], d.q[k] = d.q[k], w.given_q[k]
    place_anew(t, d, first, last)
    for k in range(begin, end):
        d.q[k] = w.middle_q[k]
    x, g = momentum_at_end(t, d, w, base, last, wrench, p, middle, h)
    m, _, _, _ = centre_of(t, d, base, last)
    s = (middle - 0.5 * h) * h / m
    return (x[0] + s * (wrench[3] - f0), x[1] + s * (wrench[4] - f1), x[2] + s * (wrench[5] - f2)), g


@kernel
def give_momentum(t, d, pr, first, base, last, x_new, g):
    """Put a tree that floats where x_new says, and give it the momentum g, at its new positions; in lanes too.

    The position correction, where it turns a tree, takes no momentum with it, and keeps the energy.
    """
    place_anew(t, d, first, last)
    _, x, y, z = centre_of(t, d, base, last)
    h = links_momentum(t, d, first, base, last, pr.u, x, y, z)
    corrected = 0.0
    for k in range(t.first_dof[first], t.first_dof[last]):
        corrected += larger(pr.u_position[k], -pr.u_position[k])
    n0 = where_positive(corrected, 0.0, g[0] - h[0])
    n1 = where_positive(corrected, 0.0, g[1] - h[1])
    n2 = where_positive(corrected, 0.0, g[2] - h[2])
    add_to_base(t, d, base, last, (n0, n1, n2, g[3] - h[3], g[4] - h[4], g[5] - h[5]), pr.u)
    k = t.first_dof[base]
    for j in range(k + 3, k + 6):
        way = d.H[j, 3] * (x_new[0] - x) + d.H[j, 4] * (x_new[1] - y) + d.H[j, 5] * (x_new[2] - z)
        d.q[j] += where_positive(corrected, 0.0, way)
