"""Coordinates of a skeleton that an inverse kinematics moves: which ones, in which chart, and how they are set."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import read_only_copy, settable
from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.ik.coupling import coupling_of
from kido.ik.model import remembered, tree_of
from kido.joints.kinds import BALL, FREE
from kido.math.lie import exp_rotation
from kido.math.rotation_rates import right_jacobian
from kido.math.transform import as_vector
from kido.skeleton import DegreeOfFreedom, Group
from kido.skeleton.state.subsets import indices_of

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, DegreeOfFreedom, Skeleton


Array = NDArray[np.float64]
_POSITIONS = settable("positions")

_KEY = "joints moved in their charts"


CHAIN_DOFS, BODY_DOFS, ALL_DOFS = "chain", "body", "all"
POSED = "posed for inverse kinematics"
F = TypeVar("F", bound=Callable[..., Any])


def posing(method: F) -> F:
    """A method that has its skeleton in other poses for a while: other threads that would do so are refused."""

    @wraps(method)
    def posed(self: Any, *args: Any, **options: Any) -> Any:
        with self.skeleton.turn.used(POSED):
            return method(self, *args, **options)

    return posed  # type: ignore[return-value]


def charted_joints(skeleton: Skeleton) -> list[slice]:
    """Coordinates of each ball or free joint that has a limit on one of its positions."""
    return remembered(skeleton, _KEY, lambda: list(_charted(tree_of(skeleton))))


def _charted(tree: Any) -> Iterator[slice]:
    for i in np.flatnonzero(np.isin(tree.kind, (BALL, FREE))):
        own = slice(int(tree.first_dof[i]), int(tree.first_dof[i + 1]))
        if np.isfinite(tree.lower[own]).any() or np.isfinite(tree.upper[own]).any():
            yield own


def chart_rates(q: Array) -> Array:
    """Velocities per rate of positions (n, n): w = J_r(r) r', and of free joints v = R^T p'."""
    M = np.zeros((len(q), len(q)))
    M[:3, :3] = right_jacobian(q[:3])
    if len(q) > 3:
        M[3:, 3:] = exp_rotation(q[:3]).T
    return M


class Coordinates(FixedAttributes):
    """Active coordinates of a skeleton: n of its dofs, independent and not LOCKED."""

    may_move = False  # whether the skeleton's positions need not be restored: while it is solved

    @property
    @abstractmethod
    def skeleton(self) -> Skeleton:
        """The skeleton that is moved."""

    @property
    @abstractmethod
    def dof_indices(self) -> NDArray[np.int64]:
        """Places (n,) of the active coordinates in the skeleton's arrays."""

    @property
    def dofs(self) -> tuple[DegreeOfFreedom, ...]:
        """The active coordinates."""
        every = self.skeleton.dofs
        return tuple(every[k] for k in self.dof_indices)

    @property
    def positions(self) -> Array:
        """Present positions (n,) of the active coordinates [m, rad]; set to move the skeleton."""
        return read_only_copy(_POSITIONS, self.skeleton.positions[self.dof_indices].view(np.ndarray))

    @positions.setter
    def positions(self, value: ArrayLike) -> None:
        self.skeleton.positions = self.whole_positions(value)

    def whole_positions(self, positions: ArrayLike) -> Array:
        """Positions of all coordinates, those that are not active as they are."""
        indices = self.dof_indices
        x = as_vector(positions, f"{self!r}: positions", len(indices))
        q = np.array(self.skeleton.positions)
        q[indices] = x
        return coupling_of(self.skeleton).spread(q, indices)

    def retract(self, positions: ArrayLike, change: ArrayLike) -> Array:
        """Positions (n,) after a change (n,) in velocity coordinates: ball and free joints move on their manifold.

        Those with limits on their positions are moved in these, by sums; so solvers know how far it is to a limit.
        """
        indices, skeleton = self.dof_indices, self.skeleton
        u, q = np.zeros(skeleton.num_dofs), self.whole_positions(positions)
        u[indices] = as_vector(change, f"{self!r}: change", len(indices))
        for joint in charted_joints(skeleton):
            q[joint], u[joint] = q[joint] + u[joint], 0.0
        return skeleton.integrate_positions(q, u)[indices]

    def columns(self, jacobian: ArrayLike) -> Array:
        """Derivatives (..., n) by changes of the active coordinates, from those (..., dofs) of the whole skeleton.

        What mimics an active coordinate moves with it, and columns of ball and free joints with limits are rates of
        their positions. Use it where an error method or an objective takes a Jacobian from the skeleton.
        """
        skeleton = self.skeleton
        J = np.asarray(jacobian, dtype=float)
        charts = charted_joints(skeleton)
        if charts:
            J = J.copy()
            q = skeleton.positions
            for joint in charts:
                J[..., joint] = J[..., joint] @ chart_rates(q[joint])
        return coupling_of(skeleton).columns(J, self.dof_indices)

    @contextmanager
    def posed(self, positions: ArrayLike) -> Iterator[None]:
        """For a while, the skeleton has given positions (n,) of the active coordinates."""
        with nullcontext() if self.may_move else self.restoring():
            self.skeleton.positions = self.whole_positions(positions)
            yield

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """For a while, the skeleton may have any positions; then it has those from before.

        Raises:
            ConcurrencyError: another thread moves the skeleton.
        """
        skeleton = self.skeleton
        with skeleton.turn.used(POSED):
            before = skeleton.positions
            try:
                yield
            finally:
                skeleton.positions = before


