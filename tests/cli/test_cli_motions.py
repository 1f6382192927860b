"""Motions and their models as a shell sees them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import h5py
import numpy as np
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


# -- analyze -----------------------------------------------------------------------------------------------


@pytest.fixture
def hop(files: Path) -> str:
    """A humanoid that is led up and down in its posture, ten times a second for 0.3 s."""
    human = kido.load("humanoid")
    q = np.tile(human.positions, (31, 1))
    q[:, human.dof("root_z").index] += 0.02 * np.sin(2 * np.pi * np.arange(31) / 30)
    kido.save(kido.Motion(None, q, 100, skeleton=human), "hop.dof")
    return "hop.dof"


def test_an_analysis_and_its_files(hop: str, files: Path, capfd: pytest.CaptureFixture[str]):
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    command = ["analyze", hop, "humanoid", "--body", "left_foot", "--out", "a.csv", "--plot", "a.png"]
    assert main([*command, "--cutoff", "20"]) == 0
    out = capfd.readouterr().out
    mass = kido.load("humanoid").mass
    assert f"humanoid: 31 frames from 0 to 0.3 s, smoothed at 20 Hz\nmass         {mass:.4g} kg" in out
    assert len(re.findall(r"^largest +(\w+) -?[\d.]+ N m at [\d.]+ s$", out, re.MULTILINE)) == 3
    assert "touches      left_foot" in out and "written      a.csv (31 frames" in out and "plot         a.png" in out
    header = (files / "a.csv").read_text().split("\n")[0].split(",")
    assert "forces/left_knee" in header and "zmp/x" in header and "touching/left_foot" in header
    assert main(command) == 1 and "exists already" in capfd.readouterr().err
    assert main([*command, "--overwrite", "--quiet"]) == 0 and capfd.readouterr().out == ""


def test_an_analysis_of_a_recording(files: Path, capfd: pytest.CaptureFixture[str]):
    assert main(["simulate", "humanoid", "--ground", "--duration", "0.1", "--record", "run.h5", "--quiet"]) == 0
    assert main(["analyze", "run.h5", "--out", "a.h5"]) == 0
    out = capfd.readouterr().out
    assert "humanoid: 100 frames from 0.0005 to 0.0995 s, not smoothed" in out and "unexplained  at most" in out
    found = kido.motions.analyze(kido.Recording.open("run.h5"))
    with h5py.File("a.h5") as file:
        assert np.array_equal(file["cop"][()], found.cop, equal_nan=True)
    assert main(["info", "a.h5"]) == 1 and "not a KIDO recording" in capfd.readouterr().err


def test_mistakes_of_analyses(hop: str, files: Path, capfd: pytest.CaptureFixture[str], monkeypatch):
    for arguments, message in [
        ([hop], "hop.dof: has no skeleton; name the MODEL"),
        ([hop, "leg.urdf"], "coordinates of skeleton 'leg' are not found"),
        ([hop, "humanoid", "--out", "a.txt"], "--out a.txt: expected a name that ends in .h5 or .hdf5 or .csv"),
        ([hop, "humanoid", "--plot", "a.txt"], "--plot a.txt: expected a name that ends in .png"),
        ([hop, "humanoid", "--out", "nowhere/a.csv"], "nowhere does not exist"),
        ([hop, "humanoid", "--cutoff", "90"], "cutoff is 90.0; expected"),
        ([hop, "humanoid", "--body", "foot"], "foot"),
        ([hop, "stack"], "stack: a world; --skeleton says which moves: "),
        (["leg.urdf"], "leg.urdf holds no motion, but a Skeleton"),
        (["run.h5", "humanoid"], "MODEL: run.h5 is a recording"),
        (["run.h5", "--gravity", "0", "-9.81", "0"], "--gravity: run.h5 is a recording"),
    ]:
        assert main(["analyze", *arguments]) != 0
        assert message in capfd.readouterr().err
    for arguments in ([hop, "humanoid", "--gravity", "0", "-9.81", "0"], ["man.bvh", "--gravity", "0", "-9.81", "0"]):
        assert main(["analyze", *arguments]) == 0
        assert "along 0 1 0" in capfd.readouterr().out
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["analyze", hop, "humanoid", "--plot", "a.png"]) == 1
    assert "pip install 'kido[plot]'" in capfd.readouterr().err
