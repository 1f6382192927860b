"""Eight states side by side: where the spheres are, and whether they touch each other or the surroundings."""

from __future__ import annotations

from kido.jit import all_positive, callback, entry, inlined, kernel, lanes_view, view, where_positive
from kido.kernels.kinematics import body_pose
from kido.math.choices import either
from kido.planning.solids import box_gap, solid_gap
from kido.planning.tables import AXES_BOX, CHECK, CHECK_NUMBERS, NODE


@inlined
def place_sphere(c, link, n):
    """World centre of sphere n of a link."""
    d, o = c.data, c.robot.centre
    x, y, z = o[n, 0], o[n, 1], o[n, 2]
    R, p = d.R, d.p
    a = R[link, 0] * x + R[link, 1] * y + R[link, 2] * z + p[link, 0]
    b = R[link, 3] * x + R[link, 4] * y + R[link, 5] * z + p[link, 1]
    e = R[link, 6] * x + R[link, 7] * y + R[link, 8] * z + p[link, 2]
    c.centre[n, 0] = a
    c.centre[n, 1] = b
    c.centre[n, 2] = e
    return a, b, e


@inlined
def pending(c, gap):
    """Whether any lane that is not hit yet has a gap that is not positive."""
    return not all_positive(where_positive(c.hit[0], 1.0, gap))


@kernel
def touches(c, x, y, z, r, all_solids):
    """1 in lanes whose sphere touches a solid of the surroundings, else -1; without `all_solids`: the first solid."""
    s, h = c.scene, c.hit[0]
    found = 0.0 * x - 1.0
    m, end = 0, c.scene.kind.shape[0]
    while m < end:
        gap = where_positive(h, 1.0 + 0.0 * x, box_gap(s, m, x, y, z, r))
        if all_positive(gap):
            m = s.skip[m]
            continue
        kind = s.kind[m]
        if kind != NODE:
            if kind != AXES_BOX:
                gap = where_positive(h, 1.0 + 0.0 * x, solid_gap(s, m, x, y, z, r))
            if not all_positive(gap):
                found = where_positive(gap, found, 1.0 + 0.0 * x)
                c.met[0] = where_positive(gap, c.met[0], 1.0 * s.owner[m])
                if not all_solids:
                    return found
        m += 1
    return found


@kernel
def note(c, found, group, obstacle, other):
    """Lanes that are hit now, and by what those that were not before."""
    new = where_positive(c.hit[0], -1.0 + 0.0 * found, found)
    c.where[0] = where_positive(new, 1.0 * group, c.where[0])
    c.where[1] = where_positive(new, obstacle, c.where[1])
    c.where[2] = where_positive(new, 1.0 * other, c.where[2])
    c.hit[0] = either(c.hit[0], found)


@kernel
def check_surroundings(c, g, grown, every):
    """Whether group g touches the surroundings; its roots are placed."""
    b = c.robot
    link, n, end = b.link[g], b.first[g], b.first[g + 1]
    while n < end:
        x, y, z = place_sphere(c, link, n)
        leaf = b.skip[n] == n + 1
        found = touches(c, x, y, z, b.radius[n] + b.margin + grown, every and leaf)
        if all_positive(-found):
            n = b.skip[n]
            continue
        if leaf:
            note(c, found, g, c.met[0], -1)
            if not every:
                return 1
        n += 1
    return 0


@kernel
def sphere_gap(c, m, n, grown):
    """Positive where spheres m and n are apart."""
    b, o = c.robot, c.centre
    x, y, z = o[m, 0] - o[n, 0], o[m, 1] - o[n, 1], o[m, 2] - o[n, 2]
    r = b.radius[m] + b.radius[n] + b.self_margin + grown
    return x * x + y * y + z * z - r * r


@kernel
def place_group(c, g):
    """World centres of all spheres of a group."""
    b = c.robot
    if c.placed[g] == 0:
        for n in range(b.first[g], b.first[g + 1]):
            place_sphere(c, b.link[g], n)
        c.placed[g] = 1


@kernel
def check_pair(c, g, other, grown, every):
    """Whether two groups touch, whose roots do."""
    b = c.robot
    place_group(c, g)
    place_group(c, other)
    begin, end = b.first[other], b.first[other + 1]
    n = b.first[g]
    while n < b.first[g + 1]:
        if not pending(c, sphere_gap(c, n, begin, grown)):
            n = b.skip[n]
            continue
        if b.skip[n] == n + 1:
            m = begin
            while m < end:
                gap = sphere_gap(c, n, m, grown)
                if not pending(c, gap):
                    m = b.skip[m]
                    continue
                if b.skip[m] == m + 1:
                    note(c, where_positive(gap, -1.0, 1.0 + 0.0 * gap), g, 0.0 * gap - 1.0, other)
                    if not every:
                        return 1
                m += 1
        n += 1
    return 0


@kernel
def check_poses(c, every, certified):
    """Whether any of the eight states touches something; 1 in the lanes of `hit` that do if `every` is set.

    With `certified` the spheres are as much larger as they move on the lanes' share of an edge.
    """
    b, d = c.robot, c.data
    t = b.tree
    for k in range(b.place.shape[0]):
        body_pose(t, d, b.place[k])
    c.hit[0] = -1.0
    zero = 0.0 * d.q[0]
    h = c.half[0] if certified != 0 else zero
    for k in range(b.order.shape[0]):
        g = b.order[k]
        c.placed[g] = 0
        if check_surroundings(c, g, h * c.grow[g], every != 0) != 0:
            return 1
    for k in range(b.pair.shape[0]):
        g, other = b.pair[k, 0], b.pair[k, 1]
        grown = h * c.pair_grow[k]
        if pending(c, sphere_gap(c, b.first[g], b.first[other], grown)):
            if check_pair(c, g, other, grown, every != 0) != 0:
                return 1
    return 0 if all_positive(-c.hit[0]) else 1


@callback
def check_eight(check, every, certified, unused):
    """`check_poses`, as a stage."""
    return check_poses(lanes_view(CHECK, check), every, certified)


@entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def check_states(check, numbers, Q, out):
    """Check states Q (n, columns); `out` (n, 4): whether it is hit, and by what."""
    c, n = lanes_view(CHECK, check), view(CHECK_NUMBERS, numbers)
    column, lanes = c.robot.column, n.hit.shape[0]
    for first in range(0, Q.shape[0], lanes):
        for lane in range(lanes):
            row = min(first + lane, Q.shape[0] - 1)
            for k in range(column.shape[0]):
                n.q[column[k] * lanes + lane] = Q[row, k]
        c.run(c, 1, 0)
        for lane in range(lanes):
            row = first + lane
            if row < Q.shape[0]:
                out[row, 0] = n.hit[lane]
                for i in range(3):
                    out[row, 1 + i] = n.where[i * lanes + lane]
    return 0


@entry("i8(i8)")
def place_all(check):
    """Poses of all links and centres of all spheres, for those that the planned coordinates do not move."""
    c = lanes_view(CHECK, check)
    b, d = c.robot, c.data
    for i in range(b.tree.parent.shape[0]):
        body_pose(b.tree, d, i)
    for g in range(b.link.shape[0]):
        c.placed[g] = 0
        place_group(c, g)
    return 0
