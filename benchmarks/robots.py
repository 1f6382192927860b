"""Robots of the package example-robot-data, as one URDF text that all programs read alike.

The text has no geometry, fingers and mimic joints are fixed, and the base hangs on a link "world": fixed, or
free by a floating joint.
"""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")


@dataclass(frozen=True)
class Robot:
    """A robot: its file below `ROBOTS`, whether its base is free, and which joints are fixed by name."""

    name: str
    file: str
    free_base: bool
    locked: tuple[str, ...] = ()

    def urdf(self) -> str:
        """The text that is given to every program. Raises FileNotFoundError without example-robot-data."""
        return prepare((ROBOTS / self.file).read_text(encoding="utf-8"), self.free_base, self.locked)


CASES = (
    Robot("panda", "panda_description/urdf/panda.urdf", False, ("finger",)),
    Robot("ur5", "ur_description/urdf/ur5_robot.urdf", False),
    Robot("solo12", "solo_description/robots/solo12.urdf", True),
    Robot("anymal_b", "anymal_b_simple_description/robots/anymal.urdf", True),
    Robot("talos", "talos_data/robots/talos_reduced.urdf", True),
)


def prepare(text: str, free_base: bool, locked: tuple[str, ...] = ()) -> str:
    """Rewrite a robot's text: no geometry, joints named like one of `locked` fixed, "world" at the root."""
    robot = etree.fromstring(text.encode())
    for tag in ("visual", "collision"):
        for element in list(robot.iter(tag)):
            element.getparent().remove(element)
    for extra in [child for child in robot if child.tag not in ("link", "joint")]:
        robot.remove(extra)
    children = set()
    for joint in robot.findall("joint"):
        children.add(joint.find("child").get("link"))
        mimic = joint.find("mimic")
        if mimic is not None or any(part in joint.get("name") for part in locked):
            joint.set("type", "fixed")
            for tag in ("mimic", "axis", "limit", "dynamics", "safety_controller"):
                for element in joint.findall(tag):
                    joint.remove(element)
        for element in joint.findall("dynamics"):  # friction and damping are no part of these algorithms
            joint.remove(element)
    (root,) = [link.get("name") for link in robot.findall("link") if link.get("name") not in children]
    if root != "world":
        robot.insert(0, etree.fromstring('<link name="world"/>'))
        kind = "floating" if free_base else "fixed"
        if not free_base:  # programs differ in whether what is welded to the world has mass
            for link in robot.findall("link"):
                if link.get("name") == root:
                    for element in link.findall("inertial"):
                        link.remove(element)
        joint = etree.SubElement(robot, "joint", name="world_joint", type=kind)
        etree.SubElement(joint, "parent", link="world")
        etree.SubElement(joint, "child", link=root)
    return etree.tostring(robot, encoding="unicode")
