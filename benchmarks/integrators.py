"""Integrators of smooth motion: energy and momentum over 10 s to 1,000 s, order of convergence, cost of accuracy.

    python -m benchmarks.integrators [--quick] [--images docs/images]

Prints Markdown tables, and draws the plots if --images names a folder (needs matplotlib). Two systems: a double
pendulum that falls from the horizontal, which is chaotic, and a torso with four limbs on ball joints, tumbling
without gravity. dartpy and MuJoCo run the pendulum too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import kido
from benchmarks.timing import machine, table
from kido.integrators import (
    RK4,
    DormandPrince,
    ExplicitEuler,
    Integrator,
    MoreauMidpoint,
    SemiImplicitEuler,
    Variational,
    simulate,
)

STEP = 0.01  # [s]
INTEGRATORS: dict[str, Integrator] = {
    "explicit Euler": ExplicitEuler(),
    "semi-implicit Euler": SemiImplicitEuler(),
    "Moreau midpoint": MoreauMidpoint(),
    "variational": Variational(),
    "RK4": RK4(),
    "Dormand-Prince 1e-6": DormandPrince(1e-6, 1e-6),
    "Dormand-Prince 1e-10": DormandPrince(1e-10, 1e-10),
}
FIXED = tuple(INTEGRATORS)[:5]
ROD = 1.0  # [m], [kg]
SWING = 9.81 * (0.5 + 1.5) * 2.0  # [J] potential energy between the pendulum's lowest and highest positions


def double_pendulum() -> kido.Skeleton:
    """Two uniform rods of 1 kg and 1 m, horizontal, at rest."""
    skeleton = kido.Skeleton("double pendulum")
    inertia = kido.Inertia.from_diagonal(1.0, [1 / 12, 1 / 12, 1e-4], (0, 0, -0.5 * ROD))
    upper = skeleton.add_body("upper", kido.RevoluteJoint(axis=(0, -1, 0)), inertia=inertia)
    elbow = kido.RevoluteJoint(axis=(0, -1, 0), transform_from_parent=(0, 0, -ROD))
    skeleton.add_body("lower", elbow, upper, inertia)
    skeleton.positions = [np.pi / 2, 0.0]
    return skeleton


def tumbler() -> kido.Skeleton:
    """A torso with four limbs on ball joints, tumbling and flailing without gravity, its centre of mass at rest."""
    skeleton = kido.Skeleton("tumbler")
    skeleton.gravity = (0, 0, 0)
    torso = skeleton.add_body("torso", inertia=kido.Inertia.from_diagonal(5.0, [0.3, 0.25, 0.1]))
    limb = kido.Inertia.from_diagonal(1.0, [0.03, 0.03, 0.002], (0, 0, -0.3))
    for name, place in (("ll", (0.2, 0, -0.4)), ("rl", (-0.2, 0, -0.4)), ("la", (0.3, 0, 0.4)), ("ra", (-0.3, 0, 0.4))):
        skeleton.add_body(name, kido.BallJoint(transform_from_parent=place), torso, limb)
    skeleton.velocities = np.concatenate([[0.5, 1.5, 0.3, 0.2, 0.0, -0.1], 2.0 * np.sin(1.0 + np.arange(12.0))])
    start = skeleton.velocities.copy()
    start[3:6] -= skeleton.momentum[3:] / skeleton.mass
    skeleton.velocities = start
    return skeleton


SYSTEMS: dict[str, Callable[[], kido.Skeleton]] = {"double pendulum": double_pendulum, "tumbler": tumbler}


def invariants(skeleton: kido.Skeleton) -> tuple[float, np.ndarray]:
    """Total energy, and momentum [angular about the world origin; linear]."""
    return skeleton.kinetic_energy + skeleton.potential_energy, skeleton.momentum


def drift(name: str, integrator: Integrator, times: np.ndarray) -> dict[str, np.ndarray | float]:
    """Relative errors of energy and momentum at times, and microseconds per step."""
    skeleton = SYSTEMS[name]()
    before, momentum = invariants(skeleton)
    scale = SWING if name == "double pendulum" else before
    simulate(SYSTEMS[name](), integrator, times=[0.0, STEP], time_step=STEP)  # compiled before it is timed
    energy, moment = np.full(len(times), np.nan), np.full(len(times), np.nan)
    took, steps = 0.0, 0
    for begin, end in ((0.0, 10.0), (10.0, 100.0), (100.0, 1000.0)):
        part = np.flatnonzero((times >= begin) & (times <= end))
        if len(part) < 2:
            break
        started = time.perf_counter()
        try:
            motion = simulate(skeleton, integrator, times=times[part], time_step=STEP, progress=False)
        except kido.StateError:  # it exploded
            break
        took += time.perf_counter() - started
        steps += motion.steps
        for k, q, u in zip(part, motion.positions, motion.velocities, strict=True):
            skeleton.positions, skeleton.velocities = q, u
            now, h = invariants(skeleton)
            energy[k] = (now - before) / scale
            moment[k] = np.abs(h - momentum).max() / max(np.abs(momentum).max(), 1e-300)
    return {"energy": energy, "momentum": moment, "step": 1e6 * took / steps if steps else np.nan}


def worst_until(times: np.ndarray, values: np.ndarray, end: float) -> str:
    """Largest value up to a time."""
    worst = np.abs(values[times <= end + 1e-9]).max()
    return "infinite" if np.isnan(worst) else f"{worst:.1e}"


# Peers -----------------------------------------------------------------------------------------------------


def mujoco_energy(integrator: str, times: np.ndarray) -> np.ndarray:
    """Relative energy error of the double pendulum in MuJoCo."""
    import mujoco

    rod = f'<inertial pos="0 0 -.5" mass="1" diaginertia="{1 / 12} {1 / 12} 1e-4"/>'
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><option timestep="{STEP}" integrator="{integrator}"/>
      <worldbody><body><joint axis="0 -1 0"/>{rod}<body pos="0 0 -1"><joint axis="0 -1 0"/>{rod}</body></body>
      </worldbody></mujoco>""")
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(model)
    data.qpos[:] = [np.pi / 2, 0.0]

    def energy() -> float:
        mujoco.mj_forward(model, data)
        return float(data.energy.sum())

    return recorded(energy, lambda: mujoco.mj_step(model, data), times)


