"""What acts on a body from outside: forces that stay until they are cleared, and impulses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.attributes import named_arguments
from kido.errors import ModelError
from kido.math.transform import as_flag, as_vector
from kido.quantities.impulses import changes

if TYPE_CHECKING:
    from kido.skeleton.frames.frame import Frame
    from kido.skeleton.skeleton import Skeleton


class BodyLoads:
    """External forces and impulses on a body."""

    if TYPE_CHECKING:
        name: Any
        skeleton: Skeleton
        world_transform: Any
        com: Any
        _index: int

    # External forces -------------------------------------------------------------------------------------

    @named_arguments
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
        row = force_row(self, force, offset, force_is_local, offset_is_local, in_coordinates_of, "external force")
        self.skeleton.current_state.add_external(self._index, row)

    def _in_own_or_world_axes(self, vector: NDArray[np.float64], frame: Frame | None, is_local: bool) -> Any:
        """A vector given in a frame's axes, in those of the body if `is_local`, else in the world's."""
        if frame is None:
            return vector
        in_world = self.skeleton.current_state.axes_of(frame) @ vector
        return self.world_transform[:3, :3].T @ in_world if is_local else in_world

    def _torque_row(
        self, torque: ArrayLike, is_local: bool, in_coordinates_of: Frame | None, what: str
    ) -> NDArray[np.float64]:
        """A pure torque or angular impulse, as a row of `kido.kernels.external`."""
        is_local = as_flag(is_local, f"body {self.name!r}: {what}: in body axes")
        n = as_vector(torque, f"body {self.name!r}: {what}")
        n = self._in_own_or_world_axes(n, in_coordinates_of, is_local)
        row = np.zeros(24)
        row[0:3] = n if is_local else 0.0
        row[18:21] = 0.0 if is_local else n
        return row

    @named_arguments
    def add_external_torque(
        self, torque: ArrayLike, is_local: bool = False, in_coordinates_of: Frame | None = None
    ) -> None:
        """Add a pure torque [N m], in body axes if `is_local`, else in world axes; acts until it is cleared.

        Given in the axes of `in_coordinates_of`, as they are now, it keeps its direction in the body or the world.
        """
        row = self._torque_row(torque, is_local, in_coordinates_of, "external torque")
        self.skeleton.current_state.add_external(self._index, row)

    @named_arguments
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
        row += force_row(self, w[3:], offset, is_local, True, in_coordinates_of, "external wrench")
        self.skeleton.current_state.add_external(self._index, row)

    def clear_external_forces(self) -> None:
        """Remove all external forces from the body."""
        self.skeleton.current_state.clear_external(self._index)

    @property
    def external_wrench(self) -> NDArray[np.float64]:
        """All external forces as one [torque; force] about the body origin, world axes [N m, N]."""
        return fixed(self.skeleton.current_state.external_wrench(self._index))

    # Impulses --------------------------------------------------------------------------------------------

    @named_arguments
    def add_impulse(
        self,
        impulse: ArrayLike,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        impulse_is_local: bool = False,
        offset_is_local: bool = True,
        in_coordinates_of: Frame | None = None,
    ) -> None:
        """Add an impulse [N s] at a point, for `Skeleton.velocity_changes`; arguments as for `add_external_force`."""
        row = force_row(self, impulse, offset, impulse_is_local, offset_is_local, in_coordinates_of, "impulse")
        self.skeleton.current_state.add_impulse(self._index, row)

    @named_arguments
    def add_angular_impulse(
        self, impulse: ArrayLike, is_local: bool = False, in_coordinates_of: Frame | None = None
    ) -> None:
        """Add a pure angular impulse [N m s]; arguments as for `add_external_torque`."""
        row = self._torque_row(impulse, is_local, in_coordinates_of, "angular impulse")
        self.skeleton.current_state.add_impulse(self._index, row)

    @property
    def impulse(self) -> NDArray[np.float64]:
        """All impulses on it as one [angular; linear] about the body origin, world axes [N m s, N s]."""
        return fixed(self.skeleton.current_state.impulse_on(self._index))

    @named_arguments
    def push(self, impulse: ArrayLike, at: ArrayLike | None = None) -> None:
        """Give the body an impulse now: its skeleton's velocities change at once, M (u+ - u) = J^T p.

        All joints move freely, but those whose actuators prescribe a motion do not give way. In a world contacts and
        limits answer in the next step.

        Args:
            impulse: [N s], world axes.
            at: point of the world where it acts [m]; by default the body's centre of mass.

        Raises:
            ModelError: not three finite numbers, or the skeleton is immobile or kinematic.
        """
        what = f"body {self.name!r}: push"
        skeleton = self.skeleton
        if not skeleton.mobile or skeleton.kinematic:
            raise ModelError(f"{what}: skeleton {skeleton.name!r} is {'kinematic' if skeleton.mobile else 'immobile'}")
        p = as_vector(impulse, f"{what}: impulse")
        r = self.com if at is None else as_vector(at, f"{what}: point")
        about_origin = np.array([*np.cross(r - self.world_transform[:3, 3], p), *p])
        state, none = skeleton.current_state, np.zeros(skeleton.num_dofs)
        skeleton.velocities += changes(state, {self._index: about_origin}, none, state.prescribed_by_actuators())

    # Contacts --------------------------------------------------------------------------------------------

    @property
    def contacts(self) -> Any:
        """Its contacts in the last step of its world, as a `ContactSet`.

        Raises:
            ModelError: its skeleton is in no world.
        """
        return self._contacts_in_world("contacts")

    def _contacts_in_world(self, what: str) -> Any:
        world = self.skeleton.host
        if world is None:
            raise ModelError(f"body {self.name!r}: {what}: skeleton {self.skeleton.name!r} is in no world")
        return world.contacts.of(self)

    @property
    def contact_wrench(self) -> NDArray[np.float64]:
        """[torque; force] of all its contacts about the body origin, world axes [N m, N], a mean over the last step.

        Raises:
            ModelError: its skeleton is in no world.
        """
        return fixed(self._contacts_in_world("contact_wrench").wrench_on(self, self.world_transform[:3, 3]))


# Rows of `kido.kernels.external`, in the axes of a body ---------------------------------------------------------


def row_seen_from(row: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same forces on a frame in which the body has the pose X."""
    R, p = X[:3, :3], X[:3, 3]
    force = R @ row[3:6]
    result = row.copy()
    result[0:3] = R @ row[0:3] + np.cross(p, force)
    result[3:6] = force
    result[9:18] = (R @ row[9:18].reshape(3, 3) + np.outer(p, row[6:9])).ravel()
    return result


