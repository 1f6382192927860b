"""Sizes of actuators, workspaces and singularities against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.analysis import best_gear_ratio, dexterity, reach_map, singularities, size_actuators


def planar(*lengths: float) -> kido.Skeleton:
    """Links in the plane z = 0, turning about z, and a tip at the end of the last."""
    arm = kido.Skeleton("planar")
    parent, reach = None, 0.0
    for k, length in enumerate([*lengths]):
        joint = kido.RevoluteJoint(f"joint{k}", (0.0, 0.0, 1.0), transform_from_parent=(reach, 0.0, 0.0))
        parent = arm.add_body(
            f"link{k}", joint, parent=parent, inertia=kido.Inertia.from_diagonal(1.0, [0.1, 0.1, 0.1])
        )
        reach = length
    weld = kido.WeldJoint("tip_joint", transform_from_parent=(reach, 0.0, 0.0))
    arm.add_body("tip", weld, parent=parent)
    return arm


# Peak and root mean square of a polynomial's acceleration from rest to rest, over distance / duration^2.
@pytest.mark.parametrize("powers, peak, rms", [
    ({2: 3.0, 3: -2.0}, 6.0, np.sqrt(12.0)),
    ({3: 10.0, 4: -15.0, 5: 6.0}, 10.0 / np.sqrt(3.0), np.sqrt(120.0 / 7.0)),
])  # fmt: skip
def test_sizes_of_an_actuator(powers: dict[int, float], peak: float, rms: float) -> None:
    arm = planar(1.0)
    arm.gravity = (0.0, 0.0, 0.0)
    J, theta, T = 0.1, 1.7, 0.8
    s = np.linspace(0.0, 1.0, 20_001)
    q = theta * sum(c * s**k for k, c in powers.items())
    u = theta / T * sum(k * c * s ** (k - 1) for k, c in powers.items())
    a = theta / T**2 * sum(k * (k - 1) * c * s ** (k - 2) for k, c in powers.items())
    found = size_actuators(arm, T * s, q[:, None], u[:, None], a[:, None])
    unit = J * theta / T**2
    assert abs(found.peak_force[0] / unit - peak) < 1e-7 * peak  # of the samples nearest to the peak
    assert abs(found.rms_force[0] / unit - rms) < 1e-7 * rms  # trapezoids, step^2
    assert abs(found.energy[0] - 2.0 * 0.5 * J * u.max() ** 2) < 1e-6  # in and out again
    assert {6.0: 6.0, 10.0 / np.sqrt(3.0): 5.7735}[peak] == round(peak, 4) and round(rms, 4) in (3.4641, 4.1404)
    with_friction = planar(1.0)
    with_friction.gravity = (0.0, 0.0, 0.0)
    with_friction.dofs[0].damping = 2.0
    damped = size_actuators(with_friction, T * s, q[:, None], u[:, None], a[:, None])
    assert np.allclose(damped.forces, found.forces + 2.0 * u[:, None])


def test_springs_are_held_and_overcome() -> None:
    """A pendulum's spring alone, held at rest at q: T = k (q - q_rest); with its rotor, (J + a) dv is added."""
    arm = planar(1.0)
    arm.gravity = (0.0, 0.0, 0.0)
    dof = arm.dofs[0]
    dof.spring_stiffness, dof.rest_position, dof.armature = 3.0, 0.2, 0.25
    q, still = np.array([[0.0], [1.0], [-0.5]]), np.zeros((3, 1))
    found = size_actuators(arm, [0.0, 1.0, 2.0], q, still, still + 1.0)
    assert np.allclose(found.forces, 3.0 * (q - 0.2) + 0.35, rtol=1e-14)


