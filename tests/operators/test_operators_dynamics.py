"""Dynamics written with operators: whole equations of motion, boundaries, prescribed hinges, nodes, sensitivities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import kido
from closed_graphs import closed_graph
from kido.operators import OperatorError, SpatialOperators
from operator_truths import DenseOperators
from trees import SEEDS, Reference, random_skeleton, random_state, skeletons

EXACT = 1e-10


def error(value, expected) -> float:
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape
    return float(np.abs(value - expected).max() / max(np.abs(expected).max(), 1.0)) if value.size else 0.0


@given(skeletons(), SEEDS)
def test_inverse_and_forward_dynamics(skeleton: kido.Skeleton, seed: int) -> None:
    """With Coriolis, gyroscopic and gravity terms, and wrenches on bodies; some bodies without weight."""
    rng = np.random.default_rng(seed)
    q, u, udot, _ = random_state(skeleton, seed)
    for body in skeleton.bodies:
        body.gravity = bool(rng.random() < 0.7)
    ref = Reference(skeleton, q, u, udot, skeleton.gravity)
    ops = SpatialOperators(skeleton, q, u)
    H, Phi, M, PhiStar, HStar = ops["H", "Phi", "M", "PhiStar", "HStar"]
    I, Psi, K, D, P = ops["I", "Psi", "K", "D", "P"]  # noqa: E741
    external = rng.normal(size=6 * len(ref.parent))
    assert error(PhiStar * HStar * u, ops.V) < EXACT
    assert error(ops.V, ref.V.ravel()) < EXACT
    alpha = PhiStar * (HStar * udot + ops.a)
    assert error(alpha, ref.A.ravel()) < EXACT
    f = Phi * (M * alpha + ops.b - ops.weight - external)
    T = H * f
    assert error(T, ref.joint_forces - ref.J.reshape(len(external), len(q)).T @ external) < EXACT
    z = ops.b - ops.weight - external
    found = (I - H * Psi * K).T * (D.inverse() * (T - H * (Psi * (K * T + P * ops.a + z)))) - K.T * Psi.T * ops.a
    # What rounding does to a solution is multiplied by the condition of the mass matrix; the equation is met.
    condition = np.linalg.cond(ref.mass_matrix) if len(q) else 1.0
    assert error(found, udot) < max(EXACT, 1e-14 * condition)
    again = H * (Phi * (M * (PhiStar * (HStar * found + ops.a)) + z))
    assert error(again, T) < EXACT * max(1.0, np.abs(M * (PhiStar * (HStar * found))).max(initial=0.0))
    assert not ops.V_boundary.any() and not ops.A_boundary.any()


@pytest.mark.parametrize("seed", range(4))
def test_kinetic_energy_is_diagonal_in_nu(seed: int) -> None:
    """nu = D^(1/2) (I + H phi K)* u has 2 K = nu . nu (theory a4)."""
    skeleton = random_skeleton(seed, 30)
    q, u, *_ = random_state(skeleton, seed)
    ops = SpatialOperators(skeleton, q, u)
    w = (ops.I + ops.H * ops.Phi * ops.K).T * u
    energy = 0.5 * w @ (ops.D * w)
    assert energy == pytest.approx(0.5 * ops.V @ (ops.M * ops.V), rel=1e-12)
    assert energy == pytest.approx(Reference(skeleton, q, u).kinetic_energy, rel=1e-11)


# Parts of a tree -------------------------------------------------------------------------------------------


def subtree(skeleton: kido.Skeleton, root: int) -> list[int]:
    chosen = {root}
    for k, body in enumerate(skeleton.bodies):
        if body.parent is not None and body.parent.index in chosen:
            chosen.add(k)
    return sorted(chosen)


@pytest.mark.parametrize("seed", range(6))
def test_lists_of_bodies(seed: int) -> None:
    """Definitions on a part of the tree, and its dynamics with what moves at its boundary."""
    skeleton = random_skeleton(seed, 24)
    q, u, _, _ = random_state(skeleton, seed)
    rng = np.random.default_rng(seed)
    root = next(k for k in range(5, 24) if skeleton.bodies[k].parent is not None)
    whole = subtree(skeleton, root)
    chosen = [root]
    for k in whole[1:]:
        if skeleton.bodies[k].parent.index in chosen and rng.random() < 0.85:
            chosen.append(k)
    bodies = [skeleton.bodies[k] for k in chosen]
    ops = SpatialOperators(rng.permutation(np.array(bodies, object)).tolist(), q, u)
    truth = DenseOperators(skeleton, q, u, chosen)
    assert [b.index for b in ops.bodies] == chosen
    assert [d.index for d in ops.dofs] == list(truth.dofs)
    for name in ("H", "M", "P", "D", "G", "K"):
        assert error(ops[name].dense(), getattr(truth, name)) < EXACT
    assert error(ops.Psi.dense(), truth.psi) < EXACT
    # All coordinates outside at rest in the sense of accelerations: the whole tree's dynamics, restricted.
    udot = np.zeros(len(q))
    udot[truth.dofs] = rng.normal(size=len(truth.dofs))
    ref = Reference(skeleton, q, u, udot, skeleton.gravity)
    assert error(ops.PhiStar * (ops.HStar * ops.velocities + ops.V_boundary), ref.V[chosen].ravel()) < EXACT
    alpha = ops.PhiStar * (ops.HStar * udot[truth.dofs] + ops.a + ops.A_boundary)
    assert error(alpha, ref.A[chosen].ravel()) < EXACT
    T = ops.H * ops.Phi * (ops.M * alpha + ops.b - ops.weight)
    wrenches = ref.body_force(ref.A)
    expected = np.einsum("iak,ia->k", ref.J[chosen], wrenches[chosen])[truth.dofs]
    assert error(T, expected) < EXACT


def test_sources(capsys) -> None:
    skeleton = random_skeleton(3, 12)
    branch = kido.Branch(skeleton.bodies[4])
    chosen = sorted(body.index for body in branch.bodies)
    ops = SpatialOperators(branch)
    assert [body.index for body in ops.bodies] == chosen
    assert repr(ops).startswith(f"SpatialOperators of {len(chosen)} bodies of 'random'")
    assert len(SpatialOperators(skeleton.bodies[4]).bodies) == 1
    parent = skeleton.bodies[4].parent
    assert parent is not None and parent.parent is not None
    with pytest.raises(OperatorError, match=rf"but not '{parent.name}' between them: list connected bodies"):
        SpatialOperators([parent.parent, skeleton.bodies[4]])
    other = random_skeleton(4, 2)
    with pytest.raises(OperatorError, match="of different skeletons"):
        SpatialOperators([skeleton.bodies[0], other.bodies[0]])
    for wrong in (3, "robot", [1, 2], []):
        with pytest.raises(OperatorError):
            SpatialOperators(wrong)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("outboard", ["cut", "frozen"])
def test_subgraphs(seed: int, outboard: str) -> None:
    """The same bodies as a skeleton of their own, cut out; those below are left out or locked."""
    skeleton = random_skeleton(seed, 20)
    q, u, _, _ = random_state(skeleton, seed)
    skeleton.positions, skeleton.velocities = q, u
    rng = np.random.default_rng(seed)
    for body in skeleton.bodies:
        body.gravity = bool(rng.random() < 0.7)
    root = max((b for b in skeleton.bodies if b.parent is not None), key=lambda body: len(body.subtree))
    chosen = [root]
    for body in root.subtree[1:]:
        if body.parent in chosen and rng.random() < 0.6:
            chosen.append(body)
    part = kido.Subgraph(chosen, outboard)
    ops = SpatialOperators(part)
    mass = ops.H * ops.Phi * ops.M * ops.Phi.T * ops.H.T
    assert error(mass.dense(), part.mass_matrix) < EXACT
    assert [dof.index for dof in ops.dofs] == [dof.index for dof in part.dofs]
    udot = rng.normal(size=len(ops.dofs))
    alpha = ops.Phi.T * (ops.H.T * udot + ops.a + ops.A_boundary)
    T = ops.H * ops.Phi * (ops.M * alpha + ops.b - ops.weight)
    assert error(T, part.inverse_dynamics(accelerations=udot)) < EXACT  # no held coordinate accelerates
    assert ops.log_det == pytest.approx(part.log_det_mass_matrix(), abs=1e-9)
    other = SpatialOperators(chosen, outboard=outboard)
    assert error(other.M.dense(), ops.M.dense()) == 0.0
    for name in ("b", "weight"):
        assert error(getattr(other.at(), name), getattr(ops, name)) == 0.0
    with pytest.raises(OperatorError, match="outboard: expected 'cut' or 'frozen'"):
        SpatialOperators(chosen, outboard="loose")


# Prescribed hinges -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_prescribed_coordinates(seed: int) -> None:
    """Mixed dynamics (theory a7): H_p* udot_p joins a, free hinges follow, and T_p = H_p f."""
    skeleton = random_skeleton(seed, 15)
    q, u, udot, tau = random_state(skeleton, seed)
    rng = np.random.default_rng(seed)
    given_dofs = sorted(rng.choice(len(q), len(q) // 3, replace=False).tolist())
    free = [k for k in range(len(q)) if k not in given_dofs]
    ops = SpatialOperators(skeleton, q, u, prescribed=given_dofs)
    truth = DenseOperators(skeleton, q, u, prescribed=given_dofs)
    for name in ("H", "P", "D", "K"):
        assert error(ops[name].dense(), getattr(truth, name)) < EXACT
    assert [d.index for d in ops.dofs] == free
    assert [d.index for d in ops.given_dofs] == given_dofs
    assert ops.H_given.shape == (len(given_dofs), 6 * 15)
    H, Phi, M, I, Psi, K, D, P = ops["H", "Phi", "M", "I", "Psi", "K", "D", "P"]  # noqa: E741
    assert error(Phi.T * (H.T * ops.velocities + ops.H_given.T * u[given_dofs]), ops.V) < EXACT
    a, T = ops.a + ops.H_given.T * udot[given_dofs], tau[free]
    z = ops.b - ops.weight
    found = (I - H * Psi * K).T * (D.inverse() * (T - H * (Psi * (K * T + P * a + z)))) - K.T * Psi.T * a
    alpha = Phi.T * (H.T * found + a)
    forces = ops.H_given * Phi * (M * alpha + z)
    values = tau.copy()
    values[given_dofs] = udot[given_dofs]
    ref = Reference(skeleton, q, u, None, skeleton.gravity)
    A, C = ref.mass_matrix, ref.bias
    expected = np.linalg.solve(
        A[np.ix_(free, free)], tau[free] - C[free] - A[np.ix_(free, given_dofs)] @ udot[given_dofs]
    )
    assert error(found, expected) < EXACT
    whole = np.zeros(len(q))
    whole[free], whole[given_dofs] = expected, udot[given_dofs]
    assert error(forces, (A @ whole + C)[given_dofs]) < EXACT
    again = ops.at(q + 0.1)
    assert [d.index for d in again.dofs] == free


def test_a_group_holds_the_coordinates_that_it_lacks() -> None:
    skeleton = random_skeleton(3, 10)
    dofs = skeleton.dofs[::2]
    ops = SpatialOperators(kido.Group(skeleton.bodies, dofs=dofs))
    assert ops.dofs == dofs
    assert ops.given_dofs == skeleton.dofs[1::2]
    outside = skeleton.bodies[0].parent_joint.dofs or skeleton.bodies[1].parent_joint.dofs
    last = next(body for body in reversed(skeleton.bodies) if body.parent_joint.dofs)
    with pytest.raises(OperatorError, match="belong to no hinge of the listed bodies"):
        SpatialOperators([last], prescribed=[outside[0]])
    with pytest.raises(kido.NameLookupError):
        SpatialOperators(skeleton, prescribed=["nobody"])


def test_massless_tips_are_refused_where_psi_is_needed() -> None:
    skeleton = kido.Skeleton()
    skeleton.add_body("arm", kido.RevoluteJoint(), None, kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    skeleton.add_body("tip", kido.PrismaticJoint(axis=(1, 0, 0)), "arm")
    ops = SpatialOperators(skeleton)
    assert (ops.H * ops.Phi * ops.M * ops.Phi.T * ops.H.T).dense().shape == (2, 2)
    for use in (lambda: ops.D.dense(), lambda: ops.Psi * np.zeros(12), lambda: ops.log_det):
        with pytest.raises(OperatorError, match="coordinate 'tip_joint' moves no inertia"):
            use()
    free = SpatialOperators(skeleton, prescribed=["tip_joint"])
    assert free.D.dense().shape == (1, 1)


# Nodes -----------------------------------------------------------------------------------------------------


def with_nodes(seed: int, bodies: int = 20) -> tuple[kido.Skeleton, list]:
    skeleton = random_skeleton(seed, bodies)
    rng = np.random.default_rng(seed)
    nodes: list = []
    for k in rng.choice(bodies, 4):
        body = skeleton.bodies[int(k)]
        nodes.append(body.create_node(kido.EndEffector, f"tip{len(nodes)}", rng.uniform(-0.3, 0.3, 3)))
    return skeleton, [*nodes, skeleton.bodies[-1]]


@pytest.mark.parametrize("seed", range(4))
def test_operational_space(seed: int) -> None:
    skeleton, nodes = with_nodes(seed)
    q, u, udot, _ = random_state(skeleton, seed)
    skeleton.positions, skeleton.velocities, skeleton.accelerations = q, u, udot
    ops = SpatialOperators(skeleton, nodes=nodes)
    B, H, Phi, Omega = ops["B", "H", "Phi", "Omega"]
    J = np.vstack([skeleton.jacobian(node) for node in nodes])
    jacobian = B.T * Phi.T * H.T
    assert error(jacobian.dense(), J) < EXACT
    assert error(jacobian * u, np.concatenate([node.spatial_velocity for node in nodes])) < EXACT
    alpha = Phi.T * (H.T * udot + ops.a)
    accelerations = B.T * alpha + ops.node_products
    expected = [np.concatenate([node.angular_acceleration(), node.linear_acceleration()]) for node in nodes]
    assert error(accelerations, np.concatenate(expected)) < EXACT
    f = np.random.default_rng(seed).normal(size=6 * len(nodes))
    assert error(H * (Phi * (B * f)), J.T @ f) < EXACT
    compliance = B.T * Omega * B
    truth = J @ np.linalg.solve(Reference(skeleton, q).mass_matrix, J.T)
    assert error(compliance.dense(), truth) < EXACT
    assert error(compliance * f, truth @ f) < EXACT
    assert error(compliance.dense(), skeleton.operational_space_compliance(nodes)) < EXACT
    assert error(ops.R.body_blocks(), skeleton.composite_inertias) < EXACT
    assert ops.log_det == pytest.approx(skeleton.log_det_mass_matrix(), abs=1e-10)
    assert error(compliance.block(nodes[1], nodes[3]), truth[6:12, 18:24]) < EXACT
    assert error(compliance.block(0, "tip2"), truth[:6, 12:18]) < EXACT
    some = ops.pick_off(nodes[2])
    assert error((some.T * Omega * some).dense(), truth[12:18, 12:18]) < EXACT
    assert error((some.T * Omega * B).dense(), truth[12:18]) < EXACT
    with pytest.raises(OperatorError, match="does not ride"):
        ops.pick_off([kido.WORLD_FRAME])
    with pytest.raises(OperatorError, match="no nodes"):
        ops.pick_off([])
    with pytest.raises(OperatorError, match="nobody"):
        ops.pick_off("nobody")


# Sensitivities ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_sensitivities_against_differences(seed: int) -> None:
    """d of the mass matrix, of log det M, of the Jacobian and the compliance of nodes, by a coordinate."""
    skeleton, nodes = with_nodes(seed, 12)
    nodes = nodes[:2]
    q, *_ = random_state(skeleton, seed)
    ops = SpatialOperators(skeleton, q, nodes=nodes)
    H, Phi, M, Psi, P, Upsilon, Omega = ops["H", "Phi", "M", "Psi", "P", "Upsilon", "Omega"]
    B, PhiTilde, E_phi = ops["B", "PhiTilde", "E_phi"]
    single = (kido.RevoluteJoint, kido.PrismaticJoint, kido.ScrewJoint)
    tried = 0
    for dof in ops.dofs:
        if not isinstance(dof.joint, single):
            with pytest.raises(OperatorError, match="one fixed axis"):
                ops.carried(dof)
            continue
        tried += 1
        X = ops.carried(dof)
        step = np.eye(len(q))[dof.index]

        def slope_of(compute, step=step) -> np.ndarray:
            """Central difference of the fourth order."""
            h = 1e-3
            one, two, three, four = (compute(ops.at(q + k * h * step)) for k in (1, -1, 2, -2))
            return (8.0 * (one - two) - (three - four)) / (12.0 * h)

        half = H * PhiTilde * X * Phi * M * Phi.T * H.T
        slope = slope_of(lambda o: (o.H * o.Phi * o.M * o.Phi.T * o.H.T).dense())
        assert error((half + half.T).dense(), slope) < 1e-8
        rise = 2.0 * np.trace((X * P * Upsilon).block(dof, dof))
        assert error(rise, slope_of(lambda o: np.array(o.log_det))) < 1e-8
        turn = np.zeros((12, 12))  # nodes below are carried along
        w = H.block(dof, dof)[0, :3]
        for k, node in enumerate(nodes):
            if node.depends_on(dof):
                for r in (6 * k, 6 * k + 3):
                    turn[r : r + 3, r : r + 3] = np.cross(w, np.eye(3)).T
        J = B.T * Phi.T * H.T
        carried = (B.T * Phi.T * X.T * PhiTilde.T * H.T).dense() + turn @ J.dense()
        assert error(carried, slope_of(lambda o: (o.B.T * o.Phi.T * o.H.T).dense())) < 1e-8
        compliance = (B.T * Omega * B).dense()
        part = (B.T * (Psi - P * Omega).T * X.T * E_phi.T * Omega * B).dense()
        found = part + part.T + turn @ compliance - compliance @ turn
        assert error(found, slope_of(lambda o: (o.B.T * o.Omega * o.B).dense())) < 1e-7
    assert tried > 0


# Closed loops ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "bodies", "loops"), [(1, 6, 3), (2, 12, 5), (3, 30, 8), (4, 50, 10), (5, 50, 14)])
def test_closed_graphs(seed: int, bodies: int, loops: int) -> None:
    """Theory b1, b4: multipliers by the compliance of the rows, and the same motion by independent coordinates."""
    graph = closed_graph(seed, bodies, loops)
    system = kido.ConstrainedSystem(graph.skeleton, graph.constraints)
    ops = SpatialOperators(graph.skeleton, graph.q, graph.u)
    H, Phi, M = ops["H", "Phi", "M"]
    mass = H * Phi * M * Phi.T * H.T
    rows, gamma = system.G(graph.q), system.gamma(graph.q, graph.u)
    # Rows that follow from others are left out: an orthonormal basis of the rows, and one of what they leave free.
    U, sizes, V = np.linalg.svd(rows)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    G = ops.matrix(V[:rank], columns="joints", name="G")
    X = ops.matrix(V[rank:].T, rows="joints", name="X")
    gamma = (U.T @ gamma)[:rank] / sizes[:rank]
    alpha = Phi.T * ops.a
    C = H * Phi * (M * alpha + ops.b - ops.weight)
    T = np.random.default_rng(seed).normal(size=len(graph.q))
    free = mass.inverse() * (T - C)
    S = G * mass.inverse() * G.T
    found = free + mass.inverse() * G.T * np.linalg.solve(S.dense(), gamma - G * free)
    dependent = G.T * gamma
    independent = np.linalg.solve((X.T * mass * X).dense(), X.T * (T - C - mass * dependent))
    other = dependent + X * independent
    exact = 1e-9  # condition numbers of mass matrices here are up to 1e9
    assert error(G * found, gamma) < exact
    assert error(found, other) < exact
    assert error(X.T * (mass * found + C - T), np.zeros(X.shape[1])) < exact * np.abs(T - C).max()
    # Constrained compliance: what is left of M^-1 when loops push back, and by independent coordinates.
    left = mass.inverse().dense() - (mass.inverse() * G.T).dense() @ np.linalg.solve(
        S.dense(), (G * mass.inverse()).dense()
    )
    assert error(X.dense() @ np.linalg.solve((X.T * mass * X).dense(), X.T.dense()), left) < exact
