"""The garage of `tire`: a car without a wheel, two wheels, nuts, and a robot with a model of it all."""

import numpy as np

import kido
from kido.manipulation import (
    FrictionGrip,
    ModelControl,
    Operator,
    RobotDescription,
    RobotModel,
    nut,
    sample_disabled_pairs,
)
from kido.models.mechanisms import at

HUB = np.array([1.5, 0.0, 0.75])  # where the wheel's middle goes
RACKS = {"flat": 1.3, "spare": -1.3}  # [m] to the side
RADIUS, WIDTH, GUESS = 0.28, 0.18, 9.0
MASSES = {"flat": 11.2, "spare": 13.4}  # [kg], which the robot does not know
OUT = np.array([[0.0, 0, -1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]])  # of wheels: z towards the robot
NOISE = 3e-4  # [m, rad] of poses seen
HOME = np.array([0.13, 0.79, -0.71, 1.89, -0.39, -1.2, -0.91])  # of the left arm
MIRROR = np.array([-1, 1, -1, 1, -1, 1, -1])
SIDEWAYS = {  # of hands that hold a wheel, in its axes: z towards its middle
    side: np.array([[0.0, side, 0, 0], [0, 0, -side, 0], [-1, 0, 0, 0], [0, 0, 0, 1]]) for side in (1.0, -1.0)
}
FACING = np.diag([1.0, -1.0, -1.0, 1.0])
FRICTION = 6.0  # of nuts [N m]
GRIP = FrictionGrip(friction=0.8, torsion=0.03, least=20.0, most=300.0)


def garage():
    """A car without a wheel, racks, nuts, the robot."""
    world = kido.World("garage", time_step=2e-3)
    scene = kido.Skeleton("scene")
    for name, shape, place, color in (
        ("floor", kido.Box((8, 8, 0.1)), at(0.5, 0, -0.05), (0.62, 0.62, 0.6)),
        ("car", kido.Box((0.5, 1.8, 0.5)), at(HUB[0] + 0.5 * WIDTH + 0.4, 0, 0.8), (0.7, 0.15, 0.12)),
        ("hub", kido.Cylinder(0.12, 0.15), at(HUB[0] + 0.5 * WIDTH + 0.08, 0, HUB[2]) @ OUT, (0.3, 0.3, 0.32)),
    ):
        body = scene.add_body(name, kido.WeldJoint(name), None if name == "floor" else scene.body("floor"))
        body.parent_joint.transform_from_parent = place if name == "floor" else at(-0.5, 0, 0.05) @ place
        body.add_shape(shape, color=color)
    car = scene.body("car")  # what does not touch: a cabin, lamps, a wheel behind
    for shape, place, color in (
        (kido.Box((0.46, 1.0, 0.36)), at(0.02, 0.2, 0.43), (0.2, 0.24, 0.28)),
        (kido.Box((0.5, 0.9, 0.05)), at(0, 0.2, 0.63), (0.7, 0.15, 0.12)),
        (kido.Box((0.1, 0.02, 0.1)), at(-0.15, -0.9, 0.1), (0.95, 0.9, 0.6)),
        (kido.Cylinder(RADIUS, WIDTH), at(-0.17, 1.05, -0.05) @ OUT, (0.13, 0.13, 0.14)),
    ):
        car.add_shape(shape, place, collision=False, color=color)
    for name, y in RACKS.items():
        rack = scene.add_body(f"rack_{name}", kido.WeldJoint(f"rack_{name}"), scene.body("floor"))
        rack.parent_joint.transform_from_parent = at(HUB[0] - 0.5, y, 0.05)
        for side in (-0.15, 0.15):
            rack.add_shape(kido.Capsule(0.02, 0.3), at(0, side, HUB[2] - 0.26) @ OUT, color=(0.3, 0.3, 0.32))
            rack.add_shape(kido.Box((0.04, 0.04, 0.48)), at(0.1, side, 0.24), color=(0.3, 0.3, 0.32))
    world.add_skeleton(scene)
    for k, angle in enumerate(2 * np.pi * (np.arange(3) + 0.75) / 3):
        stud = at(HUB[0] - 0.5 * WIDTH, 0.1 * np.cos(angle), HUB[2] + 0.1 * np.sin(angle)) @ OUT
        made = nut(0.04, 0.1, stud, turns=0.75, pitch=0.016, friction=FRICTION, name=f"nut_{k}")
        made.body(0).shapes[0].collision = False
        made.body(0).shapes[0].color = (0.85, 0.7, 0.3)
        world.add_skeleton(made)
    robot = world.add_skeleton(kido.load("two_arms"))
    robot.positions = [-0.4, -0.9, 0.6, -0.1, *HOME, *(MIRROR * HOME)]
    return world


def wheel(model, name, place):
    """A wheel as the robot believes it to be."""
    body = model.see(name, at(*place) @ OUT, shape=kido.Cylinder(RADIUS, WIDTH), mass=GUESS)
    body.shapes[0].color = (0.13, 0.13, 0.14)
    body.add_shape(kido.Cylinder(0.62 * RADIUS, 1.02 * WIDTH), collision=False, color=(0.75, 0.76, 0.8))


def weigh(model, name, mass):
    model.body(name).inertia = kido.Inertia.from_shape(kido.Cylinder(RADIUS, WIDTH), mass)


def known_and_real():
    """What the robot believes, and what is."""
    world = garage()
    disabled = sample_disabled_pairs(world.skeleton("two_arms"), 200)
    model = RobotModel(world, {"two_arms": RobotDescription("two_arms", disabled=disabled)})
    wheel(model, "flat", HUB)
    wheel(model, "spare", HUB + [0, RACKS["spare"], 0])
    real = model.fork()
    for name, mass in MASSES.items():
        weigh(real, name, mass)
    return model, real


def release_all(real):
    """As it was before robots worked."""
    for grasp in real.grasps.held:
        real.grasps.detach(grasp)
    for control in real.world.controllers:
        real.world.remove_controller(control)


def prepared(model, real):
    """The operator of the robot, at the start, with one wheel on the hub."""
    robot = real.world.skeleton("two_arms")
    control = real.world.add_controller(ModelControl(robot, model, arms=("left_arm", "right_arm"), grip=GRIP))
    operator = Operator(control, real, clearance=0.015)
    operator.hold(model.body("flat"), model.world.skeleton("scene").body("hub"), name="hub")
    return operator
