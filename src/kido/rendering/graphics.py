"""Images by a graphics card: OpenGL 3.3 without a screen, by moderngl. Many images are tiles of one frame."""

from __future__ import annotations

import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from kido.errors import KidoError
from kido.libraries import library
from kido.rendering import shaders
from kido.rendering.camera import Pinhole
from kido.rendering.geometry import geometry
from kido.rendering.images import LAYERS
from kido.rendering.rasterizer import Rasterizer
from kido.rendering.shading import SUN_AWAY
from kido.rendering.structs import SKIN, TRIANGLES
from kido.rendering.things import Scene

FRAME = 1 << 20  # samples of a frame, at most, unless one image has more
BOX = geometry(("box",))
CUBE = (2.0 * BOX[0][BOX[1]]).reshape(-1, 3).astype(np.float32)  # corners of its triangles
LINEAR_OF_SRGB = 0x8C41  # GL_SRGB8: textures are read as linear light
CLIP_DISTANCE = 0x3000  # GL_CLIP_DISTANCE0
_FLOATS = 23  # of an instance
_INSTANCE = "4f 3f 4f 4f 4f 4f/i", "thing", "half_size", "color", "right", "down", "forward"
_VERTEX = "3f 3f 3f 2f", "corner", "normal", "tint", "place_on_image"


class _Card:
    """The context of this process and its programs; all that asks OpenGL runs in one thread of it."""

    def __init__(self):
        moderngl = library("moderngl", "Drawing images on a graphics card", "gpu-images")
        self.thread = ThreadPoolExecutor(1, "kido graphics")
        self.gl: Any = None
        try:
            self.thread.submit(self._open, moderngl).result()
        except Exception as error:  # of many kinds, by platform and by what is missing
            self.thread.shutdown()
            raise KidoError(
                f"No graphics card can be used without a screen ({str(error).strip() or type(error).__name__}). Images "
                "on one need OpenGL 3.3 by EGL: the driver of the card (in a container of NVIDIA's with "
                "NVIDIA_DRIVER_CAPABILITIES=all), or to draw in software: apt-get install libegl1 libgl1-mesa-dri. "
                "Renderer(..., device='cpu') needs nothing."
            ) from error

    def _open(self, moderngl: Any) -> None:
        backend = {"backend": "egl"} if sys.platform.startswith("linux") else {}
        self.gl = gl = moderngl.create_context(standalone=True, require=330, **backend)
        gl.gc_mode = "context_gc"
        gl.front_face = "cw"  # rows go down
        gl.depth_func = ">"
        gl.cull_face = "front"  # of the boxes around solids, in one of which the camera may be
        self.depth_test, self.cull_face, self.blend = moderngl.DEPTH_TEST, moderngl.CULL_FACE, moderngl.BLEND
        self.over = moderngl.DST_ALPHA, moderngl.ONE, moderngl.ZERO, moderngl.ONE_MINUS_SRC_ALPHA
        self.solids, self.meshes = gl.program(**shaders.SOLIDS), gl.program(**shaders.MESHES)
        self.merge, self.finish = gl.program(**shaders.MERGE), gl.program(**shaders.FINISH)
        self.most = gl.info["GL_MAX_TEXTURE_SIZE"]
        self.cube = gl.buffer(np.hstack([CUBE, np.zeros((36, 8), np.float32)]).tobytes())

    @property
    def name(self) -> str:
        """Of the card, or of what draws in its place."""
        return self.gl.info["GL_RENDERER"]


@cache
def _card_of(process: int) -> _Card:
    return _Card()


def card() -> _Card:
    """That of this process: a fork has none of its parent's.

    Raises:
        MissingExtraError: moderngl is not installed.
        KidoError: there is no card that can be used; says what to install.
    """
    return _card_of(os.getpid())


@dataclass
class _Group:
    """Things of one geometry.

    Attributes:
        things: their numbers.
        program: that draws them.
        array: OpenGL's, of vertices and instances.
        instances: buffer of instances.
        parts: first vertex, how many, and texture, of what is covered by each image.
        skin: buffer of vertices, and corners of faces among the points of skins; None: vertices stay.
    """

    things: np.ndarray
    program: Any
    array: Any
    instances: Any
    parts: list[tuple[int, int, Any]]
    skin: tuple[Any, np.ndarray] | None


class _Target:
    """What is drawn into: depth and numbers of shapes, and colours."""

    def __init__(self, gl: Any, size: tuple[int, int], painted: bool = True):
        self.size = size
        self.seen = gl.texture(size, 2, dtype="f4")
        self.paint = gl.texture(size, 4, dtype="f2") if painted else None
        self.frame = gl.framebuffer([t for t in (self.seen, self.paint) if t is not None], gl.depth_texture(size))
        self.frame.clear(0.0, -1.0, 0.0, 0.0, depth=0.0)  # depth 0: nothing is seen; opacity 0: the sky is


