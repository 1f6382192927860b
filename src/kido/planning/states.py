"""Eight states side by side: where the spheres are, and whether they touch each other or the surroundings."""

from __future__ import annotations

from kido.jit import all_positive, callback, entry, inlined, kernel, lanes_view, view, where_positive
from kido.kernels.kinematics import body_pose
from kido.math.choices import either, larger
from kido.planning.solids import box_gap, solid_gap
from kido.planning.tables import AXES_BOX, CHECK, CHECK_NUMBERS, NODE

SAMPLED, CERTIFIED = range(2)
FIXED = 2**62  # of centres that no planned coordinate moves


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
def settled(c, need, first, second):
    """`gap` of two things whose spheres touch, as their shapes have it."""
    c.need[0] = need
    c.settle(c.exact, first, second, c.stamp)
    return c.gap[0]


@kernel
def next_touch(c, m, x, y, z, r):
    """The first solid from node m on that spheres touch in lanes not hit yet, their `gap`; behind the last: none."""
    s, h = c.scene, c.hit[0]
    end = s.kind.shape[0]
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
                c.gap[0] = gap
                return m
        m += 1
    return end


@kernel
def note(c, gap, sphere, obstacle, other):
    """Lanes that are hit now, where a gap is not positive, and by what those that were not before."""
    found = where_positive(gap, 0.0 * gap - 1.0, 1.0 + 0.0 * gap)
    new = where_positive(c.hit[0], -1.0 + 0.0 * found, found)
    c.where[0] = where_positive(new, 1.0 * sphere, c.where[0])
    c.where[1] = where_positive(new, 1.0 * obstacle, c.where[1])
    c.where[2] = where_positive(new, 1.0 * other, c.where[2])
    c.hit[0] = either(c.hit[0], found)


@inlined
def sphere_centre(c, link, n):
    """World centre of sphere n of a link, computed once for a check."""
    if c.current[n] < c.stamp:
        c.current[n] = c.stamp
        return place_sphere(c, link, n)
    o = c.centre
    return o[n, 0], o[n, 1], o[n, 2]


@kernel
def gather(c, x, y, z, r):
    """Have `solid` hold what spheres touch in lanes not hit yet; returns how many, -1: more than there is room for."""
    s, count = c.scene, 0
    m = next_touch(c, 0, x, y, z, r)
    while m < s.kind.shape[0]:
        if count == c.solid.shape[0]:
            return -1
        c.solid[count] = m
        count += 1
        m = next_touch(c, m + 1, x, y, z, r)
    return count


@kernel
def next_gathered(c, i, count, x, y, z, r):
    """The place from i on of a gathered solid that spheres touch in lanes not hit yet, their `gap`; `count`: none."""
    s, h = c.scene, c.hit[0]
    while i < count:
        m = c.solid[i]
        gap = where_positive(h, 1.0 + 0.0 * x, box_gap(s, m, x, y, z, r))
        if not all_positive(gap):
            if s.kind[m] != AXES_BOX:
                gap = where_positive(h, 1.0 + 0.0 * x, solid_gap(s, m, x, y, z, r))
            if not all_positive(gap):
                c.gap[0] = gap
                return i
        i += 1
    return i


@kernel
def reached(c, link, root, n, m, gap, away):
    """`gap` of sphere n and solid m, positive also in lanes where a sphere above n is clear of the solid.

    A sphere covers what its children cover, which may stand out of it; so one lane has others look at children of what
    they are clear of.
    """
    b, s, k = c.robot, c.scene, root
    while k != n and not all_positive(gap):
        x, y, z = sphere_centre(c, link, k)
        one = box_gap(s, m, x, y, z, b.radius[k] + away)
        if s.kind[m] != AXES_BOX:
            one = where_positive(one, one, solid_gap(s, m, x, y, z, b.radius[k] + away))
        gap = where_positive(gap, gap, one)
        k = below(b, k, n)
    return gap


@inlined
def below(b, k, n):
    """The child of sphere k that sphere n is, or that is above it."""
    return k + 1 if n < b.skip[k + 1] else b.skip[k + 1]


