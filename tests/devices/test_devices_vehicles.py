"""What drives vehicles: wheels in space and on soil, thrusters, propellers, parachutes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from device_bench import give, on_bench
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import kido
from kido.devices import (
    Ackermann,
    ControlMomentGyro,
    DCMotor,
    DeadReckoning,
    EnergyMeter,
    Gear,
    Parachute,
    Propeller,
    PurePursuit,
    ReactionWheel,
    SoilWheel,
    Thruster,
    WayPoints,
    WheelDrive,
)
from kido.systems import BodyPort, Input, JointPort, Model, Output, State, System


class Hub(Model):
    """A body that turns about z alone."""

    torque = Input("N m", 3)
    speed, angle = State("rad/s", 0.35), State("rad")
    angular_velocity = Output("rad/s", 3)

    def outputs(self):
        return {"angular_velocity": (0.0, 0.0, self.speed)}

    def derivatives(self):
        return {"speed": self.torque[2] / 2.0, "angle": self.speed}


def test_reaction_wheel() -> None:
    """Basilisk's case by hand: hub of 2 kg m^2, wheel of 100 N m s at 6,000 rpm, 0.2 N m from 5 s on."""
    speed = 6000.0 * 2.0 * np.pi / 60.0
    inertia = 100.0 / speed
    start = 10.471975511965976
    wheel = ReactionWheel(inertia=inertia, axis=(0, 0, 1), momentum=inertia * (start + 0.35))
    system = on_bench(wheel, step=1e-2, rotation=np.eye(3))
    command = give(system, wheel.port("command"), 0.0)
    hub = system.add(Hub())
    system.connect(hub.angular_velocity, wheel.angular_velocity)
    system.connect(wheel.torque, hub.torque)
    system.run(5.0)
    assert wheel.speed.value == pytest.approx(start, abs=1e-12)
    command.value = 0.2
    system.run(5.0)
    assert hub.speed.value == pytest.approx(-0.15, abs=1e-12)
    assert hub.angle.value == pytest.approx(0.35 * 10.0 - 0.05 * 25.0, abs=1e-11)
    assert wheel.speed.value == pytest.approx(17.255160819145562, abs=1e-11)


def test_reaction_wheel_keeps_momentum_of_a_free_body() -> None:
    """Body and wheel turn in all directions; the wheel's axial inertia is not the body's. First order: forces hold."""
    inertia, axis = 0.02, np.array([0.6, 0.0, 0.8])
    errors = []
    for h in (2e-3, 1e-3):
        world = kido.World(gravity=(0, 0, 0), time_step=h)
        body = kido.Skeleton("body")
        moment = np.diag([0.3, 0.4, 0.5])
        body.add_body("body", kido.FreeJoint(), inertia=kido.Inertia(1.0, moment=moment))
        world.add_skeleton(body)
        body.velocities = [0.5, -0.3, 0.2, 0, 0, 0]
        wheel = ReactionWheel(inertia=inertia, axis=axis, momentum=1.0)
        system = System(world=world)
        port = system.add(BodyPort(body.body(0), name="port"))
        system.add(wheel)
        system.connect(port.rotation, wheel.rotation)
        system.connect(port.angular_velocity, wheel.angular_velocity)
        system.connect(wheel.torque, port.torque)
        give(system, wheel.port("command"), 0.1)

        def total(body=body, moment=moment, wheel=wheel):
            R = body.body(0).world_transform[:3, :3]
            w = R.T @ body.body(0).angular_velocity()
            return R @ (moment @ w + wheel.momentum.value * axis)

        system.run(0.0)
        before = total()
        system.run(1.0)
        errors.append(np.linalg.norm(total() - before))
    assert errors[1] < 2e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("speed, command, driven", [(9.0, 1.0, 0.3), (10.5, 1.0, 0.0), (10.5, -1.0, -0.3)])
def test_reaction_wheel_within_its_limits(speed, command, driven) -> None:
    wheel = ReactionWheel(inertia=1.0, largest_torque=0.3, largest_speed=10.0, momentum=speed)
    on_bench(wheel, command=command, rotation=np.eye(3), angular_velocity=np.zeros(3)).run(0.0)
    np.testing.assert_allclose(wheel.torque.value, [-driven, 0, 0], atol=1e-14)


