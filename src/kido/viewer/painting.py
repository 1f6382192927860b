"""Pictures of a page's scene without a browser: what is in the scene, drawn by `kido.rendering`."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from kido.io.meshes.gltf import data_of_scene
from kido.rendering.camera import Pinhole, look_at
from kido.rendering.geometry import MeshKey, Part, geometry
from kido.rendering.rasterizer import Rasterizer
from kido.rendering.renderer import FADE
from kido.rendering.rotations import matrix_from_wxyz
from kido.rendering.things import Instance, plane_part, scene_of
from kido.shapes import Mesh
from kido.viewer.camera import CameraPose
from kido.viewer.server import ViewerError

SOLIDS = {"box": "box", "sphere": "sphere", "hemisphere": "sphere", "tube": "cylinder", "cylinder": "cylinder"}
"""Unit geometries of the scene, and what is drawn for them: balls and cylinders fill what capsules are made of."""
SOLIDS["cone"] = "cone"
AXES = ((235, 60, 60), (60, 180, 75), (70, 110, 235))
OVERSAMPLING = 3


def check_size(size: Any) -> tuple[int, int]:
    """Width and height of a picture as whole numbers from 16 to 8192."""
    try:
        width, height = (int(v) for v in size)
    except (TypeError, ValueError):
        width = height = 0
    if not (16 <= width <= 8192 and 16 <= height <= 8192):
        raise ViewerError(f"Picture size is {size!r}; expected (width, height), each from 16 to 8192 pixels.")
    return width, height


class Painter:
    """Draws the scene of a viser server.

    Args:
        server: whose scene it is.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._rasterizer = Rasterizer(OVERSAMPLING, shadows=True)
        self._shapes: dict[str, tuple[Any, str | MeshKey]] = {}  # by name: the arrays or file, and what they are
        self._solids = {kind: geometry((kind,))[0].astype(np.float32) for kind in SOLIDS}

    def picture(self, pose: CameraPose, size: tuple[int, int], up: np.ndarray, extent: float) -> np.ndarray:
        """Picture (h, w, 3) of bytes.

        Args:
            pose: where it is seen from.
            size: width and height in pixels.
            up: of the scene, world axes (3,).
            extent: size of the scene [m].
        """
        width, height = check_size(size)
        near, far = pose.planes
        lens = Pinhole(width, height, pose.fov, near, far)
        X = look_at(pose.position, pose.target, pose.up)
        canvas = _Canvas(X, lens)
        # Names are paths: what is at /a/b moves with /a, and is hidden with it.
        handles = dict(self._server.scene._handle_from_node_name)  # viser has no public list of its scene
        places: dict[str, np.ndarray | None] = {"": np.eye(4)}
        for name in sorted(handles):
            handle = handles[name]
            above = places.get(name.rpartition("/")[0], np.eye(4))
            if above is None or not handle.visible:
                places[name] = None
                continue
            places[name] = place = above @ _pose(handle.position, handle.wxyz)
            self._draw(canvas, name, handle, place)
        scene = scene_of(canvas.instances, canvas.skins, up, FADE * extent)
        points = np.concatenate([np.zeros((0, 3)), *canvas.points])
        bodies = np.zeros((1, 0, 4, 4))
        image = self._rasterizer.draw(scene, lens, X[None], bodies, points, ("color",))["color"][0]
        return _write_labels(image, canvas)

    def _draw(self, canvas: _Canvas, name: str, handle: Any, place: np.ndarray) -> None:
        """Put what a handle shows on the canvas."""
        kind = type(handle).__name__
        if kind == "BatchedMeshHandle":
            shape = self._shape(name, handle.vertices, handle.faces)
            for X, scale, rgb in _batch(handle, handle.batched_colors):
                canvas.add(shape, place @ X, scale, rgb, handle.opacity, bool(handle.cast_shadow))
        elif kind in ("BatchedGlbHandle", "GlbHandle"):
            shape = self._glb_shape(name, handle.glb_data)
            batch = _batch(handle, None) if kind == "BatchedGlbHandle" else [(np.eye(4), np.ones(3), GREY)]
            for X, scale, rgb in batch:
                canvas.add(shape, place @ X, scale * handle.scale, rgb)
        elif kind == "MeshHandle":
            if handle.flat_shading:
                canvas.add_skin(handle, place)
            else:
                shape = self._shape(name, handle.vertices, handle.faces)
                canvas.add(shape, place, np.ones(3), handle.color, handle.opacity)
        elif kind == "IcosphereHandle":
            canvas.add("sphere", place, np.full(3, handle.radius), handle.color, handle.opacity)
        elif kind == "GridHandle" and handle.plane_opacity > 0.0:
            part = plane_part(place[:3, 2], place[:3, 3], handle.cell_size)
            canvas.instances.append(Instance(-1, part, tuple(handle.plane_color)))
        elif kind == "FrameHandle" and handle.show_axes:
            canvas.add_axes(place, handle.axes_length, handle.axes_radius)
            canvas.add("sphere", place, np.full(3, handle.origin_radius), handle.origin_color)
        elif kind == "BatchedAxesHandle":
            for X, _, _ in _batch(handle, None):
                canvas.add_axes(place @ X, handle.axes_length, handle.axes_radius)
        elif kind == "TransformControlsHandle":
            canvas.add_axes(place, handle.scale, 0.01 * handle.scale)
        elif kind == "LineSegmentsHandle":
            canvas.add_lines(handle, place)
        elif kind == "PointCloudHandle":
            colors = np.broadcast_to(handle.colors, handle.points.shape)
            for point, rgb in zip(np.asarray(handle.points, dtype=float), colors, strict=True):
                canvas.add("sphere", place @ _at(point), np.full(3, 0.5 * handle.point_size), rgb, casts=False)
        elif kind == "LabelHandle" and handle.text:
            canvas.labels.append((handle.text, place[:3, 3]))

    def _shape(self, name: str, vertices: np.ndarray, faces: np.ndarray) -> str | MeshKey:
        """The solid or the mesh that arrays are; known from the picture before if they are the same objects."""
        known = self._shapes.get(name)
        if known is None or known[0] is not vertices:
            same = (k for k, v in self._solids.items() if v.shape == vertices.shape and np.array_equal(v, vertices))
            kind = next(same, None)
            self._shapes[name] = vertices, SOLIDS[kind] if kind else MeshKey(Mesh(vertices, faces))
        return self._shapes[name][1]

    def _glb_shape(self, name: str, data: bytes) -> str | MeshKey:
        """The mesh, with its colours, of a file in the scene."""
        known = self._shapes.get(name)
        if known is None or known[0] is not data:
            import trimesh

            found = data_of_scene(trimesh.load_scene(io.BytesIO(data), file_type="glb"))
            tint = found.vertex_colors if found.color is None else np.tile(found.color, (len(found.vertices), 1))
            covers = found.textures, found.texture_coordinates, found.texture_of_face
            self._shapes[name] = data, MeshKey(Mesh(found.vertices, found.faces, None, None, tint, *covers))
        return self._shapes[name][1]


