"""The ankle strategy: its formula by dense algebra, what worlds make of it, persons that are pushed, and mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.control import AnkleStrategy, ComGoal, Contact, WholeBody, stable_pd
from kido.demos.balance import MASS, PUSHES, SECONDS, standing_world
from kido.errors import ModelError, NameLookupError

ANKLES = [f"{side}_ankle_{axis}" for side in ("left", "right") for axis in ("pitch", "roll")]
UPPER = list(range(6, 23))
KA, KB, KL = np.array([70.0, 30.0, 50.0, 20.0]), 9.0, 600.0
POINTS = {"left_foot": (0.05, 0.01, -0.07), "right_foot": (0.02, -0.01, -0.05)}


def law(s: kido.Skeleton, **changes) -> AnkleStrategy:
    feet = {s.body(name): point for name, point in POINTS.items()}
    options = {"ankle_kp": KA, "ankle_kd": KB, "upper": UPPER, "momentum_gain": KL, **changes}
    return AnkleStrategy(s, np.zeros(s.num_dofs), 300.0, 30.0, **{"feet": feet, "ankles": ANKLES, **options})


def moving(seed: int) -> kido.Skeleton:
    """Our humanoid in a random motion, near upright, in gravity of any direction."""
    rng, s = np.random.default_rng(seed), kido.load("humanoid")
    s.positions = np.clip(0.2 * rng.normal(size=s.num_dofs), s.position_lower_limits, s.position_upper_limits)
    s.velocities = rng.normal(size=s.num_dofs)
    s.gravity = rng.normal(size=3) * 5.0
    return s


def dense(s: kido.Skeleton, upper: list[int]) -> np.ndarray:
    """E^T (n x (ka d + kb d')) - kL A^+ L, from Jacobians and the pseudo-inverse."""
    n = -np.array(s.gravity) / np.linalg.norm(s.gravity)
    across = np.eye(3) - np.outer(n, n)
    u, tau = np.array(s.velocities), np.zeros(s.num_dofs)
    feet = [(s.body(name), np.array(p)) for name, p in POINTS.items()]
    places = [(b.world_transform @ [*p, 1.0])[:3] for b, p in feet]
    rates = [np.array(s.jacobian(b, p))[3:] @ u for b, p in feet]
    d = across @ (np.array(s.com) - np.mean(places, axis=0))
    rate = across @ (np.array(s.com_jacobian()) @ u - np.mean(rates, axis=0))
    for name, ka in zip(ANKLES, KA, strict=True):
        k = s.dof(name).index
        axis = np.array(s.jacobian(s.dof(name).joint.child))[:3, k]
        tau[k] += axis @ np.cross(n, ka * d + KB * rate)
    A = across @ np.array(s.centroidal_momentum_matrix)[:3]
    own = np.zeros_like(A)
    own[:, upper] = A[:, upper]
    return tau - KL * np.linalg.pinv(own, rcond=1e-6) @ (A @ u)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("upper", [UPPER, [6]])
def test_its_forces_are_those_of_dense_algebra(seed: int, upper: list[int]) -> None:
    """Beside stable PD, which has tests of its own. The law adds 1e-9 of its trace to A A^T, which one column needs."""
    s = moving(seed)
    s.velocities = s.velocities * 0.3
    c = law(s, upper=upper)
    loads = np.random.default_rng(seed).normal(size=s.num_dofs)
    pd = stable_pd(s, np.zeros(s.num_dofs), 300.0, 30.0, 1e-3, loads=loads)
    expected = dense(s, upper)
    assert np.abs(expected).max() > 10.0
    assert c.forces_at(1e-3, loads) - pd == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())
    assert not c.forces_at(1e-3, loads)[:6].any()


def test_beyond_its_reach_it_is_stable_pd() -> None:
    s = moving(3)
    feet = np.mean([(s.body(b).world_transform @ [*p, 1.0])[:3] for b, p in POINTS.items()], axis=0)
    n = np.array(s.gravity) / np.linalg.norm(s.gravity)
    way = s.com - feet
    d = float(np.linalg.norm(way - (way @ n) * n))
    pd = stable_pd(s, np.zeros(s.num_dofs), 300.0, 30.0, 1e-3)
    assert law(s, reach=0.999 * d).forces_at(1e-3).tolist() == pd.tolist()
    assert np.abs(law(s, reach=1.001 * d).forces_at(1e-3) - pd).max() > 1.0
    s.gravity = (0, 0, 0)  # no up, no balance
    pd = stable_pd(s, np.zeros(s.num_dofs), 300.0, 30.0, 1e-3)
    assert law(s).forces_at(1e-3).tolist() == pd.tolist()


def test_worlds_call_it_with_the_forces_of_the_step_before() -> None:
    world, person = standing_world()
    c = world.add_controller(person.ankle_strategy())
    world.step(50)
    expected = c.compute()
    assert np.abs(person.skeleton.constraint_forces).max() > 100.0
    world.step(1)
    assert c.forces.tolist() == expected.tolist()
    twin = world.clone()
    c.ankle_kp, c.ankle_kd, c.momentum_gain = 100.0, 5.0, 500.0
    assert (c.ankle_kp > 0).sum() == len(person.ankles) and c.momentum_gain == 500.0
    expected = c.compute()
    world.step(1)
    assert c.forces.tolist() == expected.tolist()
    own, other = twin.controllers[0], person.ankle_strategy()
    assert isinstance(own, AnkleStrategy) and own.ankle_kp.tolist() == other.ankle_kp.tolist()
    before = own.compute()
    twin.step(1)
    assert own.forces.tolist() == before.tolist()


def slip(person, start: np.ndarray) -> float:
    """Farthest way of a sole's middle over the ground [m]."""
    return float(np.linalg.norm((person.places() - start)[:, :2], axis=1).max())


def test_a_person_stands_for_a_minute_without_slipping() -> None:
    """60 s: soles stay within 0.05 mm (1e-6 mm was seen), and the centre of mass stays over them."""
    world, person = standing_world()
    world.add_controller(person.ankle_strategy())
    world.step(2000)
    start = person.places()
    for _ in range(60):
        world.step(1000)
        assert slip(person, start) < 5e-5
        assert np.linalg.norm((person.skeleton.com - person.middle())[:2]) < 0.02


@pytest.mark.parametrize("name", ["ankle_strategy", "whole_body"])
@pytest.mark.parametrize("key", PUSHES)
def test_the_tutorials_pushes_are_survived(name: str, key: str) -> None:
    """In proportion to mass: 6.6, -3.3 and +-16.5 N s on 47.9 kg."""
    world, person = standing_world()
    world.add_controller(getattr(person, name)())
    world.step(500)
    s, force = person.skeleton, PUSHES[key][1] * person.skeleton.mass / MASS
    com, start = np.array(s.com), person.places()
    world.push(person.chest, force, SECONDS, offset=person.chest.inertia.com)
    world.step(round(SECONDS / world.time_step))
    assert abs((np.array(s.com_velocity()) @ force) / np.linalg.norm(force)) > 0.005  # it was one
    world.step(4000)
    assert np.array(s.com) == pytest.approx(com, abs=0.02)
    assert np.linalg.norm(s.com_velocity()) < 0.05
    # Pushed to a side it lifts a foot and puts it down elsewhere: 18 mm by ankles, 4 mm by the program.
    assert slip(person, start) < (5e-5 if key in "12" else 0.03)


def test_without_it_the_person_falls_over() -> None:
    """By the same stable PD, of 400 N m/rad a joint, and nothing that knows of balance."""
    fallen = []
    for gain in (1.0, 0.0):
        world, person = standing_world()
        c = world.add_controller(person.ankle_strategy())
        c.ankle_kp, c.ankle_kd, c.momentum_gain = gain * c.ankle_kp, gain * c.ankle_kd, gain * c.momentum_gain
        world.step(200)
        world.push(person.chest, (0, 60.0, 0), SECONDS)
        world.step(10_000)
        fallen.append(person.skeleton.com[2] < 0.7)
    assert fallen == [False, True]


def test_contacts_of_one_foot_may_depend_on_each_other() -> None:
    """A sole as one contact or as two, of a body at rest: the same motion, and the same force of the ground."""
    _, person = standing_world()
    s = person.skeleton
    goals = [ComGoal(s.com + [0.05, -0.02, 0.01]), *person.whole_body().goals[1:]]
    c = WholeBody(s, goals, person.whole_body().contacts, regularization=1e-9)
    c.compute()
    a, total = c.accelerations, c.contact_forces.sum(axis=0)
    c.contacts = [Contact(c.body, points) for c in c.contacts for points in (c.points[:3], c.points[1:])]
    c.compute()
    assert c.contact_forces.shape == (12, 3)
    assert np.abs(a).max() > 0.5
    assert c.accelerations == pytest.approx(a, abs=1e-4 * np.abs(a).max())
    assert c.contact_forces.sum(axis=0) == pytest.approx(total, abs=1e-4 * total[2])


def test_mistakes() -> None:
    s, other = kido.load("humanoid"), kido.load("humanoid")
    for feet in ({}, [s.body("left_foot")], {other.body("left_foot"): (0, 0, 0)}, {"left_foot": (0, 0, 0)}):
        with pytest.raises(ModelError, match="controller 'AnkleStrategy': feet: expected"):
            law(s, feet=feet)
    with pytest.raises(ModelError, match="point of foot 'left_foot'"):
        law(s, feet={s.body("left_foot"): (0, np.nan, 0)})
    with pytest.raises(NameLookupError, match="left_ankle"):
        law(s, ankles=["left_ankle"])
    with pytest.raises(ModelError, match=r"upper: dof 'root_x' is none of those"):
        law(s, upper=["root_x"])
    for name, bad in [("ankle_kp", [1.0, 2.0]), ("ankle_kd", -1.0), ("ankle_kp", np.nan)]:
        with pytest.raises(ModelError, match=rf"{name}: expected finite numbers not below 0, one for each of 4 dofs"):
            law(s, **{name: bad})
    for bad in (-1.0, np.nan, np.inf, "much", None):
        with pytest.raises(ModelError, match=r"momentum_gain: expected a finite number not below 0"):
            law(s, momentum_gain=bad)
    for bad in (0.0, -1.0, np.nan, "far"):
        with pytest.raises(ModelError, match="reach"):
            law(s, reach=bad)
    c = law(s)
    with pytest.raises(ModelError, match="momentum_gain"):
        c.momentum_gain = -2.0
    with pytest.raises(ModelError, match="ankle_kp"):
        c.ankle_kp = [1.0]
    assert c.momentum_gain == KL and c.ankle_kp[s.dof(ANKLES[0]).index] == KA[0]