def test_control_moment_gyro_gives_what_its_momentum_loses() -> None:
    """Torque = -d(R h)/dt by central differences, of a body that turns with w while the gimbal does."""
    rng = np.random.default_rng(2)
    gimbal, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    g, s = gimbal[:, 0], gimbal[:, 1]
    R, w, angle, rate, H = Rotation.random(random_state=3).as_matrix(), rng.normal(size=3), 0.7, 0.9, 2.5
    gyro = ControlMomentGyro(momentum=H, gimbal=g, spin=s, angle=angle)
    on_bench(gyro, command=rate, rotation=R, angular_velocity=w).run(0.0)

    def momentum(t):
        d = angle + rate * t
        return Rotation.from_rotvec(w * t).as_matrix() @ R @ (H * (np.cos(d) * s + np.sin(d) * np.cross(g, s)))

    e = 1e-5
    np.testing.assert_allclose(gyro.torque.value, -(momentum(e) - momentum(-e)) / (2 * e), atol=1e-8)


@pytest.mark.parametrize("command, share", [(0.5, 0.5), (2.0, 1.0), (0.1, 0.1), (0.099, 0.0), (-1.0, 0.0)])
def test_thruster_pulses(command, share) -> None:
    """Impulse of a second at 10 Hz, pulses of at least 10 ms; propellant by the specific impulse."""
    turn = Rotation.from_euler("x", 90, degrees=True).as_matrix()
    thruster = Thruster(thrust=5.0, direction=(0, 0, 1), least_pulse=0.01)
    system = on_bench(thruster, step=0.1, command=command, rotation=turn)
    system.run(0.95)
    np.testing.assert_allclose(thruster.force.value, [0, -5.0 * share, 0], atol=1e-14)
    assert thruster.used.value == pytest.approx(0.9 * 5.0 * share / (220.0 * 9.80665), rel=1e-12)  # as at 0.9 s


def test_propeller() -> None:
    """c_T rho n^2 D^4 where it stands in the air; at an advance ratio of c_T0 / c_T1 it pulls no more."""
    given = {"diameter": 0.3, "thrust_coefficient": 0.12, "thrust_slope": 0.15, "torque_coefficient": 0.01}
    n = 100.0
    for advance, share in ((0.0, 1.0), (0.4, 0.5), (0.8, 0.0)):
        propeller = Propeller(hand=-1.0, **given)
        speed = np.array([0.0, 0.0, advance * n * 0.3])
        on_bench(propeller, speed=2.0 * np.pi * n, rotation=np.eye(3), velocity=speed).run(0.0)
        thrust = 0.12 * 1.225 * n**2 * 0.3**4 * share
        np.testing.assert_allclose(propeller.force.value, [0, 0, thrust], atol=1e-12)
        np.testing.assert_allclose(propeller.torque.value, [0, 0, 0.01 * 1.225 * n**2 * 0.3**5], rtol=1e-12)


def test_parachute_brings_a_load_to_its_terminal_velocity() -> None:
    world = kido.World(time_step=1e-3)
    load = kido.Skeleton("load")
    load.add_body("load", kido.TranslationalJoint(), inertia=kido.Inertia(80.0))
    world.add_skeleton(load)
    system = System(world=world)
    port, chute = system.add(BodyPort(load.body(0), name="port")), system.add(Parachute(area=40.0, fill_time=2.0))
    give(system, chute.port("open"), lambda t: t >= 1.0)
    system.connect(port.velocity, chute.velocity)
    system.connect(chute.force, port.force)
    system.run(0.999)
    assert load.velocities[2] == pytest.approx(-9.81 * 0.999, rel=1e-9)
    system.run(1.001)
    assert chute.share.value == pytest.approx(0.5, abs=1e-3)
    system.run(13.0)
    assert load.velocities[2] == pytest.approx(-np.sqrt(2.0 * 80.0 * 9.81 / (1.225 * 0.75 * 40.0)), rel=1e-6)


def test_a_parachute_stays_cut() -> None:
    """It is told so for half a second; then it is gone, whatever it is told."""
    chute = Parachute(fill_time=0.1)
    system = on_bench(chute, open=1.0, velocity=(0, 0, -10.0), cut=lambda t: (t > 1.0) * (t < 1.5) * 1.0)
    system.run(0.9)
    assert chute.force.value[2] == pytest.approx(0.5 * 1.225 * 0.75 * 10.0 * 100.0, rel=1e-12)
    for _ in range(2):
        system.run(0.4)
        np.testing.assert_array_equal(chute.force.value, 0.0)
    system.run(0.4)
    assert chute.cut.value == 0.0 and chute.gone.value == pytest.approx(0.5, abs=2e-3)
    np.testing.assert_array_equal(chute.force.value, 0.0)


