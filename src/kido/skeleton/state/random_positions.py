"""Positions of a skeleton at random, within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.math.transform import number_or_nan
from kido.skeleton.joints.actuator import followed_dofs
from kido.skeleton.joints.coordinates import CoordinateKind

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]
_PATIENCE = 1000  # draws of a rotation, after which turns of more than pi will do, and later any within the limits


def random_positions(skeleton: Skeleton, rng: Any, count: int | None, extent: float) -> Array:
    """See `Skeleton.random_positions`."""
    what = f"skeleton {skeleton.name!r}: random_positions"
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: rng: expected a numpy.random.Generator, a seed or None, got {rng!r}") from None
    size = number_or_nan(extent)
    if not 0.0 < size < np.inf:
        raise ModelError(f"{what}: extent: expected a length above 0 [m], got {extent!r}")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0):
        raise ModelError(f"{what}: count: expected a whole number not below 0 or None, got {count!r}")
    number = 1 if count is None else int(count)
    lower, upper = skeleton.position_lower_limits.copy(), skeleton.position_upper_limits.copy()
    followers = _maps(skeleton)
    for k, (leader, m, b) in followers.items():
        _narrow(skeleton, lower, upper, k, leader, m, b, what)
    try:
        q = np.empty((number, skeleton.num_dofs))
    except (ValueError, MemoryError):
        raise ModelError(f"{what}: count: {count} configurations do not fit into memory") from None
    for joint in skeleton.joints:
        first = joint.coordinates.start
        kinds = [joint.coordinate_kind(k) for k in range(joint.num_dofs)]
        for k, kind in enumerate(kinds, first):
            half = size if kind is CoordinateKind.LENGTH else np.pi
            low, high = _range(lower[k], upper[k], half)
            q[:, k] = generator.uniform(low, high, number)
        if CoordinateKind.ROTATION in kinds:
            three = slice(first, first + 3)
            q[:, three] = _rotations(generator, lower[three], upper[three], number)
    for k, (leader, m, b) in followers.items():
        q[:, k] = m * q[:, leader] + b
    return q[0] if count is None else q


def _range(low: float, high: float, half: float) -> tuple[float, float]:
    """Limits; where one is wanting 2 half from the other, where both are from -half to half."""
    if np.isfinite(low):
        return low, high if np.isfinite(high) else low + 2.0 * half
    return (high - 2.0 * half, high) if np.isfinite(high) else (-half, half)


def _maps(skeleton: Skeleton) -> dict[int, tuple[int, float, float]]:
    """Of each coordinate that mimics: whom it follows in the end, and m and b with q = m q_followed + b."""
    follows, dofs = followed_dofs(skeleton), skeleton.dofs
    found = {}
    for k in follows:
        at, m, b = k, 1.0, 0.0
        while at in follows:
            mimic = dofs[at].mimic
            assert mimic is not None
            at, m, b = follows[at], m * mimic.multiplier, m * mimic.offset + b
        found[k] = at, m, b
    return found


def _narrow(skeleton: Skeleton, lower: Array, upper: Array, k: int, leader: int, m: float, b: float, what: str) -> None:
    """Take from the limits of a coordinate what would lead coordinate k, which follows it, out of its own."""
    low, high = (lower[k], upper[k]) if m > 0.0 else (upper[k], lower[k])
    if m != 0.0:
        lower[leader], upper[leader] = max(lower[leader], (low - b) / m), min(upper[leader], (high - b) / m)
    if not lower[leader] <= upper[leader] or (m == 0.0 and not lower[k] <= b <= upper[k]):
        names = skeleton.dofs[k].name, skeleton.dofs[leader].name
        raise ModelError(f"{what}: dof {names[0]!r} follows {names[1]!r}: there are no positions of both within limits")


def _rotations(rng: np.random.Generator, lower: Array, upper: Array, number: int) -> Array:
    """Rotation vectors (number, 3) within a box, of rotations that are uniform among those it holds, by rejection.

    In rotation vectors the uniform density is (sin(n/2) / (n/2))^2, n the angle; angles are at most pi where the box
    leaves that open.
    """
    low = np.where(np.isfinite(lower), lower, np.minimum(-np.pi, upper - 2.0 * np.pi))
    high = np.where(np.isfinite(upper), upper, np.maximum(np.pi, lower + 2.0 * np.pi))
    nearest = np.clip(0.0, low, high)
    least = float(np.linalg.norm(nearest))
    if least < np.pi:
        low, high = np.maximum(low, -np.pi), np.minimum(high, np.pi)
    longest = np.pi if least < np.pi else np.inf
    best = _density(least)
    q = np.empty((number, 3))
    left, rounds = np.arange(number), 0
    while len(left):
        if rounds == _PATIENCE:  # a corner of the box
            longest = np.inf
        drawn, level = rng.uniform(low, high, (len(left), 3)), rng.uniform(size=len(left))
        n = np.linalg.norm(drawn, axis=1)
        good = (n <= longest) & (level * best <= _density(n)) | (rounds > 2 * _PATIENCE)
        q[left[good]] = drawn[good]
        left, rounds = left[~good], rounds + 1
    return q


def _density(n: Any) -> Any:
    return np.sinc(n / (2.0 * np.pi)) ** 2
