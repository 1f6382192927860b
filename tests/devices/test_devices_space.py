"""Attitude, thrusters, wheels as bodies, motion near a target, descent: against closed forms and balances."""

from __future__ import annotations

import numpy as np
import pytest
from device_bench import give, on_bench
from scipy.linalg import expm
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation

import kido
from kido.devices import (
    AttitudeEstimator,
    AttitudeFeedback,
    BallisticEntry,
    EigenaxisSlew,
    MomentumDumping,
    Parachute,
    PoweredDescent,
    Propellant,
    ThrusterCluster,
    WheelMotor,
    WheelSet,
    rodrigues_parameters,
)
from kido.environment import (
    EARTH,
    Orbit,
    OrbitFrame,
    PlanetGravity,
    Site,
    clohessy_wiltshire,
    hill_axes,
    relative_motion,
    transfer,
)
from kido.errors import ModelError, StateError
from kido.integrators import DormandPrince
from kido.models.space import ENGINES, engine_directions, jet_places, wheel_axes
from kido.systems import BodyPort, JointPort, MassPort, System

RNG = np.random.default_rng(8)


# Attitude -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 2.0, 3.0, np.pi - 1e-7])
def test_rodrigues_parameters_are_those_of_the_turn(angle) -> None:
    for axis in (*np.eye(3), *Rotation.random(6, random_state=1).as_matrix()[:, 0]):
        R = Rotation.from_rotvec(angle * axis).as_matrix()
        np.testing.assert_allclose(rodrigues_parameters(R), np.tan(angle / 4.0) * axis, atol=1e-12)
    assert abs(np.linalg.norm(rodrigues_parameters(Rotation.from_rotvec((0, 0, np.pi)).as_matrix())) - 1.0) < 1e-12


def test_attitude_feedback_rests_where_its_stiffness_meets_a_torque() -> None:
    """sigma = L / K: I = 900, 800, 600, K 3.5, P 30, L = (.25, -.25, .1) about body axes, see systems of its source."""
    world = kido.World(gravity=(0, 0, 0), time_step=0.1)
    body = kido.Skeleton("body")
    body.add_body("body", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (900, 800, 600)))
    world.add_skeleton(body)
    body.positions = [*Rotation.from_euler("xyz", [40, -70, 100], degrees=True).as_rotvec(), 0, 0, 0]
    system = System(world=world)
    port = system.add(BodyPort(body.body(0), name="port"))
    law = system.add(AttitudeFeedback(K=3.5, P=30.0, inertia=np.diag([900.0, 800, 600])))

    class Torques(kido.systems.Model):
        control, rotation = kido.systems.Input("N m", 3), kido.systems.Input("1", (3, 3))
        torque, rate_seen = kido.systems.Output("N m", 3), kido.systems.Output("rad/s", 3)
        angular_velocity = kido.systems.Input("rad/s", 3)

        def outputs(self):
            torque = self.control + np.array([0.25, -0.25, 0.1])
            return {"torque": self.rotation @ torque, "rate_seen": self.rotation.T @ self.angular_velocity}

    torques = system.add(Torques())
    for source, target in (
        (port.rotation, law.rotation), (port.rotation, torques.rotation), (law.torque, torques.control),
        (port.angular_velocity, torques.angular_velocity), (torques.rate_seen, law.angular_rate),
        (torques.torque, port.torque),
    ):  # fmt: skip
        system.connect(source, target)
    system.run(3000.0)
    np.testing.assert_allclose(law.off.value, np.array([0.25, -0.25, 0.1]) / 3.5, atol=1e-12)


