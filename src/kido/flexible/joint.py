"""The joints of a flexible body: one whose coordinates are modes, and those that hold nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kido.errors import ModelError
from kido.flexible.modes import Modes
from kido.joints import JointKind
from kido.shapes import Mesh, Shape
from kido.skeleton import Joint, WeldJoint
from kido.skeleton.joints.coordinates import CoordinateKind

SURFACE = "surface"
"""Name of the shape that is seen of a flexible body."""

if TYPE_CHECKING:
    from kido.skeleton.state.arrays import StateArrays


class ModalJoint(Joint):
    """Coordinates of a skeleton that are modes of the body it hangs on; it moves nothing by itself.

    Its springs and dampers are the modal stiffness and damping, and can be changed like those of any joint.
    `FlexibleBody` makes it.

    Args:
        modes: of the parent body.
    """

    kind = JointKind.WELD
    has_modes = is_part = True
    own_properties = ("modes",)

    def __init__(self, name: str | None = None, modes: Modes | None = None, **options: Any):
        if not isinstance(modes, Modes):
            raise ModelError(f"joint {name!r}: modes: expected kido.flexible.Modes, got {modes!r}")
        self.modes = modes
        self.dof_suffixes = tuple(f".{mode}" for mode in modes.names)
        super().__init__(name, **{"spring_stiffness": modes.stiffness, "damping": modes.damping, **options})

    @property
    def moves_parent(self) -> bool:
        """Whether the surface that these modes move touches others."""
        body = self.child.parent
        found = () if body is None or self.modes.surface is None else body.shapes
        return any(node.name == SURFACE and node.collision for node in found)

    def shape_now(self, node: Any) -> Shape:
        """The surface as it is deformed; other shapes move with the body's frame, as they are."""
        shape = super().shape_now(node)
        surface = self.modes.surface
        if surface is None or node.name != SURFACE:
            return shape
        return Mesh(surface.vertices + surface.displacements(self.positions), surface.faces, collide_as="triangles")

    def _kind_of_coordinate(self, k: int) -> CoordinateKind:
        return CoordinateKind.OTHER

    def _changed(self) -> None:
        if self.skeleton is not None:
            self.skeleton.properties_changed()

    def _deformed_state(self, state: StateArrays) -> Any:
        """What computes for a state of the joint's skeleton; see `kido.flexible.deformed.Deformed`."""
        from kido.flexible.deformed import Deformed

        return Deformed(state)


class NodeJoint(WeldJoint):
    """Holds a body at a node of the flexible body it hangs on; `FlexibleBody` makes it.

    Args:
        node: the node's name.
    """

    is_part = True
    own_properties = ("node",)

    def __init__(self, name: str | None = None, node: str = "", **options: Any):
        self.node = node
        super().__init__(name, **options)