@pytest.mark.parametrize("speed", [80.0, 300.0])
def test_a_propeller_that_turns_backwards_is_its_mirror_image(speed) -> None:
    given = {"thrust_slope": 0.1, "torque_slope": 0.005}
    ahead, back = Propeller("ahead", **given), Propeller("back", **given)
    on_bench(ahead, speed=speed, rotation=np.eye(3), velocity=(0, 0, 5.0)).run(0.0)
    on_bench(back, speed=-speed, rotation=np.eye(3), velocity=(0, 0, -5.0)).run(0.0)
    for name in ("force", "torque", "shaft_torque"):
        np.testing.assert_array_equal(back.port(name).value, -np.asarray(ahead.port(name).value))
    still = Propeller("still", **given)
    on_bench(still, speed=-speed, rotation=np.eye(3), velocity=np.zeros(3)).run(0.0)
    assert still.shaft_torque.value < 0.0 and still.force.value[2] < 0.0  # it takes power, and pushes


def wong(sinkage: float, slip: float) -> tuple[float, float, float]:
    """Load, drawbar pull and torque of the default wheel by adaptive quadrature."""
    r, b, n = 0.15, 0.1, 1.1
    enters = np.arccos(1.0 - sinkage / r)
    middle = (0.4 + 0.15 * slip) * enters
    rolls = 1.0 - slip if slip >= 0.0 else 1.0 / (1.0 + slip)  # v / (r w), by either meaning of slip

    def stresses(a):
        seen = a if a >= middle else enters - a / middle * (enters - middle)
        normal = (990.0 / b + 1528430.0) * r**n * max(np.cos(seen) - np.cos(enters), 0.0) ** n
        j = r * ((enters - a) - rolls * (np.sin(enters) - np.sin(a)))
        strength = 1040.0 + normal * np.tan(np.radians(28.0))
        return normal, np.sign(j) * strength * (1.0 - np.exp(-abs(j) / 0.025))

    def integral(f):
        return quad(f, 0.0, enters, points=[middle], epsabs=1e-10, epsrel=1e-10)[0]

    return (
        r * b * integral(lambda a: stresses(a)[0] * np.cos(a) + stresses(a)[1] * np.sin(a)),
        r * b * integral(lambda a: stresses(a)[1] * np.cos(a) - stresses(a)[0] * np.sin(a)),
        r * r * b * integral(lambda a: stresses(a)[1]),
    )


@pytest.mark.parametrize("sinkage", [0.003, 0.015, 0.04])
@pytest.mark.parametrize("slip", [-0.8, -0.4, -0.1, 0.05, 0.2, 0.6])
def test_soil_wheel_is_that_of_wong_and_reece(sinkage, slip) -> None:
    """Sixteen nodes against adaptive quadrature: 1e-3 of the load, for the power n of the stress where it begins."""
    wheel = SoilWheel()
    spin = 2.0
    speed = 0.15 * spin * (1.0 - slip) if slip > 0.0 else 0.15 * spin / (1.0 + slip)
    on_bench(wheel, sinkage=sinkage, spin=spin, speed=speed).run(0.0)
    load, pull, torque = wong(sinkage, slip)
    assert wheel.slip.value == pytest.approx(slip, abs=1e-12)
    assert wheel.load.value == pytest.approx(load, rel=1e-3)
    assert wheel.drawbar_pull.value == pytest.approx(pull, abs=1e-3 * load)
    assert wheel.torque.value == pytest.approx(torque, rel=1e-3)


def test_soil_wheel_rolls_backwards_alike_and_not_in_the_air() -> None:
    ahead, back, above = SoilWheel("ahead"), SoilWheel("back"), SoilWheel("above")
    on_bench(ahead, sinkage=0.02, spin=3.0, speed=0.3).run(0.0)
    on_bench(back, sinkage=0.02, spin=-3.0, speed=-0.3).run(0.0)
    on_bench(above, sinkage=-0.01, spin=3.0, speed=0.3).run(0.0)
    assert back.load.value == pytest.approx(ahead.load.value, rel=1e-14)
    assert back.drawbar_pull.value == pytest.approx(-ahead.drawbar_pull.value, rel=1e-14)
    assert [above.load.value, above.drawbar_pull.value, above.torque.value] == [0.0, 0.0, 0.0]


def test_a_locked_wheel_is_braked() -> None:
    wheel = SoilWheel()
    on_bench(wheel, sinkage=0.02, spin=0.0, speed=0.5).run(0.0)
    assert wheel.slip.value == -1.0
    assert wheel.drawbar_pull.value < -0.3 * wheel.load.value
    assert wheel.torque.value < 0.0


