"""Impacts of trees are at their times: the second order of the step, momentum, energy, and exact derivatives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kido

STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4)
LENGTH, MASS, MOMENT, ARM, WALL, G = 1.0, 1.0, 0.01, 0.5, 0.05, 9.81


def put(z: float) -> np.ndarray:
    """A place along z."""
    at = np.eye(4)
    at[2, 3] = z
    return at


def double_pendulum(h: float, restitution: float) -> tuple[kido.World, kido.Skeleton]:
    """Two links below a hinge, with a ball at the lower end that meets a wall at x = WALL."""
    world = kido.World(time_step=h)
    s = kido.Skeleton("pendulum")
    inertia = kido.Inertia.from_diagonal(MASS, (MOMENT,) * 3, (0, 0, -ARM))
    first = s.add_body("first", kido.RevoluteJoint("upper", axis=(0, 1, 0)), inertia=inertia)
    second = s.add_body("second", kido.RevoluteJoint("lower", axis=(0, 1, 0)), parent=first, inertia=inertia)
    second.parent_joint.transform_from_parent = put(-LENGTH)
    second.add_shape(kido.Sphere(0.05), put(-LENGTH), restitution=restitution, friction=0.0)
    world.add_skeleton(s)
    wall = kido.Skeleton("wall")
    at = np.eye(4)
    at[0, 3] = WALL + 0.5
    face = kido.Box((1.0, 4.0, 8.0))  # coefficients of a pair are multiplied
    wall.add_body("wall", kido.WeldJoint()).add_shape(face, at, restitution=1.0, friction=0.0)
    world.add_skeleton(wall)
    s.positions = [1.0, 0.4]
    return world, s


def mass_matrix(q: np.ndarray) -> np.ndarray:
    """Of the double pendulum, from Lagrange's equations."""
    c = MASS * LENGTH * ARM * np.cos(q[1])
    own = MOMENT + MASS * ARM * ARM
    return np.array([[2 * own + MASS * LENGTH**2 + 2 * c, own + c], [own + c, own]])


def rates(_: float, x: np.ndarray) -> np.ndarray:
    """d(q, u)/dt of the double pendulum; positive angles move the ends to -x."""
    q, u = x[:2], x[2:]
    s = MASS * LENGTH * ARM * np.sin(q[1])
    products = np.array([-s * (2 * u[0] * u[1] + u[1] ** 2), s * u[0] ** 2])
    one, two = G * MASS * np.sin(q[0]), G * MASS * ARM * np.sin(q[0] + q[1])
    pull = np.array([(ARM + LENGTH) * one + two, two])
    return np.concatenate([u, np.linalg.solve(mass_matrix(q), -products - pull)])


def distance(_: float, x: np.ndarray) -> float:
    """Of the ball from the wall."""
    return WALL - 0.05 + LENGTH * (np.sin(x[0]) + np.sin(x[0] + x[1]))


def row(q: np.ndarray) -> np.ndarray:
    """d distance / dq."""
    end = LENGTH * np.cos(q[0] + q[1])
    return np.array([LENGTH * np.cos(q[0]) + end, end])


def exact(restitution: float, until: float) -> np.ndarray:
    """The state at a time, impact by impact, to twelve digits."""
    distance.terminal, distance.direction = True, -1.0  # type: ignore[attr-defined]
    x, t = np.array([1.0, 0.4, 0.0, 0.0]), 0.0
    while t < until:
        found = solve_ivp(rates, (t, until), x, "DOP853", rtol=1e-12, atol=1e-13, events=distance)
        t, x = found.t[-1], found.y[:, -1].copy()
        if found.status == 1:
            J = row(x[:2])
            Y = np.linalg.solve(mass_matrix(x[:2]), J)
            x[2:] -= (1.0 + restitution) * (J @ x[2:]) / (J @ Y) * Y
            t, x = t + 1e-9, x + 1e-9 * rates(t, x)
    return x


@pytest.mark.parametrize(("restitution", "until"), [(1.0, 1.0), (0.6, 0.67)])
def test_a_double_pendulum_that_hits_a_wall_is_of_second_order(restitution, until):
    """Against event by event integration: six elastic impacts, or one before the ball bounces ever faster.

    Where in a step the impact is differs from step size to step size, and with it the error by a factor of a few: so
    the order is that from the largest to the smallest, at least 1.7, and the bound at 1 ms is 1e-3 of 20 rad/s.
    """
    truth = exact(restitution, until)
    errors = []
    for h in STEPS:
        world, s = double_pendulum(h, restitution)
        world.step(round(until / h))
        errors.append(np.abs(np.concatenate([s.positions, s.velocities]) - truth).max())
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[-1]) / 3.0 > 1.7


