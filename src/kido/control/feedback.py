"""Feedback on joints, compiled: laws that make forces of the present state, targets and gains.

Each law is a callback on a FEEDBACK struct, which a world calls in steps and Python calls for present forces.
"""

from __future__ import annotations

from kido.control.balance_law import BALANCE, add_balance_forces
from kido.jit import Struct, callback, entry, floats, integer, integers, kernel, number, reference, stage, view
from kido.joints.actuators import ACCELERATION, VELOCITY
from kido.kernels.actuation import position_error
from kido.kernels.forward_dynamics import (
    acceleration_scatter,
    articulated_inertias,
    bias_gather,
    prescribed_forces,
)
from kido.kernels.inertia import body_inertia
from kido.kernels.inverse_dynamics import accelerations, joint_forces
from kido.kernels.kinematics import transforms, velocities
from kido.kernels.springs import add_spring_forces
from kido.simulation.commands import COMMANDS
from kido.simulation.world_struct import WORLD
from kido.tree.schema import DATA, TREE


class FEEDBACK(Struct):
    law = stage(doc="(own struct): sets `force`")
    tree = reference(TREE, doc="the skeleton's, with dampings, loads and prescribed coordinates as the law takes them")
    data = reference(DATA, doc="work, with the skeleton's positions; `command` holds target positions")
    plant = reference(DATA, doc="the skeleton's state")
    period = number("s", doc="T, for which forces are held")
    ahead = integer(doc="rows that targets are ahead of the calls")
    loaded = integer(doc="1: forces of contacts and constraints in the step before are part of the model")
    driven = integers("dofs", doc="1: forces act on the coordinate")
    kp = floats("dofs", unit="N/m, N m/rad")
    kd = floats("dofs", unit="N s/m, N m s/rad")
    damping = floats("dofs", unit="N s/m, N m s/rad", doc="of the joints themselves")
    velocity = floats("dofs", unit="m/s, rad/s", doc="target velocities")
    acceleration = floats("dofs", unit="m/s^2, rad/s^2", doc="target accelerations")
    load = floats("dofs", unit="N, N m", doc="forces of contacts and constraints in the step before")
    # Targets at times 0, T, 2 T, ... since the first call; no rows: targets stay until others are set.
    positions = floats("rows", "dofs")
    velocities = floats("rows", "dofs")
    accelerations = floats("rows", "dofs")
    balance = reference(BALANCE, doc="of laws that keep balance; none of others")
    force = floats("dofs", unit="N, N m", doc="out")


@kernel
def proportional(f, k, ahead):
    """-kp (q + ahead u - q*) - kd (u - u*) of coordinate k."""
    d = f.data
    u = f.plant.u[k]
    return -f.kp[k] * (position_error(f.tree, d, k) + ahead * u) - f.kd[k] * (u - f.velocity[k])


@kernel
def passive_forces(f, out):
    """Forces of springs and dampers of joints, and of contacts and constraints."""
    t, d = f.tree, f.data
    for k in range(out.shape[0]):
        out[k] = f.load[k] - f.damping[k] * f.plant.u[k]
    add_spring_forces(t, d, 0, t.parent.shape[0], out)


@kernel
def prescribed_motion(f):
    """Accelerations that actuators prescribe."""
    t, d = f.tree, f.data
    for k in range(f.force.shape[0]):
        d.udot[k] = 0.0
        if t.actuator[k] == ACCELERATION:
            d.udot[k] = f.plant.command[k]
        elif t.actuator[k] == VELOCITY:
            d.udot[k] = (f.plant.command[k] - f.plant.u[k]) / f.period


@kernel
def move(f, h):
    """Accelerations of the model, with dampers and springs implicit over h."""
    t, d = f.tree, f.data
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    velocities(t, d, 0, n)
    articulated_inertias(t, d, 0, n, h)
    bias_gather(t, d, 0, n)
    acceleration_scatter(t, d, 0, n)


