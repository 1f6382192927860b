"""Constraints between two bodies, or a body and the world, in the manner of joints: loops are closed by them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kido.constraints.body_constraint import (
    Array,
    AxisConstraint,
    BodyConstraint,
    FreeAxis,
    axes_of,
    frame_with_axis,
    on_axis,
    world_pose,
)
from kido.constraints.constraint import read_only
from kido.constraints.loop_schema import ALIGN, CROSS, LENGTH, SCREW_TRAVEL, SHIFT, TURN
from kido.errors import ModelError
from kido.joints import JointKind
from kido.math.transform import as_unit_vector, number_or_nan
from kido.skeleton import BodyNode, Joint
from kido.turns import in_turn

__all__ = [
    "BallJointConstraint",
    "CylindricalJointConstraint",
    "DistanceConstraint",
    "PlanarJointConstraint",
    "PointOnPlaneConstraint",
    "PrismaticJointConstraint",
    "RevoluteJointConstraint",
    "ScrewJointConstraint",
    "UniversalJointConstraint",
    "WeldJointConstraint",
]

MIN_POINT_DISTANCE = 1e-9  # [m] points nearer than this have no direction from one to the other
_RIGHT = 1e-9  # cosine of the axes of a universal joint below which they are at right angles
_POINT = tuple((SHIFT, k, f"no shift along {axis}") for k, axis in enumerate("xyz"))
_TURNS = tuple((TURN, k, f"no turn about {axis}") for k, axis in enumerate("xyz"))
_ALIGNED = tuple((ALIGN, k, f"axes z in line, about {axis}") for k, axis in enumerate("xy"))


class WeldJointConstraint(BodyConstraint):
    """Frames A and B coincide: six equations."""

    joint_kind = JointKind.WELD
    _rows = (*_POINT, *_TURNS)


class BallJointConstraint(BodyConstraint):
    """The origins of A and B coincide: three equations."""

    joint_kind = JointKind.BALL
    _rows = _POINT


class RevoluteJointConstraint(AxisConstraint):
    """The origins coincide and the axes z are in line: five equations, free to turn about z."""

    joint_kind = JointKind.REVOLUTE
    _rows = (*_POINT, *_ALIGNED)


class PrismaticJointConstraint(AxisConstraint):
    """Same orientation, and B's origin on the axis z of A: five equations, free to slide along z."""

    joint_kind = JointKind.PRISMATIC
    _rows = (*_POINT[:2], *_TURNS)


class CylindricalJointConstraint(AxisConstraint):
    """The axes z are in one line: four equations, free to turn about it and to slide along it."""

    _rows = (*_POINT[:2], *_ALIGNED)


class ScrewJointConstraint(AxisConstraint):
    """A nut on a thread: the axes z are in one line, and B's origin travels along it as B turns: five equations.

    Turns are counted from step to step, from those within half a turn at the first.

    Args:
        pitch: travel of B along z of A for each turn about it [m per revolution].
    """

    joint_kind = JointKind.SCREW
    own_options = ("pitch",)
    _rows = (*_POINT[:2], *_ALIGNED, (SCREW_TRAVEL, 0, "travel follows the turn"))

    def __init__(self, body_a: BodyNode | None, body_b: BodyNode | None = None, *, pitch: float, **options: Any):
        super().__init__(body_a, body_b, **options)
        self._pitch = number_or_nan(pitch)
        if not np.isfinite(self._pitch):
            raise ModelError(f"constraint {self.name!r}: pitch: expected a finite number, got {pitch!r}")

    pitch: float = read_only("_pitch", "Travel for each turn [m per revolution].")

    def row_values(self) -> list[dict[str, Any]]:
        made = super().row_values()
        made[4]["gain"] = self._pitch / (2.0 * np.pi)
        return made


class PlanarJointConstraint(AxisConstraint):
    """The planes across z coincide: three equations, free to slide in the plane and to turn about z."""

    joint_kind = JointKind.PLANAR
    _rows = (_POINT[2], *_ALIGNED)

    @classmethod
    def _frames_of(cls, joint: Joint) -> tuple[Array, Array]:
        one, _, normal = axes_of(joint)
        return on_axis(joint, normal, one)

    @classmethod
    def free_axes(cls, joint: Joint) -> list[FreeAxis]:
        """The normal, then both axes in the plane."""
        one, two, normal = axes_of(joint)
        slides = [FreeAxis(k, False, *on_axis(joint, axis, normal)) for k, axis in enumerate((one, two))]
        return [FreeAxis(2, True, *cls._frames_of(joint)), *slides]


