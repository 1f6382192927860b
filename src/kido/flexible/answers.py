"""Quantities of skeletons with flexible bodies, by name: what `Deformed` answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.flexible import by_body, entries, regressors
from kido.flexible.deformed import Deformed
from kido.flexible.differentials import forces_stage, mass_stage, momentum_stage, motion_stage
from kido.math.transform import as_flag
from kido.quantities import TABLE
from kido.quantities.motion_derivatives import AccelerationDerivatives, CentroidalDerivatives, VelocityDerivatives
from kido.quantities.operational_space import damping_of, pseudo_inverse, row_range, wrenches_of
from kido.skeleton.frames.frame import ORIGIN
from kido.skeleton.state.selections import turned

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Route:
    """How a quantity is computed.

    Attributes:
        function: of a `Deformed`, and of arguments by name.
        knows: which of `bodies`, `relative_to`, `with_respect_to` it takes.
    """

    function: Callable[..., Any]
    knows: tuple[str, ...] = ()


def skew(w: Array) -> Array:
    """[w x] of vectors (3, ...), as (3, 3, ...)."""
    zero = np.zeros_like(w[0])
    return np.array([[zero, -w[2], w[1]], [w[2], zero, -w[0]], [-w[1], w[0], zero]])


def _cross(a: Array, B: Array) -> Array:
    """a x columns of B (3, n), or columns of both."""
    return np.cross(a if a.ndim > 1 else a[:, None], B, axis=0)


def _first(of: Deformed, entry: Any) -> float:
    out = np.empty(1)
    of._call(entry, out)
    return float(out[0])


def _seen(of: Deformed, J: Array, frame: Any) -> Array:
    return J if frame is None else turned(J, of.state.axes_of(frame))


# Kinematics --------------------------------------------------------------------------------------------------


def jacobian(of: Deformed, node: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None) -> Array:
    return _seen(of, of.jacobian(node, offset), in_coordinates_of)


def _rate(of: Deformed, node: Any, offset: Any) -> Array:
    return of.along(motion_stage, ("rows",), dq=of.u[:, None], place=of.place(node, offset))[0][..., 0]


def jacobian_classic_derivative(of: Deformed, node: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None) -> Array:
    return _seen(of, _rate(of, node, offset), in_coordinates_of)


def jacobian_spatial_derivative(of: Deformed, node: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None) -> Array:
    J, dJ = of.jacobian(node, offset), _rate(of, node, offset)
    dJ[3:] += _cross(J[3:] @ of.u, J[:3])
    return _seen(of, dJ, in_coordinates_of)


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
    made[3:] += _cross(r, K[:3])
    return made, K, r, motion[3:6] - other[3:6]


def relative_jacobian(
    of: Deformed, node: Any, relative_to: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None
) -> Array:
    return _seen(of, _relative(of, node, relative_to, offset)[0], in_coordinates_of)


def relative_jacobian_derivative(
    of: Deformed, node: Any, relative_to: Any, offset: Any = ORIGIN, in_coordinates_of: Any = None
) -> Array:
    made, K, r, v = _relative(of, node, relative_to, offset)
    rate = _rate(of, relative_to, ORIGIN)
    dJ = _rate(of, node, offset) - rate
    dJ[3:] += _cross(v, K[:3]) + _cross(r, rate[:3])
    w = K[:3] @ of.u  # the observer turns
    dJ[:3] -= _cross(w, made[:3])
    dJ[3:] -= _cross(w, made[3:])
    return _seen(of, dJ, in_coordinates_of)


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
            D[9:] -= _cross(x[:3], D[3:6]) - _cross(x[3:6], D[:3])
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


def _at_rest(of: Deformed, u: Array) -> Array:
    """Derivatives of inverse dynamics without accelerations and loads, at velocities."""
    made = of.state.at(of.q, u, np.zeros(len(u)))
    return made.deformed.answer("inverse_dynamics_derivatives", {})


def bias_forces_derivatives(of: Deformed) -> tuple[Array, Array]:
    D = _at_rest(of, of.u.copy())
    return D[0], D[1]


def mass_matrix_derivative(of: Deformed) -> Array:
    return of.along(mass_stage, ("matrix",), dq=of.u[:, None])[0][..., 0]


def _cholesky(of: Deformed) -> Array:
    _first(of, entries.log_determinant)  # refuses what is not positive, by name
    return np.asarray(np.linalg.cholesky(of.square(entries.mass_matrix)), dtype=float)


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


# Momentum ----------------------------------------------------------------------------------------------------


def _about_com(of: Deformed) -> tuple[Array, Array, float, Array, Array]:
    """Momentum matrix about the world's origin, its rate, the mass, centre of mass and its velocity."""
    rows, x = np.empty((6, len(of.u))), of.sums()
    of._call(entries.momentum_matrix, rows)
    return rows, x[:8], float(x[11]), x[8:11] / x[11], x[5:8] / x[11]


