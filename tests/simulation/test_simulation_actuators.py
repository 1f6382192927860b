"""Actuators in worlds where nothing touches: servos, gears, prescribed motion, against closed forms.

A row of the constraint problem is solved to 1e-6 of what it has to do; most single rows are exact to rounding.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido import ActuatorType
from scenes import world_of
from trees import random_skeleton, relative_error

H = 1e-3
PRESCRIBED = ("acceleration", "velocity", "locked")


def inertia(about_z: float) -> kido.Inertia:
    return kido.Inertia.from_diagonal(1.0, [about_z, about_z, about_z])


def rotor(about_z: float = 2.0, **options) -> kido.Skeleton:
    skeleton = kido.Skeleton("rotor")
    skeleton.add_body("rotor", kido.RevoluteJoint("motor", **options), inertia=inertia(about_z))
    return skeleton


def pendulum(**options) -> kido.Skeleton:
    """A point mass of 2 kg at 0.5 m below a hinge about y."""
    skeleton = kido.Skeleton("pendulum")
    ball = kido.Inertia(2.0, (0.0, 0.0, -0.5), np.zeros((3, 3)))
    skeleton.add_body("bob", kido.RevoluteJoint("hinge", axis=(0, 1, 0), **options), inertia=ball)
    return skeleton


def gears(multiplier: float = -3.0, offset: float = 0.1, **options) -> kido.Skeleton:
    """A motor of 2 kg m^2 and a wheel of 0.5 kg m^2 that mimics it."""
    skeleton = kido.Skeleton("gears")
    skeleton.add_body("motor", kido.RevoluteJoint("motor"), inertia=inertia(2.0))
    mimic = kido.Mimic("motor", multiplier, offset, **options)
    skeleton.add_body("wheel", kido.RevoluteJoint("wheel", mimic=mimic), inertia=inertia(0.5))
    skeleton.positions = [0.0, offset]
    return skeleton


# Servos ----------------------------------------------------------------------------------------------------


def test_a_servo_accelerates_at_its_limit_and_then_holds() -> None:
    """u = tau t / I until the velocity is reached; then no force is needed."""
    s = rotor(2.0, actuator_type="servo", force_limit=0.8)
    world = world_of(s)
    s.commands = [0.1]
    world.step(200, reset_command=False)
    assert s.velocities[0] == pytest.approx(0.8 * 0.2 / 2.0, rel=1e-12)
    assert s.actuator_forces[0] == pytest.approx(0.8, rel=1e-12)
    assert world.report.converged
    world.step(100, reset_command=False)
    assert s.velocities[0] == pytest.approx(0.1, rel=1e-9)
    assert abs(s.actuator_forces[0]) < 1e-6
    assert s.constraint_forces[0] == 0.0


def swing(skeleton: kido.Skeleton, h: float) -> list[np.ndarray]:
    """Run the first joint along a sine for 0.3 s. Returns positions, velocities and forces of the actuator."""
    world = world_of(skeleton, gravity=(0.0, 0.0, -9.81), time_step=h)
    forces = []
    for k in range(round(0.3 / h)):
        skeleton.dof(0).command = np.sin(20.0 * h * k)
        world.step()
        forces.append(skeleton.actuator_forces[0])
    return [skeleton.positions, skeleton.velocities, np.array(forces)]


def test_a_servo_without_force_limit_moves_as_prescribed() -> None:
    """To the tolerance of the solver."""
    servo, prescribed = (swing(pendulum(actuator_type=kind), H) for kind in ("servo", "velocity"))
    for one, other in zip(servo, prescribed, strict=True):
        assert relative_error(one, other) < 1e-9


def test_velocity_products_follow_a_servo() -> None:
    """A double pendulum: its Coriolis forces follow the servo's impulse, but for an error of second order; and the
    servo's own velocity stays as it is."""
    errors = []
    for h in (1e-3, 5e-4):
        results = []
        for kind in ("servo", "velocity"):
            s = pendulum(actuator_type=kind)
            place = np.eye(4)
            place[2, 3] = -0.5
            second = kido.RevoluteJoint("knee", axis=(0, 1, 0), transform_from_parent=place)
            s.add_body("leg", second, "bob", kido.Inertia(0.7, (0.3, 0, 0.1), np.diag([0.01, 0.02, 0.02])))
            results.append(swing(s, h))
        assert relative_error(results[0][1][:1], results[1][1][:1]) < 1e-9
        errors.append(relative_error(results[0][1], results[1][1]))
    assert errors[0] < 1e-5
    assert errors[1] < 0.3 * errors[0]