def chosen_dofs(choice: Any, body: BodyNode) -> Any:
    """A choice as it is kept: one of the names, or a list of coordinates.

    Raises:
        ModelError: no such choice, coordinates of another skeleton, or one twice.
        NameLookupError: there is no such coordinate.
        StateError: one that was listed mimics another, or is LOCKED.
    """
    if isinstance(choice, str) and choice in (CHAIN_DOFS, BODY_DOFS, ALL_DOFS):
        return choice
    by_group = isinstance(choice, Group)
    if isinstance(choice, Group):
        choice = choice.dofs
    if isinstance(choice, str) or not isinstance(choice, Iterable):
        raise ModelError(
            f"inverse kinematics of {body.name!r}: dofs: expected 'chain', 'body', 'all', a group, or a list of "
            f"coordinates, got {choice!r}"
        )
    skeleton = body.skeleton
    indices = indices_of(skeleton, list(choice))
    coupling = coupling_of(skeleton)
    indices = coupling.independent(indices) if by_group else coupling.checked(indices)
    found = [skeleton.dofs[k] for k in indices]
    if len(set(indices.tolist())) != len(found):
        raise ModelError(f"inverse kinematics of {body.name!r}: dofs: a coordinate is listed twice")
    return found


def dofs_of(choice: Any, body: BodyNode) -> NDArray[np.int64]:
    """Places in the skeleton's arrays of the coordinates of a choice, by what the skeleton is now.

    Raises:
        ModelError: a coordinate that was listed is gone.
        StateError: it mimics another now, or is LOCKED.
    """
    own = body.skeleton.dofs
    place = {dof: k for k, dof in enumerate(own)}
    coupling = coupling_of(body.skeleton)
    if isinstance(choice, str):
        if choice == ALL_DOFS:
            return coupling.every()
        found = body.dependent_dofs if choice == BODY_DOFS else _chain(body)
        return coupling.independent([place[dof] for dof in found])
    for dof in choice:
        if dof not in place:
            raise ModelError(
                f"inverse kinematics of {body.name!r}: {dof!r} is no coordinate of skeleton {body.skeleton.name!r} any "
                "more; set dofs anew"
            )
    return coupling.checked(np.array([place[dof] for dof in choice], np.int64))


def _chain(body: BodyNode) -> list[DegreeOfFreedom]:
    """Coordinates of the joints above a body up to the first where something else moves on what they move.

    Bodies that are welded together count as one, and what hangs on the one of the body itself does not count.
    """
    joints, lowest = [], _welded(body)[0]
    while lowest is not None:
        joints.append(lowest.parent_joint)
        above = lowest.parent
        if above is None:
            break
        lowest, branches = _welded(above)
        if branches > 1:
            break
    return [dof for joint in joints[::-1] for dof in joint.dofs]


def _welded(body: BodyNode) -> tuple[BodyNode | None, int]:
    """Of the bodies welded to a body, itself among them: the one whose joint moves them all, and how many hang on them.

    The first is None if they are welded to the world.
    """
    top: BodyNode = body
    while not top.parent_joint.num_dofs and top.parent is not None:
        top = top.parent
    hanging, inside = 0, [top]
    while inside:
        for child in inside.pop().children:
            if child.parent_joint.has_modes:
                continue
            if child.parent_joint.num_dofs:
                hanging += 1
            else:
                inside.append(child)
    return (top if top.parent_joint.num_dofs else None), hanging
