"""World, simple and fixed frames, shapes as frames, and a frame class of one's own."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import RigidTransform, Rotation

import kido
from trees import SEEDS, random_skeleton, random_state, random_transform

# Five-point stencils at h = 0.01 s: truncation is of the size h^4 = 1e-8 times a fifth or sixth derivative of
# motions of a few rad/s (up to 50), cancellation 1e-16 / h^2 = 1e-12.
STENCIL_ERROR = 2e-6
H = 0.01


class Turntable(kido.Frame):
    """A disc that swings about z, driven by time: angle = 0.5 sin(2 t)."""

    def __init__(self, parent: kido.Frame | None = None, name: str = "turntable"):
        super().__init__(parent, name)
        self._time = 0.0
        self.asked = 0

    @property
    def time(self) -> float:
        """[s]"""
        return self._time

    @time.setter
    def time(self, value: float) -> None:
        self._time = value
        self.transform_changed()
        self.velocity_changed()
        self.acceleration_changed()

    @property
    def relative_transform(self) -> np.ndarray:
        """Pose on the parent."""
        self.asked += 1
        X = np.eye(4)
        X[:3, :3] = Rotation.from_rotvec([0.0, 0.0, 0.5 * math.sin(2.0 * self._time)]).as_matrix()
        return X

    @property
    def relative_spatial_velocity(self) -> np.ndarray:
        """About z."""
        return np.array([0.0, 0.0, math.cos(2.0 * self._time), 0.0, 0.0, 0.0])

    @property
    def relative_spatial_acceleration(self) -> np.ndarray:
        """About z."""
        return np.array([0.0, 0.0, -2.0 * math.sin(2.0 * self._time), 0.0, 0.0, 0.0])


def first(samples: list[np.ndarray]) -> np.ndarray:
    """Derivative at the middle of five samples."""
    a, b, _, d, e = samples
    return (a - 8.0 * b + 8.0 * d - e) / (12.0 * H)


def second(samples: list[np.ndarray]) -> np.ndarray:
    """Second derivative at the middle of five samples."""
    a, b, c, d, e = samples
    return (-a + 16.0 * b - 30.0 * c + 16.0 * d - e) / (12.0 * H * H)


def refused(message: str, act) -> None:
    with pytest.raises(kido.ModelError, match=re.escape(message)):
        act()


# A frame class of one's own ------------------------------------------------------------------------------


@given(SEEDS)
def test_turntables_against_finite_differences(seed: int) -> None:
    """A frame on a turntable on a turntable, and a point at rest, seen from each other: numbers from poses alone."""
    rng = np.random.default_rng(seed)
    lower = Turntable(kido.FixedFrame(None, random_transform(rng)), "lower")
    upper = Turntable(kido.FixedFrame(lower, random_transform(rng)), "upper")
    rider = kido.FixedFrame(upper, random_transform(rng))
    still = kido.SimpleFrame(None, "still", random_transform(rng))
    t, offset = rng.uniform(0.0, 3.0), rng.normal(size=3)

    def move(time: float) -> None:
        lower.time, upper.time = time, 1.0 + 1.5 * time

    # The upper one runs 1.5 times as fast as its own clock says: tell it so by a simple frame's numbers instead.
    swing = kido.SimpleFrame(kido.FixedFrame(lower, upper.parent_frame.relative_transform), "swing")
    on_swing = kido.FixedFrame(swing, rider.relative_transform)
    for B, A in ((rider, still), (still, rider), (lower, still), (still, lower), (rider, lower), (lower, rider)):
        places, turns = [], []
        for k in (-2, -1, 0, 1, 2):
            move(t + k * H)
            X = B.transform(A)
            places.append(X[:3, :3] @ offset + X[:3, 3])
            turns.append(X[:3, :3])
        move(t)
        swing.relative_transform = upper.relative_transform
        swing.relative_spatial_velocity = 1.5 * upper.relative_spatial_velocity
        swing.relative_spatial_acceleration = 2.25 * upper.relative_spatial_acceleration
        B, A = (on_swing if f is rider else f for f in (B, A))
        v, a = B.linear_velocity(offset, A, A), B.linear_acceleration(offset, A, A)
        assert_allclose(v, first(places), atol=STENCIL_ERROR)
        assert_allclose(a, second(places), atol=STENCIL_ERROR)
        w, wdot = B.angular_velocity(A, A), B.angular_acceleration(A, A)
        spin = first(turns) @ turns[2].T
        assert_allclose(w, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=STENCIL_ERROR)
        rate = second(turns) @ turns[2].T - spin @ spin
        assert_allclose(wdot, [rate[2, 1], rate[0, 2], rate[1, 0]], atol=STENCIL_ERROR)


def test_what_did_not_change_is_not_evaluated_again() -> None:
    table, other = Turntable(), Turntable()
    target = kido.SimpleFrame(table, "target", (1.0, 0.0, 0.0))
    for _ in range(3):
        target.linear_acceleration(relative_to=other)
        with pytest.raises(kido.ReadOnlyError):
            target.world_transform.fill(0.0)
    assert (table.asked, other.asked) == (1, 1)
    target.relative_translation = (2.0, 0.0, 0.0)
    target.set_classic_derivatives(linear_velocity=(1.0, 0.0, 0.0))
    assert_array_equal(target.linear_acceleration(), [-2.0, 2.0, 0.0])  # centripetal and Coriolis at 1 rad/s
    assert (table.asked, other.asked) == (1, 1)
    table.time = 1.0
    assert target.spatial_velocity.any()
    assert (table.asked, other.asked) == (2, 1)


def test_a_class_of_ones_own_that_answers_nonsense() -> None:
    class Wrong(Turntable):
        @property
        def relative_transform(self):
            return np.ones((4, 4))

    class Short(Turntable):
        @property
        def relative_spatial_velocity(self):
            return [1.0, 2.0]

    refused("Wrong 'a': relative_transform: the last row", lambda: Wrong(None, "a").world_transform)
    refused("Short 'b': relative_spatial_velocity: expected 6 numbers", lambda: Short(None, "b").spatial_velocity)
    with pytest.raises(TypeError, match="abstract"):
        kido.Frame()  # type: ignore[abstract]


@dataclass
class Slider(kido.Frame):
    """A frame that is a dataclass, so compares by value and has no hash; it moves along x at 2 m/s."""

    place: float = 0.0

    @property
    def relative_transform(self) -> np.ndarray:
        """At `place`."""
        return RigidTransform.from_translation((self.place, 0, 0)).as_matrix()

    @property
    def relative_spatial_velocity(self) -> np.ndarray:
        """Along x."""
        return np.array([0, 0, 0, 2, 0, 0])

    @property
    def relative_spatial_acceleration(self) -> np.ndarray:
        """None."""
        return np.zeros(6)


def test_a_dataclass_without_a_constructor_of_its_own_is_a_frame_in_the_world() -> None:
    one, two = Slider(1.0), Slider(1.0)
    assert one.parent_frame is kido.WORLD_FRAME and one == two
    on_one, on_two = kido.SimpleFrame(one), kido.SimpleFrame(two)
    assert list(one.child_frames) == [on_one] and list(two.child_frames) == [on_two]
    two.parent_frame = one
    assert_array_equal(on_two.world_transform[:3, 3], [2, 0, 0])
    assert_array_equal(on_two.linear_velocity(), [4, 0, 0])
    assert list(one.child_frames) == [on_one, two]


# The world frame -----------------------------------------------------------------------------------------


def test_there_is_one_world_frame() -> None:
    world = kido.WORLD_FRAME
    assert kido.Frame.world() is world and kido.WorldFrame() is world
    assert copy.copy(world) is world and copy.deepcopy(world) is world and pickle.loads(pickle.dumps(world)) is world
    assert world.parent_frame is world and world.name == "world"
    assert_array_equal(world.world_transform, np.eye(4))
    with pytest.raises(kido.ReadOnlyError):
        world.world_transform[0, 0] = 2.0
    assert_array_equal(world.relative_transform, world.world_transform)
    for twist in (world.spatial_velocity, world.spatial_acceleration, world.relative_spatial_velocity):
        assert_array_equal(twist, np.zeros(6))
    assert_array_equal(world.primary_relative_acceleration + world.partial_acceleration, np.zeros(6))
    refused("the world frame hangs on nothing", lambda: setattr(world, "parent_frame", None))
    with pytest.raises(AttributeError):
        world.relative_transform = np.eye(4)  # type: ignore[misc]


# Simple frames -------------------------------------------------------------------------------------------


@given(SEEDS)
def test_poses_of_a_simple_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(seed, 3)
    skeleton.positions = random_state(skeleton, seed)[0]
    body = skeleton.bodies[-1]
    frame, other = kido.SimpleFrame(body, "frame"), kido.SimpleFrame(skeleton.bodies[0], "other", (1, 2, 3))
    X = random_transform(rng)
    for value in (X, RigidTransform.from_matrix(X)):
        frame.world_transform = value
        assert_allclose(frame.world_transform, X, atol=1e-13)
        assert_allclose(body.world_transform @ frame.relative_transform, X, atol=1e-13)
        frame.set_transform(value, with_respect_to=other)
        assert_allclose(frame.transform(other), X, atol=1e-13)
        frame.set_transform(value, with_respect_to=body)
        assert_allclose(frame.relative_transform, X, atol=1e-15)
        frame.relative_transform = value
        assert_allclose(frame.relative_transform, X, atol=1e-15)
    frame.relative_translation = (4, 5, 6)
    assert_array_equal(frame.relative_transform[:3, 3], [4, 5, 6])
    R = Rotation.from_rotvec((0.1, 0.2, 0.3))
    for value in (R, R.as_matrix()):
        frame.relative_rotation = value
        assert_array_equal(frame.relative_rotation, R.as_matrix())
        assert_array_equal(frame.relative_translation, [4, 5, 6])


@given(SEEDS)
def test_motion_of_a_simple_frame(seed: int) -> None:
    """Own axes unless told; always relative to the parent. Classic vectors are in the parent's axes."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(seed, 3)
    q, u, udot, _ = random_state(skeleton, seed)
    skeleton.positions, skeleton.velocities, skeleton.accelerations = q, u, udot
    body, other = skeleton.bodies[-1], kido.SimpleFrame(None, "other", random_transform(rng))
    frame = kido.SimpleFrame(body, "frame", random_transform(rng))
    V, A = rng.normal(size=(2, 6))
    for axes in (None, frame, body, other, kido.WORLD_FRAME):
        frame.set_relative_spatial_velocity(V, in_coordinates_of=axes)
        frame.set_relative_spatial_acceleration(A, in_coordinates_of=axes)
        axes = frame if axes is None else axes
        found = frame.compute_spatial_velocity(relative_to=body, in_coordinates_of=axes)
        assert_allclose(found, V, atol=1e-12)
        found = frame.compute_spatial_acceleration(relative_to=body, in_coordinates_of=axes)
        assert_allclose(found, A, atol=1e-11)
    v, w, a, e = rng.normal(size=(4, 3))
    frame.set_classic_derivatives(v, w, a, e)
    assert_allclose(frame.linear_velocity(relative_to=body, in_coordinates_of=body), v, atol=1e-12)
    assert_allclose(frame.angular_velocity(body, body), w, atol=1e-12)
    assert_allclose(frame.linear_acceleration(relative_to=body, in_coordinates_of=body), a, atol=1e-11)
    assert_allclose(frame.angular_acceleration(body, body), e, atol=1e-11)
    frame.set_classic_derivatives()
    assert not frame.relative_spatial_velocity.any() and not frame.relative_spatial_acceleration.any()


