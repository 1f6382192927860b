"""Driven bodies that touch others: platforms, conveyors, locked arms, grippers, against closed forms.

Contacts are solved to 1e-6 of their impulses; a box on a platform settles within the first steps.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from scenes import G, fixed, free, pose, world

H = 1e-3


def platform(axis, *, friction: float = 1.0, mass: float = 3.0, size=(4.0, 4.0, 0.2), kind="velocity") -> kido.Skeleton:
    """A plate on a rail whose upper face is at z = 0."""
    skeleton = kido.Skeleton("platform")
    shape = kido.Box(size)
    body = skeleton.add_body(
        "plate",
        kido.PrismaticJoint("rail", axis=axis, actuator_type=kind, transform_from_parent=pose((0, 0, -size[2] / 2))),
        inertia=kido.Inertia.from_shape(shape, mass=mass),
    )
    body.add_shape(shape, friction=friction)
    return skeleton


def cube(position, **options) -> kido.Skeleton:
    return free(kido.Box((0.2, 0.2, 0.2)), 2.0, position, **options)


def world_velocity(skeleton: kido.Skeleton) -> np.ndarray:
    return skeleton.body("body").spatial_velocity[3:]


def test_a_conveyor_carries_a_box() -> None:
    """The box slides until it is as fast as the belt: mu g t = v, and the belt pulls with mu m g meanwhile."""
    belt, box = platform((1, 0, 0), friction=0.5), cube((0, 0, 0.1))
    w = world(belt, box, ground=False)
    for k in range(400):
        belt.commands = [0.8]
        w.step()
        if k == 50:
            assert belt.actuator_forces[0] == pytest.approx(0.5 * 2.0 * G, rel=1e-4)
            assert belt.constraint_forces[0] == pytest.approx(-0.5 * 2.0 * G, rel=1e-4)
            assert world_velocity(box)[0] == pytest.approx(0.5 * G * 51 * H, rel=1e-3)
    assert belt.velocities[0] == 0.8
    assert belt.positions[0] == pytest.approx(0.8 * (400 - 0.5) * H, rel=1e-12)
    assert world_velocity(box) == pytest.approx([0.8, 0, 0], abs=1e-5)
    assert abs(belt.actuator_forces[0]) < 1e-3
    assert w.unconverged_steps == 0


def test_a_lift_carries_a_box_and_bears_its_weight() -> None:
    lift, box = platform((0, 0, 1), kind="acceleration"), cube((0.3, 0.1, 0.1))
    w = world(lift, box, ground=False)
    for _ in range(200):
        lift.commands = [1.5]
        w.step()
    assert lift.velocities[0] == pytest.approx(1.5 * 0.2, rel=1e-12)
    assert world_velocity(box) == pytest.approx([0, 0, 0.3], abs=1e-4)
    assert lift.actuator_forces[0] == pytest.approx(5.0 * (G + 1.5), rel=1e-4)
    assert w.contacts.forces[:, 2].sum() == pytest.approx(2.0 * (G + 1.5), rel=1e-3)


def test_a_turntable_carries_a_box_in_a_circle() -> None:
    """At 0.5 m and 2 rad/s friction holds (r w^2 = 2 < mu g); the box turns with the table."""
    table = kido.Skeleton("table")
    shape = kido.Cylinder(1.0, 0.2)
    body = table.add_body(
        "disk",
        kido.RevoluteJoint("axle", actuator_type="velocity", transform_from_parent=pose((0, 0, -0.1))),
        inertia=kido.Inertia.from_shape(shape, mass=5.0),
    )
    body.add_shape(shape, friction=0.8)
    box = cube((0.5, 0, 0.1), velocity=(0, 1.0, 0), angular_velocity=(0, 0, 2.0))
    table.velocities = [2.0]
    w = world(table, box, ground=False)
    table.commands = [2.0]
    w.step(500)
    t = 1.0  # radians
    assert box.positions[3:5] == pytest.approx([0.5 * np.cos(t), 0.5 * np.sin(t)], abs=2e-3)
    assert world_velocity(box)[:2] == pytest.approx([-np.sin(t), np.cos(t)], abs=1e-2)
    assert box.body("body").spatial_velocity[2] == pytest.approx(2.0, abs=1e-3)
    assert w.unconverged_steps == 0


def test_a_driven_plate_pushes_as_an_immovable_wall() -> None:
    """A plate at 1 m/s meets a ball at rest; the impact leaves it with (1 + e) 1 m/s, and the plate as it was."""
    plate = platform((1, 0, 0), size=(0.2, 1.0, 1.0), mass=0.01)
    ball = free(kido.Sphere(0.1), 5.0, (0.25, 0, -0.5), restitution=0.5)
    plate.body("plate").shapes[0].restitution = 1.0
    w = world(plate, ball, ground=False, gravity=(0, 0, 0))
    for _ in range(100):
        plate.commands = [1.0]
        w.step()
    assert plate.velocities[0] == 1.0
    assert world_velocity(ball) == pytest.approx([1.5, 0, 0], abs=1e-6)


def arm(*, locked: bool) -> kido.Skeleton:
    skeleton = kido.Skeleton("arm")
    body = None
    for k in range(3):
        start = pose((0.5 if k else 0.0, 0, 0))
        joint = kido.RevoluteJoint(f"j{k}", axis=(0, 1, 0), transform_from_parent=start)
        body = skeleton.add_body(f"b{k}", joint, body, kido.Inertia(1.0, (0.25, 0, 0), np.diag([1e-3, 0.02, 0.02])))
    body.add_shape(kido.Box((0.5, 0.1, 0.1)), pose((0.25, 0, 0)), restitution=1.0)
    if locked:
        skeleton.actuator_types = "locked"
    return skeleton


def test_a_ball_bounces_off_a_locked_arm_as_off_a_wall() -> None:
    robot = arm(locked=True)
    ball = free(kido.Sphere(0.05), 1.0, (1.25, 0, 0.2), velocity=(0, 0, -2.0), restitution=1.0)
    w = world(robot, ball, ground=False, gravity=(0, 0, 0))
    impulse = np.zeros(3)
    for _ in range(100):
        w.step()
        impulse += H * robot.actuator_forces
    assert world_velocity(ball) == pytest.approx([0, 0, 2.0], abs=1e-9)
    assert not robot.velocities.any() and not robot.positions.any()
    # The brakes took the momentum: 4 N s down, at 1.25, 0.75 and 0.25 m from the hinges (about y: -x * -4).
    assert impulse == pytest.approx([-4.0 * 1.25, -4.0 * 0.75, -4.0 * 0.25], rel=1e-9)


def test_the_brake_of_one_joint_passes_the_impulse_on() -> None:
    """With only the outer joints locked, the arm takes the ball's impulse as one rigid body about its shoulder."""
    robot = arm(locked=False)
    robot.actuator_types = ["force", "locked", "locked"]
    ball = free(kido.Sphere(0.05), 1.0, (1.25, 0, 0.2), velocity=(0, 0, -2.0), restitution=1.0, friction=0.0)
    w = world(robot, ball, ground=False, gravity=(0, 0, 0))
    inertia = sum(0.02 + (0.25 + 0.5 * k) ** 2 for k in range(3))
    w.step(100)
    effective = 1.0 / (1.0 + 1.25**2 / inertia)
    impulse = 2.0 * 2.0 * effective  # elastic
    assert world_velocity(ball)[2] == pytest.approx(-2.0 + impulse, rel=1e-4)
    assert robot.velocities == pytest.approx([1.25 * impulse / inertia, 0.0, 0.0], rel=1e-4, abs=1e-14)


