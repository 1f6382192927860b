"""Smooth curves through spaces with rotations: cubic B-splines whose rotations are products of turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline
from scipy.spatial.transform import Rotation

from kido.attributes import FixedAttributes
from kido.planning.space import Space

Array = NDArray[np.float64]
CUBIC = 3


def clamped_knots(points: int) -> Array:
    """Knots of a cubic B-spline over 0 to 1 that begins at the first of so many control points and ends at the last."""
    return np.concatenate([np.zeros(CUBIC), np.linspace(0.0, 1.0, points - CUBIC + 1), np.ones(CUBIC)])


class SpaceSpline(FixedAttributes):
    """A cubic B-spline q(s) in a space with rotations, s from 0 to 1, with continuous second derivatives.

    Of control rotations R_0, R_1, ... with the ways w_i = log(R_{i-1}^T R_i) between them, and B_j the basis of the
    other coordinates, it is

        R(s) = R_0 exp(b_1(s) w_1) exp(b_2(s) w_2) ...,   b_i = sum_{j >= i} B_j.

    Derivatives are those of motion, as skeletons have them: of rotations the angular velocity in body axes and its
    rate, of the places of free joints the velocity in body axes. So a time law's velocities are the skeleton's.

    Args:
        space: of the coordinates.
        control: states (n, planned dofs) near which it goes, at least four.

    Attributes:
        t: knots.

    Source: Kim, Kim and Shin, "A general construction scheme for unit quaternion curves with simple high order
    derivatives", SIGGRAPH 1995.
    """

    def __init__(self, space: Space, control: Array):
        n = len(control)
        self.t, self._space, self._control = clamped_knots(n), space, control
        self._ways = space.ways(control[:-1], control[1:])
        self._lines = BSpline(self.t, space.unrolled(control), CUBIC)
        self._sums = BSpline(self.t, np.tri(n, n - 1, -1), CUBIC)  # b_i

    def __call__(self, x: ArrayLike, nu: int = 0) -> Array:
        """States at s (..., planned dofs), or their derivatives of order 1 to 3."""
        s = np.atleast_1d(np.asarray(x, float))
        flat = s.ravel()
        lines = [np.asarray(self._lines(flat, k)) for k in range(nu + 1)]
        out = lines[nu].copy()
        for at, place in zip(self._space.rotations, self._space.places, strict=True):
            R, turns = self._rotations(flat, at, nu)
            out[:, at] = R.as_rotvec() if nu == 0 else turns[nu - 1]
            if place is not None and nu > 0:
                out[:, place] = _in_body([R.inv().apply(line[:, place]) for line in lines[1:]], turns)
        return out.reshape(*np.shape(x), out.shape[1])

    def _rotations(self, s: Array, at: slice, order: int) -> tuple[Rotation, list[Array]]:
        """R, and angular velocity and its derivatives in body axes, up to an order."""
        last = np.clip(np.searchsorted(self.t, s, side="right") - 1, CUBIC, len(self._control) - 1)
        sums = [np.asarray(self._sums(s, k)) for k in range(order + 1)]
        R = Rotation.from_rotvec(self._control[last - CUBIC, at])
        w = a = z = np.zeros((len(s), 3))
        rows = np.arange(len(s))
        for k in range(CUBIC):  # turns that have begun and are not over
            which = last - CUBIC + k
            x, x1, x2, x3 = [b[rows, which, None] * self._ways[which, at] for b in sums] + [0.0] * (CUBIC - order)
            turn = Rotation.from_rotvec(x)
            w, a, z = (turn.inv().apply(y) for y in (w, a, z))
            if order > 2:
                z = z + np.cross(a, x1) + np.cross(a + np.cross(w, x1), x1) + np.cross(w, x2) + x3
            if order > 1:
                a = a + np.cross(w, x1) + x2
            if order > 0:
                w = w + x1
            R = R * turn
        return R, [w, a, z]


def _in_body(turned: list[Any], turns: list[Any]) -> Any:
    """The last derivative of R^T p', of R^T p', R^T p'', ... and of the angular velocity and its rate."""
    w, a, _ = turns
    u = turned[0]
    if len(turned) == 1:
        return u
    rate = turned[1] + np.cross(u, w)
    if len(turned) == 2:
        return rate
    return turned[2] + np.cross(turned[1], w) + np.cross(rate, w) + np.cross(u, a)
