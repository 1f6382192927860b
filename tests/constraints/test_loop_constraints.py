"""Constraints that close loops, against linkages with known motions, conservation laws and open mechanisms."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
import linkages
from linkages import Z, at


def order_and_value(run, sizes):
    """Results at halved time steps: the order that they show, and the value extrapolated by h^2."""
    one, two, four = (np.asarray(run(h), float) for h in sizes)
    order = np.log2(np.linalg.norm(one - two) / np.linalg.norm(two - four))
    return order, (4.0 * four - two) / 3.0


# -- linkages ----------------------------------------------------------------------------------------------


def test_n_four_bar_through_its_flat_position():
    """Theory (g) 2, values to 1e-10; the linkage passes the flat position, where its rows lose rank."""
    closures = []

    def run(h):
        world, skeleton = linkages.n_four_bar(2, h)
        energy = world.total_energy
        world.step(round(5.0 / h))
        halfway = linkages.crank_top(skeleton)
        world.step(round(5.0 / h))
        report = world.constraint_report
        closures.append(report.worst_closure)
        assert (report.rank, report.rows, len(report.redundant)) == (4, 10, 6)
        assert abs(world.total_energy - energy) < 6.0 * h**2  # 34 J in all
        return np.concatenate([halfway, linkages.crank_top(skeleton)])

    order, value = order_and_value(run, (8e-3, 4e-3, 2e-3))
    assert order == pytest.approx(2.0, abs=0.1)
    assert value == pytest.approx([-0.8113104610, -0.5846155454, 0.3284581115, 0.9445185382], abs=1e-7)
    assert max(closures) < 1e-10


def test_bricard_has_one_row_too_many():
    """Theory (g) 4, values to 1e-8."""

    def run(h):
        world, skeleton = linkages.bricard(h)
        energy = world.total_energy
        found = []
        for time in (1.0, 2.0):
            world.step(round(time / h) - world.num_steps)
            found.append(linkages.bricard_point(skeleton))
        report = world.constraint_report
        assert (report.rank, report.rows) == (4, 5)
        assert len(report.redundant) == 1 and report.redundant[0].startswith("last: ")
        assert report.worst_closure < 1e-10 and report.worst_velocity_error < 1e-9
        assert abs(world.total_energy - energy) < 2.0 * h**2  # 29 J in all
        q = skeleton.positions
        assert [q[2], q[4], q[3]] == pytest.approx([q[0], q[0], q[1]], abs=1e-8)
        return np.concatenate(found)

    order, value = order_and_value(run, (8e-3, 4e-3, 2e-3))
    assert order == pytest.approx(2.0, abs=0.1)
    assert value == pytest.approx(np.concatenate([linkages.BRICARD_P3[t] for t in (1.0, 2.0)]), abs=1e-6)


def test_slider_crank_turns_at_the_rate_that_its_energy_gives():
    def run(h):
        world, skeleton = linkages.slider_crank(h)
        angle, rate = skeleton.positions[0], skeleton.velocities[0]
        energy = 0.5 * linkages.slider_crank_inertia(angle) * rate**2
        assert world.kinetic_energy == pytest.approx(energy, rel=1e-6)  # rods have 1e-9 kg m^2 about themselves
        worst = 0.0
        for _ in range(20):
            world.step(round(0.1 / h))
            exact = np.sqrt(2.0 * energy / linkages.slider_crank_inertia(skeleton.positions[0]))
            worst = max(worst, abs(skeleton.velocities[0] / exact - 1.0))
        x = linkages.CRANK * np.cos(skeleton.positions[0])
        x += np.sqrt(linkages.ROD**2 - (linkages.CRANK * np.sin(skeleton.positions[0])) ** 2)
        slider = skeleton.body("slider").world_transform[0, 3]
        assert slider == pytest.approx(x, abs=1e-9)
        return worst

    errors = [run(h) for h in (4e-3, 2e-3, 1e-3)]
    assert errors[2] < 2e-5
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.2)


def test_bennett_moves_though_it_should_not():
    world, skeleton = linkages.bennett(2e-3)
    energy = world.kinetic_energy
    for _ in range(10):
        world.step(200)
        q = skeleton.positions
        assert np.tan(q[0] / 2) * np.tan(q[1] / 2) == pytest.approx(linkages.BENNETT_RATIO, rel=1e-8)
        assert q[2] == pytest.approx(-q[0], abs=1e-9)
    report = world.constraint_report
    assert (report.rank, report.rows) == (2, 5)
    assert report.worst_closure < 1e-10
    assert world.kinetic_energy == pytest.approx(energy, rel=1e-5)
    assert abs(skeleton.positions[0] - 1.0) > 0.5


def test_driven_four_bar_stays_closed():
    """peers.md: Freudenstein's equation holds at all times (limits there: 0.1 degree, 1 mm)."""
    world, skeleton = linkages.driven_four_bar(1e-3)
    for _ in range(20):
        world.step(25, reset_command=False)
        q = skeleton.positions
        assert linkages.freudenstein(q[0], q[2]) == pytest.approx(0.0, abs=1e-10)
    assert skeleton.velocities[0] == pytest.approx(2.0 * np.pi, rel=0.05)


def test_andrews_squeezer():
    """Theory (g) 3, values to 1e-8: accelerations at the start, angles and a rate at 0.03 s."""
    world, skeleton = linkages.squeezer(1e-6)
    world.step(1)
    start = [14222.4439199541, -10666.8329399656, 0, 0, 0, 0, 0]
    assert skeleton.velocities / 1e-6 == pytest.approx(start, abs=1e-3)

    def run(h):
        world, skeleton = linkages.squeezer(h)
        world.step(round(0.03 / h), reset_command=False)
        report = world.constraint_report
        assert (report.rank, report.rows) == (6, 15) and report.worst_closure < 1e-11
        return [*linkages.squeezer_angles(skeleton), skeleton.velocities[0]]

    order, value = order_and_value(run, (4e-5, 2e-5, 1e-5))
    assert order == pytest.approx(2.0, abs=0.05)
    assert value[:7] == pytest.approx(linkages.SQUEEZER_AT_30, abs=1e-6)
    # 2e-9 of the rate: extrapolations from other steps, loops eliminated or as compounds, lie 0.4e-6 .. -2.8e-6 off.
    assert value[7] == pytest.approx(linkages.SQUEEZER_RATE_AT_30, abs=2e-6)


