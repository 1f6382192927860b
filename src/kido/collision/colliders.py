"""What a detector is given, shapes and a filter of bodies, and its arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kido.collision.compound import Compound, SurfacePatch, compound_arrays, map_arrays
from kido.collision.container import FACE, SLOTS
from kido.collision.geometry import Geometry, SkinFace, SkinPoint, hull_arrays, inner_and_outer, middle
from kido.errors import ModelError
from kido.shapes import Heightmap, Hull, Shape


class Collider(NamedTuple):
    """A shape on a body, as the detector takes it.

    Attributes:
        shape: geometry.
        body: index of the body that carries it.
        transform: pose (4,4) of the shape in the body's axes, X_BS [m].
        friction: Coulomb coefficient.
        restitution: coefficient of restitution.
        category: bits that say what the shape is.
        mask: bits of the categories that it collides with.
        continuous: swept along its motion where that is large.
        padding: how far its surface lies outside of its geometry [m].
    """

    shape: Shape | SkinPoint | SkinFace | SurfacePatch
    body: int
    transform: Any = None
    friction: float = 1.0
    restitution: float = 0.0
    category: int = -1
    mask: int = -1
    continuous: bool = False
    padding: float = 0.0


def alike(some: list[Collider], others: list[Collider]) -> bool:
    """Whether the same shapes are on the same bodies."""
    return len(some) == len(others) and all(
        a.shape is b.shape and a.body == b.body and np.array_equal(a.transform, b.transform) and a[5:] == b[5:]
        for a, b in zip(some, others, strict=True)
    )


def shape_arrays(colliders: list[Collider], geometries: list[Geometry], bodies: int) -> dict[str, np.ndarray]:
    """The fields of COLLISION that describe shapes.

    Raises:
        ModelError: a body, a pose or a material coefficient that is none.
    """
    n = len(colliders)
    a: dict[str, np.ndarray] = {
        "shape_type": np.zeros(n + SLOTS, np.int64),
        "shape_body": np.zeros(n, np.int64),
        "shape_size": np.zeros((n + SLOTS, 3)),
        "shape_hull": np.full(n + SLOTS, -1, np.int64),
        "shape_compound": np.full(n, -1, np.int64),
        "shape_reach": np.zeros(n + SLOTS),
        "rotation": np.zeros((n + SLOTS, 9)),
        "position": np.zeros((n + SLOTS, 3)),
        "aabb": np.zeros((n + SLOTS, 6)),
        "shape_padding": np.zeros(n + SLOTS),
        "shape_category": np.full(n, -1, np.int64),
        "shape_mask": np.full(n, -1, np.int64),
        "shape_continuous": np.zeros(n, np.int64),
        "shape_inner": np.zeros(n),
        "shape_outer": np.zeros(n),
        "shape_middle": np.zeros((n, 3)),
        "shape_friction": np.zeros(n),
        "shape_restitution": np.zeros(n),
        "local_rotation": np.zeros((n, 9)),
        "local_position": np.zeros((n, 3)),
    }
    kept = _Kept()
    faces = 0
    for s, item in enumerate(colliders):
        if not 0 <= item.body < bodies:
            raise ModelError(f"shape {s} is on body {item.body}; expected 0 to {bodies - 1}")
        for name, value in (("friction", item.friction), ("restitution", item.restitution), ("padding", item.padding)):
            if not (np.isfinite(value) and value >= 0.0):
                raise ModelError(f"shape {s}: {name} is {value!r}; expected a finite number >= 0")
        shape = geometries[s]
        transform = np.eye(4) if item.transform is None else np.asarray(item.transform, dtype=float)
        if transform.shape != (4, 4) or not np.isfinite(transform).all():
            raise ModelError(f"shape {s}: transform has shape {transform.shape}; expected finite (4, 4)")
        transform = transform @ shape.transform
        a["shape_type"][s] = shape.kind
        a["shape_body"][s] = item.body
        a["shape_size"][s] = shape.size
        a["shape_reach"][s] = shape.reach
        a["shape_padding"][s] = item.padding
        a["shape_category"][s] = item.category
        a["shape_mask"][s] = item.mask
        a["shape_continuous"][s] = item.continuous
        a["shape_inner"][s], a["shape_outer"][s] = inner_and_outer(item.shape, shape)
        a["shape_middle"][s] = middle(item.shape, shape)
        a["shape_friction"][s] = item.friction
        a["shape_restitution"][s] = item.restitution
        a["local_rotation"][s] = transform[:3, :3].ravel()
        a["local_position"][s] = transform[:3, 3]
        if shape.kind == FACE:
            a["shape_hull"][s] = faces
            faces += 1
        if shape.hull is not None:
            a["shape_hull"][s] = kept.hull(shape.hull, shape.balls)
        if shape.compound is not None:
            a["shape_compound"][s] = kept.compound(shape.compound)
        if shape.heightmap is not None:
            a["shape_compound"][s] = kept.heightmap(shape.heightmap)
    return a | {"skin_triangle": np.zeros((faces, 9))} | kept.arrays()


class _Kept:
    """Hulls, compounds and height maps of a set of shapes, each kept once however many shapes share it."""

    def __init__(self) -> None:
        self._hulls: list[Hull] = []
        self._balls: dict[int, np.ndarray] = {}
        self._compounds: list[Compound] = []
        self._maps: list[tuple[Heightmap, float]] = []
        self._index: dict[int, int] = {}

    def _place(self, item: Any, among: list[Any]) -> int:
        if id(item) not in self._index:
            self._index[id(item)] = len(among)
            among.append(item)
        return self._index[id(item)]

    def hull(self, hull: Hull, balls: np.ndarray | None = None) -> int:
        """Index of a hull."""
        index = self._place(hull, self._hulls)
        if balls is not None:
            self._balls[index] = balls
        return index

    def compound(self, compound: Compound) -> int:
        """Index of a compound."""
        return self._place(compound, self._compounds)

    def heightmap(self, heightmap: tuple[Heightmap, float]) -> int:
        """Index of a height map."""
        return self._place(heightmap, self._maps)

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields of COLLISION that hold them."""
        compounds = self._compounds
        pieces = [piece for compound in compounds for piece in compound.pieces]
        hull_of_piece = [-1 if piece.hull is None else self.hull(piece.hull) for piece in pieces]
        surfaces = [compound.surface for compound in compounds if compound.surface is not None]
        arrays, starts = hull_arrays(self._hulls, self._balls, surfaces)
        start = iter(starts)
        first_vertex = [0 if compound.surface is None else next(start) for compound in compounds]
        return arrays | compound_arrays(compounds, hull_of_piece, first_vertex) | map_arrays(self._maps)


