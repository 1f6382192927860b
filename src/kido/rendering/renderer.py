"""Images of a model: of its present state, or of as many states as one likes by one call."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes, dataclass
from kido.batch import Batch
from kido.errors import NameLookupError, StateError
from kido.jit import JIT_DISABLED
from kido.jit.team import available_cores
from kido.rendering import palette
from kido.rendering.camera import Camera, CameraNode, Pinhole, anchor_of
from kido.rendering.images import draw_images
from kido.rendering.model import Model, basis, bodies_of, drawn_version, skeletons_of, up_axis
from kido.rendering.structs import RASTER
from kido.rendering.things import code_table, extent_of, instances_of, linear, scene_of, skin_points
from kido.reprs import brief

KINDS = ("color", "depth", "segmentation")
SAMPLES = 1 << 16  # of a band of rows, at least
SHADOW_TEXELS = (256, 2048)  # along the edge of the map of shadows: twice those of the image, within these
FADE = 24.0  # distance at which the ground fades into the horizon, by the size of the model
CODE = code_table()


@dataclass(frozen=True)
class Images:
    """What a camera saw. With several states all have one more axis, the first.

    Attributes:
        color: (height, width, 3) bytes of red, green and blue (sRGB); None if not asked for, as the others.
        depth: (height, width) float32, distance along the optical axis [m]; infinite where nothing is.
        segmentation: (height, width) int32, numbers of shapes in `Renderer.shapes`; -1 where nothing is.
    """

    color: NDArray[np.uint8] | None = field(default=None, repr=False)
    depth: NDArray[np.float32] | None = field(default=None, repr=False)
    segmentation: NDArray[np.int32] | None = field(default=None, repr=False)

    __repr__ = brief


class Renderer(FixedAttributes):
    """Draws a model from any camera, on the processor: no screen, no graphics card, nothing to install.

    Spheres, capsules, boxes, cylinders, cones, ellipsoids and planes are drawn from their equations, exactly; meshes
    and height maps by their triangles; soft skins as they are deformed. Shapes with `visual` are drawn, or those that
    collide where none has. Follows what is added to the model, removed or changed. Colour has shapes seen through as
    their opacity says; depth and segmentation have them as solid. Planes are seen from their outer side only, and
    solids from outside.

    Args:
        model: a World or a Skeleton.
        oversampling: samples of colour along either edge of a pixel, 1 to 8: smooth edges from 2 on.
        shadows: whether the key light throws shadows, in the colours.
        threads: how many draw; None: one for each core.

    Raises:
        KidoError: no model; StateError: numbers out of range.

    Example:
        >>> from kido.rendering import Camera, Pinhole, Renderer, look_at
        >>> camera = Camera(Pinhole(64, 64), look_at((2, -1, 1), (0, 0, 0)))
        >>> images = Renderer(world).render(camera)
        >>> images.color.shape, images.depth.shape
        ((64, 64, 3), (64, 64))
    """

    def __init__(self, model: Model, *, oversampling: int = 1, shadows: bool = False, threads: int | None = None):
        self._model = model
        skeletons_of(model)
        self._oversampling = _whole(oversampling, "oversampling", 8)
        self._shadows = bool(shadows)
        self._threads = 1 if JIT_DISABLED else _whole(available_cores() if threads is None else threads, "threads", 64)
        self._version: Any = None
        self._batches: dict[int, Batch] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._follow()

    def __getstate__(self) -> dict[str, Any]:
        return {"_model": self._model, "_options": (self._oversampling, self._shadows, self._threads)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        oversampling, shadows, threads = state["_options"]
        self.__init__(state["_model"], oversampling=oversampling, shadows=shadows, threads=threads)

    def __repr__(self) -> str:
        return f"Renderer({len(self.shapes)} shapes)"

    @property
    def shapes(self) -> tuple[Any, ...]:
        """The shape nodes by their numbers in segmentation images."""
        self._follow()
        return tuple(self._nodes)

    @property
    def body_of_shape(self) -> NDArray[np.int64]:
        """Number of each shape's body, in the order of the skeletons and their bodies: segmentation by bodies is
        ``np.where(s < 0, -1, renderer.body_of_shape[s])``."""
        self._follow()
        number = {id(body): k for k, body in enumerate(self._bodies)}
        return np.array([number[id(node.body)] for node in self._nodes], dtype=np.int64)

    def _follow(self) -> None:
        version = drawn_version(self._model)
        if version == self._version:
            return
        self._bodies = bodies_of(self._model)
        solids, skins, self._nodes = instances_of(self._bodies)
        self._up = up_axis(self._model)
        self._scene, self._points = scene_of(solids, skins, self._up, FADE * extent_of(self._bodies))
        self._version, self._works, self._batches = version, {}, {}

    def render(
        self,
        camera: Camera | CameraNode,
        *,
        positions: ArrayLike | None = None,
        transforms: ArrayLike | None = None,
        kinds: tuple[str, ...] = KINDS,
    ) -> Images:
        """Images of the present state, or of many states that are not set.

        Args:
            camera: a camera, which moves with its body in every state.
            positions: (states, n) positions: of the skeleton, or of all skeletons of the world one after another.
            transforms: instead, (states, bodies, 4, 4) world transforms of all bodies, skeleton by skeleton.
            kinds: what is drawn, of "color", "depth" and "segmentation".

        Raises:
            StateError: no camera, positions or transforms that do not fit, both of them, numbers that are not finite.
            NameLookupError: there is no such kind of image.
        """
        if not isinstance(camera, Camera | CameraNode):
            raise StateError(f"Images need a kido.rendering.Camera or CameraNode, got {camera!r}.")
        if positions is not None and transforms is not None:
            raise StateError("Images are of positions or of transforms; both were given.")
        self._follow()
        X = self._transforms_of(positions, transforms)
        body, relative = anchor_of(camera)
        if body is None:
            cameras = np.repeat(relative[None], len(X), axis=0)
        else:
            index = next((k for k, own in enumerate(self._bodies) if own is body), None)
            if index is None:
                raise StateError(f"Camera {camera.name!r} is on body {body.name!r}, which is not in the model.")
            cameras = X[:, index] @ relative
        single = positions is None and transforms is None
        return self._draw(camera.lens, cameras, X, tuple(kinds), single)

    def _transforms_of(self, positions: Any, transforms: Any) -> NDArray[np.float64]:
        skeletons, count = skeletons_of(self._model), len(self._bodies)
        if transforms is not None:
            X = np.ascontiguousarray(transforms, dtype=float)
            if X.ndim != 4 or X.shape[1:] != (count, 4, 4):
                raise StateError(f"Transforms have shape {X.shape}; expected (states, {count}, 4, 4).")
            if not np.isfinite(X).all():
                raise StateError(f"Transforms of state {int(np.argwhere(~np.isfinite(X))[0][0])} are not finite.")
            return X
        if positions is None:
            X = [np.asarray(s.world_transforms, dtype=float) for s in skeletons]
            return np.concatenate([np.zeros((0, 4, 4)), *X])[None]
        n = [s.num_dofs for s in skeletons]
        q = np.asarray(positions, dtype=float)
        if q.ndim != 2 or q.shape[1] != sum(n):
            raise StateError(f"Positions have shape {q.shape}; expected (states, {sum(n)}).")
        if not np.isfinite(q).all():
            raise StateError(f"Positions of state {int(np.argwhere(~np.isfinite(q))[0][0])} are not finite.")
        parts = []
        for k, (s, own) in enumerate(zip(skeletons, np.split(q, np.cumsum(n)[:-1], axis=1), strict=True)):
            if s.num_dofs == 0 or len(q) == 0:
                parts.append(np.repeat(np.asarray(s.world_transforms)[None], len(q), axis=0))
                continue
            batch = self._batches.setdefault(k, Batch(s, threads=self._threads))
            parts.append(batch.forward_kinematics(np.ascontiguousarray(own)))
        return np.concatenate([np.zeros((len(q), 0, 4, 4)), *parts], axis=1)

    def _draw(self, lens: Pinhole, cameras: np.ndarray, X: np.ndarray, kinds: tuple[str, ...], single: bool) -> Images:
        for kind in kinds:
            if kind not in KINDS:
                raise NameLookupError("kind of image", kind, KINDS)
        n, w, h = len(X), lens.width, lens.height
        rows = {kind: h if kind in kinds else 0 for kind in KINDS}
        color = np.empty((n, rows["color"], w, 3), np.uint8)
        depth = np.empty((n, rows["depth"], w), np.float32)
        segmentation = np.empty((n, rows["segmentation"], w), np.int32)
        points = skin_points(self._bodies, self._nodes)
        skin = np.repeat(points[None], n, axis=0)
        sky = linear(palette.sky(h))
        B = basis(self._up)
        lights = np.ascontiguousarray((B @ LIGHTS.T).T)
        fixed_arguments = (X, skin, np.ascontiguousarray(cameras), lights, sky, CODE)
        outputs = (color, depth, segmentation)
        parts = max(1, min(self._threads, n if n > 1 else h * w // 4096))
        works = [self._work(lens, k).address for k in range(parts)]

        def draw(k: int) -> None:
            if n > 1:
                span = (n * k // parts, n * (k + 1) // parts, 0, h)
            else:
                span = (0, n, h * k // parts, h * (k + 1) // parts)
            draw_images(self._scene.address, works[k], *fixed_arguments, *span, *outputs)

        if parts > 1:
            if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
                self._pool, self._process = ThreadPoolExecutor(self._threads - 1), os.getpid()
                draw_images(self._scene.address, works[0], *fixed_arguments, 0, 0, 0, 0, *outputs)  # compiled by one
            others = [self._pool.submit(draw, k) for k in range(1, parts)]
            draw(0)
            for other in others:
                other.result()
        else:
            draw(0)
        found: dict[str, Any] = {kind: array[0] if single else array for kind, array in zip(KINDS, outputs)}
        return Images(**{kind: array for kind, array in found.items() if kind in kinds})

    def _work(self, lens: Pinhole, thread: int) -> RASTER:
        """Work space of a thread."""
        key = (thread, lens.width, lens.height)
        if key not in self._works:
            n = self._oversampling
            least, most = SHADOW_TEXELS
            texels = min(max(2 * max(lens.width, lens.height), least), most) if self._shadows else 0
            samples = max(SAMPLES, lens.width * n * n, texels)
            self._works[key] = RASTER(
                things=len(self._scene.kind), points=self._points, all_samples=samples, all_texels=texels * texels
            )
            self._works[key].texels = texels
        r = self._works[key]
        r.width, r.height, r.oversampling = lens.width, lens.height, self._oversampling
        r.focal, r.near, r.far = lens.focal_length, lens.near, lens.far
        return r


LIGHTS = np.array([[0.0, 0.0, 1.0], [0.45, -0.35, 1.0], [0.3, 1.0, 0.4]])
LIGHTS /= np.linalg.norm(LIGHTS, axis=1, keepdims=True)
"""Up, towards the key light and towards the fill light: front, left, up."""


def _whole(value: Any, name: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
        raise StateError(f"Renderer {name} is {value!r}; expected a whole number from 1 to {most}.")
    return int(value)