def test_a_spatial_slider_crank_wherever_its_loop_is_cut():
    """Theory (g) 7b: a universal joint in the tree and a ball as constraint, or the other way round; energy is kept."""

    def run(h, cut):
        world, skeleton = linkages.spatial_slider_crank(h, cut)
        energy = world.total_energy
        assert skeleton.body("slider").linear_velocity() == pytest.approx([0.24, 0, 0], abs=1e-12)
        world.step(round(0.5 / h))
        assert abs(world.total_energy - energy) < 2e3 * h**2 * abs(energy)
        assert world.constraint_report.worst_closure < 1e-10
        return [skeleton.body("slider").world_transform[0, 3], skeleton.body("crank").parent_joint.dofs[0].position]

    values = []
    for cut in ("pin", "slider"):
        order, value = order_and_value(lambda h, cut=cut: run(h, cut), (2e-3, 1e-3, 5e-4))
        assert order == pytest.approx(2.0, abs=0.2)
        values.append(value)
    assert values[1] == pytest.approx(values[0], abs=2e-6)


# -- every kind --------------------------------------------------------------------------------------------

KINDS = {
    kido.WeldJointConstraint: 6,
    kido.RevoluteJointConstraint: 5,
    kido.PrismaticJointConstraint: 5,
    kido.CylindricalJointConstraint: 4,
    kido.UniversalJointConstraint: 4,
    kido.BallJointConstraint: 3,
    kido.PlanarJointConstraint: 3,
    kido.DistanceConstraint: 1,
    kido.PointOnPlaneConstraint: 1,
}


def free_pair(time_step=1e-3, seed=0):
    """Two bodies afloat with the same random state at each call."""
    rng = np.random.default_rng(seed)
    world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=time_step)
    bodies = []
    for k in range(2):
        skeleton = kido.Skeleton(f"s{k}")
        inertia = kido.Inertia.from_diagonal(1.0 + k, (0.1, 0.2, 0.25), (0.05, 0.0, 0.1 * k))
        body = skeleton.add_body("body", kido.FreeJoint(), inertia=inertia)
        skeleton.positions = [*rng.normal(0, 0.5, 3), k, *rng.normal(0, 0.2, 2)]
        skeleton.velocities = rng.normal(0, 0.7, 6)
        world.add_skeleton(skeleton)
        bodies.append(body)
    return world, bodies


def momentum(bodies):
    """[angular about the world's origin; linear]."""
    total = np.zeros(6)
    for body in bodies:
        X, inertia = body.world_transform, body.inertia
        R, m = X[:3, :3], inertia.mass
        com = R @ inertia.com + X[:3, 3]
        w = body.spatial_velocity[:3]
        v = body.spatial_velocity[3:] + np.cross(w, R @ inertia.com)
        total += [*(R @ inertia.moment @ R.T @ w + m * np.cross(com, v)), *(m * v)]
    return total


def relative(constraint):
    X_a = constraint.body_a.world_transform @ constraint.frame_a
    return np.linalg.inv(X_a) @ constraint.body_b.world_transform @ constraint.frame_b


@pytest.mark.parametrize("kind", KINDS)
def test_a_constraint_keeps_momentum_and_what_it_is_about(kind):
    world, bodies = free_pair()
    before = momentum(bodies)
    velocities = [b.spatial_velocity.copy() for b in bodies]
    constraint = world.add_constraint(kind(*bodies))
    start = relative(constraint)
    assert len(constraint.row_names) == KINDS[kind]
    assert world.close_constraints() < 1e-12  # frames are where they are: only velocities change
    assert relative(constraint) == pytest.approx(start, abs=1e-12)
    assert max(np.abs(b.spatial_velocity - v).max() for b, v in zip(bodies, velocities, strict=True)) > 0.01
    assert momentum(bodies) == pytest.approx(before, abs=1e-12)
    energy = world.kinetic_energy
    world.step(500)
    report = world.constraint_report
    assert (report.rank, report.rows, report.redundant) == (KINDS[kind], KINDS[kind], [])
    assert report.worst_closure < 1e-10
    assert np.abs(constraint.error).max() < 1e-10
    # Of second order in h, as without constraints: bodies turn about points that are not their centres of mass.
    assert momentum(bodies) == pytest.approx(before, abs=1e-6)
    assert world.kinetic_energy == pytest.approx(energy, rel=2e-6)
    moved = np.linalg.inv(start) @ relative(constraint)
    turn = Rotation.from_matrix(moved[:3, :3]).as_rotvec()
    free = 6 - KINDS[kind]
    if kind in (kido.RevoluteJointConstraint, kido.PrismaticJointConstraint, kido.CylindricalJointConstraint):
        assert turn[:2] == pytest.approx([0, 0], abs=1e-9) and moved[:2, 3] == pytest.approx([0, 0], abs=1e-9)
    if kind is kido.DistanceConstraint:
        assert np.linalg.norm(relative(constraint)[:3, 3]) == pytest.approx(np.linalg.norm(start[:3, 3]), abs=1e-10)
    moves = np.abs([*turn, *moved[:3, 3]]).max()
    assert (moves > 1e-2) == (free > 0)


