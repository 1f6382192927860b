"""Rows on one skeleton: values, Jacobians, velocity products; against differences on the manifold."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from closed_graphs import LOOPS, ClosedGraph, closed_graph
from linkages import at, rod
from trees import relative_error


def along(function, skeleton: kido.Skeleton, q: np.ndarray, u: np.ndarray, h: float = 2e-3):
    """d function(q) / dt at velocities u, of sixth order: error about h^6, rounding 1e-16 / h."""
    at = [function(skeleton.integrate_positions(q, k * h * u)) for k in (-3, -2, -1, 1, 2, 3)]
    return (at[5] - at[0] - 9.0 * (at[4] - at[1]) + 45.0 * (at[3] - at[2])) / (60.0 * h)


@pytest.fixture(scope="module", params=range(6))
def graph(request) -> ClosedGraph:
    return closed_graph(request.param, 6, 3, passive=False)


def test_values_change_with_the_jacobian(graph):
    """phi_dot = G u where rows are met."""
    system = kido.ConstrainedSystem(graph.skeleton, graph.constraints)
    u = np.random.default_rng(0).normal(size=system.num_dofs)
    phi, G, rate, *_ = system.evaluate(graph.q, u)
    assert np.abs(phi).max() < 1e-13
    assert relative_error(rate, G @ u) < 1e-13
    assert relative_error(along(system.phi, graph.skeleton, graph.q, u), rate) < 1e-8


@pytest.mark.parametrize("kind", LOOPS)
def test_velocity_products_are_exact_anywhere(kind):
    """gamma = - d (G(q) u) / dt at fixed numbers u, whether rows are met or not."""
    for seed in (1, 2):
        graph = closed_graph(seed, 5, 2, loop_kinds=(kind,), passive=False)
        rng = np.random.default_rng(seed)
        u = rng.normal(size=graph.skeleton.num_dofs)
        system = kido.ConstrainedSystem(graph.skeleton, graph.constraints)
        for q in (graph.q, graph.q + 0.1 * rng.normal(size=len(u))):
            change = along(lambda x: system.G(x) @ u, graph.skeleton, q, u)  # noqa: B023
            assert relative_error(-system.gamma(q, u), change) < 1e-8


# Rates, gears, forces along free axes, mistakes ------------------------------------------------------------


def crank_and_slider() -> tuple[kido.Skeleton, list[kido.Constraint]]:
    """Two hinged bars in a row; the end of the second stays on a line."""
    s = kido.Skeleton("crank")
    one = s.add_body("one", kido.RevoluteJoint("one", axis=(0, 0, 1)), inertia=rod(0))
    two = s.add_body("two", kido.RevoluteJoint("two", axis=(0, 0, 1), transform_from_parent=at(1, 0, 0)), one, rod(0))
    s.positions = [0.6, -1.2]
    X = np.eye(4)
    X[:3, :3] = [[1, 0, 0], [0, 0, 1], [0, -1, 0]]  # z along the world's y
    line = kido.PointOnPlaneConstraint(None, two, frame_a=X, frame_b=at(1, 0, 0), name="line")
    return s, [line]


@pytest.mark.parametrize("solver", ["TA", "FA", "CE"])
def test_rows_follow_rates_in_time(solver):
    """The end rises as 0.1 sin 3 t: phi, U and Udot are those, and so is the motion of the point."""
    s, constraints = crank_and_slider()

    def rise(t):
        return 0.1 * np.sin(3.0 * t), 0.3 * np.cos(3.0 * t), -0.9 * np.sin(3.0 * t)

    dynamics = kido.ConstrainedDynamics(s, constraints, solver, rates={constraints[0]: rise})
    time = 0.4
    assert dynamics.system.U(time) == pytest.approx([rise(time)[1]])
    u = dynamics.project_velocities(u=[1.0, -0.5], time=time)
    end = s.body("two")
    assert (dynamics.system.G() @ u)[0] == pytest.approx(rise(time)[1], abs=1e-12)
    s.velocities, s.accelerations = u, dynamics.accelerations(u=u, time=time)
    assert end.linear_acceleration(offset=(1, 0, 0))[1] == pytest.approx(rise(time)[2], abs=1e-9)
    steady = kido.ConstrainedDynamics(s, constraints, solver, rates={constraints[0]: (0.2, -0.5)})
    assert steady.system.U(2.0) == pytest.approx([0.2 - 1.0])
    assert steady.system.phi(time=2.0) == pytest.approx([-(0.4 - 1.0)], abs=1e-12)
    G, udot = steady.system.G(), steady.accelerations(u=[0.0, 0.0])
    assert (G @ udot)[0] == pytest.approx(-0.5, abs=1e-12)


@pytest.mark.parametrize("solver", ["TA", "FA", "CE"])
def test_mimics_are_gears(solver):
    """I1 + r^2 I2 of two wheels, the second of which turns r times as fast."""
    s = kido.Skeleton("gears")
    wheel = kido.Inertia.from_diagonal(1.0, (0.1, 0.1, 0.3))
    s.add_body("one", kido.RevoluteJoint("one", axis=(0, 0, 1)), inertia=wheel)
    s.add_body("two", kido.RevoluteJoint("two", axis=(0, 0, 1), mimic=kido.Mimic("one", -2.0)), inertia=wheel)
    dynamics = kido.ConstrainedDynamics(s, solver=solver)
    udot = dynamics.accelerations(forces=[1.5, 0.0])
    assert udot == pytest.approx([1.0, -2.0], abs=1e-13)
    assert dynamics.report.independent_coordinates == 1
    assert dynamics.constraint_forces == pytest.approx([-1.2, -0.6], abs=1e-13)


@pytest.mark.parametrize("solver", ["TA", "FA", "CE"])
def test_forces_along_free_axes_act(solver):
    """Spring, damper and motor of a loop's hinge are a torque on its second body, the opposite on the first."""
    s, constraints = crank_and_slider()
    hinge = kido.AngleConstraint(None, s.body("two"), axis=(0, 0, 1), stiffness=3.0, damping=0.5, rest_position=0.2)
    hinge.force = 0.7
    u = np.array([0.3, 0.4])
    angle, rate = 0.0, u.sum()  # from where it was made, and counted from there
    torque = 0.7 - 3.0 * (angle - 0.2) - 0.5 * rate
    with_spring = kido.ConstrainedDynamics(s, [*constraints, hinge], solver)
    without = kido.ConstrainedDynamics(s, constraints, solver)
    udot = with_spring.accelerations(u=u)
    s.body("two").add_external_torque((0.0, 0.0, torque))
    assert relative_error(udot, without.accelerations(u=u)) < 1e-12
    assert with_spring.wrench(hinge)[2] == pytest.approx(torque, abs=1e-12)
    assert relative_error(with_spring.multipliers, without.multipliers) < 1e-12


