"""Stage of a step that worlds with prescribed coordinates have: the forces that those coordinates needed.

With the velocities of the step's end known, the equations of motion give them (inverse dynamics at mid-step):

    T + J^T p / h = M (u_new - u) / h + C(q_M, u + (h/2) a_1) + Kd u_new + Ks (q_M + (h/4) (u_new - u) - q_0)
                    + friction

Joint damping, springs and dry friction are what the actuator works against, taken as they are elsewhere in the
step. The last stage takes J^T p / h off again.
"""

from __future__ import annotations

from typing import Any

from kido.constraints.joint import number_prescribed
from kido.jit import callback, kernel, view
from kido.kernels.inverse_dynamics import accelerations, joint_forces
from kido.simulation.feature import Feature
from kido.simulation.world_struct import RESPOND, WORLD


@kernel
def resistance(t, d, k, u, change, h):
    """Force of damping, spring and dry friction against coordinate k at the velocity u, changed in the step."""
    force = t.damping[k] * u + t.stiffness[k] * (d.q[k] + 0.25 * h * change - t.rest[k])
    if u > 0.0:
        force += t.coulomb[k]
    if u < 0.0:
        force -= t.coulomb[k]
    return force


@kernel
def drive_forces(t, d, w, pr, first, last, h):
    """Fill drive_force of the prescribed coordinates of one tree."""
    begin, end = t.first_dof[first], t.first_dof[last]
    for k in range(begin, end):
        d.udot[k] = (pr.u[k] - w.start_u[k]) / h
    accelerations(t, d, first, last)
    joint_forces(t, d, first, last)
    for k in range(begin, end):
        if t.prescribed[k] != 0:
            w.drive_force[k] = d.tau[k] + resistance(t, d, k, pr.u[k], pr.u[k] - w.start_u[k], h)
        d.tau[k] = w.command[k]


@callback
def actuate_stage(address, unused_1, unused_2, unused_3):
    """Run the stage. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    pr = w.problem
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        if w.flex.address != 0 and w.row_origins.responses.apart[tree_index] != 0:
            continue  # flexible: kido.simulation.flexible_step
        if t.tree_mobile[tree_index] != 0 and number_prescribed(t, t.first_dof[first], t.first_dof[last]) > 0:
            drive_forces(t, d, w, pr, first, last, w.time_step)
    return 0


class Actuation(Feature):
    """Forces of prescribed coordinates."""

    def stages(self) -> dict[str | int, Any]:
        return {RESPOND: actuate_stage} if self.engine.tree.prescribed.any() else {}
