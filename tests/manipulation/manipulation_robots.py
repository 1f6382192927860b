"""Robots that tests of manipulation share, and things for them to hold."""

from __future__ import annotations

import numpy as np

import kido

ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
}


def planar_arm(*lengths: float, name: str = "arm", base: object = (0.0, 0.0, 0.0)) -> kido.Skeleton:
    """Bars of 1 kg in the plane z = 0, turning about z; the body "tip" is welded to the end."""
    arm = kido.Skeleton(name)
    parent, offset = None, base
    for k, length in enumerate(lengths):
        bar = kido.Box((length, 0.05, 0.05))
        inertia = kido.Inertia.from_shape(bar, mass=1.0, transform=_shift(length / 2))
        joint = kido.RevoluteJoint(f"joint{k}", axis=(0, 0, 1), transform_from_parent=offset)
        parent = arm.add_body(f"link{k}", joint, parent, inertia)
        parent.add_shape(bar, transform=_shift(length / 2))
        offset = (length, 0.0, 0.0)
    weld = kido.WeldJoint("tip_weld", transform_from_parent=offset)
    arm.add_body("tip", weld, parent, kido.Inertia.from_diagonal(0.1, (1e-4, 1e-4, 1e-4)))
    return arm


def _shift(x: float) -> np.ndarray:
    X = np.eye(4)
    X[0, 3] = x
    return X


def block(name: str = "block", size: object = (0.05, 0.05, 0.05), mass: float = 0.5) -> kido.Skeleton:
    """A free box with a shape."""
    skeleton, shape = kido.Skeleton(name), kido.Box(size)
    body = skeleton.add_body(name, kido.FreeJoint(f"{name}_joint"), None, kido.Inertia.from_shape(shape, mass=mass))
    body.add_shape(shape, name="box")
    return skeleton
