"""Flexible beams against exact solutions and published digits, with what few modes leave as tables.

The digits are of Bernoulli's transcendental equations; Wright et al. (1982), vibration modes of centrifugally stiffened
beams; Simo and Vu-Quoc (1986) and Wu and Haug (1988), whose spin-up manoeuvres were integrated with assumed modes
and the stiffening of centrifugal tension; and a hub with two panels by its characteristic equation.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.linalg

import kido
from kido.flexible import FlexibleBody, FlexibleTree, Material, Modes, Section, beam_modes

CANTILEVER = (1.875104068711961, 4.694091132974174, 7.854757438237613)
FREE_FREE = (4.730040744862704, 7.853204624095838)
UNIT = Section(1.0, 1.0, 1.0), Material(1.0, 1.0)  # EI = EA = rho A = 1


def unit_beam(**options) -> Modes:
    return beam_modes(1.0, *UNIT, theory="euler-bernoulli", **options)


def line_beam(length: float, EA: float, EI: float, rhoA: float) -> tuple[float, Section, Material]:
    """A beam by its stiffnesses and its mass per length."""
    return length, Section(1.0, EI / EA, EI / EA), Material(EA, rhoA)


def frequencies(tree: FlexibleTree, q: np.ndarray, u: np.ndarray, free: slice) -> np.ndarray:
    """Of small motions of some coordinates, the others held, without gyroscopic terms between them."""
    n, h = len(q), 1e-4
    part = np.arange(n)[free]
    K = np.array([
        (tree.inverse_dynamics(q + h * e, u, 0 * q) - tree.inverse_dynamics(q - h * e, u, 0 * q))[part] / (2 * h)
        for e in np.eye(n)[part]
    ])  # fmt: skip
    M = tree.mass_matrix(q)[np.ix_(part, part)]
    values = np.linalg.eigvals(np.linalg.solve(M, K.T))
    assert np.abs(values.imag).max() < 1e-9 * np.abs(values).max()
    return np.sqrt(np.sort(values.real).clip(0.0))


# Beams alone -------------------------------------------------------------------------------------------------


def test_frequencies_of_a_cantilever_are_bernoullis() -> None:
    # Elements of degree 3 leave (beta h)^4 / 2880 of beta: 8e-8 of the third.
    beta = np.sqrt(unit_beam(bending_y=3, elements=64).frequencies)
    assert np.allclose(beta, CANTILEVER, rtol=1e-7, atol=0.0)
    assert np.allclose(unit_beam(axial=3).frequencies, np.pi * np.array([0.5, 1.5, 2.5]), rtol=1e-6, atol=0.0)


def free_beam(boundary: str, number: int) -> np.ndarray:
    """beta L of a floating beam with modes of a kind, the first two."""
    skeleton = kido.Skeleton("float")
    skeleton.gravity = (0.0, 0.0, 0.0)
    modes = unit_beam(bending_y=number, boundary=boundary, elements=64)
    FlexibleBody(skeleton.add_body("beam", kido.FreeJoint()), modes)
    tree = FlexibleTree(skeleton)
    n = tree.num_coordinates
    # The section of this thick unit beam is not part of its mass, so that all its inertia is that of a line.
    planar = np.r_[2, 4, 6:n]
    M = tree.mass_matrix(np.zeros(n))[np.ix_(planar, planar)]
    K = np.diag(np.concatenate([[0.0, 0.0], modes.stiffness]))
    return np.sqrt(np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[2:4]))


@pytest.mark.parametrize("boundary", ["free", "craig-bampton", "clamped"])
def test_frequencies_of_a_free_beam_by_modes_of_any_kind(boundary: str) -> None:
    """A beam that floats has those of the free beam: exactly by its own modes, and in the limit by others."""
    errors = [np.abs(free_beam(boundary, number) / FREE_FREE - 1.0).max() for number in (2, 4, 8)]
    assert errors[-1] < {"free": 1e-7, "craig-bampton": 1e-3, "clamped": 2e-3}[boundary]
    assert errors[0] >= errors[1] >= errors[2] or boundary == "free"


def test_thick_beams_have_timoshenkos_frequencies() -> None:
    """The cantilever's characteristic equation with shear and rotary inertia; elements are of second order in shear."""
    L, E, rho = 1.0, 2e11, 7800.0
    section, material = Section.rectangle(0.1, 0.2), Material(E, rho)
    A, Iy, kG = section.area, section.about_y, section.shear_factor * material.shear

    def smallest(w: float) -> float:
        """How near to singular the boundary conditions are for v = sum c exp(s x), theta = sum c r exp(s x)."""
        a = rho * w * w / kG
        s = np.roots([E * Iy, 0.0, E * Iy * a + rho * Iy * w * w, 0.0, a * (rho * Iy * w * w - kG * A)])
        r = (s * s + a) / s
        start, end = np.where(s.real > 0.0, np.exp(-s * L), 1.0), np.where(s.real > 0.0, 1.0, np.exp(s * L))
        rows = np.array([start, r * start, r * s * end, (s - r) * end])
        d = np.linalg.svd(rows / np.linalg.norm(rows, axis=1)[:, None], compute_uv=False)
        return float(d[-1] / d[0])

    coarse, fine = (beam_modes(L, section, material, bending_z=3, elements=n).frequencies for n in (32, 64))
    for w in (4.0 * fine - coarse) / 3.0:
        assert smallest(w) < 1e-6 < 2e-5 < smallest(1.0001 * w)
    assert np.abs(fine / coarse - 1.0).max() < 6e-4


