"""Constraint embedding: against the tree-augmented solver, dense matrices and known linkages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from closed_graphs import ClosedGraph, closed_graph
from kido.dynamics.embedding import EmbeddingSolver
from trees import relative_error


def solvers(graph: ClosedGraph, **options) -> tuple[kido.ConstrainedDynamics, kido.ConstrainedDynamics]:
    ce = kido.ConstrainedDynamics(graph.skeleton, graph.constraints, "CE", **options)
    return ce, kido.ConstrainedDynamics(graph.skeleton, graph.constraints, "TA", **options)


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("seed", range(14))
def test_agrees_with_the_tree_augmented_solver(seed, redundant):
    """Accelerations and G^T lambda to 1e-9, rows to 1e-12 of the accelerations; up to 50 bodies."""
    graph = closed_graph(seed, 50 if seed == 13 else 4 + seed, 1 + seed // 2, redundant=redundant)
    ce, ta = solvers(graph)
    udot, truth = (x.accelerations(graph.q, graph.u, graph.forces) for x in (ce, ta))
    assert relative_error(udot, truth) < 1e-9
    assert relative_error(ce.constraint_forces, ta.constraint_forces) < 1e-9
    system = ce.system
    _, G, _, _, gamma = system.evaluate(graph.q, graph.u)
    assert np.abs(G @ udot - gamma).max(initial=0.0) < 1e-12 * max(1.0, np.abs(udot).max())
    assert relative_error(G.T @ ce.multipliers, ce.constraint_forces) < 1e-9
    if not redundant:
        assert relative_error(ce.multipliers, ta.multipliers) < 1e-9
    assert ce.report.rank == ta.report.rank
    assert len(ce.report.partition or []) == ce.report.independent_coordinates


@pytest.mark.parametrize("seed", range(4))
def test_responses_are_those_of_the_constrained_system(seed):
    graph = closed_graph(seed, 8, 3, redundant=seed % 2 == 1)
    ce, ta = solvers(graph)
    rng = np.random.default_rng(seed)
    impulse = rng.normal(size=graph.skeleton.num_dofs)
    jump = ce.system.G(graph.q) @ rng.normal(size=graph.skeleton.num_dofs)
    for given in (None, jump):
        du, truth = (x.impulse_response(impulse, graph.q, given) for x in (ce, ta))
        assert relative_error(du, truth) < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_settling_closes_positions_and_velocities_and_keeps_independent_ones(seed):
    graph = closed_graph(seed, 8, 3, redundant=seed % 2 == 1)
    solver = EmbeddingSolver(kido.ConstrainedSystem(graph.skeleton, graph.constraints))
    solver.accelerate(graph.q, graph.u)
    rng = np.random.default_rng(seed)
    n = graph.skeleton.num_dofs
    moved = graph.skeleton.integrate_positions(graph.q, 1e-3 * rng.normal(size=n))
    velocities = rng.normal(size=n)
    q, u = solver.project_dependent(moved, velocities)
    phi, G, *_ = solver.system.evaluate(q, u)
    assert np.abs(phi).max() < 1e-12
    assert np.abs(G @ u).max() < 1e-12 * max(1.0, np.abs(u).max())
    own = solver.independent
    assert np.array_equal(u[own], velocities[own])


def test_cassie(example_robots: Path):
    """Four ball loops, of which the planar ones of the feet have one row each that nothing moves."""
    path = example_robots / "cassie_description/robots/cassie_v2.sdf"
    skeleton = kido.load(path, visuals=False).skeleton(0)
    rng = np.random.default_rng(0)
    ce = kido.ConstrainedDynamics(skeleton, solver="CE")
    q, u = ce.solver.project_dependent(skeleton.positions, rng.normal(size=skeleton.num_dofs))
    forces = rng.normal(size=skeleton.num_dofs)
    udot = ce.accelerations(q, u, forces)
    truth = kido.ConstrainedDynamics(skeleton, solver="TA").accelerations(q, u, forces)
    assert relative_error(udot, truth) < 1e-9
    assert ce.report.rank == 10 and ce.report.independent_coordinates == 18


@pytest.mark.parametrize("seed", range(5))
def test_embedding_and_augmentation_combined(seed):
    """Some constraints embedded, the others with multipliers over the tree with aggregates."""
    graph = closed_graph(seed, 10, 4, redundant=seed % 2 == 1)
    ce, ta = solvers(graph)
    ce._solver = EmbeddingSolver(ce.system, loose=graph.constraints[::2])
    udot, truth = (x.accelerations(graph.q, graph.u, graph.forces) for x in (ce, ta))
    assert relative_error(udot, truth) < 1e-9
    assert relative_error(ce.constraint_forces, ta.constraint_forces) < 1e-9
    assert ce.report.rank == ta.report.rank
    impulse = np.random.default_rng(seed).normal(size=graph.skeleton.num_dofs)
    du, truth = (x.impulse_response(impulse, graph.q) for x in (ce, ta))
    assert relative_error(du, truth) < 1e-9
    moved = graph.skeleton.integrate_positions(graph.q, 1e-4 * impulse)
    q, u = ce.solver.project_dependent(moved, impulse)
    phi, G, *_ = ce.system.evaluate(q, u)
    assert np.abs(phi).max() < 1e-11
    assert np.abs(G @ u).max() < 1e-11 * max(1.0, np.abs(u).max())
