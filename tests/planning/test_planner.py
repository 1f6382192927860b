"""Planned motions: checked densely, the same for the same seed, and what goes wrong by name."""

from __future__ import annotations

import _thread
import threading
from typing import Any

import numpy as np
import pytest
from test_checker import arm, flying_ball

import kido
from kido.planning import (
    PRM,
    AITStar,
    CollisionChecker,
    Environment,
    GoalError,
    NoPathError,
    OmplPlanner,
    Path,
    PlanningError,
    RRTConnect,
    StartError,
    shortened,
    smooth_curve,
    time_optimal,
)
from kido.shapes import Box
from programs import in_a_process


def walled(gap: float = 0.7, **options) -> CollisionChecker:
    """A ball of radius 0.13 and a wall at x = 0 across all of its room, with a square hole beside the way."""
    environment = Environment()
    wide = 8.0
    for name, y, z, dy, dz in (
        ("left", -0.5 * (wide + gap) + 1.0, 0.0, wide, 2 * wide),
        ("right", 0.5 * (wide + gap) + 1.0, 0.0, wide, 2 * wide),
        ("below", 1.0, -0.5 * (wide + gap), gap, wide),
        ("above", 1.0, 0.5 * (wide + gap), gap, wide),
    ):
        environment.add(name, Box((0.2, dy, dz)), [0.0, y, z])
    return CollisionChecker(flying_ball(), environment, **options)


def states_along(path: Path, number: int = 4001) -> np.ndarray:
    return path.at(np.linspace(0.0, 1.0, number))


START, GOAL = [-1.0, -0.5, 0.3], [1.0, -0.5, -0.3]


@pytest.mark.parametrize("certified", [False, True])
def test_paths_are_free_and_go_through_the_hole(certified):
    checker = walled(certified=certified)
    path = RRTConnect(checker, seed=3).plan(START, GOAL)
    assert path.states[0] == pytest.approx(START) and path.states[-1] == pytest.approx(GOAL)
    q = states_along(path)
    assert checker.states_are_free(q).mean() > (1.0 - 1e-12 if certified else 0.999)
    inside = np.abs(q[:, 0]) < 0.01
    assert inside.any() and (np.abs(q[inside, 1:] - [1.0, 0.0]) < 0.35 - 0.12).all()
    assert path.checked_states > 0 and path.iterations > 0 and path.seconds > 0.0


def test_the_same_seed_gives_the_same_bits():
    paths = [RRTConnect(walled(), seed=seed).plan(START, GOAL).states.tobytes() for seed in (1, 1, 2)]
    planner = RRTConnect(walled(), seed=1)
    again = [planner.plan(START, GOAL).states.tobytes() for _ in range(2)]
    assert paths[0] == paths[1] == again[0] == again[1] != paths[2]


def test_what_lies_in_a_straight_line_is_reached_so():
    path = RRTConnect(walled()).plan(START, [-0.5, 2.0, 1.0])
    assert len(path) == 2 and path.iterations == 0


def test_where_it_begins_is_where_it_ends():
    """Of a goal that is the start, all that plans and times motions gives one that stays."""
    checker = walled()
    for planner in (RRTConnect(checker), PRM(checker), AITStar(checker)):
        path = planner.plan(START, START)
        assert path.length == 0.0 and (path.at([0.0, 0.5, 1.0]) == START).all()
        curve = smooth_curve(checker, shortened(checker, path))
        assert time_optimal(curve, velocity=1.0, acceleration=1.0).duration < 1e-3


def test_more_goals_than_a_tree_has_room_for():
    """Those for which there is no room are left out."""
    path = RRTConnect(walled(), max_nodes=60).plan(START, np.tile(START, (5000, 1)), max_iterations=50)
    assert path.states[0] == pytest.approx(START) and path.length == 0.0


def test_any_of_several_goals_will_do():
    checker = walled()
    touching, behind, near = [0.0, 0.0, 0.0], GOAL, [-1.0, 1.0, 1.0]
    path = RRTConnect(checker).plan(START, [touching, behind, near])
    assert path.states[-1] == pytest.approx(near)


def test_long_searches_take_more_samples(monkeypatch):
    """Than the first table holds, which has 4 here: the search goes on where it was."""
    monkeypatch.setattr("kido.planning.planner.FIRST_TABLE", 2)
    monkeypatch.setattr("kido.planning.planner.NEXT_TABLE", 4)
    path = RRTConnect(walled(0.5), seed=1).plan(START, GOAL, max_seconds=60.0)
    assert path.iterations > 4 + 16
    assert walled(0.5).states_are_free(states_along(path)).mean() > 0.999


