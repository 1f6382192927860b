"""Products phi X phi*, psi* X psi and their like with X of diagonal blocks: decomposed, not multiplied. Theory: a5.

    phi X phi*  = R + phi~ R + R phi~*,                  R a gather of 6x6 blocks
    psi* X psi  = Y + psi~* Y + Y psi~ + R_r,            Y a scatter; R_r couples bodies on different branches

Any block of the product is a walk over the bodies between: O(depth), not O(n). Source: Jain (2013), section II-A.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kido.operators import recursions
from kido.operators.expression import RECOGNIZERS, Operator, Product, product, total
from kido.operators.leaves import SYMBOLS, BetweenBranches, Beyond, Blockwise, NodeMap, Propagation
from kido.operators.linear import Array, OperatorError


class Lyapunov(Product):
    """L phi X phi* R or L phi* X phi R (or with psi), with X, L and R of diagonal blocks, or B at the ends.

    It is applied as any product is; what it knows besides is its own matrix, block by block.
    """

    def __init__(self, number: float, factors: list[Operator], first: int, second: int):
        super().__init__(number, factors)
        self._left, self._right = factors[:first], factors[second + 1 :]
        self._core = factors[first + 1 : second]
        outer = factors[first]
        assert isinstance(outer, Propagation)
        self._gathers = not outer.starred
        whole = outer.T if outer.starred else outer
        assert isinstance(whole, Propagation)
        self._whole = whole
        self._kept: dict[str, Any] = {}

    @property
    def _which(self) -> int:
        if self._whole.which:
            self.on.articulated  # noqa: B018
        return self._whole.which

    def notes(self) -> tuple[str, ...]:
        depth = [1] * len(self.on.bodies)
        for k, parent in enumerate(self.on.container.parent.tolist()):
            depth[k] += depth[parent] if parent >= 0 else 0
        return (f"decomposed {self.decomposition()!r}: any block is a walk over {max(depth)} bodies at most",)

    @property
    def diagonal_operator(self) -> Blockwise:
        """The diagonal blocks of the part between the outer factors, phi X phi* or phi* X phi, as an operator.

        Composite inertias R for X = M, Upsilon for psi* H* D^-1 H psi.
        """
        if "diagonal" not in self._kept:
            self._kept["diagonal"] = self._diagonal_blocks()
        return self._kept["diagonal"]

    def _diagonal_blocks(self) -> Blockwise:
        core = product(1.0, self._core) if self._core else None
        space = self._whole.rows

        def compute() -> Array:
            own = space.on
            X = own.empty_blocks() + np.eye(own.width) if core is None else core.body_blocks()
            result = own.empty_blocks()
            sweep = own.recursions.gather_blocks if self._gathers else own.recursions.scatter_blocks
            sweep.call(space.on.address, self._which, np.ascontiguousarray(X), result)
            return result

        text = "" if core is None else core.text(False)
        outer = SYMBOLS[self._whole.name]
        formula = "" if core is None else core.text(True)
        if self._gathers:
            symbol = f"diag({outer[0]} {text} {outer[0]}*)", rf"\mathrm{{diag}}({outer[1]} {formula} {outer[1]}^{{*}})"
        else:
            symbol = f"diag({outer[0]}* {text} {outer[0]})", rf"\mathrm{{diag}}({outer[1]}^{{*}} {formula} {outer[1]})"
        name = f"diagonal of {core.key() if core else 'I'}"
        if (self._gathers, self._whole.name, text) == (True, "Phi", "M"):
            symbol = SYMBOLS["R"]
        elif (self._gathers, self._whole.name, text) == (False, "Psi", "H* D^-1 H"):
            symbol = SYMBOLS["Upsilon"]
        symmetric = core is None or core.T.key() == core.key()
        return Blockwise(name, space, space, compute, symmetric, self.preparations(), symbol)

    def branches(self) -> Operator:
        """R_r, the blocks between bodies neither of which is above the other; of phi X phi* they are zero.

        Raises:
            OperatorError: the product is of the form phi X phi*.
        """
        if self._gathers:
            raise OperatorError(f"{self!r}: bodies on different branches are not coupled by a product phi X phi*")
        return BetweenBranches(self._whole.on, self._whole, self.diagonal_operator)

    def decomposition(self) -> Operator:
        """The sum of diagonal part and what stands above, below and beside it, with the same outer factors.

        phi X phi* = R + phi~ R + R phi~*; psi* X psi = Y + psi~* Y + Y psi~ + R_r.
        """
        beyond = Beyond("PsiTilde" if self._whole.which else "PhiTilde", self._whole)
        R = self.diagonal_operator
        if self._gathers:
            parts = [R, product(1.0, [beyond, R]), product(1.0, [R, beyond.T])]
        else:
            parts = [R, product(1.0, [beyond.T, R]), product(1.0, [R, beyond]), self.branches()]
        inner = total([(1.0, part) for part in parts])
        return product(self.number, [*self._left, inner, *self._right])

    # Blocks ----------------------------------------------------------------------------------------------

    def node_map(self, factors: list[Operator]) -> NodeMap | None:
        """The nodes of a side that is B alone; None for any other."""
        return factors[0] if len(factors) == 1 and isinstance(factors[0], NodeMap) else None

    def block(self, row: Any, column: Any) -> Array:
        """The numbers of the matrix that belong to two bodies, or nodes: a walk between them, O(depth).

        Args:
            row: a body, its joint, a coordinate of it, its name, or its place in the list; for B* a node.
            column: likewise.

        Raises:
            OperatorError: there is no such body or node.
        """
        assert self.rows is not None and self.columns is not None
        return self._block(self.rows.place(row), self.columns.place(column))

    def blocks(self, pairs: Iterable[tuple[Any, Any]]) -> list[Array]:
        """Several blocks.

        Args:
            pairs: rows and columns as `block` takes them.
        """
        return [self.block(row, column) for row, column in pairs]

    def diagonal(self) -> Array:
        """The numbers on the diagonal of the matrix.

        Raises:
            OperatorError: it is not square.
        """
        if self.rows is not self.columns or self.rows is None:
            raise OperatorError(f"{self!r} is not square: {self.shape}")
        places = range(len(self.rows.first) - 1)
        return np.concatenate([np.zeros(0), *(np.diag(self._block(k, k)) for k in places)])

    def _block(self, i: int, j: int) -> Array:
        left, right = self._ends()
        i_body, L = self._end(self._left, left, i)
        j_body, R = self._end([f.T for f in reversed(self._right)], right, j)
        diagonal = self.diagonal_operator.body_blocks()
        on, which = self._whole.on, self._which
        assert on is not None
        if self._gathers:
            if i_body <= j_body:
                Z = self._raised(diagonal[j_body] @ R.T, j_body, i_body)
                inner = L @ Z if Z is not None else np.zeros((len(L), len(R)))
            else:
                Z = self._raised(diagonal[i_body].T @ L.T, i_body, j_body)
                inner = Z.T @ R.T if Z is not None else np.zeros((len(L), len(R)))
        else:
            a = on.recursions.common_ancestor.call(on.address, i_body, j_body)
            if a < 0:
                return np.zeros((len(L), len(R)))
            left_up, right_up = self._raised(L.T, i_body, a), self._raised(R.T, j_body, a)
            assert left_up is not None
            assert right_up is not None
            inner = left_up.T @ diagonal[a] @ right_up
        assert which is not None
        return self.number * inner

    def _raised(self, x: Array, start: int, end: int) -> Array | None:
        """phi(end, start) x, or None if `end` is not above `start`."""
        on = self._whole.on
        Z = np.zeros((on.work_rows, x.shape[1]))
        Z[: len(x)] = x
        return Z[: on.width] if on.recursions.walk_up.call(on.address, self._which, start, end, Z) else None

    def _ends(self) -> tuple[Array | None, Array | None]:
        """Diagonal blocks of the outer factors, the right one's transposed; None for B and for none."""
        stamp, left, right = self._kept.get("ends", (-1, None, None))
        if stamp != self.on.stamp:
            left, right = (
                product(1.0, factors).body_blocks() if factors and self.node_map(factors) is None else None
                for factors in (self._left, [f.T for f in reversed(self._right)])
            )
            self._kept["ends"] = self.on.stamp, left, right
        return left, right

    def _end(self, factors: list[Operator], blocks: Array | None, place: int) -> tuple[int, Array]:
        """Body of a place, and the rows by which the outer factor sees it."""
        nodes = self.node_map(factors)
        if nodes is not None:
            body, arm = int(nodes.nodes.container.body[place]), nodes.nodes.container.arm[place]
            L = np.eye(6, self.on.width)
            L[3:, :3] = -np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
            return body, L
        space = factors[0].rows if factors else self._whole.rows
        assert space is not None
        part = space.part(place)
        rows = part.stop - part.start
        return place, np.eye(rows, self.on.width) if blocks is None else blocks[place, :rows]

    # The matrix ------------------------------------------------------------------------------------------

    def dense(self) -> Array:
        """The matrix, block by block: O(n depth) for phi X phi*, O(n^2) for phi* X phi, O(m depth + m^2) for B."""
        on, rows, columns = self._whole.on, self.rows, self.columns
        assert on is not None and rows is not None and columns is not None
        diagonal = self.diagonal_operator.body_blocks()
        which, n = self._which, len(on.bodies)
        out = np.zeros((rows.size, columns.size))
        left, right = self.node_map(self._left), self.node_map(self._right)
        dense = self._gathers or on.has_modes
        if left is not None and right is not None and left.nodes is right.nodes and not dense:
            nodes = left.nodes.container
            E, Z = np.empty((len(nodes.body), n, 36)), np.empty((12, 6))
            recursions.node_matrix.call(on.address, which, nodes.address, diagonal, Z, E, out)
            return self.number * out
        if left is not None or right is not None or on.has_modes or "given" in rows.kind or "given" in columns.kind:
            return super().dense()
        L, R = self._ends()
        same = np.tile(np.eye(6), (n, 1, 1))
        L = same if L is None else np.ascontiguousarray(L)
        R = same if R is None else np.ascontiguousarray(R.transpose(0, 2, 1))
        ends = (int(rows.is_joint), int(columns.is_joint), L, diagonal, R)
        if self._gathers:
            recursions.gathered_matrix.call(on.address, which, *ends, np.empty((12, 12)), out)
        else:
            recursions.scattered_matrix.call(on.address, which, *ends, np.empty((12, 6)), np.empty((n, 37)), out)
        return self.number * out


def recognize(number: float, factors: list[Operator]) -> Product | None:
    """The product as a `Lyapunov`, if it is of that form."""
    at = [k for k, factor in enumerate(factors) if isinstance(factor, Propagation)]
    if len(at) != 2:
        return None
    first, second = at
    one, other = (factor for factor in factors if isinstance(factor, Propagation))
    if one.name != other.name or one.starred == other.starred:
        return None
    core, left, right = factors[first + 1 : second], factors[:first], factors[second + 1 :]
    if not all(factor.is_blockwise for factor in core):
        return None
    for end in (left, right):
        only_nodes = len(end) == 1 and isinstance(end[0], NodeMap)
        if not only_nodes and not all(factor.is_blockwise for factor in end):
            return None
    return Lyapunov(number, factors, first, second)


RECOGNIZERS.append(recognize)
