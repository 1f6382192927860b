"""Bodies that move farther in a step than they are long: what they should hit may never be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kido.callers import warn_user

if TYPE_CHECKING:
    from kido.simulation.engine import Engine

WATCH = 255  # calls of a step between two looks (a mask): a look takes as long as a few steps of a small world
_SLOW = 1e-3  # [m, rad] in a step, of all coordinates: nothing is that small


def warn_of_outrun(engine: Engine) -> bool:
    """Warn a user if a shape moves farther in a step than its bounding box is long that way; whether that is so.

    Shapes that are swept (`BodyNode.continuous`) do not count, nor does a world in which there is nothing to hit.
    """
    h, c = engine.options.time_step, engine.detector.container
    number = len(c.shape_body)
    if number < 2 or h * float(np.abs(engine.data.u).max(initial=0.0)) < _SLOW:
        return False
    body = c.shape_body
    twist = c.body_velocity[body]
    arm = c.position[:number] - c.body_position[body]
    way = h * (twist[:, 3:] + np.cross(twist[:, :3], arm))
    far = np.linalg.norm(way, axis=1)
    boxes = c.aabb[:number]
    with np.errstate(invalid="ignore"):  # planes
        length = (np.abs(way) * (boxes[:, 3:] - boxes[:, :3] - c.margin)).sum(axis=1)
        outruns = (far * far > length) & (c.shape_continuous == 0) & (far > c.shape_inner)
    found = np.flatnonzero(outruns)
    if not len(found):
        return False
    k = int(found[np.argmax(far[found])])
    warn_user("outrun", lambda: _text(engine, k, float(far[k]), float(length[k] / far[k])), ("kido.simulation",))
    return True


def _text(engine: Engine, k: int, far: float, length: float) -> str:
    body = engine.nodes[k].body
    return (
        f"skeleton {body.skeleton.name!r}: body {body.name!r} moves {far:.3g} m in a step, farther than it is long "
        f"that way, {length:.3g} m: it may pass through what it should hit. Set its `continuous` to True, or "
        "`World.continuous_detection`, or take a shorter time step"
    )
