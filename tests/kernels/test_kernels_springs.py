"""Joint springs: forces are the gradient of the energy on the manifold, and nothing jumps at pi or 2 pi."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kernel_entries import Arrays
from kido.jit import entry, view
from kido.joints import JointKind
from kido.kernels import entries
from kido.kernels.springs import add_spring_forces
from kido.tree.schema import DATA, TREE
from trees import build, random_state

SPRUNG = ("revolute", "prismatic", "universal", "compound", "user", "ball", "free")


@entry("i8(i8,i8)")
def springs(tree, data):
    t, d = view(TREE, tree), view(DATA, data)
    add_spring_forces(t, d, 0, t.parent.shape[0], d.tau)
    return 0


def sprung(kind: str, seed: int, mixed: bool = False) -> Arrays:
    """A joint with a spring of its own for each coordinate, at a random state."""
    rng = np.random.default_rng(seed)
    skeleton = build([kind], [-1], seed)
    skeleton.gravity = np.zeros(3)
    joint = skeleton.joint(0)
    joint.spring_stiffness = rng.uniform(1.0, 50.0, joint.num_dofs)
    joint.rest_position = rng.normal(size=joint.num_dofs)
    q, u, _, _ = random_state(skeleton, seed)
    arrays = Arrays(skeleton, q, u)
    if mixed:
        arrays.tree.kind[:] = JointKind.FREE_MIXED
    return arrays


def energy(arrays: Arrays) -> float:
    entries.update_transforms(*arrays.addresses)
    return entries.read_potential_energy(*arrays.addresses)


@pytest.mark.parametrize("kind", [*SPRUNG, "mixed"])
def test_forces_are_the_gradient_of_the_energy(kind: str) -> None:
    """Step 1e-5: truncation and rounding of the central difference are near 1e-9 of energies of order 100."""
    for seed in range(4):
        arrays = sprung("free" if kind == "mixed" else kind, seed, kind == "mixed")
        d = arrays.data
        d.tau[:] = 0.0
        springs(*arrays.addresses)
        q, u, force = d.q.copy(), d.u.copy(), d.tau.copy()
        difference = []
        for h in (1e-5, -1e-5):
            d.q[:], d.u[:] = q, u
            arrays.advance(h)
            difference.append(energy(arrays))
        assert (difference[0] - difference[1]) / 2e-5 == pytest.approx(-force @ u, rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_the_spring_sees_the_rotation_and_not_its_rotation_vector(kind: str) -> None:
    arrays = sprung(kind, 1)
    d, found = arrays.data, []
    q = d.q.copy()
    angle = np.linalg.norm(q[:3])
    for turns in (0, 1, -1, 2):
        d.q[:3] = q[:3] * (1.0 + 2.0 * np.pi * turns / angle)
        d.tau[:] = 0.0
        springs(*arrays.addresses)
        found.append([energy(arrays), *d.tau])
    np.testing.assert_allclose(found[1:], found[:1] * 3, rtol=1e-12, atol=1e-12)


def test_small_deflections_meet_the_ordinary_spring() -> None:
    joint = kido.BallJoint(spring_stiffness=[1.0, 2.0, 3.0], rest_position=[0.3, -0.2, 0.5])
    skeleton = kido.Skeleton()
    skeleton.add_body("body", joint, inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    turn = 1e-5 * np.array([1.0, -2.0, 0.5])
    R = Rotation.from_rotvec([0.3, -0.2, 0.5]) * Rotation.from_rotvec(turn)
    arrays = Arrays(skeleton, R.as_rotvec())
    springs(*arrays.addresses)
    np.testing.assert_allclose(arrays.data.tau, -np.array([1.0, 2.0, 3.0]) * turn, atol=2e-10)  # of second order


def test_a_sprung_ball_swings_through_half_turns_and_keeps_its_energy() -> None:
    """Fast enough to pass the point opposite to rest: the worst of the energy's error falls with h squared."""
    worst = []
    for h in (1e-3, 5e-4):
        joint = kido.BallJoint(spring_stiffness=[2.0, 3.0, 4.0], rest_position=[0.4, 0.1, -0.3])
        skeleton = kido.Skeleton()
        skeleton.add_body("body", joint, inertia=kido.Inertia.from_diagonal(1.0, [0.1, 0.2, 0.15]))
        skeleton.velocities = [6.0, 8.0, 5.0]
        world = kido.World(gravity=(0, 0, 0), time_step=h)
        world.add_skeleton(skeleton)
        before, error, angles = world.total_energy, 0.0, []
        for _ in range(round(2.0 / h / 10)):
            world.step(10)
            error = max(error, abs(world.total_energy - before) / before)
            angles.append(np.linalg.norm((Rotation.from_rotvec([0.4, 0.1, -0.3]).inv()
                                          * Rotation.from_rotvec(skeleton.positions)).as_rotvec()))  # fmt: skip
        assert max(angles) > 3.0  # it did pass near pi
        worst.append(error)
    print("energy error of a sprung ball", worst)
    assert worst[0] < 1e-3
    assert worst[0] / worst[1] > 3.0
