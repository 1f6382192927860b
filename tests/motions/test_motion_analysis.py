"""Analyses of motions against closed forms, identities, simulations and Pinocchio; their files, and what is refused."""

from __future__ import annotations

import csv
import sys

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import make_interp_spline

import kido
from kido.batch import Batch
from kido.errors import KidoError, NameLookupError, StateError
from kido.layouts import PinocchioLayout
from kido.motions import Motion, analyze
from kido.motions.touching import outline

G = 9.81


def rate(t, values):
    """By a quintic spline, as exact as those of motions."""
    return make_interp_spline(t, values, k=5)(t, nu=1)


def pendulum() -> kido.Skeleton:
    skeleton = kido.Skeleton("pendulum")
    inertia = kido.Inertia.from_diagonal(2.0, (0.1, 0.2, 0.15), com=(0, 0, -0.5))
    skeleton.add_body("bob", kido.RevoluteJoint("pin", axis=(0, 1, 0)), inertia=inertia)
    return skeleton


def box(name="box", mass=3.0) -> kido.Skeleton:
    skeleton = kido.Skeleton(name)
    shape = kido.Box((0.2, 0.3, 0.4))
    body = skeleton.add_body("box", kido.FreeJoint("root"), inertia=kido.Inertia.from_shape(shape, mass=mass))
    body.add_shape(shape)
    return skeleton


def wandering(skeleton: kido.Skeleton, rate_: float = 200.0, duration: float = 2.0, seed: int = 0) -> Motion:
    t = np.arange(0, duration + 1e-9, 1 / rate_)
    rng = np.random.default_rng(seed)
    phase, speed = rng.uniform(0, 6, (2, skeleton.num_dofs))
    return Motion(None, 0.4 * np.sin((1 + 0.5 * speed) * t[:, None] + phase), rate_, skeleton=skeleton)


# -- closed forms ------------------------------------------------------------------------------------------


def test_a_pendulum_that_is_led():
    t = np.arange(0, 2, 0.01)
    x, v, a = np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t)
    found = analyze(Motion(None, x[:, None], 100, skeleton=pendulum()))
    m, r = 2.0, 0.5
    torque = (0.2 + m * r * r) * a + m * G * r * np.sin(x)
    # The spline's second derivative is of fourth order in 0.01 s: 3^6 0.01^4 / 100, larger at the ends.
    assert_allclose(found.forces[5:-5, 0], torque[5:-5], atol=1e-5)
    assert_allclose(found.powers[5:-5, 0], (torque * v)[5:-5], atol=1e-4)
    assert_allclose(found.kinetic_energy[5:-5], (0.5 * (0.2 + m * r * r) * v**2)[5:-5], atol=1e-5)
    assert_allclose(found.potential_energy, -m * G * r * np.cos(x), atol=1e-12)
    along, across = np.column_stack([np.sin(x), np.cos(x)]), np.column_stack([np.cos(x), -np.sin(x)])
    com = -r * along
    assert_allclose(found.com[:, [0, 2]], com, atol=1e-12)
    acceleration = -r * (a[:, None] * across - v[:, None] ** 2 * along)
    assert_allclose(found.com_acceleration[5:-5, ::2], acceleration[5:-5], atol=1e-5)
    assert_allclose(found.ground_reaction[5:-5, [3, 5]], m * (acceleration + [0, G])[5:-5], atol=1e-4)
    assert_allclose(found.momentum[5:-5, 1], (0.2 * v)[5:-5], atol=1e-6)
    # What the pin does about the origin is its torque; work is what the energy has gained.
    assert_allclose(found.ground_reaction[:, 1], found.forces[:, 0], atol=1e-12)
    assert_allclose(found.work[-6, 0] - found.work[5, 0], found.total_energy[-6] - found.total_energy[5], atol=2e-3)
    assert found.floating == () and found.phases == () and found.cop is None


