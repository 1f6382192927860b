"""Constraints on skeletons with soft bodies: the same joint in a tree is the truth."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from linkages import at


def hung(joint: kido.Joint, time_step: float, ground: float | None) -> tuple[kido.World, kido.SoftBodyNode]:
    world = kido.World(time_step=time_step)
    if ground is not None:
        world.add_ground(height=ground)
    skeleton = kido.Skeleton("soft")
    body = skeleton.add_soft_body(
        "body", kido.SoftMesh.box((0.2, 0.2, 0.2)), joint, inertia=kido.Inertia.from_diagonal(1.0, (0.02, 0.03, 0.04)),
        total_mass=0.5, kv=300.0, ke=100.0, kd=1.0,
    )  # fmt: skip
    world.add_skeleton(skeleton)
    return world, body


@pytest.mark.parametrize("ground", [None, -0.56])
def test_a_soft_body_on_a_constraint_swings_as_on_a_joint(ground):
    """Without contact to rounding; soft contacts of a pendulum that scrapes over the ground, to their tolerance."""
    arm = at(-0.5, 0.0, 0.0)
    tree, body = hung(kido.RevoluteJoint(axis=(0, 1, 0), transform_from_child=arm), 1e-3, ground)
    world, loop_body = hung(kido.FreeJoint(transform_from_child=arm), 1e-3, ground)
    hinge = world.add_constraint(kido.RevoluteJointConstraint(None, loop_body, at=(0, 0, 0), axis=(0, 1, 0)))
    touched = 0
    for _ in range(10):
        tree.step(60)
        world.step(60)
        touched += len(world.contacts)
        close = 1e-11 if ground is None else 1e-7
        assert loop_body.world_transform == pytest.approx(body.world_transform, abs=close)
        assert loop_body.displacements == pytest.approx(body.displacements, abs=close)
    assert (touched > 0) == (ground is not None)
    report = world.constraint_report
    assert report.worst_closure < 1e-10 and report.worst_velocity_error < 1e-9
    assert np.linalg.norm(hinge.wrench()[3:]) > 1.0
    kept = world.snapshot()
    world.step(20)
    end = loop_body.displacements.copy()
    world.restore(kept)
    world.step(20)
    assert (loop_body.displacements == end).all()
