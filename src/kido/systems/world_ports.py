"""Joints and bodies of a world as models: what a system reads of them, and what drives them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.math.transform import as_vector
from kido.skeleton import BodyNode, DegreeOfFreedom, Joint
from kido.skeleton.joints.coordinates import CoordinateKind
from kido.systems.declarations import Input, Output
from kido.systems.model import Model


class WorldPort(Model):
    """What joints and bodies share as models: a world, and no equation, gives their outputs."""

    @property
    def is_boundary(self) -> bool:
        """True."""
        return True

    @property
    def skeleton(self) -> Any:
        """Of the world."""
        raise ModelError(f"model {self.path!r}: of no skeleton")


class JointPort(WorldPort):
    """A coordinate of a skeleton: its position and velocity, and a force on it.

    They are read at the start of each step of the world, and the force acts during it, besides other commands.

    Args:
        joint: a `DegreeOfFreedom`, or a joint of one coordinate.
        name: by default that of the coordinate.

    Raises:
        ModelError: another thing, or a coordinate whose actuator takes no forces.
    """

    force = Input(
        "N m", default=0.0, doc="[N] if the coordinate is a length, any unit if it is neither length nor angle"
    )
    position = Output("rad", doc="[m] if the coordinate is a length")
    velocity = Output("rad/s", doc="[m/s] if the coordinate is a length")

    def __init__(self, joint: DegreeOfFreedom | Joint, name: str | None = None):
        dof: Any = joint.dofs[0] if isinstance(joint, Joint) and len(joint.dofs) == 1 else joint
        if not isinstance(dof, DegreeOfFreedom) or dof.joint.skeleton is None:
            raise ModelError(f"JointPort: expected a coordinate of a skeleton, or a joint that has one, got {joint!r}")
        _check_driven(dof, "JointPort")
        super().__init__(_as_name(dof.name) if name is None else name)
        self._dof = dof
        kind = dof.joint.coordinate_kind(dof.index_in_joint)
        if kind is CoordinateKind.LENGTH:
            self.redeclare(force=Input("N", default=0.0), position=Output("m"), velocity=Output("m/s"))
        elif kind is CoordinateKind.OTHER:
            self.redeclare(force=Input(default=0.0), position=Output(), velocity=Output())

    @property
    def dof(self) -> DegreeOfFreedom:
        """The coordinate."""
        return self._dof

    def check_driven(self) -> None:
        """Raise ModelError if by now its actuator takes no forces."""
        _check_driven(self._dof, f"model {self.path!r}")

    @property
    def skeleton(self) -> Any:
        """Whose coordinate it is."""
        return self._dof.joint.skeleton


class BodyPort(WorldPort):
    """A point of a body: where it is and how it moves, and a force and a torque on it; all in world axes.

    Args:
        body: of a skeleton in the world of the system.
        offset: of the point in body axes [m].
        name: by default that of the body.

    Raises:
        ModelError: no body, or no three numbers.
    """

    force = Input("N", 3, default=0.0)
    torque = Input("N m", 3, default=0.0)
    position = Output("m", 3)
    rotation = Output("1", (3, 3), doc="from body to world axes")
    velocity = Output("m/s", 3)
    angular_velocity = Output("rad/s", 3)

    def __init__(self, body: BodyNode, offset: ArrayLike = (0.0, 0.0, 0.0), name: str | None = None):
        if not isinstance(body, BodyNode):
            raise ModelError(f"BodyPort: expected a body, got {body!r}")
        super().__init__(_as_name(body.name) if name is None else name)
        self._body = body
        self._offset = as_vector(offset, f"model {self.name!r}: offset")

    @property
    def body(self) -> BodyNode:
        """The body."""
        return self._body

    @property
    def offset(self) -> Any:
        """Of the point in body axes [m] (a copy)."""
        return self._offset.copy()

    @property
    def skeleton(self) -> Any:
        """Whose body it is."""
        return self._body.skeleton

    def place(self) -> np.ndarray:
        """Pose of the port in the link that carries the body: rotation, row by row, and point (12,)."""
        tree = self._body.skeleton.current_state.tree
        X = np.asarray(tree.member_pose[self._body.index]).reshape(3, 4)
        return np.concatenate([X[:, :3].ravel(), X[:, :3] @ self._offset + X[:, 3]])


class MassPort(WorldPort):
    """The mass of a body, as of one whose tanks empty: its centre of mass stays, moments scale with the mass.

    Momentum that leaves with the mass is no part of it: thrust is a force. Worlds' steps take the body with that mass;
    what Python asks of the skeleton between them, such as `Skeleton.mass`, is of the inertia that was declared. A body
    has one such port; those of several bodies that are welded together add up. Without the port the body has the
    inertia that was declared again.

    Args:
        body: of a skeleton in the world of the system, with mass. It gets the inertia that it has now by its mass.
        name: by default that of the body with "_mass".

    Raises:
        ModelError: no body, or one without mass. A mass that is not above 0 stops a run with a `StateError`.
    """

    mass = Input("kg")

    def __init__(self, body: BodyNode, name: str | None = None):
        if not isinstance(body, BodyNode) or not body.mass > 0.0:
            raise ModelError(f"MassPort: expected a body with mass, got {body!r}")
        super().__init__(f"{_as_name(body.name)}_mass" if name is None else name)
        self._body = body

    @property
    def body(self) -> BodyNode:
        """The body."""
        return self._body

    @property
    def skeleton(self) -> Any:
        """Whose body it is."""
        return self._body.skeleton

    def removed(self) -> None:
        """The body has the inertia that was declared."""
        self._body.inertia = self._body.inertia

    def link(self) -> int:
        """That carries the body."""
        return int(self._body.skeleton.current_state.tree.member_link[self._body.index])

    def inertias(self, massive: Collection[BodyNode]) -> tuple[np.ndarray, np.ndarray]:
        """What its link carries besides bodies that have ports, `massive` (10,), and the body by its mass (10,).

        Mass, mass times centre of mass, and xx, xy, xz, yy, yz, zz of the inertia about the link's origin.
        """
        tree, link = self._body.skeleton.current_state.tree, self.link()
        parts = np.zeros((2, 10))
        for body in self._body.skeleton.bodies:
            if tree.member_link[body.index] == link and (body is self._body or body not in massive):
                X = np.vstack([np.asarray(tree.member_pose[body.index]).reshape(3, 4), (0.0, 0.0, 0.0, 1.0)])
                own = body.inertia.transformed(X)
                J = own.moment_about_origin[np.triu_indices(3)]
                parts[int(body is self._body)] += np.array([own.mass, *(own.mass * own.com), *J])
        return parts[0], parts[1] / self._body.mass


def _check_driven(dof: DegreeOfFreedom, what: str) -> None:
    if not dof.actuator_type.takes_force:
        raise ModelError(
            f"{what}: dof {dof.name!r} is driven by a {dof.actuator_type.name} actuator; expected FORCE or MIMIC"
        )


def _as_name(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    return name if name.isidentifier() else f"_{name}"
