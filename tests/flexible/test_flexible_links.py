"""Links of real robots made flexible from their meshes, and of our own from boxes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from kido.flexible import FlexibleTree, Material, Section, beam_modes, flexible_bodies, make_flexible

pytest.importorskip("skfem")
ALUMINIUM = Material(7e10, 2700.0, 0.33)


def boxes(turned: bool = False) -> kido.Skeleton:
    """An arm of two boxes of 0.5 m along z, a hinge about y between; `turned`: joints have frames of their own."""
    arm = kido.Skeleton("arm")
    X = np.eye(4)
    if turned:
        X[:3, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    for k, name in enumerate(("upper", "fore")):
        at = np.eye(4)
        at[2, 3] = 0.5 * k
        joint = kido.RevoluteJoint(f"joint_{name}", (0, 1, 0), transform_from_parent=at @ X, transform_from_child=X)
        inertia = kido.Inertia.from_shape(kido.Box((0.04, 0.03, 0.5)), 1.5)
        body = arm.add_body(name, joint, arm.bodies[-1] if k else None, kido.Inertia(1.5, (0, 0, 0.25), inertia.moment))
        body.add_shape(kido.Box((0.04, 0.03, 0.5)), (0, 0, 0.25))
    return arm


@pytest.mark.parametrize("turned", [False, True])
def test_a_link_in_one_line(turned: bool) -> None:
    arm = boxes(turned)
    q = np.array([0.4, -0.7])
    arm.positions = q
    before, M = arm.body("fore").world_transform.copy(), arm.mass_matrix.copy()
    flexible = make_flexible(arm.body("upper"), ALUMINIUM, modes=4, size=0.1)
    assert [dof.name for dof in arm.dofs] == ["joint_upper", *(f"upper.mode{k}" for k in range(1, 5)), "joint_fore"]
    assert np.allclose(arm.positions[[0, 5]], q)
    assert np.allclose(arm.body("fore").world_transform, before, atol=1e-12)
    assert arm.body("fore").parent is flexible.node("fore")
    # Mass as it was, and with it a rigid arm's mass matrix; the box is filled evenly, as its inertia says.
    assert np.allclose(arm.mass_matrix[np.ix_([0, 5], [0, 5])], M, rtol=1e-9)
    # A beam of the same stiffness: ends within the reach are rigid, so that it is a little stiffer.
    density = 1.5 / (0.04 * 0.03 * 0.5)
    beam = beam_modes(0.5, Section.rectangle(0.04, 0.03), Material(7e10, density, 0.33), bending_y=1, bending_z=1)
    assert (flexible.modes.frequencies[:2] / np.sort(beam.frequencies) > 1.0).all()
    assert (flexible.modes.frequencies[:2] / np.sort(beam.frequencies) < 1.35).all()
    world = kido.World(gravity=(3.0, 5.0, -8.0))
    world.add_skeleton(arm)
    world.step(20)
    assert np.isfinite(arm.positions).all() and np.abs(arm.positions[1:5]).max() > 1e-7


def test_a_plate_and_methods() -> None:
    panel = kido.Skeleton("satellite")
    hub = panel.add_body("hub", kido.FreeJoint(), None, kido.Inertia(10.0, moment=np.eye(3)))
    body = panel.add_body(
        "panel", kido.RevoluteJoint("drive", (1, 0, 0)), hub, kido.Inertia(2.0, (0.5, 0, 0), 0.2 * np.eye(3))
    )
    body.add_shape(kido.Box((1.0, 0.4, 0.01)), (0.5, 0, 0))
    antenna = panel.add_body("antenna", kido.WeldJoint(transform_from_parent=(1.0, 0, 0)), body, kido.Inertia(0.1))
    flexible = make_flexible(
        body, ALUMINIUM, modes=2, method="craig-bampton", elements="plate", size=0.4, keep_mass=False
    )
    assert flexible.modes.number == 8 and antenna.parent is flexible.node("antenna")
    assert np.isclose(body.mass, 2700.0 * 0.004)
    tree = FlexibleTree(panel)
    n = tree.num_coordinates
    assert np.linalg.eigvalsh(tree.mass_matrix(np.zeros(n))).min() > 0.0


def test_children_of_one_place_share_a_node_and_one_at_the_joint_hangs_on_the_frame() -> None:
    arm = boxes()
    upper = arm.body("upper")
    tool = arm.add_body("tool", kido.WeldJoint(transform_from_parent=(0, 0, 0.5)), upper, kido.Inertia(0.2))
    wheel = arm.add_body(
        "wheel", kido.RevoluteJoint("spin", (1, 0, 0)), upper, kido.Inertia(0.5, (0, 0.1, 0), 0.01 * np.eye(3))
    )
    flexible = make_flexible(upper, ALUMINIUM, modes=2, size=0.1)
    assert [node.name for node in flexible.modes.nodes] == ["fore"]
    assert tool.parent is flexible.node("fore") and wheel.parent is upper
    tree = FlexibleTree(arm)
    rng = np.random.default_rng(1)
    q, u, udot = 1e-3 * rng.standard_normal(5), rng.standard_normal(5), rng.standard_normal(5)
    tau = tree.inverse_dynamics(q, u, udot)
    assert np.allclose(tree.forward_dynamics(q, u, tau), udot, rtol=1e-8)
    assert np.allclose(tree.mass_matrix(q) @ udot, tau - tree.inverse_dynamics(q, u, 0 * u), rtol=1e-8, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "link", "child"),
    [
        ("ur_description/urdf/ur5_robot.urdf", "forearm_link", "wrist_1_link"),
        ("panda_description/urdf/panda.urdf", "panda_link5", "panda_link6"),
    ],
)
def test_links_of_real_robots(example_robots: Path, file: str, link: str, child: str) -> None:
    """A fall of what hangs on a held joint: energy stays, and at rest the robot is the one that it was, but for the
    link's centre of mass, which is that of its evenly filled mesh."""
    pytest.importorskip("pytetwild")
    robot = kido.load(example_robots / file)
    body = robot.body(link)
    robot.positions = robot.random_positions(1)
    for joint in robot.joints:
        joint.damping = 0.0
    place, mass = robot.body(child).world_transform.copy(), body.mass
    joints = [dof.name for dof in robot.dofs]
    size = 0.25 * float(np.linalg.norm(np.ptp(np.array(body.shapes[-1].shape.aabb), axis=0)))
    flexible = make_flexible(body, ALUMINIUM, modes=4, size=size)
    assert np.isclose(body.mass, mass)
    assert np.allclose(robot.body(child).world_transform, place, atol=1e-12)
    assert [dof.name for dof in robot.dofs if ".mode" not in dof.name] == joints
    assert (flexible.modes.frequencies > 2.0 * np.pi * 100.0).all()
    assert flexible_bodies(robot)[0].body is body
    tree = FlexibleTree(robot)
    n = tree.num_coordinates
    u = np.zeros(n)
    energies = []
    motion = tree.simulate(robot.positions, u, 0.005, 4e-6)
    for k in (0, -1):
        state = motion.positions[k], motion.velocities[k]
        energies.append(tree.kinetic_energy(*state) + tree.potential_energy(state[0]))
    kinetic = tree.kinetic_energy(motion.positions[-1], motion.velocities[-1])
    assert abs(energies[1] - energies[0]) < 1e-4 * kinetic


