"""Frames: what has a pose and a motion, and may have a Jacobian."""
