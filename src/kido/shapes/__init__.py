"""Geometric shapes: sizes, bounds, volume and inertia. They know nothing of bodies or worlds."""

from kido.shapes import primitives
from kido.shapes.arrow import Arrow
from kido.shapes.ground import Heightmap, Plane
from kido.shapes.hull import Hull, convex_hull
from kido.shapes.hull_shapes import MultiSphereHull, Pyramid
from kido.shapes.mesh import Mesh
from kido.shapes.pieces import LineSegment, PointCloud, VoxelGrid
from kido.shapes.primitives import *
from kido.shapes.shape import Shape
from kido.shapes.soft_mesh import SoftMesh

__all__ = [
    "Arrow",
    "Heightmap",
    "Hull",
    "LineSegment",
    "Mesh",
    "MultiSphereHull",
    "Plane",
    "PointCloud",
    "Pyramid",
    "Shape",
    "SoftMesh",
    "VoxelGrid",
    "convex_hull",
]
__all__ += primitives.__all__
