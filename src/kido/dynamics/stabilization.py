"""How an integration keeps loops closed whose solver takes nothing for granted."""

from __future__ import annotations

from typing import Any, ClassVar

from kido.attributes import dataclass
from kido.errors import ModelError, NameLookupError
from kido.integrators.integrator import positive

__all__ = ["GGL", "Baumgarte", "Projection", "Stabilization"]


@dataclass(frozen=True)
class Stabilization:
    """What is done about the drift of G udot = gamma: integrated twice, errors of rows grow.

    Accelerations meet the rows whatever it is.
    """

    closes_stages: ClassVar[bool] = False
    closes_steps: ClassVar[bool] = False

    @property
    def gains(self) -> tuple[float, float]:
        """alpha [1/s] and beta [1/s] of Baumgarte's terms; zero: there are none."""
        return 0.0, 0.0


@dataclass(frozen=True)
class Projection(Stabilization):
    """State projected after each step, by the change that is least in kinetic energy: the default.

    q <- q (+) -M^-1 G^T S^+ phi until phi = 0, then u <- u - M^-1 G^T S^+ (G u - U), with S = G M^-1 G^T.
    A step keeps its order: what is taken off is of the size of its error.

    Source: Hairer, Wanner (1996), Solving ODEs II, VII.2; Featherstone (2008), ch. 8.
    """

    closes_steps: ClassVar[bool] = True


@dataclass(frozen=True)
class GGL(Stabilization):
    """The stabilised formulation of index 2, by Gear, Gupta and Leimkuhler.

    qdot = u - M^-1 G^T mu with phi = 0 and G u = U: velocities that move positions meet the rows at every stage,
    mu = S^+ (G u - U), and those at the end of a step phi = 0 and G u = U. One response more in each stage than
    `Projection` has.

    Source: Gear, Leimkuhler, Gupta (1985), Automatic integration of Euler-Lagrange equations with constraints.
    """

    closes_stages: ClassVar[bool] = True
    closes_steps: ClassVar[bool] = True


@dataclass(frozen=True)
class Baumgarte(Stabilization):
    """Errors of rows die out as those of a damped oscillator.

    G udot = gamma - 2 alpha (G u - U) - beta^2 phi. It costs nothing, leaves errors of the size of the step's, and
    takes the smaller steps the larger the gains are: 1/alpha is to be well above the step.

    Args:
        alpha: [1/s], above 0.
        beta: [1/s]; alpha by default, which is critical damping.

    Source: Baumgarte (1972), Stabilization of constraints and integrals of motion in dynamical systems.
    """

    alpha: float = 20.0
    beta: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", positive(self.alpha, "Baumgarte: alpha"))
        if self.beta is not None:
            object.__setattr__(self, "beta", positive(self.beta, "Baumgarte: beta", zero=True))

    @property
    def gains(self) -> tuple[float, float]:
        """alpha and beta [1/s]."""
        return self.alpha, self.alpha if self.beta is None else self.beta


BY_NAME: dict[str, type[Stabilization]] = {"projection": Projection, "ggl": GGL, "baumgarte": Baumgarte}


def checked_stabilization(value: Any) -> Stabilization:
    """A stabilization from one or its name; `Projection` from None.

    Raises:
        NameLookupError: there is none of this name.
        ModelError: something else.
    """
    if value is None:
        return Projection()
    if isinstance(value, str):
        if value.lower() not in BY_NAME:
            raise NameLookupError("stabilization", value, list(BY_NAME))
        return BY_NAME[value.lower()]()
    if not isinstance(value, Stabilization):
        raise ModelError(f"stabilization: expected one of kido.dynamics, or its name, got {value!r}")
    return value