def test_twist_of_a_tube_runs_at_the_speed_of_shear() -> None:
    material = Material(7e10, 2700.0, 0.33)
    modes = beam_modes(2.0, Section.tube(0.05, 0.04), material, torsion=2)
    speed = np.sqrt(material.shear / material.density)
    assert np.allclose(modes.frequencies, speed * np.pi / 4.0 * np.array([1.0, 3.0]), rtol=1e-6)


def test_a_tip_force_bends_a_beam_as_a_cubic() -> None:
    """A deflection by modes of forces at the tip is exact: F L^3 / 3 E I, turned by F L^2 / 2 E I, and F L / E A."""
    skeleton = kido.Skeleton("static")
    skeleton.gravity = (0.0, 0.0, 0.0)
    modes = beam_modes(2.0, *UNIT, bending_y=3, axial=2, theory="euler-bernoulli", boundary="craig-bampton")
    flexible = FlexibleBody(skeleton.add_body("beam", kido.WeldJoint()), modes)
    tree = FlexibleTree(skeleton)
    J = tree.jacobian(flexible.node("tip"), np.zeros(5))
    eta = J.T @ np.array([0.0, 0.0, 0.0, 3e-3, 1e-3, 0.0]) / modes.stiffness
    assert np.allclose((J @ eta)[3:], [3e-3 * 2.0, 1e-3 * 8.0 / 3.0, 0.0], rtol=1e-10, atol=1e-15)
    assert np.allclose((J @ eta)[:3], [0.0, 0.0, 1e-3 * 4.0 / 2.0], rtol=1e-10, atol=1e-15)


# Beams that turn ---------------------------------------------------------------------------------------------

WRIGHT = {  # speed: flap frequencies at hub ratio 0
    0: (3.51602, 22.03449, 61.69721),
    4: (5.58500, 24.27335, 63.96676),
    8: (9.25684, 29.99538, 70.29296),
    12: (13.17015, 37.60311, 79.61448),
}
ON_HUB = (19.72154, 51.07013, 98.52680)  # speed 12, hub ratio 1


def rotating(hub: float, number: int, kind: str) -> FlexibleTree:
    skeleton = kido.Skeleton("rotor")
    skeleton.gravity = (0.0, 0.0, 0.0)
    axle = skeleton.add_body("hub", kido.RevoluteJoint(axis=(0, 0, 1)), None, kido.Inertia(1.0, moment=np.eye(3)))
    body = skeleton.add_body("blade", kido.WeldJoint(transform_from_parent=(hub, 0.0, 0.0)), axle)
    FlexibleBody(body, unit_beam(**{kind: number}, elements=48))
    return FlexibleTree(skeleton)


def flap(hub: float, number: int, speed: float, kind: str = "bending_z") -> np.ndarray:
    """The first three frequencies across the plane of rotation, or with kind "bending_y" in it."""
    q, u = np.zeros(number + 1), np.eye(number + 1)[0] * speed
    return frequencies(rotating(hub, number, kind), q, u, slice(1, None))[:3]


