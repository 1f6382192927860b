"""POSITION actuators: springs and dampers of limited force towards a position, against closed forms and MuJoCo.

A row of the constraint problem is solved to 1e-6 of what it has to do; most single rows are exact to rounding.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido import ActuatorType
from kido.recording.description import skeleton_from_dict, skeleton_to_dict
from scenes import world_of
from trees import relative_error

H = 1e-3
POINT = kido.Inertia.from_diagonal(1.0, [2.0, 2.0, 2.0])


def rotor(**options) -> kido.Skeleton:
    """2 kg m^2 on a hinge."""
    skeleton = kido.Skeleton("rotor")
    options = {"actuator_type": "position"} | options
    skeleton.add_body("rotor", kido.RevoluteJoint("motor", axis=(0, 1, 0), **options), inertia=POINT)
    return skeleton


def arm(**options) -> kido.Skeleton:
    """Two links of 0.4 m that hang down, on hinges about y."""
    skeleton, parent = kido.Skeleton("arm"), None
    for k in range(2):
        place = None if parent is None else (0.0, 0.0, -0.4)
        joint = kido.RevoluteJoint(f"j{k}", axis=(0, 1, 0), transform_from_parent=place, **options)
        inertia = kido.Inertia(1.0 + k, (0.0, 0.0, -0.2), np.diag([0.02, 0.02, 0.01]))
        parent = skeleton.add_body(f"b{k}", joint, parent, inertia)
    return skeleton


def response(time: float, kp: float, kd: float, inertia: float = 2.0) -> float:
    """Position of I qdd = kp (1 - q) - kd qd from rest at 0."""
    roots = np.roots([inertia, kd, kp]).astype(complex)
    a, b = roots
    return float((1.0 - (b * np.exp(a * time) - a * np.exp(b * time)) / (b - a)).real)


# Closed forms ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kp", "kd"), [(200.0, 4.0), (200.0, 0.0), (200.0, 80.0)])
def test_the_answer_to_a_step_is_that_of_a_second_order_system(kp, kd) -> None:
    """Underdamped, undamped and overdamped; the error is of second order in the time step, (omega h)^2 at most."""
    errors = []
    for h in (2e-3, 1e-3):
        s = rotor(position_gain=kp, velocity_gain=kd)
        world = world_of(s, time_step=h)
        s.commands = [1.0]
        error = 0.0
        for k in range(1, round(0.6 / h) + 1):
            world.step()
            error = max(error, abs(s.positions[0] - response(k * h, kp, kd)))
        errors.append(error)
    assert errors[1] < kp / 2.0 * 1e-3**2 * 10.0
    assert 3.6 < errors[0] / errors[1] < 4.4


def test_the_force_is_that_of_the_law_at_mid_step() -> None:
    """kp (q* - mean q) - kd (mean u), where a step resolves the motion; to rounding."""
    s = rotor(position_gain=50.0, velocity_gain=3.0)
    world = world_of(s)
    s.commands, s.velocities = [0.7], [1.2]
    for _ in range(50):
        q, u = s.positions[0], s.velocities[0]
        world.step()
        expected = 50.0 * (0.7 - 0.5 * (q + s.positions[0])) - 3.0 * 0.5 * (u + s.velocities[0])
        assert s.actuator_forces[0] == pytest.approx(expected, abs=1e-11)
        assert s.constraint_forces[0] == 0.0


@pytest.mark.parametrize("kp", [1e4, 1e7, 1e12])
@pytest.mark.parametrize("kd", [0.0, 100.0, 1e6])
def test_no_gain_is_too_large(kp, kd) -> None:
    """Explicitly, 2 kg m^2 diverge from kp = 8e6 or kd = 4e3 on, at 1 ms. Here energy never exceeds that of the start,
    and where a step does not resolve the motion its amplitude falls by (1 + h^2 kp / I)^(-1/2) a step or more."""
    s = rotor(position_gain=kp, velocity_gain=kd)
    world = world_of(s)
    s.positions = [0.3]
    for _ in range(200):
        world.step()
        assert 0.5 * kp * s.positions[0] ** 2 + s.kinetic_energy < 0.5 * kp * 0.3**2 * (1.0 + 1e-3)
    if kp > 1e4 and kd < 1e-3 * kp:
        assert abs(s.positions[0]) < 1e-9


def test_an_explicit_law_diverges_at_such_gains() -> None:
    s = rotor(actuator_type="force")
    world = world_of(s)
    s.positions = [0.3]
    for _ in range(30):
        s.forces = -1e7 * s.positions
        world.step()
    assert abs(s.positions[0]) > 1e3


def test_it_is_as_strong_as_its_limits_say() -> None:
    """At full force the way is F t^2 / 2 I; the limits of both directions may differ."""
    s = rotor(position_gain=1e6, velocity_gain=1e3, force_lower_limit=-3.0, force_upper_limit=5.0)
    world = world_of(s)
    s.commands = [10.0]
    world.step(400)
    assert s.positions[0] == pytest.approx(5.0 * 0.4**2 / 4.0, rel=1e-9)
    assert s.actuator_forces[0] == pytest.approx(5.0, rel=1e-12)
    s.positions, s.velocities, s.commands = [0.0], [0.0], [-10.0]
    world.step(400)
    assert s.positions[0] == pytest.approx(-3.0 * 0.4**2 / 4.0, rel=1e-9)


def test_weight_bends_it_as_it_does_a_spring() -> None:
    """kp (q* - q) = torque of gravity, where it has come to rest."""
    s = arm(position_gain=300.0, velocity_gain=40.0, actuator_type="position")
    world = world_of(s, gravity=(0.0, 0.0, -9.81))
    s.commands = [0.8, 0.6]
    world.step(4000)
    np.testing.assert_allclose(300.0 * (s.commands - s.positions), s.gravity_forces, rtol=1e-5)
    np.testing.assert_allclose(s.actuator_forces, s.gravity_forces, rtol=1e-5)


def test_joint_springs_and_dampers_act_besides() -> None:
    """A rotor between two springs: k and kp in parallel are one of k + kp."""
    both = rotor(position_gain=120.0, velocity_gain=2.0, spring_stiffness=80.0, damping=1.0, rest_position=1.0)
    world = world_of(both)
    both.commands = [1.0]
    world.step(500)
    assert both.positions[0] == pytest.approx(response(0.5, 200.0, 3.0), abs=1e-3)  # dampers are of first order


def test_a_limit_on_the_way_carries_the_rest_of_the_force() -> None:
    s = rotor(position_gain=100.0, velocity_gain=20.0, position_upper_limit=0.5)
    world = world_of(s)
    s.commands = [2.0]
    world.step(2000)
    assert s.positions[0] == pytest.approx(0.5, abs=1e-6)
    assert s.actuator_forces[0] == pytest.approx(150.0, rel=1e-5)
    assert s.constraint_forces[0] == pytest.approx(-150.0, rel=1e-5)


def test_a_stiff_one_does_not_run_through_its_limit() -> None:
    """In one step it would be far beyond."""
    s = rotor(position_gain=1e9, velocity_gain=1e3, position_upper_limit=0.5)
    world = world_of(s)
    s.commands = [2.0]
    for _ in range(20):
        world.step()
        assert s.positions[0] < 0.5 + 1e-4


def test_a_finger_presses_with_the_force_of_its_spring() -> None:
    """A slider of 1 kg, told to go 0.1 m into the floor: 200 N/m x 0.1 m and its weight."""
    s = kido.Skeleton("finger")
    joint = kido.PrismaticJoint("slide", axis=(0, 0, 1), position_gain=200.0, velocity_gain=30.0)
    body = s.add_body("tip", joint, inertia=kido.Inertia.from_diagonal(1.0, [0.01] * 3))
    body.add_shape(kido.Sphere(0.1))
    s.positions = [0.11]
    joint.actuator_type = "position"
    world = world_of(s, gravity=(0.0, 0.0, -9.81))
    world.add_ground()
    s.commands = [0.0]
    world.step(2000)
    assert abs(world.contacts.forces[:, 2].sum()) == pytest.approx(200.0 * 0.1 + 9.81, rel=1e-4)


# Rotations -------------------------------------------------------------------------------------------------


def floating(joint: kido.Joint) -> kido.Skeleton:
    skeleton = kido.Skeleton("floating")
    skeleton.add_body("ball", joint, inertia=POINT)
    return skeleton


def test_a_ball_joint_turns_about_the_axis_to_its_target() -> None:
    """With equal gains and a round inertia the angle left follows the equation of one coordinate; (omega h)^2."""
    start, end = Rotation.from_rotvec([0.3, -0.4, 1.0]), Rotation.from_rotvec([-1.0, 0.8, 0.2])
    s = floating(kido.BallJoint("hip", position_gain=100.0, velocity_gain=6.0))
    s.positions = start.as_rotvec()
    s.joint("hip").actuator_type = "position"
    np.testing.assert_array_equal(s.commands, s.positions)
    world = world_of(s)
    s.commands = end.as_rotvec()
    way = (start.inv() * end).as_rotvec()
    for k in range(1, 501):
        world.step()
        expected = start * Rotation.from_rotvec(response(k * H, 100.0, 6.0) * way)
        assert (expected.inv() * Rotation.from_rotvec(s.positions.copy())).magnitude() < 2e-4


def test_the_short_way_is_taken_over_the_end_of_rotation_vectors() -> None:
    s = floating(kido.BallJoint("hip", position_gain=100.0, velocity_gain=28.0))
    s.positions = [0.0, 0.0, 3.0]
    s.joint("hip").actuator_type = "position"
    world = world_of(s)
    s.commands = [0.0, 0.0, -3.0]  # 0.283 rad farther, not 6 rad back
    turned = 0.0
    for _ in range(3000):
        world.step()
        turned += H * s.velocities[2]
    assert turned == pytest.approx(2.0 * np.pi - 6.0, abs=1e-4)


def test_a_free_joint_goes_straight_to_its_target() -> None:
    s = floating(kido.FreeJoint("base", position_gain=200.0, velocity_gain=25.0))
    s.positions = [0.2, -0.7, 0.4, 1.0, 2.0, 3.0]
    s.joint("base").actuator_type = "position"
    world = world_of(s)
    target = np.array([-0.5, 0.1, 1.5, 0.5, 2.5, 2.0])
    s.commands = target
    for k in range(1, 301):
        world.step()
        share = response(k * H, 200.0, 25.0, 1.0)
        np.testing.assert_allclose(s.positions[3:], [1.0, 2.0, 3.0] + share * (target[3:] - [1, 2, 3]), atol=2e-3)
    world.step(3000)
    np.testing.assert_allclose(s.positions, target, atol=1e-6)


def test_the_three_coordinates_of_a_rotation_go_together() -> None:
    joint = kido.BallJoint("hip", position_gain=100.0)
    for change in (
        lambda: setattr(joint, "actuator_types", ["position", "force", "force"]),
        lambda: setattr(joint.dofs[1], "actuator_type", "position"),
    ):
        with pytest.raises(kido.ModelError, match=r"joint 'hip': actuator_type: the three coordinates .* together"):
            change()
    assert joint.actuator_type is ActuatorType.FORCE
    free = kido.FreeJoint("base", position_gain=100.0)
    free.actuator_types = ["position"] * 3 + ["force"] * 3
    assert free.actuator_types[2:4] == (ActuatorType.POSITION, ActuatorType.FORCE)


def test_seen_from_the_other_side_a_ball_joint_does_the_same() -> None:
    """A chain hung up by its other end moves as before; its two ends and joints are the same."""
    s = kido.Skeleton("dumbbell")
    a = s.add_body("a", kido.FreeJoint("base"), inertia=POINT)
    place = np.eye(4)
    place[0, 3] = 0.5
    joint = kido.BallJoint("hip", transform_from_parent=place, position_gain=80.0, velocity_gain=5.0)
    s.add_body("b", joint, a, kido.Inertia(0.7, (0.3, 0, 0.1), np.diag([0.01, 0.02, 0.02])))
    s.positions = [0.1, 0.2, 0.3, 0.0, 0.0, 1.0, 0.3, -0.2, 0.5]
    joint.actuator_type = "position"
    joint.commands = [-0.4, 0.6, 0.1]
    other = s.clone()
    other.reroot("b")
    ends = []
    for one in (s, other):
        world = world_of(one, time_step=1e-4)
        world.step(2000)
        ends.append(np.stack([one.body(name).world_transform for name in "ab"]))
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-4)
    assert np.abs(ends[0] - np.stack([np.eye(4)] * 2)).max() > 0.1


# MuJoCo ----------------------------------------------------------------------------------------------------

ARM_IN_MUJOCO = """
<mujoco><option timestep="1e-4" integrator="RK4"><flag contact="disable"/></option>
<worldbody><body>
  <joint name="j0" type="hinge" axis="0 1 0"/>
  <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.01"/>
  <body pos="0 0 -0.4"><joint name="j1" type="hinge" axis="0 1 0"/>
    <inertial pos="0 0 -0.2" mass="2" diaginertia="0.02 0.02 0.01"/></body>
