"""Motions of trees with flexible bodies: what is kept, the order of steps, stiff modes, damping."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kido
from kido.flexible import FlexibleBody, FlexibleTree, Material, ModalJoint, Section, beam_modes

ALUMINIUM = Material(7e10, 2700.0)


def satellite(damping: float = 0.0, gravity: float = 0.0, axial: int = 1, torsion: int = 1) -> FlexibleTree:
    """A floating hub with two panels, one of which carries a rigid antenna on a hinge."""
    skeleton = kido.Skeleton("satellite")
    skeleton.gravity = (0.0, 0.0, -gravity)
    hub = skeleton.add_body("hub", kido.FreeJoint(), None, kido.Inertia(5.0, (0.05, 0.0, 0.0), 0.4 * np.eye(3)))
    modes = beam_modes(
        1.5, Section.rectangle(0.05, 0.01), ALUMINIUM, bending_y=1, bending_z=2, axial=axial, torsion=torsion,
        damping_ratio=damping,
    )  # fmt: skip
    panels = []
    for side, angle in (("left", 0.0), ("right", np.pi)):
        X = np.eye(4)
        X[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        X[:3, 3] = X[:3, 0] * 0.2
        panels.append(FlexibleBody(skeleton.add_body(side, kido.WeldJoint(transform_from_parent=X), hub), modes))
    joint = kido.RevoluteJoint(axis=(0, 1, 0), transform_from_parent=(0.0, 0.0, 0.05))
    skeleton.add_body("antenna", joint, panels[0].node("tip"), kido.Inertia(0.2, (0.1, 0.0, 0.0), 1e-3 * np.eye(3)))
    return FlexibleTree(skeleton)


def start(tree: FlexibleTree) -> tuple[np.ndarray, np.ndarray]:
    """Turning and drifting, modes deflected by millimetres and moving."""
    rng = np.random.default_rng(3)
    n = tree.num_coordinates
    modes = modal(tree)
    q, u = np.zeros(n), np.zeros(n)
    u[~modes] = 0.5 * rng.normal(size=(~modes).sum())
    q[modes], u[modes] = 3e-3 * rng.normal(size=modes.sum()), 0.02 * rng.normal(size=modes.sum())
    return q, u


def modal(tree: FlexibleTree) -> np.ndarray:
    """Which coordinates are modes."""
    return np.array([isinstance(dof.joint, ModalJoint) for dof in tree.skeleton.dofs])


def total(tree: FlexibleTree, q: np.ndarray, u: np.ndarray) -> float:
    return tree.kinetic_energy(q, u) + tree.potential_energy(q)


def test_energy_and_momentum_have_no_rate_in_a_free_tree() -> None:
    """By the equations themselves, foreshortening included: rates by differences along the exact directions."""
    tree = satellite()
    q, u = start(tree)
    a = tree.forward_dynamics(q, u)
    rates = []
    for h in (2e-5, 1e-5):
        ahead, back = (tree.simulate(q, s * u, h, h) for s in (1.0, -1.0))  # the motion backwards is one of -u
        E = [total(tree, m.positions[1], m.velocities[1]) for m in (ahead, back)]
        P = [s * tree.momentum(m.positions[1], m.velocities[1]) for s, m in ((1.0, ahead), (-1.0, back))]
        rates.append(np.append(P[0] - P[1], E[0] - E[1]) / (2.0 * h))
    scale = max(1.0, np.abs(a).max())
    assert np.abs((4.0 * rates[1] - rates[0]) / 3.0).max() < 1e-9 * scale


@pytest.mark.parametrize("what", ["energy", "momentum", "state"])
def test_steps_are_of_second_order(what: str) -> None:
    tree = satellite(axial=0, torsion=0)  # modes of up to 23 Hz
    q, u = start(tree)
    ends = []
    for h in (1e-3, 5e-4, 2.5e-4):
        end = tree.simulate(q, u, 0.1, h)
        ends.append((end.positions[-1], end.velocities[-1]))
    if what == "state":
        errors = [np.abs(ends[k][0] - ends[k + 1][0]).max() for k in (0, 1)]
    elif what == "energy":
        errors = [abs(total(tree, *end) - total(tree, q, u)) for end in ends[:2]]
    else:
        errors = [np.abs(tree.momentum(*end) - tree.momentum(q, u)).max() for end in ends[:2]]
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_small_steps_keep_energy_and_momenta() -> None:
    """Errors of second order, taken to steps of nothing: what is left of energy and momenta is rounding of 1e-10."""
    tree = satellite(axial=0, torsion=0)
    q, u = start(tree)
    found = []
    for h in (2e-4, 1e-4, 5e-5):
        end = tree.simulate(q, u, 0.1, h)
        state = end.positions[-1], end.velocities[-1]
        found.append(np.append(tree.momentum(*state), total(tree, *state)))
    first = [(4.0 * found[k + 1] - found[k]) / 3.0 for k in (0, 1)]
    limit = (16.0 * first[1] - first[0]) / 15.0
    assert np.abs(limit - np.append(tree.momentum(q, u), total(tree, q, u))).max() < 1e-10


def test_a_spinning_free_beam_keeps_momentum_and_energy() -> None:
    """Integrated to 1e-13 by another program, which a planar joint allows: its rates are its velocities."""
    skeleton = kido.Skeleton("spinner")
    skeleton.gravity = (0.0, 0.0, 0.0)
    modes = beam_modes(
        2.0, Section.rectangle(0.02, 0.05), ALUMINIUM, bending_y=2, axial=1, boundary="free", theory="euler-bernoulli"
    )
    FlexibleBody(skeleton.add_body("beam", kido.PlanarJoint()), modes)
    tree = FlexibleTree(skeleton)
    q, u = np.array([0.0, 0.0, 0.3, 0.01, -0.002, 1e-5]), np.array([0.1, -0.2, 4.0, 0.1, 0.05, 0.0])

    def rates(t: float, state: np.ndarray) -> np.ndarray:
        return np.concatenate([state[6:], tree.forward_dynamics(state[:6], state[6:])])

    found = solve_ivp(rates, (0.0, 0.2), np.append(q, u), method="DOP853", rtol=3e-14, atol=1e-16)
    ends = [(x[:6], x[6:]) for x in found.y.T]
    P, E = np.array([tree.momentum(*x) for x in ends]), np.array([total(tree, *x) for x in ends])
    assert np.ptp(E - E[0]) < 1e-12 * E[0]
    assert np.abs(P - P[0]).max() < 1e-12 * np.abs(P[0]).max()
    assert np.ptp([tree.kinetic_energy(*x) for x in ends]) > 1e-3 * E[0]  # which was traded meanwhile


def test_modes_of_ten_kilohertz_are_stable_at_a_millisecond() -> None:
    tree = satellite(damping=0.02, axial=7)
    assert tree.bodies[0].modes.frequencies.max() > 2.0 * np.pi * 1e4
    q, u = start(tree)
    u[modal(tree)] = 0.0
    for panel in tree.bodies:
        part = panel.dofs
        q[part.start + 3 : part.stop] = 0.0  # bent by millimetres, not stretched
    motion = tree.simulate(q, u, 5.0, 1e-3)
    energies = [total(tree, motion.positions[k], motion.velocities[k]) for k in range(0, 5001, 500)]
    assert (np.diff(energies) < 1e-4 * energies[0]).all()  # dampers take it, and nothing else
    gap = tree.momentum(motion.positions[-1], motion.velocities[-1]) - tree.momentum(q, u)
    assert np.abs(gap).max() < 2e-3  # of 7 N m s; a quarter of it at half the step


def test_damping_takes_the_energy_of_vibration_away() -> None:
    """A clamped beam lets go: amplitude falls as exp(-zeta w t), to the steps' error of first order in damping."""
    skeleton = kido.Skeleton("bar")
    skeleton.gravity = (0.0, 0.0, 0.0)
    modes = beam_modes(1.0, Section.rectangle(0.05, 0.01), ALUMINIUM, bending_z=1, damping_ratio=0.03)
    FlexibleBody(skeleton.add_body("bar", kido.WeldJoint()), modes)
    tree = FlexibleTree(skeleton)
    w = modes.frequencies[0]
    cycle = 2.0 * np.pi / (w * np.sqrt(1.0 - 0.03**2))
    motion = tree.simulate([1e-3], [0.0], 10.0 * cycle, cycle / 2000.0)
    assert np.isclose(motion.positions[-1, 0], 1e-3 * np.exp(-0.03 * w * motion.times[-1]), rtol=5e-3)


