"""Motions: what they are against closed forms, on the manifold, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation, RotationSpline

import kido
from kido.errors import KidoError, NameLookupError, StateError
from kido.motions import Motion


def body() -> kido.Skeleton:
    skeleton = kido.Skeleton("body")
    inertia = kido.Inertia.from_diagonal(1.0, (0.1, 0.2, 0.15))
    trunk = skeleton.add_body("trunk", kido.FreeJoint("root"), inertia=inertia)
    skeleton.add_body("arm", kido.BallJoint("shoulder"), trunk, inertia)
    skeleton.add_body("cart", kido.PlanarJoint("plane"), inertia=inertia)
    return skeleton


def turned(t):
    """R = Rz(f) Rx(g), and its angular velocity in its own axes: Rx^T f' z + g' x."""
    f, df, g, dg = 3 * t + np.sin(2 * t), 3 + 2 * np.cos(2 * t), np.cos(3 * t), -3 * np.sin(3 * t)
    R = Rotation.from_euler("ZX", np.column_stack([f, g]))
    return R, np.column_stack([dg, df * np.sin(g), df * np.cos(g)])


def positions(t):
    R, _ = turned(t)
    place = np.column_stack([np.sin(t), t**2, np.cos(2 * t)])
    return np.column_stack([R.as_rotvec(), place, turned(0.5 * t)[0].as_rotvec(), np.sin(t), np.cos(t), 3 * t])


def velocities(t):
    R, w = turned(t)
    v = R.inv().apply(np.column_stack([np.cos(t), 2 * t, -2 * np.sin(2 * t)]))
    return np.column_stack([w, v, 0.5 * turned(0.5 * t)[1], np.cos(t), -np.sin(t), 3 + 0 * t])


def sampled(rate: float, duration: float = 2.0) -> Motion:
    t = np.arange(0, duration + 1e-9, 1 / rate)
    return Motion(None, positions(t), rate, skeleton=body())


def farthest(skeleton, a, b) -> float:
    return max(np.abs(skeleton.position_differences(p, q)).max() for p, q in zip(a, b, strict=True))


# -- what it has -------------------------------------------------------------------------------------------


def test_what_it_has():
    motion = Motion(["a", "b"], [[1, 2], [3, 4], [5, 6]], 10, start=1.0)
    assert (motion.num_frames, motion.duration, motion.names) == (3, 0.2, ("a", "b"))
    assert_allclose(motion.times, [1.0, 1.1, 1.2])
    assert motion["b"].tolist() == [2, 4, 6]
    part = motion[1:]
    assert part.num_frames == 2 and part.start == 1.1 and part.positions[0].tolist() == [3, 4]
    assert repr(motion) == "Motion(3 frames at 10 Hz, 2 coordinates)"
    with pytest.raises(kido.ReadOnlyError):
        motion.positions[0, 0] = 1.0


REFUSED = [
    ({"names": ["a", "a"]}, "different names of coordinates, got \\['a'\\]"),
    ({"positions": [[1.0]]}, r"positions have shape \(1, 1\); expected \(frames, 2\)"),
    ({"positions": np.zeros((0, 2))}, r"shape \(0, 2\)"),
    ({"positions": [[1.0, np.nan]]}, "'b' is nan in frame 0"),
    ({"positions": "walk"}, "positions are no numbers"),
    ({"frame_rate": 0}, "frame_rate is 0; expected frames per second, above 0"),
    ({"frame_rate": np.nan}, "frame_rate is nan"),
    ({"start": np.inf}, "start is inf"),
    ({"skeleton": body()}, "names are not those of skeleton 'body' in order"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_cannot_be_is_refused(change: dict, message: str):
    arguments = {"names": ["a", "b"], "positions": [[1.0, 2.0]], "frame_rate": 10.0, **change}
    with pytest.raises(StateError, match=message):
        Motion(**arguments)


def test_calls_that_cannot_be_are_refused():
    motion = Motion(["a", "b"], np.arange(20.0).reshape(10, 2), 10)
    with pytest.raises(NameLookupError, match="no coordinate of the motion 'c'; expected one of: a, b"):
        motion["c"]
    for call, message in [
        (lambda: motion[3:3], "holds none of its 10 frames"),
        (lambda: motion[::2], "without steps"),
        (lambda: motion.at(1.0), "time 1.0 is not within 0 to 0.9 s"),
        (lambda: motion.at(np.nan), "not within"),
        (lambda: motion.resampled(-1), "frame_rate is -1"),
        (lambda: motion.resampled(1e12), "too many frames"),
        (lambda: motion.derivatives(cutoff=6.0), "cutoff is 6.0; expected 0.02 to 5 Hz"),
        (lambda: motion[:5].derivatives(cutoff=1.0), "a cutoff needs at least 6 frames, got 5"),
        (lambda: motion.blended(motion[:5], 0.5), "blended with one of 5 frames; expected 10"),
        (lambda: motion.blended(motion, [0.5, 0.5]), r"weight has shape \(2,\)"),
        (lambda: motion.blended(motion.resampled(20), 0.5), r"20 Hz; expected 10 Hz: resampled\(10\) gives it"),
        (lambda: motion.followed_by(motion, 2.0), "overlap is 2.0; expected 0 to 1 s"),
        (lambda: motion.followed_by(Motion(["b", "a"], motion.positions, 10)), "same coordinates in the same order"),
        (lambda: motion.on(body()), "12 of 12 coordinates of skeleton 'body' are not found"),
    ]:
        with pytest.raises(StateError, match=message):
            call()


def test_a_skeleton_that_was_edited_is_told():
    motion = sampled(30)
    motion.skeleton.add_body("more", kido.RevoluteJoint("elbow"), motion.skeleton.body("arm"), kido.Inertia(1.0))
    with pytest.raises(StateError, match="has other coordinates now"):
        motion.at(0.5)


# -- between frames ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("smooth", "order"), [(False, 2), (True, 3)])
def test_between_frames_it_is_on_the_manifold(smooth: bool, order: int):
    """Geodesics err by order two in the interval, the spline by order three (of the bracket within an interval): twice
    the rate leaves a quarter, an eighth. A tenth of tolerance for the next order."""
    t = np.linspace(0.5, 1.5, 301)
    errors = []
    for rate in (60, 120):
        motion = sampled(rate)
        errors.append(farthest(motion.skeleton, motion.at(t, smooth=smooth), positions(t)))
    assert np.log2(errors[0] / errors[1]) > order - 0.1
    assert_allclose(motion.at(motion.times, smooth=smooth), motion.positions, atol=1e-13)


def test_geodesics_are_those_of_scipy():
    """Slerp of SciPy between two frames a turn apart; rounding only."""
    skeleton = kido.Skeleton("s")
    skeleton.add_body("a", kido.BallJoint("j"), inertia=kido.Inertia.from_diagonal(1, (1, 1, 1)))
    turns = Rotation.from_rotvec([[2.5, 0.5, 0], [-3.0, 1, 0.3]])
    motion = Motion(None, turns.as_rotvec(), 1, skeleton=skeleton)
    from scipy.spatial.transform import Slerp

    t = np.linspace(0, 1, 20)
    error = Rotation.from_rotvec(motion.at(t)) * Slerp([0, 1], turns)(t).inv()
    assert error.magnitude().max() < 1e-14


def test_resampling():
    motion = sampled(100)
    again = motion.resampled(200, smooth=True).resampled(100)
    assert again.num_frames == motion.num_frames and again.frame_rate == 100
    assert farthest(motion.skeleton, again.positions, motion.positions) < 1e-12
    assert Motion(["a"], [[1.0]], 10).resampled(50).num_frames == 1


# -- derivatives -------------------------------------------------------------------------------------------


def test_derivatives_are_those_of_closed_forms():
    """Within the motion velocities err by order four at least, accelerations by order four; the ends by less."""
    errors = []
    for rate in (60, 120):
        motion = sampled(rate)
        t, e = motion.times, 1e-4
        found = motion.derivatives()
        truth = (-velocities(t + 2 * e) + 8 * velocities(t + e) - 8 * velocities(t - e) + velocities(t - 2 * e)) / (
            12 * e
        )
        inner = slice(rate // 10, -rate // 10)
        errors.append(
            [
                np.abs(found.velocities - velocities(t))[inner].max(),
                np.abs(found.accelerations - truth)[inner].max(),
                np.abs(found.velocities - velocities(t)).max(),
            ]
        )
        assert_allclose(found.positions, motion.positions, atol=1e-13)
    assert (np.log2(np.divide(*errors)) > [3.5, 3.5, 3.5]).all()
    assert (np.array(errors[1]) < [1e-7, 2e-6, 1e-6]).all()


def test_rates_of_rotations_agree_with_scipys_spline():
    """SciPy's is cubic with continuous acceleration; both are the same to the order of the cubic, 2e-3 at 120 Hz."""
    t = np.arange(0, 2, 1 / 120)
    R, w = turned(t)
    other = RotationSpline(t, R)(t, 1)  # in the rotation's own frame at the start of each interval
    mine = sampled(120).derivatives().velocities[: len(t), :3]
    assert np.abs(mine - w).max() < 1e-6
    assert np.abs(R.inv().apply(other) - w)[5:-5].max() < 2e-2 or np.abs(other - w)[5:-5].max() < 2e-2


