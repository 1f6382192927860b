"""Links made flexible as their files are read: `kido.load(..., flexible=)`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from kido.flexible import (
    FlexibleTree,
    Material,
    Modes,
    Section,
    beam_modes,
    flexible_bodies,
    make_flexible,
    make_flexible_by_modes,
    make_links_flexible,
    write_modes,
)

ALUMINIUM = Material(7e10, 2700.0, 0.33)


def arm() -> kido.Skeleton:
    """Two boxes of 0.5 m along z, a hinge about y between."""
    made = kido.Skeleton("arm")
    inertia = kido.Inertia(1.5, (0, 0, 0.25), kido.Inertia.from_shape(kido.Box((0.04, 0.03, 0.5)), 1.5).moment)
    for k, name in enumerate(("upper", "fore")):
        joint = kido.RevoluteJoint(f"joint_{name}", (0, 1, 0), transform_from_parent=(0, 0, 0.5 * k))
        body = made.add_body(name, joint, made.bodies[-1] if k else None, inertia)
        body.add_shape(kido.Box((0.04, 0.03, 0.5)), (0, 0, 0.25))
    return made


def modes_with(node: str, length: float = 0.4) -> Modes:
    """A beam's, its tip named as a link."""
    data = beam_modes(length, Section.tube(0.04, 0.036), ALUMINIUM, bending_y=2, bending_z=2, torsion=1).to_dict()
    data["nodes"][0]["name"] = node
    return Modes.from_dict(data)