def test_planned_arms():
    environment = Environment().add("box", Box((0.3, 0.3, 0.9)), [0.6, 0.0, 0.45])
    checker = CollisionChecker(arm(4), environment, certified=True)
    start, goal = [-1.2, 1.3, 0.3, 0.2], [1.2, 1.3, 0.3, 0.2]
    planner = RRTConnect(checker)
    path = planner.plan(start, goal)
    assert not checker.edge_is_free(start, goal) and checker.states_are_free(states_along(path)).all()
    short = shortened(checker, path)
    assert checker.states_are_free(states_along(short)).all() and short.length <= path.length + 1e-12
    assert (
        short.states[0].tobytes() == path.states[0].tobytes()
        and short.states[-1].tobytes() == path.states[-1].tobytes()
    )
    curve = smooth_curve(checker, short)
    s = np.linspace(0.0, 1.0, 3001)
    assert checker.states_are_free(curve(s)).all()
    assert curve(0.0) == pytest.approx(start) and curve(1.0) == pytest.approx(goal)
    jump = np.abs(np.diff(curve(s, 2), axis=0)).max() / np.abs(curve(s, 2)).max()
    assert jump < 0.2  # of the second derivative, which is continuous: a corner's would jump by all of it


def test_shortcuts_come_near_the_shortest_way():
    """Through a hole the shortest way of the ball's centre is known: two straight lines through an edge of it."""
    checker = walled(0.5)
    planner = RRTConnect(checker, seed=1)
    path = planner.plan(START, GOAL)
    short = shortened(checker, path, rounds=2000, patience=2000)
    gap = 0.25 - 0.13  # around the hole's middle line, for the ball's centre; corners of the wall are rounded
    y = 1.0 - gap
    lower_bound = 2 * np.hypot(1.0, y + 0.5)
    assert lower_bound - 0.05 < short.length < 1.1 * lower_bound < path.length
    assert shortened(checker, path, rounds=2000, patience=2000).states.tobytes() == short.states.tobytes()
    straight = shortened(checker, Path(np.array([START, [-1, 2, 1], [-0.5, 0, 0.0]]), checker.dof_names))
    assert len(straight) == 2


def test_mistakes_are_named():
    checker = walled()
    planner = RRTConnect(checker)
    with pytest.raises(StartError, match="'body2' touches 'left'") as caught:
        planner.plan([0.0, -0.5, 0.0], GOAL)
    assert caught.value.contact == ("body2", "left")
    with pytest.raises(GoalError, match=r"'body2' touches 'right'.*1 more goals"):
        planner.plan(START, [[0.0, 1.5, 0.0], [0.0, 1.6, 0.0]])
    with pytest.raises(StartError, match=r"'y' is 3\.5; expected -3 to 3"):
        planner.plan([-1.0, 3.5, 0.0], GOAL)
    with pytest.raises(GoalError, match="'z' is -4; expected -3 to 3"):
        planner.plan(START, [1.0, 0.0, -4.0])
    with pytest.raises(kido.StateError, match=r"expected a start \(3,\)"):
        planner.plan([0.0, 0.0], GOAL)
    for start, goal in (([np.nan, 0.0, 0.0], GOAL), (START, [0.0, np.inf, 0.0])):
        with pytest.raises(kido.StateError, match="start, goals: expected finite numbers"):
            planner.plan(start, goal)
    with pytest.raises(kido.StateError, match=r"start, goals: .*"):
        planner.plan(["a", "b", "c"], GOAL)
    with pytest.raises(kido.StateError, match=r"goals \(3,\) or \(m, 3\), got shapes \(3,\) and \(0, 3\)"):
        planner.plan(START, np.zeros((0, 3)))
    options: dict[str, Any]
    for options in ({"max_iterations": "many"}, {"max_iterations": -1}, {"max_seconds": np.nan}):
        with pytest.raises(kido.StateError, match=next(iter(options))):
            planner.plan(START, GOAL, **options)
    with pytest.raises(kido.StateError, match="max_seconds"):
        planner.plan(START, GOAL, max_seconds=0.0)
    for options in ({"step": 0.0}, {"seed": -1}, {"max_nodes": 0.5}):
        with pytest.raises(kido.StateError, match=next(iter(options))):
            RRTConnect(checker, **options)
    path = planner.plan(START, GOAL, max_seconds=60.0)
    for call in (shortened, smooth_curve):
        with pytest.raises(kido.StateError, match="expected a path that a planner found"):
            call(checker, path.states)  # type: ignore[arg-type]
    for options in ({"rounds": -1}, {"seed": 0.5}, {"patience": 0}):
        with pytest.raises(kido.StateError, match=next(iter(options))):
            shortened(checker, path, **options)
    with pytest.raises(PlanningError, match="no smooth curve"):
        corner = Path(np.array([START, [0.0, -0.5, 0.0], GOAL]), checker.dof_names)
        smooth_curve(checker, corner)


