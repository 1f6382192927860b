"""One door to every kind of model file, to read and to write."""

from __future__ import annotations

import inspect
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from kido import models
from kido.attributes import check_options, named_arguments
from kido.errors import FileFormatError, KidoError, ModelError
from kido.io.text import read_text
from kido.io.xml import is_text, parse

if TYPE_CHECKING:
    from kido.motions import MarkerMotion, Motion
    from kido.simulation import World
    from kido.skeleton import Skeleton

__all__ = ["FORMATS", "Format", "find", "format_of_file", "load", "load_motion", "load_skeleton", "load_world", "save"]


class Format(NamedTuple):
    """A kind of file of models or motions.

    Attributes:
        name: for messages.
        suffix: of its files.
        root: its root element, by which files of other suffixes are told; empty if it is no XML.
        reader: module with `read(path, **options)`, imported when a file is read.
        writer: module with `write(model, store, unsupported)`, which returns the text of a file; empty if there is
            none.
        others: further suffixes that are written so.
        holds: what it is written from: "a model", "a motion" or "markers".
    """

    name: str
    suffix: str
    root: str
    reader: str
    writer: str
    others: tuple[str, ...] = ()
    holds: str = "a model"

    @property
    def options(self) -> list[str]:
        """Names of the reader's options."""
        reader = import_module(self.reader).read
        return [name for name in inspect.signature(reader).parameters if name not in ("source", "path")]

    def __str__(self) -> str:
        return f"{self.suffix} (<{self.root}>)" if self.root else self.suffix


def _motions(name: str, suffix: str, module: str, writes: bool = True) -> Format:
    home = f"kido.io.motions.{module}"
    return Format(name, suffix, "", home, home if writes else "", holds="a motion")


FORMATS = [
    Format("URDF", ".urdf", "robot", "kido.io.urdf", "kido.io.writers.urdf"),
    Format("SDF", ".sdf", "sdf", "kido.io.sdf", "kido.io.writers.sdf", (".world",)),
    Format("SKEL", ".skel", "skel", "kido.io.skel", "kido.io.writers.skel"),
    Format("MJCF", ".xml", "mujoco", "kido.io.mjcf", "kido.io.writers.mjcf"),
    Format("USD", ".usda", "", "kido.io.mjcf", "", (".usd", ".usdc", ".usdz")),  # by MuJoCo's compiler too
    Format("VSK", ".vsk", "KinematicModel", "kido.io.vsk", ""),
    _motions("DOF", ".dof", "dof"),
    _motions("BVH", ".bvh", "bvh"),
    _motions("CSV", ".csv", "csv"),
    _motions("AMC", ".amc", "amc"),
    Format("ASF", ".asf", "", "kido.io.motions.asf", ""),
    Format("C3D", ".c3d", "", "kido.io.motions.c3d", "kido.io.motions.c3d", holds="markers"),
]
TOLD_BY_ROOT = ".xml"  # many kinds of files have this suffix
BRACES = Format("SKEL with braces", ".skel", "", "kido.io.skel_old", "")  # told from the other by its content


def find(model: str | Path) -> Path:
    """The file of a model: a path, or the name of a bundled model (`kido.models.names`); a file goes first.

    Raises:
        FileFormatError: it is neither.
    """
    name = os.fspath(model)
    if not name:
        raise KidoError(f"the model's name is empty; bundled models are: {', '.join(models.names())}")
    if not os.path.isfile(name) and name in models.names():
        return models.path(name)
    if os.path.isdir(name):
        raise FileFormatError(name, None, "is a directory; expected a model file")
    path = Path(name)
    if not os.path.lexists(name):
        known = ", ".join(models.names())
        if path.suffix or path.parent != Path("."):
            raise FileFormatError(name, None, f"no such file (bundled models, by name: {known})")
        raise FileFormatError(name, None, f"no such file, nor a bundled model; those are: {known}")
    return path


