"""A two-armed robot opens a door: it drives up, takes the handle, and pulls it open with an arm and its base.

What the door needs, F = I a / r at the handle, is in the forces of its joints, by the model that it also plans with.
"""

import numpy as np

import kido
from kido.demos.demo import Demo
from kido.demos.garage import HOME, MIRROR, release_all
from kido.manipulation import (
    ModelControl,
    Operator,
    Part,
    RobotDescription,
    RobotModel,
    door,
    handle_path,
    sample_disabled_pairs,
)
from kido.models.mechanisms import at

WIDTH, MASS, PLACE, OPEN = 0.9, 20.0, 1.2, np.radians(70.0)
HINGE = at(PLACE, -0.45, 0.02) @ np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
FACING = np.diag([1.0, -1.0, -1.0, 1.0])  # of a hand before a handle


def known_and_real():
    """What the robot knows, and what is: a closed door in a wall."""
    world = kido.World("door", time_step=2e-3)
    walls = kido.Skeleton("walls").add_body("walls", kido.WeldJoint("walls"))
    walls.add_shape(kido.Box((6, 6, 0.1)), at(0.5, 0, -0.05), color=(0.62, 0.62, 0.6))
    for side in (1.0, -1.0):
        walls.add_shape(kido.Box((0.1, 1.2, 2.1)), at(PLACE + 0.03, side * 1.08, 1.05), color=(0.8, 0.78, 0.72))
    world.add_skeleton(walls.skeleton)
    leaf = world.add_skeleton(door(WIDTH, 2.0, MASS, pose=HINGE, pull=True, standoff=0.08))
    leaf.body(0).shapes[0].color = (0.55, 0.36, 0.2)
    robot = world.add_skeleton(kido.load("two_arms"))
    robot.positions = [-0.9, 0.5, -0.3, -0.1, *HOME, *(MIRROR * HOME)]
    disabled = sample_disabled_pairs(robot, 200)
    model = RobotModel(world, {"two_arms": RobotDescription("two_arms", disabled=disabled)})
    return model, model.fork()


def prepared(model, real):
    """The operator of the robot."""
    control = real.world.add_controller(ModelControl(real.world.skeleton("two_arms"), model))
    return Operator(control, real, clearance=0.015)


def open_door(operator):
    """Yields seconds to wait for."""
    model = operator.model
    base, arm = (model.part(name, "two_arms") for name in ("base", "left_arm"))
    both = Part("base and arm", "group", [*base.bodies, *arm.bodies], arm.tip)
    handle = model.world.skeleton("door").node("handle")
    path = handle_path(handle, np.linspace(0.0, OPEN, 40))
    before = path[0] @ FACING @ at(0, 0, -0.075)
    yield operator.move(base, [PLACE - 0.72, 0.0, 0.0])
    yield operator.reach({arm: before @ at(0, 0, -0.1)})
    yield operator.advance([arm], 0.1)
    name = operator.hold(handle, arm.tip, free_axis=(1, 0, 0))
    operator.begin()
    hands = np.repeat(arm.forward_kinematics()[None], len(path), axis=0)
    hands[:, :3, 3] += path[:, :3, 3] - path[0, :3, 3]  # it keeps facing ahead: the handle turns in it
    yield operator.along({both: hands}, speed=0.3)
    operator.release(name)
    yield operator.advance([arm], -0.1)


def make():
    known, real = known_and_real()
    leaf = real.world.skeleton("door")
    demo = Demo(real.world, duration=9.0, camera=((-1.6, -2.2, 2.0), (0.9, 0.0, 0.8)))

    @demo.task
    def work():
        release_all(real)
        yield from open_door(prepared(known.fork(), real))

    demo.number("door [deg]")(lambda: float(np.degrees(leaf.positions[0])))
    demo.number("I a / r [N]")(lambda: MASS * WIDTH**2 / 3 * float(leaf.accelerations[0]) / (0.9 * WIDTH))
    return demo
