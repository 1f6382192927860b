"""Whose turn it is to use an object that serves one thread at a time.

Compiled code runs without Python's lock, in arrays that belong to an object: two threads in it at once would write each
other's numbers, or free what the other works in. A `Turn` keeps them apart. Where a call depends on its arguments
alone (batches, rollouts, searches) other threads wait for it. Where it moves something on (a world's step) they are
refused by a `ConcurrencyError`: to wait would hide that two parts of a program move the same thing, and a callback
that waits for the other thread would wait forever.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Self, TypeVar

from kido.errors import ConcurrencyError

F = TypeVar("F", bound=Callable[..., Any])
_Lock: Any = type(threading.RLock())  # taken and given back by compiled code, between which no Ctrl-C can come


class Turn(_Lock):
    """The right of a thread to use an object; a thread that has it may take it again. `with turn:` waits for it.

    Copies are free, and of no owner.

    Args:
        owner: what it is the turn of, with a `name`; None: where nobody is refused.
        kind: the owner in a word, for messages.

    Attributes:
        doing: what the thread that has it does to the owner, where others are refused meanwhile; "" where they wait.
    """

    __slots__ = ("_kind", "_owner", "doing")

    def __init__(self, owner: Any = None, kind: str = ""):
        self.doing = ""
        self._owner = None if owner is None else weakref.ref(owner)
        self._kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return Turn, ()

    def sole(self) -> Self:
        """Itself, to be entered: ``with turn.sole():``.

        Raises:
            ConcurrencyError: another thread has it, and is not to be waited for.
        """
        if self.doing:
            if self.acquire(False):
                self.release()
            else:
                self._refuse()
        return self

    @contextmanager
    def used(self, doing: str) -> Iterator[None]:
        """Within it other threads are refused.

        Raises:
            ConcurrencyError: as `sole`.
        """
        with self.sole():
            before = self.doing
            try:
                self.doing = doing
                yield
            finally:
                self.doing = before

    def _refuse(self) -> None:
        doing, owner = self.doing, None if self._owner is None else self._owner()
        if not doing:  # done just now: the owner may be waited for
            return
        found = re.search(r"owner=(\d+)", repr(self))  # a lock says whose it is in its text alone
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        thread = names.get(int(found[1])) if found else None
        by = "another thread" if thread is None else f"thread {thread!r}"
        raise ConcurrencyError(
            f"{self._kind} {getattr(owner, 'name', '')!r} is being {doing} by {by}, and serves one thread at a time; "
            f"give each thread a copy ({self._kind}.clone()), or let them take turns by a threading.Lock of your own"
        )


def in_turn(method: F) -> F:
    """A method of what has a `turn`, during which no other thread may use it."""

    @wraps(method)
    def alone(self: Any, *args: Any, **options: Any) -> Any:
        with self.turn.sole():
            return method(self, *args, **options)

    return alone  # type: ignore[return-value]
