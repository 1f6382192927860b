"""Making soft bodies."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from kido.errors import ModelError
from kido.shapes import SoftMesh
from kido.skeleton.body_node import BodyNode
from kido.skeleton.inertia import Inertia
from kido.skeleton.joints.types import WeldJoint
from kido.skeleton.nodes.shape_node import ShapeNode
from kido.skeleton.soft.skin import Skin
from kido.skeleton.soft.soft_body_node import SoftBodyNode

if TYPE_CHECKING:
    from kido.skeleton.joints.joint import Joint


class SkeletonSoftBodies:
    """A skeleton's soft bodies."""

    if TYPE_CHECKING:
        _bodies: list[BodyNode]
        add_body: Any

    @property
    def soft_bodies(self) -> list[SoftBodyNode]:
        """Bodies with a soft skin, in the order of all bodies."""
        return [body for body in self._bodies if isinstance(body, SoftBodyNode)]

    def add_soft_body(
        self,
        name: str,
        shape: SoftMesh,
        joint: Joint | None = None,
        parent: BodyNode | str | None = None,
        inertia: Inertia | None = None,
        *,
        transform: Any = None,
        **options: Any,
    ) -> SoftBodyNode:
        """Add a body with a skin of point masses, and the joint that hangs it on its parent.

        Args:
            name: unique in the skeleton.
            shape: the skin at rest.
            joint, parent: as of `add_body`.
            inertia: of the body without its skin; by default none.
            transform: pose of the skin's shape in the body.
            options: of the skin: `total_mass`, `kv`, `ke`, `kd`, `automatic`, `friction`, `color`, ...; see `Skin`.

        Raises:
            ModelError: as `add_body`; a coefficient is wrong.
        """
        valid = [*inspect.signature(Skin.__init__).parameters, *inspect.signature(ShapeNode.__init__).parameters]
        for key in options:
            if key not in valid or key in ("self", "body", "name", "shape", "options"):
                raise ModelError(f"soft body {name!r}: its skin has no option {key!r}")
        probe = BodyNode(self, "probe", WeldJoint(), None, Inertia())  # type: ignore[arg-type]
        Skin(probe, f"{name}_skin", shape, transform, **options)  # fails where it must before anything is changed
        body = self.add_body(name, joint, parent, inertia, _kind=SoftBodyNode)
        skin = Skin(body, f"{name}_skin", shape, transform, **options)
        body._skin = skin
        body._add_node(skin)
        return body
