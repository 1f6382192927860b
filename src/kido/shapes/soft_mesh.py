"""Shells of soft bodies: closed surfaces of triangles whose corners are point masses, joined by springs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kido.errors import ShapeError
from kido.shapes.mesh import Mesh
from kido.shapes.shape import length, lengths

Array = np.ndarray
MAX_POINTS = 100_000  # of a skin that is built here

# Of each builder of a SoftMesh, what SKEL's element of the same name calls its arguments in order, and what they are
# multiplied by to be written.
SKIN_ELEMENTS: dict[str, dict[str, float]] = {
    "box": {"size": 1.0, "frags": 1.0},
    "sphere": {"radius": 1.0, "num_slices": 1.0, "num_stacks": 1.0},
    "ellipsoid": {"size": 2.0, "num_slices": 1.0, "num_stacks": 1.0},
    "cylinder": {"radius": 1.0, "height": 1.0, "num_slices": 1.0, "num_stacks": 1.0, "num_rings": 1.0},
}


@dataclass(frozen=True, eq=False)
class SoftMesh(Mesh):
    """The skin of a soft body at rest: its point masses are the vertices.

    Args:
        vertices, faces, uri, color, ...: as of a `Mesh`. What it collides as is not used: its points and faces do.
        edges: pairs of vertices (k,2) that springs of stiffness Ke join; by default the edges of all faces.
        built: what a builder made it from, for files: its name and its arguments in order.

    Raises:
        ShapeError: as `Mesh`; an edge of a vertex with itself, or to one that is not there.
    """

    edges: Any = None
    built: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        f = self.faces
        if self.edges is None:
            edges = np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]])
        else:
            try:
                edges = np.array(self.edges, dtype=float).reshape(-1, 2) if len(self.edges) else np.zeros((0, 2))
            except (TypeError, ValueError):
                raise ShapeError("SoftMesh: edges are not pairs of vertices") from None
            if not (edges == np.floor(edges)).all():
                raise ShapeError("SoftMesh: edges are not pairs of whole numbers")
            edges = edges.astype(np.int64)
        if len(edges) and (edges.min() < 0 or edges.max() >= len(self.vertices) or (edges[:, 0] == edges[:, 1]).any()):
            raise ShapeError(f"SoftMesh: edges join different vertices from 0 to {len(self.vertices) - 1}")
        edges = np.unique(np.sort(edges, axis=1), axis=0)
        edges.setflags(write=False)
        object.__setattr__(self, "edges", edges)

    def __repr__(self) -> str:
        return f"SoftMesh({len(self.vertices)} points, {len(self.faces)} faces, {len(self.edges)} edges)"

    @classmethod
    def box(cls, size: Any, points: Any = (3, 3, 3)) -> Self:
        """A box; springs along the lines of its grid.

        Args:
            size: edge lengths (3,) [m].
            points: points along each edge (3,), at least 2; a skin has at most 100,000.
        """
        size = np.array(lengths("soft box", "size", size))
        n = np.array(_counts("soft box", "points", points, 3, 2))
        _check_number("soft box", math.prod(n.tolist()) - math.prod((n - 2).tolist()))
        number: dict[tuple[int, ...], int] = {}
        faces: list[tuple[int, int, int]] = []
        edges: list[tuple[int, int]] = []

        def at(*place: int) -> int:
            return number.setdefault(place, len(number))

        for axis in range(3):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            for side in range(2):
                place = [0, 0, 0]
                place[axis] = side * int(n[axis] - 1)
                grid = np.empty((n[u], n[v]), np.int64)
                for i in range(n[u]):
                    for j in range(n[v]):
                        place[u], place[v] = i, j
                        grid[i, j] = at(*place)
                edges += [(int(a), int(b)) for a, b in zip(grid[:-1].ravel(), grid[1:].ravel(), strict=True)]
                edges += [(int(a), int(b)) for a, b in zip(grid[:, :-1].ravel(), grid[:, 1:].ravel(), strict=True)]
                for i in range(n[u] - 1):
                    for j in range(n[v] - 1):
                        a, b, c, d = grid[i, j], grid[i + 1, j], grid[i + 1, j + 1], grid[i, j + 1]
                        two = [(a, b, c), (a, c, d)]
                        faces += [f if side else f[::-1] for f in two]
        vertices = (np.array(list(number), dtype=float) / (n - 1) - 0.5) * size
        return cls(vertices, faces, edges=edges, built=("box", size.tolist(), n.tolist()))

    @classmethod
    def ellipsoid(cls, radii: Any, slices: int = 8, stacks: int = 8) -> Self:
        """An ellipsoid with poles on z; springs along its meridians and parallels.

        Args:
            radii: half axes (3,) [m].
            slices: points around z, at least 3.
            stacks: from pole to pole, at least 2.
        """
        radii = np.array(lengths("soft ellipsoid", "radii", radii))
        (slices,), (stacks,) = (
            _counts("soft ellipsoid", "slices", slices, 1, 3), _counts("soft ellipsoid", "stacks", stacks, 1, 2)
        )  # fmt: skip
        _check_number("soft ellipsoid", slices * (stacks - 1) + 2)
        angle = np.pi * np.arange(1, stacks) / stacks
        profile = np.column_stack([np.sin(angle), np.cos(angle)])
        built = ("ellipsoid", radii.tolist(), slices, stacks)
        return cls._revolved(profile, (0.0, 1.0), (0.0, -1.0), slices, radii, built)

    @classmethod
    def sphere(cls, radius: float, slices: int = 8, stacks: int = 8) -> Self:
        """A sphere; see `ellipsoid`."""
        return cls.ellipsoid([length("soft sphere", "radius", radius)] * 3, slices, stacks)

    @classmethod
    def cylinder(cls, radius: float, height: float, slices: int = 8, stacks: int = 3, rings: int = 2) -> Self:
        """A cylinder about z; springs along the lines of its grid.

        Args:
            radius, height: [m].
            slices: points around z, at least 3.
            stacks: intervals along the height, at least 1.
            rings: intervals from the centre of a cap to its rim, at least 1.
        """
        radius, height = length("soft cylinder", "radius", radius), length("soft cylinder", "height", height)
        (slices,) = _counts("soft cylinder", "slices", slices, 1, 3)
        (stacks,), (rings,) = (
            _counts("soft cylinder", "stacks", stacks, 1, 1), _counts("soft cylinder", "rings", rings, 1, 1)
        )  # fmt: skip
        _check_number("soft cylinder", slices * (stacks + 2 * rings - 1) + 2)
        top = [(radius * k / rings, 0.5 * height) for k in range(1, rings)]
        side = [(radius, height * (0.5 - k / stacks)) for k in range(stacks + 1)]
        bottom = [(r, -z) for r, z in reversed(top)]
        profile = np.array(top + side + bottom)
        built = ("cylinder", radius, height, slices, stacks, rings)
        return cls._revolved(profile, (0.0, 0.5 * height), (0.0, -0.5 * height), slices, np.ones(3), built)

    @classmethod
    def _revolved(cls, profile: Array, top: Any, bottom: Any, slices: int, scale: Array, built: Any) -> Self:
        """Points (radius, z) from the upper pole to the lower one, turned about z."""
        turn = 2.0 * np.pi * np.arange(slices) / slices
        rings = [np.column_stack([r * np.cos(turn), r * np.sin(turn), np.full(slices, z)]) for r, z in profile]
        vertices = np.concatenate([[[0.0, 0.0, top[1]]], *rings, [[0.0, 0.0, bottom[1]]]]) * scale
        last = len(vertices) - 1
        faces, edges = [], []
        for k in range(slices):
            n = (k + 1) % slices
            for ring in range(len(profile)):
                a = 1 + ring * slices
                edges.append((a + k, a + n))
                above = a - slices + k if ring > 0 else 0
                edges.append((above, a + k))
                if ring == 0:
                    faces.append((0, a + k, a + n))
                else:
                    faces += [(a - slices + k, a + k, a + n), (a - slices + k, a + n, a - slices + n)]
            a = 1 + (len(profile) - 1) * slices
            edges.append((a + k, last))
            faces.append((a + k, last, a + n))
        return cls(vertices, faces, edges=edges, built=built)

    @classmethod
    def from_mesh(cls, mesh: Mesh, scale: Any = (1.0, 1.0, 1.0)) -> Self:
        """The surface of a mesh; vertices at one place become one point, and springs lie along all edges."""
        if not isinstance(mesh, Mesh):
            raise ShapeError(f"soft mesh: expected a kido.shapes.Mesh, got {type(mesh).__name__}")
        points, number = np.unique(mesh.vertices, axis=0, return_inverse=True)
        faces = number.reshape(-1)[mesh.faces]
        whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
        scale = np.array(lengths("soft mesh", "scale", scale))
        return cls(points * scale, faces[whole], uri=mesh.uri, color=mesh.color)


def _counts(shape: str, name: str, value: Any, size: int, least: int) -> tuple[int, ...]:
    """`value` as whole numbers not below `least`."""
    try:
        numbers = np.array(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    whole = numbers.shape == (size,) and np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()
    if not whole or not (numbers >= least).all():
        raise ShapeError(f"{shape}: {name} is {value!r}; expected {size} whole numbers, each at least {least}")
    return tuple(int(n) for n in numbers)


def _check_number(shape: str, points: int) -> None:
    if points > MAX_POINTS:
        raise ShapeError(f"{shape}: it would have {points} points; expected at most {MAX_POINTS}")