def test_a_known_torque_and_a_turning_attitude_leave_no_error() -> None:
    """Where it is as wanted, the torque is what the motion takes: d(J w + h)/dt - L, by differences of a rigid body."""
    slew = EigenaxisSlew(
        axis=(0.6, 0.0, 0.8), angle=2.0, duration=10.0, start=Rotation.random(random_state=4).as_matrix()
    )
    J, h, L = np.diag([3.0, 4.0, 5.0]), np.array([0.3, -0.2, 0.7]), np.array([0.1, 0.2, -0.1])
    law = AttitudeFeedback(inertia=J, rate=100)
    system = on_bench(law, step=1e-2, momentum=h, known=L)
    system.add(slew)
    for source, target in (
        (slew.rotation, law.wanted), (slew.rotation, law.rotation), (slew.rate_wanted, law.rate_wanted),
        (slew.rate_wanted, law.angular_rate), (slew.acceleration, law.acceleration),
    ):  # fmt: skip
        system.connect(source, target)
    e, found = 0.01, {}
    for k in range(300, 303):
        system.run(round(k * e - system.time, 9))
        R = np.array(slew.rotation.value)
        found[k] = R, R @ (J @ slew.rate_wanted.value + h), np.array(law.torque.value)
    R, _, torque = found[301]
    change = (found[302][1] - found[300][1]) / (2.0 * e)
    np.testing.assert_allclose(torque, R.T @ (change - L), atol=2e-5)  # differences: e^2 of third derivatives
    np.testing.assert_allclose(law.off.value, 0.0, atol=1e-12)


def test_a_slew_is_a_turn_about_one_axis_from_rest_to_rest() -> None:
    start = Rotation.random(random_state=2).as_matrix()
    slew = EigenaxisSlew(start=start, axis=(0.0, 0.6, 0.8), angle=-1.5, begin=2.0, duration=8.0)
    system = on_bench(slew, step=1e-2)
    last, e = None, 1e-3
    for k in range(11000):
        system.run(e)
        if k % 997 == 0 or last is not None:
            now = np.array(slew.rotation.value), np.array(slew.rate_wanted.value), np.array(slew.acceleration.value)
            if last is not None:
                turn = Rotation.from_matrix(last[0].T @ now[0]).as_rotvec()
                np.testing.assert_allclose(turn, 0.5 * e * (last[1] + now[1]), atol=1e-9)  # trapezium: e^3
                np.testing.assert_allclose(now[1] - last[1], 0.5 * e * (last[2] + now[2]), atol=1e-9)
                last = None
            else:
                last = now
    end = Rotation.from_matrix(start.T @ slew.rotation.value).as_rotvec()
    np.testing.assert_allclose(end, -1.5 * np.array([0.0, 0.6, 0.8]), atol=1e-12)
    np.testing.assert_array_equal(slew.rate_wanted.value, 0.0)


def test_the_estimator_is_its_difference_equation_and_finds_the_bias() -> None:
    """About one axis: x+ = x + T (w - b) - k1 x, b+ = b + k2 x / T, with x what the angle is off, w the gyroscope's."""
    k1, k2, T, bias = 0.2, 0.01, 0.1, 1e-4
    estimator = AttitudeEstimator(k1=k1, k2=k2, rotation=Rotation.from_rotvec((0, 0, 1e-3)).as_matrix())
    system = on_bench(estimator, step=0.1, measured=np.eye(3), angular_rate=(0, 0, bias))
    x, b = 1e-3, 0.0
    for _ in range(50):
        if system.time == 0.0:  # the first tick corrects; no time has passed that gyroscopes could tell of
            x, b = x - k1 * x, b + k2 / T * x
        system.run(T)
        x, b = x + T * (bias - b) - k1 * x, b + k2 / T * x
        seen = Rotation.from_matrix(estimator.rotation.value).as_rotvec()[2]
        assert seen == pytest.approx(x, abs=1e-9)
        assert estimator.bias.value[2] == pytest.approx(b, abs=1e-8)
    system.run(60.0)
    assert estimator.bias.value == pytest.approx((0, 0, bias), abs=1e-12)
    assert estimator.true_rate.value == pytest.approx((0, 0, 0), abs=1e-12)


# Wheels and thrusters -----------------------------------------------------------------------------------------------


