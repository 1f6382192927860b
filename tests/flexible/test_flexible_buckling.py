"""Loads at nodes that stiffen, soften and buckle beams: forces, moments of all kinds, the weight of what hangs there.

Truths: Euler's columns; Prandtl's and Michell's lateral buckling of deep beams, by the zeros of a Bessel function;
cantilevers under end moments of four kinds, by hand from EI theta_z' = m . d_3, GJ theta_x' = m . d_1 (Ziegler,
Principles of structural stability, for the kinds); frequencies of twist of rotating blades (Houbolt and Brooks, 1957).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import kido
from kido.flexible import FlexibleBody, FlexibleTree, Material, Section, beam_modes

# EI = GJ = 1e-6 with a length of 1; bending about y is 1e4 times as stiff, shear no matter.
DEEP = Section(1.0, about_y=1e-2, about_z=1e-6, torsion=2e-6, shear_factor=1e4), Material(1.0, 1.0, poisson=0.0)
UNIT = 1e-6  # sqrt(EI GJ) / L, of moments; forces are over L once more
Z, Y = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
PRANDTL = 2.0 * scipy.optimize.root_scalar(lambda x: scipy.special.jv(-0.25, x), bracket=(1.5, 2.5)).root  # 4.0126


def cantilever(modes, load: float = 0.0) -> FlexibleTree:
    skeleton = kido.Skeleton("cantilever")
    skeleton.gravity = (0.0, 0.0, -1.0 if load else 0.0)
    tip = FlexibleBody(skeleton.add_body("beam", kido.WeldJoint()), modes).node("tip")
    if load:
        skeleton.add_body("load", kido.WeldJoint(), tip, kido.Inertia(load))
    return FlexibleTree(skeleton)


def deep(number: int, boundary: str = "clamped", **options) -> FlexibleTree:
    """A deep beam with as many modes sideways as of twist."""
    return cantilever(beam_modes(1.0, *DEEP, bending_y=number, torsion=number, boundary=boundary, **options))


def softening(tree: FlexibleTree, work: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Derivatives of the forces on modes at rest, work(q) by a load, by the modes."""
    n, h = tree.num_coordinates, 1e-4
    return np.array([
        (8.0 * (work(h * e) - work(-h * e)) - work(2.0 * h * e) + work(-2.0 * h * e)) / (12.0 * h) for e in np.eye(n)
    ]).T  # fmt: skip


def moment(tree: FlexibleTree, kind: str, about=Y) -> Callable[[np.ndarray], np.ndarray]:
    """Forces on modes by a unit moment at the tip: fixed in space ("axial"), turning with the tip ("following"), or by
    dead forces at the ends of a bar, of another across it, or of both ("quasi", "quasi across", "semi")."""
    bars = np.roll(np.eye(3), -1 - int(about.argmax()), axis=0)[:2]  # the axes across

    def pair(q: np.ndarray, arm: np.ndarray) -> np.ndarray:
        ends = [tree.jacobian("beam_tip", q, 0.5 * s * arm)[3:].T @ (s * np.cross(about, arm)) for s in (1.0, -1.0)]
        return ends[0] + ends[1]

    def work(q: np.ndarray) -> np.ndarray:
        if kind == "axial":
            return tree.jacobian("beam_tip", q)[:3].T @ about
        if kind == "following":
            return tree.jacobian("beam_tip", q)[:3].T @ (tree.transform("beam_tip", q)[:3, :3] @ about)
        one, other = (pair(q, arm) for arm in bars)
        return {"quasi": one, "quasi across": other, "semi": 0.5 * (one + other)}[kind]

    return work


def critical(stiffness: np.ndarray, softened: np.ndarray) -> float:
    """The least positive load at which K - load S is singular, S symmetric."""
    assert np.abs(softened - softened.T).max() < 1e-6 * np.abs(softened).max()  # differences'
    loads = scipy.linalg.eigh(softened, np.diag(stiffness), eigvals_only=True)
    return 1.0 / loads[-1]


# The deflection of second order ------------------------------------------------------------------------------