@pytest.mark.parametrize("share", [0.5, 1.0, 2.0])
def test_the_cutoff_is_where_half_is_left(share: float):
    """Of an oscillation of frequency f the spline leaves 1 / (1 + (f / cutoff)^6), and its second derivative -w^2 that.
    0.2 %: the filter is the one of a spline over all time and of samples dense in it."""
    rate, cutoff = 200.0, 6.0
    t = np.arange(0, 10, 1 / rate)
    w = 2 * np.pi * cutoff * share
    motion = Motion(["x"], np.sin(w * t)[:, None], rate)
    q, u, a = motion.derivatives(cutoff)
    left = 1 / (1 + share**6)
    middle = slice(800, 1200)
    assert_allclose(q[middle, 0], left * np.sin(w * t[middle]), atol=2e-3 * left)
    assert_allclose(u[middle, 0], left * w * np.cos(w * t[middle]), atol=2e-3 * left * w)
    assert_allclose(a[middle, 0], -left * w * w * np.sin(w * t[middle]), atol=2e-3 * left * w * w)
    assert_allclose(motion.smoothed(cutoff).positions, q, atol=0)


def test_smoothing_takes_noise_out_on_the_manifold():
    """Noise of 2 mrad and 2 mm: a twentieth of its velocities is left, a hundredth of its accelerations."""
    motion = sampled(120)
    rng = np.random.default_rng(0)
    noisy = motion.moved(motion.positions, 2e-3 * rng.standard_normal(motion.positions.shape))
    rough = Motion(None, noisy, 120, skeleton=motion.skeleton)
    truth, inner = motion.derivatives(), slice(30, -30)
    raw, smooth = rough.derivatives(), rough.derivatives(cutoff=4.0)
    for k, share in ((1, 0.05), (2, 0.01)):
        before = np.sqrt(np.mean((raw[k] - truth[k])[inner] ** 2))
        assert np.sqrt(np.mean((smooth[k] - truth[k])[inner] ** 2)) < share * before
    error = motion.differences(smooth.positions, motion.positions)[inner]
    assert np.sqrt(np.mean(error**2)) < 1e-3


