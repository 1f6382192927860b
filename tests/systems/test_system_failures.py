"""What goes wrong in the steps of a world ends them there; numbers that are none are named with their ports."""

from __future__ import annotations

import numpy as np
import pytest

import kido
from kido.systems import BodyPort, Constant, Input, JointPort, MassPort, Model, Output, Parameter, State, System

H = 1e-3


def sliding(gravity: float = 0.0) -> tuple[kido.World, kido.Skeleton, System]:
    skeleton = kido.Skeleton("sliding")
    skeleton.add_body("body", kido.PrismaticJoint("x", (1, 0, 0)), None, kido.Inertia(2.0))
    world = kido.World(time_step=H, gravity=(0.0, 0.0, -gravity))
    world.add_skeleton(skeleton)
    return world, skeleton, System(world=world)


class Growing(Model):
    """1 / (0.01 - t) in 10 ms, by integration: x' = 100 x^2 / ..., beyond all bounds; it pushes all the same."""

    x, y = State("", 1.0), Output("N")

    def outputs(self):
        return {"y": 1.0 + 0.0 * self.time}

    def derivatives(self):
        return {"x": 100.0 * self.x * self.x}


@pytest.mark.parametrize("plain", [False, True])
def test_a_failure_ends_the_steps_of_the_world(plain: bool) -> None:
    """World and system stay together; once mended, both go on, and the force has acted in each step."""
    world, skeleton, system = sliding()
    grows, port = system.add(Growing("grows")), system.add(JointPort(skeleton.dofs[0]))
    system.connect(grows.y, port.force)
    system.run(0.0)
    with pytest.raises(kido.StateError, match=r"grows\.x"):
        world.step(100) if plain else system.run(0.1)
    assert 5 < world.num_steps < 20
    assert system.nanoseconds == world.num_steps * 10**6
    assert skeleton.velocities == pytest.approx([0.5 * H * world.num_steps], rel=1e-12)
    done = world.num_steps
    grows.x.value = 0.0
    world.step(50) if plain else system.run(0.05)
    assert system.nanoseconds == world.num_steps * 10**6 == (done + 50) * 10**6
    assert skeleton.velocities == pytest.approx([0.5 * H * (done + 50)], rel=1e-12)


def test_commands_are_as_they_were_after_a_failure() -> None:
    """Those of the user, and of a controller that was called before."""
    world, skeleton, system = sliding()
    law = world.add_controller(kido.control.PD(skeleton, 1.0, 10.0, 0.0))
    skeleton.commands = [3.0]
    system.add(JointPort(skeleton.dofs[0]))
    grows = system.add(Growing("grows"))
    system.run(0.0)
    with pytest.raises(kido.StateError, match="grows"):
        world.step(100, reset_command=False)
    assert skeleton.commands == pytest.approx([3.0], abs=0.0)
    steps = world.num_steps
    grows.x.value = 0.0
    world.step(20 - steps, reset_command=False)
    other, twin, _ = sliding()
    other.add_controller(kido.control.PD(twin, 1.0, 10.0, 0.0))
    twin.commands = [3.0]
    other.step(20, reset_command=False)
    assert np.array_equal(skeleton.positions, twin.positions)
    assert np.array_equal(law.forces, other.controllers[0].forces)


class Root(Model):
    """NaN after 50 ms."""

    y = Output()

    def outputs(self):
        return {"y": np.sqrt(0.05 - self.time)}


@pytest.mark.parametrize("kind, name", [(JointPort, "force"), (BodyPort, "torque")])
def test_nan_for_a_world_is_named_where_it_came_from(kind, name: str) -> None:
    world, skeleton, system = sliding()
    root = system.add(Root("root"))
    port = system.add(kind(skeleton.dofs[0] if kind is JointPort else skeleton.bodies[0], name="port"))
    if kind is BodyPort:

        class Spread(Model):
            u, y = Input(), Output("N m", 3)

            def outputs(self):
                return {"y": self.u * np.ones(3)}

        spread = system.add(Spread("spread"))
        system.connect(root.y, spread.u)
        system.connect(spread.y, port.port(name))
    else:
        system.connect(root.y, port.port(name))
    with pytest.raises(kido.StateError, match=r"t = 0\.051 s root\.y is nan"):
        system.run(0.2)
    assert system.nanoseconds == world.num_steps * 10**6 == 51 * 10**6
    assert np.isfinite(skeleton.positions).all()


def test_a_mass_of_zero_ends_the_steps_of_the_world() -> None:
    class Emptying(Model):
        y = Output("kg")

        def outputs(self):
            return {"y": 0.1 - self.time}

    world, skeleton, system = sliding()
    mass = system.add(MassPort(skeleton.bodies[0]))
    system.connect(system.add(Emptying("tank")).y, mass.mass)
    with pytest.raises(kido.StateError, match=r"body_mass\.mass is"):
        system.run(0.2)
    assert system.nanoseconds == world.num_steps * 10**6
    assert 99 <= world.num_steps <= 101


class Ratio(Model):
    """Of parameters alone."""

    a, b = Parameter(1.0), Parameter(0.0)
    y = Output()

    def outputs(self):
        return {"y": self.a / self.b}


def test_numbers_that_follow_from_parameters_alone_are_looked_at() -> None:
    system = System()
    ratio = system.add(Ratio("ratio"))
    with pytest.raises(kido.StateError, match=r"ratio\.y is inf"):
        system.run(0.1)
    ratio.set_parameters(b=2.0)
    system.run(0.1)
    assert ratio.y.value == 0.5


@pytest.mark.parametrize("rate", [None, 10])
def test_so_are_those_of_constants_through_others(rate) -> None:
    class Inverse(Model):
        u, y = Input(), Output()

        def outputs(self):
            return {"y": 1.0 / self.u}

    system = System()
    inverse = system.add(Inverse("inverse", rate=rate))
    system.connect(system.add(Constant("zero", 0.0)).value, inverse.u)
    with pytest.raises(kido.StateError, match=r"inverse\.y is inf"):
        system.run(0.1)


def test_checkpoints_of_other_numbers_are_refused() -> None:
    def made(number: float, default: float = 1.0, step: float = 1e-3, integrator=None) -> System:
        class Slope(Model):
            x, u = State(), Input(default=default)

            def derivatives(self):
                return {"x": number * self.u - self.x}

        system = System(step=step, integrator=integrator)
        system.add(Slope("slope"))
        return system

    system = made(2.0)
    system.run(0.1)
    kept = system.checkpoint()
    same = made(2.0)
    same.restore(kept)
    same.run(0.1)
    system.run(0.1)
    assert same["slope.x"].value == system["slope.x"].value
    adaptive = kido.integrators.DormandPrince
    for other in (
        made(3.0), made(2.0, default=4.0), made(2.0, step=2e-3), made(2.0, integrator=adaptive()),
        made(2.0, integrator=kido.integrators.ExplicitEuler()),
    ):  # fmt: skip
        with pytest.raises(kido.StateError, match="another integrator or step"):
            other.restore(kept)
        assert other.time == 0.0
    first, second = made(2.0, integrator=adaptive(rtol=1e-6)), made(2.0, integrator=adaptive(rtol=1e-9))
    with pytest.raises(kido.StateError, match="another integrator or step"):
        second.restore(first.checkpoint())
