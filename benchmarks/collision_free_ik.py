"""Inverse kinematics free of collisions: targets a second and core, beside the same without regard to collisions.

    python -m benchmarks.collision_free_ik [--targets 4000]

Panda and UR5 of example-robot-data among boxes of 5 to 20 cm about their base. Targets are poses at random free states.
"""

from __future__ import annotations

import argparse
from time import thread_time

import numpy as np

import kido
from benchmarks.robots import ROBOTS
from benchmarks.timing import machine, table
from kido.batch import Batch
from kido.planning import CollisionChecker, Environment

FILES = {"Panda": "panda_description/urdf/panda.urdf", "UR5": "ur_description/urdf/ur5_robot.urdf"}
TIPS = {"Panda": "panda_hand_tcp", "UR5": "tool0"}
RUNS = 3


def boxes(count: int) -> Environment:
    """Boxes about a base, none within 0.3 m of its axis."""
    rng, made = np.random.default_rng(0), Environment()
    while len(made) < count:
        place, size = rng.uniform([-0.8, -0.8, 0.0], [0.8, 0.8, 1.0]), rng.uniform(0.05, 0.2, 3)
        if np.hypot(*place[:2]) >= 0.3:
            made.add(f"box{len(made)}", kido.Box(tuple(size)), place)
    return made


def measured(name: str, count: int, exact: bool, targets: int) -> list[str]:
    """A row: met, free at once, and microseconds a target of the plain and of the collision-free solver."""
    robot = kido.load_skeleton(ROBOTS / FILES[name])
    dofs = [dof.name for dof in robot.dofs if "finger" not in dof.name]
    checker = CollisionChecker(robot, boxes(count), dofs, tolerance=0.02, max_spheres=16, exact=exact)
    low, high = np.maximum(checker.limits[0], -np.pi), np.minimum(checker.limits[1], np.pi)
    states = np.random.default_rng(1).uniform(low, high, (20 * targets, len(dofs)))
    q = np.tile(checker.held_positions, (targets, 1))
    q[:, checker.columns] = states[checker.states_are_free(states)][:targets]
    X = np.ascontiguousarray(Batch(robot, threads=1).forward_kinematics(q)[:, robot.body(TIPS[name]).index])
    start = checker.held_positions
    start[checker.columns] = 0.5 * (low + high)
    row = [name, str(count), "shapes" if exact else "spheres"]
    for avoid in (None, checker):
        solver = kido.IkSolver(robot.body(TIPS[name]), dofs, avoid=avoid)
        found, least = solver.solve_batch(X, start, threads=1), np.inf
        for _ in range(RUNS):
            began = thread_time()
            found = solver.solve_batch(X, start, threads=1)
            least = min(least, thread_time() - began)
        free = found.success & checker.states_are_free(np.array(found.positions)[:, checker.columns])
        row += [f"{free.mean():.2%}", f"{least / targets * 1e6:.1f}", f"{targets / least:,.0f}"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=4000)
    options = parser.parse_args()
    print(machine())
    rows = [measured(*case, options.targets) for case in (
        ("Panda", 10, False), ("Panda", 20, False), ("Panda", 60, False), ("Panda", 20, True), ("UR5", 20, False),
    )]  # fmt: skip
    columns = ["arm", "boxes", "decided by", "plain: free", "us", "targets/s", "avoiding: free", "us", "targets/s"]
    print(table(columns, rows))


if __name__ == "__main__":
    main()
