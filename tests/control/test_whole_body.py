"""Whole-body control: its equations, friction pyramids and limits, and robots that stand."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.control import BodyGoal, ComGoal, Contact, MomentumGoal, PostureGoal, WholeBody
from scenes import world_of

SIDES = ("left", "right")
CORNERS = np.array([[x, y, -0.07] for x in (-0.08, 0.18) for y in (-0.045, 0.045)])  # of a foot's sole


def standing() -> kido.Skeleton:
    """Our humanoid with bent knees, both feet on z = 0."""
    s = kido.load("humanoid")
    for side in SIDES:
        for name, value in (("hip_pitch", -0.3), ("knee", 0.6), ("ankle_pitch", -0.3)):
            s.dof(f"{side}_{name}").position = value
    s.dof("root_z").position -= s.body("left_foot").world_transform[2, 3] - 0.07
    return s


def over_feet(s: kido.Skeleton) -> np.ndarray:
    com = np.array(s.com)
    com[:2] = np.mean([s.body(f"{side}_foot").world_transform[:2, 3] for side in SIDES], axis=0) + [0.04, 0.0]
    return com


def controller(s: kido.Skeleton, com, **options) -> WholeBody:
    chest = s.body("chest")
    goals = [
        ComGoal(com),
        BodyGoal(chest, chest.world_transform, rows="angular", weight=0.1),
        MomentumGoal(),
        PostureGoal(s, s.positions),
    ]
    return WholeBody(s, goals, [Contact(s.body(f"{side}_foot"), CORNERS) for side in SIDES], **options)


def test_a_solution_obeys_the_equations_of_motion() -> None:
    """M a + C = tau + J^T f with no force on the base, feet that stay, f in cones; to rounding."""
    s = standing()
    s.velocities = 0.2 * np.random.default_rng(2).normal(size=s.num_dofs)
    c = controller(s, over_feet(s) + [0.02, 0.01, 0.0])
    tau = np.zeros(s.num_dofs)
    tau[c.dofs] = c.compute()
    a, forces = c.accelerations, c.contact_forces
    assert not tau[:6].any()
    assert forces.shape == (8, 3)
    pushed = np.zeros(s.num_dofs)
    for k, side in enumerate(SIDES):
        foot = s.body(f"{side}_foot")
        for p, f in zip(CORNERS, forces[4 * k : 4 * k + 4], strict=True):
            pushed += np.array(s.jacobian(foot, p))[3:].T @ f
        J = np.array(s.jacobian(foot, CORNERS[0]))
        rate = np.array(s.jacobian_classic_derivative(foot, CORNERS[0])) @ s.velocities
        assert J @ a + rate == pytest.approx(-20.0 * J @ s.velocities, abs=1e-7)
    passive = np.array(s.spring_forces) + s.damping_forces
    left = s.mass_matrix @ a + s.coriolis_and_gravity_forces - passive - tau - pushed
    assert np.abs(left).max() < 1e-7 * s.mass * 9.81
    assert (np.linalg.norm(forces[:, :2], axis=1) <= 0.7 * forces[:, 2] + 1e-9).all()
    limits = np.array([dof.force_limit for dof in s.dofs])
    assert (np.abs(tau) <= limits * (1 + 1e-9)).all()
    assert c.within_limits


def test_one_goal_without_contacts_is_met_exactly() -> None:
    """Of an arm with one goal of fewer rows than joints, J a + J'u is what is asked for, but for the regularization."""
    arm = kido.load("arm7")
    arm.positions, arm.velocities = [0.2, 0.5, -0.3, 1.2, 0.4, 0.6, 0.1], np.linspace(-0.5, 0.5, 7)
    hand = arm.bodies[-1]
    target = hand.world_transform[:3, 3] + [0.05, -0.02, 0.03]
    c = WholeBody(arm, [BodyGoal(hand, target, 50.0, 14.0)], regularization=1e-10)
    c.compute()
    J, rate = np.array(arm.jacobian(hand))[3:], np.array(arm.jacobian_classic_derivative(hand))[3:]
    wanted = 50.0 * (target - hand.world_transform[:3, 3]) - 14.0 * J @ arm.velocities
    assert J @ c.accelerations + rate @ arm.velocities == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_a_humanoid_stands_and_is_pushed() -> None:
    """At 250 Hz: it comes back over its feet, which do not move, and the ground carries its weight."""
    s = standing()
    world = world_of(s, gravity=(0, 0, -9.81))
    world.add_ground()
    com = over_feet(s)
    c = world.add_controller(controller(s, com, rate=250.0))
    feet = [np.array(s.body(f"{side}_foot").world_transform) for side in SIDES]
    world.step(1500)
    assert np.array(s.com) == pytest.approx(com, abs=2e-3)
    assert c.contact_forces[:, 2].sum() == pytest.approx(s.mass * 9.81, rel=1e-2)
    world.push(s.body("chest"), [20.0, 0.0, 0.0], 0.33)  # 6.6 N s
    world.step(330)
    assert abs(s.com[0] - com[0]) > 2e-3
    world.step(2000)
    assert np.array(s.com) == pytest.approx(com, abs=2e-3)
    for side, X in zip(SIDES, feet, strict=True):
        assert s.body(f"{side}_foot").world_transform == pytest.approx(X, abs=5e-3)


def test_limits_that_leave_no_solution_are_let_go() -> None:
    s = standing()
    c = controller(s, over_feet(s))
    c.compute()
    assert c.within_limits
    for joint in s.joints:
        joint.force_limit = 0.5
    s.velocities = np.random.default_rng(3).normal(size=s.num_dofs)  # feet that must be stopped at once
    found = c.compute()
    assert not c.within_limits
    assert np.abs(found).max() > 0.5
    s.velocities = np.zeros(s.num_dofs)
    with pytest.raises(kido.StateError, match="no accelerations"):  # a chest that hangs on a point that only pushes
        WholeBody(s, [], [Contact(s.body("chest"), [0, 0, 0], normal=(1, 0, 0))], ["left_knee"]).compute()


def test_mistakes() -> None:
    s, other = standing(), standing()
    foot = s.body("left_foot")
    with pytest.raises(kido.ModelError, match="points"):
        Contact(foot, CORNERS[:2])
    with pytest.raises(kido.ModelError, match="friction"):
        Contact(foot, CORNERS, 0.0)
    with pytest.raises(kido.ModelError, match="normal"):
        Contact(foot, CORNERS, normal=(0, 0, 0))
    with pytest.raises(kido.ModelError, match="body"):
        Contact("foot", CORNERS)
    with pytest.raises(kido.ModelError, match="contacts"):
        WholeBody(s, [], [Contact(other.body("left_foot"), CORNERS)])
    with pytest.raises(kido.ModelError, match="goals"):
        WholeBody(s, ["stand"])
    with pytest.raises(kido.ModelError, match="weight"):
        ComGoal([0, 0, 1], weight=-1.0)
    with pytest.raises(kido.ModelError, match="target"):
        ComGoal([0, 1])
    with pytest.raises(kido.ModelError, match="regularization"):
        WholeBody(s, [], regularization=0.0)
