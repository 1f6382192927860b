"""Cables and winches, against statics, Atwood's machine and pendulums."""

from __future__ import annotations

import numpy as np
import pytest
from device_bench import on_bench

import kido
from kido.devices import Cable, Rigging
from kido.systems import Crossing, Input, Model, Output, State, System

G, H = 9.81, 1e-3
EA = 2e4


def hung(*masses: float, height: float = 0.0) -> tuple[kido.World, list[kido.BodyNode]]:
    """A world of balls that move freely, at x = 0, 1, 2 and so on."""
    world = kido.World(time_step=H, gravity=(0, 0, -G))
    bodies = []
    for k, mass in enumerate(masses):
        ball = kido.Skeleton(f"ball {k}")
        bodies.append(ball.add_body("ball", kido.TranslationalJoint(), inertia=kido.Inertia(mass)))
        ball.positions = [float(k), 0.0, height]
        world.add_skeleton(ball)
    return world, bodies


def test_a_weight_at_rest() -> None:
    """Tension m g, length l_0 (1 + m g / E A)."""
    world, (ball,) = hung(3.0, height=-2.0)
    system = System(world=world)
    line = system.add(Rigging("line", [(0, 0, 0), (ball, (0, 0, 0))], stiffness=EA, damping=500.0, free_length=2.0))
    system.run(3.0)
    assert system["line.cable.tension"].value == pytest.approx(3.0 * G, rel=1e-9)
    assert system["line.cable.length"].value == pytest.approx(2.0 * (1.0 + 3.0 * G / EA), rel=1e-9)
    assert ball.world_transform[2, 3] == pytest.approx(-line["cable.length"].value, abs=1e-9)


@pytest.mark.parametrize("ahead, kept", [(H / 2, True), (0.0, False)])
def test_a_bob_on_an_elastic_cable(ahead, kept) -> None:
    """Up and down with w^2 = E A / (l_0 m), by steps: cos(w_h h) = 1 - (w h)^2 / 2, and as high at the end.

    Stretch at the start of steps lets swings grow by 1 + (w h)^2 / 4 a step.
    """
    m, l0, a = 2.0, 2.0, 1e-3
    w = np.sqrt(EA / l0 / m)
    rest = l0 * (1.0 + m * G / EA)
    world, (ball,) = hung(m, height=-rest - a)
    system = System(world=world)
    system.add(Rigging("line", [(0, 0, 0), (ball, (0, 0, 0))], stiffness=EA, free_length=l0, ahead=ahead))
    z = []
    for _ in range(1000):
        z.append(ball.world_transform[2, 3] + rest)
        system.run(H)
    n = np.arange(1000)
    if kept:
        of_steps = np.arccos(1.0 - 0.5 * (w * H) ** 2)
        np.testing.assert_allclose(z, -a * np.cos(of_steps * n), atol=1e-9)
    else:
        growth = np.sqrt(1.0 + 0.5 * (w * H) ** 2)
        size = np.abs(z[-100:]).max()
        assert size == pytest.approx(a * growth**1000, rel=0.15)


def test_a_pendulum_on_a_cable() -> None:
    """2 pi sqrt(l / g) (1 + th^2 / 16) with l under its weight; the swing itself stretches it by th^2 of that."""
    m, l0, th = 1.0, 1.5, 0.05
    length = l0 * (1.0 + m * G / EA)
    world, (bob,) = hung(m)
    bob.skeleton.positions = [length * np.sin(th), 0.0, -length * np.cos(th)]
    system = System(world=world)
    system.add(Rigging("line", [(0, 0, 0), (bob, (0, 0, 0))], stiffness=EA, damping=20.0, free_length=l0, ahead=H / 2))
    passed, before = [], th
    for k in range(8000):
        system.run(H)
        x = bob.world_transform[0, 3]
        if before > 0.0 >= x:
            passed.append((k + before / (before - x)) * H)
        before = x
    period = np.diff(passed).mean()
    assert len(passed) == 4 or len(passed) == 3
    assert period == pytest.approx(2.0 * np.pi * np.sqrt(length / G) * (1.0 + th**2 / 16.0), rel=2e-5)


def test_atwood_over_two_pulleys() -> None:
    """a = g (m_1 - m_2) / (m_1 + m_2) at the tension 2 m_1 m_2 g / (m_1 + m_2), which its free length starts with."""
    m1, m2 = 3.0, 2.0
    world, (one, two) = hung(m1, m2, height=-1.0)
    tension = 2.0 * m1 * m2 * G / (m1 + m2)
    system = System(world=world)
    line = system.add(
        Rigging(
            "line", [(one, (0, 0, 0)), (0, 0, 0), (1, 0, 0), (two, (0, 0, 0))], stiffness=EA,
            free_length=3.0 / (1.0 + tension / EA), ahead=H / 2,
        )
    )  # fmt: skip
    assert line["cable"].num_points == 4
    system.run(0.5)
    a = G * (m1 - m2) / (m1 + m2)
    assert one.world_transform[2, 3] == pytest.approx(-1.0 - 0.5 * a * 0.25, abs=1e-9)
    assert two.world_transform[2, 3] == pytest.approx(-1.0 + 0.5 * a * 0.25, abs=1e-9)
    assert system["line.cable.tension"].value == pytest.approx(tension, rel=1e-9)


def test_a_movable_pulley_halves_the_pull() -> None:
    """A weight on a loop between two points of the ceiling: m g / 2 along either part, which lean by asin(d / l)."""
    world, (ball,) = hung(4.0)
    ball.skeleton.positions = [0.5, 0.0, -1.0]
    system = System(world=world)
    points = [(0, 0, 0), (ball, (0, 0, 0)), (1, 0, 0)]
    system.add(Rigging("loop", points, stiffness=EA, damping=500.0, free_length=2.4))
    system.run(4.0)
    cosine = -2.0 * ball.world_transform[2, 3] / system["loop.cable.length"].value
    assert system["loop.cable.tension"].value == pytest.approx(0.5 * 4.0 * G / cosine, rel=1e-8)