def test_a_body_that_falls_takes_no_force():
    t = np.arange(0, 1, 0.01)
    q = np.zeros((len(t), 6))
    q[:, 2], q[:, 3], q[:, 5] = 2 * t, 0.7 * t, 5 + 3 * t - 0.5 * G * t**2
    found = analyze(Motion(None, q, 100, skeleton=box()), ground=0.0)
    assert np.abs(found.forces).max() < 1e-5  # the fourth order of 0.01 s: it turns below its velocity
    assert np.isnan(found.zmp).all() and not found.touching.any()
    assert np.ptp(found.total_energy) < 1e-9
    assert np.ptp(found.momentum[:, :3], axis=0).max() < 1e-10
    assert_allclose(found.momentum_rate[:, 3:], np.tile([0, 0, -3 * G], (len(t), 1)), atol=1e-5)
    assert found.floating == ("root_rx", "root_ry", "root_rz", "root_x", "root_y", "root_z")


def test_the_zero_moment_point_of_a_point_mass():
    """x - z x'' / (z'' + g), the cart on a table (Kajita and others, 2003)."""
    t = np.arange(0, 2, 0.01)
    q = np.zeros((len(t), 6))
    q[:, 3], q[:, 5] = 0.1 * np.sin(4 * t), 0.8 + 0.02 * np.cos(3 * t)
    found = analyze(Motion(None, q, 100, skeleton=box()), ground=0.1)
    x = q[:, 3] - (q[:, 5] - 0.1) * (-1.6 * np.sin(4 * t)) / (G - 0.18 * np.cos(3 * t))
    assert_allclose(found.zmp[5:-5], np.column_stack([x, 0 * t, 0 * t + 0.1])[5:-5], atol=1e-7)


# -- identities --------------------------------------------------------------------------------------------


def many_roots() -> kido.Skeleton:
    """Two trees: one on a planar joint, one on a ball joint away from the origin, with springs."""
    skeleton = kido.Skeleton("two trees")
    inertia = kido.Inertia.from_diagonal(1.5, (0.1, 0.2, 0.15), com=(0.1, 0.05, -0.2))
    cart = skeleton.add_body("cart", kido.PlanarJoint("plane"), inertia=inertia)
    skeleton.add_body("arm", kido.BallJoint("shoulder"), cart, inertia)
    place = np.eye(4)
    place[:3, 3] = 1.0, 2.0, 0.5
    post = skeleton.add_body("post", kido.BallJoint("post", transform_from_parent=place), inertia=inertia)
    skeleton.add_body("slider", kido.PrismaticJoint("slide", axis=(1, 0, 0)), post, inertia)
    skeleton.dof("slide").joint.spring_stiffness = [30.0]
    return skeleton


@pytest.mark.parametrize("make", [lambda: kido.load("humanoid"), lambda: kido.load("arm7"), many_roots])
def test_momentum_and_energy_balance(make):
    motion = wandering(make())
    skeleton, t = motion.skeleton, motion.times
    found = analyze(motion)
    inner = slice(8, -8)
    for of, by in ((found.momentum, found.momentum_rate), (found.com, found.com_velocity)):
        assert_allclose(rate(t, of)[inner], by[inner], atol=1e-4 * np.abs(by).max())
    power = found.powers.sum(axis=1)
    assert_allclose(found.joint_powers.sum(axis=1), power, atol=1e-10)
    spring = Batch(skeleton).spring_forces(found.positions)
    power = power - (spring * found.velocities).sum(axis=1)  # their energy is in the potential one
    assert_allclose(rate(t, found.total_energy)[inner], power[inner], atol=1e-4 * np.abs(power).max())
    # And the same numbers by the rows of the quantities, one by one.
    batch, (q, u, a) = Batch(skeleton), (found.positions, found.velocities, found.accelerations)
    assert_allclose(found.forces, batch.inverse_dynamics(q, u, a), atol=1e-9)
    assert_allclose(found.momentum, batch.centroidal_momentum(q, u), atol=1e-10)
    assert_allclose(found.kinetic_energy, batch.kinetic_energy(q, u), atol=1e-10)
    assert_allclose(found.com_acceleration, batch.com_acceleration(q, u, a), atol=1e-9)


