"""What is observed of robots and what they earn, compiled: loops over worlds, in which the others do not matter."""

from __future__ import annotations

import math

from kido.jit import entry

__all__ = ["centres", "commands_of", "floating_state", "inertias_about", "measure", "runner", "wrenches_about"]


@entry("i8(f8[:,::1],f8[::1],f8[::1],f8[::1],i8[::1],f8[:,::1])")
def commands_of(actions, low, high, gears, dofs, found):
    """Forces of coordinates by actions, which are brought between bounds: gear times action; those of others are 0."""
    for n in range(found.shape[0]):
        for k in range(found.shape[1]):
            found[n, k] = 0.0
        for j in range(dofs.shape[0]):
            found[n, dofs[j]] = gears[j] * min(max(actions[n, j], low[j]), high[j])
    return 0


@entry("i8(f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8,f8[:,::1],f8[::1],f8[:,::1],f8[:,::1])")
def runner(q, u, before, actions, time_step, bounds, numbers, observed, terms):
    """Observations and rewards of robots in a vertical plane, whose first coordinate is how far they are.

    Args:
        q, u: positions and velocities (worlds, dofs).
        before: positions before the step.
        bounds: (2, 2 dofs - 1) of positions but the first and of velocities, an open interval each, of what is healthy.
        time_step: from one action to the next.
        numbers: weights of speed, effort and health, and the largest velocity that is observed.
        observed: (worlds, numbers), written: the last positions, for which there is room, and velocities.
        terms: (5, worlds), written: rewards of speed, of health and of effort, the speed, whether it is healthy.
    """
    dofs = q.shape[1]
    skip = 2 * dofs - observed.shape[1]
    for n in range(q.shape[0]):
        healthy = True
        for k in range(1, dofs):
            healthy = healthy and bounds[0, k - 1] < q[n, k] < bounds[1, k - 1]
        for k in range(dofs):
            healthy = healthy and bounds[0, dofs - 1 + k] < u[n, k] < bounds[1, dofs - 1 + k]
            observed[n, dofs - skip + k] = min(max(u[n, k], -numbers[3]), numbers[3])
        for k in range(skip, dofs):
            observed[n, k - skip] = q[n, k]
        effort = 0.0
        for k in range(actions.shape[1]):
            effort += actions[n, k] * actions[n, k]
        speed = (q[n, 0] - before[n, 0]) / time_step
        terms[0, n], terms[2, n], terms[3, n] = numbers[0] * speed, -numbers[1] * effort, speed
        terms[1, n], terms[4, n] = (numbers[2], 1.0) if healthy else (0.0, 0.0)
    return 0


@entry("i8(f8[:,::1],f8[:,::1],f8[:,::1],i8,f8[:,::1],f8[:,:,::1],f8,f8[::1],f8[:,::1])")
def measure(q, places, before, first, actions, wrenches, time_step, numbers, terms):
    """Rewards of robots that float, whose coordinates 3, 4 and 5 are their place.

    Args:
        q: positions (worlds, dofs).
        places, before: of what moves forward, after the step and before: x in column `first`, then y.
        wrenches: (worlds, bodies, 6) of contacts.
        time_step: from one action to the next.
        numbers: weights of speed, effort, health and wrenches, the least and the greatest height of what is healthy,
            the least and the greatest cost of wrenches.
        terms: (8, worlds), written: rewards of speed, of health, of effort and of wrenches, velocities along x and y,
            distance from the origin, whether it is healthy.
    """
    for n in range(q.shape[0]):
        vx = (places[n, first] - before[n, first]) / time_step
        vy = (places[n, first + 1] - before[n, first + 1]) / time_step
        effort, pressed = 0.0, 0.0
        for k in range(actions.shape[1]):
            effort += actions[n, k] * actions[n, k]
        for b in range(wrenches.shape[1]):
            for k in range(6):
                pressed += wrenches[n, b, k] * wrenches[n, b, k]
        terms[0, n], terms[2, n] = numbers[0] * vx, -numbers[1] * effort
        terms[3, n] = -min(max(numbers[3] * pressed, numbers[6]), numbers[7])
        terms[4, n], terms[5, n], terms[6, n] = vx, vy, math.sqrt(q[n, 3] * q[n, 3] + q[n, 4] * q[n, 4])
        terms[1, n], terms[7, n] = (numbers[2], 1.0) if numbers[4] <= q[n, 5] <= numbers[5] else (0.0, 0.0)
    return 0


