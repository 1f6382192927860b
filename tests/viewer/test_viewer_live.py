"""The live viewer without a browser: port, callbacks, controls, pushes, drawables, cameras."""

from __future__ import annotations

import itertools
import json
import math
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import nullcontext, suppress
from types import SimpleNamespace

import numpy as np
import pytest

import kido
from kido.rendering.rotations import matrix_from_wxyz
from kido.viewer import CameraPose, Viewer, ViewerError
from kido.viewer.camera import Follower
from programs import PATIENCE, wait_until
from viewer_models import arm, box, boxes

pytest.importorskip("viser", reason="the extra 'viewer' is not installed")


@pytest.fixture
def world_viewer():
    with Viewer(boxes(2), 0) as viewer:
        yield viewer


@pytest.fixture
def arm_viewer():
    with Viewer(arm(), 0) as viewer:
        yield viewer


class Event:
    """What the page sends when a person moves a control."""

    client = object()
    client_id = 0


def press(handle: object, value: object = None) -> None:
    if value is not None:
        handle._impl.value = value  # type: ignore[attr-defined]
    for callback in handle._impl.update_cb:  # type: ignore[attr-defined]
        callback(Event())


def trigger(viewer: Viewer, label: str) -> None:
    for handle in viewer.server.gui._command_handle_from_uuid.values():
        if handle.label == label:
            handle._impl.trigger_cb[0](Event())
            return
    raise AssertionError(f"no command {label!r}")


# The page --------------------------------------------------------------------------------------------------


def test_listens_on_this_machine_only_and_serves_the_page(arm_viewer):
    sockets = [c for c in _listening() if c.endswith(f":{arm_viewer.port}")]
    assert sockets == [f"127.0.0.1:{arm_viewer.port}"]
    assert arm_viewer.url == f"http://127.0.0.1:{arm_viewer.port}"
    with urllib.request.urlopen(arm_viewer.url, timeout=PATIENCE) as answer:
        assert b"<html" in answer.read(2000).lower()


def _listening() -> list[str]:
    """Addresses that this process listens on."""
    ours, found = set(), []
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list open files in /proc")
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # what listed them is closed already
            ours.add(os.stat(f"/proc/self/fd/{number}").st_ino)
    for file in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = open(file).read().splitlines()[1:]  # noqa: SIM115
        except OSError:
            pytest.skip("this system does not list its sockets in /proc/net")
        for line in lines:
            parts = line.split()
            if parts[3] == "0A" and int(parts[9]) in ours:
                host, port = parts[1].split(":")
                raw = bytes.fromhex(host)
                name = socket.inet_ntoa(raw[::-1]) if len(raw) == 4 else f"[{host}]"
                found.append(f"{name}:{int(port, 16)}")
    return found


def test_a_notebook_shows_the_page(arm_viewer):
    html = arm_viewer._repr_html_()
    assert html.startswith(f'<iframe src="{arm_viewer.url}"')
    assert 'title="KIDO · arm"' in html
    assert "height:333px" in arm_viewer.iframe(height=333)
    assert "IPython" not in sys.modules


def test_close_frees_the_port():
    viewer = Viewer(arm(), 0)
    port = viewer.port
    viewer.close()
    viewer.close()
    assert viewer.closed
    assert not any(address.endswith(f":{port}") for address in _listening())
    with Viewer(arm(), port) as again:
        assert again.port == port
    with pytest.raises(ViewerError, match="closed"):
        viewer.spin()


def test_a_busy_port_is_refused_and_named():
    with (
        Viewer(arm(), 0) as first,
        pytest.raises(ViewerError, match=rf"Port {first.port} on 127\.0\.0\.1 is in use"),
    ):
        Viewer(arm(), first.port)


@pytest.mark.parametrize("port", [-1, 70000, "8080", 1.5, True])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(ViewerError, match="whole number from 0 to 65535"):
        Viewer(arm(), port)


def test_without_viser_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(kido.MissingExtraError, match=r"pip install .kido\[viewer\]"):
        Viewer(arm(), 0)


