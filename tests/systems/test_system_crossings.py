"""Crossings: where they are passed within steps, between steps, from zero, and without end."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kido
from kido.systems import BodyPort, Crossing, Input, JointPort, Model, Output, Parameter, State, System

G = 9.81


class Watch(Model):
    """Counts passings of a signal, and keeps the time of the last."""

    u = Input()
    count, at = State(), State("s")
    passed = Crossing()

    def crossings(self):
        return {"passed": self.u}

    def at_passed(self):
        return {"count": self.count + 1.0, "at": self.time}


class Ticking(Model):
    """1 from a time on, before that -1, and what it counts its ticks by."""

    rate, since = 10, Parameter(0.45)
    y = Output()

    def outputs(self):
        return {"y": np.where(self.time < self.since, -1.0, 1.0)}


class Ball(Model):
    """A ball that a bounce puts on the floor."""

    height, velocity, bounces = State("m", 1.0), State("m/s"), State()
    floor = Crossing(-1)

    def derivatives(self):
        return {"height": self.velocity, "velocity": -G}

    def crossings(self):
        return {"floor": self.height}

    def at_floor(self):
        return {"height": 0.0, "velocity": -0.8 * self.velocity, "bounces": self.bounces + 1.0}


def watched(source: Model) -> tuple[System, Watch]:
    system = System()
    watch = Watch()
    system.connect(system.add(source).port("y"), system.add(watch).port("u"))
    return system, watch


def test_a_sampled_signal_that_jumps_is_seen_at_the_tick() -> None:
    system, watch = watched(Ticking("source"))
    system.run(0.5)  # what the end is due for too
    assert (watch.count.value, watch.at.value) == (1.0, 0.5)
    system.run(0.5)
    assert (watch.count.value, watch.at.value) == (1.0, 0.5)


def test_a_parameter_that_makes_it_jump_is_seen() -> None:
    class Level(Model):
        level, y = Parameter(-1.0), Output()

        def outputs(self):
            return {"y": self.level + 0.0 * self.time}

    source = Level("source")
    system, watch = watched(source)
    system.run(0.25)
    source.set_parameters(level=1.0)
    system.run(0.25)
    assert (watch.count.value, watch.at.value) == (1.0, 0.25)
    system.reset()  # nothing was looked at then
    source.set_parameters(level=-1.0)
    system.run(0.25)
    assert watch.count.value == 0.0


def test_an_event_that_makes_another_cross_is_seen() -> None:
    class First(Model):
        y, passed = State("", -1.0), Crossing()

        def crossings(self):
            return {"passed": self.time - 0.3337}

        def at_passed(self):
            return {"y": 1.0}

    system, watch = watched(First("source"))
    system.run(1.0)
    assert watch.count.value == 1.0
    assert watch.at.value == pytest.approx(0.3337, abs=1e-12)  # bisection ends at rounding


def test_joints_of_a_world_are_seen_to_cross() -> None:
    """A fall through 0 from 1 m: at the first step at whose start it is below, semi-implicit Euler's to 1 ms."""
    skeleton = kido.Skeleton("falling")
    skeleton.add_body("body", kido.PrismaticJoint("z", (0, 0, 1)), None, kido.Inertia(1.0))
    skeleton.positions = [1.0]
    runs = []
    for parts in ((1.0,), (0.2, 0.25, 0.55), None):
        world = kido.World(time_step=1e-3)
        own = world.add_skeleton(skeleton.clone())
        system, watch = System(world=world), Watch()
        system.connect(system.add(JointPort(own.dofs[0])).position, system.add(watch).port("u"))
        for part in parts or ():
            system.run(part)
        if parts is None:
            world.step(1000)
            system.run(0.0)
        runs.append((watch.count.value, watch.at.value, *own.positions))
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][0] == 1.0
    assert runs[0][1] == pytest.approx(math.sqrt(2.0 / G), abs=1.5e-3)


