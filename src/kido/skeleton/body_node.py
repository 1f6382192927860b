"""A rigid body of a skeleton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError, NameLookupError
from kido.kernels.held import pose_of
from kido.math.transform import as_vector
from kido.shapes import Shape
from kido.skeleton.aspects import Carrier
from kido.skeleton.editing.editing import BodyEditing
from kido.skeleton.frames.frame import Frame
from kido.skeleton.frames.jacobian_node import JacobianNode
from kido.skeleton.inertia import Inertia
from kido.skeleton.joints.joint import Joint
from kido.skeleton.naming import free_name
from kido.skeleton.nodes.node import Node
from kido.skeleton.nodes.shape_node import ShapeNode

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton


N = TypeVar("N", bound=Node)


class BodyNode(BodyEditing, JacobianNode, Carrier):
    """A rigid body: its inertia, its shapes, the joint above it, and where it is.

    Made by `Skeleton.add_body`. Points and vectors are in world axes unless an argument says otherwise.
    """

    def __init__(self, skeleton: Skeleton, name: str, joint: Joint, parent: BodyNode | None, inertia: Inertia):
        self.skeleton = skeleton
        self._name = name
        self._joint = joint
        self._parent = parent
        self._children: list[BodyNode] = []
        self._inertia = inertia
        self._gravity = True
        self._collidable = True
        self._nodes: list[Node] = []
        self._index = -1
        self._apart = False  # kept as a link of its own, though welded

    # Structure -------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name, unique in the skeleton."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self.skeleton._rename_body(self, value)

    @property
    def index(self) -> int:
        """Place in the skeleton's arrays; a parent's is below its children's."""
        return self._index

    @property
    def parent(self) -> BodyNode | None:
        """The body it hangs on; None for a root."""
        return self._parent

    @property
    def children(self) -> list[BodyNode]:
        """Bodies that hang on it."""
        return list(self._children)

    @property
    def subtree(self) -> list[BodyNode]:
        """The body and all that hang on it, in the skeleton's order."""
        found: set[BodyNode] = {self}
        for body in self.skeleton._bodies[self._index + 1 :]:
            if body._parent in found:
                found.add(body)
        return sorted(found, key=lambda body: body._index)

    @property
    def parent_joint(self) -> Joint:
        """The joint that moves it."""
        return self._joint

    @property
    def inertia(self) -> Inertia:
        """Mass, centre of mass and moment of inertia."""
        return self._inertia

    @inertia.setter
    def inertia(self, value: Inertia) -> None:
        if not isinstance(value, Inertia):
            raise ModelError(f"body {self.name!r}: inertia: expected kido.Inertia, got {type(value).__name__}")
        self._inertia = value
        self.skeleton._properties_changed()

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return self._inertia.mass

    @property
    def gravity(self) -> bool:
        """Whether gravity acts on it."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: bool) -> None:
        self._gravity = bool(value)
        self.skeleton._structure_changed()

    @property
    def collidable(self) -> bool:
        """Whether its shapes touch anything."""
        return self._collidable

    @collidable.setter
    def collidable(self, value: bool) -> None:
        self._collidable = bool(value)
        self.skeleton._structure_changed()

    # Shapes ----------------------------------------------------------------------------------------------

    @property
    def shapes(self) -> list[ShapeNode]:
        """Its shapes, in the order they were added."""
        return [node for node in self._nodes if isinstance(node, ShapeNode)]

    def shape(self, key: str | int) -> ShapeNode:
        """A shape by name or index."""
        for k, node in enumerate(self.shapes):
            if key == node.name or key == k:
                return node
        raise NameLookupError(f"shape of body {self.name!r}", key, [s.name for s in self.shapes])

    def add_shape(self, shape: Shape, transform: Any = None, name: str | None = None, **options: Any) -> ShapeNode:
        """Fix a shape to the body; the options are those of `ShapeNode`.

        Raises:
            ModelError: the name is taken, or an option is wrong.
        """
        if name is None:
            name = f"{self.name}_shape_{len(self.shapes)}"
        if any(node.name == name for node in self.shapes):
            raise ModelError(f"body {self.name!r} has a shape {name!r} already")
        return self._add_node(ShapeNode(self, name, shape, transform, **options))

    def remove_shape(self, node: ShapeNode) -> None:
        """Take a shape off the body."""
        if node not in self.shapes:
            key = getattr(node, "name", node)
            raise NameLookupError(f"shape of body {self.name!r}", key, [s.name for s in self.shapes])
        self._remove_node(node)

    # Nodes -----------------------------------------------------------------------------------------------

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

    def _add_node(self, node: N) -> N:
        self._nodes.append(node)
        if isinstance(node, ShapeNode):
            self.skeleton._structure_changed()
        return node

    def _remove_node(self, node: Node) -> None:
        self._nodes.remove(node)
        node._body = None
        if isinstance(node, Frame):
            self._drop(node)
        if isinstance(node, ShapeNode):
            self.skeleton._structure_changed()

    # Where it is -----------------------------------------------------------------------------------------

    @property
    def world_transform(self) -> NDArray[np.float64]:
        """Pose in the world, 4x4 (a copy)."""
        skeleton = self.skeleton
        tree, data = skeleton._held or skeleton._hold()
        X = np.empty((4, 4))
        pose_of.call(tree, data, self._index, X)
        return X

    @property
    def com(self) -> NDArray[np.float64]:
        """Centre of mass in the world [m]."""
        X = self.world_transform
        return X[:3, :3] @ self._inertia.com + X[:3, 3]

    @property
    def spatial_velocity(self) -> NDArray[np.float64]:
        """[angular; linear] velocity of the body origin relative to the world, world axes [rad/s, m/s]."""
        return self.skeleton._velocity_of(self._index)

    def _label(self) -> str:
        return f"body {self._name!r}"

    def _update(self, level: int) -> None:
        self.skeleton._update_frame(self, level)

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
        raise ModelError(f"{self._label()}: a body's parent is not set as a frame's: it hangs on a joint")

    @property
    def child_frames(self) -> list[Frame]:
        """Bodies that hang on it, then its shapes and other frames in the order they were added."""
        return [*self._children, *super().child_frames]

    @property
    def relative_transform(self) -> NDArray[np.float64]:
        """Pose in the parent body, 4x4."""
        return self.transform(self.parent_frame)

    @property
    def relative_spatial_velocity(self) -> NDArray[np.float64]:
        """[angular; linear] velocity relative to the parent body, in the body's own axes [rad/s, m/s]."""
        return self.compute_spatial_velocity(relative_to=self.parent_frame, in_coordinates_of=self)

    @property
    def relative_spatial_acceleration(self) -> NDArray[np.float64]:
        """Spatial acceleration relative to the parent body, in the body's own axes [rad/s^2, m/s^2]."""
        return self.compute_spatial_acceleration(relative_to=self.parent_frame, in_coordinates_of=self)

    @property
    def primary_relative_acceleration(self) -> NDArray[np.float64]:
        """H udot: the share of the joint's accelerations, in the body's own axes [rad/s^2, m/s^2]."""
        return self.skeleton._joint_acceleration_of(self._index)

    # External forces -------------------------------------------------------------------------------------

    def add_external_force(
        self,
        force: ArrayLike,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        force_is_local: bool = False,
        offset_is_local: bool = True,
        in_coordinates_of: Frame | None = None,
    ) -> None:
        """Add a force at a point; it acts until it is cleared.

        Args:
            force: [N], in body axes if `force_is_local` (it turns with the body), else in world axes.
            offset: where it acts [m]: from the body origin in body axes if `offset_is_local` (the point moves
                with the body), else a point of the world. A local force at a point of the world stays at the
                point of the body that is there now.
            in_coordinates_of: frame in whose axes, as they are now, the force is given. From then on it keeps its
                direction in the body if `force_is_local`, else in the world. None: body or world axes.

        Raises:
            ModelError: not three finite numbers, or no frame.
        """
        row = self._force_row(force, offset, force_is_local, offset_is_local, in_coordinates_of, "external force")
        self.skeleton._add_external(self._index, row)

    def _in_own_or_world_axes(self, vector: NDArray[np.float64], frame: Frame | None, is_local: bool) -> Any:
        """A vector given in a frame's axes, in those of the body if `is_local`, else in the world's."""
        if frame is None:
            return vector
        in_world = self.skeleton._axes_of(frame) @ vector
        return self.world_transform[:3, :3].T @ in_world if is_local else in_world

    def _force_row(
        self,
        force: ArrayLike,
        offset: ArrayLike,
        force_is_local: bool,
        offset_is_local: bool,
        in_coordinates_of: Frame | None,
        what: str,
    ) -> NDArray[np.float64]:
        """A force or impulse at a point, as a row of `kido.kernels.external`."""
        f = as_vector(force, f"body {self.name!r}: {what}")
        f = self._in_own_or_world_axes(f, in_coordinates_of, force_is_local)
        r = as_vector(offset, f"body {self.name!r}: offset of an {what}")
        if force_is_local and not offset_is_local:
            X = self.world_transform
            r = X[:3, :3].T @ (r - X[:3, 3])
            offset_is_local = True
        row = np.zeros(24)
        if force_is_local:
            row[0:3], row[3:6] = np.cross(r, f), f
        elif offset_is_local:
            row[6:9], row[9:18] = f, np.outer(r, f).ravel()
        else:
            row[18:21], row[21:24] = np.cross(r, f), f
        return row

    def _torque_row(
        self, torque: ArrayLike, is_local: bool, in_coordinates_of: Frame | None, what: str
    ) -> NDArray[np.float64]:
        """A pure torque or angular impulse, as a row of `kido.kernels.external`."""
        n = as_vector(torque, f"body {self.name!r}: {what}")
        n = self._in_own_or_world_axes(n, in_coordinates_of, is_local)
        row = np.zeros(24)
        row[0:3] = n if is_local else 0.0
        row[18:21] = 0.0 if is_local else n
        return row

    def add_external_torque(
        self, torque: ArrayLike, is_local: bool = False, in_coordinates_of: Frame | None = None
    ) -> None:
        """Add a pure torque [N m], in body axes if `is_local`, else in world axes; acts until it is cleared.

        Given in the axes of `in_coordinates_of`, as they are now, it keeps its direction in the body or the world.
        """
        row = self._torque_row(torque, is_local, in_coordinates_of, "external torque")
        self.skeleton._add_external(self._index, row)

    def add_external_wrench(
        self,
        wrench: ArrayLike,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        is_local: bool = False,
        in_coordinates_of: Frame | None = None,
    ) -> None:
        """Add a wrench [torque; force] at a point of the body, in body axes if `is_local`, else in world axes.

        Given in the axes of `in_coordinates_of`, as they are now, it keeps its direction in the body or the world.
        """
        w = as_vector(wrench, f"body {self.name!r}: external wrench", 6)
        row = self._torque_row(w[:3], is_local, in_coordinates_of, "external wrench")
        row += self._force_row(w[3:], offset, is_local, True, in_coordinates_of, "external wrench")
        self.skeleton._add_external(self._index, row)

    def clear_external_forces(self) -> None:
        """Remove all external forces from the body."""
        self.skeleton._clear_external(self._index)

    @property
    def external_wrench(self) -> NDArray[np.float64]:
        """All external forces as one [torque; force] about the body origin, world axes [N m, N]."""
        return self.skeleton._external_wrench(self._index)

    # Impulses --------------------------------------------------------------------------------------------

    def add_impulse(
        self,
        impulse: ArrayLike,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        impulse_is_local: bool = False,
        offset_is_local: bool = True,
        in_coordinates_of: Frame | None = None,
    ) -> None:
        """Add an impulse [N s] at a point, for `Skeleton.velocity_changes`; arguments as for `add_external_force`."""
        row = self._force_row(impulse, offset, impulse_is_local, offset_is_local, in_coordinates_of, "impulse")
        self.skeleton._add_impulse(self._index, row)

    def add_angular_impulse(
        self, impulse: ArrayLike, is_local: bool = False, in_coordinates_of: Frame | None = None
    ) -> None:
        """Add a pure angular impulse [N m s]; arguments as for `add_external_torque`."""
        row = self._torque_row(impulse, is_local, in_coordinates_of, "angular impulse")
        self.skeleton._add_impulse(self._index, row)

    @property
    def impulse(self) -> NDArray[np.float64]:
        """All impulses on it as one [angular; linear] about the body origin, world axes [N m s, N s]."""
        return self.skeleton._impulse_of(self._index)

    def __getstate__(self) -> dict[str, Any]:
        state = (
            super().__getstate__()
        )  # the skeleton keeps who hangs on whom: a long chain would be as deep a recursion
        del state["_parent"], state["_children"]
        return state

    def __repr__(self) -> str:
        return f"BodyNode({self._name!r})"