def momentum_about(of: Deformed, about: Any) -> Array:
    x = of.sums()
    return np.append(x[2:5] - np.cross(of.state.point_of_world(about), x[5:8]), x[5:8])


def centroidal_momentum(of: Deformed) -> Array:
    x = of.sums()
    return momentum_about(of, x[8:11] / x[11])


def com_jacobian(of: Deformed, in_coordinates_of: Any = None) -> Array:
    rows, _, mass, _, _ = _about_com(of)
    return _seen(of, rows[3:] / mass, in_coordinates_of)


def com_jacobian_derivative(of: Deformed, in_coordinates_of: Any = None) -> Array:
    (rate,) = of.along(momentum_stage, ("rows",), dq=of.u[:, None])
    return _seen(of, rate[3:, :, 0] / of.sums()[11], in_coordinates_of)


def centroidal_momentum_matrix(of: Deformed) -> Array:
    rows, _, _, com, _ = _about_com(of)
    rows[:3] -= _cross(com, rows[3:])
    return rows


def centroidal_momentum_matrix_derivative(of: Deformed) -> Array:
    rows, _, _, com, v = _about_com(of)
    rate = of.along(momentum_stage, ("rows",), dq=of.u[:, None])[0][..., 0]
    rate[:3] -= _cross(com, rate[3:]) + _cross(v, rows[3:])
    return rate


def com_acceleration(of: Deformed, in_coordinates_of: Any = None) -> Array:
    J, dJ = com_jacobian(of), com_jacobian_derivative(of)
    return _seen(of, (J @ of.udot + dJ @ of.u)[:, None], in_coordinates_of)[:, 0]


def com_velocity(of: Deformed, in_coordinates_of: Any = None) -> Array:
    x = of.sums()
    return _seen(of, (x[5:8] / x[11])[:, None], in_coordinates_of)[:, 0]


def centroidal_momentum_derivatives(of: Deformed) -> CentroidalDerivatives:
    made = of.state.at(of.q, of.u, of.udot)  # without loads
    inner = made.deformed
    inner.follow()
    one, x = np.eye(len(of.u)), of.sums()
    mass, com = float(x[11]), x[8:11] / x[11]
    dh, dc, dq = inner.along(forces_stage, ("momentum", "moment", "force"), dq=one)
    (du,) = inner.along(forces_stage, ("force",), du=one)
    dc = dc[:3] / mass
    h, f = x[5:8], _force_of_roots(of)
    dh[:3] -= _cross(com, dh[3:]) - _cross(h, dc)
    # hdot about the centre is what roots take about it: weight has no moment there.
    dq[:3] -= _cross(com, dq[3:]) - _cross(f, dc)
    du[:3] -= _cross(com, du[3:])
    return CentroidalDerivatives(dh, dq, du, centroidal_momentum_matrix(of))