def test_wheels_share_a_torque_and_add_their_momenta() -> None:
    skeleton = kido.models.spacecraft().skeleton
    world = kido.World(gravity=(0, 0, 0), time_step=0.01)
    world.add_skeleton(skeleton)
    system = System(world=world)
    wheels = WheelSet("wheels", [skeleton.joint(f"wheel_{k}") for k in range(4)], wheel_axes(), 0.1, largest_torque=0.5)
    system.add(wheels)
    asked = np.array([0.2, -0.3, 0.1])
    sources = [give(system, motor.port("asked"), asked) for motor in wheels.motors]
    skeleton.velocities = [0] * 6 + [10.0, -20.0, 5.0, 7.0]
    total = sum(m.torque.value * a for m, a in zip(wheels.motors, wheel_axes(), strict=True))
    np.testing.assert_allclose(-total, asked, atol=1e-14)
    np.testing.assert_allclose(wheels["momentum"].value, 0.1 * wheel_axes().T @ [10.0, -20.0, 5.0, 7.0], atol=1e-14)
    for source in sources:
        source.value = (5.0, 0.0, 0.0)
    assert max(abs(m.torque.value) for m in wheels.motors) == 0.5
    motor = WheelMotor(largest_speed=100.0)
    on_bench(motor, asked=(-1.0, 0, 0), speed=100.0).run(0.0)
    assert motor.torque.value == 0.0
    with pytest.raises(ModelError, match="that span space"):
        WheelSet("flat", [skeleton.joint("wheel_0")] * 3, [[1, 0, 0], [0, 1, 0], [1, 1, 0]], 0.1)


def test_a_wheel_that_is_a_body_is_that_of_the_reaction_wheel_case() -> None:
    """Hub of 2 kg m^2 at .35 rad/s, wheel of 100 N m s at 6,000 rpm, 0.2 N m from 5 s on: by hand, exactly at 10 ms."""
    inertia, start = 100.0 / (6000.0 * 2.0 * np.pi / 60.0), 10.471975511965976
    world = kido.World(gravity=(0, 0, 0), time_step=0.01)
    craft = kido.Skeleton("craft")
    hub = craft.add_body("hub", kido.RevoluteJoint("hub"), inertia=kido.Inertia.from_diagonal(1.0, (2.0, 2.0, 2.0)))
    craft.add_body("wheel", kido.RevoluteJoint("wheel"), hub, kido.Inertia.from_diagonal(1.0, (1.0, 1.0, inertia)))
    craft.velocities = [0.35, start]
    world.add_skeleton(craft)
    system = System(world=world)
    port = system.add(JointPort(craft.joint("wheel"), "port"))
    motor = system.add(WheelMotor(inertia=inertia, axis=(0, 0, 1), share=(0, 0, 1)))
    asked = give(system, motor.port("asked"), (0.0, 0.0, 0.0))
    system.connect(port.velocity, motor.speed)
    system.connect(motor.torque, port.force)
    system.run(5.0)
    asked.value = (0.0, 0.0, -0.2)  # on the hub
    system.run(5.0)
    assert craft.velocities[0] == pytest.approx(-0.15, abs=1e-12)
    assert craft.positions[0] == pytest.approx(2.25, abs=1e-11)
    assert craft.velocities[1] == pytest.approx(17.255160819145562, abs=1e-11)


def test_dumping_begins_and_ends_at_its_sizes() -> None:
    law = MomentumDumping(begin=10.0, end=1.0, strength=0.7)
    system = on_bench(law, step=0.1)
    h = give(system, law.port("momentum"), (0.0, 0.0, 9.0))
    seen = []
    for size in (9.0, 11.0, 5.0, 1.5, 0.5, 9.0):
        h.value = (0.0, 0.0, size)
        system.run(0.3)
        seen.append(law.torque.value[2])
    np.testing.assert_allclose(seen, [0.0, -0.7, -0.7, -0.7, 0.0, 0.0], atol=1e-14)


