"""Closed chains with flexible bodies: three formulations agree, rows are met, and multipliers are the forces."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.flexible import FlexibleBody, Material, Section, beam_modes, flexible_bodies
from trees import relative_error

ALUMINIUM = Material(7e10, 2700.0)


def four_bar() -> tuple[kido.Skeleton, list]:
    """A crank, a flexible coupler and a flexible rocker; the loop closes between the tips of both beams."""
    s = kido.Skeleton("four bar")
    beam = beam_modes(1.0, Section.rectangle(0.02, 0.01), ALUMINIUM, bending_y=2, bending_z=2, torsion=1)
    inertia = kido.Inertia(0.5, (0.2, 0, 0), moment=0.01 * np.eye(3))
    crank = s.add_body("crank", kido.RevoluteJoint("crank", (0, 0, 1)), None, inertia)
    coupler = FlexibleBody(
        s.add_body("coupler", kido.RevoluteJoint("pin", (0, 0, 1), transform_from_parent=(0.4, 0.0, 0.0)), crank), beam
    )
    rocker = FlexibleBody(
        s.add_body("rocker", kido.RevoluteJoint("base", (0, 0, 1), transform_from_parent=(1.2, 0.0, 0.0))), beam
    )
    closing = kido.BallJointConstraint(coupler.node("tip"), rocker.node("tip"), frame_a=np.eye(4), frame_b=np.eye(4))
    return s, [closing]


@pytest.fixture(scope="module")
def closed() -> tuple[kido.Skeleton, list]:
    s, constraints = four_bar()
    s.set_positions([0.9, -0.5, 1.6], ["crank", "pin", "base"])
    modes = [k for f in flexible_bodies(s) for k in range(f.dofs.start, f.dofs.stop)]
    plane = [k for k in modes if "bending_y" in s.dofs[k].name]
    rng = np.random.default_rng(0)
    s.set_positions(0.01 * rng.normal(size=len(plane)), plane)
    s.velocities = rng.normal(size=s.num_dofs) * np.where(np.isin(np.arange(s.num_dofs), modes), 0.05, 1.0)
    kido.ConstrainedDynamics(s, constraints).assemble(freeze="crank")
    return s, constraints


def test_rows_have_the_derivatives_of_their_values(closed: tuple[kido.Skeleton, list]) -> None:
    s, constraints = closed
    system = kido.ConstrainedDynamics(s, constraints).system
    q, u, h = s.positions, s.velocities, 1e-5
    assert np.abs(system.phi()).max() < 1e-9
    G = np.array([(system.phi(q + h * e) - system.phi(q - h * e)) / (2 * h) for e in np.eye(len(q))]).T
    assert relative_error(system.G(), G) < 1e-8
    assert np.abs(system.evaluate()[2]).max() < 1e-9  # the assembly's velocities
    later = [system.evaluate(q + x * h * u, u)[2] for x in (1.0, -1.0)]
    assert np.abs(-(later[0] - later[1]) / (2 * h) - system.gamma()).max() < 1e-6 * np.abs(system.gamma()).max()


def test_formulations_agree(closed: tuple[kido.Skeleton, list]) -> None:
    s, constraints = closed
    T = np.random.default_rng(3).normal(size=s.num_dofs)
    made = {name: kido.ConstrainedDynamics(s, constraints, solver=name) for name in ("TA", "FA", "CE")}
    found = {name: dynamics.accelerations(forces=T) for name, dynamics in made.items()}
    for name in ("FA", "CE"):
        assert relative_error(found["TA"], found[name]) < 1e-9
        assert relative_error(made["TA"].multipliers, made[name].multipliers) < 1e-8
        assert made[name].report.residual < 1e-8 * np.abs(found[name]).max()
    udot, system = found["TA"], made["TA"].system
    assert relative_error(system.G() @ udot, system.gamma()) < 1e-9
    passive = s.spring_forces + s.damping_forces
    left = s.inverse_dynamics(s.positions, s.velocities, udot) - T - passive
    assert relative_error(left, system.G().T @ made["TA"].multipliers) < 1e-9
    assert relative_error(made["TA"].actuator_forces, T) < 1e-9
    assert made["TA"].report.rank == 3 or made["TA"].report.redundant


def test_prescribed_coordinates_beside_modes() -> None:
    """A crank whose acceleration is given, and a mode that is locked."""
    s, constraints = four_bar()
    s.set_positions([0.9, -0.5, 1.6], ["crank", "pin", "base"])
    kido.ConstrainedDynamics(s, constraints).assemble(freeze="crank")
    crank, mode = s.dof("crank"), s.dofs[flexible_bodies(s)[0].dofs.start]
    crank.actuator_type, mode.actuator_type = "ACCELERATION", "LOCKED"
    crank.command = 2.0
    found = {n: kido.ConstrainedDynamics(s, constraints, solver=n).accelerations() for n in ("TA", "FA", "CE")}
    assert found["TA"][crank.index] == 2.0
    assert found["TA"][mode.index] == 0.0
    assert relative_error(found["TA"], found["FA"]) < 1e-9
    assert relative_error(found["TA"], found["CE"]) < 1e-9
    # And in the open tree, by the command.
    s.compute_forward_dynamics()
    udot, tau = np.array(s.accelerations), np.array(s.forces)
    assert udot[crank.index] == 2.0
    assert udot[mode.index] == 0.0
    assert relative_error(s.inverse_dynamics(s.positions, s.velocities, udot), tau) < 1e-9


def test_responses_keep_the_rows(closed: tuple[kido.Skeleton, list]) -> None:
    s, constraints = closed
    dynamics = kido.ConstrainedDynamics(s, constraints)
    p = np.random.default_rng(4).normal(size=s.num_dofs)
    du, G = dynamics.impulse_response(p), dynamics.system.G()
    assert np.abs(G @ du).max() < 1e-10 * np.abs(du).max()
    left = s.mass_matrix @ du - p  # only rows act: it is in the range of G^T
    assert np.abs(left - G.T @ np.linalg.lstsq(G.T, left, rcond=None)[0]).max() < 1e-9 * np.abs(p).max()
    assert np.abs(G @ dynamics.project_velocities(u=p)).max() < 1e-9


def test_what_is_not_known_is_named(closed: tuple[kido.Skeleton, list]) -> None:
    s, constraints = closed
    with pytest.raises(kido.ModelError, match=r"'four bar' has flexible bodies, for which there is no solver 'CE\+TA'"):
        kido.ConstrainedDynamics(s, constraints, solver="CE+TA")
