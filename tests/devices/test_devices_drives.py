"""Motors, drives and batteries, against closed forms and balances of energy."""

from __future__ import annotations

import numpy as np
import pytest
from device_bench import give, on_bench
from scipy.integrate import solve_ivp

import kido
from kido.devices import PID, Battery, BrushlessMotor, CascadedDrive, DCMotor, FieldControl, Gear, JointFriction, Servo
from kido.errors import ModelError
from kido.systems import Input, JointPort, Model, Parameter, State, System

COLD = {"heat_capacity": 1e15, "thermal_resistance": 1e15}  # windings that do not warm


class Rotor(Model):
    inertia, damping = Parameter(0.01, "kg m^2"), Parameter(0.1, "N m s/rad")
    torque = Input("N m")
    speed = State("rad/s")

    def derivatives(self):
        return {"speed": (self.torque - self.damping * self.speed) / self.inertia}


@pytest.mark.parametrize(
    "time, speed", [(0.1, 0.00685553718061105), (1.0, 0.0830371111708124), (2.0, 0.0976234889033721)]
)
def test_dc_motor_starts(time, speed) -> None:
    """J .01, b .1, K .01, R 1, L .5 at 1 V, by the exponential of its matrix; RK4 at 1 ms is off by 8e-13."""
    motor, rotor = DCMotor(resistance=1.0, inductance=0.5, constant=0.01, **COLD), Rotor()
    system = on_bench(motor, voltage=1.0)
    system.add(rotor)
    system.connect(rotor.speed, motor.speed)
    system.connect(motor.torque, rotor.torque)
    system.run(time)
    assert rotor.speed.value == pytest.approx(speed, abs=1e-12)


def test_a_stalled_motor_warms_to_where_it_loses_what_it_takes() -> None:
    """T - T_a = R_th V^2 / R(T), a quadratic equation."""
    motor = DCMotor(resistance=1.0, inductance=0.1, heat_capacity=0.5, thermal_resistance=10.0, hottest=1000.0)
    system = on_bench(motor, step=1e-2, voltage=2.0, speed=0.0)
    system.run(120.0)
    a = motor.temperature_coefficient
    rise = (-1.0 + np.sqrt(1.0 + 4.0 * a * 10.0 * 4.0)) / (2.0 * a)
    assert motor.temperature.value - 298.15 == pytest.approx(rise, rel=1e-9)


def test_a_hot_motor_is_derated() -> None:
    """It settles where the share of voltage that is passed on heats it as much as it loses."""
    motor = DCMotor(
        resistance=1.0, inductance=0.1, heat_capacity=0.5, thermal_resistance=10.0, temperature_coefficient=0.0,
        hottest=328.15,
    )  # fmt: skip
    system = on_bench(motor, step=1e-2, voltage=12.0, speed=0.0)
    system.run(120.0)
    T = motor.temperature.value
    share = (328.15 - T) / 20.0
    assert 308.15 < T < 328.15
    assert pytest.approx(10.0 * (12.0 * share) ** 2, rel=1e-9) == T - 298.15


def test_brushless_motor_turns_electrical_power_into_torque_heat_and_field() -> None:
    """Integral of power = 3/2 int R i^2 + int torque w + change of 3/4 (L_d i_d^2 + L_q i_q^2), at constant speed."""
    w, p, ratio = 30.0, 4, 1.7
    motor = BrushlessMotor(
        resistance=0.3, inductance=2e-3, pole_pairs=p, flux=0.01, saliency=ratio, supply=1e6,
        temperature_coefficient=0.0, **COLD,
    )  # fmt: skip
    system = on_bench(motor, step=1e-4, direct_voltage=-2.0, quadrature_voltage=6.0, speed=w)

    def rates(_, y):
        i_d, i_q, *_ = y
        L_d, L_q = 2e-3, ratio * 2e-3
        torque = 1.5 * p * (0.01 * i_q + (L_d - L_q) * i_d * i_q)
        return [
            (-2.0 - 0.3 * i_d + p * w * L_q * i_q) / L_d, (6.0 - 0.3 * i_q - p * w * (L_d * i_d + 0.01)) / L_q,
            1.5 * (-2.0 * i_d + 6.0 * i_q), 1.5 * 0.3 * (i_d**2 + i_q**2), torque * w,
        ]  # fmt: skip

    exact = solve_ivp(rates, (0, 0.05), [0.0] * 5, rtol=1e-11, atol=1e-12).y[:, -1]
    system.run(0.05)
    i_d, i_q = motor.direct_current.value, motor.quadrature_current.value
    assert [i_d, i_q] == pytest.approx(exact[:2], abs=1e-8)
    field = 0.75 * (2e-3 * i_d**2 + ratio * 2e-3 * i_q**2)
    assert exact[2] == pytest.approx(exact[3] + exact[4] + field, rel=1e-9)
    assert motor.torque.value * w + 1.5 * 0.3 * (i_d**2 + i_q**2) == pytest.approx(
        rates(0, exact)[3] + rates(0, exact)[4]
    )


