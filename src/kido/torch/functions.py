"""Smooth quantities of skeletons, differentiable by PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import ArrayLike

from kido.batch import Batch
from kido.gradients import ForwardDynamics, ForwardKinematics, InverseDynamics
from kido.gradients.smooth import SmoothFunction
from kido.skeleton import Skeleton
from kido.skeleton.nodes.node import JacobianNode
from kido.torch.tensors import FirstDerivative, as_rows, as_tensor, batched, together


class _Values(torch.autograd.Function):
    """Values of a `SmoothFunction`."""

    @staticmethod
    def forward(function: SmoothFunction, *given: torch.Tensor) -> torch.Tensor:
        return as_tensor(function.value(*(as_rows(x, 1) for x in given)), tuple(given[0].shape[:-1]))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.function, *given = inputs
        ctx.save_for_backward(*given)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        function, given = ctx.function, ctx.saved_tensors
        ends = (*[1] * len(given), len(function.shape))
        made = FirstDerivative.apply(lambda *x: function.pull_back(x[:-1], x[-1]), ends, *given, *gradients)
        return None, *made  # type: ignore[misc]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, Any]:
        return _Values.apply(*batched(info, in_dims, arguments)), 0


def _values(function: SmoothFunction, *given: Any) -> torch.Tensor:
    ends = {name: (x, (function.num_dofs,)) for name, x in zip(function.arguments, given, strict=True)}
    tensors = together(f"skeleton {function.batch.skeleton.name!r}", ends)
    return _Values.apply(function, *tensors.values())  # type: ignore[return-value]


def forward_dynamics(
    model: Skeleton | Batch, positions: torch.Tensor, velocities: torch.Tensor, forces: torch.Tensor
) -> torch.Tensor:
    """Accelerations M^-1 (T - C(q, u)) (..., dofs).

    Args:
        model: a skeleton, or a `Batch` of one, which is quicker if it is used again.
        positions, velocities, forces: (..., dofs).

    Raises:
        StateError: what is no tensor of 64 bits on the processor, of another shape, or not finite.
        ModelError: the inertia seen by a coordinate is not positive, or another model.
    """
    return _values(ForwardDynamics(model), positions, velocities, forces)


def inverse_dynamics(
    model: Skeleton | Batch, positions: torch.Tensor, velocities: torch.Tensor, accelerations: torch.Tensor
) -> torch.Tensor:
    """Joint forces M udot + C(q, u) (..., dofs); arguments and errors as of `forward_dynamics`."""
    return _values(InverseDynamics(model), positions, velocities, accelerations)


def forward_kinematics(
    model: Skeleton | Batch,
    positions: torch.Tensor,
    node: JacobianNode | str | int,
    offset: ArrayLike = (0.0, 0.0, 0.0),
) -> torch.Tensor:
    """World transforms (..., 4, 4) of a node, with the origin at a point of it.

    Args:
        model, positions: as of `forward_dynamics`; the errors too.
        node: a body of the skeleton, its name or its index, or a node on one.
        offset: the point, in the node's axes [m].
    """
    return _values(ForwardKinematics(model, node, offset), positions)
