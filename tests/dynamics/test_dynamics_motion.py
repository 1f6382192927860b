"""Motions of closed chains: mechanisms with known motions, energies, stabilizations, events, mistakes.

Truths are of reduced equations of one coordinate, integrated to 1e-10 elsewhere, and closed forms; stated at each.
"""

from __future__ import annotations

import numpy as np
import pytest

import kido
import linkages
from kido.dynamics import GGL, Baumgarte, Projection
from kido.errors import ModelError, NameLookupError, StateError
from kido.integrators import RK4, DormandPrince, Event, ExplicitEuler, Variational, simulate
from user_classes import Heun

TIGHT = DormandPrince(rtol=1e-12, atol=1e-12)
SOLVERS = ["TA", "CE", "FA"]
solvers = pytest.mark.parametrize("solver", SOLVERS)
SCHEMES = [("TA", Projection()), ("TA", GGL()), ("TA", Baumgarte(20.0)), ("CE", None), ("FA", Projection())]
schemes = pytest.mark.parametrize(
    ("solver", "stabilization"), SCHEMES, ids=[f"{s}-{type(x).__name__}" if x else s for s, x in SCHEMES]
)


def energy(skeleton: kido.Skeleton, motion) -> np.ndarray:
    return np.array(
        [
            kido.quantities.kinetic_energy(skeleton, q, u) + kido.quantities.potential_energy(skeleton, q)
            for q, u in zip(motion.positions, motion.velocities, strict=True)
        ]
    )


# Mechanisms -----------------------------------------------------------------------------------------------


@solvers
def test_pendulum(solver) -> None:
    """x, y of a pendulum by elliptic functions, 14 digits."""
    truth = [(0.98629175113188, -0.16501085312554), (-0.94230543504376, -0.334754338414)]
    truth += [(-0.27508746257612, -0.96141920509913)]
    motion = simulate(kido.models.loop_pendulum().dynamics(solver), TIGHT, times=[0.0, 1.0, 5.0, 10.0])
    assert motion.positions[1:, :2] == pytest.approx(np.array(truth), abs=1e-9)


@schemes
def test_n_four_bar(solver, stabilization) -> None:
    """Through flat positions, where rows lose rank; the top of a crank after 5 and 10 s, from the reduced equation."""
    bars = kido.models.n_four_bar(2)
    dynamics = bars.dynamics(solver)
    close = 1e-8 if solver != "CE" else 5e-8  # no partition is good where bars are in one line
    simulate(dynamics, RK4(), 5.0, time_step=1e-3, stabilization=stabilization)
    assert bars.place("top")[:2] == pytest.approx([-0.8113104610, -0.5846155454], abs=close)
    simulate(dynamics, RK4(), 5.0, time_step=1e-3, stabilization=stabilization)
    assert bars.place("top")[:2] == pytest.approx([0.3284581115, 0.9445185382], abs=close)


@schemes
def test_andrews_squeezer(solver, stabilization) -> None:
    """Angles at 0.03 s to 10 digits; beta' to 1e-6 of 1,140 rad/s."""
    squeezer = kido.models.andrews_squeezer()
    if isinstance(stabilization, Baumgarte):
        stabilization = Baumgarte(500.0)  # the crank turns in some 10 ms
    times = [0.0, 0.03, 0.05]
    integrator = DormandPrince(rtol=1e-11, atol=1e-11, first_step=1e-6)
    motion = simulate(squeezer.dynamics(solver), integrator, times=times, stabilization=stabilization)
    q = motion.positions
    angles = np.stack([q[:, 0], q[:, 1] - np.pi, q[:, 2], q[:, 4] + np.pi / 2, q[:, 3], q[:, 6], q[:, 5]], axis=1)
    assert angles[1] == pytest.approx(linkages.SQUEEZER_AT_30, abs=1e-8)
    assert motion.velocities[1, 0] == pytest.approx(linkages.SQUEEZER_RATE_AT_30, abs=2e-6)
    assert angles[2, :2] == pytest.approx(linkages.SQUEEZER_AT_50, abs=2e-8)