def test_springs_are_in_the_power_balance_once():
    found = analyze(wandering(many_roots()))
    assert np.abs(found.potential_energy).max() > 0.1


def test_against_pinocchio(example_robots):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (the package pin) is not installed")
    file = example_robots / "talos_data/robots/talos_reduced.urdf"
    skeleton = kido.load_skeleton(file, base="free", visuals=False, collisions=False)
    model = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
    layout = PinocchioLayout(skeleton, model)
    found = analyze(wandering(skeleton, duration=0.2))
    scratch = model.createData()
    for k in range(0, len(found.times), 7):
        own, q = found.positions[k], layout.positions(found.positions[k])
        u = layout.velocities(own, found.velocities[k])
        a = layout.velocities(own, found.accelerations[k])  # both are of the same axes, which turn with the body
        tau = pin.rnea(model, scratch, q, u, a)
        scale = np.abs(tau).max()
        assert_allclose(found.forces[k], layout.our_forces(own, tau), atol=1e-10 * scale)
        h = pin.computeCentroidalMomentumTimeVariation(model, scratch, q, u, a)
        assert_allclose(found.momentum[k], np.roll(scratch.hg.vector, 3), atol=1e-9)
        assert_allclose(found.momentum_rate[k], np.roll(h.vector, 3), atol=1e-9 * scale)
        assert_allclose(found.com[k], pin.centerOfMass(model, scratch, q), atol=1e-12)
        assert_allclose(found.kinetic_energy[k], pin.computeKineticEnergy(model, scratch, q, u), rtol=1e-11)


# -- simulations -------------------------------------------------------------------------------------------


def recorded(world: kido.World, path, duration: float, act=lambda: None) -> kido.Recording:
    with kido.Recorder(world, path):
        for _ in range(round(duration / world.time_step)):
            act()
            world.step()
    return kido.Recording.open(path)


@pytest.mark.parametrize("name", ["arm7", "humanoid"])
def test_torques_of_a_simulation_come_back(name, tmp_path):
    """To the second order of the time step, which is that of worlds."""
    errors = {}
    for h in (2e-3, 1e-3):
        world = kido.World(time_step=h)
        robot = world.add_skeleton(kido.load(name))
        for joint in robot.joints:
            joint.damping = [0.0] * joint.num_dofs
            joint.enforce_position_limits = False
        robot.self_collision = False
        waves = np.random.default_rng(3).uniform(1, 4, robot.num_dofs)
        size = 0.3 * np.abs(np.diag(robot.mass_matrix))

        def act(robot=robot, world=world, waves=waves, size=size):
            robot.forces = size * np.sin(waves * (world.time + 0.5 * world.time_step))

        recording = recorded(world, tmp_path / f"{h}.h5", 0.3, act)
        found = analyze(recording)
        given = recording.skeleton(robot.name).commands[1:]
        assert_allclose(found.times, h * (np.arange(len(found.times)) + 0.5), atol=1e-12)
        errors[h] = np.abs(found.forces - given).max()
        scale = np.abs(given).max()
    assert errors[1e-3] < 1e-3 * scale
    assert errors[2e-3] / errors[1e-3] == pytest.approx(4.0, rel=0.2) or errors[2e-3] < 1e-9


