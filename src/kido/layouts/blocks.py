"""How one joint's numbers look in another program.

A block converts positions both ways. Velocities are related by v' = T(q) u, with u ours; `rate` is Tdot u for
accelerations. Forces follow from equal power: u . tau = v' . tau'. R is the joint's rotation, w the angular
velocity in body axes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


class Block(ABC):
    """One joint's coordinates: `num_positions` numbers of theirs for `num_dofs` of ours."""

    num_positions: int
    num_dofs: int

    @abstractmethod
    def positions(self, q: Array) -> Array:
        """Theirs from ours."""

    @abstractmethod
    def our_positions(self, theirs: Array) -> Array:
        """Ours from theirs."""

    def velocity_map(self, q: Array) -> Array:
        """T(q)."""
        return np.eye(self.num_dofs)

    def rate(self, q: Array, u: Array) -> Array:
        """Tdot u."""
        return np.zeros(self.num_dofs)


class Same(Block):
    """The same numbers."""

    def __init__(self, size: int):
        self.num_positions = self.num_dofs = size

    def positions(self, q: Array) -> Array:
        return q

    def our_positions(self, theirs: Array) -> Array:
        return theirs


class CosineSine(Block):
    """An angle as its cosine and sine."""

    num_positions, num_dofs = 2, 1

    def positions(self, q: Array) -> Array:
        return np.array([np.cos(q[0]), np.sin(q[0])])

    def our_positions(self, theirs: Array) -> Array:
        return np.array([np.arctan2(theirs[1], theirs[0])])


class Quaternion(Block):
    """A rotation vector as a unit quaternion; angular velocities are in body axes in all programs."""

    num_positions, num_dofs = 4, 3

    def __init__(self, scalar_first: bool):
        self.scalar_first = scalar_first

    def positions(self, q: Array) -> Array:
        return Rotation.from_rotvec(q).as_quat(scalar_first=self.scalar_first)

    def our_positions(self, theirs: Array) -> Array:
        return Rotation.from_quat(theirs, scalar_first=self.scalar_first).as_rotvec()


class PlanarCosineSine(Block):
    """(x, y, angle) as (x, y, cos, sin), with the linear velocity in body axes."""

    num_positions, num_dofs = 4, 3

    def positions(self, q: Array) -> Array:
        return np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])])

    def our_positions(self, theirs: Array) -> Array:
        return np.array([theirs[0], theirs[1], np.arctan2(theirs[3], theirs[2])])

    def velocity_map(self, q: Array) -> Array:
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])

    def rate(self, q: Array, u: Array) -> Array:
        c, s = np.cos(q[2]), np.sin(q[2])
        return u[2] * np.array([-s * u[0] + c * u[1], -c * u[0] - s * u[1], 0.0])


class FreeQuaternion(Block):
    """[rotation vector; translation] as [translation; quaternion].

    Velocities are [linear; angular], the angular one in body axes, the linear one in body axes or, if
    `linear_in_world`, in the axes of the parent.
    """

    num_positions, num_dofs = 7, 6

    def __init__(self, scalar_first: bool, linear_in_world: bool):
        self.scalar_first, self.linear_in_world = scalar_first, linear_in_world

    def positions(self, q: Array) -> Array:
        return np.concatenate([q[3:], Rotation.from_rotvec(q[:3]).as_quat(scalar_first=self.scalar_first)])

    def our_positions(self, theirs: Array) -> Array:
        rotation = Rotation.from_quat(theirs[3:], scalar_first=self.scalar_first)
        return np.concatenate([rotation.as_rotvec(), theirs[:3]])

    def velocity_map(self, q: Array) -> Array:
        T = np.zeros((6, 6))
        T[:3, 3:] = Rotation.from_rotvec(q[:3]).as_matrix() if self.linear_in_world else np.eye(3)
        T[3:, :3] = np.eye(3)
        return T

    def rate(self, q: Array, u: Array) -> Array:
        result = np.zeros(6)
        if self.linear_in_world:
            result[:3] = Rotation.from_rotvec(q[:3]).apply(np.cross(u[:3], u[3:]))
        return result


class FreeParentAxes(Block):
    """The same positions; velocities [angular; linear] of the body's origin in the axes of the parent body.

    Args:
        R_parent: rotation of the joint's frame in the parent body.
    """

    num_positions, num_dofs = 6, 6

    def __init__(self, R_parent: Array):
        self.R_parent = R_parent

    def positions(self, q: Array) -> Array:
        return q

    def our_positions(self, theirs: Array) -> Array:
        return theirs

    def _rotation(self, q: Array) -> Array:
        return self.R_parent @ Rotation.from_rotvec(q[:3]).as_matrix()

    def velocity_map(self, q: Array) -> Array:
        T = np.zeros((6, 6))
        T[:3, :3] = T[3:, 3:] = self._rotation(q)
        return T

    def rate(self, q: Array, u: Array) -> Array:
        return np.concatenate([np.zeros(3), self._rotation(q) @ np.cross(u[:3], u[3:])])