@callback
def pd_law(own, unused_1, unused_2, unused_3):
    """PD. Returns 0."""
    f = view(FEEDBACK, own)
    for k in range(f.force.shape[0]):
        f.force[k] = proportional(f, k, 0.0) if f.driven[k] != 0 else 0.0
    return 0


@kernel
def stable_pd_forces(f):
    """Stable PD: position and velocity at the end of the period, by the model's own motion."""
    d = f.data
    passive_forces(f, d.tau)
    prescribed_motion(f)
    for k in range(f.force.shape[0]):
        f.force[k] = proportional(f, k, f.period) if f.driven[k] != 0 else 0.0
        d.tau[k] += f.force[k]
    move(f, f.period)
    for k in range(f.force.shape[0]):
        if f.driven[k] != 0:
            f.force[k] -= f.period * f.kd[k] * d.udot[k]


@callback
def stable_pd_law(own, unused_1, unused_2, unused_3):
    """Stable PD. Returns 0."""
    stable_pd_forces(view(FEEDBACK, own))
    return 0


@callback
def ankle_strategy_law(own, unused_1, unused_2, unused_3):
    """Stable PD, and what keeps the centre of mass over the feet. Returns 0."""
    f = view(FEEDBACK, own)
    stable_pd_forces(f)
    add_balance_forces(f.tree, f.data, f.balance, f.plant.u, f.force)
    return 0


@callback
def computed_torque_law(own, unused_1, unused_2, unused_3):
    """Forces that give driven coordinates the accelerations asked for, whatever the others do. Returns 0."""
    f = view(FEEDBACK, own)
    t, d = f.tree, f.data
    passive_forces(f, f.force)
    prescribed_motion(f)
    for k in range(f.force.shape[0]):
        d.tau[k] = f.force[k]
        if f.driven[k] != 0:
            d.udot[k] = f.acceleration[k] + proportional(f, k, 0.0)
    move(f, f.period)
    prescribed_forces(t, d, 0, t.parent.shape[0])
    for k in range(f.force.shape[0]):
        # Worlds take dampers at the end of a step.
        end = f.period * f.damping[k] * d.udot[k]
        f.force[k] = d.tau[k] - f.force[k] + end if f.driven[k] != 0 else 0.0
    return 0


@callback
def gravity_law(own, unused_1, unused_2, unused_3):
    """Forces that hold the model at rest where it is. Returns 0."""
    f = view(FEEDBACK, own)
    t, d = f.tree, f.data
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    velocities(t, d, 0, n)
    accelerations(t, d, 0, n)
    joint_forces(t, d, 0, n)
    for k in range(f.force.shape[0]):
        f.force[k] = d.tau[k] if f.driven[k] != 0 else 0.0
    return 0


@kernel
def begin_call(f, world, own, c):
    """Targets of this call, and loads of the step before."""
    n = f.force.shape[0]
    s = view(COMMANDS, own)
    rows = f.positions.shape[0]
    if rows > 0:
        row = min(s.calls[c] + f.ahead, rows - 1)
        for k in range(n):
            f.data.command[k] = f.positions[row, k]
            f.velocity[k], f.acceleration[k] = f.velocities[row, k], f.accelerations[row, k]
    if f.loaded != 0:
        w = view(WORLD, world)
        for k in range(n):
            f.load[k] = w.constraint_force[s.begin[c] + k]


@kernel
def end_call(f, own, c):
    """Hand forces over."""
    s = view(COMMANDS, own)
    for k in range(f.force.shape[0]):
        s.force[s.first[c] + k] = f.force[k]


@callback
def act_in_world(world, own, commands, c):
    """The law, at the start of a step of a world. Returns 0."""
    f = view(FEEDBACK, own)
    begin_call(f, world, commands, c)
    f.law(f)
    end_call(f, commands, c)
    return 0


@entry("i8(i8)")
def act_now(own):
    """The law at the present state. Returns 0."""
    f = view(FEEDBACK, own)
    f.law(f)
    return 0
