"""Threads that share out loops of compiled code, without returning to Python between one loop and the next.

A *team* serves one caller. While it works its helpers wait for loops: they spin, and let other threads of the machine
run if nothing comes. A loop over items is cut into chunks. Who is free takes the next chunk, the caller among them, so
what a chunk writes must not depend on others; then results do not depend on who took it.

The ticket is one integer: generation of the loop, number of its chunks, next chunk. So a helper that takes a ticket
knows with it whether the chunk exists, and the loop stays as it is until all its chunks are done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

from kido.jit.atomics import add, load, store, yield_address
from kido.jit.compile import call4, entry, kernel, view
from kido.jit.struct import Struct, integer, integers

MOST_THREADS = 64
SPINS = 2000  # looks at the ticket before a helper lets others run, some 10 us

CHUNK_BITS = 20
MOST_CHUNKS = 1 << CHUNK_BITS
MASK = MOST_CHUNKS - 1


class TEAM(Struct):
    ticket = integer(doc="address of the ticket in `shared`")
    done = integer(doc="address of the number of chunks done")
    stop = integer(doc="address of what is not 0 when helpers are to end")
    let_others = integer(doc="address of the operating system's function to let others run")
    function = integer(doc="of the loop at hand: address of callback(argument, begin, end, worker)")
    argument = integer()
    items = integer()
    size = integer(doc="items of a chunk")
    shared = integers(32, doc="ticket, chunks done and stop, each on a cache line of its own")


@kernel
def take_chunk(p, worker):
    """Do the next chunk of the loop at hand. Returns whether there was one."""
    ticket = load(p.ticket)
    if (ticket & MASK) >= ((ticket >> CHUNK_BITS) & MASK):
        return False
    ticket = add(p.ticket, 1)
    chunk = ticket & MASK
    if chunk >= ((ticket >> CHUNK_BITS) & MASK):
        return False
    begin = chunk * p.size
    end = min(begin + p.size, p.items)
    call4(p.function, p.argument, begin, end, worker)
    add(p.done, 1)
    return True


@kernel
def share_out(team, function, argument, items, size):
    """Have a team call ``function(argument, begin, end, worker)`` for all of 0..items-1, `size` items at a time.

    Args:
        team: address of a TEAM container; 0: one call for all, as worker 0.
        function: address of a callback.
    """
    if team == 0 or items <= size:
        if items > 0:
            call4(function, argument, 0, items, 0)
        return
    p = view(TEAM, team)
    size = max(size, items // (MOST_CHUNKS - MOST_THREADS - 1) + 1)
    chunks = (items + size - 1) // size
    p.function, p.argument, p.items, p.size = function, argument, items, size
    store(p.done, 0)
    generation = ((load(p.ticket) >> (2 * CHUNK_BITS)) + 1) & MASK
    store(p.ticket, (generation << (2 * CHUNK_BITS)) | (chunks << CHUNK_BITS))
    while take_chunk(p, 0):
        pass
    spins = 0
    while load(p.done) < chunks:
        spins += 1
        if spins > SPINS:
            call4(p.let_others, 0, 0, 0, 0)


@entry("i8(i8,i8)")
def serve(team, worker):
    """Help until the team is stopped."""
    p = view(TEAM, team)
    spins = 0
    while load(p.stop) == 0:
        if take_chunk(p, worker):
            spins = 0
        else:
            spins += 1
            if spins > SPINS:
                call4(p.let_others, 0, 0, 0, 0)
    return 0


def available_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


class Team:
    """Helpers for one caller.

    Args:
        threads: how many work, the caller among them, at most MOST_THREADS.
    """

    def __init__(self, threads: int):
        self.threads = min(threads, MOST_THREADS)
        self.container = TEAM()
        c = self.container
        base = c.shared.ctypes.data
        c.ticket, c.done, c.stop, c.let_others = base, base + 8 * 8, base + 16 * 8, yield_address()
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    @property
    def address(self) -> int:
        """Of the TEAM container, for `share_out`."""
        return self.container.address

    @contextmanager
    def working(self) -> Iterator[None]:
        """Within it the helpers serve; outside of it they rest."""
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool, self._process = ThreadPoolExecutor(max(self.threads - 1, 1)), os.getpid()
            serve(self.address, self._stopped())  # compiled by one thread
        self.container.shared[16] = 0
        helpers = [self._pool.submit(serve, self.address, worker) for worker in range(1, self.threads)]
        try:
            yield
        finally:
            self._stopped()
            wait(helpers)

    def _stopped(self) -> int:
        """Have helpers end. Returns 0."""
        self.container.shared[16] = 1
        return 0
