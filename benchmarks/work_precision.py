"""Work and precision of closed loops: error against time of the motion, for each solver, integrator and mechanism.

    python -m benchmarks.work_precision [--quick] [--images docs/images]

Prints Markdown tables, and draws the plot if --images names a folder (needs matplotlib). The error is the largest one
of positions at the end, against Dormand-Prince at 1e-13; times are processor times, the least of five, of motions that
are compiled throughout.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kido
from benchmarks.timing import machine, table
from kido.dynamics import GGL, Baumgarte, Projection, Stabilization
from kido.integrators import RK4, DormandPrince, simulate
from kido.integrators.integrator import CompiledIntegrator
from kido.models import Mechanism

REPEATS = 5
STEPS = 1 << 40  # at once
GOALS = (1e-5, 1e-8)  # errors for which the table gives times


class Case(NamedTuple):
    """A mechanism and how long it moves; the largest step of fixed ones, and a first step for error control [s]."""

    make: Callable[[], Mechanism]
    duration: float
    step: float
    gain: float


CASES = {
    "slider-crank": Case(kido.models.slider_crank, 3.0, 0.04, 20.0),
    "five four-bars": Case(lambda: kido.models.n_four_bar(5), 0.35, 0.02, 20.0),
    "Andrews' squeezer": Case(kido.models.andrews_squeezer, 0.03, 1e-4, 500.0),
    "Bricard": Case(kido.models.bricard, 1.0, 0.04, 20.0),
    "Bennett": Case(kido.models.bennett, 4.0, 0.08, 10.0),
    "slider-crank in space": Case(kido.models.spatial_slider_crank, 2.0, 0.02, 20.0),
}


def schemes(case: Case) -> dict[str, tuple[str, Stabilization | None]]:
    """Solvers with what keeps loops closed."""
    return {
        "CE": ("CE", None),
        "TA, projection": ("TA", Projection()),
        "TA, GGL": ("TA", GGL()),
        "TA, Baumgarte": ("TA", Baumgarte(case.gain)),
        "FA, projection": ("FA", Projection()),
    }


def integrators(case: Case, quick: bool) -> dict[str, list[tuple[CompiledIntegrator, float]]]:
    """Series of ever more exact integrators, with the largest step of each."""
    halvings = range(0, 6, 2) if quick else range(6)
    exponents = range(4, 12, 3) if quick else range(3, 13)
    first = 0.01 * case.step
    return {
        "RK4": [(RK4(), case.step / 2**k) for k in halvings],
        "Dormand-Prince": [
            (DormandPrince(rtol=10.0**-e, atol=10.0**-e, first_step=first), case.duration) for e in exponents
        ],
    }


def measure(
    case: Case, solver: str, stabilization: Any, integrator: CompiledIntegrator, step: float, truth: np.ndarray
) -> tuple[float, float]:
    """Time of the motion [s], and the error at its end."""
    skeleton = (mechanism := case.make()).skeleton
    system = mechanism.dynamics(solver)._motion_system(None, integrator, stabilization)
    start = system.start(0.0, skeleton.positions, skeleton.velocities)
    least, end = np.inf, truth
    for _ in range(REPEATS):
        motion = system.motion(integrator, np.array([0.0, case.duration]), step, *start)
        begun = time.process_time()
        while not system.go_on(motion, STEPS):
            pass
        least = min(least, time.process_time() - begun)
        end = motion.Q[-1]
    return least, float(np.abs(skeleton.position_differences(end, truth)).max())


def reference(case: Case) -> np.ndarray:
    """Positions at the end."""
    mechanism = case.make()
    tight = DormandPrince(rtol=1e-13, atol=1e-13, first_step=1e-3 * case.step)
    return simulate(mechanism.dynamics("TA"), tight, times=[0.0, case.duration]).positions[-1]


Series = dict[tuple[str, str, str], list[tuple[float, float]]]


def run(quick: bool) -> Series:
    """(time, error) by mechanism, scheme and integrator."""
    found: Series = {}
    for name, case in CASES.items():
        truth = reference(case)
        for scheme, (solver, stabilization) in schemes(case).items():
            for kind, series in integrators(case, quick).items():
                points = found[name, scheme, kind] = []
                for integrator, step in series:
                    try:
                        points.append(measure(case, solver, stabilization, integrator, step, truth))
                    except kido.KidoError as refused:  # too large a step
                        print(f"{name}, {scheme}, {integrator}, {step:g} s: {refused}", file=sys.stderr)
    return found


def time_for(points: list[tuple[float, float]], goal: float) -> str:
    """Time for an error, between measured ones in logarithms [ms]."""
    best = np.inf
    for (t0, e0), (t1, e1) in pairwise(points):
        if e1 <= goal <= e0 and e1 > 0.0:
            share = np.log(e0 / goal) / max(np.log(e0 / e1), 1e-12)
            best = min(best, t0 * (t1 / t0) ** share)
        elif e1 <= goal:
            best = min(best, t1)
    if points and points[0][1] <= goal:
        best = min(best, points[0][0])
    return f"{1e3 * best:.3g}" if np.isfinite(best) else "-"


def report(found: Series) -> str:
    """Markdown tables."""
    kinds = list(dict.fromkeys(kind for _, _, kind in found))
    names = list(dict.fromkeys(scheme for _, scheme, _ in found))
    parts = []
    for goal in GOALS:
        rows = []
        for name in CASES:
            for kind in kinds:
                rows.append([name, kind, *(time_for(found[name, scheme, kind], goal) for scheme in names)])
        parts.append(f"Time [ms] for an error of {goal:g}:\n\n" + table(["mechanism", "integrator", *names], rows))
    return "\n\n".join(parts)


def draw(found: Series, folder: Path) -> None:
    """The plot, error against time."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
    names = list(dict.fromkeys(scheme for _, scheme, _ in found))
    styles = {"RK4": ("--", "s"), "Dormand-Prince": ("-", "o")}
    for ax, name in zip(axes.ravel(), CASES, strict=True):
        for c, scheme in enumerate(names):
            for kind, (line, marker) in styles.items():
                times, errors = np.array(found[name, scheme, kind] or np.empty((0, 2))).T
                ax.loglog(1e3 * times, np.maximum(errors, 1e-15), line, marker=marker, ms=3, lw=1, color=f"C{c}")
        ax.set_title(name, fontsize=9)
        ax.grid(alpha=0.3)
        ax.tick_params(labelsize=7)
    for c, scheme in enumerate(names):
        axes[0, 0].plot([], [], color=f"C{c}", label=scheme)
    for kind, (line, marker) in styles.items():
        axes[0, 0].plot([], [], line, marker=marker, ms=3, color="gray", label=kind)
    axes[0, 0].legend(fontsize=7)
    for ax in axes[-1]:
        ax.set_xlabel("time of the motion [ms]", fontsize=8)
    for ax in axes[:, 0]:
        ax.set_ylabel("error at the end [m, rad]", fontsize=8)
    figure.savefig(folder / "work_precision.png", dpi=110)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few tolerances and steps")
    parser.add_argument("--images", type=Path, help="folder for the plot")
    options = parser.parse_args()
    found = run(options.quick)
    print(machine())
    print()
    print(report(found))
    if options.images is not None:
        draw(found, options.images)


if __name__ == "__main__":
    main()
