"""Variables of motion inverse kinematics: coordinates of a skeleton with bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kido.errors import ModelError
from kido.ik.coupling import coupling_of
from kido.math.transform import number_or_nan
from kido.skeleton import BallJoint, DegreeOfFreedom, FreeJoint

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


@dataclass(frozen=True)
class Variable:
    """A coordinate that may move, within bounds.

    Coordinates that mimic it move with it, and keep it within their limits too.

    Coordinates of ball and free joints move on their manifold of rotations and have no bounds; say what they must not
    do by an inequality constraint.

    Args:
        dof: the coordinate.
        lower: least position [m, rad]; the coordinate's own limit unless given.
        upper: largest position [m, rad]; the coordinate's own limit unless given.

    Raises:
        StateError: the coordinate mimics another, or is LOCKED.
        ModelError: bounds that are NaN or the wrong way round, or bounds of a ball or free joint.
    """

    dof: DegreeOfFreedom
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.dof, DegreeOfFreedom):
            raise ModelError(f"variable: expected a degree of freedom, got {self.dof!r}")
        curved = isinstance(self.dof.joint, BallJoint | FreeJoint)
        own = (-np.inf, np.inf) if curved else _limits_of(self.dof)
        for name, limit in zip(("lower", "upper"), own):
            given = getattr(self, name)
            value = limit if given is None else number_or_nan(given)
            if np.isnan(value):
                raise ModelError(f"variable {self.dof.name!r}: {name}: expected a number, got {given!r}")
            if curved and np.isfinite(value):
                raise ModelError(
                    f"variable {self.dof.name!r}: {name}: coordinates of ball and free joints have no bounds; expected "
                    f"None, got {given!r}"
                )
            object.__setattr__(self, name, float(value))
        if float(self.lower or 0.0) > float(self.upper or 0.0):
            raise ModelError(
                f"variable {self.dof.name!r}: expected lower <= upper, got {self.lower:g} and {self.upper:g}"
            )

    @classmethod
    def of(cls, skeleton: Skeleton) -> list[Variable]:
        """All independent coordinates of a skeleton that are not LOCKED, within their own limits."""
        own = skeleton.dofs
        return [cls(own[k]) for k in coupling_of(skeleton).every()]


def _limits_of(dof: DegreeOfFreedom) -> tuple[float, float]:
    """Limits of a coordinate that keep also what mimics it within limits."""
    skeleton = dof.joint.child.skeleton
    coupling = coupling_of(skeleton)
    index = coupling.checked([dof.index])
    lower, upper = (np.array([getattr(d, f"position_{s}_limit") for d in skeleton.dofs]) for s in ("lower", "upper"))
    low, high = coupling.limits(lower, upper, index)
    return float(low[0]), float(high[0])
