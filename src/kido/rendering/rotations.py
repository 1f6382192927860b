"""Quaternions [w, x, y, z] of stacks of rotations, for the wire format of the browser."""

from __future__ import annotations

import numpy as np


def wxyz_from_matrix(R: np.ndarray) -> np.ndarray:
    """Unit quaternions (..., 4) of rotation matrices (..., 3, 3), by the largest of the four squares."""
    R = np.asarray(R, dtype=float)
    flat = R.reshape(-1, 3, 3)
    m00, m11, m22 = flat[:, 0, 0], flat[:, 1, 1], flat[:, 2, 2]
    squares = np.stack([1 + m00 + m11 + m22, 1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22], axis=1)
    k = np.argmax(squares, axis=1)
    a = flat[:, 2, 1] - flat[:, 1, 2]
    b = flat[:, 0, 2] - flat[:, 2, 0]
    c = flat[:, 1, 0] - flat[:, 0, 1]
    d = flat[:, 0, 1] + flat[:, 1, 0]
    e = flat[:, 0, 2] + flat[:, 2, 0]
    f = flat[:, 1, 2] + flat[:, 2, 1]
    rows = np.stack(
        [
            np.stack([squares[:, 0], a, b, c], axis=1),
            np.stack([a, squares[:, 1], d, e], axis=1),
            np.stack([b, d, squares[:, 2], f], axis=1),
            np.stack([c, e, f, squares[:, 3]], axis=1),
        ],
        axis=1,
    )
    q = rows[np.arange(len(flat)), k]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return q.reshape(*R.shape[:-2], 4)


def matrix_from_wxyz(q: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(np.asarray(q, dtype=float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def multiply(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Quaternion products p q (..., 4)."""
    w1, x1, y1, z1 = np.moveaxis(p, -1, 0)
    w2, x2, y2, z2 = np.moveaxis(q, -1, 0)
    return np.stack(
        [
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        ],
        axis=-1,
    )


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) rotated by unit quaternions (..., 4)."""
    w, u = q[..., :1], q[..., 1:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def wxyz_along_z(direction: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) of the shortest rotations that turn +z to the unit ``direction`` (n, 3)."""
    d = np.asarray(direction, dtype=float)
    q = np.stack([1.0 + d[:, 2], -d[:, 1], d[:, 0], np.zeros(len(d))], axis=1)
    opposite = q[:, 0] < 1e-9
    q[opposite] = (0.0, 1.0, 0.0, 0.0)
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def look_at_matrix(position: np.ndarray, target: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Rotation (3, 3) of a camera at ``position`` that looks at ``target``: z forward, x right, y down."""
    forward = np.asarray(target, dtype=float) - position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, up)
    if np.linalg.norm(right) < 1e-6:
        right = np.cross(forward, np.roll(up, 1))
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward], axis=1)
