"""Aspects: attached to anything, at most one of a class, and with their carrier wherever it goes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import kido
import trees
from user_classes import Temperature


@dataclass
class OccupancyGrid:
    """The report's example: plain data that belongs to a shape."""

    cells: np.ndarray
    size: float = 0.1


def carriers(skeleton: kido.Skeleton) -> list[kido.Carrier]:
    body = skeleton.bodies[1]
    return [skeleton, body, body.parent_joint, body.shape(0), body.nodes(kido.EndEffector)[0]]


def make() -> kido.Skeleton:
    skeleton = trees.random_skeleton(1, 4)
    skeleton.bodies[1].add_shape(kido.Sphere(0.1))
    skeleton.bodies[1].create_node(kido.EndEffector, "hand")
    return skeleton


def test_anything_carries_at_most_one_aspect_of_a_class() -> None:
    world = kido.World()
    for carrier in (*carriers(make()), world):
        assert carrier.get(OccupancyGrid) is None and not carrier.has(OccupancyGrid) and list(carrier.aspects) == []
        grid = carrier.create(OccupancyGrid, np.eye(3), size=0.2)
        assert carrier.get(OccupancyGrid) is grid and grid.size == 0.2
        with pytest.raises(kido.ModelError, match="OccupancyGrid already"):
            carrier.create(OccupancyGrid, np.eye(2))
        other = carrier.set(OccupancyGrid(np.eye(2)))
        warm = carrier.create(Temperature)
        assert warm.state.kelvin == 293.15 and warm.carrier is carrier
        assert list(carrier.aspects) == [other, warm]
        assert carrier.erase(OccupancyGrid) is other and not carrier.has(OccupancyGrid)
        with pytest.raises(kido.NameLookupError, match=r"OccupancyGrid.*Temperature"):
            carrier.erase(OccupancyGrid)
        assert carrier.erase(Temperature) is warm
        with pytest.raises(kido.ModelError, match="attached to nothing"):
            warm.carrier  # noqa: B018


def test_wrong_aspects_are_refused() -> None:
    skeleton = make()
    body, other = skeleton.bodies[:2]
    warm = body.create(Temperature)
    for call in (
        lambda: other.set(warm),
        lambda: body.set(Temperature),
        lambda: body.set(None),
        lambda: body.create("Temperature"),  # type: ignore[arg-type]
        lambda: other.create(Temperature, state=300.0),
        lambda: other.create(kido.Aspect, properties=3),
    ):
        with pytest.raises(kido.ModelError):
            call()
    assert warm.carrier is body and not other.has(Temperature)
    replaced = body.set(Temperature(Temperature.State(10.0)))
    assert replaced.carrier is body and warm._carrier is None
    assert body.set(replaced) is replaced and replaced.carrier is body


def test_aspects_are_copied_with_their_carriers() -> None:
    skeleton = make()
    for k, carrier in enumerate(carriers(skeleton)):
        carrier.create(OccupancyGrid, np.full(2, k))
        carrier.create(Temperature).state.kelvin = 300.0 + k
    world = kido.World()
    world.create(Temperature).state.kelvin = 1.0
    world.add_skeleton(skeleton.clone())
    copies = [skeleton.clone(), copy.deepcopy(skeleton), pickle.loads(pickle.dumps(skeleton))]
    copies += [world.clone().skeletons[0], pickle.loads(pickle.dumps(world)).skeletons[0]]
    for twin in copies:
        for k, (carrier, own) in enumerate(zip(carriers(skeleton), carriers(twin), strict=True)):
            grid, warm = own.get(OccupancyGrid), own.get(Temperature)
            assert grid is not None and grid is not carrier.get(OccupancyGrid) and list(grid.cells) == [k, k]
            assert warm is not None and warm.carrier is own and warm.state.kelvin == 300.0 + k
            warm.state.kelvin = 0.0
    assert all(c.get(Temperature).state.kelvin >= 300.0 for c in carriers(skeleton))  # type: ignore[union-attr]
    twin_world = world.clone()
    assert twin_world.get(Temperature).carrier is twin_world  # type: ignore[union-attr]


def test_aspects_move_with_bodies_and_joints() -> None:
    skeleton, other = make(), make()
    body = skeleton.bodies[1]
    for carrier in carriers(skeleton)[1:]:
        carrier.create(Temperature)
    old = body.parent_joint
    body.move_to(other, kido.FreeJoint)
    assert body.has(Temperature) and body.nodes(kido.EndEffector)[0].has(Temperature)
    assert old.has(Temperature) and not body.parent_joint.has(Temperature)
    copied = body.copy_as("copy").bodies[0]
    assert copied.get(Temperature).carrier is copied  # type: ignore[union-attr]


# Versions and hooks --------------------------------------------------------------------------------------------


class Thermostat(kido.Aspect):
    """Tells what was set, and refuses what is below absolute zero."""

    @dataclass
    class State:
        kelvin: float = 293.15

    @dataclass
    class Properties:
        target: float = 300.0
        tags: tuple[str, ...] = ()

    def __init__(self, *parts):
        self.told: list[tuple[str, float]] = []
        super().__init__(*parts)

    def state_changed(self) -> None:
        if self.state.kelvin < 0.0:
            raise kido.StateError("below absolute zero")
        self.told.append(("state", self.state.kelvin))

    def properties_changed(self) -> None:
        if self.properties.target < 0.0:
            raise ValueError("below absolute zero")
        self.told.append(("properties", self.properties.target))


