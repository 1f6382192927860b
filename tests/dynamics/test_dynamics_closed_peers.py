"""Constrained dynamics against Pinocchio's, and the fully augmented system against scipy's sparse factors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

import kido
from closed_graphs import ClosedGraph, closed_graph
from trees import Reference, relative_error

pin = pytest.importorskip("pinocchio", reason="the package pin is not installed")
from pinocchio_loops import PinocchioLoops  # noqa: E402

JOINTS = ("revolute", "prismatic", "ball", "free", "weld")
LOOPS = ("ball", "weld")


@pytest.mark.parametrize("solver", ["TA", "FA", "CE"])
@pytest.mark.parametrize("seed", range(6))
def test_accelerations_are_pinocchios(seed, solver):
    """Its proximal iterations come to rest within 1e-9 where rows are independent."""
    graph = closed_graph(seed, 6 + 3 * seed, 1 + seed // 2, JOINTS, LOOPS, passive=False)
    peer = PinocchioLoops(pin, graph.skeleton, graph.constraints, mu=1e-10)
    q, v = peer.state(graph.q, graph.u)
    truth = peer.own_vector(peer.accelerations(q, v, peer.vector(graph.forces)))
    dynamics = kido.ConstrainedDynamics(graph.skeleton, graph.constraints, solver)
    assert relative_error(dynamics.accelerations(graph.q, graph.u, graph.forces), truth) < 1e-8


@pytest.mark.parametrize("solver", ["TA", "FA", "CE"])
def test_cassie_moves_as_in_pinocchio(solver, example_robots: Path):
    """Four ball loops; the planar ones of the feet have a row each that follows from others."""
    robot = kido.load(example_robots / "cassie_description/robots/cassie_v2.sdf", visuals=False).skeleton(0)
    dynamics = kido.ConstrainedDynamics(robot, solver=solver)
    rng = np.random.default_rng(1)
    u = dynamics.project_velocities(u=rng.normal(size=robot.num_dofs))
    T = rng.normal(size=robot.num_dofs)
    peer = PinocchioLoops(pin, robot, dynamics.system.constraints, mu=1e-8)
    passive = robot.spring_forces - np.concatenate([joint.damping for joint in robot.joints]) * u
    q, v = peer.state(robot.positions, u)
    truth = peer.own_vector(peer.accelerations(q, v, peer.vector(T + passive)))
    assert relative_error(dynamics.accelerations(u=u, forces=T), truth) < 1e-8
    assert dynamics.report.rank == 10


def sparse_system(graph: ClosedGraph) -> tuple[np.ndarray, np.ndarray]:
    """udot and multipliers by SuperLU, from equations written down for each body and each hinge in NumPy.

    Joints are those of one coordinate at most; hinges hold the complement of their motion column.
    """
    s, n = graph.skeleton, graph.skeleton.num_bodies
    truth = Reference(s, graph.q, graph.u)
    system = kido.ConstrainedSystem(s, graph.constraints)
    *_, gamma = system.evaluate(graph.q, graph.u)
    bias = truth._series(graph.u, 0.0 * graph.u)[2]  # accelerations of bodies at udot = 0
    blocks, right = sparse.lil_matrix((6 * n, 6 * n)), -truth.body_force(np.zeros((n, 6))).ravel()
    held, sides, duals = [], [], {}
    for i, body in enumerate(s.bodies):
        own = slice(6 * i, 6 * i + 6)
        blocks[own, own] = truth.I[i]
        H = truth.H[i]
        N = np.linalg.svd(H)[0][:, H.shape[1] :]
        parent = None if body.parent is None else body.parent.index
        relative = bias[i].copy()
        across = np.zeros((6, 6 * n))
        across[:, own] = np.eye(6)
        if parent is not None:
            back = truth.phi(parent, i).T
            across[:, 6 * parent : 6 * parent + 6] -= back
            relative -= back @ bias[parent]
        held.append(N.T @ across)
        sides.append(N.T @ relative)
        for k, column in zip(range(*truth.part[i].indices(s.num_dofs)), np.linalg.pinv(H), strict=True):
            duals[k] = column @ across, column @ relative
            right += graph.forces[k] * duals[k][0]
    moves = np.concatenate([truth.J[i] for i in range(n)])  # (6 n, dofs): G = W moves
    rates = np.stack([duals[k][0] for k in range(s.num_dofs)])
    W = system.G(graph.q) @ rates
    assert np.abs(rates @ moves - np.eye(s.num_dofs)).max() < 1e-9
    shift = system.G(graph.q) @ np.array([duals[k][1] for k in range(s.num_dofs)])
    A = sparse.csc_matrix(np.concatenate([*held, W]))
    K = sparse.bmat([[blocks, A.T], [A, None]]).tocsc()
    x = splu(K).solve(np.concatenate([right, *sides, gamma + shift]))
    udot = rates @ x[: 6 * n] - np.array([duals[k][1] for k in range(s.num_dofs)])
    return udot, -x[len(x) - len(gamma) :]


@pytest.mark.parametrize("seed", range(4))
def test_fully_augmented_system_against_superlu(seed):
    graph = closed_graph(seed, 8 + 4 * seed, 1 + seed, ("revolute", "prismatic", "screw"), passive=False)
    udot, multipliers = sparse_system(graph)
    dynamics = kido.ConstrainedDynamics(graph.skeleton, graph.constraints, "FA")
    assert relative_error(dynamics.accelerations(graph.q, graph.u, graph.forces), udot) < 1e-8
    assert relative_error(dynamics.multipliers, multipliers) < 1e-8
