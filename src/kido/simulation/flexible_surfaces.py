"""Surfaces of a world's flexible bodies that touch others, as a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.collision.compound import SurfacePatch, surface_patches
from kido.errors import ModelError
from kido.flexible import FlexibleBody, flexible_bodies
from kido.flexible.schema import FLEX_SURFACES

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import ShapeNode


class FlexibleSurfaces:
    """Owner of a FLEX_SURFACES container.

    Args:
        engine: of a world whose skeletons have flexible bodies.

    Raises:
        ModelError: a surface that touches others was moved on its body.
    """

    def __init__(self, engine: Engine):
        self.found: dict[ShapeNode, tuple[int, FlexibleBody]] = {}
        self.patches: list[tuple[ShapeNode, SurfacePatch]] = []
        for number, flexible in enumerate(b for s in engine.skeletons for b in flexible_bodies(s)):
            node = flexible.surface
            if node is None or not node.collision or not flexible.body.collidable:
                continue
            if not np.array_equal(node.relative_transform, np.eye(4)):
                raise ModelError(
                    f"flexible body {flexible.body.name!r}: its surface touches others and was moved on the body; "
                    "expected an identity for its relative_transform"
                )
            self.found[node] = number, flexible

    def shapes_of(self, nodes: list[ShapeNode], geometries: list[Any]) -> tuple[list[ShapeNode], list[Any]]:
        """Shapes of the detector: each surface's node once for each of its patches, others as they are."""
        all_nodes, all_geometries = [], []
        for node, given in zip(nodes, geometries, strict=True):
            parts = [given]
            if node in self.found:
                mesh: Any = node.shape
                parts = surface_patches(mesh.vertices, mesh.faces, mesh.closed, f"surface of {node.body.name!r}")
                self.patches += [(node, patch) for patch in parts]
            all_nodes += [node] * len(parts)
            all_geometries += parts
        return all_nodes, all_geometries

    def container(self, engine: Engine) -> FLEX_SURFACES:
        """Made for the detector of an engine."""
        c, t = engine.detector.container, engine.tree
        link = np.array([engine.link_index(b.body) for _, b in self.found.values()], np.int64)
        surfaces: list[Any] = [b.modes.surface for _, b in self.found.values()]
        number = np.array([s.number for s in surfaces], np.int64)
        shifts, bends, first_pair, pairs = [], [np.zeros((0, 3))], [], 0
        for surface in surfaces:
            shift, bend = surface.vertex_modes()
            shifts.append(shift.swapaxes(1, 2).reshape(-1, 3))
            first_pair.append(pairs if bend.any() else -1)
            if bend.any():
                bends.append(np.moveaxis(bend, 1, 3).reshape(-1, 3))
                pairs += len(bends[-1])
        vertices = np.cumsum([0, *(len(s.station) for s in surfaces)])
        columns = np.cumsum([0, *(len(x) for x in shifts)])
        tree = t.tree_of_body[link]
        answers = np.cumsum([0, *(number * (t.tree_dof[tree + 1] - t.tree_dof[tree]))])
        shape = np.flatnonzero(
            [
                collider.shape is not None and isinstance(collider.shape, SurfacePatch)
                for collider in engine.detector.colliders
            ]
        )
        order = {node: k for k, node in enumerate(self.found)}
        surface = np.array([order[node] for node, _ in self.patches], np.int64)
        patches = [patch for _, patch in self.patches]
        patch_of = np.full(len(c.shape_body), -1, np.int64)
        patch_of[shape] = np.arange(len(shape))
        hull = []
        for s, patch in zip(shape, patches, strict=True):
            nodes = slice(c.compound_node[c.shape_compound[s]], c.compound_node[c.shape_compound[s] + 1])
            leaves = c.node_part[nodes]
            row = min(int(c.part[i]) for first, count in leaves for i in range(first, first + count))
            hull.append(int(c.triangle[row, 0] - patch.surface.triangles[0, 0]))
        sizes = [len(patch.vertex) for patch in patches]
        return FLEX_SURFACES(
            flex=np.array([k for k, _ in self.found.values()], np.int64), link=link,
            first_vertex=vertices.astype(np.int64), first_column=columns[:-1].astype(np.int64),
            first_pair=np.array(first_pair, np.int64),
            place=np.concatenate([s.vertices for s in surfaces]), shift=np.concatenate(shifts),
            bend=np.concatenate(bends), at=np.zeros((vertices[-1], 3)),
            surface=surface, shape=shape.astype(np.int64), hull=np.array(hull, np.int64),
            first=np.cumsum([0, *sizes]).astype(np.int64),
            corners=np.array([patch.corners for patch in patches], np.int64),
            depth=np.array([0.5 * patch.depth for patch in patches]),
            vertex=np.concatenate([vertices[k] + p.vertex for k, p in zip(surface, patches, strict=True)]),
            patch_of=patch_of, answer=np.zeros(answers[-1]), first_answer=answers[:-1].astype(np.int64),
            answered=np.zeros(len(surfaces), np.int64),
        )  # fmt: skip