def test_twelve_thrusters_give_what_is_asked_for() -> None:
    places, directions = jet_places()
    cluster = ThrusterCluster("jets", places, directions, thrust=5.0, least_pulse=0.0, rate=10)
    turn = Rotation.random(random_state=5).as_matrix()
    force, torque = np.array([0.7, -1.1, 0.4]), np.array([0.3, 0.2, -0.5])
    system = on_bench(cluster, step=0.1, force=force, torque=torque, rotation=turn)
    system.run(0.95)
    np.testing.assert_allclose(cluster.given_force.value, turn @ force, atol=1e-13)
    np.testing.assert_allclose(cluster.given_torque.value, turn @ torque, atol=1e-13)
    # Of each pair with opposite columns one opens: least squares over signed pairs, half of all columns.
    columns = np.vstack([directions.T, np.cross(places, directions).T])
    signed = np.linalg.pinv(columns[:, ::2]) @ [*force, *torque]
    assert cluster.flow.value == pytest.approx(np.abs(signed).sum() / (220.0 * 9.80665), rel=1e-12)
    assert cluster.used.value == pytest.approx(9 * 0.1 * cluster.flow.value, rel=1e-12)  # as at the tick at 0.9 s


def test_thrusters_without_opposites_give_what_is_asked() -> None:
    """Three at 120 degrees, none of them opposed: any force in their plane, and of each at least one is shut."""
    a = np.radians([0.0, 120.0, 240.0])
    along = np.column_stack([np.cos(a), np.sin(a), 0.0 * a])
    for angle in np.linspace(0.1, 6.2, 7):
        force = np.array([np.cos(angle), np.sin(angle), 0.0])
        cluster = ThrusterCluster("jets", np.zeros((3, 3)), along, (0, 1), thrust=10.0)
        on_bench(cluster, force=force, rotation=np.eye(3)).run(0.0)
        np.testing.assert_allclose(cluster.given_force.value, force, atol=1e-13)
        used = linprog(np.ones(3), A_eq=along.T[:2], b_eq=force[:2]).fun  # the least that gives it
        assert cluster.flow.value == pytest.approx(used / (220.0 * 9.80665), rel=1e-9)


def test_thrusters_of_random_directions_give_what_is_asked() -> None:
    """Twelve that span all six components with shares above 0: force and torque are met, if none is too weak."""
    rng = np.random.default_rng(11)
    while True:
        places, along = rng.normal(size=(12, 3)), rng.normal(size=(12, 3))
        along /= np.linalg.norm(along, axis=1)[:, None]
        columns = np.vstack([along.T, np.cross(places, along).T])
        if linprog(np.ones(12), A_eq=columns, b_eq=np.zeros(6), bounds=(1.0, None)).success:
            break
    for _ in range(5):
        asked = rng.normal(size=6)
        cluster = ThrusterCluster("jets", places, along, thrust=1e3)
        on_bench(cluster, force=asked[:3], torque=asked[3:], rotation=np.eye(3)).run(0.0)
        np.testing.assert_allclose(cluster.given_force.value, asked[:3], atol=1e-9)
        np.testing.assert_allclose(cluster.given_torque.value, asked[3:], atol=1e-9)


def test_thrusters_have_limits_and_run_dry() -> None:
    places, directions = jet_places()
    cluster = ThrusterCluster("jets", places, directions, thrust=5.0, least_pulse=0.01, rate=10)
    system = on_bench(cluster, step=0.1, rotation=np.eye(3))
    force, left = give(system, cluster.port("force"), (1e3, 0, 0)), give(system, cluster.port("propellant"), 1.0)
    for asked, given in ((1e3, 10.0), (-3.0, -3.0), (0.9, 0.0), (1.1, 1.1)):  # two of 5 N; each at least a tenth
        force.value = (asked, 0.0, 0.0)
        system.run(0.2)
        np.testing.assert_allclose(cluster.given_force.value, (given, 0, 0), atol=1e-13)
    left.value = 0.0
    system.run(0.2)
    np.testing.assert_array_equal(cluster.given_force.value, 0.0)
    assert cluster.flow.value == 0.0


def test_engines_that_push_one_way_follow_what_they_can() -> None:
    engines = ThrusterCluster("engines", ENGINES, engine_directions(), (2, 3, 4, 5), thrust=1000.0)
    system = on_bench(engines, step=0.02, force=(0, 0, 1500.0), torque=(80.0, -60.0, 10.0), rotation=np.eye(3))
    system.run(0.02)
    assert engines.given_force.value[2] == pytest.approx(1500.0, abs=1e-9)
    np.testing.assert_allclose(engines.given_torque.value, (80.0, -60.0, 10.0), atol=1e-9)


