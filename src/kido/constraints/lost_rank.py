"""What eliminated rows leave of the compliance of a block: directions in which they hold it have none."""

from __future__ import annotations

from kido.jit import kernel
from kido.solvers.rows import num_segments, segment

HELD_TOLERANCE = 1e-9  # share of its compliance below which a direction counts as held


@kernel
def coupling(pr, block, r, s):
    """Compliance between rows r and s of a block, without softness."""
    value = 0.0
    for k in range(num_segments(pr, block)):
        _, length, at = segment(pr, block, k)
        for i in range(length):
            value += pr.J[at + r * length + i] * pr.Y[at + s * length + i]
    return value


@kernel
def compliance_of_row(pr, block, r):
    """Own compliance of a row of a block, without softness."""
    return coupling(pr, block, r, r)


@kernel
def has_lost_rank(pr, block, before):
    """Whether a contact cannot move in some direction, which need not be that of a row.

    Its compliance then has an eigenvalue that is rounding, and impulses that balance others along that direction grow
    beyond all bounds: between two bodies on a hinge that touch, all contacts have one velocity.
    """
    w00, w11, w22 = compliance_of_row(pr, block, 0), compliance_of_row(pr, block, 1), compliance_of_row(pr, block, 2)
    w01, w02, w12 = coupling(pr, block, 0, 1), coupling(pr, block, 0, 2), coupling(pr, block, 1, 2)
    first = w00 * w11 - w01 * w01 + w00 * w22 - w02 * w02 + w11 * w22 - w12 * w12
    whole = w00 * (w11 * w22 - w12 * w12) - w01 * (w01 * w22 - w12 * w02) + w02 * (w01 * w12 - w11 * w02)
    # Ratios of neighbouring invariants are the eigenvalues, from the least to the largest, to within a factor of three.
    return not (first > HELD_TOLERANCE * before * (w00 + w11 + w22) and whole > HELD_TOLERANCE * before * first)


@kernel
def is_held(pr, block, r, before):
    """Whether a row of a block cannot move, which had the compliance `before` without the eliminated rows."""
    return compliance_of_row(pr, block, r) < HELD_TOLERANCE * before
