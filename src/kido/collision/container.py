"""The arrays of a detector: shapes, filters, candidate pairs, contacts and scratch space."""

from __future__ import annotations

from kido.jit import Field, Schema

# Shape types, in the order in which pair functions expect their two shapes.
# Types from COMPOUND on are not convex: their parts, or the triangles of their cells, are what meets others.
PLANE, SPHERE, CAPSULE, BOX, CYLINDER, CONE, ELLIPSOID, HULL, SPHERES, TRIANGLE = range(10)
POINT, FACE = 10, 11  # of soft skins: a ball without size, a triangle with an inside
COMPOUND, HEIGHTMAP = 12, 13
TYPES = 14
TYPE_NAMES = (
    *("plane", "sphere", "capsule", "box", "cylinder", "cone", "ellipsoid", "hull", "spheres", "triangle"),
    *("point", "face", "compound", "heightmap"),
)

# Entries of COLLISION.count
CONTACTS, PAIRS, OLD_PAIRS, AXIS, PENDING, CONTACTS_FOUND, PAIRS_FOUND, PATCHES = range(8)

# Entries of COLLISION.sweep: time step [s], 0 if nothing is swept; time [s] from the start of a step to its detection;
# the largest push [m] that a swept contact asks of the position correction.
SWEEP_STEP, SWEEP_BACK, PUSH = range(3)

# Bits of the status that `detect` returns; 0 means that every contact was found.
PAIRS_FULL = 1  # more candidate pairs than the arrays hold; count[PAIRS_FOUND] tells how many
CONTACTS_FULL = 2  # more contacts than the arrays hold; count[CONTACTS_FOUND] tells how many
NOT_FINITE = 4  # a body's pose is NaN or infinite

MAX_MANIFOLD = 4  # most contacts of a pair
MAX_PATCH = 8  # most contacts of a patch, of a pair of which a shape is not convex
MAX_PATCH_POINTS = 32  # most points of a patch before it is reduced
SLOTS = 2  # places behind the shapes where the parts that are being looked at stand
WORK = 64  # most points of a manifold before it is reduced, and corners of a face polygon

