"""Base parameters: the combinations of parameters that joint forces can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.identification.parameters import Array, DynamicParameters
from kido.math.transform import as_vector
from kido.reprs import brief

_GAP = 1e-9  # singular values below this share of the largest are rounding; true ones of robots are above 1e-5


@dataclass(frozen=True)
class BaseParameters:
    """The smallest set of numbers that joint forces depend on: beta = pi[independent] + K pi[dependent].

    Attributes:
        parameters: what they are made of.
        independent: (rank,) indices of the parameters that they are called after.
        dependent: indices of all others; those whose column of K is zero act on no joint force.
        K: (rank, dependent).
        gap: the smallest singular value that counts, and the largest that does not, relative to the largest.
    """

    parameters: DynamicParameters
    independent: NDArray[np.intp]
    dependent: NDArray[np.intp]
    K: Array
    gap: tuple[float, float]

    __repr__ = brief

    @property
    def rank(self) -> int:
        """How many there are."""
        return len(self.independent)

    def of(self, values: ArrayLike | None = None) -> Array:
        """beta (rank,) of values of all parameters, by default those that the skeleton has."""
        pi = self.parameters.values() if values is None else as_vector(values, "parameters", len(self.parameters))
        return pi[self.independent] + self.K @ pi[self.dependent]

    @property
    def matrix(self) -> Array:
        """B (rank, parameters): beta = B pi."""
        B = np.zeros((self.rank, len(self.parameters)))
        B[np.arange(self.rank), self.independent] = 1.0
        B[:, self.dependent] = self.K
        return B

    @property
    def expressions(self) -> list[str]:
        """beta in words, such as "forearm.Izz + 1 wrist.Izz - 0.0821 wrist.mx"."""
        names = self.parameters.names
        return [
            " ".join(
                [
                    names[i],
                    *(f"{'-' if k < 0 else '+'} {abs(k):.4g} {names[j]}" for j, k in zip(self.dependent, row) if k),
                ]
            )
            for i, row in zip(self.independent, self.K)
        ]


def _sizes(parameters: DynamicParameters) -> Array:
    """What a coordinate moves by, relative to joints: modes turn and shift nodes by a tenth of a radian or metre."""
    sizes = np.ones(parameters.skeleton.num_dofs)
    for joint in parameters.skeleton.joints:
        modes: Any = getattr(joint, "modes", None)
        if joint.has_modes and modes.nodes:
            moved = np.max([np.abs(np.vstack([n.translation, n.rotation])).max(axis=0) for n in modes.nodes], axis=0)
            second = [np.vstack([n.second_order, n.second_rotation]) for n in modes.nodes]
            bent = np.max([np.abs(s).max(axis=(0, 1)) for s in second], axis=0)
            moved = np.maximum(moved, np.sqrt(0.03 * bent))  # by what is of second order in their coordinate
            still = ~(moved > 1e-9 * moved.max(initial=0.0))  # modes that move no node
            sizes[joint.coordinates] = np.where(still, 0.0, 0.03 / np.where(still, 1.0, moved))
    return sizes


def base_parameters(parameters: DynamicParameters, samples: int | None = None, seed: int = 0) -> BaseParameters:
    """Base parameters of a model, from its regressor at random states.

    The rank of the stacked regressors is by their singular values. Which parameters stand for the others is by a QR
    decomposition that goes through the columns in their order and leaves out those that depend on ones before them:
    W = W_i [1 K].

    Args:
        parameters: all of them.
        samples: how many random states; as many as give ten rows for each parameter, unless given.
        seed: of the random states.

    Raises:
        ModelError: no `DynamicParameters`; or so few samples that rows are fewer than parameters.

    Source: Gautier (1991), "Numerical calculation of the base inertial parameters of robots".
    """
    if not isinstance(parameters, DynamicParameters):
        raise ModelError(f"base parameters: expected DynamicParameters, got {parameters!r:.80}")
    n, size = parameters.skeleton.num_dofs, len(parameters)
    number = 20 + 10 * size // n if samples is None else samples
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number * n < size:
        raise ModelError(f"samples: expected a whole number, with {n} rows each at least {size} rows, got {samples!r}")
    rng = np.random.default_rng(seed)
    q, u, udot = rng.uniform(-3.0, 3.0, (3, int(number), n))
    q *= _sizes(parameters)
    W = parameters.regressor(q, u, udot).reshape(-1, size)
    sizes = np.linalg.norm(W, axis=0)
    W = W / np.where(sizes > 1e-12 * sizes.max(), sizes, np.inf)  # columns of one size: kilograms beside moments
    values = np.linalg.svd(W, compute_uv=False)
    values = values / values[0]
    rank = int(np.sum(values > _GAP))
    Q: list[Any] = []
    R: Any = np.linalg.qr(W, mode="r")
    # What a column adds at most if it depends on others: between rounding and the smallest true singular value.
    least = float(np.sqrt(1e-16 * values[rank - 1]))
    basis = np.zeros((size, 0))
    for k, column in enumerate(R.T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > least:
            basis = np.column_stack([basis, rest / length])
            Q.append(k)
    if len(Q) != rank:  # nearly dependent columns: by size of what they add instead
        Q = list(scipy.linalg.qr(R, mode="r", pivoting=True)[1][:rank])
    independent = np.sort(Q)
    dependent = np.setdiff1d(np.arange(size), independent)
    K = np.linalg.lstsq(W[:, independent], W[:, dependent], rcond=None)[0]
    finite = np.where(np.isfinite(sizes) & (sizes > 0.0), sizes, 1.0)
    K = K * finite[dependent][None] / finite[independent][:, None]
    K[np.abs(K) < 1e-9 * max(1.0, float(np.abs(K).max(initial=0.0)))] = 0.0
    below = float(values[rank]) if rank < size else 0.0
    return BaseParameters(parameters, independent, dependent, K, (float(values[rank - 1]), below))
