"""Motions: positions over time, between frames, smoothed, blended, and on other skeletons; places of markers."""

from kido.motions.markers import MarkerMotion
from kido.motions.motion import Derivatives, Motion

__all__ = ["Derivatives", "MarkerMotion", "Motion"]
