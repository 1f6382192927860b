"""Every two kinds of shapes meet, or the world says that they do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido import Heightmap, KidoWarning, Mesh, Plane, Shape
from kido.collision import collide
from kido.errors import ShapeError
from kido.shapes import MultiSphereHull, Pyramid, convex_hull

_points = np.random.default_rng(1).normal(size=(12, 3)) * 0.1
_hull = convex_hull(_points)
SHAPES: dict[str, Shape] = {
    "plane": Plane(),
    "height map": Heightmap(np.zeros((5, 5)), 0.2),
    "sphere": kido.Sphere(0.1),
    "box": kido.Box((0.1, 0.2, 0.3)),
    "capsule": kido.Capsule(0.05, 0.2),
    "cylinder": kido.Cylinder(0.05, 0.2),
    "cone": kido.Cone(0.1, 0.2),
    "ellipsoid": kido.Ellipsoid((0.1, 0.2, 0.3)),
    "pyramid": Pyramid(0.2, 0.2, 0.2),
    "balls": MultiSphereHull([[0, 0, 0], [0.1, 0, 0]], [0.05, 0.08]),
    "hull": Mesh(_hull.vertices, _hull.faces),
    "triangles": Mesh(_hull.vertices, _hull.faces, collide_as="triangles"),
    "lines": kido.LineSegment(_points[:3], [[0, 1], [1, 2]], 0.04),
    "cloud": kido.PointCloud(_points, 0.05),
    "voxels": kido.VoxelGrid(np.ones((3, 3, 3), bool), 0.05),
}
GROUND = {("plane", "plane"), ("height map", "height map")}  # what is solid all the way down


def test_every_kind_of_shape_is_looked_at() -> None:
    kinds = {kind for kind in vars(kido.shapes).values() if isinstance(kind, type) and issubclass(kind, Shape)}
    known = {type(shape) for shape in SHAPES.values()}
    assert {kind.__name__ for kind in kinds - known} == {"Arrow", "Primitive", "Shape", "SoftMesh"}


def two(a: str, b: str) -> kido.World:
    world = kido.World(gravity=(0, 0, 0))
    for name, kind in (("first", a), ("second", b)):
        joint = kido.FreeJoint("free") if name == "first" else kido.WeldJoint("weld")
        inertia = kido.Inertia.from_diagonal(1.0, (0.01, 0.01, 0.01))
        world.add_skeleton(kido.Skeleton(name)).add_body(name, joint, inertia=inertia).add_shape(SHAPES[kind])
    return world


@pytest.mark.parametrize("a", SHAPES)
def test_two_shapes_meet_or_it_is_said(a: str) -> None:
    """Of forty poses in which their middles are within 0.26 m, some have contacts."""
    r = np.random.default_rng(0)
    for b in SHAPES:
        world = two(a, b)
        if (a, b) in GROUND:
            with pytest.warns(KidoWarning, match="'first' and 'second' carry .* pass through each other"):
                world.step()
            with pytest.raises(ShapeError, match="no contacts with each other"):
                collide(SHAPES[a], np.eye(4), SHAPES[b], np.eye(4))
            continue
        found = 0
        with warnings.catch_warnings():
            warnings.simplefilter("error", KidoWarning)
            for _ in range(40):
                place = [*Rotation.random(rng=r).as_rotvec(), *r.uniform(-0.15, 0.15, 3)]
                world.skeletons[0].positions, world.skeletons[0].velocities = place, np.zeros(6)
                world.step()
                found += len(world.contacts)
        assert found > 0, (a, b)


@pytest.mark.parametrize("change", ["fixed", "filter", "mask", "one body"])
def test_planes_that_are_not_to_meet_are_not_spoken_of(change: str) -> None:
    world = two("plane", "plane")
    one, other = (s.bodies[0] for s in world.skeletons)
    if change == "fixed":
        one.skeleton.mobile = False
    elif change == "filter":
        world.collision_filter.add(one, other)
    elif change == "mask":
        one.shapes[0].collision_mask = 0
    else:
        other.remove_shape(other.shapes[0])
        one.add_shape(Plane())
    with warnings.catch_warnings():
        warnings.simplefilter("error", KidoWarning)
        world.step()
