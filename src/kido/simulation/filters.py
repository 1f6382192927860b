"""Which bodies of a world may collide, as the detector's arrays over links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, Skeleton
    from kido.skeleton.compiler import Links


def adjacent_links(skeleton: Skeleton, links: Links) -> Iterable[tuple[BodyNode, BodyNode]]:
    """Topmost bodies of the pairs of links that a joint connects."""
    for body in links.top:
        if body.parent is not None:
            yield links.top[links.of_body[body.parent.index]], body


def filter_arrays(
    links: Mapping[Skeleton, Links],
    index: Callable[[BodyNode], int],
    moves: np.ndarray,
    excluded: Iterable[tuple[BodyNode, BodyNode]],
) -> dict[str, Any]:
    """Arguments `moving`, `group`, `excluded` of the detector.

    Args:
        links: of each skeleton, in the forest's order.
        index: number of a body's link in the forest.
        moves: per link, whether a world moves it.
        excluded: pairs of bodies that a user excluded.
    """
    group = [np.full(len(k.top), -1 if s.self_collision else n) for n, (s, k) in enumerate(links.items())]
    pairs = [
        (index(a), index(b))
        for s, k in links.items()
        if s.self_collision and not s.adjacent_body_collision
        for a, b in adjacent_links(s, k)
    ]
    pairs += [(index(a), index(b)) for a, b in excluded if a.skeleton in links and b.skeleton in links]
    return {
        "moving": moves,
        "group": np.concatenate([np.zeros(0), *group]).astype(np.int64),
        "excluded": [(a, b) for a, b in pairs if a != b],
    }
