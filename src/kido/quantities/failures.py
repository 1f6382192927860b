"""What a kernel could not compute, in words."""

from __future__ import annotations

from typing import Any

from kido.errors import ModelError


def singular(state: Any, status: int) -> None:
    """Statuses 2 + k: the inertia that coordinate k sees is not positive."""
    if status > 1:
        state.raise_singular(status - 2)


def massless(state: Any, status: int) -> None:
    """Any status: there is no centre of mass."""
    if state.skeleton.mass == 0.0:
        raise ModelError(f"skeleton {state.name!r} has no mass, so no centre of mass")
    raise ModelError(f"skeleton {state.name!r}: the bodies have no mass, so no centre of mass")