def test_a_bent_and_twisted_beam_is_where_its_strains_put_it() -> None:
    """R' = R skew(kappa), u' = R (e + gamma) - e integrated by another program; what is left out is of third order.

    Strains are told by what nodes do to first order: three along each element have its angles, of second degree, and
    its shear, which is constant.
    """
    places = np.linspace(0.0, 1.2, 25)
    section = Section(1e-4, 2e-8, 1e-9, 3e-9, 0.8)
    modes = beam_modes(
        1.2, section, Material(7e10, 2700.0), bending_y=2, bending_z=2,
        nodes={f"s{k}": x for k, x in enumerate(places)}, elements=12,
    )  # fmt: skip
    theta, moved = (np.array([getattr(n, key) for n in modes.nodes]) for key in ("rotation", "translation"))
    eta = np.random.default_rng(0).normal(size=4)

    def off(scale: float) -> np.ndarray:
        y, worst = np.append(np.eye(3).ravel(), np.zeros(3)), np.zeros(2)
        for k in range(0, 24, 2):
            s = places[k : k + 3]
            turn = np.polyfit(s, theta[k : k + 3] @ (scale * eta), 2)
            mean = np.array([1.0, 4.0, 1.0]) @ (theta[k : k + 3] @ (scale * eta)) / 6.0
            gamma = (moved[k + 2] - moved[k]) @ (scale * eta) / (s[2] - s[0]) - np.cross(mean, [1.0, 0.0, 0.0])

            def rate(x: float, state: np.ndarray, turn=turn, gamma=gamma) -> np.ndarray:
                R, (a, b, c) = state[:9].reshape(3, 3), 2.0 * turn[0] * x + turn[1]
                kappa = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
                return np.concatenate([(R @ kappa).ravel(), R @ (gamma + [1.0, 0.0, 0.0]) - [1.0, 0.0, 0.0]])

            y = solve_ivp(rate, (s[0], s[2]), y, method="DOP853", rtol=1e-10, atol=1e-14).y[:, -1]
            X = modes.nodes[k + 2].pose(scale * eta)
            turned = Rotation.from_matrix(X[:3, :3].T @ y[:9].reshape(3, 3)).as_rotvec()
            worst = np.maximum(worst, [np.abs(turned).max(), np.abs(X[:3, 3] - [s[2], 0.0, 0.0] - y[9:])[1:].max()])
        return worst

    assert np.allclose(np.log2(off(0.04) / off(0.02)), 3.0, atol=0.05)


def test_twist_turns_the_plane_of_bending() -> None:
    """w2'' = phi v'' of a slender beam, with v = x^2 (3 - x) / 2 and phi = x, what forces at the tip do."""
    line = beam_modes(1.0, *DEEP, bending_y=2, torsion=1, boundary="craig-bampton", nodes={"tip": 1.0, "half": 0.5})
    tip = line.node("tip")
    # eta that bends as a force does: deflected by 1, turned by 3 / 2.
    bend = np.linalg.solve([tip.translation[1, :2], tip.rotation[2, :2]], [1.0, 1.5])
    eta = np.append(bend, 1.0 / tip.rotation[0, 2])
    for node, x in ((tip, 1.0), (line.node("half"), 0.5)):
        lateral = 3.0 * (x**3 / 6.0 - x**4 / 12.0)  # of phi v'' = 3 x (1 - x)
        slope = 3.0 * (x**2 / 2.0 - x**3 / 3.0)  # less phi v' / 2 of the rotation vector's own second order
        assert np.isclose(node.pose(eta)[2, 3], lateral, rtol=1e-4)
        half = 0.5 * (node.second_rotation @ eta) @ eta
        assert np.isclose(-half[1], slope - 0.5 * x * 3.0 * (x - 0.5 * x * x), rtol=1e-4)


# Buckling ----------------------------------------------------------------------------------------------------


def test_a_column_buckles_as_eulers() -> None:
    """pi^2 EI / 4 L^2, in the plane that is softer: 7.8, .6, .09 % above by 1, 2, 4 clamped modes."""
    found = []
    for number in (1, 2, 4):
        tree = cantilever(beam_modes(1.0, *DEEP, bending_y=number, bending_z=1, torsion=1, axial=1))
        push = lambda q, tree=tree: -tree.jacobian("beam_tip", q)[3]  # noqa: E731
        modes = tree.bodies[0].modes
        soft = softening(tree, push)
        found.append(critical(modes.stiffness, soft) / UNIT)
    above = np.array(found) / (np.pi**2 / 4.0) - 1.0
    assert (above > 0.0).all() and (above < [0.08, 6e-3, 1e-3]).all()


