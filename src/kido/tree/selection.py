"""Containers that say which bodies a result is about: the path to a body, a subset of bodies, the bodies of links."""

from __future__ import annotations

from kido.jit import Struct, floats, integers


class PATH(Struct):
    body = integers("length", doc="links from a root to the one asked for, parents first")


class SUBSET(Struct):
    inertia = floats(
        "bodies",
        10,
        unit="kg, kg m, kg m^2",
        doc="of the chosen bodies on each link, about its origin in its axes: m, m c (3), J (xx, xy, xz, yy, yz, zz)",
    )
    springs = integers("bodies", doc="1 if the body at the top of the link, whose joint it has, is chosen")


class MEMBERS(Struct):
    parent = integers("members", doc="of all bodies: what each hangs on; -1: the world")
    link = integers("members", doc="link that carries it")
    pose = floats("members", 12, doc="its pose in the link, the upper three rows")
    inertia = floats("members", 10, unit="kg, kg m, kg m^2", doc="about its origin in its axes, as in SUBSET")
    position = floats("members", 3, unit="m", doc="its origin in the world")
    P = floats("members", 21, doc="its composite or articulated inertia about its origin, world axes, as DATA.P")


# One field for each number of a spatial vector: fields do not overlap, so that loops over columns become vector code.


class COLUMNS(Struct):
    below = floats("bodies", "columns", doc="1 if the coordinate is the link's or below it, else 0")
    end = integers("bodies", doc="a column past all that are the link's or below it")
    Z0 = floats("columns", doc="number 0 of the spatial vector of each column")
    Z1 = floats("columns", doc="number 1 of the spatial vector of each column")
    Z2 = floats("columns", doc="number 2 of the spatial vector of each column")
    Z3 = floats("columns", doc="number 3 of the spatial vector of each column")
    Z4 = floats("columns", doc="number 4 of the spatial vector of each column")
    Z5 = floats("columns", doc="number 5 of the spatial vector of each column")
    E = floats("dofs", "columns", doc="D^-1 F^-1: shares of the accelerations by unit forces")
    row = floats("columns", doc="a row of the inverse")
