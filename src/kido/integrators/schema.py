"""What a compiled integration reads and writes besides the tree and its data.

A step is a function of the address and a stage. Stage 0 begins the step. A number above 0 that it returns says
that joint forces are wanted at the time `now` and at the state in the data, and with which stage the
function is to be called again once they are in `command`; 0 says that the step is done, a number below 0 why
it failed. Where forces are constant nobody returns to Python for them.

A system whose accelerations are not those of the free tree, such as one with closed loops, brings stages of its own,
called as `m.accelerate(m.owner, m)`: `accelerate` writes udot of the state in the data; `project` brings the state of
a stage, and `close` that of the end of a step, onto what the system takes for granted. Methods with implicit springs
and dampers ask in two parts: `articulate`, poses and articulated inertias with joints implicit over the time
`implicit`; and `give_way`, udot from tau and the velocities there. Each returns 0 or a status.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers, number, reference, stage
from kido.tree.schema import DATA, TREE

# What `progress` returns. Below FAILED: FAILED - 1 - k says that coordinate k sees no inertia.
DONE, PAUSED, FORCES = 0, 1, 2
NOT_FINITE, TOO_SMALL, TOO_MANY, NOT_SOLVED, NOT_CLOSED, FAILED = -1, -2, -3, -4, -5, -6


class MOTION(Struct):
    tree = reference(TREE)
    data = reference(DATA, doc="the state that the integration works on")
    end_data = reference(DATA, doc="the state at the end of a step, for methods that look ahead")
    step = stage(doc="the method's step")
    owner = integer(doc="address of a system with stages of its own, which they are called with")
    accelerate = stage(doc="of such a system: accelerations of the state in the data")
    articulate = stage(doc="of such a system: poses and articulated inertias")
    give_way = stage(doc="of such a system: accelerations by tau, after `articulate`")
    project = stage(doc="of such a system: the state of a stage onto what it takes for granted")
    close = stage(doc="of such a system: the same at the end of a step")
    output = integer(doc="the next of the requested times")
    part = integer(doc="steps done since the one before")
    at_stage = integer(doc="stage that `step` is called with next")
    asks = integer(doc="1: return to Python for joint forces")
    adaptive = integer(doc="1: step sizes follow the error")
    dense = integer(doc="1: requested times within a step are interpolated")
    num_stages = integer(doc="of an explicit Runge-Kutta method")
    reuses = integer(doc="1: the last evaluation of the step before is the first of this one")
    retries = integer(doc="1: the step before was rejected")
    altered = integer(doc="1: what closes a step alters its end, so that no evaluation is used twice")
    max_steps = integer()
    max_iterations = integer()
    steps = integer(doc="accepted steps")
    rejected = integer(doc="rejected steps")
    evaluations = integer(doc="of accelerations")
    iterations = integer(doc="of Newton's method")
    worst_iterations = integer(doc="of one step")
    start = number("s", doc="start of the step")
    size = number("s", doc="size of the step")
    now = number("s", doc="time of the state in the data")
    implicit = number("s", doc="of `articulate`: time over which springs and dampers are implicit")
    next_size = number("s", doc="size of the next step")
    error = number(doc="of the step; 1 is just tolerated")
    last_error = number(doc="of the step before")
    max_step = number("s", doc="largest step")
    rtol = number(doc="relative tolerance of the error")
    atol = number(doc="absolute tolerance of the error")
    tolerance = number(doc="of an implicit method's equation")
    A = floats(8, 8, doc="Runge-Kutta coefficients of the stages")
    b = floats(8, doc="Runge-Kutta weights")
    db = floats(8, doc="weights less those of the embedded method")
    c = floats(8, doc="times of the stages, as shares of the step")
    db_dense = floats(8, doc="weights of the last term of the interpolant")
    command = floats("dofs", unit="N, N m", doc="joint forces as given")
    given = floats("dofs", doc="accelerations of prescribed coordinates")
    counted = integers("dofs", doc="1: the error of the coordinate counts; 0: it follows from those of others")
    q0 = floats("dofs", doc="positions at the start of the step")
    u0 = floats("dofs", doc="velocities there, free joints in fixed axes")
    x = floats("dofs", doc="displacement from q0 along the velocities")
    y = floats("dofs", doc="correction of velocities, or positions set aside")
    u1 = floats("dofs", doc="velocities set aside")
    K = floats(8, "dofs", doc="rate of x at the stages")
    L = floats(8, "dofs", doc="rate of u at the stages")
    W = floats("bodies", 6, unit="N m s, N s", doc="momentum and impulse of each body about its origin")
    times = floats("outputs", unit="s", doc="requested times, the first that of the start")
    Q = floats("outputs", "dofs", doc="positions at those times")
    U = floats("outputs", "dofs", doc="velocities at those times")
