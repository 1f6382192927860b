"""End effectors: frames at the tips of skeletons, the support that they may give, and its polygon seen from above."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed, read_only_copy, settable
from kido.errors import ModelError
from kido.math.hull import convex_hull
from kido.math.transform import as_flag, as_numbers, as_transform
from kido.skeleton.aspects import Aspect
from kido.skeleton.nodes.node import FrameNode

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.skeleton import Skeleton


_DEFAULT_RELATIVE_TRANSFORM = settable("default_relative_transform")
_GEOMETRY = settable("geometry")


class EndEffector(FrameNode):
    """A frame fixed to a body: a hand's grip, a foot's sole.

    Its relative transform may be changed for a while; `reset_relative_transform` goes back to the default.

    Args:
        body: the body that carries it.
        name: unique among the skeleton's nodes.
        relative_transform: its pose in the body (4x4 or what `as_transform` takes), also its default.

    Source: DART report, section 2.6.
    """

    _property_fields: ClassVar[dict[str, str]] = {
        **FrameNode._property_fields,
        "default_relative_transform": "_default_relative",
    }

    def __init__(self, body: BodyNode, name: str, relative_transform: Any = None):
        super().__init__(body, name, relative_transform)
        self._default_relative = self._relative.copy()

    @property
    def default_relative_transform(self) -> NDArray[np.float64]:
        """The pose in the body that `reset_relative_transform` restores, 4x4 (a copy)."""
        return read_only_copy(_DEFAULT_RELATIVE_TRANSFORM, self._default_relative)

    @default_relative_transform.setter
    def default_relative_transform(self, value: Any) -> None:
        self._default_relative = as_transform(value, f"end effector {self.name!r}: default relative transform")

    def _seen_from(self, X: NDArray[np.float64]) -> None:
        super()._seen_from(X)
        self._default_relative = as_transform(X @ self._default_relative, f"end effector {self.name!r}")

    def reset_relative_transform(self) -> None:
        """Back to the default pose in the body."""
        self.relative_transform = self._default_relative

    @property
    def support(self) -> Support | None:
        """Its aspect `Support`, if it has one."""
        return self.get(Support)


class Support(Aspect):
    """Where an end effector may stand, and whether it does.

    Args:
        geometry: points (n, 3) in the end effector's axes [m].
        active: whether it bears the skeleton now.

    Raises:
        ModelError: points that are not triples of finite numbers.
    """

    @dataclass
    class State:
        """Whether it bears the skeleton now."""

        active: bool = False

    @dataclass
    class Properties:
        """Points (n, 3) in the end effector's axes [m]."""

        geometry: Any = field(default_factory=lambda: np.zeros((0, 3)))

    def __init__(self, geometry: ArrayLike = (), active: bool = False):
        super().__init__(Support.State(as_flag(active, "support: active")), Support.Properties(self._checked(geometry)))

    @staticmethod
    def _checked(geometry: ArrayLike) -> NDArray[np.float64]:
        try:
            points = as_numbers(geometry).reshape(-1, 3)
        except (TypeError, ValueError):
            raise ModelError(f"support: geometry: expected points (n, 3), got {geometry!r}") from None
        if not np.isfinite(points).all():
            raise ModelError(f"support: geometry: expected finite numbers, got {points.tolist()}")
        return points

    @property
    def active(self) -> bool:
        """Whether it bears the skeleton now."""
        return self.state.active

    @active.setter
    def active(self, value: bool) -> None:
        self.state.active = as_flag(value, "support: active")

    @property
    def geometry(self) -> NDArray[np.float64]:
        """Points (n, 3) in the end effector's axes [m] (a copy)."""
        return read_only_copy(_GEOMETRY, self.properties.geometry)

    @geometry.setter
    def geometry(self, value: ArrayLike) -> None:
        self.properties.geometry = self._checked(value)

    @property
    def points(self) -> NDArray[np.float64]:
        """The points in the world (n, 3) [m].

        Raises:
            ModelError: the aspect is on no frame.
        """
        frame = self.carrier
        if not isinstance(frame, FrameNode):
            raise ModelError(f"support: expected to be on an end effector, is on {frame!r}")
        X = frame.world_transform
        return fixed(self.properties.geometry @ X[:3, :3].T + X[:3, 3])


Array = NDArray[np.float64]


def horizontal_axes(gravity: Array) -> Array:
    """Two unit vectors (2, 3) across gravity: x and y if z is up (or there is no gravity).

    The first is x without its vertical part, or y if x is vertical; the second is up x first.
    """
    size = float(np.linalg.norm(gravity))
    up = np.array([0.0, 0.0, 1.0]) if size == 0.0 else -gravity / size
    first = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.99 else np.array([0.0, 1.0, 0.0])
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(up, first)])


def centroid(polygon: Array) -> Array:
    """Centre of area (2,) of a convex polygon; of a segment its middle, of a point itself."""
    base = polygon[0]
    a, b = polygon[1:-1] - base, polygon[2:] - base
    areas = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    if areas.sum() <= 0.0:
        return polygon.mean(axis=0)
    return base + (areas[:, None] * (a + b)).sum(axis=0) / (3.0 * areas.sum())


def support_polygon(skeleton: Skeleton) -> Array:
    """See `Skeleton.support_polygon`."""
    found = [node.get(Support) for node in skeleton.nodes(FrameNode)]
    points = [s.points for s in found if s is not None and s.active]
    return convex_hull(np.concatenate([np.zeros((0, 3)), *points]) @ skeleton.support_axes.T)
