"""Written MJCF files beyond mechanisms: who touches whom and how, keyframes, cameras; and what they leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_io_mjcf_filters import random_tree

import kido
from kido.io import mjcf
from kido.rendering import CameraNode

mujoco: Any = pytest.importorskip("mujoco")
pytestmark = pytest.mark.filterwarnings("ignore::kido.errors.KidoWarning")
ONE = kido.Inertia.from_diagonal(1.0, (0.01, 0.01, 0.01))


def ours(world: kido.World) -> set[frozenset[str]]:
    world.step()
    return {frozenset((c.shape_a.name, c.shape_b.name)) for c in world.contacts}


def theirs(path: Path) -> set[frozenset[str]]:
    model = mjcf.compile_model(path)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    weld = model.body_weldid[model.geom_bodyid]
    return {
        frozenset((model.geom(c.geom1).name, model.geom(c.geom2).name))
        for c in data.contact
        if c.dist < 0.0 and weld[c.geom1] != weld[c.geom2]
    }


@pytest.mark.parametrize("seed", range(0, 120, 5))
def test_who_touches_comes_back(seed: int, tmp_path: Path) -> None:
    """Random trees with welds, masks, excluded bodies and pairs, with and without contacts of neighbours."""
    world = mjcf.read(random_tree(seed))
    kido.save(world, tmp_path / "m.xml", approximate=True)
    assert theirs(tmp_path / "m.xml") == ours(world)


def chain(self_collision: bool) -> kido.Skeleton:
    """Three balls about one place, of which two hinges without a shape between join the first and the last."""
    s = kido.Skeleton("chain")
    s.self_collision = self_collision
    first = s.add_body("a", kido.FreeJoint("free"), inertia=ONE)
    second = s.add_body("b", kido.RevoluteJoint("h"), first, inertia=ONE)
    empty = s.add_body("e", kido.RevoluteJoint("i", axis=(1, 0, 0)), second, inertia=ONE)
    third = s.add_body("c", kido.RevoluteJoint("j", axis=(0, 1, 0)), empty, inertia=ONE)
    last = s.add_body("d", kido.RevoluteJoint("k", axis=(0, 1, 0)), third, inertia=ONE)
    for body in (first, second, third, last):
        body.add_shape(kido.Sphere(0.1), name=body.name)
    return s


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("self_collision", [True, False])
def test_neighbours_that_touch_nothing_are_looked_through(self_collision: bool, alone: bool, tmp_path: Path) -> None:
    """Here b and c are neighbours, since what is between has no shape; the file says so, in a world or without."""
    skeleton = chain(self_collision)
    world = kido.World(gravity=(0.0, 0.0, 0.0))
    world.add_skeleton(skeleton.clone())
    kido.save(skeleton if alone else world, tmp_path / "m.xml")
    assert theirs(tmp_path / "m.xml") == ours(world)
    assert ours(world) == ({frozenset("ac"), frozenset("ad"), frozenset("bd")} if self_collision else set())


def test_filters_of_users_and_masks_are_written(tmp_path: Path) -> None:
    """Masks beside shapes that touch all: these have all bits in the file."""
    world = kido.World(gravity=(0.0, 0.0, 0.0))
    for k, name in enumerate("abcd"):
        s = kido.Skeleton(name)
        s.add_body(name, kido.FreeJoint(), inertia=ONE).add_shape(kido.Sphere(0.1), name=name)
        s.positions = [0.0, 0.0, 0.0, 0.02 * k, 0.0, 0.0]
        world.add_skeleton(s)
    a, b, c, d = (s.bodies[0] for s in world.skeletons)
    for body, bits in ((b, 2), (c, 2), (d, 4)):
        body.shapes[0].collision_category = body.shapes[0].collision_mask = bits
    world.collision_filter.add(a, b)
    remarks = kido.save(world, tmp_path / "m.xml")
    assert remarks == ["friction of a pair is the greater of both there, whatever the rule"] or not remarks
    assert theirs(tmp_path / "m.xml") == ours(world) == {frozenset("ac"), frozenset("ad"), frozenset("bc")}


MODEL = """<mujoco><compiler angle="radian" autolimits="true"/><worldbody>
<body name="A"><freejoint name="f"/><geom name="a" size="0.1" contype="0" conaffinity="0"/>
  <camera name="eye" pos="0.1 0.2 0.3" euler="0.3 0.2 0.1" fovy="50" resolution="320 200"/></body>
