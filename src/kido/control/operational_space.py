"""Operational-space and impedance control: forces that move or yield a point of a body as asked, in its own axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import named_arguments
from kido.control.cartesian import Point, PoseReference
from kido.control.reference import Reference, spread
from kido.errors import ModelError
from kido.math.transform import numbers_or_nan
from kido.simulation.controller import Controller, driven_dofs
from kido.skeleton import BodyNode, Skeleton

Array = NDArray[np.float64]
_SINGULAR = 1e-9  # share of the largest compliance below which a direction is taken for one that nothing moves


def held_mass_matrix(skeleton: Skeleton, time: float) -> Array:
    """M + T Kd + T^2/4 Ks, by which forces held for a time T [s] accelerate; worlds take dampers and springs so."""
    tree = skeleton.current_state.compiled_tree()
    M = np.array(skeleton.mass_matrix)
    M[np.diag_indices_from(M)] += time * (tree.damping + 0.25 * time * tree.stiffness)
    return M


class TaskDynamics:
    """A point's dynamics, as joint forces on some coordinates move it: x'' = A tau + b.

    A = J M^-1 S, b = J'u - J M^-1 (C - other forces), S the columns of those coordinates. Forces for x'' are chosen so
    that tau (S^T M^-1 S) tau is least, which are J^T Lambda (x'' - b), Lambda = (J M^-1 J^T)^-1, where all coordinates
    are driven (Khatib 1987).

    Args:
        loads: generalized forces of contacts and constraints (skeleton's dofs,); none by default.
        time: for which forces are held [s], see `held_mass_matrix`.
    """

    def __init__(self, point: Point, dofs: NDArray[np.int64], loads: ArrayLike | None = None, time: float = 0.0):
        s = point.body.skeleton
        J, inverse = point.jacobian(), np.linalg.inv(held_mass_matrix(s, time))
        others = np.array(s.spring_forces) + s.damping_forces + s.external_forces
        if loads is not None:
            others = others + np.asarray(loads, float)
        self.inverse_mass, self.inverse = inverse, inverse[np.ix_(dofs, dofs)]
        self.A = J @ inverse[:, dofs]
        self.b = point.bias() - J @ (inverse @ (np.array(s.coriolis_and_gravity_forces) - others))
        self.compliance = self.A @ np.linalg.solve(self.inverse, self.A.T)
        self.inertia = np.linalg.pinv(self.compliance, rcond=_SINGULAR, hermitian=True)

    def forces(self, acceleration: ArrayLike, null_forces: ArrayLike | None = None) -> Array:
        """Forces on the coordinates that give the point an acceleration; `null_forces` act in their null space."""
        back = np.linalg.solve(self.inverse, self.A.T) @ self.inertia
        tau: Array = back @ (np.asarray(acceleration, float) - self.b)
        if null_forces is not None:
            own = np.asarray(null_forces, float)
            tau = tau + own - back @ (self.A @ own)
        return tau


class OperationalSpace(Controller):
    """Moves a point of a body, by its own inertia, so that errors decay as those of a mass, spring and damper.

        x'' = x*'' + kp (x* - x) + kd (x*' - x'),   tau = J^T (Lambda (x'' - J'u) + mu) + N^T tau_posture

    with Lambda = (J M^-1 J^T)^-1, mu = Lambda J M^-1 (C - other forces), and N^T = I - J^T Lambda J M^-1, in which the
    posture's forces M (kp (q* - q) - kd u) do not disturb the point. Without model error x* - x has the poles of
    s^2 + kd s + kp. Rotations are rotation vectors log(R* R^T) in world axes. Where not all coordinates are driven, tau
    is what gives the driven ones' part (`TaskDynamics`); contacts act as in the step before.
    Source: Khatib 1987.

    Args:
        skeleton, dofs, rate, period, name: as of `Controller`.
        body: of the skeleton.
        target: a pose (4, 4) or a point (3,) in the world, a `Frame`, or a function of time that gives the former.
        kp, kd: gains [1/s^2], [1/s], one number or one for each row.
        offset: the point in body axes [m].
        rows: what of the pose: "pose" (rotation, then translation), "linear", "angular"; "linear" for a point.
        posture: positions that the null space goes to, as `Tracking.target`; None: it is left alone.
        posture_kp, posture_kd: gains of the null space [1/s^2], [1/s].

    Raises:
        ModelError: as of `Controller`; a body of another skeleton, targets and gains of other sizes.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        body: BodyNode,
        target: Any,
        kp: ArrayLike,
        kd: ArrayLike,
        dofs: Any = None,
        *,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        rows: str | None = None,
        posture: Any = None,
        posture_kp: ArrayLike = 0.0,
        posture_kd: ArrayLike = 0.0,
        **options: Any,
    ):
        super().__init__(skeleton, dofs, **options)
        what = f"controller {self.name!r}"
        self._pose = PoseReference(target, what)
        self._point = Point(body, offset, rows or ("linear" if self._pose.is_point else "pose"), what)
        if body.skeleton is not skeleton:
            raise ModelError(f"{what}: expected a body of skeleton {skeleton.name!r}, got {body!r}")
        m, n = self._point.size, skeleton.num_dofs
        self._kp, self._kd = checked_gains(kp, m, f"{what}: kp"), checked_gains(kd, m, f"{what}: kd")
        self._posture = None if posture is None else Reference(skeleton, self._dofs, posture)
        self._posture_gains = [
            spread(skeleton, self._dofs, value, np.zeros(n), f"{what}: {name}", n, least=0.0)
            for name, value in (("posture_kp", posture_kp), ("posture_kd", posture_kd))
        ]
        self._time = 0.0

    @property
    def target(self) -> Any:
        """What the point follows; may be set."""
        return self._pose.given

    @target.setter
    def target(self, value: Any) -> None:
        self._pose = PoseReference(value, f"controller {self.name!r}")

    @property
    def error(self) -> Array:
        """Error of the point at the time of the last call (rows,) [rad, m], world axes."""
        return self._point.errors(self._pose, self._time)[0]

    def prepare(self, time: float) -> None:
        self._time = time

    def _acceleration(self, dynamics: TaskDynamics) -> Array:
        """x'' asked for."""
        error, rate, feedforward = self._point.errors(self._pose, self._time)
        return feedforward + self._kp * error + self._kd * rate

    def _null_forces(self) -> Array:
        """Forces of the posture on the driven coordinates."""
        s, dofs = self.skeleton, self._dofs
        if self._posture is None:
            return np.zeros(len(dofs))
        kp, kd = self._posture_gains
        error = np.array(s.position_differences(self._posture.positions(self._time), s.positions))
        rate = self._posture.velocities(self._time) - s.velocities
        return (np.array(s.mass_matrix) @ (kp * error + kd * rate))[dofs]

    def compute(self) -> Array:
        s = self.skeleton
        loads = s.constraint_forces if s.host is not None else None
        dynamics = TaskDynamics(self._point, self._dofs, loads, self.hold)
        return dynamics.forces(self._acceleration(dynamics), self._null_forces())


class Impedance(OperationalSpace):
    """Lets a point of a body yield to forces F on it as a spring and damper to its target, and an inertia, do.

        inertia (x'' - x*'') = K (x* - x) + D (x*' - x') + F

    With `inertia` None it is the point's own, Lambda, so that no measured force is needed: tau = J^T (Lambda x*'' +
    K e + D e' + mu). Else F is that of contacts and constraints in the step before and of external forces, shaped as
    Lambda F. Without motion, F stretches it by K^-1 F. Source: Hogan 1985; Ott 2008.

    Args:
        skeleton, body, target, dofs, offset, rows, posture, posture_kp, posture_kd: as of `OperationalSpace`.
        stiffness, damping: K [N/m, N m/rad] and D [N s/m, N m s/rad], one number or one for each row.
        inertia: that one should feel: one number, one for each row [kg, kg m^2], or a matrix; None: the point's own.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        body: BodyNode,
        target: Any,
        stiffness: ArrayLike,
        damping: ArrayLike,
        dofs: Any = None,
        *,
        inertia: ArrayLike | None = None,
        **options: Any,
    ):
        super().__init__(skeleton, body, target, stiffness, damping, dofs, **options)
        m = self._point.size
        self._inertia: Array | None = None
        if inertia is not None:
            matrix = np.asarray(inertia, float)
            if matrix.shape in ((), (1,), (m,)):
                matrix = np.diag(np.broadcast_to(matrix, (m,)))
            if matrix.shape != (m, m):
                matrix = np.full((m, m), np.nan)
            if not np.isfinite(matrix).all() or np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0] <= 0.0:
                raise ModelError(
                    f"controller {self.name!r}: inertia: expected positive numbers, {m} of them, or a positive "
                    f"definite matrix ({m}, {m}), got {inertia!r:.200}"
                )
            self._inertia = np.array(matrix)

    def compute(self) -> Array:
        s, point = self.skeleton, self._point
        felt = np.array(s.external_forces) + (s.constraint_forces if s.host is not None else 0.0)
        error, rate, feedforward = point.errors(self._pose, self._time)
        spring = self._kp * error + self._kd * rate
        # What pushes the point is felt and not made up for: dynamics without it.
        dynamics = TaskDynamics(point, self._dofs, -np.array(s.external_forces), self.hold)
        if self._inertia is None:
            wanted = feedforward + dynamics.compliance @ spring
        else:
            push = dynamics.inertia @ (point.jacobian() @ (dynamics.inverse_mass @ felt))
            wanted = feedforward + np.linalg.solve(self._inertia, spring + push) - dynamics.compliance @ push
        return dynamics.forces(wanted, self._null_forces())


def checked_gains(value: ArrayLike, size: int, what: str) -> Array:
    """(size,) gains from one number or as many, not negative.

    Raises:
        ModelError: they are something else.
    """
    try:
        numbers = np.array(np.broadcast_to(numbers_or_nan(value), (size,)))
    except ValueError:
        numbers = np.full(size, np.nan)
    if not np.isfinite(numbers).all() or (numbers < 0.0).any():
        raise ModelError(f"{what}: expected finite numbers not below 0, one or {size}, got {value!r:.200}")
    return numbers


@named_arguments
def operational_space(
    body: BodyNode,
    acceleration: ArrayLike,
    *,
    offset: ArrayLike = (0.0, 0.0, 0.0),
    rows: str = "pose",
    dofs: Any = None,
    null_forces: ArrayLike | None = None,
    loads: ArrayLike | None = None,
) -> Array:
    """Forces (skeleton's dofs,) that give a point of a body an acceleration at the present state.

    tau = J^T (Lambda (x'' - J'u) + mu) + N^T tau_0, see `OperationalSpace`.

    Args:
        acceleration: (rows,) [rad/s^2, m/s^2], world axes.
        null_forces: tau_0 (skeleton's dofs,), of which the part acts that does not disturb the point.
        loads: generalized forces of contacts and constraints; none by default.
    """
    what = "operational_space"
    point = Point(body, offset, rows, what)
    chosen = driven_dofs(point.body.skeleton, dofs, what)
    wanted = np.asarray(acceleration, float)
    if wanted.shape != (point.size,) or not np.isfinite(wanted).all():
        raise ModelError(f"{what}: acceleration: expected {point.size} finite numbers, got {acceleration!r:.200}")
    own = None if null_forces is None else np.asarray(null_forces, float)[chosen]
    tau = np.zeros(point.body.skeleton.num_dofs)
    tau[chosen] = TaskDynamics(point, chosen, loads).forces(wanted, own)
    return tau
