"""Tables of the two containers every recursion reads and writes: the tree (constant) and its data.

A body here is a rigid link: a body of the skeleton with all that is welded to it. `member_*` fields tell which
link carries each of the skeleton's bodies, and where on it.

Bodies are numbered so that a parent's index is below its children's. Spatial vectors are
[angular; linear], in world axes, about the origin of the body they belong to. Rotations are nine
row-major numbers; symmetric 3x3 matrices are (xx, xy, xz, yy, yz, zz).
"""

from __future__ import annotations

from typing import Any

from kido.jit import Struct, floats, integers


class TREE(Struct):
    parent = integers("bodies", doc="index of the parent body; -1: the world")
    kind = integers("bodies", doc="joint kind (kido.joints.JointKind) of the joint above the body")
    first_dof = integers("bodies1", doc="first coordinate of the body's joint; the last entry is the total")
    body_of_dof = integers("dofs", doc="body whose joint owns the coordinate")
    rotation_pj = floats("bodies", 9, doc="joint's parent-side frame in the parent body")
    position_pj = floats("bodies", 3, unit="m", doc="origin of that frame in the parent body")
    has_child_offset = integers("bodies", doc="1 if the body frame differs from the joint's child-side frame")
    rotation_jb = floats("bodies", 9, doc="body frame in the joint's child-side frame")
    position_jb = floats("bodies", 3, unit="m", doc="body origin from the joint's child-side origin, in body axes")
    axes = floats("bodies", 10, doc="up to three unit axes in the joint's parent-side frame; pitch [m/rad]")
    hinge = floats("bodies", 27, doc="rotation of a revolute joint, as kido.joints.motion.hinge describes")
    chain_kind = integers("dofs", doc="hinge of a compound joint's coordinate: REVOLUTE, PRISMATIC or SCREW")
    chain_axis = floats("dofs", 4, doc="its unit axis in the frame before the hinge; pitch [m/rad]")
    chain_moved = integers("dofs", doc="1: a fixed transform comes before the hinge")
    chain_offset = floats("dofs", 12, doc="that transform: rotation, then translation [m]")
    tape_of = integers("bodies", 4, doc="user joint: first steps of its two stages, the end, first result")
    tape = integers("steps", 3, doc="operation and operands of each step, as kido.joints.tape describes")
    tape_number = floats("steps", doc="constant of each step")
    tape_result = integers("results", doc="step that holds each result of a user joint")
    mass = floats("bodies", unit="kg")
    com = floats("bodies", 3, unit="m", doc="centre of mass in body axes")
    inertia = floats("bodies", 6, unit="kg m^2", doc="rotational inertia about the body origin, body axes")
    gravity_factor = floats("bodies", doc="1: gravity acts on the body, 0: it does not")
    stiffness = floats("dofs", unit="N/m or N m/rad", doc="joint spring")
    rest = floats("dofs", unit="m or rad", doc="joint spring's rest position")
    damping = floats("dofs", unit="N s/m or N m s/rad", doc="viscous joint damping")
    armature = floats("dofs", unit="kg or kg m^2", doc="rotor inertia that the coordinate drives, on M's diagonal")
    lower = floats("dofs", unit="m or rad", doc="lower position limit; -inf: none")
    upper = floats("dofs", unit="m or rad", doc="upper position limit; inf: none")
    coulomb = floats("dofs", unit="N or N m", doc="Coulomb joint friction")
    actuator = integers("dofs", doc="what drives the coordinate (kido.joints.actuators.ActuatorType)")
    position_gain = floats("dofs", unit="N/m or N m/rad", doc="kp of a POSITION actuator")
    velocity_gain = floats("dofs", unit="N s/m or N m s/rad", doc="its kd")
    force_lower = floats("dofs", unit="N or N m", doc="least force of a servo or of a mimic's coupling; -inf: no limit")
    force_upper = floats("dofs", unit="N or N m", doc="its greatest force; inf: no limit")
    velocity_lower = floats("dofs", unit="m/s or rad/s", doc="least velocity, if worlds enforce it; else -inf")
    velocity_upper = floats("dofs", unit="m/s or rad/s", doc="greatest velocity, if worlds enforce it; else inf")
    mimic = integers("dofs", doc="coordinate that a mimic follows, counted from its own; 0: it follows none")
    multiplier = floats("dofs", doc="of a mimic: q = multiplier * q_followed + offset")
    offset = floats("dofs", unit="m or rad", doc="of a mimic")
    prescribed = integers("dofs", doc="1: the acceleration of the coordinate is given, its force follows")
    gravity = floats(3, unit="m/s^2", doc="world axes")
    member_link = integers("members", doc="link that carries each body of the skeleton")
    member_apart = integers("members", doc="0 if the body's frame is its link's")
    member_pose = floats("members", 12, doc="pose of the body in its link, the upper three rows")
    tree_of_body = integers("bodies", doc="tree (skeleton) of the forest that the body belongs to")
    tree_body = integers("trees1", doc="first body of each tree; the last entry is the total")
    tree_dof = integers("trees1", doc="first coordinate of each tree; the last entry is the total")
    tree_mobile = integers("trees", doc="1: the tree is integrated, 0: it stays as it is")
    moves = integers("bodies", doc="1: the body has a coordinate at or above it, in a mobile tree")


