"""Spatial operators with modes in the tree: the matrices of their definitions, theory's identities, and dynamics.

The truth is `flexible_trees.Dense`, Newton's law of the points of bodies, and matrices that are made here of motions of
these points alone. Numbers are exact to 1e-10 relative: conditions of mass matrices are 1e3 to 1e5 in these trees.
"""

from __future__ import annotations

import copy
import pickle
from functools import cache, cached_property

import numpy as np
import pytest
from test_flexible_loops import four_bar

import kido
from flexible_trees import CLOUDS, Dense, random_tree
from kido.flexible import FlexibleBody, Material, Modes, Section, beam_modes, flexible_bodies
from kido.identification import DynamicParameters, base_parameters, exciting_motion, identify
from kido.operators import Lyapunov, OperatorError, SpatialOperators, sweeps
from trees import motion, skew

EXACT = 1e-10
NAMES = ("H", "M", "P", "D", "G", "K", "tau", "E_phi", "E_psi")


def error(value, expected) -> float:
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape
    return float(np.abs(value - expected).max() / max(np.abs(expected).max(), 1e-300)) if value.size else 0.0


_COLUMNS: dict = {}


def columns_of(case: Dense) -> list:
    """Motions of bodies and points per unit rate of each coordinate; they depend on positions alone."""
    key = id(case.tree), case.q.tobytes()
    if key not in _COLUMNS:
        _COLUMNS[key] = case.tree, [case.move(e, np.zeros(len(e))) for e in np.eye(len(case.q))]
    return _COLUMNS[key][1]


