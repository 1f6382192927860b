"""The operators themselves: those of theory section a1 to a3, each with its sweeps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy import empty, zeros

from kido.operators import sweeps
from kido.operators.expression import Operator
from kido.operators.linear import Array, OperatorError, Step

if TYPE_CHECKING:
    from kido.operators.body_list import BodyList, Nodes, Space

# Text and LaTeX of each operator.
SYMBOLS = {
    "H": ("H", "H"),
    "H_given": ("H_p", "H_p"),
    "Phi": ("φ", r"\phi"),
    "E_phi": ("E_φ", r"\mathcal{E}_\phi"),
    "PhiTilde": ("φ~", r"\tilde{\phi}"),
    "M": ("M", "M"),
    "P": ("P", r"\mathcal{P}"),
    "D": ("D", r"\mathcal{D}"),
    "J_a": ("J_a", "J_a"),
    "G": ("G", r"\mathcal{G}"),
    "K": ("K", r"\mathcal{K}"),
    "tau": ("τ", r"\tau"),
    "Psi": ("ψ", r"\psi"),
    "E_psi": ("E_ψ", r"\mathcal{E}_\psi"),
    "PsiTilde": ("ψ~", r"\tilde{\psi}"),
    "R": ("R", r"\mathcal{R}"),
    "Upsilon": ("Υ", r"\Upsilon"),
    "B": ("B", r"\mathcal{B}"),
}
_SINGULAR = 1e13  # condition of a block, rows and columns scaled, beyond which it counts as singular
ARTICULATED = "articulated inertias P, with D, G and τ: one gather of 6x6 blocks, tips to base"


class Leaf(Operator):
    """An operator with a name, or its transpose."""

    on: BodyList
    rows: Space
    columns: Space
    _needs: frozenset[str] = frozenset()

    def __init__(self, name: str, on: BodyList, rows: Space, columns: Space):
        self.name, self.on, self.rows, self.columns = name, on, rows, columns
        self.starred = False

    def key(self) -> Hashable:
        return self.name, self.starred

    def text(self, latex: bool) -> str:
        text, formula = SYMBOLS.get(self.name, (self.name, rf"\mathit{{{self.name}}}"))
        return (formula + ("^{*}" if self.starred else "")) if latex else text + ("*" if self.starred else "")

    def _transposed(self) -> Self:
        twin = copy.copy(self)
        twin.rows, twin.columns, twin.starred = self.columns, self.rows, not self.starred
        return twin

    def preparations(self) -> frozenset[str]:
        return self._needs


class Hinges(Leaf):
    """H, and the H of prescribed coordinates."""

    def __init__(self, name: str, on: BodyList, given: bool = False):
        super().__init__(name, on, on.given_space if given else on.joint_space, on.body_space)
        self.given = int(given)

    def _run(self, x: Array, own: bool) -> Array:
        y = self.on.scratch.take(self.rows.size, x.shape[1])
        sweep = self.on.sweeps.hinge_motions if self.starred else self.on.sweeps.hinge_forces
        sweep.call(self.on.address, self.given, x, y)
        return y

    def steps(self) -> Iterator[Step]:
        size = self.rows.size if not self.starred else self.columns.size
        yield Step(str(self), "body by body", 11 * size)

    @property
    def is_blockwise(self) -> bool:
        return self.given == 0

    def body_blocks(self) -> Array:
        blocks = self.on.by_body(self.on.container.H)
        return blocks.transpose(0, 2, 1) if self.starred else blocks


class _Kept:
    """Blocks of one state, the same for an operator and its transpose."""

    def __init__(self) -> None:
        self.blocks, self.stamp = zeros((0, 6, 6)), -1


class Blockwise(Leaf):
    """Diagonal blocks, computed when they are needed first."""

    def __init__(
        self,
        name: str,
        rows: Space,
        columns: Space,
        blocks: Callable[[], Array],
        symmetric: bool = False,
        needs: frozenset[str] = frozenset(),
        symbol: tuple[str, str] | None = None,
        inverse: Callable[[], Operator] | None = None,
    ):
        super().__init__(name, rows.on, rows, columns)
        self._make, self.symmetric, self._needs, self._symbol = blocks, symmetric, needs, symbol
        self._kept = _Kept()
        self._known_inverse = inverse

    def own_blocks(self) -> Array:
        kept = self._kept
        if kept.stamp != self.on.stamp:
            kept.blocks, kept.stamp = np.ascontiguousarray(self._make()), self.on.stamp
        return kept.blocks

    def body_blocks(self) -> Array:
        blocks = self.own_blocks()
        return blocks.transpose(0, 2, 1) if self.starred else blocks

    @property
    def is_blockwise(self) -> bool:
        return True

    def _run(self, x: Array, own: bool) -> Array:
        rows, columns = self.rows, self.columns
        y = self.on.scratch.take(rows.size, x.shape[1])
        blocks = self.own_blocks()
        self.on.sweeps.blockwise.call(self.on.address, rows.is_joint, columns.is_joint, self.starred, blocks, x, y)
        return y

    def steps(self) -> Iterator[Step]:
        rows, columns = self.rows.sizes, self.columns.sizes
        count = (rows * (2 * columns - 1))[rows * columns > 0].sum()
        yield Step(str(self), "body by body", int(count))

    def _transposed(self) -> Operator:
        return self if self.symmetric else super()._transposed()

    def key(self) -> Hashable:
        return (self.name, self.starred) if self._symbol is None else (self.name, self.starred, id(self._kept))

    def text(self, latex: bool) -> str:
        if self._symbol is None:
            return super().text(latex)
        return self._symbol[latex] + (("^{*}" if latex else "*") if self.starred else "")

    def own_inverse(self) -> Operator | None:
        if self.rows is not self.columns:
            return None
        return inverted(self) if self._known_inverse is None else self._known_inverse()


def inverted(operator: Operator) -> Blockwise:
    """The inverse of diagonal blocks, block by block.

    Raises:
        OperatorError: a block has none; names its body.
    """
    space, on, symmetric = operator.rows, operator.on, bool(getattr(operator, "symmetric", False))
    assert space is not None and on is not None

    def compute() -> Array:
        blocks = operator.body_blocks()
        result = zeros(blocks.shape)
        for k, body in enumerate(on.bodies):
            size = int(space.sizes[k])
            own = blocks[k, :size, :size]
            scale = np.sqrt(np.abs(np.diag(own)))
            scaled = own / np.outer(scale, scale) if (scale > 0.0).all() else own
            if size and (not (scale > 0.0).any() or np.linalg.cond(scaled) > _SINGULAR):
                raise OperatorError(f"{operator!r} has no inverse: the block of body {body.name!r} is singular")
            result[k, :size, :size] = np.linalg.inv(own) if size else own
        return 0.5 * (result + result.transpose(0, 2, 1)) if symmetric else result

    text, formula = operator.text(False), operator.text(True)
    if operator.is_bracketed or " " in text:
        text, formula = f"({text})", rf"\left({formula}\right)"
    symbol = (f"{text}^-1", f"{formula}^{{-1}}")
    made = Blockwise(f"{text}^-1", space, space, compute, symmetric, operator.preparations(), symbol, lambda: operator)
    made.own_blocks()  # a singular block is reported now
    return made


class Propagation(Leaf):
    """phi and psi: gathers, and as transposes scatters."""

    def __init__(self, name: str, on: BodyList, which: int):
        super().__init__(name, on, on.body_space, on.body_space)
        self.which = which
        if which == sweeps.PSI:
            self._needs = frozenset([ARTICULATED])

    def _run(self, x: Array, own: bool) -> Array:
        if not own:
            given, x = x, self.on.scratch.take(*x.shape)
            x[:] = given
        if self.which == sweeps.PSI:
            self.on.articulated  # noqa: B018  (they are computed)
            work = empty((self.on.work_rows, x.shape[1]))
        else:
            work = x
        (self.on.sweeps.scatter if self.starred else self.on.sweeps.gather).call(self.on.address, self.which, x, work)
        return x

    def steps(self) -> Iterator[Step]:
        sweep = "scatter, base to tips" if self.starred else "gather, tips to base"
        yield Step(str(self), sweep, self.on.operations(self.which == sweeps.PSI))


class Strict(Leaf):
    """E_phi, and with a blockwise operator first E_psi = E_phi tau and K = E_phi G."""

    def __init__(self, name: str, on: BodyList, first: Blockwise | None = None):
        super().__init__(name, on, on.body_space, on.body_space if first is None else first.columns)
        self.first = first
        if first is not None:
            self._needs = frozenset([ARTICULATED])

    def _run(self, x: Array, own: bool) -> Array:
        scratch = self.on.scratch
        if self.starred:
            y = scratch.take(*x.shape)
            self.on.sweeps.shift_down.call(self.on.address, x, y)
            if self.first is None:
                return y
            z = self.first.T._run(y, True)
            scratch.give(y)
            return z
        z = x if self.first is None else self.first._run(x, False)
        y = scratch.take(*z.shape)
        self.on.sweeps.shift_up.call(self.on.address, z, y)
        if z is not x:
            scratch.give(z)
        return y

    def steps(self) -> Iterator[Step]:
        operations = self.on.operations(False)
        if self.first is not None:
            operations += sum(step.operations for step in self.first.steps())
        sweep = "each child from its parent" if self.starred else "each parent from its children"
        yield Step(str(self), sweep, operations)


class Beyond(Leaf):
    """phi - I and psi - I: what comes from other bodies only."""

    def __init__(self, name: str, whole: Propagation):
        super().__init__(name, whole.on, whole.on.body_space, whole.on.body_space)
        self.whole, self._needs = whole, whole._needs

    def _run(self, x: Array, own: bool) -> Array:
        y = (self.whole.T if self.starred else self.whole)._run(x, False)
        y -= x
        return y

    def steps(self) -> Iterator[Step]:
        for step in (self.whole.T if self.starred else self.whole).steps():
            yield Step(str(self), step.sweep, step.operations + self.shape[0])


class NodeMap(Leaf):
    """B: wrenches at nodes as wrenches on their bodies; B*: motions of bodies as motions of nodes."""

    def __init__(self, nodes: Nodes):
        super().__init__("B", nodes.on, nodes.on.body_space, nodes.space)
        self.nodes = nodes

    def key(self) -> Hashable:
        return self.name, self.starred, id(self.nodes)

    def _run(self, x: Array, own: bool) -> Array:
        shape, nodes = (self.rows.size, x.shape[1]), self.nodes.container
        if self.starred:
            y = empty(shape)
            sweeps.motions_of_nodes.call(nodes.address, x, y)
        else:
            y = zeros(shape)
            sweeps.wrenches_of_nodes.call(nodes.address, x, y)
        return y

    def steps(self) -> Iterator[Step]:
        yield Step(str(self), "node by node", 18 * len(self.nodes.space.nodes))


class Matrix(Leaf):
    """A matrix that a user gives."""

    def __init__(self, name: str, matrix: Array, on: BodyList, rows: Space, columns: Space):
        super().__init__(name, on, rows, columns)
        self.matrix = matrix

    def key(self) -> Hashable:
        return self.name, self.starred, id(self.matrix)

    def text(self, latex: bool) -> str:
        return self.name + (("^{*}" if latex else "*") if self.starred else "")

    def _run(self, x: Array, own: bool) -> Array:
        return np.ascontiguousarray((self.matrix.T if self.starred else self.matrix) @ x)

    def steps(self) -> Iterator[Step]:
        rows, columns = self.shape
        yield Step(str(self), "matrix", rows * (2 * columns - 1))


class BetweenBranches(Leaf):
    """The blocks of phi* X phi for pairs of bodies neither of which is above the other."""

    def __init__(self, on: BodyList, whole: Propagation, diagonal: Blockwise):
        super().__init__("R_r", on, on.body_space, on.body_space)
        self.whole, self.diagonal = whole, diagonal
        self._needs = whole._needs | diagonal._needs

    def key(self) -> Hashable:
        return self.name, self.starred, id(self.diagonal)

    def text(self, latex: bool) -> str:
        return (r"\mathcal{R}_r" if latex else "R_r") + (("^{*}" if latex else "*") if self.starred else "")

    def _run(self, x: Array, own: bool) -> Array:
        z = self.whole._run(x, False)
        y, blocks = empty(x.shape), self.diagonal.own_blocks()
        if self.starred:
            blocks = np.ascontiguousarray(blocks.transpose(0, 2, 1))
        work = empty((self.on.work_rows, x.shape[1]))
        self.on.recursions.between_branches.call(self.on.address, self.whole.which, blocks, x, z, work, y)
        return y

    def steps(self) -> Iterator[Step]:
        for step in self.whole.steps():
            yield Step(str(self), "gather, then scatter over branches", 2 * step.operations + 90 * self.on.inner_bodies)