GREY = (150, 156, 164)


class _Canvas:
    """What is drawn in one picture."""

    def __init__(self, X: np.ndarray, lens: Pinhole) -> None:
        self.X, self.lens = X, lens
        self.instances: list[Instance] = []
        self.skins: list[Instance] = []
        self.points: list[np.ndarray] = []
        self.labels: list[tuple[str, np.ndarray]] = []

    def add(
        self,
        shape: str | MeshKey,
        place: np.ndarray,
        scale: np.ndarray,
        color: Any,
        opacity: float | None = None,
        casts: bool = True,
    ) -> None:
        """A solid or a mesh; nothing if it has no size."""
        if not np.all(scale > 0.0):
            return
        key: tuple = (shape,)
        if not isinstance(shape, str):
            place, key = place @ np.diag([*scale, 1.0]), ("mesh", shape)
        rgb = (int(color[0]), int(color[1]), int(color[2]))
        size = tuple(float(s) for s in scale)
        self.instances.append(Instance(-1, Part(key, size, place), rgb, 1.0 if opacity is None else opacity, -1, casts))

    def add_skin(self, handle: Any, place: np.ndarray) -> None:
        """Triangles with edges that are seen."""
        mesh = Mesh(handle.vertices, handle.faces)
        opacity = 1.0 if handle.opacity is None else handle.opacity
        self.skins.append(Instance(-1, Part(("mesh", MeshKey(mesh)), (1.0, 1.0, 1.0), place), handle.color, opacity))
        self.points.append(np.asarray(mesh.vertices))

    def add_rod(self, start: np.ndarray, stop: np.ndarray, radius: float, color: Any) -> None:
        """A cylinder from one point to another."""
        length = float(np.linalg.norm(stop - start))
        if length > 0.0 and radius > 0.0:
            place = plane_part((stop - start) / length, 0.5 * (start + stop)).transform
            self.add("cylinder", place, np.array([radius, radius, length]), color, casts=False)

    def add_axes(self, place: np.ndarray, length: float, radius: float) -> None:
        """Three axes: x red, y green, z blue."""
        for k, color in enumerate(AXES):
            self.add_rod(place[:3, 3], place[:3, 3] + length * place[:3, k], radius, color)

    def add_lines(self, handle: Any, place: np.ndarray) -> None:
        """Segments, as thick as they are said to be in pixels or in metres."""
        ends = np.asarray(handle.points, dtype=float) @ place[:3, :3].T + place[:3, 3]
        colors = np.broadcast_to(handle.colors, ends.shape)[:, 0]
        depth = (ends.mean(axis=1) - self.X[:3, 3]) @ self.X[:3, 2]
        pixel = np.maximum(depth, 0.0) / self.lens.focal_length if handle.thickness_units == "screen" else 1.0
        for (a, b), radius, rgb in zip(ends, np.broadcast_to(0.5 * handle.thickness * pixel, len(ends)), colors):
            self.add_rod(a, b, float(radius), rgb)