def test_a_motor_with_gear_turns_a_joint() -> None:
    """At rest against gravity's torque: V / R K N = m g l cos q, an angle by hand."""
    world = kido.World(time_step=1e-3)
    arm = kido.Skeleton("arm")
    arm.add_body("rod", kido.RevoluteJoint("hinge", (0, 1, 0)), None, kido.Inertia(2.0, (0.0, 0.0, -0.4)))
    arm.dofs[0].damping = 3.0
    world.add_skeleton(arm)
    system = System(world=world)
    joint = system.add(JointPort(arm.dofs[0], "joint"))
    motor, gear = system.add(DCMotor(constant=0.05, resistance=2.0, inductance=5e-3)), system.add(Gear(ratio=40.0))
    motor.temperature_coefficient = 0.0
    give(system, motor.port("voltage"), 4.0)
    system.connect(motor.torque, gear.motor_torque)
    system.connect(gear.joint_torque, joint.force)
    system.connect(joint.velocity, gear.joint_speed)
    system.connect(gear.motor_speed, motor.speed)
    system.run(20.0)
    assert arm.positions[0] == pytest.approx(np.arcsin(4.0 / 2.0 * 0.05 * 40.0 / (2.0 * 9.81 * 0.4)), abs=1e-9)


def test_a_rotor_is_felt_through_the_gear_squared() -> None:
    """L i' = V - R i - K N w, (J + N^2 J_r) w' = N K i, by the exponential of the matrix; steps of 50 us hold i."""
    world = kido.World(time_step=5e-5, gravity=(0, 0, 0))
    arm = kido.Skeleton("arm")
    arm.add_body("rod", kido.RevoluteJoint("hinge", (0, 1, 0)), None, kido.Inertia.from_diagonal(2.0, (0.1, 0.3, 0.1)))
    world.add_skeleton(arm)
    system = System(world=world)
    joint = system.add(JointPort(arm.dofs[0], "joint"))
    motor = system.add(DCMotor(constant=0.05, resistance=2.0, inductance=5e-3, rotor_inertia=2e-4))
    gear = system.add(Gear(ratio=40.0))
    arm.dofs[0].armature = gear.armature(motor)
    assert arm.mass_matrix[0, 0] == pytest.approx(0.3 + 0.32, rel=1e-12)
    motor.temperature_coefficient = 0.0
    give(system, motor.port("voltage"), 4.0)
    system.connect(motor.torque, gear.motor_torque)
    system.connect(gear.joint_torque, joint.force)
    system.connect(joint.velocity, gear.joint_speed)
    system.connect(gear.motor_speed, motor.speed)
    system.run(0.25)
    back = 0.05 * 40.0
    A = np.array([[-2.0 / 5e-3, -back / 5e-3, 4.0 / 5e-3], [back / 0.62, 0.0, 0.0], [0.0, 0.0, 0.0]])
    expected = scipy.linalg.expm(0.25 * A)[:2, 2]
    assert arm.velocities[0] == pytest.approx(expected[1], rel=1e-3)
    assert motor.current.value == pytest.approx(expected[0], rel=5e-3)


@pytest.mark.parametrize("place", ["ab", [1.0], [1.0, np.nan]])
def test_a_wheel_s_place_is_two_numbers(place) -> None:
    with pytest.raises(kido.ModelError, match="assembly 'wheel': place: expected"):
        WheelDrive("wheel", kido.load_skeleton("arm7").dofs[0], None, place, 0.1)


@pytest.mark.parametrize("curvature", [-1.3, 0.0, 0.8])
@pytest.mark.parametrize("place", [(0.44, 0.35), (0.0, -0.35), (-0.44, 0.35)])
def test_wheels_roll_about_one_centre(curvature, place) -> None:
    """A rigid body's velocity field: v e_x + w x r, with w = k v."""
    wheel = Ackermann(x=place[0], y=place[1], radius=0.2, rate=10)
    system = on_bench(wheel, speed=0.5, curvature=curvature)
    system.run(0.1)
    velocity = 0.5 * np.array([1.0 - curvature * place[1], curvature * place[0]])
    found = 0.2 * wheel.spin.value * np.array([np.cos(wheel.angle.value), np.sin(wheel.angle.value)])
    assert found == pytest.approx(velocity, abs=1e-14)


