"""Grasps and their qualities: closed forms of discs and spheres, geometry of what is generated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from manipulation_robots import ROBOTS, block

import kido
from kido.manipulation import (
    ParallelGripper,
    contact_wrenches,
    find_parts,
    generate_grasps,
    grasp_quality,
)

PLANAR = (2, 3, 4)
ACROSS = np.array([[1.0, 0, 0], [-1.0, 0, 0]])


@pytest.mark.parametrize("friction", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_two_contacts_across_a_disc(friction: float, ratio: float) -> None:
    """A tetrahedron (-1, +-m, +-m l), (1, +-m, -+m l): epsilon m l / sqrt(m^2 l^2 + l^2 + 1), volume 8 m^2 l / 3."""
    wrenches = contact_wrenches(0.3 * ACROSS, ACROSS, friction, length=0.3 / ratio, edges=4)
    found = grasp_quality(wrenches, PLANAR)
    slope = friction * ratio
    assert found.epsilon == pytest.approx(slope / np.sqrt(slope**2 + ratio**2 + 1.0), rel=1e-12)
    assert found.volume == pytest.approx(8.0 / 3.0 * friction * slope, rel=1e-12)


@pytest.mark.parametrize("edges", [4, 8, 16])
def test_forces_of_two_contacts_across_a_sphere(edges: int) -> None:
    """A prism of length 2 on a regular polygon of radius mu: epsilon mu cos(pi / k), volume k mu^2 sin(2 pi / k)."""
    found = grasp_quality(contact_wrenches(ACROSS, ACROSS, 0.4, edges=edges), "linear")
    assert found.epsilon == pytest.approx(0.4 * np.cos(np.pi / edges), rel=1e-12)
    assert found.volume == pytest.approx(edges * 0.16 * np.sin(2 * np.pi / edges), rel=1e-12)


def test_what_does_not_hold_has_no_quality() -> None:
    """Points do not resist turning about their line, nor contacts on one side, nor smooth ones across a disc."""
    assert grasp_quality(contact_wrenches(ACROSS, ACROSS, 0.5)) == (0.0, 0.0)
    side = np.array([[1.0, 0, 0], [0.9, np.sqrt(0.19), 0]])
    found = grasp_quality(contact_wrenches(side, side, 0.2, torsion=0.1))
    assert found.epsilon == 0.0
    assert grasp_quality(contact_wrenches(ACROSS, ACROSS, 0.0), PLANAR).epsilon == 0.0
    assert grasp_quality(np.zeros((0, 6))) == (0.0, 0.0)


def test_soft_fingers_hold_in_all_directions() -> None:
    """Epsilon stays as the whole is turned (many edges), grows with torsion, and falls beside the middle."""
    R = kido.math.exp_rotation([0.4, -0.3, 0.7])
    kwargs = {"torsion": 0.1, "edges": 24}
    plain, turned = (grasp_quality(contact_wrenches(p, p, 0.5, **kwargs)) for p in (ACROSS, ACROSS @ R.T))
    assert plain.epsilon == pytest.approx(turned.epsilon, rel=3e-2)
    assert plain.epsilon > 0.0
    assert grasp_quality(contact_wrenches(ACROSS, ACROSS, 0.5, torsion=0.05, edges=24)).epsilon < plain.epsilon
    aside = grasp_quality(contact_wrenches(ACROSS, ACROSS, 0.5, center=(0, 0.5, 0), **kwargs))
    assert aside.epsilon < plain.epsilon


def test_grasps_of_a_sphere() -> None:
    """Contacts on the sphere, normals radial, lines in both cones, widths 2 r cos(angle), frames as they should be."""
    r, hand = 0.03, ParallelGripper(friction=0.5)
    found = generate_grasps(kido.Sphere(r), hand, 100, 4)
    assert len(found) > 100
    np.testing.assert_allclose(np.linalg.norm(found.points, axis=2), r, atol=1e-9)
    np.testing.assert_allclose(found.normals, found.points / r, atol=1e-7)
    line = found.points[:, 1] - found.points[:, 0]
    np.testing.assert_allclose(found.widths, np.linalg.norm(line, axis=1), atol=1e-15)
    cosine = np.einsum("ij,ij->i", line, found.normals[:, 1]) / found.widths
    np.testing.assert_allclose(found.widths, 2 * r * cosine, atol=1e-9)
    assert cosine.min() >= np.cos(np.arctan(0.5)) - 1e-9
    np.testing.assert_allclose(found.poses[:, :3, 1], line / found.widths[:, None], atol=1e-7)
    np.testing.assert_allclose(found.poses[:, :3, 3], found.points.mean(axis=1), atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(found.poses[:, :3, :3]), 1.0, atol=1e-12)
    assert (np.diff(found.epsilon) <= 0.0).all()
    best, worst = found[:40].widths.mean(), found[-40:].widths.mean()
    assert best > worst  # across the middle is best
    assert len(generate_grasps(kido.Sphere(0.05), hand, 50, 1)) < 25  # 8 cm open: only beside the middle


def test_grasps_of_a_box_are_across_its_sides() -> None:
    """A box of 4 x 6 x 20 cm and 8 cm of gripper: never along z; a second shape on the body counts too."""
    item = block(size=(0.04, 0.06, 0.2))
    found = generate_grasps(item.body(0), samples=200, rolls=2)
    assert len(found) > 50
    assert (np.abs(found.normals[:, :, 2]) < 0.5).all()
    for k in range(len(found)):
        side = int(np.argmax(np.abs(found.normals[k, 0])))
        assert abs(abs(found.points[k, 0, side]) - (0.02, 0.03)[side]) < 1e-9
    assert found[3].poses.shape == (1, 4, 4)
    assert len(found[found.epsilon > np.median(found.epsilon)]) < len(found)
    volumes = found.sorted("volume").volume
    assert (np.diff(volumes) <= 0.0).all()
    item.body(0).add_shape(kido.Box((0.2, 0.2, 0.2)))
    assert len(generate_grasps(item.body(0), samples=100)) == 0  # too wide now


def test_grasps_that_an_arm_reaches(example_robots: Path) -> None:
    """Positions of each bring the tip there, to the solver's tolerance; an object far off is not reached."""
    robot = kido.load_skeleton(example_robots / ROBOTS["panda"])
    arm = find_parts(robot)["arm"]
    arm.positions = [0, -0.785398, 0, -2.35619, 0, 1.5707, 0.785398]
    item = block()
    item.positions = [0, 0, 0, 0.5, 0.1, 0.3]
    grasps = generate_grasps(item.body(0), samples=40, rolls=4)
    found, positions = grasps.reachable(arm, item.body(0))
    assert 0 < len(found) <= len(grasps)
    for pose, q in zip(found.in_world(item.body(0)), positions, strict=True):
        np.testing.assert_allclose(arm.forward_kinematics(arm.check_limits(q)), pose, atol=1e-5)
    item.positions = [0, 0, 0, 3.0, 0, 0]
    none, q = grasps[:5].reachable(arm, item.body(0))
    assert (len(none), q.shape) == (0, (0, 7))