def test_a_servo_that_is_too_weak_gives_way() -> None:
    """The bob of 2 kg at 0.5 m is horizontal: it needs 9.81 N m, and the servo has 4."""
    s = pendulum(actuator_type="servo", force_limit=4.0)
    s.positions = [np.pi / 2]
    world = world_of(s, gravity=(0.0, 0.0, -9.81))
    world.step()
    assert abs(s.actuator_forces[0]) == pytest.approx(4.0, rel=1e-12)
    assert abs(s.velocities[0]) == pytest.approx(H * (9.81 - 4.0) / 0.5, rel=1e-3)  # gravity's arm changes on the way
    s.joint("hinge").force_limit = 9.9
    s.positions, s.velocities = [np.pi / 2], [0.0]
    world.step(1000)
    assert s.positions[0] == pytest.approx(np.pi / 2, abs=1e-9)
    assert abs(s.actuator_forces[0]) == pytest.approx(9.81, rel=1e-9)


def test_a_servo_without_force_limit_stops_at_position_limits() -> None:
    s = rotor(2.0, actuator_type="servo", position_upper_limit=0.2)
    world = world_of(s)
    s.commands = [1.0]
    world.step(1000, reset_command=False)
    assert s.positions[0] == pytest.approx(0.2, abs=1e-5)
    assert abs(s.velocities[0]) < 1e-3
    assert world.unconverged_steps == 0


def test_a_servo_with_force_limit_presses_against_position_limits() -> None:
    s = rotor(2.0, actuator_type="servo", position_upper_limit=0.02, force_limit=5.0)
    world = world_of(s)
    s.commands = [1.0]
    world.step(1000, reset_command=False)
    assert s.positions[0] == pytest.approx(0.02, abs=1e-5)
    assert s.actuator_forces[0] == pytest.approx(5.0, rel=1e-9)
    assert s.constraint_forces[0] == pytest.approx(-5.0, rel=1e-4)
    assert world.unconverged_steps == 0


def test_a_servo_without_force_limit_stops_where_its_gear_is_at_a_limit() -> None:
    s = gears(multiplier=-2.0, offset=0.0)
    s.dof("motor").actuator_type = "servo"
    s.joint("wheel").position_lower_limit = -0.1
    world = world_of(s)
    s.commands = [1.0, 0.0]
    world.step(200, reset_command=False)
    assert s.positions == pytest.approx([0.05, -0.1], abs=1e-5)
    assert world.unconverged_steps == 0


def test_a_servo_overcomes_joint_friction() -> None:
    s = rotor(2.0, actuator_type="servo", force_limit=5.0, coulomb_friction=1.0, damping=0.5)
    world = world_of(s)
    s.commands = [2.0]
    world.step(3000, reset_command=False)
    assert s.velocities[0] == pytest.approx(2.0, rel=1e-6)
    assert s.actuator_forces[0] == pytest.approx(1.0 + 0.5 * 2.0, rel=1e-6)
    assert s.constraint_forces[0] == pytest.approx(-1.0, rel=1e-6)
    weak = rotor(2.0, actuator_type="servo", force_limit=0.9, coulomb_friction=1.0)
    world = world_of(weak)
    weak.commands = [2.0]
    world.step(100)
    assert np.abs(weak.velocities).max() < 1e-9


def test_servos_of_a_ball_joint() -> None:
    """All three body axes are held at a rate, which is then constant in the world, too."""
    s = kido.Skeleton("ball")
    s.add_body("body", kido.BallJoint("ball", actuator_type="servo"), inertia=kido.Inertia.from_diagonal(1, [1, 2, 3]))
    world = world_of(s)
    rate = np.array([0.3, -0.2, 0.5])
    s.commands = rate
    world.step(500, reset_command=False)
    assert relative_error(s.velocities, rate) < 1e-8
    assert relative_error(s.positions, rate * (500 - 0.5) * H) < 1e-6
    gyroscopic = np.cross(rate, np.diag([1, 2, 3]) @ rate)
    # Gyroscopic forces are predicted without the servo's impulse: they turn with w x I w for half a step.
    assert relative_error(s.actuator_forces, gyroscopic) < 1e-4


