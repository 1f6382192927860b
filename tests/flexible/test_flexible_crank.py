"""The flexible slider-crank of the test set for initial value problems (Simeon 1996), to its digits.

A crank that turns at 150 rad/s, a rod with two sines across and a quadratic element along, a slider. The rod's mass
terms are those of the test set, whose axial ones are 15 times those of the element, so it is given by its integrals.
The loop is closed by a multiplier: the slider's mass hangs on the tip, whose height is held.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

import kido
from kido.flexible import FlexibleBody, FlexibleTree, ModeNode, Modes

PI = 3.1415927  # as the test set has it
L1, L2, SPEED = 0.15, 0.30, 150.0
M1, M2, M3, J1, J2 = 0.36, 0.151104, 0.075552, 0.002727, 0.0045339259
YOUNG, WIDTH, HEIGHT, DENSITY = 0.2e12, 0.008, 0.008, 7870.0
START = (0.0, 0.0, 0.103339863e-4, 0.169327969e-4), (0.444896105, 0.463434311e-2, -0.178591076e-5, -0.268938672e-5)
# At 0.1 s: angle of the rod, place of the slider, coordinates of the rod.
LINEAR = (
    -0.33117349882564, 0.16973733263996, 1.893192843020e-4, 2.375751320489e-5, -5.323896778190e-6, -8.363313291672e-6
)  # fmt: skip
NONLINEAR = (-0.33117388762832, 0.16973697392445)


def rod() -> tuple[Modes, np.ndarray]:
    """The rod by its integrals; and what turns modal coordinates into those of the test set."""
    mass, stiff, volume = DENSITY * WIDTH * HEIGHT * L2, YOUNG * WIDTH * HEIGHT / L2, WIDTH * HEIGHT * L2
    M = mass * scipy.linalg.block_diag(0.5, 0.5, [[8.0, 1.0], [1.0, 2.0]])
    slim = PI**4 / 24.0 * (HEIGHT / L2) ** 2
    K = stiff * scipy.linalg.block_diag(slim, 16.0 * slim, np.array([[16.0, -8.0], [-8.0, 7.0]]) / 3.0)
    V = np.eye(4)
    V[2:, 2:] = scipy.linalg.eigh(K[2:, 2:], M[2:, 2:])[1]
    along, across = volume * np.array([0, 0, 2 / 3, 1 / 6]), volume * np.array([2 / PI, 0, 0, 0])
    turn = volume * L2 * np.array([1 / PI, -0.5 / PI, 0, 0])
    B = np.zeros((4, 4))
    B[0, 2], B[0, 3], B[1, 3] = -16.0 / PI**3, 8.0 / PI**3 - 1.0 / PI, 0.5 / PI
    B = volume * (B - B.T)
    J1_, J2_, S1, R1, R2 = (
        np.zeros((4, 3, 3)),
        np.zeros((4, 4, 3, 3)),
        np.zeros((4, 3)),
        np.zeros((4, 3)),
        np.zeros((4, 4, 3)),
    )
    J1_[:, 2, 2] = 2.0 * DENSITY * V.T @ (volume * L2 * np.array([0, 0, 1 / 3, 1 / 6]))
    J2_[:, :, 2, 2] = V.T @ M @ V
    S1[:, 0], S1[:, 1], R1[:, 2] = V.T @ along * DENSITY, V.T @ across * DENSITY, V.T @ turn * DENSITY
    R2[:, :, 2] = DENSITY * (V.T @ B @ V).T
    tip = ModeNode("tip", (L2, 0.0, 0.0), np.array([V[3], np.zeros(4), np.zeros(4)]))
    data = {
        "names": ["sine1", "sine2", "along1", "along2"], "mass": M2, "stiffness": np.diag(V.T @ K @ V),
        "damping": np.zeros(4), "mass_matrix": V.T @ M @ V, "first_moment": [0.5 * M2 * L2, 0.0, 0.0],
        "moment": np.diag([1e-9, J2, J2]), "S1": S1, "S2": np.zeros((4, 4, 3)),
        "J1": J1_, "J2": J2_, "R1": R1, "R2": R2,
        "nodes": [{"name": tip.name, "position": tip.position, "translation": tip.translation,
                   "rotation": tip.rotation, "second_order": tip.second_order}],
    }  # fmt: skip
    return Modes.from_dict(data), V


def bending_stiffens(q: np.ndarray) -> np.ndarray:
    """Forces on the test set's coordinates of the stiffness of second order, which couples bending and stretch."""
    f, g = 0.5 * YOUNG * WIDTH * HEIGHT / L2**2 * PI**2, 80.0 / (PI**2 * 9.0)
    stretch = -4.0 * q[2] + 2.0 * q[3]
    return -f * np.array([
        q[0] * q[3] - g * q[1] * stretch, 4.0 * q[1] * q[3] - g * q[0] * stretch,
        4.0 * g * q[0] * q[1], 0.5 * q[0] ** 2 + 2.0 * q[1] ** 2 - 2.0 * g * q[0] * q[1],
    ])  # fmt: skip


