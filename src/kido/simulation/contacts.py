"""The contacts of a world's last step, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.attributes import dataclass
from kido.reprs import brief, counted

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, ShapeNode


_NO_TORQUE = np.zeros(3)


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
    torque: NDArray[np.float64] = _NO_TORQUE

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class ContactSet:
    """Contacts found at the middle of a step, with the mean forces over it.

    Attributes:
        points: (n, 3) midway between the surfaces, world axes [m].
        normals: (n, 3) unit vectors from body a to body b, world axes.
        gaps: (n,) distances of the surfaces [m]; negative: penetration.
        forces: (n, 3) forces on body b, world axes [N].
        torques: (n, 3) torques of rolling and torsional friction on body b, world axes [N m].
        body_a, body_b: the bodies of each contact.
        shape_a, shape_b: the shapes of each contact.
    """

    points: NDArray[np.float64]
    normals: NDArray[np.float64]
    gaps: NDArray[np.float64]
    forces: NDArray[np.float64]
    torques: NDArray[np.float64]
    body_a: list[BodyNode]
    body_b: list[BodyNode]
    shape_a: list[ShapeNode]
    shape_b: list[ShapeNode]

    def __len__(self) -> int:
        return len(self.gaps)

    def __repr__(self) -> str:
        if not len(self):
            return "ContactSet(no contacts)"
        pairs = len({(id(a), id(b)) for a, b in zip(self.shape_a, self.shape_b)})
        deepest, strongest = 0.0 - float(self.gaps.min()), float(np.linalg.norm(self.forces, axis=1).max())
        return (
            f"ContactSet({counted(len(self), 'contact')} of {counted(pairs, 'pair')} of shapes, "
            f"penetration at most {deepest:.3g} m, force at most {strongest:.3g} N)"
        )

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
            self.torques[k],
        )

    def _chosen(self, which: NDArray[np.int64]) -> ContactSet:
        lists = "body_a", "body_b", "shape_a", "shape_b"
        chosen: dict[str, Any] = {f: [getattr(self, f)[k] for k in which] for f in lists}
        chosen |= {f: getattr(self, f)[which] for f in ("points", "normals", "gaps", "forces", "torques")}
        return ContactSet(**chosen)

    def of(self, body: BodyNode) -> ContactSet:
        """Contacts of a body."""
        return self._chosen(
            np.flatnonzero([body is a or body is b for a, b in zip(self.body_a, self.body_b, strict=True)])
        )

    def between(self, body_a: BodyNode, body_b: BodyNode) -> NDArray[np.float64]:
        """Force of body a on body b, world axes [N]."""
        pairs = zip(self.body_a, self.body_b, strict=True)
        sign = np.array([(a is body_a and b is body_b) * 1.0 - (a is body_b and b is body_a) for a, b in pairs])
        return sign @ self.forces.reshape(-1, 3) if len(sign) else np.zeros(3)

    def wrench_on(self, body: BodyNode, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """[torque; force] on a body about a point of the world, world axes [N m, N]."""
        pairs = zip(self.body_a, self.body_b, strict=True)
        wrench = np.zeros(6)
        for k, (a, b) in enumerate(pairs):
            sign = float(b is body) - float(a is body)
            if sign != 0.0:
                wrench[:3] += sign * (np.cross(self.points[k] - point, self.forces[k]) + self.torques[k])
                wrench[3:] += sign * self.forces[k]
        return wrench

    def __iter__(self) -> Iterator[Contact]:
        return (self[k] for k in range(len(self)))
