"""What worlds of one structure differ in: masses, frictions, gains, gravity; by name, or as worlds have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kido.batch.arguments import Array, numbers
from kido.batch.likeness import unlike
from kido.batch.model import counterpart
from kido.batch.world_image import NUMBERS, numbers_of
from kido.constraints.surfaces import NO_ROWS
from kido.errors import KidoError, ModelError, NameLookupError, StateError
from kido.jit import LANES, Struct, entry, integers, view
from kido.kernels.free_lanes import NOT_FREE
from kido.simulation import World
from kido.simulation.commands import Commands
from kido.skeleton import Inertia, ShapeNode, Skeleton, SoftBodyNode
from kido.skeleton.compiler import fill_inertias
from kido.tree.schema import TREE

OF_DOFS = {
    "damping": "damping",
    "armature": "armature",
    "spring_stiffness": "stiffness",
    "rest_position": "rest",
    "coulomb_friction": "coulomb",
    "position_gain": "position_gain",
    "velocity_gain": "velocity_gain",
}
OF_BODIES = {"mass": (), "com": (3,), "moment": (3, 3), "friction": (), "restitution": ()}
OF_SHAPES = {"friction": "shape_friction", "restitution": "shape_restitution"}
NAMES = ("gravity", *OF_BODIES, *OF_DOFS)
ANY_SIGN = ("gravity", "com", "moment", "rest_position")
INERTIAL = ("mass", "com", "moment")
OF_INERTIA = ("mass", "com", "inertia")  # fields of TREE


class SCATTER(Struct):
    array = integers("arrays", doc="addresses of NUMBERS")
    entry = integers("entries", 3, doc="which array, place in it, and column of the number that belongs there")


@entry("i8(i8,f8[::1])")
def scatter_numbers(address, row):
    """Numbers of a row to where they belong."""
    s = view(SCATTER, address)
    for k in range(s.entry.shape[0]):
        view(NUMBERS, s.array[s.entry[k, 0]]).number[s.entry[k, 1]] = row[s.entry[k, 2]]
    return 0


class Part(NamedTuple):
    """Entries of an array that differ."""

    owner: str
    field: str
    index: np.ndarray


def _structs(engine: Any) -> dict[str, Any]:
    """Where properties of an engine's world are, as its steps read them."""
    return {
        "tree": engine.stepped,
        "collision": engine.detector.container,
        "responses": engine.responses.container,
        "commands": engine.feature(Commands).own_struct,
    }


class Differences:
    """The properties in which worlds differ.

    Args:
        values: of each part, (worlds, entries).

    Attributes:
        values: of all, (worlds, entries).
    """

    def __init__(self, parts: list[Part], values: list[Array]):
        self.parts = parts
        self.values = np.ascontiguousarray(np.concatenate(values, axis=1))

    def present(self, engine: Any) -> Array:
        """The numbers that a world has in their place, (entries,)."""
        return _present(engine, self.parts)[0]

    def scatter(self, engine: Any, lane_tree: Any, lane: int) -> tuple[SCATTER, list[NUMBERS]]:
        """Where they belong in a world, and in its lane of a forest in lanes if there is one.

        Returns:
            It, and what it refers to.
        """
        structs, held, entries, column = _structs(engine), [], [], 0
        for owner, field, index in self.parts:
            columns = np.arange(column, column + len(index))
            column += len(index)
            targets = [(getattr(structs[owner], field), index)]
            if owner == "tree" and lane_tree is not None:
                targets.append((getattr(lane_tree, field), LANES * index + lane))
            for array, places in targets:
                entries.append(np.stack([np.full(len(index), len(held)), places, columns], axis=1))
                held.append(numbers_of(array))
        found = np.concatenate(entries)
        made = SCATTER(arrays=len(held), entries=len(found))
        made.array[:], made.entry[:] = [h.address for h in held], found
        return made, held


# By name ------------------------------------------------------------------------------------------------------


class Property(NamedTuple):
    """One property of some bodies or coordinates: of each world its values, (worlds, things, ...)."""

    name: str
    things: list[Any]
    values: Array


