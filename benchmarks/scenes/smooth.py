"""Motion without contact."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.scenes.description import Body, Case, Scene

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
import linkages as _linkages

linkages: Any = _linkages


def _torque_free(momentum: bool):
    """Relative change over 10 s at 1 ms of energy or momentum; I = diag(1, 2, 3), w0 = (0.1, 2, 0.1)."""
    moments = np.array([1.0, 2.0, 3.0])

    def measure(make) -> float:
        body = Body(1.0, None, spin=(0.1, 2.0, 0.1), moment=moments)
        program = make(Scene([body], gravity=0.0, time_step=1e-3))

        def kept() -> np.ndarray:
            turn = program.pose(0)[:3, :3]
            w = turn.T @ program.spin(0)
            return turn @ (moments * w) if momentum else np.array([0.5 * w @ (moments * w)])

        start = kept()
        worst = 0.0
        for _ in range(100):
            program.step(100)
            worst = max(worst, float(np.linalg.norm(kept() - start) / np.linalg.norm(start)))
        return worst

    return measure


def _symmetric(make) -> float:
    """Angle from Kane's closed form after 5 s at 10 ms; I = 0.04 across, J = 0.02 along z, w0 = (0.5, 0.4, 0.6).

    The body turns about the constant momentum at |H| / I, and about its own axis at w3 (1 - J / I).
    """
    across, along, w = 0.04, 0.02, np.array([0.5, 0.4, 0.6])
    body = Body(1.0, None, spin=tuple(w), moment=(across, across, along))
    program = make(Scene([body], gravity=0.0, time_step=1e-2))
    program.step(500)
    momentum = np.array([across, across, along]) * w
    exact = Rotation.from_rotvec(5.0 * momentum / across) * Rotation.from_rotvec(
        [0, 0, 5.0 * w[2] * (1 - along / across)]
    )
    return float((exact.inv() * Rotation.from_matrix(program.pose(0)[:3, :3])).magnitude())


def _four_bar(make) -> float:
    """Largest angle of the rocker off Freudenstein's equation in 2 s at 0.2 ms."""
    del make
    world, skeleton = linkages.driven_four_bar(2e-4)
    worst = 0.0
    for _ in range(100):
        world.step(100, reset_command=False)
        crank, rocker = (float(x) for x in skeleton.positions[[0, 2]])
        slope = (linkages.freudenstein(crank, rocker + 1e-6) - linkages.freudenstein(crank, rocker - 1e-6)) / 2e-6
        worst = max(worst, abs(linkages.freudenstein(crank, rocker) / slope))
    return worst


def cases() -> list[Case]:
    """All of this family."""
    return [
        Case("torque-free body, 10 s: energy", 0.0, _torque_free(False), scale=1.0),
        Case("the same: momentum", 0.0, _torque_free(True), scale=1.0),
        Case("free symmetric body, 5 s at 10 ms [rad]", 0.0, _symmetric, scale=1.0, unit="rad"),
        Case(
            "driven four-bar: off Freudenstein's equation [rad]", 0.0, _four_bar, scale=1.0, unit="rad",
            only_kido="a linkage closed by constraints, built for KIDO alone; see `benchmarks/linkages.py`",
        ),
    ]  # fmt: skip
