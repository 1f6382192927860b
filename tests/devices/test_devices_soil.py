"""A wheel on soil in a world: a test rig against the integrals of Wong and Reece, and wheels on a slope."""

from __future__ import annotations

import numpy as np
import pytest
from device_bench import on_bench
from scipy.optimize import brentq
from test_devices_vehicles import wong

import kido
from kido.devices import WheelContact, WheelOnSoil
from kido.systems import System

WEIGHT, RADIUS = 100.0, 0.15


def rig(along: str, waves: object = None) -> tuple[System, kido.Skeleton, WheelOnSoil]:
    """A carriage, a wheel that may sink in, its axle driven."""
    light = kido.Inertia(1.0, moment=0.01 * np.eye(3))
    rest = kido.Inertia(WEIGHT / 9.81 - 2.0, moment=0.01 * np.eye(3))
    world, s = kido.World(time_step=2e-3), kido.Skeleton("rig")
    s.add_body("slider", kido.PrismaticJoint("along", axis=(1, 0, 0), actuator_type=along), inertia=light)
    s.add_body("carrier", kido.PrismaticJoint("up", axis=(0, 0, 1)), "slider", rest)
    axle = kido.RevoluteJoint("axle", axis=(0, 1, 0), actuator_type="velocity")
    s.add_body("wheel", axle, "carrier", kido.Inertia(2.0, moment=0.02 * np.eye(3)))
    world.add_skeleton(s)
    s.dof("up").position = RADIUS - 0.02
    system = System(world=world)
    wheel = system.add(WheelOnSoil("wheel", s.body("wheel"), waves))
    system.run(0.0)
    return system, s, wheel


@pytest.mark.parametrize("slip", [-0.3, 0.1, 0.3, 0.6])
def test_drawbar_pull_on_a_rig_is_that_of_wong_and_reece(slip: float) -> None:
    """The wheel sinks in until it carries its weight; then the pull is the integral's, whose nodes err by 1e-3."""
    system, s, wheel = rig("velocity")
    rim = 0.2 / (1.0 - slip) if slip >= 0.0 else 0.2 * (1.0 + slip)
    s.commands = [0.2, 0.0, rim / RADIUS]
    system.run(4.0)
    assert wheel["contact.slip"].value == pytest.approx(slip, abs=1e-6)
    assert wheel["soil.slip"].value == pytest.approx(slip, abs=1e-6)
    assert wheel["soil.load"].value == pytest.approx(WEIGHT, rel=1e-6)
    sinkage = brentq(lambda z: wong(z, slip)[0] - WEIGHT, 1e-3, 0.1)
    _, pull, torque = wong(sinkage, slip)
    assert wheel["contact.sinkage"].value == pytest.approx(sinkage, rel=2e-3)
    assert wheel["contact.pull"].value == pytest.approx(pull, abs=2e-3 * WEIGHT)
    assert wheel["soil.torque"].value == pytest.approx(torque, rel=2e-3)


@pytest.mark.parametrize("waves", [np.zeros((20, 4)), np.zeros((2, 3)), "abc", [[np.nan] * 4]])
def test_waves_that_are_none_are_named(waves) -> None:
    with pytest.raises(kido.ModelError, match="assembly 'wheel': waves: expected finite numbers"):
        rig("force", waves)


def test_a_locked_wheel_stands_on_a_slope() -> None:
    """At a slope of 5 %, the soil's shear holds it within its length of shearing; it creeps below 0.25 mm/s."""
    slope = np.array([[0.05 * 50.0, 1.0 / 50.0, 0.0, 0.0]])  # 50 m long, 5 % at x = 0
    system, s, _ = rig("force", slope)
    system.run(2.0)
    held = s.dof("along").position
    system.run(4.0)
    assert abs(held) < 0.025
    assert s.dof("along").position == pytest.approx(held, abs=1e-3)


def test_a_wheel_that_slides_aside_is_braked_by_the_soils_friction() -> None:
    """Pushed along its axle it meets tan(phi) times its load."""
    signals = {"position": (0.0, 0.0, RADIUS - 0.02), "velocity": (0.0, 5.0, 0.0), "rotation": np.eye(3)}
    contact = WheelContact()
    signals |= {"angular_velocity": np.zeros(3), "load": 80.0, "drawbar_pull": 0.0, "resistance": 0.0}
    on_bench(contact, **signals).run(0.0)
    aside = -80.0 * np.tan(np.radians(28.0)) * 5.0 / 5.02
    assert contact.force.value == pytest.approx([0.0, aside, 80.0], rel=1e-12, abs=1e-12)
    assert contact.sinkage.value == pytest.approx(0.02, abs=1e-15)
