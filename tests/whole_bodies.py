"""Humanoids that stand on both feet, with tasks for feet, balance and hands, for tests and benchmarks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import kido
from kido.ik import BalanceError, InverseKinematics, LevenbergMarquardt, PositionError

SOLE = np.array([[0.1, 0.04, 0.0], [0.1, -0.04, 0.0], [-0.06, -0.04, 0.0], [-0.06, 0.04, 0.0]])  # within the shoes
MARGIN = 0.01  # [m]


def own_humanoid() -> kido.Skeleton:
    """Ours, with bent knees and elbows."""
    robot = kido.load(kido.models.path("humanoid"))
    for side in ("left", "right"):
        bent = {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3, "elbow": -1.0}
        for name, angle in bent.items():
            robot.dof(f"{side}_{name}").position = angle
        sole = robot.body(f"{side}_foot").create_node(kido.EndEffector, f"{side}_sole", (0.02, 0.0, -0.05))
        sole.create(kido.Support, SOLE, active=True)
        robot.body(f"{side}_hand").create_node(kido.EndEffector, f"{side}_grip")
    return robot


def talos(folder: Path) -> kido.Skeleton:
    """The robot of example-robot-data, with bent knees and elbows; its grippers do not move."""
    robot = kido.load(folder / "talos_data/robots/talos_reduced.urdf", visuals=False, collisions=False, base="free")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        bent = {"leg_{}_3": -0.3, "leg_{}_4": 0.6, "leg_{}_5": -0.3, "arm_{}_4": -1.2, "arm_{}_2": sign * 0.3}
        for name, angle in bent.items():
            robot.dof(name.format(side) + "_joint").position = angle
        sole = robot.body(f"{side}_sole_link").create_node(kido.EndEffector, f"{side}_sole")
        sole.create(kido.Support, SOLE, active=True)
        robot.body(f"wrist_{side}_ft_tool_link").create_node(kido.EndEffector, f"{side}_grip")
    return robot


def pelvis(robot: kido.Skeleton) -> kido.BodyNode:
    """The body on the free joint."""
    return robot.dofs[0].joint.child


def standing(robot: kido.Skeleton, hands: bool = True) -> dict[str, InverseKinematics]:
    """Attach tasks: both feet where they are (level 0), balance (1), and the hands' positions (2)."""
    tasks = {}
    for side in ("left", "right"):
        tasks[f"{side}_sole"] = InverseKinematics.on(robot.node(f"{side}_sole"), dofs="body")
        if hands:
            tasks[f"{side}_grip"] = InverseKinematics.on(robot.node(f"{side}_grip"), dofs="body")
            tasks[f"{side}_grip"].error_method = PositionError()
            tasks[f"{side}_grip"].priority = 2
    tasks["balance"] = robot.set(InverseKinematics(pelvis(robot), "all", BalanceError(MARGIN)))
    tasks["balance"].priority = 1
    for task in tasks.values():
        task.gradient_method = LevenbergMarquardt()
    return tasks
