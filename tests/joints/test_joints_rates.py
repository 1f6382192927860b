"""Rates of motion columns, against central differences of the columns on the manifold.

Step 1e-6 m or rad: truncation 1e-12, rounding 1e-16 / 1e-6, so 1e-8 of numbers of order one.
"""

from __future__ import annotations

import numpy as np
import pytest

from kernel_entries import Arrays
from kido.jit import entry, view
from kido.joints import JointKind
from kido.joints.motion import column_derivative, column_rate
from kido.kernels import entries
from kido.tree.schema import DATA, TREE
from trees import KINDS, build, chain_parents, random_state

STEP = 1e-6
TOLERANCE = 1e-8


@entry("UniTuple(f8,6)(i8,i8,i8,i8,i8)")
def derivative(tree, data, i, k, j):
    return column_derivative(view(TREE, tree), view(DATA, data), i, k, j)


@entry("UniTuple(f8,6)(i8,i8,i8,i8)")
def rate(tree, data, i, k):
    return column_rate(view(TREE, tree), view(DATA, data), i, k)


def chain(kind: str, seed: int) -> Arrays:
    """A hinge, then two joints of a kind; in every other chain free joints have their linear velocity in fixed axes."""
    skeleton = build(["revolute", kind, kind], chain_parents(3), seed)
    q, u, _, _ = random_state(skeleton, seed)
    arrays = Arrays(skeleton, q, u)
    if seed % 2:
        arrays.tree.kind[arrays.tree.kind == JointKind.FREE] = JointKind.FREE_MIXED
        arrays.update()
    return arrays


def columns_after(arrays: Arrays, u: np.ndarray, h: float) -> np.ndarray:
    """H after the positions moved along u for a time h; the state is put back."""
    d, q, kept = arrays.data, arrays.data.q.copy(), arrays.data.u.copy()
    d.u[:] = u
    arrays.advance(h)
    entries.update_transforms(*arrays.addresses)
    H = d.H.copy()
    d.q[:], d.u[:] = q, kept
    entries.update_transforms(*arrays.addresses)
    return H


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "weld"])
@pytest.mark.parametrize("seed", range(4))
def test_columns_move_with_the_coordinates_of_their_joint(kind: str, seed: int) -> None:
    arrays = chain(kind, seed)
    first = arrays.tree.first_dof
    n = len(arrays.data.u)
    for i in range(1, 3):
        own = range(int(first[i]), int(first[i + 1]))
        for j in own:
            u = np.eye(n)[j]
            difference = (columns_after(arrays, u, STEP) - columns_after(arrays, u, -STEP)) / (2.0 * STEP)
            found = [derivative(*arrays.addresses, i, k, j) for k in own]
            assert np.abs(np.array(found) - difference[own]).max() < TOLERANCE
        u = np.zeros(n)
        u[own] = arrays.data.u[own]
        difference = (columns_after(arrays, u, STEP) - columns_after(arrays, u, -STEP)) / (2.0 * STEP)
        found = [rate(*arrays.addresses, i, k) for k in own]
        assert np.abs(np.array(found) - difference[own]).max() < 10.0 * TOLERANCE


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "weld"])
def test_velocity_products_are_rates_times_velocities(kind: str) -> None:
    """The kinematic sweep's Hdot u of a root joint, whose parent side is at rest."""
    for seed in range(4):
        skeleton = build([kind], [-1], seed)
        q, u, _, _ = random_state(skeleton, seed)
        arrays = Arrays(skeleton, q, u)
        if seed % 2:
            arrays.tree.kind[arrays.tree.kind == JointKind.FREE] = JointKind.FREE_MIXED
            arrays.update()
        rates = np.array([rate(*arrays.addresses, 0, k) for k in range(len(u))])
        assert np.abs(arrays.data.u @ rates - arrays.data.a[0]).max() < 1e-13
