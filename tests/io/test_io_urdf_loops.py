"""Loops of URDF files, by Gazebo's extension: the four-bar with a crank's closed form."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from linkages import CLOSING, at, parallelogram


@pytest.mark.parametrize(
    "pose",
    ["<pose>0 0.3 0 0 0 0</pose>", '<pose relative_to="coupler">1 0 0 0 0 0</pose>',
     '<pose relative_to="j3">0 0.3 0 0 0 0</pose>', '<pose relative_to="__model__">1 0.3 0 0 0 0</pose>'],
)  # fmt: skip
def test_a_joint_in_a_gazebo_element_closes_a_loop(pose):
    skeleton = kido.load(parallelogram(CLOSING.replace("<pose>0 0.3 0 0 0 0</pose>", pose)))
    (loop,) = skeleton.loops
    assert (loop.name, loop.parent, loop.child) == ("pin", "coupler", "two")
    assert loop.joint.transform_from_parent[:3, 3] == pytest.approx([1, 0, 0])
    assert loop.joint.transform_from_child[:3, 3] == pytest.approx([0, 0.3, 0])
    world = kido.World(gravity=(0, 0, 0))
    world.add_skeleton(skeleton)
    pin, axis = world.constraints
    assert isinstance(pin, kido.RevoluteJointConstraint) and isinstance(axis, kido.AngleConstraint)
    assert (axis.lower_limit, axis.damping) == (-1.5, 0.2)
    skeleton.velocities = [1.0, -1.0, 1.0]
    world.step(300)
    q = skeleton.positions
    assert q[[1, 2]] == pytest.approx([-q[0], q[0]], abs=1e-9)
    assert 0.05 < q[0] < 0.3  # the damper slows it
    assert world.constraint_report.worst_closure < 1e-10
    assert axis.position == pytest.approx(q[0], abs=1e-9)


@pytest.mark.parametrize(
    ("loop", "text"),
    [
        (CLOSING.replace("<child>two", "<child>three"), "'three', which is none of the links"),
        (CLOSING.replace('"pin"', '"j1"'), "duplicate joint name 'j1'"),
        (CLOSING.replace("<pose>", '<pose relative_to="nothing">'), "'nothing' is no link or joint"),
        (CLOSING.replace("revolute", "rubber"), "rubber"),
    ],
)
def test_what_cannot_be_read_is_left_out_with_a_remark(loop, text):
    skeleton = kido.load(parallelogram(loop))
    assert list(skeleton.loops) == []
    assert any(text in warning for warning in skeleton.warnings)


def test_a_loop_to_the_world():
    text = CLOSING.replace("<parent>coupler", "<parent>world").replace("revolute", "ball")
    skeleton = kido.load(parallelogram(text), transform=at(5, 0, 0))
    (loop,) = skeleton.loops
    assert loop.parent is None
    assert loop.joint.transform_from_parent[:3, 3] == pytest.approx([6, 0.3, 0])
    world = kido.World()
    world.add_skeleton(skeleton)
    world.step(20)
    assert np.abs(skeleton.positions[2]) < 1e-9  # held by the ball
