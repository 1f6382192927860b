"""Soft bodies against closed forms, conservation laws, and rigid bodies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import kido
from kido import Inertia, SoftBodyNode, SoftMesh, World

GRAVITY = 9.81
POSE = [0.3, 0.2, 0.1, 0.0, 0.0, 1.0]
TWIST = [1.0, 2.0, 3.0, 0.5, 0.2, 0.1]


def soft_box(
    *, h: float = 1e-3, gravity: float = GRAVITY, joint: Any = None, core: float = 1.0, **options: Any
) -> tuple[World, SoftBodyNode]:
    """A world with one soft box of 0.2 m and 26 points."""
    skeleton = kido.Skeleton("box")
    settings = {"total_mass": 0.5, "kv": 500.0, "ke": 10.0, "kd": 1.0, **options}
    inertia = Inertia.from_diagonal(core, [0.01 * core, 0.012 * core, 0.015 * core])
    body = skeleton.add_soft_body("box", SoftMesh.box((0.2, 0.2, 0.2)), joint, inertia=inertia, **settings)
    world = World(gravity=(0.0, 0.0, -gravity), time_step=h)
    world.add_skeleton(skeleton)
    return world, body


def momentum(body: SoftBodyNode) -> np.ndarray:
    """[angular about the world's origin; linear] momentum of core and points, from their definitions."""
    core, X, V = body.core_inertia, body.world_transform, body.spatial_velocity
    R, m, v = X[:3, :3], body.point_masses, body.point_velocities
    at = X[:3, 3] + R @ core.com
    core_v = V[3:] + np.cross(V[:3], R @ core.com)
    angular = R @ core.moment @ R.T @ V[:3] + core.mass * np.cross(at, core_v)
    return np.concatenate([angular + m @ np.cross(body.point_positions, v), core.mass * core_v + m @ v])


def energy(body: SoftBodyNode, gravity: float = GRAVITY) -> float:
    """Kinetic, elastic and potential energy [J]."""
    core, R, V = body.core_inertia, body.world_transform[:3, :3], body.spatial_velocity
    kinetic = 0.5 * core.mass * V[3:] @ V[3:] + 0.5 * V[:3] @ R @ core.moment @ R.T @ V[:3]
    kinetic += 0.5 * body.point_masses @ (body.point_velocities**2).sum(axis=1)
    return float(kinetic + body.elastic_energy + gravity * body.mass * body.com[2])


def disturb(body: SoftBodyNode, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    body.displacements = 0.01 * rng.normal(size=(26, 3))
    body.displacement_rates = 0.1 * rng.normal(size=(26, 3))


# One point ---------------------------------------------------------------------------------------------------


def test_points_swing_at_the_frequency_of_their_springs() -> None:
    """On a body that does not move, q'' = -(kv / m) q. At h w = 0.16 the method's phase is 0.2 % slow."""
    errors = []
    for h in (1e-3, 5e-4):
        world, body = soft_box(h=h, gravity=0.0, joint=kido.WeldJoint(), ke=0.0, kd=0.0)
        body.displacements = [0.01, 0.0, 0.0]
        rate = np.sqrt(500.0 / body.point_masses[0])
        path = []
        for _ in range(int(0.1 / h)):
            world.step()
            path.append(body.displacements[0, 0])
        exact = 0.01 * np.cos(rate * h * np.arange(1, len(path) + 1))
        errors.append(np.abs(path - exact).max())
    assert errors[0] < 0.04 * 0.01
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)  # of second order


def test_edges_add_to_the_stiffness_of_a_mode() -> None:
    """Opposite displacements d and -d of two points that no other edge joins swing at (kv + 2 ke) / m."""
    skeleton = kido.Skeleton("two")
    shape = SoftMesh([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]], [[0, 1, 2]], edges=[[0, 1]])
    body = skeleton.add_soft_body("two", shape, kido.WeldJoint(), total_mass=0.3, kv=50.0, ke=200.0, kd=0.0)
    world = World(gravity=(0, 0, 0), time_step=1e-4)
    world.add_skeleton(skeleton)
    body.displacements = [[0.01, 0, 0], [-0.01, 0, 0], [0, 0, 0]]
    world.step(1000)
    rate = np.sqrt(450.0 / 0.1)
    assert body.displacements[0, 0] == pytest.approx(0.01 * np.cos(rate * 0.1), abs=2e-6)
    assert body.displacements[1, 0] == pytest.approx(-body.displacements[0, 0], abs=1e-15)