@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".skel"])
def test_a_link_of_a_file_by_its_material(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("skfem")
    path = tmp_path / f"arm{suffix}"
    kido.save(arm(), path)
    given = {"material": ALUMINIUM, "modes": 2, "size": 0.25}
    found = kido.load_skeleton(path, flexible={"upper": given})
    expected = kido.load_skeleton(path)
    make_flexible(expected.body("upper"), **given)
    assert [dof.name for dof in found.dofs] == [dof.name for dof in expected.dofs]
    assert sum(".mode" in dof.name for dof in found.dofs) == 2
    q = np.full(found.num_dofs, 1e-3)
    assert np.array_equal(FlexibleTree(found).mass_matrix(q), FlexibleTree(expected).mass_matrix(q))


@pytest.mark.parametrize(
    ("file", "link", "child"),
    [
        ("ur_description/urdf/ur5_robot.urdf", "forearm_link", "wrist_1_link"),
        ("panda_description/urdf/panda.urdf", "panda_link5", "panda_link6"),
    ],
)
def test_a_link_of_a_real_robot_by_a_file_of_modes(
    example_robots: Path, tmp_path: Path, file: str, link: str, child: str
) -> None:
    """Joints stay where they are; what is carried weighs what it did; forward dynamics undoes inverse dynamics."""
    path = tmp_path / "link.h5"
    modes = modes_with(child)
    write_modes(path, modes)
    rigid = kido.load_skeleton(example_robots / file)
    robot = kido.load_skeleton(example_robots / file, flexible={link: path})
    body = robot.body(link)
    assert [flexible.body for flexible in flexible_bodies(robot)] == [body]
    assert np.isclose(robot.mass, rigid.mass - rigid.body(link).mass + modes.mass)
    rigid.positions = rigid.random_positions(1)
    for dof in rigid.dofs:
        robot.dof(dof.name).position = dof.position
    for name in (child, rigid.bodies[-1].name):
        assert np.allclose(robot.body(name).world_transform, rigid.body(name).world_transform, atol=1e-12)
    tree, rng = FlexibleTree(robot), np.random.default_rng(2)
    n = tree.num_coordinates
    q, u, udot = robot.positions + 1e-4 * rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal(n)
    u[[dof.joint.has_modes for dof in robot.dofs]] *= 1e-3
    tau = tree.inverse_dynamics(q, u, udot)
    assert np.allclose(tree.forward_dynamics(q, u, tau), udot, rtol=1e-6, atol=1e-6)


def test_children_by_place_and_nodes_with_axes_of_their_own() -> None:
    """A child goes to the node that is where it hangs; a node's axes do not turn it."""
    turned = modes_with("end", 0.5).to_dict()
    turned["nodes"][0]["orientation"] = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    made = kido.Skeleton("beams")
    body = made.add_body("beam", kido.RevoluteJoint("drive", (0, 0, 1)), None, kido.Inertia(1.0))
    load = made.add_body("load", kido.WeldJoint(transform_from_parent=(0.5, 0, 0)), body, kido.Inertia(0.2))
    wheel = made.add_body("wheel", kido.RevoluteJoint("spin", (1, 0, 0)), body, kido.Inertia(0.1, moment=np.eye(3)))
    before = load.world_transform.copy()
    flexible = make_flexible_by_modes(body, Modes.from_dict(turned))
    assert load.parent is flexible.node("end") and wheel.parent is body
    assert np.allclose(load.world_transform, before, atol=1e-14)


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    kido.save(arm(), path)

    def refused(message: str, error: type[Exception] = kido.ModelError, file: Path = path, **flexible: object) -> None:
        with pytest.raises(error, match=message):
            kido.load(file, flexible=flexible)

    refused("no link.*'elbow'.*upper", kido.NameLookupError, elbow=ALUMINIUM)
    refused("link 'upper': expected a Material, a dictionary .* got 7", upper=7)
    refused("link 'upper': expected a Material", upper={"modes": 3})
    refused("unexpected argument 'number'", kido.ArgumentError, upper={"material": ALUMINIUM, "number": 3})
    refused("no such file", kido.FileFormatError, upper=str(tmp_path / "none.h5"))
    refused(
        r"child 'fore' hangs at \[0.0, 0.0, 0.5\], where the modes have no node.*tip at \[0.4", upper=modes_with("tip")
    )
    with pytest.raises(kido.ModelError, match="flexible: expected a dictionary"):
        kido.load(path, flexible="upper")
    with pytest.raises(kido.ArgumentError, match="flexible"):  # it is among those that are known
        kido.load(path, flexibel={})
    world = kido.World()
    for name in ("left", "right"):
        made = arm()
        made.name = name
        world.add_skeleton(made)
    both = tmp_path / "two.sdf"
    kido.save(world, both)
    refused("several links are named 'upper'.*left/upper, right/upper", file=both, upper=ALUMINIUM)
    found = kido.load_world(both, flexible={"right/fore": modes_with("tip")})
    assert [len(flexible_bodies(s)) for s in found.skeletons] == [0, 1]
    motion = tmp_path / "motion.csv"
    motion.write_text("time,a\n0,0\n1,1\n")
    two = arm()
    for wrong, error in (("none.h5", kido.FileFormatError), ({"material": ALUMINIUM, 3: 1}, kido.ModelError)):
        with pytest.raises(error):
            make_links_flexible([two], {"upper": modes_with("tip", 0.5), "fore": wrong})
        assert not flexible_bodies(two)  # nothing was done
    with pytest.raises(kido.KidoError, match=r"flexible: \.csv files have no links"):
        kido.load(motion, flexible={"a": ALUMINIUM})
    body = arm().body("upper")
    with pytest.raises(kido.ModelError, match=r"modes: expected kido\.flexible\.Modes, got 3"):
        make_flexible_by_modes(body, 3)  # type: ignore[arg-type]


def test_keyframes_of_files_know_of_modes(tmp_path: Path) -> None:
    pytest.importorskip("mujoco", reason="the extra mjcf is not installed")
    path = tmp_path / "arm.xml"
    path.write_text("""<mujoco><worldbody><body name="a"><joint name="j" axis="0 0 1"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.5 0 0" mass="1"/></body></worldbody>
<keyframe><key name="home" qpos="0.3" qvel="0.1"/></keyframe></mujoco>""")
    world = kido.load(path, flexible={"a": modes_with("tip", 0.5)})
    world.set_keyframe("home")  # type: ignore[union-attr]
    robot = next(s for s in world.skeletons if s.num_dofs)  # type: ignore[union-attr]
    assert robot.num_dofs > 1
    assert robot.positions.tolist() == [0.3, *[0.0] * (robot.num_dofs - 1)]
    assert robot.velocities[0] == 0.1