def test_splines_through_a_simulation_give_its_torques(tmp_path):
    world = kido.World(time_step=1e-3)
    robot = world.add_skeleton(kido.load("arm7"))
    robot.self_collision = False
    size = 0.3 * np.diag(robot.mass_matrix)
    for joint in robot.joints:
        joint.damping, joint.enforce_position_limits = [0.0] * joint.num_dofs, False

    def act():
        robot.forces = size * np.sin(5.0 * (world.time + 5e-4) + np.arange(7))

    recording = recorded(world, tmp_path / "a.h5", 0.2, act)
    found = analyze(Motion.from_recording(recording))
    given = size * np.sin(5.0 * found.times[:, None] + np.arange(7))
    # Positions are off by the world's h^2, smoothly: so are accelerations, but for the first and last frames.
    assert_allclose(found.forces[20:-20], given[20:-20], atol=1e-3)


@pytest.fixture(scope="module")
def standing(tmp_path_factory) -> kido.Recording:
    """A humanoid that lands on the ground and sways, held by stiff joints, and is pushed at the chest for a while."""
    world = kido.World()
    world.add_ground(0.1)
    robot = world.add_skeleton(kido.load("humanoid"))
    sole = min(
        node.world_transform[2, 3] - node.shape.support(np.array([0.0, 0.0, 1.0]))
        for body in robot.bodies
        for node in body.shapes
    )
    robot.dof("root_z").position += 0.1005 - sole
    joints = [dof for dof in robot.dofs if not dof.name.startswith("root")]
    for dof in joints:
        dof.spring_stiffness, dof.damping = 400.0, 20.0

    def act():
        if 0.3 < world.time < 0.4:
            robot.body("chest").add_external_force((20.0, 5.0, 0.0), offset=(0.0, 0.0, 0.1))

    return recorded(world, tmp_path_factory.mktemp("standing") / "stand.h5", 0.6, act)


def test_a_standing_humanoid(standing):
    found = analyze(standing)
    assert found.height == pytest.approx(0.1) and found.skeleton.name == "humanoid"
    root = [found.skeleton.dof(name).index for name in found.floating]
    still = found.times > 0.1  # at the impact velocities jump within a step
    # Contacts and the push explain all that happens: the world's second order, at 1 ms and a weight of 700 N.
    assert np.abs(found.residual[still]).max() < 1e-2
    assert np.abs(found.forces[still][:, root]).max() < 1e-2
    # The centre of pressure is the mean of the points by their normal forces.
    for k in (150, 350, 590):
        contacts = standing.contacts(k + 1)
        forces = contacts.forces[:, 2] * np.where([b.startswith("ground") for b in contacts.body_b], -1, 1)
        mean = forces @ contacts.points / forces.sum()
        assert_allclose(found.cop[k, :2], mean[:2], atol=1e-5)
        assert found.contact_wrench[k, 5] == pytest.approx(forces.sum())
    assert_allclose(found.cop[:, 2][still], 0.1)
    # Where nothing but the ground acts, the zero-moment point of the motion is the centre of pressure.
    alone = still & ((found.times < 0.29) | (found.times > 0.41))
    assert_allclose(found.zmp[alone], found.cop[alone], atol=1e-5)
    pushed = (found.times > 0.31) & (found.times < 0.39)
    assert np.abs(found.zmp[pushed] - found.cop[pushed])[:, 0].min() > 1e-3
    assert {phase.body for phase in found.phases} == {"left_foot", "right_foot"}
    assert found.phases[0].first > 0 and np.isnan(found.cop[0]).all()  # it falls the first half millimetre


def test_smoothing_a_recording(standing):
    whole, smooth = analyze(standing), analyze(standing, cutoff=20.0)
    assert np.ptp(smooth.ground_reaction[:, 5]) < 0.5 * np.ptp(whole.ground_reaction[:, 5])
    late = whole.times > 0.45
    assert_allclose(smooth.cop[late], whole.cop[late], atol=5e-3)
    assert smooth.cutoff == 20.0


