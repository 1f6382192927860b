"""Constraints between two bodies, or a body and the world, in the manner of joints: loops are closed by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.constraints.constraint import Constraint, bound, not_negative
from kido.constraints.loop_schema import (
    ALIGN,
    BOUNDED_ROW,
    CROSS,
    ELIMINATED,
    LENGTH,
    SCREW,
    SHIFT,
    SPRING,
    TURN,
)
from kido.errors import ModelError
from kido.joints import JointKind
from kido.math.transform import as_transform, as_unit_vector, inverse_transform, number_or_nan
from kido.skeleton import BodyNode, Joint

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

__all__ = [
    "BallJointConstraint",
    "BodyConstraint",
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

Array = NDArray[np.float64]
MIN_POINT_DISTANCE = 1e-9  # [m] points nearer than this have no direction from one to the other
_RIGHT = 1e-9  # cosine of the axes of a universal joint below which they are at right angles
_POINT = tuple((SHIFT, k, f"no shift along {axis}") for k, axis in enumerate("xyz"))
_TURNS = tuple((TURN, k, f"no turn about {axis}") for k, axis in enumerate("xyz"))
_ALIGNED = tuple((ALIGN, k, f"axes z in line, about {axis}") for k, axis in enumerate("xy"))


def frame_with_axis(axis: Array, point: Array, first: Array | None = None) -> Array:
    """A frame at a point whose z axis has a direction, and whose x axis is near another."""
    z = axis
    x = first if first is not None else np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    X = np.eye(4)
    X[:3, 0], X[:3, 1], X[:3, 2], X[:3, 3] = x, np.cross(z, x), z, point
    return X


@dataclass(frozen=True)
class FreeAxis:
    """An axis about or along which a joint leaves two bodies free.

    Attributes:
        coordinate: of the joint.
        turns: whether it turns about the axis; else it slides along it.
        frame_a, frame_b: poses in the bodies of frames whose z is the axis.
        swapped: whether the motion is that of the parent seen from the child.
    """

    coordinate: int
    turns: bool
    frame_a: Array
    frame_b: Array
    swapped: bool = False


class BodyConstraint(Constraint):
    """A constraint between frame A on one body and frame B on another.

    Without limits and stiffness it holds with whatever force that takes: it is solved for with the contacts exactly,
    positions are closed after each step below 1e-10 m or rad, and equations that follow from others are found and
    left out. With `stiffness` it is a spring with a damper along and about the directions that it would hold; with
    finite limits it gives way beyond them.

    Args:
        body_a, body_b: the bodies; None for the world. They may be of one skeleton or of two.
        frame_a, frame_b: the frames in their bodies (transforms; in the world for None). Where one is missing it is
            where the other is at present; where both are missing, both are at `at`.
        at: a transform or a point in the world, at present; by default the frame of body_b, or that of body_a where
            there is no body_b.
        name: for messages and reports.
        stiffness: [N/m, and N m/rad for rotations]; None: rigid.
        damping: [N s/m, N m s/rad] of a constraint with stiffness.
        force_limit: largest force of each equation that holds a translation [N].
        torque_limit: largest moment of each equation that holds a rotation [N m].
        breaking_force, breaking_torque: the size of the whole force or moment at which it breaks [N, N m]; from then
            on it holds nothing.

    Raises:
        ModelError: no body at all, something that is no body, frames or numbers that are none.
    """

    joint_kind: ClassVar[JointKind | None] = None  # of the joints that it stands for
    own_options: ClassVar[tuple[str, ...]] = ()  # of its constructor, that others lack; properties of the same names
    _rows: ClassVar[tuple[tuple[int, int, str], ...]] = ()

    def __init__(
        self,
        body_a: BodyNode | None,
        body_b: BodyNode | None = None,
        *,
        frame_a: Any = None,
        frame_b: Any = None,
        at: Any = None,
        name: str | None = None,
        stiffness: float | None = None,
        damping: float = 0.0,
        force_limit: float = np.inf,
        torque_limit: float = np.inf,
        breaking_force: float = np.inf,
        breaking_torque: float = np.inf,
    ):
        super().__init__(name)
        what = f"constraint {self.name!r}"
        for body in (body_a, body_b):
            if body is not None and not isinstance(body, BodyNode):
                raise ModelError(f"{what}: expected a body or None for the world, got {body!r}")
        if body_a is body_b:
            raise ModelError(f"{what}: expected two different bodies, got {body_a!r} twice")
        self._body_a, self._body_b = body_a, body_b
        if at is not None and (frame_a is not None or frame_b is not None):
            raise ModelError(f"{what}: expected frames in the bodies or `at` in the world, got both")
        if frame_a is None and frame_b is None:
            origin = body_b if body_b is not None else body_a
            X = as_transform(at, f"{what}: at") if at is not None else world_pose(origin)
            X_a, X_b = inverse_transform(world_pose(body_a)) @ X, inverse_transform(world_pose(body_b)) @ X
        elif frame_b is None:
            X_a = as_transform(frame_a, f"{what}: frame_a")
            X_b = inverse_transform(world_pose(body_b)) @ world_pose(body_a) @ X_a
        elif frame_a is None:
            X_b = as_transform(frame_b, f"{what}: frame_b")
            X_a = inverse_transform(world_pose(body_a)) @ world_pose(body_b) @ X_b
        else:
            X_a, X_b = as_transform(frame_a, f"{what}: frame_a"), as_transform(frame_b, f"{what}: frame_b")
        self._frame_a, self._frame_b = X_a, X_b
        self._stiffness = None if stiffness is None else not_negative(stiffness, f"{what}: stiffness")
        self._damping = not_negative(damping, f"{what}: damping")
        if self._damping > 0.0 and self._stiffness is None:
            raise ModelError(f"{what}: damping needs a stiffness, which may be 0; without it the constraint is rigid")
        self._force_limit = bound(force_limit, f"{what}: force_limit")
        self._torque_limit = bound(torque_limit, f"{what}: torque_limit")
        self._breaking_force = bound(breaking_force, f"{what}: breaking_force")
        self._breaking_torque = bound(breaking_torque, f"{what}: breaking_torque")
        self.was_broken = False

    # Description -----------------------------------------------------------------------------------------

    @classmethod
    def of_joint(cls, parent: BodyNode | None, child: BodyNode | None, joint: Joint, name: str | None) -> Self:
        """What holds what a joint of its kind holds between two bodies."""
        frame_a, frame_b = cls._frames_of(joint)
        own = {key: getattr(joint, key) for key in cls.own_options if hasattr(joint, key)}
        return cls(parent, child, frame_a=frame_a, frame_b=frame_b, name=name, **own)

    @classmethod
    def free_axes(cls, joint: Joint) -> list[FreeAxis]:
        """The axes of a joint of its kind along and about which limits, springs, dampers and friction may act."""
        return []

    @classmethod
    def _frames_of(cls, joint: Joint) -> tuple[Array, Array]:
        return joint.transform_from_parent, joint.transform_from_child

    @property
    def body_a(self) -> BodyNode | None:
        """The first body; None: the world."""
        return self._body_a

    @property
    def body_b(self) -> BodyNode | None:
        """The second body; None: the world."""
        return self._body_b

    @property
    def bodies(self) -> list[BodyNode]:
        """Its bodies."""
        return [body for body in (self._body_a, self._body_b) if body is not None]

    @property
    def skeletons(self) -> list[Skeleton]:
        """Skeletons of its bodies, each once."""
        return list(dict.fromkeys(body.skeleton for body in self.bodies))

    @property
    def frame_a(self) -> Array:
        """Frame A in the first body (a copy)."""
        return self._frame_a.copy()

    @frame_a.setter
    def frame_a(self, value: Any) -> None:
        self._frame_a = as_transform(value, f"constraint {self.name!r}: frame_a")
        self.changed()

    def restore_frames(self, frame_a: ArrayLike, frame_b: ArrayLike) -> None:
        """Put back what `frame_a` and `frame_b` gave (4, 4), to the bit: they are not made orthonormal again."""
        self._frame_a, self._frame_b = np.array(frame_a, dtype=float), np.array(frame_b, dtype=float)
        self.changed()

    @property
    def frame_b(self) -> Array:
        """Frame B in the second body (a copy)."""
        return self._frame_b.copy()

    @frame_b.setter
    def frame_b(self, value: Any) -> None:
        self._frame_b = as_transform(value, f"constraint {self.name!r}: frame_b")
        self.changed()

    @property
    def stiffness(self) -> float | None:
        """Of a constraint that is a spring [N/m, N m/rad]; None: rigid."""
        return self._stiffness

    @property
    def damping(self) -> float:
        """Of a constraint that is a spring [N s/m, N m s/rad]."""
        return self._damping

    @property
    def force_limit(self) -> float:
        """Largest force of each equation that holds a translation [N]."""
        return self._force_limit

    @property
    def torque_limit(self) -> float:
        """Largest moment of each equation that holds a rotation [N m]."""
        return self._torque_limit

    @property
    def breaking_force(self) -> float:
        """Force at which it breaks [N]."""
        return self._breaking_force

    @property
    def breaking_torque(self) -> float:
        """Moment at which it breaks [N m]."""
        return self._breaking_torque

    @property
    def row_names(self) -> list[str]:
        """What each of its scalar equations holds, in words."""
        return [row[2] for row in self._rows]

    def _offset(self, row: int) -> float:
        """Value of what a row measures where it is met."""
        return 0.0

    def row_values(self) -> list[dict[str, Any]]:
        """Fields of its rows in the world's table (kido.constraints.loop_schema)."""
        made = []
        for index, (kind, axis, _) in enumerate(self._rows):
            limit = self._force_limit if kind in (SHIFT, LENGTH, SCREW) else self._torque_limit
            mode = SPRING if self._stiffness is not None else ELIMINATED if limit == np.inf else BOUNDED_ROW
            made.append(
                {"kind": kind, "axis": axis, "offset": self._offset(index), "lower": -limit, "upper": limit}
                | {"mode": mode, "stiffness": self._stiffness or 0.0, "damping": self._damping}
            )
        return made

    # Results ---------------------------------------------------------------------------------------------

    @property
    def is_broken(self) -> bool:
        """Whether its force or moment was larger than it can bear."""
        return bool(self.system().is_broken(self)) if self.world is not None else self.was_broken

    def repair(self) -> None:
        """Make a broken constraint hold again, from the next step on; positions are closed at once."""
        self.was_broken = False
        if self.world is not None:
            self.system().set_broken(self, False)

    def wrench(self, in_coordinates_of: str = "world") -> Array:
        """Mean [moment; force] (6,) that it exerted in the last step on the second body [N m, N].

        About the origin of frame B; the first body feels the opposite, at the same place.

        Args:
            in_coordinates_of: "world", "a" or "b": whose axes.
        """
        value = self.system().wrench(self)
        frames = {"world": None, "a": (self._body_a, self._frame_a), "b": (self._body_b, self._frame_b)}
        if in_coordinates_of not in frames:
            raise ModelError(
                f"constraint {self.name!r}: wrench: expected coordinates of 'world', 'a' or 'b', "
                f"got {in_coordinates_of!r}"
            )
        chosen = frames[in_coordinates_of]
        if chosen is not None:
            R = (world_pose(chosen[0]) @ chosen[1])[:3, :3]
            value = np.concatenate([R.T @ value[:3], R.T @ value[3:]])
        return value

    def __repr__(self) -> str:
        a, b = ("the world" if body is None else repr(body.name) for body in (self._body_a, self._body_b))
        return f"{type(self).__name__}({self.name!r}, {a} to {b})"


