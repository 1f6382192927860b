"""Closed-form solvers of chains of hinges, which find out themselves whether a chain is theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError, StateError
from kido.ik.analytical import solve as closed_forms
from kido.ik.analytical.arm import ARM, MAX_SOLUTIONS
from kido.ik.analytical.chain import Array, HingeChain, read_chain
from kido.ik.analytical.fit import Fit, NoFitError, fit_parallel_axes, fit_planar, fit_spherical_wrist, fit_swivel
from kido.ik.analytical.solution import Singularity, Solution, SolutionBatch, Validity
from kido.jit import REFUSALS
from kido.math.transform import as_numbers, as_transform
from kido.skeleton import DegreeOfFreedom
from kido.skeleton.nodes.node import JacobianNode

_VALIDITIES = tuple(Validity(k) for k in range(4))
_SINGULARITIES = tuple(Singularity(k << 2) for k in range(8))
_IDENTITY = np.eye(4)
FIT_TOLERANCE = 1e-5


def as_pose(value: Any, what: str) -> Array:
    """`as_transform`, but a matrix that is a pose to the last digits is taken as it is, which is quick."""
    try:
        if closed_forms.is_pose.call(value):
            return value
    except REFUSALS:
        pass
    return as_transform(value, what)


class ChainSolver:
    """A closed form for one family of chains.

    The solver works with axes that lie exactly as its formulas want them. Every solution is then put through the
    forward kinematics of the chain as it is, and what rounding, or axes that miss each other by up to the tolerance,
    have left is corrected by a few least-squares steps. `Solution` tells what remains: some 1e-15 of the arm's size, in
    and near singular poses too. There it is angles that are less certain: about nearly parallel axes by 1e-15 / sine,
    and where two branches meet by 1e-8; branches closer than 1e-6 rad count as one.

    Solutions are all branches, each once. Angles are given with the whole turns that bring them within limits and
    closest to the reference; if no turn does that, the solution is `LIMIT_VIOLATED`. If no branch reaches the pose,
    solutions are those nearest to it, and `OUT_OF_REACH`: see the class for what is nearest.

    Args:
        chain: the axes.
        tolerance: how far axes may be from where the family wants them: sine of an angle, or part of the arm's size.
        locked: joint that is left out and keeps its reference position, the first or the last; None: whichever fits,
            if there is one too many.

    Raises:
        ModelError: the chain is not of the family; the message says why, with numbers.
    """

    joints: ClassVar[int]
    most_joints: ClassVar[int]
    family: ClassVar[int]
    _fitted: ClassVar[Any]

    def __init__(self, chain: HingeChain, tolerance: float = FIT_TOLERANCE, locked: int | None = None):
        self.chain = chain
        self.tolerance = float(tolerance)
        if not 0.0 < self.tolerance < 1.0:
            raise ModelError(f"{type(self).__name__}: tolerance: expected a number in (0, 1), got {tolerance!r}")
        n = len(chain)
        if locked is not None and (locked not in (0, n - 1) or n != self.joints + 1):
            raise ModelError(
                f"{type(self).__name__}: locked: expected 0 or {self.joints} in a chain of {self.joints + 1} joints, "
                f"got {locked!r} in one of {n}"
            )
        ways, reasons = self._ways(n, locked), []
        self._fit: Fit | None = None
        for way in ways:
            try:
                self._fit = way()
                break
            except NoFitError as reason:
                if str(reason) not in reasons:
                    reasons.append(str(reason))
        if self._fit is None:
            if not ways:
                reasons = [f"it has {n} joints, expected {self._numbers()}"]
            raise ModelError(f"{chain.name} does not fit {type(self).__name__}: {'; or '.join(reasons)}")
        self._make()

    @classmethod
    def of(
        cls,
        node: JacobianNode,
        dofs: Sequence[DegreeOfFreedom] | None = None,
        tolerance: float = FIT_TOLERANCE,
        locked: int | None = None,
    ) -> ChainSolver:
        """The solver for the coordinates of a skeleton above a node; by default the last ones that it can be."""
        if dofs is None:
            above = node.dependent_dofs
            number = cls.joints if locked is None else cls.joints + 1
            if len(above) < number:
                raise ModelError(
                    f"{node.name!r} hangs on {len(above)} coordinates; {cls.__name__} expects {cls._numbers()}"
                )
            dofs = above[len(above) - number :]
        return cls(read_chain(node, dofs), tolerance, locked)

    @classmethod
    def _numbers(cls) -> str:
        return str(cls.joints)

    def _ways(self, n: int, locked: int | None) -> list[Callable[[], Fit]]:
        """How a chain of n joints may be of the family: functions that fit it, or raise `NoFitError`."""
        fitted = type(self)._fitted
        return [lambda: fitted(self.chain, self.tolerance)] if n == self.joints else []

    def _make(self) -> None:
        """The container that kernels read."""
        fit, chain = self._fit, self.chain
        assert fit is not None
        n, family = len(chain), len(fit.order)
        arm = ARM(joints=n, joints1=n + 1, family=family)
        arm.axis[:], arm.point[:] = chain.axes, chain.points
        inverse = np.linalg.inv(chain.home)
        arm.home[:9], arm.home[9:] = inverse[:3, :3].ravel(), inverse[:3, 3]
        arm.lower[:], arm.upper[:] = chain.lower, chain.upper
        arm.order[:] = fit.order
        arm.backward, arm.locked, arm.layout = int(fit.backward), fit.locked, fit.layout
        arm.h[:], arm.o[:], arm.center[:] = fit.axes, fit.points, fit.centers
        arm.length = chain.size
        self._arm = arm
        self._zeros = np.zeros(n)

    @property
    def locked(self) -> int | None:
        """Joint that keeps its reference position, or None."""
        assert self._fit is not None
        return None if self._fit.locked < 0 else self._fit.locked

    @property
    def free(self) -> str:
        """What the parameter of `solve` is: `"swivel angle"`, `"position of joint 7"`, or empty for none."""
        return "" if self.locked is None else f"position of joint {self.locked + 1}"

    def set_limits(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Other limits [rad] than those the chain was read with; infinite: none."""
        low, high = self._vector(lower, "lower limits"), self._vector(upper, "upper limits")
        if np.any(low > high):
            raise ModelError(f"{self.chain.name}: a lower limit is above its upper one: {low} > {high}")
        self._arm.lower[:], self._arm.upper[:] = low, high

    def _vector(self, value: ArrayLike, what: str) -> Array:
        try:
            array = as_numbers(value)
        except (TypeError, ValueError):
            raise StateError(f"{self.chain.name}: {what}: expected {len(self.chain)} numbers, got {value!r}") from None
        if array.shape != (len(self.chain),) or np.isnan(array).any():
            raise StateError(f"{self.chain.name}: {what}: expected {len(self.chain)} numbers, got {value!r}")
        return array

    def _reference(self, reference: ArrayLike | None, parameter: float | None) -> Array:
        if reference is None:
            q = self._zeros
        else:
            q = self._vector(reference, "reference")
            if not np.isfinite(q).all():
                raise StateError(f"{self.chain.name}: reference: expected finite numbers, got {reference!r}")
        if parameter is not None:
            parameter = float(parameter)
            if not np.isfinite(parameter):
                raise StateError(f"{self.chain.name}: parameter: expected a finite number, got {parameter!r}")
            if not self.free:
                raise ModelError(f"{self.chain.name}: {type(self).__name__} has no parameter, got {parameter!r}")
            if self.locked is not None:
                q = q.copy()
                q[self.locked] = parameter
        return q

    def solve(
        self, target: Any, reference: ArrayLike | None = None, *, base: Any = None, parameter: float | None = None
    ) -> list[Solution]:
        """All solutions for one pose of the tip, in the order of the family's branches.

        Args:
            target: pose of the tip (4x4, or what `as_transform` takes).
            reference: positions that whole turns, and angles that a singular pose leaves open, stay close to [rad];
                zeros by default.
            base: pose of the chain's base, in the same frame as `target`; identity by default.
            parameter: what `free` tells; by default that of the reference.
        """
        X = as_pose(target, f"{self.chain.name}: target")
        B = _IDENTITY if base is None else as_pose(base, f"{self.chain.name}: base")
        return self.raw_solutions(X, self._reference(reference, parameter), B, parameter)

    def raw_solutions(self, X: Array, q: Array, base: Array, parameter: float | None = None) -> list[Solution]:
        """`solve`, of what is checked already: 4x4 and contiguous."""
        arm = self._arm
        angle, keep = (0.0, 1) if parameter is None else (parameter, 0)
        count = closed_forms.solve.call(arm.address, self.family, base, X, q, angle, keep)
        found, errors, flags = arm.found[:count].copy(), arm.error[:count].tolist(), arm.flags[:count].tolist()
        return [
            Solution(found[k], _VALIDITIES[flags[k] & 3], _SINGULARITIES[flags[k] >> 2], errors[k][0], errors[k][1])
            for k in range(count)
        ]

    def solve_many(
        self,
        targets: ArrayLike,
        references: ArrayLike | None = None,
        *,
        base: Any = None,
        parameter: float | None = None,
        most: int = 8,
    ) -> SolutionBatch:
        """`solve` for many poses in one compiled call.

        Args:
            targets: (N, 4, 4) poses of the tip.
            references: (n,), or one for each target, (N, n).
            base, parameter: as of `solve`.
            most: solutions kept for each target.
        """
        X = np.array(targets, dtype=np.float64, order="C", ndmin=3)
        n = len(self.chain)
        if X.shape[1:] != (4, 4) or not np.isfinite(X).all():
            raise StateError(f"{self.chain.name}: targets: expected finite 4x4 poses, got the shape {X.shape}")
        B = _IDENTITY if base is None else as_transform(base, f"{self.chain.name}: base")
        q = np.zeros((1, n)) if references is None else np.array(references, dtype=np.float64, order="C", ndmin=2)
        if q.shape not in ((1, n), (len(X), n)) or not np.isfinite(q).all():
            raise StateError(
                f"{self.chain.name}: references: expected finite numbers, ({n},) or ({len(X)}, {n}), got {q.shape}"
            )
        if parameter is not None:
            self._reference(None, parameter)
            if self.locked is not None:
                q[:, self.locked] = parameter
        most = min(max(int(most), 1), MAX_SOLUTIONS)
        positions, errors = np.full((len(X), most, n), np.nan), np.full((len(X), most, 2), np.nan)
        flags = np.zeros((len(X), 1 + most))
        angle, keep = (0.0, 1) if parameter is None else (float(parameter), 0)
        closed_forms.solve_many.call(self._arm.address, self.family, B, X, q, angle, keep, positions, errors, flags)
        bits = flags.astype(np.int64)
        return SolutionBatch(bits[:, 0], positions, errors, bits[:, 1:])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.chain.name!r}, {len(self.chain)} joints)"