def test_an_example_by_hand() -> None:
    """A frame 1 m out on an arm that turns at 2 rad/s about z, as seen from the world and from the arm."""
    arm = kido.Skeleton("arm")
    body = arm.add_body("link", kido.RevoluteJoint(axis=(0, 0, 1)), inertia=kido.Inertia.from_diagonal(1, [1, 1, 1]))
    tip = kido.FixedFrame(body, (1.0, 0.0, 0.0), "tip")
    bug = kido.SimpleFrame(None, "bug", (3.0, 0.0, 0.0))  # at rest in the world
    arm.velocities = [2.0]
    assert_array_equal(tip.linear_velocity(), [0, 2, 0])
    assert_array_equal(tip.linear_acceleration(), [-4, 0, 0])
    assert_array_equal(tip.linear_velocity(relative_to=body), [0, 0, 0])
    assert_array_equal(bug.linear_velocity(relative_to=body), [0, -6, 0])
    assert_array_equal(bug.linear_acceleration(relative_to=body), [-12, 0, 0])  # it circles backwards around the arm
    assert_array_equal(bug.linear_velocity(relative_to=tip), [0, -6, 0])  # the tip turns too
    arm.positions = [math.pi / 2]
    assert_allclose(bug.linear_velocity(relative_to=body, in_coordinates_of=body), [-6, 0, 0], atol=1e-15)
    assert_allclose(tip.transform(bug, kido.WORLD_FRAME)[:3, 3], [-3, 1, 0], atol=1e-15)


