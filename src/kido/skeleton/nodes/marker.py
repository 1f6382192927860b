"""Markers: points of a body that are measured, drawn or to be brought somewhere.

How strictly one is to be where it is wanted is said where that is asked for: by `kido.ik.motion`'s boxes, for example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed, read_only_copy, settable
from kido.errors import ModelError
from kido.math.transform import as_numbers, as_vector
from kido.skeleton.nodes.node import FrameNode

if TYPE_CHECKING:
    import numpy as np

    from kido.skeleton.body_node import BodyNode


_OFFSET = settable("offset")


class Marker(FrameNode):
    """A point of a body, with a colour.

    Args:
        body: the body that carries it.
        name: unique among the skeleton's nodes.
        offset: its place in body axes from the body origin [m].
        color: (r, g, b) or (r, g, b, a) from 0 to 1.

    Raises:
        ModelError: an offset that is no vector, a colour outside 0 to 1.
    """

    _property_fields: ClassVar[dict[str, str]] = {**FrameNode._property_fields, "color": "_color"}

    def __init__(
        self, body: BodyNode, name: str, offset: ArrayLike = (0.0, 0.0, 0.0), color: Any = (1.0, 1.0, 1.0, 1.0)
    ):
        super().__init__(body, name, as_vector(offset, f"marker {name!r}: offset"))
        self.color = color

    @property
    def offset(self) -> NDArray[np.float64]:
        """Its place in body axes from the body origin [m] (a copy)."""
        return read_only_copy(_OFFSET, self._relative[:3, 3])

    @offset.setter
    def offset(self, value: ArrayLike) -> None:
        X = self._relative.copy()
        X[:3, 3] = as_vector(value, f"marker {self.name!r}: offset")
        self._set_relative_transform(X)

    @property
    def position(self) -> NDArray[np.float64]:
        """Where it is in the world [m]."""
        return fixed(self.world_transform[:3, 3])

    @property
    def color(self) -> tuple[float, ...]:
        """(r, g, b) or (r, g, b, a) from 0 to 1."""
        return self._color

    @color.setter
    def color(self, value: Any) -> None:
        try:
            color = tuple(as_numbers(value).tolist())
        except (TypeError, ValueError):
            color = ()
        if len(color) not in (3, 4) or not all(0.0 <= c <= 1.0 for c in color):
            raise ModelError(f"marker {self.name!r}: color: expected 3 or 4 numbers from 0 to 1, got {value!r}")
        self._color = color
