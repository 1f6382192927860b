"""Rollouts as functions and their pull-backs: charts, what steps leave to each other, parameters, frameworks alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kido
from differentiable_worlds import EXACT, blocks, sliding_box
from kido.errors import KidoError, ModelError, NameLookupError, StateError
from kido.gradients import Charts, WorldFunction
from kido.optimal_control import WorldDynamics
from scenes import free

# Central differences with steps of 1e-6 of numbers up to 10 that have 1e-12 of the solver's tolerance: 1e-6 of the
# largest in a row is what they are good for.
TOLERANCE = 1e-6


def weights(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(4).normal(size=shape)


def check_pull_back(function: WorldFunction, given: dict[str, Any], parameters: dict[str, Any], times: dict[str, int]):
    """All gradients of a weighted sum of a rollout against central differences by numbers."""

    def value(numbers: dict[str, Any]) -> float:
        own = {name: numbers[name] for name in parameters}
        found = function.rollout(numbers["positions"], numbers["velocities"], numbers["commands"], own, **times)
        return float((found.positions * by_q).sum() + (found.velocities * by_u).sum())

    start = {**given, **parameters}
    rollout = function.rollout(given["positions"], given["velocities"], given["commands"], parameters, **times)
    by_q, by_u = weights(rollout.positions.shape), 0.1 * weights(rollout.velocities.shape)
    found = function.pull_back(rollout, by_q, by_u)
    gradients = {**found.parameters, **found._asdict()}
    for name, array in start.items():
        made = np.zeros(array.shape)
        for at in np.ndindex(array.shape):
            h = 1e-6 * max(1.0, abs(array[at]))
            change = np.zeros(array.shape)
            change[at] = h
            made[at] = (value(start | {name: array + change}) - value(start | {name: array - change})) / (2.0 * h)
        scale = max(1.0, np.abs(made).max())
        assert np.abs(gradients[name] - made).max() < TOLERANCE * scale, name


def inputs(world: kido.World, samples: int, rows: int) -> dict[str, np.ndarray]:
    """States near the world's, moved along the ground, and small commands."""
    rng = np.random.default_rng(0)
    mobile = [s for s in world.skeletons if s.num_dofs]
    q = np.tile(np.concatenate([s.positions for s in mobile]), (samples, 1))
    u = np.tile(np.concatenate([s.velocities for s in mobile]), (samples, 1)) + 0.02 * rng.normal(size=q.shape)
    return {"positions": q, "velocities": u, "commands": 0.3 * rng.normal(size=(samples, rows, q.shape[1]))}


def test_a_free_box_that_slides_on_a_corner_by_everything():
    """Positions are by numbers: the box is turned by half a radian, where charts differ from velocities by that."""
    world, box = sliding_box()
    parameters = {"mass": [box], "friction": list(box.shapes), "gravity": None}
    function = WorldFunction(world, parameters)
    values = {"mass": np.array([[1.3], [1.5]]), "friction": np.array([[0.4], [0.3]])}
    values["gravity"] = np.tile([0.0, 0.1, -9.81], (2, 1))
    check_pull_back(function, inputs(world, 2, 3), values, {"hold": 2})


def test_what_a_step_leaves_to_the_next_counts():
    """Without it gradients of this motion are wrong by as much as they are: contacts remember where they were."""
    world, _ = sliding_box()
    function = WorldFunction(world)
    given = inputs(world, 1, 1)
    one = function.rollout(given["positions"], given["velocities"], np.repeat(given["commands"], 8, axis=1))
    whole = function.rollout(given["positions"], given["velocities"], given["commands"], hold=8)
    assert np.array_equal(one.positions[:, -1], whole.positions[:, -1])
    last = np.zeros(one.positions.shape)
    last[:, -1] = weights((6,))
    step_by_step = function.pull_back(one, last, last)
    at_once = function.pull_back(whole, last[:, -1:], last[:, -1:])
    assert np.allclose(step_by_step.positions, at_once.positions, rtol=1e-9, atol=1e-9)
    assert np.allclose(step_by_step.commands.sum(axis=1), at_once.commands[:, 0], rtol=1e-9, atol=1e-9)


def test_a_rebound_by_restitution():
    """A ball that falls on the ground: u+ = -e u-, so that the height later changes by e."""
    ball = free(kido.Sphere(0.1), 1.0, (0.0, 0.0, 0.1 + 5e-3), velocity=(0.0, 0.0, -1.0), restitution=0.6)
    world = kido.World(**EXACT)
    world.add_ground(restitution=1.0)
    world.add_skeleton(ball)
    shape = ball.bodies[0].shapes[0]
    function = WorldFunction(world, {"restitution": [shape]})
    given = inputs(world, 1, 1)
    check_pull_back(function, given, {"restitution": np.array([[0.7]])}, {"hold": 30, "every": 10})


