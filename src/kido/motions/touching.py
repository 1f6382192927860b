"""When bodies of a motion touch the ground, told by where their shapes are."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.batch import Batch
from kido.shapes import Capsule, Cylinder, Mesh, MultiSphereHull, Primitive, Shape, Sphere
from kido.skeleton import BodyNode, ShapeNode

__all__ = ["ContactPhase", "lowest_points", "phases_of", "shapes_of", "touching"]

Array = NDArray[np.float64]
SECTORS, RINGS = 32, 16  # of points that stand for round shapes: half a percent of their radius
TWICE = 2.0  # what ends a contact is so many times what begins it


class ContactPhase(NamedTuple):
    """Frames, from the first to the last, in which a body touches the ground, and the times of both [s]."""

    body: str
    first: int
    last: int
    start: float
    end: float


def shapes_of(body: BodyNode) -> list[ShapeNode]:
    """Shapes of a body that collide, but those without end, such as planes."""
    return [node for node in body.shapes if node.collision and math.isfinite(node.shape.bounding_radius)]


def outline(shape: Shape) -> tuple[Array, Array]:
    """Centres (n, 3) and radii (n,) of balls whose hull is the shape [m], or what stands for it."""
    points: Any
    if isinstance(shape, Sphere):
        return np.zeros((1, 3)), np.array([shape.radius])
    if isinstance(shape, Capsule):
        return np.array([[0.0, 0.0, 0.5], [0.0, 0.0, -0.5]]) * shape.height, np.full(2, shape.radius)
    if isinstance(shape, MultiSphereHull):
        return shape.centers, shape.radii
    if isinstance(shape, Cylinder):
        angle = np.arange(SECTORS) * (2.0 * np.pi / SECTORS)
        rim = shape.radius * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle]) + [0, 0, 0.5 * shape.height]
        points = np.concatenate([rim, rim * [1.0, 1.0, -1.0]])
    elif isinstance(shape, Mesh):
        points = shape.hull.vertices if len(shape.vertices) > SECTORS else shape.vertices
    else:
        points = shape.surface_points(SECTORS, RINGS) if isinstance(shape, Primitive) else None
        if points is None:
            points = np.stack(np.meshgrid(*shape.aabb.T), axis=-1).reshape(-1, 3)  # corners
    return points, np.zeros(len(points))


def lowest_points(
    batch: Batch, bodies: list[BodyNode], q: Array, u: Array, X: Array, normal: Array
) -> tuple[Array, Array]:
    """Heights along a direction and speeds of the lowest points of bodies' shapes, (T, bodies) each [m, m/s].

    Args:
        batch: of the skeleton.
        bodies: with shapes.
        q, u: (T, dofs).
        X: (T, all bodies, 4, 4) poses.
        normal: upwards (3,).
    """
    heights, speeds = np.empty((len(q), len(bodies))), np.empty((len(q), len(bodies)))
    for k, body in enumerate(bodies):
        balls = [(outline(node.shape), node.relative_transform) for node in shapes_of(body)]
        points = np.concatenate([centers @ T[:3, :3].T + T[:3, 3] for (centers, _), T in balls])
        radii = np.concatenate([own for (_, own), _ in balls])
        R, place = X[:, body.index, :3, :3], X[:, body.index, :3, 3]
        along = (R.transpose(0, 2, 1) @ normal) @ points.T - radii  # (T, n)
        which = along.argmin(axis=1)
        heights[:, k] = along.min(axis=1) + place @ normal
        arm = (R @ points[which][:, :, None])[:, :, 0] - radii[which][:, None] * normal
        V = (batch.jacobian(q, body) @ u[:, :, None])[:, :, 0]
        speeds[:, k] = np.linalg.norm(V[:, 3:] + np.cross(V[:, :3], arm), axis=1)
    return heights, speeds


def touching(clearances: Array, speeds: Array, height: float, speed: float) -> NDArray[np.bool_]:
    """Whether bodies touch, (T, bodies): from where they are lower and slower than the limits until they are twice as
    high or fast."""
    begin = (clearances < height) & (speeds < speed)
    end = (clearances > TWICE * height) | (speeds > TWICE * speed)
    frames = np.arange(len(begin))[:, None]
    changed = np.maximum.accumulate(np.where(begin | end, frames, 0), axis=0)
    return np.take_along_axis(begin, changed, axis=0)


def phases_of(on: NDArray[np.bool_], names: list[str], times: Array) -> tuple[ContactPhase, ...]:
    """The frames of `on` (T, bodies) that follow each other, by time."""
    found = []
    for name, column in zip(names, on.T, strict=True):
        turns = np.flatnonzero(np.diff(np.concatenate([[False], column, [False]]).astype(int)))
        for first, after in turns.reshape(-1, 2).tolist():
            found.append(ContactPhase(name, first, after - 1, float(times[first]), float(times[after - 1])))
    return tuple(sorted(found, key=lambda phase: (phase.first, phase.body)))
