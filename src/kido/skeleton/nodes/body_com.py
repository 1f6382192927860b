"""The centre of mass of one body: where it is, how it moves, and its Jacobians."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.errors import ModelError
from kido.quantities.centroidal import com, com_acceleration, com_velocity
from kido.skeleton.frames.frame import Frame
from kido.skeleton.nodes.node import JacobianNode

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.inertia import Inertia

Array = NDArray[np.float64]


class BodyCom(JacobianNode):
    """What a body has to say of its centre of mass: that of a point fixed in it, but of a flexible body as it is bent.

    `relative_to` is the frame from which the motion is seen, None for the world; `in_coordinates_of` the frame in whose
    axes results are, None for the world's. Of some bodies together the skeleton has the same (`Skeleton.com`, ...).

    Source: DART's BodyNode (getCOM, getCOMLinearVelocity, getCOMSpatialAcceleration, ...).
    """

    if TYPE_CHECKING:
        own_link: bool
        skeleton: Any

        @property
        def inertia(self) -> Inertia: ...
        @property
        def children(self) -> tuple[BodyNode, ...]: ...

    @property
    def _deforms(self) -> bool:
        """Whether it is a flexible body, in which its centre of mass moves."""
        return self.own_link and any(child.parent_joint.has_modes for child in self.children)

    @property
    def local_com(self) -> Array:
        """Centre of mass from the body's origin, in its own axes [m] (a copy)."""
        if self._deforms:
            return fixed(com(self.skeleton, bodies=[self], with_respect_to=self))
        return fixed(self.inertia.com)

    @property
    def com(self) -> Array:
        """Centre of mass in the world [m]; see `com_position`."""
        X = self.world_transform
        return fixed(X[:3, :3] @ self.local_com + X[:3, 3])

    def com_position(self, with_respect_to: Frame | None = None) -> Array:
        """Centre of mass (3,) from the origin of a frame, in its axes [m]; None: in the world.

        Raises:
            ModelError: no frame.
        """
        X = self.transform(with_respect_to)
        return X[:3, :3] @ self.local_com + X[:3, 3]

    def com_velocity(self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None) -> Array:
        """Velocity (3,) of the centre of mass [m/s].

        Raises:
            ModelError: no frame.
        """
        if self._deforms:
            return com_velocity(
                self.skeleton, bodies=[self], relative_to=relative_to, in_coordinates_of=in_coordinates_of
            )
        return self.linear_velocity(self.local_com, relative_to, in_coordinates_of)

    def com_spatial_velocity(self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None) -> Array:
        """[angular velocity of the body; velocity of its centre of mass] (6,) [rad/s, m/s].

        Raises:
            ModelError: no frame.
        """
        V = self.compute_spatial_velocity(self.local_com, relative_to, in_coordinates_of)
        if self._deforms:
            V[3:] = self.com_velocity(relative_to, in_coordinates_of)
        return V

    def com_acceleration(self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None) -> Array:
        """Classic acceleration (3,) of the centre of mass by the current accelerations [m/s^2].

        Raises:
            ModelError: no frame.
        """
        if self._deforms:
            return com_acceleration(
                self.skeleton, bodies=[self], relative_to=relative_to, in_coordinates_of=in_coordinates_of
            )
        return self.linear_acceleration(self.local_com, relative_to, in_coordinates_of)

    def com_spatial_acceleration(
        self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> Array:
        """[angular; linear] spatial acceleration (Featherstone's) (6,) at the centre of mass [rad/s^2, m/s^2].

        Its linear part is `com_acceleration` less w x v.

        Raises:
            ModelError: no frame.
        """
        A = self.compute_spatial_acceleration(self.local_com, relative_to, in_coordinates_of)
        if self._deforms:
            V = self.com_spatial_velocity(relative_to, in_coordinates_of)
            A[3:] = self.com_acceleration(relative_to, in_coordinates_of) - np.cross(V[:3], V[3:])
        return A

    def com_jacobian(self, in_coordinates_of: Frame | None = None) -> Array:
        """J (3, len(dependent_dofs)) with com_velocity = J u.

        Raises:
            ModelError: no frame; a flexible body, whose centre of mass moves with modes too.
        """
        self._refuse_modes("com_jacobian")
        return self.linear_jacobian(self.local_com, in_coordinates_of)

    def com_jacobian_derivative(self, in_coordinates_of: Frame | None = None) -> Array:
        """dJ (3, len(dependent_dofs)) with com_acceleration = J udot + dJ u.

        Raises:
            ModelError: no frame; a flexible body, whose centre of mass moves with modes too.
        """
        self._refuse_modes("com_jacobian_derivative")
        return self.jacobian_classic_derivative(self.local_com, in_coordinates_of)[3:]

    def _refuse_modes(self, what: str) -> None:
        if self._deforms:
            raise ModelError(
                f"body {self.name!r} is flexible: its centre of mass moves with modes, which are no coordinates above "
                f"it; expected skeleton.{what}(bodies=[{self.name!r}]), with a column for every coordinate"
            )
