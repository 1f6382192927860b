"""Sensors: what they read of known signals, and the statistics of their noise."""

from __future__ import annotations

import numpy as np
import pytest
from device_bench import give, on_bench

import kido
from kido.devices import (
    GPS,
    IMU,
    Altimeter,
    Encoder,
    ForceTorqueSensor,
    Potentiometer,
    Sensor,
    StarTracker,
    SunSensor,
    Tachometer,
)  # fmt: skip
from kido.systems import BodyPort, JointPort, System


def readings(system: System, port, number: int, period: float) -> np.ndarray:
    """Values of a port after each tick."""
    found = []
    for _ in range(number):
        system.run(period)
        found.append(port.value)
    return np.array(found)


def test_encoder_counts() -> None:
    encoder = Encoder(counts=1000.0, offset=0.2)
    system = on_bench(encoder, angle=lambda t: np.sin(3.0 * t))
    size = 2.0 * np.pi / 1000.0
    counts = np.floor((np.sin(3.0e-3 * np.arange(400)) - 0.2) / size)
    system.run(0.0005)
    positions, velocities = [encoder.position.value], [encoder.velocity.value]
    for _ in range(399):
        system.run(1e-3)
        positions.append(encoder.position.value)
        velocities.append(encoder.velocity.value)
    np.testing.assert_allclose(positions, size * counts + 0.2, atol=1e-14)
    np.testing.assert_allclose(velocities, [0.0, *(size * np.diff(counts) / 1e-3)], atol=1e-10)


def test_potentiometer_ends() -> None:
    for angle, volts in ((-4.0, 0.0), (0.0, 2.5), (np.pi / 2, 3.75), (4.0, 5.0)):
        sensor = Potentiometer()
        on_bench(sensor, measured=angle).run(0.01)
        assert sensor.reading.value == pytest.approx(volts, abs=1e-12)


def test_tachometer_lags() -> None:
    """Of a step: 1 - exp(-n T / lag) after n samples, exactly."""
    sensor = Tachometer(scale=0.5, lag=0.01)
    system = on_bench(sensor, measured=4.0)
    system.run(0.0005)
    for n in range(1, 40):
        assert sensor.reading.value == pytest.approx(2.0 * (1.0 - np.exp(-n * 1e-3 / 0.01)), rel=1e-12)
        system.run(1e-3)


def test_noise_has_the_density_that_was_asked_for() -> None:
    """20,000 readings: 1 % of the standard deviation is two of its standard errors."""
    sensor = Sensor(rate=100, noise=0.3)
    values = readings(on_bench(sensor, step=1e-2, measured=5.0), sensor.reading, 20_000, 0.01)
    assert values.std() == pytest.approx(0.3 * 10.0, rel=0.015)
    assert values.mean() == pytest.approx(5.0, abs=3.0 * 3.0 / np.sqrt(20_000))
    assert np.corrcoef(values[1:], values[:-1])[0, 1] == pytest.approx(0.0, abs=0.03)


def test_bias_walks_with_the_root_of_time() -> None:
    steps = []
    for seed in range(4):
        sensor = Sensor(rate=100, walk=0.2)
        values = readings(on_bench(sensor, step=1e-2, seed=seed, measured=0.0), sensor.bias, 5_000, 0.01)
        steps.append(np.diff(values))
    assert np.concatenate(steps).std() == pytest.approx(0.2 * 0.1, rel=0.02)


def test_readings_come_in_steps_and_end() -> None:
    for x, reading in ((0.26, 0.3), (0.24, 0.2), (7.0, 1.0), (-7.0, -0.5)):
        sensor = Sensor(resolution=0.1, least=-0.5, largest=1.0)
        on_bench(sensor, measured=x).run(0.01)
        assert sensor.reading.value == pytest.approx(reading, abs=1e-12)


def falling(spin: float, gravity: float = -9.81) -> tuple[kido.World, System, IMU]:
    world = kido.World(time_step=1e-3, gravity=(0, 0, gravity))
    body = kido.Skeleton("body")
    body.add_body("body", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(2.0, (0.1, 0.1, 0.2)))
    world.add_skeleton(body)
    body.velocities = [0.0, 0.0, spin, 1.0, 0.0, 0.0]
    system = System(world=world)
    port, imu = system.add(BodyPort(body.body(0), offset=(0.5, 0.0, 0.0))), system.add(IMU(rate=1000))
    for name in ("rotation", "velocity", "angular_velocity"):
        system.connect(port.port(name), imu.port(name))
    return world, system, imu