@entry("i8(f8[:,::1],f8[:,::1],f8[:,:,:,::1],f8[:,::1],f8[:,::1])")
def floating_state(q, u, X, places, rates):
    """Positions and velocities of robots whose first joint is free, in MuJoCo's order (`locomotion.floating`).

    Args:
        X: world transforms of bodies, of which the first is that of the free joint.
        places: (worlds, dofs + 1), written: place, quaternion, joints.
        rates: (worlds, dofs), written: velocity in world axes, angular velocity in body axes, joints.
    """
    for n in range(q.shape[0]):
        angle = math.sqrt(q[n, 0] ** 2 + q[n, 1] ** 2 + q[n, 2] ** 2)
        part = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
        places[n, 3] = math.cos(0.5 * angle)
        for i in range(3):
            places[n, i], places[n, 4 + i] = q[n, 3 + i], part * q[n, i]
            rates[n, i] = X[n, 0, i, 0] * u[n, 3] + X[n, 0, i, 1] * u[n, 4] + X[n, 0, i, 2] * u[n, 5]
            rates[n, 3 + i] = u[n, i]
        for k in range(6, q.shape[1]):
            places[n, k + 1], rates[n, k] = q[n, k], u[n, k]
    return 0


@entry("i8(f8[:,:,:,::1],f8[::1],f8[:,::1],f8[:,:,::1],f8[:,::1])")
def centres(X, mass, com, of_bodies, of_all):
    """Centres of mass of bodies and of all of them, from their transforms.

    Args:
        mass, com: of bodies, in their axes.
        of_bodies: (worlds, bodies, 3), of_all: (worlds, 3); written.
    """
    for n in range(X.shape[0]):
        total = 0.0
        for i in range(3):
            of_all[n, i] = 0.0
        for b in range(X.shape[1]):
            total += mass[b]
            for i in range(3):
                place = X[n, b, i, 0] * com[b, 0] + X[n, b, i, 1] * com[b, 1] + X[n, b, i, 2] * com[b, 2]
                of_bodies[n, b, i] = place + X[n, b, i, 3]
                of_all[n, i] += mass[b] * of_bodies[n, b, i]
        for i in range(3):
            of_all[n, i] /= total
    return 0


@entry("i8(f8[:,:,:,::1],f8[::1],f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,:,::1])")
def inertias_about(X, mass, moment, of_bodies, centre, found):
    """Inertias of bodies about points (worlds, 3), as `States.inertias` has them; those of `of_bodies` are `moment`."""
    for n in range(X.shape[0]):
        for b in range(X.shape[1]):
            x, y, z = (of_bodies[n, b, 0] - centre[n, 0], of_bodies[n, b, 1] - centre[n, 1],
                       of_bodies[n, b, 2] - centre[n, 2])  # fmt: skip
            f = found[n, b]
            for k in range(6):
                i, j = (k, k) if k < 3 else ((0, k - 2) if k < 5 else (1, 2))
                total = 0.0
                for a in range(3):
                    for c in range(3):
                        total += X[n, b, i, a] * moment[b, a, c] * X[n, b, j, c]
                f[k] = total
            f[0] += mass[b] * (y * y + z * z)
            f[1] += mass[b] * (x * x + z * z)
            f[2] += mass[b] * (x * x + y * y)
            f[3] -= mass[b] * x * y
            f[4] -= mass[b] * x * z
            f[5] -= mass[b] * y * z
            f[6], f[7], f[8], f[9] = mass[b] * x, mass[b] * y, mass[b] * z, mass[b]
    return 0


@entry("i8(f8[:,:,:,::1],f8[:,::1],f8[:,:,::1],f8[:,:,::1],i8)")
def wrenches_about(X, centre, given, found, of_velocities):
    """[first; second] vectors of bodies at their origins as those at points (worlds, 3).

    Args:
        of_velocities: 1: [angular velocity; velocity] of the points; 0: [moment; force], whose moment is about them.
    """
    for n in range(X.shape[0]):
        for b in range(X.shape[1]):
            x, y, z = X[n, b, 0, 3] - centre[n, 0], X[n, b, 1, 3] - centre[n, 1], X[n, b, 2, 3] - centre[n, 2]
            first, second = (0, 3) if of_velocities == 0 else (3, 0)
            f0, f1, f2 = given[n, b, second], given[n, b, second + 1], given[n, b, second + 2]
            found[n, b, first] = given[n, b, first] + y * f2 - z * f1
            found[n, b, first + 1] = given[n, b, first + 1] + z * f0 - x * f2
            found[n, b, first + 2] = given[n, b, first + 2] + x * f1 - y * f0
            found[n, b, second], found[n, b, second + 1], found[n, b, second + 2] = f0, f1, f2
    return 0
