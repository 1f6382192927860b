"""Which bodies of a detector collide, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kido.errors import ModelError


def body_filter_arrays(
    bodies: int, moving: Any, collidable: Any, group: Any, excluded: Iterable[tuple[int, int]]
) -> dict[str, np.ndarray]:
    """The fields of COLLISION that say which bodies collide (`NativeDetector` has the arguments).

    Raises:
        ModelError: arrays of another length, or pairs of bodies that are not there.
    """

    def per_body(name: str, value: Any, default: int) -> np.ndarray:
        if value is None:
            return np.full(bodies, default, np.int64)
        array = np.array(value, dtype=np.int64)
        if array.shape != (bodies,):
            raise ModelError(f"collision filter: {name} has shape {array.shape}; expected ({bodies},)")
        return array

    others: list[set[int]] = [set() for _ in range(bodies)]
    for a, b in excluded:
        if not (0 <= a < bodies and 0 <= b < bodies):
            raise ModelError(f"collision filter: excluded pair ({a}, {b}); expected bodies 0 to {bodies - 1}")
        others[a].add(b)
        others[b].add(a)
    lists = [sorted(o) for o in others]
    first = np.zeros(bodies + 1, np.int64)
    first[1:] = np.cumsum([len(o) for o in lists])
    return {
        "body_moving": per_body("moving", moving, 1),
        "body_collidable": per_body("collidable", collidable, 1),
        "body_group": per_body("group", group, -1),
        "excluded_first": first,
        "excluded": np.array([b for o in lists for b in o], dtype=np.int64),
    }
