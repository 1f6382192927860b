"""Many worlds that are stepped by commands: each is the single world with its own properties, in any company."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kido
from kido import models
from kido.batch import RolloutPool, Worlds, rollout
from kido.errors import ModelError, NameLookupError, ReadOnlyError, StateError
from kido.shapes import Box, Sphere
from robot_worlds import random_commands, robot_and_box
from scenes import G

STEPS = 40


def world_of(name: str = "humanoid", settle: int = 250) -> kido.World:
    return robot_and_box(name, settle)


def commands_of(world: kido.World, number: int, steps: int = STEPS, size: float = 2.0) -> np.ndarray:
    return random_commands(world, number, steps, size)


@pytest.fixture(scope="module")
def humanoid() -> kido.World:
    return world_of()


def properties_of(robot: kido.Skeleton, number: int) -> dict:
    """Masses, centres, gravity, gains and frictions of a robot, other ones in each world."""
    rng = np.random.default_rng(9)
    masses = np.array([b.mass for b in robot.bodies])
    dampings = np.array([dof.damping for dof in robot.dofs])
    return {
        "mass": masses * rng.uniform(0.8, 1.2, (number, robot.num_bodies)),
        "friction": rng.uniform(0.3, 1.0, (number, robot.num_bodies)),
        "damping": dampings * rng.uniform(0.5, 1.5, (number, robot.num_dofs)),
        "armature": np.where(np.arange(robot.num_dofs) < 6, 0.0, rng.uniform(0.0, 0.1, (number, robot.num_dofs))),
        "gravity": [0.0, 0.0, -G] + rng.normal(0.0, 0.3, (number, 3)),
    }


def apply_by_hand(world: kido.World, properties: dict, k: int) -> None:
    robot = world.skeletons[1]
    world.gravity = properties["gravity"][k]
    for body, mass, friction in zip(robot.bodies, properties["mass"][k], properties["friction"][k], strict=True):
        own = body.inertia
        if own.mass > 0.0:
            body.inertia = kido.Inertia(mass, own.com, own.moment * (mass / own.mass))
        if any(node.collision for node in body.shapes):
            body.friction = friction
    rows = zip(robot.dofs, properties["damping"][k], properties["armature"][k], strict=True)
    for dof, damping, armature in rows:
        dof.damping, dof.armature = damping, armature


@pytest.mark.parametrize("lanes", [False, True])
def test_steps_are_those_of_a_rollout_to_the_bit(humanoid, lanes):
    commands = commands_of(humanoid, 11)
    found = rollout(humanoid, commands=commands, skeleton=1, threads=1, lanes=lanes)
    worlds = Worlds(humanoid, 11, skeleton=1, threads=2, lanes=lanes)
    for k in range(STEPS):
        q, u = worlds.step(commands[:, k])
        assert np.array_equal(q, found.positions[:, k])
        assert np.array_equal(u, found.velocities[:, k])
    assert (worlds.steps == STEPS).all() and not worlds.errors


@pytest.mark.parametrize("lanes", [False, True])
def test_each_world_has_its_own_masses_frictions_gains_and_gravity(humanoid, lanes):
    """Against one world whose properties are set by hand: bit for bit one by one, to rounding in lanes."""
    commands = commands_of(humanoid, 10, size=0.5)
    properties = properties_of(humanoid.skeletons[1], 10)
    found = rollout(humanoid, commands=commands, properties=properties, skeleton=1, threads=2, lanes=lanes)
    assert not found.errors
    assert np.abs(found.positions[0] - found.positions[1]).max() > 1e-5  # they do differ
    for k in (0, 3, 9):
        twin = humanoid.clone()
        apply_by_hand(twin, properties, k)
        robot = twin.skeletons[1]
        rows = []
        for row in commands[k]:
            robot.commands = row
            twin.step()
            rows.append(robot.positions)
        if lanes:
            assert found.positions[k] == pytest.approx(np.array(rows), rel=0.0, abs=1e-11)
        else:
            assert np.array_equal(found.positions[k], rows)


def test_properties_do_not_depend_on_company_or_threads(humanoid):
    commands = commands_of(humanoid, 19, steps=100, size=8.0)
    properties = properties_of(humanoid.skeletons[1], 19)
    found = rollout(humanoid, commands=commands, properties=properties, skeleton=1, threads=2, lanes=True)
    order = np.random.default_rng(5).permutation(19)
    mixed = {name: values[order] for name, values in properties.items()}
    other = rollout(humanoid, commands=commands[order], properties=mixed, skeleton=1, threads=1, lanes=True)
    assert np.array_equal(found.positions[order], other.positions)
    alone = {name: values[18:] for name, values in properties.items()}
    one = rollout(humanoid, commands=commands[18:], properties=alone, skeleton=1, threads=1, lanes=True)
    assert np.array_equal(found.positions[18], one.positions[0])


def test_bits_over_a_long_run_in_other_company(humanoid):
    """They fall and lie within it: 16 worlds in two threads as one rollout, three of them step by step in one."""
    properties = {"mass": properties_of(humanoid.skeletons[1], 16)["mass"]}
    commands = commands_of(humanoid, 16, steps=150)
    pool = RolloutPool(humanoid, skeleton=1, threads=2, lanes=True)
    found = pool.run(commands=commands, properties=properties, hold=10, every=100)
    assert not found.errors and (found.steps == 1500).all()
    chosen = [9, 3, 14]
    own = {"mass": properties["mass"][chosen]}
    worlds = Worlds(humanoid, skeleton=1, properties=own, threads=1)
    for k in range(150):
        q, u = worlds.step(commands[chosen, k], 10)
        if k % 10 == 9:
            assert np.array_equal(q, found.positions[chosen, k // 10])
            assert np.array_equal(u, found.velocities[chosen, k // 10])


def test_gains_and_joint_friction_by_name():
    """A position actuator under gravity holds at q with kp (target - q) = m g l cos q; friction stops a slow wheel."""
    arm = kido.Skeleton("arm")
    joint = kido.RevoluteJoint("hinge", axis=(0, 1, 0), actuator_type="position", position_gain=50.0, velocity_gain=5.0)
    arm.add_body("rod", joint=joint, inertia=kido.Inertia(1.0, com=(0.3, 0.0, 0.0), moment=0.01 * np.eye(3)))
    kp = np.array([20.0, 50.0, 200.0])
    worlds = Worlds(arm, properties={"position_gain": {"hinge": kp}, "velocity_gain": kp[:, None] / 10}, threads=1)
    worlds.step(np.zeros((3, 1)), 4000)
    q = worlds.positions[:, 0]
    assert kp * q == pytest.approx(G * 0.3 * np.cos(q), rel=1e-6)
    wheel = kido.Skeleton("wheel")
    joint = kido.RevoluteJoint("axle", axis=(0, 0, 1), coulomb_friction=0.01)
    wheel.add_body("wheel", joint=joint, inertia=kido.Inertia(1.0, moment=0.1 * np.eye(3)))
    friction = np.array([[0.0], [0.05], [0.2]])
    worlds = Worlds(wheel, properties={"coulomb_friction": friction}, threads=1)
    worlds.reset(velocities=[1.0])
    worlds.step(n=1000)
    assert worlds.velocities == pytest.approx(np.maximum(1.0 - friction / 0.1, 0.0), abs=1e-9)


def test_free_bodies_differ_in_mass_and_friction():
    """Boxes slide down a slope of gravity with g (sin a - mu cos a), whatever they weigh; they carry their weight."""
    world = kido.World()
    world.add_ground(friction=1.0)
    world.gravity = G * np.sin(0.4), 0.0, -G * np.cos(0.4)
    box = kido.Skeleton("box")
    body = box.add_body("box", kido.FreeJoint("free"), inertia=kido.Inertia(1.0, moment=0.01 * np.eye(3)))
    body.add_shape(Box((0.4, 0.4, 0.1)))
    box.positions = [0, 0, 0, 0, 0, 0.05]
    world.add_skeleton(box)
    mu, mass = np.array([0.0, 0.1, 0.3]), np.array([0.5, 1.0, 4.0])
    given = {"friction": {"box": mu}, "mass": {"box": mass}}
    worlds = Worlds(world, 3, skeleton="box", properties=given, bodies=["box"], threads=1)
    assert "no robot" in worlds.why_alone
    worlds.step(n=500)
    assert worlds.velocities[:, 3] == pytest.approx(0.5 * G * (np.sin(0.4) - mu * np.cos(0.4)), rel=1e-3)
    assert worlds.contact_wrenches[:, 0, 5] == pytest.approx(mass * G * np.cos(0.4), rel=1e-5)
    assert worlds.constraint_forces[:, 5] == pytest.approx(mass * G * np.cos(0.4), rel=1e-5)


def test_worlds_that_are_given_keep_what_is_theirs(humanoid):
    models_given = []
    properties = properties_of(humanoid.skeletons[1], 3)
    for k in range(3):
        twin = humanoid.clone()
        apply_by_hand(twin, properties, k)
        twin.step(7 * k)
        models_given.append(twin)
    commands = commands_of(humanoid, 3)
    worlds = Worlds(models_given, skeleton=1, lanes=False, threads=2)
    found = [worlds.step(commands[:, k])[0].copy() for k in range(STEPS)]
    for k, model in enumerate(models_given):
        robot = model.skeletons[1]
        for row, rows in zip(commands[k], found, strict=True):
            robot.commands = row
            model.step()
            assert np.array_equal(robot.positions, rows[k])
        assert np.array_equal(worlds.export(k).skeletons[1].positions, robot.positions)


def test_reset_of_single_worlds_in_the_middle(humanoid):
    commands = commands_of(humanoid, 10)
    straight = Worlds(humanoid, 10, skeleton=1, threads=1)
    worlds = Worlds(humanoid, 10, skeleton=1, threads=2)
    start = worlds.positions[4] + 0.01 * (np.arange(worlds.num_dofs) == 5)
    for k in range(STEPS):
        if k == 15:
            mask = np.zeros(10, bool)
            mask[[2, 7]] = True
            worlds.reset(mask)
            worlds.reset([4], positions=start, velocities=np.zeros((1, worlds.num_dofs)))
            assert np.array_equal(worlds.positions[4], start) and worlds.steps.tolist() == [
                15,
                15,
                0,
                15,
                0,
                15,
                15,
                0,
                15,
                15,
            ]
        straight.step(commands[:, k])
        worlds.step(commands[:, k])
    others = [0, 1, 3, 5, 6, 8, 9]
    assert np.array_equal(worlds.positions[others], straight.positions[others])
    again = rollout(humanoid, commands=commands[[2, 7], 15:], skeleton=1, threads=1, lanes=True)
    assert np.array_equal(worlds.positions[[2, 7]], again.positions[:, -1])
    fresh = rollout(humanoid, start, np.zeros(worlds.num_dofs), commands[4:5, 15:], skeleton=1, threads=1, lanes=True)
    assert np.array_equal(worlds.positions[4], fresh.positions[0, -1])


def test_reset_with_other_properties(humanoid):
    properties = properties_of(humanoid.skeletons[1], 4)
    worlds = Worlds(humanoid, 4, skeleton=1, properties=properties, threads=1)
    other = {name: values[::-1][:1] for name, values in properties.items()}
    worlds.reset([0], properties=other)
    worlds.step(n=20)
    assert np.array_equal(worlds.positions[0], worlds.positions[3])
    assert not np.array_equal(worlds.positions[0], worlds.positions[1])
    with pytest.raises(StateError, match="expected all those that these worlds were made with"):
        worlds.reset([0], properties={"gravity": np.zeros((1, 3))})


@pytest.mark.parametrize("lanes", [False, True])
def test_properties_of_a_run_are_not_those_of_the_next(humanoid, lanes):
    robot = humanoid.skeletons[1]
    given = {"commands": commands_of(humanoid, 3, 10), "hold": 1}
    fresh = rollout(humanoid, **given, skeleton=robot, lanes=lanes)
    pool = RolloutPool(humanoid, skeleton=robot, lanes=lanes)
    other = pool.run(**given, properties=properties_of(robot, 3))
    gains = {"damping": np.full((3, robot.num_dofs), 2.0)}
    assert np.array_equal(
        pool.run(**given, properties=gains).positions,
        rollout(humanoid, **given, skeleton=robot, lanes=lanes, properties=gains).positions,
    )
    free = kido.World()  # constants of a free body follow from its mass and from gravity
    free.add_skeleton(humanoid.skeletons[2].clone())
    tilted = {"mass": np.full((3, 1), 3.0), "gravity": np.tile([1.0, 0.0, -5.0], (3, 1))}
    heavy, reused = {"mass": np.full((3, 1), 2.5)}, RolloutPool(free, lanes=lanes)
    reused.run(properties=tilted, steps=3)
    wanted = rollout(free, properties=heavy, steps=3, lanes=lanes).positions
    assert np.array_equal(reused.run(properties=heavy, steps=3).positions, wanted)
    again = pool.run(**given)
    assert np.array_equal(again.positions, fresh.positions)
    assert not np.array_equal(again.positions, other.positions)


def test_one_world_as_a_world_and_back(humanoid):
    """An exported world, stepped by itself, goes on as it does among the others."""
    properties = properties_of(humanoid.skeletons[1], 3)
    commands = commands_of(humanoid, 3)
    worlds = Worlds(humanoid, 3, skeleton=1, properties=properties, lanes=False, threads=1)
    for k in range(20):
        worlds.step(commands[:, k])
    twin, snapshot = worlds.export(2), worlds.snapshot(2)
    assert twin.num_steps == 20 and twin.time == pytest.approx(0.02) and snapshot.num_steps == 20
    assert [b.mass for b in twin.skeletons[1].bodies] == pytest.approx(properties["mass"][2])
    for k in range(20, STEPS):
        worlds.step(commands[:, k])
        twin.skeletons[1].commands = commands[2, k]
        twin.step()
    assert np.array_equal(worlds.positions[2], twin.skeletons[1].positions)
    assert np.array_equal(worlds.actuator_forces[2], twin.actuator_forces(1))
    assert np.array_equal(worlds.constraint_forces[2], twin.constraint_forces(1))
    after = worlds.positions.copy()
    worlds.restore(2, snapshot)
    for k in range(20, STEPS):
        worlds.step(commands[:, k])
    assert np.array_equal(worlds.positions[2], after[2]) and worlds.steps.tolist() == [60, 60, 40]


@pytest.mark.parametrize("lanes", [False, True])
def test_forces_and_reports_are_those_of_single_worlds(humanoid, lanes):
    """Standing worlds end their steps in lanes, others by themselves: all have the results that `World` has."""
    commands = commands_of(humanoid, 9, size=0.5)
    bodies = ["left_foot", "box/box"]
    worlds = Worlds(humanoid, 9, skeleton=1, bodies=bodies, lanes=lanes, threads=1)
    for k in range(STEPS):
        worlds.step(commands[:, k])
    for k in (0, 8):
        twin = humanoid.clone()
        robot, box = twin.skeletons[1], twin.skeletons[2].bodies[0]
        for row in commands[k]:
            robot.commands = row
            twin.step()
        assert worlds.constraint_forces[k] == pytest.approx(twin.constraint_forces(1), abs=1e-5)
        assert worlds.actuator_forces[k] == pytest.approx(twin.actuator_forces(1), abs=1e-12)
        ground = twin.skeletons[0].bodies[0]
        assert worlds.contact_wrenches[k, 0, 3:] == pytest.approx(
            twin.contact_force(ground, robot.body("left_foot")), abs=1e-5
        )
        assert worlds.contact_wrenches[k, 1, 3:] == pytest.approx(twin.contact_force(ground, box), abs=1e-5)
        report = worlds.export(k).report
        assert 0.0 < report.residual <= 1e-6 and report.iterations > 0
        assert report.dissipation == pytest.approx(twin.report.dissipation, abs=1e-6)


def test_commands_go_on_and_controllers_are_called(humanoid):
    world = humanoid.clone()
    robot = world.skeletons[1]
    world.add_controller(kido.control.PD(robot, robot.positions, kp=50.0, kd=2.0))
    worlds = Worlds(world, 9, skeleton=1, threads=1, lanes=False)
    row = commands_of(world, 1, 1)[0, 0]
    worlds.step(row)
    worlds.step(n=5)
    robot.commands = row
    world.step(6, reset_command=False)
    assert np.array_equal(worlds.positions[8], robot.positions)


def test_a_world_that_turns_nan_is_named_and_stops_alone_until_it_is_reset(humanoid):
    commands = commands_of(humanoid, 9)
    good = Worlds(humanoid, 9, skeleton=1, threads=1)
    worlds = Worlds(humanoid, 9, skeleton=1, threads=1)
    for k in range(10):
        wild = commands[:, k].copy()
        if k == 4:
            wild[3] = 1e300
        worlds.step(wild)
        good.step(commands[:, k])
    others = [0, 1, 2, 4, 5, 6, 7, 8]
    assert list(worlds.errors) == [3] and "in step 5;" in worlds.errors[3]
    assert np.isnan(worlds.positions[3]).all() and worlds.steps.tolist() == [10, 10, 10, 5, 10, 10, 10, 10, 10]
    assert np.array_equal(worlds.positions[others], good.positions[others])
    with pytest.raises(StateError, match="world 3 has failed"):
        worlds.export(3)
    worlds.reset(list(worlds.errors))
    worlds.step(n=3)
    assert not worlds.errors and np.isfinite(worlds.positions).all()


def test_states_that_no_row_holds():
    """Worlds that sleep keep their states otherwise; blocks that land need more room than they began with."""
    for sleeping in (False, True):
        world = models.stack(12)
        world.sleeping = sleeping
        worlds = Worlds(world, 3, threads=2)
        for _ in range(8):
            worlds.step(n=5)
        twin = world.clone()
        twin.step(40)
        expected = np.concatenate([s.positions for s in twin.skeletons])
        assert np.array_equal(worlds.positions[2], expected) and len(twin.contacts) > 40
        worlds.reset([1])
        worlds.step(n=40)
        assert np.array_equal(worlds.positions[1], expected)


def test_results_are_not_written_to(humanoid):
    worlds = Worlds(humanoid, 2, skeleton=1, threads=1)
    with pytest.raises(ReadOnlyError):
        worlds.positions[0] = 0.0
    first = worlds.positions
    worlds.step()
    assert np.shares_memory(first, worlds.positions)


def unlike(change) -> list[kido.World]:
    worlds = [world_of("arm7", 0) for _ in range(3)]
    change(worlds[2])
    return worlds


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: w.remove_skeleton("box"), "it is of skeletons"),
        (lambda w: setattr(w, "time_step", 2e-3), "its time step is 0.002 s"),
        (lambda w: setattr(w, "integrator", kido.integrators.SemiImplicitEuler()), "its integrator"),
        (lambda w: setattr(w.skeletons[2].dofs[0], "coulomb_friction", 1.0), "friction or actuators"),
        (lambda w: setattr(w.skeletons[1].dofs[0], "actuator_type", "servo"), "joints or actuators"),
        (lambda w: setattr(w.skeletons[2].bodies[0], "restitution", 0.5), "features"),
        (lambda w: w.skeletons[2].bodies[0].set_surface(rolling_friction=0.01), "another surface"),
        (lambda w: w.skeletons[2].bodies[0].add_shape(Sphere(0.1)), "box"),
        (lambda w: w.skeletons[2].bodies[0].add_external_force((1.0, 0, 0)), "external forces"),
    ],
)
def test_worlds_of_unlike_structure_are_refused_by_name(change, reason):
    with pytest.raises(ModelError, match=r"world 2 \('world'\) is unlike world 0: .*" + reason):
        Worlds(unlike(change))


def test_bad_input(humanoid):
    robot = humanoid.skeletons[1]
    n, b = robot.num_dofs, robot.num_bodies

    def refused(match: str, error: type[Exception] = StateError, number: int = 3, **properties: Any) -> None:
        with pytest.raises(error, match=match):
            Worlds(humanoid, number, skeleton=1, properties=properties, threads=1)

    masses = np.ones((3, b))
    masses[1, 4] = -2.0
    refused(
        rf"mass of '{robot.bodies[4].name}' in world 1: expected a finite number that is not negative, got -2",
        mass=masses,
    )
    refused(
        "gravity of 'world' in world 2: expected a finite number, got nan", gravity=[[0, 0, -1]] * 2 + [[0, 0, np.nan]]
    )
    refused(r"shape \(3, 3\), got one of shape \(3,\)", gravity=[0, 0, -1])
    refused(r"damping: expected an array of shape", damping=np.ones((3, n + 1)))
    refused("numbers", damping="much")
    refused("property in which worlds may differ 'weight'", NameLookupError, weight=masses)
    refused("body for the property 'mass' 'tail'", NameLookupError, mass={"tail": [1, 2, 3]})
    refused("in world 0: expected zero, because the model has none", coulomb_friction=np.ones((3, n)))
    with pytest.raises(StateError, match="arrays by name"):
        Worlds(humanoid, 2, properties=[1.0])  # type: ignore[arg-type]
    with pytest.raises(StateError, match="number"):
        Worlds(humanoid, 0)
    with pytest.raises(StateError, match="expected 2, that of the worlds given, got 3"):
        Worlds([humanoid, humanoid.clone()], 3)
    with pytest.raises(ModelError, match="got str as number 1"):
        Worlds([humanoid, "humanoid"])  # type: ignore[list-item]
    with pytest.raises(ModelError, match="expected a world or a skeleton"):
        Worlds("humanoid")  # type: ignore[arg-type]
    with pytest.raises(StateError, match="2 of damping, 3 of mass"):
        RolloutPool(humanoid, skeleton=1).run(steps=1, properties={"damping": np.ones((2, n)), "mass": np.ones((3, b))})

    worlds = Worlds(humanoid, 3, skeleton=1, threads=1)
    before = worlds.positions.copy()
    bad = np.zeros((3, n))
    bad[1, 8] = np.inf
    with pytest.raises(StateError, match=rf"got inf for '{robot.name}/{robot.dofs[8].name}' in world 1"):
        worlds.step(bad)
    for commands in (np.zeros(n - 1), np.zeros((2, n)), "push"):
        with pytest.raises(StateError, match="commands"):
            worlds.step(commands)
    for n_steps in (0, -1, 1.5, True):
        with pytest.raises(StateError, match="n: expected a whole number above 0"):
            worlds.step(n=n_steps)  # type: ignore[arg-type]
    for which in (3, -1, [0, 0], 1.5, [True, False], "all"):
        with pytest.raises(StateError, match="worlds: expected"):
            worlds.reset(which)
    with pytest.raises(StateError, match=r"positions: expected finite numbers, got nan for .* in world 2"):
        worlds.reset([0, 2], positions=[np.zeros(n), np.full(n, np.nan)])
    with pytest.raises(StateError, match="skeletons"):
        worlds.restore(0, world_of("arm7", 0).snapshot())
    with pytest.raises(ModelError, match="no body has"):
        Worlds(humanoid, 2, bodies=["tail"])
    assert np.array_equal(worlds.positions, before) and not worlds.steps.any()


@pytest.mark.parametrize("lanes", [True, False])
def test_a_clone_goes_on_as_the_original_does(humanoid: kido.World, lanes: bool) -> None:
    """Worlds in contact, each with properties of its own; they begin again alike, and one that has failed stays so."""
    robot = humanoid.skeletons[1]
    worlds = Worlds(humanoid, 3, skeleton=robot, properties=properties_of(robot, 3), bodies=["left_foot"], lanes=lanes)
    commands = commands_of(humanoid, 3, 12)[:, :, worlds.dofs]
    for k in range(6):
        worlds.step(commands[:, k], 5)
    broken = commands[:, 0].copy()
    broken[1] = 1e308
    worlds.step(broken)
    assert list(worlds.errors) == [1]
    worlds.world.skeletons[1].positions = np.zeros(worlds.num_dofs)  # as pictures do; no matter
    twin = worlds.clone()
    assert twin.errors == worlds.errors and np.array_equal(twin.steps, worlds.steps)
    assert np.array_equal(twin.contact_wrenches, worlds.contact_wrenches, equal_nan=True)
    for k in range(6, 12):
        if k == 9:
            for w in (worlds, twin):
                w.reset([1])
        found, expected = twin.step(commands[:, k], 5), worlds.step(commands[:, k], 5)
        for a, b in zip(found, expected, strict=True):
            assert np.array_equal(a, b, equal_nan=True)
    before = np.array(worlds.positions)
    twin.step(commands[:, 0], 5)
    assert np.array_equal(worlds.positions, before)


def test_a_clone_of_worlds_that_were_given(humanoid: kido.World) -> None:
    models = [humanoid.clone() for _ in range(2)]
    models[1].gravity = (0.0, 0.0, -3.0)
    worlds = Worlds(models)
    worlds.step(n=5)
    twin = worlds.clone()
    for a, b in zip(twin.step(n=20), worlds.step(n=20), strict=True):
        assert np.array_equal(a, b)
