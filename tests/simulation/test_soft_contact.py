"""Soft bodies in contact: weight, falls, friction, shapes, other soft bodies, stiffness over time steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_soft_bodies import GRAVITY, energy, momentum, soft_box

import kido
from kido import Inertia, SoftBodyNode, SoftMesh, World


def contact_force(world: World, body: SoftBodyNode) -> np.ndarray:
    """Sum of the contact forces on a soft body [N]."""
    total = np.zeros(3)
    for contact in world.contacts:
        if contact.body_a is body or contact.body_b is body:
            total += contact.force if contact.body_b is body else -contact.force
    return total


def pair_of_boxes(world: World, aside: float = 0.0, spin: float = 0.0) -> list[SoftBodyNode]:
    """Two soft boxes that meet head on; the second `aside` [m], both turning by `spin` [rad/s] about two axes."""
    boxes = []
    for k, (x, v) in enumerate([(-0.15, 1.0), (0.15, -0.5)]):
        s = kido.Skeleton(f"s{k}")
        boxes.append(
            s.add_soft_body(
                "box", SoftMesh.box((0.2, 0.2, 0.2)), inertia=Inertia.from_diagonal(1.0 + k, [0.01] * 3),
                total_mass=0.5, kv=2000.0, ke=20.0, kd=1.0,
            )
        )  # fmt: skip
        world.add_skeleton(s)
        s.positions = [0, 0, 0, x, k * aside, 0.3 * k * aside]
        s.velocities = [spin * (1 - 2 * k), spin, 0, v, 0, 0]
    return boxes


def test_a_soft_box_bears_its_weight() -> None:
    """At rest the contacts give m g; springs at the bottom are pressed so that they carry core and skin above them."""
    world, body = soft_box(kd=5.0)
    world.add_ground()
    body.skeleton.positions = [0, 0, 0, 0, 0, 0.1]
    world.step(3000)
    # The solver's tolerance is 1e-6 of the largest impulse.
    np.testing.assert_allclose(contact_force(world, body), [0, 0, body.mass * GRAVITY], atol=5e-5)
    assert abs(body.spatial_velocity).max() < 1e-7 and abs(body.displacement_rates).max() < 1e-7
    assert body.point_positions[:, 2].min() > -2e-6
    # All springs together carry the core: those at the bottom are pressed, those that hang on it are stretched.
    assert body.kv * body.displacements[:, 2].sum() == pytest.approx(body.core_inertia.mass * GRAVITY, rel=1e-5)
    impulses = body.contact_impulses
    np.testing.assert_allclose(impulses.sum(axis=0) / 1e-3, [0, 0, body.mass * GRAVITY], atol=5e-5)


@pytest.mark.parametrize("ke", [0.0, 50.0])
def test_a_fall_never_gains_energy(ke: float) -> None:
    world, body = soft_box(ke=ke)
    world.add_ground()
    body.skeleton.positions = [0.3, 0.2, 0.1, 0, 0, 0.4]
    start = last = energy(body)
    for _ in range(100):
        world.step(10)
        now = energy(body)
        assert now < start + 1e-9
        last = now
    assert last < 0.8 * start


def test_friction_stops_a_sliding_box() -> None:
    """It slides v^2 / (2 mu g): friction on points is Coulomb's. The tilt of the soft box changes it little."""
    world, body = soft_box(kv=2e4, ke=0.0, kd=2.0, friction=0.5)
    world.add_ground()
    body.skeleton.positions = [0, 0, 0, 0, 0, 0.0999]
    world.step(200)
    start = body.com[0]
    body.skeleton.velocities = [0, 0, 0, 1.0, 0, 0]
    world.step(600)
    assert body.com[0] - start == pytest.approx(1.0 / (2 * 0.5 * GRAVITY), rel=0.02)


