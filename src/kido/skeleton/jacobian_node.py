"""Frames that ride on a body of a skeleton, and so have Jacobians."""

from __future__ import annotations

from kido.skeleton.frame import Frame


class JacobianNode(Frame):
    """A frame fixed to a body of a skeleton, or the body itself."""