def test_setting_a_part_or_a_field_of_it_calls_the_hook() -> None:
    skeleton = make()
    for carrier in carriers(skeleton):
        aspect = carrier.create(Thermostat)
        assert aspect.told == [] and aspect.version == 0
        before = skeleton.version
        aspect.state.kelvin = 280.0
        aspect.state = Thermostat.State(285.0)
        assert aspect.told == [("state", 280.0), ("state", 285.0)]
        assert aspect.version == 0 and skeleton.version == before
        aspect.properties.target = 310.0
        assert aspect.version == 1 and skeleton.version == before + 1
        aspect.properties = Thermostat.Properties(320.0)
        aspect.properties.tags = ("warm",)
        assert aspect.told[2:] == [("properties", 310.0), ("properties", 320.0), ("properties", 320.0)]
        assert aspect.version == 3 and skeleton.version == before + 3


def test_a_hook_that_raises_refuses_the_value() -> None:
    skeleton = make()
    aspect = skeleton.create(Thermostat)
    state, properties, version = aspect.state, aspect.properties, skeleton.version
    for change, error in (
        (lambda: setattr(aspect.state, "kelvin", -1.0), kido.StateError),
        (lambda: setattr(aspect, "state", Thermostat.State(-2.0)), kido.StateError),
        (lambda: setattr(aspect.properties, "target", -1.0), ValueError),
        (lambda: setattr(aspect, "properties", Thermostat.Properties(-2.0)), ValueError),
        (lambda: setattr(aspect, "properties", 3), kido.ModelError),
        (lambda: setattr(aspect, "state", Thermostat.Properties()), kido.ModelError),
    ):
        with pytest.raises(error):
            change()
    assert aspect.state is state and state.kelvin == 293.15
    assert aspect.properties is properties and properties.target == 300.0
    assert aspect.told == [] and aspect.version == 0 and skeleton.version == version


def test_parts_tell_their_present_owner_alone() -> None:
    """What was replaced, and what copies have, is not the aspect's any more."""
    skeleton = make()
    aspect = skeleton.create(Thermostat)
    old = aspect.properties
    aspect.properties = Thermostat.Properties(305.0)
    old.target = 999.0
    assert aspect.told == [("properties", 305.0)] and aspect.version == 1
    for twin in (skeleton.clone(), copy.deepcopy(skeleton), pickle.loads(pickle.dumps(skeleton))):
        own = twin.get(Thermostat)
        assert own is not None and own.version == 1
        before = twin.version
        own.properties.target = 333.0
        assert own.told[-1] == ("properties", 333.0) and own.version == 2 and twin.version == before + 1
    assert aspect.told == [("properties", 305.0)] and aspect.properties.target == 305.0
    world = kido.World()
    world.create(Thermostat).properties.target = 302.0
    assert world.get(Thermostat).version == 1
    loose = Thermostat()
    loose.properties.target = 301.0  # attached to nothing
    assert loose.version == 1 and loose.told == [("properties", 301.0)]


def test_restoring_calls_hooks_and_is_refused_as_a_whole() -> None:
    skeleton = make()
    first, second = skeleton.create(Thermostat), skeleton.bodies[2].create(Thermostat)
    first.state.kelvin, first.properties.target = 250.0, 260.0
    state, properties = skeleton.saved_state, skeleton.properties
    first.state.kelvin, first.properties.target = 251.0, 261.0
    first.told.clear()
    skeleton.saved_state = state
    skeleton.properties = properties
    assert first.told == [("state", 250.0), ("properties", 260.0)]
    bad = skeleton.saved_state
    (label,) = [key for key in bad.items if "Thermostat" in key and key.startswith("body")]
    bad.items[label]["state"].kelvin = -3.0
    positions = skeleton.positions
    bad.items[f"joint {skeleton.joints[0].name!r}"]["positions"] = positions[: skeleton.joints[0].num_dofs] + 1.0
    with pytest.raises(kido.StateError, match="below absolute zero"):
        skeleton.saved_state = bad
    assert second.state.kelvin == 293.15 and np.array_equal(skeleton.positions, positions)


def test_nodes_and_supports_have_them_too() -> None:
    class Counter(kido.Node):
        @dataclass
        class Properties:
            step: int = 1

        def properties_changed(self) -> None:
            self.seen = self.properties.step

    skeleton = make()
    node = skeleton.bodies[2].create_node(Counter, "counter")
    before = skeleton.version
    node.properties.step = 5
    assert (node.seen, node.version, skeleton.version) == (5, 1, before + 1)
    support = skeleton.bodies[1].nodes(kido.EndEffector)[0].create(kido.Support)
    support.geometry = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    support.active = True
    assert support.version == 1
    node.remove()
    node.properties.step = 6
    assert node.seen == 6


def test_inner_classes_may_be_shared_frozen_or_slotted() -> None:
    @dataclass(frozen=True)
    class Fixed:
        size: float = 1.0

    @dataclass(slots=True)
    class Slotted:
        size: float = 1.0

    class Base(kido.Aspect):
        State = Slotted
        Properties = Fixed

        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def state_changed(self) -> None:
            self.count += 1

        properties_changed = state_changed

    class Derived(Base):
        State = Slotted

    body = make().bodies[0]
    for kind in (Base, Derived):
        aspect = body.create(kind)
        aspect.state.size = 2.0
        assert aspect.count == 1
        with pytest.raises(AttributeError):
            aspect.properties.size = 3.0
        aspect.properties = Fixed(4.0)
        assert aspect.count == 2 and aspect.version == 1
