"""Rolling and torsional friction of a contact as a block of its own: angular velocities about normal and tangents.

Row velocities are angular velocities of body b relative to body a, those of the surfaces beside their bodies included.
The bounds, lever arms times the contact's normal impulse, are the solvers' (`kido.solvers.problem`, SPIN_BLOCK).
"""

from __future__ import annotations

from kido.constraints.contact import segment_length, tangents
from kido.constraints.row_origins import FROM_SPIN
from kido.constraints.surfaces import row_of, surface_motion
from kido.jit import kernel
from kido.kernels.responses import response_row
from kido.solvers.problem import SPIN_BLOCK


@kernel
def spin_rows(c, pr, responses, k, body, sign, at, length):
    """Add the three rows of angular velocity of contact k on one body: about the normal and two tangents."""
    n0, n1, n2 = c.normal[k, 0], c.normal[k, 1], c.normal[k, 2]
    a0, a1, a2, b0, b1, b2 = tangents(n0, n1, n2)
    for r in range(3):
        x, y, z = n0, n1, n2
        if r == 1:
            x, y, z = a0, a1, a2
        if r == 2:
            x, y, z = b0, b1, b2
        x, y, z = sign * x, sign * y, sign * z
        response_row(responses, body, length, x, y, z, 0.0, 0.0, 0.0, pr.J, pr.Y, at + r * length)


@kernel
def add_spin(t, d, c, pr, src, s, responses, contact, block, row, pool):
    """Rolling and torsional friction of the contact in block `contact` as the next block. Returns pool entries."""
    k = src.index[contact]
    properties = row_of(c, s, k)
    a, b = c.body_a[k], c.body_b[k]
    na, nb = pr.len_a[contact], pr.len_b[contact]
    size = 3 * (na + nb)
    for q in range(pool, pool + size):
        pr.J[q] = 0.0
        pr.Y[q] = 0.0
    pr.kind[block], pr.row[block], pr.partner[block] = SPIN_BLOCK, row, contact
    pr.mu[block], pr.torsion[block] = s.rolling[properties], s.torsion[properties]
    pr.lower[block], pr.upper[block], pr.floor[block], pr.restitution[block] = 0.0, 0.0, 0.0, 0.0
    pr.position_bias[block], pr.more_count[block] = 0.0, 0
    pr.dof_a[block], pr.len_a[block], pr.at_a[block] = pr.dof_a[contact], na, pool
    pr.dof_b[block], pr.len_b[block], pr.at_b[block] = pr.dof_b[contact], nb, pool + 3 * na
    if na > 0:
        spin_rows(c, pr, responses, k, a, -1.0, pool, na)
    if segment_length(t, b) > 0:
        if nb > 0:
            spin_rows(c, pr, responses, k, b, 1.0, pool + 3 * na, nb)
        else:
            spin_rows(c, pr, responses, k, b, 1.0, pool, na)
    src.origin[block], src.index[block], src.correction[block] = FROM_SPIN, k, 0.0
    n0, n1, n2 = c.normal[k, 0], c.normal[k, 1], c.normal[k, 2]
    a0, a1, a2, b0, b1, b2 = tangents(n0, n1, n2)
    x, y, z = c.torque[k, 0], c.torque[k, 1], c.torque[k, 2]
    pr.impulse[row] = n0 * x + n1 * y + n2 * z
    pr.impulse[row + 1] = a0 * x + a1 * y + a2 * z
    pr.impulse[row + 2] = b0 * x + b1 * y + b2 * z
    _, _, _, x, y, z = surface_motion(d, c, s, k, properties)
    pr.bias[row] = n0 * x + n1 * y + n2 * z
    pr.bias[row + 1] = a0 * x + a1 * y + a2 * z
    pr.bias[row + 2] = b0 * x + b1 * y + b2 * z
    for r in range(3):
        pr.compliance[row + r] = 0.0
    return size
