"""Numbers, angles and elements as files hold them. Numbers have all digits, so that they are read back exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import lxml.etree as etree
import numpy as np

from kido.errors import KidoError
from kido.io.xml import Element

__all__ = ["add", "document", "number", "rpy", "to_text", "vector", "xyz_angles"]


def number(value: float) -> str:
    """A number with all its digits."""
    return repr(float(value) + 0.0)


def vector(values: Iterable[Any]) -> str:
    """Numbers separated by space."""
    return " ".join(number(value) for value in values)


def rpy(rotation: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw [rad] of R = Rz(yaw) Ry(pitch) Rx(roll), to rounding near pitch = +-90 degrees too.

    There yaw is badly defined; roll then is taken from what yaw and pitch leave of the rotation.
    """
    R = rotation
    yaw = math.atan2(R[1, 0], R[0, 0])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    cy, sy, cp, sp = math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch)
    second = np.array([-sy, cy, 0.0])  # the second and third axes of Rz(yaw) Ry(pitch)
    third = np.array([cy * sp, sy * sp, cp])
    roll = math.atan2(float(third @ R[:, 1]), float(second @ R[:, 1]))
    return roll, pitch, yaw


def xyz_angles(rotation: np.ndarray) -> tuple[float, float, float]:
    """Angles a, b, c [rad] of R = Rx(a) Ry(b) Rz(c)."""
    a, b, c = rpy(rotation.T)
    return -a, -b, -c


def add(parent: Element, tag: str, text: str | None = None, **attributes: str) -> Element:
    """A new child element."""
    try:
        child = etree.SubElement(parent, tag, attributes)
        child.text = text
    except ValueError as error:
        raise KidoError(f"<{tag}> {attributes or text}: {error}") from None
    return child


def document(tag: str, **attributes: str) -> Element:
    """A new root element."""
    try:
        return etree.Element(tag, attributes)
    except ValueError as error:
        raise KidoError(f"<{tag}> {attributes}: {error}") from None


def to_text(root: Element) -> str:
    """The document as indented XML."""
    return etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="utf-8").decode("utf-8")
