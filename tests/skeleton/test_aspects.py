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
        assert carrier.get(OccupancyGrid) is None and not carrier.has(OccupancyGrid) and carrier.aspects == []
        grid = carrier.create(OccupancyGrid, np.eye(3), size=0.2)
        assert carrier.get(OccupancyGrid) is grid and grid.size == 0.2
        with pytest.raises(kido.ModelError, match="OccupancyGrid already"):
            carrier.create(OccupancyGrid, np.eye(2))
        other = carrier.set(OccupancyGrid(np.eye(2)))
        warm = carrier.create(Temperature)
        assert warm.state.kelvin == 293.15 and warm.carrier is carrier
        assert carrier.aspects == [other, warm]
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
