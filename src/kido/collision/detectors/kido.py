"""KIDO's own detector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kido.collision.group import CollisionDetector


@dataclass(frozen=True)
class KidoCollisionDetector(CollisionDetector):
    """KIDO's own, compiled: sort and sweep, closed forms or GJK and EPA, manifolds of up to four points.

    It knows all shapes, sweeps fast ones, and casts rays with all hits.
    """

    name: ClassVar[str] = "kido"

    def narrow_phase(self) -> None:
        return None
