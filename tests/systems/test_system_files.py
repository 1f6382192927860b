"""Assemblies from files: as from Python, and errors with path and line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import kido
from kido.systems import System, load_assembly
from system_models import Difference, Motor, SampledPD, Walk

MODELS = {"Motor": Motor, "Difference": Difference, "SampledPD": SampledPD, "Walk": Walk}
WHEEL = """\
parameters: {gain: 2.0, resistance: 1.0}
parts:
  motor: {model: Motor, R: $resistance, speed: 1e-3}
  control:
    model: Difference
    k: $gain
    rate: 1000/3
connect:
  - [motor.speed, control.b]
  - {from: control.y, to: motor.voltage}
expose: {speed: motor.speed, wanted: control.a}
"""
ROVER = """\
parts:
  left: {file: wheels/wheel.yaml, gain: 3.0}
  right: {file: wheels/wheel.yaml}
connect:
- {from: left.speed, to: right.wanted, delay: 100}
"""


def write(folder: Path, wheel: str = WHEEL, rover: str = ROVER) -> Path:
    (folder / "wheels").mkdir(exist_ok=True)
    (folder / "wheels" / "wheel.yaml").write_text(wheel)
    (folder / "rover.yaml").write_text(rover)
    return folder / "rover.yaml"


def test_a_file_makes_what_python_makes(tmp_path: Path) -> None:
    system = System()
    rover = system.add(load_assembly(write(tmp_path), MODELS))
    assert rover.name == "rover" and [m.path for m in system.models] == [
        "rover.left.control", "rover.left.motor", "rover.right.control", "rover.right.motor",
    ]  # fmt: skip
    assert system["rover.left.control"].k == 3.0 and system["rover.right.control"].k == 2.0
    assert system["rover.left.control"].period == pytest.approx(0.003, abs=0.0)
    assert system["rover.left.motor"].initial_value("speed") == 1e-3
    twin = System()
    for name, k in (("left", 3.0), ("right", 2.0)):
        motor = twin.add(Motor(f"motor_{name}", speed=1e-3))
        control = twin.add(Difference(f"control_{name}", k=k, rate=Fraction(1000, 3)))
        twin.connect(motor.speed, control.b)
        twin.connect(control.y, motor.voltage)
    twin.connect("motor_left.speed", "control_right.a", delay=100)
    for one in (system, twin):
        one.run(1.0)
    assert system["rover.right.motor.speed"].value == twin["motor_right.speed"].value


def test_json_is_read_too(tmp_path: Path) -> None:
    whole = {"parts": {"motor": {"model": "Motor", "R": 2.0}}, "expose": {"speed": "motor.speed"}}
    (tmp_path / "drive.json").write_text(json.dumps(whole, indent=1))
    drive = load_assembly(tmp_path / "drive.json", MODELS, "front")
    assert drive.name == "front" and drive["motor"].R == 2.0 and drive["speed"].path == "front.motor.speed"


def test_parameters_may_be_given(tmp_path: Path) -> None:
    write(tmp_path)
    wheel = load_assembly(tmp_path / "wheels" / "wheel.yaml", MODELS, "w", resistance=4.0)
    assert (wheel["motor"].R, wheel["control"].k) == (4.0, 2.0)
    with pytest.raises(kido.FileFormatError, match="no parameter 'R'; there are gain, resistance"):
        load_assembly(tmp_path / "wheels" / "wheel.yaml", MODELS, "w", R=4.0)


@pytest.mark.parametrize(
    "old, new, line, words",
    [
        ("model: Motor", "model: Engine", 3, "no model 'Engine'; there are Difference, Motor"),
        ("R: $resistance", "R: -1.0", 3, "parameter 'R': expected numbers from 0"),
        ("R: $resistance", "Q: 1.0", 3, "unexpected argument 'Q'"),
        ("$gain", "$gains", 6, "no parameter 'gains'; there are gain, resistance"),
        ("1000/3", "30", 4, "Fraction"),
        ("motor.speed, control.b", "motor.sped, control.b", 9, "sped"),
        ("motor.speed, control.b", "motor.torque, motor.voltage", 9, "units 'N m' and 'V' do not fit"),
        ("[motor.speed, control.b]", "motor.speed", 9, "connect"),
        ("from: control.y,", "form: control.y,", 10, "expected from and to"),
        ("wanted: control.a", "motor: control.a", 11, "'motor' is taken"),
        ("expose:", "exposed:", 11, "unknown key 'exposed'"),
        ("  control:", "  motor:", 4, "'motor' is there twice"),
        ("    model: Difference\n", "", 4, "expected one of model and file"),
        ("parts:", "parts: [", None, "no YAML"),
        ("model: Motor", "model: !!python/object/apply:os.system [ls]", 3, "part 'motor': expected a text"),
        (WHEEL, "", None, "is empty"),
        (WHEEL, "[1, 2]", 1, "expected names with values"),
        (WHEEL, "parameters: {gain: 2.0}", None, "no parts"),
    ],
)
def test_errors_have_path_and_line(tmp_path: Path, old: str, new: str, line: int | None, words: str) -> None:
    assert old in WHEEL
    path = write(tmp_path, WHEEL.replace(old, new))
    with pytest.raises(kido.FileFormatError, match=words) as caught:
        load_assembly(path, MODELS)
    assert caught.value.path == str((tmp_path / "wheels" / "wheel.yaml").resolve())
    assert caught.value.line == line or line is None


def test_files_stay_in_their_folder_and_end(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    write(tmp_path)
    for name, words in (
        ("../rover.yaml", "not in the folder"),
        ("/etc/passwd", "not in the folder"),
        ("a.yaml", "files"),
    ):
        (inner / "a.yaml").write_text(f"parts:\n  x: {{file: {name}}}\n")
        with pytest.raises(kido.FileFormatError, match=words):
            load_assembly(inner / "a.yaml", MODELS)
    with pytest.raises(kido.FileFormatError, match="cannot be read"):
        load_assembly(tmp_path / "nothing.yaml", MODELS)
    with pytest.raises(kido.ModelError, match="classes by name"):
        load_assembly(tmp_path / "rover.yaml", [Motor])  # type: ignore[arg-type]
