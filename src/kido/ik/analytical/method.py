"""Closed-form solutions as a gradient method."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.errors import ModelError
from kido.ik.analytical.solution import QualityComparison, Solution, Validity, largest_component_is_smaller, ranked
from kido.ik.coordinates import POSED
from kido.ik.engine.arrays import sampled_positions
from kido.ik.gradient_method import DampedLeastSquares, GradientMethod, JacobianMethod
from kido.ik.model import known_of, remembered
from kido.ik.problem import joint_limits
from kido.skeleton import DegreeOfFreedom

Array = NDArray[np.float64]

_AT_LIMIT = 1e-9  # [rad, m]
_PLACES = 64  # of extra coordinates that are tried


class ExtraDofUtilization(Enum):
    """What coordinates of the task do that the closed form has no solution for.

    * `UNUSED`: nothing.
    * `PRE_ANALYTICAL`: they first take a step of `extra_method` towards the target; the closed form does the rest.
    * `POST_ANALYTICAL`: where the closed form has no solution within limits, they take a step for the error that its
      best one leaves; if there is none from there either, they go to the nearest of some places from where one of the
      branches is a solution.
    * `PRE_AND_POST_ANALYTICAL`: both.
    """

    UNUSED = "unused"
    PRE_ANALYTICAL = "pre-analytical"
    POST_ANALYTICAL = "post-analytical"
    PRE_AND_POST_ANALYTICAL = "pre- and post-analytical"


class AnalyticalMethod(GradientMethod):
    """A gradient method that knows solutions in closed form; subclass it, write `dofs` and `compute_solutions`.

    The gradient is the difference between the present positions and the best solution, so one step of a solver takes
    the skeleton there, alone or in a hierarchy with iterative tasks.

    Args:
        extra_dof_utilization: what coordinates of the task that are not among `dofs` do.
        quality: `quality(positions, others, current)` tells whether the first are better than the others; by default
            `largest_component_is_smaller`.
        extra_method: how extra coordinates follow an error; by default `DampedLeastSquares()`.

    Attributes:
        quality, extra_method: as above.

    Source: DART report, section 2.8.5.
    """

    quality: QualityComparison
    extra_method: JacobianMethod

    def __init__(
        self,
        extra_dof_utilization: ExtraDofUtilization | str = ExtraDofUtilization.UNUSED,
        quality: QualityComparison = largest_component_is_smaller,
        extra_method: JacobianMethod | None = None,
    ):
        self.extra_dof_utilization = extra_dof_utilization
        if not callable(quality):
            raise ModelError(f"{type(self).__name__}: quality: expected a function of three arrays, got {quality!r}")
        self.quality = quality
        self.extra_method = DampedLeastSquares() if extra_method is None else extra_method
        self._in_vain = b""  # the pose that no place of the extra coordinates was found for

    @property
    @abstractmethod
    def dofs(self) -> tuple[DegreeOfFreedom, ...]:
        """The coordinates that solutions are for, in their order."""

    @abstractmethod
    def compute_solutions(self, desired_transform: Array) -> list[Solution]:
        """Solutions for a pose of the node in the world (4, 4).

        They need not be in order, and need not be within limits; those that are not are to have `LIMIT_VIOLATED`, which
        `check_joint_limits` sets, and `OUT_OF_REACH` if they do not reach the pose.
        """

    @property
    def extra_dof_utilization(self) -> ExtraDofUtilization:
        """What coordinates of the task that are not among `dofs` do; also set by its text."""
        return self._utilization

    @extra_dof_utilization.setter
    def extra_dof_utilization(self, value: ExtraDofUtilization | str) -> None:
        try:
            self._utilization = ExtraDofUtilization(value)
        except ValueError:
            names = [u.value for u in ExtraDofUtilization]
            raise ModelError(
                f"{type(self).__name__}: extra_dof_utilization: expected one of {names}, got {value!r}"
            ) from None

    @property
    def positions(self) -> Array:
        """Present positions of `dofs` [rad, m]."""
        indices = [dof.index for dof in self.dofs]
        return fixed(self.ik.skeleton.positions[indices])

    def _limits(self) -> tuple[Array, Array]:
        dofs = self.dofs
        return np.array([d.position_lower_limit for d in dofs]), np.array([d.position_upper_limit for d in dofs])

    def check_joint_limits(self, solutions: Sequence[Solution]) -> list[Solution]:
        """The solutions, with `LIMIT_VIOLATED` where a position is beyond its joint's limits, and without elsewhere.

        Positions are taken as they are; `turned_into_limits` adds whole turns.
        """
        lower, upper = self._limits()
        result = []
        for solution in solutions:
            q = solution.positions
            inside = bool(((q >= lower - _AT_LIMIT) & (q <= upper + _AT_LIMIT)).all())
            validity = solution.validity & Validity.OUT_OF_REACH
            validity |= Validity.VALID if inside else Validity.LIMIT_VIOLATED
            result.append(dataclasses.replace(solution, validity=validity))
        return result

    def turned_into_limits(self, solutions: Sequence[Solution]) -> list[Solution]:
        """The solutions, all coordinates taken for angles: with whole turns added that bring each within limits.

        Among several turns it is the one nearest to the present position. Flags are those of `check_joint_limits`.
        """
        current, turn = self.positions, 2.0 * np.pi
        lower, upper = self._limits()
        result = []
        for solution in solutions:
            q = solution.positions + turn * np.round((current - solution.positions) / turn)
            above, below = np.maximum(q - upper, 0.0), np.maximum(lower - q, 0.0)
            inside = q - turn * np.ceil((above - _AT_LIMIT) / turn) * (above > _AT_LIMIT)
            inside += turn * np.ceil((below - _AT_LIMIT) / turn) * (below > _AT_LIMIT)
            fits = (inside >= lower - _AT_LIMIT) & (inside <= upper + _AT_LIMIT)
            result.append(dataclasses.replace(solution, positions=np.where(fits, inside, q)))
        return self.check_joint_limits(result)

    def solutions(self, desired_transform: Array | None = None) -> list[Solution]:
        """Solutions from the best to the worst: the valid ones first, by `quality` from the present positions.

        Args:
            desired_transform: a pose of the node in the world (4, 4); None: the one that the error method asks for.
        """
        if desired_transform is None:
            return self.solutions(self.ik.error_method.compute_desired_transform())
        return ranked(self.compute_solutions(desired_transform), self.positions, self.quality)

    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where `dofs` are among the task's coordinates, and which of these are extra.

        Raises:
            ModelError: one of `dofs` is not among them.
        """
        place = {dof: k for k, dof in enumerate(self.ik.dofs)}
        missing = [dof.name for dof in self.dofs if dof not in place]
        if missing:
            raise ModelError(
                f"{type(self).__name__}: coordinates {missing} are not among those of {self.ik!r}: "
                f"{[dof.name for dof in place]}"
            )
        own = np.array([place[dof] for dof in self.dofs], np.intp)
        return own, np.setdiff1d(np.arange(len(place)), own)

    def compute_gradient(self, error: Array) -> Array:
        """The present positions less the best solution, and the steps of extra coordinates; zero without an error."""
        ik = self.ik
        own, extra = self._places()
        g = np.zeros(own.size + extra.size)
        if not np.any(error):
            return g
        use = self._utilization if extra.size else ExtraDofUtilization.UNUSED
        before = use in (ExtraDofUtilization.PRE_ANALYTICAL, ExtraDofUtilization.PRE_AND_POST_ANALYTICAL)
        if before:
            g[extra] = self._extra_step(error, extra)
            with self._moved(-g):
                best = next(iter(self.solutions()), None)
        else:
            desired = ik.error_method.compute_desired_transform(None, error)
            best = next(iter(self.solutions(desired)), None)
        if best is not None:
            g[own] = self.positions - best.positions
        after = use in (ExtraDofUtilization.POST_ANALYTICAL, ExtraDofUtilization.PRE_AND_POST_ANALYTICAL)
        if after and (best is None or not best.is_valid):
            with self._moved(-g):
                g[extra] += self._extra_step(ik.compute_error(), extra)
            place = self._place_for_a_branch(-g[extra], extra)
            if place is not None:
                g[extra], g[own] = -place[0], self.positions - place[1].positions
        return g

    def _place_for_a_branch(self, step: Array, extra: NDArray[np.intp]) -> tuple[Array, Solution] | None:
        """A change of the extra coordinates from where one of the branches is a solution, and it; None: none is known.

        Tried are a step, and then sampled places, the nearest first; these once for each pose that is wanted.
        """
        ik, skeleton = self.ik, self.ik.skeleton
        change = np.zeros(len(ik.dof_indices))
        dofs, mark = ik.dof_indices[extra], ("places of extra coordinates", id(self))
        wanted = ik.error_method.compute_desired_transform().tobytes() + ik.whole_positions(change).tobytes()
        in_vain = self._in_vain == wanted and known_of(skeleton, mark)
        samples = sampled_positions(skeleton, dofs, 0 if in_vain else _PLACES, 0)
        steps = [skeleton.position_differences(q, skeleton.positions)[dofs] for q in samples]
        steps.sort(key=lambda u: float(np.abs(u).max()))
        for change[extra] in [step, *steps]:
            with self._moved(change):
                best = next(iter(self.solutions()), None)
            if best is not None and best.is_valid:
                return change[extra], best
        self._in_vain = wanted
        remembered(skeleton, mark, lambda: True)
        return None

    @contextmanager
    def _moved(self, change: Array) -> Iterator[None]:
        """For a while, the skeleton is where a change of the task's coordinates takes it, within limits."""
        skeleton = self.ik.skeleton
        with skeleton.turn.used(POSED):
            before = skeleton.positions
            try:
                self.ik.positions = np.clip(self.ik.retract(self.ik.positions, change), *joint_limits(self.ik))
                yield
            finally:
                skeleton.positions = before

    def _extra_step(self, error: Array, extra: NDArray[np.intp]) -> Array:
        return self.extra_method.step(self.ik.compute_jacobian()[:, extra], error)
