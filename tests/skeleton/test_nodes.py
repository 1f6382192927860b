"""Nodes: shapes, markers, end effectors with their support, and a user's sensor."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import kido
import trees
from kido.skeleton.nodes.end_effector import centroid, convex_hull


class Imu(kido.FrameNode):
    """An inertial measurement unit: angular velocity and specific force in its own axes, with biases and noise."""

    @dataclass
    class State:
        gyro_bias: np.ndarray = field(default_factory=lambda: np.zeros(3))
        accelerometer_bias: np.ndarray = field(default_factory=lambda: np.zeros(3))

    @dataclass
    class Properties:
        gyro_noise: float = 0.0  # standard deviation [rad/s]
        accelerometer_noise: float = 0.0  # standard deviation [m/s^2]

    def measure(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Angular velocity [rad/s] and specific force a - g [m/s^2] in the sensor's axes."""
        R = self.world_transform[:3, :3]
        w = R.T @ self.angular_velocity() + self.state.gyro_bias
        f = R.T @ (self.linear_acceleration() - self.body.skeleton.gravity) + self.state.accelerometer_bias
        noise = self.properties
        return w + noise.gyro_noise * rng.normal(size=3), f + noise.accelerometer_noise * rng.normal(size=3)


class Battery(kido.Node):
    """A node that is no frame."""

    @dataclass
    class State:
        charge: float = 1.0


def tree(seed: int = 1, bodies: int = 5) -> kido.Skeleton:
    skeleton = trees.random_skeleton(seed, bodies)
    trees.set_state(skeleton, *trees.random_state(skeleton, seed)[:3])
    return skeleton


def test_an_imu_measures_what_its_body_does() -> None:
    skeleton = tree()
    X = trees.random_transform(np.random.default_rng(3))
    body = skeleton.bodies[3]
    imu = body.create_node(Imu, "imu", X)
    imu.state.gyro_bias[:] = (1, 2, 3)
    truth = trees.Reference(skeleton, skeleton.positions, skeleton.velocities, skeleton.accelerations)
    R = truth.X[3, :3, :3] @ X[:3, :3]
    r = truth.X[3, :3, :3] @ X[:3, 3]
    w, A = truth.V[3, :3], truth.A[3]
    a = A[3:] + np.cross(A[:3], r) + np.cross(w, np.cross(w, r))
    rate, force = imu.measure(np.random.default_rng(0))
    np.testing.assert_allclose(rate, R.T @ w + (1, 2, 3), atol=1e-12)
    np.testing.assert_allclose(force, R.T @ (a - skeleton.gravity), atol=1e-10)
    # A body that falls freely feels nothing.
    ball = kido.Skeleton()
    ball.add_body("ball", inertia=kido.Inertia.from_diagonal(1, (1, 2, 3)))
    sensor = ball.bodies[0].create_node(Imu)
    assert sensor.name == "ball_imu"
    ball.compute_forward_dynamics()
    np.testing.assert_allclose(sensor.measure(np.random.default_rng(0))[1], 0.0, atol=1e-14)


def test_nodes_of_a_body_and_of_a_skeleton() -> None:
    skeleton = tree()
    a, b = skeleton.bodies[:2]
    left, right = a.create_node(kido.Marker, "m"), a.create_node(kido.Marker, "m")
    tip = b.create_node(kido.EndEffector, "m")
    cell = b.create_node(Battery)
    shape = b.add_shape(kido.Sphere(1.0), name="m")
    assert [n.name for n in (left, right, tip, cell, shape)] == ["m", "m(1)", "m(2)", "b1_battery", "m"]
    assert a.nodes() == [left, right] and b.nodes() == [tip, cell, shape] and b.nodes(kido.ShapeNode) == [shape]
    assert skeleton.nodes(kido.Marker) == [left, right] and skeleton.nodes() == [left, right, tip, cell]
    assert skeleton.node("m(1)") is right and skeleton.node("m(2)", kido.EndEffector) is tip
    with pytest.raises(kido.NameLookupError, match=r"m\(2\)"):
        skeleton.node("m", kido.EndEffector)
    left.name = "left"
    with pytest.raises(kido.ModelError, match="already used"):
        left.name = "m(1)"
    right.remove()
    assert a.nodes() == [left]
    with pytest.raises(kido.ModelError, match="removed"):
        right.remove()
    for wrong in (lambda: a.create_node(int), lambda: a.create_node(kido.Marker, ""), lambda: a.create_node(3)):  # type: ignore[type-var, arg-type]
        with pytest.raises(kido.ModelError):
            wrong()
    with pytest.raises(kido.ModelError, match="stays on its body"):
        tip.parent_frame = b
    assert list(b.shapes) == [shape]
    shape.remove()
    assert list(b.shapes) == [] and b.nodes() == [tip, cell]


