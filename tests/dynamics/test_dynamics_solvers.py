"""Solvers of constrained dynamics against each other and against the dense system, on random closed graphs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import kido
import linkages
from closed_graphs import ClosedGraph, closed_graph, dense_accelerations
from trees import relative_error, spring_forces

# Seed, bodies, loops, with redundant ones, with rotors. M has condition numbers up to 1e8: 1e-9 is little.
CASES = [(k, bodies, loops, k % 2 == 0, rotors) for rotors in (False, True) for k, (bodies, loops) in enumerate(
    [(2, 1), (4, 2), (6, 3), (9, 3), (12, 5), (20, 6), (30, 8), (50, 10), (50, 14)]
)]  # fmt: skip
SOLVERS = ("TA", "FA", "CE", "CE+TA")
TOLERANCE = 1e-9


@cache
def graph_of(case: tuple[int, int, int, bool, bool]) -> ClosedGraph:
    seed, bodies, loops, redundant, rotors = case
    return closed_graph(seed, bodies, loops, redundant=redundant, rotors=rotors)


def dense(graph: ClosedGraph, rates=None) -> tuple[np.ndarray, np.ndarray]:
    """udot and G^T lambda of the dense system, springs, dampers and external forces included."""
    s, q, u = graph.skeleton, graph.q, graph.u
    system = kido.ConstrainedSystem(s, graph.constraints, rates)
    *_, gamma = system.evaluate(q, u)
    damping = np.concatenate([joint.damping for joint in s.joints])
    free = graph.forces - s.inverse_dynamics(q, u, 0.0 * u) + spring_forces(s, q) - damping * u + s.external_forces
    return dense_accelerations(graph, kido.quantities.mass_matrix(s, q), free, system.G(q), gamma)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree_with_the_dense_system(case, solver):
    graph = graph_of(case)
    udot, forces = dense(graph)
    dynamics = kido.ConstrainedDynamics(graph.skeleton, graph.constraints, solver)
    assert relative_error(dynamics.accelerations(graph.q, graph.u, graph.forces), udot) < TOLERANCE
    assert relative_error(dynamics.constraint_forces, forces) < TOLERANCE
    G = dynamics.system.G(graph.q)
    assert relative_error(G.T @ dynamics.multipliers, forces) < TOLERANCE
    report = dynamics.report
    assert report.rank == np.linalg.matrix_rank(G, tol=1e-8)
    assert report.rank + len(report.redundant) == report.rows == len(G)
    assert report.independent_coordinates == graph.skeleton.num_dofs - report.rank


@pytest.mark.parametrize("case", CASES, ids=str)
def test_solvers_agree_with_each_other(case):
    """Accelerations, multipliers, reactions of all joints."""
    graph = graph_of(case)
    results = []
    for solver in SOLVERS:
        dynamics = kido.ConstrainedDynamics(graph.skeleton, graph.constraints, solver)
        udot = dynamics.accelerations(graph.q, graph.u, graph.forces)
        results.append((udot, dynamics.constraint_forces, dynamics.multipliers, dynamics.reactions))
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert relative_error(one, two) < TOLERANCE


def test_reactions_carry_the_forces_of_joints():
    """H^T times the reaction is what actuators, springs, dampers and gears put on a coordinate."""
    graph = closed_graph(3, 8, 3)
    dynamics = kido.ConstrainedDynamics(graph.skeleton, graph.constraints, "FA")
    s = graph.skeleton
    dynamics.accelerations(graph.q, graph.u, graph.forces)
    damping = np.concatenate([joint.damping for joint in s.joints])
    expected = graph.forces + spring_forces(s, graph.q) - damping * graph.u
    G, multipliers, at = dynamics.system.G(graph.q), dynamics.multipliers, 0
    for constraint in dynamics.system.constraints:
        rows = slice(at, at + len(constraint.row_names))
        if isinstance(constraint, kido.CouplerConstraint):
            expected = expected + G[rows].T @ multipliers[rows]
        at = rows.stop
    found = np.zeros(s.num_dofs)
    for body, wrench in zip(s.bodies, dynamics.reactions, strict=True):
        for dof in body.parent_joint.dofs:
            found[dof.index] = s.jacobian(body)[:, dof.index] @ wrench
    assert relative_error(found, expected) < 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tree_needs_no_rows(solver):
    graph = closed_graph(5, 12, 0)
    assert kido.ConstrainedDynamics(graph.skeleton, []).solver.name == "tree"
    tree = kido.ConstrainedDynamics(graph.skeleton, [], "tree")
    other = kido.ConstrainedDynamics(graph.skeleton, [], solver)
    udot = tree.accelerations(graph.q, graph.u, graph.forces)
    assert relative_error(other.accelerations(graph.q, graph.u, graph.forces), udot) < 1e-10
    vector = np.random.default_rng(0).normal(size=len(udot))
    M = kido.quantities.mass_matrix(graph.skeleton, graph.q)
    for dynamics in (tree, other):
        assert relative_error(M @ dynamics.inverse_mass_product(vector, graph.q), vector) < 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_prescribed_coordinates_keep_their_accelerations(solver):
    """The truth: rows of the dense system that say so, whose multipliers are the forces this takes."""
    graph = closed_graph(8, 12, 3)
    s = graph.skeleton
    joints = [j for j in s.joints if j.num_dofs]
    locked, driven = joints[1], joints[-1]
    driven.actuator_type = "ACCELERATION"
    locked.actuator_type = "LOCKED"
    driven.commands = np.linspace(1.0, 2.0, driven.num_dofs)
    given = np.zeros(s.num_dofs)
    chosen = np.zeros(s.num_dofs, bool)
    for joint, value in ((driven, driven.commands), (locked, 0.0)):
        own = [dof.index for dof in joint.dofs]
        given[own], chosen[own] = value, True
    graph.forces = np.where(chosen, 0.0, graph.forces)
    dynamics = kido.ConstrainedDynamics(s, graph.constraints, solver)
    udot = dynamics.accelerations(graph.q, graph.u, graph.forces)
    system = dynamics.system
    *_, gamma = system.evaluate(graph.q, graph.u)
    damping = np.concatenate([joint.damping for joint in s.joints])
    free = graph.forces - s.inverse_dynamics(graph.q, graph.u, 0.0 * udot) + spring_forces(s, graph.q)
    free += s.external_forces - damping * graph.u
    rows = np.concatenate([system.G(graph.q), np.eye(len(udot))[chosen]])
    expected, _ = dense_accelerations(graph, kido.quantities.mass_matrix(s, graph.q), free, rows,
                                      np.concatenate([gamma, given[chosen]]))  # fmt: skip
    assert np.array_equal(udot[chosen], given[chosen])
    assert relative_error(udot, expected) < TOLERANCE
    needed = kido.quantities.mass_matrix(s, graph.q) @ udot - free - dynamics.constraint_forces
    assert relative_error(dynamics.actuator_forces[chosen], needed[chosen]) < TOLERANCE
    change = dynamics.impulse_response(np.ones(len(udot)), graph.q)
    assert not change[chosen].any()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", [linkages.bennett, linkages.bricard, lambda h: linkages.n_four_bar(4, h)])
def test_linkages_with_redundant_rows(solver, make):
    """Rows of over-constrained linkages follow from others: one coordinate moves, G udot = gamma holds for all rows."""
    world, skeleton = make(1e-3)
    skeleton.positions, skeleton.velocities = world_state(world, skeleton)
    dynamics = kido.ConstrainedDynamics(skeleton, world.constraints, solver)
    udot = dynamics.accelerations()
    phi, G, rate, _, gamma = dynamics.system.evaluate()
    assert np.abs(phi).max() < 1e-9
    assert np.abs(rate).max() < 1e-9
    assert relative_error(G @ udot, gamma) < 1e-9
    assert dynamics.report.independent_coordinates == 1
    q, u = skeleton.positions, skeleton.velocities
    left = kido.quantities.mass_matrix(skeleton, q) @ udot + skeleton.inverse_dynamics(q, u, 0.0 * u)
    assert relative_error(G.T @ dynamics.multipliers, left) < 1e-9


def world_state(world: kido.World, skeleton: kido.Skeleton) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities some way into the motion."""
    world.step(200)
    world.close_constraints()
    return skeleton.positions, skeleton.velocities


