"""Contact problems harvested from worlds of all kinds, solved by every solver and certified alike.

    python -m benchmarks.contact_problems [--count 1000] [--images docs/images] [--store FOLDER]

Each problem is one island of one step, with the warm start that the step had. They are harvested once and kept in a
file (in the system's folder for temporary files, unless told). Every solver gets the same problems; what it leaves is
measured by the one natural map of the exact cone (`kido.solvers.certify`, and its kernels for islands that have
limits too), with no other solver behind it: an island that it refuses or fails on counts as not solved.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import kido
from benchmarks.contact_scenes import scenes
from benchmarks.timing import machine, table
from kido.jit import Struct
from kido.solvers import (
    ADMM,
    BOUNDED,
    PGS,
    CustomSolver,
    Dantzig,
    DefaultSolver,
    GaussSeidel,
    Lemke,
    Solver,
    body_newton_island,
    certify,
    new_problem,
    problem_matrices,
    solve_with,
)
from kido.solvers.custom import island_blocks
from kido.solvers.problem import TOO_LARGE, block_segments

PER_BLOCK = ("kind", "mu", "torsion", "lower", "upper", "floor")
SOLVERS: dict[str, Solver] = {
    "default": DefaultSolver(),
    "Gauss-Seidel": GaussSeidel(sweeps=500),
    "ADMM": ADMM(iterations=2000, max_rows=300),
    "Dantzig": Dantzig(max_rows=150),
    "Lemke": Lemke(max_rows=60),
    "PGS": PGS(iterations=500),
}
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-6)
HEADER = ("solver", *(f"to {t:g} [%]" for t in TOLERANCES), "median residual", "median [us]", "99 % [us]", "refused")


@dataclass(frozen=True)
class Harvested:
    """One island as a problem of its own: arrays by name of `PROBLEM`'s fields, and where it comes from."""

    scene: str
    arrays: dict[str, np.ndarray]

    @property
    def rows(self) -> int:
        """Number of its rows."""
        return len(self.arrays["bias"])

    def problem(self, **sizes: Any) -> Struct:
        """A problem with the impulses of the warm start."""
        a = self.arrays
        p = new_problem(
            blocks=len(a["kind"]),
            rows=self.rows,
            dofs=len(a["u_free"]),
            pool=len(a["J"]),
            extras=len(a["more_dof"]),
            inertias=len(a["inertia"]),
            **sizes,
        )
        for name, values in a.items():
            getattr(p, name)[: len(values)] = values
        p.num_blocks, p.num_rows, p.num_dofs = len(a["kind"]), self.rows, len(a["u_free"])
        p.num_extras = len(a["more_dof"])
        p.body_newton = body_newton_island
        return p


