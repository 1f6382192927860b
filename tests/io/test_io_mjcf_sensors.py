"""Sensors and keyframes of MJCF files: readings beside MuJoCo's `sensordata` in one state."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import kido
from kido.io import mjcf
from kido.layouts import MujocoLayout

mujoco: Any = pytest.importorskip("mujoco", reason="the extra mjcf is not installed")
TOLERANCE = 1e-11  # of forces and accelerations, which are sums of large parts

BODIES = """
<body name="f" pos="0 0 2"><freejoint/><geom type="box" size="0.1 0.2 0.3"/><site name="s" pos="0.1 0.2 0.1" euler="30 0 40"/>
  <camera name="eye" pos="0.1 0 0.3" euler="10 20 30"/>
  <body name="a" pos="0.3 0 0"><joint name="h" axis="0 1 0"/><joint name="slide" type="slide" axis="1 0 0" actuatorfrcrange="-1 1"/>
    <geom name="g" type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.05"/><site name="t" pos="0.2 0 0.1" euler="0 20 10"/>
    <body name="b" pos="0.3 0 0"><joint name="q" type="ball" pos="0.05 0 0"/><geom type="box" size="0.1 0.05 0.07" pos="0.1 0 0.05"/>
      <body name="w" pos="0 0 0.2" euler="10 0 0"><geom size="0.05"/><site name="u" euler="5 6 7"/></body></body></body></body>