def test_what_a_step_of_the_world_passed_is_kept_by_checkpoints_and_clones() -> None:
    """Taken between the step in which a joint passes zero, and that whose start sees it."""
    skeleton = kido.Skeleton("moving")
    skeleton.add_body("body", kido.PrismaticJoint("x", (1, 0, 0)), None, kido.Inertia(1.0))
    skeleton.positions, skeleton.velocities = [-0.0105], [1.0]
    world = kido.World(time_step=1e-3, gravity=(0.0, 0.0, 0.0))
    world.add_skeleton(skeleton)
    system, watch = System(world=world), Watch()
    system.connect(system.add(JointPort(skeleton.dofs[0])).position, system.add(watch).port("u"))
    system.run(0.0)
    world.step(11)
    assert skeleton.positions[0] > 0.0 and watch.count.value == 0.0
    kept = system.checkpoint()
    for _ in range(2):
        world.step(3)
        assert watch.count.value == 1.0 and watch.at.value == pytest.approx(0.011, abs=1e-12)
        system.restore(kept)
        assert watch.count.value == 0.0


def test_a_cable_between_bodies_of_a_world_is_seen_to_become_taut_and_slack() -> None:
    class Counting(kido.devices.Cable):
        changes = State()

        def at_taut(self):
            return {"changes": self.changes + 1.0}

    skeleton = kido.Skeleton("hanging")
    body = skeleton.add_body("body", kido.PrismaticJoint("z", (0, 0, 1)), None, kido.Inertia(1.0))
    world = kido.World(time_step=1e-3)
    world.add_skeleton(skeleton)
    system = System(world=world)
    port, cable = system.add(BodyPort(body)), system.add(Counting([None, (0.0, 0.0, 0.0)], "cable", ahead=0.5e-3))
    system.connect(port.position, cable.port("position_0"))
    system.connect(port.velocity, cable.port("velocity_0"))
    system.connect(cable.port("force_0"), port.force)
    log = system.log(cable.length, 1000)
    system.run(2.0)
    changes = np.count_nonzero(np.diff(np.asarray(log[cable.length]) > 1.0))
    assert changes > 3
    assert cable.port("changes").value == changes


def test_what_begins_at_zero_passes_as_it_leaves() -> None:
    """Against the parabola of its first bounce; up is no direction of this crossing."""
    for speed, begins in ((-1.0, 0.0), (1.0, 2.0 / G)):
        system = System()
        ball = system.add(Ball(height=0.0, velocity=speed))
        system.run(1e-3)
        assert ball.bounces.value == (1.0 if speed < 0.0 else 0.0)
        system.run(round(begins, 6))
        assert ball.bounces.value == 1.0
        back, after = 0.8 * abs(speed), system.time - begins
        assert ball.height.value == pytest.approx(back * after - 0.5 * G * after**2, abs=1e-12)
    system = System()
    system.add(Ball(height=0.0))  # at rest there it would bounce for ever
    with pytest.raises(kido.StateError, match=r"ball\.floor is passed again and again"):
        system.run(0.1)


def test_what_arrives_at_zero_exactly_passes_once() -> None:
    """Half a second of unit speed in steps of powers of two: rounding is nil, and zero is met at a step's end."""

    class Line(Model):
        y = State("", -0.5)

        def derivatives(self):
            return {"y": 1.0 + 0.0 * self.y}

    system, watch = watched(Line("source"))
    system.step, system.integrator = 2.0**-7, kido.integrators.ExplicitEuler()
    system.run(0.5)
    assert system["source"].y.value == 0.0 and watch.count.value == 1.0
    system.run(0.5)
    assert (watch.count.value, watch.at.value) == (1.0, 0.5)


def test_bounces_without_end_are_an_error() -> None:
    """They gather where 2 (1 + 0.8) / (1 - 0.8) times the first fall is over: t (1 + 2 e / (1 - e)), e = 0.8."""
    system = System()
    ball = system.add(Ball())
    with pytest.raises(kido.StateError, match=r"ball\.floor is passed again and again without time going on"):
        system.run(6.0)
    assert system.time == pytest.approx(math.sqrt(2.0 / G) * (1.0 + 1.6 / 0.2), rel=1e-9)
    assert abs(ball.height.value) < 1e-12


def test_a_ball_that_comes_to_rest_stays() -> None:
    class Resting(Ball):
        resting = State()

        def derivatives(self):
            falls = 1.0 - self.resting
            return {"height": falls * self.velocity, "velocity": -G * falls}

        def at_floor(self):
            back = -0.8 * self.velocity
            rests = np.where(back < 0.01, 1.0, 0.0)
            return {"height": 0.0, "velocity": (1.0 - rests) * back, "resting": rests}

    system = System()
    ball = system.add(Resting())
    system.run(6.0)
    assert (ball.height.value, ball.velocity.value, ball.resting.value) == (0.0, 0.0, 1.0)
