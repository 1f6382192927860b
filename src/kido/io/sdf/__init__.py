"""SDF worlds and models (sdformat.org), versions 1.4 to 1.11.

    world = kido.io.sdf.read("robot.sdf")

What the format means here:

- Every top-level model becomes a skeleton with one body per link; links and joints of nested models keep their scoped
  names (``arm::hand``). What no joint ties to the world hangs on it by a free joint ``root_joint``; a static model is
  welded to it and immobile.
- Joint positions are zero at the poses that the file gives.
- Before 1.7 link poses are relative to the model, joint poses to the child link; later to any frame by
  ``relative_to``. The axis of a joint is given in the joint's frame, before 1.5 in the model's.
- Of joints that close loops the tree takes those with the fewest degrees of freedom; the others are described in
  ``skeleton.loops``.
- Joints of a <world> hold its models together by constraints of the world.
- A <gearbox> between two hinges, and a <mimic>, make one joint follow the other as a gear does.

Everything a file says that KIDO does not model (sensors, lights, plugins, ...) is named in ``skeleton.warnings`` and
left out; whatever is wrong is refused with a FileFormatError.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kido.io.fields import MISSING_FILES, check_choice, located
from kido.io.sdf.between import hold_models
from kido.io.sdf.build import SkeletonBuilder
from kido.io.sdf.models import ModelReader, read_version
from kido.io.sdf.shapes import ShapeReader
from kido.io.xml import Remarks, is_text, parse
from kido.simulation import World

__all__ = ["read"]

DEFAULT_GRAVITY = (0.0, 0.0, -9.8)


def read(
    source: str | Path,
    package_dirs: str | Path | Iterable[str | Path] = (),
    *,
    visuals: bool = True,
    collisions: bool = True,
    missing_meshes: str = "error",
    missing_includes: str = "error",
    up_axis: str = "ignore",
    strict: bool = False,
) -> World:
    """Read an SDF file, or a text that starts with ``<``, as a world in its initial state.

    Parameters:
        source: path of the file, or the XML itself. Of several worlds in it the first is read; a file without one
            gives a world of KIDO's defaults with its models.
        package_dirs: folders to find ``model://`` files in, before all other places
            (see `kido.io.resources.ResourceFinder`); each is a package or holds packages.
        visuals, collisions: whether to read these shapes; False also ignores that their meshes are missing.
        missing_meshes, missing_includes: "error", or "skip" to leave out what is not there, with a warning each.
        up_axis: of DAE meshes, as in `kido.io.urdf.read`.
        strict: refuse what is otherwise read with a warning, as in `kido.io.urdf.read`; here also links called
            ``world`` and models of one name.

    Returns:
        The world; ``skeleton.warnings`` says what was left out, ``skeleton.loops`` which joints close loops.

    Raises:
        FileFormatError: the file is no SDF, contradicts itself, or includes what is not there: path, line, reason.
        MeshNotFoundError: a mesh is not there: every path tried.
        KidoError: an option that does not exist.
    """
    check_choice("missing_meshes", missing_meshes, MISSING_FILES)
    check_choice("missing_includes", missing_includes, MISSING_FILES)
    path = None if is_text(source) else Path(source).absolute()
    root = parse(source, remarks=Remarks(strict=strict))
    reader = ModelReader(package_dirs, missing_includes == "skip")
    file = reader.source(path, read_version(root))
    worlds = root.children("world")
    if len(worlds) > 1:
        worlds[1].remark(f"of {len(worlds)} worlds the first is read")
    if not worlds and not root.children("model", "include"):
        raise root.error("<sdf> holds neither a <world> nor a <model>")
    spec = reader.world(worlds[0] if worlds else root, file)
    world = World() if spec.name is None else World(spec.name, DEFAULT_GRAVITY)
    with located(spec.node):
        if spec.gravity is not None:
            world.gravity = spec.gravity
        if spec.time_step is not None:
            world.time_step = spec.time_step
    world.uri = None if path is None else str(source)
    builder = SkeletonBuilder(ShapeReader(up_axis, missing_meshes == "skip"), visuals, collisions)
    for name, model in spec.models.items():
        pose = spec.scope.pose(name, model.node)
        skeleton = builder.build(model, pose)
        root.remarks.clear()
        skeleton.uri = world.uri
        with located(model.node):
            world.add_skeleton(skeleton)
    hold_models(world, spec, dict(zip(spec.models, world.skeletons, strict=True)))
    return world
