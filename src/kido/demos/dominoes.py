"""An arm pushes the first of a row of dominoes; all of them fall.

A port of DART's tutorial `dominoes`, manipulator and all. The hand follows a path by inverse kinematics; the arm is
held to it by computed torque, a PD law inside of inverse dynamics, at 1 kHz.
"""

from types import SimpleNamespace

import numpy as np

import kido
from kido.control import ComputedTorque
from kido.demos.demo import FPS, Demo

COUNT, KP, KD = 20, 400.0, 40.0  # [], [1/s^2], [1/s]
BEHIND, THROUGH, HEIGHT = 0.1, 0.12, 0.2  # [m] where the hand waits, how far it goes, how high its wrist is
SECONDS = 1.0  # of a push


def make():
    world = kido.models.dominoes(COUNT)
    dominoes = [world.skeleton(f"domino_{k}") for k in range(COUNT)]
    dominoes[0].velocities = np.zeros(6)  # the scene's first one tips over by itself
    arm = kido.load("arm7")
    arm.root_bodies[0].parent_joint.transform_from_parent = (-0.6, 0.0, 0.0)
    world.add_skeleton(arm)
    hand = arm.body("hand")
    demo = Demo(world, duration=4.0, camera=((0.6, -1.9, 1.1), (0.35, 0.15, 0.15)))

    target = np.diag([1.0, -1.0, -1.0, 1.0])  # fingers down
    target[:3, 3] = -BEHIND, 0.0, HEIGHT
    for name, angle in kido.models.start_positions("arm7").items():
        arm.joint(name).positions = [angle]
    arm.positions = goal = ahead = kido.ik.solve(hand, target).positions
    began, place, rate, since = None, target.copy(), 0.0 * goal, 0.0

    moving = SimpleNamespace(  # between frames, along a line
        positions=lambda t: goal + rate * (t - since), velocities=lambda t: rate, accelerations=lambda t: 0.0 * rate
    )
    hold = ComputedTorque(arm, moving, KP, KD)
    world.add_controller(hold)

    @demo.key("1", "Push")
    def push():
        nonlocal began
        began = world.time

    @demo.slider("Stiffness [1/s^2]", 0.0, 1000.0, value=KP)
    def stiffness(value):
        hold.kp = value

    @demo.every_frame
    def follow(time):
        nonlocal goal, ahead, rate, since
        moment = time + 1 / FPS
        share = 0.0 if began is None or moment < began else min(1.0, (moment - began) / SECONDS)
        place[0, 3] = target[0, 3] + THROUGH * np.sin(np.pi * share) ** 2  # there and back
        goal, ahead = ahead, kido.ik.solve(hand, place, start=ahead).positions
        rate, since = (ahead - goal) * FPS, time

    @demo.number("dominoes down")
    def down():
        return f"{sum(d.body(0).world_transform[2, 2] < 0.5 for d in dominoes)} of {COUNT}"

    @demo.number("hand is off by [mm]")
    def off():
        return 1e3 * float(np.linalg.norm(hand.world_transform[:3, 3] - place[:3, 3]))

    demo.press("1")
    return demo
