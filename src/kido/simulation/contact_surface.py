"""The surface of a pair of shapes in contact, and who makes it of the two shapes' own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.attributes import FixedAttributes, dataclass
from kido.errors import ModelError
from kido.math.transform import as_vector
from kido.skeleton.nodes.surface import (
    COMBINATION_RULES,
    ErpCfm,
    Softness,
    SpringDamper,
    Surface,
    TimeConstant,
    Vector,
    checked,
)

if TYPE_CHECKING:
    from kido.skeleton import ShapeNode

AXES = ("a", "b", "world")


@dataclass(frozen=True)
class ContactSurface:
    """Contact properties of a pair of shapes a and b: what `Surface` says of one.

    Args:
        friction, secondary_friction: Coulomb coefficients along and across the first direction; None: the same.
        first_friction_direction: in the axes that `direction_of` names; None: the same friction everywhere.
        direction_of: "a" or "b", the axes of that shape, or "world".
        rolling_friction, torsional_friction: lever arms [m].
        slip, secondary_slip: slip compliance [m/(s N)] along and across the first direction; None: the same.
        restitution: coefficient of restitution, 0 to 1.
        velocity_a, spin_a: velocity [m/s] and angular velocity [rad/s] of surface a, in the axes of shape a and
            about its origin, beside the motion of the shape.
        velocity_b, spin_b: the same of surface b.
        softness: of each contact point; None: rigid.
        slop: penetration that position correction leaves alone [m]; None: the world's.
        max_correction_speed: [m/s] fastest correction of a penetration; None: the world's.

    Raises:
        ModelError: a value out of range.
    """

    friction: float = 1.0
    secondary_friction: float | None = None
    first_friction_direction: Vector | None = None
    direction_of: str = "world"
    rolling_friction: float = 0.0
    torsional_friction: float = 0.0
    slip: float = 0.0
    secondary_slip: float | None = None
    restitution: float = 0.0
    velocity_a: Vector = (0.0, 0.0, 0.0)
    spin_a: Vector = (0.0, 0.0, 0.0)
    velocity_b: Vector = (0.0, 0.0, 0.0)
    spin_b: Vector = (0.0, 0.0, 0.0)
    softness: Softness | None = None
    slop: float | None = None
    max_correction_speed: float | None = None

    def __post_init__(self) -> None:
        for name in ("friction", "rolling_friction", "torsional_friction", "slip"):
            checked(self, name)
        checked(self, "restitution", most=1.0)
        for name in ("secondary_friction", "secondary_slip", "slop", "max_correction_speed"):
            if getattr(self, name) is not None:
                checked(self, name)
        for name in ("velocity_a", "spin_a", "velocity_b", "spin_b"):
            as_vector(getattr(self, name), f"ContactSurface: {name}")
        if self.first_friction_direction is not None:
            if not as_vector(self.first_friction_direction, "ContactSurface: first_friction_direction").any():
                raise ModelError("ContactSurface: first_friction_direction: expected a vector that is not zero")
        if self.direction_of not in AXES:
            raise ModelError(
                f"ContactSurface: direction_of: expected one of {', '.join(AXES)}, got {self.direction_of!r}"
            )
        if self.softness is not None and not isinstance(self.softness, SpringDamper | ErpCfm | TimeConstant):
            raise ModelError(f"ContactSurface: softness: expected None or a softness, got {self.softness!r}")


class ContactSurfaceHandler(FixedAttributes):
    """Makes a pair's surface of the two shapes'. Derive from it to say what certain pairs are like:

        >>> class OilyGripper(ContactSurfaceHandler):
        ...     def pair(self, shape_a, shape_b):
        ...         surface = super().pair(shape_a, shape_b)
        ...         if "finger" in (shape_a.name, shape_b.name):
        ...             surface = replace(surface, friction=0.05)
        ...         return surface
        >>> world.contact_surface_handler = OilyGripper()

    `pair` is asked once for each pair of shapes, when they first touch, and its answer is kept in compiled arrays, so
    that steps stay compiled. They are asked anew when a surface changes, and when the handler is assigned again. A
    class that has a method `contact(contact, surface)` is asked for every contact in every step, with the pair's
    surface, from Python: the contact's `point`, `normal`, `gap` and shapes are those of the step, its force that of
    the step before.

    By default friction combines by `friction_rule` along each direction, restitution by `restitution_rule`; shapes
    with rules of their own go before, the later one in `COMBINATION_RULES` if they differ. Rolling and torsional
    friction are the larger, slip compliances add up, soft surfaces are in series (k = k_a k_b / (k_a + k_b), and
    d = (k_b d_a + k_a d_b) / (k_a + k_b)). Two that are not described in the same way do not add up: a
    `SpringDamper` goes before a `TimeConstant`, and that before `ErpCfm`. Directions are those of the shape that has
    any, of a if both do. The larger slop and the smaller correction speed hold. If one shape has a higher
    `priority`, its surface alone is the pair's, but for the motion of the other's surface.

    Args:
        friction_rule, restitution_rule: one of `COMBINATION_RULES`.

    Raises:
        ModelError: no such rule.
    """

    def __init__(self, friction_rule: str = "min", restitution_rule: str = "multiply"):
        for name, rule in (("friction_rule", friction_rule), ("restitution_rule", restitution_rule)):
            if rule not in COMBINATION_RULES:
                raise ModelError(
                    f"{type(self).__name__}: {name}: expected one of {', '.join(COMBINATION_RULES)}, got {rule!r}"
                )
        self.friction_rule = friction_rule
        self.restitution_rule = restitution_rule

    def pair(self, shape_a: ShapeNode, shape_b: ShapeNode) -> ContactSurface:
        """The surface of a pair of shapes, in the order in which contacts have them."""
        return self.combine(shape_a, shape_b)

    def combine(self, shape_a: ShapeNode, shape_b: ShapeNode) -> ContactSurface:
        """The pair's surface by the rules."""
        a, b = shape_a.surface, shape_b.surface
        motion = {
            "velocity_a": a.surface_velocity,
            "spin_a": a.surface_spin,
            "velocity_b": b.surface_velocity,
            "spin_b": b.surface_spin,
        }
        if a.priority != b.priority:
            one, of = (a, "a") if a.priority > b.priority else (b, "b")
            b = a = one
            direction, of = _direction(shape_a if of == "a" else shape_b, of)
        else:
            one = a if a.is_directed or not b.is_directed else b
            direction, of = _direction(shape_a, "a") if one is a else _direction(shape_b, "b")
        alone = a is b and shape_a.surface.priority != shape_b.surface.priority
        friction_rule = _rule(a.friction_rule, b.friction_rule, self.friction_rule)
        restitution_rule = _rule(a.restitution_rule, b.restitution_rule, self.restitution_rule)

        def mixed(rule: str, x: float, y: float) -> float:
            return x if alone else combine_numbers(rule, x, y)

        slips = [(s.slip, s.slip if s.secondary_slip is None else s.secondary_slip) for s in (a, b)]
        second = [s.friction if s.secondary_friction is None else s.secondary_friction for s in (a, b)]
        return ContactSurface(
            friction=mixed(friction_rule, a.friction, b.friction),
            secondary_friction=mixed(friction_rule, *second),
            first_friction_direction=direction,
            direction_of=of,
            rolling_friction=max(a.rolling_friction, b.rolling_friction),
            torsional_friction=max(a.torsional_friction, b.torsional_friction),
            slip=slips[0][0] if alone else slips[0][0] + slips[1][0],
            secondary_slip=slips[0][1] if alone else slips[0][1] + slips[1][1],
            restitution=mixed(restitution_rule, a.restitution, b.restitution),
            softness=a.softness if alone else in_series(a.softness, b.softness),
            slop=_present(max, a.slop, b.slop),
            max_correction_speed=_present(min, a.max_correction_speed, b.max_correction_speed),
            **motion,
        )


