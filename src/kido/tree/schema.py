"""Tables of the two containers every recursion reads and writes: the tree (constant) and its data.

A body here is a rigid link: a body of the skeleton with all that is welded to it. `member_*` fields tell which
link carries each of the skeleton's bodies, and where on it.

Bodies are numbered so that a parent's index is below its children's. Spatial vectors are
[angular; linear], in world axes, about the origin of the body they belong to. Rotations are nine
row-major numbers; symmetric 3x3 matrices are (xx, xy, xz, yy, yz, zz).
"""

from __future__ import annotations

from typing import Any

from kido.jit import Container, Field, Schema

TREE = Schema(
    "TREE",
    Field("parent", "i", ("bodies",), doc="index of the parent body; -1: the world"),
    Field("kind", "i", ("bodies",), doc="joint kind (kido.joints.JointKind) of the joint above the body"),
    Field("first_dof", "i", ("bodies1",), doc="first coordinate of the body's joint; the last entry is the total"),
    Field("body_of_dof", "i", ("dofs",), doc="body whose joint owns the coordinate"),
    Field("rotation_pj", "f", ("bodies", 9), doc="joint's parent-side frame in the parent body"),
    Field("position_pj", "f", ("bodies", 3), "m", "origin of that frame in the parent body"),
    Field("has_child_offset", "i", ("bodies",), doc="1 if the body frame differs from the joint's child-side frame"),
    Field("rotation_jb", "f", ("bodies", 9), doc="body frame in the joint's child-side frame"),
    Field("position_jb", "f", ("bodies", 3), "m", "body origin from the joint's child-side origin, in body axes"),
    Field("axes", "f", ("bodies", 10), doc="up to three unit axes in the joint's parent-side frame; pitch [m/rad]"),
    Field("hinge", "f", ("bodies", 27), doc="rotation of a revolute joint, as kido.joints.motion.hinge describes"),
    Field("chain_kind", "i", ("dofs",), doc="hinge of a compound joint's coordinate: REVOLUTE, PRISMATIC or SCREW"),
    Field("chain_axis", "f", ("dofs", 4), doc="its unit axis in the frame before the hinge; pitch [m/rad]"),
    Field("chain_moved", "i", ("dofs",), doc="1: a fixed transform comes before the hinge"),
    Field("chain_offset", "f", ("dofs", 12), doc="that transform: rotation, then translation [m]"),
    Field("tape_of", "i", ("bodies", 4), doc="user joint: first steps of its two stages, the end, first result"),
    Field("tape", "i", ("steps", 3), doc="operation and operands of each step, as kido.joints.tape describes"),
    Field("tape_number", "f", ("steps",), doc="constant of each step"),
    Field("tape_result", "i", ("results",), doc="step that holds each result of a user joint"),
    Field("mass", "f", ("bodies",), "kg"),
    Field("com", "f", ("bodies", 3), "m", "centre of mass in body axes"),
    Field("inertia", "f", ("bodies", 6), "kg m^2", "rotational inertia about the body origin, body axes"),
    Field("gravity_factor", "f", ("bodies",), doc="1: gravity acts on the body, 0: it does not"),
    Field("stiffness", "f", ("dofs",), "N/m or N m/rad", "joint spring"),
    Field("rest", "f", ("dofs",), "m or rad", "joint spring's rest position"),
    Field("damping", "f", ("dofs",), "N s/m or N m s/rad", "viscous joint damping"),
    Field("lower", "f", ("dofs",), "m or rad", "lower position limit; -inf: none"),
    Field("upper", "f", ("dofs",), "m or rad", "upper position limit; inf: none"),
    Field("coulomb", "f", ("dofs",), "N or N m", "Coulomb joint friction"),
    Field("actuator", "i", ("dofs",), doc="what drives the coordinate (kido.joints.actuators.ActuatorType)"),
    Field("force_lower", "f", ("dofs",), "N or N m", "least force of a servo or of a mimic's coupling; -inf: no limit"),
    Field("force_upper", "f", ("dofs",), "N or N m", "its greatest force; inf: no limit"),
    Field("velocity_lower", "f", ("dofs",), "m/s or rad/s", "least velocity, if worlds enforce it; else -inf"),
    Field("velocity_upper", "f", ("dofs",), "m/s or rad/s", "greatest velocity, if worlds enforce it; else inf"),
    Field("mimic", "i", ("dofs",), doc="coordinate that a mimic follows, counted from its own; 0: it follows none"),
    Field("multiplier", "f", ("dofs",), doc="of a mimic: q = multiplier * q_followed + offset"),
    Field("offset", "f", ("dofs",), "m or rad", "of a mimic"),
    Field("prescribed", "i", ("dofs",), doc="1: the acceleration of the coordinate is given, its force follows"),
    Field("gravity", "f", (3,), "m/s^2", "world axes"),
    Field("member_link", "i", ("members",), doc="link that carries each body of the skeleton"),
    Field("member_apart", "i", ("members",), doc="0 if the body's frame is its link's"),
    Field("member_pose", "f", ("members", 12), doc="pose of the body in its link, the upper three rows"),
    Field("tree_of_body", "i", ("bodies",), doc="tree (skeleton) of the forest that the body belongs to"),
    Field("tree_body", "i", ("trees1",), doc="first body of each tree; the last entry is the total"),
    Field("tree_dof", "i", ("trees1",), doc="first coordinate of each tree; the last entry is the total"),
    Field("tree_mobile", "i", ("trees",), doc="1: the tree is integrated, 0: it stays as it is"),
    Field("moves", "i", ("bodies",), doc="1: the body has a coordinate at or above it, in a mobile tree"),
)

