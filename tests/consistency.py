"""What the quantities of a skeleton must agree on, whatever the skeleton is."""

from __future__ import annotations

from functools import partial

import numpy as np

import kido

BY_DIFFERENCES = ("Mdot: differences", "dID/dq", "dID/du", "dg/dq")
STEP = 1e-6  # of central differences: truncation 1e-12 and rounding 1e-10, times second derivatives


def random_state(skeleton: kido.Skeleton, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(-1.0, 1.0, skeleton.num_dofs) for _ in range(4))


def _error(value, expected, scale=None) -> float:
    value, expected = np.asarray(value, float), np.asarray(expected, float)
    assert value.shape == expected.shape, (value.shape, expected.shape)
    if value.size == 0:
        return 0.0
    if not np.isfinite(value).all() or not np.isfinite(expected).all():
        return np.inf
    size = np.abs(expected).max() if scale is None else scale
    return float(np.abs(value - expected).max() / (size or 1.0))


def errors(s: kido.Skeleton, seed: int = 0) -> dict[str, float]:
    """Relative errors of identities at a random state, which the skeleton is left with."""
    q, u, a, tau = random_state(s, seed)
    s.positions, s.velocities, s.accelerations, s.forces = q, u, a, tau
    n, out = s.num_dofs, {}
    M, C = s.mass_matrix, s.coriolis_matrix
    scale = max(float(np.abs(M).max(initial=0.0)), 1e-300)
    out["M: given state"] = _error(kido.quantities.mass_matrix(s, q), M)
    out["M: symmetric"] = _error(M, M.T)
    out["M: kinetic energy"] = _error(0.5 * u @ M @ u, s.kinetic_energy)
    bias = s.coriolis_and_gravity_forces
    T = s.inverse_dynamics(q, u, a)
    load = max(float(np.abs(M @ a).max(initial=0.0)), float(np.abs(bias).max(initial=0.0)), 1e-300)
    out["ID = M a + bias"] = _error(T, M @ a + bias, load)
    out["C u"] = _error(C @ u, s.coriolis_forces, load)
    out["bias = C u + g"] = _error(bias, s.coriolis_forces + s.gravity_forces, load)
    out["Mdot"] = _error(C + C.T, s.mass_matrix_derivative)

    def along(f, v, step=STEP):
        return (f(s.integrate_positions(q, step * v)) - f(s.integrate_positions(q, -step * v))) / (2 * step)

    out["Mdot: differences"] = _error(
        C + C.T, along(partial(kido.quantities.mass_matrix, s), u), max(scale, np.abs(C).max(initial=0.0))
    )
    armature = np.array([dof.armature for dof in s.dofs])
    out["regressor"] = _error(s.inverse_dynamics_regressor() @ s.inertial_parameters() + armature * a, T, load)
    Minv, L, (F, D) = s.inverse_mass_matrix, s.cholesky_factor, s.mass_matrix_factors
    condition = np.linalg.cond(M) if n else 1.0
    out["M Minv"] = _error(M @ Minv, np.eye(n)) / condition
    out["L L^T"] = _error(L @ L.T, M)
    out["F D F^T"] = _error((F * D) @ F.T, M)
    out["FD(ID)"] = _error(s.forward_dynamics(q, u, T), a) / condition
    out["ID: held"] = _held_inverse(s, T, load)
    f = float(np.abs(T).max(initial=0.0))
    d = s.inverse_dynamics_derivatives(q, u, a)
    rng = np.random.default_rng(seed + 1)
    v = rng.uniform(-1, 1, n)
    out["dID/dq"] = _error(
        d.dq @ v, along(lambda x: s.inverse_dynamics(x, u, a), v), max(f, np.abs(d.dq).max(initial=0))
    )
    numbers = (s.inverse_dynamics(q, u + STEP * v, a) - s.inverse_dynamics(q, u - STEP * v, a)) / (2 * STEP)
    out["dID/du"] = _error(d.du @ v, numbers, max(f, np.abs(d.du).max(initial=0)))
    out["dID/dudot"] = _error(d.dudot, M)
    e = s.forward_dynamics_derivatives(q, u, T)
    out["dFD/dtau"] = _error(e.dtau, Minv) / condition
    out["dFD/dq"] = _error(e.dq, -Minv @ d.dq) / condition
    out["dFD/du"] = _error(e.du, -Minv @ d.du) / condition
    g = kido.quantities.gravity_forces_derivative(s, q)
    out["dg/dq"] = _error(g @ v, along(partial(kido.quantities.gravity_forces, s), v), max(f, np.abs(g).max(initial=0)))
    if s.mass > 0:
        out["com"] = _error(s.com_jacobian() @ u, s.com_velocity()[-3:], max(1.0, np.abs(s.com_velocity()).max()))
        h = s.centroidal_momentum
        out["Ag u"] = _error(s.centroidal_momentum_matrix @ u, h, max(np.abs(h).max(), scale * 1e-3))
    X = s.forward_kinematics(q)
    for body in s.bodies[:: max(1, s.num_bodies // 8)]:
        J = s.jacobian(body)
        V = body.spatial_velocity
        speed = max(1.0, float(np.abs(V).max()))
        out[f"J u of {body.name}"] = _error(J @ u, V, speed)
        out[f"J of {body.name}"] = _error(kido.quantities.jacobian(s, q, body), J)
        out[f"pose of {body.name}"] = _error(X[body.index], body.world_transform)
        dJ = s.jacobian_classic_derivative(body)
        A = np.concatenate([body.spatial_acceleration[:3], body.linear_acceleration()])
        out[f"A of {body.name}"] = _error(J @ a + dJ @ u, A, max(speed**2, float(np.abs(A).max())))
        H = s.jacobian_hessian(body)
        out[f"H u of {body.name}"] = _error(H @ u, dJ, max(1.0, float(np.abs(dJ).max(initial=0.0))))
    twin = s.clone()
    out["clone"] = float(not (np.array_equal(twin.mass_matrix, M) and np.array_equal(twin.positions, q)))
    return out


def _held_inverse(s: kido.Skeleton, T: np.ndarray, load: float) -> float:
    held = s.forces
    s.compute_inverse_dynamics(with_external_forces=False)
    result = _error(s.forces, T, load)
    s.forces = held
    return result
