"""Air, sun, magnetic field and terrain, against published tables and closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kido
from kido.environment import (
    Atmosphere,
    Buoyancy,
    Wind,
    add_crater,
    drag,
    exponential_density,
    magnetic_dipole,
    plate_force,
    read_heights,
    read_terrain,
    rough_heights,
    standard_atmosphere,
    submerged_sphere,
    sun_position,
    sunlight,
    wing_force,
)  # fmt: skip
from kido.environment.planets import ASTRONOMICAL_UNIT, EARTH, SUN_RADIUS
from kido.systems import BodyPort, Constant, System


@pytest.mark.parametrize(
    "height, temperature, pressure, density",
    [  # U.S. Standard Atmosphere 1976, table I, geometric heights
        (0, 288.150, 1.01325e5, 1.2250),
        (5000, 255.676, 5.4048e4, 7.3643e-1),
        (11000, 216.774, 2.2700e4, 3.6480e-1),
        (20000, 216.650, 5.5293e3, 8.8910e-2),
        (40000, 250.350, 2.8714e2, 3.9957e-3),
        (50000, 270.650, 7.9779e1, 1.0269e-3),
        (70000, 219.585, 5.2209, 8.2829e-5),
        (80000, 198.639, 1.0524, 1.8458e-5),
    ],
)
def test_standard_atmosphere(height, temperature, pressure, density) -> None:
    """To one of the last of the table's five digits."""
    air = standard_atmosphere(height)
    assert air.temperature == pytest.approx(temperature, rel=5e-6)
    assert air.pressure == pytest.approx(pressure, rel=1e-4)
    assert air.density == pytest.approx(density, rel=1e-4)


@pytest.mark.parametrize(
    "height, temperature, pressure, density",
    [  # the same above 86 km, on knots of the spline and between
        (86, 186.87, 3.7338e-1, 6.958e-6), (100, 195.08, 3.2011e-2, 5.604e-7), (110, 240.00, 7.1042e-3, 9.708e-8),
        (120, 360.00, 2.5382e-3, 2.222e-8), (130, 469.27, 1.2505e-3, 8.152e-9), (150, 634.39, 4.5422e-4, 2.076e-9),
        (180, 790.07, 1.5271e-4, 5.194e-10), (200, 854.56, 8.4736e-5, 2.541e-10), (300, 976.01, 8.7704e-6, 1.916e-11),
        (500, 999.24, 3.0236e-7, 5.215e-13), (700, 999.97, 3.1908e-8, 3.070e-14), (1000, 1000.00, 7.5138e-9, 3.561e-15),
    ],
)  # fmt: skip
def test_standard_atmosphere_where_gases_part(height, temperature, pressure, density) -> None:
    air = standard_atmosphere(1e3 * height)
    assert air.temperature == pytest.approx(temperature, abs=6e-3)
    assert air.pressure == pytest.approx(pressure, rel=1e-3)
    assert air.density == pytest.approx(density, rel=1e-3)


def test_the_thermosphere_carries_itself() -> None:
    """dp/dz = -rho g(z) between knots too: above 120 km gases are in equilibrium of their own, below nearly.

    Splines are off by 3e-3 of the values, and by as much in a scale height of their slopes: 2 %.
    """
    z = 1e3 * np.concatenate([np.linspace(86.5, 130.0, 60), np.linspace(131.0, 999.0, 200)])
    slope = (standard_atmosphere(z + 10).pressure - standard_atmosphere(z - 10).pressure) / 20.0
    g = 9.80665 * (6356766.0 / (6356766.0 + z)) ** 2
    np.testing.assert_allclose(slope, -standard_atmosphere(z).density * g, rtol=2e-2)
    # Neither jumps at 86 km, but for the temperature, which is that of molecules below: 0.04 %.
    below, above = standard_atmosphere(85999.99), standard_atmosphere(86000.01)
    assert above.density == pytest.approx(below.density, rel=5e-4)
    assert above.pressure == pytest.approx(below.pressure, rel=1e-4)
    assert above.temperature == pytest.approx(below.temperature, rel=5e-4)
    far = standard_atmosphere(1200e3)  # by the scale height of 1000 km, some 270 km
    assert far.density == pytest.approx(3.561e-15 * np.exp(-200.0 / 270.0), rel=0.1)


def test_the_atmosphere_of_a_model_is_that_of_arrays() -> None:
    """To 1e-9: sums of cubes over 900 km lose six digits to rounding."""
    system, heights = System(), (50e3, 95e3, 400e3, 1100e3)
    for k, height in enumerate(heights):
        given = system.add(Constant(f"height_{k}", height, "m"))
        system.connect(given.value, system.add(Atmosphere(f"air_{k}")).height)
    system.run(0.0)
    air = standard_atmosphere(np.array(heights))
    for k in range(len(heights)):
        assert system[f"air_{k}.density"].value == pytest.approx(air.density[k], rel=1e-9)
        assert system[f"air_{k}.speed_of_sound"].value == pytest.approx(air.speed_of_sound[k], rel=1e-9)