def test_damping_by_ratio_and_by_rayleighs_two_numbers() -> None:
    """D = 2 zeta sqrt(K M) + a M + b K of each mode."""
    modes = beam_modes(
        1.0, Section.tube(0.02), ALUMINIUM, bending_z=2, damping_ratio=(0.01, 0.02), rayleigh=(0.3, 1e-4)
    )
    M, K = np.diag(modes.mass_matrix), modes.stiffness
    assert np.allclose(modes.damping, 2.0 * np.array([0.01, 0.02]) * np.sqrt(K * M) + 0.3 * M + 1e-4 * K, rtol=1e-14)


def test_forces_and_prescribed_motion() -> None:
    skeleton = kido.Skeleton("arm")
    skeleton.gravity = (0.0, 0.0, 0.0)
    modes = beam_modes(1.0, Section.rectangle(0.05, 0.01), ALUMINIUM, bending_y=1)
    body = skeleton.add_body("link", kido.RevoluteJoint(axis=(0, 0, 1)))
    FlexibleBody(body, modes)
    tree = FlexibleTree(skeleton)
    # Constant torque from rest: its work is the energy, to second order in the step.
    constant = tree.simulate([0.0, 0.0], [0.0, 0.0], 0.2, 1e-4, forces=[0.5, 0.0])
    called = tree.simulate([0.0, 0.0], [0.0, 0.0], 0.2, 1e-4, forces=lambda t, q, u: [0.5, 0.0])
    assert np.array_equal(constant.positions, called.positions)
    end = constant.positions[-1], constant.velocities[-1]
    assert np.isclose(total(tree, *end), 0.5 * end[0][0], rtol=1e-6)
    given = tree.simulate([0.0, 0.0], [0.0, 0.0], 0.5, 1e-3, prescribed={0: lambda t: 2.0 * t})
    assert np.isclose(given.velocities[-1, 0], 0.25, rtol=1e-12)
    free = tree.simulate([0.0, 0.0], [0.0, 0.0], 0.2, 1e-4, forces=[0.5, 0.0])
    assert np.array_equal(free.positions, constant.positions)  # what was prescribed is free again


