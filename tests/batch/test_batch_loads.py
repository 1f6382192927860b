"""External wrenches, given accelerations and inverse mass matrices of batches."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.batch import Batch
from kido.errors import ModelError, NameLookupError, StateError
from manifold import along_positions, along_vector
from trees import random_skeleton


@pytest.fixture(scope="module", params=[1, 2])
def tree(request) -> kido.Skeleton:
    """A random tree in which every kind of joint occurs, welded ones too, whose bodies share a link."""
    return random_skeleton(request.param, 12 if request.param > 1 else 24)


def states(skeleton: kido.Skeleton, count: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(count)
    n = skeleton.num_dofs
    q = rng.uniform(-2.0, 2.0, (count, n))
    return q, rng.normal(size=(count, n)), rng.normal(size=(count, n)), rng.normal(size=(count, skeleton.num_bodies, 6))


def close(value: np.ndarray, truth: np.ndarray, tolerance: float) -> bool:
    return bool(np.abs(value - truth).max() <= tolerance * max(1.0, np.abs(truth).max()))


def test_wrenches_act_through_jacobians(tree: kido.Skeleton) -> None:
    """T = M udot + C - sum J^T f, to rounding; and forward dynamics is its inverse, to what M's condition leaves."""
    q, u, x, f = states(tree, 11)
    batch = Batch(tree, threads=2)
    tau = batch.inverse_dynamics(q, u, x, wrenches=f)
    for k in range(len(q)):
        J = [kido.quantities.jacobian(tree, q[k], body) for body in tree.bodies]
        truth = tree.inverse_dynamics(q[k], u[k], x[k]) - sum(j.T @ w for j, w in zip(J, f[k], strict=True))
        assert close(tau[k], truth, 1e-12)
    for found, wanted, positions in zip(batch.forward_dynamics(q, u, tau, wrenches=f), x, q, strict=True):
        condition = np.linalg.cond(kido.quantities.mass_matrix(tree, positions))  # 2e6 to 4e9
        assert close(found, wanted, np.finfo(float).eps * condition)
    alike = np.broadcast_to(f[3], f.shape)
    assert np.array_equal(
        batch.inverse_dynamics(q, u, x, wrenches=f[3]), batch.inverse_dynamics(q, u, x, wrenches=alike)
    )
    assert batch.inverse_dynamics(q[0], u[0], x[0], wrenches=f).shape == tau.shape
    held = batch.inverse_dynamics(q, u, x)  # what acted in a call before acts no more
    assert np.array_equal(held[4], tree.inverse_dynamics(q[4], u[4], x[4]))


def test_derivatives_with_wrenches(tree: kido.Skeleton) -> None:
    """Central differences; forces keep their direction in the world and their point in the body."""
    (q,), (u,), (x,), (f,) = states(tree, 1)
    batch = Batch(tree)
    forces = batch.inverse_dynamics_derivatives(q, u, x, wrenches=f)
    assert close(forces.dq[0], along_positions(lambda y: batch.inverse_dynamics(y, u, x, wrenches=f)[0], tree, q), 1e-7)
    assert close(forces.du[0], along_vector(lambda y: batch.inverse_dynamics(q, y, x, wrenches=f)[0], u), 1e-7)
    motion = batch.forward_dynamics_derivatives(q, u, x, wrenches=f)
    truth = along_positions(lambda y: batch.forward_dynamics(y, u, x, wrenches=f)[0], tree, q)
    assert close(motion.dq[0], truth, 1e-6)


def test_motion_under_held_wrenches() -> None:
    """A free body under a force that does not turn: its centre of mass falls and is pushed, as in closed form."""
    skeleton = kido.Skeleton("body")
    skeleton.add_body("body", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(2.0, (0.1, 0.2, 0.3)))
    batch = Batch(skeleton)
    rng = np.random.default_rng(0)
    f = np.zeros((5, 1, 6))
    f[:, 0, 3:] = rng.normal(size=(5, 3))
    u = rng.normal(size=(5, 6))
    u[:, :3] = 0.0
    q, v = batch.simulate(np.zeros(6), u, wrenches=f, time_step=0.01, steps=50)
    acceleration = f[:, 0, 3:] / 2.0 + np.array(skeleton.gravity)
    assert close(v[:, 3:], u[:, 3:] + 0.5 * acceleration, 1e-13)
    assert close(q[:, 3:], 0.5 * u[:, 3:] + 0.125 * acceleration, 1e-13)


