"""Skeletons with flexible bodies under `kido.integrators.simulate`: accelerations, what is kept, orders, what stops."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kido
from flexible_trees import Dense, random_tree
from kido.flexible import FlexibleBody, FlexibleTree, Material, Section, beam_modes
from kido.integrators import RK4, DormandPrince, Event, MoreauMidpoint, SemiImplicitEuler, Variational, simulate
from trees import relative_error

SOFT = Material(7e8, 2700.0)


def satellite(clamped: bool = False) -> FlexibleTree:
    """A hub, floating or clamped, with two panels, one of which carries a rigid antenna on a hinge; no weight."""
    skeleton = kido.Skeleton("satellite")
    skeleton.gravity = (0.0, 0.0, 0.0)
    joint = kido.WeldJoint() if clamped else kido.FreeJoint()
    hub = skeleton.add_body("hub", joint, None, kido.Inertia(5.0, (0.05, 0.0, 0.0), 0.4 * np.eye(3)))
    modes = beam_modes(1.5, Section.rectangle(0.05, 0.01), SOFT, bending_y=1, bending_z=2)
    panels = []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        X = np.diag([sign, sign, 1.0, 1.0])
        X[0, 3] = 0.2 * sign
        panels.append(FlexibleBody(skeleton.add_body(side, kido.WeldJoint(transform_from_parent=X), hub), modes))
    hinge = kido.RevoluteJoint("hinge", axis=(0, 1, 0), transform_from_parent=(0.0, 0.0, 0.05))
    skeleton.add_body("antenna", hinge, panels[0].node("tip"), kido.Inertia(0.2, (0.1, 0.0, 0.0), 1e-3 * np.eye(3)))
    rng = np.random.default_rng(3)
    modal = np.array([dof.joint.has_modes for dof in skeleton.dofs])
    n = len(modal)
    skeleton.positions = np.where(modal, 3e-3, 0.0) * rng.normal(size=n)
    skeleton.velocities = np.where(modal, 0.02, 0.5) * rng.normal(size=n)
    return FlexibleTree(skeleton)


def kept(skeleton: kido.Skeleton) -> np.ndarray:
    """Energy, and momentum about the world's origin."""
    return np.append(skeleton.kinetic_energy + skeleton.potential_energy, skeleton.momentum_about((0.0, 0.0, 0.0)))


@pytest.mark.parametrize("seed", range(3))
def test_accelerations_are_those_of_newtons_law_with_springs_dampers_and_loads(seed: int) -> None:
    """One tiny explicit step gives udot of the dense equations, on branched trees with joints of all kinds."""
    tree = random_tree(seed, bodies=7)
    skeleton, rng = tree.skeleton, np.random.default_rng(seed)
    n = tree.num_coordinates
    for dof in skeleton.dofs:
        if isinstance(dof.joint, kido.FreeJoint):
            dof.armature = 0.0  # rotors of what floats are in fixed axes here, in those of the body elsewhere
    q, u = 0.3 * rng.normal(size=n), rng.normal(size=n)
    T = rng.normal(size=n)
    skeleton.positions, skeleton.velocities, skeleton.forces = q, u, T
    tree.bodies[0].node("b").add_external_force((1.0, -2.0, 0.5), offset=(0.1, 0.0, 0.2))
    M, at_rest = Dense(tree, q, u, np.zeros(n)).forces()  # stiffness and damping of modes are part of it
    joints = ~np.array([dof.joint.has_modes for dof in skeleton.dofs])
    T = T + skeleton.external_forces + np.where(joints, skeleton.spring_forces + skeleton.damping_forces, 0.0)
    expected = np.linalg.solve(M, T - at_rest)
    found = []

    class Ask(kido.integrators.Integrator):
        def step(self, system, time, positions, velocities, time_step):
            found.append(system.accelerations(time, positions, velocities))
            return positions, velocities

    simulate(skeleton, Ask(), 1e-3)
    assert relative_error(found[0], expected) < 1e-9  # conditions of up to 1e6


def test_a_free_tree_keeps_energy_and_momentum_to_rounding() -> None:
    tree = satellite()
    before = kept(tree.skeleton)
    simulate(tree.skeleton, DormandPrince(rtol=1e-12, atol=1e-13), 1.0)
    change = np.abs(kept(tree.skeleton) - before)
    assert change[0] < 1e-9 * before[0]
    assert change[1:].max() < 1e-9