DATA = Schema(
    "DATA",
    Field("q", "f", ("dofs",), "m or rad", "positions"),
    Field("u", "f", ("dofs",), "m/s or rad/s", "velocities"),
    Field("udot", "f", ("dofs",), "m/s^2 or rad/s^2", "accelerations"),
    Field("tau", "f", ("dofs",), "N or N m", "joint forces"),
    Field("command", "f", ("dofs",), doc="velocities and accelerations asked of actuators that take them"),
    Field("external", "f", ("bodies", 24), "N, N m", "external forces, as kido.kernels.external describes"),
    Field("has_external", "i", ("bodies",), doc="1 if any number of `external` is not zero"),
    Field("R", "f", ("bodies", 9), doc="rotation from body to world axes"),
    Field("p", "f", ("bodies", 3), "m", "body origin in the world"),
    Field("l", "f", ("bodies", 3), "m", "body origin from the parent's origin, world axes"),
    Field("H", "f", ("dofs", 6), doc="motion column of each coordinate about its body's origin"),
    Field("tape_value", "f", ("steps",), doc="value of each step of user joints' formulas"),
    Field("V", "f", ("bodies", 6), "rad/s, m/s", "spatial velocity"),
    Field("a", "f", ("bodies", 6), doc="velocity-product acceleration of the joint (theory: a(k))"),
    Field("A", "f", ("bodies", 6), "rad/s^2, m/s^2", "[wdot; acceleration of the body origin], plus minus gravity"),
    Field("f", "f", ("bodies", 6), "N m, N", "wrench through the joint above, about the body origin"),
    Field("J", "f", ("bodies", 6), "kg m^2", "rotational inertia about the body origin, world axes"),
    Field("mc", "f", ("bodies", 3), "kg m", "mass times centre of mass from the body origin, world axes"),
    Field("P", "f", ("bodies", 21), doc="composite or articulated inertia [J | C | M]: 6 + 9 + 6 numbers"),
    Field("z", "f", ("bodies", 6), "N m, N", "articulated bias wrench"),
    Field("U", "f", ("dofs", 6), doc="P H_k, each coordinate after those above it are eliminated"),
    Field("Dinv", "f", ("dofs",), doc="1 / (H_k P H_k + implicit terms); 0 for a prescribed coordinate"),
    Field("e", "f", ("dofs",), doc="coordinate's own share of the acceleration, D^-1 eps"),
    Field("B", "f", ("bodies", 6), doc="velocity change of each body in an impulse sweep"),
    Field("fresh", "i", ("bodies",), doc="results of the body that are current, as bits (kido.kernels.lazy)"),
    Field("evaluated", "i", ("bodies", 4), doc="times its pose, inertia, velocity, acceleration were evaluated lazily"),
    Field("path", "i", ("bodies",), doc="work space of lazy evaluation: bodies from one up towards the root"),
    Field("mass_matrix", "f", ("rows", "columns"), doc="joint-space inertia; 0 x 0 where nobody asks for it"),
)


def data_for(tree: Container, mass_matrix: bool = False, samples: int = 0, **shared: Any) -> Container:
    """Data of a tree, all zeros but for arrays to share.

    Args:
        tree: the tree.
        mass_matrix: with room for the mass matrix.
        samples: how many samples lie side by side, as in `Container`.
        **shared: arrays to share.
    """
    dofs = len(tree.body_of_dof)
    size = dofs if mass_matrix else 0
    sizes = {"bodies": len(tree.parent), "dofs": dofs, "steps": len(tree.tape), "rows": size, "columns": size}
    return Container(DATA, samples=samples, **sizes, **shared)