def test_nodes_are_frames_of_their_body() -> None:
    skeleton = tree(4)
    body = skeleton.bodies[2]
    X = trees.random_transform(np.random.default_rng(0))
    tip = body.create_node(kido.EndEffector, "tip", X)
    np.testing.assert_allclose(tip.world_transform, body.world_transform @ X, atol=1e-14)
    np.testing.assert_allclose(tip.linear_velocity(), body.linear_velocity(X[:3, 3]), atol=1e-13)
    skeleton.positions = skeleton.positions + 0.1
    np.testing.assert_allclose(tip.world_transform, body.world_transform @ X, atol=1e-14)
    tip.relative_transform = [1, 2, 3]
    np.testing.assert_array_equal(tip.default_relative_transform, X)
    np.testing.assert_allclose(tip.transform(body)[:3, 3], (1, 2, 3), atol=1e-14)
    tip.reset_relative_transform()
    np.testing.assert_allclose(tip.transform(body), X, atol=1e-14)
    with pytest.raises(kido.ModelError):
        tip.relative_transform = np.zeros((4, 4))
    np.testing.assert_array_equal(tip.relative_transform, X)


def test_markers() -> None:
    skeleton = tree(4)
    body = skeleton.bodies[1]
    marker = body.create_node(kido.Marker, "elbow", (0.1, 0.2, 0.3), color=(1, 0, 0))
    X = body.world_transform
    np.testing.assert_allclose(marker.position, X[:3, :3] @ (0.1, 0.2, 0.3) + X[:3, 3], atol=1e-14)
    assert marker.color == (1.0, 0.0, 0.0)
    marker.offset = (1, 0, 0)
    np.testing.assert_allclose(marker.position, X[:3, 0] + X[:3, 3], atol=1e-14)
    for name, value in (("color", (2, 0, 0)), ("color", "red"), ("offset", (0, np.nan, 0))):
        with pytest.raises(kido.ModelError, match="elbow"):
            setattr(marker, name, value)
    np.testing.assert_array_equal(marker.offset, (1, 0, 0))


def test_nodes_travel() -> None:
    skeleton, other = tree(1), tree(2)
    body = skeleton.bodies[3]
    other.bodies[0].create_node(kido.Marker, "imu")
    imu = body.create_node(Imu, "imu", [0.1, 0, 0])
    imu.state.gyro_bias[:] = 5.0
    twin = pickle.loads(pickle.dumps(skeleton)).node("imu")
    for own in (twin, skeleton.clone().node("imu", Imu)):
        assert own is not imu and own.body.name == body.name and own.body.skeleton is not skeleton
        np.testing.assert_array_equal(own.state.gyro_bias, 5.0)
        np.testing.assert_allclose(own.world_transform, imu.world_transform, atol=1e-15)
        own.body.skeleton.positions = np.zeros(skeleton.num_dofs)
    body.move_to(other.bodies[0])
    assert imu.name == "imu(1)" and other.node("imu(1)") is imu and imu.body is body
    np.testing.assert_allclose(imu.world_transform[:3, 3], body.world_transform[:3] @ (0.1, 0, 0, 1), atol=1e-14)
    copied = body.copy_to(other).nodes(Imu)[0]
    assert copied.name == "imu(1)(1)" and copied.state.gyro_bias[0] == 5.0
    assert {n.name for n in other.nodes()} == {"imu", "imu(1)", "imu(1)(1)"}


def test_copies_on_other_bodies() -> None:
    skeleton, other = tree(1), tree(2)
    imu = skeleton.bodies[1].create_node(Imu, "imu", [0.1, 0, 0])
    twin = imu.copy_to(other.bodies[2])
    beside = imu.copy_to(imu.body, "second")
    assert twin.name == "imu" and twin.body is other.bodies[2] and other.nodes() == [twin]
    assert beside.name == "second" and skeleton.nodes() == [imu, beside]
    twin.state.gyro_bias[:] = 1.0
    assert not imu.state.gyro_bias.any()
    np.testing.assert_allclose(twin.transform(other.bodies[2]), imu.transform(imu.body), atol=1e-14)
    shape = skeleton.bodies[1].add_shape(kido.Sphere(0.1), name="s")
    assert [s.name for s in (shape.clone(), shape.clone(other.bodies[0]))] == ["s(1)", "s"]
    assert other.bodies[0].shapes[0].body is other.bodies[0] and other.num_bodies == 5
    with pytest.raises(kido.ModelError, match="expected a body"):
        imu.copy_to(skeleton)  # type: ignore[arg-type]


# Support -----------------------------------------------------------------------------------------------------


def biped() -> kido.Skeleton:
    skeleton = kido.Skeleton("biped")
    skeleton.add_body("pelvis", kido.FreeJoint(initial_position=[0, 0, 0, 0, 0, 1]), inertia=kido.Inertia(1.0))
    sole = [(x, y, -1.0) for x in (-0.1, 0.2) for y in (-0.05, 0.05)]
    for side, y in (("left", 0.2), ("right", -0.2)):
        joint = kido.RevoluteJoint(axis=(0, 0, 1), transform_from_parent=[0, y, 0])
        foot = skeleton.add_body(side, joint, "pelvis", kido.Inertia.from_diagonal(1, (1, 1, 1)))
        foot.create_node(kido.EndEffector, f"{side}_foot").create(kido.Support, sole, active=True)
    return skeleton


