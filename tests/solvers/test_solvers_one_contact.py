"""One contact: Coulomb's law itself, and a brute-force search over slip directions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kido.solvers.cone import contact_defect, project_cone, solve_bounded, solve_contact


def solve(W, b, mu, floor=0.0, alpha=0.0):
    return np.array(solve_contact(W[0, 0], W[0, 1], W[0, 2], W[1, 1], W[1, 2], W[2, 2], *b, mu, floor, alpha))


def random_compliance(rng, rank=3, spread=1.0):
    root = rng.normal(size=(3, rank)) * 10 ** rng.uniform(-spread, spread, rank)
    return root @ root.T


def violation(W, b, mu, p):
    """Largest violation of Signorini's and Coulomb's laws, relative to velocities and impulses."""
    v = W @ p + b
    speed = np.abs(b).max() + np.abs(W * p).max() + 1e-300
    impulse = np.abs(p).max() + 1e-300
    slip = math.hypot(v[1], v[2])
    friction = math.hypot(p[1], p[2])
    terms = [-p[0] / impulse, -v[0] / speed, (friction - mu * p[0]) / impulse / (1 + mu)]
    terms.append(min(p[0] / impulse, abs(v[0]) / speed))
    if slip > 1e-8 * speed:
        terms.append((mu * p[0] - friction) / impulse / (1 + mu))
        if friction > 1e-8 * impulse:
            terms.append((v[1] * p[1] + v[2] * p[2]) / (slip * friction) + 1)
    return max(terms)


@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_random_contacts_obey_coulomb(spread):
    # Tolerance: the one-dimensional root is found to 1e-12; conditioning up to 1e8 costs the rest.
    rng = np.random.default_rng(3)
    slipped = 0
    for _ in range(4000):
        W = random_compliance(rng, spread=spread)
        b = rng.normal(size=3)
        mu = 10 ** rng.uniform(-2, 1)
        p = solve(W, b, mu, alpha=abs(rng.normal()))
        assert violation(W, b, mu, p) < 1e-6, (W, b, mu, p)
        slipped += b[0] < 0 and math.hypot(p[1], p[2]) > 0.999999 * mu * p[0]
    assert slipped > 500


@pytest.mark.parametrize("rank", [1, 2])
def test_rank_deficient_compliance_with_reachable_velocity(rank):
    # b in the range of W: what a real mechanism gives. A solution exists; any solution is accepted. The
    # singular direction is regularized by 1e-11, which lets rounding through at 1e-5.
    rng = np.random.default_rng(4)
    for _ in range(1000):
        W = random_compliance(rng, rank, 0.5)
        b = W @ rng.normal(size=3)
        mu = rng.uniform(0, 2)
        p = solve(W, b, mu)
        assert np.isfinite(p).all()
        v = W @ p + b
        assert v[0] > -1e-5 * np.abs(b).max()
        assert math.hypot(p[1], p[2]) <= mu * p[0] * (1 + 1e-9) + 1e-300
        assert p @ v <= 1e-5 * np.abs(p).max() * np.abs(b).max()


def test_against_search_over_directions():
    rng = np.random.default_rng(5)
    angles = np.linspace(0, 2 * math.pi, 200001)
    e = np.stack([np.cos(angles), np.sin(angles)])
    compared = 0
    for _ in range(60):
        W = random_compliance(rng, spread=0.2)
        b = rng.normal(size=3)
        b[0] = -abs(b[0])
        mu = 0.2
        sticking = -np.linalg.solve(W, b)
        if sticking[0] >= 0 and math.hypot(*sticking[1:]) <= mu * sticking[0]:
            expected = sticking
        else:
            stretch = W[0, 0] + mu * (W[0, 1:] @ e)
            pn = np.where(stretch > 1e-6, -b[0] / stretch, np.nan)
            p = np.stack([pn, mu * pn * e[0], mu * pn * e[1]])
            v = W @ p + b[:, None]
            # Slip exactly against friction: the cross product vanishes and the inner product is negative.
            defect = np.abs(e[0] * v[2] - e[1] * v[1]) / np.hypot(v[1], v[2])
            defect[~(e[0] * v[1] + e[1] * v[2] < 0)] = np.inf
            expected = p[:, np.nanargmin(defect)]
        assert solve(W, b, mu) == pytest.approx(expected, abs=2e-4 * np.abs(expected).max())
        compared += 1
    assert compared == 60


def test_separating_contact_has_no_impulse():
    assert solve(np.eye(3), (0.1, 5.0, 0.0), 1.0).tolist() == [0, 0, 0]


def test_zero_and_huge_friction():
    W = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
    b = np.array([-1.0, 4.0, -2.0])
    assert solve(W, b, 0.0) == pytest.approx([0.5, 0, 0])
    assert W @ solve(W, b, 1e9) + b == pytest.approx([0, 0, 0], abs=1e-8)


def test_immovable_contact_gives_no_impulse():
    assert solve(np.zeros((3, 3)), (-1.0, 1.0, 0.0), 0.5).tolist() == [0, 0, 0]


def test_floor_is_kept_and_friction_uses_it():
    # Normal and tangential decoupled: floor 3 against the 1 needed; friction may reach mu * 3.
    p = solve(np.eye(3), (-1.0, 10.0, 0.0), 0.5, floor=3.0)
    assert p == pytest.approx([3.0, -1.5, 0.0])
    p = solve(np.eye(3), (-5.0, 1.0, 0.0), 0.5, floor=3.0)
    assert p == pytest.approx([5.0, -1.0, 0.0])


@given(st.tuples(*[st.floats(-100, 100)] * 3), st.floats(0, 10), st.floats(0, 10), st.integers(0, 2**32 - 1))
def test_projection_is_the_nearest_point(x, mu, floor, seed):
    x = np.array(x)
    y = np.array(project_cone(*x, mu, floor))
    assert y[0] >= floor and math.hypot(y[1], y[2]) <= mu * y[0] * (1 + 1e-12) + 1e-12
    rng = np.random.default_rng(seed)
    for _ in range(20):
        n = floor + abs(rng.normal()) * 50
        angle = rng.uniform(0, 2 * math.pi)
        z = np.array([n, 0, 0]) + rng.uniform(0, 1) * mu * n * np.array([0, math.cos(angle), math.sin(angle)])
        # Convex set: every other point makes an obtuse angle at the projection.
        assert (x - y) @ (z - y) <= 1e-9 * (1 + np.abs(x).max() ** 2 + np.abs(z).max() ** 2)


def test_defect_vanishes_at_solutions_only():
    rng = np.random.default_rng(6)
    for _ in range(200):
        W = random_compliance(rng, spread=0.3)
        b = rng.normal(size=3)
        p = solve(W, b, 0.4)
        scale = np.abs(p).max() + np.abs(b).max() / np.trace(W)
        at = np.array(contact_defect(*p, *(W @ p + b), 3 / np.trace(W), 0.4, 0.0))
        assert np.abs(at).max() < 1e-9 * scale
        q = p + 0.1 * scale * rng.normal(size=3)
        off = np.array(contact_defect(*q, *(W @ q + b), 3 / np.trace(W), 0.4, 0.0))
        assert np.abs(off).max() > 1e-6 * scale


@pytest.mark.parametrize(
    ("w", "b", "lower", "upper", "expected"),
    [
        (2.0, -4.0, 0.0, math.inf, 2.0),
        (2.0, 4.0, 0.0, math.inf, 0.0),
        (2.0, -4.0, -1.0, 1.0, 1.0),
        (2.0, 4.0, -1.0, 1.0, -1.0),
        (2.0, 4.0, -math.inf, math.inf, -2.0),
        (0.0, -4.0, -1.0, 1.0, 1.0),
        (0.0, -4.0, 0.0, math.inf, 0.0),
        (0.0, 0.0, -1.0, 1.0, 0.0),
    ],
)
def test_bounded_row(w, b, lower, upper, expected):
    assert solve_bounded(w, b, lower, upper) == expected
