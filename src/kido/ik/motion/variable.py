"""Variables of motion inverse kinematics: coordinates of a skeleton with bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kido.errors import ModelError
from kido.math.transform import number_or_nan
from kido.skeleton import BallJoint, DegreeOfFreedom, FreeJoint

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


@dataclass(frozen=True)
class Variable:
    """A coordinate that may move, within bounds.

    Coordinates of ball and free joints move on their manifold of rotations and have no bounds; say what they must not
    do by an inequality constraint.

    Args:
        dof: the coordinate.
        lower: least position [m, rad]; the coordinate's own limit unless given.
        upper: largest position [m, rad]; the coordinate's own limit unless given.

    Raises:
        ModelError: bounds that are NaN or the wrong way round, or bounds of a ball or free joint.
    """

    dof: DegreeOfFreedom
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.dof, DegreeOfFreedom):
            raise ModelError(f"variable: expected a degree of freedom, got {self.dof!r}")
        curved = isinstance(self.dof.joint, BallJoint | FreeJoint)
        own = (-np.inf, np.inf) if curved else (self.dof.position_lower_limit, self.dof.position_upper_limit)
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
        if self.lower > self.upper:  # type: ignore[operator]
            raise ModelError(
                f"variable {self.dof.name!r}: expected lower <= upper, got {self.lower:g} and {self.upper:g}"
            )

    @classmethod
    def of(cls, skeleton: Skeleton) -> list[Variable]:
        """All coordinates of a skeleton within their own limits."""
        return [cls(dof) for dof in skeleton.dofs]
