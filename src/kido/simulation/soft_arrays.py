"""The arrays of all soft bodies of a world, made from the objects; the skins' states are windows on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from kido.collision.geometry import SkinFace, SkinPoint
from kido.jit import Struct
from kido.jit.kept import FINITE, FLAG, checked_arrays
from kido.skeleton.soft.soft_body_node import SoftBodyNode
from kido.tree.soft import FACE_SHAPE, SOFT, VERTEX_SHAPE

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, ShapeNode, Skeleton

CALM_SHARE = 1e-3  # displacement, as a share of the radius of the automatic mode, at which a point may freeze


class SoftArrays:
    """Soft bodies of a world as a container, rebuilt with the world's engine.

    Attributes:
        container: SOFT.
        bodies: the soft bodies, in the order of their numbers.
    """

    def __init__(self, skeletons: list[Skeleton], link_index: Callable[[BodyNode], int]):
        self.bodies: list[SoftBodyNode] = [b for s in skeletons for b in s.soft_bodies]
        tree_index = {s: i for i, s in enumerate(skeletons)}
        sizes = np.array([b.num_points for b in self.bodies], np.int64)
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        faces, neighbors, counts, orders, bands = [], [], [], [], []
        for body, start in zip(self.bodies, first, strict=False):
            shape: Any = body.skin.shape
            edges = shape.edges
            n = body.num_points
            pairs = np.concatenate([edges, edges[:, ::-1]])
            pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
            neighbors.append(pairs[:, 1] + start)
            counts.append(np.bincount(pairs[:, 0], minlength=n))
            order, band = band_order(n, pairs)
            orders.append(order)
            bands.append(band)
            faces.append(shape.faces + start)
        entries = sizes * (np.array(bands, np.int64) + 1) if len(bands) else np.zeros(0, np.int64)
        self._face_of = np.concatenate([[0], np.cumsum([len(f) for f in faces])]).astype(np.int64)
        whole = {
            "link": np.array([link_index(b) for b in self.bodies], np.int64),
            "tree_index": np.array([tree_index[b.skeleton] for b in self.bodies], np.int64),
            "first": first,
            "band": np.array(bands, np.int64),
            "band_at": np.concatenate([[0], np.cumsum(entries)]).astype(np.int64),
            "neighbor_first": np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
            "neighbor": np.concatenate(neighbors).astype(np.int64),
            "face": np.ascontiguousarray(np.concatenate(faces), np.int64),
            "order": np.concatenate(orders).astype(np.int64),
            "place": np.concatenate([np.argsort(order) for order in orders]).astype(np.int64),
        }
        self._whole = whole
        self.container = self._make(np.zeros((0, 3), np.int64))
        for number, body in enumerate(self.bodies):
            points, skin = slice(int(first[number]), int(first[number + 1])), body.skin
            c = self.container
            skin.live_in(
                q=c.q[points], qd=c.qd[points], forces=c.force[points], impulses=c.impulse[points],
                frozen=c.frozen[points], transfer=c.transfer[number],
            )  # fmt: skip
            skin.on_release = partial(c.factored[number : number + 1].fill, 0.0)
        self.fill()

    def _make(self, shapes: np.ndarray) -> Struct:
        """A container with the given shapes, all else as it is."""
        points, softs = int(self._whole["first"][-1]), len(self.bodies)
        kept = dict(self._whole)
        old = self.__dict__.get("container")
        if old is not None:
            kept |= {name: getattr(old, name) for name in SOFT.arrays if name not in _SHAPE_FIELDS}
        kept |= {f: np.ascontiguousarray(shapes[:, k]) for k, f in enumerate(_SHAPE_FIELDS)}
        return SOFT(
            **kept,
            softs=softs,
            softs1=softs + 1,
            points=points,
            points1=points + 1,
            entries=max(1, int(self._whole["band_at"][-1])),
        )

    def fill(self) -> None:
        """Write masses, stiffness and damping from the objects."""
        c = self.container
        for number, body in enumerate(self.bodies):
            points, skin = slice(int(c.first[number]), int(c.first[number + 1])), body.skin
            c.rest[points] = skin.rest
            c.mass[points] = skin.masses
            radius = skin.automatic
            c.kv[number], c.ke[number], c.kd[number], c.factored[number] = skin.kv, skin.ke, skin.kd, 0.0
            c.automatic[number] = radius is not None
            c.radius[number] = radius or 0.0
            c.calm[number] = CALM_SHARE * (radius or 0.0)

    @property
    def dofs(self) -> int:
        """The most velocities that the contact problem has behind those of the forest."""
        return 3 * len(self.container.mass)

    def shapes_of(self, nodes: list[ShapeNode]) -> tuple[list[ShapeNode], list[Any]]:
        """Shapes of the detector: each skin's node once for each of its points and faces, others as they are.

        Returns:
            The node of each shape, and the geometry where it is not the node's own.
        """
        number: dict[ShapeNode, int] = {body.skin: k for k, body in enumerate(self.bodies)}
        first = self.container.first
        all_nodes, rows, geometries = [], [], []
        for node in nodes:
            s = number.get(node)
            if s is None:
                all_nodes.append(node)
                rows.append((0, 0, 0))
                geometries.append(node.shape)
                continue
            points, faces = range(first[s], first[s + 1]), range(self._face_of[s], self._face_of[s + 1])
            rows += [(VERTEX_SHAPE, s, i) for i in points] + [(FACE_SHAPE, s, i) for i in faces]
            all_nodes += [node] * (len(points) + len(faces))
            triangles = self.container.face[faces.start : faces.stop]
            corners = self.container.rest[triangles]
            outwards = normals(len(points), triangles - first[s], corners)
            geometries += [SkinPoint((float(x), float(y), float(z))) for x, y, z in outwards]
            longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
            depth = np.minimum(longest, 0.5 * thickness(corners))
            geometries += [SkinFace(float(size), float(most)) for size, most in zip(longest, depth, strict=True)]
        self.container = self._make(np.array(rows, np.int64).reshape(-1, 3))
        return all_nodes, geometries

    def undo_step(self) -> None:
        """Back to before a step that went no further than the solution of its contact problem."""
        c = self.container
        c.q[:], c.qd[:] = c.start_q, c.start

    def state(self) -> dict[str, np.ndarray]:
        """Copies of what a step changes."""
        return {f: getattr(self.container, f).copy() for f in _STATE}

    def checked_state(self, state: Any, where: str) -> dict[str, np.ndarray]:
        """A state that came from outside, as `state` gives them.

        Raises:
            StateError: these soft bodies cannot have been in it; says what is wrong.
        """
        return checked_arrays(self.container, _STATE, state, where)

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Put back what `state` returned."""
        for field in _STATE:
            getattr(self.container, field)[:] = state[field]
        self.container.factored[:] = 0.0


