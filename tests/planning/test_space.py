"""Hinges without limits, ball and free joints: shortest ways by rotations themselves, states along edges, paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy.spatial.transform import Rotation, Slerp
from test_checker import INERTIA

import kido
from kido.planning import (
    PRM,
    AITStar,
    CollisionChecker,
    ConstrainedRRTConnect,
    Environment,
    OmplPlanner,
    RRTConnect,
    ruckig_law,
    shortened,
    smooth_curve,
    time_optimal,
)
from kido.planning.curves import SpaceSpline
from kido.planning.samples import Samples
from kido.shapes import Box


def flying(size=(0.6, 0.05, 0.3)) -> kido.Skeleton:
    skeleton = kido.Skeleton("flying")
    skeleton.add_body("plate", kido.FreeJoint(name="f"), None, INERTIA).add_shape(Box(size))
    for dof in skeleton.dofs[3:]:
        dof.position_lower_limit, dof.position_upper_limit = -1.0, 1.0
    return skeleton


def ball_joint() -> kido.Skeleton:
    skeleton = kido.Skeleton("arm")
    skeleton.add_body("rod", kido.BallJoint(name="b"), None, INERTIA).add_shape(Box((0.05, 0.05, 0.8)), [0, 0, 0.45])
    return skeleton


def wheel() -> kido.Skeleton:
    """A rod that turns about the vertical without limits."""
    skeleton = kido.Skeleton("wheel")
    joint = kido.RevoluteJoint(axis=(0, 0, 1), name="turn")
    skeleton.add_body("rod", joint, None, INERTIA).add_shape(Box((0.8, 0.05, 0.05)), [0.45, 0.0, 0.0])
    return skeleton


def random_states(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.concatenate([Rotation.random(n, rng=rng).as_rotvec(), rng.uniform(-0.8, 0.8, (n, 3))], axis=1)


def test_ways_are_the_shortest():
    """Distances by angles of relative rotations; at a share of the way as SciPy's Slerp has it."""
    space, rng = CollisionChecker(flying()).space, np.random.default_rng(0)
    A, B = random_states(rng, 200), random_states(rng, 200)
    a, b = Rotation.from_rotvec(A[:, :3]), Rotation.from_rotvec(B[:, :3])
    truth = np.hypot((a.inv() * b).magnitude(), np.linalg.norm(A[:, 3:] - B[:, 3:], axis=1))
    assert space.distances(A, B) == pytest.approx(truth, abs=1e-12)
    between = space.at(A, space.ways(A, B), np.full(200, 0.3))
    for k in range(200):
        slerp = Slerp([0.0, 1.0], Rotation.concatenate([a[k], b[k]]))(0.3)
        assert (slerp.inv() * Rotation.from_rotvec(between[k, :3])).magnitude() < 1e-7  # as acos has it
        assert between[k, 3:] == pytest.approx(0.7 * A[k, 3:] + 0.3 * B[k, 3:])
    hinge = CollisionChecker(wheel()).space
    x, y = rng.uniform(-20.0, 20.0, (2, 300, 1))
    angle = np.arccos(np.cos(x - y))[:, 0]
    assert hinge.distances(x, y) == pytest.approx(angle, abs=1e-6)
    assert np.cos(hinge.at(x, hinge.ways(x, y))) == pytest.approx(np.cos(y))


def test_samples_are_spread_over_all_rotations():
    """Angles of even rotations have the distribution (x - sin x) / pi; axes are even on the sphere."""
    q = Samples(CollisionChecker(ball_joint()), 0).take(12)
    angle = np.linalg.norm(q, axis=1)
    assert scipy.stats.kstest(angle, lambda x: (x - np.sin(x)) / np.pi).statistic < 0.02
    axis = q / angle[:, None]
    assert np.abs(axis.mean(axis=0)).max() < 0.03
    assert axis.T @ axis / len(q) == pytest.approx(np.eye(3) / 3, abs=0.02)


