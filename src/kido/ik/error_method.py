"""Error methods: how far a pose is from what is wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.ik.gradient_method import positive
from kido.ik.part import Part
from kido.ik.tasks import Task
from kido.math.lie import exp_rotation
from kido.math.transform import as_flag, as_numbers, as_transform, as_vector, inverse_transform

Array = NDArray[np.float64]

DEFAULT_TOLERANCE = 1e-6
NARROW = 1e-4  # regions narrower than this are points for Jacobians
_STEP = 1e-6  # of central differences [rad, m]: errors of 1e-12 and 1e-10


class ErrorMethod(Part, ABC):
    """What is wanted of a pose, as six numbers that are zero when it is reached: the base class, also of your own.

    The numbers are [angular; linear]; those that are not needed stay zero. They are evaluated for the present positions
    of the skeleton, which solvers set.

    Attributes:
        tolerance: components up to this count as reached [rad, m].

    Source: DART report, section 2.8.2.
    """

    tolerance: float = DEFAULT_TOLERANCE

    @abstractmethod
    def compute_error(self) -> Array:
        """The error e (6,) at the skeleton's present positions [rad, m]: from what is wanted to what is."""

    def compute_jacobian(self) -> Array:
        """J (6, n) with de/dt = J u, for the velocities u of `ik.dofs`; by central differences unless overridden."""
        ik = self.ik
        columns = []
        for direction in np.eye(len(ik.dofs)):
            both = []
            for h in (_STEP, -_STEP):
                with ik.posed(ik.retract(ik.positions, h * direction)):
                    both.append(np.asarray(self.compute_error(), dtype=float))
            columns.append((both[0] - both[1]) / (2.0 * _STEP))
        return np.stack(columns, axis=1) if columns else np.zeros((6, 0))

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which components (6,) can be other than zero; all unless overridden."""
        return np.ones(6, bool)

    def compute_margins(self) -> tuple[Array, Array]:
        """Inequalities that hold while nothing is wanted: m (k,) >= 0, and their Jacobian (k, n); by default none.

        In a hierarchy, what comes later is kept from making them negative.
        """
        return np.zeros(0), np.zeros((0, len(self.ik.dofs)))

    def evaluate(self) -> tuple[Array, Array, Array, Array]:
        """Error, Jacobian, margins and their Jacobian, checked; overridden where they share work."""
        ik = self.ik
        return ik.compute_error(), ik.compute_jacobian(), *self.compute_margins()

    def as_task(self, levels: bool = False) -> Task | None:
        """The task that compiled code knows it as; None: it knows none.

        Regions so narrow that their middle is what is wanted have no width in it.

        Args:
            levels: whether it is for a driver of levels, which knows cones, whose border is then what is aimed at, and
                balance.
        """
        return None

    def surroundings(self) -> tuple[Any, ...]:
        """Equal as long as what it reads of the skeleton, beside poses, is the same."""
        return ()

    def compute_desired_transform(self, current_transform: Any = None, error: ArrayLike | None = None) -> Array:
        """The pose of the node in the world (4, 4) that takes the error away.

        Args:
            current_transform: a pose of the node in the world; None: its present one.
            error: what is to be taken away from that pose; None: the present error.

        Here the error is taken for a rotation vector and a translation in the axes of `ik.target`.
        """
        ik = self.ik
        X_WB = self.pose_of_node(current_transform) @ ik.offset
        e = self.compute_error() if error is None else as_vector(error, "error", 6)
        R_WT = ik.target.world_transform[:3, :3]
        X_WB[:3, :3] = R_WT @ exp_rotation(-e[:3]) @ R_WT.T @ X_WB[:3, :3]
        X_WB[:3, 3] -= R_WT @ e[3:]
        return X_WB @ inverse_transform(ik.offset)

    def pose_of_node(self, transform: Any) -> Array:
        """A pose of the node in the world (4, 4); None: its present one."""
        if transform is None:
            return self.ik.node.world_transform
        return as_transform(transform, f"{type(self).__name__}: current_transform")

    @property
    def is_satisfied(self) -> bool:
        """Whether all components of the present error are within the tolerance."""
        return bool(np.abs(self.compute_error()).max() <= self.tolerance)


class BoundedError(ErrorMethod):
    """A displacement d (6,) [angular; linear] whose components are to lie between bounds; write `compute_displacement`.

    A component within its bounds gives no error. One outside gives its distance from the middle of the region if
    `error_from_center`, so that solvers end well inside, or else from the bound; one that is bounded on one side only
    always gives that from the bound. Errors are multiplied by `error_weights`.

    Args:
        angular_bounds, linear_bounds: what `angular_bounds` takes.
        error_weights: (6,) or one number, above zero.
        error_from_center: where to aim.
        tolerance: errors up to this count as reached [rad, m].

    Raises:
        ModelError: a wrong number.
    """

    def __init__(
        self,
        angular_bounds: ArrayLike,
        linear_bounds: ArrayLike,
        error_weights: ArrayLike = 1.0,
        error_from_center: bool = True,
        tolerance: float = DEFAULT_TOLERANCE,
    ):
        self.lower, self.upper = np.zeros(6), np.zeros(6)
        self.angular_bounds = angular_bounds
        self.linear_bounds = linear_bounds
        self.error_weights = error_weights
        self.error_from_center = error_from_center
        self.tolerance = positive(tolerance, f"{type(self).__name__}: tolerance", zero=True)

    @abstractmethod
    def compute_displacement(self) -> Array:
        """d (6,) at the skeleton's present positions [rad, m]."""

    @abstractmethod
    def compute_displacement_jacobian(self) -> Array:
        """D (6, n) with dd/dt = D u."""

    def task_bounds(self) -> tuple[Array, Array]:
        """Bounds (6,) of that task."""
        lower, upper = self.lower.copy(), self.upper.copy()
        narrow = self.constrained() & self.narrow()
        lower[narrow] = upper[narrow] = 0.5 * (lower[narrow] + upper[narrow])
        return lower, upper

    def task_options(self) -> dict[str, Any]:
        """What else that task takes over."""
        return {
            "weights": self.weights,
            "priority": self.ik.priority,
            "tolerance": (max(self.tolerance, 1e-9),) * 2,
            "error_from_center": self.error_from_center,
        }

    def has_own(self, error: type[BoundedError]) -> bool:
        """Whether a subclass measures in its own way, and not as a class of ours does."""
        own = type(self)
        return (
            own.compute_displacement is not error.compute_displacement
            or own.compute_displacement_jacobian is not error.compute_displacement_jacobian
            or own.compute_error is not BoundedError.compute_error
        )

    # Settings ----------------------------------------------------------------------------------------------

    def _set_bounds(self, part: slice, value: ArrayLike, what: str) -> None:
        label = f"{type(self).__name__}: {what}"
        expected = "expected a number or three, for both sides, or two of these, (lower, upper)"
        try:
            given = as_numbers(value)
        except (TypeError, ValueError):
            raise ModelError(f"{label}: {expected}, got {value!r}") from None
        if given.shape in ((), (3,)):
            lower, upper = -given, given
        elif given.shape in ((2,), (2, 3)):
            lower, upper = given[0], given[1]
        else:
            raise ModelError(f"{label}: {expected}, got {value!r}")
        if np.isnan(given).any() or (lower > upper).any() or (lower == np.inf).any() or (upper == -np.inf).any():
            raise ModelError(f"{label}: {expected}, with lower <= upper, got {value!r}")
        self.lower[part], self.upper[part] = lower, upper

    @property
    def angular_bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds, (3,) each, of the angular components [rad]; infinite ones are free.

        Set it to a number or three numbers, which bound both sides, or to a pair of these: lower, upper.
        """
        return self.lower[:3].copy(), self.upper[:3].copy()

    @angular_bounds.setter
    def angular_bounds(self, value: Any) -> None:
        self._set_bounds(slice(0, 3), value, "angular_bounds")

    @property
    def linear_bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds, (3,) each, of the linear components [m]; set as `angular_bounds`."""
        return self.lower[3:].copy(), self.upper[3:].copy()

    @linear_bounds.setter
    def linear_bounds(self, value: Any) -> None:
        self._set_bounds(slice(3, 6), value, "linear_bounds")

    @property
    def bounds(self) -> Array:
        """Lower and upper bounds of all components (6, 2) [rad, m] (a copy)."""
        return np.stack([self.lower, self.upper], axis=1)

    @property
    def error_weights(self) -> Array:
        """Factors (6,) of the components (a copy); DART's default is 0.4 for angular ones, ours 1."""
        return self.weights.copy()

    @error_weights.setter
    def error_weights(self, value: ArrayLike) -> None:
        try:
            weights = np.array(np.broadcast_to(as_numbers(value), (6,)))
        except (TypeError, ValueError):
            weights = np.zeros(6)
        if not ((weights > 0.0) & np.isfinite(weights)).all():
            raise ModelError(f"{type(self).__name__}: error_weights: expected six numbers above 0, got {value!r}")
        self.weights = weights

    @property
    def error_from_center(self) -> bool:
        """Whether errors are measured from the middle of the region, not from its border."""
        return self._from_center

    @error_from_center.setter
    def error_from_center(self, value: bool) -> None:
        self._from_center = as_flag(value, f"{type(self).__name__}: error_from_center")

    # Evaluation --------------------------------------------------------------------------------------------

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which components (6,) are bounded."""
        return self.constrained()

    def constrained(self) -> NDArray[np.bool_]:
        """Which components (6,) are bounded."""
        return np.isfinite(self.lower) | np.isfinite(self.upper)

    def narrow(self) -> NDArray[np.bool_]:
        """Which components (6,) are to be in regions so narrow that their middle is what is wanted."""
        return self.upper - self.lower <= NARROW

    def aims_of(self, d: Array) -> Array:
        """What each component is measured from: itself within the bounds."""
        aims = np.clip(d, self.lower, self.upper)
        if self._from_center:
            middle = np.isfinite(self.lower) & np.isfinite(self.upper) & (aims != d)
            aims[middle] = 0.5 * (self.lower[middle] + self.upper[middle])
        return aims

    def error_at(self, d: Array) -> Array:
        """e (6,) of a displacement."""
        return self.weights * (d - self.aims_of(d))

    def jacobian_at(self, d: Array, D: Array) -> Array:
        """J of a displacement and its Jacobian."""
        rows = (self.constrained() & self.narrow()) | (self.aims_of(d) != d)
        return (self.weights * rows)[:, None] * D

    def margins_at(self, d: Array, D: Array) -> tuple[Array, Array]:
        """Margins and their Jacobian, of a displacement and its Jacobian."""
        wide = self.constrained() & ~self.narrow() & (d >= self.lower) & (d <= self.upper)
        above, below = wide & np.isfinite(self.lower), wide & np.isfinite(self.upper)
        return np.concatenate([(d - self.lower)[above], (self.upper - d)[below]]), np.concatenate([D[above], -D[below]])

    def compute_error(self) -> Array:
        """e (6,) = weights (d - aim), zero for components within their bounds [rad, m]."""
        return self.error_at(self.compute_displacement())

    def compute_jacobian(self) -> Array:
        """J (6, n): de/dt = J u outside the bounds.

        Inside, rows of regions narrower than 1e-4 stay those of the displacement, so that what is reached is not given
        up for the rest; rows of wider ones are zero.
        """
        return self.jacobian_at(self.compute_displacement(), self.compute_displacement_jacobian())

    def compute_margins(self) -> tuple[Array, Array]:
        """Distances from the bounds of components that are within wide ones, and their Jacobian."""
        return self.margins_at(self.compute_displacement(), self.compute_displacement_jacobian())
