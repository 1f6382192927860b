"""Worlds whose contact problems are harvested: bins, heaps, towers, mass ratios, round bodies, falling robots."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

import kido
from kido.models import build_world, path
from kido.models.scenes import container_scene, dominoes_scene, stack_scene

EDGE = 0.1


def add_body(world: kido.World, name: str, shape: kido.Shape, mass: float, position, *, friction: float = 0.7) -> None:
    """Add a free body of one shape."""
    skeleton = kido.Skeleton(name)
    body = skeleton.add_body(name, inertia=kido.Inertia.from_shape(shape, mass=mass))
    body.add_shape(shape, friction=friction)
    world.add_skeleton(skeleton)
    skeleton.positions = [0.0, 0.0, 0.0, *position]


def tower(masses: list[float]) -> kido.World:
    """Cubes of 0.1 m on top of each other, the lowest first."""
    world = kido.World()
    world.add_ground(friction=0.7)
    for k, mass in enumerate(masses):
        add_body(world, f"cube_{k}", kido.Box((EDGE, EDGE, EDGE)), mass, (0.0, 0.0, (k + 0.5) * EDGE))
    return world


def mixed_heap(count: int, seed: int) -> kido.World:
    """Boxes, spheres and capsules of all sizes that fall onto one another."""
    rng = np.random.default_rng(seed)
    world = kido.World()
    world.add_ground(friction=0.7)
    for k in range(count):
        size = rng.uniform(0.04, 0.09)
        shape = (kido.Box((size, 1.5 * size, size)), kido.Sphere(0.6 * size), kido.Capsule(0.4 * size, size))[k % 3]
        mass = 1000.0 * size**3 * 10.0 ** rng.uniform(-1.0, 1.0)
        add_body(world, f"body_{k}", shape, mass, (*rng.uniform(-0.12, 0.12, 2), 0.1 + 0.12 * k / 2))
    return world


def robot(file: str | Path, height: float, tilt: float, **options: str) -> kido.World:
    """A robot that falls onto the ground, limp."""
    world = kido.World()
    world.add_ground(friction=1.0)
    skeleton = kido.load(file, **options)
    world.add_skeleton(skeleton)
    positions = np.zeros(skeleton.num_dofs)
    positions[:6] = tilt, 0.3 * tilt, 0.0, 0.0, 0.0, height
    skeleton.positions = positions
    return world


def scenes() -> dict[str, tuple[Callable[[], kido.World], float]]:
    """By name: what makes the world, and seconds for which it is watched. Atlas needs KIDO_DART_DATA."""
    found: dict[str, tuple[Callable[[], kido.World], float]] = {
        "container, 25": (lambda: build_world(container_scene(25, aside=0.0)), 1.2),
        "container, 100": (lambda: build_world(container_scene(100, aside=0.0)), 1.2),
        "heap of 30": (lambda: build_world(container_scene(30)), 1.2),
        "stack of 10": (lambda: build_world(stack_scene(10)), 0.3),
        "dominoes": (lambda: build_world(dominoes_scene(20)), 1.5),
        "tower of 30": (lambda: tower([1.0] * 30), 0.3),
        "heavy top, 1000": (lambda: tower([1.0] * 4 + [1000.0]), 0.3),
        "heavy on light, 1e6": (lambda: tower([1e-3, 1e3]), 0.3),
        "alternating, 100": (lambda: tower([1.0, 100.0] * 4), 0.3),
        "mixed heap": (lambda: mixed_heap(30, 1), 1.2),
        "humanoid": (lambda: robot(path("humanoid"), 1.1, 0.2), 1.5),
        "quadruped": (lambda: robot(path("quadruped"), 0.5, 0.6), 1.2),
    }
    data = os.environ.get("KIDO_DART_DATA")
    if data:
        atlas = Path(data) / "sdf" / "atlas" / "atlas_v3_no_head.urdf"
        found["Atlas"] = (lambda: robot(atlas, 1.0, 0.2, base="free"), 1.2)
    return found
