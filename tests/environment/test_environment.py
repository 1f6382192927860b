"""Gravity, air, orbits, the Sun, magnetic fields and terrain: tables, identities and integrated motion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kido
from kido import environment as env
from kido.errors import ModelError, StateError

MU, J2, RE = 3.986004415e14, 1.0826269e-3, 6378136.3
DAY = 86400.0
RNG = np.random.default_rng(3)


def gradient(f, r: np.ndarray, h: float) -> np.ndarray:
    return np.stack([(f(r + h * e) - f(r - h * e)) / (2.0 * h) for e in np.eye(3)], axis=-1)


def harmonics(degree: int) -> env.SphericalHarmonics:
    """Some planet: the Earth's size, large random coefficients."""
    C, S = (np.tril(1e-2 * RNG.normal(size=(degree + 1, degree + 1))) for _ in range(2))
    C[0, 0], S[:, 0] = 1.0, 0.0
    return env.SphericalHarmonics(MU, RE, C, S)


def test_gravity_of_a_ball_and_of_a_far_body():
    r = np.array([[7e6, 0.0, 0.0], [0.0, -3e6, 4e6]])
    a = env.point_mass_gravity(r, MU)
    np.testing.assert_allclose(np.linalg.norm(a, axis=1), MU / np.array([7e6, 5e6]) ** 2, rtol=1e-14)
    np.testing.assert_allclose(np.cross(a, r), 0.0, atol=1e-8)
    moon, far = 4.9028e12, np.array([3.844e8, 0.0, 0.0])
    tide = env.third_body_gravity([7e6, 0.0, 0.0], far, moon)
    np.testing.assert_allclose(tide[0], 2.0 * moon * 7e6 / 3.844e8**3, rtol=0.03)  # first order in r/s
    np.testing.assert_allclose(env.third_body_gravity([0.0, 0.0, 0.0], far, moon), 0.0, atol=1e-20)


def test_oblate_gravity_is_that_of_its_harmonic():
    """Unnormalized C_20 = -J2."""
    C = np.zeros((3, 3))
    C[0, 0], C[2, 0] = 1.0, -J2
    planet = env.SphericalHarmonics(MU, RE, C, np.zeros((3, 3)), normalized=False)
    r = 7e6 * RNG.normal(size=(20, 3))
    np.testing.assert_allclose(env.oblate_gravity(r, MU, J2, RE), planet.acceleration(r), rtol=1e-12)
    C[2, 0] = -J2 / math.sqrt(5.0)
    whole = env.SphericalHarmonics(MU, RE, C, np.zeros((3, 3)))
    np.testing.assert_allclose(whole.acceleration(r), planet.acceleration(r), rtol=1e-13)


def test_harmonics_are_the_gradient_of_a_potential_without_sources():
    planet, r = harmonics(6), np.array([5.1e6, -4.2e6, 4.7e6])
    a = planet.acceleration(r)
    assert planet.degree == 6
    # Central differences of a step of 100 m: 1e-10 by truncation, 1e-9 by rounding of U.
    np.testing.assert_allclose(gradient(planet.potential, r, 100.0), a, rtol=1e-7)
    G = gradient(planet.acceleration, r, 100.0)
    assert abs(np.trace(G)) < 1e-7 * np.abs(G).max()  # Laplace
    np.testing.assert_allclose(G, G.T, atol=1e-7 * np.abs(G).max())
    np.testing.assert_allclose(planet.acceleration([r, 2 * r])[0], a, rtol=1e-15)


def test_a_two_body_orbit_after_ten_seconds():
    """Basilisk's test of gravity; see also the integrated motion."""
    r = np.array([-4020338.690396649, 7490566.741852513, 5248299.211589362])
    v = np.array([-5199.77710904224, -3436.681645356935, 1041.576797498721])
    elements = env.KeplerElements.from_state(r, v, MU)
    later, speed = elements.after(10.0, MU).state(MU)
    np.testing.assert_allclose(later, [-4072255.7737936215, 7456050.4649078, 5258610.029627514], rtol=2e-14, atol=1e-7)
    f = lambda t, y: np.r_[y[3:], env.point_mass_gravity(y[:3], MU)]  # noqa: E731
    end = solve_ivp(f, (0.0, 10.0), np.r_[r, v], "DOP853", rtol=1e-13, atol=1e-6).y[:, -1]
    np.testing.assert_allclose(np.r_[later, speed], end, rtol=1e-11)


