"""What the analytic derivative of a step is computed in."""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers, number, reference
from kido.tree.schema import DATA
from kido.tree.workspace import DERIVATIVES


class TABLES(Struct):
    """Matrices whose columns are worked on eight at a time; there is one of these by lanes, and one by numbers.

    Columns of the step are changes of positions at mid-step along velocities, of velocities at the start in the axes of
    the step, and of forces in these axes.
    """

    K = floats("dofs", "narrow", doc="matrix of the linear system")
    X = floats("thrice", "narrow", doc="a row for each column of the step: velocities after impulses")
    E = floats("rows", "row_lanes", doc="share of its impulse that each row hands on to others when it is refined")
    G = floats("dofs", "narrow", doc="a row for each coordinate: velocities by a right-hand side there")
    P = floats("dofs", "narrow", doc="the same by velocity products at mid-step")
    Y = floats("dofs", "narrow", doc="the same by forces on accelerations at the start's velocities")
    Z = floats("dofs", "narrow", doc="work space")
    W = floats("dofs", "narrow", doc="work space")
    N = floats("rows", "narrow", doc="what velocity each row asks for")
    T = floats("rows", "narrow", doc="where the impulse of each row acts")
    S = floats("dofs", "row_lanes", doc="its transpose, as it is solved for")
    H = floats("rows", "narrow", doc="velocities by the rate of each row")
    V = floats("rows", "narrow", doc="the same, refined once less")
    R = floats("rows", "narrow", doc="impulse that each row keeps by right-hand sides")
    c = floats("rows", "twice_narrow", doc="velocity of each row at fixed velocities of coordinates and impulses")


class UNITS(Struct):
    """Responses of eight rows, by lanes."""

    row = floats("dofs", 1, doc="of the row, then response of coordinates, then how the row's velocity changes")
    V = floats("bodies", 6, doc="velocities of bodies, about the tree's point")
    P = floats("bodies", 6, doc="momentum of a body and all beyond it")
    dV = floats(6, "dofs", doc="as in DERIVATIVES")
    energy = floats("dofs", doc="P_k . dV_k")
    twist = floats(6, doc="the row as a wrench about the tree's point")
    turn = floats(6, doc="its velocity at fixed motion of coordinates, by a motion of the body")


class UNIT_NUMBERS(Struct):
    """The same memory by numbers, and whose rows they are."""

    block = integers(8, doc="blocks")
    row = floats("row_numbers")
    V = floats("body_numbers")
    dV = floats("column_numbers")
    energy = floats("row_numbers")
    twist = floats("six_numbers")
    turn = floats("six_numbers")