def test_brushless_motor_has_no_more_than_its_supply() -> None:
    motor = BrushlessMotor(resistance=1.0, inductance=1e-3, supply=12.0, temperature_coefficient=0.0, **COLD)
    system = on_bench(motor, step=1e-4, direct_voltage=30.0, quadrature_voltage=40.0, speed=0.0)
    system.run(0.05)  # 50 time constants
    size = np.hypot(motor.direct_current.value, motor.quadrature_current.value)
    assert size == pytest.approx(12.0 / np.sqrt(3.0), rel=1e-9)
    assert motor.direct_current.value / motor.quadrature_current.value == pytest.approx(0.75, rel=1e-9)


def field_driven(speed: float, wanted: float, **control: float) -> tuple[System, BrushlessMotor, FieldControl]:
    same = {"resistance": 0.3, "inductance": 1e-3, "pole_pairs": 4, "flux": 0.01, "saliency": 1.5, "supply": 60.0}
    motor = BrushlessMotor(temperature_coefficient=0.0, **COLD, **same)
    system = on_bench(motor, step=2e-5, speed=speed)
    drive = system.add(FieldControl(rate=50_000, **{**same, **control}))
    give(system, drive.wanted, wanted)
    give(system, drive.speed, speed)
    for name in ("direct_current", "quadrature_current"):
        system.connect(motor.port(name), drive.port(name))
    for name in ("direct_voltage", "quadrature_voltage"):
        system.connect(drive.port(name), motor.port(name))
    return system, motor, drive


def test_field_control_follows_the_torque_with_its_lag() -> None:
    """1 - exp(-a t) at any speed, but for half of a sample and the coupling within one: 2 % at a T = 0.02."""
    for speed in (0.0, 200.0):
        system, motor, _ = field_driven(speed, 0.3, bandwidth=1000.0)
        for time in (0.5e-3, 1e-3, 2e-3):
            system.run(round(time - system.time, 9))
            assert motor.torque.value == pytest.approx(0.3 * (1.0 - np.exp(-1000.0 * time)), abs=0.02 * 0.3)
        system.run(0.05)
        assert motor.torque.value == pytest.approx(0.3, rel=1e-6)
        assert motor.direct_current.value == pytest.approx(0.0, abs=1e-6)


def test_field_control_ends_where_its_supply_does() -> None:
    """Above the speed at which the magnets' voltage alone is all there is it cannot drive; limits of current hold."""
    system, motor, drive = field_driven(1000.0, 0.3)
    system.run(0.05)
    size = np.hypot(drive.direct_voltage.value, drive.quadrature_voltage.value)
    assert size == pytest.approx(60.0 / np.sqrt(3.0), rel=1e-9)
    assert motor.torque.value < 0.3
    system, motor, _ = field_driven(100.0, 5.0, largest_current=2.0)
    system.run(0.05)
    assert motor.torque.value == pytest.approx(1.5 * 4 * 0.01 * 2.0, rel=1e-6)


@pytest.mark.parametrize("torque, speed", [(0.2, 1.5), (-0.2, -1.5), (0.2, -1.5), (-0.2, 1.5)])
def test_gear_loses_a_share_of_the_power_either_way(torque, speed) -> None:
    gear = Gear(ratio=50.0, efficiency=0.8)
    system = on_bench(gear, motor_torque=torque, joint_speed=speed)
    system.run(0.01)
    motor, joint = torque * gear.motor_speed.value, gear.joint_torque.value * speed
    taken, given = (motor, joint) if motor > 0 else (-joint, -motor)
    assert given == pytest.approx(0.8 * taken, rel=1e-12)
    assert gear.motor_speed.value == pytest.approx(50.0 * speed)


def test_joint_friction_is_that_of_stribeck() -> None:
    law = JointFriction(coulomb=1.0, breakaway=1.6, stribeck_speed=0.2, smooth_speed=1e-4, viscous=0.3)
    for w in (-1.0, -0.1, 0.05, 0.2, 3.0):
        system = on_bench(JointFriction(**law.parameters), speed=w)
        system.run(0.001)
        expected = -np.sign(w) * (1.0 + 0.6 * np.exp(-((w / 0.2) ** 2))) - 0.3 * w
        assert system["jointfriction.torque"].value == pytest.approx(expected, rel=1e-12)


