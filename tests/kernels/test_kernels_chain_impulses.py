"""Impulses on bodies and coordinates of a tree, against dense algebra: by sweeps, and among few that are touched."""

from __future__ import annotations

import numpy as np
from hypothesis import given

import kido
from kernel_entries import Arrays, eliminate
from kido.jit import LANES, Struct, entry, view
from kido.kernels.chain_impulses import (
    add_chain_forces,
    apply_chain,
    chain_compliances,
    chain_velocities,
    clear_impulses,
    path_velocity,
)
from kido.kernels.regularized_tree import REGULARIZED, deactivate, hold_body, list_held
from kido.kernels.responses import RESPONSES, Responses
from kido.kernels.touched_bodies import (
    MOST,
    TOUCHED,
    make_columns,
    new_touched,
    place_columns,
    touch_body,
    touch_dof,
    untouch_tree,
)
from kido.kernels.touched_laws import apply_touched, release_touched, solve_touched
from kido.tree.schema import DATA, TREE
from trees import SEEDS, Reference, skeletons

# Of a solution with M, relative to its largest number: random inertias differ by up to 1e4.
TOLERANCE = 1e-9


@entry("i8(i8,i8,i8[::1])")
def hold(tree, regularized, bodies):
    """List the chain of some bodies. Returns the number of bodies in it."""
    t, y = view(TREE, tree), view(REGULARIZED, regularized)
    deactivate(t, y, 0, t.parent.shape[0])
    for k in range(len(bodies)):
        hold_body(t, y, bodies[k], 0)
    number = list_held(t, y, 0, t.parent.shape[0])
    clear_impulses(t, y, 0, number)
    return number


@entry("i8(i8,i8,i8,i8,f8[::1])")
def compliances(tree, data, regularized, number, u):
    """chain_compliances, and chain_velocities."""
    t, d, y = view(TREE, tree), view(DATA, data), view(REGULARIZED, regularized)
    chain_compliances(t, d, y, 0, number)
    chain_velocities(t, d, y, 0, number, u)
    return 0


@entry("i8(i8,i8,i8,i8)")
def apply(tree, data, regularized, number):
    """apply_chain."""
    t = view(TREE, tree)
    apply_chain(t, view(DATA, data), view(REGULARIZED, regularized), 0, t.parent.shape[0], number)
    return 0


@entry("i8(i8,i8,i8,i8,f8[::1])")
def add_forces(tree, data, regularized, number, force):
    """add_chain_forces."""
    add_chain_forces(view(TREE, tree), view(DATA, data), view(REGULARIZED, regularized), 0, number, force)
    return 0


@entry("f8(i8,i8,i8,f8[::1],f8[::1])")
def path(tree, data, body, w, u):
    """path_velocity."""
    return path_velocity(view(TREE, tree), view(DATA, data), body, 0, (w[0], w[1], w[2], w[3], w[4], w[5]), u)


@entry("i8(i8,i8[::1],f8[:,::1],i8[::1])")
def touch(touched, bodies, arms, dofs):
    """Touch bodies at points and coordinates; returns the number of columns."""
    x = view(TOUCHED, touched)
    untouch_tree(x, 0)
    for k in range(len(bodies)):
        touch_body(x, 0, bodies[k], arms[k, 0], arms[k, 1], arms[k, 2])
    for k in range(len(dofs)):
        touch_dof(x, 0, dofs[k])
    return place_columns(x, 0)


@entry("i8(i8,i8,i8,i8,i8)")
def columns(tree, data, regularized, touched, responses):
    """make_columns."""
    t, d, y, x = view(TREE, tree), view(DATA, data), view(REGULARIZED, regularized), view(TOUCHED, touched)
    r = view(RESPONSES, responses)
    make_columns(t, d, y, x, r.sweep, r.numbers, 0)
    release_touched(y, x, 0)
    return 0


@entry("i8(i8,i8,i8,i8)")
def solve(regularized, touched, number, under_laws):
    """solve_touched, or apply_touched."""
    if under_laws:
        solve_touched(view(REGULARIZED, regularized), view(TOUCHED, touched), 0, number, 1)
    else:
        x = view(TOUCHED, touched)
        apply_touched(view(REGULARIZED, regularized), x, x.rows, LANES, 0, number)
    return 0


