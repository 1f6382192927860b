"""Lanes: eight numbers that compiled code treats as one, and the arrays they come from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kido.jit import (
    JIT_DISABLED,
    LANES,
    Struct,
    all_positive,
    entry,
    floats,
    floor,
    fma,
    integers,
    kernel,
    lanes_samples,
    lanes_view,
    rint,
    view,
    where_positive,
)
from kido.math.elementary import arctan2
from kido.math.so3 import advance_rotation_vector, rotation_vector_to_matrix
from kido.math.trig import sincos

needs_jit = pytest.mark.skipif(JIT_DISABLED, reason="kernels run as plain Python (NUMBA_DISABLE_JIT)")


class LANES_PROBE(Struct):
    count = integers("things")
    x = floats("things")
    y = floats("things", 3)


NUM_RESULTS = 21


@kernel
def results(c, k, out):
    """Every operation of lanes on x and the first column of y, also with numbers, constants and integers."""
    x, y = c.x[k], c.y[k, 0]
    number, whole = 1.5 + c.count[k], c.count[k] + 2
    out[0] = x + y
    out[1] = x - number
    out[2] = number * x
    out[3] = whole / x
    out[4] = -x
    z = x
    z += y
    z -= 2
    z *= x
    z /= y
    out[5] = z
    out[6] = fma(x, y, number)
    out[7] = fma(2.0, x, y)
    out[8] = rint(x)
    out[9] = floor(x)
    out[10] = math.sqrt(x * x)
    out[11] = where_positive(x - y, x, 3.0)
    out[12] = where_positive(y, whole, x)
    s, q = sincos(x)
    out[13] = s
    out[14] = q
    out[15] = arctan2(x, y)
    a, b, e = advance_rotation_vector(x, y, x - y, y, 0.25, x)
    out[16], out[17], out[18] = a, b, e
    R = rotation_vector_to_matrix(x, y, 0.5)
    out[19] = R[1] + R[5]
    out[20] = x * y + x * number


@entry("i8(i8,i8,f8[::1])")
def scalar_results(address, k, out):
    results(view(LANES_PROBE, address), k, out)
    return 0


@entry("i8(i8,i8,f8[:,::1])")
def lanes_results(address, k, out):
    results(lanes_view(LANES_PROBE, address), k, lanes_samples(out, 0))
    return 0


@needs_jit
def test_operations_round_as_those_of_numbers() -> None:
    """A thousand numbers of all sizes, zeros and negatives among them: no bit differs."""
    rng = np.random.default_rng(1)
    things = 125
    wide = LANES_PROBE(things=things, samples=LANES)
    assert wide.x.shape == (things, LANES) and wide.y.shape == (things, 3, LANES) and wide.count.shape == (things,)
    assert wide.x.ctypes.data % 64 == 0 and wide.y.ctypes.data % 64 == 0
    values = rng.normal(size=(2, things, LANES)) * 10.0 ** rng.integers(-8, 3, (2, things, LANES))
    values[rng.random(values.shape) < 0.02] = 0.0
    wide.x[:], wide.y[:, 0] = values
    wide.count[:] = rng.integers(0, 5, things)
    one = LANES_PROBE(things=things)
    one.count[:] = wide.count
    out, truth = np.zeros((LANES, NUM_RESULTS)), np.zeros(NUM_RESULTS)
    for k in range(things):
        lanes_results(wide.address, k, out)
        for lane in range(LANES):
            one.x[k], one.y[k, 0] = wide.x[k, lane], wide.y[k, 0, lane]
            scalar_results(one.address, k, truth)
            assert np.array_equal(out[lane], truth, equal_nan=True)


@entry("i8(i8)")
def count_all_positive(address):
    c = lanes_view(LANES_PROBE, address)
    n = 0
    for k in range(c.x.shape[0]):
        if all_positive(c.x[k]):
            n += 1
    return n


@needs_jit
def test_all_lanes_are_asked() -> None:
    """Rows with one lane that is zero, negative or NaN are not positive."""
    c = LANES_PROBE(things=5, samples=LANES)
    c.x[:] = 1e-300
    c.x[1, LANES - 1], c.x[2, 3], c.x[3, 0] = 0.0, -1.0, np.nan
    assert count_all_positive(c.address) == 2


@entry("i8(f8[:,:,::1],f8[:,:,::1],i8)")
def copy_samples(source, target, first):
    a, b = lanes_samples(source, first), lanes_samples(target, first)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = 2.0 * a[i, j]
    return a.shape[0] * 10 + a.shape[1]


@pytest.mark.parametrize("count", [1, LANES - 1, LANES, LANES + 1, 3 * LANES])
def test_samples_of_arrays_are_read_and_written(count: int) -> None:
    """The last group has fewer samples than lanes; nothing beyond the array is touched."""
    room = np.zeros((count + 2 * LANES, 2, 3))
    source = np.random.default_rng(0).normal(size=(count, 2, 3))
    target = room[LANES : LANES + count]
    for first in range(0, count, LANES):
        assert copy_samples(source, target, first) == 23
    assert np.array_equal(target, 2.0 * source)
    assert not room[:LANES].any() and not room[LANES + count :].any()


def test_one_sample_stands_for_all() -> None:
    source, target = np.ones((1, 2, 2)), np.zeros((LANES + 1, 2, 2))
    for first in range(0, LANES + 1, LANES):
        copy_samples(source, target, first)
    assert (target == 2.0).all()


@needs_jit
def test_several_samples_are_work_space() -> None:
    with pytest.raises(ValueError, match=r"LANES_PROBE\.x: a field with samples side by side is not shared"):
        LANES_PROBE(things=1, samples=LANES, x=np.zeros(1))
    with pytest.raises(TypeError, match="work space"):
        LANES_PROBE(things=1, samples=LANES).__reduce__()
