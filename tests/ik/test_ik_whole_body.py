"""Whole bodies: feet stay, balance is kept, hands and pelvis go where they should; ours and Talos.

Feet and hands are exact to 1e-6 m and rad, the tolerance of tasks; the centre of mass is measured anew by the support
polygon.
"""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.ik import BalanceObjective, InverseKinematics, LevenbergMarquardt, PlaneError, WholeBodyIK
from kido.skeleton.nodes.end_effector import centroid
from whole_bodies import MARGIN, own_humanoid, pelvis, standing, talos

EXACT = 1e-6


@pytest.fixture(scope="module", params=["own", "talos"])
def robot(request) -> kido.Skeleton:
    return own_humanoid() if request.param == "own" else talos(request.getfixturevalue("example_robots"))


def depth_in_polygon(robot: kido.Skeleton) -> float:
    """How far the centre of mass is inside the support polygon [m], by half planes."""
    corners, c = robot.support_polygon(), robot.com[:2]
    along = np.roll(corners, -1, axis=0) - corners
    left = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    return float(((c - corners) * left).sum(axis=1).min())


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max())


class Stance:
    """Where the feet are to stay, and checks that they do."""

    def __init__(self, robot: kido.Skeleton):
        self.robot = robot
        self.soles = [robot.node(f"{side}_sole") for side in ("left", "right")]
        self.places = [sole.world_transform for sole in self.soles]

    def check(self) -> None:
        for sole, place in zip(self.soles, self.places):
            assert distance(sole.world_transform, place) < 2 * EXACT
        assert depth_in_polygon(self.robot) > MARGIN - EXACT
        q = self.robot.positions[6:]
        limits = [(d.position_lower_limit, d.position_upper_limit) for d in self.robot.dofs[6:]]
        assert all(a - 1e-9 <= x <= b + 1e-9 for x, (a, b) in zip(q, limits))


@pytest.fixture()
def own_copy(robot: kido.Skeleton) -> kido.Skeleton:
    return robot.clone()


def test_squat(own_copy: kido.Skeleton) -> None:
    robot = own_copy
    standing(robot, hands=False)
    stance, root = Stance(robot), pelvis(robot)
    task = InverseKinematics.on(root, dofs="body", error_method=PlaneError(), gradient_method=LevenbergMarquardt())
    task.priority = 2
    body = WholeBodyIK(robot)
    height = root.world_transform[2, 3]
    for dip in (0.1, 0.2, 0.3, 0.15):
        task.target.relative_translation = (0.0, 0.0, height - dip)
        result = body.solve_and_apply()
        assert result, result.reason
        assert abs(root.world_transform[2, 3] - height + dip) < EXACT
        stance.check()


def test_reach_and_lean(own_copy: kido.Skeleton) -> None:
    robot = own_copy
    tasks = standing(robot)
    stance, body = Stance(robot), WholeBodyIK(robot)
    start = {side: robot.node(f"{side}_grip").world_transform[:3, 3] for side in ("left", "right")}
    for move in ((0.15, 0.0, 0.1), (0.25, 0.0, -0.3), (0.1, 0.2, 0.0), (0.1, -0.2, 0.1), (0.0, 0.0, 0.0)):
        for side, place in start.items():
            tasks[f"{side}_grip"].target.relative_translation = place + move
        result = body.solve_and_apply()
        assert result, result.reason
        for side, place in start.items():
            assert distance(robot.node(f"{side}_grip").world_transform[:3, 3], place + move) < EXACT
        stance.check()


def test_what_is_out_of_reach_gives_way_and_nothing_else(own_copy: kido.Skeleton) -> None:
    robot = own_copy
    tasks = standing(robot)
    stance, body = Stance(robot), WholeBodyIK(robot)
    for side in ("left", "right"):
        tasks[f"{side}_grip"].target.relative_translation = (3.0, 0.0, 1.0)
    q = robot.positions
    result = body.solve_and_apply()
    assert not result and "left_grip" in result.reason and result.residual > 1.0
    assert np.array_equal(robot.positions, q)
    assert body.solve_and_apply(allow_incomplete_result=True).residual == result.residual
    stance.check()  # feet and balance are kept to the tolerance at the closest pose
    reach = robot.node("left_grip").world_transform[0, 3]
    assert reach > 0.35


def test_smooth_under_a_moving_target(own_copy: kido.Skeleton) -> None:
    """A circle of the left hand at 40 samples: no step is longer than thrice the mean, and few iterations do."""
    robot = own_copy
    tasks = standing(robot)
    tasks["right_grip"].active = False
    stance, body = Stance(robot), WholeBodyIK(robot)
    hand = robot.node("left_grip")
    centre = hand.world_transform[:3, 3] + (0.1, 0.0, 0.0)
    steps, iterations = [], []
    for angle in np.linspace(0.0, 2.0 * np.pi, 41):
        place = centre + 0.1 * np.array([-np.cos(angle), 0.0, np.sin(angle)])
        tasks["left_grip"].target.relative_translation = place
        before = robot.positions
        result = body.solve_and_apply()
        assert result, result.reason
        assert distance(hand.world_transform[:3, 3], place) < EXACT
        steps.append(np.abs(robot.position_differences(robot.positions, before)).max())
        iterations.append(result.iterations)
    stance.check()
    assert max(steps[1:]) < 3.0 * np.mean(steps[1:])
    assert max(iterations) <= 5


def test_balance_as_null_space_objective(own_copy: kido.Skeleton) -> None:
    """The centre of mass comes over the middle of the feet, while hands and feet stay."""
    robot = own_copy
    tasks = standing(robot)
    tasks["balance"].active = False
    stance, body = Stance(robot), WholeBodyIK(robot)
    hands = [robot.node(f"{side}_grip").world_transform[:3, 3] for side in ("left", "right")]
    balance = BalanceObjective(body)
    body.null_space_objective = balance
    result = body.solve_and_apply()
    assert result, result.reason
    assert np.linalg.norm(robot.com[:2] - centroid(robot.support_polygon())) < 1e-3
    stance.check()
    for side, place in zip(("left", "right"), hands):
        assert distance(robot.node(f"{side}_grip").world_transform[:3, 3], place) < 2 * EXACT
