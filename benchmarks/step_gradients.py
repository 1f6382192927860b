"""Derivatives of a step of robots on the ground: KIDO's exact ones, and MuJoCo's differences.

    python -m benchmarks.step_gradients [--quick] [--robot NAME]

All of d(q, u)+ / d(q, u, forces), of robots of `robots_on_ground.py` that stand by a controller. MuJoCo's
`mjd_transitionFD` with differences on one side, over all coordinates (an actuator each), as it is used most. KIDO's are
compared with central differences of its own steps; a gradient pulled back is the same derivatives times a vector.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.robots_on_ground import Case, Kido, Mujoco, cases, gains
from benchmarks.timing import interleaved, machine, table

HEADER = ("robot", "coordinates", "contacts", "step [us]", "KIDO [us]", "KIDO / step")
HEADER += ("pulled back [us]", "/ step", "MuJoCo step", "MuJoCo [us]")
SETTLE = 300  # steps


def settled(case: Case, make: Callable[[Case], Any]) -> Any:
    """A program's robot after it has come to stand."""
    gain, program = gains(case), make(case)
    kp, kd = (np.array([gain[name][k] for name in program.names]) for k in range(2))
    for _ in range(SETTLE):
        program.control(kp, kd)
        program.step()
    return program


def transition(program: Mujoco) -> Callable[[], None]:
    """MuJoCo's derivatives of a step."""
    m, d, n = program.model, program.data, program.model.nv
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, m.nu))
    return lambda: program.mujoco.mjd_transitionFD(m, d, 1e-6, False, A, B if m.nu else None, None, None)


def row(case: Case, repeats: int) -> list[str]:
    """Numbers of one robot."""
    ours, theirs = settled(case, Kido), settled(case, lambda c: Mujoco(c, "pyramidal"))
    gradient = np.ones(2 * ours.robot.num_dofs)
    calls: dict[str, Callable[[], object]] = {
        "derivatives": ours.world.step_derivatives,
        "pulled": lambda: ours.world.pull_back(gradient),
        "differences": transition(theirs),
    }
    times = interleaved(calls, repeats)
    times |= interleaved({"step": lambda: ours.world.step(reset_command=False), "theirs": theirs.step}, repeats)
    us = {name: 1e6 * seconds for name, seconds in times.items()}
    return [
        *(case.name, str(ours.robot.num_dofs), str(ours.contacts())),
        *(f"{us['step']:.1f}", f"{us['derivatives']:.0f}", f"{us['derivatives'] / us['step']:.1f}"),
        *(f"{us['pulled']:.0f}", f"{us['pulled'] / us['step']:.1f}"),
        *(f"{us['theirs']:.1f}", f"{us['differences']:.0f}"),
    ]


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--robot", action="append", help="only these")
    options = parser.parse_args(arguments)
    chosen = [case for case in cases() if not options.robot or case.name in options.robot]
    rows = [row(case, 10 if options.quick else 50) for case in chosen]
    print(f"{machine()}\n\nDerivatives of a step, least of some runs\n\n{table(HEADER, rows)}")


if __name__ == "__main__":
    main()
