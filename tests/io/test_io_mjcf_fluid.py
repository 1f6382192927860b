"""Forces of a fluid: MuJoCo's own at random states, a terminal velocity, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.environment import FluidBox, FluidEllipsoid, Medium
from kido.io import mjcf
from kido.layouts import MujocoLayout

mujoco: Any = pytest.importorskip("mujoco", reason="the extra mjcf is not installed")
TOLERANCE = 1e-12  # relative: rounding of both
TREE = """<mujoco><option density="1.2" viscosity="0.7" wind="1 -2 0.5"/><worldbody>
<body name="a" pos="0 0 1"><freejoint name="f"/>
  <geom type="box" size="0.1 0.2 0.05" pos="0.1 0 0.02" euler="10 20 30" {}/>
  <body name="b" pos="0.3 0 0"><joint name="h" axis="0 1 0"/><joint name="g" axis="1 0 0" pos="0 0.1 0"/>
    <geom type="capsule" size="0.05 0.2" euler="30 0 10" {}/><geom type="sphere" size="0.06" pos="0 0.2 0.1" {}/>
    <body name="c" pos="0 0.2 0.3"><joint name="q" type="ball"/>
      <geom type="ellipsoid" size="0.1 0.05 0.15" euler="5 60 7" {}/></body>
    <body name="d" pos="0 -0.2 0.3" euler="3 4 5"><geom type="cylinder" size="0.1 0.05"/></body>
  </body></body>
