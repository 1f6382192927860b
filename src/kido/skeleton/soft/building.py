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
    from kido.skeleton.skeleton import Skeleton


def add_soft_body(
    skeleton: Skeleton,
    name: str,
    shape: SoftMesh,
    joint: Joint | None,
    parent: BodyNode | str | None,
    inertia: Inertia | None,
    transform: Any,
    options: dict[str, Any],
) -> SoftBodyNode:
    """See `Skeleton.add_soft_body`."""
    valid = [*inspect.signature(Skin.__init__).parameters, *inspect.signature(ShapeNode.__init__).parameters]
    for key in options:
        if key not in valid or key in ("self", "body", "name", "shape", "options"):
            raise ModelError(f"soft body {name!r}: its skin has no option {key!r}")
    probe = BodyNode(skeleton, "probe", WeldJoint(), None, Inertia())
    Skin(probe, f"{name}_skin", shape, transform, **options)  # fails where it must before anything is changed
    body: Any = skeleton.add_body(name, joint, parent, inertia, _kind=SoftBodyNode)
    skin = Skin(body, f"{name}_skin", shape, transform, **options)
    body._skin = skin
    body._add_node(skin)
    return body
