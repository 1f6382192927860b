"""Which bodies of a world may collide, as the detector's arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.joints import JointKind

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, Skeleton


def rigid_groups(skeleton: Skeleton) -> list[int]:
    """For each body, the index of the topmost body it is welded to."""
    top: list[int] = []
    for body in skeleton.bodies:
        welded = body.parent is not None and body.parent_joint.kind == JointKind.WELD
        top.append(top[body.parent.index] if welded and body.parent is not None else body.index)
    return top


def own_pairs(skeleton: Skeleton) -> Iterable[tuple[BodyNode, BodyNode]]:
    """Pairs within a self-colliding skeleton that do not collide: welded ones, and adjacent ones by default."""
    top = rigid_groups(skeleton)
    bodies = skeleton.bodies
    links = {(top[b.parent.index], top[b.index]) for b in bodies if b.parent is not None}
    for a in bodies:
        for b in bodies[a.index + 1 :]:
            same = top[a.index] == top[b.index]
            adjacent = (top[a.index], top[b.index]) in links or (top[b.index], top[a.index]) in links
            if same or (adjacent and not skeleton.adjacent_body_collision):
                yield a, b


def filter_arrays(
    skeletons: Sequence[Skeleton],
    first_body: dict[Skeleton, int],
    moves: np.ndarray,
    excluded: Iterable[tuple[BodyNode, BodyNode]],
) -> dict[str, Any]:
    """Arguments `moving`, `collidable`, `group`, `excluded` of the detector, in the forest's numbering."""

    def index(body: BodyNode) -> int:
        return first_body[body.skeleton] + body.index

    group = np.concatenate(
        [np.full(s.num_bodies, -1 if s.self_collision else k) for k, s in enumerate(skeletons)]
        or [np.zeros(0, np.int64)]
    )
    pairs = [(index(a), index(b)) for s in skeletons if s.self_collision for a, b in own_pairs(s)]
    pairs += [(index(a), index(b)) for a, b in excluded if a.skeleton in first_body and b.skeleton in first_body]
    return {
        "moving": moves,
        "collidable": np.array([int(b.collidable) for s in skeletons for b in s.bodies], np.int64),
        "group": group.astype(np.int64),
        "excluded": pairs,
    }
