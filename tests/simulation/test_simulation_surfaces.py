"""Piles on floors that are surfaces, what flies against sheets, and shapes that start in one place.

Truths: a floor at z = 0 keeps the middle of what falls on it above it, whatever its triangles; nothing gains energy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Heightmap,
    LineSegment,
    Mesh,
    Plane,
    PointCloud,
    Shape,
    Sphere,
    VoxelGrid,
)
from kido.shapes import convex_hull


def sheet(cells: int, half: float) -> Mesh:
    """A square at z = 0, of two triangles per cell."""
    x, y = np.meshgrid(*[np.linspace(-half, half, cells + 1)] * 2)
    corner = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    a, b, c, d = (corner[k : k + cells, m : m + cells].ravel() for k, m in ((0, 0), (0, 1), (1, 1), (1, 0)))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    return Mesh(np.column_stack([x.ravel(), y.ravel(), 0 * x.ravel()]), faces, collide_as="triangles")


def block(half: float, depth: float) -> Mesh:
    """A closed box below z = 0, of triangles."""
    corners = [[x, y, z] for x in (-half, half) for y in (-half, half) for z in (-depth, 0.0)]
    return Mesh(*convex_hull(np.array(corners)), collide_as="triangles")


def random_hull(r: np.random.Generator, size: float, collide_as: str) -> Mesh:
    hull = convex_hull(r.normal(size=(12, 3)) * size)
    return Mesh(hull.vertices - hull.vertices.mean(axis=0), hull.faces, collide_as=collide_as)


def chain(r: np.random.Generator) -> LineSegment:
    return LineSegment(r.normal(size=(5, 3)) * 0.1, [[0, 1], [1, 2], [2, 3], [3, 4]], 0.04)


KINDS: dict[str, Callable[[np.random.Generator], Shape]] = {
    "lines": chain,
    "cloud": lambda r: PointCloud(r.normal(size=(12, 3)) * 0.07, 0.03),
    "voxels": lambda r: VoxelGrid((r.random((3, 3, 3)) < 0.6) | (np.indices((3, 3, 3)) == 1).all(axis=0), 0.05),
    "triangles": lambda r: random_hull(r, 0.08, "triangles"),
    "hull": lambda r: random_hull(r, 0.06, "hull"),
    "box": lambda r: Box(tuple(r.uniform(0.06, 0.2, 3))),
    "capsule": lambda r: Capsule(*r.uniform([0.03, 0.05], [0.06, 0.2])),
    "cylinder": lambda r: Cylinder(*r.uniform([0.03, 0.05], [0.08, 0.2])),
    "ellipsoid": lambda r: Ellipsoid(tuple(r.uniform(0.08, 0.2, 3))),
    "sphere": lambda r: Sphere(r.uniform(0.04, 0.1)),
}
SURFACES = ("lines", "cloud", "voxels", "triangles")  # not convex
FLOORS: dict[str, Callable[[], Shape]] = {
    "two triangles": lambda: sheet(1, 6.0),
    "sheet": lambda: sheet(24, 6.0),
    "block": lambda: block(6.0, 1.0),
    "height map": lambda: Heightmap(np.zeros((25, 25)), 0.5),
}


def standing(floor: Shape, **options: Any) -> kido.World:
    world = kido.World(**options)
    world.add_skeleton(kido.Skeleton("floor")).add_body("floor", kido.WeldJoint("weld")).add_shape(floor)
    return world


def thrown_in(world: kido.World, name: str, shape: Shape, positions: Any) -> kido.Skeleton:
    thing = kido.Skeleton(name)
    inertia = kido.Inertia.from_diagonal(1.0, (0.004, 0.004, 0.004))
    thing.add_body("body", kido.FreeJoint("free"), inertia=inertia).add_shape(shape)
    thing.positions = positions
    return world.add_skeleton(thing)


@pytest.mark.slow
@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_sinks_through_a_floor(floor: str, seed: int) -> None:
    """Ten things fall 0.5 m upon each other; what left the floor at its edge does not count, 5 mm are its skin."""
    r = np.random.default_rng(seed)
    world = standing(FLOORS[floor](), time_step=2e-3)
    things = []
    for place, kind in enumerate(r.permutation(list(KINDS))):
        height = 0.35 + 0.22 * (place // 3) + r.uniform(0, 0.1)
        positions = [*Rotation.random(rng=r).as_rotvec(), *r.uniform(-0.35, 0.35, 2), height]
        shape = KINDS[kind](r)
        things.append((shape, thrown_in(world, f"{kind}{place}", shape, positions)))
    started = world.total_energy
    world.step(1000)
    for shape, thing in things:
        x, y, z = (thing.body(0).world_transform @ [*shape.centroid, 1.0])[:3]
        assert z > -5e-3 or max(abs(x), abs(y)) > 6.0, (thing.name, z)
    assert world.total_energy < started


@pytest.mark.parametrize("kind", SURFACES)
@pytest.mark.parametrize("floor_first", [True, False])
def test_what_is_made_of_pieces_rests_on_a_mesh(kind: str, floor_first: bool) -> None:
    """In either order: the pair of two shapes that are not convex was left out by the way that they were added."""
    r = np.random.default_rng(2)
    world = standing(sheet(24, 6.0), time_step=2e-3) if floor_first else kido.World(time_step=2e-3)
    thing = thrown_in(world, "thing", KINDS[kind](r), [0.3, 0.2, 0.1, 0.05, 0.03, 0.4])
    if not floor_first:
        world.add_skeleton(kido.Skeleton("floor")).add_body("floor", kido.WeldJoint("weld")).add_shape(sheet(24, 6.0))
    world.step(750)
    assert -5e-3 < thing.com[2] < 0.3
    assert len(world.contacts) > 0


FLYING: dict[str, Shape] = {
    "ball": Sphere(0.03),
    "plate": Box((0.2, 0.2, 0.002)),
    "capsule": Capsule(0.02, 0.08),
    "cylinder": Cylinder(0.03, 0.08),
    "cone": Cone(0.04, 0.08),
    "hull": random_hull(np.random.default_rng(3), 0.03, "hull"),
    "triangles": random_hull(np.random.default_rng(4), 0.03, "triangles"),
}


@pytest.mark.parametrize("kind", FLYING)
@pytest.mark.parametrize("speed", [5.0, 100.0, 1000.0])
@pytest.mark.parametrize("cells", [1, 10])
def test_a_sheet_of_triangles_stops_what_is_swept(kind: str, speed: float, cells: int) -> None:
    for seed in range(3):
        r = np.random.default_rng(seed)
        world = standing(sheet(cells, 1.0), gravity=(0, 0, 0))
        world.continuous_detection = True
        turned = Rotation.random(rng=r)
        start = [*turned.as_rotvec(), *r.uniform(-0.3, 0.3, 2), 0.35 + r.uniform(0, 0.2)]
        thing = thrown_in(world, "thing", FLYING[kind], start)
        along = [*r.uniform(-0.1, 0.1, 2) * speed, -speed]
        thing.velocities = [*r.normal(size=3), *turned.inv().apply(along)]
        energy = world.kinetic_energy
        world.step(int(0.6 / speed / world.time_step) + 20)
        x, y, z = thing.com
        assert z > -5e-3 or max(abs(x), abs(y)) > 0.9, (seed, z)
        assert world.kinetic_energy <= energy * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_shapes_in_one_place_do_not_explode(seed: int) -> None:
    """Eighteen of them about 0.35 m above the floor, 62 J: the energy that opens them is bounded, and told."""
    r = np.random.default_rng(seed)
    world = standing(Plane())
    for place, kind in enumerate(r.choice(list(KINDS), 18)):
        positions = [
            *Rotation.random(rng=r).as_rotvec(),
            *(np.array([0, 0, 0.35]) + r.uniform(-0.02, 0.02, 3)),
        ]
        thrown_in(world, f"{kind}{place}", KINDS[kind](r), positions)
    started, brought = world.total_energy, 0.0
    for _ in range(400):
        brought += world.step().correction_energy
        energy = world.total_energy
        assert energy < 2.0 * started
        assert energy - started - brought < 1e-3 * started  # what it gains is said
