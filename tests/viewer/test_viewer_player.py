"""Playing a motion on a live page, without a browser."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import kido
from kido.viewer import Player, Trajectory, TrajectorySampler, ViewerError
from viewer_models import arm, boxes

pytest.importorskip("viser", reason="the extra 'viewer' is not installed")


@pytest.fixture(scope="module")
def shown() -> tuple[kido.World, Trajectory]:
    world = boxes(1)
    world.skeletons[1].positions = [0, 0, 0, 0, 0, 2.0]
    return world, TrajectorySampler(world, fps=50).run(0.4)


def height(player: Player) -> float:
    return float(player.view.visual.batches[0].handle.batched_positions[0, 2])


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """A clock for the player that only its own sleep turns."""
    clock = SimpleNamespace(now=100.0)
    clock.perf_counter = lambda: clock.now
    clock.sleep = lambda seconds: setattr(clock, "now", clock.now + seconds)
    monkeypatch.setattr("kido.viewer.player.time", clock)
    return clock


def test_seek_shows_the_frame_of_that_time_and_leaves_the_model(shown):
    world, motion = shown
    before = world.skeletons[1].positions
    with Player(world, motion, 0) as player:
        for t in (0.0, 0.2, 0.4, 0.1):
            player.seek(t)
            # in free fall, to the integrator's g h t and single precision
            assert height(player) == pytest.approx(2.0 - 0.5 * 9.81 * t**2, abs=5e-3)
        player.seek(9.0)
        assert player.time == motion.duration
        with pytest.raises(kido.StateError, match="Time in a motion"):
            player.seek(float("nan"))
    np.testing.assert_array_equal(world.skeletons[1].positions, before)


def test_run_plays_in_real_time_and_begins_anew(shown, clock):
    with Player(*shown, 0, speed=4.0) as player:
        times = []
        spin = player.spin
        object.__setattr__(player, "spin", lambda: (spin(), times.append(player.time)))
        assert player.run(0.5)
    drops = np.flatnonzero(np.diff(times) < 0)
    assert len(drops) == 3  # 0.5 s are 30 frames; at fourfold speed the motion takes 6, and rests one at its end
    assert clock.now == pytest.approx(100.5, abs=1 / 60 + 1e-9)
    assert max(times) == pytest.approx(0.4)


def test_without_loop_it_stops_at_the_end_and_starts_again(shown, clock):
    with Player(*shown, 0, speed=50.0, loop=False) as player:
        player.run(0.3)
        assert player.paused
        assert player.time == pytest.approx(0.4)
        player.toggle_pause()
        assert player.time == 0.0
        player.close()
        with pytest.raises(ViewerError, match="closed"):
            player.spin()


def test_a_motion_of_another_model_and_bad_speeds_are_refused(shown):
    with pytest.raises(ViewerError, match="2 bodies, the model 3"):
        Player(arm(), shown[1], 0)
    with pytest.raises(kido.StateError, match="speed is 0"):
        Player(*shown, 0, speed=0)


def test_ctrl_c_ends_the_run(shown, clock):
    with Player(*shown, 0) as player:

        def interrupt() -> None:
            raise KeyboardInterrupt

        player.post(interrupt)
        assert player.run(1.0) is False


def test_a_motion_plays_on_its_skeleton():
    """Of a `kido.Motion`: bodies are where forward kinematics has them, at the frame of each time."""
    skeleton = arm()
    t = np.arange(31) / 30
    waves = 0.3 * np.sin(3 * t[:, None] + np.arange(skeleton.num_dofs))
    motion = kido.Motion(None, waves, 30, skeleton=skeleton)
    before = skeleton.positions
    with Player(skeleton, motion, 0) as player:
        assert player.trajectory.num_frames == 31 and player.trajectory.duration == pytest.approx(1.0)
        player.seek(0.5)
        shown = player.trajectory.transforms[15]
    np.testing.assert_allclose(shown, skeleton.forward_kinematics(waves[15]), atol=1e-12)
    np.testing.assert_array_equal(skeleton.positions, before)
    with pytest.raises(kido.StateError, match="no skeleton to show"):
        Player(skeleton, kido.Motion(["a"], [[1.0]], 30), 0)