@pytest.mark.parametrize("frames", range(1, 8))
def test_few_frames(frames: int):
    """Splines of lower degree: a parabola's derivatives are exact from four frames on."""
    t = np.arange(frames) / 10
    q, u, a = Motion(["x"], (2 * t + 3 * t**2)[:, None], 10).derivatives()
    assert_allclose(q[:, 0], 2 * t + 3 * t**2, atol=1e-14)
    if frames >= 3:
        assert_allclose(u[:, 0], 2 + 6 * t, atol=1e-11)
        assert_allclose(a[:, 0], 6, atol=1e-9)


# -- two motions -------------------------------------------------------------------------------------------


def test_blending():
    motion = sampled(60)
    other = Motion(None, positions(motion.times + 0.3), 60, skeleton=motion.skeleton)
    assert farthest(motion.skeleton, motion.blended(other, 0.0).positions, motion.positions) < 1e-14
    assert farthest(motion.skeleton, motion.blended(other, 1.0).positions, other.positions) < 1e-13
    half, back = motion.blended(other, 0.5), other.blended(motion, 0.5)
    assert farthest(motion.skeleton, half.positions, back.positions) < 1e-13  # the middle of a geodesic
    ramp = motion.blended(other, np.linspace(0, 1, motion.num_frames))
    assert_allclose(ramp.positions[0], motion.positions[0], atol=1e-14)


