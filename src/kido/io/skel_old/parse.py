"""The text of a SKEL file with braces to what it describes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from kido.io.bones import AXES
from kido.io.text import Place, Words

__all__ = ["Description", "NodeSpec", "PrimitiveSpec", "Transform", "is_braces", "parse_text"]

# A name may end in angle brackets: root<a-X>; a vector stands in such too: <root<a-X>, 0.5, 1>.
WORD = re.compile(r'[{}<>,]|"[^"\n]*"|[^\s{}<>,"]+(?:<[^\s{}<>,]*>)?')
START = re.compile(r"\s*(dofs|mass|node|handles|markers)\b[^<{]{0,200}\{")
KINDS = ("translate", "telescope", "rotate_euler", "rotate_cons", "rotate_expmap", "rotate_quat")
VECTORS = {"translate": 3, "rotate_expmap": 3, "rotate_quat": 4}
SHAPES = ("CUBE", "SPHERE", '""')


@dataclass(frozen=True)
class Transform:
    """A transform of a chain: of `names` (coordinates, or the value that scales a telescope), an axis or a vector, and
    the angle of a constant rotation."""

    kind: str
    place: Place
    names: tuple[str, ...]
    vector: np.ndarray | None = None
    angle: float = 0.0


@dataclass(frozen=True)
class PrimitiveSpec:
    """The shape and the mass of a node."""

    place: Place
    size: np.ndarray
    center: np.ndarray
    scale: str
    box: bool
    mass: str | None
    color: np.ndarray | None


@dataclass
class NodeSpec:
    """A body; `parent` is the index of its parent in the list of nodes."""

    name: str
    place: Place
    parent: int | None
    transforms: list[Transform] = field(default_factory=list)
    primitive: PrimitiveSpec | None = None


@dataclass
class Description:
    """All of a file: values and limits of names, masses, nodes (parents first), points of nodes."""

    dofs: dict[str, np.ndarray] = field(default_factory=dict)
    masses: dict[str, float] = field(default_factory=dict)
    nodes: list[NodeSpec] = field(default_factory=list)
    handles: list[tuple[str, Place, np.ndarray, str]] = field(default_factory=list)


def is_braces(text: str) -> bool:
    """Whether a text is of this format."""
    return START.match(text) is not None


def parse_text(text: str, path: str) -> Description:
    """Parse a file.

    Raises:
        FileFormatError: path, line and reason.
    """
    words = Words(text, path, WORD)
    found = Description()
    while words.peek() is not None:
        section = words.expect("dofs", "mass", "node", "handles", "markers")
        if section == "node":
            _read_nodes(words, found)
            continue
        words.expect("{")
        while words.peek() != "}":
            name = _name(words, f"a name in {section} or '}}'")
            place = words.place(f"'{name}' in {section}")
            words.expect("{")
            if section in ("dofs", "mass") and name in (found.dofs if section == "dofs" else found.masses):
                raise words.error(f"the name '{name}' in {section} is taken")
            if section == "dofs":
                found.dofs[name] = np.array(_list(words, 3, f"value and limits of '{name}'"))
            elif section == "mass":
                found.masses[name] = words.number(f"the mass '{name}'")
                if found.masses[name] < 0.0:
                    raise words.error(f"the mass '{name}' is {found.masses[name]:g} kg; expected at least 0")
            else:
                point = _vector(words, f"the place of '{name}'")
                words.expect(",")
                words.count(f"the number of '{name}'")
                words.expect(",")
                found.handles.append((name, place, point, _name(words, "the name of a node")))
            words.expect("}")
        words.expect("}")
    return found


def _read_nodes(words: Words, found: Description) -> None:
    """A node and all within it; the word ``node`` has been taken."""
    open_nodes: list[int] = []
    while True:
        name = _name(words, "the name of a node")
        place = words.place(f"node '{name}'")
        words.expect("{")
        words.count(f"the number of node '{name}'")
        open_nodes.append(len(found.nodes))
        found.nodes.append(NodeSpec(name, place, open_nodes[-2] if len(open_nodes) > 1 else None))
        while True:
            node = found.nodes[open_nodes[-1]]
            word = words.expect("chain", "primitive", "node", "}")
            if word == "chain":
                node.transforms += _read_chain(words)
            elif word == "primitive":
                if node.primitive is not None:
                    raise words.error(f"{node.place.what} has a second primitive; expected one")
                node.primitive = _read_primitive(words, node.name)
            elif word == "node":
                break
            else:
                open_nodes.pop()
                if not open_nodes:
                    return


def _read_chain(words: Words) -> list[Transform]:
    words.expect("{")
    words.count("the number of transforms")
    transforms = []
    while words.peek() != "}":
        kind = words.expect(
            "translate", "telescope", "rotate_euler", "rotate_cons", "rotate_expmap", "rotate_quat", "}"
        )
        place = words.place(kind)
        words.expect("{")
        if kind in VECTORS:
            transforms.append(Transform(kind, place, _names(words, VECTORS[kind])))
        elif kind == "telescope":
            offset = _vector(words, "the direction of telescope")
            words.expect(",")
            transforms.append(Transform(kind, place, (_name(words, "the length of telescope"),), offset))
        else:
            angle = words.number("the angle [rad]") if kind == "rotate_cons" else 0.0
            names = () if kind == "rotate_cons" else (_name(words, "the name of an angle"),)
            words.expect(",")
            axis = np.array(AXES[words.expect(*AXES)])
            transforms.append(Transform(kind, place, names, axis, angle))
        words.expect("}")
    words.expect("}")
    return transforms


def _read_primitive(words: Words, node: str) -> PrimitiveSpec:
    place = words.place(f"primitive of node '{node}'")
    words.expect("{")
    size = _vector(words, "the size of the primitive")
    words.expect(",")
    center = _vector(words, "the centre of the primitive")
    words.expect(",")
    scale = _name(words, "the scale of the primitive")
    box, mass, color = False, None, None
    while words.expect(",", "}") == ",":
        if words.peek() == "<":
            color = _vector(words, "the colour of the primitive")
        elif words.peek() in SHAPES:
            box = words.take("a shape") == "CUBE"
        else:
            mass = _name(words, "the name of a mass")
    return PrimitiveSpec(place, size, center, scale, box, mass, color)


def _name(words: Words, expected: str) -> str:
    word = words.take(expected)
    if word in "{}<>,":
        raise words.error(f"found '{word}'; expected {expected}")
    return word


def _list(words: Words, count: int, what: str) -> list[float]:
    numbers = []
    for k in range(count):
        if k:
            words.expect(",")
        numbers.append(words.number(what))
    return numbers


def _vector(words: Words, what: str) -> np.ndarray:
    words.expect("<")
    values = np.array(_list(words, 3, what))
    words.expect(">")
    return values


def _names(words: Words, count: int) -> tuple[str, ...]:
    words.expect("<")
    names = []
    for k in range(count):
        if k:
            words.expect(",")
        names.append(_name(words, "the name of a coordinate"))
    words.expect(">")
    return tuple(names)