class Truth:
    """Dense matrices of a tree's operators, of motions of points, and of definitions."""

    def __init__(self, case: Dense, armature: bool = True):
        self.case, skeleton = case, case.tree.skeleton
        bodies, n = skeleton.bodies, len(case.q)
        self.columns = columns_of(case)
        self.flexible = {f.coordinates: f for f in case.tree.bodies}
        own = {f.body for f in case.tree.bodies}
        nodes = {f.node(m.name): f for f in case.tree.bodies for m in f.modes.nodes}
        sizes = [6 + (len(b.parent_joint.dofs) if b in self.flexible else 0) for b in bodies]
        self.first = first = np.concatenate([[0], np.cumsum(sizes)])
        self.rows = [slice(first[k], first[k + 1]) for k in range(len(bodies))]
        self.hinge = [b.parent_joint.coordinates for b in bodies]
        total = int(first[-1])
        self.H, self.E_phi, self.M = np.zeros((n, total)), np.zeros((total, total)), np.zeros((total, total))
        self.parent = [-1] * len(bodies)
        places = {f.body: k for k, f in enumerate(case.tree.bodies)}
        for k, body in enumerate(bodies):
            at = self.rows[k]
            if body in self.flexible:
                self.H[self.hinge[k], at.start + 6 : at.stop] = np.eye(sizes[k] - 6)
            else:
                self.H[self.hinge[k], at.start : at.start + 6] = self.J(k)[:, self.hinge[k]].T
            if body not in own:
                self.M[at, at] = self.inertia(body, places)
            above = nodes[body].coordinates if body in nodes else body.parent
            if above is not None and body.parent is not None:
                self.parent[k] = above.index
                row = first[above.index]
                part = slice(row, row + 6)
                self.E_phi[part, at.start : at.start + 6] = np.eye(6)
                arm = case.X[k, :3, 3] - case.X[body.parent.index, :3, 3]
                self.E_phi[row : row + 3, at.start + 3 : at.start + 6] = skew(arm)
                if body in nodes:
                    modes = above.parent_joint.coordinates
                    self.E_phi[row + 6 : self.rows[above.index].stop, at.start : at.start + 6] = self.J(k)[:, modes].T
        one = np.eye(total)
        self.J_a = np.diag([dof.armature for dof in skeleton.dofs]) * armature
        self.phi = np.linalg.inv(one - self.E_phi)
        self.mass_matrix = self.H @ self.phi @ self.M @ self.phi.T @ self.H.T + self.J_a

    def J(self, k: int) -> np.ndarray:
        """Motion of a body's origin per unit rate of each coordinate."""
        return np.stack([motion(series[k])[0] for series, _ in self.columns], -1)

    def inertia(self, body: kido.BodyNode, places: dict) -> np.ndarray:
        """Of a rigid body, or of the points of a flexible one: motions of its frame, then its modes."""
        if body not in self.flexible:
            R = self.case.X[body.index, :3, :3]
            m, c = body.mass, skew(R @ body.inertia.com)
            moment = R @ body.inertia.moment @ R.T if m > 0.0 else np.zeros((3, 3))
            return np.block([[moment - m * c @ c, m * c], [-m * c, m * np.eye(3)]])
        f = self.flexible[body]
        masses, x, _, _ = self.case.points[places[f.body]]
        shapes = CLOUDS[f.modes][2]
        arms = x - self.case.X[f.body.index, :3, 3]
        J = np.zeros((len(masses), 3, 6 + shapes.shape[2]))
        J[:, :, :3] = [-skew(r) for r in arms]
        J[:, :, 3:6] = np.eye(3)
        J[:, :, 6:] = self.case.X[f.body.index, :3, :3] @ shapes
        return np.einsum("p,pai,paj->ij", masses, J, J)

    @cached_property
    def P(self) -> np.ndarray:
        """What a body and all below it, free at their joints, take to be moved: Schur complements."""
        P, above = np.zeros(self.M.shape), np.zeros((len(self.rows),) * 2, bool)
        for k in range(len(self.rows)):
            i = k
            while i >= 0:
                above[i, k] = True
                i = self.parent[i]
        for k, at in enumerate(self.rows):
            J = self.phi[at]
            parts = [self.hinge[i] for i in np.flatnonzero(above[k]) if i != k]
            below = [d for part in parts for d in range(part.start, part.stop)]
            A = self.H[below] @ self.phi @ self.M
            inner = A @ self.phi.T @ self.H[below].T + self.J_a[np.ix_(below, below)]
            coupling = A @ J.T
            P[at, at] = J @ self.M @ J.T - coupling.T @ np.linalg.solve(inner, coupling)
        return P

    @cached_property
    def D(self) -> np.ndarray:
        return self.H @ self.P @ self.H.T * (self.J_a * 0 + self.same_hinge()) + self.J_a

    def same_hinge(self) -> np.ndarray:
        same = np.zeros(self.J_a.shape)
        for part in self.hinge:
            same[part, part] = 1.0
        return same

    @cached_property
    def G(self) -> np.ndarray:
        return self.P @ self.H.T @ np.linalg.inv(self.D)

    @cached_property
    def tau(self) -> np.ndarray:
        return np.eye(len(self.P)) - self.G @ self.H

    @cached_property
    def K(self) -> np.ndarray:
        return self.E_phi @ self.G

    @cached_property
    def E_psi(self) -> np.ndarray:
        return self.E_phi @ self.tau

    @cached_property
    def psi(self) -> np.ndarray:
        return np.linalg.inv(np.eye(len(self.P)) - self.E_psi)

    def forces(self, bodies) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix, and forces for the accelerations, of some bodies alone: virtual power of their points."""
        case, n, chosen = self.case, len(self.J_a), set(bodies)
        M, T, g = np.zeros((n, n)), np.zeros(n), np.asarray(case.tree.skeleton.gravity)
        for c, f in enumerate(case.tree.bodies):
            if f.body in chosen:
                masses, _, _, a = case.points[c]
                J = np.stack([points[c][2] for _, points in self.columns], -1)
                M += np.einsum("p,pak,pal->kl", masses, J, J)
                T += np.einsum("p,pak,pa->k", masses, J, a - g)
        for body in chosen.difference(f.body for f in case.tree.bodies):
            if body.mass > 0.0:
                J, w = self.J(body.index), case.V[body.index, :3]
                own = self.inertia(body, {})
                M += J.T @ own @ J
                a = case.A[body.index] - np.append(np.zeros(3), g)
                c = np.array([own[2, 4], own[0, 5], own[1, 3]])
                T += J.T @ (own @ a + np.append(np.cross(w, own[:3, :3] @ w), np.cross(w, np.cross(w, c))))
        return M, T


@cache
def make(seed: int, armature: bool = False, bodies: int = 6) -> Dense:
    """A random tree at a random state: every second body is flexible, joints are of all kinds."""
    tree = random_tree(seed, bodies)
    for dof in tree.skeleton.dofs:
        dof.armature = 0.1 * armature * (dof.index % 3 == 0)
    rng, n = np.random.default_rng(seed), tree.skeleton.num_dofs
    return Dense(tree, 0.3 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n))


@pytest.fixture(scope="module", params=range(3))
def case(request: pytest.FixtureRequest) -> Dense:
    return make(request.param)


@pytest.fixture(scope="module")
def truth(case: Dense) -> Truth:
    return Truth(case)


@pytest.fixture
def ops(case: Dense) -> SpatialOperators:
    skeleton = case.tree.skeleton
    skeleton.positions, skeleton.velocities, skeleton.accelerations = case.q, case.u, case.udot
    return SpatialOperators(skeleton, nodes=nodes_of(skeleton))


def nodes_of(skeleton: kido.Skeleton) -> list[kido.BodyNode]:
    flexible = flexible_bodies(skeleton)
    return [flexible[1].node("b"), flexible[-1].body, skeleton.bodies[-1], skeleton.body("b3"), flexible[0].coordinates]


# Definitions and identities ----------------------------------------------------------------------------------


def check_definitions(ops: SpatialOperators, truth: Truth) -> None:
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
    M = truth.mass_matrix
    assert error(yields, truth.phi.T @ truth.H.T @ np.linalg.solve(M, truth.H @ truth.phi)) < EXACT
    for k, own in enumerate(truth.rows):
        assert error(ops.R.dense()[own, own], composite[own, own]) < EXACT
        assert error(ops.Upsilon.dense()[own, own], yields[own, own]) < EXACT
        other = (7 * k + 3) % len(truth.rows)
        at = truth.rows[other]
        scale = np.abs(yields).max()
        assert np.abs(ops.Omega.block(k, other) - yields[own, at]).max() < EXACT * scale
        product = ops.Phi * ops.M * ops.Phi.T
        assert np.abs(product.block(k, other) - composite[own, at]).max() < EXACT * np.abs(composite).max()


def test_definitions_with_rotors() -> None:
    case = make(3, armature=True)
    skeleton = case.tree.skeleton
    truth = Truth(case)
    ops = SpatialOperators(skeleton, case.q, case.u)
    check_definitions(ops, truth)
    M = truth.mass_matrix
    assert error(M, case.forces()[0]) < 1e-12
    mass = ops.H * ops.Phi * ops.M * ops.Phi.T * ops.H.T + ops.J_a
    assert error(mass.dense(), M) < EXACT
    assert ops.log_det == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-9)
    T = np.arange(1.0, len(M) + 1.0)
    assert error(M @ (mass.inverse() * T), T) < 1e-9
    assert error((ops.P - ops.E_psi * ops.P * ops.E_phi.T).dense(), truth.M) < EXACT  # with rotors too


def test_definitions(ops: SpatialOperators, truth: Truth) -> None:
    check_definitions(ops, truth)


def test_transposes(ops: SpatialOperators) -> None:
    """<y, A x> = <A* y, x> for the sweeps of all operators, one vector and a block of them."""
    rng = np.random.default_rng(0)
    for name in (*NAMES, "Phi", "Psi", "PhiTilde", "PsiTilde", "R", "Upsilon", "Omega", "B"):
        A, star = ops[name], ops[name + "Star"]
        rows, columns = A.shape
        x, y = rng.normal(size=(columns, 5)), rng.normal(size=(rows, 5))
        Ax, By = A * x, star * y
        assert abs((y * Ax).sum() - (By * x).sum()) < EXACT * (np.linalg.norm(Ax) * np.linalg.norm(y) + 1.0), name
        for k in (0, 4):
            assert error(A * x[:, k], Ax[:, k]) < 1e-13
            assert error(star * y[:, k], By[:, k]) < 1e-13


@pytest.mark.parametrize(("seed", "bodies"), [(0, 6), (4, 12), (5, 12)])
def test_identities(seed: int, bodies: int) -> None:
    """Theory a4 and a5: all of them, by sweeps on blocks of vectors."""
    case = make(seed, bodies=bodies)
    ops = SpatialOperators(case.tree.skeleton, case.q, case.u)
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
    for whole in (Phi * M * Phi.T, ops.Omega):
        assert isinstance(whole, Lyapunov)
        same(whole.decomposition(), whole, x)
        assert error(whole.diagonal(), np.diag(whole.dense())) < EXACT
    w = factor.T * case.u
    assert 0.5 * w @ (D * w) == pytest.approx(case.tree.kinetic_energy(case.q, case.u), rel=1e-11)


# Dynamics ------------------------------------------------------------------------------------------------------


def test_inverse_and_forward_dynamics(case: Dense, truth: Truth, ops: SpatialOperators) -> None:
    """Springs and dampers, of modes too, are forces like any others, and no part of it."""
    M, tau = truth.forces(case.tree.skeleton.bodies)
    H, Phi, Psi, K, D, P, I = ops["H", "Phi", "Psi", "K", "D", "P", "I"]  # noqa: E741
    first = np.array(ops.on.body_space.first[:-1])
    six = first[:, None] + np.arange(6)
    assert error(Phi.T * H.T * case.u, ops.V) < EXACT
    assert error(ops.V[six], case.V) < EXACT
    alpha = Phi.T * (H.T * case.udot + ops.a)
    assert error(alpha[six], case.A) < EXACT
    external = np.zeros(len(alpha))
    external[six] = np.random.default_rng(0).normal(size=six.shape)
    z = ops.b - ops.weight - external
    T = H * Phi * (ops.M * alpha + z)
    pushed = np.sum([truth.J(k).T @ f for k, f in enumerate(external[six])], axis=0)
    assert error(T, tau - pushed) < EXACT
    found = (I - H * Psi * K).T * (D.inverse() * (T - H * (Psi * (K * T + P * ops.a + z)))) - K.T * Psi.T * ops.a
    assert error(found, case.udot) < 1e-9  # conditions of M are up to 1e5
    assert error(M @ found, M @ case.udot) < EXACT
    assert not ops.V_boundary.any() and not ops.A_boundary.any()


def test_some_bodies_have_no_weight(case: Dense) -> None:
    skeleton = case.tree.skeleton.clone()
    flexible = flexible_bodies(skeleton)
    for body in skeleton.bodies:
        if not body.parent_joint.is_part:
            body.gravity = body.index % 3 != 0 and body is not flexible[1].body
    ops = SpatialOperators(skeleton, case.q, case.u)
    alpha = ops.Phi.T * (ops.H.T * case.udot + ops.a)
    T = ops.H * (ops.Phi * (ops.M * alpha + ops.b - ops.weight))
    assert error(T, skeleton.inverse_dynamics(case.q, case.u, case.udot)) < EXACT
    still = skeleton.clone()
    still.gravity = (0.0, 0.0, 0.0)
    rest = np.zeros(len(case.q))
    weight = skeleton.inverse_dynamics(case.q, rest, rest) - still.inverse_dynamics(case.q, rest, rest)
    assert error(-(ops.H * (ops.Phi * ops.weight)), weight) < EXACT


def test_prescribed_coordinates(case: Dense, truth: Truth) -> None:
    """Mixed dynamics (theory a7) with joints and modes held: H_p* udot_p joins a, and T_p = H_p f."""
    skeleton, n = case.tree.skeleton, len(case.q)
    flexible = case.tree.bodies
    held = sorted({1, flexible[0].dofs.start, *range(flexible[1].dofs.start, flexible[1].dofs.stop), n - 1})
    free = np.setdiff1d(np.arange(n), held)
    ops = SpatialOperators(skeleton, case.q, case.u, prescribed=held)
    H, Phi, M, I, Psi, K, D, P = ops["H", "Phi", "M", "I", "Psi", "K", "D", "P"]  # noqa: E741
    assert [d.index for d in ops.given_dofs] == held
    assert error(Phi.T * (H.T * case.u[free] + ops.H_given.T * case.u[held]), ops.V) < EXACT
    A, C = truth.forces(skeleton.bodies)
    C -= A @ case.udot
    a, z = ops.a + ops.H_given.T * case.udot[held], ops.b - ops.weight
    T = A[free] @ case.udot + C[free]
    found = (I - H * Psi * K).T * (D.inverse() * (T - H * (Psi * (K * T + P * a + z)))) - K.T * Psi.T * a
    assert error(found, case.udot[free]) < 1e-9
    alpha = Phi.T * (H.T * found + a)
    assert error(ops.H_given * Phi * (M * alpha + z), A[held] @ case.udot + C[held]) < 1e-9
    assert ops.log_det == pytest.approx(np.linalg.slogdet(A[np.ix_(free, free)])[1], abs=1e-9)
    group = kido.Group(skeleton.bodies, dofs=[skeleton.dofs[k] for k in free])
    assert [d.index for d in SpatialOperators(group).given_dofs] == held


def test_operational_space(case: Dense, truth: Truth, ops: SpatialOperators) -> None:
    """Theory a6: Jacobian, accelerations and compliance of nodes, frames and what hangs there."""
    nodes = nodes_of(case.tree.skeleton)
    marker = nodes[0].create_node(kido.EndEffector, "tip", (0.1, -0.2, 0.3))
    J = np.vstack([truth.J(node.index) for node in nodes])
    B, H, Phi, Omega = ops["B", "H", "Phi", "Omega"]
    assert error((B.T * Phi.T * H.T).dense(), J) < EXACT
    alpha = Phi.T * (H.T * case.udot + ops.a)
    assert error(B.T * alpha + ops.node_products, case.A[[n.index for n in nodes]].ravel()) < EXACT
    wanted = J @ np.linalg.solve(truth.mass_matrix, J.T)
    compliance = B.T * Omega * B
    assert error(compliance.dense(), wanted) < 1e-9
    assert np.abs(compliance.block(0, 3) - wanted[:6, 18:24]).max() < 1e-9 * np.abs(wanted).max()
    f = np.arange(len(J), dtype=float)
    assert error(H * (Phi * (B * f)), J.T @ f) < EXACT
    arm = case.X[nodes[0].index, :3, :3] @ (0.1, -0.2, 0.3)
    own = J[:6].copy()
    own[3:] += np.cross(own[:3].T, arm).T
    tip = ops.pick_off(marker)
    assert error((tip.T * Phi.T * H.T).dense(), own) < EXACT
    marker.remove()


def test_sensitivities_against_differences() -> None:
    """The mass matrix and log det M by a joint's coordinate; modes have no such operator."""
    case = make(5, bodies=5)
    ops = SpatialOperators(case.tree.skeleton, case.q)
    H, Phi, M, P, Upsilon, PhiTilde = ops["H", "Phi", "M", "P", "Upsilon", "PhiTilde"]
    single = [d for d in ops.dofs if isinstance(d.joint, kido.RevoluteJoint | kido.PrismaticJoint | kido.ScrewJoint)]
    for dof in single:
        X, step = ops.carried(dof), 1e-3 * np.eye(len(case.q))[dof.index]

        def slope(compute, step=step) -> np.ndarray:
            one, two, three, four = (compute(ops.at(case.q + k * step)) for k in (1, -1, 2, -2))
            return (8.0 * (one - two) - (three - four)) / 12e-3

        half = H * PhiTilde * X * Phi * M * Phi.T * H.T
        assert error((half + half.T).dense(), slope(lambda o: (o.H * o.Phi * o.M * o.Phi.T * o.H.T).dense())) < 1e-8
        rise = 2.0 * np.trace((X * P * Upsilon).block(dof, dof))
        assert abs(rise - slope(lambda o: np.array(o.log_det))) < 1e-8
    assert single
    with pytest.raises(OperatorError, match="it is of a ModalJoint"):
        ops.carried(case.tree.bodies[0].dofs.start)


