"""The flexible slider-crank of the test set for initial value problems (Simeon 1996), to its digits.

A crank that turns at 150 rad/s, a rod with two sines across and a quadratic element along, a slider. The rod's mass
terms are those of the test set, whose axial ones are 15 times those of the element, so it is given by its integrals. The
loop is closed by a multiplier: the slider's mass hangs on the tip, whose height is held.
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
    J1_, J2_, S1, R1, R2 = np.zeros((4, 3, 3)), np.zeros((4, 4, 3, 3)), np.zeros((4, 3)), np.zeros((4, 3)), None
    J1_[:, 2, 2] = 2.0 * DENSITY * V.T @ (volume * L2 * np.array([0, 0, 1 / 3, 1 / 6]))
    J2_[:, :, 2, 2] = V.T @ M @ V
    S1[:, 0], S1[:, 1], R1[:, 2] = V.T @ along * DENSITY, V.T @ across * DENSITY, V.T @ turn * DENSITY
    R2 = np.zeros((4, 4, 3))
    R2[:, :, 2] = DENSITY * (V.T @ B @ V).T
    tip = ModeNode("tip", (L2, 0.0, 0.0), np.array([V[3], np.zeros(4), np.zeros(4)]))
    data = {
        "names": ["sine1", "sine2", "along1", "along2"], "mass": M2, "stiffness": np.diag(V.T @ K @ V),
        "damping": np.zeros(4), "mass_matrix": V.T @ M @ V, "first_moment": [0.5 * M2 * L2, 0.0, 0.0],
        "moment": np.diag([1e-9, J2, J2]), "S1": S1, "S2": np.zeros((4, 4, 3)), "J1": J1_, "J2": J2_, "R1": R1, "R2": R2,
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


def slider_crank(nonlinear: bool, rtol: float = 1e-11) -> np.ndarray:
    """Angle of the rod, place of the slider and the test set's coordinates at 0.1 s."""
    skeleton = kido.Skeleton("slider-crank")
    skeleton.gravity = (0.0, 0.0, 0.0)
    modes, V = rod()
    crank = kido.Inertia(M1, moment=np.diag([J1, J1, J1]))
    arm = skeleton.add_body("crank", kido.RevoluteJoint(axis=(0, 0, 1)), None, crank)
    joint = kido.RevoluteJoint(axis=(0, 0, 1), transform_from_parent=(L1, 0.0, 0.0))
    flexible = FlexibleBody(skeleton.add_body("rod", joint, arm), modes)
    tip = skeleton.add_body("slider", kido.WeldJoint(), flexible.node("tip"), kido.Inertia(M3))
    tree = FlexibleTree(skeleton)
    crank_turns, zero = np.eye(6)[0], np.zeros(6)

    def state(t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of the tree that keep the tip at its height."""
        eta, rate = y[:4], y[4:]
        reach, crank_angle = L2 + V[3] @ eta, SPEED * t
        angle = np.arcsin(-L1 * np.sin(crank_angle) / reach)
        turning = -(L1 * np.cos(crank_angle) * SPEED + np.sin(angle) * (V[3] @ rate)) / (reach * np.cos(angle))
        q = np.concatenate([[crank_angle, angle - crank_angle], eta])
        return q, np.concatenate([[SPEED, turning - SPEED], rate])

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        q, u = state(t, y)
        bias = tree.inverse_dynamics(q, u, zero)
        if nonlinear:
            bias[2:] -= V.T @ bending_stiffens(V @ q[2:])
        held = np.array([tree.jacobian(tip, q)[4], crank_turns])
        drift = np.array([tree.motion(tip, q, u, zero)[1][4], 0.0])
        M = tree.mass_matrix(q)
        A = np.block([[M, held.T], [held, np.zeros((2, 2))]])
        return np.append(y[4:], np.linalg.solve(A, np.concatenate([-bias, -drift]))[2:6])

    Vinv = np.linalg.inv(V)
    start = np.concatenate([Vinv @ START[0], Vinv @ START[1]])
    found = solve_ivp(rates, (0.0, 0.1), start, method="DOP853", rtol=rtol, atol=1e-15)
    q, _ = state(0.1, found.y[:, -1])
    place = tree.transform(tip, q)[:2, 3]
    assert abs(place[1]) < 1e-15
    return np.concatenate([[q[0] + q[1] - 2.0 * np.pi * round((q[0] + q[1]) / (2.0 * np.pi)), place[0]], V @ q[2:]])


def test_the_slider_crank_ends_where_the_test_set_has_it() -> None:
    found = slider_crank(False)
    assert np.allclose(found, LINEAR, rtol=0.0, atol=2e-13)
    assert np.allclose(found[2:], LINEAR[2:], rtol=1e-7, atol=0.0)


@pytest.mark.slow
def test_the_slider_crank_with_stiffness_of_second_order() -> None:
    assert np.allclose(slider_crank(True)[:2], NONLINEAR, rtol=0.0, atol=2e-13)
