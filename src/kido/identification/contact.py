"""Parameters of contact from rollouts: friction and restitution with which a world moves as was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import dataclass
from kido.errors import ModelError, NameLookupError, StateError
from kido.identification.estimate import Estimate
from kido.identification.parameters import Array
from kido.integrators.integrator import count
from kido.math.transform import as_positive, numbers_or_nan
from kido.optimization import GaussNewtonSolver, ModularLeastSquares, Problem, Solution, central_differences
from kido.reprs import brief
from kido.simulation import World

RANGES = {"friction": (0.0, 2.0), "restitution": (0.0, 1.0)}
_RANK = 1e-6  # least singular value of scaled columns: rounding of 1e-10 in a simulation makes such ones over _STEP
_SHARE = 1e-3  # in directions that are not told, below which a parameter is known
_STEP = 1e-4  # of differences: wide beside the rounding of a solved contact, narrow beside where contacts come and go


@dataclass(frozen=True)
class RolloutFit(Estimate):
    """Parameters with which rollouts are nearest to what was measured.

    Attributes:
        solution: of the least squares, with its certificate.
    """

    solution: Solution

    __repr__ = brief


def fit_rollouts(
    simulate: Callable[[Array], ArrayLike],
    measured: ArrayLike,
    names: Sequence[str],
    ranges: Sequence[tuple[float, float]],
    *,
    noise: float | None = None,
    grid: int = 6,
) -> RolloutFit:
    """Parameters p of any simulation, by nonlinear least squares: |simulate(p) - measured|^2 is least.

    Contacts make rollouts bend: the search begins at the best points of a grid over the ranges, and goes on from there
    by Gauss and Newton with differences. The covariance is that of the linearized problem; parameters that the
    measurement does not tell, alone or apart from others, have infinite variance.

    Args:
        simulate: parameters (n,) to numbers like those measured.
        measured: numbers of any shape.
        names: of the parameters.
        ranges: lower and upper bound of each.
        noise: standard deviation of the measured numbers; None: estimated of what is left over.
        grid: points along each range.

    Raises:
        ModelError: bad names, ranges, noise or grid, no function, or more parameters than numbers.
        StateError: a simulation that gives other shapes, or numbers that are not finite for all points of the grid.
    """
    y, bounds = numbers_or_nan(measured), numbers_or_nan(ranges)
    if isinstance(names, str) or not names or not all(isinstance(name, str) for name in names):
        raise ModelError(f"names: expected one for each parameter, got {names!r}")
    if bounds.shape != (len(names), 2) or not (np.isfinite(bounds).all() and (bounds[:, 0] < bounds[:, 1]).all()):
        raise ModelError(
            f"ranges: expected (lower, upper), lower < upper, for each of {', '.join(names)}, got {ranges!r}"
        )
    if y.size <= len(names) or not np.isfinite(y).all():
        raise ModelError(f"measured: expected more than {len(names)} finite numbers, got {y.size}")
    grid = count(grid, "grid")
    if not callable(simulate):
        raise ModelError(f"simulate: expected a function of parameters, got {simulate!r}")
    given_noise = None if noise is None else as_positive(noise, "noise")
    low, high = bounds.T

    def residuals(p: Array) -> Array:
        found = np.asarray(simulate(p), dtype=float)
        if found.shape != y.shape:
            raise StateError(f"simulate: expected numbers of shape {y.shape}, got {found.shape}")
        return (found - y).reshape(-1)

    width = high - low

    def scaled(x: Array) -> Array:
        return residuals(low + width * x)

    def slopes(x: Array) -> Array:
        near = np.clip(x, _STEP, 1.0 - _STEP)  # both sides within the ranges
        return central_differences(scaled, near, step=_STEP)

    shares = (np.arange(grid) + 0.5) / grid
    points = [np.array(p) for p in product(shares, repeat=len(low))]
    costs = [float(r @ r) if np.isfinite(r := scaled(p)).all() else np.inf for p in points]
    order = np.argsort(costs)
    if not np.isfinite(costs[order[0]]):
        raise StateError("simulate: gave numbers that are not finite for all points of the grid")
    first = points[order[0]]
    seeds = [points[i] for i in order[1:3]]
    problem = Problem(
        len(low), initial=first, lower=0.0, upper=1.0, seeds=seeds,
        objective=ModularLeastSquares(scaled, slopes, "rollouts"),
    )  # fmt: skip
    solution = GaussNewtonSolver(keep_searching=True, max_iterations=50).solve(problem)
    r, J = scaled(solution.x), slopes(solution.x) / width
    rms = float(np.sqrt(np.mean(r**2)))
    sigma = rms * np.sqrt(y.size / (y.size - len(low))) if given_noise is None else given_noise
    covariance, condition = linearized(J, sigma)
    values = low + width * solution.x
    return RolloutFit(tuple(names), values, covariance, np.array([sigma]), np.array([rms]), condition, solution)


def linearized(J: Array, sigma: float) -> tuple[Array, float]:
    """Covariance (n, n) of linear least squares with Jacobian J (m, n), and the condition of its scaled columns.

    A parameter with a share in a direction that J does not tell has infinite variance, and no covariances.
    """
    sizes = np.linalg.norm(J, axis=0)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    _, s, Vt = np.linalg.svd(J / sizes, full_matrices=False)
    kept = s > _RANK * max(s[0], 1.0)
    known = np.abs(np.eye(len(sizes)) - Vt[kept].T @ Vt[kept]).max(axis=0) < _SHARE
    covariance = (Vt[kept].T / s[kept] ** 2) @ Vt[kept] / np.outer(sizes, sizes) * sigma**2
    covariance[~known] = covariance[:, ~known] = 0.0
    covariance[~known, ~known] = np.inf
    return covariance, float(s[0] / s[-1]) if kept.all() else np.inf


def fit_contact(
    world: World,
    bodies: Mapping[str, Sequence[str]],
    measured: ArrayLike,
    every: int = 1,
    *,
    noise: float | None = None,
    grid: int = 6,
) -> RolloutFit:
    """Friction and restitution of bodies' surfaces, from how a world moved.

    Each rollout is of a clone of the world, from the state that it has.

    Args:
        world: in the state where the measurement began; it is left as it is.
        bodies: by "body" or "skeleton/body", which of "friction" and "restitution" are wanted; of all its shapes.
        measured: positions (records, dofs) of all skeletons, one after another, after each `every` steps.
        every: time steps between records.
        noise: standard deviation of the positions; None: estimated of what is left over.
        grid: points along each range of the search.

    Raises:
        ModelError, NameLookupError: no such body or property; shapes that do not fit.
    """
    if not isinstance(world, World):
        raise ModelError(f"fit contact: expected a kido.World, got {world!r:.80}")
    if not isinstance(bodies, Mapping) or not any(bodies.values()):
        raise ModelError(f"fit contact: bodies: expected names of properties by body, got {bodies!r:.80}")
    every = count(every, "fit contact: every")
    wanted: list[tuple[str, str]] = [(body, kind) for body, kinds in bodies.items() for kind in kinds]
    for body, kind in wanted:
        _body(world, body)
        if kind not in RANGES:
            raise NameLookupError("property of contact", kind, list(RANGES))
    y = numbers_or_nan(measured)
    dofs = sum(s.num_dofs for s in world.skeletons)
    if y.ndim != 2 or y.shape[1] != dofs:
        raise ModelError(f"measured: expected positions (records, {dofs}), got an array of shape {y.shape}")

    def simulate(p: Array) -> Array:
        twin = world.clone()
        for (body, kind), value in zip(wanted, p):
            setattr(_body(twin, body), kind, float(value))
        found = np.empty_like(y)
        for row in found:
            twin.step(every)
            row[:] = np.concatenate([s.positions for s in twin.skeletons])
        return found

    names = [f"{body}.{kind}" for body, kind in wanted]
    return fit_rollouts(simulate, y, names, [RANGES[kind] for _, kind in wanted], noise=noise, grid=grid)


def _body(world: World, path: str) -> Any:
    skeleton, _, name = path.rpartition("/")
    found = [body for s in world.skeletons if skeleton in ("", s.name) for body in s.bodies if body.name == name]
    if len(found) != 1:
        raise NameLookupError("body", path, [f"{s.name}/{b.name}" for s in world.skeletons for b in s.bodies])
    return found[0]