</body></worldbody>
<actuator>
  <position joint="j0" kp="150" kv="8" forcerange="-30 30"/>
  <position joint="j1" kp="60" kv="3" forcerange="-30 30"/>
</actuator></mujoco>
"""


def test_small_steps_lead_to_mujocos_motion() -> None:
    """Two links under gravity, saturated at first. Their Coriolis forces do not foresee the actuators' impulses, so
    that the difference falls with the time step; MuJoCo's Runge-Kutta at 0.1 ms is 1e-6 exact."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(ARM_IN_MUJOCO)
    data = mujoco.MjData(model)
    data.ctrl[:] = 1.2, -0.7
    mujoco.mj_step(model, data, 5000)
    errors = []
    for h in (1e-3, 2.5e-4):
        s = arm(force_limit=30.0)
        s.joint("j0").position_gain, s.joint("j0").velocity_gain = 150.0, 8.0
        s.joint("j1").position_gain, s.joint("j1").velocity_gain = 60.0, 3.0
        s.actuator_types = "position"
        world = world_of(s, gravity=(0.0, 0.0, -9.81), time_step=h)
        s.commands = [1.2, -0.7]
        world.step()
        assert s.actuator_forces[0] == pytest.approx(30.0)
        world.step(round(0.5 / h) - 1)
        errors.append(np.abs(np.concatenate([s.positions - data.qpos, s.velocities - data.qvel])).max())
    assert errors[0] < 5e-3
    assert errors[1] < 0.4 * errors[0]


