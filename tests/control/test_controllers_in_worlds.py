"""Controllers as worlds call them: rates, sums, limits, clones, snapshots, rollouts, and mistakes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kido
from kido.control import PD, ComputedTorque, Controller, GravityCompensation, Samples, StablePD, pd
from kido.integrators import RK4
from scenes import world_of

N = 2


def arm() -> kido.Skeleton:
    skeleton, parent = kido.Skeleton("arm"), None
    for k in range(N):
        joint = kido.RevoluteJoint(f"j{k}", axis=(0, 1, 0), transform_from_parent=(0.4 * k, 0, 0))
        inertia = kido.Inertia(1.0, (0.2, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]))
        parent = skeleton.add_body(f"b{k}", joint, parent, inertia)
    return skeleton


class Ramp(Controller):
    """Forces that count its calls."""

    calls = 0

    def compute(self):
        self.calls += 1
        return [self.calls, 0.5]


class Wave:
    """A motion, as an object."""

    def __init__(self, duration: float | None = None):
        if duration is not None:
            self.duration = duration

    def positions(self, t: float) -> np.ndarray:
        return np.array([0.3 * np.sin(2 * t), 0.2 * t**2])

    def velocities(self, t: float) -> np.ndarray:
        return np.array([0.6 * np.cos(2 * t), 0.4 * t])

    def accelerations(self, t: float) -> np.ndarray:
        return np.array([-1.2 * np.sin(2 * t), 0.4])


@pytest.mark.parametrize("steps", [[20], [1] * 20, [3, 1, 9, 7]])
def test_forces_are_held_for_a_period(steps: list[int]) -> None:
    """A rotor of 2 kg m^2: its velocity is the sum of the forces held, h / I; however steps are asked for."""
    s = kido.Skeleton("rotors")
    inertia = kido.Inertia.from_diagonal(1.0, [2.0, 2.0, 2.0])
    s.add_body("a", kido.RevoluteJoint("a"), inertia=inertia)
    s.add_body("b", kido.RevoluteJoint("b"), inertia=inertia)
    world = world_of(s, time_step=1e-3)
    ramp = world.add_controller(Ramp(s, rate=250.0))
    for n in steps:
        world.step(n)
    assert ramp.calls == 5
    assert ramp.forces.tolist() == [5.0, 0.5]
    assert s.velocities == pytest.approx(np.array([4 * (1 + 2 + 3 + 4 + 5), 0.5 * 20]) * 1e-3 / 2.0, rel=1e-12)
    world.remove_controller(ramp)
    before = s.velocities
    world.step(5)
    assert s.velocities.tolist() == before.tolist()
    assert not ramp.forces.any()


def test_controllers_and_commands_add_up_within_limits() -> None:
    s = arm()
    s.joint("j0").force_limit = 4.0
    world = world_of(s)
    a = world.add_controller(PD(s, [1.0, 1.0], 3.0, 0.0))
    b = world.add_controller(PD(s, [1.0, 0.0], 2.0, 0.0, ["j0"]))
    s.commands = [0.5, 0.25]
    world.step(reset_command=False)
    assert a.forces.tolist() == [3.0, 3.0]
    assert b.forces.tolist() == [2.0, 0.0]
    assert s.actuator_forces.tolist() == [4.0, 3.25]
    assert a.saturated.tolist() == [True, False]
    assert s.commands.tolist() == [0.5, 0.25]
    s.joint("j0").enforce_command_limits = False
    s.positions = s.velocities = np.zeros(2)
    world.step(reset_command=False)
    assert s.actuator_forces.tolist() == [5.5, 3.25]
    assert not a.saturated.any()


def test_compiled_forces_are_those_of_python() -> None:
    """Each call in a world gives, bit for bit, what `compute` says at the state before."""
    for kind in (PD, StablePD):
        s = arm()
        world = world_of(s, gravity=(0, 0, -9.81))
        c = world.add_controller(kind(s, [0.3, -0.2], 80.0, 4.0, period=3))
        for _ in range(4):
            expected = c.compute()
            world.step(3)
            assert c.forces.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "target", [Wave(), Wave(0.5), Wave().positions, Samples([Wave().positions(0.01 * k) for k in range(60)], 100.0)]
)
def test_ways_to_say_a_trajectory(target) -> None:
    """Objects, functions, and samples, compiled or not, are followed alike.

    Velocities of functions are differences, exact to 1e-9, and a spline through 100 Hz is exact to 1e-6.
    """
    found = []
    for given in (target, Wave()):
        s = arm()
        world = world_of(s, gravity=(0, 0, -9.81))
        world.add_controller(GravityCompensation(s))
        c = world.add_controller(StablePD(s, given, 400.0, 30.0, rate=500.0))
        world.step(400)
        found.append(np.array(s.positions))
        assert c.calls_python == (getattr(given, "duration", None) is None)
    assert found[0] == pytest.approx(found[1], abs=2e-6)


def test_a_motion_is_followed() -> None:
    """A Motion of 100 Hz, by its quintic spline: as the function it samples, and from its first frame on."""
    s, waves = arm(), Wave()
    motion = kido.motions.Motion(None, [waves.positions(0.01 * k) for k in range(61)], 100.0, skeleton=s, start=2.0)
    found = []
    for target in (motion, Wave()):
        robot = s.clone()
        world = world_of(robot, gravity=(0, 0, -9.81))
        c = world.add_controller(ComputedTorque(robot, target, 100.0, 20.0))
        assert c.calls_python == (target is not motion)
        world.step(400)
        found.append(np.array(robot.positions))
    assert found[0] == pytest.approx(found[1], abs=1e-6)
    with pytest.raises(kido.ModelError, match="other coordinates"):
        PD(kido.load("arm7"), motion, 1.0, 1.0)


def test_the_end_of_a_trajectory_stays() -> None:
    s = arm()
    world = world_of(s)
    c = world.add_controller(PD(s, Wave(0.05), 5.0, 1.0))
    world.step(80)
    present = np.array(s.positions), np.array(s.velocities)
    world.step()
    end = Wave().positions(0.05)
    assert c.forces == pytest.approx(5.0 * (end - present[0]) - present[1], rel=1e-12)


def test_targets_and_gains_are_set_while_it_runs() -> None:
    s = arm()
    world = world_of(s)
    c = world.add_controller(PD(s, [0.0, 0.0], 5.0, 1.0))
    world.step(3)
    c.target = [0.2, 0.1]
    world.step()
    expected = pd(s, [0.3, 0.1], [7.0, 2.0], 0.0)
    c.kp, c.kd, c.target = [7.0, 2.0], 0.0, [0.3, 0.1]
    world.step()
    assert c.forces.tolist() == expected.tolist()
    c.target = Wave()
    expected = pd(s, Wave().positions(5e-3), 1.0, 0.0)
    world.step(2)
    assert c.calls_python


def test_clones_snapshots_and_rollouts_go_on_alike() -> None:
    s = arm()
    world = world_of(s, gravity=(0, 0, -9.81))
    c = world.add_controller(StablePD(s, Wave(1.0), 200.0, 10.0, period=7))
    world.add_controller(GravityCompensation(s))
    world.step(10)  # within a period
    kept, twin, other = world.snapshot(), world.clone(), pickle.loads(pickle.dumps(world))
    found = kido.batch.rollout(world, steps=40, every=40, threads=2, positions=np.repeat([s.positions], 3, axis=0))
    world.step(40)
    end = s.positions.tolist()
    for copy in (twin, other):
        copy.step(40)
        assert copy.skeletons[0].positions.tolist() == end
    assert twin.controllers[0].skeleton is twin.skeletons[0]
    assert found.positions[:, -1].tolist() == [end] * 3
    world.restore(kept)
    assert c.forces.any()
    world.step(40)
    assert s.positions.tolist() == end


def test_driven_skeletons_do_not_sleep() -> None:
    s = arm()
    world = kido.World(gravity=(0, 0, 0), sleeping=True)
    world.add_skeleton(s)
    c = world.add_controller(PD(s, [0.0, 0.0], 1.0, 1.0))
    world.step(3000)
    assert not s.is_asleep
    c.target = [0.1, 0.0]
    world.step(10)
    assert s.velocities[0] > 0.0


def test_structure_may_change_beside_a_controller() -> None:
    s = arm()
    world = world_of(s)
    c = world.add_controller(PD(s, [0.1, 0.0], 5.0, 1.0))
    world.step(2)
    world.add_skeleton(arm())
    world.step()
    assert c.forces.any()
    world.remove_skeleton(s)
    assert world.controllers == ()
    world.step()


def test_time_goes_on_when_the_structure_changes() -> None:
    """A controller of 50 steps a period: its time, when it is due, and what it holds stay as they were."""

    class Clock(Ramp):
        times: list[float]

        def prepare(self, time: float) -> None:
            self.times.append(time)

    world = world_of(arm())
    clock = world.add_controller(Clock(world.skeletons[0], period=50))
    clock.times = []
    world.step(75)
    held = clock.forces
    world.add_skeleton(arm(), "other")
    np.testing.assert_array_equal(clock.forces, held)
    world.step(75)
    np.testing.assert_allclose(clock.times, [0.0, 50 * world.time_step, 100 * world.time_step], atol=1e-15)
    assert clock.calls == 3


def test_mistakes() -> None:
    s, other = arm(), arm()
    world = world_of(s)
    with pytest.raises(kido.ModelError, match="whole number"):
        world.add_controller(PD(s, 0.0, 1.0, 1.0, rate=300.0))
    assert world.controllers == ()
    with pytest.raises(kido.ModelError, match="both"):
        PD(s, 0.0, 1.0, 1.0, rate=100.0, period=3)
    with pytest.raises(kido.ModelError, match="period"):
        PD(s, 0.0, 1.0, 1.0, period=0)
    with pytest.raises(kido.ModelError, match="rate"):
        PD(s, 0.0, 1.0, 1.0, rate=float("nan"))
    with pytest.raises(kido.NameLookupError):
        world.add_controller(PD(other, 0.0, 1.0, 1.0))
    for gains in ((-1.0, 1.0), (1.0, [1.0, 2.0, 3.0]), (np.nan, 1.0)):
        with pytest.raises(kido.ModelError, match=r"k[pd]: expected finite numbers not below 0"):
            PD(s, 0.0, *gains)
    with pytest.raises(kido.ModelError, match="target"):
        PD(s, [1.0, np.nan], 1.0, 1.0)
    with pytest.raises(kido.ModelError, match="target"):
        PD(s, lambda t: [t], 1.0, 1.0)
    with pytest.raises(kido.ModelError, match="payload"):
        GravityCompensation(s, payload={other.bodies[0]: kido.Inertia(1.0)})
    c = world.add_controller(PD(s, 0.0, 1.0, 1.0))
    with pytest.raises(kido.ModelError, match="already"):
        world.add_controller(c)
    with pytest.raises(kido.ModelError, match="remove_controller"):
        world.remove_controller(PD(s, 0.0, 1.0, 1.0))
    with pytest.raises(kido.ModelError, match="Controller"):
        world.add_controller(lambda world: None)
    s.joint("j0").actuator_type = "locked"
    with pytest.raises(kido.ModelError, match="LOCKED"):
        PD(s, 0.0, 1.0, 1.0, ["j0"])
    world.add_controller(Ramp(s))
    with pytest.raises(kido.ModelError, match="called from Python"):
        kido.batch.rollout(world, steps=3)
    world.integrator = RK4()
    with pytest.raises(kido.ModelError, match="smooth"):
        world.step()


def test_forces_that_are_none_are_refused() -> None:
    class Broken(Controller):
        def compute(self):
            return [np.nan, 0.0]

    s = arm()
    world = world_of(s)
    world.add_controller(Broken(s))
    s.commands = [1.0, 2.0]
    with pytest.raises(kido.StateError, match="finite forces"):
        world.step()
    assert s.commands.tolist() == [1.0, 2.0]
    assert world.time == 0.0


def test_rollouts_in_lanes_have_limits_and_controllers() -> None:
    """Eight humanoids that fall onto their hands, as one by one: the same to what lanes round otherwise, 1e-9."""
    s = kido.load("humanoid")
    world = kido.World()
    world.add_skeleton(s)
    world.add_ground()
    target = np.array(s.positions)
    world.add_controller(StablePD(s, target, 300.0, 30.0, period=2))
    world.add_controller(GravityCompensation(s))
    s.joint("left_knee").force_limit = 5.0
    q = target + 0.01 * np.random.default_rng(0).uniform(0, 1, (9, s.num_dofs))
    q[:, [d.name for d in s.dofs].index("root_z")] += 0.05
    commands = np.zeros((9, 10, s.num_dofs))
    commands[:, :, 8] = 500.0  # beyond its limit
    found = {}
    for lanes in (False, True):
        pool = kido.batch.RolloutPool(world, skeleton=s, threads=1, lanes=lanes)
        assert not lanes or pool.why_alone == ""
        found[lanes] = pool.run(q, commands=commands, hold=10)
        assert not found[lanes].errors
    assert found[True].positions == pytest.approx(found[False].positions, rel=1e-9, abs=1e-9)
