"""Gravity and orbits, against closed forms, finite differences and published digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kido
from kido.environment import (
    EARTH,
    MOON,
    Orbit,
    Planet,
    PlanetGravity,
    SphericalHarmonics,
    clohessy_wiltshire,
    drag,
    gravity_gradient,
    hill_axes,
    magnetic_dipole,
    oblate,
    place_of,
    point_mass,
    position_of,
    sunlight,
    third_body,
    true_anomaly,
)  # fmt: skip
from kido.systems import Input, Model, State, System

MU = 3.986004415e14
DEGREES_A_DAY = np.degrees(1.0) * 86400.0


def test_two_bodies_after_ten_seconds() -> None:
    """Basilisk's test: 1e-14 of the position."""
    r = (-4020338.690396649, 7490566.741852513, 5248299.211589362)
    v = (-5199.77710904224, -3436.681645356935, 1041.576797498721)
    found, _ = Orbit.through(r, v, MU).after(10.0, MU).state(MU)
    np.testing.assert_allclose(found, (-4072255.7737936215, 7456050.4649078, 5258610.029627514), rtol=2e-14)


@pytest.mark.parametrize(
    "a, e, i, node, perigee",
    [
        (7000e3, 0.0, 45.0, -5.0875043, None),
        (7000e3, 0.01, 98.0, 1.00152537, -3.2496649),
        (26600e3, 0.74, 63.4349, -0.146976447, 5.6e-7),
    ],
)
def test_orbits_drift_by_j2(a, e, i, node, perigee) -> None:
    earth = Planet(MU, 6378136.3, 1.0826269e-3)
    rates = np.array(Orbit(a, e, np.radians(i)).drift(earth)) * DEGREES_A_DAY
    assert rates[0] == pytest.approx(node, rel=1e-7)
    if perigee is not None:
        assert rates[1] == pytest.approx(perigee, rel=1e-7, abs=1e-7)


def test_the_drift_is_that_of_the_motion() -> None:
    """A day of an orbit, integrated: what goes to and fro within an orbit is 1 % of a day's drift."""
    start = Orbit(7000e3, 0.001, np.radians(45.0))
    y0 = np.concatenate(start.state(EARTH.mu))
    y = solve_ivp(lambda _, y: [*y[3:], *oblate(y[:3], EARTH)], (0, 86400.0), y0, rtol=1e-11, atol=1e-6).y[:, -1]
    turned = Orbit.through(y[:3], y[3:], EARTH.mu).node - 2.0 * np.pi
    assert turned / 86400.0 == pytest.approx(start.drift(EARTH)[0], rel=1.5e-2)


@pytest.mark.parametrize(
    "orbit",
    [
        Orbit(8000e3, 0.2, 0.5, 1.0, 2.0, 3.0),
        Orbit(8000e3, 0.95, 2.9, 5.0, 0.1, 0.2),
        Orbit(-9000e3, 1.7, 1.2, 0.3, 4.0, 1.0),
        Orbit(8000e3, 0.0, 0.7, 0.4, 0.0, 2.0),
        Orbit(8000e3, 0.3, 0.0, 0.0, 1.5, 0.6),
        Orbit(8000e3, 0.0, np.pi, 0.0, 0.0, 1.0),
    ],
)
def test_elements_and_states_are_the_same(orbit) -> None:
    r, v = orbit.state(MU)
    back = Orbit.through(r, v, MU)
    for name in vars(orbit):
        assert getattr(back, name) == pytest.approx(getattr(orbit, name), rel=1e-9, abs=1e-7), name
    np.testing.assert_allclose(back.state(MU)[0], r, rtol=1e-12, atol=1e-5)


@pytest.mark.parametrize("orbit", [Orbit(8000e3, 0.3, 0.5, 1.0, 2.0, 3.0), Orbit(-9000e3, 1.7, 1.2, 0.3, 4.0, -1.0)])
def test_orbits_go_on_as_the_equations_say(orbit) -> None:
    y0 = np.concatenate(orbit.state(MU))
    y = solve_ivp(lambda _, y: [*y[3:], *point_mass(y[:3], MU)], (0, 3000.0), y0, rtol=1e-12, atol=1e-7).y[:, -1]
    r, v = orbit.after(3000.0, MU).state(MU)
    np.testing.assert_allclose([*r, *(v * 1e3)], [*y[:3], *(y[3:] * 1e3)], rtol=1e-8, atol=1e-3)


