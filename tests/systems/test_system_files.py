"""Assemblies from files: as from Python, and errors with path and line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml
from jsonschema import Draft202012Validator
from scipy.spatial.transform import Rotation

import kido
from kido.shapes.primitives import PRIMITIVES
from kido.skeleton.joints.types import JOINT_TYPES
from kido.systems import System, files, load_assembly
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


# Bodies --------------------------------------------------------------------------------------------------------------

DRIVEN = """\
parameters: {place: [0.2, 0.0, 0.0], mass: 2.0}
bodies:
  post: {xyz: $place, mass: 0.5, com: [0, 0, 0.1], moment: [0.01, 0.01, 0.02]}
  wheel:
    parent: post
    joint: {type: revolute, axis: [0, 1, 0], damping: 0.3}
    xyz: [0, 0.1, 0]
    rpy: [0.1, 0.2, 0.3]
    mass: $mass
    shapes:
      - {type: cylinder, radius: 0.1, height: 0.05, rpy: [1.5707963267948966, 0, 0], friction: 0.7}
parts:
  axle: {joint: wheel}
  rim: {body: wheel, offset: [0, 0, -0.1]}
  own: {mass: post}
  motor: {model: Motor}
  base: {body: base}
  held: {model: Held, joint: {joint: slide}, bodies: [{body: wheel}, {body: base}]}