def combine_numbers(rule: str, x: float, y: float) -> float:
    """Two coefficients as one, by one of `COMBINATION_RULES`."""
    if rule == "min":
        return min(x, y)
    if rule == "max":
        return max(x, y)
    if rule == "multiply":
        return x * y
    return 0.5 * (x + y) if rule == "average" else math.sqrt(x * y)


def in_series(a: Softness | None, b: Softness | None) -> Softness | None:
    """Two soft surfaces as one."""
    if a is None or b is None:
        return a if b is None else b
    if isinstance(a, SpringDamper) and isinstance(b, SpringDamper):
        total = a.stiffness + b.stiffness
        damping = (b.stiffness * a.damping + a.stiffness * b.damping) / total
        return SpringDamper(a.stiffness * b.stiffness / total, damping, a.at_end or b.at_end)
    if isinstance(a, ErpCfm) and isinstance(b, ErpCfm):
        return ErpCfm(min(a.erp, b.erp), a.cfm + b.cfm)
    if isinstance(a, TimeConstant) and isinstance(b, TimeConstant):
        # k = m / (T zeta)^2 and d = 2 m / T, m the same: (T zeta)^2 adds up, d as above.
        x, y = (1.0 / (s.time_constant * s.damping_ratio) ** 2 for s in (a, b))
        constant = (x + y) / (y / a.time_constant + x / b.time_constant)
        return TimeConstant(constant, math.sqrt(1.0 / x + 1.0 / y) / constant)
    order = (SpringDamper, TimeConstant, ErpCfm)
    return a if order.index(type(a)) < order.index(type(b)) else b


