"""What calls with the state given work in."""

from __future__ import annotations

from typing import Any


class Workspace:
    """Addresses of arrays that belong to no state, and shapes of results, of a compiled skeleton.

    All of it is looked up in every call that is given a state, and such a call may take half a microsecond: so it is
    made once. It is dropped with the compiled arrays, and whenever properties change.
    """

    __slots__ = (
        "all_bodies",
        "by_column",
        "centroidal",
        "columns",
        "data",
        "derivation",
        "dofs",
        "places",
        "poses",
        "six_rows",
        "square",
        "squares",
        "three_rates",
        "three_rows",
        "tree",
        "two_rates",
    )

    def __init__(self, tree: int, data: int, all_bodies: int, bodies: int, dofs: int):
        self.tree = tree
        self.data = data
        self.all_bodies = all_bodies  # inertias of all bodies by link
        self.columns = 0  # workspaces that few results need, made by the first: of the columns of matrices
        self.derivation = 0  # and of derivatives
        self.places: dict[Any, tuple[int, float, float, float]] = {}  # of bodies' origins on links
        self.poses = bodies, 4, 4
        self.dofs = (dofs,)
        self.square = dofs, dofs
        self.three_rows, self.six_rows = (3, dofs), (6, dofs)
        self.by_column = 6, dofs, dofs
        self.squares = 3, dofs, dofs
        self.two_rates, self.three_rates, self.centroidal = (2, 6, dofs), (3, 6, dofs), (4, 6, dofs)