class _SixJoints(ChainSolver):
    """Six hinges, or seven of which one at an end is locked."""

    joints, most_joints = 6, 7

    @classmethod
    def _numbers(cls) -> str:
        return "6, or 7 with the first or the last locked"

    def _ways(self, n: int, locked: int | None) -> list[Callable[[], Fit]]:
        if n == 6:
            parts = [(range(6), -1)]
        elif n == 7:
            ends = (6, 0) if locked is None else (locked,)
            parts = [(range(6), 6) if end == 6 else (range(1, 7), 0) for end in ends]
        else:
            return []
        fitted = type(self)._fitted
        return [
            lambda part=part, end=end, backward=backward: fitted(self.chain, part, backward, self.tolerance, end)
            for part, end in parts
            for backward in (False, True)
        ]


class SphericalWristSolver(_SixJoints):
    """Six hinges of which the last three, or the first three, have axes through one point.

    Industrial arms with a spherical wrist (PUMA 560, and any other way the first three axes may lie), legs whose hip is
    spherical (hip, knee, two axes of an ankle); of seven joints, those that are such a chain once the first or the last
    is locked (Panda: the shoulder is spherical, joint 7 is locked). Up to eight solutions.

    Nearest, where nothing reaches: the orientation is as asked, and the point where the three axes meet is as close as
    it gets to where it should be, which for an arm is the distance of the tip; seen from the tip if that point is
    near the base. If the three axes are not perpendicular, an orientation may be out of reach, and is then approached
    as closely as its angle allows. Source: Pieper (1968), see `kido.ik.analytical.positioning`.
    """

    family = closed_forms.SPHERICAL_WRIST
    _fitted = staticmethod(fit_spherical_wrist)


