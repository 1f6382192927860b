"""Rolling and torsional friction in the solvers: exact answers, their laws evaluated in NumPy, fall-backs."""

from __future__ import annotations

import numpy as np
import pytest

from kido.solvers import (
    ADMM,
    CONTACT,
    CONVERGED,
    FELL_BACK,
    PGS,
    SPIN_BLOCK,
    Dantzig,
    GaussSeidel,
    Lemke,
    problem_matrices,
    solve,
    solve_admm,
    solve_gauss_seidel,
    solve_with,
)
from solver_scenes import Block, G, H, Segment, body, contact, frame, problem


def spin(bodies, a, b, normal, rolling, torsion) -> Block:
    """Rolling and torsional friction of the contact before it."""
    directions = frame(normal)

    def rows(i, sign):
        return None if i is None else sign * np.hstack([directions, np.zeros((3, 3))])

    return Block(a, rows(a, -1.0), b, rows(b, 1.0), kind=SPIN_BLOCK, mu=rolling, torsion=torsion)


def ball(velocity, angular, mass=1.0, radius=0.1):
    """A solid ball on the ground z = 0 after a step of gravity."""
    matrix = np.diag([0.4 * mass * radius**2] * 3 + [mass] * 3)
    segment = Segment(matrix, np.concatenate([angular, np.asarray(velocity, float) + [0, 0, -G * H]]))
    return segment, np.array([0.0, 0.0, radius])


def on_ground(velocity, angular, mu, rolling, torsion, **sizes):
    items = [ball(velocity, angular)]
    blocks = [contact(items, None, 0, (0, 0, 0), (0, 0, 1), mu=mu), spin(items, None, 0, (0, 0, 1), rolling, torsion)]
    return problem([items[0][0]], blocks, **sizes)


def defect(c) -> float:
    """Largest violation of the laws, as impulse beside the largest: cones, complementarity, maximal dissipation."""
    A, b = problem_matrices(c)
    rows = A.shape[0]
    p = c.impulse[:rows].copy()
    v = A @ p + b
    worst = 0.0
    for k in range(c.num_blocks):
        i = int(c.row[k])
        q, w, step = p[i : i + 3], v[i : i + 3], 3.0 / np.trace(A[i : i + 3, i : i + 3])
        if c.kind[k] == CONTACT:
            x = q - step * (w + [c.mu[k] * np.hypot(w[1], w[2]), 0, 0])
            n, t, mu = x[0], np.hypot(x[1], x[2]), c.mu[k]
            if t <= mu * n:
                y = x
            elif mu * t <= -n:
                y = np.zeros(3)
            else:
                m = (mu * t + n) / (1 + mu * mu)
                y = np.array([m, mu * m * x[1] / t, mu * m * x[2] / t])
            size = 1.0
        else:
            normal = p[i - 3]
            x = q - step * w
            across = c.mu[k] * normal
            t = np.hypot(x[1], x[2])
            y = np.concatenate([[np.clip(x[0], -c.torsion[k] * normal, c.torsion[k] * normal)], x[1:]])
            y[1:] *= across / t if t > across else 1.0
            size = 1.0 / 0.3  # to impulses at an arm of the bodies' size
        worst = max(worst, size * float(np.linalg.norm(q - y)))
    return worst / np.abs(p).max()


def random_spins(seed, **settings):
    rng = np.random.default_rng(seed)
    items = []
    for _ in range(5):
        segment, x = body(10 ** rng.uniform(-0.5, 0.5), rng.normal(size=3), rng.normal(size=3), 0.5)
        segment.velocity[:3] = 3.0 * rng.normal(size=3)
        items.append((segment, x))
    blocks = []
    for _ in range(7):
        a, b = (int(k) for k in rng.choice(5, 2, replace=False))
        ground = rng.random() < 0.4
        normal, point = rng.normal(size=3), items[b][1] + rng.normal(size=3) * 0.3
        blocks.append(contact(items, None if ground else a, b, point, normal, mu=0.5))
        if rng.random() < 0.7:
            blocks.append(spin(items, None if ground else a, b, normal, rng.uniform(0, 0.1), rng.uniform(0, 0.1)))
    return problem([s for s, _ in items], blocks, **settings)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("how", [solve, solve_gauss_seidel, solve_admm])
