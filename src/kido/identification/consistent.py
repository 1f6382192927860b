"""Parameters that bodies can have: pseudo-inertias by their log-Cholesky coordinates.

J = [[S, h], [h^T, m]] with S = tr(I) / 2 - I, h = m c is positive definite for just those parameters that some
distribution of mass has (Wensing, Kim, Slotine 2018). J = U U^T with U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2],
[0, 0, e^d3, t3], [0, 0, 0, 1]] makes ten free numbers of it: a, d1, d2, d3, s12, s23, s13, t1, t2, t3 (Rucker and
Wensing 2022, "Smooth parameterization of rigid-body inertia").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.identification.base import BaseParameters
from kido.identification.parameters import Array, symmetric
from kido.math.transform import as_positive, as_vector
from kido.optimization import ModularLeastSquares, Problem, Solution, SqpSolver
from kido.reprs import brief

# Places of s12, s23, s13, t1, t2, t3 in U, and d1, d2, d3 on its diagonal.
_ABOVE = (0, 1, 0, 0, 1, 2), (1, 2, 2, 3, 3, 3)


def pseudo_inertia(pi: Array) -> Array:
    """J (4, 4) of ten parameters [m, m c, I about the origin (xx, xy, xz, yy, yz, zz)]."""
    moment = symmetric(pi[4:10])
    J = np.empty((4, 4))
    J[:3, :3] = 0.5 * np.trace(moment) * np.eye(3) - moment
    J[:3, 3] = J[3, :3] = pi[1:4]
    J[3, 3] = pi[0]
    return J


def parameters_of(J: Array) -> Array:
    """Ten parameters of a pseudo-inertia, or (..., 10) of (..., 4, 4); linear."""
    S = J[..., :3, :3]
    moment = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    rows, columns = np.triu_indices(3)
    return np.concatenate([J[..., 3, 3, None], J[..., :3, 3], moment[..., rows, columns]], axis=-1)


def log_cholesky(pi: Array) -> Array:
    """Coordinates (10,) of parameters.

    Raises:
        numpy.linalg.LinAlgError: no body can have them.
    """
    U = np.linalg.cholesky(pseudo_inertia(pi)[::-1, ::-1])[::-1, ::-1]  # upper triangular
    a = np.log(U[3, 3])
    return np.concatenate([[a], np.log(np.diagonal(U)[:3]) - a, U[_ABOVE] / U[3, 3]])


def from_log_cholesky(theta: Array) -> tuple[Array, Array]:
    """Parameters (10,) of coordinates, and their derivatives (10, 10)."""
    scale = np.exp(theta[0])
    U = np.eye(4)
    U[[0, 1, 2], [0, 1, 2]] = np.exp(theta[1:4])
    U[_ABOVE] = theta[4:]
    dU = np.zeros((10, 4, 4))
    dU[0] = U
    dU[[1, 2, 3], [0, 1, 2], [0, 1, 2]] = np.exp(theta[1:4])
    dU[np.arange(4, 10), _ABOVE[0], _ABOVE[1]] = 1.0
    half = scale**2 * dU @ U.T
    return parameters_of(scale**2 * U @ U.T), parameters_of(half + half.transpose(0, 2, 1)).T


@dataclass(frozen=True)
class PhysicalParameters:
    """Parameters that bodies can have.

    Attributes:
        values: (parameters,); `DynamicParameters.apply` gives them to the skeleton.
        covariance: (parameters, parameters), of the measurement and the prior together.
        distance: squared Mahalanobis distance of their base parameters from the identified ones.
        solution: of the fit, with its certificate.
        raised: links whose prior was moved to the nearest that bodies can have, such as point masses.
    """

    values: Array
    covariance: Array
    distance: float
    solution: Solution
    raised: tuple[str, ...]

    __repr__ = brief

    @property
    def standard_deviations(self) -> Array:
        """(parameters,), the roots of the covariance's diagonal."""
        return np.sqrt(np.diagonal(self.covariance))


def physical_parameters(
    base: BaseParameters, beta: Array, covariance: Array, prior: ArrayLike | None, spread: float
) -> PhysicalParameters:
    """See `Identification.physical`."""
    parameters = base.parameters
    size, links = len(parameters), len(parameters.links)
    pi = parameters.values() if prior is None else as_vector(prior, "prior", size)
    spread = as_positive(spread, "spread")
    starts, widths, raised = [], [], []
    for k, link in enumerate(parameters.links):
        own, moved = _nearest(pi[10 * k : 10 * k + 10], link.name)
        J = pseudo_inertia(own)
        starts.append(log_cholesky(own))
        gyration = np.sqrt(np.trace(J[:3, :3]) / J[3, 3])
        widths.append(spread * np.concatenate([np.ones(4), np.full(6, gyration)]))
        if moved:
            raised.append(link.name)
    rest, n = np.maximum(pi[10 * links :], 0.0), 10 * links
    R = np.linalg.inv(np.linalg.cholesky(covariance))  # R^T R = covariance^-1
    B = R @ base.matrix
    # Variables: coordinates from the prior in its standard deviations, then friction and rotors in those of them that
    # the measurement alone would give.
    begin, width = np.concatenate(starts), np.concatenate(widths)
    unit = 1.0 / np.maximum(np.linalg.norm(B[:, n:], axis=0), 1e-300)
    prior_rows = np.eye(n, size)

    def values(x: Array) -> tuple[Array, Array]:
        found = [from_log_cholesky(theta) for theta in (begin + width * x[:n]).reshape(links, 10)]
        d = np.zeros((size, size))
        for k, (_, derivative) in enumerate(found):
            d[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = derivative * width[10 * k : 10 * k + 10]
        d[range(n, size), range(n, size)] = unit
        return np.concatenate([*(own for own, _ in found), unit * x[n:]]), d

    objective = ModularLeastSquares(
        lambda x: np.concatenate([B @ values(x)[0] - R @ beta, x[:n]]),
        lambda x: np.concatenate([B @ values(x)[1], prior_rows]),
        "identified base parameters and prior",
    )
    start = np.concatenate([np.zeros(n), rest / unit])
    lower = np.concatenate([np.full(n, -np.inf), np.zeros(rest.size)])
    solution = SqpSolver(max_iterations=1000).solve(Problem(size, initial=start, lower=lower, objective=objective))
    found, derivative = values(solution.x)
    half = derivative @ np.linalg.pinv(np.linalg.qr(objective.jacobian(solution.x), mode="r"))
    error = R @ (base.of(found) - beta)
    return PhysicalParameters(found, half @ half.T, float(error @ error), solution, tuple(raised))


def _nearest(pi: Array, name: str) -> tuple[Array, bool]:
    """Parameters with a positive definite pseudo-inertia, and whether they had to be moved."""
    J = pseudo_inertia(pi)
    if not pi[0] > 0.0:
        raise ModelError(f"prior of link {name!r}: expected a mass above 0, got {pi[0]:g} kg")
    c = pi[1:4] / pi[0]
    central = J[:3, :3] - pi[0] * np.outer(c, c)
    sizes, axes = np.linalg.eigh(central)
    least = 1e-4 * max(float(sizes.max()), 1e-4 * pi[0])  # [kg m^2] at least the size of a centimetre
    if sizes.min() >= least:
        return pi, False
    J[:3, :3] = (axes * np.maximum(sizes, least)) @ axes.T + pi[0] * np.outer(c, c)
    return parameters_of(J), True
