"""What comes, goes and changes in systems leaves nothing behind that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kido
from kido.devices import BeltTrack, ForceTorqueSensor, SloshTank
from kido.models.landing import dispersed
from kido.systems import (
    Assembly,
    Checkpoint,
    Constant,
    Dispersion,
    Input,
    JointPort,
    MassPort,
    Model,
    Output,
    Parameter,
    PythonModel,
    Rate,
    State,
    System,
    as_unit,
    load_assembly,
)


def solid(mass: float, at=(0.0, 0.0, 0.0)) -> kido.Inertia:
    return kido.Inertia(mass, at, 0.1 * mass * np.eye(3))


def sliding(mass: float = 10.0) -> tuple[kido.World, kido.Skeleton, kido.BodyNode]:
    skeleton = kido.Skeleton("sliding")
    body = skeleton.add_body("hull", kido.PrismaticJoint("x", (1, 0, 0)), None, solid(mass))
    world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=1e-3)
    world.add_skeleton(skeleton)
    return world, skeleton, body


class Clock(Model):
    x = State("s")

    def derivatives(self):
        return {"x": 1.0 + 0.0 * self.x}


# Time steps and actuators that change ------------------------------------------------------------------------


def test_another_time_step_of_the_world_is_the_systems_too() -> None:
    world, skeleton, _ = sliding()
    system = System(world=world)
    system.add(JointPort(skeleton.dofs[0]))
    clock = system.add(Clock())
    system.run(0.1)
    for h in (5e-4, 2e-3):
        world.time_step = h
        system.run(0.1)
        world.step(10)
        assert system.time == pytest.approx(world.time, abs=1e-12)
        assert clock.x.value == pytest.approx(world.time, abs=1e-12)


def test_a_time_step_that_rates_do_not_fit_is_refused() -> None:
    world, skeleton, _ = sliding()
    system = System(world=world)
    port, control = system.add(JointPort(skeleton.dofs[0])), system.add(kido.devices.PID("control"))
    system.connect(port.position, control.measured)
    system.connect(system.add(Constant("wanted", 0.0)).value, control.wanted)
    system.run(0.1)
    world.time_step = 3e-4
    for ask in (lambda: system.run(0.3), lambda: world.step(10)):
        with pytest.raises(kido.ModelError, match="whole number of the world's time steps"):
            ask()
    assert system.nanoseconds == 10**8 and world.num_steps == 100
    world.time_step = 1e-3
    system.run(0.1)
    world.step(100)
    assert system.nanoseconds == 3 * 10**8 and world.num_steps == 300


def test_a_coordinate_that_takes_no_forces_any_more_is_refused() -> None:
    for kind in (kido.ActuatorType.LOCKED, kido.ActuatorType.VELOCITY):
        world, skeleton, _ = sliding()
        system = System(world=world)
        system.add(JointPort(skeleton.dofs[0]))
        system.run(0.1)
        skeleton.dofs[0].actuator_type = kind
        for ask in (lambda s=system: s.run(0.1), world.step):
            with pytest.raises(kido.ModelError, match=rf"'x'.*{kind.name}"):
                ask()
        skeleton.dofs[0].actuator_type = kido.ActuatorType.FORCE
        system.run(0.1)
        assert system.nanoseconds == world.num_steps * 10**6


# Masses ------------------------------------------------------------------------------------------------------


def pushed(world: kido.World, skeleton: kido.Skeleton, masses: dict[kido.BodyNode, float], force: float) -> System:
    system = System(world=world)
    port, push = system.add(JointPort(skeleton.dofs[0], "joint")), system.add(Constant("push", force, "N"))
    system.connect(push.value, port.force)
    for body, mass in masses.items():
        scale, kg = system.add(MassPort(body)), system.add(Constant(f"{body.name}_kg", mass, "kg"))
        system.connect(kg.value, scale.mass)
    return system


def test_masses_of_bodies_that_are_welded_together_add_up() -> None:
    """10 kg with two tanks of now 1 and 2 kg; a turn about the axis between them: moments of each about it."""
    world, skeleton, hull = sliding()
    one = skeleton.add_body("one", kido.WeldJoint("weld_one"), hull, solid(5.0))
    two = skeleton.add_body("two", kido.WeldJoint("weld_two"), hull, solid(5.0))
    pushed(world, skeleton, {one: 1.0, two: 2.0}, 13.0).run(1.0)
    assert skeleton.velocities == pytest.approx([1.0], rel=1e-12)

    skeleton = kido.Skeleton("turning")
    hub = skeleton.add_body("hub", kido.RevoluteJoint("z", (0, 0, 1)), None, solid(3.0))
    ends = []
    for k, x in enumerate((-2.0, 1.0)):
        weld = kido.WeldJoint(f"weld_{k}")
        ends.append(skeleton.add_body(f"end_{k}", weld, hub, solid(4.0, (x, 0.0, 0.0))))
    world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=1e-3)
    world.add_skeleton(skeleton)
    moment = 0.3 + (0.1 + 4.0) * 0.5 + (0.1 + 1.0) * 6.0
    system = System(world=world)
    port, push = system.add(JointPort(skeleton.dofs[0], "joint")), system.add(Constant("push", moment, "N m"))
    system.connect(push.value, port.force)
    for body, mass in zip(ends, (0.5, 6.0), strict=True):
        system.connect(system.add(Constant(f"{body.name}_kg", mass, "kg")).value, system.add(MassPort(body)).mass)
    system.run(0.5)
    assert skeleton.velocities == pytest.approx([0.5], rel=1e-12)


def test_a_second_mass_port_of_a_body_is_refused() -> None:
    world, _, hull = sliding()
    system = System(world=world)
    first = system.add(MassPort(hull))
    with pytest.raises(kido.ModelError, match="hull_mass"):
        system.add(MassPort(hull, "again"))
    both = Assembly("both")
    both.add(MassPort(hull, "again"))
    with pytest.raises(kido.ModelError, match="one of a body"):
        system.add(both)
    system.replace(first, MassPort(hull))
    assert [m.path for m in system.models] == ["hull_mass"]


def test_without_its_port_a_body_has_its_own_mass_again() -> None:
    world, skeleton, hull = sliding()
    system = pushed(world, skeleton, {hull: 1.0}, 10.0)
    system.run(1.0)
    assert skeleton.velocities == pytest.approx([10.0], rel=1e-12)
    system.remove("hull_mass")
    system.run(1.0)
    assert skeleton.velocities == pytest.approx([11.0], rel=1e-12)
    world.reset()
    system.run(1.0)
    assert skeleton.velocities == pytest.approx([1.0], rel=1e-12)


def test_a_sensor_behind_which_masses_change_feels_what_is_there() -> None:
    """A hand of 3 kg, now 1, on a carrier that 12 N on 3 kg in all push up, with or without weight; and in a turn."""
    for gravity in (0.0, 9.81):
        skeleton = kido.Skeleton("carrying")
        base = skeleton.add_body("base", kido.PrismaticJoint("z", (0, 0, 1)), None, solid(2.0))
        wrist = kido.WeldJoint("wrist")
        hand = skeleton.add_body("hand", wrist, base, solid(3.0, (0.2, 0.0, 0.0)))
        world = kido.World(gravity=(0.0, 0.0, -gravity), time_step=1e-3)
        world.add_skeleton(skeleton)
        system = pushed(world, skeleton, {hand: 1.0}, 12.0)
        sensor = system.add(ForceTorqueSensor(wrist, "sensor"))
        system.run(0.1)
        assert sensor.force.value == pytest.approx([0.0, 0.0, 4.0], abs=1e-9)
        assert sensor.torque.value == pytest.approx([0.0, -0.8, 0.0], abs=1e-9)
    skeleton = kido.Skeleton("turning")
    base = skeleton.add_body("base", kido.RevoluteJoint("z", (0, 0, 1)), None, solid(2.0))
    wrist = kido.WeldJoint("wrist")
    hand = skeleton.add_body("hand", wrist, base, solid(3.0, (0.5, 0.0, 0.0)))
    world = kido.World(gravity=(0.0, 0.0, 0.0), time_step=1e-3)
    world.add_skeleton(skeleton)
    skeleton.velocities = [2.0]
    system = System(world=world)
    system.connect(system.add(Constant("kg", 1.0, "kg")).value, system.add(MassPort(hand)).mass)
    sensor = system.add(ForceTorqueSensor(wrist, "sensor"))
    system.run(0.1)
    assert sensor.force.value == pytest.approx([-1.0 * 2.0**2 * 0.5, 0.0, 0.0], abs=1e-9)


# What is removed ---------------------------------------------------------------------------------------------


def test_a_track_leaves_the_surface_as_it_was() -> None:
    world, _, hull = sliding()
    node = hull.add_shape(kido.Box((1.0, 1.0, 0.2)))
    node.set_surface(surface_velocity=(0.0, 0.25, 0.0))
    system = System(world=world)
    track = system.add(BeltTrack(node, "track"))
    system.connect(system.add(Constant("speed", 0.5, "m/s")).value, track.speed)
    system.run(0.02)
    assert node.surface.surface_velocity == (-0.5, 0.0, 0.0)
    system.remove(track)
    assert node.surface.surface_velocity == (0.0, 0.25, 0.0)


@pytest.mark.parametrize("springs", [False, True])
def test_a_tank_takes_its_liquid_along(springs: bool) -> None:
    world, skeleton, hull = sliding()
    system = System(world=world)
    tank = system.add(SloshTank(hull, 0.3, 5.0, springs=springs, name="tank"))
    system.add(JointPort(skeleton.dofs[0]))
    system.run(0.1)
    system.remove(tank)
    assert [body.name for body in skeleton.bodies] == ["hull"]
    system.run(0.1)
    assert system.nanoseconds == 2 * 10**8


def test_a_new_model_begins_anew_where_another_was() -> None:
    class Charge(Model):
        x = State("C", 1.0)

        def derivatives(self):
            return {"x": 0.0 * self.x}

    system = System()
    system.add(Clock("part"))
    system.run(0.5)
    system.remove("part")
    assert system.add(Charge("part")).x.value == 1.0
    system.remove("part")
    assert system.add(Clock("part")).x.value == 0.0
    system.run(0.25)
    assert system["part.x"].value == pytest.approx(0.25, abs=1e-12)


class Through(Model):
    u, y = Input("s"), Output("s")

    def outputs(self):
        return {"y": self.u}


def test_a_delay_that_is_made_anew_begins_anew() -> None:
    system = System()
    clock, out = system.add(Clock()), system.add(Through("through"))
    system.connect(clock.x, out.u, delay=10)
    system.run(0.55)
    assert out.y.value == pytest.approx(0.5, abs=1e-9)
    system.disconnect(out.u)
    system.connect(clock.x, out.u, delay=10)
    assert out.y.value == 0.0


def test_states_go_on_in_a_replacement_unless_they_are_others() -> None:
    class Other(Model):
        x, more = State("m"), State()

        def derivatives(self):
            return {"x": 0.0 * self.x}

    system = System()
    inner = system.add(Assembly("inner"))
    inner.add(Clock("clock"))
    system.add(Clock("clock"))
    system.run(0.5)
    for place, path in ((system, "clock"), (inner, "inner.clock")):
        place.replace("clock", Clock("clock"))
        assert system[f"{path}.x"].value == pytest.approx(0.5, abs=1e-12)
        place.replace("clock", Clock("clock", x=3.0))
        assert system[f"{path}.x"].value == 3.0
        place.replace("clock", Other("clock"))
        assert system[f"{path}.x"].value == 0.0
    whole = Assembly("inner")
    whole.add(Other("clock", more=2.0))
    system.set_state_value("inner.clock.x", 4.0)
    system.replace("inner", whole)
    assert system["inner.clock.x"].value == 4.0 and system["inner.clock.more"].value == 2.0


class Five(Model):
    rate, y = 10, Output()

    def outputs(self):
        return {"y": 5.0 + 0.0 * self.time}


class Early(Model):
    """What its first update sees, and how often it is updated."""

    rate, u = 10, Input()
    first, count = State("", -1.0), State()

    def update(self):
        return {"first": np.where(self.count < 0.5, self.u, self.first), "count": self.count + 1.0}


@pytest.mark.parametrize("begins", [0.0, 1.0, 1.05])
@pytest.mark.parametrize("plain", [False, True])
def test_models_that_come_later_begin_as_those_at_time_0(begins: float, plain: bool) -> None:
    class PlainFive(PythonModel, Five):
        def outputs(self):
            return {"y": 5.0}

    kind = PlainFive if plain else Five
    system = System()
    if begins:
        system.run(begins)
    source, early = system.add(kind("source")), system.add(Early("early"))
    system.connect(source.y, early.u)
    kept = system.checkpoint()
    for _ in range(2):
        system.run(0.3)
        assert early.first.value == 5.0
        system.restore(kept)
        assert early.first.value == -1.0
    system.add(Clock())  # another structure before the first tick
    system.run(0.3)
    assert early.first.value == 5.0
    system.reset()
    system.run(0.3)
    assert early.first.value == 5.0 and early.count.value == 4.0


def test_what_was_there_is_not_looked_at_anew_when_others_come() -> None:
    """An update sees what a running source gave at the tick before, also in the first tick of another model."""

    class Counting(Model):
        rate, n, y = 10, State(), Output()

        def outputs(self):
            return {"y": self.n}

        def update(self):
            return {"n": self.n + 1.0}

    class Last(Model):
        rate, u, seen = 10, Input(), State()

        def update(self):
            return {"seen": self.u}

    runs = []
    for others in (False, True):
        system = System()
        source, last = system.add(Counting("source")), system.add(Last("last"))
        system.connect(source.y, last.u)
        system.run(0.5)
        if others:
            five, early = system.add(Five("five")), system.add(Early("early", rate=5))
            system.connect(five.y, early.u)
        seen = []
        for _ in range(5):
            system.run(0.1)
            seen.append((source.y.value, last.seen.value))
        if others:
            assert early.first.value == 5.0
        runs.append(seen)
    assert runs[0] == runs[1]


BODIES = """
bodies:
  bob: {joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.5, shapes: [{type: sphere, radius: 0.05, xyz: [0, 0, -0.3]}]}