def dartpy_energy(times: np.ndarray) -> np.ndarray:
    """Relative energy error of the double pendulum in dartpy (semi-implicit Euler)."""
    import dartpy

    skeleton = dartpy.dynamics.Skeleton("double pendulum")
    parent = None
    for k in range(2):
        properties = dartpy.dynamics.RevoluteJointProperties()
        properties.mName, properties.mAxis = f"joint{k}", [0, -1, 0]
        if parent is not None:
            place = dartpy.math.Isometry3()
            place.set_translation([0, 0, -ROD])
            properties.mT_ParentBodyToJoint = place
        _, body = skeleton.createRevoluteJointAndBodyNodePair(parent, properties)
        inertia = dartpy.dynamics.Inertia(1.0, [0, 0, -0.5], np.diag([1 / 12, 1 / 12, 1e-4]))
        body.setInertia(inertia)
        parent = body
    world = dartpy.simulation.World()
    world.setGravity([0, 0, -9.81])
    world.setTimeStep(STEP)
    world.addSkeleton(skeleton)
    skeleton.setPositions([np.pi / 2, 0.0])
    return recorded(lambda: skeleton.computeKineticEnergy() + skeleton.computePotentialEnergy(), world.step, times)


def recorded(energy: Callable[[], float], step: Callable[[], object], times: np.ndarray) -> np.ndarray:
    """Relative energy errors at times."""
    before = energy()
    values, done = np.empty(len(times)), 0
    for k, t in enumerate(times):
        while done < round(t / STEP):
            step()
            done += 1
        values[k] = (energy() - before) / SWING
    return values


# Order of convergence and cost -----------------------------------------------------------------------------


def end_state(skeleton: kido.Skeleton) -> np.ndarray:
    """Poses and velocities, without charts."""
    return np.concatenate([skeleton.world_transforms.ravel(), skeleton.velocities])


def convergence(name: str, integrator: Integrator, sizes: list[float], duration: float) -> np.ndarray:
    """(sizes, 2) relative errors at the end and seconds, for step sizes (for an adaptive one: tolerances)."""
    truth = SYSTEMS[name]()
    simulate(truth, DormandPrince(1e-13, 1e-13), times=[0.0, duration])
    expected = end_state(truth)
    rows = []
    for size in sizes:
        method = DormandPrince(size, size) if isinstance(integrator, DormandPrince) else integrator
        best = np.inf
        for _ in range(3):
            skeleton = SYSTEMS[name]()
            started = time.perf_counter()
            simulate(skeleton, method, times=[0.0, duration], time_step=size)
            best = min(best, time.perf_counter() - started)
        rows.append((np.linalg.norm(end_state(skeleton) - expected) / np.linalg.norm(expected), best))
    return np.array(rows)


# Plots -----------------------------------------------------------------------------------------------------


