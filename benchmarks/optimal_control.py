"""Prices of optimal control and of identification: a reach, a hop with impacts, and parameters that bodies can have.

    python -m benchmarks.optimal_control

Every number is the best of interleaved rounds; an iteration is a whole solve over its number of iterations.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import kido
from benchmarks.timing import interleaved, machine, table
from kido.identification import DynamicParameters, base_parameters, exciting_motion, identify
from kido.optimal_control import ControlProblem, DdpSolver, ShootingSolver

ROUNDS = 15
TESTS = Path(__file__).parents[1] / "tests/optimal_control"


def iteration(solver: ShootingSolver, make: Callable[[], ControlProblem], rounds: int = ROUNDS) -> tuple[int, float]:
    """Iterations of a solve, and seconds for each."""
    problem = make()
    evaluator = problem.evaluator()
    found = solver.run(evaluator, problem.initial)
    best = interleaved({"solve": lambda: solver.run(evaluator, problem.initial)}, rounds)["solve"]
    return found.iterations, best / found.iterations


def physical(samples: int = 1000) -> tuple[float, int]:
    """Seconds of `Identification.physical` for seven links with friction, and iterations of the last solver."""
    arm = kido.load("arm7")
    parameters = DynamicParameters(arm, friction=True)
    motion = exciting_motion(parameters, period=10.0, harmonics=5, acceleration_limit=4.0, trials=60).motion
    q, u, udot = motion.at(np.linspace(0.0, 10.0, samples))
    truth = parameters.values() * 1.1
    truth[70:] = np.tile([0.8, 0.2], 7)
    noise = 0.3 * np.random.default_rng(0).normal(size=q.shape)
    forces = parameters.regressor(q, u, udot) @ truth + noise
    result = identify(parameters, q, u, udot, forces, base=base_parameters(parameters))
    times = []
    for _ in range(5):
        begin = perf_counter()
        found = result.physical()
        times.append(perf_counter() - begin)
    return min(times), found.solution.iterations


def main() -> None:
    print(machine())
    reach: Any = runpy.run_path(str(TESTS / "test_optimal_control.py"))["reach"]
    hop: Any = runpy.run_path(str(TESTS / "test_contacts.py"))["hop"]
    rows = []
    for name, make, solvers, rounds in (
        ("reach of 7 joints, 100 nodes", lambda: reach()[0], (ShootingSolver(), DdpSolver()), ROUNDS),
        ("hop of a quadruped, 18 coordinates, 100 nodes", lambda: hop()[0], (DdpSolver(),), 5),
    ):
        for solver in solvers:
            count, seconds = iteration(solver, make, rounds)
            rows.append([name, solver.name, str(count), f"{1e3 * seconds:.2f}", f"{1e3 * seconds * count:.0f}"])
    print("\n" + table(["problem", "solver", "iterations", "ms each", "ms in all"], rows))
    seconds, count = physical()
    print(f"\nParameters of 7 links with friction that bodies can have: {seconds:.3f} s ({count} steps left to SQP)")


if __name__ == "__main__":
    main()
