"""Nodes and aspects of users' classes as plain data, and back, without their constructors and without imports."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import StateError
from kido.skeleton.aspects import Aspect, Carrier
from kido.skeleton.nodes.end_effector import EndEffector, Support
from kido.skeleton.nodes.marker import Marker
from kido.skeleton.nodes.node import FrameNode, Node
from kido.skeleton.nodes.shape_node import ShapeNode
from kido.skeleton.state.plain import class_name, plain, restored
from kido.skeleton.state.snapshot import things

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

_OWN = (Marker, EndEffector)  # classes that are described otherwise
_REFUSED = "refused"  # key of why something cannot be restored


def users_parts(skeleton: Skeleton) -> list[dict[str, Any]]:
    """The nodes and aspects of users' classes of a skeleton, each as plain data, or with the reason why not."""
    found = []
    for body in skeleton.bodies:
        for place, node in enumerate(body.nodes()):
            if isinstance(node, ShapeNode):
                if not type(node).__module__.startswith("kido."):
                    what = f"shape {node.name!r} of class {class_name(type(node))}"
                    found.append({_REFUSED: f"{what}: shapes of users' classes are not kept"})
            elif type(node) not in _OWN:
                X = node.relative_transform.tolist() if isinstance(node, FrameNode) else None
                kept = _kept(f"node {node.name!r}", node, _fields_of_base(skeleton, type(node)))
                found.append({"name": node.name, "body": body.index, "place": place, "transform": X, **kept})
    return found + [item for label, thing in things(skeleton) for item in users_aspects(label, thing)]


def users_aspects(label: str, carrier: Carrier) -> Iterator[dict[str, Any]]:
    """The aspects of users' classes of one carrier, as `users_parts` gives them."""
    for aspect in carrier.aspects:
        if isinstance(aspect, Support) and isinstance(carrier, EndEffector):
            continue
        what = f"{label}: aspect"
        if isinstance(aspect, Aspect):
            yield {"on": label, **_kept(what, aspect, {"_carrier"})}
        elif dataclasses.is_dataclass(aspect):
            yield {"on": label, **_plain_or_reason(what, aspect, "value", aspect)}
        else:
            name = class_name(type(aspect))
            yield {_REFUSED: f"{what} of class {name}: it is neither a kido.Aspect nor a dataclass"}


def why_not(item: dict[str, Any]) -> str | None:
    """Why a node or aspect could not be written as plain data; None: it could."""
    return item.get(_REFUSED)


def _fields_of_base(skeleton: Skeleton, kind: type) -> set[str]:
    """Names of the attributes that every node of a class derived from `Node` or `FrameNode` has."""
    twin = type(skeleton)("twin").add_body("body")
    return {"_aspects", *vars((FrameNode if issubclass(kind, FrameNode) else Node)(twin, "node"))}


def _kept(what: str, owner: Any, leave_out: set[str]) -> dict[str, Any]:
    """The attributes of a node or aspect."""
    own = {name: value for name, value in vars(owner).items() if name not in leave_out}
    return _plain_or_reason(what, owner, "attributes", own)


def _plain_or_reason(what: str, owner: Any, key: str, value: Any) -> dict[str, Any]:
    kind = class_name(type(owner))
    try:
        return {"class": kind, key: plain(value, key)}
    except StateError as error:
        return {_REFUSED: f"{what} of class {kind}: {error}"}


def add_users_parts(skeleton: Skeleton, items: list[dict[str, Any]]) -> None:
    """Put nodes and aspects back that `users_parts` described.

    Raises:
        StateError: a class is not defined here, or data do not make one of it; the message names it and its class.
    """
    for item in items:
        if "body" in item:
            _add_node(skeleton, item)
    carriers = dict(things(skeleton))
    for item in items:
        if "body" not in item:
            add_users_aspect(carriers, item)


def _add_node(skeleton: Skeleton, item: dict[str, Any]) -> None:
    body, what = skeleton.bodies[item["body"]], f"node {item['name']!r}"
    kind = _class_of(item, Node, what)
    if item["name"] in kind._names_beside(body):
        raise StateError(f"{what}: the name is already used")
    node: Any = object.__new__(kind)
    try:
        if isinstance(node, FrameNode):
            FrameNode.__init__(node, body, item["name"], item["transform"])
            exact = np.array(item["transform"], dtype=np.float64)
            if np.allclose(exact, node._relative, rtol=0, atol=1e-12):
                node._relative = exact
        else:
            Node.__init__(node, body, item["name"])
        _fill(node, item, what)
    except Exception as error:
        raise StateError(f"{what} of class {item['class']} cannot be restored: {error!r:.200}") from error
    body._add_node(node)
    for other in body.nodes()[int(item["place"]) : -1]:
        body.move_to_end(other)


def add_users_aspect(carriers: dict[str, Carrier], item: dict[str, Any]) -> None:
    """Attach an aspect that `users_aspects` described to that of some carriers, by label, which had it.

    Raises:
        StateError: as `add_users_parts`.
    """
    what = f"{item['on']}: aspect"
    if item["on"] not in carriers:
        raise StateError(f"{what} of class {item['class']}: there is no {item['on']}")
    try:
        if "value" in item:
            aspect = restored(item["value"], None, what)
            if not dataclasses.is_dataclass(aspect) or class_name(type(aspect)) != item["class"]:
                raise StateError(f"{what}: expected a {item['class']}, got a {type(aspect).__name__}")
        else:
            kind = _class_of(item, Aspect, what)
            aspect: Any = object.__new__(kind)
            Aspect.__init__(aspect)
            _fill(aspect, item, what)
        carriers[item["on"]].set(aspect)
    except StateError:
        raise
    except Exception as error:
        raise StateError(f"{what} of class {item['class']} cannot be restored: {error!r:.200}") from error


def _fill(owner: Any, item: dict[str, Any], what: str) -> None:
    """Set the attributes of a node or aspect."""
    given = item["attributes"]
    if not isinstance(given, dict):
        raise StateError(f"{what}: its attributes are a {type(given).__name__}")
    for name, value in given.items():
        now = vars(owner).get(name)
        made = restored(value, now, f"{what}: {name}")
        if name in ("state", "properties") and now is not None and type(made) is not type(now):
            raise StateError(f"{what}: {name}: expected a {type(now).__name__}, got a {type(made).__name__}")
        vars(owner)[name] = made


def _class_of(item: dict[str, Any], base: type, what: str) -> type:
    """The class of a node or aspect, among those that are defined: nothing is imported by a file's word."""
    waiting = [base]
    while waiting:
        kind = waiting.pop()
        if class_name(kind) == item["class"]:
            return kind
        waiting += kind.__subclasses__()  # of several of one name, the last one
    raise StateError(
        f"{what} is of the user's class {item['class']!s:.100}, which is not defined here: import the module that "
        "defines it first"
    )
