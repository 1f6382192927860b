"""Applications, each a short program of its own: a file `NAME.py` in this folder.

Its docstring says what it shows; its function `make` makes the world, and what people can do with it, as a
`kido.demos.demo.Demo`. A file that is put here is found by `kido demo` and by the functions below.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from kido.errors import NameLookupError

if TYPE_CHECKING:
    from kido.demos.demo import Demo

__all__ = ["description", "load", "names", "path"]

_FOLDER = Path(__file__).parent
_OWN = ("__init__", "demo")


def names() -> list[str]:
    """Names of the demos, in alphabetical order."""
    return sorted(file.stem for file in _FOLDER.glob("*.py") if file.stem not in _OWN)


def path(name: str) -> Path:
    """Program of the demo `name`.

    Raises `NameLookupError`, which lists the names, if there is no such demo.
    """
    known = names()
    if name not in known:
        raise NameLookupError("demo", name, known)
    return _FOLDER / f"{name}.py"


def description(name: str) -> str:
    """What the demo `name` shows: the docstring of its program, which is not run. Raises like `path`."""
    return ast.get_docstring(ast.parse(path(name).read_text(encoding="utf-8"))) or ""


def load(name: str) -> Demo:
    """The demo `name`, made anew. Raises like `path`."""
    demo = import_module(f"kido.demos.{path(name).stem}").make()
    demo.name, demo.description = name, description(name)
    return demo