def test_the_package_is_imported_without_viser():
    code = "import sys, kido.viewer; assert not {'viser', 'websockets', 'imageio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


def test_nothing_is_printed(capfd):
    Viewer(arm(), 0).close()
    out = capfd.readouterr()
    assert out.out == ""
    assert out.err == ""


def test_what_is_no_model_opens_no_port():
    before = set(_listening())
    with pytest.raises(kido.KidoError, match="not 'int'"):
        Viewer(3, 0)
    assert set(_listening()) == before


# Simulation ------------------------------------------------------------------------------------------------


def test_run_keeps_real_time_and_stops_at_the_step(world_viewer):
    began = time.perf_counter()
    assert world_viewer.run(0.2)
    assert world_viewer.model.time == pytest.approx(0.2, abs=1e-9)
    assert time.perf_counter() - began > 0.15


def test_as_fast_as_possible_does_not_wait(world_viewer):
    world_viewer.set_speed(math.inf)
    world_viewer.run(0.1)  # compiles, on a machine where that was not done
    began = time.perf_counter()
    world_viewer.run(20.0)
    assert world_viewer.model.time == pytest.approx(20.1, abs=1e-9)
    assert time.perf_counter() - began < 20.0


def test_ctrl_c_ends_run_and_nothing_else(world_viewer):
    def interrupt(_: Viewer) -> None:
        raise KeyboardInterrupt

    remove = world_viewer.add_frame_callback(interrupt)
    assert world_viewer.run(1.0) is False
    remove()
    assert world_viewer.run(0.01) is True


def test_pause_step_reset_by_keys_and_buttons(world_viewer):
    world = world_viewer.model
    start = np.concatenate([s.positions for s in world.skeletons])
    trigger(world_viewer, "Run or pause")
    assert not world_viewer.paused  # nothing happens in the page's thread
    world_viewer.spin()
    assert world_viewer.paused
    assert world.time == 0.0
    trigger(world_viewer, "One step")
    world_viewer.spin()
    assert world.num_steps == 1
    press(world_viewer._simulation._step, "100")
    world_viewer.spin()
    assert world.num_steps == 101
    trigger(world_viewer, "Reset the simulation")
    world_viewer.spin()
    assert world.time == 0.0
    np.testing.assert_array_equal(np.concatenate([s.positions for s in world.skeletons]), start)
    press(world_viewer._simulation.speed, "1/4")
    press(world_viewer._simulation._toggle)
    world_viewer.spin()
    assert world_viewer._pacer.speed == 0.25
    assert not world_viewer.paused


def test_frame_and_step_callbacks(world_viewer):
    frames, steps = [], []
    remove_frame = world_viewer.add_frame_callback(lambda viewer: frames.append(viewer.model.num_steps))
    remove_step = world_viewer.add_step_callback(lambda world: steps.append(world.num_steps))
    world_viewer.run(0.05)
    assert steps == list(range(1, 51))
    assert frames[-1] == 50
    assert len(frames) < 50
    remove_frame()
    remove_step()
    count = len(frames), len(steps)
    world_viewer.run(0.02)
    assert (len(frames), len(steps)) == count


def test_a_controller_in_a_step_callback_sees_no_gap_between_frames():
    # A force set in a step callback acts on the next step, also where a frame lies between the two.
    world = boxes(1)
    body = world.skeletons[1].bodies[0]
    seen = []

    def control(w: kido.World) -> None:
        seen.append(world.skeletons[1].forces[5])
        world.skeletons[1].forces = [0, 0, 0, 0, 0, 1.0]

    with Viewer(world, 0) as viewer:
        viewer.add_step_callback(control)
        viewer.run(0.1)
    assert seen[0] == 0.0
    assert seen[1:] == [1.0] * 99
    assert body.skeleton is world.skeletons[1]


