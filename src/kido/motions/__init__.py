"""Motions: positions over time, between frames, smoothed, blended, and on other skeletons."""

from kido.motions.motion import Derivatives, Motion

__all__ = ["Derivatives", "Motion"]
