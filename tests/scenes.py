"""Scenes in contact whose outcome is known: builders for tests of the whole step."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import kido

G = 9.81


def pose(position=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Transform from a position and a rotation vector."""
    transform = np.eye(4)
    transform[:3, :3] = Rotation.from_rotvec(rotation).as_matrix()
    transform[:3, 3] = position
    return transform


def free(
    shape,
    mass: float,
    position,
    *,
    rotation=(0.0, 0.0, 0.0),
    velocity=(0.0, 0.0, 0.0),
    angular_velocity=(0.0, 0.0, 0.0),
    friction: float = 1.0,
    restitution: float = 0.0,
    name: str = "body",
) -> kido.Skeleton:
    """A free body of one shape and uniform density; velocities in world axes, at its centre."""
    skeleton = kido.Skeleton(name)
    body = skeleton.add_body(
        "body", joint=kido.FreeJoint("joint"), inertia=kido.Inertia.from_shape(shape, mass=mass)
    )
    body.add_shape(shape, friction=friction, restitution=restitution)
    skeleton.positions = [*rotation, *position]
    to_body = Rotation.from_rotvec(rotation).inv()
    skeleton.velocities = [*to_body.apply(angular_velocity), *to_body.apply(velocity)]
    return skeleton


def fixed(shape, position=(0.0, 0.0, 0.0), *, rotation=(0.0, 0.0, 0.0), name="fixed", **surface) -> kido.Skeleton:
    """An immobile body of one shape."""
    skeleton = kido.Skeleton(name)
    body = skeleton.add_body(
        "body", joint=kido.WeldJoint("joint", transform_from_parent=pose(position, rotation))
    )
    body.add_shape(shape, **surface)
    skeleton.mobile = False
    return skeleton


def world(*skeletons: kido.Skeleton, ground: bool = True, friction=1.0, restitution=1.0, **options) -> kido.World:
    """A world of skeletons, on a plane whose restitution leaves that of the other body in force."""
    made = kido.World(**options)
    if ground:
        made.add_ground(friction=friction, restitution=restitution)
    for skeleton in skeletons:
        made.add_skeleton(skeleton)
    return made


def place(skeleton: kido.Skeleton) -> np.ndarray:
    """Position of a single free body."""
    return skeleton.positions[3:6]


def velocity(skeleton: kido.Skeleton) -> np.ndarray:
    """Velocity of a free body's origin in world axes."""
    return np.asarray(skeleton.bodies[0].linear_velocity())


def spin(skeleton: kido.Skeleton) -> np.ndarray:
    """Angular velocity of a free body in world axes."""
    return np.asarray(skeleton.bodies[0].angular_velocity())


def speed(skeletons) -> float:
    """Largest component of a velocity of any skeleton."""
    return max(float(np.abs(s.velocities).max(initial=0.0)) for s in skeletons)


def cubes(count: int, edge: float = 0.1, masses=None, gap: float = 0.0, friction: float = 1.0) -> list[kido.Skeleton]:
    """A column of cubes resting on z = 0, the first at the bottom."""
    masses = [1.0] * count if masses is None else masses
    return [
        free(
            kido.Box((edge, edge, edge)),
            masses[k],
            (0.0, 0.0, edge * (k + 0.5) + gap * (k + 1)),
            friction=friction,
            name=f"cube{k}",
        )
        for k in range(count)
    ]
