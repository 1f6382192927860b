"""Skeletons with flexible bodies: their quantities are those of the modes, and what is not known is refused by name."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import kido
from flexible_trees import Dense, random_tree
from kido.flexible import FlexibleTree, flexible_bodies
from trees import relative_error


@pytest.fixture(params=range(3))
def case(request: pytest.FixtureRequest) -> Dense:
    tree = random_tree(request.param, bodies=9)
    rng = np.random.default_rng(request.param)
    n = tree.num_coordinates
    dense = Dense(tree, 0.5 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n))
    skeleton = tree.skeleton
    skeleton.positions, skeleton.velocities, skeleton.accelerations = dense.q, dense.u, dense.udot
    return dense


def passive(dense: Dense) -> np.ndarray:
    """What modal springs and dampers add to `Dense.forces`; of a skeleton they are forces."""
    out = np.zeros(len(dense.q))
    for flexible in dense.tree.bodies:
        part = flexible.dofs
        out[part] = flexible.modes.stiffness * dense.q[part] + flexible.modes.damping * dense.u[part]
    return out


def test_frames_follow_the_deformed_bodies(case: Dense) -> None:
    skeleton = case.tree.skeleton
    for body in skeleton.bodies:
        assert relative_error(body.world_transform, case.X[body.index]) < 1e-12
        assert relative_error(body.spatial_velocity, case.V[body.index]) < 1e-12
        assert relative_error(body.linear_acceleration(), case.A[body.index, 3:]) < 1e-12
    assert relative_error(skeleton.world_transforms, case.X) < 1e-12
    other = skeleton.new_state()
    other.positions = case.q
    assert relative_error(other.world_transforms, case.X) < 1e-12
    assert relative_error(skeleton.forward_kinematics(case.q), case.X) < 1e-12
    # A change of modes alone moves the nodes, and what hangs on them.
    part, node = case.tree.bodies[0].dofs, case.tree.bodies[0].node("a")
    skeleton.set_positions(np.zeros(part.stop - part.start), part)
    q = case.q.copy()
    q[part] = 0.0
    assert relative_error(node.world_transform, case.tree.transform(node, q)) < 1e-13


def test_dynamics_of_the_current_state_and_of_given_ones(case: Dense) -> None:
    skeleton, (M, tau) = case.tree.skeleton, case.forces()
    tau = tau - passive(case)
    assert relative_error(skeleton.mass_matrix, M) < 1e-12
    assert relative_error(skeleton.inverse_mass_matrix @ M, np.eye(len(M))) < 1e-9  # conditions of up to 1e6
    assert relative_error(skeleton.inverse_dynamics(case.q, case.u, case.udot), tau) < 1e-12
    assert relative_error(skeleton.forward_dynamics(case.q, case.u, tau), case.udot) < 1e-9
    skeleton.compute_inverse_dynamics()
    assert relative_error(skeleton.forces, tau) < 1e-12
    skeleton.accelerations = np.zeros(len(M))
    skeleton.compute_forward_dynamics()
    assert relative_error(skeleton.accelerations, case.udot) < 1e-9
    bias, weight = skeleton.coriolis_and_gravity_forces, skeleton.gravity_forces
    assert relative_error(M @ case.udot + bias, tau) < 1e-11
    assert relative_error(bias - weight, skeleton.coriolis_forces) < 1e-12
    assert abs(np.linalg.slogdet(M)[1] - skeleton.log_det_mass_matrix()) < 1e-9
    springs = skeleton.spring_forces + skeleton.damping_forces
    assert relative_error(-springs, passive(case)) < 1e-13
    q = kido.quantities.mass_matrix(skeleton, 0.9 * case.q)
    assert relative_error(q, case.tree.mass_matrix(0.9 * case.q)) < 1e-13


def test_sums_over_bodies(case: Dense) -> None:
    skeleton, (M, _) = case.tree.skeleton, case.forces()
    assert relative_error(skeleton.kinetic_energy, 0.5 * case.u @ M @ case.u) < 1e-12
    assert relative_error(skeleton.potential_energy, case.potential_energy) < 1e-12
    assert relative_error(skeleton.momentum_about((0.0, 0.0, 0.0)), case.momentum) < 1e-12
    m, x = skeleton.mass, np.zeros(3)
    for masses, places, _, _ in case.points:
        x += masses @ places
    for mass, _, com, i in case.rigid():
        x += mass * (case.X[i, :3, 3] + com)
    assert relative_error(m * skeleton.com, x) < 1e-12
    assert relative_error(m * skeleton.com_velocity(), case.momentum[3:]) < 1e-12
    h = case.momentum
    about_com = np.append(h[:3] - np.cross(x / m, h[3:]), h[3:])
    assert relative_error(skeleton.centroidal_momentum, about_com) < 1e-11


def test_forces_and_impulses_on_nodes_reach_the_modes(case: Dense) -> None:
    """External forces are J^T f, and an impulse changes velocities by M^-1 J^T p."""
    skeleton, (M, _) = case.tree.skeleton, case.forces()
    node = case.tree.bodies[-1].node("b")
    J = skeleton.jacobian(node, (0.1, -0.2, 0.3))
    columns = [case.move(e, np.zeros(len(e)))[0][node.index] for e in np.eye(len(case.q))]
    arm = case.X[node.index, :3, :3] @ (0.1, -0.2, 0.3)
    w = np.array([[X[1][:3, :3] @ X[0][:3, :3].T for X in columns]])[0]
    angular = np.array([[R[2, 1], R[0, 2], R[1, 0]] for R in w]).T
    linear = np.array([X[1][:3, 3] for X in columns]).T + np.cross(angular, arm, axisa=0).T
    assert relative_error(J, np.vstack([angular, linear])) < 1e-11
    before = skeleton.forward_dynamics(case.q, case.u, np.zeros(len(M)))
    skeleton.forces = np.zeros(len(M))
    node.add_external_force((1.0, 2.0, -3.0), offset=(0.1, -0.2, 0.3))
    assert relative_error(skeleton.external_forces, J[3:].T @ (1.0, 2.0, -3.0)) < 1e-12
    skeleton.compute_forward_dynamics()
    gain = np.linalg.solve(M, J[3:].T @ (1.0, 2.0, -3.0))
    assert relative_error(skeleton.accelerations - before, gain) < 1e-9
    p = np.zeros((skeleton.num_bodies, 6))
    p[node.index, 3:] = 1.0, 2.0, -3.0
    found = kido.quantities.velocity_changes(skeleton, body_impulses=p)
    assert relative_error(found, np.linalg.solve(M, skeleton.jacobian(node)[3:].T @ (1.0, 2.0, -3.0))) < 1e-9


def test_copies_and_properties(case: Dense) -> None:
    skeleton = case.tree.skeleton
    twin = copy.deepcopy(skeleton)
    assert relative_error(twin.mass_matrix, skeleton.mass_matrix) < 1e-15
    assert [b.body.name for b in flexible_bodies(twin)] == [b.body.name for b in case.tree.bodies]
    dof = skeleton.dofs[case.tree.bodies[0].dofs.start]
    assert dof.name == f"{case.tree.bodies[0].body.name}.mode1"
    before = skeleton.spring_forces[dof.index]
    dof.spring_stiffness *= 2.0
    assert np.isclose(skeleton.spring_forces[dof.index], 2.0 * before, rtol=1e-14)
    assert relative_error(twin.positions, case.q) == 0.0


# What is not known --------------------------------------------------------------------------------------------


def test_what_else_does_not_know_flexible_bodies_says_so(tmp_path: Path) -> None:
    skeleton = random_tree(0, 4).skeleton
    assert skeleton.mass_matrix.any()
    refused = [
        lambda: skeleton.current_state.deformed.answer("temperature", {}),  # a quantity that has no sweeps for them
        *(lambda name=name: kido.save(skeleton, tmp_path / name) for name in ("a.urdf", "a.sdf", "a.skel", "a.xml")),
    ]  # fmt: skip
    for call in refused:
        with pytest.raises(kido.KidoError, match="flexible bodies"):
            call()


def test_a_flexible_tree_needs_no_state_of_the_skeleton() -> None:
    tree = random_tree(2, 6)
    assert isinstance(tree, FlexibleTree)
    before = tree.skeleton.positions
    tree.simulate(np.zeros(tree.num_coordinates), np.ones(tree.num_coordinates), 0.01)
    assert np.array_equal(tree.skeleton.positions, before)
