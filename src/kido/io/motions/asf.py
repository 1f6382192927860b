"""ASF files (Acclaim): the skeletons of AMC motions.

What the format means here:

- A bone is a body whose origin is the end of its parent, with the axes of the file at rest. It turns by its ``dof``,
  the first of them innermost, about the axes of its ``axis``; the root slides and turns by its ``order``. A
  coordinate is called by both names: ``lfemur_rx``.
- Lengths are inches over the file's unit ``length``, as in the library of Carnegie Mellon University (0.45), and Y is
  up; the root's joint turns it into Z.
- Bones are ellipsoids as dense as water (`kido.io.bones`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from kido.attributes import named_arguments
from kido.io.bones import AXES, bone, chain_of_hinges, inertia_of_shapes, translation, up, warn_of_massless
from kido.io.fields import located
from kido.io.text import Place, Words, read_text
from kido.math.transform import inverse_transform
from kido.skeleton import BodyNode, Hinge, Skeleton

__all__ = ["Bone", "Skeletal", "parse_asf", "read"]

WORD = re.compile(r"[()]|[^\s()]+")
COMMENT = re.compile(r"#[^\n]*")
DOFS = ("tx", "ty", "tz", "rx", "ry", "rz")
INCH = 0.0254
DENSITY = 1000.0  # [kg/m^3]
HUGE = 1e100  # numbers whose products are numbers


@dataclass
class Bone:
    """The root or a bone: its vector [m] (zero of the root), the root's origin, the axes that it turns about (4, 4),
    its coordinates and their limits."""

    name: str
    place: Place
    vector: np.ndarray = field(default_factory=lambda: np.zeros(3))
    origin: np.ndarray = field(default_factory=lambda: np.zeros(3))
    axes: np.ndarray = field(default_factory=lambda: np.eye(4))
    dofs: list[str] = field(default_factory=list)
    limits: list[tuple[float, float]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        return [f"{self.name}_{dof}" for dof in self.dofs]


@dataclass
class Skeletal:
    """All of a file: the unit of lengths [m] and of angles [rad], bones by name (the root first), their parents."""

    length: float = INCH
    angle: float = np.pi / 180.0
    bones: dict[str, Bone] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)


@named_arguments
def read(path: str | Path, *, up_axis: str = "y") -> Skeleton:
    """Read an ASF file.

    Args:
        path: the file.
        up_axis: which axis of the file is up: "y", or "z" to leave its axes as they are.

    Raises:
        FileFormatError: path, line and reason.
        KidoError: an axis that does not exist.
    """
    start = up(up_axis)
    described = parse_asf(path)
    skeleton = Skeleton(Path(path).stem)
    skeleton.uri = str(path)
    bodies: dict[str, BodyNode] = {}
    for name, spec in described.bones.items():
        above = described.parents.get(name)
        with located(spec.place):
            base = start @ translation(spec.origin) if above is None else translation(described.bones[above].vector)
            bodies[name] = _add(skeleton, spec, base, None if above is None else bodies[above], described.angle)
    warn_of_massless(skeleton)
    return skeleton


def _add(skeleton: Skeleton, spec: Bone, base: np.ndarray, above: BodyNode | None, angle: float) -> BodyNode:
    slides = [dof for dof in spec.dofs if dof[0] == "t"]
    turns = [dof for dof in reversed(spec.dofs) if dof[0] == "r"]
    hinges: list[Hinge | np.ndarray] = [Hinge.prismatic(AXES[dof[1]]) for dof in slides]
    hinges += [spec.axes, *(Hinge.revolute(AXES[dof[1]]) for dof in turns), inverse_transform(spec.axes)]
    options: dict[str, Any] = {"transform_from_parent": base}
    order = slides + turns
    if spec.limits and order:
        bounds = dict(zip(spec.dofs, spec.limits, strict=True))
        scale = np.array([angle if dof[0] == "r" else 1.0 for dof in order])[:, None]
        lower, upper = (np.array([bounds[dof] for dof in order]) * scale).T
        options |= {"position_lower_limit": lower, "position_upper_limit": upper}
        options["initial_position"] = np.clip(0.0, lower, upper)
    joint = chain_of_hinges(f"Joint-{spec.name}", hinges, [f"{spec.name}_{dof}" for dof in order], **options)
    body = skeleton.add_body(spec.name, joint, above)
    bone(body, spec.vector)
    body.inertia = inertia_of_shapes(body, DENSITY)
    return body


# -- the text ----------------------------------------------------------------------------------------------


def parse_asf(path: str | Path) -> Skeletal:
    """Parse an ASF file.

    Raises:
        FileFormatError: path, line and reason.
    """
    text = COMMENT.sub(lambda match: " " * len(match.group()), read_text(path))
    words = Words(text, str(path), WORD)
    found = Skeletal()
    root = Bone("root", words.place("the root"))
    bones: dict[str, Bone] = {}
    linked = False
    while words.peek() is not None:
        section = words.take("a section")
        if section == ":units":
            _read_units(words, found)
        elif section == ":root":
            root.place = words.place("the root")
            _read_root(words, root, found)
        elif section == ":bonedata":
            bones = _read_bones(words, found)
        elif section == ":hierarchy":
            linked = True
            _read_hierarchy(words, found)
        elif not section.startswith(":"):
            raise words.error(f"found '{section[:60]}'; expected a section, such as ':bonedata'")
        else:
            while (word := words.peek()) is not None and not word.startswith(":"):
                words.take("a word")
    if not linked:
        raise words.error("the file has no :hierarchy")
    bones = {"root": root, **bones}
    for name in found.parents:
        if name not in bones:
            raise words.error(f"the hierarchy has '{name}', which is no bone; expected one of {', '.join(bones)}")
    found.bones = {name: bones[name] for name in ["root", *found.parents]}
    return found


def _number(words: Words, what: str) -> float:
    value = words.number(what)
    if not abs(value) < HUGE:
        raise words.error(f"{what} is {value:g}; expected below {HUGE:g}")
    return value


def _read_units(words: Words, found: Skeletal) -> None:
    while (word := words.peek()) is not None and not word.startswith(":"):
        unit = words.take("a unit")
        if unit == "length":
            value = _number(words, "the unit of length")
            if not value > 1e-100:
                raise words.error(f"the unit of length is {value:g}; expected above 0")
            found.length = INCH / value
        elif unit == "angle":
            found.angle = np.pi / 180.0 if words.expect("deg", "rad") == "deg" else 1.0
        else:
            words.take(f"the unit of {unit}")


def _read_root(words: Words, root: Bone, found: Skeletal) -> None:
    order, angles, place = "XYZ", [0.0, 0.0, 0.0], np.zeros(3)
    while (word := words.peek()) is not None and not word.startswith(":"):
        key = words.expect("order", "axis", "position", "orientation")
        if key == "order":
            root.dofs = _read_dofs(words)
        elif key == "axis":
            order = _read_order(words)
        elif key == "position":
            place = np.array([_number(words, "the position of the root") for _ in range(3)])
        else:
            angles = [_number(words, "the orientation of the root") for _ in range(3)]
    root.origin = found.length * place
    root.axes = _turned(order, angles, found.angle)


def _read_bones(words: Words, found: Skeletal) -> dict[str, Bone]:
    bones: dict[str, Bone] = {}
    while (word := words.peek()) is not None and not word.startswith(":"):
        words.expect("begin")
        spec = Bone("", words.place("a bone"))
        along, length = np.zeros(3), 0.0
        while (key := words.take("'end'")) != "end":
            if key == "name":
                spec.name = words.take("the name of a bone")
                spec.place = words.place(f"bone '{spec.name}'")
            elif key == "direction":
                along = np.array([_number(words, "the direction") for _ in range(3)])
            elif key == "length":
                length = _number(words, "the length")
            elif key == "axis":
                angles = [_number(words, "an angle of the axis") for _ in range(3)]
                spec.axes = _turned(_read_order(words), angles, found.angle)
            elif key == "dof":
                spec.dofs = _read_dofs(words)
            elif key == "limits":
                spec.limits = [_read_limits(words) for _ in spec.dofs]
            elif key in ("id", "bodymass", "cofmass"):
                words.number(key)
            else:
                raise words.error(f"found '{key[:60]}'; expected a property of {spec.place.what}, or 'end'")
        if not spec.name or spec.name in ("root", *bones):
            raise words.error(f"the name of the bone is '{spec.name}'; expected a new one")
        norm = np.linalg.norm(along)
        spec.vector = found.length * length * along / (norm if norm > 0.0 else 1.0)
        bones[spec.name] = spec
    return bones


def _read_dofs(words: Words) -> list[str]:
    dofs: list[str] = []
    while (word := words.peek()) is not None and word.lower() in (*DOFS, "l"):
        dof = words.take("a coordinate").lower()
        if dof == "l" or dof in dofs:
            raise words.error(f"the coordinate '{dof}' of a bone; expected each of {', '.join(DOFS)} once at most")
        dofs.append(dof)
    return dofs


def _read_order(words: Words) -> str:
    order = words.take("an order of axes").upper()
    if sorted(order) != ["X", "Y", "Z"]:
        raise words.error(f"the order of axes is '{order[:60]}'; expected one such as 'XYZ'")
    return order


def _read_limits(words: Words) -> tuple[float, float]:
    words.expect("(")
    bounds = []
    for _ in range(2):
        word = words.peek()
        infinite = word is not None and word.lower() in ("inf", "-inf", "+inf")
        bounds.append(float(words.take("a limit")) if infinite else words.number("a limit"))
    words.expect(")")
    return bounds[0], bounds[1]


def _read_hierarchy(words: Words, found: Skeletal) -> None:
    words.expect("begin")
    known = {"root"}
    line, above = words.line, ""
    while (name := words.take("'end'")) != "end":
        if words.line != line:
            line, above = words.line, name
            if above not in known:
                raise words.error(f"the parent '{above[:60]}' hangs on nothing yet; expected one of {', '.join(known)}")
            continue
        if name in known or not above:
            raise words.error(f"'{name[:60]}' hangs on something already; expected a line of a parent and its children")
        known.add(name)
        found.parents[name] = above


def _turned(order: str, angles: list[float], unit: float) -> np.ndarray:
    """Rotations about the fixed axes in order (4, 4)."""
    X = np.eye(4)
    by_axis = dict(zip("XYZ", angles, strict=True))
    turn = scipy.spatial.transform.Rotation.from_euler(order.lower(), [unit * by_axis[axis] for axis in order])
    X[:3, :3] = turn.as_matrix()
    return X
