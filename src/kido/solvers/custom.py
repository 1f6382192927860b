"""Solvers written by users in Python: a plain description of an island in, impulses out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.reprs import brief
from kido.solvers.problem import BOUNDED, CONTACT, DECLINED, MEASURED, PROBLEM, SPIN_BLOCK, block_segments
from kido.solvers.solver import Solver


@dataclass(frozen=True, eq=False)
class IslandProblem:
    """The contact problem of one island: find p with v = compliance p + free_velocity as the laws ask.

    Rows of a contact come in threes, normal first: p_n >= floor, |p_t| <= mu p_n, v_n >= 0 with p_n - floor or v_n
    zero, friction against slip. Rows of limits, joint friction and equalities are single: lower <= p <= upper,
    v >= 0 at the lower bound, <= 0 at the upper one, 0 between.

    Attributes:
        jacobian: J, (rows, dofs), on the coordinates of the skeletons in the island.
        response: Y = J M^-1, (rows, dofs).
        compliance: A = J M^-1 J^T plus softness on the diagonal, (rows, rows) [m/(N s)].
        free_velocity: b, velocity of the rows without impulses, with their bias, (rows,) [m/s].
        contact_rows: the first row of each contact, (contacts,).
        mu: coefficients of friction, (contacts,).
        floor: least normal impulses, (contacts,) [N s].
        single_rows: the rows of limits, joint friction and equalities, (singles,).
        lower, upper: their bounds, (singles,) [N s]; may be infinite.
        warm_start: impulses of the last step, admissible, (rows,) [N s].
        spin_rows: the first row of each rolling and torsional friction, (spins,): three rows of angular velocity,
            directly after those of its contact. |p_n| <= torsion times, |p_t| <= rolling times the contact's p_n.
        rolling, torsion: their coefficients, (spins,) [m].
    """

    jacobian: NDArray[np.float64]
    response: NDArray[np.float64]
    compliance: NDArray[np.float64]
    free_velocity: NDArray[np.float64]
    contact_rows: NDArray[np.int64]
    mu: NDArray[np.float64]
    floor: NDArray[np.float64]
    single_rows: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    warm_start: NDArray[np.float64]
    spin_rows: NDArray[np.int64]
    rolling: NDArray[np.float64]
    torsion: NDArray[np.float64]

    __repr__ = brief


SolveIsland = Callable[[IslandProblem], Any]


@dataclass(frozen=True)
class CustomSolver(Solver):
    """A user's own solver, called from Python for every island of every step.

    Args:
        function: of an `IslandProblem`; returns the impulses (rows,) [N s], or None to leave the island to the
            default solver, as are impulses that are not finite.

    What it returns is used as it is and measured on the exact cone like any other solution.
    """

    function: SolveIsland
    given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ModelError(f"CustomSolver: function: expected a function of an IslandProblem, got {self.function!r}")

    def solve_islands(self, problem: PROBLEM) -> None:
        """Call the function on each island of a problem after `begin_solution`; fills `impulse`, `island_ended`.

        Raises:
            ModelError: it returned impulses of another shape.
        """
        for island in range(problem.num_islands):
            rows = island_rows(problem, island)
            answer = self.function(describe_island(problem, island))
            problem.island_ended[island] = DECLINED
            if answer is None:
                continue
            try:
                impulses = np.asarray(answer, dtype=np.float64)
            except (TypeError, ValueError):
                impulses = np.empty(0)
            if impulses.shape != rows.shape:
                raise ModelError(
                    f"solver {getattr(self.function, '__name__', self.function)!r}: expected {len(rows)} impulses "
                    f"(one per row) or None, got {answer!r}"
                )
            if np.isfinite(impulses).all():
                problem.impulse[rows] = impulses
                problem.island_ended[island] = MEASURED


def island_blocks(problem: PROBLEM, island: int) -> np.ndarray:
    """Numbers of an island's blocks, in its order."""
    return problem.island_block[problem.island_start[island] : problem.island_start[island + 1]]


def island_rows(problem: PROBLEM, island: int) -> np.ndarray:
    """Rows of the problem that an island has, in its order."""
    rows = [problem.row[b] + np.arange(1 if problem.kind[b] == BOUNDED else 3) for b in island_blocks(problem, island)]
    return np.concatenate(rows)


def describe_island(problem: PROBLEM, island: int) -> IslandProblem:
    """An island as arrays of its own."""
    blocks = island_blocks(problem, island)
    contact = problem.kind[blocks] == CONTACT
    single = problem.kind[blocks] == BOUNDED
    spin = problem.kind[blocks] == SPIN_BLOCK
    sizes = np.where(single, 1, 3)
    starts = np.cumsum(sizes) - sizes
    rows = island_rows(problem, island)
    segments = {dof: length for b in blocks for dof, length, _ in block_segments(problem, b)}
    column, dofs = {}, []
    for dof in sorted(segments):
        column[dof] = len(dofs)
        dofs.extend(range(dof, dof + segments[dof]))
    jacobian, response = np.zeros((len(rows), len(dofs))), np.zeros((len(rows), len(dofs)))
    for start, size, b in zip(starts, sizes, blocks, strict=True):
        for dof, length, at in block_segments(problem, b):
            where = slice(column[dof], column[dof] + length)
            jacobian[start : start + size, where] += problem.J[at : at + size * length].reshape(size, length)
            response[start : start + size, where] += problem.Y[at : at + size * length].reshape(size, length)
    compliance = jacobian @ response.T
    compliance = 0.5 * (compliance + compliance.T) + np.diag(problem.compliance[rows])
    return IslandProblem(
        jacobian=jacobian,
        response=response,
        compliance=compliance,
        free_velocity=jacobian @ problem.u_free[dofs] + problem.bias[rows],
        contact_rows=starts[contact],
        mu=problem.mu[blocks[contact]],
        floor=problem.floor[blocks[contact]],
        single_rows=starts[single],
        lower=problem.lower[blocks[single]],
        upper=problem.upper[blocks[single]],
        warm_start=problem.impulse[rows],
        spin_rows=starts[spin],
        rolling=problem.mu[blocks[spin]],
        torsion=problem.torsion[blocks[spin]],
    )
