"""Gradient descent brings both heels of a person to places 5 cm apart, step by step, as constraints ask.

The application of RTQL8's tutorial: a position constraint for each heel lies in an objective box, whose value is
sum of w/2 |c|^2 with w = 2, and x becomes x - alpha grad for 300 steps with alpha = 0.01. Markers are the heels and the
places. The same constraints in a constraint box must hold: a solver finds them to 1e-6 at once, bounds of the joints
kept, and stays near to the pose before. With `--skeleton FILE` it is the person of that file, whose markers LHEE and
RHEE are brought together.
"""

import numpy as np

import kido
from kido.demos.demo import Demo, ending
from kido.ik import Task
from kido.ik.motion import ConstraintBox, MotionProblem, ObjectiveBox, PositionConstraint

APART, HEEL = 0.05, (-0.06, 0.0, -0.07)  # between the heels; where they are in our feet [m]
STEPS, ALPHA, A_FRAME = 300, 0.01, 5


def our_human():
    human = kido.load("humanoid")
    for name, value in {"left_knee": 0.4, "right_knee": 0.4, "left_elbow": -0.4, "right_elbow": -0.4}.items():
        human.dof(name).position = value
    for side in ("left", "right"):
        human.body(f"{side}_foot").create_node(kido.Marker, f"{side[0].upper()}HEE", HEEL)
    return human


def make(skeleton=None):
    human = our_human() if skeleton is None else skeleton
    start = human.positions
    markers = [ending(human.nodes(kido.Marker), name) for name in ("LHEE", "RHEE")]
    middle = np.mean([marker.position for marker in markers], axis=0)
    demo = Demo(human, duration=2.0)
    places, steps, x, problem = np.zeros((2, 3)), STEPS, start, MotionProblem(human)

    def constraints():
        return [PositionConstraint(m.body, p, offset=m.offset, weight=2.0) for m, p in zip(markers, places)]

    def errors():
        return [float(np.linalg.norm(m.position - p)) for m, p in zip(markers, places)]

    @demo.key("G", "Gradient descent, from here")
    def descend():
        nonlocal steps, x, problem
        problem = MotionProblem(human, initial=human.positions, objectives=ObjectiveBox(constraints()))
        steps, x = 0, problem.initial

    @demo.key("C", "Constraint box: a solver, from here")
    def solve():
        nonlocal steps
        near = ObjectiveBox([Task.posture(human.positions, weights=0.1)])
        held = MotionProblem(human, initial=human.positions, constraints=ConstraintBox(constraints()), objectives=near)
        human.positions, steps = held.solve_motion().positions[0], STEPS

    @demo.key("B", "Back to the start")
    def back():
        nonlocal steps
        human.positions, steps = start, STEPS

    @demo.slider("Heels apart [m]", 0.0, 0.6, value=APART)
    def apart(value):
        places[:] = middle + [[0, value / 2, 0], [0, -value / 2, 0]]
        descend()

    @demo.every_frame
    def some_steps(_):
        nonlocal steps, x
        for _ in range(min(A_FRAME, STEPS - steps)):
            x = problem.retract(x, -ALPHA * problem.gradient_of(problem.objective, x))
            human.positions = problem.positions(x)[0]
            steps += 1

    @demo.on_page
    def draw(viewer):
        for marker in markers:
            viewer.add_points([(0, 0, 0)], color=(0.9, 0.2, 0.2), size=0.03, frame=marker)
        aims = viewer.add_points(places, color=(0.1, 0.6, 0.2), size=0.03)
        viewer.add_frame_callback(lambda _: aims.update(places))

    @demo.number("steps")
    def count():
        return float(steps)

    @demo.number("left, right heel off [mm]")
    def off():
        return ", ".join(f"{1e3 * e:.3g}" for e in errors())

    return demo