def body_filter_arrays(
    bodies: int, moving: Any, collidable: Any, group: Any, excluded: Iterable[tuple[int, int]]
) -> dict[str, np.ndarray]:
    """The fields of COLLISION that say which bodies collide (`NativeDetector` has the arguments).

    Raises:
        ModelError: arrays of another length, or pairs of bodies that are not there.
    """

    def per_body(name: str, value: Any, default: int) -> np.ndarray:
        if value is None:
            return np.full(bodies, default, np.int64)
        array = np.array(value, dtype=np.int64)
        if array.shape != (bodies,):
            raise ModelError(f"collision filter: {name} has shape {array.shape}; expected ({bodies},)")
        return array

    others: list[set[int]] = [set() for _ in range(bodies)]
    for a, b in excluded:
        if not (0 <= a < bodies and 0 <= b < bodies):
            raise ModelError(f"collision filter: excluded pair ({a}, {b}); expected bodies 0 to {bodies - 1}")
        others[a].add(b)
        others[b].add(a)
    lists = [sorted(o) for o in others]
    first = np.zeros(bodies + 1, np.int64)
    first[1:] = np.cumsum([len(o) for o in lists])
    return {
        "body_moving": per_body("moving", moving, 1),
        "body_collidable": per_body("collidable", collidable, 1),
        "body_group": per_body("group", group, -1),
        "excluded_first": first,
        "excluded": np.array([b for o in lists for b in o], dtype=np.int64),
    }
