"""Smoothed derivatives of steps: means of exact ones over speeds, limits, and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kido
from scenes import free, world

G, H = 9.81, 1e-3
EXACT: dict[str, Any] = {"tolerance": 1e-13, "newton_tolerance": 1e-13, "speed_tolerance": 1e-12}


def box(velocity=(0.0, 0.0, 0.0), mu: float = 0.4, height: float = 0.0) -> kido.World:
    """A box that cannot turn, which would rest at height 0."""
    skeleton = kido.Skeleton("box")
    shape = kido.Sphere(0.1)
    body = skeleton.add_body("box", kido.TranslationalJoint("slide"), inertia=kido.Inertia.from_shape(shape, mass=2.0))
    body.add_shape(shape, friction=mu)
    skeleton.positions, skeleton.velocities = (0.0, 0.0, 0.1 + height), velocity
    return world(skeleton, time_step=H, **EXACT)


def share(margin: float, smoothing: float) -> float:
    return 0.5 * (1.0 + margin / np.hypot(margin, smoothing))


def outcomes(smoothing: float, number: int) -> np.ndarray:
    """Equally likely speeds of the distribution with that share below a margin (Student's t with two degrees)."""
    p = (np.arange(number) + 0.5) / number
    x = 2.0 * p - 1.0
    return smoothing * x / np.sqrt(1.0 - x * x)


@pytest.mark.parametrize("speed", [-0.004, 0.003, 0.02])
def test_a_normal_is_the_mean_over_speeds(speed: float) -> None:
    """Of exact derivatives by a force, h / m where it does not touch and 0 where it does, to 1 / outcomes.

    Errors of the speed are made by that force, which moves nothing else of the contact.
    """
    smoothing, number, mass = 0.01, 400, 2.0
    made = box(mu=0.0, height=-1e-6)
    body = made.skeletons[1]
    body.velocities = (0.0, 0.0, speed)
    found = made.step_derivatives(smoothing=smoothing).by_commands[5, 2] * mass / H
    total = 0.0
    for noise in outcomes(smoothing, number):
        body.forces = (0.0, 0.0, noise * mass / H)
        total += made.step_derivatives().by_commands[5, 2] * mass / H
    assert found == pytest.approx(total / number, abs=2.0 / number)
    assert 0.01 < found < 0.99


def test_friction_that_holds_lets_go_by_share() -> None:
    """At rest on the ground a force moves what it does in the outcomes in which friction slides, or is not there.

    The margin of sticking is mu g h, the speed that friction can take in a step, that of touching g h.
    """
    smoothing = 2.0 * G * H
    made = box(height=0.0)
    made.step(5)
    found = made.step_derivatives(smoothing=smoothing)
    assert found.modes == ("sticking",)
    closed = share(G * H, smoothing)
    reach = 0.4 * 0.5 * (G * H + np.hypot(G * H, smoothing))
    moves = 1.0 - closed * share(reach, smoothing)  # friction is zero here: neither direction nor turn
    slide = closed * (1.0 - share(reach, smoothing))
    assert found.by_commands[3, 0] == pytest.approx(moves * H / 2.0, rel=1e-6)
    assert slide > 0.0
    assert made.step_derivatives().by_commands[3, 0] == pytest.approx(0.0, abs=1e-12)


def test_it_comes_to_the_exact_ones() -> None:
    """What is far from other modes, as smoothing goes to zero: by its square."""
    made = box((0.5, 0.2, 0.0), height=-1e-6)
    made.step(3)
    exact = made.step_derivatives({"friction": [made.skeletons[1].bodies[0].shapes[0]]})
    assert exact.modes == ("sliding",)
    errors = []
    for smoothing in (1e-4, 1e-5):
        found = made.step_derivatives({"friction": [made.skeletons[1].bodies[0].shapes[0]]}, smoothing=smoothing)
        errors.append(
            max(
                np.abs(found.by_state - exact.by_state).max(),
                np.abs(found.by_parameters["friction"] - exact.by_parameters["friction"]).max(),
            )
        )
    assert errors[0] < 1e-2
    assert errors[1] < 0.02 * errors[0]


def test_limits_are_mixed_too() -> None:
    """A hinge that rests in its limit under weight yields by the share in which it would leave."""
    rod = kido.Skeleton("rod")
    joint = kido.RevoluteJoint("hinge", axis=(0.0, 1.0, 0.0))
    rod.add_body("rod", joint, inertia=kido.Inertia(mass=1.0, com=(1.0, 0.0, 0.0), moment=1e-3 * np.eye(3)))
    joint.dofs[0].position_upper_limit = 0.0
    made = world(rod, ground=False, time_step=H, **EXACT)
    made.step(5)
    smoothing = G * H
    inertia = 1.0 + 1e-3
    held = share(G * H / inertia, smoothing)
    assert made.step_derivatives(smoothing=smoothing).by_commands[1, 0] == pytest.approx(
        (1.0 - held) * H / inertia, rel=1e-5
    )


def test_a_push_that_has_not_come_there_has_a_gradient() -> None:
    """A finger 1 mm from a box of its mass: were it there, half of a force would move the box; it is so by share."""
    gap, smoothing = 1e-3, 0.1
    finger = free(kido.Sphere(0.05), 1.0, (-0.15 - gap, 0.0, 1.0), name="finger")
    made = world(finger, free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0.0, 0.0, 1.0), name="box"), ground=False)
    made.gravity = (0.0, 0.0, 0.0)
    along_x = 12 + 6 + 3  # velocities come after positions, the box after the finger
    found = made.step_derivatives(smoothing=smoothing)
    assert found.modes == ("open",)
    assert found.by_commands[along_x, 3] == pytest.approx(
        0.5 * made.time_step * share(-found.margin, smoothing), rel=1e-6
    )
    assert made.step_derivatives().by_commands[along_x, 3] == 0.0


def test_rollouts_and_pull_backs_take_it() -> None:
    """A step pulled back is the row of its matrix, a rollout of one step the same."""
    made = box(height=0.0)
    made.step(5)
    g = np.arange(6.0)
    found = made.step_derivatives(smoothing=0.01)
    by_state, by_commands, _ = made.pull_back(g, smoothing=0.01)
    np.testing.assert_allclose(by_state, g @ found.by_state, atol=1e-12)
    np.testing.assert_allclose(by_commands, g @ found.by_commands, atol=1e-12)
    along = made.rollout_gradient(np.zeros((1, 3)), lambda k, _: g, smoothing=0.01)
    np.testing.assert_allclose(along.by_commands[0], by_commands, atol=1e-12)


@pytest.mark.parametrize("smoothing", [-1.0, np.nan, np.inf, "much", None, True, [1.0]])
def test_mistakes_are_named(smoothing: Any) -> None:
    made = box()
    for call in (
        lambda: made.step_derivatives(smoothing=smoothing),
        lambda: made.pull_back(np.zeros(6), smoothing=smoothing),
        lambda: made.rollout_gradient(np.zeros((1, 3)), lambda k, _: None, smoothing=smoothing),
    ):
        with pytest.raises(kido.ModelError, match="smoothing: expected a speed"):
            call()