@kernel
def touches(c, g, n, m, away, every):
    """Whether a finest sphere n of group g that touches solid m ends the check; shapes decide whether it is a hit."""
    b, s, gap = c.robot, c.scene, c.gap[0]
    if b.exact[n] * s.exact[m] == 0:
        gap = settled(c, away, b.thing[n], b.things + s.owner[m])
        if c.by_spheres != 0:
            gap = reached(c, b.link[g], b.first[g], n, m, gap, away)
    if all_positive(gap):
        return False
    note(c, gap, n, s.owner[m], -1)
    return not every


@kernel
def check_surroundings(c, g, grown, every):
    """Whether group g touches the surroundings.

    What a sphere touches is gathered once, so that those below it are compared with that alone; of more than there is
    room for, each below it is gathered for by itself.
    """
    b, solids = c.robot, c.scene.kind.shape[0]
    link, n, end, away = b.link[g], b.first[g], b.first[g + 1], b.margin + grown
    until, count = n, 0
    while n < end:
        x, y, z = sphere_centre(c, link, n)
        r, finest = b.radius[n] + away, b.skip[n] == n + 1
        if n >= until:
            count = gather(c, x, y, z, r)
            if count >= 0:
                until = b.skip[n]
        if n < until:
            i = next_gathered(c, 0, count, x, y, z, r)
            if i == count:
                n = b.skip[n]
                continue
            while finest and i < count:
                if touches(c, g, n, c.solid[i], away, every):
                    return 1
                i = next_gathered(c, i + 1, count, x, y, z, r)
        elif finest:
            m = next_touch(c, 0, x, y, z, r)
            while m < solids:
                if touches(c, g, n, m, away, every):
                    return 1
                m = next_touch(c, m + 1, x, y, z, r)
        n += 1
    return 0


@inlined
def sphere_gap(c, link, n, other, m, grown):
    """Positive where sphere n of a link and sphere m of another are apart."""
    b = c.robot
    ax, ay, az = sphere_centre(c, link, n)
    bx, by, bz = sphere_centre(c, other, m)
    x, y, z = ax - bx, ay - by, az - bz
    r = b.radius[n] + b.radius[m] + b.self_margin + grown
    return x * x + y * y + z * z - r * r


@kernel
def met(c, k, n, m, gap, grown):
    """`gap` of spheres of pair k, positive also in lanes that would not come to them by themselves, as `reached`."""
    b = c.robot
    g, h = b.pair[k, 0], b.pair[k, 1]
    i, j = b.first[g], b.first[h]
    while i != n or j != m:
        gap = larger(gap, where_positive(gap, 1.0, sphere_gap(c, b.link[g], i, b.link[h], j, grown)))
        if b.skip[i] != i + 1 and (b.skip[j] == j + 1 or b.radius[i] >= b.radius[j]):
            i = below(b, i, n)
        else:
            j = below(b, j, m)
    return gap


@kernel
def next_meeting(c, link, other, n, m, depth, grown):
    """Go on until finest spheres touch in lanes not hit yet, their `gap`: of two that do the larger one is replaced.

    Returns:
        n, m: the spheres.
        depth: how many pairs wait; -1: none touch any more.
    """
    b, stack = c.robot, c.waiting
    while True:
        gap = sphere_gap(c, link, n, other, m, grown)
        if pending(c, gap):
            n_leaf, m_leaf = b.skip[n] == n + 1, b.skip[m] == m + 1
            if not n_leaf and (m_leaf or b.radius[n] >= b.radius[m]):
                stack[depth, 0], stack[depth, 1] = b.skip[n + 1], m
                n, depth = n + 1, depth + 1
                continue
            if not m_leaf:
                stack[depth, 0], stack[depth, 1] = n, b.skip[m + 1]
                m, depth = m + 1, depth + 1
                continue
            c.gap[0] = where_positive(c.hit[0], 1.0 + 0.0 * gap, gap)
            return n, m, depth
        if depth == 0:
            return n, m, -1
        depth -= 1
        n, m = stack[depth, 0], stack[depth, 1]


