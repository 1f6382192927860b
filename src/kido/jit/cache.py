"""On-disk cache of compiled kernels, stamped by the sources they are made from.

Numba's own cache looks at the file of the compiled function alone and misses an edit in a function that it
calls from another file. Here the stamp of a module is the hash of its text and of the stamps of the kido
modules it imports: an edit recompiles what depends on it and nothing below it.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

from kido.jit.struct import DEBUG

_IMPORT = re.compile(r"^[ \t]*(?:from\s+(kido[\w.]*)\s+import\s+(\([^)]*\)|.+)|import\s+(kido[\w.]*))", re.MULTILINE)

_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)


def cache_directory() -> Path:
    """Where compiled kernels are kept: ``KIDO_CACHE_DIR``, else the user's cache directory."""
    given = os.environ.get("KIDO_CACHE_DIR")
    if given:
        return Path(given).expanduser()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA", str(Path.home())))
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")))
    return base / "kido" / "kernels"


@cache
def _module_file(name: str) -> Path | None:
    module = sys.modules.get(name)
    origin = getattr(module, "__file__", None)
    if origin is None and module is None:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            return None
        origin = spec.origin if spec else None
    return Path(origin) if origin and Path(origin).suffix == ".py" else None


@cache
def _text_and_imports(name: str) -> tuple[str, tuple[str, ...]]:
    """A module's text, and the kido modules it imports when it runs."""
    path = _module_file(name)
    if path is None:
        return "", ()
    text = path.read_text(encoding="utf-8")
    found = []
    for match in _IMPORT.finditer(_FOR_TYPES.sub("", text)):
        module = match.group(1) or match.group(3)
        found.append(module)
        children = (f"{module}.{part}" for part in re.findall(r"\w+", match.group(2) or ""))
        found.extend(child for child in children if child in sys.modules)
    return text, tuple(m for m in found if m != "kido")


def sources(name: str) -> dict[str, str]:
    """The texts of a kido module and of all kido modules that it imports, directly or not."""
    waiting, texts = [name], {}
    while waiting:
        module = waiting.pop()
        if module not in texts:
            texts[module], imported = _text_and_imports(module)
            waiting.extend(imported)
    return texts


@cache
def source_stamp(name: str) -> str:
    """Hash of a kido module's text and of all kido modules it imports, directly or not."""
    texts = sources(name)
    digest = hashlib.sha256()
    for module in sorted(texts):
        digest.update(f"{module}\n{texts[module]}".encode())
    return digest.hexdigest()


def _closed_over(py_func: Any) -> list[Any]:
    """What a closure holds: functions for kernels and callbacks, numbers and text as they are."""
    held = [cell.cell_contents for cell in py_func.__closure__ or ()]
    return [getattr(v, "py_func", None) or getattr(v, "function", None) or v for v in held]


class _KernelLocator(_CacheLocator):
    """Places a kernel's files under the cache directory, in a folder named by its source stamp.

    A function made within another has what it closes over in its name, and the sources of that in its stamp.
    """

    def __init__(self, py_func):
        self._stamp = source_stamp(py_func.__module__)
        self._line = str(py_func.__code__.co_firstlineno)
        if py_func.__closure__:
            inner = [_closed_over(f) if callable(f) else [] for f in _closed_over(py_func)]
            closed = [*_closed_over(py_func), *(v for values in inner for v in values)]
            modules = sorted({v.__module__ for v in closed if callable(v)})
            names = [f"{v.__module__}.{v.__qualname__}" if callable(v) else repr(v) for v in closed]
            stamps = [self._stamp, *map(source_stamp, modules)]
            self._stamp = hashlib.sha256("\n".join(stamps).encode()).hexdigest()
            self._line += "-" + hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]
        variant = "debug" if DEBUG else "release"
        self._path = cache_directory() / numba.__version__ / variant / self._stamp[:20]

    def ensure_cache_path(self):
        self._path.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self):
        return str(self._path)

    def get_source_stamp(self):
        return self._stamp

    def get_disambiguator(self):
        return self._line

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func)


class _KernelCacheImpl(CompileResultCacheImpl):
    _locator_classes: ClassVar = [_KernelLocator]


class KernelCache(FunctionCache):
    """Numba's function cache with the project's locator; a cache that cannot be read or written is no error."""

    _impl_class = _KernelCacheImpl

    def _load_overload(self, sig, target_context):
        try:
            return super()._load_overload(sig, target_context)
        except OSError:  # no such place, or no permission
            return None
        except Exception:  # a damaged file can raise anything: start it afresh
            try:
                self.flush()
            except OSError:
                self.disable()
            return None

    part = ""  # of one function, what is kept apart from its machine code

    def __init__(self, py_func):
        super().__init__(py_func)
        if self.part:
            base = f"{self._impl.filename_base}-{self.part}"
            self._cache_file = IndexDataCacheFile(self._cache_path, base, self._impl.locator.get_source_stamp())

    def _index_key(self, sig, codegen):
        code = hashlib.sha256(self._py_func.__code__.co_code).hexdigest()
        return sig, codegen.magic_tuple(), code  # what a closure holds is in the file's name

    def holds_anything(self) -> bool:
        """Whether code of this function and of the present sources is in the cache."""
        return bool(self._cache_file._load_index())

    def _save_overload(self, sig, data):
        try:
            super()._save_overload(sig, data)
        except OSError:
            self.disable()