def test_a_revolute_constraint_is_a_revolute_joint():
    """A double pendulum by a joint, and by two bodies and a constraint: the same motion, up to the steps' error."""
    ends = []
    for h in (2e-3, 1e-3):
        tree = kido.World(time_step=h)
        skeleton = kido.Skeleton("tree")
        upper = skeleton.add_body("upper", kido.RevoluteJoint(axis=(0, 1, 0)), inertia=linkages.rod(0, 1.0, 1.0, 0.2))
        lower = skeleton.add_body(
            "lower",
            kido.RevoluteJoint(axis=(1, 0, 1), transform_from_parent=at(1, 0, 0)),
            upper,
            inertia=linkages.rod(0, 0.7, 2.0, 0.3),
        )
        tree.add_skeleton(skeleton)
        tree.step(round(1.0 / h))
        world = kido.World(time_step=h)
        one, two = kido.Skeleton("one"), kido.Skeleton("two")
        a = one.add_body("upper", kido.RevoluteJoint(axis=(0, 1, 0)), inertia=linkages.rod(0, 1.0, 1.0, 0.2))
        b = two.add_body(
            "lower", kido.FreeJoint(transform_from_parent=at(1, 0, 0)), inertia=linkages.rod(0, 0.7, 2.0, 0.3)
        )
        world.add_skeleton(one)
        world.add_skeleton(two)
        world.add_constraint(kido.RevoluteJointConstraint(a, b, at=(1, 0, 0), axis=(1, 0, 1)))
        world.step(round(1.0 / h))
        ends.append((b.world_transform @ [0.7, 0, 0, 1])[:3] - (lower.world_transform @ [0.7, 0, 0, 1])[:3])
    assert np.abs(ends[1]).max() < 2e-5
    assert np.linalg.norm(ends[0]) / np.linalg.norm(ends[1]) == pytest.approx(4.0, abs=0.8)


def test_a_universal_constraint_keeps_the_angle_between_its_axes():
    world, (a, b) = free_pair()
    one, two = np.array([1.0, 0.2, 0.0]), np.array([0.3, 1.0, 0.5])
    one, two = one / np.linalg.norm(one), two / np.linalg.norm(two)
    world.add_constraint(kido.UniversalJointConstraint(a, b, axis1=one, axis2=two))
    in_a, in_b = a.world_transform[:3, :3].T @ one, b.world_transform[:3, :3].T @ two
    world.step(400)
    cosine = (a.world_transform[:3, :3] @ in_a) @ (b.world_transform[:3, :3] @ in_b)
    assert cosine == pytest.approx(one @ two, abs=1e-10)


# -- wrenches, limits, breaking, stiffness -------------------------------------------------------------------


def hanging(mass=2.0, **options):
    world = kido.World()
    skeleton = kido.Skeleton("weight")
    body = skeleton.add_body("weight", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(mass, (0.1, 0.1, 0.1)))
    world.add_skeleton(skeleton)
    return world, body, options


def test_the_wrench_carries_what_hangs():
    world, body, _ = hanging()
    constraint = world.add_constraint(kido.WeldJointConstraint(None, body, at=at(0.5, 0, 0)))
    world.step(3)
    assert constraint.wrench() == pytest.approx([0.0, 2.0 * 9.81 * 0.5, 0.0, 0.0, 0.0, 2.0 * 9.81], abs=1e-9)
    turned = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    constraint.frame_a = constraint.frame_b = np.block([[turned, np.array([[0.5], [0], [0]])], [np.eye(4)[3:]]])
    world.step(1)
    expected = [*(turned.T @ [0.0, 9.81, 0.0]), 0.0, 0.0, 19.62]
    assert constraint.wrench("b") == pytest.approx(expected, abs=1e-8)
    assert world.constraint_forces(0)[5] == pytest.approx(19.62, abs=1e-8)
    with pytest.raises(kido.ModelError, match="'world', 'a' or 'b'"):
        constraint.wrench("c")


def test_a_force_limit_lets_go_and_holds_again():
    world, body, _ = hanging()
    constraint = world.add_constraint(kido.BallJointConstraint(None, body, force_limit=10.0))
    world.step(100)
    assert constraint.wrench()[5] == pytest.approx(10.0)
    assert body.world_transform[2, 3] == pytest.approx(-0.5 * (9.81 - 5.0) * 0.1**2, rel=1e-6)
    strong = world.remove_constraint(constraint)
    assert strong.world is None
    world2, body2, _ = hanging()
    world2.add_constraint(kido.BallJointConstraint(None, body2, force_limit=100.0))
    world2.step(200)
    assert abs(body2.world_transform[2, 3]) < 1e-8


def test_a_constraint_breaks_and_is_repaired():
    world, body, _ = hanging()
    constraint = world.add_constraint(kido.BallJointConstraint(None, body, breaking_force=30.0))
    world.step(10)
    assert not constraint.is_broken
    body.add_external_force([0, 0, -20.0])
    world.step(1)
    assert constraint.is_broken and world.constraint_report.broken == [constraint.name]
    height = body.world_transform[2, 3]
    world.step(100)
    assert body.world_transform[2, 3] < height - 0.04
    assert constraint.wrench() == pytest.approx(np.zeros(6))
    twin = pickle.loads(pickle.dumps(world))
    assert twin.constraints[0].is_broken
    constraint.repair()
    world.step(1)
    assert body.world_transform[:3, 3] == pytest.approx(np.zeros(3), abs=1e-10)


def test_a_distance_with_stiffness_is_a_spring():
    """m x'' = -k x: the trapezoidal rule's frequency is that of the spring up to (w h)^2 / 12; energy is kept."""
    world, body, _ = hanging(mass=0.5)
    world.gravity = (0, 0, 0)
    body.skeleton.positions = [0, 0, 0, 1.1, 0, 0]
    spring = world.add_constraint(kido.DistanceConstraint(None, body, at=None, distance=1.0, stiffness=200.0,
                                                          frame_a=np.eye(4), frame_b=np.eye(4)))  # fmt: skip
    frequency = np.sqrt(200.0 / 0.5)
    world.step(1000)
    x = body.world_transform[0, 3] - 1.0
    assert x == pytest.approx(0.1 * np.cos(frequency), abs=2e-4)
    energy = world.kinetic_energy + 0.5 * 200.0 * x**2
    assert energy == pytest.approx(0.5 * 200.0 * 0.01, rel=1e-6)
    assert spring.error == pytest.approx([x], abs=1e-12)


