"""Positions that a user sets beyond limits are set, and warned of: once for each place, and degrees are named."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import kido
from kido import KidoWarning

SLACK = 1e-3  # [m, rad] the documented tolerance


@pytest.fixture(autouse=True)
def every_warning_is_an_error() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", KidoWarning)
        yield


@pytest.fixture(params=[False, True], ids=["alone", "in a world"])
def robot(request: pytest.FixtureRequest) -> kido.Skeleton:
    """A hinge between -1 and 2 rad, a slider between 0 and 0.1 m, a ball joint, and a hinge without limits."""
    made = kido.Skeleton("robot")
    limits: dict[str, Any] = {"position_lower_limit": -1.0, "position_upper_limit": 2.0}
    body = made.add_body("a", kido.RevoluteJoint("hinge", **limits))
    limits = {"position_lower_limit": 0.0, "position_upper_limit": 0.1}
    body = made.add_body("b", kido.PrismaticJoint("slider", **limits), body)
    ball = kido.BallJoint("ball", position_lower_limit=-0.5, position_upper_limit=0.5)
    body = made.add_body("c", ball, body)
    made.add_body("d", kido.RevoluteJoint("wheel"), body)
    if request.param:
        kido.World().add_skeleton(made)
    return made


def whole(**values: float) -> np.ndarray:
    """Positions, zero but for some: hinge, slider, ball, wheel."""
    q = np.zeros(6)
    for name, value in values.items():
        q[{"hinge": 0, "slider": 1, "ball": 3, "wheel": 5}[name]] = value
    return q


def set_all(robot: kido.Skeleton) -> None:
    robot.positions = whole(hinge=2.5)


def set_list(robot: kido.Skeleton) -> None:
    robot.positions = whole(hinge=2.5).tolist()


def set_some(robot: kido.Skeleton) -> None:
    robot.set_positions(2.5, "hinge")


def set_joint(robot: kido.Skeleton) -> None:
    robot.joint("hinge").positions = 2.5


def set_dof(robot: kido.Skeleton) -> None:
    robot.dof("hinge").position = 2.5


def set_text(robot: kido.Skeleton) -> None:
    robot.dof("hinge").position = np.array([2.5])  # type: ignore[assignment]  # not the usual type


def set_state(robot: kido.Skeleton) -> None:
    robot.new_state().positions = whole(hinge=2.5)


@pytest.mark.parametrize("way", [set_all, set_list, set_some, set_joint, set_dof, set_text, set_state])
def test_every_way_to_set_positions(robot: kido.Skeleton, way: Callable[[kido.Skeleton], None]) -> None:
    with pytest.warns(KidoWarning) as caught:
        way(robot)
    (one,) = caught
    assert str(one.message) == "skeleton 'robot': positions: 'hinge' = 2.5 is outside of its limits, -1 to 2 rad"
    assert one.filename == __file__ and one.lineno == way.__code__.co_firstlineno + 1
    if way is not set_state:
        assert robot.dof("hinge").position == 2.5  # it is set all the same


@pytest.mark.parametrize(
    "values, words",
    [
        ({"hinge": 90.0}, "'hinge' = 90 is outside of its limits, -1 to 2 rad; angles are in radians, and as degrees"),
        ({"hinge": -45.0, "slider": 0.05}, "'hinge' = -45 .*; angles are in radians"),
        ({"ball": 20.0}, "'ball_y' = 20 is outside of its limits, -0.5 to 0.5 rad; angles are in radians"),
        ({"hinge": 180.0}, "-1 to 2 rad$"),  # degrees would not be within either
        ({"hinge": 2.5}, "-1 to 2 rad$"),  # too small for a mistaken unit
        ({"hinge": 90.0, "ball": 1.0}, r"-1 to 2 rad \(and 1 more\)$"),  # one is no degrees
        ({"slider": 30.0}, "'slider' = 30 is outside of its limits, 0 to 0.1 m$"),
        ({"slider": -0.002}, "'slider' = -0.002 is outside of its limits, 0 to 0.1 m$"),
    ],
)
def test_what_the_warning_says(robot: kido.Skeleton, values: dict[str, float], words: str) -> None:
    with pytest.warns(KidoWarning, match=words):
        robot.positions = whole(**values)


@pytest.mark.parametrize(
    "values", [{"hinge": 2.0 + 0.9 * SLACK}, {"slider": -0.9 * SLACK}, {"hinge": -1.0, "slider": 0.1}, {"wheel": 1e3}]
)
def test_no_warning_at_limits_or_without(robot: kido.Skeleton, values: dict[str, float]) -> None:
    robot.positions = whole(**values)
    robot.dof("wheel").position = 7.0


def test_other_coordinates_are_not_named_again(robot: kido.Skeleton) -> None:
    with pytest.warns(KidoWarning):
        robot.positions = whole(hinge=2.5)
    robot.dof("slider").position = 0.05
    robot.set_positions(0.01, "slider")
    robot.joint("ball").positions = 0.1
    with pytest.warns(KidoWarning, match="'slider' = 1 "):
        robot.set_positions([1.0, 0.0], ["slider", "wheel"])


def test_each_place_once(robot: kido.Skeleton) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", KidoWarning)
        for k in range(5):
            robot.positions = whole(hinge=3.0 + k)
        for k in range(5):
            robot.positions = whole(hinge=9.0 + k)
    assert [str(one.message).split("'hinge' = ")[1][0] for one in caught] == ["3", "9"]


def test_what_kido_sets_itself_is_not_warned_of(robot: kido.Skeleton) -> None:
    """Solvers may try what they like; a state that is put back was there before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KidoWarning)
        robot.positions = whole(hinge=2.5)
    kept, state = robot.saved_state, robot.state.copy()
    robot.positions = whole()
    robot.saved_state = kept
    assert robot.dof("hinge").position == state.positions[0] == 2.5
    ik = kido.InverseKinematics(robot.body("d"))
    ik.positions = whole(hinge=3.0)
    assert robot.dof("hinge").position == 3.0
