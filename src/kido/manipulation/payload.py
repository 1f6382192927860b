"""What hands carry, in feedforward, and found again from torques."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido import quantities
from kido.attributes import dataclass
from kido.errors import ModelError, StateError
from kido.math.transform import as_positive, numbers_or_nan
from kido.reprs import brief
from kido.skeleton import BodyNode, Inertia, Skeleton

Array = NDArray[np.float64]

_RANK = 1e-9  # share of the largest singular value below which data say nothing of a combination of parameters


def parameters_of(inertia: Inertia) -> Array:
    """Ten parameters (10,) in body axes: m, m c (3), moment about the origin (xx, xy, xz, yy, yz, zz)."""
    moment = np.asarray(inertia.moment_about_origin)
    return np.array([inertia.mass, *(inertia.mass * np.asarray(inertia.com)), *moment[np.triu_indices(3)]])


def inertia_of(parameters: ArrayLike) -> Inertia:
    """The inertia of ten parameters; see `parameters_of`.

    Raises:
        ModelError: they are those of no body.
    """
    p = np.asarray(parameters, np.float64)
    if p.shape != (10,) or not np.isfinite(p).all() or not p[0] > 0.0:
        raise ModelError(f"inertial parameters: expected ten finite numbers with a positive mass, got {parameters!r}")
    moment, com = np.zeros((3, 3)), p[1:4] / p[0]
    moment[np.triu_indices(3)] = p[4:]
    moment += np.triu(moment, 1).T
    return Inertia(p[0], com, moment - p[0] * (com @ com * np.eye(3) - np.outer(com, com)))


def feedforward(
    skeleton: Skeleton,
    payload: Mapping[BodyNode, Inertia],
    positions: ArrayLike | None = None,
    velocities: ArrayLike | None = None,
    accelerations: ArrayLike | None = None,
) -> Array:
    """Joint forces (dofs,) of a motion with what bodies carry: inverse dynamics + Y pi of each payload.

    The same as inverse dynamics of the skeleton with bodies of these inertias welded on.

    Args:
        payload: `Inertia` in body axes by body, as controllers take it (`kido.control`).
        positions, velocities, accelerations: (dofs,); None: the present ones.

    Raises:
        ModelError: a payload that is none, or of another skeleton.
    """
    given = tuple(
        np.array(getattr(skeleton, name) if value is None else value)
        for name, value in zip(_STATES, (positions, velocities, accelerations), strict=True)
    )
    total = np.array(skeleton.inverse_dynamics(*given))
    for body, inertia in payload.items():
        if not isinstance(body, BodyNode) or body.skeleton is not skeleton or not isinstance(inertia, Inertia):
            raise ModelError(f"payload: expected kido.Inertia by body of {skeleton.name!r}, got {body!r}: {inertia!r}")
        total += quantities.inverse_dynamics_regressor(skeleton, *given, bodies=[body.index]) @ parameters_of(inertia)
    return total


_STATES = ("positions", "velocities", "accelerations")


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """What a body was found to carry.

    Attributes:
        parameters: (10,) see `parameters_of`; of combinations that the motions say nothing of, zero.
        covariance: (10, 10) of these, infinite on the diagonal where not identified.
        identified: (10,) which of them the motions determine.
        noise: standard deviation of the torques' residuals, by which torques were weighted alike [N m].
    """

    parameters: Array
    covariance: Array
    identified: NDArray[np.bool_]
    noise: float

    __repr__ = brief

    @property
    def mass(self) -> float:
        """[kg]

        Raises:
            StateError: the motions do not determine it.
        """
        if not self.identified[0]:
            raise StateError("payload estimate: these motions do not determine the mass; move the body more")
        return float(self.parameters[0])

    @property
    def mass_deviation(self) -> float:
        """Standard deviation of the mass [kg]."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def inertia(self) -> Inertia:
        """The whole inertia, in body axes.

        Raises:
            StateError: the motions do not determine all of it.
            ModelError: noise made it one of no body.
        """
        if not self.identified.all():
            names = [name for name, known in zip(_PARAMETERS, self.identified, strict=True) if not known]
            raise StateError(f"payload estimate: these motions do not determine {', '.join(names)}")
        return inertia_of(self.parameters)


_PARAMETERS = ("m", "m cx", "m cy", "m cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def estimate_payload(
    body: BodyNode,
    positions: ArrayLike,
    velocities: ArrayLike,
    accelerations: ArrayLike,
    torques: ArrayLike,
    dofs: Any = None,
    noise: float | None = None,
) -> PayloadEstimate:
    """What a body carries, from torques that were measured: least squares of Y pi = torques - inverse dynamics.

    Args:
        body: that carries it, of a skeleton without it.
        positions, velocities, accelerations, torques: (samples, dofs) of the skeleton.
        dofs: indices of coordinates whose torques are used; None: of those that move the body.
        noise: standard deviation of the torques [N m]; None: from the residuals.

    Raises:
        ModelError: no body of a skeleton, no such coordinates, or noise that is none.
        StateError: arrays of other shapes, or not finite.
    """
    skeleton = body.skeleton if isinstance(body, BodyNode) else None
    if skeleton is None:
        raise ModelError(f"estimate_payload: expected a body of a skeleton, got {body!r}")
    n = skeleton.num_dofs
    rows = [numbers_or_nan(value) for value in (positions, velocities, accelerations, torques)]
    for name, value in zip((*_STATES, "torques"), rows, strict=True):
        if value.ndim != 2 or value.shape != (len(rows[0]), n) or not len(value) or not np.isfinite(value).all():
            raise StateError(f"estimate_payload: {name}: expected finite (samples, {n}), got shape {value.shape}")
    if dofs is None:
        used = np.flatnonzero(np.abs(np.array(skeleton.jacobian(body))).any(axis=0))
    else:
        used = np.atleast_1d(np.asarray(dofs))
        if used.ndim != 1 or used.dtype.kind not in "iu" or not used.size or not ((used >= 0) & (used < n)).all():
            raise ModelError(f"estimate_payload: dofs: expected indices below {n}, at least one, got {dofs!r}")
    Y, b = [], []
    for q, u, a, tau in zip(*rows, strict=True):
        Y.append(quantities.inverse_dynamics_regressor(skeleton, q, u, a, bodies=[body.index])[used])
        b.append((tau - skeleton.inverse_dynamics(q, u, a))[used])
    A, y = np.concatenate(Y), np.concatenate(b)
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    kept = s > _RANK * s[0] if s[0] > 0.0 else np.zeros(len(s), bool)
    parameters = Vt[kept].T @ ((U[:, kept].T @ y) / s[kept]) / scale
    known = np.abs(np.eye(10) - Vt[kept].T @ Vt[kept]).max(axis=0) < 1e-6
    left = y - A @ parameters
    deviation = float(np.sqrt(left @ left / max(len(y) - kept.sum(), 1))) if noise is None else as_positive(
        noise, "estimate_payload: noise"
    )  # fmt: skip
    spread = (Vt[kept].T / s[kept] ** 2) @ Vt[kept] / np.outer(scale, scale) * deviation**2
    spread[~known, ~known] = np.inf
    return PayloadEstimate(np.where(known, parameters, 0.0), spread, known, deviation)
