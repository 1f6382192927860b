"""A two-armed robot changes a wheel: loosens nuts, lifts the wheel with both arms, finds its mass, mounts the spare.

The robot knows the world by a model of its own, `kido.manipulation.RobotModel`, which perception, planning, estimation
and control share: poses seen with errors of 0.3 mm, wheels whose mass it guesses. Motions are planned without
collisions; joint torques, within limits, are computed by the model, and the wheel's weight is shared between the arms.
How heavy it is the robot finds by the force of its lift, and holds it better from then on.
"""

import numpy as np
from scipy.interpolate import CubicSpline

import kido
from kido.demos.demo import Demo
from kido.manipulation import (
    FrictionGrip,
    ModelControl,
    RobotDescription,
    RobotModel,
    handle_path,
    nut,
    sample_disabled_pairs,
)
from kido.models.mechanisms import at
from kido.planning import RRTConnect, goal_states, shortened, smooth_curve, time_optimal

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
STEPS = np.linspace(0.0, 1.0, 12)
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
        world.add_skeleton(made)
    robot = world.add_skeleton(kido.load("two_arms"))
    robot.positions = [-0.4, -0.9, 0.6, -0.1, *HOME, *(MIRROR * HOME)]
    return world


class Mechanic:
    """What the robot does, by its model; `real` is what it acts on."""

    def __init__(self):
        world = garage()
        disabled = sample_disabled_pairs(world.skeleton("two_arms"), 200)
        self.model = RobotModel(world, {"two_arms": RobotDescription("two_arms", disabled=disabled)})
        for name, y in RACKS.items():
            place = HUB if name == "flat" else HUB + [0, y, 0]
            wheel = self.model.see(name, at(*place) @ OUT, shape=kido.Cylinder(RADIUS, WIDTH), mass=GUESS)
            wheel.shapes[0].color = (0.13, 0.13, 0.14)
            wheel.add_shape(kido.Cylinder(0.62 * RADIUS, 1.02 * WIDTH), collision=False, color=(0.75, 0.76, 0.8))
        self.real = self.model.fork()
        for name, mass in MASSES.items():
            self.weigh(self.real, name, mass)
        self.robot, self.world = world.skeleton("two_arms"), self.real.world
        self.left, self.right, self.base = (self.model.part(n, "two_arms") for n in ("left_arm", "right_arm", "base"))
        self.arms, own = (self.left, self.right), self.world.skeleton("two_arms")
        self.control = ModelControl(own, self.model, arms=("left_arm", "right_arm"), grip=GRIP, rate=250)
        self.world.add_controller(self.control)
        self.hold("flat", "hub")
        self.phase, self.found, self.rng = "", {}, np.random.default_rng(3)

    @staticmethod
    def weigh(model, name, mass):
        model.body(name).inertia = kido.Inertia.from_shape(kido.Cylinder(RADIUS, WIDTH), mass)

    def look(self, name, times=8):
        """Where a wheel is, seen with errors."""
        for _ in range(times):
            error = kido.math.exp_pose(self.rng.normal(0.0, NOISE, 6))
            self.model.see(name, self.real.body(name).world_transform @ error, NOISE**2 * np.eye(6))

    def hold(self, name, hand):
        """Both worlds have it: in the model what is free hangs on the hand, in the real one a loop closes."""
        for model in (self.model, self.real):
            body = model.body(name) if name in MASSES else model.world.skeleton(name).body(name)
            holder = model.world.skeleton("scene" if hand == "hub" else "two_arms").body(hand)
            model.grasps.attach(body, holder, f"{hand}: {name}", as_loop=True if model is self.real else None)

    def release(self, name, hand):
        for model in (self.model, self.real):
            model.grasps.detach(f"{hand}: {name}")

    # Motions: generators of what is waited for [s] -------------------------------------------------------------

    def begin(self):
        """The model's robot is where it is to be: motions begin there."""
        self.robot.positions = self.control.reference()[0]

    def goal(self, part):
        return part.of(self.control.reference()[0])

    def move(self, part, goals, speed=1.0):
        """Without collisions to one of the goals."""
        self.begin()
        checker = self.model.scene.checker(part)
        path = shortened(checker, RRTConnect(checker).plan(part.positions, goals))
        law = time_optimal(smooth_curve(checker, path), velocity=speed, acceleration=2.0 * speed)
        yield self.control.follow(law, part)

    def reach(self, arm, pose):
        """Without collisions to where a hand has a pose."""
        self.begin()
        yield from self.move(arm, goal_states(self.model.scene.checker(arm), arm.solver, pose))

    def along(self, paths, speed=0.5):
        """Hands go through poses, by arm."""
        self.begin()
        rows = np.hstack([arm.follow(poses) for arm, poses in paths.items()])
        law = time_optimal(CubicSpline(np.linspace(0.0, 1.0, len(rows)), rows), velocity=speed, acceleration=2.0)
        yield self.control.follow(law, [dof for arm in paths for dof in arm.dofs])

    def carry(self, name, way=(0, 0, 0), turn=0.0):
        """Both hands bring what they hold along a way, turning it about its axis."""
        self.begin()
        X = np.array(self.model.body(name).world_transform)
        holds = {arm: np.linalg.inv(X) @ arm.forward_kinematics() for arm in self.arms}
        yield from self.along({arm: line(X, way, turn) @ hold for arm, hold in holds.items()})

    def advance(self, arms, way):
        """Hands go straight, along their own z axes."""
        self.begin()
        poses = {arm: arm.forward_kinematics() for arm in arms}
        yield from self.along({arm: line(X, way * X[:3, 2]) for arm, X in poses.items()})

    # What is done ----------------------------------------------------------------------------------------------

    def turn_nuts(self, tighten):
        """One after the other, with the right hand."""
        yield from self.move(self.base, [HUB[0] - 0.6, 0.0, 0.0])
        for k in range(3):
            thing = self.model.world.skeleton(f"nut_{k}")
            handle, turns = thing.node("handle"), np.linspace(0.0, 1.5 * np.pi, 40)
            turns = turns[::-1] if tighten else turns
            self.begin()
            before = handle_path(handle, turns[:1])[0] @ FACING @ at(0, 0, -0.13)
            goals = goal_states(self.model.scene.checker(self.right), self.right.solver, before)
            goals[:, -1] = 0.75 * np.pi * (-1 if tighten else 1)  # of the wrist, which has room for the whole turn then
            yield from self.move(self.right, goals)
            yield from self.advance([self.right], 0.06)
            self.hold(f"nut_{k}", "right_hand")
            grip = np.linalg.inv(handle_path(handle, turns[:1])[0]) @ self.right.forward_kinematics(
                self.goal(self.right)
            )
            yield from self.along({self.right: handle_path(handle, turns) @ grip}, speed=2.0)
            self.release(f"nut_{k}", "right_hand")
            yield from self.advance([self.right], -0.06)

    def take(self, name):
        """With both hands, from where it is; then its mass is found."""
        self.look(name)
        X = np.array(self.model.body(name).world_transform)
        for arm, side in zip(self.arms, (1.0, -1.0)):
            hold = at(0, side * (RADIUS + 0.075), 0) @ SIDEWAYS[side]
            yield from self.reach(arm, X @ at(0, side * 0.1, 0) @ hold)
        yield from self.advance(self.arms, 0.1)
        for arm in self.arms:
            self.hold(name, arm.tip.name)

    def estimate(self, name):
        """The mass, by the force of the lift and of the base: they do not feel how the hands push each other."""
        self.control.record()
        yield from self.carry(name, (0, 0, 0.05))
        trunk = [self.robot.dof(n) for n in ("base_x", "base_y", "base_yaw", "torso_lift")]
        found = self.control.estimate(self.model.body(name), trunk)
        self.found[name] = GUESS + found.mass, found.mass_deviation
        self.weigh(self.model, name, self.found[name][0])
        self.control.record(False)

    def leave(self, name):
        for arm in self.arms:
            self.release(name, arm.tip.name)
        yield from self.advance(self.arms, -0.1)
        for arm in self.arms:
            yield from self.move(arm, HOME if arm is self.left else MIRROR * HOME)

    def drive(self, y, back=0.0):
        yield from self.move(self.base, [HUB[0] - 0.5 - back, y, 0.0], speed=0.6)

    def change(self):
        self.phase = "loosens the nuts"
        yield from self.turn_nuts(tighten=False)
        self.phase = "takes the wheel off"
        yield from self.move(self.right, MIRROR * HOME)
        yield from self.drive(0.0)
        yield from self.take("flat")
        self.release("flat", "hub")
        yield from self.carry("flat", turn=0.35)
        yield from self.carry("flat", (-0.12, 0, 0))
        self.phase = "finds its mass"
        yield from self.estimate("flat")
        self.phase = "puts it on the rack"
        yield from self.drive(0.0, 0.3)
        yield from self.drive(RACKS["flat"], 0.3)
        yield from self.drive(RACKS["flat"])
        yield from self.carry("flat", (0.12, 0, 0))
        yield from self.carry("flat", (0, 0, -0.05))
        yield from self.leave("flat")
        self.phase = "fetches the spare wheel"
        yield from self.drive(RACKS["flat"], 0.3)
        yield from self.drive(RACKS["spare"], 0.3)
        yield from self.drive(RACKS["spare"])
        yield from self.take("spare")
        yield from self.estimate("spare")
        yield from self.carry("spare", (-0.12, 0, 0))
        self.phase = "mounts it"
        yield from self.drive(RACKS["spare"], 0.3)
        yield from self.drive(0.0, 0.3)
        yield from self.drive(0.0)
        yield from self.carry("spare", turn=0.35)
        yield from self.carry("spare", HUB - self.model.body("spare").com)
        yield from self.carry("spare", turn=-0.35)
        self.hold("spare", "hub")
        yield from self.leave("spare")
        self.phase = "tightens the nuts"
        yield from self.turn_nuts(tighten=True)
        yield from self.move(self.right, MIRROR * HOME)
        self.phase = "is done"


def line(X, way, turn=0.0):
    """Poses from X on along a way, turning about its z axis."""
    return np.array([at(*(s * np.asarray(way))) @ X @ kido.math.exp_pose([0, 0, s * turn, 0, 0, 0]) for s in STEPS])


def make():
    mechanic = Mechanic()
    demo = Demo(mechanic.world, duration=60.0, camera=((-0.6, -2.6, 1.9), (1.1, 0.0, 0.7)))
    task, due = mechanic.change(), 0.0

    @demo.every_frame
    def act(time):
        nonlocal due
        while time >= due:
            due = time + next(task, np.inf)

    demo.number("phase")(lambda: mechanic.phase)
    return demo
