"""Where models stand at the start."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.cli.loading import load_model, stands_on_limbs
from kido.cli.options import Simulate
from kido.cli.scene import (
    CLEARANCE,
    build,
    extent,
    free_joints,
    move,
    place_above,
    shapes_of,
    side_by_side,
)

UP = np.array([0.0, 0.0, 1.0])


def surface(shape):
    """Many points of a shape, dense on its surface: the truth that `reach` is held against."""
    t = np.linspace(0, 2 * np.pi, 721)
    circle = np.stack([np.cos(t), np.sin(t), 0 * t], axis=1)
    ball = np.concatenate([np.sin(p) * circle + [0, 0, np.cos(p)] for p in np.linspace(0, np.pi, 361)])
    if isinstance(shape, kido.Sphere):
        return shape.radius * ball
    if isinstance(shape, kido.Ellipsoid):
        return ball * shape.radii
    if isinstance(shape, kido.Box):
        return np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * shape.size
    ends = [np.array([0, 0, s * 0.5 * shape.height]) for s in (-1, 1)]
    if isinstance(shape, kido.Capsule):
        return np.concatenate([shape.radius * ball + end for end in ends])
    if isinstance(shape, kido.Cylinder):
        return np.concatenate([shape.radius * circle + end for end in ends])
    return np.concatenate([shape.radius * circle + ends[0], ends[1:]])


@pytest.mark.parametrize(
    "shape",
    [
        kido.Sphere(0.3),
        kido.Box((0.2, 0.5, 0.3)),
        kido.Capsule(0.1, 0.4),
        kido.Cylinder(0.2, 0.3),
        kido.Cone(0.2, 0.5),
        kido.Cone(0.5, 0.1),
        kido.Ellipsoid((0.1, 0.2, 0.4)),
    ],
    ids=lambda s: type(s).__name__,
)
def test_reach_is_the_support_function(shape):
    points = surface(shape)
    for direction in Rotation.random(20, rng=np.random.default_rng(3)).apply(UP):
        # The sampling of half a degree misses the truth by at most 1 - cos(0.25 deg) = 1e-5 of its size.
        assert shape.support(direction) == pytest.approx((points @ direction).max(), abs=2e-5)


def test_reach_of_a_mesh():
    vertices = np.random.default_rng(0).normal(size=(30, 3))
    mesh = kido.Mesh(vertices, [[0, 1, 2]])
    assert mesh.support(np.array([0.6, 0, 0.8])) == (vertices @ [0.6, 0, 0.8]).max()


def floating(shape, tilt=(0.3, 0.5, 0.1)):
    """A shape under a welded root, a turned joint frame and a free joint: nothing aligned with the world."""
    skeleton = kido.Skeleton("float")
    turned = np.eye(4)
    turned[:3, :3] = Rotation.from_rotvec([0.4, -0.2, 0.9]).as_matrix()
    root = skeleton.add_body("root", kido.WeldJoint("weld", transform_from_parent=turned))
    joint = kido.FreeJoint("free", transform_from_parent=turned, initial_position=[*tilt, 1, 2, 3])
    body = skeleton.add_body("body", joint, root, kido.Inertia.from_shape(shape, mass=1))
    body.add_shape(shape, transform=[0.1, 0.2, 0.3])
    return skeleton


def test_place_above():
    skeleton = floating(kido.Box((0.2, 0.5, 0.3)))
    before = skeleton.body("body").world_transform
    place_above(skeleton, UP, 0.25)
    after = skeleton.body("body").world_transform
    corners = surface(kido.Box((0.2, 0.5, 0.3))) + [0.1, 0.2, 0.3]
    assert (corners @ after[2, :3] + after[2, 3]).min() == pytest.approx(0.25 + CLEARANCE, abs=1e-12)
    np.testing.assert_allclose(after[:2], before[:2], atol=1e-12)  # straight up
    np.testing.assert_allclose(after[2, :3], before[2, :3], atol=1e-12)


def test_move_keeps_everything_else():
    arm = load_model("arm7")
    before = np.array([b.world_transform for b in arm.bodies])
    positions = arm.positions
    move(arm, np.array([1.0, -2.0, 0.5]))
    after = np.array([b.world_transform for b in arm.bodies])
    np.testing.assert_allclose(after[:, :3, 3] - before[:, :3, 3], [[1, -2, 0.5]] * len(before), atol=1e-12)
    np.testing.assert_array_equal(arm.positions, positions)
    box = floating(kido.Sphere(0.1))
    start = box.body("body").world_transform
    move(box, np.array([1.0, -2.0, 0.5]))
    np.testing.assert_allclose(box.body("body").world_transform[:3, 3] - start[:3, 3], [1, -2, 0.5], atol=1e-12)


def test_side_by_side_leaves_gaps():
    skeletons = [floating(kido.Sphere(r)) for r in (0.1, 0.5, 0.2)] + [load_model("humanoid")]
    side_by_side(skeletons, [], UP)
    spans = [extent(shapes_of([s]), np.array([0.0, 1.0, 0.0])) for s in skeletons]
    for (_, high), (low, _) in itertools.pairwise(spans):
        assert low - high >= 0.1 - 1e-12


def test_ground_holds_up_what_floats_and_leaves_what_is_fixed():
    world = build(Simulate(("humanoid", "arm7"), ground=True))
    humanoid, arm, ground = world.skeletons
    assert ground.name == "ground" and not ground.mobile
    assert extent(shapes_of([humanoid], collision=True), UP)[0] == pytest.approx(CLEARANCE, abs=1e-9)
    assert arm.body("base").world_transform[2, 3] == load_model("arm7").body("base").world_transform[2, 3]
    assert free_joints(humanoid)[0].name == "root" and free_joints(arm) == []
    assert extent(shapes_of([arm]), UP)[0] > -1e-9
    world.step(300)
    assert world.totals.max_penetration < 1e-3


def test_models_into_a_world_and_at_a_place():
    world = build(Simulate(("quadruped",), world="stack", at=[(2.0, 1.0, 0.7)]))
    assert len(world.skeletons) == 12
    np.testing.assert_allclose(world.skeleton("quadruped").joint("root").positions[3:5], [2.0, 1.0], atol=1e-9)
    alone = build(Simulate(("quadruped",), world="stack"))
    assert extent(shapes_of([alone.skeleton("quadruped")], True), UP)[0] == pytest.approx(CLEARANCE, abs=1e-9)


def urdf(text, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{text}</robot>')
    return str(path)


def link(name, mass):
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    return (
        f'<link name="{name}">' + (f'<inertial><mass value="{mass}"/>{inertia}</inertial>' if mass else "") + "</link>"
    )


def joint(name, parent, child, kind="revolute"):
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>' if kind == "revolute" else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="0 0 1"/>{limit}</joint>'
    )


@pytest.mark.parametrize(
    ("text", "free"),
    [
        (link("a", 1), True),
        (link("a", 1) + link("b", 1) + joint("j", "a", "b"), False),
        (link("a", 1) + link("b", 1) + link("c", 1) + joint("j", "a", "b") + joint("k", "a", "c"), True),
        (link("w", 0) + link("b", 1) + link("c", 1) + joint("j", "w", "b") + joint("k", "w", "c"), False),
        # A sensor frame without mass does not make a limb.
        (
            link("a", 1) + link("b", 1) + link("c", 0) + joint("j", "a", "b") + joint("k", "a", "c", "fixed"),
            False,
        ),
    ],
    ids=["body", "arm", "biped", "world root", "arm with frame"],
)
def test_base_auto(text, free, tmp_path):
    path = urdf(text, tmp_path)
    assert bool(free_joints(load_model(path))) == free
    assert free_joints(load_model(path, "free")) and not free_joints(load_model(path, "fixed"))
    assert stands_on_limbs(load_model(path, "fixed")) == free
