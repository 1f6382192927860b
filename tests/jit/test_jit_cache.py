"""The cache of compiled kernels: what makes it stale, where it lies, what a person sees when it is cold.

Each test runs programs of its own, with a cache directory of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kido
from kido.jit import JIT_DISABLED

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="kernels run as plain Python (NUMBA_DISABLE_JIT)")

PACKAGE = Path(kido.__file__).parent
COLD = "kido: compiling kernels (once per machine) ...\n"


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("KIDO_QUIET", "NUMBA_DISABLE_JIT")}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**env, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


ONE_KERNEL = """
import numpy as np
from kido.kernels import entries
target = np.zeros(2)
assert entries.set_numbers(np.array([1.0, 2.0]), target) == 0
assert target.tolist() == [1.0, 2.0]
print(entries.set_numbers.origin)
"""


def test_a_cold_machine_is_told_once_and_a_warm_one_nothing(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    two = ONE_KERNEL + "from kido.math.trig import sincos\nsincos(1.0)\n"
    cold = run(two, KIDO_CACHE_DIR=cache)
    assert cold.stderr == COLD  # two kernels, one line
    assert cold.stdout == "compiled\n"
    warm = run(two, KIDO_CACHE_DIR=cache)
    assert warm.stderr == ""
    assert warm.stdout == "cache\n"


def test_quiet_says_nothing(tmp_path: Path) -> None:
    assert run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path), KIDO_QUIET="1").stderr == ""


def test_a_cache_directory_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    """A path below a file: nobody, not even root, can create a directory there."""
    (tmp_path / "file").write_text("not a directory")
    done = run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert done.stdout == "compiled\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache_directory_is_no_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    done = run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout == "compiled\n"


def damage(path: Path, kind: str) -> None:
    content = bytearray(path.read_bytes())
    if kind == "cut":
        del content[20:]
    elif kind == "flipped":
        content[len(content) // 2] ^= 4
    else:
        content.clear()
    path.write_bytes(content)


@pytest.mark.parametrize("kind", ["cut", "flipped", "empty"])
def test_a_damaged_cache_file_is_compiled_anew(tmp_path: Path, kind: str) -> None:
    run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path))
    files = [f for f in tmp_path.rglob("*") if f.is_file()]
    assert files and all(f.suffix == ".nbc" or f.parents[1].name == "raw" for f in files)
    for f in files:
        damage(f, kind)
    assert run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path)).stdout == "compiled\n"
    assert run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path)).stdout == "cache\n"  # repaired


def test_a_file_under_another_name_is_not_taken_for_it(tmp_path: Path) -> None:
    run(ONE_KERNEL + "from kido.jit.team import serve\nserve.compile()\n", KIDO_CACHE_DIR=str(tmp_path))
    one, other = tmp_path.rglob("*-root.*.nbc")
    content = one.read_bytes(), other.read_bytes()
    one.write_bytes(content[1])
    other.write_bytes(content[0])
    assert run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path)).stdout == "compiled\n"
    assert run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path)).stdout == "cache\n"


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_cache_directory_open_to_all_is_warned_of(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    done = run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path), KIDO_QUIET="1")
    assert "everybody may write in this directory of compiled code" in done.stderr
    tmp_path.chmod(0o755)
    assert run(ONE_KERNEL, KIDO_CACHE_DIR=str(tmp_path), KIDO_QUIET="1").stderr == ""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with a copy of the package that a test may edit."""
    folder = tmp_path / "source"
    unneeded = shutil.ignore_patterns("__pycache__", "viewer", "models", "io")
    shutil.copytree(PACKAGE, folder / "kido", ignore=unneeded)
    return folder


