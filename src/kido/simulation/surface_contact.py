"""Contacts on surfaces of flexible bodies: where these are as they are deformed, and what modes do to rows.

A vertex of a surface is at x(eta) in the axes of its body, which is that of `kido.flexible.schema.FLEX_SURFACES`. A
contact lies on a triangle, at the sum of its corners by barycentric coordinates l, and so its material moves by

    v = v_rigid + sum over modes of etadot_m R c_m,    c_m = sum over corners of l_i dx_i / d eta_m

Rows of contacts are made on the body as if it were rigid, and modes added: n . R c_m to J, and to Y as much of what an
impulse on the mode does to the tree. Momentum is kept by that as of rigid bodies, whatever the modes.
"""

from __future__ import annotations

import math

from kido.collision.narrow import detect
from kido.collision.pairs.skin import weights
from kido.constraints.soft_contact import direction
from kido.jit import callback, kernel, view
from kido.joints.frames import rotation_of
from kido.math.so3 import rotate, rotate_inverse
from kido.simulation.flexible_step import answer_row
from kido.simulation.world_struct import WORLD

NEAR = 1e-3  # share of a patch's size within which contacts of two patches are one
ALIKE = 0.9999  # cosine of the angle of their normals

# Where they are ----------------------------------------------------------------------------------------------


@kernel
def bent(f, s, u, v, m, values):
    """Sum over modes n of d2x / d eta_m d eta_n times values, of vertex v of surface u, body axes."""
    x, y, z = 0.0, 0.0, 0.0
    if s.first_pair[u] >= 0:
        m0, number = f.first_mode[s.flex[u]], f.number[s.flex[u]]
        row = s.first_pair[u] + ((v - s.first_vertex[u]) * number + m) * number
        for n in range(number):
            e = values[m0 + n]
            x += s.bend[row + n, 0] * e
            y += s.bend[row + n, 1] * e
            z += s.bend[row + n, 2] * e
    return x, y, z


@kernel
def place_vertices(d, f, s, u):
    """Where the vertices of surface u are, body axes."""
    m0, number = f.first_mode[s.flex[u]], f.number[s.flex[u]]
    for v in range(s.first_vertex[u], s.first_vertex[u + 1]):
        column = s.first_column[u] + (v - s.first_vertex[u]) * number
        x, y, z = s.place[v, 0], s.place[v, 1], s.place[v, 2]
        for m in range(number):
            e = d.q[m0 + m]
            g0, g1, g2 = bent(f, s, u, v, m, d.q)
            x += e * (s.shift[column + m, 0] + 0.5 * g0)
            y += e * (s.shift[column + m, 1] + 0.5 * g1)
            z += e * (s.shift[column + m, 2] + 0.5 * g2)
        s.at[v, 0], s.at[v, 1], s.at[v, 2] = x, y, z


@kernel
def bound_nodes(c, k):
    """Boxes of the tree of compound k about its triangles, as these are now."""
    box, first, end = c.node_box, c.compound_node[k], c.compound_node[k + 1]
    for at in range(end - 1, first - 1, -1):  # children come after their parents
        for i in range(3):
            low, high = 1e300, -1e300
            for part in range(c.node_part[at, 0], c.node_part[at, 0] + c.node_part[at, 1]):
                for corner in range(3):
                    x = c.hull_vertex[c.triangle[c.part[part], corner], i]
                    low, high = min(low, x), max(high, x)
            child = at + 1
            while child < c.node_next[at]:
                low, high = min(low, box[child, i]), max(high, box[child, 3 + i])
                child = c.node_next[child]
            box[at, i], box[at, 3 + i] = low, high


@kernel
def place_patch(c, s, p):
    """Hand patch p to the detector, about the mean of its corners."""
    shape, first = s.shape[p], s.first[p]
    corners, count = s.corners[p], s.first[p + 1] - s.first[p]
    for i in range(3):
        middle = 0.0
        for k in range(corners):
            middle += s.at[s.vertex[first + k], i]
        middle /= corners
        half = s.depth[p]
        for k in range(count):
            x = s.at[s.vertex[first + k], i] - middle
            c.hull_vertex[s.hull[p] + k, i] = x
            if k < corners:
                half = max(half, math.fabs(x))
        c.local_position[shape, i] = middle
        c.shape_size[shape, i] = half
    bound_nodes(c, c.shape_compound[shape])


@kernel
def place_surfaces(d, f, c, s):
    """Hand all surfaces to the detector as they are deformed; answers of their modes are to be made anew."""
    for u in range(s.flex.shape[0]):
        s.answered[u] = 0
        place_vertices(d, f, s, u)
    for p in range(s.shape.shape[0]):
        place_patch(c, s, p)


