"""Contact properties of all shapes of a body at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kido.errors import ModelError

if TYPE_CHECKING:
    from kido.skeleton.nodes.shape_node import ShapeNode


class BodySurfaces:
    """What a body says of the surfaces of its shapes; they are the shapes' own."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

        @property
        def shapes(self) -> tuple[ShapeNode, ...]: ...

    @property
    def friction(self) -> float | None:
        """Coulomb coefficient of its shapes that collide, None where they differ; set, it is that of all of them."""
        return self._of_surfaces("friction")

    @friction.setter
    def friction(self, value: float) -> None:
        self.set_surface(friction=value)

    @property
    def restitution(self) -> float | None:
        """Coefficient of restitution of its shapes that collide, None where they differ; set, it is that of all."""
        return self._of_surfaces("restitution")

    @restitution.setter
    def restitution(self, value: float) -> None:
        self.set_surface(restitution=value)

    def set_surface(self, **changes: Any) -> None:
        """Change properties of the surfaces of its shapes that collide, by name (see `Surface`).

        Surfaces are the shapes': a shape that is added later has its own.

        Raises:
            ArgumentError: a property that surfaces do not have.
            ModelError: a value out of range, or none of its shapes collides; nothing is changed.
        """
        colliding = [node for node in self.shapes if node.collision]
        if not colliding:
            raise ModelError(
                f"body {self.name!r}: {', '.join(changes) or 'surface'}: it has no shape that collides, and surfaces "
                "are those of shapes; add one first"
            )
        for node in colliding:  # the first one refuses what others would
            node.set_surface(**changes)

    def _of_surfaces(self, name: str) -> float | None:
        values = {getattr(node.surface, name) for node in self.shapes if node.collision}
        return values.pop() if len(values) == 1 else None
