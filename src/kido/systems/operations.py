"""Operations of a system, which of them a program needs, their order, and blocks of one kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kido.errors import ModelError
from kido.systems import schema as kinds

_SINGLE = (kinds.CALL, kinds.PYTHON)  # in blocks of their own


class Operation:
    """One operation: kind, values it writes and reads, and where it comes from.

    Attributes:
        row: of a call, the numbers of its block behind the kind.
        path: of the model whose equation it is part of.
    """

    __slots__ = ("kind", "outs", "path", "reads", "row")

    def __init__(
        self,
        kind: int,
        outs: tuple[int, ...],
        reads: tuple[int, ...],
        path: str = "",
        row: tuple[int, int, int] = (0, 0, 0),
    ):
        self.kind, self.outs, self.reads, self.path, self.row = kind, outs, reads, path, row


Producer = Callable[[int], "Operation | None"]


class Loop(ModelError):
    """An algebraic loop; `operations` are those on it, in order."""

    def __init__(self, operations: list[Operation]):
        super().__init__("algebraic loop")
        self.operations = operations


def needed(roots: Iterable[int], producer: Producer) -> list[Operation]:
    """Operations that values are made by, each after those it needs.

    Args:
        roots: values.
        producer: the operation that writes a value; None: it is there.

    Raises:
        Loop: a value depends on itself.
    """
    order: list[Operation] = []
    state: dict[Operation, int] = {}  # 1: its operands are being looked at, 2: it is in order
    for root in roots:
        first = producer(root)
        if first is None or first in state:
            continue
        path: list[tuple[Operation, int]] = [(first, 0)]
        state[first] = 1
        while path:
            op, k = path.pop()
            if k == len(op.reads):
                state[op] = 2
                order.append(op)
                continue
            path.append((op, k + 1))
            below = producer(op.reads[k])
            if below is None:
                continue
            seen = state.get(below)
            if seen == 1:
                on_path = [o for o, _ in path]
                raise Loop(on_path[on_path.index(below) :])
            if seen is None:
                state[below] = 1
                path.append((below, 0))
    return order


class Blocks:
    """Operations of all programs of a system in blocks, as `kido.systems.schema.CODE` has them."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int]] = []  # out, a, b, c
        self.blocks: list[tuple[int, int, int, int]] = []
        self.owners: list[list[str]] = []  # of each block, paths of the models whose operations are in it
        self.unknowns: list[int] = []
        self.residuals: list[int] = []

    def __len__(self) -> int:
        return len(self.blocks)

    def add_block(self, kind: int, row: tuple[int, int, int], owners: list[str]) -> None:
        """A block that is no run of operations."""
        self.blocks.append((kind, *row))
        self.owners.append(owners)

    def add(self, operations: Sequence[Operation]) -> None:
        """Operations, in an order in which blocks are as long as may be: always the kind with the most that are ready.

        Values do not depend on it.
        """
        made: dict[int, Operation] = {out: op for op in operations for out in op.outs}
        waiting: dict[Operation, int] = {}
        users: dict[Operation, list[Operation]] = {}
        ready: dict[int, list[Operation]] = {}
        for op in operations:
            below = {made[slot] for slot in op.reads if slot in made and made[slot] is not op}
            waiting[op] = len(below)
            for other in below:
                users.setdefault(other, []).append(op)
            if not below:
                ready.setdefault(op.kind, []).append(op)
        while ready:
            kind = max(ready, key=lambda k: (k not in _SINGLE, len(ready[k]), -k))
            run = ready.pop(kind)
            if kind in _SINGLE:
                for op in run:
                    self.add_block(kind, op.row, [op.path])
            else:
                first = len(self.rows)
                self.rows += [_row(op) for op in run]
                self.add_block(kind, (first, len(self.rows), 0), [op.path for op in run])
            for op in run:
                for user in users.get(op, ()):
                    waiting[user] -= 1
                    if waiting[user] == 0:
                        ready.setdefault(user.kind, []).append(user)

    def add_copies(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Values written from others, (to, from), as they stand there."""
        first = len(self.rows)
        self.rows += [(to, of, 0, 0) for to, of in pairs]
        if len(self.rows) > first:
            self.add_block(kinds.COPY, (first, len(self.rows), 0), [])

    def add_solved(self, operations: Sequence[Operation], unknowns: Sequence[int], residuals: Sequence[int]) -> None:
        """Operations with values that are solved for so that others are zero."""
        if not unknowns:
            self.add(operations)
            return
        varying: set[int] = set(unknowns)
        first, rest = [], []
        for op in operations:  # operands come first
            if any(slot in varying for slot in op.reads):
                varying.update(op.outs)
                rest.append(op)
            else:
                first.append(op)
        made = {out: op for op in rest for out in op.outs}
        body = set(needed(residuals, made.get))
        self.add(first)
        at = len(self.blocks)
        self.add_block(kinds.SOLVE, (len(self.unknowns), len(self.unknowns) + len(unknowns), 0), [])
        self.add([op for op in rest if op in body])
        self.blocks[at] = (*self.blocks[at][:3], len(self.blocks) - at - 1)
        self.unknowns += unknowns
        self.residuals += residuals
        self.add([op for op in rest if op not in body])


def _row(op: Operation) -> tuple[int, int, int, int]:
    if op.kind == kinds.SINCOS:
        return op.outs[0], op.reads[0], 0, op.outs[1]
    if op.kind == kinds.NOISE:
        return op.outs[0], op.row[0], 0, op.row[1]
    a, b, c = (*op.reads, 0, 0)[:3] if op.reads else (0, 0, 0)
    return op.outs[0], a, b, c
