"""Random edits of several skeletons, in a world and out of it: what must hold after each of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kido
import trees

STEPS = 8
JOINTS = (None, kido.FreeJoint, kido.RevoluteJoint, kido.WeldJoint, kido.BallJoint)


def check(skeleton: kido.Skeleton) -> None:
    """Names are unique, everything points at what it should, and the motion is that of the definitions."""
    bodies = skeleton.bodies
    for names in ([b.name for b in bodies], [j.name for j in skeleton.joints], [d.name for d in skeleton.dofs],
                  [n.name for n in skeleton.nodes()]):  # fmt: skip
        assert len(set(names)) == len(names)
    for k, body in enumerate(bodies):
        assert body.index == k and body.skeleton is skeleton and skeleton.body(body.name) is body
        assert body.parent_joint.child is body and skeleton.joint(body.parent_joint.name) is body.parent_joint
        if body.parent is not None:
            assert bodies[body.parent.index] is body.parent and body.parent.index < k
            assert body in body.parent.children
        assert all(child.parent is body for child in body.children)
        assert all(node.body is body for node in body.nodes())
    assert [d.index for d in skeleton.dofs] == list(range(skeleton.num_dofs))
    if skeleton.num_dofs == 0:
        return
    truth = trees.Reference(skeleton, skeleton.positions, skeleton.velocities)
    assert trees.relative_error(skeleton.mass_matrix, truth.mass_matrix) < 1e-10
    assert trees.relative_error([b.world_transform for b in bodies], truth.X) < 1e-10
    assert trees.relative_error([b.spatial_velocity for b in bodies], truth.V) < 1e-10


def edit(rng: np.random.Generator, world: kido.World, skeletons: list[kido.Skeleton], step: int) -> None:
    """One random edit or use."""
    skeleton = skeletons[rng.integers(len(skeletons))]
    body = skeleton.bodies[rng.integers(skeleton.num_bodies)]
    other = skeletons[rng.integers(len(skeletons))]
    onto = other.bodies[rng.integers(other.num_bodies)]
    keep, joint = bool(rng.integers(2)), JOINTS[rng.integers(len(JOINTS))]
    small = sum(s.num_bodies for s in skeletons) < 25
    match int(rng.integers(12)):
        case 0:
            body.move_to(onto, joint, keep)
        case 1:
            body.move_to(other, joint, keep)
        case 2 if small:
            body.copy_to(onto, joint, keep, recursive=bool(rng.integers(2)))
        case 3:
            skeletons.append(body.split(f"split {step}", joint, keep))
        case 4 if small:
            skeletons.append(body.copy_as(f"copy {step}", joint, keep))
        case 5:
            body.change_parent_joint_type(joint or kido.UniversalJoint, keep)
        case 6:
            skeleton.merge_fixed_joints()
        case 7:
            body.create_node(kido.EndEffector, "tip").create(kido.Support, [(0, 0, 0)], True)
            body.add_shape(kido.Sphere(0.1))
            body.add_external_force((0, 0, 0.1))
        case 8:
            state, properties, twin = skeleton.saved_state, skeleton.properties, skeleton.clone()
            assert twin.saved_state == state and twin.properties == properties
            skeleton.velocities = np.zeros(skeleton.num_dofs)
            skeleton.saved_state = kido.SavedState.from_json(state.to_json())
            skeleton.properties = properties
            assert skeleton.saved_state == state
        case 9 if skeleton.host is None:
            world.add_skeleton(skeleton)
        case 9:
            world.remove_skeleton(skeleton)
        case 10:
            group = kido.Group([body] if body is onto else [body, onto])
            J = group.jacobian(onto)
            assert J.shape == (6, group.num_dofs) and np.isfinite(group.forward_dynamics()).all()
        case 11:
            world.step(2)


@pytest.mark.parametrize("seed", range(8))
def test_random_edits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    world = kido.World()
    skeletons = [trees.random_skeleton(3 * seed + k, int(rng.integers(2, 7))) for k in range(3)]
    for k, skeleton in enumerate(skeletons):
        q, u, _, _ = trees.random_state(skeleton, seed, speed=0.1)
        skeleton.positions, skeleton.velocities = q, u
        if k < 2:
            world.add_skeleton(skeleton)
    for step in range(STEPS):
        before = [(s, [b.name for b in s.bodies], s.num_dofs) for s in skeletons]
        try:
            edit(rng, world, skeletons, step)
        except kido.KidoError:  # a body under itself, a joint that moves no mass: then nothing has changed
            assert before == [(s, [b.name for b in s.bodies], s.num_dofs) for s in skeletons]
        for skeleton in skeletons:
            check(skeleton)
        pickle.loads(pickle.dumps(world.clone()))
        skeletons = [s for s in skeletons if s.num_bodies]
