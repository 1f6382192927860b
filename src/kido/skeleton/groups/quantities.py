"""Quantities of groups and of subgraphs, made of those rows of `kido.quantities.TABLE` that say how.

Members are set by the modules of the two; `quantities.pyi`, which editors read, is written by `tools/stubs.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kido.quantities.quantity import Quantity, call_of, fixed_result


class GroupQuantities:
    """Quantities of a group of bodies and coordinates, of the current state."""


class SubgraphQuantities:
    """Quantities of a subgraph, of its model at the current state of the skeleton."""


def form(row: Quantity, parameters: str, function: Callable[..., Any], what: str) -> Any:
    """A property or method of a quantity: `function` of an object, the row, and arguments by name."""
    doc = f"{row.text}\n\n{what}"
    if row.is_property:
        return property(lambda of: fixed_result(function(of, row)), doc=doc)
    return call_of(row, parameters, function, doc)
