"""What a system says of itself, and runs with other numbers."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import kido
from kido.integrators import DormandPrince
from kido.systems import Assembly, Dispersion, System
from system_models import Ball, Difference, Gain, Mass, Motor, Walk


def rover() -> System:
    system = System("rover")
    wheel = system.add(Assembly("wheel"))
    motor, control = wheel.add(Motor()), wheel.add(Difference("control", rate=100))
    wheel.connect(motor.speed, control.b)
    wheel.connect(control.y, motor.voltage)
    system.add(Gain("meter", k=2.0))
    system.connect("wheel.motor.speed", "meter.u", delay=10)
    return system


def test_entries_are_all_that_there_is() -> None:
    system = rover()
    system.run(1.0)
    found = {e.path: e for e in system.entries()}
    assert list(found) == sorted(found, key=lambda path: path.rpartition(".")[0])
    speed, voltage, R = (found[f"wheel.motor.{name}"] for name in ("speed", "voltage", "R"))
    assert (speed.kind, speed.unit, speed.value, speed.rate) == (
        "state",
        "rad/s",
        system["wheel.motor.speed"].value,
        None,
    )
    assert (voltage.kind, voltage.source) == ("input", "wheel.control.y")
    assert (R.kind, R.value, R.unit) == ("parameter", 1.0, "ohm")
    assert found["wheel.control.y"].rate == 100.0
    assert len(found) == sum(len(m.declared) for m in system.models)
    unfinished = System()
    unfinished.add(Mass())
    assert [e.value for e in unfinished.entries(values=False) if e.kind != "parameter"] == [None] * 3


def test_the_graph_has_each_model_and_connection_once() -> None:
    text = rover().graph()
    nodes = re.findall(r'^ *"([\w.]+)" \[label="([^"]*)"', text, re.MULTILINE)
    assert [path for path, _ in nodes] == ["meter", "wheel.control", "wheel.motor"]
    assert dict(nodes)["wheel.control"] == r"control\nDifference\n100 Hz"
    edges = re.findall(r'"([\w.]+)" -> "([\w.]+)" \[label="([^"]*)"(.*)\];', text)
    assert edges == [
        ("wheel.motor", "meter", "speed -> u [rad/s], delay 10 Hz", ", style=dashed"),
        ("wheel.motor", "wheel.control", "speed -> b [rad/s]", ""),
        ("wheel.control", "wheel.motor", "y -> voltage [V]", ""),
    ]
    assert text.count("subgraph") == 1 and text.count("{") == text.count("}")


def test_a_picture_needs_no_other_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model is a box with its connected ports, each connection a curve; boxes of a frame lie in it, and apart."""
    monkeypatch.setenv("PATH", str(tmp_path))
    system = rover()
    system.add(Gain("alone", k=1.0))
    system.draw(tmp_path / "graph.svg")
    root = ElementTree.parse(tmp_path / "graph.svg").getroot()
    space = {"s": "http://www.w3.org/2000/svg"}

    def rectangle(element: Any) -> tuple[float, ...]:
        x, y, w, h = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
        return x, y, x + w, y + h

    groups = {g.find("s:title", space).text: g for g in root.findall("s:g", space)}
    boxes = {path: rectangle(g.find("s:rect", space)) for path, g in groups.items()}
    assert sorted(boxes) == ["alone", "meter", "wheel.control", "wheel.motor"]
    assert [t.text for t in groups["wheel.control"].findall("s:text", space)] == ["control", "Difference 100 Hz"]
    for one, two in itertools.combinations(boxes.values(), 2):
        assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
    (frame,) = (rectangle(r) for r in root.findall("s:rect", space) if "stroke-dasharray" in r.attrib)
    for path, (x, y, right, low) in boxes.items():
        inside = frame[0] <= x and right <= frame[2] and frame[1] <= y and low <= frame[3]
        assert inside == path.startswith("wheel.")
    curves = {p.find("s:title", space).text: p for p in root.findall("s:path", space)}
    assert set(curves) == {
        "wheel.motor.speed to meter.u [rad/s], delay 10 Hz",
        "wheel.motor.speed to wheel.control.b [rad/s]",
        "wheel.control.y to wheel.motor.voltage [V]",
    }
    ends = [float(x) for x in re.findall(r"-?[\d.]+", curves["wheel.control.y to wheel.motor.voltage [V]"].attrib["d"])]
    assert (ends[0], ends[-2]) == (boxes["wheel.control"][2], boxes["wheel.motor"][0])
    assert "stroke-dasharray" in next(p for words, p in curves.items() if "delay" in words).attrib
    # What is needed at once stands to the left of what needs it: the loop is cut before the motor's states.
    assert boxes["wheel.motor"][2] < boxes["wheel.control"][0] and boxes["wheel.control"][2] < boxes["meter"][0]


