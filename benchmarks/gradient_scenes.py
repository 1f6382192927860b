"""Gradients of scenes through contact over the time step, beside those of continuous motion.

    python -m benchmarks.gradient_scenes [--quick]

Each column is a time step; numbers are what KIDO's derivatives of steps, chained over the whole motion, are off the
gradient of continuous motion by. What the steps themselves do, they are exact for (`tests/simulation`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import kido
from benchmarks.timing import machine, table
from kido.simulation.gradients.result import StepDerivatives

G = 9.81
STEPS = (1e-2, 5e-3, 2e-3, 1e-3)  # of which all motions are whole numbers


def _world(h: float, gravity: tuple[float, float, float], *skeletons: kido.Skeleton) -> kido.World:
    made = kido.World()
    made.time_step = h
    made.add_ground(friction=1.0, restitution=1.0)
    made.gravity = gravity  # the ground stays level
    for skeleton in skeletons:
        made.add_skeleton(skeleton)
    return made


def _body(shape: kido.Shape, joint: kido.Joint, friction: float, restitution: float = 0.0) -> kido.Skeleton:
    skeleton = kido.Skeleton("body")
    body = skeleton.add_body("body", joint, inertia=kido.Inertia.from_shape(shape, mass=1.0))
    body.add_shape(shape, friction=friction, restitution=restitution)
    return skeleton


def ball(name: str, radius: float, position: tuple[float, float, float], **surface: Any) -> kido.Skeleton:
    """A ball on a free joint."""
    skeleton, shape = kido.Skeleton(name), kido.Sphere(radius)
    body = skeleton.add_body("ball", kido.FreeJoint(), inertia=kido.Inertia.from_shape(shape, mass=1.0))
    surface.setdefault("friction", 0.0)
    body.add_shape(shape, **surface)
    skeleton.positions = (0.0, 0.0, 0.0, *position)
    return skeleton


def at_rest(name: str, shape: kido.Shape, position: tuple[float, float, float], **surface: Any) -> kido.Skeleton:
    """A body that does not move."""
    skeleton, frame = kido.Skeleton(name), np.eye(4)
    frame[:3, 3] = position
    skeleton.add_body("body", kido.WeldJoint(transform_from_parent=frame)).add_shape(shape, **surface)
    return skeleton


def turned(made: kido.World, skeleton: kido.Skeleton, seconds: float) -> np.ndarray:
    """Axes of a ball after a motion, along which its positions are differentiated."""
    before = made.snapshot()
    made.step(round(seconds / made.time_step))
    axes = np.array(skeleton.bodies[0].world_transform[:3, :3])
    made.restore(before)
    return axes


def slider(h: float, v0: float, mu: float, height: float = 0.0, alpha: float = 0.0) -> kido.World:
    """A box that does not turn, on ground whose slope is alpha."""
    box = _body(kido.Box((0.2, 0.2, 0.2)), kido.TranslationalJoint("slide"), mu)
    box.positions, box.velocities = (0.0, 0.0, 0.1 + height), (v0, 0.0, 0.0)
    return _world(h, (-G * np.sin(alpha), 0.0, -G * np.cos(alpha)), box)


def derivatives(made: kido.World, seconds: float, friction: bool = True) -> StepDerivatives:
    """Of all steps of a motion."""
    shape = made.skeletons[1].bodies[0].shapes[0]
    return made.step_derivatives({"friction": [shape]} if friction else (), round(seconds / made.time_step))


def bouncing_ball(h: float) -> list[float]:
    """1: g = 0, z0 = 0.5, v0 = -1, e = 0.7, T = 0.8: dz by z0, v0 and e."""
    bouncing = _body(kido.Sphere(0.1), kido.TranslationalJoint("fly"), 0.0, 0.7)
    bouncing.positions, bouncing.velocities = (0.0, 0.0, 0.6003), (0.0, 0.0, -1.0)  # 0.3 mm on: not at a step's end
    made = _world(h, (0.0, 0.0, 0.0), bouncing)
    found = made.step_derivatives({"restitution": [bouncing.bodies[0].shapes[0]]}, round(0.8 / h))
    return [
        found.by_state[2, 2] + 0.7, found.by_state[2, 5] + 0.56,
        found.by_parameters["restitution"][2, 0] - (0.8 - 0.5003),
    ]  # fmt: skip


def dropped_ball(h: float) -> list[float]:
    """2: a ball from 1 m, e = 0.8, T = 0.7: dz by z0 and v0."""
    ball = _body(kido.Sphere(0.1), kido.TranslationalJoint("fly"), 0.0, 0.8)
    ball.positions = (0.0, 0.0, 1.1)
    found = derivatives(_world(h, (0.0, 0.0, -G), ball), 0.7, False).by_state
    return [found[2, 2] - 0.1905516, found[2, 5] + 0.1127426]


def two_balls(h: float) -> list[float]:
    """3: equal elastic balls, T = 0.4: dx2 by x1, v1, x2 and v2: 1, T, 0, 0; the greatest error."""
    one = ball("one", 0.1, (0.0, 0.0, 0.0), restitution=1.0)
    two = ball("two", 0.1, (0.5503, 0.0, 0.0), restitution=1.0)
    one.velocities = (0.0, 0.0, 0.0, 2.0, 0.0, 0.0)
    made = kido.World()
    made.time_step, made.gravity = h, (0.0, 0.0, 0.0)
    for skeleton in (one, two):
        made.add_skeleton(skeleton)
    found = made.step_derivatives((), round(0.4 / h)).by_state[9, [3, 15, 9, 21]]
    return [float(np.abs(found - (1.0, 0.4, 0.0, 0.0)).max())]


def to_a_stop(h: float) -> list[float]:
    """4: v0 = 2, mu = 0.4: dx by v0 and mu."""
    found = derivatives(slider(h, 2.0, 0.4), 0.6)
    return [found.by_state[0, 3] - 0.5096840, found.by_parameters["friction"][0, 0] + 1.2742100]


def dropped_box(h: float) -> list[float]:
    """5: z0 = 0.1, v0 = 2, mu = 0.3: dx by v0 and mu."""
    found = derivatives(slider(h, 2.0, 0.3, 0.1), 0.9)
    return [found.by_state[0, 3] - 0.6795786, found.by_parameters["friction"][0, 0] + 2.1652622]


def rolling(h: float) -> list[float]:
    """6: a ball slides, then rolls, v0 = 2, mu = 0.3, T = 0.6: dx by v0 and mu."""
    rolling = ball("ball", 0.1, (0.0, 0.0, 0.1), friction=0.3)
    rolling.velocities = (0.0, 0.0, 0.0, 2.0, 0.0, 0.0)
    made = _world(h, (0.0, 0.0, -G), rolling)
    axes = turned(made, rolling, 0.6)
    found = derivatives(made, 0.6)
    by_speed = axes @ found.by_state[3:6, 9]
    by_friction = axes @ found.by_parameters["friction"][3:6, 0]
    return [float(by_speed[0]) - 0.4840472, float(by_friction[0]) + 0.1849194]


def pushed(h: float) -> list[float]:
    """7: F = 6, mu = 0.4, T = 1: dx by F and mu."""
    made = slider(h, 0.0, 0.4)
    made.skeletons[1].forces = (6.0, 0.0, 0.0)
    found = derivatives(made, 1.0)
    return [found.by_commands[0, 0] - 0.5, found.by_parameters["friction"][0, 0] + 4.905]


def across(h: float) -> list[float]:
    """8: v0 = 2, mu = 0.4: dy by a small force across."""
    return [derivatives(slider(h, 2.0, 0.4), 0.6, False).by_commands[1, 1] - 0.0649444]


def ramp(h: float) -> list[float]:
    """9: on a slope of 0.2 rad, F = 20 t, mu = 0.3, T = 1: dx by k and mu."""
    made = slider(h, 0.0, 0.3, alpha=0.2)
    number = round(1.0 / h)
    time = h * (np.arange(number) + 0.5)
    commands = np.zeros((number, 3))
    commands[:, 0] = 20.0 * time
    shape = made.skeletons[1].bodies[0].shapes[0]
    found = made.rollout_gradient(
        commands, lambda n, _: np.eye(6)[0] if n == number else None, {"friction": [shape]}
    )  # fmt: skip
    return [float(found.by_commands[:, 0] @ time) - 0.1421704, float(found.by_parameters["friction"][0]) + 2.7645078]


PEAK = 0.3984774  # rad, of the pendulum after its impact


def into_a_wall(h: float) -> list[float]:
    """10: a pendulum from 0.5 rad into a wall at 0, e = 0.8: its peak by theta0 and e.

    With energy u^2 / 2 - (g / l) cos theta kept to and from a state (theta, u) after the impact, the peak p has
    sin(p) dp = sin(theta) dtheta + (l / g) u du.
    """
    skeleton, length = kido.Skeleton("pendulum"), 1.0
    inertia = kido.Inertia(mass=1.0, com=(0.0, 0.0, -length), moment=1e-12 * np.eye(3))
    bob = skeleton.add_body("bob", kido.RevoluteJoint("hinge", axis=(0.0, 1.0, 0.0)), inertia=inertia)
    frame = np.eye(4)
    frame[2, 3] = -length
    bob.add_shape(kido.Sphere(0.1), frame, restitution=0.8, friction=0.0)
    wall = at_rest("wall", kido.Box((0.2, 2.0, 2.0)), (0.2, 0.0, -length), friction=0.0, restitution=1.0)
    skeleton.positions = [0.5]
    made = kido.World()
    made.time_step = h
    for each in (wall, skeleton):
        made.add_skeleton(each)
    steps = round(0.7 / h)
    found = made.step_derivatives({"restitution": [bob.shapes[0]]}, steps)
    made.step(steps)
    theta, u = float(skeleton.positions[0]), float(skeleton.velocities[0])
    peak = float(np.arccos(np.cos(theta) - 0.5 * length / G * u * u))
    weights = np.array([np.sin(theta), length / G * u]) / np.sin(peak)
    by_restitution = float(weights @ found.by_parameters["restitution"][:, 0])
    return [peak - PEAK, abs(float(weights @ found.by_state[:, 0])) - 0.7907734, by_restitution - 0.5047939]


def over_the_top(h: float) -> list[float]:
    """11: a ball r = 0.1 rolls off the top of a ball R = 0.5, T = 0.3: dphi by phi0."""
    angle, far = 1e-3, 0.6
    small = ball("ball", 0.1, (far * np.sin(angle), 0.0, far * np.cos(angle)), friction=1.0)
    made = kido.World()
    made.time_step = h
    made.add_skeleton(at_rest("large", kido.Sphere(0.5), (0.0, 0.0, 0.0), friction=1.0))
    made.add_skeleton(small)
    axes = turned(made, small, 0.3)
    found = made.step_derivatives((), round(0.3 / h)).by_state
    by_phi = found[3:6, 3] * np.cos(angle) - found[3:6, 5] * np.sin(angle)
    return [float((axes @ by_phi)[0]) - 1.5732104]


SCENES: dict[str, Callable[[float], list[float]]] = {
    "1 a ball without gravity, d/dz0, d/dv0, d/de": bouncing_ball,
    "2 a ball dropped, d/dz0 and d/dv0": dropped_ball,
    "3 equal elastic balls, the greatest": two_balls,
    "4 sliding to a stop, d/dv0 and d/dmu": to_a_stop,
    "5 a box dropped while it moves, d/dv0 and d/dmu": dropped_box,
    "6 a ball slides, then rolls, d/dv0 and d/dmu": rolling,
    "7 a push against friction, d/dF and d/dmu": pushed,
    "8 a force across, d/df": across,
    "9 a growing force on a slope, d/dk and d/dmu": ramp,
    "10 a pendulum into a wall, its peak, d/dtheta0, d/de": into_a_wall,
    "11 a ball on top of a ball, d/dphi0": over_the_top,
}


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="long steps alone")
    options = parser.parse_args(arguments)
    steps = STEPS[:2] if options.quick else STEPS
    rows = [
        [name, *(", ".join(f"{x:.1e}" for x in scene(h)) for h in steps)] for name, scene in SCENES.items()
    ]  # fmt: skip
    header = ("scene", *(f"h = {1e3 * h:g} ms" for h in steps))
    print(f"{machine()}\n\nGradients of scenes less those of continuous motion\n\n{table(header, rows)}")


if __name__ == "__main__":
    main()