def test_commands_are_cleared_unless_kept() -> None:
    s = rotor(2.0, actuator_type="servo")
    world = world_of(s)
    s.commands = [1.0]
    world.step(2, reset_command=False)
    assert s.commands[0] == 1.0
    world.step(2)
    assert s.commands[0] == 0.0
    world.step()
    assert abs(s.velocities[0]) < 1e-12  # a servo without command brakes


# Velocity limits -------------------------------------------------------------------------------------------


def test_velocity_limits_are_kept_on_request() -> None:
    s = rotor(2.0, velocity_limit=0.5)
    world = world_of(s)
    s.forces = [10.0]
    world.step(200)
    assert s.velocities[0] == pytest.approx(1.0, rel=1e-12)  # unless asked for, limits do not act
    s.joint("motor").enforce_velocity_limits = True
    s.forces = [10.0]
    world.step(10)
    assert s.velocities[0] == pytest.approx(0.5, rel=1e-9)
    assert s.constraint_forces[0] == pytest.approx(-10.0, rel=1e-9)
    s.forces = [-10.0]
    world.step(1000)
    assert s.velocities[0] == pytest.approx(-0.5, rel=1e-9)


def test_a_servo_keeps_to_enforced_velocity_limits() -> None:
    for limit in (np.inf, 100.0):
        s = rotor(2.0, velocity_limit=0.5, actuator_type="servo", force_limit=limit)
        s.joint("motor").enforce_velocity_limits = True
        world = world_of(s)
        s.commands = [-3.0]
        world.step(100)
        assert s.velocities[0] == pytest.approx(-0.5, rel=1e-9)
        assert world.unconverged_steps == 0


# Mimics ----------------------------------------------------------------------------------------------------


def test_gears_have_the_effective_inertia_of_both() -> None:
    """I_1 + m^2 I_2 = 2 + 9 * 0.5, and the gear turns -m I_2 udot against the motor."""
    s = gears()
    world = world_of(s)
    s.forces = [1.3, 0.0]
    world.step(1000)
    udot = 1.3 / 6.5
    assert s.velocities[0] == pytest.approx(udot, rel=1e-9)
    assert s.velocities[1] == pytest.approx(-3.0 * udot, rel=1e-9)
    assert s.positions[1] == pytest.approx(-3.0 * s.positions[0] + 0.1, abs=1e-12)
    assert s.constraint_forces == pytest.approx([-9 * 0.5 * udot, -3 * 0.5 * udot], rel=1e-9)
    assert s.actuator_forces.tolist() == [1.3, 0.0]


def test_a_gear_works_in_both_directions() -> None:
    s = gears()
    world = world_of(s)
    s.commands = [0.0, 1.3]  # a force on the mimic itself drags the motor
    world.step(1000)
    assert s.velocities[0] == pytest.approx(-3.0 * 1.3 / 6.5, rel=1e-9)


def test_a_gear_loses_no_energy() -> None:
    s = gears()
    s.velocities = [1.0, -3.0]
    world = world_of(s)
    before = world.kinetic_energy
    world.step(2000)
    assert world.kinetic_energy == pytest.approx(before, rel=1e-9)


def test_positions_that_do_not_fit_are_brought_together_without_speed() -> None:
    s = gears()
    s.positions = [0.0, 0.3]
    world = world_of(s)
    world.step(200)
    assert s.positions[1] == pytest.approx(-3.0 * s.positions[0] + 0.1, abs=1e-9)
    assert world.kinetic_energy < 1e-18


def test_a_gear_slips_at_its_force_limit() -> None:
    s = gears(force_limit=0.2)
    world = world_of(s)
    s.forces = [13.0, 0.0]
    world.step()
    assert s.velocities == pytest.approx([H * (13.0 - 3 * 0.2) / 2.0, -H * 0.2 / 0.5], rel=1e-12)
    assert world.report.converged
    s.velocities = [0.0, 0.0]
    world.step(3000)  # catches up
    assert s.positions[1] == pytest.approx(-3.0 * s.positions[0] + 0.1, abs=1e-6)


def test_chains_of_mimics_and_many_followers() -> None:
    s = kido.Skeleton("train")
    moments = [1.0, 0.5, 0.3, 0.2]
    follow = [None, kido.Mimic("j0", 2.0), kido.Mimic("j1", -1.5), kido.Mimic("j0", 0.5)]
    for k in range(4):
        s.add_body(f"b{k}", kido.RevoluteJoint(f"j{k}", mimic=follow[k]), inertia=inertia(moments[k]))
    world = world_of(s)
    s.forces = [1.0, 0.0, 0.0, 0.0]
    world.step(500)
    ratio = np.array([1.0, 2.0, -3.0, 0.5])
    u = 0.5 / (ratio**2 @ np.array(moments))
    assert relative_error(s.velocities, ratio * u) < 1e-5
    assert world.unconverged_steps == 0


