"""Frames: what has a pose and a motion."""

from __future__ import annotations


class Frame:
    """Something with a pose, a velocity and an acceleration, relative to any other such thing."""
