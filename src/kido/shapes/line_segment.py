"""Line segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.errors import ShapeError
from kido.shapes.arrays import checked_mass, finite_array
from kido.shapes.shape import Shape, length


@dataclass(frozen=True, eq=False)
class LineSegment(Shape):
    """One or more straight lines between points, drawn and collided with as round wires of a small thickness.

    Centroid and moment are those of thin rods of one mass per length; a line has no volume. Two are equal only
    if they are the same object.

    Args:
        vertices: points (n,3) in the shape's axes [m], at least two.
        connections: pairs (m,2) of indices of vertices that are joined; by default each with the next.
        thickness: diameter of the wire [m], positive.
    """

    vertices: Any
    connections: Any = None
    thickness: float = 1e-3

    def __post_init__(self) -> None:
        vertices = finite_array("LineSegment", "vertices", self.vertices, 2, 3)
        n = len(vertices)
        if n < 2:
            raise ShapeError("LineSegment: one vertex; expected at least two")
        if self.connections is None:
            connections = np.column_stack([np.arange(n - 1), np.arange(1, n)])
        else:
            numbers = finite_array("LineSegment", "connections", self.connections, 2, 2)
            connections = numbers.astype(np.int64)
            if (connections != numbers).any() or connections.min() < 0 or connections.max() >= n:
                raise ShapeError(
                    f"LineSegment: connections name vertices {numbers.min():g} to {numbers.max():g}; "
                    f"expected integers from 0 to {n - 1}"
                )
        connections.setflags(write=False)
        lengths = np.linalg.norm(vertices[connections[:, 1]] - vertices[connections[:, 0]], axis=1)
        if not lengths.min() > 0.0:
            a, b = connections[int(np.argmin(lengths))]
            raise ShapeError(f"LineSegment: vertices {a} and {b} are joined and lie at one place; expected a line")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "connections", connections)
        object.__setattr__(self, "thickness", length("LineSegment", "thickness", self.thickness))

    def __repr__(self) -> str:
        return f"LineSegment({len(self.connections)} lines, thickness={self.thickness})"

    def __reduce__(self):
        return LineSegment, (self.vertices, self.connections, self.thickness)

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.vertices[self.connections[:, 0]], self.vertices[self.connections[:, 1]]

    @property
    def length(self) -> float:
        """Length of all lines together [m]."""
        a, b = self._ends
        return float(np.linalg.norm(b - a, axis=1).sum())

    @property
    def aabb(self) -> np.ndarray:
        ends, r = np.concatenate(self._ends), 0.5 * self.thickness
        return np.array([ends.min(axis=0) - r, ends.max(axis=0) + r])

    @property
    def bounding_radius(self) -> float:
        return float(np.linalg.norm(np.concatenate(self._ends), axis=1).max()) + 0.5 * self.thickness

    @property
    def volume(self) -> float:
        raise ShapeError("a LineSegment has no volume: give its body a mass instead of a density")

    @property
    def centroid(self) -> np.ndarray:
        a, b = self._ends
        weight = np.linalg.norm(b - a, axis=1)
        return (weight[:, None] * 0.5 * (a + b)).sum(axis=0) / weight.sum()

    def moment(self, mass: float) -> np.ndarray:
        checked_mass(mass)
        a, b = self._ends
        d, middle = b - a, 0.5 * (a + b) - self.centroid
        weight = np.linalg.norm(d, axis=1)
        outer = np.einsum("ni,nj->nij", d, d) / 12.0 + np.einsum("ni,nj->nij", middle, middle)
        second = np.einsum("n,nij->ij", weight, outer) / weight.sum()
        return mass * (np.trace(second) * np.eye(3) - second)
