"""What the compiled solvers of constrained dynamics read and write besides tree, data and rows.

A solver is a set of callbacks over the address of a DYNAMICS container, found in its `table`:

* `accelerate(address, 0, 0, 0)` reads q, u of the data, `command`, `given`, external forces and the rates that rows
  prescribe. It writes udot and A of the data, and `multiplier`, `constraint_force`, `redundant`, `residual`, RANK.
* `project_dependent(address, 0, 0, 0)` brings q and u of the data onto what the solver takes for granted. Where it
  takes nothing it does nothing.
* `respond(address, 0, 0, 0)` reads q of the data, the generalized impulse `impulse` and the change `jump` of G u. It
  writes `change` with M change = impulse + G^T multiplier and G change = jump.

They return 0, or a number below 0: FAILED - 1 - k (kido.integrators.schema) says that coordinate k sees no inertia.
"""

from __future__ import annotations

from kido.jit import Field, Schema

# Entries of `table`: addresses of containers, then those of callbacks.
TREE_AT, DATA_AT, LOOPS_AT, OWN_AT, ACCELERATE_AT, PROJECT_AT, RESPOND_AT = range(7)

# Entries of `count`.
SLOTS, RANK, PASSIVE, EVALUATIONS = range(4)

DYNAMICS = Schema(
    "DYNAMICS",
    Field("table", "i", (8,), doc="addresses of containers and callbacks"),
    Field("count", "i", (8,), doc="rows that hold, their rank, 1: with springs and dampers, evaluations"),
    Field("command", "f", ("dofs",), "N, N m", "joint forces as given"),
    Field("given", "f", ("dofs",), "m/s^2 or rad/s^2", "accelerations of prescribed coordinates"),
    Field("aim", "f", ("slots",), "m or rad", "value of phi that a row is driven to"),
    Field("rate", "f", ("slots",), "m/s or rad/s", "U: rate that a row prescribes"),
    Field("rate_change", "f", ("slots",), "m/s^2 or rad/s^2", "its derivative by time"),
    Field("multiplier", "f", ("slots",), "N or N m", "force of each row, on its second body"),
    Field("redundant", "i", ("slots",), doc="1: the row follows from others"),
    Field("residual", "f", ("slots",), "m/s^2 or rad/s^2", "G udot - gamma that is left"),
    Field("constraint_force", "f", ("dofs",), "N, N m", "G^T multiplier"),
    Field("load", "f", ("dofs",), "N, N m", "joint forces of what acts along the free axes of constraints"),
    Field("impulse", "f", ("dofs",), "N s, N m s", "generalized impulse of a response"),
    Field("jump", "f", ("slots",), "m/s or rad/s", "change of G u that a response has"),
    Field("change", "f", ("dofs",), "m/s or rad/s", "velocities that a response changes by"),
    Field("step", "f", ("dofs",), "m/s or rad/s", "work: change of velocities or accelerations in one round"),
    Field("by_row", "f", ("rows",), doc="work: numbers of all rows"),
    Field("wrench", "f", ("bodies", 6), "N m, N", "work: wrenches on links about their origins"),
    Field("Y", "f", ("bodies", 21), doc="work: compliance of each link (kido.kernels.operational_space)"),
    Field("work", "f", ("dofs",), doc="work: numbers of all coordinates"),
)
