"""What is added to a model, changed or removed while it is shown."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from trees import at
from viewer_models import arm, box, boxes

pytest.importorskip("viser", reason="the extra 'viewer' is not installed")

from kido.viewer import Viewer
from kido.viewer.scene import SceneView
from kido.viewer.server import start_server, stop_server


@pytest.fixture
def server():
    server = start_server(0)
    yield server
    stop_server(server)


def places(view: SceneView) -> dict[tuple[str, str], np.ndarray]:
    """Where the page has each visual shape, by body and kind of geometry."""
    found = {}
    for batch in view.visual.batches:
        for k, body in enumerate(batch.bodies):
            found[view.bodies[body].name, batch.key[0]] = np.array(batch.handle.batched_positions[k])
    return found


def colors(view: SceneView) -> dict[str, tuple[int, ...]]:
    """Colour of the last shape of each body."""
    return {
        view.bodies[body].name: tuple(batch.handle.batched_colors[k].tolist())
        for batch in view.visual.batches
        for k, body in enumerate(batch.bodies)
    }


def test_shapes_that_are_added_moved_and_removed(server):
    skeleton = arm()
    view = SceneView(server, skeleton)
    hand = skeleton.body("hand")
    tip = hand.add_shape(kido.Sphere(0.05), at(z=0.4), color=(1, 0, 0))
    assert view.follow()
    view.update()
    # single precision on the wire: 1e-6 of a metre
    np.testing.assert_allclose(places(view)["hand", "sphere"], tip.world_transform[:3, 3], atol=1e-6)
    assert colors(view)["hand"] == (255, 0, 0)
    tip.relative_transform = at(x=0.2, z=0.4)
    view.follow()
    view.update()
    np.testing.assert_allclose(places(view)["hand", "sphere"], tip.world_transform[:3, 3], atol=1e-6)
    hand.remove_shape(tip)
    view.follow()
    assert ("hand", "sphere") not in places(view)


def test_bodies_and_skeletons_that_come_and_go(server):
    world = boxes(2)
    view = SceneView(server, world)
    new = world.add_skeleton(box("new", (0.1, 0.2, 0.3), (0.0, 1.0, 0.5)))
    assert view.follow()
    view.update()
    assert [b.skeleton.name for b in view.bodies] == ["ground", "box0", "box1", "new"]
    batch = view.visual.batches[0]
    assert len(view.visual.batches) == 1
    np.testing.assert_allclose(batch.handle.batched_positions[2], [0.0, 1.0, 0.5], atol=1e-6)
    child = new.add_body("child", kido.RevoluteJoint("hinge"), new.body(0), kido.Inertia(1.0, moment=np.eye(3)))
    child.add_shape(kido.Cylinder(0.1, 0.2))
    view.follow()
    view.update()
    assert ("child", "cylinder") in places(view)
    world.remove_skeleton("box0")
    view.follow()
    view.update()
    assert sum(len(b.bodies) for b in view.visual.batches) == 3
    world.step(5)
    view.update()
    np.testing.assert_allclose(places(view)["child", "cylinder"], child.shape(0).world_transform[:3, 3], atol=1e-6)


def test_a_colour_changes_nothing_but_the_colour(server):
    skeleton = arm()
    view = SceneView(server, skeleton)
    before = {batch.name: batch.handle for batch in view.visual.batches}
    skeleton.body("link").shape(0).color = (0, 1, 0)
    assert not view.follow()
    assert {batch.name: batch.handle for batch in view.visual.batches} == before  # no geometry is sent again
    assert colors(view)["link"] == (0, 255, 0)
    skeleton.body("link").shape(0).color = (0, 1, 0, 0.5)  # what is translucent is a mesh of its own
    view.follow()
    opacity = {view.bodies[b].name: batch.handle.opacity for batch in view.visual.batches for b in batch.bodies}
    assert opacity == {"base": None, "link": 0.5, "hand": 0.5}


def test_shapes_that_are_no_longer_drawn(server):
    skeleton = arm()
    view = SceneView(server, skeleton, show=("model", "collision"))
    node = skeleton.body("base").shape(0)
    node.visual = False
    view.follow()
    assert ("base", "cylinder") not in places(view)
    node.visual = True
    view.follow()
    assert ("base", "cylinder") in places(view)
    count = sum(len(b.bodies) for b in view.collision.batches)
    node.collision = False
    view.follow()
    assert sum(len(b.bodies) for b in view.collision.batches) == count - 1


def test_nothing_is_done_where_nothing_changed(server, monkeypatch):
    world = boxes(3)
    view = SceneView(server, world)
    world.step(10)
    monkeypatch.setattr(view.visual, "draw", lambda instances: pytest.fail("drawn anew"))
    assert not view.follow()
    world.skeletons[1].bodies[0].mass  # noqa: B018
    world.skeletons[1].positions = [0, 0, 0, 0, 0, 1.0]
    assert not view.follow()


def test_saved_properties_bring_their_colours_back(server):
    skeleton = arm()
    before = skeleton.properties
    view = SceneView(server, skeleton)
    skeleton.body("link").shape(0).color = (0, 1, 0)
    view.follow()
    skeleton.properties = before
    view.follow()
    assert colors(view)["link"] == (51, 102, 230)


def test_frames_ground_and_sizes_follow(server):
    world = kido.World("w")
    view = SceneView(server, world, show=("model", "ground", "frames"))
    assert len(view.grounds) == 1
    assert view.visual.batches == []
    world.add_skeleton(box("tall", (1.0, 1.0, 20.0), (0.0, 0.0, 10.0)))
    world.add_ground(height=-3.0)
    view.follow()
    view.update()
    assert view.grounds[0].position[2] == pytest.approx(-3.0, abs=0.01)
    assert view.extent > 10.0
    assert len(view._frames.batched_positions) == 2
    assert view.home().position[2] > 5.0


def test_a_soft_body_that_is_added_is_drawn(server):
    world = boxes(1)
    view = SceneView(server, world)
    skeleton = kido.Skeleton("soft")
    mesh = kido.shapes.SoftMesh.box((0.2, 0.2, 0.2))
    skeleton.add_soft_body("jelly", mesh, kido.FreeJoint("root"), total_mass=1.0)
    world.add_skeleton(skeleton)
    view.follow()
    view.update()
    assert view.skins.points == len(mesh.vertices)
    assert len(view.skins._skins) == 1


# The viewer's own lists --------------------------------------------------------------------------------------


def test_lists_and_sliders_follow_the_bodies():
    world = boxes(1)
    with Viewer(world, 0, paused=True) as viewer:
        skeleton = world.add_skeleton(arm())
        viewer.spin()
        assert viewer._push_panel.body.options == ("box0/body", "arm/base", "arm/link", "arm/hand")
        assert viewer._camera_panel._follow.options == (
            "free", "ground/ground", "box0/body", "arm/base", "arm/link", "arm/hand",
        )  # fmt: skip
        assert [panel.skeleton.name for panel in viewer.joint_panels] == ["box0", "arm"]
        viewer.select(skeleton.body("hand"))
        assert viewer._push_panel.body.value == "arm/hand"
        world.remove_skeleton(skeleton)
        viewer.spin()
        assert viewer._push_panel.body.options == ("box0/body",)
        assert viewer.selected is None
        assert [panel.skeleton.name for panel in viewer.joint_panels] == ["box0"]


def test_sliders_follow_limits_and_joints():
    skeleton = arm()
    with Viewer(skeleton, 0) as viewer:
        panel = viewer.joint_panels[0]
        viewer.spin()
        assert viewer.joint_panels[0] is panel
        skeleton.body("link").mass  # noqa: B018
        skeleton.dof("yaw").position_upper_limit = 0.5
        viewer.spin()
        slider = viewer.joint_panels[0].sliders["yaw [rad]"]
        assert (slider.min, slider.max) == (-2.0, 0.5)
        tool = skeleton.add_body("tool", kido.PrismaticJoint("slide"), "hand", kido.Inertia(0.1))
        viewer.spin()
        assert "slide [m]" in viewer.joint_panels[0].sliders
        assert tool.name in viewer.labels


def test_what_hangs_on_a_body_goes_with_it():
    world = boxes(2)
    with Viewer(world, 0, paused=True) as viewer:
        body = world.skeleton("box1").body(0)
        marker = body.create_node(kido.Marker, "tip")
        frame = viewer.add_frame(frame=body)
        ball = viewer.add_shape(kido.Sphere(0.1), frame=marker)
        drag = viewer.enable_drag(body)
        loose = kido.SimpleFrame(body, "loose")
        on_loose = viewer.add_label("here", frame=loose)
        stays = viewer.add_frame(frame=world.skeleton("box0").body(0))
        viewer.add_camera(body, name="eye")
        viewer.follow(body)
        viewer.push(body, (1.0, 0.0, 0.0), 10.0)
        world.remove_skeleton("box1")
        viewer.spin()
        assert frame.removed
        assert ball.removed
        assert drag.removed
        assert on_loose.removed
        assert list(viewer.drawables.values()) == [stays]
        assert viewer.cameras == {}
        assert viewer.follower.body is None
        assert viewer.pusher.pushes == []


def test_reset_goes_back_to_when_bodies_last_changed():
    world = boxes(1)
    with Viewer(world, 0) as viewer:
        viewer.step(10)
        world.add_skeleton(box("late", (0.1, 0.1, 0.1), (0.0, 1.0, 2.0)))
        viewer.update()
        viewer.step(100)
        assert world.skeleton("late").com[2] < 2.0
        viewer.reset()
        assert world.num_steps == 10
        np.testing.assert_array_equal(world.skeleton("late").com, [0.0, 1.0, 2.0])


def test_the_first_camera_sees_a_model_that_comes_later():
    world = kido.World("w")
    world.add_ground()
    with Viewer(world, 0, paused=True) as viewer:
        world.add_skeleton(box("far", (1.0, 1.0, 1.0), (100.0, 0.0, 0.5)))
        viewer.spin()
        np.testing.assert_allclose(viewer.camera.target, [100.0, 0.0, 0.5], atol=1.0)
