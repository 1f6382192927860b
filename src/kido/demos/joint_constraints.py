"""A person in a harness: a constraint welds the pelvis to the world, and lets it go again.

A port of DART's example `joint_constraints`. In the harness no push moves the pelvis: the weld takes whatever wrench
that needs, and its force is told. It may also be a spring, or a ball joint about which the body turns. Let go, the
person stands by the balance of `biped_stand`.
"""

import numpy as np

import kido
from kido.demos.biped_stand import PUSHES, balance, standing_person
from kido.demos.demo import Demo

HARNESSES = {
    "F": ("rigid", lambda pelvis: kido.WeldJointConstraint(pelvis, name="weld")),
    "B": ("a ball joint", lambda pelvis: kido.BallJointConstraint(pelvis, name="ball")),
    "L": ("elastic", lambda pelvis: kido.WeldJointConstraint(pelvis, name="elastic", stiffness=3e3, damping=300.0)),
}


def make():
    world = kido.World("joint_constraints", time_step=1e-3)
    world.add_ground(friction=1.0)
    human = standing_person(world)
    balance(world, human)
    pelvis, chest = human.body("pelvis"), human.body("chest")
    demo = Demo(world, duration=6.0)
    worn, place = [], np.eye(4)  # the harness, if any, and where it was put on

    @demo.key("X", "Take the harness off")
    def take_off():
        while worn:
            world.remove_constraint(worn.pop())

    for key, (what, constraint) in HARNESSES.items():

        @demo.key(key, f"Put the harness on: {what}")
        def put_on(constraint=constraint):
            take_off()
            place[:] = pelvis.world_transform
            worn.append(world.add_constraint(constraint(pelvis)))

    for key, (where, force) in PUSHES.items():

        @demo.key(key, f"Push {where}, {0.1 * max(map(abs, force)):g} N s")
        def push(force=force):
            demo.push(chest, force, 0.1)

    @demo.number("harness")
    def which():
        return worn[0].name if worn else "off"

    @demo.number("force of the harness [N]")
    def harness_force():
        return float(np.linalg.norm(worn[0].wrench()[3:])) if worn else 0.0

    @demo.number("pelvis has moved by [mm]")
    def moved():
        return 1e3 * float(np.linalg.norm((pelvis.world_transform - place)[:3, 3])) if worn else "free"

    demo.press("F")
    return demo
