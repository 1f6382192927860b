"""The sparse factorization in body space and the Newton method that stands on it.

Truth: dense matrices in NumPy. K = M + J^T G J made from the problem's own rows and solved by numpy.linalg; mass
matrices of a forest against the responses M^-1 J^T of its rows. Solutions are measured by the natural map.
"""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.jit import callback, entry, view
from kido.models import build_world, path
from kido.models.scenes import stack_scene
from kido.solvers import (
    AT_CAP,
    BOUNDED,
    body_newton_island,
    problem_matrices,
    solve,
    worker_problem,
)
from kido.solvers.body_matrix import (
    PER_BLOCK,
    PLACES,
    add_block,
    factor_matrix,
    plan_island,
    solve_matrix,
    start_matrix,
)
from kido.solvers.body_newton import cone_slope
from kido.solvers.cone import project_cone
from kido.solvers.problem import PROBLEM, block_segments
from solver_scenes import body_mass, random_graph, random_problem, residual, stack, with_masses


@entry("int64(int64, float64)")
def _solve_k(address, weight):
    """Factorize K = M + weight J^T J of island 0 and solve it for `direction`, in place. Returns 1 if it went well."""
    c = view(PROBLEM, address)
    if not plan_island(c, 0):
        return 0
    start_matrix(c)
    place = c.plan[PLACES]
    for e in range(c.island_start[0], c.island_start[1]):
        add_block(c, c.island_block[e], place, weight, 0.0, 0.0, weight, 0.0, weight)
        place += PER_BLOCK
    if not factor_matrix(c):
        return 0
    solve_matrix(c, c.direction)
    return 1


@entry("float64(float64[::1], float64[::1], float64[:,::1], float64, float64)")
def _cone(y, p, slope, mu, floor):
    """Projection of y into p, and its derivative into slope."""
    p[0], p[1], p[2] = project_cone(y[0], y[1], y[2], mu, floor)
    g00, g01, g02, g11, g12, g22 = cone_slope(y[0], y[1], y[2], mu, floor)
    slope[0, 0], slope[0, 1], slope[0, 2] = g00, g01, g02
    slope[1, 0], slope[1, 1], slope[1, 2] = g01, g11, g12
    slope[2, 0], slope[2, 1], slope[2, 2] = g02, g12, g22
    return 0.0


@pytest.mark.parametrize("seed", range(6))
def test_sparse_factorization_solves_what_the_dense_one_solves(seed):
    segments, blocks = random_graph(seed)
    c = with_masses(segments, blocks)
    solve(c)
    assert c.num_islands == 1
    n = c.num_dofs
    jacobian = np.zeros((c.num_rows, n))
    for b in range(c.num_blocks):
        rows = 1 if c.kind[b] == BOUNDED else 3
        for dof, length, at in block_segments(c, b):
            jacobian[c.row[b] : c.row[b] + rows, dof : dof + length] = c.J[at : at + rows * length].reshape(
                rows, length
            )
    dense = np.zeros((n, n))
    at = 0
    for s in segments:
        m = len(s.velocity)
        dense[at : at + m, at : at + m] = s.mass
        at += m
    dense += 50.0 * jacobian.T @ jacobian
    right = np.random.default_rng(seed).normal(size=n)
    c.direction[:n] = right
    assert _solve_k(c.address, 50.0) == 1
    expected = np.linalg.solve(dense, right)
    np.testing.assert_allclose(c.direction[:n], expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("floor", [0.0, 0.4])
def test_slope_of_the_projection_is_its_derivative(floor):
    """Against central differences; 1e-6 is what they leave with steps of 1e-6 away from the edges."""
    rng = np.random.default_rng(1)
    p, slope, unused = np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3))
    for _ in range(300):
        y, mu = rng.normal(size=3), rng.uniform(0.1, 2.0)
        _cone(y, p, slope, mu, floor)
        differences = np.zeros((3, 3))
        for k in range(3):
            ends = []
            for step in (1e-6, -1e-6):
                moved = y.copy()
                moved[k] += step
                q = np.zeros(3)
                _cone(moved, q, unused, mu, floor)
                ends.append(q)
            differences[:, k] = (ends[0] - ends[1]) / 2e-6
        assert np.linalg.eigvalsh(slope).min() > -1e-12
        if np.abs(differences - slope).max() > 1e-6:  # an edge of the cone within the step
            near = [np.hypot(y[1], y[2]) - mu * y[0], mu * np.hypot(y[1], y[2]) + y[0], p[0] - floor]
            near.append(np.hypot(y[1], y[2]) - mu * floor)
            assert np.abs(near).min() < 5e-6


