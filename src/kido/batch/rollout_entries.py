"""One sample of a rollout in compiled code: commands in, steps, states and contact wrenches out."""

from __future__ import annotations

from kido.jit import entry, kernel, view
from kido.joints.actuators import ACCELERATION, FORCE, MIMIC, SERVO, VELOCITY
from kido.math.so3 import cross
from kido.simulation.step import run_steps
from kido.simulation.world_struct import WORLD


@kernel
def place_commands(t, d, dofs, controls, sample, row):
    """Commands of some coordinates from a row of a sample's controls; one sample or row stands for all."""
    s = sample if controls.shape[0] > 1 else 0
    r = row if controls.shape[1] > 1 else 0
    for j in range(dofs.shape[0]):
        k = dofs[j]
        kind = t.actuator[k]
        if kind == FORCE or kind == MIMIC:
            d.tau[k] = controls[s, r, j]
        elif kind == SERVO or kind == VELOCITY or kind == ACCELERATION:
            d.command[k] = controls[s, r, j]


@kernel
def add_contact_wrenches(d, c, h, sensor_of_shape, link, offset, wrenches, sample, record):
    """Sum of the contact forces on each body with a sensor as [moment; force] about its origin, world axes."""
    for b in range(link.shape[0]):
        for i in range(6):
            wrenches[sample, record, b, i] = 0.0
    for k in range(c.num_contacts):
        for side in range(2):
            b = sensor_of_shape[c.shape_a[k]] if side == 0 else sensor_of_shape[c.shape_b[k]]
            if b >= 0:
                sign = -1.0 / h if side == 0 else 1.0 / h
                i = link[b]
                x, y, z = offset[b, 0], offset[b, 1], offset[b, 2]
                rx = c.point[k, 0] - (d.p[i, 0] + d.R[i, 0] * x + d.R[i, 1] * y + d.R[i, 2] * z)
                ry = c.point[k, 1] - (d.p[i, 1] + d.R[i, 3] * x + d.R[i, 4] * y + d.R[i, 5] * z)
                rz = c.point[k, 2] - (d.p[i, 2] + d.R[i, 6] * x + d.R[i, 7] * y + d.R[i, 8] * z)
                f0, f1, f2 = sign * c.impulse[k, 0], sign * c.impulse[k, 1], sign * c.impulse[k, 2]
                m0, m1, m2 = cross(rx, ry, rz, f0, f1, f2)
                wrenches[sample, record, b, 0] += m0
                wrenches[sample, record, b, 1] += m1
                wrenches[sample, record, b, 2] += m2
                wrenches[sample, record, b, 3] += f0
                wrenches[sample, record, b, 4] += f1
                wrenches[sample, record, b, 5] += f2


@entry("i8(i8,i8[::1],f8[:,:,::1],i8,i8)")
def set_commands(world, dofs, controls, sample, row):
    """`place_commands` of a world."""
    w = view(WORLD, world)
    place_commands(w.tree, w.data, dofs, controls, sample, row)
    return 0


@entry("i8(i8,i8[::1],f8[:,:,::1],f8[:,:,::1],i8[::1],i8[::1],f8[:,::1],f8[:,:,:,::1],i8,i8)")
def record_state(world, dofs, q, u, sensor_of_shape, link, offset, wrenches, sample, record):
    """State and contact wrenches after a step into one record of a sample."""
    w = view(WORLD, world)
    d = w.data
    for j in range(dofs.shape[0]):
        q[sample, record, j], u[sample, record, j] = d.q[dofs[j]], d.u[dofs[j]]
    if link.shape[0] > 0:
        c = w.collision
        add_contact_wrenches(d, c, w.time_step, sensor_of_shape, link, offset, wrenches, sample, record)
    return 0


@entry(
    "UniTuple(i8,3)(i8,i8[::1],f8[:,:,::1],f8[:,:,::1],f8[:,:,::1],"
    "i8[::1],i8[::1],f8[:,::1],f8[:,:,:,::1],i8,i8,i8,i8,i8,i8)"
)
def run_sample(
    world, dofs, controls, q, u, sensor_of_shape, link, offset, wrenches, sample, done, end, hold, every, go
):
    """Steps done+1 .. end of a sample.

    Args:
        world: address of the WORLD container that the sample runs in.
        hold: steps that a row of controls acts.
        every: steps from one record to the next.
        go: where the first step goes on (`run_steps`).

    Returns:
        Steps of the sample that are done; the stage that could not go on or -1; its status.
    """
    w = view(WORLD, world)
    t = w.tree
    d = w.data
    while done < end:
        place_commands(t, d, dofs, controls, sample, done // hold)
        number = min(hold - done % hold, every - done % every, end - done)
        steps, stage, status = run_steps(world, number, go)
        go = 0
        done += steps
        if stage != -1:
            return done, stage, status
        if done % every == 0:
            record_state(world, dofs, q, u, sensor_of_shape, link, offset, wrenches, sample, done // every - 1)
    return done, -1, 0
