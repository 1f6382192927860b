"""Rolling."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.scenes.description import Ball, Body, Case, G, Ground, Hinge, Scene, floor


def _slope(make) -> float:
    """Speed after 1 s down 15 degrees, mu = 1: (5/7) g sin(theta) t."""
    angle = np.radians(15)
    turn = (0.0, angle, 0.0)
    up = Rotation.from_rotvec(turn).apply([0, 0, 1.0])
    ball = Body(0.1, Ball(0.05), 0.05 * up)
    program = make(Scene([Body(0.0, Ground(), rotation=turn), ball], friction=1.0, time_step=1e-3))
    program.step(1000)
    return float(program.velocity(1) @ Rotation.from_rotvec(turn).apply([1.0, 0, 0]))


SLIDES = 2 * 2.0 / (7 * 0.3 * G)  # [s] after which the ball below rolls


def _slide_then_roll(distance: bool):
    def measure(make) -> float:
        ball = Body(0.1, Ball(0.05), (0, 0, 0.05), velocity=(2, 0, 0))
        program = make(Scene([floor(), ball], friction=0.3, time_step=1e-3))
        program.step(500)
        return float(program.place(1)[0] if distance else program.velocity(1)[0])

    return measure


def _backspin(make) -> float:
    """Final speed (5 v0 + 2 r w0) / 7: negative, it comes back."""
    ball = Body(0.5, Ball(0.1), (0, 0, 0.1), velocity=(1, 0, 0), spin=(0, -60, 0))
    program = make(Scene([floor(), ball], friction=0.4, time_step=1e-3))
    program.step(800)
    return float(program.velocity(1)[0])


RADIUS, TRACK, LEFT, RIGHT = 0.1, 0.5, 8.0, 12.0


def vehicle() -> Scene:
    """Two wheels with point contacts, two casters without friction, the centre of mass between the wheels.

    Rolling without slip it goes on at (wl + wr) r / 2 on a circle: no force is needed along the path.
    """
    caster = Ball(0.03)
    speed, turn = RADIUS * (LEFT + RIGHT) / 2, RADIUS * (RIGHT - LEFT) / TRACK
    chassis = Body(
        4.0, None, (0, 0, RADIUS), velocity=(speed, 0, 0), spin=(0, 0, turn), moment=(0.05, 0.08, 0.1),
        parts=[(caster, (x, 0, 0.03 - RADIUS), 0.0) for x in (-0.2, 0.2)],
    )  # fmt: skip
    wheels = [
        Body(0.5, Ball(RADIUS), (0, side * TRACK / 2, RADIUS), hinge=Hinge(1, (0, 1, 0), rate))
        for side, rate in ((1, LEFT), (-1, RIGHT))
    ]
    return Scene([floor(), chassis, *wheels], friction=0.8)


def _vehicle(make) -> float:
    """Distance from the exact arc's end after 5 s."""
    program = make(vehicle())
    program.step(2500)
    speed, turn = RADIUS * (LEFT + RIGHT) / 2, RADIUS * (RIGHT - LEFT) / TRACK
    end = speed / turn * np.array([np.sin(5 * turn), 1 - np.cos(5 * turn)])
    return float(np.linalg.norm(program.place(1)[:2] - end))


def cases() -> list[Case]:
    """All of this family."""
    return [
        Case("ball rolls down 15 degrees: speed after 1 s [m/s]", 5 / 7 * G * np.sin(np.radians(15)), _slope),
        Case("ball slides, then rolls: speed [m/s]", 10 / 7, _slide_then_roll(False)),
        Case(
            "the same: place after 0.5 s [m]",
            12 * 4.0 / (49 * 0.3 * G) + (0.5 - SLIDES) * 10 / 7,
            _slide_then_roll(True),
        ),
        Case("ball with backspin: final speed [m/s]", (5 - 2 * 0.1 * 60) / 7, _backspin),
        Case("differential drive: off the arc after 5 s [m / 5 m]", 0.0, _vehicle, scale=5.0),
    ]  # fmt: skip
