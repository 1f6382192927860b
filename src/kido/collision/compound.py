"""Compounds and height maps as arrays: parts, their tree of boxes, and what lies across the edges of triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kido.collision.container import MAX_PATCH_POINTS
from kido.errors import ShapeError
from kido.shapes import Heightmap, Hull

LEAF = 2  # most parts of a leaf
PATCH = 8  # most triangles of a patch
PATCHES_KEPT = 256  # most directions of contact of one pair


class Piece(NamedTuple):
    """A convex part of a compound.

    Attributes:
        kind: type code, see `container`.
        size: three numbers, by type [m].
        transform: (4,4) from the piece's axes to those of the shape.
        reach: half the diagonal of its bounding box [m].
        box: its lower and upper corner (2,3) in the axes of the shape [m].
        hull: of a polyhedron.
    """

    kind: int
    size: tuple[float, float, float]
    transform: np.ndarray
    reach: float
    box: np.ndarray
    hull: Hull | None = None

    def about(self, middle: np.ndarray) -> Piece:
        """The piece in axes whose origin is at `middle`."""
        X = self.transform.copy()
        X[:3, 3] -= middle
        return Piece(self.kind, self.size, X, self.reach, self.box - middle, self.hull)


class Surface(NamedTuple):
    """The triangles of a mesh, vertices at one place made one.

    Attributes:
        vertices: (n,3) [m].
        triangles: (m,6) three vertices, counterclockwise from outside; those across the edges 01, 12, 20, or -1.
        neighbors: of each vertex, those that an edge joins with it.
        closed: every edge has a triangle on either side.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    neighbors: list[list[int]]
    closed: bool


class Compound(NamedTuple):
    """What a shape that is not convex is made of: a surface, or convex pieces."""

    surface: Surface | None
    pieces: Sequence[Piece]


def surface(vertices: np.ndarray, faces: np.ndarray, closed: bool, what: str) -> Surface:
    """Prepares a mesh's triangles; those without area are left out.

    Where more than two triangles meet at an edge, one turns to the next of them in the order of faces.

    Raises:
        ShapeError: no triangle has an area.
    """
    vertices, number = np.unique(np.asarray(vertices, dtype=float), axis=0, return_inverse=True)
    f = number.reshape(-1)[faces]
    p = vertices[f]
    edges = p[:, [1, 2, 0]] - p
    area = np.linalg.norm(np.cross(edges[:, 0], -edges[:, 2]), axis=1)
    f = f[area > 1e-12 * np.maximum((edges**2).sum(axis=2).max(axis=1), 1e-300)]
    if len(f) == 0:
        raise ShapeError(f"{what}: none of its {len(faces)} triangles has an area")
    across = np.full((len(f), 3), -1)
    waiting: dict[tuple[int, int], list[tuple[int, int]]] = {}
    neighbors: list[set[int]] = [set() for _ in vertices]
    for i, corners in enumerate(f.tolist()):
        for e in range(3):
            a, b = corners[e], corners[(e + 1) % 3]
            neighbors[a].add(b)
            neighbors[b].add(a)
            # The other side runs the edge backwards; in a badly oriented mesh perhaps forwards.
            found = waiting.get((b, a)) or waiting.get((a, b))
            if found:
                j, g = found.pop(0)
                across[i, e] = f[j, (g + 2) % 3]
                across[j, g] = corners[(e + 2) % 3]
            else:
                waiting.setdefault((a, b), []).append((i, e))
    return Surface(vertices, np.concatenate([f, across], axis=1), [sorted(n) for n in neighbors], closed)


class SurfacePatch(NamedTuple):
    """Some neighbouring triangles of a surface that deforms; where their vertices are is written at each step.

    A surface is many patches, each a shape: of one patch few contacts are kept (`kido.collision.patches`), which is
    right where forces within an outline are sums of forces on it, on a rigid body.

    Attributes:
        surface: its triangles; behind their vertices those across edges.
        vertex: (n,) of the whole of each of its vertices.
        corners: how many vertices its triangles have.
        depth: least extent of the whole [m].
    """

    surface: Surface
    vertex: np.ndarray
    corners: int
    depth: float


