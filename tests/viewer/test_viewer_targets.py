"""Targets of inverse kinematics on the page, and `kido ik`, without a browser."""

from __future__ import annotations

import asyncio
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import kido
from kido.cli import main
from kido.cli.ik import hierarchy, limb_ends
from kido.ik import CompositeIK, InverseKinematics, PositionError
from kido.models import path
from kido.rendering.rotations import matrix_from_wxyz, wxyz_from_matrix
from kido.viewer import Viewer, ViewerError
from kido.viewer.browser import PROGRAMS, Page
from programs import wait_until
from viewer_models import arm, boxes

pytest.importorskip("viser", reason="the extra 'viewer' is not installed")


@pytest.fixture
def reaching():
    """A viewer of an arm with one target, at its hand."""
    skeleton = arm()
    skeleton.positions = [0.3, 0.6, 0.1, -0.2, 0.05]
    ik = CompositeIK(skeleton, [InverseKinematics(skeleton.body("hand"), dofs="body")])
    with Viewer(skeleton, 0) as viewer:
        yield viewer, viewer.add_targets(ik)


def drag(target, pose, phase: str = "update") -> None:
    """What the page sends while a person drags a gizmo."""
    moved = SimpleNamespace(position=pose[:3, 3], wxyz=wxyz_from_matrix(pose[None, :3, :3])[0])
    for callback in target.gizmo.handle._impl_aux.update_cb:
        asyncio.run(callback(SimpleNamespace(target=moved, phase=phase, client=object(), client_id=0)))


def set_control(handle, value) -> None:
    handle._impl.value = value
    for callback in handle._impl.update_cb:
        callback(SimpleNamespace(client=object(), client_id=0, target=handle))


def reachable(skeleton, positions) -> np.ndarray:
    twin = skeleton.clone()
    twin.positions = positions
    return twin.body("hand").world_transform


def test_the_skeleton_follows_a_dragged_target(reaching):
    viewer, targets = reaching
    skeleton = viewer.model
    wanted = reachable(skeleton, [-0.4, 0.9, 0.3, 0.1, -0.2])
    drag(targets.targets[0], wanted, "start")
    for _ in range(5):
        viewer.spin()
    drag(targets.targets[0], wanted, "end")
    viewer.spin()
    np.testing.assert_allclose(skeleton.body("hand").world_transform, wanted, atol=3e-6)  # regions are 1e-6 wide
    assert targets.result.converged
    targets.describe()
    assert "reached" in targets.targets[0].text.content
    assert "hand" in targets.targets[0]._label.text


def test_what_is_out_of_reach_is_approached_and_said(reaching):
    viewer, targets = reaching
    far = np.eye(4)
    far[:3, 3] = [5.0, 0.0, 0.7]
    drag(targets.targets[0], far)
    before = np.linalg.norm(viewer.model.body("hand").world_transform[:3, 3] - far[:3, 3])
    for _ in range(20):
        viewer.spin()
    targets.describe()
    assert np.linalg.norm(viewer.model.body("hand").world_transform[:3, 3] - far[:3, 3]) < before
    assert not targets.result.converged
    assert "off by" in targets.targets[0].text.content
    assert "not reached: hand" in targets.status.content


def test_priority_region_and_activity_are_set_on_the_page(reaching):
    viewer, targets = reaching
    target = targets.targets[0]
    set_control(target.priority, 2)
    set_control(target.region, "position")
    viewer.spin()
    assert target.ik.priority == 2
    assert np.isinf(target.ik.error_method.bounds[:3]).all()
    targets.describe()
    assert "turn x free" in target.text.content
    assert "priority 2" in target._label.text
    set_control(target.region, "as it was made")
    set_control(target.active, False)
    viewer.spin()
    assert (np.abs(target.ik.error_method.bounds) == 1e-6).all()
    targets.describe()
    assert "takes no part" in target.text.content