@pytest.mark.parametrize("solver", ["auto", "TA", "FA", "CE", "CE+TA"])
def test_nothing_to_move_and_rows_that_hold_nothing(solver):
    """No bodies; bodies welded to the world; rows between bodies that are welded, or that the tree holds already."""
    empty = kido.ConstrainedDynamics(kido.Skeleton("empty"), [], solver)
    assert empty.accelerations().shape == (0,)
    fixed = kido.Skeleton("fixed")
    body = fixed.add_body("body", kido.WeldJoint(), inertia=linkages.rod(0))
    dynamics = kido.ConstrainedDynamics(fixed, [kido.BallJointConstraint(None, body)], solver)
    assert dynamics.accelerations().shape == (0,)
    assert dynamics.reactions[0, 3:] == pytest.approx([0.0, 0.0, 9.81])
    s, there = kido.Skeleton("free"), {"transform_from_parent": linkages.at(1, 0, 0)}
    base = s.add_body("base", kido.FreeJoint(), inertia=linkages.rod(0))
    part = s.add_body("part", kido.WeldJoint(**there), base, linkages.rod(0))
    end = s.add_body("end", kido.RevoluteJoint(**there), part, linkages.rod(0))
    held = [kido.BallJointConstraint(base, part), kido.BallJointConstraint(base, end, at=(2.0, 0.0, 0.0))]
    dynamics = kido.ConstrainedDynamics(s, held, solver)
    assert dynamics.accelerations() == pytest.approx([0, 0, 0, 0, 0, -9.81, 0], abs=1e-12)
    assert dynamics.report.rank == 0 and dynamics.report.rows == 6
    assert not dynamics.multipliers.any()


