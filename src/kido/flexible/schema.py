"""What sweeps over trees with flexible bodies keep besides the tree and its data: modes, nodes and work space.

Flexible body c has the modes first_mode[c] .. first_mode[c + 1] - 1, whose coordinates come after those of all joints
in vectors over coordinates. Numbers of pairs of its modes (m, n) stand at first_pair[c] + m * modes + n. Node j, a link
without coordinates that modes move, has one column per mode of its body from first_column[j] on, and pairs from
first_node_pair[j] on. Symmetric 3x3 matrices are (xx, xy, xz, yy, yz, zz).

The twelve numbers of `linear` and `slope` are of a mode: the derivative of the body's rotational inertia by its
coordinate (6), the angular (3) and the linear (3) momentum that its rate gives, undeformed, and what each mode adds.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integers


class FLEX(Struct):
    flex_of_body = integers("bodies", doc="flexible body of each link; -1: it is rigid")
    node_of_body = integers("bodies", doc="node of each link; -1: it is none")
    first_mode = integers("flexes1", doc="first mode of each flexible body; the last entry is the total")
    first_pair = integers("flexes1", doc="first pair of its modes; the last entry is the total")
    first_column = integers("nodes1", doc="first column of each node; the last entry is the total")
    first_node_pair = integers("nodes1", doc="first pair of modes of each node; the last entry is the total")
    stiffness = floats("modes", unit="N/m", doc="modal stiffness K")
    damping = floats("modes", unit="N s/m", doc="modal damping D")
    linear = floats("modes", 12, doc="of each mode, undeformed, body axes")
    slope = floats("pairs", 12, doc="its derivative by another mode")
    mass = floats("pairs", doc="modal mass")
    translation = floats("columns", 3, doc="of a node, per mode, body axes")
    rotation = floats("columns", 3, unit="rad", doc="of a node, per mode, body axes")
    quadratic = floats("node_pairs", 3, doc="second derivatives of a node's translation (foreshortening)")
    eta = floats("modes", doc="modal coordinates")
    rate = floats("modes", doc="their rates")
    acceleration = floats("modes", doc="their accelerations")
    force = floats("modes", doc="forces on them besides stiffness and damping")
    Pi = floats("columns", 6, doc="motion of a node per rate of a mode, about the node, world axes")
    X = floats("modes", 6, doc="coupling of modes and body, [angular; linear] momentum per rate; then eliminated")
    JD = floats("modes", 6, doc="derivative of the rotational inertia by each mode, body axes")
    ff = floats("pairs", doc="modal inertia with all that nodes carry; then its factor, rows above each mode")
    zf = floats("modes", doc="modal bias")
    Dinv = floats("modes", doc="1 / D of each mode in its elimination")
    e = floats("modes", doc="a mode's own share of its acceleration")
    start_u = floats("dofs", doc="work of steps: velocities before, of joints")
    start_rate = floats("modes", doc="work of steps: rates before")
