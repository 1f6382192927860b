"""Ball and free joints, whose positions hold a rotation vector."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.joints import JointKind
from kido.math.transform import as_transform, as_vector, inverse_transform
from kido.skeleton.frames.frame import frame_or_world
from kido.skeleton.joints.coordinates import CoordinateKind
from kido.skeleton.joints.joint import Joint

if TYPE_CHECKING:
    from kido.skeleton.frames.frame import Frame

Array = NDArray[np.float64]


class BallJoint(Joint):
    """Any rotation: X_J = exp(q), q a rotation vector [rad]; u is the angular velocity in the child-side frame.

    Rotation vectors that differ by whole turns mean the same rotation. A spring has the potential 2 v . K v with v
    the vector part of the unit quaternion from rest: k (1 - cos angle) for one stiffness k, smooth at all angles.
    """

    kind = JointKind.BALL
    dof_suffixes = ("_x", "_y", "_z")
    coordinate_kinds = (CoordinateKind.ROTATION,) * 3
    formats = MappingProxyType({"sdf": ("ball",), "skel": ("ball",)})
    closes_loops = True

    @staticmethod
    def to_rotation(positions: ArrayLike) -> Array:
        """Rotation matrix (3, 3) of a rotation vector (3,)."""
        return scipy.spatial.transform.Rotation.from_rotvec(as_vector(positions, "ball joint: positions")).as_matrix()

    @staticmethod
    def from_rotation(rotation: Any) -> Array:
        """Rotation vector (3,), at most pi long, of a 3x3 matrix or a SciPy `Rotation`.

        Raises:
            ModelError: no rotation.
        """
        return scipy.spatial.transform.Rotation.from_matrix(
            as_transform(rotation, "ball joint: rotation")[:3, :3]
        ).as_rotvec()


class FreeJoint(Joint):
    """Any motion: q = [rotation vector; translation], u the twist [angular; linear] in the child-side frame.

    X_J = [exp(q[0:3]), q[3:6]]; u is not the derivative of q. A spring turns as a ball joint's, and pulls along the
    axes of the parent-side frame. In a world, linear damping acts along those axes as well.
    """

    kind = JointKind.FREE
    dof_suffixes = ("_rx", "_ry", "_rz", "_x", "_y", "_z")
    coordinate_kinds = (CoordinateKind.ROTATION,) * 3 + (CoordinateKind.LENGTH,) * 3
    formats = MappingProxyType({"urdf": ("floating",), "skel": ("free",)})

    @staticmethod
    def to_transform(positions: ArrayLike) -> Array:
        """X_J (4, 4) at positions (6,)."""
        q = as_vector(positions, "free joint: positions", 6)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = scipy.spatial.transform.Rotation.from_rotvec(q[:3]).as_matrix(), q[3:]
        return X

    @staticmethod
    def from_transform(transform: Any) -> Array:
        """Positions (6,) of a transform X_J, its rotation vector at most pi long.

        Raises:
            ModelError: no rigid transform.
        """
        X = as_transform(transform, "free joint: transform")
        return np.concatenate([scipy.spatial.transform.Rotation.from_matrix(X[:3, :3]).as_rotvec(), X[:3, 3]])

    # The child body's motion, set as a whole -----------------------------------------------------------------

    def set_transform(self, transform: Any, with_respect_to: Frame | None = None) -> None:
        """Set the positions so that the child body has a pose; the velocities' numbers stay.

        Args:
            transform: pose of the child body (4x4, or what a transform may be).
            with_respect_to: frame of that pose; None for the world.

        Raises:
            ModelError: no rigid transform or no frame, or the joint is not part of a skeleton.
        """
        body, what = self.child, f"joint {self.name!r}"
        base = frame_or_world(body, with_respect_to, "with_respect_to")
        X_WB = base.world_transform @ as_transform(transform, f"{what}: transform")
        X_WF = body.parent_frame.world_transform @ self.transform_from_parent
        self.positions = self.from_transform(inverse_transform(X_WF) @ X_WB @ self.transform_from_child)

    def set_spatial_velocity(
        self, velocity: ArrayLike, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> None:
        """Set the velocities so that the child body's origin has a spatial velocity.

        Args:
            velocity: [angular; linear] (6,) [rad/s, m/s].
            relative_to: frame from which that motion is seen; None for the world.
            in_coordinates_of: frame of its axes; None for the world's.

        Raises:
            ModelError: not six finite numbers, no frame, or the joint is not part of a skeleton.
        """
        body, V = self.child, as_vector(velocity, f"joint {self.name!r}: velocity", 6)
        change = V - body.compute_spatial_velocity(relative_to=relative_to, in_coordinates_of=in_coordinates_of)
        self.velocities = self.velocities + self._coordinates_for(change, in_coordinates_of)

    def set_angular_velocity(
        self, velocity: ArrayLike, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> None:
        """Set the angular velocity alone [rad/s]; arguments as for `set_spatial_velocity`."""
        V = self.child.compute_spatial_velocity(relative_to=relative_to, in_coordinates_of=in_coordinates_of)
        V[:3] = as_vector(velocity, f"joint {self.name!r}: velocity")
        self.set_spatial_velocity(V, relative_to, in_coordinates_of)

    def set_linear_velocity(
        self, velocity: ArrayLike, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> None:
        """Set the velocity of the child body's origin alone [m/s]; arguments as for `set_spatial_velocity`."""
        V = self.child.compute_spatial_velocity(relative_to=relative_to, in_coordinates_of=in_coordinates_of)
        V[3:] = as_vector(velocity, f"joint {self.name!r}: velocity")
        self.set_spatial_velocity(V, relative_to, in_coordinates_of)

    def set_spatial_acceleration(
        self, acceleration: ArrayLike, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> None:
        """Set the accelerations so that the child body's origin has a spatial acceleration (Featherstone's).

        Arguments as for `set_spatial_velocity` [rad/s^2, m/s^2].
        """
        body, A = self.child, as_vector(acceleration, f"joint {self.name!r}: acceleration", 6)
        change = A - body.compute_spatial_acceleration(relative_to=relative_to, in_coordinates_of=in_coordinates_of)
        self.accelerations = self.accelerations + self._coordinates_for(change, in_coordinates_of)

    def set_spatial_motion(
        self,
        transform: Any = None,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        relative_to: Frame | None = None,
        in_coordinates_of: Frame | None = None,
    ) -> None:
        """Set pose, spatial velocity and spatial acceleration of the child body, those that are given, in this order.

        Args:
            transform: pose with respect to `relative_to`.
            velocity, acceleration: [angular; linear] (6,).
            relative_to: frame from which all are seen; None for the world.
            in_coordinates_of: frame of the axes of velocity and acceleration; None for the world's.

        Raises:
            ModelError: as the setters of each; nothing is set then.
        """
        what = f"joint {self.name!r}"
        frame_or_world(self.child, relative_to, "relative_to")
        frame_or_world(self.child, in_coordinates_of, "in_coordinates_of")
        X = None if transform is None else as_transform(transform, f"{what}: transform")
        V = None if velocity is None else as_vector(velocity, f"{what}: velocity", 6)
        A = None if acceleration is None else as_vector(acceleration, f"{what}: acceleration", 6)
        if X is not None:
            self.set_transform(X, relative_to)
        if V is not None:
            self.set_spatial_velocity(V, relative_to, in_coordinates_of)
        if A is not None:
            self.set_spatial_acceleration(A, relative_to, in_coordinates_of)

    def _coordinates_for(self, change: Array, in_coordinates_of: Frame | None) -> Array:
        """Coordinates u with S u = a spatial vector of the child body, given in the axes of a frame."""
        body = self.child
        axes = frame_or_world(body, in_coordinates_of, "in_coordinates_of")
        R = body.world_transform[:3, :3].T @ axes.world_transform[:3, :3]
        turned = np.concatenate([R @ change[:3], R @ change[3:]])
        return np.asarray(np.linalg.solve(self.relative_jacobian, turned), dtype=np.float64)
