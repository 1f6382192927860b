"""Trajectories and the sampler; truth for motion is free fall."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.viewer import Trajectory, TrajectorySampler
from kido.viewer.trajectory import frames_at
from viewer_models import arm, box, boxes

ONE = np.array([[[1.0, 0, 0, 0]]])


def falling() -> kido.World:
    world = kido.World("fall")
    world.add_skeleton(box("box", (0.1, 0.1, 0.1), (0.0, 0.0, 10.0)))
    return world


def test_sampler_drives_a_world_and_sees_it_fall():
    world = falling()
    seen = []
    motion = TrajectorySampler(world, fps=50).run(0.5, progress=seen.append)
    assert motion.num_frames == 26
    assert motion.num_bodies == 1
    assert motion.names == ("body",)
    np.testing.assert_allclose(np.diff(motion.times), 0.02, atol=1e-12)
    assert seen[-1] == pytest.approx(0.5)
    # The integrator's error in free fall is at most g h t = 5 mm, storage in single precision 1e-6 relative.
    exact = 10.0 - 0.5 * 9.81 * motion.times**2
    np.testing.assert_allclose(motion.positions[:, 0, 2], exact, atol=6e-3)
    assert world.time == pytest.approx(0.5)


def test_sampler_as_step_callback_takes_the_same_frames():
    first = TrajectorySampler(falling(), fps=50).run(0.2)
    world = falling()
    sampler = TrajectorySampler(world, fps=50)
    world.add_step_callback(sampler)
    world.step(200)
    np.testing.assert_allclose(sampler.trajectory.times, first.times, atol=1e-12)
    np.testing.assert_array_equal(sampler.trajectory.positions, first.positions)


def test_a_rate_that_does_not_divide_the_step_keeps_its_mean():
    motion = TrajectorySampler(falling(), fps=60).run(0.5)
    assert motion.num_frames == 31
    np.testing.assert_allclose(motion.times, np.arange(31) / 60, atol=0.51e-3)


def test_contacts_are_sampled_with_their_forces():
    world = boxes(2)
    motion = TrajectorySampler(world, fps=20).run(0.3)
    points, forces = motion.contacts[-1]
    assert len(points) == 8  # four corners of each box
    weight = 9.81 * sum(s.mass for s in world.skeletons if s.mobile)
    assert abs(forces[:, 2].sum()) == pytest.approx(weight, rel=1e-3)


def test_transforms_and_back():
    rng = np.random.default_rng(0)
    q = rng.normal(size=(4, 3, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    motion = Trajectory(np.arange(4.0), rng.normal(size=(4, 3, 3)), q)
    again = Trajectory.from_transforms(motion.times, motion.transforms)
    np.testing.assert_allclose(again.transforms, motion.transforms, atol=1e-14)
    assert motion.duration == 3.0


def test_positions_of_a_skeleton_become_a_trajectory_and_the_skeleton_stays():
    skeleton = arm()
    skeleton.positions = [0.1, 0.2, 0.0, 0.0, 0.0]
    q = np.zeros((5, 5))
    q[:, 0] = np.linspace(0, 1, 5)
    q[:, 1] = np.pi / 2
    motion = Trajectory.from_positions(skeleton, np.linspace(0, 1, 5), q, fps=None)
    np.testing.assert_array_equal(skeleton.positions, [0.1, 0.2, 0, 0, 0])
    # pitched by 90 degrees the hand is 0.7 m ahead, 0.2 m up, and turns with the yaw
    yaw = q[:, 0]
    exact = np.stack([0.7 * np.cos(yaw), 0.7 * np.sin(yaw), np.full(5, 0.2)], axis=1)
    np.testing.assert_allclose(motion.positions[:, 2], exact, atol=1e-12)


def test_frames_at_keeps_first_and_last():
    times = np.arange(0, 1.0005, 1e-3)
    keep = frames_at(times, 30)
    assert keep[0] == 0
    assert keep[-1] == len(times) - 1
    assert len(keep) == 31
    np.testing.assert_array_equal(frames_at(times, None), np.arange(len(times)))
    # samples at that rate, but rounded to whole steps, are all kept
    rounded = np.round(np.arange(31) / 30, 3)
    np.testing.assert_array_equal(frames_at(rounded, 30), np.arange(31))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"times": np.zeros(0), "positions": np.zeros((0, 1, 3)), "wxyz": np.zeros((0, 1, 4))},
            "at least one",
        ),
        ({"times": [0.0, 1.0]}, r"expected \(2, bodies, 3\)"),
        ({"positions": np.full((1, 1, 3), np.nan)}, "positions are not finite at frame 0"),
        ({"wxyz": np.zeros((1, 1, 4))}, "length 1; frame 0"),
        ({"wxyz": np.zeros((1, 2, 4))}, r"expected \(1, 1, 4\)"),
        ({"contacts": [(np.zeros((0, 3)), np.zeros((0, 3)))] * 2}, "contacts for 2 frames; expected 1"),
    ],
)
def test_bad_trajectories_are_refused(change, message):
    good = {"times": [0.0], "positions": np.zeros((1, 1, 3)), "wxyz": ONE}
    Trajectory(**good)
    with pytest.raises(kido.StateError, match=message):
        Trajectory(**{**good, **change})


def test_times_must_rise():
    with pytest.raises(kido.StateError, match=r"frames 0 and 1 are at 1\.0 s, then 1\.0 s"):
        Trajectory([1.0, 1.0], np.zeros((2, 1, 3)), np.repeat(ONE, 2, axis=0))


@pytest.mark.parametrize("fps", [0.0, -1.0, float("nan")])
def test_bad_rates_are_refused(fps):
    with pytest.raises(kido.StateError, match="fps is"):
        TrajectorySampler(falling(), fps=fps)


@pytest.mark.parametrize("what", ["model_poses", "contacts_of", "skins_of"])
def test_a_frame_that_is_interrupted_is_no_frame(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    world = kido.World()
    world.add_skeleton(kido.load(kido.models.path("arm7")))
    sampler = TrajectorySampler(world, fps=100.0)
    world.step(10)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"kido.viewer.trajectory.{what}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sampler.sample()
    assert sampler.trajectory.num_frames == 1
    sampler.sample()
    assert sampler.trajectory.num_frames == len(sampler.trajectory.contacts) == 2