class UniversalJointConstraint(BodyConstraint):
    """The origins coincide, and the angle between axis x of A and axis y of B stays: four equations.

    Args:
        axis1, axis2: directions in the world, at present, of the axis fixed in body_a and of that fixed in body_b;
            x and y of the frames without them.
        cosine: of the angle to keep between x and y of the frames, where no axes are given.
    """

    joint_kind = JointKind.UNIVERSAL
    own_options = ("cosine",)
    _rows = (*_POINT, (CROSS, 0, "axes keep their angle"))

    def __init__(self, body_a: BodyNode | None, body_b: BodyNode | None = None, *, axis1: ArrayLike | None = None,
                 axis2: ArrayLike | None = None, cosine: float = 0.0, **options: Any):  # fmt: skip
        super().__init__(body_a, body_b, **options)
        what = f"constraint {self.name!r}"
        self._cosine = cosine
        if axis1 is None and axis2 is None:
            return
        if axis1 is None or axis2 is None:
            raise ModelError(f"{what}: expected both axes or none, got axis1 {axis1!r}, axis2 {axis2!r}")
        R_a, R_b = ((world_pose(body) @ X)[:3, :3] for body, X in ((body_a, self.frame_a), (body_b, self.frame_b)))
        one, two = as_unit_vector(axis1, f"{what}: axis1"), as_unit_vector(axis2, f"{what}: axis2")
        self.set_axes(R_a.T @ one, R_b.T @ two, float(one @ two))

    cosine: float = read_only("_cosine", "Cosine of the angle between x of A and y of B.")

    def set_axes(self, one: Array, two: Array, cosine: float) -> None:
        """Turn the frames so that x of A and y of B are axes given in them; `cosine` is that of the angle to keep."""
        if abs(cosine) > 1.0 - 1e-9:
            raise ModelError(f"constraint {self.name!r}: expected two axes that are not parallel, got {one}, {two}")
        self._cosine = cosine
        frame_a, frame_b = self.frame_a, self.frame_b
        frame_a[:3, :3] @= frame_with_axis(one, np.zeros(3))[:3, [2, 0, 1]]
        frame_b[:3, :3] @= frame_with_axis(two, np.zeros(3))[:3, [1, 2, 0]]
        self.restore_frames(frame_a, frame_b)

    @classmethod
    def of_joint(cls, parent: BodyNode | None, child: BodyNode | None, joint: Joint, name: str | None) -> Self:
        """What holds what a joint holds."""
        made = super().of_joint(parent, child, joint, name)
        one, two = axes_of(joint)
        made.set_axes(one, two, float(one @ two))
        return made

    @classmethod
    def free_axes(cls, joint: Joint) -> list[FreeAxis]:
        """Both axes if they are at right angles; else none.

        The first angle is that of axis 2 about axis 1; the second, seen from the child, that of axis 1 about -axis 2.
        """
        one, two = axes_of(joint)
        if abs(one @ two) > _RIGHT:
            return []
        frames = on_axis(joint, -two, one)
        return [FreeAxis(0, True, *on_axis(joint, one, two)), FreeAxis(1, True, *frames[::-1], swapped=True)]

    def _offset(self, row: int) -> float:
        return self._cosine if row == 3 else 0.0


class DistanceConstraint(BodyConstraint):
    """The origins of A and B keep their distance: one equation. With a stiffness it is a spring between two points.

    Where frames are missing they are those of the bodies, and of the world.

    Args:
        distance: [m], above 0; the present one by default.
    """

    own_options = ("distance",)
    _rows = ((LENGTH, 0, "distance"),)

    def __init__(self, body_a: BodyNode | None, body_b: BodyNode | None = None, *, distance: float | None = None,
                 **options: Any):  # fmt: skip
        if options.get("at") is None:  # else both would be at one place
            options = {"frame_a": np.eye(4), "frame_b": np.eye(4)} | {k: v for k, v in options.items() if v is not None}
        super().__init__(body_a, body_b, **options)
        if distance is None:
            points = [(world_pose(body) @ X)[:3, 3] for body, X in ((body_a, self.frame_a), (body_b, self.frame_b))]
            distance = float(np.linalg.norm(points[1] - points[0]))
        number = number_or_nan(distance)
        if not (MIN_POINT_DISTANCE < number < np.inf or (number == 0.0 and self.stiffness is not None)):
            raise ModelError(f"constraint {self.name!r}: distance: expected a number above 0 [m], got {distance!r}")
        self._distance = number

    @property
    def distance(self) -> float:
        """Between the origins [m]; settable, as by a winch."""
        return self._distance

    @distance.setter
    @in_turn
    def distance(self, value: float) -> None:
        number = number_or_nan(value)
        if not MIN_POINT_DISTANCE < number < np.inf:
            raise ModelError(f"constraint {self.name!r}: distance: expected a number above 0 [m], got {value!r}")
        self._distance = number
        self.changed()

    def _offset(self, row: int) -> float:
        return self._distance


class PointOnPlaneConstraint(AxisConstraint):
    """The origin of B stays in the plane through the origin of A across its axis z: one equation."""

    _rows = (_POINT[2],)
