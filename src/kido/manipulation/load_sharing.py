"""Several arms on one object: forces that move it, forces that squeeze it, and how the load is shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes, dataclass
from kido.errors import ModelError, StateError
from kido.manipulation.parts import Part
from kido.math.transform import as_positive, as_unit_vector, as_vector, number_or_nan, numbers_or_nan
from kido.optimization.dense_qp import QuadraticProgram
from kido.reprs import brief
from kido.skeleton import BodyNode

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FrictionGrip:
    """What a tip can give an object by friction; all in the tip's axes.

    Attributes:
        normal: unit vector from the tip into the object.
        friction: Coulomb coefficient: the force is within its cone (within a pyramid in it, of `edges` sides).
        torsion: moment about the normal is at most this times the normal force [m]; 0: a point contact.
        least, most: bounds of the normal force [N].
        edges: sides of the pyramid.
    """

    normal: Any = (0.0, 0.0, 1.0)
    friction: float = 0.5
    torsion: float = 0.0
    least: float = 0.0
    most: float = np.inf
    edges: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", tuple(as_unit_vector(self.normal, "friction grip: normal").tolist()))
        as_positive(self.friction, "friction grip: friction")
        if not number_or_nan(self.torsion) >= 0.0:
            raise ModelError(f"friction grip: torsion: expected a length not below 0, got {self.torsion!r}")
        if not 0.0 <= number_or_nan(self.least) <= number_or_nan(self.most):
            raise ModelError(f"friction grip: expected 0 <= least <= most, got {self.least!r} and {self.most!r}")
        if not isinstance(self.edges, int) or self.edges < 3:
            raise ModelError(f"friction grip: edges: expected a number from 3 on, got {self.edges!r}")

    def rows(self) -> tuple[Array, Array, Array]:
        """C (k, 6) on [moment; force] of the tip, in its axes, with lower <= C w <= upper."""
        n = np.array(self.normal)
        s, t = scipy.linalg.null_space(n[None]).T
        zero, rows = np.zeros(3), [(np.r_[np.zeros(3), n], self.least, self.most)]
        inner = self.friction * np.cos(np.pi / self.edges)  # a pyramid with corners on the cone
        for angle in 2.0 * np.pi * np.arange(self.edges) / self.edges:
            side = np.cos(angle) * s + np.sin(angle) * t
            rows.append((np.r_[zero, side - inner * n], -np.inf, 0.0))
        rows += [(np.r_[side, zero], 0.0, 0.0) for side in (s, t)]
        if self.torsion > 0.0:
            rows += [(np.r_[sign * n, -self.torsion * n], -np.inf, 0.0) for sign in (1.0, -1.0)]
        else:
            rows.append((np.r_[n, zero], 0.0, 0.0))
        C, low, high = zip(*rows, strict=True)
        return np.array(C), np.array(low), np.array(high)


@dataclass(frozen=True, eq=False)
class LoadShare:
    """Who bears what.

    Attributes:
        wrenches: (m, 6) [moment; force] that each arm's tip gives the object, about the tip, world axes [N m, N].
        moving: (m, 6) the part that moves the object.
        squeezing: (m, 6) the part whose sum on the object is zero.
        forces: of each arm, joint forces (n,): its own and those that give the wrench [N, N m].
        shares: of each arm, the largest of its joint forces over their limits.
        residual: largest difference of the wrenches' sum about the origin from what was wanted [N m, N].
    """

    wrenches: Array
    moving: Array
    squeezing: Array
    forces: tuple[Array, ...]
    shares: Array
    residual: float

    __repr__ = brief

    @property
    def largest_share(self) -> float:
        """Of all arms."""
        return float(self.shares.max())


class LoadSharing(FixedAttributes):
    """Several arms that hold one object.

    With f the wrenches of all tips, A = [phi(o, 1) ... phi(o, m)] gives the object A f about o. Of f with A f = F, one
    moves (`move`), and others, N c with A N = 0, squeeze. Joint forces are T_i = T_i,own + J_i^T f_i.

    Args:
        arms: parts with tips, each with limits of its forces (`Part.force_limit`).
        grips: of each arm, a `FrictionGrip`, or None: a rigid hold, which gives any wrench; one for all, or none.

    Raises:
        ModelError: less than two arms, arms without tips, or another number of grips.

    Source: Walker, Freeman and Marcus (1991), "Analysis of motion and internal loading of objects grasped by multiple
    cooperating manipulators".

    Example:
        >>> sharing = LoadSharing([parts["left_arm"], parts["right_arm"]])
        >>> share = sharing.share(required_wrench(box, gravity=(0, 0, -9.81)), box.com)
    """

    def __init__(self, arms: Sequence[Part], grips: Sequence[FrictionGrip | None] | FrictionGrip | None = None):
        self._arms = tuple(arms)
        if len(self._arms) < 2 or not all(isinstance(arm, Part) and arm.has_tip for arm in self._arms):
            raise ModelError(f"load sharing: expected at least two parts with tips, got {list(self._arms)!r}")
        if len({(arm.skeleton, arm.tip) for arm in self._arms}) < len(self._arms):
            raise ModelError(f"load sharing: expected each arm once, got {list(self._arms)!r}")
        several = grips if isinstance(grips, Sequence) else [grips] * len(self._arms)
        if len(several) != len(self._arms) or not all(g is None or isinstance(g, FrictionGrip) for g in several):
            raise ModelError(f"load sharing: grips: expected one for each of {len(self._arms)} arms, got {grips!r}")
        self._grips = tuple(several)

    arms = property(lambda self: self._arms, doc="The arms.")
    grips = property(lambda self: self._grips, doc="How each holds; None: rigidly.")

    def grasp_map(self, origin: ArrayLike) -> Array:
        """A (6, 6 m): [moment; force] about a point of the world by the wrenches of all tips."""
        o = as_vector(origin, "load sharing: origin")
        blocks = []
        for arm in self._arms:
            phi = np.eye(6)
            phi[:3, 3:] = _cross_matrix(arm.tip.world_transform[:3, 3] - o)
            blocks.append(phi)
        return np.concatenate(blocks, axis=1)

    def move(self, wrench: ArrayLike, origin: ArrayLike, weights: ArrayLike = 1.0) -> Array:
        """Wrenches (m, 6) that give the object a wrench, least in sum of squares: W^-1 A^T (A W^-1 A^T)^-1 F.

        Args:
            wrench: F [moment; force] about the origin, world axes.
            origin: point of the world.
            weights: (m,) positive: an arm of twice the weight gives half.
        """
        A, F = self.grasp_map(origin), as_vector(wrench, "load sharing: wrench", 6)
        w = numbers_or_nan(weights)
        if w.shape not in ((), (len(self._arms),)) or not ((w > 0.0) & (w < np.inf)).all():
            raise ModelError(f"load sharing: weights: expected {len(self._arms)} positive numbers, got {weights!r}")
        w = np.broadcast_to(w, (len(self._arms),))
        inverse = np.repeat(1.0 / w, 6)
        return (inverse * (A.T @ np.linalg.solve((A * inverse) @ A.T, F))).reshape(-1, 6)

    def squeeze_basis(self, origin: ArrayLike) -> Array:
        """N (6 m, 6 (m - 1)): wrenches that give the object none."""
        return scipy.linalg.null_space(self.grasp_map(origin))

    def equal(self, wrench: ArrayLike, origin: ArrayLike) -> Array:
        """Wrenches (m, 6) by which each arm gives the same part F / m about the origin."""
        F, o = as_vector(wrench, "load sharing: wrench", 6), as_vector(origin, "load sharing: origin")
        rows = []
        for arm in self._arms:
            r = arm.tip.world_transform[:3, 3] - o
            rows.append(np.r_[F[:3] - np.cross(r, F[3:]), F[3:]] / len(self._arms))
        return np.array(rows)

    def own_forces(self) -> list[Array]:
        """What each arm needs for itself at rest or in its present motion: C(q, u) u + g(q)."""
        return [np.array(arm.coriolis_and_gravity_forces) for arm in self._arms]

    def share(
        self,
        wrench: ArrayLike,
        origin: ArrayLike,
        own_forces: Sequence[ArrayLike] | None = None,
        objective: str = "largest",
    ) -> LoadShare:
        """Wrenches that give the object what it needs, within limits of forces and grips.

        Args:
            wrench: F [moment; force] about the origin, world axes.
            origin: point of the world.
            own_forces: of each arm, (n,); None: `own_forces`.
            objective: "largest": the largest share of a limit is least, and of those the sum of squares; "squares": the
                sum of squares of shares is.

        Raises:
            ModelError: another objective, or arms without limits of forces.
            StateError: limits and grips do not allow it.
        """
        if objective not in ("largest", "squares"):
            raise ModelError(f"load sharing: objective: expected 'largest' or 'squares', got {objective!r}")
        own = self.own_forces() if own_forces is None else self._given_forces(own_forces)
        J = [arm.tip_jacobian() for arm in self._arms]
        limits = [np.asarray(arm.force_limit) for arm in self._arms]
        for arm, limit in zip(self._arms, limits, strict=True):
            if not (np.isfinite(limit).all() and (limit > 0.0).all()):
                raise ModelError(f"load sharing: arm {arm.name!r} has no limits of forces; set its force_limit")
        moving, N = self.move(wrench, origin), self.squeeze_basis(origin)
        G = scipy.linalg.block_diag(*[j.T / limit[:, None] for j, limit in zip(J, limits, strict=True)])
        base = np.concatenate([t / limit for t, limit in zip(own, limits, strict=True)]) + G @ moving.ravel()
        f = moving.ravel() + N @ self._squeeze(G @ N, base, moving.ravel(), N, objective)
        residual = self.grasp_map(origin) @ f - as_vector(wrench, "load sharing: wrench", 6)
        return self._report(f.reshape(-1, 6), moving, own, J, limits, float(np.abs(residual).max()))

    def _given_forces(self, given: Any) -> list[Array]:
        if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) != len(self._arms):
            raise ModelError(
                f"load sharing: own_forces: expected those of each of {len(self._arms)} arms, "
                f"{', '.join(arm.name for arm in self._arms)}, got {given!r}"
            )
        return [as_vector(t, f"load sharing: own_forces of {a.name!r}", a.num_dofs) for a, t in zip(self._arms, given)]

    def _squeeze(self, S: Array, base: Array, moving: Array, N: Array, objective: str) -> Array:
        """c of the program: shares are base + S c."""
        C, low, high = self._grip_rows()
        n, with_largest = N.shape[1], objective == "largest"
        H = S.T @ S
        scale = max(float(np.trace(H)) / n, 1e-12)
        H = H + 1e-9 * scale * np.eye(n)  # wrenches that no joint feels are kept small
        g = S.T @ base
        if with_largest:
            small = 1e-5
            H = scipy.linalg.block_diag(small * H, np.ones((1, 1)))
            g = np.r_[small * g, 0.0]
            one = np.ones((len(S), 1))
            rows = [np.c_[S, -one], np.c_[S, one], np.c_[C @ N, np.zeros((len(C), 1))]]
            lower = [np.full(len(S), -np.inf), -base, low - C @ moving]
            upper = [-base, np.full(len(S), np.inf), high - C @ moving]
            bounds = {"lower": np.r_[np.full(n, -np.inf), 0.0], "upper": np.r_[np.full(n, np.inf), 1.0]}
        else:
            rows, bounds = [S, C @ N], {}
            lower, upper = [-1.0 - base, low - C @ moving], [1.0 - base, high - C @ moving]
        program = QuadraticProgram(H, g, np.concatenate(rows), np.concatenate(lower), np.concatenate(upper), **bounds)
        found = program.solve()
        if not found.solved:
            raise StateError(
                f"load sharing: limits of forces and grips of {', '.join(arm.name for arm in self._arms)} do not allow "
                f"this wrench ({found.status}); lighten the object, or loosen `force_limit` or the grips' bounds"
            )
        return found.x[:n]

    def _grip_rows(self) -> tuple[Array, Array, Array]:
        C, low, high = np.zeros((0, 6 * len(self._arms))), np.zeros(0), np.zeros(0)
        for k, (arm, grip) in enumerate(zip(self._arms, self._grips, strict=True)):
            if grip is not None:
                own, lower, upper = grip.rows()
                R = arm.tip.world_transform[:3, :3]
                block = np.zeros((len(own), C.shape[1]))
                block[:, 6 * k : 6 * k + 6] = own @ scipy.linalg.block_diag(R.T, R.T)
                C, low, high = np.concatenate([C, block]), np.r_[low, lower], np.r_[high, upper]
        return C, low, high

    def report(self, wrenches: ArrayLike, wrench: ArrayLike, origin: ArrayLike) -> LoadShare:
        """What given wrenches (m, 6) of the tips mean, with the arms' own forces at present."""
        w = as_vector(wrenches, "load sharing: wrenches", 6 * len(self._arms)).reshape(-1, 6)
        J, limits = [arm.tip_jacobian() for arm in self._arms], [np.asarray(arm.force_limit) for arm in self._arms]
        residual = self.grasp_map(origin) @ w.ravel() - as_vector(wrench, "load sharing: wrench", 6)
        moving = self.move(wrench, origin)
        return self._report(w, moving, self.own_forces(), J, limits, float(np.abs(residual).max()))

    def _report(self, f: Array, moving: Array, own: Any, J: Any, limits: Any, residual: float) -> LoadShare:
        forces = tuple(t + j.T @ w for t, j, w in zip(own, J, f, strict=True))
        shares = np.array([np.abs(t / limit).max() for t, limit in zip(forces, limits, strict=True)])
        return LoadShare(f, moving, f - moving, forces, shares, residual)

    def __repr__(self) -> str:
        return f"LoadSharing({[arm.name for arm in self._arms]})"


def required_wrench(
    body: BodyNode,
    angular_acceleration: ArrayLike = (0.0, 0.0, 0.0),
    acceleration: ArrayLike = (0.0, 0.0, 0.0),
    gravity: ArrayLike | None = None,
) -> Array:
    """[moment; force] (6,) about its centre of mass that a body needs to move so: Newton and Euler, world axes.

    F = m (a - g), M = I dw + w x I w, at its present pose and angular velocity.

    Args:
        body: the object.
        angular_acceleration: dw [rad/s^2].
        acceleration: a of its centre of mass [m/s^2].
        gravity: g [m/s^2]; None: that of its skeleton.
    """
    a, dw = as_vector(acceleration, "required_wrench: acceleration"), as_vector(angular_acceleration, "required_wrench")
    g = np.asarray(body.skeleton.gravity) if gravity is None else as_vector(gravity, "required_wrench: gravity")
    R, w, inertia = body.world_transform[:3, :3], np.asarray(body.spatial_velocity[:3]), body.inertia
    moment = R @ inertia.moment @ R.T
    return np.r_[moment @ dw + np.cross(w, moment @ w), inertia.mass * (a - g)]


def _cross_matrix(r: Array) -> Array:
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