def test_imu_in_free_fall_feels_what_turning_makes() -> None:
    """At r = 0.5 m from the axis w^2 r towards it: a mean over the period before, so turned back by half of w T."""
    w, T = 4.0, 1e-3
    _, system, imu = falling(w)
    system.run(0.2)
    np.testing.assert_allclose(imu.angular_rate.value, [0, 0, w], atol=1e-12)
    size = w * w * 0.5 * np.sin(w * T / 2) / (w * T / 2)
    np.testing.assert_allclose(
        imu.specific_force.value, [-size * np.cos(w * T / 2), size * np.sin(w * T / 2), 0.0], atol=1e-9
    )


def test_imu_at_rest_feels_the_ground() -> None:
    imu = IMU()
    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    on_bench(imu, step=5e-3, rotation=turn, velocity=np.zeros(3), angular_velocity=np.zeros(3)).run(0.1)
    np.testing.assert_allclose(imu.specific_force.value, turn.T @ [0, 0, 9.81], atol=1e-12)


def test_gps_error_wanders_and_returns() -> None:
    """Standard deviation `wander`, correlation exp(-t / memory)."""
    gps = GPS(noise=(0, 0, 0), velocity_noise=0.0, wander=(2.0, 2.0, 2.0), memory=1.0)
    system = on_bench(gps, step=0.1, position=np.zeros(3), velocity=np.zeros(3))
    system.run(5.0)
    values = readings(system, gps.fix, 20_000, 0.1)
    assert values.std() == pytest.approx(2.0, rel=0.03)
    kept = [np.corrcoef(values[5:, k], values[:-5, k])[0, 1] for k in range(3)]
    assert np.mean(kept) == pytest.approx(np.exp(-0.5), abs=0.02)


def test_star_tracker_measures_rotations() -> None:
    tracker = StarTracker(across=1e-3, about=5e-3, boresight=(0.0, 0.0, 1.0))
    system = on_bench(tracker, step=0.1, rotation=np.eye(3))
    found = readings(system, tracker.measured, 3_000, 0.2)
    np.testing.assert_allclose(found @ found.transpose(0, 2, 1), np.broadcast_to(np.eye(3), found.shape), atol=1e-14)
    angles = np.stack([found[:, 2, 1], found[:, 0, 2], found[:, 1, 0]], axis=1)
    np.testing.assert_allclose(angles.std(0), [1e-3, 1e-3, 5e-3], rtol=0.05)


def test_sun_sensor_sees_a_cone() -> None:
    for angle, light, visible in ((0.9, 1.0, 1.0), (1.2, 1.0, 0.0), (0.9, 0.2, 0.0)):
        sensor = SunSensor(noise=0.0)
        sun = np.array([np.cos(angle), np.sin(angle), 0.0])
        on_bench(sensor, rotation=np.eye(3), sun=sun, light=light).run(0.1)
        assert sensor.visible.value == visible
        np.testing.assert_allclose(sensor.direction.value, visible * sun, atol=1e-14)


def test_altimeter_beyond_its_range() -> None:
    for height, valid in ((12.344, 1.0), (150.0, 0.0), (-1.0, 0.0)):
        sensor = Altimeter(noise=0.0, range=100.0)
        on_bench(sensor, position=np.array([3.0, 4.0, height + 2.0]), ground=2.0).run(0.1)
        assert sensor.valid.value == valid
        assert sensor.height.value == pytest.approx(12.34 if valid else 0.0, abs=1e-12)


