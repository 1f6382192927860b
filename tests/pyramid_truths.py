"""Truths about contact with friction pyramids, in NumPy alone: complementarity written out, and enumeration."""

from __future__ import annotations

import itertools

import numpy as np


def box_bounds(mu: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds (rows,) of normals and tangents for the normal impulses in p."""
    friction = np.repeat(mu, 3) * np.repeat(p[::3], 3)
    low, high = -friction, friction
    low[::3], high[::3] = 0.0, np.inf
    return low, high


def box_defect(A: np.ndarray, b: np.ndarray, mu: np.ndarray, p: np.ndarray) -> float:
    """How far p is from solving the boxed LCP whose bounds follow its own normal impulses, relative to p.

    The larger of bounds broken and of rows that move although between their bounds, or against one.
    """
    low, high = box_bounds(mu, p)
    step = 1 / np.repeat(np.diag(A).reshape(-1, 3).mean(axis=1), 3)
    moved = p - np.clip(p - step * (A @ p + b), low, high)
    return float(np.abs(moved).max() / max(np.abs(p).max(), 1e-300))


def box_by_enumeration(A: np.ndarray, b: np.ndarray, mu: np.ndarray) -> list[np.ndarray]:
    """All solutions of the boxed LCP with p_t = +- mu p_n or v_t = 0, found by trying every case."""
    n = len(b)
    choices = [("open", "closed"), ("stick", "low", "high"), ("stick", "low", "high")] * (n // 3)
    found = []
    for case in itertools.product(*choices):
        E = np.zeros((n, n))  # rows of equations: v_i = 0, or p_i = +- mu p_n, or p_i = 0
        r = np.zeros(n)
        for i, what in enumerate(case):
            if what in ("closed", "stick"):
                E[i], r[i] = A[i], -b[i]
            else:
                E[i, i] = 1.0
                if what != "open":
                    E[i, i - i % 3] = -mu[i // 3] if what == "high" else mu[i // 3]
        if abs(np.linalg.det(E)) < 1e-12:
            continue
        p = np.linalg.solve(E, r)
        if p[::3].min() >= -1e-9 and box_defect(A, b, mu, p) < 1e-8 and not any(np.allclose(p, f) for f in found):
            found.append(p)
    return found


def directions(d: int) -> np.ndarray:
    """(2, d) unit vectors."""
    angle = 2 * np.pi * np.arange(d) / d
    return np.array([np.cos(angle), np.sin(angle)])


def polygon_radius(p: np.ndarray, d: int) -> np.ndarray:
    """Least sum of weights with which directions make up each tangential impulse (n, 2): a norm of polygons."""
    # The polygon's edges have normals halfway between directions, at distance cos(pi / d).
    half = 2 * np.pi * (np.arange(d) + 0.5) / d
    return (p @ np.array([np.cos(half), np.sin(half)])).max(axis=1) / np.cos(np.pi / d)


def polyhedral_defect(A: np.ndarray, b: np.ndarray, mu: np.ndarray, p: np.ndarray, d: int) -> float:
    """How far p is from solving contact with friction polygons of d directions, relative to p.

    Friction in the polygon; where it does not reach the edge no slip; maximal dissipation: p_t . v_t is the least
    there is in the polygon, -mu p_n max_j (-D_j . v_t).
    """
    P = p.reshape(-1, 3)
    step = 1 / np.diag(A).reshape(-1, 3).mean(axis=1)
    v = (A @ p + b).reshape(-1, 3) * step[:, None]
    size = max(np.abs(p).max(), 1e-300)
    outside = polygon_radius(P[:, 1:], d) - mu * P[:, 0]
    normal = np.abs(np.minimum(P[:, 0], v[:, 0]))
    least = mu * P[:, 0] * (v[:, 1:] @ directions(d)).min(axis=1)
    loss = np.abs(np.einsum("ij,ij->i", P[:, 1:], v[:, 1:]) - least)
    return float(
        max(outside.max(initial=0.0) / size, normal.max() / size, loss.max() / size / max(size, np.abs(v).max()))
    )
