"""Whole-body control: motions asked for by goals, joint and contact forces, in one quadratic program per call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.control.cartesian import Point, PoseReference
from kido.control.operational_space import checked_gains, held_mass_matrix
from kido.control.reference import Reference
from kido.errors import ModelError, StateError
from kido.math.transform import as_positive, as_vector, numbers_or_nan
from kido.optimization.dense_qp import QuadraticProgram
from kido.quantities import com_acceleration
from kido.simulation.controller import Controller, driven_dofs
from kido.skeleton import BodyNode, Skeleton

Array = NDArray[np.float64]
_DEPENDENT = 1e-9  # share of the largest singular value below which equations of contacts depend on each other


class Goal(FixedAttributes, ABC):
    """What a whole body is to do: accelerations J a = b, in least squares with a weight.

    Args:
        kp, kd: gains [1/s^2], [1/s], one number or one for each row.
        weight: of each row's square in the sum, one number or one for each.
    """

    def __init__(self, kp: ArrayLike, kd: ArrayLike, weight: ArrayLike, size: int):
        self._what = type(self).__name__
        self._kp, self._kd = checked_gains(kp, size, f"{self._what}: kp"), checked_gains(kd, size, f"{self._what}: kd")
        self._weight = checked_gains(weight, size, f"{self._what}: weight")

    @property
    def weight(self) -> Array:
        """Weights of its rows; may be set."""
        return self._weight.copy()

    @weight.setter
    def weight(self, value: ArrayLike) -> None:
        self._weight = checked_gains(value, len(self._weight), f"{self._what}: weight")

    @abstractmethod
    def rows(self, skeleton: Skeleton, time: float) -> tuple[Array, Array]:
        """J (rows, dofs) and b (rows,) at the skeleton's present state and a time [s]."""


class BodyGoal(Goal):
    """A point of a body goes to a pose: J a + J'u = x*'' + kp (x* - x) + kd (x*' - x').

    Args:
        body, target, offset, rows: as of `OperationalSpace`.
        kp, kd, weight: as of `Goal`.
    """

    def __init__(
        self,
        body: BodyNode,
        target: Any,
        kp: ArrayLike = 100.0,
        kd: ArrayLike = 20.0,
        weight: ArrayLike = 1.0,
        *,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        rows: str | None = None,
    ):
        self._pose = PoseReference(target, "BodyGoal")
        self._point = Point(body, offset, rows or ("linear" if self._pose.is_point else "pose"), "BodyGoal")
        super().__init__(kp, kd, weight, self._point.size)

    def rows(self, skeleton: Skeleton, time: float) -> tuple[Array, Array]:
        error, rate, feedforward = self._point.errors(self._pose, time)
        return self._point.jacobian(), feedforward + self._kp * error + self._kd * rate - self._point.bias()


class ComGoal(Goal):
    """The centre of mass goes to a point: J a + J'u = x*'' + kp (x* - x) + kd (x*' - x'), world axes.

    Args:
        target: a point (3,) in the world, a `Frame`, or a function of time that gives a point.
        kp, kd, weight: as of `Goal`.
    """

    def __init__(self, target: Any, kp: ArrayLike = 50.0, kd: ArrayLike = 14.0, weight: ArrayLike = 1.0):
        self._pose = PoseReference(target, "ComGoal")
        super().__init__(kp, kd, weight, 3)

    def rows(self, skeleton: Skeleton, time: float) -> tuple[Array, Array]:
        X, twist, rate = self._pose.at(time)
        still = np.zeros(skeleton.num_dofs)
        bias = com_acceleration(skeleton, skeleton.positions, skeleton.velocities, still)
        error, missing = X[:3, 3] - skeleton.com, twist[3:] - skeleton.com_velocity()
        return np.array(skeleton.com_jacobian()), rate[3:] + self._kp * error + self._kd * missing - np.array(bias)


