"""Nodes and aspects of users' classes in recordings: they come back as they were, or are refused by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.recording import RecordingError
from scenes import free, world
from user_classes import Temperature


class Imu(kido.FrameNode):
    """A frame with state and properties, and an attribute that its own constructor asks for."""

    @dataclass
    class State:
        bias: np.ndarray = field(default_factory=lambda: np.zeros(3))

    @dataclass
    class Properties:
        noise: float = 0.0

    def __init__(self, body: Any, name: str, transform: Any, rate: float):
        super().__init__(body, name, transform)
        self.rate = rate
        self._history = [1, 2.5, "x"]


class Battery(kido.Node):
    @dataclass
    class State:
        charge: float = 1.0


class Team(kido.Aspect):
    """An aspect without state: attributes alone."""

    def __init__(self, colors: tuple[str, ...]):
        super().__init__()
        self.colors = colors


@dataclass
class Label:
    text: str = ""


def furnished() -> kido.World:
    w = world(free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0, 0, 0.3), name="box"))
    box = w.skeleton("box")
    body = box.body(0)
    body.create_node(kido.Marker, "first", (0, 0, 0.1))
    imu = body.create_node(Imu, "imu", (0.01, 0.02, 0.03), rate=200.0)
    imu.state.bias = np.array([0.1, 0.2, 0.3])
    imu.properties.noise = 1e-3
    imu.create(Temperature).state.kelvin = 301.0
    body.create_node(Battery, "battery").state.charge = 0.5
    body.create_node(kido.EndEffector, "tip").create(kido.Support, [(0, 0, 0)], True)
    box.create(Team, ("red", "blue"))
    body.create(Temperature).state.kelvin = 250.0
    body.parent_joint.create(Temperature).properties.tags = ["a"]
    body.shapes[0].set(Label("hull"))
    w.set(Label("all"))
    return w


def test_they_come_back_with_their_states(tmp_path: Path) -> None:
    w, path = furnished(), tmp_path / "run.h5"
    battery = w.skeleton("box").node("battery")
    kelvins = [250.0 + k for k in range(21)]

    def drain(w: kido.World) -> None:
        battery.state.charge *= 0.9
        w.skeleton("box").body(0).get(Temperature).state.kelvin += 1.0

    w.add_step_callback(drain)
    with kido.Recorder(w, path, checkpoint_every=10):
        w.step(20)
    recording = kido.Recording.open(path)
    for frame in (0, 10, -1):
        again = recording.resume(frame).skeleton("box")
        body = again.body(0)
        assert [(type(n), n.name) for n in body.nodes()] == [
            (type(n), n.name) for n in w.skeleton("box").body(0).nodes()
        ]
        imu = again.node("imu")
        assert imu.rate == 200.0 and imu._history == [1, 2.5, "x"] and imu.properties.noise == 1e-3
        np.testing.assert_array_equal(imu.state.bias, [0.1, 0.2, 0.3])
        np.testing.assert_array_equal(imu.relative_transform, w.skeleton("box").node("imu").relative_transform)
        assert imu.get(Temperature).carrier is imu and imu.get(Temperature).state.kelvin == 301.0
        assert again.get(Team).colors == ("red", "blue")
        assert body.parent_joint.get(Temperature).properties.tags == ["a"]
        assert body.shapes[0].get(Label) == Label("hull")
        assert again.node("tip").support.active
        # States are kept with each complete state: what a callback changed is as it was then.
        done = recording.steps[frame]
        assert body.get(Temperature).state.kelvin == kelvins[done]
        assert again.node("battery").state.charge == pytest.approx(0.5 * 0.9**done, rel=1e-12)
    assert recording.world().get(Label) == Label("all")
    np.testing.assert_array_equal(imu.world_transform, w.skeleton("box").node("imu").world_transform)


def test_without_them_on_request_and_to_look_at(tmp_path: Path) -> None:
    with kido.Recorder(furnished(), tmp_path / "run.h5") as recorder:
        recorder.world.step(5)
    recording = kido.Recording.open(tmp_path / "run.h5")
    for w in (recording.resume(users=False), recording.world(users=False), recording.display_world()):
        body = w.skeleton("box").body(0)
        assert [n.name for n in body.nodes() if not isinstance(n, kido.ShapeNode)] == ["first", "tip"]
        assert not body.aspects and not w.aspects
    assert len(list(recording.play())) == 6


class Odd(kido.Node):
    pass


def with_attribute(node: Any, value: Any) -> None:
    node.thing = value


@pytest.mark.parametrize(
    ("furnish", "message"),
    [
        (
            lambda b: with_attribute(b.create_node(Odd, "odd"), object()),
            r"node 'odd' of class test_recording_users:Odd: attributes\['thing'\]: object cannot be written as plain",
        ),
        (
            lambda b: with_attribute(b.create_node(Odd, "odd"), b),
            r"node 'odd' of class test_recording_users:Odd: attributes\['thing'\]: BodyNode cannot be written",
        ),
        (lambda b: b.set(object()), r"body 'body': aspect of class builtins:object: it is neither a kido.Aspect nor a"),
        (
            lambda b: with_attribute(b.create(Temperature), {1: 2}),
            r"body 'body': aspect of class user_classes:Temperature: attributes\['thing'\]: dict cannot be written",
        ),
    ],
)
def test_what_is_no_plain_data_is_refused_by_name(tmp_path: Path, furnish: Any, message: str) -> None:
    w = world(free(kido.Box((0.2, 0.2, 0.2)), 1.0, (0, 0, 0.3), name="box"))
    furnish(w.skeleton("box").body(0))
    with kido.Recorder(w, tmp_path / "run.h5"):
        w.step(3)
    recording = kido.Recording.open(tmp_path / "run.h5")
    for act in (recording.resume, recording.world):
        with pytest.raises(RecordingError, match=message + r".*; it cannot be restored; users=False leaves out"):
            act()
    recording.resume(users=False).step(2)


def test_a_state_that_is_none_any_more_is_refused_by_name(tmp_path: Path) -> None:
    w = furnished()
    with kido.Recorder(w, tmp_path / "run.h5", checkpoint_every=5):
        w.step(7)
        w.skeleton("box").node("battery").state.charge = object()
        w.step(5)
    recording = kido.Recording.open(tmp_path / "run.h5")
    assert recording.resume(2).skeleton("box").node("battery").state.charge == 0.5
    with pytest.raises(RecordingError, match=r"node 'battery': state.charge: object cannot be written as plain data"):
        recording.resume()
    assert recording.resume(users=False).num_steps == 12


@pytest.mark.parametrize(("kind", "what"), [(Imu, "node 'imu'"), (Team, "skeleton: aspect")])
def test_classes_that_are_not_defined_are_refused_by_name(tmp_path: Path, kind: type, what: str) -> None:
    with kido.Recorder(furnished(), tmp_path / "run.h5") as recorder:
        recorder.world.step(1)
    recording = kido.Recording.open(tmp_path / "run.h5")
    name, kind.__qualname__ = kind.__qualname__, "Elsewhere"
    try:
        with pytest.raises(RecordingError, match=f"{what} is of the user's class test_.*, which is not defined here"):
            recording.resume()
        recording.resume(users=False)
    finally:
        kind.__qualname__ = name


def test_recordings_of_earlier_versions_have_none() -> None:
    from kido.recording.world_description import world_from_dict, world_to_dict

    data = world_to_dict(furnished())
    del data["users"]
    for skeleton in data["skeletons"]:
        del skeleton["users"]
    assert not world_from_dict(data).aspects