@kernel
def surface_of(s, shape):
    """What a shape of the detector is part of: a surface, or itself, below 0."""
    p = s.patch_of[shape]
    return s.surface[p] if p >= 0 else -1 - shape


@kernel
def is_double(c, s, k, end):
    """Whether contact k is one of those before `end` again, found by a neighbouring patch of the same surface."""
    p, n = c.point, c.normal
    a, b = surface_of(s, c.shape_a[k]), surface_of(s, c.shape_b[k])
    near = NEAR * min(c.shape_reach[c.shape_a[k]], c.shape_reach[c.shape_b[k]])
    for i in range(end):
        x, y, z = p[i, 0] - p[k, 0], p[i, 1] - p[k, 1], p[i, 2] - p[k, 2]
        if x * x + y * y + z * z < near * near:
            along = n[i, 0] * n[k, 0] + n[i, 1] * n[k, 1] + n[i, 2] * n[k, 2]
            if along > ALIKE and surface_of(s, c.shape_a[i]) == a and surface_of(s, c.shape_b[i]) == b:
                return True
    return False


@kernel
def move_contact(c, k, to):
    """Write contact k over another."""
    c.shape_a[to], c.shape_b[to], c.body_a[to], c.body_b[to] = c.shape_a[k], c.shape_b[k], c.body_a[k], c.body_b[k]
    c.gap[to], c.key[to], c.friction[to], c.restitution[to] = c.gap[k], c.key[k], c.friction[k], c.restitution[k]
    c.matched[to], c.same_feature[to], c.turning[to] = c.matched[k], c.same_feature[k], c.turning[k]
    c.swept[to] = c.swept[k]
    for i in range(3):
        c.point[to, i], c.normal[to, i], c.local_a[to, i] = c.point[k, i], c.normal[k, i], c.local_a[k, i]
        c.impulse[to, i], c.torque[to, i], c.local_b[to, i] = c.impulse[k, i], c.torque[k, i], c.local_b[k, i]


@kernel
def merge_contacts(c, s):
    """Leave one of the contacts that several patches have at one place, the first one."""
    kept = 0
    for p in range(c.num_pairs):
        begin, first = kept, c.pair_first[p]
        of_patch = s.patch_of[c.pair_a[p]] >= 0 or s.patch_of[c.pair_b[p]] >= 0
        for k in range(first, first + c.pair_count[p]):
            if not (of_patch and is_double(c, s, k, begin)):
                if kept != k:
                    move_contact(c, k, kept)
                kept += 1
        c.pair_first[p], c.pair_count[p] = begin, kept - begin
    c.num_contacts = kept


@callback
def detect_surfaces_stage(address, unused_1, unused_2, unused_3):
    """Contacts at the mid-step poses, surfaces as they are deformed. Returns the detector's status."""
    w = view(WORLD, address)
    place_surfaces(w.data, w.flex, w.collision, w.flex_surfaces)
    status = detect(w.collision.address)
    if status == 0:
        merge_contacts(w.collision, w.flex_surfaces)
    return status


# What modes do to rows ---------------------------------------------------------------------------------------


@kernel
def foot(c, s, p, x, y, z):
    """The point of patch p nearest to one in its shape's axes: three of its corners, by number, and their weights."""
    compound = c.shape_compound[s.shape[p]]
    best = 1e300
    i0, i1, i2, l0, l1, l2 = 0, 0, 0, 1.0, 0.0, 0.0
    vertex = c.hull_vertex
    for at in range(c.compound_node[compound], c.compound_node[compound + 1]):
        for part in range(c.node_part[at, 0], c.node_part[at, 0] + c.node_part[at, 1]):
            row = c.part[part]
            a, b, e = c.triangle[row, 0], c.triangle[row, 1], c.triangle[row, 2]
            f = vertex[b, 0] - vertex[a, 0], vertex[b, 1] - vertex[a, 1], vertex[b, 2] - vertex[a, 2]
            g = vertex[e, 0] - vertex[a, 0], vertex[e, 1] - vertex[a, 1], vertex[e, 2] - vertex[a, 2]
            p0, p1, p2 = x - vertex[a, 0], y - vertex[a, 1], z - vertex[a, 2]
            q, r = weights(f, g, p0, p1, p2)
            q = min(max(q, 0.0), 1.0)
            r = min(max(r, 0.0), 1.0 - q)
            p0, p1, p2 = p0 - q * f[0] - r * g[0], p1 - q * f[1] - r * g[1], p2 - q * f[2] - r * g[2]
            square = p0 * p0 + p1 * p1 + p2 * p2
            if square < best:
                best = square
                i0, i1, i2, l0, l1, l2 = a, b, e, 1.0 - q - r, q, r
    shift = s.first[p] - s.hull[p]
    return s.vertex[shift + i0], s.vertex[shift + i1], s.vertex[shift + i2], l0, l1, l2


