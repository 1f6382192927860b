"""Makes the libraries of machine code that wheels hold (`kido.jit.image`): all roots, for a kind of processor."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kido.jit import image
from kido.jit.warmup import compile_elsewhere, roots_by_module

_CACHE = "cache"  # folder of compiled kernels, beside the objects
_SERVE = "from kido.jit.precompile import serve; serve()"
# Names of kinds of processor that LLVM knows otherwise.
_LLVM_NAMES = {"arm64": "generic"}

# What code of Numba's calls to raise an error. The package's own kernels raise none; a compiler cannot always know it.
_SUPPORT = """
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#define OWN
#define IMPORT __declspec(dllimport)
#else
#define EXPORT
#define OWN __attribute__((visibility("hidden")))
#define IMPORT extern
#endif
typedef struct _object PyObject;
IMPORT PyObject *PyExc_RuntimeError;
IMPORT void PyErr_SetString(PyObject *, const char *);
IMPORT int PyGILState_Ensure(void);
IMPORT void PyGILState_Release(int);
static void raise(void)
{
    PyErr_SetString(PyExc_RuntimeError, "an error in compiled code; with KIDO_PRECOMPILED=0 it says which");
}
OWN PyObject *numba_unpickle(const char *data, int size, const char *hash) { raise(); return 0; }
OWN PyObject *numba_runtime_build_excinfo_struct(PyObject *data, PyObject *arguments) { raise(); return 0; }
OWN int numba_do_raise(PyObject *error) { raise(); return 0; }
OWN void numba_gil_ensure(int *state) { *state = PyGILState_Ensure(); }
OWN void numba_gil_release(int *state) { PyGILState_Release(*state); }
"""


def _write_object(symbol: str, optimised: Any) -> None:
    """Write an optimised module as an object file whose code may lie anywhere, with one name that others see."""
    from llvmlite import binding

    module = binding.parse_bitcode(optimised.as_bitcode())
    needs = [f.name for f in module.functions if f.is_declaration]
    if any(name.startswith(("numba_", "NRT_", "nrt_")) and f" {name}(" not in _SUPPORT for name in needs):
        return  # it calls a function of Numba's: it is compiled where it is needed
    processor, features = os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"]
    target = binding.Target.from_triple(module.triple or binding.get_process_triple())
    machine = target.create_target_machine(cpu=processor, features=features, opt=3, reloc="pic", codemodel="default")
    builder = binding.create_pass_builder(machine, binding.PipelineTuningOptions())
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    Path(os.environ["KIDO_OBJECTS"], f"{symbol}.o").write_bytes(machine.emit_object(module))


def serve() -> None:
    """Write objects of the modules that the lines of standard input name. Runs in a process of its own."""
    from kido.jit.roots import watchers

    watchers.append(_write_object)
    by_module = roots_by_module()
    for line in sys.stdin:
        roots = by_module[line.strip()]
        for root in roots:
            _ = root.address
        print(len(roots), flush=True)


def _link(objects: Iterable[Path], folder: Path, target: Path) -> None:
    """Link objects, the stamp and the places of known addresses as a library."""
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.sysconfig import customize_compiler

    slots = "".join(f"EXPORT void *{image.SLOT}{name};\n" for name in image.known())
    source = folder / "support.c"
    source.write_text(f'{_SUPPORT}EXPORT const char {image.STAMP}[] = "{image.stamp()}";\n{slots}')
    compiler: Any = new_compiler()
    customize_compiler(compiler)
    files = [*map(str, objects), *compiler.compile([str(source)], output_dir=str(folder))]
    target.parent.mkdir(parents=True, exist_ok=True)
    symbols = [Path(name).stem for name in files if Path(name).stem.startswith("kido_")]
    compiler.link_shared_object(
        files,
        str(target),
        libraries=None if os.name == "nt" else ["m"],
        library_dirs=[os.path.join(sys.base_prefix, "libs")] if os.name == "nt" else None,
        export_symbols=symbols if os.name == "nt" else None,
    )


def build_image(
    processor: str,
    folder: Path,
    processes: int | None = None,
    report: Callable[[str], None] | None = None,
    modules: Iterable[str] | None = None,
) -> Path:
    """Compile the package's roots for a kind of processor and link them as a library; returns its path.

    Args:
        processor: LLVM's name of it, or "arm64".
        folder: where the library is put.
        processes: how many processes compile at once; the number of cores by default.
        report: called with a line of progress whenever a module is done.
        modules: whose roots; all by default.

    Raises:
        RuntimeError: a module could not be compiled.
    """
    all_modules = list(roots_by_module())
    jobs = all_modules if modules is None else list(modules)
    target = folder / image.file_name(processor)
    count = 0

    def tell(module: str, functions: int, part: float) -> None:
        nonlocal count
        count += 1
        if report is not None:
            report(f"{count}/{len(jobs)} modules for {processor}: {module} ({functions}), {100 * part:.0f} %")

    with TemporaryDirectory() as work:
        environment = {
            "NUMBA_CPU_NAME": _LLVM_NAMES.get(processor, processor),
            "NUMBA_CPU_FEATURES": "",
            "KIDO_CACHE_DIR": str(Path(work, _CACHE)),
            "KIDO_OBJECTS": work,
        }
        compile_elsewhere(jobs, processes or os.cpu_count() or 1, tell, _SERVE, **environment)
        _link(sorted(Path(work).glob("*.o")), Path(work), target)
    return target
