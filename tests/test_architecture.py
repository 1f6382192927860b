"""How the house is built: no module uses a name with an underscore that only other packages define."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "tools").is_dir():
    pytest.skip("the tools are not part of an installation", allow_module_level=True)
sys.path.insert(0, str(ROOT / "tools"))

from sources import Project, circles, private_uses, room_of  # noqa: E402


@pytest.fixture(scope="module")
def project() -> Project:
    return Project(ROOT / "src")


def test_no_module_uses_private_names_of_another_package(project: Project) -> None:
    found = sorted({f"{use.module}: {use.name}" for use in private_uses(project) if not use.near and not use.of_self})
    assert found == [], "give the object a method or property without underscore"


def test_packages_do_not_import_each_other_in_a_circle(project: Project) -> None:
    """By the imports of whole files, those for types alone and those inside of functions among them."""
    graph: dict[str, set[str]] = {}
    for module in project.modules.values():
        targets = {room_of(base) for base, _ in module.imports.values() if base.startswith("kido.")}
        graph.setdefault(module.room, set()).update(targets - {module.room})
    graph.pop("kido", None)
    assert circles(graph) == []
