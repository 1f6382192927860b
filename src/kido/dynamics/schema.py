"""What the compiled solvers of constrained dynamics read and write besides tree, data and rows.

A solver is three stages of a DYNAMICS struct y:

* `y.accelerate(y)` reads q, u of the data, `command`, `given`, external forces and the rates that rows
  prescribe. It writes udot and A of the data, and `multiplier`, `constraint_force`, `redundant`, `residual`, `rank`.
* `y.project_dependent(y)` brings q and u of the data onto what the solver takes for granted. Where it
  takes nothing it does nothing.
* `y.respond(y)` reads q of the data, the generalized impulse `impulse` and the change `jump` of G u. It
  writes `change` with M change = impulse + G^T multiplier and G change = jump.

They return 0, or a number below 0: FAILED - 1 - k (kido.integrators.schema) says that coordinate k sees no inertia.
"""

from __future__ import annotations

from kido.constraints.loop_schema import LOOPS
from kido.jit import Struct, floats, integer, integers, reference, stage
from kido.tree.schema import DATA, TREE


class DYNAMICS(Struct):
    tree = reference(TREE)
    data = reference(DATA, doc="the state")
    loops = reference(LOOPS, doc="constraints whose rows hold")
    own = integer(doc="address of the struct that the solver keeps besides: AUGMENTED, CUT or EMBEDDING")
    accelerate = stage(doc="accelerations and multipliers at the state")
    project_dependent = stage(doc="the state onto what the solver takes for granted")
    respond = stage(doc="velocities that change by impulses")
    num_rows = integer(doc="rows that hold")
    rank = integer(doc="how many of them are independent")
    passive = integer(doc="1: with springs and dampers of joints")
    evaluations = integer(doc="calls of `accelerate`")
    command = floats("dofs", unit="N, N m", doc="joint forces as given")
    given = floats("dofs", unit="m/s^2 or rad/s^2", doc="accelerations of prescribed coordinates")
    aim = floats("slots", unit="m or rad", doc="value of phi that a row is driven to")
    rate = floats("slots", unit="m/s or rad/s", doc="U: rate that a row prescribes")
    rate_change = floats("slots", unit="m/s^2 or rad/s^2", doc="its derivative by time")
    multiplier = floats("slots", unit="N or N m", doc="force of each row, on its second body")
    redundant = integers("slots", doc="1: the row follows from others")
    residual = floats("slots", unit="m/s^2 or rad/s^2", doc="G udot - gamma that is left")
    constraint_force = floats("dofs", unit="N, N m", doc="G^T multiplier")
    load = floats("dofs", unit="N, N m", doc="joint forces of what acts along the free axes of constraints")
    impulse = floats("dofs", unit="N s, N m s", doc="generalized impulse of a response")
    jump = floats("slots", unit="m/s or rad/s", doc="change of G u that a response has")
    change = floats("dofs", unit="m/s or rad/s", doc="velocities that a response changes by")
    step = floats("dofs", unit="m/s or rad/s", doc="work: change of velocities or accelerations in one round")
    by_row = floats("rows", doc="work: numbers of all rows")
    wrench = floats("bodies", 6, unit="N m, N", doc="work: wrenches on links about their origins")
    Y = floats("bodies", 21, doc="work: compliance of each link (kido.kernels.operational_space)")
    work = floats("dofs", doc="work: numbers of all coordinates")