def _rule(a: str | None, b: str | None, default: str) -> str:
    if a is None or b is None:
        return a or b or default
    return max(a, b, key=COMBINATION_RULES.index)


def _present(choose: Any, a: float | None, b: float | None) -> float | None:
    numbers = [x for x in (a, b) if x is not None]
    return choose(numbers) if numbers else None


def _direction(node: ShapeNode, side: str) -> tuple[Vector | None, str]:
    """First friction direction of a shape and the axes it is in; none where it does not matter."""
    surface: Surface = node.surface
    if not surface.is_directed:
        return None, "world"
    direction = surface.first_friction_direction or (1.0, 0.0, 0.0)
    if surface.friction_frame == "world":
        return direction, "world"
    if surface.friction_frame == "body":
        x, y, z = node.relative_transform[:3, :3].T @ np.array(direction)
        return (float(x), float(y), float(z)), side
    return direction, side


class UnavailableHandler(ContactSurfaceHandler):
    """Stands for a user's handler that is known by name only.

    Args:
        original: name of its class.
        friction_rule, restitution_rule: its rules.
    """

    def __init__(self, original: str, friction_rule: str = "min", restitution_rule: str = "multiply"):
        super().__init__(friction_rule, restitution_rule)
        self.original = original

    def pair(self, shape_a: ShapeNode, shape_b: ShapeNode) -> ContactSurface:
        """Raises ModelError."""
        raise ModelError(
            f"contact surface handler {self.original!r} is not part of kido; set `world.contact_surface_handler` to "
            "one of that class, or to a ContactSurfaceHandler()"
        )


def handler_to_dict(handler: ContactSurfaceHandler) -> dict[str, str]:
    """Its rules, and the name of its class if it is a user's."""
    rules = {"friction_rule": handler.friction_rule, "restitution_rule": handler.restitution_rule}
    if isinstance(handler, UnavailableHandler):
        return {**rules, "class": handler.original}
    return rules if type(handler) is ContactSurfaceHandler else {**rules, "class": type(handler).__name__}


def handler_from_dict(data: dict[str, str]) -> ContactSurfaceHandler:
    """A handler with the rules that `handler_to_dict` was given; one that only says so for a user's.

    Raises:
        ModelError: no such rules.
    """
    rules = data["friction_rule"], data["restitution_rule"]
    return UnavailableHandler(data["class"], *rules) if "class" in data else ContactSurfaceHandler(*rules)
