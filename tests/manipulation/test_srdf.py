"""SRDF files: read, written, checked."""

from __future__ import annotations

from pathlib import Path

import pytest

import kido
from kido.manipulation import RobotDescription

TEXT = """<?xml version="1.0"?>
<robot name="r">
  <group name="arm"><chain base_link="base" tip_link="wrist"/></group>
  <group name="hand"><link name="palm"/><joint name="finger"/></group>
  <group name="all"><group name="arm"/><group name="hand"/></group>
  <group_state name="home" group="arm"><joint name="a" value="0.1"/><joint name="ball" value="1 2 3"/></group_state>
  <end_effector name="gripper" parent_link="wrist" group="hand" parent_group="arm"/>
  <virtual_joint name="world" type="floating" parent_frame="map" child_link="base"/>
  <passive_joint name="caster"/>
  <link_sphere_approximation link="base"><sphere center="0 0 0.1" radius="0.2"/></link_sphere_approximation>
  <disable_default_collisions link="palm"/>
  <enable_collisions link1="palm" link2="base"/>
  <disable_collisions link1="base" link2="wrist" reason="Never"/>
</robot>
"""


def test_everything_is_read() -> None:
    found = RobotDescription.read(TEXT)
    assert found.group("arm").chains == (("base", "wrist"),)
    assert (found.group("hand").links, found.group("hand").joints) == (("palm",), ("finger",))
    assert found.group("all").groups == ("arm", "hand")
    assert found.states[0].positions == (("a", (0.1,)), ("ball", (1.0, 2.0, 3.0)))
    assert (found.end_effectors[0].parent_link, found.end_effectors[0].parent_group) == ("wrist", "arm")
    assert (found.virtual_joints[0].type, found.virtual_joints[0].child_link) == ("floating", "base")
    assert (found.passive_joints, found.disabled_by_default, found.enabled) == (
        ("caster",),
        ("palm",),
        (("palm", "base"),),
    )
    assert found.spheres == (("base", ((0.0, 0.0, 0.1, 0.2),)),)
    assert (found.disabled[0].link1, found.disabled[0].link2, found.disabled[0].reason) == ("base", "wrist", "Never")
    assert found.remarks == ()


def test_what_is_written_is_read_back(example_robots: Path, tmp_path: Path) -> None:
    """All descriptions of example-robot-data, and the text above, number by number."""
    files = sorted(example_robots.glob("*/srdf/*.srdf"))
    assert len(files) > 30
    for source in [TEXT, *files]:
        found = RobotDescription.read(source)
        found.write(tmp_path / "copy.srdf")
        assert RobotDescription.read(tmp_path / "copy.srdf") == found


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("<robot name='r'>\n<group name='a'>\n</robot>", 3, "mismatch"),
        ("<robot>\n</robot>", 1, "'name'"),
        ("<model name='r'/>", 1, "an SRDF file has <robot>"),
        ("<robot name='r'>\n<group name='a'/>\n<group name='a'/></robot>", 3, "a <group> 'a' already, in line 2"),
        ("<robot name='r'>\n<group name='a'>\n<group name='a'/></group></robot>", 3, "contains itself: a > a"),
        ("<robot name='r'>\n<group_state name='s'>\n\n<joint name='j' value='x'/></group_state></robot>",
         4, "expected a number"),
        ("<robot name='r'>\n<end_effector name='e' parent_link='l' group='g'/></robot>", 2, "no group 'g'"),
        ("<robot name='r'>\n\n<virtual_joint name='v' type='round'/></robot>", 3, "'round'"),
        ("<robot name='r'>\n<disable_collisions link1='a' link2='a'/></robot>", 2, "names link 'a' twice"),
        ("<robot name='r'>\n<disable_collisions link1='a'/></robot>", 2, "'link2'"),
        ("<robot name='r'><link_sphere_approximation link='l'>\n<sphere center='0 0 0' radius='-1'/>"
         "</link_sphere_approximation></robot>", 2, "radius: expected a number not below 0, got -1"),
    ],
)  # fmt: skip
def test_malformed_files_are_refused_with_their_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(kido.FileFormatError, match=reason) as caught:
        RobotDescription.read(text)
    assert caught.value.line == line


def test_unknown_groups_are_remarked_or_refused() -> None:
    text = "<robot name='r'>\n<group name='a'>\n<group name='b'/></group></robot>"
    assert "no group 'b'" in RobotDescription.read(text).remarks[0]
    with pytest.raises(kido.FileFormatError, match="no group 'b'"):
        RobotDescription.read(text, strict=True)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(kido.KidoError, match="nowhere"):
        RobotDescription("r").write(tmp_path / "nowhere" / "r.srdf")
