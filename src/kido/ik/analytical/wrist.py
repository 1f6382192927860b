"""A rotation as turns about three given axes."""

from __future__ import annotations

import math

from kido.ik.analytical.vectors import (
    across,
    angle_about,
    best_angle,
    direction,
    dot,
    half_angle,
    length,
    outer,
    rotation,
    transposed,
    turned,
)
from kido.jit import kernel
from kido.math.elementary import arctan2
from kido.math.so3 import compose

# Sine of the angle between the first and the last axis below which a pose is called singular.
WRIST_TOLERANCE = 1e-6
_ALIGNED = 1e-12  # below this the first angle is a free choice; above it is as accurate as its sine is large


@kernel
def between(a, b):
    """Angle between two unit vectors [rad]."""
    return arctan2(length(outer(a, b)), dot(a, b))


@kernel
def three_turns(a, b, c, R, free, sign):
    """Angles of R = R(a, x) R(b, y) R(c, z), the branch of y given by sign = +-1.

    The image of c under R lies at the angle beta from a; so do all R(b, y) c of a spherical triangle with the sides
    beta, (a, b), (b, c), which gives y. Where no triangle closes, as axes are not perpendicular, R is approached as
    closely as an angle of rotation allows.

    Args:
        a, b, c: unit axes.
        R: the rotation.
        free: x, where a and R c are parallel and only a sum of x and z is determined.
        sign: branch.

    Returns:
        x, y, z [rad]; 1 if a and R c are parallel; 1 if R is reached.
    """
    w = direction(R, c)
    sine = length(outer(a, w))
    beta = arctan2(sine, dot(a, w))
    first, second = between(a, b), between(b, c)
    near = math.sin(0.5 * (beta + first - second)) * math.sin(0.5 * (beta - first + second))
    far = math.sin(0.5 * (first + second + beta)) * math.sin(0.5 * (first + second - beta))
    if near < 0.0 and near > -1e-15:
        near = 0.0
    if far < 0.0 and far > -1e-15:
        far = 0.0
    y, reached = half_angle(near, far)
    y = sign * y - angle_about(b, across(b, a), across(b, c))
    image = turned(b, y, c)
    x = free
    if sine > _ALIGNED:
        x = angle_about(a, image, w)
    rest = compose(transposed(rotation(b, y)), compose(transposed(rotation(a, x)), R))
    return x, y, best_angle(c, rest), 1 if sine < WRIST_TOLERANCE else 0, reached
