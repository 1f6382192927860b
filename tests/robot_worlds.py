"""Worlds of a robot for batches, and commands for it."""

from __future__ import annotations

import numpy as np

import kido
from kido import models
from kido.shapes import Box


def robot_and_box(name: str, settle: int) -> kido.World:
    """A bundled robot on the ground, and a box on the ground that it does not touch, after some steps."""
    world = kido.World()
    world.add_ground(friction=0.8)
    world.add_skeleton(kido.load_skeleton(models.path(name)))
    box = kido.Skeleton("box")
    body = box.add_body("box", joint=kido.FreeJoint("box"), inertia=kido.Inertia(2.0, moment=0.01 * np.eye(3)))
    body.add_shape(Box((0.2, 0.2, 0.2)), friction=0.5)
    box.positions = [0.1, 0, 0, 3.0, 0, 0.3]
    world.add_skeleton(box)
    world.step(settle)
    return world


def random_commands(world: kido.World, number: int, steps: int, size: float = 2.0) -> np.ndarray:
    """Forces (number, steps, dofs) on the joints of its robot, none on a free root."""
    robot = world.skeletons[1]
    free = np.array([isinstance(dof.joint, kido.FreeJoint) for dof in robot.dofs])
    return size * np.random.default_rng(3).normal(size=(number, steps, robot.num_dofs)) * ~free