<body name="p" pos="3 0 1"><joint name="j" axis="1 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size="0.05"/></body>
"""  # noqa: E501
OBJECTS = (("body", "a"), ("xbody", "b"), ("geom", "g"), ("site", "t"), ("camera", "eye"))


def frames() -> str:
    kinds = ("pos", "quat", "xaxis", "yaxis", "zaxis", "linvel", "angvel")
    plain = [f'<frame{k} objtype="{o}" objname="{n}"/>' for k in (*kinds, "linacc", "angacc") for o, n in OBJECTS]
    relative = [
        f'<frame{k} objtype="{o}" objname="{n}" reftype="body" refname="p"/>' for k in kinds for o, n in OBJECTS
    ]
    relative += [f'<frame{k} objtype="site" objname="u" reftype="site" refname="t"/>' for k in kinds]
    return "".join([*plain, *relative])


SITES = "".join(
    f'<{kind} site="{site}"/>'
    for kind in ("accelerometer", "velocimeter", "gyro", "magnetometer", "force", "torque")
    for site in "stu"
)
SENSORS = {
    "joints": '<jointpos joint="h"/><jointvel joint="slide"/><jointactuatorfrc joint="slide"/><ballquat joint="q"/>'
    '<ballangvel joint="q"/><jointpos joint="h" cutoff="0.05"/>',
    "actuators": '<actuatorpos actuator="m"/><actuatorvel actuator="m"/><actuatorfrc actuator="m"/>'
    '<actuatorfrc actuator="m2"/><tendonpos tendon="t"/><tendonvel tendon="t"/><tendonactuatorfrc tendon="t"/>',
    "frames": frames(),
    "sites": SITES,
    "subtrees": "".join(
        f'<subtree{k} body="{b}"/>' for k in ("com", "linvel", "angmom") for b in ("f", "a", "b", "world")
    ),
    "clock": "<clock/><e_kinetic/>",
}
REST = """<tendon><fixed name="t"><joint joint="h" coef="2"/><joint joint="slide" coef="-1"/></fixed></tendon>
<actuator><motor name="m" joint="slide" gear="3"/><motor name="m2" tendon="t"/></actuator>"""


def text_of(sensors: str, more: str = "") -> str:
    head = f'<option magnetic="0.1 0.2 0.3"/><worldbody>{BODIES}</worldbody>{REST}'
    return f"<mujoco>{head}<sensor>{sensors}</sensor>{more}</mujoco>"


@pytest.mark.parametrize("sensors", SENSORS.values(), ids=SENSORS.keys())
def test_readings_are_those_of_mujoco(sensors: str) -> None:
    text, rng = text_of(sensors), np.random.default_rng(6)
    world, model = mjcf.read(text), mjcf.compile_model(text)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.uniform(-0.8, 0.8, model.nv), 1.0)
    data.qvel, data.ctrl = rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nu)
    mujoco.mj_forward(model, data)
    for s in world.skeletons[1:]:
        layout = MujocoLayout(s, model)
        q = layout.our_positions(data.qpos)
        s.positions, s.velocities = q, layout.our_velocities(q, data.qvel)
        s.accelerations = layout.our_accelerations(q, s.velocities, data.qacc)
    world.actuators.controls = data.ctrl
    assert len(world.sensors) == model.nsensor and not any("sensor" in w for w in world.skeletons[0].warnings)
    for k, (name, value) in enumerate(world.sensors.items()):
        at, n = model.sensor_adr[k], model.sensor_dim[k]
        expected = data.sensordata[at : at + n]
        if world.sensors.kinds[name].endswith("quat"):
            expected = expected * np.sign(expected[0])
        np.testing.assert_allclose(value, expected, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
    assert len(world.sensors.data) == model.nsensordata


def test_touch_is_the_normal_force_in_a_site() -> None:
    """A ball and a box at rest on the ground: their weights, and nothing where the site is elsewhere."""
    bodies = (
        '<geom type="plane" size="5 5 1"/>'
        '<body pos="0 0 0.1"><freejoint/><geom size="0.1" mass="2"/><site name="all" size="0.1"/>'
        '<site name="top" type="box" size="0.1 0.1 0.01" pos="0.3 0 0.1"/></body>'
        '<body pos="1 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="3"/>'
        '<site name="foot" type="capsule" size="0.2 0.1"/>'
        '<site name="half" type="box" size="0.05 0.2 0.2" pos="0.1 0 0"/></body>'
    )
    sensors = "".join(f'<touch name="{s}" site="{s}"/>' for s in ("all", "top", "foot", "half"))
    world = mjcf.read(f"<mujoco><worldbody>{bodies}</worldbody><sensor>{sensors}</sensor></mujoco>")
    world.step(200)
    weights = np.array([2.0, 0.0, 3.0, 1.5]) * 9.81
    np.testing.assert_allclose(world.sensors.data, weights, rtol=1e-6, atol=1e-9)  # of a motion that settles


def test_sensors_go_with_clones() -> None:
    world = mjcf.read(text_of('<framepos name="where" objtype="body" objname="a"/>'))
    twin = copy.deepcopy(world)
    twin.step(50)
    assert twin.sensors["where"][2] < world.sensors["where"][2]
    assert isinstance(twin, mjcf.MjcfWorld)


KEYS = """<keyframe><key name="up" qpos="1 2 3 1 0 0 0 0.1 0.2 0.7071 0.7071 0 0 0.4" qvel="1 2 3 4 5 6 7 8 9 10 11 12"
ctrl="0.3 0.4"/><key name="rest"/></keyframe>"""


def test_keyframes_are_states_by_name() -> None:
    text = text_of("", KEYS)
    world, model = mjcf.read(text), mjcf.compile_model(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    world.set_keyframe("up")
    for s in world.skeletons[1:]:
        layout = MujocoLayout(s, model)
        np.testing.assert_allclose(s.velocities, layout.our_velocities(s.positions, data.qvel), rtol=1e-12)
        for body in s.bodies:
            if "_of_" not in body.name:
                np.testing.assert_allclose(body.world_transform[:3, 3], data.body(body.name).xpos, atol=1e-12)
    assert world.actuators.controls.tolist() == [0.3, 0.4]
    world.set_keyframe("rest")
    assert not world.actuators.controls.any() and not world.skeleton("f").velocities.any()
    assert list(world.keyframes) == ["up", "rest"]


def test_mocap_bodies_go_where_keyframes_have_them() -> None:
    bodies = '<body name="m" mocap="true" pos="0 0 1"><geom size="0.1"/></body>'
    key = '<keyframe><key name="k" mpos="1 2 3" mquat="0 1 0 0"/></keyframe>'
    world = mjcf.read(f"<mujoco><worldbody>{bodies}</worldbody>{key}</mujoco>")
    world.set_keyframe("k")
    np.testing.assert_allclose(
        world.skeleton("m").bodies[0].world_transform[:3], [[1, 0, 0, 1], [0, -1, 0, 2], [0, 0, -1, 3]], atol=1e-12
    )


def test_mistakes_are_named() -> None:
    world = mjcf.read(text_of('<clock name="time"/><user name="far" dim="1"/>', KEYS))
    with pytest.raises(kido.NameLookupError, match="no keyframe 'down'; expected one of: up, rest"):
        world.set_keyframe("down")
    with pytest.raises(kido.NameLookupError, match="no sensor 'far'; expected one of: time"):
        world.sensors["far"]
    assert any("sensors of kind user are left out: 1 (far)" in w for w in world.skeletons[0].warnings)
    with pytest.raises(kido.ModelError, match="has no actuators"):
        _ = mjcf.read("<mujoco/>").actuators


def test_rangefinders_see_what_mujocos_see() -> None:
    """The ground, a box, a ball, a capsule of the same tree, and nothing; a cutoff; other numbers are left out."""
    sites = "".join(
        f'<site name="{name}" pos="{pos}" zaxis="{axis}"/>'
        for name, pos, axis in (
            ("down", "0.2 0 0", "0.1 0.2 -1"), ("box", "0 0 0", "1 0 0"), ("ball", "0 0 0", "0.02 1 0.01"),
            ("arm", "0 0 0", "0 -1 0.05"), ("none", "0 0 0", "0 0 1"),
        )
    )  # fmt: skip
    text = f"""<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
    <geom type="box" size="0.3 2 2" pos="3 0 0" euler="0 0 10"/>
    <body name="b" pos="0 2 1"><geom size="0.4"/></body>
    <body name="r" pos="0 0 1"><joint name="j" type="ball"/><geom size="0.1"/>{sites}
      <body name="c" pos="0 -0.6 0"><joint name="k"/><geom type="capsule" size="0.1 0.2"/></body></body></worldbody>
    <sensor>{"".join(f'<rangefinder name="{n}" site="{n}"/>' for n in ("down", "box", "ball", "arm", "none"))}
    <rangefinder name="near" site="box" cutoff="1.5"/></sensor></mujoco>"""
    world, model = mjcf.read(text), mjcf.compile_model(text)
    data = mujoco.MjData(model)
    robot = world.skeletons[-1]
    layout = MujocoLayout(robot, model)
    for turn in ([0.0, 0.0, 0.0], [0.05, -0.02, 0.03]):
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, np.array([*turn, 0.1]), 1.0)
        mujoco.mj_forward(model, data)
        robot.positions = layout.our_positions(data.qpos)
        assert (data.sensordata[:4] > 0.0).all() and data.sensordata[4] == -1.0
        assert world.sensors.data == pytest.approx(data.sensordata, abs=1e-10)  # of rays of 1 km
    other = mjcf.read(text.replace('cutoff="1.5"', 'data="dist normal"'))
    assert "near" not in other.sensors
    assert any("sensors of kind rangefinder are left out" in words for words in other.skeletons[0].warnings)
