"""Responses of bodies to unit wrenches and the rows combined from them, against dense algebra and the recursion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import kido
from kernel_entries import Arrays, eliminate, respond
from kido.jit import entry, view
from kido.kernels.responses import (
    RESPONSES,
    Responses,
    ask_coordinate,
    ask_response,
    coordinate_row,
    forget_responses,
    make_responses,
    response_row,
)
from kido.tree.schema import DATA, TREE
from trees import SEEDS, Reference, random_skeleton, random_state, relative_error, skeletons

# Of a solution with M, relative to its largest number: random inertias differ by up to 1e4.
TOLERANCE = 1e-10


@entry("i8(i8,i8[::1])")
def ask(responses, bodies):
    """Room that the responses of a list of bodies need; the tree's address comes first."""
    r = view(RESPONSES, responses)
    forget_responses(r)
    for k in range(1, len(bodies)):
        ask_response(view(TREE, bodies[0]), r, bodies[k])
    return r.needed


@entry("i8(i8,i8,i8)")
def make(tree, data, responses):
    """make_responses after `eliminate`."""
    make_responses(view(TREE, tree), view(DATA, data), view(RESPONSES, responses))
    return 0


@entry("i8(i8,i8,i8,f8[::1],f8[::1],f8[::1],i8)")
def row(responses, body, length, n, J, Y, at):
    """response_row."""
    response_row(view(RESPONSES, responses), body, length, n[0], n[1], n[2], n[3], n[4], n[5], J, Y, at)
    return 0


@entry("i8(i8,i8,i8[::1])")
def ask_more(tree, responses, dofs):
    """Room that all responses need, those of coordinates among them."""
    r = view(RESPONSES, responses)
    for k in range(len(dofs)):
        ask_coordinate(view(TREE, tree), r, dofs[k])
    return r.needed


@entry("i8(i8,i8,i8,i8,f8,f8[::1],f8[::1],i8)")
def row_of_coordinate(tree, data, responses, k, sign, J, Y, at):
    """coordinate_row."""
    coordinate_row(view(TREE, tree), view(DATA, data), view(RESPONSES, responses), k, sign, J, Y, at)
    return 0


def responses_of(arrays: Arrays, bodies: list[int]) -> Responses:
    tree = arrays.tree
    made = Responses(tree)
    listed = np.array([tree.address, *bodies], np.int64)
    made = Responses(tree, ask(made.address, listed))
    ask(made.address, listed)
    make(tree.address, arrays.data.address, made.address)
    return made


def rows_of(responses: Responses, body: int, dofs: int, wrench: np.ndarray) -> np.ndarray:
    found = np.zeros((2, dofs + 2))
    row(responses.address, body, dofs, wrench, found[0], found[1], 1)
    assert not found[:, [0, -1]].any()
    return found[:, 1:-1]


@given(skeletons(), SEEDS)
def test_rows_against_dense_algebra(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, _, _ = random_state(skeleton, seed)
    reference = Reference(skeleton, q, u)
    arrays = Arrays(skeleton, q, u)
    n, bodies = len(q), len(arrays.tree.parent)
    if n == 0:
        return
    assert eliminate(arrays.tree.address, arrays.data.address, 0, bodies, 0.0) == -1
    asked = [0, bodies - 1, bodies // 2, 0]
    responses = responses_of(arrays, asked)
    assert responses.container.num_made == len(set(asked))
    rng = np.random.default_rng(seed)
    for body in asked:
        w = rng.normal(size=6)
        J, Y = rows_of(responses, body, n, w)
        expected = w @ reference.J[body]
        assert relative_error(J, expected) < TOLERANCE
        assert np.abs(reference.mass_matrix @ Y - expected).max() < TOLERANCE * max(1.0, np.abs(expected).max())


def test_rows_equal_the_recursion_for_one_wrench() -> None:
    skeleton = random_skeleton(3, 14)
    q, u, _, _ = random_state(skeleton, 3)
    arrays = Arrays(skeleton, q, u)
    n, bodies = len(q), len(arrays.tree.parent)
    tree, data = arrays.tree.address, arrays.data.address
    eliminate(tree, data, 0, bodies, 1e-3)
    responses = responses_of(arrays, list(range(bodies)))
    rng = np.random.default_rng(0)
    for body in range(bodies):
        w = rng.normal(size=6)
        expected = np.zeros((2, n))
        respond(tree, data, 0, bodies, body, -1.0, w, expected[0], expected[1], 0)
        assert relative_error(-rows_of(responses, body, n, w), expected) < 1e-12


def test_a_prescribed_coordinate_has_no_response() -> None:
    skeleton = random_skeleton(5, 8)
    q, u, _, _ = random_state(skeleton, 5)
    arrays = Arrays(skeleton, q, u)
    arrays.tree.prescribed[2] = 1
    bodies = len(arrays.tree.parent)
    eliminate(arrays.tree.address, arrays.data.address, 0, bodies, 0.0)
    _, Y = rows_of(responses_of(arrays, [bodies - 1]), bodies - 1, len(q), np.ones(6))
    assert Y[2] == 0.0 and Y.any()


@given(skeletons(), SEEDS)
def test_rows_of_coordinates_are_columns_of_the_inverse(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, _, _ = random_state(skeleton, seed)
    arrays = Arrays(skeleton, q, u)
    n, tree, data = len(q), arrays.tree.address, arrays.data.address
    if n == 0:
        return
    eliminate(tree, data, 0, len(arrays.tree.parent), 0.0)
    M = Reference(skeleton, q, u).mass_matrix
    asked = np.unique(np.random.default_rng(seed).integers(0, n, size=12))
    made = Responses(arrays.tree, 12 * n + n * n)
    ask(made.address, np.array([tree, 0]))
    assert ask_more(tree, made.address, asked) == 12 * n + n * len(asked)
    make(tree, data, made.address)
    for k in range(n):  # those not asked for are found by the recursion
        found = np.zeros((2, n))
        row_of_coordinate(tree, data, made.address, k, -2.0, found[0], found[1], 0)
        expected = -2.0 * (np.arange(n) == k)
        assert np.array_equal(found[0], expected)
        assert np.abs(M @ found[1] - expected).max() < TOLERANCE


@pytest.mark.parametrize("kept", [0, 5])
def test_asking_again_forgets(kept: int) -> None:
    arrays = Arrays(random_skeleton(kept, 6))
    bodies = len(arrays.tree.parent)
    responses = responses_of(arrays, list(range(bodies)))
    assert ask(responses.address, np.array([arrays.tree.address, 2])) == 12 * len(arrays.data.q)
    assert responses.container.slot[2] == 0 and (np.delete(responses.container.slot, 2) == -1).all()
