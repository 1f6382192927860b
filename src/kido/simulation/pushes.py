"""Forces that users let act on bodies of a world for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.math.transform import as_numbers

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, Skeleton


@dataclass
class Push:
    """A force on a body that goes on for a number of steps.

    Attributes:
        body: which.
        row: force, as a row of `kido.kernels.external`.
        left: steps.
    """

    body: BodyNode
    row: np.ndarray
    left: int


class Pushing:
    """Pushes added to the bodies' external forces, until `end` puts back what was there."""

    def __init__(self, pushes: list[Push]):
        self._before: list[tuple[Skeleton, int, np.ndarray | None]] = []
        for push in pushes:
            skeleton, index = push.body.skeleton, push.body.index
            if all(s is not skeleton or i != index for s, i, _ in self._before):
                row = skeleton.current_state.applied.get(index)
                self._before.append((skeleton, index, None if row is None else row.copy()))
        for push in pushes:
            push.body.skeleton.current_state.add_external(push.body.index, push.row)

    def end(self) -> None:
        """Put back the forces from before."""
        for skeleton, index, row in self._before:
            skeleton.current_state.clear_external(index)
            if row is not None:
                skeleton.current_state.add_external(index, row)


def pushes_to(pushes: list[Push], skeletons: list[Skeleton]) -> list[dict[str, Any]]:
    """As plain data."""
    return [
        {
            "skeleton": skeletons.index(p.body.skeleton),
            "body": p.body.index,
            "row": p.row.copy(),
            "left": p.left,
        }
        for p in pushes
    ]


def pushes_from(data: list[dict[str, Any]], skeletons: list[Skeleton]) -> list[Push]:
    """From what `pushes_to` returned."""
    return [
        Push(skeletons[int(p["skeleton"])].body(int(p["body"])), as_numbers(p["row"]).copy(), int(p["left"]))
        for p in data
    ]
