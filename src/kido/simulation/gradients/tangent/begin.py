"""What is looked at and taken before a step that is to be differentiated by formulas."""

from __future__ import annotations

from kido.constraints.surfaces import NO_ROWS
from kido.jit import kernel, view
from kido.joints import ActuatorType
from kido.joints.kinds import BALL, FREE_MIXED
from kido.simulation.commands import COMMANDS

PASSIVE = int(ActuatorType.PASSIVE)  # FORCE is below, all others above


@kernel
def leaves_to_formulas(w, c, commands):
    """Whether the world has nothing that formulas leave out, as far as it shows before the step.

    Args:
        commands: address of its COMMANDS; 0: it has none.
    """
    t = w.tree
    for k in range(t.actuator.shape[0]):
        if t.actuator[k] > PASSIVE or t.prescribed[k] != 0:
            return False
    for i in range(t.parent.shape[0]):
        if t.kind[i] == BALL or t.kind[i] == FREE_MIXED:
            for k in range(t.first_dof[i], t.first_dof[i] + 3):
                if t.stiffness[k] != 0.0:
                    return False
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        if w.row_origins.responses.apart[tree_index] != 0:
            return False
        if t.tree_mobile[tree_index] == 0 and t.first_dof[last] > t.first_dof[first]:
            return False
    if commands != 0:
        s = view(COMMANDS, commands)
        for j in range(s.dof.shape[0]):
            if s.of_force[j] == 0:
                return False
    if w.row_origins.surfaces.mode != NO_ROWS and w.collision.num_contacts > 0:
        return False  # surfaces of their own; in the air they have no part
    if w.collision.num_contacts > c.row.shape[0]:
        return False  # contacts that it recalls have room
    return True


@kernel
def take_start(w, c, commands):
    """Take the state before the step, and forces as they act; what does not act is zero in it from now on.

    Args:
        commands: as of `leaves_to_formulas`.
    """
    t, d, own = w.tree, w.data, c.data
    for k in range(d.q.shape[0]):
        c.start_q[k], c.start_u[k] = d.q[k], d.u[k]
        c.inert[k] = 1 if t.actuator[k] == PASSIVE else 0
        if c.inert[k] != 0:
            d.tau[k] = 0.0
        c.force[k] = d.tau[k]
    if commands != 0:
        s = view(COMMANDS, commands)
        for j in range(s.dof.shape[0]):
            k = s.dof[j]
            given = c.force[k]
            c.force[k] = min(max(given, s.lower[j]), s.upper[j])
            if c.force[k] != given:
                c.inert[k] = 1
    for i in range(d.has_external.shape[0]):
        own.has_external[i] = d.has_external[i]
        for j in range(d.external.shape[1] if d.has_external[i] != 0 else 0):
            own.external[i, j] = d.external[i, j]
    c.time_step = w.time_step
