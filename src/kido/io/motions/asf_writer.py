"""ASF files of any skeleton, so that its motions can be AMC files.

Bodies are bones of no length about whose origins they turn, bones without coordinates lead from each to the next, and
all axes are those of the file at rest. So poses of bodies are the same, whatever their joints are.
"""

from __future__ import annotations

import re

import numpy as np
import scipy

from kido.errors import KidoError
from kido.io.bones import relative_poses, up
from kido.io.motions.asf import INCH
from kido.io.xml import number, vector
from kido.math.transform import inverse_transform
from kido.motions import Motion
from kido.skeleton import BodyNode

STILL = 1e-12  # [m or 1] what moves by less has no coordinate


def asf_of(motion: Motion) -> tuple[str, dict[str, np.ndarray]]:
    """Text of an ASF file of a motion's skeleton, and for each bone with coordinates their numbers (frames, dofs).

    Lengths are in inches, angles in degrees, Y is up.

    Raises:
        KidoError: no skeleton, or one of several roots or with two bodies of one name.
    """
    skeleton = motion.skeleton
    if skeleton is None:
        raise KidoError("AMC files need joints: motion.on(skeleton) gives the motion some")
    roots = [body for body in skeleton.bodies if body.parent is None]
    if len(roots) != 1:
        raise KidoError(f"ASF files have one root; skeleton {skeleton.name!r} has {len(roots)}")
    names = {body: re.sub(r"[\s()#:]", "_", body.name) for body in skeleton.bodies} | {roots[0]: "root"}
    if len(set(names.values())) != len(names):
        raise KidoError(f"ASF files cannot hold two bones of one name: {', '.join(sorted(names.values()))}")
    rest = [value for joint in skeleton.joints for value in np.atleast_1d(joint.initial_position)[: joint.num_dofs]]
    poses = np.array([skeleton.forward_kinematics(q) for q in [rest, *motion.positions]])
    bones: list[str] = []
    below: dict[str, list[str]] = {name: [] for name in names.values()}
    columns: dict[str, np.ndarray] = {}

    def add(name: str, along: np.ndarray, dofs: list[str]) -> None:
        size = float(np.linalg.norm(along))
        direction = vector(along / size if size > 0.0 else (0.0, 0.0, 1.0))
        bones.extend([
            "  begin", f"    id {len(below)}", f"    name {name}", f"    direction {direction}",
            f"    length {number(size / INCH)}", "    axis 0 0 0 XYZ", *([f"    dof {' '.join(dofs)}"] if dofs else []),
            "  end",
        ])  # fmt: skip

    for body, name in names.items():
        parent = body.parent
        if parent is None:
            relative = inverse_transform(up("y")) @ poses[:, body.index]
        else:
            relative = relative_poses(poses, parent.index, body.index)
        offset = np.zeros(3) if parent is None else relative[0, :3, 3]
        slides = relative[1:, :3, 3] - offset
        turns = relative[1:, :3, :3]
        moves = parent is None or bool((abs(slides) > STILL).any())
        turned = parent is None or bool((abs(turns - np.eye(3)) > STILL).any())
        dofs = [*(["tx", "ty", "tz"] if moves else []), *(["rx", "ry", "rz"] if turned else [])]
        if dofs:
            with np.errstate(all="ignore"):
                angles = scipy.spatial.transform.Rotation.from_matrix(turns).as_euler("xyz", suppress_warnings=True)
            numbers = [
                *([slides / INCH] if moves else []),
                *([np.degrees(np.unwrap(angles, axis=0))] if turned else []),
            ]
            columns[name] = np.concatenate(numbers, axis=1)
        if parent is None:
            continue
        lead = _lead(f"to_{name}", below)
        add(lead, offset, [])
        add(name, _tip(body), dofs)
        below[names[parent]].append(lead)
        below[lead] = [name]
    tree = [f"  {name} {' '.join(children)}" for name, children in _in_order(below)]
    own = re.sub(r"\W", "_", skeleton.name)
    text = [
        ":version 1.10", f":name {own}", ":units", "  mass 1.0", "  length 1.0",
        "  angle deg", ":root", "  order TX TY TZ RX RY RZ", "  axis XYZ", "  position 0 0 0", "  orientation 0 0 0",
        ":bonedata", *bones, ":hierarchy", "  begin", *tree, "  end",
    ]  # fmt: skip
    return "\n".join(text) + "\n", columns


def _tip(body: BodyNode) -> np.ndarray:
    """Where a bone ends: that of a leaf where a bone filled evenly does, others at their origin."""
    return np.zeros(3) if body.children else 2.0 * np.asarray(body.inertia.com)


def _lead(name: str, taken: dict[str, list[str]]) -> str:
    while name in taken:
        name += "_"
    return name


def _in_order(below: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    """Bones with children, each after the one above it."""
    found, pending = [], ["root"]
    while pending:
        name = pending.pop(0)
        if below[name]:
            found.append((name, below[name]))
            pending += below[name]
    return found
