"""What error methods and gradient methods have in common: they belong to an `InverseKinematics`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Self

from kido.errors import ModelError

if TYPE_CHECKING:
    from kido.ik.inverse_kinematics import InverseKinematics


class Part:
    """A piece of an `InverseKinematics` that can be exchanged; assigning it there makes it that one's."""

    _ik: InverseKinematics | None = None

    @property
    def ik(self) -> InverseKinematics:
        """The `InverseKinematics` that it is a part of.

        Raises:
            ModelError: it is part of none.
        """
        if self._ik is None:
            raise ModelError(f"{type(self).__name__} is part of no InverseKinematics; assign it to one first")
        return self._ik

    def clone(self, ik: InverseKinematics | None = None) -> Self:
        """An independent copy that belongs to another `InverseKinematics`, or to none.

        Bodies and frames that it refers to stay the same, unless the other one is of a copy of the skeleton.
        """
        memo = {} if self._ik is None else self._ik._memo_for(ik)
        twin = copy.deepcopy(self, memo)
        twin._ik = ik
        return twin

    def _attached(self, ik: InverseKinematics) -> Self:
        """Itself, now part of `ik`.

        Raises:
            ModelError: it is part of another one.
        """
        if self._ik is not None and self._ik is not ik:
            raise ModelError(f"{type(self).__name__} is part of {self._ik!r} already; assign a clone() of it")
        self._ik = ik
        return self
