"""Joints of a <world>: between its models, or a model and the world. They become constraints of the world."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kido.constraints.from_loop import constraints_of_joint
from kido.errors import KidoError
from kido.io.sdf.build import make_joint
from kido.io.sdf.scope import WORLD
from kido.io.sdf.spec import WorldSpec
from kido.io.sdf.tree import flat_joint
from kido.io.skel.fields import located
from kido.io.xml import Node
from kido.simulation import World
from kido.skeleton import BodyNode, Skeleton

__all__ = ["hold_models"]


def hold_models(world: World, spec: WorldSpec, skeletons: Mapping[str, Skeleton]) -> None:
    """Add what the joints of a <world> hold; `skeletons` are those of its models by the names in the file.

    Raises FileFormatError for a joint whose links do not exist, are the same, or cannot be joined by it.
    """
    for key, joint in spec.joints.items():
        node = joint.node
        if joint.type == "gearbox":
            _remark(skeletons, f"{node.path}:{node.line}: gearbox '{key}' between models is left out")
            continue
        flat = flat_joint(key, spec, "", np.eye(4))
        parent, child = _body(flat.parent, skeletons, node), _body(flat.child, skeletons, node)
        placed = {
            name: body.world_transform
            for name, body in ((flat.parent, parent), (flat.child, child))
            if body is not None
        }
        try:
            made = constraints_of_joint(parent, child, make_joint(flat, placed, np.eye(4), turned=False), joint.name)
        except KidoError as error:
            raise node.error(f"{node.describe()}: {error}") from None
        with located(node):
            for constraint in made:
                world.add_constraint(constraint)


def _body(name: str, skeletons: Mapping[str, Skeleton], node: Node) -> BodyNode | None:
    """The body of a link with its scoped name; None for the world."""
    if name == WORLD:
        return None
    for model, skeleton in skeletons.items():
        if name.startswith(f"{model}::"):
            with located(node):
                return skeleton.body(name.removeprefix(f"{model}::"))
    raise node.error(f"{node.describe()} names '{name}', which is no link of a model")


def _remark(skeletons: Mapping[str, Skeleton], text: str) -> None:
    for skeleton in skeletons.values():
        skeleton.warnings.append(text)
        return
