"""What collision queries are asked, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.math.transform import as_flag, number_or_nan, takes
from kido.reprs import brief, counted

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CollisionOption:
    """How `collide` looks for contacts.

    Attributes:
        enable_contact: False: only whether anything touches; stops at the first pair that does.
        max_contacts: stop at this many contacts.
        margin: surfaces closer than this count as contacts [m].
        filter: function of two objects as they were given to the group (shape nodes where bodies or skeletons
            were given), called once per pair: False leaves the pair out.
    """

    enable_contact: bool = True
    max_contacts: int = 1000
    margin: float = 0.0
    filter: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        as_flag(self.enable_contact, "CollisionOption: enable_contact")
        if isinstance(self.max_contacts, bool) or not isinstance(self.max_contacts, int) or self.max_contacts < 1:
            raise ModelError(f"CollisionOption: max_contacts: expected a count from 1 on, got {self.max_contacts!r}")
        if not 0.0 <= number_or_nan(self.margin) < np.inf:
            raise ModelError(f"CollisionOption: margin: expected a number not below 0, got {self.margin!r}")
        _check_filter("CollisionOption", self.filter, 2)


@dataclass(frozen=True)
class DistanceOption:
    """How `distance` looks for the nearest pair.

    Attributes:
        upper_limit: pairs farther apart than this are not looked at [m].
        filter: function of two objects, as in `CollisionOption`.
    """

    upper_limit: float = np.inf
    filter: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        if not number_or_nan(self.upper_limit) > 0.0:
            raise ModelError(f"DistanceOption: upper_limit: expected a positive number, got {self.upper_limit!r}")
        _check_filter("DistanceOption", self.filter, 2)


@dataclass(frozen=True)
class RaycastOption:
    """How `raycast` looks along rays.

    Attributes:
        all_hits: every surface that a ray enters, and not the first one only.
        filter: function of one object of the group: False lets rays pass through it.
    """

    all_hits: bool = False
    filter: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        as_flag(self.all_hits, "RaycastOption: all_hits")
        _check_filter("RaycastOption", self.filter, 1)


def _check_filter(what: str, function: Any, number: int) -> None:
    if function is not None and not (callable(function) and takes(function, number)):
        raise ModelError(f"{what}: filter: expected a function of {number} objects, got {function!r}")


class CollisionContact(NamedTuple):
    """One contact of a query; vectors in world axes."""

    object_a: Any
    object_b: Any
    point: Array
    normal: Array
    depth: float

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class CollisionResult:
    """Contacts that a query found; true if there are any.

    Attributes:
        points: (n, 3) midway between the surfaces, world axes [m].
        normals: (n, 3) unit vectors from object a to object b, world axes.
        depths: (n,) penetration along the normal [m]; negative: a gap within the option's margin.
        objects_a, objects_b: what touches, as `CollisionGroup.objects` lists it.
        is_collision: whether anything touches; known also where no contacts were asked for.
    """

    points: Array
    normals: Array
    depths: Array
    objects_a: list[Any]
    objects_b: list[Any]
    is_collision: bool

    def __bool__(self) -> bool:
        return self.is_collision

    def __len__(self) -> int:
        return len(self.depths)

    def __repr__(self) -> str:
        if not len(self):
            return f"CollisionResult(no contacts, is_collision={self.is_collision})"
        return f"CollisionResult({counted(len(self), 'contact')}, depth at most {float(self.depths.max()):.3g} m)"

    def __getitem__(self, k: int) -> CollisionContact:
        return CollisionContact(
            self.objects_a[k], self.objects_b[k], self.points[k], self.normals[k], float(self.depths[k])
        )

    def __iter__(self) -> Iterator[CollisionContact]:
        return (self[k] for k in range(len(self)))

    @property
    def pairs(self) -> set[tuple[Any, Any]]:
        """The pairs that touch."""
        return set(zip(self.objects_a, self.objects_b, strict=True))


@dataclass(frozen=True, eq=False)
class DistanceResult:
    """The nearest pair.

    Attributes:
        distance: of the surfaces [m]; negative: minus the depth of penetration; inf if no pair was looked at.
        point_a, point_b: (3,) nearest points on the two surfaces, world axes [m]; NaN without a pair. Where they
            penetrate, moving b by the depth along from b's point to a's parts them.
        normal: (3,) unit vector from object a to object b along which the distance is measured.
        object_a, object_b: the pair; None without one.
    """

    distance: float
    point_a: Array
    point_b: Array
    normal: Array
    object_a: Any
    object_b: Any

    __repr__ = brief


class DistanceTable(NamedTuple):
    """Distances of all pairs.

    Attributes:
        distances: (n,) [m], negative where they penetrate.
        points_a, points_b: (n, 3) nearest points, world axes [m].
        pairs: the two objects of each.
    """

    distances: Array
    points_a: Array
    points_b: Array
    pairs: list[tuple[Any, Any]]

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class RaycastResult:
    """Where rays enter surfaces. A ray that starts inside a solid does not hit that solid.

    Without `all_hits` there is one row per ray, in order, with a fraction of inf, NaN for vectors and None for
    the object where it hits nothing; with it one row per hit, those of a ray by distance.

    Attributes:
        rays: (n,) number of the ray.
        fractions: (n,) of the way from the start (0) to the end (1) of the ray.
        points: (n, 3) where it hits, world axes [m].
        normals: (n, 3) outward unit normals of the surface there, world axes.
        objects: what it hits.
    """

    rays: NDArray[np.int64]
    fractions: Array
    points: Array
    normals: Array
    objects: list[Any]

    __repr__ = brief

    @property
    def hit(self) -> NDArray[np.bool_]:
        """(n,) whether the row is a hit."""
        return np.isfinite(self.fractions)

    def __bool__(self) -> bool:
        return bool(self.hit.any())

    def __len__(self) -> int:
        return len(self.fractions)
