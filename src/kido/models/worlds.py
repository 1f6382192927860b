"""Block worlds of any size, built in Python."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

from kido.attributes import named_arguments
from kido.models.scenes import PALETTE, Block, Scene, container_scene, dominoes_scene, stack_scene, whole
from kido.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from kido.simulation import World
from kido.skeleton import FreeJoint, Inertia, Skeleton, WeldJoint


@named_arguments
def stack(count: int = 10) -> World:
    """A world with a tower of `count` cubes (see `stack_scene`).

    Raises `ModelError` if `count` is not a whole number of at least 1.
    """
    return build_world(stack_scene(whole(count, "stack", "boxes")))


@named_arguments
def container(count: int = 25) -> World:
    """A world with `count` cubes over an open bin (see `container_scene`). Raises like `stack`."""
    return build_world(container_scene(whole(count, "container", "boxes")))


@named_arguments
def dominoes(count: int = 20) -> World:
    """A world with a row of `count` dominoes (see `dominoes_scene`). Raises like `stack`."""
    return build_world(dominoes_scene(whole(count, "dominoes", "dominoes")))


@named_arguments
def mixed_shapes(count: int = 3003, *, tower: int = 3, sleeping: bool = False) -> World:
    """A world with `count` free bodies on a plane: boxes, spheres, capsules, cylinders, ellipsoids and cones.

    They stand in a square grid 0.4 m wide, one kind after another; boxes and cylinders in towers of up to `tower`,
    each turned a little. All are at rest, or come to rest where they are.

    Args:
        count: how many bodies.
        tower: how many boxes or cylinders stand on each other.
        sleeping: whether the world lets bodies at rest sleep.

    Raises:
        ModelError: a number that is not a whole one of at least 1.
    """
    count, tower = whole(count, "mixed_shapes", "bodies"), whole(tower, "mixed_shapes", "bodies in a tower")
    kinds = (
        (Box((0.2, 0.16, 0.1)), 0.05, tower),
        (Sphere(0.08), 0.08, 1),
        (Cylinder(0.08, 0.12), 0.06, tower),
        (Capsule(0.05, 0.12), 0.05, 1),
        (Ellipsoid((0.1, 0.08, 0.06)), 0.06, 1),
        (Cone(0.08, 0.12), 0.06, 1),
    )
    world = World(name="mixed_shapes", sleeping=sleeping)
    world.add_ground()
    side = math.isqrt(count) + 1
    made = cell = 0
    while made < count:
        kind = cell % len(kinds)
        shape, height, most = kinds[kind]
        x, y = 0.4 * (cell % side - side // 2), 0.4 * (cell // side - side // 2)
        for level in range(min(most, count - made)):
            name = f"{type(shape).__name__.lower()}_{made}"
            skeleton = Skeleton(name)
            body = skeleton.add_body(name, inertia=Inertia.from_shape(shape, mass=1.0))
            body.add_shape(shape, color=PALETTE[kind % len(PALETTE)])
            turn = Rotation.from_euler("z", 0.1 * level + 0.3 * cell)
            if isinstance(shape, Capsule):
                turn *= Rotation.from_euler("y", math.pi / 2)  # lying
            skeleton.positions = [*turn.as_rotvec(), x, y, height * (1 + 2 * level)]
            world.add_skeleton(skeleton)
            made += 1
        cell += 1
    return world


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
