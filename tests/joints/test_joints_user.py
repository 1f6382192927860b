"""Joints that users define: equal to built-in ones they imitate, right where they are new, refused where wrong."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import kido
from kido.errors import ModelError
from trees import EllipsoidJoint, Reference, RollingKnee, random_inertia, random_state, random_transform, relative_error


class Helix(kido.UserJoint):
    """A screw joint."""

    def __init__(self, name=None, axis=(0.0, 0.0, 1.0), pitch=0.1, **options):
        self.direction, self.pitch = np.array(axis) / np.linalg.norm(axis), pitch
        super().__init__(name, **options)

    def transform(self, q):
        return self.rotation_about(self.direction, q[0]), self.direction * (self.pitch / (2 * np.pi)) * q[0]


class TwoAxes(kido.UserJoint):
    """A universal joint."""

    dof_suffixes = ("_1", "_2")

    def __init__(self, name=None, axis1=(1.0, 0.0, 0.0), axis2=(0.0, 1.0, 0.0), **options):
        self.first, self.second = np.array(axis1), np.array(axis2)
        super().__init__(name, **options)

    def transform(self, q):
        R = self.rotation_about(self.first, q[0]) @ self.rotation_about(self.second, q[1])
        X = np.zeros((4, 4), dtype=object)
        X[:3, :3], X[3, 3] = R, 1.0
        return X


class Functions(kido.UserJoint):
    """Every function that expressions know, in a translation."""

    dof_suffixes = ("_1", "_2")

    def transform(self, q):
        a, b = q
        s = 2.0 + np.sin(a) * np.cos(b)
        x = np.sqrt(s) + np.exp(0.3 * a) - np.log(s) + np.tan(0.3 * b) + np.tanh(a) - np.sinh(0.2 * b) / np.cosh(a)
        y = (
            np.arctan(a * b)
            + np.arctan2(a, s)
            + np.arcsin(0.2 * a)
            - np.arccos(0.2 * b)
            + np.hypot(a, s)
            + np.square(a)
        )
        z = s**3 - s**-1.5 + s**0.7 + 2.0**a + s**b + np.reciprocal(s) + np.deg2rad(a) + sum([a, b, +a, -b]) / 3 - 1
        return self.rotation_about((0, 0, 1), np.arctan2(a, s)), np.array([x, y, z])


AXIS, OTHER = (1.0, 2.0, 3.0), (0.6, 0.0, 0.8)
IMITATIONS = {
    "screw": (lambda **o: kido.ScrewJoint(axis=AXIS, pitch=0.3, **o), lambda **o: Helix(None, AXIS, 0.3, **o)),
    "universal": (
        lambda **o: kido.UniversalJoint(axis1=AXIS, axis2=OTHER, **o),
        lambda **o: TwoAxes(None, AXIS, OTHER, **o),
    ),
}


def arm(middle, seed: int = 0) -> kido.Skeleton:
    """A free body, the joint, and a hinge."""
    rng = np.random.default_rng(seed)
    skeleton = kido.Skeleton("arm")
    frames = {"transform_from_parent": random_transform(rng), "transform_from_child": random_transform(rng)}
    for k, joint in enumerate((kido.FreeJoint(), middle(**frames), kido.RevoluteJoint(axis=OTHER))):
        skeleton.add_body(f"b{k}", joint, skeleton.bodies[-1] if k else None, random_inertia(rng, 1.0))
    return skeleton


@pytest.mark.parametrize("kind", IMITATIONS)
def test_copies_of_built_in_joints_are_equal(kind: str) -> None:
    built_in, users = (arm(make) for make in IMITATIONS[kind])
    q, u, udot, tau = random_state(built_in, 1)
    assert relative_error(users.forward_kinematics(q), built_in.forward_kinematics(q)) < 1e-14
    assert relative_error(kido.quantities.mass_matrix(users, q), kido.quantities.mass_matrix(built_in, q)) < 1e-13
    assert relative_error(users.inverse_dynamics(q, u, udot), built_in.inverse_dynamics(q, u, udot)) < 1e-13
    assert relative_error(users.forward_dynamics(q, u, tau), built_in.forward_dynamics(q, u, tau)) < 1e-12
    for found, expected in zip(
        users.forward_dynamics_derivatives(q, u, tau), built_in.forward_dynamics_derivatives(q, u, tau), strict=True
    ):
        assert relative_error(np.asarray(found), np.asarray(expected)) < 1e-11
    for skeleton in (built_in, users):
        skeleton.positions, skeleton.velocities = 0.2 * q, u
        world = kido.World(time_step=1e-3)
        world.add_skeleton(skeleton)
        world.step(200)
    assert relative_error(users.positions, built_in.positions) < 1e-12


@pytest.mark.parametrize("joint", [RollingKnee(), EllipsoidJoint()], ids=["knee", "ellipsoid"])
def test_a_swinging_body_keeps_its_energy(joint: kido.UserJoint) -> None:
    """To second order in the step."""
    errors = []
    for h in (2e-3, 1e-3):
        skeleton = kido.Skeleton()
        skeleton.add_body(
            "shank", copy.deepcopy(joint), inertia=kido.Inertia.from_diagonal(3.0, [0.2, 0.15, 0.1], [0, 0, -0.2])
        )
        skeleton.velocities = [2.0, -1.0, 0.5][: joint.num_dofs]
        world = kido.World(time_step=h)
        world.add_skeleton(skeleton)
        before, worst = world.total_energy, 0.0
        for _ in range(50):
            world.step(round(0.02 / h))
            worst = max(worst, abs(world.total_energy - before))
        errors.append(worst)
    print("energy errors [J]", errors)
    assert errors[0] < 5e-3
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_all_functions_and_their_derivatives() -> None:
    """Values, columns, their rates and the velocity product's, against NumPy and central differences."""
    joint = Functions("f", position_lower_limit=-1.0, position_upper_limit=1.0)
    skeleton = kido.Skeleton()
    body = skeleton.add_body("b", joint, inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    q, u = np.array([0.4, -0.7]), np.array([0.5, 0.9])
    R, p = joint.transform(q)
    np.testing.assert_allclose(body.world_transform[:3, 3], joint.transform(np.zeros(2))[1], atol=1e-15)
    np.testing.assert_allclose(skeleton.forward_kinematics(q)[0, :3], np.column_stack([R, p]), atol=1e-14)
    h = 1e-5

    def velocity(q: np.ndarray) -> np.ndarray:
        skeleton.positions, skeleton.velocities = q, u
        return body.spatial_velocity

    path = [joint.transform(q + s * u)[1] for s in (-h, h)]
    np.testing.assert_allclose(velocity(q)[3:], (path[1] - path[0]) / (2 * h), atol=1e-9)
    rate = (velocity(q + h * u) - velocity(q - h * u)) / (2 * h)
    velocity(q)
    skeleton.accelerations = [0.0, 0.0]
    np.testing.assert_allclose(np.r_[body.angular_acceleration(), body.linear_acceleration()], rate, atol=1e-8)
    derivatives = skeleton.inverse_dynamics_derivatives(q, u, np.zeros(2))
    for k, e in enumerate(np.eye(2)):
        difference = skeleton.inverse_dynamics(q + h * e, u, [0, 0]) - skeleton.inverse_dynamics(q - h * e, u, [0, 0])
        np.testing.assert_allclose(np.asarray(derivatives[0])[:, k], difference / (2 * h), atol=1e-7)


@pytest.mark.parametrize("in_world", [False, True])
def test_parameters_are_changed_at_any_time(in_world: bool) -> None:
    skeleton = kido.Skeleton()
    skeleton.add_body("thigh", inertia=random_inertia(np.random.default_rng(1), 2.0))
    knee, hip = RollingKnee("knee"), EllipsoidJoint("hip")
    skeleton.add_body("shank", knee, "thigh", random_inertia(np.random.default_rng(0), 1.0))
    skeleton.add_body("foot", hip, "shank", random_inertia(np.random.default_rng(2), 1.0))
    world = kido.World(time_step=1e-3)
    if in_world:
        world.add_skeleton(skeleton)
    q, u, udot, _ = random_state(skeleton, 1)
    skeleton.positions, skeleton.velocities = q, u

    def check() -> None:
        reference = Reference(skeleton, skeleton.positions, skeleton.velocities, udot)
        assert np.abs(skeleton.world_transforms - reference.X).max() < 1e-13
        assert np.abs(skeleton.mass_matrix - reference.mass_matrix).max() < 1e-12
        assert np.abs(np.array([b.spatial_velocity for b in skeleton.bodies]) - reference.V).max() < 1e-12
        forces = skeleton.inverse_dynamics(skeleton.positions, skeleton.velocities, udot)
        assert relative_error(forces, reference.joint_forces) < 1e-12
        if in_world:
            world.step()

    check()
    knee.rolling = (0.05, 0.02)
    check()
    knee.sliding = (0.0, 0.0, 0.0)  # a shorter formula: the arrays change
    check()
    knee.set_parameters(rolling=(0.01, 0.02, 0.03), sliding=(0.1,))
    check()
    hip.radii[:] = 0.3
    hip.changed()
    check()
    knee.transform_from_parent = random_transform(np.random.default_rng(3))
    check()


def test_copies_are_independent() -> None:
    skeleton = arm(lambda **o: RollingKnee("knee", **o))
    twins = [skeleton.clone(), copy.deepcopy(skeleton), pickle.loads(pickle.dumps(skeleton))]
    q = random_state(skeleton, 0)[0]
    for twin in twins:
        assert np.array_equal(twin.forward_kinematics(q), skeleton.forward_kinematics(q))
        twin.joint("knee").rolling = (0.5, 0.5)
        assert not np.array_equal(twin.forward_kinematics(q), skeleton.forward_kinematics(q))


def wrong(function, **attributes) -> type[kido.UserJoint]:
    return type("Wrong", (kido.UserJoint,), {"transform": lambda self, q: function(q), **attributes})


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda q: (np.eye(3), [0, 0, 1] if q[0] > 0 else [0, 0, 0]), "compared or branched upon"),
        (lambda q: (np.eye(3), [abs(q[0]), 0, 0]), "compared or branched upon"),
        (lambda q: (np.eye(3), [np.maximum(q[0], 0.0), 0, 0]), "compared or branched upon"),
        (lambda q: (np.eye(3), [math.sin(q[0]), 0, 0]), r"np\.sin, not math\.sin"),
        (
            lambda q: (np.eye(3), [np.cbrt(q[0]), 0, 0]),
            "function 'cbrt' of a coordinate is not known; known are arccos",
        ),
        (lambda q: (2.0 * np.eye(3), q[0] * np.ones(3)), r"no rotation at q = .*differs from I by 3"),
        (lambda q: (np.diag([1.0, 1.0, -1.0]), np.zeros(3)), "det R = -1"),
        (lambda q: (np.eye(2), np.zeros(3)), r"got shapes \(2, 2\) and \(3,\)"),
        (lambda q: np.eye(3), r"got an array of shape \(3, 3\)"),
        (lambda q: (np.eye(3), [np.sqrt(q[0]), 0, 0]), "not finite, or not differentiable, at q"),
        (lambda q: (np.eye(3), ["a", 0, 0]), "expected numbers or expressions, got 'a'"),
        (lambda q: (np.eye(3), [q[1], 0, 0]), "IndexError"),
        (lambda q: (np.eye(3), [1.0 / 0 * q[0], 0, 0]), "ZeroDivisionError"),
        (lambda q: None, "expected"),
    ],
)
def test_what_is_no_joint_is_refused(function, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        wrong(function)("mine")
    assert "'mine'" in str(caught.value)


def test_wrong_classes_and_parameters_are_refused_and_change_nothing() -> None:
    with pytest.raises(ModelError, match="has no transform"):
        kido.UserJoint("mine")
    with pytest.raises(ModelError, match="at most 6"):
        wrong(lambda q: (np.eye(3), np.zeros(3)), dof_suffixes=tuple("abcdefg"))("mine")
    skeleton = arm(lambda **o: RollingKnee("knee", **o))
    knee = skeleton.joint("knee")
    assert isinstance(knee, RollingKnee)
    q = random_state(skeleton, 0)[0]
    before = skeleton.forward_kinematics(q)
    for act in (
        lambda: setattr(knee, "rolling", (np.nan,)),
        lambda: setattr(knee, "rolling", "far"),
        lambda: knee.set_parameters(rolling=(1.0,), friction=2.0),
    ):
        with pytest.raises(ModelError):
            act()
    assert knee.rolling == (0.03, -0.01)
    assert np.array_equal(skeleton.forward_kinematics(q), before)