# Parts of a tree -------------------------------------------------------------------------------------------


def connected(rng: np.random.Generator, root: kido.BodyNode) -> list[kido.BodyNode]:
    """Some bodies below a root; parts of flexible bodies may be left out, they come by themselves."""
    chosen = [root]
    for body in root.subtree[1:]:
        above = body.parent
        assert above is not None
        above = above.parent if above.parent_joint.is_part else above
        if above in chosen and not body.parent_joint.is_part and rng.random() < 0.6:
            chosen.append(body)
    return chosen


@pytest.mark.parametrize("outboard", ["cut", "frozen"])
@pytest.mark.parametrize("seed", range(3))
def test_subgraphs(seed: int, outboard: str) -> None:
    """Flexible bodies inside, above and below; what is below is left out, or locked as it is deformed now."""
    whole = make(seed)
    skeleton, rng = whole.tree.skeleton, np.random.default_rng(seed)
    for root in [b for b in skeleton.bodies if not b.parent_joint.is_part][:5]:
        listed = connected(rng, root)
        part = kido.Subgraph(listed, outboard)
        inside = [dof.index for dof in part.dofs]
        assert all(child in part for body in listed for child in body.children if child.parent_joint.is_part)
        below = [dof.index for b in part.outboard_bodies for c in b.subtree for dof in c.parent_joint.dofs]
        u, udot = whole.u.copy(), np.zeros(len(whole.u))
        udot[inside] = whole.udot[inside]
        moving = u.copy()
        u[below] = 0.0  # for them to be frozen; the others move as ever
        case = Dense(whole.tree, whole.q, u, udot)
        truth = Truth(case)
        bodies = [*part.bodies, *(c for b in part.outboard_bodies for c in b.subtree if outboard == "frozen")]
        M, T = truth.forces(bodies)
        M, T = M[np.ix_(inside, inside)], T[inside]
        skeleton.positions, skeleton.velocities, skeleton.accelerations = whole.q, moving, 0.0 * moving
        made = [SpatialOperators(part), SpatialOperators(listed, outboard=outboard)]
        assert made[0].bodies == made[1].bodies == part.bodies
        for ops in made:
            mass = ops.H * ops.Phi * ops.M * ops.Phi.T * ops.H.T
            assert error(mass.dense(), M) < EXACT
            assert error(ops.Phi.T * (ops.H.T * ops.velocities + ops.V_boundary), ops.V) < EXACT
            alpha = ops.Phi.T * (ops.H.T * udot[inside] + ops.a + ops.A_boundary)
            own = (ops.M * alpha) + ops.b - ops.weight
            assert error(ops.H * ops.Phi * own, T) < EXACT
            if inside:
                assert error(M @ (mass.inverse() * T), T) < 1e-9
                assert ops.log_det == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-9)
        if inside:
            assert error(part.mass_matrix, M) < EXACT
            assert error(part.inverse_dynamics(accelerations=udot[inside]), T) < EXACT
            assert error(part.forward_dynamics(forces=T), udot[inside]) < 1e-8
            nodes = [part.bodies[-1]]
            J = np.vstack([truth.J(node.index)[:, inside] for node in nodes])
            assert error(part.operational_space_compliance(nodes), J @ np.linalg.solve(M, J.T)) < 1e-8
            assert part.log_det_mass_matrix() == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-9)


