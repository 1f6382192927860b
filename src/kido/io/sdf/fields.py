"""Small readers shared by the parts of the SDF reader: poses, directions, remarks about what is left out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from kido.io.xml import Node

__all__ = ["Remarks", "direction", "find_pose", "note_unknown", "rotation_of_rpy"]


class Remarks(list[str]):
    """What a reader leaves out, in words; each text once."""

    def add(self, node: Node, text: str) -> None:
        """Remark on an element: path, line, text."""
        self.once(f"{node.path}:{node.line}: {text}")

    def once(self, text: str) -> None:
        """A remark without a place."""
        if text not in self:
            self.append(text)


def rotation_of_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """R = Rz(yaw) Ry(pitch) Rx(roll) (3, 3): fixed-axis roll, pitch, yaw [rad]."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def find_pose(node: Node) -> tuple[np.ndarray, str]:
    """Transform (4, 4) in the child <pose> and the frame it is relative to ("" for the default one).

    Six numbers: a translation [m] and roll, pitch, yaw [rad, or degrees]; or, with
    ``rotation_format="quat_xyzw"``, a translation and a quaternion x, y, z, w. An empty <pose> is the identity.
    Until 1.6 the frame was the attribute ``frame``.
    """
    transform = np.eye(4)
    pose = node.child("pose")
    if pose is None:
        return transform, ""
    relative_to = pose.attribute("relative_to", "") or pose.attribute("frame", "")
    if not pose.text:
        return transform, relative_to
    if pose.choice("rotation_format", ("euler_rpy", "quat_xyzw"), "euler_rpy") == "quat_xyzw":
        values = pose.text_vector(7)
        size = float(np.linalg.norm(values[3:]))
        if not 1e-6 < size < 1e6:
            raise pose.error(f"the quaternion {values[3:].tolist()} of {node.describe()} is none of a rotation")
        transform[:3, :3] = Rotation.from_quat(values[3:]).as_matrix()
    else:
        values = pose.text_vector(6)
        degrees = pose.choice("degrees", ("true", "false", "1", "0"), "false") in ("true", "1")
        transform[:3, :3] = rotation_of_rpy(*(np.radians(values[3:]) if degrees else values[3:]))
    transform[:3, 3] = values[:3]
    return transform, relative_to


def direction(node: Node, values: np.ndarray) -> np.ndarray:
    """A vector scaled to length one; one of length zero is refused."""
    scale = float(np.abs(values).max())
    if scale == 0.0:
        raise node.error(f"the direction {node.describe()} is the zero vector")
    values = values / scale
    return values / np.linalg.norm(values)


def note_unknown(node: Node, known: Sequence[str], owner: str, remarks: Remarks) -> None:
    """Remark on every kind of child element that the reader does not use."""
    for tag in dict.fromkeys(child.tag for child in node if child.tag not in known):
        remarks.once(f"{owner}: <{tag}> in <{node.tag}> is left out")
