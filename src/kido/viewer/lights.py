"""Light of the scene: a sky, a key light with shadows and a weak fill light."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.viewer.camera import basis


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
