"""The dense factorization against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from kido.solvers.cholesky import factorize, substitute


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 31, 120])
def test_solves_like_numpy(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    A = root @ root.T + 0.1 * np.eye(n)
    factor = np.zeros((n + 2, n + 2))
    factor[:n, :n] = A
    assert factorize(factor, n)
    upper = np.triu(factor[:n, :n], 1) + np.diag(1 / np.diag(factor)[:n])
    assert upper.T @ upper == pytest.approx(A, abs=1e-10 * np.abs(A).max())
    assert (factor[n:] == 0).all()
    x = np.zeros((2, n + 3))
    b = rng.normal(size=n)
    x[1, 2 : 2 + n] = b
    substitute(factor, n, x, 1, 2)
    assert A @ x[1, 2 : 2 + n] == pytest.approx(b, abs=1e-8 * np.abs(x).max() * np.abs(A).max())
    assert (x[0] == 0).all() and x[1, -1] == 0


@pytest.mark.parametrize("bad", [-1.0, 0.0, np.nan])
def test_refuses_what_is_not_definite(bad):
    A = np.eye(6)
    A[4, 4] = bad
    assert not factorize(A, 6)
