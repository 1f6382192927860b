"""Coordinates that mimic planned ones move with them: against a model without mimics, all of whose states are given."""

from __future__ import annotations

import numpy as np
import pytest
from test_checker import arm

import kido
from kido.ik import IkSolver, Task
from kido.planning import CollisionChecker, Environment, RRTConnect
from kido.shapes import Box, Sphere

RATIO, OFFSET = -1.4, 0.2


def surroundings() -> Environment:
    return Environment().add("post", Box((0.3, 0.3, 1.4)), (0.5, 0.3, 0.5)).add("ball", Sphere(0.35), (-0.5, 0.1, 0.8))


def followed() -> kido.Skeleton:
    """The arm, of which q2 mimics q1, and q3 does q2."""
    skeleton = arm()
    skeleton.joint("q2").mimic = kido.Mimic("q1", RATIO, OFFSET)
    skeleton.joint("q3").mimic = kido.Mimic("q2", 0.5, 0.0)
    return skeleton


def whole(Q: np.ndarray) -> np.ndarray:
    """States of the arm's four coordinates."""
    q2 = RATIO * Q[:, 1] + OFFSET
    return np.column_stack([Q, q2, 0.5 * q2])


@pytest.mark.parametrize("certified", [False, True])
def test_what_mimics_is_where_it_is_said_to_be(certified: bool) -> None:
    checker = CollisionChecker(followed(), surroundings(), certified=certified)
    free = CollisionChecker(arm(), surroundings(), resolution=500.0)
    assert checker.dof_names == ["q0", "q1"]
    low, high = checker.limits
    np.testing.assert_allclose([low[1], high[1]], [(2.9 - OFFSET) / RATIO, (-2.9 - OFFSET) / RATIO], rtol=1e-14)
    rng = np.random.default_rng(1)
    Q = rng.uniform(low, high, (600, 2))
    good = checker.states_are_free(Q)
    assert (good == free.states_are_free(whole(Q))).all() and 0.1 < good.mean() < 0.95
    A = Q[good][:150]
    B = np.clip(A + rng.normal(scale=0.5, size=A.shape), low, high)
    passed = checker.edges_are_free(A, B)
    along = free.edges_are_free(whole(A), whole(B))
    if certified:  # a certificate covers what is sampled more finely
        assert along[passed].all()
    assert (passed == along).mean() > 0.97 and passed.any() and not passed.all()


def test_paths_and_kinematics_agree_with_mimics() -> None:
    skeleton = followed()
    checker = CollisionChecker(skeleton, surroundings())
    free = CollisionChecker(arm(), surroundings())
    path = RRTConnect(checker).plan([-1.0, 0.3], [2.0, 0.5])
    assert free.states_are_free(whole(path.at(np.linspace(0.0, 1.0, 300)))).all()
    solver = IkSolver(Task.position(skeleton.body("link3")), avoid=checker)
    skeleton.positions = whole(np.array([[0.4, 0.6]]))[0]
    found = solver.solve(skeleton.body("link3").world_transform)
    assert found and checker.is_free(found.positions[:2])


def test_followers_are_not_planned() -> None:
    with pytest.raises(kido.StateError, match="'q2' mimics 'q1'; name that one, and it will follow"):
        CollisionChecker(followed(), dofs=["q0", "q2"])
    held = CollisionChecker(followed(), dofs=["q0"], positions=[0.0, 0.3, 0.0, 0.1])
    np.testing.assert_array_equal(held.held_positions, [0.0, 0.3, 0.0, 0.1])
    with pytest.raises(kido.ModelError, match="expected a list of coordinates, got 'q0'"):
        CollisionChecker(followed(), dofs="q0")
    with pytest.raises(kido.ModelError, match=r"expected a kido\.Skeleton"):
        CollisionChecker("arm")  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="no coordinates to plan with"):
        fixed = kido.Skeleton("fixed")
        fixed.add_body("base", kido.WeldJoint())
        CollisionChecker(fixed)