NAMES = [
    "kido.math.trig", "kido.math.so3", "kido.joints.motion", "kido.kernels.entries", "kido.collision.gjk",
]  # fmt: skip
EDITS = {  # file: which of the modules named above it makes stale
    "jit/compile.py": [True, True, True, True, True],
    "math/trig.py": [True, True, True, True, True],
    "math/so3.py": [False, True, True, True, True],
    "joints/motion.py": [False, False, True, True, False],
    "kernels/energy.py": [False, False, False, True, False],
    # Neither a shape, nor the skeleton, nor a solver recompiles the recursions.
    "shapes/box.py": [False, False, False, False, False],
    "skeleton/joints/joint.py": [False, False, False, False, False],
    "solvers/cone.py": [False, False, False, False, False],
}
STAMPS = """
import importlib, json, pathlib, sys
from kido.jit import cache
names, edits = json.loads(sys.argv[1])
for name in names:
    importlib.import_module(name)

def stamps():
    cache.source_stamp.cache_clear()
    cache._text_and_imports.cache_clear()
    cache._compiler_stamp.cache_clear()
    return [cache.source_stamp(name) for name in names]

found = {}
last = stamps()
assert len(set(last)) == len(names) and last == stamps()
for edited in edits:
    with open(pathlib.Path(cache.__file__).parents[1] / edited, "a") as file:
        file.write("# edited\\n")
    now = stamps()
    found[edited] = [a != b for a, b in zip(last, now)]
    last = now
print(json.dumps(found))
"""


def test_stamps_change_with_what_a_module_imports_and_nothing_else(copied: Path) -> None:
    done = run(STAMPS, json.dumps([NAMES, list(EDITS)]), PYTHONPATH=str(copied))
    assert json.loads(done.stdout) == EDITS


def test_an_edit_in_a_called_module_reaches_the_caller(copied: Path, tmp_path: Path) -> None:
    """What Numba's own cache misses."""
    callee, caller = copied / "kido" / "probe_callee.py", copied / "kido" / "probe_caller.py"
    callee.write_text("from kido.jit import kernel\n\n\n@kernel\ndef f(x):\n    return x + 1.0\n")
    caller.write_text(
        "from kido.jit import entry\nfrom kido.probe_callee import f\n\n\n"
        "@entry('f8(f8)')\ndef g(x):\n    return 10.0 * f(x)\n"
    )
    code = "from kido.probe_caller import g\nprint(g(1.0), g.origin)"
    places = {"PYTHONPATH": str(copied), "KIDO_CACHE_DIR": str(tmp_path / "cache")}
    assert run(code, **places).stdout == "20.0 compiled\n"
    assert run(code, **places).stdout == "20.0 cache\n"
    callee.write_text(callee.read_text().replace("1.0", "2.0"))
    assert run(code, **places).stdout == "30.0 compiled\n"
    (copied / "kido" / "shapes" / "box.py").open("a").write("# edited\n")
    assert run(code, **places).stdout == "30.0 cache\n"


SYMBOLS = """
from kido.solvers.cone import solve_contact
from kido.solvers.gauss_seidel import gauss_seidel_island

assert gauss_seidel_island.address
print(solve_contact(2.0, 0.3, 0.1, 1.0, 0.2, 1.5, -1.0, 4.0, -2.0, 0.0, 0.0, 0.0))
"""


def test_a_kernel_is_called_from_python_beside_a_root_that_contains_it():
    # Optimised as a part of the root it may take other arguments; its name must not lead there. Frictionless: the
    # impulse is that which stops the approach, 1 / 2.
    result = run(SYMBOLS)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "(0.5, 0.0, 0.0)\n"


@pytest.mark.parametrize("seed", range(20))
def test_callers_are_linked_before_what_they_call(seed):
    """What nothing calls yet is not linked: so each library comes behind all that call it, once."""
    from kido.jit.deferred import RawLibrary

    rng = np.random.default_rng(seed)
    libraries = [object.__new__(RawLibrary) for _ in range(30)]
    for k, library in enumerate(libraries):
        later = libraries[k + 1 :]
        chosen = rng.permutation(len(later))[: rng.integers(0, 4)]
        library._linking_libraries = [later[int(c)] for c in chosen]
        library._finalized = False
    root = object.__new__(RawLibrary)
    root._linking_libraries, root._finalized = libraries[:3], False
    found = root.called()
    place = {id(library): k for k, library in enumerate(found)}
    assert len(place) == len(found)
    for library in found:
        assert all(place[id(library)] < place[id(callee)] for callee in library._linking_libraries)