# Commands --------------------------------------------------------------------------------------------------


def test_positions_asked_for_stay_and_other_commands_end() -> None:
    s = arm(position_gain=100.0, velocity_gain=10.0)
    s.joint("j0").actuator_type = "position"
    world = world_of(s)
    s.commands = [0.5, 2.0]
    world.step()
    np.testing.assert_array_equal(s.commands, [0.5, 0.0])
    world.step(10, reset_command=False)
    np.testing.assert_array_equal(s.commands, [0.5, 0.0])
    assert s.forces[0] == 0.0


def test_it_stays_where_it_is_until_told() -> None:
    s = rotor(position_gain=100.0, velocity_gain=10.0, initial_position=0.4)
    np.testing.assert_array_equal(s.commands, [0.4])
    s.joint("motor").actuator_type = "force"
    np.testing.assert_array_equal(s.commands, [0.0])
    s.positions = [0.9]
    s.joint("motor").actuator_type = "position"
    world = world_of(s)
    world.step(100)
    assert s.positions[0] == 0.9
    assert s.actuator_forces[0] == 0.0


def test_gains_change_on_the_way() -> None:
    s = rotor(position_gain=100.0, velocity_gain=20.0)
    world = world_of(s)
    s.commands = [1.0]
    world.step(100)
    s.joint("motor").position_gain = 0.0
    s.joint("motor").velocity_gain = 0.0
    u = s.velocities[0]
    world.step(100)
    assert s.velocities[0] == u  # limp
    assert s.actuator_forces[0] == 0.0
    s.dof("motor").position_gain = 400.0
    s.dof("motor").velocity_gain = 60.0
    world.step(3000)
    assert s.positions[0] == pytest.approx(1.0, abs=1e-9)


