"""The library of machine code that a wheel holds: of all roots, for a kind of processor.

It is taken if it was made from the very sources that are installed, by the same Numba, for this Python; else all is
compiled. With it nothing of Numba is imported to run what KIDO itself declares. ``KIDO_PRECOMPILED=0`` leaves it aside.
So does KIDO once `kido warmup` has compiled all for the very processor at hand, which takes longer to load and then
runs faster.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from kido.jit.place import cache_directory
from kido.jit.struct import DEBUG

FOLDER = Path(__file__).with_name("images")
STAMP = "kido_image_stamp"  # symbol of the text that says what a library was made from
SLOT = "kido_slot_"  # before the names of what machine code knows by address
_CELLS: dict[str, ctypes.c_void_p] = {}
_LISTENERS: list[Callable[[str, ctypes.c_void_p], None]] = []
_LEVELS = {  # processors, the best first, and the features of each by NumPy's names
    "x86_64": {
        "x86-64-v4": ("AVX2", "FMA3", "AVX512F", "AVX512CD", "AVX512_SKX"),
        "x86-64-v3": ("AVX2", "FMA3"),
    },
    "aarch64": {"arm64": ()},
}
_MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}


def _features() -> dict[str, bool]:
    """What this processor can, by NumPy's names."""
    try:
        from numpy._core._multiarray_umath import __cpu_features__ as features
    except ImportError:
        return {}
    return features


def processors() -> list[str]:
    """Names of the kinds of processor whose code this one runs, the best first."""
    features = _features()
    levels = _LEVELS.get(_MACHINES.get(platform.machine().lower(), ""), {})
    return [name for name, needed in levels.items() if all(features.get(f) for f in needed)]


@cache
def stamp() -> str:
    """What machine code depends on: the package's sources, Python, Numba."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                digest.update(f"{os.path.relpath(folder, root)}/{name} {len(content)}\n".encode())
                digest.update(content)
    return f"{sys.implementation.cache_tag} {sys.platform} {_numba_version()} sources {digest.hexdigest()}"


def _numba_version() -> str:
    """As its installation's folder says it: to import it, or all that reads such folders, takes longer than a step."""
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        return "no numba"
    found = sorted(path.stem for path in Path(spec.origin).parents[1].glob("numba-*.*-info"))
    return found[0] if found else "numba"


def file_name(processor: str) -> str:
    """Of the library for a kind of processor."""
    return f"{processor}.{'dll' if os.name == 'nt' else 'so'}"


@cache
def library() -> ctypes.CDLL | None:
    """The library for this processor; None: there is none that fits."""
    if DEBUG or os.environ.get("KIDO_PRECOMPILED", "") == "0" or not FOLDER.is_dir():
        return None
    for name in processors():
        path = FOLDER / file_name(name)
        if path.is_file() and not native_mark().exists():
            try:
                found = ctypes.CDLL(str(path))
                made_from = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(found, STAMP)))
            except (OSError, ValueError):
                continue
            if made_from.decode() == stamp():
                for known, cell in _CELLS.items():
                    _fill(found, known, cell)
                return found
    return None


def native_mark() -> Path:
    """File that says that the cache holds all of the present sources, for the very processor at hand."""
    what = f"{stamp()} {sorted(name for name, there in _features().items() if there)}"
    return cache_directory() / "native" / hashlib.sha256(what.encode()).hexdigest()[:20]


def address_of(symbol: str) -> int:
    """Address of a function of the library; 0: there is none."""
    found = library()
    if found is None:
        return 0
    try:
        return ctypes.cast(getattr(found, symbol), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


def know(name: str, address: int) -> None:
    """Let compiled code know what lies at an address, by a name."""
    cell = _CELLS[name] = ctypes.c_void_p(address)
    if library.cache_info().currsize and (found := library()) is not None:
        _fill(found, name, cell)
    for tell in _LISTENERS:
        tell(name, cell)


def when_known(tell: Callable[[str, ctypes.c_void_p], None]) -> None:
    """Have a function called with each name and the place where its address lies, those of now and those to come."""
    for name, cell in _CELLS.items():
        tell(name, cell)
    _LISTENERS.append(tell)


def known() -> list[str]:
    """Names of what compiled code knows by address."""
    return sorted(_CELLS)


def _fill(found: ctypes.CDLL, name: str, cell: ctypes.c_void_p) -> None:
    try:
        ctypes.c_void_p.in_dll(found, f"{SLOT}{name}").value = cell.value
    except ValueError:  # it is not used there
        pass
