"""Names of compiled functions that are the same in every process."""

from __future__ import annotations

import hashlib
from typing import Any


def closed_over(function: Any) -> list[Any]:
    """What a closure holds: functions for kernels and callbacks, numbers and text as they are."""
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    return [getattr(v, "py_func", None) or getattr(v, "function", None) or v for v in held]


def all_closed_over(function: Any) -> list[Any]:
    """What a closure holds, and what the closures among that hold, and so on."""
    found: list[Any] = []
    open_ones, seen = [function], {id(function)}
    for one in open_ones:
        for value in closed_over(one):
            found.append(value)
            if hasattr(value, "__closure__") and id(value) not in seen:
                seen.add(id(value))
                open_ones.append(value)
    return found


def place(function: Any) -> str:
    """Line of a function in its module; of one that was made within another, with a hash of what it closes over."""
    line = str(function.__code__.co_firstlineno)
    if not function.__closure__:
        return line
    names = [f"{v.__module__}.{v.__qualname__}" if callable(v) else repr(v) for v in all_closed_over(function)]
    return f"{line}-{hashlib.sha256(chr(10).join(names).encode()).hexdigest()[:12]}"


def symbol(function: Any, signature: str) -> str:
    """Under which machine code of a function is found in a library."""
    name = f"{function.__module__}.{function.__qualname__}:{place(function)}:{signature}"
    return f"kido_{hashlib.sha256(name.encode()).hexdigest()[:20]}"