def test_start_runs_in_a_thread_and_close_ends_it():
    viewer = Viewer(boxes(1), 0)
    viewer.start()
    wait_until(lambda: viewer.model.time > 0, "the world moves")
    viewer.close()
    assert not any(t.name == "kido-viewer" and t.is_alive() for t in threading.enumerate())


def test_an_error_in_the_thread_is_told_in_the_page_which_lives_on(capsys):
    failing = True

    def control(world):
        if failing:
            raise ValueError("no gains")

    with Viewer(boxes(1), 0) as viewer:
        viewer.model.add_step_callback(control)
        viewer.start()
        wait_until(lambda: viewer.paused, "the error pauses the world")
        assert texts_of(viewer) == [("ValueError: no gains", "bottom")]
        assert "no gains" in capsys.readouterr().err
        failing = False
        viewer.post(viewer.resume)
        wait_until(lambda: viewer.model.time > 0.05, "the world moves")
        assert texts_of(viewer) == []


def test_a_skeleton_has_no_simulation(arm_viewer):
    for call in (arm_viewer.pause, arm_viewer.step, arm_viewer.reset, lambda: arm_viewer.set_speed(1.0)):
        with pytest.raises(ViewerError, match="needs a World; this viewer shows the skeleton 'arm'"):
            call()


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_bad_speeds_are_refused(world_viewer, speed):
    with pytest.raises(kido.StateError, match="speed"):
        world_viewer.set_speed(speed)


# Pushes ----------------------------------------------------------------------------------------------------


def test_a_push_changes_momentum_by_force_times_time():
    # On a plane without gravity nothing else acts: F t = 2 N x 0.05 s, to rounding.
    world = boxes(1, gravity=(0.0, 0.0, 0.0))
    world.skeletons[1].positions = [0, 0, 0, 0, 0, 5.0]
    with Viewer(world, 0) as viewer:
        body = world.skeletons[1].bodies[0]
        viewer.push(body, (2.0, 0.0, 0.0), 0.05)
        viewer.run(0.2)
        momentum = world.skeletons[1].mass * body.linear_velocity(body.inertia.com)
        np.testing.assert_allclose(momentum, [0.1, 0, 0], atol=1e-9)
        assert viewer.pusher.pushes == []
        assert not np.any(body.external_wrench)


def test_a_push_leaves_other_forces_as_they_are():
    world = boxes(1, gravity=(0.0, 0.0, 0.0))
    world.skeletons[1].positions = [0, 0, 0, 0, 0, 5.0]
    with Viewer(world, 0) as viewer:
        body = world.skeletons[1].bodies[0]
        body.add_external_force((0.0, 1.0, 0.0))
        viewer.push(body, (2.0, 0.0, 0.0), 0.05)
        viewer.run(0.1)
        momentum = world.skeletons[1].mass * body.linear_velocity(body.inertia.com)
        np.testing.assert_allclose(momentum, [0.1, 0.1, 0], atol=1e-9)


def test_the_panel_pushes_the_chosen_body(world_viewer):
    panel, world = world_viewer._push_panel, world_viewer.model
    body = world.skeletons[2].bodies[0]
    world_viewer.select(body)
    assert panel.body.value == "box1/body"
    panel.direction.value, panel.force.value = "up", 50.0
    panel.push()
    world_viewer.run(0.1)
    assert world.skeletons[2].com[2] > 0.1
    assert world.skeletons[1].com[2] == pytest.approx(0.05, abs=1e-4)


def test_a_drag_pulls_the_body_to_the_mouse_until_it_is_released():
    world = boxes(1)
    with Viewer(world, 0) as viewer:
        body = world.skeletons[1].bodies[0]
        grab = np.array([0.0, 0.0, 0.1])  # the middle of the top
        target = np.array([0.0, 0.0, 0.6])
        viewer._pull.drag(7, body, "start", grab, grab)
        viewer._pull.drag(7, body, "update", grab, target)
        viewer.set_speed(math.inf)
        viewer.run(2.0)
        # It hangs still from the spring: sag = weight / stiffness = an eighth of its size.
        assert world.skeletons[1].com[2] == pytest.approx(0.55 - viewer.view.body_size / 8, abs=2e-3)
        assert np.linalg.norm(world.skeletons[1].velocities) < 1e-2
        viewer._pull.drag(7, body, "end", grab, target)
        assert viewer.pusher.pushes == []
        viewer.run(1.0)
        assert world.skeletons[1].com[2] < 0.1


