"""What an analytical solver finds, and how solutions are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.reprs import brief

Array = NDArray[np.float64]


class Validity(IntFlag):
    """What is wrong with a solution: any of `OUT_OF_REACH` and `LIMIT_VIOLATED`, or nothing, which is `VALID`."""

    VALID = 0
    OUT_OF_REACH = 1
    LIMIT_VIOLATED = 2


class Singularity(IntFlag):
    """The singular poses that a solution is in, by the part of the chain that they are of; `NONE` is regular.

    * `SHOULDER`: the wrist lies on the first axis, or the axes of a spherical shoulder or hip are in one plane with the
      first and the last aligned: the first angle is a free choice.
    * `ELBOW`: the positioning part is stretched or folded: two branches meet.
    * `WRIST`: the first and the last axis of the wrist or ankle are aligned: only the sum of their angles matters.
    """

    NONE = 0
    SHOULDER = 4
    ELBOW = 8
    WRIST = 16


@dataclass(frozen=True)
class Solution:
    """Positions that an analytical solver gives for a pose.

    Attributes:
        positions: one for each of the solver's coordinates.
        validity: what is wrong with them.
        singularity: the singular poses that they are in.
        position_error: distance of the tip from where it is to be, by forward kinematics [m]; NaN if not measured.
        angle_error: angle of its orientation from that asked for [rad]; NaN if not measured.
    """

    positions: Array
    validity: Validity = Validity.VALID
    singularity: Singularity = field(default=Singularity.NONE)
    position_error: float = float("nan")
    angle_error: float = float("nan")

    __repr__ = brief

    @property
    def is_valid(self) -> bool:
        """Whether it reaches the pose within limits."""
        return self.validity == Validity.VALID


class SolutionBatch(NamedTuple):
    """Solutions for many poses; what is beyond a pose's count is NaN, or 0.

    Attributes:
        counts: (N,) how many each pose has.
        positions: (N, most, n) [rad].
        errors: (N, most, 2) what is left: distance [m] and angle [rad].
        flags: (N, most) bits of `Validity` and `Singularity`.
    """

    counts: NDArray[np.int64]
    positions: Array
    errors: Array
    flags: NDArray[np.int64]

    __repr__ = brief


QualityComparison = Callable[[Array, Array, Array], bool]


def largest_component_is_smaller(better: Array, worse: Array, current: Array) -> bool:
    """The default comparison: whether the largest component of `better - current` is the smaller one.

    So the solution is preferred whose fastest joint would be the slowest, which keeps elbows from flipping (DART
    report, section 2.8.5). Where these are equal, to 1e-9, the next largest decide: branches often share the joints
    that move most, and rounding is not to choose among them.
    """
    return _gaps(better, current).tolist() < _gaps(worse, current).tolist()


def _gaps(positions: Array, current: Array) -> Array:
    """Differences (..., n) from the largest to the smallest, in whole 1e-9 rad."""
    return np.sort(np.rint(1e9 * np.abs(positions - current)), axis=-1)[..., ::-1]


def ranked(
    solutions: Sequence[Solution], current: Array, is_better: QualityComparison = largest_component_is_smaller
) -> list[Solution]:
    """Solutions from the best to the worst.

    First those that are valid, then those that violate limits only, then those out of reach, then those that are both;
    within each, by the comparison `is_better(positions, others, current)`. Equal ones keep their order.
    """
    if is_better is largest_component_is_smaller:  # the same by sorting once
        gaps = _gaps(np.array([s.positions for s in solutions]), current).tolist()
        order = sorted(range(len(gaps)), key=lambda k: (_RANK[int(solutions[k].validity)], gaps[k]))
        return [solutions[k] for k in order]
    result: list[Solution] = []
    for new in solutions:
        at = len(result)
        while at and _before(new, result[at - 1], current, is_better):
            at -= 1
        result.insert(at, new)
    return result


_RANK = {0: 0, int(Validity.LIMIT_VIOLATED): 1, int(Validity.OUT_OF_REACH): 2, 3: 3}


def _before(a: Solution, b: Solution, current: Array, is_better: QualityComparison) -> bool:
    first, second = _RANK[int(a.validity)], _RANK[int(b.validity)]
    if first != second:
        return first < second
    return bool(is_better(a.positions, b.positions, current))
