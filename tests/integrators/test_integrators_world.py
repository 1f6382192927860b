"""Worlds with another integrator than their own: equal motions, contact, its refusal, recordings."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido.errors import ModelError, StateError
from kido.integrators import (
    RK4,
    DormandPrince,
    ExplicitEuler,
    Integrator,
    MoreauMidpoint,
    SemiImplicitEuler,
    Variational,
    simulate,
)
from trees import BUILT_IN, random_skeleton, random_state
from user_classes import Heun

STAGED = (MoreauMidpoint(), SemiImplicitEuler(), ExplicitEuler())
SMOOTH = (RK4(), DormandPrince(1e-9, 1e-9), Variational())
names = {"ids": lambda x: getattr(x, "name", None)}


def tree(seed: int = 1) -> kido.Skeleton:
    """Joints of every kind, springs and dampers, one external force; nothing that touches."""
    skeleton = random_skeleton(seed, 10, BUILT_IN, masses=(1.0, 10.0))
    q, u, _, _ = random_state(skeleton, seed, speed=0.5)
    for joint in skeleton.joints:
        joint.spring_stiffness, joint.damping = 3.0, 0.1
    skeleton.positions, skeleton.velocities = 0.5 * q, u
    skeleton.bodies[-1].add_external_force((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    return skeleton


def world_of(*skeletons: kido.Skeleton, integrator: Integrator | None = None, **options) -> kido.World:
    world = kido.World(**options)
    for skeleton in skeletons:
        world.add_skeleton(skeleton)
    if integrator is not None:
        world.integrator = integrator
    return world


def ball(height: float = 1.0, radius: float = 0.1) -> kido.Skeleton:
    skeleton = kido.Skeleton("ball")
    inertia = kido.Inertia.from_diagonal(1.0, np.full(3, 0.4 * radius**2))
    skeleton.add_body("ball", inertia=inertia).add_shape(kido.Sphere(radius))
    skeleton.positions = [0, 0, 0, 0, 0, height]
    return skeleton


# Without contact -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", [*STAGED, *SMOOTH, Heun()], **names)
def test_a_world_moves_a_skeleton_as_simulate_does(integrator) -> None:
    """The same steps by other code paths (for three integrators) or in other arrays: equal to rounding."""
    alone, within = tree(), tree()
    forces = 0.3 * np.ones(alone.num_dofs)
    world = world_of(tree(2), within, integrator=integrator)
    within.forces = forces
    world.step(50, reset_command=False)
    simulate(alone, integrator, times=np.arange(51) * 1e-3, forces=forces)
    tolerance = 1e-7 if isinstance(integrator, DormandPrince) else 1e-10
    np.testing.assert_allclose(within.positions, alone.positions, atol=tolerance)
    np.testing.assert_allclose(within.velocities, alone.velocities, atol=100 * tolerance)
    np.testing.assert_array_equal(within.forces, forces)
    assert world.num_steps == 50 and world.time == pytest.approx(0.05)


def test_the_default_is_the_midpoint_rule() -> None:
    world = kido.World()
    assert world.integrator == MoreauMidpoint()
    a, b = world_of(tree()), world_of(tree(), integrator=RK4())
    b.integrator = MoreauMidpoint()
    a.step(20)
    b.step(20)
    assert np.array_equal(a.skeleton(0).positions, b.skeleton(0).positions)


@pytest.mark.parametrize("integrator", SMOOTH, **names)
def test_immobile_skeletons_stay(integrator) -> None:
    still, moving = tree(), tree(2)
    still.mobile = False
    before = still.positions
    world_of(still, moving, integrator=integrator).step(5)
    assert np.array_equal(still.positions, before)


@pytest.mark.parametrize("integrator", [*SMOOTH, Heun()], **names)
def test_worlds_without_coordinates(integrator) -> None:
    world = kido.World()
    world.integrator = integrator
    world.step(2)
    world.add_ground()
    world.step(2)
    assert world.num_steps == 4


def test_time_reaches_a_users_integrator() -> None:
    seen = []

    class Clock(Integrator):
        def step(self, system, time, positions, velocities, time_step):
            seen.append(time)
            return positions, velocities

    world = world_of(tree(), integrator=Clock(), time_step=0.5)
    world.step(3)
    world.step(1)
    assert seen == [0.0, 0.5, 1.0, 1.5]


@pytest.mark.parametrize("integrator", [*STAGED, *SMOOTH, Heun()], **names)
def test_actuators_prescribe_motion(integrator) -> None:
    """A cart driven to 2 m/s, then a pole that is locked; the forces that this takes are those of the equations."""
    skeleton = kido.Skeleton("cart")
    cart = skeleton.add_body("cart", kido.PrismaticJoint("slide", axis=(1, 0, 0)), inertia=kido.Inertia(2.0))
    skeleton.add_body("pole", kido.RevoluteJoint("turn", axis=(0, 1, 0)), cart, kido.Inertia(1.0, (0, 0, -1.0)))
    skeleton.joint("slide").actuator_type = "ACCELERATION"
    skeleton.joint("turn").actuator_type = "LOCKED"
    skeleton.positions = [0.0, 0.5]
    world = world_of(skeleton, integrator=integrator)
    skeleton.commands = [2.0, 0.0]
    world.step(1000, reset_command=False)
    np.testing.assert_allclose(skeleton.velocities, [2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(skeleton.positions, [1.0, 0.5], atol=1.1e-3)
    torque = 9.81 * np.sin(0.5) + 2.0 * np.cos(0.5)  # of the weight and of the acceleration, with signs as below
    expected = skeleton.inverse_dynamics(skeleton.positions, skeleton.velocities, [2.0, 0.0])
    np.testing.assert_allclose(skeleton.actuator_forces, expected, atol=1e-9)
    assert abs(expected[1]) < torque + 1e-9 and expected[0] == pytest.approx(6.0)
    skeleton.joint("slide").actuator_type = "VELOCITY"
    skeleton.commands = [-1.0, 0.0]
    world.step(1)
    assert skeleton.velocities[0] == pytest.approx(-1.0, abs=1e-12)


@pytest.mark.parametrize("integrator", SMOOTH, **names)
def test_smooth_integrators_refuse_servos(integrator) -> None:
    skeleton = tree()
    skeleton.dofs[0].joint.actuator_type = "SERVO"
    world = world_of(skeleton, integrator=integrator)
    with pytest.raises(StateError, match="servo"):
        world.step()
    alone = tree()
    alone.dofs[0].joint.actuator_type = "SERVO"
    with pytest.raises(ModelError, match="SERVO"):
        simulate(alone, integrator, 1.0)


# Contact ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", STAGED, **names)
def test_euler_rules_land_and_rest(integrator) -> None:
    world = world_of(ball(0.3), integrator=integrator)
    world.add_ground()
    world.step(1000)
    b = world.skeleton("ball")
    assert b.positions[5] == pytest.approx(0.1, abs=2e-5)
    assert np.abs(b.velocities).max() < 1e-3
    assert abs(world.contacts.forces[:, 2].sum()) == pytest.approx(9.81, rel=1e-3)


@pytest.mark.parametrize("integrator", STAGED, **names)
def test_euler_rules_slide_to_rest(integrator) -> None:
    """A box at v stops after v^2 / (2 mu g); first-order rules are off by about v h."""
    box = kido.Skeleton("box")
    body = box.add_body("box", inertia=kido.Inertia.from_diagonal(1.0, [0.01, 0.01, 0.01]))
    body.add_shape(kido.Box((0.2, 0.2, 0.2)), friction=0.5)
    box.positions, box.velocities = [0, 0, 0, 0, 0, 0.1], [0, 0, 0, 1.0, 0, 0]
    world = world_of(box, integrator=integrator)
    world.add_ground()
    world.step(600)
    assert box.positions[3] == pytest.approx(1.0 / (2 * 0.5 * 9.81), abs=2e-3)
    assert np.abs(box.velocities).max() < 1e-6


@pytest.mark.parametrize("integrator", STAGED, **names)
def test_euler_rules_stop_at_limits(integrator) -> None:
    arm = kido.Skeleton("arm")
    joint = kido.RevoluteJoint(axis=(0, 1, 0), position_lower_limit=-0.5, position_upper_limit=0.5)
    arm.add_body("link", joint, inertia=kido.Inertia(1.0, (1.0, 0, 0)))
    world = world_of(arm, integrator=integrator)
    world.step(2000)
    assert arm.positions[0] == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("integrator", [*SMOOTH, Heun()], **names)
def test_smooth_integrators_refuse_contact(integrator) -> None:
    """Where the ball would touch, the step is not taken; the world can go on with another integrator."""
    world = world_of(ball(0.3), integrator=integrator)
    world.add_ground()
    with pytest.raises(StateError, match=r"ball/ball and ground/ground touch|ground/ground and ball/ball touch"):
        world.step(1000)
    b = world.skeleton("ball")
    assert b.positions[5] > 0.1
    fallen = round(np.sqrt(2 * 0.2 / 9.81) / 1e-3)
    assert abs(world.num_steps - fallen) <= 1
    world.integrator = SemiImplicitEuler()
    world.step(1000)
    assert b.positions[5] == pytest.approx(0.1, abs=2e-5)


def test_smooth_integrators_refuse_limits_and_friction() -> None:
    def arm(**options) -> kido.Skeleton:
        skeleton = kido.Skeleton("arm")
        joint = kido.RevoluteJoint("hinge", axis=(0, 1, 0), **options)
        skeleton.add_body("link", joint, inertia=kido.Inertia(1.0, (1.0, 0, 0)))
        return skeleton

    world = world_of(arm(position_lower_limit=-0.5, position_upper_limit=0.5), integrator=RK4())
    with pytest.raises(StateError, match=r"arm/hinge.*limit"):
        world.step(2000)
    assert 0.49 < world.skeleton(0).positions[0] <= 0.5
    world = world_of(arm(coulomb_friction=0.1), integrator=RK4())
    with pytest.raises(StateError, match="Coulomb friction"):
        world.step()
    assert world.num_steps == 0


def test_many_contacts_in_sight_enlarge_the_arrays() -> None:
    """Gaps within the margin are no contact yet."""
    world = kido.World(gravity=(0, 0, 0))
    for k in range(9):
        for j in range(9):
            b = ball()
            b.positions = [0, 0, 0, 0.2005 * k, 0.2005 * j, 1.0]
            world.add_skeleton(b)
    world.integrator = RK4()
    world.step(3)
    assert len(world.contacts.points) == 144
    assert np.abs(world.contacts.forces).max() == 0.0


@pytest.mark.parametrize("value", [None, RK4, "RK4", 3])
def test_a_world_refuses_what_is_no_integrator(value) -> None:
    world = kido.World()
    with pytest.raises(ModelError, match="integrator"):
        world.integrator = value
    assert world.integrator == MoreauMidpoint()


@pytest.mark.parametrize("integrator", SMOOTH, **names)
def test_unbounded_motion_in_a_world_is_an_error(integrator) -> None:
    skeleton = tree()
    skeleton.velocities = 1e200 * np.ones(skeleton.num_dofs)
    world = world_of(skeleton, integrator=integrator)
    with pytest.raises(StateError):
        world.step(10)


# Copies and recordings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", [*STAGED, *SMOOTH], **names)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))], ids=["copy", "pickle"])
def test_copies_go_on_bit_for_bit(integrator, copied) -> None:
    world = world_of(tree(), integrator=integrator)
    world.step(7, reset_command=False)
    twin = copied(world)
    assert twin.integrator == integrator
    world.step(20, reset_command=False)
    twin.step(20, reset_command=False)
    assert np.array_equal(world.skeleton(0).positions, twin.skeleton(0).positions)
    assert np.array_equal(world.skeleton(0).velocities, twin.skeleton(0).velocities)


@pytest.mark.parametrize("integrator", [*STAGED, *SMOOTH], **names)
def test_recordings_keep_the_integrator_and_resume_bit_for_bit(integrator, tmp_path) -> None:
    world = world_of(tree(), integrator=integrator)
    with kido.Recorder(world, tmp_path / "run.h5", checkpoint_every=5):
        world.step(12)
    with kido.Recording(tmp_path / "run.h5") as recording:
        again = recording.resume()
        middle = recording.resume(8, hold_commands=True)
    assert again.integrator == middle.integrator == integrator
    middle.step(4)
    for other in (world, again, middle):
        other.step(10)
    for other in (again, middle):
        assert np.array_equal(world.skeleton(0).positions, other.skeleton(0).positions)
        assert np.array_equal(world.skeleton(0).velocities, other.skeleton(0).velocities)


def test_recordings_name_a_users_integrator(tmp_path) -> None:
    world = world_of(tree(), integrator=Heun())
    with kido.Recorder(world, tmp_path / "run.h5"):
        world.step(5)
    with kido.Recording(tmp_path / "run.h5") as recording:
        again = recording.resume()
    assert again.integrator.name == "Heun"
    with pytest.raises(ModelError, match="'Heun' is not part of kido"):
        again.step()
    again.integrator = Heun()
    again.step(5)
    world.step(5)
    assert np.array_equal(world.skeleton(0).positions, again.skeleton(0).positions)