@pytest.mark.parametrize("certified", [False, True])
def test_edges_are_along_the_shortest_ways(certified):
    """Refused if and only if some of many states on the way touch, but for what lies between samples or is near."""
    room = Environment().add("box", Box((0.3, 0.3, 0.3)))
    checker = CollisionChecker(flying(), room, certified=certified)
    rng = np.random.default_rng(1)
    A, B = random_states(rng, 400), random_states(rng, 400)
    B = checker.space.at(A, checker.space.ways(A, B), np.full(400, 0.4))
    kept = checker.states_are_free(A)
    A, B = A[kept], B[kept]
    free = checker.edges_are_free(A, B)
    s = np.linspace(0.0, 1.0, 801)
    ways = checker.space.ways(A, B)
    share = np.array([checker.states_are_free(checker.space.at(a, w, s)).mean() for a, w in zip(A, ways, strict=True)])
    assert (share[~free] < 1.0).mean() > 0.97 and 0.2 < free.mean() < 0.95
    if certified:
        assert (share[free] == 1.0).all()
    else:
        assert (share[~free] < 1.0).all()
        assert ((1.0 - share[free]) * np.linalg.norm(ways[free], axis=1) < 1 / 32 + 2 / 801 * 4).all()


def test_hinges_turn_the_shorter_way_round():
    checker = CollisionChecker(wheel(), certified=True)
    path = RRTConnect(checker).plan([3.0], [-3.0])
    assert path.length == pytest.approx(2 * np.pi - 6.0) and path.states[-1, 0] == pytest.approx(2 * np.pi - 3.0)
    assert path.at(0.5)[0] == pytest.approx(np.pi)
    room = Environment().add("post", Box((0.1, 0.1, 0.1)), [-0.7, 0.0, 0.0])
    checker.environment = room
    for planner in (RRTConnect(checker), PRM(checker, nodes=64), AITStar(checker, max_nodes=1000)):
        path = planner.plan([2.5], [-2.5 - 4 * np.pi])
        assert path.length == pytest.approx(5.0, rel=1e-6)  # the other way round
        assert (
            path.states[-1, 0] == pytest.approx(-2.5) and checker.states_are_free(path.at(np.linspace(0, 1, 400))).all()
        )
        assert np.abs(np.diff(path.states[:, 0])).max() < np.pi


def test_ball_joints_turn_straight():
    checker = CollisionChecker(ball_joint(), certified=True)
    a, b = Rotation.from_rotvec([0.0, 0.0, 3.0]), Rotation.from_rotvec([0.0, 0.4, -3.0])
    angle = (a.inv() * b).magnitude()
    for planner in (RRTConnect(checker), AITStar(checker)):
        path = planner.plan(a.as_rotvec(), b.as_rotvec())
        assert angle < 1.0 and path.length == pytest.approx(angle) and len(path) == 2
        middle = Rotation.from_rotvec(path.at(0.5))
        assert (a.inv() * middle).magnitude() == pytest.approx(0.5 * angle)
        assert (middle.inv() * b).magnitude() == pytest.approx(0.5 * angle)


def slotted(height: float) -> CollisionChecker:
    """An upright plate of 0.3 m, 0.05 m thick, and a slot that is too low for it."""
    room = Environment()
    for name, side in (("below", -1.0), ("above", 1.0)):
        room.add(name, Box((0.1, 4.0, 2.0)), [0.0, 0.0, side * (1.0 + 0.5 * height)])
    return CollisionChecker(flying((0.3, 0.05, 0.3)), room, certified=True)


