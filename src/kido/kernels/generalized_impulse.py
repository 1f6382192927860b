"""Response of a tree to any generalized impulse: M^-1 J^T for a row J over all its coordinates.

Theory reference, section a7 with a = b = 0. Needs U, Dinv, H, l of `articulated_inertias`.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels.articulated import gather_shares
from kido.kernels.impulse import velocity_scatter


@kernel
def generalized_row(t, d, first, last, J, Y, at):
    """Add the response to the row in J, from index `at` on, to Y at the same place; d.z is used up."""
    offset = at - t.first_dof[first]
    for i in range(first, last):
        for k in range(6):
            d.z[i, k] = 0.0
    gather_shares(t, d, first, last, J, offset)
    velocity_scatter(t, d, first, last, Y, offset)
