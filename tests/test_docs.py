"""The documentation names everything that is public, once, and nothing that is not there."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kido

DOCS = Path(__file__).parents[1] / "docs"
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
PACKAGES = (
    "kido", "kido.actuation", "kido.analysis", "kido.batch", "kido.control", "kido.demos", "kido.devices",
    "kido.dynamics", "kido.environment", "kido.flexible", "kido.gym", "kido.identification", "kido.ik",
    "kido.ik.analytical", "kido.ik.motion", "kido.integrators", "kido.layouts", "kido.manipulation", "kido.math",
    "kido.models", "kido.operators", "kido.optimal_control", "kido.optimization", "kido.planning", "kido.recording",
    "kido.rendering", "kido.simulation", "kido.systems", "kido.viewer",
)  # fmt: skip
_EQUATIONS = re.compile(r"\.(outputs|derivatives|update|crossings|at_\w+)$")
DIRECTIVE = re.compile(r"^\.\. (auto\w+|members):: (\S+)\n((?:   .*\n|\n(?=   ))*)", re.MULTILINE)


def directives() -> Iterator[tuple[str, str, str]]:
    """Kind, name and body of each directive of the reference."""
    for page in REFERENCE:
        for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page.read_text(), re.DOTALL):
            yield from DIRECTIVE.findall(block)


def found(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def public() -> dict[str, Any]:
    """All public things by their shortest names."""
    names: dict[int, tuple[str, Any]] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if name != "__version__":
                names.setdefault(id(value), (f"{package}.{name}", value))
    return dict(names.values())


def classes() -> dict[str, type]:
    return {name: value for name, value in public().items() if inspect.isclass(value)}


def members(kind: type) -> dict[str, type]:
    """Public methods and properties of a class that are KIDO's own: name -> the class that defines it."""
    own = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("kido"):
            for name, value in vars(base).items():
                described = isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value)
                if described and not name.startswith("_"):
                    own[name] = base
    return own


def test_every_public_name_is_in_the_reference_once() -> None:
    listed = Counter(name for kind, name, _ in directives() if kind != "members")
    assert [name for name, count in listed.items() if count > 1] == []
    assert sorted(set(public()) - set(listed)) == []


def test_every_public_member_is_in_the_reference_once() -> None:
    written: Counter[tuple[str, str]] = Counter()
    for kind, name, body in directives():
        if kind == "members":
            written.update((name, member) for member in body.split())
        elif kind == "autoclass" and ":no-members:" not in body:
            last = re.search(r":inherited-members: (.*)", body)
            stop = set(last[1].replace(",", " ").split()) if last else None
            for member, owner in members(found(name)).items():
                if owner is found(name) or (stop is not None and owner.__name__ not in stop):
                    written[name, member] += 1
    assert [entry for entry, count in written.items() if count > 1] == []
    there = {(members(found(name))[member], member) for name, member in written}  # a KeyError: there is no such one
    internal = {"CompiledIntegrator", "Places", "StateArrays", "Selections"}  # what kernels need of these
    missing = sorted(
        f"{name}.{member}"
        for name, kind in classes().items()
        for member, owner in members(kind).items()
        if (owner, member) not in there and owner.__name__ not in internal and not issubclass(kind, BaseException)
    )
    assert missing == []


@pytest.mark.parametrize("name", sorted(public()))
def test_every_public_thing_says_what_it_is(name: str) -> None:
    value = public()[name]
    things = {name: value}
    if inspect.isclass(value):
        things |= {f"{name}.{member}": getattr(value, member) for member in members(value)}
    if inspect.isclass(value) and issubclass(value, kido.systems.Model):  # its own documentation has the equations
        things = {what: thing for what, thing in things.items() if not _EQUATIONS.search(what)}
    silent = [what for what, thing in things.items() if not (inspect.getdoc(thing) or "").strip(" .\n")]
    assert silent == []


@pytest.mark.parametrize("page", ["batches", "contacts", "flexible", "ik_solve", "soft_bodies"])
def test_examples_of_the_reference_run(page: str) -> None:
    """Those that stand on their own, with one of our models for the reader's file."""
    text = (DOCS / "reference" / f"{page}.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    assert "import kido" in code
    exec(code.replace('"robot.urdf"', repr(str(kido.models.path("arm7")))), {})


# Tables of names of other programs -----------------------------------------------------------------------------

OBJECTS: dict[str, Any] = {
    "robot": kido.Skeleton, "skel": kido.Skeleton, "skeleton": kido.Skeleton, "body": kido.BodyNode,
    "node": kido.BodyNode, "world": kido.World, "frame": kido.SimpleFrame, "joint": kido.Joint,
    "dof": kido.DegreeOfFreedom, "batch": importlib.import_module("kido.batch").Batch, "shape": kido.ShapeNode,
    "constraint": kido.BodyConstraint, "group": kido.collision.CollisionGroup,
    "detector": kido.collision.CollisionDetector,
}  # fmt: skip
WORDS = {"None", "copy.deepcopy", "pickle"}  # Python's own


def names_of_ours(page: Path) -> Iterator[str]:
    """What the second column of a page's first table names."""
    table = page.read_text().split("## What differs")[0]
    for line in table.splitlines():
        if line.startswith(("| `", "| keyframes", "| site", "| actuators", "| Aspects")):
            yield from re.findall(r"`([^`]+)`", line.strip().strip("|").split(" | ")[-1])


def exists(code: str) -> bool:
    """Whether the names at the start of a piece of code are there; without an object before it, on any of ours."""
    path = re.match(r"\.?[A-Za-z_][\w.]*", code)
    if path is None or code in WORDS:
        return code in WORDS
    first, *rest = path[0].strip(".").split(".")
    if first == "kido":
        value: Any = kido
        for name in rest:
            value = getattr(value, name, None)
            if value is None:
                return False
        return True
    if first in OBJECTS and rest:
        return all(hasattr(OBJECTS[first], name) or name in ("contacts", "dofs") for name in rest[:1])
    if hasattr(kido, first):
        return True
    candidates = [*OBJECTS.values(), kido.ContactSet, found("kido.layouts.StateLayout")]
    annotations = {name for kind in candidates for name in getattr(kind, "__annotations__", {})}
    return first in annotations or any(hasattr(kind, first) for kind in candidates)


def fits(code: str) -> bool:
    """Whether a call, if it is one of a method of ours, has arguments that the method takes."""
    try:
        tree = ast.parse(code.replace("(...)", "()"), mode="eval").body
    except SyntaxError:
        return True
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
        return True
    owner = tree.func.value
    if "(...)" in code or not isinstance(owner, ast.Name) or owner.id not in OBJECTS:
        return True
    method = inspect.signature(getattr(OBJECTS[owner.id], tree.func.attr))
    given = [a for a in tree.args if not (isinstance(a, ast.Constant) and a.value is ...)]
    try:
        method.bind(owner, *given, **{k.arg: k.value for k in tree.keywords if k.arg})
    except TypeError:
        return len(given) < len(tree.args)
    return True


@pytest.mark.parametrize("page", ["dartpy", "pinocchio", "mujoco"])
def test_tables_of_other_programs_name_what_is_there(page: str) -> None:
    names = list(names_of_ours(DOCS / "coming_from" / f"{page}.md"))
    assert len(names) > 20
    assert [name for name in names if not (exists(name) and fits(name))] == []
