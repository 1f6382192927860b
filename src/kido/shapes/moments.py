"""Moments of the solid inside a closed triangle mesh."""

from __future__ import annotations

import numpy as np


def second_moments(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centroid (3,) and integral of r r^T (3,3) about the centroid of a closed triangle mesh.

    Sums over tetrahedra from the vertices' mean to each triangle: V = det/6 and
    int r r^T = V/20 (sum_k p_k p_k^T + s s^T), s = sum of the corners p_k.
    """
    origin = vertices.mean(axis=0)
    p = (vertices - origin)[faces]
    volume = np.einsum("ij,ij->i", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6.0
    total = float(volume.sum())
    s = p.sum(axis=1)
    centroid = (volume @ s) / (4.0 * total) if total else np.zeros(3)
    second = np.einsum("i,ikx,iky->xy", volume, p, p) + np.einsum("i,ix,iy->xy", volume, s, s)
    return total, origin + centroid, second / 20.0 - total * np.outer(centroid, centroid)