@pytest.mark.parametrize(
    ("force", "duration", "message"),
    [
        ((1.0, 2.0), 0.1, "expected three finite numbers"),
        ((1.0, 2.0, float("nan")), 0.1, "expected three finite numbers"),
        ((1.0, 0.0, 0.0), 0.0, "above 0"),
        ((1.0, 0.0, 0.0), float("nan"), "above 0"),
    ],
)
def test_bad_pushes_are_refused(world_viewer, force, duration, message):
    with pytest.raises(kido.StateError, match=message):
        world_viewer.push(world_viewer.view.bodies[1], force, duration)
    assert world_viewer.pusher.pushes == []


def test_a_strangers_body_cannot_be_pushed(world_viewer):
    with pytest.raises(kido.NameLookupError, match=r"body in the viewer .hand.*box0/body"):
        world_viewer.push(arm().bodies[2], (0, 0, 1), 0.1)


# Controls --------------------------------------------------------------------------------------------------


def test_joint_sliders_have_the_limits_and_move_the_joints(arm_viewer):
    panel, skeleton = arm_viewer.joint_panels[0], arm_viewer.model
    yaw = panel.sliders["yaw [rad]"]
    assert (yaw.min, yaw.max) == (-2.0, 2.0)
    assert panel.sliders["pitch [rad]"].max == pytest.approx(np.pi)
    press(yaw, 1.25)
    assert skeleton.positions[0] == 0.0  # not in the page's thread
    arm_viewer.spin()
    assert skeleton.positions[0] == 1.25
    press(panel._reset_button, True)
    arm_viewer.spin()
    np.testing.assert_array_equal(skeleton.positions, np.zeros(5))
    assert yaw.value == 0.0


def test_ball_joint_sliders_are_roll_pitch_yaw(arm_viewer):
    panel, skeleton = arm_viewer.joint_panels[0], arm_viewer.model
    r, p, y = 0.5, 0.35, -0.9
    for name, value in (("roll", r), ("pitch", p), ("yaw", y)):
        press(panel.sliders[f"wrist {name} [rad]"], value)
    arm_viewer.spin()
    Rx = np.array([[1, 0, 0], [0, np.cos(r), -np.sin(r)], [0, np.sin(r), np.cos(r)]])
    Ry = np.array([[np.cos(p), 0, np.sin(p)], [0, 1, 0], [-np.sin(p), 0, np.cos(p)]])
    Rz = np.array([[np.cos(y), -np.sin(y), 0], [np.sin(y), np.cos(y), 0], [0, 0, 1]])
    np.testing.assert_allclose(skeleton.body("hand").world_transform[:3, :3], Rz @ Ry @ Rx, atol=1e-12)
    panel.refresh()
    assert panel.sliders["wrist yaw [rad]"].value == pytest.approx(-0.9)


def test_moving_a_slider_pauses_the_simulation(world_viewer):
    press(world_viewer.joint_panels[0].sliders["root_z [m]"], 0.5)
    world_viewer.spin()
    assert world_viewer.paused
    assert world_viewer.model.skeletons[1].positions[5] == 0.5


def test_check_boxes_show_and_hide(world_viewer):
    for layer, check in world_viewer._show_panel.boxes.items():
        before = world_viewer.view.visible(layer)
        press(check, not before)
        world_viewer.spin()
        assert world_viewer.view.visible(layer) is not before


