"""Explicit Euler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kido.integrators.explicit import explicit_step
from kido.integrators.integrator import CompiledIntegrator
from kido.integrators.schema import MOTION


@dataclass(frozen=True)
class ExplicitEuler(CompiledIntegrator):
    """q1 = q0 moved by h u0, u1 = u0 + h FD(q0, u0). First order.

    It gains energy in any oscillation: a yardstick rather than a tool.
    """

    @property
    def step_function(self) -> Any:
        return explicit_step

    def configure(self, motion: MOTION) -> None:
        motion.num_stages = 1
        motion.b[0] = 1.0
