"""Where a Jacobian loses rank: boxes of positions that are proven free of it, and those where it may."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from kido.analysis.factors import Array
from kido.attributes import dataclass
from kido.batch import Batch
from kido.errors import ModelError
from kido.math.transform import as_positive, numbers_or_nan
from kido.reprs import brief
from kido.skeleton import BodyNode
from kido.skeleton.joints.types import PrismaticJoint, RevoluteJoint

_ROUNDING = 1e-12  # of a Jacobian of metres and radians


@dataclass(frozen=True)
class SingularityMap:
    """A region of positions, shared out into boxes.

    Attributes:
        regular: (boxes, 2, dofs) lower and upper corners of boxes in all of which the Jacobian is proven to have full
            rank, and its smallest singular value to be above `threshold`.
        uncertain: (boxes, 2, dofs) those that may have singular positions: all of these are in here.
        threshold: of the smallest singular value.
        complete: no box was left undivided because there were too many.
    """

    regular: Array
    uncertain: Array
    threshold: float
    complete: bool

    __repr__ = brief

    @property
    def proven(self) -> float:
        """Share of the region's volume that is proven to be regular."""
        volumes = [
            float(np.sum(np.prod(boxes[:, 1] - boxes[:, 0], axis=1))) for boxes in (self.regular, self.uncertain)
        ]
        return volumes[0] / sum(volumes)

    def __contains__(self, positions: ArrayLike) -> bool:
        """Whether positions may be singular."""
        q = np.asarray(positions, dtype=float)
        return bool(((self.uncertain[:, 0] <= q) & (q <= self.uncertain[:, 1])).all(axis=1).any())


def singularities(
    body: BodyNode,
    lower: ArrayLike,
    upper: ArrayLike,
    rows: Sequence[int] = (0, 1, 2, 3, 4, 5),
    threshold: float = 1e-3,
    smallest: float = 0.02,
    most_boxes: int = 200_000,
) -> SingularityMap:
    """Share a region out into boxes that are proven regular and small ones that may be singular.

    Within a box of half widths d, |J(q) - J(c)| <= sum_i |dJ/dq_i| d_i, and singular values move by no more (Weyl). Of
    the derivatives, those of axes are at most 1, those of the point at most the length of the chain. Boxes are halved
    along their most effective width until that proves the smallest singular value to stay above the threshold, or they
    are small. Rounding of the Jacobian is allowed for with 1e-12.

    Args:
        body: whose Jacobian it is, of its origin, [angular; linear], world axes [rad, m].
        lower, upper: corners of the region (dofs,).
        rows: of the Jacobian that count; [0, 1, 2] are its rotation.
        threshold: below which a singular value counts as zero.
        smallest: half width of boxes that are not divided further [rad, m].
        most_boxes: that are looked at.

    Raises:
        ModelError: no body, joints with several coordinates, a region of nothing, rows that are none.
    """
    skeleton = getattr(body, "skeleton", None)
    if not isinstance(body, BodyNode) or skeleton is None:
        raise ModelError(f"singularities: expected a body of a kido.Skeleton, got {body!r:.80}")
    n = skeleton.num_dofs
    chosen = list(rows) if isinstance(rows, Iterable) else []
    if not chosen or not all(row in range(6) for row in chosen):
        raise ModelError(f"singularities: rows: expected some of 0 ... 5, got {rows!r}")
    low, high = (_corner(what, v, n) for what, v in (("lower", lower), ("upper", upper)))
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ModelError(f"singularities: expected finite lower < upper, got {low.tolist()} and {high.tolist()}")
    smallest, threshold = as_positive(smallest, "smallest"), as_positive(threshold, "threshold")
    batch = Batch(skeleton)
    slopes = _slopes(body, low, high, chosen)
    boxes = np.stack([low, high])[None]
    regular: list[Array] = []
    uncertain: list[Array] = []
    looked = 0
    complete = True
    while len(boxes):
        looked += len(boxes)
        J = batch.jacobian(np.ascontiguousarray(boxes.mean(axis=1)), body.index)[:, chosen]
        sizes = np.linalg.svd(J, compute_uv=False)[:, -1]
        half = 0.5 * (boxes[:, 1] - boxes[:, 0])
        proven = sizes - half @ slopes - _ROUNDING > threshold
        small = (half <= smallest).all(axis=1)
        regular.append(boxes[proven])
        uncertain.append(boxes[~proven & small])
        boxes = boxes[~proven & ~small]
        if looked + 2 * len(boxes) > most_boxes and len(boxes):
            uncertain.append(boxes)
            complete = False
            break
        half = 0.5 * (boxes[:, 1] - boxes[:, 0])
        axis = np.argmax(np.where(half > smallest, half * np.maximum(slopes, 1e-9), -1.0), axis=1)
        k = np.arange(len(boxes))
        middle = 0.5 * (boxes[k, 0, axis] + boxes[k, 1, axis])
        first, second = boxes.copy(), boxes.copy()
        first[k, 1, axis] = second[k, 0, axis] = middle
        boxes = np.concatenate([first, second])
    return SingularityMap(np.concatenate(regular), np.concatenate(uncertain), threshold, complete)


def _corner(what: str, value: ArrayLike, n: int) -> Array:
    found = numbers_or_nan(value)
    if found.shape not in ((), (n,)):
        raise ModelError(f"singularities: {what}: expected {n} numbers or one, got {value!r}")
    return np.broadcast_to(found, n)


def _slopes(body: BodyNode, low: Array, high: Array, rows: list[int]) -> Array:
    """Bounds (dofs,) of the Frobenius norms of dJ/dq_i over the region.

    Columns are [w; w x r] of turning joints, |w x r| at most the chain's length from there on, and [0; a] of sliding
    ones. A turning joint turns all columns beyond it; each joint moves the point, and changes w x r of those before it.
    """
    chain: list[tuple[int, bool, float]] = []  # coordinate, whether it turns, length from there on; from the tip
    link: BodyNode | None = body
    length = 0.0
    while link is not None:
        joint = link.parent_joint
        length += float(np.linalg.norm(joint.transform_from_child[:3, 3]))
        if joint.num_dofs:
            if not isinstance(joint, RevoluteJoint | PrismaticJoint):
                raise ModelError(f"singularities: expected joints that turn or slide, got {joint.name!r}")
            i = joint.dofs[0].index
            chain.append((i, isinstance(joint, RevoluteJoint), length + _ROUNDING))
            if isinstance(joint, PrismaticJoint):
                length += float(max(abs(low[i]), abs(high[i])))
        length += float(np.linalg.norm(joint.transform_from_parent[:3, 3]))
        link = link.parent
    chain.reverse()
    turning, linear = any(r < 3 for r in rows), any(r > 2 for r in rows)
    slopes = np.zeros(len(low))
    for a, (i, i_turns, _) in enumerate(chain):
        total = 0.0
        for b, (_, k_turns, _) in enumerate(chain):
            beyond = chain[max(a, b)][2]
            if turning and i_turns and k_turns and b > a:
                total += 1.0
            if linear and i_turns and k_turns:
                total += beyond**2
            elif linear and i_turns != k_turns and (b > a) == i_turns and a != b:
                total += 1.0
        slopes[i] = np.sqrt(total)
    return slopes
