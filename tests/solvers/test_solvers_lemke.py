"""Lemke's method with friction polygons: complementarity checked directly, exact slides, rays, redundant contacts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls
from test_solvers_dantzig import slide, squeezed

from kido.errors import ModelError
from kido.jit import Struct
from kido.solvers import (
    CONVERGED,
    FELL_BACK,
    OWN_SOLVED,
    RAY,
    TOO_LARGE,
    Lemke,
    problem_matrices,
    solve,
    solve_with,
)
from pyramid_truths import polygon_radius, polyhedral_defect
from solver_scenes import BOUNDED, Block, G, H, body, contact, problem, random_problem, stack


def solved(c: Struct, solver: Lemke) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, b and the solution of a problem that must be solved without the default's help."""
    assert solve_with(c, solver) == CONVERGED
    assert (c.island_ended[: c.num_islands] == OWN_SOLVED).all()
    A, b = problem_matrices(c)
    p = c.impulse[: len(b)].copy()
    assert np.isfinite(p).all() and np.isfinite(c.u).all()
    return A, b, p


@pytest.mark.parametrize("d", [4, 6, 8])
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
def test_random_problems_satisfy_complementarity(d, mu):
    solver = Lemke(directions=d)
    for seed in range(12):
        c = random_problem(np.random.default_rng(seed), mu=mu, **solver.sizes())
        A, b, p = solved(c, solver)
        # Checked to 1e-6 of the unknowns, scaled per block; bodies of 0.1 to 10 kg take up to a factor of 10 of it.
        assert polyhedral_defect(A, b, c.mu[: len(b) // 3], p, d) < 1e-5


def test_frictionless_against_least_squares():
    for seed in range(8):
        solver = Lemke(4)
        c = random_problem(np.random.default_rng(seed), mu=0.0, **solver.sizes())
        A, b, p = solved(c, solver)
        normal = A[::3, ::3]
        L = np.linalg.cholesky(normal + 1e-13 * np.eye(len(normal)))
        exact = nnls(L.T, -np.linalg.solve(L, b[::3]), maxiter=1000)[0]
        assert normal @ p[::3] + b[::3] == pytest.approx(normal @ exact + b[::3], abs=1e-6 * np.abs(b).max())


@pytest.mark.parametrize("d", [4, 8, 16])
def test_a_slide_meets_the_polygon(d):
    # At an angle a from the nearest direction the best impulse is that direction's: mu N, a off the slide.
    solver = Lemke(directions=d)
    for degrees in (0.0, 45.0 / d, 20.0, 45.0, 83.0):
        c = slide(degrees, **solver.sizes())
        _, _, p = solved(c, solver)
        # In the very middle all points of the edge are solutions.
        assert polygon_radius(p[None, 1:], d) == pytest.approx([0.5 * G * H], rel=1e-12)
        off = np.degrees(np.arctan2(-p[2], -p[1])) - degrees
        assert abs(off) <= 180.0 / d + 1e-9
        assert c.total_residual <= 2.1 * np.sin(np.pi / (2 * d))  # the certificate: the chord at most, beside mu N


@pytest.mark.parametrize("d", [4, 8])
def test_between_directions_the_polygon_holds_less(d):
    # A push of k mu N halfway between two directions is held up to k = cos(pi / d).
    for k, held in ((np.cos(np.pi / d) - 1e-3, True), (np.cos(np.pi / d) + 1e-3, False)):
        solver = Lemke(directions=d)
        c = slide(180.0 / d, speed=0.5 * k * G * H, **solver.sizes())
        solved(c, solver)
        assert (np.abs(c.u[3:5]).max() < 1e-12 * G * H) == held


def test_more_directions_come_nearer_to_the_cone():
    residuals = []
    for d in (4, 8, 16, 32):
        solver = Lemke(directions=d)
        found = []
        for seed in range(6):
            c = random_problem(np.random.default_rng(seed), bodies=3, contacts=4, mu=0.5, **solver.sizes())
            solved(c, solver)
            found.append(c.total_residual)
        residuals.append(np.median(found))
    assert residuals[3] < 0.3 * residuals[0]


def test_limits_equalities_and_two_bounds():
    rng = np.random.default_rng(3)
    solver = Lemke(4)
    for _ in range(6):
        bodies = [body(1.0, rng.normal(size=3), rng.normal(size=3)) for _ in range(2)]
        blocks = [contact(bodies, None, i, bodies[i][1] + 0.1 * rng.normal(size=3), rng.normal(size=3)) for i in (0, 1)]
        for low, high in [(0.0, np.inf), (-0.3, 0.3), (-np.inf, np.inf), (-np.inf, 0.0), (0.1, 0.2)]:
            row = Block(0, rng.normal(size=(1, 6)), 1, rng.normal(size=(1, 6)), kind=BOUNDED, lower=low, upper=high)
            blocks.append(row)
        c = problem([s for s, _ in bodies], blocks, tolerance=1e-9, sweeps=3000, **solver.sizes())
        solved(c, solver)
        # Without friction polygon and cone are the same: so are the velocities of the exact-cone solver.
        u = c.u.copy()
        assert c.total_residual < 1e-6
        solve(c)
        assert u == pytest.approx(c.u, abs=1e-5)


@pytest.mark.parametrize("top", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("d", [4, 8])
def test_redundant_stacks(d, top):
    solver = Lemke(directions=d)
    c = stack(5, top=top, **solver.sizes())
    _, _, p = solved(c, solver)
    carried = p[::3].reshape(5, 4).sum(axis=1)
    assert carried == pytest.approx(G * H * (top + np.arange(4, -1, -1)), rel=1e-4)


def test_the_same_contact_many_times():
    segment, x = body(1.0, (0, 0, 0.05), (0.3, 0.2, -G * H))
    blocks = [contact([(segment, x)], None, 0, (0, 0, 0), (0, 0, 1), mu=0.5) for _ in range(12)]
    solver = Lemke(4)
    A, b, p = solved(problem([segment], blocks, **solver.sizes()), solver)
    assert polyhedral_defect(A, b, np.full(12, 0.5), p, 4) < 1e-6


def test_a_ray_is_reported_and_falls_back():
    solver = Lemke(4)
    c = squeezed(**solver.sizes())
    assert solve_with(c, solver) > CONVERGED
    assert c.island_ended[0] == RAY and c.total_fallbacks == 1
    assert np.isfinite(c.u).all() and np.isfinite(c.impulse).all()


def test_pivots_run_out_and_islands_too_large():
    solver = Lemke(4, pivots=3)
    c = stack(3, **solver.sizes())
    assert solve_with(c, solver) == FELL_BACK
    solver = Lemke(4, max_rows=30)
    c = stack(3, **solver.sizes())
    assert solve_with(c, solver) == FELL_BACK
    assert c.island_ended[0] == TOO_LARGE


def test_not_a_number():
    solver = Lemke(4)
    c = stack(2, **solver.sizes())
    c.u_free[3] = np.nan
    solve_with(c, solver)
    assert np.isfinite(c.impulse).all()


@pytest.mark.parametrize("bad", [{"directions": 5}, {"directions": 2}, {"directions": 8.0}, {"pivots": 0}])
def test_bad_parameters(bad):
    with pytest.raises(ModelError, match=next(iter(bad))):
        Lemke(**bad)