def test_a_robot_on_its_feet():
    world = kido.World(**EXACT)
    world.add_ground(friction=0.8)
    skeleton = kido.load_skeleton(kido.models.path("quadruped"))
    world.add_skeleton(skeleton)
    skeleton.velocities = 0.3 * np.random.default_rng(1).normal(size=skeleton.num_dofs)
    world.step(40)
    lowest = skeleton.positions.copy()
    lowest[5] -= 1e-4  # into the ground by more than differences move it
    skeleton.positions = lowest
    function, times = WorldFunction(world), {"steps": 3, "hold": 2, "every": 3}
    given = inputs(world, 1, 2)
    rollout = function.rollout(**given, **times)
    by_q, by_u = weights(rollout.positions.shape), 0.1 * weights(rollout.velocities.shape)
    found = function.pull_back(rollout, by_q, by_u)
    for name in given:
        along, h = weights(given[name].shape), 1e-6
        sums = []
        for sign in (1, -1):
            moved = function.rollout(**(given | {name: given[name] + sign * h * along}), **times)
            sums.append((moved.positions * by_q).sum() + (moved.velocities * by_u).sum())
        wanted = (sums[0] - sums[1]) / (2.0 * h)
        assert abs((getattr(found, name) * along).sum() - wanted) < TOLERANCE * max(1.0, abs(wanted)), name


def test_a_step_is_that_of_the_world_and_twice_the_same():
    world, box = sliding_box()
    function = WorldFunction(world, {"mass": [box]})
    given = inputs(world, 3, 2)
    found = function.rollout(**given, parameters={"mass": np.array([[1.3], [2.0], [1.3]])}, hold=3)
    twin = world.clone()
    own = twin.skeletons[1]
    own.positions, own.velocities = given["positions"][0], given["velocities"][0]
    for row in given["commands"][0]:
        own.forces = row
        twin.step(3, reset_command=False)
    assert np.array_equal(own.positions, found.positions[0, -1])
    assert not np.allclose(found.velocities[1, -1], found.velocities[0, -1], rtol=1e-6)
    function.rollout(**given, parameters={"mass": np.full((3, 1), 3.0)})
    again = function.rollout(**given, hold=3)  # of the model's mass again
    assert np.array_equal(again.positions[0], found.positions[0])
    assert function.pull_back(again, again.positions, again.positions).parameters == {}


def test_charts_are_inverse_and_leave_other_joints_alone():
    skeleton = kido.load_skeleton(kido.models.path("quadruped"))
    charts, rng = Charts([(skeleton, 0)]), np.random.default_rng(2)
    q, g = rng.normal(size=(5, 18)), rng.normal(size=(5, 18))
    q[0, :3] = 0.0
    along = charts.along_velocities(q, g)
    assert np.allclose(charts.by_numbers(q, along), g, rtol=1e-12, atol=1e-12)
    assert np.array_equal(along[:, 6:], g[:, 6:])
    h = 1e-6  # dq of a small motion d along velocities, by the skeleton itself: g^T dq = (C^T g)^T d
    for k in range(5):
        d = rng.normal(size=18)
        dq = (skeleton.integrate_positions(q[k], h * d) - skeleton.integrate_positions(q[k], -h * d)) / (2.0 * h)
        assert abs(g[k] @ dq - along[k] @ d) < 1e-8


@pytest.mark.parametrize(
    "parameters, error, words",
    [
        ({"colour": []}, NameLookupError, "colour"),
        ({"mass": None}, ModelError, "mass: expected a list"),
        ({"mass": ["box"]}, ModelError, "mass: expected a BodyNode"),
        ({"damping": "dofs"}, ModelError, "damping"),
        (["friction"], ModelError, "friction: expected a list"),
        ("mass", ModelError, "parameters: expected lists of things by name, got 'mass'"),
        (3, ModelError, "parameters: expected lists of things by name, got 3"),
        ({"mass": []}, ModelError, "mass: expected a list of what has it"),
        ({"friction": "floor"}, ModelError, "friction: expected a list of what has it, got 'floor'"),
        ({"gravity": ["box"]}, ModelError, "gravity: expected None"),
    ],
)
def test_parameters_that_cannot_be(parameters, error, words):
    with pytest.raises(error, match=words):
        WorldFunction(sliding_box()[0], parameters)


