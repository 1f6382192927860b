"""Quantities of skeletons with flexible bodies, by name: what `Deformed` answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.flexible import by_body, entries, momenta, regressors
from kido.flexible.columns import cross_columns, in_axes_of, skew
from kido.flexible.deformed import Deformed
from kido.flexible.differentials import forces_stage, mass_stage, motion_stage
from kido.joints import JointKind
from kido.math.transform import as_flag
from kido.quantities import TABLE
from kido.quantities.motion_derivatives import AccelerationDerivatives, VelocityDerivatives
from kido.quantities.operational_space import damping_of, pseudo_inverse, row_range, wrenches_of
from kido.skeleton.frames.frame import ORIGIN

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Route:
    """How a quantity is computed.

    Attributes:
        function: of a `Deformed`, and of arguments by name.
        sums: whether it is a sum over bodies, so that of given `bodies` it is that of a `Deformed` of these.
    """

    function: Callable[..., Any]
    sums: bool = False


def _first(of: Deformed, entry: Any) -> float:
    out = np.empty(1)
    of._call(entry, out)
    return float(out[0])


# Kinematics --------------------------------------------------------------------------------------------------


def jacobian(of: Deformed, node: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None) -> Array:
    return in_axes_of(of, of.jacobian(node, offset), in_coordinates_of)


def _rate(of: Deformed, node: Any, offset: Any) -> Array:
    return of.along(motion_stage, ("rows",), dq=of.u[:, None], place=of.place(node, offset))[0][..., 0]


def jacobian_classic_derivative(of: Deformed, node: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None) -> Array:
    return in_axes_of(of, _rate(of, node, offset), in_coordinates_of)


def jacobian_spatial_derivative(of: Deformed, node: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None) -> Array:
    J, dJ = of.jacobian(node, offset), _rate(of, node, offset)
    dJ[3:] += cross_columns(J[3:] @ of.u, J[:3])
    return in_axes_of(of, dJ, in_coordinates_of)


def jacobian_hessian(of: Deformed, node: Any, offset: Any = ORIGIN) -> Array:
    return of.along(motion_stage, ("rows",), dq=np.eye(len(of.u)), place=of.place(node, offset))[0]


def world_transform_derivatives(of: Deformed, node: Any) -> Array:
    J, X = of.jacobian(node), of.state.world_transform(node)
    out = np.zeros((J.shape[1], 4, 4))
    out[:, :3, :3] = np.moveaxis(skew(J[:3]), -1, 0) @ X[:3, :3]
    out[:, :3, 3] = J[3:].T
    return out


def _relative(of: Deformed, node: Any, relative_to: Any, offset: Any) -> tuple[Array, Array, Array, Array]:
    J, K = of.jacobian(node, offset), of.jacobian(relative_to)
    motion, other = (of.point_motion(n, o, 0.0 * of.u) for n, o in ((node, offset), (relative_to, ORIGIN)))
    link, place = of.place(node, offset)
    d = of.state.data
    X = of.state.world_transform(relative_to)
    r = d.R[link].reshape(3, 3) @ place + d.p[link] - X[:3, 3]
    made = J - K
    made[3:] += cross_columns(r, K[:3])
    return made, K, r, motion[3:6] - other[3:6]


def relative_jacobian(
    of: Deformed, node: Any, relative_to: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None
) -> Array:
    return in_axes_of(of, _relative(of, node, relative_to, offset)[0], in_coordinates_of)


def relative_jacobian_derivative(
    of: Deformed, node: Any, relative_to: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None
) -> Array:
    made, K, r, v = _relative(of, node, relative_to, offset)
    rate = _rate(of, relative_to, ORIGIN)
    dJ = _rate(of, node, offset) - rate
    dJ[3:] += cross_columns(v, K[:3]) + cross_columns(r, rate[:3])
    w = K[:3] @ of.u  # the observer turns
    dJ[:3] -= cross_columns(w, made[:3])
    dJ[3:] -= cross_columns(w, made[3:])
    return in_axes_of(of, dJ, in_coordinates_of)


def velocity_derivatives(of: Deformed, node: Any, offset: Any = ORIGIN) -> VelocityDerivatives:
    (dq,) = of.along(motion_stage, ("point",), dq=np.eye(len(of.u)), place=of.place(node, offset))
    return VelocityDerivatives(dq[:6], of.jacobian(node, offset))


def acceleration_derivatives(
    of: Deformed, node: Any, offset: Any = ORIGIN, spatial: bool = False
) -> AccelerationDerivatives:
    place, one = of.place(node, offset), np.eye(len(of.u))
    (dq,), (du,) = (of.along(motion_stage, ("point",), place=place, **{key: one}) for key in ("dq", "du"))
    if as_flag(spatial, f"skeleton {of.state.name!r}: spatial"):
        x = of.point_motion(node, offset, of.udot)
        for D in (dq, du):
            D[9:] -= cross_columns(x[:3], D[3:6]) - cross_columns(x[3:6], D[:3])
    return AccelerationDerivatives(dq[6:], du[6:], of.jacobian(node, offset))


# Dynamics ----------------------------------------------------------------------------------------------------


def inverse_dynamics_derivatives(of: Deformed) -> Array:
    one = np.eye(len(of.u))
    (dq,), (du,) = of.along(forces_stage, ("tau",), dq=one), of.along(forces_stage, ("tau",), du=one)
    return np.array([dq, du, of.square(entries.mass_matrix)])


def forward_dynamics_derivatives(of: Deformed) -> Array:
    kept = of.udot.copy()
    of.udot[:] = of.accelerations(of.state.data.tau)
    try:
        D = inverse_dynamics_derivatives(of)
    finally:
        of.udot[:] = kept
    D[2] = of.square(entries.inverse_mass_matrix)
    D[:2] = -D[2] @ D[:2]
    return D


def coriolis_matrix(of: Deformed) -> Array:
    """C by the connection of the metric M, with derivatives X_k along velocities and brackets of these:

    2 C_ij = (X_u M_ij + X_j M_ik u_k - X_i M_jk u_k) + M_i [u, e_j] - M_j [u, e_i] + (M u) . [e_i, e_j].

    Rotors turn about axes that stand still to their coordinates: they have no part in the brackets.
    """
    (D,) = of.along(mass_stage, ("matrix",), dq=np.eye(len(of.u)))
    M = of.square(entries.mass_matrix) - np.diag(of.armature)
    # Algebras of ball and free joints: [e_i, e_j] = B[i, j].
    B = _brackets(of)
    A = M @ np.einsum("k,kjl->lj", of.u, B)
    G = np.einsum("ikj,k->ij", D, of.u)
    return 0.5 * (D @ of.u + G - G.T + A - A.T + B @ (M @ of.u))


def _brackets(of: Deformed) -> Array:
    """(dofs, dofs, dofs): [e_i, e_j] of unit velocities, in velocities."""
    n, t = len(of.u), of.state.tree
    out = np.zeros((n, n, n))
    epsilon = skew(np.eye(3)).transpose(2, 1, 0)  # [e_i, e_j] = e_i x e_j
    for i, kind in enumerate(t.kind):
        w = slice(int(t.first_dof[i]), int(t.first_dof[i]) + 3)
        if kind in (JointKind.BALL, JointKind.FREE):
            out[w, w, w] = epsilon
        if kind == JointKind.FREE:
            v = slice(w.stop, w.stop + 3)
            out[w, v, v] = epsilon
            out[v, w, v] = -epsilon.swapaxes(0, 1)
    return out


def _at_rest(of: Deformed, u: Array) -> Array:
    """Derivatives of inverse dynamics without accelerations and loads, at velocities."""
    made = of.state.at(of.q, u, np.zeros(len(u)))
    return made.deformed.answer("inverse_dynamics_derivatives", {})


def bias_forces_derivatives(of: Deformed) -> tuple[Array, Array]:
    D = _at_rest(of, of.u.copy())
    return D[0], D[1]


def mass_matrix_derivative(of: Deformed) -> Array:
    return of.along(mass_stage, ("matrix",), dq=of.u[:, None])[0][..., 0]


def _cholesky(of: Deformed, order: int = 1) -> Array:
    _first(of, entries.log_determinant)  # refuses what is not positive, by name
    return np.asarray(np.linalg.cholesky(of.square(entries.mass_matrix)[::order, ::order]), dtype=float)


def mass_matrix_factors(of: Deformed) -> tuple[Array, Array]:
    """By eliminating the last coordinate first, as sweeps do, so that F is as sparse as M."""
    L = _cholesky(of, -1)[::-1, ::-1]
    root = np.diag(L).copy()
    return L / root, root * root


def log_det_mass_matrix_gradient(of: Deformed, prescribed: Any = None) -> Array:
    log_det_mass_matrix(of, prescribed)  # refuses what is not positive, by name
    free = np.ones(len(of.u), bool)
    if prescribed is not None:
        free[of.state.dof_indices(prescribed)] = False
    (dM,) = of.along(mass_stage, ("matrix",), dq=np.eye(len(of.u)))
    inverse = np.linalg.inv(of.square(entries.mass_matrix)[np.ix_(free, free)])
    return np.einsum("ij,jik->k", inverse, dM[np.ix_(free, free)])


def log_det_mass_matrix(of: Deformed, prescribed: Any = None) -> float:
    with of.holding(of.state.flags(prescribed)):
        return _first(of, entries.log_determinant)


def inverse_augmented_mass_matrix(of: Deformed, time_step: Any) -> Array:
    return np.linalg.inv(of.state.augmented_mass_matrix(time_step))


def external_forces(of: Deformed) -> Array:
    rest = np.zeros(len(of.q))
    return of.forces(rest, rest, loaded=False) - of.forces(rest, rest)


# Operational space -------------------------------------------------------------------------------------------


def _jacobians(of: Deformed, nodes: Any, offsets: Any, rows: str = "all") -> Array:
    listed = of.state.listed(nodes)
    first, count = row_range(of.state, rows)
    points = [ORIGIN] * len(listed) if offsets is None else list(of.state.offsets(offsets, len(listed)))
    J = [of.jacobian(node, point)[first : first + count] for node, point in zip(listed, points, strict=True)]
    return np.concatenate(J) if J else np.zeros((0, len(of.u)))


def _both(of: Deformed, nodes: Any, offsets: Any, rows: str, prescribed: Any) -> tuple[Array, Array]:
    """J and (M^-1 J^T)^T, (rows, dofs), those of prescribed coordinates zero in the second."""
    J = _jacobians(of, nodes, offsets, rows)
    return J, of.responses(J, of.state.flags(prescribed))


def node_responses(of: Deformed, nodes: Any, offsets: Any = None, rows: str = "all", prescribed: Any = None) -> Array:
    return _both(of, nodes, offsets, rows, prescribed)[1].T.copy()


def operational_space_compliance(
    of: Deformed, nodes: Any, offsets: Any = None, rows: str = "all", prescribed: Any = None
) -> Array:
    J, Y = _both(of, nodes, offsets, rows, prescribed)
    A = J @ Y.T
    return 0.5 * (A + A.T)


def operational_space_inertia(
    of: Deformed, nodes: Any, offsets: Any = None, rows: str = "all", damping: Any = 0.0, prescribed: Any = None
) -> Array:
    A = operational_space_compliance(of, nodes, offsets, rows, prescribed)
    return pseudo_inverse(A + damping_of(of.state, damping) * np.eye(len(A)))


def dynamically_consistent_inverse(
    of: Deformed, nodes: Any, offsets: Any = None, rows: str = "all", damping: Any = 0.0, prescribed: Any = None
) -> Array:
    Y = node_responses(of, nodes, offsets, rows, prescribed)
    return Y @ operational_space_inertia(of, nodes, offsets, rows, damping, prescribed)


def node_accelerations(
    of: Deformed, nodes: Any, offsets: Any = None, rows: str = "all", prescribed: Any = None,
    free: bool = False, udot: Any = None,
) -> Array:  # fmt: skip
    """As `kido.quantities.operational_space.node_accelerations`."""
    first, count = row_range(of.state, rows)
    listed = of.state.listed(nodes)
    points = [ORIGIN] * len(listed) if offsets is None else list(of.state.offsets(offsets, len(listed)))
    given = np.zeros(len(of.u)) if udot is None else np.asarray(udot, float)
    if free:
        given = of.accelerations(np.zeros(len(of.u)), False, of.state.flags(prescribed), given)
    found = [of.point_motion(node, point, given)[6:] for node, point in zip(listed, points, strict=True)]
    return np.array(found).reshape(-1, 6)[:, first : first + count].reshape(-1)


def operational_space_bias(
    of: Deformed, nodes: Any, offsets: Any = None, rows: str = "all", damping: Any = 0.0, prescribed: Any = None
) -> Array:
    inertia = operational_space_inertia(of, nodes, offsets, rows, damping, prescribed)
    return -inertia @ node_accelerations(of, nodes, offsets, rows, prescribed, free=True)


def joint_forces_of_wrenches(of: Deformed, nodes: Any, wrenches: Any, offsets: Any = None) -> Array:
    J = _jacobians(of, nodes, offsets)
    return J.T @ wrenches_of(of.state, wrenches, len(J) // 6).reshape(-1)


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    acceleration_derivatives, bias_forces_derivatives, dynamically_consistent_inverse,
    external_forces, forward_dynamics_derivatives, inverse_augmented_mass_matrix, inverse_dynamics_derivatives,
    jacobian, jacobian_classic_derivative, jacobian_hessian, jacobian_spatial_derivative, joint_forces_of_wrenches,
    log_det_mass_matrix, log_det_mass_matrix_gradient, mass_matrix_derivative, mass_matrix_factors, node_accelerations,
    node_responses, operational_space_bias, operational_space_compliance, operational_space_inertia,
    relative_jacobian, relative_jacobian_derivative, velocity_derivatives, world_transform_derivatives,
    momenta.centroidal_momentum_derivatives,
    by_body.articulated_inertias, by_body.composite_inertias, by_body.composite_momenta,
    by_body.diagonalized_velocities, by_body.reaction_wrenches, by_body.velocities_of_diagonalized,
)  # fmt: skip
_SUMS: tuple[Callable[..., Any], ...] = (
    coriolis_matrix, momenta.centroidal_inertia, momenta.centroidal_momentum, momenta.centroidal_momentum_matrix,
    momenta.centroidal_momentum_matrix_derivative, momenta.com, momenta.com_acceleration, momenta.com_jacobian,
    momenta.com_jacobian_derivative, momenta.com_velocity, momenta.momentum_about,
)  # fmt: skip
ROUTES: dict[str, Route] = {
    **{function.__name__: Route(function) for function in _FUNCTIONS},
    **{function.__name__: Route(function, sums=True) for function in _SUMS},
    "inverse_dynamics_regressor": Route(regressors.of_torques),
    "energy_regressors": Route(regressors.of_energies),
    "mass_matrix": Route(lambda of: of.square(entries.mass_matrix), sums=True),
    "inverse_mass_matrix": Route(lambda of: of.square(entries.inverse_mass_matrix)),
    "cholesky_factor": Route(_cholesky),
    "coriolis_forces": Route(lambda of: of.bias(of.u, gravity=False), sums=True),
    "gravity_forces": Route(lambda of: of.bias(np.zeros(len(of.u))), sums=True),
    "coriolis_and_gravity_forces": Route(lambda of: of.bias(of.u), sums=True),
    "gravity_forces_derivative": Route(lambda of: _at_rest(of, np.zeros(len(of.u)))[0]),
    "operational_space_velocity_product": Route(node_accelerations),
    "kinetic_energy": Route(lambda of: float(of.sums()[0]), sums=True),
    "potential_energy": Route(lambda of: float(of.sums()[1]), sums=True),
    "forward_kinematics": Route(lambda of: TABLE["world_transforms"].current(of.state)),
    "inverse_dynamics": Route(lambda of: of.forces(of.u, of.udot, loaded=False)),
    "forward_dynamics": Route(lambda of: of.accelerations(of.state.data.tau, loaded=False)),
    "hybrid_dynamics": Route(lambda of, values, flags: of.hybrid(values, flags)),
}
