"""The joint types, but for compound joints and those that users define.

X_J(q) is the pose of the joint's child-side frame in its parent-side frame, u the velocities. `R(a, q)` is
the rotation about the unit axis a by the angle q.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.joints import JointKind
from kido.math.transform import as_unit_vector, number_or_nan
from kido.skeleton.host import edits
from kido.skeleton.joints.compound_joint import CompoundJoint
from kido.skeleton.joints.coordinates import ArrayProperty, CoordinateKind, ElementaryMotion
from kido.skeleton.joints.joint import Joint, own_property
from kido.skeleton.joints.rotation_joints import BallJoint, FreeJoint

__all__ = [
    "JOINT_TYPES",
    "BallJoint",
    "CompoundJoint",
    "EulerJoint",
    "FreeJoint",
    "PlanarJoint",
    "PrismaticJoint",
    "RevoluteJoint",
    "ScrewJoint",
    "TranslationalJoint",
    "UniversalJoint",
    "WeldJoint",
]

_LETTERS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_ANGLE, _LENGTH = CoordinateKind.ANGLE, CoordinateKind.LENGTH


def _turn(axis: ArrayLike) -> ElementaryMotion:
    return ElementaryMotion(JointKind.REVOLUTE, np.array(axis))


def _slide(axis: ArrayLike) -> ElementaryMotion:
    return ElementaryMotion(JointKind.PRISMATIC, np.array(axis))


def _axis_property(key: str, doc: str) -> ArrayProperty:
    return own_property(key, lambda name, value: as_unit_vector(value, f"joint {name!r}: {key}"), doc)


def _checked_pitch(name: str | None, pitch: Any) -> float:
    number = number_or_nan(pitch)
    if not np.isfinite(number):
        raise ModelError(f"joint {name!r}: pitch: expected a finite number [m/revolution], got {pitch!r}")
    return number


def _checked_order(name: str | None, order: Any) -> str:
    letters = str(order).lower()
    if len(letters) != 3 or set(letters) - set("xyz") or letters[0] == letters[1] or letters[1] == letters[2]:
        raise ModelError(f"joint {name!r}: order: expected three of x, y, z, no two neighbours equal, got {order!r}")
    return letters


class WeldJoint(Joint):
    """No motion: X_J = I."""

    kind = JointKind.WELD
    dof_suffixes = ()
    formats = MappingProxyType({"urdf": ("fixed",), "sdf": ("fixed",), "skel": ("weld",)})
    closes_loops = reverses_in_kind = True

    def elementary_motions(self) -> list[ElementaryMotion]:
        """None of them."""
        return []


class _AxisJoint(Joint):
    """A joint with one axis, given in the joint's parent-side frame."""

    own_properties = ("axis",)
    closes_loops = reverses_in_kind = True
    axis = _axis_property("axis", "Unit axis in the joint's parent-side frame (a copy).")

    def __init__(self, name: str | None = None, axis: ArrayLike = (0.0, 0.0, 1.0), **options: Any):
        self._axis = as_unit_vector(axis, f"joint {name!r}: axis")
        super().__init__(name, **options)

    def elementary_motions(self) -> list[ElementaryMotion]:
        """Itself."""
        return [ElementaryMotion(self.kind, self.axis)]

    def _axes(self) -> NDArray[np.float64]:
        return np.concatenate([self._axis, np.zeros(7)])


class RevoluteJoint(_AxisJoint):
    """Rotation about an axis: X_J = R(axis, q), q in radians."""

    kind = JointKind.REVOLUTE
    coordinate_kinds = (_ANGLE,)
    formats = MappingProxyType(
        {"urdf": ("revolute", "continuous"), "sdf": ("revolute", "continuous"), "skel": ("revolute",)}
    )


class PrismaticJoint(_AxisJoint):
    """Translation along an axis by q metres."""

    kind = JointKind.PRISMATIC
    coordinate_kinds = (_LENGTH,)
    formats = MappingProxyType({"urdf": ("prismatic",), "sdf": ("prismatic",), "skel": ("prismatic",)})


class ScrewJoint(_AxisJoint):
    """Rotation by q radians about an axis and translation along it by pitch q / (2 pi).

    Args:
        pitch: metres per revolution.
    """

    kind = JointKind.SCREW
    coordinate_kinds = (CoordinateKind.OTHER,)
    formats = MappingProxyType({"sdf": ("screw",), "skel": ("screw",)})
    own_properties = ("axis", "pitch")
    pitch: float = own_property("pitch", _checked_pitch, "Metres per revolution.")

    def __init__(self, name: str | None = None, axis: ArrayLike = (0.0, 0.0, 1.0), pitch: float = 0.1, **options: Any):
        self._pitch = _checked_pitch(name, pitch)
        super().__init__(name, axis, **options)

    def elementary_motions(self) -> list[ElementaryMotion]:
        """Itself."""
        return [ElementaryMotion(self.kind, self.axis, self.pitch)]

    def _axes(self) -> NDArray[np.float64]:
        return np.concatenate([self._axis, np.zeros(6), [self._pitch / (2.0 * np.pi)]])