def surface_patches(vertices: np.ndarray, faces: np.ndarray, closed: bool, what: str) -> list[SurfacePatch]:
    """A surface as patches of at most PATCH triangles, by halves along their longest extent.

    Raises:
        ShapeError: no triangle has an area.
    """
    points, first, number = np.unique(vertices, axis=0, return_index=True, return_inverse=True)
    whole = surface(points, number.reshape(-1)[faces], closed, what)
    middle = points[whole.triangles[:, :3]].mean(axis=1)
    waiting, found = [np.arange(len(middle))], []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= PATCH:
            found.append(rows)
            continue
        axis = int(np.argmax(np.ptp(middle[rows], axis=0)))
        rows = rows[np.argsort(middle[rows, axis], kind="stable")]
        waiting += [rows[len(rows) // 2 :], rows[: len(rows) // 2]]
    depth = float(np.ptp(points, axis=0).min())
    patches = []
    for rows in found:
        triangles = whole.triangles[rows]
        own = np.unique(triangles[:, :3])
        around = np.unique(np.concatenate([triangles[:, 3:].ravel(), *(whole.neighbors[v] for v in own)]))
        used = np.concatenate([own, np.setdiff1d(around[around >= 0], own)])
        place = np.full(len(points), -1)
        place[used] = np.arange(len(used))
        neighbors = [place[whole.neighbors[v]].tolist() if k < len(own) else [] for k, v in enumerate(used)]
        local = np.where(triangles >= 0, place[triangles], -1)
        patches.append(SurfacePatch(Surface(points[used], local, neighbors, closed), first[used], len(own), depth))
    return patches


def tree(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A tree over boxes (n,6), split at the median of the longest axis, in depth-first order.

    Returns:
        Boxes of the nodes (k,6), the node after each with all below it (k,), first and number of a leaf's parts
        (k,2), and the order (n,) of the parts.
    """
    middle = boxes[:, :3] + boxes[:, 3:]
    order = np.arange(len(boxes))
    node_box: list[np.ndarray] = []
    node_next: list[int] = []
    node_part: list[tuple[int, int]] = []
    open_nodes: list[tuple[int, int, int]] = [(0, len(boxes), -1)]
    parents: list[int] = []
    while open_nodes:
        first, last, parent = open_nodes.pop()
        node, inside = len(node_box), order[first:last]
        node_box.append(np.concatenate([boxes[inside, :3].min(axis=0), boxes[inside, 3:].max(axis=0)]))
        node_next.append(-1)
        parents.append(parent)
        if last - first <= LEAF:
            node_part.append((first, last - first))
            continue
        node_part.append((0, 0))
        axis = int(np.argmax(np.ptp(middle[inside], axis=0)))
        order[first:last] = inside[np.argsort(middle[inside, axis], kind="stable")]
        half = (first + last) // 2
        open_nodes.append((half, last, node))
        open_nodes.append((first, half, node))
    for node in range(len(node_box) - 1, -1, -1):  # children come after their parents, the last one last
        node_next[node] = max(node_next[node], node + 1)
        if parents[node] >= 0:
            node_next[parents[node]] = max(node_next[parents[node]], node_next[node])
    return np.array(node_box), np.array(node_next), np.array(node_part), order


def compound_arrays(
    compounds: Sequence[Compound], hull_base: Sequence[int], first_vertex: Sequence[int]
) -> dict[str, np.ndarray]:
    """The compound fields of COLLISION.

    Args:
        compounds: one after the other.
        hull_base: index of the hull of each piece of all compounds, -1 if it has none.
        first_vertex: index of the first vertex of each compound's surface.
    """
    nodes, boxes, nexts, leaves, parts = [0], [np.zeros((0, 6))], [], [np.zeros((0, 2), np.int64)], []
    triangles, pieces = [np.zeros((0, 6), np.int64)], []
    rows = 0
    for compound, base in zip(compounds, first_vertex, strict=True):
        if compound.surface is not None:
            vertices, corners = compound.surface.vertices, compound.surface.triangles
            p = vertices[corners[:, :3]]
            own = np.concatenate([p.min(axis=1), p.max(axis=1)], axis=1)
            codes = rows + np.arange(len(corners))
            triangles.append(np.where(corners >= 0, corners + base, -1))
            rows += len(corners)
        else:
            own = np.array([piece.box.ravel() for piece in compound.pieces])
            codes = -1 - (len(pieces) + np.arange(len(own)))
            pieces.extend(compound.pieces)
        box, following, part, order = tree(own)
        leaf = part[:, 1] > 0
        part[leaf, 0] += len(parts)
        boxes.append(box)
        nexts.extend((following + nodes[-1]).tolist())
        leaves.append(part)
        parts.extend(codes[order].tolist())
        nodes.append(nodes[-1] + len(box))
    transforms = np.array([piece.transform for piece in pieces]).reshape(-1, 4, 4)
    return {
        "compound_node": np.array(nodes, np.int64),
        "compound_closed": np.array([int(c.surface is not None and c.surface.closed) for c in compounds], np.int64),
        "node_box": np.ascontiguousarray(np.concatenate(boxes)),
        "node_next": np.array(nexts, np.int64),
        "node_part": np.ascontiguousarray(np.concatenate(leaves), np.int64),
        "part": np.array(parts, np.int64),
        "triangle": np.ascontiguousarray(np.concatenate(triangles), np.int64),
        "piece_type": np.array([piece.kind for piece in pieces], np.int64),
        "piece_size": np.array([piece.size for piece in pieces], float).reshape(-1, 3),
        "piece_hull": np.array(hull_base, np.int64),
        "piece_reach": np.array([piece.reach for piece in pieces], float),
        "piece_rotation": np.ascontiguousarray(transforms[:, :3, :3].reshape(-1, 9)),
        "piece_position": np.ascontiguousarray(transforms[:, :3, 3]),
    }


def map_arrays(maps: Sequence[tuple[Heightmap, float]]) -> dict[str, np.ndarray]:
    """The height map fields of COLLISION, of height maps and what their heights are lowered by."""
    sizes = [m.heights.shape for m, _ in maps]
    heights = [m.heights.ravel() - shift for m, shift in maps]
    return {
        "map_first": np.array(np.cumsum([0, *(r * c for r, c in sizes)])[: len(maps)], np.int64),
        "map_size": np.array(sizes, np.int64).reshape(-1, 2),
        "map_spacing": np.array([m.spacing for m, _ in maps], float).reshape(-1, 2),
        "map_height": np.concatenate([np.zeros(0), *heights]),
    }


def patch_sizes(needed: bool) -> dict[str, int]:
    """Sizes of the scratch of patches."""
    patches = PATCHES_KEPT if needed else 0
    return {"patches": patches, "patch_points": patches * MAX_PATCH_POINTS}
