"""Single bodies on free joints in a step: gathered into lanes, moved eight at a time, scattered.

`kido.kernels.free_lanes` has the equations. Whether a body goes by lanes depends on what it is and
what acts on it alone, and lanes do not see each other: so results depend neither on threads nor on other bodies.
"""

from __future__ import annotations

from kido.jit import LANES, kernel, lanes_view, view
from kido.joints.frames import rotation_of
from kido.kernels.free_lanes import (
    BODY_NUMBERS,
    CONSTANTS,
    FORCE,
    FREE_LANES,
    NEW_U,
    NOT_FREE,
    OUT_MC,
    OUT_Q,
    OUT_R,
    OUT_START,
    OUT_U,
    OUT_V,
    START_U,
    Q,
    U,
    centre_of_mass,
    fall,
    land,
    offset_velocity,
)
from kido.simulation.correction import free_shares
from kido.simulation.free_momentum import turned


@kernel
def only_falls(t, d, r, body):
    """Whether a body is free and nothing but gravity acts on it."""
    if r.free[body] == NOT_FREE or d.has_external[body] != 0:
        return False
    k = t.first_dof[body]
    tau = d.tau
    return (
        tau[k] == 0.0
        and tau[k + 1] == 0.0
        and tau[k + 2] == 0.0
        and tau[k + 3] == 0.0
        and tau[k + 4] == 0.0
        and tau[k + 5] == 0.0
    )


@kernel
def gather_fall(t, d, r, x, body, lane):
    """What `fall` needs of a body, into a lane of the numbers x."""
    k = t.first_dof[body]
    q, u, number = d.q, d.u, r.number
    for j in range(6):
        x[(Q + j) * LANES + lane] = q[k + j]
        x[(U + j) * LANES + lane] = u[k + j]
    for j in range(BODY_NUMBERS):
        x[(CONSTANTS + j) * LANES + lane] = number[body, j]


@kernel
def scatter_fall(t, d, w, pr, x, body, lane):
    """What `fall` found for a body. Returns whether it is finite."""
    k = t.first_dof[body]
    q, u, V, R = d.q, d.u, d.V, d.R
    sound = 0.0
    for j in range(6):
        q[k + j] = x[(OUT_Q + j) * LANES + lane]
        free = x[(OUT_U + j) * LANES + lane]
        pr.u_free[k + j] = free
        sound += 0.0 * free
        V[body, j] = x[(OUT_V + j) * LANES + lane]
        w.command[k + j] = 0.0
        w.target[k + j] = d.command[k + j]
    for j in range(3):
        w.start_u[k + j] = u[k + j]
        v = x[(OUT_START + j) * LANES + lane]
        w.start_u[k + 3 + j] = v
        u[k + 3 + j] = v
        p = x[(OUT_Q + 3 + j) * LANES + lane]
        d.p[body, j] = p
        d.l[body, j] = p
        d.mc[body, j] = x[(OUT_MC + j) * LANES + lane]
        sound += 0.0 * p
    for j in range(9):
        R[body, j] = x[(OUT_R + j) * LANES + lane]
    return sound + 0.0 * (R[body, 0] + R[body, 1] + R[body, 2]) == 0.0


@kernel
def fall_together(t, d, w, pr, lanes, numbers, count, middle, h):
    """Smooth motion of the bodies in the first lanes. Returns 0, or 1 + a coordinate whose motion is not finite."""
    x = lanes_view(FREE_LANES, lanes).x
    fall(x, (t.gravity[0], t.gravity[1], t.gravity[2]), middle, h)
    c = view(FREE_LANES, numbers)
    status = 0
    for lane in range(count):
        body = c.body[lane]
        if not scatter_fall(t, d, w, pr, c.x, body, lane) and status == 0:
            status = 1 + t.first_dof[body]
    return status


@kernel
def fall_beside(d, w, pr, number, body, k, share):
    """Share of a step's change of velocity by forces of a body's centre of mass.

    Positions by the velocities of the start up to mid-step, and by those of the end after it, lack as much where the
    middle is that share of the step later than h/2.
    """
    c = centre_of_mass(number, body)
    w0, u0 = w.start_u, pr.u_free
    start = turned(d.q, k, (w0[k], w0[k + 1], w0[k + 2]), -w.row_origins.middle[0])
    before = offset_velocity(start, (w0[k], w0[k + 1], w0[k + 2]), c)
    after = offset_velocity(rotation_of(d, body), (u0[k], u0[k + 1], u0[k + 2]), c)
    return (
        share * (u0[k + 3] + after[0] - w0[k + 3] - before[0]),
        share * (u0[k + 4] + after[1] - w0[k + 4] - before[1]),
        share * (u0[k + 5] + after[2] - w0[k + 5] - before[2]),
    )


@kernel
def gather_landing(t, d, w, pr, r, x, body, lane, h, swept):
    """What `land` needs of a body, into a lane of the numbers x."""
    k = t.first_dof[body]
    turn, share = free_shares(pr, k, h, swept)
    late = w.row_origins.middle[0] / h - 0.5
    way = fall_beside(d, w, pr, r.number, body, k, late) if late != 0.0 else (0.0, 0.0, 0.0)
    for j in range(6):
        x[(Q + j) * LANES + lane] = d.q[k + j]
        x[(U + j) * LANES + lane] = (turn if j < 3 else share) * pr.u_position[k + j]
        x[(NEW_U + j) * LANES + lane] = pr.u[k + j]
        x[(START_U + j) * LANES + lane] = w.start_u[k + j]
    for j in range(3):
        x[(U + 3 + j) * LANES + lane] += way[j]
        x[(FORCE + j) * LANES + lane] = w.constraint_force[k + 3 + j]
    for j in range(BODY_NUMBERS):
        x[(CONSTANTS + j) * LANES + lane] = r.number[body, j]


@kernel
def land_together(t, d, w, lanes, numbers, count, rest, h):
    """End of a step of the bodies in the first lanes."""
    land(lanes_view(FREE_LANES, lanes).x, rest, h)
    c = view(FREE_LANES, numbers)
    x = c.x
    for lane in range(count):
        k = t.first_dof[c.body[lane]]
        for j in range(6):
            d.q[k + j] = x[(OUT_Q + j) * LANES + lane]
            d.u[k + j] = x[(OUT_R + j) * LANES + lane]
            d.udot[k + j] = x[(OUT_V + j) * LANES + lane]
        for j in range(3):
            w.constraint_force[k + 3 + j] = x[(OUT_U + j) * LANES + lane]
