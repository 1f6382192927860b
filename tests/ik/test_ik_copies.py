"""Copies of inverse kinematics ask their own skeleton, not the original, also within functions of a user's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kido
from kido.ik import CompositeIK, IkSolver, InverseKinematics, Task
from kido.optimization import ModularFunction

START = [0.1, 0.5, 0.0, -1.2, 0.0, 0.8, 0.0]
ARM = kido.load("arm7")


def arm_with(make: Callable[[kido.Skeleton], Any]) -> InverseKinematics:
    """An arm whose hand has a task with an objective."""
    arm = kido.load("arm7")
    arm.positions = START
    ik = InverseKinematics.on(arm.body("hand"))
    ik.null_space_objective = make(arm)
    return ik


def through_a_function(arm: kido.Skeleton) -> Any:
    def height(body: kido.BodyNode) -> float:
        return body.world_transform[2, 3]

    elbow = arm.body("forearm")
    return lambda x: height(elbow)


def through_a_function_that_holds_it(arm: kido.Skeleton) -> Any:
    def height() -> float:
        return arm.body("forearm").world_transform[2, 3]

    return lambda x: height()


# Costs that all are the height of the forearm, and reach it in several ways.
HEIGHTS: dict[str, Callable[[kido.Skeleton], Any]] = {
    "closure": lambda arm: lambda x: arm.body("forearm").world_transform[2, 3],
    "default": lambda arm: lambda x, body=arm.body("forearm"): body.world_transform[2, 3],  # noqa: B008
    "keyword": lambda arm: lambda x, *, body=arm.body("forearm"): body.world_transform[2, 3],  # noqa: B008
    "list": lambda arm: (lambda bodies: lambda x: bodies[0].world_transform[2, 3])([arm.body("forearm")]),
    "dict": lambda arm: (lambda bodies: lambda x: bodies["it"].world_transform[2, 3])({"it": arm.body("forearm")}),
    "coordinate": lambda arm: (
        (lambda dof: lambda x: dof.joint.child.skeleton.body("forearm").world_transform[2, 3])(arm.dof("elbow"))
    ),
    "function": through_a_function,
    "function that holds it": through_a_function_that_holds_it,
    "Function": lambda arm: ModularFunction(
        lambda x: arm.body("forearm").world_transform[2, 3],
        lambda x: arm.linear_jacobian(arm.body("forearm"))[2],
    ),
}  # fmt: skip

COPIES: dict[str, Callable[[InverseKinematics], InverseKinematics]] = {
    "skeleton.clone": lambda ik: module_of(ik.skeleton.clone()),
    "deepcopy of the skeleton": lambda ik: module_of(copy.deepcopy(ik.skeleton)),
    "clone for a copy": lambda ik: ik.clone(module_of(ik.skeleton.clone()).node),
    "world.clone": lambda ik: module_of(world_of(ik.skeleton).clone().skeleton("arm7")),
    "deepcopy of one that is attached to nothing": lambda ik: copy.deepcopy(detached(ik)),
    "hierarchy.clone": lambda ik: CompositeIK(ik.skeleton, [ik]).clone(ik.skeleton.clone()).modules[0],
}


def detached(ik: InverseKinematics) -> InverseKinematics:
    loose = InverseKinematics(ik.node)
    loose.null_space_objective = ik.null_space_objective
    return loose


def module_of(skeleton: Any) -> InverseKinematics:
    return skeleton.body("hand").get(InverseKinematics)


def world_of(skeleton: kido.Skeleton) -> kido.World:
    world = kido.World()
    world.add_skeleton(skeleton)
    return world


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("way", HEIGHTS)
def test_objectives_of_copies_ask_the_copy(way: str, copied: str) -> None:
    ik = arm_with(HEIGHTS[way])
    original = ik.skeleton
    twin = COPIES[copied](ik)
    assert twin.skeleton is not original
    twin.skeleton.positions = [0.3, 0.9, 0.1, -0.7, 0.0, 0.4, 0.0]
    x = twin.positions
    there, here = (s.body("forearm").world_transform[2, 3] for s in (twin.skeleton, original))
    assert abs(there - here) > 0.01
    assert twin.null_space_objective.evaluate(x) == there
    assert ik.null_space_objective.evaluate(x) == here
    if way == "Function":
        np.testing.assert_array_equal(
            twin.null_space_objective.gradient(x),
            twin.skeleton.linear_jacobian(twin.skeleton.body("forearm"))[2],
        )


def test_objectives_of_hierarchies_ask_the_copy() -> None:
    ik = arm_with(lambda arm: None)
    whole = CompositeIK(ik.skeleton, [ik])
    forearm = ik.skeleton.body("forearm")
    whole.objective = lambda x: forearm.world_transform[2, 3] + ik.node.world_transform[2, 3]
    for twin in (whole.clone(ik.skeleton.clone()), copy.deepcopy(whole)):
        assert twin.skeleton is not ik.skeleton
        twin.skeleton.positions = np.full(7, 0.2)
        heights = [twin.skeleton.body(name).world_transform[2, 3] for name in ("forearm", "hand")]
        assert twin.objective.evaluate(twin.positions) == sum(heights)


def test_what_is_not_copied_is_shared() -> None:
    """Copies for the same skeleton keep their functions, and so do numbers, arrays, frames and other skeletons."""
    other, place, calls = kido.load("arm7"), np.zeros(3), []
    cost = lambda x: calls.append((other, place)) or 0.0  # noqa: E731
    ik = arm_with(lambda arm: cost)
    twin = module_of(ik.skeleton.clone())
    twin.null_space_objective.evaluate(twin.positions)
    assert calls[0][0] is other and calls[0][1] is place
    ik.objective = lambda x: ik.skeleton.positions.sum()
    same = ik.clone()
    assert same.skeleton is ik.skeleton and same.objective.evaluate(same.positions) == sum(START)


def test_functions_that_call_themselves_are_copied() -> None:
    def make(arm: kido.Skeleton) -> Any:
        def height(x: np.ndarray, times: int = 2) -> float:
            return height(x, times - 1) if times else arm.body("forearm").world_transform[2, 3]

        return height

    ik = arm_with(make)
    twin = module_of(ik.skeleton.clone())
    twin.skeleton.positions = np.full(7, 0.2)
    there = twin.skeleton.body("forearm").world_transform[2, 3]
    assert twin.null_space_objective.evaluate(twin.positions) == there


def global_height(x: np.ndarray) -> float:
    return ARM.body("forearm").world_transform[2, 3]


@pytest.mark.parametrize("cost", [global_height, lambda x: global_height(x)], ids=["itself", "what it calls"])
def test_global_names_are_refused_where_they_are_used(cost: Callable) -> None:
    """A copy can be made; its objective says why it cannot be asked, until it is set anew."""
    ARM.positions = START
    ik = InverseKinematics.on(ARM.body("hand"))
    ik.null_space_objective = cost
    twin = module_of(ARM.clone())
    with pytest.raises(kido.ModelError, match=r"refers to Skeleton\('arm7'.* by the global name 'ARM'.*set it anew"):
        twin.find_solution()
    assert ik.find_solution()
    twin.null_space_objective = lambda x: twin.skeleton.body("forearm").world_transform[2, 3]
    assert twin.find_solution()


def test_a_copy_for_a_skeleton_without_the_body_is_refused() -> None:
    ik = arm_with(lambda arm: (lambda tool: lambda x: tool.world_transform[2, 3])(add_tool(arm)))
    other = kido.load("arm7")
    with pytest.raises(kido.ModelError, match=r"refers to BodyNode\('tool'\), and skeleton 'arm7' has nothing"):
        ik.clone(other.body("hand"))


def add_tool(arm: kido.Skeleton) -> kido.BodyNode:
    return arm.add_body("tool", kido.WeldJoint("tool mount"), arm.body("hand"))


def test_residuals_of_a_users_ask_the_copy() -> None:
    arm = kido.load("arm7")
    arm.positions = START
    forearm = arm.body("forearm")
    task = Task.residual(lambda q: ([forearm.world_transform[2, 3] - 0.4], arm.linear_jacobian(forearm)[2:]), rows=1)
    solver = IkSolver(task, skeleton=arm)
    twin = solver.clone(arm.clone())
    twin.skeleton.positions = np.full(7, 0.2)
    for own in (solver, twin):
        kind: Any = own.tasks[0].kind
        e, _ = kind.function(own.skeleton.positions)
        assert e[0] == own.skeleton.body("forearm").world_transform[2, 3] - 0.4