@pytest.mark.parametrize("solver", ["TA", "FA", "CE", "CE+TA"])
def test_constraints_within_one_link_say_nothing(solver):
    """Between bodies that are welded to each other: of no loop, and met whatever moves."""
    s = kido.Skeleton("welded")
    one = s.add_body("one", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.3)))
    two = s.add_body("two", kido.WeldJoint(transform_from_parent=(0.3, 0.1, 0.2)), one, kido.Inertia(1.0))
    other = s.add_body("other", kido.RevoluteJoint(axis=(0, 0, 1)), two, kido.Inertia(2.0, (0.2, 0, 0)))
    rng = np.random.default_rng(3)
    q, u = rng.normal(size=(2, s.num_dofs))
    frames = {"frame_a": np.eye(4), "frame_b": np.eye(4)}
    bar = kido.DistanceConstraint(one, two, **frames, name="bar")
    hinge = kido.BallJointConstraint(one, two, at=(0.1, 0.2, 0.3), name="ball")
    alone = kido.ConstrainedDynamics(s, [bar, hinge], solver)
    expected = s.forward_dynamics(q, u, np.zeros(s.num_dofs))
    assert relative_error(alone.accelerations(q, u), expected) < 1e-12
    assert alone.report.rank == 0 and len(alone.report.redundant) == alone.report.rows == 4
    s.positions = q
    held = kido.PointOnPlaneConstraint(None, other, name="held")
    u = kido.ConstrainedDynamics(s, [held], "TA").project_velocities(q, u)
    expected = kido.ConstrainedDynamics(s, [held], "TA").accelerations(q, u)
    both = kido.ConstrainedDynamics(s, [bar, held], solver)
    assert relative_error(both.accelerations(q, u), expected) < 1e-12
    assert both.report.redundant == ["bar: distance"]


@pytest.mark.parametrize("between", [0, 2])
def test_free_bodies_hang_on_a_root_without_mass(between):
    """A link "world" without inertia, as model files have it, or some of them: nothing of what hangs on it is felt."""
    s = kido.Skeleton("on the world")
    body = s.add_body("world", kido.WeldJoint(), inertia=kido.Inertia(0.0, (0, 0, 0), np.zeros((3, 3))))
    for k in range(between):
        joint = kido.RevoluteJoint(f"held{k}", axis=(0, 1, 0), actuator_type="LOCKED")
        body = s.add_body(f"empty{k}", joint, body, kido.Inertia(0.0, (0, 0, 0), np.zeros((3, 3))))
    for k in range(2):
        inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.3), (0.1, 0.0, 0.2))
        s.add_body(f"free{k}", kido.FreeJoint(f"free{k}"), body, inertia)
    bar = kido.DistanceConstraint(s.body("free0"), s.body("free1"), distance=0.7)
    rng = np.random.default_rng(1)
    q, u = rng.normal(size=(2, s.num_dofs))
    found = {name: kido.ConstrainedDynamics(s, [bar], name).accelerations(q, u) for name in ("TA", "FA")}
    assert relative_error(found["FA"], found["TA"]) < 1e-12
