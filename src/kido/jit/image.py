"""The library of machine code that a wheel holds: of all roots, for a processor of its kind.

It is taken if it was made from the very sources that are installed, for this Python; else all is compiled. Then nothing
of Numba is imported to run what KIDO itself declares. ``KIDO_PRECOMPILED=0`` leaves it aside, and so does `kido warmup`,
which compiles for the very processor at hand.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kido.jit.place import cache_directory
from kido.jit.struct import DEBUG

FOLDER = Path(__file__).with_name("images")
STAMP = "kido_image_stamp"  # symbol of the text that says what a library was made from
SLOT = "kido_slot_"  # before the names of what machine code knows by address
_CELLS: dict[str, ctypes.c_void_p] = {}
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
    try:
        numba = version("numba")
    except PackageNotFoundError:
        numba = "none"
    python = f"{sys.implementation.cache_tag} {sys.platform}"
    return f"{python} numba {numba} sources {digest.hexdigest()}"


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
                made_from = ctypes.c_char_p.in_dll(found, STAMP).value or b""
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
    if (roots := sys.modules.get("kido.jit.roots")) is not None:
        roots.tell(name, cell)


def known() -> dict[str, ctypes.c_void_p]:
    """What compiled code knows by address: by name, the place where each address lies."""
    return _CELLS


def _fill(found: ctypes.CDLL, name: str, cell: ctypes.c_void_p) -> None:
    try:
        ctypes.c_void_p.in_dll(found, f"{SLOT}{name}").value = cell.value
    except ValueError:  # it is not used there
        pass
