"""Systems that worlds run: what they read, what they give, and that copies and Python models see the same."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.systems import BodyPort, Input, JointPort, Model, Output, Parameter, PythonModel, State, System
from trees import random_skeleton

H = 1e-3


class PD(Model):
    kp, kd = Parameter(30.0), Parameter(4.0)
    q, u = Input(), Input()
    force = Output()

    def outputs(self):
        return {"force": -self.kp * (self.q - 0.3) - self.kd * self.u}


class PythonLaw(PythonModel, PD):
    """The same in plain Python."""


def pendulum() -> tuple[kido.World, kido.Skeleton]:
    skeleton = kido.Skeleton("pendulum")
    skeleton.add_body("rod", kido.RevoluteJoint("hinge", (0, 1, 0)), None, kido.Inertia(2.0, (0.0, 0.0, -0.4)))
    world = kido.World(time_step=H)
    world.add_skeleton(skeleton)
    return world, skeleton


def closed(world: kido.World, skeleton: kido.Skeleton, law: Model) -> System:
    system = System(world=world)
    system.add(JointPort(skeleton.dofs[0], "joint"))
    system.add(law)
    for source, target in (("joint.position", "law.q"), ("joint.velocity", "law.u"), ("law.force", "joint.force")):
        system.connect(source, target)
    return system


@pytest.mark.parametrize("kind, rate", [(PD, None), (PD, 1000), (PythonLaw, 1000)])
def test_a_law_at_each_step_is_that_of_a_controller(kind, rate) -> None:
    """PD of `kido.control` at the time step gives the same motion; forces of both are rounded alike but for sums."""
    world, skeleton = pendulum()
    other, twin = pendulum()
    system = closed(world, skeleton, kind("law", rate=rate))
    other.add_controller(kido.control.PD(twin, 0.3, 30.0, 4.0))
    system.run(0.5)
    other.step(500)
    assert world.num_steps == 500 and system.time == 0.5
    assert skeleton.positions == pytest.approx(twin.positions, abs=1e-13)
    assert skeleton.velocities == pytest.approx(twin.velocities, abs=1e-12)


def test_forces_are_held_between_ticks() -> None:
    world, skeleton = pendulum()
    other, twin = pendulum()
    system = closed(world, skeleton, PD("law", rate=100))
    other.add_controller(kido.control.PD(twin, 0.3, 30.0, 4.0, rate=100.0))
    system.run(0.123)
    other.step(123)
    assert skeleton.positions == pytest.approx(twin.positions, abs=1e-13)
    assert system["law.force"].value == pytest.approx(other.controllers[0].forces[0], abs=1e-12)


def test_steps_of_the_world_run_it_too() -> None:
    runs = []
    for steps in ((300,), (100, 200), (1,) * 300):
        world, skeleton = pendulum()
        system = closed(world, skeleton, PD("law"))
        system.run(0.0)
        for n in steps:
            world.step(n)
        assert system.nanoseconds == 300 * 10**6
        runs.append((*skeleton.positions, *skeleton.velocities))
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("steps", [(500,), (3, 250, 247), (1,) * 500])
def test_steps_of_the_world_call_models_of_plain_python_and_fill_logs(steps) -> None:
    """As `System.run` does, to the bit; two rates, of which one is not called in each step."""
    runs = []
    for plain in (False, True):
        world, skeleton = pendulum()
        system = closed(world, skeleton, PythonLaw("law", rate=200))
        log = system.log(["law.force", "joint.position"], rate=500)
        if plain:
            system.run(0.0)
            for n in steps:
                world.step(n)
        else:
            system.run(0.5)
        system.run(0.0)
        assert system.nanoseconds == 500 * 10**6
        runs.append((*skeleton.positions, *skeleton.velocities, *log["law.force"], *log["joint.position"]))
    assert runs[0] == runs[1]
    assert len(runs[0]) == 2 + 2 * 251


@pytest.mark.parametrize("kind, rate", [(PD, None), (PythonLaw, 200)])
def test_steps_of_the_world_need_no_run_before(kind, rate) -> None:
    """From the first step on, also after the structure changed, with ports of the second skeleton first and of both."""
    runs = []
    for begun in (False, True):
        world, skeleton = pendulum()
        other = world.add_skeleton(skeleton.clone(), "other")
        system = closed(world, other, kind("law", rate=rate))
        if begun:
            system.run(0.0)
        world.step(50)
        system.add(JointPort(skeleton.dofs[0], "first"))
        system.add(kind("second", rate=rate))
        for source, target in (("position", "q"), ("velocity", "u")):
            system.connect(f"first.{source}", f"second.{target}")
        system.connect("second.force", "first.force")
        if begun:
            system.run(0.0)
        world.step(50)
        assert system.nanoseconds == 100 * 10**6
        runs.append((*skeleton.positions, *other.positions, *other.velocities))
    assert runs[0] == runs[1]
    free, alone = pendulum()
    free.step(100)
    assert abs(other.positions[0] - alone.positions[0]) > 1e-3


def test_steps_of_a_world_name_what_its_system_lacks() -> None:
    world, skeleton = pendulum()
    system = System(world=world)
    system.add(JointPort(skeleton.dofs[0], "joint"))
    system.add(PD("law"))
    with pytest.raises(kido.ModelError, match=r"law\.q"):
        world.step()
    assert world.num_steps == 0


def test_reset_of_a_world_resets_its_system() -> None:
    """What follows is, bit for bit, what followed at first; parameters stay, and logs go on."""

    class Clocked(PD):
        rate = 200
        count = State()

        def update(self):
            return {"count": self.count + 1.0}

    world, skeleton = pendulum()
    system = closed(world, skeleton, Clocked("law"))
    log = system.log(["law.force"], rate=100)
    runs = []
    for _ in range(3):
        world.step(130)
        runs.append((*skeleton.positions, *skeleton.velocities, system["law.count"].value, system.time))
        world.reset()
        assert system.nanoseconds == 0 and system["law.count"].value == 0.0
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][-2:] == (26.0, 0.13)  # ticks at 0, 5, ..., 125 ms
    assert len(log["law.force"]) == 3 * 13


def test_what_fails_in_plain_steps_is_raised() -> None:
    class Broken(PythonModel, PD):
        def outputs(self):
            return {"force": np.nan if self.time > 0.01 else 0.0}

    world, skeleton = pendulum()
    system = closed(world, skeleton, Broken("law", rate=1000))
    system.run(0.0)
    with pytest.raises(kido.StateError, match=r"law\.force: outputs returned nan"):
        world.step(100)
    assert system.time == pytest.approx(0.011)


def test_a_motor_drives_a_joint() -> None:
    """Against a fine integration of motor and joint together; coupling holds forces for a step: first order in h."""

    class Motor(Model):
        K, R, L = Parameter(0.5, "N m/A"), Parameter(1.0, "ohm"), Parameter(0.05, "H")
        speed = Input("rad/s")
        torque = Output("N m")
        current = State("A")

        def outputs(self):
            return {"torque": self.K * self.current}

        def derivatives(self):
            return {"current": (6.0 - self.R * self.current - self.K * self.speed) / self.L}

    errors = []
    x = np.zeros(3)

    def rate(x):
        q, u, i = x
        moment = 2.0 * 0.4**2
        return np.array([u, (0.5 * i - 2.0 * 9.81 * 0.4 * np.sin(q)) / moment, (6.0 - i - 0.5 * u) / 0.05])

    for _ in range(5000):
        h = 1e-4
        a = rate(x)
        b = rate(x + 0.5 * h * a)
        c = rate(x + 0.5 * h * b)
        x = x + h / 6.0 * (a + 2 * b + 2 * c + rate(x + h * c))
    for h in (2e-3, 1e-3):
        world, skeleton = pendulum()
        world.time_step = h
        system = System(world=world)
        joint, motor = system.add(JointPort(skeleton.joint("hinge"), "joint")), system.add(Motor())
        system.connect(joint.velocity, motor.speed)
        system.connect(motor.torque, joint.force)
        system.run(0.5)
        errors.append(abs(skeleton.positions[0] - x[0]))
    assert errors[1] < 0.02 and errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


def test_bodies_are_where_they_are_and_wrenches_act() -> None:
    """Ports against the skeleton's own kinematics, their forces against J^T [torque; force]."""
    skeleton = random_skeleton(3, 6)
    world = kido.World(time_step=H, gravity=(0.0, 0.0, 0.0))
    world.add_skeleton(skeleton)
    rng = np.random.default_rng(0)
    skeleton.positions, skeleton.velocities = rng.uniform(-0.5, 0.5, (2, skeleton.num_dofs))
    body, offset = skeleton.bodies[-1], np.array([0.1, -0.2, 0.3])
    f, m = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7])

    class Wrench(Model):
        force, torque = Output("N", 3), Output("N m", 3)

        def outputs(self):
            return {"force": f, "torque": m}

    system = System(world=world)
    port, wrench = system.add(BodyPort(body, offset, "tip")), system.add(Wrench())
    system.connect(wrench.force, port.force)
    system.connect(wrench.torque, port.torque)
    X = body.world_transform
    assert port.rotation.value == pytest.approx(X[:3, :3], abs=1e-14)
    assert port.position.value == pytest.approx(X[:3, 3] + X[:3, :3] @ offset, abs=1e-14)
    assert port.velocity.value == pytest.approx(body.linear_velocity(offset=offset), abs=1e-13)
    assert port.angular_velocity.value == pytest.approx(body.angular_velocity(), abs=1e-13)
    expected = np.array(skeleton.jacobian(body, offset)).T @ np.concatenate([m, f])
    system.run(H)
    assert world.controllers[0].forces == pytest.approx(expected, abs=1e-12)


