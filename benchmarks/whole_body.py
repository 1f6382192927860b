"""Whole bodies: solves of a hierarchy of tasks from Python, by compiled code and by the equal solver in Python.

    python -m benchmarks.whole_body [--rounds 20]

Talos and KIDO's humanoid stand on both feet (level 0), keep their balance (1), and squat, reach with both hands, or
reach for what is out of their reach (2). Each solve begins at the same pose; the best round counts.
"""

from __future__ import annotations

import argparse

import numpy as np

import kido
from benchmarks.robots import CASES
from benchmarks.timing import interleaved, machine, table
from kido.ik import (
    BalanceError,
    CompositeIK,
    InverseKinematics,
    LevenbergMarquardt,
    PlaneError,
    PositionError,
    PrioritizedSolver,
)

SOLE = np.array([[0.1, 0.04, 0.0], [0.1, -0.04, 0.0], [-0.06, -0.04, 0.0], [-0.06, 0.04, 0.0]])  # within the shoes
MARGIN = 0.01  # [m]
MOVES = {
    "squat": ("pelvis", (0.0, 0.0, -0.2)),
    "reach": ("hands", (0.25, 0.0, -0.3)),
    "out of reach": ("hands", (3.0, 0.0, 0.0)),
}


def humanoids() -> dict[str, tuple[kido.Skeleton, list, list]]:
    """Robots with bent knees and elbows, their soles and hands."""
    texts = {robot.name: robot.urdf() for robot in CASES}
    talos, own = kido.load(texts["talos"]), kido.load(kido.models.path("humanoid"))
    talos_bent = {"leg_{}_3_joint": -0.3, "leg_{}_4_joint": 0.6, "leg_{}_5_joint": -0.3, "arm_{}_4_joint": -1.2}
    own_bent = {"{}_hip_pitch": -0.3, "{}_knee": 0.6, "{}_ankle_pitch": -0.3, "{}_elbow": -1.0}
    found = {}
    for name, robot, bent, foot, hand, offset in (
        ("Talos", talos, talos_bent, "{}_sole_link", "gripper_{}_base_link", (0.0, 0.0, 0.0)),
        ("humanoid", own, own_bent, "{}_foot", "{}_hand", (0.02, 0.0, -0.05)),
    ):
        soles, hands = [], []
        for side in ("left", "right"):
            for joint, angle in bent.items():
                robot.dof(joint.format(side)).position = angle
            soles.append(robot.body(foot.format(side)).create_node(kido.EndEffector, f"{side} sole", offset))
            soles[-1].create(kido.Support, SOLE, active=True)
            hands.append(robot.body(hand.format(side)))
        found[name] = robot, soles, hands
    return found


def tasks_of(robot: kido.Skeleton, soles: list, hands: list, moved: str, move: tuple) -> list[InverseKinematics]:
    """Tasks for feet, balance, and what is moved."""
    root = robot.dofs[0].joint.child
    modules = [InverseKinematics(sole, dofs="body") for sole in soles]
    modules.append(InverseKinematics(root, "all", BalanceError(MARGIN)))
    for node in [root] if moved == "pelvis" else hands:
        method = PlaneError() if moved == "pelvis" else PositionError()
        modules.append(ik := InverseKinematics(node, "body", method))
        ik.target.relative_translation = node.world_transform[:3, 3] + move
    for level, ik in zip((0, 0, 1, 2, 2), modules):
        ik.priority, ik.gradient_method = level, LevenbergMarquardt()
    return modules


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    print(machine())
    rows = []
    for name, (robot, soles, hands) in humanoids().items():
        for what, (moved, move) in MOVES.items():
            tasks = tasks_of(robot, soles, hands, moved, move)
            quick, slow = CompositeIK(robot, tasks), CompositeIK(robot, tasks)
            slow.solver = PrioritizedSolver(compiled=False)
            results = {"compiled": quick.find_solution(), "Python": slow.find_solution()}
            times = interleaved({"compiled": quick.find_solution, "Python": slow.find_solution}, options.rounds, 10.0)
            for program, result in results.items():
                milliseconds = 1e3 * times[program]
                each = milliseconds / max(result.iterations, 1)
                rows.append(
                    [name, what, program, f"{milliseconds:.2f}", str(result.iterations), f"{each:.3f}"]
                    + [f"{max(np.abs(e).max() for _, e in result.errors[:3]):.1e}", f"{result.residual:.3g}"]
                )
    header = ["robot", "task", "solver", "ms", "iterations", "ms an iteration", "feet, balance", "largest error"]
    print(table(header, rows))


if __name__ == "__main__":
    main()
