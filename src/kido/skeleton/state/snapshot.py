"""What a skeleton holds at a moment, taken out of it: saved, compared, put back."""

from __future__ import annotations

import copy
import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from kido.attributes import FixedAttributes
from kido.errors import KidoError, StateError
from kido.skeleton.aspects import Carrier
from kido.skeleton.frames.frame import Frame
from kido.skeleton.joints.joint import Joint
from kido.skeleton.nodes.node import FrameNode, Node
from kido.skeleton.nodes.shape_node import ShapeNode
from kido.skeleton.state.arrays import STATE_FIELDS
from kido.skeleton.state.plain import class_name, plain, restored, same

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Items = dict[str, dict[str, Any]]
_ROW = 24  # numbers of a body's external forces
_FIELD_NAMES = {
    "q": "positions",
    "u": "velocities",
    "udot": "accelerations",
    "tau": "forces",
    "command": "asked_motions",
}
_JOINT_FIELDS_LEFT_OUT = (
    "_name", "_body", "_aspects", "_tape", "_no_parameters", "_properties", "dofs", "_kind", "_original",
)  # fmt: skip
_BODY_FIELDS = {"inertia": "_inertia", "gravity": "_gravity", "collidable": "_collidable", "continuous": "_continuous"}
_SKELETON_FIELDS = {
    "mobile": "_mobile",
    "self_collision": "_self_collision",
    "adjacent_body_collision": "_adjacent_body_collision",
    "kinematic": "_kinematic",
    "can_sleep": "_can_sleep",
}


def _carriers(skeleton: Skeleton) -> Iterator[Carrier]:
    """All that carries aspects in a skeleton."""
    yield skeleton
    for body in skeleton.parts.bodies:
        yield body
        yield body.parent_joint
        yield from body._nodes


def _label(thing: Carrier) -> str:
    """By what a thing is known, which equal skeletons have in common."""
    if isinstance(thing, Joint):
        return f"joint {thing.name!r}"
    if isinstance(thing, ShapeNode):
        return f"shape {thing.name!r} of body {thing.body.name!r}"
    if isinstance(thing, Node):
        return f"node {thing.name!r}"
    return f"body {thing.name!r}" if isinstance(thing, Frame) else "skeleton"


def things(skeleton: Skeleton) -> Iterator[tuple[str, Carrier]]:
    """All that carries aspects in a skeleton, with its labels."""
    return ((_label(thing), thing) for thing in _carriers(skeleton))


