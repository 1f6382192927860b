"""`World.reset`: back to the state before the first step, or to one that was set, and from there the same again."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest

import kido
from scenes import free, world_of
from user_classes import Temperature

BOX = kido.Box((0.2, 0.3, 0.1))


def pile(**options) -> kido.World:
    """Three boxes above each other, which fall and come to rest, and an arm that swings."""
    world = kido.World(**options)
    world.add_ground()
    for k in range(3):
        place = (0.02 * k, 0.0, 0.2 + 0.2 * k)
        world.add_skeleton(free(BOX, 1.0, place, rotation=(0.1 * k, 0.0, 0.0), name=f"box {k}"))
    arm = world.add_skeleton(kido.load(kido.models.path("arm7")))
    arm.positions = np.linspace(-0.5, 0.5, 7)
    return world


def bits(world: kido.World) -> bytes:
    numbers = [np.concatenate([s.positions, s.velocities, s.accelerations, s.commands]) for s in world.skeletons]
    c = world.contacts
    return np.concatenate([*numbers, [world.time, world.num_steps], c.points.ravel(), c.forces.ravel()]).tobytes()


def test_what_follows_is_what_followed_the_first_time() -> None:
    world = pile()
    at_first = bits(world)
    world.step()
    first = bits(world)
    world.step(299)
    later = bits(world)
    assert world.contacts.points.size > 0
    for _ in range(2):
        world.reset()
        assert bits(world) == at_first
        assert world.time == 0.0 and world.num_steps == 0 and len(world.contacts.points) == 0
        world.step()
        assert bits(world) == first
        world.step(299)
        assert bits(world) == later


def test_commands_loads_and_pushes_of_the_start_come_back() -> None:
    def prepared() -> kido.World:
        world = pile()
        world.skeletons[-1].forces = np.arange(7.0)
        world.skeletons[1].body(0).add_external_force((0.0, 1.0, 0.0))
        world.push(world.skeletons[2].body(0), (3.0, 0.0, 0.0), 0.01)
        return world

    world, other = prepared(), prepared()
    other.step(20)
    world.step(3)
    world.reset()
    world.step(20)
    assert bits(world) == bits(other)


def test_what_sleeps_is_awake_and_totals_are_new() -> None:
    world = pile()
    world.remove_skeleton(world.skeletons[-1])
    world.sleeping = True
    world.collects_contact_events = True
    world.step(3000)
    assert all(s.is_asleep for s in world.skeletons[1:])
    assert world.totals.contacts > 0
    world.reset()
    assert not any(s.is_asleep for s in world.skeletons)
    assert world.totals.contacts == 0 and list(world.contact_events) == []
    world.step(500)
    assert any(event.kind is kido.ContactEventKind.BEGIN for event in world.contact_events)


def test_states_of_nodes_aspects_and_skins_go_back() -> None:
    skeleton = kido.Skeleton("soft")
    core = kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0])
    body = skeleton.add_soft_body("box", kido.SoftMesh.box((0.2, 0.2, 0.2)), inertia=core)
    skeleton.create(Temperature).state.kelvin = 300.0
    skeleton.positions = [0, 0, 0, 0, 0, 0.2]
    world = world_of(skeleton, gravity=(0, 0, -9.81))
    world.add_ground()
    world.step(200)
    moved = body.displacements
    assert np.abs(moved).max() > 1e-4
    skeleton.get(Temperature).state.kelvin = 10.0
    world.reset()
    assert skeleton.get(Temperature).state.kelvin == 300.0 and not body.displacements.any()
    world.step(200)
    np.testing.assert_array_equal(body.displacements, moved)


def test_another_state_may_be_set() -> None:
    world = pile()
    world.step(100)
    world.initial_state = world.snapshot()
    middle = bits(world)
    world.step(50)
    after = bits(world)
    world.reset()
    assert bits(world) == middle and world.num_steps == 100
    world.step(50)
    assert bits(world) == after
    world.initial_state = None  # what is before the next step
    world.step(7)
    world.reset()
    assert bits(world) == after


def test_it_is_the_state_before_the_step_whatever_was_asked_before() -> None:
    world = pile()
    arm = world.skeletons[-1]
    assert world.initial_state.num_steps == 0
    world.reset()
    arm.positions = np.full(7, 0.3)
    world.step(5)
    world.reset()
    np.testing.assert_array_equal(arm.positions, np.full(7, 0.3))
    np.testing.assert_array_equal(world.initial_state.positions[-7:], np.full(7, 0.3))


def test_what_comes_or_goes_begins_anew_and_flags_do_not() -> None:
    world = pile()
    start = bits(world)
    world.step(30)
    world.skeletons[1].self_collision = True  # compiled anew, of the same parts
    world.skeletons[1].body(0).gravity = False
    world.step(10)
    world.reset()
    assert bits(world) == start
    world.step(30)
    world.add_skeleton(free(BOX, 1.0, (2.0, 0.0, 1.0), name="late"))
    added = bits(world)
    world.step(30)
    world.reset()
    assert bits(world) == added and world.num_steps == 30


def test_a_state_that_was_set_is_not_replaced_by_another() -> None:
    world = pile()
    world.step(10)
    world.initial_state = world.snapshot()
    world.add_skeleton(free(BOX, 1.0, (2.0, 0.0, 1.0), name="late"))
    world.step(10)
    before = bits(world)
    with pytest.raises(kido.StateError, match=r"the snapshot is of another structure.*late"):
        world.reset()
    assert bits(world) == before


@pytest.mark.parametrize("value", [3, "start", {}, kido.World().snapshot()])
def test_only_a_snapshot_of_the_world_can_be_set(value) -> None:
    world = pile()
    with pytest.raises(kido.StateError, match="world 'world': initial_state"):
        world.initial_state = value
    world.step(3)
    world.reset()
    assert world.num_steps == 0


def test_time_steps_and_settings_stay() -> None:
    world = pile()
    world.step(10)
    world.time_step, world.gravity = 5e-4, (0.0, 0.0, -1.0)
    world.reset()
    assert world.time_step == 5e-4 and world.time == 0.0
    world.step(2)
    assert world.time == pytest.approx(1e-3)
    assert world.gravity[2] == -1.0


@pytest.mark.parametrize("way", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w)), lambda w: w.clone()])
def test_copies_have_the_start_of_their_own(way) -> None:
    world = pile()
    start = bits(world)
    world.step(50)
    twin = way(world)
    twin.step(5)
    twin.reset()
    assert bits(twin) == start
    assert world.num_steps == 50
    fresh = way(pile())  # that never stepped
    fresh.step(5)
    fresh.reset()
    assert bits(fresh) == start


def test_callbacks_stay() -> None:
    world, seen = pile(), []
    world.add_step_callback(lambda w: seen.append(w.num_steps))
    world.step(3)
    world.reset()
    world.step(2)
    assert seen == [1, 2, 3, 1, 2]


class Stubborn(kido.Aspect):
    @dataclass
    class State:
        handle: object = field(default_factory=lambda: (x for x in ()))  # cannot be copied


def test_a_state_that_cannot_be_copied_stops_reset_and_not_a_step() -> None:
    world = pile()
    world.skeletons[1].create(Stubborn)
    world.step(3)
    assert world.num_steps == 3
    with pytest.raises(kido.StateError, match=r"world 'world': initial_state: .* could not be copied: .*generator"):
        world.reset()
    assert world.num_steps == 3
