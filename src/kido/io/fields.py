"""What readers and writers of all formats share: remarks, errors with a place, names, options, colours, angles."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import numpy as np

from kido.errors import FileFormatError, KidoError, MeshNotFoundError
from kido.io.text import Place
from kido.io.xml import Node

__all__ = [
    "MISSING_FILES",
    "ROOT_JOINT",
    "WORLD",
    "check_choice",
    "direction",
    "free_name",
    "listed",
    "located",
    "plane_axes",
    "read_rgba",
    "rotation_of_rpy",
    "rpy",
    "xyz_angles",
]

WORLD = "world"  # as formats name the world where they name a link
ROOT_JOINT = "root_joint"
MISSING_FILES = ("error", "skip")


@contextmanager
def located(node: Node | Place) -> Iterator[None]:
    """Give an error of the objects being built the path and line of the element that describes them."""
    try:
        yield
    except FileFormatError:
        raise
    except MeshNotFoundError as error:
        raise MeshNotFoundError(error.uri, error.tried, error.reason, node.path, node.line) from None
    except KidoError as error:
        raise node.error(f"{node.describe()}: {error}") from error


def check_choice(option: str, value: object, choices: Collection[object]) -> None:
    """Raises KidoError for an option that is none of its choices."""
    if value not in choices:
        raise KidoError(f"{option} is {value!r}; expected one of {', '.join(map(repr, choices))}")


def listed(items: list[str], limit: int = 12) -> str:
    """The first of many items, and how many more there are."""
    shown = ", ".join(items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


def free_name(name: str, taken: Collection[str], suffix: str = "") -> str:
    """A name that is not taken: with the suffix if it is, then with underscores."""
    if name in taken and suffix:
        name = f"{name}_{suffix}"
    while name in taken:
        name += "_"
    return name


def read_rgba(node: Node, values: np.ndarray) -> tuple[float, float, float, float]:
    """A colour of three or four numbers; those outside of 0..1 are remarked on and clipped."""
    clipped = np.clip(values, 0.0, 1.0)
    if not np.array_equal(values, clipped):
        node.remark(f"colour {values.tolist()} is outside of 0..1; taken as the nearest")
    r, g, b, *alpha = (float(value) for value in clipped)
    return r, g, b, alpha[0] if alpha else 1.0


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


def rpy(rotation: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw [rad] of R = Rz(yaw) Ry(pitch) Rx(roll), to rounding near pitch = +-90 degrees too.

    There yaw is badly defined; roll then is taken from what yaw and pitch leave of the rotation.
    """
    R = rotation
    yaw = math.atan2(R[1, 0], R[0, 0])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    cy, sy, cp, sp = math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch)
    second = np.array([-sy, cy, 0.0])  # the second and third axes of Rz(yaw) Ry(pitch)
    third = np.array([cy * sp, sy * sp, cp])
    roll = math.atan2(float(third @ R[:, 1]), float(second @ R[:, 1]))
    return roll, pitch, yaw


def xyz_angles(rotation: np.ndarray) -> tuple[float, float, float]:
    """Angles a, b, c [rad] of R = Rx(a) Ry(b) Rz(c)."""
    a, b, c = rpy(rotation.T)
    return -a, -b, -c


def direction(node: Node, values: np.ndarray) -> np.ndarray:
    """A vector scaled to length one; one of length zero is refused."""
    scale = float(np.abs(values).max())
    if scale == 0.0:
        raise node.error(f"the direction {node.describe()} is the zero vector")
    values = values / scale
    return values / np.linalg.norm(values)


def plane_axes(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit axes e1, e2 with e1 x e2 = normal; x and y for the normal z."""
    start = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = start - (start @ normal) * normal
    first /= np.linalg.norm(first)
    return first, np.cross(normal, first)
