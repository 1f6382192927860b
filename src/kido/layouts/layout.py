"""State vectors of another program, joint by joint."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError, StateError
from kido.layouts.blocks import Block
from kido.math.transform import as_numbers
from kido.skeleton import Skeleton

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


class StateLayout:
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
        try:
            vector = as_numbers(value)
        except (TypeError, ValueError):
            vector = np.full(0, np.nan)
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