def test_coordinates_of_multi_coordinate_joints_follow() -> None:
    s = kido.Skeleton("table")
    s.add_body("a", kido.TranslationalJoint("a"), inertia=inertia(1.0))
    s.add_body("b", kido.TranslationalJoint("b", mimic=kido.Mimic("a", 2.0)), inertia=inertia(1.0))
    s.add_body("c", kido.UniversalJoint("c"), inertia=inertia(1.0))
    s.dof("c_2").mimic = kido.Mimic("a", -1.0, dof=2)
    world = world_of(s)
    s.forces = [5.0, 10.0, 12.0, *np.zeros(5)]
    world.step()
    u = s.velocities
    assert u[:3] == pytest.approx([H * 5 / 5, H * 10 / 5, H * 12 / 6], rel=1e-6)
    assert u[3:6] == pytest.approx(2.0 * u[:3], rel=1e-6)
    assert u[6:] == pytest.approx([0.0, -u[2]], rel=1e-6)


def test_a_gear_on_a_driven_joint_follows_it() -> None:
    s = gears()
    s.dof("motor").actuator_type = "velocity"
    s.joint("wheel").position_lower_limit = -0.05  # the gear is stronger than the limit
    world = world_of(s)
    s.commands = [0.4, 0.0]
    world.step(500, reset_command=False)
    assert s.velocities == pytest.approx([0.4, -1.2], rel=1e-12)
    assert world.unconverged_steps == 0
    s.dof("motor").actuator_type = "acceleration"
    s.commands = [2.0, 0.0]
    world.step()
    # The motor turns its own inertia and, through the gear, the wheel's.
    assert s.actuator_forces[0] == pytest.approx(2.0 * 6.5, rel=1e-9)


def test_mimics_of_a_file_move_as_gears() -> None:
    text = (
        '<robot name="gripper"><link name="hand"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        + "".join(
            f'<link name="finger{k}"><inertial><mass value="0.1"/>'
            '<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>'
            f'<joint name="slide{k}" type="prismatic"><parent link="hand"/><child link="finger{k}"/>'
            f'<axis xyz="0 {1 - 2 * k} 0"/><limit lower="0" upper="0.04" velocity="1" effort="20"/>{mimic}</joint>'
            for k, mimic in enumerate(["", '<mimic joint="slide0"/>'])
        )
        + "</robot>"
    )
    s = kido.io.urdf.read(text)
    assert s.actuator_types == (ActuatorType.FORCE, ActuatorType.MIMIC)
    world = world_of(s)
    s.forces = [0.2, 0.0]
    world.step(100)
    assert s.velocities == pytest.approx([0.1, 0.1], rel=1e-6)
    world.step(1000)
    assert s.positions == pytest.approx([0.04, 0.04], abs=1e-5)


# Prescribed motion -----------------------------------------------------------------------------------------


def test_a_locked_joint_carries_its_load() -> None:
    s = pendulum(actuator_type="locked")
    s.positions = [0.7]
    world = world_of(s, gravity=(0.0, 0.0, -9.81))
    world.step(100)
    assert s.positions.tolist() == [0.7] and s.velocities.tolist() == [0.0]
    # Gravity turns the bob back with m g l sin q; the brake holds it.
    assert s.actuator_forces[0] == pytest.approx(2.0 * 9.81 * 0.5 * np.sin(0.7), rel=1e-12)
    s.actuator_types = "force"
    world.step(10)
    assert s.velocities[0] < 0.0


def test_locking_a_moving_joint_stops_it_within_the_step() -> None:
    """The momentum goes into the support: the impulse is I u."""
    s = rotor(2.0)
    s.velocities = [3.0]
    world = world_of(s)
    s.actuator_types = "locked"
    world.step()
    assert s.velocities[0] == 0.0
    assert s.actuator_forces[0] * H == pytest.approx(-6.0, rel=1e-12)