expose: {speed: axle.velocity}
"""


class Held(kido.systems.Model):
    """Takes joints and bodies as arguments."""

    def __init__(self, name: str, joint: object, bodies: object):
        super().__init__(name)
        self.joint, self.bodies = joint, bodies


def cart() -> kido.Skeleton:
    skeleton = kido.Skeleton("cart")
    slide = kido.PrismaticJoint("slide", axis=(1, 0, 0))
    skeleton.add_body("base", slide, inertia=kido.Inertia.from_shape(kido.Box((0.4, 0.2, 0.1)), 5.0))
    return skeleton


def test_bodies_hang_where_the_file_says(tmp_path: Path) -> None:
    """Beside the same made in Python; twice on one body, each called after its assembly."""
    (tmp_path / "driven.yaml").write_text(DRIVEN)
    models, one = MODELS | {"Held": Held}, cart()
    front = load_assembly(tmp_path / "driven.yaml", models, "front", on=one.body("base"))
    rear = load_assembly(tmp_path / "driven.yaml", models, "rear", on=one.body("base"), place=[-0.2, 0, 0], mass=3.0)
    two = cart()
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_euler("xyz", (0.1, 0.2, 0.3)).as_matrix()
    turn[:3, 3] = (0, 0.1, 0)
    upright = np.eye(4)
    upright[:3, :3] = Rotation.from_euler("x", 0.5 * np.pi).as_matrix()
    for name, x, mass in (("front", 0.2, 2.0), ("rear", -0.2, 3.0)):
        light = kido.Inertia.from_diagonal(0.5, (0.01, 0.01, 0.02), (0, 0, 0.1))
        post = two.add_body(f"{name}_post", kido.WeldJoint(transform_from_parent=[x, 0, 0]), "base", light)
        axle = kido.RevoluteJoint(f"{name}_wheel", axis=(0, 1, 0), damping=0.3, transform_from_parent=turn)
        tyre = kido.Cylinder(0.1, 0.05)
        two.add_body(f"{name}_wheel", axle, post, kido.Inertia.from_shape(tyre, mass, transform=upright))
    assert [b.name for b in one.bodies] == [b.name for b in two.bodies]
    one.positions = two.positions = [0.1, 0.2, 0.3]
    one.velocities = two.velocities = [1.0, 2.0, 3.0]
    assert one.mass_matrix == pytest.approx(two.mass_matrix, abs=1e-15)
    assert one.accelerations == pytest.approx(two.accelerations, abs=1e-15)
    assert one.body("rear_wheel").shapes[0].friction == 0.7
    assert front.bodies == (one.body("front_post"), one.body("front_wheel"))
    assert front["axle"].dof is one.dof("front_wheel") and rear["rim"].body is one.body("rear_wheel")
    assert front["own"].body is one.body("front_post") and front["base"].body is one.body("base")
    assert front["held"].joint is one.dof("slide") and front["held"].bodies == [front["rim"].body, one.body("base")]
    assert front["speed"].path == "front.axle.velocity"


def test_assemblies_with_bodies_come_and_go_while_a_world_runs(tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text(
        "parts:\n  left: {file: driven.yaml, parent: base}\n"
        "  right: {file: driven.yaml, parent: base, place: [0.5, 0, 0]}\n"
    )
    (tmp_path / "driven.yaml").write_text(DRIVEN.replace("  own: {mass: post}\n", ""))
    world = kido.World(time_step=1e-3, gravity=(0, 0, 0))
    skeleton = world.add_skeleton(cart())
    system = System(world=world)
    models = MODELS | {"Held": Held}
    system.add(load_assembly(tmp_path / "pair.yaml", models, "pair", on=skeleton))
    skeleton.velocities = [1.0, 3.0, 4.0]
    system.run(0.1)
    assert system["pair.left.speed"].value == skeleton.dof("pair_left_wheel").velocity != 0.0
    momentum, before = skeleton.momentum[3], system["pair.right.speed"].value
    gone = system["pair"].remove("left")
    assert [b.name for b in skeleton.bodies] == ["base", "pair_right_post", "pair_right_wheel"]
    assert gone.bodies[0].skeleton is not skeleton and system["pair"].bodies == system["pair.right"].bodies
    assert skeleton.momentum[3] == pytest.approx(momentum * skeleton.mass / (skeleton.mass + 2.5), rel=1e-12)
    assert system["pair.right.speed"].value == before
    system.run(0.1)
    with pytest.raises(kido.ModelError, match="of no skeleton in world"):
        system.add(gone)
    system.add(load_assembly(tmp_path / "pair.yaml", models, "spare", on=skeleton))
    assert [b.name for b in skeleton.bodies][3:] == [
        f"spare_{k}_{b}" for k in ("left", "right") for b in ("post", "wheel")
    ]
    system.run(0.1)
    assert system["spare.left.speed"].value == 0.0 != system["pair.right.speed"].value


def test_an_assembly_takes_the_place_of_another(tmp_path: Path) -> None:
    """Connections go on, to ports of the same path or of the name under which they are exposed; states are its own."""
    system = System()
    (tmp_path / "a.yaml").write_text("parts: {motor: {model: Motor}}\nexpose: {speed: motor.speed}\n")
    (tmp_path / "b.yaml").write_text("parts: {engine: {model: Motor, speed: 0.5}}\nexpose: {speed: engine.speed}\n")
    drive = system.add(load_assembly(tmp_path / "a.yaml", MODELS, "drive"))
    seen = system.add(Difference())
    system.connect(drive["speed"], seen.b)
    system.run(0.5)
    other = load_assembly(tmp_path / "b.yaml", MODELS, "drive")
    assert system.replace("drive", other) is other and drive.parent is None
    assert [c.source.path for c in system.connections] == ["drive.engine.speed"]
    assert system["drive.speed"].value == 0.5
    (tmp_path / "c.yaml").write_text("parts: {engine: {model: Walk}}\n")
    wrong = load_assembly(tmp_path / "c.yaml", MODELS, "drive")
    with pytest.raises(kido.ModelError, match="has no port 'engine\\.speed', which is connected"):
        system.replace("drive", wrong)
    assert system["drive"] is other and wrong.parent is None
    with pytest.raises(kido.ModelError, match="expected a part in it of the same kind"):
        system.replace("drive", Motor("drive"))
    system.run(0.1)


@pytest.mark.parametrize(
    "old, new, line, words",
    [
        ("type: revolute", "type: hinge", 4, "joint: no type 'hinge'; there are weld, revolute"),
        (
            "{type: revolute, axis: [0, 1, 0], damping: 0.3}",
            "revolute",
            4,
            "expected names with values, one of them type",
        ),
        ("damping", "dampng", 4, "dampng"),
        ("axis: [0, 1, 0]", "axis: [0, 0, 0]", 4, "axis"),
        ("type: cylinder", "type: tube", 4, "shape 0: no type 'tube'; there are"),
        ("height: 0.05", "length: 0.05", 4, "length"),
        ("friction: 0.7", "friction: -0.7", 4, "friction"),
        ("mass: $mass", "mass: -1.0", 4, "mass"),
        ("mass: $mass", "weight: 1.0", 4, "unknown key 'weight'; expected parent, joint"),
        ("mass: 0.5, com: [0, 0, 0.1], moment: [0.01, 0.01, 0.02]", "mass: 0.5", 3, "expected shapes"),
        ("mass: 0.5, com:", "com:", 3, "com without a mass"),
        ("parent: post", "parent: posts", 5, "posts"),
        ("rpy: [0.1, 0.2, 0.3]", "rpy: [0.1, 0.2]", 4, "rpy"),
        ("axle: {joint: wheel}", "axle: {joint: wheels}", 13, "wheels"),
        ("axle: {joint: wheel}", "axle: {joint: post}", 13, "a coordinate of a skeleton, or a joint that has one"),
        ("offset: [0, 0, -0.1]", "offset: [0, 0]", 14, "offset"),
        ("model: Motor", "model: Engine", 16, "no model 'Engine'"),
        ("{joint: slide}", "{dof: slide}", 18, r"expected a value, or \{joint: NAME\} or \{body: NAME\}, got dof"),
        ("{body: base}]", "{body: basis}]", 18, "basis"),
        ("speed: axle", "speed: axel", 19, "axel"),
    ],
)
def test_a_file_that_is_refused_leaves_no_body(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    assert old in DRIVEN
    (tmp_path / "driven.yaml").write_text(DRIVEN.replace(old, new))
    skeleton = cart()
    with pytest.raises(kido.FileFormatError, match=words) as caught:
        load_assembly(tmp_path / "driven.yaml", MODELS | {"Held": Held}, "front", on=skeleton.body("base"))
    assert caught.value.line == line
    assert [b.name for b in skeleton.bodies] == ["base"] and not skeleton.body("base").shapes


def test_bodies_need_something_to_hang_on(tmp_path: Path) -> None:
    (tmp_path / "driven.yaml").write_text(DRIVEN)
    with pytest.raises(kido.FileFormatError, match=r"hangs on no skeleton: load_assembly\(..., on=...\)") as caught:
        load_assembly(tmp_path / "driven.yaml", MODELS | {"Held": Held})
    assert caught.value.line == 3
    (tmp_path / "port.yaml").write_text("parts:\n  axle: {joint: wheel}\n")
    with pytest.raises(kido.FileFormatError, match="no joint 'wheel'; the assembly hangs on no skeleton"):
        load_assembly(tmp_path / "port.yaml", MODELS)
    with pytest.raises(kido.ModelError, match="expected a body or a skeleton"):
        load_assembly(tmp_path / "driven.yaml", MODELS, on="base")  # type: ignore[arg-type]
    skeleton = cart()
    assembly = load_assembly(tmp_path / "driven.yaml", MODELS | {"Held": Held}, "front", on=skeleton)
    assert skeleton.body("front_post").parent is None  # a root of the skeleton
    with pytest.raises(kido.ModelError, match="not its own yet"):
        assembly.add_body(skeleton.body("front_post"))


# Schema --------------------------------------------------------------------------------------------------------------

SCHEMA = json.loads(files.SCHEMA.read_text())


def conforms(text: str) -> bool:
    return Draft202012Validator(SCHEMA).is_valid(yaml.safe_load(text))


def test_the_schema_takes_what_is_read_and_refuses_what_is_not() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for text in (
        WHEEL,
        ROVER,
        DRIVEN,
        *(kido.models.assembly_path(n).read_text() for n in kido.models.assembly_names()),
    ):
        assert conforms(text)
    for old, new in (
        ("type: revolute", "type: hinge"), ("type: cylinder", "type: tube"),
        ("parent: post", "under: post"), ("rpy: [0.1, 0.2, 0.3]", "rpy: [0.1, 0.2]"),
        ("model: Motor", "file: x, model: y"),
        ("joint: wheel}", "}"), ("{joint: slide}", "{dof: slide}"), ("axle.velocity", "axle velocity"),
        ("expose", "exposed"), ("parts", "part"),
    ):  # fmt: skip
        assert old in DRIVEN and not conforms(DRIVEN.replace(old, new, 1)), old
    for old, new in (("from: control.y,", "form: control.y,"), ("[motor.speed, control.b]", "motor.speed")):
        assert not conforms(WHEEL.replace(old, new))
    joints = SCHEMA["$defs"]["body"]["properties"]["joint"]["properties"]["type"]["enum"]
    assert {f"{name.title()}Joint" for name in joints} == set(JOINT_TYPES) - {"CompoundJoint"}
    assert SCHEMA["$defs"]["shape"]["properties"]["type"]["enum"] == list(PRIMITIVES)


@pytest.mark.parametrize("name", kido.models.assembly_names())
def test_files_of_ours_make_assemblies(name: str) -> None:
    skeleton = {"rover": kido.models.rover, "spacecraft": kido.models.spacecraft}.get(name)
    on = cart().body("base") if skeleton is None else skeleton().skeleton
    made = kido.models.assembly(name, on, "one")
    assert made.name == "one" and len(made.models) > 4
    with pytest.raises(kido.NameLookupError, match="bundled assembly"):
        kido.models.assembly("rovr", on)
