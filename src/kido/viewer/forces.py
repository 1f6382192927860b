"""Contact forces and other arrows, as batched meshes whose number may change from frame to frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.rendering import palette
from kido.rendering.geometry import geometry
from kido.rendering.rotations import wxyz_along_z
from kido.viewer.batches import Layer


class ArrowSet(Layer):
    """Arrows from points along vectors: a shaft, a head and, if wanted, a dot at the foot.

    Args:
        scene: scene of a viser server.
        prefix: scene path.
        radius: radius of the shafts [m].
        color, dot_color: RGB bytes; no dots for None.
    """

    def __init__(
        self,
        scene: Any,
        prefix: str,
        radius: float,
        *,
        color: tuple[int, int, int] = palette.FORCE_COLOR,
        dot_color: tuple[int, int, int] | None = palette.CONTACT_COLOR,
        visible: bool = True,
    ) -> None:
        self._scene = scene
        super().__init__(scene, prefix, visible)
        self.radius = float(radius)
        self._colors = {"shaft": color, "head": color}
        if dot_color is not None:
            self._colors["dot"] = dot_color
        self._handles: dict[str, Any] = {}
        self._capacity = 0
        self.count = 0

    def reserve(self, n: int) -> None:
        """Make room for n arrows at once, so that no mesh has to be made anew later."""
        if n > self._capacity:
            self._grow(n)

    def update(self, points: np.ndarray, vectors: np.ndarray) -> None:
        """Show arrows that start at ``points`` (n, 3) and span ``vectors`` (n, 3) [m]."""
        n = len(points)
        if n > self._capacity:
            self._grow(max(16, 2 * n))
        if n == 0 and self.count == 0:
            return
        self.count = n
        N = self._capacity
        length = np.linalg.norm(vectors, axis=1)
        shown = length > 1e-9
        direction = np.zeros((n, 3))
        direction[:, 2] = 1.0
        direction[shown] = vectors[shown] / length[shown, None]
        head = np.minimum(5.0 * self.radius, 0.5 * length)
        width = head / 5.0
        shaft = length - head
        wxyz = np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (N, 1))
        wxyz[:n] = wxyz_along_z(direction)
        self._put("shaft", points + direction * (0.5 * shaft)[:, None], wxyz, np.stack([width, width, shaft], 1))
        self._put(
            "head",
            points + direction * (length - 0.5 * head)[:, None],
            wxyz,
            np.stack([2.2 * width, 2.2 * width, head], 1),
        )
        if "dot" in self._handles:
            self._put("dot", points, wxyz, np.full((n, 3), 1.6 * self.radius))

    def _put(self, name: str, positions: np.ndarray, wxyz: np.ndarray, scales: np.ndarray) -> None:
        handle, n = self._handles[name], len(positions)
        p = np.zeros((self._capacity, 3), dtype=np.float32)
        s = np.zeros((self._capacity, 3), dtype=np.float32)
        p[:n], s[:n] = positions, scales
        handle.batched_positions = p
        handle.batched_wxyzs = wxyz.astype(np.float32)
        handle.batched_scales = s

    def _grow(self, capacity: int) -> None:
        self._capacity = capacity
        shapes = {"shaft": ("cylinder",), "head": ("cone",), "dot": ("sphere",)}
        for name, color in self._colors.items():
            vertices, faces = geometry(shapes[name])
            self._handles[name] = self._scene.add_batched_meshes_simple(
                f"{self.prefix}/{name}",
                vertices,
                faces,
                batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (capacity, 1)),
                batched_positions=np.zeros((capacity, 3)),
                batched_scales=np.zeros((capacity, 3)),
                batched_colors=np.tile(np.array(color, dtype=np.uint8), (capacity, 1)),
                lod="off",
                cast_shadow=False,
                receive_shadow=False,
            )


def arrow_vectors(forces: np.ndarray, scale: float, longest: float) -> np.ndarray:
    """Arrows (n, 3) [m] of forces (n, 3) [N]: ``scale`` metres per newton, at most ``longest``."""
    vectors = np.asarray(forces, dtype=float) * scale
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors * np.minimum(1.0, longest / np.maximum(length, 1e-12))
