"""Tanks: slosh by integrals over the mode of potential flow, frequencies in a world, mass that leaves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from device_bench import give
from scipy.integrate import quad
from scipy.special import j1, jnp_zeros

import kido
from kido.devices import SloshTank, Thruster, slosh
from kido.systems import BodyPort, Checkpoint, System

G, RHO = 9.81, 1000.0
XI = jnp_zeros(1, 1)[0]


def by_potential(R: float, h: float) -> tuple[float, float, float]:
    """m_1, w^2 and height of the hinge from the mode phi = J_1(k r) cos(th) cosh(k z): integrals of its pressure.

    Momentum and energy of the mode give m_1 = rho k tanh(k h) (int x psi dS)^2 / int psi^2 dS, over the surface. The
    moment about the bottom by the force, of walls and bottom, is where the force of a pendulum acts: at its hinge.
    """
    k = XI / R
    x_psi = np.pi * quad(lambda r: r * r * j1(k * r), 0.0, R)[0]
    psi_2 = np.pi * quad(lambda r: r * j1(k * r) ** 2, 0.0, R)[0]
    mass = RHO * k * np.tanh(k * h) * x_psi**2 / psi_2
    walls = [np.pi * R * j1(XI) * quad(f, 0.0, h)[0] for f in (lambda z: np.cosh(k * z), lambda z: z * np.cosh(k * z))]
    bottom = np.pi * quad(lambda r: r * r * j1(k * r), 0.0, R)[0]
    return mass, G * k * np.tanh(k * h), (walls[1] + bottom) / walls[0]


@pytest.mark.parametrize("depth", [0.1, 0.6, 1.0, 3.0])
def test_slosh_is_the_first_mode_of_potential_flow(depth) -> None:
    R = 0.7
    h, m = depth * R, RHO * np.pi * R**2 * depth * R
    found = slosh(R, h, m)
    mass, w2, hinge = by_potential(R, h)
    assert found.mass == pytest.approx(mass, rel=1e-9)
    assert found.frequency(G) == pytest.approx(np.sqrt(w2), rel=1e-12)
    assert found.height + found.length == pytest.approx(hinge, rel=1e-9)
    # The whole mass, and its moment about the bottom; the rest has a mass and an inertia.
    assert found.mass + found.fixed_mass == pytest.approx(m, rel=1e-12)
    assert found.mass * found.height + found.fixed_mass * found.fixed_height == pytest.approx(m * h / 2, rel=1e-12)
    assert found.fixed_mass > 0.0 and found.fixed_moment > 0.0


def test_slosh_in_the_words_of_nasa() -> None:
    """SP-106: m_1 = m d / (4.4 h) tanh(3.68 h / d), with constants of two digits and a half."""
    found = slosh(1.0, 1.5, 10.0)
    assert found.mass == pytest.approx(10.0 * 2.0 / (4.4 * 1.5) * np.tanh(3.68 * 1.5 / 2.0), rel=5e-3)


def test_a_tilted_surface_moves_the_centre_of_mass() -> None:
    """R^2 / (4 h) a / g at rest; the first mode has 98.7 % of it: 8 / (xi^2 (xi^2 - 1))."""
    R, h, a = 0.5, 0.9, 0.3
    found = slosh(R, h, 7.0)
    shift = found.mass / 7.0 * a / found.frequency(G) ** 2
    assert shift == pytest.approx(R**2 / (4.0 * h) * a / G * 8.0 / (XI**2 * (XI**2 - 1.0)), rel=1e-12)
    assert 0.98 < shift / (R**2 / (4.0 * h) * a / G) < 1.0


def tanked(carrier: kido.Joint, springs: bool, mass: float = 60.0, **values) -> tuple[System, SloshTank]:
    world = kido.World(time_step=1e-3, gravity=(0, 0, -G))
    rocket = kido.Skeleton("rocket")
    body = rocket.add_body("body", carrier, inertia=kido.Inertia.from_diagonal(30.0, (5.0, 5.0, 1.0)))
    tank = SloshTank(body, 0.25, mass, springs=springs, **{"damping_ratio": 0.0, **values})
    world.add_skeleton(rocket)
    system = System(world=world)
    system.add(tank)
    return system, tank


def frequency(system: System, read, time: float) -> float:
    """Angular frequency of a swing about 0, by its passages downwards."""
    h = system.world.time_step
    passed, before = [], read()
    for k in range(round(time / h)):
        system.run(h)
        now = read()
        if before > 0.0 >= now:
            passed.append((k + before / (before - now)) * h)
        before = now
    return 2.0 * np.pi / np.diff(passed).mean()


@pytest.mark.parametrize("springs", [False, True])
def test_free_slosh_in_a_fixed_tank(springs) -> None:
    """w^2 = g (xi / R) tanh(xi h / R): swings of 0.01 R, midpoint rule at w h = 0.008: 1e-5."""
    system, tank = tanked(kido.WeldJoint("held"), springs)
    dof = tank.swinging.skeleton.dofs[-1]
    dof.position = 0.01 * 0.25
    h = 60.0 / (RHO * np.pi * 0.25**2)
    w = np.sqrt(G * XI / 0.25 * np.tanh(XI * h / 0.25))
    assert frequency(system, lambda: dof.position, 2.5) == pytest.approx(w, rel=2e-5)
    assert tank.frequency.value == pytest.approx(w, rel=1e-9)
    assert tank.level.value == pytest.approx(h)


@pytest.mark.parametrize("springs", [False, True])
def test_slosh_shakes_what_carries_it(springs) -> None:
    """A carrier that slides without friction: w^2 = w_1^2 (1 + m_1 / (M + m_0)), and a centre of mass at rest."""
    system, tank = tanked(kido.PrismaticJoint("slide", (0, 1, 0)), springs)
    skeleton = tank.swinging.skeleton
    dof = tank.swinging.skeleton.dofs[-1] if springs else tank.swinging.skeleton.dofs[-2]
    dof.position = 0.01 * 0.25
    system.run(0.0)
    before = skeleton.com
    m1, w1 = tank.slosh_mass.value, tank.frequency.value
    found = frequency(system, lambda: dof.position, 2.5)
    assert found == pytest.approx(w1 * np.sqrt(1.0 + m1 / (90.0 - m1)), rel=2e-5)
    assert skeleton.com[1] == pytest.approx(before[1], abs=1e-9)


def test_slosh_dies_away_as_its_damping_says() -> None:
    """exp(-zeta w t) (cos + zeta sin): joints' damping is of first order, zeta w h of the amplitude."""
    system, tank = tanked(kido.WeldJoint("held"), False, damping_ratio=0.02)
    dof = tank.swinging.skeleton.dofs[-1]
    dof.position = 1e-3
    system.run(0.0)
    w = tank.frequency.value
    zeta, damped = 0.02, w * np.sqrt(1.0 - 0.02**2)
    system.run(2.0)
    expected = 1e-3 * np.exp(-zeta * w * 2.0) * (np.cos(damped * 2.0) + zeta * w / damped * np.sin(damped * 2.0))
    assert dof.position == pytest.approx(expected, abs=2e-6)


