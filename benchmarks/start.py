"""What it costs that KIDO is compiled when it is used: importing it, first calls, and the least that a call takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable

import numpy as np

from benchmarks.robots import CASES
from benchmarks.timing import table

_IMPORT = """
import time
start = time.perf_counter()
import {0}
print(time.perf_counter() - start)
"""
_FIRST_CALL = """
import time
import kido
from benchmarks.robots import CASES
from kido.io import urdf
text = CASES[0].urdf()
skeleton = urdf.read(text)
rest = skeleton.positions
start = time.perf_counter()
{0}
print(time.perf_counter() - start)
"""
_CALLS = {
    "forward dynamics": "skeleton.forward_dynamics(rest, rest, rest)",
    "mass matrix": "kido.quantities.mass_matrix(skeleton, rest)",
    "derivatives of forward dynamics": "skeleton.forward_dynamics_derivatives(rest, rest, rest)",
    "first step of a world": "world = kido.World(); world.add_skeleton(skeleton); world.step()",
}


def _seconds(program: str, **environment: str) -> float:
    """What a program in a process of its own prints."""
    run = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return float(run.stdout.split()[-1])


def _least(call: Callable[[], object]) -> float:
    """Least seconds of a call."""
    return min(timeit.repeat(call, number=1000, repeat=200)) / 1000


def start_rows() -> list[list[str]]:
    """Imports, and first calls with empty and filled caches of compiled code."""
    rows = []
    for module in ("numpy", "numba", "pinocchio", "kido", "kido.skeleton"):
        best = min(_seconds(_IMPORT.format(module)) for _ in range(5))
        rows.append([f"import {module}", "-", f"{best:.2f} s"])
    for name, call in _CALLS.items():
        with tempfile.TemporaryDirectory() as cache:
            cold = _seconds(_FIRST_CALL.format(call), KIDO_CACHE_DIR=cache)
            warm = min(_seconds(_FIRST_CALL.format(call), KIDO_CACHE_DIR=cache) for _ in range(3))
        rows.append([f"first call: {name}", f"{cold:.2f} s", f"{warm * 1e3:.1f} ms"])
    return rows


def overhead_rows() -> list[list[str]]:
    """Least times of getters whose result is current, beside what the result's array alone costs."""
    from kido.io import urdf

    skeleton = urdf.read(CASES[0].urdf())
    body = skeleton.bodies[-1]
    same = skeleton.positions

    def set_same():
        skeleton.positions = same

    calls = {
        "skeleton.positions": lambda: skeleton.positions,
        "skeleton.positions = the same": set_same,
        "body.world_transform": lambda: body.world_transform,
        "body.spatial_velocity": lambda: body.spatial_velocity,
        "skeleton.mass_matrix": lambda: skeleton.mass_matrix,
        "skeleton.jacobian(body)": lambda: skeleton.jacobian(body),
        "skeleton.kinetic_energy": lambda: skeleton.kinetic_energy,
        "skeleton.com": lambda: skeleton.com,
        "np.empty((4, 4))": lambda: np.empty((4, 4)),
        "an empty lambda": lambda: None,
    }
    return [[name, f"{_least(call) * 1e6:.2f}"] for name, call in calls.items()]


def print_start() -> None:
    """Measure and print both tables."""
    print("### Start: the first time on a machine, and later\n")
    print(table(["what", "cache of compiled code empty", "filled"], start_rows()))
    print("\n### Least times of calls whose result is current (panda)\n")
    print(table(["call", "us"], overhead_rows()))