def test_kinematic_skeletons_have_no_targets_and_stay_afterwards() -> None:
    s = rotor(position_gain=100.0, velocity_gain=20.0)
    world = world_of(s)
    s.commands, s.velocities = [1.0], [0.0]
    s.kinematic = True
    np.testing.assert_array_equal(s.commands, [0.0])
    s.velocities = [0.5]
    world.step(100)
    assert s.velocities[0] == 0.5 and s.positions[0] == pytest.approx(0.05, rel=1e-12)
    s.kinematic = False
    np.testing.assert_array_equal(s.commands, s.positions)
    s.velocities = [0.0]
    world.step(10)
    assert s.velocities[0] == 0.0


def test_groups_lock_and_unlock_rotations_together() -> None:
    s = floating(kido.BallJoint("hip", position_gain=100.0, velocity_gain=10.0))
    s.actuator_types = "position"
    s.commands = [0.1, 0.2, 0.3]
    group = kido.Group(s.bodies)
    group.lock()
    assert set(s.actuator_types) == {ActuatorType.LOCKED} and not s.commands.any()
    s.positions = [0.3, 0.0, 0.0]
    group.unlock()
    assert set(s.actuator_types) == {ActuatorType.POSITION}
    np.testing.assert_array_equal(s.commands, s.positions)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "stiff", [1.0, 2.0]])
