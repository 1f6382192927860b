"""Shapes of what differentiable functions are given: leading axes are samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kido.errors import StateError


def common_samples(what: str, given: Mapping[str, tuple[tuple[int, ...], tuple[int | None, ...]]]) -> tuple[int, ...]:
    """Leading axes that arguments have together, by their shapes and what these end with; None: any size.

    Raises:
        StateError: one of another shape, or of no samples; arguments whose leading axes do not go together.
    """
    leading = {}
    for name, (shape, tail) in given.items():
        own = shape[len(shape) - len(tail) :]
        if len(shape) < len(tail) or any(size not in (None, had) for size, had in zip(tail, own, strict=True)):
            wanted = ", ".join("..." if size is None else str(size) for size in (None, *tail)).replace(
                "..., ...", "..., rows"
            )
            raise StateError(f"{what}: {name}: expected the shape ({wanted}), got {shape}")
        leading[name] = shape[: len(shape) - len(tail)]
    try:
        found = np.broadcast_shapes(*leading.values())
    except ValueError:
        listed = ", ".join(f"{shape} of {name}" for name, shape in leading.items())
        raise StateError(f"{what}: expected samples that go together, got the leading axes {listed}") from None
    if 0 in found:
        raise StateError(f"{what}: expected at least one sample, got the leading axes {found}")
    return found
