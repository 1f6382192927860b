"""Contact events and queries: what begins, goes on and ends, and the forces between bodies."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido import ContactEventKind as Kind
from scenes import free, world

G = 9.81


def drop(**options) -> kido.World:
    """A ball that falls from 5 cm and bounces, beside a box at rest."""
    ball = free(kido.Sphere(0.1), 2.0, (0, 0, 0.15), restitution=0.5, name="ball")
    box = free(kido.Box((0.2,) * 3), 1.0, (1, 0, 0.1), name="box")
    return world(ball, box, **options)


def told(events) -> list[tuple[str, int, str]]:
    return [(e.kind.name, e.step, e.body_b.skeleton.name) for e in events]


def test_events_of_one_call_are_those_of_its_steps() -> None:
    """What a bouncing ball does in 400 steps at once, and in 400 steps one by one."""
    once, single = drop(), drop()
    once.collects_contact_events = single.collects_contact_events = True
    once.step(400)
    stepwise, impulse = [], np.zeros(3)
    for _ in range(400):
        single.step()
        stepwise += [e for e in single.contact_events if e.kind != Kind.PERSIST]
        box = [e for e in single.contact_events if e.body_b.skeleton.name == "box"]
        assert len(box) == 1
        impulse += box[0].impulse
    events = once.contact_events
    assert told([e for e in events if e.kind != Kind.PERSIST]) == told(stepwise)
    bounces = [e for e in events if e.body_b.skeleton.name == "ball" and e.kind == Kind.BEGIN]
    assert len(bounces) >= 2
    fall = np.sqrt(2 * 0.05 / G)
    assert bounces[0].step == pytest.approx(fall / 1e-3, abs=2)
    np.testing.assert_allclose(bounces[0].impulse, [0, 0, 2.0 * 1.5 * G * fall], rtol=1e-2, atol=1e-9)
    np.testing.assert_allclose(bounces[0].point, [0, 0, 0], atol=2e-3)
    np.testing.assert_allclose(bounces[0].normal, [0, 0, 1])
    np.testing.assert_allclose(impulse, [0, 0, 1.0 * G * 0.4], rtol=1e-6, atol=1e-6)
    once.step(100)
    box = [e for e in once.contact_events if e.body_b.skeleton.name == "box"]
    assert told(box) == [("PERSIST", 500, "box")]
    np.testing.assert_allclose(box[0].impulse, [0, 0, G * 0.1], rtol=1e-6, atol=1e-6)


def test_many_steps_overflow_no_log() -> None:
    """A stream of events: every begin has its end, whatever the sizes of arrays."""
    balls = [
        free(kido.Sphere(0.02), 1.0, (0.05 * i, 0.05 * j, 0.021), restitution=0.98, name="ball")
        for i in range(5)
        for j in range(5)
    ]
    w = world(*balls, gravity=(0, 0, -100.0))
    w.collects_contact_events = True
    for k, s in enumerate(w.skeletons[1:]):
        s.velocities = [0, 0, 0, 0, 0, 0.4 + 0.01 * k]
    w.step(2000)
    open_pairs: set = set()
    count = 0
    for e in w.contact_events:
        pair = e.shape_a, e.shape_b
        if e.kind == Kind.BEGIN:
            assert pair not in open_pairs
            open_pairs.add(pair)
            count += 1
        elif e.kind == Kind.END:
            open_pairs.remove(pair)
    assert count > 400  # twice as many events as the first log holds
    steps = [e.step for e in w.contact_events if e.kind != Kind.PERSIST]
    assert steps == sorted(steps)


def test_listeners_hear_events_and_can_leave() -> None:
    w = drop()
    heard: list = []
    remove = w.add_contact_listener(heard.append)
    w.step(200)
    assert tuple(heard) == w.contact_events and told(heard)[0] == ("BEGIN", 1, "box")
    remove()
    remove()
    w.step(10)
    assert len(w.contact_events) > 0 and len(heard) < 200 and heard != w.contact_events
    w.collects_contact_events = False
    with pytest.raises(kido.StateError, match="not collected"):
        _ = w.contact_events
    with pytest.raises(kido.ModelError, match="listener"):
        w.add_contact_listener(3)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="collects_contact_events"):
        w.collects_contact_events = 2  # type: ignore[assignment]


def test_sleepers_stay_in_touch() -> None:
    w = drop(sleeping=kido.Sleeping(time=0.05))
    w.collects_contact_events = True
    w.step(100)
    assert w.skeleton("box").is_asleep
    w.step(50)
    assert ("PERSIST", 150, "box") in told(w.contact_events)
    w.skeleton("box").velocities = [0, 0, 0, 0, 0, 1.0]
    w.step(5)
    assert ("END", 151, "box") in told(w.contact_events)


def test_events_go_on_after_a_snapshot() -> None:
    w = drop()
    w.collects_contact_events = True
    w.step(120)
    snapshot = w.snapshot()
    twin = w.clone()
    w.step(200)
    expected = told(w.contact_events)
    twin.step(200)
    assert told(twin.contact_events) == expected
    w.restore(snapshot)
    w.step(200)
    assert told(w.contact_events) == expected


def test_forces_between_bodies_and_on_one() -> None:
    a = free(kido.Box((0.2,) * 3), 1.0, (0, 0, 0.1), name="a")
    b = free(kido.Box((0.2,) * 3), 2.0, (0.02, 0, 0.3), name="b")
    w = world(a, b, restitution=0.0)
    w.step(100)
    lower, upper, ground = a.body(0), b.body(0), w.skeleton("ground").body(0)
    np.testing.assert_allclose(w.contact_force(lower, upper), [0, 0, 2 * G], rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(w.contact_force(upper, lower), [0, 0, -2 * G], rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(w.contact_force(ground, lower), [0, 0, 3 * G], rtol=1e-5, atol=1e-3)
    np.testing.assert_array_equal(w.contact_force(ground, upper), np.zeros(3))
    assert len(upper.contacts) == 4 and len(lower.contacts) == 8 == len(w.contacts)
    np.testing.assert_allclose(upper.contact_wrench, [0, 0, 0, 0, 0, 2 * G], rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(lower.contact_wrench, [0, 0, 0, 0, 0, G], rtol=1e-5, atol=1e-3)
    alone = free(kido.Sphere(0.1), 1.0, (0, 0, 0)).body(0)
    with pytest.raises(kido.ModelError, match="in no world"):
        _ = alone.contacts
    with pytest.raises(kido.ModelError, match="expected a body"):
        w.contact_force(alone, lower)


def test_a_push_is_an_impulse_now() -> None:
    """M dv = p at the centre of mass; off it the body turns too; a welded hinge takes what it must."""
    body = free(kido.Box((0.2, 0.3, 0.4)), 2.0, (1, 2, 3), rotation=(0.3, 0.2, 0.1), velocity=(1, 0, 0))
    body.body(0).push([0, 4.0, 0])
    np.testing.assert_allclose(body.body(0).spatial_velocity, [0, 0, 0, 1, 2, 0], atol=1e-14)
    momentum = body.body(0).spatial_velocity
    point = np.array([1.1, 2.2, 3.0])
    body.body(0).push([0, 0, 1.0], at=point)
    V = body.body(0).spatial_velocity
    np.testing.assert_allclose(V[3:] - momentum[3:], [0, 0, 0.5], atol=1e-14)
    R = body.body(0).world_transform[:3, :3]
    J = R @ body.body(0).inertia.moment @ R.T
    np.testing.assert_allclose(J @ V[:3], np.cross(point - [1, 2, 3], [0, 0, 1.0]), atol=1e-14)
    with pytest.raises(kido.ModelError, match="push: impulse"):
        body.body(0).push([1.0, np.nan, 0])
    body.mobile = False
    with pytest.raises(kido.ModelError, match="immobile"):
        body.body(0).push([1.0, 0, 0])


@pytest.mark.parametrize("chunks", [(100,), (1,) * 100, (7, 3, 60, 30)])
def test_a_push_for_a_while_has_its_impulse(chunks) -> None:
    """Force times duration, also where that is no whole number of steps, and whatever calls it takes."""
    body = free(kido.Sphere(0.1), 2.0, (0, 0, 0))
    w = world(body, ground=False, gravity=(0, 0, 0))
    w.push(body.body(0), [3.0, 0, 0], 0.0204)
    for k, n in enumerate(chunks):
        w.step(n)
        if k == 1:
            twin = w.clone()
            snapshot = w.snapshot()
    assert body.velocities[3] == pytest.approx(3.0 * 0.0204 / 2.0, rel=1e-12)
    assert not body.external_forces.any()
    if len(chunks) > 2:
        twin.step(100 - chunks[0] - chunks[1])
        np.testing.assert_array_equal(twin.skeletons[0].velocities, body.velocities)
        w.restore(snapshot)
        w.step(100 - chunks[0] - chunks[1])
        np.testing.assert_array_equal(twin.skeletons[0].velocities, body.velocities)
    for bad in (0.0, -1, np.inf, "x"):
        with pytest.raises(kido.ModelError, match="duration"):
            w.push(body.body(0), [1.0, 0, 0], bad)
    with pytest.raises(kido.ModelError, match="expected a body"):
        w.push(body, [1.0, 0, 0], 1.0)  # type: ignore[arg-type]


def test_events_switched_on_by_a_callback_number_steps_as_the_world_does() -> None:
    world = kido.World()
    world.add_ground()
    ball = kido.Skeleton("ball")
    ball.add_body("ball", kido.FreeJoint(), inertia=kido.Inertia.from_shape(kido.Sphere(0.1), mass=1.0)).add_shape(
        kido.Sphere(0.1)
    )
    world.add_skeleton(ball)
    ball.positions = [0, 0, 0, 0, 0, 0.2]
    world.step(30)
    told: list[kido.ContactEvent] = []
    touching: list[int] = []

    def look(w: kido.World) -> None:
        if not w.collects_contact_events:
            w.add_contact_listener(told.append)
        if w.contacts.forces.any():
            touching.append(w.num_steps)

    world.add_step_callback(look)
    world.step(200)
    assert [(event.kind, event.step) for event in told] == [(kido.ContactEventKind.BEGIN, touching[0])]


def test_a_push_goes_on_after_a_step_that_failed() -> None:
    """Impulse 1 N s in 10 steps of 1 ms; the third step is refused once by a user's function and then done."""
    calls = []

    class Once(kido.ContactSurfaceHandler):
        def contact(self, contact, surface):
            calls.append(contact)
            if len(calls) == 3:
                raise RuntimeError("not now")
            return surface

    world = kido.World(contact_surface_handler=Once())
    world.add_ground(friction=0.0)
    ball = kido.Skeleton("ball")
    ball.add_body("ball", kido.FreeJoint(), inertia=kido.Inertia.from_shape(kido.Sphere(0.1), mass=1.0)).add_shape(
        kido.Sphere(0.1)
    )
    world.add_skeleton(ball)
    ball.positions = [0, 0, 0, 0, 0, 0.1]
    world.push(ball.body(0), [100.0, 0, 0], 0.01)
    with pytest.raises(RuntimeError, match="not now"):
        world.step(20)
    world.step(20)
    assert world.num_steps > 20
    assert ball.body(0).linear_velocity()[0] == pytest.approx(1.0, abs=1e-9)
