"""Whether the axes of a chain lie as a family of closed forms wants them, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kido.ik.analytical.arm import AXES_INTERSECTING, AXES_PARALLEL, AXES_SKEW
from kido.ik.analytical.chain import Array, HingeChain, turn

_PARALLEL = 1e-3  # sine below which axes are too nearly parallel where a family wants them apart


class NoFitError(Exception):
    """Why a chain is not of a family, raised by each `fit_` that finds so; its text has the numbers."""


@dataclass
class Fit:
    """A chain as a family sees it.

    Args:
        order: joint of the chain for each of the family's.
        backward: whether the family's chain runs from the tip to the base.
        axes, points: (family, 3) as its formulas want them.
        centers: (2, 3) where three axes meet [m]: the outer point and the inner one.
        layout: how the positioning axes lie.
        locked: joint of the chain that is not the family's, or -1.
    """

    order: list[int]
    backward: bool
    axes: Array
    points: Array
    centers: Array
    layout: int = AXES_SKEW
    locked: int = -1


def _part(chain: HingeChain, order: Sequence[int], backward: bool) -> tuple[list[int], Array, Array]:
    """Axes and points of some of a chain's joints, or of the same seen from the tip.

    E1 ... En = G is En^-1 ... E1^-1 = G^-1: a chain of the same axes in the other order, pointing the other way.
    """
    picked = list(order)[::-1] if backward else list(order)
    return picked, (-1.0 if backward else 1.0) * chain.axes[picked], chain.points[picked].copy()


def _feet(axes: Array, points: Array, i: int, j: int) -> tuple[Array, Array, float, float]:
    """Feet of the common perpendicular of two axes, its length, the sine of their angle; if parallel, from point i."""
    a, b, gap = axes[i], axes[j], points[j] - points[i]
    sine = float(np.linalg.norm(np.cross(a, b)))
    if sine < 1e-9:
        foot = points[j] - a * (a @ gap)
        return points[i], foot, float(np.linalg.norm(foot - points[i])), sine
    n = np.cross(a, b) / sine
    s = (np.cross(gap, b) @ n) / sine
    t = (np.cross(gap, a) @ n) / sine
    first, second = points[i] + s * a, points[j] + t * b
    return first, second, float(np.linalg.norm(second - first)), sine


def _sine(axes: Array, i: int, j: int) -> float:
    return float(np.linalg.norm(np.cross(axes[i], axes[j])))


def _names(order: Sequence[int], *joints: int) -> str:
    numbers = [str(order[j] + 1) for j in joints]
    return f"{', '.join(numbers[:-1])} and {numbers[-1]}"


def _meeting(axes: Array, points: Array, joints: Sequence[int], order: Sequence[int], tolerance: float) -> Array:
    """The point nearest to some axes.

    Raises:
        NoFitError: one of them misses it by more than the tolerance [m]; neighbours are parallel.
    """
    for i, j in pairwise(joints):
        if _sine(axes, i, j) < _PARALLEL:
            raise NoFitError(f"axes {_names(order, i, j)} are parallel (sine {_sine(axes, i, j):.2g})")
    projectors = [np.eye(3) - np.outer(axes[i], axes[i]) for i in joints]
    center = np.linalg.solve(
        np.sum(projectors, axis=0), np.sum([P @ points[i] for P, i in zip(projectors, joints)], axis=0)
    )
    miss = max(float(np.linalg.norm(P @ (points[i] - center))) for P, i in zip(projectors, joints))
    if miss > tolerance:
        raise NoFitError(
            f"axes {_names(order, *joints)} do not meet in a point: the nearest is {miss:.3g} m from one of them"
        )
    return np.asarray(center, np.float64)


def _as_parallel(axes: Array, joints: Sequence[int], order: Sequence[int], tolerance: float) -> None:
    """Makes axes parallel to the first of them, whose directions they keep.

    Raises:
        NoFitError: the sine of an angle between them is above the tolerance.
    """
    first = joints[0]
    for j in joints[1:]:
        sine = _sine(axes, first, j)
        if sine > tolerance:
            raise NoFitError(f"axes {_names(order, first, j)} are not parallel (sine {sine:.3g})")
        axes[j] = np.copysign(1.0, axes[first] @ axes[j]) * axes[first]


def fit_spherical_wrist(
    chain: HingeChain, order: Sequence[int], backward: bool, tolerance: float, locked: int = -1
) -> Fit:
    """Axes 4, 5, 6 through one point, which the first three place anywhere."""
    order, axes, points = _part(chain, order, backward)
    size = chain.size
    center = _meeting(axes, points, (3, 4, 5), order, tolerance * size)
    first, second, gap, sine = _feet(axes, points, 0, 1)
    layout = AXES_SKEW
    if sine < tolerance:
        layout = AXES_PARALLEL
        axes[1] = np.copysign(1.0, axes[0] @ axes[1]) * axes[0]
        if gap < tolerance * size:
            raise NoFitError(f"axes {_names(order, 0, 1)} are one line (distance {gap:.2g} m)")
    elif gap < tolerance * size:
        layout = AXES_INTERSECTING
        first = second = 0.5 * (first + second)
    points[0], points[1] = first, second
    fit = Fit(list(order), backward, axes, points, np.stack([center, np.zeros(3)]), layout, locked)
    mobility = _mobility(axes, points, center) / size**3
    if mobility < 1e-6:
        raise NoFitError(
            f"axes {_names(order, 0, 1, 2)} do not place the point where the others meet: the volume that small turns "
            f"span is at most {mobility:.2g} of the arm's size cubed"
        )
    return fit


def _mobility(axes: Array, points: Array, center: Array) -> float:
    """Largest |det| of the position Jacobian of a point behind three hinges, over some poses [m^3]."""
    best = 0.0
    for q1, q2, q3 in np.random.default_rng(0).uniform(-3.0, 3.0, (12, 3)):
        del q1
        third, second = turn(axes[2], points[2], q3), turn(axes[1], points[1], q2)
        x = third[:3, :3] @ center + third[:3, 3]
        y = second[:3, :3] @ x + second[:3, 3]
        columns = [
            np.cross(axes[0], y - points[0]),
            np.cross(axes[1], y - points[1]),
            second[:3, :3] @ np.cross(axes[2], x - points[2]),
        ]
        best = max(best, abs(float(np.linalg.det(np.stack(columns)))))
    return best


def fit_parallel_axes(
    chain: HingeChain, order: Sequence[int], backward: bool, tolerance: float, locked: int = -1
) -> Fit:
    """Axes 2, 3, 4 parallel, axes 5 and 6 meeting."""
    order, axes, points = _part(chain, order, backward)
    _as_parallel(axes, (1, 2, 3), order, tolerance)
    center = _meeting(axes, points, (4, 5), order, tolerance * chain.size)
    for i, j in ((0, 1), (3, 4)):
        if _sine(axes, i, j) < _PARALLEL:
            raise NoFitError(f"axes {_names(order, i, j)} are parallel (sine {_sine(axes, i, j):.2g})")
    for i in (1, 2):
        _distinct(axes, points, i, order, tolerance * chain.size)
    return Fit(list(order), backward, axes, points, np.stack([center, np.zeros(3)]), locked=locked)


def _distinct(axes: Array, points: Array, i: int, order: Sequence[int], tolerance: float) -> None:
    gap = points[i + 1] - points[i]
    gap = float(np.linalg.norm(gap - axes[i] * (axes[i] @ gap)))
    if gap < tolerance:
        raise NoFitError(f"axes {_names(order, i, i + 1)} are one line (distance {gap:.2g} m)")


def fit_swivel(chain: HingeChain, tolerance: float) -> Fit:
    """Seven axes: the first three through one point, the last three through another, the fourth through neither."""
    order, axes, points = _part(chain, range(7), False)
    inner = _meeting(axes, points, (0, 1, 2), order, tolerance * chain.size)
    outer = _meeting(axes, points, (4, 5, 6), order, tolerance * chain.size)
    for what, center in (("first three", inner), ("last three", outer)):
        arm = np.cross(axes[3], points[3] - center)
        if np.linalg.norm(arm) < tolerance * chain.size:
            raise NoFitError(f"axis 4 goes through the point where the {what} meet ({np.linalg.norm(arm):.2g} m)")
    # The point of axis 4 that is the elbow: nearest to the middle between shoulder and wrist.
    points[3] += axes[3] * (axes[3] @ (0.5 * (inner + outer) - points[3]))
    return Fit(order, False, axes, points, np.stack([outer, inner]))


def fit_planar(chain: HingeChain, tolerance: float) -> Fit:
    """Three parallel axes."""
    order, axes, points = _part(chain, range(3), False)
    _as_parallel(axes, (0, 1, 2), order, tolerance)
    for i in range(2):
        _distinct(axes, points, i, order, tolerance * chain.size)
    return Fit(order, False, axes, points, np.stack([points[2], np.zeros(3)]))
