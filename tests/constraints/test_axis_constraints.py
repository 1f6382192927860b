"""What acts along free axes of constraints: the same joint in a tree is the truth."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import kido
from linkages import Z, at, rod

PLACE = at(0.3, 0.2, 0.1)
JOINTS = {
    "spring": lambda: kido.RevoluteJoint("j", axis=(0, 1, 0), transform_from_parent=PLACE, spring_stiffness=20.0,
                                         rest_position=0.3, damping=0.4),
    "limits": lambda: kido.RevoluteJoint("j", axis=(0, 1, 0), transform_from_parent=PLACE,
                                         position_lower_limit=-0.2, position_upper_limit=0.7),
    "friction": lambda: kido.RevoluteJoint("j", axis=(0, 1, 0), transform_from_parent=PLACE, coulomb_friction=2.0),
    "slide": lambda: kido.PrismaticJoint("j", axis=Z, transform_from_parent=PLACE, position_lower_limit=-0.4,
                                         spring_stiffness=20.0, coulomb_friction=1.0),
    "screw": lambda: kido.ScrewJoint("j", axis=Z, pitch=0.3, transform_from_parent=PLACE, damping=0.01),
    "universal": lambda: kido.UniversalJoint("j", axis1=(0, 1, 0), axis2=Z, transform_from_parent=PLACE, damping=0.3,
                                             spring_stiffness=[3.0, 5.0], rest_position=[0.1, 0.2],
                                             position_upper_limit=[0.6, 1.0]),
}  # fmt: skip
# The universal's angles have a mass matrix that changes; its two constraints see it at mid-step as the tree does, but
# not its velocity products: second order in h.
CLOSE = {"universal": 1e-4}


def hung(joint):
    world, skeleton = kido.World(), kido.Skeleton("s")
    body = skeleton.add_body("b", joint, inertia=rod(0, 1.0, 1.0, 0.2))
    world.add_skeleton(skeleton)
    return world, skeleton, body


@pytest.mark.parametrize("case", JOINTS)
def test_a_loop_joint_acts_as_the_same_joint_of_a_tree(case):
    world, skeleton, body = hung(JOINTS[case]())
    loop_world, free, loop_body = hung(kido.FreeJoint())
    free.positions = [0, 0, 0, 0.3, 0.2, 0.1]
    free.loops = [kido.LoopJoint(None, "b", JOINTS[case]())]
    forces = [c for c in loop_world.constraints if isinstance(c, kido.AxisForces)]
    assert len(forces) == skeleton.num_dofs
    for _ in range(6):
        world.step(250)
        loop_world.step(250)
        assert loop_body.world_transform == pytest.approx(body.world_transform, abs=CLOSE.get(case, 1e-9))
        found = [c.position for c in forces]
        assert found == pytest.approx(skeleton.positions, abs=CLOSE.get(case, 1e-9))
    if case == "screw":
        assert skeleton.positions[0] < -2 * np.pi / 4 * 0.5
    assert loop_world.constraint_report.worst_closure < 1e-10
    twin = loop_world.clone()
    for w in (loop_world, twin):
        w.step(50)
    assert (twin.skeletons[0].positions == free.positions).all()


def wheel(**options):
    world = kido.World(gravity=(0, 0, 0))
    skeleton = kido.Skeleton("wheel")
    body = skeleton.add_body("wheel", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (1.0, 1.0, 2.0)))
    world.add_skeleton(skeleton)
    hinge = world.add_constraint(kido.RevoluteJointConstraint(None, body))
    frames = {"frame_a": hinge.frame_a, "frame_b": hinge.frame_b}
    return world, skeleton, world.add_constraint(kido.AngleConstraint(None, body, **frames, **options))


def test_a_motor_has_the_force_it_is_told_and_turns_are_counted():
    world, skeleton, axis = wheel(force=3.0)
    world.step(2000)
    assert skeleton.velocities[2] == pytest.approx(3.0, rel=1e-12)
    angle = 0.5 * 1.5 * 2.0**2
    assert axis.position == pytest.approx(angle, rel=1e-9)
    axis.force = -3.0
    kept = world.snapshot()
    world.step(2000)
    assert axis.position == pytest.approx(2 * angle, rel=1e-9)  # 6 rad: beyond half a turn
    assert skeleton.velocities[2] == pytest.approx(0.0, abs=1e-12)
    end = skeleton.positions.copy()
    world.restore(kept)
    world.step(2000)
    assert (skeleton.positions == end).all()
    twin = copy.deepcopy(world)
    assert twin.constraints[1].position == axis.position


def test_a_servo_reaches_its_velocity_with_the_force_it_has():
    world, skeleton, axis = wheel(target_velocity=1.0, motor_force=4.0, upper_limit=2.0)
    world.step(250)
    assert skeleton.velocities[2] == pytest.approx(0.5, rel=1e-9)
    world.step(750)
    assert skeleton.velocities[2] == pytest.approx(1.0, rel=1e-9)
    axis.target_velocity = 0.0
    axis.motor_force = 4e3
    world.step(1)
    assert skeleton.velocities[2] == pytest.approx(0.0, abs=1e-9)
    axis.target_velocity = 5.0
    world.step(1000)
    assert axis.position == pytest.approx(2.0, abs=1e-5)  # the limit holds against the motor
    assert axis.impulses[5] == pytest.approx(4e3 * 1e-3, rel=1e-6)


def test_a_screw_constraint_keeps_momentum_and_its_thread():
    world = kido.World(gravity=(0, 0, 0))
    bodies = []
    for k in range(2):
        skeleton = kido.Skeleton(f"s{k}")
        bodies.append(
            skeleton.add_body("b", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.2)))
        )
        world.add_skeleton(skeleton)
    nut = world.add_constraint(kido.ScrewJointConstraint(*bodies, pitch=0.5))
    bodies[1].skeleton.velocities = [0, 0, 4.0, 0, 0, 4.0 * 0.5 / (2 * np.pi)]
    energy = world.kinetic_energy
    world.step(3000)
    report = world.constraint_report
    assert (report.rank, report.rows) == (5, 5) and report.worst_closure < 1e-10
    relative = np.linalg.inv(bodies[0].world_transform) @ bodies[1].world_transform
    assert relative[2, 3] == pytest.approx(0.5 * 12.0 / (2 * np.pi), rel=1e-9)
    assert np.abs(nut.error).max() < 1e-10
    assert world.kinetic_energy == pytest.approx(energy, rel=1e-9)
    linear = sum(b.linear_velocity()[2] for b in bodies)
    assert linear == pytest.approx(4.0 * 0.5 / (2 * np.pi), rel=1e-12)


def test_numbers_that_are_none_are_refused():
    world, _, body = hung(kido.FreeJoint())
    for options, match in (
        ({"lower_limit": 1.0, "upper_limit": 0.0}, "lower_limit <= upper_limit"),
        ({"coulomb_friction": -1.0}, "coulomb_friction"),
        ({"force": np.nan}, "force: expected a finite number"),
        ({"torque_limit": 3.0}, "torque_limit: it has none"),
    ):
        with pytest.raises(kido.ModelError, match=match):
            kido.AngleConstraint(None, body, **options)
    with pytest.raises(kido.ModelError, match="pitch"):
        kido.ScrewJointConstraint(None, body, pitch=np.inf)
    assert list(world.constraints) == []


def test_descriptions_hold_them():
    from kido.recording.world_description import world_from_dict, world_to_dict

    world, _, _ = wheel(force=1.0, lower_limit=-1.0, damping=0.2)
    world.add_constraint(kido.ScrewJointConstraint(None, world.skeletons[0].body("wheel"), pitch=0.1))
    twin = world_from_dict(world_to_dict(world))
    assert world_to_dict(twin) == world_to_dict(world)
    assert twin.constraints[1].force == 1.0 and twin.constraints[2].pitch == 0.1