def test_what_smooth_dynamics_has_no_place_for_is_refused():
    s, constraints = crank_and_slider()
    two, frames = s.body("two"), {"frame_a": np.eye(4), "frame_b": np.eye(4)}
    weak = kido.BallJointConstraint(None, two, **frames, force_limit=5.0, name="weak")
    dry = kido.AngleConstraint(None, two, axis=(0, 0, 1), coulomb_friction=1.0, name="dry")
    stop = kido.AngleConstraint(None, two, axis=(0, 0, 1), lower_limit=-1.0, name="stop")
    other = kido.Skeleton("other")
    other.add_body("ball", kido.BallJoint("ball"), inertia=rod(0))
    foreign = kido.BallJointConstraint(None, other.body("ball"), name="foreign")
    for constraint, words in ((weak, "weak.*force limit"), (dry, "dry.*friction"), (stop, "stop.*a limit"),
                              (foreign, "foreign.*other"), ("loop", "expected constraints")):  # fmt: skip
        with pytest.raises(kido.ModelError, match=words):
            kido.ConstrainedDynamics(s, [constraint])
    geared = kido.CouplerConstraint([(other.dofs[0], 1.0)], name="turn")
    with pytest.raises(kido.ModelError, match=r"turn.*BallJoint"):
        kido.ConstrainedSystem(other, [geared])
    with pytest.raises(kido.NameLookupError, match=r"TB.*TA"):
        kido.ConstrainedDynamics(s, constraints, "TB")
    with pytest.raises(kido.ModelError, match=r"tree takes no constraints.*line"):
        kido.ConstrainedDynamics(s, constraints, "tree").accelerations()
    for rates in ({weak: (1.0, 0.0)}, {constraints[0]: 1.0}, {constraints[0]: (np.nan, 0.0)},
                  {constraints[0]: lambda t: (t, 1.0)}):  # fmt: skip
        with pytest.raises(kido.ModelError, match="rates"):
            kido.ConstrainedSystem(s, constraints, rates)
    s.joint("one").actuator_type = "SERVO"
    with pytest.raises(kido.ModelError, match=r"one.*SERVO"):
        kido.ConstrainedSystem(s, constraints)
    with pytest.raises(kido.ModelError, match="expected a skeleton"):
        kido.ConstrainedDynamics(two)


