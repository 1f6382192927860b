"""Container of the points whose motion is asked for together: operational space, wrenches on several bodies."""

from __future__ import annotations

from kido.jit import Field, Schema

WIDE = 8  # numbers in a row of six columns: whole vector registers

NODES = Schema(
    "NODES",
    Field("link", "i", ("nodes",), doc="link that carries each point"),
    Field("point", "f", ("nodes", 3), "m", "the point in the link's axes, from its origin"),
    Field("path", "i", ("length",), doc="links at or above a point, parents first"),
    Field("slot", "i", ("nodes1",), doc="first slot of each node; the last entry is the total"),
    Field("slot_link", "i", ("slots",), doc="links where forces on a node are kept: its own, those where paths meet"),
    Field("meeting", "i", ("nodes", "nodes"), doc="slot of node i at the closest link above both i and j; -1: none"),
    Field("X", "f", ("slots", 6, WIDE), doc="unit forces on the node, articulated to the slot's link, side by side"),
    Field("Z", "f", ("slots", 6, WIDE), doc="velocities of the slot's link by those forces: Y X"),
    Field("Y", "f", ("bodies", 21), doc="compliance of each link about its origin, laid out as inertias are"),
    Field("row", "f", ("rows",), doc="work space: a row of the matrix that is inverted"),
    Field("block", "f", (6, WIDE), doc="work space: compliance between two nodes"),
)  # fmt: skip