def read_properties(world: World, chosen: Sequence[Skeleton], given: Mapping[str, Any], worlds: int) -> list[Property]:
    """Properties as users give them, checked.

    Raises:
        NameLookupError: of one that there is not, or of a body or coordinate.
        StateError: numbers of other shapes, not finite or out of range; names the world.
    """
    if not isinstance(given, Mapping):
        raise StateError(f"properties: expected arrays by name, got {given!r:.80}")
    found = []
    for name, value in given.items():
        if name not in NAMES:
            raise NameLookupError("property in which worlds may differ", name, NAMES)
        things: list[Any] = [world]
        tail: tuple[int, ...] = (3,)
        if name != "gravity":
            things = [x for s in chosen for x in (s.bodies if name in OF_BODIES else s.dofs)]
            tail = OF_BODIES.get(name, ())
        if isinstance(value, Mapping):
            if name == "gravity":
                raise StateError(f"properties: gravity: expected an array (worlds, 3), got {value!r:.80}")
            things = [_shape(world, key) if isinstance(key, ShapeNode) else _thing(things, key, name) for key in value]
            if name not in OF_SHAPES and any(isinstance(thing, ShapeNode) for thing in things):
                raise StateError(f"properties: {name}: expected names of what has it, got shapes")
            parts = [numbers(f"properties: {name}: {k!r}", v, (worlds, *tail)) for k, v in value.items()]
            values = np.stack(parts, axis=1) if parts else np.zeros((worlds, 0, *tail))
        else:
            shape = (worlds, 3) if name == "gravity" else (worlds, len(things), *tail)
            values = numbers(f"properties: {name}", value, shape).reshape(worlds, len(things), *tail)
        bad = ~np.isfinite(values) if name in ANY_SIGN else ~((values >= 0.0) & np.isfinite(values))
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            wanted = "a finite number" + ("" if name in ANY_SIGN else " that is not negative")
            raise StateError(
                f"properties: {name} of {things[at[1]].name!r} in world {at[0]}: expected {wanted}, got {values[at]:g}"
            )
        found.append(Property(name, things, values))
    return found


def _thing(things: Sequence[Any], key: Any, name: str) -> Any:
    """A body or coordinate by its name, or "skeleton/name"."""
    owner = (lambda x: x.skeleton) if name in OF_BODIES else (lambda x: x.joint.child.skeleton)
    fits = [x for x in things if key in (x.name, f"{owner(x).name}/{x.name}")]
    if len(fits) != 1:
        kind = "body" if name in OF_BODIES else "coordinate"
        raise NameLookupError(f"{kind} for the property {name!r}", key, [f"{owner(x).name}/{x.name}" for x in things])
    return fits[0]


def _shape(world: World, node: ShapeNode) -> ShapeNode:
    """The colliding shape of the world that one of it, or of what it was copied from, is.

    Raises:
        ModelError: it has none such.
    """
    try:
        found = counterpart(node, world, [s.name for s in world.skeletons])
    except (ValueError, IndexError):
        found = None
    if found is None or not any(found is own for own in world.engine.nodes):
        raise ModelError(f"properties: expected colliding shapes of world {world.name!r}, got {node!r}")
    return found


def set_properties(properties: Sequence[Property], k: int) -> None:
    """Have the world that they were read for those of world k.

    Raises:
        ModelError: one that its object refuses.
    """
    for name, things, values in properties:
        for thing, value in zip(things, values[k], strict=True):
            if name in INERTIAL:
                if not _deforms(thing):  # it has the model's
                    thing.inertia = _inertia(thing.inertia, name, value)
            elif name not in OF_SHAPES or isinstance(thing, ShapeNode) or any(n.collision for n in thing.shapes):
                setattr(thing, name, value if name == "gravity" else float(value))


def _inertia(own: Inertia, name: str, value: Any) -> Inertia:
    """An inertia with another mass, whose moments follow, or centre of mass or moment."""
    if name == "com":
        return Inertia(own.mass, value, own.moment)
    if name == "moment":
        return Inertia(own.mass, own.com, value)
    if own.mass == 0.0 and value > 0.0 and not own.moment.any():
        return Inertia(float(value), own.com, own.moment)
    return own if value == own.mass else Inertia(float(value), own.com, own.moment * (value / own.mass))


def _deforms(body: Any) -> bool:
    """Whether a body is soft, or flexible, or there for the modes of one: its inertia is made of parts."""
    joints = [body.parent_joint, *(child.parent_joint for child in body.children)]
    return isinstance(body, SoftBodyNode) or any(joint.has_modes for joint in joints)


