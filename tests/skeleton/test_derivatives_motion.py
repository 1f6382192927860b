"""Derivatives of points' velocities and accelerations, of Jacobians and of momenta, against central differences.

1e-7 of the largest entry: differences with a step of 1e-5 are good to 1e-9 or so of numbers of order one.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import kido
from manifold import along_positions, along_vector
from trees import SEEDS, Reference, build, chain_parents, random_skeleton, random_state, relative_error, skeletons

TOLERANCE = 1e-7
EXACT = 1e-12


class Point:
    """Motion of a point of a body from the definitions, at any state."""

    def __init__(self, skeleton: kido.Skeleton, index: int, offset: np.ndarray):
        self.skeleton, self.index, self.offset = skeleton, index, offset

    def velocity(self, q, u) -> np.ndarray:
        r = Reference(self.skeleton, q, u)
        V = r.V[self.index]
        return np.concatenate([V[:3], V[3:] + np.cross(V[:3], r.X[self.index, :3, :3] @ self.offset)])

    def acceleration(self, q, u, udot, spatial: bool) -> np.ndarray:
        r = Reference(self.skeleton, q, u, udot)
        w, A, c = r.V[self.index, :3], r.A[self.index], r.X[self.index, :3, :3] @ self.offset
        a = A[3:] + np.cross(A[:3], c) + np.cross(w, np.cross(w, c))
        return np.concatenate([A[:3], a - np.cross(w, self.velocity(q, u)[3:]) if spatial else a])

    def jacobian(self, q) -> np.ndarray:
        r = Reference(self.skeleton, q)
        J, c = r.J[self.index].copy(), r.X[self.index, :3, :3] @ self.offset
        J[3:] += np.cross(J[:3], c, axisa=0, axisb=0, axisc=0)
        return J


def check_motion(s: kido.Skeleton, q, u, udot, index: int, offset: np.ndarray) -> None:
    point = Point(s, index, offset)
    D = kido.quantities.velocity_derivatives(s, q, u, index, offset)
    assert relative_error(D.dq, along_positions(lambda x: point.velocity(x, u), s, q)) < TOLERANCE
    assert relative_error(D.du, point.jacobian(q)) < EXACT
    for spatial in (False, True):
        E = kido.quantities.acceleration_derivatives(s, q, u, udot, index, offset, spatial)
        expected = along_positions(lambda x, spatial=spatial: point.acceleration(x, u, udot, spatial), s, q)
        assert relative_error(E.dq, expected) < TOLERANCE
        expected = along_vector(lambda x, spatial=spatial: point.acceleration(q, x, udot, spatial), u)
        assert relative_error(E.du, expected) < TOLERANCE
        assert relative_error(E.dudot, point.jacobian(q)) < EXACT
    H = kido.quantities.jacobian_hessian(s, q, index, offset)
    assert relative_error(H, along_positions(point.jacobian, s, q)) < TOLERANCE


@given(skeletons(most=4), SEEDS)
@settings(max_examples=8)
def test_random_trees(s: kido.Skeleton, seed: int) -> None:
    q, u, udot, _ = random_state(s, seed)
    rng = np.random.default_rng(seed)
    if s.num_dofs:
        check_motion(s, q, u, udot, int(rng.integers(s.num_bodies)), rng.normal(size=3))


def test_every_joint_type() -> None:
    s = random_skeleton(2, 13)
    q, u, udot, _ = random_state(s, 2)
    check_motion(s, q, u, udot, s.num_bodies - 1, np.array([0.1, -0.2, 0.3]))


def test_hessian_times_velocities_is_the_rate_of_the_jacobian() -> None:
    s = random_skeleton(3, 10)
    q, u, udot, _ = random_state(s, 3)
    H = kido.quantities.jacobian_hessian(s, q, s.num_bodies - 1)
    A = Reference(s, q, u, udot).A[-1]
    J = Reference(s, q).J[-1]
    assert relative_error(J @ udot + (H @ u) @ u, A) < EXACT


def test_nodes_on_bodies_and_welded_bodies() -> None:
    s = build(["ball", "revolute", "weld"], chain_parents(3), 4)
    q, u, udot, _ = random_state(s, 4)
    marker = s.bodies[2].create_node(kido.Marker, "tip", [0.1, 0.2, 0.3])
    s.positions, s.velocities, s.accelerations = q, u, udot
    for held, expected in (
        (s.velocity_derivatives(marker), kido.quantities.velocity_derivatives(s, q, u, 2, [0.1, 0.2, 0.3])),
        (
            s.acceleration_derivatives(marker),
            kido.quantities.acceleration_derivatives(s, q, u, udot, "b2", [0.1, 0.2, 0.3]),
        ),
        ([s.jacobian_hessian(marker)], [kido.quantities.jacobian_hessian(s, q, s.bodies[2], [0.1, 0.2, 0.3])]),
    ):
        for D, E in zip(held, expected, strict=True):
            assert np.array_equal(D, E)


# Momentum ------------------------------------------------------------------------------------------------


def centroidal(s: kido.Skeleton, q, u, udot) -> tuple[np.ndarray, np.ndarray]:
    """Momentum about the centre of mass and its rate, from the definitions."""
    r = Reference(s, q, u, udot, gravity=np.zeros(3))
    masses = np.array([b.inertia.mass for b in s.bodies])
    coms = np.array([X[:3, :3] @ b.inertia.com + X[:3, 3] for b, X in zip(s.bodies, r.X, strict=True)])
    G = masses @ coms / masses.sum()
    h, rate = np.zeros(6), np.zeros(6)
    for i, f in enumerate(r.body_force(r.A)):
        p, own = r.X[i, :3, 3] - G, r.I[i] @ r.V[i]
        h += np.concatenate([own[:3] + np.cross(p, own[3:]), own[3:]])
        rate += np.concatenate([f[:3] + np.cross(p, f[3:]), f[3:]])
    return h, rate


def check_centroidal(s: kido.Skeleton, q, u, udot) -> None:
    D = kido.quantities.centroidal_momentum_derivatives(s, q, u, udot)
    expected = along_positions(lambda x: np.array(centroidal(s, x, u, udot)), s, q)
    assert relative_error(D.momentum_dq, expected[0]) < TOLERANCE
    assert relative_error(D.rate_dq, expected[1]) < TOLERANCE
    assert relative_error(D.rate_du, along_vector(lambda x: centroidal(s, q, x, udot)[1], u)) < TOLERANCE
    assert relative_error(D.rate_dudot @ u, centroidal(s, q, u, udot)[0]) < EXACT


@given(skeletons(most=5), SEEDS)
@settings(max_examples=8)
def test_centroidal_momentum_of_random_trees(s: kido.Skeleton, seed: int) -> None:
    if s.num_dofs and s.mass > 0.0:
        check_centroidal(s, *random_state(s, seed)[:3])


def test_centroidal_momentum_with_every_joint_type_and_several_roots() -> None:
    s = random_skeleton(7, 14)
    s.add_body("apart", kido.FreeJoint(), None, kido.Inertia.from_diagonal(3.0, [1.0, 2.0, 2.5]))
    s.bodies[2].gravity = False
    s.bodies[3].add_external_force([1.0, 2.0, 3.0])
    q, u, udot, _ = random_state(s, 7)
    check_centroidal(s, q, u, udot)
    s.positions, s.velocities, s.accelerations = q, u, udot
    expected = kido.quantities.centroidal_momentum_derivatives(s, q, u, udot)
    for D, E in zip(s.centroidal_momentum_derivatives(), expected, strict=True):
        assert np.array_equal(D, E)


# Laziness and mistakes -----------------------------------------------------------------------------------


def test_results_of_the_held_state_are_kept_until_it_changes() -> None:
    s = random_skeleton(5, 8)
    q, u, udot, _ = random_state(s, 5)
    s.positions, s.velocities, s.accelerations = q, u, udot
    calls = (
        lambda: s.velocity_derivatives(5),
        lambda: s.acceleration_derivatives(5),
        lambda: s.acceleration_derivatives(5, spatial=True),
        lambda: [s.jacobian_hessian(5)],
        lambda: s.centroidal_momentum_derivatives(),
    )
    for change in (lambda: None, lambda: setattr(s, "accelerations", u), lambda: setattr(s, "velocities", udot),
                   lambda: setattr(s, "positions", q + 0.1)):  # fmt: skip
        change()
        kept = [np.array(call()) for call in calls]
        s.state.invalidate()
        assert all(np.array_equal(k, np.array(call())) for k, call in zip(kept, calls, strict=True))
    before = s.evaluations
    for call in calls:
        for D in call():
            D[:] = 0.0
    assert s.evaluations == before
    assert np.any(s.jacobian_hessian(5)), "results are copies"


def test_bad_input() -> None:
    s, other = build(["ball"], [-1], 1), build(["ball"], [-1], 1)
    zero = np.zeros(3)
    with pytest.raises(kido.StateError, match="finite"):
        kido.quantities.velocity_derivatives(s, [0.0, np.inf, 0.0], zero, 0)
    with pytest.raises(kido.StateError, match="expected 3 numbers"):
        kido.quantities.acceleration_derivatives(s, zero, zero, np.zeros(2), 0)
    with pytest.raises(kido.StateError, match="expected 3 numbers"):
        kido.quantities.centroidal_momentum_derivatives(s, zero, zero, np.zeros(2))
    with pytest.raises(kido.StateError, match="expected 3 numbers"):
        kido.quantities.jacobian_hessian(s, np.zeros((3, 1)), 0)
    with pytest.raises(kido.ModelError, match="rides on skeleton"):
        s.jacobian_hessian(other.bodies[0])
    with pytest.raises(kido.ModelError, match="expected a node"):
        s.velocity_derivatives(kido.Frame.world())
    with pytest.raises(kido.NameLookupError):
        s.velocity_derivatives("nobody")
    with pytest.raises(kido.ModelError, match="offset"):
        s.velocity_derivatives(0, [0.0, np.nan, 0.0])
    massless = kido.Skeleton("ghost")
    massless.add_body("b", kido.BallJoint())
    with pytest.raises(kido.ModelError, match="has no mass"):
        massless.centroidal_momentum_derivatives()