def test_mistakes_are_named() -> None:
    cases = [
        (lambda: generate_grasps("box"), "expected a shape, or a body"),
        (lambda: generate_grasps(kido.Plane()), "have an end"),
        (lambda: generate_grasps(kido.Skeleton("s").add_body("b", kido.FreeJoint())), "have an end"),
        (lambda: generate_grasps(kido.Sphere(0.1), samples=0), "samples: expected a count"),
        (lambda: generate_grasps(kido.Sphere(0.1), seed=-1), "seed: expected a count from 0 on, got -1"),
        (lambda: generate_grasps(kido.Sphere(0.1), "wide"), "gripper: expected a ParallelGripper, got 'wide'"),
        (lambda: contact_wrenches("a", "b"), r"points and normals \(n, 3\)"),
        (lambda: grasp_quality("a"), r"wrenches \(k, 6\)"),
        (lambda: ParallelGripper(opening=0.0), "opening"),
        (lambda: ParallelGripper(torsion=-1.0), "torsion"),
        (lambda: contact_wrenches(ACROSS, ACROSS[:1]), r"points and normals \(n, 3\)"),
        (lambda: contact_wrenches(ACROSS, 0 * ACROSS), "some length"),
        (lambda: contact_wrenches(ACROSS, ACROSS, -0.5), "friction and torsion"),
        (lambda: contact_wrenches(ACROSS, ACROSS, edges=2), "edges"),
        (lambda: grasp_quality(np.zeros((3, 5))), r"wrenches \(k, 6\)"),
        (lambda: generate_grasps(kido.Sphere(0.02)).sorted("name"), "'epsilon' or 'volume'"),
    ]
    for call, text in cases:
        with pytest.raises(kido.ModelError, match=text):
            call()
