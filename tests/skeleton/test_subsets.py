"""Positions, velocities, accelerations and forces of some coordinates, against slices of the whole arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import kido
from trees import SEEDS, random_skeleton, random_state

STATES = ("positions", "velocities", "accelerations", "forces")


def moving(seed: int = 1) -> kido.Skeleton:
    """A skeleton of five bodies that has coordinates, in a random state."""
    skeleton = random_skeleton(seed, 5, kinds=("free", "euler", "revolute", "weld"))
    if skeleton.num_dofs == 0:
        skeleton.add_body("more", kido.BallJoint("more_joint"))
    for name, values in zip(STATES, random_state(skeleton, seed), strict=True):
        setattr(skeleton, name, values)
    return skeleton


def spellings(skeleton: kido.Skeleton, k: list[int]) -> list[object]:
    """Ways to name the coordinates k."""
    dofs = skeleton.dofs
    ways: list[object] = [
        k,
        tuple(k),
        np.array(k, int),
        [dofs[i] for i in k],
        [dofs[i].name for i in k],
        np.array([dofs[i].name for i in k], dtype=str),
        [dofs[i] if i % 2 else dofs[i].name if i % 3 else i - len(dofs) for i in k],
        [slice(i, i + 1) if i % 2 else range(i, i + 1) for i in k],
    ]
    if len(k) == 1:
        ways += [k[0], np.int64(k[0]), dofs[k[0]].name, dofs[k[0]], range(k[0], k[0] + 1), slice(k[0], k[0] + 1)]
    if k == list(range(len(dofs))):
        ways += [None, slice(None), range(len(dofs)), [slice(0, 1), range(1, len(dofs))]]
    return ways


@given(SEEDS, st.data())
def test_any_subset_by_any_name(seed: int, data) -> None:
    skeleton = moving(seed)
    every = list(range(skeleton.num_dofs))
    k = data.draw(st.permutations(every).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: p[:n])))
    if data.draw(st.booleans()):
        k = every
    rng = np.random.default_rng(seed)
    for name in STATES:
        for dofs in spellings(skeleton, k):
            whole = getattr(skeleton, name).copy()
            assert_array_equal(getattr(skeleton, f"get_{name}")(dofs), whole[k])
            values = rng.normal(size=len(k))
            getattr(skeleton, f"set_{name}")(values, dofs)
            whole[k] = values
            assert_array_equal(getattr(skeleton, name), whole)
        getattr(skeleton, f"set_{name}")(0.5, k)  # one number for all
        assert (getattr(skeleton, f"get_{name}")(k) == 0.5).all()


def test_slices_and_ranges_are_pythons() -> None:
    skeleton = moving()
    q = skeleton.positions
    for part in (slice(None, 3), slice(-2, None), slice(None, None, -1), slice(1, 100, 2)):
        assert_array_equal(skeleton.get_positions(part), q[part])
    assert_array_equal(skeleton.get_positions(range(4, 0, -2)), q[[4, 2]])
    assert skeleton.get_positions([]).shape == (0,)
    result = skeleton.get_positions()
    result.fill(0.0)
    assert_array_equal(skeleton.positions, q)


def test_mistakes_are_named_and_change_nothing() -> None:
    skeleton, other = moving(), moving(2)
    first, names = skeleton.dofs[0].name, ", ".join(d.name for d in skeleton.dofs)
    before = skeleton.positions
    for error, message, dofs, values in (
        (kido.NameLookupError, f"no dof in skeleton 'random' 'knee'; expected one of: {names}", "knee", 0.0),
        (kido.NameLookupError, "no dof in skeleton 'random' 'knee'", [0, "knee"], [0.0, 1.0]),
        (kido.NameLookupError, "no dof in skeleton 'random' 99", [0, 99], [0.0, 1.0]),
        (kido.NameLookupError, "no dof in skeleton 'random' -99", -99, 0.0),
        (kido.NameLookupError, "no dof in skeleton 'random' 20", range(20, 21), 0.0),
        (kido.NameLookupError, "no dof in skeleton 'random'", other.dofs[0], 0.0),
        (kido.StateError, "expected a dof (an index, a name, a slice", 1.5, 0.0),
        (kido.StateError, "expected a dof (an index, a name, a slice", [True, False], 0.0),
        (kido.StateError, "expected a dof (an index, a name, a slice", [[0, 1]], 0.0),
        (kido.StateError, "expected a slice of dof indices", slice("a", "b"), 0.0),
        (kido.StateError, f"positions: dofs named more than once: {first}", [0, first], [0.0, 1.0]),
        (kido.StateError, "positions: expected 2 numbers, one for each dof named", [0, 1], [0.0, 1.0, 2.0]),
        (kido.StateError, "positions: expected 1 numbers, got 'x'", 0, "x"),
        (kido.StateError, "positions: expected finite numbers, got nan for dof 1", 1, np.nan),
    ):
        with pytest.raises(error, match=re.escape(message)):
            skeleton.set_positions(values, dofs)  # type: ignore[arg-type]
        assert_array_equal(skeleton.positions, before)


def test_only_what_hangs_on_the_coordinates_goes_stale() -> None:
    arm = kido.Skeleton("arm")
    body = None
    for k in range(4):
        body = arm.add_body(f"b{k}", kido.RevoluteJoint(f"j{k}", (0, 1, 0), transform_from_parent=(0, 0, 1)), body)
    arm.compute_forward_kinematics()
    before = arm.evaluations["transforms"]
    arm.set_positions([0.1, 0.2], ["j2", "j3"])
    arm.compute_forward_kinematics()
    assert arm.evaluations["transforms"] == before + 2
    arm.set_positions(arm.get_positions("j0"), "j0")
    arm.compute_forward_kinematics()
    assert arm.evaluations["transforms"] == before + 2


def test_lists_of_bodies_do_not_pile_up() -> None:
    skeleton = random_skeleton(3, 12)
    skeleton.positions = random_state(skeleton, 3)[0]
    bodies = skeleton.bodies
    for k in range(2**12):
        chosen = [bodies[i] for i in range(12) if k >> i & 1]
        value = kido.quantities.potential_energy(skeleton, bodies=chosen)
        expected = sum(kido.quantities.potential_energy(skeleton, bodies=[body]) for body in chosen[:2])
        assert len(chosen) > 2 or value == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert len(skeleton.state.selections) < 2100
    Y = skeleton.inverse_dynamics_regressor(bodies[:3])
    assert_array_equal(Y, skeleton.clone().inverse_dynamics_regressor([b.index for b in bodies[:3]]))
