"""Worlds whose motions are differentiated, away from changes of mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import kido
from scenes import free

EXACT: dict[str, Any] = {"tolerance": 1e-13, "newton_tolerance": 1e-13, "speed_tolerance": 1e-12}
TILT, SIZE = (0.3, 0.2, -0.4), np.array([0.2, 0.3, 0.1])


def sliding_box() -> tuple[kido.World, kido.BodyNode]:
    """A box on one corner that slides, in the ground by 0.1 mm: differences do not lift it."""
    corners = 0.5 * SIZE * np.array([[x, y, z] for x in (1, -1) for y in (1, -1) for z in (1, -1)])
    low = Rotation.from_rotvec(TILT).apply(corners)[:, 2].min()
    box = free(kido.Box(SIZE), 1.3, (0.0, 0.0, -low - 1e-4), rotation=TILT, velocity=(1.0, 0.3, 0.0), friction=0.4)
    world = kido.World(**EXACT)
    world.add_ground(friction=1.0)
    world.add_skeleton(box)
    return world, box.bodies[0]


def blocks() -> kido.Skeleton:
    """A slider in the air."""
    skeleton = kido.Skeleton("slider")
    joint = kido.PrismaticJoint("rail", axis=(1, 0, 0), damping=0.5)
    skeleton.add_body("slider", joint, inertia=kido.Inertia(0.5, moment=0.01 * np.eye(3)))
    skeleton.velocities = [0.4]
    return skeleton
