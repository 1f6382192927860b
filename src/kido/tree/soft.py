"""Table of the container of soft bodies: point masses on the surface of links of a forest.

Each point has three coordinates, its displacement q from its place at rest, in the axes of its link. They are not
coordinates of the tree: rows of the contact problem would be as long as the skin has points. Points of one soft body
lie side by side; `first` says where. The matrix of a soft body (`kido.kernels.soft`) is kept as a banded Cholesky
factor, whose rows are the points in the order `order`.
"""

from __future__ import annotations

from kido.jit import Field, Schema

# Entries of `parameter`. FACTORED is the time step that the factor was made for; 0: it must be made anew.
KV, KE, KD, FACTORED, AUTOMATIC, RADIUS, CALM = range(7)

# Entries of `shape_kind`.
RIGID_SHAPE, VERTEX_SHAPE, FACE_SHAPE = range(3)

SOFT = Schema(
    "SOFT",
    Field("link", "i", ("softs",), doc="link that carries each soft body's points; its frame is the body's"),
    Field("tree_index", "i", ("softs",), doc="tree of the forest"),
    Field("first", "i", ("softs1",), doc="first point of each soft body; the last entry is the total"),
    Field("band", "i", ("softs",), doc="sub-diagonals of its factor"),
    Field("band_at", "i", ("softs1",), doc="where its factor starts"),
    Field("parameter", "f", ("softs", 8), doc="stiffness and damping, see KV ... CALM"),
    Field("rest", "f", ("points", 3), "m", "place at rest, link axes"),
    Field("q", "f", ("points", 3), "m", "displacement from there"),
    Field("qd", "f", ("points", 3), "m/s", "its rate, link axes"),
    Field("mass", "f", ("points",), "kg"),
    Field("force", "f", ("points", 3), "N", "external force, world axes"),
    Field("frozen", "i", ("points",), doc="1: the point is fixed to the link where it is"),
    Field("neighbor_first", "i", ("points1",), doc="first neighbour of each point"),
    Field("neighbor", "i", ("neighbors",), doc="points that springs join to a point"),
    Field("face", "i", ("faces", 3), doc="points at the corners of each triangle, counterclockwise from outside"),
    Field("order", "i", ("points",), doc="point of each row of the factor"),
    Field("place", "i", ("points",), doc="row of each point"),
    Field("factor", "f", ("entries",), doc="Cholesky factors, rows from the first sub-diagonal to the diagonal"),
    Field("column", "f", ("points", 4), doc="work: columns being solved for, by row"),
    Field("reduced", "f", ("points", 4), doc="S^-1 M of 1 and of the points' places: a, and b in link axes [m]"),
    Field("base", "f", ("points", 3), "N", "force on the coordinate without velocity products, link axes"),
    Field("start_q", "f", ("points", 3), "m", "q at the start of the step"),
    Field("start", "f", ("points", 3), "m/s", "qd at the start of the step"),
    Field("rate", "f", ("points", 3), "m/s^2", "acceleration of q"),
    Field("transfer", "f", ("softs", 6), "N m s, N s", "momentum that points handed to the link when they froze"),
    Field("balance", "f", ("softs", 8), doc="momentum that its tree should have, see kido.simulation.soft_balance"),
    Field("impulse", "f", ("points", 3), "N s", "of contacts in the last step, world axes"),
    Field("push", "f", ("points", 3), doc="pseudo impulse of the position correction, world axes"),
    Field("touched", "i", ("points",), doc="place among the points in contact, counted from 1; 0: untouched"),
    Field("near", "i", ("points",), doc="work of the automatic mode: 1 near a contact"),
    Field("columns", "i", ("softs",), doc="number of points in contact"),
    Field("place_in_u", "i", ("softs",), doc="where their velocities stand in the contact problem"),
    Field("shape_kind", "i", ("shapes",), doc="RIGID_SHAPE, VERTEX_SHAPE or FACE_SHAPE"),
    Field("shape_soft", "i", ("shapes",), doc="soft body of the shape"),
    Field("shape_item", "i", ("shapes",), doc="its point or face"),
)
