"""Configuration, state and properties of skeletons: taken, compared, written, put back exactly."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kido
import trees


class Temperature(kido.Aspect):
    @dataclass
    class State:
        kelvin: float = 293.15
        history: list[float] = field(default_factory=list)

    @dataclass
    class Properties:
        conductivity: float = 50.0
        table: np.ndarray = field(default_factory=lambda: np.arange(4.0).reshape(2, 2))


class Touchy(kido.Aspect):
    """Its state refuses some values when they are set."""

    def __init__(self) -> None:
        super().__init__()
        self._state = 0

    @property
    def state(self) -> int:  # type: ignore[override]
        return self._state

    @state.setter
    def state(self, value: int) -> None:
        if value < 0:
            raise RuntimeError("below zero")
        self._state = value


@dataclass
class Grid:
    cells: np.ndarray


def make(seed: int = 2, bodies: int = 12) -> kido.Skeleton:
    skeleton = trees.random_skeleton(seed, bodies)
    q, u, udot, tau = trees.random_state(skeleton, seed)
    skeleton.positions, skeleton.velocities, skeleton.accelerations, skeleton.forces = q, u, udot, tau
    body = skeleton.bodies[1]
    body.add_shape(kido.Box((1, 2, 3)), trees.random_transform(np.random.default_rng(0)), color=(1, 0, 0))
    body.add_external_force((1, 2, 3), (0.1, 0, 0))
    body.create(Temperature)
    body.create(Grid, np.eye(2))
    body.parent_joint.create(Temperature)
    foot = body.create_node(kido.EndEffector, "foot", [0, 0, 1])
    foot.create(kido.Support, [(0, 0, 0), (1, 0, 0)], active=True)
    body.create_node(kido.Marker, "dot", color=(0, 1, 0))
    return skeleton


def disturb_state(skeleton: kido.Skeleton) -> None:
    for name in ("positions", "velocities", "accelerations", "forces"):
        setattr(skeleton, name, getattr(skeleton, name) + 1.0)
    skeleton.clear_external_forces()
    skeleton.body("b2").add_external_torque((1, 0, 0))
    skeleton.body("b1").get(Temperature).state.kelvin = 0.0  # type: ignore[union-attr]
    skeleton.body("b1").get(Temperature).state.history.append(1.0)  # type: ignore[union-attr]
    skeleton.node("foot", kido.EndEffector).support.active = False  # type: ignore[union-attr]


def disturb_properties(skeleton: kido.Skeleton) -> None:
    rng = np.random.default_rng(5)
    for body in skeleton.bodies:
        body.inertia = trees.random_inertia(rng, 2.0)
        joint = body.parent_joint
        joint.transform_from_parent = trees.random_transform(rng)
        joint.damping, joint.position_lower_limit, joint.position_upper_limit = 3.0, 5.0, 6.0
        for key in ("axis", "axis1"):
            if key in joint.unique_properties:
                setattr(joint, key, rng.normal(size=3))
        if "order" in joint.unique_properties:
            joint.order = "zyx"  # type: ignore[attr-defined]
    body = skeleton.bodies[1]
    body.gravity, body.collidable = False, False
    shape = body.shapes[0]
    shape.color, shape.friction, shape.relative_transform = None, 0.1, None
    skeleton.node("foot", kido.EndEffector).relative_transform = None
    skeleton.node("dot", kido.Marker).color = (0, 0, 1)
    body.get(Temperature).properties.table[:] = 0.0  # type: ignore[union-attr]
    body.set(Grid(np.zeros(2)))
    skeleton.gravity = (0, 0, 0)
    skeleton.mobile = False


def physics(skeleton: kido.Skeleton) -> list[np.ndarray]:
    return [
        skeleton.positions, skeleton.velocities, skeleton.mass_matrix, skeleton.world_transforms,
        skeleton.inverse_dynamics(skeleton.positions, skeleton.velocities, skeleton.accelerations),
        np.array([b.external_wrench for b in skeleton.bodies]), skeleton.node("foot").world_transform,  # type: ignore[attr-defined]
    ]  # fmt: skip


WAYS = {
    "object": lambda s: s,
    "dict": lambda s: type(s).from_dict(s.to_dict()),
    "json": lambda s: type(s).from_json(s.to_json()),
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),
}


@pytest.mark.parametrize("way", WAYS)
def test_state_is_restored_bit_for_bit(way: str) -> None:
    skeleton = make()
    before, saved = physics(skeleton), WAYS[way](skeleton.saved_state)
    assert saved == skeleton.saved_state and saved.differences(skeleton.saved_state) == []
    disturb_state(skeleton)
    assert saved != skeleton.saved_state
    text = "\n".join(saved.differences(skeleton.saved_state))
    for part in ("body 'b1': external_forces", "joint 'j3': positions", "Temperature", "Support"):
        assert part in text
    skeleton.saved_state = saved
    assert saved == skeleton.saved_state
    for a, b in zip(before, physics(skeleton), strict=True):
        np.testing.assert_array_equal(a, b)
    warm = skeleton.bodies[1].get(Temperature)
    assert warm is not None and warm.state == Temperature.State() and warm.carrier is skeleton.bodies[1]
    warm.state.history.append(2.0)  # the snapshot keeps its own
    assert skeleton.saved_state != saved


@pytest.mark.parametrize("way", WAYS)
def test_properties_are_restored_bit_for_bit(way: str) -> None:
    skeleton = make()
    before, saved = physics(skeleton), WAYS[way](skeleton.properties)
    state = skeleton.saved_state
    assert saved == skeleton.properties
    disturb_properties(skeleton)
    text = "\n".join(saved.differences(skeleton.properties))
    for part in ("inertia", "damping", "transform_from_parent", "gravity", "mobile", "color", "friction", "Grid",
                 "position_upper_limit", "relative_transform", "Temperature", "collidable"):  # fmt: skip
        assert part in text, part
    assert skeleton.saved_state == state
    skeleton.properties = saved
    assert saved.differences(skeleton.properties) == []
    for a, b in zip(before, physics(skeleton), strict=True):
        np.testing.assert_array_equal(a, b)
    assert skeleton.bodies[1].shapes[0].color == (1.0, 0.0, 0.0)
    np.testing.assert_array_equal(skeleton.bodies[1].get(Grid).cells, np.eye(2))  # type: ignore[union-attr]


def test_equal_skeletons_take_each_others_snapshots() -> None:
    skeleton = make()
    twin = skeleton.clone()
    disturb_state(twin)
    disturb_properties(twin)
    twin.properties, twin.saved_state = skeleton.properties, skeleton.saved_state
    assert twin.saved_state == skeleton.saved_state and twin.properties == skeleton.properties
    for a, b in zip(physics(skeleton), physics(twin), strict=True):
        np.testing.assert_array_equal(a, b)


def test_states_in_a_world() -> None:
    world = kido.World()
    skeleton = world.add_skeleton(make())
    world.add_skeleton(make(3), "other")
    world.step(2)
    saved, mine = skeleton.saved_state, skeleton.positions
    world.step(3)
    skeleton.saved_state = saved
    np.testing.assert_array_equal(skeleton.positions, mine)
    world.step(1)
    properties = skeleton.properties
    skeleton.properties = properties
    world.step(1)
    outside = world.remove_skeleton(skeleton)
    outside.properties = properties
    outside.gravity = (0, 0, 0)
    world.add_skeleton(outside)
    with_other_gravity = kido.SavedProperties.from_json(properties.to_json())
    with_other_gravity.items["skeleton"]["gravity"] = np.zeros(3)
    with pytest.raises(kido.ModelError, match="set the world's gravity"):
        outside.properties = with_other_gravity


def test_states_of_worlds_have_those_of_nodes_and_aspects() -> None:
    world = kido.World()
    skeleton = world.add_skeleton(make())
    world.step(2)
    saved = world.snapshot()
    warm = skeleton.body("b1").get(Temperature)
    assert warm is not None
    warm.state.kelvin = 1.0
    skeleton.node("foot", kido.EndEffector).support.active = False  # type: ignore[union-attr]
    later = skeleton.body("b2").create(Temperature)
    later.state.kelvin = 2.0
    world.step(2)
    world.restore(saved)
    assert warm.state.kelvin == 293.15 and skeleton.node("foot", kido.EndEffector).support.active  # type: ignore[union-attr]
    assert later.state.kelvin == 2.0
    warm.state.history.append(1.0)
    world.restore(saved)
    assert warm.state.history == []


def test_a_restored_state_does_not_disturb_the_world() -> None:
    world, other = kido.World(), kido.World()
    for w in (world, other):
        w.add_ground(-2.0)
        box = kido.Skeleton("box")
        box.add_body("box", inertia=kido.Inertia.from_diagonal(1, (1, 1, 1))).add_shape(kido.Box((1, 1, 1)))
        w.add_skeleton(box)
        w.step(900)
    box = world.skeleton("box")
    box.saved_state = box.saved_state  # what the solver remembers of the contacts stays
    world.step(50)
    other.step(50)
    np.testing.assert_array_equal(box.positions, other.skeleton("box").positions)
    np.testing.assert_array_equal(box.velocities, other.skeleton("box").velocities)


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    skeleton = make()
    other = make(bodies=11)
    state, properties, configuration = skeleton.saved_state, skeleton.properties, skeleton.configuration
    damaged = json.loads(state.to_json())
    damaged["items"]["joint 'j2'"]["positions"]["items"][:1] = [float("nan")]
    strange = json.loads(state.to_json())
    strange["items"]["body 'b1'"]["external_forces"] = 7
    changed = make()
    changed.bodies[2].change_parent_joint_type(kido.WeldJoint)
    unknown = json.loads(properties.to_json())
    unknown["items"]["body 'b1'"]["inertia"]["class"] = "os:system"
    for name, value in (
        ("saved_state", other.saved_state), ("saved_state", properties), ("saved_state", None),
        ("saved_state", kido.SavedState.from_dict(damaged)), ("saved_state", kido.SavedState.from_dict(strange)),
        ("saved_state", changed.saved_state),
        ("properties", other.properties), ("properties", changed.properties), ("properties", {}),
        ("properties", kido.SavedProperties.from_dict(unknown)),
        ("configuration", kido.Configuration(["nobody"], positions=[1.0])), ("configuration", state),
    ):  # fmt: skip
        with pytest.raises(kido.KidoError):
            setattr(skeleton, name, value)
    touchy = skeleton.create(Touchy)
    good = skeleton.saved_state
    bad = skeleton.saved_state
    bad.items[next(k for k in bad.items if "Touchy" in k)]["state"] = -1
    bad.items["joint 'j2'"]["velocities"] += 1.0
    with pytest.raises(kido.StateError, match="below zero"):
        skeleton.saved_state = bad
    assert touchy.state == 0 and skeleton.saved_state == good
    skeleton.erase(Touchy)
    assert (
        skeleton.saved_state == state and skeleton.properties == properties and skeleton.configuration == configuration
    )
    for text in ("{", "[]", '{"kind": "SavedProperties", "items": {}}'):
        with pytest.raises(kido.StateError):
            kido.SavedState.from_json(text)
    skeleton.create(Temperature).state.history = object()  # type: ignore[assignment]
    with pytest.raises(kido.StateError, match="history: object cannot be written"):
        skeleton.saved_state.to_dict()


def test_configurations_go_by_name() -> None:
    skeleton = make()
    names = [d.name for d in skeleton.dofs]
    some = kido.Configuration.of(skeleton, names[3:6], "positions")
    assert some.dofs == tuple(names[3:6]) and list(some.parts) == ["positions"]
    assert some["positions", names[4]] == skeleton.positions[4]
    twin = skeleton.clone()
    twin.bodies[1].move_to(twin)  # other order, same names
    disturb_state(twin)
    before = twin.velocities
    some.restore(twin)
    assert [twin.dof(n).position for n in names[3:6]] == [skeleton.dof(n).position for n in names[3:6]]
    np.testing.assert_array_equal(twin.velocities, before)
    whole = skeleton.configuration
    twin.configuration = whole
    assert twin.configuration == whole == kido.Configuration.from_json(whole.to_json())
    assert pickle.loads(pickle.dumps(whole)) == whole
    twin.dof(names[0]).velocity = 9.0
    assert whole.differences(twin.configuration) == [
        f"dof {names[0]!r}: velocities: {skeleton.velocities[0].item()!r} != 9.0"
    ]
    assert kido.Configuration(["a"], positions=[1]).differences(kido.Configuration(["b"], forces=[1])) == [
        "positions: only in the first", "forces: only in the second",
        "dof 'a': only in the first", "dof 'b': only in the second",
    ]  # fmt: skip
    for wrong in (
        lambda: kido.Configuration(["a", "a"]),
        lambda: kido.Configuration(["a"], positions=[1, 2]),
        lambda: kido.Configuration(["a"], positions=[np.inf]),
        lambda: kido.Configuration(["a"], colours=[1]),
        lambda: kido.Configuration.of(skeleton, "nobody"),
        lambda: kido.Configuration.of(skeleton, parts="colours"),
        lambda: kido.Configuration.from_dict({"positions": [1]}),
        lambda: kido.Configuration.from_json("{"),
        lambda: some["forces", names[4]],
        lambda: some["positions", "nobody"],
    ):
        with pytest.raises(kido.KidoError):
            wrong()


@settings(max_examples=15)
@given(trees.skeletons(most=8), st.integers(0, 100))
def test_any_skeleton_round_trips(skeleton: kido.Skeleton, seed: int) -> None:
    skeleton.positions, skeleton.velocities = trees.random_state(skeleton, seed)[:2]
    state, properties = skeleton.saved_state, skeleton.properties
    twin = skeleton.clone()
    twin.velocities = np.zeros(twin.num_dofs)
    twin.saved_state = kido.SavedState.from_json(state.to_json())
    assert kido.SavedState.from_json(state.to_json()) == state == twin.saved_state
    again = kido.SavedProperties.from_json(properties.to_json())
    assert again == properties
    twin.properties = again
    np.testing.assert_array_equal(twin.world_transforms, skeleton.world_transforms)
