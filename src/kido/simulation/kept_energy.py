"""The kinetic energy of trees that the position correction moves.

It moves positions alone. Of a tree, velocities u have another energy u M(q) u / 2 where it has moved it: by the first
order of the step in an impact that does not rebound, whose depth is the way of a step. So u is scaled until the energy
is what it was, but for the motion of the centre of mass of what floats, whose momentum stays.
"""

from __future__ import annotations

import math

from kido.constraints.impact_time import UNSTEADY
from kido.jit import kernel
from kido.kernels.articulated import link_velocities
from kido.kernels.inertia import inertia_of, rigid_momentum
from kido.kernels.integration import advance
from kido.simulation.balance import SLOW, place_anew

ROUNDING = 1e-9  # share of the energy of what floats that is not told from none beside that of its centre of mass
SMALL_CORRECTION = 1e-7  # [m or rad] less than that changes no energy to speak of


@kernel
def changes_energy(t, w, pr, tree_index, most, h):
    """Whether the correction of a tree changes its kinetic energy: by how much it is moved, and moves [rad/s or m/s].

    Not of one whose rows hold or prescribe velocities, which are not to be scaled.
    """
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    if not h * most > SLOW or w.holds[tree_index] != 0 or w.row_origins.steady[begin] != UNSTEADY:
        return False
    largest = 0.0
    for k in range(begin, end):
        if t.prescribed[k] != 0:
            return False
        largest = max(largest, math.fabs(pr.u_position[k]))
    return h * largest > SMALL_CORRECTION


@kernel
def energy_of_motion(t, d, base, first, last, u):
    """Twice the kinetic energy of links first..last-1 at velocities u [J]; uses d.B.

    Less that of their centre of mass where they float, on link `base`, or 0 if that leaves rounding; -1: they do not.
    """
    link_velocities(t, d, first, last, u)
    energy = x = y = z = 0.0
    mass = 0.0
    B = d.B
    for i in range(first, last):
        mc = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
        g = rigid_momentum(inertia_of(d, i), mc, t.mass[i], B[i, 0], B[i, 1], B[i, 2], B[i, 3], B[i, 4], B[i, 5])
        energy += B[i, 0] * g[0] + B[i, 1] * g[1] + B[i, 2] * g[2] + B[i, 3] * g[3] + B[i, 4] * g[4] + B[i, 5] * g[5]
        if i >= base:
            x, y, z, mass = x + g[3], y + g[4], z + g[5], mass + t.mass[i]
    for k in range(t.first_dof[first], t.first_dof[last]):
        energy += t.armature[k] * u[k] * u[k]
    if base < 0:
        return energy
    rest = energy - (x * x + y * y + z * z) / mass
    return rest if rest > ROUNDING * energy else 0.0


@kernel
def keep_energy(t, d, w, pr, first, base, last, h, share):
    """Scale pr.u by what keeps the kinetic energy of a tree at mid-step where the position correction moves it.

    Args:
        base: as `energy_of_motion` has it.
        share: of the pseudo velocities that it moves by.
    """
    begin, end = t.first_dof[first], t.first_dof[last]
    for k in range(begin, end):
        w.middle_q[k] = d.q[k]
        d.u[k] = share * pr.u_position[k]
    before = energy_of_motion(t, d, base, first, last, pr.u)
    advance(t, d, first, last, h)
    place_anew(t, d, first, last)
    after = energy_of_motion(t, d, base, first, last, pr.u)
    for k in range(begin, end):
        d.q[k] = w.middle_q[k]
    place_anew(t, d, first, last)
    scale = math.sqrt(before / after) if before > 0.0 and after > 0.0 else 1.0
    for k in range(begin, end):
        pr.u[k] *= scale
