"""The arrays of a detector: shapes, filters, candidate pairs, contacts and scratch space."""

from __future__ import annotations

from kido.collision.primitives import PRIMITIVE_NAMES
from kido.jit import Struct, floats, integer, integers, number, stage

# Shape types, in the order in which pair functions expect their two shapes.
# Types from COMPOUND on are not convex: their parts, or the triangles of their cells, are what meets others.
# Those of soft skins are a ball without size (point) and a triangle with an inside (face).
TYPE_NAMES = ("plane", *PRIMITIVE_NAMES, "hull", "spheres", "triangle", "point", "face", "compound", "heightmap")
NUM_SHAPE_TYPES = len(TYPE_NAMES)
PLANE = 0
HULL, SPHERES, TRIANGLE, SKIN_POINT, FACE, COMPOUND, HEIGHTMAP = range(1 + len(PRIMITIVE_NAMES), NUM_SHAPE_TYPES)

# Bits of the status that `detect` returns; 0 means that every contact was found.
PAIRS_FULL = 1  # more candidate pairs than the arrays hold; `pairs_found` tells how many
CONTACTS_FULL = 2  # more contacts than the arrays hold; `contacts_found` tells how many
POSE_NOT_FINITE = 4  # a body's pose is NaN or infinite

HUGE = 1e100  # [m] how far a plane reaches
MAX_MANIFOLD = 4  # most contacts of a pair
MAX_PATCH = 8  # most contacts of a patch, of a pair of which a shape is not convex
MAX_PATCH_POINTS = 32  # most points of a patch before it is reduced
PART_AT = 24  # bit of a key of such a pair from which on it has 1 + the code of the part
SLOTS = 2  # places behind the shapes where the parts that are being looked at stand
MAX_POINTS = 64  # most points of a manifold before it is reduced, and corners of a face polygon