def test_standard_atmosphere_is_in_equilibrium() -> None:
    """dp/dz = -rho g(z), by central differences of 1 m, also across layers and above the top."""
    z = np.array([500.0, 10999, 15000, 20100, 33000, 47400, 51500, 72000, 85000])
    slope = (standard_atmosphere(z + 1).pressure - standard_atmosphere(z - 1).pressure) / 2.0
    g = 9.80665 * (6356766.0 / (6356766.0 + z)) ** 2
    np.testing.assert_allclose(slope, -standard_atmosphere(z).density * g, rtol=2e-6)
    assert standard_atmosphere(0.0).speed_of_sound == pytest.approx(340.294, rel=1e-6)
    assert standard_atmosphere(0.0).viscosity == pytest.approx(1.7894e-5, rel=1e-4)


def test_entry_of_allen_and_eggers() -> None:
    """Greatest deceleration V^2 sin(gamma) / (2 e H) of a straight path from afar, whatever the drag."""
    V, gamma, H, k = 7000.0, np.radians(20.0), 7200.0, 4e-3  # k: C_D A / (2 m)

    def rates(_, y):
        z, v = y
        return [-v * np.sin(gamma), drag(np.array([v, 0, 0]), exponential_density(z, 1.225, H), 2.0 * k, 1.0)[0]]

    path = solve_ivp(rates, (0, 90), [200e3, V], rtol=1e-10, atol=1e-6, max_step=0.02)
    most = max(-rates(0, y)[1] for y in path.y.T)
    assert most == pytest.approx(428.1449, rel=1e-5)


def test_plates_and_wings() -> None:
    n = np.array([0.0, 0.0, 1.0])
    for angle in (0.1, 0.7, 1.5, -0.4):
        v = 50.0 * np.array([np.cos(angle), 0.0, -np.sin(angle)])
        f = plate_force(v, 1.2, n, 2.0)
        np.testing.assert_allclose(f, [0, 0, np.sign(angle) * 1.2 * 2.0 * (50.0 * np.sin(angle)) ** 2], rtol=1e-12)
    q = 0.5 * 1.2 * 50.0**2 * 2.0
    stalled = 2 * np.sin(1.2) * np.cos(1.2), 0.02 + 2 * np.sin(1.2) ** 2
    for angle, lift, resist in ((0.05, 5.0 * np.sin(0.05) * np.cos(0.05), 0.02), (1.2, *stalled)):
        v = 50.0 * np.array([np.cos(angle), 0.0, -np.sin(angle)])
        f = wing_force(v, 1.2, np.array([1.0, 0, 0]), n, 2.0, 5.0, 0.25, 0.02)
        along = v / 50.0
        across = np.array([np.sin(angle), 0.0, np.cos(angle)])
        assert f @ across == pytest.approx(q * lift, rel=1e-3)
        assert -f @ along == pytest.approx(q * resist, rel=1e-2)


def test_a_ball_floats_where_it_weighs_what_it_displaces() -> None:
    world = kido.World(time_step=1e-3)
    ball = kido.Skeleton("ball")
    ball.add_body("ball", kido.TranslationalJoint(), inertia=kido.Inertia(200.0))
    world.add_skeleton(ball)
    ball.joint(0).damping = 300.0
    ball.positions = [0, 0, 0.3]
    system = System(world=world)
    port, water = system.add(BodyPort(ball.body(0), name="port")), system.add(Buoyancy(radius=0.5))
    for name in ("position", "velocity"):
        system.connect(port.port(name), water.port(name))
    system.connect(water.force, port.force)
    system.run(60.0)
    assert submerged_sphere(-ball.positions[2], 0.5) == pytest.approx(0.2, rel=1e-9)
    assert submerged_sphere(0.5, 0.5) == pytest.approx(4 / 3 * np.pi * 0.125)
    assert submerged_sphere(-0.6, 0.5) == 0.0


def test_gusts_have_the_deviation_that_was_asked_for() -> None:
    wind = Wind(rate=10, mean=(3.0, 0, 0), gusts=2.0, memory=1.0)
    system = System(step=0.1)
    system.add(wind)
    found = []
    for _ in range(15_000):
        system.run(0.1)
        found.append(wind.wind.value)
    np.testing.assert_allclose(np.std(found, axis=0), 2.0, rtol=0.06)
    np.testing.assert_allclose(np.mean(found, axis=0), [3, 0, 0], atol=0.2)


