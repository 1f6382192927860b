"""A body of a skeleton that deforms."""

from __future__ import annotations

import numpy as np

from kido.attributes import FixedAttributes
from kido.errors import ModelError, NameLookupError
from kido.flexible.modes import Modes
from kido.skeleton import BodyNode, WeldJoint


class FlexibleBody(FixedAttributes):
    """A body of a skeleton that deforms by modes.

    The body's frame is the inboard node of the modes, so its joint is between the parent and that node. It gets the
    inertia of the undeformed body, and each node becomes a body without mass that is welded to it: other bodies hang on
    these. The skeleton itself stays rigid; `FlexibleTree` computes with the modes.

    Args:
        body: a body of a skeleton, without other inertia and bodies on it.
        modes: how it deforms.

    Raises:
        ModelError: the body has inertia or children, is a soft body, or names of nodes are taken. Nothing is changed
            then.
    """

    def __init__(self, body: BodyNode, modes: Modes):
        if not isinstance(body, BodyNode) or type(body) is not BodyNode:
            raise ModelError(f"body: expected a rigid body of a skeleton, got {body!r}")
        if not isinstance(modes, Modes):
            raise ModelError(f"body {body.name!r}: modes: expected kido.flexible.Modes, got {modes!r}")
        if body.mass > 0.0:
            raise ModelError(
                f"body {body.name!r} has a mass of {body.mass:g} kg; a flexible body's inertia is that of its modes: "
                "give a body without any"
            )
        if body.children:
            names = ", ".join(repr(b.name) for b in body.children)
            raise ModelError(
                f"body {body.name!r} carries {names}: make it flexible first, then hang bodies on its nodes"
            )
        skeleton = body.skeleton
        places = {node.name: f"{body.name}_{node.name}" for node in modes.nodes}
        used = {b.name for b in skeleton.bodies} | {joint.name.removesuffix("_joint") for joint in skeleton.joints}
        taken = [name for name in places.values() if name in used]
        if taken:
            raise ModelError(
                f"skeleton {skeleton.name!r} has a body or joint {taken[0]!r} already: rename it, or the node"
            )
        self.body, self.modes = body, modes
        body.inertia = modes.inertia
        body.own_link = True
        self._nodes: dict[str, BodyNode] = {}
        for node in modes.nodes:
            X = np.eye(4)
            X[:3, 3] = node.position
            made = skeleton.add_body(places[node.name], WeldJoint(transform_from_parent=X), body)
            made.own_link = True
            self._nodes[node.name] = made

    def node(self, name: str) -> BodyNode:
        """The body that follows a node.

        Raises:
            NameLookupError: there is no such node; lists them.
        """
        if name not in self._nodes:
            raise NameLookupError(f"node of flexible body {self.body.name!r}", name, list(self._nodes))
        return self._nodes[name]

    def check(self) -> None:
        """See that edits of the skeleton have left what the body consists of.

        Raises:
            ModelError: the body has another inertia, or a node's body is not welded to it any more; says which.
        """
        own, modes = self.body.inertia, self.modes.inertia
        if own.mass != modes.mass or (own.com != modes.com).any() or (own.moment != modes.moment).any():
            raise ModelError(f"flexible body {self.body.name!r}: its inertia is that of its modes, and was changed")
        for name, node in self._nodes.items():
            attached = node.skeleton is self.body.skeleton and node.parent is self.body
            if not attached or node.parent_joint.num_dofs:
                raise ModelError(
                    f"flexible body {self.body.name!r}: the body {node.name!r} of its node {name!r} was taken away"
                )

    def __repr__(self) -> str:
        return f"FlexibleBody({self.body.name!r}, {self.modes!r})"
