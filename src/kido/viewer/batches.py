"""Shapes of equal geometry as one batched mesh of the browser, and skins of soft bodies, which deform."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.skeleton import SoftBodyNode
from kido.viewer import palette
from kido.viewer.geometry import Part, extents, geometry
from kido.viewer.rotations import matrix_from_wxyz, multiply, rotate, wxyz_from_matrix


@dataclass(frozen=True)
class Instance:
    """A part drawn with a body: ``body`` indexes the pose arrays, ``color`` is RGB bytes."""

    body: int
    part: Part
    color: tuple[int, int, int]
    opacity: float = 1.0


class _Batch:
    """Instances of one geometry and opacity; one handle in the scene."""

    def __init__(self, scene: Any, name: str, key: tuple, instances: list[Instance], style: dict) -> None:
        self.bodies = np.array([i.body for i in instances])
        transforms = np.stack([i.part.transform for i in instances])
        self._p_local = transforms[:, :3, 3].copy()
        self._q_local = wxyz_from_matrix(transforms[:, :3, :3])
        turned = np.any(np.abs(self._q_local[:, 0]) < 1.0 - 1e-12)
        self._centred = not turned and not np.any(self._p_local)
        self.scales = np.array([i.part.scale for i in instances], dtype=np.float32)
        self.key = key
        n = len(instances)
        where = {
            "batched_positions": np.zeros((n, 3)),
            "batched_wxyzs": np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),
            "batched_scales": self.scales,
            "lod": "off",
        }
        opacity = instances[0].opacity
        mesh = key[1].mesh if key[0] == "mesh" else None
        if mesh is not None and mesh.vertex_colors is not None and not style.get("plain"):
            self.handle = scene.add_batched_meshes_trimesh(name, _colored_mesh(mesh), **where)
        else:
            vertices, faces = geometry(key)
            self.handle = scene.add_batched_meshes_simple(
                name,
                vertices,
                faces,
                batched_colors=np.array([i.color for i in instances], dtype=np.uint8),
                opacity=None if opacity >= 1.0 else opacity,
                side="double" if mesh is not None else "front",
                cast_shadow=opacity >= 1.0,
                # The browser's shadow maps are too coarse for the models: they would be streaked.
                receive_shadow=False,
                **where,
            )

    def update(self, positions: np.ndarray, wxyz: np.ndarray) -> None:
        """Place every instance; positions (nb, 3), wxyz (nb, 4) of all bodies."""
        q = wxyz[self.bodies]
        if self._centred:
            self.handle.batched_positions = positions[self.bodies].astype(np.float32)
            self.handle.batched_wxyzs = q.astype(np.float32)
            return
        self.handle.batched_positions = (positions[self.bodies] + rotate(q, self._p_local)).astype(np.float32)
        self.handle.batched_wxyzs = multiply(q, self._q_local).astype(np.float32)

    def bounds(self, positions: np.ndarray, wxyz: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corners (n, 3) of the boxes around the instances, in world axes."""
        q = wxyz[self.bodies]
        low, high = extents(self.key)
        lower, upper = low * self.scales, high * self.scales
        pick = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T[None].astype(bool)
        corners = np.where(pick, upper[:, None], lower[:, None])
        corners = rotate(self._q_local[:, None], corners) + self._p_local[:, None]
        corners = rotate(q[:, None], corners) + positions[self.bodies][:, None]
        return corners.min(axis=1), corners.max(axis=1)


class Layer:
    """What is shown, hidden and removed together: all that hangs below one frame of the scene.

    Args:
        scene: scene of a viser server.
        prefix: scene path of the frame.
        visible: whether it is shown at first.
    """

    def __init__(self, scene: Any, prefix: str, visible: bool = True) -> None:
        self.prefix = prefix
        self.root = scene.add_frame(prefix, show_axes=False, visible=visible)

    @property
    def visible(self) -> bool:
        """Whether the browser shows it."""
        return self.root.visible

    @visible.setter
    def visible(self, value: bool) -> None:
        self.root.visible = bool(value)

    def remove(self) -> None:
        """Take it out of the scene."""
        self.root.remove()


