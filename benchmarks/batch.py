"""Batches: time of one sample, against Pinocchio's `rneaInParallel` and `abaInParallel`, and how cost grows.

    python -m benchmarks.batch [--quick] [--plots]

Both programs get the same random states of the same robots, and their results are compared first. A row's times
are of one sample in a batch of 1024, with one thread or two, best of many interleaved rounds.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path

# Before any program starts its threads: Pinocchio's would otherwise keep a core busy after their call, during ours.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import numpy as np

from benchmarks.programs import Kido, Pinocchio, States
from benchmarks.robots import CASES, Robot
from benchmarks.timing import interleaved, machine, ratio, table
from kido import quantities

ROBOTS = ("panda", "solo12", "talos")
COUNT = 1024
TOLERANCE = 1e-9  # of results, relative to the largest number
IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"


class Pair:
    """One robot in both programs, with the same states."""

    def __init__(self, robot: Robot, count: int = COUNT) -> None:
        import pinocchio as pin

        from kido.batch import Batch
        from kido.io import urdf as reader

        text = robot.urdf()
        joints = [joint.name for joint in reader.read(text).joints if joint.num_dofs == 1]
        states = States(joints, robot.free_base, count)
        self.kido = Kido(text, states)
        self.pinocchio = Pinocchio(text, states, self.kido.joints)
        self.pin = pin
        self.name, self.count = robot.name, count
        self.skeleton = self.kido.skeleton
        self.batches = {threads: Batch(self.skeleton, threads=threads) for threads in (1, 2)}
        self.q, self.u, self.a, self.tau = (np.array(x) for x in (self.kido.q, self.kido.u, self.kido.a, self.kido.tau))
        peer = self.pinocchio
        # One column for each sample, in the order in memory that Pinocchio reads without a copy.
        self.peer = [np.asfortranarray(np.array(x).T) for x in (peer.q, peer.u, peer.a, peer.tau)]
        self.pools = {threads: pin.ModelPool(peer.model, threads) for threads in (1, 2)}
        self.out, self.peer_out = np.empty_like(self.q), np.empty_like(self.peer[1])

    def calls(self, threads: int):
        """Calls over the whole batch, by program and algorithm."""
        batch, pool, pin = self.batches[threads], self.pools[threads], self.pin
        q, u, a, tau = self.q, self.u, self.a, self.tau
        pq, pu, pa, ptau = self.peer
        return {
            ("RNEA", "KIDO"): lambda: batch.inverse_dynamics(q, u, a, out=self.out),
            ("RNEA", "Pinocchio"): lambda: pin.rneaInParallel(threads, pool, pq, pu, pa, self.peer_out),
            ("ABA", "KIDO"): lambda: batch.forward_dynamics(q, u, tau, out=self.out),
            ("ABA", "Pinocchio"): lambda: pin.abaInParallel(threads, pool, pq, pu, ptau, self.peer_out),
        }

    def difference(self) -> float:
        """Largest difference of the programs' results, relative to the largest number."""
        worst = 0.0
        calls = self.calls(1)
        for algorithm in ("RNEA", "ABA"):
            calls[algorithm, "KIDO"]()
            calls[algorithm, "Pinocchio"]()
            for i in range(0, self.count, 64):
                truth = self.pinocchio.in_kido_layout(algorithm, i, self.peer_out[:, i])
                worst = max(worst, float(np.abs(self.out[i] - truth).max() / np.abs(truth).max()))
        return worst


def against_pinocchio(repeats: int) -> list[list[str]]:
    """Rows of the table: microseconds for one sample on each core."""
    rows = []
    for case in CASES:
        if case.name not in ROBOTS:
            continue
        pair = Pair(case)
        wrong = pair.difference()
        agreement = f"{wrong:.0e}" if wrong < TOLERANCE else f"DIFFER {wrong:.0e}"
        for threads in (1, 2):
            times = interleaved(pair.calls(threads), repeats)
            for algorithm in ("RNEA", "ABA"):
                ours, theirs = (1e6 * times[algorithm, p] / COUNT for p in ("KIDO", "Pinocchio"))
                rows.append(
                    [pair.name, algorithm, str(threads), f"{ours:.3f}", f"{theirs:.3f}", ratio(theirs, ours), agreement]
                )
    return rows


def all_calls(pair: Pair) -> dict:
    """Every call of a batch, and the skeleton's own calls on one sample after the other, where it has such."""
    s, batch = pair.skeleton, pair.batches[1]
    q, u, a, tau = pair.q, pair.u, pair.a, pair.tau

    def one_by_one(function, *arrays):
        return lambda: [function(*rows) for rows in zip(*arrays)]

    return {
        ("forward_kinematics", "batch"): lambda: batch.forward_kinematics(q),
        ("forward_kinematics", "single"): one_by_one(s.forward_kinematics, q),
        ("jacobian (last body)", "batch"): lambda: batch.jacobian(q, s.num_bodies - 1),
        ("mass_matrix", "batch"): lambda: batch.mass_matrix(q),
        ("mass_matrix", "single"): one_by_one(partial(quantities.mass_matrix, s), q),
        ("inverse_dynamics", "batch"): lambda: batch.inverse_dynamics(q, u, a),
        ("inverse_dynamics", "single"): one_by_one(s.inverse_dynamics, q, u, a),
        ("forward_dynamics", "batch"): lambda: batch.forward_dynamics(q, u, tau),
        ("forward_dynamics", "single"): one_by_one(s.forward_dynamics, q, u, tau),
        ("inverse_dynamics_derivatives", "batch"): lambda: batch.inverse_dynamics_derivatives(q, u, a),
        ("inverse_dynamics_derivatives", "single"): one_by_one(s.inverse_dynamics_derivatives, q, u, a),
        ("forward_dynamics_derivatives", "batch"): lambda: batch.forward_dynamics_derivatives(q, u, tau),
        ("forward_dynamics_derivatives", "single"): one_by_one(s.forward_dynamics_derivatives, q, u, tau),
        ("integrate", "batch"): lambda: batch.integrate(q, u, 0.01),
        ("simulate (a step)", "batch"): lambda: batch.simulate(q, u, tau, steps=10),
    }