def test_locking_the_elbow_keeps_the_angular_momentum_of_the_whole() -> None:
    """A free double rotor about one axis: with the elbow locked both turn as one body."""
    s = kido.Skeleton("two")
    body = s.add_body("a", kido.RevoluteJoint("a"), inertia=inertia(2.0))
    s.add_body("b", kido.RevoluteJoint("b"), body, inertia(1.0))
    s.velocities = [1.0, 5.0]
    before = s.momentum
    world = world_of(s)
    s.dof("b").actuator_type = "locked"
    world.step()
    assert s.velocities == pytest.approx([8.0 / 3.0, 0.0], abs=1e-12)
    assert s.momentum == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_prescribed_and_free_coordinates_obey_the_equations_of_motion(seed: int) -> None:
    """Random trees with random actuators: inverse dynamics in the middle of a step gives its forces.

    Against those of its start the difference is of first order, half a step of motion."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "screw", "universal", "euler", "ball", "planar", "translational", "free")
    s = random_skeleton(seed, 6, kinds)
    n = s.num_dofs
    names = ["force", "passive", *PRESCRIBED]
    s.actuator_types = [names[k] for k in rng.integers(0, 5, n)]
    types = np.array(s.actuator_types)
    q0, u0 = rng.uniform(-1, 1, n), rng.normal(size=n)
    u0[types == ActuatorType.LOCKED] = 0.0
    command = np.where(np.isin(types, [ActuatorType.PASSIVE, ActuatorType.LOCKED]), 0.0, rng.normal(size=n))
    errors = []
    for h in (2e-4, 1e-4):
        twin = s.clone()
        twin.positions, twin.velocities = q0, u0
        fast = types == ActuatorType.VELOCITY
        given = np.where(fast, u0 + h * command, command)  # an acceleration of `command`, reached in one step
        twin.commands = given
        for joint in twin.joints:
            joint.damping = joint.spring_stiffness = 0.0
        world = world_of(twin, gravity=(0.0, 0.0, -9.81), time_step=h)
        world.step()
        udot = (twin.velocities - u0) / h
        prescribed = np.where(fast, command, np.where(types == ActuatorType.ACCELERATION, command, 0.0))
        driven = types >= ActuatorType.ACCELERATION
        assert relative_error(udot[driven], prescribed[driven]) < 1e-9
        errors.append(relative_error(twin.actuator_forces, twin.inverse_dynamics(q0, u0, udot)))
    assert errors[0] < 0.2
    assert 0.4 * errors[0] < errors[1] < 0.6 * errors[0]


def test_a_prescribed_trajectory_follows_and_its_forces_are_inverse_dynamics() -> None:
    """q = sin(w t) asked for as an acceleration; the force at mid-step is I udot + m g l sin q."""
    s = pendulum(actuator_type="acceleration", damping=0.3, spring_stiffness=2.0)
    world = world_of(s, gravity=(0.0, 0.0, -9.81))
    w, worst = 3.0, 0.0
    s.velocities = [w]
    for k in range(1000):
        t = (k + 0.5) * H
        s.commands = [-w * w * np.sin(w * t)]
        world.step()
        q, u, a = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
        expected = 0.5 * a + 9.81 * np.sin(q) + 0.3 * u + 2.0 * q
        worst = max(worst, abs(s.actuator_forces[0] - expected))
    assert s.positions[0] == pytest.approx(np.sin(w), abs=1e-5)
    assert worst < 5e-3  # damping is taken at the end of the step: 0.3 h w^2 / 2, and the drift of q


def test_power_of_a_driven_pendulum() -> None:
    """The work of the actuator is the change of energy; second order in h."""
    errors = []
    for h in (2e-3, 1e-3):
        s = pendulum(actuator_type="velocity")
        world = world_of(s, gravity=(0.0, 0.0, -9.81), time_step=h)
        work, start = 0.0, world.total_energy
        for k in range(round(1.0 / h)):
            before = s.velocities[0]
            s.commands = [2.0 * np.sin(3.0 * (k + 1) * h)]
            world.step()
            work += h * s.actuator_forces[0] * 0.5 * (before + s.velocities[0])
        errors.append(abs(work - (world.total_energy - start)))
    assert errors[1] < 1e-4
    assert np.log2(errors[0] / errors[1]) > 1.7


def test_a_free_joint_that_is_driven_keeps_its_twist() -> None:
    """A constant twist in body axes moves along a screw; DART and we count a free joint's velocity in body axes."""
    from scipy.linalg import expm

    s = kido.Skeleton("platform")
    body = s.add_body("body", kido.FreeJoint("free", actuator_type="velocity"), inertia=inertia(1.0))
    world = world_of(s, gravity=(0.0, 0.0, -9.81))
    twist = np.array([0.3, -0.5, 0.8, 0.2, 0.4, -0.1])
    s.velocities = twist
    s.positions = [0.1, 0.2, -0.3, 1.0, 2.0, 3.0]
    X = body.world_transform
    s.commands = twist
    world.step(1000)
    assert s.velocities == pytest.approx(twist, abs=1e-14)
    w, v = twist[:3], twist[3:]
    W = np.array([[0, -w[2], w[1], v[0]], [w[2], 0, -w[0], v[1]], [-w[1], w[0], 0, v[2]], [0, 0, 0, 0]])
    assert body.world_transform == pytest.approx(X @ expm(W), abs=1e-11)
    weight = X[:3, :3].T @ [0.0, 0.0, 9.81]
    world.step()  # now it stops: without a command
    s.commands = np.zeros(6)
    world.step()
    R = body.world_transform[:3, :3]
    assert s.actuator_forces == pytest.approx([0, 0, 0, *(R.T @ [0.0, 0.0, 9.81])], abs=1e-11)
    assert np.linalg.norm(weight) == pytest.approx(9.81)