def test_given_accelerations(tree: kido.Skeleton) -> None:
    """Equal to the skeleton's own to the bit; with wrenches both directions fit together."""
    q, u, x, f = states(tree, 10)
    batch = Batch(tree, threads=2)
    chosen = [0, 2, tree.num_dofs - 1]
    for prescribed in (chosen, [], range(tree.num_dofs)):
        found = batch.hybrid_dynamics(q, u, x, prescribed)
        truth = [tree.hybrid_dynamics(q[k], u[k], x[k], prescribed) for k in range(len(q))]
        assert all(np.array_equal(a, b) for a, b in zip(found, np.swapaxes(truth, 0, 1), strict=True))
    udot, tau = batch.hybrid_dynamics(q, u, x, chosen, wrenches=f)
    assert np.array_equal(udot[:, chosen], x[:, chosen])
    assert close(batch.inverse_dynamics(q, u, udot, wrenches=f), tau, 1e-9)
    derivatives = batch.hybrid_dynamics_derivatives(q, u, x, chosen)
    for k in (0, 9):
        each = tree.hybrid_dynamics_derivatives(q[k], u[k], x[k], chosen)
        assert all(np.array_equal(a[k], b) for a, b in zip(derivatives, each, strict=True))
    assert np.array_equal(batch.forward_dynamics(q, u, x)[2], tree.forward_dynamics(q[2], u[2], x[2]))


def test_inverse_mass_matrices(tree: kido.Skeleton) -> None:
    """Equal to the skeleton's own to the bit."""
    q, *_ = states(tree, 17)
    found = Batch(tree).inverse_mass_matrix(q)
    assert all(np.array_equal(found[k], kido.quantities.inverse_mass_matrix(tree, q[k])) for k in range(len(q)))


def test_what_is_wrong_is_named() -> None:
    arm = random_skeleton(3, 6)
    batch = Batch(arm)
    n, bodies = arm.num_dofs, arm.num_bodies
    zero = np.zeros((3, n))
    bad = np.zeros((3, bodies, 6))
    bad[1, 2, 5] = np.nan
    with pytest.raises(StateError, match=f"got nan in sample 1 for body '{arm.bodies[2].name}'"):
        batch.inverse_dynamics(zero, zero, zero, wrenches=bad)
    with pytest.raises(StateError, match=rf"wrenches: expected the shape \(samples, bodies, 6\) with {bodies} bodies"):
        batch.forward_dynamics(zero, zero, zero, wrenches=np.zeros((3, 6)))
    with pytest.raises(StateError, match=r"as many samples of each argument, got 3 of positions, .*4 of wrenches"):
        batch.forward_dynamics(zero, zero, zero, wrenches=np.zeros((4, bodies, 6)))
    with pytest.raises(StateError, match="wrenches: expected numbers, got 'up'"):
        batch.simulate(zero, zero, wrenches="up")
    with pytest.raises(NameLookupError, match="nowhere"):
        batch.hybrid_dynamics(zero, zero, zero, ["nowhere"])
    massless = kido.Skeleton("rod")
    massless.add_body("rod", kido.RevoluteJoint("hinge"), inertia=kido.Inertia(0.0))
    status = np.zeros(1, np.int64)
    Batch(massless).inverse_mass_matrix([0.0], status=status)
    assert status[0] == 0
    with pytest.raises(ModelError, match="rod"):
        Batch(massless).hybrid_dynamics([0.0], [0.0], [0.0], [])
    udot, _ = Batch(massless).hybrid_dynamics([0.0], [0.0], [2.0], "hinge")
    assert udot[0, 0] == 2.0