@pytest.mark.parametrize(
    "places, directions, words",
    [
        ([(0, 0, 1)], [(0, 0, 1), (1, 0, 0)], "two arrays"),
        ([(0, 0, np.nan)], [(0, 0, 1)], "two arrays"),
        ([(0, 0, 1)], [(0, 0, 0)], "number 0 has no length"),
        ([(0, 0, 1)], [(0, 0, 1)], "cannot give components"),
    ],
)
def test_thrusters_that_cannot_be(places, directions, words) -> None:
    with pytest.raises(ModelError, match=words):
        ThrusterCluster("jets", places, directions)


@pytest.mark.parametrize("asked", [(7,), (-1,), 2, (), ("a",), (0.5,)])
def test_components_that_there_are_not(asked) -> None:
    with pytest.raises(ModelError, match="model 'jets': asked: expected some of the components 0 to 5"):
        ThrusterCluster("jets", np.eye(3), np.eye(3), asked)


# Near a target ------------------------------------------------------------------------------------------------------

N = 1.1e-3


def test_clohessy_wiltshire_solves_hills_equations() -> None:
    A = np.zeros((6, 6))
    A[:3, 3:] = np.eye(3)
    A[3, 0], A[3, 4], A[4, 3], A[5, 2] = 3 * N * N, 2 * N, -2 * N, -N * N
    for time in (-500.0, 10.0, 3000.0):
        np.testing.assert_allclose(clohessy_wiltshire(N, time), expm(A * time), rtol=1e-9, atol=1e-12)
    with pytest.raises(ModelError, match="rate"):
        clohessy_wiltshire(0.0, 1.0)


def test_a_transfer_arrives() -> None:
    a, b = np.array([50.0, -200.0, 30.0]), np.array([0.0, -20.0, 5.0])
    v, after = transfer(N, a, b, 1500.0)
    end = clohessy_wiltshire(N, 1500.0) @ [*a, *v]
    np.testing.assert_allclose(end, [*b, *after], atol=1e-10)
    with pytest.raises(ModelError, match="another time"):
        transfer(N, a, b, 2.0 * np.pi / N)


def in_orbit(orbit: Orbit, rho, seen) -> tuple[np.ndarray, np.ndarray]:
    """Inertial state of what is at rho with velocity `seen` in Hill's axes of an orbit."""
    r, v = orbit.state(EARTH.mu)
    H, w = hill_axes(r, v), np.linalg.norm(np.cross(r, v)) / (r @ r)
    return r + H @ rho, v + H @ (np.asarray(seen) + np.cross((0, 0, w), rho))


def test_relative_motion_is_what_hills_axes_see() -> None:
    orbit = Orbit(7000e3, 0.0, 0.9, 0.4, 0.0, 1.1)
    rho, seen = np.array([100.0, -300.0, 50.0]), np.array([0.1, 0.4, -0.2])
    (r, v), (target, target_velocity) = in_orbit(orbit, rho, seen), orbit.state(EARTH.mu)
    found = relative_motion(r - target, v - target_velocity, target, target_velocity)
    np.testing.assert_allclose(found[0], rho, atol=1e-8)  # rounding of 7e6 m
    np.testing.assert_allclose(found[1], seen, atol=1e-10)


def test_two_bodies_drift_as_clohessy_and_wiltshire_say() -> None:
    """The rest is of second order of the distance over the radius: a quarter where it is half."""
    orbit, time = Orbit(7000e3, 0.0, 0.9, 0.4, 0.0, 1.1), 2000.0
    n, off = orbit.mean_motion(EARTH.mu), []
    for scale in (1.0, 0.5):
        start = scale * np.array([1000.0, -2000.0, 500.0, 0.3, -1.0, 0.2])
        chaser = Orbit.through(*in_orbit(orbit, start[:3], start[3:]), EARTH.mu).after(time, EARTH.mu)
        (r, v), (target, target_velocity) = chaser.state(EARTH.mu), orbit.after(time, EARTH.mu).state(EARTH.mu)
        rho, _ = relative_motion(r - target, v - target_velocity, target, target_velocity)
        expected = clohessy_wiltshire(n, time) @ start
        off.append(np.linalg.norm(rho - expected[:3]) / np.linalg.norm(rho))
    assert off[0] < 2e-3 and off[0] / off[1] == pytest.approx(2.0, rel=0.05)  # relative to the distance


