"""Motion inverse kinematics: constraint and objective boxes over variables with bounds, for poses and motions.

feet = ConstraintBox([PositionConstraint(left_foot, place), PositionConstraint(right_foot, other_place)])
result = MotionProblem(human, constraints=feet).solve_motion()
human.positions = result.positions[0]
"""

from kido.ik.motion.boxes import ConstraintBox, ObjectiveBox
from kido.ik.motion.constraint import OrientationConstraint, PoseConstraint, Poses, PositionConstraint, TaskConstraint
from kido.ik.motion.problem import MotionProblem
from kido.ik.motion.variable import Variable

__all__ = [
    "ConstraintBox",
    "MotionProblem",
    "ObjectiveBox",
    "OrientationConstraint",
    "PoseConstraint",
    "Poses",
    "PositionConstraint",
    "TaskConstraint",
    "Variable",
]
