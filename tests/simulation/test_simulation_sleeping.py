"""Sleep: who falls asleep and when, what wakes whom, and that nothing else is different."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kido
from scenes import free, world

G = 9.81
BOX = kido.Box((0.1,) * 3)


def cube(x: float, z: float, name: str, **options) -> kido.Skeleton:
    return free(BOX, 1.0, (x, 0, z), name=name, **options)


def towers(**options) -> kido.World:
    """Two towers of three cubes, and a ball aside."""
    stacks = [cube(x, 0.05 + 0.1 * k, f"{name}{k}") for name, x in (("a", 0.0), ("b", 1.0)) for k in range(3)]
    ball = free(kido.Sphere(0.05), 1.0, (3, 0, 0.05), name="ball")
    return world(*stacks, ball, restitution=0.0, sleeping=kido.Sleeping(time=0.1), **options)


def asleep(w: kido.World) -> set[str]:
    return {s.name for s in w.skeletons if s.is_asleep}


A, B = {"a0", "a1", "a2"}, {"b0", "b1", "b2"}


def rested() -> kido.World:
    w = towers()
    w.step(150)
    assert asleep(w) == A | B | {"ball"}
    return w


def test_towers_at_rest_fall_asleep_and_stay_readable() -> None:
    w, exact = towers(), towers()
    exact.sleeping = None
    assert exact.sleeping is None and w.sleeping == kido.Sleeping(1e-3, 0.1)
    w.step(99)
    assert not asleep(w)
    w.step(400)
    exact.step(499)
    assert asleep(w) == A | B | {"ball"} and not asleep(exact)
    for s, t in zip(w.skeletons[1:], exact.skeletons[1:], strict=True):
        np.testing.assert_array_equal(s.velocities, np.zeros(6))
        np.testing.assert_allclose(s.positions, t.positions, atol=1e-6)
        assert w.constraint_forces(s)[5] == pytest.approx(G, rel=1e-2)
    assert len(w.contacts) == w.report.contacts == len(exact.contacts) == 25
    a0, ground = w.skeleton("a0").body(0), w.skeleton("ground").body(0)
    assert w.contact_force(ground, a0)[2] == pytest.approx(3 * G, rel=1e-3)
    assert a0.contact_wrench[5] == pytest.approx(G, rel=1e-2)
    assert w.time == pytest.approx(0.499) and w.num_steps == 499
    assert w.report.iterations == 0 and w.report.converged
    assert w.report.max_penetration == max(0.0, -w.contacts.gaps.min())


def test_a_tower_wakes_as_one_when_something_touches_it() -> None:
    w = rested()
    ball = w.skeleton("ball")
    ball.velocities = [0, 0, 0, -4.0, 0, 1.0]
    assert asleep(w) == A | B
    while ball.positions[3] > 1.14:
        w.step(1)
        assert asleep(w) == A | B
    w.step(40)
    assert asleep(w) == A
    assert w.skeleton("b0").positions[3] + w.skeleton("b1").positions[3] < 2.0


def test_an_impact_on_a_sleeper_is_that_on_one_awake() -> None:
    """Waking takes the step back: the momentum of the impact is as large as it is without sleep, bit for bit."""

    def struck(sleeps: bool) -> tuple[np.ndarray, np.ndarray]:
        w = world(
            free(kido.Sphere(0.1), 2.0, (0, 0, 0), name="target"),
            free(kido.Sphere(0.1), 1.0, (1.0, 0.03, 0), velocity=(-2.0, 0, 0), restitution=0.8, name="ball"),
            ground=False,
            gravity=(0, 0, 0),
            sleeping=kido.Sleeping(time=0.05) if sleeps else False,
        )
        w.skeleton("target").body(0).shapes[0].restitution = 1.0
        w.step(300)
        assert asleep(w) == ({"target"} if sleeps else set())
        w.step(300)
        return w.skeleton("target").velocities, w.skeleton("ball").positions

    for one, two in zip(struck(True), struck(False), strict=True):
        np.testing.assert_array_equal(one, two)
        assert np.linalg.norm(one) > 0.3


WAYS = {
    "positions": (lambda s: setattr(s, "positions", s.positions + [0, 0, 0, 0.001, 0, 0]), A),
    "velocities": (lambda s: setattr(s, "velocities", [0, 0, 0, 0.01, 0, 0]), A),
    "forces": (lambda s: setattr(s, "forces", [0, 0, 0, 0.1, 0, 0]), A),
    "external": (lambda s: s.body(0).add_external_force([0.1, 0, 0]), A),
    "push": (lambda s: s.body(0).push([0.1, 0, 0]), A),
    "push for a while": (lambda s: s.host.push(s.body(0), [0.1, 0, 0], 0.01), A),
    "wake": (lambda s: s.wake(), A),
    "can_sleep": (lambda s: setattr(s, "can_sleep", False), A),
    "mass": (lambda s: setattr(s.body(0), "inertia", kido.Inertia.from_shape(BOX, mass=1.1)), A | B | {"ball"}),
    "gravity": (lambda s: setattr(s.host, "gravity", (0, 0.1, -9.8)), A | B | {"ball"}),
    "support": (lambda s: s.host.remove_skeleton("a0"), A | B | {"ball"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_wakes(way: str) -> None:
    w = rested()
    disturb, woken = WAYS[way]
    w.step(10)
    disturb(w.skeleton("a1"))
    w.step(1, reset_command=False)
    assert asleep(w) == (A | B | {"ball"}) - woken
    before = w.skeleton("a2").positions
    w.step(500)
    if way == "can_sleep":
        assert asleep(w) == B | {"ball"}
    elif way == "support":
        assert w.skeleton("a2").positions[5] < before[5] - 0.05 and asleep(w) == (A - {"a0"}) | B | {"ball"}
    elif way not in ("forces", "external", "gravity"):
        assert asleep(w) == A | B | {"ball"}


def test_an_immobile_support_that_is_moved_wakes_all() -> None:
    shelf = free(kido.Box((1, 1, 0.1)), 1.0, (0, 0, 1.0), name="shelf")
    shelf.mobile = False
    w = world(shelf, cube(0, 1.1, "a"), sleeping=kido.Sleeping(time=0.1), restitution=0.0)
    w.step(150)
    assert asleep(w) == {"a"}
    shelf.positions = [0, 0, 0, 5.0, 0, 0]
    w.step(100)
    assert w.skeleton("a").positions[5] < 1.08


def test_a_kinematic_support_that_starts_wakes_its_load() -> None:
    lift = free(kido.Box((1, 1, 0.1)), 1.0, (0, 0, 1.0), name="lift")
    lift.kinematic = True
    w = world(lift, cube(0, 1.1, "a"), cube(0, 1.2, "b"), sleeping=kido.Sleeping(time=0.1), restitution=0.0)
    w.step(150)
    assert asleep(w) == {"a", "b", "lift"}
    lift.velocities = [0, 0, 0, 0.1, 0, -0.2]
    w.step(500)
    assert not asleep(w)
    np.testing.assert_allclose(w.skeleton("b").velocities, [0, 0, 0, 0.1, 0, -0.2], atol=1e-4)
    lift.velocities = np.zeros(6)
    w.step(300)
    assert asleep(w) == {"a", "b", "lift"}
    assert w.skeleton("b").positions[5] == pytest.approx(1.1, abs=1e-3)


def test_a_held_command_lets_a_robot_sleep_and_a_new_one_wakes_it() -> None:
    arm = kido.Skeleton("arm")
    arm.add_body("arm", kido.RevoluteJoint("hinge", axis=(0, 1, 0)), inertia=kido.Inertia.from_diagonal(1, [0.1] * 3))
    arm.joint("hinge").damping = 5.0
    w = world(arm, ground=False, sleeping=kido.Sleeping(time=0.1))
    for _ in range(10):
        arm.forces = [0.0]
        w.step(50)
    assert arm.is_asleep
    arm.forces = [0.5]
    w.step(50)
    assert not arm.is_asleep and arm.velocities[0] > 0.05
    arm.forces = [0.5]
    assert not arm.is_asleep


def test_nothing_is_different_without_rest() -> None:
    """Where nothing is quiet for long, a world that lets sleep is the same to the bit."""

    def run(sleeping: bool) -> np.ndarray:
        bodies = [cube(0.02 * k, 0.2 + 0.15 * k, f"c{k}", rotation=(0.1 * k, 0.3, 0)) for k in range(4)]
        w = world(*bodies, restitution=0.0, sleeping=sleeping)
        w.step(450)
        return np.concatenate([s.positions for s in w.skeletons])

    np.testing.assert_array_equal(run(True), run(False))


def test_sleep_goes_with_snapshots_copies_and_pickles() -> None:
    w = rested()
    w.skeleton("ball").velocities = [0, 0, 0, -6.0, 0, 1.0]
    w.step(50)
    assert asleep(w) == A | B
    snapshot = w.snapshot()
    twins = [w.clone(), pickle.loads(pickle.dumps(w)), towers()]
    twins[2].restore(pickle.loads(pickle.dumps(snapshot)))
    for twin in twins:
        assert asleep(twin) == A | B and len(twin.contacts) == len(w.contacts) == 24
    w.step(800)
    again = towers()
    again.step(7)
    again.restore(snapshot)
    for twin in (*twins, again):
        twin.step(800)
        assert asleep(twin) == asleep(w)
        for s, t in zip(w.skeletons, twin.skeletons, strict=True):
            np.testing.assert_array_equal(s.positions, t.positions)
            np.testing.assert_array_equal(s.velocities, t.velocities)


def test_switched_off_all_are_awake() -> None:
    w = rested()
    w.sleeping = False
    assert not asleep(w)
    w.step(200)
    assert not asleep(w) and len(w.contacts) == 25
    w.sleeping = True
    w.step(600)
    assert asleep(w) == A | B | {"ball"}
    w.integrator = kido.integrators.RK4()
    assert not asleep(w)


def test_rolling_and_turning_count_by_their_speed() -> None:
    """A wheel turning in place is quiet when its rim's radius of gyration is slower than the threshold."""
    wheel = free(kido.Sphere(0.5), 1.0, (0, 0, 0), angular_velocity=(0, 0, 4e-3), name="wheel")
    w = world(wheel, ground=False, gravity=(0, 0, 0), sleeping=kido.Sleeping(speed=1e-3, time=0.1))
    w.step(200)
    radius = np.sqrt(0.4) * 0.5
    assert 4e-3 * radius > 1e-3 and not wheel.is_asleep
    wheel.velocities = [0, 0, 3e-3, 0, 0, 0]
    w.step(200)
    assert wheel.is_asleep


def test_bad_settings_are_refused() -> None:
    for bad in (1, "yes", 0.5, (1, 2)):
        with pytest.raises(kido.ModelError, match="sleeping: expected True, False"):
            kido.World(sleeping=bad)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="sleeping: speed"):
        kido.Sleeping(speed=-1.0)
    with pytest.raises(kido.ModelError, match="sleeping: time"):
        kido.Sleeping(time=float("nan"))
    s = free(BOX, 1.0, (0, 0, 0))
    with pytest.raises(kido.ModelError, match="can_sleep"):
        s.can_sleep = 3  # type: ignore[assignment]
    assert not s.is_asleep
    s.wake()


def test_threads_change_no_bit_of_who_sleeps_and_wakes() -> None:
    one, two = rested(), rested()
    two.threads = 2
    for w in (one, two):
        w.skeleton("ball").velocities = [0, 0, 0, -6.0, 0, 1.0]
        w.step(700)
    assert asleep(one) == asleep(two)
    for s, t in zip(one.skeletons, two.skeletons, strict=True):
        np.testing.assert_array_equal(s.positions, t.positions)
