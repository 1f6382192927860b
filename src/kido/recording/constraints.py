"""Constraints of a world as plain data, and back. Users' own are code and are left out."""

from __future__ import annotations

from typing import Any

import numpy as np

import kido.constraints as classes
from kido.constraints import (
    AxisForces,
    BodyConstraint,
    Constraint,
    CouplerConstraint,
)
from kido.recording.errors import RecordingError
from kido.skeleton import BodyNode, Skeleton

_OF_AXIS = (
    *("lower_limit", "upper_limit", "rest_position", "stiffness", "damping", "coulomb_friction"),
    *("force", "target_velocity", "motor_force"),
)
_NUMBERS = ("stiffness", "damping", "force_limit", "torque_limit", "breaking_force", "breaking_torque")


def constraint_to_dict(constraint: Constraint, skeletons: list[Skeleton]) -> dict[str, Any] | None:
    """A constraint as plain data; bodies and coordinates by the numbers of their skeletons and their own. None: it is
    a user's."""
    number = {s: k for k, s in enumerate(skeletons)}
    kind = type(constraint).__name__
    if getattr(classes, kind, None) is not type(constraint):
        return None
    if isinstance(constraint, CouplerConstraint):
        terms = [[number[d.joint.child.skeleton], d.index, factor] for d, factor in constraint.terms]
        return {
            "type": "CouplerConstraint",
            "kind": kind,
            "name": constraint.name,
            "terms": terms,
            "offset": constraint.offset,
            "force_limit": constraint.force_limit,
        }
    if not isinstance(constraint, BodyConstraint):
        return None
    bodies = [None if b is None else [number[b.skeleton], b.index] for b in (constraint.body_a, constraint.body_b)]
    return {
        "type": kind,
        "name": constraint.name,
        "bodies": bodies,
        "frame_a": constraint.frame_a.tolist(),
        "frame_b": constraint.frame_b.tolist(),
        **{key: getattr(constraint, key) for key in (_OF_AXIS if isinstance(constraint, AxisForces) else _NUMBERS)},
        **{key: getattr(constraint, key) for key in constraint.own_options},
    }


def constraint_from_dict(data: dict[str, Any], skeletons: list[Skeleton]) -> Constraint:
    """A constraint equal to the one that `constraint_to_dict` was given.

    Raises:
        RecordingError: a type that is not known.
    """
    kind = getattr(classes, data["type"], None)
    if kind is CouplerConstraint:
        terms = [(skeletons[s].dofs[int(k)], factor) for s, k, factor in data["terms"]]
        own = getattr(classes, data["kind"], None)
        if not (isinstance(own, type) and issubclass(own, CouplerConstraint)):
            raise RecordingError(f"constraint {data['name']!r}: unknown kind {data['kind']!r} of coupler")
        made = own.__new__(own)  # gears and differentials are couplers with their terms given otherwise
        CouplerConstraint.__init__(made, terms, data["offset"], name=data["name"], force_limit=data["force_limit"])
        return made
    if not (isinstance(kind, type) and issubclass(kind, BodyConstraint)):
        raise RecordingError(f"constraint {data.get('name')!r}: unknown type {data['type']!r}")
    bodies: list[BodyNode | None] = [None if b is None else skeletons[b[0]].body(int(b[1])) for b in data["bodies"]]
    options = {key: data[key] for key in (*_NUMBERS, *_OF_AXIS, *kind.own_options) if key in data}
    made = kind(*bodies, frame_a=data["frame_a"], frame_b=data["frame_b"], name=data["name"], **options)
    made._frame_a, made._frame_b = np.array(data["frame_a"]), np.array(data["frame_b"])  # to the bit
    return made
