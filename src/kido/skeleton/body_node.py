"""A rigid body of a skeleton."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.attributes import FixedAttributes, check_options, named_arguments
from kido.errors import ModelError, NameLookupError
from kido.kernels.current import pose_of
from kido.math.transform import as_flag
from kido.shapes import Shape
from kido.skeleton.aspects import Carrier
from kido.skeleton.editing.editing import BodyEditing
from kido.skeleton.editing.transplant import subtree
from kido.skeleton.frames.frame import Frame
from kido.skeleton.host import edits
from kido.skeleton.inertia import Inertia
from kido.skeleton.joints.joint import Joint, put_under
from kido.skeleton.naming import free_name
from kido.skeleton.nodes.body_com import BodyCom
from kido.skeleton.nodes.body_surfaces import BodySurfaces
from kido.skeleton.nodes.node import Node, carry_on
from kido.skeleton.nodes.shape_node import ShapeNode
from kido.skeleton.state.loads import BodyLoads
from kido.skeleton.state.members import pose_property

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton


N = TypeVar("N", bound=Node)


class BodyNode(BodyEditing, BodyLoads, BodyCom, BodySurfaces, Carrier, FixedAttributes):
    """A rigid body: its inertia, its shapes, the joint above it, and where it is.

    Made by `Skeleton.add_body`. Points and vectors are in world axes unless an argument says otherwise.

    Attributes:
        skeleton: the skeleton that it is part of.
        own_link: whether it is a link of its own though a weld fixes it to its parent; KIDO sets it.
    """

    _kind_of_frame = "body"

    def __init__(self, skeleton: Skeleton, name: str, joint: Joint, parent: BodyNode | None, inertia: Inertia):
        self.skeleton = skeleton
        self._name = name
        self._joint = joint
        self._parent = parent
        self._children: list[BodyNode] = []
        self._inertia = inertia
        self._gravity: bool | float = True
        self._collidable = True
        self._continuous = False
        self._nodes: list[Node] = []
        self._index = -1
        self.own_link = False

    # Structure -------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name, unique in the skeleton."""
        return self._name

    @name.setter
    @edits
    def name(self, value: str) -> None:
        self.skeleton.parts.rename_body(self, value)
        self._name = value

    @property
    def index(self) -> int:
        """Place in the skeleton's arrays; a parent's is below its children's."""
        return self._index

    @property
    def parent(self) -> BodyNode | None:
        """The body it hangs on; None for a root."""
        return self._parent

    @property
    def children(self) -> tuple[BodyNode, ...]:
        """Bodies that hang on it."""
        return tuple(self._children)

    @property
    def subtree(self) -> tuple[BodyNode, ...]:
        """The body and all that hang on it, in the skeleton's order."""
        return tuple(subtree(self))

    @property
    def parent_joint(self) -> Joint:
        """The joint that moves it."""
        return self._joint

    @property
    def inertia(self) -> Inertia:
        """Mass, centre of mass and moment of inertia."""
        return self._inertia

    @inertia.setter
    @edits
    def inertia(self, value: Inertia) -> None:
        if not isinstance(value, Inertia):
            raise ModelError(f"body {self.name!r}: inertia: expected kido.Inertia, got {type(value).__name__}")
        self._inertia = value
        self.skeleton.properties_changed()

    @property
    def present_inertia(self) -> Inertia:
        """Inertia with which dynamics takes it now: of a soft body with its points where they are."""
        return self.inertia

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return self._inertia.mass

    @property
    def composite_inertia(self) -> NDArray[np.float64]:
        """(6, 6) the body with all below it as one rigid body, about its origin, world axes."""
        return fixed(self.skeleton.composite_inertias[self._index])

    @property
    def articulated_inertia(self) -> NDArray[np.float64]:
        """(6, 6) articulated inertia about its origin, world axes; see `Skeleton.articulated_inertias`."""
        return fixed(self.skeleton.articulated_inertias()[self._index])

    @property
    def gravity(self) -> bool | float:
        """Whether gravity acts on it; or what share of it does, at most 1: 0.3, or -0.1 for what rises in a fluid."""
        return self._gravity

    @gravity.setter
    @edits
    def gravity(self, value: bool | float) -> None:
        number = isinstance(value, float | np.floating) and np.isfinite(value) and value <= 1.0
        if number and value not in (0.0, 1.0):
            self._gravity = float(value)
        elif number or (isinstance(value, bool | int | np.bool_ | np.integer) and value in (0, 1)):
            self._gravity = bool(value)
        else:
            raise ModelError(
                f"body {self.name!r}: gravity: expected True or False, or a share of at most 1.0, got {value!r}"
            )
        self.skeleton.structure_changed()

    @property
    def collidable(self) -> bool:
        """Whether its shapes touch anything."""
        return self._collidable

    @collidable.setter
    @edits
    def collidable(self, value: bool) -> None:
        self._collidable = as_flag(value, f"body {self.name!r}: collidable")
        self.skeleton.structure_changed()

    @property
    def continuous(self) -> bool:
        """Whether worlds sweep its shapes along their motion, so that it passes through nothing however fast it is.

        A step costs more only when the body moves farther than its own size in it; see `World.continuous_detection`.
        """
        return self._continuous

    @continuous.setter
    @edits
    def continuous(self, value: bool) -> None:
        self._continuous = as_flag(value, f"body {self.name!r}: continuous")
        self.skeleton.structure_changed()

    # Shapes ----------------------------------------------------------------------------------------------

    @property
    def shapes(self) -> tuple[ShapeNode, ...]:
        """Its shapes, in the order they were added."""
        return tuple(node for node in self._nodes if isinstance(node, ShapeNode))

    def shape(self, key: str | int) -> ShapeNode:
        """A shape by name or index."""
        for k, node in enumerate(self.shapes):
            named = isinstance(key, str) and key == node.name
            if named or (isinstance(key, int | np.integer) and not isinstance(key, bool) and key == k):
                return node
        raise NameLookupError(f"shape of body {self.name!r}", key, [s.name for s in self.shapes])

    @named_arguments
    def add_shape(self, shape: Shape, transform: Any = None, name: str | None = None, **options: Any) -> ShapeNode:
        """Fix a shape to the body; the options are those of `ShapeNode`.

        Raises:
            ModelError: the name is taken, or an option is wrong.
            ArgumentError: there is no such option.
        """
        if name is None:
            name = f"{self.name}_shape_{len(self.shapes)}"
        if any(node.name == name for node in self.shapes):
            raise ModelError(f"body {self.name!r} has a shape {name!r} already")
        valid = list(inspect.signature(ShapeNode.__init__).parameters)[5:]
        check_options(f"body {self.name!r}: add_shape", options, valid)
        return self._add_node(ShapeNode(self, name, shape, transform, **options))

    def remove_shape(self, node: ShapeNode) -> None:
        """Take a shape off the body."""
        if node not in self.shapes:
            key = getattr(node, "name", node)
            raise NameLookupError(f"shape of body {self.name!r}", key, [s.name for s in self.shapes])
        self._remove_node(node)

    # Nodes -----------------------------------------------------------------------------------------------

    @named_arguments
    def create_node(self, node_type: type[N], name: str | None = None, *args: Any, **options: Any) -> N:
        """Make a node of a class on the body.

        Args:
            node_type: `Marker`, `EndEffector`, or a class of one's own, derived from `Node` or `FrameNode`.
            name: by default the body's name with that of the class; a name that is taken in the skeleton gets
                a number in brackets.
            args, options: of its constructor, after the body and the name.

        Raises:
            ModelError: no class of nodes, or a wrong argument.
        """
        if not (isinstance(node_type, type) and issubclass(node_type, Node)):
            raise ModelError(f"body {self.name!r}: node: expected a class derived from kido.Node, got {node_type!r}")
        if name is None:
            name = f"{self.name}_{node_type.__name__.lower()}"
        if not isinstance(name, str) or not name:
            raise ModelError(f"body {self.name!r}: node: name: expected a text that is not empty, got {name!r}")
        unique = free_name(name, set(node_type._names_beside(self)))
        return self._add_node(node_type(self, unique, *args, **options))

    def nodes(self, node_type: type[N] = Node) -> list[N]:
        """Its nodes of a class (and classes derived from it), in the order they were added; shapes are nodes."""
        return [node for node in self._nodes if isinstance(node, node_type)]

    @edits
    def move_to_end(self, node: Node) -> None:
        """Make a node the last of the body's nodes.

        Raises:
            ModelError: it is no node of this body.
        """
        if node not in self._nodes:
            raise ModelError(f"body {self.name!r}: move_to_end: expected one of its nodes, got {node!r}")
        self._nodes.remove(node)
        self._nodes.append(node)
        if isinstance(node, ShapeNode):
            self.skeleton.structure_changed()

    @edits
    def _add_node(self, node: N) -> N:
        self._nodes.append(node)
        if isinstance(node, ShapeNode):
            self.skeleton.structure_changed()
        return node

    @edits
    def _remove_node(self, node: Node) -> None:
        self._nodes.remove(node)
        node._body = None
        if isinstance(node, Frame):
            self._drop(node)
        if isinstance(node, ShapeNode):
            self.skeleton.structure_changed()

    # Where it is -----------------------------------------------------------------------------------------

    @pose_property
    def world_transform(self) -> NDArray[np.float64]:
        """Pose in the world, 4x4 (a copy)."""
        state = self.skeleton.current_state
        X = np.empty((4, 4))
        w = state.settled or state.settle()
        pose_of.call(w.tree, w.held, self._index, X)
        return fixed(X)

    @property
    def spatial_velocity(self) -> NDArray[np.float64]:
        """[angular; linear] velocity of the body origin relative to the world, world axes [rad/s, m/s]."""
        return fixed(self.skeleton.current_state.velocity_of(self._index))

    def _update(self, level: int) -> None:
        if not self._held:
            self._held, self._stamps = [np.empty((4, 4)), np.empty(6), np.empty(6)], [0, 0, 0]
        self.skeleton.current_state.update_frame(self._index, level, self._held, self._stamps)

    @property
    def _carrier(self) -> tuple[BodyNode, Any]:
        return self, None

    # As a frame ------------------------------------------------------------------------------------------

    @property
    def parent_frame(self) -> Frame:
        """The parent body; the world frame for a root."""
        return self._parent or Frame.world()

    @parent_frame.setter
    def parent_frame(self, parent: Frame | None) -> None:
        raise ModelError(f"{self.label}: a body's parent is not set as a frame's: it hangs on a joint")

    @property
    def child_frames(self) -> tuple[Frame, ...]:
        """Bodies that hang on it, then its shapes and other frames in the order they were added."""
        return (*self._children, *super().child_frames)

    @property
    def relative_transform(self) -> NDArray[np.float64]:
        """Pose in the parent body, 4x4."""
        return fixed(self.transform(self.parent_frame))

    @property
    def relative_spatial_velocity(self) -> NDArray[np.float64]:
        """[angular; linear] velocity relative to the parent body, in the body's own axes [rad/s, m/s]."""
        return fixed(self.compute_spatial_velocity(relative_to=self.parent_frame, in_coordinates_of=self))

    @property
    def relative_spatial_acceleration(self) -> NDArray[np.float64]:
        """Spatial acceleration relative to the parent body, in the body's own axes [rad/s^2, m/s^2]."""
        return fixed(self.compute_spatial_acceleration(relative_to=self.parent_frame, in_coordinates_of=self))

    @property
    def primary_relative_acceleration(self) -> NDArray[np.float64]:
        """H udot: the share of the joint's accelerations, in the body's own axes [rad/s^2, m/s^2]."""
        return fixed(self.skeleton.current_state.joint_acceleration_of(self._index))

    def __copy__(self) -> NoReturn:
        raise ModelError(
            f"body {self.name!r} belongs to skeleton {self.skeleton.name!r} and cannot be copied by copy.copy; "
            "copy_to() hangs a copy on a body, copy_as() makes a skeleton of one"
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # The skeleton keeps who hangs on whom: a long chain would be as deep a recursion.
        del state["_parent"], state["_children"]
        return state

    def __repr__(self) -> str:
        return f"BodyNode({self._name!r})"


# What editing does to bodies ---------------------------------------------------------------------------------


def put_on(body: BodyNode, parent: BodyNode | None, joint: Joint) -> None:
    """Hang a body on another, as its last child, or on the world, by a joint."""
    body._parent, body._joint = parent, joint
    put_under(joint, body)
    if parent is not None and body not in parent._children:
        parent._children.append(body)


def take_off(body: BodyNode, parent: BodyNode) -> None:
    """A body hangs on another no more."""
    parent._children.remove(body)


def number(bodies: Sequence[BodyNode], first: int = 0) -> None:
    """Have bodies know their places in their skeleton."""
    for k, body in enumerate(bodies, first):
        body._index = k


def hang_all(bodies: Sequence[BodyNode], parents: Sequence[int]) -> None:
    """Have bodies hang on those of the given numbers; below 0 on the world."""
    for body in bodies:
        body._parent, body._children = None, []
    for body, k in zip(bodies, parents, strict=True):
        if k >= 0:
            body._parent = bodies[k]
            bodies[k]._children.append(body)


def hand_over(body: BodyNode, parent: BodyNode, X: NDArray[np.float64]) -> None:
    """Give a body's inertia, nodes and children to its parent, in which it has the pose X."""
    if body.inertia.mass > 0.0 or body.inertia.moment.any():
        parent._inertia = parent._inertia + body.inertia.transformed(X)
    taken = {shape.name for shape in parent.shapes}
    for node in body._nodes:
        if isinstance(node, ShapeNode):
            node.collision = node.collision and body.collidable
            node._name = free_name(node.name, taken)
            taken.add(node.name)
        carry_on(node, parent, X)
    parent._nodes += body._nodes
    for child in body._children:
        child._parent = parent
        child.parent_joint.transform_from_parent = X @ child.parent_joint.transform_from_parent
    place = parent._children.index(body) + 1
    parent._children[place:place] = body._children
    body._nodes, body._children = [], []