<body name="e" pos="2 0 0"><joint name="s" type="slide"/><geom size="0.1" type="sphere"/></body>
</worldbody></mujoco>"""
GEOMS = {
    "boxes": "",
    "ellipsoids": 'fluidshape="ellipsoid"',
    "coefficients": 'fluidshape="ellipsoid" fluidcoef="0.3 0.4 0.9 1.3 0.7"',
}


def forces_of(world: kido.World, model: Any, q: Any, u: Any) -> np.ndarray:
    """Forces of a fluid on coordinates of velocities as MuJoCo has them, at a state of its."""
    found = np.zeros(model.nv)
    for medium in world.controllers:
        skeleton = medium.skeleton
        layout = MujocoLayout(skeleton, model)
        skeleton.positions = layout.our_positions(q)
        skeleton.velocities = layout.our_velocities(skeleton.positions, u)
        found += np.linalg.pinv(layout.velocity_map(skeleton.positions)).T @ np.asarray(medium.compute())
    return found


@pytest.mark.parametrize("geom", GEOMS.values(), ids=GEOMS.keys())
def test_forces_of_a_fluid_are_those_of_mujoco(geom: str) -> None:
    text = TREE.replace("{}", geom)
    world, model = mjcf.read(text), mjcf.compile_model(text)
    data, rng = mujoco.MjData(model), np.random.default_rng(2)
    assert len(world.controllers) == 2  # a skeleton each
    for _ in range(5):
        q = model.qpos0.copy()
        mujoco.mj_integratePos(model, q, rng.uniform(-1.0, 1.0, model.nv), 1.0)
        data.qpos, data.qvel = q, 3.0 * rng.standard_normal(model.nv)
        mujoco.mj_forward(model, data)
        error = forces_of(world, model, data.qpos, data.qvel) - data.qfrc_fluid
        assert np.abs(error).max() < TOLERANCE * np.abs(data.qfrc_fluid).max()


def test_there_are_none_where_there_is_no_fluid_or_no_passive_force() -> None:
    off = '<option density="1"><flag spring="disable" damper="disable"/></option>'
    for option in ('<option wind="1 2 3"/>', off):
        text = TREE.replace('<option density="1.2" viscosity="0.7" wind="1 -2 0.5"/>', option).replace("{}", "")
        assert mjcf.read(text).controllers == ()


def test_a_fluid_is_written(tmp_path: Path) -> None:
    text = TREE.replace("{}", "")
    kido.save(mjcf.read(text), tmp_path / "fluid.xml")
    option = mjcf.compile_model(tmp_path / "fluid.xml").opt
    assert (option.density, option.viscosity, [*option.wind]) == (1.2, 0.7, [1.0, -2.0, 0.5])
    remarks = kido.save(mjcf.read(TREE.replace("{}", GEOMS["ellipsoids"])), tmp_path / "ellipsoids.xml")
    assert any("acts by other shapes than inertia boxes, is left out" in remark for remark in remarks)


def falling(**medium: Any) -> tuple[kido.World, kido.Skeleton]:
    ball = kido.Skeleton("ball")
    body = ball.add_body("ball", kido.FreeJoint("f"), inertia=kido.Inertia.from_shape(kido.Sphere(0.1), mass=2.0))
    world = kido.World("air", time_step=1e-3)
    world.add_skeleton(ball)
    side = 0.3
    world.add_controller(Medium(ball, shapes=[FluidBox(body, np.eye(4), [side] * 3)], **medium))
    return world, ball


def test_a_falling_body_reaches_its_terminal_velocity() -> None:
    """m g = rho b^2 v^2 / 2 + 3 pi b mu v: both laws at once, by steps without Python; in wind it is carried along.

    The relaxation time is 0.24 s and less, and velocities are constant to 1e-14 after 8 s.
    """
    rho, mu, b, weight = 200.0, 3.0, 0.3, 2.0 * 9.81
    world, ball = falling(density=rho, viscosity=mu, wind=(0.0, 1.5, 0.0))
    twin = pickle.loads(pickle.dumps(world))
    before = world.snapshot()
    world.step(8000)
    A, B = 0.5 * rho * b * b, 3.0 * np.pi * b * mu
    speed = (-B + np.sqrt(B * B + 4.0 * A * weight)) / (2.0 * A)
    R = ball.bodies[0].world_transform[:3, :3]
    assert R @ ball.velocities[3:] == pytest.approx([0.0, 1.5, -speed], abs=1e-9)
    ends = [np.array(ball.positions)]
    world.restore(before)
    world.step(8000)
    ends.append(np.array(ball.positions))
    copy = twin.clone()
    for other in (twin, copy):
        other.step(8000)
        ends.append(np.array(other.skeletons[0].positions))
    assert all(np.array_equal(end, ends[0]) for end in ends)


def test_boxes_of_inertia_are_the_default() -> None:
    """A box of 0.2, 0.4 and 0.6 m is found again, on its axes, and quadratic drag on its largest side is that of it."""
    size, board = (0.2, 0.4, 0.6), kido.Skeleton("board")
    board.add_body("board", kido.FreeJoint("f"), inertia=kido.Inertia.from_shape(kido.Box(size), mass=3.0))
    medium = Medium(board, density=1.5)
    (box,) = medium.shapes
    assert np.abs(np.asarray(box.pose)[:3, :3]) @ box.size == pytest.approx(size, abs=1e-12)
    board.velocities = [0.0, 0.0, 0.0, -2.0, 0.0, 0.0]
    assert medium.compute() == pytest.approx([0.0, 0.0, 0.0, 0.5 * 1.5 * 0.24 * 4.0, 0.0, 0.0], abs=1e-12)


def test_bad_media_are_refused_and_say_why() -> None:
    world, ball = falling(density=1.0)
    other = kido.Skeleton("other")
    body = other.add_body("x")
    bad: list[tuple[dict[str, Any], str]] = [
        ({"density": -1.0}, "density: expected a finite number from 0 on, got -1.0"),
        ({"viscosity": np.nan}, "viscosity: expected a finite number"),
        ({"density": "air"}, "density: expected a finite number"),
        ({"wind": (1.0, 2.0)}, "medium of 'ball': wind"),
        ({"shapes": [FluidBox(body, np.eye(4), [1.0, 1.0, 1.0])]}, "body 'x' of a shape belongs to 'other'"),
        ({"shapes": [FluidEllipsoid(ball.bodies[0], np.eye(4), [1.0, 0.0, 1.0])]}, "expected lengths above 0"),
    ]
    for options, words in bad:
        with pytest.raises(kido.ModelError, match=words):
            Medium(ball, **options)
    assert len(world.controllers) == 1


LIMITED = """<mujoco><option density="1000" viscosity="1" gravity="0 0 0" timestep="0.002"/><worldbody>
<body name="a"><joint name="h" axis="0 1 0" actuatorfrcrange="-1 1"/>
  <geom type="capsule" size="0.05" fromto="0 0 0 0.5 0 0"/></body></worldbody>