def test_static_deflection() -> None:
    """The sag under gravity is m g / kv for all points, so edges carry nothing; under a force f on one it is more."""
    world, body = soft_box(joint=kido.WeldJoint(), kd=5.0, ke=20.0)
    world.step(3000)
    sag = body.point_masses[0] * GRAVITY / 500.0
    np.testing.assert_allclose(body.displacements, np.tile([0.0, 0.0, -sag], (26, 1)), atol=1e-12)
    world, body = soft_box(joint=kido.WeldJoint(), kd=5.0, ke=0.0, gravity=0.0)
    body.add_point_force(3, [2.0, -1.0, 0.5])
    world.step(3000)
    np.testing.assert_allclose(body.displacements[3], np.array([2.0, -1.0, 0.5]) / 500.0, atol=1e-12)
    assert not body.displacements[4].any()


def test_a_force_on_a_skin_moves_the_whole() -> None:
    """After the points have come to rest in it, the body and its skin accelerate by f / (M + m)."""
    world, body = soft_box(gravity=0.0, kd=20.0)
    body.point_forces = [0.03, 0.0, 0.0]
    world.step(2000)
    before = body.spatial_velocity[3]
    world.step(1000)
    assert body.spatial_velocity[3] - before == pytest.approx(26 * 0.03 / 1.5, rel=1e-9)


# The whole ---------------------------------------------------------------------------------------------------


def test_frozen_is_rigid() -> None:
    """With all points frozen at rest it moves like a rigid body with the same inertia, but for terms of third order in
    a step, 1e-9 here: a single rigid body is moved by its momentum."""
    world, body = soft_box()
    body.freeze()
    skeleton = body.skeleton
    rigid = kido.Skeleton("rigid")
    rigid.add_body("box", inertia=body.inertia)
    other = World()
    other.add_skeleton(rigid)
    for s in (skeleton, rigid):
        s.positions, s.velocities = POSE, TWIST
    world.step(500)
    other.step(500)
    np.testing.assert_allclose(skeleton.positions, rigid.positions, rtol=0, atol=5e-7)
    np.testing.assert_allclose(skeleton.velocities, rigid.velocities, rtol=0, atol=5e-7)
    np.testing.assert_allclose(skeleton.momentum, rigid.momentum, rtol=0, atol=1e-11)


def test_frozen_in_a_deformed_shape_is_rigid() -> None:
    world, body = soft_box()
    disturb(body)
    body.displacement_rates = [0.0, 0.0, 0.0]
    body.freeze()
    rigid = kido.Skeleton("rigid")
    places = body.rest_positions + body.displacements
    rigid.add_body("box", inertia=body.core_inertia + body.skin.inertia_of(places))
    other = World()
    other.add_skeleton(rigid)
    for s in (body.skeleton, rigid):
        s.positions, s.velocities = POSE, TWIST
    world.step(200)
    other.step(200)
    np.testing.assert_allclose(body.skeleton.positions, rigid.positions, rtol=0, atol=1e-7)


def test_very_stiff_is_nearly_rigid() -> None:
    """Springs of 1e6 N/m at 1 ms: within the sag of the skin, g m / kv = 2e-7 m, and the method's order."""
    world, body = soft_box(kv=1e6, ke=1e6)
    rigid = kido.Skeleton("rigid")
    rigid.add_body("box", inertia=body.inertia)
    other = World()
    other.add_skeleton(rigid)
    for s in (body.skeleton, rigid):
        s.positions, s.velocities = POSE, TWIST
    world.step(500)
    other.step(500)
    np.testing.assert_allclose(body.skeleton.positions, rigid.positions, rtol=0, atol=2e-5)


def test_momentum_is_kept() -> None:
    """To rounding while the body does not turn; else the error is of the method's second order."""
    world, body = soft_box(gravity=0.0, kd=3.0)
    body.skeleton.velocities = [0, 0, 0, 1, 2, 3]
    body.displacement_rates = [1.0, 0.0, 2.0]
    before = momentum(body)
    world.step(500)
    np.testing.assert_allclose(momentum(body)[3:], before[3:], rtol=0, atol=1e-14)
    errors = []
    for h in (1e-3, 5e-4):
        world, body = soft_box(gravity=0.0, h=h)
        body.skeleton.velocities = TWIST
        disturb(body)
        before = momentum(body)
        world.step(int(0.2 / h))
        errors.append(np.abs(momentum(body) - before).max())
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.3)