@pytest.mark.parametrize(
    "julian_date, right_ascension, declination",
    # Equinoxes and solstices of 2024: March 20, 3:06; June 20, 20:51; September 22, 12:44; December 21, 9:21.
    [(2460389.629, 0.0, 0.0), (2460482.369, 90.0, 23.437), (2460576.031, 180.0, 0.0), (2460665.890, 270.0, -23.437)],
)
def test_the_sun_s_year(julian_date, right_ascension, declination) -> None:
    s = sun_position(julian_date)
    assert np.degrees(np.arcsin(s[2] / np.linalg.norm(s))) == pytest.approx(declination, abs=0.01)
    away = (np.degrees(np.arctan2(s[1], s[0])) - right_ascension + 180.0) % 360.0 - 180.0
    assert away == pytest.approx(0.0, abs=0.02)


def test_the_sun_s_distance() -> None:
    """Least at perihelion, January 3, 2024: 0.98330 au; greatest at aphelion, July 5: 1.01672 au."""
    assert np.linalg.norm(sun_position(2460312.53)) / ASTRONOMICAL_UNIT == pytest.approx(0.98330, abs=2e-5)
    assert np.linalg.norm(sun_position(2460496.71)) / ASTRONOMICAL_UNIT == pytest.approx(1.01672, abs=2e-5)


def test_shadow_of_a_planet() -> None:
    """Behind it none, beside it all, half of the disk where the limb passes its centre; a ring where it is small."""
    sun = np.array([ASTRONOMICAL_UNIT, 0.0, 0.0])
    behind = -7e6
    assert sunlight(np.array([behind, 0, 0]), sun, EARTH.radius) == 0.0
    assert sunlight(np.array([7e6, 0, 0]), sun, EARTH.radius) == 1.0
    assert sunlight(np.array([behind, 8e6, 0]), sun, EARTH.radius) == 1.0
    limb = np.array([behind, EARTH.radius * np.sqrt(1.0 - (EARTH.radius / 7e6) ** 2), 0.0])
    angle = np.arcsin(EARTH.radius / 7e6)
    edge = 7e6 * np.array([-np.cos(angle), np.sin(angle), 0.0])
    assert sunlight(edge, sun, EARTH.radius) == pytest.approx(0.5, abs=1e-2)  # the limb is nearly straight there
    assert 0.0 <= sunlight(limb, sun, EARTH.radius) <= 1.0
    far = np.array([-4e9, 0.0, 0.0])
    ring = 1.0 - (np.arcsin(EARTH.radius / 4e9) / np.arcsin(SUN_RADIUS / (ASTRONOMICAL_UNIT + 4e9))) ** 2
    assert sunlight(far, sun, EARTH.radius) == pytest.approx(ring, rel=1e-9)


def test_magnetic_dipole() -> None:
    """Without sources: its divergence and curl vanish; twice as strong at the poles as at the equator."""
    r, e = np.array([5e6, 3e6, 4e6]), 10.0
    J = np.array([(magnetic_dipole(r + d) - magnetic_dipole(r - d)) / (2 * e) for d in e * np.eye(3)])
    assert abs(np.trace(J)) < 1e-6 * abs(J).max()
    assert abs(J - J.T).max() < 1e-6 * abs(J).max()
    pole = np.array([-1450.9, 4652.5, -29404.8]) / np.linalg.norm([-1450.9, 4652.5, -29404.8])
    across = np.cross(pole, [1.0, 0, 0])
    across /= np.linalg.norm(across)
    sizes = [np.linalg.norm(magnetic_dipole(6371200.0 * d)) for d in (pole, across)]
    assert sizes[0] == pytest.approx(2 * sizes[1], rel=1e-12)
    assert sizes[1] == pytest.approx(2.98e-5, rel=2e-3)


def test_rough_ground_has_its_deviation_and_spectrum() -> None:
    """Mean power over rings of wave numbers falls as k^-(beta + 1): the slope of a fit within 0.1."""
    h = rough_heights(256, 256, deviation=0.3, exponent=2.0, seed=5)
    assert h.std() == pytest.approx(0.3, rel=1e-12)
    power = abs(np.fft.fft2(h)) ** 2
    k = np.hypot(np.fft.fftfreq(256)[:, None], np.fft.fftfreq(256)[None, :]).ravel()
    edges = np.geomspace(0.02, 0.4, 12)
    rings = [power.ravel()[(k >= a) & (k < b)].mean() for a, b in pairwise(edges)]
    slope = np.polyfit(np.log(np.sqrt(edges[:-1] * edges[1:])), np.log(rings), 1)[0]
    assert slope == pytest.approx(-3.0, abs=0.15)
    np.testing.assert_array_equal(h, rough_heights(256, 256, deviation=0.3, exponent=2.0, seed=5))
    with pytest.raises(kido.ModelError, match="deviation"):
        rough_heights(4, 4, deviation=0.0)
    with pytest.raises(kido.ModelError, match="rows: expected a whole number from 2 on, got 1"):
        rough_heights(1, 4)
    for wrong in ({"rows": 4.5}, {"seed": -1}, {"exponent": np.nan}, {"columns": "a"}):
        with pytest.raises(kido.ModelError, match=f"rough_heights: {next(iter(wrong))}: expected"):
            rough_heights(**{"rows": 4, "columns": 4, **wrong})