class BatchSet(Layer):
    """All instances of one kind (visual or collision shapes) as a handful of batched meshes.

    Args:
        scene: scene of a viser server.
        prefix: scene path of the meshes, such as ``"/model"``.
        instances: what to draw.
        visible: whether it is shown at first.
        plain: ignore vertex colours of meshes.
    """

    def __init__(
        self,
        scene: Any,
        prefix: str,
        instances: Iterable[Instance],
        *,
        visible: bool = True,
        plain: bool = False,
    ) -> None:
        groups: dict[tuple, list[Instance]] = {}
        for instance in instances:
            groups.setdefault((instance.part.key, round(instance.opacity, 3)), []).append(instance)
        super().__init__(scene, prefix, visible)
        counts: dict[str, int] = {}
        self.batches: list[_Batch] = []
        for (key, _), members in groups.items():
            kind = key[0]
            counts[kind] = counts.get(kind, 0) + 1
            suffix = f"{kind}" if counts[kind] == 1 else f"{kind}_{counts[kind]}"
            self.batches.append(_Batch(scene, f"{prefix}/{suffix}", key, members, {"plain": plain}))

    def update(self, positions: np.ndarray, wxyz: np.ndarray) -> None:
        """Place every instance; positions (nb, 3) and wxyz (nb, 4) of all bodies."""
        for batch in self.batches:
            batch.update(positions, wxyz)

    def bounds(self, positions: np.ndarray, wxyz: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners (n, 3), (n, 3) of the boxes around all instances, and the body index (n,) of each."""
        if not self.batches:
            return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, dtype=int)
        pairs = [batch.bounds(positions, wxyz) for batch in self.batches]
        bodies = np.concatenate([batch.bodies for batch in self.batches])
        return np.vstack([p[0] for p in pairs]), np.vstack([p[1] for p in pairs]), bodies


def _colored_mesh(mesh: Any) -> Any:
    import trimesh

    from kido.viewer.geometry import split_creases

    vertices, faces, source = split_creases(np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64))
    colors = np.asarray(mesh.vertex_colors)[source]
    if np.issubdtype(colors.dtype, np.floating):
        colors = np.round(255 * np.clip(colors, 0, 1)).astype(np.uint8)
    return trimesh.Trimesh(vertices, faces, vertex_colors=colors, process=False)


def displacements_of(bodies: list[Any]) -> np.ndarray:
    """Displacements (n,3) of the points of all soft bodies among `bodies`, one after another, body axes [m]."""
    found = [body.displacements for body in bodies if isinstance(body, SoftBodyNode)]
    return np.concatenate([np.zeros((0, 3)), *found])


class SkinSet(Layer):
    """The visible skins of a model.

    Args:
        scene: of a viser server.
        bodies: all bodies, in the order of the pose arrays.
        colors: colour (r, g, b) and opacity of each skin, by body index.
        visible: whether they are shown at first.
    """

    def __init__(self, scene: Any, bodies: list[Any], colors: dict[int, Any], visible: bool = True) -> None:
        super().__init__(scene, "/skins", visible)
        self._skins: list[tuple[int, int, np.ndarray, Any]] = []
        self.points = 0
        for index, body in enumerate(bodies):
            if not isinstance(body, SoftBodyNode):
                continue
            first, self.points = self.points, self.points + body.num_points
            if index in colors:
                rgb, opacity = colors[index]
                rest = body.rest_positions
                handle = scene.add_mesh_simple(
                    f"/skins/{len(self._skins)}",
                    rest.astype(np.float32),
                    np.asarray(body.skin.mesh.faces),
                    color=rgb,
                    flat_shading=True,
                    side="double",
                    opacity=None if opacity >= 1.0 else opacity,
                )
                self._skins.append((index, first, rest, handle))

    def update(self, positions: np.ndarray, wxyz: np.ndarray, displacements: np.ndarray) -> None:
        """Move the skins to poses of the bodies, (nb,3) and (nb,4), with displacements of all points (n,3)."""
        for index, first, rest, handle in self._skins:
            own = displacements[first : first + len(rest)]
            if len(own) != len(rest) or not np.isfinite(own).all():
                own = np.zeros_like(rest)
            handle.vertices = (rest + own).astype(np.float32)
            handle.position, handle.wxyz = positions[index], wxyz[index]

    def bounds(self, positions: np.ndarray, wxyz: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners (n,3), (n,3) of the boxes around the skins at rest, and the body of each."""
        places = [rest @ matrix_from_wxyz(wxyz[index]).T + positions[index] for index, _, rest, _ in self._skins]
        lower = np.array([p.min(axis=0) for p in places]).reshape(-1, 3)
        upper = np.array([p.max(axis=0) for p in places]).reshape(-1, 3)
        return lower, upper, np.array([index for index, *_ in self._skins], dtype=int)


def skin_colors(bodies: list[Any], mobile: Any) -> dict[int, Any]:
    """Colour and opacity of the skins that are drawn, by body index."""
    colors, count = {}, 0
    for index, body in enumerate(bodies):
        color = palette.body_color(count) if mobile(body.skeleton) else palette.SCENERY
        count += bool(mobile(body.skeleton) and body.shapes)
        if isinstance(body, SoftBodyNode) and body.skin.visual:
            given = body.skin.color if body.skin.color is not None else getattr(body.skin.shape, "color", None)
            colors[index] = palette.rgba(given) if given is not None else (color, 1.0)
    return colors
