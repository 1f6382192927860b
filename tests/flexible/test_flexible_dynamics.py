"""Recursions over trees with flexible bodies, against Newton's law of their points (`flexible_trees.py`)."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from flexible_trees import CLOUDS, Dense, orthogonal, random_modes, random_tree
from kido.flexible import FlexibleBody, FlexibleTree, ModeNode, Modes
from trees import relative_error

SEEDS = range(6)  # between them every kind of joint carries flexible and rigid bodies


def state(tree: FlexibleTree, seed: int) -> tuple[np.ndarray, ...]:
    """Positions with modes of the size of the body, velocities, accelerations."""
    rng = np.random.default_rng(seed)
    n = tree.num_coordinates
    return 0.7 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)


@pytest.fixture(scope="module", params=SEEDS)
def case(request: pytest.FixtureRequest) -> tuple[FlexibleTree, Dense]:
    tree = random_tree(request.param, bodies=12 if request.param else 6)
    return tree, Dense(tree, *state(tree, request.param))


def test_bodies_and_nodes_move_as_their_points_do(case: tuple[FlexibleTree, Dense]) -> None:
    tree, dense = case
    for body in tree.skeleton.bodies:
        assert relative_error(tree.transform(body, dense.q), dense.X[body.index]) < 1e-12
        V, A = tree.motion(body, dense.q, dense.u, dense.udot)
        assert relative_error(V, dense.V[body.index]) < 1e-12
        assert relative_error(A, dense.A[body.index]) < 1e-12


def test_jacobians_are_velocities_per_rate(case: tuple[FlexibleTree, Dense]) -> None:
    tree, dense = case
    offset = np.array([0.2, -0.1, 0.3])
    for body in tree.skeleton.bodies:
        J = tree.jacobian(body, dense.q, offset)
        V, r = dense.V[body.index], dense.X[body.index, :3, :3] @ offset
        assert relative_error(J @ dense.u, np.append(V[:3], V[3:] + np.cross(V[:3], r))) < 1e-12


def test_mass_matrix_forces_and_accelerations_are_newtons(case: tuple[FlexibleTree, Dense]) -> None:
    tree, dense = case
    M, tau = dense.forces()
    assert relative_error(tree.mass_matrix(dense.q), M) < 1e-12
    assert relative_error(tree.inverse_dynamics(dense.q, dense.u, dense.udot), tau) < 1e-12
    # Conditions of these matrices go up to 1e6.
    assert relative_error(tree.forward_dynamics(dense.q, dense.u, tau), dense.udot) < 1e-10


def test_log_determinant_is_a_sum_over_eliminations(case: tuple[FlexibleTree, Dense]) -> None:
    tree, dense = case
    sign, value = np.linalg.slogdet(dense.forces()[0])
    assert sign > 0.0 and abs(tree.log_determinant(dense.q) - value) < 1e-10  # NumPy's own error by the condition


def test_energy_and_momentum_are_those_of_the_points(case: tuple[FlexibleTree, Dense]) -> None:
    tree, dense = case
    M, _ = dense.forces()
    assert relative_error(tree.kinetic_energy(dense.q, dense.u), 0.5 * dense.u @ M @ dense.u) < 1e-12
    assert relative_error(tree.potential_energy(dense.q), dense.potential_energy) < 1e-12
    assert relative_error(tree.momentum(dense.q, dense.u), dense.momentum) < 1e-12


def test_a_body_without_gravity_has_none_in_its_modes() -> None:
    tree = random_tree(3, 4)
    q, u, udot = state(tree, 0)
    for body in tree.skeleton.bodies:
        body.gravity = False
    weightless = tree.inverse_dynamics(q, u, udot)
    for body in tree.skeleton.bodies:
        body.gravity = True
    tree.skeleton.gravity = (0.0, 0.0, 0.0)
    assert relative_error(weightless, tree.inverse_dynamics(q, u, udot)) < 1e-13


def test_a_body_without_modes_is_rigid() -> None:
    """The skeleton's own quantities, which are those of undeformed bodies, are then the tree's."""
    rng = np.random.default_rng(0)
    skeleton = kido.Skeleton("rigid")
    none = ModeNode("a", (1.0, 0.0, 0.0), np.zeros((3, 0)))
    stiff = Modes(np.ones(8), rng.normal(size=(8, 3)), np.zeros((8, 3, 0)), np.zeros(0), [none])
    first = FlexibleBody(skeleton.add_body("first", kido.FreeJoint()), stiff)
    skeleton.add_body("second", kido.RevoluteJoint(axis=(0, 1, 0)), first.node("a"), random_modes(rng).inertia)
    tree = FlexibleTree(skeleton)
    q, u, tau = rng.normal(size=(3, 7))
    assert relative_error(tree.forward_dynamics(q, u, tau), skeleton.forward_dynamics(q, u, tau)) < 1e-12
    assert relative_error(tree.mass_matrix(q), kido.quantities.mass_matrix(skeleton, q)) < 1e-13


def test_a_consistent_mass_matrix_is_as_good_as_points() -> None:
    """Two elements of a string, whose masses are spread evenly: integrals by matrix are those by Gauss points."""
    ends = np.array([[0.0, 0.1, 0.2], [1.0, -0.3, 0.1], [1.5, 0.4, -0.2]])
    moved = np.random.default_rng(0).normal(size=(3, 3, 1))
    consistent, (x, weight) = np.zeros((3, 3)), np.polynomial.legendre.leggauss(2)
    N, masses = [], []
    for k, mass in enumerate((0.7, 1.2)):
        consistent[k : k + 2, k : k + 2] += mass / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]])
        for s, w in zip(0.5 * (x + 1.0), 0.5 * weight, strict=True):
            N.append([*[0.0] * k, 1.0 - s, s, *[0.0] * (1 - k)])
            masses.append(w * mass)
    N = np.array(N)
    by_matrix = Modes(consistent, ends, moved, [1.0])
    by_points = Modes(masses, N @ ends, np.tensordot(N, moved, 1), [1.0])
    for what in ("mass", "mass_matrix", "first_moment", "moment", "S1", "J1", "J2", "R1", "R2"):
        assert np.allclose(getattr(by_matrix, what), getattr(by_points, what), rtol=1e-13, atol=1e-15), what


# Terms of second order ---------------------------------------------------------------------------------------


def bent_tree(kinds: tuple[type[kido.Joint], ...] = (kido.RevoluteJoint, kido.PrismaticJoint)) -> FlexibleTree:
    """Bodies whose points move with terms of second order, on joints whose rates are velocities."""
    rng = np.random.default_rng(5)
    skeleton = kido.Skeleton("bent")
    bodies, parent = [], None
    for k, kind in enumerate(kinds):
        linear = random_modes(rng, 2)
        masses, rho, shapes = CLOUDS[linear]
        bend = rng.normal(size=(8, 3, 2, 2))
        bend += bend.swapaxes(2, 3)
        nodes = [ModeNode("a", rho[0], shapes[0], rng.normal(size=(3, 2)), bend[0])]
        modes = Modes(masses, rho, shapes, linear.stiffness, nodes, bend)
        joint: kido.Joint = kind(axis=rng.normal(size=3), transform_from_parent=rng.normal(size=3))  # type: ignore[call-arg]
        bodies.append(FlexibleBody(skeleton.add_body(f"b{k}", joint, parent), modes))
        parent = bodies[-1].node("a")
    return FlexibleTree(skeleton)


def test_bias_follows_from_the_mass_matrix_by_lagrange() -> None:
    """C_k = sum (dM_kj/dq_l - dM_jl/dq_k / 2) u_j u_l, for terms of any order; M by differences of sixth order."""
    tree = bent_tree()
    tree.skeleton.gravity = (0.3, -0.4, -9.0)
    n = tree.num_coordinates
    rng = np.random.default_rng(1)
    q, u = 0.3 * rng.normal(size=n), rng.normal(size=n)

    def slope(f, k, h=1e-2):
        e = np.eye(n)[k] * h
        c = {1: 45.0, 2: -9.0, 3: 1.0}
        return sum(w * (f(q + j * e) - f(q - j * e)) for j, w in c.items()) / (60.0 * h)

    dM = np.array([slope(tree.mass_matrix, k) for k in range(n)])
    dV = np.array([slope(tree.potential_energy, k) for k in range(n)])
    C = np.einsum("lkj,j,l->k", dM, u, u) - 0.5 * np.einsum("kjl,j,l->k", dM, u, u) + dV
    assert relative_error(tree.inverse_dynamics(q, u, np.zeros(n)), C) < 1e-9


def test_terms_of_second_order_are_those_of_the_points() -> None:
    """What is left out of M is of the order that is said: 3 for the body, 2 for its coupling to modes, 1 for modes."""
    rng = np.random.default_rng(2)
    masses, rho = rng.uniform(0.1, 1.0, 8), rng.normal(size=(8, 3))
    shapes, stiffness = orthogonal(masses, rng.normal(size=(8, 3, 2)), np.diag([1.0, 2.0]))
    bend = rng.normal(size=(8, 3, 2, 2))
    bend += bend.swapaxes(2, 3)
    skeleton = kido.Skeleton("free")
    FlexibleBody(skeleton.add_body("body", kido.FreeJoint()), Modes(masses, rho, shapes, stiffness, (), bend))
    tree = FlexibleTree(skeleton)
    eta = rng.normal(size=2)

    def left_out(scale: float) -> np.ndarray:
        e = scale * eta
        x = rho + shapes @ e + 0.5 * np.einsum("pamn,m,n->pa", bend, e, e)
        J = np.concatenate([
            np.stack([np.cross(a, x) for a in np.eye(3)], -1), np.tile(np.eye(3), (8, 1, 1)), shapes + bend @ e,
        ], axis=2)  # fmt: skip
        exact = np.einsum("p,pak,pal->kl", masses, J, J)
        found = tree.mass_matrix(np.concatenate([np.zeros(6), e]))
        gap = np.abs(exact - found)
        return np.array([gap[:6, :6].max(), gap[:6, 6:].max(), gap[6:, 6:].max()])

    orders = np.log2(left_out(2e-3) / left_out(1e-3))
    assert np.allclose(orders, [3.0, 2.0, 1.0], atol=0.1)
