"""What eight worlds that step together share: their robots' states side by side, in lanes, and the same as numbers.

The worlds themselves stay what they are: before a step their states are gathered, and what a stage finds in lanes is
scattered to them, so that all stages that are not for lanes go on in each world by itself.
"""

from __future__ import annotations

from kido.constraints.row_origins import ROW_ORIGINS
from kido.jit import LANES, Struct, floats, integer, integers, number, reference, stage
from kido.kernels.regularized_tree import REGULARIZED
from kido.simulation.world_struct import WORLD
from kido.solvers.problem import PROBLEM
from kido.tree.schema import DATA, TREE


class WIDE_MOTION(Struct):
    """Fields of DATA, WORLD and PROBLEM in lanes as numbers: entry LANES * k + j is number k of a row in lane j."""

    q = floats("dofs")
    u = floats("dofs")
    tau = floats("dofs")
    command = floats("dofs")
    udot = floats("dofs")
    H = floats("dof_rows", "six")
    U = floats("dof_rows", "six")
    Dinv = floats("dofs")
    external = floats("bodies", "external_numbers")
    R = floats("bodies", "nine")
    p = floats("bodies", "three")
    l = floats("bodies", "three")  # noqa: E741
    V = floats("bodies", "six")
    J = floats("bodies", "six")
    mc = floats("bodies", "three")
    P = floats("bodies", "inertia_numbers")
    start_u = floats("dofs")
    middle_u = floats("dofs")
    target = floats("dofs")
    u_free = floats("dofs")
    u_position = floats("dofs")
    constraint_force = floats("dofs")
    actuator_force = floats("dofs")
    start_V = floats("bodies", "six")
    start_A = floats("bodies", "six")
    status = floats("lanes", doc="a coordinate without inertia, or -1")


class WIDE_PROBLEM(Struct):
    """Fields of PROBLEM, ROW_ORIGINS and REGULARIZED in lanes as numbers."""

    wrench = floats("blocks", "wrench_numbers")
    sign = floats("block_lanes")
    mu = floats("block_lanes")
    lower = floats("block_lanes")
    upper = floats("block_lanes")
    step = floats("block_lanes")
    impulse = floats("rows")
    free = floats("rows")
    bias = floats("rows")
    compliance = floats("rows")
    island_approach = floats("block_lanes")
    island_residual = floats("block_lanes")
    island_speed = floats("block_lanes")
    island_power = floats("block_lanes")
    s = floats("dofs")
    u = floats("dofs")
    pull = floats("bodies", "six")
    joint_pull = floats("dofs")
    merit = floats("lanes")
    taken = floats("lanes", doc="iterations")
    rigid = floats("dofs")


class LANE_NUMBERS(Struct):
    """Numbers of each lane."""

    start_V = floats("bodies", 6, doc="of bodies, at the step's start")
    start_A = floats("bodies", 6, doc="the same, coordinates without acceleration")
    status = floats(1)
    merit = floats(1)
    taken = floats(1)
    best = floats(1, doc="least merit so far (`kido.solvers.laws.adapt`)")
    vain = floats(1)
    penalty = floats(1)
    cold = floats(1, doc="positive: the warm start was no solution")
    more = floats(1, doc="iterations after the tolerance is met")
    inner = floats(1, doc="positive: iterations go on")
    rigid = floats("dofs", doc="1: a row holds the coordinate, so that it has the acceleration that this row gave it")
    damping = floats("dofs", doc="work: damping of coordinates")


MAX_FEW_BODIES, MAX_FEW_DOFS = 4, 24  # touched, for dense equations in lanes
FEW_COLUMNS = 6 * MAX_FEW_BODIES + MAX_FEW_DOFS


class FEW(Struct):
    """Fields of TOUCHED for one robot in lanes, where the first, second, ... body that each world touches go together.

    Each has six columns; of one that is touched at one point, those of moments are zero.
    """

    num_bodies = integers(1)
    num_dofs = integers(1)
    body = integers(1, MAX_FEW_BODIES)
    dof = integers(1, MAX_FEW_DOFS)
    contacts = integers(MAX_FEW_BODIES)
    place = integers(MAX_FEW_BODIES)
    Omega = floats(1, FEW_COLUMNS, FEW_COLUMNS)
    inverse = floats(1, FEW_COLUMNS, FEW_COLUMNS)
    A = floats(1, FEW_COLUMNS, FEW_COLUMNS)
    F = floats(1, FEW_COLUMNS)
    V = floats(1, FEW_COLUMNS)
    held = integers(1, FEW_COLUMNS)


class WIDE_FEW(Struct):
    """FEW in lanes as numbers."""

    Omega = floats("slots", "rows", "columns")


class SINGLE(Struct):
    """One lane by itself."""

    tree = reference(TREE)
    data = reference(DATA)
    problem = reference(PROBLEM)
    origins = reference(ROW_ORIGINS)
    regularized = reference(REGULARIZED)
    few = reference(FEW)
    own = reference(LANE_NUMBERS)


