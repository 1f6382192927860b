"""What error methods and gradient methods have in common: they belong to an `InverseKinematics`."""

from __future__ import annotations

import copy
from typing import Self

from kido.errors import ModelError
from kido.ik.coordinates import Module


class Part:
    """A piece of an `InverseKinematics` that can be exchanged; assigning it there makes it that one's."""

    _ik: Module | None = None

    @property
    def ik(self) -> Module:
        """The `InverseKinematics` that it is a part of.

        Raises:
            ModelError: it is part of none.
        """
        if self._ik is None:
            raise ModelError(f"{type(self).__name__} is part of no InverseKinematics; assign it to one first")
        return self._ik

    def clone(self, ik: Module | None = None) -> Self:
        """An independent copy that belongs to another `InverseKinematics`, or to none.

        Bodies and frames that it refers to stay the same, unless the other one is of a copy of the skeleton.
        """
        memo = {} if self._ik is None else self._ik.memo_for(ik)
        twin = copy.deepcopy(self, memo)
        twin._ik = ik
        return twin

    def detach(self) -> None:
        """Let it be part of none."""
        self._ik = None

    def attached(self, ik: Module) -> Self:
        """Itself, now part of `ik`.

        Raises:
            ModelError: it is part of another one.
        """
        if self._ik is not None and self._ik is not ik:
            raise ModelError(f"{type(self).__name__} is part of {self._ik!r} already; assign a clone() of it")
        self._ik = ik
        return self