def wrench_of_row(row: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """All forces of a row as one [torque; force] about the origin of its body, whose pose is X; world axes."""
    R, p = X[:3, :3], X[:3, 3]
    lever = R @ row[9:18].reshape(3, 3)
    moment = R @ row[0:3] + row[18:21] - np.cross(p, row[21:24])
    moment += np.array([lever[1, 2] - lever[2, 1], lever[2, 0] - lever[0, 2], lever[0, 1] - lever[1, 0]])
    return np.concatenate([moment, R @ row[3:6] + row[6:9] + row[21:24]])


def row_of_wrench(wrench: NDArray[np.float64]) -> NDArray[np.float64]:
    """The row of a wrench about a body's origin that keeps its direction in the world; world axes."""
    row = np.zeros(24)
    row[18:21], row[6:9] = wrench[:3], wrench[3:]
    return row


def force_row(
    body: Any,
    force: ArrayLike,
    offset: ArrayLike,
    force_is_local: bool,
    offset_is_local: bool,
    in_coordinates_of: Frame | None,
    what: str,
) -> NDArray[np.float64]:
    """A force or impulse at a point, as a row of `kido.kernels.external`."""
    force_is_local = as_flag(force_is_local, f"body {body.name!r}: {what}: in body axes")
    offset_is_local = as_flag(offset_is_local, f"body {body.name!r}: {what}: offset in body axes")
    f = as_vector(force, f"body {body.name!r}: {what}")
    f = body._in_own_or_world_axes(f, in_coordinates_of, force_is_local)
    r = as_vector(offset, f"body {body.name!r}: offset of an {what}")
    if force_is_local and not offset_is_local:
        X = body.world_transform
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
