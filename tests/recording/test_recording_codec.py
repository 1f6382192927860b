"""Text and number pools hold plain data bit for bit."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kido.recording.codec import Encoded, RecordingError, decode, encode

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(plain)
def test_round_trip_of_plain_data(value):
    assert decode(encode(value)) == value


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "u8", "?"])
def test_arrays_keep_every_bit(dtype):
    bits = np.random.default_rng(0).integers(0, 2, size=(3, 4, 2)) if dtype == "?" else None
    array = np.arange(24).reshape(3, 4, 2).astype(dtype) if bits is None else bits.astype(bool)
    if dtype == "f8":
        array[0, 0] = [math.pi, -0.0]
        array[0, 1] = [np.nan, -np.inf]
    if dtype == "u8":
        array[0, 0, 0] = np.iinfo(np.uint64).max
    back = decode(encode({"a": [array]}))["a"][0]
    assert back.dtype == array.dtype and back.shape == array.shape
    assert back.tobytes() == array.tobytes()
    back[...] = 0  # writable, unlike the pool


def test_infinities_and_nan_are_valid_json():
    encoded = encode([math.inf, -math.inf, math.nan, np.float64(1.5), np.int32(3)])
    json.loads(bytes(encoded.text), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    back = decode(encoded)
    assert back[:2] == [math.inf, -math.inf] and math.isnan(back[2]) and back[3:] == [1.5, 3]


def test_equal_arrays_are_stored_once():
    mesh = np.random.default_rng(1).normal(size=(100, 3))
    encoded = encode([mesh, mesh.copy(), {"again": mesh}])
    assert encoded.floats.size == mesh.size


def test_empty_array_and_slices():
    base = np.arange(20.0).reshape(4, 5)
    back = decode(encode([np.empty((0, 3)), base[:, ::2]]))
    assert back[0].shape == (0, 3)
    np.testing.assert_array_equal(back[1], base[:, ::2])


def test_objects_are_refused_by_place():
    with pytest.raises(RecordingError, match=r"value\.a\[1\]: cannot store a object"):
        encode({"a": [1, object()]})
    with pytest.raises(RecordingError, match=r"cannot store an array of complex128"):
        encode(np.ones(2, complex))


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"$array":"floats","start":0,"shape":[9],"dtype":"float64"}',
        '{"$array":"floats","start":-1,"shape":[1],"dtype":"float64"}',
        '{"$array":"floats","start":0,"shape":[-1],"dtype":"float64"}',
        '{"$array":"other","start":0,"shape":[1],"dtype":"float64"}',
        '{"$array":"floats","start":0,"shape":[1],"dtype":"object"}',
        '{"$array":"floats"}',
        '{"$bytes":5}',
    ],
)
def test_damaged_text_is_refused(text):
    with pytest.raises(RecordingError):
        decode(Encoded(np.frombuffer(text.encode(), np.uint8), np.zeros(3), np.zeros(0, np.int64)))
