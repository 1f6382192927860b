"""Every quantity in the table: of the current state, at a given one, of a state beside the current one."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import kido
from kido.quantities import TABLE
from trees import random_skeleton, random_state

ROOT = Path(__file__).parents[2]


def numbers(value) -> list[np.ndarray]:
    """Arrays of a result, whatever it is made of."""
    if isinstance(value, tuple):
        return [np.asarray(part) for part in value]
    return [np.asarray(getattr(value, "M_aa", value))]


def arguments(skeleton: kido.Skeleton, row) -> dict:
    """What a quantity must be told besides a state."""
    n = skeleton.num_dofs
    known = {
        "node": skeleton.bodies[-1], "relative_to": skeleton.bodies[1], "nodes": [skeleton.bodies[-1]],
        "about": np.ones(3), "time_step": 0.1, "values": np.linspace(-1.0, 1.0, n), "wrenches": np.ones(6),
    }  # fmt: skip
    names = [part for part in row.arguments.split(", ") if part and "=" not in part]
    return {name: known[name] for name in names}


def same(a, b, exactly: bool = True) -> bool:
    pairs = list(zip(numbers(a), numbers(b), strict=True))
    if exactly:
        return all(np.array_equal(x, y) for x, y in pairs)
    return all(np.allclose(x, y, rtol=1e-12, atol=1e-12) for x, y in pairs)


@pytest.mark.parametrize("name", TABLE)
def test_current_given_and_beside_agree(name: str) -> None:
    row, skeleton = TABLE[name], random_skeleton(3, 6)
    q, u, udot, tau = random_state(skeleton, 3)
    state = {"positions": q, "velocities": u, "accelerations": udot, "forces": tau}
    told = arguments(skeleton, row)
    kept = skeleton.positions
    given = getattr(kido.quantities, name)(skeleton, *(state[part] for part in row.needs), **told)
    assert np.array_equal(skeleton.positions, kept)
    other = skeleton.new_state()
    for part, value in state.items():
        setattr(other, part, value)
    beside = getattr(other, name) if row.is_property else getattr(other, name)(**told)
    assert same(given, beside, exactly=False)
    assert same(getattr(kido.quantities, name)(other, **told), beside)
    assert np.array_equal(skeleton.positions, kept)
    for part, value in state.items():
        setattr(skeleton, part, value)
    current = getattr(skeleton, name) if row.is_property else getattr(skeleton, name)(**told)
    assert same(current, beside)
    assert row.doc and getattr(kido.quantities, name).__doc__


def test_a_part_of_a_state_is_refused() -> None:
    skeleton = random_skeleton(1, 3)
    with pytest.raises(kido.StateError, match="whole state"):
        kido.quantities.coriolis_matrix(skeleton, skeleton.positions)
    with pytest.raises(kido.StateError, match="whole state"):
        kido.quantities.coriolis_matrix(skeleton, None, skeleton.velocities)


def test_states_go_their_own_ways() -> None:
    skeleton = random_skeleton(2, 5)
    q, u, _, _ = random_state(skeleton, 2)
    skeleton.positions, skeleton.velocities = q, u
    skeleton.bodies[2].add_external_force([1.0, 2.0, 3.0])
    other = skeleton.new_state()
    assert np.array_equal(other.positions, q) and np.array_equal(other.external_forces, skeleton.external_forces)
    before = skeleton.mass_matrix
    other.positions = q + 0.1
    other.compute_forward_dynamics()
    assert np.array_equal(skeleton.mass_matrix, before) and not np.array_equal(other.mass_matrix, before)
    assert not skeleton.accelerations.any() and other.accelerations.any()
    skeleton.positions = q + 0.1
    assert np.array_equal(skeleton.mass_matrix, other.mass_matrix)
    third = copy.deepcopy(other)
    other.velocities = 0.0 * u
    assert np.array_equal(third.velocities, u) and third.skeleton is skeleton


def test_states_follow_changes_of_their_skeleton() -> None:
    skeleton = random_skeleton(4, 5)
    other = skeleton.new_state()
    other.positions = random_state(skeleton, 4)[0]
    q, M = other.positions, other.mass_matrix
    skeleton.bodies[-1].inertia = kido.Inertia.from_diagonal(9.0, [1, 1, 1])
    assert not np.array_equal(other.mass_matrix, M)
    skeleton.add_body("more", kido.RevoluteJoint(), skeleton.bodies[0], kido.Inertia.from_diagonal(1, [1, 1, 1]))
    assert np.array_equal(other.positions[: len(q)], q) and other.mass_matrix.shape == (len(q) + 1, len(q) + 1)
    skeleton.gravity = (0, 0, -1.0)
    g = other.gravity_forces
    world = kido.World()
    world.add_skeleton(skeleton)
    assert not np.array_equal(other.gravity_forces, g)
    world.step(3)
    assert np.array_equal(other.positions[: len(q)], q)


def test_states_of_threads() -> None:
    skeleton = random_skeleton(5, 8)
    rng = np.random.default_rng(5)
    states = [skeleton.new_state() for _ in range(4)]
    many = rng.normal(size=(4, 50, skeleton.num_dofs))

    def run(k: int) -> list[np.ndarray]:
        found = []
        for q in many[k]:
            states[k].positions = q
            found += [states[k].mass_matrix, states[k].com_jacobian(), kido.quantities.mass_matrix(states[k], q + 1)]
        return found

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, range(4)))
    for k in range(4):
        for a, b in zip(found[k], run(k), strict=True):
            assert np.array_equal(a, b)


def test_functions_have_names_and_signatures() -> None:
    assert pickle.loads(pickle.dumps(kido.quantities.jacobian)) is kido.quantities.jacobian
    assert len(type(random_skeleton(1, 2)).__mro__[:-1]) <= 5


def test_stubs_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "stubs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