def test_graphs_are_drawn_by_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the program on the PATH: here one that gives back how it was called and what it was told."""
    system = rover()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(kido.ModelError, match="install graphviz"):
        system.draw(tmp_path / "graph.pdf")
    program = tmp_path / "dot"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1])\nprint(sys.stdin.read())\n")
    program.chmod(0o755)
    system.draw(tmp_path / "graph.pdf")
    assert (tmp_path / "graph.pdf").read_text() == f"-Tpdf\n{system.graph()}\n"
    with pytest.raises(kido.ModelError, match=r"\.svg, \.pdf, \.png"):
        system.draw(tmp_path / "graph.txt")
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no such thing')\n")
    with pytest.raises(kido.ModelError, match="no such thing"):
        system.draw(tmp_path / "other.png")
    assert not (tmp_path / "other.png").exists()


def test_costs_name_what_runs_and_change_nothing() -> None:
    def runs(costs: bool) -> float:
        system = rover()
        system.add(Walk())
        system.run(0.5)
        if costs:
            found = {c.path: c for c in system.costs()}
            assert set(found) == {"meter", "wheel.motor", "wheel.control", "walk"}
            assert found["wheel.motor"].operations > 0 == found["meter"].operations
            assert found["wheel.motor"].evaluation > 0.0 and found["wheel.control"].ticks > 0.0
        system.run(0.5)
        return system["wheel.motor.speed"].value

    assert runs(False) == runs(True)


def test_a_reset_system_is_a_new_one() -> None:
    system = System(integrator=DormandPrince(max_step=0.1))
    ball, walk = system.add(Ball()), system.add(Walk())
    found = []
    for _ in range(2):
        system.run(0.9)
        found.append((ball.height.value, ball.bounces.value, *walk.at.value))
        system.reset()
        assert system.time == 0.0 and ball.height.value == 1.0 and not walk.at.value.any()
    assert found[0] == found[1]


def test_dispersed_runs_can_be_had_again() -> None:
    """Speeds at rest K V / (b R + K^2) of motors with dispersed resistances; run 7 by itself as among others."""
    system = System()
    motor = system.add(Motor())
    spread = Dispersion({"motor.R": lambda rng: rng.normal(1.0, 0.1), "motor.speed": lambda rng: rng.uniform()}, seed=2)
    speeds, resistances = [], []
    for _ in spread.runs(system, 200):
        assert 0.0 < motor.speed.value < 1.0
        system.run(20.0)
        speeds.append(motor.speed.value)
        resistances.append(motor.R)
    assert speeds == pytest.approx(0.01 / (0.1 * np.array(resistances) + 0.01**2), rel=1e-9)
    assert abs(np.mean(resistances) - 1.0) < 4.0 * 0.1 / np.sqrt(200)
    assert spread.apply(system, 7)["motor.R"] == resistances[7]
    system.run(20.0)
    assert motor.speed.value == speeds[7]


def test_dispersions_that_cannot_be() -> None:
    system = System()
    motor = system.add(Motor())
    system.run(0.1)
    before = motor.speed.value
    for draws, words in (
        ({"motor.voltage": lambda rng: 1.0}, "motor.voltage"),
        ({"motor.x": lambda rng: 1.0}, "motor.x"),
        ({"motor": lambda rng: 1.0}, "motor"),
        ({"motor.R": lambda rng: -1.0}, "run 0: motor.R: expected numbers from 0"),
        ({"motor.L": lambda rng: 2.0, "motor.R": lambda rng: np.nan}, "finite"),
    ):
        with pytest.raises(kido.KidoError, match=words):
            Dispersion(draws).apply(system, 0)
    assert motor.speed.value == before and motor.L == 0.5
    for bad in ({"motor.R": 1.0}, None, {1: abs}):
        with pytest.raises(kido.ModelError, match="expected functions"):
            Dispersion(bad)  # type: ignore[arg-type]
    with pytest.raises(kido.ModelError, match="run"):
        Dispersion({}).values(-1)