def test_pushes_are_explained_and_what_is_not_recorded_is_left(tmp_path):
    """Pushes are external forces of a recording; the same force given as that of a joint coordinate is not."""
    world = kido.World()
    world.add_skeleton(box())
    world.push(world.skeleton("box").body(0), (0, 7, 0), 0.05)
    found = analyze(recorded(world, tmp_path / "pushed.h5", 0.05))
    assert_allclose(found.residual[:, 3:], 0.0, atol=1e-8)

    world = kido.World()
    forced = world.add_skeleton(box())

    def act():
        forced.forces = [0, 0, 0, 0, 7, 0]

    found = analyze(recorded(world, tmp_path / "forced.h5", 0.05, act))
    assert_allclose(found.residual[:, 3:], np.tile([0, 7, 0], (50, 1)), atol=1e-8)


def test_a_recording_of_a_motion_is_one_again(tmp_path):
    motion = wandering(kido.load("humanoid"), 100, 0.2)
    motion.record(tmp_path / "a.h5")
    again, found = analyze(kido.Recording.open(tmp_path / "a.h5"), cutoff=20.0), analyze(motion, cutoff=20.0)
    assert again.cop is None and len(again.times) == len(motion.times)
    assert_allclose(again.forces, found.forces, atol=1e-6 * np.abs(found.forces).max())


def test_two_bodies_that_touch_each_other(tmp_path):
    """What a box on another one feels is no contact with the ground."""
    world = kido.World()
    world.add_ground()
    for k in range(2):
        world.add_skeleton(box(f"box {k}")).positions = [0, 0, 0, 0, 0, 0.2 + 0.4 * k]
    recording = recorded(world, tmp_path / "a.h5", 0.2)
    lower, upper = (analyze(recording, skeleton=f"box {k}") for k in range(2))
    assert lower.contact_wrench[-1, 5] == pytest.approx(6 * G, rel=1e-6)
    assert np.abs(upper.contact_wrench).max() == 0.0 and not upper.phases
    for found in (lower, upper):
        assert np.abs(found.residual[-1]).max() < 1e-6 and np.abs(found.forces[-1]).max() < 1e-6


def test_a_skeleton_that_joins_later_and_frames_that_are_left_out(tmp_path):
    world = kido.World()
    world.add_ground()
    world.add_skeleton(box("first")).positions = [0, 0, 0, 0, 0, 0.2]
    with kido.Recorder(world, tmp_path / "a.h5"):
        world.step(50)
        world.add_skeleton(box("second", 5.0)).positions = [0, 0, 0, 1, 0, 0.2]
        world.step(50)
    with kido.Recording.open(tmp_path / "a.h5") as recording:
        first, second = (analyze(recording, skeleton=name) for name in ("first", "second"))
        with pytest.raises(StateError, match=r"name is None; expected one of.*first, second"):
            analyze(recording)
    assert first.times[-1] == second.times[-1] == pytest.approx(0.0995)
    assert first.times[0] < 0.001 and second.times[0] > 0.05
    for found, mass in ((first, 3), (second, 5)):
        assert found.contact_wrench[-1, 5] == pytest.approx(mass * G, rel=1e-6)
        assert np.abs(found.residual[-1]).max() < 1e-6
    with kido.Recorder(world, tmp_path / "b.h5", every=10):
        world.step(100)
    sparse = analyze(kido.Recording.open(tmp_path / "b.h5"), skeleton="first")
    assert len(sparse.times) == 10 and np.abs(sparse.residual).max() < 1e-6  # at rest all steps are alike


