"""Stacks, piles and lattices at rest."""

from __future__ import annotations

import numpy as np

from benchmarks.scenes.description import Ball, Block, Body, Case, G, Scene, floor

EDGE = 0.1
CUBE = Block((EDGE, EDGE, EDGE))


def column(masses) -> Scene:
    """Cubes on one another, the first at the bottom."""
    cubes = [Body(m, CUBE, (0, 0, EDGE * (k + 0.5))) for k, m in enumerate(masses)]
    return Scene([floor(), *cubes], friction=1.0)


COLUMNS = {
    "ten equal cubes": [1.0] * 10,
    "ten cubes, top 100 times heavier": [1.0] * 9 + [100.0],
    "ten cubes, top 1000 times heavier": [1.0] * 9 + [1000.0],
    "1000 kg on 1 g": [1e-3, 1000.0],
}


def _column(name: str, sinking: bool) -> Case:
    """10 s: largest way to the side, or down [m]."""

    def measure(make) -> float:
        program = make(column(COLUMNS[name]))
        start = program.places()
        program.step(5000)
        moved = program.places() - start
        if sinking:
            return float(max(0.0, -moved[:, 2].min()))
        return float(np.linalg.norm(moved[:, :2], axis=1).max())

    what = "sinking" if sinking else "drift"
    return Case(f"{name}: {what} in 10 s [m]", 0.0, measure, aim=1e-6, scale=1.0, unit="m", long=not sinking)


def _forces(make) -> float:
    """Largest relative error of the forces between ten equal cubes at rest: j m g from the top."""
    program = make(column([1.0] * 10))
    program.step(1000)
    found = np.zeros(11)
    for touch in program.touches():
        upper = max(touch.a, touch.b)
        found[upper] += touch.force[2] if touch.b == upper else -touch.force[2]
    exact = G * np.arange(10, 0, -1)
    return float(np.abs(found[1:] / exact - 1).max())


def _lattice(make) -> float:
    """6 x 6 x 6 spheres without friction: mean over 2 s of the sum of squared penetrations, from positions [m^2]."""
    random = np.random.default_rng(0)
    balls = []
    for index in np.ndindex(6, 6, 6):
        jitter = random.uniform(0, 1e-3, 3) * [1, 1, index[2] > 0]
        balls.append(Body(10.0, Ball(0.1), 0.21 * np.array(index) + [0, 0, 0.101] + jitter))
    program = make(Scene([floor(), *balls], friction=0.0))
    upper = np.triu_indices(216, 1)
    total = 0.0
    for _ in range(100):
        program.step(10)
        at = program.places()
        gaps = np.linalg.norm(at[upper[0]] - at[upper[1]], axis=1) - 0.2
        total += (np.minimum(gaps, 0.0) ** 2).sum() + (np.minimum(at[:, 2] - 0.1, 0.0) ** 2).sum()
    return float(total / 100)


def bin_of_boxes() -> Scene:
    """100 cubes of 0.1 m in any attitude above a bin of 0.7 m."""
    random = np.random.default_rng(1)
    walls = [
        Body(0.0, Block((0.9, 0.1, 2.0)), (0, 0.4, 1.0)),
        Body(0.0, Block((0.9, 0.1, 2.0)), (0, -0.4, 1.0)),
        Body(0.0, Block((0.1, 0.7, 2.0)), (0.4, 0, 1.0)),
        Body(0.0, Block((0.1, 0.7, 2.0)), (-0.4, 0, 1.0)),
    ]
    boxes = []
    for k in range(100):
        layer, place = divmod(k, 12)
        x, y = divmod(place, 4)
        at = np.array([0.2 * (x - 1), 0.175 * (y - 1.5), 0.1 + 0.18 * layer])
        axis = random.normal(size=3)
        turn = random.uniform(0, np.pi) * axis / np.linalg.norm(axis)
        boxes.append(Body(1.0, CUBE, at, tuple(turn)))
    return Scene([floor(), *walls, *boxes], friction=0.5)


def _bin(what: str):
    def measure(make) -> float:
        program = make(bin_of_boxes())
        program.step(2500)
        return program.fastest() if what == "speed" else program.deepest()

    return measure


def cases() -> list[Case]:
    """All of this family."""
    return [
        Case(
            '6 x 6 x 6 spheres ("666"): squared penetration [m^2]', 0.0, _lattice, aim=1e-5, scale=1.0, unit="m^2",
            long=True, remark="spheres that meet within a step overlap by less than v h until the next",
        ),
        *(_column(name, sinking) for name in COLUMNS for sinking in (False, True)),
        Case("ten equal cubes: forces j m g", 0.0, _forces, scale=1.0),
        Case("100 boxes in a bin after 5 s: speed [m/s]", 0.0, _bin("speed"), scale=1.0, unit="m/s", long=True),
        Case("the same: penetration [m]", 0.0, _bin("depth"), aim=1e-5, scale=1.0, unit="m", long=True),
    ]  # fmt: skip
