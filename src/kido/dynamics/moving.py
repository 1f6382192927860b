"""Callbacks by which an integration moves a constrained system: accelerations, and states brought onto its rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kido.constraints.closure import DIGITS_TOLERANCE, MOTION_TOLERANCE, newton_closure, share_of_move
from kido.constraints.loop_factor import measure_all
from kido.dynamics.rows import rates_of
from kido.dynamics.schema import (
    DYNAMICS,
)
from kido.integrators.schema import FAILED, MOTION, NOT_CLOSED
from kido.jit import Struct, callback, floats, integer, kernel, number, reference, view
from kido.kernels.integration import advance
from kido.kernels.kinematics import transforms

MAX_MOTION_STEPS = 25  # of Newton's method
MOTION_RATE_TOLERANCE = 1e-14  # error of a rate, as a share of the largest velocity, that is rounding

ALONE = 1  # accelerations, without the constraints' forces where these are extra


class MOVING(Struct):
    solver = reference(DYNAMICS)
    fallback = reference(DYNAMICS, doc="solver near singular positions, if `solver` needs one")
    uses_fallback = integer(doc="1: the fallback is in use")
    used_fallback = integer(doc="1: it was before the last decision")
    lever = number(doc="least lever after the last step")
    lever_before = number(doc="the lever before that")
    decided_at = number("s", doc="start of the step after which it was decided")
    whole = integer(doc="1: the constraints' forces are wanted too")
    status = integer(doc="of the last response in a closure: 0, or below")
    alpha = number("1/s", doc="gain of Baumgarte's method for rates")
    beta = number("1/s", doc="its gain for values")
    driven_at = number("s", doc="time of `aim`, `rate` and `rate_change`")
    aim = floats("slots", unit="m or rad", doc="value of phi that rows are driven to at that time")
    rate = floats("slots", unit="m/s or rad/s", doc="its rate")
    rate_change = floats("slots", unit="m/s^2 or rad/s^2", doc="the rate of that")
    found = floats("slots", doc="work: G u")
    u = floats("dofs", doc="work: velocities set aside")


@kernel
def in_use(g):
    """The solver that is in use."""
    if g.uses_fallback != 0:
        return g.fallback
    return g.solver


@kernel
def drive(g, y, time):
    """What rows are driven to at a time, from what was noted last: exact where rates change evenly."""
    dt = time - g.driven_at
    for s in range(y.num_rows):
        y.aim[s] = g.aim[s] + dt * (g.rate[s] + 0.5 * dt * g.rate_change[s])
        y.rate[s] = g.rate[s] + dt * g.rate_change[s]
        y.rate_change[s] = g.rate_change[s]


@kernel
def measure(t, d, lp, y):
    """Transforms, values and directions of rows."""
    transforms(t, d, 0, t.parent.shape[0])
    measure_all(d, lp)


@kernel
def openness(lp, y):
    """Largest |phi - aim|."""
    largest = 0.0
    for s in range(y.num_rows):
        value = math.fabs(lp.phi[lp.slot[s]] - y.aim[s])
        if not value <= largest:
            largest = value
    return largest


@kernel
def solver_status(status):
    """What a solver's status is to an integration."""
    return NOT_CLOSED if FAILED <= status < 0 else status


@kernel
def respond(g, y):
    """Velocities that change the rates of rows by `jump`, by the solver in use. Returns 0 or a status."""
    for k in range(y.impulse.shape[0]):
        y.impulse[k] = 0.0
    return solver_status(y.respond(y))


@kernel
def move_positions(t, d, lp, g, y, _z):
    """q <- q (+) -M^-1 G^T S^+ (phi - aim), as `newton_closure` asks; d.u is used up."""
    for s in range(y.num_rows):
        y.jump[s] = y.aim[s] - lp.phi[lp.slot[s]]
    g.status = respond(g, y)
    if g.status < 0:
        return False
    largest = 0.0
    for k in range(d.q.shape[0]):
        d.u[k] = y.change[k]
        largest = max(largest, math.fabs(y.change[k]))
    advance(t, d, 0, t.parent.shape[0], share_of_move(largest))
    return True


class Moves(NamedTuple):
    """Kernels by which states are moved onto rows, and accelerations taken; see `moves_by`."""

    close_positions: Any
    close_velocities: Any
    accelerate: Any
    project_velocities: Any
    project: Any