@overload
def load(path: Literal["arm7", "hand", "humanoid", "quadruped", "two_arms"], **options: Any) -> Skeleton: ...
@overload
def load(path: Literal["ball_chain", "container", "dominoes", "stack"], **options: Any) -> World: ...
@overload
def load(path: str | Path, **options: Any) -> Skeleton | World | Motion | MarkerMotion: ...
@named_arguments
def load(path: str | Path, **options: Any) -> Skeleton | World | Motion | MarkerMotion:
    """Read a robot, a world or a motion from a file (or from XML text).

    The format is told by the file's extension, or for other extensions by its root element: URDF (``.urdf``,
    ``<robot>``), VSK (``.vsk``), ASF (``.asf``) and the SKEL files with braces that RTQL8 had give a `Skeleton`, SKEL
    (``.skel``, ``<skel>``), SDF (``.sdf``, ``<sdf>``), MJCF (``<mujoco>``, with the extra `mjcf`) and USD (``.usda``,
    ``.usd``, ``.usdc``, ``.usdz``, with the extra `usd`) a `World`; ``.dof``, ``.bvh``, ``.amc`` and ``.csv`` give a
    `Motion`, ``.c3d`` a `MarkerMotion`. Editors and type checkers know which of them `load_skeleton`, `load_world` and
    `load_motion` return.

    Parameters:
        path: the file, or the name of a bundled model (`kido.models.names`).
        options: handed to the reader, e.g. `package_dirs=`, `visuals=`, `base=` (see `kido.io.urdf.read`). Of all
            files of robots and worlds: `flexible=`, a dictionary from names of links that are flexible to a
            `kido.flexible.Material`, arguments of `kido.flexible.make_flexible`, `Modes`, or a file of modes (see
            `kido.flexible.make_links_flexible`).

    Raises:
        FileFormatError: no such file or model, or it does not hold what it should.
        KidoError: a format that is not known; links that cannot be made flexible.
        ArgumentError: an option that its reader does not have.
    """
    if not isinstance(path, str | os.PathLike):
        raise KidoError(f"load: expected the path of a file, a bundled model or XML text, got {path!r}")
    source = path if is_text(path) else find(path)
    found = _format_of(source)
    flexible = options.pop("flexible", None)
    check_options(f"load: {found.suffix} files: read", options, [*found.options, "flexible"])
    model = import_module(found.reader).read(source, **options)
    if flexible is not None:
        skeletons = model.skeletons if hasattr(model, "skeletons") else [model]
        if not hasattr(skeletons[0] if skeletons else None, "bodies"):
            raise KidoError(f"load: {path}: flexible: {found.suffix} files have no links that could be flexible")
        from kido.flexible import make_links_flexible

        make_links_flexible(skeletons, flexible)
    return model


def format_of_file(model: str | Path) -> Format:
    """The format in which `load` reads a file or a bundled model.

    Raises:
        KidoError: as of `load`.
    """
    return _format_of(find(model))


def load_skeleton(path: str | Path, **options: Any) -> Skeleton:
    """`load` a robot: of a file of a world, such as an SDF with one model, its only skeleton; of a motion that has one,
    such as BVH, its skeleton.

    Raises:
        ModelError: the file holds no skeleton, several, or constraints of a world, which would be lost.
        FileFormatError, KidoError: as of `load`.
    """
    from kido.motions import MarkerMotion, Motion
    from kido.skeleton import Skeleton

    model = load(path, **options)
    if isinstance(model, MarkerMotion):
        raise ModelError(f"{path} holds markers without a skeleton")
    if isinstance(model, Motion):
        if model.skeleton is None:
            raise ModelError(f"{path} holds a motion without a skeleton; load_motion() reads it")
        return model.skeleton
    if isinstance(model, Skeleton):
        return model
    names = [skeleton.name for skeleton in model.skeletons]
    what = f"{model.uri or 'the text'} holds a world"
    if len(names) != 1:
        raise ModelError(f"{what} of {len(names)} skeletons: {', '.join(names) or 'none'}; load_world() reads it")
    if added := [constraint.name for constraint in model.constraint_set.added]:
        raise ModelError(f"{what} with constraints: {', '.join(added)}; load_world() reads it")
    return model.remove_skeleton(0)


def load_world(path: str | Path, **options: Any) -> World:
    """`load` a world: of a file of a robot, such as a URDF, one that holds it.

    Raises:
        FileFormatError, KidoError: as of `load`.
    """
    from kido.simulation import World
    from kido.skeleton import Skeleton

    model = load(path, **options)
    if isinstance(model, World):
        return model
    skeleton = model if isinstance(model, Skeleton) else load_skeleton(path, **options)
    world = World(skeleton.name)
    world.add_skeleton(skeleton)
    return world