def test_damping_without_stiffness_is_a_dashpot():
    world, body, _ = hanging(mass=1.0)
    world.add_constraint(kido.BallJointConstraint(None, body, stiffness=0.0, damping=5.0))
    world.step(3000)
    assert body.linear_velocity()[2] == pytest.approx(-9.81 / 5.0, rel=1e-4)


# -- redundant, inconsistent, singular -----------------------------------------------------------------------


def test_the_same_constraint_twice_is_found_and_changes_nothing():
    def run(copies):
        world, bodies = free_pair()
        for k in range(copies):
            world.add_constraint(kido.WeldJointConstraint(*bodies, name=f"weld{k}"))
        world.step(200)
        return world, bodies[1].world_transform

    (_, one), (world, two) = run(1), run(3)
    assert two == pytest.approx(one, abs=1e-9)
    report = world.constraint_report
    assert (report.rows, report.rank, len(report.redundant)) == (18, 6, 12)


def test_constraints_that_contradict_each_other_are_reported_and_do_not_explode():
    world, body, _ = hanging()
    world.add_constraint(kido.BallJointConstraint(None, body, frame_a=at(0, 0, 0), frame_b=at(0, 0, 0), name="here"))
    world.add_constraint(kido.BallJointConstraint(None, body, frame_a=at(1, 0, 0), frame_b=at(0, 0, 0), name="there"))
    assert world.close_constraints() > 0.1
    (remark,) = body.skeleton.warnings
    assert "constraints could not be closed from where they were: there: no shift along x (" in remark
    world.step(200)
    report = world.constraint_report
    assert report.closure > 0.1 and report.rank == 3
    assert np.isfinite(body.world_transform).all() and np.abs(body.world_transform[:3, 3]).max() < 2.0
    assert np.abs(body.spatial_velocity).max() < 1.0


def test_what_is_open_is_named_until_it_is_closed():
    world, body, _ = hanging()
    here = kido.BallJointConstraint(None, body, frame_a=at(0, 0, 0), frame_b=at(0, 0, 0), name="here")
    there = kido.BallJointConstraint(None, body, frame_a=at(1, 0, 0), frame_b=at(0, 0, 0), name="there")
    world.add_constraint(here)
    world.add_constraint(there)
    for _ in range(2):
        assert world.close_constraints() > 0.1
        (remark,) = body.skeleton.warnings
        assert "there: no shift along x (" in remark
    world.remove_constraint(there)
    assert world.close_constraints() < 1e-12
    assert body.skeleton.warnings == []


def test_a_loop_that_is_open_is_closed_first():
    world, body, _ = hanging()
    world.gravity = (0, 0, 0)
    world.add_constraint(kido.WeldJointConstraint(None, body, frame_a=at(0.3, 0.2, 0.1), frame_b=np.eye(4)))
    body.skeleton.velocities = [1, 2, 3, 4, 5, 6]
    assert world.close_constraints() < 1e-12
    assert body.skeleton.warnings == []
    assert body.world_transform == pytest.approx(at(0.3, 0.2, 0.1), abs=1e-12)
    assert body.skeleton.velocities == pytest.approx(np.zeros(6), abs=1e-12)


# -- with contacts, in three skeletons, with prescribed joints -------------------------------------------------


def test_two_boxes_held_together_stand_like_one():
    """The constrained pair on the ground: contact forces carry both, nothing creeps, the constraint carries half."""
    world = kido.World()
    world.add_ground(friction=0.5)
    bodies = []
    for k in range(2):
        skeleton = kido.Skeleton(f"box{k}")
        body = skeleton.add_body(
            "box", kido.FreeJoint(transform_from_parent=at(0.0, 0.25 * k, 0.1 + 0.3 * k)),
            inertia=kido.Inertia.from_shape(kido.Box((0.2, 0.2, 0.2)), mass=1.0),
        )  # fmt: skip
        body.add_shape(kido.Box((0.2, 0.2, 0.2)))
        world.add_skeleton(skeleton)
        bodies.append(body)
    weld = world.add_constraint(kido.WeldJointConstraint(*bodies))
    mass = kido.Skeleton("load")
    load = mass.add_body(
        "load", kido.FreeJoint(transform_from_parent=at(0.0, -0.05, 0.25)),
        inertia=kido.Inertia.from_shape(kido.Box((0.1, 0.1, 0.1)), mass=3.0),
    )  # fmt: skip
    load.add_shape(kido.Box((0.1, 0.1, 0.1)))
    world.add_skeleton(mass)  # on the lower box: its contacts see three skeletons
    world.step(400)
    assert world.report.converged
    assert world.constraint_report.worst_closure < 1e-10
    pose = [b.world_transform.copy() for b in (*bodies, load)]
    world.step(400)
    for body, X in zip((*bodies, load), pose, strict=True):
        assert body.world_transform == pytest.approx(X, abs=1e-6)
    contacts = world.contacts
    ground = sum(f[2] for f, a, b in zip(contacts.forces, contacts.body_a, contacts.body_b, strict=True)
                 if "ground" in (a.name, b.name))  # fmt: skip
    assert abs(ground) == pytest.approx(5.0 * 9.81, rel=1e-4)
    assert weld.wrench()[5] == pytest.approx(9.81, rel=1e-4)
    assert weld.wrench()[3:5] == pytest.approx([0, 0], abs=1e-3)


def test_a_prescribed_crank_drives_the_linkage():
    world, skeleton = linkages.slider_crank(1e-3, speed=3.0)
    joint = skeleton.body("crank").parent_joint
    joint.actuator_type = kido.ActuatorType.VELOCITY
    skeleton.commands = [3.0, 0.0, 0.0]
    world.step(700, reset_command=False)
    assert skeleton.velocities[0] == 3.0
    assert skeleton.positions[0] == pytest.approx(2.1, abs=1e-12)
    x = linkages.CRANK * np.cos(2.1) + np.sqrt(linkages.ROD**2 - (linkages.CRANK * np.sin(2.1)) ** 2)
    assert skeleton.body("slider").world_transform[0, 3] == pytest.approx(x, abs=1e-10)
    # Power of the drive is the rate of the kinetic energy.
    power, before = skeleton.actuator_forces[0] * 3.0, world.kinetic_energy
    world.step(1, reset_command=False)
    assert (world.kinetic_energy - before) / 1e-3 == pytest.approx(power, rel=0.02)