def test_one_body_axis_of_a_free_joint_can_be_held() -> None:
    """A spinning body that may not move along its own x: its centre keeps the other momentum."""
    s = kido.Skeleton("sled")
    s.add_body("body", kido.FreeJoint("free"), inertia=kido.Inertia.from_diagonal(2.0, [1, 1, 1]))
    s.dof("free_x").actuator_type = "locked"
    s.velocities = [0, 0, 1.0, 0.0, 2.0, 0.5]
    world = world_of(s)
    world.step(1500)
    # A knife edge: it turns at 1 rad/s and runs along its y at 2 m/s, in a circle of 2 m.
    assert s.velocities == pytest.approx([0, 0, 1.0, 0.0, 2.0, 0.5], abs=1e-5)
    t = 1.5
    expected = [2.0 * (np.cos(t) - 1.0), 2.0 * np.sin(t), 0.5 * t]
    assert s.positions[3:] == pytest.approx(expected, abs=1e-5)
    assert s.actuator_forces[3] == pytest.approx(-2.0 * 1.0 * 2.0, rel=1e-5)


def test_passive_coordinates_take_no_force() -> None:
    s = rotor(2.0, actuator_type="passive")
    world = world_of(s)
    s.forces = [5.0]  # the result of an inverse dynamics, say
    world.step()
    assert s.velocities.tolist() == [0.0]


@pytest.mark.parametrize("seed", range(4))
def test_all_forces_on_the_coordinates_add_up(seed: int) -> None:
    """Every actuator, springs, damping and dry friction: M udot + C is the sum of what is reported, to first order."""
    rng = np.random.default_rng(seed)
    s = random_skeleton(seed, 7, ("revolute", "prismatic", "universal", "euler", "translational"))
    n = s.num_dofs
    names = ["force", "passive", "servo", *PRESCRIBED]
    s.actuator_types = [names[k] for k in rng.integers(0, 6, n)]
    last = s.joints[-1]
    last.mimic = kido.Mimic(s.joints[0].name, 0.7, dof=0)
    for joint in s.joints:
        joint.force_limit, joint.coulomb_friction = 2.0, 0.3
        joint.damping, joint.spring_stiffness = 0.4, 1.5
    types = np.array(s.actuator_types)
    q, u = rng.uniform(-1, 1, n), rng.normal(size=n)
    first = s.joints[0].dofs[0].index
    q[-last.num_dofs :], u[-last.num_dofs :] = 0.7 * q[first], 0.7 * u[first]
    u[types == ActuatorType.LOCKED] = 0.0
    asked = rng.normal(size=n)
    errors = []
    for h in (2e-4, 1e-4):
        twin = s.clone()
        twin.positions, twin.velocities = q, u
        command = np.where(types == ActuatorType.VELOCITY, u + h * asked, asked)
        twin.commands = np.where(np.isin(types, [ActuatorType.PASSIVE, ActuatorType.LOCKED]), 0.0, command)
        world = world_of(twin, gravity=(0.0, 0.0, -9.81), time_step=h)
        world.step()
        assert world.report.converged
        given = twin.actuator_forces + twin.constraint_forces
        rest = np.array([dof.rest_position for dof in twin.dofs])
        given -= 0.4 * u + 1.5 * (q - rest)
        driven = types >= ActuatorType.ACCELERATION  # dry friction is not a row there, but what the actuator meets
        given -= np.where(driven, 0.3 * np.sign(np.round(u + h * asked, 12)), 0.0) * (types != ActuatorType.LOCKED)
        errors.append(relative_error(given, twin.inverse_dynamics(q, u, (twin.velocities - u) / h)))
    assert errors[0] < 0.1
    assert 0.3 * errors[0] < errors[1] < 0.7 * errors[0]