class UniversalJoint(Joint):
    """Two rotations: X_J = R(axis1, q1) R(axis2, q2)."""

    kind = JointKind.UNIVERSAL
    own_properties = ("axis1", "axis2")
    dof_suffixes = ("_1", "_2")
    coordinate_kinds = (_ANGLE, _ANGLE)
    formats = MappingProxyType({"sdf": ("universal", "revolute2"), "skel": ("universal",)})
    closes_loops = reverses_in_kind = True
    axis1 = _axis_property("axis1", "First axis, fixed in the joint's parent-side frame (a copy).")
    axis2 = _axis_property("axis2", "Second axis, in the frame turned by the first rotation (a copy).")

    def __init__(
        self,
        name: str | None = None,
        axis1: ArrayLike = (1.0, 0.0, 0.0),
        axis2: ArrayLike = (0.0, 1.0, 0.0),
        **options: Any,
    ):
        self._axis1 = as_unit_vector(axis1, f"joint {name!r}: axis1")
        self._axis2 = as_unit_vector(axis2, f"joint {name!r}: axis2")
        super().__init__(name, **options)

    def elementary_motions(self) -> list[ElementaryMotion]:
        """Turns about both axes."""
        return [_turn(self._axis1), _turn(self._axis2)]

    def _axes(self) -> NDArray[np.float64]:
        return np.concatenate([self._axis1, self._axis2, np.zeros(4)])


class EulerJoint(Joint):
    """Three rotations about moving coordinate axes: X_J = R(a, q1) R(b, q2) R(c, q3).

    Args:
        order: three of the letters x, y, z, no two neighbours equal: "xyz", "zyx", "zxz", ...
    """

    kind = JointKind.EULER
    own_properties = ("order",)
    order: str = own_property("order", _checked_order, "The three axes in order.")
    dof_suffixes = ("_1", "_2", "_3")
    coordinate_kinds = (_ANGLE, _ANGLE, _ANGLE)
    formats = MappingProxyType({"skel": ("euler",)})

    def __init__(self, name: str | None = None, order: str = "xyz", **options: Any):
        self._order = _checked_order(name, order)
        super().__init__(name, **options)

    def elementary_motions(self) -> list[ElementaryMotion]:
        """Turns about the axes in order."""
        return [_turn(_LETTERS[c]) for c in self._order]

    def _axes(self) -> NDArray[np.float64]:
        return np.concatenate([*(_LETTERS[c] for c in self._order), [0.0]])


class PlanarJoint(Joint):
    """Translations q1, q2 along two perpendicular axes [m], then a rotation by q3 about axis1 x axis2 [rad].

    An axis that is set stays as it is, and the other is turned in their plane until it is perpendicular. To set
    both at once, use `set_axes`.
    """

    kind = JointKind.PLANAR
    dof_suffixes = ("_1", "_2", "_r")
    coordinate_kinds = (_LENGTH, _LENGTH, _ANGLE)
    formats = MappingProxyType({"urdf": ("planar",), "skel": ("planar",)})
    closes_loops = True
    own_properties = ("axis1", "axis2")

    def __init__(
        self,
        name: str | None = None,
        axis1: ArrayLike = (1.0, 0.0, 0.0),
        axis2: ArrayLike = (0.0, 1.0, 0.0),
        **options: Any,
    ):
        self._axis1, self._axis2 = self._checked(name, axis1, axis2)
        super().__init__(name, **options)

    @staticmethod
    def _checked(name: str | None, axis1: ArrayLike, axis2: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        first = as_unit_vector(axis1, f"joint {name!r}: axis1")
        second = as_unit_vector(axis2, f"joint {name!r}: axis2")
        along = float(first @ second)
        if abs(along) > 1.0 - 1e-9:
            raise ModelError(f"joint {name!r}: axis1 and axis2 of a planar joint must not be parallel")
        return first, as_unit_vector(second - along * first, f"joint {name!r}: axis2")

    @edits
    def set_axes(self, axis1: ArrayLike, axis2: ArrayLike) -> None:
        """Set both axes; the second is turned in their plane until it is perpendicular to the first.

        Raises:
            ModelError: no directions, or parallel ones.
        """
        self._axis1, self._axis2 = self._checked(self.name, axis1, axis2)
        self._changed()

    @property
    def axis1(self) -> NDArray[np.float64]:
        """First direction of translation (a copy)."""
        return self._axis1.copy()

    @axis1.setter
    def axis1(self, value: ArrayLike) -> None:
        self.set_axes(value, self._axis2)

    @property
    def axis2(self) -> NDArray[np.float64]:
        """Second direction of translation, perpendicular to the first (a copy)."""
        return self._axis2.copy()

    @axis2.setter
    @edits
    def axis2(self, value: ArrayLike) -> None:
        self._axis2, self._axis1 = self._checked(self.name, value, self._axis1)
        self._changed()

    def elementary_motions(self) -> list[ElementaryMotion]:
        """Slides along both axes, then a turn about their normal."""
        return [_slide(self._axis1), _slide(self._axis2), _turn(np.cross(self._axis1, self._axis2))]

    def _axes(self) -> NDArray[np.float64]:
        return np.concatenate([self._axis1, self._axis2, np.cross(self._axis1, self._axis2), [0.0]])


class TranslationalJoint(Joint):
    """Translation by q in the joint's parent-side frame [m]."""

    kind = JointKind.TRANSLATIONAL
    dof_suffixes = ("_x", "_y", "_z")
    coordinate_kinds = (_LENGTH, _LENGTH, _LENGTH)
    formats = MappingProxyType({"skel": ("translational",)})

    def elementary_motions(self) -> list[ElementaryMotion]:
        """Slides along x, y and z."""
        return [_slide(axis) for axis in np.eye(3)]


JOINT_TYPES: dict[str, type[Joint]] = {
    t.__name__: t
    for t in (
        WeldJoint,
        RevoluteJoint,
        PrismaticJoint,
        ScrewJoint,
        UniversalJoint,
        EulerJoint,
        BallJoint,
        PlanarJoint,
        TranslationalJoint,
        FreeJoint,
        CompoundJoint,
    )
}
