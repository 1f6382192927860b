"""On-disk cache of compiled kernels, stamped by the sources they are made from.

Numba's own cache looks at the file of the compiled function alone and misses an edit in a function that it
calls from another file. Here the stamp of a module is the hash of its text and of the stamps of the kido
modules it imports: an edit recompiles what depends on it and nothing below it.
"""

from __future__ import annotations

import glob
import hashlib
import os
import pickle
import re
import sys
import uuid
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from kido.jit.naming import all_closed_over, place
from kido.jit.place import cache_directory
from kido.jit.struct import DEBUG

_IMPORT = re.compile(r"^[ \t]*(?:from\s+(kido[\w.]*)\s+import\s+(\([^)]*\)|.+)|import\s+(kido[\w.]*))", re.MULTILINE)

# Modules that no compiled code is made of, nor of what they declare.
_WITHOUT_CODE = {"kido", "kido.arrays", "kido.attributes", "kido.errors"}

_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)


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
    return text, tuple(m for m in found if m not in _WITHOUT_CODE)


def sources(name: str) -> dict[str, str]:
    """The texts of a kido module and of all kido modules that it imports, directly or not."""
    waiting, texts = [name], {}
    while waiting:
        module = waiting.pop()
        if module not in texts:
            texts[module], imported = _text_and_imports(module)
            waiting.extend(imported)
    return texts


# Modules beside this one that do not decide what code is made.
_NOT_COMPILING = {"image", "kept", "place", "precompile", "progress", "warmup"}


@cache
def _compiler_stamp() -> str:
    """Hash of the modules beside this one that compile."""
    modules = [path for path in sorted(Path(__file__).parent.glob("*.py")) if path.stem not in _NOT_COMPILING]
    texts = [path.read_text(encoding="utf-8") for path in modules]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@cache
def source_stamp(name: str) -> str:
    """Hash of a kido module's text, of all kido modules it imports, directly or not, and of what compiles."""
    texts = sources(name)
    digest = hashlib.sha256(_compiler_stamp().encode())
    for module in sorted(texts):
        digest.update(f"{module}\n{texts[module]}".encode())
    return digest.hexdigest()


class _KernelLocator(_CacheLocator):
    """Places a kernel's files under the cache directory, in a folder named by its source stamp.

    A function made within another has what it closes over in its name, and the sources of that in its stamp.
    """

    def __init__(self, py_func):
        self._stamp = source_stamp(py_func.__module__)
        self._line = place(py_func)
        modules = sorted({v.__module__ for v in all_closed_over(py_func) if callable(v)})
        if modules:
            stamps = [self._stamp, *map(source_stamp, modules)]
            self._stamp = hashlib.sha256("\n".join(stamps).encode()).hexdigest()
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


class CheckedFiles:
    """The cached forms of one function: a file for each signature and processor, which begins with its own hash.

    A file that is damaged, or that is not what its name says, counts as not there and is written anew.
    """

    def __init__(self, folder: str, name: str, stamp: str):
        self._folder, self._name, self._stamp = Path(folder), name, stamp

    def _path(self, key: tuple[Any, ...]) -> Path:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return self._folder / f"{self._name}.{_processor()}.{digest[:16]}.nbc"

    def load(self, key: tuple[Any, ...]) -> Any:
        """What was saved under a key, or None."""
        content = checked(self._path(key))
        if content is None:
            return None
        stamp, kept_key, data = pickle.loads(content)
        return data if (stamp, kept_key) == (self._stamp, key) else None

    def save(self, key: tuple[Any, ...], data: Any) -> None:
        """Keep data under a key."""
        write_checked(self._path(key), dumps((self._stamp, key, data)))

    def flush(self) -> None:
        """Remove all files of this function."""
        for path in self._folder.glob(f"{glob.escape(self._name)}.*.nbc"):
            path.unlink()

    def holds_anything(self) -> bool:
        """Whether there is a file for this processor."""
        return any(self._folder.glob(f"{glob.escape(self._name)}.{_processor()}.*.nbc"))


@cache
def _processor() -> str:
    context: Any = cpu_target.target_context
    return hashlib.sha256(repr(context.codegen().magic_tuple()).encode()).hexdigest()[:12]


def checked(path: Path) -> bytes | None:
    """The content of a file of `write_checked`; None if there is none, or another one than was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    content, digest = content[32:], content[:32]
    return content if hashlib.sha256(content).digest() == digest else None


def write_checked(path: Path, content: bytes) -> None:
    """Write a file at once, with its hash in front; other processes see all of it or nothing.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


class KernelCache(FunctionCache):
    """Numba's function cache with the project's locator; a cache that cannot be read or written is no error."""

    _impl_class = _KernelCacheImpl
    part = ""  # of one function, what is kept apart from its machine code

    def __init__(self, py_func):
        super().__init__(py_func)
        name = f"{self._impl.filename_base}{self.part}"
        self._cache_file = CheckedFiles(self._cache_path, name, self._impl.locator.get_source_stamp())

    def _load_overload(self, sig, target_context):
        try:
            return super()._load_overload(sig, target_context)
        except Exception:  # what another version wrote can raise anything: start it afresh
            try:
                self.flush()
            except OSError:
                self.disable()
            return None

    def _index_key(self, sig, codegen):
        code = hashlib.sha256(self._py_func.__code__.co_code).hexdigest()
        return sig, codegen.magic_tuple(), code  # what a closure holds is in the file's name

    def holds_anything(self) -> bool:
        """Whether code of this function and of the present sources is in the cache."""
        return self._cache_file.holds_anything()

    def _save_overload(self, sig, data):
        try:
            super()._save_overload(sig, data)
        except OSError:
            self.disable()


class RootCache(KernelCache):
    """The cache of the machine code of roots."""

    part = "-root"

    def key(self, signature: Any) -> tuple[Any, ...]:
        """Under which the code of a signature is kept."""
        codegen: Any = cpu_target.target_context
        return self._index_key(signature, codegen.codegen())

    @property
    def files(self) -> CheckedFiles:
        """Where it is kept."""
        return self._cache_file
