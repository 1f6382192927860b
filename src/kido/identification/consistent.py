"""Parameters that bodies can have: pseudo-inertias by their log-Cholesky coordinates.

J = [[S, h], [h^T, m]] with S = tr(I) / 2 - I, h = m c is positive definite for just those parameters that some
distribution of mass has (Wensing, Kim, Slotine 2018). J = U U^T with U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2],
[0, 0, e^d3, t3], [0, 0, 0, 1]] makes ten free numbers of it: a, d1, d2, d3, s12, s23, s13, t1, t2, t3 (Rucker and
Wensing 2022, "Smooth parameterization of rigid-body inertia").
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.identification.base import BaseParameters
from kido.identification.parameters import Array, symmetric
from kido.math.transform import as_positive, as_vector
from kido.optimization import ModularLeastSquares, Problem, Solution, SqpSolver
from kido.reprs import brief

# Places of s12, s23, s13, t1, t2, t3 in U, and d1, d2, d3 on its diagonal.
_ABOVE = (0, 1, 0, 0, 1, 2), (1, 2, 2, 3, 3, 3)


# Parameters are linear in J: m, h, and I = tr(S) 1 - S.
_TO_PARAMETERS = np.zeros((4, 4, 10))
_TO_PARAMETERS[3, 3, 0] = _TO_PARAMETERS[0, 3, 1] = _TO_PARAMETERS[1, 3, 2] = _TO_PARAMETERS[2, 3, 3] = 1.0
for _k, (_i, _j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
    _TO_PARAMETERS[_i, _j, 4 + _k] = -1.0
    if _i == _j:
        _TO_PARAMETERS[[0, 1, 2], [0, 1, 2], 4 + _k] += 1.0
_TO_PARAMETERS = _TO_PARAMETERS.reshape(16, 10)


_STEPS = 100  # of Newton's method; some ten are enough


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
    return J.reshape(*J.shape[:-2], 16) @ _TO_PARAMETERS


def log_cholesky(pi: Array) -> Array:
    """Coordinates (10,) of parameters.

    Raises:
        numpy.linalg.LinAlgError: no body can have them.
    """
    U = np.linalg.cholesky(pseudo_inertia(pi)[::-1, ::-1])[::-1, ::-1]  # upper triangular
    a = np.log(U[3, 3])
    return np.concatenate([[a], np.log(np.diagonal(U)[:3]) - a, U[_ABOVE] / U[3, 3]])


def from_log_cholesky(theta: Array) -> tuple[Array, Array]:
    """Parameters (..., 10) of coordinates (..., 10), and their derivatives (..., 10, 10)."""
    U, dU = _factor(theta)
    UT = np.swapaxes(U, -1, -2)
    half = dU @ UT[..., None, :, :]
    slopes = parameters_of(half + np.swapaxes(half, -1, -2))
    return parameters_of(U @ UT), np.swapaxes(slopes, -1, -2)


def _factor(theta: Array) -> tuple[Array, Array]:
    """U (..., 4, 4) of coordinates, and its derivatives (..., 10, 4, 4)."""
    scale, sizes, i = np.exp(theta[..., 0]), np.exp(theta[..., 1:4]), np.arange(3)
    U = np.zeros((*theta.shape[:-1], 4, 4))
    U[..., i, i], U[..., 3, 3] = sizes, 1.0
    U[..., _ABOVE[0], _ABOVE[1]] = theta[..., 4:]
    U *= scale[..., None, None]
    dU = np.zeros((*theta.shape[:-1], 10, 4, 4))
    dU[..., 0, :, :] = U
    dU[..., 1 + i, i, i] = scale[..., None] * sizes
    dU[..., np.arange(4, 10), _ABOVE[0], _ABOVE[1]] = scale[..., None]
    return U, dU


def bending(theta: Array, slope: Array) -> Array:
    """Second derivatives (..., 10, 10) by coordinates of slope . parameters, for a slope (..., 10).

    With G the symmetric matrix of that linear function of J = U U^T: H_ij = 2 <G, U_i U_j^T> + 2 <G, U_ij U^T>; U_ij is
    U_j for i = a, U_i for a diagonal's logarithm with itself, and else zero.
    """
    G = (slope @ _TO_PARAMETERS.T).reshape(*slope.shape[:-1], 4, 4)
    G = 0.5 * (G + np.swapaxes(G, -1, -2))
    U, dU = _factor(theta)
    GU = G[..., None, :, :] @ dU
    flat = (*theta.shape[:-1], 10, 16)
    H = 2.0 * GU.reshape(flat) @ np.swapaxes(dU.reshape(flat), -1, -2)
    twice = 2.0 * np.einsum("...irk,...rk->...i", GU, U)
    i = np.arange(1, 4)
    H[..., 0, :] += twice
    H[..., 1:, 0] += twice[..., 1:]
    H[..., i, i] += twice[..., i]
    return H


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

    wide = width.reshape(links, 10, 1) * width.reshape(links, 1, 10)
    link, rotor = np.arange(links), np.arange(n, size)

    def values(x: Array) -> tuple[Array, Array]:
        found, slopes = from_log_cholesky((begin + width * x[:n]).reshape(links, 10))
        d = np.zeros((size, size))
        d[:n, :n].reshape(links, 10, links, 10)[link, :, link] = slopes * width.reshape(links, 1, 10)
        d[rotor, rotor] = unit
        return np.concatenate([found.reshape(-1), unit * x[n:]]), d

    objective = ModularLeastSquares(
        lambda x: np.concatenate([B @ values(x)[0] - R @ beta, x[:n]]),
        lambda x: np.concatenate([B @ values(x)[1], prior_rows]),
        "identified base parameters and prior",
    )
    start = np.concatenate([np.zeros(n), rest / unit])
    lower = np.concatenate([np.full(n, -np.inf), np.zeros(rest.size)])

    def fitted(x: Array) -> Array:
        """Damped Newton's steps from x, made along straight lines of parameters and not of coordinates.

        Forces are linear in parameters: on such lines the measurement's part is exactly quadratic, where steps in
        coordinates leave the narrow valley that it makes. The prior's part bends there instead, by -l^T d2pi / dx2 with
        l the prior's derivative by parameters.
        """
        value, damping = objective.evaluate(x), 0.0
        for _ in range(_STEPS):
            (own, d), g, J = values(x), objective.gradient(x), objective.jacobian(x)
            slope: Any = np.linalg.solve(d[:n, :n].T, x[:n])
            bent = bending((begin + width * x[:n]).reshape(links, 10), slope.reshape(links, 10))
            H = J.T @ J
            H[:n, :n].reshape(links, 10, links, 10)[link, :, link] -= bent * wide
            free = (x > lower) | (g < 0.0)
            while damping < 1e9:
                dx = damped_step(H, g, free, damping)
                trial = None if dx is None else coordinates(own + d @ dx)
                now = np.inf if trial is None else objective.evaluate(trial)
                if trial is not None and now < value:
                    break
                damping = max(10.0 * damping, 1e-3)
            else:
                break
            done = value - now < 1e-12 * (1.0 + value)
            x, value, damping = trial, now, 0.1 * damping if damping > 1e-3 else 0.0
            if done:
                break
        return x

    def coordinates(pi: Array) -> Array | None:
        """The variables of parameters; None if no body can have them."""
        try:
            theta = np.concatenate([log_cholesky(own) for own in pi[:n].reshape(links, 10)])
        except np.linalg.LinAlgError:
            return None
        return np.concatenate([(theta - begin) / width, np.maximum(pi[n:], 0.0) / unit])

    start = fitted(start)
    solution = SqpSolver(max_iterations=1000).solve(Problem(size, initial=start, lower=lower, objective=objective))
    found, derivative = values(solution.x)
    half = derivative @ np.linalg.pinv(np.linalg.qr(objective.jacobian(solution.x), mode="r"))
    error = R @ (base.of(found) - beta)
    return PhysicalParameters(found, half @ half.T, float(error @ error), solution, tuple(raised))


def damped_step(H: Array, g: Array, free: NDArray[np.bool_], damping: float) -> Array | None:
    """-(H + damping 1)^-1 g of free numbers, zero for others; None if that matrix is not positive definite."""
    step, matrix = np.zeros_like(g), H[np.ix_(free, free)] + damping * np.eye(int(free.sum()))
    try:
        step[free] = -scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix), g[free])
    except np.linalg.LinAlgError:
        return None
    return step


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
