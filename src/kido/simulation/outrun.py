"""Bodies that move farther in a step than they are long: what they should hit may never be seen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kido.callers import warn_user
from kido.collision.container import COLLISION
from kido.jit import entry, view
from kido.math.so3 import cross

if TYPE_CHECKING:
    from kido.simulation.engine import Engine

WATCH = 255  # calls of a step between two looks (a mask): a look takes as long as a few steps of a small world
_SLOW = 1e-3  # [m, rad] in a step, of all coordinates: nothing is that small


@entry("Tuple((i8,f8,f8))(i8,f8)")
def farthest(collision, h):
    """Of the shapes that move farther in a step than they are long that way: the fastest, or -1; its way and length."""
    c = view(COLLISION, collision)
    found, most, length = -1, 0.0, 0.0
    V = c.body_velocity
    for k in range(c.shape_body.shape[0]):
        if c.shape_continuous[k] != 0:
            continue
        b = c.shape_body[k]
        r0, r1 = c.position[k, 0] - c.body_position[b, 0], c.position[k, 1] - c.body_position[b, 1]
        r2 = c.position[k, 2] - c.body_position[b, 2]
        x, y, z = cross(V[b, 0], V[b, 1], V[b, 2], r0, r1, r2)
        x, y, z = h * (V[b, 3] + x), h * (V[b, 4] + y), h * (V[b, 5] + z)
        square = x * x + y * y + z * z
        far = math.sqrt(square)
        if far > most and far > c.shape_inner[k]:
            margin = c.margin
            along = abs(x) * (c.aabb[k, 3] - c.aabb[k, 0] - margin)
            along += abs(y) * (c.aabb[k, 4] - c.aabb[k, 1] - margin)
            along += abs(z) * (c.aabb[k, 5] - c.aabb[k, 2] - margin)
            if square > along:  # not so of planes: infinity, or not a number
                found, most, length = k, far, along / far
    return found, most, length


def warn_of_outrun(engine: Engine) -> bool:
    """Warn a user if a shape moves farther in a step than its bounding box is long that way; whether that is so.

    Shapes that are swept (`BodyNode.continuous`) do not count, nor does a world in which there is nothing to hit.
    """
    h, c = engine.options.time_step, engine.detector.container
    if len(c.shape_body) < 2 or h * float(np.abs(engine.data.u).max(initial=0.0)) < _SLOW:
        return False
    k, far, length = farthest(c.address, h)
    if k < 0:
        return False
    warn_user("outrun", lambda: _text(engine, k, far, length), ("kido.simulation",))
    return True


def _text(engine: Engine, k: int, far: float, length: float) -> str:
    body = engine.nodes[k].body
    return (
        f"skeleton {body.skeleton.name!r}: body {body.name!r} moves {far:.3g} m in a step, farther than it is long "
        f"that way, {length:.3g} m: it may pass through what it should hit. Set its `continuous` to True, or "
        "`World.continuous_detection`, or take a shorter time step"
    )
