"""Positions to begin at, spread over what a skeleton's joints can do."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from scipy.stats import qmc

from kido.ik.coupling import coupling_of
from kido.ik.model import links_of, tree_of
from kido.joints import JointKind
from kido.joints.kinds import PRISMATIC
from kido.skeleton.joints.coordinates import CoordinateKind

if TYPE_CHECKING:
    from kido.skeleton import Skeleton
    from kido.skeleton.joints.joint import Joint

Array = NDArray[np.float64]
_WHOLE_JOINTS = (JointKind.BALL, JointKind.FREE)


def angles_of(joint: Joint) -> tuple[bool, ...]:
    """Of each coordinate of a joint, whether it is an angle that brings the joint back after a full turn."""
    return tuple(joint.coordinate_kind(k) is CoordinateKind.ANGLE for k in range(joint.num_dofs))


def are_angles(skeleton: Skeleton) -> NDArray[np.bool_]:
    """Of each coordinate (dofs,), whether it is an angle that brings its joint back after a full turn."""
    return np.concatenate(
        [np.zeros(0, bool), *(np.array(angles_of(b.parent_joint), bool) for b in links_of(skeleton).top)]
    )


def reach_of(skeleton: Skeleton) -> float:
    """A length that tells how large a skeleton is [m]: the sum of distances of joints along its longest path."""
    tree = tree_of(skeleton)
    lengths = np.linalg.norm(tree.position_pj, axis=1) + np.linalg.norm(tree.position_jb, axis=1)
    slides = np.isin(tree.kind, [PRISMATIC]) & (tree.first_dof[1:] > tree.first_dof[:-1])
    for i in np.flatnonzero(slides):
        span = tree.upper[tree.first_dof[i]] - tree.lower[tree.first_dof[i]]
        lengths[i] += span if np.isfinite(span) else 0.0
    total = np.zeros(len(lengths))
    for i, parent in enumerate(tree.parent):
        total[i] = lengths[i] + (total[parent] if parent >= 0 else 0.0)
    return float(total.max(initial=0.0)) or 1.0


@lru_cache(16)
def _even(columns: int, number: int, seed: int) -> Array:
    """The first points (number, columns) of a scrambled Sobol sequence in the unit cube (kept: not to be written)."""
    sequence = qmc.Sobol(columns, scramble=True, rng=np.random.default_rng(seed))
    return sequence.random_base2(max(0, int(np.ceil(np.log2(number)))))[:number]


def sampled_positions(skeleton: Skeleton, dofs: NDArray[np.integer], number: int, seed: int) -> Array:
    """Positions (number, dofs) of which the active coordinates are spread evenly over their limits, the rest zero.

    Angles without limits take a full turn, rotations of ball and free joints without limits are uniform, lengths
    without limits go as far as the skeleton reaches. A scrambled Sobol sequence: a longer table begins like a shorter.
    """
    tree = tree_of(skeleton)
    lower, upper = coupling_of(skeleton).limits(tree.lower, tree.upper, dofs)
    turns = are_angles(skeleton)
    is_angle = turns[dofs]
    reach = np.where(is_angle, np.pi, reach_of(skeleton))
    for k, dof in enumerate(dofs):
        i = tree.body_of_dof[dof]
        if tree.kind[i] in _WHOLE_JOINTS and dof < tree.first_dof[i] + 3:
            reach[k] = np.pi
    wide = is_angle & (upper - lower > 2.0 * np.pi)
    lower[wide], upper[wide] = np.maximum(lower[wide], -np.pi), np.minimum(upper[wide], np.pi)
    none, below, above = np.isinf(lower) & np.isinf(upper), np.isinf(upper), np.isinf(lower)
    lower, upper = (
        np.where(none, -reach, np.where(above, upper - 2.0 * reach, lower)),
        np.where(none, reach, np.where(below, lower + 2.0 * reach, upper)),
    )
    result = np.zeros((number, len(tree.body_of_dof)))
    if number == 0 or len(dofs) == 0:
        return result
    result[:, dofs] = lower + _even(len(dofs), number, seed) * (upper - lower)
    for i in sorted(set(tree.body_of_dof[dofs].tolist())):  # rotations: uniform, where nothing limits them
        first = int(tree.first_dof[i])
        own = np.arange(first, first + 3)
        if tree.kind[i] in _WHOLE_JOINTS and np.isin(own, dofs).all():
            if np.isinf(tree.lower[own]).all() and np.isinf(tree.upper[own]).all():
                rng = np.random.default_rng([seed, i])
                result[:, own] = Rotation.random(number, rng=rng).as_rotvec()
    return result
