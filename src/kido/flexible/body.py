"""A body of a skeleton that deforms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import FixedAttributes
from kido.errors import ModelError, NameLookupError
from kido.flexible.joint import SURFACE, ModalJoint, NodeJoint
from kido.flexible.modes import Modes, numbers
from kido.math.transform import as_flag
from kido.shapes import Mesh
from kido.skeleton import BodyNode, ShapeNode, Skeleton


class FlexibleBody(FixedAttributes):
    """A body of a skeleton that deforms by modes.

    The body's frame is the inboard node of the modes, so its joint is between the parent and that node. It gets the
    inertia of the undeformed body, and each node becomes a body without mass that is held by it: other bodies hang on
    these. One more body without mass, BODY_modes, has a joint whose coordinates are the modes: coordinates of the
    skeleton like others, named BODY.MODE, with springs and dampers, which are the modal stiffness and damping.

    The surface of the modes becomes a shape of the body, "surface", which is seen as it is deformed. With `collision`
    it also touches others as it is deformed: a contact acts on the material of a triangle, hence on modes. Shapes that
    the body is given besides move with its frame, as they are.

    Args:
        body: a body of a skeleton, without other inertia and bodies on it.
        modes: how it deforms.
        collision: whether its surface touches others; `surface.collision`, which may be set later.

    Attributes:
        body, modes: as given.
        coordinates: the body BODY_modes.

    Raises:
        ModelError: the body has inertia or children, is a soft body, or names of nodes are taken. Nothing is changed
            then.
    """

    def __init__(self, body: BodyNode, modes: Modes, collision: bool = False):
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
        places = {"": f"{body.name}_modes", **{node.name: f"{body.name}_{node.name}" for node in modes.nodes}}
        used = {b.name for b in skeleton.bodies} | {joint.name.removesuffix("_joint") for joint in skeleton.joints}
        used |= {dof.name for dof in skeleton.dofs}
        names = [*places.values(), *(f"{body.name}.{mode}" for mode in modes.names)]
        taken = [name for name in names if name in used] or [n for n in names if names.count(n) > 1]
        if taken:
            raise ModelError(
                f"skeleton {skeleton.name!r} has a body, joint or coordinate {taken[0]!r} already: rename it, or the "
                "node or mode"
            )
        surface = modes.surface
        if as_flag(collision, f"body {body.name!r}: collision") and surface is None:
            raise ModelError(f"body {body.name!r}: its modes have no surface that could touch others")
        rest = None if surface is None else Mesh(surface.vertices, surface.faces)
        if rest is not None and any(node.name == SURFACE for node in body.shapes):
            raise ModelError(f"body {body.name!r} has a shape {SURFACE!r} already: rename it")
        self.body, self.modes = body, modes
        body.inertia = modes.inertia
        body.own_link = True
        dof_names = [f"{body.name}.{mode}" for mode in modes.names]
        self.coordinates = skeleton.add_body(places.pop(""), ModalJoint(modes=modes, dof_names=dof_names), body)
        self.coordinates.own_link = True
        self._nodes: dict[str, BodyNode] = {}
        for node in modes.nodes:
            X = np.eye(4)
            X[:3, :3], X[:3, 3] = node.orientation, node.position
            made = skeleton.add_body(places[node.name], NodeJoint(node=node.name, transform_from_parent=X), body)
            made.own_link = True
            self._nodes[node.name] = made
        if rest is not None:
            body.add_shape(rest, name=SURFACE, collision=collision)

    @classmethod
    def _found(cls, coordinates: BodyNode) -> FlexibleBody:
        """That of a body whose joint is a `ModalJoint`, of any skeleton, a copy too."""
        made, body, joint = cls.__new__(cls), coordinates.parent, coordinates.parent_joint
        assert isinstance(joint, ModalJoint) and body is not None
        nodes = {b.parent_joint.node: b for b in body.children if isinstance(b.parent_joint, NodeJoint)}
        made.__dict__.update(body=body, modes=joint.modes, coordinates=coordinates, _nodes=nodes)
        return made

    @property
    def dofs(self) -> slice:
        """Where its modes stand among the coordinates of the skeleton."""
        return self.coordinates.parent_joint.coordinates

    @property
    def surface(self) -> ShapeNode | None:
        """The shape that is seen, which has its colour; None if the modes have none, or it was removed."""
        if self.modes.surface is None:
            return None
        return next((node for node in self.body.shapes if node.name == SURFACE), None)

    def node(self, name: str) -> BodyNode:
        """The body that follows a node.

        Raises:
            NameLookupError: there is no such node; lists them.
        """
        if name not in self._nodes:
            raise NameLookupError(f"node of flexible body {self.body.name!r}", name, list(self._nodes))
        return self._nodes[name]

    def warm(self, kelvin: float = 0.0, gradient: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Have it another temperature than that of its undeformed shape: its modes' springs rest where it warps to.

        Exact where the modes have the deflection by warming (`reduced_modes(..., thermal=True)`; axial modes of beams
        in the limit). What was set before is forgotten.

        Args:
            kelvin: warmer by [K], at the inboard node.
            gradient: of temperature (3,) along the body's axes [K/m].

        Raises:
            ModelError: numbers that are not finite; modes that warming does not move.
        """
        field = np.append(numbers([kelvin], "kelvin", (1,)), numbers(gradient, "gradient", (3,)))
        if not self.modes.thermal.any():
            raise ModelError(
                f"flexible body {self.body.name!r}: warming moves none of its modes; make them of a material with "
                "thermal expansion"
            )
        joint = self.coordinates.parent_joint
        joint.rest_position = (self.modes.thermal @ field) / joint.spring_stiffness

    def check(self) -> None:
        """See that edits of the skeleton have left what the body consists of.

        Raises:
            ModelError: the body has another inertia, a node's body is not welded to it any more, or BODY_modes has
                inertia or bodies on it; says which.
        """
        own, modes, what = self.body.inertia, self.modes.inertia, f"flexible body {self.body.name!r}"
        if own.mass != modes.mass or (own.com != modes.com).any() or (own.moment != modes.moment).any():
            raise ModelError(f"{what}: its inertia is that of its modes, and was changed")
        coordinates = self.coordinates
        if coordinates.mass > 0.0 or coordinates.children:
            inside = f"a mass of {coordinates.mass:g} kg"
            if coordinates.children:
                inside = ", ".join(repr(b.name) for b in coordinates.children) + " on it"
            raise ModelError(
                f"{what}: its body {coordinates.name!r} is there for the coordinates of modes alone, and has {inside}; "
                f"expected none: put it on {self.body.name!r}, or on a node"
            )
        for node in self.modes.nodes:
            found = self._nodes.get(node.name)
            if found is None or found not in self.body.children:
                raise ModelError(
                    f"{what}: the body {f'{self.body.name}_{node.name}'!r} of its node {node.name!r} was taken away"
                )

    def __repr__(self) -> str:
        return f"FlexibleBody({self.body.name!r}, {self.modes!r})"


def flexible_bodies(skeleton: Skeleton) -> tuple[FlexibleBody, ...]:
    """The flexible bodies of a skeleton, in the order of their modes."""
    return tuple(FlexibleBody._found(b) for b in skeleton.bodies if isinstance(b.parent_joint, ModalJoint))