def test_lists_that_begin_at_a_node(case: Dense, truth: Truth) -> None:
    """A node moves by modes that are not listed: that is motion of the boundary. Subgraphs begin elsewhere."""
    skeleton = case.tree.skeleton
    node = next(f.node(n.name) for f in case.tree.bodies for n in f.modes.nodes if f.node(n.name).children)
    listed = node.subtree
    inside = [dof.index for body in listed for dof in body.parent_joint.dofs]
    udot = np.zeros(len(case.u))
    udot[inside] = case.udot[inside]
    still = Dense(case.tree, case.q, case.u, udot)
    ops = SpatialOperators(listed, case.q, case.u)
    first = np.array(ops.on.body_space.first[:-1])[:, None] + np.arange(6)
    own = [body.index for body in listed]
    assert error((ops.Phi.T * (ops.H.T * ops.velocities + ops.V_boundary))[first], case.V[own]) < EXACT
    alpha = ops.Phi.T * (ops.H.T * udot[[d.index for d in ops.dofs]] + ops.a + ops.A_boundary)
    assert error(alpha[first], still.A[own]) < EXACT
    rigid = SpatialOperators([skeleton.body("b1")], case.q, case.u)
    at = truth.rows[skeleton.body("b1").index]
    assert error(rigid.M.dense(), truth.M[at, at]) < EXACT
    with pytest.raises(kido.ModelError, match=f"'{node.name}' is part of the flexible body.*begin at"):
        kido.Subgraph(listed)
    with pytest.raises(kido.ModelError, match="is part of the flexible body"):
        kido.Subgraph([case.tree.bodies[0].coordinates])