class DATA(Struct):
    q = floats("dofs", unit="m or rad", doc="positions")
    u = floats("dofs", unit="m/s or rad/s", doc="velocities")
    udot = floats("dofs", unit="m/s^2 or rad/s^2", doc="accelerations")
    tau = floats("dofs", unit="N or N m", doc="joint forces")
    command = floats("dofs", doc="positions, velocities and accelerations asked of actuators that take them")
    external = floats("bodies", 24, unit="N, N m", doc="external forces, as kido.kernels.external describes")
    has_external = integers("bodies", doc="1 if any number of `external` is not zero")
    R = floats("bodies", 9, doc="rotation from body to world axes")
    p = floats("bodies", 3, unit="m", doc="body origin in the world")
    l = floats("bodies", 3, unit="m", doc="body origin from the parent's origin, world axes")  # noqa: E741
    H = floats("dofs", 6, doc="motion column of each coordinate about its body's origin")
    tape_value = floats("steps", doc="value of each step of user joints' formulas")
    V = floats("bodies", 6, unit="rad/s, m/s", doc="spatial velocity")
    a = floats("bodies", 6, doc="velocity-product acceleration of the joint (theory: a(k))")
    A = floats("bodies", 6, unit="rad/s^2, m/s^2", doc="[wdot; acceleration of the body origin], plus minus gravity")
    f = floats("bodies", 6, unit="N m, N", doc="wrench through the joint above, about the body origin")
    J = floats("bodies", 6, unit="kg m^2", doc="rotational inertia about the body origin, world axes")
    mc = floats("bodies", 3, unit="kg m", doc="mass times centre of mass from the body origin, world axes")
    P = floats("bodies", 21, doc="composite or articulated inertia [J | C | M]: 6 + 9 + 6 numbers")
    z = floats("bodies", 6, unit="N m, N", doc="articulated bias wrench")
    U = floats("dofs", 6, doc="P H_k, each coordinate after those above it are eliminated")
    Dinv = floats("dofs", doc="1 / (H_k P H_k + rotor inertia + implicit terms); 0: a prescribed coordinate")
    e = floats("dofs", doc="coordinate's own share of the acceleration, D^-1 eps")
    B = floats("bodies", 6, doc="velocity change of each body in an impulse sweep")
    fresh = integers("bodies", doc="results of the body that are current, as bits (kido.kernels.lazy)")
    num_poses = integers("bodies", doc="times its pose was evaluated lazily")
    num_inertias = integers("bodies", doc="times its inertia was")
    num_velocities = integers("bodies", doc="times its velocity was")
    num_accelerations = integers("bodies", doc="times its acceleration was")
    path = integers("bodies", doc="work space of lazy evaluation: bodies from one up towards the root")
    mass_matrix = floats("rows", "columns", doc="joint-space inertia; 0 x 0 where nobody asks for it")


def data_for(tree: Struct, mass_matrix: bool = False, samples: int = 0, **shared: Any) -> Struct:
    """Data of a tree, all zeros but for arrays to share.

    Args:
        tree: the tree.
        mass_matrix: with room for the mass matrix.
        samples: how many samples lie side by side, as in `Struct`.
        **shared: arrays to share.
    """
    dofs = len(tree.body_of_dof)
    size = dofs if mass_matrix else 0
    sizes = {"bodies": len(tree.parent), "dofs": dofs, "steps": len(tree.tape), "rows": size, "columns": size}
    return DATA(samples=samples, **sizes, **shared)
