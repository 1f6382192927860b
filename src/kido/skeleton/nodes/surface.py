"""What the surface of a shape is like: friction, rolling, slip, rebound, belts, softness, and how pairs combine."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.errors import KidoError, ModelError
from kido.math.transform import as_flag, as_vector, number_or_nan
from kido.reprs import brief

# Rules by which two surfaces' coefficients become the pair's. Where shapes name different ones, the last of them holds.
COMBINATION_RULES = ("average", "geometric_mean", "min", "multiply", "max")
FRAMES = ("shape", "body", "world")
Vector = tuple[float, float, float]
_SIMPLE = ("friction", "restitution", "padding")  # what contacts have, but for rows of further properties


def checked(owner: object, name: str, least: float = 0.0, most: float = math.inf, *, open_: bool = False) -> float:
    """An attribute as a finite number from `least` (excluded if `open_`) to `most`.

    Raises:
        ModelError: it is none.
    """
    value = getattr(owner, name)
    number = math.nan if isinstance(value, bool | str) else number_or_nan(value)
    if not (math.isfinite(number) and number <= most and (number > least if open_ else number >= least)):
        wanted = f"above {least:g}" if open_ else f"not below {least:g}"
        wanted = f"a finite number {wanted}" if most == math.inf else f"a number from {least:g} to {most:g}"
        raise ModelError(f"{type(owner).__name__}: {name}: expected {wanted}, got {value!r}")
    return number


def _check_numbers(owner: Any, *names: str, **more: Any) -> None:
    for name in names:
        object.__setattr__(owner, name, checked(owner, name, **more))


@dataclass(frozen=True)
class SpringDamper:
    """Softness as a spring and a damper at each contact point: f = -k g - d gdot while that is a push.

    A step takes both at its middle where it resolves them, and at its end where they are too stiff for it
    (r = h^2 k / m + h d / m beyond 4, with m the contact's own inertia; between 1 and 4 a blend). At the end of the
    step they are an error reduction and a softness of constraints (Smith, Open Dynamics Engine):

        erp = h k / (h k + d),    cfm = 1 / (h k + d)

    Args:
        stiffness: k of one contact point [N/m].
        damping: d [N s/m].
        at_end: take both at the end of the step however soft they are, as ODE and Bullet do: damped by the step
            itself, as what files say for these programs is meant.
    """

    stiffness: float
    damping: float = 0.0
    at_end: bool = False

    def __post_init__(self) -> None:
        _check_numbers(self, "stiffness", open_=True)
        _check_numbers(self, "damping")
        object.__setattr__(self, "at_end", as_flag(self.at_end, "SpringDamper: at_end"))

    def erp_cfm(self, time_step: float) -> ErpCfm:
        """The error reduction and softness that stand for both in a step of h seconds."""
        total = time_step * self.stiffness + self.damping
        return ErpCfm(time_step * self.stiffness / total, 1.0 / total)


@dataclass(frozen=True)
class ErpCfm:
    """Softness as in ODE: v_n + erp g / h + (cfm / h) p_n = 0, while p_n pushes.

    Args:
        erp: share of a penetration that a step takes back, 0 to 1.
        cfm: softness, velocity per force [m/(s N)].
    """

    erp: float = 0.2
    cfm: float = 0.0

    def __post_init__(self) -> None:
        _check_numbers(self, "erp", most=1.0)
        _check_numbers(self, "cfm")

    def spring_damper(self, time_step: float) -> SpringDamper:
        """The spring and damper that it stands for in a step of h seconds: k = erp / (h cfm), d = (1 - erp) / cfm.

        Raises:
            ModelError: erp or cfm is zero.
        """
        if self.erp == 0.0 or self.cfm == 0.0:
            raise ModelError(f"{self!r} has no spring and damper: expected erp and cfm above 0")
        return SpringDamper(self.erp / (time_step * self.cfm), (1.0 - self.erp) / self.cfm, at_end=True)


@dataclass(frozen=True)
class TimeConstant:
    """Softness by what it does to the contact's own inertia m = 1 / W_nn, whatever that is.

    A spring m / (T zeta)^2 and a damper 2 m / T: a lone contact swings with angular frequency 1 / (T zeta) and
    the damping ratio zeta.

    Args:
        time_constant: T [s].
        damping_ratio: zeta; 1 is critical damping.
    """

    time_constant: float
    damping_ratio: float = 1.0

    def __post_init__(self) -> None:
        _check_numbers(self, "time_constant", "damping_ratio", open_=True)


Softness = SpringDamper | ErpCfm | TimeConstant


@dataclass(frozen=True)
class Surface:
    """Contact properties of a shape's surface. Two surfaces make a pair's (`ContactSurfaceHandler`).

    Args:
        friction: Coulomb coefficient; along the first friction direction if there is a second one.
        secondary_friction: coefficient across the first direction; None: the same. The friction forces possible
            are an ellipse, and friction takes the most power from the slip.
        first_friction_direction: where friction or slip depend on the direction; what counts is its part in the
            tangent plane. None: the x axis.
        friction_frame: axes of that direction: "shape", "body" or "world".
        rolling_friction: lever arm [m]: a torque of at most that times the normal force resists rolling.
        torsional_friction: lever arm [m]: the same about the normal.
        slip: slip compliance [m/(s N)] along the first direction: velocity of creep per friction force.
        secondary_slip: the same across it; None: the same.
        restitution: coefficient of restitution, 0 to 1.
        surface_velocity: velocity of the surface in the shape's axes, beside the shape's motion: a belt [m/s].
        surface_spin: angular velocity of the surface about the shape's origin, in its axes: a turntable [rad/s].
        softness: None: rigid; or a `SpringDamper`, `ErpCfm` or `TimeConstant`.
        slop: penetration that position correction leaves alone [m]; None: the world's.
        max_correction_speed: [m/s] fastest correction of a penetration; None: the world's.
        friction_rule, restitution_rule: how a pair combines them, one of `COMBINATION_RULES`; None: the world's.
        padding: how far the surface that others touch lies outside of the geometry [m], as if that were swept by a
            ball of this radius. Contacts, distances and sweeps have it; rays, inertia and pictures do not.
        priority: of two surfaces the one with the higher priority alone makes the pair's.

    Raises:
        ModelError: a value out of range.
    """

    friction: float = 1.0
    secondary_friction: float | None = None
    first_friction_direction: Vector | None = None
    friction_frame: str = "shape"
    rolling_friction: float = 0.0
    torsional_friction: float = 0.0
    slip: float = 0.0
    secondary_slip: float | None = None
    restitution: float = 0.0
    surface_velocity: Vector = (0.0, 0.0, 0.0)
    surface_spin: Vector = (0.0, 0.0, 0.0)
    softness: Softness | None = None
    slop: float | None = None
    max_correction_speed: float | None = None
    friction_rule: str | None = None
    restitution_rule: str | None = None
    padding: float = 0.0
    priority: int = 0

    __repr__ = brief

    def __post_init__(self) -> None:
        _check_numbers(self, "friction", "rolling_friction", "torsional_friction", "slip", "padding")
        _check_numbers(self, "restitution", most=1.0)
        for name in ("secondary_friction", "secondary_slip", "slop", "max_correction_speed"):
            if getattr(self, name) is not None:
                _check_numbers(self, name)
        for name in ("surface_velocity", "surface_spin", "first_friction_direction"):
            value = getattr(self, name)
            if value is not None:
                vector = as_vector(value, f"Surface: {name}")
                if name == "first_friction_direction" and not vector.any():
                    raise ModelError(f"Surface: {name}: expected a vector that is not zero, got {value!r}")
                object.__setattr__(self, name, tuple(float(x) for x in vector))
        self._check_choice("friction_frame", FRAMES)
        for name in ("friction_rule", "restitution_rule"):
            if getattr(self, name) is not None:
                self._check_choice(name, COMBINATION_RULES)
        if self.softness is not None and not isinstance(self.softness, SpringDamper | ErpCfm | TimeConstant):
            raise ModelError(
                f"Surface: softness: expected None, a SpringDamper, ErpCfm or TimeConstant, got {self.softness!r}"
            )
        if isinstance(self.priority, bool) or not isinstance(self.priority, int | np.integer):
            raise ModelError(f"Surface: priority: expected a whole number, got {self.priority!r}")

    def _check_choice(self, name: str, valid: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if not isinstance(value, str) or value not in valid:
            raise ModelError(f"Surface: {name}: expected one of {', '.join(valid)}, got {value!r}")

    @property
    def is_simple(self) -> bool:
        """Whether contacts have its friction and restitution alone, the same in all directions, by default rules."""
        return all(getattr(self, f.name) == f.default for f in fields(self) if f.name not in _SIMPLE)

    @property
    def is_directed(self) -> bool:
        """Whether friction or slip depend on the direction."""
        return (self.secondary_friction is not None and self.secondary_friction != self.friction) or (
            self.secondary_slip is not None and self.secondary_slip != self.slip
        )


def softness_to_dict(softness: Softness | None) -> dict[str, Any] | None:
    """Its class and numbers."""
    if softness is None:
        return None
    return {"kind": type(softness).__name__, **{f.name: getattr(softness, f.name) for f in fields(softness)}}


def softness_from_dict(data: dict[str, Any] | None) -> Softness | None:
    """What `softness_to_dict` was given.

    Raises:
        ModelError: no such class, or other numbers.
    """
    if data is None:
        return None
    kinds: dict[str, Any] = {kind.__name__: kind for kind in (SpringDamper, ErpCfm, TimeConstant)}
    numbers = {name: value for name, value in data.items() if name != "kind"}
    try:
        return kinds[data["kind"]](**numbers)
    except (KeyError, TypeError) as error:
        raise ModelError(f"softness: expected one of {', '.join(kinds)} and its numbers, got {data!r}") from error


def surface_to_dict(surface: Surface) -> dict[str, Any]:
    """What differs from `Surface()`, as plain data."""
    data = {f.name: getattr(surface, f.name) for f in fields(surface) if getattr(surface, f.name) != f.default}
    if "softness" in data:
        data["softness"] = softness_to_dict(surface.softness)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def surface_from_dict(data: dict[str, Any]) -> Surface:
    """What `surface_to_dict` was given.

    Raises:
        ModelError: a value out of range, or of a name that no surface has.
    """
    values = dict(data)
    try:
        if "softness" in values:
            values["softness"] = softness_from_dict(values["softness"])
        return Surface(**values)
    except (TypeError, AttributeError) as error:
        if isinstance(error, KidoError):
            raise
        raise ModelError(f"surface: {error}") from error
