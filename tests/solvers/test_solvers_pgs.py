"""Projected Gauss-Seidel on the boxed LCP: where it converges, and what it leaves at its cap."""

from __future__ import annotations

import numpy as np
import pytest
from test_solvers_dantzig import slide, squeezed

from kido.errors import ModelError
from kido.solvers import AT_CAP, CAPPED, CONVERGED, OWN_SOLVED, PGS, Dantzig, problem_matrices, solve_with
from pyramid_truths import box_defect
from solver_scenes import G, H, random_problem, stack


@pytest.mark.parametrize("relaxation", [1.0, 1.3])
def test_converged_problems_satisfy_complementarity(relaxation):
    solver = PGS(iterations=20000, tolerance=1e-10, relaxation=relaxation)
    converged = 0
    for seed in range(15):
        c = random_problem(np.random.default_rng(seed), mu=0.3, spread=0.3)
        if solve_with(c, solver) != CONVERGED:
            continue
        converged += 1
        A, b = problem_matrices(c)
        # A change of 1e-10 in a sweep means a defect of about that over the rate of convergence.
        assert box_defect(A, b, c.mu[: len(b) // 3], c.impulse[: len(b)]) < 1e-6
    assert converged >= 12


def test_the_same_box_as_dantzig():
    for seed in range(6):
        c = random_problem(np.random.default_rng(seed), mu=0.2, spread=0.3, **Dantzig().sizes())
        assert solve_with(c, Dantzig()) == CONVERGED
        u = c.u.copy()
        c.impulse[:] = 0.0
        assert solve_with(c, PGS(iterations=50000, tolerance=1e-12)) == CONVERGED
        assert c.u == pytest.approx(u, abs=1e-5)


@pytest.mark.parametrize(("degrees", "factor"), [(0, 1.0), (45, np.sqrt(2)), (30, np.sqrt(2))])
def test_the_box_stops_a_diagonal_slide_by_more_than_the_cone(degrees, factor):
    c = slide(degrees)
    assert solve_with(c, PGS()) == CONVERGED
    assert np.hypot(c.impulse[1], c.impulse[2]) == pytest.approx(factor * 0.5 * G * H, rel=1e-9)


def test_a_cap_is_kept_reported_and_measured():
    c = stack(10, velocity=(0.001, 0.002, 0))
    assert solve_with(c, PGS(iterations=5)) == AT_CAP
    assert c.island_ended[0] == CAPPED and c.island_iterations[0] == 5
    assert c.total_fallbacks == 0  # it is no failure
    few = c.total_residual
    c.impulse[:] = 0.0
    solve_with(c, PGS(iterations=500))
    assert 0.0 < c.total_residual < few


def test_warm_start_is_used():
    c = stack(3)
    solve_with(c, PGS(iterations=5000))
    cold = c.island_iterations[0]
    solve_with(c, PGS(iterations=5000))
    assert c.island_iterations[0] < cold


def test_infeasible_and_broken_problems_leave_no_nan():
    c = squeezed()
    solve_with(c, PGS(iterations=2000))
    assert np.isfinite(c.u).all() and np.isfinite(c.impulse).all()
    c = stack(2)
    c.u_free[3] = np.nan
    solve_with(c, PGS())
    assert np.isfinite(c.impulse).all()
    c = random_problem(np.random.default_rng(0), mu=0.5)
    c.impulse[:] = np.inf
    assert solve_with(c, PGS(iterations=5000)) == CONVERGED
    assert (c.island_ended[: c.num_islands] == OWN_SOLVED).all()


@pytest.mark.parametrize("bad", [{"iterations": 0}, {"relaxation": 2.0}, {"relaxation": "1"}, {"tolerance": -1e-3}])
def test_bad_parameters(bad):
    with pytest.raises(ModelError, match=next(iter(bad))):
        PGS(**bad)