def independence(Omega: np.ndarray, held: np.ndarray) -> float:
    """Least eigenvalue of the compliance of some columns, each scaled to 1: at most the share left of any of them."""
    scale = np.sqrt(np.diag(Omega)[held])
    scale[scale == 0.0] = 1.0
    return float(np.linalg.eigvalsh(Omega[np.ix_(held, held)] / np.outer(scale, scale)).min(initial=1.0))


def chain_of(arrays: Arrays, chosen: list[int]) -> tuple[Struct, int]:
    y = REGULARIZED(bodies=len(arrays.tree.parent), dofs=len(arrays.tree.body_of_dof), trees=1)
    return y, hold(arrays.tree.address, y.address, np.array(chosen, np.int64))


def eliminated(skeleton: kido.Skeleton, seed: int) -> tuple[Reference, Arrays]:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=skeleton.num_dofs) * 0.7
    arrays = Arrays(skeleton, q, np.zeros_like(q))
    assert eliminate(arrays.tree.address, arrays.data.address, 0, len(arrays.tree.parent), 0.0) == -1
    return Reference(skeleton, q), arrays


def close(found, expected, size) -> bool:
    return bool(np.abs(np.asarray(found) - expected).max(initial=0.0) <= TOLERANCE * max(size, 1e-30))


def triangle(Y: np.ndarray) -> np.ndarray:
    upper = np.triu_indices(3)
    return np.concatenate([Y[:3, :3][upper], Y[:3, 3:].ravel(), Y[3:, 3:][upper]])


