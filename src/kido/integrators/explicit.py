"""Explicit Runge-Kutta methods on the manifold of positions, in the form of Munthe-Kaas.

Within a step q = q0 moved by x, and x, u follow an ordinary equation in a vector space:

    xdot = J_r(x)^-1 u  (rotations; else xdot = u),    udot = FD(q, u, t)

so that any Runge-Kutta method keeps its order, whatever the joints, and its interpolant serves too.
Source: Munthe-Kaas (1998), High order Runge-Kutta methods on manifolds.

A system with callbacks (`kido.integrators.schema`) may alter the state of a stage, and that of the end of the step.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.integrators.integrator import CompiledIntegrator, count, positive
from kido.integrators.rates import displace, displacement_rate, evaluate_system
from kido.integrators.schema import MOTION
from kido.jit import callback, kernel, view
from kido.joints.kinds import BALL, FREE, FREE_MIXED


@kernel
def stage_state(t, d, m, s, h):
    """State of stage s: x = h sum_j A_sj K_j, u = u0 + h sum_j A_sj L_j."""
    for k in range(m.x.shape[0]):
        total = 0.0
        for j in range(s):
            total += m.A[s, j] * m.K[j, k]
        m.x[k] = h * total
    displace(t, d, m.q0, m.x)
    for k in range(m.x.shape[0]):
        total = 0.0
        for j in range(s):
            total += m.A[s, j] * m.L[j, k]
        d.u[k] = m.u0[k] + h * total


@kernel
def stage_rates(t, d, m, s):
    """K_s and L_s at the state of stage s. Returns the status of `evaluate_system`."""
    status = 0
    if s > 0 or m.reuses == 0:
        status = evaluate_system(t, d, m)
        for k in range(m.x.shape[0]):
            m.L[s, k] = d.udot[k]
    displacement_rate(t, d, m.x, m.K, s)
    return status


@kernel
def combine(t, d, m, h):
    """State at the end of the step."""
    stages = m.num_stages
    for k in range(m.x.shape[0]):
        total = 0.0
        for j in range(stages):
            total += m.b[j] * m.K[j, k]
        m.x[k] = h * total
    displace(t, d, m.q0, m.x)
    for k in range(m.x.shape[0]):
        total = 0.0
        for j in range(stages):
            total += m.b[j] * m.L[j, k]
        d.u[k] = m.u0[k] + h * total


@kernel
def is_rotation(t, k):
    """Whether coordinate k is one of a rotation vector, whose size says nothing about that of its errors."""
    i = t.body_of_dof[k]
    free = t.kind[i] == FREE_MIXED or t.kind[i] == FREE
    return t.kind[i] == BALL or (free and k < t.first_dof[i] + 3)


@kernel
def error_norm(t, d, m, h):
    """Root mean square of the embedded method's errors over atol + rtol |value|; 1 is just tolerated."""
    total, n = 0.0, 0
    for k in range(m.x.shape[0]):
        if m.counted[k] == 0:
            continue
        n += 1
        ex, eu = 0.0, 0.0
        for j in range(m.num_stages):
            ex += m.db[j] * m.K[j, k]
            eu += m.db[j] * m.L[j, k]
        size = 1.0 if is_rotation(t, k) else max(math.fabs(m.q0[k]), math.fabs(d.q[k]))
        ex *= h / (m.atol + m.rtol * size)
        size = max(math.fabs(m.u0[k]), math.fabs(d.u[k]))
        eu *= h / (m.atol + m.rtol * size)
        total += ex * ex + eu * eu
    return math.sqrt(total / max(2 * n, 1))


@callback
def explicit_step(address, stage, unused_1, unused_2):
    """A step of the method in A, b, c."""
    m = view(MOTION, address)
    t = m.tree
    d = m.data
    h = m.size
    if stage > 0:
        status = stage_rates(t, d, m, stage - 1)
        if status < 0:
            return status
    if stage < m.num_stages:
        if stage == 0:
            for k in range(m.x.shape[0]):
                m.x[k] = 0.0
        m.now = m.start + m.c[stage] * h
        if stage > 0:
            stage_state(t, d, m, stage, h)
            status = m.project(m.owner, m)
            if status < 0:
                return status
        return stage + 1
    m.now = m.start + h
    combine(t, d, m, h)
    status = m.close(m.owner, m)
    if status < 0:
        return status
    if m.adaptive != 0:
        m.error = error_norm(t, d, m, h)
    return 0


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
