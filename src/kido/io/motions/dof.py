"""DOF files of RTQL8 and DART: ``frames = 202 dofs = 24``, the names, the numbers, and ``FPS 60`` perhaps.

Lengths are metres, angles radians. A file says nothing about joints: `Motion.on` finds a skeleton's coordinates by
their names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kido.attributes import named_arguments
from kido.errors import KidoError
from kido.io.fields import located
from kido.io.text import Words, read_text
from kido.io.xml import number, vector
from kido.motions import Motion
from kido.skeleton import Skeleton

__all__ = ["read", "write"]

FRAME_RATE = 120.0  # [Hz] of files without one, as in RTQL8


@named_arguments
def read(path: str | Path, *, skeleton: Skeleton | None = None, frame_rate: float | None = None) -> Motion:
    """Read a DOF file.

    Args:
        path: the file.
        skeleton: whose motion it is (see `Motion.on`); it must have as many coordinates. None: of numbers by name.
        frame_rate: frames per second; None for what the file says, 120 where it says nothing.

    Raises:
        FileFormatError: path, line and reason.
    """
    words = Words(read_text(path), str(path))
    counts = []
    for what in ("frames", "dofs"):
        words.take(f"'{what} ='")
        words.take("'='")
        counts.append(words.count(f"the number of {what}"))
    frames, dofs = counts
    place = words.place(f"a motion of {frames} frames and {dofs} dofs")
    names = []
    while len(names) < dofs:
        names.append(words.take(f"{dofs} names"))
    if skeleton is not None and skeleton.num_dofs != dofs:
        raise place.error(f"{dofs} dofs; skeleton '{skeleton.name}' has {skeleton.num_dofs}")
    positions = words.numbers(frames * dofs, f"{frames} frames of {dofs} numbers").reshape(frames, dofs)
    rate = FRAME_RATE
    if words.peek() is not None:
        words.expect("FPS", "fps")
        rate = words.number("the frame rate")
        if words.peek() is not None:
            word = words.take("the end")
            raise words.error(f"found '{word[:60]}'; expected the end of the file")
    with located(place):
        motion = Motion(names, positions, rate if frame_rate is None else frame_rate)
        return motion if skeleton is None else motion.on(skeleton)


def write(motion: Motion, store: Any, unsupported: Any) -> str:
    """A motion as a DOF file, with all digits."""
    for name in motion.names:
        if not name or name.split() != [name]:
            raise KidoError(f"DOF files cannot hold the name {name!r} of a coordinate, which has spaces")
    rows = "\n".join(vector(row) for row in motion.positions)
    head = f"frames = {motion.num_frames} dofs = {len(motion.names)}\n{' '.join(motion.names)}"
    return f"{head}\n{rows}\nFPS {number(motion.frame_rate)}\n"
