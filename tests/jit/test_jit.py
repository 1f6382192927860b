"""Handles, containers, entries and callbacks: what compiled code sees of Python's arrays."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

from kido.jit import JIT_DISABLED, Container, Field, Schema, call4, callback, entry, kernel, view
from kido.jit.schema import live_container

needs_jit = pytest.mark.skipif(JIT_DISABLED, reason="kernels run as plain Python (NUMBA_DISABLE_JIT)")

SCHEMA = Schema(
    "PROBE",
    Field("count", "i", ("things",), doc="a number of each thing"),
    Field("value", "f", ("things",), "m", "a length of each thing"),
    Field("table", "f", ("things", 3), "N", "a force on each thing"),
    Field("cube", "f", (2, "things", 4)),
)


@entry("i8(i8)")
def fill(address):
    """Write every element from its indices, through the handle."""
    c = view(SCHEMA, address)
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
    c = view(SCHEMA, address)
    s = 0.0
    for i in range(c.value.shape[0]):
        s += weighted(c, i, weight)
    return s


def test_handles_read_and_write_as_arrays() -> None:
    c = Container(SCHEMA, things=3)
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
    c = Container(SCHEMA, things=2, value=value)
    assert c.value is value
    fill(c.address)
    assert np.array_equal(value, [5.0, 5.5])
    whole = np.zeros((5, 3))
    part = Container(SCHEMA, things=2, table=whole[1:3])  # rows of a larger array
    fill(part.address)
    assert np.array_equal(whole[2], [100, 101, 102]) and not whole[[0, 3, 4]].any()


def test_containers_without_elements() -> None:
    c = Container(SCHEMA, things=0)
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
        Container(SCHEMA, things=3, **given)
    name = next(iter(given))
    assert str(caught.value).startswith(f"PROBE.{name}: expected ")
    assert message in str(caught.value)


def test_unknown_fields_and_missing_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"PROBE has no fields \['values'\]; it has \['count', 'value', "):
        Container(SCHEMA, things=1, values=np.zeros(1))
    with pytest.raises(KeyError, match="things"):
        Container(SCHEMA)
    with pytest.raises(AttributeError, match="has no field 'values'"):
        _ = Container(SCHEMA, things=1).values


@pytest.mark.parametrize(
    "fields",
    [(Field("a", "d", (1,)),), (Field("a", "f", ()),), (Field("a", "f", (1, 2, 3, 4)),)],
    ids=["kind", "no dims", "four dims"],
)
def test_schemas_refuse_fields_that_no_view_can_have(fields: tuple) -> None:
    with pytest.raises(ValueError, match="schema S: field 'a' needs kind 'i' or 'f' and one to three dims"):
        Schema("S", *fields)


def test_schemas_refuse_a_name_twice() -> None:
    with pytest.raises(ValueError, match="schema S: a field name appears twice"):
        Schema("S", Field("a", "f", (1,)), Field("a", "i", (1,)))


def test_schemas_document_themselves() -> None:
    lines = SCHEMA.table().splitlines()
    assert len(lines) == 2 + len(SCHEMA.fields)
    assert lines[4] == "| `table` | f | ('things', 3) | N | a force on each thing |"


COPIERS = {"deepcopy": copy.deepcopy, "pickle": lambda c: pickle.loads(pickle.dumps(c))}


@pytest.mark.parametrize("copier", COPIERS.values(), ids=COPIERS)
def test_copies_have_their_own_arrays_and_address(copier) -> None:
    c = Container(SCHEMA, things=2)
    fill(c.address)
    twin = copier(c)
    assert twin.address != c.address
    for name in SCHEMA.fields:
        assert np.array_equal(getattr(twin, name), getattr(c, name))
    twin.value[:] = 7.0
    assert total(twin.address, 0.0) == 14.0
    assert c.value[0] == 5.0


def test_an_address_is_live_as_long_as_its_owner() -> None:
    c = Container(SCHEMA, things=1)
    address = c.address
    assert live_container(address) is c
    del c
    gc.collect()
    with pytest.raises(RuntimeError, match=f"no live container at address {address}: its owner is gone"):
        live_container(address)


# Entries ---------------------------------------------------------------------------------------------------


@entry("f8(i8,f8,f8[::1])")
def strict(n, x, values):
    return n * x + values[0]


@needs_jit
@pytest.mark.parametrize(
    "arguments",
    [
        (1.5, 2.0, np.ones(2)),
        (True, 2.0, np.ones(2)),
        (1, 2, np.ones(2)),
        (1, 2.0, np.ones(2, np.float32)),
        (1, 2.0, np.ones(2, np.int64)),
        (1, 2.0, np.ones(4)[::2]),
        (1, 2.0, np.broadcast_to(1.0, (2,))),
        (1, 2.0, np.ones((2, 1))),
        (1, 2.0, [1.0, 1.0]),
        (1, 2.0, None),
    ],
    ids=["float", "bool", "int", "single", "integers", "strided", "read-only", "rank 2", "list", "none"],
)
def test_entries_take_their_declared_types_only(arguments: tuple) -> None:
    for _ in range(2):  # refused before anything is compiled, and after
        with pytest.raises(TypeError, match=r"strict takes f8\(i8,f8,f8\[::1\]\)"):
            strict(*arguments)
        assert strict(2, 3.0, np.array([0.5])) == 6.5
    assert len(strict.overloads) == 1


@needs_jit
def test_kernels_compile_once_for_all_literal_arguments() -> None:
    @kernel
    def inner(x, k):
        return x + k

    @entry("f8(f8)")
    def outer(x):
        return inner(x, 1) + inner(x, 2) + inner(x, 3)

    assert outer(1.0) == 9.0
    assert len(inner.overloads) == 1


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
    assert unused._compiled is None
    assert unused.address != 0
    assert unused._compiled is not None


def test_callbacks_reach_containers_by_address() -> None:
    c = Container(SCHEMA, things=2)
    assert call_by_address(sum_counts.address, c.address, 0, 0, 0) == 0
    fill(c.address)
    assert call_by_address(sum_counts.address, c.address, 0, 0, 0) == 21


@callback
def sum_counts(address, b, c, d):
    counts = view(SCHEMA, address).count
    s = 0
    for i in range(counts.shape[0]):
        s += counts[i]
    return s
