"""Active and passive coordinates against the whole equations of motion, and a cart with a pole by hand."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.errors import ModelError, StateError
from trees import random_skeleton, random_state, relative_error, set_state


def cart_pole(m_cart: float = 2.0, m_pole: float = 0.5, length: float = 0.7) -> kido.Skeleton:
    skeleton = kido.Skeleton("cart pole")
    cart = skeleton.add_body("cart", kido.PrismaticJoint("cart", (1, 0, 0)), None, kido.Inertia(m_cart))
    pole = kido.RevoluteJoint("pole", (0, 1, 0), actuator_type="PASSIVE")
    skeleton.add_body("pole", pole, cart, kido.Inertia(m_pole, (0, 0, length)))
    return skeleton


def test_cart_and_pole_by_hand() -> None:
    M, m, b, g = 2.0, 0.5, 0.7, 9.81
    skeleton = cart_pole(M, m, b)
    q, w = 0.4, 1.3
    skeleton.positions, skeleton.velocities = [0.1, q], [0.2, w]
    split = skeleton.active_passive_split()
    assert split.active.tolist() == [0] and split.passive.tolist() == [1] and not len(split.held)
    c, s = np.cos(q), np.sin(q)
    assert split.active_inertia == pytest.approx(np.array([[M + m * s * s]]))
    assert split.active_bias == pytest.approx(np.array([-m * b * s * w * w + m * g * s * c]))
    # The pole stands still in its turning if the cart goes with g tan q.
    assert split.is_strongly_coupled
    assert split.non_collocated_accelerations([0.0]) == pytest.approx(np.array([g * np.tan(q)]))
    skeleton.positions = [0.0, np.pi / 2]  # a pole that lies flat is not coupled
    assert not skeleton.active_passive_split().is_strongly_coupled
    with pytest.raises(ModelError, match="full row rank"):
        skeleton.active_passive_split().non_collocated_forces([0.0])
    assert np.isfinite(skeleton.active_passive_split().non_collocated_forces([0.0], damping=0.1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_forces_give_what_was_asked(seed: int) -> None:
    skeleton = random_skeleton(seed, 8)
    n = skeleton.num_dofs
    q, u, _, _ = random_state(skeleton, seed)
    set_state(skeleton, q, u)
    rng = np.random.default_rng(seed)
    active = np.sort(rng.choice(n, 2 * n // 3, replace=False))
    split = skeleton.active_passive_split(active)
    assert relative_error(
        kido.quantities.active_passive_split(skeleton, q, u, active).active_inertia, split.active_inertia
    ) < (1e-10)
    ua, Tp = rng.normal(size=len(active)), rng.normal(size=n - len(active))
    cases = [(split.collocated_forces(ua, Tp), ua, split.active)]
    if split.is_strongly_coupled:  # not every passive joint of a random tree is reached
        cases.append((split.non_collocated_forces(Tp, Tp), Tp, split.passive))
    assert split.is_strongly_coupled == (seed > 1)
    for forces, wanted, part in cases:
        tau = np.zeros(n)
        tau[split.active], tau[split.passive] = forces, Tp
        found = skeleton.forward_dynamics(q, u, tau)[part]
        # Forces go through M^-1, whose condition number is up to 1e6 here.
        assert relative_error(found, wanted) < 1e-7
    full = np.linalg.inv(skeleton.mass_matrix)[np.ix_(split.active, split.active)]
    assert relative_error(np.linalg.inv(split.active_inertia), full) < 1e-8


def test_momentum_stays_zero_along_generalized_jacobians() -> None:
    robot = kido.Skeleton("space robot")
    robot.gravity = (0, 0, 0)
    robot.add_body("base", kido.FreeJoint(actuator_type="PASSIVE"), None, kido.Inertia.from_diagonal(10, (2, 2, 2)))
    for k in range(3):
        joint = kido.RevoluteJoint(axis=np.eye(3)[k], transform_from_parent=[0.3, 0, 0.1])
        robot.add_body(f"l{k}", joint, robot.bodies[-1], kido.Inertia.from_diagonal(1, (0.1, 0.1, 0.1), (0.2, 0, 0)))
    robot.positions = np.arange(9) / 10
    split = robot.active_passive_split()
    rates = np.array([0.3, -0.2, 0.5])
    u = np.zeros(9)
    u[split.active], u[split.passive] = rates, split.coupling @ rates
    robot.velocities = u
    assert np.abs(robot.momentum).max() < 1e-13
    tip = split.generalized_jacobian(robot.jacobian("l2")) @ rates
    assert np.allclose(tip, robot.body("l2").spatial_velocity, atol=1e-13)


def test_locked_coordinates_and_bad_input() -> None:
    skeleton = cart_pole()
    skeleton.joint("cart").actuator_type = "LOCKED"
    split = skeleton.active_passive_split()
    assert split.held.tolist() == [0] and not len(split.active) and split.passive.tolist() == [1]
    assert split.collocated_forces([]).shape == (0,) and split.passive_accelerations([]).shape == (1,)
    assert not split.is_strongly_coupled
    for call in (
        lambda: split.collocated_forces([1.0]),
        lambda: split.passive_accelerations([], [np.nan]),
        lambda: split.generalized_jacobian(np.zeros((6, 5))),
    ):
        with pytest.raises(StateError):
            call()
    with pytest.raises(ModelError, match="damping"):
        split.non_collocated_forces([0.0], damping=-1.0)
    all_active = skeleton.active_passive_split(["cart", "pole"])
    assert all_active.is_strongly_coupled and np.allclose(all_active.active_inertia, skeleton.mass_matrix)
