"""What type checkers and editors know of KIDO: names, what is loaded, and that misspelt ones are not there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_overloads

import pytest

import kido
from programs import PATIENCE

pytest.importorskip("pyright", reason="the type checker comes with the extra dev")
ROOT = Path(__file__).resolve().parents[1]
ARRAY = "ndarray[tuple[Any, ...], dtype[float64]]"
# Expressions and their types.
KNOWN = f"""
kido.load("humanoid")  # Skeleton
kido.load("stack")  # World
kido.load(path)  # Skeleton | World | Motion | MarkerMotion
kido.load_skeleton(path)  # Skeleton
kido.load_world(path)  # World
kido.io.urdf.read(path)  # Skeleton
kido.io.sdf.read(path)  # World
kido.io.skel.read(path)  # World
kido.models.stack(3)  # World
world.skeletons  # tuple[Skeleton, ...]
world.contacts[0]  # Contact
world.add_constraint(kido.BallJointConstraint(robot.body("a")))  # BallJointConstraint
robot.mass_matrix  # {ARRAY}
robot.joint("elbow").damping  # {ARRAY}
robot.dof("elbow").position_upper_limit  # float
robot.body("hand").add_shape(kido.Sphere(0.1))  # ShapeNode
kido.Recording.open(path)  # Recording
kido.ik.IkSolver(robot.body("hand")).solve()  # IkResult
kido.viewer.Viewer(world)  # Viewer
"""
# Statements that are right, though types might be too narrow for them.
RIGHT = """
robot.positions = [0.0, 1.0]
robot.joint("elbow").damping = 0.1
robot.joint("elbow").damping = [0.1]
robot.dof("elbow").position = 1
world.gravity = (0, 0, -9.81)
kido.RevoluteJoint("a", axis=(0, 0, 1)).axis = [1, 0, 0]
"""
# Statements that are wrong.
MISTAKES = """
kido.Wrold()
kido.models.stak()
kido.io.udrf.read("robot.urdf")
kido.solvers.Lemkee()
world.stpe()
world.time_stp = 0.1
world.report.max_penetraton
world.contacts.point
robot.positoins
robot.positoins = [0.0]
robot.body("hand").masss
robot.joint("elbow").dampng
robot.dof("elbow").postion
robot.dof("elbow").position = "up"
kido.load_skeleton("robot.urdf").step()
kido.load_world("robot.urdf").positions
kido.load("humanoid").step()
kido.load("robot.urdf").stpe()
kido.Recording.open("a.h5").framse
"""
HEAD = """import kido

def check(world: kido.World, robot: kido.Skeleton, path: str):
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, list[str]]]:
    """What the checker says, by file and line from 1."""
    folder = tmp_path_factory.mktemp("types")
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    known = [f"reveal_type({line.split('  # ')[0]})" for line in KNOWN.strip().splitlines()]
    texts = {
        "known": HEAD + "".join(f"    {line}\n" for line in known),
        "right": HEAD + "".join(f"    {line}\n" for line in RIGHT.strip().splitlines()),
        "mistakes": HEAD + "".join(f"    {line}\n" for line in MISTAKES.strip().splitlines()),
        "readme": "\n".join(examples),
    }
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(Path(kido.__file__).parents[1])]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=PATIENCE)
    try:
        diagnostics = json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        pytest.skip(f"pyright does not run: {done.stdout[-200:]}{done.stderr[-200:]}")
    found: dict[str, dict[int, list[str]]] = {name: {} for name in texts}
    for one in diagnostics:
        if one["severity"] != "warning":
            lines = found[Path(one["file"]).stem]
            lines.setdefault(one["range"]["start"]["line"] + 1, []).append(one["message"])
    return found


def statements(text: str) -> list[tuple[int, str]]:
    """Lines of a file and what stands there."""
    first = HEAD.count("\n") + 1
    return list(enumerate(text.strip().splitlines(), first))


def test_results_have_types(checked):
    told = {line: re.sub(r'.* is "(.*)"$', r"\1", text) for line, (text,) in checked["known"].items()}
    assert told == {line: text.split("  # ")[1] for line, text in statements(KNOWN)}


def test_right_statements_pass(checked):
    assert checked["right"] == {}


def test_examples_of_the_readme_pass(checked):
    assert checked["readme"] == {}


@pytest.mark.parametrize("line, text", statements(MISTAKES))
def test_mistakes_are_refused(checked, line, text):
    assert line in checked["mistakes"], text


def test_bundled_models_are_typed_by_what_they_hold():
    """The overloads of `load` name every bundled model."""
    kinds = {}
    for overload in get_overloads(kido.load)[:2]:
        hints = overload.__annotations__
        kinds |= dict.fromkeys(re.findall(r"['\"](\w+)['\"]", hints["path"]), hints["return"])
    assert kinds == {name: type(kido.load(name)).__name__ for name in kido.models.names()}
