"""Batches of states of skeletons with flexible bodies: single calls, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kido
from flexible_trees import random_tree
from trees import relative_error

COUNT = 11  # more than one group of lanes, and not a whole number of them


@pytest.fixture(scope="module")
def case() -> dict[str, Any]:
    skeleton = random_tree(1, bodies=9).skeleton
    rng, n = np.random.default_rng(1), skeleton.num_dofs
    q, u, a = 0.4 * rng.normal(size=(COUNT, n)), rng.normal(size=(COUNT, n)), rng.normal(size=(COUNT, n))
    return {"skeleton": skeleton, "batch": kido.batch.Batch(skeleton, threads=2), "q": q, "u": u, "a": a}


def test_equal_single_calls_to_the_bit(case: dict[str, Any]) -> None:
    s, b, q, u, a = (case[k] for k in ("skeleton", "batch", "q", "u", "a"))
    Q, node = kido.quantities, kido.flexible.flexible_bodies(s)[0].node("b")
    end = s.bodies[-1]
    pairs = {
        "poses": (b.forward_kinematics(q), [s.forward_kinematics(x) for x in q]),
        "jacobian": (b.jacobian(q, end, (0.1, 0.2, 0.3)), [Q.jacobian(s, x, end, (0.1, 0.2, 0.3)) for x in q]),
        "of a node": (b.jacobian(q, node), [Q.jacobian(s, x, node) for x in q]),
        "M": (b.mass_matrix(q), [Q.mass_matrix(s, x) for x in q]),
        "M^-1": (b.inverse_mass_matrix(q), [Q.inverse_mass_matrix(s, x) for x in q]),
        "inverse": (b.inverse_dynamics(q, u, a), [s.inverse_dynamics(*x) for x in zip(q, u, a)]),
        "forward": (b.forward_dynamics(q, u, a), [s.forward_dynamics(*x) for x in zip(q, u, a)]),
        "com": (b.com(q), [Q.com(s, x) for x in q]),
        "moved": (b.integrate(q, u, 1.0), [s.integrate_positions(*x) for x in zip(q, u)]),
    }
    for name, (many, single) in pairs.items():
        assert np.array_equal(many, np.array(single)), name
    held = [0, 4, kido.flexible.flexible_bodies(s)[0].dofs.start]
    udot, tau = b.hybrid_dynamics(q, u, a, held)
    for k in range(COUNT):
        one = s.hybrid_dynamics(q[k], u[k], a[k], held)
        assert np.array_equal(udot[k], one[0])
        assert np.array_equal(tau[k], one[1])
    D = b.forward_dynamics_derivatives(q[:2], u[:2], a[:2])
    assert np.array_equal(D.dq[1], s.forward_dynamics_derivatives(q[1], u[1], a[1]).dq)


def test_hybrid_dynamics_holds_modes_and_joints(case: dict[str, Any]) -> None:
    s, q, u, a = (case[k] for k in ("skeleton", "q", "u", "a"))
    part = kido.flexible.flexible_bodies(s)[1].dofs
    for held in ([0, 5], [part.start], [part.stop - 1, 2], list(range(part.start, part.stop))):
        udot, tau = s.hybrid_dynamics(q[0], u[0], a[0], held)
        free = np.setdiff1d(np.arange(s.num_dofs), held)
        assert np.array_equal(udot[held], a[0][held])
        assert np.array_equal(tau[free], a[0][free])
        assert relative_error(s.inverse_dynamics(q[0], u[0], udot), tau) < 1e-9  # conditions of M up to 1e6


def test_velocities_wrenches_and_motion(case: dict[str, Any]) -> None:
    s, b, q, u, a = (case[k] for k in ("skeleton", "batch", "q", "u", "a"))
    V = b.body_velocities(q, u)
    assert relative_error(V[3, -1], kido.quantities.jacobian(s, q[3], s.bodies[-1]) @ u[3]) < 1e-12
    f = np.random.default_rng(2).normal(size=(s.num_bodies, 6))
    pushed = sum(kido.quantities.jacobian(s, q[2], body).T @ f[body.index] for body in s.bodies)
    change = b.inverse_dynamics(q, u, a)[2] - b.inverse_dynamics(q, u, a, wrenches=f)[2]
    assert relative_error(change, pushed) < 1e-10
    small = 0.1 * q
    moved, speeds = b.simulate(small, 0.1 * u, time_step=1e-3, steps=5)
    world = kido.World()
    world.add_skeleton(s.clone())
    one = world.skeletons[0]
    one.positions, one.velocities = small[4], 0.1 * u[4]
    world.step(5)
    assert relative_error(moved[4], one.positions) < 1e-9
    assert relative_error(speeds[4], one.velocities) < 1e-9