def other_calls(repeats: int) -> list[list[str]]:
    """Microseconds for one sample of all calls of a batch, one thread, and the skeleton's own call beside it."""
    rows = []
    for case in CASES:
        if case.name not in ROBOTS:
            continue
        pair = Pair(case, 256)
        times = interleaved(all_calls(pair), max(3, repeats // 4))
        for name in dict.fromkeys(name for name, _ in times):
            steps = 10 if name.startswith("simulate") else 1
            ours = 1e6 * times[name, "batch"] / (pair.count * steps)
            single = times.get((name, "single"))
            alone = None if single is None else 1e6 * single / pair.count
            rows.append([pair.name, name, f"{ours:.3f}", "-" if alone is None else f"{alone:.2f}", ratio(alone, ours)])
    return rows


def time_of(pair: Pair, n: int, repeats: int) -> float:
    """Microseconds for one sample of forward dynamics of the first n samples."""
    batch, q, u, tau = pair.batches[1], pair.q[:n], pair.u[:n], pair.tau[:n]
    out = np.empty_like(q)
    call = {"": lambda: batch.forward_dynamics(q, u, tau, out=out)}
    return 1e6 * interleaved(call, max(repeats, 2000 // n))[""] / n


def by_batch_size(repeats: int) -> dict[str, list[tuple[int, float]]]:
    """Microseconds for one sample against the number of samples, one thread."""
    sizes = [2**k for k in range(13)]
    curves = {}
    for case in CASES:
        if case.name in ROBOTS:
            pair = Pair(case, sizes[-1])
            curves[pair.name] = [(n, time_of(pair, n, repeats)) for n in sizes]
    return curves


def chain(bodies: int):
    """A chain of links on joints whose axes turn from one to the next."""
    import kido

    skeleton = kido.Skeleton(f"chain of {bodies}")
    parent = None
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    for k in range(bodies):
        joint = kido.RevoluteJoint(f"j{k}", axes[k % 2], transform_from_parent=(0.0, 0.0, -0.1 if k else 0.0))
        inertia = kido.Inertia(1.0, (0.0, 0.0, -0.05), np.diag((1e-2, 1e-2, 1e-3)))
        parent = skeleton.add_body(f"b{k}", joint, parent, inertia)
    return skeleton


def chain_calls(bodies: int) -> dict:
    """Batches of 64 states of a chain, and the skeleton's own calls on them."""
    from kido.batch import Batch

    skeleton = chain(bodies)
    batch = Batch(skeleton, threads=1)
    q, u, x = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 64, bodies))
    return {
        "RNEA, batch": lambda: batch.inverse_dynamics(q, u, x),
        "ABA, batch": lambda: batch.forward_dynamics(q, u, x),
        "RNEA, one call each": lambda: [skeleton.inverse_dynamics(*rows) for rows in zip(q, u, x)],
        "ABA, one call each": lambda: [skeleton.forward_dynamics(*rows) for rows in zip(q, u, x)],
    }


def by_bodies(repeats: int) -> dict[str, list[tuple[int, float]]]:
    """Microseconds for one sample against the number of bodies."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for bodies in (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000):
        for name, time in interleaved(chain_calls(bodies), max(15, min(repeats, 2000 // bodies))).items():
            curves.setdefault(name, []).append((bodies, 1e6 * time / 64))
    return curves


def plot(curves: dict[str, list[tuple[int, float]]], x_label: str, title: str, file: str) -> None:
    """Curves on logarithmic axes, into docs/images."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.0, 4.0), layout="constrained")
    for name, points in curves.items():
        axes.loglog(*zip(*points), marker="o", markersize=3, label=name)
    axes.set(xlabel=x_label, ylabel="time of one sample [µs]", title=title)
    axes.grid(which="both", alpha=0.25)
    axes.legend()
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / file, dpi=150)
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print; with --plots, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--plots", action="store_true", help="only draw cost against batch size and number of bodies")
    options = parser.parse_args(arguments)
    repeats = 20 if options.quick else 200
    if options.plots:
        sizes, bodies = by_batch_size(repeats // 4), by_bodies(repeats // 4)
        plot(sizes, "samples in the batch", "Forward dynamics, one thread", "batch_size.png")
        plot(bodies, "bodies in a chain", "Cost against number of bodies, one thread", "batch_bodies.png")
        return
    print(f"{machine()}\n")
    print(f"One sample of {COUNT}, best of {repeats} rounds [us]\n")
    head = ["robot", "call", "threads", "KIDO", "Pinocchio", "Pinocchio / KIDO", "KIDO - Pinocchio"]
    print(table(head, against_pinocchio(repeats)))
    print("\nOne sample of 256 by a batch, one thread, and by the skeleton's own call [us]\n")
    print(table(["robot", "call", "batch", "one call", "one call / batch"], other_calls(repeats)))


if __name__ == "__main__":
    main()
