"""Every optimizer on standard problems with known answers, and on inverse kinematics.

    python -m benchmarks.optimizers [--quick] [--solver SQP]

Prints Markdown tables. All solvers run with their defaults (tolerance 1e-6, stationarity 1e-6) and the same functions,
with exact derivatives; evaluations count all functions at one point once. A problem is solved if the certificate says
so and the objective is the known minimum; one without a solution, if the solver says what it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

import kido
from benchmarks.optimization_problems import STANDARD, Standard
from benchmarks.timing import machine, table
from kido.errors import ModelError
from kido.ik import InverseKinematics
from kido.ik.motion import MotionProblem, OrientationConstraint, PositionConstraint
from kido.optimization import (
    GaussNewtonSolver,
    GradientDescentSolver,
    IpoptSolver,
    NloptSolver,
    Problem,
    QpSolver,
    ScipySolver,
    Solution,
    Solver,
    SqpSolver,
)

SOLVERS: dict[str, Solver] = {
    "gradient descent": GradientDescentSolver(),
    "Gauss-Newton": GaussNewtonSolver(),
    "SQP": SqpSolver(),
    "SciPy SLSQP": ScipySolver(method="SLSQP"),
    "SciPy trust-constr": ScipySolver(method="trust-constr", max_iterations=300),
    "NLopt SLSQP": NloptSolver(),
    "Ipopt": IpoptSolver(),
    "daqp": QpSolver(),
}
Run = tuple[Solution | None, bool]  # None: the solver does not take such a problem


def run(solver: Solver, standard: Standard) -> Run:
    """One solver on one problem, and whether it did what was asked."""
    solver = solver.clone()
    solver.keep_searching = standard.global_search
    try:
        solution = solver.solve(standard.make())
    except ModelError:
        return None, False
    if standard.reason is not None:
        return solution, solution.reason is standard.reason
    near = abs(solution.objective - standard.minimum) < 2.5e-5 * max(1.0, abs(standard.minimum))
    return solution, solution.converged and near


def cell(result: Run) -> str:
    """Evaluations; or what went wrong."""
    solution, good = result
    if solution is None:
        return ""
    if good:
        return f"{solution.evaluations}"
    return solution.reason.name.lower().replace("_", " ") if not solution.converged else "other minimum"


def standard_tables(solvers: dict[str, Solver], problems: Sequence[Standard]) -> None:
    """Problems by solvers, and what each solver made of all."""
    runs = {name: [run(solver, standard) for standard in problems] for name, solver in solvers.items()}
    rows = [[p.name, *(cell(runs[name][i]) for name in solvers)] for i, p in enumerate(problems)]
    print("### Standard problems: evaluations, or why it stopped short\n")
    print(table(["problem", *solvers], rows))
    rows = []
    for name, results in runs.items():
        taken = [(s, good) for (s, good), p in zip(results, problems) if s is not None and p.reason is None]
        solved = [s for s, good in taken if good]
        named = sum(good for (s, good), p in zip(results, problems) if p.reason is not None)
        of = sum(s is not None for (s, _), p in zip(results, problems) if p.reason is not None)
        rows.append([
            name, f"{len(solved)} of {len(taken)}", f"{named} of {of}",
            f"{np.median([s.evaluations for s in solved]):.0f}",
            f"{1e3 * np.median([s.seconds for s in solved]):.1f}",
            f"{max(s.certificate.violation for s in solved):.0e}",
            f"{max(s.certificate.stationarity for s in solved):.0e}",
        ])  # fmt: skip
    print("\n### All standard problems that a solver takes\n")
    print(table(["solver", "solved", "without solution, named", "median evaluations", "median ms", "worst violation",
                 "worst stationarity"], rows))  # fmt: skip


def inverse_kinematics_table(title: str, solvers: dict[str, Solver], problems: Sequence[Callable[[], Problem]]) -> None:
    """Some problems of inverse kinematics by solvers."""
    rows = []
    for name, solver in solvers.items():
        found = [solver.solve(make()) for make in problems]
        good = [s for s in found if s.converged] or found
        reasons = sorted({s.reason.name.lower() for s in found if not s.converged})
        rows.append([
            name, f"{100 * np.mean([s.converged for s in found]):.0f} %",
            f"{np.median([s.evaluations for s in good]):.0f}", f"{1e3 * np.median([s.seconds for s in good]):.1f}",
            f"{max(s.certificate.violation for s in good):.0e}", f"{max(s.certificate.stationarity for s in good):.0e}",
            ", ".join(reasons).replace("_", " "),
        ])  # fmt: skip
    print(f"\n### {title}\n")
    print(table(["solver", "converged", "median evaluations", "median ms", "worst violation", "worst stationarity",
                 "others"], rows))  # fmt: skip


def reach_problems(count: int, box: bool) -> list[Callable[[], Problem]]:
    """Random reachable poses of the hand of a 7-axis arm within limits, from a bent pose; by boxes or by tasks."""
    arm = kido.load(kido.models.path("arm7"))
    hand = arm.body("hand")
    low = np.array([max(dof.position_lower_limit, -np.pi) for dof in arm.dofs])
    high = np.array([min(dof.position_upper_limit, np.pi) for dof in arm.dofs])
    bent = 0.5 * (low + high) + 0.1 * (high - low) * (-1.0) ** np.arange(arm.num_dofs)
    rng = np.random.default_rng(0)
    problems = []
    for q in rng.uniform(low, high, (count, arm.num_dofs)):
        arm.positions = q
        X = hand.world_transform

        def make(X: np.ndarray = X) -> Problem:
            arm.positions = bent
            if box:
                must = [PositionConstraint(hand, X[:3, 3]), OrientationConstraint(hand, X[:3, :3])]
                return MotionProblem(arm, constraints=must)
            ik = InverseKinematics(hand)
            ik.target.relative_transform = X
            return ik.problem

        problems.append(make)
    return problems


def posture_problems(count: int) -> list[Callable[[], Problem]]:
    """Hands wished for at random places, feet held level where they stand: the humanoid, 35 coordinates."""
    human = kido.load(kido.models.path("humanoid"))
    rng = np.random.default_rng(1)
    problems = []
    for place in rng.uniform([-0.1, -0.2, -0.3], [0.4, 0.2, 0.3], (count, 3)):

        def make(place: np.ndarray = place) -> Problem:
            human.positions = np.zeros(human.num_dofs)
            feet = [human.body("left_foot"), human.body("right_foot")]
            must = [PositionConstraint(foot, foot.world_transform[:3, 3]) for foot in feet]
            must += [OrientationConstraint(foot, foot.world_transform[:3, :3]) for foot in feet]
            hands = [human.body("left_hand"), human.body("right_hand")]
            wish = [PositionConstraint(hand, hand.world_transform[:3, 3] + place) for hand in hands]
            return MotionProblem(human, constraints=must, objectives=wish)

        problems.append(make)
    return problems


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer poses")
    parser.add_argument("--solver", choices=list(SOLVERS), help="one solver only")
    arguments = parser.parse_args()
    solvers = {name: s for name, s in SOLVERS.items() if arguments.solver in (None, name)}
    print(f"{machine()}\n")
    standard_tables(solvers, STANDARD)
    general = {name: solver for name, solver in solvers.items() if name not in ("daqp", "SciPy trust-constr")}
    count = 3 if arguments.quick else 10
    searching = {name: replace(solver, attempts=10) for name, solver in general.items()}
    if "gradient descent" in searching:
        searching["gradient descent"].max_iterations = 300
    title = f"Pose of a hand, 7-axis arm: {count} random reachable targets, boxes, up to 10 starts"
    inverse_kinematics_table(title, searching, reach_problems(count, True))
    least_squares = {name: solver for name, solver in searching.items() if name != "Gauss-Newton"}
    inverse_kinematics_table(f"The same by `InverseKinematics(hand).problem`, {count} targets", least_squares,
                             reach_problems(count, False))  # fmt: skip
    count = 1 if arguments.quick else 5
    if "gradient descent" in general:
        general["gradient descent"] = GradientDescentSolver(max_iterations=200)  # it would take a minute each
    inverse_kinematics_table(f"Feet held, hands wished for, humanoid: {count} postures", general,
                             posture_problems(count))  # fmt: skip


if __name__ == "__main__":
    main()