<actuator><motor joint="h"/></actuator></mujoco>"""


def test_limits_of_actuators_do_not_hold_for_a_fluid() -> None:
    """A fluid's 54 N m on a joint whose actuator gives at most 1. Both rules hold forces of a step's start."""
    world, model = mjcf.read(LIMITED), mjcf.compile_model(LIMITED)
    data = mujoco.MjData(model)
    data.qvel[:] = 10.0
    mujoco.mj_step(model, data)
    skeleton = next(s for s in world.skeletons if s.num_dofs)
    skeleton.velocities = [10.0]
    world.step()
    assert data.qvel[0] < 9.8
    assert skeleton.velocities[0] == pytest.approx(data.qvel[0], abs=1e-9)


def chain() -> kido.Skeleton:
    robot = kido.Skeleton("robot")
    parent = None
    for name in "abc":
        inertia = kido.Inertia.from_diagonal(1.0, (0.02, 0.03, 0.04), (0.1, 0.0, 0.0))
        joint = kido.RevoluteJoint(axis=(0, 0, 1), transform_from_parent=[0.3 * (parent is not None), 0, 0])
        parent = robot.add_body(name, joint, parent, inertia=inertia)
    robot.velocities = [1.0, 2.0, 3.0]
    return robot


def test_a_fluid_at_once_and_after_a_body_has_left() -> None:
    robot = chain()
    medium = Medium(robot, density=1000.0)
    before = medium.compute()  # nothing else has asked the skeleton for anything
    assert before.shape == (3,)
    assert (before != 0.0).all()
    robot.bodies[2].remove()
    assert np.array_equal(medium.compute(), Medium(robot, density=1000.0).compute())


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda b: FluidEllipsoid(b, np.eye(4), (0.1, 0.1, 0.1), blunt_drag=np.nan), "blunt_drag: expected a finite"),
        (lambda b: FluidEllipsoid(b, np.eye(4), (0.1, 0.1, 0.1), added_mass=(1.0, 2.0)), "added_mass"),
        (lambda b: FluidBox(b, np.full((4, 4), np.nan), (0.1, 0.1, 0.1)), "pose"),
        (lambda b: FluidBox(b, np.eye(4), (0.1, 0.1, 0.0)), "size: expected lengths above 0"),
        (lambda b: b, "shapes: expected FluidBox or FluidEllipsoid"),
    ],
)
def test_wrong_shapes_in_a_fluid_are_named(made: Any, message: str) -> None:
    robot = chain()
    with pytest.raises(kido.ModelError, match=message):
        Medium(robot, density=1.0, shapes=[made(robot.bodies[1])])


def test_a_fluid_does_not_take_what_it_cannot_act_on() -> None:
    robot = chain()
    wrong: Any = 3
    with pytest.raises(kido.ModelError, match="shapes: expected"):
        Medium(robot, density=1.0, shapes=wrong)
    empty = robot.add_body("light", kido.WeldJoint(), robot.bodies[0], inertia=kido.Inertia(0.0))
    with pytest.raises(kido.ModelError, match="has no mass"):
        FluidBox.of_inertia(empty)


def test_other_boxes_than_those_of_inertia_are_not_written(tmp_path: Path) -> None:
    world = kido.World()
    robot = chain()
    world.add_skeleton(robot)
    world.add_controller(Medium(robot, density=1.0, shapes=[FluidBox(robot.bodies[0], np.eye(4), (0.3, 0.3, 0.3))]))
    remarks = kido.save(world, tmp_path / "world.xml")
    assert any("other shapes than inertia boxes, is left out" in remark for remark in remarks)