class Snapshot(FixedAttributes, ABC):
    """Values by thing (a body, a joint, an aspect, ...) and name.

    Attributes:
        items: label of a thing -> name -> value.
    """

    _holds: ClassVar[str]

    def __init__(self, items: Items):
        self.items = items

    @classmethod
    def of(cls, skeleton: Skeleton) -> Self:
        """What a skeleton holds now."""
        return cls({label: values for label, values, _ in cls._read(skeleton)})

    @classmethod
    @abstractmethod
    def _read(cls, skeleton: Skeleton) -> Iterator[tuple[str, dict[str, Any], Callable[[dict[str, Any]], None]]]:
        """Label, copies of the values, and what writes values of each thing."""

    def restore(self, skeleton: Skeleton) -> None:
        """Put the values back into the skeleton they are from, or one with the same parts.

        Raises:
            StateError: the skeleton has other things, or things of other classes or sizes, or a user's class refused
                a value; the skeleton is as it was.
        """
        what = f"skeleton {skeleton.name!r}: {self._holds}"
        held = list(type(self)._read(skeleton))
        labels = [label for label, _, _ in held]
        missing, extra = [x for x in self.items if x not in labels], [x for x in labels if x not in self.items]
        strange = [*(f"no {x}" for x in missing), *(f"also {x}" for x in extra)]
        if strange:
            raise StateError(f"{what} of something else: the skeleton has {'; '.join(strange[:5])}")
        new = [(self._checked(label, now, what), write) for label, now, write in held]
        done = 0
        try:
            for values, write in new:
                done += 1
                write(values)
            self._settle(skeleton)
        except Exception as error:
            for _, now, write in held[:done]:
                write(now)
            self._settle(skeleton)
            if isinstance(error, KidoError):
                raise
            raise StateError(f"{what}: refused by {labels[done - 1]}: {error!r}") from error

    @staticmethod
    def _settle(skeleton: Skeleton) -> None:
        """Nothing that was computed before counts any more."""
        skeleton.current_state.invalidate()

    def _checked(self, label: str, now: dict[str, Any], what: str) -> dict[str, Any]:
        """The values for a thing, decoded, and of the classes and sizes of those that it has now."""
        given = self.items[label]
        if given.keys() != now.keys():
            raise StateError(f"{what}: {label} has {', '.join(now)}; what is to be restored has {', '.join(given)}")
        values = {}
        for name, data in given.items():
            where = f"{what}: {label}: {name}"
            try:
                value = copy.deepcopy(restored(data, now[name], where))
            except KidoError:
                raise
            except Exception as error:
                raise StateError(f"{where}: not a value that was saved: {error!r}") from error
            old = now[name]
            if name == "class" and not same(value, old):
                raise StateError(f"{where}: it is a {old}, saved is a {value}")
            if isinstance(old, np.ndarray) and (not isinstance(value, np.ndarray) or value.shape != old.shape):
                raise StateError(f"{where}: expected an array of shape {old.shape}, got {value!r}")
            # Kernels take arrays whose dtype is NumPy's own float64 object; unpickled ones have an equal one.
            values[name] = value.astype(old.dtype) if isinstance(old, np.ndarray) else value
        return values

    def differences(self, other: Snapshot) -> list[str]:
        """What differs from another snapshot, a line for each value; empty if nothing does.

        Raises:
            StateError: the other is of another kind.
        """
        if type(other) is not type(self):
            raise StateError(f"expected {type(self).__name__} to compare with, got {other!r}")
        lines = []
        for label in [*self.items, *(x for x in other.items if x not in self.items)]:
            mine, its = self.items.get(label), other.items.get(label)
            if mine is None or its is None:
                lines.append(f"{label}: only in the {'second' if mine is None else 'first'}")
                continue
            for name in [*mine, *(x for x in its if x not in mine)]:
                if name not in mine or name not in its:
                    lines.append(f"{label}: {name}: only in the {'second' if name not in mine else 'first'}")
                elif not same(mine[name], its[name]):
                    lines.append(f"{label}: {name}: {_brief(mine[name])} != {_brief(its[name])}")
        return lines

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return not self.differences(other)

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        Raises:
            StateError: a user's state or properties hold something that cannot be written so.
        """
        items = {
            label: {name: plain(value, f"{label}: {name}") for name, value in values.items()}
            for label, values in self.items.items()
        }
        return {"kind": type(self).__name__, "items": items}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """From what `to_dict` returned.

        Raises:
            StateError: it is something else.
        """
        if not isinstance(data, dict) or data.get("kind") != cls.__name__ or not isinstance(data.get("items"), dict):
            raise StateError(f"expected what {cls.__name__}.to_dict returned, got {_brief(data)}")
        return cls(data["items"])

    def to_json(self) -> str:
        """As JSON text. Raises as `to_dict`."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From what `to_json` returned.

        Raises:
            StateError: it is something else.
        """
        try:
            data = json.loads(text)
        except (TypeError, ValueError) as error:
            raise StateError(f"{cls.__name__}: not JSON: {error}") from None
        return cls.from_dict(data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.items)} things)"


def _brief(value: Any) -> str:
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def _parts(owner: Any, key: str) -> tuple[dict[str, Any], Callable[[dict[str, Any]], None]]:
    """`state` or `properties` of an aspect or node as values, and what writes them."""

    def write(values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(owner, name, value)

    if hasattr(owner, key):
        return {key: copy.deepcopy(getattr(owner, key))}, write
    return {}, write


def _aspects(label: str, carrier: Carrier, key: str) -> Iterator[tuple[str, dict[str, Any], Any]]:
    for kind, aspect in carrier._carried().items():
        values, write = _parts(aspect, key)
        whole = not hasattr(aspect, "state") and not hasattr(aspect, "properties")
        if whole and key == "properties" and dataclasses.is_dataclass(aspect):
            values, write = {"aspect": copy.deepcopy(aspect)}, _replace_aspect(carrier)
        if values:
            yield f"{label}: aspect {class_name(kind)}", values, write


def _replace_aspect(carrier: Carrier) -> Callable[[dict[str, Any]], None]:
    return lambda values: carrier._carried().update({type(values["aspect"]): values["aspect"]})


class SavedState(Snapshot):
    """State of a skeleton: that of its coordinates, external forces, and states of nodes and aspects."""

    _holds = "state"

    @classmethod
    def _read(cls, skeleton: Skeleton) -> Iterator[tuple[str, dict[str, Any], Any]]:
        numbers: dict[Any, int] = {body: body.index for body in skeleton.bodies}
        for label, thing in things(skeleton):
            values, write = {}, None
            if isinstance(thing, Joint):
                own = thing.coordinates
                values = {_FIELD_NAMES[f]: skeleton.current_state.read(f)[own] for f in STATE_FIELDS}
                write = _joint_writer(skeleton, thing)
            elif (index := numbers.get(thing, -1)) >= 0:
                values = {"external_forces": skeleton.current_state.applied.get(index, np.zeros(_ROW)).copy()}
                write = _force_writer(skeleton, index)
            elif isinstance(thing, Node):
                values, write = _parts(thing, "state")
            if values:
                yield label, values, write
            yield from _aspects(label, thing, "state")


def _joint_writer(skeleton: Skeleton, joint: Joint) -> Callable[[dict[str, Any]], None]:
    def write(values: dict[str, Any]) -> None:
        data, own = skeleton.current_state.compiled(), joint.coordinates
        for field in STATE_FIELDS:
            value = values[_FIELD_NAMES[field]]
            if not np.isfinite(value).all():
                raise StateError(f"joint {joint.name!r}: {_FIELD_NAMES[field]}: expected finite numbers, got {value}")
            getattr(data, field)[own] = value

    return write


def _force_writer(skeleton: Skeleton, index: int) -> Callable[[dict[str, Any]], None]:
    def write(values: dict[str, Any]) -> None:
        row = values["external_forces"]
        if not np.isfinite(row).all():
            raise StateError(f"body {skeleton.parts.bodies[index].name!r}: external forces: expected finite numbers")
        skeleton.current_state.clear_external(index)
        if row.any():
            skeleton.current_state.add_external(index, row)

    return write


def _stateful(skeleton: Skeleton) -> Iterator[tuple[str, Any]]:
    """Nodes and aspects that have a state, with their labels."""
    for thing in _carriers(skeleton):
        if isinstance(thing, Node) and hasattr(thing, "state"):
            yield _label(thing), thing
        for kind, aspect in thing._carried().items():
            if hasattr(aspect, "state"):
                yield f"{_label(thing)}: aspect {class_name(kind)}", aspect


def carried_states(skeleton: Skeleton) -> dict[str, Any]:
    """Copies of the states of all nodes and aspects, by label."""
    return {label: copy.deepcopy(owner.state) for label, owner in _stateful(skeleton)}


def checked_carried_states(skeleton: Skeleton, states: Any, what: str) -> dict[str, Any]:
    """States that came from outside, of the nodes and aspects that are there.

    Raises:
        StateError: one is not of the class that it has now.
    """
    if not isinstance(states, dict):
        raise StateError(f"{what}: skeleton {skeleton.name!r}: expected states by name, got {_brief(states)}")
    found = {}
    for label, owner in _stateful(skeleton):
        if label in states:
            where, now = f"{what}: skeleton {skeleton.name!r}: {label}", owner.state
            value = restored(states[label], now, where)
            if dataclasses.is_dataclass(now) and type(value) is not type(now):
                raise StateError(f"{where}: expected a state of class {type(now).__name__}, got {_brief(value)}")
            found[label] = value
    return found


def put_carried_states(skeleton: Skeleton, states: dict[str, Any]) -> None:
    """Set states of the nodes and aspects that are there; not checked again."""
    for label, owner in _stateful(skeleton):
        if label in states:
            owner.state = copy.deepcopy(states[label])


class SavedProperties(Snapshot):
    """All properties of a skeleton: of bodies, joints, shapes, nodes and aspects; neither names nor state."""

    _holds = "properties"

    @staticmethod
    def _settle(skeleton: Skeleton) -> None:
        for joint in skeleton.joints:
            retrace = getattr(joint, "changed", None)  # of joints that users define
            if callable(retrace):
                retrace()
        skeleton.structure_changed()

    @classmethod
    def _read(cls, skeleton: Skeleton) -> Iterator[tuple[str, dict[str, Any], Any]]:
        for label, thing in things(skeleton):
            if isinstance(thing, Joint):
                yield label, *_joint_properties(thing)
            elif isinstance(thing, Node):
                own, write_own = _fields(thing, thing._property_fields)
                users, write_users = _parts(thing, "properties")
                yield label, {"class": class_name(type(thing)), **own, **users}, _both(write_own, write_users, users)
            elif thing is skeleton:
                own, write = _fields(thing, _SKELETON_FIELDS)
                yield label, {**own, "gravity": skeleton.gravity}, _both(write, _gravity_writer(skeleton), ["gravity"])
            else:
                yield label, *_fields(thing, _BODY_FIELDS)
            yield from _aspects(label, thing, "properties")


def _fields(owner: Any, fields: dict[str, str]) -> tuple[dict[str, Any], Callable[[dict[str, Any]], None]]:
    def write(values: dict[str, Any]) -> None:
        for name, field in fields.items():
            setattr(owner, field, values[name])
        if isinstance(owner, FrameNode):
            owner.transform_changed()

    return {name: copy.deepcopy(getattr(owner, field)) for name, field in fields.items()}, write


def _gravity_writer(skeleton: Skeleton) -> Callable[[dict[str, Any]], None]:
    def write(values: dict[str, Any]) -> None:
        if not np.array_equal(values["gravity"], skeleton.gravity):
            skeleton.gravity = values["gravity"]  # refused in a world, whose gravity it has

    return write


def _both(first: Any, second: Any, names: Iterable[str]) -> Callable[[dict[str, Any]], None]:
    def write(values: dict[str, Any]) -> None:
        first(values)
        second({name: values[name] for name in names})

    return write


def _joint_properties(joint: Joint) -> tuple[dict[str, Any], Callable[[dict[str, Any]], None]]:
    fields = {key.lstrip("_"): key for key in joint.__dict__ if key not in _JOINT_FIELDS_LEFT_OUT}

    def write(values: dict[str, Any]) -> None:
        for name, field in fields.items():
            joint.__dict__[field] = values[name]
        for name in joint._properties:
            joint._properties[name] = values[name]

    own = {name: joint.__dict__[field] for name, field in fields.items()}
    return copy.deepcopy({"class": class_name(type(joint)), **own, **joint._properties}), write