@pytest.mark.parametrize("integrator", ["SemiImplicitEuler", "ExplicitEuler"])
def test_eulers_rules_hold_constraints_too(integrator):
    world, _ = linkages.slider_crank(1e-3)
    world.integrator = getattr(kido.integrators, integrator)()
    world.step(500)
    assert world.constraint_report.worst_closure < 1e-10
    assert world.kinetic_energy == pytest.approx(8.0 * linkages.slider_crank_inertia(0.0), rel=0.02)


@pytest.mark.parametrize("solver", ["auto", "TA", "CE"])
def test_integrators_for_smooth_motion_hold_constraints_of_one_skeleton(solver):
    world, skeleton = linkages.n_four_bar(2, 5e-3)
    world.integrator, world.loop_solver = kido.integrators.RK4(), solver
    world.step(1000)  # past flat positions, where rows lose rank
    # fourth order: 200 times nearer to the reduced equation than the default rule at a fifth of the step
    assert linkages.crank_top(skeleton) == pytest.approx((-0.8113104610, -0.5846155454), abs=2e-7)
    report = world.constraint_report
    assert report.worst_closure < 1e-10 and report.rank == 4
    # the wrenches are those of inverse dynamics: hinges of a crank carry what its weight and inertia ask for
    loop = world.constraints[0]
    default, other = linkages.n_four_bar(2, 1e-4)
    other.positions, other.velocities = skeleton.positions, skeleton.velocities
    default.step(1)
    world.step(1)
    assert np.linalg.norm(loop.wrench()[3:]) == pytest.approx(
        np.linalg.norm(default.constraints[0].wrench()[3:]), rel=0.1
    )


@pytest.mark.parametrize("solver", ["TA", "CE"])
def test_what_breaks_in_smooth_motion_holds_no_more_and_the_rest_goes_on(solver):
    world, skeleton = linkages.n_four_bar(2, 1e-3)
    world.integrator, world.loop_solver = kido.integrators.RK4(), solver
    for constraint in world.constraints:
        world.remove_constraint(constraint)
    held_by = []
    for k, options in enumerate(({"breaking_force": 1e-3}, {})):
        bodies = skeleton.body(f"coupler{k}"), skeleton.body(f"crank{k + 1}")
        pin = kido.RevoluteJointConstraint(*bodies, at=(k + 1, 1, 0), axis=linkages.Z, **options)
        held_by.append(world.add_constraint(pin))
    weak, strong = held_by
    world.step(1)
    assert weak.is_broken and not strong.is_broken
    world.step(20)
    assert np.abs(weak.error[:2]).max() > 1e-6 and np.abs(strong.error).max() < 1e-12
    assert (weak.wrench() == 0.0).all()
    other, twin = linkages.n_four_bar(2, 1e-4)
    loose, held = other.constraints
    other.remove_constraint(loose)
    twin.positions, twin.velocities = skeleton.positions, skeleton.velocities
    other.step(1)
    assert strong.wrench()[3:] == pytest.approx(held.wrench()[3:], rel=0.05, abs=0.05)  # half a step apart


def test_integrators_for_smooth_motion_refuse_what_they_cannot_hold():
    world, skeleton = linkages.slider_crank(1e-3)
    world.integrator = kido.integrators.RK4()
    with pytest.raises(kido.NameLookupError, match=r"expected one of: auto, .*CE"):
        world.loop_solver = "CAD"
    before = skeleton.positions
    other = kido.Skeleton("other")
    ball = other.add_body("ball", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (1.0, 1.0, 1.0)))
    world.add_skeleton(other)
    held = world.add_constraint(kido.BallJointConstraint(skeleton.bodies[0], ball))
    with pytest.raises(kido.ModelError, match=r"between .* and 'other'"):
        world.step(1)
    world.remove_constraint(held)
    stop = kido.AngleConstraint(skeleton.bodies[0], skeleton.bodies[1], axis=linkages.Z, upper_limit=-3.0)
    with pytest.raises(kido.KidoError):
        world.add_constraint(stop)
        world.step(1)
    assert (skeleton.positions == before).all()


# -- sleep, drives that contradict each other -------------------------------------------------------------------


def test_what_hangs_asleep_wakes_when_its_constraint_changes_or_goes():
    world, body, _ = hanging()
    rope = world.add_constraint(kido.DistanceConstraint(None, body, frame_a=at(0, 0, 1.0)))
    world.sleeping = True
    world.step(1500)
    assert body.skeleton.is_asleep
    assert rope.wrench()[5] == pytest.approx(19.62)
    rope.distance = 1.2
    assert not body.skeleton.is_asleep
    world.step(1500)
    assert body.skeleton.is_asleep and body.world_transform[2, 3] == pytest.approx(-0.2, abs=1e-9)
    world.remove_constraint(rope)
    world.step(100)
    assert body.world_transform[2, 3] == pytest.approx(-0.2 - 0.5 * 9.81 * 0.01, abs=1e-6)


def test_what_is_joined_sleeps_and_wakes_together():
    world = kido.World()
    world.add_ground()
    bodies = []
    for k in range(3):
        skeleton = kido.Skeleton(f"box{k}")
        body = skeleton.add_body("b", kido.FreeJoint(), inertia=kido.Inertia.from_shape(kido.Box((0.2,) * 3), mass=1.0))
        body.add_shape(kido.Box((0.2, 0.2, 0.2)))
        skeleton.positions = [0, 0, 0, 0.5 * k, 0, 0.1]
        world.add_skeleton(skeleton)
        bodies.append(body)
    world.add_constraint(kido.BallJointConstraint(bodies[0], bodies[1]))
    world.add_constraint(kido.DistanceConstraint(bodies[1], bodies[2], force_limit=100.0))
    world.sleeping = True
    world.step(1500)
    boxes = [b.skeleton for b in bodies]
    assert all(s.is_asleep for s in boxes)
    boxes[0].velocities = [0, 0, 0, 0.5, 0, 0]
    world.step(20)
    assert not any(s.is_asleep for s in boxes)
    assert world.constraint_report.worst_closure < 1e-10