@pytest.mark.parametrize("seed", range(10))
def test_newton_solves_where_few_sweeps_do_not(seed):
    """One sweep, then Newton's method alone: to the tolerance asked for, on problems with unequal masses."""
    rng = np.random.default_rng(seed)
    plain = random_problem(rng, bodies=5, contacts=14, spread=2.0, mu=0.4)
    n = plain.num_dofs
    options = {"first_sweeps": 1, "sweeps": 1, "admm_iterations": 0, "acceptance": 1.0, "newton_steps": 200}
    rng = np.random.default_rng(seed)
    c = random_problem(rng, bodies=5, contacts=14, spread=2.0, mu=0.4, inertias=6 * n, **options)
    rows = np.arange(0, n, 6)
    for k, dof in enumerate(rows):
        c.inertia_at[dof] = 1 + 36 * k
        c.inertia[36 * k : 36 * (k + 1)] = body_mass(c, int(dof)).ravel()
    c.body_newton = body_newton_island
    assert solve(c) < AT_CAP
    matrix, free = problem_matrices(c)
    assert residual(matrix, free, c.mu[: len(c.kind)], c.impulse) < 1e-5


def test_without_masses_newton_is_left_out():
    c = stack(3)
    c.body_newton = body_newton_island
    assert solve(c) < AT_CAP


@callback
def stay_at_the_middle(world, unused_1, unused_2, unused_3):
    """A step without its last stage. Returns 0."""
    return 0


@pytest.mark.parametrize("name", ["humanoid", "quadruped"])
def test_mass_matrices_of_a_forest_are_inverse_to_responses(name):
    """M Y = J for every row of a step's problem, implicit joint damping included; to rounding."""
    world = kido.World(solver=kido.solvers.PGS())  # which reads rows
    world.add_ground()
    robot = kido.load(path(name))
    world.add_skeleton(robot)
    positions = np.zeros(robot.num_dofs)
    positions[0], positions[5] = 0.3, 0.4
    robot.positions = positions
    for dof in robot.dofs[6:]:
        dof.damping = 0.3
    while len(world.contacts) == 0:
        world.step(20)
    world.engine.world.integrate = stay_at_the_middle  # masses are those of the poses of the problem
    world.step()
    c = world.engine.problem
    assert c.num_blocks > 0
    for b in range(c.num_blocks):
        for dof, n, at in block_segments(c, b):
            c.fill_inertia(c, dof)
            mass = c.inertia[c.inertia_at[dof] - 1 :][: n * n].reshape(n, n)
            np.testing.assert_allclose(mass, mass.T, atol=1e-12 * np.abs(mass).max())
            j, y = c.J[at : at + n], c.Y[at : at + n]
            np.testing.assert_allclose(mass @ y, j, atol=1e-11 * max(1.0, np.abs(j).max()))


def test_a_worker_has_room_of_its_own():
    segments, blocks = random_graph(0)
    c = with_masses(segments, blocks)
    other = worker_problem(c)
    assert other.plan is not c.plan and other.values is not c.values and other.impulse is c.impulse


def test_a_tower_of_unequal_masses_stands_by_newton():
    """1,000 kg, 1 kg, 1 g in turn, nine cubes: they stand for half a second, within 1 um of where they were.

    One of the 500 steps may fall back to another method: it does so for every second tower whose cubes are moved by
    1e-12 m, before and after any change of rounding.
    """
    world = kido.World()
    world.add_ground(friction=0.7)
    bodies = []
    for k in range(9):
        shape = kido.Box((0.1, 0.1, 0.1))
        skeleton = kido.Skeleton(f"cube_{k}")
        body = skeleton.add_body("cube", inertia=kido.Inertia.from_shape(shape, mass=(1000.0, 1.0, 1e-3)[k % 3]))
        body.add_shape(shape, friction=0.7)
        world.add_skeleton(skeleton)
        skeleton.positions = [0.0, 0.0, 0.0, 0.0, 0.0, 0.05 + 0.1 * k]
        bodies.append(skeleton)
    world.step(500)
    assert all(np.isfinite(b.positions).all() for b in bodies)
    heights = [b.positions[5] for b in bodies]
    np.testing.assert_allclose(heights, 0.05 + 0.1 * np.arange(9), atol=1e-6)
    assert world.totals.fallbacks <= 1


def test_memory_of_the_problem_is_linear_in_bodies():
    """Nothing dense is made for large islands: a tower of 60 takes less than 3 times what one of 20 does."""
    sizes = []
    for count in (20, 60):
        world = build_world(stack_scene(count))
        world.step(2)
        sizes.append(world.engine.problem.nbytes())
        assert world.report.residual < 1e-2
    assert sizes[1] < 3.0 * sizes[0]
    assert sizes[1] / 60 < 50_000  # [bytes]