COLLISION = Schema(
    "COLLISION",
    # Bodies. Poses are shared with the dynamics.
    Field("body_rotation", "f", ("bodies", 9), doc="rotation matrix, row-major, body to world"),
    Field("body_position", "f", ("bodies", 3), "m", "body origin in world axes"),
    Field("body_velocity", "f", ("bodies", 6), "rad/s, m/s", "[w; v] of the body origin in world axes, for sweeps"),
    Field("body_moving", "i", ("bodies",), doc="0: the body never moves; two such bodies do not collide"),
    Field("body_collidable", "i", ("bodies",), doc="0: the body collides with nothing"),
    Field("body_group", "i", ("bodies",), doc="bodies with the same group >= 0 do not collide"),
    Field("excluded_first", "i", ("bodies_and_one",), doc="first entry of a body in `excluded`"),
    Field("excluded", "i", ("excluded",), doc="bodies that a body does not collide with, ascending"),
    # Shapes.
    # After the shapes come SLOTS more, in some fields: the parts of compounds that a pair function looks at.
    Field("shape_type", "i", ("slots",), doc="PLANE ... HEIGHTMAP"),
    Field("shape_body", "i", ("shapes",), doc="index of the body that carries the shape"),
    Field("shape_size", "f", ("slots", 3), "m", "radius; half edges; radius and half height; half axes"),
    Field("shape_compound", "i", ("shapes",), doc="index of the compound or height map, -1 if none"),
    Field("shape_hull", "i", ("slots",), doc="index of the hull, or of a face's triangle; -1 if none"),
    Field("shape_reach", "f", ("slots",), "m", "half the diagonal of the shape's box, 1e100 for planes"),
    Field("shape_category", "i", ("shapes",), doc="bits that say what the shape is"),
    Field("shape_mask", "i", ("shapes",), doc="bits of the categories that it collides with"),
    Field("shape_continuous", "i", ("shapes",), doc="1: swept along its motion where that is large"),
    Field("shape_inner", "f", ("shapes",), "m", "motion in a step below which nothing can be passed through"),
    Field("shape_outer", "f", ("shapes",), "m", "radius about the shape's origin that holds it"),
    Field("shape_motion", "f", ("shapes",), "m", "most that a point of a swept shape moves in a step; 0 for others"),
    Field("shape_friction", "f", ("shapes",), doc="Coulomb coefficient"),
    Field("shape_restitution", "f", ("shapes",), doc="coefficient of restitution"),
    Field("local_rotation", "f", ("shapes", 9), doc="shape to body"),
    Field("local_position", "f", ("shapes", 3), "m", "shape origin in body axes"),
    Field("rotation", "f", ("slots", 9), doc="shape to world"),
    Field("position", "f", ("slots", 3), "m", "shape origin in world axes"),
    Field("aabb", "f", ("slots", 6), "m", "lower and upper corner in world axes, grown by half the margin"),
    # Convex hulls.
    Field("hull_first", "i", ("hulls_and_one",), doc="first vertex of a hull"),
    Field("hull_vertex", "f", ("hull_vertices", 3), "m", "in shape axes"),
    Field("hull_radius", "f", ("hull_vertices",), "m", "of the ball about a vertex, less that of the smallest one"),
    Field("hull_start", "i", ("hulls", 6), doc="vertices farthest along -x, +x, -y, +y, -z, +z"),
    Field("neighbor_first", "i", ("hull_vertices_and_one",), doc="first neighbour of a vertex"),
    Field("neighbor", "i", ("neighbors",), doc="vertices joined to a vertex by an edge"),
    Field("face_first", "i", ("hulls_and_one",), doc="first face of a hull"),
    Field("face_normal", "f", ("faces", 3), doc="outward, in shape axes"),
    Field("face_loop", "i", ("faces_and_one",), doc="first corner of a face"),
    Field("face_vertex", "i", ("face_vertices",), doc="corners of faces, counterclockwise from outside"),
    # Compounds: a tree of boxes in depth-first order over their parts, each a triangle or a convex piece.
    Field("compound_node", "i", ("compounds_and_one",), doc="first node of a compound"),
    Field("compound_closed", "i", ("compounds",), doc="1: triangles have an outside; 0: both sides are alike"),
    Field("node_box", "f", ("nodes", 6), "m", "lower and upper corner in shape axes"),
    Field("node_next", "i", ("nodes",), doc="node that follows those below this one"),
    Field("node_part", "i", ("nodes", 2), doc="first and number of the parts of a leaf"),
    Field("part", "i", ("parts",), doc="triangle, or -1 - piece"),
    Field("triangle", "i", ("triangles", 6), doc="three vertices; those across the edges 01, 12, 20, -1 if none"),
    Field("piece_type", "i", ("pieces",), doc="SPHERE ... HULL"),
    Field("piece_size", "f", ("pieces", 3), "m", "as shape_size"),
    Field("piece_hull", "i", ("pieces",), doc="index of the hull, -1 if none"),
    Field("piece_reach", "f", ("pieces",), "m", "as shape_reach"),
    Field("piece_rotation", "f", ("pieces", 9), doc="piece to shape"),
    Field("piece_position", "f", ("pieces", 3), "m", "origin in shape axes"),
    # Height maps.
    Field("map_first", "i", ("maps",), doc="first height of a map"),
    Field("map_size", "i", ("maps", 2), doc="rows (along y) and columns (along x)"),
    Field("map_spacing", "f", ("maps", 2), "m", "along x and y"),
    Field("map_height", "f", ("heights",), "m", "row by row"),
    # Triangles of soft skins.
    Field("skin_triangle", "f", ("skin_triangles", 9), "m", "corners of each face in body axes"),
    # Parameters and tables.
    Field("margin", "f", (1,), "m", "contacts with a gap below this are reported"),
    Field("sweep", "f", (4,), doc="see SWEEP_STEP ... PUSH"),
    Field("pair_function", "i", (TYPES, TYPES), doc="address of the callback for a pair of types, 0 if none"),
    Field("stage", "i", (1,), doc="address of the callback behind `detect`"),
    Field("count", "i", (8,), doc="see CONTACTS ... PAIRS_FOUND"),
    # Broad phase.
    Field("order", "i", ("shapes",), doc="shapes by lower bound along the sweep axis"),
    Field("sorted", "f", ("shapes", 6), "m", "bounding boxes in that order, sweep axis first"),
    Field("bucket", "i", ("shapes_and_one",), doc="counting sort of the pairs"),
    Field("pair_a", "i", ("pairs",), doc="lower shape of a candidate pair; pairs ascend by (a, b)"),
    Field("pair_b", "i", ("pairs",), doc="higher shape of a candidate pair"),
    Field("pair_first", "i", ("pairs",), doc="first contact"),
    Field("pair_count", "i", ("pairs",), doc="number of contacts"),
    Field("pair_code", "i", ("pairs",), doc="what a pair function remembers, 0 at first"),
    Field("pair_axis", "f", ("pairs", 3), doc="direction that a pair function remembers, 0 at first"),
    Field("swap", "i", ("pairs", 2), doc="scratch of the sort"),
    Field("old_pair_a", "i", ("pairs",), doc="the same of the previous detection"),
    Field("old_pair_b", "i", ("pairs",)),
    Field("old_pair_first", "i", ("pairs",)),
    Field("old_pair_count", "i", ("pairs",)),
    Field("old_pair_code", "i", ("pairs",)),
    Field("old_pair_axis", "f", ("pairs", 3)),
    # Contacts: what the solver reads, and writes impulses to.
    Field("shape_a", "i", ("contacts",), doc="lower shape index"),
    Field("shape_b", "i", ("contacts",), doc="higher shape index"),
    Field("body_a", "i", ("contacts",), doc="body of shape_a"),
    Field("body_b", "i", ("contacts",), doc="body of shape_b"),
    Field("point", "f", ("contacts", 3), "m", "midway between the two surfaces, world axes"),
    Field("normal", "f", ("contacts", 3), doc="unit, from a to b, world axes"),
    Field("gap", "f", ("contacts",), "m", "distance of the surfaces along the normal; negative: penetration"),
    Field("impulse", "f", ("contacts", 3), "N s", "on body_b, world axes; warm start after `detect`"),
    Field("matched", "i", ("contacts",), doc="1: the impulse was carried over from the previous step"),
    Field("key", "i", ("contacts",), doc="feature pair within the shape pair"),
    Field("friction", "f", ("contacts",), doc="smaller of the two shapes' coefficients"),
    Field("torque", "f", ("contacts", 3), "N m s", "angular impulse of rolling and torsional friction on body_b"),
    Field("surface", "i", ("contacts",), doc="row of its contact properties, where the assembly uses them"),
    Field("restitution", "f", ("contacts",), doc="product of the two shapes' coefficients"),
    Field("swept", "i", ("contacts",), doc="1: of a sweep, its gap extrapolated from the time of impact"),
    Field("local_a", "f", ("contacts", 3), "m", "point in the axes of shape_a"),
    Field("local_b", "f", ("contacts", 3), "m", "point in the axes of shape_b"),
    Field("old_normal", "f", ("contacts", 3)),
    Field("old_gap", "f", ("contacts",), "m"),
    Field("old_impulse", "f", ("contacts", 3), "N s"),
    Field("old_taken", "i", ("contacts",), doc="1: a new contact took over from it"),
    Field("old_torque", "f", ("contacts", 3), "N m s"),
    Field("old_key", "i", ("contacts",)),
    Field("old_local_a", "f", ("contacts", 3), "m"),
    Field("old_local_b", "f", ("contacts", 3), "m"),
    # Scratch of one pair: the manifold before reduction.
    Field("work_normal", "f", (3,), doc="from the function's first shape to its second"),
    Field("work_point", "f", (WORK, 3), "m", "midway points, world axes"),
    Field("work_gap", "f", (WORK,), "m"),
    Field("work_key", "i", (WORK,)),
    Field("work_keep", "i", (WORK,), doc="points chosen by the reduction"),
    # Scratch of a pair of which a shape is not convex: patches of contacts with one direction of the normal.
    Field("patch_count", "i", ("patches",), doc="points of a patch"),
    Field("patch_point", "f", ("patch_points", 3), "m", "PATCH_ROOM for each patch"),
    Field("patch_normal", "f", ("patch_points", 3), doc="from the pair's first shape to its second"),
    Field("patch_gap", "f", ("patch_points",), "m"),
    Field("patch_key", "i", ("patch_points",)),
    Field("ring", "i", (MAX_PATCH + 2,), doc="outline of a patch"),
    Field("corner", "f", (SLOTS, 3, 3), "m", "triangle in a slot: corners from the slot's origin, in its axes"),
    Field("corner_vertex", "i", (SLOTS, 6), doc="the triangle's row of `triangle`"),
    Field("corner_shape", "i", (SLOTS,), doc="compound or height map whose triangle it is"),
    Field("still_pose", "f", (2, 12), doc="rotation and position of two shapes while a sweep moves them"),
    Field("twist", "f", (2, 6), "rad/s, m/s", "of two shapes about their origins, while a sweep moves them"),
    Field("number", "f", (64,), doc="scratch numbers of a pair function"),
    Field("poly", "f", (2, WORK, 4), "m", "polygons being clipped: u, v, height, distance from the clip line"),
    Field("poly_key", "i", (2, WORK)),
    Field("feature", "f", (2, WORK, 3), "m", "supporting features of the two shapes, world axes"),
    Field("simplex", "f", (4, 9), "m", "GJK: points of A - B, A and B"),
    Field("expand", "f", ("expand_points", 9), "m", "EPA: points of A - B, A and B"),
    Field("hull_face", "f", ("expand_faces", 4), doc="EPA: normal and offset of a face"),
    Field("hull_corner", "i", ("expand_faces", 4), doc="EPA: corners of a face, and whether it is alive"),
    Field("horizon", "i", ("expand_faces", 2), doc="EPA: edges of the hole"),
)
