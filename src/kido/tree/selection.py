"""Containers that say which bodies a result is about: the path to a body, a choice of bodies, the bodies of links."""

from __future__ import annotations

from kido.jit import Field, Schema

PATH = Schema(
    "PATH",
    Field("body", "i", ("length",), doc="links from a root to the one asked for, parents first"),
)

CHOICE = Schema(
    "CHOICE",
    Field(
        "inertia", "f", ("bodies", 10), "kg, kg m, kg m^2",
        "of the chosen bodies on each link, about its origin in its axes: m, m c (3), J (xx, xy, xz, yy, yz, zz)",
    ),
    Field("springs", "i", ("dofs",), doc="1 if the joint of the coordinate is that of a chosen body"),
)  # fmt: skip

MEMBERS = Schema(
    "MEMBERS",
    Field("parent", "i", ("members",), doc="of all bodies: what each hangs on; -1: the world"),
    Field("link", "i", ("members",), doc="link that carries it"),
    Field("pose", "f", ("members", 12), doc="its pose in the link, the upper three rows"),
    Field("inertia", "f", ("members", 10), "kg, kg m, kg m^2", "about its origin in its axes, as in CHOICE"),
    Field("position", "f", ("members", 3), "m", "its origin in the world"),
)

COLUMNS = 8  # columns of a matrix that are worked on together

BLOCK = Schema(
    "BLOCK",
    Field("Z", "f", ("bodies", 6, COLUMNS), doc="a spatial vector of each link for each column"),
    Field("T", "f", (6, COLUMNS), doc="those of the link at hand"),
    Field("E", "f", ("dofs", COLUMNS), doc="shares of the accelerations, then the columns"),
)
