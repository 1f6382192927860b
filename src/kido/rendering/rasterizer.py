"""Threads that draw scenes, and the work spaces that they draw in."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from kido.errors import NameLookupError, StateError
from kido.jit import JIT_DISABLED
from kido.jit.team import available_cores
from kido.rendering import palette
from kido.rendering.camera import Pinhole
from kido.rendering.images import draw_images
from kido.rendering.model import basis
from kido.rendering.structs import RASTER
from kido.rendering.things import Scene, code_table, linear

KINDS = ("color", "depth", "segmentation")
SAMPLES = 1 << 16  # of a band of rows, at least
SHADOW_TEXELS = (256, 2048)  # along the edge of the map of shadows: twice those of the image, within these
CODE = code_table()
LIGHTS = np.array([[0.0, 0.0, 1.0], [0.45, -0.35, 1.0], [0.3, 1.0, 0.4]])
LIGHTS /= np.linalg.norm(LIGHTS, axis=1, keepdims=True)
"""Up, towards the key light and towards the fill light: front, left, up."""


class Rasterizer:
    """Draws scenes.

    Args:
        oversampling: samples of colour along either edge of a pixel, 1 to 8.
        shadows: whether the key light throws shadows.
        threads: how many draw; None: one for each core.

    Raises:
        StateError: numbers out of range.
    """

    def __init__(self, oversampling: int = 1, shadows: bool = False, threads: int | None = None):
        self.oversampling = _whole(oversampling, "oversampling", 8)
        self.shadows = bool(shadows)
        self.threads = 1 if JIT_DISABLED else _whole(available_cores() if threads is None else threads, "threads", 64)
        self._works: dict[tuple[int, int, int], RASTER] = {}
        self._room = (-1, -1)
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()  # threads that ask one rasterizer wait for each other

    @property
    def options(self) -> dict[str, Any]:
        """What it was made with."""
        return {"oversampling": self.oversampling, "shadows": self.shadows, "threads": self.threads}

    def texels(self, lens: Pinhole) -> int:
        """Along the edge of the map of shadows; 0: there are none."""
        least, most = SHADOW_TEXELS
        return min(max(2 * max(lens.width, lens.height), least), most) if self.shadows else 0

    def draw(
        self,
        scene: Scene,
        lens: Pinhole,
        cameras: np.ndarray,
        X: np.ndarray,
        skin: np.ndarray,
        kinds: tuple[str, ...] = KINDS,
    ) -> dict[str, np.ndarray]:
        """Images by kind, the first axis those of the states.

        Args:
            cameras: (states, 4, 4) world poses, with OpenCV's axes.
            X: (states, bodies, 4, 4) world transforms.
            skin: (n, 3) points of all soft skins in their bodies' axes [m], the same in all states.

        Raises:
            NameLookupError: there is no such kind of image.
        """
        for kind in kinds:
            if kind not in KINDS:
                raise NameLookupError("kind of image", kind, KINDS)
        n, w, h = len(X), lens.width, lens.height
        rows = {kind: h if kind in kinds else 0 for kind in KINDS}
        color = np.empty((n, rows["color"], w, 3), np.uint8)
        depth = np.empty((n, rows["depth"], w), np.float32)
        segmentation = np.empty((n, rows["segmentation"], w), np.int32)
        outputs = (color, depth, segmentation)
        lights = np.ascontiguousarray((basis(scene.up) @ LIGHTS.T).T)
        skins = np.repeat(skin[None], n, axis=0)
        given = (X, skins, np.ascontiguousarray(cameras), lights, linear(palette.sky(h)), CODE)
        with self._lock:
            self._share_out(scene, lens, n, given, outputs)
        return {kind: array for kind, array in zip(KINDS, outputs) if kind in kinds}

    def _share_out(self, scene: Scene, lens: Pinhole, n: int, given: Any, outputs: Any) -> None:
        """Have threads draw n images, or the rows of one."""
        rows = lens.height
        parts = max(1, min(self.threads, n if n > 1 else rows * lens.width // 4096))
        works = [self._work(scene, lens, k).address for k in range(parts)]
        call: Any = partial(draw_images, scene.arrays.address)

        def part(k: int) -> None:
            if n > 1:
                span = (n * k // parts, n * (k + 1) // parts, 0, rows)
            else:
                span = (0, n, rows * k // parts, rows * (k + 1) // parts)
            call(works[k], *given, *span, *outputs)

        if parts == 1:
            part(0)
            return
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool, self._process = ThreadPoolExecutor(self.threads - 1), os.getpid()
            call(works[0], *given, 0, 0, 0, 0, *outputs)  # compiled by one
        others = [self._pool.submit(part, k) for k in range(1, parts)]
        part(0)
        for other in others:
            other.result()

    def _work(self, scene: Scene, lens: Pinhole, thread: int) -> RASTER:
        """Work space of a thread."""
        things = len(scene.arrays.kind)
        if (things, scene.points) != self._room:
            self._room, self._works = (things, scene.points), {}
        key = (thread, lens.width, lens.height)
        if key not in self._works:
            n = self.oversampling
            texels = self.texels(lens)
            samples = max(SAMPLES, lens.width * n * n, texels)
            self._works[key] = RASTER(
                things=things, points=scene.points, all_samples=samples, all_texels=texels * texels
            )
            self._works[key].texels = texels
        r = self._works[key]
        r.width, r.height, r.oversampling = lens.width, lens.height, self.oversampling
        r.focal, r.near, r.far = lens.focal_length, lens.near, lens.far
        return r


def _whole(value: Any, name: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
        raise StateError(f"Renderer {name} is {value!r}; expected a whole number from 1 to {most}.")
    return int(value)