class COLLISION(Struct):
    # Bodies. Poses are shared with the dynamics.
    body_rotation = floats("bodies", 9, doc="rotation matrix, row-major, body to world")
    body_position = floats("bodies", 3, unit="m", doc="body origin in world axes")
    body_velocity = floats("bodies", 6, unit="rad/s, m/s", doc="[w; v] of the body origin in world axes, for sweeps")
    body_moving = integers("bodies", doc="0: the body never moves; two such bodies do not collide")
    body_collidable = integers("bodies", doc="0: the body collides with nothing")
    body_group = integers("bodies", doc="bodies with the same group >= 0 do not collide")
    excluded_first = integers("bodies_and_one", doc="first entry of a body in `excluded`")
    excluded = integers("excluded", doc="bodies that a body does not collide with, ascending")
    # Shapes.
    # After the shapes come SLOTS more, in some fields: the parts of compounds that a pair function looks at.
    shape_type = integers("slots", doc="PLANE ... HEIGHTMAP")
    shape_body = integers("shapes", doc="index of the body that carries the shape")
    shape_size = floats("slots", 3, unit="m", doc="radius; half edges; radius and half height; half axes")
    shape_compound = integers("shapes", doc="index of the compound or height map, -1 if none")
    shape_hull = integers("slots", doc="index of the hull, or of a face's triangle; -1 if none")
    shape_reach = floats("slots", unit="m", doc="half the diagonal of the shape's box, 1e100 for planes")
    shape_padding = floats("slots", unit="m", doc="how far the surface of a shape lies outside of its geometry")
    shape_category = integers("shapes", doc="bits that say what the shape is")
    shape_mask = integers("shapes", doc="bits of the categories that it collides with")
    shape_continuous = integers("shapes", doc="1: swept along its motion where that is large")
    shape_inner = floats("shapes", unit="m", doc="motion in a step below which nothing can be passed through")
    shape_outer = floats("shapes", unit="m", doc="radius about the shape's origin that holds it")
    shape_middle = floats("shapes", 3, unit="m", doc="about the centroid, in shape axes")
    shape_motion = floats("shapes", unit="m", doc="most that a point of a swept shape moves in a step; 0 for others")
    shape_friction = floats("shapes", doc="Coulomb coefficient")
    shape_restitution = floats("shapes", doc="coefficient of restitution")
    local_rotation = floats("shapes", 9, doc="shape to body")
    local_position = floats("shapes", 3, unit="m", doc="shape origin in body axes")
    rotation = floats("slots", 9, doc="shape to world")
    position = floats("slots", 3, unit="m", doc="shape origin in world axes")
    aabb = floats("slots", 6, unit="m", doc="lower and upper corner in world axes, grown by half the margin")
    # Convex hulls.
    hull_first = integers("hulls_and_one", doc="first vertex of a hull")
    hull_vertex = floats("hull_vertices", 3, unit="m", doc="in shape axes")
    hull_radius = floats("hull_vertices", unit="m", doc="of the ball about a vertex, less that of the smallest one")
    hull_start = integers("hulls", 6, doc="vertices farthest along -x, +x, -y, +y, -z, +z")
    neighbor_first = integers("hull_vertices_and_one", doc="first neighbour of a vertex")
    neighbor = integers("neighbors", doc="vertices joined to a vertex by an edge")
    face_first = integers("hulls_and_one", doc="first face of a hull")
    face_normal = floats("faces", 3, doc="outward, in shape axes")
    face_loop = integers("faces_and_one", doc="first corner of a face")
    face_vertex = integers("face_vertices", doc="corners of faces, counterclockwise from outside")
    # Compounds: a tree of boxes in depth-first order over their parts, each a triangle or a convex piece.
    compound_node = integers("compounds_and_one", doc="first node of a compound")
    compound_closed = integers("compounds", doc="1: triangles have an outside; 0: both sides are alike")
    node_box = floats("nodes", 6, unit="m", doc="lower and upper corner in shape axes")
    node_next = integers("nodes", doc="node that follows those below this one")
    node_part = integers("nodes", 2, doc="first and number of the parts of a leaf")
    part = integers("parts", doc="triangle, or -1 - piece")
    triangle = integers("triangles", 6, doc="three vertices; those across the edges 01, 12, 20, -1 if none")
    piece_type = integers("pieces", doc="SPHERE ... HULL")
    piece_size = floats("pieces", 3, unit="m", doc="as shape_size")
    piece_hull = integers("pieces", doc="index of the hull, -1 if none")
    piece_reach = floats("pieces", unit="m", doc="as shape_reach")
    piece_rotation = floats("pieces", 9, doc="piece to shape")
    piece_position = floats("pieces", 3, unit="m", doc="origin in shape axes")
    # Height maps.
    map_first = integers("maps", doc="first height of a map")
    map_size = integers("maps", 2, doc="rows (along y) and columns (along x)")
    map_spacing = floats("maps", 2, unit="m", doc="along x and y")
    map_height = floats("heights", unit="m", doc="row by row")
    # Triangles of soft skins.
    skin_triangle = floats("skin_triangles", 9, unit="m", doc="corners of each face in body axes")
    # Parameters and tables.
    margin = number("m", doc="contacts with a gap below this are reported")
    sweep_step = number("s", doc="time step over which continuous shapes are swept, 0 if nothing is")
    sweep_back = number("s", doc="time from the start of a step to its detection")
    interval = number("s", doc="from one detection to the next")
    sweep_time = number("s", doc="from now, of the poses of the pair that is being looked at; 0 but within a sweep")
    sweep_push = number("m", doc="largest push that a swept contact asks of the position correction")
    pair_function = integers(
        NUM_SHAPE_TYPES, NUM_SHAPE_TYPES, doc="address of the callback for a pair of types, 0 if none"
    )
    detect = stage(doc="finds all contacts: `detect_contacts`, or another library's first part")
    num_contacts = integer()
    num_pairs = integer(doc="candidate pairs")
    num_old_pairs = integer(doc="of the previous detection")
    sweep_axis = integer(doc="along which the broad phase sorts")
    pending = integer(doc="1: contacts do not fit, or are not complete, so that old ones stay; COMPLETE: by Python")
    contacts_found = integer(doc="number there would be if all fitted")
    pairs_found = integer(doc="the same")
    num_patches = integer(doc="of the pair that is being looked at")
    old_first = integer(doc="first old contact of the pair that is being looked at")
    old_last = integer(doc="the one after its last")
    # Broad phase.
    order = integers("shapes", doc="shapes by lower bound along the sweep axis")
    sorted = floats("shapes", 6, unit="m", doc="bounding boxes in that order, sweep axis first")
    bucket = integers("shapes_and_one", doc="counting sort of the pairs")
    pair_a = integers("pairs", doc="lower shape of a candidate pair; pairs ascend by (a, b)")
    pair_b = integers("pairs", doc="higher shape of a candidate pair")
    pair_first = integers("pairs", doc="first contact")
    pair_count = integers("pairs", doc="number of contacts")
    pair_code = integers("pairs", doc="what a pair function remembers, 0 at first")
    pair_axis = floats("pairs", 3, doc="direction that a pair function remembers, 0 at first")
    swap = integers("pairs", 2, doc="scratch of the sort")
    old_pair_a = integers("pairs", doc="the same of the previous detection")
    old_pair_b = integers("pairs")
    old_pair_first = integers("pairs")
    old_pair_count = integers("pairs")
    old_pair_code = integers("pairs")
    old_pair_axis = floats("pairs", 3)
    # Contacts: what the solver reads, and writes impulses to.
    shape_a = integers("contacts", doc="lower shape index")
    shape_b = integers("contacts", doc="higher shape index")
    body_a = integers("contacts", doc="body of shape_a")
    body_b = integers("contacts", doc="body of shape_b")
    point = floats("contacts", 3, unit="m", doc="midway between the two surfaces, world axes")
    normal = floats("contacts", 3, doc="unit, from a to b, world axes")
    gap = floats("contacts", unit="m", doc="distance of the surfaces along the normal; negative: penetration")
    impulse = floats("contacts", 3, unit="N s", doc="on body_b, world axes; warm start after `detect`")
    matched = integers("contacts", doc="1: the impulse was carried over from the previous step")
    same_feature = integers("contacts", doc="that contact among the old ones, if its key is the same; else -1")
    turning = floats(
        "contacts", unit="m/s^2", doc="rate of its normal velocity that turning makes, of the step's start"
    )
    key = integers("contacts", doc="feature pair within the shape pair")
    friction = floats("contacts", doc="smaller of the two shapes' coefficients")
    torque = floats("contacts", 3, unit="N m s", doc="angular impulse of rolling and torsional friction on body_b")
    surface = integers("contacts", doc="row of its contact properties, where the assembly uses them")
    restitution = floats("contacts", doc="product of the two shapes' coefficients")
    swept = integers("contacts", doc="1: of a sweep, its gap extrapolated from the time of impact")
    local_a = floats("contacts", 3, unit="m", doc="point in the axes of shape_a")
    local_b = floats("contacts", 3, unit="m", doc="point in the axes of shape_b")
    old_point = floats("contacts", 3, unit="m")
    old_turning = floats("contacts", unit="m/s^2")
    old_normal = floats("contacts", 3)
    old_gap = floats("contacts", unit="m")
    old_impulse = floats("contacts", 3, unit="N s")
    old_taken = integers("contacts", doc="1: a new contact took over from it")
    old_torque = floats("contacts", 3, unit="N m s")
    old_key = integers("contacts")
    old_local_a = floats("contacts", 3, unit="m")
    old_local_b = floats("contacts", 3, unit="m")
    # Scratch of one pair: the manifold before reduction.
    work_normal = floats(3, doc="from the function's first shape to its second")
    work_point = floats(MAX_POINTS, 3, unit="m", doc="midway points, world axes")
    work_gap = floats(MAX_POINTS, unit="m")
    work_key = integers(MAX_POINTS)
    work_keep = integers(MAX_POINTS, doc="points chosen by the reduction")
    # Scratch of a pair of which a shape is not convex: patches of contacts with one direction of the normal.
    patch_count = integers("patches", doc="points of a patch")
    patch_point = floats("patch_points", 3, unit="m", doc="MAX_PATCH_POINTS for each patch")
    patch_normal = floats("patch_points", 3, doc="from the pair's first shape to its second")
    patch_gap = floats("patch_points", unit="m")
    patch_key = integers("patch_points")
    ring = integers(MAX_PATCH + 2, doc="outline of a patch")
    corner = floats(SLOTS, 3, 3, unit="m", doc="triangle in a slot: corners from the slot's origin, in its axes")
    corner_vertex = integers(SLOTS, 6, doc="the triangle's row of `triangle`")
    corner_shape = integers(SLOTS, doc="compound or height map whose triangle it is")
    outside = floats(3, unit="m", doc="where a shape's middle was before it passed a surface, in the surface's axes")
    still_pose = floats(2, 12, doc="rotation and position of two shapes while a sweep moves them")
    twist = floats(2, 6, unit="rad/s, m/s", doc="of two shapes about their origins, while a sweep moves them")
    number = floats(64, doc="scratch numbers of a pair function")
    poly = floats(2, MAX_POINTS, 4, unit="m", doc="polygons being clipped: u, v, height, distance from the clip line")
    poly_key = integers(2, MAX_POINTS)
    feature = floats(2, MAX_POINTS, 3, unit="m", doc="supporting features of the two shapes, world axes")
    simplex = floats(4, 9, unit="m", doc="GJK: points of A - B, A and B")
    expand = floats("expand_points", 9, unit="m", doc="EPA: points of A - B, A and B")
    hull_face = floats("expand_faces", 4, doc="EPA: normal and offset of a face")
    hull_corner = integers("expand_faces", 4, doc="EPA: corners of a face, and whether it is alive")
    horizon = integers("expand_faces", 2, doc="EPA: edges of the hole")


# Numbers that detections hand on, in the order in which states hold them.
COUNTS = (
    *("num_contacts", "num_pairs", "num_old_pairs", "sweep_axis", "pending"),
    *("contacts_found", "pairs_found", "num_patches"),
)