def test_given_wrenches_carry_a_pose():
    human = kido.load("humanoid")
    motion = Motion(None, np.tile(human.positions, (10, 1)), 60, skeleton=human)
    free = analyze(motion)
    feet = ["left_foot", "right_foot"]
    share = np.array([0.0, 0.0, 0.5 * human.mass * G])
    # Both carry half of the weight below the centre of mass, though that needs a moment about their origins.
    wrenches = {
        foot: np.tile([*np.cross(human.com - human.body(foot).world_transform[:3, 3], share), *share], (10, 1))
        for foot in feet
    }
    found = analyze(motion, wrenches=wrenches)
    assert np.abs(found.residual).max() < 1e-9
    assert_allclose(found.cop[:, :2], found.com[:, :2], atol=1e-12)
    root = [human.dof(name).index for name in found.floating]
    assert np.abs(found.forces[:, root]).max() < 1e-9 < 100.0 < np.abs(free.forces[:, root]).max()
    J = human.jacobian(human.body("left_foot")).T @ wrenches["left_foot"][0]
    J = J + human.jacobian(human.body("right_foot")).T @ wrenches["right_foot"][0]
    assert_allclose(found.forces[0], human.gravity_forces - J, atol=1e-9)
    assert {(p.body, p.first, p.last) for p in found.phases} == {(foot, 0, 9) for foot in feet}


# -- contact phases ----------------------------------------------------------------------------------------


def test_a_box_that_hops():
    """Half a second on the ground, then flights of 0.6 s, closed form."""
    fps, flight, rest = 100, 0.6, 0.5
    t = np.arange(0, 3.3 - 1e-9, 1 / fps)
    since = t % (flight + rest)
    z = np.where(since < rest, 0.0, 0.5 * G * (since - rest) * (flight - (since - rest))) + 0.2
    q = np.zeros((len(t), 6))
    q[:, 5] = z
    found = analyze(Motion(None, q, fps, skeleton=box()))
    assert found.height == pytest.approx(0.0, abs=1e-12)
    assert [p.body for p in found.phases] == ["box"] * 3
    assert_allclose([p.start for p in found.phases], [0.0, 1.1, 2.2], atol=2.5 / fps)
    assert_allclose([p.end for p in found.phases], [0.5, 1.6, 2.7], atol=2.5 / fps)
    for p in found.phases:
        assert found.touching[p.first : p.last + 1].all() and p.end == found.times[p.last]
    middle = (since > rest + 0.1) & (since < rest + flight - 0.1)
    assert np.isnan(found.zmp[middle]).all() and np.abs(found.forces[middle]).max() < 0.01 * 3 * G


def test_noise_about_the_limit_does_not_part_a_contact():
    t = np.arange(0, 1, 0.01)
    q = np.zeros((len(t), 6))
    q[:, 5] = 0.2 + 0.02 + 0.005 * np.sin(40 * t)
    motion = Motion(None, q, 100, skeleton=box())
    assert len(analyze(motion, ground=0.0).phases) == 1
    assert len(analyze(motion, ground=0.0, height=0.01).phases) == 0
    assert len(analyze(motion, ground=0.0, speed=0.01).phases) >= 1  # only where it turns round


