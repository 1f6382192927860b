"""Shapes of equal geometry as one batched mesh of the browser, and skins of soft bodies, which deform."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kido.rendering.geometry import MeshKey, extents, geometry
from kido.rendering.rotations import matrix_from_wxyz, multiply, rotate, wxyz_from_matrix
from kido.rendering.things import Instance, code_of, corners_of, node_colors
from kido.skeleton import Skin, SoftBodyNode


class Batch:
    """Instances of one geometry and opacity; one handle in the scene.

    Attributes:
        key: the geometry.
        bodies: (n,) body of each instance.
        handle: viser's.
    """

    def __init__(self, scene: Any, name: str, key: tuple, instances: list[Instance], plain: bool) -> None:
        self.key = key
        self.name = name
        n = len(instances)
        self._place(instances)
        where = {
            "batched_positions": np.zeros((n, 3)),
            "batched_wxyzs": np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),
            "batched_scales": self.scales,
            "lod": "off",
        }
        opacity = instances[0].opacity
        mesh = key[1].mesh if key[0] == "mesh" else None
        self._coloured = plain or mesh is None or (mesh.vertex_colors is None and mesh.textures is None)
        if not self._coloured:
            self.handle = scene.add_batched_meshes_trimesh(name, _drawn(key[1]), **where)
        else:
            vertices, faces = geometry(key)
            self.handle = scene.add_batched_meshes_simple(
                name,
                vertices,
                faces,
                batched_colors=_colors(instances),
                opacity=None if opacity >= 1.0 else opacity,
                side="double" if mesh is not None else "front",
                cast_shadow=opacity >= 1.0,
                # The browser's shadow maps are too coarse for the models: they would be streaked.
                receive_shadow=False,
                **where,
            )

    def _place(self, instances: list[Instance]) -> None:
        self.bodies = np.array([i.body for i in instances])
        transforms = np.stack([i.part.transform for i in instances])
        self._p_local = transforms[:, :3, 3].copy()
        self._q_local = wxyz_from_matrix(transforms[:, :3, :3])
        turned = np.any(np.abs(self._q_local[:, 0]) < 1.0 - 1e-12)
        self._centred = not turned and not np.any(self._p_local)
        self.scales = np.array([i.part.scale for i in instances], dtype=np.float32)

    def take(self, instances: list[Instance]) -> bool:
        """Draw others in their place, of the same geometry and opacity; False if they are not as many."""
        if len(instances) != len(self.bodies):
            return False
        self._place(instances)
        if not np.array_equal(self.handle.batched_scales, self.scales):
            self.handle.batched_scales = self.scales
        colors = _colors(instances)
        if self._coloured and not np.array_equal(self.handle.batched_colors, colors):
            self.handle.batched_colors = colors
        return True

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
        made: called with every batch that is made, now and later.
    """

    def __init__(
        self,
        scene: Any,
        prefix: str,
        instances: Iterable[Instance],
        *,
        visible: bool = True,
        plain: bool = False,
        made: Callable[[Batch], None] | None = None,
    ) -> None:
        super().__init__(scene, prefix, visible)
        self._scene, self._plain, self._made = scene, plain, made
        self._batches: dict[tuple, Batch] = {}
        self.draw(instances)

    @property
    def batches(self) -> list[Batch]:
        """The meshes of the scene."""
        return list(self._batches.values())

    def draw(self, instances: Iterable[Instance]) -> None:
        """Draw these instead of what is drawn; geometry that stays is not sent again."""
        groups: dict[tuple, list[Instance]] = {}
        for instance in instances:
            groups.setdefault((instance.part.key, round(instance.opacity, 3)), []).append(instance)
        for group in [g for g in self._batches if g not in groups]:
            self._batches.pop(group).handle.remove()
        for group, members in groups.items():
            batch = self._batches.get(group)
            if batch is not None and batch.take(members):
                continue
            if batch is not None:
                self._batches.pop(group).handle.remove()
            key = group[0]
            made = self._batches[group] = Batch(self._scene, self._free_name(key[0]), key, members, self._plain)
            if self._made is not None:
                self._made(made)

    def _free_name(self, kind: str) -> str:
        names = {batch.name for batch in self._batches.values()}
        candidates = itertools.chain([kind], (f"{kind}_{k}" for k in itertools.count(2)))
        return next(name for c in candidates if (name := f"{self.prefix}/{c}") not in names)

    def update(self, positions: np.ndarray, wxyz: np.ndarray) -> None:
        """Place every instance; positions (nb, 3) and wxyz (nb, 4) of all bodies."""
        for batch in self._batches.values():
            batch.update(positions, wxyz)

    def bounds(self, positions: np.ndarray, wxyz: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners (n, 3), (n, 3) of the boxes around all instances, and the body index (n,) of each."""
        batches = self.batches
        if not batches:
            return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, dtype=int)
        pairs = [batch.bounds(positions, wxyz) for batch in batches]
        bodies = np.concatenate([batch.bodies for batch in batches])
        return np.vstack([p[0] for p in pairs]), np.vstack([p[1] for p in pairs]), bodies


def _colors(instances: list[Instance]) -> np.ndarray:
    return np.array([i.color for i in instances], dtype=np.uint8)


def _drawn(key: MeshKey) -> Any:
    """A mesh with its colours or textures, for trimesh."""
    return _colored_mesh(key.mesh) if key.mesh.textures is None else _textured_scene(key)


def _colored_mesh(mesh: Any) -> Any:
    import trimesh

    from kido.rendering.geometry import split_creases

    vertices, faces, source = split_creases(np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64))
    colors = np.asarray(mesh.vertex_colors)[source]
    if np.issubdtype(colors.dtype, np.floating):
        colors = np.round(255 * np.clip(colors, 0, 1)).astype(np.uint8)
    return trimesh.Trimesh(vertices, faces, vertex_colors=colors, process=False)


def _textured_scene(key: MeshKey) -> Any:
    """A mesh for each image that covers some of its triangles, and one of the others."""
    import trimesh
    from PIL import Image
    from trimesh.visual import ColorVisuals, TextureVisuals
    from trimesh.visual.material import PBRMaterial

    mesh, made = key.mesh, trimesh.Scene()
    vertices, faces, normals, tints = corners_of(key)
    for k in np.unique(mesh.texture_of_face):
        own = mesh.texture_of_face == k
        corners = faces[own].ravel()
        if k >= 0:
            coordinates = mesh.texture_coordinates[own].reshape(-1, 2)
            material = PBRMaterial(
                baseColorTexture=Image.fromarray(mesh.textures[k]), metallicFactor=0.0, roughnessFactor=0.8
            )
            visual: Any = TextureVisuals(uv=coordinates, material=material)
        else:
            plain = np.tile((178, 178, 178), (len(corners), 1))
            seen = code_of(np.clip(tints[corners], 0.0, 1.0)) if mesh.vertex_colors is not None else plain
            visual = ColorVisuals(vertex_colors=seen)
        part = trimesh.Trimesh(
            vertices[corners], np.arange(len(corners)).reshape(-1, 3), vertex_normals=normals[corners], process=False
        )
        part.visual = visual
        made.add_geometry(part)
    return made


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


def skin_colors(bodies: list[Any]) -> dict[int, Any]:
    """Colour and opacity of the skins that are drawn, by body index."""
    return {
        i: (rgb, opacity) for i, node, rgb, opacity in node_colors(bodies) if isinstance(node, Skin) and node.visual
    }