def test_mistakes_are_refused_and_change_nothing() -> None:
    frame, child = kido.SimpleFrame(name="frame"), kido.SimpleFrame(name="child")
    child.parent_frame = frame
    before = pickle.dumps(frame)
    for message, act in (
        ("SimpleFrame 'frame': relative_transform: expected a 4x4", lambda: setattr(frame, "relative_transform", "x")),
        ("SimpleFrame 'frame': transform: expected finite", lambda: setattr(frame, "world_transform", [np.nan, 0, 0])),
        ("SimpleFrame 'frame': relative_translation", lambda: setattr(frame, "relative_translation", [1, 2])),
        ("SimpleFrame 'frame': relative_rotation: expected a 3x3", lambda: setattr(frame, "relative_rotation", [1, 2])),
        ("SimpleFrame 'frame': velocity: expected 6", lambda: frame.set_relative_spatial_velocity([1.0])),
        ("SimpleFrame 'frame': acceleration: expected finite",
         lambda: frame.set_relative_spatial_acceleration([np.inf] * 6)),
        ("SimpleFrame 'frame': angular_velocity", lambda: frame.set_classic_derivatives((1, 2, 3), "x")),
        ("SimpleFrame 'frame': in_coordinates_of: expected a frame or None",
         lambda: frame.angular_velocity(None, "world")),
        ("SimpleFrame 'frame': relative_to: expected a frame or None", lambda: frame.linear_velocity(relative_to=3)),
        ("SimpleFrame 'frame': with_respect_to: expected a frame", lambda: frame.transform("body")),
        ("SimpleFrame 'frame': offset: expected 3", lambda: frame.linear_velocity([1.0])),
        ("SimpleFrame 'frame': cannot be put with respect to SimpleFrame 'child', which hangs on it",
         lambda: frame.set_transform(None, child)),
        ("SimpleFrame 'frame': parent: expected a frame or None", lambda: setattr(frame, "parent_frame", "world")),
        ("SimpleFrame 'frame': name: expected a text", lambda: setattr(frame, "name", 3)),
        ("frame: name: expected a text", lambda: kido.SimpleFrame(None, 3)),
    ):  # fmt: skip
        refused(message, act)
    assert pickle.dumps(frame) == before
    refused("FixedFrame 'x': transform", lambda: kido.FixedFrame(None, np.zeros((4, 4)), "x"))
    with pytest.raises(AttributeError):
        kido.FixedFrame().relative_transform = np.eye(4)  # type: ignore[misc]