def test_energy_is_kept_without_damping() -> None:
    """Springs at mid-step neither gain nor lose; those that damp themselves are stiff ones."""
    world, body = soft_box(gravity=0.0, kd=0.0, ke=0.0)
    body.displacements = [0.01, 0.02, 0.0]
    before = energy(body, 0.0)
    world.step(1000)
    assert energy(body, 0.0) == pytest.approx(before, rel=0.1)
    assert energy(body, 0.0) <= before


def test_free_flight_is_a_parabola() -> None:
    world, body = soft_box(kd=0.0)
    body.displacements = [0.0, 0.01, 0.02]
    body.skeleton.velocities = [0, 0, 0, 1.0, 0, 2.0]
    start, v = body.com, np.array(momentum(body)[3:]) / body.mass
    world.step(1000)
    np.testing.assert_allclose(body.com, start + v + [0, 0, -0.5 * GRAVITY], rtol=0, atol=1e-12)


def test_without_gravity_nothing_sags() -> None:
    world, body = soft_box()
    body.gravity = False
    world.step(100)
    np.testing.assert_allclose(body.displacements, 0.0, atol=1e-15)
    np.testing.assert_allclose(body.skeleton.positions, 0.0, atol=1e-14)


def test_freezing_keeps_momentum_and_freeing_changes_nothing() -> None:
    world, body = soft_box(gravity=0.0)
    body.skeleton.positions, body.skeleton.velocities = POSE, TWIST
    disturb(body)
    before = momentum(body)
    body.freeze([0, 1, 2, 7, 9])
    assert body.frozen.sum() == 5 and not body.displacement_rates[[0, 1, 2, 7, 9]].any()
    np.testing.assert_allclose(momentum(body), before, rtol=0, atol=1e-14)
    world.step(3)
    before = momentum(body)
    state = body.skin.state
    body.free([1, 2])
    np.testing.assert_array_equal(body.skin.state.velocities, state.velocities)
    body.freeze()
    np.testing.assert_allclose(momentum(body), before, rtol=0, atol=1e-14)
    places = body.displacements
    world.step(100)
    np.testing.assert_array_equal(body.displacements, places)


def test_a_chain_feels_its_soft_link() -> None:
    """A stiff soft pendulum swings as the rigid one does."""
    ends = []
    for soft in (False, True):
        skeleton = kido.Skeleton("pendulum")
        upper = skeleton.add_body("upper", kido.RevoluteJoint(axis=(0, 1, 0)), inertia=Inertia(1.0, (0, 0, -0.25)))
        place = np.eye(4)
        place[2, 3] = -0.5
        joint = kido.RevoluteJoint(axis=(0, 1, 0), transform_from_parent=place)
        shape = SoftMesh.box((0.1, 0.1, 0.4))
        lower = skeleton.add_soft_body("lower", shape, joint, upper, Inertia(0.5), total_mass=0.5, kv=1e5, kd=1.0)
        if not soft:
            lower.freeze()
        world = World()
        world.add_skeleton(skeleton)
        skeleton.positions = [0.5, 0.3]
        world.step(500)
        ends.append(skeleton.positions)
    assert 0.0 < np.abs(ends[0] - ends[1]).max() < 1e-4


# What it is --------------------------------------------------------------------------------------------------


def test_inertia_is_that_of_core_and_points() -> None:
    _, body = soft_box()
    total = body.core_inertia
    for m, x in zip(body.point_masses, body.rest_positions, strict=True):
        total = total + Inertia(m, x)
    assert body.mass == pytest.approx(1.5) and body.total_mass == pytest.approx(0.5)
    np.testing.assert_allclose(body.inertia.moment, total.moment, atol=1e-15)
    assert body.skeleton.mass == pytest.approx(1.5)


