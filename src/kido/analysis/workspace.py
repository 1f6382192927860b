"""Where a body of a robot gets, and in how many ways."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.analysis.factors import Array
from kido.attributes import dataclass
from kido.batch import Batch
from kido.errors import ModelError
from kido.ik import IkSolver
from kido.ik.coupling import coupling_of
from kido.math.counts import as_count
from kido.math.transform import as_positive, as_vector, numbers_or_nan
from kido.reprs import brief
from kido.skeleton import BodyNode, Skeleton

_MOST_CELLS = 1e8  # of 16 bytes


@dataclass(frozen=True)
class ReachMap:
    """Cells of space that a point of a body gets into, from random positions within limits.

    Attributes:
        origin: lowest corner of cell 0, 0, 0 (3,) [m].
        cell: edge of a cell [m].
        counts: (x, y, z) how many samples got into each cell.
        manipulability: (x, y, z) the largest sqrt(det J J^T) of the point's translation there; NaN if not reached.
        points: (samples, 3) where the point was.
    """

    origin: Array
    cell: float
    counts: NDArray[np.int64]
    manipulability: Array
    points: Array

    __repr__ = brief

    @property
    def volume(self) -> float:
        """Of all cells that were reached [m^3]."""
        return float(np.count_nonzero(self.counts)) * self.cell**3

    def reached(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Whether the cells of points (..., 3) were reached."""
        index = np.floor((np.asarray(points, dtype=float) - self.origin) / self.cell).astype(int)
        inside: Any = ((index >= 0) & (index < self.counts.shape)).all(axis=-1)
        i, j, k = np.moveaxis(np.where(inside[..., None], index, 0), -1, 0)
        return np.asarray(inside & (self.counts[i, j, k] > 0))


def reach_map(
    body: BodyNode, cell: float = 0.05, samples: int = 100_000, offset: ArrayLike = (0.0, 0.0, 0.0), seed: int = 0
) -> ReachMap:
    """Where a point of a body gets within joint limits, by samples; cells at the border may be missed.

    Args:
        body: the body.
        cell: edge of a cell [m].
        samples: random positions, of which those that mimic others follow these, and LOCKED ones and modes of flexible
            bodies stay; coordinates without limits take a turn of pi each way [rad, m], those with one limit
            2 pi from there.
        offset: the point in the body's axes [m].
        seed: of the random numbers.

    Raises:
        ModelError: no body of a skeleton, numbers out of range, more than 100 million cells.
    """
    skeleton = _skeleton_of(body)
    edge, point = as_positive(cell, "cell", "m"), as_vector(offset, "offset")
    samples, seed = as_count(samples, "samples", 1), as_count(seed, "seed", 0)
    coupling = coupling_of(skeleton)
    dofs = coupling.every()
    low, high = coupling.limits(skeleton.position_lower_limits, skeleton.position_upper_limits, dofs)
    below = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2.0 * np.pi, -np.pi))
    low, high = below, np.where(np.isfinite(high), high, below + 2.0 * np.pi)
    q = np.tile(skeleton.positions, (samples, 1))
    q[:, dofs] = low + (high - low) * np.random.default_rng(seed).random((samples, len(dofs)))
    coupling.spread(q, dofs)
    batch = Batch(skeleton)
    X = batch.forward_kinematics(q)[:, body.index]
    places = X[:, :3, :3] @ point + X[:, :3, 3]
    J = coupling.columns(batch.jacobian(q, body.index, point)[:, 3:], dofs)
    measure = np.sqrt(np.maximum(np.linalg.det(J @ np.swapaxes(J, 1, 2)), 0.0))
    extent = np.ptp(places, axis=0)
    if np.prod(extent / edge + 1.0) > _MOST_CELLS:
        raise ModelError(
            f"cell: the body gets through {' x '.join(f'{x:.3g}' for x in extent)} m, which are more than "
            f"{_MOST_CELLS:.0e} cells of {edge:g} m; expected a larger one"
        )
    origin = np.floor(places.min(axis=0) / edge) * edge
    index = np.floor((places - origin) / edge).astype(int)
    shape = tuple(index.max(axis=0) + 1)
    counts, best = np.zeros(shape, np.int64), np.full(shape, -np.inf)
    np.add.at(counts, tuple(index.T), 1)
    np.maximum.at(best, tuple(index.T), measure)
    return ReachMap(origin, edge, counts, np.where(counts > 0, best, np.nan), places)


def dexterity(body: BodyNode, points: ArrayLike, rotations: ArrayLike, attempts: int = 100) -> Array:
    """Share (points,) of orientations that a body takes with its origin at each point, by inverse kinematics.

    A pose counts if it is met to the solver's tolerances within joint limits, so that the answer is exact but for poses
    that the search fails to find among `attempts` starts. 1: the point is in the dexterous workspace.

    Args:
        body: the body.
        points: (points, 3) [m].
        rotations: (orientations, 3, 3) in the world.
        attempts: most starts of a search.

    Raises:
        ModelError: no body of a skeleton; shapes that do not fit, matrices that are no rotations.
    """
    _skeleton_of(body)
    p, R = numbers_or_nan(points), numbers_or_nan(rotations)
    if p.ndim != 2 or p.shape[1] != 3 or R.ndim != 3 or R.shape[1:] != (3, 3) or not len(R):
        raise ModelError(f"dexterity: expected points (n, 3) and rotations (m, 3, 3), got {p.shape} and {R.shape}")
    targets = np.tile(np.eye(4), (len(p), len(R), 1, 1))
    targets[:, :, :3, :3], targets[:, :, :3, 3] = R, p[:, None]
    found = IkSolver(body, attempts=attempts).solve_batch(targets.reshape(-1, 4, 4))
    return np.mean(np.asarray(found.success, dtype=float).reshape(len(p), len(R)), axis=1)


def _skeleton_of(body: BodyNode) -> Skeleton:
    if not isinstance(body, BodyNode) or not isinstance(body.skeleton, Skeleton) or not body.skeleton.num_dofs:
        raise ModelError(f"workspace: expected a body of a kido.Skeleton that moves, got {body!r:.80}")
    return body.skeleton
