"""Rotations, rigid transforms and small vector algebra, for kernels and for Python.

Public are exp and log of rotations and poses (`kido.math.lie`), of one or of many: leading axes are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kido.math.lie import exp_pose, exp_rotation, log_pose, log_rotation

__all__ = ["exp_pose", "exp_rotation", "log_pose", "log_rotation"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # only then: what is below compiles
        from kido.math import lie

        return getattr(lie, name)
    raise AttributeError(f"module 'kido.math' has no attribute {name!r}")
