"""Limits of commands: what acts in steps, rollouts and forward dynamics, against dartpy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.integrators import RK4, SemiImplicitEuler
from scenes import world_of

H = 1e-3
ASKED = np.array([[5.0, -0.4], [-7.0, 3.0], [0.3, 0.1], [2.0, -9.0]])
LIMITS = {
    "force": [(-1.0, 2.0), (-0.5, 0.5)],
    "velocity": [(-0.5, 0.25), (-1.0, 1.0)],
    "acceleration": [(-3.0, 1.0), (-2.0, 2.0)],
}


class Failing(kido.UserConstraint):
    def rows(self):
        raise ZeroDivisionError


def arm(actuator: str) -> kido.Skeleton:
    """Two links about y, limited in force, velocity and acceleration."""
    skeleton, parent = kido.Skeleton("arm"), None
    for k in range(2):
        limits = {
            f"{what}_{side}_limit": LIMITS[what][k][j] for what in LIMITS for j, side in enumerate(("lower", "upper"))
        }
        joint = kido.RevoluteJoint(
            f"j{k}", axis=(0, 1, 0), transform_from_parent=(0.4 * k, 0, 0), actuator_type=actuator, **limits
        )
        inertia = kido.Inertia(1.0, (0.2, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]))
        parent = skeleton.add_body(f"b{k}", joint, parent, inertia)
    return skeleton


@pytest.mark.parametrize("actuator", ["force", "servo", "velocity", "acceleration"])
def test_commands_act_as_those_of_dartpy(actuator: str) -> None:
    """dartpy bounds commands when they are set: the same commands, and the same motion but for the integrator."""
    dartpy = pytest.importorskip("dartpy")
    dart = dartpy.dynamics.Skeleton("arm")
    parent = None
    for k in range(2):
        joint, parent = dart.createRevoluteJointAndBodyNodePair(*([] if parent is None else [parent]))
        joint.setAxis([0, 1, 0])
        if k:
            X = dartpy.math.Isometry3()
            X.set_translation([0.4, 0, 0])
            joint.setTransformFromParentBodyNode(X)
        for what, limits in LIMITS.items():
            getattr(joint, f"set{what.title()}LowerLimit")(0, limits[k][0])
            getattr(joint, f"set{what.title()}UpperLimit")(0, limits[k][1])
        joint.setActuatorType(getattr(dartpy.dynamics.ActuatorType, actuator.upper()))
        parent.setInertia(dartpy.dynamics.Inertia(1.0, [0.2, 0, 0], np.diag([0.01, 0.02, 0.02])))
    theirs = dartpy.simulation.World()
    theirs.setTimeStep(H)
    theirs.setGravity([0, 0, -9.81])
    theirs.addSkeleton(dart)
    s = arm(actuator)
    s.positions = [1.0, 0.5]
    dart.setPositions([1.0, 0.5])
    world = world_of(s, gravity=(0, 0, -9.81), time_step=H)
    world.integrator = SemiImplicitEuler()
    for asked in ASKED:
        for _ in range(50):
            s.commands = asked
            dart.setCommands(asked)
            assert s.commands.tolist() == asked.tolist()
            assert s.bounded_commands.tolist() == dart.getCommands().tolist()
            world.step()
            theirs.step()
    # Of one order of the time step: dartpy takes velocity products at the start of a step.
    assert s.velocities == pytest.approx(dart.getVelocities(), abs=20 * H)
    assert s.positions == pytest.approx(dart.getPositions(), abs=20 * H)


@pytest.mark.parametrize("integrator", [None, SemiImplicitEuler(), RK4()])
@pytest.mark.parametrize("actuator", ["force", "velocity", "acceleration"])
def test_commands_beyond_limits_act_as_the_limits_do(actuator: str, integrator) -> None:
    """Bit for bit, in single steps and in many; what was given is there after them."""
    worlds = []
    for asked in (ASKED[0], None):
        s = arm(actuator)
        world = world_of(s, time_step=H)
        if integrator is not None:
            world.integrator = integrator
        s.commands = ASKED[0]
        if asked is None:
            s.commands = s.bounded_commands
        before = s.commands
        world.step(3, reset_command=False)
        for _ in range(4):
            world.step(reset_command=False)
        assert s.commands.tolist() == before.tolist()
        worlds.append(s)
    one, other = worlds
    assert one.commands.tolist() != other.commands.tolist()
    assert one.positions.tolist() == other.positions.tolist()
    assert one.velocities.tolist() == other.velocities.tolist()
    assert one.actuator_forces.tolist() == other.actuator_forces.tolist()


def test_the_force_that_acts_is_a_result() -> None:
    """A rotor of 2 kg m^2 about its axis: u = F t / I with the bounded force, and with the given one."""
    s = kido.Skeleton("rotor")
    inertia = kido.Inertia.from_diagonal(1.0, [2.0, 2.0, 2.0])
    s.add_body("rotor", kido.RevoluteJoint("motor", force_limit=1.0), inertia=inertia)
    world = world_of(s, time_step=H)
    s.commands = [5.0]
    world.step(100)
    assert s.velocities[0] == pytest.approx(1.0 * 0.1 / 2.0, rel=1e-12)
    assert s.actuator_forces.tolist() == [1.0]
    s.joint("motor").enforce_command_limits = False
    s.commands = [5.0]
    assert s.bounded_commands.tolist() == [5.0]
    world.step(100)
    assert s.velocities[0] == pytest.approx((1.0 + 5.0) * 0.1 / 2.0, rel=1e-12)
    assert s.actuator_forces.tolist() == [5.0]


def test_rollouts_bound_commands() -> None:
    s = arm("force")
    world = world_of(s, time_step=H)
    commands = np.repeat(ASKED[None], 2, axis=0)
    commands[1] = np.clip(commands[1], *np.array(LIMITS["force"]).T)
    found = kido.batch.rollout(world, commands=commands, hold=10)
    assert not found.errors
    assert found.velocities[0].tolist() == found.velocities[1].tolist()
    for row in ASKED:
        s.commands = row
        world.step(10)
    assert found.positions[0, -1].tolist() == s.positions.tolist()


def test_forward_dynamics_takes_bounded_commands() -> None:
    s = arm("force")
    s.positions, s.forces = [0.3, -0.2], ASKED[0]
    s.compute_forward_dynamics()
    bounded = np.clip(ASKED[0], *np.array(LIMITS["force"]).T)
    assert s.mass_matrix @ s.accelerations + s.coriolis_and_gravity_forces == pytest.approx(bounded, rel=1e-12)
    assert s.forces.tolist() == ASKED[0].tolist()
    a = arm("acceleration")
    a.commands = ASKED[1]
    a.compute_forward_dynamics()
    assert a.accelerations.tolist() == [-3.0, 2.0]


def test_the_flag_is_kept(tmp_path) -> None:
    s = arm("force")
    s.joint("j1").enforce_command_limits = False
    world = world_of(s)
    world.step()
    for twin in (s.clone(), world.clone().skeletons[0]):
        assert [j.enforce_command_limits for j in twin.joints] == [True, False]
        twin.commands = [9.0, 9.0]
        assert twin.bounded_commands.tolist() == [2.0, 9.0]
    with pytest.raises(kido.ModelError, match="enforce_command_limits"):
        s.joint("j0").enforce_command_limits = "yes"
    s.joint("j0").force_upper_limit = 1.5
    s.commands = [9.0, 9.0]
    world.step(reset_command=False)
    assert s.actuator_forces.tolist() == [1.5, 9.0]
    assert s.commands.tolist() == [9.0, 9.0]


def test_a_failed_step_gives_commands_back() -> None:
    s = arm("force")
    world = world_of(s)
    world.add_constraint(Failing(s))
    s.commands = ASKED[0]
    with pytest.raises(ZeroDivisionError):
        world.step()
    assert s.commands.tolist() == ASKED[0].tolist()
