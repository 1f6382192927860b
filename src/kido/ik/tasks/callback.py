"""Tasks of a user's: a function that returns residuals and their Jacobian, in Python or compiled."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import ModelError
from kido.ik.coupling import coupling_of
from kido.ik.engine.tasks import EQUATION, TASKS
from kido.ik.tasks import Task
from kido.ik.tasks.kind import TaskKind, constructor
from kido.jit import JIT_DISABLED, callback
from kido.jit.struct import live_struct
from kido.optimization.references import rebound

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)


class CallbackKind(TaskKind):
    """Rows that a function computes.

    Args:
        function: of positions q (dofs,), returns e (rows,) and J (rows, dofs) with de/dt = J u, for all coordinates;
            or a `kido.jit.callback` (tree, data, tasks, k) that writes `TASKS.e` and `TASKS.J` of its rows.
        number: of rows.
    """

    what = "callback"
    framed = False
    needs_node = False
    weighs_rows = True

    def __init__(self, function: Callable[..., Any], number: int):
        self.function, self.number = function, number
        self._failure: Exception | None = None
        if hasattr(function, "address"):
            self._address = function.address
        else:  # kept as long as the kind is: what it calls by address
            self._pointer: Any = callback(self._write) if JIT_DISABLED else _FUNCTION(self._write)
            self._address = (
                self._pointer.address if JIT_DISABLED else ctypes.cast(self._pointer, ctypes.c_void_p).value or 0
            )
        self._skeleton: Skeleton | None = None
        self._lanes = None

    def __reduce__(self) -> Any:
        return CallbackKind, (self.function, self.number)

    def __deepcopy__(self, memo: dict[int, Any]) -> CallbackKind:
        function = rebound(self.function, memo)
        return self if function is self.function else CallbackKind(function, self.number)

    @property
    def residual(self) -> int:
        return self._address

    in_python = property(lambda self: not hasattr(self.function, "address"), doc="Whether it needs Python's lock.")

    def rows(self, skeleton: Skeleton, task: Task, columns: int) -> int:
        return self.number

    def write(self, skeleton: Skeleton, made: TASKS, k: int, rows: slice, task: Task) -> None:
        self._skeleton = skeleton
        made.weight[rows], made.tolerance[rows] = task.weights, task.tolerance[0]
        made.row_kind[rows] = EQUATION

    def words(self, task: Task, row: int, dof_names: list[str]) -> str:
        return f"(callback), row {row}"

    def _write(self, tree: int, data: int, tasks: int, k: int) -> int:
        made, d = live_struct(tasks), live_struct(data)
        rows = slice(int(made.first_row[k]), int(made.first_row[k + 1]))
        try:
            e, J = self.function(d.q.copy())
            assert self._skeleton is not None
            columns = coupling_of(self._skeleton).columns(np.asarray(J, float), made.active)
            made.e[rows], made.J[rows] = e, columns
        except Exception as error:  # compiled code is between here and who is to hear of it
            self._failure, made.e[rows] = error, np.nan
        return 0

    def raise_failure(self) -> None:
        """Raise what the function raised in the last call, if it did."""
        error, self._failure = self._failure, None
        if error is not None:
            raise ModelError(f"task: {self.function!r}: {error!r}") from error


@constructor
def residual(cls: type[Task], function: Callable[..., Any], rows: int, weights: Any = 1.0, **options: Any) -> Task:
    """Rows of your own: a function of positions q (dofs,) that returns e (rows,) and J (rows, dofs), de/dt = J u.

    Args:
        function: in Python, or a compiled `kido.jit.callback` (tree, data, tasks, k), which writes its rows itself.
        rows: how many.
        weights: (rows,) or one for all.
        **options: `priority`, `gain`, `tolerance` (the first number counts).
    """
    if not callable(function) or isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise ModelError(f"task: expected a function and a number of rows, got {function!r}, {rows!r}")
    w = np.array(np.broadcast_to(np.asarray(weights, float), (rows,)))
    return cls(CallbackKind(function, int(rows)), weights=w, **options)


def raise_failures(kinds: Iterable[TaskKind]) -> None:
    """Raise what functions of tasks raised in the last call."""
    for kind in kinds:
        if isinstance(kind, CallbackKind):
            kind.raise_failure()