def test_pid_does_not_wind_up() -> None:
    """Held at its limit for a second, and back by 1 ms after the error turns."""
    control = PID(kp=2.0, ki=50.0, least=-1.0, largest=1.0)
    system = on_bench(control, wanted=lambda t: np.where(t < 1.0, 1.0, -1.0), measured=0.0)
    system.run(0.9995)
    assert control.command.value == 1.0
    assert control.integral.value == 0.0  # k_p alone is beyond the limit
    system.run(0.002)
    assert control.command.value == -1.0


def test_pid_integrates_within_limits() -> None:
    control = PID(kp=0.0, ki=3.0)
    system = on_bench(control, wanted=0.5, measured=0.1)
    system.run(0.9995)
    assert control.command.value == pytest.approx(3.0 * 0.4 * 1.0, rel=1e-12)  # 1,000 ticks, that at 0 among them


@pytest.mark.parametrize("velocity, torque", [(0.0, 10.0), (3.0, 5.0), (6.0, 0.0), (9.0, 0.0), (-6.0, 10.0)])
def test_servo_has_less_torque_the_faster_it_runs(velocity, torque) -> None:
    servo = Servo(kp=1000.0, kd=0.0)
    on_bench(servo, wanted=1.0, position=0.0, velocity=velocity).run(0.001)
    assert servo.torque.value == pytest.approx(torque, abs=1e-12)


def test_battery_at_constant_current() -> None:
    battery = Battery(capacity=360.0)
    system = on_bench(battery, step=1e-2, current=2.0)
    for time in (5.0, 60.0):
        system.run(time - system.time)
        inside = 12.6 - 2.6 * 2.0 * time / 360.0
        slow = 0.02 * 2.0 * (1.0 - np.exp(-time / (0.02 * 1000.0)))
        assert battery.voltage.value == pytest.approx(inside - 0.05 * 2.0 - slow, rel=1e-12)
    system.run(130.0)
    assert battery.voltage.value == 0.0
    assert battery.charge.value == pytest.approx(0.0, abs=1e-4)


def test_a_full_battery_is_charged_no_further() -> None:
    battery = Battery(capacity=10.0, charge=0.5)
    system = on_bench(battery, step=1e-2, current=lambda t: np.where(t < 10.0, -5.0, 5.0))
    system.run(0.5)
    assert battery.charge.value == pytest.approx(0.75, abs=1e-12)
    system.run(9.5)
    assert battery.charge.value == pytest.approx(1.0, abs=5e-3)  # a step's charge
    system.run(1.0)
    assert battery.charge.value == pytest.approx(0.5, abs=5e-3)
    for wrong in (2.0, -0.1):
        with pytest.raises(ModelError, match="model 'battery': state 'charge': expected a number from 0 to 1"):
            Battery(charge=wrong)


def test_a_gear_at_rest_neither_loses_nor_gains() -> None:
    """Between eta and 1 / eta of the torque without losses, which it is at rest, and falls as the drive takes over."""
    found = []
    for speed in (-1.0, -1e-3, 0.0, 1e-3, 1.0):
        gear = Gear(ratio=1.0, efficiency=0.1)
        on_bench(gear, motor_torque=1.0, joint_speed=speed).run(0.0)
        found.append(gear.joint_torque.value)
    assert found[0] == pytest.approx(10.0, rel=1e-12) and found[4] == pytest.approx(0.1, rel=1e-12)
    assert found[2] == 1.0
    assert found == sorted(found, reverse=True)


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(kido.ModelError, match=r"model 'gear': parameter 'efficiency': expected numbers from 0.01 to 1"):
        Gear(efficiency=1.2)
    system = System()
    motor, gear = system.add(DCMotor()), system.add(Gear())
    with pytest.raises(kido.ModelError, match=r"dcmotor.power.*gear.motor_torque"):
        system.connect(motor.power, gear.motor_torque)
    with pytest.raises(kido.KidoError, match=r"dcmotor\.voltage"):
        system.run(0.1)


# Loops within loops -------------------------------------------------------------------------------------------------


def test_two_loops_at_two_rates_on_a_joint() -> None:
    """A velocity loop of 1 kHz within a position loop of 100 Hz, on 1 kg: digits of the sampled system, exactly."""
    world = kido.World(gravity=(0, 0, 0), time_step=1e-3)
    slide = kido.Skeleton("slide")
    slide.add_body("slide", kido.PrismaticJoint("slide"), inertia=kido.Inertia(1.0))
    world.add_skeleton(slide)
    system = System(world=world)
    joint = system.add(JointPort(slide.dofs[0], "joint"))
    inner, outer = system.add(PID("inner", kp=60.0, rate=1000)), system.add(PID("outer", kp=4.0, rate=100))
    give(system, outer.port("wanted"), 1.0)
    for source, target in (
        (joint.position, outer.measured), (outer.command, inner.wanted), (joint.velocity, inner.measured),
        (inner.command, joint.force),
    ):  # fmt: skip
        system.connect(source, target)
    system.run(1.0)
    assert slide.positions[0] == pytest.approx(0.986710613140899, abs=1e-12)
    assert slide.velocities[0] == pytest.approx(0.0586309845526141, abs=1e-12)


