"""Reader of the SKEL format with braces, which RTQL8 and DART had before the XML one.

    dofs { NAME { value, lower, upper } ... }   mass { NAME { kg } ... }
    node NAME { int  chain { int  transform ... }  primitive { ... }  node ... }
    handles { NAME { <x,y,z>, int, NODE } ... }

- Transforms stand outermost first: ``translate``, ``telescope`` (a constant translation, scaled by a value),
  ``rotate_euler``, ``rotate_cons`` (constant), ``rotate_expmap`` and ``rotate_quat`` (x, y, z, w).
- Coordinates are those that joints move by, in the order of the transforms; what ``telescope`` and ``primitive`` name
  is a constant. A translation with a rotation vector right after it is a `FreeJoint`, which has its rotation first.
- ``primitive { size, centre, value, shape, mass, colour }``: full dimensions and centre, scaled by the value, of a box
  (CUBE) or else an ellipsoid, filled evenly by the mass.
- Names of bodies, coordinates and markers get the file's name before them, as motions (``.dof``) name them.
- Y is up there; the root's joint turns it into Z, so coordinates are the file's own.

All the whole numbers after ``node``, ``chain`` and in ``handles`` are left out, as they were then.
"""

from __future__ import annotations

from pathlib import Path

from kido.attributes import named_arguments
from kido.errors import KidoError
from kido.io.bones import up
from kido.io.skel_old.build import build_skeleton
from kido.io.skel_old.parse import is_braces, parse_text
from kido.io.text import read_text
from kido.skeleton import Skeleton

__all__ = ["read"]


@named_arguments
def read(path: str | Path, *, up_axis: str = "y") -> Skeleton:
    """Read a SKEL file with braces.

    Args:
        path: the file.
        up_axis: which axis of the file is up: "y", or "z" to leave its axes as they are.

    Returns the skeleton; its `warnings` name what was left out.

    Raises:
        FileFormatError: path, line and reason.
        KidoError: an axis that does not exist.
    """
    turn = up(up_axis)
    text = read_text(path)
    if not is_braces(text):
        raise KidoError(f"{path}: no SKEL file with braces; expected 'dofs {{', 'mass {{' or 'node NAME {{'")
    stem = Path(path).stem
    skeleton = build_skeleton(parse_text(text, str(path)), stem, turn)
    skeleton.uri = str(path)
    return skeleton
