"""Frames that ride on a body of a skeleton, and so have Jacobians."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.skeleton.frames.frame import ORIGIN, Frame

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom

Array = NDArray[np.float64]


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
    def dependent_dofs(self) -> list[DegreeOfFreedom]:
        """Coordinates that move it, in the order of the state arrays."""
        skeleton = self._carrier[0].skeleton
        dofs = skeleton._dofs
        return [dofs[k] for k in self._dependent()]

    def depends_on(self, dof: DegreeOfFreedom | str | int) -> bool:
        """Whether a coordinate of the skeleton (itself, its name or its index) moves it.

        Raises:
            ModelError: a coordinate of another skeleton.
            NameLookupError: there is none of that name or index.
        """
        skeleton = self._carrier[0].skeleton
        found = skeleton.dof(dof) if isinstance(dof, str | int | np.integer) else dof
        if not any(found is own for own in skeleton._dofs):
            raise ModelError(f"{self!r}: {dof!r} is no degree of freedom of skeleton {skeleton.name!r}")
        return found.index in self._dependent()

    def _dependent(self) -> NDArray[np.intp]:
        body = self._carrier[0]
        return body.skeleton.current_state.dependent_dofs_of(body)

    def jacobian(self, offset: ArrayLike = ORIGIN, in_coordinates_of: Frame | None = None) -> Array:
        """J (6, len(dependent_dofs)) with [angular; linear] velocity = J u."""
        return self._carrier[0].skeleton.jacobian(self, offset, in_coordinates_of)[:, self._dependent()]

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