def test_searches_that_find_nothing_end():
    checker = walled(0.2)  # the hole is smaller than the ball
    with pytest.raises(NoPathError, match="1000 iterations"):
        RRTConnect(checker).plan(START, GOAL, max_iterations=1000)
    with pytest.raises(NoPathError, match=r"within 0\.\d+ s"):
        RRTConnect(checker).plan(START, GOAL, max_seconds=0.05)
    with pytest.raises(NoPathError, match="nodes"):
        RRTConnect(checker, max_nodes=50).plan(START, GOAL)
    # and a search after that is as any other
    planner = RRTConnect(walled())
    assert planner.plan(START, GOAL).states.tobytes() == planner.plan(START, GOAL).states.tobytes()


def _interrupts_end_a_search():
    planner = RRTConnect(walled(0.2))
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        planner.plan(START, GOAL, max_seconds=60.0)
    timer.join()


def test_interrupts_end_a_search():
    """Between chunks of iterations the interpreter looks at signals."""
    in_a_process(_interrupts_end_a_search)


def test_changed_surroundings_are_seen():
    checker = walled()
    planner = RRTConnect(checker)
    assert len(planner.plan(START, GOAL)) > 2
    checker.environment = Environment()
    assert len(planner.plan(START, GOAL)) == 2
    checker.attach("stick", Box((0.1, 0.1, 0.5)), "body2")
    checker.environment = walled().environment
    with pytest.raises(NoPathError):
        planner.plan(START, GOAL, max_iterations=2000)


@pytest.mark.parametrize("name", ["RRTConnect", "PRM"])
def test_planners_of_ompl_use_the_same_checks(name):
    pytest.importorskip("ompl")
    checker = walled(certified=True)
    path = OmplPlanner(checker, name, step=1.0).plan(START, GOAL, max_seconds=20.0)
    assert path.states[0] == pytest.approx(START) and path.states[-1] == pytest.approx(GOAL)
    assert checker.states_are_free(states_along(path)).all() and path.checked_states > 0
    with pytest.raises(StartError, match="touches"):
        OmplPlanner(checker, name).plan([0.0, -0.5, 0.0], GOAL)
    with pytest.raises(NoPathError, match="OMPL found no path"):
        OmplPlanner(walled(0.2), name).plan(START, GOAL, max_seconds=0.3)
    with pytest.raises(kido.NameLookupError, match="RRTstar"):
        OmplPlanner(checker, "Dijkstra")
    with pytest.raises(kido.StateError, match="step"):
        OmplPlanner(checker, name, step=-1.0)


def test_goals_are_solutions_that_touch_nothing():
    """Of an arm's hand at a place: all meet it, are within limits, free and apart."""
    from kido.planning import goal_states

    robot = kido.load("arm7")
    hand = robot.body("hand")
    target = np.diag([1.0, -1.0, -1.0, 1.0])
    target[:3, 3] = 0.45, 0.1, 0.4
    checker = CollisionChecker(robot, Environment().add("table", Box((0.9, 1, 0.1)), [0.75, 0, 0.1]))
    goals = goal_states(checker, kido.IkSolver(hand), target)
    assert len(goals) > 1 and checker.states_are_free(goals).all()
    for q in goals:
        robot.positions = q
        assert hand.transform() == pytest.approx(target, abs=2e-6)
    assert (goal_states(checker, kido.IkSolver(hand), target) == goals).all()
    target[2, 3] = 0.1
    with pytest.raises(GoalError, match=r"met in \d+ states; in the first one '.*' touches 'table'"):
        goal_states(checker, kido.IkSolver(hand), target)
    target[0, 3] = 9.0
    with pytest.raises(GoalError, match=r"not met by any of 64 searches; the nearest is 8\.\d+ m and .* rad away"):
        goal_states(checker, kido.IkSolver(hand), target)
    with pytest.raises(kido.StateError, match="attempts"):
        goal_states(checker, kido.IkSolver(hand), target, attempts=0)
    with pytest.raises(kido.StateError, match="solver of skeleton"):
        goal_states(checker, kido.IkSolver(kido.load("arm7").body("hand")), target)