def test_a_plate_turns_to_fly_through_a_slot():
    checker, start, goal = slotted(0.12), [0, 0, 0, -0.7, 0, 0], [0, 0, 0, 0.7, 0, 0]
    assert not checker.edge_is_free(start, goal)
    path = RRTConnect(checker, seed=1).plan(start, goal, max_seconds=60.0)
    assert checker.states_are_free(path.at(np.linspace(0.0, 1.0, 2001))).all()
    short = shortened(checker, path)
    assert short.length <= path.length and checker.states_are_free(short.at(np.linspace(0.0, 1.0, 2001))).all()
    inside = [q for q in short.at(np.linspace(0.0, 1.0, 2001)) if abs(q[3]) < 0.02]
    normals = [Rotation.from_rotvec(q[:3]).apply([0.0, 1.0, 0.0]) for q in inside]
    assert inside and min(abs(n[2]) for n in normals) > 0.9  # it lies flat there
    checker = slotted(0.25)
    roadmap = PRM(checker, nodes=2000).plan(start, goal, max_seconds=60.0)
    best = AITStar(checker, batch=500).plan(start, goal, max_seconds=60.0, max_batches=8)
    for found in (roadmap, best):
        assert checker.states_are_free(found.at(np.linspace(0.0, 1.0, 2001))).all()
    assert (np.diff(best.costs) <= 0.0).all()
    assert best.length < min(path.length, roadmap.length)


def states_near(skeleton: kido.Skeleton, rng: np.random.Generator, n: int) -> np.ndarray:
    return random_states(rng, n) if skeleton.num_dofs == 6 else random_states(rng, n)[:, :3]


@pytest.mark.parametrize("made", [flying, ball_joint])
def test_curves_are_smooth_motions(made):
    """Derivatives of states, rotations and places as the skeleton moves, by differences; ends and continuity."""
    skeleton = made()
    checker = CollisionChecker(skeleton)
    curve = SpaceSpline(checker.space, states_near(skeleton, np.random.default_rng(4), 8))
    s = np.concatenate([np.linspace(0.01, 0.99, 60), curve.t[4:-4]])  # at knots too, where a derivative may jump
    h, body = 1e-5, skeleton.bodies[0]

    def pose(x: float) -> np.ndarray:
        skeleton.positions = curve(x)
        return np.array(body.world_transform)

    for x in s:
        X, before, after = pose(x), pose(x - h), pose(x + h)
        w = Rotation.from_matrix(before[:3, :3].T @ after[:3, :3]).as_rotvec() / (2 * h)
        v = X[:3, :3].T @ (after[:3, 3] - before[:3, 3]) / (2 * h)
        assert curve(x, 1) == pytest.approx(np.concatenate([w, v])[: skeleton.num_dofs], abs=1e-6)
    for order in (2, 3):
        inner = np.linspace(0.01, 0.99, 60)  # the third jumps at knots
        by_difference = (curve(inner + h, order - 1) - curve(inner - h, order - 1)) / (2 * h)
        assert np.abs(curve(inner, order) - by_difference).max() < 1e-6 * np.abs(by_difference).max()
    knots = curve.t[4:-4]
    assert curve(knots - 1e-9, 2) == pytest.approx(curve(knots + 1e-9, 2), abs=1e-3)


def test_planned_rotations_become_motions():
    """A plate through a slot: path, smooth curve, time law; free all along, at rest at both ends, within limits."""
    checker, start, goal = slotted(0.25), [0, 0, 0, -0.7, 0, 0], [0, 0, 0, 0.7, 0, 0]
    path = shortened(checker, RRTConnect(checker, seed=1).plan(start, goal, max_seconds=60.0))
    curve = smooth_curve(checker, path)
    law = time_optimal(curve, 400, velocity=2.0, acceleration=5.0)
    t = np.linspace(0.0, law.duration, 2000)
    assert checker.states_are_free(law.positions(t)).all()
    assert checker.space.distances(law.positions(t[[0, -1]]), [start, goal]) == pytest.approx(0.0, abs=1e-9)
    assert np.abs(law.velocities(t)).max() < 2.0 + 1e-3 and np.abs(law.velocities(t[[0, -1]])).max() < 1e-9
    assert np.abs(law.accelerations(t)).max() < 5.0 * 1.02  # between points of the grid
    forces = np.array([12.0] * 3 + [25.0] * 3)
    law = time_optimal(curve, 400, velocity=2.0, force=forces, skeleton=checker.skeleton)
    skeleton = checker.skeleton
    most = 0.0
    for x, u, a in zip(law.positions(t), law.velocities(t), law.accelerations(t), strict=True):
        most = max(most, np.abs(skeleton.inverse_dynamics(x, u, a) / forces).max())
    assert 0.97 < most < 1.02