def test_gains_are_numbers_not_below_zero(value) -> None:
    joint = kido.RevoluteJoint("elbow", position_gain=5.0)
    for key in ("position_gain", "velocity_gain"):
        with pytest.raises(kido.ModelError, match=f"joint 'elbow': {key}: expected"):
            setattr(joint, key, value)
    assert joint.position_gain[0] == 5.0


def test_without_gains_it_is_refused() -> None:
    with pytest.raises(kido.ModelError, match="joint 'elbow': actuator_type: POSITION needs gains: set position_gain"):
        kido.RevoluteJoint("elbow", actuator_type="position")
    s = arm()
    with pytest.raises(kido.ModelError, match="joint 'j0': actuator_type: POSITION needs gains"):
        s.actuator_types = "position"
    assert set(s.actuator_types) == {ActuatorType.FORCE}


def test_without_a_world_forward_dynamics_has_the_force_of_now() -> None:
    """kp (q* - q) - kd u within the limits, rotations by SciPy; `forces` is what it was. 1e-13 relative."""
    s = kido.Skeleton("mixed")
    gains = {"position_gain": 30.0, "velocity_gain": 2.0}
    base = s.add_body("base", kido.FreeJoint("base", **gains), inertia=POINT)
    place = np.eye(4)
    place[0, 3] = 0.4
    hip = kido.BallJoint("hip", transform_from_parent=place, **gains, force_limit=8.0)
    thigh = s.add_body("thigh", hip, base, POINT)
    s.add_body("shin", kido.RevoluteJoint("knee", transform_from_parent=place, **gains), thigh, POINT)
    rng = np.random.default_rng(3)
    s.positions, s.velocities = rng.normal(size=10), rng.normal(size=10)
    s.actuator_types = "position"
    target = rng.normal(size=10)
    s.commands = target
    q, u = s.positions.copy(), s.velocities
    s.compute_forward_dynamics()

    def turn(k):
        return (Rotation.from_rotvec(q[k : k + 3]).inv() * Rotation.from_rotvec(target[k : k + 3])).as_rotvec()

    way = np.concatenate(
        [turn(0), Rotation.from_rotvec(q[:3]).inv().apply(target[3:6] - q[3:6]), turn(6), target[9:] - q[9:]]
    )
    expected = 30.0 * way - 2.0 * u
    expected[6:9] = np.clip(expected[6:9], -8.0, 8.0)
    np.testing.assert_allclose(s.forces, expected, rtol=1e-12, atol=1e-12)
    assert relative_error(s.accelerations, s.forward_dynamics(q, u, expected)) < 1e-12


def test_smooth_motion_alone_refuses_it_by_name() -> None:
    s = rotor(position_gain=100.0)
    with pytest.raises(kido.ModelError, match="dof 'motor' has a POSITION actuator, which works by impulses in worlds"):
        kido.integrators.simulate(s, kido.integrators.RK4(), 0.1)
    with pytest.raises(kido.ModelError, match="dof 'motor' has a POSITION actuator, which works by impulses in worlds"):
        kido.ConstrainedDynamics(s)


