"""Hinges without limits, ball and free joints: shortest ways by rotations themselves, states along edges, paths."""

from __future__ import annotations

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
    shortened,
    smooth_curve,
)
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
    checker = CollisionChecker(skeleton)
    path = RRTConnect(checker).plan([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    with pytest.raises(kido.ModelError, match="smooth_curve"):
        smooth_curve(checker, path)
    with pytest.raises(kido.ModelError, match="ConstrainedRRTConnect"):
        ConstrainedRRTConnect(checker, kido.IkSolver(skeleton.body("rod")))
    pytest.importorskip("ompl")
    with pytest.raises(kido.ModelError, match="OmplPlanner"):
        OmplPlanner(checker)
