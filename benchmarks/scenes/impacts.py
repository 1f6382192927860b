"""Impacts."""

from __future__ import annotations

import numpy as np

from benchmarks.scenes.description import Ball, Body, Case, G, Scene, floor


def _rebound(e: float) -> Case:
    """A sphere dropped from 1 m: e^2 h."""

    def measure(make) -> float:
        program = make(
            Scene([floor(), Body(0.1, Ball(0.05), (0, 0, 1.05))], friction=0.5, restitution=e, time_step=1e-3)
        )
        fall = np.sqrt(2 / G)
        program.step(int(fall / 1e-3) + 3)
        top = 0.0
        for _ in range(int(2 * e * fall / 1e-3) - 6):
            program.step(1)
            top = max(top, float(program.place(1)[2]) - 0.05)
        return top

    return Case(f"rebound from 1 m, e = {e:g} [m]", e * e, measure)


def _row(index: int):
    """Three equal balls in a row, the first with 1 m/s, the others at rest and touching: e = 1, no gravity."""

    def measure(make) -> float:
        balls = [Body(1.0, Ball(0.1), (x, 0, 0), velocity=(v, 0, 0)) for x, v in ((-0.2055, 1.0), (0, 0), (0.2, 0))]
        program = make(Scene(balls, friction=0.0, restitution=1.0, gravity=0.0, time_step=1e-3))
        program.step(40)
        if index < 0:
            return sum(float(program.velocity(i) @ program.velocity(i)) for i in range(3))
        return float(program.velocity(index)[0])

    return measure


def cases() -> list[Case]:
    """All of this family."""
    return [
        *(_rebound(e) for e in (0.5, 0.8, 1.0)),
        Case("three touching balls, e = 1: speed of the first, shock by shock [m/s]", 0.0, _row(0), scale=1.0),
        Case("the same: energy after / before", 1.0, _row(-1)),
    ]
