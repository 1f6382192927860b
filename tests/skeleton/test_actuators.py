"""Actuator types, their commands, mimics, and hybrid forward dynamics of the current state.

Truths: the equations of motion solved in NumPy with the mass matrix and the bias of inverse dynamics, and dartpy.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kido
from kido import ActuatorType
from trees import KINDS, random_skeleton, relative_error

INERTIA = kido.Inertia.from_diagonal(1.0, [0.1, 0.2, 0.3])


def arm(n: int = 3, **options) -> kido.Skeleton:
    """A chain of hinges about y with centres of mass off the axes."""
    skeleton = kido.Skeleton("arm")
    body = None
    for k in range(n):
        place = np.eye(4)
        place[0, 3] = 0.5 if k else 0.0
        joint = kido.RevoluteJoint(f"j{k}", axis=(0, 1, 0), transform_from_parent=place, **options)
        inertia = kido.Inertia(1.0 + 0.3 * k, (0.25, 0.0, 0.1), np.diag([0.1, 0.2, 0.3]))
        body = skeleton.add_body(f"b{k}", joint, body, inertia)
    return skeleton


def test_types_by_member_name_and_number() -> None:
    joint = kido.UniversalJoint("j")
    assert joint.actuator_type is ActuatorType.FORCE
    for value in (ActuatorType.SERVO, "servo", "SERVO", 2):
        joint.actuator_type = "force"
        joint.actuator_type = value
        assert joint.actuator_type is ActuatorType.SERVO
    joint.dofs[1].actuator_type = "locked"
    assert joint.actuator_type is None
    assert [dof.actuator_type for dof in joint.dofs] == [ActuatorType.SERVO, ActuatorType.LOCKED]
    assert kido.RevoluteJoint(actuator_type="velocity").actuator_type is ActuatorType.VELOCITY


@pytest.mark.parametrize("value", ["motor", 8, -1, None, 1.5, True, [0]])
def test_unknown_types_are_refused(value) -> None:
    joint = kido.RevoluteJoint("elbow")
    with pytest.raises(kido.ModelError, match="joint 'elbow': actuator_type: expected one of FORCE, PASSIVE, SERVO"):
        joint.actuator_type = value
    assert joint.actuator_type is ActuatorType.FORCE


def test_types_of_a_skeleton_at_once() -> None:
    s = arm()
    s.actuator_types = ["force", ActuatorType.SERVO, "passive"]
    assert s.actuator_types == (ActuatorType.FORCE, ActuatorType.SERVO, ActuatorType.PASSIVE)
    s.actuator_types = "locked"
    assert set(s.actuator_types) == {ActuatorType.LOCKED}
    for bad in (["force"], ["force", "force", "nothing"], 3.0, ["force", "force", "mimic"]):
        with pytest.raises(kido.ModelError):
            s.actuator_types = bad
    assert set(s.actuator_types) == {ActuatorType.LOCKED}


def test_what_a_command_is() -> None:
    s = arm(7)
    s.joint("j3").mimic = kido.Mimic("j0")
    s.actuator_types = ["force", "passive", "servo", "mimic", "acceleration", "velocity", "locked"]
    s.commands = [1.0, 0.0, 2.0, 3.0, 4.0, 5.0, 0.0]
    assert s.commands.tolist() == [1.0, 0.0, 2.0, 3.0, 4.0, 5.0, 0.0]
    assert s.forces.tolist() == [1.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0]
    s.dof("j5").command = -1.0
    s.joint("j0").commands = 7.0
    assert (s.dof("j5").command, s.dof("j0").force) == (-1.0, 7.0)
    before = s.commands
    for index, name in ((1, "PASSIVE"), (6, "LOCKED")):
        with pytest.raises(kido.StateError, match=f"'j{index}', whose actuator type is {name}: it takes no command"):
            s.commands = np.eye(7)[index]
        s.dof(index).command = 0.0
    for bad in ([1.0], np.nan, np.full(7, np.inf), ["x"] * 7, None):
        with pytest.raises(kido.StateError):
            s.commands = bad
        with pytest.raises(kido.StateError):
            s.dof(0).command = np.nan
    assert np.array_equal(s.commands, before)


def test_a_new_type_starts_without_command() -> None:
    s = arm(2)
    s.commands = [3.0, 4.0]
    s.dof(0).actuator_type = "velocity"
    assert s.commands.tolist() == [0.0, 4.0]
    s.commands = [1.0, 4.0]
    s.dof(0).actuator_type = "velocity"
    assert s.commands.tolist() == [1.0, 4.0]
    s.dof(0).actuator_type = "acceleration"
    assert s.commands.tolist() == [0.0, 4.0]


def test_actuators_travel_with_copies() -> None:
    s = arm()
    s.joint("j1").mimic = kido.Mimic("j0", -2.0, 0.1)
    s.joint("j2").actuator_type = "velocity"
    s.joint("j2").enforce_velocity_limits = True
    s.commands = [1.0, 0.5, 2.0]
    for twin in (s.clone(), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert twin.actuator_types == s.actuator_types
        assert twin.commands.tolist() == [1.0, 0.5, 2.0]
        assert twin.joint("j1").mimic == kido.Mimic("j0", -2.0, 0.1)
        assert twin.joint("j2").enforce_velocity_limits
        twin.joint("j2").actuator_type = "force"
        assert s.joint("j2").actuator_type is ActuatorType.VELOCITY


def test_structure_changes_keep_commands() -> None:
    s = arm()
    s.joint("j2").actuator_type = "velocity"
    s.commands = [1.0, 0.5, 2.0]
    s.add_body("more", kido.RevoluteJoint("more"), "b2", INERTIA)
    assert s.commands.tolist() == [1.0, 0.5, 2.0, 0.0]


# Mimics ----------------------------------------------------------------------------------------------------


def test_giving_a_mimic_makes_the_coordinate_one() -> None:
    joint = kido.RevoluteJoint("k", mimic=kido.Mimic("j"))
    assert joint.actuator_type is ActuatorType.MIMIC
    joint.mimic = None
    assert joint.actuator_type is ActuatorType.FORCE
    with pytest.raises(kido.ModelError, match="joint 'k': actuator_type: MIMIC needs something to follow"):
        joint.actuator_type = "mimic"
    kept = kido.RevoluteJoint("k", mimic=kido.Mimic("j"), actuator_type="force")
    assert kept.actuator_type is ActuatorType.FORCE
    kept.actuator_type = "mimic"
    assert kept.mimic == kido.Mimic("j")


def test_coordinates_of_a_joint_may_follow_different_ones() -> None:
    joint = kido.UniversalJoint("k")
    joint.dofs[1].mimic = kido.Mimic("j", dof=2)
    assert joint.mimic is None and joint.dofs[1].mimic == kido.Mimic("j", dof=2)
    assert [dof.actuator_type for dof in joint.dofs] == [ActuatorType.FORCE, ActuatorType.MIMIC]


@pytest.mark.parametrize(
    "values",
    [
        {"joint": ""},
        {"joint": 3},
        {"joint": "j", "multiplier": np.nan},
        {"joint": "j", "offset": np.inf},
        {"joint": "j", "force_limit": -1.0},
        {"joint": "j", "force_limit": np.nan},
        {"joint": "j", "dof": -1},
        {"joint": "j", "dof": 0.5},
    ],
)
def test_impossible_mimics_are_refused(values) -> None:
    with pytest.raises(kido.ModelError, match="mimic"):
        kido.Mimic(**values)


def test_only_mimics_are_mimics() -> None:
    with pytest.raises(kido.ModelError, match=r"joint 'k': mimic: expected kido\.Mimic"):
        kido.RevoluteJoint("k", mimic="j")
    with pytest.raises(kido.ModelError, match="velocities of a BallJoint are not the rates"):
        kido.BallJoint("k", mimic=kido.Mimic("j"))


def test_what_is_followed_is_checked_when_a_world_takes_the_skeleton() -> None:
    def refused(error, match, **mimics) -> None:
        s = arm(4)
        s.add_body("ball", kido.BallJoint("ball"), None, INERTIA)
        for name, mimic in mimics.items():
            s.joint(name).mimic = mimic
        assert s.positions.shape == (7,)  # a skeleton on its own may be unfinished
        world = kido.World()
        with pytest.raises(error, match=match):
            world.add_skeleton(s)
        assert list(world.skeletons) == []

    refused(kido.NameLookupError, r"that 'j1' mimics.*'elbow'; expected one of: j0, j1", j1=kido.Mimic("elbow"))
    refused(kido.ModelError, "joint 'j1': mimic: it mimics itself", j1=kido.Mimic("j1"))
    refused(kido.ModelError, "is a BallJoint, whose velocities", j1=kido.Mimic("ball"))
    refused(kido.ModelError, "'j0' has 1 coordinates, so none of number 1", j1=kido.Mimic("j0", dof=1))
    circle = {"j0": kido.Mimic("j2"), "j1": kido.Mimic("j0"), "j2": kido.Mimic("j1")}
    refused(kido.ModelError, "follow each other in a circle: j0 -> j2 -> j1 -> j0", **circle)


def test_in_a_world_a_wrong_mimic_is_refused_and_can_be_mended() -> None:
    world = kido.World()
    s = world.add_skeleton(arm())
    world.step()
    s.joint("j1").mimic = kido.Mimic("j9")
    with pytest.raises(kido.NameLookupError, match="'j9'"):
        world.step()
    s.joint("j1").mimic = kido.Mimic("j0")
    world.step()


def test_a_mimic_follows_a_renamed_joint() -> None:
    s = arm()
    s.joint("j1").mimic = kido.Mimic("j0", 2.0)
    s.joint("j0").name = "shoulder"
    assert s.joint("j1").mimic == kido.Mimic("shoulder", 2.0)
    kido.World().add_skeleton(s)


# Hybrid dynamics -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_hybrid_dynamics_solve_the_equations_of_motion(seed: int) -> None:
    """M udot + C = T with udot given for some coordinates and T for the others, solved densely; 1e-10 relative."""
    rng = np.random.default_rng(seed)
    s = random_skeleton(seed, 8, KINDS)
    n = s.num_dofs
    names = ["force", "passive", "servo", "acceleration", "velocity", "locked"]
    s.actuator_types = [names[k] for k in rng.integers(0, 6, n)]
    types = np.array(s.actuator_types)
    s.positions, s.velocities = rng.uniform(-1, 1, n), rng.normal(size=n)
    s.forces = rng.normal(size=n)  # of which those that act are kept
    command = np.where(np.isin(types, [ActuatorType.PASSIVE, ActuatorType.LOCKED]), 0.0, rng.normal(size=n))
    s.commands = command
    h = 1e-2
    u = np.where(types == ActuatorType.LOCKED, 0.0, s.velocities)
    given = types >= ActuatorType.ACCELERATION
    udot, tau = np.zeros(n), np.where(types == ActuatorType.FORCE, command, 0.0)
    udot[types == ActuatorType.ACCELERATION] = command[types == ActuatorType.ACCELERATION]
    fast = types == ActuatorType.VELOCITY
    udot[fast] = (command[fast] - u[fast]) / h
    M, c = kido.quantities.mass_matrix(s, s.positions), s.inverse_dynamics(s.positions, u, np.zeros(n))
    free = ~given
    right = tau[free] - c[free] - M[np.ix_(free, given)] @ udot[given]
    udot[free] = np.linalg.solve(M[np.ix_(free, free)], right)
    tau = np.where(given, M @ udot + c, tau)
    s.compute_forward_dynamics(time_step=h)
    assert np.array_equal(s.velocities, u)
    assert relative_error(s.accelerations, udot) < 1e-10
    assert relative_error(s.forces, tau) < 1e-10
    # Inverse dynamics of the result gives the same forces, and other results do not know of actuators.
    s.compute_inverse_dynamics()
    assert relative_error(s.forces, tau) < 1e-10
    assert relative_error(s.forward_dynamics(s.positions, u, tau), udot) < 1e-9


def test_a_velocity_needs_a_time_step() -> None:
    s = arm()
    s.joint("j1").actuator_type = "velocity"
    before = s.accelerations
    with pytest.raises(kido.ModelError, match="dof 'j1' is to reach a velocity within a time step: give time_step"):
        s.compute_forward_dynamics()
    for bad in (0.0, -1.0, np.nan, "x", np.inf):
        with pytest.raises(kido.ModelError, match="time_step: expected a positive number"):
            s.compute_forward_dynamics(time_step=bad)
    assert np.array_equal(s.accelerations, before)
    s.velocities, s.commands = [0.0, 1.0, 0.0], [0.0, 3.0, 0.0]
    kido.World(time_step=0.5).add_skeleton(s)
    s.compute_forward_dynamics()
    assert s.accelerations[1] == pytest.approx(4.0, rel=1e-15)


def test_inverse_dynamics_with_and_without_loads() -> None:
    s = arm(2, damping=0.7, spring_stiffness=3.0, rest_position=0.2)
    s.positions, s.velocities, s.accelerations = [0.3, -0.4], [1.0, 2.0], [0.5, -0.1]
    bare = s.inverse_dynamics(s.positions, s.velocities, s.accelerations)
    s.body("b1").add_external_force([1.0, 2.0, 3.0])
    s.compute_inverse_dynamics(with_external_forces=False)
    assert relative_error(s.forces, bare) < 1e-14
    s.compute_inverse_dynamics()
    loaded = s.forces
    assert np.abs(loaded - bare).max() > 0.1
    s.compute_inverse_dynamics(with_damping_forces=True, with_spring_forces=True)
    expected = loaded + 0.7 * s.velocities + 3.0 * (s.positions - 0.2)
    assert relative_error(s.forces, expected) < 1e-14


@pytest.mark.parametrize("seed", range(3))
def test_hybrid_dynamics_of_dartpy(seed: int) -> None:
    """The same arm in DART with FORCE, PASSIVE, ACCELERATION, VELOCITY and LOCKED joints; 1e-10 relative."""
    dartpy = pytest.importorskip("dartpy", reason="the package dartpy is not installed")
    rng = np.random.default_rng(seed)
    n = 7
    types = ["FORCE", "PASSIVE", "ACCELERATION", "VELOCITY", "LOCKED"]
    chosen = [types[k] for k in rng.permutation([0, 1, 2, 3, 4, 0, 1])]
    ours, theirs = arm(n), dartpy.dynamics.Skeleton("arm")
    parent = None
    for body in ours.bodies:
        joint = body.parent_joint
        made = dartpy.dynamics.RevoluteJointProperties()
        made.mName, made.mAxis = joint.name, joint.axis
        made.mT_ParentBodyToJoint = dartpy.math.Isometry3(joint.transform_from_parent)
        pair = theirs.createRevoluteJointAndBodyNodePair(parent, made)
        parent = pair[1]
        J, c = body.inertia.moment, body.inertia.com
        inertia = dartpy.dynamics.Inertia(body.inertia.mass, c, J)
        parent.setInertia(inertia)
    q, u, command = rng.uniform(-1, 1, n), rng.normal(size=n), rng.normal(size=n)
    command[[k for k, name in enumerate(chosen) if name in ("PASSIVE", "LOCKED")]] = 0.0
    u[chosen.index("LOCKED")] = 0.0  # DART stops it too, but keeps velocity products of before
    ours.actuator_types = chosen
    ours.positions, ours.velocities, ours.commands = q, u, command
    for k, name in enumerate(chosen):
        theirs.getJoint(k).setActuatorType(getattr(dartpy.dynamics.ActuatorType, name))
    theirs.setTimeStep(1e-2)
    theirs.setPositions(q)
    theirs.setVelocities(u)
    theirs.setCommands(command)
    theirs.computeForwardDynamics()
    ours.compute_forward_dynamics(time_step=1e-2)
    assert relative_error(ours.accelerations, theirs.getAccelerations()) < 1e-10
    assert relative_error(ours.velocities, theirs.getVelocities()) < 1e-15
    assert relative_error(ours.forces, theirs.getForces()) < 1e-10
