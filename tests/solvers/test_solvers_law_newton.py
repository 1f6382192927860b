"""Newton's method on the exact laws in body space, its factorization without symmetry, and what it leaves alone.

Truth: dense matrices in NumPy, differences of projections, the certified residual of what is left.
"""

from __future__ import annotations

import numpy as np
import pytest

from kido.jit import entry, view
from kido.solvers import AT_CAP, BOUNDED, CONTACT, certify, problem_matrices, solve
from kido.solvers.body_lu import add_law, factor_both, has_lower_room, solve_both, start_both
from kido.solvers.body_matrix import PER_BLOCK, PLACES, plan_island
from kido.solvers.certify import measure_island
from kido.solvers.history import load_rows
from kido.solvers.law_newton import solve_laws
from kido.solvers.laws import V, contact_law, follow_contact
from kido.solvers.prepare import start
from kido.solvers.problem import PROBLEM, block_segments
from kido.solvers.rows import fastest_approach
from solver_scenes import Block, Segment, problem, random_graph, random_problem, residual, stack, with_masses


@entry("int64(int64, float64[::1])")
def _solve_k(address, g):
    """Factorize K = M + J^T G J of island 0, the same G for all blocks, and solve it for `direction`: 1 if it went."""
    c = view(PROBLEM, address)
    if not plan_island(c, 0) or not has_lower_room(c):
        return 0
    start_both(c)
    place = c.plan[PLACES]
    for e in range(c.island_start[0], c.island_start[1]):
        b = c.island_block[e]
        rows = 1 if c.kind[b] == BOUNDED else 3
        add_law(c, b, place, g[0], g[1], g[2], g[3], g[4], g[5], rows)
        place += PER_BLOCK
    if not factor_both(c):
        return 0
    solve_both(c, c.direction)
    return 1


@entry("int64(int64, int64)")
def _solve_laws(address, cap):
    """Newton's method on island 0 from the impulses as they are."""
    c = view(PROBLEM, address)
    start(c)
    c.island_approach[0] = fastest_approach(c, 0)
    iterations = solve_laws(c, 0, cap)
    measure_island(c, 0)
    return iterations


@entry("int64(int64, float64, float64[::1], float64[::1])")
def _law(address, penalty, d, out):
    """Impulse of contact 0 by its linearized law, whose own velocity has changed by d."""
    c = view(PROBLEM, address)
    start(c)
    load_rows(c, 0, V)
    contact_law(c, 0, 0, penalty)
    follow_contact(c, 0, 0, d[0], d[1], d[2])
    out[0], out[1], out[2] = c.impulse[0], c.impulse[1], c.impulse[2]
    return 0


def dense(c, g: np.ndarray) -> np.ndarray:
    """K from all rows, G for contacts, its first entry for bounded rows."""
    G = np.array([[g[0], 0, 0], [g[1] * g[0], g[3], g[4]], [g[2] * g[0], g[4], g[5]]])
    n = c.num_dofs
    K = np.zeros((n, n))
    for dof, at in ((d, c.inertia_at[d] - 1) for d in range(n) if c.inertia_at[d] > 0):
        size = next(len_ for b in range(c.num_blocks) for d, len_, _ in block_segments(c, b) if d == dof)
        K[dof : dof + size, dof : dof + size] = c.inertia[at : at + size * size].reshape(size, size)
    for b in range(c.num_blocks):
        rows = 1 if c.kind[b] == BOUNDED else 3
        J = np.zeros((rows, n))
        for dof, length, at in block_segments(c, b):
            J[:, dof : dof + length] = c.J[at : at + rows * length].reshape(rows, length)
        K += J.T @ (G if rows == 3 else G[:1, :1]) @ J
    return K


@pytest.mark.parametrize("seed", range(6))
def test_the_factorization_solves_what_the_dense_one_solves(seed):
    """Segments of mixed lengths; G not symmetric. 1e-10: rounding at a condition of some 1e4."""
    segments, blocks = random_graph(seed)
    for block in blocks:
        block.more = []
    c = with_masses(segments, blocks)
    solve(c)
    assert c.num_islands == 1
    g = np.array([50.0, 0.4, -0.3, 20.0, 3.0, 10.0])
    K = dense(c, g)
    assert np.abs(K - K.T).max() > 1.0
    right = np.random.default_rng(seed).normal(size=c.num_dofs)
    c.direction[: c.num_dofs] = right
    assert _solve_k(c.address, g) == 1
    expected = np.linalg.solve(K, right)
    np.testing.assert_allclose(c.direction[: c.num_dofs], expected, atol=1e-10 * np.abs(expected).max())


def point(velocity, impulse, mu=0.6, soft=0.0):
    """A contact of a particle of 2 kg with the ground."""
    c = problem([Segment(2.0 * np.eye(3), np.array(velocity, float))], [Block(0, np.eye(3), None, None, mu=mu)])
    c.impulse[:3], c.compliance[:3] = impulse, soft
    return c


