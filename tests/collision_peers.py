"""Shapes and poses of collision tests, and the same shapes in coal."""

from __future__ import annotations

import numpy as np

from kido.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, MultiSphereHull, Sphere


def pose(position=(0, 0, 0), rotation=None):
    X = np.eye(4)
    if rotation is not None:
        X[:3, :3] = rotation.as_matrix()
    X[:3, 3] = position
    return X


def coal_shape(coal, shape):
    match shape:
        case Sphere():
            return coal.Sphere(shape.radius)
        case Box():
            return coal.Box(*shape.size)
        case Capsule():
            return coal.Capsule(shape.radius, shape.height)
        case Cylinder():
            return coal.Cylinder(shape.radius, shape.height)
        case Cone():
            return coal.Cone(shape.radius, shape.height)
        case Ellipsoid():
            return coal.Ellipsoid(*shape.radii)
        case MultiSphereHull():
            return coal.Capsule(0.06, 0.2)
    points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for point in shape.hull.vertices:
        points.append(point)
    for face in shape.hull.faces:
        faces.append(coal.Triangle(*(int(v) for v in face)))
    return coal.Convex(points, faces)
