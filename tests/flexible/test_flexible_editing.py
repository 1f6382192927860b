"""Editing, copies and states of skeletons with flexible bodies: what is left is flexible, and the same."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from flexible_trees import random_tree
from kido.flexible import FlexibleTree, flexible_bodies
from trees import relative_error


@pytest.fixture
def skeleton() -> kido.Skeleton:
    """Bodies b0, b2, b4, b6 are flexible, each but the first on a node of the one before."""
    made = random_tree(1, bodies=7).skeleton
    rng = np.random.default_rng(0)
    made.positions = 0.2 * rng.normal(size=made.num_dofs)
    made.velocities = rng.normal(size=made.num_dofs)
    return made


def energy(skeleton: kido.Skeleton) -> float:
    """By the arrays that the skeleton has now, and by those that a tree compiles of it."""
    found = FlexibleTree(skeleton).kinetic_energy(skeleton.positions, skeleton.velocities)
    assert relative_error(skeleton.kinetic_energy, found) < 1e-14
    return found


def test_copies_and_states_are_the_same(skeleton: kido.Skeleton) -> None:
    wanted, kept, configuration = energy(skeleton), skeleton.saved_state, skeleton.configuration
    for twin in (skeleton.clone(), copy.deepcopy(skeleton), pickle.loads(pickle.dumps(skeleton))):
        assert energy(twin) == wanted
        D = [s.inverse_dynamics_derivatives(s.positions, s.velocities, s.velocities) for s in (skeleton, twin)]
        assert np.array_equal(D[0].dq, D[1].dq)
    skeleton.positions, skeleton.velocities = np.zeros((2, skeleton.num_dofs))
    skeleton.saved_state = kept
    assert energy(skeleton) == wanted
    skeleton.positions = np.zeros(skeleton.num_dofs)
    skeleton.configuration = configuration
    assert energy(skeleton) == wanted


def test_a_branch_is_copied_and_split_off(skeleton: kido.Skeleton) -> None:
    other = kido.Skeleton("other")
    base = other.add_body("base", kido.FreeJoint(), None, kido.Inertia(1.0, moment=np.eye(3)))
    skeleton.body("b4").copy_to(base)
    assert [f.body.name for f in flexible_bodies(other)] == ["b4", "b6"]
    part = slice(6, other.num_dofs)
    own = [skeleton.dof(dof.name).index for dof in other.dofs[part]]
    assert np.array_equal(other.positions[part], skeleton.positions[own])
    energy(other)
    n = skeleton.num_dofs
    piece = skeleton.body("b4").split("piece")
    assert [f.body.name for f in flexible_bodies(skeleton)] == ["b0", "b2"]
    assert skeleton.num_dofs + piece.num_dofs == n
    energy(skeleton)
    energy(piece)
    M = other.mass_matrix
    other.body("b4").change_parent_joint_type(kido.FreeJoint)
    energy(other)
    assert len(other.mass_matrix) != len(M)


def test_welded_bodies_are_not_merged_into_what_bends(skeleton: kido.Skeleton) -> None:
    """A flexible body's inertia is that of its modes; a body on a node gives the node's body its own."""
    node = flexible_bodies(skeleton)[0].node("a")
    skeleton.add_body("load", kido.WeldJoint(transform_from_parent=(0.1, 0.0, 0.2)), node, kido.Inertia(0.3))
    wanted = energy(skeleton)
    merged = skeleton.merge_fixed_joints()
    assert merged["load"] == node.name
    assert "welded" not in merged
    assert relative_error(energy(skeleton), wanted) < 1e-14


def test_what_takes_a_flexible_body_apart_is_named(skeleton: kido.Skeleton) -> None:
    flexible = flexible_bodies(skeleton)[0]
    name = f"{flexible.body.name}_a"
    flexible.node("a").remove()
    with pytest.raises(kido.ModelError, match=f"the body '{name}' of its node 'a' was taken away"):
        _ = skeleton.mass_matrix
