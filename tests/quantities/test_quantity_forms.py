"""Every quantity's forms for groups, subgraphs and batches, where these must give what skeletons have."""

from __future__ import annotations

import numpy as np
import pytest
from test_quantities import arguments, numbers, same

import kido
from kido.batch import Batch
from kido.quantities import TABLE
from trees import random_skeleton, random_state


def read(of: object, name: str, told: dict) -> object:
    value = getattr(of, name)
    return value(**told) if callable(value) else value


@pytest.mark.parametrize("name", [row.name for row in TABLE.values() if row.group or row.subgraph])
def test_all_bodies_as_a_group_and_as_a_subgraph_have_what_the_skeleton_has(name: str) -> None:
    row, skeleton = TABLE[name], kido.Skeleton("tree")
    root = skeleton.add_body("root", kido.RevoluteJoint("hinge", spring_stiffness=[3.0]), inertia=kido.Inertia(2.0))
    for k, joint in enumerate((kido.BallJoint("ball", damping=[0.3] * 3), kido.PrismaticJoint("slider"))):
        skeleton.add_body(f"body{k}", joint, root, inertia=kido.Inertia.from_diagonal(1.0 + k, [0.1, 0.2, 0.3]))
    skeleton.positions, skeleton.velocities, skeleton.accelerations, skeleton.forces = random_state(skeleton, 3)
    skeleton.bodies[-1].add_external_force([1.0, -2.0, 0.5])
    told = arguments(skeleton, row)
    whole = read(skeleton, name, told)
    if row.group:
        group = kido.Group(skeleton.bodies)
        assert same(read(group, name, told), whole, exactly=False)
        backwards = read(kido.Group(skeleton.bodies, dofs=skeleton.dofs[::-1]), name, told)
        turned = [slice(None, None, -1 if size == "dofs" else 1) for size in row.shape]
        assert same(np.asarray(backwards)[tuple(turned)], whole, exactly=False)
    if row.subgraph:
        assert same(read(kido.Subgraph(skeleton.bodies), name, told), whole, exactly=False)


@pytest.mark.parametrize("name", [name for name in TABLE if hasattr(Batch, name)])
def test_a_batch_is_one_call_after_the_other(name: str) -> None:
    row, skeleton = TABLE[name], random_skeleton(3, 6)
    batch, told, pure = Batch(skeleton), arguments(skeleton, row), getattr(kido.quantities, name)
    states = [dict(zip(("positions", "velocities", "accelerations", "forces"), random_state(skeleton, k), strict=True))
              for k in range(3)]  # fmt: skip
    given = {part: np.array([state[part] for state in states]) for part in row.needs}
    given[row.needs[-1]] = given[row.needs[-1]][:1] if len(row.needs) > 1 else given[row.needs[-1]]  # one for all
    truth = [pure(skeleton, *(given[part][k % len(given[part])] for part in row.needs), **told) for k in range(3)]
    found = getattr(batch, name)(**given, **told)
    for parts in zip(numbers(found), *map(numbers, truth), strict=True):
        error = np.abs(parts[0] - np.array(parts[1:])).max()
        assert error <= (1e-15 if name == "jacobian" else 0.0)  # whose order of sums is its own
    none = getattr(batch, name)(*[np.zeros((0, skeleton.num_dofs))] * len(given), **told)
    assert all(len(part) == 0 for part in numbers(none))


def test_arguments_of_batches_are_checked() -> None:
    skeleton = random_skeleton(3, 6)
    batch, q = Batch(skeleton), np.zeros((3, skeleton.num_dofs))
    out = np.empty((3, 3))
    assert batch.com(q, out=out) is out
    with pytest.raises(kido.StateError, match=r"out: expected a writeable, .* shape \(3, 3\)"):
        batch.com(q, out=out[:2])
    with pytest.raises(kido.StateError, match="positions: expected finite numbers, got nan in sample 1"):
        batch.com(np.where(np.arange(3)[:, None] == 1, np.nan, q))
    with pytest.raises(kido.ModelError, match="rows: expected 'all', 'angular' or 'linear'"):
        batch.operational_space_inertia(q, [skeleton.bodies[-1]], rows="none")