@pytest.mark.parametrize(
    "shape", [kido.Sphere(0.05), kido.Capsule(0.05, 0.1), kido.Box((0.08, 0.08, 0.1)), kido.Cylinder(0.05, 0.1)]
)
def test_shapes_rest_on_a_soft_surface_between_its_points(shape: Any) -> None:
    """A soft slab on the ground with points 0.2 m apart carries what is smaller, and gives way under it."""
    slab = kido.Skeleton("slab")
    mesh = SoftMesh.box((0.8, 0.8, 0.2), (5, 5, 2))
    body = slab.add_soft_body("slab", mesh, kido.WeldJoint(), total_mass=5.0, kv=200.0, ke=100.0, kd=5.0)
    ball = kido.Skeleton("ball")
    other = ball.add_body("ball", inertia=Inertia.from_shape(shape, mass=1.0))
    other.add_shape(shape)
    world = World()
    world.add_skeleton(slab)
    world.add_skeleton(ball)
    ball.positions = [0, 0, 0, 0.11, 0.07, 0.18]
    world.step(2500)
    height = ball.positions[5]
    assert np.isfinite(ball.positions).all()
    assert -0.1 < height < 0.15  # sunk in, not through
    assert body.displacements[:, 2].min() < -0.01
    np.testing.assert_allclose(contact_force(world, body), [0, 0, -GRAVITY], atol=0.3)


def test_soft_on_soft() -> None:
    """A soft ball stays on a soft slab; momentum of an impact in free space is kept to rounding."""
    world = World()
    world.add_ground()
    lower, upper = kido.Skeleton("lower"), kido.Skeleton("upper")
    a = lower.add_soft_body(
        "lower", SoftMesh.box((0.4, 0.4, 0.1), (5, 5, 2)), inertia=Inertia.from_diagonal(1.0, [0.02, 0.02, 0.03]),
        total_mass=1.0, kv=1000.0, kd=2.0,
    )  # fmt: skip
    b = upper.add_soft_body(
        "upper", SoftMesh.sphere(0.08), inertia=Inertia.from_diagonal(0.3, [1e-3] * 3), total_mass=0.2, kv=300.0, kd=1.0
    )
    for s in (lower, upper):
        world.add_skeleton(s)
    lower.positions = [0, 0, 0, 0, 0, 0.051]
    upper.positions = [0, 0, 0, 0.02, 0.01, 0.2]
    world.step(500)
    forces = []
    for _ in range(500):
        world.step()
        assert 0.15 < b.com[2] < 0.2
        forces.append(contact_force(world, b)[2])
    assert np.mean(forces) == pytest.approx(b.mass * GRAVITY, rel=0.1)  # it still swings on its springs
    assert a.com[2] == pytest.approx(0.05, abs=2e-3)


@pytest.mark.parametrize("h", [1e-3, 2.5e-4])
@pytest.mark.parametrize(("aside", "spin"), [(0.0, 0.0), (0.05, 0.0), (0.05, 3.0)])
def test_face_on_face_gains_no_energy(h: float, aside: float, spin: float) -> None:
    """Where points lie on points and edges on edges, too: side faces in one plane do not touch each other."""
    world = World(gravity=(0, 0, 0), time_step=h)
    boxes = pair_of_boxes(world, aside, spin)
    start = sum(energy(b, 0.0) for b in boxes)
    touched = 0
    for _ in range(int(0.12 / h)):
        world.step()
        touched += len(world.contacts) > 0
        assert sum(energy(b, 0.0) for b in boxes) < start + 1e-9
        assert all(c.gap > -2e-3 for c in world.contacts)
    assert touched * h > 0.02
    assert sum(energy(b, 0.0) for b in boxes) < 0.9 * start


def test_impacts_keep_momentum() -> None:
    """Contacts are internal forces: linear momentum is kept to rounding, however often they come and go, and turning.

    So is that about each centre of mass; of the whole, r x p is left, of second order in h.
    """
    errors = []
    for h in (1e-3, 5e-4):
        world = World(gravity=(0, 0, 0), time_step=h)
        boxes = pair_of_boxes(world, 0.05, 3.0)
        before = sum(momentum(b) for b in boxes)
        touched, worst = 0, 0.0
        for _ in range(int(0.12 / h)):
            world.step()
            touched += len(world.contacts) > 0
            now = sum(momentum(b) for b in boxes)
            np.testing.assert_allclose(now[3:], before[3:], rtol=0, atol=1e-13)
            worst = max(worst, np.abs(now[:3] - before[:3]).max())
        assert touched * h > 0.04
        assert momentum(boxes[0])[3] < 0.8  # it gave some away
        errors.append(worst)
    assert errors[0] < 5e-6
    assert errors[1] < 0.4 * errors[0]


