"""Doors, drawers, valves and nuts: objects that hang on the world by a joint, and what their handles need.

`skeleton.node("handle")` is where one takes them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido import quantities
from kido.errors import ModelError
from kido.math.transform import as_flag, as_positive, as_transform, as_vector, number_or_nan
from kido.shapes import Box, Cylinder, Shape
from kido.skeleton import BodyNode, EndEffector, Inertia, Joint, PrismaticJoint, RevoluteJoint, ScrewJoint, Skeleton
from kido.skeleton.nodes.node import JacobianNode

Array = NDArray[np.float64]


def door(
    width: float = 0.8,
    height: float = 2.0,
    mass: float = 20.0,
    thickness: float = 0.04,
    pose: object = None,
    opening: float = np.pi / 2,
    name: str = "door",
    pull: bool = False,
    standoff: float = 0.0,
) -> Skeleton:
    """A door that turns about the z axis of its pose, from 0 (closed, along x) to `opening`.

    Its node "handle" is at the end of the door, a tenth of the width from its edge, at half the height, on the side
    of -y, or of +y, to which it opens, z along the door's normal.

    Args:
        width, height, thickness: [m]
        mass: [kg]
        pose: of the hinge's foot in the world.
        opening: largest angle [rad].
        name: of the skeleton and its body.
        pull: whether the handle is on the side to which it opens.
        standoff: of the handle from the leaf [m].
    """
    size = [as_positive(v, f"door {name!r}: size", "m") for v in (width, thickness, height)]
    joint = RevoluteJoint(f"{name}_hinge", axis=(0, 0, 1), transform_from_parent=_pose(pose, name))
    joint.position_lower_limit, joint.position_upper_limit = 0.0, as_positive(opening, f"door {name!r}: opening", "rad")
    side = 1.0 if as_flag(pull, f"door {name!r}: pull") else -1.0
    if not 0.0 <= number_or_nan(standoff) < np.inf:
        raise ModelError(f"door {name!r}: standoff: expected a length not below 0, got {standoff!r}")
    at = [0.9 * size[0], side * (0.5 * size[1] + standoff), 0.5 * size[2]]
    middle, leaf = (size[0] / 2, 0, size[2] / 2), Box((size[0], size[1], size[2]))
    made = _object(name, joint, leaf, middle, mass, at, (0.0, side, 0.0))
    if standoff > 0.0:
        bar, X = Cylinder(0.012, standoff), np.eye(4)
        X[:3] = [[1, 0, 0, at[0]], [0, 0, -1, at[1] - 0.5 * side * standoff], [0, 1, 0, at[2]]]
        made.body(0).add_shape(bar, name="bar", transform=X, collision=False)
    return made


def drawer(
    width: float = 0.4,
    height: float = 0.2,
    depth: float = 0.4,
    mass: float = 3.0,
    pose: object = None,
    name: str = "drawer",
) -> Skeleton:
    """A drawer that slides along the x axis of its pose, from 0 to 0.9 of its depth.

    Its node "handle" is in the middle of the front, z along the way out.

    Args:
        width, height, depth: along y, z and x [m].
        mass: [kg]
        pose: of the front's middle in the world, closed.
        name: of the skeleton and its body.
    """
    size = [as_positive(v, f"drawer {name!r}: size", "m") for v in (depth, width, height)]
    joint = PrismaticJoint(f"{name}_rail", axis=(1, 0, 0), transform_from_parent=_pose(pose, name))
    joint.position_lower_limit, joint.position_upper_limit = 0.0, 0.9 * size[0]
    return _object(
        name, joint, Box((size[0], size[1], size[2])), (-size[0] / 2, 0, 0), mass, [0.0, 0.0, 0.0], (1.0, 0.0, 0.0)
    )


def valve(
    radius: float = 0.15, mass: float = 2.0, pose: object = None, turns: float = 2.0, name: str = "valve"
) -> Skeleton:
    """A wheel that turns about the z axis of its pose; its node "handle" is on the rim, at x = radius.

    Args:
        radius: [m]
        mass: of the wheel, a disc [kg].
        pose: of its middle in the world.
        turns: from 0 to so many [revolutions].
        name: of the skeleton and its body.
    """
    r = as_positive(radius, f"valve {name!r}: radius", "m")
    joint = RevoluteJoint(f"{name}_stem", axis=(0, 0, 1), transform_from_parent=_pose(pose, name))
    joint.position_lower_limit = 0.0
    joint.position_upper_limit = 2.0 * np.pi * as_positive(turns, f"valve {name!r}: turns")
    return _object(name, joint, Cylinder(r, 0.1 * r), (0, 0, 0), mass, [r, 0.0, 0.0], (0.0, 0.0, 1.0))


def nut(
    size: float = 0.04,
    mass: float = 0.05,
    pose: object = None,
    turns: float = 1.0,
    pitch: float = 0.002,
    friction: float = 0.0,
    name: str = "nut",
) -> Skeleton:
    """A nut on a thread along the z axis of its pose: tight at 0, it comes out along z as it is turned.

    Its node "handle" is in the middle of its outer face, z along the way out.

    Args:
        size: across, and twice its height [m].
        mass: [kg]
        pose: of its inner face's middle in the world, tight.
        turns: from 0 to so many [revolutions].
        pitch: way for a revolution [m].
        friction: dry, of the thread [N m].
        name: of the skeleton and its body.
    """
    s = as_positive(size, f"nut {name!r}: size", "m")
    joint = ScrewJoint(f"{name}_thread", axis=(0, 0, 1), pitch=pitch, transform_from_parent=_pose(pose, name))
    joint.position_lower_limit = 0.0
    joint.position_upper_limit = 2.0 * np.pi * as_positive(turns, f"nut {name!r}: turns")
    joint.coulomb_friction = friction
    shape = Cylinder(0.5 * s, 0.5 * s)
    return _object(name, joint, shape, (0, 0, 0.25 * s), mass, [0.0, 0.0, 0.5 * s], (0.0, 0.0, 1.0))


def handle_path(handle: JacobianNode, positions: ArrayLike) -> Array:
    """Poses (samples, 4, 4) of a handle in the world at positions (samples, dofs) of its object."""
    skeleton = _skeleton(handle)
    q = np.asarray(positions, np.float64).reshape(-1, skeleton.num_dofs)
    return np.array([quantities.world_transform(skeleton, row, handle) for row in q])


def handle_force(
    handle: JacobianNode, accelerations: ArrayLike, direction: ArrayLike | None = None
) -> tuple[float, Array]:
    """The force at a handle that accelerates its object, which moves by one coordinate.

    F = T / (d . v), with T of inverse dynamics and of the joint's damper and spring, and v the handle's velocity per
    unit of the coordinate's. Of a door of inertia I about its hinge, with the handle at r: F = I alpha / r.

    Args:
        handle: a node of the object.
        accelerations: (1,) of its coordinate, or a number [rad/s^2, m/s^2].
        direction: d, of the force, world axes; None: along v.

    Returns:
        F [N], negative against d, and the force (3,) in world axes.

    Raises:
        ModelError: an object of another number of coordinates, or a direction that does not move it.
    """
    skeleton = _skeleton(handle)
    if skeleton.num_dofs != 1:
        raise ModelError(f"handle_force: object {skeleton.name!r} has {skeleton.num_dofs} coordinates; expected one")
    acceleration = np.atleast_1d(np.asarray(accelerations, np.float64))
    if acceleration.shape != (1,) or not np.isfinite(acceleration).all():
        raise ModelError(f"handle_force: accelerations: expected one finite number, got {accelerations!r}")
    needed = skeleton.inverse_dynamics(skeleton.positions, skeleton.velocities, acceleration)
    torque = float(needed[0] - skeleton.damping_forces[0] - skeleton.spring_forces[0])
    v = np.array(skeleton.linear_jacobian(handle))[:, 0]
    d = v if direction is None else as_vector(direction, "handle_force: direction")
    length = float(np.linalg.norm(d))
    power = float(d @ v) / length if length > 0.0 else 0.0
    if abs(power) <= 1e-9 * max(float(np.linalg.norm(v)), 1e-300):
        raise ModelError(f"handle_force: a force along {d} at handle {handle.name!r} does not move {skeleton.name!r}")
    force = torque / power
    return force, force * d / length


def _skeleton(handle: JacobianNode) -> Skeleton:
    if isinstance(handle, BodyNode):
        return handle.skeleton
    if not isinstance(handle, EndEffector):
        raise ModelError(f"handle: expected a body or an end effector on one, got {handle!r}")
    return handle.body.skeleton


def _pose(value: object, name: str) -> Array:
    return np.eye(4) if value is None else as_transform(value, f"object {name!r}: pose")


def _object(
    name: str, joint: Joint, shape: Shape, middle: ArrayLike, mass: float, at: ArrayLike, out: ArrayLike
) -> Skeleton:
    """One body by a joint, with a shape whose middle is given, and a handle whose z is `out`."""
    X = np.eye(4)
    X[:3, 3] = middle
    skeleton = Skeleton(name)
    weight = as_positive(mass, f"object {name!r}: mass", "kg")
    body = skeleton.add_body(name, joint, None, Inertia.from_shape(shape, mass=weight, transform=X))
    body.add_shape(shape, name="panel", transform=X)
    z = np.array(out)
    x = np.array((0.0, 0.0, 1.0)) if abs(z[2]) < 0.5 else np.array((1.0, 0.0, 0.0))
    Y = np.eye(4)
    Y[:3, :3], Y[:3, 3] = np.column_stack([x, np.cross(z, x), z]), at
    body.create_node(EndEffector, "handle", Y)
    return skeleton
