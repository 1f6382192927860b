"""Geometric shapes: sizes, bounds, volume and inertia. They know nothing of bodies or worlds."""

from kido.shapes.box import Box
from kido.shapes.capsule import Capsule
from kido.shapes.cone import Cone
from kido.shapes.cylinder import Cylinder
from kido.shapes.ellipsoid import Ellipsoid
from kido.shapes.hull import Hull, convex_hull
from kido.shapes.mesh import Mesh
from kido.shapes.plane import Plane
from kido.shapes.shape import Shape
from kido.shapes.sphere import Sphere

__all__ = [
    "Box",
    "Capsule",
    "Cone",
    "Cylinder",
    "Ellipsoid",
    "Hull",
    "Mesh",
    "Plane",
    "Shape",
    "Sphere",
    "convex_hull",
]
