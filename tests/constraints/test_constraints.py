"""The rows of constraints: biases near contact, rebounds, limits, joint friction, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import kido
import scenes
from kido.constraints.contact import tangents
from kido.constraints.contact_bias import rebound
from kido.constraints.row_origins import (
    FROM_CONTACT,
    FROM_FRICTION,
    FROM_LIMIT,
    ROW_ORIGINS,
    SHALLOW_SKINS,
    SHALLOW_SOFTNESS,
    distance_biases,
)
from kido.jit import Struct, entry, view
from kido.simulation.options import WORLD_SETTINGS
from kido.solvers import problem_matrices
from scenes import G

H = 1e-3
SKIN, SHARE = WORLD_SETTINGS["skin"], WORLD_SETTINGS["skin_share"]


@entry("UniTuple(f8,2)(i8,f8)")
def biases(address, gap):
    return distance_biases(view(ROW_ORIGINS, address), gap)


@entry("f8(f8,f8,f8,f8,f8)")
def coefficient(e, gap, approach, rate, h):
    return rebound(e, gap, approach, rate, h)


@entry("UniTuple(f8,6)(f8,f8,f8)")
def tangent_pair(x, y, z):
    return tangents(x, y, z)


@pytest.fixture
def row_origins() -> Struct:
    made = ROW_ORIGINS(blocks=1, dofs=1)
    made.time_step, made.middle[0] = H, 0.5 * H
    made.erp, made.max_correction = WORLD_SETTINGS["erp"], WORLD_SETTINGS["max_correction"]
    made.restitution_speed, made.skin, made.skin_share = 0.05, SKIN, SHARE
    return made


def test_a_gap_closes_to_the_skin_in_one_step(row_origins):
    for gap in (1e-5, 1e-3, 0.2):
        bias, position = biases(row_origins.address, gap)
        assert bias * H == pytest.approx(gap - SKIN * (1 - SHARE), rel=1e-12)
        assert position * H == pytest.approx(gap, rel=1e-12)


def test_within_the_skin_a_share_of_the_distance_is_taken(row_origins):
    for gap in (1e-9, 0.5 * SKIN, SKIN, -1e-9, -0.5 * SKIN, -SKIN):
        bias, _ = biases(row_origins.address, gap)
        assert bias * H == pytest.approx(SHARE * gap, rel=1e-12)


def test_deep_penetration_is_left_to_the_position_correction(row_origins):
    for depth in (1.01 * SHALLOW_SKINS * SKIN, 1e-3):
        assert biases(row_origins.address, -depth) == pytest.approx((0.0, -WORLD_SETTINGS["erp"] * depth / H))
    assert biases(row_origins.address, -1.0) == pytest.approx((0.0, -WORLD_SETTINGS["max_correction"] / H))
    assert biases(row_origins.address, -0.99 * SHALLOW_SKINS * SKIN)[1] == 0.0


def test_slop_is_left_alone(row_origins):
    row_origins.slop = 1e-4
    assert biases(row_origins.address, -1e-4) == (0.0, 0.0)
    assert biases(row_origins.address, -3e-4)[1] * H == pytest.approx(-WORLD_SETTINGS["erp"] * 2e-4)


@pytest.mark.parametrize("gap", [-0.002, 0.0, 0.0019])
def test_a_rebound_has_the_energy_of_the_exact_impact(gap):
    """A ball that would end the step at g - (h/2) |v| with speed v: it meets 0 with v^2 + 2 g (g_-)."""
    e, v = 0.7, -4.0
    new = coefficient(e, gap, v, G, 0.5 * H) * -v
    before = 0.5 * v * v + G * (gap + 0.5 * H * v)
    after = 0.5 * new * new + G * (gap + 0.5 * H * e * -v)
    assert after == pytest.approx(e * e * before, rel=1e-12)


def test_a_rebound_is_never_above_its_coefficient():
    random = np.random.default_rng(0)
    for _ in range(200):
        e, v = random.uniform(0, 1), -(10.0 ** random.uniform(-1.3, 2))
        gap = random.uniform(-1, 1) * 0.5 * H * -v
        found = coefficient(e, gap, v, random.uniform(-50, 50), 0.5 * H)
        assert 0.0 <= found <= e
    assert coefficient(0.8, 0.001, -4.0, 0.0, 0.5 * H) == pytest.approx(0.8, rel=1e-15)  # no force: e itself


def test_tangents_complete_every_normal():
    random = np.random.default_rng(1)
    normals = [*np.eye(3), *-np.eye(3), (1e-9, 0, -1.0), *random.normal(size=(50, 3))]
    for normal in normals:
        normal = np.asarray(normal) / np.linalg.norm(normal)
        t = np.array(tangent_pair(*normal)).reshape(2, 3)
        frame = np.vstack([normal, t])
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(frame) == pytest.approx(1.0)


def rows_of(world: kido.World):
    """Blocks of the last step: origin, index, bias, bounds."""
    engine = world.engine
    problem, row_origins = engine.problem, engine.row_origins
    return [
        (
            int(row_origins.origin[b]),
            int(row_origins.index[b]),
            float(problem.bias[problem.row[b]]),
            float(problem.lower[b]),
            float(problem.upper[b]),
        )
        for b in range(problem.num_blocks)
    ]


def hinge(**joint) -> tuple[kido.World, kido.Skeleton]:
    skeleton = kido.Skeleton("rod")
    skeleton.add_body(
        "rod",
        joint=kido.RevoluteJoint("hinge", axis=(0, 1, 0), **joint),
        inertia=kido.Inertia(1.0, com=(0.5, 0, 0), moment=0.1 * np.eye(3)),
    )
    return scenes.world(skeleton, ground=False, gravity=(0, 0, 0)), skeleton


def test_limits_take_part_only_near_them():
    world, rod = hinge(position_lower_limit=-1.0, position_upper_limit=1.0)
    world.step()
    assert rows_of(world) == []
    rod.positions = [0.99]
    world.step()
    ((origin, index, bias, lower, upper),) = rows_of(world)
    assert (origin, index, lower, upper) == (FROM_LIMIT, 0, 0.0, np.inf)
    assert bias * H == pytest.approx(0.01 - SKIN * (1 - SHARE))
    rod.positions = [-0.5]
    rod.velocities = [-400.0]  # would pass the limit in the step
    world.step()
    assert [r[0] for r in rows_of(world)] == [FROM_LIMIT]
    assert rod.positions[0] >= -1.0 - 1e-9


def test_joint_friction_is_a_row_with_the_bounds_of_its_impulse():
    world, _ = hinge(coulomb_friction=4.0)
    world.step()
    assert rows_of(world) == [(FROM_FRICTION, 0, 0.0, -4.0 * H, 4.0 * H)]


def test_rows_of_a_ball_on_the_ground():
    """A = 1/m on the normal and 1/m + r^2/I = 7/(2 m) on the tangents, with a trace of softness if it dips in."""
    ball = scenes.free(kido.Sphere(0.1), 2.0, (0, 0, 0.1 - 0.5e-6))
    world = scenes.world(ball)
    world.step()
    ((origin, _, bias, _, _),) = rows_of(world)
    assert origin == FROM_CONTACT
    assert bias * H == pytest.approx(-SHARE * 0.5e-6, rel=1e-6)
    matrix, free = problem_matrices(world.engine.problem)
    np.testing.assert_allclose(matrix, np.diag([0.5 * (1 + SHALLOW_SOFTNESS), 1.75, 1.75]), rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(np.abs(free[0]), G * H + SHARE * 0.5e-3, rtol=1e-6)


def test_a_contact_within_the_margin_leaves_a_slow_body_alone():
    """Nothing is held above the ground: a ball 0.5 mm up falls freely until it is there."""
    ball = scenes.free(kido.Sphere(0.1), 2.0, (0, 0, 0.1005))
    world = scenes.world(ball)
    world.step(5)
    assert len(world.contacts) == 1
    assert scenes.velocity(ball)[2] == pytest.approx(-G * 5e-3, rel=1e-12)
    np.testing.assert_array_equal(world.contacts.forces, 0.0)
