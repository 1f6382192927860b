"""Frames and bodies that people drag, by gizmos and by where they are grabbed."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

import kido
from kido.rendering.rotations import wxyz_from_matrix
from kido.viewer import Viewer, ViewerError
from trees import at
from viewer_models import arm, boxes

pytest.importorskip("viser", reason="the extra 'viewer' is not installed")


def drag(viewer: Viewer, gizmo, pose, phase: str = "update") -> None:
    """What the page sends while a person drags a gizmo, and a frame of the viewer."""
    moved = SimpleNamespace(position=pose[:3, 3], wxyz=wxyz_from_matrix(pose[None, :3, :3])[0])
    for callback in gizmo.handle._impl_aux.update_cb:
        asyncio.run(callback(SimpleNamespace(target=moved, phase=phase, client=object(), client_id=0)))
    viewer.spin()


def test_a_frame_goes_where_it_is_dragged_and_takes_its_shapes_along():
    base = kido.SimpleFrame(name="base", transform=at(x=1.0))
    goal = kido.SimpleFrame(base, "goal", at(z=0.5))
    told = []
    with Viewer(arm(), 0) as viewer:
        ball = viewer.add_shape(kido.Sphere(0.05), frame=goal, color=(1, 0, 0))
        gizmo = viewer.enable_drag(goal, on_move=told.append).gizmo
        np.testing.assert_allclose(gizmo.handle.position, [1.0, 0.0, 0.5])
        pose = at(x=0.3, y=0.2, z=0.1)
        pose[:3, :3] = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
        drag(viewer, gizmo, pose)
        np.testing.assert_allclose(goal.world_transform, pose, atol=1e-15)
        np.testing.assert_allclose(ball.handle.position, pose[:3, 3], atol=1e-15)
        assert told == [goal]
        # In somebody's hand it stays there; let go, it is where the frame is.
        seen = gizmo.handle.position
        base.relative_transform = at(y=2.0)
        viewer.spin()
        assert gizmo.handle.position is seen
        drag(viewer, gizmo, pose, "end")
        base.relative_transform = at(x=1.0)
        viewer.spin()
        np.testing.assert_allclose(gizmo.handle.position, goal.world_transform[:3, 3], atol=1e-15)


def test_joints_let_a_body_come_where_it_is_dragged():
    skeleton = arm()
    skeleton.positions = [0.3, 0.6, 0.1, -0.2, 0.05]
    hand = skeleton.body("hand")
    wanted = skeleton.clone()
    wanted.positions = [-0.4, 0.9, 0.3, 0.1, -0.2]
    pose = wanted.body("hand").world_transform
    with Viewer(skeleton, 0) as viewer:
        handle = viewer.enable_drag(hand)
        drag(viewer, handle.gizmo, pose)
        np.testing.assert_allclose(hand.world_transform, pose, atol=3e-6)  # regions are 1e-6 wide
        far = pose.copy()
        far[:3, 3] = [5.0, 0.0, 0.9]
        drag(viewer, handle.gizmo, far)  # beyond its reach: it points there, and nothing is raised
        assert hand.world_transform[0, 3] > 0.6
        handle.remove()
        handle.remove()
        viewer.spin()
        assert viewer.drags == []


def test_a_node_on_a_body_is_dragged():
    skeleton = arm()
    skeleton.positions = [0.3, 0.6, 0.1, -0.2, 0.05]
    tip = skeleton.body("hand").create_node(kido.EndEffector, "tip", at(z=0.2))
    wanted = skeleton.clone()
    wanted.positions = [-0.4, 0.9, 0.3, 0.1, -0.2]
    pose = wanted.body("hand").world_transform @ at(z=0.2)
    with Viewer(skeleton, 0) as viewer:
        drag(viewer, viewer.enable_drag(tip).gizmo, pose)
        np.testing.assert_allclose(tip.world_transform, pose, atol=3e-6)


def test_a_world_that_runs_is_paused_while_a_body_is_dragged_but_not_for_a_frame():
    world = boxes(1)
    body = world.skeleton("box0").body(0)
    goal = kido.SimpleFrame(name="goal")
    with Viewer(world, 0) as viewer:
        drag(viewer, viewer.enable_drag(goal).gizmo, at(x=1.0))
        assert not viewer.paused
        drag(viewer, viewer.enable_drag(body).gizmo, at(z=2.0))
        assert viewer.paused
        np.testing.assert_allclose(body.world_transform, at(z=2.0), atol=1e-5)
        np.testing.assert_array_equal(world.skeleton("box0").velocities, np.zeros(6))


def test_what_cannot_be_dragged_is_refused():
    skeleton = arm()
    base = skeleton.add_body("plate", kido.WeldJoint("weld"))
    with Viewer(skeleton, 0) as viewer:
        with pytest.raises(ViewerError, match="'plate' cannot be dragged: no joint moves it"):
            viewer.enable_drag(base)
        with pytest.raises(ViewerError, match=r"cannot be dragged; expected a kido\.SimpleFrame"):
            viewer.enable_drag(kido.FixedFrame(skeleton.body("hand"), at(z=0.1), "fixed"))
        with pytest.raises(ViewerError, match="Expected a kido frame or body, got 'hand'"):
            viewer.enable_drag("hand")
        with pytest.raises(kido.NameLookupError, match="no body in the viewer 'hand'"):
            viewer.enable_drag(arm().body("hand"))
        with pytest.raises(kido.StateError, match="Size of a gizmo is -1"):
            viewer.enable_drag(skeleton.body("hand"), size=-1)
        assert viewer.drags == []


def test_shift_and_drag_moves_a_point_of_a_skeleton():
    skeleton = arm()
    skeleton.positions = [0.3, 0.6, 0.1, -0.2, 0.05]
    link = skeleton.body("link")
    grabbed = link.world_transform @ [0.0, 0.05, 0.5, 1.0]
    turned = skeleton.clone()
    turned.positions = [-0.2, 0.9, 0.1, -0.2, 0.05]
    target = (turned.body("link").world_transform @ [0.0, 0.05, 0.5, 1.0])[:3]
    with Viewer(skeleton, 0) as viewer:
        viewer._pull.drag(7, link, "start", grabbed[:3], grabbed[:3])
        viewer._pull.drag(7, link, "update", grabbed[:3], target)
        viewer._pull.drag(7, link, "end", grabbed[:3], target)
        np.testing.assert_allclose((link.world_transform @ [0.0, 0.05, 0.5, 1.0])[:3], target, atol=3e-6)
        np.testing.assert_array_equal(skeleton.positions[2:], [0.1, -0.2, 0.05])  # what is beyond the link stays
        viewer._pull.drag(7, link, "update", grabbed[:3], grabbed[:3])  # after the end: nothing
        np.testing.assert_allclose((link.world_transform @ [0.0, 0.05, 0.5, 1.0])[:3], target, atol=3e-6)


def test_shift_and_drag_in_a_paused_world_moves_bodies_without_time():
    world = boxes(1)
    body = world.skeleton("box0").body(0)
    with Viewer(world, 0, paused=True) as viewer:
        start = body.world_transform[:3, 3]
        viewer._pull.drag(7, body, "start", start, start)
        viewer._pull.drag(7, body, "update", start, np.array([0.1, 0.2, 0.7]))
        viewer._pull.drag(7, body, "end", start, np.array([0.1, 0.2, 0.7]))
        np.testing.assert_allclose(body.world_transform[:3, 3], [0.1, 0.2, 0.7], atol=3e-6)
        assert world.time == 0.0
        assert viewer.pusher.pushes == []