def test_solution_meets_the_laws(how, seed):
    """The natural map, written here in NumPy, vanishes to the solver's tolerance (its default, ten times 1e-6)."""
    c = random_spins(seed, sweeps=2000, admm_iterations=4000)
    assert how(c) <= FELL_BACK
    assert defect(c) < 1e-4


def test_solvers_agree():
    """Gauss-Seidel and ADMM find the same velocities where the solution is unique enough to be found by both."""
    one, two = random_spins(3, tolerance=1e-10, sweeps=5000), random_spins(3, tolerance=1e-10, admm_iterations=20000)
    solve_gauss_seidel(one)
    solve_admm(two)
    assert np.allclose(one.u, two.u, atol=1e-6)


def test_rolling_and_torsional_impulses_of_a_ball():
    """Rolling without slip, mu_r below the arm: tau = mu_r p_n against the rolling, -tau_n against the spin."""
    v, r = 2.0, 0.1
    c = on_ground((v, 0, 0), (0, v / r, 5.0), mu=0.8, rolling=0.004, torsion=0.003)
    assert solve(c) == CONVERGED
    pn = G * H
    # J_roll and slip: m dv = p_t, I dw = -r p_t - tau with dv = r dw: dv = -tau r / (I + m r^2) = -(5/7) tau / (m r).
    tau = 0.004 * pn
    assert c.u[3] == pytest.approx(v - 5 / 7 * tau / r, rel=1e-9)
    assert c.u[1] * r == pytest.approx(c.u[3], rel=1e-7)
    assert c.u[2] == pytest.approx(5.0 - 0.003 * pn / (0.4 * r * r), rel=1e-9)
    assert c.u[5] == pytest.approx(0.0, abs=1e-9)


def test_small_turns_are_held():
    """Below the bounds the ball neither rolls nor spins."""
    c = on_ground((1e-5, 0, 0), (0, 1e-4, 1e-3), mu=0.8, rolling=0.01, torsion=0.01)
    solve(c)
    assert np.abs(c.u).max() < 1e-9


def test_no_pressure_no_torque():
    """A contact that opens has no rolling or torsional friction."""
    c = on_ground((0, 0, 1.0), (1.0, 2.0, 3.0), mu=0.8, rolling=0.1, torsion=0.1)
    solve(c)
    assert not c.impulse[:6].any()
    assert np.array_equal(c.u, c.u_free)


@pytest.mark.parametrize("solver", [GaussSeidel(2000), ADMM(4000), PGS(3000, tolerance=1e-12)])
def test_chosen_solvers_know_spin(solver):
    """One ball: the pyramid of PGS is exact along its tangents."""
    c = on_ground((2.0, 0, 0), (0, 20.0, 5.0), mu=0.8, rolling=0.004, torsion=0.003, **solver.sizes())
    solve_with(c, solver)
    assert c.u[3] == pytest.approx(2.0 - 5 / 7 * 0.004 * G * H / 0.1, rel=1e-7)
    assert c.total_fallbacks == 0  # no fall-back


@pytest.mark.parametrize("solver", [Dantzig(), Lemke()])
def test_pivoting_solvers_leave_spin_to_the_default(solver):
    c = on_ground((2.0, 0, 0), (0, 20.0, 5.0), mu=0.8, rolling=0.004, torsion=0.003, **solver.sizes())
    assert solve_with(c, solver) == FELL_BACK
    assert c.u[3] == pytest.approx(2.0 - 5 / 7 * 0.004 * G * H / 0.1, rel=1e-9)
