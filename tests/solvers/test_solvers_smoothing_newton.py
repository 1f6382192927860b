"""Newton's method on smoothed cones: its derivative, and redundant contacts of robots from any start.

Truth: central differences of the map; certificates of solutions on the exact cones, from dense matrices.
"""

from __future__ import annotations

import numpy as np
import pytest

from kido.jit import entry, view
from kido.solvers import BOUNDED, certify, problem_matrices
from kido.solvers.certify import measure_island
from kido.solvers.history import VELOCITY_ROW, load_rows
from kido.solvers.prepare import divide, prepare_island
from kido.solvers.problem import PROBLEM
from kido.solvers.row_space import form_rows, has_room
from kido.solvers.smoothing_newton import (
    STEP,
    X,
    Y,
    differentiate_map,
    has_cones,
    map_rows,
    scale_cones,
    smoothing_newton,
)
from solver_scenes import Block, Segment, problem


@entry("int64(int64)")
def _begin(address):
    """Prepare the one island of a problem, as sweeps leave it; 0 if it is not one of this kind."""
    c = view(PROBLEM, address)
    divide(c)
    prepare_island(c, 0)
    measure_island(c, 0)
    if not (has_room(c, 0) and has_cones(c, 0)):
        return 0
    form_rows(c, 0)
    load_rows(c, 0, VELOCITY_ROW)
    return c.island_row[1]


@entry("int64(int64, int64, int64)")
def _solve(address, cap, far):
    return smoothing_newton(view(PROBLEM, address), 0, cap, far)


@entry("int64(int64)")
def _scale(address):
    c = view(PROBLEM, address)
    scale_cones(c, 0, 0, c.island_row[1])
    return 0


@entry("float64(int64, float64)")
def _map(address, m):
    return map_rows(view(PROBLEM, address), 0, 0, X, Y, m)


@entry("int64(int64, float64)")
def _differentiate(address, m):
    c = view(PROBLEM, address)
    differentiate_map(c, 0, 0, c.island_row[1], m)
    return 0


def robots(seed: int, contacts: int = 12, friction: tuple[float, ...] = (0.6,)):
    """Two bodies of 12 and 10 coordinates that press on each other and on the ground: more rows than coordinates."""
    rng = np.random.default_rng(seed)
    masses = [(lambda x: x @ x.T + 0.1 * np.eye(n))(rng.normal(size=(n, n))) for n in (12, 10)]
    segments = [Segment(m, rng.normal(size=len(m))) for m in masses]
    blocks = []
    for k in range(contacts):
        mu = friction[k % len(friction)]
        pairs = [(0, 1), (0, None), (1, None)][k % 3]
        own = rng.normal(size=(3, len(masses[pairs[0]])))
        other = None if pairs[1] is None else rng.normal(size=(3, 10))
        blocks.append(Block(pairs[0], own, pairs[1], other, mu=mu))
    for k in range(4):
        own = np.zeros((1, 12))
        own[0, 3 * k] = 1.0
        lower, upper = [(0.0, np.inf), (-0.2, 0.2)][k % 2]
        blocks.append(Block(0, own, None, None, kind=BOUNDED, lower=lower, upper=upper))
    return problem(segments, blocks)


def certified(c) -> float:
    """Of contacts and of bounded rows, from dense matrices."""
    matrix, free = problem_matrices(c)
    rows = 3 * sum(int(kind) != BOUNDED for kind in c.kind[: c.num_blocks])
    p = np.array(c.impulse[: c.num_rows])
    v = matrix @ p + free
    contacts = certify(matrix[:rows, :rows], v[:rows] - matrix[:rows, :rows] @ p[:rows], c.mu[: rows // 3], p[:rows])
    kinds = np.array(c.kind[: c.num_blocks])
    lower, upper = (np.array(x[: c.num_blocks])[kinds == BOUNDED] for x in (c.lower, c.upper))
    single = p[rows:]
    step = 1.0 / np.diag(matrix)[rows:]
    defect = single - np.clip(single - step * v[rows:], lower, upper)
    return max(contacts.residual, float(np.linalg.norm(defect) / np.linalg.norm(p)))


@pytest.mark.parametrize("far", [0, 1])
@pytest.mark.parametrize("friction", [(0.6,), (0.0, 0.3, 2.0)])
def test_redundant_contacts_are_solved_without_a_warm_start(far, friction):
    """In at most 80 iterations, all but one of twelve: merit 1 is a residual of 1e-6, and |p| differs by projection."""
    solved = 0
    for seed in range(12):
        c = robots(seed, friction=friction)
        assert _begin(c.address) == 40 > 22
        done = _solve(c.address, 80, far)
        assert 0 < done <= 80
        solved += certified(c) < 2e-6
        assert np.isfinite(c.impulse).all()
    assert solved >= 11


@pytest.mark.parametrize("m", [1.0, 1e-2])
def test_its_derivative_is_that_of_central_differences(m):
    c = robots(5, friction=(0.6, 0.2))
    n = _begin(c.address)
    _scale(c.address)
    rng = np.random.default_rng(2)
    h, x, free = c.history, rng.normal(size=n), rng.normal(size=n)
    matrix = np.array(c.matrix[:n, :n])

    def value(at):
        h[X, :n], h[Y, :n] = at, matrix @ at + free
        size = _map(c.address, m)
        assert size == pytest.approx(np.linalg.norm(h[STEP, :n]), rel=1e-14)
        return -np.array(h[STEP, :n])

    value(x)
    _differentiate(c.address, m)
    got = np.array(c.factor[:n, :n])
    d = 1e-5 * m  # curvature is 1 / m^2 beside a matrix of size 10: 1e-10 / m^2 * m^2
    for k in range(n):
        e = np.zeros(n)
        e[k] = d
        assert got[:, k] == pytest.approx((value(x + e) - value(x - e)) / (2 * d), abs=2e-6)


def test_without_an_iteration_nothing_changes():
    c = robots(1)
    _begin(c.address)
    done = _solve(c.address, 80, 1)
    before = np.array(c.impulse[: c.num_rows])
    assert done > 0 and _begin(c.address) > 0 and _solve(c.address, 0, 1) == 0
    np.testing.assert_allclose(c.impulse[: c.num_rows], before, rtol=0, atol=1e-12 * np.abs(before).max())


def test_islands_without_cones_are_left_to_others():
    c = robots(1)
    c.floor[0] = 0.1
    assert _begin(c.address) == 0
