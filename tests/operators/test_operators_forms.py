"""Expressions: how they compose, print, invert, explain themselves, and what they refuse."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido.operators import Lyapunov, Operator, OperatorError, SpatialOperators
from trees import random_skeleton, random_state

BODIES = 12


@pytest.fixture(scope="module")
def skeleton() -> kido.Skeleton:
    made = random_skeleton(11, BODIES)
    q, u, *_ = random_state(made, 2)
    made.positions, made.velocities = q, u
    return made


@pytest.fixture(scope="module")
def ops(skeleton: kido.Skeleton) -> SpatialOperators:
    return SpatialOperators(skeleton, nodes=[skeleton.bodies[5], skeleton.bodies[-1]])


def error(value, expected) -> float:
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape
    return float(np.abs(value - expected).max() / max(np.abs(expected).max(), 1e-300))


# Composition -----------------------------------------------------------------------------------------------


def test_the_two_lines_of_the_paper(ops: SpatialOperators, skeleton: kido.Skeleton) -> None:
    H, Phi, M, PhiStar, HStar, I, Psi, K, D = ops["H", "Phi", "M", "PhiStar", "HStar", "I", "Psi", "K", "D"]  # noqa: E741
    thetaddot = np.random.default_rng(0).normal(size=skeleton.num_dofs)
    T = H*Phi*M*PhiStar*HStar*thetaddot  # fmt: skip
    assert error(T, skeleton.mass_matrix @ thetaddot) < 1e-12
    found = (I-H*Psi*K).transpose()*D.inverse()*(I-H*Psi*K)*T  # fmt: skip
    assert error(found, thetaddot) < 1e-10


def test_names_of_a_session(ops: SpatialOperators, skeleton: kido.Skeleton) -> None:
    names = ops.namespace()
    T = np.random.default_rng(0).normal(size=skeleton.num_dofs)
    line = "(I-H*Psi*K).transpose()*D.inverse()*(I-H*Psi*K)*T"
    assert error(eval(line, {"T": T}, names), np.linalg.solve(skeleton.mass_matrix, T)) < 1e-10
    assert {"PhiStar", "HStar", "B", "BStar", "UpsilonStar", "E_phi"} <= set(names)
    assert "B" not in SpatialOperators(skeleton).namespace()


def test_arithmetic_is_that_of_matrices(ops: SpatialOperators) -> None:
    H, Phi, M, I, K, Psi = ops["H", "Phi", "M", "I", "K", "Psi"]  # noqa: E741
    h, phi, m, k, psi = (A.dense() for A in (H, Phi, M, K, Psi))
    one = np.eye(len(h))
    pairs = [
        (2.0 * H * Phi, 2.0 * h @ phi),
        (H @ Phi / 4, h @ phi / 4.0),
        (-(H * Phi), -h @ phi),
        (+H, h),
        (M + Phi - 3 * Psi, m + phi - 3.0 * psi),
        ((M - Phi) * (M + Psi.T), (m - phi) @ (m + psi.T)),
        (I + H * Phi * K, one + h @ phi @ k),
        (H * Phi * K - I, h @ phi @ k - one),
        (2 * I - H * Phi * K * 3, 2 * one - 3 * h @ phi @ k),
        ((I - H * Psi * K).T, (one - h @ psi @ k).T),
        (-(I - H * Psi * K).T * 2, -2 * (one - h @ psi @ k).T),
        ((M + Phi - Phi) * M, m @ m),
        (M - M, 0.0 * m),
        (H * I * Phi * I, h @ phi),
        ((H * Phi).T.T, h @ phi),
        (np.float64(2.0) * M, 2.0 * m),
        (M * np.int64(3), 3.0 * m),
    ]
    for expression, expected in pairs:
        assert isinstance(expression, Operator)
        assert error(expression.dense(), expected) < 1e-14, expression
        assert expression.shape == expected.shape


def test_identity_takes_any_size(ops: SpatialOperators) -> None:
    I, x = ops.I, np.arange(5.0)  # noqa: E741
    assert np.array_equal(I * x, x)
    assert np.array_equal((3 * I) * x, 3 * x)
    assert np.array_equal((I + I) * x, 2 * x)
    assert np.array_equal(I.inverse() * x, x)
    assert np.array_equal((4 * I).inverse() * x, x / 4)
    assert I.T is I
    assert I * ops.M is ops.M
    with pytest.raises(OperatorError, match="no size of its own"):
        I.dense()
    with pytest.raises(OperatorError, match="no size of its own"):
        I.block(0, 0)
    with pytest.raises(OperatorError, match="not square"):
        I + ops.H


def test_blocks_of_vectors_and_rows(ops: SpatialOperators) -> None:
    rng = np.random.default_rng(1)
    mass = ops.H * ops.Phi * ops.M * ops.PhiStar * ops.HStar
    n = mass.shape[0]
    X = rng.normal(size=(n, 9))
    kept = X.copy()
    assert error(mass * X, mass.dense() @ X) < 1e-13
    assert error(mass @ X[:, ::2], mass.dense() @ X[:, ::2]) < 1e-13
    assert error(mass * np.asfortranarray(X), mass.dense() @ X) < 1e-13
    fixed = X.copy()
    fixed.flags.writeable = False
    unpickled = pickle.loads(pickle.dumps(X))
    for given in (fixed, unpickled, X.astype(np.float32).astype(object)):
        assert error(mass * given, mass.dense() @ np.asarray(given, float)) < 1e-7
    assert np.array_equal(X, kept)
    assert (mass * X[:, :0]).shape == (n, 0)
    A = ops.H * ops.Phi
    assert error(X[:, 0] @ A, X[:, 0] @ A.dense()) < 1e-13
    assert error(X.T @ A, X.T @ A.dense()) < 1e-13
    assert error(ops.M * list(range(6 * BODIES)), ops.M.dense() @ np.arange(6 * BODIES)) < 1e-13


def test_results_are_nobody_elses(ops: SpatialOperators) -> None:
    """Arrays between sweeps are used again, those that users get never."""
    rng = np.random.default_rng(2)
    A = (ops.I - ops.H * ops.Psi * ops.K).T * ops.D.inverse() * (ops.I - ops.H * ops.Psi * ops.K)
    X = rng.normal(size=(A.shape[0], 300))  # large enough to be kept
    first = A * X
    copy = first.copy()
    second = A * (2.0 * X)
    A * (3.0 * X)
    assert np.array_equal(first, copy)
    assert error(second, 2.0 * copy) < 1e-13
    assert error((ops.I * X)[:, 0], X[:, 0]) == 0.0


def test_matrices_of_ones_own(ops: SpatialOperators) -> None:
    rng = np.random.default_rng(4)
    B, Omega, H, Phi, M = ops["B", "Omega", "H", "Phi", "M"]
    n = H.shape[0]
    w, x = rng.normal(size=(5, 12)), rng.normal(size=(n, 4))
    W, X = ops.matrix(w, columns="nodes", name="W"), ops.matrix(x, rows="joints", name="X")
    S = W * B.T * Omega * B * W.T
    assert repr(S) == "W B* ψ* H* D^-1 H ψ B W*"
    assert error(S.dense(), w @ (B.T * Omega * B).dense() @ w.T) < 1e-12
    assert error(S.block(2, 3), S.dense()[2:3, 3:4]) < 1e-12
    mass = H * Phi * M * Phi.T * H.T
    reduced = X.T * mass * X
    assert error(reduced.dense(), x.T @ mass.dense() @ x) < 1e-12
    assert error(reduced * np.ones((4, 3)), reduced.dense() @ np.ones((4, 3))) < 1e-12
    assert X.explain().operations == n * 7
    some = ops.pick_off(["b3"])
    assert ops.matrix(np.eye(6), rows=some, columns=some.T).shape == (6, 6)
    assert ops.matrix(np.eye(72), "bodies", "bodies").shape == (72, 72)
    for wrong in (np.zeros(3), np.full((2, 2), np.nan), "abc"):
        with pytest.raises(OperatorError, match="matrix 'A': expected"):
            ops.matrix(wrong)
    with pytest.raises(OperatorError, match=r"it has 12 columns, and columns 'joints' are"):
        ops.matrix(w, columns="joints")
    with pytest.raises(OperatorError, match="no numbers 'toes'"):
        ops.matrix(w, columns="toes")
    with pytest.raises(OperatorError, match="does not go with"):
        W * H.T
    with pytest.raises(OperatorError, match="no row 7 of 5"):
        S.block(7, 0)


def test_no_bodies() -> None:
    ops = SpatialOperators(kido.Skeleton())
    mass = ops.H * ops.Phi * ops.M * ops.PhiStar * ops.HStar
    assert mass.dense().shape == (0, 0) and (ops.Psi * np.zeros(0)).shape == (0,)
    assert ops.log_det == 0.0 and ops.V.shape == (0,)


# Inverses --------------------------------------------------------------------------------------------------


def test_inverses_that_theory_knows(ops: SpatialOperators) -> None:
    H, Phi, Psi, I, K, D, M, P = ops["H", "Phi", "Psi", "I", "K", "D", "M", "P"]  # noqa: E741
    mass = H * Phi * M * Phi.T * H.T
    factor = I + H * Phi * K
    texts = {
        Phi: "I - E_φ",
        Psi.T: "(I - E_ψ)*",
        I - ops.E_phi: "φ",
        (I - ops.E_psi).T: "ψ*",
        factor: "I - H ψ K",
        factor.T: "(I - H ψ K)*",
        I - H * Psi * K: "I + H φ K",
        mass: "(I - H ψ K)* D^-1 (I - H ψ K)",
        2 * mass: "0.5 (I - H ψ K)* D^-1 (I - H ψ K)",
        factor * D * factor.T: "(I - H ψ K)* D^-1 (I - H ψ K)",
        mass.inverse(): "H φ M φ* H*",
        D: "D^-1",
        D.inverse(): "D",
        -D: "-D^-1",
        H * Psi * K - I: "-(I + H φ K)",
    }
    for A, text in texts.items():
        inverse = A.inverse()
        assert repr(inverse) == text
        product = A.dense() @ inverse.dense()
        assert error(product, np.eye(len(product))) < 1e-9, A
    solid = SpatialOperators(random_skeleton(3, 8, kinds=("revolute", "free", "ball")))
    for A in (solid.M, solid.P, solid.R, solid.M * solid.P + solid.R):
        assert error((A.inverse() * A).dense(), np.eye(48)) < 1e-10
    assert repr(solid.P.inverse()) == "P^-1" and repr((solid.M + solid.P).inverse()) == "(M + P)^-1"
    local = D + 2 * D
    assert error(local.inverse().dense() @ local.dense(), np.eye(local.shape[0])) < 1e-10
    assert error((H * P * H.T).inverse().dense(), D.inverse().dense()) < 1e-9


def test_inverses_that_there_are_not(ops: SpatialOperators) -> None:
    H, Phi, M = ops["H", "Phi", "M"]
    with pytest.raises(OperatorError, match="not square, "):
        H.inverse()
    with pytest.raises(OperatorError, match=r"no sweeps are known for the inverse of B\* ψ\* H\* D\^-1 H ψ B: known"):
        (ops.BStar * ops.Omega * ops.B).inverse()
    with pytest.raises(OperatorError, match="no sweeps are known"):
        (Phi + M).inverse()
    with pytest.raises(OperatorError, match="the block of body 'b"):
        (H.T * H).inverse()
    with pytest.raises(OperatorError, match="it is zero"):
        (0 * M).inverse()


# Formulas --------------------------------------------------------------------------------------------------


def test_formulas(ops: SpatialOperators) -> None:
    H, Phi, M, I, Psi, K, D = ops["H", "Phi", "M", "I", "Psi", "K", "D"]  # noqa: E741
    mass = H * Phi * M * Phi.T * H.T
    assert repr(mass) == str(mass) == "H φ M φ* H*"
    assert mass._repr_latex_() == r"$H \phi M \phi^{*} H^{*}$"
    assert repr((I - H * Psi * K).T * D.inverse()) == "(I - H ψ K)* D^-1"
    assert (I - H * Psi * K).T._repr_latex_() == r"$\left(I - H \psi \mathcal{K}\right)^{*}$"
    assert repr(-2 * Phi + 3 * M - Psi) == "-2 φ + 3 M - ψ"
    assert repr((Phi + M) * M) == "(φ + M) M"
    assert repr(ops.block_diagonal(np.eye(6), "W") * M) == "W M"
    assert repr(ops.Omega) == "ψ* H* D^-1 H ψ"
    assert repr(ops.Upsilon) == "Υ"
    assert repr(ops).startswith("SpatialOperators of 'random': 12 bodies")


def test_explanations_count_what_runs(ops: SpatialOperators) -> None:
    H, Phi, M, Psi = ops["H", "Phi", "M", "Psi"]
    explanation = (H * Phi * M * Phi.T * H.T).explain()
    assert [step.operator for step in explanation.steps] == ["H*", "φ*", "M", "φ", "H"]
    assert "scatter" in explanation.steps[1].sweep and "gather" in explanation.steps[3].sweep
    assert explanation.operations == sum(step.operations for step in explanation.steps)
    assert explanation.preparations == ()
    assert explanation.notes[0].startswith("decomposed H (R + φ~ R + R φ~*) H*: any block is a walk over ")
    assert explanation.notes[0] in str(explanation)
    n = H.shape[0]
    assert explanation.matrix_operations == n * (2 * n - 1)
    assert "H φ M φ* H*" in str(explanation) and "matrix" in repr(explanation)
    assert "articulated" in (H * Psi).explain().preparations[0]
    moving = sum(body.parent is not None for body in ops.bodies)
    assert explanation.steps[3].operations == 18 * moving
    total = (ops.I - H * Psi * ops.K).explain()
    assert [step.operator for step in total.steps] == ["K", "ψ", "H", "-"]
    assert [step.operator for step in (2 * M).explain().steps] == ["M", "2"]
    assert [s.operator for s in (ops.B.T * ops.PhiTilde.T * ops.Omega.branches()).explain().steps] == [
        "R_r",
        "φ~*",
        "B*",
    ]


# Mistakes --------------------------------------------------------------------------------------------------


def test_what_does_not_fit(ops: SpatialOperators, skeleton: kido.Skeleton) -> None:
    H, Phi, M = ops["H", "Phi", "M"]
    with pytest.raises(OperatorError, match="H does not go with H: it takes 72 spatial vectors of bodies"):
        H * H
    with pytest.raises(OperatorError, match="cannot be added"):
        H + M
    with pytest.raises(OperatorError, match=r"applied to 72 .*got an array of shape \(3,\)"):
        M * np.zeros(3)
    with pytest.raises(OperatorError, match="shape"):
        M * np.zeros((6 * BODIES, 2, 2))
    with pytest.raises(OperatorError, match="finite"):
        M * np.full(6 * BODIES, np.nan)
    with pytest.raises(OperatorError, match="finite"):
        M * np.inf
    with pytest.raises(OperatorError, match="expected an array of numbers"):
        M * "abc"
    with pytest.raises(OperatorError, match="expected an array of numbers"):
        M * np.full(6 * BODIES, 1j)
    with pytest.raises(OperatorError, match=r"c \* I"):
        M + 1
    with pytest.raises(OperatorError, match=r"A.inverse\(\)"):
        M / Phi
    with pytest.raises(OperatorError, match="divided"):
        M / 0
    with pytest.raises(OperatorError, match="no operator 'Chi'; there are H, Phi"):
        ops["Chi"]
    with pytest.raises(OperatorError, match="no operator 'IStar'"):
        ops["IStar"]
    with pytest.raises(OperatorError, match="no body 'nobody' among"):
        M.block("nobody", 0)
    with pytest.raises(OperatorError, match="no node 'nobody'"):
        ops.B.block(0, "nobody")
    with pytest.raises(OperatorError, match=r"expected an array \(12, 6, 6\)"):
        ops.block_diagonal(np.zeros((3, 6, 6)))
    with pytest.raises(OperatorError, match="finite"):
        ops.block_diagonal(np.full((6, 6), np.nan))
    with pytest.raises(OperatorError, match="nodes="):
        SpatialOperators(skeleton).B  # noqa: B018
    with pytest.raises(kido.StateError):
        SpatialOperators(skeleton, positions=np.zeros(3))
    with pytest.raises(kido.StateError, match="finite"):
        SpatialOperators(skeleton, positions=np.full(skeleton.num_dofs, np.nan))
    assert np.array([1.0, 2.0]) @ np.eye(2) is not None  # NumPy's own products stay


def test_large_numbers_are_no_infinities(ops: SpatialOperators) -> None:
    x = np.full(6 * BODIES, 1e200)
    assert np.isfinite(ops.Phi * x).all()


# States ----------------------------------------------------------------------------------------------------


def test_operators_stay_at_their_state() -> None:
    skeleton = random_skeleton(4, 6)
    q, u, *_ = random_state(skeleton, 1)
    skeleton.positions, skeleton.velocities = q, u
    ops = SpatialOperators(skeleton)
    mass = ops.H * ops.Phi * ops.M * ops.PhiStar * ops.HStar
    before = skeleton.mass_matrix
    assert ops.is_current
    skeleton.positions = q + 0.3
    assert not ops.is_current
    assert error(mass.dense(), before) < 1e-13
    assert error((mass * np.eye(len(before))), before) < 1e-13
    now = ops.at()
    assert now.is_current and not ops.is_current
    moved = now.H * now.Phi * now.M * now.PhiStar * now.HStar
    assert error(moved.dense(), skeleton.mass_matrix) < 1e-13
    again = ops.at(q, u)
    assert error((again.H * again.Phi * again.M * again.Phi.T * again.H.T).dense(), before) < 1e-13
    with pytest.raises(OperatorError, match="or another state"):
        ops.H * now.Phi
    with pytest.raises(OperatorError, match="or another state"):
        ops.M + now.M
    skeleton.add_body("new", kido.RevoluteJoint(), None, kido.Inertia.from_diagonal(1, [1, 1, 1]))
    assert not ops.is_current
    with pytest.raises(OperatorError, match="was edited"):
        ops.at()
    assert error(mass.dense(), before) < 1e-13


def test_moving_takes_all_expressions_along() -> None:
    """Everything that is kept of a state is forgotten: the same expressions, made at the new state, agree."""
    skeleton = random_skeleton(9, 10)
    q, u, *_ = random_state(skeleton, 1)
    tip = skeleton.bodies[7].create_node(kido.EndEffector, "tip", (0.1, 0.2, 0.3))
    skeleton.positions, skeleton.velocities = q, u
    dof = next(d for d in skeleton.dofs if isinstance(d.joint, kido.RevoluteJoint | kido.PrismaticJoint))

    def made(o: SpatialOperators) -> list[Operator]:
        single = [o[name] for name in (*o._NAMES, "KStar", "PsiStar") if name not in ("I", "H_given")]
        mass = o.H * o.Phi * o.M * o.Phi.T * o.H.T
        inner = (o.B.T * o.Omega * o.B, mass.inverse(), mass.decomposition(), o.Omega.decomposition(), mass)
        return [*single, *inner, o.carried(dof), (o.D + o.D).inverse(), o.pick_off(tip).T * o.R]

    ops = SpatialOperators(skeleton, nodes=[tip])
    before = made(ops)
    for A in before:
        A.dense()
        A.block(0, 0)
    r, v = q + 0.5, u - 1.0
    ops.move_to(r, v)
    after = ops.at(r, v)
    for A, B in zip(before, made(after), strict=True):
        assert error(A.dense(), B.dense()) < 1e-12, A
        x = np.random.default_rng(0).normal(size=A.shape[1])
        assert error(A * x, B * x) < 1e-12
        assert np.array_equal(A.block(0, 0), B.block(0, 0))
    for name in ("V", "a", "b", "weight", "node_products", "velocities"):
        assert np.array_equal(getattr(ops, name), getattr(after, name)), name
    assert ops.log_det == after.log_det
    with pytest.raises(kido.StateError):
        ops.move_to(q[:-1])
    with pytest.raises(kido.StateError, match="finite"):
        ops.move_to(q, np.full(len(q), np.nan))
    assert np.array_equal(ops.V, after.V)
    ops.move_to()
    assert ops.is_current


def test_building_leaves_the_skeleton_alone() -> None:
    skeleton = random_skeleton(4, 6)
    skeleton.mass_matrix  # noqa: B018
    counts = skeleton.evaluations
    q = skeleton.positions
    SpatialOperators(skeleton, q + 1.0, q)
    assert np.array_equal(skeleton.positions, q)
    skeleton.mass_matrix  # noqa: B018
    assert skeleton.evaluations == counts


def test_in_a_world() -> None:
    world, skeleton = kido.World(), random_skeleton(4, 6)
    other = random_skeleton(5, 3)
    other.name = "other"
    q, u, *_ = random_state(skeleton, 1)
    skeleton.positions, skeleton.velocities = q, u
    alone = SpatialOperators(skeleton).Omega.dense()
    world.add_skeleton(other)
    world.add_skeleton(skeleton)
    ops = SpatialOperators(skeleton)
    assert error(ops.Omega.dense(), alone) < 1e-13
    world.step(3)
    assert not ops.is_current
    assert error(ops.Omega.dense(), alone) < 1e-13


# Lyapunov products -----------------------------------------------------------------------------------------


def products(ops: SpatialOperators) -> dict[str, Lyapunov]:
    H, Phi, M, Psi, D, B, G, P = ops["H", "Phi", "M", "Psi", "D", "B", "G", "P"]
    W = ops.block_diagonal(np.random.default_rng(5).normal(size=(BODIES, 6, 6)), "W")
    made = {
        "mass": H * Phi * M * Phi.T * H.T,
        "composite": Phi * M * Phi.T,
        "half": 3.0 * H * Phi * M * Phi.T,
        "other half": Phi * M * Phi.T * H.T,
        "without": Phi * Phi.T,
        "articulated": Psi * P * Psi.T,
        "any": Phi * W * Phi.T,
        "compliance": Psi.T * H.T * D.inverse() * H * Psi,
        "of coordinates": H * Psi.T * W * Psi * G,
        "dual": Phi.T * W * Phi,
        "of nodes": B.T * Psi.T * H.T * D.inverse() * H * Psi * B,
        "of nodes, gathered": B.T * Phi * M * Phi.T * B,
        "nodes and bodies": -(B.T * Psi.T * W * Psi),
    }
    for name, expression in made.items():
        assert isinstance(expression, Lyapunov), name
    return made  # type: ignore[return-value]


def test_decompositions_and_blocks(ops: SpatialOperators) -> None:
    for name, A in products(ops).items():
        truth = A * np.eye(A.shape[1])  # by sweeps
        assert error(A.dense(), truth) < 1e-12, name
        x = np.random.default_rng(3).normal(size=(A.shape[1], 2))
        assert error(A.decomposition() * x, truth @ x) < 1e-10, name
        assert error(A.T.decomposition() * (truth @ x), truth.T @ truth @ x) < 1e-10, name
        scale = np.abs(truth).max()
        assert A.rows is not None and A.columns is not None
        rows, columns = len(A.rows.first) - 1, len(A.columns.first) - 1
        pairs = [(i, j) for i in range(rows) for j in range(columns)]
        for (i, j), block in zip(pairs, A.blocks(pairs), strict=True):
            expected = truth[A.rows.part(i), A.columns.part(j)]
            assert block.shape == expected.shape
            assert np.abs(block - expected).max(initial=0.0) < 1e-11 * scale, (name, i, j)
        if A.rows is A.columns:
            assert error(A.diagonal(), np.diag(truth)) < 1e-11
        else:
            with pytest.raises(OperatorError, match="not square"):
                A.diagonal()


def test_branches(ops: SpatialOperators) -> None:
    """R_r is there only between bodies neither of which is above the other."""
    made = products(ops)
    phi = ops.Phi.dense()[::6, ::6] != 0.0
    apart = ~(phi | phi.T)
    for name in ("compliance", "dual"):
        whole, R = made[name].dense(), made[name].branches().dense()
        expected = np.where(np.kron(apart, np.ones((6, 6))) > 0, whole, 0.0)
        assert np.abs(R - expected).max() < 1e-11 * np.abs(whole).max()
        assert np.abs(made[name].branches().T.dense() - R.T).max() < 1e-11 * np.abs(whole).max()
    with pytest.raises(OperatorError, match="not coupled"):
        made["composite"].branches()
    assert repr(made["composite"].decomposition()) == "R + φ~ R + R φ~*"
    assert repr(made["compliance"].decomposition()) == "Υ + ψ~* Υ + Υ ψ~ + R_r"
    assert repr(made["any"].diagonal_operator) == "diag(φ W φ*)"
    assert repr(made["mass"].decomposition()) == "H (R + φ~ R + R φ~*) H*"


def test_what_is_no_lyapunov_product(ops: SpatialOperators) -> None:
    H, Phi, M, Psi = ops["H", "Phi", "M", "Psi"]
    for A in (Phi * M * Psi.T, Phi * M * Phi, Phi * (Phi + M) * Phi.T, Phi * ops.E_phi * Phi.T, H * Phi):
        assert not isinstance(A, Lyapunov)


# Copies ----------------------------------------------------------------------------------------------------


def mass_of(o: SpatialOperators) -> np.ndarray:
    return (o.H * o.Phi * o.M * o.Phi.T * o.H.T).dense()


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_have_a_state_of_their_own(way, skeleton: kido.Skeleton) -> None:
    ops = SpatialOperators(skeleton, nodes=[skeleton.bodies[5]], prescribed=[0])
    before, B = mass_of(ops), ops.B.dense()
    twin = way(ops)
    assert np.array_equal(mass_of(twin), before)
    assert np.array_equal(twin.B.dense(), B)
    q = skeleton.positions + 0.5
    twin.move_to(q)
    assert np.array_equal(mass_of(ops), before)
    assert np.array_equal(mass_of(twin), mass_of(ops.at(q)))


def test_expressions_are_not_copied_without_their_operators(ops: SpatialOperators) -> None:
    for way in (copy.deepcopy, pickle.dumps):
        for expression in (ops.M, ops.H * ops.Phi, ops.I + ops.M):
            with pytest.raises(OperatorError, match="compose it anew"):
                way(expression)
    assert np.array_equal((copy.copy(ops.M) * ops.V), ops.M * ops.V)


def test_a_copy_of_an_edited_skeletons_operators_is_refused() -> None:
    made = random_skeleton(3, 4)
    ops = SpatialOperators(made)
    made.add_body("more")
    with pytest.raises(OperatorError, match="edited"):
        copy.deepcopy(ops)


def test_what_is_no_array_and_no_node_is_refused(ops: SpatialOperators) -> None:
    for bad in ("x", {}, np.ones(ops.H.shape[0], complex)):
        with pytest.raises(OperatorError, match="expected an array of numbers"):
            bad * ops.H
    for bad in (None, 3):
        with pytest.raises(OperatorError, match="nodes"):
            ops.pick_off(bad)
