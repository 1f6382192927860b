"""What velocities of inverse differential kinematics must not do: leave half spaces, let bodies collide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import KidoError, ModelError
from kido.ik.tasks import Task
from kido.math.transform import as_numbers, number_or_nan
from kido.reprs import brief
from kido.skeleton import Skeleton

if TYPE_CHECKING:
    from kido.collision.group import CollisionGroup

Array = NDArray[np.float64]


class InfeasibleError(KidoError):
    """No velocity satisfies all constraints and limits.

    Attributes: `conflict`, names of those that cannot hold together.
    """

    def __init__(self, message: str, conflict: Iterable[str]) -> None:
        self.conflict = list(conflict)
        self.message = message
        super().__init__(message + "".join(f"\n  {name}" for name in self.conflict))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.message, self.conflict))


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """A point stays in half spaces: normals . x <= offsets, x (3,) what a task measures.

    Args:
        task: `Task.com` or `Task.position`; x is the point's place in the task's target frame.
        normals: (k, 3), made unit vectors.
        offsets: (k,) [m].

    Raises:
        ModelError: another kind of task, or normals and offsets that do not fit.
    """

    task: Task
    normals: Any
    offsets: Any

    __repr__ = brief

    def __post_init__(self) -> None:
        if not isinstance(self.task, Task) or not self.task.kind.measures_point:
            raise ModelError(f"half spaces: task: expected Task.com or Task.position, got {self.task!r}")
        try:
            normals, offsets = as_numbers(self.normals).reshape(-1, 3), as_numbers(self.offsets)
            offsets = np.array(np.broadcast_to(offsets, (len(normals),)))
        except (TypeError, ValueError):
            raise ModelError("half spaces: expected normals (k, 3) and offsets (k,)") from None
        size = np.linalg.norm(normals, axis=1)
        if not (np.isfinite(normals).all() and np.isfinite(offsets).all() and (size > 0.0).all()):
            raise ModelError("half spaces: expected finite normals and offsets, and no normal that is zero")
        object.__setattr__(self, "normals", normals / size[:, None])
        object.__setattr__(self, "offsets", offsets)

    @staticmethod
    def support(skeleton: Skeleton, margin: float = 0.0, polygon: ArrayLike | None = None) -> HalfSpaces:
        """The centre of mass stays over a support polygon.

        Args:
            skeleton: what is balanced.
            margin: distance that it keeps from the edges [m].
            polygon: (n, 2) corners along the skeleton's `support_axes` [m], counterclockwise; None: its
                `support_polygon()` as it is now. It stays the same when feet are moved: make another then.

        Raises:
            ModelError: a polygon of less than three corners.
        """
        axes = skeleton.support_axes
        corners = skeleton.support_polygon() if polygon is None else as_numbers(polygon).reshape(-1, 2)
        if len(corners) < 3:
            raise ModelError(f"half spaces of {skeleton.name!r}: expected three corners or more, got {len(corners)}")
        edges = np.roll(corners, -1, axis=0) - corners
        normals = np.column_stack([edges[:, 1], -edges[:, 0]])
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        offsets = (normals * corners).sum(axis=1) - number_or_nan(margin)
        return HalfSpaces(Task.com(), normals @ axes, offsets)


@dataclass(frozen=True, eq=False)
class CollisionAvoidance:
    """Shapes that keep a distance from each other.

    Within the distance of influence, a pair comes nearer by at most a share of what is left in each step:
    d' >= -share (d - distance) / dt. Pairs that are too near already part, as fast as that says, but no faster than the
    recovery speed.

    Args:
        first, second: what `CollisionDetector.create_group` takes: skeletons, bodies, shape nodes, placed shapes.
            Without a second group, all pairs of the first. Pairs of one body, of two that a joint connects, and of
            what the active coordinates do not move are left out.
        distance: that is kept [m].
        influence: distance from which on a pair is looked at [m].
        share: see above, 0 to 1.

    Raises:
        ModelError: distances or a share that are none.

    Source: Faverjon and Tournassoud (1987).
    """

    first: Any
    second: Any = ()
    distance: float = 0.01
    influence: float = 0.1
    share: float = 0.5

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            items = getattr(self, name)
            object.__setattr__(self, name, list(items) if isinstance(items, list | tuple) else [items])
        least, most, share = (number_or_nan(v) for v in (self.distance, self.influence, self.share))
        if not 0.0 <= least < most < np.inf:
            raise ModelError(f"collision avoidance: expected 0 <= distance < influence, got {least} and {most}")
        if not 0.0 < share <= 1.0:
            raise ModelError(f"collision avoidance: share: expected a number above 0, up to 1, got {self.share!r}")

    def groups(self) -> tuple[CollisionGroup, CollisionGroup | None]:
        """Both groups; None for the second if pairs of the first are meant."""
        from kido.collision import KidoCollisionDetector

        detector = KidoCollisionDetector()
        return (
            detector.create_group(*self.first),
            detector.create_group(*self.second) if self.second else None,
        )
