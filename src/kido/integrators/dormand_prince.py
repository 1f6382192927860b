"""The adaptive method of Dormand and Prince."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kido.errors import ModelError
from kido.integrators.explicit import explicit_step
from kido.integrators.integrator import CompiledIntegrator, count, positive
from kido.integrators.schema import MOTION

_A = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_DB = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
_C = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_DENSE = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)


@dataclass(frozen=True)
class DormandPrince(CompiledIntegrator):
    """Runge-Kutta method of fifth order with error control by an embedded fourth-order one.

    The error of a step, of displacements on the manifold and of velocities, is kept below
    atol + rtol |value| in the root mean square (for rotations: atol + rtol, in radians). Step sizes follow a
    proportional-integral law. The last evaluation of a step is the first of the next: six evaluations a step.

    Args:
        rtol: relative tolerance.
        atol: absolute tolerance [m, rad, m/s, rad/s].
        dense: results between the ends of steps come from the fourth-order interpolant; otherwise steps are
            shortened to meet requested times.
        first_step: size of the first step tried [s].
        max_step: largest step [s].
        max_steps: steps tried, accepted or not, after which a `StateError` is raised.

    Source: Dormand, Prince (1980); Hairer, Norsett, Wanner (1993), sections II.4 to II.6.
    """

    rtol: float = 1e-6
    atol: float = 1e-8
    dense: bool = True
    first_step: float = 1e-3
    max_step: float = float("inf")
    max_steps: int = 1_000_000
    adaptive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for key in ("rtol", "atol"):
            object.__setattr__(self, key, positive(getattr(self, key), f"DormandPrince: {key}", zero=True))
        if self.rtol + self.atol <= 0.0:
            raise ModelError("DormandPrince: rtol and atol: at least one must be above 0")
        object.__setattr__(self, "first_step", positive(self.first_step, "DormandPrince: first_step"))
        object.__setattr__(self, "max_step", positive(self.max_step, "DormandPrince: max_step", infinite=True))
        object.__setattr__(self, "max_steps", count(self.max_steps, "DormandPrince: max_steps"))
        object.__setattr__(self, "dense", bool(self.dense))

    @property
    def step_function(self) -> Any:
        return explicit_step

    def configure(self, motion: MOTION) -> None:
        motion.num_stages, motion.adaptive, motion.dense, motion.max_steps = 7, 1, int(self.dense), self.max_steps
        motion.rtol, motion.atol = self.rtol, self.atol
        motion.next_size, motion.last_error = min(self.first_step, self.max_step), 1e-4
        for row, numbers in enumerate(_A, start=1):
            motion.A[row, : len(numbers)] = numbers
        motion.b[:6] = _A[-1]
        motion.db[:7] = _DB
        motion.c[:7] = _C
        motion.db_dense[:7] = _DENSE