def test_prescribed_bodies_do_not_mind_each_other() -> None:
    """A plate driven through the ground and into another one: nothing can give way, so nothing is asked."""
    lift, other = platform((0, 0, 1)), platform((0, 0, 1), kind="locked")
    other.positions = [0.1]
    w = world(lift, other)
    lift.commands = [-0.2]
    w.step(100)
    assert lift.velocities[0] == -0.2
    assert w.unconverged_steps == 0
    assert not w.contacts.forces.any()


def gripper(**options) -> kido.Skeleton:
    """Two fingers that slide along y towards each other, the second as the mimic of the first."""
    skeleton = kido.Skeleton("gripper")
    shape = kido.Box((0.1, 0.02, 0.1))
    for k, mimic in enumerate([None, kido.Mimic("slide0")]):
        side = 1.0 - 2.0 * k
        joint = kido.PrismaticJoint(
            f"slide{k}",
            axis=(0, side, 0),
            transform_from_parent=pose((0, -0.2 * side, 1.0)),
            mimic=mimic,
            **(options if k == 0 else {}),
        )
        body = skeleton.add_body(f"finger{k}", joint, inertia=kido.Inertia.from_shape(shape, mass=0.1))
        body.add_shape(shape, friction=0.8)
    return skeleton


def test_a_gripper_of_gears_holds_a_box_off_its_middle() -> None:
    """The fingers stay together whatever they meet, and squeeze with half of the motor's 50 N each."""
    hand = gripper()
    box = free(kido.Box((0.1, 0.1, 0.1)), 0.5, (0.0, 0.03, 1.0), friction=0.8)
    w = world(hand, box, ground=False)
    box.body("body").gravity = False
    for _ in range(400):
        hand.forces = [50.0, 0.0]
        w.step()
        assert hand.positions[0] == pytest.approx(hand.positions[1], abs=1e-6)
    box.body("body").gravity = True
    for _ in range(200):
        hand.forces = [50.0, 0.0]
        w.step()
    assert box.positions[4] == pytest.approx(0.0, abs=1e-5)  # the gears put it in the middle
    assert box.positions[5] == pytest.approx(1.0, abs=1e-4)
    assert np.abs(box.velocities).max() < 1e-4
    squeeze = w.contacts.forces[:, 1]
    assert squeeze[squeeze > 0].sum() == pytest.approx(25.0, rel=1e-3)
    assert w.contacts.forces[:, 2].sum() != 0.0