@pytest.mark.parametrize("e", [0.0, 0.01, 0.74, 0.99])
@pytest.mark.parametrize("i", [0.0, 0.3, 2.9])
def test_elements_to_states_and_back(e: float, i: float):
    node, perigee = (0.0 if i == 0.0 else 1.1), (0.0 if e == 0.0 else 4.0)
    elements = env.KeplerElements(2.66e7, e, i, node, perigee, 2.5)
    back = env.KeplerElements.from_state(*elements.state(MU), MU)
    assert back.semi_major_axis == pytest.approx(2.66e7, rel=1e-12)
    mine, theirs = ([x.eccentricity, x.inclination, x.node, x.perigee, x.true_anomaly] for x in (elements, back))
    np.testing.assert_allclose(theirs, mine, atol=2e-7)  # acos loses half of the digits near 0 and pi
    r, v = elements.state(MU)
    np.testing.assert_allclose(np.r_[back.state(MU)], np.r_[elements.state(MU)], rtol=1e-6)
    assert 0.5 * v @ v - MU / np.linalg.norm(r) == pytest.approx(-MU / (2 * 2.66e7), rel=1e-11)
    whole = elements.after(elements.period(MU), MU)
    np.testing.assert_allclose(whole.true_anomaly, 2.5, atol=1e-9)


def test_keplers_equation():
    for e in (0.0, 0.3, 0.9, 0.999):
        for M in np.linspace(-20.0, 20.0, 41):
            E = env.kepler_equation(M, e)
            assert E - e * math.sin(E) == pytest.approx(M, abs=2e-14)


@pytest.mark.parametrize(
    ("a", "e", "i", "node", "perigee"),
    [
        (7.0e6, 0.0, 45.0, -5.0875043, None),
        (7.0e6, 0.01, 98.0, 1.00152537, -3.2496649),
        (2.66e7, 0.74, 63.4349, -0.146976447, 5.6e-7),
    ],
)
def test_rates_of_node_and_perigee(a: float, e: float, i: float, node: float, perigee: float | None):
    rates = env.j2_rates(env.KeplerElements(a, e, math.radians(i)), MU, J2, RE)
    node_rate, perigee_rate = (math.degrees(rate) * DAY for rate in rates)
    assert node_rate == pytest.approx(node, rel=1e-8)
    if perigee is not None:
        assert perigee_rate == pytest.approx(perigee, rel=1e-7, abs=1e-8)


def test_integrated_motion_has_the_mean_rate_of_the_node():
    """Ten turns about the flattened Earth. The formula is of first order in J2: 1e-3 of it is left out."""
    elements = env.KeplerElements(7.0e6, 0.001, math.radians(45.0))
    time = 10.0 * elements.period(MU)
    f = lambda t, y: np.r_[y[3:], env.oblate_gravity(y[:3], MU, J2, RE)]  # noqa: E731
    y = solve_ivp(f, (0.0, time), np.r_[elements.state(MU)], "DOP853", rtol=1e-11, atol=1e-4, dense_output=True).sol
    times = np.linspace(0.0, time, 400)
    nodes = [env.KeplerElements.from_state(*np.split(y(t), 2), MU).node for t in times]
    slope = np.polyfit(times, np.unwrap(nodes), 1)[0]
    assert slope == pytest.approx(env.j2_rates(elements, MU, J2, RE)[0], rel=0.01)