def test_gravity_at_mid_step_makes_orbits_of_second_order() -> None:
    orbit, time, errors = Orbit(7000e3, 0.01, 0.9), 600.0, {}
    for lead in (0.0, 0.5):
        for h in (1.0, 0.5):
            with pytest.warns(UserWarning, match="time_step"):
                world = kido.World(gravity=(0, 0, 0), time_step=h)
            body = kido.Skeleton("body")
            body.add_body("body", kido.TranslationalJoint(), inertia=kido.Inertia(2.0))
            world.add_skeleton(body)
            body.positions, body.velocities = orbit.state(EARTH.mu)
            system = System(world=world)
            port, pull = (
                system.add(BodyPort(body.body(0), name="port")),
                system.add(PlanetGravity(mass=2.0, j2=0.0, lead=lead * h)),
            )
            system.connect(port.position, pull.position)
            system.connect(port.velocity, pull.velocity)
            system.connect(pull.force, port.force)
            system.run(time)
            errors[lead, h] = np.linalg.norm(body.positions - orbit.after(time, EARTH.mu).state(EARTH.mu)[0])
    assert errors[0.0, 1.0] / errors[0.0, 0.5] == pytest.approx(2.0, rel=0.05)
    assert errors[0.5, 1.0] / errors[0.5, 0.5] == pytest.approx(4.0, rel=0.05)
    assert errors[0.5, 1.0] < 1e-3 * errors[0.0, 1.0]


def test_a_satellite_swings_about_the_vertical() -> None:
    """In a circle about z: pitch A cos(w t), w = n sqrt(3 (I_ahead - I_vertical) / I_normal), small angles.

    A = 0.01 slows it by A^2/4; torques held for a step of 1 s let it grow by w h / 2 = 6e-4 in half of a swing.
    """
    ahead, vertical, normal, start = 40.0, 20.0, 50.0, 0.01
    r = 7e6
    n = np.sqrt(EARTH.mu / r**3)
    w = n * np.sqrt(3.0 * (ahead - vertical) / normal)
    inertia = np.diag([vertical, ahead, normal])
    with pytest.warns(UserWarning, match="time_step"):
        world = kido.World(gravity=(0, 0, 0), time_step=1.0)
    body = kido.Skeleton("satellite")
    body.add_body("body", kido.BallJoint(), inertia=kido.Inertia(100.0, moment=inertia))
    world.add_skeleton(body)
    body.positions, body.velocities = [0.0, 0.0, start], [0.0, 0.0, n]
    system = System(world=world)
    frame = system.add(OrbitFrame(position=(r, 0.0, 0.0), velocity=(0.0, n * r, 0.0)))
    port = system.add(BodyPort(body.body(0), name="port"))
    pull = system.add(PlanetGravity(mass=100.0, inertia=inertia, j2=0.0))
    for source, target in ((frame.position, pull.position), (port.rotation, pull.rotation), (pull.torque, port.torque)):
        system.connect(source, target)
    time, found = np.round(np.pi / w / 8.0), []
    for k in range(1, 9):
        system.run(time)
        X = body.body(0).world_transform
        found.append(np.angle(np.exp(1j * (np.arctan2(X[1, 0], X[0, 0]) - n * k * time))))
    np.testing.assert_allclose(found, start * np.cos(w * time * np.arange(1, 9)), atol=2e-3 * start)


# Descent ------------------------------------------------------------------------------------------------------------


