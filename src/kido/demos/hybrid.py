"""A mobile manipulator: its base moves as it is told, and its joints hold a pose by forces.

The application of RTQL8's tutorial, hybrid dynamics: accelerations of the base are given, 5, -7, 6, -5, 5, -5 m/s^2
for 299 ms each, so that its path is known in closed form; here they go on, mirrored, until it is back. Joints get PD
forces tau = M (500 (q* - q) - 50 u), which know nothing of the base and let the hand lag behind and sag. Computed
torque has the base's acceleration, the weight and the pushes in its model, and holds it. With `--skeleton FILE` another
one rides, such as the tutorial's `mobilManipulator.skel`.
"""

import numpy as np

import kido
from kido.control import ComputedTorque
from kido.demos.demo import Demo
from kido.demos.hand import ScaledPD
from kido.errors import ModelError

ACCELERATIONS = np.outer((1, -1, -1, 1), (5.0, -7.0, 6.0, -5.0, 5.0, -5.0)).ravel()  # [m/s^2]
BEGIN, LONG, EVERY = 0.501, 0.299, 0.3  # [s]
KP, KD = 500.0, 50.0  # [1/s^2], [1/s]


def path(t):
    """Where the base is at a time: a sum of parabolas that go on as lines."""
    since = t - BEGIN - EVERY * np.arange(len(ACCELERATIONS))
    inside = np.clip(since, 0.0, LONG)
    return float(ACCELERATIONS @ (0.5 * inside**2 + LONG * np.maximum(since - LONG, 0.0)))


def our_manipulator():
    """The arm with seven joints on a platform that slides."""
    arm = kido.load("arm7")
    base = arm.body("base")
    base.change_parent_joint_type(kido.TranslationalJoint)
    base.add_shape(kido.Box((0.5, 0.4, 0.08)), (0, 0, -0.04), color=(0.27, 0.51, 0.71))
    for name, angle in kido.models.start_positions("arm7").items():
        arm.dof(name).position = angle
    return arm


def make(skeleton=None):
    robot = our_manipulator() if skeleton is None else skeleton
    slide = next((j for j in robot.joints if isinstance(j, kido.PrismaticJoint | kido.TranslationalJoint)), None)
    if slide is None:
        raise ModelError(f"skeleton {robot.name!r} has no joint that slides, for its base")
    base, hand = slide.child, robot.bodies[-1]
    slide.actuator_type = "acceleration"
    for joint in robot.joints:
        joint.enforce_command_limits = False  # forces are those of the formulas
    pose, began = robot.positions, base.world_transform[0, 3]

    def reach():
        return hand.world_transform[:3, 3] - base.world_transform[:3, 3]

    held = reach()
    world = kido.World("hybrid", time_step=1e-3)
    world.add_skeleton(robot)
    scaled = world.add_controller(ScaledPD(robot, lambda: pose, KP, KD))
    known = ComputedTorque(robot, pose, KP, KD)
    demo = Demo(world, duration=8.0, camera=((1.5, -1.9, 1.2), (0, 0, 0.25)))

    def drive(_):
        since = world.time + 0.5 * world.time_step - BEGIN - EVERY * np.arange(len(ACCELERATIONS))
        acts = (since > 0.0) & (since < LONG)
        slide.dofs[0].command = float(ACCELERATIONS @ acts)

    world.add_step_callback(drive, before=True)

    @demo.key("C", "Computed torque, or PD")
    def other_law():
        now = world.controllers[0]
        world.remove_controller(now)
        world.add_controller(known if now is scaled else scaled)

    for key, (where, force) in {"1": ("to one side", (0, 100, 0)), "2": ("to the other", (0, -100, 0))}.items():

        @demo.key(key, f"Push the hand {where}")
        def push(force=force):
            demo.push(hand, force, 0.1)

    @demo.number("forces")
    def law():
        return "PD" if world.controllers[0] is scaled else "computed torque"

    @demo.number("base off its path by [m]")
    def off():
        return abs(float(base.world_transform[0, 3] - began - path(world.time)))

    @demo.number("hand off by [mm]")
    def hand_off():
        return 1e3 * float(np.linalg.norm(reach() - held))

    return demo