@solvers
def test_bricard(solver) -> None:
    """A redundant row all the way; P3 to eight digits, angles q1 = q3 = q5 and q2 = q4."""
    linkage = kido.models.bricard()
    dynamics = linkage.dynamics(solver)
    times = [0.0, *linkages.BRICARD_P3]
    before = linkage.skeleton.potential_energy
    motion = simulate(dynamics, TIGHT, times=times)
    for q, truth in zip(motion.positions[1:], linkages.BRICARD_P3.values(), strict=True):
        linkage.skeleton.positions = q
        assert linkage.place("P3") == pytest.approx(truth, abs=2e-8)
        assert q[[2, 4, 3]] == pytest.approx(q[[0, 0, 1]], abs=1e-9)
    assert energy(linkage.skeleton, motion) == pytest.approx(before, abs=1e-9)
    dynamics.accelerations()
    assert dynamics.report.rank == 4


@solvers
def test_slider_crank(solver) -> None:
    """th' = sqrt(2 E / I(th)), and the slider where geometry puts it."""
    crank = kido.models.slider_crank(4.0)
    total = 0.5 * linkages.slider_crank_inertia(0.0) * 16.0
    motion = simulate(crank.dynamics(solver), TIGHT, 5.0, time_step=0.05)
    angle, rate = motion.positions[:, 0], motion.velocities[:, 0]
    assert angle[-1] > 12.0
    exact = [np.sqrt(2.0 * total / linkages.slider_crank_inertia(a)) for a in angle]
    assert rate == pytest.approx(np.array(exact), abs=1e-9)
    x = linkages.CRANK * np.cos(angle) + np.sqrt(linkages.ROD**2 - (linkages.CRANK * np.sin(angle)) ** 2)
    assert motion.positions[:, 2] + linkages.CRANK + linkages.ROD == pytest.approx(x, abs=1e-11)


@solvers
def test_bennett(solver) -> None:
    linkage = kido.models.bennett()
    dynamics = linkage.dynamics(solver)
    motion = simulate(dynamics, TIGHT, 5.0, time_step=0.05)
    q = motion.positions
    assert q[:, 2] == pytest.approx(-q[:, 0], abs=1e-10)
    ratio = np.tan(q[:, 0] / 2) * np.tan(q[:, 1] / 2)
    assert ratio == pytest.approx(linkages.BENNETT_RATIO, rel=1e-9)
    values = energy(linkage.skeleton, motion)
    assert values == pytest.approx(values[0], rel=1e-9)
    dynamics.accelerations()
    assert dynamics.report.rank == 2


@solvers
def test_spatial_slider_crank_however_it_is_cut(solver) -> None:
    motions = []
    for cut in ("pin", "slider"):
        crank = kido.models.spatial_slider_crank(cut)
        assert crank.skeleton.velocities[1] == pytest.approx(0.24)
        motion = simulate(crank.dynamics(solver), TIGHT, 2.0, time_step=0.1)
        values = energy(crank.skeleton, motion)
        assert values == pytest.approx(values[0], rel=1e-10)
        motions.append(motion.positions[:, :2])
    assert motions[0] == pytest.approx(motions[1], abs=1e-9)


@pytest.mark.parametrize("windows", [1, 2])
def test_singular_positions_are_passed_on_the_same_branch(windows) -> None:
    """Embedding by small steps through flat positions: bars stay parallel, as the reduced equation has it."""
    bars = kido.models.n_four_bar(windows)
    motion = simulate(bars.dynamics("CE"), DormandPrince(rtol=1e-11, atol=1e-11), 5.0, time_step=0.1)
    q = motion.positions
    assert q[:, 1 : windows + 1] == pytest.approx(np.repeat(q[:, :1], windows, axis=1), abs=1e-6)
    values = energy(bars.skeleton, motion)
    assert values == pytest.approx(values[0], rel=1e-6)


# Stabilization --------------------------------------------------------------------------------------------