# Copies, rollouts, sleep -----------------------------------------------------------------------------------


def moving_world() -> kido.World:
    s = arm(position_gain=200.0, velocity_gain=3.0, force_limit=20.0, actuator_type="position")
    world = world_of(s, gravity=(0.0, 0.0, -9.81))
    s.commands = [0.9, -0.5]
    world.step(57)
    return world


def bits(world: kido.World) -> bytes:
    s = world.skeletons[0]
    return np.concatenate([s.positions, s.velocities, s.commands, s.actuator_forces]).tobytes()


@pytest.mark.parametrize("way", ["clone", "deepcopy", "pickle", "snapshot", "recording"])
def test_copies_go_on_bit_for_bit(way, tmp_path) -> None:
    world = moving_world()
    if way == "clone":
        twin = world.clone()
    elif way == "deepcopy":
        twin = copy.deepcopy(world)
    elif way == "pickle":
        twin = pickle.loads(pickle.dumps(world))
    elif way == "snapshot":
        twin = world.clone()
        twin.step(31)
        world.snapshot().save(tmp_path / "now.npz")
        twin.restore(kido.WorldSnapshot.load(tmp_path / "now.npz"))
    else:
        recorder = kido.Recorder(world, tmp_path / "arm.h5")
        world.step(3)
        recorder.close()
        twin = kido.Recording(tmp_path / "arm.h5").resume()
    assert twin.skeletons[0].joint("j0").position_gain[0] == 200.0
    world.step(40)
    twin.step(40)
    assert bits(twin) == bits(world)


def test_descriptions_and_properties_keep_gains() -> None:
    s = arm(position_gain=200.0, velocity_gain=3.0)
    s.joint("j1").actuator_type = "position"
    made = skeleton_from_dict(skeleton_to_dict(s))
    assert made.properties == s.properties
    before = s.properties
    s.joint("j0").position_gain = 7.0
    s.properties = before
    assert s.joint("j0").position_gain[0] == 200.0


def test_rollouts_are_single_worlds_bit_for_bit() -> None:
    """Each row of commands is a target; samples differ in it and in their start."""
    s = arm(position_gain=200.0, velocity_gain=3.0, force_limit=20.0, actuator_type="position")
    world = world_of(s, gravity=(0.0, 0.0, -9.81))
    rng = np.random.default_rng(1)
    positions, commands = rng.normal(size=(3, 2)), rng.normal(size=(3, 4, 2))
    found = kido.batch.rollout(world, positions, commands=commands, hold=25, threads=2)
    for k in range(3):
        twin = world.clone()
        t = twin.skeletons[0]
        t.positions = positions[k]
        for row in range(4):
            t.commands = commands[k, row]
            twin.step(25)
            assert t.positions.tobytes() == found.positions[k, row].tobytes()
            assert t.velocities.tobytes() == found.velocities[k, row].tobytes()


def test_rollouts_without_commands_hold_the_worlds_targets() -> None:
    world = moving_world()
    found = kido.batch.rollout(world, steps=100, every=100)
    world.step(100)
    assert found.positions[0, 0].tobytes() == world.skeletons[0].positions.tobytes()


def test_a_new_target_wakes_it() -> None:
    s = rotor(position_gain=100.0, velocity_gain=40.0)
    world = world_of(s)
    world.sleeping = True
    world.add_ground(-5.0)
    world.step(2000)
    assert s.is_asleep
    s.commands = [0.5]
    world.step(2000)
    assert s.positions[0] == pytest.approx(0.5, abs=1e-2)


def test_files_without_a_place_for_it_remark_the_loss(tmp_path) -> None:
    s = arm(position_gain=200.0, actuator_type="position")
    s.name = "arm"
    for suffix in ("urdf", "sdf", "skel"):
        remarks = kido.save(s, tmp_path / f"arm.{suffix}")
        assert any("POSITION" in str(remark) for remark in remarks), (suffix, remarks)
        read = kido.load(tmp_path / f"arm.{suffix}")
        back = read.skeleton("arm") if isinstance(read, kido.World) else read
        assert set(back.actuator_types) == {ActuatorType.FORCE}
