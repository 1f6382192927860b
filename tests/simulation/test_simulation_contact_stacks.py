"""Bodies that rest on one another: drift, sinking, forces, mass ratios, and what must fall."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import kido
import scenes
from kido import models
from scenes import G


def forces_below(world: kido.World, bodies: list[kido.Skeleton]) -> np.ndarray:
    """Vertical force on each body of a column from what is below it."""
    order = {id(s.bodies[0]): k for k, s in enumerate(bodies)}
    result = np.zeros(len(bodies))
    for contact in world.contacts:
        a, b = order.get(id(contact.body_a), -1), order.get(id(contact.body_b), -1)
        result[max(a, b)] += contact.force[2] if b > a else -contact.force[2]
    return result


COLUMNS = {
    "equal": [1.0] * 10,
    "top 100 times heavier": [1.0] * 9 + [100.0],
    "top 1000 times heavier": [1.0] * 9 + [1000.0],
    "1 kg under 1000 kg": [1.0, 1000.0],
    "doubling upwards": [2.0**k for k in range(10)],
    "doubling downwards": [2.0**-k for k in range(10)],
    "ten times heavier each": [10.0**k for k in range(5)],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_stands(name):
    """5 s: drift under 1e-5 m, sinking under 1e-6 m (what is asked: 1e-4 m), forces j m g to 1e-3.

    What is left comes from the tolerance of the solver, 1e-6 on impulses and 1e-6 m/s on speeds.
    """
    masses = COLUMNS[name]
    bodies = scenes.cubes(len(masses), masses=masses)
    world = scenes.world(*bodies)
    start = np.array([s.positions for s in bodies])
    world.step(5000)
    moved = np.array([s.positions for s in bodies]) - start
    assert np.abs(moved[:, 3:5]).max() < 1e-5
    assert moved[:, 5].min() > -1e-6
    assert np.abs(moved[:, :3]).max() < 1e-4
    assert world.totals.max_penetration < 2e-6
    weights = np.cumsum(masses[::-1])[::-1] * G
    np.testing.assert_allclose(forces_below(world, bodies), weights, rtol=1e-3)


def test_ten_boxes_for_ten_seconds_at_two_milliseconds():
    bodies = scenes.cubes(10)
    world = scenes.world(*bodies, time_step=2e-3)
    start = np.array([s.positions for s in bodies])
    world.step(5000)
    moved = np.array([s.positions for s in bodies]) - start
    assert np.abs(moved[:, 3:]).max() < 1e-5
    assert world.totals.converged


def test_a_column_that_falls_together_stands():
    bodies = scenes.cubes(10, gap=5e-3)
    world = scenes.world(*bodies)
    world.step(2000)
    for k, body in enumerate(bodies):
        np.testing.assert_allclose(scenes.place(body), [0, 0, 0.1 * k + 0.05], atol=1e-5)
    assert scenes.speed(bodies) < 1e-4


def test_a_heavy_box_dropped_on_a_light_one():
    """1000 kg from 0.5 m on 1 kg: penetration at most speed times dt, and gone at rest."""
    light, heavy = scenes.cubes(2, masses=[1.0, 1000.0])
    heavy.positions = [0, 0, 0, 0, 0, 0.65]
    world = scenes.world(light, heavy)
    world.step(2000)
    assert world.totals.max_penetration < np.sqrt(2 * G * 0.5) * 1e-3
    assert world.report.max_penetration < 1e-5
    np.testing.assert_allclose(scenes.place(heavy), [0, 0, 0.15], atol=1e-4)


def test_a_lattice_of_spheres_without_friction():
    """6 x 6 x 6 spheres of 10 kg, jittered: the sum of squared penetrations is 0 (MuJoCo: 1.5e-3 m^2)."""
    random = np.random.default_rng(0)
    balls = []
    for index in np.ndindex(6, 6, 6):
        position = 0.21 * np.array(index) + [0, 0, 0.101] + random.uniform(0, 1e-3, 3) * [1, 1, index[2] > 0]
        balls.append(scenes.free(kido.Sphere(0.1), 10.0, position, friction=0.0, name=f"ball{index}"))
    world = scenes.world(*balls, friction=0.0)
    energy = world.total_energy
    worst = 0.0
    for _ in range(200):
        world.step(10)
        worst = max(worst, float((np.minimum(world.contacts.gaps, 0.0) ** 2).sum()))
    drop = np.sqrt(2 * G * 1.1)  # no sphere falls farther
    assert world.totals.max_penetration < 1e-3 * drop
    assert worst < 2e-6
    assert (np.minimum(world.contacts.gaps, 0.0) ** 2).sum() < 1e-12
    assert world.total_energy < energy
    assert world.totals.residual < 1e-3


def test_three_spheres_on_the_ground_carry_a_fourth():
    """A pyramid of equal spheres stands iff mu between them exceeds sqrt 3 - sqrt 2 = 0.318.

    The moment about a lower sphere's point on the ground has only the upper contact's force in it, which must
    pass through that point: it halves the angle between the line of centres (35.26 degrees) and the vertical.
    """
    moved = {}
    for mu in (0.31, 0.33):
        r = 0.1
        ring = [2 * r / np.sqrt(3) * np.array([np.cos(a), np.sin(a)]) for a in 2 * np.pi / 3 * np.arange(3)]
        balls = [scenes.free(kido.Sphere(r), 1.0, (*xy, r), friction=mu, name=f"b{k}") for k, xy in enumerate(ring)]
        top = scenes.free(kido.Sphere(r), 1.0, (0, 0, r + 2 * r * np.sqrt(2 / 3)), friction=mu, name="top")
        world = scenes.world(*balls, top)
        world.step(500)
        moved[mu] = r + 2 * r * np.sqrt(2 / 3) - scenes.place(top)[2]
    assert moved[0.33] < 1e-5
    assert moved[0.31] > 1e-3


def arch(mu: float, stones: int = 9, thickness: float = 0.15) -> tuple[kido.World, list[kido.Skeleton]]:
    """A half circle of mean radius 1 and the given thickness, of equal stones whose joints point to the centre."""
    half = np.pi / stones / 2
    bodies = []
    for k in range(stones):
        angle = np.pi * (k + 0.5) / stones
        corners = np.array(  # about the centre of the circle, the stone's middle at the top
            [
                (r * np.sin(s), y, r * np.cos(s))
                for r in (1 - thickness / 2, 1 + thickness / 2)
                for s in (-half, half)
                for y in (-0.1, 0.1)
            ]
        )
        shape = hull(corners)
        turn = Rotation.from_rotvec([0, np.pi / 2 - angle, 0])
        bodies.append(scenes.free(shape, 10.0, (0, 0, 0), rotation=turn.as_rotvec(), friction=mu, name=f"s{k}"))
    return scenes.world(*bodies, friction=mu), bodies


def hull(points: np.ndarray) -> kido.Mesh:
    """Convex hull of points as a mesh."""
    found = ConvexHull(points)
    faces = np.array(
        [
            f if np.dot(np.cross(*(points[f[1:]] - points[f[0]])), e[:3]) > 0 else f[::-1]
            for f, e in zip(found.simplices, found.equations, strict=True)
        ]
    )
    return kido.Mesh(points, faces)


@pytest.mark.parametrize(("mu", "stands"), [(0.45, True), (0.30, False)])
def test_a_masonry_arch(mu, stands):
    """A half circle with t / R = 0.15 stands if mu exceeds 0.3657 (and slides at its feet if not)."""
    world, bodies = arch(mu)
    height = bodies[len(bodies) // 2].com[2]
    world.step(1000)
    drop = height - bodies[len(bodies) // 2].com[2]
    assert (drop < 1e-3) if stands else (drop > 1e-2)


def test_a_row_of_dominoes_falls():
    world = models.dominoes(12)
    dominoes = [s for s in world.skeletons if s.mobile]
    world.step(1500)
    tilt = [Rotation.from_rotvec(s.positions[:3].copy()).as_matrix()[2, 2] for s in dominoes]
    assert max(tilt) < 0.7
    assert scenes.speed(dominoes) < 0.5
    assert world.totals.max_penetration < 2e-3


@pytest.mark.parametrize(("lean", "falls"), [(0.001, True), (-0.001, False)])
def test_a_block_tips_over_its_edge_only_beyond_balance(lean, falls):
    """A block on its edge falls to the side on which its centre is."""
    size = np.array([0.1, 0.2, 0.3])
    balance = np.arctan2(size[0], size[2])
    tilt = balance + lean
    centre = 0.5 * np.hypot(size[0], size[2]) * np.cos(lean)
    block = scenes.free(kido.Box(tuple(size)), 1.0, (0, 0, centre), rotation=(0, tilt, 0))
    world = scenes.world(block)
    world.step(3000)
    upright = abs(Rotation.from_rotvec(block.positions[:3].copy()).as_matrix()[2, 2])
    assert upright == pytest.approx(0.0 if falls else 1.0, abs=1e-5)
    assert scenes.place(block)[2] == pytest.approx(size[0] / 2 if falls else size[2] / 2, abs=1e-5)
    assert scenes.speed([block]) < 1e-5