# The tree of frames --------------------------------------------------------------------------------------


def test_a_new_parent() -> None:
    rng = np.random.default_rng(1)
    a, b = (kido.SimpleFrame(None, n, random_transform(rng)) for n in "ab")
    c = kido.SimpleFrame(a, "c", random_transform(rng))
    relative, placed = c.relative_transform, c.world_transform
    assert list(a.child_frames) == [c] and list(b.child_frames) == [] and c.descends_from(a) and not c.descends_from(b)
    c.parent_frame = b
    assert list(a.child_frames) == [] and list(b.child_frames) == [c] and c.parent_frame is b
    assert_array_equal(c.relative_transform, relative)
    assert_allclose(c.world_transform, b.world_transform @ relative, atol=1e-15)
    c.set_parent_frame(a)
    assert_array_equal(c.relative_transform, relative)
    assert_allclose(c.world_transform, placed, atol=1e-15)
    c.set_parent_frame(b, keep_world_transform=True)
    assert_allclose(c.world_transform, placed, atol=1e-15)
    c.set_parent_frame(None, keep_world_transform=True)
    assert c.parent_frame is kido.WORLD_FRAME
    assert_allclose(c.relative_transform, placed, atol=1e-15)


def test_cycles_are_refused_by_name() -> None:
    a = kido.SimpleFrame(name="a")
    b = kido.FixedFrame(a, name="b")
    c = kido.SimpleFrame(b, "c")
    chain = "SimpleFrame 'c' on FixedFrame 'b' on SimpleFrame 'a' on SimpleFrame 'c'"
    refused(f"SimpleFrame 'a': cannot hang on SimpleFrame 'c', which hangs on it: {chain}",
            lambda: setattr(a, "parent_frame", c))  # fmt: skip
    refused("SimpleFrame 'a' on SimpleFrame 'a'", lambda: a.set_parent_frame(a))
    assert a.parent_frame is kido.WORLD_FRAME


