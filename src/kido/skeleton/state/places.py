"""Where the bodies of a state are and how they move: places on their links."""

from __future__ import annotations

import numpy as np
from numpy import empty

from kido.kernels import current
from kido.skeleton.frames.frame import POSE, RATE, TWIST
from kido.skeleton.state.arrays import Array, StateArrays

_POSE, _SIX = (4, 4), (6,)  # shapes made once


class Places(StateArrays):
    """What a state says of single bodies, by their index."""

    def pose_of(self, index: int) -> Array:
        """World transform of a body, 4x4."""
        X = empty(_POSE)
        w = self.settled or self.settle()
        current.pose_of.call(w.tree, w.held, index, X)
        return X

    def velocity_of(self, index: int) -> Array:
        """[angular; linear] velocity of a body's origin, world axes."""
        V = empty(_SIX)
        w = self.settled or self.settle()
        current.velocity_of.call(w.tree, w.held, index, V)
        return V

    def joint_acceleration_of(self, index: int) -> Array:
        """H udot of the joint above a body, in the body's axes."""
        R = self.pose_of(index)[:3, :3]
        d, joint = self.compiled(), self.skeleton.bodies[index].parent_joint
        A = np.zeros(6)
        if joint.num_dofs > 0:
            part = joint.coordinates
            A = d.H[part].T @ d.udot[part]
        return np.concatenate([A[:3] @ R, A[3:] @ R])

    def update_frame(self, index: int, level: int, values: list[Array], stamps: list[int]) -> None:
        """What a body is to the frames on it: its pose, velocity and acceleration, and numbers that tell changes."""
        w = self.settled or self.settle()
        stamps[POSE] = self.stamp + current.pose_of.call(w.tree, w.held, index, values[POSE])
        if level > POSE:
            stamps[TWIST] = self.stamp + current.velocity_of.call(w.tree, w.held, index, values[TWIST])
        if level > TWIST:
            A = values[RATE]
            stamps[RATE] = self.stamp + current.acceleration_of.call(w.tree, w.held, index, A)
