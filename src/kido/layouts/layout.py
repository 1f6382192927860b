"""State vectors of another program, joint by joint.

How one joint's numbers look in another program.

A block converts positions both ways. Velocities are related by v' = T(q) u, with u ours; `rate` is Tdot u for
accelerations. Forces follow from equal power: u . tau = v' . tau'. R is the joint's rotation, w the angular
velocity in body axes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError, StateError
from kido.math.transform import as_numbers, numbers_or_nan
from kido.skeleton import Skeleton

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
        return scipy.spatial.transform.Rotation.from_rotvec(q).as_quat(scalar_first=self.scalar_first)

    def our_positions(self, theirs: Array) -> Array:
        return scipy.spatial.transform.Rotation.from_quat(theirs, scalar_first=self.scalar_first).as_rotvec()


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
        return np.concatenate(
            [q[3:], scipy.spatial.transform.Rotation.from_rotvec(q[:3]).as_quat(scalar_first=self.scalar_first)]
        )

    def our_positions(self, theirs: Array) -> Array:
        rotation = scipy.spatial.transform.Rotation.from_quat(theirs[3:], scalar_first=self.scalar_first)
        return np.concatenate([rotation.as_rotvec(), theirs[:3]])

    def velocity_map(self, q: Array) -> Array:
        T = np.zeros((6, 6))
        T[:3, 3:] = (
            scipy.spatial.transform.Rotation.from_rotvec(q[:3]).as_matrix() if self.linear_in_world else np.eye(3)
        )
        T[3:, :3] = np.eye(3)
        return T

    def rate(self, q: Array, u: Array) -> Array:
        result = np.zeros(6)
        if self.linear_in_world:
            result[:3] = scipy.spatial.transform.Rotation.from_rotvec(q[:3]).apply(np.cross(u[:3], u[3:]))
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
        return self.R_parent @ scipy.spatial.transform.Rotation.from_rotvec(q[:3]).as_matrix()

    def velocity_map(self, q: Array) -> Array:
        T = np.zeros((6, 6))
        T[:3, :3] = T[3:, 3:] = self._rotation(q)
        return T

    def rate(self, q: Array, u: Array) -> Array:
        return np.concatenate([np.zeros(3), self._rotation(q) @ np.cross(u[:3], u[3:])])


Array = NDArray[np.float64]


class Place(NamedTuple):
    """A block of numbers: first coordinate of ours, first position and velocity of theirs."""

    block: Block
    ours: int
    position: int
    velocity: int


def check_models(skeleton: Any, other: Any, attribute: str, expected: str) -> None:
    """Refuse what is no skeleton, or not the other program's model, which has an attribute of its own.

    Raises:
        ModelError: names what was expected.
    """
    if not isinstance(skeleton, Skeleton):
        raise ModelError(f"layout: expected a kido.Skeleton, got {skeleton!r}")
    if not hasattr(other, attribute):
        raise ModelError(f"layout of skeleton {skeleton.name!r}: expected {expected}, got {other!r}")


class StateLayout(FixedAttributes):
    """Converts states between a skeleton and a model of another program that has joints of the same names.

    Numbers of theirs that belong to no joint of the skeleton stay as in `template`. All methods take and
    return vectors (copies); none changes the skeleton.

    Attributes:
        skeleton: ours.
        places: where each joint's numbers stand.
    """

    def __init__(self, skeleton: Skeleton, places: list[Place], template: ArrayLike, num_velocities: int):
        self.skeleton = skeleton
        self.places = places
        try:
            self._template = as_numbers(template)
        except (TypeError, ValueError):
            raise StateError(f"layout: template: expected the other program's positions, got {template!r}") from None
        self._num_velocities = num_velocities

    def _vector(self, value: ArrayLike, size: int, what: str) -> Array:
        vector = numbers_or_nan(value)
        if vector.shape != (size,) or not np.isfinite(vector).all():
            raise StateError(
                f"layout of skeleton {self.skeleton.name!r}: {what}: expected {size} finite numbers, got {value!r}"
            )
        return vector

    def _ours(self, value: ArrayLike, what: str) -> Array:
        return self._vector(value, self.skeleton.num_dofs, what)

    def _theirs(self, value: ArrayLike, what: str) -> Array:
        return self._vector(value, self._num_velocities, what)

    def positions(self, q: ArrayLike) -> Array:
        """Their positions (nq,) of ours (dofs,)."""
        q = self._ours(q, "positions")
        result = self._template.copy()
        for block, k, p, _ in self.places:
            result[p : p + block.num_positions] = block.positions(q[k : k + block.num_dofs])
        return result

    def our_positions(self, theirs: ArrayLike) -> Array:
        """Our positions (dofs,) of theirs (nq,); rotation vectors have angles up to pi."""
        theirs = self._vector(theirs, self._template.size, "positions")
        result = np.zeros(self.skeleton.num_dofs)
        for block, k, p, _ in self.places:
            result[k : k + block.num_dofs] = block.our_positions(theirs[p : p + block.num_positions])
        return result

    def velocity_map(self, q: ArrayLike) -> Array:
        """T(q), (nv, dofs): their velocities = T u.

        Then a Jacobian of theirs is ours by J = J' T, a mass matrix by M = T^T M' T.
        """
        q = self._ours(q, "positions")
        T = np.zeros((self._num_velocities, self.skeleton.num_dofs))
        for block, k, _, v in self.places:
            n = block.num_dofs
            T[v : v + n, k : k + n] = block.velocity_map(q[k : k + n])
        return T

    def velocities(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Their velocities (nv,) at our positions q of our velocities u."""
        return self.velocity_map(q) @ self._ours(u, "velocities")

    def our_velocities(self, q: ArrayLike, theirs: ArrayLike) -> Array:
        """Our velocities (dofs,) at our positions q of theirs."""
        v = self._theirs(theirs, "velocities")
        return np.linalg.pinv(self.velocity_map(q)) @ v

    def _rates(self, q: ArrayLike, u: ArrayLike) -> Array:
        q, u = self._ours(q, "positions"), self._ours(u, "velocities")
        result = np.zeros(self._num_velocities)
        for block, k, _, v in self.places:
            n = block.num_dofs
            result[v : v + n] = block.rate(q[k : k + n], u[k : k + n])
        return result

    def accelerations(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> Array:
        """Their accelerations (nv,) of ours: T udot + Tdot u."""
        return self.velocity_map(q) @ self._ours(udot, "accelerations") + self._rates(q, u)

    def our_accelerations(self, q: ArrayLike, u: ArrayLike, theirs: ArrayLike) -> Array:
        """Our accelerations (dofs,) of theirs, at our positions q and velocities u."""
        a = self._theirs(theirs, "accelerations")
        return np.linalg.pinv(self.velocity_map(q)) @ (a - self._rates(q, u))

    def forces(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Their joint forces (nv,) of ours at our positions q: the power is the same."""
        return np.linalg.pinv(self.velocity_map(q)).T @ self._ours(tau, "forces")

    def our_forces(self, q: ArrayLike, theirs: ArrayLike) -> Array:
        """Our joint forces (dofs,) of theirs, T^T tau'."""
        return self.velocity_map(q).T @ self._theirs(theirs, "forces")
