"""dartpy's calls: it has no other way than set, compute, get."""

from __future__ import annotations

from benchmarks.calls import Call, tip_of
from benchmarks.calls_kido import moving_bodies
from benchmarks.programs import Dartpy, Kido


def set_compute_get(program: Dartpy, kido: Kido) -> dict[str, Call]:
    """Setters, and the getter."""
    s = program.skeleton
    body = s.getBodyNode(tip_of(kido)[1])
    bodies, chosen = (
        list(s.getBodyNodes()),
        [s.getBodyNode(b.name).getWorldTransform for b in moving_bodies(kido.skeleton)],
    )
    q = [(x,) for x in program.q]
    qu = list(zip(program.q, program.u, strict=True))
    qua = list(zip(program.q, program.u, program.a, strict=True))
    qut = list(zip(program.q, program.u, program.tau, strict=True))

    def of_positions(get, *arguments):
        def call(q):
            s.setPositions(q)
            return get(*arguments)

        return call

    def of_velocities(get, *arguments):
        def call(q, u):
            s.setPositions(q)
            s.setVelocities(u)
            return get(*arguments)

        return call

    def inverse_dynamics(q, u, a):
        s.setPositions(q)
        s.setVelocities(u)
        s.setAccelerations(a)
        s.computeInverseDynamics()
        return s.getForces()

    def forward_dynamics(q, u, tau):
        s.setPositions(q)
        s.setVelocities(u)
        s.setForces(tau)
        s.computeForwardDynamics()
        return s.getAccelerations()

    def transforms():
        return [body.getWorldTransform() for body in bodies]

    # Rates of a Jacobian and bias forces of a free base are others than KIDO's: its axes do not turn in dartpy.
    same = None if program.states.free_base else lambda x, i: x
    return {
        "FK": Call(of_positions(transforms), q, lambda X, i: [get().matrix() for get in chosen]),
        "pose of one body": Call(of_positions(body.getWorldTransform), q, lambda X, i: X.matrix()),
        "Jacobian": Call(of_positions(s.getWorldJacobian, body), q),
        "Jacobian rate": Call(of_velocities(s.getJacobianClassicDeriv, body), qu, same),
        "RNEA": Call(inverse_dynamics, qua),
        "CRBA": Call(of_positions(s.getMassMatrix), q),
        "M^-1": Call(of_positions(s.getInvMassMatrix), q),
        "ABA": Call(forward_dynamics, qut),
        "bias forces": Call(of_velocities(s.getCoriolisAndGravityForces), qu, same),
        "gravity forces": Call(of_positions(s.getGravityForces), q),
        "COM": Call(of_positions(s.getCOM), q),
        "COM Jacobian": Call(of_positions(s.getCOMLinearJacobian), q),
        "kinetic energy": Call(of_velocities(s.computeKineticEnergy), qu),
        "potential energy": Call(of_positions(s.computePotentialEnergy), q),
    }
