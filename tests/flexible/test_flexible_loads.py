"""Wrenches on any body of a skeleton with flexible ones are generalized forces J^T w, in all that has dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from flexible_trees import random_tree
from kido.flexible import FlexibleTree
from trees import relative_error

POINT = (0.1, -0.2, 0.3)
WRENCH = np.array([0.5, -1.0, 0.3, 1.0, 2.0, -3.0])


@pytest.fixture
def tree() -> FlexibleTree:
    """In a state of its own, with a wrench on nothing."""
    made = random_tree(0, bodies=5)
    rng, n = np.random.default_rng(0), made.num_coordinates
    made.skeleton.positions, made.skeleton.velocities = 0.3 * rng.normal(size=n), rng.normal(size=n)
    return made


def acceleration(skeleton: kido.Skeleton) -> np.ndarray:
    skeleton.compute_forward_dynamics()
    return skeleton.accelerations


def test_accelerations_by_wrenches_are_those_of_their_generalized_forces(tree: FlexibleTree) -> None:
    """On rigid bodies, flexible ones, nodes, what is welded to a frame, and the bodies that have the modes."""
    skeleton = tree.skeleton
    M, free = skeleton.mass_matrix, acceleration(skeleton)
    for body in skeleton.bodies:
        J = skeleton.jacobian(body, POINT)
        body.add_external_wrench(WRENCH, offset=POINT)
        assert relative_error(skeleton.external_forces, J.T @ WRENCH) < 1e-12
        found = acceleration(skeleton)
        gain = np.linalg.solve(M, J.T @ WRENCH)
        assert np.abs(found - free - gain).max() < 1e-10 * max(np.abs(gain).max(), np.abs(free).max()), body.name
        skeleton.compute_inverse_dynamics()  # of the accelerations that it gives
        assert np.abs(skeleton.forces).max() < 1e-9
        skeleton.forces = np.zeros(len(M))
        skeleton.clear_external_forces()
        p = np.zeros((skeleton.num_bodies, 6))
        p[body.index] = WRENCH
        change = np.linalg.solve(M, skeleton.jacobian(body).T @ WRENCH)
        assert relative_error(kido.quantities.velocity_changes(skeleton, body_impulses=p), change) < 1e-9


def test_what_acts_on_the_body_of_modes_acts_on_the_body_that_deforms(tree: FlexibleTree) -> None:
    """In worlds, motions, batches and with loops, where a wrench on the flexible body itself is known to be right."""
    skeleton, flexible = tree.skeleton, tree.bodies[1]
    start = skeleton.positions, skeleton.velocities
    ends = []
    for body in (None, flexible.body, flexible.coordinates):
        skeleton.positions, skeleton.velocities = start
        skeleton.clear_external_forces()
        if body is not None:
            body.add_external_force((3.0, -2.0, 1.0), offset=POINT)
        kido.integrators.simulate(skeleton, kido.integrators.RK4(), 5e-3)
        made = [skeleton.positions, skeleton.velocities]
        skeleton.positions, skeleton.velocities = start
        made.append(kido.ConstrainedDynamics(skeleton).accelerations())
        twin = skeleton.clone("twin")
        twin.positions, twin.velocities = start
        if body is not None:
            twin.body(body.name).add_external_force((3.0, -2.0, 1.0), offset=POINT)
        world = kido.World(time_step=1e-3)
        world.add_skeleton(twin)
        world.step(3)
        made += [twin.positions, twin.velocities]
        w = np.zeros((1, skeleton.num_bodies, 6))
        if body is not None:
            w[0, body.index] = WRENCH
        zero = np.zeros((1, len(start[0])))
        made.append(kido.batch.Batch(skeleton).forward_dynamics(start[0][None], start[1][None], zero, wrenches=w)[0])
        ends.append(np.concatenate(made))
    assert np.abs(ends[1] - ends[0]).max() > 1e-3
    assert relative_error(ends[2], ends[1]) < 1e-11


def test_the_body_of_modes_carries_nothing() -> None:
    skeleton = random_tree(0, bodies=5).skeleton
    modes = next(b for b in skeleton.bodies if b.parent_joint.has_modes)
    modes.inertia = kido.Inertia(1.0)
    with pytest.raises(kido.ModelError, match=f"{modes.name}.*coordinates of modes alone.*a mass of 1 kg"):
        skeleton.mass_matrix  # noqa: B018
    modes.inertia = kido.Inertia()
    n = len(skeleton.mass_matrix)
    skeleton.add_body("load", kido.RevoluteJoint(), modes, kido.Inertia(1.0))
    with pytest.raises(kido.ModelError, match=f"{modes.name}.*'load' on it.*on a node"):
        skeleton.mass_matrix  # noqa: B018
    skeleton.body("load").remove()
    assert len(skeleton.mass_matrix) == n
