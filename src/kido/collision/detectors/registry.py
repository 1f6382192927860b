"""KIDO's own detector; all detectors by name, and as plain data."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

from kido.attributes import dataclass
from kido.collision.detectors.bullet import BulletCollisionDetector
from kido.collision.detectors.coal import CoalCollisionDetector
from kido.collision.detectors.fcl import FCLCollisionDetector
from kido.collision.group import CollisionDetector
from kido.errors import ModelError, NameLookupError


@dataclass(frozen=True)
class KidoCollisionDetector(CollisionDetector):
    """KIDO's own, compiled: sort and sweep, closed forms or GJK and EPA, manifolds of up to four points.

    It knows all shapes, sweeps fast ones, and casts rays with all hits.
    """

    name: ClassVar[str] = "kido"

    def narrow_phase(self) -> None:
        return None


BUILT_IN_DETECTORS: dict[str, type[CollisionDetector]] = {
    kind.name: kind
    for kind in (KidoCollisionDetector, FCLCollisionDetector, CoalCollisionDetector, BulletCollisionDetector)
}


@dataclass(frozen=True)
class UnavailableDetector(CollisionDetector):
    """Stands for a user's detector that is known by name only."""

    original: str
    name: ClassVar[str] = "unavailable"

    def narrow_phase(self) -> Any:
        raise ModelError(
            f"collision detector {self.original!r} is not part of kido; set `world.collision_detector` to that one, "
            f"or to one of {', '.join(BUILT_IN_DETECTORS)}"
        )


def as_detector(value: Any) -> CollisionDetector:
    """A detector from one, or from the name of one of KIDO's: "kido", "fcl", "coal", "bullet".

    Raises:
        ModelError, NameLookupError: it is neither.
        MissingExtraError: its library is not installed.
    """
    if isinstance(value, str):
        if value not in BUILT_IN_DETECTORS:
            raise NameLookupError("collision detector", value, list(BUILT_IN_DETECTORS))
        value = BUILT_IN_DETECTORS[value]()
    if not isinstance(value, CollisionDetector):
        raise ModelError(
            f"collision detector: expected one, or one of the names {', '.join(BUILT_IN_DETECTORS)}, got {value!r}"
        )
    if not isinstance(value, UnavailableDetector):
        value.narrow_phase()
    return value


def detector_to_dict(detector: CollisionDetector) -> dict[str, Any]:
    """Name and, of KIDO's own, parameters."""
    if type(detector) is BUILT_IN_DETECTORS.get(detector.name):
        own: Any = detector
        return {"name": detector.name, "parameters": {f.name: getattr(own, f.name) for f in fields(own)}, "own": True}
    return {"name": getattr(detector, "original", type(detector).__name__), "parameters": {}, "own": False}


def detector_from_dict(data: dict[str, Any]) -> CollisionDetector:
    """A detector equal to the one that `detector_to_dict` was given; one that only says so for a user's."""
    if not data["own"] or data["name"] not in BUILT_IN_DETECTORS:
        return UnavailableDetector(str(data["name"]))
    return BUILT_IN_DETECTORS[data["name"]](**data["parameters"])
