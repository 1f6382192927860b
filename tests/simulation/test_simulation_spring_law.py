"""Springs in the future of a step: one step in closed form, no ringing, the same rest; dartpy beside it."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import kido
from kido.integrators import ExplicitEuler, MoreauMidpoint, SemiImplicitEuler
from scenes import world_of

H, STIFF = 0.01, 1e6


def rotor(stiffness: float = STIFF, **options) -> kido.Skeleton:
    """1 kg m^2 on a spring."""
    s = kido.Skeleton("rotor")
    inertia = kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0])
    s.add_body("rotor", kido.RevoluteJoint("hinge", spring_stiffness=stiffness, **options), inertia=inertia)
    return s


def sprung(law: str, integrator=None, skeleton=None) -> kido.World:
    world = world_of(skeleton or rotor(), time_step=H)
    world.spring_law = law
    if integrator is not None:
        world.integrator = integrator
    return world


def largest(world: kido.World, steps: int) -> float:
    """Largest angle in the second half of some steps."""
    s = world.skeletons[0]
    world.step(steps // 2)
    found = []
    for _ in range(steps // 2):
        world.step()
        found.append(float(np.abs(s.positions).max()))
    return max(found)


@pytest.mark.parametrize("rule", [MoreauMidpoint, SemiImplicitEuler])
def test_a_stiff_spring_rests_within_some_steps(rule) -> None:
    """k = 1e6 N m/rad, I = 1 kg m^2, h = 0.01 s: a period of 0.6 steps. At mid-step it rings for the whole second."""
    for law, rests in (("midpoint", False), ("future", True)):
        world = sprung(law, rule())
        world.skeletons[0].positions = [0.1]
        assert (largest(world, 100) < 1e-8) == rests


def test_dartpy_does_not_ring_either() -> None:
    dartpy = pytest.importorskip("dartpy")
    s = dartpy.dynamics.Skeleton()
    joint, body = s.createRevoluteJointAndBodyNodePair()
    body.setInertia(dartpy.dynamics.Inertia(1.0, [0, 0, 0], np.eye(3)))
    joint.setSpringStiffness(0, STIFF)
    s.setPositions([0.1])
    theirs = dartpy.simulation.World()
    theirs.setTimeStep(H)
    theirs.setGravity([0, 0, 0])
    theirs.addSkeleton(s)
    ours = sprung("future")
    ours.skeletons[0].positions = [0.1]
    for _ in range(50):
        theirs.step()
    ours.step(50)
    assert abs(s.getPositions()[0]) < 1e-8
    assert abs(ours.skeletons[0].positions[0]) < 1e-8


@pytest.mark.parametrize("stiffness", [10.0, 1e3, 1e6])
@pytest.mark.parametrize("rule, ahead", [(MoreauMidpoint, 0.5), (SemiImplicitEuler, 1.0)])
def test_a_step_is_the_one_of_its_formula(stiffness: float, rule, ahead: float) -> None:
    """u1 = u0 - h k (x + ahead h u1); x = (q0 + q1) / 2, or q0 + (h/4) (u1 - u0) by Euler's rule."""
    q, u = 0.3, -2.0
    middle = q + (0.5 * H * u if rule is MoreauMidpoint else 0.0)
    share = 0.25 * H  # of the change of velocity in the position that the spring is taken at
    u1 = (u - H * stiffness * (middle - share * u)) / (1 + H * stiffness * (share + ahead * H))
    q1 = q + (0.5 * H * (u + u1) if rule is MoreauMidpoint else H * u1)
    world = sprung("future", rule(), rotor(stiffness))
    s = world.skeletons[0]
    s.positions, s.velocities = [q], [u]
    world.step()
    assert s.velocities[0] == pytest.approx(u1, rel=1e-12)
    assert s.positions[0] == pytest.approx(q1, rel=1e-10)


def test_a_soft_spring_moves_alike_but_for_first_order() -> None:
    """Of 10 N m/rad: amplitude falls by (h/2) k / 2 a second, as that damping says: exp(-0.025 t)."""
    world = sprung("future", None, rotor(10.0))
    s = world.skeletons[0]
    s.positions = [0.1]
    period = 2 * np.pi / np.sqrt(10.0)
    world.step(round(3 * period / H))
    amplitude = np.hypot(s.positions[0], s.velocities[0] / np.sqrt(10.0))
    assert amplitude == pytest.approx(0.1 * np.exp(-0.25 * 10.0 * H * 3 * period), rel=1e-3)


def test_where_it_rests_and_what_is_told_stay_the_same() -> None:
    """A pendulum hangs where its spring holds it; joint damping reads as it was set."""
    s = rotor(50.0, axis=(0, 1, 0), damping=0.5)
    s.bodies[0].inertia = kido.Inertia(2.0, (0.3, 0.0, 0.0), np.eye(3) * 0.05)
    world = sprung("future", None, s)
    world.gravity = (0, 0, -9.81)
    world.step(3000)
    q = s.positions[0]
    assert 50.0 * q == pytest.approx(2.0 * 9.81 * 0.3 * np.cos(q), rel=1e-9)
    assert s.joint("hinge").damping.tolist() == [0.5]
    s.velocities = [1.0]
    assert s.damping_forces.tolist() == [-0.5]


def test_of_ball_joints_too() -> None:
    s = kido.Skeleton("ball")
    inertia = kido.Inertia.from_diagonal(1.0, [1.0, 2.0, 1.5])
    s.add_body("ball", kido.BallJoint("ball", spring_stiffness=STIFF), inertia=inertia)
    s.positions = [0.1, -0.05, 0.08]
    assert largest(sprung("future", None, s), 100) < 1e-6


def test_it_may_be_changed_at_any_time_and_is_kept() -> None:
    world = sprung("midpoint")
    s = world.skeletons[0]
    s.positions = [0.1]
    world.step(10)
    reference = world.clone()
    reference.spring_law = "future"
    world.spring_law = "future"
    s.joint("hinge").spring_stiffness = 2 * STIFF
    reference.skeletons[0].joint("hinge").spring_stiffness = 2 * STIFF
    world.time_step = reference.time_step = 0.005
    twin = copy.deepcopy(world)
    assert twin.spring_law == "future"
    for w in (world, twin, reference):
        w.step(5)
    assert twin.skeletons[0].positions.tolist() == s.positions.tolist()
    assert reference.skeletons[0].positions.tolist() == s.positions.tolist()
    world.spring_law = "midpoint"
    s.positions, s.velocities = [0.1], [0.0]
    assert largest(world, 100) > 0.05


def test_explicit_rules_know_no_difference() -> None:
    ends = []
    for law in ("midpoint", "future"):
        world = sprung(law, ExplicitEuler(), rotor(10.0))
        world.skeletons[0].positions = [0.1]
        world.step(20)
        ends.append(world.skeletons[0].positions.tolist())
    assert ends[0] == ends[1]


def test_mistakes() -> None:
    with pytest.raises(kido.ModelError, match="spring_law: expected one of midpoint, future"):
        kido.World(spring_law="implicit")
    world = kido.World()
    with pytest.raises(kido.ModelError, match="spring_law"):
        world.spring_law = 1
    assert world.spring_law == "midpoint"
