"""Least squares: base parameters from measured motions and forces, with their uncertainty."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import dataclass
from kido.errors import ModelError, StateError
from kido.identification.base import BaseParameters, base_parameters
from kido.identification.consistent import PhysicalParameters, physical_parameters
from kido.identification.parameters import Array, DynamicParameters
from kido.math.transform import as_vector, numbers_or_nan
from kido.reprs import brief

_PASSES = 3  # of noise of each coordinate and weights by it


@dataclass(frozen=True)
class Estimate:
    """Numbers, and how well they are known.

    Attributes:
        names: of the numbers.
        values: (n,).
        covariance: (n, n); infinite on the diagonal where a number is not determined.
        noise: standard deviation of what was measured, (channels,): given, or estimated of what is left over.
        residual: root mean square of what is left over, (channels,).
        condition: of the weighted equations, columns scaled to length one.
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    noise: Array
    residual: Array
    condition: float

    __repr__ = brief

    @property
    def standard_deviations(self) -> Array:
        """(n,), the roots of the covariance's diagonal."""
        return np.sqrt(np.diagonal(self.covariance))

    def distance(self, values: ArrayLike) -> float:
        """Squared Mahalanobis distance of other values; of the true ones it is chi-square with n degrees of freedom.

        Numbers that are not known, of infinite variance, do not count, nor among the degrees of freedom.
        """
        error = self.values - as_vector(values, "values", len(self.values))
        known = np.isfinite(np.diagonal(self.covariance))
        return float(error[known] @ np.linalg.solve(self.covariance[np.ix_(known, known)], error[known]))

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        rows = [
            f"{name:<{width}}  {value:>12.5g} +- {sd:<9.2g} ({100.0 * sd / abs(value) if value else np.inf:.2g} %)"
            for name, value, sd in zip(self.names, self.values, self.standard_deviations)
        ]
        noise = ", ".join(f"{sigma:.3g}" for sigma in self.noise)
        return "\n".join([*rows, f"noise {noise}; condition {self.condition:.3g}"])


@dataclass(frozen=True)
class Identification(Estimate):
    """Base parameters that were identified.

    Attributes:
        base: which they are.
    """

    base: BaseParameters

    __repr__ = brief

    @property
    def prediction(self) -> Array:
        """pi (parameters,) with the same joint forces: base parameters, and zero for all others."""
        pi = np.zeros(len(self.base.parameters))
        pi[self.base.independent] = self.values
        return pi

    def physical(self, prior: ArrayLike | None = None, spread: float = 1.0) -> PhysicalParameters:
        """All parameters, such as bodies can have, with these base parameters as nearly as they are known.

        Args:
            prior: (parameters,), by default those that the skeleton has. What the motion does not tell stays there.
            spread: standard deviation of the prior: of logarithms of mass and size, and of shear and the centre of mass
                over the radius of gyration.

        Raises:
            ModelError: a prior that no body can have.
        """
        return physical_parameters(self.base, self.values, self.covariance, prior, spread)


def identify(
    parameters: DynamicParameters,
    positions: ArrayLike,
    velocities: ArrayLike,
    accelerations: ArrayLike,
    forces: ArrayLike,
    *,
    noise: ArrayLike | None = None,
    base: BaseParameters | None = None,
) -> Identification:
    """Base parameters of a skeleton from what it did and which joint forces it took: weighted least squares.

    With independent normal errors of the forces alone, the covariance is the Cramer-Rao bound (W^T S^-1 W)^-1, and the
    estimate attains it. Errors of positions and their rates are not modelled: filter these first.

    Args:
        parameters: what is identified.
        positions, velocities, accelerations: (samples, dofs).
        forces: (samples, dofs), as measured; of modes of flexible bodies those of their springs and dampers.
        noise: standard deviation of the forces, (dofs,) or one number; None: estimated of what is left over, one for
            each coordinate.
        base: base parameters that were found before.

    Raises:
        StateError: shapes that do not fit, numbers that are not finite.
        ModelError: the motion does not tell the base parameters apart; the message names some; noise or base parameters
            that are none.
    """
    base = base_parameters(parameters) if base is None else base
    if not isinstance(base, BaseParameters) or base.parameters is not parameters:
        got = "those of others" if isinstance(base, BaseParameters) else repr(base)
        raise ModelError(f"identify: base: expected base parameters of the parameters given, got {got}")
    Y = parameters.regressor(positions, velocities, accelerations)[:, :, base.independent]
    samples, n, k = Y.shape
    tau = parameters.checked_forces(forces, samples)
    if parameters.deforms:
        tau = tau - parameters.known_forces(positions, velocities, accelerations)
    if samples * n <= k:
        raise StateError(f"identify: {samples} samples of {n} forces are too few for {k} parameters")
    sigma = np.ones(n)
    if noise is not None:
        sigma = each_above_zero(noise, "noise", n)
    for _ in range(1 if noise is not None else _PASSES):
        W, w = (Y / sigma[:, None]).reshape(-1, k), (tau / sigma).reshape(-1)
        sizes = np.linalg.norm(W, axis=0)
        U, s, Vt = np.linalg.svd(W / np.where(sizes > 0.0, sizes, 1.0), full_matrices=False)
        if not s[-1] > 1e-10 * s[0]:
            names = [parameters.names[base.independent[i]] for i in np.argsort(-np.abs(Vt[-1]))[:4]]
            raise ModelError(f"identify: the motion does not tell apart {', '.join(names)}; use an exciting motion")
        values = Vt.T @ ((U.T @ w) / s) / sizes
        left = tau - Y @ values
        rms = np.sqrt(np.mean(left**2, axis=0))
        if noise is None:  # each coordinate has its share of the parameters
            sigma = np.maximum(rms * np.sqrt(samples * n / (samples * n - k)), 1e-12 * (1.0 + np.abs(tau).max()))
    half = Vt.T / s / sizes[:, None]
    if noise is None:  # of the last weights; `half` is of those before
        half = np.linalg.qr((Y / sigma[:, None]).reshape(-1, k), mode="r")
        half = np.linalg.inv(half)
    names = tuple(parameters.names[i] for i in base.independent)
    return Identification(names, values, half @ half.T, sigma, rms, float(s[0] / s[-1]), base)


def each_above_zero(value: ArrayLike, what: str, n: int) -> Array:
    """n numbers above zero, given as such or as one for all.

    Raises:
        ModelError: others.
    """
    found = numbers_or_nan(value)
    if found.shape not in ((), (1,), (n,)) or not ((found > 0.0) & (found < np.inf)).all():
        raise ModelError(f"{what}: expected numbers above 0, {n} or one, got {value!r}")
    return np.broadcast_to(found, n).copy()
