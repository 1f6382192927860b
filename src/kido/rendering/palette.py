"""Colours of what has none, and of the scene itself."""

from __future__ import annotations

import numpy as np

BODY_COLORS = (
    (70, 108, 158),
    (214, 122, 52),
    (88, 142, 92),
    (184, 72, 72),
    (122, 96, 162),
    (196, 160, 56),
    (62, 148, 156),
    (176, 98, 140),
    (104, 112, 122),
    (140, 112, 82),
)
"""Muted colours, given to bodies in turn."""

SCENERY = (150, 156, 164)
COLLISION = (235, 120, 60)
FORCE_COLOR = (222, 28, 44)
CONTACT_COLOR = (250, 200, 40)
PUSH = (40, 170, 90)
DRAWABLE = (60, 90, 200)
TEXT = (32, 38, 46)
REACHED = (60, 150, 80)
MISSED = (222, 90, 44)
INACTIVE = (160, 160, 160)

# White and black models stand out from both.
GROUND = (168, 175, 185)
GRID_CELL = (149, 156, 166)
GRID_SECTION = (124, 131, 141)
SKY = ((142, 163, 190), (206, 214, 224))


def sky(height: int) -> np.ndarray:
    """Colours (height, 3) of the sky behind a picture, from top to bottom."""
    top, bottom = np.array(SKY, dtype=float)
    return top + np.linspace(0.0, 1.0, height)[:, None] * (bottom - top)


def body_color(index: int) -> tuple[int, int, int]:
    """Default colour of body number ``index``."""
    return BODY_COLORS[index % len(BODY_COLORS)]


def rgba(color: object) -> tuple[tuple[int, int, int], float]:
    """A colour of 3 or 4 numbers in 0..1 as bytes and opacity."""
    c = np.clip(np.asarray(color, dtype=float).reshape(-1), 0.0, 1.0)
    r, g, b = (round(255 * v) for v in c[:3])
    return (r, g, b), float(c[3]) if len(c) > 3 else 1.0
