"""The package as a whole: what an installation holds, how fast it is imported, what the README promises."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import kido
from programs import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def python(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_version_is_the_same_everywhere():
    assert kido.__version__ == PROJECT["version"] == version("kido")
    assert f"## {kido.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", kido.__all__)
def test_every_public_name_is_there(name):
    assert getattr(kido, name) is not None


@pytest.mark.parametrize("module", ["kido", "kido.io", "kido.models"])
def test_what_is_listed_is_public_and_there(module):
    """Names that are imported on first use are listed before, and nothing that is not for users."""
    names = eval(python(f"import {module}; print(dir({module}))"))
    found = importlib.import_module(module)
    assert {"kido": "World", "kido.io": "urdf", "kido.models": "stack"}[module] in names
    assert all(hasattr(found, name) for name in names)
    public = [name for name in names if not name.startswith("_")]
    assert set(public) >= {name for name in found.__all__ if not name.startswith("_")}
    assert not {"Any", "import_module", "annotations", "_HOMES", "_FOLDER"} & set(names)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Wrold'"):
        kido.Wrold  # noqa: B018


@pytest.mark.parametrize("name", ["collision.CollisionOption", "recording.Recording", "simulation.CollisionFilter",
                                  "solvers.Lemke"])  # fmt: skip
def test_packages_are_there_without_importing_them(name):
    assert name.split(".")[1] in python(f"import kido; print(kido.{name})")


def test_import_is_light():
    """`import kido` pulls in neither Numba nor the viewer: `kido --help` answers at once."""
    loaded = python("import sys, kido; print([m for m in ('numba', 'scipy', 'viser', 'h5py') if m in sys.modules])")
    assert loaded == "[]"


def test_library_does_not_need_the_viewer_extra():
    code = "import sys; sys.modules['viser'] = None\nimport kido\nkido.Skeleton('x'); print('fine')"
    assert python(code) == "fine"


def test_types_are_shipped():
    assert (Path(kido.__file__).parent / "py.typed").is_file()


def test_program_is_installed():
    (program,) = entry_points(group="console_scripts", name="kido")
    assert callable(program.load())


def test_readme_has_exactly_two_setup_commands():
    setup = README.split("## Set up")[1].split("## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", setup, re.DOTALL)
    assert len(blocks) == 2
    assert all(len(block.strip().splitlines()) == 1 for block in blocks)
    assert "kido simulate" in blocks[0]
    assert blocks[1].strip().endswith("pytest")


def test_readme_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.usefixtures("warm_kernels")
def test_readme_examples_run():
    """One after the other, as a reader would type them, in a new interpreter."""
    examples = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(examples) >= 3
    printed = python("\n".join(examples))
    assert printed.startswith("1.0")