def test_links_that_cannot_be_made_flexible() -> None:
    arm = boxes()
    names = [b.name for b in arm.bodies]
    upper = arm.body("upper")

    def refused(message: str, body=upper, error: type = kido.ModelError, **options) -> None:
        with pytest.raises(error, match=message):
            make_flexible(body, ALUMINIUM, **{"size": 0.25, **options})
        assert [b.name for b in arm.bodies] == names and upper.mass == 1.5

    refused("expected a rigid body of a skeleton, got 'upper'", body="upper")
    refused("elements: expected one of solid, plate, got 'shell'", elements="shell")
    refused("reach: expected a positive distance", reach=-1.0)
    refused("nodes are within 0.001 m of joint 'joint_upper'", reach=1e-3)
    refused("no shape.*'cover'", error=kido.NameLookupError, shapes=["cover"])
    refused("method: expected one of", method="guyan")
    arm.add_body("upper_modes", kido.WeldJoint(), arm.body("fore"))
    names.append("upper_modes")
    refused("has a body, joint or coordinate 'upper_modes' already")
    bare = arm.add_body("bare", kido.WeldJoint(), arm.body("fore"))
    names.append("bare")
    refused("body 'bare' has no shape that elements could fill", body=bare)
    with pytest.raises(kido.ModelError, match=r"material: expected a kido.flexible.Material"):
        make_flexible(upper, "steel")
    other = boxes()
    make_flexible(other.body("fore"), ALUMINIUM, modes=1, size=0.25)
    with pytest.raises(kido.ModelError, match="body 'fore' is flexible already"):
        make_flexible(other.body("fore"), ALUMINIUM)
