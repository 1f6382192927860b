"""The examples of CONTRIBUTING.md run, each recipe in a process of its own, and name files that are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from programs import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "CONTRIBUTING.md").is_file():
    pytest.skip("the recipes are not part of an installation", allow_module_level=True)
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = {part.split("\n")[0]: part for part in TEXT.split("\n## ")[1:]}

# A block of a file that is there runs in its module; of another one it becomes a module.
RUN = """
import importlib, importlib.util, re, sys, types
own = {}
for block in re.findall(r"```python\\n(.*?)```", sys.stdin.read(), re.DOTALL):
    head = re.match(r"# src/(\\S+)\\.py\\n", block)
    if head is None:
        exec(block, own)
        continue
    name = head[1].replace("/", ".")
    if importlib.util.find_spec(name) is not None:
        module = importlib.import_module(name)
    else:
        module = sys.modules[name] = types.ModuleType(name)
    exec(compile(block, head[1] + ".py", "exec"), vars(module))
"""


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_runs(name: str, tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "KIDO_QUIET": "1"}  # nothing is compiled for an example
    done = subprocess.run([sys.executable, "-c", RUN], input=RECIPES[name], env=environment, cwd=tmp_path,
                          capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_names_what_is_there(name: str) -> None:
    """Files and folders in its text; those of the examples may be new."""
    text = re.sub(r"```.*?```", "", RECIPES[name], flags=re.DOTALL)
    paths = [*re.findall(r"`((?:src|tests|docs)/[\w./]*)`", text), *re.findall(r"\]\(([\w./-]+)\)", text)]
    assert [p for p in paths if not (ROOT / p).exists()] == []
