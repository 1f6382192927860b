"""Roadmaps and shortest paths: against the shortest ways around boxes, which a graph of their corners gives."""

from __future__ import annotations

import heapq
from itertools import combinations

import numpy as np
import pytest
from test_checker import INERTIA, arm
from test_planner import GOAL, START, states_along, walled

import kido
from kido.planning import (
    PRM,
    AITStar,
    CollisionChecker,
    Environment,
    GoalError,
    NoPathError,
    Path,
    RRTConnect,
    StartError,
)
from kido.shapes import Box, Sphere

SMALL = 1e-4  # radius of a point [m]: it makes ways longer by about as much at each corner


def point(columns: int = 2) -> kido.Skeleton:
    skeleton, body = kido.Skeleton("point"), None
    for k, axis in enumerate(np.eye(3)[:columns]):
        joint = kido.PrismaticJoint(axis=axis, name="xyz"[k], position_lower_limit=0.0, position_upper_limit=1.0)
        body = skeleton.add_body(f"body{k}", joint, body, INERTIA)
    assert body is not None
    body.add_shape(Sphere(SMALL))
    return skeleton


BOXES = [((0.3, 0.35), (0.2, 0.5)), ((0.65, 0.6), (0.15, 0.6)), ((0.5, 0.1), (0.1, 0.15))]  # centres, edges
FROM, TO = np.array([0.05, 0.35]), np.array([0.95, 0.55])


def room(dimension: int = 2) -> Environment:
    made = Environment()
    for k, ((x, y), (dx, dy)) in enumerate(BOXES):
        made.add(f"box{k}", Box((dx, dy, 4.0)), [x, y, 0.0])
    return made


def crosses(a: np.ndarray, b: np.ndarray, centre, size) -> bool:
    """Whether a segment goes through the inside of a box, by clipping."""
    low, high = np.array(centre) - np.array(size) / 2 + 1e-9, np.array(centre) + np.array(size) / 2 - 1e-9
    t0, t1 = 0.0, 1.0
    for k in range(2):
        d = b[k] - a[k]
        if abs(d) < 1e-15:
            if not low[k] < a[k] < high[k]:
                return False
            continue
        s = sorted([(low[k] - a[k]) / d, (high[k] - a[k]) / d])
        t0, t1 = max(t0, s[0]), min(t1, s[1])
    return t0 < t1


def shortest_way() -> float:
    """By Dijkstra's search in the graph of corners that see each other."""
    corners = [
        np.array(c) + np.array(s) / 2 * np.array(d) for c, s in BOXES for d in ((1, 1), (1, -1), (-1, 1), (-1, -1))
    ]
    nodes = [FROM, TO, *(c for c in corners if (c >= 0.0).all() and (c <= 1.0).all())]
    lengths: dict[int, list[tuple[int, float]]] = {k: [] for k in range(len(nodes))}
    for i, j in combinations(range(len(nodes)), 2):
        if not any(crosses(nodes[i], nodes[j], c, s) for c, s in BOXES):
            d = float(np.linalg.norm(nodes[i] - nodes[j]))
            lengths[i].append((j, d))
            lengths[j].append((i, d))
    best, waiting = {0: 0.0}, [(0.0, 0)]
    while waiting:
        d, i = heapq.heappop(waiting)
        for j, step in lengths[i]:
            if d + step < best.get(j, np.inf):
                best[j] = d + step
                heapq.heappush(waiting, (d + step, j))
    return best[1]


def test_lengths_fall_to_that_of_the_shortest_way():
    truth = shortest_way()
    assert truth > 1.05 * np.linalg.norm(TO - FROM)
    checker = CollisionChecker(point(), room(), certified=True)
    path = AITStar(checker, seed=1).plan(FROM, TO, max_seconds=60.0, max_batches=60)
    assert (np.diff(path.costs) <= 0.0).all() and path.costs[-1] == pytest.approx(path.length)
    assert truth - 1e-9 < path.length < 1.002 * truth
    assert path.costs[np.isfinite(path.costs)][0] > path.length  # it was not that short at once
    assert checker.states_are_free(states_along(path)).all()
    again = AITStar(checker, seed=1).plan(FROM, TO, max_seconds=60.0, max_batches=60)
    assert again.states.tobytes() == path.states.tobytes()


def test_of_several_goals_the_nearest_by_way_is_taken():
    checker = CollisionChecker(point(), room())
    near = np.array([0.05, 0.9])
    path = AITStar(checker).plan(FROM, [TO, near], max_seconds=20.0, max_batches=3)
    assert path.states[-1] == pytest.approx(near) and len(path) == 2 and len(path.costs) == 1


def test_paths_on_the_border_of_limits_end():
    """Next to nothing of the ellipsoid of shorter paths is within limits; a path of one state stays there."""
    checker = CollisionChecker(point(), certified=True)
    a, b = np.array([0.0, 0.0]), np.array([0.0, 1.0])
    checker.environment = Environment().add("post", Box((0.02, 0.02, 1.0)), [0.0, 0.5, 0.0])
    path = AITStar(checker).plan(a, b, max_seconds=20.0, max_batches=10)
    assert 2 * np.hypot(0.49, 0.01) + 0.02 - 1e-6 < path.length < 1.01 * (2 * np.hypot(0.49, 0.01) + 0.02)
    assert (Path(a[None], ["x", "y"]).at([0.0, 0.5]) == a).all()


