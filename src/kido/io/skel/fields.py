"""Small readers shared by the parts of the SKEL reader: poses, axes, remarks about what is left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kido.io.fields import direction
from kido.io.xml import Node

__all__ = ["note_unknown", "pose", "unit_vector"]


def pose(node: Node, tag: str = "transformation") -> np.ndarray:
    """The 4x4 transform in the child `tag`, identity if absent.

    Six numbers: the translation [m] and the angles a, b, c [rad] of the rotation Rx(a) Ry(b) Rz(c).
    """
    x, y, z, a, b, c = node.child_vector(tag, 6, default=np.zeros(6))
    (sa, sb, sc), (ca, cb, cc) = np.sin([a, b, c]), np.cos([a, b, c])
    return np.array(
        [
            [cb * cc, -cb * sc, sb, x],
            [ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb, y],
            [sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb, z],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def unit_vector(node: Node, tag: str) -> np.ndarray:
    """The direction in the required child `tag`, scaled to length one; a vector of length zero is refused."""
    return direction(node.require(tag), node.child_vector(tag, 3))


def note_unknown(node: Node, known: Sequence[str], owner: str) -> None:
    """Add a remark for every kind of child element that the reader does not know."""
    for tag in dict.fromkeys(child.tag for child in node if child.tag not in known):
        node.remarks.once(f"{owner}: <{tag}> in <{node.tag}> is not known and was left out")
