"""The error of operators."""

from __future__ import annotations

from kido.errors import KidoError


class OperatorError(KidoError):
    """Operators that do not fit each other or a vector, or something that operators have no sweeps for."""