class SliderCrank:
    """The mechanism as a tree whose crank is prescribed and whose tip is held at its height."""

    def __init__(self, nonlinear: bool):
        skeleton = kido.Skeleton("slider-crank")
        skeleton.gravity = (0.0, 0.0, 0.0)
        modes, self.V = rod()
        crank = kido.Inertia(M1, moment=np.diag([J1, J1, J1]))
        arm = skeleton.add_body("crank", kido.RevoluteJoint(axis=(0, 0, 1)), None, crank)
        joint = kido.RevoluteJoint(axis=(0, 0, 1), transform_from_parent=(L1, 0.0, 0.0))
        flexible = FlexibleBody(skeleton.add_body("rod", joint, arm), modes)
        self.tip = skeleton.add_body("slider", kido.WeldJoint(), flexible.node("tip"), kido.Inertia(M3))
        self.tree, self.nonlinear = FlexibleTree(skeleton), nonlinear

    def state(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of the tree by modal coordinates and their rates y (8,)."""
        stretch, rate = self.V[3] @ y[:4], self.V[3] @ y[4:]
        angle = np.arcsin(-L1 * np.sin(SPEED * t) / (L2 + stretch))
        turning = -(L1 * np.cos(SPEED * t) * SPEED + np.sin(angle) * rate) / ((L2 + stretch) * np.cos(angle))
        q = np.concatenate([[SPEED * t, angle - SPEED * t], y[:4]])
        return q, np.concatenate([[SPEED, turning - SPEED], y[4:]])

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        """Of y, with the forces that close the loop and drive the crank as multipliers."""
        (q, u), tree, zero = self.state(t, y), self.tree, np.zeros(6)
        bias = tree.inverse_dynamics(q, u, zero)
        if self.nonlinear:
            bias[2:] -= self.V.T @ bending_stiffens(self.V @ y[:4])
        held = np.array([tree.jacobian(self.tip, q)[4], np.eye(6)[0]])
        drift = np.array([tree.motion(self.tip, q, u, zero)[1][4], 0.0])
        A = np.block([[tree.mass_matrix(q), held.T], [held, np.zeros((2, 2))]])
        return np.append(y[4:], np.linalg.solve(A, np.concatenate([-bias, -drift]))[2:6])

    def end(self, rtol: float = 1e-10, atol: float = 1e-13) -> np.ndarray:
        """Angle of the rod, place of the slider and the test set's coordinates at 0.1 s."""
        start = np.concatenate([np.linalg.solve(self.V, part) for part in START])
        found = solve_ivp(self.rates, (0.0, 0.1), start, method="DOP853", rtol=rtol, atol=atol)
        q, _ = self.state(0.1, found.y[:, -1])
        place = self.tree.transform(self.tip, q)[:2, 3]
        assert abs(place[1]) < 1e-15
        return np.concatenate([[q[0] + q[1], place[0]], self.V @ q[2:]])


def accelerations(t: float, q: np.ndarray, qd: np.ndarray, nonlinear: bool) -> np.ndarray:
    """Of the test set's coordinates by its own equations, written down once more."""
    mass, stiff, v = DENSITY * WIDTH * HEIGHT * L2, YOUNG * WIDTH * HEIGHT / L2, WIDTH * HEIGHT * L2 * DENSITY
    MQ = mass * scipy.linalg.block_diag(0.5, 0.5, [[8.0, 1.0], [1.0, 2.0]])
    slim = PI**4 / 24.0 * (HEIGHT / L2) ** 2
    KQ = stiff * scipy.linalg.block_diag(slim, 16.0 * slim, np.array([[16.0, -8.0], [-8.0, 7.0]]) / 3.0)
    c1, c2, c12 = (
        v * np.array([0, 0, 2 / 3, 1 / 6]),
        v * np.array([2 / PI, 0, 0, 0]),
        v * L2 * np.array([0, 0, 2, 1]) / 6,
    )
    c21 = v * L2 * np.array([1 / PI, -0.5 / PI, 0, 0])
    BQ = np.zeros((4, 4))
    BQ[0, 2], BQ[0, 3], BQ[1, 3] = -16.0 / PI**3, 8.0 / PI**3 - 1.0 / PI, 0.5 / PI
    BQ = v * (BQ - BQ.T)
    p1, reach = SPEED * t, L2 + q[3]
    p2 = np.arcsin(-L1 * np.sin(p1) / reach)
    v1, v2 = SPEED, -(L1 * np.cos(p1) * SPEED + np.sin(p2) * qd[3]) / (reach * np.cos(p2))
    c, s = np.cos(p1 - p2), np.sin(p1 - p2)
    # Unknown: the rod's angle, its coordinates, and the force that holds the slider up.
    A, b = np.zeros((6, 6)), np.zeros(6)
    A[0, 0], A[0, 1:5], A[1:5, 1:5] = J2 + q @ MQ @ q + 2.0 * c12 @ q, c21 + q @ BQ, MQ
    A[1:5, 0] = A[0, 1:5]
    b[0] = 0.5 * L1 * L2 * M2 * v1**2 * s + L1 * v1**2 * (s * c1 @ q - c * c2 @ q)
    b[0] -= 2.0 * v2 * c12 @ qd + 2.0 * v2 * qd @ MQ @ q
    b[1:5] = v2**2 * (MQ @ q + c12) + L1 * v1**2 * (c * c1 + s * c2) + 2.0 * v2 * BQ @ qd - KQ @ q
    b[1:5] += bending_stiffens(q) if nonlinear else 0.0
    # The slider's mass at x = L1 cos p1 + reach cos p2, and the height of the tip.
    x, y = np.array([-reach * np.sin(p2), 0, 0, 0, np.cos(p2)]), np.array([reach * np.cos(p2), 0, 0, 0, np.sin(p2)])
    spin = L1 * v1**2 * np.array([-np.cos(p1), -np.sin(p1)])
    spin += v2**2 * reach * np.array([-np.cos(p2), -np.sin(p2)]) + 2.0 * v2 * qd[3] * np.array(
        [-np.sin(p2), np.cos(p2)]
    )
    A[:5, :5] += M3 * np.outer(x, x)
    b[:5] -= M3 * x * spin[0]
    A[5, :5], A[:5, 5], b[5] = y, y, -spin[1]
    return np.linalg.solve(A, b)[1:5]


@pytest.mark.parametrize("nonlinear", [False, True])
def test_the_slider_crank_has_the_equations_of_the_test_set(nonlinear: bool) -> None:
    rng, mechanism = np.random.default_rng(1), SliderCrank(nonlinear)
    for t in rng.uniform(0.0, 0.1, 20):
        q, qd = rng.normal(size=4) * [2e-4, 1e-4, 1e-5, 1e-5], rng.normal(size=4) * [1.0, 0.5, 0.1, 0.1]
        y = np.concatenate([np.linalg.solve(mechanism.V, part) for part in (q, qd)])
        found, wanted = mechanism.V @ mechanism.rates(t, y)[4:], accelerations(t, q, qd, nonlinear)
        assert np.allclose(found, wanted, rtol=0.0, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize(("nonlinear", "wanted"), [(False, LINEAR), (True, NONLINEAR)])
def test_the_slider_crank_ends_where_the_test_set_has_it(nonlinear: bool, wanted: tuple[float, ...]) -> None:
    """To the last of the digits printed of angle and place, within 5 of it."""
    found = SliderCrank(nonlinear).end()[: len(wanted)]
    assert np.allclose(found, wanted, rtol=0.0, atol=5e-14)