def test_arguments_that_cannot_be():
    world, box = sliding_box()
    function = WorldFunction(world, {"mass": [box]})
    given = inputs(world, 2, 1)
    wrong: list[tuple[dict[str, Any], type[KidoError], str]] = [
        ({"positions": given["positions"][:, :5]}, StateError, "positions"),
        ({"velocities": given["velocities"][:1]}, StateError, "velocities"),
        ({"commands": np.full((2, 1, 6), np.nan)}, StateError, "commands: expected finite numbers.*sample 0"),
        ({"parameters": {"mass": np.ones((2, 3))}}, StateError, "mass"),
        ({"parameters": {"mass": -np.ones((2, 1))}}, StateError, "mass"),
        ({"parameters": {"friction": np.ones((2, 1))}}, NameLookupError, "friction"),
    ]
    for change, error, words in wrong:
        with pytest.raises(error, match=words):
            function.rollout(**(given | change))
    found = function.rollout(**given)
    with pytest.raises(StateError, match="gradient"):
        function.pull_back(found, np.ones((2, 2, 6)), np.ones((2, 1, 6)))
    with pytest.raises(StateError, match="finite"):
        function.pull_back(found, np.full((2, 1, 6), np.inf), np.ones((2, 1, 6)))


def test_dynamics_of_a_world_have_its_derivatives_along_moves():
    """A free box and a slider, four steps a node: against differences of `step` on the manifold."""
    world, _ = sliding_box()
    world.add_skeleton(blocks())
    dynamics = WorldDynamics(world, hold=4, actuated=[0, 3, 6])
    rng = np.random.default_rng(3)
    state = np.concatenate(
        [np.concatenate([getattr(s, what) for s in world.skeletons[1:]]) for what in ("positions", "velocities")]
    )
    states, controls = np.tile(state, (2, 1)), 0.2 * rng.normal(size=(2, 3))
    A, B = dynamics.derivatives(states, controls)
    wanted = super(WorldDynamics, dynamics).derivatives(states, controls)
    for found, by_differences in zip((A, B), wanted, strict=True):
        assert np.abs(found - by_differences).max() < 1e-5 * np.abs(by_differences).max()  # of steps of 6e-6
    for wrong in ([0, 0], [99], ["x"]):
        with pytest.raises(ModelError, match="actuated"):
            WorldDynamics(world, actuated=wrong)


def test_gradients_of_rollouts_by_steps_and_at_once():
    """Steps that go by dual numbers know what each left to the next, by the state and by friction."""
    world, box = sliding_box()
    n, steps = 6, 8
    given = {"friction": list(box.shapes)}
    seed = np.random.default_rng(2).normal(size=2 * n)
    by_steps = world.rollout_gradient(np.zeros((steps, n)), lambda k, _: seed if k == steps else None, given)
    by_state, by_commands, by_parameters = world.step_derivatives(given, steps=steps).pull_back(seed)
    assert np.allclose(by_steps.by_state, by_state, rtol=1e-9, atol=1e-9)
    assert np.allclose(by_steps.by_commands.sum(axis=0), by_commands, rtol=1e-9, atol=1e-9)
    assert np.allclose(by_steps.by_parameters["friction"], by_parameters["friction"], rtol=1e-9, atol=1e-9)
    with pytest.raises(StateError, match=r"gradient\(1\) changed the world"):
        world.rollout_gradient(np.zeros((2, n)), lambda k, w: w.step())


def test_parameters_that_change_where_they_are():
    """As optimizers change them: gradients are those of the values at hand."""
    world, box = sliding_box()
    given, friction = inputs(world, 1, 1), np.array([[0.3]])
    states = given["positions"], given["velocities"]

    def gradient(function: WorldFunction) -> np.ndarray:
        rollout = function.rollout(*states, None, {"friction": friction}, steps=4, every=4)
        seed = np.ones(rollout.positions.shape)
        return function.pull_back(rollout, seed, seed).parameters["friction"]

    function = WorldFunction(world, {"friction": list(box.shapes)})
    before = gradient(function)
    friction -= 0.1
    after = gradient(function)
    assert np.array_equal(after, gradient(WorldFunction(world, {"friction": list(box.shapes)})))
    assert not np.array_equal(after, before)


def test_a_row_of_commands_is_held():
    world, _ = sliding_box()
    given, function = inputs(world, 1, 1), WorldFunction(world)
    states = given["positions"], given["velocities"]
    one = function.rollout(*states, given["commands"], steps=3, every=1)
    three = function.rollout(*states, np.repeat(given["commands"], 3, axis=1), every=1)
    assert np.array_equal(one.positions, three.positions)
    seed = weights(one.positions.shape)
    found, wanted = function.pull_back(one, seed, seed), function.pull_back(three, seed, seed)
    assert np.allclose(found.commands[:, 0], wanted.commands.sum(axis=1), rtol=1e-12, atol=1e-12)
    with pytest.raises(ModelError, match="expected each once"):
        WorldFunction(world, {"mass": [world.skeletons[-1].bodies[0]] * 2})
