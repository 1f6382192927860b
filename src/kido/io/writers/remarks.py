"""Remarks on properties that formats leave out, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kido.io.writers.parts import Part
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.joints import ActuatorType
from kido.skeleton import Marker, Skeleton

__all__ = ["note_constraints", "note_parts", "note_skeleton"]


def note_parts(parts: list[Part], left_out: Iterable[str], unsupported: UnsupportedFeatures) -> None:
    """Remark on properties of coordinates that are not what they are where nothing is said.

    `left_out` are names of properties, "limits" of velocities and so on as ``velocity_limit``; "actuator" those that
    are not driven by forces.
    """
    for part in parts:
        for key in left_out:
            if key == "actuator":
                kinds = {kind for kind in part.actuators if kind not in (ActuatorType.FORCE, ActuatorType.MIMIC)}
                for kind in kinds:
                    unsupported.remark(f"joint '{part.joint}': its actuator type {kind.name} is left out")
                continue
            if key.endswith("_limit"):
                lower, upper = (
                    part.values(key.replace("_limit", "_lower_limit")),
                    part.values(key.replace("_limit", "_upper_limit")),
                )
                given = np.isfinite(lower).any() or np.isfinite(upper).any()
            elif key == "rest_position":
                given = bool((part.values(key) * part.values("spring_stiffness")).any())
            else:
                given = bool(part.values(key).any())
            if given:
                unsupported.remark(f"joint '{part.joint}': its {key.replace('_', ' ')} is left out")


def note_constraints(model: Any, unsupported: UnsupportedFeatures) -> None:
    """Remark on constraints that were added to a world; those of skeletons' loops are joints of these."""
    for constraint in [] if isinstance(model, Skeleton) else model._constraints:
        unsupported.remark(f"{type(constraint).__name__} '{constraint.name}' is left out")


def note_skeleton(
    skeleton: Skeleton, unsupported: UnsupportedFeatures, *, markers: bool = False, loops: bool = False
) -> None:
    """Remark on nodes and loops that the format leaves out; `markers` and `loops` say whether it has these."""
    for node in skeleton.nodes():
        if not (markers and isinstance(node, Marker)):
            unsupported.remark(f"{type(node).__name__} '{node.name}' is left out")
    for loop in skeleton.loops if not loops else []:
        unsupported.remark(
            f"joint '{loop.name}', which closes a loop between '{loop.parent}' and '{loop.child}', is left out"
        )