def moves_by(close_rows: Any, measure: Any, rates: Any) -> Moves:
    """Kernels that know how a tree is placed.

    Args:
        close_rows: `newton_closure` by that `measure` and `move_positions`.
        measure: kernel (t, d, lp, y): transforms, values and directions of rows at the positions.
        rates: kernel (t, d, lp, y, u, out): G u at the velocities u, which are those of the data.
    """

    @kernel
    def close_positions(t, d, lp, g, y):
        """Positions onto phi = aim by the least motion in kinetic energy. Returns 0 or a status."""
        for k in range(d.q.shape[0]):
            g.u[k] = d.u[k]
        g.status = 0
        error = close_rows(t, d, lp, g, y, 0, MOTION_TOLERANCE, MAX_MOTION_STEPS)
        for k in range(d.q.shape[0]):
            d.u[k] = g.u[k]
        return NOT_CLOSED if g.status == 0 and not error <= DIGITS_TOLERANCE else g.status

    @kernel
    def close_velocities(t, d, lp, g, y):
        """u <- u - M^-1 G^T S^+ (G u - U); `measure` was done. Returns 0 or a status."""
        before = math.inf
        for _ in range(2):
            rates(t, d, lp, y, d.u, g.found)
            largest, speed = 0.0, 0.0
            for s in range(y.num_rows):
                y.jump[s] = y.rate[s] - g.found[s]
                largest = max(largest, math.fabs(y.jump[s]))
            for k in range(d.u.shape[0]):
                speed = max(speed, math.fabs(d.u[k]))
            if not largest > MOTION_RATE_TOLERANCE * speed or not largest < 0.5 * before:
                break
            before = largest
            status = respond(g, y)
            if status < 0:
                return status
            for k in range(d.u.shape[0]):
                d.u[k] += y.change[k]
        return 0

    @kernel
    def accelerate_rows(g, m):
        """The solver's accelerations, with Baumgarte's terms if there are gains."""
        y = in_use(g)
        for k in range(m.command.shape[0]):
            y.command[k], y.given[k] = m.command[k], m.given[k]
        drive(g, y, m.now)
        alpha, beta = g.alpha, g.beta
        if alpha > 0.0:
            t, d, lp = y.tree, y.data, y.loops
            measure(t, d, lp, y)
            rates(t, d, lp, y, d.u, g.found)
            for s in range(y.num_rows):
                y.rate_change[s] -= 2.0 * alpha * (g.found[s] - y.rate[s])
                y.rate_change[s] -= beta * beta * (lp.phi[lp.slot[s]] - y.aim[s])
        part = 0 if g.whole != 0 else ALONE
        return solver_status(y.accelerate(y, part))

    @kernel
    def project_rates(g, m):
        """Velocities of a stage onto G u = U."""
        y = in_use(g)
        t, d, lp = y.tree, y.data, y.loops
        drive(g, y, m.now)
        measure(t, d, lp, y)
        return close_velocities(t, d, lp, g, y)

    @kernel
    def project_rows(g, m):
        """The end of a step onto phi = aim and G u = U."""
        y = in_use(g)
        t, d, lp = y.tree, y.data, y.loops
        drive(g, y, m.now)
        status = close_positions(t, d, lp, g, y)
        return status if status < 0 else close_velocities(t, d, lp, g, y)

    return Moves(close_positions, close_velocities, accelerate_rows, project_rates, project_rows)


@kernel
def measure_positions(t, d, lp, _g, y, _z):
    """Rows at the positions, as `newton_closure` asks."""
    measure(t, d, lp, y)
    return openness(lp, y)


_moves = moves_by(newton_closure(measure_positions, move_positions), measure, rates_of)
close_positions, close_velocities, accelerate_rows, project_rates, project_rows = _moves


@callback
def accelerate(owner, motion, _a, _b):
    """See `kido.integrators.schema`."""
    return accelerate_rows(view(MOVING, owner), view(MOTION, motion))


@callback
def project_velocities(owner, motion, _a, _b):
    """See `kido.integrators.schema`."""
    return project_rates(view(MOVING, owner), view(MOTION, motion))


@callback
def project(owner, motion, _a, _b):
    """See `kido.integrators.schema`."""
    return project_rows(view(MOVING, owner), view(MOTION, motion))