def test_two_skeletons_and_a_clone() -> None:
    world, one = pendulum()
    two = world.add_skeleton(one.clone(), "other")
    two.positions = [0.1]

    class Spring(Model):
        a, b = Input("rad"), Input("rad")
        to_a, to_b = Output("N m"), Output("N m")
        work = State()

        def outputs(self):
            return {"to_a": 5.0 * (self.b - self.a), "to_b": 5.0 * (self.a - self.b)}

        def derivatives(self):
            return {"work": self.a}

    system = System(world=world)
    a, b, spring = system.add(JointPort(one.dofs[0], "a")), system.add(JointPort(two.dofs[0], "b")), Spring()
    system.add(spring)
    for source, target in (("a.position", "spring.a"), ("b.position", "spring.b"), ("spring.to_a", "a.force")):
        system.connect(source, target)
    system.connect(spring.to_b, b.force)
    system.run(0.1)
    twin = world.clone()
    world.step(400)
    twin.step(400)
    assert np.array_equal(twin.skeletons[0].positions, one.positions)
    assert np.array_equal(twin.skeletons[1].positions, two.positions)
    assert a.position.value == one.positions[0] != 0.0
    # The sum swings as one alone does: forces between them cancel. Angles of 0.1 are small but for 0.1^3 / 6.
    assert one.positions[0] + two.positions[0] == pytest.approx(two_swings(0.5), abs=2e-4)