def test_air_of_the_standard_of_1976():
    """Table of the standard at geopotential heights of the layers' bases, five digits printed."""
    H = np.array([0.0, 11000.0, 20000.0, 32000.0, 47000.0, 51000.0, 71000.0])
    air = env.us_standard_1976(6356766.0 * H / (6356766.0 - H))
    np.testing.assert_allclose(air.temperature, [288.15, 216.65, 216.65, 228.65, 270.65, 270.65, 214.65], rtol=1e-9)
    p = [101325.0, 22632.0, 5474.8, 868.01, 110.90, 66.938, 3.9564]
    np.testing.assert_allclose(air.pressure, p, rtol=1.5e-4)
    np.testing.assert_allclose(air.density[:4], [1.2250, 0.36391, 0.088034, 0.013225], rtol=1.5e-4)
    assert air.speed_of_sound[0] == pytest.approx(340.294, abs=1e-3)
    # Hydrostatic balance dp/dh = -rho g (R/(R + h))^2 within each layer.
    h = np.array([3e3, 15e3, 25e3, 40e3, 49e3, 60e3, 80e3])
    slope = (env.us_standard_1976(h + 1).pressure - env.us_standard_1976(h - 1).pressure) / 2.0
    g = 9.80665 * (6356766.0 / (6356766.0 + h)) ** 2
    np.testing.assert_allclose(slope, -env.us_standard_1976(h).density * g, rtol=1e-6)


@pytest.mark.parametrize("ballistic", [50.0, 400.0])
def test_entry_brakes_as_allen_and_eggers_say(ballistic: float):
    """a_max = V^2 sin(gamma) / (2 e H) on a straight way, whatever the ballistic coefficient."""
    V, gamma, H = 7000.0, math.radians(20.0), 7200.0

    def fall(t: float, y: np.ndarray) -> list[float]:
        return [-y[1] * math.sin(gamma), -float(env.exponential_density(y[0], 1.225, H)) * y[1] ** 2 / (2 * ballistic)]

    motion = solve_ivp(fall, (0.0, 80.0), [120e3, V], "DOP853", rtol=1e-10, atol=1e-6, max_step=0.05)
    peak = max(-fall(0.0, y)[1] for y in motion.y.T)
    assert V**2 * math.sin(gamma) / (2 * math.e * H) == pytest.approx(428.1449, abs=1e-4)
    assert peak == pytest.approx(428.1449, rel=1e-4)  # it begins at 120 km, not without any air


def test_the_sun_on_a_day_of_meeus():
    """Astronomical Algorithms, example 25.a, 13 October 1992: longitude 199.90988, distance 0.99766."""
    r = env.sun_position(2448908.5)
    tilt = math.radians(23.44023)
    longitude = math.degrees(math.atan2(r[1] * math.cos(tilt) + r[2] * math.sin(tilt), r[0])) % 360.0
    assert longitude == pytest.approx(199.90988, abs=0.01)
    assert np.linalg.norm(r) / 149597870700.0 == pytest.approx(0.99766, abs=3e-4)


def test_sunlight_behind_a_planet():
    sun = np.array([1.496e11, 0.0, 0.0])
    assert env.sunlight([7e6, 0.0, 0.0], sun, RE) == 1.0
    assert env.sunlight([-7e6, 0.0, 0.0], sun, RE) == 0.0
    # Just where the planet's edge goes through the middle of the Sun, half is seen: its edge is all but straight.
    d = 7e6
    edge = np.array([-math.sqrt(d * d - RE * RE), RE, 0.0])
    assert env.sunlight(edge, edge + sun, RE) == pytest.approx(0.5, abs=1e-3)
    shares = env.sunlight([[-6e6, y, 0.0] for y in np.linspace(6.0e6, 6.7e6, 50)], sun, RE)
    assert (np.diff(shares) >= 0.0).all() and shares[0] == 0.0 and shares[-1] == 1.0
    # From far behind, the planet is a small disk before the Sun: it hides its share of the area.
    far = np.array([-1.5e10, 0.0, 0.0])
    hidden = (math.asin(RE / 1.5e10) / math.asin(695700e3 / (1.496e11 + 1.5e10))) ** 2
    assert env.sunlight(far, sun, RE) == pytest.approx(1.0 - hidden, rel=1e-12)


def test_dipole_field():
    m = 6371200.0**3 * 3.0e-5 * np.array([0.0, 0.0, -1.0])
    pole, equator = env.dipole_field([[0.0, 0.0, 6371200.0], [6371200.0, 0.0, 0.0]], m)
    np.testing.assert_allclose(pole, [0.0, 0.0, -6.0e-5], rtol=1e-12, atol=1e-20)
    np.testing.assert_allclose(equator, [0.0, 0.0, 3.0e-5], rtol=1e-12, atol=1e-20)
    G = gradient(lambda r: env.dipole_field(r, m), np.array([5e6, -3e6, 4e6]), 100.0)
    assert abs(np.trace(G)) < 1e-8 * np.abs(G).max()  # no sources
    np.testing.assert_allclose(G, G.T, atol=1e-8 * np.abs(G).max())  # no currents


