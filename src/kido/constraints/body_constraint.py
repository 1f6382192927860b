"""What constraints between frames of two bodies, or of a body and the world, have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.constraints.constraint import Constraint, bound, not_negative, read_only
from kido.constraints.loop_schema import BOUNDED_ROW, ELIMINATED, LENGTH, SCREW_TRAVEL, SHIFT, SPRING
from kido.errors import ModelError
from kido.joints import JointKind
from kido.math.transform import as_transform, as_unit_vector, inverse_transform
from kido.skeleton import BodyNode, Joint
from kido.turns import in_turn

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


Array = NDArray[np.float64]


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

    body_a: BodyNode | None = read_only("_body_a", "The first body; None: the world.")
    body_b: BodyNode | None = read_only("_body_b", "The second body; None: the world.")

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
    @in_turn
    def frame_a(self, value: Any) -> None:
        self._frame_a = as_transform(value, f"constraint {self.name!r}: frame_a")
        self.changed()

    @in_turn
    def restore_frames(self, frame_a: ArrayLike, frame_b: ArrayLike) -> None:
        """Put back what `frame_a` and `frame_b` gave (4, 4), to the bit: they are not made orthonormal again."""
        self._frame_a, self._frame_b = np.array(frame_a, dtype=float), np.array(frame_b, dtype=float)
        self.changed()

    @property
    def frame_b(self) -> Array:
        """Frame B in the second body (a copy)."""
        return self._frame_b.copy()

    @frame_b.setter
    @in_turn
    def frame_b(self, value: Any) -> None:
        self._frame_b = as_transform(value, f"constraint {self.name!r}: frame_b")
        self.changed()

    stiffness: float | None = read_only("_stiffness", "Of a constraint that is a spring [N/m, N m/rad]; None: rigid.")
    damping: float = read_only("_damping", "Of a constraint that is a spring [N s/m, N m s/rad].")
    force_limit: float = read_only("_force_limit", "Largest force of each equation that holds a translation [N].")
    torque_limit: float = read_only("_torque_limit", "Largest moment of each equation that holds a rotation [N m].")
    breaking_force: float = read_only("_breaking_force", "Force at which it breaks [N].")
    breaking_torque: float = read_only("_breaking_torque", "Moment at which it breaks [N m].")

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
            limit = self._force_limit if kind in (SHIFT, LENGTH, SCREW_TRAVEL) else self._torque_limit
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


def axes_of(joint: Joint) -> list[Array]:
    """Axes of a joint, in order, in its own frame."""
    return [motion.axis for motion in joint.elementary_motions() or ()]


def on_axis(joint: Joint, axis: Array, first: Array | None = None) -> tuple[Array, Array]:
    """Poses in a joint's bodies of frames whose z is an axis of the joint, and whose x is near another."""
    turn = frame_with_axis(axis, np.zeros(3), first)
    return joint.transform_from_parent @ turn, joint.transform_from_child @ turn


def world_pose(body: BodyNode | None) -> Array:
    """Pose of a body in the world, at present; None: of the world itself."""
    return np.eye(4) if body is None else body.world_transform


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
        return on_axis(joint, *axes_of(joint))

    @classmethod
    def free_axes(cls, joint: Joint) -> list[FreeAxis]:
        """The joint's own."""
        return [FreeAxis(0, joint.kind != JointKind.PRISMATIC, *cls._frames_of(joint))]