def test_a_deep_beam_buckles_sideways_under_a_force() -> None:
    """4.0126 sqrt(EI GJ) / L^2: errors of 53, .7, .07 % by 1, 2, 4 clamped modes each of bending and twist."""
    found = []
    for number, most in ((1, 0.53), (2, 7e-3), (4, 8e-4), (8, 2e-4)):
        tree = deep(number)
        press = lambda q, tree=tree: -tree.jacobian("beam_tip", q)[5]  # noqa: E731
        found.append(critical(tree.bodies[0].modes.stiffness, softening(tree, press)) / UNIT)
        assert 0.0 < found[-1] / PRANDTL - 1.0 < most
    assert (np.diff(found) < 0.0).all()


@pytest.mark.parametrize(("kind", "factor"), [("quasi", 0.5), ("quasi across", 0.5), ("semi", 1.0)])
def test_a_deep_beam_buckles_sideways_under_end_moments(kind: str, factor: float) -> None:
    """pi / 2 sqrt(EI GJ) / L of dead forces on one bar, either along or across the beam, and twice that on two."""
    found = []
    for number, most in ((3, 2e-3), (5, 4e-4)):
        tree = deep(number, "craig-bampton")
        found.append(critical(tree.bodies[0].modes.stiffness, softening(tree, moment(tree, kind))) / UNIT)
        assert 0.0 < found[-1] / (factor * np.pi) - 1.0 < most
    # By clamped modes, none of which has a moment at its end, as 1 / n.
    coarse, fine = (
        critical(tree.bodies[0].modes.stiffness, softening(tree, moment(tree, kind))) / UNIT / (factor * np.pi) - 1.0
        for tree in (deep(4), deep(8))
    )
    assert 0.0 < fine < 0.55 * coarse < 0.07


@pytest.mark.parametrize(("kind", "sign"), [("axial", 1.0), ("following", -1.0)])
@pytest.mark.parametrize("load", [1.0, 3.0])
def test_moments_without_potential_turn_a_deep_beam_and_buckle_none(kind: str, sign: float, load: float) -> None:
    """p = sqrt(GJ) theta_x + i sqrt(EI) theta_z has p' = -i k p, less its end for a moment that follows.

    So a small moment mu besides turns the tip by mu (1 - exp(-i k)) / i k, or by its mirror image.
    """
    tree = deep(6, "craig-bampton")
    tip, K = tree.bodies[0].modes.node("tip"), np.diag(tree.bodies[0].modes.stiffness)
    soft = softening(tree, moment(tree, kind))
    assert np.abs(soft - soft.T).max() > 0.1 * np.abs(soft).max()
    turned = tip.rotation[[0, 2]] @ np.linalg.solve(K - load * UNIT * soft, tip.rotation[[0, 2]].T) * UNIT
    c = (1.0 - np.exp(-1j * sign * load)) / (1j * sign * load)
    assert np.allclose(turned, [[c.real, -c.imag], [c.imag, c.real]], rtol=0.0, atol=1e-3)  # six modes'


@pytest.mark.parametrize(("kind", "factor"), [("quasi", 0.5), ("quasi across", 0.5), ("semi", 1.0)])
def test_a_shaft_buckles_under_torque(kind: str, factor: float) -> None:
    """pi / 2 EI / L and pi EI / L: the same equations, of bending both ways, as Greenhill's."""
    section = Section(1.0, 1e-6, 1e-6, 2e-6, shear_factor=1e4)
    modes = beam_modes(1.0, section, DEEP[1], bending_y=5, bending_z=5, torsion=1, boundary="craig-bampton")
    tree = cantilever(modes)
    about = np.array([1.0, 0.0, 0.0])
    found = critical(modes.stiffness, softening(tree, moment(tree, kind, about))) / UNIT
    assert 0.0 < found / (factor * np.pi) - 1.0 < 4e-4


# In dynamics -------------------------------------------------------------------------------------------------


