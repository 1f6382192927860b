"""Elements <model>, <include> and <world> to records, files that are included read on the way.

Frames are 4x4 transforms. An <include> names a file, a folder with a ``model.config``, or either as ``model://name``;
it is looked for as meshes are (`kido.io.resources`), never fetched. With ``merge="true"`` its parts become parts of the
including model: their model's frame then is the frame ``_merged__NAME__model__`` there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kido.errors import MeshNotFoundError
from kido.io.fields import WORLD
from kido.io.resources import ResourceFinder
from kido.io.sdf.fields import find_pose, note_unknown
from kido.io.sdf.joints import JointSpec, read_joint, with_model_frame
from kido.io.sdf.scope import MODEL, Entry, Scope
from kido.io.xml import Node, parse
from kido.math.transform import inverse_transform

__all__ = ["LinkSpec", "ModelReader", "ModelSpec", "Source", "WorldSpec", "read_version"]

OLDEST, NEWEST = (1, 4), (1, 11)
MAX_INCLUDE_DEPTH = 32
MAX_MODELS = 10_000
MODEL_SETTINGS = ("pose", "static", "self_collide", "allow_auto_disable", "enable_wind")
WITHOUT_MECHANISM = {"sun": "a light"}
GROUND_PLANE = """<sdf version="1.6"><model name="ground_plane"><static>true</static><link name="link">
<collision name="collision"><geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>
<surface><friction><ode><mu>100</mu><mu2>50</mu2></ode></friction></surface></collision>
<visual name="visual"><geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry></visual>
</link></model></sdf>"""


@dataclass(frozen=True)
class LinkSpec:
    """A <link>, with what finds the meshes of the file that it is written in."""

    node: Node
    name: str
    finder: ResourceFinder

    @property
    def held(self) -> bool:
        """Whether it stands for the world, which holds it where no joint does."""
        return self.node.attribute("name") == WORLD and self.node.child("inertial") is None


@dataclass
class ModelSpec:
    """A <model>: what it holds by its name in `scope`, in document order, nested models too."""

    node: Node
    name: str
    scope: Scope
    links: dict[str, LinkSpec] = field(default_factory=dict)
    joints: dict[str, JointSpec] = field(default_factory=dict)
    models: dict[str, ModelSpec] = field(default_factory=dict)
    static: bool = False
    self_collide: bool = False
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    relative_to: str = MODEL


@dataclass
class WorldSpec:
    """A <world>, or the models of a file that has none. None: not given."""

    node: Node
    scope: Scope
    models: dict[str, ModelSpec] = field(default_factory=dict)
    joints: dict[str, JointSpec] = field(default_factory=dict)
    name: str | None = None
    gravity: tuple[float, float, float] | None = None
    time_step: float | None = None


@dataclass(frozen=True)
class Source:
    """A file that is being read: its version, what finds its files, and the files that include it."""

    version: tuple[int, int]
    finder: ResourceFinder
    path: Path | None = None
    including: tuple[Path, ...] = ()


def read_version(root: Node) -> tuple[int, int]:
    """Version of an <sdf>. Before 1.4 it is refused; one that is too new is read as the newest."""
    if root.tag != "sdf":
        raise root.error(f"the root element is <{root.tag}>; expected <sdf>")
    text = root.required_attribute("version")
    parts = text.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
        raise root.error(f"the version of <sdf> is '{text}'; expected one such as 1.9")
    version = (int(parts[0]), int(parts[1]))
    if version < OLDEST:
        raise root.error(f"the version of <sdf> is {text}; expected 1.4 to 1.11")
    if version > NEWEST:
        root.remark(f"the version {text} is newer than 1.11; read as that")
        return NEWEST
    return version


class ModelReader:
    """Reads the models of one file and of those that it includes.

    Args:
        package_dirs: as in `kido.io.resources.ResourceFinder`.
        skip_missing: leave out includes that are not there, with a remark, instead of refusing them.
    """

    def __init__(self, package_dirs: str | Path | Iterable[str | Path], skip_missing: bool) -> None:
        self._package_dirs = package_dirs if isinstance(package_dirs, str | Path) else tuple(package_dirs)
        self._skip_missing = skip_missing
        self._roots: dict[Path, Node] = {}
        self._count = 0

    def source(self, path: Path | None, version: tuple[int, int], including: tuple[Path, ...] = ()) -> Source:
        """A file to be read; None for a text."""
        finder = ResourceFinder.of_file(path, self._package_dirs)
        return Source(version, finder, path, including)

    # -- worlds --------------------------------------------------------------------------------------------

    def world(self, node: Node, source: Source) -> WorldSpec:
        """A <world>, or an <sdf> without one."""
        world = WorldSpec(node, Scope(node, origin=WORLD))
        if node.tag == "world":
            world.name = node.required_attribute("name")
            self._read_physics(node, world)
        known = ("model", "include", "frame", "physics", "gravity", "joint", "state")
        note_unknown(node, known, node.describe())
        for child in node:
            if child.tag == "model":
                self._add_to_world(world, self._model(child, source))
            elif child.tag == "include":
                model = self._include(child, source)
                if model is not None:
                    self._add_to_world(world, model)
            elif child.tag == "frame":
                self._add_frame(world.scope, child)
            elif child.tag == "joint":
                joint = read_joint(child, source.version, WORLD)
                pose, relative_to = find_pose(child)
                entry = Entry(child, "joint", pose, relative_to or joint.child, joint.child)
                world.scope.add(joint.name, entry)
                world.joints[joint.name] = joint
        for state in node.children("state")[:1]:
            self._apply_state(world, state)
        return world

    @staticmethod
    def _apply_state(world: WorldSpec, state: Node) -> None:
        """Put the models of a world that Gazebo saved where it says that they were."""
        for child in state.children("model"):
            name = child.required_attribute("name")
            if name in world.models and child.child("pose") is not None:
                pose, relative_to = find_pose(child)
                entry = dataclasses.replace(world.scope.entries[name], pose=pose, relative_to=relative_to or WORLD)
                world.scope.entries[name] = entry
                world.models[name].scope.placement = ""
        state.remark("of <state> the poses of models are taken; all else in it is left out")

    def _add_to_world(self, world: WorldSpec, model: ModelSpec) -> None:
        relative_to = WORLD if model.relative_to in ("", MODEL) else model.relative_to
        if model.name in world.models:
            given, number = model.name, 2
            while model.name in world.scope.entries:
                model.name, number = f"{given}_{number}", number + 1
            line = world.models[given].node.line
            model.node.forgive(f"the name '{given}' of a model is taken by line {line}", f"it is called '{model.name}'")
        world.scope.add(model.name, Entry(model.node, "model", model.pose, relative_to, scope=model.scope))
        world.models[model.name] = model

    def _read_physics(self, node: Node, world: WorldSpec) -> None:
        physics = node.children("physics")
        chosen = next(
            (p for p in physics if p.attribute("default", "") in ("1", "true")), physics[0] if physics else None
        )
        for holder in (node, chosen):
            if holder is not None and world.gravity is None and holder.child("gravity") is not None:
                x, y, z = holder.child_vector("gravity", 3)
                world.gravity = (float(x), float(y), float(z))
        if chosen is not None and chosen.child("max_step_size") is not None:
            step = chosen.child_number("max_step_size")
            if step <= 0.0:
                raise chosen.require("max_step_size").error(f"the time step is {step:g} s; expected more than 0")
            world.time_step = step

    # -- models --------------------------------------------------------------------------------------------

    def _model(self, node: Node, source: Source, depth: int = 0, name: str | None = None) -> ModelSpec:
        self._count += 1
        if depth > MAX_INCLUDE_DEPTH:
            raise node.error(f"models are nested more than {MAX_INCLUDE_DEPTH} deep")
        if self._count > MAX_MODELS:
            raise node.error(f"more than {MAX_MODELS} models; refused")
        name = name or node.required_attribute("name")
        scope = Scope(node, canonical=node.attribute("canonical_link", ""))
        scope.placement = node.attribute("placement_frame", "")
        pose, relative_to = find_pose(node)
        model = ModelSpec(
            node=node,
            name=name,
            scope=scope,
            static=node.child_boolean("static", False),
            self_collide=node.child_boolean("self_collide", False),
            pose=pose,
            relative_to=relative_to or MODEL,
        )
        known = (*MODEL_SETTINGS, "link", "joint", "frame", "model", "include")
        note_unknown(node, known, f"model '{name}'")
        for child in node:
            self._add(model, child, source, depth)
        return model

    def _add(self, model: ModelSpec, child: Node, source: Source, depth: int) -> None:
        if child.tag == "link":
            name = child.required_attribute("name")
            pose, relative_to = find_pose(child)
            if name == WORLD:
                name = self._add_world_link(model, child)
            model.scope.add(name, Entry(child, "link", pose, relative_to or MODEL))
            model.links[name] = LinkSpec(child, name, source.finder)
        elif child.tag == "joint":
            joint = read_joint(child, source.version, MODEL)
            pose, relative_to = find_pose(child)
            key = joint.name
            if source.version < (1, 7) and key in model.scope.entries and key not in model.joints:
                key += "__joint"  # until 1.6 a joint might have the name of a link
            model.scope.add(key, Entry(child, "joint", pose, relative_to or joint.child, joint.child))
            model.joints[key] = joint
        elif child.tag == "frame":
            self._add_frame(model.scope, child)
        elif child.tag == "model":
            self._add_model(model, self._model(child, source, depth + 1))
        elif child.tag == "include":
            included = self._include(child, source, depth + 1)
            if included is None:
                return
            if child.attribute("merge", "") in ("1", "true"):
                self._merge(model, included, child)
            else:
                self._add_model(model, included)

    @staticmethod
    def _add_world_link(model: ModelSpec, node: Node) -> str:
        """The name that a link called ``world`` gets; what names it then means that link."""
        name = f"{WORLD}_"
        held = "" if node.child("inertial") is not None else ", and without <inertial> it is held by the world"
        node.forgive(f"the name '{WORLD}' of {node.describe()} is reserved", f"it is called '{name}'{held}")
        model.scope.entries[WORLD] = Entry(node, "frame", np.eye(4), name, name)
        return name

    def _add_frame(self, scope: Scope, node: Node) -> None:
        attached_to = node.attribute("attached_to", "") or scope.origin
        pose, relative_to = find_pose(node)
        scope.add(node.required_attribute("name"), Entry(node, "frame", pose, relative_to or attached_to, attached_to))

    @staticmethod
    def _add_model(model: ModelSpec, nested: ModelSpec) -> None:
        entry = Entry(nested.node, "model", nested.pose, nested.relative_to, scope=nested.scope)
        model.scope.add(nested.name, entry)
        model.models[nested.name] = nested

    def _merge(self, model: ModelSpec, merged: ModelSpec, node: Node) -> None:
        """Make the parts of a model those of another."""
        frame = f"_merged__{merged.name}__model__"
        inner = merged.scope

        def renamed(name: str) -> str:
            return frame if name == MODEL else name

        pose = merged.pose
        if inner.placement:
            pose = pose @ inverse_transform(inner.pose(inner.placement, node))
        model.scope.add(frame, Entry(node, "frame", pose, merged.relative_to, inner.link(MODEL, node)))
        for name, entry in inner.entries.items():
            attached_to = renamed(entry.attached_to)
            entry = dataclasses.replace(entry, relative_to=renamed(entry.relative_to), attached_to=attached_to)
            model.scope.add(name, entry)
        model.links |= merged.links
        model.joints |= {name: with_model_frame(joint, MODEL, frame) for name, joint in merged.joints.items()}
        model.models |= merged.models
        if merged.static and not model.static:
            node.remark(f"model '{merged.name}' is static; merged into one that is not, it is not")

    # -- includes ------------------------------------------------------------------------------------------

    def _include(self, node: Node, source: Source, depth: int = 0) -> ModelSpec | None:
        """The model of an <include>; None for what has no mechanism or may be missing."""
        note_unknown(node, ("uri", "name", "pose", "static", "placement_frame"), node.describe())
        uri = node.require("uri").text
        root, path = self._find(node, uri, source)
        if root is None:
            return None
        inner = self.source(path, read_version(root), _appended(source))
        found = root.children("model") or [m for world in root.children("world") for m in world.children("model")]
        if not found:
            node.remark(f"'{uri}' holds no <model>; left out")
            return None
        if len(found) > 1:
            node.remark(f"'{uri}' holds {len(found)} models; the first is taken")
        model = self._model(found[0], inner, depth, node.child_text("name", "") or None)
        placement = node.child_text("placement_frame", "")
        if node.child("pose") is not None or placement:
            model.pose, relative_to = find_pose(node)
            model.relative_to = relative_to or MODEL
            model.scope.placement = placement or model.scope.placement
        elif model.relative_to != MODEL:
            raise node.error(f"the pose of {found[0].describe()} in '{uri}' is relative to '{model.relative_to}'")
        model.static = node.child_boolean("static", model.static)
        return model

    def _find(self, node: Node, uri: str, source: Source) -> tuple[Node | None, Path | None]:
        """Root element and path of the file that is included; (None, None) if there is nothing to read."""
        try:
            path = self._model_file(uri, source.finder)
        except MeshNotFoundError as error:
            name = uri.removeprefix("model://").strip("/")
            if name in WITHOUT_MECHANISM:
                node.remark(f"'{uri}', {WITHOUT_MECHANISM[name]}, is left out")
                return None, None
            if uri.startswith("model://") and name == "ground_plane":
                node.remark(f"'{uri}' is not there; a ground plane of friction 100 stands for it")
                return parse(GROUND_PLANE, "model://ground_plane", remarks=node.remarks), None
            tried = "".join(f"\n  {item}" for item in error.tried)
            reason = f"the model '{uri}' is not found: {error.reason}" + (f"; tried:{tried}" if tried else "")
            if self._skip_missing:
                node.remark(f"{reason}; left out")
                return None, None
            raise node.error(f"{reason} (to load the file without it: missing_includes='skip')") from None
        chain = _appended(source)
        if path in chain:
            circle = " -> ".join(str(item) for item in (*chain[chain.index(path) :], path))
            raise node.error(f"files include each other in a circle: {circle}")
        if path not in self._roots:
            self._roots[path] = parse(path, remarks=node.remarks)
        return self._roots[path], path

    def _model_file(self, uri: str, finder: ResourceFinder) -> Path:
        """Path of the SDF file that a name stands for: a file itself, or by the model.config of a folder."""
        if uri.lower().endswith((".sdf", ".world", ".xml")):
            return finder.find(uri)
        folder = uri.rstrip("/")
        try:
            config = finder.find(f"{folder}/model.config")
        except MeshNotFoundError as error:
            try:
                return finder.find(f"{folder}/model.sdf")
            except MeshNotFoundError:
                raise error from None
        return finder.find(f"{folder}/{_newest(parse(config))}")


def _newest(config: Node) -> str:
    """File name of the newest version, of those that can be read, that a model.config lists."""
    found: list[tuple[tuple[int, ...], str]] = []
    for node in config.children("sdf"):
        parts = node.attribute("version", "1.4").split(".")
        if all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts) and node.text:
            found.append((tuple(map(int, parts)), node.text))
    usable = [item for item in found if OLDEST <= item[0] <= NEWEST] or found
    if not usable:
        raise config.error("the model names no <sdf> file")
    return max(usable)[1]


def _appended(source: Source) -> tuple[Path, ...]:
    return source.including if source.path is None else (*source.including, source.path)
