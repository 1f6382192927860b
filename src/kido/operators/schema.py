"""Tables of what spatial operators are made of: a list of bodies at one state, and nodes on them."""

from __future__ import annotations

from kido.jit import Struct, floats, integers

# The bodies here are a skeleton's bodies one by one, welded ones too. Frames as in kido.tree: spatial vectors are
# [angular; linear] in world axes about each body's own origin.


class BODIES(Struct):
    member = integers("bodies", doc="the body's index in the skeleton")
    parent = integers("bodies", doc="place of its parent in the list; -1: a root of the list")
    frozen = integers("frozen", 2, doc="bodies below the list that it carries: a place, the body's index")
    first_dof = integers("bodies1", doc="first free coordinate of the body's hinge; the last entry is the total")
    source = integers("dofs", doc="place of each free coordinate in the skeleton's state")
    first_given = integers("bodies1", doc="first prescribed coordinate of the hinge; the last is the total")
    given_source = integers("given", doc="place of each prescribed coordinate in the skeleton's state")
    p = floats("bodies", 3, unit="m", doc="origin in the world")
    R = floats("bodies", 9, doc="rotation from its axes to the world's")
    l = floats("bodies", 3, unit="m", doc="origin from the parent's; 0 for roots of the list")  # noqa: E741
    H = floats("dofs", 6, doc="H*(k): a row for each free coordinate")
    H_given = floats("given", 6, doc="the same of the prescribed coordinates")
    V = floats("bodies", 6, unit="rad/s, m/s", doc="spatial velocity")
    a = floats("bodies", 6, doc="velocity-product acceleration a(k)")
    b = floats("bodies", 6, unit="N m, N", doc="gyroscopic wrench b(k)")
    weight = floats("bodies", 6, unit="N m, N", doc="wrench of gravity")
    V_boundary = floats("bodies", 6, doc="phi*(p, k) V(p) of roots whose parent is outside the list")
    A_boundary = floats("bodies", 6, doc="phi*(p, k) alpha(p) of these, with all coordinates at rest")
    M = floats("bodies", 6, 6, doc="spatial inertia, with that of frozen bodies")
    P = floats("bodies", 6, 6, doc="articulated inertia")
    G = floats("dofs", 6, doc="G(k) = P H* D^-1, a row for each free coordinate")
    D = floats("bodies", 6, 6, doc="D(k) = H P H* in the leading rows and columns")
    D_inverse = floats("bodies", 6, 6, doc="its inverse, likewise")
    tau = floats("bodies", 6, 6, doc="tau(k) = I - G H")
    work = floats(3, 6, 6, doc="work space")


class NODES(Struct):
    body = integers("nodes", doc="place of each node's body in the list")
    arm = floats("nodes", 3, unit="m", doc="node's origin from the body's, world axes")
