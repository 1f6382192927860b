"""Handles, containers, entries and callbacks: what compiled code sees of Python's arrays."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest
from numba import types

from kido.jit import (
    JIT_DISABLED,
    Struct,
    call4,
    callback,
    entry,
    floats,
    integer,
    integers,
    kernel,
    number,
    reference,
    stage,
    view,
)
from kido.jit.struct import StructKind, field_table, live_struct

needs_jit = pytest.mark.skipif(JIT_DISABLED, reason="kernels run as plain Python (NUMBA_DISABLE_JIT)")


class PROBE(Struct):
    count = integers("things", doc="a number of each thing")
    value = floats("things", unit="m", doc="a length of each thing")
    table = floats("things", 3, unit="N", doc="a force on each thing")
    cube = floats(2, "things", 4)


@entry("i8(i8)")
def fill(address):
    """Write every element from its indices, through the handle."""
    c = view(PROBE, address)
    for i in range(c.count.shape[0]):
        c.count[i] = 10 + i
        c.value[i] = 0.5 * c.count[i]
        for j in range(c.table.shape[1]):
            c.table[i, j] = 100.0 * i + j
        for a in range(c.cube.shape[0]):
            for j in range(c.cube.shape[2]):
                c.cube[a, i, j] = 1e4 * a + 100.0 * i + j
    return c.table.shape[0] * 10 + c.table.shape[1]


@kernel
def weighted(c, i, weight):
    """A handle passed on to another kernel."""
    c.value[i] += weight * c.table[i, 2]
    return c.value[i]


@entry("f8(i8,f8)")
def total(address, weight):
    c = view(PROBE, address)
    s = 0.0
    for i in range(c.value.shape[0]):
        s += weighted(c, i, weight)
    return s


def test_handles_read_and_write_as_arrays() -> None:
    c = PROBE(things=3)
    assert c.count.dtype == np.int64 and c.cube.shape == (2, 3, 4)
    assert fill(c.address) == 33
    i, j = np.arange(3)[:, None], np.arange(3)
    assert np.array_equal(c.count, [10, 11, 12])
    assert np.array_equal(c.value, [5.0, 5.5, 6.0])
    assert np.array_equal(c.table, 100.0 * i + j)
    a, j = np.arange(2)[:, None, None], np.arange(4)
    assert np.array_equal(c.cube, 1e4 * a + 100.0 * i + j)
    assert total(c.address, 2.0) == 16.5 + 2.0 * (2 + 102 + 202)
    assert c.value[2] == 6.0 + 2.0 * 202  # written through the second kernel


def test_a_given_array_is_shared_and_not_copied() -> None:
    value = np.array([1.0, 2.0])
    c = PROBE(things=2, value=value)
    assert c.value is value
    fill(c.address)
    assert np.array_equal(value, [5.0, 5.5])
    whole = np.zeros((5, 3))
    part = PROBE(things=2, table=whole[1:3])  # rows of a larger array
    fill(part.address)
    assert np.array_equal(whole[2], [100, 101, 102]) and not whole[[0, 3, 4]].any()


def test_containers_without_elements() -> None:
    c = PROBE(things=0)
    assert fill(c.address) == 3
    assert total(c.address, 1.0) == 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"value": np.zeros(3, np.float32)}, "a C-contiguous float64 array of rank 1, got float32 (3,)"),
        ({"value": np.zeros(6)[::2]}, "a C-contiguous float64 array of rank 1, got float64 (3,)"),
        ({"value": np.zeros((3, 1))}, "a C-contiguous float64 array of rank 1, got float64 (3, 1)"),
        ({"count": np.zeros(3)}, "a C-contiguous int64 array of rank 1, got float64 (3,)"),
        ({"table": np.zeros((3, 3), order="F").T[:, ::-1]}, "float64 array of rank 2, got float64 (3, 3)"),
    ],
)
def test_arrays_that_a_kernel_would_misread_are_refused(given: dict, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        PROBE(things=3, **given)
    name = next(iter(given))
    assert str(caught.value).startswith(f"PROBE.{name}: expected ")
    assert message in str(caught.value)


def test_unknown_fields_and_missing_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"PROBE has no fields \['values'\]; it has \['count', 'value', "):
        PROBE(things=1, values=np.zeros(1))
    with pytest.raises(KeyError, match="things"):
        PROBE()
    with pytest.raises(AttributeError, match="has no field 'values'"):
        _ = PROBE(things=1).values


@pytest.mark.parametrize("dims", [(), (1, 2, 3, 4)], ids=["no dims", "four dims"])
def test_structs_refuse_arrays_that_no_view_can_have(dims: tuple) -> None:
    with pytest.raises(ValueError, match="struct S: field 'a' needs one to three dims"):
        StructKind("S", (Struct,), {"a": floats(*dims)})


def test_structs_refuse_names_that_they_use_themselves() -> None:
    with pytest.raises(ValueError, match="struct S: a field cannot have the name 'address'"):
        StructKind("S", (Struct,), {"address": integer()})


def test_structs_document_themselves() -> None:
    lines = field_table(PROBE).splitlines()
    assert len(lines) == 2 + len(PROBE.fields)
    assert lines[4] == "| `table` | f | ('things', 3) | N | a force on each thing |"


# Numbers, references and stages -----------------------------------------------------------------------------


class STEP(Struct):
    weight = number("kg", doc="a number of its own")
    done = integer(doc="calls so far")
    probe = reference(PROBE, doc="another struct")
    add = stage(doc="adds to the first value of the probe")
    values = floats("things")


@callback
def add_weight(step, times, unused_1, unused_2):
    """A stage: what it is called with is the struct and a number."""
    s = view(STEP, step)
    s.done += 1
    s.probe.value[0] += times * s.weight
    return s.done


@entry("UniTuple(f8,3)(i8,f8)")
def use(address, weight):
    """Writes a number, reads one through a reference, calls a stage that is set or not."""
    s = view(STEP, address)
    s.weight = weight
    status = s.add(s, 2)
    s.values[0] = s.probe.value[0] + s.done
    there = 0.0
    if s.probe.address != 0:
        there = 1.0
    return float(status), s.values[0], there


def test_numbers_references_and_stages() -> None:
    probe = PROBE(things=1)
    s = STEP(things=1, probe=probe)
    assert use(s.address, 2.5) == (0.0, 0.0, 1.0)  # no stage is set
    assert s.weight == 2.5 and s.done == 0 and s.add.address == 0
    s.add = add_weight
    assert use(s.address, 3.0) == (1.0, 7.0, 1.0)
    assert probe.value[0] == 6.0 and s.done == 1 and isinstance(s.done, int)
    assert s.add(s, 1) == 2 and probe.value[0] == 9.0  # called from Python
    s.done, s.weight, s.add = 5, -1.0, None
    assert use(s.address, 0.5) == (0.0, 14.0, 1.0)
    s.probe = None
    assert s.probe.address == 0 and not s.probe


def test_what_is_set_is_kept_alive_and_shared() -> None:
    s = STEP(things=1, probe=PROBE(things=1), add=add_weight, weight=1.0)
    gc.collect()
    other = s.sharing(values=np.zeros(1))
    other.weight = 4.0
    assert s.weight == 4.0 and other.address != s.address
    use(other.address, 4.0)
    assert other.values[0] == 9.0 and s.values[0] == 0.0 and s.done == 1


@pytest.mark.parametrize("copier", ["deepcopy", "pickle"])
def test_copies_have_their_own_numbers(copier: str) -> None:
    s = STEP(things=1, probe=PROBE(things=1), add=add_weight, weight=1.0)
    twin = COPIERS[copier](s)
    twin.weight = 2.0
    assert s.weight == 1.0 and twin.probe is not s.probe
    use(twin.address, 2.0)
    assert twin.probe.value[0] == 4.0 and s.probe.value[0] == 0.0


def test_fields_that_do_not_exist_are_errors() -> None:
    s = STEP(things=1)
    with pytest.raises(AttributeError, match="STEP has no field 'weigth'"):
        s.weigth = 1.0
    with pytest.raises(TypeError, match=r"STEP.probe: expected a PROBE"):
        s.probe = s


@needs_jit
def test_fields_that_do_not_exist_are_errors_at_compile_time() -> None:
    from numba.core.errors import TypingError

    @entry("f8(i8)")
    def wrong(address):
        return view(STEP, address).weigth

    with pytest.raises(TypingError, match="weigth"):
        wrong(STEP(things=1).address)


COPIERS = {"deepcopy": copy.deepcopy, "pickle": lambda c: pickle.loads(pickle.dumps(c))}


@pytest.mark.parametrize("copier", COPIERS.values(), ids=COPIERS)
def test_copies_have_their_own_arrays_and_address(copier) -> None:
    c = PROBE(things=2)
    fill(c.address)
    twin = copier(c)
    assert twin.address != c.address
    for name in PROBE.fields:
        assert np.array_equal(getattr(twin, name), getattr(c, name))
    twin.value[:] = 7.0
    assert total(twin.address, 0.0) == 14.0
    assert c.value[0] == 5.0


def test_an_address_is_live_as_long_as_its_owner() -> None:
    c = PROBE(things=1)
    address = c.address
    assert live_struct(address) is c
    del c
    gc.collect()
    with pytest.raises(RuntimeError, match=f"no live struct at address {address}: its owner is gone"):
        live_struct(address)


# Entries ---------------------------------------------------------------------------------------------------


@entry("f8(i8,f8,f8[::1])")
def strict(n, x, values):
    return n * x + values[0]


@needs_jit
@pytest.mark.parametrize(
    "arguments",
    [
        (1.5, 2.0, np.ones(2)),
        ("1", 2.0, np.ones(2)),
        (1, "2.0", np.ones(2)),
        (1, 2.0),
        (1, 2.0, np.ones(2), 1),
        (2**63, 2.0, np.ones(2)),
        (1, 2.0, np.ones(2, np.float32)),
        (1, 2.0, np.ones(2, np.int64)),
        (1, 2.0, np.ones(4)[::2]),
        (1, 2.0, np.broadcast_to(1.0, (2,))),
        (1, 2.0, np.ones((2, 1))),
        (1, 2.0, [1.0, 1.0]),
        (1, 2.0, None),
    ],
    ids=lambda arguments: ", ".join(str(getattr(a, "dtype", a)) for a in arguments),
)
def test_entries_take_their_declared_types_only(arguments: tuple) -> None:
    for _ in range(2):  # refused before anything is compiled, and after
        with pytest.raises(TypeError, match=r"strict takes f8\(i8,f8,f8\[::1\]\)"):
            strict(*arguments)
        assert strict(2, 3.0, np.array([0.5])) == 6.5
        assert strict(np.int32(2), 3, np.array([0.5])) == 6.5  # numbers of other types, without a loss


@entry("UniTuple(i8,2)(i8[:,::1])")
def corners(values):
    return values[0, 0], values[-1, -1]


def test_entries_take_integers_in_arrays_and_return_tuples() -> None:
    assert corners(np.array([[1, 2], [3, 4]])) == (1, 4)
    if not JIT_DISABLED:
        with pytest.raises(TypeError, match="corners takes"):
            corners(np.ones((2, 2)))


@needs_jit
def test_kernels_compile_once_for_all_literal_arguments() -> None:
    @kernel
    def inner(x, k):
        return x + k

    @entry("f8(f8)")
    def outer(x):
        return inner(x, 1) + inner(x, 2) + inner(x, 3)

    assert outer(1.0) == 9.0
    for value in (1, 2, 3):  # what compiling a caller asks for; `outer` itself may come from the cache
        inner.dispatcher.get_call_template((types.float64, types.literal(value)), {})
    assert len(inner.dispatcher.overloads) == 1


# Callbacks -------------------------------------------------------------------------------------------------


@callback
def place_value(a, b, c, d):
    return 1000 * a + 100 * b + 10 * c + d


@callback
def negated(a, b, c, d):
    return -(a + b + c + d)


@callback
def unused(a, b, c, d):
    return 0


@entry("i8(i8,i8,i8,i8,i8)")
def call_by_address(address, a, b, c, d):
    return call4(address, a, b, c, d)


def test_callbacks_are_called_by_address() -> None:
    assert call_by_address(place_value.address, 1, 2, 3, 4) == 1234
    assert call_by_address(negated.address, 1, 2, 3, 4) == -10
    assert place_value(5, 6, 7, 8) == 5678  # and by name
    assert place_value.address == place_value.address != negated.address


@needs_jit
def test_callbacks_compile_when_their_address_is_asked_for() -> None:
    assert unused.origin == ""
    assert unused.address != 0
    assert unused.origin in ("cache", "compiled")


class SELDOM(Struct):
    help = stage(doc="what is called where other ways fail", rare=True)


@callback
def helps(a, b, c, d):
    return a + 10 * b


@entry("i8(i8,i8)")
def ask(address, n):
    s = view(SELDOM, address)
    return s.help(n, 2)


@needs_jit
def test_rare_stages_compile_when_they_are_called_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then an address that is not theirs stands in all structs, and afterwards in none."""
    helped: Any = helps
    monkeypatch.setattr(helped, "is_ready", lambda: helped.origin != "")
    word = SELDOM.fields["help"].word
    first, second, freed, other = SELDOM(help=helps), SELDOM(), SELDOM(help=helps), SELDOM(help=helps)
    second.help = first.help
    other.help = negated
    del freed
    assert ask(SELDOM().address, 3) == 0 and helped.origin == ""
    assert first._block[word] == second._block[word] != 0
    assert [ask(s.address, 3) for s in (first, first, second)] == [23, 23, 23]
    assert first._block[word] == second._block[word] == helps.address
    assert ask(other.address, 3) == -5 and other._block[word] == negated.address
    assert SELDOM(help=helps)._block[word] == helps.address