parts:
  hinge: {joint: bob}
"""


def test_an_assembly_with_bodies_is_replaced_by_one_from_the_same_file(tmp_path: Path) -> None:
    file = tmp_path / "part.yaml"
    file.write_text(BODIES)
    world, skeleton, hull = sliding()
    system = System(world=world)
    system.add(load_assembly(file, {}, on=hull))
    system.run(0.1)
    for _ in range(2):
        system.replace("part", load_assembly(file, {}, on=hull))
        system.run(0.1)
        assert len(skeleton.bodies) == 2
    assert system.nanoseconds == world.num_steps * 10**6 == 3 * 10**8


@pytest.mark.parametrize(
    "value", ["!foo 3", "!!int abc", "!!binary abc", "2001-99-99", "&a [*a]", "!!python/name:os.system x"]
)
def test_values_of_files_that_are_none_are_named(tmp_path: Path, value: str) -> None:
    file = tmp_path / "part.yaml"
    file.write_text(f"parts:\n  a: {{model: Constant, value: {value}}}\n")
    with pytest.raises(kido.FileFormatError, match=r"part\.yaml"):
        load_assembly(file, {"Constant": Constant})


def test_solve_is_true_or_false(tmp_path: Path) -> None:
    file = tmp_path / "part.yaml"
    file.write_text(
        "parts:\n  a: {model: Constant, value: 1.0}\n  b: {model: Clock}\n"
        "connect:\n  - {from: a.value, to: b.u, solve: maybe}\n"
    )

    class Driven(Clock):
        u = Input()

    with pytest.raises(kido.FileFormatError, match="solve: expected True or False, got 'maybe'"):
        load_assembly(file, {"Constant": Constant, "Clock": Driven})


# Runs, names and nonsense ------------------------------------------------------------------------------------


def test_dispersed_runs_begin_where_the_world_began() -> None:
    world, skeleton, _ = sliding()
    system = System(world=world)
    port, push = system.add(JointPort(skeleton.dofs[0])), system.add(Constant("push", 1.0, "N"))
    system.connect(push.value, port.force)
    spread = Dispersion({"push.setting": lambda rng: rng.uniform(1.0, 2.0)})
    ends = {}
    for run in spread.runs(system, 3):
        assert world.time == 0.0
        system.run(0.5)
        ends[run] = skeleton.positions[0]
    assert len(set(ends.values())) == 3
    spread.apply(system, 1)
    system.run(0.5)
    assert skeleton.positions[0] == ends[1]


@pytest.mark.parametrize("name", ["time", "period", "path", "declared", "outputs", "parent", "inside", "at", "ports"])
def test_names_that_mean_something_in_all_models_are_refused(name: str) -> None:
    kind = type("Named", (Model,), {name: Input(default=1.0)})
    if name == "at":
        assert kind().port("at").name == "at"
        return
    with pytest.raises(kido.ModelError, match=f"declares '{name}'"):
        kind()
    with pytest.raises(kido.ModelError, match=f"declares '{name}'"):
        Clock().redeclare(**{name: Parameter(1.0)})


def test_nonsense_is_refused_by_name(tmp_path: Path) -> None:
    system = System()
    system.add(Clock())
    away = tmp_path / "away" / "x.svg"
    for ask, error, words in (
        (lambda: as_unit("km^200"), kido.ModelError, "km"),
        (lambda: as_unit("mm^-200"), kido.ModelError, "mm"),
        (lambda: Input(["N"]), kido.ModelError, "expected a text"),  # type: ignore[arg-type]
        (lambda: system.draw(away), kido.FileFormatError, "cannot be written"),
        (lambda: system.checkpoint().save(away), kido.FileFormatError, "cannot be written"),
        (lambda: dispersed(1, away), kido.FileFormatError, "cannot be written"),
        (lambda: system.remove(5), kido.ModelError, "is not in it"),  # type: ignore[arg-type]
        (lambda: Rate(0, 0), kido.ModelError, "whole numbers above 0"),
    ):
        with pytest.raises(error, match=words):
            ask()
    system.checkpoint().save(tmp_path / "kept")
    assert Checkpoint.load(tmp_path / "kept").time == 0.0
