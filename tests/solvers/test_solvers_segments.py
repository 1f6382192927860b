"""Blocks that touch more than two segments of the velocity, and islands solved one by one in threads.

Truth: a block on three segments is the same problem as one on a single segment whose mass matrix is the three
side by side. Its solution must be the same to the tolerance of the solvers, its matrices to rounding.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kido.solvers import (
    BOUNDED,
    CONTACT,
    PGS,
    DefaultSolver,
    begin_islands,
    end_islands,
    new_problem,
    problem_matrices,
    project_one,
    restitute_one,
    solve,
    solve_admm,
    solve_one,
    solve_position,
    solve_restitution,
    solve_with,
    worker_problem,
)
from kido.solvers.custom import describe_island
from solver_scenes import Block, Segment, problem, random_problem, stack


def spread(rng):
    """Three contacts, a coupler and a limit on four segments of 6, 3, 2 and 6 coordinates, and the same merged."""
    sizes = (6, 3, 2, 6)
    masses = [(lambda x: x @ x.T + np.eye(n))(rng.normal(size=(n, n))) for n in sizes]
    segments = [Segment(m, rng.normal(size=len(m))) for m in masses]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    whole = np.zeros((starts[-1], starts[-1]))
    for m, s in zip(masses, starts, strict=False):
        whole[s : s + len(m), s : s + len(m)] = m
    merged = [Segment(whole, np.concatenate([s.velocity for s in segments]))]
    blocks, single = [], []
    for touched, kind, lower in (
        ([0, 1, 2], CONTACT, 0.0),
        ([None, None, 1, 3], CONTACT, 0.0),
        ([3, None, 2], CONTACT, 0.0),
        ([0, 1, 2, 3], BOUNDED, -np.inf),
        ([2, 0, 1], BOUNDED, 0.0),
    ):
        rows = 3 if kind == CONTACT else 1
        jacobians = [None if s is None else rng.normal(size=(rows, sizes[s])) for s in touched]
        full = np.zeros((rows, starts[-1]))
        for s, j in zip(touched, jacobians, strict=True):
            if s is not None and j is not None:
                full[:, starts[s] : starts[s] + sizes[s]] = j
        options = {"mu": 0.7, "kind": kind, "lower": lower, "bias": (-0.5, 0.1, 0.2)}
        more = [(s, j) for s, j in zip(touched[2:], jacobians[2:], strict=True) if s is not None]
        blocks.append(Block(touched[0], jacobians[0], touched[1], jacobians[1], more=more, **options))
        single.append(Block(0, full, None, None, **options))
    return problem(segments, blocks), problem(merged, single)


@pytest.mark.parametrize("seed", range(8))
def test_three_segments_are_one_of_three(seed):
    parts, whole = spread(np.random.default_rng(seed))
    a, b = problem_matrices(parts), problem_matrices(whole)
    np.testing.assert_allclose(a[0], b[0], atol=1e-12)
    np.testing.assert_allclose(a[1], b[1], atol=1e-12)
    assert solve(parts) == solve(whole)
    assert parts.num_islands == 1
    np.testing.assert_allclose(describe_island(parts, 0).compliance, describe_island(whole, 0).compliance, atol=1e-12)
    np.testing.assert_allclose(parts.impulse, whole.impulse, atol=1e-5 * np.abs(whole.impulse).max())
    np.testing.assert_allclose(parts.u, whole.u, atol=1e-5 * np.abs(whole.u).max())
    for c in (parts, whole):
        c.position_bias[:3] = -0.2
        solve_position(c)
    np.testing.assert_allclose(parts.u_position, whole.u_position, atol=2e-4)
    for method in (solve_admm, lambda c: solve_with(c, PGS(iterations=5))):
        for c in (parts, whole):
            c.impulse[:] = 0.0
            method(c)
        np.testing.assert_allclose(parts.impulse, whole.impulse, atol=1e-4 * np.abs(whole.impulse).max())


def test_extra_segments_unite_islands():
    rng = np.random.default_rng(3)
    segments = [Segment(np.eye(2), rng.normal(size=2)) for _ in range(4)]
    row = rng.normal(size=(1, 2))
    equality = {"kind": BOUNDED, "lower": -np.inf}
    blocks = [
        Block(0, row, None, None, **equality),
        Block(1, row, None, None, **equality),
        Block(2, row, None, None, more=[(0, row)], **equality),
        Block(3, row, None, None, **equality),
    ]
    c = problem(segments, blocks)
    solve(c)
    assert c.num_islands == 3
    assert c.island_block.tolist() == [0, 2, 1, 3]


def many_islands(count: int):
    """Random problems and stacks side by side as one problem: islands of all sizes, some of which bounce."""
    rng = np.random.default_rng(5)
    parts = [stack(3) if k % 3 == 0 else random_problem(rng, bodies=4, contacts=6) for k in range(count)]
    dofs = rows = blocks = pool = 0
    sizes = np.sum([[p.num_blocks, p.num_rows, p.num_dofs, len(p.J)] for p in parts], axis=0)
    whole = new_problem(blocks=int(sizes[0]), rows=int(sizes[1]), dofs=int(sizes[2]), pool=int(sizes[3]))
    for p in parts:
        nb, nr, nd = p.num_blocks, p.num_rows, p.num_dofs
        here = slice(blocks, blocks + nb)
        for name in ("kind", "len_a", "len_b", "mu", "lower", "upper", "floor"):
            getattr(whole, name)[here] = getattr(p, name)[:nb]
        whole.restitution[here] = rng.choice([0.0, 0.5], nb)
        whole.position_bias[here] = -rng.uniform(0.0, 0.1, nb)
        for name, shift in (("row", rows), ("dof_a", dofs), ("dof_b", dofs), ("at_a", pool), ("at_b", pool)):
            getattr(whole, name)[here] = getattr(p, name)[:nb] + shift
        whole.bias[rows : rows + nr] = p.bias[:nr]
        whole.u_free[dofs : dofs + nd] = p.u_free[:nd]
        whole.J[pool : pool + len(p.J)] = p.J
        whole.Y[pool : pool + len(p.Y)] = p.Y
        blocks, rows, dofs, pool = blocks + nb, rows + nr, dofs + nd, pool + len(p.J)
    whole.num_blocks, whole.num_rows, whole.num_dofs = blocks, rows, dofs
    return whole


TOTALS = ("residual", "speed", "power", "status", "iterations", "fallbacks", "bounces")
OUTPUTS = (
    *("impulse", "u", "u_position", "position_impulse", "island_status", "island_residual"),
    *(f"total_{name}" for name in TOTALS),
)


def test_islands_in_threads_give_the_same_bits():
    one, other = many_islands(30), many_islands(30)
    solve(one)
    solve_restitution(one)
    solve_position(one)
    DefaultSolver().choose(other)
    islands = begin_islands(other.address, 0, 0, 0)
    assert islands >= 30
    workers = [worker_problem(other) for _ in range(4)]

    def run(k):
        for island in range(k, islands, 4):
            for stage in (solve_one, restitute_one, project_one):
                stage(workers[k].address, island, 0, 0)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert end_islands(other.address, 0, 0, 0) == one.island_status[:islands].max()
    for name in OUTPUTS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