@given(skeletons(), SEEDS)
def test_sweeps_are_the_mass_matrix_and_jacobians(skeleton: kido.Skeleton, seed: int) -> None:
    """s = M^-1 (p + J^T F), V = J s, f = p + J^T F, Y = J M^-1 J^T, diag M^-1, J u."""
    if skeleton.num_dofs == 0:
        return
    reference, arrays = eliminated(skeleton, seed)
    n, bodies, rng = skeleton.num_dofs, len(arrays.tree.parent), np.random.default_rng(seed)
    chosen = sorted({bodies // 2, int(rng.integers(bodies))})
    y, number = chain_of(arrays, chosen)
    inverse, J, u = np.linalg.inv(reference.mass_matrix), reference.J, rng.normal(size=n)
    compliances(*arrays.addresses, y.address, number, u)
    chain = y.chain[:number].tolist()
    for i in chain:
        Y = J[i] @ inverse @ J[i].T
        assert close(y.Y[i], triangle(Y), np.abs(Y).max())
        assert close(y.V[i], J[i] @ u, np.abs(J[i]).max() * np.abs(u).max() * n)
        w = rng.normal(size=6)
        assert close(path(*arrays.addresses, i, w, u), w @ J[i] @ u, np.abs(J[i]).max() * np.abs(u).max() * n)
    taking = [k for k in range(n) if int(arrays.tree.body_of_dof[k]) in chain]
    assert close(y.own[taking], np.diag(inverse)[taking], np.diag(inverse).max())
    right = np.zeros(n)
    for i in chosen:
        y.pull[i] = rng.normal(size=6)
        right += J[i].T @ y.pull[i]
    for k in taking:
        y.joint_pull[k] = rng.normal()
        right[k] += y.joint_pull[k]
    apply(*arrays.addresses, y.address, number)
    s = inverse @ right
    size = np.abs(inverse).max() * np.abs(right).max() * n
    assert close(y.s, s, size)
    for i in range(bodies):
        assert close(y.V[i], J[i] @ s, np.abs(J[i]).max() * size * n)
    force = np.ones(n)
    add_forces(*arrays.addresses, y.address, number, force)
    assert close(force - 1.0, right, max(1.0, np.abs(right).max()) * n)


@given(skeletons(), SEEDS)
def test_laws_among_few_are_those_of_the_tree(skeleton: kido.Skeleton, seed: int) -> None:
    """Omega = C M^-1 C^T; V = C s of (M + C^T G C) s = C^T z, with a gain on some columns only."""
    if skeleton.num_dofs == 0:
        return
    reference, arrays = eliminated(skeleton, seed)
    n, bodies, rng = skeleton.num_dofs, len(arrays.tree.parent), np.random.default_rng(seed)
    J, M = reference.J, reference.mass_matrix
    # One body at a point, another at two, and coordinates.
    chosen = [int(k) for k in rng.permutation(bodies)[:2]]
    touches = [chosen[0], *(2 * chosen[1:])]
    arms = rng.normal(size=(len(touches), 3))
    dofs = np.sort(rng.permutation(n)[: rng.integers(0, 4)])
    y, _ = chain_of(arrays, [*touches, *(int(arrays.tree.body_of_dof[k]) for k in dofs)])
    x = new_touched(trees=1, bodies=bodies, slots=1)
    number = touch(x.address, np.array(touches, np.int64), arms, dofs.astype(np.int64))
    assert number == 3 + 6 * (len(chosen) - 1) + len(dofs)
    responses = Responses(arrays.tree)
    columns(*arrays.addresses, y.address, x.address, responses.address)
    C = []
    for k, body in enumerate(chosen):
        about = J[body].copy()
        about[3:] += np.cross(about[:3].T, arms[0]).T if k == 0 else 0.0
        C.append(about[3:] if k == 0 else about)
    C = np.vstack([*C, np.eye(n)[dofs]])
    inverse = np.linalg.inv(M)
    Omega = C @ inverse @ C.T
    assert close(x.Omega[0, :number, :number], Omega, np.abs(inverse).max() * np.abs(C).max() ** 2 * n)
    G, z = np.zeros((number, number)), np.zeros(number)
    for body, here in zip(chosen, (slice(0, 3), slice(3, 9)), strict=False):
        size = here.stop - here.start
        rows = rng.normal(size=(3, size))
        if body != chosen[-1] or seed % 2:
            G[here, here] = rows.T @ np.diag(10.0 ** rng.uniform(-2, 1, 3)) @ rows
        z[here] = rng.normal(size=size)
        gain = np.zeros((6, 6))
        gain[6 - size :, 6 - size :] = G[here, here]
        y.gain[body], y.pull[body, 6 - size :] = gain.ravel(), z[here]
    for j, k in enumerate(dofs):
        at = number - len(dofs) + j
        y.joint_gain[k], y.joint_pull[k] = rng.random() * (j % 2), rng.normal()
        G[at, at], z[at] = y.joint_gain[k], y.joint_pull[k]
    held = np.zeros(number, bool)
    for here in (slice(0, 3), slice(3, 9))[: len(chosen)] + tuple(
        slice(k, k + 1) for k in range(number - len(dofs), number)
    ):
        held[here] = G[here, here].any()
    least = independence(Omega, np.flatnonzero(held))
    for under_laws, expected in ((0, Omega @ z), (1, C @ np.linalg.solve(M + C.T @ G @ C, C.T @ z))):
        solve(y.address, x.address, number, under_laws)
        found = np.concatenate([y.V[chosen[0], 3:], *(y.V[body] for body in chosen[1:]), *(y.s[[k]] for k in dofs)])
        size = np.abs(Omega).max() * np.abs(z).max() * number * (1.0 + np.abs(Omega @ G).max())
        assert np.abs(found - expected).max() <= (1e-8 + 1e-15 / max(least, 1e-9)) * size


def test_too_many_have_no_equations_of_their_own() -> None:
    x = new_touched(trees=2, bodies=40, slots=1)
    x.slot[:] = [0, -1]
    none, arms = np.zeros(0, np.int64), np.zeros((40, 3))
    bodies = np.arange(40)
    assert touch(x.address, bodies[:8], arms, none) == MOST and x.number[0] == MOST
    assert touch(x.address, bodies[:9], arms, none) == 0 == x.number[0]
    assert touch(x.address, bodies, arms, none) == 0
    assert touch(x.address, np.repeat(bodies[:4], 5), arms, none) == 24
    assert touch(x.address, none, arms, bodies[: MOST + 5]) == 0
    assert touch(x.address, none, arms, bodies[:MOST]) == MOST
    assert touch(x.address, bodies[:2], arms, bodies[:3]) == 9
    assert not x.contacts[2:].any()
