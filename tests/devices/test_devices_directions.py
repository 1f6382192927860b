"""Directions of devices: their length does not count, and what is none is refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from device_bench import on_bench
from scipy.spatial.transform import Rotation

import kido
from kido.devices import (
    ControlMomentGyro,
    EigenaxisSlew,
    Propeller,
    ReactionWheel,
    StarTracker,
    SunSensor,
    Thruster,
    WheelMotor,
    WheelSet,
)
from kido.environment import Plate, Wing

PARTS = [
    (ReactionWheel, "axis"), (EigenaxisSlew, "axis"), (WheelMotor, "axis"), (Propeller, "axis"),
    (ControlMomentGyro, "gimbal"), (ControlMomentGyro, "spin"), (Thruster, "direction"), (StarTracker, "boresight"),
    (SunSensor, "boresight"), (Plate, "normal"), (Wing, "chord"), (Wing, "normal"),
]  # fmt: skip


@pytest.mark.parametrize("kind, name", PARTS)
def test_directions_are_made_unit_vectors(kind, name) -> None:
    part = kind("part", **{name: (0.0, 3.0, 4.0)})
    np.testing.assert_allclose(part.parameter(name), (0.0, 0.6, 0.8), rtol=1e-15)
    part.set_parameters(**{name: (0.0, -0.3, -0.4)})
    np.testing.assert_allclose(part.parameter(name), (0.0, -0.6, -0.8), rtol=1e-15)
    with pytest.raises(kido.ModelError, match=f"model 'part': parameter '{name}': expected a direction"):
        part.set_parameters(**{name: (0.0, 0.0, 0.0)})
    with pytest.raises(kido.ModelError, match=f"parameter '{name}': expected 3 numbers"):
        kind("part", **{name: 1.0})
    np.testing.assert_allclose(part.parameter(name), (0.0, -0.6, -0.8), rtol=1e-15)


def test_what_long_axes_do_is_that_of_short_ones() -> None:
    slew = EigenaxisSlew(axis=(0.0, 0.0, 2.0), angle=1.0, duration=1.0)
    on_bench(slew).run(1.0)
    np.testing.assert_allclose(slew.rotation.value, Rotation.from_rotvec((0, 0, 1)).as_matrix(), atol=1e-12)
    wheel = ReactionWheel(axis=(0.0, 0.0, 2.0))
    on_bench(wheel, command=1.0, rotation=np.eye(3), angular_velocity=np.zeros(3)).run(0.0)
    np.testing.assert_array_equal(wheel.torque.value, (0.0, 0.0, -1.0))


def test_a_gyroscope_s_wheel_is_across_its_gimbal() -> None:
    """The part along the gimbal does not count; where there is no other, there is no gyroscope."""
    given = {"command": 0.5, "rotation": np.eye(3), "angular_velocity": (0.1, 0.2, 0.3)}
    across, askew = ControlMomentGyro("across", spin=(1, 0, 0)), ControlMomentGyro("askew", spin=(1, 0, 1))
    for gyro in (across, askew):
        on_bench(gyro, **given).run(0.0)
    np.testing.assert_allclose(askew.torque.value, across.torque.value, atol=1e-15)
    with pytest.raises(kido.ModelError, match="spin: expected an axis across the gimbal"):
        ControlMomentGyro(spin=(0, 0, 2))
    with pytest.raises(kido.ModelError, match="spin: expected an axis across the gimbal"):
        across.set_parameters(gimbal=(1, 0, 0))
    across.set_parameters(gimbal=(1, 0, 0), spin=(0, 1, 0))


def test_wheels_of_a_set_share_by_directions() -> None:
    arm = kido.load_skeleton("arm7")
    long, short = (WheelSet("set", list(arm.dofs[:3]), length * np.eye(3), 0.1) for length in (2.0, 1.0))
    for a, b in zip(long.motors, short.motors, strict=True):
        np.testing.assert_allclose(a.share, b.share, atol=1e-15)
    with pytest.raises(kido.ModelError, match="assembly 'set': joints: expected a sequence of joints, got 5"):
        WheelSet("set", 5, np.eye(3), 0.1)
