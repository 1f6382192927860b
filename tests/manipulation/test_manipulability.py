"""Manipulability: closed forms of planar arms, finite differences, identities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from manipulation_robots import ROBOTS, planar_arm

import kido
from kido.manipulation import find_parts, limit_factor

PLANE = (3, 4)


@pytest.mark.parametrize("elbow", [0.3, 1.2, 2.5, -0.7, 0.0])
def test_measure_of_a_planar_arm(elbow: float) -> None:
    """2R: w = l1 l2 |sin q2|, and dw/dq = (0, l1 l2 cos q2 sign(sin q2)); Yoshikawa (1985)."""
    part = find_parts(planar_arm(0.5, 0.3))["arm"]
    found = part.manipulability([0.4, elbow], PLANE)
    assert found.measure == pytest.approx(0.15 * abs(np.sin(elbow)), abs=1e-15)
    if elbow:
        slope = 0.15 * np.cos(elbow) * np.sign(np.sin(elbow))
        np.testing.assert_allclose(found.gradient, [0.0, slope], atol=1e-14)
    else:
        along = np.array([np.cos(0.4), np.sin(0.4)])  # stretched: nothing moves along the arm
        assert (found.inverse_condition, found.isotropy) == (
            pytest.approx(0.0, abs=1e-15),
            pytest.approx(0.0, abs=1e-7),
        )
        assert found.velocity_along(along) == 0.0
        assert found.force_along(along) > 1e15
        np.testing.assert_array_equal(found.gradient, 0.0)


def test_isotropic_posture_of_a_planar_arm() -> None:
    """2R with l1 = sqrt(2) l2 is isotropic at q2 = 3 pi / 4 (Salisbury and Craig 1982)."""
    part = find_parts(planar_arm(np.sqrt(2.0) * 0.3, 0.3))["arm"]
    found = part.manipulability([0.2, 0.75 * np.pi], PLANE)
    assert found.inverse_condition == pytest.approx(1.0, abs=1e-14)
    assert found.isotropy == pytest.approx(1.0, abs=1e-14)
    assert found.velocity_along((1.0, 2.0)) == pytest.approx(0.3, abs=1e-14)
    assert found.force_along((1.0, 2.0)) == pytest.approx(1 / 0.3, rel=1e-14)


@pytest.fixture(scope="module")
def arms(example_robots: Path) -> dict[str, kido.manipulation.Part]:
    names = {"panda": "arm", "ur5": "arm", "talos": "left_arm", "baxter": "right_arm"}
    return {r: find_parts(kido.load_skeleton(example_robots / ROBOTS[r]))[p] for r, p in names.items()}


@pytest.mark.parametrize("name", ["panda", "ur5", "talos", "baxter"])
@pytest.mark.parametrize("rows", ["all", "linear", "angular"])
def test_gradients_are_differences(arms: dict[str, kido.manipulation.Part], name: str, rows: str) -> None:
    """Central differences by 1e-6 of w of order 0.1: 1e-9."""
    part = arms[name]
    q = np.random.default_rng(1).uniform(0.2, 1.0, part.num_dofs)
    exact = part.manipulability(q, rows, 0.3).gradient
    for i in range(part.num_dofs):
        step = np.zeros(part.num_dofs)
        step[i] = 1e-6
        ends = [part.manipulability(q + s * step, rows, 0.3, rates=False).measure for s in (1, -1)]
        assert exact[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=2e-9)


def test_derivatives_by_columns_of_the_reference(arms: dict[str, kido.manipulation.Part]) -> None:
    """dJw_j/dq_i = w_i x w_j for i above j; dJv_j/dq_i = w_i x v_j for i <= j, w_j x v_i below: Bruyninckx (1996)."""
    part = arms["ur5"]
    q = np.random.default_rng(2).uniform(-1, 1, 6)
    J, dJ = part.tip_jacobian(q), part.jacobian_derivatives(q)
    for i in range(6):
        for j in range(6):
            w = np.cross(J[:3, i], J[:3, j]) if i < j else np.zeros(3)
            v = np.cross(J[:3, i], J[3:, j]) if i <= j else np.cross(J[:3, j], J[3:, i])
            np.testing.assert_allclose(dJ[i, :, j], [*w, *v], atol=1e-13)


def test_single_directions_are_within_the_ellipsoids(arms: dict[str, kido.manipulation.Part]) -> None:
    found = arms["panda"].manipulability([0.1, 0.5, 0.0, -1.8, 0.2, 2.0, 0.3], "linear")
    velocity, force = found.velocity_ellipsoid, found.force_ellipsoid
    np.testing.assert_allclose(np.prod(velocity.radii), found.measure, rtol=1e-12)
    for k in range(3):
        assert found.velocity_along(velocity.axes[:, k]) == pytest.approx(velocity.radii[k], rel=1e-12)
        assert found.force_along(force.axes[:, k]) == pytest.approx(force.radii[k], rel=1e-12)
        np.testing.assert_allclose(velocity.radii[k] * force.radii[2 - k], 1.0, rtol=1e-12)


def test_effective_mass_of_a_planar_arm(arms: dict[str, kido.manipulation.Part]) -> None:
    """The stretched 1R bar: m l / 3 across it and no motion along it; of a robot, 1 / (e^T Lambda^-1 e)."""
    bar = find_parts(planar_arm(0.6))["arm"]
    found = bar.manipulability([0.0], PLANE)
    tip = 0.1 + 1e-4 / 0.36  # the tip's own mass and inertia
    box = (0.6**2 + 0.05**2) / 12 + 0.09
    assert found.effective_mass_along((0, 1)) == pytest.approx(box / 0.36 + tip, rel=1e-12)
    assert found.effective_mass_along((1, 0)) > 1e15
    panda = arms["panda"]
    q = np.array([0.1, 0.5, 0.0, -1.8, 0.2, 2.0, 0.3])
    panda.positions = q
    others = [dof.index for dof in panda.skeleton.dofs if dof not in panda.dofs]
    compliance = panda.skeleton.operational_space_compliance([panda.tip], rows="linear", prescribed=others)
    e = np.array([0.6, 0.0, 0.8])
    assert panda.manipulability(q, "linear").effective_mass_along(e) == pytest.approx(
        1 / (e @ compliance @ e), rel=1e-10
    )


def test_dynamic_measure(arms: dict[str, kido.manipulation.Part]) -> None:
    """1R: (T_max - |T_gravity|) l / I about z, where gravity has no part; less where it has."""
    arm = planar_arm(0.6)
    part = find_parts(arm)["arm"]
    inertia = (0.6**2 + 0.05**2) / 12 + 0.09 + 0.1 * 0.36 + 1e-4
    assert part.manipulability([0.3], (4,)).dynamic_measure == np.inf
    part.force_limit = 2.0
    arm.gravity = (0, 0, -9.81)
    assert part.manipulability([0.0], (4,)).dynamic_measure == pytest.approx(2.0 * 0.6 / inertia, rel=1e-12)
    arm.gravity = (0, -9.81, 0)
    left = 10.0 - 9.81 * (0.3 + 0.06)
    part.force_limit = 10.0
    assert part.manipulability([0.0], (4,)).dynamic_measure == pytest.approx(left * 0.6 / inertia, rel=1e-12)


def test_factor_of_limits() -> None:
    assert limit_factor([0.0, 0.0], [-1, -np.inf], [1, np.inf]) == pytest.approx(1 - np.exp(-0.25), rel=1e-15)
    assert limit_factor([1.0, 0.0], [-1, -1], [1, 1]) == 0.0
    assert limit_factor([1.1, 1.1], [-1, -1], [1, 1]) == 0.0
    with pytest.raises(kido.ModelError, match="sharpness"):
        limit_factor([0.0], [-1], [1], 0.0)


def test_mistakes_are_named(arms: dict[str, kido.manipulation.Part]) -> None:
    part = arms["panda"]
    with pytest.raises(kido.ModelError, match="rows: expected 'all'"):
        part.manipulability(rows="up")
    with pytest.raises(kido.ModelError, match="rows: expected 'all'"):
        part.manipulability(rows=(3, 3))
    with pytest.raises(kido.ModelError, match="length"):
        part.manipulability(length=-1.0)
    found = part.manipulability(rows="linear", rates=False)
    with pytest.raises(kido.ModelError, match="without rates"):
        _ = found.gradient
    with pytest.raises(kido.ModelError, match="direction"):
        found.velocity_along((0, 0, 0))
