"""Table of the container of soft bodies: point masses on the surface of links of a forest.

Each point has three coordinates, its displacement q from its place at rest, in the axes of its link. They are not
coordinates of the tree: rows of the contact problem would be as long as the skin has points. Points of one soft body
lie side by side; `first` says where. The matrix of a soft body (`kido.kernels.soft`) is kept as a banded Cholesky
factor, whose rows are the points in the order `order`.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integers

# Entries of `shape_kind`.
RIGID_SHAPE, VERTEX_SHAPE, FACE_SHAPE = range(3)


class SOFT(Struct):
    link = integers("softs", doc="link that carries each soft body's points; its frame is the body's")
    tree_index = integers("softs", doc="tree of the forest")
    first = integers("softs1", doc="first point of each soft body; the last entry is the total")
    band = integers("softs", doc="sub-diagonals of its factor")
    band_at = integers("softs1", doc="where its factor starts")
    kv = floats("softs", unit="N/m", doc="stiffness of points to their places at rest")
    ke = floats("softs", unit="N/m", doc="stiffness of springs between points")
    kd = floats("softs", unit="N s/m", doc="damping")
    factored = floats("softs", unit="s", doc="time step that the factor was made for; 0: it must be made anew")
    automatic = integers("softs", doc="1: points near contacts are free, those at rest are frozen")
    radius = floats("softs", unit="m", doc="what is near, in the automatic mode")
    calm = floats("softs", unit="m", doc="displacement at which a point may freeze")
    rest = floats("points", 3, unit="m", doc="place at rest, link axes")
    q = floats("points", 3, unit="m", doc="displacement from there")
    qd = floats("points", 3, unit="m/s", doc="its rate, link axes")
    mass = floats("points", unit="kg")
    force = floats("points", 3, unit="N", doc="external force, world axes")
    frozen = integers("points", doc="1: the point is fixed to the link where it is")
    neighbor_first = integers("points1", doc="first neighbour of each point")
    neighbor = integers("neighbors", doc="points that springs join to a point")
    face = integers("faces", 3, doc="points at the corners of each triangle, counterclockwise from outside")
    order = integers("points", doc="point of each row of the factor")
    place = integers("points", doc="row of each point")
    factor = floats("entries", doc="Cholesky factors, rows from the first sub-diagonal to the diagonal")
    column = floats("points", 4, doc="work: columns being solved for, by row")
    reduced = floats("points", 4, doc="S^-1 M of 1 and of the points' places: a, and b in link axes [m]")
    base = floats("points", 3, unit="N", doc="force on the coordinate without velocity products, link axes")
    start_q = floats("points", 3, unit="m", doc="q at the start of the step")
    start = floats("points", 3, unit="m/s", doc="qd at the start of the step")
    rate = floats("points", 3, unit="m/s^2", doc="acceleration of q")
    transfer = floats("softs", 6, unit="N m s, N s", doc="momentum that points handed to the link when they froze")
    balance = floats("softs", 8, doc="momentum that its tree should have, see kido.simulation.soft_balance")
    impulse = floats("points", 3, unit="N s", doc="of contacts in the last step, world axes")
    push = floats("points", 3, doc="pseudo impulse of the position correction, world axes")
    touched = integers("points", doc="place among the points in contact, counted from 1; 0: untouched")
    near = integers("points", doc="work of the automatic mode: 1 near a contact")
    columns = integers("softs", doc="number of points in contact")
    place_in_u = integers("softs", doc="where their velocities stand in the contact problem")
    shape_kind = integers("shapes", doc="RIGID_SHAPE, VERTEX_SHAPE or FACE_SHAPE")
    shape_soft = integers("shapes", doc="soft body of the shape")
    shape_item = integers("shapes", doc="its point or face")
