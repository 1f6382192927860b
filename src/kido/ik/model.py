"""What inverse kinematics reads of a skeleton's compiled model: all of it is asked for here."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kido.skeleton.body_node import BodyNode
from kido.skeleton.frames.frame import Frame
from kido.skeleton.nodes.node import JacobianNode

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
T = TypeVar("T")


def compiled(skeleton: Skeleton) -> Any:
    """Compile a skeleton, unless it is as it was; the DATA of its present state."""
    return skeleton.current_state.compiled()


def tree_of(skeleton: Skeleton) -> Any:
    """The TREE of a skeleton that is compiled."""
    return skeleton.current_state.tree


def links_of(skeleton: Skeleton) -> Any:
    """Which bodies are joined to links, of a skeleton that is compiled."""
    return skeleton.current_state.links


def structure_of(skeleton: Skeleton) -> int:
    """A number that changes with the skeleton's structure."""
    return skeleton.structure_version


def place_of_body(skeleton: Skeleton, body: BodyNode) -> tuple[int, Array]:
    """Link that a body is part of, and its 4x4 pose there."""
    links = links_of(skeleton)
    return int(links.of_body[body.index]), links.offset[body.index]


def carrier_of(node: JacobianNode) -> tuple[BodyNode, Array | None]:
    """The body that carries a node, and the node's pose on it; None for a body itself."""
    return node._carrier


def dofs_moving_node(node: JacobianNode) -> NDArray[np.intp]:
    """Coordinates that move a node."""
    body = carrier_of(node)[0]
    return body.skeleton.current_state.dependent_dofs_of(body)


def frame_above(frame: Frame) -> Frame | None:
    """The frame that a frame hangs on; None: it is the world or a body."""
    return None if frame is Frame.world() or isinstance(frame, BodyNode) else frame.parent_frame


def known_of(skeleton: Skeleton, key: Hashable) -> Any:
    """What `remembered` keeps; None: nothing, or a property or the structure of the skeleton has changed."""
    return skeleton.current_state.selections.get(key)


def remembered(skeleton: Skeleton, key: Hashable, make: Callable[[], T]) -> T:
    """What was made of a skeleton, kept until a property or its structure changes."""
    compiled(skeleton)
    found = skeleton.current_state.selections.get(key)
    if found is None:
        found = skeleton.current_state.selections[key] = make()
    return found
