"""What surrounds a model: ground (its planes, or a grid below it if it has none) and light."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.viewer import palette
from kido.viewer.camera import basis
from kido.viewer.rotations import wxyz_along_z


def nice_cell(extent: float) -> float:
    """Edge of a grid cell for a model of this size [m]: 1, 2 or 5 times a power of ten, about an eighth."""
    raw = max(extent, 1e-6) / 8.0
    power = 10.0 ** np.floor(np.log10(raw))
    return float(power * min((1.0, 2.0, 5.0, 10.0), key=lambda f: abs(np.log(f * power / raw))))


def add_ground(scene: Any, name: str, point: np.ndarray, normal: np.ndarray, extent: float, center: np.ndarray) -> Any:
    """A grid with shadows in the plane through ``point`` (3,) with unit ``normal`` (3,).

    Args:
        scene: scene of a viser server.
        name: scene path.
        point: a point of the plane.
        normal: its unit normal, away from the solid side.
        extent: size of the model [m], sets the cells.
        center: the model's centre; the grid fades out around its foot point.
    """
    n = np.asarray(normal, dtype=float)
    wxyz = wxyz_along_z(n[None])[0]
    foot = center - n * float(n @ (center - point))
    cell = nice_cell(extent)
    # Grid lines stay on multiples of the cell, so that they can be read as coordinates.
    offset = foot - point
    foot = point + np.round(offset / (5 * cell)) * (5 * cell)
    foot = foot - n * float(n @ (foot - point))
    size = float(np.ceil(max(50.0 * extent, 40.0 * cell) / (10 * cell)) * 10 * cell)
    return scene.add_grid(
        name,
        width=size,
        height=size,
        plane="xy",
        cell_size=cell,
        section_size=5 * cell,
        cell_color=palette.GRID_CELL,
        section_color=palette.GRID_SECTION,
        cell_thickness=0.6,
        section_thickness=0.9,
        plane_color=palette.GROUND,
        plane_opacity=1.0,
        shadow_opacity=0.28,
        fade_distance=24.0 * extent,
        fade_strength=0.5,
        fade_from="camera",
        wxyz=wxyz,
        # A hair below, so that what lies in the plane is not cut by it.
        position=foot - n * 1e-4 * extent,
    )


def add_lights(scene: Any, up: np.ndarray) -> None:
    """Replace the browser's default lights, which overexpose matt colours, for a scene with this up axis."""
    scene.configure_default_lights(False)
    scene.configure_environment_map(None)
    B = basis(up)
    scene.add_frame("/light", show_axes=False)
    scene.add_light_hemisphere(
        "/light/sky",
        sky_color=(255, 255, 255),
        ground_color=(176, 170, 164),
        intensity=1.7,
        position=tuple(B @ np.array([0.0, 0.0, 1.0])),
    )
    key = B @ np.array([0.45, -0.35, 1.0])
    scene.add_light_directional("/light/key", intensity=2.5, cast_shadow=True, position=tuple(10.0 * key))
    fill = B @ np.array([0.3, 1.0, 0.4])
    scene.add_light_directional("/light/fill", intensity=0.3, position=tuple(10.0 * fill))