def test_wrenches_between_parts(case: Dense, truth: Truth) -> None:
    """Reactions carry all that is below; a part that is cut off moves as in the whole under those at its rim."""
    skeleton = case.tree.skeleton
    skeleton.positions, skeleton.velocities, skeleton.accelerations = case.q, case.u, case.udot
    reactions, g = skeleton.reaction_wrenches, np.asarray(skeleton.gravity)
    composite, articulated, momenta = (
        skeleton.composite_inertias, skeleton.articulated_inertias(), skeleton.composite_momenta
    )  # fmt: skip
    owner = {f.body: c for c, f in enumerate(case.tree.bodies)}
    for body in skeleton.bodies:
        f, h = np.zeros(6), np.zeros(6)
        for below in body.subtree:
            if below in owner:
                masses, x, v, a = case.points[owner[below]]
                terms = [(m * (aj - g), m * vj, xj) for m, xj, vj, aj in zip(masses, x, v, a)]
            elif below.mass > 0.0:
                X, V, A = case.X[below.index], case.V[below.index], case.A[below.index]
                R, c, w = X[:3, :3], X[:3, :3] @ below.inertia.com, V[:3]
                I = R @ below.inertia.moment @ R.T  # noqa: E741
                a = A[3:] + np.cross(A[:3], c) + np.cross(w, np.cross(w, c))
                terms = [(below.mass * (a - g), below.mass * (V[3:] + np.cross(w, c)), X[:3, 3] + c)]
                f[:3] += I @ A[:3] + np.cross(w, I @ w)
                h[:3] += I @ w
            else:
                terms = []
            for force, momentum, x in terms:
                arm = x - case.X[body.index, :3, 3]
                f += np.append(np.cross(arm, force), force)
                h += np.append(np.cross(arm, momentum), momentum)
        assert np.abs(reactions[body.index] - f).max() < EXACT * np.abs(reactions).max()
        assert np.abs(momenta[body.index] - h).max() < EXACT * np.abs(momenta).max()
        at = truth.rows[body.index]
        six = slice(at.start, at.start + 6)
        modal = body in truth.flexible
        R = (truth.phi @ truth.M @ truth.phi.T)[six, six] * (not modal)
        assert np.abs(composite[body.index] - R).max() < EXACT * np.abs(composite).max()
        P = truth.P[six, six] * (not modal)
        assert np.abs(articulated[body.index] - P).max() < EXACT * np.abs(composite).max()
    nu = skeleton.diagonalized_velocities
    assert 0.5 * nu @ nu == pytest.approx(skeleton.kinetic_energy, rel=1e-11)
    assert error(skeleton.velocities_of_diagonalized(nu), case.u) < EXACT
    part = kido.Subgraph([case.tree.bodies[0].body], outboard="cut")
    T = part.inverse_dynamics(wrenches=part.outboard_wrenches())
    skeleton.compute_inverse_dynamics()
    assert error(T, skeleton.forces[[d.index for d in part.dofs]]) < EXACT
    wrench = part.base_wrench(wrenches=part.outboard_wrenches())
    assert error(wrench, reactions[part.base.index]) < EXACT


