"""Error methods and gradient methods are parts of an `InverseKinematics`, a module: what they ask of it."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.ik.coordinates import Coordinates

if TYPE_CHECKING:
    from kido.skeleton import SimpleFrame
    from kido.skeleton.nodes.node import JacobianNode

Array = NDArray[np.float64]


class Module(Coordinates, ABC):
    """What error methods and gradient methods ask of the `InverseKinematics` that they are part of."""

    @property
    @abstractmethod
    def node(self) -> JacobianNode:
        """The body or end effector."""

    @property
    @abstractmethod
    def target(self) -> SimpleFrame:
        """The frame that the error method refers to."""

    @property
    @abstractmethod
    def offset(self) -> Array:
        """Pose in the node's axes (4, 4) of the frame that is to reach the target."""

    @property
    @abstractmethod
    def node_transform(self) -> Array:
        """Pose (4, 4) of that frame in the world."""

    @property
    @abstractmethod
    def node_jacobian(self) -> Array:
        """J (6, n) of that frame, world axes."""

    @property
    @abstractmethod
    def task_node(self) -> JacobianNode:
        """The node, or one at `offset` from it, that tasks are about."""

    @property
    @abstractmethod
    def priority(self) -> int:
        """Priority in a hierarchy: 0 comes first."""

    @property
    @abstractmethod
    def error_method(self) -> Any:
        """How far the pose is from what is wanted."""

    @property
    @abstractmethod
    def gradient_method(self) -> Any:
        """How to come closer."""

    @property
    @abstractmethod
    def is_built_in(self) -> bool:
        """Whether the gradient method is one that compiled code stands for."""

    @abstractmethod
    def compute_error(self) -> Array:
        """The error (6,) at the present positions."""

    @abstractmethod
    def compute_jacobian(self) -> Array:
        """Its Jacobian (6, n) at the present positions."""

    @abstractmethod
    def displacement_of(self, task: Any) -> tuple[Array, Array]:
        """Residual (6,) of a task, not cut to bounds, and its Jacobian (6, n), at the present positions."""

    @abstractmethod
    def memo_for(self, other: Any) -> dict[int, Any]:
        """What copies of parts for another module, or none, refer to: a memo for `copy.deepcopy`."""


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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self._ik is None else f'of {self._ik!r}'})"

    def attached(self, ik: Module) -> Self:
        """Itself, now part of `ik`.

        Raises:
            ModelError: it is part of another one.
        """
        if self._ik is not None and self._ik is not ik:
            raise ModelError(f"{type(self).__name__} is part of {self._ik!r} already; assign a clone() of it")
        self._ik = ik
        return self