def plot_drift(folder: Path, name: str, times: np.ndarray, found: dict[str, dict], what: str, title: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    for label, result in found.items():
        if what in result and np.isfinite(result[what]).any():
            values = np.maximum.accumulate(np.abs(result[what])[1:])
            style = "-" if label in INTEGRATORS else ":"
            axes.loglog(times[1:], np.maximum(values, 1e-17), style, linewidth=1.5 if style == "-" else 3, label=label)
    axes.set(xlabel="time [s]", ylabel=f"largest relative error of {what} so far", title=title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(folder / f"integrators_{what}_{name.replace(' ', '_')}.png", dpi=110, bbox_inches="tight")
    plt.close(figure)


def plot_convergence(folder: Path, name: str, curves: dict[str, tuple[list[float], np.ndarray]]) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    for label, (sizes, rows) in curves.items():
        if not label.startswith("Dormand"):
            left.loglog(sizes, rows[:, 0], "o-", markersize=3, label=label)
        right.loglog(1e3 * rows[:, 1], rows[:, 0], "o-", markersize=3, label=label)
    left.set(xlabel="step [s]", ylabel="relative error of poses and velocities", title=f"{name}, after 1 s")
    right.set(xlabel="time of the computation [ms]", title="cost of accuracy")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    right.legend(fontsize=8)
    figure.savefig(folder / f"integrators_order_{name.replace(' ', '_')}.png", dpi=110, bbox_inches="tight")
    plt.close(figure)


# Report ----------------------------------------------------------------------------------------------------


def report_drift(name: str, end: float, folder: Path | None) -> None:
    times = np.concatenate([[0.0], np.unique(np.round(np.geomspace(0.1, end, 400), 1))])
    found = {label: drift(name, integrator, times) for label, integrator in INTEGRATORS.items()}
    if name == "double pendulum":
        for label, run in (
            ("dartpy", lambda: dartpy_energy(times)),
            ("MuJoCo Euler", lambda: mujoco_energy("Euler", times)),
            ("MuJoCo RK4", lambda: mujoco_energy("RK4", times)),
        ):
            try:
                found[label] = {"energy": run(), "step": np.nan}
            except ImportError:
                print(f"({label} is not installed)")
    ends = [t for t in (10.0, 100.0, 1000.0) if t <= end]
    head = ["integrator", *(f"energy, {t:g} s" for t in ends)]
    if name != "double pendulum":
        head += [f"momentum, {t:g} s" for t in ends]
    rows = []
    for label, result in found.items():
        row = [label, *(worst_until(times, result["energy"], t) for t in ends)]
        if name != "double pendulum":
            row += [worst_until(times, result["momentum"], t) for t in ends]
        rows.append([*row, f"{result['step']:.1f}" if np.isfinite(result["step"]) else ""])
    print(f"\n## {name}: largest relative errors, steps of {1e3 * STEP:g} ms\n")
    print(table([*head, "us per step"], rows))
    if folder is not None:
        plot_drift(folder, name, times, found, "energy", f"{name}, steps of {1e3 * STEP:g} ms")
        if name != "double pendulum":
            plot_drift(folder, name, times, found, "momentum", f"{name}, steps of {1e3 * STEP:g} ms")


def report_convergence(name: str, quick: bool, folder: Path | None) -> None:
    sizes = [0.02 / 2**k for k in range(5 if quick else 7)]
    tolerances = [10.0**-k for k in range(3, 12, 2 if quick else 1)]
    curves = {}
    for label in FIXED:
        curves[label] = (sizes, convergence(name, INTEGRATORS[label], sizes, 1.0))
    curves["Dormand-Prince"] = (tolerances, convergence(name, DormandPrince(), tolerances, 1.0))
    rows = []
    for label, (steps, result) in curves.items():
        errors = result[:, 0]
        fit = ""
        if label in FIXED:
            clear = (errors > 1e-11) & (np.arange(len(errors)) >= 2)
            fit = f"{np.polyfit(np.log(np.array(steps)[clear]), np.log(errors[clear]), 1)[0]:.2f}"
        for wanted in (1e-2,):
            enough = np.flatnonzero(errors <= wanted)
            cheap = f"{1e3 * result[enough, 1].min():.2f}" if len(enough) else "> all"
        fine = np.flatnonzero(errors <= 1e-6)
        cost = f"{1e3 * result[fine, 1].min():.2f}" if len(fine) else "> all"
        rows.append([label, fit, f"{errors[0]:.1e}", f"{errors[-1]:.1e}", cheap, cost])
    print(f"\n## {name}: order, and cost of accuracy after 1 s\n")
    print(table(["integrator", "order", "largest step", "smallest step", "ms for 1e-2", "ms for 1e-6"], rows))
    if folder is not None:
        plot_convergence(folder, name, curves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="100 s instead of 1,000 s, fewer step sizes")
    parser.add_argument("--images", type=Path, help="folder for plots")
    options = parser.parse_args()
    if options.images is not None:
        options.images.mkdir(parents=True, exist_ok=True)
        import matplotlib

        matplotlib.use("Agg")
    print(machine())
    for name in SYSTEMS:
        report_drift(name, 100.0 if options.quick else 1000.0, options.images)
        report_convergence(name, options.quick, options.images)


if __name__ == "__main__":
    main()
