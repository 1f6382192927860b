"""Islands of few long segments, swept in row velocities: their matrix, their solutions, and how they are chosen.

Truth: W = J Y as dense products, row velocities J u + bias + softness p, both to rounding; certificates of solutions.
"""

from __future__ import annotations

import numpy as np
import pytest

from kido.jit import entry, view
from kido.solvers import BOUNDED, CONTACT, problem_matrices, solve, solve_gauss_seidel
from kido.solvers.history import VELOCITY_ROW, load_rows, push_row, push_rows3
from kido.solvers.newton import newton_in_rows
from kido.solvers.prepare import divide, prepare_island
from kido.solvers.problem import PROBLEM
from kido.solvers.row_space import form_rows, has_room
from solver_scenes import Block, Segment, problem


@entry("int64(int64)")
def _form(address):
    """Prepare the one island of a problem and form its rows; 0 if it is not one of this kind."""
    c = view(PROBLEM, address)
    divide(c)
    prepare_island(c, 0)
    if not has_room(c, 0):
        return 0
    form_rows(c, 0)
    load_rows(c, 0, VELOCITY_ROW)
    return c.island_row[1]


@entry("int64(int64, int64, int64, float64, float64, float64)")
def _push(address, rows, k, x, y, z):
    c = view(PROBLEM, address)
    if rows == 1:
        push_row(c, 0, c.island_row[1], k, x)
    else:
        push_rows3(c, 0, c.island_row[1], k, x, y, z)
    return 0


@entry("int64(int64, int64)")
def _newton(address, cap):
    return newton_in_rows(view(PROBLEM, address), 0, cap)


def robot(seed, contacts=4, limits=3, second=True):
    """Contacts of a body of 30 coordinates with the ground and with one of 14, and limits; some of J is zero."""
    rng = np.random.default_rng(seed)
    sizes = (30, 14) if second else (30,)
    masses = [(lambda x: x @ x.T + n * np.eye(n))(rng.normal(size=(n, n))) for n in sizes]
    segments = [Segment(m, rng.normal(size=len(m))) for m in masses]
    blocks = []
    for k in range(contacts):
        own = rng.normal(size=(3, 30)) * (rng.random(30) < 0.5)
        other = rng.normal(size=(3, 14)) if second and k % 2 == 0 else None
        blocks.append(Block(0, own, 1 if other is not None else None, other, mu=0.6, bias=(-0.5, 0.0, 0.0)))
    for k in range(limits):
        own = np.zeros((1, 30))
        own[0, 7 * k] = 1.0
        blocks.append(Block(0, own, None, None, kind=BOUNDED, lower=0.0, bias=(-0.2, 0.0, 0.0)))
    return problem(segments, blocks)


@pytest.mark.parametrize("second", [True, False])
def test_matrix_and_velocities_of_rows(second):
    p = robot(3, second=second)
    p.compliance[:] = 0.01
    p.impulse[: p.num_rows] = 0.1
    n = p.num_rows
    assert _form(p.address) == n == 15
    matrix, free = problem_matrices(p)
    assert p.matrix[:n, :n] == pytest.approx(matrix, abs=1e-13)
    velocity = matrix @ p.impulse[:n] + free
    assert p.history[VELOCITY_ROW, :n] == pytest.approx(velocity, abs=1e-12)
    _push(p.address, 3, 3, 0.3, -0.2, 0.1)
    _push(p.address, 1, 13, 0.5, 0.0, 0.0)
    velocity += matrix[:, 3:6] @ [0.3, -0.2, 0.1] + 0.5 * matrix[:, 13]
    assert p.history[VELOCITY_ROW, :n] == pytest.approx(velocity, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_solutions_are_those_of_the_problem(seed):
    """u is that of the impulses, and what solvers report is what the dense problem says."""
    p, q = robot(seed), robot(seed)
    assert solve(p) == 0
    solve_gauss_seidel(q)
    matrix, free = problem_matrices(p)
    n = len(free)
    assert p.impulse[:n] == pytest.approx(q.impulse[:n], abs=1e-5 * np.abs(p.impulse[:n]).max())
    velocity = matrix @ p.impulse[:n] + free
    for b in range(p.num_blocks):
        i = int(p.row[b])
        if p.kind[b] == CONTACT:
            normal, slip = p.impulse[i], np.hypot(*p.impulse[i + 1 : i + 3])
            assert slip <= 0.6 * normal + 1e-12
            assert velocity[i] >= -1e-4
            assert abs(normal * velocity[i]) <= 1e-4
        else:
            assert p.impulse[i] >= 0.0
            assert velocity[i] >= -1e-4


def test_newton_ends_where_sweeps_do():
    p = robot(1)
    p.sweeps = 2
    solve_gauss_seidel(p)
    assert p.island_residual[0] > 1e-6
    assert 0 < _newton(p.address, 10) < 10
    assert p.island_residual[0] < 1e-6
    reached = p.impulse[: p.num_rows].copy()
    assert solve(p) == 0
    assert p.impulse[: p.num_rows] == pytest.approx(reached, abs=1e-5 * np.abs(reached).max())


def test_short_segments_and_many_rows_are_swept_in_body_velocities():
    rng = np.random.default_rng(0)
    box = Segment(np.eye(6), rng.normal(size=6))
    assert _form(problem([box], [Block(0, rng.normal(size=(3, 6)), None, None)]).address) == 0
    assert _form(robot(0, contacts=60).address) == 0
    wide = Segment(np.eye(200), rng.normal(size=200))
    assert _form(problem([wide], [Block(0, rng.normal(size=(3, 200)), None, None)]).address) == 0
