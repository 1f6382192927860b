"""The transformed tree: aggregates, partitions and quantities of constraint embedding, against dense matrices."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from closed_graphs import LOOPS, ClosedGraph, closed_graph, coupler, loop
from kido.dynamics import ConstraintEmbedding
from kido.dynamics.embedding import EmbeddingSolver
from kido.dynamics.embedding.container import WORLD, Tie, aggregate, parent_of_aggregate, schedule
from kido.errors import ModelError, StateError
from trees import KINDS, random_skeleton, random_state, relative_error

Z = (0.0, 0.0, 1.0)


# Aggregation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_compounds_hang_on_single_links_and_make_a_tree(seed):
    """On random trees: members share one parent, aggregates are disjoint, hold their loops, and parents come first."""
    rng = np.random.default_rng(seed)
    n = 30
    parent = [-1] + [int(rng.integers(-1 if rng.random() < 0.1 else 0, k)) for k in range(1, n)]
    ties = []
    for _ in range(int(rng.integers(1, 7))):
        links = tuple(int(i) for i in rng.choice(n, 2, replace=False))
        ties.append(Tie(links, hinges=bool(rng.random() < 0.3), to_world=bool(rng.random() < 0.1)))
    groups = aggregate(parent, ties)
    members = [set(m) for m, _ in groups]
    assert sum(map(len, members)) == len(set().union(*members))
    assert sorted(k for _, own in groups for k in own) == sorted(set(range(len(ties))))
    for own, constraints in groups:
        p = parent_of_aggregate(parent, set(own))
        assert all(parent[i] == p for i in own if parent[i] not in own)
        for k in constraints:
            for i in ties[k].links:
                assert i in own or (i == p and not ties[k].hinges)
    items = schedule(parent, [m for m, _ in groups])
    place = {}
    for k, item in enumerate(items):
        for link in [item] if item >= 0 else groups[-1 - item][0]:
            place[link] = k
    assert sorted(place) == list(range(n))
    assert all(parent[i] == WORLD or place[parent[i]] <= place[i] for i in range(n))
    assert all(place[parent[i]] < place[i] for i in range(n) if parent[i] >= 0 and items[place[i]] >= 0)


def chain(links: int = 5) -> kido.Skeleton:
    """A chain about z whose first joint is fixed to the world, with a body that hangs aside on each link."""
    skeleton = kido.Skeleton("chain")
    parent = None
    inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.3), (0.3, 0.1, 0.05))
    X = np.eye(4)
    for k in range(links):
        X[:3, 3] = (1.0, 0.0, 0.0) if k else (0.0, 0.0, 0.0)
        joint = kido.RevoluteJoint(f"j{k}", axis=Z, transform_from_parent=X)
        parent = skeleton.add_body(f"b{k}", joint, parent, inertia)
        skeleton.add_body(f"s{k}", kido.RevoluteJoint(f"k{k}", axis=(1, 0, 0)), parent, inertia)
    skeleton.positions = np.linspace(0.1, 0.7, skeleton.num_dofs)
    skeleton.velocities = np.linspace(-1.0, 1.0, skeleton.num_dofs)
    return skeleton


def test_a_gear_takes_the_members_on_its_path():
    skeleton = chain()
    gear = kido.GearConstraint(skeleton.joint("j1"), skeleton.joint("j3"), 2.0)
    embedding = ConstraintEmbedding(skeleton, [gear], independent=["j3"])
    (aggregate,) = embedding.aggregates()
    assert [b.name for b in aggregate.bodies] == ["b1", "b2", "b3"]
    assert aggregate.parent is skeleton.body("b0")
    assert [d.name for d in aggregate.dependent] == ["j1"]
    X = embedding.velocity_map()
    column = [d.name for d in embedding.independent()].index("j3")
    assert X[skeleton.dof("j1").index, column] == pytest.approx(2.0, rel=1e-14)
    ce = kido.ConstrainedDynamics(skeleton, [gear], "CE").accelerations()
    ta = kido.ConstrainedDynamics(skeleton, [gear], "TA").accelerations()
    assert relative_error(ce, ta) < 1e-11


def test_mimics_and_couplers_are_embedded():
    skeleton = chain()
    skeleton.joint("k2").mimic = kido.Mimic("k0", 0.5)
    skeleton.joint("k2").actuator_type = "mimic"
    coupler = kido.CouplerConstraint([(skeleton.joint(f"j{k}"), f) for k, f in enumerate((1.0, -0.5, 2.0))])
    ce, ta = (kido.ConstrainedDynamics(skeleton, [coupler], solver) for solver in ("CE", "TA"))
    q, u = ce.solver.project_dependent(skeleton.positions, skeleton.velocities)
    assert u[skeleton.dof("k2").index] == pytest.approx(0.5 * u[skeleton.dof("k0").index], rel=1e-14)
    assert relative_error(ce.accelerations(q, u), ta.accelerations(q, u)) < 1e-11
    assert relative_error(ce.multipliers, ta.multipliers) < 1e-11
    assert len(ce.solver.partition or []) == skeleton.num_dofs - 2


def test_follows_its_skeleton_and_travels():
    skeleton = chain()
    gear = kido.GearConstraint(skeleton.joint("j1"), skeleton.joint("j3"), 2.0)
    embedding = ConstraintEmbedding(skeleton, [gear], independent=["j3"])
    twin = copy.deepcopy(embedding)
    again = pickle.loads(pickle.dumps(embedding))
    before = embedding.mass_matrix()
    skeleton.add_body("more", kido.RevoluteJoint("more"), "b4", kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.1)))
    assert embedding.mass_matrix().shape == (10, 10)
    for copied in (twin, again):
        assert copied.skeleton is not skeleton
        assert [d.name for d in copied.independent()] == [d.name for d in embedding.independent()][:-1]
        assert np.array_equal(copied.mass_matrix(), before)


# Quantities ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=range(5))
def graph(request) -> ClosedGraph:
    return closed_graph(request.param, 8, 3, redundant=request.param % 2 == 1)


def test_the_map_spans_the_motions_that_rows_allow(graph):
    embedding = ConstraintEmbedding(graph.skeleton, graph.constraints)
    X = embedding.velocity_map(graph.q)
    G = embedding.system.G(graph.q)
    assert np.abs(G @ X).max(initial=0.0) < 1e-12 * np.abs(X).max()
    assert X.shape[1] == graph.skeleton.num_dofs - np.linalg.matrix_rank(G, tol=1e-8)
    own = [d.index for d in embedding.independent(graph.q)]
    assert np.array_equal(X[own], np.eye(len(own)))


def test_reduced_mass_matrix_inverse_and_determinant(graph):
    """prod det D = det(X^T M X), and X (X^T M X)^-1 X^T = M^-1 - M^-1 G^T S^+ G M^-1."""
    embedding = ConstraintEmbedding(graph.skeleton, graph.constraints)
    X = embedding.velocity_map(graph.q)
    M = kido.quantities.mass_matrix(graph.skeleton, graph.q)
    reduced = X.T @ M @ X
    assert relative_error(embedding.mass_matrix(graph.q), reduced) < 1e-12
    assert embedding.log_det_mass_matrix(graph.q) == pytest.approx(np.linalg.slogdet(reduced)[1], abs=1e-10)
    inverse = X @ np.linalg.solve(reduced, X.T)
    assert relative_error(embedding.responses(np.eye(len(M)), graph.q), inverse) < 1e-10
    G = embedding.system.G(graph.q)
    A = np.linalg.solve(M, G.T)
    assert relative_error(inverse, np.linalg.inv(M) - A @ np.linalg.pinv(G @ A, rcond=1e-10) @ A.T) < 1e-8


def test_compliance_is_that_of_the_constrained_system(graph):
    embedding = ConstraintEmbedding(graph.skeleton, graph.constraints)
    bodies = [graph.skeleton.bodies[k] for k in (2, 5, 7)]
    offsets = np.random.default_rng(0).uniform(-0.3, 0.3, (3, 3))
    J = np.concatenate(
        [kido.quantities.jacobian(graph.skeleton, graph.q, b, x) for b, x in zip(bodies, offsets, strict=True)]
    )
    X = embedding.velocity_map(graph.q)
    M = kido.quantities.mass_matrix(graph.skeleton, graph.q)
    truth = J @ X @ np.linalg.solve(X.T @ M @ X, X.T) @ J.T
    found = embedding.operational_space_compliance(bodies, list(offsets), graph.q)
    assert np.abs(found - truth).max() < 1e-10 * np.abs(truth).max()


def test_reduced_inverse_dynamics_gives_back_the_motion(graph):
    """Forces at the independent coordinates alone, by `inverse_dynamics`, make the accelerations it was given."""
    embedding = ConstraintEmbedding(graph.skeleton, graph.constraints)
    own = [d.index for d in embedding.independent(graph.q)]
    dynamics = kido.ConstrainedDynamics(graph.skeleton, graph.constraints, "CE", passive=False)
    udot = dynamics.accelerations(graph.q, graph.u, graph.forces)
    # What external forces do is no part of inverse dynamics: they are among the given forces here.
    graph.skeleton.clear_external_forces()
    udot = dynamics.accelerations(graph.q, graph.u, graph.forces)
    forces = np.zeros(len(udot))
    forces[own] = embedding.inverse_dynamics(graph.q, graph.u, udot)
    assert relative_error(dynamics.accelerations(graph.q, graph.u, forces), udot) < 1e-9


def test_articulated_inertia_of_an_arm_without_loops():
    skeleton = chain()
    embedding = ConstraintEmbedding(skeleton, [])
    truth = skeleton.articulated_inertias()
    for body in skeleton.bodies:
        assert relative_error(embedding.articulated_inertia(body), truth[body.index]) < 1e-12


# Partitions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rank", "rows"), [("bennett", 2, 5), ("bricard", 4, 5)])
def test_overconstrained_linkages(name, rank, rows):
    linkage = getattr(kido.models, name)()
    embedding = ConstraintEmbedding(linkage.skeleton, linkage.constraints)
    (aggregate,) = embedding.aggregates()
    assert len(aggregate.dependent) == rank and len(aggregate.redundant) == rows - rank
    ce, ta = (linkage.dynamics(solver) for solver in ("CE", "TA"))
    udot = ce.accelerations()
    assert relative_error(udot, ta.accelerations()) < 1e-9
    assert relative_error(ce.constraint_forces, ta.constraint_forces) < 1e-9


@pytest.mark.parametrize("angles", [(0.0, 1e-11, 1e-4, 1e-2), (1e-2, 1e-4, 1e-11, 0.0, 1.0)])
def test_a_flat_four_bar_loses_a_rank_and_finds_it_again(angles):
    """All bars in one line: there the loop has one independent coordinate more, and 1e-4 off no more."""
    linkage = kido.models.n_four_bar(1)
    ce, ta = (linkage.dynamics(solver) for solver in ("CE", "TA"))
    for angle in angles:
        q, u = np.array([1.0, 1.0, -1.0]) * (angle - 0.5 * np.pi), np.array([-1.0, -1.0, 1.0])
        assert relative_error(ce.accelerations(q, u), ta.accelerations(q, u)) < 1e-9
        assert ce.report.rank == (1 if angle < 1e-10 else 2)


def test_named_coordinates_are_independent():
    linkage = kido.models.n_four_bar(3)
    for dof in linkage.skeleton.dofs:
        embedding = ConstraintEmbedding(linkage.skeleton, linkage.constraints, independent=[dof])
        assert embedding.independent() == [dof]
    with pytest.raises(kido.errors.ModelError, match="expected its coordinates"):
        ConstraintEmbedding(linkage.skeleton, linkage.constraints, independent=[3])  # type: ignore[list-item]


def test_a_partition_that_becomes_poor_is_chosen_anew():
    """A slider at its dead centre cannot move the crank: there the crank becomes independent."""
    linkage = kido.models.slider_crank()
    dofs = linkage.skeleton.dofs
    system = kido.ConstrainedSystem(linkage.skeleton, linkage.constraints)
    q, u = linkage.skeleton.positions, linkage.skeleton.velocities
    solver = EmbeddingSolver(system)
    while q[0] < 3.4:
        if q[0] > 1.5 and solver.partition != [dofs[2].name] and solver.repartitions <= 1:
            solver = EmbeddingSolver(system, independent=[dofs[2]])
            solver.accelerate(q, u)
            assert solver.partition == [dofs[2].name]
        q, u = solver.project_dependent(linkage.skeleton.integrate_positions(q, 0.02 * u / u[0]), u)
        udot = solver.accelerate(q, u)
        truth = kido.ConstrainedDynamics(linkage.skeleton, linkage.constraints, "TA").accelerations(q, u)
        assert relative_error(udot, truth) < 1e-7
        assert np.abs(system.phi(q)).max() < 1e-12
    assert solver.repartitions == 2 and solver.partition != [dofs[2].name]


# Prescribed motion ---------------------------------------------------------------------------------------


def test_prescribed_coordinates_are_independent():
    linkage = kido.models.n_four_bar(2)
    skeleton = linkage.skeleton
    skeleton.positions = skeleton.positions
    joint = skeleton.joints[0]
    joint.actuator_type = kido.ActuatorType.ACCELERATION
    joint.commands = [3.0]
    embedding = ConstraintEmbedding(skeleton, linkage.constraints)
    assert skeleton.dofs[0] in embedding.independent()
    ce, ta = (linkage.dynamics(solver) for solver in ("CE", "TA"))
    udot = ce.accelerations()
    assert udot[0] == 3.0
    assert relative_error(udot, ta.accelerations()) < 1e-10
    assert relative_error(ce.constraint_forces, ta.constraint_forces) < 1e-9


def test_prescribed_coordinates_that_a_gear_couples():
    """Such rows say nothing of others: they are left out where they hold, and named where they do not."""
    skeleton = chain()
    gear = kido.GearConstraint(skeleton.joint("j1"), skeleton.joint("j3"), 2.0)
    for name, value in (("j1", 4.0), ("j3", 2.0)):
        skeleton.joint(name).actuator_type = "acceleration"
        skeleton.joint(name).commands = [value]
    ce, ta = (kido.ConstrainedDynamics(skeleton, [gear], solver) for solver in ("CE", "TA"))
    assert relative_error(ce.accelerations(), ta.accelerations()) < 1e-12
    skeleton.joint("j3").commands = [3.0]
    with pytest.raises(kido.errors.StateError, match="contradict"):
        ce.accelerations()


def test_rates_of_rows_are_met():
    """A distance that grows by 0.3 m/s, ever faster."""
    skeleton = chain(3)
    constraint: kido.Constraint = kido.DistanceConstraint(
        None, skeleton.body("b2"), frame_a=np.eye(4), frame_b=np.eye(4)
    )
    ce = kido.ConstrainedDynamics(skeleton, [constraint], "CE", rates={constraint: (0.3, 0.7)})
    q, u = ce.solver.project_dependent(skeleton.positions, skeleton.velocities)
    _, G, rate, wanted, gamma = ce.system.evaluate(q, u)
    assert rate == pytest.approx(wanted, abs=1e-13)
    udot = ce.accelerations(q, u)
    assert G @ udot == pytest.approx(gamma, abs=1e-11)
    ta = kido.ConstrainedDynamics(skeleton, [constraint], "TA", rates={constraint: (0.3, 0.7)})
    assert relative_error(udot, ta.accelerations(q, u)) < 1e-11


def test_rows_that_prescribed_coordinates_alone_move_are_contradictions_not_accelerations():
    """Numbers of free coordinates in such a row are rounding, which no multiplier acts on: found by random search."""
    rng = np.random.default_rng([2128, 7])
    skeleton = random_skeleton(2128, 12, KINDS)
    q, u, _, forces = random_state(skeleton, 2128)
    skeleton.positions = q
    for joint in skeleton.joints:
        if joint.num_dofs and rng.random() < 0.25:
            joint.actuator_type = str(rng.choice(["LOCKED", "VELOCITY", "ACCELERATION"]))
    constraints = []
    for k in range(4):
        kind = str(rng.choice(LOOPS))
        if kind in ("coupler", "gear"):
            constraints.append(coupler(rng, skeleton, kind, f"c{k}"))
        else:
            a, b = rng.integers(-1, 12), rng.integers(12)
            constraints.append(loop(rng, kind, None if a < 0 else skeleton.bodies[a], skeleton.bodies[b], f"l{k}"))
        rng.random()
    skeleton.velocities = u
    for solver in ("TA", "CE", "CE+TA"):
        with pytest.raises(StateError, match="constraints contradict"):
            kido.ConstrainedDynamics(skeleton, constraints, solver).accelerations(q, u, forces)


def test_what_is_to_be_embedded_is_checked_at_the_door():
    skeleton = chain()
    gear = kido.GearConstraint(skeleton.joint("j1"), skeleton.joint("j3"), 2.0)
    with pytest.raises(ModelError, match=r"expected a list of constraints, got 3"):
        ConstraintEmbedding(skeleton, 3)
    with pytest.raises(ModelError, match=r"is given twice"):
        ConstraintEmbedding(skeleton, [gear, gear])