def _check_rigid(body: Any, own: Inertia, wanted: Inertia) -> None:
    """Refuse another inertia of a body that deforms, of which it would not be known how much is of which part.

    Raises:
        StateError: it is another one.
    """
    same = wanted.mass == own.mass and np.array_equal(wanted.com, own.com) and np.array_equal(wanted.moment, own.moment)
    if not same and _deforms(body):
        raise StateError("expected that of the model, because soft and flexible bodies have the same in all worlds")


def named_differences(world: World, properties: Sequence[Property], worlds: int) -> Differences:
    """What these properties are in the arrays of a world.

    Raises:
        StateError, ModelError: one that worlds do not take, with the number of the world.
    """
    engine: Any = world.engine
    parts: list[Part] = []
    values: list[Array] = []
    inertial = [p for p in properties if p.name in INERTIAL]
    for name, things, given in properties:
        if name == "gravity":
            parts.append(Part("tree", "gravity", np.arange(3)))
            values.append(given.reshape(worlds, 3))
        elif name in OF_SHAPES:
            if engine.surfaces.mode != NO_ROWS:
                raise StateError(
                    f"properties: {name}: surfaces of world {world.name!r} are made for pairs (softness, rolling "
                    "friction, directions or a handler), and are the same in all worlds"
                )
            if name == "restitution":
                _check_rebound(world, things, given)
            place = {thing: k for k, thing in enumerate(things)}
            of = [place.get(node, place.get(node.body, -1)) for node in engine.nodes]
            shapes = [k for k, at in enumerate(of) if at >= 0]
            parts.append(Part("collision", OF_SHAPES[name], np.array(shapes, np.int64)))
            values.append(given[:, [of[k] for k in shapes]])
        elif name in OF_DOFS:
            dofs = np.array([engine.dofs_of(d.joint.child.skeleton).start + d.index for d in things], np.int64)
            if name == "coulomb_friction":
                _check_rows(engine, dofs, given)
            parts.append(Part("tree", OF_DOFS[name], dofs))
            values.append(given)
    if engine.springs_ahead.any() and not {"damping", "spring_stiffness"}.isdisjoint(p.name for p in properties):
        dampings = _dampings(engine, parts, values, worlds)
        parts.append(Part("tree", "damping", np.arange(dampings.shape[1])))
        values.append(dampings)
    if inertial:
        found = _inertias(engine, inertial, worlds)
        parts += [part for part, _ in found]
        values += [numbers for _, numbers in found]
    made = Differences(parts, values)
    if any(name in (*INERTIAL, "damping", "armature", "spring_stiffness") for name, _, _ in properties):
        return _with_free_bodies(world, made, worlds)
    return made


def _dampings(engine: Any, parts: Sequence[Part], values: Sequence[Array], worlds: int) -> Array:
    """(worlds, dofs) dampings as steps see them, with what springs add to them."""
    own = {}
    for field in ("damping", "stiffness"):
        own[field] = np.tile(getattr(engine.tree, field), (worlds, 1))
        for part, given in zip(parts, values, strict=True):
            if (part.owner, part.field) == ("tree", field):
                own[field][:, part.index] = given
    return own["damping"] + engine.springs_ahead * own["stiffness"]


def _check_rows(engine: Any, dofs: np.ndarray, given: Array) -> None:
    """Refuse friction of coordinates for which the model has no rows."""
    src = engine.row_origins
    missing = ~np.isin(dofs, src.joint_dof[: src.num_joint_dofs])
    bad = np.argwhere((given > 0.0) & missing)
    if len(bad):
        k, j = bad[0]
        raise StateError(
            f"properties: coulomb_friction of {engine.dof_name(int(dofs[j]))!r} in world {k}: expected zero, because "
            f"the model has none there, got {given[k, j]:g}; give the model's a small one"
        )


def _check_rebound(world: World, things: Sequence[Any], given: Array) -> None:
    """Refuse restitution where the model's steps have no second phase of impacts."""
    bad = np.argwhere(given > 0.0)
    if len(bad) and not any(node.restitution > 0.0 for node in world.engine.nodes):
        k, j = bad[0]
        raise StateError(
            f"properties: restitution of {things[j].name!r} in world {k}: expected zero, because nothing of the model "
            f"rebounds, got {given[k, j]:g}; give one of its shapes a restitution"
        )


