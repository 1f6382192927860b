"""How the house is built, in numbers: size, inheritance, slots, private names, circles, files to touch.

    python tools/structure.py                    the working tree
    python tools/structure.py REV [REV ...]      commits, side by side ("." is the working tree)
    python tools/structure.py --explain          what each row counts
    python tools/structure.py --names ROW        what was counted in the rows whose titles contain ROW

Sources are read as text (`git archive`) and parsed with `ast`: nothing of them is imported or run. Each row is a
function below, whose docstring is its definition. Names that a row looks for stand in lists in the old and in the new
spelling, so that one script measures commits from before and after a change of words.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sources import PACKAGE, Module, Project, circles, private_uses, room_of, words

ROOT = Path(__file__).resolve().parents[1]
# What a world may have besides contacts, and the names under which its engine keeps that.
OPTIONAL_PARTS = {
    *("soft", "soft_bodies", "soft_skins", "loops", "loop_system", "compounds", "aggregates"),
    *("sleep", "sleepers", "sleeping", "touch_log", "contact_events", "events"),
    *("threads", "team", "smooth_motion", "motion", "feature", "features"),
}
# Words in the name of an attribute that says whether something else is up to date.
STALENESS = {"stale", "fresh", "version", "stamp", "epoch", "revision", "generation", "dirty", "valid", "outdated"}
# Rooms in which such words speak of files, formats and compiled code.
OTHER_VERSIONS = {"cli", "io", "jit", "models", "recording", "viewer"}
# Rooms whose `compute_*` are methods of a frame, a joint or an error of inverse kinematics and not of a skeleton.
OTHER_COMPUTE = {"frames", "joints", "ik"}


class Measure(NamedTuple):
    """Numbers of a row, in the order in which they are printed, and what was counted."""

    text: str
    found: list[str]


def size(project: Project) -> Measure:
    """Lines and files of Python under src, stubs included. Files that begin with "# Generated" are given apart."""
    made = {p for p, t in project.texts.items() if re.match(r"(#|\"\"\")\s*generated\b", t, re.IGNORECASE)}
    lines = {p: len(t.splitlines()) for p, t in project.texts.items()}
    own = [n for p, n in lines.items() if p not in made]
    text = f"{sum(own) / 1000:.1f} k / {len(own)}"
    if made:
        text += f" (+ {sum(lines[p] for p in made) / 1000:.1f} k / {len(made)} generated)"
    return Measure(text, [f"{p.relative_to(project.src)} {n}" for p, n in lines.items()])


def inheritance(project: Project) -> Measure:
    """Classes of the project among Skeleton and its ancestors, and among World and its: bases are followed by name."""
    classes = {(m.name, n.name): n for m in project.modules.values() for n in m.nodes if isinstance(n, ast.ClassDef)}

    def ancestors(module: str, name: str, seen: set[tuple[str, str]]) -> set[tuple[str, str]]:
        if (module, name) in classes and (module, name) not in seen:
            seen.add((module, name))
            for base in classes[module, name].bases:
                base = base.value if isinstance(base, ast.Subscript) else base
                if isinstance(base, ast.Name):
                    ancestors(*project.origin(module, base.id), seen)
        return seen

    numbers, found = [], []
    for room, name in (("skeleton", "Skeleton"), ("simulation", "World")):
        where = sorted((m for m, n in classes if n == name and room_of(m) == f"{PACKAGE}.{room}"), key=len)
        family = sorted(ancestors(where[0], name, set())) if where else []
        numbers.append(str(len(family)))
        found += [f"{name}: {m}.{n}" for m, n in family]
    return Measure(" / ".join(numbers), found)


def compute_functions(project: Project) -> Measure:
    """Functions `compute_*` written out, outside of frames, joints and ik."""
    found = [
        f"{m.name}.{n.name}"
        for m in project.modules.values()
        if not OTHER_COMPUTE & set(m.name.split("."))
        for n in m.nodes
        if isinstance(n, ast.FunctionDef) and n.name.startswith("compute_")
    ]
    return Measure(str(len(found)), found)


def given_kernels(project: Project) -> Measure:
    """Decorated functions in `kernels` with a parameter `given`: whether a state was given, or the current one is."""
    found = [
        f"{m.name}.{n.name}"
        for m in project.modules.values()
        if m.room == f"{PACKAGE}.kernels"
        for n in m.nodes
        if isinstance(n, ast.FunctionDef) and n.decorator_list and "given" in [a.arg for a in n.args.args]
    ]
    return Measure(str(len(found)), found)


def _slots(project: Project, kinds: Callable[[ast.expr], bool]) -> Measure:
    """Upper-case constants whose value is of a kind, used as (one of the) indices in brackets."""
    uses: Counter[tuple[str, str]] = Counter()
    for m in project.modules.values():
        for n in m.nodes:
            if isinstance(n, ast.Subscript):
                for index in n.slice.elts if isinstance(n.slice, ast.Tuple) else [n.slice]:
                    place = None
                    if isinstance(index, ast.Name):
                        place = project.origin(m.name, index.id)
                    elif isinstance(index, ast.Attribute) and isinstance(index.value, ast.Name):
                        module, inner = m.imports.get(index.value.id, ("", None))
                        place = (f"{module}.{inner}" if inner else module, index.attr)
                    if place and place[0] in project.modules:
                        value = project.modules[place[0]].constants.get(place[1])
                        if value is not None and kinds(value):
                            uses[place] += 1
    return Measure(f"{len(uses)} / {sum(uses.values()):,}", [f"{m}.{n} {k}" for (m, n), k in sorted(uses.items())])


def numbered_slots(project: Project) -> Measure:
    """Constants numbered by `A, B, ... = range(...)` that are used as an index, and those uses: `count[NAME]`."""
    return _slots(project, lambda v: isinstance(v, ast.Call) and isinstance(v.func, ast.Name) and v.func.id == "range")


def all_slots(project: Project) -> Measure:
    """The same of all integer constants, however their numbers were given; columns of tables are among them."""

    def is_integer(value: ast.expr) -> bool:
        if isinstance(value, ast.Call):
            return isinstance(value.func, ast.Name) and value.func.id == "range"
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        return all(isinstance(p, ast.Constant) and type(p.value) is int for p in parts)

    return _slots(project, is_integer)


def repeated_constants(project: Project) -> Measure:
    """Upper-case names (two letters or more, not private) that two or more modules assign at their top level."""
    places = defaultdict(list)
    for m in project.modules.values():
        for name in m.constants:
            places[name].append(m.name)
    found = [f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]
    return Measure(str(len(found)), found)


def private_names(project: Project) -> Measure:
    """Uses of `_y` in a file that does not define it, where another file of the project does.

    Three numbers: `self._y` (within an inheritance that is spread over files) + `x._y` with a definition in the same
    first room / `x._y` with definitions in other rooms only. `getattr(x, "_y")` and `from m import _y` count as `x._y`.
    A file defines what it binds: functions, classes, names, and attributes of self.
    """
    uses: dict[str, list[str]] = {"self": [], "room": [], "rooms": []}
    for use in private_uses(project):
        uses["self" if use.of_self else "room" if use.near else "rooms"].append(f"{use.module}: {use.name}")
    text = f"{len(uses['self'])} + {len(uses['room'])} / {len(uses['rooms'])}"
    return Measure(text, [f"{kind}: {use}" for kind, found in uses.items() for use in found])


def staleness(project: Project) -> Measure:
    """Attributes and fields that say whether something else is up to date: distinct names assigned as `x.name = ...`,
    declared in a class or as `Field("name", ...)`, one of whose words is stale, fresh, version, stamp, epoch, revision,
    generation, dirty, valid or outdated. Versions of files and of compiled code (io, recording, viewer, jit, ...) are
    left out. What works without such a name (values compared, objects replaced) is not seen: a lower bound."""
    places: dict[str, set[str]] = defaultdict(set)
    for m in project.modules.values():
        if m.room.removeprefix(f"{PACKAGE}.") in OTHER_VERSIONS:
            continue
        for n in m.nodes:
            names: list[str] = []
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store):
                names = [n.attr]
            elif isinstance(n, ast.ClassDef):
                names = [s.target.id for s in n.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
            elif isinstance(n, ast.Call) and getattr(n.func, "id", "") == "Field" and n.args:
                names = [str(n.args[0].value)] if isinstance(n.args[0], ast.Constant) else []
            for name in names:
                if STALENESS & set(words(name).split("_")):
                    places[name].add(m.room)
    found = [f"{name}: {', '.join(sorted(rooms))}" for name, rooms in sorted(places.items())]
    return Measure(str(len(found)), found)


def type_ignores(project: Project) -> Measure:
    """Comments `type: ignore` and `pyright: ignore`."""
    found = []
    for path, text in project.texts.items():
        found += [f"{path.relative_to(project.src)}" for _ in re.finditer(r"#\s*(type|pyright):\s*ignore", text)]
    return Measure(str(len(found)), found)


def import_circles(project: Project) -> Measure:
    """Circles (strongly connected components) of modules by imports outside of functions, `if TYPE_CHECKING:` among
    them, and the files in them; then circles of first rooms (kido.ik, kido.skeleton, ...) by the same imports."""
    graph: dict[str, set[str]] = {}
    for m in project.modules.values():
        targets = {t for n in _outside_functions(m.tree) for t in _targets(project, m, n)}
        graph[m.name] = targets - {m.name}
    within = circles(graph)
    rooms: dict[str, set[str]] = defaultdict(set)
    for m, targets in graph.items():
        rooms[room_of(m)] |= {room_of(t) for t in targets} - {room_of(m), PACKAGE}
    between = circles(dict(rooms))
    text = f"{len(within)} over {sum(map(len, within))} files, {len(between)} of packages"
    return Measure(text, [" ".join(sorted(c)) for c in between + within])


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def _targets(project: Project, module: Module, node: ast.AST) -> Iterator[str]:
    """Modules of the project that an import statement names."""
    for _, base, name in module.imported(node):
        inner = f"{base}.{name}"
        if inner in project.modules:
            yield inner
        elif base in project.modules:
            yield base


def optional_parts(project: Project) -> Measure:
    """Tests in `simulation` whether a world has an optional part: comparisons with None of a name, an attribute or
    `.get("name")` among OPTIONAL_PARTS (soft, loops, sleepers, contact_events, threads, ...), and truth tests of such
    attributes in an `if`."""
    found = []
    for m in project.modules.values():
        if m.room != f"{PACKAGE}.simulation":
            continue
        for n in m.nodes:
            tested: list[ast.expr] = []
            if isinstance(n, ast.Compare) and isinstance(n.comparators[0], ast.Constant):
                tested = [n.left] if n.comparators[0].value is None else []
            elif isinstance(n, ast.If | ast.IfExp):
                tests = n.test.values if isinstance(n.test, ast.BoolOp) else [n.test]
                tests = [t.operand if isinstance(t, ast.UnaryOp) and isinstance(t.op, ast.Not) else t for t in tests]
                tested = [t for t in tests if isinstance(t, ast.Attribute)]
            found += [f"{m.name}:{t.lineno} {ast.unparse(t)}" for t in tested if _last_name(t) in OPTIONAL_PARTS]
    files = len({f.split(":")[0] for f in found})
    return Measure(f"{len(found)} in {files} files", found)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        node = node.args[0]
    name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "value", "")
    return str(name).lstrip("_")


class Sample(NamedTuple):
    """A thing that stands for its kind: its names as words, the room in which it is looked for ("": all), and names
    of other things in which its own occur."""

    names: tuple[str, ...]
    room: str = ""
    others: tuple[str, ...] = ()


SAMPLES: dict[str, list[Sample]] = {
    "quantity": [
        Sample(("coriolis_matrix",)),
        Sample(("gravity_forces",), others=("coriolis_and_gravity_forces", "gravity_forces_derivative")),
    ],
    "IK task": [Sample(("look_at",), "ik"), Sample(("balance",), "ik")],
    "step feature": [
        Sample(("sleep", "sleeping", "sleeper", "sleepers"), "simulation"),
        Sample(("touch", "contact_events"), "simulation"),
    ],
    "joint type": [Sample(("universal",))],
    "shape": [Sample(("ellipsoid",))],
}


def files_to_touch(kind: str) -> Callable[[Project], Measure]:
    """A row of `SAMPLES`."""

    def row(project: Project) -> Measure:
        numbers, found = [], []
        for sample in SAMPLES[kind]:
            files = [m.name for m in project.modules.values() if _names_sample(m, sample)]
            numbers.append(str(len(files)))
            found += [f"{sample.names[0]}: {f}" for f in files]
        return Measure(" and ".join(numbers), found)

    things = ", ".join(sample.names[0] + (f" (in {sample.room})" if sample.room else "") for sample in SAMPLES[kind])
    row.__doc__ = (
        f"Files whose code (not comments or docstrings) names a sample: {things}. A name names it if its words are "
        "among the name's, so UniversalJoint, UNIVERSAL and the string 'universal' do. `models` only uses such things "
        "and is left out; so are names of other things that contain the sample's (coriolis_and_gravity_forces)."
    )
    return row


def _names_sample(module: Module, sample: Sample) -> bool:
    if module.room == f"{PACKAGE}.models" or (sample.room and module.room != f"{PACKAGE}.{sample.room}"):
        return False
    names = {f"_{w}_" for w in map(words, _names(module)) if not any(other in w for other in sample.others)}
    return any(f"_{wanted}_" in name for name in names for wanted in sample.names)


def _names(module: Module) -> Iterator[str]:
    for n in module.nodes:
        for attribute in ("id", "attr", "arg", "name"):
            name = getattr(n, attribute, None)
            if isinstance(name, str):
                yield name
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.isidentifier():
            yield n.value


class Row(NamedTuple):
    """A row of the table."""

    title: str
    measure: Callable[[Project], Measure]
    aim: str


ROWS = [
    Row("lines in src / files", size, "<= 92 k / <= 580"),
    Row("classes behind Skeleton / World", inheritance, "<= 4 / <= 3"),
    Row("hand-written `compute_*`", compute_functions, "0"),
    Row("kernels with `given`", given_kernels, "0"),
    Row("slot constants (by `range`) / uses", numbered_slots, "< 20 / < 60"),
    Row("index constants (any integer) / uses", all_slots, ""),
    Row("upper-case names defined twice", repeated_constants, "< 20"),
    Row("private names across files: self + within / across packages", private_names, "< 150 / 0"),
    Row("mechanisms of staleness (by name)", staleness, "<= 3"),
    Row("type ignores", type_ignores, "< 60"),
    Row("type-time circles", import_circles, "<= 3 within, 0 of packages"),
    Row("tests on optional parts of a step", optional_parts, "< 10"),
    *(
        Row(f"files that name a sample {kind}", files_to_touch(kind), aim)
        for kind, aim in zip(SAMPLES, ("2", "1", "1", "<= 4", "<= 4"), strict=True)
    ),
]


def project_at(revision: str, folder: Path) -> Project:
    """The sources of a commit, unpacked into `folder`; "." is the working tree."""
    if revision == ".":
        return Project(ROOT / "src")
    archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return Project(folder / "src")


def table(revisions: list[str]) -> str:
    """The Markdown table, one column a revision."""
    columns = []
    for revision in revisions:
        with tempfile.TemporaryDirectory() as folder:
            project = project_at(revision, Path(folder))
            columns.append([row.measure(project).text for row in ROWS])
    titles = ["working tree" if r == "." else r for r in revisions]
    lines = [["measure", *titles, "aim"], ["---"] * (len(titles) + 2)]
    lines += [[row.title, *(c[k] for c in columns), row.aim] for k, row in enumerate(ROWS)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", nargs="*", default=["."], help='commits; "." is the working tree')
    parser.add_argument("--explain", action="store_true", help="print what each row counts")
    parser.add_argument("--names", metavar="ROW", help="print what was counted in rows with this in their title")
    options = parser.parse_args()
    if options.explain:
        for row in ROWS:
            print(f"{row.title}\n    {' '.join((row.measure.__doc__ or '').split())}\n")
    elif options.names:
        for revision in options.revisions:
            with tempfile.TemporaryDirectory() as folder:
                project = project_at(revision, Path(folder))
                for row in (r for r in ROWS if options.names in r.title):
                    print(f"{revision}: {row.title}", *row.measure(project).found, sep="\n    ")
    else:
        print(table(options.revisions))


if __name__ == "__main__":
    main()
