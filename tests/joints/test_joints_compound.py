"""Compound joints: equal to the joints they can imitate, and changeable at any time."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido.errors import ModelError
from trees import Reference, random_hinges, random_inertia, random_state, random_transform, relative_error

H = kido.Hinge
X, Y, Z = np.eye(3)
A, B = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0), np.array([0.6, 0.0, 0.8])
IMITATIONS = {
    "weld": (lambda **o: kido.WeldJoint(**o), []),
    "revolute": (lambda **o: kido.RevoluteJoint(axis=A, **o), [H.revolute(A)]),
    "prismatic": (lambda **o: kido.PrismaticJoint(axis=A, **o), [H.prismatic(A)]),
    "screw": (lambda **o: kido.ScrewJoint(axis=A, pitch=0.3, **o), [H.screw(A, 0.3)]),
    "universal": (lambda **o: kido.UniversalJoint(axis1=A, axis2=B, **o), [H.revolute(A), H.revolute(B)]),
    "euler": (lambda **o: kido.EulerJoint(order="zyx", **o), [H.revolute(Z), H.revolute(Y), H.revolute(X)]),
    "planar": (lambda **o: kido.PlanarJoint(axis1=X, axis2=Z, **o), [H.prismatic(X), H.prismatic(Z), H.revolute(-Y)]),
    "translational": (lambda **o: kido.TranslationalJoint(**o), [H.prismatic(X), H.prismatic(Y), H.prismatic(Z)]),
}


def pair(kind: str, seed: int = 0) -> tuple[kido.Skeleton, kido.Skeleton]:
    """Two arms that differ in their middle joint: a built-in one, and a compound joint that imitates it."""
    make, hinges = IMITATIONS[kind]
    arms = []
    for builder in (make, lambda **o: kido.CompoundJoint(hinges=hinges, **o)):
        rng = np.random.default_rng(seed)
        arm = kido.Skeleton("arm")
        middle = {"transform_from_parent": random_transform(rng), "transform_from_child": random_transform(rng)}
        for k, joint in enumerate((kido.FreeJoint(), builder(**middle), kido.RevoluteJoint(axis=B))):
            arm.add_body(f"b{k}", joint, arm.bodies[-1] if k else None, random_inertia(rng, 1.0))
        arms.append(arm)
    return arms[0], arms[1]


@pytest.mark.parametrize("kind", IMITATIONS)
def test_chains_equal_built_in_joints(kind: str) -> None:
    """1e-12: the same formulas in another order."""
    built_in, compound = pair(kind)
    q, u, udot, tau = random_state(built_in, 1)
    assert relative_error(compound.forward_kinematics(q), built_in.forward_kinematics(q)) < 1e-14
    assert relative_error(kido.quantities.mass_matrix(compound, q), kido.quantities.mass_matrix(built_in, q)) < 1e-13
    assert relative_error(compound.inverse_dynamics(q, u, udot), built_in.inverse_dynamics(q, u, udot)) < 1e-13
    assert relative_error(compound.forward_dynamics(q, u, tau), built_in.forward_dynamics(q, u, tau)) < 1e-12
    for skeleton in (built_in, compound):
        skeleton.positions, skeleton.velocities = 0.2 * q, u
        world = kido.World(time_step=1e-3)
        world.add_skeleton(skeleton)
        world.step(200)
    assert relative_error(compound.positions, built_in.positions) < 1e-10


def test_a_hinge_list_is_changed_at_any_time() -> None:
    """On its own and in a world, without and with cached results: always what a fresh skeleton gives."""
    rng = np.random.default_rng(3)
    hinges = [H.revolute(A), H.prismatic(B), H.screw(A, 0.2, offset=random_transform(rng))]
    changes = (
        (0, {"axis": rng.normal(size=3)}), (2, {"pitch": -0.5}), (1, {"offset": random_transform(rng)}),
        (2, {"axis": B, "offset": None}), (-1, {"pitch": 1.0}),
    )  # fmt: skip
    for in_world in (False, True):
        skeleton = kido.Skeleton()
        joint = kido.CompoundJoint("joint", hinges)
        skeleton.add_body("body", joint, inertia=random_inertia(np.random.default_rng(0), 1.0))
        world = kido.World(time_step=1e-3)
        if in_world:
            world.add_skeleton(skeleton)
        q, u, _, tau = random_state(skeleton, 2)
        skeleton.positions, skeleton.velocities = q, u
        for index, change in changes:
            before = skeleton.body(0).world_transform, skeleton.mass_matrix
            joint.set_hinge(index, **change)
            reference = Reference(skeleton, skeleton.positions, skeleton.velocities)
            assert np.abs(skeleton.body(0).world_transform - reference.X[0]).max() < 1e-13
            assert np.abs(skeleton.mass_matrix - reference.mass_matrix).max() < 1e-12
            assert not np.array_equal(before[0], skeleton.body(0).world_transform)
            assert np.array_equal(skeleton.positions, q) or in_world
            if in_world:
                world.step()
        fresh = kido.Skeleton()
        fresh.add_body("body", kido.CompoundJoint("joint", joint.hinges), inertia=skeleton.body(0).inertia)
        assert np.array_equal(fresh.forward_dynamics(q, u, tau), skeleton.forward_dynamics(q, u, tau))


def test_copies() -> None:
    joint = kido.CompoundJoint("joint", random_hinges(np.random.default_rng(1)))
    for twin in (copy.deepcopy(joint), pickle.loads(pickle.dumps(joint))):
        assert twin.hinges == joint.hinges and twin.hinges is not joint.hinges
        assert twin.num_dofs == joint.num_dofs
    assert eval(repr(H.screw(X, 0.5)), {"Hinge": H}) == H.screw(X, 0.5)


def test_names_and_cycles() -> None:
    joint = kido.CompoundJoint("hip", [H.revolute(X), H.prismatic(X), H.screw(X, 0.1)])
    assert [dof.name for dof in joint.dofs] == ["hip_1", "hip_2", "hip_3"]
    assert [dof.is_cyclic for dof in joint.dofs] == [True, False, False]
    joint.position_upper_limit = 1.0
    assert not joint.dofs[0].is_cyclic
    assert kido.CompoundJoint("one", [H.revolute()]).dofs[0].name == "one"
    assert kido.CompoundJoint("none").num_dofs == 0


def test_wrong_hinges_are_refused_and_change_nothing() -> None:
    joint = kido.CompoundJoint("hip", [H.revolute(X), H.screw(Z, 0.1)])
    before = joint.hinges
    for act, message in (
        (lambda: H.revolute((0, 0, 0)), "direction"),
        (lambda: H.screw(X, np.nan), "pitch"),
        (lambda: H.prismatic(X, offset=2 * np.eye(4)), "offset"),
        (lambda: joint.set_hinge(2, axis=X), "no hinge 2; it has 2"),
        (lambda: joint.set_hinge(0, pitch=1.0), "no screw"),
        (lambda: joint.set_hinge(0, colour=1), "'colour'; it has axis, pitch, offset"),
        (lambda: setattr(joint, "hinges", [H.revolute()]), "expected 2"),
        (lambda: setattr(joint, "hinges", [1, 2]), "kido.Hinge"),
        (lambda: kido.CompoundJoint("x", [H.revolute()] * 7), "at most 6, got 7"),
    ):
        with pytest.raises(ModelError, match=message):
            act()
    assert joint.hinges is before
    with pytest.raises(ValueError, match="read-only"):
        joint.hinges[0].axis[0] = 2.0
