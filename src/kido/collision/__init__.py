"""Collision: which points of which shapes touch, how deep, and in which direction.

KIDO's own detector, compiled: sort and sweep over bounding boxes, closed forms or GJK and EPA for a pair,
manifolds of up to four points that persist from step to step.
"""

from kido.collision.container import (
    COLLISION,
    CONTACTS,
    CONTACTS_FULL,
    NOT_FINITE,
    PAIRS,
    PAIRS_FULL,
)
from kido.collision.detector import Collider, NativeDetector
from kido.collision.narrow import detect
from kido.collision.single import Contacts, collide, distance

__all__ = [
    "COLLISION",
    "CONTACTS",
    "CONTACTS_FULL",
    "NOT_FINITE",
    "PAIRS",
    "PAIRS_FULL",
    "Collider",
    "Contacts",
    "NativeDetector",
    "collide",
    "detect",
    "distance",
]
