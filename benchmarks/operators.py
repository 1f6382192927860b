"""Spatial operators against dense matrices, from 10 to 1,000 bodies: time of a product, ratio, agreement.

    python -m benchmarks.operators [--bodies 10 100 1000] [--chain] [--images docs/images]

Bodies hang by revolute joints on one of the four bodies before them, or with --chain on the last. Expressions of
`kido.operators` are applied to one vector and to a block of 32. The matrices of the same expressions are formed
beforehand and multiplied by NumPy, so their time is that of the product alone; "new state" has everything: the
operators of a new state and the forward dynamics by them, beside the mass matrix, its Cholesky factor and the
solution. Both sides run in one thread. Ratios above 1: the operators are faster.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one thread for either side; it is read when NumPy is imported

import numpy as np
from scipy.linalg import cho_factor, cho_solve

import kido
from benchmarks.timing import interleaved, machine, table
from kido.operators import Operator, SpatialOperators

VECTORS = 32
LARGEST = 6_000  # numbers of a vector beyond which the matrix is left out (288 MB)
HEADER = ("bodies", "expression", "operators [us]", "matrix [us]", "ratio", "forming it [us]", "difference")


def tree(bodies: int, chain: bool) -> kido.Skeleton:
    """Bodies of 1 kg, 0.2 m apart, on hinges about x, y and z in turn."""
    rng = np.random.default_rng(bodies)
    made = kido.Skeleton("tree")
    for k in range(bodies):
        parent = None if k == 0 else made.bodies[k - 1 if chain else int(rng.integers(max(0, k - 4), k))]
        joint = kido.RevoluteJoint(axis=np.eye(3)[k % 3], transform_from_parent=(0.0, 0.0, 0.2))
        made.add_body(f"b{k}", joint, parent, kido.Inertia.from_diagonal(1.0, (0.01, 0.01, 0.01)))
    made.positions = rng.uniform(-1.0, 1.0, bodies)
    return made


def expressions(ops: SpatialOperators) -> dict[str, Operator]:
    H, Phi, M, Psi, I, K, D = ops["H", "Phi", "M", "Psi", "I", "K", "D"]  # noqa: E741
    lower = I - H * Psi * K
    return {
        "gather": Phi,
        "articulated scatter": Psi.T,
        "inverse dynamics": H * Phi * M * Phi.T * H.T,
        "forward dynamics": lower.T * D.inverse() * lower,
    }


def compare(bodies: int, chain: bool, rounds: int) -> tuple[list[list[str]], dict[str, float]]:
    """Rows of the table, and times [s] of the plot."""
    skeleton = tree(bodies, chain)
    q, rng = skeleton.positions, np.random.default_rng(1)
    ops = SpatialOperators(skeleton)
    rows, times = [], {}
    for name, A in expressions(ops).items():
        columns = A.shape[1]
        for count in (1, VECTORS):
            label = f"{name}, {count} vector{'s' if count > 1 else ''}"
            x = rng.normal(size=(columns, count)) if count > 1 else rng.normal(size=columns)
            calls: dict[str, Callable[[], object]] = {"operators": lambda A=A, x=x: A * x}
            worst = ""
            if columns <= LARGEST:
                matrix = A.dense()
                calls["matrix"] = lambda matrix=matrix, x=x: matrix @ x
                if count == 1 and columns <= 1_000:
                    calls["forming"] = A.dense
                difference = np.abs(A * x - matrix @ x).max() / np.abs(matrix @ x).max()
                worst = f"{difference:.0e}"
            best = interleaved(calls, rounds, 4.0)
            times.update({f"{label}, {kind}": value for kind, value in best.items()})
            rows.append(_row(bodies, f"{label}: {A}", best, worst))
    return [*rows, *_new_state(skeleton, q, rng.normal(size=bodies), rounds, times)], times


def _new_state(skeleton: kido.Skeleton, q, T, rounds: int, times: dict[str, float]) -> list[list[str]]:
    ops = SpatialOperators(skeleton)

    def by_operators() -> np.ndarray:
        o = ops.at(q)
        H, Psi, I, K, D = o["H", "Psi", "I", "K", "D"]  # noqa: E741
        lower = I - H * Psi * K
        return lower.T * (D.inverse() * (lower * T))

    moving = expressions(ops)["forward dynamics"]

    def moved() -> np.ndarray:
        ops.move_to(q)
        return moving * T

    def by_matrix() -> np.ndarray:
        return cho_solve(cho_factor(kido.quantities.mass_matrix(skeleton, q), lower=True, check_finite=False), T)

    calls = {"operators": by_operators, "moved": moved, "matrix": by_matrix}
    best = interleaved(calls, rounds, 4.0)
    times.update({f"new state, {kind}": value for kind, value in best.items()})
    b = by_matrix()
    rows = [_row(len(q), "new state, expressions made anew", best, f"{_relative(by_operators(), b):.0e}")]
    best["operators"] = best["moved"]
    return [*rows, _row(len(q), "new state, expressions moved to it", best, f"{_relative(moved(), b):.0e}")]


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def _row(bodies: int, label: str, best: dict[str, float], worst: str) -> list[str]:
    def shown(kind: str) -> str:
        return f"{1e6 * best[kind]:,.1f}" if kind in best else ""

    against = f"{best['matrix'] / best['operators']:.2f}" if "matrix" in best else ""
    return [str(bodies), label, shown("operators"), shown("matrix"), against, shown("forming"), worst]


def plot(found: dict[int, dict[str, float]], folder: Path) -> None:
    """Time against the number of bodies."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = {
        "gather: φ x": "gather, 1 vector",
        "inverse dynamics, one vector": "inverse dynamics, 1 vector",
        f"inverse dynamics, {VECTORS} vectors": f"inverse dynamics, {VECTORS} vectors",
        "forward dynamics at a new state": "new state",
    }
    curves = (("operators", "o-", "operators"), ("moved", "v-", "operators, moved"), ("matrix", "s--", "matrix"))
    figure, all_axes = pyplot.subplots(1, 4, figsize=(14, 3.6), sharey=True)
    for axes, (title, key) in zip(all_axes, panels.items(), strict=True):
        for (kind, style, label), color in zip(curves, ("C0", "C2", "C1"), strict=True):
            points = [(n, 1e6 * times[f"{key}, {kind}"]) for n, times in found.items() if f"{key}, {kind}" in times]
            if points:
                axes.loglog(*zip(*points, strict=True), style, color=color, markersize=4, label=label)
        axes.set(title=title, xlabel="bodies")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    all_axes[0].set_ylabel("time [us]")
    figure.tight_layout()
    figure.savefig(folder / "operators_cost.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, nargs="+", default=[10, 20, 50, 100, 200, 500, 1000])
    parser.add_argument("--chain", action="store_true")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--images", type=Path)
    options = parser.parse_args()
    print(machine(), "\n")
    rows, found = [], {}
    for bodies in options.bodies:
        own, found[bodies] = compare(bodies, options.chain, options.rounds)
        rows += own
    print(table(HEADER, rows))
    if options.images is not None:
        plot(found, options.images)


if __name__ == "__main__":
    main()