@pytest.mark.parametrize("soft", [0.0, 0.05])
@pytest.mark.parametrize(
    "velocity", [(-1.0, 0.2, 0.1), (-1.0, 3.0, -1.0), (1.0, 0.3, 0.0)], ids=["sticks", "slides", "opens"]
)
def test_laws_have_the_solution_as_their_fixed_point(velocity, soft):
    """At the exact solution the linearized law gives back the impulse, and its derivative is that of the law.

    The derivative: the linearized law p' = q - G d is solved with the equation of motion for another free velocity,
    and compared with the exact solution there. 1e-6: of second order in the change of 1e-4, which 1 / penalty damps.
    """
    c = point(velocity, (0.0, 0.0, 0.0), soft=soft)
    solve(c)
    exact, out = c.impulse[:3].copy(), np.zeros(3)
    _law(c.address, 1e3, np.zeros(3), out)
    np.testing.assert_allclose(out, exact, atol=1e-9)
    q, G = out.copy(), np.zeros((3, 3))
    for k in range(3):
        c.impulse[:3] = exact
        _law(c.address, 1e3, np.eye(3)[k], out)
        G[:, k] = q - out
    change = np.array([-1e-4, 2e-4, 1e-4])
    moved = point(np.array(velocity) + change, exact, soft=soft)
    solve(moved)
    predicted = np.linalg.solve(np.eye(3) + G / 2.0, q - G @ (change - exact / 2.0))  # d = change + (p' - p) / m
    np.testing.assert_allclose(predicted, moved.impulse[:3], atol=1e-6)
    assert np.abs(moved.impulse[:3] - exact).max() > 1e-4 or exact[0] == 0.0


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", [0, 2, 4, 5, 6, 7])  # each one island
def test_random_islands_are_solved_or_left_as_they_were(seed, mu):
    """Impulses that are reached meet the tolerances, of the exact cone; where none are, not a bit is changed."""
    rng = np.random.default_rng(seed)
    c = random_problem(rng, bodies=5, contacts=9, mu=mu, inertias=180)
    give_masses(c)
    c.impulse[: c.num_rows] = 0.1 * np.abs(rng.normal(size=c.num_rows))
    _solve_laws(c.address, 0)
    assert c.num_islands == 1
    before, merit = c.impulse[: c.num_rows].copy(), c.island_residual[0]
    iterations = _solve_laws(c.address, 25)
    assert iterations >= 0
    if c.island_residual[0] > 1e-6:
        assert c.island_residual[0] <= merit
    matrix, free = problem_matrices(c)
    count = c.num_blocks
    found = residual(matrix, free, c.mu[:count], c.impulse[: c.num_rows])
    assert found == pytest.approx(c.island_residual[0], rel=1e-3, abs=1e-9)
    if iterations == 0:
        np.testing.assert_array_equal(c.impulse[: c.num_rows], before)


def test_most_random_islands_are_solved_by_it_alone():
    """18 of 20 from no impulses at all, in at most 25 iterations; the default solves every one."""
    solved = 0
    for seed in range(20):
        c = random_problem(np.random.default_rng(seed), bodies=5, contacts=9, mu=0.5, inertias=180)
        give_masses(c)
        if c.num_rows == 0 or _islands(c) != 1:
            solved += 1
            continue
        _solve_laws(c.address, 25)
        solved += c.island_residual[0] <= 1e-6
    assert solved >= 18


def _islands(c) -> int:
    solve(c)
    c.impulse[:] = 0.0
    return c.num_islands


def give_masses(c) -> None:
    """Masses of free bodies, from their rows and responses."""
    for k, dof in enumerate(range(0, c.num_dofs, 6)):
        mass = np.eye(6)
        for b in range(c.num_blocks):
            for first, length, at in block_segments(c, b):
                if first == dof:
                    J, Y = (x[at : at + 3 * length].reshape(3, length) for x in (c.J, c.Y))
                    i, j = np.argmax(np.abs(J[0, :3])), 3 + np.argmax(np.abs(J[0, 3:]))
                    mass = np.diag(np.repeat([J[0, i] / Y[0, i], J[0, j] / Y[0, j]], 3))
        c.inertia_at[dof] = 1 + 36 * k
        c.inertia[36 * k : 36 * (k + 1)] = mass.ravel()


def test_a_stack_is_solved_in_few_iterations():
    """Redundant contacts, four to a face: 5 cubes from no impulses; the sum of each face's impulses is the
    weight, to 1e-5 for a residual of 1e-6 in twenty impulses.
    """
    c = stack(5, inertias=180)
    give_masses(c)
    assert 0 < _solve_laws(c.address, 25) <= 8
    matrix, free = problem_matrices(c)
    assert certify(matrix, free, 0.5, c.impulse[: c.num_rows]).residual < 1e-6
    faces = c.impulse[: c.num_rows].reshape(5, 4, 3)[:, :, 0].sum(axis=1)
    np.testing.assert_allclose(faces, 9.81e-3 * np.arange(5, 0, -1), rtol=1e-5)


@pytest.mark.parametrize("what", ["masses", "floor", "third segment", "friction"])
def test_what_it_cannot_take_is_left_to_others(what):
    segments = [Segment(np.eye(3), np.array([-1.0, 0.1, 0.0])) for _ in range(3)]
    third = [(2, np.eye(3))] if what == "third segment" else []
    blocks = [Block(0, np.eye(3), 1, -np.eye(3), mu=0.5, kind=CONTACT, more=third) for _ in range(2)]
    blocks.append(Block(1, np.eye(3), None, None, mu=0.5))
    c = with_masses(segments, blocks)
    if what == "masses":
        c.inertia_at[:] = 0
    elif what == "floor":
        c.floor[0] = 0.1
    elif what == "friction":
        c.mu[0] = 1e3
    assert _solve_laws(c.address, 25) == -1
    np.testing.assert_array_equal(c.impulse[: c.num_rows], [c.floor[0], *8 * [0.0]])


def test_without_iterations_it_is_not_asked():
    """`newton_steps=0`: one sweep of a stack is not enough, and says so."""
    c = stack(10, inertias=360, sweeps=1, newton_steps=0, admm_iterations=0)
    give_masses(c)
    assert solve(c) == AT_CAP