def test_buttons_sliders_keys_and_boxes_call_in_the_models_thread(arm_viewer):
    seen = []
    arm_viewer.add_key("K", lambda: seen.append("K"), "My key")
    arm_viewer.add_key("arrowup", lambda: seen.append("shift up"), "Shifted", modifier="shift")
    button = arm_viewer.add_button("Go", lambda: seen.append("Go"))
    slider = arm_viewer.add_slider("Gain", 0.0, 2.0, lambda v: seen.append(v), value=1.0)
    check = arm_viewer.add_checkbox("On", lambda v: seen.append(v))
    trigger(arm_viewer, "My key")
    trigger(arm_viewer, "Shifted")
    press(button, True)
    press(slider, 1.5)
    press(check, True)
    assert seen == []
    arm_viewer.spin()
    assert seen == ["K", "shift up", "Go", 1.5, True]
    for handle in (button, slider, check):
        handle.remove()


@pytest.mark.parametrize(
    ("key", "hotkey"),
    [
        ("b", "B"),
        ("B", "B"),
        ("7", "7"),
        ("?", "?"),
        ("+", "[plus]"),
        ("é", "É"),
        ("e\u0301", "É"),
        ("ß", "ß"),
        ("[", "["),
    ]
    + [("ж", "Ж"), ("字", "字"), (" ", "space"), ("space", "space"), ("Enter", "enter"), ("ARROWUP", "arrowup")],
)
def test_every_character_can_be_a_key(arm_viewer, key, hotkey):
    seen = []
    handle = arm_viewer.add_key(key, lambda: seen.append(key), "Mine")
    assert handle.hotkey == hotkey
    trigger(arm_viewer, "Mine")
    arm_viewer.spin()
    assert seen == [key]


@pytest.mark.parametrize("key", ["F13", "ab", "", "\n", None, 7])
def test_what_is_no_key_is_refused(arm_viewer, key):
    with pytest.raises(kido.NameLookupError, match=r"no key .*any character.*space"):
        arm_viewer.add_key(key, lambda: None)


def test_unknown_modifiers_are_refused(arm_viewer):
    with pytest.raises(ViewerError, match="Key '1' cannot be pressed with Shift"):
        arm_viewer.add_key("1", lambda: None, modifier="shift")
    with pytest.raises(ViewerError, match="'hyper'"):
        arm_viewer.add_key("A", lambda: None, modifier="hyper")


def test_bad_sliders_are_refused(arm_viewer):
    with pytest.raises(kido.StateError, match=r"'Gain' runs from 1\.0 to 1\.0"):
        arm_viewer.add_slider("Gain", 1.0, 1.0, lambda v: None)


# Texts ------------------------------------------------------------------------------------------------------


def texts_of(viewer: Viewer) -> list[tuple[str, str]]:
    """What the page is told to show, and where."""
    return [(t["text"], t["place"]) for t in json.loads(viewer.webpage._label.text)]


def test_texts_over_the_picture(arm_viewer):
    first = arm_viewer.add_text("q = 0\n<b>no markup</b>")
    second = arm_viewer.add_text("late", "bottom right", size=30, color=(1, 0, 0))
    assert texts_of(arm_viewer) == [("q = 0\n<b>no markup</b>", "top left"), ("late", "bottom right")]
    assert second.color == (255, 0, 0)
    first.text = 3.5
    assert texts_of(arm_viewer)[0] == ("3.5", "top left")
    first.remove()
    first.remove()
    assert texts_of(arm_viewer) == [("late", "bottom right")]
    with pytest.raises(kido.NameLookupError, match=r"'middle'.*top left"):
        arm_viewer.add_text("x", "middle")
    with pytest.raises(kido.StateError, match="Size of a text is 0"):
        arm_viewer.add_text("x", size=0)
    assert texts_of(arm_viewer) == [("late", "bottom right")]


def test_pictures_have_the_texts():
    from kido.viewer.film import write_texts

    with Viewer(arm(), 0) as viewer:
        blank = np.full((120, 200, 3), 200, dtype=np.uint8)
        np.testing.assert_array_equal(write_texts(blank, viewer.webpage.texts), blank)
        viewer.add_text("||||", "bottom right", size=30, color=(1, 0, 0))
        dark = np.argwhere(write_texts(blank, viewer.webpage.texts)[..., 1] < 100)
        assert len(dark) > 50
        assert (dark.min(axis=0) > [60, 100]).all()  # in the right bottom quarter, and nowhere else


