"""USD files by MuJoCo's compiler."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import kido
from kido.errors import FileFormatError, MissingExtraError

STAGE = """#usda 1.0
(
    defaultPrim = "scene"
    metersPerUnit = 1
    upAxis = "Z"
)

def Xform "scene"
{
    def PhysicsScene "physics"
    {
    }

    def Xform "brick" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        double3 xformOp:translate = (0.1, 0.2, 0.5)
        uniform token[] xformOpOrder = ["xformOp:translate"]

        def Cube "shape" (
            prepend apiSchemas = ["PhysicsCollisionAPI"]
        )
        {
            double size = 0.2
        }
    }

    def Plane "floor" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {
    }
}
"""


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    path = tmp_path / "brick.usda"
    path.write_text(STAGE)
    return path


def test_a_brick_falls_on_a_floor(stage):
    """Its edge and place are the file's; it comes to rest at half its edge."""
    pytest.importorskip("mujoco._usd", reason="MuJoCo's reader of USD is not installed (pip install 'kido[usd]')")
    world = kido.load_world(stage)
    (brick,) = [s for s in world.skeletons if s.num_dofs == 6]
    assert brick.bodies[0].name == "/scene/brick"
    assert abs(brick.mass - 8.0) < 1e-12  # of USD's default density, 1000 kg/m^3
    assert np.allclose(brick.bodies[0].world_transform[:3, 3], [0.1, 0.2, 0.5], atol=1e-12)
    world.step(round(0.8 / world.time_step))
    assert abs(brick.bodies[0].world_transform[2, 3] - 0.1) < 1e-3


def test_damaged_files_are_refused_by_name(stage):
    pytest.importorskip("mujoco._usd", reason="MuJoCo's reader of USD is not installed (pip install 'kido[usd]')")
    stage.write_text(STAGE[:200])
    with pytest.raises(FileFormatError, match=r"brick\.usda.*MuJoCo's compiler"):
        kido.load(stage)


def test_without_the_reader_the_command_is_named(stage, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco._usd", None)
    with pytest.raises(MissingExtraError, match=r"kido\[usd\]"):
        kido.load(stage)
