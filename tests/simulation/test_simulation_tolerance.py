"""How exactly contact is solved by default: critical stacks, boxes between slopes, and what is no problem at all.

Truth: statics and free fall.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
import scenes
from kido import models
from scenes import G


def overhanging(count: int, share: float) -> tuple[kido.World, list[kido.Skeleton]]:
    """Bricks of 0.2 m, each shifted on the one below by `share` of what statics allows: 0.1 m / (bricks above)."""
    brick = kido.Box((0.2, 0.1, 0.05))
    bodies, x = [], 0.0
    for k in range(count):
        bodies.append(scenes.free(brick, 1.0, (x, 0.0, 0.025 + 0.05 * k), friction=0.5, name=f"brick {k}"))
        x += share * 0.1 / max(count - 1 - k, 1)
    return scenes.world(*bodies), bodies


def moved(world: kido.World, bodies: list[kido.Skeleton], steps: int) -> float:
    before = np.array([body.positions for body in bodies])
    world.step(steps)
    return float(np.abs(np.array([body.positions for body in bodies]) - before).max())


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_a_stack_stands_just_inside_of_its_critical_overhang(count):
    """0.9999 of it for 2 s: no corner moves by more than 1e-7 m; what closes at first is 5e-9 m a brick."""
    world, bodies = overhanging(count, 0.9999)
    assert moved(world, bodies, 2000) < 1e-7
    assert world.report.residual < 1e-8


def test_and_falls_just_outside():
    """1.001 of it: the upper bricks turn about the edge by more than a centimetre in 3 s."""
    world, bodies = overhanging(3, 1.001)
    assert moved(world, bodies, 3000) > 1e-2


def test_a_box_rests_between_two_slopes():
    """A groove of two slopes, 0.2 rad steep, friction 0.3: sqrt(2) mu cos > sin, so it holds.

    To 1e-10 m/s and rad/s: a residual of 1e-9 of the 1e-2 m/s of a step."""
    world = kido.World()
    world.gravity = [G * np.sin(0.2), 0.0, -G * np.cos(0.2)]
    for sign in (1.0, -1.0):
        slope = kido.Skeleton(f"slope {sign:+.0f}")
        body = slope.add_body("body", joint=kido.WeldJoint("joint"))
        turn = Rotation.from_rotvec([sign * np.pi / 4, 0.0, 0.0]).as_matrix()
        place = np.eye(4)
        place[:3, :3], place[:3, 3] = turn, turn @ [0.0, 0.0, -0.05]
        body.add_shape(kido.Box((20.0, 1.0, 0.1)), friction=0.3, transform=place)
        world.add_skeleton(slope)
    box = scenes.free(
        kido.Box((0.2, 0.2, 0.2)), 2.0, (0.0, 0.0, 0.1 * np.sqrt(2.0)), rotation=(np.pi / 4, 0.0, 0.0), friction=0.3
    )
    world.add_skeleton(box)
    world.step(1000)
    assert len(world.contacts) == 8
    assert np.abs(box.velocities).max() < 1e-10


@pytest.mark.parametrize(("count", "edge", "spin"), [(5, 0.1, 0.0), (10, 0.1, 0.0), (5, 1.0, 0.0), (5, 0.1, 1.0)])
def test_boxes_that_touch_in_free_fall_are_no_problem(count, edge, spin):
    """A tower in the air, turning or not: no impulse, no iteration, and the parabola, to 1e-12 of 4.9 m."""
    box = kido.Box((edge, edge, edge))
    bodies = [
        scenes.free(box, 1.0, (0.0, 0.0, 100.0 + edge * k), angular_velocity=(0.0, 0.0, spin), name=f"box {k}")
        for k in range(count)
    ]
    world = scenes.world(*bodies)
    touching = 0
    for _ in range(1000):
        world.step()
        problem = world.engine.problem
        touching += len(world.contacts) > 0
        assert world.report.iterations == 0 and world.report.residual < 1e-6
        assert not problem.impulse[: problem.num_rows].any()
    assert touching > 900 and world.unconverged_steps == 0
    for k, body in enumerate(bodies):
        assert body.positions[5] == pytest.approx(100.0 + edge * k - 0.5 * G, abs=1e-11)


def test_the_setting_says_what_is_worth_an_iteration():
    """A robot that lies down: 1e-9 by default, at most one iteration a step more than to 1e-6."""

    def lie(**settings: float) -> tuple[float, float]:
        world = kido.World(**settings)
        world.add_ground(friction=0.8)
        world.add_skeleton(kido.load(models.path("quadruped"))).self_collision = False
        world.step(1000)
        residuals, iterations = [], []
        for _ in range(300):
            report = world.step()
            residuals.append(report.residual)
            iterations.append(report.iterations)
        return float(np.median(residuals)), float(np.mean(iterations))

    (fine, more), (coarse, less) = lie(), lie(newton_tolerance=1.0)
    assert fine <= 1e-9 < coarse <= 1e-6
    assert more <= less + 1.0
