"""Classes as users write them, which several tests use: an aspect, an integrator."""

from __future__ import annotations

from dataclasses import dataclass, field

import kido
from kido.integrators import Integrator


class Temperature(kido.Aspect):
    @dataclass
    class State:
        kelvin: float = 293.15

    @dataclass
    class Properties:
        conductivity: float = 50.0
        tags: list[str] = field(default_factory=list)


class Heun(Integrator):
    """A user's integrator, second order on any manifold."""

    def step(self, system, time, positions, velocities, time_step):
        h, q, u = time_step, positions, velocities
        a = system.accelerations(time, q, u)
        b = system.accelerations(time + h, system.advance(q, u, h), u + h * a)
        return system.advance(q, u + 0.5 * h * a, h), u + 0.5 * h * (a + b)
