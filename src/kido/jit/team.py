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
from kido.jit.struct import Struct, integers

MOST_THREADS = 64
SPINS = 2000  # looks at the ticket before a helper lets others run, some 10 us

# Entries of `place`: addresses of the integers that threads share.
TICKET, DONE, STOP, YIELD = range(4)
# Entries of `task`: the callback, its first argument, items, items of a chunk.
FUNCTION, ARGUMENT, ITEMS, SIZE = range(4)

CHUNK_BITS = 20
MOST_CHUNKS = 1 << CHUNK_BITS
MASK = MOST_CHUNKS - 1


class TEAM(Struct):
    threads = integers(1, doc="how many work, the caller among them")
    place = integers(4, doc="addresses in `shared`, and of the operating system's function to let others run")
    task = integers(4, doc="the loop at hand: callback(argument, begin, end, worker), items, items of a chunk")
    shared = integers(32, doc="ticket, chunks done and stop, each on a cache line of its own")


@kernel
def take_chunk(p, worker):
    """Do the next chunk of the loop at hand. Returns whether there was one."""
    ticket = load(p.place[TICKET])
    if (ticket & MASK) >= ((ticket >> CHUNK_BITS) & MASK):
        return False
    ticket = add(p.place[TICKET], 1)
    chunk = ticket & MASK
    if chunk >= ((ticket >> CHUNK_BITS) & MASK):
        return False
    begin = chunk * p.task[SIZE]
    end = min(begin + p.task[SIZE], p.task[ITEMS])
    call4(p.task[FUNCTION], p.task[ARGUMENT], begin, end, worker)
    add(p.place[DONE], 1)
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
    p.task[FUNCTION], p.task[ARGUMENT], p.task[ITEMS], p.task[SIZE] = function, argument, items, size
    store(p.place[DONE], 0)
    generation = ((load(p.place[TICKET]) >> (2 * CHUNK_BITS)) + 1) & MASK
    store(p.place[TICKET], (generation << (2 * CHUNK_BITS)) | (chunks << CHUNK_BITS))
    while take_chunk(p, 0):
        pass
    spins = 0
    while load(p.place[DONE]) < chunks:
        spins += 1
        if spins > SPINS:
            call4(p.place[YIELD], 0, 0, 0, 0)


@entry("i8(i8,i8)")
def serve(team, worker):
    """Help until the team is stopped."""
    p = view(TEAM, team)
    spins = 0
    while load(p.place[STOP]) == 0:
        if take_chunk(p, worker):
            spins = 0
        else:
            spins += 1
            if spins > SPINS:
                call4(p.place[YIELD], 0, 0, 0, 0)
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
        c.threads[0] = self.threads
        base = c.shared.ctypes.data
        c.place[:] = base, base + 8 * 8, base + 16 * 8, yield_address()
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
