"""The dynamics of a skeleton that has flexible bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes, dataclass
from kido.errors import ModelError, StateError
from kido.flexible import entries
from kido.flexible.body import FlexibleBody, flexible_bodies
from kido.flexible.filling import fill
from kido.flexible.joint import ModalJoint
from kido.jit import Struct
from kido.kernels.entries import OK, REFUSED
from kido.math.transform import as_numbers, as_vector, number_or_nan
from kido.reprs import brief
from kido.skeleton import BodyNode, Skeleton
from kido.skeleton.compiler import Links, compile_skeleton
from kido.tree import data_for

Array = NDArray[np.float64]
ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class FlexibleMotion:
    """A motion of a `FlexibleTree`.

    Attributes:
        times: (steps + 1,) [s].
        positions, velocities: (steps + 1, coordinates).
    """

    times: Array
    positions: Array
    velocities: Array

    __repr__ = brief


class FlexibleTree(FixedAttributes):
    """Dynamics of a skeleton some of whose bodies are flexible, in recursions over its bodies; pure calls.

    Coordinates are those of the skeleton; joints may be of any kind, the tree branched, floating or fixed. Stiffness
    and damping of modes are part of the dynamics here; springs, dampers and friction of joints are forces, as they are
    for skeletons: `simulate` adds springs and dampers. Spatial vectors are [angular; linear] in world axes.

    Args:
        skeleton: its structure; edits are followed.

    Raises:
        ModelError: it is no skeleton.

    Source: Jain and Rodriguez (1992), Recursive flexible multibody system dynamics using spatial operators.
    """

    def __init__(self, skeleton: Skeleton):
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"skeleton: expected a kido.Skeleton, got {skeleton!r}")
        self.skeleton = skeleton
        self._version = -1

    # Coordinates -----------------------------------------------------------------------------------------

    @property
    def bodies(self) -> tuple[FlexibleBody, ...]:
        """The flexible bodies."""
        return flexible_bodies(self.skeleton)

    @property
    def num_coordinates(self) -> int:
        """Coordinates of joints and modes."""
        return self.skeleton.num_dofs

    @property
    def names(self) -> tuple[str, ...]:
        """Of all coordinates; those of modes are BODY.MODE."""
        return tuple(dof.name for dof in self.skeleton.dofs)

    # Kinematics ------------------------------------------------------------------------------------------

    def transform(self, body: BodyNode | str, positions: ArrayLike) -> Array:
        """World transform (4, 4) of a body, a node's body among them."""
        body = self._body(body)
        links, at = self._compiled(), self._vector(positions, "positions")
        X = np.zeros((len(links.top), 4, 4))
        X[:, 3, 3] = 1.0
        self._call(entries.poses, at, X)
        return X[links.of_body[body.index]] @ links.offset[body.index]

    def jacobian(self, body: BodyNode | str, positions: ArrayLike, offset: ArrayLike = ORIGIN) -> Array:
        """Jacobian (6, coordinates) of a point of a body, at `offset` from its origin in its axes [m]."""
        body = self._body(body)
        links, at = self._compiled(), self._vector(positions, "positions")
        place = links.offset[body.index] @ np.append(as_vector(offset, "offset"), 1.0)
        J = np.empty((6, self.num_coordinates))
        self._call(entries.jacobian, at, int(links.of_body[body.index]), place[:3].copy(), J)
        return J

    def motion(
        self, body: BodyNode | str, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike
    ) -> tuple[Array, Array]:
        """(velocity, acceleration) of a body at its origin, (6,) each [rad/s, m/s; rad/s^2, m/s^2]."""
        body = self._body(body)
        links = self._compiled()
        V, A = np.empty((2, len(links.top), 6))
        state = [self._vector(positions, "positions"), self._vector(velocities, "velocities")]
        self._call(entries.motions, *state, self._vector(accelerations, "accelerations"), V, A)
        link = int(links.of_body[body.index])
        arm = self._data.R[link].reshape(3, 3) @ links.offset[body.index][:3, 3]
        V, A = V[link].copy(), A[link].copy()
        A[3:] += np.cross(A[:3], arm) + np.cross(V[:3], np.cross(V[:3], arm))
        V[3:] += np.cross(V[:3], arm)
        return V, A

    # Dynamics --------------------------------------------------------------------------------------------

    def mass_matrix(self, positions: ArrayLike) -> Array:
        """M (coordinates, coordinates), symmetric: kinetic energy = u^T M u / 2. Composite bodies, O(n^2)."""
        M = np.empty((self.num_coordinates,) * 2)
        self._call(entries.mass_matrix, self._vector(positions, "positions"), M)
        return M

    def inverse_dynamics(self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike) -> Array:
        """Forces (coordinates,): M udot + C(q, u), with weight, stiffness and damping of modes. Newton-Euler, O(n)."""
        state = [self._vector(positions, "positions"), self._vector(velocities, "velocities")]
        tau = np.empty(self.num_coordinates)
        self._call(entries.inverse_dynamics, *state, self._vector(accelerations, "accelerations"), 1, tau)
        return tau

    def forward_dynamics(self, positions: ArrayLike, velocities: ArrayLike, forces: ArrayLike | None = None) -> Array:
        """Accelerations (coordinates,) by forces, by default none: the inverse of `inverse_dynamics`. O(n).

        Raises:
            ModelError: a coordinate that moves no inertia; names it.
        """
        state = [self._vector(positions, "positions"), self._vector(velocities, "velocities")]
        udot = np.empty(self.num_coordinates)
        self._call(entries.forward_dynamics, *state, self._forces(forces), 1, udot)
        return udot

    def log_determinant(self, positions: ArrayLike) -> float:
        """ln det M, the sum of ln D over coordinates as they are eliminated. O(n).

        Raises:
            ModelError: as `forward_dynamics`.
        """
        out = np.empty(1)
        self._call(entries.log_determinant, self._vector(positions, "positions"), out)
        return float(out[0])

    def kinetic_energy(self, positions: ArrayLike, velocities: ArrayLike) -> float:
        """Of all bodies [J]."""
        return float(self._sums(positions, velocities)[0])

    def potential_energy(self, positions: ArrayLike) -> float:
        """Of weight, of joint springs and of deformation [J]."""
        return float(self._sums(positions, np.zeros(self.num_coordinates))[1])

    def momentum(self, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """[angular about the world's origin; linear] (6,) [N m s, N s]."""
        return self._sums(positions, velocities)[2:8]

    def simulate(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        duration: float,
        time_step: float = 1e-3,
        forces: ArrayLike | Callable[[float, Array, Array], ArrayLike] | None = None,
        prescribed: Mapping[int, Callable[[float], float]] | None = None,
    ) -> FlexibleMotion:
        """Motion from a state, by the midpoint rule of worlds: second order, springs and dampers implicit.

        Args:
            positions, velocities: at time 0.
            duration, time_step: [s]; the duration is rounded to whole steps.
            forces: constant, or a function of time, positions and velocities that is called at the start of each step.
            prescribed: accelerations of coordinates of joints as functions of time, by index.

        Raises:
            StateError: the state is not finite any more; says when.
            ModelError: a coordinate that moves no inertia; times that are not positive; a prescribed coordinate that is
                none of the joints'.
        """
        for what, value in (("duration", duration), ("time_step", time_step)):
            if not (np.isfinite(number_or_nan(value)) and value > 0.0):
                raise ModelError(f"{what}: expected a positive number [s], got {value!r}")
        number, n = max(round(duration / time_step), 1), self.num_coordinates
        given = dict(prescribed or {})
        for k in given:
            known = isinstance(k, int | np.integer) and 0 <= k < n
            if not known or isinstance(self.skeleton.dofs[k].joint, ModalJoint):
                raise ModelError(f"prescribed: expected coordinates of joints, no modes, below {n}, got {k!r}")
        Q, U = np.empty((number + 1, n)), np.empty((number + 1, n))
        Q[0], U[0] = self._vector(positions, "positions"), self._vector(velocities, "velocities")
        tree, data, flex = self._arrays_of_steps(list(given))
        called = callable(forces) or bool(given)
        constant = self._forces(None if callable(forces) else forces)
        for s in range(number) if called else (0,):
            time = s * time_step
            acting = self._forces(forces(time, Q[s].copy(), U[s].copy())) if callable(forces) else constant
            for k, acceleration in given.items():
                data.udot[k] = acceleration(time + 0.5 * time_step)
            last = s + 1 if called else number
            status = entries.steps(
                tree.address, data.address, flex.address, float(time_step), last - s, Q[s].copy(), U[s].copy(), acting,
                Q[s + 1 : last + 1], U[s + 1 : last + 1],
            )  # fmt: skip
            if status < 0:
                raise StateError(
                    f"skeleton {self.skeleton.name!r}: the motion became NaN or infinite after "
                    f"{(s - status) * time_step:g} s; a smaller time step or smaller forces may help"
                )
            self._raise_for(status)
        return FlexibleMotion(np.linspace(0.0, number * time_step, number + 1), Q, U)

    # Calls -----------------------------------------------------------------------------------------------

    def _arrays_of_steps(self, prescribed: list[int]) -> tuple[Struct, Struct, Struct]:
        """Tree, data and FLEX of a motion, apart from those of other calls, which forces may make.

        Free joints move in fixed axes, as those of worlds do, but for prescribed ones.
        """
        links, tree = self._compiled(), self._tree
        kind, flags = links.kinds_in_worlds(tree.kind), np.zeros_like(tree.prescribed)
        flags[prescribed] = 1
        moved = tree.body_of_dof[prescribed]
        kind[moved] = tree.kind[moved]
        return tree.sharing(kind=kind, prescribed=flags), data_for(tree), fill([links])

    def _sums(self, positions: ArrayLike, velocities: ArrayLike) -> Array:
        out = np.empty(12)
        self._call(entries.sums, self._vector(positions, "positions"), self._vector(velocities, "velocities"), out)
        return out

    def _call(self, function: Any, *arguments: Any) -> None:
        self._compiled()
        self._raise_for(function(self._tree.address, self._data.address, self._flex.address, *arguments))

    def _raise_for(self, status: int) -> None:
        if status == OK:
            return
        assert status != REFUSED  # arguments were checked
        raise ModelError(
            f"skeleton {self.skeleton.name!r}: the inertia seen by coordinate {status - 2} "
            f"({self.names[status - 2]!r}) is not positive; what it moves needs mass, or "
            "deflections are not small beside the bodies"
        )

    def _forces(self, forces: ArrayLike | None) -> Array:
        return np.zeros(self.num_coordinates) if forces is None else self._vector(forces, "forces")

    def _vector(self, value: ArrayLike, what: str) -> Array:
        n = self.num_coordinates
        try:
            vector = as_numbers(value)
        except (TypeError, ValueError):
            raise StateError(f"{what}: expected {n} numbers, got {value!r}") from None
        if vector.shape != (n,):
            raise StateError(
                f"{what}: expected {n} numbers, one for each coordinate of joints and modes, "
                f"got an array of shape {vector.shape}"
            )
        if not np.isfinite(vector).all():
            k = int(np.flatnonzero(~np.isfinite(vector))[0])
            raise StateError(f"{what}: expected finite numbers, got {vector[k]} for coordinate {k} ({self.names[k]!r})")
        return vector

    def _body(self, body: BodyNode | str) -> BodyNode:
        found = self.skeleton.body(body) if isinstance(body, str) else body
        if not isinstance(found, BodyNode) or found.skeleton is not self.skeleton:
            raise ModelError(f"expected a body of skeleton {self.skeleton.name!r} or its name, got {body!r}")
        return found

    def _compiled(self) -> Links:
        """Links of the skeleton as it is now; makes arrays if it was edited."""
        if self._version != self.skeleton.version:
            skeleton = self.skeleton
            self._links, self._tree, self._data = compile_skeleton(skeleton, np.array(skeleton.gravity))
            self._flex = fill([self._links])
            self._version = skeleton.version
        self._tree.gravity[:] = self.skeleton.gravity
        return self._links
