"""Joints made of elementary hinges, one after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.joints import JointKind
from kido.math.transform import as_transform, as_unit_vector, number_or_nan
from kido.skeleton.host import edits
from kido.skeleton.joints.coordinates import KIND_OF_HINGE, CoordinateKind
from kido.skeleton.joints.joint import Joint

_MAX_HINGES = 6


@dataclass(frozen=True, eq=False)
class Hinge:
    """An elementary hinge: a fixed transform, then a motion along or about one axis by one coordinate.

    Make one by `Hinge.revolute`, `Hinge.prismatic` or `Hinge.screw`. It does not change; `with_changes` gives a
    changed copy.

    Attributes:
        kind: REVOLUTE, PRISMATIC or SCREW.
        axis: (3,) unit axis, in the frame after the fixed transform.
        pitch: of a screw [m per revolution]; else 0.
        offset: 4x4 fixed transform before the motion, from the frame after the hinge before (the joint's
            parent-side frame for the first).
    """

    kind: JointKind
    axis: NDArray[np.float64]
    pitch: float = 0.0
    offset: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        if self.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SCREW):
            raise ModelError(f"hinge: kind: expected REVOLUTE, PRISMATIC or SCREW, got {self.kind!r}")
        axis, offset = as_unit_vector(self.axis, "hinge: axis"), as_transform(self.offset, "hinge: offset")
        pitch = number_or_nan(self.pitch)
        if not np.isfinite(pitch) or (pitch != 0.0 and self.kind != JointKind.SCREW):
            expected = "a finite number [m/revolution]" if self.kind == JointKind.SCREW else "0: it is no screw"
            raise ModelError(f"hinge: pitch: expected {expected}, got {self.pitch!r}")
        axis.flags.writeable = offset.flags.writeable = False
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "offset", offset)
        object.__setattr__(self, "pitch", pitch)

    @classmethod
    def revolute(cls, axis: Any = (0.0, 0.0, 1.0), *, offset: Any = None) -> Hinge:
        """Rotation about an axis [rad]."""
        return cls(JointKind.REVOLUTE, axis, 0.0, offset)

    @classmethod
    def prismatic(cls, axis: Any = (0.0, 0.0, 1.0), *, offset: Any = None) -> Hinge:
        """Translation along an axis [m]."""
        return cls(JointKind.PRISMATIC, axis, 0.0, offset)

    @classmethod
    def screw(cls, axis: Any = (0.0, 0.0, 1.0), pitch: float = 0.1, *, offset: Any = None) -> Hinge:
        """Rotation about an axis [rad] and translation along it by `pitch` metres per revolution."""
        return cls(JointKind.SCREW, axis, pitch, offset)

    def with_changes(self, **changes: Any) -> Hinge:
        """A copy with other `axis`, `pitch` or `offset`.

        Raises:
            ModelError: an unknown name, or a value that a hinge refuses.
        """
        unknown = set(changes) - {"axis", "pitch", "offset"}
        if unknown:
            raise ModelError(f"hinge: no property {sorted(unknown)[0]!r}; it has axis, pitch, offset")
        return dataclasses.replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hinge):
            return NotImplemented
        same = self.kind == other.kind and self.pitch == other.pitch
        return same and np.array_equal(self.axis, other.axis) and np.array_equal(self.offset, other.offset)

    def __repr__(self) -> str:
        pitch = f", pitch={self.pitch:g}" if self.kind == JointKind.SCREW else ""
        offset = "" if np.array_equal(self.offset, np.eye(4)) else ", offset=..."
        return f"Hinge.{self.kind.name.lower()}({self.axis.tolist()}{pitch}{offset})"


class CompoundJoint(Joint):
    """Zero to six hinges in a chain: X_J = O_1 X_1(q1) O_2 X_2(q2) ..., with O_k the hinges' fixed transforms.

    Velocities are the derivatives of positions.

    Args:
        hinges: the chain, from the parent's side.

    Example:
        >>> cylinder = CompoundJoint("piston", [Hinge.revolute((0, 0, 1)), Hinge.prismatic((0, 0, 1))])
        >>> cylinder.set_hinge(1, axis=(1, 0, 0))
    """

    kind = JointKind.COMPOUND
    own_properties = ("hinges",)

    def __init__(self, name: str | None = None, hinges: Iterable[Hinge] = (), **options: Any):
        self._hinges = self._checked(name, hinges)
        n = len(self._hinges)
        self.dof_suffixes = ("",) if n == 1 else tuple(f"_{k + 1}" for k in range(n))
        super().__init__(name, **options)

    @staticmethod
    def _checked(name: str | None, hinges: Iterable[Hinge]) -> tuple[Hinge, ...]:
        found = tuple(hinges) if isinstance(hinges, Iterable) else (hinges,)
        for hinge in found:
            if not isinstance(hinge, Hinge):
                raise ModelError(f"joint {name!r}: hinges: expected kido.Hinge objects, got {hinge!r}")
        if len(found) > _MAX_HINGES:
            raise ModelError(f"joint {name!r}: hinges: expected at most {_MAX_HINGES}, got {len(found)}")
        return found

    def _kind_of_coordinate(self, k: int) -> CoordinateKind:
        return KIND_OF_HINGE.get(self._hinges[k].kind, CoordinateKind.OTHER)

    def elementary_motions(self) -> tuple[Hinge, ...]:
        """The hinges."""
        return self._hinges

    @property
    def hinges(self) -> tuple[Hinge, ...]:
        """The chain, from the parent's side."""
        return self._hinges

    @hinges.setter
    @edits
    def hinges(self, value: Iterable[Hinge]) -> None:
        hinges = self._checked(self.name, value)
        if len(hinges) != len(self._hinges):
            raise ModelError(
                f"joint {self.name!r}: hinges: expected {len(self._hinges)}, one for each coordinate, got {len(hinges)}"
            )
        self._hinges = hinges
        self._changed()

    def set_hinge(self, index: int, **changes: Any) -> None:
        """Change `axis`, `pitch` or `offset` of one hinge.

        Raises:
            ModelError: there is no such hinge, or it refuses the change.
        """
        n = len(self._hinges)
        if isinstance(index, bool) or not isinstance(index, int | np.integer) or not -n <= index < n:
            raise ModelError(f"joint {self.name!r}: no hinge {index!r}; it has {n}")
        hinges = list(self._hinges)
        hinges[index] = hinges[index].with_changes(**changes)
        self.hinges = hinges
