"""KIDO's calls: one with the state given, and set, compute, get."""

from __future__ import annotations

from functools import partial

from benchmarks.calls import Call, tip_of
from benchmarks.programs import Kido
from kido import quantities


def moving_bodies(skeleton) -> list:
    """The first body of every joint that moves: Pinocchio's regressor has columns for these."""
    return [joint.child for joint in skeleton.joints if joint.num_dofs > 0]


def stateless(kido: Kido) -> dict[str, Call]:
    """One call with the state given."""
    s = kido.skeleton
    body = s.body(tip_of(kido)[1])
    chosen = moving_bodies(s)
    q = [(x,) for x in kido.q]
    qu = list(zip(kido.q, kido.u, strict=True))
    qua = list(zip(kido.q, kido.u, kido.a, strict=True))
    qut = list(zip(kido.q, kido.u, kido.tau, strict=True))

    def bodies_of_joints(X, i):
        return X[[b.index for b in chosen]]

    def rates_of_acceleration(q, u, a):
        return quantities.acceleration_derivatives(s, q, u, a, body, spatial=True)

    def regressor(q, u, a):
        return quantities.inverse_dynamics_regressor(s, q, u, a, chosen)

    return {
        "FK": Call(s.forward_kinematics, q, bodies_of_joints),
        "pose of one body": Call(partial(quantities.world_transform, s), [(*given, body) for given in q]),
        "Jacobian": Call(partial(quantities.jacobian, s), [(*given, body) for given in q]),
        "Jacobian rate": Call(partial(quantities.jacobian_classic_derivative, s), [(*given, body) for given in qu]),
        "RNEA": Call(s.inverse_dynamics, qua),
        "CRBA": Call(partial(quantities.mass_matrix, s), q),
        "M^-1": Call(partial(quantities.inverse_mass_matrix, s), q),
        "factors of M": Call(partial(quantities.mass_matrix_factors, s), q, lambda FD, i: (FD[0] * FD[1]) @ FD[0].T),
        "ABA": Call(s.forward_dynamics, qut),
        "Coriolis matrix": Call(partial(quantities.coriolis_matrix, s), qu, lambda C, i: C @ kido.u[i]),
        "bias forces": Call(partial(quantities.coriolis_and_gravity_forces, s), qu),
        "gravity forces": Call(partial(quantities.gravity_forces, s), q),
        "COM": Call(partial(quantities.com, s), q),
        "COM Jacobian": Call(partial(quantities.com_jacobian, s), q),
        "centroidal matrix": Call(partial(quantities.centroidal_momentum_matrix, s), q),
        "its rate": Call(partial(quantities.centroidal_momentum_matrix_derivative, s), qu),
        "kinetic energy": Call(partial(quantities.kinetic_energy, s), qu),
        "potential energy": Call(partial(quantities.potential_energy, s), q),
        "regressor": Call(regressor, qua, lambda Y, i: Y @ s.inertial_parameters(chosen)),
        "RNEA derivatives": Call(s.inverse_dynamics_derivatives, qua),
        "ABA derivatives": Call(s.forward_dynamics_derivatives, qut),
        "centroidal derivatives": Call(partial(quantities.centroidal_momentum_derivatives, s), qua),
        "FK derivatives": Call(rates_of_acceleration, qua, lambda D, i: D[1:]),
        "Hessian": Call(partial(quantities.jacobian_hessian, s), [(*given, body) for given in q]),
        "integrate": Call(s.integrate_positions, qu, lambda q, i: s.forward_kinematics(q)[body.index]),
        "difference": Call(s.position_differences, list(zip(kido.q, kido.q[1:] + kido.q[:1], strict=True))),
    }


def set_compute_get(kido: Kido) -> dict[str, Call]:
    """Setters, and the property or method of the held state."""
    s = kido.skeleton
    body = s.body(tip_of(kido)[1])
    chosen = moving_bodies(s)
    q = [(x,) for x in kido.q]
    qu = list(zip(kido.q, kido.u, strict=True))
    qua = list(zip(kido.q, kido.u, kido.a, strict=True))
    qut = list(zip(kido.q, kido.u, kido.tau, strict=True))

    def of_positions(get):
        def call(q):
            s.positions = q
            return get()

        return call

    def of_velocities(get):
        def call(q, u):
            s.positions = q
            s.velocities = u
            return get()

        return call

    def of_accelerations(get):
        def call(q, u, a):
            s.positions = q
            s.velocities = u
            s.accelerations = a
            return get()

        return call

    def of_forces(get):
        def call(q, u, tau):
            s.positions = q
            s.velocities = u
            s.forces = tau
            return get()

        return call

    def inverse_dynamics():
        s.compute_inverse_dynamics()
        return s.forces

    def forward_dynamics():
        s.compute_forward_dynamics()
        return s.accelerations

    def gets(name):
        return lambda: getattr(s, name)

    return {
        "FK": Call(of_positions(gets("world_transforms")), q),
        "pose of one body": Call(of_positions(lambda: body.world_transform), q),
        "Jacobian": Call(of_positions(lambda: s.jacobian(body)), q),
        "Jacobian rate": Call(of_velocities(lambda: s.jacobian_classic_derivative(body)), qu),
        "RNEA": Call(of_accelerations(inverse_dynamics), qua),
        "CRBA": Call(of_positions(gets("mass_matrix")), q),
        "M^-1": Call(of_positions(gets("inverse_mass_matrix")), q),
        "factors of M": Call(of_positions(gets("mass_matrix_factors")), q),
        "ABA": Call(of_forces(forward_dynamics), qut),
        "Coriolis matrix": Call(of_velocities(gets("coriolis_matrix")), qu),
        "bias forces": Call(of_velocities(gets("coriolis_and_gravity_forces")), qu),
        "gravity forces": Call(of_positions(gets("gravity_forces")), q),
        "COM": Call(of_positions(gets("com")), q),
        "COM Jacobian": Call(of_positions(s.com_jacobian), q),
        "centroidal matrix": Call(of_positions(gets("centroidal_momentum_matrix")), q),
        "its rate": Call(of_velocities(gets("centroidal_momentum_matrix_derivative")), qu),
        "kinetic energy": Call(of_velocities(gets("kinetic_energy")), qu),
        "potential energy": Call(of_positions(gets("potential_energy")), q),
        "regressor": Call(of_accelerations(lambda: s.inverse_dynamics_regressor(chosen)), qua),
        "RNEA derivatives": Call(of_accelerations(s.inverse_dynamics_derivatives), qua),
        "ABA derivatives": Call(of_forces(s.forward_dynamics_derivatives), qut),
        "centroidal derivatives": Call(of_accelerations(s.centroidal_momentum_derivatives), qua),
        "FK derivatives": Call(of_accelerations(lambda: s.acceleration_derivatives(body, spatial=True)), qua),
        "Hessian": Call(of_positions(lambda: s.jacobian_hessian(body)), q),
    }