def test_entry_is_that_of_allen_and_eggers() -> None:
    """Without gravity, over a flat planet: V = V_0 exp(-B exp(-h/H)), B = rho_0 H C_D A / (2 m sin); the greatest
    deceleration is V^2 sin / (2 e H)."""
    speed, angle, H = 7000.0, np.radians(20.0), 7200.0
    given = {"mass": 500.0, "area": 3.0, "drag_coefficient": 1.4, "mu": 0.0, "radius": 1e13}
    given |= {"surface_density": 1.2, "scale_height": H}
    start = 250e3
    entry = BallisticEntry(
        slow=1000.0, position=(0, 0, start), velocity=(speed * np.cos(angle), 0, -speed * np.sin(angle)), **given
    )
    system = System(integrator=DormandPrince(rtol=1e-11, atol=1e-6, max_step=0.5))
    system.add(entry)
    log = system.log(entry.load, 100)
    system.run(140.0)
    assert entry.ended.value == 1.0
    B = 1.2 * H * 1.4 * 3.0 / (2.0 * 500.0 * np.sin(angle))
    height = -H * np.log(np.log(speed / 1000.0) / B + np.exp(-start / H))
    assert entry.position.value[2] == pytest.approx(height, abs=2e-2)  # a radius of 1e13 m rounds heights to 2e-3 m
    assert np.linalg.norm(entry.velocity.value) == pytest.approx(1000.0, abs=1e-6)
    assert log[entry.load].max() == pytest.approx(428.1449, rel=2e-5)  # looked at every 10 ms, heights rounded
    now = np.array(entry.position.value)
    system.run(1.0)
    np.testing.assert_array_equal(entry.position.value, now)


def test_the_site_has_gravity_and_air_of_its_planet() -> None:
    site = Site()
    position = np.array([4e5, -2e5, 3e4])
    on_bench(site, position=position, mass=10.0).run(0.0)
    r = position + (0, 0, kido.environment.MARS.radius)
    g = kido.environment.point_mass(r, kido.environment.MARS.mu)
    np.testing.assert_allclose(site.gravity.value, g, rtol=1e-13)
    height = np.linalg.norm(r) - kido.environment.MARS.radius
    assert site.height.value == pytest.approx(height, abs=1e-6)
    assert site.density.value == pytest.approx(0.0158 * np.exp(-height / 9354.5), rel=1e-9)
    g0 = kido.environment.MARS.mu / kido.environment.MARS.radius**2
    np.testing.assert_allclose(site.force.value, 10.0 * (g + (0, 0, g0)), rtol=1e-12)


def test_a_rocket_gains_what_its_propellant_gives() -> None:
    """Tsiolkovsky, less gravity; masses hold during a step, so that the error is of its first order."""
    F, flow, start, errors = 3000.0, 1.2, 600.0, []
    for h in (1e-2, 5e-3):
        world = kido.World(gravity=(0, 0, -3.7), time_step=h)
        body = kido.Skeleton("rocket")
        hub = body.add_body("hub", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(start, (300, 300, 400)))
        fin = body.add_body(
            "fin", kido.WeldJoint("fin", transform_from_parent=kido.models.mechanisms.at(0, 0, -1.0)), hub
        )
        fin.inertia = kido.Inertia(30.0)
        world.add_skeleton(body)
        system = System(world=world)
        port, scales = system.add(BodyPort(hub, name="hub")), system.add(MassPort(hub))
        tank = system.add(Propellant(dry=570.0, part=0.0, apart=30.0, left=60.0))
        assert (scales.body, scales.name) == (hub, "hub_mass")
        system.connect(tank.body, scales.mass)
        give(system, tank.port("flow"), flow)
        give(system, port.port("force"), (0.0, 0.0, F))
        give(system, port.port("torque"), (0.0, 0.0, 10.0))
        system.run(40.0)
        gained = F / flow * np.log(630.0 / (630.0 - flow * 40.0)) - 3.7 * 40.0
        errors.append(body.velocities[5] - gained)
        # The moment about z is that of the hub, which shrinks with its mass; the fin is on the axis.
        turn = 10.0 / (400.0 / start * flow) * np.log(start / (start - 40.0 * flow))
        assert body.velocities[2] == pytest.approx(turn, rel=1e-3)
    assert abs(errors[0]) < 5e-3 and errors[0] / errors[1] == pytest.approx(2.0, rel=0.01)
    with pytest.raises(ModelError, match="expected a body with mass"):
        MassPort(kido.Skeleton("s").add_body("empty", kido.FreeJoint()))


