"""Tensors in and out, without copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kido.errors import StateError
from kido.gradients.shapes import common_samples

Array = NDArray[np.float64]


def together(what: str, given: Mapping[str, tuple[Any, tuple[int | None, ...]]]) -> dict[str, torch.Tensor]:
    """Tensors with the same leading axes, from tensors by name with the ends of their shapes.

    Raises:
        StateError: what is no tensor of 64 bits on the processor, or of another shape.
    """
    for name, (tensor, _) in given.items():
        if not isinstance(tensor, torch.Tensor):
            raise StateError(f"{what}: {name}: expected a torch.Tensor, got {type(tensor).__name__}")
        if tensor.dtype != torch.float64:
            raise StateError(f"{what}: {name}: expected torch.float64, got {tensor.dtype}; {name}.double() is")
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise StateError(
                f"{what}: {name}: expected a dense tensor on the processor, got {tensor.layout} on {tensor.device}; "
                f"{name}.cpu() is on it"
            )
    samples = common_samples(what, {name: (tuple(tensor.shape), tail) for name, (tensor, tail) in given.items()})
    return {
        name: tensor.expand(*samples, *tensor.shape[tensor.ndim - len(tail) :])
        for name, (tensor, tail) in given.items()
    }


def as_rows(tensor: torch.Tensor, ends: int) -> Array:
    """A tensor's memory as an array (samples, ...), whose last `ends` axes are the tensor's."""
    array: Any = np.from_dlpack(tensor.detach().resolve_neg())
    return array.reshape(-1, *array.shape[array.ndim - ends :])


def as_tensor(array: Array, samples: tuple[int, ...]) -> torch.Tensor:
    """An array (samples, ...) as a tensor with these leading axes, which has its memory."""
    return torch.from_dlpack(array.reshape(*samples, *array.shape[1:]))


def batched(info: Any, dims: tuple[Any, ...], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments under `torch.vmap` with its axis as the first of all tensors."""
    return tuple(
        x if not isinstance(x, torch.Tensor)
        else x.expand(info.batch_size, *x.shape) if dim is None
        else x.movedim(dim, 0)
        for x, dim in zip(arguments, dims, strict=True)
    )  # fmt: skip


class FirstDerivative(torch.autograd.Function):
    """A pull-back, which has no derivative of its own.

    `pull_back(*arrays)` gives a tuple of arrays (samples, ...); `ends` are numbers of axes after the samples', and
    tensors come with the same leading axes.
    """

    @staticmethod
    def forward(pull_back: Any, ends: tuple[int, ...], *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Gradients."""
        samples = tuple(tensors[0].shape[: tensors[0].ndim - ends[0]])
        found = pull_back(*(as_rows(x, end) for x, end in zip(tensors, ends, strict=True)))
        return tuple(as_tensor(np.ascontiguousarray(x), samples) for x in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Nothing is kept."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, Any]:
        """One call with an axis more."""
        found = FirstDerivative.apply(*batched(info, in_dims, arguments))
        return found, (0,) * len(found)  # type: ignore[arg-type]

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Refuse it.

        Raises:
            StateError: always.
        """
        raise StateError(
            "kido.torch: second derivatives: there are first ones only; call backward without create_graph"
        )