def _inertias(engine: Any, given: Sequence[Property], worlds: int) -> list[tuple[Part, Array]]:
    """Inertias of links in each world."""
    found = []
    touched = list(dict.fromkeys(body.skeleton for p in given for body in p.things))
    for skeleton in touched:
        links, window, _ = engine.windows[engine.skeletons.index(skeleton)]
        first = engine.first_link[skeleton]
        own = [body.inertia for body in skeleton.bodies]
        rows: dict[str, list[Array]] = {field: [] for field in OF_INERTIA}
        for k in range(worlds):
            inertias = list(own)
            for name, things, values in given:
                for body, value in zip(things, values[k], strict=True):
                    if body.skeleton is skeleton:
                        try:
                            inertias[body.index] = _inertia(inertias[body.index], name, value)
                            _check_rigid(body, own[body.index], inertias[body.index])
                        except KidoError as error:
                            raise StateError(f"properties: {name} of {body.name!r} in world {k}: {error}") from None
            fill_inertias(links, inertias, window)
            for field in OF_INERTIA:
                rows[field].append(getattr(window, field).ravel().copy())
        fill_inertias(links, own, window)
        for field in OF_INERTIA:
            size = rows[field][0].size
            begin = first * (size // max(len(links.top), 1))
            found.append((Part("tree", field, np.arange(begin, begin + size)), np.array(rows[field])))
    return found


def _with_free_bodies(world: World, made: Differences, worlds: int) -> Differences:
    """With the constants of free bodies, which follow from those of the forest."""
    engine: Any = world.engine
    responses = engine.responses
    kinds = responses.container.free.copy()
    if (kinds == NOT_FREE).all():
        return made
    before = Differences(made.parts, [_present(engine, made.parts)])
    scatter, held = made.scatter(engine, None, 0)
    rows = []
    try:
        for k in range(worlds):
            scatter_numbers(scatter.address, made.values[k])
            responses.properties_changed()
            changed = np.flatnonzero(responses.container.free != kinds)
            if len(changed):
                body = engine.skeletons[int(engine.tree.tree_of_body[changed[0]])].name
                raise StateError(
                    f"properties: the free body of skeleton {body!r} in world {k} is damped, has a spring, a rotor, "
                    "or its centre of mass at its origin, and the model's has not, or the other way round"
                )
            rows.append(responses.container.number.ravel().copy())
    finally:
        scatter_numbers(scatter.address, before.values[0])
        responses.properties_changed()
        del held
    numbers = np.array(rows)
    part = Part("responses", "number", np.arange(numbers.shape[1]))
    return Differences([*made.parts, part], [made.values, numbers])


def _present(engine: Any, parts: Sequence[Part]) -> Array:
    """The numbers that parts have in an engine, (1, entries)."""
    structs = _structs(engine)
    return np.concatenate([getattr(structs[o], f).ravel()[index] for o, f, index in parts])[None]


# As worlds have it --------------------------------------------------------------------------------------------


def differences_of(worlds: Sequence[World]) -> Differences | None:
    """What worlds of one structure differ in; None: in nothing.

    Raises:
        ModelError: one that is unlike the first; names it and says how.
    """
    first: Any = worlds[0].engine
    for k, world in enumerate(worlds):
        reason = unlike(worlds[0], world)
        if reason:
            raise ModelError(f"world {k} ({world.name!r}) is unlike world 0: {reason}")
    floats = [("tree", name) for name in TREE.arrays if TREE.fields[name].kind == "f"]
    others = [("collision", "shape_friction"), ("collision", "shape_padding"), ("responses", "number")]
    if first.feature(Commands).own_struct is not None:
        others += [("commands", "lower"), ("commands", "upper")]
    parts, values = [], []
    for owner, field in floats + others:
        rows = np.array([getattr(_structs(w.engine)[owner], field).ravel() for w in worlds])
        index = np.flatnonzero((rows != rows[0]).any(axis=0))
        if len(index):
            parts.append(Part(owner, field, index))
            values.append(rows[:, index])
    return Differences(parts, values) if parts else None
