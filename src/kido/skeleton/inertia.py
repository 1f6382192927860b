"""Mass, centre of mass and moment of inertia of a rigid body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.math.transform import as_transform, as_vector, number_or_nan
from kido.reprs import in_few_words
from kido.shapes import Shape

_HUGE = 1e300  # [kg m^2] a moment about the origin that is still a number
_TINY = 1e-20  # [kg m^2] rounding of moments that files give as almost nothing


@dataclass(frozen=True, eq=False)
class Inertia:
    """Inertia of a rigid body in body axes.

    Args:
        mass: [kg], not negative.
        com: centre of mass from the body origin [m].
        moment: 3x3 symmetric matrix about the centre of mass, body axes [kg m^2]; by default that of a
            point mass, zero. Its eigenvalues must not be negative. Real files often break the triangle
            inequality of physical bodies, so that is reported by readers, not refused.

    Raises:
        ModelError: values that are not finite, a negative mass, a moment that is not symmetric or has a
            negative eigenvalue, or a centre of mass so far that the moment about the origin is no number.
    """

    mass: float = 0.0
    com: Any = (0.0, 0.0, 0.0)
    moment: Any = None

    def __post_init__(self) -> None:
        mass = number_or_nan(self.mass)
        if not np.isfinite(mass) or mass < 0.0:
            raise ModelError(f"mass: expected a finite number that is not negative [kg], got {self.mass!r}")
        moment = np.zeros((3, 3)) if self.moment is None else as_vector(self.moment, "moment", 9).reshape(3, 3)
        scale = float(np.abs(moment).max())
        if np.abs(moment - moment.T).max() > 1e-9 * scale + _TINY:
            raise ModelError(f"moment of inertia: expected a symmetric matrix, got {moment.tolist()}")
        moment = 0.5 * (moment + moment.T)
        lowest = float(np.linalg.eigvalsh(moment)[0])
        if lowest < -1e-9 * scale - _TINY:
            raise ModelError(f"moment of inertia: expected no negative eigenvalue, got {lowest:.6g} kg m^2")
        com = as_vector(self.com, "centre of mass")
        reach = max(float(np.abs(com).max()), 1.0)
        if not mass * reach < _HUGE / reach:
            raise ModelError(f"centre of mass: {com.tolist()} m is too far for {mass:g} kg: the moment overflows")
        com.flags.writeable = False
        moment.flags.writeable = False
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "com", com)
        object.__setattr__(self, "moment", moment)

    def __deepcopy__(self, memo: dict[int, Any]) -> Inertia:
        """Itself: it never changes."""
        return self

    @classmethod
    def from_diagonal(cls, mass: float, diagonal: ArrayLike, com: ArrayLike = (0.0, 0.0, 0.0)) -> Inertia:
        """Inertia with the principal moments `diagonal` [kg m^2] along the body axes."""
        return cls(mass, com, np.diag(as_vector(diagonal, "principal moments")))

    @classmethod
    def from_shape(
        cls, shape: Shape, mass: float | None = None, density: float | None = None, transform: Any = None
    ) -> Inertia:
        """Inertia of a homogeneous solid.

        Args:
            shape: the solid.
            mass: [kg]; or
            density: [kg/m^3]. Exactly one of the two.
            transform: pose of the shape in the body.

        Raises:
            ModelError: neither or both of mass and density.
        """
        if (mass is None) == (density is None):
            raise ModelError("Inertia.from_shape: expected exactly one of mass and density")
        if not isinstance(shape, Shape):
            raise ModelError(f"Inertia.from_shape: expected a kido shape, got {type(shape).__name__}")
        what, given = ("mass", mass) if density is None else ("density", density)
        number = number_or_nan(given)
        if not 0.0 < number < np.inf:
            raise ModelError(f"Inertia.from_shape: {what}: expected a positive finite number, got {given!r}")
        mass = number if density is None else number * shape.volume
        X = as_transform(transform, "transform")
        R = X[:3, :3]
        return cls(mass, R @ shape.centroid + X[:3, 3], R @ shape.moment(mass) @ R.T)

    @property
    def moment_about_origin(self) -> NDArray[np.float64]:
        """3x3 moment about the body origin: J = Jcom - m skew(c)^2 [kg m^2]."""
        c = self.com
        return self.moment + self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    def transformed(self, X: ArrayLike) -> Inertia:
        """The same inertia seen from another frame: X is the pose of the present frame in the new one."""
        T = as_transform(X, "transform")
        R = T[:3, :3]
        return Inertia(self.mass, R @ self.com + T[:3, 3], R @ self.moment @ R.T)

    def __add__(self, other: Inertia) -> Inertia:
        """Inertia of two bodies fixed to each other, both given in the same frame."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return Inertia(0.0, (0.0, 0.0, 0.0), self.moment + other.moment)
        com = (self.mass * self.com + other.mass * other.com) / mass
        about_origin = self.moment_about_origin + other.moment_about_origin
        return Inertia(mass, com, about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Inertia):
            return NotImplemented
        same = self.mass == other.mass and np.array_equal(self.com, other.com)
        return bool(same and np.array_equal(self.moment, other.moment))

    def __repr__(self) -> str:
        com, rows = in_few_words(self.com), ", ".join(map(in_few_words, self.moment))
        return f"Inertia(mass={self.mass:.4g}, com={com}, moment=[{rows}])"