def _axes_of(joint: Joint) -> list[Array]:
    return [motion.axis for motion in joint.elementary_motions() or ()]


def _on_axis(joint: Joint, axis: Array, first: Array | None = None) -> tuple[Array, Array]:
    """Poses in a joint's bodies of frames whose z is an axis of the joint, and whose x is near another."""
    turn = frame_with_axis(axis, np.zeros(3), first)
    return joint.transform_from_parent @ turn, joint.transform_from_child @ turn


def world_pose(body: BodyNode | None) -> Array:
    return np.eye(4) if body is None else body.world_transform


class WeldJointConstraint(BodyConstraint):
    """Frames A and B coincide: six equations."""

    joint_kind = JointKind.WELD
    _rows = (*_POINT, *_TURNS)


class BallJointConstraint(BodyConstraint):
    """The origins of A and B coincide: three equations."""

    joint_kind = JointKind.BALL
    _rows = _POINT


class AxisConstraint(BodyConstraint):
    """A constraint about one axis, z of both frames.

    Args:
        axis: of the joint in the world, at present: `at` is then a point; z of the frames without it.
    """

    def __init__(self, body_a: BodyNode | None, body_b: BodyNode | None = None, *, axis: ArrayLike | None = None,
                 at: Any = None, **options: Any):  # fmt: skip
        if axis is not None:
            what = f"constraint {options.get('name') or type(self).__name__!r}"
            if "frame_a" in options or "frame_b" in options:
                raise ModelError(f"{what}: expected frames in the bodies or an axis in the world, got both")
            origin = body_b if body_b is not None else body_a
            if at is not None:
                point = as_transform(at, f"{what}: at")[:3, 3]
            else:
                point = world_pose(origin if isinstance(origin, BodyNode) else None)[:3, 3]
            at = frame_with_axis(as_unit_vector(axis, f"{what}: axis"), point)
        super().__init__(body_a, body_b, at=at, **options)

    @classmethod
    def _frames_of(cls, joint: Joint) -> tuple[Array, Array]:
        return _on_axis(joint, *_axes_of(joint))

    @classmethod
    def free_axes(cls, joint: Joint) -> list[FreeAxis]:
        """The joint's own."""
        return [FreeAxis(0, joint.kind != JointKind.PRISMATIC, *cls._frames_of(joint))]


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
    _rows = (*_POINT[:2], *_ALIGNED, (SCREW, 0, "travel follows the turn"))

    def __init__(self, body_a: BodyNode | None, body_b: BodyNode | None = None, *, pitch: float, **options: Any):
        super().__init__(body_a, body_b, **options)
        self._pitch = number_or_nan(pitch)
        if not np.isfinite(self._pitch):
            raise ModelError(f"constraint {self.name!r}: pitch: expected a finite number, got {pitch!r}")

    @property
    def pitch(self) -> float:
        """Travel for each turn [m per revolution]."""
        return self._pitch

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
        one, _, normal = _axes_of(joint)
        return _on_axis(joint, normal, one)

    @classmethod
    def free_axes(cls, joint: Joint) -> list[FreeAxis]:
        """The normal, then both axes in the plane."""
        one, two, normal = _axes_of(joint)
        slides = [FreeAxis(k, False, *_on_axis(joint, axis, normal)) for k, axis in enumerate((one, two))]
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
        R_a, R_b = ((world_pose(body) @ X)[:3, :3] for body, X in ((body_a, self._frame_a), (body_b, self._frame_b)))
        one, two = as_unit_vector(axis1, f"{what}: axis1"), as_unit_vector(axis2, f"{what}: axis2")
        self.set_axes(R_a.T @ one, R_b.T @ two, float(one @ two))

    @property
    def cosine(self) -> float:
        """Cosine of the angle between x of A and y of B."""
        return self._cosine

    def set_axes(self, one: Array, two: Array, cosine: float) -> None:
        """Turn the frames so that x of A and y of B are axes given in them; `cosine` is that of the angle to keep."""
        if abs(cosine) > 1.0 - 1e-9:
            raise ModelError(f"constraint {self.name!r}: expected two axes that are not parallel, got {one}, {two}")
        self._cosine = cosine
        self._frame_a[:3, :3] @= frame_with_axis(one, np.zeros(3))[:3, [2, 0, 1]]
        self._frame_b[:3, :3] @= frame_with_axis(two, np.zeros(3))[:3, [1, 2, 0]]

    @classmethod
    def of_joint(cls, parent: BodyNode | None, child: BodyNode | None, joint: Joint, name: str | None) -> Self:
        """What holds what a joint holds."""
        made = super().of_joint(parent, child, joint, name)
        one, two = _axes_of(joint)
        made.set_axes(one, two, float(one @ two))
        return made

    @classmethod
    def free_axes(cls, joint: Joint) -> list[FreeAxis]:
        """Both axes if they are at right angles; else none.

        The first angle is that of axis 2 about axis 1; the second, seen from the child, that of axis 1 about -axis 2.
        """
        one, two = _axes_of(joint)
        if abs(one @ two) > _RIGHT:
            return []
        frames = _on_axis(joint, -two, one)
        return [FreeAxis(0, True, *_on_axis(joint, one, two)), FreeAxis(1, True, *frames[::-1], swapped=True)]

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
            points = [(world_pose(body) @ X)[:3, 3] for body, X in ((body_a, self._frame_a), (body_b, self._frame_b))]
            distance = float(np.linalg.norm(points[1] - points[0]))
        number = number_or_nan(distance)
        if not (MIN_POINT_DISTANCE < number < np.inf or (number == 0.0 and self._stiffness is not None)):
            raise ModelError(f"constraint {self.name!r}: distance: expected a number above 0 [m], got {distance!r}")
        self._distance = number

    @property
    def distance(self) -> float:
        """Between the origins [m]; settable, as by a winch."""
        return self._distance

    @distance.setter
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
