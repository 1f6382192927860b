"""Table of the workspace in which derivatives are computed.

Spatial vectors here are about one point at rest for a whole tree, where its root body's origin is now: to add
two of them needs no shift, and moving a coordinate turns everything beyond it about the same point. Fields with
one column per coordinate keep it in their last index, so that loops over coordinates run through memory.

Which coordinates matter to which is a list of runs of neighbours: `above` the coordinates that move coordinate
k's joint, ending with the run [s, k) of those right before k (empty where there are none); `below` those that k
moves, starting with the run [k + 1, e). So every list has at least one run.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integers

COMPOSITE = 31  # numbers in a row of `composite`


class DERIVATIVES(Struct):
    above = integers("dofs1", doc="first run of coordinates above each coordinate; the last entry is the total")
    above_run = integers("above_runs", 2, doc="first coordinate of a run, and the one after its last")
    below = integers("dofs1", doc="first run of coordinates below each coordinate; the last entry is the total")
    below_run = integers("below_runs", 2, doc="first coordinate of a run, and the one after its last")
    carried = integers("dofs", doc="end of the run of the joint's columns that do not move with coordinate k")
    r = floats("bodies", 3, unit="m", doc="body origin from the tree's point, world axes")
    V = floats("bodies", 6, unit="rad/s, m/s", doc="spatial velocity")
    A = floats("bodies", 6, unit="rad/s^2, m/s^2", doc="spatial acceleration (Featherstone's), plus minus gravity")
    S = floats(6, "dofs", doc="motion column of each coordinate")
    dV = floats(6, "dofs", doc="dV/dq_k of a body beyond k is S_k x V + dV_k")
    dA = floats(6, "dofs", doc="dA/dq_k of a body beyond k is S_k x A + dV_k x V + dA_k")
    dA_du = floats(6, "dofs", doc="dA/du_k of a body beyond k is S_k x V + dA_du_k")
    composite = floats("bodies", COMPOSITE, doc="of a body and all beyond it, as kido.kernels.derivatives says")
    load = floats("bodies", 15, doc="how forces in fixed axes resist being turned, with all beyond")
    has_load = integers("bodies", doc="1 if any number of `load` is not zero")
    Y = floats(6, "dofs", doc="momentum of all beyond k for unit u_k")
    dF_dq = floats(6, "dofs", doc="derivative of the force on all beyond k with respect to q_k")
    dF_du = floats(6, "dofs", doc="the same with respect to u_k")
    L = floats("dofs", "dofs", doc="M = L^T D L: strictly lower part, of coordinates above each other")
    X = floats(2, "dofs", "columns", doc="right-hand sides and solutions with M, where `rows` says no other")
    rows = integers(2, doc="addresses of two ROWS containers of one X, by numbers and by blocks of neighbours")


class ROWS(Struct):
    X = floats(2, "dofs", "columns", doc="right-hand sides and solutions with M")
