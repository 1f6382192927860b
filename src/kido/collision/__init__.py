"""Collision: which points of which shapes touch, how deep, and in which direction.

KIDO's own detector, compiled: sort and sweep over bounding boxes, closed forms or GJK and EPA for a pair,
manifolds of up to four points that persist from step to step. Other libraries stand behind the same interface.
"""

from kido.collision.colliders import Collider
from kido.collision.container import COLLISION, CONTACTS_FULL, PAIRS_FULL, POSE_NOT_FINITE
from kido.collision.detector import NativeDetector
from kido.collision.detectors import (
    BulletCollisionDetector,
    CoalCollisionDetector,
    CollisionDetector,
    FCLCollisionDetector,
    KidoCollisionDetector,
)
from kido.collision.external import NarrowPhase, Points
from kido.collision.group import CollisionGroup, Placed
from kido.collision.narrow import detect
from kido.collision.options import (
    CollisionContact,
    CollisionOption,
    CollisionResult,
    DistanceOption,
    DistanceResult,
    DistanceTable,
    RaycastOption,
    RaycastResult,
)
from kido.collision.scene import Contacts, collide, distance

__all__ = [
    "COLLISION",
    "CONTACTS_FULL",
    "PAIRS_FULL",
    "POSE_NOT_FINITE",
    "BulletCollisionDetector",
    "CoalCollisionDetector",
    "Collider",
    "CollisionContact",
    "CollisionDetector",
    "CollisionGroup",
    "CollisionOption",
    "CollisionResult",
    "Contacts",
    "DistanceOption",
    "DistanceResult",
    "DistanceTable",
    "FCLCollisionDetector",
    "KidoCollisionDetector",
    "NarrowPhase",
    "NativeDetector",
    "Placed",
    "Points",
    "RaycastOption",
    "RaycastResult",
    "collide",
    "detect",
    "distance",
]