def test_closed_chains() -> None:
    """Theory b1, b4 with modes: multipliers by the compliance of rows, independent coordinates, and solvers."""
    s, constraints = four_bar()
    s.set_positions([0.9, -0.5, 1.6], ["crank", "pin", "base"])
    rng = np.random.default_rng(0)
    plane = [dof.index for dof in s.dofs if "bending_y" in dof.name]
    s.set_positions(0.01 * rng.normal(size=len(plane)), plane)
    dynamics = kido.ConstrainedDynamics(s, constraints)
    dynamics.assemble(freeze="crank")
    system = dynamics.system
    ops = SpatialOperators(s)
    H, Phi, M = ops["H", "Phi", "M"]
    mass = H * Phi * M * Phi.T * H.T
    rows, gamma = system.G(), system.gamma()
    U, sizes, V = np.linalg.svd(rows)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    G = ops.matrix(V[:rank], columns="joints", name="G")
    X = ops.matrix(V[rank:].T, rows="joints", name="X")
    gamma = (U.T @ gamma)[:rank] / sizes[:rank]
    C = H * Phi * (M * (Phi.T * ops.a) + ops.b - ops.weight)
    T = rng.normal(size=s.num_dofs)
    given, T = T, T + s.spring_forces + s.damping_forces  # forces of modes among them
    free = mass.inverse() * (T - C)
    S = G * mass.inverse() * G.T
    found = free + mass.inverse() * G.T * np.linalg.solve(S.dense(), gamma - G * free)
    dependent = G.T * gamma
    other = dependent + X * np.linalg.solve((X.T * mass * X).dense(), X.T * (T - C - mass * dependent))
    assert error(found, other) < 1e-9
    for solver in ("TA", "FA", "CE"):
        assert error(kido.ConstrainedDynamics(s, constraints, solver=solver).accelerations(forces=given), found) < 1e-9