# Drawables -------------------------------------------------------------------------------------------------


def test_drawables_are_added_updated_and_removed(arm_viewer):
    v = arm_viewer
    made = [
        v.add_line([(0, 0, 0), (1, 0, 0), (1, 1, 0)]),
        v.add_points(np.zeros((4, 3)), color=(1, 0, 0)),
        v.add_frame(size=0.2),
        v.add_label("here", (0, 0, 1)),
        v.add_mesh(np.eye(3), [[0, 1, 2]], color=(0, 1, 0, 0.5)),
        v.add_arrow((0, 0, 0), (0, 0, 1)),
    ]
    assert len({d.name for d in made}) == 6
    assert made[0].handle.points.shape == (2, 2, 3)
    made[0].update([(0, 0, 0), (5, 0, 0)])
    np.testing.assert_array_equal(made[0].handle.points, [[[0, 0, 0], [5, 0, 0]]])
    made[3].update("there")
    assert made[3].handle.text == "there"
    np.testing.assert_array_equal(made[3].handle.position, [0, 0, 1])
    with pytest.raises(kido.StateError, match="nothing to update"):
        made[2].update(1)
    for d in made:
        d.visible = False
        d.remove()
        d.remove()
    assert v.drawables == {}


def test_drawables_move_with_their_body(arm_viewer):
    skeleton = arm_viewer.model
    X = np.eye(4)
    X[:3, 3] = 0, 0, 0.3
    frame = arm_viewer.add_frame(X, frame=skeleton.body("hand"), name="tip")
    assert frame.name == "/user/tip"
    skeleton.positions = [0.3, 0.5, 0.1, 0.2, 0.3]
    arm_viewer.spin()
    exact = skeleton.body("hand").world_transform @ X
    np.testing.assert_allclose(frame.handle.position, exact[:3, 3], atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: v.add_line([(0, 0, 0)]), "n at least 2"),
        (lambda v: v.add_line([(0, 0), (1, 1)]), r"shape \(2, 2\)"),
        (lambda v: v.add_points([(0, 0, float("nan"))]), "Point 0 of a drawable is not finite"),
        (lambda v: v.add_points(np.zeros((3, 3)), color=np.zeros((2, 3))), "Colours of 3 points"),
        (lambda v: v.add_mesh(np.eye(3), [[0, 1, 3]]), "name vertex 3; there are 3"),
        (lambda v: v.add_frame(np.eye(3)), r"finite \(4, 4\)"),
    ],
)
def test_bad_drawables_are_refused_and_leave_nothing(arm_viewer, call, message):
    with pytest.raises(kido.StateError, match=message):
        call(arm_viewer)
    assert arm_viewer.drawables == {}


def test_shapes_are_drawn_on_any_frame(arm_viewer):
    skeleton = arm_viewer.model
    goal = kido.SimpleFrame(skeleton.body("hand"), "goal", (0.0, 0.0, 0.3))
    capsule = arm_viewer.add_shape(kido.Capsule(0.1, 0.4), frame=goal, color=(1, 0, 0, 0.5), name="goal")
    arm_viewer.add_shape(kido.Box((0.1, 0.1, 0.1)), frame=goal)
    skeleton.positions = [0.3, 0.5, 0.1, 0.2, 0.3]
    goal.relative_translation = (0.0, 0.1, 0.3)
    arm_viewer.spin()
    exact = skeleton.body("hand").world_transform @ [0.0, 0.1, 0.3, 1.0]
    np.testing.assert_allclose(capsule.handle.position, exact[:3], atol=1e-12)
    parts = [n for n in arm_viewer.server.scene._handle_from_node_name if n.startswith("/user/goal/")]
    assert sorted(parts) == ["/user/goal/hemisphere", "/user/goal/tube"]
    capsule.update(kido.Sphere(0.2))
    parts = [n for n in arm_viewer.server.scene._handle_from_node_name if n.startswith("/user/goal/")]
    assert parts == ["/user/goal/sphere"]
    capsule.remove()
    assert not [n for n in arm_viewer.server.scene._handle_from_node_name if n.startswith("/user/goal")]
    with pytest.raises(ViewerError, match="A Plane is drawn as the ground"):
        arm_viewer.add_shape(kido.Plane())
    with pytest.raises(kido.KidoError, match="cannot draw a shape of type 'str'"):
        arm_viewer.add_shape("box")


