"""Arrays that attributes give: nobody writes to them by mistake, and other packages take them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.arrays import read_only_copy, settable

GIVEN = {
    "made by Python": lambda: read_only_copy(settable("numbers"), np.arange(1.0, 7.0)),
    "made by compiled code": lambda: kido.load("arm7").mass_matrix[0],
    "state": lambda: kido.load("arm7").positions,
}
WRITES = {
    "an item": lambda a: a.__setitem__(0, 1.0),
    "a part": lambda a: a[1:].__setitem__(0, 1.0),
    "a part of a part": lambda a: a[1:][:2].__setitem__(0, 1.0),
    "another shape": lambda a: a.reshape(1, -1).__setitem__((0, 0), 1.0),
    "all": lambda a: a.fill(0.0),
    "their order": lambda a: a.sort(),
}


@pytest.mark.parametrize("how", WRITES)
@pytest.mark.parametrize("made", GIVEN)
def test_what_is_given_is_not_written_to(made: str, how: str) -> None:
    array = GIVEN[made]()
    before = np.array(array)
    with pytest.raises(kido.ReadOnlyError, match="copy"):
        WRITES[how](array)
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("made", GIVEN)
def test_what_is_made_of_it_is_written_to(made: str) -> None:
    array = GIVEN[made]()
    for own in (
        np.zeros_like(array),
        np.empty_like(array)[1:],
        array[[0, 1]],
        array + 1.0,
        array.copy(),
        np.array(array),
    ):
        own[0] = 3.0
        assert own[0] == 3.0
    array += 1.0  # another one: what setters want
    assert type(array) is np.ndarray


@pytest.mark.parametrize("made", GIVEN)
def test_packages_that_ask_for_memory_to_write_to_take_it(made: str) -> None:
    array = GIVEN[made]()
    half_turn = Rotation.from_rotvec([0.0, 0.0, np.pi])
    np.testing.assert_allclose(half_turn.apply(array[:3]), [-array[0], -array[1], array[2]], atol=1e-15)
    assert Rotation.from_rotvec(array[:3]).magnitude() <= np.pi
