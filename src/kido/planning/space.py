"""Spaces of planned coordinates: lines, circles (hinges without limits) and rotations (ball and free joints).

The way from one state to another is what leads there along the shortest line: differences, those of circles the shorter
way round, and of rotations log(exp(a)^-1 exp(b)), in body axes. Its length is the distance, and a share of it leads to
the states between. Rotations are vectors of three coordinates [rad].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from kido.errors import ModelError
from kido.ik.coupling import coupling_of
from kido.jit import kernel
from kido.joints import JointKind
from kido.math.so3 import (
    advance_rotation_vector,
    quaternion_product,
    quaternion_to_rotation_vector,
    rotation_vector_to_quaternion,
)

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
LINE, CIRCLE, ROTATION, WITHIN = range(4)  # kinds of coordinates; WITHIN: second or third of a rotation
TURN = 2.0 * math.pi
ROTATING = (JointKind.BALL, JointKind.FREE)
PLANNED = (JointKind.REVOLUTE, JointKind.PRISMATIC, *ROTATING)


@kernel
def is_flat(kind):
    """Whether all coordinates are lines."""
    total = 0
    for k in range(kind.shape[0]):
        total += kind[k]
    return total == 0


@kernel
def way_between(kind, a, b, way):
    """The way from state a to state b."""
    for k in range(kind.shape[0]):
        way[k] = b[k] - a[k]
    if is_flat(kind):
        return
    for k in range(kind.shape[0]):
        if kind[k] == CIRCLE:
            way[k] -= TURN * math.floor(way[k] / TURN + 0.5)
        elif kind[k] == ROTATION:
            a0, a1, a2, a3 = rotation_vector_to_quaternion(a[k], a[k + 1], a[k + 2])
            b0, b1, b2, b3 = rotation_vector_to_quaternion(b[k], b[k + 1], b[k + 2])
            w, x, y, z = quaternion_product(a0, -a1, -a2, -a3, b0, b1, b2, b3)
            way[k], way[k + 1], way[k + 2] = quaternion_to_rotation_vector(w, x, y, z)


@kernel
def go(kind, a, way, share, out):
    """The state at a share of the way from state a."""
    for k in range(kind.shape[0]):
        out[k] = a[k] + share * way[k]
    if is_flat(kind):
        return
    for k in range(kind.shape[0]):
        if kind[k] == ROTATION:
            out[k], out[k + 1], out[k + 2] = advance_rotation_vector(
                a[k], a[k + 1], a[k + 2], share * way[k], share * way[k + 1], share * way[k + 2]
            )


@kernel
def length_of(way):
    total = 0.0
    for k in range(way.shape[0]):
        total += way[k] * way[k]
    return math.sqrt(total)


class Space:
    """The space of some coordinates of a skeleton.

    Args:
        skeleton: the model.
        columns: planned coordinates.

    Attributes:
        kind: `LINE` ... `WITHIN` of each (n,).
        places: for each rotation, where the place of its free joint is among them; None: of a ball joint, or held.

    Raises:
        ModelError: coordinates of joints that are not planned with, a part of a rotation, or one with limits.
    """

    def __init__(self, skeleton: Skeleton, columns: NDArray[np.int64]):
        self.kind, self.places = np.zeros(len(columns), np.int64), list[slice | None]()
        lower, upper = (np.array(v)[columns] for v in (skeleton.position_lower_limits, skeleton.position_upper_limits))
        endless = ~np.isfinite(lower) & ~np.isfinite(upper)
        coupling = coupling_of(skeleton)
        leads = np.isin(columns, coupling.master[coupling.mimics_of(columns)])  # a turn of these turns others by more
        dofs = [skeleton.dofs[int(k)] for k in columns]
        for at, dof in enumerate(dofs):
            joint, names = dof.joint, [other.name for other in dof.joint.dofs]
            if joint.kind not in PLANNED:
                kinds, found = (", ".join(kind.name.lower() for kind in some) for some in (PLANNED, [joint.kind]))
                raise ModelError(
                    f"planning: coordinate {dof.name!r} is of a {found} joint; expected one of these: {kinds} (give "
                    "the coordinates to plan as `dofs`)"
                )
            if joint.kind == JointKind.REVOLUTE and endless[at] and not leads[at]:
                self.kind[at] = CIRCLE
            if joint.kind in ROTATING and dof.name in names[:3] and self.kind[at] != WITHIN:
                own = slice(at, at + 3)
                if [other.name for other in dofs[own]] != names[:3]:
                    raise ModelError(f"planning: expected {names[:3]} one after the other, or none of them")
                if not endless[own].all():
                    raise ModelError(f"planning: {names[:3]} have limits; rotations are planned without")
                self.kind[own] = ROTATION, WITHIN, WITHIN
                whole = [other.name for other in dofs[at : at + 6]] == names and len(names) == 6
                self.places.append(slice(at + 3, at + 6) if whole else None)

    @property
    def is_flat(self) -> bool:
        """Whether all coordinates are lines."""
        return not self.kind.any()

    @property
    def rotations(self) -> list[slice]:
        """Where the rotation vectors are."""
        return [slice(k, k + 3) for k in np.flatnonzero(self.kind == ROTATION).tolist()]

    def ways(self, starts: ArrayLike, ends: ArrayLike) -> Array:
        """Ways from states (..., n) to others."""
        A, B = np.broadcast_arrays(np.asarray(starts, float), np.asarray(ends, float))
        out = B - A
        round_ = self.kind == CIRCLE
        out[..., round_] -= TURN * np.floor(out[..., round_] / TURN + 0.5)
        for at in self.rotations:
            a, b = (Rotation.from_rotvec(np.array(X[..., at]).reshape(-1, 3)) for X in (A, B))
            out[..., at] = (a.inv() * b).as_rotvec().reshape(out[..., at].shape)
        return out

    def distances(self, starts: ArrayLike, ends: ArrayLike) -> Array:
        """Lengths of ways [rad or m]."""
        return np.linalg.norm(self.ways(starts, ends), axis=-1)

    def at(self, starts: ArrayLike, ways: Array, shares: ArrayLike = 1.0) -> Array:
        """States (..., n) at shares of ways."""
        steps = np.asarray(shares, float)[..., None] * ways
        A = np.broadcast_to(np.asarray(starts, float), steps.shape)
        out = A + steps
        for at in self.rotations:
            a, d = (Rotation.from_rotvec(np.array(X[..., at]).reshape(-1, 3)) for X in (A, steps))
            out[..., at] = (a * d).as_rotvec().reshape(out[..., at].shape)
        return out

    def unrolled(self, states: Array) -> Array:
        """The states, whole turns added so that circles are gone round without a jump."""
        out, round_ = states.copy(), self.kind == CIRCLE
        out[1:, round_] = states[0, round_] + np.cumsum(self.ways(states[:-1], states[1:])[:, round_], axis=0)
        return out

    def spread(self, points: Array) -> Array:
        """Points of which rotations come from the unit cube: spread evenly over all rotations.

        Source: Shoemake, "Uniform random rotations", Graphics Gems III, 1992.
        """
        out = points.copy()
        for at in self.rotations:
            u, v, w = points[:, at].T
            a, b = np.sqrt(1.0 - u), np.sqrt(u)
            quaternion = [a * np.sin(TURN * v), a * np.cos(TURN * v), b * np.sin(TURN * w), b * np.cos(TURN * w)]
            out[:, at] = Rotation.from_quat(np.column_stack(quaternion)).as_rotvec()
        return out