def test_names_of_drawables_are_unique(arm_viewer):
    arm_viewer.add_frame(name="tip")
    with pytest.raises(kido.StateError, match="'/user/tip' already"):
        arm_viewer.add_frame(name="tip")


# Cameras ---------------------------------------------------------------------------------------------------


def test_body_cameras_sit_on_their_bodies(arm_viewer):
    skeleton = arm_viewer.model
    camera = arm_viewer.add_camera(skeleton.body("hand"), fov=1.0)
    second = arm_viewer.add_camera(skeleton.body("hand"))
    assert (camera.name, second.name) == ("on hand", "on hand 2")
    skeleton.positions = [0.3, 0.5, 0.0, 0.0, 0.0]
    X = skeleton.body("hand").world_transform
    np.testing.assert_allclose(camera.pose.position, X[:3, 3], atol=1e-12)
    np.testing.assert_allclose(camera.pose.target - camera.pose.position, X[:3, 2], atol=1e-12)
    arm_viewer.look_through(camera)
    assert arm_viewer._camera_panel._through.value == "on hand"
    camera.remove()
    camera.remove()
    assert list(arm_viewer.cameras) == ["on hand 2"]
    assert arm_viewer.follower.camera is None


class Looking:
    """A page whose camera takes what it looks at along, as viser's does."""

    def __init__(self, number: int) -> None:
        self.client_id, self.camera = number, self
        self._position, self.look_at = np.array([3.0, 0.0, 1.0]), np.zeros(3)

    @property
    def position(self) -> np.ndarray:
        return self._position

    @position.setter
    def position(self, value: np.ndarray) -> None:
        self.look_at, self._position = self.look_at + value - self._position, value


def test_pages_follow_a_body_from_when_they_are_opened():
    cart = kido.Skeleton("cart")
    body = cart.add_body("cart", kido.TranslationalJoint())
    follower = Follower()
    follower.follow(body)
    early, late = Looking(0), Looking(1)
    for place, pages in (((0.0, 0.0, 0.0), [early]), ((5.0, 1.0, 0.0), [early]), ((9.0, 2.0, 0.0), [early, late])):
        cart.positions = place
        follower.update(pages)
        for page in pages:
            np.testing.assert_allclose(page.look_at, place)
            np.testing.assert_allclose(page.position - page.look_at, [3.0, 0.0, 1.0])
    late.position = [12.0, 2.0, 2.0]  # by hand: from there it goes on to look
    late.look_at = np.array([9.0, 2.0, 0.0])
    early.position = early.position - [2.0, 0.0, 0.0]  # an old message of a slow page
    cart.positions = [10.0, 2.0, 0.0]
    follower.update([early, late])
    np.testing.assert_allclose(late.position - [10.0, 2.0, 0.0], [3.0, 0.0, 2.0])
    np.testing.assert_allclose(early.position - [10.0, 2.0, 0.0], [3.0, 0.0, 1.0])