def test_frequencies_under_a_weight_go_to_zero_at_the_critical_one() -> None:
    """Squares of frequencies fall as those of loads rise; what is to be seen is in inverse dynamics and M."""
    mass = 1e-3
    tree = cantilever(beam_modes(1.0, *DEEP, bending_y=4, torsion=4, foreshortening=True), load=mass)
    n, h = 8, 1e-5
    zero = np.zeros(n)

    def squares(load: float) -> np.ndarray:
        tree.skeleton.gravity = (0.0, 0.0, -load / mass)
        K = np.array([
            tree.inverse_dynamics(h * e, zero, zero) - tree.inverse_dynamics(-h * e, zero, zero) for e in np.eye(n)
        ]) / (2.0 * h)  # fmt: skip
        assert np.allclose(K, K.T, rtol=0.0, atol=1e-7 * np.abs(K).max())
        return scipy.linalg.eigh(0.5 * (K + K.T), tree.mass_matrix(zero), eigvals_only=True)

    around = (0.9 * PRANDTL * UNIT, 1.1 * PRANDTL * UNIT)
    top = scipy.optimize.root_scalar(lambda load: squares(load)[0], bracket=around).root
    assert 0.0 < top / (PRANDTL * UNIT) - 1.0 < 8e-4
    at_rest = squares(0.0)[0]
    shares = np.array([squares(s * top)[0] / at_rest for s in (0.5, 0.9, 0.998, 1.002)])
    assert (np.diff(shares) < 0.0).all()
    assert abs(shares[2] / shares[3] + 1.0) < 0.01 and shares[2] / 0.002 > 1.0


def test_a_beam_falls_sideways_in_a_world_under_too_large_a_weight() -> None:
    """A steel strip of 1 m x 40 mm x 2 mm, bent by 2 mm to the side at first, for three seconds."""
    section, steel = Section.rectangle(0.002, 0.04), Material(2e11, 7800.0)
    modes = beam_modes(1.0, section, steel, bending_y=2, torsion=2, damping_ratio=0.02)
    critical_mass = PRANDTL * np.sqrt(2e11 * section.about_z * steel.shear * float(section.torsion or 0.0)) / 9.81

    def grown(share: float) -> float:
        skeleton = kido.Skeleton("strip")
        beam = FlexibleBody(skeleton.add_body("beam", kido.WeldJoint()), modes)
        skeleton.add_body("load", kido.WeldJoint(), beam.node("tip"), kido.Inertia(share * critical_mass))
        world = kido.World()
        world.add_skeleton(skeleton)
        skeleton.set_positions([2e-3], ["beam.bending_y1"])
        largest = 0.0
        for _ in range(60):
            world.step(50)
            largest = max(largest, abs(skeleton.body("load").world_transform[1, 3]))
        return largest

    assert grown(0.9) < 4e-3 < 0.05 < grown(1.2)


def test_twist_of_a_spinning_blade_by_its_own_width() -> None:
    """w^2 = w0^2 + Omega^2 (I_z - I_y) / (I_z + I_y): centrifugal forces turn it into its plane."""
    for wide in (True, False):
        about_y, about_z = (1e-6, 1e-4) if wide else (1e-4, 1e-6)
        modes = beam_modes(1.0, Section(1.0, about_y, about_z, 1e-5), DEEP[1], torsion=1)
        skeleton = kido.Skeleton("rotor")
        skeleton.gravity = (0.0, 0.0, 0.0)
        hub = skeleton.add_body("hub", kido.RevoluteJoint(axis=(0, 0, 1)), None, kido.Inertia(1.0, moment=np.eye(3)))
        FlexibleBody(skeleton.add_body("blade", kido.WeldJoint(), hub), modes)
        tree, h, speed, e = FlexibleTree(skeleton), 1e-3, 0.2, np.array([0.0, 1.0])
        u = np.array([speed, 0.0])
        K = (tree.inverse_dynamics(h * e, u, 0 * e) - tree.inverse_dynamics(-h * e, u, 0 * e))[1] / (2.0 * h)
        squared = K / modes.mass_matrix[0, 0]
        wanted = modes.frequencies[0] ** 2 + speed**2 * (about_z - about_y) / (about_y + about_z)
        assert np.isclose(squared, wanted, rtol=1e-9), wide