def test_drives_that_contradict_a_loop_are_named_with_their_errors():
    world, skeleton = linkages.n_four_bar(1, 1e-3)
    cranks = [skeleton.body(f"crank{k}").parent_joint for k in range(2)]
    for joint in cranks:
        joint.actuator_type = kido.ActuatorType.VELOCITY
    speeds = dict.fromkeys(cranks, -1.0)
    skeleton.commands = [speeds.get(dof.joint, 0.0) for dof in skeleton.dofs]
    world.step(100, reset_command=False)
    assert world.constraint_report.unmet == {}  # one drive too many, and they agree
    speeds[cranks[1]] = -0.9
    skeleton.commands = [speeds.get(dof.joint, 0.0) for dof in skeleton.dofs]
    world.step(100, reset_command=False)
    report = world.constraint_report
    assert skeleton.velocities[[d.joint in cranks for d in skeleton.dofs]].tolist() == [-1.0, -0.9]
    # The coupler turns freely: what is left is the distance of the cranks' tops along it.
    assert set(report.unmet) <= {"loop0: no shift along x", "loop0: no shift along y"} and report.unmet
    first, second = (np.array([-np.sin(q), np.cos(q)]) for q in (-0.2, -0.19))
    gap = abs(np.linalg.norm([1.0, 0.0] + second - first) - 1.0)
    errors = np.array(list(report.unmet.values()))
    assert np.linalg.norm(errors[:, 0]) == pytest.approx(gap, rel=0.02)
    assert np.isfinite(skeleton.positions).all()


def test_a_kinematic_body_carries_what_hangs_on_it():
    world, body, _ = hanging()
    mover = kido.Skeleton("mover")
    hook = mover.add_body("hook", kido.PrismaticJoint(axis=(1, 0, 0)), inertia=kido.Inertia(0.0))
    mover.kinematic = True
    world.add_skeleton(mover)
    world.add_constraint(kido.BallJointConstraint(hook, body))
    mover.velocities = [0.5]
    world.step(500)
    assert body.world_transform[:3, 3] == pytest.approx([0.25, 0, 0], abs=1e-10)
    report = world.constraint_report
    assert report.worst_closure < 1e-10 and report.worst_velocity_error < 1e-10 and report.unmet == {}


def test_a_limit_and_a_servo_within_a_loop():
    world, skeleton = linkages.n_four_bar(1, 1e-3)
    skeleton.body("crank1").parent_joint.position_lower_limit = -0.3
    world.step(1000)
    assert skeleton.positions == pytest.approx([-0.3, -0.3, 0.3], abs=1e-8)
    assert world.report.converged and world.constraint_report.worst_closure < 1e-10
    world, skeleton = linkages.n_four_bar(1, 1e-3)
    joint = skeleton.body("crank0").parent_joint
    joint.actuator_type, joint.force_limit = kido.ActuatorType.SERVO, 1e3
    skeleton.commands = [-2.0, 0.0, 0.0]
    world.step(100, reset_command=False)
    assert skeleton.velocities == pytest.approx([-2.0, -2.0, 2.0], abs=1e-9)


# -- a world's life ------------------------------------------------------------------------------------------


def test_steps_continue_bit_for_bit_after_snapshots_and_in_copies():
    world, skeleton = linkages.n_four_bar(2, 2e-3)
    world.step(150)
    kept = world.snapshot()
    twins = [world.clone(), copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    world.step(150)
    end = skeleton.positions.copy()
    for twin in twins:
        assert len(twin.constraints) == 2 and twin.constraints[0].world is twin
        assert twin.constraints[0].body_a.skeleton is twin.skeletons[0]
        twin.step(150)
        assert (twin.skeletons[0].positions == end).all()
    world.restore(kept)
    world.step(150)
    assert (skeleton.positions == end).all()


def test_constraints_go_with_their_bodies():
    world, bodies = free_pair()
    constraint = world.add_constraint(kido.BallJointConstraint(*bodies))
    with pytest.raises(kido.ModelError, match="in world"):
        world.add_constraint(constraint)
    world.step(1)
    world.remove_skeleton(bodies[0].skeleton)
    assert list(world.constraints) == [] and constraint.world is None
    world.step(1)
    with pytest.raises(kido.ModelError, match="is not in world"):
        world.add_constraint(kido.BallJointConstraint(*bodies))
    with pytest.raises(kido.ModelError, match="no constraint"):
        world.remove_constraint(constraint)
    with pytest.raises(kido.StateError, match="is in no world"):
        constraint.wrench()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda b: kido.BallJointConstraint(None), "two different bodies"),
        (lambda b: kido.BallJointConstraint(b, b), "two different bodies"),
        (lambda b: kido.BallJointConstraint("body", b), "expected a body"),
        (lambda b: kido.BallJointConstraint(b, frame_a=np.zeros((4, 4))), "frame_a"),
        (lambda b: kido.BallJointConstraint(b, at=(0, 0, np.nan)), "finite"),
        (lambda b: kido.BallJointConstraint(b, at=(0, 0, 0), frame_a=np.eye(4)), "got both"),
        (lambda b: kido.WeldJointConstraint(b, force_limit=0.0), "force_limit: expected a number above 0"),
        (lambda b: kido.WeldJointConstraint(b, stiffness=-1.0), "stiffness"),
        (lambda b: kido.WeldJointConstraint(b, damping=1.0), "needs a stiffness"),
        (lambda b: kido.DistanceConstraint(b, frame_a=np.eye(4), distance=0.0), "distance"),
        (lambda b: kido.RevoluteJointConstraint(b, axis=(0, 0, 0)), "axis"),
        (lambda b: kido.UniversalJointConstraint(b, axis1=Z, axis2=Z), "not parallel"),
        (lambda b: kido.UniversalJointConstraint(b, axis1=Z), "both axes or none"),
    ],
)
def test_bad_input_is_refused(make, match):
    _, bodies = free_pair()
    with pytest.raises(kido.ModelError, match=match):
        make(bodies[0])
    world, _ = free_pair()
    with pytest.raises(kido.ModelError, match="expected a constraint"):
        world.add_constraint("weld")


