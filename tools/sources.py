"""The sources of the package as parsed files: what each imports, which constants it sets, where a name was made."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import NamedTuple

PACKAGE = "kido"
OF_NAMED_TUPLES = ("_asdict", "_fields", "_make", "_replace")  # public, whatever they look like
UPPER_CASE = re.compile(r"[A-Z][A-Z0-9_]+$")
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass
class Module:
    """A parsed file: its dotted name, its package's first room ("kido.ik"), and what it imports from the project."""

    name: str
    is_package: bool
    tree: ast.Module

    @property
    def room(self) -> str:
        return room_of(self.name)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> dict[str, tuple[str, str | None]]:
        """Local name: (module, name in it, or None for the module itself); of the whole file."""
        return {local: (module, name) for n in self.nodes for local, module, name in self.imported(n)}

    def imported(self, node: ast.AST) -> Iterator[tuple[str, str, str | None]]:
        """(local name, module, name in it) of an import statement; nothing of other nodes."""
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = self.name.split(".")[: len(self.name.split(".")) - node.level + self.is_package]
                base = ".".join([*up, base] if base else up)
            for alias in node.names:
                yield alias.asname or alias.name, base, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name, None

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """Upper-case names (two letters or more, not private) assigned at the file's top level, and their values."""
        result: dict[str, ast.expr] = {}
        for s in self.tree.body:
            if isinstance(s, ast.Assign | ast.AnnAssign) and s.value is not None:
                for target in s.targets if isinstance(s, ast.Assign) else [s.target]:
                    for t in target.elts if isinstance(target, ast.Tuple) else [target]:
                        t = t.value if isinstance(t, ast.Starred) else t
                        if isinstance(t, ast.Name) and UPPER_CASE.match(t.id):
                            result[t.id] = s.value
        return result


@dataclass
class Project:
    """All sources of a package under `src`."""

    src: Path
    texts: dict[Path, str] = field(init=False)
    modules: dict[str, Module] = field(init=False)

    def __post_init__(self) -> None:
        paths = sorted(p for p in (self.src / PACKAGE).rglob("*.py*") if p.suffix in (".py", ".pyi"))
        self.texts = {p: p.read_text() for p in paths}
        self.modules = {}
        for path, text in self.texts.items():
            if path.suffix == ".py":
                parts = path.relative_to(self.src).with_suffix("").parts
                package = parts[-1] == "__init__"
                name = ".".join(parts[:-1] if package else parts)
                self.modules[name] = Module(name, package, ast.parse(text))

    def origin(self, module: str, name: str) -> tuple[str, str]:
        """Module and name under which what `module` calls `name` was made: imports are followed through the project."""
        for _ in range(20):  # no chain of imports is as long
            source, inner = self.modules[module].imports.get(name, ("", None)) if module in self.modules else ("", None)
            if inner is None:
                break
            module, name = source, inner
        return module, name


def room_of(module: str) -> str:
    """The first room of a module: kido.ik of kido.ik.engine.tasks."""
    return ".".join(module.split(".")[:2])


def words(name: str) -> str:
    """A name as lower-case words: "screw_joint" of ScrewJoint, SCREW_JOINT and screw_joint."""
    return "_".join(WORDS.findall(name)).lower()


def is_inside(module: str) -> bool:
    return module == PACKAGE or module.startswith(PACKAGE + ".")


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def is_private(name: str) -> bool:
    return len(name) > 1 and name[0] == "_" and not name.startswith("__") and name not in OF_NAMED_TUPLES


class PrivateUse(NamedTuple):
    """A private name that a module reaches for and does not define: on self (or cls) or not, with a definition in the
    module's own room or not."""

    module: str
    name: str
    of_self: bool
    near: bool


def private_uses(project: Project) -> Iterator[PrivateUse]:
    """Uses of private names in modules that do not define them, where others of the project do."""
    defined: dict[str, set[str]] = defaultdict(set)
    for m in project.modules.values():
        for n in m.nodes:
            name = ""
            if isinstance(n, ast.FunctionDef | ast.ClassDef):
                name = n.name
            elif isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                name = n.id
            elif isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and is_self(n.value):
                name = n.attr
            if is_private(name):
                defined[name].add(m.name)
    for m in project.modules.values():
        for n in m.nodes:
            for name, of_self in _reached(m, n):
                places = defined.get(name, set())
                if places and m.name not in places:
                    yield PrivateUse(m.name, name, of_self, any(room_of(p) == m.room for p in places))


def _reached(module: Module, node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Private names that a node reaches for, and whether it does so on self."""
    if isinstance(node, ast.Attribute) and is_private(node.attr):
        yield node.attr, is_self(node.value)
    elif isinstance(node, ast.ImportFrom):
        yield from ((n, False) for _, base, n in module.imported(node) if n and is_private(n) and is_inside(base))
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "setattr", "hasattr"):
        name = node.args[1] if len(node.args) > 1 else None
        if isinstance(name, ast.Constant) and is_private(str(name.value)):
            yield str(name.value), False


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of two nodes or more (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    result: list[list[str]] = []
    numbers = count()

    def visit(v: str) -> None:
        number[v] = low[v] = next(numbers)
        stack.append(v)
        for w in sorted(graph.get(v, ())):
            if w not in number:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], number[w])
        if low[v] == number[v]:
            k = stack.index(v)
            if len(stack) - k > 1:
                result.append(stack[k:])
            del stack[k:]

    for v in graph:
        if v not in number:
            visit(v)
    return result