def test_tasks_are_met_on_the_way_by_ball_joints():
    """A ball joint whose rod's tip stays at a height: from one side to the other, round a post."""
    skeleton = ball_joint()
    tip = skeleton.add_body(
        "tip", kido.WeldJoint(transform_from_parent=(0.0, 0.0, 0.85)), skeleton.body("rod"), INERTIA
    )
    room = Environment().add("post", Box((0.1, 0.1, 3.0)), [0.5, 0.0, 0.0])
    checker = CollisionChecker(skeleton, room)
    target, free = np.eye(4), [np.inf, np.inf, 0.0]
    target[2, 3] = 0.5
    task = kido.ik.Task.position(tip, target, bounds=[np.negative(free), free])
    planner = ConstrainedRRTConnect(checker, kido.IkSolver([task], dofs=[0, 1, 2], attempts=1), seed=2)
    ends: list[Any] = [planner.project(Rotation.from_euler("ZY", [z, 0.9]).as_rotvec()) for z in (-0.8, 0.8)]
    path = planner.plan(*ends, max_seconds=60.0)
    q = path.at(np.linspace(0.0, 1.0, 300))
    assert checker.states_are_free(q).all()
    heights = []
    for x in q:
        skeleton.positions = x
        heights.append(tip.world_transform[2, 3])
    assert np.abs(np.array(heights) - 0.5).max() < 2e-3  # between states by some share of the step squared
    assert checker.space.distances(path.states[[0, -1]], ends) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("made", [flying, ball_joint, wheel])
def test_planners_of_ompl_turn_too(made):
    pytest.importorskip("ompl")
    skeleton = made()
    room = Environment().add("post", Box((0.1, 0.1, 0.1)), [-0.7, 0.0, 0.0])
    checker = CollisionChecker(skeleton, room)
    rng, n = np.random.default_rng(6), skeleton.num_dofs
    q = rng.uniform(-9.0, 9.0, (40, 1)) if n == 1 else states_near(skeleton, rng, 40)
    start, goal = q[checker.states_are_free(q)][:2]
    path = OmplPlanner(checker).plan(start, goal)
    assert checker.space.distances(path.states[[0, -1]], [start, goal]) == pytest.approx(0.0, abs=1e-9)
    assert checker.states_are_free(path.at(np.linspace(0.0, 1.0, 500))).all()


def test_mistakes_are_named():
    skeleton = ball_joint()
    names = [dof.name for dof in skeleton.dofs]
    with pytest.raises(kido.ModelError, match="one after the other"):
        CollisionChecker(skeleton, dofs=names[:2])
    with pytest.raises(kido.ModelError, match="one after the other"):
        CollisionChecker(skeleton, dofs=names[::-1])
    limited = ball_joint()
    limited.dofs[1].position_upper_limit = 1.0
    with pytest.raises(kido.ModelError, match="without"):
        CollisionChecker(limited)
    pytest.importorskip("ruckig")
    path = RRTConnect(CollisionChecker(skeleton)).plan([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    with pytest.raises(kido.ModelError, match="ruckig_law: the path has rotations"):
        ruckig_law(path, velocity=1.0, acceleration=1.0, jerk=1.0)


@pytest.mark.parametrize("planner", [RRTConnect, PRM, AITStar, OmplPlanner])
def test_paths_begin_at_the_start_though_it_is_turns_away(planner):
    if planner is OmplPlanner:
        pytest.importorskip("ompl")
    path = planner(CollisionChecker(wheel())).plan([8.0], [11.5])
    assert path.states[0, 0] == 8.0 and path.states[-1, 0] == pytest.approx(11.5 - 2 * np.pi * (path.states[-1, 0] < 9))
    assert path.length == pytest.approx(2 * np.pi - 3.5, abs=1e-9) or path.length == pytest.approx(3.5, abs=1e-9)