def test_a_rocket_that_burns_its_tank() -> None:
    """dv = I_sp g_0 ln(m / m') without gravity (Tsiolkovsky), as a sum over ticks: each has the mass of its start."""
    world = kido.World(time_step=1e-3, gravity=(0, 0, 0))
    rocket = kido.Skeleton("rocket")
    body = rocket.add_body("body", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(30.0, (5.0, 5.0, 1.0)))
    system = System(world=world)
    world.add_skeleton(rocket)
    tank = system.add(SloshTank(body, 0.25, 60.0, mount=[0, 0, -0.3], rate=20))
    motor, port = system.add(Thruster(thrust=9000.0, specific_impulse=200.0, rate=20)), system.add(BodyPort(body))
    give(system, motor.command, 1.0)
    system.connect(motor.flow, tank.flow)
    system.connect(motor.force, port.force)
    system.connect(port.rotation, motor.rotation)
    frequencies = []
    for _ in range(3):
        system.run(3.0)
        frequencies.append(tank.frequency.value)
    flow = 9000.0 / (200.0 * 9.80665)
    left = 60.0 - 9.0 * flow
    assert tank.mass.value == pytest.approx(left, rel=1e-9)
    assert rocket.mass == pytest.approx(30.0 + left, rel=1e-9)
    assert tank.level.value == pytest.approx(left / (RHO * np.pi * 0.25**2), rel=1e-9)
    by_ticks = (9000.0 * 0.05 / (90.0 - 0.05 * flow * np.arange(180))).sum()
    assert body.linear_velocity()[2] == pytest.approx(by_ticks, rel=1e-9)
    assert by_ticks == pytest.approx(200.0 * 9.80665 * np.log(90.0 / (90.0 - 9.0 * flow)), rel=0.05 * flow / 48.0)
    assert frequencies[0] > frequencies[1] > frequencies[2]
    system.run(5.0)  # dry
    assert tank.mass.value == 0.0
    assert rocket.mass == pytest.approx(30.0, rel=1e-5)


