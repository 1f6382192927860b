"""Which coordinates of a skeleton are independent, and how the others follow them.

Coordinates with MIMIC actuators follow: with x the independent ones, q = A x + b, so that velocities are A u, Jacobians
by x are J A, and limits of mimics are limits of x. LOCKED coordinates stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kido.errors import StateError
from kido.ik.model import remembered
from kido.joints import ActuatorType
from kido.skeleton.joints.actuator import followed_dofs

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Choice = Sequence[int] | NDArray[np.integer]
KEY = "independent coordinates"  # among what a skeleton forgets when a property changes
_ROUNDING = 1e-9  # of limits that leave a single position


class Coupling:
    """Independent coordinates of a skeleton as it is; `coupling_of` keeps it until a property changes.

    Chains of mimics are resolved: q[k] = ratio[k] q[master[k]] + offset[k], where master[k] is k itself for independent
    coordinates.

    Attributes:
        master: (dofs,) the independent coordinate that each moves with.
        ratio: (dofs,) its rate per rate of that one.
        offset: (dofs,) its position where that one is at zero [m, rad].
        mimics: those that mimic another.
        locked: (dofs,) which have LOCKED actuators, or follow one that has.
        modal: (dofs,) which are modes of flexible bodies.

    Raises:
        NameLookupError, ModelError: a mimic follows nothing, or mimics follow each other in a circle.
    """

    def __init__(self, skeleton: Skeleton):
        self.skeleton = skeleton
        follows = followed_dofs(skeleton)
        dofs = skeleton.dofs
        n = len(dofs)
        self.master, self.ratio, self.offset = np.arange(n), np.ones(n), np.zeros(n)
        self.mimics = np.array(sorted(follows), np.int64)
        for k in follows:
            j, ratio, offset = k, 1.0, 0.0
            while j in follows:
                mimic = dofs[j].mimic
                assert mimic is not None
                ratio, offset = ratio * mimic.multiplier, offset + ratio * mimic.offset
                j = follows[j]
            self.master[k], self.ratio[k], self.offset[k] = j, ratio, offset
        own = np.array([dof.actuator_type == ActuatorType.LOCKED for dof in dofs], bool)
        self.locked = own[self.master] if n else own
        self.modal = np.array([dof.joint.has_modes for dof in dofs], bool)

    def is_like(self, other: Coupling) -> bool:
        """Whether coordinates move in the same way."""
        pairs = [(getattr(self, f), getattr(other, f)) for f in ("master", "ratio", "offset", "locked")]
        return all(np.array_equal(a, b) for a, b in pairs)

    # Choosing ------------------------------------------------------------------------------------------------

    def independent(self, dofs: Choice) -> Indices:
        """Coordinates that move some others: themselves or what they mimic, ascending; none that are locked."""
        found = np.unique(self.master[np.asarray(dofs, np.int64)])
        return found[~self.locked[found]]

    def every(self) -> Indices:
        """All independent coordinates that are not locked, but for modes of flexible bodies, which must be named."""
        return self.independent(np.flatnonzero(~self.modal))

    def checked(self, dofs: Choice) -> Indices:
        """Coordinates that were named one by one.

        Raises:
            StateError: one mimics another, or is locked; the message says what to do.
        """
        names = [dof.name for dof in self.skeleton.dofs]
        for k in dofs:
            m = int(self.master[k])
            what = f"skeleton {self.skeleton.name!r}: dofs: coordinate {names[k]!r}"
            if m != k:
                raise StateError(f"{what} mimics {names[m]!r}; name that one, and it will follow")
            if self.locked[k]:
                raise StateError(f"{what} has a LOCKED actuator; leave it out, or set its actuator_type to another")
        return np.asarray(dofs, np.int64)

    def mimics_of(self, dofs: Choice) -> Indices:
        """Coordinates that mimic some."""
        return self.mimics[np.isin(self.master[self.mimics], dofs)]

    # Moving --------------------------------------------------------------------------------------------------

    def spread(self, q: Array, dofs: Choice) -> Array:
        """q (..., dofs), in which what mimics active coordinates is put where they have it."""
        if len(self.mimics):
            own = self.mimics_of(dofs)
            q[..., own] = self.ratio[own] * q[..., self.master[own]] + self.offset[own]
        return q

    def columns(self, J: Array, dofs: Choice) -> Array:
        """Derivatives (..., n) by active coordinates, from those (..., dofs) by all of them."""
        found = J[..., dofs]
        if len(self.mimics):
            place = {int(k): column for column, k in enumerate(dofs)}
            for k in self.mimics_of(dofs):
                found[..., place[int(self.master[k])]] += self.ratio[k] * J[..., k]
        return found

    def limits(self, lower: Array, upper: Array, dofs: Choice, offsets: bool = True) -> tuple:
        """Limits (n,) of active coordinates that keep also what mimics them within limits.

        Args:
            lower, upper: (dofs,) limits of each.
            dofs: the active coordinates.
            offsets: whether they are limits of positions; else of rates.

        Raises:
            StateError: limits of coordinates that follow leave nothing.
        """
        low, high = lower[dofs].astype(float), upper[dofs].astype(float)
        if len(self.mimics):
            place = {int(k): column for column, k in enumerate(dofs)}
            for k in self.mimics_of(dofs):
                r = self.ratio[k]
                if r == 0.0:
                    continue
                b = self.offset[k] if offsets else 0.0
                ends = (lower[k] - b) / r, (upper[k] - b) / r
                c = place[int(self.master[k])]
                low[c], high[c] = max(low[c], min(ends)), min(high[c], max(ends))
                if low[c] > high[c] + _ROUNDING:
                    names = [dof.name for dof in self.skeleton.dofs]
                    raise StateError(
                        f"skeleton {self.skeleton.name!r}: no position of {names[dofs[c]]!r} is within its own limits "
                        f"and lets {names[k]!r}, which mimics it, be within {lower[k]:g} and {upper[k]:g}"
                    )
                high[c] = max(low[c], high[c])
        return low, high


def coupling_of(skeleton: Skeleton) -> Coupling:
    """The skeleton's independent coordinates; the same object until a property or the structure changes."""
    return remembered(skeleton, KEY, lambda: Coupling(skeleton))
