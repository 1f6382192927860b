"""Container of the points whose motion is asked for together: operational space, wrenches on several bodies."""

from __future__ import annotations

from kido.jit import Struct, floats, integers

WIDE = 8  # numbers in a row of six columns: whole vector registers


class NODES(Struct):
    link = integers("nodes", doc="link that carries each point")
    point = floats("nodes", 3, unit="m", doc="the point in the link's axes, from its origin")
    path = integers("length", doc="links at or above a point, parents first")
    slot = integers("nodes1", doc="first slot of each node; the last entry is the total")
    slot_link = integers("slots", doc="links where forces on a node are kept: its own, those where paths meet")
    meeting = integers("nodes", "nodes", doc="slot of node i at the closest link above both i and j; -1: none")
    X = floats("slots", 6, WIDE, doc="unit forces on the node, articulated to the slot's link, side by side")
    Z = floats("slots", 6, WIDE, doc="velocities of the slot's link by those forces: Y X")
    Y = floats("bodies", 21, doc="compliance of each link about its origin, laid out as inertias are")
    row = floats("rows", doc="work space: a row of the matrix that is inverted")
    block = floats(6, WIDE, doc="work space: compliance between two nodes")
