"""The bundled models: what they weigh and measure, that peers read the same, that they do what they show."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido import models
from kido.systems import Constant, System, as_unit

ROOT = Path(__file__).resolve().parents[2]
ROBOTS = ("arm7", "hand", "humanoid", "quadruped", "two_arms")
WORLDS = {
    "stack": models.stack_scene(),
    "container": models.container_scene(),
    "dominoes": models.dominoes_scene(),
}


def corners(body: kido.BodyNode) -> np.ndarray:
    """Corners of the boxes around a body's collision shapes, in the world."""
    points = []
    for node in body.shapes:
        lower, upper = node.shape.aabb
        box = np.array(np.meshgrid(*zip(lower, upper))).reshape(3, -1)
        points.append((node.world_transform @ np.vstack([box, np.ones(8)]))[:3].T)
    return np.vstack(points)


def test_names_and_paths():
    assert models.names() == sorted([*ROBOTS, "ball_chain", *WORLDS])
    for name in models.names():
        assert models.path(name).is_file()


@pytest.mark.parametrize("name", ["humaniod", "", "humanoid.urdf", "../humanoid", None])
def test_unknown_model_names_the_valid_ones(name):
    with pytest.raises(kido.NameLookupError, match=r"expected one of: arm7, ball_chain, .*stack"):
        models.path(name)


def test_files_are_what_their_generator_writes():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        texts = runpy.run_path(str(ROOT / "tools" / "make_models.py"))["texts"]()
    finally:
        sys.path.remove(str(ROOT / "tools"))
    assert sorted(texts) == sorted(["hand.dof", *(models.path(name).name for name in models.names())])
    for name, text in texts.items():
        assert models.path(Path(name).stem).with_name(name).read_text(encoding="utf-8") == text, name


@pytest.mark.parametrize("name", models.names())
def test_loads_without_remarks(name):
    model = kido.load(models.path(name))
    for skeleton in [model] if isinstance(model, kido.Skeleton) else model.skeletons:
        assert skeleton.warnings == []


def test_humanoid_is_a_person():
    humanoid = kido.load(models.path("humanoid"))
    assert humanoid.num_dofs == 35
    assert humanoid.mass == pytest.approx(75.0, abs=1e-9)
    head, feet = humanoid.body("head"), [humanoid.body(f"{side}_foot") for side in ("left", "right")]
    assert corners(head)[:, 2].max() == pytest.approx(1.70, abs=1e-9)
    for foot in feet:
        assert corners(foot)[:, 2].min() == pytest.approx(0.0, abs=1e-9)
    # An adult's centre of mass stands at 55 to 59 % of the height; over the feet, or it could not stand.
    assert 0.55 < humanoid.com[2] / 1.70 < 0.59
    soles = np.vstack([corners(foot) for foot in feet])
    assert soles[:, 0].min() + 0.03 < humanoid.com[0] < soles[:, 0].max() - 0.03
    assert humanoid.com[1] == pytest.approx(0.0, abs=1e-12)


def test_humanoid_is_symmetric():
    """Mirrored poses have mirrored centres of mass: signs of axes and limits agree left and right."""
    humanoid = kido.load(models.path("humanoid"))
    rng = np.random.default_rng(1)
    for dof in humanoid.dofs:
        if dof.name.startswith("left_"):
            other = humanoid.dof(dof.name.replace("left_", "right_"))
            turning = "roll" in dof.name or "yaw" in dof.name
            value = rng.uniform(dof.position_lower_limit, dof.position_upper_limit)
            dof.position, other.position = value, -value if turning else value
            limits = [other.position_lower_limit, other.position_upper_limit]
            expected = [dof.position_lower_limit, dof.position_upper_limit]
            assert limits == pytest.approx([-x for x in expected[::-1]] if turning else expected)
    assert humanoid.com[1] == pytest.approx(0.0, abs=1e-12)
    for name in ("foot", "hand"):
        left, right = (humanoid.body(f"{side}_{name}").com for side in ("left", "right"))
        np.testing.assert_allclose(left * [1, -1, 1], right, atol=1e-12)


def test_quadruped_stands_on_its_feet():
    quadruped = kido.load(models.path("quadruped"))
    assert (quadruped.num_dofs, quadruped.mass) == (18, pytest.approx(24.0, abs=1e-9))
    feet = [body for body in quadruped.bodies if body.name.endswith("_foot")]
    assert len(feet) == 4
    centers = np.array([foot.world_transform[:3, 3] for foot in feet])
    # URDF text holds nine digits.
    np.testing.assert_allclose(centers[:, 2], feet[0].shapes[0].shape.radius, atol=1e-8)
    for axis in (0, 1):
        assert centers[:, axis].min() + 0.05 < quadruped.com[axis] < centers[:, axis].max() - 0.05


