"""Applications, each a short program of its own: a file `NAME.py` in this folder.

Its docstring says what it shows; its function `make` makes the world, and what people can do with it, as a
`kido.demos.demo.Demo`. A file that is put here is found by `kido demo` and by the functions below. One that can show
people's own models has them as arguments, `make(skeleton=None)` or `make(*skeletons)`, and `make(..., *, motion=None)`.
"""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kido.errors import ModelError, NameLookupError
from kido.io import load_motion, load_skeleton

if TYPE_CHECKING:
    from kido.demos.demo import Demo
    from kido.motions import Motion
    from kido.skeleton import Skeleton

__all__ = ["description", "load", "names", "path"]

_FOLDER = Path(__file__).parent
_OWN = ("__init__", "demo", "garage")


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


def load(name: str, *skeletons: str | Path | Skeleton, motion: str | Path | Motion | None = None) -> Demo:
    """The demo `name`, made anew, of models of your own if it takes such.

    Args:
        name: which one.
        skeletons: files, or skeletons, in place of the demo's own.
        motion: a file, or a motion, in place of the demo's own.

    Raises:
        NameLookupError: there is no such demo.
        ModelError: the demo takes no skeletons, not as many, or no motion.
        FileFormatError: as of `kido.load_skeleton` and `kido.load_motion`.
    """
    make = import_module(f"kido.demos.{path(name).stem}").make
    own: dict[str, Any] = {} if motion is None else {"motion": motion}
    try:
        inspect.signature(make).bind(*skeletons, **own)
    except TypeError as error:
        raise ModelError(
            f"demo {name!r}: shows no such models of yours, {len(skeletons)} skeletons"
            f"{' and a motion' if own else ''}: {error}"
        ) from None
    if isinstance(motion, str | Path):
        own["motion"] = load_motion(motion)
    demo = make(*(load_skeleton(s) if isinstance(s, str | Path) else s for s in skeletons), **own)
    demo.name, demo.description = name, description(name)
    return demo