def test_a_current_loop_cancels_the_pole_of_its_winding() -> None:
    """i = i_0 (1 - exp(-t / lag)), of a rotor that is held; sampled at 50 kHz, a fiftieth of the lag."""
    motor, loop = (
        DCMotor(resistance=0.5, inductance=2e-3, temperature_coefficient=0.0),
        PID(kp=2.0, ki=500.0, rate=50000),
    )
    system = on_bench(motor, step=2e-5, speed=0.0)
    system.add(loop)
    give(system, loop.port("wanted"), 3.0)
    system.connect(motor.current, loop.measured)
    system.connect(loop.command, motor.voltage)
    for k in (1, 2, 4):
        system.run(round(k * 1e-3 - system.time, 9))
        assert motor.current.value == pytest.approx(3.0 * (1.0 - np.exp(-k)), rel=0.02)
    system.run(0.02)
    assert motor.current.value == pytest.approx(3.0, abs=1e-4)  # the pole that was not quite cancelled, of 4 ms


@pytest.mark.parametrize("known", [False, True])
def test_a_cascaded_drive_lags_a_steady_motion_by_its_speed_over_its_gain(known) -> None:
    """The velocity loop's integral leaves no error of velocity; with the speed known beforehand none is left at all."""
    world = kido.World(gravity=(0, 0, 0), time_step=2e-4)
    wheel = kido.Skeleton("wheel")
    wheel.add_body("wheel", kido.RevoluteJoint("axle"), inertia=kido.Inertia.from_diagonal(1.0, (2.0, 2.0, 2.0)))
    world.add_skeleton(wheel)
    system = System(world=world)
    drive = system.add(CascadedDrive("drive", wheel.joints[0], ratio=80.0, inertia=2.0, bandwidth=60.0))
    give(system, drive["wanted"], lambda t: 0.4 * t)
    if known:
        give(system, drive["wanted_rate"], 0.4)
    system.run(3.0)
    seen = []
    for _ in range(50):
        system.run(0.02)
        seen.append(0.4 * system.time - wheel.positions[0])
    # The position loop holds its command for 5 ms, in which the wish goes on: half of that on the average, and an
    # encoder's tick. At multiples of the period the wish is as it was sampled. A count is 2e-5 rad.
    assert np.mean(seen) == pytest.approx(0.0 if known else 0.4 / 15.0, abs=4e-4)
    assert wheel.velocities[0] == pytest.approx(0.4, abs=2e-3)


def test_an_arm_of_seven_cascaded_drives_follows_a_motion() -> None:
    """Under gravity: joints of a sine wave are off by milliradians, and by wanted' / k_x if the rate is not told."""
    off = {}
    for known in (True, False):
        world = kido.World(time_step=2e-4)
        arm = world.add_skeleton(kido.load_skeleton("arm7"))
        start = np.array([kido.models.start_positions("arm7").get(d.name, 0.0) for d in arm.dofs])
        arm.positions = start
        system = System(world=world)
        M = np.diag(arm.mass_matrix)
        log = []
        for k, dof in enumerate(arm.dofs):
            drive = system.add(CascadedDrive(f"drive_{k}", dof, 50.0 if k < 4 else 20.0, max(M[k], 0.02)))
            q = start[k]
            give(system, drive["wanted"], lambda t, q=q: q + 0.3 * (1.0 - np.cos(2.0 * t)))
            if known:
                give(system, drive["wanted_rate"], lambda t: 0.6 * np.sin(2.0 * t))
        system.run(1.0)
        for _ in range(100):
            system.run(0.02)
            log.append(start + 0.3 * (1.0 - np.cos(2.0 * system.time)) - arm.positions)
        off[known] = np.abs(log).max(axis=0)
    assert off[True].max() < 0.015
    np.testing.assert_allclose(off[False], 0.6 / 15.0, rtol=0.2)


def test_drives_that_cannot_be() -> None:
    arm = kido.load_skeleton("arm7")
    for wrong in ({"ratio": 0.0}, {"inertia": -1.0}, {"bandwidth": np.nan}):
        with pytest.raises(ModelError, match=f"'drive': {next(iter(wrong))}"):
            CascadedDrive("drive", arm.dofs[0], **wrong)
    for wrong in ({"rates": (1, 2)}, {"rates": 5}, {"largest_current": "a"}, {"supply": -1.0}):
        with pytest.raises(ModelError, match=f"'drive': {next(iter(wrong))}: expected"):
            CascadedDrive("drive", arm.dofs[0], **wrong)
