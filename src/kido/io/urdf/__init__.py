"""URDF robots.

    skeleton = kido.io.urdf.read("robot.urdf")

Every joint type of the format, inertial frames, several visuals and collisions per link, boxes, cylinders,
spheres, capsules and meshes (STL, OBJ, DAE, glTF), materials, limits, dynamics and mimic are read. A joint with
<mimic> has actuators of type MIMIC: in a world it follows the other joint, as a gear does.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kido.attributes import named_arguments
from kido.errors import ModelError
from kido.io.fields import MISSING_FILES, check_choice
from kido.io.mechanism import massless_text
from kido.io.resources import ResourceFinder
from kido.io.urdf.build import build_skeleton
from kido.io.urdf.loops import read_loops
from kido.io.urdf.parse import read_robot
from kido.io.urdf.shapes import ShapeReader
from kido.io.urdf.tree import order_links
from kido.io.xml import Remarks, is_text, parse
from kido.math.transform import as_transform
from kido.skeleton import Skeleton

__all__ = ["read"]

BASES = ("fixed", "free")


@named_arguments
def read(
    source: str | Path,
    package_dirs: str | Path | Iterable[str | Path] = (),
    *,
    base: str = "fixed",
    transform: Any = None,
    visuals: bool = True,
    collisions: bool = True,
    missing_meshes: str = "error",
    massless: str = "warn",
    up_axis: str = "ignore",
    strict: bool = False,
) -> Skeleton:
    """Read a URDF file, or a text that starts with ``<``.

    Every link becomes a body, also links without mass; every joint keeps its name.

    Parameters:
        source: path of the file, or the XML itself.
        package_dirs: folders to find ``package://`` meshes in, before all other places
            (see `kido.io.resources.ResourceFinder`); each is a package or holds packages.
        base: how the root link is held: "fixed" welds it to the world, "free" gives it a FreeJoint. The
            joint is called ``root_joint``. (A URDF says nothing about this; a joint of type "floating" in it
            is free anyway.)
        transform: pose of the root link in the world at the start; anything that is a transform.
        visuals, collisions: whether to read these shapes; False also ignores that their meshes are missing.
        missing_meshes: "error", or "skip" to leave out collision shapes whose mesh is not there, with a warning each.
        massless: what to do if a moving joint carries no mass at all, so that no acceleration is defined for
            it: "warn" (positions and velocities still work) or "error".
        up_axis: "ignore" takes the coordinates of DAE meshes as they are, as RViz, Gazebo, DART and
            Pinocchio do; "apply" turns the up axis that the files name into +Z.
        strict: refuse what other parsers let pass and what otherwise is read with a warning: a version of XML that
            does not exist, text after the root element, an element written twice, more than three numbers for three,
            limits of which the lower is above the upper (unlimited), several <axis> of a joint or shapes of a
            <geometry> (the first), radii of zero (no shape), negative sizes of boxes (taken as positive), visual
            meshes that are not there, Bullet's <plane>, <cdf> (left out) and joint type ``spherical``, and
            ``$(optenv NAME default)``.

    Returns:
        A skeleton whose `uri` is the file and whose `warnings` say what was left out or looks wrong.

    Raises:
        FileFormatError: the file is no URDF or contradicts itself: path, line, reason.
        MeshNotFoundError: a mesh is not there: every path tried.
        ModelError: massless movers with massless="error".
        KidoError: an option that does not exist.
    """
    check_choice("base", base, BASES)
    check_choice("missing_meshes", missing_meshes, MISSING_FILES)
    check_choice("massless", massless, ("warn", "error"))
    pose = as_transform(transform, "transform")
    path = None if is_text(source) else Path(source)
    finder = ResourceFinder.of_file(path, package_dirs)
    root = parse(source, remarks=Remarks(strict=strict))
    robot = read_robot(root, "robot" if path is None else path.stem)
    tree = order_links(robot)
    movers = tree.massless_movers(base == "free")
    if movers and massless == "error":
        raise ModelError(f"{root.path}: {massless_text(movers)}")
    if movers:
        root.remarks.append(f"{root.path}: {massless_text(movers)}")
    shapes = ShapeReader(up_axis, missing_meshes == "skip", finder)
    skeleton = build_skeleton(robot, tree, shapes, base=base, transform=pose, visuals=visuals, collisions=collisions)
    skeleton.loops = read_loops(robot, tree, pose)
    skeleton.uri = None if path is None else str(path)
    skeleton.warnings.extend(root.remarks)
    return skeleton
