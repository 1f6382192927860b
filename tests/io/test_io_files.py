"""One door to all model files: bundled models by name, and whether a robot or a world is wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from kido import FileFormatError, KidoError, ModelError, models

ROBOT = '<robot name="lone"><link name="base"/></robot>'
ONE = """<sdf version="1.9"><world name="w"><gravity>0 0 -3</gravity>
  <model name="arm"><link name="a"/></model></world></sdf>"""
TIED = """<sdf version="1.9"><world name="w"><model name="arm"><link name="a"/></model>
  <joint name="tie" type="fixed"><parent>world</parent><child>arm::a</child></joint></world></sdf>"""


@pytest.mark.parametrize("name", models.names())
def test_bundled_models_load_by_name(name: str) -> None:
    assert kido.load(name).uri == str(models.path(name))


def test_a_file_goes_before_a_bundled_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arm7").write_text(ROBOT)
    (tmp_path / "stack").mkdir()
    monkeypatch.chdir(tmp_path)
    assert kido.load("arm7").name == "lone"
    assert kido.load("stack").skeletons  # a folder of that name is no model


@pytest.mark.parametrize(
    "name, message",
    [
        ("hooman", r"^hooman: no such file, nor a bundled model; those are: arm7, .*, humanoid, "),
        ("humanoid.urdf", r"no such file \(bundled models, by name: arm7, "),
        ("gone/humanoid", r"no such file \(bundled models"),
        ("a" * 300, "no such file, nor a bundled model"),
        ("a\0b", "no such file, nor a bundled model"),
        (".", r"^\.: is a directory; expected a model file"),
    ],
)
def test_what_is_no_model_is_named(name: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        kido.load(name)


def test_an_empty_name() -> None:
    with pytest.raises(KidoError, match="the model's name is empty; bundled models are: arm7"):
        kido.load("")


def test_a_robot_of_a_world() -> None:
    arm = kido.load_skeleton(ONE)
    assert arm.name == "arm" and arm.host is None
    assert np.array_equal(arm.gravity, (0.0, 0.0, -3.0))  # that of the file
    assert kido.load_skeleton(ROBOT, base="free").num_dofs == 6
    with pytest.raises(ModelError, match=r"stack.skel holds a world of 11 skeletons: ground, box_0, .* load_world\(\)"):
        kido.load_skeleton("stack")
    with pytest.raises(ModelError, match=r"the text holds a world with constraints: tie.*; load_world\(\) reads it"):
        kido.load_skeleton(TIED)
    with pytest.raises(ModelError, match="holds a world of 0 skeletons: none"):
        kido.load_skeleton('<sdf version="1.9"><world name="w"/></sdf>')


def test_a_world_of_a_robot() -> None:
    world = kido.load_world(ROBOT)
    assert [s.name for s in world.skeletons] == ["lone"] and world.name == "lone"
    assert len(kido.load_world("stack").skeletons) == 11
    with pytest.raises(
        KidoError, match=r"\.urdf files: read\(\): unexpected argument 'bases'; did you mean one of: base"
    ):
        kido.load_world(ROBOT, bases="free")
