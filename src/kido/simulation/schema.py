"""What a compiled step of a world reads and writes: the structs that it works on, its numbers and its stages."""

from __future__ import annotations

from kido.collision.container import COLLISION
from kido.constraints.loop_schema import LOOPS, USER_ROWS
from kido.constraints.row_origins import ROW_ORIGINS
from kido.jit import Struct, floats, integer, integers, number, reference, stage
from kido.jit.team import MOST_THREADS, TEAM
from kido.simulation.aggregates.schema import AGGREGATE_STEP
from kido.solvers.problem import PROBLEM
from kido.tree.schema import DATA, TREE
from kido.tree.soft import SOFT

# Places in a step at which features have stages of their own (kido.simulation.feature).
BEGIN, ASK, EXTEND, CHECK, RESPOND, END = range(6)
MAX_STAGES = 16  # of features at one place


class REPORT(Struct):
    penetration = number("m", doc="depth of the deepest contact")
    residual = number(doc="of the contact problem, the worst island's")
    iterations = number(doc="sweeps and iterations of the contact solver")
    status = number(doc="worst status of a solver")
    num_contacts = number()
    dissipation = number("J", doc="sum of p . v over contacts")
    fallbacks = number(doc="islands that went to the fall-back solver")
    bounces = number(doc="islands with a rebound")
    correction_energy = number("J", doc="brought by the position correction; of the worst report: over all steps")


class WORLD(Struct):
    tree = reference(TREE, doc="the forest of all skeletons")
    data = reference(DATA, doc="its state")
    collision = reference(COLLISION, doc="the detector's pairs and contacts")
    problem = reference(PROBLEM, doc="the contact problem")
    row_origins = reference(ROW_ORIGINS, doc="where its blocks come from")
    last = reference(REPORT, doc="report of the last step")
    worst = reference(REPORT, doc="worst values over all steps since the world was made or its report reset")

    time_step = number("s", doc="h")
    steps = integer(doc="steps done")
    unconverged = integer(doc="steps whose contact problem was not solved to its tolerance")
    start_u = floats("dofs", doc="velocities at the start of the step, free joints in fixed axes")
    command = floats("dofs", unit="N, N m", doc="joint forces as given, while a step uses the array")
    target = floats("dofs", doc="DATA.command, as the last step used it")
    constraint_force = floats("dofs", unit="N, N m", doc="contact and constraint impulses over the time step")
    drive_force = floats("dofs", unit="N, N m", doc="of prescribed coordinates: actuator, contacts and constraints")
    actuator_force = floats("dofs", unit="N, N m", doc="what actuators gave in the last step")

    # The stages of every step (kido.simulation.step), called with the world.
    predict = stage(doc="velocities that forces alone bring; by the integrator: predict, euler, soft_predict")
    detect = stage(doc="contacts; kido.simulation.step.detect_stage")
    assemble = stage(doc="the contact problem; kido.simulation.step.assemble_stage")
    solve = stage(doc="its impulses; step.solve_stage, step.solve_outside or threads.solve_in_threads")
    restitute = stage(doc="second phase of impacts: (problem); kido.solvers.restitution")
    project_positions = stage(doc="position correction: (problem, world); kido.solvers.position or threads")
    integrate = stage(doc="new velocities and positions; by the integrator: integrate, euler")

    # Stages of features by place (kido.simulation.step.features), in order; 0: no more.
    feature_stage = integers(6, MAX_STAGES, doc="addresses of callbacks")
    feature_struct = integers(6, MAX_STAGES, doc="second argument of each: address of the feature's own struct")

    solve_problem = stage(doc="all islands: (problem); kido.solvers.default")

    # Constraints between bodies: kido.simulation.loops.
    loops = reference(LOOPS)
    user_rows = reference(USER_ROWS)
    aggregates = reference(AGGREGATE_STEP, doc="skeletons whose loops are aggregates")
    close_changed = stage(doc="closes groups whose state is new")
    constrain_predicted = stage(doc="rows at mid-step; predicted velocities made to fit them")
    constrain_free = stage(doc="u_free with the impulses of rows; second argument: not 0 for the midpoint rule")
    close_positions = stage(doc="closes positions and velocities at the end of a step")
    note_closed = stage(doc="notes the state that a step ended with")

    # Soft bodies: kido.simulation.soft_contact, soft_balance.
    soft = reference(SOFT)
    balance_tree = stage(doc="momentum of a tree with soft bodies; second argument: which")

    # Team of threads (kido.simulation.threads), and callbacks that do a share of trees or islands, or one island.
    team = reference(TEAM)
    share = integer(doc="trees that a thread takes at a time")
    failed = integers(MOST_THREADS, doc="of each thread: 1 + a coordinate whose inertia is not positive; 0: none")
    problem_of = integers(MOST_THREADS, doc="address of each thread's PROBLEM (kido.solvers.problem.worker_problem)")
    predict_share = stage()
    integrate_share = stage()
    solve_share = stage()
    project_share = stage()
    begin_islands = stage()
    solve_island = stage()
    end_islands = stage()
    project_island = stage()