@pytest.mark.parametrize("speed", WRIGHT)
def test_rotating_beams_have_wrights_frequencies(speed: int) -> None:
    """Modes of the beam at rest stand in for those of the turning one; lag = sqrt(flap^2 - speed^2).

    Errors of the first three at speed 12: .033 .159 .264 by 3 modes, .0055 .020 .033 by 5, .0003 .0011 .0027 by 10.
    """
    errors = []
    for number in (3, 5, 10):
        across, lag = flap(0.0, number, speed), flap(0.0, number, speed, "bending_y")
        assert np.allclose(lag**2, across**2 - speed**2, rtol=1e-7)
        errors.append(across - WRIGHT[speed])
    if speed == 0:
        assert np.abs(errors).max() < 4e-5  # the table's rounding of 5e-6, and elements' (of the third: 3.5e-5)
        return
    assert (errors[0] > errors[1]).all() and (errors[1] > errors[2]).all() and (errors[2] > 0.0).all()  # from above
    assert (errors[2] / WRIGHT[speed] < 4e-5).all()


def test_a_hub_of_the_blades_length_stiffens_more() -> None:
    found = flap(1.0, 12, 12.0)
    assert np.allclose(found, ON_HUB, rtol=1e-4, atol=0.0)
    assert np.allclose(flap(1.0, 12, 12.0, "bending_y") ** 2, found**2 - 144.0, rtol=1e-7)


def test_without_foreshortening_a_turning_beam_goes_soft() -> None:
    """The known mistake of linear modes: centrifugal forces push a bent beam outward, and nothing pulls it back."""
    skeleton = kido.Skeleton("soft")
    axle = skeleton.add_body("hub", kido.RevoluteJoint(axis=(0, 0, 1)), None, kido.Inertia(1.0, moment=np.eye(3)))
    body = skeleton.add_body("blade", kido.WeldJoint(), axle)
    FlexibleBody(body, unit_beam(bending_y=3, foreshortening=False))
    tree = FlexibleTree(skeleton)
    found = frequencies(tree, np.zeros(4), np.eye(4)[0] * 3.0, slice(1, None))
    assert np.isclose(found[0] ** 2, 3.51602**2 - 9.0, rtol=1e-4)


PANELS = (7.921697794461, 27.982023719440, 71.348033287872)
BY_MODES = {1: 7.99697, 2: 7.92385, 4: 7.92176, 6: 7.92170}


def two_panels(number: int) -> np.ndarray:
    """Antisymmetric vibrations of a hub with two panels of n clamped modes [rad/s]."""
    skeleton = kido.Skeleton("satellite")
    skeleton.gravity = (0.0, 0.0, 0.0)
    hub = skeleton.add_body("hub", kido.RevoluteJoint(axis=(0, 0, 1)), None, kido.Inertia(1.0, moment=np.eye(3)))
    beam = line_beam(2.0, 1e4, 10.0, 0.5)
    modes = beam_modes(*beam, bending_y=number, theory="euler-bernoulli", elements=48)
    panels = []
    for side in (0.0, np.pi):
        joint = kido.WeldJoint(transform_from_parent=turned(side))
        panels.append(FlexibleBody(skeleton.add_body(f"panel{side:.0f}", joint, hub), modes))
    tree = FlexibleTree(skeleton)
    n = tree.num_coordinates
    K = np.diag(np.concatenate([[0.0], *(p.modes.stiffness for p in panels)]))
    w = np.sqrt(scipy.linalg.eigh(K, tree.mass_matrix(np.zeros(n)), eigvals_only=True).clip(0.0))
    symmetric = modes.frequencies
    return np.array([x for x in w[1:] if np.abs(symmetric / x - 1.0).min() > 1e-6])


@pytest.mark.parametrize(("number", "first"), BY_MODES.items())
def test_a_hub_with_two_panels(number: int, first: float) -> None:
    """n clamped modes leave of the first antisymmetric vibration what was found with analytic ones."""
    # Half the last digit, and 1e-7 of modes of finite elements: with four modes, 7.9217548 on some processors.
    assert abs(two_panels(number)[0] - first) < 5.8e-6


def test_a_hub_with_two_panels_by_many_modes() -> None:
    """All three, from above."""
    found = two_panels(12)[:3]
    assert np.allclose(found, PANELS, rtol=2e-5, atol=0.0) and (found > PANELS).all()


