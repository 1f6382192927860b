"""AMC files (Acclaim): numbers of the coordinates of an ASF skeleton, frame by frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.errors import FileFormatError
from kido.io.fields import located
from kido.io.motions import asf as skeletons
from kido.io.motions.asf_writer import asf_of
from kido.io.text import Place, float_or_nan, read_text
from kido.io.xml import vector
from kido.motions import Motion

__all__ = ["read", "write"]

FRAME_RATE = 120.0  # [Hz]; files do not say theirs


@named_arguments
def read(
    path: str | Path, *, asf: str | Path | None = None, frame_rate: float = FRAME_RATE, up_axis: str = "y"
) -> Motion:
    """Read an AMC file: a motion with its skeleton.

    Args:
        path: the file.
        asf: file of the skeleton; None for the one beside it of the same name (``01_02.amc``: ``01_02.asf`` or
            ``01.asf``).
        frame_rate: frames per second, which these files do not say.
        up_axis: which axis of the file is up: "y", or "z" to leave its axes as they are.

    Raises:
        FileFormatError: path, line and reason; no skeleton.
    """
    label, text = str(path), read_text(path)
    home = Path(asf) if asf is not None else _beside(Path(path))
    skeleton = skeletons.read(home, up_axis=up_axis)
    described = skeletons.parse_asf(home)
    frames: list[list[float]] = []
    values: dict[str, list[float]] = {}
    angle, place = described.angle, Place(label, 1, "the motion")

    def finish() -> None:
        missing = [name for name, spec in described.bones.items() if spec.dofs and name not in values]
        if missing:
            raise place.error(f"{place.what} lacks {', '.join(missing[:8])}")
        frames.append([number for name in described.bones for number in values.get(name, [])])

    for k, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        here = Place(label, k, "")
        if words[0].startswith(":"):
            angle = {":RADIANS": 1.0, ":DEGREES": np.pi / 180.0}.get(words[0].upper(), angle)
        elif len(words) == 1 and words[0].isascii() and words[0].isdigit():
            if values:
                finish()
            values, place = {}, Place(label, k, f"frame {words[0][:20]}")
        else:
            spec = described.bones.get(words[0])
            if spec is None:
                raise here.error(f"'{words[0][:60]}' is no bone; expected one of {', '.join(described.bones)}")
            if words[0] in values or len(words) != 1 + len(spec.dofs):
                dofs = " ".join(spec.dofs)
                raise here.error(f"{len(words) - 1} numbers of bone '{spec.name}'; expected {dofs}, once in a frame")
            values[words[0]] = [_number(word, here) for word in words[1:]]
    if not values:
        raise place.error("no frame")
    finish()
    names = [name for spec in described.bones.values() for name in spec.names]
    units = np.array([angle if name[-2] == "r" else described.length for name in names])
    with located(Place(label, 1, "the motion")):
        return Motion(names, np.array(frames).reshape(len(frames), -1) * units, frame_rate).on(skeleton)


def _beside(path: Path) -> Path:
    names = [path.stem, path.stem.rpartition("_")[0]]
    for name in names:
        found = path.with_name(f"{name}.asf")
        if name and found.is_file():
            return found
    tried = " or ".join(f"'{name}.asf'" for name in names if name)
    raise FileFormatError(path, None, f"no skeleton {tried} beside it; asf= names one")


def _number(word: str, place: Place) -> float:
    value = float_or_nan(word)
    if not np.isfinite(value):
        raise place.error(f"found '{word[:60]}'; expected a finite number")
    return value


def write(motion: Motion, store: Any, unsupported: Any) -> str:
    """A motion as an AMC file: of an ASF skeleton in the units of its file, which must still be there; of any other one
    in degrees and inches, and its ASF file beside."""
    unsupported.remark(f"AMC files do not say the frame rate; this one has {motion.frame_rate:g} Hz")
    uri = None if motion.skeleton is None else motion.skeleton.uri
    if uri is not None and uri.lower().endswith(".asf"):
        described = skeletons.parse_asf(uri)
        columns = {
            name: np.array([motion[d] / (np.pi / 180.0 if d[-2] == "r" else described.length) for d in spec.names]).T
            for name, spec in described.bones.items()
            if spec.names
        }
    else:
        text, columns = asf_of(motion)
        beside = store.path.with_suffix(".asf")
        beside.write_text(text)
        unsupported.remark(f"the skeleton is in {beside.name}")
    lines = [":FULLY-SPECIFIED", ":DEGREES"]
    for frame in range(motion.num_frames):
        lines.append(str(frame + 1))
        lines += [f"{name} {vector(values[frame])}" for name, values in columns.items()]
    return "\n".join(lines) + "\n"
