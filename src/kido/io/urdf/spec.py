"""What a URDF file says, as plain records. Lengths in metres, angles in radians, frames as 4x4 transforms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kido.io.joint_types import joint_types, num_axes
from kido.io.xml import Node

__all__ = ["GeometrySpec", "InertialSpec", "JointSpec", "LinkSpec", "MimicSpec", "RobotSpec"]

URDF_JOINTS = joint_types("urdf")
WITH_AXES = [name for name, kind in URDF_JOINTS.items() if num_axes(kind)]
JOINT_NAMES = (*WITH_AXES, *sorted(set(URDF_JOINTS) - set(WITH_AXES)))


@dataclass(frozen=True)
class InertialSpec:
    """Mass [kg], centre of mass (3,) in link axes, moment (3, 3) about it turned into link axes."""

    mass: float
    com: np.ndarray
    moment: np.ndarray


@dataclass(frozen=True)
class GeometrySpec:
    """One <visual> or <collision>: its element, name if any, place in the link, element of the shape."""

    node: Node
    name: str | None
    transform: np.ndarray
    shape: Node


@dataclass(frozen=True)
class LinkSpec:
    node: Node
    name: str
    inertial: InertialSpec | None
    visuals: list[GeometrySpec]
    collisions: list[GeometrySpec]
    surface: dict[str, Any] = field(default_factory=dict)

    @property
    def mass(self) -> float:
        return self.inertial.mass if self.inertial is not None else 0.0


@dataclass(frozen=True)
class MimicSpec:
    node: Node
    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class JointSpec:
    """One <joint>; limits are infinite where the file gives none."""

    node: Node
    name: str
    type: str
    parent: str
    child: str
    transform: np.ndarray
    axis: np.ndarray
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    mimic: MimicSpec | None = None


@dataclass(frozen=True)
class RobotSpec:
    """Links and joints by name, in document order; RGBA of named materials; remarks on what was left out."""

    node: Node
    name: str
    links: dict[str, LinkSpec]
    joints: dict[str, JointSpec]
    materials: dict[str, tuple[float, ...]]
    remarks: list[str] = field(default_factory=list)