# Saving and copying ----------------------------------------------------------------------------------------


def machine() -> kido.World:
    """Everything at once: a servo with a limit, a gear, a lock, a driven free body."""
    s = random_skeleton(3, 6, ("revolute", "prismatic", "universal"))
    s.name = "machine"
    s.dof(0).actuator_type = "servo"
    s.joints[0].force_limit = 3.0
    s.dof(1).mimic = kido.Mimic(s.dof(0).joint.name, 0.5, 0.01, dof=0)
    s.dof(2).actuator_type = "velocity"
    world = world_of(s, gears(), rotor(actuator_type="acceleration"), gravity=(0.0, 0.0, -9.81))
    world.skeletons[0].velocities = np.linspace(-1, 1, s.num_dofs)
    return world


def drive(world: kido.World, k: int) -> None:
    first, second, third = world.skeletons
    first.dof(0).command = np.sin(0.1 * k)
    first.dof(2).command = 0.3
    second.forces = [1.0, 0.0]
    third.commands = [0.2 * k]


def test_copies_and_saved_states_continue_bit_for_bit() -> None:
    world = machine()
    for k in range(20):
        drive(world, k)
        world.step()
    drive(world, 20)
    state = world.snapshot()
    others = [world.clone(), copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    for k in range(20, 40):
        drive(world, k)
        world.step()
    again = machine()
    again.restore(state)
    for other in [*others, again]:
        other.step()
        for k in range(21, 40):
            drive(other, k)
            other.step()
        for one, two in zip(world.skeletons, other.skeletons, strict=True):
            assert np.array_equal(one.positions, two.positions)
            assert np.array_equal(one.velocities, two.velocities)
            assert np.array_equal(one.actuator_forces, two.actuator_forces)


def test_recordings_resume_bit_for_bit(tmp_path) -> None:
    world = machine()
    path = tmp_path / "machine.h5"
    with kido.Recorder(world, path, checkpoint_every=1000):
        for k in range(30):
            drive(world, k)
            world.step()
    recording = kido.Recording(path)
    n = world.skeletons[0].num_dofs
    assert recording.commands[10, 0] == np.sin(0.9)
    assert recording.commands[10, 2] == 0.3
    assert recording.commands[10, n] == 1.0
    assert recording.commands[10, n + 2] == 0.2 * 9
    resumed = recording.resume(15)
    assert resumed.skeletons[0].actuator_types == world.skeletons[0].actuator_types
    for k in range(15, 30):
        drive(resumed, k)
        resumed.step()
    for one, two in zip(world.skeletons, resumed.skeletons, strict=True):
        assert np.array_equal(one.positions, two.positions)
        assert np.array_equal(one.velocities, two.velocities)


def test_hybrid_dynamics_of_a_skeleton_in_a_world() -> None:
    """Results of a skeleton between steps do not disturb them, and know its actuators only in forward dynamics."""
    worlds = [machine(), machine()]
    for k in range(10):
        for world in worlds:
            drive(world, k)
            world.step()
        s = worlds[0].skeletons[0]
        forces, commands = s.forces, s.commands
        s.compute_forward_dynamics()
        M, c = s.mass_matrix, s.inverse_dynamics(s.positions, s.velocities, np.zeros(s.num_dofs))
        assert relative_error(M @ s.accelerations + c, s.forces) < 1e-9
        assert relative_error(np.linalg.inv(M), s.inverse_mass_matrix) < 1e-9
        s.forces, s.commands = forces, commands
    for one, two in zip(worlds[0].skeletons, worlds[1].skeletons, strict=True):
        assert np.array_equal(one.positions, two.positions)
        assert np.array_equal(one.velocities, two.velocities)
        assert np.array_equal(one.actuator_forces, two.actuator_forces)
