"""What an SDF file says, as plain records. Metres, radians, kilograms; frames as 4x4 transforms."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kido.io.resources import ResourceFinder
from kido.io.sdf.scope import MODEL, Scope
from kido.io.xml import Node

__all__ = ["AxisSpec", "JointSpec", "LinkSpec", "MimicSpec", "ModelSpec", "WorldSpec"]


@dataclass(frozen=True)
class MimicSpec:
    """The <mimic> of an axis: it follows axis number `axis` of another joint."""

    node: Node
    joint: str
    axis: int
    multiplier: float
    offset: float


@dataclass(frozen=True)
class AxisSpec:
    """An <axis>: its direction in the frame called `expressed_in` ("" for the joint's), limits and passive forces."""

    node: Node
    direction: np.ndarray
    expressed_in: str
    lower: float
    upper: float
    effort: float
    velocity: float
    damping: float
    friction: float
    spring_reference: float
    spring_stiffness: float
    mimic: MimicSpec | None


@dataclass(frozen=True)
class JointSpec:
    """A <joint>. Names of parent and child are those of its scope."""

    node: Node
    name: str
    type: str
    parent: str
    child: str
    axes: list[AxisSpec]
    pitch: float = 0.0
    gear_ratio: float = 1.0
    gear_reference: str = ""


@dataclass(frozen=True)
class LinkSpec:
    """A <link>, with what finds the meshes of the file that it is written in."""

    node: Node
    name: str
    finder: ResourceFinder


@dataclass
class ModelSpec:
    """A <model>: what it holds by its name in `scope`, in document order, nested models too."""

    node: Node
    name: str
    scope: Scope
    links: dict[str, LinkSpec] = field(default_factory=dict)
    joints: dict[str, JointSpec] = field(default_factory=dict)
    models: dict[str, ModelSpec] = field(default_factory=dict)
    static: bool = False
    self_collide: bool = False
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    relative_to: str = MODEL


@dataclass
class WorldSpec:
    """A <world>, or the models of a file that has none. None: not given."""

    node: Node
    scope: Scope
    models: dict[str, ModelSpec] = field(default_factory=dict)
    joints: dict[str, JointSpec] = field(default_factory=dict)
    name: str | None = None
    gravity: tuple[float, float, float] | None = None
    time_step: float | None = None