<body name="B" pos="1 0 0"><joint name="q" type="ball" pos="0 0 0.1"/><geom name="b" size="0.1" contype="0"
  conaffinity="0"/><body name="C" pos="0.3 0 0"><joint name="h" axis="0 1 0"/>
  <geom name="c" size="0.1"/></body></body></worldbody>
<contact><pair geom1="a" geom2="b" condim="4" friction="0.3 0.3 0.1 0 0" margin="0.01"/></contact>
<actuator><general name="m" joint="h" dyntype="filter" dynprm="0.1"/><motor name="n" joint="h"/></actuator>
<keyframe><key name="k" qpos="0.1 0.2 0.3 0.8 0.6 0 0 0.6 0 0.8 0 0.7" ctrl="0.3 0.4" act="0.5"/>
  <key name="z"/></keyframe>
<sensor><framepos objtype="body" objname="A"/></sensor></mujoco>"""


def test_pairs_keyframes_and_cameras_come_back(tmp_path: Path) -> None:
    world = mjcf.read(MODEL)
    remarks = kido.save(world, tmp_path / "m.xml")
    assert remarks == ["sensors are left out: 1"]
    before, after = mjcf.compile_model(MODEL), mjcf.compile_model(tmp_path / "m.xml")
    for key in ("key_qpos", "key_ctrl", "key_act", "pair_friction", "pair_dim", "pair_margin", "cam_fovy"):
        np.testing.assert_allclose(getattr(after, key), getattr(before, key), atol=1e-12, err_msg=key)
    assert [after.key(k).name for k in range(after.nkey)] == ["k", "z"]
    again = mjcf.read(tmp_path / "m.xml")
    for name in ("k", "z"):
        world.set_keyframe(name)
        again.set_keyframe(name)
        for s, t in zip(world.skeletons, again.skeletons, strict=True):
            np.testing.assert_allclose(t.positions, s.positions, atol=1e-12)
    eyes = [next(iter(w.skeleton("A").nodes(CameraNode))) for w in (world, again)]
    np.testing.assert_allclose(eyes[1].relative_transform, eyes[0].relative_transform, atol=1e-12)
    assert eyes[1].lens.fov == pytest.approx(eyes[0].lens.fov) and eyes[1].lens.height == 200


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    s = chain(False)
    s.body("a").shapes[0].set_surface(slip=0.1, slop=0.01, secondary_friction=0.3, restitution=0.5)
    s.joint("h").velocity_upper_limit = 3.0
    s.joint("i").actuator_type = "SERVO"
    s.body("b").create_node(kido.Marker, "spot")
    world = kido.World()
    world.add_skeleton(s)
    world.add_ground(friction=10.0)
    world.collision_filter.callback = lambda a, b: True
    said = kido.save(world, tmp_path / "m.xml")
    for words in (
        "shape 'a' of 'a': its secondary friction is left out", "shape 'a' of 'a': its slip is left out",
        "shape 'a' of 'a': its slop is left out", "shape 'a' of 'a': its restitution is left out",
        "Marker 'spot' is left out", "joint 'i': its actuator type SERVO is left out",
        "joint 'h': its velocity limit is left out", "the callback of the collision filter is left out",
        "friction of a pair is the greater of both there, whatever the rule",
    ):  # fmt: skip
        assert words in said

    class Oily(kido.simulation.ContactSurfaceHandler):
        """A handler of one's own."""

    world.contact_surface_handler = Oily()
    assert "the contact surface handler Oily is left out" in kido.save(world, tmp_path / "m.xml")


def test_masks_that_only_one_has_are_said(tmp_path: Path) -> None:
    world = kido.World()
    for name, category, mask in (("a", 1, 2), ("b", 2, 4)):
        s = kido.Skeleton(name)
        s.add_body(name, kido.FreeJoint(), inertia=ONE).add_shape(
            kido.Sphere(0.1), name=name, collision_category=category, collision_mask=mask
        )
        world.add_skeleton(s)
    assert any("'a' and 'b' touch there" in words for words in kido.save(world, tmp_path / "m.xml"))
    assert not ours(world) and theirs(tmp_path / "m.xml")