def test_terrain_is_as_rough_as_it_is_said_to_be():
    ground = env.fractal_terrain((256, 192), 0.1, 0.3, seed=5, hurst=0.7)
    assert isinstance(ground, kido.Heightmap) and ground.spacing == (0.1, 0.1)
    assert ground.heights.std() == pytest.approx(0.3, rel=1e-12) and abs(ground.heights.mean()) < 1e-12
    np.testing.assert_array_equal(ground.heights, env.fractal_terrain((256, 192), 0.1, 0.3, 5, 0.7).heights)
    assert (ground.heights != env.fractal_terrain((256, 192), 0.1, 0.3, 6, 0.7).heights).any()
    power = np.abs(np.fft.rfft2(ground.heights)) ** 2
    k = np.hypot(np.fft.fftfreq(256)[:, None], np.fft.rfftfreq(192)[None, :])
    band = (k > 0.02) & (k < 0.4)
    # Single values scatter as an exponential distribution does; the slope of 12,000 of them by some 0.02.
    assert np.polyfit(np.log(k[band]), np.log(power[band]), 1)[0] == pytest.approx(-(2 * 0.7 + 2.0), abs=0.1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: env.point_mass_gravity([0, 0, 0], MU), StateError, "not the centre"),
        (lambda: env.point_mass_gravity([1, 2], MU), StateError, r"\(..., 3\)"),
        (lambda: env.point_mass_gravity([1, 2, math.nan], MU), StateError, "finite"),
        (lambda: env.point_mass_gravity([1, 2, 3], -1.0), ModelError, "mu: expected a positive number"),
        (lambda: env.oblate_gravity([1, 2, 3], MU, math.nan, RE), ModelError, "j2"),
        (lambda: env.SphericalHarmonics(MU, RE, np.eye(3), np.eye(2)), ModelError, "equal square arrays"),
        (lambda: env.SphericalHarmonics(MU, RE, [[math.inf]], [[0.0]]), ModelError, "finite"),
        (lambda: env.us_standard_1976(9e4), StateError, "-5000 to 86000 m"),
        (lambda: env.us_standard_1976(math.nan), StateError, "finite"),
        (lambda: env.exponential_density(0.0, 1.2, 0.0), ModelError, "scale_height"),
        (lambda: env.kepler_equation(1.0, 1.0), ModelError, "0 <= e < 1"),
        (lambda: env.KeplerElements(7e6, 1.2), ModelError, "eccentricity"),
        (lambda: env.KeplerElements(7e6, 0.1, -1.0), ModelError, "inclination"),
        (lambda: env.KeplerElements(-7e6), ModelError, "semi_major_axis"),
        (lambda: env.KeplerElements(7e6, node=math.inf), ModelError, "node"),
        (lambda: env.KeplerElements.from_state([7e6, 0, 0], [0, 2e4, 0], MU), StateError, "expected an ellipse"),
        (lambda: env.KeplerElements.from_state([7e6, 0, 0], [10.0, 0, 0], MU), StateError, "expected an ellipse"),
        (lambda: env.sun_position("today"), ModelError, "julian_date"),
        (lambda: env.sunlight([1, 0, 0], [1, 0, 0], RE), StateError, "sun seen from position"),
        (lambda: env.dipole_field([1, 0, 0], [1, 0]), ModelError, "moment"),
        (lambda: env.fractal_terrain((1, 5), 0.1, 0.1), ModelError, "shape"),
        (lambda: env.fractal_terrain((4, 5), 0.1, 0.1, hurst=1.5), ModelError, "hurst"),
        (lambda: env.fractal_terrain((4, 5), 0.1, 0.1, seed=-1), ModelError, "seed"),
    ],
)
def test_bad_input_is_refused_by_name(call, error: type, words: str):
    with pytest.raises(error, match=words):
        call()
