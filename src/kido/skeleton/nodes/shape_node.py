"""A shape placed on a body, seen, touched, or both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kido.arrays import read_only_copy, settable
from kido.attributes import check_options
from kido.errors import ModelError
from kido.math.transform import as_flag, as_numbers
from kido.shapes import Shape
from kido.skeleton.host import edits
from kido.skeleton.nodes.node import FrameNode
from kido.skeleton.nodes.surface import Surface

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode


_RELATIVE_TRANSFORM = settable("relative_transform")


class ShapeNode(FrameNode):
    """A shape fixed to a body, and the frame in which the shape's geometry is written.

    Args:
        body: the body that carries it.
        name: unique on the body.
        shape: the geometry.
        transform: pose of the shape in the body (4x4 or what `as_transform` takes).
        visual: it is drawn.
        collision: it touches other shapes; None: if it is of a kind that does, which all but arrows are.
        color: (r, g, b) or (r, g, b, a) from 0 to 1; None leaves the choice to the viewer.
        friction: Coulomb coefficient of the surface; a pair of shapes slides with the smaller one.
        restitution: coefficient of restitution of the surface, 0 to 1; a pair bounces with the product.
        padding: how far the surface lies outside of the geometry [m].
        surface: all contact properties; `friction`, `restitution` and `padding`, where given, replace its own.
        collision_category: bits that say what the shape is; all by default.
        collision_mask: bits of the categories that it collides with; all by default. Two shapes collide if each
            one's mask has a bit of the other's category.

    Raises:
        ModelError: a negative or non-finite coefficient, a colour outside 0 to 1, an arrow that is to collide.
    """

    _property_fields: ClassVar[dict[str, str]] = {
        **FrameNode._property_fields,
        "shape": "_shape",
        "visual": "_visual",
        "collision": "_collision",
        "color": "_color",
        "surface": "_surface",
        "collision_category": "_collision_category",
        "collision_mask": "_collision_mask",
    }

    def __init__(
        self,
        body: BodyNode,
        name: str,
        shape: Shape,
        transform: Any = None,
        visual: bool = True,
        collision: bool | None = None,
        color: Any = None,
        friction: float | None = None,
        restitution: float | None = None,
        surface: Surface | None = None,
        collision_category: int = -1,
        collision_mask: int = -1,
        padding: float | None = None,
    ):
        if not isinstance(shape, Shape):
            raise ModelError(f"shape {name!r}: expected a kido shape, got {type(shape).__name__}")
        self._name = name
        self._shape = shape
        self._visual = as_flag(visual, f"shape {name!r}: visual")
        self._collision = self._checked_collision(shape.collides if collision is None else collision)
        self._color = self._checked_color(color)
        self._surface = self._checked_surface(Surface() if surface is None else surface)
        given = {"friction": friction, "restitution": restitution, "padding": padding}
        self._surface = self._surface_with(**{name: value for name, value in given.items() if value is not None})
        self._collision_category = self._bits("collision_category", collision_category)
        self._collision_mask = self._bits("collision_mask", collision_mask)
        super().__init__(body, name, transform)

    @property
    def label(self) -> str:
        return f"shape {self._name!r}"

    def _checked_collision(self, value: bool) -> bool:
        flag = as_flag(value, f"shape {self._name!r}: collision")
        if flag and not self._shape.collides:
            raise ModelError(f"shape {self._name!r}: collision: an {type(self._shape).__name__} never collides")
        return flag

    def _bits(self, what: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not -(2**63) <= value < 2**63:
            raise ModelError(f"shape {self.name!r}: {what}: expected an integer of up to 64 bits, got {value!r}")
        return int(value)

    def _checked_color(self, color: Any) -> tuple[float, ...] | None:
        if color is None:
            return None
        try:
            values = tuple(as_numbers(color).tolist())
        except (TypeError, ValueError):
            values = ()
        if len(values) not in (3, 4) or not all(0.0 <= c <= 1.0 for c in values):
            raise ModelError(f"shape {self.name!r}: color: expected 3 or 4 numbers from 0 to 1, got {color!r}")
        return values

    @property
    def shape(self) -> Shape:
        """The geometry."""
        return self._shape

    @property
    def color(self) -> tuple[float, ...] | None:
        """(r, g, b) or (r, g, b, a) from 0 to 1, or None."""
        return self._color

    @color.setter
    def color(self, value: Any) -> None:
        self._color = self._checked_color(value)
        self._appearance_changed()

    @classmethod
    def _names_beside(cls, body: BodyNode) -> Iterable[str]:
        return {node.name for node in body.shapes}

    @property
    def relative_transform(self) -> NDArray[np.float64]:
        """Pose of the shape in the body, 4x4 (a copy); set with what `as_transform` takes."""
        return read_only_copy(_RELATIVE_TRANSFORM, self._relative)

    @relative_transform.setter
    @edits
    def relative_transform(self, value: Any) -> None:
        self._set_relative_transform(value)
        self.body.skeleton.structure_changed()

    @property
    def visual(self) -> bool:
        """Whether it is drawn."""
        return self._visual

    @visual.setter
    def visual(self, value: bool) -> None:
        self._visual = as_flag(value, f"shape {self._name!r}: visual")
        self._appearance_changed()

    def _appearance_changed(self) -> None:
        if self._body is not None:
            self._body.skeleton.appearance_changed()

    @property
    def collision(self) -> bool:
        """Whether the shape touches others."""
        return self._collision

    @collision.setter
    @edits
    def collision(self, value: bool) -> None:
        self._collision = self._checked_collision(value)
        self.body.skeleton.structure_changed()

    @property
    def surface(self) -> Surface:
        """All contact properties. Assigning another one takes effect at the next step and keeps contacts warm."""
        return self._surface

    @surface.setter
    def surface(self, value: Surface) -> None:
        self._set_surface(self._checked_surface(value))

    def _checked_surface(self, value: Any) -> Surface:
        if not isinstance(value, Surface):
            raise ModelError(f"shape {self.name!r}: surface: expected a kido.Surface, got {value!r}")
        return value

    @edits
    def _set_surface(self, value: Surface) -> None:
        self._surface = value
        host = None if self._body is None else self._body.skeleton.host
        if host is not None:
            host.surfaces_changed()

    def set_surface(self, **changes: Any) -> None:
        """Change some of the surface's properties, by name (see `Surface`).

        Raises:
            ArgumentError: a property that surfaces do not have.
            ModelError: a value out of range; nothing is changed.
        """
        check_options(f"shape {self.name!r}: set_surface", changes, [f.name for f in fields(Surface)])
        self._set_surface(self._surface_with(**changes))

    def _surface_with(self, **changes: Any) -> Surface:
        try:
            return replace(self._surface, **changes) if changes else self._surface
        except ModelError as error:
            raise ModelError(f"shape {self.name!r}: {error}") from None

    @property
    def friction(self) -> float:
        """Coulomb coefficient (`surface.friction`)."""
        return self._surface.friction

    @friction.setter
    def friction(self, value: float) -> None:
        self.set_surface(friction=value)

    @property
    def restitution(self) -> float:
        """Coefficient of restitution (`surface.restitution`)."""
        return self._surface.restitution

    @restitution.setter
    def restitution(self, value: float) -> None:
        self.set_surface(restitution=value)

    @property
    def padding(self) -> float:
        """How far the surface that others touch lies outside of the geometry [m] (`surface.padding`)."""
        return self._surface.padding

    @padding.setter
    def padding(self, value: float) -> None:
        self.set_surface(padding=value)

    @property
    def collision_category(self) -> int:
        """Bits that say what the shape is; -1: all."""
        return self._collision_category

    @collision_category.setter
    @edits
    def collision_category(self, value: int) -> None:
        self._collision_category = self._bits("collision_category", value)
        self.body.skeleton.structure_changed()

    @property
    def collision_mask(self) -> int:
        """Bits of the categories that the shape collides with; -1: all."""
        return self._collision_mask

    @collision_mask.setter
    @edits
    def collision_mask(self, value: int) -> None:
        self._collision_mask = self._bits("collision_mask", value)
        self.body.skeleton.structure_changed()

    def __repr__(self) -> str:
        return f"ShapeNode({self.name!r}, {type(self._shape).__name__})"
