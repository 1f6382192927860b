"""What a compiled integration reads and writes besides the tree and its data.

A step is a function of the address and a stage. Stage 0 begins the step. A number above 0 that it returns says
that joint forces are wanted at the time `clock[NOW]` and at the state in the data, and with which stage the
function is to be called again once they are in `command`; 0 says that the step is done, a number below 0 why
it failed. Where forces are constant nobody returns to Python for them.

A system whose accelerations are not those of the free tree, such as one with closed loops, brings callbacks of its
own, called as `callback(owner, motion, 0, 0)` with the address of its container and of this one: ACCELERATE_AT writes
udot of the state in the data; PROJECT_AT brings the state of a stage, and CLOSE_AT that of the end of a step, onto
what the system takes for granted. Each returns 0 or a status.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integers

# Entries of `table`: addresses of containers and of the step function, then those of a system with callbacks.
TREE_AT, DATA_AT, NEXT_AT, STEP_AT, OWNER_AT, ACCELERATE_AT, PROJECT_AT, CLOSE_AT = range(8)

# Entries of `at`: where the integration is, what it is asked for, and counts.
(
    OUTPUT,  # the next of the requested times
    PART,  # steps done since the one before
    STAGE,
    ASKS,  # 1: return to Python for joint forces
    ADAPTIVE,  # 1: step sizes follow the error
    DENSE,  # 1: requested times within a step are interpolated
    STAGES,  # of an explicit Runge-Kutta method
    REUSE,  # 1: the last evaluation of the step before is the first of this one
    RETRY,  # 1: the step before was rejected
    MAX_STEPS,
    MAX_ITERATIONS,
    STEPS,
    REJECTED,
    EVALUATIONS,
    ITERATIONS,
    WORST_ITERATIONS,
    ALTERED,  # 1: what closes a step alters its end, so that no evaluation is used twice
) = range(17)

# Entries of `clock` [s]: start and size of the step, time of the state in the data, the size that comes next.
START, SIZE, NOW, NEXT_SIZE, ERROR, LAST_ERROR = range(6)

# Entries of `setting`.
MAX_STEP, RTOL, ATOL, TOLERANCE = range(4)

# What `progress` returns. Below FAILED: FAILED - 1 - k says that coordinate k sees no inertia.
DONE, PAUSED, FORCES = 0, 1, 2
NOT_FINITE, TOO_SMALL, TOO_MANY, NOT_SOLVED, NOT_CLOSED, FAILED = -1, -2, -3, -4, -5, -6


class MOTION(Struct):
    table = integers(8, doc="addresses of containers and of functions")
    at = integers(17, doc="progress, requests and counts")
    clock = floats(8, unit="s")
    setting = floats(4, doc="largest step [s], tolerances")
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