def test_callbacks_reach_containers_by_address() -> None:
    c = PROBE(things=2)
    assert call_by_address(sum_counts.address, c.address, 0, 0, 0) == 0
    fill(c.address)
    assert call_by_address(sum_counts.address, c.address, 0, 0, 0) == 21


@callback
def sum_counts(address, b, c, d):
    counts = view(PROBE, address).count
    s = 0
    for i in range(counts.shape[0]):
        s += counts[i]
    return s


# Rounding --------------------------------------------------------------------------------------------------


@entry("f8(f8,f8,f8)")
def product_first(a, b, c):
    return a * b + c


@entry("f8(f8,f8,f8)")
def product_last(a, b, c):
    return -c - a * b


@entry("f8(f8,f8,f8)")
def product_less(a, b, c):
    return a * b - -c


@entry("f8(f8,f8,f8)")
def in_place(a, b, c):
    c += a * b
    return c


@entry("f8(f8,f8,f8)")
def named_product(a, b, c):
    p = a * b
    return p + c


@needs_jit
def test_a_product_and_the_sum_it_stands_in_are_rounded_once() -> None:
    """(1 + e)(1 - e) - 1 = -e^2 with e = 2^-30, of which nothing is left when the product is rounded by itself."""
    e = 2.0**-30
    numbers = 1.0 + e, 1.0 - e, -1.0
    assert product_first(*numbers) == -(e**2)
    assert product_last(*numbers) == e**2
    assert product_less(*numbers) == -(e**2)
    assert in_place(*numbers) == -(e**2)
    assert named_product(*numbers) == 0.0
