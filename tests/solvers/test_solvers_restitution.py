"""Impacts: rebound heights, momentum, simultaneous impacts, and energy that no impact may create."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kido.solvers import AT_CAP, PROBLEM_NOT_FINITE, problem_matrices, solve, solve_restitution
from kido.solvers.restitution import lossless_share
from solver_scenes import Block, Segment, body, contact, impulses, problem, random_problem


def with_restitution(c, e):
    c.restitution[: c.num_blocks] = e
    return c


def row_of_balls(masses, speed):
    bodies = [body(m, (i, 0, 0), (speed if i == 0 else 0, 0, 0)) for i, m in enumerate(masses)]
    blocks = [contact(bodies, i, i + 1, (i + 0.5, 0, 0), (1, 0, 0)) for i in range(len(masses) - 1)]
    return problem([s for s, _ in bodies], blocks, tolerance=1e-10)


@pytest.mark.parametrize("e", [0.0, 0.5, 0.8, 1.0])
def test_ball_leaves_with_e_times_its_speed(e):
    bodies = [body(2.0, (0, 0, 0.1), (0, 0, -3.0))]
    c = problem([bodies[0][0]], [contact(bodies, None, 0, (0, 0, 0), (0, 0, 1), restitution=e)])
    solve(c)
    assert solve_restitution(c) == (1 if e > 0 else 0)
    assert c.u[5] == pytest.approx(3 * e, rel=1e-9, abs=1e-12)
    assert c.impulse[0] == pytest.approx(2 * 3 * (1 + e))


@pytest.mark.parametrize("e", [0.5, 0.8, 1.0])
def test_bouncing_ball_reaches_e_squared_of_its_height(e):
    # Stepped without discretization error: free flight is exact between impacts, so heights are e^(2k) h.
    g, height, heights = 9.81, 1.0, []
    for _ in range(4):
        speed = math.sqrt(2 * g * height)
        bodies = [body(0.1, (0, 0, 0.05), (0, 0, -speed))]
        c = problem([bodies[0][0]], [contact(bodies, None, 0, (0, 0, 0), (0, 0, 1), restitution=e, mu=0.3)])
        solve(c)
        solve_restitution(c)
        height = c.u[5] ** 2 / (2 * g)
        heights.append(height)
    assert heights == pytest.approx([e ** (2 * k) for k in range(1, 5)], rel=1e-9)


def test_slow_contact_does_not_bounce():
    bodies = [body(1.0, (0, 0, 0), (0, 0, -0.01))]
    c = problem([bodies[0][0]], [contact(bodies, None, 0, (0, 0, 0), (0, 0, 1), restitution=1.0)])
    solve(c)
    assert solve_restitution(c) == 0
    assert c.u[5] == pytest.approx(0, abs=1e-12)


def test_three_equal_balls_at_once():
    c = with_restitution(row_of_balls([1.0, 1.0, 1.0], 1.0), 1.0)
    solve(c)
    solve_restitution(c)
    assert c.u.reshape(3, 6)[:, 3] == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-9)


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=6), st.floats(0.05, 1), st.floats(0.5, 50))
@settings(max_examples=40)
def test_row_of_balls_keeps_momentum_and_obeys_the_law(masses, e, speed):
    c = with_restitution(row_of_balls(masses, speed), e)
    solve(c)
    solve_restitution(c)
    v = c.u.reshape(-1, 6)[:, 3]
    m = np.array(masses)
    assert m @ v == pytest.approx(m[0] * speed, rel=1e-9)
    # Frictionless, one e: kinetic energy between that of e = 0 and the start.
    assert m @ v**2 <= m[0] * speed**2 * (1 + 1e-9)
    if e == 1:
        assert m @ v**2 == pytest.approx(m[0] * speed**2, rel=1e-6)
    assert np.diff(v).min() > -1e-7 * speed
    if len(masses) == 2:
        assert v[1] - v[0] == pytest.approx(e * speed, rel=1e-8)


def test_ball_between_two_walls_pushed_into_one():
    # A ball touching the right wall is hit from the left: both contacts close, both open again.
    bodies = [body(1.0, (0, 0, 0)), body(1.0, (-1, 0, 0), (2.0, 0, 0))]
    blocks = [
        contact(bodies, 0, None, (0.5, 0, 0), (1, 0, 0), restitution=1.0),
        contact(bodies, 1, 0, (-0.5, 0, 0), (1, 0, 0), restitution=1.0),
    ]
    c = problem([s for s, _ in bodies], blocks, tolerance=1e-10)
    solve(c)
    solve_restitution(c)
    # Compression (2, 2) doubled: the middle ball stays, the hitting one returns with its speed.
    assert c.u.reshape(2, 6)[:, 3] == pytest.approx([0.0, -2.0], abs=1e-8)


def kinetic_energy_change(c):
    A, b = problem_matrices(c)
    p = c.impulse[: len(b)]
    return p @ b + 0.5 * p @ A @ p


@pytest.mark.parametrize("seed", range(25))
def test_impacts_never_create_energy(seed):
    # Friction, spin, unequal coefficients, several bodies: the cases in which naive restitution gains energy.
    rng = np.random.default_rng(seed)
    c = random_problem(rng, bodies=4, contacts=6, mu=rng.uniform(0, 1.5), spread=1.0)
    c.restitution[:6] = rng.uniform(0, 1, 6) if seed % 2 else 1.0
    assert solve(c) < AT_CAP
    before = kinetic_energy_change(c)
    scale = abs(before)
    if not solve_restitution(c):
        assert kinetic_energy_change(c) == before
        return
    assert kinetic_energy_change(c) <= 1e-6 * scale
    p = impulses(c)
    A, b = problem_matrices(c)
    v = A @ p.ravel() + b
    assert v[::3].min() > -1e-4 * np.abs(b).max()
    assert (np.hypot(p[:, 1], p[:, 2]) <= c.mu[0] * p[:, 0] * (1 + 1e-9) + 1e-15).all()
    assert (c.floor == 0).all()


@pytest.mark.parametrize(
    ("before", "after", "linear"), [(-1.0, 0.5, 0.5), (-1.0, 0.5, -0.5), (-2.0, 3.0, 0.0), (-1.0, 1e-9, 1.0)]
)
def test_expansion_is_scaled_to_zero_work(before, after, linear):
    # Work along the expansion is before + linear s + quadratic s^2.
    quadratic = after - before - linear
    share = lossless_share(before, before + linear / 2 + quadratic / 4, after)
    assert 0 < share < 1
    assert before + share * linear + share**2 * quadratic == pytest.approx(0, abs=1e-12)


def test_expansion_that_loses_energy_stays_whole():
    assert lossless_share(-1.0, -0.5, -0.2) == 1.0
    assert lossless_share(0.0, 0.1, 0.2) == 0.0
    assert lossless_share(-1.0, 0.1, math.nan) == 0.0


def test_gain_of_energy_is_taken_back():
    # A coefficient that no material has makes the expansion gain: it is cut where the energy is kept.
    bodies = [body(1.0, (0, 0, 0), (0, 0, -1.0))]
    c = problem([bodies[0][0]], [contact(bodies, None, 0, (0, 0, 0), (0, 0, 1), restitution=1.0)])
    solve(c)
    c.restitution[0] = 3.0
    solve_restitution(c)
    assert c.u[5] == pytest.approx(1.0)


def test_friction_uses_the_whole_normal_impulse():
    # A sliding ball hits the ground: dp_t = mu (1 + e) m |v_n| while it still slides.
    bodies = [body(1.0, (0, 0, 0.1), (50.0, 0, -2.0), 0.1)]
    c = problem([bodies[0][0]], [contact(bodies, None, 0, (0, 0, 0), (0, 0, 1), restitution=0.5, mu=0.3)])
    solve(c)
    solve_restitution(c)
    assert c.u[5] == pytest.approx(1.0)
    assert c.u[3] == pytest.approx(50 - 0.3 * 1.5 * 2.0)


def test_island_that_is_not_finite_is_left_alone():
    bodies = [body(1.0, (0, 0, 0), (0, 0, math.nan))]
    c = problem([bodies[0][0]], [contact(bodies, None, 0, (0, 0, 0), (0, 0, 1), restitution=1.0)])
    assert solve(c) == PROBLEM_NOT_FINITE
    assert solve_restitution(c) == 0
    assert (c.impulse == 0).all()


def test_segments_of_other_lengths_bounce():
    # A prismatic joint of mass 3 hits a stop.
    jacobian = np.array([[1.0], [0.0], [0.0]])
    c = problem([Segment(np.array([[3.0]]), np.array([-2.0]))], [Block(0, jacobian, None, None, restitution=0.5)])
    solve(c)
    solve_restitution(c)
    assert c.u[0] == pytest.approx(1.0)
