"""Velocities and accelerations between the poses of a motion, on the joints' manifolds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from kido.ik.motion.constraint import Poses
from kido.ik.motion.rows import Indices, Part
from kido.math.lie import exp_rotation, log_rotation
from kido.math.rotation_rates import inverse_left_jacobian
from kido.skeleton import BallJoint, FreeJoint

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Piece:
    """Coordinates whose differences are computed together: all of plain joints, or those of one ball or free joint.

    Attributes:
        dofs: places in the skeleton's arrays.
        rotation: how many of them, at the front, are a rotation vector: 0 or 3.
        columns: places among the variables of a frame, of those that are variables.
        chosen: which of `dofs` these are.
    """

    dofs: Indices
    rotation: int
    columns: Indices
    chosen: Indices

    def differences(self, q: Array) -> Array:
        """From each frame to the next (frames - 1, c): of plain joints the difference; of ball joints
        log(R_k^T R_k+1), the turn in the body's axes; of free joints this and the way of the origin in fixed axes."""
        d = np.diff(q[:, self.dofs], axis=0)
        if self.rotation:
            R = exp_rotation(q[:, self.dofs[:3]])
            d[:, :3] = log_rotation(R[:-1].transpose(0, 2, 1) @ R[1:])
        return d

    def derivatives(self, q: Array, d: Array) -> tuple[Array, Array]:
        """Of the differences, (frames - 1, c, columns), by displacements of the first frame and of the second."""
        c = len(self.dofs)
        first = np.tile(-np.eye(c), (len(d), 1, 1))
        second = -first
        if self.rotation:
            R = exp_rotation(q[:, self.dofs[:3]])
            first[:, :3, :3] = -inverse_left_jacobian(d[:, :3])
            second[:, :3, :3] = inverse_left_jacobian(-d[:, :3])
            if c > 3:
                first[:, 3:, 3:], second[:, 3:, 3:] = -R[:-1], R[1:]
        return first[:, :, self.chosen], second[:, :, self.chosen]


def pieces_of(skeleton: Skeleton, dofs: Indices) -> list[Piece]:
    """Coordinates of a skeleton by pieces, those without variables left out."""
    place = {int(k): column for column, k in enumerate(dofs)}
    curved, plain = [], []
    for joint in skeleton.joints:
        own = [dof.index for dof in joint.dofs]
        if isinstance(joint, BallJoint | FreeJoint):
            curved.append((own, 3))
        else:
            plain += own
    pieces = []
    for own, rotation in [(sorted(plain), 0), *curved]:
        chosen = [i for i, k in enumerate(own) if k in place]
        if chosen:
            if not rotation:
                own, chosen = [own[i] for i in chosen], list(range(len(chosen)))
            columns = [place[own[i]] for i in chosen]
            pieces.append(Piece(np.array(own), rotation, np.array(columns), np.array(chosen)))
    return pieces


class SmoothnessRows:
    """Rates of a piece between frames, times sqrt(w h): their squares add up to the integral of w rate^2.

    Args:
        piece: of which coordinates.
        scale: (c,) root of weight times time step.
        time_step: h, from frame to frame [s].
    """

    order: ClassVar[int]  # of the derivative: how many frames there are beside the first

    def __init__(self, piece: Piece, scale: Array, time_step: float) -> None:
        self.piece, self.scale, self.divisor = piece, scale, time_step**self.order
        self.constant = not piece.rotation

    def residuals(self, poses: Poses) -> Array:
        """(frames - order, c)."""
        return self.scale * np.diff(self.piece.differences(poses.positions), self.order - 1, axis=0) / self.divisor

    def parts(self, poses: Poses) -> list[Part]:
        """By a frame and the next ones."""
        q, scale = poses.positions, (self.scale / self.divisor)[:, None]
        found = self.matrices(*self.piece.derivatives(q, self.piece.differences(q)))
        return [Part(np.arange(k, len(found[0]) + k), self.piece.columns, scale * J) for k, J in enumerate(found)]

    @staticmethod
    def matrices(first: Array, second: Array) -> Sequence[Array]:
        """Derivatives by each frame, from those of differences by the first frame and by the second."""
        return first, second


class VelocityRows(SmoothnessRows):
    """sqrt(w h) v."""

    order = 1


class AccelerationRows(SmoothnessRows):
    """sqrt(w h) a, with a the change of velocity from one interval to the next."""

    order = 2

    @staticmethod
    def matrices(first: Array, second: Array) -> Sequence[Array]:
        return -first[:-1], first[1:] - second[:-1], second[1:]