# Mistakes ----------------------------------------------------------------------------------------------------


def test_bad_states_and_times_are_named() -> None:
    tree = satellite()
    q, u = start(tree)
    with pytest.raises(kido.StateError, match="17 numbers, one for each coordinate of joints and modes"):
        tree.mass_matrix(q[:-1])
    q[9] = np.nan
    with pytest.raises(kido.StateError, match=r"got nan for coordinate 9 \('left.axial1'\)"):
        tree.forward_dynamics(q, u)
    q, u = start(tree)
    for value in (0.0, -1.0, np.nan, "long"):
        with pytest.raises(kido.ModelError, match="duration: expected a positive number"):
            tree.simulate(q, u, value)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="prescribed: expected coordinates of joints, no modes, below 17, got 8"):
        tree.simulate(q, u, 0.1, prescribed={8: lambda t: 0.0})
    with pytest.raises(
        kido.ModelError, match="prescribed: expected coordinates of joints, no modes, below 17, got 'hub'"
    ):
        tree.simulate(q, u, 0.1, prescribed={"hub": lambda t: 0.0})  # type: ignore[dict-item]
    with pytest.raises(kido.StateError, match="the motion became NaN or infinite after"):
        tree.simulate(q, u, 0.1, forces=np.full(17, 1e300))


def test_large_deflections_are_said_to_be_too_large() -> None:
    """Terms of second order make a beam that is bent far lighter than nothing."""
    tree = satellite(axial=0, torsion=0)
    q, u = start(tree)
    q[tree.bodies[1].dofs] = [0.0, 0.0, 2.0]
    with pytest.raises(kido.ModelError, match=r"is not positive; .* deflections are not small"):
        tree.forward_dynamics(q, u)