@pytest.mark.parametrize("springs", [False, True], ids=["pendulum", "springs"])
def test_a_checkpoint_has_the_level_and_with_it_inertias(springs: bool, tmp_path: Path) -> None:
    """A rocket between two ticks, by a file: in a new system, and in the same one with inertias of later."""

    def made() -> tuple[System, SloshTank, kido.Skeleton]:
        world = kido.World(time_step=1e-3, gravity=(0, 0, 0))
        rocket = kido.Skeleton("rocket")
        body = rocket.add_body("body", kido.FreeJoint(), inertia=kido.Inertia.from_diagonal(30.0, (5.0, 5.0, 1.0)))
        world.add_skeleton(rocket)
        system = System(world=world)
        tank = system.add(SloshTank(body, 0.25, 60.0, [0, 0, -0.3], springs, rate=20))
        motor, port = system.add(Thruster(thrust=3000.0, specific_impulse=200.0, rate=20)), system.add(BodyPort(body))
        give(system, motor.command, 1.0)
        system.connect(motor.flow, tank.flow)
        system.connect(motor.force, port.force)
        system.connect(port.rotation, motor.rotation)
        rocket.dofs[-1].position, rocket.velocities = 0.03, [0.1, -0.2, 0.05, 0, 0, 0, 0, 0]
        return system, tank, rocket

    def state(tank: SloshTank, rocket: kido.Skeleton) -> list[np.ndarray]:
        inertias = [x for b in rocket.bodies for x in (b.inertia.mass, *b.inertia.com, *b.inertia.moment.ravel())]
        return [rocket.positions, rocket.velocities, np.array(inertias), np.array(tank.mass.value)]

    one, tank, rocket = made()
    one.run(2.013)
    one.checkpoint().save(tmp_path / "middle")
    middle = state(tank, rocket)
    one.run(1.5)
    last = state(tank, rocket)
    assert not any(np.array_equal(a, b) for a, b in zip(middle, last, strict=True))
    two, other, its = made()
    two.run(0.3)
    for system, liquid, skeleton in ((two, other, its), (one, tank, rocket)):
        liquid.density = 900.0  # the checkpoint's comes back
        system.run(0.1)
        system.restore(Checkpoint.load(tmp_path / "middle"))
        for found, expected in zip(state(liquid, skeleton), middle, strict=True):
            np.testing.assert_array_equal(found, expected)
        system.run(1.5)
        for found, expected in zip(state(liquid, skeleton), last, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_what_does_not_fit_is_named() -> None:
    body = kido.Skeleton("s").add_body("b", kido.FreeJoint())
    with pytest.raises(kido.ModelError, match="model 'sloshtank': expected a body of a skeleton, got 'rocket'"):
        SloshTank("rocket", 1.0, 1.0)
    with pytest.raises(kido.ModelError, match="model 'sloshtank': radius"):
        SloshTank(body, -1.0, 1.0)
    with pytest.raises(kido.ModelError, match="model 'sloshtank': mass"):
        SloshTank(body, 1.0, 0.0)
    assert len(body.skeleton.bodies) == 1
    for kind, name, springs in (("body", "slosh", False), ("body", "across", True), ("joint", "x", True)):
        rocket = kido.Skeleton("rocket")
        carrier, taken = rocket.add_body("b", kido.FreeJoint()), f"b_tank_{name}"
        other = (taken, "other") if kind == "body" else ("other", taken)
        rocket.add_body(other[0], kido.RevoluteJoint(other[1]), carrier)
        with pytest.raises(kido.ModelError, match=f"model 'tank': skeleton 'rocket' has a {kind} '{taken}' already"):
            SloshTank(carrier, 0.2, 1.0, springs=springs, name="tank")
        assert len(rocket.bodies) == 2
    with pytest.raises(kido.ModelError, match="slosh: level"):
        slosh(1.0, 0.0, 1.0)