class PostureGoal(Goal):
    """Coordinates follow positions: a = a* + kp (q* - q) + kd (u* - u).

    Args:
        skeleton: whose.
        target: as of `Tracking`.
        dofs: which; by default all that take forces, as of `Controller`.
        kp, kd, weight: as of `Goal`, one number or one for each of the skeleton's coordinates.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        target: Any,
        dofs: Any = None,
        kp: ArrayLike = 25.0,
        kd: ArrayLike = 10.0,
        weight: ArrayLike = 0.01,
    ):
        super().__init__(kp, kd, weight, skeleton.num_dofs)
        self._dofs = driven_dofs(skeleton, dofs, self._what)
        self._reference = Reference(skeleton, self._dofs, target)

    def rows(self, skeleton: Skeleton, time: float) -> tuple[Array, Array]:
        reference, k = self._reference, self._dofs
        error = np.array(skeleton.position_differences(reference.positions(time), skeleton.positions))
        missing = reference.velocities(time) - skeleton.velocities
        b = reference.accelerations(time) + self._kp * error + self._kd * missing
        return np.eye(skeleton.num_dofs)[k], b[k]

    @property
    def weight(self) -> Array:
        return self._weight[self._dofs]


class MomentumGoal(Goal):
    """Angular momentum about the centre of mass decays: A a + A'u = -kd L, world axes.

    Args:
        kd, weight: as of `Goal`; the rows are moments [N m].
    """

    def __init__(self, kd: ArrayLike = 5.0, weight: ArrayLike = 1e-3):
        super().__init__(0.0, kd, weight, 3)

    def rows(self, skeleton: Skeleton, time: float) -> tuple[Array, Array]:
        A = np.array(skeleton.centroidal_momentum_matrix)[:3]
        rate = np.array(skeleton.centroidal_momentum_matrix_derivative)[:3] @ skeleton.velocities
        return A, -self._kd * (A @ skeleton.velocities) - rate


class Contact(FixedAttributes):
    """Points of a body that stay where they touch, and push within friction pyramids.

    Forces of each point are sums f = sum l_i (n + mu t_i), l_i >= 0, over four directions t_i, so they lie within the
    cone |f_t| <= mu f_n. Three points or more keep the body's pose (6 equations), one keeps its place (3).

    Args:
        body: that touches.
        points: (points, 3) in body axes [m]: one, or three and more.
        friction: mu.
        normal: out of what is touched, world axes.

    Raises:
        ModelError: no body, two points or none, a friction that is not positive, no direction.
    """

    def __init__(self, body: BodyNode, points: ArrayLike, friction: float = 0.7, normal: ArrayLike = (0.0, 0.0, 1.0)):
        if not isinstance(body, BodyNode):
            raise ModelError(f"contact: expected a body, got {body!r}")
        what = f"contact of body {body.name!r}"
        places = np.atleast_2d(numbers_or_nan(points))
        if places.ndim != 2 or places.shape[1] != 3 or len(places) in (0, 2) or not np.isfinite(places).all():
            raise ModelError(f"{what}: points: expected one, or three and more, (points, 3), got {points!r:.200}")
        mu, n = as_positive(friction, f"{what}: friction"), as_vector(normal, f"{what}: normal")
        if not np.linalg.norm(n) > 0.0:
            raise ModelError(f"{what}: normal: expected a direction, got {normal!r}")
        self.body, self.points, self.friction = body, np.array(places), mu
        n = n / np.linalg.norm(n)
        t = np.asarray(np.cross(n, np.eye(3)[int(np.abs(n).argmin())]), np.float64)
        t /= np.linalg.norm(t)
        s = np.asarray(np.cross(n, t), np.float64)
        self.edges: Array = np.array([n + mu * t, n - mu * t, n + mu * s, n - mu * s])
        self._point = Point(body, places[0], "linear" if len(places) == 1 else "pose", what)

    def kept(self, damping: float) -> tuple[Array, Array]:
        """J and b of the equations J a = b by which it stays."""
        J = self._point.jacobian()
        return J, -self._point.bias() - damping * (J @ self.body.skeleton.velocities)

    def generators(self) -> Array:
        """Generalized forces (skeleton's dofs, points * 4) of l = 1 along each edge."""
        J, forces = np.array(self.body.skeleton.jacobian(self.body)), np.tile(self.edges, (len(self.points), 1))
        arms = np.repeat(self.points @ self.body.world_transform[:3, :3].T, len(self.edges), axis=0)
        return J[:3].T @ np.cross(arms, forces).T + J[3:].T @ forces.T


class WholeBody(Controller):
    """Joint forces for goals of the whole body, with contacts, floating base and limits of forces.

    Of accelerations a and contact forces l it takes the least of

        sum over goals of w |J a - b|^2  +  regularization (|a|^2 + |l|^2 / m^2)

    under    (M a + C - G l) = 0 where nothing drives (a floating base),    lower <= M a + C - G l <= upper elsewhere,
             J_c a + J_c'u = -kc J_c u of each contact,    l >= 0,

    with C of gravity, velocities, springs and dampers, G of the contacts' friction pyramids; joint forces are
    tau = M a + C - G l. It does not know of external forces: they are what disturbs it. The program is solved by the
    dense solver of `DifferentialIK`. Where force limits leave no solution they are let go, and worlds bound what acts.
    Source: Herzog et al. 2016; Escande, Mansard and Wieber 2014, with weights in place of levels.

    Args:
        skeleton, dofs, rate, period, name: as of `Controller`.
        goals: what to do; see `BodyGoal`, `ComGoal`, `PostureGoal`, `MomentumGoal`.
        contacts: what touches.
        contact_damping: kc [1/s].
        regularization: share of accelerations and contact forces in the sum; it makes the solution unique.

    Raises:
        ModelError: as of `Controller`; goals and contacts that are none, or of another skeleton.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        goals: Sequence[Goal],
        contacts: Sequence[Contact] = (),
        dofs: Any = None,
        *,
        contact_damping: float = 20.0,
        regularization: float = 1e-6,
        **options: Any,
    ):
        super().__init__(skeleton, dofs, **options)
        self._goals, self._contacts = list(goals), []
        for goal in self._goals:
            if not isinstance(goal, Goal):
                raise ModelError(f"controller {self.name!r}: goals: expected a kido.control.Goal, got {goal!r}")
        self.contacts = contacts
        self._contact_damping = as_positive(contact_damping, f"controller {self.name!r}: contact_damping")
        self._regularization = as_positive(regularization, f"controller {self.name!r}: regularization")
        self._time = 0.0
        self._accelerations, self._contact_forces = np.zeros(skeleton.num_dofs), np.zeros((0, 3))
        self._within_limits = True

    @property
    def goals(self) -> tuple[Goal, ...]:
        """What it does."""
        return tuple(self._goals)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """What touches; may be set as it changes."""
        return tuple(self._contacts)

    @contacts.setter
    def contacts(self, value: Sequence[Contact]) -> None:
        found = list(value)
        for contact in found:
            if not isinstance(contact, Contact) or contact.body.skeleton is not self.skeleton:
                raise ModelError(
                    f"controller {self.name!r}: contacts: expected kido.control.Contact of bodies of skeleton "
                    f"{self.skeleton.name!r}, got {contact!r}"
                )
        self._contacts = found

    @property
    def accelerations(self) -> Array:
        """Accelerations (skeleton's dofs,) of the last solution."""
        return self._accelerations.copy()

    @property
    def contact_forces(self) -> Array:
        """Forces of the last solution on the contacts' points, one after another, (points, 3) [N], world axes."""
        return self._contact_forces.copy()

    @property
    def within_limits(self) -> bool:
        """Whether the last solution keeps force limits; else there was none that does."""
        return self._within_limits

    def prepare(self, time: float) -> None:
        self._time = time

    def compute(self) -> Array:
        s, n = self.skeleton, self.skeleton.num_dofs
        M = held_mass_matrix(s, self.hold)
        C = np.array(s.coriolis_and_gravity_forces) - s.spring_forces - s.damping_forces
        G = np.hstack([np.zeros((n, 0)), *(c.generators() for c in self._contacts)])
        m = n + G.shape[1]
        H, g = np.zeros((m, m)), np.zeros(m)
        for goal in self._goals:
            J, b = goal.rows(s, self._time)
            weighted = goal.weight[:, None] * J
            H[:n, :n] += J.T @ weighted
            g[:n] -= weighted.T @ b
        scale = max(float(s.mass), 1e-6)
        H[np.diag_indices(m)] += self._regularization * np.concatenate([np.ones(n), np.full(m - n, 1.0 / scale**2)])
        whole = np.hstack([M, -G])
        free = np.setdiff1d(np.arange(n), self._dofs)
        J, b = self._kept()
        rows, wanted = [whole[free], np.hstack([J, np.zeros((len(J), m - n))])], [-C[free], b]
        bounds = s.command_bounds or (np.full(n, -np.inf), np.full(n, np.inf))
        limited = self._dofs[np.isfinite(bounds)[:, self._dofs].any(axis=0)]
        equal = np.concatenate(wanted)
        A = np.vstack([*rows, whole[limited]])
        low, high = (np.concatenate([equal, side[limited] - C[limited]]) for side in bounds)
        least = np.concatenate([np.full(n, -np.inf), np.zeros(m - n)])
        x = self._solved(H, g, A, low, high, least, len(equal))
        self._accelerations = x[:n]
        forces = [np.zeros((0, 3))]
        at = n
        for contact in self._contacts:
            count = 4 * len(contact.points)
            forces.append(x[at : at + count].reshape(-1, 4) @ contact.edges)
            at += count
        self._contact_forces = np.concatenate(forces)
        return (whole @ x + C)[self._dofs]

    def _kept(self) -> tuple[Array, Array]:
        """Independent equations J a = b by which contacts stay, in least squares where bodies of a foot depend."""
        if not self._contacts:
            return np.zeros((0, self.skeleton.num_dofs)), np.zeros(0)
        kept = [contact.kept(self._contact_damping) for contact in self._contacts]
        left, sizes, right = np.linalg.svd(np.vstack([J for J, _ in kept]), full_matrices=False)
        rank = int((sizes > _DEPENDENT * sizes[0]).sum())
        return right[:rank], (left[:, :rank].T @ np.concatenate([b for _, b in kept])) / sizes[:rank]

    def _solved(self, H: Array, g: Array, A: Array, low: Array, high: Array, least: Array, equations: int) -> Array:
        """The program's minimum, without limits of forces if there is none with them.

        Raises:
            StateError: contacts and the floating base contradict each other.
        """
        for rows in (len(A), equations):
            found = QuadraticProgram(H, g, A[:rows], low[:rows], high[:rows], least).solve()
            if found.status == "solved":
                self._within_limits = rows == len(A)
                return found.x
        raise StateError(
            f"controller {self.name!r}: no accelerations and contact forces satisfy the equations of motion of what "
            f"is not driven, and {len(self._contacts)} contacts ({found.status})"
        )