def _at(point: Any) -> np.ndarray:
    X = np.eye(4)
    X[:3, 3] = point
    return X


def _pose(position: Any, wxyz: Any) -> np.ndarray:
    X = _at(position)
    X[:3, :3] = matrix_from_wxyz(np.asarray(wxyz, dtype=float))
    return X


def _batch(handle: Any, colors: Any) -> list[tuple[np.ndarray, np.ndarray, Any]]:
    """Pose, scale (3,) and colour of each instance of a batch."""
    n = len(handle.batched_positions)
    X = np.tile(np.eye(4), (n, 1, 1))
    X[:, :3, 3] = handle.batched_positions
    X[:, :3, :3] = matrix_from_wxyz(handle.batched_wxyzs)
    scales = np.ones((n, 3))
    if handle.batched_scales is not None:
        scales *= np.asarray(handle.batched_scales, dtype=float).reshape(n, -1)
    return list(zip(X, scales, np.broadcast_to(GREY if colors is None else colors, (n, 3)), strict=True))


def _write_labels(image: np.ndarray, canvas: _Canvas) -> np.ndarray:
    """The texts of the scene, on white, where their points are seen."""
    if not canvas.labels:
        return image
    from PIL import Image, ImageDraw

    from kido.viewer.film import font

    picture = Image.fromarray(image)
    draw = ImageDraw.Draw(picture, "RGBA")
    for text, point in canvas.labels:
        u, v = canvas.lens.project((point - canvas.X[:3, 3]) @ canvas.X[:3, :3])
        if np.isfinite(u) and 0.0 <= u < image.shape[1] and 0.0 <= v < image.shape[0]:
            box = draw.textbbox((u + 4, v + 4), text, font(13))
            draw.rounded_rectangle((box[0] - 4, box[1] - 3, box[2] + 4, box[3] + 3), 4, (255, 255, 255, 220))
            draw.text((u + 4, v + 4), text, (32, 38, 46), font(13))
    return np.asarray(picture)
