"""Derivatives of inverse and forward dynamics, against central differences on the manifold and identities.

1e-7 of the largest entry for inverse dynamics: differences with a step of 1e-5 are good to 1e-9 or so. Those of
forward dynamics carry M^-1, whose condition number is up to 1e6 in these trees, in difference quotients too, so they
are compared through M: both sides times M, to 1e-6.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kido
from kido.quantities.derivatives import ForwardDynamicsDerivatives
from manifold import along_positions, along_vector
from trees import KINDS, SEEDS, build, chain_parents, random_skeleton, random_state, relative_error, skeletons

TOLERANCE = 1e-7
FORWARD_TOLERANCE = 1e-6
EXACT = 1e-10  # of identities: rounding alone, times condition numbers


def check_inverse_dynamics(s: kido.Skeleton, q, u, udot, tolerance: float = TOLERANCE) -> None:
    D = s.inverse_dynamics_derivatives(q, u, udot)
    assert relative_error(D.dq, along_positions(lambda x: s.inverse_dynamics(x, u, udot), s, q)) < tolerance
    assert relative_error(D.du, along_vector(lambda x: s.inverse_dynamics(q, x, udot), u)) < tolerance
    assert relative_error(D.dudot, kido.quantities.mass_matrix(s, q)) < EXACT


def check_forward_dynamics(s: kido.Skeleton, q, u, tau) -> None:
    D, M = s.forward_dynamics_derivatives(q, u, tau), kido.quantities.mass_matrix(s, q)
    compare_accelerations(
        M, D, along_positions(lambda x: s.forward_dynamics(x, u, tau), s, q),
        along_vector(lambda x: s.forward_dynamics(q, x, tau), u),
    )  # fmt: skip
    assert np.array_equal(D.dtau, D.dtau.T)
    # With the accelerations of forward dynamics, inverse dynamics gives tau back, whatever q and u.
    E = s.inverse_dynamics_derivatives(q, u, s.forward_dynamics(q, u, tau))
    for found, expected in ((D.dq, -E.dq), (D.du, -E.du), (D.dtau, np.eye(len(q)))):
        assert np.abs(M @ found - expected).max() < EXACT * max(1.0, (np.abs(M) @ np.abs(found)).max())


def compare_accelerations(M: np.ndarray, D: ForwardDynamicsDerivatives, dq: np.ndarray, du: np.ndarray) -> None:
    """With difference quotients, which mean nothing next to a singular position."""
    if np.linalg.cond(M) < 1e6:
        for found, expected in ((D.dq, dq), (D.du, du)):
            scale = np.abs(M @ expected).max(initial=1.0)
            assert relative_error(M @ found, M @ expected, scale) < FORWARD_TOLERANCE


@given(skeletons(most=8), SEEDS)
@settings(max_examples=25)
def test_random_trees(skeleton: kido.Skeleton, seed: int) -> None:
    if skeleton.num_dofs:
        q, u, udot, tau = random_state(skeleton, seed)
        check_inverse_dynamics(skeleton, q, u, udot)
        check_forward_dynamics(skeleton, q, u, tau)


@pytest.mark.parametrize("seed", range(6))
def test_trees_with_every_joint_type(seed: int) -> None:
    skeleton = random_skeleton(seed, 14)
    q, u, udot, tau = random_state(skeleton, seed)
    check_inverse_dynamics(skeleton, q, u, udot)
    check_forward_dynamics(skeleton, q, u, tau)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "weld"])
def test_chains_of_one_joint_type(kind: str) -> None:
    skeleton = build([kind] * 4, chain_parents(4), 5)
    q, u, udot, tau = random_state(skeleton, 6)
    check_inverse_dynamics(skeleton, q, u, udot)
    check_forward_dynamics(skeleton, q, u, tau)


@pytest.mark.parametrize("kind", ["ball", "free"])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 3.14159, np.pi, 3.1416, 2.0 * np.pi - 1e-4, 2.0 * np.pi, 6.3])
def test_rotations_by_special_angles(kind: str, angle: float) -> None:
    """Positions of the differences wrap around at pi; the derivatives do not."""
    skeleton = build([kind, "revolute", kind], chain_parents(3), 3)
    q, u, udot, tau = random_state(skeleton, 4)
    for joint in skeleton.joints:
        if joint.num_dofs >= 3:
            k = joint.dofs[0].index
            q[k : k + 3] *= angle / np.linalg.norm(q[k : k + 3])
    check_inverse_dynamics(skeleton, q, u, udot)
    check_forward_dynamics(skeleton, q, u, tau)


def test_bodies_that_are_numbered_across_branches() -> None:
    """Three branches whose bodies take turns: every run of related coordinates is one joint long."""
    parents = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0]
    kinds = [
        "free",
        "revolute",
        "euler",
        "ball",
        "prismatic",
        "universal",
        "revolute",
        "screw",
        "ball",
        "planar",
        "weld",
    ]
    skeleton = build(kinds, parents, 2)
    q, u, udot, tau = random_state(skeleton, 2)
    check_inverse_dynamics(skeleton, q, u, udot)
    check_forward_dynamics(skeleton, q, u, tau)
    D = skeleton.inverse_dynamics_derivatives(q, u, udot)
    one, other = (skeleton.body(name).parent_joint.dofs[0].index for name in ("b1", "b2"))
    for matrix in D:
        assert matrix[one, other] == matrix[other, one] == 0.0


def test_rows_and_columns_of_some_coordinates() -> None:
    s = random_skeleton(4, 8)
    q, u, udot, tau = random_state(s, 4)
    s.positions, s.velocities, s.accelerations, s.forces = q, u, udot, tau
    k = [5, 1, 4]
    names = [s.dofs[i].name for i in k]
    for derive, state in (
        (s.inverse_dynamics_derivatives, (q, u, udot)),
        (s.forward_dynamics_derivatives, (q, u, tau)),
    ):
        for arguments in (state, ()):
            for some, whole in zip(derive(*arguments, dofs=names), derive(*arguments), strict=True):
                assert np.array_equal(some, whole[np.ix_(k, k)])
    with pytest.raises(kido.NameLookupError):
        s.inverse_dynamics_derivatives(dofs="nobody")


def test_no_coordinates() -> None:
    skeleton = build(["weld", "weld"], [-1, 0], 1)
    none = np.zeros(0)
    assert [D.shape for D in skeleton.inverse_dynamics_derivatives(none, none, none)] == [(0, 0)] * 3
    assert [D.shape for D in skeleton.forward_dynamics_derivatives(none, none, none)] == [(0, 0)] * 3
    assert [D.shape for D in skeleton.forward_dynamics_derivatives()] == [(0, 0)] * 3


def test_far_from_the_world_origin() -> None:
    """A robot 10 km away: what it is about is near its own root."""
    skeleton = build(["free", "revolute", "ball"], chain_parents(3), 7)
    q, u, udot, tau = random_state(skeleton, 7)
    far = q.copy()
    far[3:6] += 1e4
    for near, away in zip(
        (*skeleton.inverse_dynamics_derivatives(q, u, udot), *skeleton.forward_dynamics_derivatives(q, u, tau)),
        (*skeleton.inverse_dynamics_derivatives(far, u, udot), *skeleton.forward_dynamics_derivatives(far, u, tau)),
        strict=True,
    ):
        assert relative_error(away, near) < 1e-11


@given(skeletons(most=6), SEEDS)
@settings(max_examples=15)
def test_hybrid_dynamics(s: kido.Skeleton, seed: int) -> None:
    """Accelerations of about half of the coordinates given."""
    q, u, values, _ = random_state(s, seed)
    if not s.num_dofs:
        return
    given_ones = np.flatnonzero(np.random.default_rng(seed).random(s.num_dofs) < 0.5)

    def found(q, u, values) -> np.ndarray:
        udot, tau = s.hybrid_dynamics(q, u, values, given_ones)
        udot[given_ones] = tau[given_ones]
        return udot

    free = np.setdiff1d(np.arange(s.num_dofs), given_ones)
    if free.size and np.linalg.cond(kido.quantities.mass_matrix(s, q)[np.ix_(free, free)]) > 1e5:
        return
    D = s.hybrid_dynamics_derivatives(q, u, values, given_ones)
    for matrix, expected in (
        (D.dq, along_positions(lambda x: found(x, u, values), s, q)),
        (D.du, along_vector(lambda x: found(q, x, values), u)),
        (D.dvalues, along_vector(lambda x: found(q, u, x), values)),
    ):
        assert relative_error(matrix, expected) < FORWARD_TOLERANCE


def test_bias_and_gravity() -> None:
    s = random_skeleton(8, 10)
    q, u, _, _ = random_state(s, 8)
    s.bodies[-1].add_external_force([1.0, 2.0, 3.0])
    s.positions, s.velocities = q, u
    expected = along_positions(partial(kido.quantities.gravity_forces, s), s, q)
    assert relative_error(s.gravity_forces_derivative(), expected) < TOLERANCE
    dq, du = s.bias_forces_derivatives()
    assert (
        relative_error(dq, along_positions(lambda x: kido.quantities.coriolis_and_gravity_forces(s, x, u), s, q))
        < TOLERANCE
    )
    assert (
        relative_error(du, along_vector(lambda x: kido.quantities.coriolis_and_gravity_forces(s, q, x), u)) < TOLERANCE
    )


# The current state: external forces, gravity ----------------------------------------------------------------


def load(skeleton: kido.Skeleton, seed: int) -> None:
    """Forces and torques of every kind on every other body, and no gravity on some."""
    rng = np.random.default_rng(seed)
    for body in skeleton.bodies:
        if rng.random() < 0.3:
            body.gravity = False
    for body in skeleton.bodies[::2]:
        for local in (False, True):
            body.add_external_torque(rng.normal(size=3), is_local=local)
            for at_body in (False, True):
                body.add_external_force(*rng.normal(size=(2, 3)), force_is_local=local, offset_is_local=at_body)


def held_forces(s: kido.Skeleton, q, u, udot) -> np.ndarray:
    s.positions, s.velocities, s.accelerations = q, u, udot
    s.compute_inverse_dynamics()
    return s.forces


def held_accelerations(s: kido.Skeleton, q, u, tau) -> np.ndarray:
    s.positions, s.velocities, s.forces = q, u, tau
    s.compute_forward_dynamics()
    return s.accelerations


@given(skeletons(most=7), SEEDS, st.booleans())
@settings(max_examples=15)
def test_held_state_with_external_forces(s: kido.Skeleton, seed: int, tilted: bool) -> None:
    q, u, udot, tau = random_state(s, seed)
    if not s.num_dofs:
        return
    if tilted:
        s.gravity = [1.0, -7.0, 3.0]
    load(s, seed)
    s.positions, s.velocities, s.accelerations, s.forces = q, u, udot, tau
    D, E, M = s.inverse_dynamics_derivatives(), s.forward_dynamics_derivatives(), s.mass_matrix
    assert np.array_equal(s.accelerations, udot), "the current state stays"
    assert np.array_equal(s.forces, tau), "the current state stays"
    assert relative_error(D.dq, along_positions(lambda x: held_forces(s, x, u, udot), s, q)) < TOLERANCE
    assert relative_error(D.du, along_vector(lambda x: held_forces(s, q, x, udot), u)) < TOLERANCE
    assert relative_error(D.dudot, M) < EXACT
    compare_accelerations(
        M, E, along_positions(lambda x: held_accelerations(s, x, u, tau), s, q),
        along_vector(lambda x: held_accelerations(s, q, x, tau), u),
    )  # fmt: skip


def test_calls_with_a_state_leave_external_forces_out() -> None:
    s = random_skeleton(3, 8)
    q, u, udot, tau = random_state(s, 3)
    free = *s.inverse_dynamics_derivatives(q, u, udot), *s.forward_dynamics_derivatives(q, u, tau)
    s.bodies[-1].add_external_force([1.0, 2.0, 3.0])
    s.positions, s.velocities, s.accelerations, s.forces = q, u, udot, tau
    held = *s.inverse_dynamics_derivatives(), *s.forward_dynamics_derivatives()
    again = *s.inverse_dynamics_derivatives(q, u, udot), *s.forward_dynamics_derivatives(q, u, tau)
    assert all(np.array_equal(a, b) for a, b in zip(again, free, strict=True))
    assert not np.array_equal(held[0], free[0])


def test_results_of_the_held_state_are_kept_until_it_changes() -> None:
    s = random_skeleton(5, 8)
    q, u, udot, tau = random_state(s, 5)
    s.positions, s.velocities, s.accelerations, s.forces = q, u, udot, tau

    def fresh() -> bool:
        D, E = s.inverse_dynamics_derivatives(), s.forward_dynamics_derivatives()
        kept = np.array([*D, *E])
        s.state.invalidate()
        return np.array_equal(kept, np.array([*s.inverse_dynamics_derivatives(), *s.forward_dynamics_derivatives()]))

    first = s.inverse_dynamics_derivatives()
    first.dq[:] = 0.0
    assert np.any(s.inverse_dynamics_derivatives().dq), "results are copies"
    before = s.evaluations
    s.inverse_dynamics_derivatives()
    s.forward_dynamics_derivatives()
    s.forward_dynamics_derivatives()
    assert s.evaluations["inverse_dynamics_derivatives"] == before["inverse_dynamics_derivatives"]
    assert s.evaluations["forward_dynamics_derivatives"] == 1
    changes = {
        "positions": lambda: setattr(s, "positions", q + 0.1),
        "velocities": lambda: setattr(s, "velocities", u + 0.1),
        "accelerations": lambda: setattr(s, "accelerations", udot + 0.1),
        "forces": lambda: setattr(s, "forces", tau + 0.1),
        "force on a body": lambda: s.bodies[-1].add_external_force([1.0, 2.0, 3.0]),
        "no force on a body": lambda: s.clear_external_forces(),
        "gravity": lambda: setattr(s, "gravity", [0.0, 1.0, 0.0]),
        "inertia": lambda: setattr(s.bodies[-1], "inertia", kido.Inertia.from_diagonal(2.0, [1, 1, 1])),
        "structure": lambda: s.add_body(
            "new", kido.BallJoint(), s.bodies[-1], kido.Inertia.from_diagonal(2, [1, 1, 1])
        ),
    }
    for what, change in changes.items():
        assert fresh(), what
        change()
        assert fresh(), what


# Users' mistakes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
def test_bad_input(name: str) -> None:
    s = build(["ball", "revolute"], [-1, 0], 1)
    derive, good = getattr(s, name), np.zeros(4)
    bad = good.copy()
    bad[2] = np.nan
    with pytest.raises(kido.StateError, match="finite numbers, got nan for dof 2"):
        derive(good, bad, good)
    with pytest.raises(kido.StateError, match="expected 4 numbers"):
        derive(good, good, np.zeros(3))
    with pytest.raises(kido.StateError, match="expected 4 numbers"):
        derive("q", good, good)
    with pytest.raises(kido.StateError, match="whole state"):
        derive(good)
    expected = derive(good, good, good)
    for D, E in zip(derive([0, 0, 0, 0], np.zeros(8)[::2], good.astype(np.float32)), expected, strict=True):
        assert np.array_equal(D, E), "what converts is taken"


def test_a_joint_that_moves_no_mass() -> None:
    s = kido.Skeleton()
    s.add_body("arm", kido.RevoluteJoint(), inertia=kido.Inertia(1.0))
    with pytest.raises(kido.ModelError, match="not positive"):
        s.forward_dynamics_derivatives([0.0], [0.0], [0.0])
    with pytest.raises(kido.ModelError, match="not positive"):
        s.forward_dynamics_derivatives()
