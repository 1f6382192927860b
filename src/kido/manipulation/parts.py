"""Parts of a robot: arms, hands, heads, torsos, legs and bases, each with its kinematics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido import quantities
from kido.attributes import dataclass
from kido.errors import ModelError, StateError
from kido.ik import IkResult, IkSolver
from kido.ik.coupling import coupling_of
from kido.ik.model import carrier_of
from kido.manipulation.manipulability import Manipulability, chosen_rows
from kido.math.transform import as_flag, as_positive, numbers_or_nan
from kido.reprs import brief
from kido.skeleton import BodyNode, Group, Skeleton
from kido.skeleton.groups.group import vector_of
from kido.skeleton.joints.coordinates import CoordinateKind
from kido.skeleton.nodes.node import JacobianNode

if TYPE_CHECKING:
    from kido.planning import CollisionChecker

Array = NDArray[np.float64]

_ANGLES = (CoordinateKind.ANGLE, CoordinateKind.ROTATION)
KINDS = ("arm", "hand", "head", "torso", "leg", "base", "group")


@dataclass(frozen=True, eq=False)
class Reach:
    """How far a part's tip comes from where the part begins.

    Attributes:
        bound: no positions within limits lead farther [m]: the lengths between its joints, added up; infinite with
            joints of users' own.
        farthest, nearest: of the sampled positions [m].
        points: (samples, 3) of the tip, world axes [m].
    """

    bound: float
    farthest: float
    nearest: float
    points: Array

    __repr__ = brief


class Part(Group):
    """A part of a robot with a tip: a `Group` of its bodies, joints and coordinates.

    Positions are of its coordinates alone, in its order (`dofs`); what is not given is as the robot holds it.

    Args:
        name: of the part.
        kind: one of "arm", "hand", "head", "torso", "leg", "base", "group".
        bodies: its bodies, of one skeleton.
        tip: the body or node that it moves; None: it has none (a hand of several fingers).

    Raises:
        ModelError: another kind, no bodies, bodies of several skeletons, or a tip that is not of the same.
    """

    def __init__(self, name: str, kind: str, bodies: Iterable[BodyNode], tip: JacobianNode | None = None):
        if kind not in KINDS:
            raise ModelError(f"part {name!r}: kind: expected one of {', '.join(KINDS)}, got {kind!r}")
        super().__init__(bodies, name=name)
        homes = {body.skeleton for body in self.bodies}
        if len(homes) != 1:
            raise ModelError(f"part {name!r}: expected bodies of one skeleton, got those of {len(homes)}")
        if tip is not None and (not isinstance(tip, JacobianNode) or carrier_of(tip)[0].skeleton not in homes):
            raise ModelError(f"part {name!r}: tip: expected a body of the same skeleton, or a node on one, got {tip!r}")
        self._kind = kind
        self._tip = tip
        self._solver: IkSolver | None = None
        self._avoids: tuple[CollisionChecker, IkSolver] | None = None

    @property
    def kind(self) -> str:
        """Arm, hand, head, torso, leg, base or group."""
        return self._kind

    @property
    def tip(self) -> JacobianNode:
        """The body or node that it moves.

        Raises:
            ModelError: it has none.
        """
        if self._tip is None:
            raise ModelError(f"part {self.name!r} ({self.kind}) has no tip; make one: Part(name, kind, bodies, tip)")
        return self._tip

    @property
    def has_tip(self) -> bool:
        """Whether there is a body or node that it moves."""
        return self._tip is not None

    @property
    def base(self) -> BodyNode | None:
        """The body that its first body hangs on; None: the world."""
        return self.bodies[0].parent

    @property
    def skeleton(self) -> Skeleton:
        """The robot."""
        return self.bodies[0].skeleton

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_solver": None, "_avoids": None}

    # Kinematics ------------------------------------------------------------------------------------------------

    def whole_positions(self, positions: ArrayLike | None = None) -> Array:
        """Positions of the whole robot: as it is, with those of the part as given."""
        q = np.array(self.skeleton.positions)
        if positions is not None:
            q[self.shares[0].dofs] = vector_of(self, positions, "positions")
        return q

    def check_limits(self, positions: ArrayLike, tolerance: float = 0.0) -> Array:
        """Positions as an array, if they are within limits.

        Raises:
            StateError: one is not; the message names it with its limits.
        """
        q = vector_of(self, positions, "positions")
        low, high = self.position_lower_limit, self.position_upper_limit
        outside = (q < low - tolerance) | (q > high + tolerance)
        if outside.any():
            k = int(np.argmax(outside))
            raise StateError(
                f"part {self.name!r}: dof {self.dofs[k].name!r}: position {q[k]:g} is outside of its limits "
                f"{low[k]:g} to {high[k]:g}"
            )
        return q

    def forward_kinematics(self, positions: ArrayLike | None = None) -> Array:
        """Pose of the tip in the world, 4x4, at given positions; the robot stays as it is."""
        return np.array(quantities.world_transform(self.skeleton, self.whole_positions(positions), self.tip))

    @property
    def solver(self) -> IkSolver:
        """Finds positions of the part for poses of its tip; made once, with the settings that it has by default."""
        if self._solver is None or self._solver.skeleton is not self.skeleton:
            self._solver = IkSolver(self.tip, self._leads())
        return self._solver

    def inverse_kinematics(
        self,
        target: Any,
        start: ArrayLike | None = None,
        *,
        apply: bool = False,
        solver: IkSolver | None = None,
        avoid: CollisionChecker | None = None,
    ) -> IkResult:
        """Positions at which the tip has a pose, within limits.

        Args:
            target: 4x4 in the world, or what stands for it.
            start: positions of the part to begin at; None: as they are.
            apply: move the part there if the pose is met.
            solver: another one than `solver`, of this robot.
            avoid: a checker of collisions, such as `CollisionScene.checker(part)`, that is to find the positions free;
                instead of a solver.

        Raises:
            ModelError: a checker of another robot, or a solver and a checker.

        Returns:
            The result, false where the pose is out of reach; its positions are the whole robot's, `of` picks the
            part's.
        """
        if avoid is not None:
            if solver is not None:
                raise ModelError(f"part {self.name!r}: expected a solver or what to avoid, and not both")
            solver = self._avoiding(avoid)
        found = (solver or self.solver).solve(target, self.whole_positions(start))
        if as_flag(apply, f"part {self.name!r}: apply") and found:
            self.positions = self.of(found.positions)
        return found

    def _leads(self) -> NDArray[np.int64]:
        """Its coordinates that move by themselves: that mimic no others, which follow, and are not LOCKED."""
        own, coupling = self.shares[0].dofs, coupling_of(self.skeleton)
        return np.array(own)[(coupling.master[own] == own) & ~coupling.locked[own]]

    def _avoiding(self, checker: CollisionChecker) -> IkSolver:
        """A solver that avoids what a checker refuses."""
        if self._avoids is None or self._avoids[0] is not checker:
            self._avoids = checker, IkSolver(self.tip, self._leads(), avoid=checker)
        return self._avoids[1]

    def follow(self, poses: ArrayLike, start: ArrayLike | None = None, jump: float = 0.5) -> Array:
        """Positions (samples, n) of the part at which its tip goes through poses, each next to those before.

        Args:
            poses: (samples, 4, 4) in the world.
            start: positions of the part to begin at; None: as they are.
            jump: most that a coordinate moves between two poses [rad or m].

        Raises:
            ModelError: the part has no tip or no coordinates, or no poses of that shape.
            StateError: a pose is not met, or only by a jump.
        """
        path, most = numbers_or_nan(poses), as_positive(jump, f"part {self.name!r}: follow: jump")
        if path.ndim != 3 or path.shape[1:] != (4, 4):
            raise ModelError(f"part {self.name!r}: follow: poses: expected (samples, 4, 4), got shape {path.shape}")
        if not self.num_dofs:
            raise ModelError(f"part {self.name!r}: follow: it has no coordinates that could move its tip")
        solver = IkSolver(self.tip, self._leads(), attempts=1)
        q, found = self.of(self.whole_positions(start)), []
        for k, pose in enumerate(path):
            result = self.inverse_kinematics(pose, q, solver=solver)
            before, q = q, self.of(result.positions)
            if not result or np.abs(q - before).max() > most:
                why = "it is not met" if not result else f"a coordinate would jump by {np.abs(q - before).max():.2g}"
                raise StateError(f"part {self.name!r}: follow: pose {k} of {len(path)}: {why}")
            found.append(q)
        return np.array(found).reshape(-1, self.num_dofs)

    def of(self, positions: ArrayLike) -> Array:
        """The part's share (..., n) of positions (..., dofs) of the whole robot."""
        return np.asarray(positions, np.float64)[..., self.shares[0].dofs]

    def tip_jacobian(self, positions: ArrayLike | None = None) -> Array:
        """J (6, n): [angular; linear] velocity of the tip by velocities of the part, world axes."""
        J = quantities.jacobian(self.skeleton, self.whole_positions(positions), self.tip)
        return np.array(J)[:, self.shares[0].dofs]

    def jacobian_derivatives(self, positions: ArrayLike | None = None) -> Array:
        """dJ/dq_i (n, 6, n) of `tip_jacobian`, exact, for every type of joint."""
        q, dofs, n = self.whole_positions(positions), self.shares[0].dofs, self.skeleton.num_dofs
        unit, found = np.zeros(n), []
        for k in dofs:
            unit[k] = 1.0
            rate = quantities.jacobian_classic_derivative(self.skeleton, q, unit, self.tip)
            found.append(np.array(rate)[:, dofs])
            unit[k] = 0.0
        return np.array(found).reshape(len(dofs), 6, len(dofs))

    def manipulability(
        self,
        positions: ArrayLike | None = None,
        rows: str | Sequence[int] = "all",
        length: float = 1.0,
        rates: bool = True,
    ) -> Manipulability:
        """How well the tip can be moved at given positions.

        Args:
            positions: of the part.
            rows: of the Jacobian: "all", "angular", "linear", or numbers (0 to 2 turns about x, y, z; 3 to 5 shifts).
            length: by which rows for turning are multiplied [m].
            rates: whether its gradient will be asked for.
        """
        chosen = chosen_rows(rows)
        scale = np.where(np.array(chosen) < 3, as_positive(length, f"part {self.name!r}: length", "m"), 1.0)[:, None]
        q, dofs = self.whole_positions(positions), self.shares[0].dofs
        M = np.array(quantities.mass_matrix(self.skeleton, q))[np.ix_(dofs, dofs)]
        gravity = np.array(quantities.gravity_forces(self.skeleton, q))[dofs]
        dJ = self.jacobian_derivatives(positions)[:, chosen] * scale if rates else np.zeros((0, len(chosen), len(dofs)))
        J = self.tip_jacobian(positions)[chosen] * scale
        return Manipulability(J, dJ, M, np.maximum(self.force_limit - np.abs(gravity), 0.0))

    def reach(self, samples: int = 1000, seed: int = 0) -> Reach:
        """How far the tip comes from the part's first joint, by lengths and by samples within limits.

        Angles without limits are sampled over a turn, with one limit over a turn from there; other coordinates without
        limits are refused.

        Raises:
            ModelError: a coordinate that is no angle has no limits.
        """
        for name, value, least in (("samples", samples, 1), ("seed", seed, 0)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ModelError(f"part {self.name!r}: reach: {name}: expected a count from {least} on, got {value!r}")
        rng, low, high = np.random.default_rng(seed), *self._sampled_limits()
        start = self.bodies[0].parent_joint
        X = np.eye(4) if self.base is None else self.base.world_transform
        origin = (X @ start.transform_from_parent)[:3, 3]
        q = np.repeat(self.whole_positions()[None], samples, axis=0)
        q[:, self.shares[0].dofs] = rng.uniform(low, high, (samples, self.num_dofs))
        coupling_of(self.skeleton).spread(q, self._leads())
        points = np.array([quantities.world_transform(self.skeleton, row, self.tip)[:3, 3] for row in q])
        distances = np.linalg.norm(points - origin, axis=1)
        return Reach(self._bound(low, high), float(distances.max()), float(distances.min()), points)

    def _sampled_limits(self) -> tuple[Array, Array]:
        low, high = np.array(self.position_lower_limit), np.array(self.position_upper_limit)
        robot, leads = self.skeleton, self._leads()
        at = np.isin(self.shares[0].dofs, leads)  # limits of these keep also what mimics them within limits
        low[at], high[at] = coupling_of(robot).limits(robot.position_lower_limits, robot.position_upper_limits, leads)
        for k, dof in enumerate(self.dofs):
            if np.isfinite(low[k]) and np.isfinite(high[k]):
                continue
            if dof.joint.coordinate_kind(dof.index_in_joint) in _ANGLES:  # a turn from the limit on
                if not np.isfinite(low[k]):
                    low[k] = high[k] - 2.0 * np.pi if np.isfinite(high[k]) else -np.pi
                high[k] = min(high[k], low[k] + 2.0 * np.pi)
            else:
                raise ModelError(f"part {self.name!r}: reach: dof {dof.name!r} has no limits")
        return low, high

    def _bound(self, low: Array, high: Array) -> float:
        """Sum of the lengths between joints from the first to the tip, those that slide at their longest."""
        length, carrier = 0.0, carrier_of(self.tip)[0]
        path: list[BodyNode] = []
        body: BodyNode | None = carrier
        while body is not None and body in self.bodies:
            path.append(body)
            body = body.parent
        end = np.linalg.inv(carrier.world_transform) @ self.tip.world_transform
        place = {dof: k for k, dof in enumerate(self.dofs)}
        for body in path:  # from a joint's frame on the body to what comes next
            joint = body.parent_joint
            length += float(np.linalg.norm((np.linalg.inv(joint.transform_from_child) @ end)[:3, 3]))
            for dof in joint.dofs:
                kind = joint.coordinate_kind(dof.index_in_joint)
                if kind == CoordinateKind.OTHER:
                    return np.inf
                if kind not in _ANGLES:
                    length += float(max(abs(low[place[dof]]), abs(high[place[dof]])))
            end = np.array(joint.transform_from_parent)
        return length
