"""Simple frames against dartpy's: poses, velocities and accelerations of any, relative to any, in the axes of any.

Both do some dozens of products of numbers of size 1 to 100 in another order: 1e-11 of the largest is rounding.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import kido
from trees import random_transform, relative_error

dartpy = pytest.importorskip("dartpy", reason="the package dartpy is not installed")

TOLERANCE = 1e-11


def test_chains_of_simple_frames() -> None:
    rng = np.random.default_rng(11)
    ours: list[kido.Frame] = [kido.WORLD_FRAME]
    theirs = [dartpy.dynamics.Frame.World()]
    for k, parent in enumerate((0, 1, 2, 1, 0)):
        X, V, A = random_transform(rng), rng.normal(size=6), rng.normal(size=6)
        frame = kido.SimpleFrame(ours[parent], f"f{k}", X)
        other = dartpy.dynamics.SimpleFrame(theirs[parent], f"f{k}", dartpy.math.Isometry3(X))
        if k % 2:
            frame.relative_spatial_velocity, frame.relative_spatial_acceleration = V, A
            other.setRelativeSpatialVelocity(V)
            other.setRelativeSpatialAcceleration(A)
        else:
            frame.set_classic_derivatives(V[3:], V[:3], A[3:], A[:3])
            other.setClassicDerivatives(V[3:], V[:3], A[3:], A[:3])
        ours.append(frame)
        theirs.append(other)
    # In the axes of another frame.
    ours[3].set_relative_spatial_velocity([1, 2, 3, 4, 5, 6], ours[5])
    theirs[3].setRelativeSpatialVelocity([1, 2, 3, 4, 5, 6], theirs[5])
    ours[2].set_transform(random_transform(np.random.default_rng(1)), ours[4])
    theirs[2].setTransform(dartpy.math.Isometry3(random_transform(np.random.default_rng(1))), theirs[4])

    r = rng.normal(size=3)
    for b, a, f in itertools.product(range(6), repeat=3):
        B, A, F = ours[b], ours[a], ours[f]
        D, E, G = theirs[b], theirs[a], theirs[f]
        for found, expected in (
            (B.transform(A), D.getTransform(E).matrix()),
            (B.transform(A, F), D.getTransform(E, G).matrix()),
            (B.angular_velocity(A, F), D.getAngularVelocity(E, G)),
            (B.linear_velocity(r, A, F), D.getLinearVelocity(r, E, G)),
            (B.compute_spatial_velocity(r, A, F), D.getSpatialVelocity(r, E, G)),
            (B.angular_acceleration(A, F), D.getAngularAcceleration(E, G)),
            (B.linear_acceleration(r, A, F), D.getLinearAcceleration(r, E, G)),
            (B.compute_spatial_acceleration(r, A, F), D.getSpatialAcceleration(r, E, G)),
        ):
            assert relative_error(found, np.asarray(expected)) < TOLERANCE, (b, a, f)
