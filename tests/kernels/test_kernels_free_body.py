"""A free body's dynamics against the articulated-body sweep that it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given

import kido
from kernel_entries import Arrays, accelerate, eliminate
from kido.jit import entry, view
from kido.joints import JointKind
from kido.kernels.free_body import free_body_acceleration, free_body_inertia, is_free_body
from kido.kernels.inertia import body_inertia
from kido.tree.schema import DATA, TREE
from trees import SEEDS, relative_error


@entry("i8(i8,i8)")
def free_dynamics(tree, data):
    t, d = view(TREE, tree), view(DATA, data)
    status = free_body_inertia(t, d, 0)
    free_body_acceleration(t, d, 0)
    return status


@entry("i8(i8,i8)")
def is_free(tree, last):
    return 1 if is_free_body(view(TREE, tree), 0, last) else 0


@entry("i8(i8,i8)")
def inertia_of_body(tree, data):
    body_inertia(view(TREE, tree), view(DATA, data), 0)
    return 0


def thrown(seed: int, **inertia) -> Arrays:
    """A body with its centre of mass off its origin, turned, thrown, pushed and pulled."""
    rng = np.random.default_rng(seed)
    skeleton = kido.Skeleton("thrown")
    A = rng.normal(size=(3, 3))
    inertia = inertia or {"mass": 10.0 ** rng.uniform(-2, 2), "com": rng.normal(size=3), "moment": A @ A.T}
    pose = np.eye(4)
    pose[:3, 3] = rng.normal(size=3)
    joint = kido.FreeJoint("free", transform_from_parent=pose)
    body = skeleton.add_body("body", joint=joint, inertia=kido.Inertia(**inertia))
    body.gravity = bool(seed % 3)
    q, u, tau = rng.normal(size=(3, 6))
    arrays = Arrays(skeleton, q, u, np.zeros(6), tau)
    arrays.tree.kind[0] = JointKind.FREE_MIXED
    arrays.data.external[0, :6] = rng.normal(size=6)
    arrays.data.has_external[0] = 1
    arrays.update()
    inertia_of_body(*arrays.addresses)
    return arrays


@given(SEEDS)
@example(6561)
def test_equal_to_the_sweep(seed: int) -> None:
    arrays = thrown(seed)
    tree, d = arrays.tree, arrays.data
    assert is_free(tree.address, 1)
    assert eliminate(*arrays.addresses, 0, 1, 1e-3) == -1
    accelerate(*arrays.addresses, 0, 1)
    expected = {name: getattr(d, name).copy() for name in ("P", "U", "Dinv", "udot")}
    for name in expected:
        getattr(d, name)[:] = np.nan
    assert free_dynamics(*arrays.addresses) == -1
    assert np.array_equal(d.P, expected["P"])
    # Inertia about the centre of mass is a difference of larger numbers, those about the origin: rounding of D^-1
    # and of what comes of it grows with their ratio. Random bodies may be needles with a ratio beyond 1e6.
    about_origin = d.P[0, [0, 3, 5]].sum()
    tolerance = max(1e-12, 1e-15 * about_origin * expected["Dinv"].max())
    for name in ("U", "Dinv", "udot"):
        assert relative_error(getattr(d, name), expected[name]) < tolerance


def test_a_body_without_moment_is_refused_as_by_the_sweep() -> None:
    arrays = thrown(1, mass=2.0, com=(0.3, 0.0, 0.0), moment=np.zeros((3, 3)))
    assert eliminate(*arrays.addresses, 0, 1, 0.0) in (0, 1, 2)
    assert free_dynamics(*arrays.addresses) in (0, 1, 2)


@pytest.mark.parametrize("field", ["prescribed", "damping", "stiffness"])
def test_which_trees_are_free_bodies(field: str) -> None:
    arrays = thrown(2)
    assert not is_free(arrays.tree.address, 2)
    getattr(arrays.tree, field)[4] = 1
    assert not is_free(arrays.tree.address, 1)
