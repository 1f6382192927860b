"""Newton's method behind ADMM: it solves ill-conditioned islands that ADMM leaves, and spoils none."""

from __future__ import annotations

import numpy as np
import pytest

from kido.solvers import AT_CAP, certify, problem_matrices, solve
from solver_scenes import impulses, random_problem, stack


def certified(c) -> float:
    A, b = problem_matrices(c)
    return certify(A, b, c.mu[: len(b) // 3], impulses(c)).residual


def test_sliding_stacks_with_heavy_tops_are_solved():
    # Thirty-six stacks of 3 to 8 cubes, tops up to 1e6 times heavier, standing, sliding and twisting: ADMM alone
    # leaves a quarter of them at its cap.
    failures = 0
    for k in range(36):
        c = stack(3 + k % 6, top=10.0 ** (k % 7), velocity=(0.003 * (k % 3), 0.002, 0.0))
        failures += solve(c) >= AT_CAP
        assert np.isfinite(c.u).all()
        assert certified(c) == pytest.approx(c.total_residual, rel=1e-3, abs=1e-9)
    assert failures <= 2


def test_it_never_leaves_more_than_it_was_given():
    for seed in range(12):
        problems = [
            random_problem(np.random.default_rng(seed), bodies=4, contacts=25, spread=2, mu=0.5, admm_iterations=n)
            for n in (0, 800)
        ]
        swept, ended = (solve(c) for c in problems)
        assert np.isfinite(problems[1].impulse).all()
        assert ended <= swept  # no iterations, no Newton steps: what Gauss-Seidel left