class LOCKSTEP(Struct):
    tree = reference(TREE, lanes=True, doc="the forest of each of the worlds")
    data = reference(DATA, lanes=True)
    motion = reference(WORLD, lanes=True, doc="start_u, command and target")
    problem = reference(PROBLEM, lanes=True, doc="one island: what acts on one robot")
    origins = reference(ROW_ORIGINS, lanes=True)
    regularized = reference(REGULARIZED, lanes=True)
    own = reference(LANE_NUMBERS, lanes=True)
    wide_motion = reference(WIDE_MOTION)
    wide_problem = reference(WIDE_PROBLEM)
    few = reference(FEW, lanes=True)
    wide_few = reference(WIDE_FEW)
    single = reference(SINGLE, doc="room for one lane by itself")
    time_step = number("s")
    world = integers(LANES, doc="addresses of the worlds; 0: none in this lane")
    phase = integer(doc="which part of the step comes next")
    at = integers(LANES, doc="where each world is in its step")
    failed = integers(LANES, doc="1 + a coordinate of a robot without inertia; 0: none")
    sample = integers(LANES, doc="number of each world's sample")
    robot = integers("trees", doc="1: the tree goes by lanes")
    dense = integer(doc="1: worlds are taken that touch few bodies, 0: others")
    island = integers(LANES, doc="island of the robot in each world's problem; -1: the lane takes no part")
    kept = integers(LANES, doc="island of the robot that lanes have worked on; -1: none")
    settled = integers(LANES, doc="1: no robot of the world is geared, so that lanes end its step")
    floating = integers(LANES, doc="1: the robot has a momentum to keep")
    moved = integers(LANES, "trees", doc="1: lanes have put the robot where it is after the step")
    energy = floats(LANES, doc="that the position correction of each world brings")
    num_rigid = integer(doc="coordinates that rows hold, of a robot in all worlds that are settled")
    left = integers(LANES, doc="iterations of lanes that have not solved it; 0: it is solved")
    solved = integers(LANES, doc="islands of each world that are solved")
    done = integers(LANES, "trees", doc="those islands")
    num_blocks = integer()
    source = integers("blocks", LANES, doc="block of the world's problem; -1: there is none in this lane")
    count = integers("bodies", doc="work: contacts of each place of a body")
    first_block = integers("bodies", doc="work: first block of each place of a body")
    body_place = integers("bodies", doc="work: place of each body in lanes")
    dof_place = integers("dofs", doc="work: place of each coordinate in lanes")
    place = integers("kinds", doc="work: block of each kind of row of each place of a coordinate; -1: none")
    column = integers(FEW_COLUMNS, doc="work: column in lanes of each column of a world")
    gather = stage(doc="states of worlds to lanes: (lockstep)")
    predict = stage(doc="`predict_joints` of a robot in lanes: (lockstep, tree)")
    scatter = stage(doc="what it found to the worlds: (lockstep, tree)")
    lay_out = stage(doc="blocks of a robot: (lockstep, tree)")
    clear = stage(doc="no block in any lane: (lockstep)")
    fill = stage(doc="blocks of worlds to lanes: (lockstep, tree)")
    solve = stage(doc="Newton's method along the tree in lanes: (lockstep, tree)")
    finish = stage(doc="iterations of the few lanes that are left: (lockstep, tree); returns how many still are")
    keep = stage(doc="impulses to the worlds, and what they pull at: (lockstep, tree)")
    clear_pulls = stage(doc="no impulses on a robot: (lockstep, tree)")
    pull = stage(doc="those of solved islands: (lockstep, tree)")
    apply = stage(doc="what impulses do to a robot in lanes: (lockstep, tree)")
    keep_velocities = stage(doc="that to the worlds: (lockstep, tree)")
    scatter_rest = stage(doc="what lanes alone have needed of a robot to a world: (lockstep, tree, lane)")
    gather_ends = stage(doc="velocities after impulses to lanes: (lockstep, tree)")
    products = stage(doc="`add_products` of a robot in lanes: (lockstep, tree)")
    keep_ends = stage(doc="its velocities to the worlds: (lockstep, tree)")
    gather_floating = stage(doc="a robot that floats to lanes: (lockstep, tree); returns in how many worlds it does")
    balance = stage(doc="momentum of a robot in lanes: (lockstep, tree)")
    keep_floating = stage(doc="its new state to the worlds: (lockstep, tree)")
    predict_others = stage(doc="`predict_trees` of what is no robot: (world, tree)")
    begin_islands = stage(doc="kido.solvers.default")
    solve_one = stage(doc="kido.solvers.default")
    go_on_with = stage(doc="kido.solvers.default")
    end_islands = stage(doc="kido.solvers.default")
