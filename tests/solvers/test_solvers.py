"""Contact problems of many blocks: exact answers, other solvers' answers, the certificate, and bad data."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls
from scipy.sparse.csgraph import connected_components

from kido.errors import ModelError
from kido.solvers import (
    AT_CAP,
    CONVERGED,
    FELL_BACK,
    PROBLEM_NOT_FINITE,
    certify,
    new_problem,
    problem_matrices,
    solve,
    solve_admm,
    solve_gauss_seidel,
    solve_position,
)
from solver_scenes import (
    BOUNDED,
    Block,
    G,
    H,
    Segment,
    body,
    contact,
    dense_admm,
    impulses,
    problem,
    random_problem,
    residual,
    stack,
)

SOLVERS = [solve, solve_gauss_seidel, solve_admm]


def certified(c) -> float:
    A, b = problem_matrices(c)
    n = c.num_blocks
    return certify(A, b, c.mu[:n], impulses(c)).residual


# --- exact answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("count", [1, 5, 10])
def test_stack_carries_its_weight(solver, count):
    # Each level carries what is above it: (n - j) m g. At a residual of 1e-8 the worst mode of a 10-cube
    # stack leaves 1e-6 of the force.
    c = stack(count, tolerance=1e-8, sweeps=3000)
    assert solver(c) in (CONVERGED, FELL_BACK)
    carried = impulses(c)[:, 0].reshape(count, 4).sum(axis=1)
    assert carried == pytest.approx(G * H * np.arange(count, 0, -1), rel=2e-6)
    assert np.abs(c.u).max() < 1e-5 * G * H
    assert certified(c) <= 1.0001e-8


@pytest.mark.parametrize("ratio", [100.0, 1000.0, 1e6])
def test_heavy_on_top(ratio):
    c = stack(10, top=ratio)
    assert solve(c) == FELL_BACK
    assert certified(c) <= 1e-6
    carried = impulses(c)[:, 0].reshape(10, 4).sum(axis=1)
    # Asked for are 1e-4 of the approach speed; the heavy body's force is the sharpest test of it.
    assert carried == pytest.approx(G * H * (ratio + np.arange(9, -1, -1)), rel=1e-3)
    assert abs(c.u[-1]) < 1e-3 * G * H  # it does not sink


def incline(angle, mu, push=(0.0, 0.0, 0.0)):
    n = np.array([-math.sin(angle), 0, math.cos(angle)])
    bodies = [body(1.0, n * 0.05, np.array([0, 0, -G]) * H + push)]
    along = np.array([math.cos(angle), 0, math.sin(angle)])
    points = [0.05 * (x * along + y * np.array([0, 1, 0])) for x in (-1, 1) for y in (-1, 1)]
    return problem([bodies[0][0]], [contact(bodies, None, 0, p, n, mu=mu) for p in points], tolerance=1e-10)


def test_block_on_incline_sticks_below_the_friction_angle():
    c = incline(math.radians(20), 0.37)
    assert solve(c) in (CONVERGED, FELL_BACK)
    assert np.abs(c.u).max() < 1e-12


def test_block_on_incline_slides_above_the_friction_angle():
    angle, mu = math.radians(20), 0.35
    c = incline(angle, mu)
    assert solve(c) in (CONVERGED, FELL_BACK)
    speed = G * H * (math.sin(angle) - mu * math.cos(angle))
    expected = -speed * np.array([math.cos(angle), 0, math.sin(angle)])
    assert c.u[3:] == pytest.approx(expected, abs=1e-9 * G * H)
    assert c.u[:3] == pytest.approx(np.zeros(3), abs=1e-9)


@pytest.mark.parametrize(("degrees", "k"), [(45, 1.2), (30, 1.5), (45, 0.999)])
def test_push_at_an_angle(degrees, k):
    # Coulomb's cone is round: a push of k mu m g accelerates along itself by (k - 1) mu g in any direction.
    mu = 0.5
    direction = np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0])
    # The push acts at the height of the ground, or the cube would tip.
    bodies = [body(1.0, (0, 0, 0.05), np.array([0, 0, -G * H]) + k * mu * G * H * direction)]
    arm = np.array([0, 0, -0.05])
    bodies[0][0].velocity[:3] = np.linalg.solve(bodies[0][0].mass[:3, :3], np.cross(arm, k * mu * G * H * direction))
    blocks = [contact(bodies, None, 0, (x * 0.05, y * 0.05, 0), (0, 0, 1), mu=mu) for x in (-1, 1) for y in (-1, 1)]
    c = problem([bodies[0][0]], blocks, tolerance=1e-10)
    assert solve(c) in (CONVERGED, FELL_BACK)
    expected = max(k - 1, 0) * mu * G * H * direction
    assert c.u[3:] == pytest.approx(expected, abs=1e-8 * G * H)


# --- other solvers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(6))
def test_random_problems_against_dense_admm(solver, seed):
    rng = np.random.default_rng(seed)
    c = random_problem(rng, mu=(0.0, 0.3, 1.0)[seed % 3], tolerance=1e-9, sweeps=3000, admm_iterations=3000)
    status = solver(c)
    assert status in (CONVERGED, FELL_BACK)
    A, b = problem_matrices(c)
    n = c.num_blocks
    mu = c.mu[:n]
    p = impulses(c)
    assert residual(A, b, mu, p) == pytest.approx(c.total_residual, rel=1e-3, abs=1e-9)
    assert c.total_residual <= 1e-9
    # The reported velocity is the one of the impulses.
    v = A @ p.ravel() + b
    assert v[::3].min() > -1e-7
    if mu[0] < 1.0:
        # Unique for moderate friction: the independent solver finds the same contact velocities.
        reference = A @ dense_admm(A, b, mu).ravel() + b
        assert v == pytest.approx(reference, abs=1e-6 * np.abs(b).max())


@pytest.mark.parametrize("seed", range(4))
def test_ill_conditioned_and_redundant_problems(seed):
    # Masses over four decades, four times as many contacts as bodies can need.
    rng = np.random.default_rng(100 + seed)
    c = random_problem(rng, bodies=4, contacts=16, mu=0.5, spread=2.0, admm_iterations=3000, acceptance=1.0)
    A, _ = problem_matrices(c)
    assert np.linalg.matrix_rank(A) < len(A)
    assert solve(c) in (CONVERGED, FELL_BACK)
    assert certified(c) <= 1.0001e-6


def random_tree(rng, n):
    root = rng.normal(size=(n, n))
    return Segment(root @ root.T + 0.1 * np.eye(n), rng.normal(size=n))


@pytest.mark.parametrize("solver", SOLVERS)
def test_segments_of_any_length(solver):
    rng = np.random.default_rng(8)
    lengths = [6, 7, 33, 1, 2]
    segments = [random_tree(rng, n) for n in lengths]
    blocks = []
    for a, b in [(0, 1), (1, 2), (2, None), (None, 0), (2, 2), (3, 4)]:
        ja = rng.normal(size=(3, lengths[a])) if a is not None else None
        jb = rng.normal(size=(3, lengths[b])) if b is not None and b != a else None
        blocks.append(Block(a, ja, None if b == a else b, jb, mu=0.4))
    c = problem(segments, blocks, tolerance=1e-9, sweeps=2000)
    assert solver(c) in (CONVERGED, FELL_BACK)
    assert certified(c) <= 1.0001e-9
    # u = u_free + M^-1 J^T p, formed here from the matrices.
    start = np.concatenate([[0], np.cumsum(lengths)])
    for k, segment in enumerate(segments):
        force = sum(
            j.T @ impulses(c)[i]
            for i, blk in enumerate(blocks)
            for s, j in ((blk.a, blk.jacobian_a), (blk.b, blk.jacobian_b))
            if s == k and j is not None
        )
        expected = segment.velocity + np.linalg.solve(segment.mass, force)
        assert c.u[start[k] : start[k + 1]] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_bounded_rows_are_bounded_least_squares(solver):
    # min 1/2 |R^T p + R^-1 b|^2 within bounds, A = R R^T.
    rng = np.random.default_rng(9)
    segment = random_tree(rng, 12)
    jacobians = rng.normal(size=(8, 12))
    bounds = [(0, np.inf), (-0.1, 0.1), (-np.inf, np.inf), (-np.inf, 0)] * 2
    blocks = [
        Block(0, j[None], None, None, kind=BOUNDED, lower=lo, upper=hi, bias=(rng.normal(),))
        for j, (lo, hi) in zip(jacobians, bounds, strict=True)
    ]
    c = problem([segment], blocks, tolerance=1e-10, sweeps=3000, admm_iterations=3000)
    assert solver(c) in (CONVERGED, FELL_BACK)
    A, b = problem_matrices(c)
    root = np.linalg.cholesky(A)
    lower, upper = np.array(bounds).T
    expected = lsq_linear(root.T, -np.linalg.solve(root, b), (lower, upper), tol=1e-14).x
    assert c.impulse == pytest.approx(expected, abs=1e-7 * np.abs(expected).max())


def test_compliance_softens():
    # One body on one frictionless contact with softness r: p = -b / (1/m + r).
    bodies = [body(2.0, (0, 0, 0), (0, 0, -1.0))]
    c = problem([bodies[0][0]], [contact(bodies, None, 0, (0, 0, 0), (0, 0, 1))])
    c.compliance[:] = 0.25
    for solver in SOLVERS:
        c.impulse[:] = 0
        assert solver(c) in (CONVERGED, FELL_BACK)
        assert c.impulse[0] == pytest.approx(1 / (0.5 + 0.25), rel=1e-6)


def test_position_correction_against_nnls():
    rng = np.random.default_rng(10)
    c = random_problem(rng, bodies=8, contacts=10, position_sweeps=2000)
    c.position_bias[:] = -rng.uniform(0, 1, 10)
    solve(c)
    before = c.u.copy()
    assert solve_position(c) > 1
    A, _ = problem_matrices(c)
    normal = A[::3, ::3]
    root = np.linalg.cholesky(normal + 1e-14 * np.eye(10))
    expected, _ = nnls(root.T, -np.linalg.solve(root, c.position_bias))
    # The sweeps stop at 1e-4 of the largest bias.
    assert normal @ c.position_impulse == pytest.approx(normal @ expected, abs=2e-3)
    assert (normal @ c.position_impulse + c.position_bias).min() > -2e-3
    assert (c.u == before).all()


def test_no_penetration_means_no_position_correction():
    c = stack(3)
    solve(c)
    c.position_bias[:] = 0.01
    assert solve_position(c) == 0
    assert (c.u_position == 0).all()


# --- islands, warm start, repeatability ------------------------------------------------------------


def test_islands_are_connected_components():
    rng = np.random.default_rng(11)
    bodies = [body(1.0, rng.normal(size=3)) for _ in range(30)]
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, 30, (20, 2)) if a != b]
    blocks = [contact(bodies, a, b, (0, 0, 0), (0, 0, 1)) for a, b in pairs]
    blocks += [contact(bodies, None, i, (0, 0, 0), (0, 0, 1)) for i in range(0, 30, 3)]
    c = problem([s for s, _ in bodies], blocks)
    assert solve(c) in (CONVERGED, FELL_BACK)
    graph = np.zeros((30, 30))
    for a, b in pairs:
        graph[a, b] = 1
    _, label = connected_components(graph, directed=False)
    of_block = [label[b.b] for b in blocks]
    islands = [c.island_block[c.island_start[k] : c.island_start[k + 1]].tolist() for k in range(c.num_islands)]
    assert sorted(m for members in islands for m in members) == list(range(len(blocks)))
    assert len(islands) == len(set(of_block))
    for members in islands:
        assert len({of_block[m] for m in members}) == 1
        assert members == sorted(members)


def test_solution_is_its_own_warm_start():
    c = stack(6)
    solve(c)
    p = c.impulse.copy()
    assert solve(c) == CONVERGED
    assert c.total_iterations == 0
    assert (c.impulse == p).all()


def test_results_repeat_bit_for_bit_and_survive_pickle():
    c = random_problem(np.random.default_rng(12))
    d = pickle.loads(pickle.dumps(c))
    solve(c)
    solve(d)
    assert (c.impulse == d.impulse).all() and (c.u == d.u).all()


def test_large_islands_stop_at_their_cap_and_say_so():
    c = stack(12, small_rows=30, sweeps_large=4)
    assert solve(c) == AT_CAP
    assert c.total_iterations == 4
    assert c.total_residual == pytest.approx(certified(c), rel=1e-6)
    assert c.total_residual > 1e-4


# --- bad data --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("field", ["u_free", "J", "Y", "bias", "mu", "compliance"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_bad_numbers_stay_in_their_island(solver, field, value):
    bodies = [body(1.0, (i, 0, 0), (0, 0, -G * H)) for i in range(2)]
    c = problem([s for s, _ in bodies], [contact(bodies, None, i, (i, 0, -0.1), (0, 0, 1)) for i in range(2)])
    getattr(c, field)[0] = value
    if field in ("J", "Y"):
        getattr(c, field)[:6] = value
    assert solver(c) == PROBLEM_NOT_FINITE
    assert c.island_status[:2].tolist() == [PROBLEM_NOT_FINITE, CONVERGED if solver is not solve_admm else FELL_BACK]
    assert (c.impulse[:3] == 0).all()
    assert (c.u[:6] == c.u_free[:6])[np.isfinite(c.u_free[:6])].all()
    assert np.isfinite(c.impulse).all() and np.isfinite(c.u[6:]).all()
    assert np.abs(c.u[6:]).max() < 1e-6


def test_bad_warm_start_is_dropped():
    c = stack(3)
    c.impulse[:] = math.nan
    c.impulse[4] = math.inf
    assert solve(c) in (CONVERGED, FELL_BACK)
    assert certified(c) <= 1.0001e-6


def test_warm_start_outside_the_cone_is_projected():
    c = stack(3)
    c.impulse[:] = np.random.default_rng(1).normal(size=c.impulse.size)
    assert solve(c) in (CONVERGED, FELL_BACK)
    p = impulses(c)
    assert p[:, 0].min() >= 0


def test_empty_problem():
    c = new_problem(blocks=0, rows=0, dofs=0, pool=0)
    assert solve(c) == CONVERGED
    assert solve_position(c) == 0


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"tolerence": 1e-6}, "unknown solver settings.*tolerence.*valid are.*tolerance"),
        ({"tolerance": "small"}, "'tolerance': expected a number, got 'small'"),
        ({"sweeps": float("nan")}, "'sweeps': expected a number, got nan"),
        ({"blocks": -1}, "blocks: expected a whole number of at least 0, got -1"),
        ({"pool": 10.5}, "pool: expected a whole number"),
    ],
)
def test_bad_sizes_and_settings_of_a_problem_are_refused(wrong, match):
    with pytest.raises(ModelError, match=match):
        new_problem(**{"blocks": 2, "rows": 6, "dofs": 4, "pool": 10} | wrong)


def test_problem_without_blocks_passes_the_free_velocity_on():
    c = new_problem(blocks=2, rows=6, dofs=4, pool=10)
    c.num_dofs = 4
    c.u_free[:] = [1, 2, 3, 4]
    assert solve(c) == CONVERGED
    assert c.u.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("mu", [0.0, 10.0])
def test_extreme_friction(mu):
    c = random_problem(np.random.default_rng(13), mu=mu, admm_iterations=5000)
    status = solve(c)
    p = impulses(c)
    assert status in (CONVERGED, FELL_BACK)
    assert certified(c) <= 1.0001e-6
    if mu == 0:
        assert (p[:, 1:] == 0).all()
    else:
        c.mu[:] = 1e8  # beyond what a residual can resolve, but no harm is done
        solve(c)
        assert np.isfinite(c.impulse).all() and np.isfinite(c.u).all()


def test_contact_of_two_static_sides():
    c = problem([Segment(np.eye(6), np.ones(6))], [Block(None, None, None, None, mu=0.5, bias=(-1.0, 0, 0))])
    assert solve(c) in (CONVERGED, AT_CAP)
    assert np.isfinite(c.impulse).all()


def test_unknown_setting():
    with pytest.raises(ModelError, match="unknown solver settings"):
        new_problem(blocks=1, rows=3, dofs=6, pool=36, tollerance=1e-3)


def test_plain_python_gives_the_same():
    script = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from solver_scenes import stack\nfrom kido.solvers import solve\n"
        "c = stack(2, velocity=(.01, .02, 0)); print(solve(c), *map(float.hex, c.impulse))"
    )
    out = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "NUMBA_DISABLE_JIT": flag},
            cwd=Path(__file__).resolve().parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for flag in "01"
    ]
    assert out[0][0] == out[1][0]
    compiled, plain = (np.array([float.fromhex(x) for x in o[1:]]) for o in out)
    # Rounding differs (fused multiply-add), and the convergence tolerance is 1e-6.
    assert compiled == pytest.approx(plain, abs=1e-5 * np.abs(plain).max())
