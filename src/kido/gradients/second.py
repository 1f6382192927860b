"""Second derivatives of smooth dynamics: the sweeps of first derivatives, compiled for dual numbers.

With T = ID(q, u, a) linear in the accelerations a, all of ID's are those of dT/dq, dT/du and M by positions and
velocities, seven directions at a time. Those of forward dynamics a = FD(q, u, T) follow from ID(q, u, a) = T. Of two of
x = (q, u, T), say x_j and x_k,

    M a_jk = T_jk - ID_jk - (dM/dx_j) a_k - (dM/dx_k) a_j,    T_jk = 0

with a_j the first derivatives, and dM/dx_j zero unless x_j is a position. Positions go along velocities, x_k last: of
joints that rotate in three axes, derivatives by two positions depend on their order as rotations do.

Source: Singh, Russell and Wensing (2023), "On second-order derivatives of rigid-body dynamics: theory and
implementation", has them by formulas of their own; here they are differentiated by the machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.jit import Struct, floats, kernel, reference, view
from kido.jit.duals import DIRECTIONS, DualStructs, dual_callback
from kido.kernels.derivative_entries import derive_joint_forces, move
from kido.kernels.integration import advance
from kido.quantities.branches import derivatives_workspace
from kido.reprs import brief
from kido.skeleton import Skeleton
from kido.skeleton.state.state import numbers_of
from kido.tree import DATA, TREE
from kido.tree.schema import data_for
from kido.tree.workspace import DERIVATIVES

Array = NDArray[np.float64]


class SECOND(Struct):
    tree, data, work = reference(TREE), reference(DATA), reference(DERIVATIVES)
    direction = floats("dofs", doc="velocities along which positions change: derivatives alone")
    u = floats("dofs", doc="velocities")
    udot = floats("dofs", doc="accelerations")
    first = floats(3, "dofs", "dofs", doc="dtau/dq, dtau/du, M")


@kernel
def first_stage(address, unused_1, unused_2, unused_3):
    """First derivatives of inverse dynamics. Returns 0."""
    w = view(SECOND, address)
    t, d = w.tree, w.data
    for k in range(w.direction.shape[0]):
        d.u[k] = w.direction[k]
    advance(t, d, 0, t.parent.shape[0], 1.0)
    for k in range(w.direction.shape[0]):
        d.u[k], d.udot[k] = w.u[k], w.udot[k]
    move(t, d)
    derive_joint_forces(t, d, w.work, w.first)
    return 0


class InverseDynamicsHessian(NamedTuple):
    """Second derivatives of joint forces: [i, j, k] of force i by number j, then by number k; n coordinates.

    With weights, sums over i: [j, k]. By two accelerations, and by a velocity and an acceleration, they are zero.
    """

    dq_dq: Array
    dq_du: Array
    du_du: Array
    dq_dudot: Array

    __repr__ = brief


class ForwardDynamicsHessian(NamedTuple):
    """Second derivatives of accelerations: [i, j, k] of acceleration i by number j, then by number k.

    With weights, sums over i: [j, k]. By two forces, and by a velocity and a force, they are zero.
    """

    dq_dq: Array
    dq_du: Array
    du_du: Array
    dq_dtau: Array

    __repr__ = brief


class SecondDerivatives:
    """Second derivatives of a skeleton's dynamics without external forces, at any state.

    Args:
        skeleton: of rigid bodies.

    Raises:
        ModelError: it is none, or has soft or flexible bodies.

    Example:
        >>> second = kido.gradients.SecondDerivatives(robot)
        >>> H = second.inverse_dynamics(q, u, udot)
        >>> curvature = second.forward_dynamics(q, u, tau, weights=costates).dq_dq
    """

    def __init__(self, skeleton: Skeleton):
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"SecondDerivatives: expected a skeleton, got {skeleton!r}")
        soft = [x.name for x in (*skeleton.soft_bodies, *(j.child for j in skeleton.joints if j.has_modes))]
        if soft:
            raise ModelError(f"SecondDerivatives: skeleton {skeleton.name!r}: not with soft or flexible bodies: {soft}")
        self.skeleton = skeleton
        self._own: Any = None

    def _compiled(self) -> Any:
        """The structs that sweeps work on, made anew where the skeleton was edited."""
        state = self.skeleton.current_state
        state.compiled()
        tree = state.tree
        if self._own is None or self._own.tree is not tree:
            self._own = SECOND(dofs=len(tree.body_of_dof))
            self._own.tree, self._own.data, self._own.work = tree, data_for(tree), derivatives_workspace(tree)
            self._structs = DualStructs()
            self._made: Any = self._structs.of(self._own)
        return self._own

    def inverse_dynamics(
        self, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike, weights: ArrayLike | None = None
    ) -> InverseDynamicsHessian:
        """Of T = ID(q, u, udot); `weights` (n,): of sums over forces.

        Raises:
            StateError: numbers of the wrong size or not finite.
        """
        what = f"skeleton {self.skeleton.name!r}: SecondDerivatives.inverse_dynamics"
        given = ("positions", positions), ("velocities", velocities), ("accelerations", accelerations)
        q, u, a = self._state(what, *given)
        return InverseDynamicsHessian(*_weighted(self._forces(q, u, a), self._weights(what, weights)))

    def forward_dynamics(
        self, positions: ArrayLike, velocities: ArrayLike, forces: ArrayLike, weights: ArrayLike | None = None
    ) -> ForwardDynamicsHessian:
        """Of udot = FD(q, u, T); `weights` (n,): of sums over accelerations.

        Raises:
            StateError: numbers of the wrong size or not finite.
            ModelError: the inertia seen by a coordinate is not positive.
        """
        what = f"skeleton {self.skeleton.name!r}: SecondDerivatives.forward_dynamics"
        q, u, tau = self._state(what, ("positions", positions), ("velocities", velocities), ("forces", forces))
        weighting = self._weights(what, weights)
        by_q, by_u, inverse = self.skeleton.forward_dynamics_derivatives(q, u, tau)
        qq, qu, uu, dM = self._forces(q, u, self.skeleton.forward_dynamics(q, u, tau))
        # weights first where there are any: -w^T M^-1 of everything
        left = -inverse if weighting is None else -(weighting @ inverse)[None]
        qq, qu, uu, dM = (np.tensordot(left, x, (1, 0)) for x in (qq, qu, uu, dM))  # dM: [i, position, acceleration]
        mixed = dM @ by_q
        made = qq + mixed + mixed.transpose(0, 2, 1), qu + dM @ by_u, uu, dM @ inverse
        return ForwardDynamicsHessian(*(made if weighting is None else (x[0] for x in made)))

    def _forces(self, q: Array, u: Array, a: Array) -> tuple[Array, Array, Array, Array]:
        """All second derivatives of inverse dynamics, as `InverseDynamicsHessian` has them."""
        own, n = self._compiled(), len(q)
        own.data.q[:], own.u[:], own.udot[:] = q, u, a
        by = np.zeros((2, 3, n, n, n))
        for kind, name in enumerate(("direction", "u")):
            for first in range(0, n, DIRECTIONS):
                count = min(DIRECTIONS, n - first)
                self._structs.fill()
                seeds = getattr(self._made, name)
                for lane in range(count):
                    seeds[first + lane, 1 + lane] = 1.0
                dual_callback(first_stage)(self._made.address, 0, 0, 0)
                by[kind, ..., first : first + count] = self._made.first[..., 1 : 1 + count]
        return by[0, 0], by[1, 0], by[1, 1], by[0, 2].transpose(0, 2, 1)

    def _state(self, what: str, *given: tuple[str, ArrayLike]) -> list[Array]:
        return [numbers_of(x, self.skeleton.num_dofs, f"{what}: {name}") for name, x in given]

    def _weights(self, what: str, weights: ArrayLike | None) -> Array | None:
        return None if weights is None else numbers_of(weights, self.skeleton.num_dofs, f"{what}: weights")


def _weighted(found: tuple[Array, ...], weights: Array | None) -> tuple[Array, ...]:
    return found if weights is None else tuple(np.tensordot(weights, x, (0, 0)) for x in found)