def test_what_rolls_touches_and_what_slides_does_not():
    """A wheel of radius 0.5: the point below stands still if it turns by 2 rad a metre, forwards."""
    wheel, upright = kido.Skeleton("wheel"), np.eye(4)
    upright[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    joint = kido.PlanarJoint("plane", axis1=(1, 0, 0), axis2=(0, 0, -1))  # and turns about y
    body = wheel.add_body("wheel", joint, inertia=kido.Inertia.from_diagonal(1, [1] * 3))
    body.add_shape(kido.Cylinder(0.5, 0.1), upright)
    t = np.arange(0, 1, 0.01)
    for turn, phases in ((4.0, 1), (0.0, 0), (-4.0, 0)):
        q = np.column_stack([2.0 * t, 0 * t, turn * t])
        assert len(analyze(Motion(None, q, 100, skeleton=wheel), ground=-0.5).phases) == phases


SHAPES = [
    (kido.Box((0.1, 0.2, 0.3)), 1e-12),
    (kido.Sphere(0.2), 1e-12),
    (kido.Capsule(0.1, 0.4), 1e-12),
    (kido.Cylinder(0.1, 0.4), 1e-3),
    (kido.Cone(0.1, 0.4), 1e-3),
    (kido.Ellipsoid((0.1, 0.2, 0.3)), 6e-3),
    (kido.Pyramid(0.1, 0.2, 0.3), None),
    (kido.MultiSphereHull([[0, 0, 0.1], [0.2, 0, 0]], [0.1, 0.05]), None),
]


@pytest.mark.parametrize(("shape", "tolerance"), SHAPES, ids=lambda x: type(x).__name__)
def test_outlines_are_those_of_shapes(shape, tolerance):
    centers, radii = outline(shape)
    rng = np.random.default_rng(0)
    for n in rng.normal(size=(50, 3)):
        n /= np.linalg.norm(n)
        reach = (centers @ n + radii).max()
        if tolerance is None:
            assert reach <= shape.support(n) + 1e-12  # that of the box around it
        else:
            assert -tolerance <= reach - shape.support(n) <= 1e-12


def test_a_mesh_touches_by_its_corners():
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]) * 0.3
    skeleton = kido.Skeleton("mesh")
    body = skeleton.add_body("mesh", kido.FreeJoint("root"), inertia=kido.Inertia.from_diagonal(1, [0.1] * 3))
    body.add_shape(kido.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    rng = np.random.default_rng(1)
    q = rng.normal(size=(20, 6))
    found = analyze(Motion(None, q, 50, skeleton=skeleton), ground=-1.0)
    for k in range(20):
        X = skeleton.forward_kinematics(q[k])[0]
        assert found.clearance[k, 0] == pytest.approx((corners @ X[:3, :3].T + X[:3, 3])[:, 2].min() + 1.0)


# -- files and figures -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hop():
    human = kido.load("humanoid")
    motion = wandering(human, 100, 0.3)
    return analyze(motion, cutoff=10.0, bodies=["left_foot"])


def test_hdf5_round_trip(hop, tmp_path):
    hop.save(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        assert set(file) == {*hop.series, "phases"} and "cop" not in file
        for name, series in hop.series.items():
            assert_array_equal(file[name][()], series.values)
            assert file[name].attrs["unit"] == series.unit and series.text in file[name].attrs["description"]
            assert tuple(file[name].attrs["columns"]) == series.columns
            assert not series.columns or len(series.columns) == series.values.shape[1]
        assert file.attrs["cutoff"] == 10.0 and file.attrs["mass"] == hop.skeleton.mass
        assert [tuple(p)[1:] for p in file["phases"][()]] == [tuple(p)[1:] for p in hop.phases]


def test_csv_round_trip(hop, tmp_path):
    hop.save(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.reader(file))
    table = np.array(rows[1:], dtype=float)
    assert table.shape == (31, len(rows[0])) and len(set(rows[0])) == len(rows[0])
    assert_array_equal(table[:, rows[0].index("times")], hop.times)
    for k, dof in enumerate(hop.skeleton.dofs):
        assert_array_equal(table[:, rows[0].index(f"forces/{dof.name}")], hop.forces[:, k])
    assert_array_equal(table[:, rows[0].index("zmp/x")], hop.zmp[:, 0])
    assert_array_equal(table[:, rows[0].index("touching/left_foot")], hop.touching[:, 0])


def test_files_that_cannot_be_written(hop, tmp_path):
    with pytest.raises(StateError, match=r"ends in \.h5, \.hdf5, \.csv"):
        hop.save(tmp_path / "a.txt")
    for name in ("a.h5", "a.csv"):
        hop.save(tmp_path / name)
        with pytest.raises(StateError, match="exists already"):
            hop.save(tmp_path / name)
        hop.save(tmp_path / name, overwrite=True)
        with pytest.raises(StateError, match="cannot be written"):
            hop.save(tmp_path / "nowhere" / name)


def test_a_figure(hop, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    figure = hop.plot(tmp_path / "a.png")
    assert len(figure.axes) == 8 and (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    labels = {text.get_text() for text in figure.axes[4].get_legend().get_texts()}
    assert labels <= {dof.name for dof in hop.skeleton.dofs} - set(hop.floating) and len(labels) == 6
    with pytest.raises(StateError, match="cannot be written"):
        hop.plot(tmp_path / "nowhere" / "a.png")
    with pytest.raises(StateError, match="cannot be written"):
        hop.plot(tmp_path / "a.nothing")


@pytest.mark.filterwarnings("error")
def test_a_figure_of_a_single_body():
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    figure = analyze(Motion(None, np.zeros((5, 6)), 10, skeleton=box())).plot()
    assert [ax.get_legend() is None for ax in figure.axes] == [False] * 4 + [True, True, False, True]


def test_without_matplotlib(hop, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(kido.MissingExtraError, match=r"pip install 'kido\[plot\]'"):
        hop.plot()


def test_what_it_says_of_itself(hop):
    assert repr(hop) == f"Analysis(31 frames of 'humanoid', {len(hop.phases)} contact phases)"
    assert all(
        f"\n        {name}: {s.text} [{s.unit or 'no unit'}]." in type(hop).__doc__ for name, s in hop.series.items()
    )
    with pytest.raises(KidoError):
        hop.forces[0] = 1.0
    with pytest.raises(KidoError, match="forces"):
        hop.forces = 1.0


# -- mistakes ----------------------------------------------------------------------------------------------


def test_motions_that_cannot_be_analysed(tmp_path):
    plain = Motion(["a"], np.zeros((5, 1)), 10)
    one, two = (Motion(None, np.zeros((n, 6)), 10, skeleton=box()) for n in (1, 2))
    rock = kido.Skeleton("rock")
    rock.add_body("rock", kido.WeldJoint("weld"), inertia=kido.Inertia.from_diagonal(1, [1] * 3))
    ghost = kido.Skeleton("ghost")
    ghost.add_body("ghost", kido.RevoluteJoint("pin"))
    for motion, message in (
        (plain, r"has no skeleton: Motion\.on\(\)"),
        (one, "1 frames; expected at least 3"),
        (two, "2 frames; expected at least 3"),
        (Motion(None, np.zeros((5, 0)), 10, skeleton=rock), "'rock' has no coordinates"),
        (Motion(None, np.zeros((5, 1)), 10, skeleton=ghost), "no mass"),
        (box(), "expected a Motion or a Recording, got Skeleton"),
    ):
        with pytest.raises(KidoError, match=message):
            analyze(motion)
    with pytest.raises(StateError, match="is nan in frame 1"):
        Motion(None, [[0], [np.nan]], 10, skeleton=pendulum())


def test_settings_that_make_no_sense(standing):
    motion = Motion(None, np.zeros((8, 6)), 10, skeleton=box())
    for settings, message in (
        ({"height": 0.0}, "height is 0.0; expected a number above 0"),
        ({"speed": np.nan}, "speed is nan"),
        ({"ground": np.inf}, "ground is inf"),
        ({"cutoff": 6.0}, "cutoff is 6.0; expected"),
        ({"bodies": ["foot"]}, "body of skeleton 'box' with a colliding shape.*'foot'.*box"),
        ({"wrenches": {"foot": np.zeros((8, 6))}}, "body of skeleton 'box'.*'foot'"),
        ({"wrenches": {"box": np.zeros((7, 6))}}, r"shape \(7, 6\); expected finite \(8, 6\)"),
        ({"wrenches": {"box": np.full((8, 6), np.nan)}}, "expected finite"),
        ({"wrenches": {"box": "heavy"}}, "are no numbers"),
        ({"skeleton": "bax"}, "'bax'.*box"),
    ):
        with pytest.raises((StateError, NameLookupError), match=message):
            analyze(motion, **settings)
    with pytest.raises(StateError, match="a recording has its own contacts"):
        analyze(standing, wrenches={})
    with pytest.raises(KidoError, match="humanoid"):
        analyze(standing, skeleton="human")
    with pytest.raises(KidoError, match="cutof"):
        analyze(motion, cutof=3.0)
