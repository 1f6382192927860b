"""MJCF: models of MuJoCo, by its own compiler.

    world = kido.io.mjcf.read("robot.xml")

The extra `mjcf` brings the compiler, which resolves defaults, includes, attachments, inertias and frames; what it makes
of a file is what is read. What the format means here:

- Every child of the world's body becomes a skeleton of its name, with one body for each of the file's; what is fixed to
  the world's own body is on a skeleton ``world``. What has no name is called ``geom_3`` and the like.
- Several hinges and slides on one body are one `CompoundJoint`, whose coordinates have their names; beside ball joints
  they are joints of bodies without mass in between. Positions of hinges and slides are MuJoCo's; `MujocoLayout` turns
  whole states.
- Geoms of groups 0 to 2 are seen, those with `contype` or `conaffinity` or in pairs collide. Contacts are rigid with
  exact friction; the pair's friction is the greater. With `contacts="springs"` they swing as `solref` says, mixed by
  `solmix`; `solimp` has no part in it, so that weights sink in 1 / (1 - impedance) times as deep as in MuJoCo.
- Bodies stand as far apart as margins say, which are paddings of surfaces (`kido.Surface`): those of two geoms add up,
  `gap` only finds contacts earlier. Points of contact are in the middle between the padded surfaces.

- Actuators and tendons are those of `kido.actuation`: `kido.actuation.Actuators.of(world)` has them by name.

- Equalities that are active are constraints of the world and hold rigidly, limits and friction of tendons as well, and
  the angles of ball joints (`kido.BallLimit`). Limits hold where MuJoCo's begin to push, a margin before the range.
- A fluid (`density`, `viscosity`, `wind`) is a `kido.environment.Medium` of each skeleton that moves.
- The world is a `MjcfWorld`: `actuators`, `sensors` and `keyframes` by name.

Files of USD (``.usda``, ``.usd``, ``.usdc``, ``.usdz``) with UsdPhysics, Newton's or MuJoCo's schemas are read in the
same way, by the extra `usd`; bodies have the paths of their prims as names.

What is left out is counted by kind in
`warnings` of the first skeleton.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from kido.attributes import named_arguments
from kido.errors import FileFormatError, ModelError
from kido.io.fields import check_choice, listed
from kido.io.mjcf.actuators import ActuatorReader
from kido.io.mjcf.compiler import TEXT_NAME, compile_model, flex_names
from kido.io.mjcf.contacts import MjcfSurfaces, filter_contacts
from kido.io.mjcf.equalities import EqualityReader
from kido.io.mjcf.fluid import add_media
from kido.io.mjcf.remarks import LeftOut
from kido.io.mjcf.sensors import Sensor, SensorReader, Sensors
from kido.io.mjcf.shapes import ShapeReader
from kido.io.mjcf.trees import NO_GRAVITY, Trees
from kido.io.mjcf.unread import say_what_is_not_read
from kido.io.mjcf.worlds import Keyframe, MjcfWorld, keyframes_of
from kido.io.xml import is_text

__all__ = ["Keyframe", "MjcfSurfaces", "MjcfWorld", "Sensor", "Sensors", "compile_model", "read"]

CONTACTS = ("rigid", "springs")
FLEXES = ("error", "skip")


@named_arguments
def read(
    source: str | Path,
    *,
    visuals: bool = True,
    collisions: bool = True,
    contacts: str = "rigid",
    flexes: str = "error",
    strict: bool = False,
) -> MjcfWorld:
    """Read an MJCF file, or a text that starts with ``<``, as a world in its initial state.

    Parameters:
        source: path of the file, or the XML itself.
        visuals, collisions: whether to read these shapes.
        contacts: "rigid", or "springs" for contacts as soft as `solref` says, a `TimeConstant` each.
        flexes: "error", or "skip" to read their bodies without what is between.
        strict: refuse what is otherwise left out with a remark.

    Returns:
        The world; `warnings` of its first skeleton count by kind what was left out.

    Raises:
        FileFormatError: MuJoCo's compiler refuses the file, in its words; or it has flexes, or numbers that no model
            can have: path, line, reason.
        MissingExtraError: MuJoCo is not installed.
        KidoError: an option that does not exist.
    """
    check_choice("contacts", contacts, CONTACTS)
    check_choice("flexes", flexes, FLEXES)
    path = TEXT_NAME if is_text(source) else str(source)
    left_out = LeftOut(path, strict)
    with warnings.catch_warnings(record=True) as words:
        warnings.simplefilter("always")
        model = compile_model(source)
    for word in words:
        left_out.add("MuJoCo's compiler warns", " ".join(str(word.message).split()))
    if model.nflex:
        names = flex_names(model)
        if flexes == "error":
            reason = (
                f"{len(names)} flexes: {listed(names)}; there are no such bodies (to leave them out: flexes='skip')"
            )
            raise FileFormatError(path, None, reason)
        for name in names:
            left_out.add("flexes are left out, but for their bodies", name)
    try:
        shown = visuals, collisions, contacts == "springs"
        world, trees = _read(model, None if is_text(source) else str(source), left_out, *shown)
    except ModelError as error:  # numbers that the compiler lets pass and no model can have
        raise FileFormatError(path, None, str(error)) from error
    trees.skeletons[0].warnings.extend(left_out.remarks())
    return world


def _read(
    model: Any, uri: str | None, left_out: LeftOut, visuals: bool, collisions: bool, springs: bool
) -> tuple[MjcfWorld, Trees]:
    """The world of a compiled model, and its bodies.

    Raises:
        ModelError: something that no model can have.
    """
    trees = Trees(model, left_out)
    shapes = ShapeReader(trees, left_out, visuals=visuals, collisions=collisions, springs=springs)
    shapes.add_geoms()
    shapes.add_sites()
    world = _world(model)
    world.uri = uri
    for skeleton in trees.skeletons:
        skeleton.uri = uri
        world.add_skeleton(skeleton)
    filter_contacts(world, trees, shapes, left_out)
    reader = ActuatorReader(trees, left_out)
    actuators = reader.add_to(world)
    world.have(SensorReader(trees, shapes, actuators, left_out).sensors(), keyframes_of(trees, world, actuators))
    equalities = EqualityReader(reader, world, actuators)
    equalities.add_equalities()
    equalities.add_tendons()
    equalities.add_ball_limits()
    add_media(trees, world)
    say_what_is_not_read(model, left_out)
    return world, trees


def _world(model: Any) -> MjcfWorld:
    """A world with the gravity and time step of a model."""
    m: Any = model
    option = m.opt
    gravity = (0.0, 0.0, 0.0) if int(option.disableflags) & NO_GRAVITY else option.gravity
    return MjcfWorld(m.names[: m.names.index(b"\0")].decode() or "world", gravity, float(option.timestep))