def extract(problem: Struct, island: int, scene: str) -> Harvested:
    """An island of an assembled problem as a problem of its own."""
    blocks = island_blocks(problem, island)
    kinds = problem.kind[blocks]
    sizes = np.where(kinds == BOUNDED, 1, 3)
    starts = np.cumsum(sizes) - sizes
    rows = np.concatenate([problem.row[b] + np.arange(n) for b, n in zip(blocks, sizes, strict=True)])
    lengths = {dof: n for b in blocks for dof, n, _ in block_segments(problem, b)}
    place, dofs, inertia, inertia_at = {}, [], [], []
    for dof, n in sorted(lengths.items()):
        place[dof] = len(dofs)
        dofs.extend(range(dof, dof + n))
        at = problem.inertia_at[dof]
        inertia_at.extend([1 + sum(len(x) for x in inertia) if at > 0 else 0] + [0] * (n - 1))
        if at > 0:
            problem.fill_inertia(problem, dof)
            inertia.append(problem.inertia[at - 1 : at - 1 + n * n].copy())
    names = ("dof_a", "len_a", "at_a", "dof_b", "len_b", "at_b", "more_first", "more_count", "partner")
    index = {name: np.zeros(len(blocks), np.int64) for name in names}
    more: dict[str, list[int]] = {"more_dof": [], "more_len": [], "more_at": []}
    jacobian, response, top = [], [], 0
    for k, b in enumerate(blocks):
        index["more_first"][k] = len(more["more_dof"])
        for s, (dof, n, at) in enumerate(block_segments(problem, b)):
            size = int(sizes[k]) * n
            values = (place[dof], n, top)
            if s < 2:
                for name, value in zip(names[3 * s : 3 * s + 3], values, strict=True):
                    index[name][k] = value
            else:
                for name, value in zip(more, values, strict=True):
                    more[name].append(value)
                index["more_count"][k] += 1
            jacobian.append(problem.J[at : at + size].copy())
            response.append(problem.Y[at : at + size].copy())
            top += size
        index["partner"][k] = max(k - 1, 0)
    arrays = {
        **index,
        **{name: np.array(values, np.int64) for name, values in more.items()},
        **{name: getattr(problem, name)[blocks].copy() for name in PER_BLOCK},
        "row": starts,
        "bias": problem.bias[rows].copy(),
        "compliance": problem.compliance[rows].copy(),
        "impulse": problem.impulse[rows].copy(),
        "u_free": problem.u_free[dofs].copy(),
        "J": np.concatenate(jacobian),
        "Y": np.concatenate(response),
        "inertia": np.concatenate(inertia) if inertia else np.zeros(0),
        "inertia_at": np.array(inertia_at, np.int64),
    }
    return Harvested(scene, arrays)


def harvest(name: str, world: kido.World, seconds: float, count: int, seed: int = 0) -> list[Harvested]:
    """About `count` islands from steps spread over the given time; of a step's islands the largest or any, by turns."""
    rng = np.random.default_rng(seed)
    found: list[Harvested] = []
    steps = round(seconds / world.time_step)
    fresh = True

    def watch(_: object) -> None:
        """Called for every island of a step; takes one from the assembled problem at the first call."""
        nonlocal fresh
        if fresh:
            fresh = False
            problem = world.engine.problem  # a look behind the interface, which shows one island at a time
            starts = problem.island_row[: problem.num_islands + 1]
            island = int(np.argmax(np.diff(starts))) if len(found) % 2 else int(rng.integers(problem.num_islands))
            found.append(extract(problem, island, name))

    watcher, default = CustomSolver(watch), DefaultSolver()
    wanted = set(np.unique(np.linspace(0.0, steps - 1, min(3 * count, steps)).astype(int)))
    for step in range(steps):
        if step in wanted:
            fresh = True
            world.solver = watcher
            world.step()
            world.solver = default
        else:
            world.step()
    keep = np.unique(np.linspace(0, len(found) - 1, min(count, len(found))).astype(int)) if found else []
    return [found[k] for k in keep]


def harvest_all(count: int, store: Path) -> list[Harvested]:
    """`count` problems from all scenes, read from the file if it has them."""
    file = store / f"kido-contact-problems-{count}.pickle"
    if file.exists():
        return pickle.loads(file.read_bytes())
    makers = scenes()
    found: list[Harvested] = []
    for k, (name, (make, seconds)) in enumerate(makers.items()):
        share = (count - len(found)) // (len(makers) - k)
        print(f"harvesting {name} ...", file=sys.stderr)
        found += harvest(name, make(), seconds, share, seed=k)
    store.mkdir(parents=True, exist_ok=True)
    file.write_bytes(pickle.dumps(found))
    return found