def test_one_after_the_other():
    motion = sampled(60)
    later = Motion(None, positions(motion.times + 1.0), 60, skeleton=motion.skeleton)
    joined = motion.followed_by(later, overlap=61 / 60)  # the overlap is the same motion
    assert joined.num_frames == 2 * motion.num_frames - 61
    assert farthest(motion.skeleton, joined.positions, positions(joined.times)) < 1e-12
    assert motion.followed_by(later).num_frames == 2 * motion.num_frames


# -- skeletons and recordings ------------------------------------------------------------------------------


def test_coordinates_are_found_by_name():
    skeleton = body()
    names = [dof.name for dof in skeleton.dofs]
    numbers = np.arange(24.0).reshape(2, 12) / 100
    for given in (
        names,
        [f"file_{name}" for name in names],
        [f"{d.joint.name}.{d.joint.dofs.index(d)}" for d in skeleton.dofs],
    ):
        order = np.random.default_rng(1).permutation(12)
        motion = Motion([given[k] for k in order], numbers[:, order], 30).on(skeleton)
        assert_allclose(motion.positions, numbers)
        assert motion.names == tuple(names) and motion.skeleton is skeleton
    plain = Motion([f"c{k}" for k in range(12)], numbers, 30)
    assert_allclose(plain.on(skeleton).positions, numbers)  # by their order
    swapped = plain.on(skeleton, {"c11": names[0]}, partial=True)
    assert_allclose(swapped.positions[:, 0], numbers[:, 11])
    assert_allclose(swapped.positions[:, 1:], 0.0)
    with pytest.raises(StateError, match=r"11 of 12 coordinates .* the first is 'root_ry'"):
        plain.on(skeleton, {"c11": names[0]})
    with pytest.raises(NameLookupError, match="no coordinate of the motion 'c12'"):
        plain.on(skeleton, {"c12": names[0]})
    with pytest.raises(NameLookupError, match="no coordinate of skeleton 'body' 'elbow'"):
        plain.on(skeleton, {"c1": "elbow"})


def test_of_a_recording(tmp_path: Path):
    world = kido.World(gravity=(0, 0, 0))
    skeleton = body()
    skeleton.velocities = np.linspace(-1, 1, 12)
    world.add_skeleton(skeleton)
    with kido.Recorder(world, tmp_path / "run.h5", every=7):
        world.step(100)
    recording = kido.Recording.open(tmp_path / "run.h5")
    motion = Motion.from_recording(recording)
    assert motion.skeleton.name == "body"
    truth = recording.skeleton("body").positions
    uneven = np.diff(recording.times).ptp() if hasattr(np.ndarray, "ptp") else np.ptp(np.diff(recording.times))
    assert uneven > 0.0  # the last state is kept between two multiples of seven
    for time, row in zip(recording.times, truth, strict=True):
        if time <= motion.times[-1]:
            assert np.abs(motion.skeleton.position_differences(motion.at(time), row)).max() < 1e-4
    fine = Motion.from_recording(recording, "body", frame_rate=500)
    assert fine.frame_rate == 500
    with pytest.raises(KidoError, match="no skeleton 'ghost'"):
        Motion.from_recording(recording, "ghost")


def test_as_a_recording(tmp_path: Path):
    """Positions bit for bit, velocities those of the spline; the skeleton stays where it is."""
    motion = sampled(60)
    before = motion.skeleton.positions
    motion.record(tmp_path / "m.h5")
    assert np.array_equal(motion.skeleton.positions, before) and motion.skeleton.mobile
    recording = kido.Recording.open(tmp_path / "m.h5")
    series = recording.skeleton("body")
    assert np.array_equal(series.positions[: motion.num_frames], motion.positions)
    assert_allclose(series.velocities[: motion.num_frames], motion.derivatives().velocities, atol=1e-15)
    again = Motion.from_recording(recording)
    assert_allclose(again.positions[: motion.num_frames], motion.positions, atol=1e-12)
    assert again.frame_rate == pytest.approx(60)
    with pytest.raises(StateError, match="no skeleton to record"):
        Motion(["a"], [[1.0]], 1).record(tmp_path / "n.h5")
    with pytest.raises(KidoError, match=r"m\.h5"):
        motion.record(tmp_path / "m.h5")
