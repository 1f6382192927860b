"""Worlds that hold loops by constraint embedding: their life, what falls back to elimination, robots that stand."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import closed_legs
import kido
import linkages
from closed_legs import is_embedded, legs_world, set_in_motion
from kido.jit import JIT_DISABLED


def bits(world: kido.World) -> bytes:
    return b"".join(s.positions.tobytes() + s.velocities.tobytes() for s in world.skeletons)


def partition(world: kido.World) -> list[int]:
    """What coordinates the compounds of a world depend on at present, by their order."""
    return world.constraint_system.aggregates.embedding.solved.tolist()


# -- states that come back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [400, 715, 1000])
def test_snapshots_and_copies_go_on_bit_for_bit_with_other_partitions_chosen_in_between(start):
    """Four-bars that pass their flat position at about 715 steps, where loops are eliminated for some, and at 1228."""
    world, _ = linkages.n_four_bar(2, 1e-3)
    world.step(start)
    kept, first, begin = world.snapshot(), partition(world), bits(world)
    twins = [world.clone(), copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    met = set()
    for _ in range(900):
        world.step(1)
        met.add(tuple(partition(world)))
    end = bits(world)
    assert len(met) > 1 and partition(world) != first  # else nothing was tested
    world.restore(kept)
    assert bits(world) == begin
    world.step(900)
    assert bits(world) == end
    for twin in twins:
        twin.step(900)
        assert bits(twin) == end


def test_recordings_resume_bit_for_bit(tmp_path):
    world, _ = linkages.n_four_bar(2, 2e-3)
    robot, loops = closed_legs.quadruped()
    robot.positions = closed_legs.standing(robot, y=9.0, lift=0.05)
    world.add_ground()
    world.add_skeleton(robot)
    for loop in loops:
        world.add_constraint(loop)
    closed_legs.held_by_springs(robot)
    before = partition(world)
    with kido.Recorder(world, tmp_path / "run.h5", checkpoint_every=100):
        world.step(450)
    end = bits(world)
    assert partition(world) != before
    recording = kido.Recording.open(tmp_path / "run.h5")
    for frame in (0, 137, 400):
        again = recording.resume(frame)
        again.step(450 - frame)
        assert bits(again) == end


def test_what_users_set_in_between_is_closed_first():
    ends = []
    for solver in ("CE", "TA"):
        world, robot, _ = legs_world(ground=False, solver=solver)
        set_in_motion(world, robot, seed=5)
        world.step(50)
        q = robot.positions.copy()
        q[closed_legs.ROOT_DOFS] += 0.02  # one hip: its loop is open
        robot.positions = q
        assert np.abs(closed_legs.foot_gaps(q)).max() > 1e-3
        world.step(1)
        assert np.abs(closed_legs.foot_gaps(robot.positions)).max() < 1e-12
        assert is_embedded(world) == (solver == "CE")
        world.step(20)
        robot.velocities = robot.velocities + np.random.default_rng(0).normal(size=robot.num_dofs)
        world.step(20)
        ends.append(np.concatenate([robot.positions, robot.velocities]))
        assert world.constraint_report.closure < 1e-12
    assert np.abs(ends[0] - ends[1]).max() < 1e-4 * np.abs(ends[0]).max()


def test_robots_with_loops_sleep_and_wake():
    world, robot, _ = legs_world()
    closed_legs.held_by_springs(robot)
    world.sleeping = True
    world.step(2000)
    assert robot.is_asleep
    asleep = bits(world)
    world.step(100)
    assert bits(world) == asleep
    world.push(robot.body("trunk"), force=(30.0, 10.0, 0.0), duration=0.1)
    world.step(50)
    assert not robot.is_asleep and is_embedded(world)
    assert np.abs(robot.velocities[3:5]).max() > 1e-3
    world.step(2500)
    assert robot.is_asleep and world.constraint_report.worst_closure < 1e-11


@pytest.mark.skipif(JIT_DISABLED, reason="needs compiled threads")
def test_threads_change_no_bit():
    ends = []
    for threads in (1, 2):
        world = crowd()
        world.threads = threads
        world.step(300)
        assert is_embedded(world) and len(world.contacts) > 12
        ends.append(bits(world))
    assert ends[0] == ends[1]


# -- constraints that come and go ---------------------------------------------------------------------------


def test_loops_of_a_skeleton_can_be_switched_off_and_on():
    robot, loops = closed_legs.quadruped(feet="")
    for loop in loops:
        at = np.linalg.inv(loop.body_a.world_transform) @ loop.body_b.world_transform @ loop.frame_b
        assert at == pytest.approx(loop.frame_a, abs=1e-12)
        options = {"axis": closed_legs.Y, "transform_from_parent": loop.frame_a, "transform_from_child": loop.frame_b}
        loop.body_a.attach(loop.body_b, kido.RevoluteJoint(**options), as_loop=True)
    world = kido.World(gravity=(0.0, 0.0, 0.0))
    world.add_skeleton(robot)
    assert len(robot.loops) == 4 and len(world.constraints) == 4
    kick = np.zeros(robot.num_dofs)
    kick[closed_legs.ROOT_DOFS] = 0.5
    robot.forces = kick
    world.step(10, reset_command=False)
    assert is_embedded(world)
    assert np.abs(closed_legs.foot_gaps(robot.positions)).max() < 1e-12
    robot.loops_enabled = False
    assert list(world.constraints) == []
    world.step(100, reset_command=False)
    assert np.abs(closed_legs.foot_gaps(robot.positions)).max() > 1e-3
    open_ = robot.positions
    robot.loops_enabled = True
    world.step(10)
    assert is_embedded(world) and np.abs(closed_legs.foot_gaps(robot.positions)).max() < 1e-12
    assert np.abs(robot.positions - open_).max() < 0.5


def test_constraints_that_come_and_go_change_the_compounds():
    world, robot, loops = legs_world(ground=False, gravity=(0.0, 0.0, 0.0))
    set_in_motion(world, robot)
    world.step(10)
    assert world.constraint_report.rank == 8
    energy, momentum = world.kinetic_energy, robot.momentum_about((0.0, 0.0, 0.0))
    world.remove_constraint(loops[1])
    world.step(1)
    assert world.constraint_report.rank == 6 and is_embedded(world)
    assert world.kinetic_energy == pytest.approx(energy, rel=1e-7)
    hips = [robot.joint(f"fr_{half}_hip").dofs[0] for half in ("fore", "back")]
    gear = world.add_constraint(kido.CouplerConstraint([(hips[0], 1.0), (hips[1], 2.0)]))
    together = hips[0].position + 2.0 * hips[1].position
    world.step(1)
    assert world.constraint_report.rank == 7 and is_embedded(world)
    assert energy - world.kinetic_energy > 1e-4  # held at once: an inelastic blow
    assert robot.momentum_about((0.0, 0.0, 0.0)) == pytest.approx(momentum, abs=1e-6 * np.abs(momentum).max())
    world.step(100)
    assert hips[0].position + 2.0 * hips[1].position == pytest.approx(together, abs=1e-11)
    world.remove_constraint(gear)
    world.add_constraint(loops[1])
    world.step(1)
    assert world.constraint_report.rank == 8 and is_embedded(world)
    assert np.abs(closed_legs.foot_gaps(robot.positions)).max() < 1e-12


# -- what is eliminated instead -----------------------------------------------------------------------------


def crank_by_velocity(world: kido.World, robot: kido.Skeleton) -> None:
    joint = robot.joint("fl_fore_hip")
    joint.actuator_type = kido.ActuatorType.VELOCITY
    robot.commands = [0.5 if dof.joint is joint else 0.0 for dof in robot.dofs]


def mimicking_knee(world: kido.World, robot: kido.Skeleton) -> None:
    joint, other = robot.joint("fl_back_hip"), robot.joint("fl_fore_hip")
    joint.mimic = kido.Mimic(other.name, -1.0, float(joint.positions[0] + other.positions[0]))
    joint.actuator_type = kido.ActuatorType.MIMIC


def hold_a_box(world: kido.World, robot: kido.Skeleton) -> None:
    box = kido.Skeleton("box")
    body = box.add_body("box", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.01, 0.01, 0.01)))
    box.positions = [0, 0, 0, 0, 0, 0.6]
    world.add_skeleton(box)
    world.add_constraint(kido.BallJointConstraint(robot.body("trunk"), body, at=(0, 0, 0.5)))


def euler(world: kido.World, robot: kido.Skeleton) -> None:
    world.integrator = kido.integrators.SemiImplicitEuler()


def soft_box(world: kido.World, robot: kido.Skeleton) -> None:
    soft = kido.Skeleton("soft")
    soft.add_soft_body(
        "body", kido.SoftMesh.box((0.2, 0.2, 0.2)), kido.FreeJoint(),
        inertia=kido.Inertia.from_diagonal(1.0, (0.02, 0.03, 0.04)), total_mass=0.5, kv=300.0, ke=100.0, kd=1.0,
    )  # fmt: skip
    soft.positions = [0, 0, 0, 2.0, 0, 1.0]
    world.add_skeleton(soft)


@pytest.mark.parametrize("change", [crank_by_velocity, mimicking_knee, hold_a_box, euler, soft_box])
def test_what_does_not_fit_is_eliminated(change):
    """To the bit what "TA" gives, loops closed; and compounds again where what stands in the way can go."""
    ends = []
    for solver in ("auto", "TA"):
        world, robot, _ = legs_world(ground=False, solver=solver)
        if solver == "auto":
            world.step(1)
            assert is_embedded(world)
        else:
            world.step(1)
        before = robot.positions
        robot.positions, robot.velocities = closed_legs.standing(robot), np.zeros(robot.num_dofs)
        change(world, robot)
        world.step(100, reset_command=False)
        assert not world.constraint_system.container.embedded.any()
        assert world.constraint_report.worst_closure < 1e-10
        assert np.abs(closed_legs.foot_gaps(robot.positions)).max() < 1e-10
        assert np.abs(robot.positions - before).max() > 1e-3
        ends.append(bits(world))
        if change is crank_by_velocity:
            assert robot.joint("fl_fore_hip").velocities[0] == 0.5
        if change is mimicking_knee:
            assert robot.joint("fl_back_hip").velocities == pytest.approx(-robot.joint("fl_fore_hip").velocities)
        if change is euler and solver == "auto":
            world.integrator = kido.integrators.MoreauMidpoint()
            world.step(1)
            assert is_embedded(world)
    assert ends[0] == ends[1]


def test_near_its_flat_position_a_four_bar_is_eliminated_and_on_either_side_embedded():
    """Two four-bars: bars in line twice a turn. Steps of both kinds, and the motion that the reduced equation has."""
    world, skeleton = linkages.n_four_bar(2, 1e-3)
    kinds = []
    for _ in range(5000):
        world.step(1)
        kinds.append(bool(world.constraint_system.container.embedded[0]))
    assert 0 < kinds.count(False) < 500
    assert np.count_nonzero(np.diff(kinds)) >= 2
    assert world.constraint_report.worst_closure < 1e-10
    assert linkages.crank_top(skeleton) == pytest.approx((-0.8113104610, -0.5846155454), abs=2e-5)


# -- robots that stand --------------------------------------------------------------------------------------


def crowd() -> kido.World:
    """Three quadrupeds side by side, a box on each trunk and one on the ground."""
    world = kido.World()
    world.add_ground()
    cube = kido.Box((0.1, 0.1, 0.1))
    for k in range(3):
        robot, loops = closed_legs.quadruped(
            loop=("revolute", "ball", "revolute")[k], feet=("sphere", "sphere", "box")[k], name=f"robot{k}"
        )
        robot.positions = closed_legs.standing(robot, y=0.8 * k, lift=0.02)
        closed_legs.held_by_springs(robot, stiffness=120.0, damping=4.0)
        world.add_skeleton(robot)
        for loop in loops:
            world.add_constraint(loop)
        for name, x, z in (("on", 0.05, 0.52), ("beside", 0.7, 0.05)):
            box = kido.Skeleton(f"{name}{k}")
            body = box.add_body("box", kido.FreeJoint(), inertia=kido.Inertia.from_shape(cube, mass=0.5))
            body.add_shape(cube)
            box.positions = [0, 0, 0, x, 0.8 * k, z]
            world.add_skeleton(box)
    return world


def test_a_robot_stands_on_its_loops_and_the_contact_problem_has_no_rows_of_them():
    world, robot, _ = legs_world()
    closed_legs.held_by_springs(robot)
    deepest = []
    for _ in range(4):
        world.step(500)
        assert is_embedded(world) and world.report.converged
        problem = world.engine.problem
        assert (problem.num_blocks, problem.num_rows) == (4, 12)
        deepest.append(-world.contacts.gaps.min())
    assert max(deepest) < 1e-5 and deepest[3] <= deepest[1] + 1e-9
    assert world.constraint_report.worst_closure < 1e-12
    assert np.abs(robot.positions[:3]).max() < 1e-4
    assert closed_legs.HEIGHT - 0.05 < robot.positions[5] < closed_legs.HEIGHT + closed_legs.FOOT
    assert np.abs(robot.velocities).max() < 1e-3


def test_a_robot_stands_by_forces_of_a_controller():
    world, robot, _ = legs_world()
    wanted = robot.positions
    for _ in range(2000):
        robot.forces = closed_legs.pd_forces(robot, wanted, 100.0, 3.0)
        world.step(1)
    assert is_embedded(world) and len(world.contacts) == 4
    assert world.report.max_penetration < 1e-5
    assert np.abs(robot.velocities).max() < 1e-3 and robot.positions[5] > closed_legs.HEIGHT - 0.05


def test_several_robots_and_boxes_stand_in_one_world():
    world = crowd()
    world.step(1000)
    early = world.report.max_penetration
    world.step(1000)
    assert is_embedded(world) and world.report.converged
    assert world.report.max_penetration <= max(early, 1e-6) < 1e-4
    assert world.constraint_report.rank == 24 and world.constraint_report.worst_closure < 1e-11
    for k in range(3):
        trunk = world.skeleton(f"robot{k}").body("trunk").world_transform
        on = world.skeleton(f"on{k}").bodies[0].world_transform
        assert trunk[2, 2] > 0.999 and trunk[2, 3] > 0.3
        assert on[2, 3] - trunk[2, 3] == pytest.approx(0.1, abs=2e-3)
        assert world.skeleton(f"beside{k}").positions[5] == pytest.approx(0.05, abs=1e-5)
    weight = 9.81 * sum(s.mass for s in world.skeletons if s.name != "ground")
    on_ground = sum(
        abs(f[2]) for f, a, b in zip(world.contacts.forces, world.contacts.body_a, world.contacts.body_b, strict=True)
        if "ground" in (a.skeleton.name, b.skeleton.name)
    )  # fmt: skip
    assert on_ground == pytest.approx(weight, rel=1e-3)
