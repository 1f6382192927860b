"""Skeletons with flexible bodies in worlds: steps, contacts, limits, actuators, stiff modes, snapshots, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from kido.flexible import FlexibleBody, FlexibleTree, Material, Modes, Section, beam_modes
from trees import relative_error

ALUMINIUM = Material(7e10, 2700.0)
SLAT = Section.rectangle(0.03, 0.006)


def slat(section: Section = SLAT, **options) -> Modes:
    given = {"bending_y": 2, "bending_z": 2, "damping_ratio": 0.02, **options}
    return beam_modes(1.0, section, ALUMINIUM, **given)


def arm(**options) -> kido.Skeleton:
    """Two flexible links on hinges, with a load."""
    skeleton = kido.Skeleton("arm")
    modes = slat(**options)
    upper = FlexibleBody(skeleton.add_body("upper", kido.RevoluteJoint(axis=(0, 1, 0))), modes)
    fore = FlexibleBody(skeleton.add_body("fore", kido.RevoluteJoint(axis=(0, 1, 0)), upper.node("tip")), modes)
    load = skeleton.add_body("load", kido.WeldJoint(), fore.node("tip"), kido.Inertia(0.3, moment=1e-4 * np.eye(3)))
    load.add_shape(kido.Sphere(0.05))
    return skeleton


def plank(friction: float = 1.0, **options) -> kido.Skeleton:
    """A floating beam with rigid feet at its ends."""
    skeleton = kido.Skeleton("plank")
    beam = FlexibleBody(skeleton.add_body("beam", kido.FreeJoint()), slat(**options))
    places = {"root": beam.body, "tip": beam.node("tip")}
    for name in places:
        foot = skeleton.add_body(
            f"foot_{name}", kido.WeldJoint(), places[name], kido.Inertia(0.2, moment=1e-4 * np.eye(3))
        )
        foot.add_shape(kido.Sphere(0.04), friction=friction)
    return skeleton


def world_of(*skeletons: kido.Skeleton, ground: bool = False, **options) -> kido.World:
    world = kido.World(**options)
    for skeleton in skeletons:
        world.add_skeleton(skeleton)
    if ground:
        floor = kido.Skeleton("floor")
        floor.mobile = False
        floor.add_body("floor").add_shape(kido.Plane())
        world.add_skeleton(floor)
    return world


def test_steps_are_those_of_the_flexible_tree() -> None:
    skeleton = arm()
    tree = FlexibleTree(arm())
    q = np.zeros(skeleton.num_dofs)
    q[0] = 0.3
    motion = tree.simulate(q, 0.0 * q, 0.5, 1e-3)
    world = world_of(skeleton, time_step=1e-3)
    skeleton.positions = q
    world.step(500)
    assert np.abs(skeleton.positions - motion.positions[-1]).max() < 1e-12
    assert np.abs(skeleton.velocities - motion.velocities[-1]).max() < 1e-11


def test_forces_on_nodes_act_in_steps() -> None:
    """From rest, one small step: du = h M^-1 J^T f, to first order in h and the modes' share of it."""
    skeleton = plank(damping_ratio=0.0)
    world = world_of(skeleton, time_step=1e-7, gravity=(0, 0, 0))
    tip = skeleton.body("beam_tip")
    tip.add_external_force((0.0, 3.0, -2.0))
    J = skeleton.jacobian(tip)[3:]
    expected = np.linalg.solve(skeleton.mass_matrix, J.T @ (0.0, 3.0, -2.0))
    world.step()
    assert np.allclose(skeleton.velocities / 1e-7, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


# Contact -----------------------------------------------------------------------------------------------------


def test_a_plank_comes_to_rest_on_its_feet_and_sags() -> None:
    """Contacts carry the weight, and the modes hold what gravity and the feet's forces ask for: K eta = forces."""
    skeleton = plank(friction=0.0, damping_ratio=0.5)
    world = world_of(skeleton, ground=True, time_step=1e-3)
    q = np.array(skeleton.positions)
    q[5] = 0.0401
    skeleton.positions = q
    world.step(6000)
    assert np.abs(skeleton.velocities[6:]).max() < 1e-6  # there is no friction along
    contacts = world.contacts
    up = sum(f[2] for f in contacts.forces)
    assert np.isclose(abs(up), 9.81 * skeleton.mass, rtol=1e-6)
    # Each foot carries a half: beam and feet are symmetric.
    J = skeleton.jacobian("foot_root")[5] + skeleton.jacobian("foot_tip")[5]
    wanted = 0.5 * 9.81 * skeleton.mass * J - skeleton.gravity_forces
    beam = slice(6, skeleton.num_dofs)
    K = np.array([dof.spring_stiffness for dof in skeleton.dofs])[beam]
    assert np.allclose(skeleton.positions[beam], wanted[beam] / K, rtol=1e-4, atol=1e-7)
    assert skeleton.positions[beam].max() > 1e-3  # it does sag: seen from its root, the tip is bent up


def test_impulses_of_contacts_are_what_momentum_changes_by() -> None:
    """A plank lands on one foot: over the steps of an impact, momentum changes by the contacts' and gravity's."""
    errors = []
    for h in (1e-4, 5e-5):
        skeleton = plank()
        world = world_of(skeleton, ground=True, time_step=h)
        q = np.array(skeleton.positions)
        q[1], q[5] = -0.2, 0.042
        skeleton.positions = q
        skeleton.velocities = np.r_[np.zeros(5), -1.0, np.zeros(skeleton.num_dofs - 6)]
        total = skeleton.momentum[3:].copy()
        for _ in range(round(0.01 / h)):
            world.step()
            total += h * (np.array([0.0, 0.0, -9.81 * skeleton.mass]))
            for force, body in zip(world.contacts.forces, world.contacts.body_b, strict=True):
                total += h * force * (1.0 if body.skeleton is skeleton else -1.0)
        assert world.contacts.forces.shape[0] > 0 or total[2] > -skeleton.mass * 1.0  # it touched
        errors.append(np.abs(skeleton.momentum[3:] - total).max())
    assert max(errors) < 1e-6 * skeleton.mass and errors[1] < errors[0]


def test_a_robot_on_the_ground_for_a_minute_loses_energy_and_keeps_none() -> None:
    """With modes of 10 kHz, at 1 ms: what it begins with goes to dampers, friction and impacts, never back."""
    skeleton = plank(axial=5, bending_y=3, bending_z=3, damping_ratio=0.02)
    beam = kido.flexible.flexible_bodies(skeleton)[0]
    assert beam.modes.frequencies.max() > 2.0 * np.pi * 1e4
    world = world_of(skeleton, ground=True, time_step=1e-3)
    q = np.array(skeleton.positions)
    q[:3], q[5] = (0.2, 0.3, 0.0), 0.5
    skeleton.positions = q
    skeleton.velocities = np.r_[1.0, -2.0, 0.5, 0.3, 0.2, 0.0, np.zeros(skeleton.num_dofs - 6)]
    energies = []
    for _ in range(60):
        energies.append(world.total_energy)
        world.step(1000)
    energies.append(world.total_energy)
    assert np.isfinite(energies).all()
    assert np.diff(energies).max() < 1e-3 * energies[0]
    assert abs(energies[-1] - energies[-2]) < 1e-5 and energies[-1] < 0.4 * energies[0]
    assert world.totals.max_penetration < 5e-3


# Rows of coordinates -----------------------------------------------------------------------------------------


def test_limits_of_joints_and_of_modes_hold() -> None:
    skeleton = arm(damping_ratio=0.05)
    skeleton.dofs[0].position_upper_limit = 0.1
    mode = skeleton.dof("fore.bending_z1")
    mode.position_lower_limit = -0.003
    world = world_of(skeleton, time_step=1e-3)
    lowest = 0.0
    for _ in range(2000):
        world.step()
        assert skeleton.positions[0] < 0.1 + 1e-3
        lowest = min(lowest, float(skeleton.positions[mode.index]))
    assert -0.0033 < lowest < -0.0029
    free = arm(damping_ratio=0.05)
    free.dofs[0].position_upper_limit = 0.1
    other = world_of(free, time_step=1e-3)
    deepest = 0.0
    for _ in range(2000):
        other.step()
        deepest = min(deepest, float(free.positions[mode.index]))
    assert deepest < -0.005  # without its limit the mode goes farther


def test_a_position_actuator_holds_a_flexible_arm() -> None:
    """At rest the shoulder gives kp times its error, which is the moment of the weight about it.

    To the velocity products of a mid-step that is predicted without the actuator's impulse: 2e-4 here.
    """
    skeleton = arm(section=Section.rectangle(0.03, 0.02), damping_ratio=0.5)
    for k, dof in enumerate(
        j.dofs[0] for j in (skeleton.body("upper").parent_joint, skeleton.body("fore").parent_joint)
    ):
        dof.position_gain, dof.velocity_gain = 400.0 / (1 + k), 40.0 / (1 + k)
        dof.joint.actuator_type = "POSITION"
    world = world_of(skeleton, time_step=1e-3)
    world.step(10000)
    assert np.abs(skeleton.velocities).max() < 1e-5
    weight = skeleton.gravity_forces
    shoulder = skeleton.body("upper").parent_joint.dofs[0].index
    assert np.isclose(-400.0 * skeleton.positions[shoulder], weight[shoulder], rtol=1e-3)
    modes = [k for k, dof in enumerate(skeleton.dofs) if dof.joint.has_modes]
    assert np.allclose(skeleton.spring_forces[modes], weight[modes], rtol=3e-3, atol=1e-3)


def test_rigid_skeletons_beside_move_as_if_alone() -> None:
    def box() -> kido.Skeleton:
        skeleton = kido.Skeleton("box")
        body = skeleton.add_body("box", kido.FreeJoint(), None, kido.Inertia(1.0, moment=0.1 * np.eye(3)))
        body.add_shape(kido.Box((0.2, 0.2, 0.2)))
        q = np.array(skeleton.positions)
        q[3:] = 5.0, 0.0, 0.3
        skeleton.positions, skeleton.velocities = q, (0.3, 0.2, 0.1, 1.0, 0.0, 0.0)
        return skeleton

    alone, beside = box(), box()
    one, two = world_of(alone, ground=True), world_of(beside, arm(), ground=True)
    one.step(150)
    two.step(150)
    assert np.array_equal(alone.positions, beside.positions)


@pytest.mark.parametrize("actuator", ["ACCELERATION", "VELOCITY", "LOCKED"])
def test_coordinates_with_prescribed_motion(actuator: str) -> None:
    """Against a tree whose first coordinate follows a function of time, and forces by inverse dynamics."""
    skeleton = arm()
    tree, dof, h = FlexibleTree(skeleton), skeleton.dofs[0], 1e-3
    q, u = 1e-4 * np.ones(skeleton.num_dofs), np.zeros(skeleton.num_dofs)
    skeleton.positions = q
    dof.joint.actuator_type = actuator
    if actuator != "LOCKED":
        dof.command = 3.0 if actuator == "ACCELERATION" else 0.02
    world = world_of(skeleton, time_step=h)
    rate = {"ACCELERATION": lambda t: 3.0, "VELOCITY": lambda t: 0.02 / h * (t < h), "LOCKED": lambda t: 0.0}[actuator]
    wanted = tree.simulate(q, u, 20 * h, h, prescribed={0: rate})
    world.step(20)
    assert relative_error(skeleton.positions, wanted.positions[-1]) < 1e-12
    assert relative_error(skeleton.velocities, wanted.velocities[-1]) < 1e-12
    before, start = np.array(skeleton.positions), np.array(skeleton.velocities)
    world.step()
    mean, speed = 0.5 * (before + skeleton.positions), 0.5 * (start + skeleton.velocities)
    udot = (skeleton.velocities - start) / h
    tau = skeleton.inverse_dynamics(mean, speed, udot) - skeleton.spring_forces - skeleton.damping_forces
    found = float(skeleton.actuator_forces[0])
    assert abs(found - tau[0]) < 2e-3 * np.abs(tau).max()  # the rule's own error at mid-step


# State -------------------------------------------------------------------------------------------------------


def test_snapshots_and_recordings_have_the_modes(tmp_path: Path) -> None:
    skeleton = plank()
    world = world_of(skeleton, ground=True)
    world.step(50)
    kept = world.snapshot()
    path = tmp_path / "plank.h5"
    with kido.Recorder(world, path):
        world.step(100)
    end = skeleton.positions
    world.restore(kept)
    world.step(100)
    assert np.array_equal(skeleton.positions, end)
    recording = kido.Recording.open(path)
    assert np.array_equal(recording.skeleton("plank").positions[-1], end)
    again = recording.resume()
    twin = again.skeleton("plank")
    assert np.array_equal(twin.positions, end)
    again.step(20)
    world.step(20)
    assert np.array_equal(twin.positions, skeleton.positions)
    assert np.array_equal(world.clone().skeleton("plank").mass_matrix, skeleton.mass_matrix)


# Mistakes ----------------------------------------------------------------------------------------------------


def test_what_worlds_do_not_do_with_flexible_bodies_is_said() -> None:
    skeleton = arm()
    world = world_of(skeleton, integrator=kido.integrators.SemiImplicitEuler())
    with pytest.raises(kido.ModelError, match="worlds with flexible bodies step by MoreauMidpoint only"):
        world.step()
