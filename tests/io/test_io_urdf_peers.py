"""The URDF reader against Pinocchio: total mass and the placement of every link.

Both add the same numbers in another order; 1e-10 relative leaves room for that and nothing else.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from pinocchio_layout import NAMED, OF_DART, Layout, pin


def compare(path: Path, states: int, free: bool = False) -> None:
    options = {"visuals": False, "collisions": False, "base": "free" if free else "fixed"}
    skeleton = kido.load(path, **options)
    root = [pin.JointModelFreeFlyer()] if free else []
    model = pin.buildModelFromUrdf(str(path), *root)
    data, layout = model.createData(), Layout(model, skeleton)
    assert skeleton.mass == pytest.approx(sum(inertia.mass for inertia in model.inertias), rel=1e-10)
    frames = [(index, frame.name) for index, frame in enumerate(model.frames) if frame.type == pin.FrameType.BODY]
    names = {name for _, name in frames} - {"universe"}
    assert names == {body.name for body in skeleton.bodies} - {"universe"}
    if any("zero mass on a moving body" in text for text in skeleton.warnings):
        return  # such a skeleton refuses to compute
    rng = np.random.default_rng(7)
    for _ in range(states):
        q = rng.uniform(-np.pi, np.pi, skeleton.num_dofs)
        skeleton.positions = q
        pin.framesForwardKinematics(model, data, layout.positions(q))
        for index, name in frames:
            if name == "universe":
                continue
            expected = data.oMf[index].homogeneous
            scale = max(1.0, float(np.abs(expected).max()))
            difference = np.abs(skeleton.body(name).world_transform - expected).max()
            assert difference <= 1e-10 * scale, (path.name, name)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_named_robots(example_robots: Path, name: str, free: bool) -> None:
    compare(example_robots / NAMED[name], states=100, free=free)


@pytest.mark.parametrize("name", OF_DART)
def test_robots_of_dart(dart_data: Path, name: str) -> None:
    compare(dart_data / OF_DART[name], states=100)


def test_all_robots_of_example_robot_data(example_robots: Path) -> None:
    for path in sorted(example_robots.rglob("*.urdf")):
        if path.name != "ur3.urdf":
            compare(path, states=2)


def test_floating_prismatic_and_skew_joints(tmp_path: Path) -> None:
    inertial = (
        '<inertial><origin xyz="0.1 0 0" rpy="0.1 0.2 0.3"/><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2"/></inertial>'
    )
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in "abcd")
    path = tmp_path / "mixed.urdf"
    path.write_text(
        f'<robot name="r">{links}'
        '<joint name="f" type="floating"><parent link="a"/><child link="b"/>'
        '<origin xyz="1 2 3" rpy="1 2 3"/></joint>'
        '<joint name="s" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 2 3"/>'
        '<origin xyz="0 1 0" rpy="0.3 0.2 0.1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        '<joint name="t" type="continuous"><parent link="c"/><child link="d"/>'
        '<axis xyz="-1 0.5 0"/></joint></robot>'
    )
    compare(path, states=20)