@kernel
def answer_modes(t, d, f, s, u):
    """What unit impulses on the modes of surface u do to its tree, once in a step."""
    if s.answered[u] != 0:
        return
    s.answered[u] = 1
    c = s.flex[u]
    tree_index = t.tree_of_body[s.link[u]]
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    for m in range(f.number[c]):
        for k in range(begin, end):
            f.impulse[k] = 1.0 if k == f.first_mode[c] + m else 0.0
        answer_row(t, d, f, tree_index, s.answer, s.first_answer[u] + m * (end - begin))


@kernel
def weighed(a, b, e, l0, l1, l2):
    """Sum of three vectors by weights."""
    return (
        l0 * a[0] + l1 * b[0] + l2 * e[0],
        l0 * a[1] + l1 * b[1] + l2 * e[1],
        l0 * a[2] + l1 * b[2] + l2 * e[2],
    )


@kernel
def shift_of(f, s, u, v, m):
    """Row of `shift` of vertex v and mode m of surface u."""
    row = s.first_column[u] + (v - s.first_vertex[u]) * f.number[s.flex[u]] + m
    return s.shift[row, 0], s.shift[row, 1], s.shift[row, 2]


@kernel
def deform_rows(t, d, f, s, w, p, k, block, side):
    """Add what modes do to contact k's rows on patch p, and note how they move its material."""
    c = w.collision
    pr = w.problem
    src = w.row_origins
    u = s.surface[p]
    link, flex = s.link[u], s.flex[u]
    R = rotation_of(d, link)
    shape = s.shape[p]
    x, y, z = rotate_inverse(
        R, c.point[k, 0] - d.p[link, 0], c.point[k, 1] - d.p[link, 1], c.point[k, 2] - d.p[link, 2]
    )
    o = c.local_position
    a, b, e, l0, l1, l2 = foot(c, s, p, x - o[shape, 0], y - o[shape, 1], z - o[shape, 2])
    answer_modes(t, d, f, s, u)
    dof, length, at = pr.dof_a[block], pr.len_a[block], pr.at_a[block]
    if side == 1 and pr.len_b[block] > 0:
        dof, length, at = pr.dof_b[block], pr.len_b[block], pr.at_b[block]
    sign = -1.0 if side == 0 else 1.0
    v0, v1, v2, a0, a1, a2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(f.number[flex]):
        mode = f.first_mode[flex] + m
        h = weighed(shift_of(f, s, u, a, m), shift_of(f, s, u, b, m), shift_of(f, s, u, e, m), l0, l1, l2)
        g = weighed(bent(f, s, u, a, m, d.q), bent(f, s, u, b, m, d.q), bent(f, s, u, e, m, d.q), l0, l1, l2)
        x, y, z = rotate(R, h[0] + g[0], h[1] + g[1], h[2] + g[2])
        q = w.start_u
        g = weighed(bent(f, s, u, a, m, q), bent(f, s, u, b, m, q), bent(f, s, u, e, m, q), l0, l1, l2)
        v0, v1, v2 = v0 + q[mode] * x, v1 + q[mode] * y, v2 + q[mode] * z
        a0, a1, a2 = a0 + q[mode] * g[0], a1 + q[mode] * g[1], a2 + q[mode] * g[2]
        answer = s.first_answer[u] + m * length
        for r in range(3):
            n0, n1, n2 = direction(c, src, block, k, r)
            moved = sign * (n0 * x + n1 * y + n2 * z)
            row = at + r * length
            pr.J[row + mode - dof] += moved
            for j in range(length):
                pr.Y[row + j] += moved * s.answer[answer + j]
    a0, a1, a2 = rotate(R, a0, a1, a2)
    to = src.material
    first = 6 * side
    to[block, first], to[block, first + 1], to[block, first + 2] = v0, v1, v2
    to[block, first + 3], to[block, first + 4], to[block, first + 5] = a0, a1, a2


@callback
def deform_contact(address, k, block, unused):
    """Add what modes do to the rows of contact k, for RESPONSES.deform. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    c = w.collision
    s = w.flex_surfaces
    for side in range(2):
        for i in range(6 * side, 6 * side + 6):
            w.row_origins.material[block, i] = 0.0
        p = s.patch_of[c.shape_a[k] if side == 0 else c.shape_b[k]]
        if p >= 0 and t.moves[s.link[s.surface[p]]] != 0:
            deform_rows(t, w.data, w.flex, s, w, p, k, block, side)
    return 0
