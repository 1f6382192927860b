"""Inverse kinematics of arms: random reachable targets, how many are met, how long it takes, and how exactly.

    python -m benchmarks.inverse_kinematics [--targets 10000] [--peers 1000] [--arm Panda]

Every program begins at the middle of the joints' ranges and gets the same targets: poses at positions drawn evenly
within limits (a turn where there are none). What it returns is judged by one forward kinematics: met is within 1e-6 m
and 1e-6 rad, and within limits.

dartpy runs its default (a task space region, here of 5e-7 by component, damped least squares, gradient descent of 100
iterations) without and with ten attempts; pink and mink step with gain 1, limits of positions, and daqp, until the
error is below 1e-7 or for 100 steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np

from benchmarks.arms import TIP, arms
from benchmarks.timing import machine, table

TOLERANCE = 1e-6  # [m] and [rad]
STEPS = 100
TOGETHER = 500  # targets of a call of a batch
ROUNDS = 3  # of KIDO's calls, which take microseconds; the others' take milliseconds and are made once
Solve = Callable[[np.ndarray], np.ndarray]


class Judge:
    """An arm in KIDO: its targets, and how far positions are from them."""

    def __init__(self, urdf: str):
        from kido.io import urdf as reader

        self.skeleton = reader.read(urdf)
        self.tip = self.skeleton.body(TIP)
        self.names = [dof.name for dof in self.skeleton.dofs]
        limits = np.array([(d.position_lower_limit, d.position_upper_limit) for d in self.skeleton.dofs])
        self.lower, self.upper = limits.T
        low, high = np.maximum(self.lower, -2 * np.pi), np.minimum(self.upper, 2 * np.pi)
        self.middle = 0.5 * (low + high)
        self.low, self.high = low, high

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Pose of the tip at positions q."""
        return self.skeleton.forward_kinematics(q)[self.tip.index]

    def targets(self, count: int) -> np.ndarray:
        """Poses at random positions (count, 4, 4)."""
        rng = np.random.default_rng(0)
        return np.array([self.pose(q) for q in rng.uniform(self.low, self.high, (count, len(self.low)))])

    def error(self, q: np.ndarray, target: np.ndarray) -> float:
        """The larger of distance [m] and angle [rad]; infinite outside limits."""
        if not (np.isfinite(q).all() and (q >= self.lower - 1e-9).all() and (q <= self.upper + 1e-9).all()):
            return np.inf
        X = np.linalg.inv(target) @ self.pose(q)
        sine = 0.5 * np.linalg.norm([X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1]])
        return float(max(np.linalg.norm(X[:3, 3]), np.arctan2(sine, 0.5 * (np.trace(X[:3, :3]) - 1.0))))


def kido_solver(judge: Judge, urdf: str) -> Solve:
    """The public call for one target."""
    from kido.ik import IkSolver

    judge.skeleton.positions = judge.middle
    solver = IkSolver(judge.tip)
    return lambda X: solver.solve(X).positions


def dartpy_solver(judge: Judge, urdf: str, attempts: int) -> Solve:
    """dartpy's default inverse kinematics of a body."""
    import dartpy as dart

    skeleton = dart.utils.DartLoader().parseSkeletonString(urdf, "")
    names = [skeleton.getDof(k).getName() for k in range(skeleton.getNumDofs())]
    order = [names.index(name) for name in judge.names]
    middle = np.zeros(len(names))
    middle[order] = judge.middle
    ik = skeleton.getBodyNode(TIP).getIK(True)
    ik.useWholeBody()
    half = np.full(3, 0.5 * TOLERANCE)  # of each component, so that lengths are within the tolerance too
    ik.getErrorMethod().setLinearBounds(-half, half)
    ik.getErrorMethod().setAngularBounds(-half, half)
    solver = ik.getSolver()
    solver.setNumMaxIterations(STEPS)
    solver.setMaxAttempts(attempts)

    def solve(X: np.ndarray) -> np.ndarray:
        skeleton.setPositions(middle)
        isometry = dart.math.Isometry3()
        isometry.set_matrix(X)
        ik.getTarget().setTransform(isometry)
        ik.solveAndApply(True)
        return skeleton.getPositions()[order]

    return solve


def pink_solver(judge: Judge, urdf: str) -> Solve:
    """pink's differential steps until the error is small."""
    import pink
    import pinocchio as pin
    from pink.limits import ConfigurationLimit

    model = pin.buildModelFromXML(urdf)
    data = model.createData()
    order = [model.names.tolist().index(name) - 1 for name in judge.names]
    middle = np.zeros(model.nq)
    middle[order] = judge.middle
    task = pink.FrameTask(TIP, position_cost=1.0, orientation_cost=1.0, lm_damping=0.0, gain=1.0)
    limits = [ConfigurationLimit(model)]

    def solve(X: np.ndarray) -> np.ndarray:
        configuration = pink.Configuration(model, data, middle)
        task.set_target(pin.SE3(X))
        for _ in range(STEPS):
            if np.abs(task.compute_error(configuration)).max() < 0.1 * TOLERANCE:
                break
            velocity = pink.solve_ik(configuration, [task], 1.0, "daqp", damping=1e-9, limits=limits)
            configuration.integrate_inplace(velocity, 1.0)
        return configuration.q[order]

    return solve


