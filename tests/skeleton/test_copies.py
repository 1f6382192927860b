"""copy.copy, copy.deepcopy and pickle of worlds, skeletons and their parts: an independent copy, or refused by name."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import kido
from user_classes import Temperature

WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda thing: pickle.loads(pickle.dumps(thing))}


def arm_in_a_world() -> tuple[kido.World, kido.Skeleton]:
    w = kido.World()
    w.add_ground()
    arm = w.add_skeleton(kido.load(kido.models.path("arm7")))
    arm.bodies[2].create_node(kido.Marker, "marker", (0, 0, 0.1))
    arm.bodies[2].create_node(kido.EndEffector, "tip")
    arm.create(Temperature)
    arm.positions = np.linspace(0.1, 0.7, 7)
    w.step(3)
    return w, arm


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_copies_of_worlds_and_skeletons_share_nothing_that_moves(way: Any) -> None:
    w, arm = arm_in_a_world()
    before = w.snapshot()
    w.step(5)
    expected = arm.positions
    w.restore(before)
    q, time = arm.positions, w.time

    twin = way(w)
    assert twin.skeleton("arm7") is not arm and arm.host is w and twin.skeleton("arm7").host is twin
    twin.step(5)
    np.testing.assert_array_equal(twin.skeleton("arm7").positions, expected)
    np.testing.assert_array_equal(arm.positions, q)
    assert w.time == time

    other = way(arm)
    assert other.host is None and not set(other.bodies) & set(arm.bodies)
    assert all(body.skeleton is other for body in other.bodies)
    assert other.get(Temperature) is not arm.get(Temperature) and other.get(Temperature).carrier is other
    other.positions = np.zeros(7)
    np.testing.assert_array_equal(arm.positions, q)
    w.step(5)
    np.testing.assert_array_equal(arm.positions, expected)


def test_what_belongs_to_a_skeleton_is_not_copied_alone() -> None:
    _, arm = arm_in_a_world()
    soft = kido.Skeleton("soft")
    body = soft.add_soft_body("jelly", kido.SoftMesh.box((0.2, 0.2, 0.2)))
    shape = next(b.shapes[0] for b in arm.bodies if b.shapes)
    for thing, message in (
        (arm.bodies[2], r"body 'shoulder' belongs to skeleton 'arm7' and cannot be copied by copy.copy; copy_to\(\)"),
        (body, "body 'jelly' belongs to skeleton 'soft'"),
        (arm.node("marker"), r"Marker\('marker'\) belongs to its body and cannot be copied by copy.copy; copy_to\(\)"),
        (arm.node("tip"), r"EndEffector\('tip'\) belongs to its body"),
        (shape, r"ShapeNode\(.*\) belongs to its body"),
        (body.skin, r"ShapeNode\('jelly_skin'.*\) belongs to its body"),
        (arm.dofs[0], r"DegreeOfFreedom\('.*'\) belongs to RevoluteJoint\(.*\) and cannot be copied; copy the joint"),
    ):
        with pytest.raises(kido.ModelError, match=message):
            copy.copy(thing)


@pytest.mark.parametrize("way", [copy.deepcopy, WAYS["pickle"]], ids=["deepcopy", "pickle"])
def test_deep_copies_of_parts_are_parts_of_a_copy(way: Any) -> None:
    _, arm = arm_in_a_world()
    body = way(arm.bodies[2])
    assert body.skeleton is not arm and body.skeleton.bodies[2] is body and body.skeleton.num_bodies == arm.num_bodies
    np.testing.assert_array_equal(body.world_transform, arm.bodies[2].world_transform)
    marker = way(arm.node("marker"))
    assert marker.body.skeleton.node("marker") is marker and marker.body.skeleton is not arm


def test_a_copy_of_a_joint_is_in_use_nowhere() -> None:
    _, arm = arm_in_a_world()
    joint = arm.joint("elbow")
    twin = copy.copy(joint)
    twin.damping = 5.0
    assert joint.damping[0] != 5.0 and twin.dofs[0].joint is twin
    other = kido.Skeleton()
    other.add_body("body", twin, inertia=kido.Inertia(1.0))
    assert twin.child is other.bodies[0] and joint.child.skeleton is arm


def test_copies_of_snapshots_are_themselves() -> None:
    w, _ = arm_in_a_world()
    snapshot = w.snapshot()
    assert copy.copy(snapshot) is snapshot is copy.deepcopy(snapshot)
    twin = pickle.loads(pickle.dumps(snapshot))
    np.testing.assert_array_equal(twin.positions, snapshot.positions)
