"""Dantzig's method on the boxed LCP: complementarity, enumeration, quadratic programs, redundant and bad problems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from kido.errors import ModelError
from kido.jit import Struct
from kido.solvers import (
    CONVERGED,
    FELL_BACK,
    OWN_SOLVED,
    TOO_LARGE,
    Dantzig,
    problem_matrices,
    solve_with,
)
from pyramid_truths import box_by_enumeration, box_defect
from solver_scenes import BOUNDED, Block, G, H, Segment, body, contact, problem, random_problem, stack

SIZES = Dantzig().sizes()


def solved(c: Struct, solver: Dantzig | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, b and the solution of a problem that must be solved without the default's help."""
    assert solve_with(c, solver or Dantzig()) == CONVERGED
    assert (c.island_ended[: c.num_islands] == OWN_SOLVED).all()
    assert c.total_fallbacks == 0
    A, b = problem_matrices(c)
    p = c.impulse[: len(b)].copy()
    assert np.isfinite(p).all() and np.isfinite(c.u).all()
    return A, b, p


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.7])
def test_random_problems_satisfy_complementarity(mu):
    failures = 0
    for seed in range(20):
        c = random_problem(np.random.default_rng(seed), mu=mu, **SIZES)
        if solve_with(c, Dantzig()) == FELL_BACK:  # bounds and normal impulses need not agree for large friction
            failures += 1
            continue
        A, b, p = solved(c)
        # Solved to 1e-7 in impulses scaled per block; bodies of 0.1 to 10 kg take up to a factor of 10 of it.
        assert box_defect(A, b, c.mu[: len(b) // 3], p) < 2e-6
    assert failures <= (1 if mu > 0.5 else 0)


def test_two_contacts_against_enumeration():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        c = random_problem(rng, bodies=2, contacts=2, mu=(0.4, 1.5)[seed % 2], **SIZES)
        A, b = problem_matrices(c)
        answers = box_by_enumeration(A, b, c.mu[:2])
        _, _, p = solved(c)
        assert min(np.abs(p - a).max() for a in answers) <= 1e-6 * np.abs(p).max()


@pytest.mark.parametrize("seed", range(5))
def test_frictionless_contacts_and_bounded_rows_against_a_quadratic_program(seed):
    # Without friction the problem is min p.A p / 2 + b.p within bounds; its velocities are unique.
    rng = np.random.default_rng(seed)
    bodies = [body(10 ** rng.uniform(-1, 1), rng.normal(size=3), rng.normal(size=3)) for _ in range(3)]
    blocks = [
        contact(bodies, None, i % 3, bodies[i % 3][1] + rng.normal(size=3) * 0.2, rng.normal(size=3)) for i in range(6)
    ]
    bounds = [(0.0, np.inf), (-0.5, 0.5), (-np.inf, np.inf), (-np.inf, 0.0), (0.2, 0.4)]
    for low, high in bounds:
        blocks.append(
            Block(0, rng.normal(size=(1, 6)), 1, rng.normal(size=(1, 6)), kind=BOUNDED, lower=low, upper=high)
        )
    c = problem([s for s, _ in bodies], blocks, **SIZES)
    A, b, p = solved(c)
    low, high = np.zeros(len(b)), np.zeros(len(b))
    for k in range(c.num_blocks):
        low[c.row[k]], high[c.row[k]] = (0.0, np.inf) if k < 6 else (c.lower[k], c.upper[k])
    rows = high > low
    L = np.linalg.cholesky(A[np.ix_(rows, rows)] + 1e-13 * np.eye(rows.sum()))
    exact = lsq_linear(L.T, -np.linalg.solve(L, b[rows]), (low[rows], high[rows]), method="bvls", tol=1e-14).x
    assert (A @ p + b)[rows] == pytest.approx(A[np.ix_(rows, rows)] @ exact + b[rows], abs=1e-5 * np.abs(b).max())
    assert (p[rows] >= low[rows] - 1e-9).all() and (p[rows] <= high[rows] + 1e-9).all()


def slide(degrees: float, mu: float = 0.5, speed: float = 1.0, **sizes) -> Struct:
    """A cube of 1 kg that slides on its tangents' plane; the ground is under its centre, so that it does not tip."""
    angle = np.radians(degrees)
    segment, x = body(1.0, (0, 0, 0))
    item = contact([(segment, x)], None, 0, (0, 0, 0), (0, 0, 1), mu=mu)
    rows = np.asarray(item.jacobian_b)
    segment.velocity[3:] = speed * (np.cos(angle) * rows[1, 3:] + np.sin(angle) * rows[2, 3:])
    segment.velocity[3:] += [0, 0, -G * H]
    return problem([segment], [item], **sizes)


@pytest.mark.parametrize("rounds", [1, 30])
@pytest.mark.parametrize(("degrees", "factor"), [(0, 1.0), (90, 1.0), (45, np.sqrt(2)), (30, np.sqrt(2))])
def test_the_box_stops_a_diagonal_slide_by_more_than_the_cone(rounds, degrees, factor):
    c = slide(degrees, **SIZES)
    before = np.linalg.norm(c.u_free[3:5])
    _, _, p = solved(c, Dantzig(rounds=rounds))
    assert np.hypot(p[1], p[2]) == pytest.approx(factor * 0.5 * G * H, rel=1e-12)
    assert c.u[5] == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.norm(c.u[3:5]) < before
    if factor > 1:  # what the certificate of the exact cone sees of it
        assert c.total_residual > 0.1


def test_one_round_keeps_the_frictionless_bounds():
    # Pushed down on one edge, friction changes the normals: one round leaves bounds behind, several do not.
    c = random_problem(np.random.default_rng(1), mu=0.6, **SIZES)
    A, b, p = solved(c, Dantzig(rounds=1))
    once = box_defect(A, b, c.mu[: len(b) // 3], p)
    c = random_problem(np.random.default_rng(1), mu=0.6, **SIZES)
    A, b, p = solved(c)
    assert box_defect(A, b, c.mu[: len(b) // 3], p) < 1e-6 < 1e-3 < once


@pytest.mark.parametrize("top", [1.0, 1e3, 1e6])
def test_redundant_stack(top):
    # Four contacts per face where three would do.
    c = stack(10, top=top, **SIZES)
    _, _, p = solved(c)
    carried = p[::3].reshape(10, 4).sum(axis=1)
    assert carried == pytest.approx(G * H * (top + np.arange(9, -1, -1)), rel=1e-4)


def test_the_same_contact_many_times():
    segment, x = body(1.0, (0, 0, 0.05), (0.3, 0.2, -G * H))
    blocks = [contact([(segment, x)], None, 0, (0, 0, 0), (0, 0, 1), mu=0.5) for _ in range(12)]
    c = problem([segment], blocks, **SIZES)
    A, b, p = solved(c)
    assert box_defect(A, b, c.mu[:12], p) < 1e-6


def test_nothing_touches_and_nothing_moves():
    c = stack(2, velocity=(0, 0, 1.0), **SIZES)
    assert solved(c)[2].tolist() == [0.0] * 24
    c = problem([Segment(np.eye(6), np.zeros(6))], [], **SIZES)
    assert solve_with(c, Dantzig()) == CONVERGED


def squeezed(**sizes) -> Struct:
    """A body between two plates that come together: no impulses stop both."""
    segment, x = body(1.0, (0, 0, 0))
    blocks = [
        contact([(segment, x)], None, 0, (0, 0, -0.05), (0, 0, 1), mu=0.5, bias=(-1.0, 0, 0)),
        contact([(segment, x)], None, 0, (0, 0, 0.05), (0, 0, -1), mu=0.5, bias=(-1.0, 0, 0)),
    ]
    return problem([segment], blocks, **sizes)


def test_infeasible_and_broken_problems_fall_back_without_nan():
    c = squeezed(**SIZES)
    assert solve_with(c, Dantzig()) > CONVERGED
    assert c.total_fallbacks == 1
    assert np.isfinite(c.u).all() and np.isfinite(c.impulse).all()
    c = stack(2, **SIZES)
    c.u_free[3] = np.nan
    solve_with(c, Dantzig())
    assert np.isfinite(c.impulse).all()


def test_too_large_an_island_goes_to_the_default():
    solver = Dantzig(max_rows=30)
    c = stack(3, **solver.sizes())
    assert solve_with(c, solver) == FELL_BACK
    assert c.island_ended[0] == TOO_LARGE and c.total_fallbacks == 1


@pytest.mark.parametrize("bad", [{"rounds": 0}, {"rounds": 1.5}, {"rounds": True}, {"max_rows": -3}])
def test_bad_parameters(bad):
    with pytest.raises(ModelError, match=next(iter(bad))):
        Dantzig(**bad)