@kernel
def check_pair(c, k, grown, every):
    """Whether the groups of pair k touch. Of finest spheres that do, shapes decide."""
    b = c.robot
    g, h = b.pair[k, 0], b.pair[k, 1]
    link, other = b.link[g], b.link[h]
    n, m, depth = next_meeting(c, link, other, b.first[g], b.first[h], 0, grown)
    while depth >= 0:
        gap = c.gap[0]
        if b.exact[n] * b.exact[m] == 0:
            gap = settled(c, b.self_margin + grown, b.thing[n], b.thing[m])
            if c.by_spheres != 0:
                gap = met(c, k, n, m, gap, grown)
        if not all_positive(gap):
            note(c, gap, n, -1, m)
            if not every:
                return 1
        if depth == 0:
            return 0
        depth -= 1
        n, m, depth = next_meeting(c, link, other, c.waiting[depth, 0], c.waiting[depth, 1], depth, grown)
    return 0


@kernel
def check_poses(c, every, certified):
    """Whether any of the eight states touches something; 1 in the lanes of `hit` that do if `every` is set.

    With CERTIFIED the spheres are as much larger as they move on the lanes' share of an edge, and the poses are those
    of the check before.
    """
    b, d = c.robot, c.data
    t = b.tree
    if certified == SAMPLED:
        c.stamp += 1
        for k in range(b.place.shape[0]):
            body_pose(t, d, b.place[k])
    c.hit[0] = -1.0
    zero = 0.0 * d.q[0]
    h = c.half[0] if certified == CERTIFIED else zero
    for k in range(c.near.shape[0]):
        g = c.near[k]
        if g >= 0 and check_surroundings(c, g, h * c.grow[g], every != 0) != 0:
            return 1
    for k in range(b.pair.shape[0]):
        if check_pair(c, k, h * c.pair_grow[k], every != 0) != 0:
            return 1
    return 0 if all_positive(-c.hit[0]) else 1


@callback
def check_eight(check, every, certified, unused):
    """`check_poses`, as a stage."""
    return check_poses(lanes_view(CHECK, check), every, certified)


@kernel
def place_followers(c):
    """Where coordinates are that mimic planned ones, from where these are."""
    b, q = c.robot, c.data.q
    for i in range(b.follower.shape[0]):
        q[b.follower[i]] = b.ratio[i] * q[b.leader[i]] + b.offset[i]


@kernel
def check_rows(c, n, Q, first):
    """Check eight states of Q from a row on; the last one again where there are fewer."""
    column, lanes = c.robot.column, n.hit.shape[0]
    for lane in range(lanes):
        row = min(first + lane, Q.shape[0] - 1)
        for k in range(column.shape[0]):
            n.q[column[k] * lanes + lane] = Q[row, k]
    place_followers(c)
    c.run(c, 1, SAMPLED)


@kernel
def look_at_rows(c, n, lower, upper, Q, good):
    """Which states Q (n, columns) are free and within bounds: 1 in `good` (n,). Returns how many are not."""
    lanes, bad = n.hit.shape[0], 0
    for first in range(0, Q.shape[0], lanes):
        check_rows(c, n, Q, first)
        for row in range(first, min(first + lanes, Q.shape[0])):
            good[row] = 1 if n.hit[row - first] < 0.0 else 0
            for k in range(Q.shape[1]):
                if not lower[k] <= Q[row, k] <= upper[k]:
                    good[row] = 0
            bad += 1 - good[row]
    return bad


@entry("i8(i8,i8,f8[::1],f8[::1],f8[:,::1],i8[::1])")
def look_at_states(check, numbers, lower, upper, Q, good):
    """`look_at_rows`, for calls from Python."""
    return look_at_rows(lanes_view(CHECK, check), view(CHECK_NUMBERS, numbers), lower, upper, Q, good)


@entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def check_states(check, numbers, Q, out):
    """Check states Q (n, columns); `out` (n, 4): whether it is hit, and by what."""
    c, n = lanes_view(CHECK, check), view(CHECK_NUMBERS, numbers)
    lanes = n.hit.shape[0]
    for first in range(0, Q.shape[0], lanes):
        check_rows(c, n, Q, first)
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
        for n in range(b.first[g], b.first[g + 1]):
            place_sphere(c, b.link[g], n)
            c.current[n] = FIXED if b.moves[g] == 0 else 0
    return 0
