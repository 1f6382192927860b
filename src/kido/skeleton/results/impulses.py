"""Impulses on bodies and joints, and the velocity changes that they bring; wrenches that joints carry."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError, StateError
from kido.kernels import matrix_entries as entries
from kido.math.transform import as_numbers
from kido.skeleton.arrays import Array
from kido.skeleton.external import wrench_of_row
from kido.skeleton.results.matrices import SkeletonMatrices
from kido.skeleton.results.selections import NOTHING
from kido.skeleton.state.actuation import is_prescribed


class SkeletonImpulses(SkeletonMatrices):
    """Impulse-based forward dynamics: M (u+ - u) = joint impulses + sum J^T p, at positions that do not change."""

    # Impulses --------------------------------------------------------------------------------------------

    @property
    def joint_impulses(self) -> Array:
        """Impulses on the coordinates (dofs,) [N s, N m s] (a copy), until they are cleared."""
        held = self._joint_impulses
        return np.zeros(self.num_dofs) if held is None or held.size != self.num_dofs else held.copy()

    @joint_impulses.setter
    def joint_impulses(self, value: ArrayLike) -> None:
        vector = self._vector(value, self.num_dofs, "joint_impulses")
        if not np.isfinite(vector).all():
            self._raise_not_finite("joint_impulses", vector)
        self._joint_impulses = vector

    def clear_impulses(self) -> None:
        """Remove all impulses from bodies and joints."""
        self._impulses.clear()
        self._joint_impulses = None

    def _add_impulse(self, index: int, row: Array) -> None:
        self._impulses[index] = self._impulses.get(index, np.zeros(24)) + row

    def _impulse_of(self, index: int) -> Array:
        row = self._impulses.get(index)
        return np.zeros(6) if row is None else wrench_of_row(row, self._pose_of(index))

    def _wrenches_by_link(self, by_body: dict[int, Array], poses: Any) -> Array:
        """Wrenches about bodies' origins, summed about the origins of their links; world axes."""
        links = self._links
        result = np.zeros((len(links.top), 6))  # type: ignore[union-attr]
        for index, wrench in by_body.items():
            link = int(links.of_body[index])  # type: ignore[union-attr]
            arm = poses(index)[:3, 3] - poses(self._links.top[link]._index)[:3, 3]  # type: ignore[union-attr]
            result[link] += wrench
            result[link, :3] += np.cross(arm, wrench[3:])
        return result

    @property
    def velocity_changes(self) -> Array:
        """M^-1 (joint impulses + sum J^T p) (dofs,): what the held impulses do to the velocities.

        Coordinates whose actuators give accelerations or velocities, or lock, do not give way.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive.
        """
        return self._changes({i: self._impulse_of(i) for i in self._impulses}, self.joint_impulses)

    def _changes_by(self, body_impulses: Array) -> Array:
        """Velocity changes by given impulses (bodies, 6) about the bodies' origins, world axes."""
        return self._changes(dict(enumerate(body_impulses)), np.zeros(self.num_dofs))

    def _changes(self, impulses: dict[int, Array], joint_impulses: Array) -> Array:
        d, out = self._with_transforms(), np.empty(self.num_dofs)
        by_link = self._wrenches_by_link(impulses, self._pose_of)
        tree: Any = self._tree
        tree.prescribed[:] = is_prescribed(tree.actuator)
        status = self._of_current(entries.velocity_changes, d, 0, NOTHING, joint_impulses, by_link, out)
        tree.prescribed[:] = 0  # all other results are those of the free tree
        self._check_pivot(status)
        return out

    def compute_impulse_forward_dynamics(self) -> None:
        """Add `velocity_changes` to the velocities, and clear the impulses: an impulse acts once.

        Raises:
            ModelError: the inertia seen by a coordinate is not positive.
        """
        self.velocities = self.velocities + self.velocity_changes
        self.clear_impulses()

    def compute_velocity_changes(
        self, positions: ArrayLike, joint_impulses: ArrayLike | None = None, body_impulses: ArrayLike | None = None
    ) -> Array:
        """`velocity_changes` by given impulses at given positions; the current state and impulses stay.

        Args:
            positions: (dofs,)
            joint_impulses: (dofs,) [N s, N m s]; None: none.
            body_impulses: (bodies, 6) [angular; linear] impulses about the bodies' origins, world axes; None: none.
        """
        if self._ready is None:
            self._workspace()
        n = len(self._dofs)
        links = len(self._links.top)  # type: ignore[union-attr]
        by_link = np.zeros((links, 6)) if body_impulses is None else self._given_by_link(positions, body_impulses)
        out = np.empty(n)
        impulses = np.zeros(n) if joint_impulses is None else joint_impulses
        given = {"positions": positions, "joint_impulses": impulses}
        self._check_pivot(self._evaluate(entries.velocity_changes, (1,), (by_link, out), **given))
        return out

    def _given_by_link(self, positions: ArrayLike, body_impulses: ArrayLike) -> Array:
        shape = len(self._bodies), 6
        try:
            given = as_numbers(body_impulses)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape != shape or not np.isfinite(given).all():
            raise StateError(
                f"skeleton {self.name!r}: body_impulses: expected finite numbers of shape {shape}, "
                f"got {body_impulses!r}"
            )
        X = self.forward_kinematics(positions)
        return self._wrenches_by_link({i: given[i] for i in range(len(given))}, X.__getitem__)

    # Wrenches through joints -----------------------------------------------------------------------------

    @property
    def reaction_wrenches(self) -> Array:
        """Wrench (bodies, 6) that each body's joint carries to it, about the body's origin, world axes [N m, N].

        [torque; force] on the body from its parent, welded ones included: all that the joint does, its constraint,
        motor, spring and damper together. For the current accelerations and external forces, so that it fits the
        current state after `compute_forward_dynamics` or `compute_inverse_dynamics`; contacts of a world are no part.
        """
        d = self._with_accelerations()
        external, out = np.zeros((2, len(self._bodies), 6))
        for index in self._applied:
            external[index] = self._external_wrench(index)
        arguments = self._members(), 0, NOTHING, NOTHING, NOTHING, external, out
        self._of_current(entries.reaction_wrenches, d, *arguments)
        return out

    def compute_reaction_wrenches(self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike) -> Array:
        """`reaction_wrenches` of a given state, without external forces; the current state stays."""
        if self._ready is None:
            self._workspace()
        external, out = np.zeros((2, len(self._bodies), 6))
        given = {"positions": positions, "velocities": velocities, "accelerations": accelerations}
        self._evaluate(entries.reaction_wrenches, (self._members(), 1), (external, out), **given)
        return out

    def _reaction(self, index: int, about: str, in_coordinates_of: Any) -> Array:
        """Of one joint; see `Joint.reaction_wrench`."""
        joint = self._bodies[index].parent_joint
        if not isinstance(about, str) or about not in ("body", "joint"):
            raise ModelError(f"joint {joint.name!r}: about: expected 'body' or 'joint', got {about!r}")
        wrench = self.reaction_wrenches[index]
        if about == "joint":
            X = self._pose_of(index)
            r = X[:3, :3] @ joint._transform_from_child[:3, 3]
            wrench[:3] -= np.cross(r, wrench[3:])
        if in_coordinates_of is None:
            return wrench
        R = self._axes_of(in_coordinates_of)
        return np.concatenate([wrench[:3] @ R, wrench[3:] @ R])