def test_forces_on_coordinates_are_those_of_all_contacts() -> None:
    """`constraint_forces` of a free body: the sum of the contact forces, on core and skin together."""
    world, body = soft_box(kd=5.0)
    world.add_ground()
    body.skeleton.positions = [0, 0, 0, 0, 0, 0.1]
    world.step(500)
    force = body.skeleton.constraint_forces[3:]
    np.testing.assert_allclose(force, contact_force(world, body), atol=1e-8)  # rounding, on a change of 15 N


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("stiffness", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("ke", [0.0, 1.0])
def test_stable_for_all_stiffness_and_steps(h: float, stiffness: float, ke: float) -> None:
    """A fall on the ground, stretched over 0.3 s: finite, and never more energy than at the start.

    The bound is in terms of the energy of the fall. Sagging of skins softer than gravity is in it.
    """
    world, body = soft_box(h=h, kv=stiffness, ke=ke * stiffness, kd=0.0)
    world.add_ground()
    body.skeleton.positions = [0.3, 0.2, 0.1, 0, 0, 0.17]
    start = energy(body)
    for _ in range(20):
        world.step(max(1, round(0.3 / h / 20)))
        assert energy(body) < start + 1e-6
    assert np.isfinite(body.point_positions).all()


def test_automatic_mode_frees_what_is_near_a_contact() -> None:
    """In flight all points freeze once they are calm; on the ground those within the radius of a contact are free."""
    world, body = soft_box(automatic=0.12, kd=5.0, gravity=GRAVITY)
    world.add_ground()
    body.skeleton.positions = [0, 0, 0, 0, 0, 0.3]
    world.step(50)
    assert body.frozen.all()
    world.step(1500)
    top, bottom = body.rest_positions[:, 2] > 0.09, body.rest_positions[:, 2] < -0.09
    assert body.frozen[top].all() and not body.frozen[bottom].any()
    np.testing.assert_allclose(contact_force(world, body), [0, 0, body.mass * GRAVITY], atol=1e-3)
    body.automatic = None
    body.free()
    world.step(10)
    assert not body.frozen.any()


def test_frozen_points_touch_as_a_rigid_box_does() -> None:
    world, body = soft_box()
    world.add_ground()
    body.freeze()
    body.skeleton.positions = [0, 0, 0, 0, 0, 0.2]
    world.step(1000)
    assert body.com[2] == pytest.approx(0.1, abs=2e-6)
    np.testing.assert_allclose(contact_force(world, body), [0, 0, body.mass * GRAVITY], atol=1e-4)


def test_runs_are_the_same_to_the_bit() -> None:
    ends = []
    for _ in range(2):
        world, body = soft_box()
        world.add_ground()
        body.skeleton.positions = [0.3, 0.2, 0.1, 0, 0, 0.2]
        world.step(400)
        ends.append(body.point_positions)
    np.testing.assert_array_equal(*ends)


def test_a_handler_that_fails_leaves_soft_bodies_as_they_were() -> None:
    calls = []

    class Late(kido.ContactSurfaceHandler):
        def contact(self, contact, surface):
            calls.append(contact)
            if len(calls) > 30:
                raise RuntimeError("not now")
            return surface

    world = kido.World(contact_surface_handler=Late())
    boxes = pair_of_boxes(world)
    with pytest.raises(RuntimeError, match="not now"):
        for _ in range(400):
            before = [np.concatenate([b.skin.q, b.skin.qd]) for b in boxes]
            world.step()
    assert calls
    for b, values in zip(boxes, before, strict=True):
        np.testing.assert_array_equal(np.concatenate([b.skin.q, b.skin.qd]), values)