def test_contacts_that_a_hinge_leaves_one_direction_do_not_diverge() -> None:
    """Two boxes in one another on a hinge: all their contacts have one velocity, and their compliances rank one."""
    w = kido.World(time_step=2e-3)
    w.add_ground(friction=0.8)
    boxes = []
    for name, turn in (("a", 0.0), ("b", 1.0)):
        skeleton = kido.Skeleton(name)
        shape = kido.Box((0.2, 0.1, 0.1))
        body = skeleton.add_body(
            name, kido.FreeJoint(f"{name}_joint"), inertia=kido.Inertia.from_shape(shape, mass=1.0)
        )
        body.add_shape(shape)
        skeleton.positions = [0.5, 0.2, 0.1 + turn, 0.0, 0.0, 0.2]
        boxes.append(w.add_skeleton(skeleton).body(0))
    w.add_constraint(kido.RevoluteJointConstraint(*boxes, axis=(0, 0, 1)))
    for _ in range(10):
        w.step(50)
        assert max(np.abs(s.velocities).max(initial=0.0) for s in w.skeletons) < 10.0
    assert w.constraint_report.worst_closure < 1e-8


# -- joints that close loops ------------------------------------------------------------------------------------


def table_on_a_loop(**options):
    """A body afloat whose planar joint closes a loop with the world, and the same as a joint of the tree."""
    pair = []
    for looped in (True, False):
        world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=5e-4)
        skeleton = kido.Skeleton("table")
        inertia = kido.Inertia.from_diagonal(2.0, (0.1, 0.2, 0.25))
        joint = kido.PlanarJoint("plane", axis1=(0, 1, 0), axis2=(0, 0, 1), **options)
        if looped:
            skeleton.add_body("top", kido.FreeJoint(), inertia=inertia)
            skeleton.loops = [kido.LoopJoint(None, "top", joint)]
            skeleton.velocities = [0.8, 0, 0, 0, 0.5, -0.4]
        else:
            skeleton.add_body("top", joint, inertia=inertia)
            skeleton.velocities = [0.5, -0.4, 0.8]
        world.add_skeleton(skeleton)
        pair.append(world)
    return pair


def test_a_planar_joint_closes_a_loop_with_all_it_has():
    """Springs, dampers, a limit: the motion is that of the joint in a tree, to second order in h."""
    options = {
        "spring_stiffness": [20.0, 10.0, 2.0],
        "damping": [0.5, 0.2, 0.1],
        "rest_position": [0.1, 0.0, 0.2],
        "position_upper_limit": [0.05, np.inf, np.inf],
    }
    loop, tree = table_on_a_loop(**options)
    for world in (loop, tree):
        world.step(1000)
    X, expected = (w.skeletons[0].body(0).world_transform for w in (loop, tree))
    assert pytest.approx(expected, abs=2e-5) == X
    assert loop.skeletons[0].warnings == []


def test_what_a_loops_joint_cannot_do_is_said():
    skeleton = kido.Skeleton("s")
    skeleton.add_body("b", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.1)))
    askew = kido.UniversalJoint("askew", axis1=(1, 0, 0), axis2=(0.5, 1, 0), damping=[0.0, 1.0])
    square = kido.UniversalJoint("square", damping=[0.0, 1.0])
    ball = kido.BallJoint("ball", spring_stiffness=[1.0, 1.0, 1.0], position_upper_limit=[1.0, 1.0, 1.0])
    quick = kido.RevoluteJoint("quick", velocity_upper_limit=[3.0], damping=[1.0])
    skeleton.loops = [kido.LoopJoint(None, "b", joint) for joint in (askew, square, ball, quick)]
    world = kido.World()
    world.add_skeleton(skeleton)
    for _ in range(2):
        assert world.constraints
    assert skeleton.warnings == [
        "joint 'askew', which closes a loop: its damping act on nothing",
        "joint 'ball', which closes a loop: its position limits, springs act on nothing",
        "joint 'quick', which closes a loop: its velocity limits act on nothing",
    ]


# -- impacts ----------------------------------------------------------------------------------------------------


def falling_linkage(time_step: float, seed: int) -> tuple[kido.World, list[kido.BodyNode]]:
    """Three eccentric bodies on two ball constraints, each with a ball about its middle, fly at a smooth floor."""
    world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=time_step)
    world.add_ground(friction=0.0)
    rng, bodies = np.random.default_rng(seed), []
    for k in range(3):
        skeleton = kido.Skeleton(f"s{k}")
        inertia = kido.Inertia.from_diagonal(1.0 + 0.3 * k, (0.01, 0.02, 0.02), (0.2, 0, 0))
        body = skeleton.add_body("b", kido.FreeJoint(transform_from_parent=at(0.4 * k, 0, 1.2)), inertia=inertia)
        body.add_shape(kido.Sphere(0.05), at(0.2, 0, 0))
        world.add_skeleton(skeleton)
        skeleton.velocities = 3.0 * rng.normal(size=6)
        bodies.append(body)
    for k in range(2):
        world.add_constraint(kido.BallJointConstraint(bodies[k], bodies[k + 1], at=(0.4 * (k + 1), 0, 1.2)))
    world.close_constraints()
    for body in bodies:
        body.skeleton.velocities = body.skeleton.velocities + [0, 0, 0, *(body.world_transform[2, :3] * -3.0)]
    world.close_constraints()
    return world, bodies


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_impacts_of_linkages_keep_what_a_smooth_floor_cannot_change(seed):
    """Momentum along the floor, and angular momentum across it: errors of second order in h, impacts and all.

    At 0.25 ms they are below 2e-4 of momenta of 10 kg m/s; without velocity products of the new velocities in the
    second half of the step they were 1e-3 to 4e-3. No energy is gained beyond the scheme's own h^2.
    """
    h = 2.5e-4
    world, bodies = falling_linkage(h, seed)
    before, energy = momentum(bodies), world.kinetic_energy
    hit = False
    for _ in range(round(0.5 / h)):
        world.step(1)
        hit = hit or np.abs(world.contacts.forces).max(initial=0.0) > 0.0
        assert world.kinetic_energy < energy * (1.0 + 20.0 * h**2) + world.totals.correction_energy
    assert hit
    assert np.abs((momentum(bodies) - before)[[2, 3, 4]]).max() < 2e-4