def test_a_body_without_any_mass_left_stops_the_run() -> None:
    world = kido.World(gravity=(0, 0, 0), time_step=1e-2)
    body = kido.Skeleton("rocket")
    hub = body.add_body("hub", kido.FreeJoint("hub"), inertia=kido.Inertia.from_diagonal(100.0, (3, 3, 4)))
    world.add_skeleton(body)
    system = System(world=world)
    give(system, system.add(MassPort(hub)).port("mass"), lambda t: 10.0 - 10.0 * t)
    system.run(0.9)
    with pytest.raises(StateError, match=r"at t = 1 s hub_mass\.mass is 0; expected a mass above 0"):
        system.run(0.2)


def test_mass_is_part_of_checkpoints() -> None:
    world = kido.World(gravity=(0, 0, 0), time_step=1e-2)
    body = kido.Skeleton("rocket")
    hub = body.add_body("hub", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(100.0, (3, 3, 4)))
    world.add_skeleton(body)
    system = System(world=world)
    port, scales = system.add(BodyPort(hub, name="hub")), system.add(MassPort(hub, "scales"))
    tank = system.add(Propellant(dry=40.0, part=20.0, left=40.0))
    give(system, tank.port("flow"), 2.0)
    give(system, tank.port("dropped"), lambda t: t > 5.0)
    give(system, port.port("force"), (0.0, 3.0, 1.0))
    system.connect(tank.mass, scales.mass)
    system.run(4.0)
    kept = system.checkpoint()
    system.run(4.0)
    first = body.velocities.copy()
    system.restore(kept)
    system.run(4.0)
    np.testing.assert_array_equal(body.velocities, first)
    assert tank.mass.value == pytest.approx(40.0 + 40.0 - 16.0)


def test_a_parachute_that_is_cut_pulls_no_more() -> None:
    chute = Parachute(area=10.0, share=1.0)
    system = on_bench(chute, open=1.0, velocity=(0, 0, -10.0))
    cut = give(system, chute.port("cut"), 0.0)
    assert chute.force.value[2] == pytest.approx(0.5 * 1.225 * 0.75 * 10.0 * 100.0)
    cut.value = 1.0
    np.testing.assert_array_equal(chute.force.value, 0.0)


def test_braking_leads_to_its_place_and_velocity() -> None:
    """A point that is accelerated as it is asked, in steps of 20 ms: the polynomial meets both ends."""
    g = np.array([0.0, 0.0, -3.7])
    law = PoweredDescent(release=1e4, final=12.0, sink=1.5, tilt=1.4)
    system = on_bench(
        law, step=0.02, rotation=np.eye(3), angular_velocity=np.zeros(3), up=(0, 0, 1), gravity=g, mass=1.0, stroke=0.0
    )
    names = ("position", "velocity", "height")
    given = {name: give(system, law.port(name), 0.0 if name == "height" else (0.0, 0.0, 0.0)) for name in names}
    r, v = np.array([0.0, 0.0, 1200.0]), np.array([20.0, -5.0, -70.0])
    while law.phase.value < 1.5:
        given["position"].value, given["velocity"].value, given["height"].value = r, v, r[2]
        system.run(0.02)
        t = max(law.left.value, 0.5)
        goal = np.array([*law.target.value[:2], 12.0])
        push = np.zeros(3)
        if 0.5 < law.phase.value < 1.5:
            push = 6.0 * (goal - r) / t**2 - (4.0 * v + 2.0 * np.array([0, 0, -1.5])) / t
            assert law.force.value[2] == pytest.approx(max(push[2] + 3.7, 0.3 * 3.7), rel=1e-6)  # along z, upright
        r, v = r + 0.02 * v + 2e-4 * push, v + 0.02 * push
        assert system.time < 100.0
    np.testing.assert_allclose(r[:2], law.target.value[:2], atol=1.0)
    assert r[2] == pytest.approx(12.0, abs=2.0)
    np.testing.assert_allclose(v, (0, 0, -1.5), atol=1.5)