@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize(("integrator", "order"), [(RK4(), 4), (MoreauMidpoint(), 2), (SemiImplicitEuler(), 1)])
def test_orders(integrator: kido.integrators.Integrator, order: int, clamped: bool) -> None:
    """Errors against a tight adaptive motion fall by 2^order with half the step, of what is kept by no less."""
    tree = satellite(clamped)
    skeleton = tree.skeleton
    start = skeleton.positions, skeleton.velocities
    before = kept(skeleton)
    simulate(skeleton, DormandPrince(rtol=1e-13, atol=1e-14), 0.1)
    truth = np.concatenate([skeleton.positions, skeleton.velocities])
    errors, changes = [], []
    for h in (1e-3, 5e-4):
        skeleton.positions, skeleton.velocities = start
        simulate(skeleton, integrator, 0.1, time_step=h)
        errors.append(np.linalg.norm(np.concatenate([skeleton.positions, skeleton.velocities]) - truth))
        change = np.abs(kept(skeleton) - before)
        changes.append(change[0] if clamped else change.max())
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.25
    assert np.log2(changes[0] / changes[1]) > order - 0.4
    assert errors[1] < {4: 1e-6, 2: 1e-2, 1: 0.5}[order]


def test_it_moves_as_the_tree_itself_does() -> None:
    """The midpoint rule of `FlexibleTree.simulate`, forces and all, to rounding."""
    tree = satellite()
    skeleton = tree.skeleton
    q, u, T = skeleton.positions, skeleton.velocities, np.linspace(-0.1, 0.1, tree.num_coordinates)
    expected = tree.simulate(q, u, 0.05, 1e-3, T)
    found = simulate(skeleton, MoreauMidpoint(), 0.05, forces=T)
    assert relative_error(found.positions[-1], expected.positions[-1]) < 1e-11
    assert relative_error(found.velocities[-1], expected.velocities[-1]) < 1e-10
    assert np.array_equal(skeleton.positions, found.positions[-1])


def test_modes_of_ten_kilohertz_are_stable_at_a_millisecond_where_springs_are_implicit() -> None:
    skeleton = kido.Skeleton("stiff")
    root = skeleton.add_body("root", kido.RevoluteJoint("hinge", axis=(0, 1, 0)))
    modes = beam_modes(0.2, Section.rectangle(0.02, 0.01), Material(7e10, 2700.0), bending_y=2, bending_z=2)
    assert (modes.frequencies / (2.0 * np.pi)).max() > 1e3
    FlexibleBody(root, modes)
    simulate(skeleton, MoreauMidpoint(), 1.0)
    assert np.abs(skeleton.positions[1:]).max() < 1e-3
    assert abs(skeleton.positions[0]) < 2.0 * np.pi


def test_actuators_functions_events_and_dense_output() -> None:
    """A hinge that is given a motion, a mode that is locked, forces as a function, an event on the way."""
    tree = satellite(clamped=True)
    skeleton = tree.skeleton
    hinge, mode = skeleton.dof("hinge"), skeleton.dofs[tree.bodies[1].dofs.start]
    hinge.actuator_type, hinge.command, hinge.velocity = "acceleration", 2.0, 0.1
    mode.actuator_type = "locked"
    q, u = skeleton.positions, skeleton.velocities
    asked = []

    def forces(time: float, skeleton: kido.Skeleton) -> np.ndarray:
        asked.append(time)
        return np.zeros(skeleton.num_dofs)

    k = hinge.index
    event = Event(lambda time, s: s.positions[k] - q[k] - 0.05)
    motion = simulate(skeleton, DormandPrince(), 0.4, time_step=0.01, forces=forces, events=event, dense_output=True)
    t = motion.times
    assert np.abs(motion.positions[:, k] - (q[k] + u[k] * t + t**2)).max() < 1e-9
    assert np.abs(motion.positions[:, mode.index] - q[mode.index]).max() == 0.0
    assert len(asked) > 0
    at = (-u[k] + np.sqrt(u[k] ** 2 + 0.2)) / 2.0
    assert abs(motion.events[0].time - at) < 1e-9
    between = motion.dense(0.123)[0]
    assert abs(between[k] - (q[k] + u[k] * 0.123 + 0.123**2)) < 1e-8
    again = pickle.loads(pickle.dumps(motion.dense))
    assert np.array_equal(again(0.123)[0], between)


def test_what_is_refused_is_named_and_changes_nothing() -> None:
    tree = satellite()
    skeleton = tree.skeleton
    q, u = skeleton.positions, skeleton.velocities
    with pytest.raises(kido.ModelError, match=r"flexible bodies.*Variational.*MoreauMidpoint"):
        simulate(skeleton, Variational(), 0.1)
    with pytest.raises(kido.KidoError, match=r"NaN or infinite|deflections are not small"):
        simulate(skeleton, RK4(), 10.0, time_step=0.1)  # steps much longer than the modes' periods
    assert np.array_equal(skeleton.positions, q)
    assert np.array_equal(skeleton.velocities, u)