# Regressors --------------------------------------------------------------------------------------------------


def test_regressors(case: Dense, truth: Truth) -> None:
    """Joint forces and forces on modes are Y pi of rigid bodies, and what flexible ones take alone."""
    skeleton = case.tree.skeleton
    skeleton.positions, skeleton.velocities, skeleton.accelerations = case.q, case.u, case.udot
    flexible = [f.body for f in case.tree.bodies]
    rigid = [b for b in skeleton.bodies if b not in flexible]
    Y = kido.quantities.inverse_dynamics_regressor(skeleton, case.q, case.u, case.udot, bodies=rigid)
    _, T = truth.forces(rigid)
    assert error(Y @ skeleton.inertial_parameters(rigid), T) < EXACT
    K, U = kido.quantities.energy_regressors(skeleton, case.q, case.u, bodies=rigid)
    pi = skeleton.inertial_parameters(rigid)
    assert K @ pi == pytest.approx(0.5 * case.u @ truth.forces(rigid)[0] @ case.u, rel=1e-11)
    places = [(b.world_transform @ [*b.inertia.com, 1.0])[:3] for b in rigid]
    assert U @ pi == pytest.approx(-sum(b.mass * x @ skeleton.gravity for b, x in zip(rigid, places, strict=True)))
    parameters = DynamicParameters(skeleton)
    assert not {b.name for b in parameters.links} & {b.name for b in flexible}
    _, known = truth.forces(flexible)
    state = case.q[None], case.u[None], case.udot[None]
    assert error(parameters.known_forces(*state)[0], known) < EXACT
    tau = truth.forces(skeleton.bodies)[1]
    assert error(parameters.regressor(*state)[0] @ parameters.values() + known, tau) < EXACT


