"""Ports of systems on flexible bodies: sensors at nodes, forces on them, modes as joints' coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.devices import IMU
from kido.flexible import FlexibleBody, Material, Section, beam_modes
from kido.systems import BodyPort, JointPort, MassPort, Model, Output, System


def arm() -> tuple[kido.World, FlexibleBody]:
    """A beam on a hinge that hangs straight out at first, a load welded to its tip."""
    skeleton = kido.Skeleton("arm")
    modes = beam_modes(
        1.0, Section.rectangle(0.02, 0.01), Material(7e10, 2700.0), bending_y=1, bending_z=1, torsion=1,
        damping_ratio=0.01,
    )  # fmt: skip
    beam = FlexibleBody(skeleton.add_body("beam", kido.RevoluteJoint("hinge", (0, 1, 0))), modes)
    skeleton.add_body("load", kido.WeldJoint(), beam.node("tip"), kido.Inertia(0.3, moment=1e-3 * np.eye(3)))
    world = kido.World(time_step=1e-3)
    world.add_skeleton(skeleton)
    skeleton.velocities = [0.5, 0.2, -0.3, 1.0]
    return world, beam


def test_an_inertial_unit_on_a_node_feels_what_the_node_does() -> None:
    """Its rate is the node's own, its specific force the change of the node's velocity less gravity."""
    world, beam = arm()
    tip = beam.node("tip")
    system = System(world=world)
    port = system.add(BodyPort(tip, offset=(0.0, 0.0, 0.05)))
    imu = system.add(IMU(rate=1000))
    for name in ("rotation", "velocity", "angular_velocity"):
        system.connect(port.port(name), imu.port(name))
    offset, before, rates = (0.0, 0.0, 0.05), np.zeros(3), []
    for k in range(40):
        system.run(1e-3)
        V = np.array(beam.body.skeleton.jacobian(tip, offset)) @ beam.body.skeleton.velocities
        R = tip.world_transform[:3, :3]
        assert np.allclose(imu.angular_rate.value, R.T @ V[:3], rtol=0.0, atol=1e-12)
        wanted = R.T @ ((V[3:] - before) / 1e-3 + [0.0, 0.0, 9.81])
        assert k < 2 or np.allclose(imu.specific_force.value, wanted, rtol=0.0, atol=1e-9)
        before = V[3:]
        rates.append(imu.angular_rate.value.copy())
    assert np.ptp(rates, axis=0).min() > 1e-3  # it rings about all axes


def test_ports_are_where_nodes_are_and_wrenches_reach_modes() -> None:
    """Against the skeleton's own kinematics, forces against J^T [torque; force] with its rows of modes."""
    world, beam = arm()
    skeleton, tip, offset = beam.body.skeleton, beam.node("tip"), np.array([0.1, -0.2, 0.3])
    skeleton.positions = [0.3, 0.01, -0.02, 0.1]
    f, m = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7])

    class Wrench(Model):
        force, torque = Output("N", 3), Output("N m", 3)

        def outputs(self):
            return {"force": f, "torque": m}

    system = System(world=world)
    port, mode = system.add(BodyPort(tip, offset, "tip")), system.add(JointPort(skeleton.dof("beam.torsion1"), "twist"))
    frame, wrench = system.add(BodyPort(beam.body, offset, "frame")), system.add(Wrench())
    for end in (port, frame):
        system.connect(wrench.force, end.force)
        system.connect(wrench.torque, end.torque)
    X = tip.world_transform
    assert np.allclose(port.rotation.value, X[:3, :3], rtol=0.0, atol=1e-14)
    assert np.allclose(port.position.value, X[:3, 3] + X[:3, :3] @ offset, rtol=0.0, atol=1e-14)
    assert np.allclose(port.velocity.value, tip.linear_velocity(offset=offset), rtol=0.0, atol=1e-13)
    assert np.allclose(port.angular_velocity.value, tip.angular_velocity(), rtol=0.0, atol=1e-13)
    assert mode.position.value == 0.1 and mode.velocity.value == 1.0
    wanted = sum((np.array(skeleton.jacobian(b, offset)) for b in (tip, beam.body)), np.zeros((6, 4))).T @ [*m, *f]
    system.run(1e-3)
    assert np.abs(wanted[1:]).min() > 0.1
    assert np.allclose(world.controllers[0].forces, wanted, rtol=0.0, atol=1e-12)


def test_the_mass_of_a_flexible_body_is_no_port() -> None:
    world, beam = arm()

    class Tank(Model):
        mass = Output("kg")

        def outputs(self):
            return {"mass": 2.0}

    system = System(world=world)
    port, tank = system.add(MassPort(beam.body)), system.add(Tank())
    system.connect(tank.mass, port.mass)
    with pytest.raises(kido.ModelError, match="body 'beam' is flexible; its mass is that of its modes, which stays"):
        system.run(1e-3)
    assert beam.body.mass == beam.modes.mass
