"""Small models for the viewer's tests."""

from __future__ import annotations

import numpy as np

import kido
from trees import at


def arm() -> kido.Skeleton:
    """Revolute joints with and without limits, a ball joint at the hand; total height 1.2 m."""
    skeleton = kido.Skeleton("arm")
    inertia = kido.Inertia(1.0, moment=0.01 * np.eye(3))
    base = skeleton.add_body(
        "base",
        kido.RevoluteJoint("yaw", axis=(0, 0, 1), position_lower_limit=-2.0, position_upper_limit=2.0),
        inertia=inertia,
    )
    base.add_shape(kido.Cylinder(0.12, 0.2), at(z=0.1))
    link = skeleton.add_body(
        "link",
        kido.RevoluteJoint("pitch", axis=(0, 1, 0), transform_from_parent=at(z=0.2)),
        parent=base,
        inertia=inertia,
    )
    link.add_shape(kido.Capsule(0.05, 0.6), at(z=0.3), color=(0.2, 0.4, 0.9))
    hand = skeleton.add_body(
        "hand", kido.BallJoint("wrist", transform_from_parent=at(z=0.7)), parent=link, inertia=inertia
    )
    hand.add_shape(kido.Box((0.1, 0.05, 0.2)), at(z=0.2), color=(0.9, 0.5, 0.1, 0.5))
    return skeleton


def box(name: str, size: tuple[float, float, float], position: tuple[float, float, float]) -> kido.Skeleton:
    skeleton = kido.Skeleton(name)
    shape = kido.Box(size)
    body = skeleton.add_body("body", kido.FreeJoint("root"), inertia=kido.Inertia.from_shape(shape, density=500.0))
    body.add_shape(shape)
    skeleton.positions = [0.0, 0.0, 0.0, *position]
    return skeleton


def boxes(count: int = 3, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> kido.World:
    """Boxes of different size, resting on the ground in a row."""
    world = kido.World("boxes", gravity=gravity)
    world.add_ground()
    for k in range(count):
        edge = 0.1 + 0.02 * k
        place = np.array([0.3 * k, 0.0, 0.0])
        if gravity[1]:
            place = np.array([0.3 * k, 0.0, 0.0]) + 0.5 * edge * np.array([0.0, 1.0, 0.0])
        else:
            place[2] = 0.5 * edge
        world.add_skeleton(box(f"box{k}", (edge, edge, edge), tuple(place)))
    return world
