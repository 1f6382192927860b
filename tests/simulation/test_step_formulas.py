"""Derivatives of steps by formulas, gradients pulled back and of rollouts, against each other and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from step_differences import differences, largest

import kido
from kido.simulation.gradients.derivatives import by_duals, by_formulas
from scenes import fixed, world

H = 1e-3
# Differences of steps stay on one side of touching: the skin is wide, and bodies begin below its middle.
EXACT: dict[str, Any] = {"tolerance": 1e-13, "newton_tolerance": 1e-13, "speed_tolerance": 1e-12, "skin": 1e-3}
DEPTH = 2e-4
DIFFERENCES = 1e-7  # as in test_step_derivatives
SAME = 2e-8  # of two ways to one derivative: a softness of 1e-7 is eliminated, which takes 7 digits of 16
# Of rollouts against differences. What four contacts press is determined by their softness alone, and solved less well.
ROLLOUT = {"rolling": 1e-6, "on a ball": 1e-6, "sliding": 2e-5}


def rider(shape: kido.Shape, height: float, friction: float, velocity, spin=(0.0, 0.0, 0.0)) -> kido.Skeleton:
    """A body that floats, with an arm on a hinge, so that it is a tree and no single body."""
    skeleton = kido.Skeleton("rider")
    base = skeleton.add_body("base", kido.FreeJoint(), inertia=kido.Inertia.from_shape(shape, mass=1.3))
    base.add_shape(shape, friction=friction)
    frame = np.eye(4)
    frame[:3, 3] = 0.02, 0.01, 0.05
    hinge = kido.RevoluteJoint("hinge", axis=(0.6, 0.8, 0.0), transform_from_parent=frame)
    skeleton.add_body("arm", hinge, parent=base, inertia=kido.Inertia(mass=0.2, com=(0.0, 0.03, 0.02)))
    skeleton.joints[1].dofs[0].damping = 0.01
    skeleton.joints[1].dofs[0].spring_stiffness = 2.0
    skeleton.joints[1].dofs[0].armature = 0.003
    q = skeleton.positions.copy()
    q[5], q[6] = height - DEPTH, 0.3
    skeleton.positions = q
    skeleton.velocities = [*spin, *velocity, 0.4]
    return skeleton


def rolling() -> kido.World:
    return world(rider(kido.Sphere(0.1), 0.1, 0.8, (0.5, 0.1, 0.0), (-1.0, 5.0, 0.3)), **EXACT)


def sliding() -> kido.World:
    return world(rider(kido.Box((0.3, 0.2, 0.1)), 0.05, 0.2, (1.5, 0.3, 0.0)), **EXACT)


def standing() -> kido.World:
    return world(rider(kido.Box((0.3, 0.2, 0.1)), 0.05, 0.9, (0.0, 0.0, 0.0)), **EXACT)


def on_top() -> kido.World:
    made = rider(kido.Sphere(0.1), 0.6, 1.0, (0.3, 0.1, 0.0), (-1.0, 3.0, 0.0))
    return world(made, fixed(kido.Sphere(0.5), friction=1.0), ground=False, **EXACT)


SCENES = {"rolling": rolling, "sliding": sliding, "standing": standing, "on a ball": on_top}


def goes_by_formulas(made: kido.World) -> bool:
    return by_formulas(made) is not None


@pytest.mark.parametrize("name", SCENES)
def test_formulas_are_what_duals_and_differences_say(name):
    made = SCENES[name]()
    made.step(3)
    assert goes_by_formulas(made)
    found, duals = made.step_derivatives(), by_duals(made, {}, 1)
    assert largest(found.by_state, duals.by_state) < SAME
    assert largest(found.by_commands, duals.by_commands) < SAME
    assert found.modes == duals.modes
    assert np.allclose(found.margins, duals.margins, rtol=1e-6, atol=1e-9)
    if len(found.modes) == 1:  # else what each contact presses is solved less well than differences need
        by_state, _ = differences(made, 1e-6)
        assert largest(found.by_state, by_state) < DIFFERENCES


@pytest.mark.parametrize("name", SCENES)
def test_a_gradient_pulled_back_is_the_transpose(name):
    made = SCENES[name]()
    made.step(12)
    g = np.random.default_rng(0).normal(size=14)
    found = made.step_derivatives()
    for pulled, wanted in zip(made.pull_back(g)[:2], found.pull_back(g)[:2], strict=True):
        assert np.abs(pulled - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_worlds_that_collect_events_go_by_formulas_too():
    """Features have a state of their own, which an attempt puts back."""
    alone, made, told = sliding(), sliding(), []
    made.add_contact_listener(told.append)
    for one in (alone, made):
        one.step(3)
    before = len(told)
    assert goes_by_formulas(made)
    assert np.array_equal(made.step_derivatives().by_state, alone.step_derivatives().by_state)
    assert len(told) == before
    for one in (alone, made):
        one.step(2)
    assert np.array_equal(made.skeletons[-1].positions, alone.skeletons[-1].positions)


def test_a_step_that_needs_room_and_one_that_fails_leave_the_world_as_it_is():
    made = standing()
    before, found = made.snapshot(), made.step_derivatives()  # nothing was detected before
    assert made.num_steps == 0 and np.array_equal(made.skeletons[-1].positions, before.positions)
    made.restore(before)
    assert np.array_equal(made.step_derivatives().by_state, found.by_state)
    made.skeletons[-1].velocities = np.full(7, 1e200)
    with pytest.raises(kido.StateError, match="diverged"):
        made.step_derivatives()
    assert np.array_equal(made.skeletons[-1].velocities, np.full(7, 1e200)) and made.num_steps == 0


def test_external_forces_turn_with_bodies_or_do_not():
    made = standing()
    made.step(3)
    robot = made.skeletons[-1]
    robot.bodies[0].add_external_force((0.3, -0.2, 0.1), offset=(0.1, 0.0, 0.02), force_is_local=True)
    robot.bodies[1].add_external_force((0.1, 0.2, -0.4), offset=(0.0, 0.03, 0.02))
    assert goes_by_formulas(made)
    assert largest(made.step_derivatives().by_state, by_duals(made, {}, 1).by_state) < SAME


def test_neither_changes_the_world():
    made, twin = rolling(), rolling()
    for each in (made, twin):
        each.step(5)
    made.step_derivatives()
    made.pull_back(np.ones(14))
    made.rollout_gradient(np.zeros((4, 7)), lambda k, w: np.ones(14))
    assert made.time == twin.time
    for each in (made, twin):
        each.step(30)
    robots = [each.skeletons[-1] for each in (made, twin)]
    assert (robots[0].positions == robots[1].positions).all()
    assert (robots[0].velocities == robots[1].velocities).all()


def test_limits_of_forces_stop_derivatives():
    made = standing()
    robot = made.skeletons[-1]
    robot.dofs[6].force_upper_limit = 0.01
    made.step(3)
    robot.forces = [0, 0, 0, 0, 0, 0, 0.5]
    found = made.step_derivatives()
    assert not found.by_commands[:, 6].any()
    assert found.by_commands[:, 5].any()


def loss(made: kido.World, commands: np.ndarray, weights: np.ndarray) -> float:
    """Sum of velocities after all steps and of the way, weighted; positions of free joints by where they are."""
    robot, total = next(s for s in made.skeletons if s.num_dofs), 0.0
    before = made.snapshot()
    for k, row in enumerate(commands):
        robot.forces = row
        made.step()
        total += float(weights[k] @ robot.velocities)
    made.restore(before)
    return total


@pytest.mark.parametrize("name", ROLLOUT)
def test_gradients_of_rollouts(name):
    """Against differences; what contacts recall of the step before is part of them."""
    made = SCENES[name]()
    made.step(12)
    robot = next(s for s in made.skeletons if s.num_dofs)
    rng = np.random.default_rng(1)
    n, steps = robot.num_dofs, 9
    commands, weights = 0.1 * rng.normal(size=(steps, n)), rng.normal(size=(steps, n))

    def gradient(k: int, _: kido.World) -> np.ndarray:
        return np.concatenate([np.zeros(n), weights[k - 1]])

    found = made.rollout_gradient(commands, gradient)
    assert np.allclose(found.by_commands, made.rollout_gradient(commands, gradient, checkpoints=100).by_commands)
    h, u = 1e-5, robot.velocities.copy()
    wanted = []
    for e in np.eye(n):
        values = []
        for s in (1, -1):
            robot.velocities = u + s * h * e
            values.append(loss(made, commands, weights))
        robot.velocities = u
        wanted.append((values[0] - values[1]) / (2 * h))
    assert np.abs(found.by_state[n:] - wanted).max() < ROLLOUT[name] * np.abs(wanted).max()
    for k, j in ((0, 6), (3, 1), (steps - 1, 3)):
        values = []
        for s in (1, -1):
            changed = commands.copy()
            changed[k, j] += s * 1e-3
            values.append(loss(made, changed, weights))
        assert np.isclose(found.by_commands[k, j], (values[0] - values[1]) / 2e-3, rtol=10 * ROLLOUT[name], atol=1e-8)


def test_what_is_refused():
    made = standing()
    with pytest.raises(kido.StateError, match="pull_back: expected 14 finite numbers"):
        made.pull_back(np.zeros(3))
    with pytest.raises(kido.StateError, match="pull_back: expected 14 finite numbers"):
        made.pull_back(np.full(14, np.nan))
    with pytest.raises(kido.NameLookupError, match="'colour'"):
        made.pull_back(np.zeros(14), ["colour"])
    with pytest.raises(kido.ModelError, match=r"commands: expected finite numbers \(steps, 7\), got array\(\[ *0"):
        made.rollout_gradient(np.zeros(3), lambda k, w: None)
    with pytest.raises(kido.ModelError, match="checkpoints: expected a number of steps above 0, got 0"):
        made.rollout_gradient(np.zeros((2, 7)), lambda k, w: None, checkpoints=0)
    with pytest.raises(kido.StateError, match=r"gradient\(1\): expected 14 finite numbers"):
        made.rollout_gradient(np.zeros((2, 7)), lambda k, w: np.zeros(2))
