"""Table of the workspace in which derivatives are computed.

Spatial vectors here are about one point at rest for a whole tree, where its root body's origin is now: to add
two of them needs no shift, and moving a coordinate turns everything beyond it about the same point. Fields with
one column per coordinate keep it in their last index, so that loops over coordinates run through memory.

Which coordinates matter to which is a list of runs of neighbours: `above` the coordinates that move coordinate
k's joint, ending with the run [s, k) of those right before k (empty where there are none); `below` those that k
moves, starting with the run [k + 1, e). So every list has at least one run.
"""

from __future__ import annotations

from kido.jit import Field, Schema

COMPOSITE = 31  # numbers in a row of `composite`

DERIVATIVES = Schema(
    "DERIVATIVES",
    Field("above", "i", ("dofs1",), doc="first run of coordinates above each coordinate; the last entry is the total"),
    Field("above_run", "i", ("above_runs", 2), doc="first coordinate of a run, and the one after its last"),
    Field("below", "i", ("dofs1",), doc="first run of coordinates below each coordinate; the last entry is the total"),
    Field("below_run", "i", ("below_runs", 2), doc="first coordinate of a run, and the one after its last"),
    Field("carried", "i", ("dofs",), doc="end of the run of the joint's columns that do not move with coordinate k"),
    Field("r", "f", ("bodies", 3), "m", "body origin from the tree's point, world axes"),
    Field("V", "f", ("bodies", 6), "rad/s, m/s", "spatial velocity"),
    Field("A", "f", ("bodies", 6), "rad/s^2, m/s^2", "spatial acceleration (Featherstone's), plus minus gravity"),
    Field("S", "f", (6, "dofs"), doc="motion column of each coordinate"),
    Field("dV", "f", (6, "dofs"), doc="dV/dq_k of a body beyond k is S_k x V + dV_k"),
    Field("dA", "f", (6, "dofs"), doc="dA/dq_k of a body beyond k is S_k x A + dV_k x V + dA_k"),
    Field("dA_du", "f", (6, "dofs"), doc="dA/du_k of a body beyond k is S_k x V + dA_du_k"),
    Field("composite", "f", ("bodies", COMPOSITE), doc="of a body and all beyond it, as kido.kernels.derivatives says"),
    Field("load", "f", ("bodies", 15), doc="how forces in fixed axes resist being turned, with all beyond"),
    Field("has_load", "i", ("bodies",), doc="1 if any number of `load` is not zero"),
    Field("Y", "f", (6, "dofs"), doc="momentum of all beyond k for unit u_k"),
    Field("dF_dq", "f", (6, "dofs"), doc="derivative of the force on all beyond k with respect to q_k"),
    Field("dF_du", "f", (6, "dofs"), doc="the same with respect to u_k"),
    Field("L", "f", ("dofs", "dofs"), doc="M = L^T D L: strictly lower part, of coordinates above each other"),
    Field("X", "f", (2, "dofs", "columns"), doc="right-hand sides and solutions with M, where `rows` says no other"),
    Field("rows", "i", (2,), doc="addresses of two ROWS containers of one X, by numbers and by blocks of neighbours"),
)

ROWS = Schema("ROWS", Field("X", "f", (2, "dofs", "columns"), doc="right-hand sides and solutions with M"))