def links(h: float, friction: float, restitution: float) -> tuple[kido.World, kido.Skeleton]:
    """Two links with a ball each, that fall turning onto the ground."""
    world = kido.World(time_step=h)
    world.add_ground(friction=friction, restitution=restitution)
    s = kido.Skeleton("links")
    first = s.add_body(
        "first", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(1.0, (0.01, 0.02, 0.02), (0.05, 0.02, 0))
    )
    first.add_shape(kido.Sphere(0.1), restitution=restitution, friction=friction)
    second = s.add_body(
        "second",
        kido.RevoluteJoint("hinge", axis=(0, 1, 0)),
        parent=first,
        inertia=kido.Inertia.from_diagonal(0.5, (0.01, 0.01, 0.02)),
    )
    at = np.eye(4)
    at[0, 3] = 0.5
    second.parent_joint.transform_from_parent = at
    second.add_shape(kido.Sphere(0.08), restitution=restitution, friction=friction)
    world.add_skeleton(s)
    s.positions, s.velocities = [0.1, 0.2, 0.3, 0, 0, 0.6, 0.3], [0.5, 1, 2.0, 0.5, 0, 0, -1.0]
    return world, s


@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 1.0), (0.3, 0.7)])
def test_links_that_fall_turning_are_of_second_order(friction, restitution):
    """By differences from each step to half of it, over 0.5 s with two impacts: each a quarter of the one before,
    within a factor of two, since the phase of impacts in their steps differs."""
    ends = []
    for h in (*STEPS, 1.25e-4):
        world, s = links(h, friction, restitution)
        world.step(round(0.5 / h))
        ends.append(np.concatenate([s.positions, s.velocities]))
    differences = [float(np.abs(b - a).max()) for a, b in pairwise(ends)]
    assert differences[0] < 5e-4
    assert np.log2(differences[0] / differences[-1]) / 3.0 > 1.7


def test_elastic_links_keep_their_energy_and_their_momentum_along_the_ground():
    """Without friction: energy to the square of the step's turn, 3e-5 of 10 J; momentum along the ground, and angular
    about the vertical through the centre of mass, to rounding."""
    world, s = links(1e-3, 0.0, 1.0)
    energy, before = world.kinetic_energy + world.potential_energy, s.momentum_about(s.com)
    world.step(600)
    assert world.totals.bounces > 0
    assert world.kinetic_energy + world.potential_energy == pytest.approx(energy, abs=1e-4)
    after = s.momentum_about(s.com)
    np.testing.assert_allclose(after[[2, 3, 4]], before[[2, 3, 4]], rtol=0, atol=1e-11)


@pytest.mark.parametrize("start", [0.175, 0.7])
def test_a_step_with_an_impact_of_a_tree_is_differentiated_exactly(start):
    """All of d(q, u)+ / d(q, u), the time of the impact among it, against central differences (1e-8 of them)."""
    world, s = links(1e-3 if start < 0.5 else 1.1e-3, 0.0, 1.0)
    speed = s.velocities[-1]
    for _ in range(400):
        before = world.snapshot()
        world.step()
        if len(world.contacts) and np.abs(world.contacts.forces).max() > 100.0:
            break
    else:
        pytest.fail("there was no impact")
    assert s.velocities[-1] != pytest.approx(speed, abs=1.0)
    world.restore(before)
    found = world.step_derivatives().by_state
    n, eps = s.num_dofs, 1e-6
    for j in range(2 * n):
        ends = []
        for sign in (1.0, -1.0):
            world.restore(before)
            change = np.zeros(2 * n)
            change[j] = sign * eps
            q = s.integrate_positions(s.positions, change[:n])
            s.positions, s.velocities = q, s.velocities + change[n:]
            world.step()
            ends.append((s.positions.copy(), s.velocities.copy()))
        rate = np.concatenate([s.position_differences(ends[0][0], ends[1][0]), ends[0][1] - ends[1][1]]) / (2 * eps)
        np.testing.assert_allclose(found[:, j], rate, rtol=0, atol=2e-7)


def test_threads_and_failed_steps_leave_the_middle_alone():
    """A step that fails after its middle was moved, NaN in this case, and the next ones are as in a fresh world."""
    world, s = links(1e-3, 0.0, 1.0)
    world.step(250)
    good = world.snapshot()
    s.forces = np.full(s.num_dofs, 1e200)
    with pytest.raises(kido.KidoError):
        world.step(50)
    s.forces = np.zeros(s.num_dofs)
    world.restore(good)
    world.step(100)
    other, t = links(1e-3, 0.0, 1.0)
    other.step(350)
    np.testing.assert_array_equal(s.positions, t.positions)
