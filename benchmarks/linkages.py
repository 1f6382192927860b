"""Closed linkages with known motions: order of convergence, extrapolated value, closure, energy, time of a step.

    python -m benchmarks.linkages

The truths are in `tests/linkages.py`: reduced equations of one coordinate integrated to 1e-10, and closed forms.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import linkages

SIZES = (4e-3, 2e-3, 1e-3)  # [s] time steps
SHARE = {"Andrews' squeezer, 0.03 s": 0.01}  # of these, where motion is fast


def four_bar_value(_: Any, skeleton: Any) -> np.ndarray:
    return linkages.crank_top(skeleton)


def bricard_value(_: Any, skeleton: Any) -> np.ndarray:
    return linkages.bricard_point(skeleton)


def slider_crank_value(world: Any, skeleton: Any) -> np.ndarray:
    """Rate of the crank over sqrt(2 E / I), with the energy of the start: rate 4 at angle 0."""
    inertia = linkages.slider_crank_inertia
    exact = 4.0 * np.sqrt(inertia(0.0) / inertia(float(skeleton.positions[0])))
    return np.array([skeleton.velocities[0] / exact])


def bennett_value(_: Any, skeleton: Any) -> np.ndarray:
    q = skeleton.positions
    return np.array([np.tan(q[0] / 2) * np.tan(q[1] / 2)])


def freudenstein_value(_: Any, skeleton: Any) -> np.ndarray:
    return np.array([linkages.freudenstein(*skeleton.positions[[0, 2]])])


def squeezer_value(_: Any, skeleton: Any) -> np.ndarray:
    return linkages.squeezer_angles(skeleton)


def time_of_chains() -> None:
    """Time of a step of N-four-bars: the group's factor is dense in rows, its work follows what is not zero."""
    print("\n| N | coordinates | equations | independent | us/step |\n|" + " --- |" * 5)
    for windows in (2, 5, 10, 20, 50, 100):
        world, skeleton = linkages.n_four_bar(windows, 1e-3)
        world.step(1)
        steps, best = max(10, 2000 // windows), np.inf
        for _ in range(3):
            started = time.perf_counter()
            world.step(steps)
            best = min(best, (time.perf_counter() - started) / steps)
        report = world.constraint_report
        print(f"| {windows} | {skeleton.num_dofs} | {report.rows} | {report.rank} | {1e6 * best:.1f} |")


CASES: dict[str, tuple[Callable[[float], Any], float, Callable[[Any, Any], np.ndarray], Any]] = {
    "N-four-bar, N = 2, 10 s": (
        lambda h: linkages.n_four_bar(2, h), 10.0, four_bar_value, (0.3284581115, 0.9445185382),
    ),
    "N-four-bar, N = 2, 5 s": (
        lambda h: linkages.n_four_bar(2, h), 5.0, four_bar_value, (-0.8113104610, -0.5846155454),
    ),
    "Bricard, 2 s": (linkages.bricard, 2.0, bricard_value, linkages.BRICARD_P3[2.0]),
    "Bricard, 10 s": (linkages.bricard, 10.0, bricard_value, linkages.BRICARD_P3[10.0]),
    "slider-crank, 2 s": (linkages.slider_crank, 2.0, slider_crank_value, (1.0,)),
    "Bennett, 2 s": (linkages.bennett, 2.0, bennett_value, (linkages.BENNETT_RATIO,)),
    "Andrews' squeezer, 0.03 s": (linkages.squeezer, 0.03, squeezer_value, linkages.SQUEEZER_AT_30),
    "driven four-bar, 2 s": (linkages.driven_four_bar, 2.0, freudenstein_value, (0.0,)),
}  # fmt: skip


def main() -> None:
    """Print the table."""
    columns = (
        "linkage",
        "rank",
        "error at 1 ms (squeezer: 10 us)",
        "order",
        "extrapolated",
        "closure",
        "energy drift",
        "us/step",
    )
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for name, (make, duration, value, truth) in CASES.items():
        found, drift, took, report = [], 0.0, 0.0, None
        for size in SIZES:
            h = size * SHARE.get(name, 1.0)
            world, skeleton = make(h)
            energy = world.total_energy
            world.step(1, reset_command=False)
            started = time.perf_counter()
            world.step(round(duration / h) - 1, reset_command=False)
            took = (time.perf_counter() - started) / (duration / h)
            found.append(value(world, skeleton))
            drift, report = world.total_energy - energy, world.constraint_report
        errors = [float(np.abs(x - np.asarray(truth)).max()) for x in found]
        one, two = (float(np.abs(a - b).max()) for a, b in pairwise(found))
        order = f"{np.log2(one / two):.2f}" if two > 1e-11 else "exact"
        extrapolated = float(np.abs((4.0 * found[2] - found[1]) / 3.0 - np.asarray(truth)).max())
        loss = "driven" if name.startswith(("driven", "Andrews")) else f"{drift:.1e}"
        assert report is not None
        print(
            f"| {name} | {report.rank} of {report.rows} | {errors[2]:.1e} | {order} | {extrapolated:.1e} | "
            f"{report.worst_closure:.1e} | {loss} | {1e6 * took:.1f} |"
        )
    time_of_chains()


if __name__ == "__main__":
    main()