def test_children_of_bodies() -> None:
    skeleton = random_skeleton(3, 4)
    root = skeleton.bodies[0]
    node = root.add_shape(kido.Sphere(0.1))
    frame = kido.SimpleFrame(root, "frame")
    assert list(root.child_frames) == [*root.children, node, frame]
    assert root.parent_frame is kido.WORLD_FRAME and node.parent_frame is root and node.body is root
    for child in root.children:
        assert child.parent_frame is root
    root.remove_shape(node)
    assert list(root.child_frames) == [*root.children, frame]
    del frame
    gc.collect()
    assert root.child_frames == root.children  # a body does not keep the frames on it alive
    refused("body 'b0': a body's parent is not set", lambda: setattr(root, "parent_frame", None))
    refused("stays on its body", lambda: setattr(node, "parent_frame", None))


def test_shapes_are_frames() -> None:
    skeleton = random_skeleton(5, 4)
    skeleton.positions, skeleton.velocities = random_state(skeleton, 5)[:2]
    body = skeleton.bodies[2]
    X = random_transform(np.random.default_rng(5))
    node = body.add_shape(kido.Box((1, 2, 3)), X)
    assert_allclose(node.world_transform, body.world_transform @ X, atol=1e-14)
    assert_allclose(node.linear_velocity(), body.linear_velocity(X[:3, 3]), atol=1e-13)
    node.relative_transform = (1.0, 0.0, 0.0)
    assert_allclose(node.world_transform[:3, 3], body.world_transform[:3] @ [1, 0, 0, 1], atol=1e-14)
    assert_array_equal(node.transform(body)[:3, 3].round(14), [1, 0, 0])


# Copies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.copy, kido.SimpleFrame.clone], ids=["copy", "clone"])
def test_a_copy_hangs_on_the_same_parent_and_is_independent(duplicate) -> None:
    parent = kido.SimpleFrame(None, "parent", (1, 0, 0))
    frame = kido.SimpleFrame(parent, "frame", (0, 1, 0))
    frame.set_classic_derivatives((1, 2, 3), (4, 5, 6))
    twin = duplicate(frame)
    assert twin.parent_frame is parent and list(parent.child_frames) == [frame, twin] and twin.name == "frame"
    assert_array_equal(twin.world_transform, frame.world_transform)
    assert_array_equal(twin.spatial_velocity, frame.spatial_velocity)
    twin.relative_translation, twin.relative_spatial_velocity = (5, 5, 5), np.ones(6)
    assert_array_equal(frame.relative_translation, [0, 1, 0])
    assert_array_equal(frame.angular_velocity(), [4, 5, 6])
    parent.relative_translation = (2, 0, 0)
    assert_array_equal(twin.world_transform[:3, 3], [7, 5, 5])
    assert frame.clone(twin).parent_frame is twin
    assert kido.FixedFrame(parent, (1, 1, 1)).clone().parent_frame is parent


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))], ids=["deep", "pickle"])
def test_a_deep_copy_takes_what_it_hangs_on_along(duplicate) -> None:
    skeleton = random_skeleton(7, 4)
    skeleton.positions, skeleton.velocities = random_state(skeleton, 7)[:2]
    table = Turntable(skeleton.bodies[3])
    frame = kido.SimpleFrame(table, "frame", (0, 1, 0))
    X, V = frame.world_transform, frame.spatial_velocity
    twin = duplicate(frame)
    body = twin.parent_frame.parent_frame
    assert isinstance(twin.parent_frame, Turntable) and body.name == "b3" and body.skeleton is not skeleton
    assert body.child_frames[-1] is twin.parent_frame and list(twin.parent_frame.child_frames) == [twin]
    body.skeleton.positions += 1.0
    body.skeleton.positions = skeleton.positions
    assert_array_equal(twin.world_transform, X)
    assert_array_equal(twin.spatial_velocity, V)
    body.skeleton.positions = np.zeros(skeleton.num_dofs)
    assert_array_equal(frame.world_transform, X)
    assert not np.array_equal(twin.world_transform, X)