def exact_residual(problem: Struct) -> float:
    """Residual of a problem's impulses by `certify`, from dense matrices; of contacts alone."""
    rows = problem.num_rows
    matrix, free = problem_matrices(problem)
    return certify(matrix, free, problem.mu[: rows // 3], problem.impulse[:rows]).residual


def solve_one_problem(harvested: Harvested, solver: Solver, repeats: int = 3) -> tuple[float, float, bool]:
    """Residual, best time [s], and whether the solver refused or failed and left the problem to the default."""
    problem = harvested.problem(**solver.sizes())
    start, best = problem.impulse.copy(), np.inf
    for _ in range(repeats):
        problem.impulse[:] = start
        begin = perf_counter()
        solve_with(problem, solver)
        best = min(best, perf_counter() - begin)
    chosen = not isinstance(solver, DefaultSolver)
    refused = chosen and (problem.island_ended[0] >= TOO_LARGE or problem.island_fallbacks[0] != 0)
    return (np.inf if refused else float(problem.island_residual[0])), best, bool(refused)


def measure(problems: list[Harvested]) -> dict[str, np.ndarray]:
    """By solver: residual, time [s] and refusal of each problem, (problems, 3)."""
    results = {}
    for name, solver in SOLVERS.items():
        print(f"solving by {name} ...", file=sys.stderr)
        solve_one_problem(problems[0], solver, 1)  # compiles
        results[name] = np.array([solve_one_problem(p, solver) for p in problems])
    return results


def rows_of_table(results: dict[str, np.ndarray]) -> list[list[str]]:
    """Success rates and times of all solvers."""
    rows = []
    for name, values in results.items():
        residual, time, refused = values.T
        tried = time[refused == 0.0] * 1e6
        rows.append(
            [
                name,
                *(f"{100.0 * np.mean(residual <= t):.1f}" for t in TOLERANCES),
                f"{np.median(residual):.0e}",
                *(f"{np.percentile(tried, q):.0f}" if len(tried) else "-" for q in (50, 99)),
                f"{int(refused.sum())}",
            ]
        )
    return rows


def scene_rows(problems: list[Harvested], results: dict[str, np.ndarray]) -> list[list[str]]:
    """Share of each scene's problems that each solver solves to 1e-4."""
    names = np.array([p.scene for p in problems])
    rows = []
    for scene in dict.fromkeys(names):
        here = names == scene
        largest = max(p.rows for p in problems if p.scene == scene)
        shares = [f"{100.0 * np.mean(values[here, 0] <= 1e-4):.0f}" for values in results.values()]
        rows.append([str(scene), str(int(here.sum())), str(largest), *shares])
    return rows


def draw(results: dict[str, np.ndarray], folder: Path) -> None:
    """Success rate against the residual asked for, and against the time allowed for 1e-4."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for name, values in results.items():
        count = len(values)
        share = 100.0 * np.arange(1, count + 1) / count
        residual = np.sort(np.maximum(values[:, 0], 1e-14))
        left.step(residual, share, where="post", label=name)
        solved = np.sort(values[values[:, 0] <= 1e-4, 1]) * 1e6
        right.step(solved, 100.0 * np.arange(1, len(solved) + 1) / count, where="post", label=name)
    left.set(xscale="log", xlim=(1e-12, 1.0), xlabel="residual (relative natural map)", ylabel="problems solved [%]")
    right.set(xscale="log", xlabel="time [µs] to a residual of at most 1e-4")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    left.legend(loc="upper left")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "contact_problems.png", dpi=110)


def main(arguments: list[str] | None = None) -> None:
    """Harvest, solve, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--images", type=Path, help="folder for the plot")
    parser.add_argument("--store", type=Path, default=Path(tempfile.gettempdir()), help="folder of the harvest")
    options = parser.parse_args(arguments)
    problems = harvest_all(options.count, options.store)
    results = measure(problems)
    sizes = [p.rows for p in problems]
    print(
        f"{machine()}\n\n{len(problems)} problems of {min(sizes)} to {max(sizes)} rows, median {np.median(sizes):g}\n"
    )
    print(table(HEADER, rows_of_table(results)))
    print("\nSolved to 1e-4 [%]\n")
    print(table(("scene", "problems", "most rows", *results), scene_rows(problems, results)))
    if options.images:
        draw(results, options.images)


if __name__ == "__main__":
    main()
