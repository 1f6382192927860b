"""Block worlds of any size, built in Python."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from kido.errors import ModelError
from kido.models.scenes import Block, Scene, container_scene, dominoes_scene, stack_scene
from kido.shapes import Box
from kido.simulation import World
from kido.skeleton import FreeJoint, Inertia, Skeleton, WeldJoint


def stack(count: int = 10) -> World:
    """A world with a tower of `count` cubes (see `stack_scene`).

    Raises `ModelError` if `count` is not a whole number of at least 1.
    """
    return build_world(stack_scene(_checked(count, "stack", "boxes")))


def container(count: int = 25) -> World:
    """A world with `count` cubes over an open bin (see `container_scene`). Raises like `stack`."""
    return build_world(container_scene(_checked(count, "container", "boxes")))


def dominoes(count: int = 20) -> World:
    """A world with a row of `count` dominoes (see `dominoes_scene`). Raises like `stack`."""
    return build_world(dominoes_scene(_checked(count, "dominoes", "dominoes")))


def build_world(scene: Scene) -> World:
    """A world of a scene: a ground, an immobile skeleton of all fixed blocks, a skeleton per free block."""
    world = World(name=scene.name)
    world.add_ground(friction=scene.friction)
    if scene.fixed:
        fixture = Skeleton("fixture")
        for block in scene.fixed:
            joint = WeldJoint(f"{block.name}_joint", transform_from_parent=_transform(block))
            body = fixture.add_body(block.name, joint=joint)
            body.add_shape(Box(block.size), color=block.color, friction=scene.friction)
        fixture.mobile = False
        world.add_skeleton(fixture)
    for block in scene.free:
        world.add_skeleton(_free_block(block, scene.friction))
    return world


def _free_block(block: Block, friction: float) -> Skeleton:
    skeleton = Skeleton(block.name)
    body = skeleton.add_body(
        block.name,
        joint=FreeJoint(f"{block.name}_joint"),
        inertia=Inertia(block.mass, moment=np.diag(block.moment)),
    )
    body.add_shape(Box(block.size), color=block.color, friction=friction)
    skeleton.positions = [*block.rotation, *block.position]
    skeleton.velocities = [*block.angular_velocity, *block.velocity]
    return skeleton


def _transform(block: Block) -> np.ndarray:
    transform = np.eye(4)
    transform[:3, :3] = Rotation.from_rotvec(block.rotation).as_matrix()
    transform[:3, 3] = block.position
    return transform


def _checked(count: int, world: str, things: str) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ModelError(f"{world}: the number of {things} is {count!r}; expected a whole number of at least 1")
    return int(count)
