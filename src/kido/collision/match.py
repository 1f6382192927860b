"""Contacts that persist: each new contact finds its old self and takes over its impulse.

A contact of the same pair with the same key is the same contact; else the nearest old contact of the pair is,
measured in the axes of either shape, if it is within a quarter of the smaller shape's reach.
"""

from __future__ import annotations

from kido.jit import kernel

MIN_NORMAL_COSINE = 0.7  # an old contact is forgotten if the normal turned by more than this cosine
REACH = 0.25


@kernel
def keep_old(c):
    """Makes the present pairs and contacts, with the impulses the solver left, the previous ones."""
    pairs = c.num_pairs
    for p in range(pairs):
        c.old_pair_a[p] = c.pair_a[p]
        c.old_pair_b[p] = c.pair_b[p]
        c.old_pair_first[p] = c.pair_first[p]
        c.old_pair_count[p] = c.pair_count[p]
        c.old_pair_code[p] = c.pair_code[p]
        for i in range(3):
            c.old_pair_axis[p, i] = c.pair_axis[p, i]
    for k in range(c.num_contacts):
        c.old_key[k] = c.key[k]
        c.old_gap[k] = c.gap[k]
        for i in range(3):
            c.old_normal[k, i] = c.normal[k, i]
            c.old_impulse[k, i] = c.impulse[k, i]
            c.old_torque[k, i] = c.torque[k, i]
            c.old_local_a[k, i] = c.local_a[k, i]
            c.old_local_b[k, i] = c.local_b[k, i]
    c.num_old_pairs = pairs
    return 0


@kernel
def distance2(c, k, old):
    """Squared distance of a new and an old contact in the axes of the shape that saw it move less."""
    in_a = in_b = 0.0
    for i in range(3):
        d = c.local_a[k, i] - c.old_local_a[old, i]
        in_a += d * d
        d = c.local_b[k, i] - c.old_local_b[old, i]
        in_b += d * d
    return min(in_a, in_b)


@kernel
def same_normal(c, k, old):
    """True if the normal turned little enough for an impulse to be carried over."""
    normal, old_normal = c.normal, c.old_normal
    return (
        normal[k, 0] * old_normal[old, 0] + normal[k, 1] * old_normal[old, 1] + normal[k, 2] * old_normal[old, 2]
    ) > MIN_NORMAL_COSINE


@kernel
def carry(c, k, old):
    """Gives contact k the impulse of an old contact: its normal part along the new normal, and the rest of it
    in the new tangent plane; its torque as it is."""
    old_impulse, old_normal, normal = c.old_impulse, c.old_normal, c.normal
    along = across = 0.0
    for i in range(3):
        along += old_impulse[old, i] * old_normal[old, i]
    for i in range(3):
        across += (old_impulse[old, i] - along * old_normal[old, i]) * normal[k, i]
    for i in range(3):
        c.impulse[k, i] = old_impulse[old, i] - along * old_normal[old, i] + (along - across) * normal[k, i]
        c.torque[k, i] = c.old_torque[old, i]
    c.matched[k] = 1
    return 0


@kernel
def match_contacts(c, first, last, first_old, last_old, reach):
    """Matches the contacts first..last of a pair with its old ones, first_old..last_old."""
    matched, taken = c.matched, c.old_taken
    free = last_old - first_old
    for old in range(first_old, last_old):
        taken[old] = 0
    for k in range(first, last):
        for old in range(first_old, last_old):
            if matched[k] == 0 and taken[old] == 0 and c.key[k] == c.old_key[old] and same_normal(c, k, old):
                carry(c, k, old)
                taken[old] = 1
                free -= 1
    limit = REACH * REACH * reach * reach
    for k in range(first, last):
        if matched[k] == 0 and free > 0:
            best, nearest = limit, -1
            for old in range(first_old, last_old):
                if taken[old] == 0 and same_normal(c, k, old):
                    d2 = distance2(c, k, old)
                    if d2 < best:
                        best, nearest = d2, old
            if nearest >= 0:
                carry(c, k, nearest)
                taken[nearest] = 1
                free -= 1
    return 0