@pytest.mark.parametrize("e", [0.0, 0.1, 0.9, 0.999, 1.001, 3.0])
def test_kepler_s_equation(e) -> None:
    """Its residual, to the rounding of the anomaly times the slope."""
    for M in (-40.0, -3.0, -1e-8, 0.0, 1e-3, 1.0, 3.14159, 7.0):
        anomaly = true_anomaly(M, e)
        found = Orbit(1.0 if e < 1 else -1.0, e, anomaly=anomaly).mean_anomaly()
        difference = (found - M + np.pi) % (2.0 * np.pi) - np.pi if e < 1 else found - M
        assert difference == pytest.approx(0.0, abs=1e-9 * max(1.0, abs(M)))


def test_impossible_orbits_are_named() -> None:
    with pytest.raises(kido.ModelError, match=r"semi-major axis -7e\+06 m and eccentricity 0.1"):
        Orbit(-7e6, 0.1)
    with pytest.raises(kido.ModelError, match="line through the centre"):
        Orbit.through((7e6, 0, 0), (1e3, 0, 0), MU)
    with pytest.raises(kido.ModelError, match="parabola"):
        Orbit.through((7e6, 0, 0), (0, np.sqrt(2 * MU / 7e6), 0), MU)
    with pytest.raises(kido.ModelError, match="finite"):
        Orbit(np.nan, 0.1)
    with pytest.raises(kido.ModelError, match="orbit: semi_major_axis: expected a finite number, got 'a'"):
        Orbit("a", 0.1)
    for anomaly in (3.0, 2.1, -2.2):  # acos(-1/2) = 2.094
        with pytest.raises(kido.ModelError, match=r"between its asymptotes at -2.0944 and 2.0944 rad"):
            Orbit(-7e6, 2.0, anomaly=anomaly)
    assert np.isfinite(Orbit(-7e6, 2.0, anomaly=2.0 * np.pi - 2.09).mean_anomaly())


@pytest.mark.parametrize("mean, e", [(1.0, 1.0), (1.0, -0.5), (1.0, np.nan), (np.inf, 0.1), ("a", 0.1), (1.0, np.inf)])
def test_kepler_s_equation_without_an_answer(mean, e) -> None:
    with pytest.raises(kido.ModelError, match="Kepler's equation: expected a finite mean anomaly and an eccentricity"):
        true_anomaly(mean, e)


def test_what_is_no_number_is_named() -> None:
    with pytest.raises(kido.ModelError, match="SphericalHarmonics: expected two square arrays"):
        SphericalHarmonics([[1, 0], [0]], np.zeros((2, 2)), EARTH)
    with pytest.raises(kido.ModelError, match="clohessy_wiltshire: time: expected a finite number"):
        clohessy_wiltshire(1e-3, "a")
    with pytest.raises(kido.ModelError, match=r"hill_axes: expected two vectors \(3,\), got shapes \(1, 3\)"):
        hill_axes([[1.0, 2.0, 3.0]], [[0.0, 1.0, 0.0]])


def test_harmonics_of_degree_two_are_the_oblate_planet() -> None:
    C = np.zeros((3, 3))
    C[0, 0], C[2, 0] = 1.0, -EARTH.j2 / np.sqrt(5.0)
    field = SphericalHarmonics(C, np.zeros((3, 3)), EARTH)
    r = np.random.default_rng(0).normal(size=(50, 3))
    r *= 7e6 / np.linalg.norm(r, axis=1, keepdims=True)
    np.testing.assert_allclose(field.acceleration(r), oblate(r, EARTH), rtol=1e-13, atol=1e-13)


def test_harmonics_are_the_gradient_of_a_harmonic_potential() -> None:
    """Central differences of U at 1 m: 1e-9 relative, and the sum of second derivatives is zero."""
    rng = np.random.default_rng(1)
    C, S = np.tril(rng.normal(size=(9, 9))) * 1e-3, np.tril(rng.normal(size=(9, 9)), -1) * 1e-3
    C[0, 0] = 1.0
    S[:, 0] = 0.0
    field = SphericalHarmonics(C, S, MOON)
    r, e = np.array([1.5e6, -0.9e6, 0.8e6]), 10.0
    steps = e * np.eye(3)
    gradient = [(field.potential(r + d) - field.potential(r - d)) / (2 * e) for d in steps]
    np.testing.assert_allclose(field.acceleration(r), gradient, rtol=1e-8)
    curvature = [(field.acceleration(r + d) - field.acceleration(r - d))[k] / (2 * e) for k, d in enumerate(steps)]
    assert abs(sum(curvature)) < 1e-7 * max(map(abs, curvature))
    with pytest.raises(kido.ModelError, match=r"shapes \(3, 2\)"):
        SphericalHarmonics(np.ones((3, 2)), np.ones((3, 2)), MOON)


