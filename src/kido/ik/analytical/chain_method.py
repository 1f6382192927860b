"""The closed forms of chains of hinges, for a task of a skeleton."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.errors import ModelError
from kido.ik.analytical.chain import base_of, read_chain
from kido.ik.analytical.method import AnalyticalMethod, ExtraDofUtilization
from kido.ik.analytical.solution import QualityComparison, Solution, largest_component_is_smaller
from kido.ik.analytical.solvers import (
    CHAIN_SOLVERS,
    FIT_TOLERANCE,
    ChainSolver,
    ParallelAxesSolver,
    PlanarSolver,
    SphericalWristSolver,
    SwivelSolver,
    as_pose,
)
from kido.ik.gradient_method import JacobianMethod
from kido.ik.model import carrier_of, known_of, remembered
from kido.ik.part import Module
from kido.math.transform import inverse_transform, number_or_nan
from kido.skeleton import DegreeOfFreedom
from kido.skeleton.state.subsets import indices_of

Array = NDArray[np.float64]


class AnalyticalChain(AnalyticalMethod):
    """The closed form of the chain of hinges up to the task's node, which it finds out itself.

    The geometry is read from the skeleton at whatever pose it has, and again when properties of the skeleton change.
    Redundant chains have one free parameter (`ChainSolver.free`: a swivel angle, or a locked joint's position). It is
    kept as it is at the present positions; if that gives no valid solution, others are tried, the nearest first.

    Args:
        solver: a class of solvers that the chain must fit; None: the first that it fits, of `SwivelSolver`,
            `SphericalWristSolver`, `ParallelAxesSolver` and `PlanarSolver`.
        dofs: the chain's coordinates, from the base outwards, what `indices_of` takes; None: as many of the task's last
            ones as the solver takes, so that what is before them is extra. Of seven coordinates that fit only without
            the first or the last, that one is the free parameter, if `extra_dof_utilization` is `UNUSED`.
        parameter: the free parameter [rad]; None: see above.
        search: how many other values of the parameter are tried over a whole turn, or between a joint's limits.
        tolerance: of the fit, see `ChainSolver`.
        extra_dof_utilization, quality, extra_method: see `AnalyticalMethod`.

    Raises:
        ModelError: on assignment to a task: no solver fits. The message has each one's reason, with numbers.

    Example:
        >>> ik = InverseKinematics(ur5.body("tool0"), gradient_method=AnalyticalChain())
        >>> [s.positions for s in ik.gradient_method.solutions(pose)]
    """

    search: int

    def __init__(
        self,
        solver: type[ChainSolver] | None = None,
        dofs: Iterable[DegreeOfFreedom | str | int] | None = None,
        *,
        parameter: float | None = None,
        search: int = 36,
        tolerance: float = FIT_TOLERANCE,
        extra_dof_utilization: ExtraDofUtilization | str = ExtraDofUtilization.UNUSED,
        quality: QualityComparison = largest_component_is_smaller,
        extra_method: JacobianMethod | None = None,
    ):
        super().__init__(extra_dof_utilization, quality, extra_method)
        if solver is not None and not (isinstance(solver, type) and issubclass(solver, ChainSolver)):
            raise ModelError(f"AnalyticalChain: solver: expected a class of ChainSolver, got {solver!r}")
        self._kind = solver
        self._choice: Any = None if dofs is None else list(dofs)
        self.parameter = parameter
        self.search = int(search)
        self.tolerance = tolerance
        self._known: tuple[ChainSolver, list[DegreeOfFreedom], NDArray[np.intp]] | None = None

    @property
    def parameter(self) -> float | None:
        """The free parameter [rad]; None: as it is at the present positions, or another where that has no solution."""
        return self._parameter

    @parameter.setter
    def parameter(self, value: float | None) -> None:
        number = None if value is None else number_or_nan(value)
        if number is not None and not np.isfinite(number):
            raise ModelError(f"AnalyticalChain: parameter: expected a finite number or None, got {value!r}")
        self._parameter = number

    def attached(self, ik: Module) -> Self:
        before = self._ik
        super().attached(ik)
        try:
            if isinstance(self._choice, list):
                every = ik.skeleton.dofs
                self._choice = [every[k] for k in indices_of(ik.skeleton, self._choice)]
            self._solver()
        except Exception:
            self._ik = before
            raise
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": None}

    def _solver(self) -> tuple[ChainSolver, list[DegreeOfFreedom], NDArray[np.intp]]:
        """The solver, its coordinates and their places in the skeleton's arrays.

        What a skeleton keeps under its selections goes when any property or the structure changes, and so the mark does
        that says that the chain is still as it was read.
        """
        skeleton = self.ik.skeleton
        mark = ("analytical chain", id(self))
        if self._known is None or not known_of(skeleton, mark):
            solver, dofs = self._fitting()
            self._known = solver, dofs, np.array([dof.index for dof in dofs], np.intp)
            remembered(skeleton, mark, lambda: True)
        return self._known

    def _fitting(self) -> tuple[ChainSolver, list[DegreeOfFreedom]]:
        body = carrier_of(self.ik.node)[0]
        reasons: list[str] = []
        for kind, dofs, locked in self._candidates():
            try:
                return kind(read_chain(body, dofs), self.tolerance, locked), dofs
            except ModelError as error:
                if str(error) not in reasons:
                    reasons.append(str(error))
        if not reasons:
            reasons = ["the task has too few coordinates: solvers take the last 3, 6 or 7"]
        raise ModelError(f"no closed form for {self.ik!r}:\n  " + "\n  ".join(reasons))

    def _candidates(self) -> Iterator[tuple[type[ChainSolver], list[DegreeOfFreedom], int | None]]:
        """Solvers and coordinates that may go together."""
        if self._choice is not None:
            for kind in CHAIN_SOLVERS if self._kind is None else (self._kind,):
                if self._kind is not None or len(self._choice) in (kind.joints, kind.most_joints):
                    yield kind, self._choice, None
            return
        above = set(self.ik.node.dependent_dofs)
        own = [dof for dof in self.ik.dofs if dof in above]
        own.sort(key=lambda dof: dof.index)
        six: list[tuple[type[ChainSolver], int]] = [(SphericalWristSolver, 6), (ParallelAxesSolver, 6)]
        seven: list[tuple[type[ChainSolver], int]] = [(SphericalWristSolver, 7), (ParallelAxesSolver, 7)]
        # A seventh coordinate is a free parameter, unless it was said what extra ones do.
        searched = len(own) == 7 and self.extra_dof_utilization is ExtraDofUtilization.UNUSED
        order = [(SwivelSolver, 7), *(seven + six if searched else six + seven), (PlanarSolver, 3)]
        if self._kind is not None and self._kind not in [kind for kind, _ in order]:
            order = [(self._kind, self._kind.joints)]
        for kind, number in order:
            if len(own) >= number and self._kind in (None, kind):
                yield kind, own[len(own) - number :], None

    @property
    def solver(self) -> ChainSolver:
        """The solver that the chain fits."""
        return self._solver()[0]

    @property
    def dofs(self) -> tuple[DegreeOfFreedom, ...]:
        """The chain's coordinates, from the base outwards."""
        return tuple(self._solver()[1])

    @property
    def positions(self) -> Array:
        """Present positions of `dofs` [rad]."""
        return fixed(self.ik.skeleton.positions[self._solver()[2]])

    def compute_solutions(self, desired_transform: Array) -> list[Solution]:
        """All solutions for a pose of the node in the world (4, 4), whole turns chosen within limits."""
        solver, dofs, indices = self._solver()
        ik = self.ik
        body, offset = carrier_of(ik.node)
        X = as_pose(desired_transform, "AnalyticalChain: desired_transform")
        if offset is not None:
            X = X @ inverse_transform(ik.node.world_transform) @ body.world_transform
        base = np.ascontiguousarray(base_of(dofs).world_transform)
        q = np.array(ik.skeleton.positions[indices])
        if self.parameter is not None and solver.locked is not None:
            q[solver.locked] = self.parameter
        found = solver.raw_solutions(X, q, base, self.parameter if solver.locked is None else None)
        if self.parameter is not None or not solver.free or any(s.is_valid for s in found):
            return found
        for value in self._others(solver, q):
            if solver.locked is not None:
                q[solver.locked] = value
            tried = solver.raw_solutions(X, q, base, value if solver.locked is None else None)
            if any(s.is_valid for s in tried):
                return tried
        return found

    def _others(self, solver: ChainSolver, q: Array) -> list[float]:
        """Other values of the free parameter, the nearest first."""
        if solver.locked is None:
            assert isinstance(solver, SwivelSolver)
            steps = np.arange(1, self.search) * (2.0 * np.pi / self.search)
            values = solver.swivel_angle(q) + (steps + np.pi) % (2.0 * np.pi) - np.pi
            here = solver.swivel_angle(q)
        else:
            k = solver.locked
            here = float(q[k])
            low = max(solver.chain.lower[k], here - np.pi)
            high = min(solver.chain.upper[k], here + np.pi)
            values = np.linspace(low, high, self.search)
        return sorted(values.tolist(), key=lambda value: abs(value - here))
