"""Gradients of scenes through contact over the time step, beside those of continuous motion.

    python -m benchmarks.gradient_scenes [--quick]

Each column is a time step; numbers are what KIDO's derivatives of steps, chained over the whole motion, are off the
gradient of continuous motion by. What the steps themselves do, they are exact for (`tests/simulation`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

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


def slider(h: float, v0: float, mu: float, height: float = 0.0, alpha: float = 0.0) -> kido.World:
    """A box that does not turn, on ground whose slope is alpha."""
    box = _body(kido.Box((0.2, 0.2, 0.2)), kido.TranslationalJoint("slide"), mu)
    box.positions, box.velocities = (0.0, 0.0, 0.1 + height), (v0, 0.0, 0.0)
    return _world(h, (-G * np.sin(alpha), 0.0, -G * np.cos(alpha)), box)


def derivatives(made: kido.World, seconds: float, friction: bool = True) -> StepDerivatives:
    """Of all steps of a motion."""
    shape = made.skeletons[1].bodies[0].shapes[0]
    return made.step_derivatives({"friction": [shape]} if friction else (), round(seconds / made.time_step))


def dropped_ball(h: float) -> list[float]:
    """2: a ball from 1 m, e = 0.8, T = 0.7: dz by z0 and v0."""
    ball = _body(kido.Sphere(0.1), kido.TranslationalJoint("fly"), 0.0, 0.8)
    ball.positions = (0.0, 0.0, 1.1)
    found = derivatives(_world(h, (0.0, 0.0, -G), ball), 0.7, False).by_state
    return [found[2, 2] - 0.1905516, found[2, 5] + 0.1127426]


def to_a_stop(h: float) -> list[float]:
    """4: v0 = 2, mu = 0.4: dx by v0 and mu."""
    found = derivatives(slider(h, 2.0, 0.4), 0.6)
    return [found.by_state[0, 3] - 0.5096840, found.by_parameters["friction"][0, 0] + 1.2742100]


def dropped_box(h: float) -> list[float]:
    """5: z0 = 0.1, v0 = 2, mu = 0.3: dx by v0 and mu."""
    found = derivatives(slider(h, 2.0, 0.3, 0.1), 0.9)
    return [found.by_state[0, 3] - 0.6795786, found.by_parameters["friction"][0, 0] + 2.1652622]


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


SCENES: dict[str, Callable[[float], list[float]]] = {
    "2 a ball dropped, d/dz0 and d/dv0": dropped_ball,
    "4 sliding to a stop, d/dv0 and d/dmu": to_a_stop,
    "5 a box dropped while it moves, d/dv0 and d/dmu": dropped_box,
    "7 a push against friction, d/dF and d/dmu": pushed,
    "8 a force across, d/df": across,
    "9 a growing force on a slope, d/dk and d/dmu": ramp,
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