def test_neighbors_are_those_of_the_grid() -> None:
    _, body = soft_box()
    shape = body.skin.shape
    counts = [len(body.neighbors(k)) for k in range(body.num_points)]
    assert sum(counts) == 2 * len(shape.edges)
    assert set(counts) == {3, 4}  # corners; points within edges and faces
    np.testing.assert_allclose(np.ptp(body.rest_positions, axis=0), 0.2)


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        (SoftMesh.box((0.2, 0.3, 0.4), (2, 3, 5)), 0.024),
        (SoftMesh.sphere(0.1, 48, 48), 4.0 / 3.0 * np.pi * 1e-3),
        (SoftMesh.ellipsoid((0.1, 0.2, 0.3), 48, 48), 4.0 / 3.0 * np.pi * 6e-3),
        (SoftMesh.cylinder(0.1, 0.3, 48, 3, 2), np.pi * 3e-3),
    ],
)
def test_shells_are_closed_and_face_outwards(shape: SoftMesh, volume: float) -> None:
    """A closed surface with outward faces has its solid's volume, here within that of the facets."""
    assert shape.closed
    assert shape.volume == pytest.approx(volume, rel=0.012)
    assert len(shape.vertices) - 3 * len(shape.faces) // 2 + len(shape.faces) == 2  # Euler


def test_copies_are_independent_and_equal() -> None:
    world, body = soft_box()
    world.add_ground()
    body.skeleton.positions = [0.3, 0.2, 0.1, 0, 0, 0.3]
    body.freeze([3])
    touched = []
    world.add_step_callback(lambda w: touched.append(len(w.contacts)))
    world.step(150)
    twins = [world.clone(), pickle.loads(pickle.dumps(world)), copy.deepcopy(world)]
    state = world.snapshot()
    world.step(100)
    end = body.point_positions
    assert any(touched)
    for twin in twins:
        twin.step(100)
        np.testing.assert_array_equal(twin.skeletons[0].soft_bodies[0].point_positions, end)
    world.restore(state)
    world.step(100)
    np.testing.assert_array_equal(body.point_positions, end)


def test_state_of_a_skeleton_has_its_points() -> None:
    _, body = soft_box()
    disturb(body)
    body.freeze([5])
    saved = kido.SavedState.of(body.skeleton)
    text = saved.to_json()
    twin = copy.deepcopy(body.skeleton)
    twin.soft_bodies[0].displacements = [0.0, 0.0, 0.0]
    twin.soft_bodies[0].free()
    kido.SavedState.from_json(text).restore(twin)
    np.testing.assert_array_equal(twin.soft_bodies[0].displacements, body.displacements)
    assert twin.soft_bodies[0].frozen.sum() == 1


def test_moves_to_another_skeleton_with_its_points() -> None:
    world, body = soft_box()
    disturb(body)
    before = body.displacements
    other = kido.Skeleton("other")
    base = other.add_body("base", kido.WeldJoint())
    body.move_to(base, kido.WeldJoint())
    np.testing.assert_array_equal(body.displacements, before)
    world.add_skeleton(other)
    world.step(10)
    assert list(other.soft_bodies) == [body] and np.abs(body.displacements - before).max() > 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kv": -1.0}, "kv"),
        ({"ke": np.nan}, "ke"),
        ({"total_mass": 0.0}, "total_mass"),
        ({"automatic": -1.0}, "automatic"),
        ({"stiffness": 1.0}, "unexpected argument 'stiffness'"),
    ],
)
def test_wrong_options_change_nothing(options: dict[str, Any], message: str) -> None:
    skeleton = kido.Skeleton("s")
    with pytest.raises((kido.ModelError, kido.ArgumentError), match=message):
        skeleton.add_soft_body("box", SoftMesh.box((1, 1, 1)), **options)
    assert skeleton.num_bodies == 0


def test_wrong_points_are_refused() -> None:
    _, body = soft_box()
    for points in ([26], [-1], [0.5], "a"):
        with pytest.raises(kido.ModelError, match="points"):
            body.freeze(points)
    with pytest.raises(kido.StateError, match="displacements"):
        body.displacements = np.full((26, 3), np.nan)
    with pytest.raises(kido.ModelError, match="cannot be removed"):
        body.skin.remove()
    with pytest.raises(kido.ShapeError, match="radii"):
        SoftMesh.ellipsoid((1, 1, -1))
    with pytest.raises(kido.ShapeError, match="slices"):
        SoftMesh.sphere(1.0, slices=2)


def test_other_integrators_are_refused() -> None:
    world, _ = soft_box()
    world.step()
    with pytest.raises(kido.ModelError, match="MoreauMidpoint"):
        world.integrator = kido.integrators.RK4()
    world.step()