# -- taut: rows that follow from others but for a small angle ---------------------------------------------------


def taut_chain(links: int, slack: float, how: str, *, lateral: float = 0.0, speed: float = 0.0) -> kido.World:
    """A hanging chain of 0.1 m links whose end a rod of 0.5 m holds from below: only with slack can it leave its line.

    `how` it is made: of bodies on ball constraints, or as a tree of ball or revolute joints.
    """
    world = kido.World(gravity=(lateral, 0.0, -9.81))
    length, last, skeleton = 0.1, None, kido.Skeleton("chain")
    for k in range(links):
        inertia = kido.Inertia.from_diagonal(0.1, (1e-4, 1e-4, 1e-5), (0.0, 0.0, -0.5 * length))
        if how == "bodies":
            own = kido.Skeleton(f"link{k}")
            body = own.add_body("link", kido.FreeJoint(transform_from_parent=at(0, 0, -k * length)), inertia=inertia)
            world.add_skeleton(own)
            world.add_constraint(kido.BallJointConstraint(last, body, at=(0, 0, -k * length)))
        else:
            place = at(0, 0, -length if last else 0.0)
            joint = (
                kido.BallJoint(transform_from_parent=place)
                if how == "balls"
                else kido.RevoluteJoint(axis=(0, 1, 0), transform_from_parent=place)
            )
            body = skeleton.add_body(f"link{k}", joint, last, inertia=inertia)
        last = body
    if how != "bodies":
        world.add_skeleton(skeleton)
    end = -links * length
    frames = {"frame_a": at(0, 0, end - 0.5), "frame_b": at(0, 0, -length)}
    world.add_constraint(kido.DistanceConstraint(None, last, distance=0.5 - slack, **frames))
    rng = np.random.default_rng(0)
    for s in world.skeletons:
        s.velocities = speed * rng.normal(size=s.num_dofs)
    return world


def sideways(world: kido.World) -> float:
    """How far the links' origins are from the chain's line at most [m]."""
    bodies = [s.body(k) for s in world.skeletons for k in range(s.num_bodies)]
    return max(float(np.hypot(*b.world_transform[:2, 3])) for b in bodies)


@pytest.mark.parametrize("how", ["bodies", "balls", "hinges"])
@pytest.mark.parametrize("slack", [0.0, 1e-9, 1e-6, -1e-6])
def test_a_taut_chain_locks(how, slack):
    """Its end is held where it has to be straight, to within the slack s: no link is farther from its line than

    sqrt(2 n L |s|), from sum L theta^2 / 2 <= s and Cauchy's inequality, and as far where the rod is too short by s;
    beside that 0.2 mm, as rows that have almost no lever are left out. Whatever pushes it, it stays, and gains no more
    energy than the work on that way of 0.6 kg m/s^2.
    """
    links = 6
    for lateral, speed in ((1.0, 0.0), (0.0, 0.1)):
        world = taut_chain(links, slack, how, lateral=lateral, speed=speed)
        world.step(1)  # a blow of the constraints: the velocities given do not meet them
        energy, reach = world.total_energy, np.sqrt(2.0 * links * 0.1 * abs(slack))
        for _ in range(20):
            world.step(50)
            assert sideways(world) < 1.5 * reach + 2e-4
            assert world.total_energy < energy + 0.6 * (1.5 * reach + 2e-4)
        assert world.constraint_report.worst_closure < max(2.0 * abs(slack), 2e-7)
        assert max(np.abs(s.velocities).max() for s in world.skeletons) < 2.0


@pytest.mark.parametrize("ground", ["weld", "hinge"])
def test_a_loop_over_what_does_not_move_is_one_to_the_world(ground):
    """A skeleton that is immobile, with a coordinate or without, is as good as the world, however loops are held."""

    def run(on, solver):
        world = kido.World(time_step=1e-3, gravity=(0.0, -9.81, 0.0))
        world.loop_solver = solver
        base = kido.Skeleton("base")
        base.mobile = False
        post = base.add_body("post", kido.WeldJoint() if on == "weld" else kido.RevoluteJoint(axis=Z))
        bars, parent = kido.Skeleton("bars"), None
        for name, place in (("left", at(0, 0, 0)), ("top", at(0, 1, 0)), ("right", at(1, 0, 0))):
            joint = kido.RevoluteJoint(axis=Z, transform_from_parent=place)
            parent = bars.add_body(name, joint, parent, linkages.rod(0 if name == "top" else 1))
        bars.positions = [0.3, -0.3, 0.1]
        for skeleton in (base, bars):
            world.add_skeleton(skeleton)
        end = parent.world_transform @ at(0, 1, 0)
        world.add_constraint(kido.BallJointConstraint(None if on == "world" else post, parent, at=end))
        world.step(300)
        assert world.constraint_report.worst_closure < 1e-11
        return bars.positions

    expected = run("world", "TA")
    for solver in ("TA", "CE"):
        assert run(ground, solver) == pytest.approx(expected, abs=1e-9)
