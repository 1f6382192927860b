"""Skins of soft bodies in the scene: meshes whose vertices move."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.skeleton import SoftBodyNode
from kido.viewer import palette
from kido.viewer.rotations import matrix_from_wxyz


def displacements_of(bodies: list[Any]) -> np.ndarray:
    """Displacements (n,3) of the points of all soft bodies among `bodies`, one after another, body axes [m]."""
    found = [body.displacements for body in bodies if isinstance(body, SoftBodyNode)]
    return np.concatenate([np.zeros((0, 3)), *found])


class SkinSet:
    """The visible skins of a model.

    Args:
        scene: of a viser server.
        bodies: all bodies, in the order of the pose arrays.
        colors: colour (r, g, b) and opacity of each skin, by body index.
        visible: whether they are shown at first.
    """

    def __init__(self, scene: Any, bodies: list[Any], colors: dict[int, Any], visible: bool = True) -> None:
        self._skins: list[tuple[int, int, np.ndarray, Any]] = []
        self._visible = visible
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
                    visible=visible,
                )
                self._skins.append((index, first, rest, handle))

    @property
    def visible(self) -> bool:
        """Whether they are shown."""
        return self._visible

    @visible.setter
    def visible(self, value: bool) -> None:
        self._visible = value
        for *_, handle in self._skins:
            handle.visible = value

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

    def remove(self) -> None:
        """Take them out of the scene."""
        for *_, handle in self._skins:
            handle.remove()


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
