"""Tables of a collision checker: the spheres of a robot, its surroundings, and what eight states are checked in."""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers, number, reference, stage
from kido.tree.schema import DATA, TREE

# What a node of the surroundings is: a box about others, or a solid. VALUES numbers describe a solid.
NODE, BOX, AXES_BOX, CAPSULE, CYLINDER, TRIANGLE, INSIDE, HALF_SPACE = range(8)
VALUES = 16
GATHERED = 16  # solids that a sphere may touch for those below it to be compared with these alone


class ROBOT(Struct):
    tree = reference(TREE, doc="of the skeleton")
    place = integers("places", doc="links whose poses depend on the planned coordinates, parents first")
    column = integers("columns", doc="coordinate of the skeleton that each planned one is")
    follower = integers("followers", doc="coordinates of the skeleton that mimic planned ones")
    leader = integers("followers", doc="coordinate of the skeleton that each of them mimics, in the end")
    ratio = floats("followers", doc="rate of each per rate of that one")
    offset = floats("followers", unit="rad or m", doc="its position where that one is at zero")
    link = integers("groups", doc="link that carries each group of spheres")
    first = integers("groups1", doc="first sphere of each group, the root of its tree; the last entry is the total")
    moves = integers("groups", doc="1: the planned coordinates move it")
    centre = floats("spheres", 3, unit="m", doc="in the axes of the link")
    radius = floats("spheres", unit="m")
    skip = integers("spheres", doc="sphere behind all that are below it in the tree")
    exact = integers("spheres", doc="1: it is one of the finest, and all of the shape that it covers")
    thing = integers("spheres", doc="which body or what is carried it is of")
    things = integer(doc="how many there are of these; obstacles are counted behind them")
    pair = integers("pairs", 2, doc="groups that may not meet")
    reach = floats("groups", "columns", unit="m/rad or 1", doc="most that a sphere's centre moves with a coordinate")
    pair_reach = floats("pairs", "columns", unit="m/rad or 1", doc="the same, of one group seen from the other")
    margin = number("m", doc="distance to be kept from the surroundings")
    self_margin = number("m", doc="distance to be kept among groups")


class SCENE(Struct):
    kind = integers("nodes", doc="NODE or which solid")
    skip = integers("nodes", doc="node behind all that are below it")
    low = floats("nodes", 3, unit="m", doc="least corner of the box about it, world axes")
    high = floats("nodes", 3, unit="m", doc="its greatest corner")
    value = floats("nodes", VALUES, doc="of a solid, as `kido.planning.solids` reads them")
    plane = floats("planes", 4, doc="outward normals and offsets of convex polyhedra [m]")
    owner = integers("nodes", doc="obstacle that a solid is part of; -1: none")
    exact = integers("nodes", doc="0: it is somewhat larger than what it stands for")


class EXACT(Struct):
    """Things, each of some shapes, and how far apart they are in the states of a check."""

    collisions = integer(doc="address of the COLLISION that has all shapes, those of a thing one after the other")
    first = integers("things1", doc="first shape of each thing; the last entry is the total")
    link = integers("things", doc="that carries it; -1: it does not move")
    placed = integers("things", doc="stamp and lane for which its shapes were placed")
    R = floats("rotations", doc="of links in all lanes")
    p = floats("positions", unit="m", doc="of links in all lanes")
    gap = floats("lanes", doc="positive: apart, or not of interest")
    need = floats("lanes", unit="m", doc="how far apart things are to be")
    pair = integers("places", 2, doc="pair of things whose distances are kept here, and of which check")
    known = floats("places", "lanes", unit="m", doc="their distances, or what was looked to")
    limit = floats("places", "lanes", unit="m", doc="how far was looked; endless where a distance was found")


class CHECK(Struct):
    robot = reference(ROBOT)
    scene = reference(SCENE)
    data = reference(DATA, lanes=True, doc="eight poses of the skeleton")
    run = stage(doc="the check of the poses: (check, every, certified); returns 1 if any lane is hit")
    exact = reference(EXACT)
    settle = stage(doc="has distances of shapes decide `gap`: (exact, first thing, second, stamp); none: spheres do")
    by_spheres = integer(doc="1: spheres decide, also where they are larger than what they cover")
    gap = floats(1, doc="of what touches by spheres and is to be decided; positive: it does not")
    need = floats(1, unit="m", doc="how far apart things are to be")
    near = integers("groups", doc="groups that can come near the surroundings, in the order of their check; then -1")
    stamp = integer(doc="number of the check")
    current = integers("spheres", doc="check in which a centre was computed")
    waiting = integers("depth", 2, doc="pairs of spheres that are still to be looked at")
    solid = integers(GATHERED, doc="nodes of the scene that a sphere touches, with which those below it are compared")
    centre = floats("spheres", 3, unit="m", doc="in the world")
    fraction = floats(1, doc="where on the edge the lanes are, 0 to 1")
    half = floats(1, doc="half of the share of the edge that they stand for, while it is certified")

    grow = floats("groups", unit="m", doc="most that a group's spheres move on the whole edge")
    pair_grow = floats("pairs", unit="m", doc="and one group seen from the other")
    hit = floats(1, doc="1: something touches; -1: nothing was found to")
    where = floats(3, doc="what touches first: sphere; obstacle or -1; other sphere or -1")