def test_shortest_on_a_roadmap():
    """As Dijkstra's search has it on the same nodes, with all edges checked beforehand."""
    checker = CollisionChecker(point(), room())
    planner = PRM(checker, nodes=256, seed=2)
    path = planner.plan(FROM, TO)
    table = planner._roadmap.table
    n = table.count
    nodes = np.concatenate([table.node[:n], [FROM, TO]])
    most = planner._roadmap.neighbours(n + 2)
    edges = {tuple(sorted((int(table.to[k]), int(table.to[k + 1])))) for k in range(0, table.links, 2)}
    for new in (n, n + 1):
        away = np.linalg.norm(nodes[:new] - nodes[new], axis=1)
        edges |= {(int(k), new) for k in np.argsort(away, kind="stable")[:most]}
    pairs = np.array(sorted(edges))
    free = checker.edges_are_free(nodes[pairs[:, 0]], nodes[pairs[:, 1]])
    best, waiting = {n: 0.0}, [(0.0, n)]
    ways: dict[int, list[int]] = {}
    for i, j in pairs[free].tolist():
        ways.setdefault(i, []).append(j)
        ways.setdefault(j, []).append(i)
    while waiting:
        d, i = heapq.heappop(waiting)
        for j in ways.get(i, []):
            step = d + float(np.linalg.norm(nodes[i] - nodes[j]))
            if step < best.get(j, np.inf) - 1e-15:
                best[j] = step
                heapq.heappush(waiting, (step, j))
    assert path.length == pytest.approx(best[n + 1], rel=1e-12)


def test_roadmaps_serve_many_queries():
    """The second time nothing is checked; other queries check less than the first; all paths are free."""
    checker = CollisionChecker(arm(4), Environment().add("box", Box((0.3, 0.3, 0.9)), [0.6, 0.0, 0.45]), certified=True)
    planner = PRM(checker, nodes=1024)
    start, goal = [-1.2, 1.3, 0.3, 0.2], [1.2, 1.3, 0.3, 0.2]
    first = planner.plan(start, goal)
    nodes = planner.num_nodes
    rng, counts = np.random.default_rng(0), []
    for q in rng.uniform(-2.0, 2.0, (30, 4)):
        if checker.is_free(q):
            path = planner.plan(start, q)
            counts.append(path.checked_states)
            assert checker.states_are_free(states_along(path, 501)).all()
            assert path.states[0] == pytest.approx(start) and path.states[-1] == pytest.approx(q)
    assert len(counts) > 10 and planner.num_nodes == nodes
    assert np.mean(counts[-5:]) < first.checked_states
    again = planner.plan(start, goal)
    assert again.length <= first.length + 1e-12 and again.checked_states < first.checked_states


def test_changes_have_roadmaps_begin_anew():
    checker = walled()
    planner = PRM(checker, nodes=512)
    assert len(planner.plan(START, GOAL)) > 2
    checker.environment = Environment()
    assert planner.plan(START, GOAL).length == pytest.approx(np.linalg.norm(np.subtract(GOAL, START)), rel=0.3)
    checker.environment = walled(0.2).environment  # no way through
    with pytest.raises(NoPathError, match=r"within 0\.2 s on \d+ nodes"):
        planner.plan(START, GOAL, max_seconds=0.2)


def test_a_roadmap_that_does_not_suffice_grows():
    planner = PRM(walled(0.4), nodes=16)
    path = planner.plan(START, GOAL, max_seconds=60.0)
    assert planner.num_nodes > 200 and walled(0.4).states_are_free(states_along(path)).mean() > 0.999
    with pytest.raises(NoPathError, match="full"):
        PRM(walled(0.4), nodes=10_000, max_nodes=100).plan(START, GOAL)


def test_shorter_than_what_grows_at_random():
    checker = walled(0.5)
    grown = RRTConnect(checker, seed=1).plan(START, GOAL)
    path = AITStar(checker, seed=1).plan(START, GOAL, max_seconds=60.0, max_batches=12)
    assert path.length < 0.9 * grown.length
    assert checker.states_are_free(states_along(path)).mean() > 0.999


def test_mistakes_are_named():
    checker = walled()
    for planner in (PRM(checker, nodes=8), AITStar(checker)):
        with pytest.raises(StartError, match="'body2' touches 'left'"):
            planner.plan([0.0, -0.5, 0.0], GOAL)
        with pytest.raises(GoalError, match="'x' is 9"):
            planner.plan(START, [9.0, 0.0, 0.0])
        with pytest.raises(kido.StateError, match="max_seconds"):
            planner.plan(START, GOAL, max_seconds=-1.0)
    with pytest.raises(NoPathError, match=r"within 0\.1 s"):
        AITStar(walled(0.2)).plan(START, GOAL, max_seconds=0.1)
    with pytest.raises(kido.StateError, match="batch"):
        AITStar(checker, batch=0)
    with pytest.raises(kido.StateError, match="nodes"):
        PRM(checker, nodes=2.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(kido.StateError, match="CollisionChecker"):
        PRM(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(kido.StateError, match="samples"):
        PRM(checker).grow(0)


def test_more_ends_than_there_is_room_for():
    checker = CollisionChecker(point())
    goals = np.random.default_rng(0).uniform(0.1, 0.9, (400, 2))
    for most in (2, 100):
        with pytest.raises(NoPathError, match=f"401 ends are more than max_nodes = {most} hold"):
            AITStar(checker, max_nodes=most).plan(FROM, goals, max_seconds=0.5)