_STATE = {"frozen": FLAG, **dict.fromkeys(("q", "qd", "transfer", "impulse"), FINITE)}
_SHAPE_FIELDS = ("shape_kind", "shape_soft", "shape_item")


def band_order(n: int, pairs: np.ndarray) -> tuple[np.ndarray, int]:
    """An order of n points in which neighbours are near each other, and how far apart they are at most.

    Source: Cuthill and McKee (1969).
    """
    if len(pairs) == 0:
        return np.arange(n), 0
    graph = scipy.sparse.coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
    order = np.asarray(scipy.sparse.csgraph.reverse_cuthill_mckee(graph, symmetric_mode=True), np.int64)
    place = np.argsort(order)
    return order, int(np.abs(place[pairs[:, 0]] - place[pairs[:, 1]]).max())


def normals(points: int, triangles: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Unit normals (points,3) of a surface at its points, from triangles (n,3) and their corners (n,3,3) [m].

    Those of the triangles about a point, weighted with their angles there: how a surface is divided into triangles
    makes no difference. The z-axis where there are none, or where they cancel.

    Source: Thuermer and Wuethrich (1998).
    """
    total = np.zeros((points, 3))
    outwards = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(outwards, axis=1)
    outwards[size > 0.0] /= size[size > 0.0, None]
    for k in range(3):
        e, f = corners[:, (k + 1) % 3] - corners[:, k], corners[:, (k + 2) % 3] - corners[:, k]
        angle = np.arctan2(size, (e * f).sum(axis=1))
        np.add.at(total, triangles[:, k], angle[:, None] * outwards)
    length = np.linalg.norm(total, axis=1)
    found = length > 1e-9
    total[found] /= length[found, None]
    total[~found] = (0.0, 0.0, 1.0)
    return total


def thickness(corners: np.ndarray) -> np.ndarray:
    """From the middle of each triangle (n,3,3) of a closed surface straight inwards to the other side [m].

    Source: Moeller and Trumbore (1997), the intersection of a ray and a triangle.
    """
    a, e, f = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normals = np.cross(e, f)
    size = np.linalg.norm(normals, axis=1)
    found = np.full(len(corners), np.inf)
    for k in np.flatnonzero(size > 0.0):
        ray, origin = -normals[k] / size[k], corners[k].mean(axis=0)
        across = np.cross(ray, f)
        area = np.einsum("ij,ij->i", e, across)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.einsum("ij,ij->i", origin - a, across) / area
            turned = np.cross(origin - a, e)
            v = turned @ ray / area
            distance = np.einsum("ij,ij->i", f, turned) / area
            hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1.0 + 1e-9) & (distance > 1e-9 * np.sqrt(size[k]))
        if hit.any():
            found[k] = distance[hit].min()
    return found
