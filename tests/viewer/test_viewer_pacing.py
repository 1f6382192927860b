"""Steps per frame against a clock that the test turns."""

from __future__ import annotations

import math

import pytest

from kido.viewer.pushing import Pacer


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def simulate(pacer: Pacer, clock: Clock, frames: int, frame: float, cost: float) -> int:
    total = 0
    for _ in range(frames):
        steps = pacer.due()
        total += steps
        pacer.spent(steps, steps * cost)
        clock.now += max(frame, steps * cost)
    return total


@pytest.mark.parametrize("speed", [0.1, 1.0, 4.0])
def test_simulated_time_keeps_up_with_the_clock(speed):
    clock = Clock()
    pacer = Pacer(1e-3, 60, clock)
    pacer.speed = speed
    began = clock.now
    steps = simulate(pacer, clock, 600, 1 / 60, 1e-5)
    # up to two frames are lost at the start, where the cost of a step is not known yet
    assert steps * 1e-3 == pytest.approx(speed * (clock.now - began), abs=3 / 60 * speed + 2e-3)
    assert pacer.real_time_factor == pytest.approx(speed, rel=0.05)


def test_a_slow_simulation_keeps_the_page_alive():
    clock = Clock()
    pacer = Pacer(1e-3, 60, clock)
    simulate(pacer, clock, 20, 1 / 60, 5e-3)  # a step takes five times its own length
    began, frames = clock.now, 60
    simulate(pacer, clock, frames, 1 / 60, 5e-3)
    assert (clock.now - began) / frames < 1.6 / 60
    assert pacer.real_time_factor == pytest.approx(0.2, rel=0.1)


def test_lost_time_is_not_made_up_for():
    clock = Clock()
    pacer = Pacer(1e-3, 60, clock)
    simulate(pacer, clock, 10, 1 / 60, 1e-6)
    clock.now += 30.0  # the machine slept
    assert pacer.due() <= 251
    pacer.pause()
    clock.now += 30.0
    assert pacer.due() == 1


def test_as_fast_as_possible_fills_the_frames():
    clock = Clock()
    pacer = Pacer(1e-3, 60, clock)
    pacer.speed = math.inf
    assert simulate(pacer, clock, 60, 0.0, 1e-4) > 60 * 100
