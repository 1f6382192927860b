"""Critical coefficients of friction, found by bisection."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation

import kido
from benchmarks.scenes.description import Ball, Block, Body, Case, Ground, Hull, Scene, floor

FALLEN = 1e-3  # [m] of the body that tells, in the second half of a scene: what is soft may settle first
COLLAPSED = 2e-2  # [m] in all


def critical(make, scene: Callable[[float], Scene], teller: int, steps: int, low: float, high: float) -> float:
    """Friction between sliding (`low`) and standing (`high`), to 2e-5; nan: it never stands, 0: it always does."""

    def stands(mu: float) -> bool:
        program = make(scene(mu))
        start = program.place(teller)
        program.step(steps // 2)
        middle = program.place(teller)
        program.step(steps - steps // 2)
        end = program.place(teller)
        return bool(np.linalg.norm(end - middle) < FALLEN and np.linalg.norm(end - start) < COLLAPSED)

    if not stands(high):
        return float("nan")
    if stands(low):
        return 0.0
    while high - low > 2e-5:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if stands(middle) else (middle, high)
    return 0.5 * (low + high)


# Ladder: a thin board against a smooth wall -----------------------------------------------------------------

LENGTH, THICK, LEAN = 2.0, 0.02, np.radians(57.0)


def _ladder_corners() -> tuple[np.ndarray, np.ndarray]:
    """Foot and head, with the centre at the origin; the wall is on the left."""
    corners = [(x, 0, z) for x in (-LENGTH / 2, LENGTH / 2) for z in (-THICK / 2, THICK / 2)]
    placed = Rotation.from_rotvec([0, LEAN, 0]).apply(corners)
    return placed[placed[:, 2].argmin()], placed[placed[:, 0].argmin()]


def ladder(mu: float) -> Scene:
    """The board, its foot on the ground and its head at a wall without friction."""
    foot, head = _ladder_corners()
    board = Body(5.0, Block((LENGTH, 0.4, THICK)), (-head[0], 0, -foot[2]), (0, LEAN, 0))
    wall = Body(0.0, Ground(), rotation=(0, np.pi / 2, 0), friction=0.0)
    return Scene([floor(), wall, board], friction=mu)


def ladder_truth() -> float:
    """Moments about the foot: mu m g (height of the head) = m g (distance of the centre from the foot)."""
    foot, head = _ladder_corners()
    return float(foot[0] / (head[2] - foot[2]))


# Pyramid: a sphere on three others --------------------------------------------------------------------------


def pyramid(mu: float) -> Scene:
    """Three touching spheres on the ground and one on top."""
    r = 0.1
    ring = [2 * r / np.sqrt(3) * np.array([np.cos(a), np.sin(a)]) for a in 2 * np.pi / 3 * np.arange(3)]
    lower = [Body(1.0, Ball(r), (*xy, r)) for xy in ring]
    return Scene([floor(), *lower, Body(1.0, Ball(r), (0, 0, r + 2 * r * np.sqrt(2 / 3)))], friction=mu)


# Half of the angle between the line of centres and the vertical, tan(angle) = 1 / sqrt 2: the force between two
# spheres must pass through the lower one's point on the ground, for no other force has a moment about it.
PYRAMID = np.sqrt(3) - np.sqrt(2)

# Arch -------------------------------------------------------------------------------------------------------

STONES, RATIO = 9, 0.15


def _stone(stones: int = STONES) -> tuple[Hull, np.ndarray]:
    """A wedge about its centre of mass, and the centre's place when the stone is the arch's crown."""
    half = np.pi / stones / 2
    radii = (1 - RATIO / 2, 1 + RATIO / 2)
    corners = np.array([(r * np.sin(s), y, r * np.cos(s)) for r in radii for s in (-half, half) for y in (-0.1, 0.1)])
    shape = Hull(corners, np.ones(3))
    inertia = kido.Inertia.from_shape(kido.Mesh(corners, shape.triangles()), mass=1.0)
    centre = np.array(inertia.com)
    return Hull(corners - centre, np.diag(inertia.moment).copy()), centre


def arch(mu: float) -> Scene:
    """A half circle of mean radius 1 m and thickness 0.15 m, of nine stones whose joints point to the centre."""
    stone, centre = _stone()
    bodies = []
    for k in range(STONES):
        turn = np.array([0, np.pi / 2 - np.pi * (k + 0.5) / STONES, 0])
        bodies.append(Body(10.0, stone, Rotation.from_rotvec(turn).apply(centre), tuple(turn)))
    return Scene([floor(), *bodies], friction=mu)


def arch_truth(stones: int = STONES) -> float:
    """Least friction for which forces at the joints' edges can hold every stone: a linear program per coefficient.

    0.3657 for many stones.
    """
    _, centre = _stone(stones)
    angles = np.pi * np.arange(stones + 1) / stones
    rows = np.zeros((3 * stones, 3 * (stones + 1)))  # unknown per joint: two normal forces, one tangential
    load = np.zeros(3 * stones)
    for k in range(stones):
        middle = 0.5 * (angles[k] + angles[k + 1])
        com = centre[2] * np.array([np.cos(middle), np.sin(middle)])
        load[3 * k + 1] = 1.0
        for joint, sign in ((k, 1.0), (k + 1, -1.0)):
            radial = np.array([np.cos(angles[joint]), np.sin(angles[joint])])
            along = sign * np.array([-radial[1], radial[0]])
            for column, (radius, force) in enumerate(
                ((1 - RATIO / 2, along), (1 + RATIO / 2, along), (1.0, sign * radial))
            ):
                arm = radius * radial - com
                moment = arm[0] * force[1] - arm[1] * force[0]
                rows[3 * k : 3 * k + 3, 3 * joint + column] = (*force, moment)

    def possible(mu: float) -> bool:
        cone = np.zeros((2 * (stones + 1), rows.shape[1]))
        for joint in range(stones + 1):
            cone[2 * joint, 3 * joint : 3 * joint + 3] = (-mu, -mu, 1.0)
            cone[2 * joint + 1, 3 * joint : 3 * joint + 3] = (-mu, -mu, -1.0)
        bounds = [(0, None), (0, None), (None, None)] * (stones + 1)
        return linprog(np.zeros(rows.shape[1]), cone, np.zeros(len(cone)), rows, load, bounds).status == 0

    low, high = 0.1, 1.0
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if possible(middle) else (middle, high)
    return high


def cases() -> list[Case]:
    """All of this family."""
    return [
        Case(
            "ladder at 57 degrees: critical friction", ladder_truth(),
            lambda m: critical(m, ladder, 2, 500, 0.1, 0.6),
        ),
        Case("pyramid of four spheres: critical friction", PYRAMID, lambda m: critical(m, pyramid, 4, 500, 0.1, 0.6)),
        Case(
            "arch of nine stones, t/R = 0.15: critical friction", arch_truth(),
            lambda m: critical(m, arch, 1 + STONES // 2, 500, 0.2, 0.8), long=True,
        ),
    ]  # fmt: skip
