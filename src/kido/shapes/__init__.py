"""Geometric shapes: sizes, bounds, volume and inertia. They know nothing of bodies or worlds."""

from kido.shapes import primitives
from kido.shapes.arrow import Arrow
from kido.shapes.heightmap import Heightmap
from kido.shapes.hull import Hull, convex_hull
from kido.shapes.line_segment import LineSegment
from kido.shapes.mesh import Mesh
from kido.shapes.multi_sphere_hull import MultiSphereHull
from kido.shapes.plane import Plane
from kido.shapes.point_cloud import PointCloud
from kido.shapes.primitives import *
from kido.shapes.pyramid import Pyramid
from kido.shapes.shape import Shape
from kido.shapes.soft_mesh import SoftMesh
from kido.shapes.voxel_grid import VoxelGrid

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