def test_a_drum_is_unwound_by_a_weight() -> None:
    """a = g / (1 + J / (m r^2)); the cable stretches by 1e-4 of its length, which is what it is off by."""
    m, r, J = 2.0, 0.2, 0.1
    world, (ball,) = hung(m, height=-1.0)
    machine = kido.Skeleton("winch")
    machine.add_body(
        "drum", kido.RevoluteJoint("axle", axis=(0, 1, 0)), inertia=kido.Inertia.from_diagonal(5.0, (J, J, J))
    )
    world.add_skeleton(machine)
    tension = m * G * J / (J + m * r * r)
    stiff = 1e4 * tension
    system = System(world=world)
    system.add(
        Rigging(
            "line", [(0, 0, 0), (ball, (0, 0, 0))], machine.joint("axle"), r, stiffness=stiff, ahead=H / 2,
            damping=50.0, free_length=1.0 / (1.0 + tension / stiff),
        )
    )  # fmt: skip
    system.run(0.4)
    a = G / (1.0 + J / (m * r * r))
    assert ball.world_transform[2, 3] == pytest.approx(-1.0 - 0.5 * a * 0.16, rel=2e-4)
    assert machine.positions[0] == pytest.approx(0.5 * a * 0.16 / r, rel=2e-4)
    assert system["line.cable.tension"].value == pytest.approx(tension, rel=1e-3)


def test_a_cable_never_pushes_and_pulls_none_along() -> None:
    """Slack, or shortened by its damper: no force. Taut: forces on a chain of points have no sum and no moment."""
    rng = np.random.default_rng(4)
    system = System()
    cable = system.add(Cable([*rng.normal(size=(5, 3))], stiffness=100.0))
    length = cable.length.value
    cable.free_length = 1.01 * length
    assert cable.tension.value == 0.0
    cable.free_length = 0.8 * length
    assert cable.tension.value == pytest.approx(25.0, rel=1e-12)
    at = np.array([cable.port(f"position_{k}").value for k in range(5)])
    forces = np.array([cable.port(f"force_{k}").value for k in range(5)])
    np.testing.assert_allclose(forces.sum(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cross(at, forces).sum(0), 0.0, atol=1e-12)


class Jumper(Model):
    """A mass that falls on a cable, in a system without a world."""

    z, v = State("m"), State("m/s")
    pull = Input("N", 3)
    position, velocity = Output("m", 3), Output("m/s", 3)
    lowest = Crossing(1)

    def outputs(self):
        return {"position": np.array([0.0, 0.0, 1.0]) * self.z, "velocity": np.array([0.0, 0.0, 1.0]) * self.v}

    def derivatives(self):
        return {"z": self.v, "v": self.pull[2] / 2.0 - G}

    def crossings(self):
        return {"lowest": self.v}


class Unstopped(Cable):
    """A cable whose kink no step ends at."""

    taut = Crossing()

    def crossings(self):
        return {"taut": 1.0}


@pytest.mark.parametrize("kind, least, most", [(Cable, 0.0, 1e-7), (Unstopped, 1e-6, 1e-4)])
def test_taut_is_a_crossing(kind, least, most) -> None:
    """Free fall over l_0, then the elastic swing: RK4 at 5 ms, with its own error, or with that of the kink as well."""
    l0, m, t = 2.0, 2.0, 0.9
    w = np.sqrt(400.0 / l0 / m)
    system = System(step=5e-3)
    jumper, cable = system.add(Jumper()), system.add(kind([(0, 0, 0), None], stiffness=400.0, free_length=l0))
    system.connect(jumper.position, cable.port("position_1"))
    system.connect(jumper.velocity, cable.port("velocity_1"))
    system.connect(cable.port("force_1"), jumper.pull)
    system.run(t)
    falls = np.sqrt(2 * l0 / G)
    speed, sag = G * falls, G / w**2
    y = sag - sag * np.cos(w * (t - falls)) + speed / w * np.sin(w * (t - falls))
    off = abs(jumper.z.value + l0 + y)
    assert least < off < most


@pytest.mark.parametrize("paid", [-0.995, -1.0, -1.5])
def test_a_cable_is_not_wound_in_to_nothing(paid) -> None:
    """A hundredth of its length stays: E A 99 over a metre, and no damping by what is wound in further."""
    cable = Cable([None, (0, 0, 0)], stiffness=1e3, damping=5.0)
    given = {"position_0": (0, 0, -1.0), "velocity_0": np.zeros(3), "paid_out": paid, "pay_speed": -1.0}
    on_bench(cable, **given).run(0.0)
    assert cable.tension.value == pytest.approx(99e3, rel=1e-9)


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(kido.ModelError, match="model 'cable': points: expected at least 2"):
        Cable(1)
    with pytest.raises(kido.ModelError, match=r"points\[1\]"):
        Cable([None, (0.0, np.nan, 0.0)])
    with pytest.raises(kido.ModelError, match="free_length"):
        Cable(free_length=0.0)
    with pytest.raises(kido.ModelError, match=r"model 'cable': points\[0\]"):
        Rigging("line", ["hook", (0, 0, 0)])
    with pytest.raises(kido.ModelError, match="assembly 'line': points: expected a sequence"):
        Rigging("line", None)
    system = System()
    system.add(Cable(3))
    with pytest.raises(kido.ModelError, match=r"cable\.position_0, cable\.position_1"):
        system.run(0.1)