def floating_loop() -> tuple[kido.Skeleton, list]:
    """A free body with two arms, tied together by a ball and a weight."""
    skeleton = kido.Skeleton("floating")
    skeleton.gravity = (0.0, 0.0, 0.0)
    box = kido.Inertia.from_diagonal(2.0, (0.1, 0.2, 0.25), (0.05, 0.0, 0.02))
    trunk = skeleton.add_body("trunk", kido.FreeJoint("base"), inertia=box)
    arms = []
    for side in (-1, 1):
        place = linkages.at(0.0, 0.3 * side, 0.0)
        upper = skeleton.add_body(f"upper{side}", kido.BallJoint(f"a{side}", transform_from_parent=place), trunk, box)
        joint = kido.UniversalJoint(f"b{side}", transform_from_parent=linkages.at(0.4, -0.1 * side, 0.0))
        arms.append(skeleton.add_body(f"lower{side}", joint, upper, box))
    tie = kido.BallJointConstraint(*arms, at=(0.7, 0.0, 0.0), name="tie")
    skeleton.velocities = np.random.default_rng(3).normal(size=skeleton.num_dofs)
    skeleton.velocities = kido.ConstrainedDynamics(skeleton, [tie]).project_velocities()
    return skeleton, [tie]


@schemes
@pytest.mark.parametrize("integrator", [RK4(), ExplicitEuler()], ids=lambda x: x.name)
def test_orders_are_kept(solver, stabilization, integrator) -> None:
    """A free body with ball joints in a loop."""
    skeleton, rows = floating_loop()
    q0, u0 = skeleton.positions, skeleton.velocities
    dynamics = kido.ConstrainedDynamics(skeleton, rows, solver)
    truth = simulate(dynamics, TIGHT, times=[0.0, 0.2])
    errors, steps = [], (0.01, 0.005, 0.0025) if isinstance(integrator, RK4) else (4e-3, 2e-3, 1e-3)
    for h in steps:
        skeleton.positions, skeleton.velocities = q0, u0
        motion = simulate(dynamics, integrator, times=[0.0, 0.2], time_step=h, stabilization=stabilization)
        off = skeleton.position_differences(motion.positions[-1], truth.positions[-1])
        errors.append(np.linalg.norm([*off, *(motion.velocities[-1] - truth.velocities[-1])]))
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(4 if isinstance(integrator, RK4) else 1, abs=0.3)


@solvers
def test_projection_keeps_momentum_and_rows(solver) -> None:
    """Internal forces and mass-weighted changes leave momenta alone."""
    skeleton, rows = floating_loop()
    dynamics = kido.ConstrainedDynamics(skeleton, rows, solver)

    def momentum() -> np.ndarray:
        return skeleton.momentum_about((0.0, 0.0, 0.0))

    before = momentum()
    total = skeleton.kinetic_energy
    for stabilization in (Projection(), GGL()) if solver != "CE" else (None,):
        simulate(dynamics, RK4(), 1.0, time_step=2e-3, stabilization=stabilization)
        assert momentum() == pytest.approx(before, abs=1e-9 if solver != "CE" else 1e-7)  # CE: of the method's order
        assert skeleton.kinetic_energy == pytest.approx(total, rel=1e-7)
        phi, _, rate, wanted, _ = dynamics.system.evaluate()
        assert np.abs(phi).max() < 1e-12
        assert np.abs(rate - wanted).max() < 1e-12


def test_errors_of_baumgarte_do_not_grow() -> None:
    """They are there, of the size of the step's, after ten seconds and after thirty."""
    crank = kido.models.slider_crank()
    dynamics = crank.dynamics("TA")
    motion = simulate(dynamics, RK4(), 30.0, time_step=0.01, stabilization=Baumgarte(20.0))
    errors = np.array([np.abs(dynamics.system.phi(q)).max() for q in motion.positions])
    early, late = errors[:1000].max(), errors[2000:].max()
    assert 1e-12 < late < 2.0 * early < 1e-5


@solvers
def test_steps_that_are_too_large_are_taken_back(solver) -> None:
    """A first step of several turns: rows cannot be met there, or errors are large, and smaller ones are tried."""
    crank = kido.models.slider_crank(20.0)
    total = 0.5 * linkages.slider_crank_inertia(0.0) * 400.0
    integrator = DormandPrince(rtol=1e-9, atol=1e-9, first_step=1.0)
    motion = simulate(crank.dynamics(solver), integrator, times=[0.0, 2.0])
    assert motion.rejected >= 2
    exact = np.sqrt(2.0 * total / linkages.slider_crank_inertia(motion.positions[-1, 0]))
    assert motion.velocities[-1, 0] == pytest.approx(exact, rel=1e-6)