@pytest.mark.parametrize("lower, upper", [(4.0, np.inf), (0.0, np.inf), (-np.inf, -4.0), (-np.inf, np.inf)])
def test_reach_is_within_a_single_limit(lower: float, upper: float) -> None:
    """A tip at 1 m: angles are a turn from the limit on, all of them, and none beyond."""
    arm = planar(1.0)
    dof = arm.dofs[0]
    dof.position_lower_limit, dof.position_upper_limit = lower, upper
    found = reach_map(arm.body("tip"), samples=4000)
    assert np.allclose(np.linalg.norm(found.points, axis=1), 1.0)
    edge = lower if np.isfinite(lower) else upper if np.isfinite(upper) else np.pi
    turned = (np.arctan2(found.points[:, 1], found.points[:, 0]) - edge) % (2.0 * np.pi)
    assert np.histogram(turned, 8, (0.0, 2.0 * np.pi))[0].min() > 300  # of 500
    slider = kido.Skeleton("slider")
    joint = kido.PrismaticJoint("slide", (1.0, 0.0, 0.0))
    body = slider.add_body("car", joint, inertia=kido.Inertia.from_diagonal(1.0, [0.1, 0.1, 0.1]))
    slider.dofs[0].position_lower_limit, slider.dofs[0].position_upper_limit = lower, upper
    x = reach_map(body, samples=500).points[:, 0]
    assert x.min() >= lower and x.max() <= upper and np.ptp(x) > 5.0


def test_best_gear_ratio() -> None:
    ratio = best_gear_ratio(2.0, 0.02)
    assert ratio == pytest.approx(10.0, rel=1e-15)
    n = np.linspace(1.0, 30.0, 100_001)
    assert abs(n[np.argmax(n / (2.0 + n**2 * 0.02))] - ratio) < 1e-3
    with pytest.raises(kido.ModelError, match="motor_inertia"):
        best_gear_ratio(1.0, 0.0)


def test_dexterous_workspace_of_a_planar_arm_is_an_annulus() -> None:
    """|l1 - l2| + l3 < r < l1 + l2 - l3: a millimetre inside all orientations, a millimetre outside not."""
    l1, l2, l3 = 0.5, 0.4, 0.15
    arm = planar(l1, l2, l3)
    inner, outer = abs(l1 - l2) + l3, l1 + l2 - l3
    angles = np.linspace(0.0, 2.0 * np.pi, 25)[:-1]
    turns = np.array([[[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]] for a in angles])
    radii = [inner + 1e-3, 0.5 * (inner + outer), outer - 1e-3, inner - 1e-3, outer + 1e-3, l1 + l2 + l3 + 1e-3]
    shares = dexterity(arm.body("tip"), [[r, 0.0, 0.0] for r in radii], turns)
    assert np.all(shares[:3] == 1.0)
    assert np.all(shares[3:5] < 1.0) and np.all(shares[3:5] > 0.0)
    assert shares[5] == 0.0
    # Each orientation by the wrist, which has to be within the annulus of the first two links.
    for r, share in zip(radii, shares):
        wrist = np.hypot(r - l3 * np.cos(angles), l3 * np.sin(angles))
        assert share == np.mean((wrist >= abs(l1 - l2)) & (wrist <= l1 + l2))


def test_reach_is_an_annulus() -> None:
    l1, l2 = 0.5, 0.3
    found = reach_map(planar(l1, l2).body("tip"), cell=0.02, samples=60_000)
    r = np.linalg.norm(found.points, axis=1)
    assert r.min() > l1 - l2 - 1e-12 and r.max() < l1 + l2 + 1e-12
    assert r.min() < l1 - l2 + 1e-3 and r.max() > l1 + l2 - 1e-3
    area = np.count_nonzero(found.counts) * found.cell**2
    exact = np.pi * ((l1 + l2) ** 2 - (l1 - l2) ** 2)
    border = 2.0 * np.pi * 2.0 * l1 * found.cell  # cells that are cut by the border
    assert abs(area - exact) < border
    assert found.reached([0.5, 0.0, 0.0]) and not found.reached([0.0, 0.0, 0.0]) and not found.reached([9.0, 0.0, 0.0])
    # Manipulability is l1 l2 |sin q2|, at most l1 l2; of translation in space it is zero, as z does not move.
    assert np.nanmax(found.manipulability) < 1e-9