def test_targets_go_to_the_bodies_and_back_to_the_start(reaching):
    viewer, targets = reaching
    start = viewer.model.positions
    first = targets.targets[0].ik.target.world_transform
    drag(targets.targets[0], reachable(viewer.model, [0.5, 0.2, 0.0, 0.0, 0.1]), "end")
    viewer.spin()
    viewer.model.positions = [0.1, 0.2, 0.0, 0.3, 0.0]
    targets.release()
    viewer.spin()
    np.testing.assert_allclose(viewer.model.positions, [0.1, 0.2, 0.0, 0.3, 0.0], atol=1e-5)
    targets.restart()
    viewer.spin()
    np.testing.assert_allclose(targets.targets[0].ik.target.world_transform, first, atol=1e-15)
    np.testing.assert_allclose(viewer.model.positions, start, atol=1e-5)


def test_a_target_that_hangs_on_a_frame_moves_its_gizmo(reaching):
    viewer, targets = reaching
    target = targets.targets[0]
    X = target.ik.target.world_transform.copy()
    X[:3, 3] += [0.0, 0.01, 0.0]
    target.ik.target.world_transform = X
    viewer.spin()
    np.testing.assert_allclose(target.gizmo.handle.position, X[:3, 3], atol=1e-7)


def test_nothing_is_solved_while_nothing_moves(reaching, monkeypatch):
    viewer, targets = reaching
    viewer.spin()
    viewer.spin()
    monkeypatch.setattr(type(targets.ik), "solve_and_apply", lambda *_, **__: pytest.fail("solved again"))
    viewer.spin()


def test_what_the_viewer_does_not_show_is_refused(reaching):
    viewer, _ = reaching
    with pytest.raises(ViewerError, match="does not show the skeleton 'arm'"):
        viewer.add_targets(CompositeIK(arm()))
    with pytest.raises(ViewerError, match="already"):
        viewer.add_targets(CompositeIK(viewer.model))
    with pytest.raises(kido.StateError, match="expected a CompositeIK or WholeBodyIK"):
        viewer.add_targets(InverseKinematics(viewer.model.body("hand")))  # type: ignore[arg-type]


def test_other_error_methods_are_named_and_have_no_region():
    skeleton = arm()
    ik = InverseKinematics(skeleton.body("hand"), dofs="body", error_method=PositionError())
    with Viewer(skeleton, 0) as viewer:
        targets = viewer.add_targets(CompositeIK(skeleton, [ik]))
        viewer.spin()
        targets.describe()
        assert "turn x free" in targets.targets[0].text.content or "PositionError" in targets.targets[0].text.content


def test_limits_that_are_met_are_listed(reaching):
    viewer, targets = reaching
    viewer.model.positions = [2.0, 0.6, 0.1, -0.2, 0.05]
    targets.release()
    viewer.spin()
    targets.describe()
    assert "at their limits: yaw" in targets.status.content


@pytest.mark.skipif(not any(shutil.which(p) for p in PROGRAMS), reason="no Chromium or Chrome on PATH")
@pytest.mark.chromium
@pytest.mark.slow
def test_a_target_inside_of_a_body_is_dragged_with_the_mouse(reaching):
    viewer, targets = reaching
    viewer.spin()
    target = targets.targets[0]
    before, start = target.ik.target.world_transform, viewer.model.positions
    tip = before[:3, 3] + 0.88 * target.gizmo.handle.scale * before[:3, 2]
    viewer.start()

    def shift() -> np.ndarray:
        return before[:3, :3].T @ (target.ik.target.world_transform[:3, 3] - before[:3, 3])

    with Page(viewer.url, (1280, 800)) as page:
        x, y = wait_until(lambda: blue_at(page, viewer.camera, tip), "the arrow is drawn")
        page.mouse("pressed", x, y)
        for k in range(1, 9):
            page.mouse("moved", x, y - 10 * k)
            page.call("Runtime.evaluate", expression="new Promise(requestAnimationFrame)", awaitPromise=True)
        page.mouse("released", x, y - 80)
        wait_until(lambda: shift()[2] > 0.05, "the target has moved")  # along the arrow, and along nothing else
        wait_until(lambda: not np.array_equal(viewer.model.positions, start), "the arm has followed")
    np.testing.assert_allclose(shift()[:2], 0.0, atol=1e-6)


