"""Spatial operators are the matrices of their definitions, and obey theory's identities, on any tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import kido
from kido.operators import SpatialOperators
from operator_truths import DenseOperators
from trees import SEEDS, random_skeleton, random_state, skeletons

NAMES = ("H", "M", "P", "D", "G", "K", "tau", "E_phi", "E_psi")
# Sums over 50 bodies whose masses are 0.1 to 10 kg: rounding grows with depth and with the spread of inertias.
EXACT = 1e-10


def error(value, expected) -> float:
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape
    return float(np.abs(value - expected).max() / max(np.abs(expected).max(), 1e-300)) if value.size else 0.0


def check_definitions(ops: SpatialOperators, truth: DenseOperators) -> None:
    for name in NAMES:
        assert error(ops[name].dense(), getattr(truth, name)) < EXACT, name
    assert error(ops.Phi.dense(), truth.phi) < EXACT
    assert error(ops.Psi.dense(), truth.psi) < EXACT
    n = len(truth.M)
    assert error(ops.PhiTilde.dense() + np.eye(n), truth.phi) < EXACT
    assert error(ops.PsiTilde.dense() + np.eye(n), truth.psi) < EXACT
    composite = truth.phi @ truth.M @ truth.phi.T
    yields = truth.psi.T @ truth.H.T @ np.linalg.inv(truth.D) @ truth.H @ truth.psi
    assert error(ops.Omega.dense(), yields) < EXACT
    for own in truth.body:
        assert error(ops.R.dense()[own, own], composite[own, own]) < EXACT
        assert error(ops.Upsilon.dense()[own, own], yields[own, own]) < EXACT


def check_transposes(ops: SpatialOperators, rng: np.random.Generator) -> None:
    """<y, A x> = <A* y, x> for the sweeps of all operators, one vector and a block of them."""
    for name in (*NAMES, "Phi", "Psi", "PhiTilde", "PsiTilde", "R", "Upsilon", "Omega"):
        A, star = ops[name], ops[name + "Star"]
        rows, columns = A.shape
        x, y = rng.normal(size=(columns, 5)), rng.normal(size=(rows, 5))
        Ax, By = A * x, star * y
        scale = np.linalg.norm(Ax) * np.linalg.norm(y) + 1.0
        assert abs((y * Ax).sum() - (By * x).sum()) < EXACT * scale, name
        for k in (0, 4):
            assert error(A * x[:, k], Ax[:, k]) < 1e-13
            assert error(star * y[:, k], By[:, k]) < 1e-13


@given(skeletons(), SEEDS)
def test_definitions(skeleton: kido.Skeleton, seed: int) -> None:
    q, u, *_ = random_state(skeleton, seed)
    ops = SpatialOperators(skeleton, q, u)
    check_definitions(ops, DenseOperators(skeleton, q, u))
    check_transposes(ops, np.random.default_rng(seed))


@pytest.mark.parametrize(("seed", "bodies"), [(1, 25), (2, 50), (3, 50)])
def test_definitions_on_large_trees(seed: int, bodies: int) -> None:
    skeleton = random_skeleton(seed, bodies)
    q, u, *_ = random_state(skeleton, seed)
    ops = SpatialOperators(skeleton, q, u)
    check_definitions(ops, DenseOperators(skeleton, q, u))


@pytest.mark.parametrize(("seed", "bodies"), [(0, 9), (1, 20), (2, 35), (3, 50), (4, 50), (5, 50)])
def test_identities(seed: int, bodies: int) -> None:
    """Theory a4: all of them, by sweeps on blocks of vectors."""
    skeleton = random_skeleton(seed, bodies)
    q, u, _, T = random_state(skeleton, seed)
    ops = SpatialOperators(skeleton, q, u)
    H, Phi, M, I, Psi, K, D, P, tau = ops["H", "Phi", "M", "I", "Psi", "K", "D", "P", "tau"]  # noqa: E741
    E_phi, E_psi, G, PhiTilde = ops["E_phi", "E_psi", "G", "PhiTilde"]
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(H.shape[1], 3)), rng.normal(size=(H.shape[0], 3))

    def same(a, b, v) -> None:
        assert error(a * v, b * v) < EXACT, f"{a!r} = {b!r}"

    same(M, P - E_psi * P * E_psi.T, x)
    same(M, P - E_phi * P * E_phi.T + K * D * K.T, x)
    same(Psi.inverse(), Phi.inverse() + K * H, x)
    same(Psi * M * Phi.T, Psi * P + P * PhiTilde.T, x)
    same(tau, I - G * H, x)
    same(tau * P, tau * P * tau.T, x)
    same(PhiTilde, Phi * E_phi, x)
    same(PhiTilde, E_phi * Phi, x)
    same(ops.PsiTilde, Psi * E_psi, x)
    mass, factor = H * Phi * M * Phi.T * H.T, I + H * Phi * K
    same(mass, factor * D * factor.T, t)
    same(factor.inverse() * factor, 1.0 * I, t)
    same((I - H * Psi * K) * H * Phi, H * Psi, x)
    same(Phi.inverse() * Phi, 1.0 * I, x)
    same(Psi.T * Psi.inverse().T, 1.0 * I, x)
    same(ops.Omega, Phi.T * H.T * mass.inverse() * H * Phi, x)
    # The equation that a solution meets: rounding is that of the wrenches that it takes, which are larger than T.
    udot = mass.inverse() * T
    wrenches = np.abs(M * (Phi.T * (H.T * udot))).max()
    assert np.abs(mass * udot - T).max() < EXACT * max(1.0, wrenches)
    assert ops.log_det == pytest.approx(np.linalg.slogdet(mass.dense())[1], abs=1e-9)


def test_hinges_of_no_and_six_coordinates_only() -> None:
    ball = random_skeleton(5, 8, kinds=("weld", "free"))
    q, u, _, _ = random_state(ball, 3)
    check_definitions(SpatialOperators(ball, q, u), DenseOperators(ball, q, u))
    fixed = kido.Skeleton()
    fixed.add_body("a", kido.WeldJoint(), inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    fixed.add_body(
        "b", kido.WeldJoint(transform_from_parent=(0, 0, 1.0)), "a", kido.Inertia.from_diagonal(2, [1, 1, 1])
    )
    ops = SpatialOperators(fixed)
    assert (ops.H * ops.Phi * ops.M * ops.PhiStar * ops.HStar).dense().shape == (0, 0)
    assert ops.R.block("a", "a")[3, 3] == 3.0
    assert ops.log_det == 0.0
    assert not ops.Omega.dense().any()


def test_several_trees_do_not_see_each_other() -> None:
    two = kido.Skeleton()
    for name in ("left", "right"):
        two.add_body(name, kido.RevoluteJoint(), inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
        two.add_body(f"{name}2", kido.RevoluteJoint(transform_from_parent=(0, 0, 1.0)), name,
                     kido.Inertia.from_diagonal(1.0, [1, 1, 1]))  # fmt: skip
    ops = SpatialOperators(two)
    mass = ops.H * ops.Phi * ops.M * ops.PhiStar * ops.HStar
    for row, column in (("left", "right"), ("left2", "right"), ("right2", "left2")):
        assert not mass.block(row, column).any()
        assert not ops.Omega.block(row, column).any()
    assert mass.block("left2", "left").any()
    assert error(mass.dense(), two.mass_matrix) < 1e-14
