"""Tables of what spatial operators are made of: a list of bodies at one state, and nodes on them."""

from __future__ import annotations

from kido.jit import Field, Schema

# The bodies here are a skeleton's bodies one by one, welded ones too. Frames as in kido.tree: spatial vectors are
# [angular; linear] in world axes about each body's own origin.
BODIES = Schema(
    "BODIES",
    Field("member", "i", ("bodies",), doc="the body's index in the skeleton"),
    Field("parent", "i", ("bodies",), doc="place of its parent in the list; -1: a root of the list"),
    Field("frozen", "i", ("frozen", 2), doc="bodies below the list that it carries: a place, the body's index"),
    Field("first_dof", "i", ("bodies1",), doc="first free coordinate of the body's hinge; the last entry is the total"),
    Field("source", "i", ("dofs",), doc="place of each free coordinate in the skeleton's state"),
    Field("first_given", "i", ("bodies1",), doc="first prescribed coordinate of the hinge; the last is the total"),
    Field("given_source", "i", ("given",), doc="place of each prescribed coordinate in the skeleton's state"),
    Field("p", "f", ("bodies", 3), "m", "origin in the world"),
    Field("R", "f", ("bodies", 9), doc="rotation from its axes to the world's"),
    Field("l", "f", ("bodies", 3), "m", "origin from the parent's; 0 for roots of the list"),
    Field("H", "f", ("dofs", 6), doc="H*(k): a row for each free coordinate"),
    Field("H_given", "f", ("given", 6), doc="the same of the prescribed coordinates"),
    Field("V", "f", ("bodies", 6), "rad/s, m/s", "spatial velocity"),
    Field("a", "f", ("bodies", 6), doc="velocity-product acceleration a(k)"),
    Field("b", "f", ("bodies", 6), "N m, N", "gyroscopic wrench b(k)"),
    Field("weight", "f", ("bodies", 6), "N m, N", "wrench of gravity"),
    Field("V_boundary", "f", ("bodies", 6), doc="phi*(p, k) V(p) of roots whose parent is outside the list"),
    Field("A_boundary", "f", ("bodies", 6), doc="phi*(p, k) alpha(p) of these, with all coordinates at rest"),
    Field("M", "f", ("bodies", 6, 6), doc="spatial inertia, with that of frozen bodies"),
    Field("P", "f", ("bodies", 6, 6), doc="articulated inertia"),
    Field("G", "f", ("dofs", 6), doc="G(k) = P H* D^-1, a row for each free coordinate"),
    Field("D", "f", ("bodies", 6, 6), doc="D(k) = H P H* in the leading rows and columns"),
    Field("D_inverse", "f", ("bodies", 6, 6), doc="its inverse, likewise"),
    Field("tau", "f", ("bodies", 6, 6), doc="tau(k) = I - G H"),
    Field("work", "f", (3, 6, 6), doc="work space"),
)

NODES = Schema(
    "NODES",
    Field("body", "i", ("nodes",), doc="place of each node's body in the list"),
    Field("arm", "f", ("nodes", 3), "m", "node's origin from the body's, world axes"),
)
