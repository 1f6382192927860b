"""Scenes with exact answers: errors and time of a step of KIDO, MuJoCo, dartpy and pybullet.

    python -m benchmarks.scenes [--quick] [--scene NAME] [--program kido]

Every program builds each scene from the same numbers and runs it with its own defaults.
"""

from __future__ import annotations

import argparse
import math
import os
import sys

from benchmarks.scenes import impacts, rolling, sliding, smooth, stacks, statics
from benchmarks.scenes.description import CannotError, Case, TooSlowError
from benchmarks.scenes.program import Program
from benchmarks.timing import machine, table

FAMILIES = (sliding, rolling, impacts, stacks, statics, smooth)
PROGRAMS = ("kido", "mujoco", "elliptic", "dartpy", "pybullet")


def program_classes(names: list[str]) -> list[type[Program]]:
    """The programs that are installed, of those named."""
    found: list[type[Program]] = []
    for name in names:
        try:
            if name == "kido":
                from benchmarks.scenes.in_kido import KidoProgram as found_class
            elif name == "mujoco":
                from benchmarks.scenes.in_mujoco import MujocoProgram as found_class
            elif name == "elliptic":
                from benchmarks.scenes.in_mujoco import EllipticProgram as found_class
            elif name == "dartpy":
                from benchmarks.scenes.in_dartpy import DartProgram as found_class
            else:
                from benchmarks.scenes.in_bullet import BulletProgram as found_class
        except ImportError as error:
            print(f"{name} is not installed: {error}", file=sys.stderr)
            continue
        found.append(found_class)
    return found


def run(case: Case, program: type[Program], patience: float) -> tuple[float, float]:
    """What the case measures in a program, and the mean time of a step [s]."""
    made: list[Program] = []

    def make(scene):
        left = patience - sum(one.seconds for one in made)
        made.append(program(scene, left))
        return made[-1]

    value = case.measure(make)
    steps = sum(one.steps - 1 for one in made)
    return value, sum(one.seconds - one.first for one in made) / steps if steps else math.nan


def number(value: float, digits: int = 2) -> str:
    """Short text of a number."""
    if math.isnan(value):
        return "never stands"
    return "0" if value == 0 else f"{value:.{digits - 1}e}"


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    cases = [case for family in FAMILIES for case in family.cases()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the longest scenes, and with less patience")
    parser.add_argument("--scene", help="only those whose name has this in it")
    parser.add_argument("--program", choices=PROGRAMS, action="append", help="only these")
    options = parser.parse_args(arguments)
    chosen = [c for c in cases if (options.scene is None or options.scene in c.name) and not (options.quick and c.long)]
    if not chosen:
        parser.error(f"no scene has {options.scene!r} in its name; there are: " + "; ".join(c.name for c in cases))
    # pybullet writes to the standard output by itself: what it says goes to the other one.
    sys.stdout.flush()
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    programs = program_classes(options.program or list(PROGRAMS))
    notes: list[str] = []
    rows = []
    for case in chosen:
        print(f"measuring {case.name} ...", file=sys.stderr)
        row = [case.name, f"{case.exact:.6g}"]
        for program in programs:
            own = program.name == "KIDO"
            try:
                if case.only_kido and not own:
                    raise CannotError(case.only_kido)
                if own:  # compile whatever the scene needs
                    run(case, program, math.inf)
                value, time = run(case, program, math.inf if own else 10.0 if options.quick else 40.0)
            except (CannotError, TooSlowError) as reason:
                who = "MuJoCo" if program.name.startswith("MuJoCo") else program.name
                note = str(reason) if case.only_kido else f"{who}: {reason}"
                if note not in notes:
                    notes.append(note)
                row += ["-"] * (2 if own else 1)
                row[-1] += f" ({notes.index(note) + 1})"
                continue
            if own:
                row.append(f"{value:.6g}")
            error = case.error(value)
            miss = " **missed**" if own and not abs(error) <= case.aim else ""
            mark = ""
            if own and case.remark:
                note = f"KIDO: {case.remark}"
                notes += [note] if note not in notes else []
                mark = f" ({notes.index(note) + 1})"
            row.append(f"{number(error)}{miss}{mark}" + ("" if math.isnan(time) else f", {1e6 * time:.0f} us"))
        rows.append(row)
    header = ["scene", "exact"]
    for program in programs:
        header += ["KIDO", "its error"] if program.name == "KIDO" else [program.name]
    print(f"{machine()}\n\nErrors, mean time of a step\n", file=output)
    print(table(header, rows), file=output)
    for index, note in enumerate(notes):
        print(f"\n({index + 1}) {note}.", file=output)
    output.close()


if __name__ == "__main__":
    main()
