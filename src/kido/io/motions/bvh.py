"""BVH files (Biovision): a hierarchy of joints, and channels of all of them in frames.

What the format means here:

- A joint is a body whose hinges are its channels: rotations in the order in which they are listed, the first outermost,
  as degrees; position channels stand in place of ``OFFSET``, before the rotations. A coordinate is called by both
  names: ``Hips_Xposition``.
- Lengths are centimetres unless `scale` says otherwise; Y is up, and the root's joint turns it into Z.
- The format has no shapes and no masses: bones are ellipsoids along the offsets of what hangs on a joint, as dense as
  water (`kido.io.bones`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from kido.attributes import named_arguments
from kido.errors import KidoError
from kido.io.bones import (
    AXES,
    bone,
    chain_of_hinges,
    inertia_of_shapes,
    relative_poses,
    translation,
    up,
    warn_of_massless,
)
from kido.io.fields import located
from kido.io.text import Place, Words, read_text
from kido.io.xml import number, vector
from kido.joints import JointKind
from kido.math.transform import inverse_transform
from kido.motions import Motion
from kido.skeleton import BodyNode, Hinge, Joint, Skeleton

__all__ = ["read", "write"]

WORD = re.compile(r"[{}]|[^\s{}]+")
CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in "XYZ")
CENTIMETRE = 0.01
LONGEST = 1e100  # offset whose products are numbers
DENSITY = 1000.0  # [kg/m^3]


@dataclass
class JointSpec:
    """A joint of the hierarchy; `parent` is the index of its parent, `ends` are offsets of what hangs on it."""

    name: str
    place: Place
    parent: int | None
    offset: np.ndarray = field(default_factory=lambda: np.zeros(3))
    channels: list[str] = field(default_factory=list)
    ends: list[np.ndarray] = field(default_factory=list)

    @property
    def coordinates(self) -> list[str]:
        """Channels in the order in which they act."""
        return sorted(self.channels, key=lambda channel: channel.endswith("rotation"))


@named_arguments
def read(path: str | Path, *, up_axis: str = "y", scale: float = CENTIMETRE) -> Motion:
    """Read a BVH file: a motion with its skeleton.

    Args:
        path: the file.
        up_axis: which axis of the file is up: "y", or "z" to leave its axes as they are.
        scale: metres of the file's unit of length.

    Raises:
        FileFormatError: path, line and reason.
        KidoError: an axis or a scale that does not exist.
    """
    start = up(up_axis)
    if not 0.0 < scale < np.inf:
        raise KidoError(f"scale is {scale!r}; expected metres of the file's unit, above 0")
    words = Words(read_text(path), str(path), WORD)
    words.expect("HIERARCHY")
    joints = _read_hierarchy(words, scale)
    skeleton = _build(joints, Path(path).stem, start)
    skeleton.uri = str(path)
    words.expect("Frames:")
    frames = words.count("the number of frames")
    words.expect("Frame")
    words.expect("Time:")
    interval = words.number("the interval between frames [s]")
    place = words.place("the motion")
    if not interval > 0.0:
        raise words.error(f"the interval between frames is {interval:g} s; expected above 0")
    names = [f"{joint.name}_{channel}" for joint in joints for channel in joint.channels]
    values = words.numbers(frames * len(names), f"{frames} frames of {len(names)} channels")
    units = [np.pi / 180.0 if name.endswith("rotation") else scale for name in names]
    with located(place):
        rate = 1.0 / interval
        rate = float(f"{rate:.4g}") if abs(rate - float(f"{rate:.4g}")) < 2e-5 * rate else rate  # 0.0083333: 120 Hz
        positions = values.reshape(frames, len(names)) * units
        return Motion(names, positions, rate).on(skeleton)


def _read_hierarchy(words: Words, scale: float) -> list[JointSpec]:
    """All joints, parents first, as far as the word MOTION."""
    joints: list[JointSpec] = []
    open_joints: list[int] = []
    while True:
        word = words.expect(*(("ROOT", "MOTION") if not open_joints else ("OFFSET", "CHANNELS", "JOINT", "End", "}")))
        if word == "MOTION":
            if not joints:
                raise words.error("the hierarchy has no ROOT")
            return joints
        if word in ("ROOT", "JOINT"):
            name = words.take("the name of a joint")
            parent = open_joints[-1] if open_joints else None
            open_joints.append(len(joints))
            joints.append(JointSpec(name, words.place(f"joint '{name}'"), parent))
            words.expect("{")
        elif word == "}":
            open_joints.pop()
        elif word == "OFFSET":
            spec = joints[open_joints[-1]]
            spec.offset = scale * _offset(words)
            if spec.parent is not None:
                joints[spec.parent].ends.append(spec.offset)
        elif word == "CHANNELS":
            spec = joints[open_joints[-1]]
            if spec.channels:
                raise words.error(f"{spec.place.what} has CHANNELS already")
            for _ in range(min(words.count("the number of channels"), 7)):  # more than six are refused later
                spec.channels.append(words.expect(*CHANNELS))
        else:
            words.expect("Site")
            words.expect("{")
            words.expect("OFFSET")
            joints[open_joints[-1]].ends.append(scale * _offset(words))
            words.expect("}")


def _offset(words: Words) -> np.ndarray:
    offset = np.array([words.number("the offset") for _ in range(3)])
    if not (np.abs(offset) < LONGEST).all():
        raise words.error(f"the offset is {offset.tolist()}; expected below {LONGEST:g}")
    return offset


def _build(joints: list[JointSpec], name: str, start: np.ndarray) -> Skeleton:
    skeleton = Skeleton(name)
    bodies: list[BodyNode] = []
    for spec in joints:
        with located(spec.place):
            above = None if spec.parent is None else bodies[spec.parent]
            coordinates = spec.coordinates
            slides = [AXES_OF[c] for c in coordinates if c.endswith("position")]
            free = np.any([np.abs(axis) for axis in slides], axis=0) if slides else np.zeros(3, dtype=bool)
            parts = [translation(np.where(free, 0.0, spec.offset)), *(_hinge(channel) for channel in coordinates)]
            names = [f"{spec.name}_{channel}" for channel in coordinates]
            here = {f"{spec.name}_{axis.upper()}position": spec.offset[k] for k, axis in enumerate(AXES)}
            options: dict[str, Any] = {"transform_from_parent": start if above is None else np.eye(4)}
            if names:
                options["initial_position"] = [here.get(dof, 0.0) for dof in names]
            joint = chain_of_hinges(f"Joint-{spec.name}", parts, names, **options)
            bodies.append(skeleton.add_body(spec.name, joint, above))
            for end in spec.ends:
                bone(bodies[-1], end)
            bodies[-1].inertia = inertia_of_shapes(bodies[-1], DENSITY)
    warn_of_massless(skeleton)
    return skeleton


AXES_OF = {channel: np.array(AXES[channel[0].lower()]) for channel in CHANNELS}


def _hinge(channel: str) -> Hinge:
    make = Hinge.revolute if channel.endswith("rotation") else Hinge.prismatic
    return make(AXES_OF[channel])


# -- writing -----------------------------------------------------------------------------------------------


def write(motion: Motion, store: Any, unsupported: Any) -> str:
    """A motion of a skeleton as a BVH file in centimetres, Y up.

    Joints whose coordinates are channels keep them. Others are written as rotations in the order ZXY, and positions
    where they move their origin; poses of all bodies are the same.
    """
    skeleton = motion.skeleton
    if skeleton is None:
        raise KidoError("BVH files need joints: motion.on(skeleton) gives the motion some")
    names = [re.sub(r"[\s{}]", "_", body.name) for body in skeleton.bodies]
    if len(set(names)) != len(names):
        raise KidoError(f"BVH files cannot hold two joints of one name: {', '.join(sorted(names))}")
    rest = [value for joint in skeleton.joints for value in np.atleast_1d(joint.initial_position)[: joint.num_dofs]]
    poses = np.array([skeleton.forward_kinematics(q) for q in [rest, *motion.positions]])  # at rest, then the frames
    turn = inverse_transform(up("y"))
    lines: list[str] = ["HIERARCHY"]
    columns: list[np.ndarray] = []
    roots = [body for body in skeleton.bodies if body.parent is None]
    pending: list[tuple[BodyNode | None, int]] = [(body, 0) for body in reversed(roots)]
    while pending:
        body, depth = pending.pop()
        space = "  " * depth
        if body is None:
            lines.append(f"{space}}}")
            continue
        parent = body.parent
        relative = turn @ poses[:, body.index] if parent is None else relative_poses(poses, parent.index, body.index)
        offset, channels, values = _channels(body.parent_joint, parent is None, relative, motion)
        columns += values
        lines.append(f"{space}{'ROOT' if parent is None else 'JOINT'} {names[body.index]}")
        lines += [f"{space}{{", f"{space}  OFFSET {vector(offset / CENTIMETRE)}"]
        lines.append(f"{space}  CHANNELS {' '.join([str(len(channels)), *channels])}")
        if not body.children:
            tip = vector(2.0 * body.inertia.com / CENTIMETRE)  # where a bone filled evenly ends
            lines += [f"{space}  End Site", f"{space}  {{", f"{space}    OFFSET {tip}", f"{space}  }}"]
        pending.append((None, depth))
        pending += [(child, depth + 1) for child in reversed(body.children)]
    rows = [vector(row) for row in np.array(columns).reshape(-1, motion.num_frames).T]
    head = ["MOTION", f"Frames: {motion.num_frames}", f"Frame Time: {number(1.0 / motion.frame_rate)}"]
    return "\n".join([*lines, *head, *rows]) + "\n"


def _channels(
    joint: Joint, is_root: bool, relative: np.ndarray, motion: Motion
) -> tuple[np.ndarray, list[str], list[np.ndarray]]:
    """Offset at rest [m], channels, and the numbers of each in all frames, of a joint."""
    origins = relative[1:, :3, 3]
    own = _own_channels(joint, up("y") if is_root else np.eye(4))
    moves = bool((np.ptp(origins, axis=0) > 1e-12).any()) or any(channel.endswith("position") for channel in own or [])
    rotations = [channel for channel in own or [] if channel.endswith("rotation")]
    if own is None:
        rotations = ["Zrotation", "Xrotation", "Yrotation"]
        turns = scipy.spatial.transform.Rotation.from_matrix(relative[1:, :3, :3])
        with np.errstate(all="ignore"):
            angles = list(np.unwrap(turns.as_euler("ZXY", suppress_warnings=True), axis=0).T)
    else:
        found = {dof.name: channel for dof, channel in zip(joint.dofs, own, strict=True)}
        angles = [motion[name] for name, channel in found.items() if channel in rotations]
    slides = ["Xposition", "Yposition", "Zposition"] if moves else []
    values = [*(origins.T / CENTIMETRE if moves else []), *(np.degrees(angle) for angle in angles)]
    return relative[0, :3, 3], slides + rotations, values


def _own_channels(joint: Joint, start: np.ndarray) -> list[str] | None:
    """Channels that a joint's coordinates are; None if they are others."""
    hinges = joint.elementary_motions()
    if hinges is None:
        return None
    X, Y = joint.transform_from_parent, joint.transform_from_child
    if not np.allclose(X[:3, :3], start[:3, :3], rtol=0, atol=1e-12) or not np.allclose(
        Y, np.eye(4), rtol=0, atol=1e-12
    ):
        return None
    channels = []
    for hinge in hinges:
        letter = [axis for axis, unit in AXES.items() if np.array_equal(hinge.axis, unit)]
        kind = {JointKind.REVOLUTE: "rotation", JointKind.PRISMATIC: "position"}.get(hinge.kind)
        if not letter or kind is None or not np.array_equal(getattr(hinge, "offset", np.eye(4)), np.eye(4)):
            return None
        channels.append(f"{letter[0].upper()}{kind}")
    ordered = sorted(channels, key=lambda channel: channel.endswith("rotation"))
    return channels if channels == ordered and len(set(channels)) == len(channels) else None
