"""Collision detectors behind one interface, one file each."""

from kido.collision.detectors.bullet import BulletCollisionDetector
from kido.collision.detectors.coal import CoalCollisionDetector
from kido.collision.detectors.fcl import FCLCollisionDetector
from kido.collision.detectors.registry import KidoCollisionDetector, as_detector, detector_from_dict, detector_to_dict
from kido.collision.group import CollisionDetector

__all__ = [
    "BulletCollisionDetector",
    "CoalCollisionDetector",
    "CollisionDetector",
    "FCLCollisionDetector",
    "KidoCollisionDetector",
    "as_detector",
    "detector_from_dict",
    "detector_to_dict",
]
