"""Modes of finite elements against analytic values, by the size of elements, and what making them costs.

`python -m benchmarks.finite_elements [URDF LINK ...]`: the links are made flexible.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy

import kido
from kido.flexible import Material, Structure, make_flexible, plate, reduced_modes, solid

NU = 0.3
CLAMPED, CANTILEVER, FREE = (35.9852, 73.394), (3.4711, 8.5067, 21.284), (13.468, 19.596, 24.271)
BETA = (1.875104068711961, 4.694091132974174, 7.854757438237613)
FREE_BETA = (4.730040744862704, 7.853204624095838)


def free(structure: Structure, number: int, unit: float) -> np.ndarray:
    """Elastic frequencies of the free structure."""
    M, K = structure.matrices()
    values = scipy.sparse.linalg.eigsh(K, number + 6, M, sigma=-(unit**2), return_eigenvectors=False)
    return np.sqrt(np.sort(values)[6:])


def row(name: str, size: str, found: np.ndarray, exact: tuple[float, ...], seconds: float) -> None:
    errors = " ".join(f"{f / e - 1.0:+.1e}" for f, e in zip(found, exact, strict=False))
    print(f"| {name:24} | {size:>4} | {errors:26} | {seconds:6.2f} |")


def plates() -> None:
    """Squares of thickness L / 1000: clamped, held at an edge, free."""
    h, material = 1e-3, Material(7e10, 2700.0, NU)
    unit = np.sqrt(material.young * h * h / 12.0 / (1.0 - NU * NU) / material.density)
    for n in (2, 4, 6):
        start = time.process_time()
        made = plate(kido.Box((1.0, 1.0, h)), material, size=1.0 / n, transform=(0.5, 0, 0))
        x = made.positions[:, :2] - (0.5, 0.0)
        rim = made.tied("rim", (0, 0, 0), np.flatnonzero((np.abs(x) > 0.5 - 1e-9).any(axis=1)))
        clamped = reduced_modes(rim, "rim", number=2, method="clamped", stiffening=False).frequencies
        spent = time.process_time() - start
        row("plate, clamped", f"1/{n}", clamped / unit, (CLAMPED[0], CLAMPED[1]), spent)
        edge = made.tied("root", (0, 0, 0), np.flatnonzero(x[:, 0] < -0.5 + 1e-9))
        held = reduced_modes(edge, "root", number=3, method="clamped", stiffening=False).frequencies
        row("plate, held at an edge", f"1/{n}", held / unit, CANTILEVER, spent)
        row("plate, free", f"1/{n}", free(made, 3, unit) / unit, FREE, spent)


def bars() -> None:
    """Bars of bricks of L / 100 thickness, without Poisson's effect: bending along z, of odd modes of both kinds."""
    h, material = 0.01, Material(2e11, 7800.0, 0.0)
    unit = np.sqrt(material.young * h * h / 12.0 / material.density)
    for n in (6, 12, 24):
        start = time.process_time()
        made = solid(kido.Box((1.0, 2.0 * h, h)), material, size=1.0 / n, transform=(0.5, 0, 0))
        bar = made.tied("root", (0, 0, 0), np.flatnonzero(made.positions[:, 0] < 1e-9))
        found = np.sqrt(reduced_modes(bar, "root", number=8, method="clamped", stiffening=False).frequencies / unit)
        spent = time.process_time() - start
        row(
            "bar, clamped (beta L)",
            f"1/{n}",
            np.array([min(found, key=lambda f, b=b: abs(f - b)) for b in BETA]),
            BETA,
            spent,
        )
        loose = np.sqrt(free(made, 6, unit) / unit)
        near = np.array([min(loose, key=lambda f, b=b: abs(f - b)) for b in FREE_BETA])
        row("bar, free (beta L)", f"1/{n}", near, FREE_BETA, spent)


def main(arguments: list[str]) -> None:
    print(f"| {'structure':24} | size | {'errors':26} | CPU [s] |\n|{'-' * 26}|------|{'-' * 28}|---------|")
    plates()
    bars()
    for path, link in zip(arguments[::2], arguments[1::2], strict=True):
        robot = kido.load(path)
        start, wall = time.process_time(), time.perf_counter()
        flexible = make_flexible(robot.body(link), Material(7e10, 2700.0, 0.33), modes=6)
        spent = time.process_time() - start, time.perf_counter() - wall
        hertz = ", ".join(f"{f / (2.0 * np.pi):.0f}" for f in flexible.modes.frequencies)
        print(f"{robot.name} {link}: {hertz} Hz; {spent[0]:.1f} s of a processor, {spent[1]:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
