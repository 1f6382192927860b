"""What readers of motion capture's skeletons share: bodies of segments, joints of elementary motions, the axis that is
up, and names of coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.io.fields import check_choice, plane_axes
from kido.io.mechanism import massless_text, movers_without_mass
from kido.joints import JointKind
from kido.math.lie import exp_rotation
from kido.math.transform import inverse_transform
from kido.shapes import Ellipsoid
from kido.skeleton import (
    BodyNode,
    CompoundJoint,
    EulerJoint,
    Hinge,
    Inertia,
    Joint,
    RevoluteJoint,
    Skeleton,
    TranslationalJoint,
    UniversalJoint,
    WeldJoint,
)

__all__ = ["AXES", "bone", "chain_of_hinges", "inertia_of_shapes", "translation", "turn", "up", "warn_of_massless"]

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
SLENDERNESS = 0.35  # diameter of a bone by its length, as in DART
MOST_TURN = 1e6  # [rad]
SHORTEST, LONGEST = 1e-9, 1e6  # [m] lengths of bones that have a shape


def translation(offset: Iterable[float]) -> np.ndarray:
    """The transform (4, 4) that moves by an offset [m]."""
    X = np.eye(4)
    X[:3, 3] = list(offset)
    return X


def turn(vector: np.ndarray) -> np.ndarray:
    """The rotation (4, 4) about a vector by its length [rad].

    Raises:
        ModelError: so many turns that digits do not tell the angle.
    """
    if not math.hypot(*vector) < MOST_TURN:
        raise ModelError(f"the rotation vector is {vector.tolist()} rad; expected shorter than {MOST_TURN:g} rad")
    X = np.eye(4)
    X[:3, :3] = exp_rotation(vector)
    return X


def up(axis: str) -> np.ndarray:
    """The rotation (4, 4) that turns a file's axis "x", "y" or "z", which is up there, into +Z.

    Raises:
        KidoError: no such axis.
    """
    check_choice("up_axis", axis, tuple(AXES))
    X = np.eye(4)
    if axis == "y":
        X[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    elif axis == "x":
        X[:3, :3] = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    return X


def chain_of_hinges(
    name: str, parts: Sequence[Hinge | np.ndarray], dof_names: Sequence[str | None], **options: Any
) -> Joint:
    """A joint of hinges and fixed transforms (4, 4), outermost first: a weld, a type that has such axes, or a
    `CompoundJoint`. `options` are those of joints.

    Raises:
        ModelError: more than six hinges, or options that joints refuse.
    """
    hinges: list[Hinge] = []
    offset = np.eye(4)
    for part in parts:
        if isinstance(part, Hinge):
            hinges.append(part.with_changes(offset=offset @ part.offset))
            offset = np.eye(4)
        else:
            offset = offset @ part
    above = options.pop("transform_from_parent", np.eye(4))
    if not hinges:
        return WeldJoint(name, transform_from_parent=above @ offset, **options)
    options["transform_from_child"] = inverse_transform(offset)
    options["transform_from_parent"] = above @ hinges[0].offset
    options["dof_names"] = list(dof_names)
    hinges[0] = hinges[0].with_changes(offset=np.eye(4))
    axes = [hinge.axis for hinge in hinges]
    plain = all(np.array_equal(hinge.offset, np.eye(4)) for hinge in hinges)
    turns = plain and all(hinge.kind == JointKind.REVOLUTE for hinge in hinges)
    slides = plain and all(hinge.kind == JointKind.PRISMATIC for hinge in hinges)
    letters = "".join(letter for axis in axes for letter, unit in AXES.items() if np.array_equal(axis, unit))
    if turns and len(hinges) == 1:
        return RevoluteJoint(name, axes[0], **options)
    if turns and len(hinges) == 2:
        return UniversalJoint(name, *axes, **options)
    if turns and len(hinges) == 3 == len(letters) and letters[0] != letters[1] != letters[2]:
        return EulerJoint(name, letters, **options)
    if slides and letters == "xyz":
        return TranslationalJoint(name, **options)
    return CompoundJoint(name, hinges, **options)


def bone(body: BodyNode, offset: np.ndarray) -> None:
    """Give a body an ellipsoid from its origin to an offset [m], and a diameter of 35 % of its length across.

    None where the offset is zero, or beyond all measure.
    """
    length = math.hypot(*offset)
    if not SHORTEST < length < LONGEST:
        return
    along = offset / length
    X = translation(0.5 * offset)
    X[:3, :3] = np.column_stack([*plane_axes(along), along])
    across = 0.5 * SLENDERNESS * length
    body.add_shape(Ellipsoid((across, across, 0.5 * length)), X)


def inertia_of_shapes(body: BodyNode, density: float, mass: float | None = None) -> Inertia:
    """Inertia of a body that its shapes fill evenly, of a density [kg/m^3] or, if that is given, of a mass [kg]."""
    shapes = [(node.shape, node.relative_transform) for node in body.shapes]
    volume = sum(shape.volume for shape, _ in shapes)
    if not volume > 0.0:
        return Inertia(mass or 0.0)
    if mass == 0.0 or (density == 0.0 and mass is None):
        return Inertia(0.0)
    factor = density if mass is None else mass / volume
    total = Inertia(0.0)
    for shape, transform in shapes:
        total = total + Inertia.from_shape(shape, density=factor, transform=transform)
    return total


def warn_of_massless(skeleton: Skeleton) -> None:
    """Say in the skeleton's warnings which joints move no mass."""
    movers = movers_without_mass(skeleton)
    if movers:
        skeleton.warnings.append(f"{skeleton.uri or skeleton.name}: {massless_text(movers)}")


def relative_poses(poses: np.ndarray, parent: int, body: int) -> np.ndarray:
    """Poses (frames, 4, 4) of a body in its parent, from those of all bodies (frames, bodies, 4, 4)."""
    return np.array([inverse_transform(X) @ Y for X, Y in zip(poses[:, parent], poses[:, body], strict=True)])
