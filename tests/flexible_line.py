"""A structure whose matrices are known: a line of beams."""

from __future__ import annotations

import numpy as np

from kido.flexible import Structure


def line_of_beams(elements: int, length: float = 1.0) -> Structure:
    """Bernoulli beams in space along x with nodes root and tip: EA = 1e6, EI = 100 and 50, GJ = 40, rho A = 1."""
    h, n = length / elements, elements + 1
    K, M = np.zeros((2, 6 * n, 6 * n))
    bend = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h], [-12, -6 * h, 12, -6 * h],
                     [6 * h, 2 * h * h, -6 * h, 4 * h * h]]) / h**3  # fmt: skip
    inert = np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h], [54, 13 * h, 156, -22 * h],
                      [-13 * h, -3 * h * h, -22 * h, 4 * h * h]]) * h / 420.0  # fmt: skip
    rod, lean = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.diag([1.0, -1.0, 1.0, -1.0])
    for e in range(elements):
        at = 6 * e
        for rows, k, m in (
            ([0, 6], 1e6 * rod / h, h / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]])),
            ([3, 9], 40.0 * rod / h, 1e-3 * h / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]])),
            ([1, 5, 7, 11], 100.0 * bend, inert),
            ([2, 4, 8, 10], 50.0 * lean @ bend @ lean, lean @ inert @ lean),
        ):
            where = np.ix_(at + np.array(rows), at + np.array(rows))
            K[where] += k
            M[where] += m
    x = np.column_stack([np.linspace(0.0, length, n), np.zeros((n, 2))])
    return Structure(x, M, K, nodes={"root": 0, "tip": elements}, name="line")
