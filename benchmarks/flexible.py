"""Flexible bodies: the truths with the errors beside them, and times.

    python -m benchmarks.flexible                 tables of errors and times
    python -m benchmarks.flexible plots FOLDER    plots: rotating beams over speed, a spin-up over time

    python -m benchmarks.flexible buckling        the table of critical loads alone

The truths are in `tests/flexible/test_flexible_truths.py`, `test_flexible_buckling.py`, `test_flexible_crank.py` and
`test_flexible_ground.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.timing import machine

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/flexible"))
import test_flexible_buckling as buckling  # pyright: ignore[reportMissingImports]
import test_flexible_crank as crank  # pyright: ignore[reportMissingImports]
import test_flexible_ground as ground  # pyright: ignore[reportMissingImports]
import test_flexible_truths as truths  # pyright: ignore[reportMissingImports]

EXACT = {5.0: -0.468279, 7.5: -0.559178, 10.0: -0.363127}  # a geometrically exact beam of 20 elements
EXACT_LEAST, ASSUMED = -0.573798, {5.0: -0.468786, 7.5: -0.559555, 10.0: -0.362898}
LEAST = {1: -0.578288, 2: -0.573577, 3: -0.574470, 4: -0.574364, 6: -0.574395}


def rows() -> list[tuple[str, str, str, str]]:
    """What, the truth, what is found, and its error."""
    found: list[tuple[str, str, str, str]] = []

    def add(what: str, truth: float, value: float, digits: int = 6) -> None:
        found.append((what, f"{truth:.{digits}f}", f"{value:.{digits}f}", f"{value - truth:.1e}"))

    beta = np.sqrt(truths.unit_beam(bending_y=3, elements=64).frequencies)
    for k, (truth, value) in enumerate(zip(truths.CANTILEVER, beta, strict=True)):
        add(f"cantilever, beta L {k + 1}", truth, value, 12)
    for k, (truth, value) in enumerate(zip(truths.FREE_FREE, truths.free_beam("free", 2), strict=True)):
        add(f"free beam that floats, beta L {k + 1}", truth, value, 12)
    for speed, wanted in truths.WRIGHT.items():
        for number in (3, 5, 10):
            across = truths.flap(0.0, number, speed)
            for k, (truth, value) in enumerate(zip(wanted, across, strict=True)):
                add(f"rotating beam, speed {speed}, flap {k + 1}, {number} modes", truth, value, 5)
        lag = truths.flap(0.0, 10, speed, "bending_y")
        for k, (truth, value) in enumerate(zip(np.sqrt(np.array(wanted) ** 2 - speed**2), lag, strict=True)):
            add(f"rotating beam, speed {speed}, lag {k + 1}, 10 modes", truth, value, 5)
    for k, (truth, value) in enumerate(zip(truths.ON_HUB, truths.flap(1.0, 12, 12.0), strict=True)):
        add(f"rotating beam on a hub of its length, speed 12, flap {k + 1}, 12 modes", truth, value, 5)
    for number, wanted in LEAST.items():
        least, _ = truths.limit(number, {4: 2, 6: 3}.get(number, 1), 6.0, truths.SIMO)
        add(f"spin-up, least deflection, {number} modes", wanted, least[0])
    least, when = truths.limit(6, 3, 6.0, truths.SIMO)
    add("spin-up, its time [s]", 6.762, when, 3)
    for (t, truth), value in zip(ASSUMED.items(), least[1:], strict=True):
        add(f"spin-up at {t:g} s, 6 modes", truth, value)
    for (t, truth), value in zip(EXACT.items(), least[1:], strict=True):
        add(f"spin-up at {t:g} s beside the geometrically exact beam", truth, value)
    add("spin-up, least, beside the geometrically exact beam", EXACT_LEAST, least[0])
    times, _, axial = truths.spin_up(1, 8, 6.0, truths.SIMO, 5e-3, 20.0)
    add("spin-up, stretch at the end, beside the geometrically exact beam", 5.143175e-4, axial[times > 18].mean(), 9)
    A, Iz, rho, E = 7.2968e-5, 8.2189e-9, 2766.67, 6.8952e10
    for final, truth in ((4.0, -0.534461), (2.0, -0.280257)):
        value, _ = truths.limit(3, 1, final, (8.0, E * A, E * Iz, rho * A))
        add(f"beam of Wu and Haug, {final:g} rad/s", truth, value[0])
    for number, truth in truths.BY_MODES.items():
        add(f"hub with two panels, {number} modes", truth, truths.two_panels(number)[0], 5)
    for k, (truth, value) in enumerate(zip(truths.PANELS, truths.two_panels(12)[:3], strict=True)):
        add(f"hub with two panels, exact, vibration {k + 1} by 12 modes", truth, value)
    for name, nonlinear, wanted in (("", False, crank.LINEAR), (", second order", True, crank.NONLINEAR)):
        ends = crank.SliderCrank(nonlinear).end()
        for what, truth, value in zip(("rod's angle", "slider", "q1", "q2", "q3", "q4"), wanted, ends, strict=False):
            add(f"slider-crank{name}, {what}", truth, value, 14 if truth > 1e-3 or truth < -1e-3 else 18)
    return found


def critical_loads() -> list[tuple[str, str, str, str]]:
    """Of cantilevers of length, EI and GJ 1, by modes: what, the truth, what is found, and its share above that."""
    found = []
    column = buckling.beam_modes(1.0, *buckling.DEEP, bending_y=4)
    beams = {f"{n} {kind}": buckling.deep(n, kind) for kind in ("clamped", "craig-bampton") for n in (2, 4, 8)}

    def add(what: str, truth: float, tree, work) -> None:
        value = buckling.critical(tree.bodies[0].modes.stiffness, buckling.softening(tree, work)) / buckling.UNIT
        found.append((what, f"{truth:.6f}", f"{value:.6f}", f"{value / truth - 1.0:.1e}"))

    tree = buckling.cantilever(column)
    add("column, 4 modes", np.pi**2 / 4.0, tree, lambda q: -tree.jacobian("beam_tip", q)[3])
    for modes, deep in beams.items():
        add(f"deep beam, force, {modes}", buckling.PRANDTL, deep, lambda q, t=deep: -t.jacobian("beam_tip", q)[5])
        for kind, factor in (("quasi", 0.5), ("quasi across", 0.5), ("semi", 1.0)):
            add(f"deep beam, moment, {kind}, {modes}", factor * np.pi, deep, buckling.moment(deep, kind))
    return found


def times() -> None:
    """Of the spin-up and its model; best of several. Those of dynamics are in `benchmarks.flexible_calls`."""
    began = process_time()
    tree = truths.spun(3, 1, truths.SIMO)
    made, best = process_time() - began, np.inf
    rest = np.zeros(tree.num_coordinates)
    turn = {0: lambda t: truths.angular_acceleration(t, 6.0)}
    for _ in range(8):
        began = process_time()
        tree.simulate(rest, rest, 15.0, 2e-3, prescribed=turn)
        best = min(best, process_time() - began)
    print(f"spin-up of 15 s in steps of 2 ms, 3 + 1 modes: {1e3 * best:.0f} ms; its model: {1e3 * made:.0f} ms")


def plots(folder: Path) -> None:
    """Rotating beams over speed on Wright's table, and the spin-up over the geometrically exact beam."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.4), dpi=100, layout="constrained")
    speeds = np.linspace(0.0, 12.0, 25)
    for number, style in ((3, ":"), (10, "-")):
        left.plot(speeds, [truths.flap(0.0, number, s) for s in speeds], style, color="tab:blue", linewidth=1.0)
    lag = [truths.flap(0.0, 10, s, "bending_y") for s in speeds]
    left.plot(speeds, lag, "-", color="tab:orange", linewidth=1.0)
    left.plot(list(truths.WRIGHT), list(truths.WRIGHT.values()), "k.")
    left.plot([12.0] * 3, truths.ON_HUB, "k^", markersize=4)
    on_hub = [truths.flap(1.0, 12, s) for s in speeds]
    left.plot(speeds, on_hub, "--", color="tab:blue", linewidth=1.0)
    left.set(xlabel="speed", ylabel="frequency", ylim=(0.0, 105.0))
    times, tip, _ = truths.spin_up(6, 3, 6.0, truths.SIMO, 1e-3, 18.0)
    right.plot(times, tip, linewidth=1.0)
    right.plot(list(EXACT), list(EXACT.values()), "k.")
    right.plot([6.759], [EXACT_LEAST], "k.")
    right.set(xlabel="time [s]", ylabel="deflection of the tip [m]")
    figure.savefig(folder / "flexible_truths.png")


if __name__ == "__main__":
    if sys.argv[1:2] == ["plots"]:
        plots(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["buckling"]:
        for row in critical_loads():
            print("| " + " | ".join(row) + " |", flush=True)
    else:
        print(machine())
        times()
        for steps in (1e-3, 5e-4, 2.5e-4):
            print("ground, 1 s in steps of", steps, ground.account(steps, 1.0))
        print("ground, 60 s in steps of 0.001", ground.account(1e-3, 60.0))
        print("| what | truth | found | error |\n| --- | ---: | ---: | ---: |")
        for row in [*rows(), *critical_loads()]:
            print("| " + " | ".join(row) + " |", flush=True)
