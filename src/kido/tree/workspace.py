"""Containers besides tree and data: which bodies a result is about, and where it is computed.

Of DERIVATIVES. Spatial vectors here are about one point at rest for a whole tree, where its root body's origin is now:
to add two of them needs no shift, and moving a coordinate turns everything beyond it about the same point. Fields with
one column per coordinate keep it in their last index, so that loops over coordinates run through memory.

Which coordinates matter to which is a list of runs of neighbours: `above` the coordinates that move coordinate
k's joint, ending with the run [s, k) of those right before k (empty where there are none); `below` those that k
moves, starting with the run [k + 1, e). So every list has at least one run.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers


class PATH(Struct):
    member = integer(doc="body of the skeleton that it leads to, which the last link carries")
    body = integers("length", doc="links from a root to the one asked for, parents first")


class SUBSET(Struct):
    whole = integer(doc="1: all bodies are chosen")
    inertia = floats(
        "bodies",
        10,
        unit="kg, kg m, kg m^2",
        doc="of the chosen bodies on each link, about its origin in its axes: m, m c (3), J (xx, xy, xz, yy, yz, zz)",
    )
    springs = integers("bodies", doc="1 if the body at the top of the link, whose joint it has, is chosen")


class MEMBERS(Struct):
    parent = integers("members", doc="of all bodies: what each hangs on; -1: the world")
    link = integers("members", doc="link that carries it")
    pose = floats("members", 12, doc="its pose in the link, the upper three rows")
    inertia = floats("members", 10, unit="kg, kg m, kg m^2", doc="about its origin in its axes, as in SUBSET")
    position = floats("members", 3, unit="m", doc="its origin in the world")
    P = floats("members", 21, doc="its composite or articulated inertia about its origin, world axes, as DATA.P")


# One field for each number of a spatial vector: fields do not overlap, so that loops over columns become vector code.


class COLUMNS(Struct):
    below = floats("bodies", "columns", doc="1 if the coordinate is the link's or below it, else 0")
    end = integers("bodies", doc="a column past all that are the link's or below it")
    Z0 = floats("columns", doc="number 0 of the spatial vector of each column")
    Z1 = floats("columns", doc="number 1 of the spatial vector of each column")
    Z2 = floats("columns", doc="number 2 of the spatial vector of each column")
    Z3 = floats("columns", doc="number 3 of the spatial vector of each column")
    Z4 = floats("columns", doc="number 4 of the spatial vector of each column")
    Z5 = floats("columns", doc="number 5 of the spatial vector of each column")
    E = floats("dofs", "columns", doc="D^-1 F^-1: shares of the accelerations by unit forces")
    row = floats("columns", doc="a row of the inverse")


WIDE = 8  # numbers in a row of six columns: whole vector registers


class NODES(Struct):
    link = integers("nodes", doc="link that carries each point")
    point = floats("nodes", 3, unit="m", doc="the point in the link's axes, from its origin")
    path = integers("length", doc="links at or above a point, parents first")
    slot = integers("nodes1", doc="first slot of each node; the last entry is the total")
    slot_link = integers("slots", doc="links where forces on a node are kept: its own, those where paths meet")
    meeting = integers("nodes", "nodes", doc="slot of node i at the closest link above both i and j; -1: none")
    X = floats("slots", 6, WIDE, doc="unit forces on the node, articulated to the slot's link, side by side")
    Z = floats("slots", 6, WIDE, doc="velocities of the slot's link by those forces: Y X")
    Y = floats("bodies", 21, doc="compliance of each link about its origin, laid out as inertias are")
    row = floats("rows", doc="work space: a row of the matrix that is inverted")
    block = floats(6, WIDE, doc="work space: compliance between two nodes")


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