def turned(angle: float) -> np.ndarray:
    """Half a metre out, at an angle about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0.5 * c], [s, c, 0, 0.5 * s], [0, 0, 1, 0], [0, 0, 0, 1]])


# Spin-up -----------------------------------------------------------------------------------------------------


def angular_acceleration(t: float, final: float, ramp: float = 15.0) -> float:
    return final / ramp * (1.0 - np.cos(2.0 * np.pi * t / ramp)) if t < ramp else 0.0


def spun(number: int, axial: int, beam: tuple[float, float, float, float]) -> FlexibleTree:
    """A beam whose root is a hinge."""
    skeleton = kido.Skeleton("spin-up")
    skeleton.gravity = (0.0, 0.0, 0.0)
    modes = beam_modes(*line_beam(*beam), bending_y=number, axial=axial, theory="euler-bernoulli", elements=48)
    body = skeleton.add_body("beam", kido.RevoluteJoint(axis=(0, 0, 1)))
    FlexibleBody(body, modes)
    return FlexibleTree(skeleton)


def spin_up(number: int, axial: int, final: float, beam: tuple[float, float, float, float], h: float, duration: float):
    """Times and tip deflections, across and along, of a beam whose root is turned from rest to a speed in 15 s."""
    tree = spun(number, axial, beam)
    rest = np.zeros(tree.num_coordinates)
    motion = tree.simulate(rest, rest, duration, h, prescribed={0: lambda t: angular_acceleration(t, final)})
    return motion.times, motion.positions[:, 1 : 1 + number].sum(axis=1), motion.positions[:, 1 + number :].sum(axis=1)


@functools.cache
def limit(number: int, axial: int, final: float, beam: tuple[float, float, float, float]):
    """The least deflection and those at 5, 7.5 and 10 s, in the limit of small steps; and the time of the least."""
    found = []
    for h in (1e-3, 5e-4):
        times, tip, _ = spin_up(number, axial, final, beam, h, 10.1)
        found.append(np.append(tip.min(), [tip[int(np.argmin(np.abs(times - t)))] for t in (5.0, 7.5, 10.0)]))
    return (4.0 * found[1] - found[0]) / 3.0, times[tip.argmin()]


SIMO = (10.0, 2.8e7, 1.4e4, 1.2)  # length, EA, EI, mass per length
DIGITS = 1e-6  # the last digit printed


@pytest.mark.parametrize(
    ("number", "axial", "least"),
    [(1, 1, -0.578288), (2, 1, -0.573577), (3, 1, -0.574470), (4, 2, -0.574364), (6, 3, -0.574395)],
)
def test_spin_up_of_simo_and_vu_quoc(number: int, axial: int, least: float) -> None:
    found, when = limit(number, axial, 6.0, SIMO)
    assert abs(found[0] - least) < DIGITS
    assert abs(when - 6.762) < 0.01


def test_spin_up_on_the_way() -> None:
    """At 5, 7.5 and 10 s, by six modes; a geometrically exact beam has -.468279, -.559178, -.363127."""
    found, _ = limit(6, 3, 6.0, SIMO)
    assert np.allclose(found[1:], [-0.468786, -0.559555, -0.362898], rtol=0.0, atol=DIGITS)


def test_a_beam_at_speed_is_stretched() -> None:
    """Centrifugal stretch of an elastic bar: tan(k L) / k - L with k = Omega sqrt(rho A / E A)."""
    times, _, axial = spin_up(1, 8, 6.0, SIMO, 5e-3, 20.0)
    k = 6.0 * np.sqrt(1.2 / 2.8e7)
    assert abs(axial[times > 18.0].mean() / (np.tan(10.0 * k) / k - 10.0) - 1.0) < 1e-3


@pytest.mark.parametrize(("final", "least", "when"), [(4.0, -0.534461, 6.766), (2.0, -0.280257, 7.020)])
def test_spin_up_of_wu_and_haug(final: float, least: float, when: float) -> None:
    A, Iz, rho, E = 7.2968e-5, 8.2189e-9, 2766.67, 6.8952e10
    found, at = limit(3, 1, final, (8.0, E * A, E * Iz, rho * A))
    assert abs(found[0] - least) < DIGITS
    assert abs(at - when) < 0.01
