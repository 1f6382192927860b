"""Smooth quantities of many states, and their pull-backs by KIDO's analytic derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.batch import Batch
from kido.errors import ModelError, StateError
from kido.gradients.charts import Charts
from kido.math.transform import as_vector
from kido.skeleton import Skeleton
from kido.skeleton.nodes.node import JacobianNode

Array = NDArray[np.float64]


class SmoothFunction(FixedAttributes, ABC):
    """A function of states of one skeleton.

    Args:
        model: a skeleton, or a `Batch` of one that is on the processor, whose threads compute.

    Attributes:
        batch: what computes.
        arguments: names of what the function takes, (samples, dofs) each; "positions" is the first.

    Raises:
        ModelError: another model.
    """

    arguments: ClassVar[tuple[str, ...]] = ()
    batch: Batch

    def __init__(self, model: Skeleton | Batch):
        if not isinstance(model, Skeleton | Batch) or (isinstance(model, Batch) and model.device != "cpu"):
            raise ModelError(f"{type(self).__name__}: expected a skeleton or a Batch for the CPU, got {model!r}")
        self.batch = model if isinstance(model, Batch) else Batch(model)

    @property
    def num_dofs(self) -> int:
        """Numbers of each argument."""
        return self.batch.skeleton.num_dofs

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the value of one sample."""
        return (self.num_dofs,)

    @abstractmethod
    def value(self, *arguments: Array) -> Array:
        """Values (samples, *shape).

        Raises:
            StateError: arguments of other shapes, or not finite.
        """

    def pull_back(self, arguments: tuple[Array, ...], gradient: Array) -> tuple[Array, ...]:
        """Gradients by all arguments, by positions as numbers, from those by values (samples, *shape)."""
        if not np.isfinite(gradient).all():
            raise StateError(f"{type(self).__name__}: gradient: expected finite numbers, got {gradient!r:.80}")
        by_position, *others = self.along_velocities(arguments, gradient)
        charts = Charts([(self.batch.skeleton, 0)])
        return charts.by_numbers(arguments[0], by_position), *others

    @abstractmethod
    def along_velocities(self, arguments: tuple[Array, ...], gradient: Array) -> tuple[Array, ...]:
        """`pull_back`, with positions along velocities."""


def _products(gradient: Array, *matrices: Array) -> tuple[Array, ...]:
    return tuple((gradient[:, None, :] @ D)[:, 0] for D in matrices)


class ForwardDynamics(SmoothFunction):
    """Accelerations, as `Batch.forward_dynamics`, by positions, velocities and forces."""

    arguments = ("positions", "velocities", "forces")

    def value(self, *arguments: Array) -> Array:
        """(samples, dofs)."""
        return self.batch.forward_dynamics(*arguments)

    def along_velocities(self, arguments: tuple[Array, ...], gradient: Array) -> tuple[Array, ...]:
        """By positions, velocities and forces."""
        return _products(gradient, *self.batch.forward_dynamics_derivatives(*arguments))


class InverseDynamics(SmoothFunction):
    """Joint forces, as `Batch.inverse_dynamics`, by positions, velocities and accelerations."""

    arguments = ("positions", "velocities", "accelerations")

    def value(self, *arguments: Array) -> Array:
        """(samples, dofs)."""
        return self.batch.inverse_dynamics(*arguments)

    def along_velocities(self, arguments: tuple[Array, ...], gradient: Array) -> tuple[Array, ...]:
        """By positions, velocities and accelerations."""
        return _products(gradient, *self.batch.inverse_dynamics_derivatives(*arguments))


class ForwardKinematics(SmoothFunction):
    """World transform of a node by positions, its origin at a point of the node.

    Args:
        model: a skeleton or a `Batch`.
        node: a body, its name or index, or a node on one.
        offset: the point, in the node's axes [m].

    Raises:
        NameLookupError, ModelError: no such node.
    """

    arguments = ("positions",)

    def __init__(self, model: Skeleton | Batch, node: JacobianNode | str | int, offset: ArrayLike = (0.0, 0.0, 0.0)):
        super().__init__(model)
        s = self.batch.skeleton
        body, pose = s.current_state.carried_by(node)
        self.node, self.offset = node, as_vector(offset, f"skeleton {s.name!r}: offset")
        self._body, self._pose = body.index, np.eye(4) if pose is None else np.array(pose)
        self._pose[:3, 3] += self._pose[:3, :3] @ self.offset

    @property
    def shape(self) -> tuple[int, ...]:
        """(4, 4)."""
        return 4, 4

    def value(self, *arguments: Array) -> Array:
        """(samples, 4, 4)."""
        return self.batch.forward_kinematics(*arguments)[:, self._body] @ self._pose

    def along_velocities(self, arguments: tuple[Array, ...], gradient: Array) -> tuple[Array, ...]:
        """By positions: a small turn w and motion v change the transform by [w x R, v]."""
        R = self.value(*arguments)[:, :3, :3]
        turn = np.cross(R, gradient[:, :3, :3], axis=1).sum(axis=2)
        J = self.batch.jacobian(arguments[0], self.node, self.offset)
        return _products(np.concatenate([turn, gradient[:, :3, 3]], axis=1), J)
