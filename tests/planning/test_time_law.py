"""Time laws against bang-bang motions, toppra and differences; limits at all points of the grid."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BSpline, CubicSpline

import kido
from kido.batch import Batch
from kido.planning import PlanningError, ruckig_law, time_optimal, toppra_law

LIMIT = 1e-9  # beyond a limit, in shares of it


def line(way) -> BSpline:
    way = np.asarray(way, float)
    return BSpline([0, 0, 1, 1], np.array([0.0 * way, way]), 1)


def random_curve(seed: int, n: int = 7):
    rng = np.random.default_rng(seed)
    return CubicSpline(np.arange(6) / 5, rng.uniform(-2, 2, (6, n))), rng.uniform(1, 2, n), rng.uniform(2, 6, n)


def excess(law, velocity, acceleration, force=None):
    """Largest shares of limits at both ends of each piece, from the law's numbers and the curve's derivatives."""
    s, x = law.s, law.rates**2
    u = 0.5 * np.diff(x) / np.diff(s)
    d1, d2 = law.curve(s, 1), law.curve(s, 2)
    found = [np.abs(d1 * law.rates[:, None] / velocity).max()]
    for k in (slice(0, -1), slice(1, None)):
        found.append(np.abs((d1[k] * u[:, None] + d2[k] * x[k, None]) / acceleration).max())
        if force is not None:
            skeleton, limit = force
            for q, qd, qdd in zip(law.curve(s[k]), d1[k] * law.rates[k, None], d1[k] * u[:, None] + d2[k] * x[k, None],
                                  strict=True):  # fmt: skip
                found.append(np.abs(Batch(skeleton).inverse_dynamics([q], [qd], [qdd]) / limit).max())
    return max(found)


def test_straight_lines_are_bang_bang():
    """T = 2 sqrt(d / a) without a limit of velocity, d / v + v / a with one that is reached."""
    way = np.array([1.0, 0.5, -0.2])
    law = time_optimal(line(way), 501, velocity=100.0, acceleration=2.0)
    assert law.duration == pytest.approx(2 * np.sqrt(1 / 2.0), rel=1e-9)  # it turns at a point of the grid
    law = time_optimal(line(way), 5001, velocity=0.5, acceleration=2.0)
    assert law.duration == pytest.approx(1 / 0.5 + 0.5 / 2.0, rel=1e-6)  # it turns within a piece: h^2 is 4e-8
    assert law.positions(law.duration) == pytest.approx(way, abs=1e-12)
    assert law.velocities([0.0, law.duration]) == pytest.approx(0.0, abs=1e-12)


def test_unequal_limits_turn_elsewhere():
    """a up, b down: T = sqrt(2 d (1/a + 1/b))."""
    law = time_optimal(line([1.0]), 3001, acceleration=[[-1.0], [2.0]])
    assert law.duration == pytest.approx(np.sqrt(2 * (1 / 2.0 + 1 / 1.0)), rel=1e-6)


def test_circles_are_followed_at_the_speed_of_their_pull():
    """On a circle of radius r with |q''| of each coordinate at most a, the rate is at most (2 a^2)^(1/4)."""

    class Circle:
        x = (0.0, 2.0 * np.pi)

        def __call__(self, s, nu=0):
            a = np.asarray(s) + 0.5 * np.pi * nu
            return np.stack([np.cos(a), np.sin(a)], axis=-1)

    law = time_optimal(Circle(), 2001, acceleration=1.0)
    assert law.rates.max() <= 2**0.25 * (1 + 1e-9)
    assert law.rates[500:1500].mean() > 0.9  # and never much slower than 1


@pytest.mark.parametrize("seed", range(5))
def test_limits_hold_and_one_is_reached_everywhere(seed):
    curve, v, a = random_curve(seed)
    law = time_optimal(curve, 500, velocity=v, acceleration=a)
    assert 1.0 - 1e-6 < excess(law, v, a) < 1.0 + LIMIT
    d1, d2, x = curve(law.s, 1), curve(law.s, 2), law.rates**2
    u = 0.5 * np.diff(x) / np.diff(law.s)
    near = np.abs((d1[:-1] * u[:, None] + d2[:-1] * x[:-1, None]) / a).max(axis=1)
    next_ = np.abs((d1[1:] * u[:, None] + d2[1:] * x[1:, None]) / a).max(axis=1)
    fast = np.abs(d1 * law.rates[:, None] / v).max(axis=1)
    reached = np.maximum.reduce([near, next_, fast[:-1], fast[1:]])
    assert (reached > 1.0 - 1e-6).mean() > 0.98


def test_limits_between_points_if_asked_for():
    curve, v, a = random_curve(0)
    law = time_optimal(curve, 500, velocity=v, acceleration=a, between=9)
    t = np.linspace(0.0, law.duration, 20_001)
    assert np.abs(law.velocities(t) / v).max() < 1.0 + 1e-5  # at moments other than those that were looked at
    assert np.abs(law.accelerations(t) / a).max() < 1.0 + 1e-5
    assert law.duration < 1.02 * time_optimal(curve, 500, velocity=v, acceleration=a).duration


def test_joint_forces_hold_between_points_if_asked_for():
    arm = kido.load("arm7")
    rng = np.random.default_rng(3)
    low, high = np.maximum(arm.position_lower_limits, -2.0), np.minimum(arm.position_upper_limits, 2.0)
    curve = CubicSpline(np.arange(5) / 4, rng.uniform(0.6 * low, 0.6 * high, (5, arm.num_dofs)))
    q = curve(np.linspace(0, 1, 100))
    limit = 1.5 * np.abs(Batch(arm).inverse_dynamics(q, 0 * q, 0 * q)).max(axis=0) + 1.0
    beyond = []
    for between in (0, 9):
        law = time_optimal(curve, 60, acceleration=50.0, force=limit, skeleton=arm, between=between)
        t = np.linspace(0.0, law.duration, 5001)
        forces = Batch(arm).inverse_dynamics(law.positions(t), law.velocities(t), law.accelerations(t))
        beyond.append(np.abs(forces / limit).max() - 1.0)
    assert beyond[0] > 5e-3 > 5.0 * max(beyond[1], 0.0), beyond


def test_knots_are_among_the_points():
    """Where slopes of second derivatives jump, pieces end: at most 1e-3 beyond limits, 6e-3 with even points."""
    rng = np.random.default_rng(0)
    curve = BSpline(np.r_[0, 0, 0, np.linspace(0, 1, 8), 1, 1, 1], rng.uniform(-1, 1, (10, 3)), 3)
    law = time_optimal(curve, 300, velocity=2.0, acceleration=4.0)
    assert np.isin(np.linspace(0, 1, 8), law.s).all()
    t = np.linspace(0.0, law.duration, 20_001)
    assert np.abs(law.accelerations(t) / 4.0).max() < 1.0 + 1e-3


def test_laws_rest_before_and_after():
    law = time_optimal(random_curve(1)[0], 100, acceleration=1.0)
    for t in (-1.0, law.duration + 1e-6, 99.0):
        assert not law.velocities(t).any() and not law.accelerations(t).any()
    assert law.positions([-1.0, 99.0]) == pytest.approx(law.curve(np.array([0.0, 1.0])), abs=1e-12)


def test_durations_are_toppras():
    """By a library of the same method, where it is installed, with the same discretization."""
    pytest.importorskip("toppra")
    for seed in range(3):
        curve, v, a = random_curve(seed)
        by_toppra = toppra_law(curve, 300, velocity=v, acceleration=a)
        law = time_optimal(curve, 300, velocity=v, acceleration=a)
        assert law.duration == pytest.approx(by_toppra.duration, rel=1e-4)
        assert excess(by_toppra, v, a) < 1.0 + 1e-5  # as it has them
    with pytest.raises(kido.StateError, match="velocity: expected limits below and above 0"):
        toppra_law(curve, velocity=0.0, acceleration=1.0)


def test_ruckig_is_not_run_where_it_would_crash():
    """Its code runs into that of MuJoCo's reader of USD where that came first; by `kido.load` of MJCF it does not."""
    pytest.importorskip("ruckig")
    pytest.importorskip("mujoco._usd")
    program = """
import mujoco, kido
try:
    kido.planning.ruckig_law([[0.0], [1.0]], velocity=9.0, acceleration=9.0, jerk=10.0)
except kido.StateError as refused:
    print(refused)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "import ruckig first" in found.stdout
    program = program.replace("import mujoco, kido", "import kido; kido.load('<mujoco><worldbody/></mujoco>')")
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == ""


def test_motions_of_ruckig_keep_limits_and_stay_on_straight_ways():
    """Within limits of velocity, acceleration and, by differences, jerk; a coordinate alone takes (32 d / j)^(1/3)."""
    pytest.importorskip("ruckig")
    law = ruckig_law([[0.0], [1.0]], velocity=9.0, acceleration=9.0, jerk=10.0)
    assert law.duration == pytest.approx((32 / 10.0) ** (1 / 3), rel=1e-9)
    rng = np.random.default_rng(3)
    q, v, a, j = rng.uniform(-1, 1, (4, 7)), rng.uniform(1, 2, 7), rng.uniform(2, 6, 7), rng.uniform(20, 60, 7)
    limits: dict[str, Any] = {"velocity": v, "acceleration": a, "jerk": j}
    durations = {}
    for straight in (True, False):
        law = ruckig_law(q, straight=straight, **limits)
        t = np.linspace(0.0, law.duration, 5001)
        jerk = np.diff(law.accelerations(t), axis=0) / np.diff(t)[:, None]
        for value, limit in ((law.velocities(t), v), (law.accelerations(t), a), (jerk, j)):
            assert 0.9 < np.abs(value / limit).max() < 1.0 + 1e-9
        assert law.positions(law.times) == pytest.approx(q, abs=1e-9)
        assert law.velocities(law.times) == pytest.approx(0.0, abs=1e-9)
        h = 1e-6
        inner = t[1:-1]
        by_difference = (law.positions(inner + h) - law.positions(inner - h)) / (2 * h)
        assert law.velocities(inner) == pytest.approx(by_difference, abs=1e-8)
        durations[straight] = law.duration
        piece = law.positions(np.linspace(law.times[1], law.times[2], 50)) - q[1]
        way = q[2] - q[1]
        off = np.abs(piece - np.outer(piece @ way / (way @ way), way)).max()
        assert off < 1e-12 if straight else off > 1e-3
    assert durations[False] < durations[True]
    moving = ruckig_law(q[:2], straight=False, start_velocity=0.5 * v, **limits)
    assert moving.velocities(0.0) == pytest.approx(0.5 * v)
    assert ruckig_law(q[[0, 0]], **limits).duration == 0.0
    for options, message in (
        ({"start_velocity": v}, "begins at rest"),
        ({"start_velocity": [np.nan] * 7}, "expected 7 finite"),
        ({"jerk": [[-1.0] * 7, [2.0] * 7]}, "symmetric"),
    ):
        with pytest.raises(kido.StateError, match=message):
            ruckig_law(q, **{**limits, **options})
    with pytest.raises(kido.StateError, match="at least two"):
        ruckig_law(q[:1], **limits)


def test_laws_are_consistent_motions():
    """Velocities and accelerations are differences of positions."""
    curve, v, a = random_curve(1)
    for options in ({}, {"jerk": 60.0}):
        law = time_optimal(curve, 300, velocity=v, acceleration=a, **options)
        t = np.linspace(0.01, 0.99, 97) * law.duration
        h = 1e-6
        d1 = (law.positions(t + h) - law.positions(t - h)) / (2 * h)
        assert np.abs(d1 - law.velocities(t)).max() < 1e-5 * np.abs(d1).max()
        inside = ~np.isclose(np.searchsorted(law.times, t - 2 * h), np.searchsorted(law.times, t + 2 * h)) == 0
        d2 = (law.velocities(t + h) - law.velocities(t - h)) / (2 * h)
        assert np.abs(d2 - law.accelerations(t))[inside].max() < 1e-3 * np.abs(d2).max()
        assert law.positions(law.duration) == pytest.approx(curve(1.0), abs=1e-9)


def test_jerk_is_limited():
    curve, v, a = random_curve(2)
    free = time_optimal(curve, 500, velocity=v, acceleration=a)
    for limit in (200.0, 20.0):
        law = time_optimal(curve, 500, velocity=v, acceleration=a, jerk=limit)
        t = np.linspace(0.0, law.duration, 3001)
        j = np.diff(law.accelerations(t), axis=0) / np.diff(t)[:, None]
        assert np.abs(j).max() < 1.02 * limit and np.abs(law.jerks(t)).max() < 1.001 * limit
        assert np.abs(law.velocities(t) / v).max() < 1.0 + 1e-6
        assert np.abs(law.accelerations(t) / a).max() < 1.001
        assert law.duration > free.duration
    # one coordinate from rest to rest, where only jerk counts: T = (32 d / j)^(1/3)
    law = time_optimal(line([1.0]), 1001, acceleration=1e3, jerk=10.0)
    assert (32 / 10.0) ** (1 / 3) <= law.duration < 1.6 * (32 / 10.0) ** (1 / 3)


def test_joint_forces_are_limited():
    arm = kido.load("arm7")
    rng = np.random.default_rng(0)
    low, high = np.maximum(arm.position_lower_limits, -2.0), np.minimum(arm.position_upper_limits, 2.0)
    curve = CubicSpline(np.arange(5) / 4, rng.uniform(0.5 * low, 0.5 * high, (5, arm.num_dofs)))
    q = curve(np.linspace(0, 1, 50))
    still = np.abs(Batch(arm).inverse_dynamics(q, 0 * q, 0 * q))
    limit = 1.3 * still.max(axis=0) + 1.0
    law = time_optimal(curve, 200, velocity=10.0, acceleration=50.0, force=limit, skeleton=arm)
    assert 1.0 - 1e-6 < excess(law, 10.0, 50.0, (arm, limit)) < 1.0 + LIMIT
    with pytest.raises(PlanningError, match="cannot be followed"):
        time_optimal(curve, 200, force=0.5 * still.max(axis=0) + 1e-3, skeleton=arm)


def test_mistakes_are_named():
    curve = random_curve(0)[0]
    for options, message in (
        ({}, "a limit of acceleration"),
        ({"acceleration": -1.0}, "below and above 0"),
        ({"acceleration": np.ones(3)}, "expected one number, 7"),
        ({"acceleration": np.nan}, "below and above"),
        ({"acceleration": 1.0, "points": 2}, "points"),
        ({"acceleration": 1.0, "points": [0.0, 0.5, 0.4]}, "ascending"),
        ({"acceleration": 1.0, "force": 1.0}, "expected the skeleton"),
        ({"acceleration": 1.0, "between": -1}, "between"),
        ({"acceleration": 1.0, "between": 0.5}, "between"),
        ({"acceleration": 1.0, "interval": (0.0, 0.5, 1.0)}, "interval: expected two ascending numbers"),
    ):
        with pytest.raises(kido.StateError, match=message):
            time_optimal(curve, **options)
    with pytest.raises(kido.StateError, match="no knots"):
        time_optimal(lambda s, nu=0: np.zeros((len(s), 1)), acceleration=1.0)
