"""Loops shared out among threads: every item once, whatever the numbers of items, chunks and threads."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from kido.jit import JIT_DISABLED, Struct, callback, entry, integers, view
from kido.jit.atomics import add, load, store
from kido.jit.team import Team, share_out


class WORK(Struct):
    count = integers("items")
    by = integers("items")


@callback
def count_items(work, begin, end, worker):
    w = view(WORK, work)
    for k in range(begin, end):
        w.count[k] += 1
        w.by[k] = worker
    return 0


@entry("i8(i8,i8,i8,i8,i8,i8)")
def many_loops(team, function, work, items, size, loops):
    for _ in range(loops):
        share_out(team, function, work, items, size)
    return 0


@entry("i8(i8,i8)")
def count_up(address, times):
    for _ in range(times):
        add(address, 1)
    return load(address)


@entry("i8(i8,i8)")
def put(address, value):
    return store(address, value)


def test_atomics():
    number = np.array([5])
    assert count_up(number.ctypes.data, 10) == 15
    put(number.ctypes.data, -3)
    assert number[0] == -3 == ctypes.c_int64.from_address(number.ctypes.data).value


@pytest.mark.skipif(JIT_DISABLED, reason="needs compiled threads")
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("items", "size"), [(0, 1), (1, 4), (7, 1), (1000, 3), (64, 64), (65, 64)])
def test_every_item_once(threads, items, size):
    work = WORK(items=max(items, 1))
    team = Team(threads)
    loops = 200
    for _ in range(2):  # a team serves again
        with team.working():
            many_loops(team.address, count_items.address, work.address, items, size, loops)
    assert (work.count[:items] == 2 * loops).all()
    assert (work.by < threads).all()


def test_without_a_team():
    work = WORK(items=10)
    many_loops(0, count_items.address, work.address, 10, 3, 1)
    assert (work.count == 1).all() and not work.by.any()