def test_identification_of_what_a_flexible_arm_carries() -> None:
    """Base parameters from motions and forces, starting from a model with other rigid bodies."""
    case = make(2, bodies=5)
    true, rng = case.tree.skeleton, np.random.default_rng(0)
    model = true.clone()
    for body in model.bodies:
        if body.mass > 0.0 and not any(c.parent_joint.has_modes for c in body.children):
            body.inertia = kido.Inertia(1.0, moment=0.1 * np.eye(3))
    parameters = DynamicParameters(model)
    base = base_parameters(parameters)
    states = [0.3 * rng.normal(size=(3, len(case.q))) for _ in range(3 * base.rank // len(case.q) + 5)]
    forces = [true.inverse_dynamics(*state) for state in states]
    q, u, udot = np.array(states).transpose(1, 0, 2)
    found = identify(parameters, q, u, udot, np.array(forces), noise=1.0, base=base)
    wanted = base.of(DynamicParameters(true).values())
    assert error(found.values, wanted) < 1e-7
    parameters.apply(DynamicParameters(true).values())
    q, u, udot = states[0]
    assert error(model.inverse_dynamics(q, u, udot), forces[0]) < EXACT
    with pytest.raises(kido.ModelError, match="exciting motion: modes of joint"):
        exciting_motion(parameters, 5.0)


def test_modes_that_move_no_node_do_not_drown_parameters() -> None:
    """An internal mode, whose tip stays but for foreshortening: bodies on the tip have as many as on other modes."""
    ranks = []
    for still in (False, True):
        s = kido.Skeleton("arm")
        made = beam_modes(1.0, Section.tube(0.02, 0.018), Material(7e10, 2700.0, 0.33), bending_y=2).to_dict()
        for node in made["nodes"]:
            for name in ("translation", "rotation"):
                node[name] = np.array(node[name], float)
                if still:
                    node[name][:, 0] = 0.0
        upper = FlexibleBody(s.add_body("upper", kido.RevoluteJoint(axis=(0, 0, 1))), Modes.from_dict(made))
        one = s.add_body("one", kido.RevoluteJoint(axis=(0, 1, 0)), upper.node("tip"), kido.Inertia(0.5, (0.1, 0, 0)))
        joint = kido.RevoluteJoint(axis=(1, 0, 0), transform_from_parent=(0.3, 0, 0))
        s.add_body("two", joint, one, kido.Inertia(0.4, (0.1, 0, 0)))
        ranks.append(base_parameters(DynamicParameters(s)).rank)
    assert ranks[0] == ranks[1] > 10


# Use ---------------------------------------------------------------------------------------------------------


def test_states_and_copies(case: Dense, ops: SpatialOperators) -> None:
    skeleton = case.tree.skeleton
    mass = ops.H * ops.Phi * ops.M * ops.Phi.T * ops.H.T
    elsewhere = 0.5 * case.q
    wanted = kido.quantities.mass_matrix(skeleton, elsewhere)
    twin = pickle.loads(pickle.dumps(ops.at(elsewhere)))
    for other in (ops.at(elsewhere), copy.copy(ops.at(elsewhere)), twin):
        assert error((other.H * other.Phi * other.M * other.Phi.T * other.H.T).dense(), wanted) < EXACT
        assert other.log_det == pytest.approx(np.linalg.slogdet(wanted)[1], abs=1e-9)
    ops.move_to(elsewhere)
    assert error(mass.dense(), wanted) < EXACT
    assert not ops.is_current
    ops.move_to()
    assert error(mass.dense(), skeleton.mass_matrix) < EXACT
    assert "operations" in str(mass.inverse().explain())
    assert mass.inverse().explain().operations > 0


def test_blocks_of_ones_own(ops: SpatialOperators) -> None:
    n = len(ops.bodies)
    width = ops.M.body_blocks().shape[-1]
    six = ops.block_diagonal(np.tile(np.diag([0.0, 0, 0, 1, 1, 1]), (n, 1, 1)))
    assert six.dense().sum() == 3 * n
    twice = ops.block_diagonal(2.0 * ops.M.body_blocks(), "M2")
    assert error(twice.dense(), 2.0 * ops.M.dense()) == 0.0
    assert error((ops.Phi * twice * ops.Phi.T).dense(), 2.0 * (ops.Phi * ops.M * ops.Phi.T).dense()) < EXACT
    with pytest.raises(OperatorError, match=rf"block_diagonal: expected an array \({n}, 6, 6\)"):
        ops.block_diagonal(np.ones((2, 6, 6)))
    with pytest.raises(OperatorError, match="singular"):
        ops.M.inverse()  # flexible bodies have their mass at their modes, and nodes have none
    assert width == 6 + max(f.modes.number for f in flexible_bodies(ops.skeleton))
    modes = flexible_bodies(ops.skeleton)[0]
    assert ops.V[ops.on.body_space.part(ops.on.place(modes.coordinates))][6:] == pytest.approx(ops.on.u[modes.dofs])


def test_coordinates_that_move_no_mass_are_named() -> None:
    case = make(0, bodies=4)
    skeleton, flexible = case.tree.skeleton, case.tree.bodies[0]
    last = skeleton.add_body("last", kido.RevoluteJoint(), flexible.node("b"))
    with pytest.raises(OperatorError, match="coordinate 'last_joint' moves no inertia"):
        SpatialOperators(skeleton).log_det  # noqa: B018
    last.remove()


def test_rigid_skeletons_run_the_sweeps_that_they_had() -> None:
    skeleton = kido.Skeleton()
    skeleton.add_body("a", kido.RevoluteJoint(), inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    on = SpatialOperators(skeleton).on
    assert on.sweeps is sweeps and on.container is on.rigid and on.width == 6