def spun() -> tuple[System, kido.Skeleton, ForceTorqueSensor]:
    """A tool of 2 kg behind a weld at 1 m from a vertical axis, its centre of mass 0.1 m further."""
    world = kido.World(time_step=1e-3)
    arm = kido.Skeleton("arm")
    rod = arm.add_body("rod", kido.RevoluteJoint("axle", (0, 0, 1)), None, kido.Inertia.from_diagonal(1.0, (0.1,) * 3))
    arm.add_body("tool", kido.WeldJoint("wrist", transform_from_parent=[1.0, 0, 0]), rod,
                 kido.Inertia(2.0, (0.1, 0, 0), 0.01 * np.eye(3)))  # fmt: skip
    world.add_skeleton(arm)
    system = System(world=world)
    return system, arm, system.add(ForceTorqueSensor(arm.joint("wrist")))


def test_a_wrist_carries_weight_and_keeps_it_on_its_circle() -> None:
    """-m w^2 r inwards, m g up, and m g 0.1 m about y; with a torque M on the axle m r M / I across."""
    system, arm, wrist = spun()
    arm.velocities = [3.0]
    system.run(0.01)
    np.testing.assert_allclose(wrist.force.value, [-2.0 * 9.0 * 1.1, 0.0, 2.0 * 9.81], atol=1e-9)
    np.testing.assert_allclose(wrist.torque.value, [0.0, -2.0 * 9.81 * 0.1, 0.0], atol=1e-9)
    axle = system.add(JointPort(arm.dofs[0], "axle"))
    give(system, axle.force, 0.7)
    system.run(0.001)
    inertia = 0.1 + 0.01 + 2.0 * 1.1**2
    assert wrist.force.value[1] == pytest.approx(2.0 * 1.1 * 0.7 / inertia, rel=1e-9)
    assert wrist.torque.value[2] == pytest.approx((0.01 + 2.0 * 1.1 * 0.1) * 0.7 / inertia, rel=1e-9)


def test_a_scale_weighs_what_lies_on_it() -> None:
    """A plate of 1 kg on a weld, and a box of 3 kg that came to rest 0.05 m off its middle."""
    world = kido.World(time_step=1e-3)
    scale = kido.Skeleton("scale")
    plate = scale.add_body("plate", kido.WeldJoint("load_cell"), None, kido.Inertia(1.0))
    plate.add_shape(kido.Box((1.0, 1.0, 0.1)))
    box = kido.Skeleton("box")
    body = box.add_body("box", kido.FreeJoint(), None, kido.Inertia.from_diagonal(3.0, (0.02, 0.02, 0.02)))
    body.add_shape(kido.Box((0.2, 0.2, 0.2)))
    box.positions = [0, 0, 0, 0.05, 0, 0.15]
    for skeleton in (scale, box):
        world.add_skeleton(skeleton)
    system = System(world=world)
    cell = system.add(ForceTorqueSensor(scale.joint("load_cell")))
    system.run(0.5)
    np.testing.assert_allclose(cell.force.value, [0, 0, 4.0 * 9.81], atol=1e-5)
    np.testing.assert_allclose(cell.torque.value, [0, -3.0 * 9.81 * 0.05, 0], atol=1e-5)


def test_forces_of_other_models_are_carried_too() -> None:
    """A steady pull of 5 N on the tool, given to its body and to the sensor; noise and walks as of other sensors."""
    system, arm, wrist = spun()
    arm.dofs[0].damping = 1e9
    port = system.add(BodyPort(arm.body("tool"), name="tool"))
    pull = give(system, port.force, np.array([0.0, 0.0, -5.0]))
    system.connect(pull.y, wrist.given_force)
    system.run(0.01)
    np.testing.assert_allclose(wrist.force.value, [0, 0, 2.0 * 9.81 + 5.0], atol=1e-6)
    wrist.set_parameters(force_noise=0.01, torque_walk=0.1)
    found, walks = [], []
    for _ in range(2000):
        system.run(1e-3)
        found.append(wrist.force.value)
        walks.append(wrist.torque_bias.value)
    np.testing.assert_allclose(np.std(found, axis=0), 0.01 / np.sqrt(1e-3), rtol=0.06)
    np.testing.assert_allclose(np.diff(walks, axis=0).std(axis=0), 0.1 * np.sqrt(1e-3), rtol=0.06)


def test_a_sensor_of_no_joint_is_refused() -> None:
    with pytest.raises(kido.ModelError, match="model 'forcetorquesensor': expected a joint of a skeleton, got 'wrist'"):
        ForceTorqueSensor("wrist")
