"""Trees held by linear laws on bodies and coordinates, against dense algebra."""

from __future__ import annotations

import numpy as np
from hypothesis import given

import kido
from kernel_entries import Arrays, eliminate
from kido.jit import Struct, entry, view
from kido.kernels.regularized_tree import (
    REGULARIZED,
    deactivate,
    hold_body,
    list_held,
    release_tree,
    solve_held_tree,
    weigh_held,
)
from kido.tree.schema import DATA, TREE
from trees import SEEDS, Reference, random_skeleton, random_state, skeletons

# Of the equations' terms, relative to their largest: random inertias differ by up to 1e4, gains by as much again.
TOLERANCE = 1e-9


@entry("i8(i8,i8,i8,i8[::1])")
def hold(tree, data, regularized, bodies):
    """Free the tree, and hold some bodies. Returns the number of those that take part."""
    t, y = view(TREE, tree), view(REGULARIZED, regularized)
    last = t.parent.shape[0]
    deactivate(t, y, 0, last)
    for k in range(len(bodies)):
        hold_body(t, y, bodies[k], 0)
    number = list_held(t, y, 0, last)
    weigh_held(t, view(DATA, data), y, 0, last)
    release_tree(t, y, 0, number)
    return number


@entry("i8(i8,i8,i8,i8,f8)")
def solve(tree, data, regularized, number, h):
    """solve_held_tree."""
    solve_held_tree(view(TREE, tree), view(DATA, data), view(REGULARIZED, regularized), 0, number, h)
    return 0


def held(arrays: Arrays, chosen: list[int]) -> tuple[Struct, int]:
    sizes = {"bodies": len(arrays.tree.parent), "dofs": len(arrays.tree.body_of_dof), "trees": 1}
    y = REGULARIZED(**sizes)
    return y, hold(arrays.tree.address, arrays.data.address, y.address, np.array(chosen, np.int64))


@given(skeletons(), SEEDS)
def test_motion_against_dense_algebra(skeleton: kido.Skeleton, seed: int) -> None:
    """Gains with a sliding contact's one-sided coupling: positive definite only with their symmetric part."""
    q, u, _, _ = random_state(skeleton, seed)
    reference = Reference(skeleton, q, u)
    arrays = Arrays(skeleton, q, u)
    n, bodies = len(q), len(arrays.tree.parent)
    if n == 0:
        return
    assert eliminate(arrays.tree.address, arrays.data.address, 0, bodies, 0.0) == -1
    rng = np.random.default_rng(seed)
    chosen = sorted({0, bodies // 2, int(rng.integers(bodies))})
    y, number = held(arrays, chosen)
    listed = set(y.chain[:number].tolist())
    assert set(chosen) <= listed and all(arrays.tree.parent[i] in listed | {-1} for i in listed)
    matrix, right = reference.mass_matrix.copy(), np.zeros(n)
    for body in chosen:
        root = rng.normal(size=(6, 3)) * 10.0 ** rng.uniform(-1.0, 2.0)
        skewed = rng.normal(size=(6, 6))
        gain = root @ root.T + 0.5 * (skewed - skewed.T)
        pull = rng.normal(size=6)
        y.gain[body] += gain.reshape(-1)
        y.pull[body] = pull
        J = reference.J[body]
        matrix += J.T @ gain @ J
        right += J.T @ pull
    for k in range(n):
        if int(arrays.tree.body_of_dof[k]) in listed:
            y.joint_gain[k], y.joint_pull[k] = rng.random(), rng.normal()
            matrix[k, k] += y.joint_gain[k]
            right[k] += y.joint_pull[k]
    solve(arrays.tree.address, arrays.data.address, y.address, number, 0.0)
    expected = np.linalg.solve(matrix, right)
    taking = [k for k in range(n) if int(arrays.tree.body_of_dof[k]) in listed]
    scale = np.abs(np.linalg.inv(matrix)) @ (np.abs(matrix) @ np.abs(expected))  # bounds the solution's conditioning
    assert np.all(np.abs(y.s - expected)[taking] <= TOLERANCE * (scale + np.abs(expected).max())[taking])
    for body in listed:
        motion = reference.J[body] @ expected
        assert np.abs(y.V[body] - motion).max() <= 1e-6 * max(1.0, np.abs(motion).max(), scale.max())


def test_damping_and_prescribed_coordinates() -> None:
    """The implicit terms are those of the elimination, and prescribed coordinates do not move."""
    skeleton = random_skeleton(5, 8)
    q, u, _, _ = random_state(skeleton, 5)
    arrays = Arrays(skeleton, q, u)
    arrays.tree.prescribed[2] = 1
    arrays.tree.damping[:] = 3.0
    arrays.tree.stiffness[:] = 50.0
    n, bodies, h = len(q), len(arrays.tree.parent), 0.01
    eliminate(arrays.tree.address, arrays.data.address, 0, bodies, h)
    y, number = held(arrays, [bodies - 1])
    y.pull[bodies - 1] = np.arange(1.0, 7.0)
    solve(arrays.tree.address, arrays.data.address, y.address, number, h)
    reference = Reference(skeleton, q, u)
    matrix = reference.mass_matrix + np.eye(n) * h * (3.0 + 0.25 * h * 50.0)
    free = [k for k in range(n) if k != 2]
    expected = np.zeros(n)
    right = reference.J[bodies - 1].T @ np.arange(1.0, 7.0)
    expected[free] = np.linalg.solve(matrix[np.ix_(free, free)], right[free])
    taking = [k for k in range(n) if arrays.tree.body_of_dof[k] in y.chain[:number]]
    assert y.s[2] == 0.0
    assert np.abs(y.s - expected)[taking].max() < 1e-9 * max(1.0, np.abs(expected).max())