class TANGENT(Struct):
    data = reference(DATA, doc="state at mid-step")
    derivatives = reference(DERIVATIVES)
    lanes = integer(doc="address of TABLES by lanes")
    numbers = integer(doc="address of the same by numbers")
    units = integers(2, doc="addresses of UNITS and UNIT_NUMBERS")
    geometry = integers(3, doc="NUMBERS of duals: points, normals and gaps of contacts")
    poses = integers(2, doc="NUMBERS of duals: rotations and positions of bodies")
    at_start = floats(2, "dofs", "dofs", doc="dtau/dq, dtau/du at the accelerations of the start's velocities")
    at_middle = floats(2, "dofs", "dofs", doc="the same at mid-step, impulses included")
    at_free = floats(2, "dofs", "dofs", doc="the same at mid-step without impulses")
    at_end = floats(2, "dofs", "dofs", doc="the same at mid-step with the velocities after impulses")
    right = floats(2, "dofs", "dofs", doc="right-hand sides of du_1 by positions and velocities, products apart")
    order = integers(2, "dofs", doc="coordinates, in which last ones are eliminated first (tangent.linear)")
    kin = integers(2, "dofs", "dofs", doc="relatives of each: those on a path with it, and itself, in this order")
    num_kin = integers("dofs", doc="how many")
    num_above = integers(2, "dofs", doc="how many of them are before itself")
    blocks_above = integers("dofs", doc="blocks of lanes with it and all of these, in the second order")
    tip = integers("bodies", doc="the last coordinate that moves each body; 0 where none does")
    path = floats("bodies", "dofs", doc="1: the coordinate moves the body; 0")
    start_q = floats("dofs", doc="positions before the step")
    start_u = floats("dofs", doc="velocities before the step")
    force = floats("dofs", doc="joint forces as given")
    inert = integers(
        "dofs", doc="1: what is given does not act: nothing drives the coordinate, or its limit is reached"
    )
    V = floats("bodies", 6, doc="velocities after impulses, about the tree's point")
    dV = floats(6, "dofs", doc="as in DERIVATIVES, of these velocities")
    f = floats("bodies", 6, doc="impulses of contacts on each body, about the tree's point")
    df = floats("bodies", 36, doc="their derivative by a motion of the body")
    touched = integers("bodies", doc="1: contacts press on it")
    twist = floats("blocks", 3, 6, doc="of each contact: its rows as wrenches about the tree's point")
    turn = floats("blocks", 108, doc="their derivatives by a motion of the body")
    slope = floats("blocks", 6, doc="derivative of the bias of the normal row by such a motion")
    move = floats("blocks", 18, doc="how the contact's point moves by it")
    side = floats("blocks", doc="-1: the body is the contact's first, 1: its second")
    warm = integer(doc="NUMBERS of duals: impulses of contacts that the step began with")
    moving = integer(doc="1: contacts ask for what motion makes of them at the step's end (tangent.following)")
    follows = integers("blocks", doc="1: a contact that goes on")
    old = integers("blocks", doc="what it was in the step before")
    along = integers("blocks", doc="MEAN or SLIP: what is asked along the surface; 0: nothing")
    first = integers("blocks", doc="first block of its pair of bodies")
    length = integers("blocks", doc="number of these")
    going = integers("blocks", doc="how many of them go on")
    u = floats("dofs", doc="velocities after impulses")
    way = floats("dofs", doc="velocities that move positions in the second half of the step")
    num_floating = integer(doc="number of trees whose momentum the step keeps (tangent.floating)")
    base = integers("bodies", doc="of each tree the link on its free joint, if it is one of these; -1")
    tree_mass = floats("bodies", unit="kg", doc="of each of them")
    centre = floats("bodies", 3, unit="m", doc="where the centre of mass of each is at mid-step")
    momentum = floats(2, 6, "dofs", doc="[L; P] of the tree by velocities, before the step and after it")
    momentum_rate = floats(2, 6, "dofs", doc="the same by positions")
    lock = floats("bodies", 9, doc="of each, velocities of its base by L, after the step")
    kick = floats("thrice", 9, doc="a row for each column of the step: [L; P] and the centre of mass after it")
    kicked = floats("bodies", 9, doc="gradient by [L; P] and the centre of mass after the step")
    again = integers("dofs", doc="1: velocity products of the second half are evaluated anew for the coordinate's tree")
    row = integers("blocks", doc="first row of the block among those of TABLES; -1: it asks for nothing")
    mode = integers("blocks", doc="OPEN ... HELD of kido.simulation.gradients.laws")
    margin = floats("blocks", unit="m/s", doc="by what speed it is apart from another mode")
    num_told = integer(doc="contacts of the step")
    told_mode = integers("blocks", doc="of each, in their order")
    told_margin = floats("blocks", unit="m/s", doc="the same")
    least_margin = number("m/s", doc="of all blocks; inf: there are none")
    soft = floats("rows", doc="compliance of a row")
    give = floats("rows", doc="compliance with which the system stands for the row at first")
    last = integers("rows", doc="the last coordinate that moves it")
    use = integers("rows", doc="ASKED or DRAGGED (tangent.contacts)")
    drag = floats("rows", 3, doc="of the first row of a contact that slides: R (11, 12, 22), dp_t = mu s dp_n - R dv_t")
    L = floats(2, "dofs", "dofs", doc="factors of the mass matrix with dampers and springs, and of K (tangent.linear)")
    D = floats(2, "dofs", doc="inverses of their pivots")
    num_rows = integer()
    out = floats("thrice", "twice", doc="a row for each of (q, u, forces): the derivative of (q, u)+ by it")
    gradient = floats("twice", doc="of a number by the state after the step")
    pulled = floats("thrice", 1, doc="of the same number by state and forces before")
    multiplier = floats("rows", doc="of the rows' laws, for a gradient")
    weight = floats("rows", doc="gradient of the number by the rate of each row")
    memory = floats(
        "blocks", 6, doc="gradient by points and normals of contacts of the step, which the next one recalls"
    )
    recalled = floats("blocks", 6, doc="the same of contacts of the step before")
    remembers = integer(doc="1 + the number of the step's contacts whose `memory` is to be pulled back too; 0: none")
    work = floats(8, "thrice", doc="vectors")
    time_step = number("s")