def test_third_body_is_the_difference_of_two_pulls() -> None:
    other, r = np.array([3.8e8, 1e7, 2e7]), np.array([4e7, 2e7, -1e7])
    direct = point_mass(r - other, MOON.mu) - point_mass(-other, MOON.mu)
    np.testing.assert_allclose(third_body(r, other, MOON.mu), direct, rtol=1e-12)
    near = np.array([1.0, 2.0, 3.0])  # where the difference of two pulls has no digits left: the tide, linear in r
    tide = MOON.mu / np.linalg.norm(other) ** 3 * (3 * other * (other @ near) / (other @ other) - near)
    np.testing.assert_allclose(third_body(near, other, MOON.mu), tide, rtol=1e-7)


def test_a_satellite_pitches_by_the_gradient_of_gravity() -> None:
    """Small angles about y, against the orbit's normal, x ahead, z down: frequency n sqrt(3 (Ix - Iz) / Iy)."""
    inertia, r = np.diag([40.0, 50.0, 20.0]), 7e6
    n = np.sqrt(EARTH.mu / r**3)
    angle = 1e-6
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    torque = gravity_gradient(np.array([0, 0, -r]), turn @ inertia @ turn.T, EARTH.mu)
    assert torque[1] / 50.0 / angle == pytest.approx(-(n**2) * 3.0 * (40.0 - 20.0) / 50.0, rel=1e-9)


class Satellite(Model):
    acceleration = Input("m/s^2", 3)
    position, velocity = State("m", (7e6, 0.0, 0.0)), State("m/s", (0.0, 5e3, 5.8e3))

    def derivatives(self):
        return {"position": self.velocity, "velocity": self.acceleration}


def test_a_satellite_of_models_keeps_its_energy() -> None:
    """Energy with J2's potential over an orbit; RK4 at 10 s loses 1e-9."""
    system = System(step=10.0)
    satellite, gravity = system.add(Satellite()), system.add(PlanetGravity())
    system.connect(satellite.position, gravity.position)
    system.connect(gravity.acceleration, satellite.acceleration)

    def energy():
        r, v = satellite.position.value, satellite.velocity.value
        R = np.linalg.norm(r)
        second = 0.5 * EARTH.j2 * (EARTH.radius / R) ** 2 * (3.0 * (r[2] / R) ** 2 - 1.0)
        return 0.5 * v @ v - EARTH.mu / R * (1.0 - second)

    system.run(0.0)
    before = energy()
    system.run(6000.0)
    assert energy() == pytest.approx(before, rel=1e-8)


def test_places_on_the_ellipsoid() -> None:
    rng = np.random.default_rng(2)
    latitude = np.array([*rng.uniform(-1.57, 1.57, 200), 0.0, np.pi / 2, -np.pi / 2])
    longitude, height = rng.uniform(-3.1, 3.1, 203), rng.uniform(-1e4, 1e7, 203)
    found = place_of(position_of(latitude, longitude, height))
    np.testing.assert_allclose(found[0], latitude, atol=1e-12)
    np.testing.assert_allclose(found[1][:-2], longitude[:-2], atol=1e-13)
    np.testing.assert_allclose(found[2], height, atol=1e-7)


@pytest.mark.parametrize("given", [[7e6, 0, 0], (7_000_000, 0, 0), [[7e6, 0.0, 0.0]] * 2])
def test_vectors_are_arrays_or_lists(given: Any) -> None:
    """Lists and whole numbers too; what is no vector is named."""
    array = np.array(given, float)
    for one, other in (
        (point_mass(given, MU), point_mass(array, MU)),
        (oblate(given, EARTH), oblate(array, EARTH)),
        (sunlight(given, [1.5e11, 0, 0], 6.4e6), sunlight(array, np.array([1.5e11, 0.0, 0.0]), 6.4e6)),
        (magnetic_dipole(given), magnetic_dipole(array)),
        (place_of(given), place_of(array)),
        (drag(given, density=1.0, area=1.0, coefficient=2.0), drag(array, 1.0, 1.0, 2.0)),
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("given", [[1.0, 2.0], 3.0, "abc", None, [[1.0, 2.0, 3.0], [1.0]], np.zeros((3, 2))])
def test_what_is_no_vector_is_named(given: Any) -> None:
    for call, word in (
        (lambda: point_mass(given, 1.0), "point_mass: position"),
        (lambda: hill_axes(given, [0, 1, 0]), "hill_axes: position"),
        (lambda: sunlight([7e6, 0, 0], sun=given, radius=1.0), "sunlight: sun"),
    ):
        with pytest.raises(kido.ModelError, match=f"{word}: expected vectors"):
            call()