def test_crater() -> None:
    """Depth 0.4 r below the rim, which is 0.08 r high; r = 5 m."""
    h = add_crater(np.zeros((101, 101)), 0.5, (5.0, -5.0), 5.0)
    terrain = kido.Heightmap(h, 0.5)
    assert terrain.height_at(5.0, -5.0) == pytest.approx(-0.32 * 5.0)
    assert terrain.height_at(10.0, -5.0) == pytest.approx(0.08 * 5.0)
    assert terrain.height_at(-5.0, -5.0) == pytest.approx(0.08 * 5.0 / 8.0)
    for heights, spacing, place, radius in (
        (np.zeros(9), 0.5, (0, 0), 1.0), (h, 0.0, (0, 0), 1.0), (h, 0.5, (0, 0, 0), 1.0), (h, 0.5, (0, 0), np.nan),
    ):  # fmt: skip
        with pytest.raises(kido.ModelError, match="add_crater"):
            add_crater(heights, spacing, place, radius)


def test_heights_of_files(tmp_path) -> None:
    heights = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "a.npy", heights)
    np.testing.assert_array_equal(read_heights(tmp_path / "a.npy")[0], heights)
    text = "ncols 4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 2.5\nNODATA_value -9999\n"
    (tmp_path / "b.asc").write_text(text + "8 9 10 11\n4 5 6 7\n-9999 1 2 3\n")
    found, spacing = read_heights(tmp_path / "b.asc")
    assert spacing == 2.5
    np.testing.assert_array_equal(found, [[1, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
    terrain = read_terrain(tmp_path / "b.asc", scale=2.0)
    assert terrain.height_at(-3.75, 2.5) == 16.0
    images = pytest.importorskip("PIL.Image")
    images.fromarray(np.array([[0, 255], [51, 102]], np.uint8)).save(tmp_path / "c.png")
    np.testing.assert_allclose(read_heights(tmp_path / "c.png")[0], [[0.2, 0.4], [0.0, 1.0]])
    with pytest.raises(kido.FileFormatError, match=r"c\.png: it does not say how far points are apart"):
        read_terrain(tmp_path / "c.png")


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.asc", "ncols 2\nnrows x\n", r"a\.asc:2: nrows: expected a number, got 'x'"),
        ("a.asc", "ncols 2\nnrows 2\n1 2\n3 4\n", "cellsize: expected a positive finite number .* got none"),
        ("a.asc", "ncols 2\nnrows 2\ncellsize 1\n1 2\n3 four\n", r"a\.asc:5: expected numbers, got '3 four'"),
        ("a.asc", "ncols 2\nnrows 2\ncellsize 1\n1 2\n3\n", "expected 2 x 2 heights, got 3"),
        ("a.asc", "ncols 2\nnrows 2\ncellsize 1\n-9999 -9999\n-9999 -9999\n", "without data only"),
        ("a.npy", "nonsense", r"a\.npy: "),
        ("a.npy", "", r"a\.npy: "),
        ("a.asc", "ncols inf\nnrows 2\ncellsize 1\n1 2\n3 4\n", r"ncols: expected a positive whole number .* got inf"),
        ("a.asc", "ncols 2.7\nnrows 2\ncellsize 1\n1 2\n3 4\n", r"ncols: expected a positive whole number .* got 2.7"),
        ("a.asc", "ncols 2\nnrows 2\ncellsize inf\n1 2\n3 4\n", r"cellsize: expected a positive finite .* got inf"),
        ("a.png", "nonsense", r"a\.png: "),
        ("a.xyz", "", r"expected heights as \.npy, \.asc, \.png or \.tif, got '\.xyz'"),
    ],
)
def test_damaged_heights_are_named(tmp_path, name, text, message) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(kido.FileFormatError, match=message):
        read_heights(tmp_path / name)
    with pytest.raises(kido.FileFormatError):
        read_heights(tmp_path / "missing.npy")