def test_a_servo_gripper_stalls_on_what_it_holds() -> None:
    hand = gripper(actuator_type="servo", force_limit=30.0)
    box = free(kido.Box((0.1, 0.1, 0.1)), 0.5, (0.0, 0.0, 1.0), friction=0.8)
    w = world(hand, box, fixed(kido.Box((0.1, 0.1, 0.1)), (0.0, 0.0, 0.9)), ground=False)
    for _ in range(600):
        hand.commands = [0.5, 0.0]
        w.step()
    assert hand.positions == pytest.approx([0.14, 0.14], abs=1e-4)
    assert hand.actuator_forces[0] == pytest.approx(30.0, rel=1e-9)
    assert hand.constraint_forces[0] == pytest.approx(-30.0, rel=1e-4)


@pytest.mark.parametrize("limit", [1e3, np.inf])
def test_a_servo_is_stopped_by_what_cannot_give_way(limit: float) -> None:
    """A plate that a servo presses on the ground stays there, however strong the servo is."""
    lift = platform((0, 0, 1), kind="servo")
    lift.joints[0].force_limit = limit
    lift.positions = [0.21]
    w = world(lift)
    for _ in range(300):
        lift.commands = [-0.2]
        w.step()
    assert lift.positions[0] == pytest.approx(0.2, abs=1e-5)
    assert lift.actuator_forces[0] <= -1e3 * (1 - 1e-9)
    assert np.isfinite(lift.actuator_forces).all()
    assert w.unconverged_steps == 0


def test_many_boxes_on_one_conveyor() -> None:
    belt = platform((1, 0, 0), size=(6.0, 6.0, 0.2))
    boxes = [cube((0.5 * i - 1.0, 0.5 * j - 1.0, 0.1), name=f"box{i}{j}") for i in range(5) for j in range(5)]
    w = world(belt, *boxes, ground=False)
    belt.commands = [0.5]
    w.step(300)
    assert w.unconverged_steps == 0
    for box in boxes:
        assert world_velocity(box) == pytest.approx([0.5, 0, 0], abs=1e-3)
    assert belt.actuator_forces[0] == pytest.approx(0.0, abs=0.1)


def test_the_prescribed_joints_of_dart(dart_data: Path) -> None:
    """DART's own scene: pendula with each actuator above a floor that is an ACCELERATION body; after a second.

    DART's steps are of first order, at 1 ms: 0.5 % of the way of those that fall.
    """
    dartpy = pytest.importorskip("dartpy", reason="the package dartpy is not installed")
    path = dart_data / "skel" / "test" / "collision_of_prescribed_joints_test.skel"
    w, other = kido.io.skel.read(path), dartpy.utils.SkelParser.readWorld(str(path))
    w.step(1000)
    for _ in range(1000):
        other.step()
    for k, s in enumerate(w.skeletons):
        assert s.positions == pytest.approx(other.getSkeleton(k).getPositions(), abs=5e-3)
    held = [s.actuator_forces[0] for s in w.skeletons[3:]]  # SERVO, ACCELERATION, VELOCITY, LOCKED bear the same
    assert held == pytest.approx([held[0]] * 4, rel=1e-9) and held[0] > 1.0


def test_a_position_limit_of_a_driven_free_joint_holds_at_any_attitude() -> None:
    """Driven along its own x axis, the body slides along a wall x = 0.3 across which it points; its own y is free."""
    body = free(kido.Sphere(0.1), 1.0, (0, 0, 0), rotation=(0, 0, np.pi / 3))
    joint = body.joints[0]
    body.actuator_types = ["locked"] * 3 + ["velocity", "force", "force"]
    joint.position_upper_limit = [np.inf] * 3 + [0.3, np.inf, np.inf]
    w = world(body, ground=False, gravity=(0, 0, 0))
    for _ in range(1500):
        body.commands = [0, 0, 0, 1.0, 0, 0]
        w.step()
    # x = 0.3 and 1 m/s along (cos 60, sin 60): the free axis (-sin 60, cos 60) moves at cot 60 = 1 / sqrt 3 m/s.
    assert body.positions[3] == pytest.approx(0.3, abs=1e-5)
    assert body.velocities[3:] == pytest.approx([1.0, 1.0 / np.sqrt(3.0), 0.0], abs=1e-6)
    assert body.positions[4] == pytest.approx(0.3 * np.tan(np.pi / 3) + 0.9 / np.sin(np.pi / 3), abs=2e-3)