@solvers
def test_energy_over_a_long_time(solver) -> None:
    """Some sixty turns of the crank, thousands of steps of error control."""
    crank = kido.models.slider_crank(10.0)
    before = crank.skeleton.kinetic_energy
    motion = simulate(crank.dynamics(solver), DormandPrince(rtol=1e-10, atol=1e-10), 60.0, time_step=1.0)
    assert abs(motion.positions[-1, 0]) > 50 * 2 * np.pi
    assert energy(crank.skeleton, motion) == pytest.approx(before, rel=1e-6)


# Results between steps, events, forces --------------------------------------------------------------------


@solvers
@pytest.mark.parametrize("integrator", [RK4(), DormandPrince(rtol=1e-9, atol=1e-9)], ids=lambda x: x.name)
def test_results_between_steps_are_closed(solver, integrator) -> None:
    skeleton, rows = floating_loop()
    dynamics = kido.ConstrainedDynamics(skeleton, rows, solver)
    motion = simulate(dynamics, integrator, 0.3, time_step=0.01, dense_output=True)
    system = dynamics.system
    for q, u in zip(motion.positions, motion.velocities, strict=True):
        assert np.abs(system.phi(q)).max() < 1e-12
        assert np.abs(system.G(q) @ u).max() < 1e-12
    q, u = motion.dense(0.1234)
    assert np.abs(system.phi(q)).max() < 1e-12
    assert np.abs(system.G(q) @ u).max() < 1e-12


@solvers
def test_events_of_closed_loops(solver) -> None:
    """The slider's dead centre is where the crank is at pi: of the exact motion th' = sqrt(2 E / I)."""
    from scipy.integrate import quad

    crank = kido.models.slider_crank()
    slider = crank.skeleton.dofs[2]
    events = [Event.turning(slider, direction=1, terminal=True), Event.passing(crank.skeleton.dofs[0], np.pi / 2)]
    motion = simulate(crank.dynamics(solver), DormandPrince(rtol=1e-13, atol=1e-13), 5.0, events=events)
    total = 0.5 * linkages.slider_crank_inertia(0.0) * 16.0
    slow = [
        quad(lambda a: np.sqrt(linkages.slider_crank_inertia(a) / (2 * total)), 0, end, epsabs=1e-14, epsrel=1e-13)[0]
        for end in (np.pi / 2, np.pi)
    ]
    assert [e.time for e in motion.events] == pytest.approx(slow, abs=1e-11)
    assert crank.skeleton.positions[0] == pytest.approx(np.pi, abs=1e-11)


@solvers
def test_users_integrators_and_forces(solver) -> None:
    """A torque that depends on the time and the state, by an integrator of one's own, of second order."""

    def forces(time: float, skeleton: kido.Skeleton) -> list[float]:
        return [np.sin(3.0 * time) - 0.2 * skeleton.velocities[0], 0.0, 0.0]

    ends = []
    for integrator, h in ((TIGHT, 1.0), (Heun(), 4e-3), (Heun(), 2e-3)):
        crank = kido.models.slider_crank()
        motion = simulate(crank.dynamics(solver), integrator, 1.0, time_step=h, forces=forces)
        assert np.abs(crank.dynamics().system.phi()).max() < 1e-12
        ends.append(motion.positions[-1])
    errors = [np.abs(end - ends[0]).max() for end in ends[1:]]
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)


def test_trees_without_rows() -> None:
    """Without rows all solvers integrate the tree, as `simulate` does of a skeleton."""
    ends = []
    for solver in (None, "tree", "TA", "CE", "FA"):
        skeleton, _ = floating_loop()
        moved = skeleton if solver is None else kido.ConstrainedDynamics(skeleton, [], solver)
        ends.append(simulate(moved, RK4(), 0.2, time_step=0.01).positions[-1])
    for end in ends[1:]:
        assert end == pytest.approx(ends[0], abs=1e-10)


@solvers
def test_forces_of_rows_in_worlds(solver) -> None:
    """A pendulum's rod carries m g cos + m u^2: in a world, by the integrators of smooth motion."""
    pendulum = kido.models.loop_pendulum()
    world = pendulum.world(1e-3)
    world.integrator, world.loop_solver = RK4(), solver
    world.step(500)
    q, u = pendulum.skeleton.positions, pendulum.skeleton.velocities
    impulse = pendulum.constraints[0].impulses[0]
    assert impulse / 1e-3 == pytest.approx(9.81 * q[1] - u @ u, rel=1e-6)