def test_dead_reckoning_of_a_circle() -> None:
    """Turning at 0.5 rad/s at 0.3 m/s: an arc of radius 0.6 m, by steps of T along the heading at their starts.

    Two seconds are 200 steps: at the first tick no time has passed.
    """
    reckoning = DeadReckoning(rate=100, radius=0.1, position=(1.0, 2.0, 0.0))
    system = on_bench(reckoning, angular_rate=(0, 0, 0.5), specific_force=(0, 0, 9.81), left=2.0, right=4.0)
    system.run(2.0)
    steps = 0.5 * 0.01 * np.arange(200)
    x, y = 1.0 + 0.003 * np.cos(steps).sum(), 2.0 + 0.003 * np.sin(steps).sum()
    # Half angles by their tangents leave an error of the third order, 200 (0.005)^3 / 12 rad.
    assert reckoning.position.value == pytest.approx((x, y, 0.0), abs=1e-5)
    assert reckoning.rotation.value @ (1, 0, 0) == pytest.approx((np.cos(1.0), np.sin(1.0), 0.0), abs=1e-5)


def test_dead_reckoning_finds_what_is_up() -> None:
    """A tilt th that is believed, while the body is level, falls as d th / dt = -trust sin(th)."""
    wrong = Rotation.from_rotvec((0.2, 0, 0)).as_matrix()
    reckoning = DeadReckoning(rate=100, trust=0.5, rotation=wrong)
    system = on_bench(reckoning, angular_rate=(0, 0, 0), specific_force=(0, 0, 9.81), left=0.0, right=0.0)
    system.run(3.0)
    tilt = 2.0 * np.arctan(np.tan(0.1) * np.exp(-0.5 * 3.0))
    # Euler's steps of 0.01 s: relative error trust^2 T t / 2 = 4e-3.
    assert np.arccos(reckoning.rotation.value[2, 2]) == pytest.approx(tilt, rel=5e-3)


@pytest.mark.parametrize("goal", [(3.0, 1.0), (2.0, -1.5), (4.0, 0.0)])
def test_pure_pursuit_leads_through_the_goal(goal) -> None:
    """The goal lies on the circle of radius 1 / k about (0, 1 / k), in axes of the vehicle; behind it, it turns."""
    turn = Rotation.from_rotvec((0, 0, 0.7)).as_matrix()
    at = np.array([5.0, -2.0, 1.0])
    pursuit = PurePursuit(sharpest=2.0)
    system = on_bench(pursuit, position=at, rotation=turn, goal=(at + turn @ (*goal, 0.0))[:2])
    system.run(0.1)
    k = pursuit.curvature.value
    assert pursuit.distance.value == pytest.approx(np.hypot(*goal), abs=1e-12)
    assert 0.5 * k * np.dot(goal, goal) == pytest.approx(goal[1], abs=1e-10)
    behind = PurePursuit(sharpest=2.0)
    system = on_bench(behind, position=at, rotation=turn, goal=(at - turn @ (*goal, 0.0))[:2])
    system.run(0.1)
    assert abs(behind.curvature.value) == 2.0


def test_way_points_follow_each_other_and_begin_again() -> None:
    """The distance falls from 1.5 m in 3 s, again and again; at ticks of 1 s it is 0.5 m first after 2 s."""

    class Saw(Model):
        distance = Output("m")

        def outputs(self):
            return {"distance": 1.5 - 0.5 * (self.time - 3.0 * np.floor(self.time / 3.0))}

    goals = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    system = System()
    saw, way = system.add(Saw()), system.add(WayPoints("way", goals, rate=1, reached=0.6))
    system.connect(saw.distance, way.distance)
    seen = []
    system.run(0.0)
    for _ in range(12):
        seen.append(way.goal.value.tolist())
        system.run(1.0)
    assert seen == [goals[k] for k in (0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1)]
    way.set_parameters(goals=[[7.0, 8.0]] * 3, by_hand=1.0, curve=0.3)
    system.run(1.0)
    assert way.goal.value.tolist() == [7.0, 8.0] and way.curvature.value == 0.3
    for wrong in ([1.0, 2.0], [[1.0, 2.0, 3.0]], [], [[np.nan, 0.0]]):
        with pytest.raises(kido.ModelError, match="goals: expected places"):
            WayPoints("way", wrong)
    with pytest.raises(kido.ModelError, match="expected shape"):
        way.goals = [[1.0, 2.0]]


def test_an_energy_meter_counts_what_is_taken() -> None:
    meter = EnergyMeter()
    system = on_bench(meter, power=3.0)
    system.run(2.0)
    assert meter.energy.value == pytest.approx(6.0, abs=1e-12)
    meter = EnergyMeter()
    system = on_bench(meter, power=-3.0)
    system.run(2.0)
    assert meter.energy.value == 0.0
