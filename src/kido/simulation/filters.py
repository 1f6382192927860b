"""Which bodies of a world may collide, as the detector's arrays over links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, Skeleton
    from kido.skeleton.compiler import Links


def adjacent_links(skeleton: Skeleton, links: Links) -> Iterable[tuple[BodyNode, BodyNode]]:
    """Topmost bodies of the pairs of links that a joint connects.

    A link without collision shapes is looked through: chains of such links stand for one joint of several
    degrees of freedom, as URDF files have them.
    """
    solid = {int(links.of_body[b.index]) for b in skeleton.bodies if any(node.collision for node in b.shapes)}
    for body in links.top:
        parent = body.parent
        while parent is not None:
            link = int(links.of_body[parent.index])
            yield links.top[link], body
            parent = None if link in solid else links.top[link].parent


def filter_arrays(
    links: Mapping[Skeleton, Links],
    index: Callable[[BodyNode], int],
    moves: np.ndarray,
    excluded: Iterable[tuple[BodyNode, BodyNode]],
    lifted: Collection[frozenset[BodyNode]] = (),
) -> dict[str, Any]:
    """Arguments `moving`, `group`, `excluded` of the detector.

    Args:
        links: of each skeleton, in the forest's order.
        index: number of a body's link in the forest.
        moves: per link, whether a world moves it.
        excluded: pairs of bodies that a user excluded.
        lifted: pairs of bodies that collide though adjacent.
    """
    group = [np.full(len(k.top), -1 if s.self_collision else n) for n, (s, k) in enumerate(links.items())]
    free = {frozenset(map(index, pair)) for pair in lifted if all(b.skeleton in links for b in pair)}
    pairs = [
        (index(a), index(b))
        for s, k in links.items()
        if s.self_collision and not s.adjacent_body_collision
        for a, b in adjacent_links(s, k)
        if not free or frozenset((index(a), index(b))) not in free
    ]
    pairs += [(index(a), index(b)) for a, b in excluded if a.skeleton in links and b.skeleton in links]
    return {
        "moving": moves,
        "group": np.concatenate([np.zeros(0), *group]).astype(np.int64),
        "excluded": [(a, b) for a, b in pairs if a != b],
    }


def is_tested(filters: dict[str, Any], a: int, b: int) -> bool:
    """Whether `filter_arrays` lets two links collide."""
    if a == b or not (filters["moving"][a] or filters["moving"][b]):
        return False
    if filters["group"][a] >= 0 and filters["group"][a] == filters["group"][b]:
        return False
    return (a, b) not in filters["excluded"] and (b, a) not in filters["excluded"]
