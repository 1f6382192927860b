"""Frames against brute force: products of Taylor series of transforms in time, which know no formula for motion.

A chain of frames is a product of series (`trees.along`), a body's series comes from its joints' definitions. What a
moving observer sees is the series of X_A^-1 X_B, in the coordinates of F after a rotation. Everything here is of
size 1 to 100, so an absolute bound of 1e-11 to 1e-10 is rounding of sums of a few dozen products.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose

import kido
from trees import (
    SEEDS,
    Series,
    along,
    body_series,
    motion,
    random_skeleton,
    random_state,
    random_transform,
    times,
)

ROUNDING = 1e-10


def series_of(frame: kido.Frame, q, u, udot) -> Series:
    """X(t) of a frame in the world, to second order, from the definitions."""
    if frame is kido.WORLD_FRAME:
        return along(np.eye(4), np.zeros(6), np.zeros(6))
    if isinstance(frame, kido.BodyNode):
        d = frame.parent_joint.dofs
        part = slice(d[0].index, d[0].index + len(d)) if d else slice(0, 0)
        own = body_series(frame, q[part], u[part], udot[part])
    else:
        own = along(frame.relative_transform, frame.relative_spatial_velocity, frame.relative_spatial_acceleration)
    return times(series_of(frame.parent_frame, q, u, udot), own)


def inverse(X: Series) -> Series:
    """Series of the inverse, from X Y = 1."""
    Y0 = np.linalg.inv(X[0])
    Y1 = -Y0 @ X[1] @ Y0
    return Y0, Y1, -Y0 @ (X[1] @ Y1 + X[2] @ Y0)


def at(X: Series, offset) -> Series:
    """The same axes about another point."""
    shift = np.eye(4)
    shift[:3, 3] = offset
    return X[0] @ shift, X[1] @ shift, X[2] @ shift


def scene(seed: int) -> tuple[kido.Skeleton, list[kido.Frame]]:
    """A random moving skeleton, with frames on bodies and on frames, moving, fixed and in the world."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(seed, 5)
    q, u, udot, _ = random_state(skeleton, seed)
    skeleton.positions, skeleton.velocities, skeleton.accelerations = q, u, udot
    frames: list[kido.Frame] = [kido.WORLD_FRAME, *skeleton.bodies]
    for k in range(6):
        parent = frames[rng.integers(len(frames))]
        if k == 2:
            frames.append(kido.FixedFrame(parent, random_transform(rng), "fixed"))
            continue
        frame = kido.SimpleFrame(parent, f"f{k}", random_transform(rng))
        frame.relative_spatial_velocity = rng.normal(size=6)
        frame.relative_spatial_acceleration = rng.normal(size=6)
        frames.append(frame)
    node = skeleton.bodies[rng.integers(5)].add_shape(kido.Sphere(0.1), random_transform(rng))
    return skeleton, [*frames, node]


@given(SEEDS)
def test_any_frame_relative_to_any_frame_in_the_coordinates_of_any_frame(seed: int) -> None:
    skeleton, frames = scene(seed)
    state = skeleton.positions, skeleton.velocities, skeleton.accelerations
    rng = np.random.default_rng(seed)
    for _ in range(6):
        B, A, F = (frames[k] for k in rng.integers(len(frames), size=3))
        r = rng.normal(size=3)
        seen = times(inverse(series_of(A, *state)), series_of(B, *state))
        X_A, X_F = series_of(A, *state)[0], series_of(F, *state)[0]
        R = X_F[:3, :3].T @ X_A[:3, :3]  # from A's axes, in which `seen` is, to F's
        V, acc = motion(at(seen, r))
        w, v, wdot, a = R @ V[:3], R @ V[3:], R @ acc[:3], R @ acc[3:]
        assert_allclose(B.transform(A), seen[0], atol=ROUNDING)
        turned = np.eye(4)
        turned[:3, :3] = R
        assert_allclose(B.transform(A, F), turned @ seen[0], atol=ROUNDING)
        assert_allclose(B.world_transform, series_of(B, *state)[0], atol=ROUNDING)
        assert_allclose(B.angular_velocity(A, F), w, atol=ROUNDING)
        assert_allclose(B.linear_velocity(r, A, F), v, atol=ROUNDING)
        assert_allclose(B.compute_spatial_velocity(r, A, F), [*w, *v], atol=ROUNDING)
        assert_allclose(B.angular_acceleration(A, F), wdot, atol=ROUNDING)
        assert_allclose(B.linear_acceleration(r, A, F), a, atol=ROUNDING)
        spatial = np.concatenate([wdot, a - np.cross(w, v)])
        assert_allclose(B.compute_spatial_acceleration(r, A, F), spatial, atol=ROUNDING)
        V, acc = motion(series_of(B, *state))
        assert_allclose(B.spatial_velocity, V, atol=ROUNDING)
        assert_allclose(B.spatial_acceleration, [*acc[:3], *(acc[3:] - np.cross(V[:3], V[3:]))], atol=ROUNDING)


@given(SEEDS)
def test_relative_motion_primary_and_partial_acceleration(seed: int) -> None:
    """A = Ad(X^-1) A_parent + primary + partial; with udot = 0 a body has no primary part."""
    skeleton, frames = scene(seed)
    state = skeleton.positions, skeleton.velocities, skeleton.accelerations
    for frame in frames[1:]:
        parent = frame.parent_frame
        seen = times(inverse(series_of(parent, *state)), series_of(frame, *state))
        R = seen[0][:3, :3].T
        V, acc = motion(seen)
        assert_allclose(frame.relative_transform, seen[0], atol=ROUNDING)
        assert_allclose(frame.relative_spatial_velocity, [*R @ V[:3], *R @ V[3:]], atol=ROUNDING)
        spatial = [*R @ acc[:3], *R @ (acc[3:] - np.cross(V[:3], V[3:]))]
        assert_allclose(frame.relative_spatial_acceleration, spatial, atol=ROUNDING)
        A = frame.compute_spatial_acceleration(in_coordinates_of=frame)
        above = parent.compute_spatial_acceleration(in_coordinates_of=parent)
        p = frame.relative_transform[:3, 3]
        carried = np.concatenate([R @ above[:3], R @ (above[3:] + np.cross(above[:3], p))])
        parts = carried + frame.primary_relative_acceleration + frame.partial_acceleration
        assert_allclose(A, parts, atol=ROUNDING)
    primary = [b.primary_relative_acceleration for b in skeleton.bodies]
    partial = [b.partial_acceleration for b in skeleton.bodies]
    skeleton.accelerations = np.zeros(skeleton.num_dofs)
    for body, before, kept in zip(skeleton.bodies, primary, partial, strict=True):
        assert not body.primary_relative_acceleration.any()
        change = body.relative_spatial_acceleration
        assert_allclose(body.partial_acceleration, kept, atol=ROUNDING)
        skeleton.accelerations = state[2]
        assert_allclose(body.relative_spatial_acceleration - change, before, atol=ROUNDING)
        skeleton.accelerations = np.zeros(skeleton.num_dofs)
