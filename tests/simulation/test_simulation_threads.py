"""Worlds stepped by several threads: the same bits as by one."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido import models
from kido.errors import ModelError, StateError
from kido.jit import JIT_DISABLED
from kido.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, MultiSphereHull, Sphere
from kido.simulation.midpoint_problem import BLOCKS_TOGETHER
from kido.simulation.threads import StepThreads, detect_in_threads
from kido.simulation.world_struct import WORLD
from kido.solvers import PGS

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="needs compiled threads")


def free_body(name: str, shape, position, velocity=(0.0, 0.0, 0.0), restitution: float = 0.0) -> kido.Skeleton:
    skeleton = kido.Skeleton(name)
    body = skeleton.add_body(name, joint=kido.FreeJoint(name), inertia=kido.Inertia(1.0, moment=0.01 * np.eye(3)))
    body.add_shape(shape, friction=0.6, restitution=restitution)
    skeleton.positions = [0.1, 0.2, 0.0, *position]
    skeleton.velocities = [1.0, 0.0, 2.0, *velocity]
    return skeleton


def mixed(robots: bool = True) -> kido.World:
    """Bodies of all kinds that fall on a plane, apart and on each other, some bouncing, and robots among them."""
    world = kido.World()
    world.add_ground()
    shapes = (Box((0.2, 0.2, 0.2)), Sphere(0.1), Capsule(0.08, 0.1), Cylinder(0.1, 0.2))
    for k in range(36):
        x, y = 0.5 * (k % 6), 0.5 * (k // 6)
        if k % 3 == 0:
            x, y = 0.5, 0.01 * k
        height = 0.15 + 0.02 * k
        world.add_skeleton(free_body(f"b{k}", shapes[k % 4], (x, y, height), (0, 0, -1), 0.5 * (k % 5 == 0)))
    if robots:
        for k in range(2):
            robot = kido.load_skeleton(models.path("quadruped"))
            q = robot.positions.copy()
            q[4] = 4.0 + k
            robot.positions = q
            world.add_skeleton(robot)
    return world


def state_of(world: kido.World) -> np.ndarray:
    return np.concatenate([np.concatenate([s.positions, s.velocities]) for s in world.skeletons])


@pytest.mark.parametrize("solver", [None, PGS(iterations=20)])
def test_bits_do_not_depend_on_threads(solver):
    first = mixed()
    if solver is not None:
        first.solver = solver
    found = []
    for threads in (1, 2, 3, 7):
        world = first.clone()
        world.threads = threads
        for n in (1, 99, 50):
            world.step(n)
        assert world.engine.feature(StepThreads).is_active == (threads > 1)
        found.append((state_of(world), world.contacts.forces, world.report, world.totals))
    for state, forces, report, totals in found[1:]:
        assert np.array_equal(state, found[0][0])
        assert np.array_equal(forces, found[0][1])
        assert report == found[0][2] and totals == found[0][3]
    assert len(found[0][1]) > 25


def test_bits_of_contacts_that_are_shared_out():
    """Boxes that slide, roll over each other and come to rest: threads make their contacts' rows and biases too."""
    found = []
    for threads in (1, 2, 5):
        world = kido.World()
        world.add_ground()
        for k in range(96):
            shape = Sphere(0.1) if k % 8 == 7 else Box((0.2, 0.2, 0.2))
            place = 0.26 * (k % 8), 0.26 * (k // 8 % 6), 0.12 + 0.22 * (k // 48)
            world.add_skeleton(free_body(f"b{k}", shape, place, (0.5 * (k % 3), 0.0, -0.5)))
        world.threads = threads
        most = 0
        for _ in range(8):
            world.step(50)
            most = max(most, len(world.contacts))
        assert most > 2 * BLOCKS_TOGETHER
        found.append((state_of(world), world.contacts.forces))
    for state, forces in found[1:]:
        assert np.array_equal(state, found[0][0]) and np.array_equal(forces, found[0][1])


def test_fields_of_a_step_are_apart():
    words = [field.word for field in WORLD.fields.values() if not field.is_array]
    assert words == list(range(WORLD.block_words))
    assert len(mixed(robots=False).engine.world.words_of_block()) == WORLD.block_words


def test_all_available_cores_and_small_worlds():
    world = mixed(robots=False)
    world.threads = None
    assert world.threads >= 1
    small = models.stack(3)
    small.threads = 4
    small.step(2)
    assert not small.engine.feature(StepThreads).is_active  # one thread is quicker


def test_threads_travel_and_change_in_between():
    world = mixed(robots=False)
    world.threads = 2
    world.step(5)
    twins = [world.clone(), copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    world.threads = 1
    world.step(20)
    for twin in twins:
        assert twin.threads == 2
        twin.step(20)
        assert np.array_equal(state_of(twin), state_of(world))


def test_what_fails_is_named_as_by_one_thread():
    messages = []
    for threads in (1, 3):
        world = mixed(robots=False)
        world.threads = threads
        for k in (30, 7):
            world.skeletons[k].velocities = np.full(6, 1e200)
        with pytest.raises(StateError) as raised:
            world.step(10)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "two", float("nan")])
def test_bad_numbers_of_threads(value):
    world = kido.World()
    with pytest.raises(ModelError, match="threads"):
        world.threads = value
    assert world.threads == 1


def heap(count: int, padding: float = 0.0, mesh: bool = False) -> kido.World:
    """Bodies of all convex shapes that fall on each other, so that threads take several chunks of pairs."""
    world = kido.World(time_step=2e-3)
    world.add_ground(friction=0.5)
    random = np.random.default_rng(5)
    shapes = [Box((0.2, 0.15, 0.1)), Sphere(0.1), Capsule(0.08, 0.2), Cylinder(0.1, 0.2), Ellipsoid((0.2, 0.3, 0.1))]
    shapes += [Cone(0.1, 0.2), MultiSphereHull([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0.1)], [0.05, 0.08, 0.03])]
    for k in range(count):
        s = kido.Skeleton(f"b{k}")
        body = s.add_body("b", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.005,) * 3))
        body.add_shape(shapes[k % len(shapes)], friction=0.5, padding=padding)
        world.add_skeleton(s)
        s.positions = [*random.normal(size=3), *random.uniform(-0.5, 0.5, 2), 0.2 + 0.02 * k]
    if mesh:
        floor = kido.Skeleton("floor")
        corners = np.array([[-2, -2, 0.05], [2, -2, 0.05], [2, 2, 0.05], [-2, 2, 0.05]], float)
        triangles = kido.Mesh(corners, [[0, 1, 2], [0, 2, 3]], collide_as="triangles")
        floor.add_body("floor", kido.WeldJoint()).add_shape(triangles)
        world.add_skeleton(floor)
    return world


@pytest.mark.parametrize(("padding", "mesh"), [(0.0, False), (0.01, False), (0.0, True)])
def test_contacts_are_the_same_whoever_finds_them(padding, mesh):
    """Pairs of convex shapes are shared out; with a mesh among the shapes one thread finds all contacts."""
    found = []
    for threads in (1, 2, 3):
        world = heap(160, padding, mesh)
        world.threads = threads
        world.step(200)
        c = world.engine.detector.container
        n = c.num_contacts
        assert n > 128
        assert (world.engine.world.detect.callback is detect_in_threads) == (threads > 1 and not mesh)
        fields = ("key", "gap", "point", "normal", "impulse", "matched", "same_feature", "local_a", "local_b")
        found.append([state_of(world), *(getattr(c, name)[:n].copy() for name in fields)])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
