"""What sweeps over trees with flexible bodies keep besides the tree and its data: modes, nodes and work space.

Modes of flexible body c are coordinates of the tree, from first_mode[c] on, of a link of their own that hangs on the
body and has no motion. Numbers of pairs of its modes (m, n) stand at first_pair[c] + m * modes + n. Node j, a link
without coordinates that modes move, has one column per mode of its body from first_column[j] on, and pairs from
first_node_pair[j] on. Symmetric 3x3 matrices are (xx, xy, xz, yy, yz, zz).

The twelve numbers of `linear` and `slope` are of a mode: the derivative of the body's rotational inertia by its
coordinate (6), the angular (3) and the linear (3) momentum that its rate gives, undeformed, and what each mode adds.

Constants are apart from work space, so that all states of a batch, and all lanes, share them.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integers, reference


class MODES(Struct):
    """Constants of the modes of all bodies."""

    linear = floats("dofs", 12, doc="of each mode, undeformed, body axes")
    slope = floats("pairs", 12, doc="its derivative by another mode")
    swing = floats("pairs", 9, doc="angular momenta of `slope` less those of (n, m); angular; linear: what rates do")
    mass = floats("pairs", doc="modal mass")
    translation = floats("columns", 3, doc="of a node, per mode, body axes")
    rotation = floats("columns", 3, unit="rad", doc="of a node, per mode, body axes")
    quadratic = floats("node_pairs", 6, doc="second derivatives of a node's translation, then of its rotation vector")


class FLEX(Struct):
    flex_of_body = integers("bodies", doc="flexible body of each link; -1: it is rigid")
    node_of_body = integers("bodies", doc="node of each link; -1: it is none")
    has_modes = integers("bodies", doc="1: the link's coordinates are modes of its parent")
    first_mode = integers("flexes", doc="first mode of each flexible body, a coordinate of the tree")
    number = integers("flexes", doc="how many modes it has")
    first_pair = integers("flexes", doc="first pair of its modes")
    first_column = integers("nodes", doc="first column of each node")
    first_node_pair = integers("nodes", doc="first pair of modes of each node")
    twists = integers("nodes", doc="1: the rotation vector of a node has second derivatives")
    modes = reference(MODES, doc="constants")
    Pi = floats("columns", 6, doc="motion of a node per rate of a mode, about the node, world axes")
    X = floats("dofs", 6, doc="coupling of modes and body, [angular; linear] momentum per rate, world axes")
    JD = floats("dofs", 6, doc="derivative of the rotational inertia by each mode, body axes")
    turned = floats("nodes", 5, doc="rotation vector of each node, and coefficients of its left Jacobian")
    turning = floats("columns", 3, doc="derivative of that vector by each mode, body axes")
    ff = floats("pairs", doc="modal inertia with all that nodes carry; then its factor, rows above each mode")
    zf = floats("dofs", doc="modal bias")
    start_u = floats("dofs", doc="work of steps: velocities before")
    impulse = floats("dofs", unit="N s", doc="work: impulses on coordinates")
    response = floats("dofs", doc="work: velocities that they bring")
    sums = floats(6, doc="work: a momentum")


class FLEX_SURFACES(Struct):
    """Surfaces of flexible bodies that touch others, as they are deformed.

    Vertex v is at place_v + sum over m of eta_m (shift_vm + sum over n of bend_vmn eta_n / 2), in the body's axes.
    """

    flex = integers("surfaces", doc="flexible body of each")
    link = integers("surfaces", doc="link of that")
    first_vertex = integers("surfaces_and_one", doc="its first vertex")
    first_column = integers("surfaces", doc="first row of `shift`: one for each vertex and mode")
    first_pair = integers("surfaces", doc="first row of `bend`: one for each vertex and pair of modes; -1: none")
    place = floats("vertices", 3, unit="m", doc="of vertices, undeformed")
    shift = floats("columns", 3, doc="displacement per mode")
    bend = floats("pairs", 3, doc="second derivatives of the displacement")
    at = floats("vertices", 3, unit="m", doc="where they are")
    surface = integers("patches", doc="surface of each patch of triangles")
    shape = integers("patches", doc="the detector's shape")
    hull = integers("patches", doc="its first vertex there")
    first = integers("patches_and_one", doc="its first entry of `vertex`")
    corners = integers("patches", doc="how many vertices its triangles have, before those across edges")
    depth = floats("patches", unit="m", doc="least half extent of its box")
    vertex = integers("members", doc="vertex of each of a patch's")
    patch_of = integers("shapes", doc="patch of each of the detector's shapes; -1: none")
    answer = floats("answers", doc="velocities of a tree's coordinates by a unit impulse on each mode")
    first_answer = integers("surfaces", doc="first entry of `answer`")
    answered = integers("surfaces", doc="1: these are of this step")
