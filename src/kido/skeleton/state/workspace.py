"""What calls on a state work with."""

from __future__ import annotations

from typing import Any

from kido.arrays import ReadOnlyArray, read_only_copy
from kido.jit import Struct
from kido.skeleton.state.members import copy_property, shown_property


class Workspace:
    """Addresses of a state's arrays, of arrays that belong to no state, and shapes of results.

    All of it is looked up in every call, and a call may take half a microsecond: so it is made once. It is dropped with
    the compiled arrays, and whenever properties change.

    Attributes:
        tree: address of the tree.
        held: address of the data that is the state.
        data: address of data for calls that are given a state.
        loaded, loaded_udot: address of such data with the loads of the state, and their accelerations, once needed.
        q, u, udot, tau: numbers of the state, its own arrays.
    """

    __slots__ = (
        "alive",
        "all_bodies",
        "by_column",
        "carriers",
        "centroidal",
        "columns",
        "data",
        "derivation",
        "dofs",
        "factors",
        "held",
        "loaded",
        "loaded_udot",
        "places",
        "poses",
        "q",
        "six_rows",
        "square",
        "squares",
        "tau",
        "three_rates",
        "three_rows",
        "tree",
        "two_rates",
        "u",
        "udot",
    )

    def __init__(self, tree: Struct, state: Struct, data: Struct, all_bodies: int, bodies: int, selections: Any):
        self.tree, self.held, self.data = tree.address, state.address, data.address
        self.alive = tree, state, data, selections  # as long as a call knows their addresses by this
        self.q, self.u, self.udot, self.tau = state.q, state.u, state.udot, state.tau
        dofs = len(self.q)
        self.all_bodies = all_bodies  # inertias of all bodies by link
        self.columns = 0  # workspaces that few results need, made by the first: of the columns of matrices
        self.derivation = 0  # and of derivatives
        self.loaded, self.loaded_udot = 0, state.udot
        self.places: dict[Any, tuple[int, float, float, float]] = {}  # of bodies' origins on links
        self.carriers: dict[Any, tuple[int, Any]] = {}  # paths to bodies
        self.poses = bodies, 4, 4
        self.dofs = (dofs,)
        self.square, self.factors = (dofs, dofs), (dofs + 1, dofs)
        self.three_rows, self.six_rows = (3, dofs), (6, dofs)
        self.by_column = 6, dofs, dofs
        self.squares = 3, dofs, dofs
        self.two_rates, self.three_rates, self.centroidal = (2, 6, dofs), (3, 6, dofs), (4, 6, dofs)


class Kept:
    """A result, and when its inputs last changed before it was made."""

    __slots__ = ("count", "stamp", "value")

    def __init__(self, value: Any):
        self.value = value
        self.stamp: Any = 0
        self.count = 0

    @copy_property
    def copied(self) -> Any:
        """A copy of a result that is a C-contiguous array of float64."""
        return self.value.copy()

    @shown_property
    def shown(self) -> Any:
        """The same, not to be written to."""
        return read_only_copy(ReadOnlyArray, self.value)
