"""First derivatives of points' motion, of Jacobians and of momenta, analytic.

See `kido.quantities.derivatives` for what derivatives are with respect to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kido.kernels import derivative_entries as entries
from kido.math.transform import as_flag
from kido.quantities.failures import massless
from kido.quantities.quantity import ACCELERATIONS, POINT_ALONE, POSITIONS, VELOCITIES, fused
from kido.reprs import brief

Array = NDArray[np.float64]
new = tuple.__new__  # of a named tuple: in a third of the time that its own constructor takes
WORK = "work = w.derivation or state.derivation()"
_NODE = """

Args:
    node: a body, its name or its index, or a frame fixed to a body.
    offset: the point, from the node's origin in its axes [m].
"""
_ERRORS = """
Raises:
    ModelError: a node of another skeleton, or no node; an offset that is not three finite numbers.
"""


class VelocityDerivatives(NamedTuple):
    """Derivatives of a point's [angular; linear] velocity, each (6, dofs); du is its Jacobian."""

    dq: Array
    du: Array

    __repr__ = brief


class AccelerationDerivatives(NamedTuple):
    """Derivatives of a point's [angular; linear] acceleration, each (6, dofs); dudot is its Jacobian."""

    dq: Array
    du: Array
    dudot: Array

    __repr__ = brief


class CentroidalDerivatives(NamedTuple):
    """Derivatives of the momentum about the centre of mass, [angular; linear], and of its rate, each (6, dofs).

    `rate_dudot` is the centroidal momentum matrix, the derivative of the momentum with respect to velocities.
    """

    momentum_dq: Array
    rate_dq: Array
    rate_du: Array
    rate_dudot: Array

    __repr__ = brief


def classic(spatial: bool, name: str) -> int:
    """1 unless `spatial`, which must be a flag."""
    if spatial is True:
        return 0
    return 1 if spatial is False else int(not as_flag(spatial, f"skeleton {name!r}: spatial"))


velocity_derivatives = fused(
    "velocity_derivatives", entries.velocity_derivatives, VELOCITIES, (2, 6, "dofs"),
    "Derivatives of the velocity [w; v] of a point of a node, world axes." + _NODE + """
Returns:
    dV/dq along velocities, of a point that moves with the node, and dV/du, its Jacobian. Pinocchio's
    getFrameVelocityDerivatives with LOCAL_WORLD_ALIGNED has the same du; its dq is at a point held at rest:
    this one less [0; w x J_v].
""" + _ERRORS,
    of=POINT_ALONE, prepare=WORK, first="work, chosen, x, y, z", zeros=True,
    finish="out = new(VelocityDerivatives, (out[0], out[1]))",
    scope={"new": new, "VelocityDerivatives": VelocityDerivatives}, result="VelocityDerivatives",
)  # fmt: skip
acceleration_derivatives = fused(
    "acceleration_derivatives", entries.acceleration_derivatives, ACCELERATIONS, (3, 6, "dofs"),
    "Derivatives of the acceleration [wdot; a] of a point of a node, world axes."
    + _NODE
    + """    spatial: a is the point's own (classic) acceleration, or if True Featherstone's, which is less w x v.

Returns:
    dA/dq along velocities, of a point that moves with the node, dA/du, and dA/dudot, its Jacobian.
""" + _ERRORS,
    of=POINT_ALONE.about("node, offset=ORIGIN, spatial=False", "place, spatial"),
    prepare=WORK + "\nkind = classic(spatial, of.name)", first="work, chosen, x, y, z, kind", zeros=True,
    finish="out = new(AccelerationDerivatives, (out[0], out[1], out[2]))",
    scope={"new": new, "AccelerationDerivatives": AccelerationDerivatives, "classic": classic},
    result="AccelerationDerivatives",
)  # fmt: skip
jacobian_hessian = fused(
    "jacobian_hessian", entries.jacobian_hessian, POSITIONS, (6, "dofs", "dofs"),
    """H of a point of a node: H[:, k, j] = dJ[:, k] / dq_j, world axes.

J is the point's [angular; linear] Jacobian in world axes, and moves with the node. Then dJ/dt = H u. Along
coordinates of ball and free joints, whose moves do not commute, H[:, k, j] and H[:, j, k] differ also in
the linear rows. Pinocchio's getJointKinematicHessian with LOCAL_WORLD_ALIGNED has these numbers.""" + _NODE + _ERRORS,
    of=POINT_ALONE, prepare=WORK, first="work, chosen, x, y, z", zeros=True,
)  # fmt: skip
centroidal_momentum_derivatives = fused(
    "centroidal_momentum_derivatives", entries.centroidal_momentum_derivatives, ACCELERATIONS, (4, 6, "dofs"),
    """Derivatives of the momentum h about the centre of mass, world axes, and of its rate.

hdot = A udot + Adot u is what motion needs of outer forces, gravity included; it is no result of them.
The same quantities as Pinocchio's computeCentroidalDynamicsDerivatives, [angular; linear].

Returns:
    dh/dq, dhdot/dq along velocities, dhdot/du and dhdot/dudot = dh/du = A.

Raises:
    ModelError: the skeleton has no mass.
""",
    prepare=WORK, first="work", fail=massless,
    finish="out = new(CentroidalDerivatives, (out[0], out[1], out[2], out[3]))",
    scope={"new": new, "CentroidalDerivatives": CentroidalDerivatives}, result="CentroidalDerivatives",
    skins="held",
)  # fmt: skip