class ParallelAxesSolver(_SixJoints):
    """Six hinges with axes 2, 3 and 4 parallel and 5 and 6 meeting (UR3 to UR20), or the same seen from the tip.

    Up to eight solutions. Nearest, where nothing reaches: the orientation is as asked, and the distance is the least.
    Source: Hawkins, "Analytic inverse kinematics for the Universal Robots" (2013), here for any directions of the axes.
    """

    family = closed_forms.PARALLEL_AXES
    _fitted = staticmethod(fit_parallel_axes)


class SwivelSolver(ChainSolver):
    """Seven hinges: a spherical shoulder, an elbow with or without offset, a spherical wrist (KUKA LBR and iiwa, WAM).

    The parameter is the swivel angle: of the elbow about the line from the shoulder to the wrist, from the half-plane
    that holds the direction of axis 1, positive along that line. Up to eight solutions for each, with the elbow at the
    same place (two of the elbow's angle, shoulder and wrist turned over or not). With the wrist above the shoulder,
    along axis 1, the angle counts from the plane of the axes 1 and 2 at zero positions instead.

    Nearest, where nothing reaches: the orientation is as asked, the wrist on its line from the shoulder at the end of
    the reach. Source: Dahm and Joublin (1997), Faria et al. (2018).
    """

    joints = most_joints = 7
    family = closed_forms.SWIVEL
    _fitted = staticmethod(fit_swivel)

    @property
    def free(self) -> str:
        """What the parameter of `solve` is."""
        return "swivel angle"

    def swivel_angle(self, positions: ArrayLike) -> float:
        """Swivel angle of some positions [rad], in [-pi, pi]."""
        q = self._vector(positions, "positions")
        return float(closed_forms.swivel_at.call(self._arm.address, q))


class PlanarSolver(ChainSolver):
    """Three hinges with parallel axes: hip, knee and ankle of a leg that moves in a plane. Up to two solutions.

    What a target asks beyond the plane is out of reach: its position is projected on the plane, and its orientation
    replaced by the nearest turn about the axes. Where the leg is too short it is stretched towards the ankle's place,
    with the foot as asked.
    """

    joints = most_joints = 3
    family = closed_forms.PLANAR_CHAIN
    _fitted = staticmethod(fit_planar)


CHAIN_SOLVERS: tuple[type[ChainSolver], ...] = (SwivelSolver, SphericalWristSolver, ParallelAxesSolver, PlanarSolver)


def chain_solver(chain: HingeChain, tolerance: float = FIT_TOLERANCE) -> ChainSolver:
    """The closed form that a chain has.

    Raises:
        ModelError: there is none among those here; the message gives each one's reason.
    """
    reasons = []
    for kind in CHAIN_SOLVERS:
        try:
            return kind(chain, tolerance)
        except ModelError as error:
            reasons.append(str(error))
    raise ModelError(f"no closed form for {chain.name} of {len(chain)} joints:\n  " + "\n  ".join(reasons))
