"""The classical Runge-Kutta method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kido.integrators.explicit import explicit_step
from kido.integrators.integrator import CompiledIntegrator
from kido.integrators.schema import MOTION


@dataclass(frozen=True)
class RK4(CompiledIntegrator):
    """Classical Runge-Kutta method in four evaluations, fourth order for all joints (`kido.integrators.explicit`)."""

    @property
    def step_function(self) -> Any:
        return explicit_step

    def configure(self, motion: MOTION) -> None:
        motion.num_stages = 4
        motion.A[1, 0], motion.A[2, 1], motion.A[3, 2] = 1 / 2, 1 / 2, 1.0
        motion.b[:4] = 1 / 6, 1 / 3, 1 / 3, 1 / 6
        motion.c[:4] = 0.0, 1 / 2, 1 / 2, 1.0
