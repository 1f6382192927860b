"""Every kinematic and dynamic quantity, from Python, beside Pinocchio, dartpy and MuJoCo.

    python -m benchmarks.quantities [--quick] [--robot panda] [--quantity RNEA]

Prints microseconds per call, and times of the others as multiples of KIDO's, after turning all results into one
layout and comparing them: first one call with the state given, then set, compute, get. On Atlas, the mass matrix
after new positions. Then what it costs that KIDO is compiled when it is used.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from lxml import etree

from benchmarks import calls_dartpy, calls_kido, calls_mujoco, calls_pinocchio
from benchmarks.calls import QUANTITIES, Call
from benchmarks.programs import Dartpy, Kido, Mujoco, Pinocchio, States
from benchmarks.robots import CASES, Robot
from benchmarks.start import print_start
from benchmarks.timing import interleaved, machine, ratio, table

PROGRAMS = ("KIDO", "Pinocchio", "dartpy", "MuJoCo")
COUNT = 64  # states, which all calls go through in turn
DART_DATA = Path(os.environ.get("KIDO_DART_DATA", Path(__file__).parents[2] / "shared" / "data" / "dart"))
ATLAS = Robot("atlas", str(DART_DATA / "sdf" / "atlas" / "atlas_v3_no_head.urdf"), True)


class Measured:
    """A robot in every program, all with the same states, and its calls."""

    def __init__(self, robot: Robot):
        self.robot = robot
        text = robot.urdf()
        states = States(joint_names(text), robot.free_base, COUNT, joint_limits(text))
        kido = Kido(text, states)
        pinocchio, dartpy, mujoco = (peer(text, states, kido.joints) for peer in (Pinocchio, Dartpy, Mujoco))
        self.programs = {p.name: p for p in (kido, pinocchio, dartpy, mujoco)}
        self.stateless = {
            "KIDO": calls_kido.stateless(kido),
            "Pinocchio": calls_pinocchio.stateless(pinocchio, kido),
        }
        self.held = {
            "KIDO": calls_kido.set_compute_get(kido),
            "Pinocchio": self.stateless["Pinocchio"],
            "dartpy": calls_dartpy.set_compute_get(dartpy, kido),
            "MuJoCo": calls_mujoco.set_compute_get(mujoco),
        }

    def differences(self, quantity: str) -> dict[str, float]:
        """Largest difference from Pinocchio's result of KIDO's two calls and of dartpy's, by the largest entry."""
        calls = {
            "KIDO": self.stateless["KIDO"].get(quantity),
            "KIDO, held": self.held["KIDO"].get(quantity),
            "dartpy": self.held["dartpy"].get(quantity),
        }
        worst = {}
        for i in range(0, COUNT, 8):
            truth = self._tidy("Pinocchio", self.stateless["Pinocchio"][quantity], quantity, i)
            for name, call in calls.items():
                if call is None or call.tidy is None:
                    continue
                if name == "KIDO, held":  # it is read as the other is
                    call = call._replace(tidy=self.stateless["KIDO"][quantity].tidy)
                found = self._tidy(name.split(",")[0], call, quantity, i)
                error = float(np.abs(found - truth).max() / np.abs(truth).max())
                worst[name] = max(worst.get(name, 0.0), error)
        return worst

    def _tidy(self, program: str, call: Call, quantity: str, i: int) -> np.ndarray:
        return self.programs[program].in_kido_layout(QUANTITIES[quantity], i, call.result(i))


def joint_names(text: str) -> list[str]:
    """Names of the moving joints of a prepared robot, its base's apart."""
    joints = etree.fromstring(text.encode()).findall("joint")
    return [j.get("name") for j in joints if j.get("type") not in ("fixed", "floating")]


def joint_limits(text: str) -> np.ndarray:
    """Lower and upper limits of the same joints, (2, joints); infinite where there are none."""
    moving = [etree.fromstring(text.encode()).find(f"joint[@name='{name}']/limit") for name in joint_names(text)]
    bounds = [(-np.inf, np.inf) if x is None else (float(x.get("lower", 0)), float(x.get("upper", 0))) for x in moving]
    return np.array([(-np.inf, np.inf) if low == high else (low, high) for low, high in bounds]).T


def times(calls: dict[str, dict[str, Call]], quantity: str, repeats: int, seconds: float) -> dict[str, float]:
    """Seconds per call of every program that has it."""
    sweeps = {name: of[quantity].sweep() for name, of in calls.items() if quantity in of}
    return {name: time / COUNT for name, time in interleaved(sweeps, repeats, seconds).items()}


def cells(found: dict[str, float], programs: tuple[str, ...]) -> list[str]:
    """Microseconds, then multiples of KIDO's time."""
    micro = [f"{found[n] * 1e6:.2f}" if n in found else "-" for n in programs]
    return [*micro, *(ratio(found.get(n), found["KIDO"]) for n in programs[1:])]


def header(programs: tuple[str, ...]) -> list[str]:
    """Heads of the columns that `cells` gives."""
    return [*(f"{n} [us]" for n in programs), *(f"{n} / KIDO" for n in programs[1:])]


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--robot", choices=[case.name for case in CASES], action="append", help="only this one")
    parser.add_argument("--quantity", choices=QUANTITIES, action="append", help="only this one")
    options = parser.parse_args(arguments)
    repeats, seconds = (30, 0.2) if options.quick else (300, 0.7)
    names = options.robot or ("panda", "solo12", "talos")
    quantities = options.quantity or list(QUANTITIES)
    print(f"{machine()}\n")
    for robot in (case for case in CASES if case.name in names):
        measured = Measured(robot)
        rows, held_rows = [], []
        for quantity in quantities:
            errors = {name: f"{error:.0e}" for name, error in measured.differences(quantity).items()}
            found = times(measured.stateless, quantity, repeats, seconds)
            rows.append([quantity, *cells(found, PROGRAMS[:2]), errors["KIDO"]])
            if quantity in measured.held["KIDO"]:
                found = times(measured.held, quantity, repeats, seconds)
                held_rows.append([quantity, *cells(found, PROGRAMS), errors["KIDO, held"], errors.get("dartpy", "-")])
        dofs = measured.programs["KIDO"].skeleton.num_dofs
        print(f"### {robot.name}, {dofs} DOFs: one call with the state given\n")
        print(table(["quantity", *header(PROGRAMS[:2]), "KIDO - Pinocchio"], rows))
        print(f"\n### {robot.name}, {dofs} DOFs: set, compute, get\n")
        print(table(["quantity", *header(PROGRAMS), "KIDO - Pinocchio", "dartpy - Pinocchio"], held_rows), flush=True)
        print()
    if options.robot or options.quantity:
        return
    if Path(ATLAS.file).is_file():
        measured = Measured(ATLAS)
        found = times(measured.held, "CRBA", repeats, seconds)
        errors = measured.differences("CRBA")
        row = [*cells(found, PROGRAMS), f"{errors['KIDO, held']:.0e}", f"{errors['dartpy']:.0e}"]
        print("### Atlas: new positions, then the mass matrix\n")
        print(table([*header(PROGRAMS), "KIDO - Pinocchio", "dartpy - Pinocchio"], [row]))
        print()
    print_start()


if __name__ == "__main__":
    main()
