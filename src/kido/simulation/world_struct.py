"""What a compiled step of a world reads and writes: the structs that it works on, its numbers and its stages."""

from __future__ import annotations

from kido.collision.container import COLLISION
from kido.collision.shared_narrow import SHARED_NARROW
from kido.constraints.loop_schema import LOOPS, USER_ROWS
from kido.constraints.row_origins import ROW_ORIGINS
from kido.dynamics.embedding.schema import EMBEDDING
from kido.dynamics.schema import DYNAMICS
from kido.flexible.schema import FLEX, FLEX_SURFACES
from kido.jit import Struct, floats, integer, integers, number, reference, stage
from kido.jit.team import MOST_THREADS, TEAM
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


class AGGREGATE_STEP(Struct):
    """Of skeletons whose loops are aggregates of their trees (kido.simulation.aggregates)."""

    embedding = reference(EMBEDDING, doc="the aggregates")
    dynamics = reference(DYNAMICS, doc="what their kernels read besides")
    end_data = reference(DATA, doc="data at the end of a step")
    end_embedding = reference(EMBEDDING, doc="aggregates at the end of a step")
    fits = integers("groups", doc="1: the loops of the group's one skeleton may be aggregates")
    anew = integers("groups", doc="1: partitions are to be chosen before the next step")
    wanted = integers("aggregates", doc="rank of its rows wherever a position is not singular")
    tau = floats("dofs", unit="N, N m", doc="joint forces of the step, springs and dampers of joints included")
    loaded = floats("dofs", unit="N, N m", doc="work: the same with what else acts in a sweep")
    product = floats("bodies", 6, unit="rad/s^2, m/s^2", doc="velocity products of the step about bodies' origins")
    bias = floats("bodies", 6, unit="N m, N", doc="bodies' own bias wrenches less external ones")
    force = floats("bodies", 6, unit="N m, N", doc="work: wrench that each body's motion takes")
    reaction = floats("dofs", unit="N s, N m s", doc="generalized impulse of a group's rows in the step")


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
    given_q = floats("dofs", doc="positions at the start of the step, where its middle may be moved")
    given_u = floats("dofs", doc="velocities then, in the joints' own axes")
    start_u = floats("dofs", doc="velocities at the start of the step, free joints in fixed axes")
    middle_u = floats("dofs", doc="velocities predicted for mid-step")
    products = floats("dofs", doc="work: accelerations by velocity products")
    products_of = integers("dofs", doc="work: 1 at the first coordinate of a tree whose `products` are there")
    moved_of = integers("dofs", doc="work: the same of V and A at the velocities of the step's start")
    grounded = integers("trees", doc="work: 1: friction holds the tree of that number against what does not move")
    holds = integers("trees", doc="work: 1: rows hold coordinates of the tree of that number; -1: coupled ones")
    held = integers("dofs", doc="work: 1: a coordinate that a row of its own holds")
    middle_q = floats("dofs", doc="work: positions at mid-step")
    command = floats("dofs", unit="N, N m", doc="joint forces as given, while a step uses the array")
    target = floats("dofs", doc="DATA.command, as the last step used it")
    constraint_force = floats("dofs", unit="N, N m", doc="contact and constraint impulses over the time step")
    drive_force = floats("dofs", unit="N, N m", doc="of prescribed coordinates: actuator, contacts and constraints")
    actuator_force = floats("dofs", unit="N, N m", doc="what actuators gave in the last step")

    # The stages of every step (kido.simulation.step), called with the world.
    predict = stage(
        doc="velocities that forces alone bring; by the integrator: predict, euler, soft_predict, flexible_step"
    )
    detect = stage(doc="contacts; kido.simulation.step.detect_stage")
    assemble = stage(doc="the contact problem; kido.simulation.step.assemble_stage")
    solve = stage(doc="its impulses; step.solve_stage, step.leave_to_python or threads.solve_in_threads")
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
    integrate_bound = stage(doc="in place of `integrate_share`: (world); integrate.integrate_bound_stage")

    # Soft bodies: kido.simulation.soft_contact, soft_balance.
    soft = reference(SOFT)
    balance_tree = stage(doc="momentum of a tree with soft bodies; second argument: which")

    # Flexible bodies: kido.simulation.flexible_step.
    flex = reference(FLEX, doc="modes")
    flex_surfaces = reference(FLEX_SURFACES, doc="surfaces of flexible bodies that touch others")
    move_flexible = stage(doc="new velocities and positions of a tree with flexible bodies; second argument: which")

    # Team of threads (kido.simulation.threads), and callbacks that do a share of trees or islands, or one island.
    team = reference(TEAM)
    share = integer(doc="trees that a thread takes at a time")
    narrow = reference(SHARED_NARROW, doc="what they need to find contacts together")
    failed = integers(MOST_THREADS, doc="of each thread: 1 + a coordinate whose inertia is not positive; 0: none")
    problem_of = integers(MOST_THREADS, doc="address of each thread's PROBLEM (kido.solvers.problem.worker_problem)")
    predict_share = stage(doc="predicts trees: (world, begin, end, thread); predict.predict_share")
    assemble_share = stage(doc="rows of contacts: (world, begin, end, thread); midpoint_problem.assemble_share")
    follow_share = stage(doc="their biases by motion: (world, begin, end, thread); midpoint_problem.follow_share")
    integrate_share = stage(doc="integrates trees: (world, begin, end, thread); integrate.integrate_share")
    solve_share = stage(doc="solves islands: (world, begin, end, thread); threads.solve_share")
    project_share = stage(doc="corrects islands: (world, begin, end, thread); threads.project_share")
    begin_islands = stage(doc="divides the problem: (problem), returns the number of islands; kido.solvers.default")
    solve_one = stage(doc="an island: (problem of a thread, island); kido.solvers.default")
    end_islands = stage(doc="gathers what islands report: (problem); kido.solvers.default")
    project_one = stage(doc="an island: (problem of a thread, island); kido.solvers.position")
