"""What a compiled step of a world reads and writes besides the forest itself."""

from __future__ import annotations

from kido.jit import Struct, floats, integers
from kido.jit.team import MOST_THREADS

# Entries of `table`: containers (_AT), and the stages of a step as callbacks; 0 for what a world does not need.
# What every world has; without SOLVE the solution comes from Python.
TREE_AT, DATA_AT, COLLISION_AT, PROBLEM_AT, ROW_ORIGINS_AT = range(5)
PREDICT, DETECT, ASSEMBLE, SOLVE, RESTITUTE, PROJECT_POSITIONS, INTEGRATE, ACTUATE = range(5, 13)
# Constraints between bodies (kido.simulation.loops). LOOP_USER is not 0 where rows come from Python in each step.
LOOPS_AT, LOOP_START, LOOP_PREDICT, LOOP_FREE, LOOP_ROWS, LOOP_CLOSE, LOOP_USER, USERS_AT = range(16, 24)
# Team of threads (kido.jit.team): stages that share islands out, callbacks that do a share of trees or islands, and
# those of one island.
TEAM_AT, SOLVE_TEAM, PROJECT_TEAM, PREDICT_SHARE, INTEGRATE_SHARE, SOLVE_SHARE, PROJECT_SHARE = range(24, 31)
BEGIN_ISLANDS, SOLVE_ONE, END_ISLANDS, PROJECT_ONE = range(31, 35)
# Soft bodies (kido.simulation.soft_contact, soft_balance).
SOFT_AT, SOFT_ASSEMBLE, SOFT_INTEGRATE, SOFT_BALANCE = range(35, 39)
# Sleeping trees, and listeners to contacts.
SLEEP_AT, SLEEPING, EVENTS_AT, EVENTS = range(39, 43)
AGGREGATES_AT = 43  # skeletons whose loops are aggregates (kido.simulation.aggregates); 0: none
TABLE_SIZE = 44

# Entries of `worst`, the largest over all steps so far, and of `last`, those of the last step.
PENETRATION, RESIDUAL, ITERATIONS, STATUS, NUM_CONTACTS, DISSIPATION, FALLBACKS, BOUNCES = range(8)
CORRECTION_ENERGY = 8  # of `last`; `worst` has the sum over all steps
REPORT_SIZE = 16


class WORLD(Struct):
    table = integers(TABLE_SIZE, doc="addresses of containers and stages")
    time_step = floats(1, unit="s")
    steps = integers(1, doc="steps done")
    unconverged = integers(1, doc="steps whose contact problem was not solved to its tolerance")
    start_u = floats("dofs", doc="velocities at the start of the step, free joints in fixed axes")
    command = floats("dofs", unit="N, N m", doc="joint forces as given, while a step uses the array")
    target = floats("dofs", doc="DATA.command, as the last step used it")
    constraint_force = floats("dofs", unit="N, N m", doc="contact and constraint impulses over the time step")
    drive_force = floats("dofs", unit="N, N m", doc="of prescribed coordinates: actuator, contacts and constraints")
    actuator_force = floats("dofs", unit="N, N m", doc="what actuators gave in the last step")
    share = integers(1, doc="trees that a thread takes at a time")
    failed = integers(MOST_THREADS, doc="of each thread: 1 + a coordinate whose inertia is not positive; 0: none")
    problem_of = integers(MOST_THREADS, doc="address of each thread's PROBLEM (kido.solvers.problem.worker_problem)")
    last = floats(REPORT_SIZE, doc="report of the last step")
    worst = floats(REPORT_SIZE, doc="worst values over all steps since the world was made or its report reset")
