"""The library of machine code that a wheel holds: when it is taken, and what happens when it does not fit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kido
from kido.jit import JIT_DISABLED, image

pytestmark = [
    pytest.mark.skipif(JIT_DISABLED, reason="kernels run as plain Python (NUMBA_DISABLE_JIT)"),
    pytest.mark.skipif(not image.processors(), reason="no library is built for this kind of processor"),
    pytest.mark.skipif(os.name != "nt" and shutil.which("cc") is None, reason="there is no C compiler that links"),
]

BUILD = """
import sys
from pathlib import Path
from kido.jit.precompile import build_image
build_image(sys.argv[1], Path(sys.argv[2]), 1, modules=["kido.jit.team", "kido.math.hull"])
"""
USE = """
import sys
import numpy as np
import kido
from kido.jit.team import Team, serve
from kido.math.hull import convex_hull, hull_of
team = Team(1)
team._stopped()
assert serve(team.address, 0) == 0
square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.0, 1.0]])
assert len(convex_hull(square)) == 4
try:
    hull_of(square.astype(np.float32), 0, 0)
except TypeError as error:
    assert "hull_of takes" in str(error)
print(serve.origin, hull_of.origin, "numba" in sys.modules)
"""


def run(folder: Path, cache: Path, code: str, *arguments: str, **environment: str) -> str:
    """What a program prints that runs with a copy of the package."""
    own = {"PYTHONPATH": str(folder), "KIDO_CACHE_DIR": str(cache), "KIDO_QUIET": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package that holds a library of two roots."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(Path(kido.__file__).parent, folder / "kido", ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path_factory.mktemp("cache")
    run(folder, cache, BUILD, image.processors()[-1], str(folder / "kido" / "jit" / "images"))
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


def test_a_library_of_the_present_sources_is_taken(installed: Path, cache: Path) -> None:
    """And Numba is not even imported."""
    assert run(installed, cache, USE) == "image image False"


@pytest.mark.parametrize("reason", [{"KIDO_PRECOMPILED": "0"}, {"KIDO_DEBUG": "1"}], ids=["unwanted", "debugging"])
def test_it_is_left_aside(installed: Path, cache: Path, reason: dict[str, str]) -> None:
    assert run(installed, cache, USE, **reason).endswith("True")


@pytest.mark.parametrize("what", ["source", "stamp", "garbage", "missing function"])
def test_what_does_not_fit_is_compiled(installed: Path, cache: Path, tmp_path: Path, what: str) -> None:
    shutil.copytree(installed, tmp_path / "copy")
    folder = tmp_path / "copy" / "kido"
    (library,) = (folder / "jit" / "images").iterdir()
    content = library.read_bytes()
    if what == "source":
        (folder / "shapes" / "box.py").open("a").write("# edited\n")
    elif what == "stamp":
        library.write_bytes(content.replace(b" sources ", b" Sources "))
    elif what == "garbage":
        library.write_bytes(b"no library")
    else:
        from kido.jit.team import serve

        library.write_bytes(content.replace(serve.symbol.encode(), b"kidx" + serve.symbol[4:].encode()))
    serve_origin, hull_origin, numba = run(folder.parent, cache, USE).split()
    assert serve_origin in ("compiled", "cache") and numba == "True"
    assert (hull_origin == "image") == (what == "missing function")