# Rates in time --------------------------------------------------------------------------------------------


@solvers
@pytest.mark.parametrize("steady", [True, False])
@pytest.mark.parametrize("integrator", [RK4(), DormandPrince(rtol=1e-10, atol=1e-10)], ids=lambda x: x.name)
def test_rows_that_are_driven(solver, steady, integrator) -> None:
    """A pendulum whose rod shortens at an even or a changing rate: phi follows exactly."""
    pendulum = kido.models.loop_pendulum()
    rod = pendulum.constraints[0]
    speed = -0.1
    if steady:
        rates = {rod: (speed, 0.02)}
        length = lambda t: 1.0 + speed * t + 0.01 * t**2  # noqa: E731
    else:
        rates = {rod: lambda t: (0.1 * np.sin(t), 0.1 * np.cos(t), -0.1 * np.sin(t))}
        length = lambda t: 1.0 + 0.1 * np.sin(t)  # noqa: E731
    skeleton = pendulum.skeleton
    skeleton.velocities = [0.1 if steady else -0.1, 0.0, 0.0]  # at (-1, 0): inwards, outwards
    dynamics = kido.ConstrainedDynamics(skeleton, [rod], solver, rates=rates)
    motion = simulate(dynamics, integrator, 1.0, time_step=0.01, dense_output=True)
    radius = np.linalg.norm(motion.positions, axis=1)
    assert radius == pytest.approx(length(motion.times), abs=1e-12)
    q, _ = motion.dense(0.777)
    assert np.linalg.norm(q) == pytest.approx(length(0.777), abs=1e-12)


# Mistakes -------------------------------------------------------------------------------------------------


def test_mistakes() -> None:
    crank = kido.models.slider_crank()
    dynamics = crank.dynamics("TA")
    with pytest.raises(ModelError, match="explicit methods"):
        simulate(dynamics, Variational(), 1.0)
    with pytest.raises(NameLookupError, match="projection"):
        simulate(dynamics, RK4(), 1.0, stabilization="glue")
    with pytest.raises(ModelError, match="stabilization"):
        simulate(dynamics, RK4(), 1.0, stabilization=3)
    with pytest.raises(ModelError, match="alpha"):
        Baumgarte(0.0)
    with pytest.raises(ModelError, match="beta"):
        Baumgarte(1.0, beta=np.nan)
    with pytest.raises(NameLookupError, match="middle of the rod"):
        crank.place("end")
    with pytest.raises(ModelError, match="windows"):
        kido.models.n_four_bar(0)
    with pytest.raises(ModelError, match="speed"):
        kido.models.slider_crank(np.inf)
    with pytest.raises(ModelError, match="multiple of pi"):
        kido.models.bennett(0.0)
    with pytest.raises(ModelError, match="'pin' or 'slider'"):
        kido.models.spatial_slider_crank("rod")
    state = crank.skeleton.positions, crank.skeleton.velocities
    crank.skeleton.positions = [0.3, 0.0, 0.0]
    with pytest.raises(StateError, match="loops are open: pin: no shift along"):
        simulate(dynamics, RK4(), 1.0)
    assert crank.skeleton.positions == pytest.approx([0.3, 0.0, 0.0])
    crank.skeleton.positions, crank.skeleton.velocities = state[0], [1.0, 0.0, 0.0]
    with pytest.raises(StateError, match="velocities open loops"):
        simulate(dynamics, RK4(), 1.0)


def test_worlds_of_mechanisms() -> None:
    """Short motions in a world agree with smooth ones to the order of its step."""
    bars = kido.models.n_four_bar(1)
    world = bars.world(1e-4)
    simulate(kido.models.n_four_bar(1).dynamics(), RK4(), 0.1)
    world.step(1000)
    there = bars.place("top")
    again = kido.models.n_four_bar(1)
    simulate(again.dynamics(), TIGHT, times=[0.0, 0.1])
    assert there == pytest.approx(again.place("top"), abs=1e-7)