@pytest.mark.parametrize("solver", ["TA", "FA"])
def test_contradictions_are_named(solver):
    """One point held on two lines that part: no acceleration meets both."""
    s, constraints = crank_and_slider()
    again = kido.PointOnPlaneConstraint(
        None, s.body("two"), frame_a=constraints[0].frame_a, frame_b=constraints[0].frame_b, name="again"
    )
    dynamics = kido.ConstrainedDynamics(s, [*constraints, again], solver, rates={again: (0.0, 1.0)})
    with pytest.raises(kido.StateError, match=r"contradict.*(line|again)"):
        dynamics.accelerations()
    with pytest.raises(kido.StateError, match="call accelerations"):
        _ = dynamics.multipliers
    for bad in ([0.0], [np.nan, 0.0]):
        with pytest.raises(kido.StateError):
            dynamics.accelerations(q=bad)


def test_it_follows_its_skeleton():
    """Masses, actuators and bodies that change; copies and pickles."""
    s, constraints = crank_and_slider()
    T = [1.0, 0.0]
    dynamics = kido.ConstrainedDynamics(s, constraints, "TA")
    before = dynamics.accelerations(forces=T)
    s.body("two").inertia = rod(0, mass=3.0)
    heavier = dynamics.accelerations(forces=T)
    assert relative_error(heavier, before) > 1e-3
    twin = copy.deepcopy(dynamics)
    again = pickle.loads(pickle.dumps(dynamics))
    for other in (twin, again):
        assert other.skeleton is not s
        assert np.array_equal(other.accelerations(forces=T), heavier)
    s.joint("one").actuator_type = "LOCKED"
    assert dynamics.accelerations(forces=T)[0] == 0.0
    s.joint("one").actuator_type = "FORCE"
    s.add_body("three", kido.RevoluteJoint("three", axis=(0, 0, 1)), s.body("one"), rod(1))
    assert dynamics.accelerations(forces=[*T, 0.0]).shape == (3,)
    assert np.array_equal(twin.accelerations(forces=T), heavier)


@pytest.mark.parametrize("solver", ["TA", "FA", "CE", "CE+TA"])
def test_copies_of_systems_and_solvers_are_their_own(solver):
    """They hold each other's addresses: a copy that kept them would work on arrays of the original, or freed ones."""
    s, constraints = crank_and_slider()
    dynamics = kido.ConstrainedDynamics(s, constraints, solver)
    q, u = np.array([0.3, -0.6]), np.array([1.0, -2.0])
    for way in (copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        system = dynamics.system
        twin = way(system)
        assert np.array_equal(twin.phi(q), system.phi(q))
        assert twin.skeleton is not s
        assert twin.is_current
        made = way(dynamics.solver)
        assert np.array_equal(made.accelerate(q, u), dynamics.solver.accelerate(q, u))
        assert made.report.rank == dynamics.solver.report.rank


def test_what_is_given_to_it_is_checked():
    s, constraints = crank_and_slider()
    dynamics = kido.ConstrainedDynamics(s, constraints)
    foreign = kido.BallJointConstraint(None, s.body("two"), name="foreign")
    with pytest.raises(kido.ModelError, match=r"line.*twice"):
        kido.ConstrainedDynamics(s, [*constraints, constraints[0]])
    for bad in (3, constraints[0]):
        with pytest.raises(kido.ModelError, match="expected a list of constraints"):
            kido.ConstrainedDynamics(s, bad)
    for bad in (5, [(constraints[0], (0.0, 0.0))]):
        with pytest.raises(kido.ModelError, match="rates: expected a dictionary"):
            kido.ConstrainedSystem(s, constraints, bad)
    with pytest.raises(kido.NameLookupError, match=r"solver.*TA"):
        kido.ConstrainedDynamics(s, constraints, ["TA"])
    with pytest.raises(kido.ModelError, match=r"passive.*True or False"):
        kido.ConstrainedDynamics(s, constraints, passive="no")
    for call in (dynamics.system.slots_of, dynamics.system.rows_of):
        for bad in (foreign, "line", None):
            with pytest.raises(kido.ModelError, match="not among those"):
                call(bad)
    for bad in ("x", np.nan, None, [0.0, 1.0]):
        for call in (dynamics.accelerations, dynamics.project_velocities, dynamics.assemble_velocities,
                     dynamics.system.phi, dynamics.system.U):  # fmt: skip
            with pytest.raises(kido.StateError, match="time: expected a finite number"):
                call(time=bad)
    for bad in ("x", [1.0], [[1.0, 2.0], [1.0]], np.zeros((1, 1, 2)), 1.0, None):
        with pytest.raises(kido.StateError, match=r"vector.*\(rows, 2\)"):
            dynamics.inverse_mass_product(bad)
    assert dynamics.inverse_mass_product(np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(kido.StateError, match="finite"):
        dynamics.inverse_mass_product([np.nan, 0.0])
    for bad in (np.full(dynamics.system.num_rows, np.nan), [1.0, 2.0, 3.0, 4.0]):
        with pytest.raises(kido.ModelError, match="jump"):
            dynamics.impulse_response([0.0, 0.0], jump=bad)
