"""Arms with published dimensions, and arms at random, for tests of closed forms."""

from __future__ import annotations

import numpy as np

import kido
from kido.ik.analytical import HingeChain

HALF = np.pi / 2.0

# Denavit-Hartenberg parameters a [m], alpha [rad], d [m] of each joint, in the usual (distal) convention.
# Corke and Armstrong-Helouvry, "A search for consensus among model parameters reported for the PUMA 560 robot" (1994).
PUMA_560 = [(0, HALF, 0), (0.4318, 0, 0), (0.0203, -HALF, 0.15005), (0, HALF, 0.4318), (0, -HALF, 0), (0, 0, 0)]
# ABB, "Product specification IRB 140": its shoulder is 70 mm before axis 1.
IRB_140 = [(0.07, -HALF, 0.352), (0.36, 0, 0), (0, -HALF, 0), (0, HALF, 0.38), (0, -HALF, 0), (0, 0, 0.065)]
# Universal Robots, "DH parameters for calculations of kinematics and dynamics", UR5.
UR5 = [(0, HALF, 0.089159), (-0.425, 0, 0), (-0.39225, 0, 0), (0, HALF, 0.10915), (0, -HALF, 0.09465), (0, 0, 0.0823)]
# KUKA, "LBR iiwa" brochure: LBR iiwa 14 R820, 360 + 420 + 400 + 126 mm.
IIWA_14 = [
    (0, -HALF, 0.36), (0, HALF, 0), (0, HALF, 0.42), (0, -HALF, 0), (0, -HALF, 0.4), (0, HALF, 0), (0, 0, 0.126),
]  # fmt: skip
# The same with an elbow like that of Barrett's WAM, 45 mm off the line.
OFFSET_ELBOW = [
    (0, -HALF, 0), (0, HALF, 0), (0.045, -HALF, 0.55), (-0.045, HALF, 0), (0, -HALF, 0.3), (0, HALF, 0), (0, 0, 0.06),
]  # fmt: skip


def dh_frames(rows):
    """Pose of each joint's frame in the one before, its axis z, and of the tip in the last."""
    frames, X = [], np.eye(4)
    for a, alpha, d in rows:
        frames.append(X)
        c, s = np.cos(alpha), np.sin(alpha)
        X = np.array([[1, 0, 0, a], [0, c, -s, 0], [0, s, c, d], [0, 0, 0, 1]])
    return frames, X


def dh_chain(rows, limit=np.inf) -> HingeChain:
    """Axes at zero positions from Denavit-Hartenberg parameters."""
    frames, last = dh_frames(rows)
    X, axes, points = np.eye(4), [], []
    for frame in frames:
        X = X @ frame
        axes.append(X[:3, 2])
        points.append(X[:3, 3])
    n = len(rows)
    return HingeChain(np.array(axes), np.array(points), X @ last, np.full(n, -limit), np.full(n, limit))


def add_arm(skeleton, rows, name="arm", parent=None, at=None, limit=np.inf):
    """An arm of revolute joints on a body; returns its last body, whose frame is the tip."""
    frames, last = dh_frames(rows)
    body = parent
    for k, frame in enumerate(frames):
        frame = frame if k or at is None else at @ frame
        end = np.linalg.inv(last) if k == len(rows) - 1 else None
        joint = kido.RevoluteJoint(
            f"{name}{k + 1}",
            transform_from_parent=frame,
            transform_from_child=end,
            position_lower_limit=-limit,
            position_upper_limit=limit,
        )
        body = skeleton.add_body(f"{name} link{k + 1}", joint, body)
    return body


def arm_skeleton(rows, limit=np.inf):
    """A skeleton of one arm; its tip."""
    skeleton = kido.Skeleton("arm")
    return skeleton, add_arm(skeleton, rows, limit=limit)


def random_turn(rng):
    """A rotation (3, 3), all equally likely."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


def random_wrist_chain(rng) -> HingeChain:
    """Six axes anywhere, of which the last three meet."""
    axes = rng.normal(size=(6, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    points = rng.normal(size=(6, 3))
    points[3:] = points[3] + axes[3:] * rng.normal(size=(3, 1))
    home = np.eye(4)
    home[:3, :3], home[:3, 3] = random_turn(rng), rng.normal(size=3)
    return HingeChain(axes, points, home, np.full(6, -np.inf), np.full(6, np.inf))


def poses(chain, q):
    """Poses of the tip for many positions (N, n), by composing turns: (N, 4, 4)."""
    q = np.atleast_2d(q)
    R, p = np.tile(np.eye(3), (len(q), 1, 1)), np.zeros((len(q), 3))
    for k, (h, o) in enumerate(zip(chain.axes, chain.points)):
        K = np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
        s, c = np.sin(q[:, k])[:, None, None], np.cos(q[:, k])[:, None, None]
        E = np.eye(3) + s * K + (1.0 - c) * (K @ K)
        p = p + np.einsum("nij,nj->ni", R, o - E @ o)
        R = R @ E
    X = np.tile(np.eye(4), (len(q), 1, 1))
    X[:, :3, :3], X[:, :3, 3] = R, p
    return X @ chain.home


def wrapped(change):
    """Differences of angles in [-pi, pi]."""
    return (change + np.pi) % (2.0 * np.pi) - np.pi