def mink_solver(judge: Judge, urdf: str) -> Solve:
    """mink's differential steps until the error is small."""
    import mink
    import mujoco

    mended = (
        '<mujoco><compiler fusestatic="false" balanceinertia="true" boundmass="1e-9" boundinertia="1e-12"/></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(urdf.replace("</robot>", f"{mended}</robot>"))
    names = [model.joint(k).name for k in range(model.njnt)]
    order = [names.index(name) for name in judge.names]
    middle = np.zeros(model.nq)
    middle[order] = judge.middle
    task = mink.FrameTask(TIP, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=0.0)
    limits = [mink.ConfigurationLimit(model)]

    def solve(X: np.ndarray) -> np.ndarray:
        configuration = mink.Configuration(model, middle)
        task.set_target(mink.SE3.from_matrix(X))
        for _ in range(STEPS):
            if np.abs(task.compute_error(configuration)).max() < 0.1 * TOLERANCE:
                break
            velocity = mink.solve_ik(configuration, [task], 1.0, "daqp", damping=1e-9, limits=limits)
            configuration.integrate_inplace(velocity, 1.0)
        return configuration.q[order]

    return solve


PEERS: dict[str, Callable[[Judge, str], Solve]] = {
    "dartpy": lambda judge, urdf: dartpy_solver(judge, urdf, 1),
    "dartpy, 10 attempts": lambda judge, urdf: dartpy_solver(judge, urdf, 10),
    "pink": pink_solver,
    "mink": mink_solver,
}


def measured(judge: Judge, solve: Solve, targets: np.ndarray, rounds: int = 1) -> list[str]:
    """A row's cells: success, median and 99th percentile of the time, worst error among what was met.

    The time of a target is the best of so many rounds: a call of microseconds may meet a moment without the processor.
    """
    times, found = np.full(len(targets), np.inf), []
    solve(targets[0])
    for _ in range(rounds):
        found = []
        for k, X in enumerate(targets):
            start = perf_counter()
            try:
                q = solve(X)
            except Exception:  # a program that gives up on a target has not met it
                q = np.full(len(judge.low), np.nan)
            times[k] = min(times[k], perf_counter() - start)
            found.append(q)
    errors = np.array([judge.error(q, X) for q, X in zip(found, targets, strict=True)])
    met = errors <= TOLERANCE
    worst = f"{errors[met].max():.1e}" if met.any() else "-"
    median, late = 1e3 * np.percentile(times, [50, 99])
    return [f"{100.0 * met.mean():.2f} %", f"{median:.3f}", f"{late:.3f}", worst]


def batch_row(judge: Judge, targets: np.ndarray, threads: int) -> list[str]:
    """The same by calls for `TOGETHER` targets at once; the time is a call's by target, the mean over calls.

    With one thread it is the processor's time, so that other programs on the machine do not count.
    """
    from kido.ik import IkSolver

    judge.skeleton.positions = judge.middle
    solver = IkSolver(judge.tip)
    solver.solve_batch(targets[:200], threads=threads)
    parts = [targets[k : k + TOGETHER] for k in range(0, len(targets), TOGETHER)]
    clock = process_time if threads == 1 else perf_counter
    times, found = np.full(len(parts), np.inf), []
    for _ in range(ROUNDS):
        found = []
        for k, part in enumerate(parts):
            start = clock()
            found.append(solver.solve_batch(part, threads=threads).positions)
            times[k] = min(times[k], clock() - start)
    errors = np.array([judge.error(q, X) for q, X in zip(np.concatenate(found), targets, strict=True)])
    met = errors <= TOLERANCE
    each = 1e3 * times.sum() / len(targets)
    return [f"{100.0 * met.mean():.2f} %", f"{each:.4f} (mean)", "", f"{errors[met].max():.1e}"]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--targets", type=int, default=10_000)
    parser.add_argument("--peers", type=int, default=1000)
    parser.add_argument("--arm")
    options = parser.parse_args()
    print(machine())
    header = ["arm", "program", "targets", "met", "median ms", "99 % ms", "worst error met"]
    rows = []
    for name, urdf in arms().items():
        if options.arm and options.arm.lower() not in name.lower():
            continue
        judge = Judge(urdf)
        targets = judge.targets(max(options.targets, options.peers))
        few = targets[: options.peers]
        rows.append([name, "KIDO", str(options.targets), *measured(judge, kido_solver(judge, urdf), targets, ROUNDS)])
        for threads in (1, 2):
            label = "KIDO, batch, 1 thread, CPU time" if threads == 1 else f"KIDO, batch, {threads} threads"
            rows.append([name, label, str(options.targets), *batch_row(judge, targets, threads)])
        if options.peers:
            rows.append([name, "KIDO", str(len(few)), *measured(judge, kido_solver(judge, urdf), few, ROUNDS)])
        for peer, make in PEERS.items() if options.peers else ():
            rows.append([name, peer, str(len(few)), *measured(judge, make(judge, urdf), few)])
        print(f"{name} done", flush=True)
    print(table(header, rows))


if __name__ == "__main__":
    main()
