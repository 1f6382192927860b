"""Motions and their models as a shell sees them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kido
from io_samples import BRACES, BVH, DOF, VSK
from kido.cli import main

pytestmark = pytest.mark.usefixtures("warm_kernels")

LEG = """<robot name="leg"><link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
izz="1"/></inertial></link><link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
izz="1"/></inertial></link><link name="c"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
izz="1"/></inertial></link><joint name="hip" type="continuous"><parent link="a"/><child link="b"/></joint>
<joint name="knee" type="continuous"><parent link="b"/><child link="c"/></joint></robot>"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"man.bvh": BVH, "a.dof": DOF, "man.skel": BRACES, "man.vsk": VSK, "leg.urdf": LEG}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_a_motion_holds(files: Path, capfd: pytest.CaptureFixture[str]):
    assert main(["replay", "man.bvh"]) == 0
    assert capfd.readouterr().out.startswith("Motion(3 frames at 120 Hz of 'man', 10 coordinates)\nHips_Xposition, ")
    assert main(["replay", "a.dof", "--model", "leg.urdf"]) == 0
    assert capfd.readouterr().out == "Motion(3 frames at 60 Hz of 'leg', 2 coordinates)\nhip, knee\n"


@pytest.mark.parametrize("command", ["view", "replay"])
def test_a_page_that_plays_a_motion(files: Path, command: str):
    pytest.importorskip("viser", reason="the extra 'viewer' is not installed")
    assert main([command, "man.bvh", "--html", "page.html"]) == 0
    assert (files / "page.html").stat().st_size > 100_000


def test_models_of_motion_capture(files: Path, capfd: pytest.CaptureFixture[str]):
    for name, dofs in (("man.skel", 13), ("man.vsk", 12), ("man.bvh", 10)):
        assert main(["info", name]) == 0
        assert re.search(rf"\b{dofs}\b", capfd.readouterr().out)
    assert main(["convert", "man.skel", "out.sdf", "--approximate", "--quiet"]) == 0
    assert len(kido.load_skeleton("out.sdf").bodies) >= 4


def test_mistakes(files: Path, capfd: pytest.CaptureFixture[str]):
    for arguments, message in [
        (["replay", "a.dof", "--view"], "The motion has no skeleton to show"),
        (["replay", "a.dof", "--model", "man.skel"], "coordinates of skeleton 'man' are not found"),
        (["replay", "leg.urdf"], "leg.urdf holds no motion, but a Skeleton"),
        (["replay", "run.h5", "--model", "leg.urdf"], "run.h5 is a recording, which has its own models"),
    ]:
        assert main(arguments) != 0
        assert message in capfd.readouterr().err