class GraphicsRasterizer(Rasterizer):
    """Draws scenes on a graphics card; takes what a `Rasterizer` takes.

    Raises:
        MissingExtraError, KidoError: as `card` has them.
    """

    def __init__(self, oversampling: int = 1, shadows: bool = False, threads: int | None = None):
        super().__init__(oversampling, shadows, threads)
        card()
        self._uploaded: tuple[Any, ...] = (0, None, [])

    def _share_out(self, scene: Scene, lens: Pinhole, n: int, given: Any, outputs: Any) -> None:
        card().thread.submit(self._draw, card(), scene, lens, n, given, outputs).result()

    def _draw(self, own: _Card, scene: Scene, lens: Pinhole, n: int, given: Any, outputs: Any) -> None:
        """Draw n images, as many at once as a frame has room for."""
        own.gl.gc()
        if self._uploaded[0] != os.getpid() or self._uploaded[1] is not scene:
            self._uploaded = os.getpid(), scene, _uploaded(own, scene)
        colored = outputs[0].shape[1] > 0
        texels = self.texels(lens) if colored and scene.arrays.casts.any() else 0
        k = self.oversampling if colored else 1
        wide, high = max(lens.width * k, texels), max(lens.height * k, texels)
        if max(wide, high) > own.most:
            raise KidoError(f"{own.name} draws {own.most} samples along an edge; the image needs {max(wide, high)}.")
        at_once = min(max(FRAME // (wide * high), 1), max(n, 1))
        columns = min(math.ceil(math.sqrt(at_once * high / wide)), own.most // wide, at_once)
        at_once = min(at_once, columns * (own.most // high))
        for first in range(0, n, at_once):
            part = slice(first, first + at_once)
            frame = _Frame(own, scene, self._uploaded[2], lens, columns, *(a[part] for a in given[:3]), *given[3:5])
            frame.draw(self.oversampling, texels, *(a[part] for a in outputs))


def _vertices(s: Any, i: int, corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Vertices (faces, 3, 11) of a thing of triangles: place, normal, tint, place on its image."""
    rows = np.zeros((*corners.shape, 11), np.float32)
    rows[..., :3], rows[..., 6] = points[corners], -1.0
    if s.kind[i] == SKIN:
        rows[..., 3:6] = np.cross(rows[:, 1, :3] - rows[:, 0, :3], rows[:, 2, :3] - rows[:, 0, :3])[:, None]
    else:
        rows[..., 3:6], rows[..., 6:9] = s.normal[corners], s.tint[corners]
        covered = s.covered[slice(*s.faces[i])]
        rows[covered >= 0, :, 9:] = s.corner[covered[covered >= 0]].reshape(-1, 3, 2)
    return rows


def _uploaded(own: _Card, scene: Scene) -> list[_Group]:
    """Geometry and textures of a scene on the card."""
    gl, s = own.gl, scene.arrays

    def group(things: np.ndarray, program: Any, vertices: Any, parts: Any, skin: Any = None) -> _Group:
        instances = gl.buffer(reserve=_FLOATS * 4, dynamic=True)
        array = gl.vertex_array(program, [(vertices, *_VERTEX), (instances, *_INSTANCE)], skip_errors=True)
        return _Group(things, program, array, instances, parts, skin)

    textures = []
    for first, width, height in s.size_of:
        packed = s.pixel[first : first + width * height].reshape(height, width)[::-1]
        pixels = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=-1).astype(np.uint8)
        size = int(width), int(height)
        textures.append(gl.texture(size, 3, pixels.tobytes(), alignment=1, internal_format=LINEAR_OF_SRGB))
        textures[-1].build_mipmaps()
    groups = [group(np.flatnonzero(s.kind < TRIANGLES), own.solids, own.cube, [(0, len(CUBE), None)])]
    meshes = s.kind >= TRIANGLES
    for start, stop in np.unique(s.faces[meshes & (s.faces[:, 0] < s.faces[:, 1])], axis=0):
        things = np.flatnonzero(meshes & (s.faces == (start, stop)).all(axis=1))
        corners = s.face[start:stop] + s.vertices[things[0], 0]
        if s.kind[things[0]] == SKIN:
            buffer = gl.buffer(reserve=4 * 33 * len(corners), dynamic=True)
            groups.append(group(things, own.meshes, buffer, [(0, corners.size, None)], (buffer, corners)))
            continue
        covered = s.covered[start:stop]
        image = np.full(len(covered), -1)
        image[covered >= 0] = s.image[covered[covered >= 0]]
        order = np.argsort(image, kind="stable")
        vertices = gl.buffer(_vertices(s, things[0], corners, s.vertex)[order].tobytes())
        ends = np.searchsorted(image[order], np.unique(image), side="right").tolist()
        parts = [
            (3 * a, 3 * (b - a), None if k < 0 else textures[k])
            for a, b, k in zip([0, *ends], ends, np.unique(image), strict=False)
        ]
        groups.append(group(things, own.meshes, vertices, parts))
    return groups


class _Frame:
    """Some images of a scene, which are drawn at once."""

    def __init__(
        self, own: _Card, scene: Scene, groups: list[_Group], lens: Pinhole, columns: int,
        X: Any, skins: Any, cameras: Any, lights: Any, sky: Any,
    ):  # fmt: skip
        s, n = scene.arrays, len(X)
        self.own, self.scene, self.groups, self.lens = own, scene, groups, lens
        self.cameras, self.lights, self.tiles = cameras, lights, (columns, -(-n // columns))
        self.sky = own.gl.texture((1, len(sky)), 3, sky.astype("f4").tobytes(), dtype="f4")
        self.empty = own.gl.texture((1, 1), 4, dtype="f4")
        self.frames = np.zeros((n, 8, 4), np.float32)
        self.frames[:, :3, :3] = lights @ cameras[:, :3, :3]
        place, self.in_world = np.zeros((len(s.kind), 4, 4)), np.zeros((n, len(s.kind), 4, 4))
        place[:, :3], place[:, 3, 3] = s.place.reshape(-1, 3, 4), 1.0
        self.in_world[:] = place
        moving = s.body >= 0
        self.in_world[:, moving] = X[:, s.body[moving]] @ place[moving]
        self.things = np.zeros((n, len(s.kind), _FLOATS), np.float32)
        self.things[..., 0] = np.arange(n)[:, None]
        self.things[..., 1], self.things[..., 2], self.things[..., 4:7], self.things[..., 7:11] = (
            s.kind, s.shape, s.size, s.color,
        )  # fmt: skip
        for group in groups:
            if group.skin is not None:  # the same in all states
                buffer, corners = group.skin
                buffer.write(_vertices(s, group.things[0], corners, skins[0]).tobytes())

    def draw(self, n: int, texels: int, color: Any, depth: Any, segmentation: Any) -> None:
        """Draw into arrays, of which some may have no rows.

        Args:
            n: samples of colour along either edge of a pixel.
            texels: of a map of shadows along either edge; 0: no shadows.
        """
        s, colored = self.scene.arrays, color.shape[1] > 0
        one = n == 1 and s.transparent == 0 and s.scenery == 0  # one look serves all
        if max(depth.shape[1], segmentation.shape[1]) > 0 and not (one and colored):
            self._keep_distances(self._things(self._target(1, False), s.shape >= 0), depth, segmentation)
        if not colored:
            return
        map_ = self._shadows(texels) if texels else None
        solid = self._things(self._target(n), s.color[:, 3] >= 1.0, map_)
        if one:
            self._keep_distances(solid, depth, segmentation)
        front = self._front(n, solid, map_) if s.transparent else None
        target = self.own.gl.texture(self._size(1), 4)
        values = {"n": n, "height": float(self.lens.height), "fronted": front is not None}
        self._fill(target, self.own.finish, painted=solid.paint, front=front or self.empty, sky=self.sky, **values)
        color[:] = self._images(target, np.uint8)[..., :3]

    def _size(self, n: int) -> tuple[int, int]:
        return self.tiles[0] * self.lens.width * n, self.tiles[1] * self.lens.height * n

    def _target(self, n: int, painted: bool = True) -> _Target:
        return _Target(self.own.gl, self._size(n), painted)

    def _keep_distances(self, target: _Target, depth: Any, segmentation: Any) -> None:
        seen = self._images(target.seen, np.float32)
        if depth.shape[1]:
            depth[:] = np.where(seen[..., 0] > 0.0, seen[..., 0], np.inf)
        if segmentation.shape[1]:
            segmentation[:] = np.rint(seen[..., 1])

    def _images(self, texture: Any, kind: Any) -> np.ndarray:
        (columns, rows), (w, h) = self.tiles, (self.lens.width, self.lens.height)
        pixels = np.frombuffer(texture.read(), kind).reshape(rows, h, columns, w, texture.components)
        return pixels.transpose(0, 2, 1, 3, 4).reshape(rows * columns, h, w, -1)[: len(self.frames)]

    def _front(self, n: int, solid: _Target, map_: Any) -> Any:
        """Colours of what is seen through, and the share of what is behind: layer by layer, the nearest first."""
        gl, s = self.own.gl, self.scene.arrays
        front = gl.texture(solid.size, 4, dtype="f4")
        gl.framebuffer([front]).clear(0.0, 0.0, 0.0, 1.0)
        before: Any = None
        for _ in range(LAYERS):
            layer = self._things(self._target(n), s.color[:, 3] < 1.0, map_, solid, before)
            self._fill(front, self.own.merge, blended=True, layer=layer.paint)
            before = layer
        return front

    def _shadows(self, texels: int) -> _Target:
        """Maps of what the key light falls on first, seen from far away, and how cameras lie before the light."""
        s, n = self.scene.arrays, len(self.cameras)
        casts = s.casts != 0
        p = (np.linalg.inv(self.cameras)[:, None] @ self.in_world[:, casts])[..., :3, 3]
        low, high = (p - s.radius[casts, None]).min(axis=1), (p + s.radius[casts, None]).max(axis=1)
        radius = np.maximum(0.5 * np.linalg.norm(high - low, axis=1), 1e-6)
        away, z = SUN_AWAY * radius, -self.lights[1]
        x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
        x /= np.linalg.norm(x)
        suns = np.tile(np.eye(4), (n, 1, 1))
        suns[:, :3, :3] = np.column_stack([x, np.cross(z, x), z])
        middle = (self.cameras @ np.append(0.5 * (low + high), np.ones((n, 1)), axis=1)[..., None])[:, :3, 0]
        suns[:, :3, 3] = middle - away[:, None] * z
        half = 0.49 * texels
        self.frames[:, 3:6] = (np.linalg.inv(suns) @ self.cameras)[:, :3]
        ranges = half * (away - radius) / radius, away - 1.1 * radius, away + 1.1 * radius, radius / half
        self.frames[:, 7] = np.stack(ranges, axis=1)
        target = _Target(self.own.gl, (self.tiles[0] * texels, self.tiles[1] * texels), False)
        return self._things(target, casts, cameras=suns)

    def _things(
        self, target: _Target, chosen: Any, map_: Any = None, solid: Any = None, before: Any = None, cameras: Any = None
    ) -> _Target:
        """Draw chosen things, those of `solid` and of the layer `before` being in front of what is drawn or behind."""
        own, gl = self.own, self.own.gl
        eye, edge = (6 if cameras is None else 7), (target.size[0] / self.tiles[0], target.size[1] / self.tiles[1])
        self.frames[:, 6, :3] = self.lens.focal_length * edge[0] / self.lens.width, self.lens.near, self.lens.far
        pose = np.linalg.inv(self.cameras if cameras is None else cameras)[:, None] @ self.in_world
        self.things[..., 11:] = pose[..., :3, :].reshape(*pose.shape[:2], 12)
        textures = {
            "frames": gl.texture((8, len(self.frames)), 4, self.frames.tobytes(), dtype="f4"),
            "map": map_.seen if map_ else self.empty,
            "sky": self.sky,
            "solid": solid.seen if solid else self.empty,
            "before": before.seen if before else self.empty,
        }
        values = {"eye": eye, "tiles": self.tiles, "edge": edge, "painted": target.paint is not None}
        values |= {"layered": solid is not None, "peeled": before is not None, "fade": self.scene.arrays.fade}
        values |= {"oversampling": edge[1] / self.lens.height, "texels": map_.size[0] / self.tiles[0] if map_ else 0.0}
        target.frame.use()
        gl.enable_only(own.depth_test | own.cull_face)
        for k in range(5):
            gl.enable_direct(CLIP_DISTANCE + k)
        for group in self.groups:
            things = group.things[chosen[group.things]]
            if len(things) == 0:
                continue
            rows = self.things[:, things].reshape(-1, _FLOATS)
            group.instances.orphan(rows.nbytes)
            group.instances.write(rows.tobytes())
            if group.program is own.meshes:
                gl.disable(own.cull_face)
            _give(group.program, 1, textures, values)
            for first, count, image in group.parts:
                _give(group.program, 0, {"image": image or self.empty}, {"textured": image is not None})
                group.array.render(vertices=count, first=first, instances=len(rows))
        for k in range(5):
            gl.disable_direct(CLIP_DISTANCE + k)
        return target

    def _fill(self, texture: Any, program: Any, blended: bool = False, **given: Any) -> None:
        """Have a program compute each sample of a texture."""
        gl = self.own.gl
        gl.framebuffer([texture]).use()
        gl.enable_only(self.own.blend if blended else 0)
        gl.blend_func = self.own.over
        textures = {name: value for name, value in given.items() if hasattr(value, "use")}
        _give(program, 0, textures, {name: value for name, value in given.items() if name not in textures})
        gl.vertex_array(program, []).render(vertices=3)


def _give(program: Any, unit: int, textures: dict[str, Any], values: dict[str, Any]) -> None:
    """Textures, from a unit on, and numbers for a program; those that it does not use are left out."""
    for k, (name, texture) in enumerate(textures.items()):
        texture.use(unit + k)
        values = {**values, name: unit + k}
    for name, value in values.items():
        if program.get(name, None) is not None:
            program[name].value = value
