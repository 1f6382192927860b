"""What rides on bodies: frames with Jacobians, and nodes: shapes, markers, end effectors, a user's sensors."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import read_only_copy, settable
from kido.errors import ModelError
from kido.skeleton.aspects import Carrier, Extension
from kido.skeleton.frames.frame import ORIGIN, Frame
from kido.skeleton.frames.kinds import FixedFrame
from kido.skeleton.host import edits
from kido.skeleton.naming import free_name

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom

Array = NDArray[np.float64]


_RELATIVE_TRANSFORM = settable("relative_transform")


class JacobianNode(Frame):
    """A frame fixed to a body of a skeleton, or the body itself.

    Its Jacobians are compact: one column for each of `dependent_dofs`, the coordinates that move it. The skeleton's
    methods of the same names have a column for every coordinate. Rows are [angular; linear]; all say how a point
    of the node, `offset` from its origin in its own axes [m], moves relative to the world, in the axes of
    `in_coordinates_of` (None: the world's). They follow the current state and are computed when asked for.

    Source: DART report, section 2.6.
    """

    @property
    @abstractmethod
    def _carrier(self) -> tuple[BodyNode, Any]:
        """The body that it rides on, and its 4x4 pose there; None for the body's own frame."""

    @property
    def dependent_dofs(self) -> tuple[DegreeOfFreedom, ...]:
        """Coordinates that move it, in the order of the state arrays."""
        skeleton = self._carrier[0].skeleton
        dofs = skeleton.parts.dofs
        return tuple(dofs[k] for k in self._dependent())

    def depends_on(self, dof: DegreeOfFreedom | str | int) -> bool:
        """Whether a coordinate of the skeleton (itself, its name or its index) moves it.

        Raises:
            ModelError: a coordinate of another skeleton.
            NameLookupError: there is none of that name or index.
        """
        skeleton = self._carrier[0].skeleton
        found = skeleton.dof(dof) if isinstance(dof, str | int | np.integer) else dof
        if not any(found is own for own in skeleton.parts.dofs):
            raise ModelError(f"{self!r}: {dof!r} is no degree of freedom of skeleton {skeleton.name!r}")
        return found.index in self._dependent()

    def _dependent(self) -> NDArray[np.intp]:
        body = self._carrier[0]
        return body.skeleton.current_state.dependent_dofs_of(body)

    def jacobian(self, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None) -> Array:
        """J (6, len(dependent_dofs)) with [angular; linear] velocity = J u."""
        return self._carrier[0].skeleton.jacobian(self, offset, in_coordinates_of)[:, self._dependent()]

    def world_transform_derivatives(self) -> Array:
        """dX/dq_k (len(dependent_dofs), 4, 4) of its world transform X, with dX/dt = sum of u_k dX/dq_k."""
        return self._carrier[0].skeleton.world_transform_derivatives(self)[self._dependent()]

    def linear_jacobian(self, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None) -> Array:
        """J (3, len(dependent_dofs)) with (velocity of the point) = J u."""
        return self.jacobian(offset, in_coordinates_of)[3:]

    def angular_jacobian(self, in_coordinates_of: Frame | None = None) -> Array:
        """J (3, len(dependent_dofs)) with (angular velocity) = J u."""
        return self.jacobian(ORIGIN, in_coordinates_of)[:3]

    def jacobian_spatial_derivative(self, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None) -> Array:
        """dJ (6, len(dependent_dofs)) with (spatial acceleration) = J udot + dJ u; see the skeleton's."""
        skeleton = self._carrier[0].skeleton
        return skeleton.jacobian_spatial_derivative(self, offset, in_coordinates_of)[:, self._dependent()]

    def jacobian_classic_derivative(self, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None) -> Array:
        """dJ (6, len(dependent_dofs)) with [angular; classic linear] acceleration = J udot + dJ u."""
        skeleton = self._carrier[0].skeleton
        return skeleton.jacobian_classic_derivative(self, offset, in_coordinates_of)[:, self._dependent()]


class Node(Extension, Carrier):
    """Something of a body's, made by `BodyNode.create_node`.

    Nodes are copied, cloned, pickled, moved and removed with their body. A class of one's own may name the types of
    its state and its properties, dataclasses say; they then are part of the skeleton's saved state and properties:

        >>> class Battery(Node):
        ...     @dataclass
        ...     class State:
        ...         charge: float = 1.0
        >>> body.create_node(Battery, "battery").state.charge
        1.0

    Args:
        body: the body that carries it.
        name: unique among the skeleton's nodes.
        state, properties: instead of the defaults of the class's `State` and `Properties`.
    """

    # Name -> attribute of what is a property besides `properties`.
    _property_fields: ClassVar[dict[str, str]] = {}

    def __init__(self, body: BodyNode, name: str, state: Any = None, properties: Any = None):
        self._body: BodyNode | None = body
        self._name = name
        self._fill(state, properties)

    def _home(self) -> Any:
        body = getattr(self, "_body", None)
        return None if body is None else body.skeleton

    @property
    def name(self) -> str:
        """Name, unique among the skeleton's nodes."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        if not isinstance(value, str) or not value:
            raise ModelError(f"{self!r}: name: expected a text that is not empty, got {value!r}")
        if value != self._name and value in self._names_beside(self.body):
            raise ModelError(f"{self!r}: name {value!r} is already used")
        self._name = value

    @property
    def body(self) -> BodyNode:
        """The body that carries it.

        Raises:
            ModelError: it was removed.
        """
        if self._body is None:
            raise self._removed()
        return self._body

    def _removed(self) -> ModelError:
        return ModelError(f"{self!r} is on no body: it was removed")

    def remove(self) -> None:
        """Take it off its body."""
        self.body._remove_node(self)

    @edits
    def copy_to(self, body: BodyNode, name: str | None = None) -> Self:
        """Put a copy on another body, or the same one, with its own state, properties and aspects.

        Args:
            body: the body.
            name: of the copy; by default its own. A name that is taken gets a number in brackets.

        Raises:
            ModelError: no body.
        """
        if not hasattr(body, "_add_node"):
            raise ModelError(f"{self!r}: copy: expected a body, got {body!r}")
        twin = copy.deepcopy(self, {id(self.body): body, id(self.body.skeleton): body.skeleton})
        twin._name = free_name(name or self._name, set(self._names_beside(body)))
        return body._add_node(twin)

    def __copy__(self) -> NoReturn:
        raise ModelError(
            f"{self!r} belongs to its body and cannot be copied by copy.copy; copy_to() puts a copy on a body"
        )

    @classmethod
    def _names_beside(cls, body: BodyNode) -> Iterable[str]:
        """Names that a node on a body cannot have."""
        return {node.name for node in body.skeleton.nodes()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"


class FrameNode(Node, JacobianNode, FixedFrame):
    """A node with a pose in its body: a frame, with Jacobians.

    Args:
        body: the body that carries it.
        name: unique among the skeleton's nodes.
        relative_transform: its pose in the body (4x4 or what `as_transform` takes).
        state, properties: instead of the defaults of the class's `State` and `Properties`.

    Raises:
        ModelError: no rigid transform.
    """

    _property_fields: ClassVar[dict[str, str]] = {"relative_transform": "_relative"}

    def __init__(
        self, body: BodyNode, name: str, relative_transform: Any = None, state: Any = None, properties: Any = None
    ):
        self._name = name
        FixedFrame.__init__(self, body, relative_transform, name)
        Node.__init__(self, body, name, state, properties)

    def _seen_from(self, X: NDArray[np.float64]) -> None:
        """Its body now has the pose X in the frame that its own pose is to be relative to."""
        self._set_relative_transform(X @ self._relative)

    @property
    def _carrier(self) -> tuple[BodyNode, Any]:
        return self.body, self._relative

    def _update(self, level: int) -> None:
        if self._body is None:  # frames may still hang on it
            raise self._removed()
        super()._update(level)

    @property
    def parent_frame(self) -> Frame:
        """The body that carries it."""
        return self.body

    @parent_frame.setter
    def parent_frame(self, parent: Frame | None) -> None:
        raise ModelError(f"{self!r} stays on its body; create one on the other body")

    def clone(self, parent: Frame | None = None) -> Self:
        """A copy on the same body, or on another. See `copy_to`."""
        body: Any = self.body if parent is None else parent
        return self.copy_to(body)

    @property
    def relative_transform(self) -> NDArray[np.float64]:
        """Pose in the body, 4x4 (a copy); set with what `as_transform` takes."""
        return read_only_copy(_RELATIVE_TRANSFORM, self._relative)

    @relative_transform.setter
    def relative_transform(self, value: Any) -> None:
        self._set_relative_transform(value)


def carry_on(node: Node, body: BodyNode, X: NDArray[np.float64]) -> None:
    """Have a node on another body, in which its own had the pose X; it stays where it is."""
    node._body = body
    if isinstance(node, FrameNode):
        node._hang_on(body)
        node._seen_from(X)
