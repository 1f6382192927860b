"""Containers that say which bodies a result is about: the path to a body, a subset of bodies, the bodies of links."""

from __future__ import annotations

from kido.jit import Field, Schema

PATH = Schema(
    "PATH",
    Field("body", "i", ("length",), doc="links from a root to the one asked for, parents first"),
)

SUBSET = Schema(
    "SUBSET",
    Field(
        "inertia", "f", ("bodies", 10), "kg, kg m, kg m^2",
        "of the chosen bodies on each link, about its origin in its axes: m, m c (3), J (xx, xy, xz, yy, yz, zz)",
    ),
    Field("springs", "i", ("bodies",), doc="1 if the body at the top of the link, whose joint it has, is chosen"),
)  # fmt: skip

MEMBERS = Schema(
    "MEMBERS",
    Field("parent", "i", ("members",), doc="of all bodies: what each hangs on; -1: the world"),
    Field("link", "i", ("members",), doc="link that carries it"),
    Field("pose", "f", ("members", 12), doc="its pose in the link, the upper three rows"),
    Field("inertia", "f", ("members", 10), "kg, kg m, kg m^2", "about its origin in its axes, as in SUBSET"),
    Field("position", "f", ("members", 3), "m", "its origin in the world"),
)


# One field for each number of a spatial vector: fields do not overlap, so that loops over columns become vector code.
COLUMNS = Schema(
    "COLUMNS",
    Field("below", "f", ("bodies", "columns"), doc="1 if the coordinate is the link's or below it, else 0"),
    Field("end", "i", ("bodies",), doc="a column past all that are the link's or below it"),
    *(Field(f"Z{r}", "f", ("columns",), doc=f"number {r} of the spatial vector of each column") for r in range(6)),
    Field("E", "f", ("dofs", "columns"), doc="D^-1 F^-1: shares of the accelerations by unit forces"),
    Field("row", "f", ("columns",), doc="a row of the inverse"),
)