def test_frames_follow_a_skeleton_through_compilations_and_worlds() -> None:
    skeleton = random_skeleton(9, 4, kinds=("revolute", "free"))
    body = skeleton.bodies[-1]
    frame, child = kido.SimpleFrame(body, "frame", (1, 0, 0)), kido.SimpleFrame(None)
    child.parent_frame = frame

    def follows() -> None:
        X = body.world_transform.copy()
        X[:3, 3] += X[:3, 0]
        assert_allclose(child.world_transform, X, atol=1e-13)
        assert_allclose(child.linear_velocity(), body.linear_velocity((1, 0, 0)), atol=1e-12)

    follows()
    skeleton.positions = random_state(skeleton, 2)[0]
    follows()
    skeleton.add_body("new", parent=body, inertia=kido.Inertia.from_diagonal(1, [1, 1, 1]))
    follows()
    world = kido.World()
    world.add_skeleton(skeleton)
    for _ in range(3):
        world.step()
        follows()
    body.parent_joint.transform_from_parent = (0.0, 0.0, 3.0)
    follows()
    world.remove_skeleton(skeleton)
    skeleton.velocities = random_state(skeleton, 2)[1]
    follows()


def test_frames_follow_bodies_that_move_to_other_skeletons() -> None:
    """A body that is moved, split off or removed lives on in another skeleton, and so do the frames on it."""
    skeleton, other = random_skeleton(9, 5, kinds=("revolute", "free")), kido.Skeleton("other")
    body = skeleton.bodies[3]
    frame = kido.SimpleFrame(body, "frame", (1, 0, 0))
    before = frame.world_transform

    def follows() -> None:
        assert_allclose(frame.world_transform[:3, 3], body.world_transform[:3] @ [1, 0, 0, 1], atol=1e-14)
        assert_allclose(frame.linear_velocity(), body.linear_velocity((1, 0, 0)), atol=1e-12)

    body.move_to(other)
    follows()
    other.positions = random_state(other, 1)[0]
    follows()
    third = body.remove()
    assert body.skeleton is third and body.child_frames[-1] is frame
    third.velocities = random_state(third, 1)[1]
    follows()
    assert not np.array_equal(frame.world_transform, before)


def test_a_fixed_frame_that_its_class_moves() -> None:
    hand = kido.FixedFrame(None, (1, 0, 0), "hand")
    finger = kido.SimpleFrame(hand, "finger")
    assert finger.world_transform[0, 3] == 1.0
    hand._set_relative_transform((2, 0, 0))
    assert finger.world_transform[0, 3] == 2.0
    assert not finger.spatial_velocity.any()


def test_frames_on_a_node_that_was_removed_say_so() -> None:
    body = random_skeleton(9, 2).bodies[1]
    tip = body.create_node(kido.EndEffector, "tip", (1, 0, 0))
    frame = kido.SimpleFrame(tip, "frame")
    assert_allclose(frame.world_transform, tip.world_transform, atol=1e-15)
    tip.remove()
    for act in (lambda: frame.world_transform, lambda: tip.spatial_velocity, lambda: frame.transform(body)):
        refused("EndEffector('tip') is on no body: it was removed", act)
    frame.parent_frame = body
    assert_allclose(frame.world_transform, body.world_transform, atol=1e-15)


def test_chains_of_frames_may_be_longer_than_pythons_stack() -> None:
    frame = first = kido.SimpleFrame(transform=(0.0, 0.0, 0.001))
    for _ in range(2999):
        frame = kido.SimpleFrame(frame, transform=(0.0, 0.0, 0.001))
    assert abs(frame.world_transform[2, 3] - 3.0) < 1e-12
    first.set_classic_derivatives(angular_velocity=(1.0, 0.0, 0.0))
    assert abs(frame.linear_velocity()[1] + 2.999) < 1e-12
    assert abs(frame.linear_acceleration()[2] + 2.999) < 1e-12
