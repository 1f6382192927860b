"""Contact properties in files: what the elements of SDF, Gazebo and Bullet say, as a `Surface`, and back."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from kido.errors import KidoError
from kido.io.xml import Node
from kido.skeleton.nodes.surface import ErpCfm, Softness, SpringDamper, Surface, TimeConstant

MAX_COEFFICIENT = 1e16  # larger coefficients, and infinite ones, are that
RIGID_STIFFNESS = 1e12  # [N/m] SDF's default, which means a rigid surface
DEFAULT_ERP = 0.2  # of SDF
FILE_PROPERTIES = (  # what SDF and URDF with <contact> and <gazebo> can say
    *("friction", "secondary_friction", "first_friction_direction", "rolling_friction", "torsional_friction", "slip"),
    *("secondary_slip", "restitution", "softness", "slop", "max_correction_speed"),
)
PATCH = 3.0 * math.pi / 16.0  # torsional friction of a round patch of contact: PATCH * radius * mu * normal force


def coefficient(node: Node, tag: str) -> float | None:
    """A number not below zero in a child <tag>, as its text or its attribute `value`; None without the child.

    Raises:
        FileFormatError: no such number.
    """
    child = node.child(tag)
    if child is None:
        return None
    value = child.number("value", allow_infinite=True) if child.has("value") else child.text_number(allow_infinite=True)
    if not value >= 0.0:
        raise child.error(f"<{tag}> is {value:g}; expected zero or a positive number")
    return min(value, MAX_COEFFICIENT)


def given(**values: Any) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def first_direction(node: Node, tag: str = "fdir1") -> tuple[float, float, float] | None:
    """The vector in a child <tag>; None without it, or if it is zero, which means no direction."""
    child = node.child(tag)
    if child is None:
        return None
    vector = child.vector("value", 3) if child.has("value") else child.text_vector(3)
    return (float(vector[0]), float(vector[1]), float(vector[2])) if vector.any() else None


def two(first: float | None, second: float | None, name: str, other: str) -> dict[str, Any]:
    """A property along and across the first direction, the second left out where it is the first."""
    return given(**{name: first, other: None if second == first else second})


def softness_of(
    stiffness: float | None, damping: float | None, erp: float | None, cfm: float | None
) -> Softness | None:
    """A spring and a damper if they are given, else `erp` and `cfm`; None where they are those of a rigid surface."""
    if stiffness is not None and 0.0 < stiffness < RIGID_STIFFNESS:
        return SpringDamper(stiffness, damping if damping is not None else 1.0, at_end=True)
    if (erp is None or erp == DEFAULT_ERP) and not cfm:
        return None
    return ErpCfm(DEFAULT_ERP if erp is None else min(erp, 1.0), cfm or 0.0)


def make_surface(node: Node, values: dict[str, Any]) -> dict[str, Surface]:
    """The option `surface` of a shape; none if no value is given.

    Raises:
        FileFormatError: a value that no surface can have.
    """
    if not values:
        return {}
    try:
        return {"surface": Surface(**values)}
    except KidoError as error:
        raise node.error(str(error)) from None


def softness_numbers(softness: Softness | None) -> dict[str, float]:
    """Of a softness that files can hold: `kp` and `kd`, or `soft_erp` and `soft_cfm`."""
    if isinstance(softness, SpringDamper):
        return {"kp": softness.stiffness, "kd": softness.damping}
    if isinstance(softness, ErpCfm):
        return {"soft_erp": softness.erp, "soft_cfm": softness.cfm}
    return {}


def left_out(surface: Surface, held: tuple[str, ...] = FILE_PROPERTIES) -> list[str]:
    """Names of a surface's properties that are not the default and that a format, which has `held`, cannot say."""
    names = [f.name for f in fields(Surface) if getattr(surface, f.name) != f.default and f.name not in held]
    if isinstance(surface.softness, TimeConstant) and "softness" in held:
        names.append("softness by a time constant")
    if isinstance(surface.softness, SpringDamper) and not surface.softness.at_end and "softness" in held:
        names.append("softness at mid-step")
    if surface.first_friction_direction is not None and surface.friction_frame != "shape":
        names = [name for name in names if name != "friction_frame"] + ["friction_frame"]
    return names
