"""Steps of worlds that hold loops: by aggregates (CE), by elimination (TA), without loops; MuJoCo's equalities beside.

    python -m benchmarks.closed_worlds [--rounds 500]

A quadruped whose legs are five-bar linkages (`tests/closed_legs.py`), in the air and standing under PD control of its
hips, which are springs and dampers of joints in both programs; and Cassie (`cassie_v2.sdf` of example-robot-data, four
ball loops, no position limits) falling through the air in motion. Loops are ball constraints, three rows each. Every
timed call begins in the same motion, one step after its state was set, and does the same number of steps of 1 ms; times
are medians, and minima, of interleaved rounds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import kido
from benchmarks.closed_chains import mujoco_model
from benchmarks.robots import ROBOTS
from benchmarks.timing import machine, ratio, rounds, table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import closed_legs

STEPS = 50  # of a call: about 1 ms, so that most calls are not interrupted
TIME_STEP = 1e-3
SECONDS = 30.0  # for the rounds of one row of the table


@dataclass
class Case:
    """A robot in its starting state.

    Attributes:
        name: of the row.
        make: the robot and the constraints of its loops.
        ground: whether it stands on one.
    """

    name: str
    make: Callable[[], tuple[kido.Skeleton, list[Any]]]
    ground: bool = False


def quadruped(moving: bool) -> tuple[kido.Skeleton, list[Any]]:
    """The quadruped under PD control, its trunk without a shape; with velocities that keep its loops closed."""
    robot, loops = closed_legs.quadruped(loop="ball", feet="" if moving else "sphere")
    for node in list(robot.body("trunk").shapes):  # only feet touch
        robot.body("trunk").remove_shape(node)
    closed_legs.held_by_springs(robot)
    if moving:
        u = np.random.default_rng(0).normal(size=robot.num_dofs)
        robot.velocities = kido.ConstrainedDynamics(robot, loops).project_velocities(u=u)
    return robot, loops


def cassie() -> tuple[kido.Skeleton, list[Any]]:
    """Cassie as it stands in its file, in motion, without limits: four of its joints start beyond theirs."""
    read: Any = kido.load(next(ROBOTS.rglob("cassie_v2.sdf")))
    robot = (read.skeletons[0] if isinstance(read, kido.World) else read).clone()
    for joint in robot.joints:
        if joint.num_dofs:
            joint.position_lower_limit, joint.position_upper_limit = -np.inf, np.inf
    for body in robot.bodies:
        for node in list(body.shapes):
            body.remove_shape(node)
    dynamics = kido.ConstrainedDynamics(robot)
    u = 0.3 * np.random.default_rng(0).normal(size=robot.num_dofs)
    robot.velocities = dynamics.project_velocities(u=u)
    return robot, list(dynamics.system.constraints)


CASES = (
    Case("quadruped in the air", lambda: quadruped(True)),
    Case("quadruped, standing", lambda: quadruped(False), ground=True),
    Case("Cassie in the air", cassie),
)


class OfKido:
    """A world with a robot whose loops are held by `solver`; "": not at all."""

    def __init__(self, case: Case, solver: str):
        robot, loops = case.make()
        self.world = kido.World(time_step=TIME_STEP)
        if case.ground:
            self.world.add_ground(friction=1.0)
        self.world.add_skeleton(robot)
        robot.loops_enabled = bool(robot.loops) and bool(solver)
        if solver:
            self.world.loop_solver = solver
            if not robot.loops:
                for loop in loops:
                    self.world.add_constraint(loop)
        if case.ground:  # until it is at rest
            self.world.step(2000)
        self.robot, self.start = robot, (robot.positions, robot.velocities)

    def begin(self) -> None:
        """Set the state, and do what the first step from it does besides."""
        self.robot.positions, self.robot.velocities = self.start
        self.world.step(1)

    def __call__(self) -> None:
        self.world.step(STEPS)

    def openness(self) -> float:
        """Largest gap of a loop [m] at the end of the call."""
        return max((float(np.linalg.norm(c.error)) for c in self.world.constraints), default=np.nan)

    def depth(self) -> float:
        """Depth of the deepest contact [m]."""
        return self.world.report.max_penetration


class OfMujoco:
    """The same in MuJoCo, with its defaults but for the time step."""

    def __init__(self, case: Case):
        robot, loops = case.make()
        self.mujoco, self.model, self.data = mujoco_model(robot, loops, case.ground)
        self.model.opt.timestep = TIME_STEP
        if case.ground:
            self.mujoco.mj_step(self.model, self.data, nstep=2000)
        self.start = self.data.qpos.copy(), self.data.qvel.copy()

    def begin(self) -> None:
        """Set the state, and do a step from it."""
        self.data.qpos[:], self.data.qvel[:] = self.start
        self.mujoco.mj_step(self.model, self.data)

    def __call__(self) -> None:
        self.mujoco.mj_step(self.model, self.data, nstep=STEPS)

    def openness(self) -> float:
        """Largest gap of a loop [m] at the end of the call."""
        self.mujoco.mj_forward(self.model, self.data)
        sites = self.data.site_xpos.reshape(-1, 2, 3)
        return float(np.linalg.norm(sites[:, 0] - sites[:, 1], axis=1).max())

    def depth(self) -> float:
        """Depth of the deepest contact [m]."""
        return float(max((-c.dist for c in self.data.contact), default=0.0))


def programs(case: Case) -> dict[str, OfKido | OfMujoco]:
    """All that runs a case; without loops nothing stands."""
    found: dict[str, OfKido | OfMujoco] = {} if case.ground else {"no loops": OfKido(case, "")}
    found |= {"TA": OfKido(case, "TA"), "CE": OfKido(case, "CE")}
    try:
        found["MuJoCo"] = OfMujoco(case)
    except ImportError:
        pass
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=500)
    given = parser.parse_args()
    print(machine())
    names = ("no loops", "TA", "CE", "MuJoCo")
    rows, least, errors = [], [], []
    for case in CASES:
        found = programs(case)
        taken = rounds(found, given.rounds, SECONDS, {name: program.begin for name, program in found.items()})
        robot, loops = case.make()
        for lines, choose in ((rows, median), (least, min)):
            times = {name: choose(t) / STEPS for name, t in taken.items()}
            lines.append([
                case.name, str(robot.num_dofs), str(3 * len(loops)),
                *(f"{1e6 * times[k]:.1f}" if k in times else "-" for k in names),
                *(ratio(times.get(k), times["CE"]) for k in ("TA", "MuJoCo")),
            ])  # fmt: skip
        errors.append([
            case.name, *(f"{found[k].openness():.0e}" if k in found else "-" for k in names[1:]),
            *(f"{found[k].depth():.0e}" if case.ground and k in found else "-" for k in names[1:]),
        ])  # fmt: skip
    for what, lines in (("median of rounds", rows), ("least of rounds", least)):
        print(f"\nTime of a step [us], {what}\n")
        print(table(["scene", "coordinates", "rows", *names, "TA / CE", "MuJoCo / CE"], lines))
    print("\nLargest gap of a loop, and depth of a contact, at the end [m]\n")
    print(table(["scene", *(f"{k}: gap" for k in names[1:]), *(f"{k}: depth" for k in names[1:])], errors))


if __name__ == "__main__":
    main()
