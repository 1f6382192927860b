"""Sliding and sticking: Coulomb's law in closed form."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from benchmarks.scenes.description import Ball, Block, Body, Case, G, Ground, Scene, floor

CUBE = Block((0.5, 0.5, 0.5))


def _direction(degrees: float) -> np.ndarray:
    angle = np.radians(degrees)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _slide(mu: float, degrees: float) -> Case:
    """125 kg with 2 m/s after a second at rest: v0^2 / (2 mu g)."""

    def measure(make) -> float:
        program = make(Scene([floor(), Body(125.0, CUBE, (0, 0, 0.25))], friction=mu))
        program.step(500)
        start = program.place(1)
        program.set_velocity(1, 2.0 * _direction(degrees))
        program.step(int(2.0 / (mu * G) / 2e-3) + 250)
        return float((program.place(1) - start) @ _direction(degrees))

    return Case(f"slide to a stop, mu {mu}, {degrees} degrees [m]", 4.0 / (2 * mu * G), measure)


def _push(degrees: float, k: float, across: bool) -> Case:
    """A force k mu m g for a second: (k - 1) mu g / 2 along it, nothing across."""
    mu, mass = 0.5, 5.0

    def measure(make) -> float:
        program = make(Scene([floor(), Body(mass, Block((0.2, 0.2, 0.2)), (0, 0, 0.1))], friction=mu))
        program.push(1, k * mu * mass * G * _direction(degrees))
        program.step(500)
        return float(program.place(1) @ _direction(degrees + (90 if across else 0)))

    along = (k - 1) * mu * G / 2
    if across:
        return Case(f"the same, across the push [m / {along:.3f} m]", 0.0, measure, scale=along)
    return Case(f"push at {degrees} degrees, {k} mu m g, 1 s [m]", along, measure)


def _creep(make) -> float:
    """Mean speed on an incline of 20 degrees with mu = 0.7 over 10 s [um/s]."""
    angle = np.radians(20)
    turn = (0.0, angle, 0.0)
    up = Rotation.from_rotvec(turn).apply([0, 0, 1.0])
    box = Body(1.0, Block((0.2, 0.2, 0.2)), 0.1 * up, turn)
    program = make(Scene([Body(0.0, Ground(), rotation=turn), box], friction=0.7))
    start = program.place(1)
    program.step(5000)
    return 1e6 * float(np.linalg.norm(program.place(1) - start)) / 10.0


def _conveyor(make) -> float:
    """Place after 1 s on a belt of 0.8 m/s with mu = 0.4: v t - v^2 / (2 mu g)."""
    belt = floor(belt=(0.8, 0.0, 0.0))
    program = make(Scene([belt, Body(2.0, Block((0.2, 0.2, 0.2)), (0, 0, 0.1))], friction=0.4))
    program.step(500)
    return float(program.place(1)[0])


# A disk whose centre of mass is level with the ground, on three feet at its rim: loads stay m g / 3 each.
RIM, MASS, MU = 0.1, 1.0, 0.3
FEET = [RIM * np.array([np.cos(a), np.sin(a), 0.1]) for a in 2 * np.pi / 3 * np.arange(3)]


def _disk(velocity: float, spin: float) -> Scene:
    moment = MASS * RIM**2 * np.array([0.25, 0.25, 0.5])
    feet = [(Ball(0.1 * RIM), tuple(foot), None) for foot in FEET]
    body = Body(MASS, None, velocity=(velocity, 0, 0), spin=(0, 0, spin), moment=moment, parts=feet)
    return Scene([floor(), body], friction=MU)


def _spin_down(make) -> float:
    """Angle at which the disk stops: w0^2 / (2 a) with a = mu m g r / I = 2 mu g / r."""
    program = make(_disk(0.0, 15.0))
    program.step(400)
    turn = program.pose(1)[:3, :3]
    return float(np.arctan2(turn[1, 0], turn[0, 0]))


def _slide_and_spin(make) -> float:
    program = make(_disk(1.0, 15.0))
    program.step(400)
    return float(program.place(1)[0])


def slide_and_spin_truth() -> float:
    """Where it stops: Coulomb's law at each foot, regularised below 1e-8 m/s, integrated to 1e-10."""

    def rate(_, state):
        _, _, angle, vx, vy, w = state
        force, torque = np.zeros(2), 0.0
        for k in range(3):
            a = angle + 2 * np.pi / 3 * k
            arm = RIM * np.array([np.cos(a), np.sin(a)])
            v = np.array([vx - w * arm[1], vy + w * arm[0]])
            f = -MU * MASS * G / 3 * v / np.sqrt(v @ v + 1e-16)
            force += f
            torque += arm[0] * f[1] - arm[1] * f[0]
        return [vx, vy, w, *(force / MASS), torque / (0.5 * MASS * RIM**2)]

    found = solve_ivp(rate, (0.0, 0.8), [0, 0, 0, 1.0, 0, 15.0], method="Radau", rtol=1e-9, atol=1e-11)
    return float(found.y[0, -1])


def cases() -> list[Case]:
    """All of this family."""
    return [
        *(_slide(mu, degrees) for mu in (0.2, 0.4, 0.7) for degrees in (0, 45)),
        *(_push(degrees, k, across) for degrees, k in ((45, 1.2), (30, 1.5)) for across in (False, True)),
        Case("creep on an incline of 20 degrees, mu 0.7, 10 s [um/s]", 0.0, _creep, aim=1.0, scale=1.0, unit="um/s"),
        Case("conveyor: place after 1 s [m]", 0.8 - 0.64 / (0.8 * G), _conveyor),
        Case("disk on three feet spins down [rad]", 15.0**2 / (4 * MU * G / RIM), _spin_down),
        Case("disk on three feet slides and spins: place [m]", slide_and_spin_truth(), _slide_and_spin),
    ]