def test_singularities_of_two_links_are_enclosed() -> None:
    arm = planar(0.5, 0.3)
    found = singularities(arm.body("tip"), [-1.0, -0.5], [1.0, 2.5], rows=[3, 4], threshold=1e-3, smallest=0.01)
    assert found.complete and found.proven > 0.9
    q2 = found.uncertain[:, :, 1]
    assert np.abs(q2).max() < 0.1  # det J = l1 l2 sin q2
    assert all([q1, 0.0] in found for q1 in np.linspace(-0.99, 0.99, 50))
    rng = np.random.default_rng(0)
    for low, high in rng.permutation(found.regular)[:200]:  # what is said to be proven holds
        q = low + (high - low) * rng.random((20, 2))
        J = kido.batch.Batch(arm).jacobian(q, "tip")[:, 3:5]
        assert np.linalg.svd(J, compute_uv=False)[:, -1].min() > 1e-3
    area = sum(np.prod(boxes[:, 1] - boxes[:, 0], axis=1).sum() for boxes in (found.regular, found.uncertain))
    assert abs(area - 6.0) < 1e-9  # nothing of the region is missing


def test_bounds_of_singularities_hold_for_turning_and_sliding_joints() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        arm, parent = kido.Skeleton("random"), None
        for k in range(3):
            kind = (kido.RevoluteJoint, kido.PrismaticJoint)[int(rng.random() < 0.4)]
            axis, place = rng.normal(size=3), 0.4 * rng.normal(size=3)
            parent = arm.add_body(f"b{k}", kind(f"j{k}", axis, transform_from_parent=place), parent=parent)
        body = arm.bodies[-1]
        low, high = np.full(3, -0.6), np.full(3, 0.6)
        found = singularities(body, low, high, rows=[3, 4, 5], threshold=1e-3, smallest=0.1)
        for a, b in found.regular[:100]:
            q = a + (b - a) * rng.random((50, 3))
            sizes = np.linalg.svd(kido.batch.Batch(arm).jacobian(q, body.index)[:, 3:], compute_uv=False)
            assert sizes[:, -1].min() > 1e-3


def test_bad_input() -> None:
    arm = planar(0.5, 0.3)
    with pytest.raises(kido.StateError, match="times: expected growing numbers"):
        size_actuators(arm, [0.0, 0.0], np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(kido.StateError, match="expected 3 positions"):
        size_actuators(arm, [0.0, 1.0, 2.0], np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(kido.ModelError, match="cell"):
        reach_map(arm.body("tip"), cell=-1.0)
    with pytest.raises(kido.ModelError, match=r"expected a body of a kido\.Skeleton"):
        reach_map("tip")  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match=r"expected points \(n, 3\)"):
        dexterity(arm.body("tip"), [0.0, 0.0], np.eye(3)[None])
    with pytest.raises(kido.ModelError, match=r"expected points \(n, 3\)"):
        dexterity(arm.body("tip"), "here", "there")  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match=r"cell: .* expected a larger one"):
        reach_map(arm.body("tip"), cell=1e-6, samples=100)
    with pytest.raises(kido.ModelError, match="seed: expected a whole number from 0 on, got -1"):
        reach_map(arm.body("tip"), samples=10, seed=-1)
    with pytest.raises(
        kido.ModelError, match=r"singularities: lower: expected 2 numbers or one, got \[1.0, 1.0, 1.0\]"
    ):
        singularities(arm.body("tip"), [1.0, 1.0, 1.0], [2.0, 2.0])
    for rows in (5, [7], []):
        with pytest.raises(kido.ModelError, match=r"rows: expected some of 0 \.\.\. 5, got"):
            singularities(arm.body("tip"), [0.0, 0.0], [1.0, 1.0], rows=rows)  # type: ignore[arg-type]
    with pytest.raises(kido.StateError, match="times: expected growing numbers"):
        size_actuators(arm, "now", np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2)))  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="lower < upper"):
        singularities(arm.body("tip"), [1.0, 1.0], [0.0, 0.0])
    with pytest.raises(kido.ModelError, match="joints that turn or slide"):
        quadruped = kido.load("quadruped")
        singularities(quadruped.bodies[-1], np.full(quadruped.num_dofs, -1.0), np.ones(quadruped.num_dofs))
