"""`tools/structure.py` counts a small package, made here, as one counts it by hand."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[1] / "tools"
if not TOOLS.is_dir():
    pytest.skip("the tools are not part of an installation", allow_module_level=True)
sys.path.insert(0, str(TOOLS))

import sources  # noqa: E402
import structure  # noqa: E402

FILES = {
    "__init__.py": "",
    "skeleton/__init__.py": "from kido.skeleton.skeleton import Skeleton\n",
    "skeleton/skeleton.py": '''
        """A description."""
        from typing import TYPE_CHECKING
        from kido.skeleton.results import Results

        if TYPE_CHECKING:
            from kido.simulation.world import World

        class Skeleton(Results, dict[str, int]):
            world: "World | None" = None

            def __init__(self):
                self._data = 1
                self._positions_version = 0
    ''',
    "skeleton/results.py": '''
        class Base:
            pass

        class Results(Base):
            def com(self):
                return self._data + self._data  # type: ignore

            def compute_coriolis_matrix(self, positions):
                """Like ellipsoid, which a docstring may name."""
                return getattr(self.world, "_engine")
    ''',
    "skeleton/joints/types.py": "class UniversalJoint:\n    def compute_rate(self):\n        return 0\n",
    "kernels/__init__.py": "",
    "kernels/slots.py": "FIRST, SECOND, THIRD = range(3)\nLEFT = 7\nSHARED = 1\n_OWN = 1\nNAME = 'x'\n",
    "kernels/entries.py": """
        from kido.kernels import slots
        from kido.kernels.slots import FIRST, LEFT, NAME

        SHARED = 2
        _OWN = 2

        @entry
        def coriolis_matrix(tree, given, q, out):
            out[FIRST] = tree[FIRST, 0] + tree[slots.SECOND] + tree[LEFT] + tree[NAME]

        def helper(given):
            return given
    """,
    "simulation/__init__.py": "",
    "simulation/world.py": """
        from kido.kernels.entries import helper
        from kido.skeleton import Skeleton
        from kido.simulation.parts import Parts as Shared

        class World(Shared):
            def __init__(self):
                self._engine = helper
                self.ellipsoid = "universal"
                skeleton = Skeleton()
                skeleton._data = 2

            def sleep(self, engine, state, other):
                if engine.soft is not None and engine.loops:
                    return state.get("loops") is None
                return other is None
    """,
    "simulation/parts.py": """
        class Parts:
            def look(self, world):
                from kido.simulation.world import World
                return world._engine, World  # pyright: ignore
    """,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> sources.Project:
    src = tmp_path_factory.mktemp("src")
    for name, text in FILES.items():
        path = src / "kido" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
    return sources.Project(src)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (structure.inheritance, "3 / 2"),  # Skeleton, Results, Base; World, Parts
        (structure.compute_functions, "1"),  # that of the joint is no quantity
        (structure.given_kernels, "1"),  # the helper is no kernel
        (structure.numbered_slots, "2 / 3"),  # FIRST twice, SECOND once; THIRD is not used
        (structure.all_slots, "3 / 4"),  # LEFT too; NAME is a string
        (structure.repeated_constants, "1"),  # SHARED; _OWN is private
        (structure.private_names, "2 + 1 / 2"),  # self._data twice; world._engine; getattr _engine, skeleton._data
        (structure.staleness, "1"),  # _positions_version
        (structure.type_ignores, "2"),
        (structure.import_circles, "1 over 3 files, 1 of packages"),  # what a function imports closes no circle
        (structure.optional_parts, "3 in 1 files"),  # soft, loops, "loops"; `other` is none of the parts
        (structure.files_to_touch("quantity"), "2 and 0"),
        (structure.files_to_touch("IK task"), "0 and 0"),
        (structure.files_to_touch("step feature"), "1 and 0"),
        (structure.files_to_touch("joint type"), "2"),  # the class, and the string
        (structure.files_to_touch("shape"), "1"),  # the attribute, not the docstring
    ],
)
def test_counts(project: sources.Project, measure, expected):
    assert measure(project).text == expected


def test_size(project: sources.Project, tmp_path: Path):
    lines = sum(len(text.splitlines()) for text in project.texts.values())
    assert structure.size(project).text == f"{lines / 1000:.1f} k / {len(FILES)}"
    stub = tmp_path / "kido" / "made.pyi"
    stub.parent.mkdir()
    stub.write_text("# Generated from the table of quantities.\n" * 200)
    (tmp_path / "kido" / "own.py").write_text("x = 1\n" * 100)
    assert structure.size(sources.Project(tmp_path)).text == "0.1 k / 1 (+ 0.2 k / 1 generated)"


def test_circles():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set(), "f": {"f"}}
    assert [set(c) for c in sources.circles(graph)] == [{"a", "b", "c"}]


def test_names_as_words():
    assert [sources.words(n) for n in ("ScrewJoint", "SCREW_JOINT", "_screw_joint", "IKTask2")] == [
        "screw_joint",
        "screw_joint",
        "screw_joint",
        "ik_task_2",
    ]


def test_table_has_a_row_for_each_measure(monkeypatch: pytest.MonkeyPatch, project: sources.Project):
    monkeypatch.setattr(structure, "project_at", lambda revision, folder: project)
    lines = structure.table([".", "old"]).splitlines()
    assert lines[0] == "| measure | working tree | old | aim |"
    assert len(lines) == len(structure.ROWS) + 2
    assert all(line.count(" | ") == 3 for line in lines)
    assert all(row.measure.__doc__ for row in structure.ROWS)  # what --explain prints
