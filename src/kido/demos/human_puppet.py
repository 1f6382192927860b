"""A person is a puppet: feet, hands and head follow targets that dance, or that you drag.

A port of DART's puppets, on our own humanoid. Feet come first (priority 0), then hands, then the place of the head:
what a level asks for is done in the null space of those above, so that the head comes as near as feet and hands leave
it. While the puppet dances its targets move along circles; key F stops them, and every target can be dragged and
turned on the page.
"""

import numpy as np

import kido
from kido.demos.demo import Demo
from kido.ik import CompositeIK, DifferentialSolver, InverseKinematics, TaskSpaceRegion

STANCE = {"hip_pitch": -0.6, "knee": 1.0, "ankle_pitch": -0.4, "shoulder_pitch": -0.6, "elbow": -1.2}
LEVELS = {"left_foot": 0, "right_foot": 0, "left_hand": 1, "right_hand": 1, "head": 2}
CIRCLES = {"left_hand": (0.08, 1.0), "right_hand": (0.08, 1.0), "head": (0.02, 1.0)}  # radius [m], turns in 2 s


def make():
    human = kido.load("humanoid")
    for side in ("left", "right"):
        for joint, angle in STANCE.items():
            human.dof(f"{side}_{joint}").position = angle
    return puppet(human, [(human.body(name), level) for name, level in LEVELS.items()], CIRCLES)


def puppet(robot, nodes, circles, half_spaces=()):
    """Targets for bodies or nodes at their levels, where they are now; some of them dance."""
    whole = CompositeIK(robot)
    whole.solver = DifferentialSolver(max_iterations=40, nudges=0, restarts=0, half_spaces=half_spaces)  # a frame's
    for node, level in nodes:
        turns = np.inf if level > 1 else 1e-8  # only levels 0 and 1 ask how a body is turned
        region = TaskSpaceRegion(turns, 1e-8)
        whole.add(InverseKinematics(node, dofs="body", error_method=region)).priority = level
    targets = {module.node.name: module.target for module in whole.modules}
    home = {name: target.world_transform for name, target in targets.items()}
    demo = Demo(robot, duration=4.0)
    dances, result = True, whole.solve_and_apply(allow_incomplete_result=True)

    @demo.key("F", "Dance, or stop and follow your hand")
    def dance_or_stop():
        nonlocal dances
        dances = not dances

    @demo.key("G", "Targets back to where they were")
    def go_home():
        nonlocal dances
        dances = False
        for name, target in targets.items():
            target.world_transform = home[name]

    @demo.every_frame
    def follow(time):
        nonlocal result
        for name, (radius, turns) in circles.items() if dances else ():
            place, phase = home[name].copy(), np.pi * turns * time
            place[1:3, 3] += radius * np.array([np.cos(phase) - 1.0, np.sin(phase)])
            targets[name].world_transform = place
        result = whole.solve_and_apply(allow_incomplete_result=True)

    @demo.on_page
    def draggable(viewer):
        viewer.add_targets(whole)

    @demo.number("targets reached")
    def reached():
        off = [float(np.abs(error).max()) for _, error in result.errors]
        return f"{sum(e < 1e-3 for e in off)} of {len(off)}, the worst off by {max(off):.1e} m or rad"

    return demo