def _force_of_roots(of: Deformed) -> Array:
    """Force that the motion takes of the outside, weight and all: m (a - g)."""
    m = of.sums()[11]
    return m * com_acceleration(of) - _weight(of)


def _weight(of: Deformed) -> Array:
    t = of.state.tree
    return (t.mass * t.gravity_factor) @ np.tile(t.gravity, (len(t.mass), 1))


def centroidal_inertia(of: Deformed) -> Array:
    w, t, c = of._work, of.state.tree, of.sums()
    c = c[8:11] / c[11]
    out = np.zeros((6, 6))
    for i, m in enumerate(t.mass):
        r, s = w.p[i] - c, w.mc[i]
        a = w.J[i]
        J = np.array([[a[0], a[1], a[2]], [a[1], a[3], a[4]], [a[2], a[4], a[5]]])
        out[:3, :3] += J + (m * (r @ r) + 2.0 * (r @ s)) * np.eye(3) - m * np.outer(r, r)
        out[:3, :3] -= np.outer(r, s) + np.outer(s, r)
        out[3:, 3:] += m * np.eye(3)
    return out


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
    acceleration_derivatives, bias_forces_derivatives, centroidal_inertia, centroidal_momentum,
    centroidal_momentum_derivatives, centroidal_momentum_matrix, centroidal_momentum_matrix_derivative,
    com_acceleration, com_jacobian, com_jacobian_derivative, com_velocity, dynamically_consistent_inverse,
    external_forces, forward_dynamics_derivatives, inverse_augmented_mass_matrix, inverse_dynamics_derivatives,
    jacobian, jacobian_classic_derivative, jacobian_hessian, jacobian_spatial_derivative, joint_forces_of_wrenches,
    log_det_mass_matrix, log_det_mass_matrix_gradient, mass_matrix_derivative, momentum_about, node_accelerations,
    node_responses, operational_space_bias, operational_space_compliance, operational_space_inertia,
    velocity_derivatives, world_transform_derivatives,
    by_body.articulated_inertias, by_body.composite_inertias, by_body.composite_momenta,
    by_body.diagonalized_velocities, by_body.reaction_wrenches, by_body.velocities_of_diagonalized,
)  # fmt: skip
ROUTES: dict[str, Route] = {
    **{function.__name__: Route(function) for function in _FUNCTIONS},
    "inverse_dynamics_regressor": Route(regressors.of_torques, ("bodies",)),
    "energy_regressors": Route(regressors.of_energies, ("bodies",)),
    "relative_jacobian": Route(relative_jacobian, ("relative_to",)),
    "relative_jacobian_derivative": Route(relative_jacobian_derivative, ("relative_to",)),
    "mass_matrix": Route(lambda of: of.square(entries.mass_matrix)),
    "inverse_mass_matrix": Route(lambda of: of.square(entries.inverse_mass_matrix)),
    "cholesky_factor": Route(_cholesky),
    "coriolis_forces": Route(lambda of: of.bias(of.u, gravity=False)),
    "gravity_forces": Route(lambda of: of.bias(np.zeros(len(of.u)))),
    "coriolis_and_gravity_forces": Route(lambda of: of.bias(of.u)),
    "gravity_forces_derivative": Route(lambda of: _at_rest(of, np.zeros(len(of.u)))[0]),
    "operational_space_velocity_product": Route(node_accelerations),
    "com": Route(lambda of: of.sums()[8:11] / of.sums()[11]),
    "kinetic_energy": Route(lambda of: float(of.sums()[0])),
    "potential_energy": Route(lambda of: float(of.sums()[1])),
    "forward_kinematics": Route(lambda of: TABLE["world_transforms"].current(of.state)),
    "inverse_dynamics": Route(lambda of: of.forces(of.u, of.udot, loaded=False)),
    "forward_dynamics": Route(lambda of: of.accelerations(of.state.data.tau, loaded=False)),
    "hybrid_dynamics": Route(lambda of, values, flags: of.hybrid(values, flags)),
}