def test_support_polygon() -> None:
    skeleton = biped()
    expected = {(-0.1, -0.25), (0.2, -0.25), (0.2, 0.25), (-0.1, 0.25)}
    assert {tuple(np.round(p, 12)) for p in skeleton.support_polygon()} == expected
    np.testing.assert_allclose(skeleton.support_centroid(), (0.05, 0.0), atol=1e-15)
    right = skeleton.node("right_foot", kido.EndEffector)
    assert right.support is right.get(kido.Support)
    right.support.active = False  # type: ignore[union-attr]
    np.testing.assert_allclose(skeleton.support_centroid(), (0.05, 0.2), atol=1e-15)
    skeleton.dof("left_joint").position = np.pi / 2
    np.testing.assert_allclose(skeleton.support_centroid(), (0.0, 0.25), atol=1e-15)
    right.erase(kido.Support)
    skeleton.node("left_foot").get(kido.Support).active = False  # type: ignore[union-attr]
    assert skeleton.support_polygon().shape == (0, 2) and skeleton.support_centroid() is None
    for wrong in ([(1, 2)], "points", [(0, 0, np.inf)]):
        with pytest.raises(kido.ModelError):
            right.create(kido.Support, wrong)
    assert right.support is None


@pytest.mark.parametrize("up", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0.3, -0.5, 0.7)])
def test_support_axes_are_horizontal(up: tuple[float, ...]) -> None:
    skeleton = biped()
    skeleton.gravity = -9.81 * np.array(up)
    axes = skeleton.support_axes
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-15)
    np.testing.assert_allclose(axes @ skeleton.gravity, 0.0, atol=1e-14)
    np.testing.assert_allclose(np.cross(*axes), np.array(up) / np.linalg.norm(up), atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_convex_hull_and_centroid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(30, 2)) + (3.0, 4.0)
    hull = convex_hull(points)
    truth = ConvexHull(points)
    assert {tuple(p) for p in hull} == {tuple(points[k]) for k in truth.vertices}
    after = np.roll(hull, -1, axis=0)
    shoelace = hull[:, 0] * after[:, 1] - hull[:, 1] * after[:, 0]
    assert 0.5 * shoelace.sum() == pytest.approx(truth.volume, rel=1e-12)  # counterclockwise
    inside = rng.uniform((points.min(0)), points.max(0), (200_000, 2))
    inside = inside[(inside @ truth.equations[:, :2].T + truth.equations[:, 2] <= 0).all(axis=1)]
    np.testing.assert_allclose(centroid(hull), inside.mean(axis=0), atol=0.01)  # sampling error
    np.testing.assert_allclose(centroid(convex_hull([(0, 0), (2, 2), (1, 1)])), (1, 1))  # type: ignore[arg-type]
    np.testing.assert_allclose(centroid(convex_hull([(2, 3)])), (2, 3))  # type: ignore[arg-type]


# Files -------------------------------------------------------------------------------------------------------

SKEL = """<skel version="1.0"><world name="w"><skeleton name="s">
<body name="b"><inertia><mass>1</mass></inertia>
<marker name="m"><offset>0.1 0.2 0.3</offset></marker><marker name="n"/>{more}</body>
<joint type="free" name="j"><parent>world</parent><child>b</child></joint></skeleton></world></skel>"""


def test_markers_of_skel_files(tmp_path: Path) -> None:
    path = tmp_path / "markers.skel"
    path.write_text(SKEL.format(more='<marker name="m"/>'))
    world = kido.load(path)
    skeleton = world.skeletons[0]  # type: ignore[union-attr]
    assert [m.name for m in skeleton.nodes(kido.Marker)] == ["m", "n", "m(1)"]
    np.testing.assert_array_equal(skeleton.node("m", kido.Marker).offset, (0.1, 0.2, 0.3))
    assert any("m(1)" in line for line in skeleton.warnings) or any("m(1)" in w for w in getattr(world, "warnings", []))
    path.write_text(SKEL.format(more='<marker name="m"><offset>1 2</offset></marker>'))
    with pytest.raises(kido.FileFormatError, match=r"markers\.skel:3"):
        kido.load(path)


# Recordings --------------------------------------------------------------------------------------------------


def test_recordings_describe_markers_and_end_effectors() -> None:
    from kido.recording.description import skeleton_from_dict, skeleton_to_dict

    skeleton = biped()
    foot = skeleton.node("left_foot", kido.EndEffector)
    foot.relative_transform = trees.random_transform(np.random.default_rng(0))
    skeleton.bodies[0].create_node(kido.Marker, "dot", (1, 2, 3), color=(0, 0, 1))
    skeleton.bodies[0].create_node(Imu, "imu")
    twin = skeleton_from_dict(skeleton_to_dict(skeleton))
    assert type(twin.node("imu")) is Imu
    assert twin.properties.differences(skeleton.properties) == []
    assert twin.saved_state.differences(skeleton.saved_state) == []
    assert [(type(n), n.name) for n in twin.nodes()] == [(type(n), n.name) for n in skeleton.nodes()]
