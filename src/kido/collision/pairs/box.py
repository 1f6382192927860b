"""Two boxes: separating axes, then face clipping or the nearest points of two edges.

The axis of least overlap (or largest separation) among 6 face normals and 9 edge crosses is the normal
(Gottschalk, Lin and Manocha, OBBTree, 1996). With a face normal, the other box's most opposed face is clipped
to the face's rectangle; each remaining corner is a contact. An edge cross gives one contact. Separated boxes
whose nearest features are edges or corners are resolved exactly by the nearest of their edges.
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION
from kido.collision.manifold import add_point, clip, set_normal
from kido.collision.pairs.capsule import nearest_on_segments
from kido.jit import callback, kernel, view

ALIGNED = 0.995  # an edge cross within this cosine of a face normal gives way to the face
AGREE = 0.01  # relative difference of depths within which a face contact stands for the nearest points
TIE = 1e-6  # relative difference of depths below which faces go before edges, and A before B
PARALLEL_EDGES = 1e-6  # squared sine of the angle between edges that are taken as parallel

# Places in the scratch numbers: rotation of B in A, position of B in A, half edges of A and of B.
ROT, POS, HALF_A, HALF_B = 0, 9, 12, 15
NO_AXIS = -1e300


@kernel
def relative_pose(c, a, b):
    """Writes the pose of box b in the axes of box a, and the half edges of both, to the scratch numbers."""
    position, rotation, number = c.position, c.rotation, c.number
    shape_size = c.shape_size
    x = position[b, 0] - position[a, 0]
    y = position[b, 1] - position[a, 1]
    z = position[b, 2] - position[a, 2]
    for i in range(3):
        r0, r1, r2 = rotation[a, i], rotation[a, 3 + i], rotation[a, 6 + i]
        for j in range(3):
            number[ROT + 3 * i + j] = r0 * rotation[b, j] + r1 * rotation[b, 3 + j] + r2 * rotation[b, 6 + j]
        number[POS + i] = r0 * x + r1 * y + r2 * z
        number[HALF_A + i] = shape_size[a, i]
        number[HALF_B + i] = shape_size[b, i]
    return 0


@kernel
def face_axes(c, stop):
    """Separation along the best face normal of A and of B.

    Returns: separation and axis of A, separation and axis of B; leaves early if one exceeds `stop`.
    """
    number = c.number
    best_a, axis_a, best_b, axis_b = NO_AXIS, 0, NO_AXIS, 0
    for i in range(3):
        reach = (
            number[HALF_B] * math.fabs(number[ROT + 3 * i])
            + number[HALF_B + 1] * math.fabs(number[ROT + 3 * i + 1])
            + number[HALF_B + 2] * math.fabs(number[ROT + 3 * i + 2])
        )
        s = math.fabs(number[POS + i]) - number[HALF_A + i] - reach
        if s > best_a:
            best_a, axis_a = s, i
    if best_a > stop:
        return best_a, axis_a, best_b, axis_b
    for j in range(3):
        r0, r1, r2 = number[ROT + j], number[ROT + 3 + j], number[ROT + 6 + j]
        reach = number[HALF_A] * math.fabs(r0) + number[HALF_A + 1] * math.fabs(r1) + number[HALF_A + 2] * math.fabs(r2)
        along = number[POS] * r0 + number[POS + 1] * r1 + number[POS + 2] * r2
        s = math.fabs(along) - number[HALF_B + j] - reach
        if s > best_b:
            best_b, axis_b = s, j
    return best_a, axis_a, best_b, axis_b


@kernel
def edge_axis(c, i, j):
    """Separation along the cross of edge direction i of A and j of B, and the cross's components along the
    two axes of A after i; (NO_AXIS, 0, 0) if the edges are parallel."""
    number = c.number
    i1 = i + 1 if i < 2 else 0
    i2 = 3 - i - i1
    j1 = j + 1 if j < 2 else 0
    j2 = 3 - j - j1
    u, v = number[ROT + 3 * i1 + j], number[ROT + 3 * i2 + j]
    square = u * u + v * v
    if square < PARALLEL_EDGES:
        return NO_AXIS, 0.0, 0.0
    reach = (
        number[HALF_A + i1] * math.fabs(v)
        + number[HALF_A + i2] * math.fabs(u)
        + number[HALF_B + j1] * math.fabs(number[ROT + 3 * i + j2])
        + number[HALF_B + j2] * math.fabs(number[ROT + 3 * i + j1])
    )
    along = number[POS + i2] * u - number[POS + i1] * v
    scale = 1.0 / math.sqrt(square)
    if along < 0.0:
        scale = -scale
    return (math.fabs(along) - reach) * math.fabs(scale), -v * scale, u * scale


@kernel
def best_edge_axis(c, stop, axis_a, axis_b):
    """The best edge cross: separation, i, j, its direction in the axes of A, and whether it is aligned with
    the face normals axis_a or axis_b."""
    number = c.number
    best, best_i, best_j = NO_AXIS, 0, 0
    n0 = n1 = n2 = 0.0
    for i in range(3):
        for j in range(3):
            s, u, v = edge_axis(c, i, j)
            if s > best:
                best, best_i, best_j = s, i, j
                if i == 0:
                    n0, n1, n2 = 0.0, u, v
                elif i == 1:
                    n0, n1, n2 = v, 0.0, u
                else:
                    n0, n1, n2 = u, v, 0.0
                if best > stop:
                    return best, i, j, n0, n1, n2, 0
    in_b = n0 * number[ROT + axis_b] + n1 * number[ROT + 3 + axis_b] + n2 * number[ROT + 6 + axis_b]
    in_a = n0 if axis_a == 0 else (n1 if axis_a == 1 else n2)
    aligned = 0
    if math.fabs(in_a) > ALIGNED or math.fabs(in_b) > ALIGNED:
        aligned = 1
    return best, best_i, best_j, n0, n1, n2, aligned


@kernel
def clip_faces(c, a, b, axis, flip):
    """Contacts on face `axis` of box `a`, whose relative pose to `b` is in the scratch numbers; with `flip`
    the scratch is that of (b, a), the reference box being the second. Returns their number."""
    number, poly, poly_key = c.number, c.poly, c.poly_key
    rotation, position = c.rotation, c.position
    k, k1 = axis, axis + 1 if axis < 2 else 0
    k2 = 3 - k - k1
    own, other = (HALF_B, HALF_A) if flip else (HALF_A, HALF_B)
    # Row of the other's axes along ours, and its centre: transposed and inverted if flipped.
    step, row = (3, 1) if flip else (1, 3)
    x = y = z = 0.0
    if flip:
        for i in range(3):
            p = number[POS + i]
            x -= number[ROT + 3 * i + k] * p
            y -= number[ROT + 3 * i + k1] * p
            z -= number[ROT + 3 * i + k2] * p
    else:
        x, y, z = number[POS + k], number[POS + k1], number[POS + k2]
    sign = 1.0 if x >= 0.0 else -1.0
    face, steep = 0, -1.0
    for m in range(3):
        s = math.fabs(number[ROT + row * k + step * m])
        if s > steep:
            face, steep = m, s
    m1 = face + 1 if face < 2 else 0
    m2 = 3 - face - m1
    h = number[other + face]
    code = 2 * face
    if sign * number[ROT + row * k + step * face] > 0.0:
        h = -h
        code += 1
    base = ROT + step * face
    cx, cy, cz = (
        x + h * number[base + row * k],
        y + h * number[base + row * k1],
        z + h * number[base + row * k2],
    )
    base = ROT + step * m1
    h = number[other + m1]
    ux, uy, uz = h * number[base + row * k], h * number[base + row * k1], h * number[base + row * k2]
    base = ROT + step * m2
    h = number[other + m2]
    vx, vy, vz = h * number[base + row * k], h * number[base + row * k1], h * number[base + row * k2]
    h = number[own + k]
    for corner in range(4):
        s = -1.0 if corner == 0 or corner == 3 else 1.0
        t = -1.0 if corner < 2 else 1.0
        poly[0, corner, 0] = cy + s * uy + t * vy
        poly[0, corner, 1] = cz + s * uz + t * vz
        poly[0, corner, 2] = sign * (cx + s * ux + t * vx) - h
        poly_key[0, corner] = corner + 1
    h1, h2 = number[own + k1], number[own + k2]
    slack = 1e-9 * (h1 + h2)
    count, at = clip(c, 0, 4, 1.0, 0.0, h1, 0, slack)
    count, at = clip(c, at, count, -1.0, 0.0, h1, 1, slack)
    count, at = clip(c, at, count, 0.0, 1.0, h2, 2, slack)
    count, at = clip(c, at, count, 0.0, -1.0, h2, 3, slack)
    if count == 0:
        return 0
    n0, n1, n2 = sign * rotation[a, k], sign * rotation[a, 3 + k], sign * rotation[a, 6 + k]
    if flip:
        set_normal(c, -n0, -n1, -n2)
    else:
        set_normal(c, n0, n1, n2)
    prefix = ((2 * k + (sign > 0.0)) * 8 + code) * 2 + (1 if flip else 0)
    made = 0
    near = 1e-12 * (h1 + h2) * (h1 + h2)
    last_u = last_v = 1e300
    for p in range(count):
        u, v, gap = poly[at, p, 0], poly[at, p, 1], poly[at, p, 2]
        apart = (u - last_u) * (u - last_u) + (v - last_v) * (v - last_v)
        if gap < c.margin and apart > near:
            w = sign * (number[own + k] + 0.5 * gap)
            made = add_point(
                c,
                made,
                position[a, 0] + rotation[a, k] * w + rotation[a, k1] * u + rotation[a, k2] * v,
                position[a, 1] + rotation[a, 3 + k] * w + rotation[a, 3 + k1] * u + rotation[a, 3 + k2] * v,
                position[a, 2] + rotation[a, 6 + k] * w + rotation[a, 6 + k1] * u + rotation[a, 6 + k2] * v,
                gap,
                prefix * 4294967296 + poly_key[at, p],
            )
            last_u, last_v = u, v
    return made


@kernel
def edge_points(c, a, b, i, sa1, sa2, j, sb1, sb2):
    """Nearest points of edge i of a (on the sides sa1, sa2 of the axes after i) and edge j of b, in the axes
    of a, with their squared distance."""
    number = c.number
    i1 = i + 1 if i < 2 else 0
    i2 = 3 - i - i1
    j1 = j + 1 if j < 2 else 0
    j2 = 3 - j - j1
    # In A's axes, cyclically renamed so that edge i runs along the first.
    ha = number[HALF_A + i]
    p1, p2 = sa1 * number[HALF_A + i1], sa2 * number[HALF_A + i2]
    hb, b1, b2 = number[HALF_B + j], sb1 * number[HALF_B + j1], sb2 * number[HALF_B + j2]
    q0 = number[POS + i] + b1 * number[ROT + 3 * i + j1] + b2 * number[ROT + 3 * i + j2]
    q1 = number[POS + i1] + b1 * number[ROT + 3 * i1 + j1] + b2 * number[ROT + 3 * i1 + j2]
    q2 = number[POS + i2] + b1 * number[ROT + 3 * i2 + j1] + b2 * number[ROT + 3 * i2 + j2]
    e0, e1, e2 = number[ROT + 3 * i + j], number[ROT + 3 * i1 + j], number[ROT + 3 * i2 + j]
    s, t = nearest_on_segments(1.0, 0.0, 0.0, ha, e0, e1, e2, hb, q0, q1 - p1, q2 - p2)
    d0, d1, d2 = q0 + t * e0 - s, q1 + t * e1 - p1, q2 + t * e2 - p2
    return s, t, d0 * d0 + d1 * d1 + d2 * d2


@kernel
def add_edges(c, a, b, i, sa1, sa2, j, sb1, sb2, n0, n1, n2, keep_normal):
    """The contact of two edges, along n (axes of a), or if keep_normal == 0 between their nearest points."""
    rotation, shape_size, position = c.rotation, c.shape_size, c.position
    number = c.number
    i1 = i + 1 if i < 2 else 0
    i2 = 3 - i - i1
    j1 = j + 1 if j < 2 else 0
    j2 = 3 - j - j1
    s, t, _ = edge_points(c, a, b, i, sa1, sa2, j, sb1, sb2)
    if keep_normal:
        n0, n1, n2 = (
            rotation[a, 0] * n0 + rotation[a, 1] * n1 + rotation[a, 2] * n2,
            rotation[a, 3] * n0 + rotation[a, 4] * n1 + rotation[a, 5] * n2,
            rotation[a, 6] * n0 + rotation[a, 7] * n1 + rotation[a, 8] * n2,
        )
    pa1, pa2 = sa1 * shape_size[a, i1], sa2 * shape_size[a, i2]
    pb1, pb2 = sb1 * shape_size[b, j1], sb2 * shape_size[b, j2]
    gap = length2 = 0.0
    for k in range(3):
        p = position[a, k] + s * rotation[a, 3 * k + i] + pa1 * rotation[a, 3 * k + i1] + pa2 * rotation[a, 3 * k + i2]
        q = position[b, k] + t * rotation[b, 3 * k + j] + pb1 * rotation[b, 3 * k + j1] + pb2 * rotation[b, 3 * k + j2]
        number[18 + k] = 0.5 * (p + q)
        number[21 + k] = q - p
        length2 += (q - p) * (q - p)
    if keep_normal:
        gap = n0 * number[21] + n1 * number[22] + n2 * number[23]
    else:
        gap = math.sqrt(length2)
        if gap < 1e-12:
            return 0
        n0, n1, n2 = number[21] / gap, number[22] / gap, number[23] / gap
    if gap >= c.margin:
        return 0
    set_normal(c, n0, n1, n2)
    return add_point(c, 0, number[18], number[19], number[20], gap, 10 + 3 * i + j)


@kernel
def edge_contact(c, a, b, i, j, n0, n1, n2):
    """The contact of the two edges i, j that support the normal n (axes of a, from a to b)."""
    number = c.number
    i1 = i + 1 if i < 2 else 0
    j1 = j + 1 if j < 2 else 0
    j2 = 3 - j - j1
    m1 = n0 * number[ROT + j1] + n1 * number[ROT + 3 + j1] + n2 * number[ROT + 6 + j1]
    m2 = n0 * number[ROT + j2] + n1 * number[ROT + 3 + j2] + n2 * number[ROT + 6 + j2]
    u = n0 if i1 == 0 else (n1 if i1 == 1 else n2)
    i2 = 3 - i - i1
    v = n0 if i2 == 0 else (n1 if i2 == 1 else n2)
    return add_edges(
        c,
        a,
        b,
        i,
        1.0 if u > 0.0 else -1.0,
        1.0 if v > 0.0 else -1.0,
        j,
        -1.0 if m1 > 0.0 else 1.0,
        -1.0 if m2 > 0.0 else 1.0,
        n0,
        n1,
        n2,
        1,
    )


@kernel
def nearest_edges(c, a, b, limit):
    """The contact of the nearest of the 144 pairs of edges of two separated boxes, if within the limit."""
    if limit <= 0.0:
        return 0
    best = 1e300
    found_i = found_j = 0
    for e in range(12):
        i, sa1, sa2 = e % 3, 1.0 - 2.0 * ((e // 3) % 2), 1.0 - 2.0 * (e // 6)
        for f in range(12):
            j, sb1, sb2 = f % 3, 1.0 - 2.0 * ((f // 3) % 2), 1.0 - 2.0 * (f // 6)
            _, _, d2 = edge_points(c, a, b, i, sa1, sa2, j, sb1, sb2)
            if d2 < best:
                best, found_i, found_j = d2, e, f
    if best >= limit * limit:
        return 0
    e, f = found_i, found_j
    return add_edges(
        c,
        a,
        b,
        e % 3,
        1.0 - 2.0 * ((e // 3) % 2),
        1.0 - 2.0 * (e // 6),
        f % 3,
        1.0 - 2.0 * ((f // 3) % 2),
        1.0 - 2.0 * (f // 6),
        0.0,
        0.0,
        0.0,
        0,
    )


@callback
def box_box(address, a, b, pair):
    """Up to eight points of a face contact, or one of an edge contact."""
    c = view(COLLISION, address)

    relative_pose(c, a, b)
    stop = c.margin
    sep_a, axis_a, sep_b, axis_b = face_axes(c, stop)
    if sep_a > stop or sep_b > stop:
        return 0
    edge, i, j, n0, n1, n2, aligned = best_edge_axis(c, stop, axis_a, axis_b)
    if edge > stop:
        return 0
    size = c.shape_reach[a] + c.shape_reach[b]
    tie = TIE * size
    face = max(sep_a, sep_b)
    on_edges = edge > face + tie
    if on_edges and aligned == 0:
        if edge <= 0.0:
            return edge_contact(c, a, b, i, j, n0, n1, n2)
        return nearest_edges(c, a, b, stop)
    if sep_b > sep_a + tie:
        count = clip_faces(c, b, a, axis_b, True)
    else:
        count = clip_faces(c, a, b, axis_a, False)
    gap = stop
    for k in range(count):
        gap = min(gap, c.work_gap[k])
    best = max(face, edge)
    if math.fabs(gap - best) <= AGREE * math.fabs(best) + 10.0 * tie:
        return count
    # The faces do not hold the nearest points.
    if best > 0.0:
        found = nearest_edges(c, a, b, (1.0 - AGREE) * gap - tie)
        return found if found > 0 else count
    if on_edges:
        return edge_contact(c, a, b, i, j, n0, n1, n2)
    if count > 0:
        return count
    if sep_b > sep_a + tie:
        return clip_faces(c, a, b, axis_a, False)
    return clip_faces(c, b, a, axis_b, True)