def two_swings(time: float) -> float:
    return 0.1 * np.cos(np.sqrt(9.81 / 0.4) * time)


def test_a_structure_that_changes_meanwhile() -> None:
    world, skeleton = pendulum()
    system = closed(world, skeleton, PD("law"))
    system.run(0.1)
    world.add_skeleton(skeleton.clone(), "another")
    system.run(0.1)
    system.add(extra := JointPort(world.skeletons[1].dofs[0], "extra"))
    system.run(0.1)
    assert extra.position.value == world.skeletons[1].positions[0]
    system.remove("law")
    system.run(0.1)
    assert world.controllers[0].forces == pytest.approx([0.0], abs=0.0)
    assert system.time == 0.4 and world.num_steps == 400


def test_what_does_not_fit_a_world_is_refused() -> None:
    world, skeleton = pendulum()
    system = System(world=world)
    with pytest.raises(kido.ModelError, match="whole number of the world's time steps"):
        system.add(PD("law", rate=2000.0))
    with pytest.raises(kido.ModelError, match="whole number of the world's time steps"):
        system.run(0.0005)
    part = kido.systems.Assembly("part")
    gains = [part.add(PD(name)) for name in "ab"]
    part.connect(gains[0].force, gains[1].q, delay=2000.0)
    with pytest.raises(kido.ModelError, match=r"a\.force"):
        system.add(part)
    with pytest.raises(kido.ModelError, match="this system has none"):
        System().add(JointPort(skeleton.dofs[0]))
    with pytest.raises(kido.ModelError, match="no skeleton in world"):
        system.add(JointPort(pendulum()[1].dofs[0]))
    with pytest.raises(kido.ModelError, match="expected a coordinate"):
        JointPort(skeleton)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="expected a body"):
        BodyPort(skeleton)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="expected a World"):
        System(world=skeleton)  # type: ignore[arg-type]
    skeleton.dofs[0].actuator_type = kido.ActuatorType.LOCKED
    with pytest.raises(kido.ModelError, match="LOCKED"):
        JointPort(skeleton.dofs[0])
    assert system.parts == ()


def test_batches_refuse_worlds_whose_systems_they_cannot_put_back() -> None:
    world, skeleton = pendulum()
    system = closed(world, skeleton, PD("law"))
    system.run(0.01)
    with pytest.raises(kido.ModelError, match=r"system 'system' has states.*one by one"):
        kido.batch.Worlds(world, 2)


def test_nan_in_a_world_names_its_port() -> None:
    class Root(Model):
        u = Input("rad")
        x = State()

        def derivatives(self):
            return {"x": np.sqrt(-1.0 - self.u * self.u)}

    world, skeleton = pendulum()
    system = System(world=world)
    joint, root = system.add(JointPort(skeleton.dofs[0], "joint")), system.add(Root())
    system.connect(joint.position, root.u)
    with pytest.raises(kido.StateError, match=r"derivative of root\.x is nan"):
        system.run(0.1)
