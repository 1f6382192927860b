"""The state of a set of operators: bodies, vectors that belong to them, and going to other states."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.operators.body_list import BodyList, Nodes
from kido.operators.expression import Operator
from kido.operators.linear import Array, OperatorError
from kido.skeleton import BodyNode, DegreeOfFreedom, Skeleton


class OperatorState(FixedAttributes):
    """Bodies at one state: what `SpatialOperators` are of."""

    def __init__(self, on: BodyList, positions: ArrayLike | None, velocities: ArrayLike | None, nodes: Any):
        self._take(on, positions, velocities, nodes)

    def _known_inverses(self) -> dict[Hashable, Operator]:
        """Inverses that theory knows, by the form of what they are the inverse of."""
        return {}

    def _take(self, on: BodyList, positions: ArrayLike | None, velocities: ArrayLike | None, nodes: Any) -> None:
        on.hold(positions, velocities)
        self.on = on
        # A user's iterator is read once; what it gave serves `at` too.
        self._nodes = tuple(nodes) if isinstance(nodes, Iterable) and not isinstance(nodes, str) else (nodes,)
        self.node_map = on.nodes(self._nodes) if self._nodes else None
        self._inverses: tuple[bool, dict[Hashable, Operator]] | None = None
        on.inverses = self._known_inverses

    def at(self, positions: ArrayLike | None = None, velocities: ArrayLike | None = None) -> Self:
        """The operators of the same bodies, nodes and prescribed coordinates at another state.

        Args:
            positions: the skeleton's positions; None for those it has now.
            velocities: its velocities; None for those it has now.

        Raises:
            OperatorError: the skeleton was edited since.
        """
        on = self.on
        self._refuse_edited()
        made = object.__new__(type(self))
        made._take(on.twin(), positions, velocities, self._nodes)
        return made

    def _refuse_edited(self) -> None:
        on = self.on
        if on.skeleton.structure_version != on.version:
            raise OperatorError(
                f"skeleton {on.skeleton.name!r} was edited since these operators were made: make new ones"
            )

    def move_to(self, positions: ArrayLike | None = None, velocities: ArrayLike | None = None) -> None:
        """Take these operators to another state, with all expressions that were made of them.

        For loops that apply one expression in many states: nothing is composed anew. Blocks given to `block_diagonal`
        stay as they are, and so do nodes on their bodies.

        Args:
            positions: the skeleton's positions; None for those it has now.
            velocities: its velocities; None for those it has now.

        Raises:
            OperatorError: the skeleton was edited since.
            StateError: a state of the wrong size, or not finite; the operators stay as they were.
        """
        self._refuse_edited()
        self.on.hold(positions, velocities)

    @property
    def is_current(self) -> bool:
        """Whether the skeleton still has the structure and the state of these operators."""
        on, s = self.on, self.on.skeleton
        return (
            s.structure_version == on.version
            and np.array_equal(s.positions, on.q)
            and np.array_equal(s.velocities, on.u)
        )

    # Travelling ------------------------------------------------------------------------------------------

    def __copy__(self) -> Self:
        return self.at(self.on.q, self.on.u)

    def __getstate__(self) -> dict[str, Any]:
        self._refuse_edited()
        return {"on": self.on, "q": self.on.q, "u": self.on.u, "nodes": self._nodes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._take(state["on"], state["q"], state["u"], state["nodes"])

    # Bodies and vectors ----------------------------------------------------------------------------------

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the bodies."""
        return self.on.skeleton

    @property
    def bodies(self) -> tuple[BodyNode, ...]:
        """The bodies, in the order of spatial vectors."""
        return tuple(self.on.bodies)

    @property
    def dofs(self) -> tuple[DegreeOfFreedom, ...]:
        """The free coordinates, in the order of joint vectors."""
        return tuple(self.on.skeleton.parts.dofs[k] for k in self.on.container.source.tolist())

    @property
    def given_dofs(self) -> tuple[DegreeOfFreedom, ...]:
        """The prescribed coordinates, in the order of the columns of `H_given`."""
        return tuple(self.on.skeleton.parts.dofs[k] for k in self.on.container.given_source.tolist())

    @property
    def velocities(self) -> Array:
        """u of the free coordinates."""
        return fixed(self.on.u[self.on.container.source])

    def _body_vector(self, field: str) -> Array:
        return getattr(self.on.container, field).reshape(-1).copy()

    @property
    def V(self) -> Array:
        """Spatial velocities (6 bodies,): V = phi* (H* u + V_boundary), and H_given* u of prescribed coordinates."""
        return fixed(self._body_vector("V"))

    @property
    def a(self) -> Array:
        """Velocity-product accelerations (6 bodies,): alpha = phi* (H* udot + a + A_boundary).

        alpha is the inertial derivative of V: [rate of w; acceleration of the origin].
        """
        return fixed(self._body_vector("a"))

    @property
    def b(self) -> Array:
        """Gyroscopic wrenches (6 bodies,): f = phi (M alpha + b - weight - external wrenches)."""
        return fixed(self._body_vector("b"))

    @property
    def weight(self) -> Array:
        """Wrenches of gravity (6 bodies,) on bodies that have weight."""
        return fixed(self._body_vector("weight"))

    @property
    def V_boundary(self) -> Array:
        """phi*(p, k) V(p) of bodies whose parent is above the list, zero for others (6 bodies,)."""
        return fixed(self._body_vector("V_boundary"))

    @property
    def A_boundary(self) -> Array:
        """phi*(p, k) alpha(p) of these with all coordinates' accelerations zero (6 bodies,)."""
        return fixed(self._body_vector("A_boundary"))

    @property
    def node_products(self) -> Array:
        """w x (w x r) of the nodes of B (6 nodes,), so that their accelerations are B* alpha + node_products."""
        nodes = self.of_nodes.container
        w = self.on.container.V.reshape(-1)[nodes.row[:, None] + np.arange(3)]
        return fixed(np.hstack([np.zeros(w.shape), np.cross(w, np.cross(w, nodes.arm))]).reshape(-1))

    @property
    def of_nodes(self) -> Nodes:
        """The nodes that B belongs to; OperatorError if there are none."""
        if self.node_map is None:
            raise OperatorError("B is of nodes: SpatialOperators(..., nodes=[hand]), or ops.pick_off([hand])")
        return self.node_map
