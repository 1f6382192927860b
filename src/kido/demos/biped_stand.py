"""A person stands on two feet and takes pushes at the chest, by springs in the joints and feedback at the ankles.

A port of DART's example `biped_stand`. Joints are held by PD laws towards a pose with bent knees (position actuators:
implicit, so that they are stable at any gain); the ankles lean against what the centre of mass does: their targets
move by k d + c d', where d is how far it is from the middle of the feet. The reach of this strategy is that of the
feet: what moves the centre of mass too fast for them throws the person over.
"""

import numpy as np

import kido
from kido.demos.demo import Demo

POSE = {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3}
GAINS = {"hip": 800.0, "knee": 800.0, "ankle": 600.0}  # [N m/rad]; others 200
PULL, BRAKE = 1.2, 0.35  # k [rad/m] and c [rad s/m]
PUSHES = {"1": ("forwards", (120, 0, 0)), "2": ("backwards", (-120, 0, 0)), "3": ("to the left", (0, 160, 0)),
          "4": ("to the right", (0, -160, 0))}  # fmt: skip


def standing_person(world):
    """Our humanoid in the world, in a pose with bent knees, its joints held there by position actuators."""
    human = kido.load("humanoid")
    for side in ("left", "right"):
        for joint, angle in POSE.items():
            human.dof(f"{side}_{joint}").position = angle
    root, soles = human.joint("root"), [human.body(f"{side}_foot").shape(0) for side in ("left", "right")]
    world.add_skeleton(human)
    lowest = min(sole.world_transform[2, 3] - sole.shape.support(np.array([0.0, 0.0, 1.0])) for sole in soles)
    root.positions = root.positions - [0, 0, 0, 0, 0, lowest]
    for joint in human.joints:
        if joint is not root:
            stiffness = next((k for part, k in GAINS.items() if part in joint.name), 200.0)
            joint.position_gain, joint.velocity_gain = stiffness, 0.1 * stiffness
            joint.actuator_type = "position"
            joint.commands = joint.positions
    return human


def balance(world, human):
    """Feedback at the ankles before every step; returns how far the centre of mass is from the middle of the feet."""
    feet = [human.body(f"{side}_foot") for side in ("left", "right")]
    pitch = [human.dof(f"{side}_ankle_pitch") for side in ("left", "right")]
    roll = [human.dof(f"{side}_ankle_roll") for side in ("left", "right")]

    def offset():
        middle = np.mean([foot.shape(0).world_transform[:2, 3] for foot in feet], axis=0)
        return human.com[:2] - middle

    def lean(_):
        d, rate = offset(), human.com_velocity()[:2]
        turn = PULL * d + BRAKE * rate
        for k in range(2):
            pitch[k].command = POSE["ankle_pitch"] + turn[0]
            roll[k].command = -turn[1]

    world.add_step_callback(lean, before=True)
    return offset


def make():
    world = kido.World("biped_stand", time_step=1e-3)
    world.add_ground(friction=1.0)
    human = standing_person(world)
    offset = balance(world, human)
    chest, feet = human.body("chest"), [human.body(f"{side}_foot").world_transform for side in ("left", "right")]
    demo = Demo(world, duration=6.0)

    for key, (where, force) in PUSHES.items():

        @demo.key(key, f"Push {where}, {0.1 * max(map(abs, force)):g} N s")
        def push(force=force):
            demo.push(chest, force, 0.1)

    @demo.number("centre of mass off the feet's middle [mm]")
    def off():
        return 1e3 * float(np.linalg.norm(offset()))

    @demo.number("feet have slipped by [mm]")
    def slipped():
        now = [human.body(f"{side}_foot").world_transform for side in ("left", "right")]
        return 1e3 * float(np.abs(np.subtract(now, feet)[:, :3, 3]).max())

    @demo.number("height of the head [m]")
    def head():
        return float(human.body("head").world_transform[2, 3])

    return demo
