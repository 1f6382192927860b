"""Single calls from Python: FK, RNEA, CRBA, ABA, state in, result out.

    python -m benchmarks.single_calls [--quick]

Prints microseconds per call and ratios to KIDO, after checking that all programs computed the same. A second
table measures the other way to ask, set, compute, get, where a program has it.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.programs import CALLS, Dartpy, Kido, Mujoco, Pinocchio, States
from benchmarks.robots import CASES, Robot
from benchmarks.timing import interleaved, machine, ratio, table

PROGRAMS = ("KIDO", "Pinocchio", "dartpy", "MuJoCo")
# MuJoCo mends the inertias of some robots and rounds what it compiles.
TOLERANCE = {"KIDO": 1e-10, "Pinocchio": 1e-10, "dartpy": 1e-10, "MuJoCo": 1e-6}
COUNT = 64


def programs_of(robot: Robot) -> list:
    """The robot in every program, all with the same states."""
    text = robot.urdf()
    states = States(joint_names(text), robot.free_base, COUNT)
    kido = Kido(text, states)
    return [kido, *(peer(text, states, kido.joints) for peer in (Pinocchio, Dartpy, Mujoco))]


def joint_names(text: str) -> list[str]:
    """Names of the moving joints of a prepared robot, its base's apart."""
    from lxml import etree

    joints = etree.fromstring(text.encode()).findall("joint")
    return [j.get("name") for j in joints if j.get("type") not in ("fixed", "floating")]


def difference(programs: list, call: str) -> dict[str, float]:
    """Largest difference of each program's result from Pinocchio's, relative to its largest entry."""
    worst = dict.fromkeys((p.name for p in programs), 0.0)
    for i in range(0, COUNT, 8):
        results = {p.name: np.array(p.in_kido_layout(call, i, p.calls()[call](i))) for p in programs}
        truth = results["Pinocchio"]
        for name, result in results.items():
            worst[name] = max(worst[name], float(np.abs(result - truth).max() / np.abs(truth).max()))
    return worst


def measure(calls_of: dict, call: str, repeats: int) -> dict[str, float]:
    """Seconds per call of every program that has it."""

    def sweep(function):
        def run():
            for i in range(COUNT):
                function(i)

        return run

    passes = {name: sweep(calls[call]) for name, calls in calls_of.items() if call in calls}
    return {name: time / COUNT for name, time in interleaved(passes, repeats).items()}


def row(robot: str, call: str, times: dict[str, float], agreement: str) -> list[str]:
    """A line of a table."""
    micro = [f"{times[n] * 1e6:.2f}" if n in times else "-" for n in PROGRAMS]
    ratios = [ratio(times.get(n), times["KIDO"]) for n in PROGRAMS[1:]]
    return [robot, call, *micro, *ratios, agreement]


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, and two robots")
    parser.add_argument("--robot", choices=[case.name for case in CASES], help="only this one")
    options = parser.parse_args(arguments)
    repeats = 20 if options.quick else 300
    cases = [c for c in CASES if options.robot in (None, c.name)]
    if options.quick and not options.robot:
        cases = [c for c in cases if c.name in ("panda", "talos")]
    stateless, stateful = [], []
    for robot in cases:
        programs = programs_of(robot)
        calls = {p.name: p.calls() for p in programs}
        setting = {
            "KIDO": programs[0].set_compute_get(),
            "dartpy": calls["dartpy"],
            "MuJoCo": calls["MuJoCo"],
        }
        for call in CALLS:
            agreement = "-"
            if call != "FK":
                worst = difference(programs, call)
                wrong = {name: d for name, d in worst.items() if not d <= TOLERANCE[name]}
                agreement = f"{worst['KIDO']:.0e}" if not wrong else f"DIFFER {wrong}"
            stateless.append(row(robot.name, call, measure(calls, call, repeats), agreement))
            if call != "FK":
                stateful.append(row(robot.name, call, measure(setting, call, repeats), agreement))
    head = ["robot", "call", *(f"{n} [us]" for n in PROGRAMS), *(f"{n} / KIDO" for n in PROGRAMS[1:])]
    print(f"{machine()}\n")
    print(f"State in, result out: best of {repeats} rounds\n")
    print(table([*head, "KIDO - Pinocchio"], stateless))
    print("\nSet, compute, get\n")
    print(table([*head, "KIDO - Pinocchio"], stateful))


if __name__ == "__main__":
    main()