def load_motion(path: str | Path, **options: Any) -> Motion:
    """`load` a motion: ``.dof``, ``.bvh``, ``.amc``, ``.csv``.

    Raises:
        ModelError: the file holds no motion.
        FileFormatError, KidoError: as of `load`.
    """
    from kido.motions import Motion

    found = load(path, **options)
    if isinstance(found, Motion):
        return found
    raise ModelError(f"{path} holds no motion, but a {type(found).__name__}")


def _format_of(path: str | Path) -> Format:
    expected = ", ".join(map(str, FORMATS))
    if not is_text(path):
        suffix = Path(path).suffix.lower()
        for found in FORMATS:
            if found.suffix == suffix != TOLD_BY_ROOT:
                return BRACES if suffix == BRACES.suffix and _has_braces(path) else found
        if not _starts_as_xml(path):
            raise KidoError(f"{path}: the format '{suffix}' is not supported; expected one of {expected}")
    root = parse(path)
    for found in FORMATS:
        if found.root == root.tag:
            return found
    raise root.error(f"the root element <{root.tag}> is of no known format; expected one of {expected}")


def _has_braces(path: str | Path) -> bool:
    """True for a SKEL file of the format before XML; False for what cannot be opened (parsing it tells why)."""
    from kido.io.skel_old.parse import is_braces

    try:
        return is_braces(read_text(path))
    except FileFormatError:
        return False


def _starts_as_xml(path: str | Path) -> bool:
    """True for XML, and for what cannot be opened (parsing it tells why)."""
    try:
        with open(path, "rb") as file:
            return file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    except (OSError, ValueError):
        return True


@named_arguments
def save(
    model: Skeleton | World | Motion | MarkerMotion,
    path: str | Path,
    *,
    approximate: bool = False,
    meshes: str = "copy",
) -> list[str]:
    """Write a robot or a world in its initial state as a URDF, SDF, SKEL or MJCF file, or a motion as DOF, BVH, AMC or
    CSV, markers as C3D.

    Numbers are written with all digits: what the format holds is read back as it was, but for the rounding of angles.

    Parameters:
        model: a skeleton, a world (of one skeleton for URDF), a motion, or markers.
        path: the file; its extension (``.urdf``, ``.sdf``, ``.world``, ``.skel``, ``.xml`` for MJCF; ``.dof``,
            ``.bvh``, ``.amc``, ``.csv``; ``.c3d``) tells the format.
        approximate: what to do with joints, couplings and shapes that the format lacks: False refuses the model, True
            writes what comes nearest (joints as hinges in a chain, or a weld).
        meshes: "copy" copies mesh files into a folder beside the file; "reference" names them where they are.

    Returns:
        What is left out, changed or approximated, in words.

    Raises:
        KidoError: no model, an unknown format, or something the format cannot hold; no file is
            written then; or a file that cannot be written.
    """
    from kido.io.writers.shapes import MeshStore
    from kido.io.writers.unsupported import UnsupportedFeatures
    from kido.motions import MarkerMotion, Motion
    from kido.simulation import World
    from kido.skeleton import Skeleton

    if not isinstance(model, Skeleton | World | Motion | MarkerMotion):
        raise KidoError(f"save: expected a Skeleton, a World, a Motion or a MarkerMotion, got {type(model).__name__}")
    if not isinstance(path, str | os.PathLike):
        raise KidoError(f"save: expected the path of a file, got {path!r}")
    target = Path(path)
    what = {Motion: "a motion", MarkerMotion: "markers"}.get(type(model), "a model")
    writable = {suffix: f for f in FORMATS if f.writer and f.holds == what for suffix in (f.suffix, *f.others)}
    found = writable.get(target.suffix.lower())
    if found is None:
        raise KidoError(
            f"{path}: cannot write '{target.suffix}' files of {what}; expected one of {', '.join(writable)}"
        )
    unsupported = UnsupportedFeatures(found.name, bool(approximate))
    store = MeshStore(target, meshes, unsupported)
    try:
        content = import_module(found.writer).write(model, store, unsupported)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise KidoError(f"{error.filename or path}: cannot be written: {error.strerror or error}") from None
    return unsupported.remarks
