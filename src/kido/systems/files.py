"""Assemblies from files: YAML, or JSON, which YAML reads too::

    parameters: {gain: 2.0}                       # which values below may be, as $gain
    parts:
      motor: {model: Motor, R: 1.2}               # a class by its name, parameters and initial values
      control: {model: PID, rate: 100, kp: $gain}
      wheel: {file: wheel.yaml, gain: 3.0}        # an assembly, with values for its parameters
    connect:
      - [motor.speed, control.measured]
      - {from: control.output, to: motor.voltage, delay: 100}
    expose: {speed: motor.speed}

An assembly may hang on a body of a skeleton, and bring bodies along (`kido.systems.file_bodies` says how they are
written); joints and bodies are named, its own before those of the skeleton::

    bodies:
      hub: {joint: {type: revolute, axis: [0, 1, 0]}, xyz: $place, mass: 2.0, shapes: [{type: sphere, radius: 0.1}]}
    parts:
      axle: {joint: hub}                          # a `JointPort`: a joint of one coordinate, or a coordinate
      eye: {body: hub, offset: [0, 0, 0.1]}       # a `BodyPort`
      tank: {mass: hub}                           # a `MassPort`
      drive: {model: CascadedDrive, dof: {joint: arm_1}, ratio: 50, inertia: 0.4}   # a joint as an argument
      gripper: {file: gripper.yaml, parent: hub}  # an assembly on another body

`$skeleton` and `$parent` are the skeleton and the body that it hangs on. Which classes there are is said by who loads:
a file names no code. `assembly.schema.json`, beside this module, is a JSON schema for editors.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from kido.errors import FileFormatError, KidoError, ModelError
from kido.libraries import library
from kido.skeleton import BodyNode, Skeleton
from kido.systems.assembly import Assembly
from kido.systems.file_bodies import add_body
from kido.systems.model import Model
from kido.systems.world_ports import BodyPort, JointPort, MassPort

_DEPTH, _MOST = 20, 4_000_000  # files in files; characters of one
_KEYS = ("parameters", "bodies", "parts", "connect", "expose")
_PORTS: dict[str, Any] = {"joint": JointPort, "body": BodyPort, "mass": MassPort}
SCHEMA = Path(__file__).with_name("assembly.schema.json")


def load_assembly(
    path: str | os.PathLike[str],
    models: Mapping[str, Any],
    name: str | None = None,
    *,
    on: BodyNode | Skeleton | None = None,
    **parameters: Any,
) -> Assembly:
    """An assembly from a file (`kido.systems.files` describes what is in it).

    Args:
        path: YAML or JSON. Files that it names are looked for beside it, and nowhere above its folder.
        models: classes of models and assemblies by the names that files have for them.
        name: of the assembly; by default the file's.
        on: body that it hangs on, or skeleton to whose joints and bodies it belongs; its bodies hang on that body, or
            are roots of the skeleton, and are called by their paths, with underscores for points, and a number where
            that name is taken, as by the assembly whose place it is to take (`Assembly.replace`).
        **parameters: in place of those in the file.

    Raises:
        FileFormatError: with path and line: no such file, no YAML, another schema, an unknown class, parameter or port,
            units that do not fit, and whatever a class refuses; no body is left in the skeleton.
        ModelError: `models` are no classes by name, or `on` is no body and no skeleton.
        MissingExtraError: PyYAML is not there.
    """
    if not isinstance(models, Mapping) or not all(callable(kind) for kind in models.values()):
        raise ModelError(f"load_assembly: models: expected classes by name, got {models!r:.100}")
    if on is not None and not isinstance(on, BodyNode | Skeleton):
        raise ModelError(f"load_assembly: on: expected a body or a skeleton, got {on!r:.100}")
    file, added = Path(path), []
    try:
        return _Reader(file, dict(models), file.resolve().parent, 0, on, added).assembly(name or file.stem, parameters)
    except BaseException as error:
        for body in reversed(added):
            body.remove()
        if isinstance(error, RecursionError):
            raise FileFormatError(file, None, "something in it holds itself, or is nested too deep") from error
        raise


class _Reader:
    """Of one file.

    Args:
        path: of it.
        models: classes by name.
        root: folder above which no file is looked for.
        depth: number of files that it is within.
        on: body or skeleton that the assembly belongs to.
        added: bodies that were made, of all files.
        above: path of the assembly that it is in, from the outermost file down, as names of bodies begin.
    """

    def __init__(
        self,
        path: Path,
        models: dict[str, Any],
        root: Path,
        depth: int,
        on: BodyNode | Skeleton | None,
        added: list[BodyNode],
        above: str = "",
    ):
        self.path, self.models, self.root, self.depth, self.on, self.added = path, models, root, depth, on, added
        self.skeleton = on.skeleton if isinstance(on, BodyNode) else on
        self.own: dict[str, BodyNode] = {}
        self.above = above
        self._yaml = library("yaml", "assemblies from files", "systems")

    def fail(self, node: Any, reason: str) -> NoReturn:
        raise FileFormatError(self.path, None if node is None else node.start_mark.line + 1, reason)

    def _root(self) -> Any:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError, ValueError) as error:
            self.fail(None, f"cannot be read: {error!s:.200}")
        if len(text) > _MOST:
            self.fail(None, f"has {len(text)} characters; expected at most {_MOST}")
        try:
            self._loader = self._yaml.SafeLoader(text)
            node = self._loader.get_single_node()
        except (self._yaml.YAMLError, RecursionError, ValueError) as error:
            mark = getattr(error, "problem_mark", None)
            line = None if mark is None else mark.line + 1
            raise FileFormatError(
                self.path, line, f"no YAML: {getattr(error, 'problem', None) or error!s:.200}"
            ) from error
        if node is None:
            self.fail(None, "is empty")
        return node

    # Nodes -------------------------------------------------------------------------------------------------

    def mapping(self, node: Any, what: str) -> dict[str, tuple[Any, Any]]:
        """Nodes of keys and values by key."""
        if not isinstance(node, self._yaml.MappingNode):
            self.fail(node, f"{what}: expected names with values")
        found: dict[str, tuple[Any, Any]] = {}
        for key, value in node.value:
            if not isinstance(key, self._yaml.ScalarNode):
                self.fail(key, f"{what}: expected a name")
            if key.value in found:
                self.fail(key, f"{what}: {key.value!r} is there twice")
            found[key.value] = key, value
        return found

    def text(self, node: Any, what: str) -> str:
        if not isinstance(node, self._yaml.ScalarNode):
            self.fail(node, f"{what}: expected a text")
        return node.value

    def value(self, node: Any, what: str, given: Mapping[str, Any]) -> Any:
        """A number, a list of them, a text, a parameter of the file, or a joint or body."""
        if isinstance(node, self._yaml.SequenceNode):
            return [self.value(item, what, given) for item in node.value]
        if isinstance(node, self._yaml.MappingNode):
            own = self.mapping(node, what)
            if list(own) not in (["joint"], ["body"]):
                self.fail(node, f"{what}: expected a value, or {{joint: NAME}} or {{body: NAME}}, got {', '.join(own)}")
            ((kind, (_, name)),) = own.items()
            return self.found(kind, name, what, given)
        text = self.text(node, what)
        if text.startswith("$"):
            if text[1:] not in given:
                self.fail(node, f"{what}: no parameter {text[1:]!r}; there are {', '.join(given) or 'none'}")
            return given[text[1:]]
        try:
            found = self._loader.construct_object(node)
        except (self._yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
            self.fail(node, f"{what}: {text!r:.60} is no {node.tag}: {getattr(error, 'problem', None) or error!s:.200}")
        if isinstance(found, str):
            for kind in (float, Fraction):
                try:
                    return kind(found)
                except (ValueError, ZeroDivisionError):
                    pass
        return found

    # Joints and bodies -------------------------------------------------------------------------------------

    def found(self, kind: str, node: Any, what: str, given: Mapping[str, Any]) -> Any:
        """A body, or a joint of one coordinate or a coordinate, of the file or of the skeleton, by its name."""
        name = self.value(node, what, given)
        if name in self.own:
            return self.own[name] if kind != "joint" else self.own[name].parent_joint
        if self.skeleton is None:
            self.fail(
                node, f"{what}: no {kind} {name!r}; the assembly hangs on no skeleton: load_assembly(..., on=...)"
            )
        if kind != "joint":
            return self.tried(node, self.skeleton.body, name)
        names = [dof.name for dof in self.skeleton.dofs]
        return self.tried(node, self.skeleton.dof if name in names else self.skeleton.joint, name)

    def body(self, made: Assembly, key: str, at: Any, node: Any, given: Mapping[str, Any]) -> None:
        own = self.mapping(node, f"body {key!r}")
        parent: Any = self.on if isinstance(self.on, BodyNode) else None
        if "parent" in own:
            parent = self.found("body", own.pop("parent")[1], f"body {key!r}: parent", given)
        if self.skeleton is None:
            self.fail(at, f"body {key!r}: the assembly hangs on no skeleton: load_assembly(..., on=...)")
        values = {name: self.plain(value, f"body {key!r}: {name!r}", given) for name, (_, value) in own.items()}
        name = wanted = f"{self.above}{made.name}_{key}"
        taken, number = {x.name for body in self.skeleton.bodies for x in (body, body.parent_joint)}, 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        body = self.tried(at, add_body, self.skeleton, name, parent, values)
        self.added.append(body)
        self.own[key] = made.add_body(body)

    def plain(self, node: Any, what: str, given: Mapping[str, Any]) -> Any:
        """Values in lists and mappings."""
        if isinstance(node, self._yaml.SequenceNode):
            return [self.plain(item, what, given) for item in node.value]
        if isinstance(node, self._yaml.MappingNode):
            return {k: self.plain(v, f"{what}: {k!r}", given) for k, (_, v) in self.mapping(node, what).items()}
        return self.value(node, what, given)

    # The assembly ------------------------------------------------------------------------------------------

    def assembly(self, name: str, parameters: Mapping[str, Any]) -> Assembly:
        whole = self.mapping(self._root(), "assembly")
        for key, (node, _) in whole.items():
            if key not in _KEYS:
                self.fail(node, f"unknown key {key!r}; expected {', '.join(_KEYS)}")
        given: dict[str, Any] = {}
        if "parameters" in whole:
            for key, (_, node) in self.mapping(whole["parameters"][1], "parameters").items():
                given[key] = self.value(node, f"parameter {key!r}", given)
        unknown = [key for key in parameters if key not in given]
        if unknown:
            self.fail(None, f"no parameter {unknown[0]!r}; there are {', '.join(given) or 'none'}")
        given.update(parameters)
        if self.skeleton is not None:
            given |= {"skeleton": self.skeleton} | ({"parent": self.on} if isinstance(self.on, BodyNode) else {})
        made = self.tried(None, Assembly, name)
        if "parts" not in whole:
            self.fail(None, "no parts")
        if "bodies" in whole:
            for key, (at, node) in self.mapping(whole["bodies"][1], "bodies").items():
                self.body(made, key, at, node, given)
        for key, (at, node) in self.mapping(whole["parts"][1], "parts").items():
            part = self.part(name, key, at, node, given)
            self.tried(at, made.add, part)
        if "connect" in whole:
            self.connect(made, whole["connect"][1], given)
        if "expose" in whole:
            for key, (at, node) in self.mapping(whole["expose"][1], "expose").items():
                self.tried(at, made.expose, key, self.text(node, f"expose: {key!r}"))
        return made

    def tried(self, node: Any, call: Any, *args: Any, **options: Any) -> Any:
        """A call, whose errors get path and line."""
        try:
            return call(*args, **options)
        except FileFormatError:
            raise
        except (KidoError, TypeError) as error:
            line = None if node is None else node.start_mark.line + 1
            raise FileFormatError(self.path, line, str(error)) from error

    def part(self, whole: str, name: str, at: Any, node: Any, given: Mapping[str, Any]) -> Model | Assembly:
        own = self.mapping(node, f"part {name!r}")
        kinds = [key for key in ("model", "file") if key in own] or [key for key in _PORTS if key in own]
        if len(kinds) != 1:
            self.fail(at, f"part {name!r}: expected one of model and file, got {' and '.join(kinds) or 'none'}")
        _, kind_node = own.pop(kinds[0])
        parent = own.pop("parent", None) if kinds[0] == "file" else None
        values = {key: self.value(value, f"part {name!r}: {key!r}", given) for key, (_, value) in own.items()}
        if kinds[0] in _PORTS:
            what = self.found(kinds[0], kind_node, f"part {name!r}", given)
            return self.tried(at, _PORTS[kinds[0]], what, name=name, **values)
        kind = self.text(kind_node, f"part {name!r}")
        if kinds[0] == "file":
            on = self.on if parent is None else self.found("body", parent[1], f"part {name!r}: parent", given)
            return self.file(f"{self.above}{whole}_", name, kind, kind_node, values, on)
        if kind not in self.models:
            self.fail(
                kind_node, f"part {name!r}: no model {kind!r}; there are {', '.join(sorted(self.models)) or 'none'}"
            )
        made = self.tried(at, self.models[kind], name, **values)
        if not isinstance(made, Model | Assembly):
            self.fail(kind_node, f"part {name!r}: {kind!r} makes no model and no assembly, but {made!r:.60}")
        return made

    def file(self, above: str, name: str, kind: str, node: Any, values: dict[str, Any], on: Any) -> Assembly:
        if self.depth >= _DEPTH:
            self.fail(node, f"more than {_DEPTH} files in files; does one name itself?")
        below = (self.path.parent / kind).resolve()
        if not below.is_relative_to(self.root):
            self.fail(node, f"{kind!r} is not in the folder {self.root}")
        return _Reader(below, self.models, self.root, self.depth + 1, on, self.added, above).assembly(name, values)

    def connect(self, made: Assembly, node: Any, given: Mapping[str, Any]) -> None:
        if not isinstance(node, self._yaml.SequenceNode):
            self.fail(node, "connect: expected a list")
        for item in node.value:
            if isinstance(item, self._yaml.SequenceNode) and len(item.value) == 2:
                ends, options = [self.text(end, "connect") for end in item.value], {}
            else:
                own = self.mapping(item, "connect: expected [source, target], or from, to, delay and solve as")
                unknown = [key for key in own if key not in ("from", "to", "delay", "solve")]
                if unknown or "from" not in own or "to" not in own:
                    self.fail(item, f"connect: expected from and to, delay or solve, got {', '.join(own)}")
                ends = [self.text(own[key][1], "connect") for key in ("from", "to")]
                options = {
                    key: self.value(own[key][1], f"connect: {key}", given) for key in ("delay", "solve") if key in own
                }
            self.tried(item, made.connect, *ends, **options)
