"""What is observed of robots' bodies, compiled: loops over worlds, in each of which the others do not matter."""

from __future__ import annotations

import math

from kido.jit import entry

__all__ = ["centres", "floating_state", "inertias_about", "wrenches_about"]


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
