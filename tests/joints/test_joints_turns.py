"""Ball and free joints at and across rotation angles of pi and 2 pi: nothing that is physical jumps.

A rotation has many rotation vectors; velocities, accelerations and forces are in body axes, so two rotation vectors
of one rotation must give the same numbers for everything else.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from trees import Reference, build, chain_parents, random_state

KINDS = ("ball", "free")
ANGLES = (np.pi, 2.0 * np.pi, 3.0 * np.pi, 4.0 * np.pi)


def tree(kind: str, seed: int = 1) -> kido.Skeleton:
    """Joints of the kind with others between them, one with a spring."""
    skeleton = build([kind, "revolute", kind, "universal"], chain_parents(4), seed)
    rng = np.random.default_rng(seed)
    for joint in skeleton.joints:
        joint.spring_stiffness, joint.damping = rng.uniform(1.0, 20.0, joint.num_dofs), 0.3
        joint.rest_position = rng.normal(size=joint.num_dofs)
    return skeleton


def physical(skeleton: kido.Skeleton, q: np.ndarray, u: np.ndarray, udot: np.ndarray, tau: np.ndarray) -> dict:
    """All that does not depend on the choice of a rotation vector."""
    skeleton.positions, skeleton.velocities, skeleton.accelerations = q, u, udot
    derivatives = skeleton.inverse_dynamics_derivatives(q, u, udot)
    return {
        "transforms": skeleton.world_transforms,
        "velocities": [b.spatial_velocity for b in skeleton.bodies],
        "accelerations": [b.spatial_acceleration for b in skeleton.bodies],
        "mass matrix": skeleton.mass_matrix,
        "inverse dynamics": skeleton.inverse_dynamics(q, u, udot),
        "forward dynamics": skeleton.forward_dynamics(q, u, tau),
        "jacobian": skeleton.jacobian(skeleton.bodies[-1]),
        "jacobian rate": skeleton.jacobian_spatial_derivative(skeleton.bodies[-1]),
        "derivatives": np.concatenate([np.ravel(d) for d in derivatives]),
        "energies": [skeleton.kinetic_energy, skeleton.potential_energy],
        "momentum": skeleton.momentum,
        "springs": skeleton.spring_forces,
        "joint jacobian": skeleton.joints[2].relative_jacobian,
        "joint jacobian rate": skeleton.joints[2].relative_jacobian_derivative,
    }


def largest_difference(a: dict, b: dict) -> float:
    return max(
        float(np.abs(np.asarray(a[key]) - np.asarray(b[key])).max() / max(1.0, np.abs(np.asarray(a[key])).max()))
        for key in a
    )


def with_angles(skeleton: kido.Skeleton, q: np.ndarray, angle: float) -> np.ndarray:
    """The positions with the rotation vectors of ball and free joints scaled to a length."""
    q = q.copy()
    for joint in (skeleton.joints[0], skeleton.joints[2]):
        part = slice(joint.dofs[0].index, joint.dofs[0].index + 3)
        q[part] *= angle / np.linalg.norm(q[part])
    return q


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("angle", [0.3, 2.0, 5.0, *ANGLES])
def test_all_rotation_vectors_of_a_rotation_are_alike(kind: str, angle: float) -> None:
    """Also |q| = 5, set by a user. 1e-12: positions of size 4 pi have a rounding of 2e-15."""
    skeleton = tree(kind)
    q, u, udot, tau = random_state(skeleton, 3)
    first = physical(skeleton, with_angles(skeleton, q, angle), u, udot, tau)
    for turns in (-2, -1, 1, 2):
        other = physical(skeleton, with_angles(skeleton, q, angle + 2.0 * np.pi * turns), u, udot, tau)
        assert largest_difference(first, other) < 2e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("angle", ANGLES)
def test_nothing_jumps_across_whole_and_half_turns(kind: str, angle: float) -> None:
    """A change of 1e-9 rad moves everything by about as much, on the way there, at the angle and beyond."""
    skeleton = tree(kind)
    q, u, udot, tau = random_state(skeleton, 4)
    at = physical(skeleton, with_angles(skeleton, q, angle), u, udot, tau)
    for step in (-1e-9, 1e-9):
        near = physical(skeleton, with_angles(skeleton, q, angle + step), u, udot, tau)
        assert largest_difference(at, near) < 1e-6
    reference = Reference(skeleton, with_angles(skeleton, q, angle), u, udot)
    assert np.abs(at["transforms"] - reference.X).max() < 1e-12
    assert np.abs(at["mass matrix"] - reference.mass_matrix).max() < 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_integration_through_many_turns(kind: str) -> None:
    """Spinning about a fixed axis for ten turns: the pose is that of the angle, and charts are wrapped to pi."""
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    joint = kido.BallJoint() if kind == "ball" else kido.FreeJoint()
    skeleton = kido.Skeleton()
    body = skeleton.add_body("ball", joint, inertia=kido.Inertia.from_diagonal(1.0, [0.1, 0.1, 0.1]))
    rate, h = 2.0 * np.pi, 1e-3
    skeleton.velocities = np.concatenate([rate * axis, np.zeros(joint.num_dofs - 3)])
    world = kido.World(gravity=(0, 0, 0), time_step=h)
    world.add_skeleton(skeleton)
    before, worst = body.world_transform[:3, :3], 0.0
    for k in range(1, 1001):
        world.step(10)
        R = body.world_transform[:3, :3]
        expected = Rotation.from_rotvec(10 * k * h * rate * axis).as_matrix()
        worst = max(worst, np.abs(R - expected).max())
        assert np.linalg.norm(R - before) < 1.5 * rate * 10 * h  # no jump between frames
        assert np.linalg.norm(joint.positions[:3]) <= np.pi + 1e-12
        before = R
    assert worst < 3e-11  # 10,000 steps of rounding
    np.testing.assert_allclose(skeleton.velocities[:3], rate * axis, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [np.pi, 5.0, 2.0 * np.pi, 4.0 * np.pi])
def test_worlds_do_not_see_how_a_rotation_is_written(kind: str, start: float) -> None:
    """The same tumbling motion, springs, dampers and gravity included, from two rotation vectors of one rotation."""
    moved = []
    for turns in (0, 1):
        skeleton = tree(kind)
        q, u, _, _ = random_state(skeleton, 6)
        skeleton.positions = with_angles(
            skeleton, q, start - 2.0 * np.pi * turns if start != 2.0 * np.pi else start + 2.0 * np.pi * turns
        )
        skeleton.velocities = 2.0 * u
        world = kido.World(time_step=1e-3)
        world.add_skeleton(skeleton)
        frames = []
        for _ in range(20):
            world.step(20)
            frames.append(skeleton.world_transforms)
        moved.append(np.array(frames))
    assert np.abs(moved[0] - moved[1]).max() < 1e-8  # rounding, grown by 0.4 s of tumbling


@pytest.mark.parametrize("kind", KINDS)
def test_positions_advance_across_pi_and_back(kind: str) -> None:
    """Small steps of the manifold's own integration, forth through pi and 2 pi and back again."""
    joint = kido.BallJoint() if kind == "ball" else kido.FreeJoint()
    skeleton = kido.Skeleton()
    skeleton.add_body("body", joint, inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    rng = np.random.default_rng(2)
    start = rng.normal(size=joint.num_dofs)
    u = 0.1 * rng.normal(size=joint.num_dofs)
    q, pose = start, skeleton.forward_kinematics(start)[0]
    longest, shortest = 0.0, np.inf
    for sign in (1.0, -1.0):
        for _ in range(100):
            q = skeleton.integrate_positions(q, sign * u)
            new = skeleton.forward_kinematics(q)[0]
            assert np.abs(new - pose).max() < 2.0 * np.abs(u).sum()
            longest, shortest, pose = max(longest, np.linalg.norm(q[:3])), min(shortest, np.linalg.norm(q[:3])), new
    assert longest > 3.0
    np.testing.assert_allclose(pose, skeleton.forward_kinematics(start)[0], atol=1e-12)