class CHECK_NUMBERS(Struct):
    """The lanes of a CHECK, lane by lane."""

    q = floats("numbers", doc="positions of the skeleton, coordinate by coordinate")
    fraction = floats("lanes")
    half = floats("lanes")
    hit = floats("lanes")
    where = floats("wheres")
    gap = floats("lanes")
    need = floats("lanes")


class EDGE(Struct):
    check = reference(CHECK, lanes=True)
    numbers = reference(CHECK_NUMBERS)
    start = floats("columns", unit="rad or m", doc="planned coordinates at the edge's start")
    end = floats("columns", unit="rad or m", doc="at its end")
    kind = integers("columns", doc="LINE, CIRCLE, ROTATION or WITHIN, as `kido.planning.space` has them")
    flat = integer(doc="1: all are lines")
    way = floats("columns", unit="rad or m", doc="from start to end")
    resolution = number("1/rad or 1/m", doc="states checked per unit of length")
    finest = number("rad or m", doc="shortest piece of an edge to which it is halved for a certificate")
    run = stage(doc="the check of the edge: (edge); returns 1 if it is refused")
    certified = integer(doc="1: edges are free as a whole; 0: at their states")
    low = floats("waiting", doc="pieces of the edge that are not certified yet: where they begin")
    high = floats("waiting", doc="and end")
    states = integer(doc="states that were checked, in groups of eight")
    edges = integer(doc="edges that were checked")


class NODES(Struct):
    """Two trees of states, the second behind the first; eight states side by side."""

    node = floats("blocks", "columns", doc="planned coordinates of the nodes")
    best = floats(2, doc="of nodes that were looked through: least squared distance, and its block")


class RRT(Struct):
    edge = reference(EDGE)
    nodes = reference(NODES, lanes=True)
    node = floats("numbers", doc="nodes, lane by lane")
    best = floats("bests", doc="`best`, lane by lane")
    parent = integers("all", doc="node from which each was reached; -1: a start or a goal")
    domain = floats("all", unit="rad or m", doc="distance up to which samples draw a node")
    count = integers(2, doc="nodes of each tree")
    table = floats("samples", "columns", doc="samples")
    next = integer(doc="the next sample")
    grown = integer(doc="iterations so far")
    reserve = integer(doc="nodes that an iteration may add")
    step = number("rad or m", doc="longest edge of a tree")
    x = floats("columns", doc="where a tree is drawn to")
    y = floats("columns", doc="the node that it gets")
    z = floats("columns", doc="the node that it grows from")
    path = floats("waypoints", "columns", doc="the path that was found")
    waypoints = integer(doc="how many states it has")


class ROADMAP(Struct):
    """States and edges between them. An edge is two links, at an even place and the one behind it."""

    edge = reference(EDGE)
    node = floats("nodes", "columns", doc="planned coordinates of the nodes")
    count = integer(doc="how many nodes there are")
    head = integers("nodes", doc="link that was added last of those from each node; -1: none")
    to = integers("links", doc="node that it leads to")
    next = integers("links", doc="the next link from the same node; -1: none")
    length = floats("links", unit="rad or m")
    status = integers("links", doc="UNKNOWN, FREE or REFUSED; of an edge's first link")
    links = integer(doc="how many links there are")
    ahead = floats("nodes", unit="rad or m", doc="least length to a goal by edges that are not refused")
    cost = floats("nodes", unit="rad or m", doc="least length from the start by edges that are free")
    via = integers("nodes", doc="link by which a node was reached; -1: it was not, or is where a search began")
    done = integers("nodes", doc="1: its length is known")
    key = floats("heap", doc="numbers by which a heap is ordered")
    item = integers("heap", doc="what it holds")
    size = integer(doc="how many there are in it")
    near = integers("most", doc="nodes that are nearest to one, in order")
    away = floats("most", unit="rad or m", doc="their distances, squared")