def blue_at(page: Page, camera, point) -> tuple[float, float] | None:
    """Pixel of a point in the window, once what is drawn there is blue."""
    import imageio.v3 as iio

    width = page.evaluate("document.querySelector('canvas')?.getBoundingClientRect().width")
    if not width:
        return None
    x, y = seen_at(camera, point, (width, 800))
    red, _, blue = iio.imread(page.png())[round(y), round(x), :3].astype(int)
    return (x, y) if blue > red + 100 else None


def seen_at(camera, point, size) -> tuple[float, float]:
    """Pixel of a point in the window."""
    x = matrix_from_wxyz(camera.wxyz).T @ (point - camera.position)
    f = 0.5 * size[1] / np.tan(0.5 * camera.fov)
    return size[0] / 2 + f * x[0] / x[2], size[1] / 2 + f * x[1] / x[2]


# The ends of limbs -------------------------------------------------------------------------------------------


def test_a_humanoid_has_a_head_two_hands_and_two_feet_which_come_first():
    humanoid = kido.load(path("humanoid"))
    whole = hierarchy(humanoid)
    levels = {ik.node.name: ik.priority for ik in whole.modules}
    assert levels == {"head": 1, "left_hand": 1, "right_hand": 1, "left_foot": 0, "right_foot": 0}


def test_fingers_are_no_limbs():
    hand = arm()
    palm = hand.body("hand")
    for k in range(3):
        hand.add_body(
            f"finger{k}",
            kido.RevoluteJoint(f"knuckle{k}", axis=(1, 0, 0)),
            parent=palm,
            inertia=kido.Inertia(0.005, moment=1e-6 * np.eye(3)),
        )
    assert [body.name for body in limb_ends(hand)] == ["hand"]


def test_effectors_are_named_with_priorities():
    humanoid = kido.load(path("humanoid"))
    whole = hierarchy(humanoid, ["head:3", "left_hand"])
    assert [(ik.node.name, ik.priority) for ik in whole.modules] == [("head", 3), ("left_hand", 0)]
    with pytest.raises(kido.NameLookupError, match="left_hnd"):
        hierarchy(humanoid, ["left_hnd"])


# The command -------------------------------------------------------------------------------------------------


def test_the_command_shows_targets_until_ctrl_c(monkeypatch, capsys):
    seen = []

    def run(viewer, duration=None):
        viewer.spin()
        seen.append([target.ik.node.name for target in viewer.targets])
        return False

    monkeypatch.setattr(Viewer, "run", run)
    assert main(["ik", "arm7", "--port", "0"]) == 130
    assert len(seen) == 1
    assert len(seen[0]) == 1
    assert "priority 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nothing.urdf"], "no such file"),
        (["humanoid", "--effector", "left_hnd"], "left_hand"),
        (["container"], "--skeleton"),
        (["container", "--skeleton", "nobody"], "nobody"),
    ],
)
def test_the_command_says_what_is_wrong(arguments, expected, capsys):
    assert main(["ik", *arguments, "--port", "0"]) == 1
    assert expected in capsys.readouterr().err


def test_in_a_world_it_follows_while_paused():
    world = boxes(1)
    skeleton = arm()
    world.add_skeleton(skeleton)
    ik = CompositeIK(skeleton, [InverseKinematics(skeleton.body("hand"), dofs="body")])
    with Viewer(world, 0, paused=True) as viewer:
        targets = viewer.add_targets(ik)
        viewer.spin()
        assert targets.result is not None
        viewer.resume()
        object.__setattr__(targets, "result", None)
        viewer.spin()
        assert targets.result is None
