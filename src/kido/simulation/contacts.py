"""The contacts of a world's last step, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, ShapeNode


class Contact(NamedTuple):
    """One contact point; vectors are in world axes."""

    body_a: BodyNode
    body_b: BodyNode
    shape_a: ShapeNode
    shape_b: ShapeNode
    point: NDArray[np.float64]
    normal: NDArray[np.float64]
    gap: float
    force: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ContactSet:
    """Contacts found at the middle of a step, with the mean forces over it.

    Attributes:
        points: (n, 3) midway between the surfaces, world axes [m].
        normals: (n, 3) unit vectors from body a to body b, world axes.
        gaps: (n,) distances of the surfaces [m]; negative: penetration.
        forces: (n, 3) forces on body b, world axes [N].
        body_a, body_b: the bodies of each contact.
        shape_a, shape_b: the shapes of each contact.
    """

    points: NDArray[np.float64]
    normals: NDArray[np.float64]
    gaps: NDArray[np.float64]
    forces: NDArray[np.float64]
    body_a: list[BodyNode]
    body_b: list[BodyNode]
    shape_a: list[ShapeNode]
    shape_b: list[ShapeNode]

    def __len__(self) -> int:
        return len(self.gaps)

    def __getitem__(self, k: int) -> Contact:
        return Contact(
            self.body_a[k],
            self.body_b[k],
            self.shape_a[k],
            self.shape_b[k],
            self.points[k],
            self.normals[k],
            float(self.gaps[k]),
            self.forces[k],
        )

    def __iter__(self) -> Iterator[Contact]:
        return (self[k] for k in range(len(self)))