def test_arm7_is_fixed_and_reaches():
    arm = kido.load(models.path("arm7"))
    assert arm.num_dofs == 7
    np.testing.assert_allclose(arm.body("hand").world_transform[:3, 3], [0, 0, 1.03], atol=1e-12)
    arm.positions = [0, np.pi / 2, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(arm.body("hand").world_transform[:3, 3], [0.75, 0, 0.28], atol=1e-12)


def test_arm7_starts_out_of_balance_and_within_limits():
    arm = kido.load(models.path("arm7"))
    assert np.abs(arm.gravity_forces).max() < 1e-12  # upright, it stands
    for joint, value in models.start_positions("arm7").items():
        arm.joint(joint).positions = [value]
    assert np.abs(arm.gravity_forces).max() > 10.0
    for dof, value in zip(arm.dofs, arm.positions):
        assert dof.position_lower_limit < value < dof.position_upper_limit
    assert models.start_positions("humanoid") == {}
    with pytest.raises(kido.NameLookupError, match="arm8"):
        models.start_positions("arm8")


@pytest.mark.parametrize("name", ROBOTS)
def test_limits_hold_the_initial_pose(name):
    for dof in kido.load(models.path(name)).dofs:
        assert dof.position_lower_limit <= dof.initial_position <= dof.position_upper_limit
        if np.isfinite(dof.position_upper_limit):
            assert 0 < dof.force_limit < np.inf
            assert 0 < dof.velocity_limit < np.inf
            assert dof.damping > 0


@pytest.mark.parametrize("name", ROBOTS)
def test_pinocchio_reads_the_same_robot(name):
    pin = pytest.importorskip("pinocchio")
    robot = kido.load(models.path(name))
    model = pin.buildModelFromUrdf(str(models.path(name)))
    data = model.createData()
    q = pin.neutral(model)
    assert model.nv == robot.num_dofs
    # What is fixed to the world: Pinocchio keeps no mass of what cannot move.
    fixed = {"arm7": "base", "hand": "forearm"}.get(name)
    fixed = robot.body(fixed).inertia.mass if fixed else 0.0
    assert pin.computeTotalMass(model) + fixed == pytest.approx(robot.mass, rel=1e-12)
    pin.framesForwardKinematics(model, data, q)
    for body in robot.bodies:
        placement = data.oMf[model.getFrameId(body.name, pin.FrameType.BODY)] if body.name != "world" else None
        if placement is not None:
            np.testing.assert_allclose(body.world_transform, placement.homogeneous, atol=1e-12)


@pytest.mark.parametrize("name", WORLDS)
def test_world_file_holds_the_scene(name):
    """File, scene and builder are three roads to the same numbers."""
    scene = WORLDS[name]
    for world in (kido.load(models.path(name)), models.build_world(scene)):
        for block in scene.free:
            body = world.skeleton(block.name).body(block.name)
            rotation = Rotation.from_rotvec(block.rotation).as_matrix()
            np.testing.assert_allclose(body.world_transform[:3, 3], block.position, atol=1e-9)
            np.testing.assert_allclose(body.world_transform[:3, :3], rotation, atol=1e-9)
            assert body.inertia.mass == block.mass
            np.testing.assert_allclose(body.inertia.moment, np.diag(block.moment), rtol=1e-7)
            np.testing.assert_allclose(body.linear_velocity(), rotation @ block.velocity, atol=1e-9)
            np.testing.assert_allclose(body.angular_velocity(), rotation @ block.angular_velocity, atol=1e-9)
            assert [node.shape.size for node in body.shapes if node.collision] == [block.size]
        assert sum(not skeleton.mobile for skeleton in world.skeletons) == 1 + bool(scene.fixed)


def test_boxes_of_the_container_start_apart():
    for count in (25, 100):
        scene = models.container_scene(count)
        boxes = np.array([block.position for block in scene.free])
        # A cube of 0.1 m, turned by at most 0.2 rad about each axis, stays inside a box of 0.148 m.
        gaps = np.abs(boxes[:, None] - boxes[None]).max(axis=2) + np.eye(count)
        assert gaps.min() > 0.148
        assert np.abs(boxes[:, :2]).max() + 0.074 < 0.35


@pytest.mark.parametrize("count", [0, -1, 2.5, "3", True])
def test_builders_refuse_impossible_counts(count):
    for builder in (models.stack, models.container, models.dominoes):
        with pytest.raises(kido.ModelError, match="expected a whole number of at least 1"):
            builder(count)


def test_builders_take_any_count():
    assert len(models.stack(3).skeletons) == 1 + 3
    assert len(models.container(7).skeletons) == 2 + 7
    assert len(models.dominoes(4).skeletons) == 1 + 4


def test_ball_chain_hangs_from_one_point_and_swings():
    world = kido.load(models.path("ball_chain"))
    (chain,) = world.skeletons
    assert chain.num_dofs == 30
    first = chain.body("link_0")
    top = first.world_transform @ [0, 0, 0.06, 1]
    np.testing.assert_allclose(top[:3], [0, 0, 1.6], atol=1e-12)
    energy = chain.kinetic_energy + chain.potential_energy
    world.step(500)
    np.testing.assert_allclose((first.world_transform @ [0, 0, 0.06, 1])[:3], [0, 0, 1.6], atol=1e-12)
    assert chain.kinetic_energy > 0.1
    # Nothing takes energy; half a second at 1 ms with a second-order scheme.
    assert chain.kinetic_energy + chain.potential_energy == pytest.approx(energy, abs=2e-3)


def test_stack_stands():
    world = kido.load(models.path("stack"))
    world.step(500)
    for i in range(10):
        position = world.skeleton(f"box_{i}").body(f"box_{i}").world_transform[:3, 3]
        np.testing.assert_allclose(position, [0, 0, 0.1 * i + 0.05], atol=1e-5)


def test_all_dominoes_fall():
    world = kido.load(models.path("dominoes"))
    world.step(2500)
    for i in range(20):
        up = world.skeleton(f"domino_{i}").body(f"domino_{i}").world_transform[:3, 2]
        assert up[2] < 0.7, f"domino_{i} still stands"


def test_boxes_come_to_rest_in_the_container():
    world = kido.load(models.path("container"))
    world.step(1500)
    positions = np.array([world.skeleton(f"box_{i}").body(f"box_{i}").world_transform[:3, 3] for i in range(25)])
    assert np.abs(positions[:, :2]).max() < 0.35
    assert positions[:, 2].min() > 0.0499
    assert world.kinetic_energy < 1e-3


def test_mixed_shapes_stand_and_fall_asleep() -> None:
    """A field of six kinds of shapes comes to rest where it stands; nothing sinks, topples or rolls away."""
    world = kido.models.mixed_shapes(60, tower=3, sleeping=True)
    assert len(world.skeletons) == 61
    start = np.array([s.positions[3:] for s in world.skeletons[1:]])
    world.step(700)
    end = np.array([s.positions[3:] for s in world.skeletons[1:]])
    np.testing.assert_allclose(end, start, atol=1e-4)
    assert all(s.is_asleep for s in world.skeletons[1:]) and len(world.contacts) == world.report.contacts > 100
    assert world.totals.max_penetration < 1e-5
    with pytest.raises(kido.ModelError, match="mixed_shapes"):
        kido.models.mixed_shapes(0)


def test_the_rover_carries_alike_on_all_wheels():
    """Statics of the tree on level ground: moments about the pivots of bogies, of rockers, and of the whole."""
    made = models.rover()
    world = made.world(time_step=2e-3)
    world.add_ground()
    rover = made.skeleton
    assert (rover.num_dofs, rover.num_bodies) == (20, 15) and rover.mass == pytest.approx(40.0)
    wheels = [name for name in made.points if name.startswith("wheel_")]
    assert len(wheels) == 6
    for name in wheels:
        assert made.place(name)[2] == pytest.approx(0.12, abs=1e-12)
        rover.joint(f"drive_{name[6:]}").actuator_type = "locked"
    world.step(1000)
    loads = np.array([world.contacts.wrench_on(rover.body(name), np.zeros(3))[-1] for name in wheels])
    # What hangs on bogies and rockers itself, and bodies that lean by sagging contacts, share a few percent unequally;
    # wheels that stand still add forces along the ground, which have an arm about the pivots.
    total = 40.0 * 9.81
    assert np.abs([world.contacts.forces[:, :2].sum(axis=0)]).max() < 1e-2 * total
    assert abs(loads.sum()) == pytest.approx(total, rel=1e-3)
    assert np.abs(loads) == pytest.approx(np.full(6, total / 6.0), rel=0.15)
    left, right = (rover.dof(f"rocker_{side}").position for side in ("left", "right"))
    assert left == pytest.approx(-right, abs=1e-12)


def test_a_cart_on_wheels_from_a_file_rolls_as_they_turn() -> None:
    """Four of the same file on one body: what turns them is their own, what carries them is the ground."""

    world = kido.World(time_step=2e-3)
    world.add_ground(friction=0.9)
    cart = kido.Skeleton("cart")
    box = cart.add_body("box", kido.FreeJoint("box"), inertia=kido.Inertia.from_shape(kido.Box((0.6, 0.3, 0.1)), 8.0))
    cart.positions = [0, 0, 0, 0, 0, 0.12]
    world.add_skeleton(cart)
    system = System(world=world)
    wanted = system.add(Constant("wanted", 5.0, "rad/s"))
    for name, x, y in (("fl", 0.22, 0.2), ("fr", 0.22, -0.2), ("rl", -0.22, 0.2), ("rr", -0.22, -0.2)):
        wheel = system.add(models.assembly("wheel", box, f"wheel_{name}", place=(x, y, -0.02), mass=1.5))
        system.connect(wanted.value, wheel["wanted"])
    assert cart.mass == pytest.approx(8.0 + 4 * 1.5)
    system.run(2.0)
    assert system["wheel_rr.spin"].value == pytest.approx(5.0, abs=0.01)  # the integral has settled
    assert box.linear_velocity()[0] == pytest.approx(0.1 * 5.0, rel=0.01)  # it rolls, radius 0.1 m
    assert box.world_transform[2, 3] == pytest.approx(0.12, abs=1e-3)
    assert system["wheel_fl.motor.current"].unit == as_unit("A")
    system.remove("wheel_fl")
    wanted.setting = 0.0
    system.run(2.0)
    assert cart.num_bodies == 4 and np.abs(cart.velocities).max() < 0.02