def test_the_camera_is_set_and_read(arm_viewer):
    whole = arm_viewer.camera
    np.testing.assert_allclose(whole.position, arm_viewer.view.home(aspect=1.5).position)
    pose = CameraPose((4, 5, 6), (1, 2, 3), fov=0.5)
    arm_viewer.camera = pose
    assert arm_viewer.camera is pose
    camera = arm_viewer.server.initial_camera
    np.testing.assert_array_equal(camera.look_at, [1, 2, 3])
    np.testing.assert_array_equal(camera.position, [4, 5, 6])
    np.testing.assert_array_equal(camera.up, [0, 0, 1])
    assert camera.fov == 0.5
    arm_viewer.look_at((0, 0, 1))  # from where it is, with the lens it has
    np.testing.assert_array_equal(arm_viewer.camera.target, [0, 0, 1])
    np.testing.assert_array_equal(arm_viewer.camera.position, [4, 5, 6])
    assert arm_viewer.camera.fov == 0.5
    arm_viewer.show_all()
    np.testing.assert_allclose(arm_viewer.camera.position, whole.position)
    with pytest.raises(kido.StateError, match="target is"):
        arm_viewer.look_at((1, 2, float("inf")))
    with pytest.raises(kido.StateError, match=r"expected a kido\.viewer\.CameraPose"):
        arm_viewer.camera = (1, 2, 3)
    np.testing.assert_allclose(arm_viewer.camera.position, whole.position)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((1, 2, 3), (1, 2, 3)), "expected two points"),
        (((1, 2), (1, 2, 3)), "Camera position is"),
        ((None, (1, 2, 3)), "Camera position is"),
        (((1, 2, 3), (0, 0, 0), (0, 0, 0)), "Camera up is"),
        (((1, 2, 3), (0, 0, 0), (0, 0, 1), 60.0), "Field of view of a camera is 60.0 rad"),
    ],
)
def test_bad_poses_of_cameras_are_refused(arguments, message):
    with pytest.raises(kido.StateError, match=message):
        CameraPose(*arguments)


class Opened:
    """A page of a certain shape, as the viewer sees it."""

    def __init__(self, aspect: float) -> None:
        self.camera = SimpleNamespace(aspect=aspect)

    atomic = staticmethod(nullcontext)


@pytest.mark.parametrize("size", [0.02, 1.0, 30.0])
@pytest.mark.parametrize("aspect", [0.45, 1.0, 2.2])
def test_a_page_of_any_shape_first_shows_a_whole_model_of_any_size(size, aspect):
    skeleton = box("b", (size, 0.3 * size, 2.0 * size), (5.0, 0.0, size))
    with Viewer(skeleton, 0) as viewer:
        page = Opened(aspect)
        for greet in viewer.server._client_connect_cb:
            greet(page)
        assert not hasattr(page.camera, "position")  # nothing happens in the page's thread
        viewer.spin()
        pose = CameraPose(page.camera.position, page.camera.look_at, page.camera.up_direction, page.camera.fov)
        signs = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
        corners = signs * [size, 0.3 * size, 2.0 * size] + [5.0, 0.0, size]
        seen = (corners - pose.position) @ matrix_from_wxyz(pose.wxyz)
        x, y = np.abs(seen[:, :2] / seen[:, 2:]).max(axis=0) / np.tan(0.5 * pose.fov) / [aspect, 1.0]
        assert 0.6 < max(x, y) < 1.0  # fills the picture, and fits
        assert page.camera.near < seen[:, 2].min()
        assert page.camera.far > seen[:, 2].max()
        viewer.camera = CameraPose((1, 0, 0), (0, 0, 0))
        for greet in viewer.server._client_connect_cb:
            greet(page)
        viewer.spin()
        np.testing.assert_array_equal(page.camera.position, [1, 0, 0])  # what was chosen holds for new pages too


@pytest.mark.parametrize("fov", [0.0, 4.0, float("nan")])
def test_bad_cameras_are_refused(arm_viewer, fov):
    with pytest.raises(kido.StateError, match="Field of view"):
        arm_viewer.add_camera(fov=fov)
    assert arm_viewer.cameras == {}


def test_a_model_of_many_joints_gets_no_sliders():
    with Viewer(boxes(30), 0) as viewer:
        assert viewer.joint_panels == []
