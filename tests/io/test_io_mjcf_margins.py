"""Margins of MJCF's contacts as paddings, and what `solref` of two geoms becomes: against MuJoCo's own contacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.io import mjcf

mujoco: Any = pytest.importorskip("mujoco")
pytestmark = pytest.mark.filterwarnings("ignore::kido.errors.KidoWarning")

GEOMS = {
    "plane": 'type="plane" size="3 3 1"',
    "sphere": 'type="sphere" size="0.1"',
    "capsule": 'type="capsule" size="0.06 0.1" euler="80 10 0"',
    "box": 'type="box" size="0.1 0.15 0.1"',
    "tilted box": 'type="box" size="0.1 0.15 0.07" euler="10 20 30"',
    "cylinder": 'type="cylinder" size="0.08 0.1" euler="0 60 0"',
    "ellipsoid": 'type="ellipsoid" size="0.1 0.07 0.1"',
}
PAIRS = [("plane", name) for name in list(GEOMS)[1:]]
PAIRS += [("box", "sphere"), ("box", "box"), ("box", "capsule"), ("sphere", "sphere"), ("capsule", "capsule")]
PAIRS += [("tilted box", "sphere"), ("ellipsoid", "sphere"), ("cylinder", "sphere")]


def two(first: str, second: str, z: float, rest: str = "", option: str = "") -> str:
    """A geom on the world, and one on a body that floats above it, without gravity."""
    return (
        f'<mujoco><option gravity="0 0 0" timestep="1e-7" {option}</option><worldbody><geom name="a" {first}/>'
        f'<body name="b" pos="0.01 0.02 {z}"><freejoint/><geom name="b" mass="1" {second}/></body></worldbody>{rest}'
        "</mujoco>"
    )


def theirs(text: str) -> Any:
    """Contacts of MuJoCo that act: distances beyond margins."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return sorted(c.dist - c.includemargin for c in data.contact if c.dist < c.includemargin)


def ours(text: str) -> list[float]:
    world = mjcf.read(text)
    world.step()
    return sorted(g for g in world.contacts.gaps if g < 0.0)


def touching_height(first: str, second: str, rest: str = "", option: str = ">") -> float:
    """The greatest height at which MuJoCo's contacts act."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if theirs(two(first, second, middle, rest, option)) else (low, middle)
    return low


@pytest.mark.parametrize("a, b", PAIRS, ids=[f"{a} and {b}" for a, b in PAIRS])
def test_margins_add_up_for_all_shapes(a: str, b: str) -> None:
    """As deep as MuJoCo's contacts are, 1 mm below where these begin to act, and none 1 mm above."""
    first, second = f'{GEOMS[a]} margin="0.02"', f'{GEOMS[b]} margin="0.01"'
    z = touching_height(first, second)
    below, above = (two(first, second, z + dz, option=">") for dz in (-1e-3, 1e-3))
    assert ours(below) == pytest.approx(theirs(below), abs=2e-7)
    assert not ours(above)


@pytest.mark.parametrize("of_a, of_b", [
    ('margin="0.02" gap="0.01"', 'margin="0.03" gap="0.03"'), ('gap="0.02"', 'margin="0.03"'),
    ('margin="0.02" priority="1"', 'margin="0.03"'),
])  # fmt: skip
def test_gaps_and_priorities_change_no_margin(of_a: str, of_b: str) -> None:
    first, second = f"{GEOMS['plane']} {of_a}", f"{GEOMS['sphere']} {of_b}"
    text = two(first, second, touching_height(first, second) - 1e-3, option=">")
    assert ours(text) == pytest.approx(theirs(text), abs=1e-9)
    assert len(ours(text)) == 1


@pytest.mark.parametrize("margin", ['margin="0.04"', 'margin="0.04" gap="0.02"', ""])
@pytest.mark.parametrize("bits", ['contype="0" conaffinity="0"', ""])
def test_pairs_have_margins_of_their_own(margin: str, bits: str) -> None:
    """Whatever those of their geoms are, where these touch in pairs alone; else if these add up to it."""
    first, second = f'{GEOMS["plane"]} {bits} margin="0.03"', f'{GEOMS["sphere"]} {bits} margin="0.01"'
    rest = f'<contact><pair geom1="a" geom2="b" {margin}/></contact>'
    text = two(first, second, touching_height(first, second, rest) - 1e-3, rest, ">")
    kept = bool(bits) or bool(margin)
    assert (ours(text) == pytest.approx(theirs(text), abs=1e-9)) == kept
    said = [w for w in mjcf.read(text).skeletons[0].warnings if "margins of pairs are left out" in w]
    assert bool(said) != kept


def stack(margins: tuple[float, float, float]) -> str:
    """Three balls above each other that touch in pairs alone."""
    ball = '<body name="{0}" pos="0 0 {1}"><freejoint/><geom name="{0}" size="0.1" contype="0" conaffinity="0"/></body>'
    bodies = "".join(ball.format(name, z) for name, z in (("a", 0.0), ("b", 0.2), ("c", 0.4)))
    ends = (("a", "b"), ("b", "c"), ("a", "c"))
    pairs = "".join(f'<pair geom1="{a}" geom2="{b}" margin="{m}"/>' for (a, b), m in zip(ends, margins, strict=True))
    return f"<mujoco><worldbody>{bodies}</worldbody><contact>{pairs}</contact></mujoco>"


@pytest.mark.parametrize("margins, known", [
    ((0.02, 0.02, 0.02), True), ((0.01, 0.001, 0.01), True), ((0.02, 0.001, 0.019), True), ((0.0, 0.0, 0.1), False),
])  # fmt: skip
def test_pairs_of_which_paddings_have_all_margins(margins: tuple[float, float, float], known: bool) -> None:
    world = mjcf.read(stack(margins))
    a, b, c = (world.skeleton(name).bodies[0].shapes[0].surface.padding for name in "abc")
    assert ((a + b, b + c, a + c) == pytest.approx(margins, abs=1e-12)) == known
    assert min(a, b, c) >= 0.0
    assert any("margins of pairs are left out" in w for w in world.skeletons[0].warnings) != known


def test_options_override_margins() -> None:
    first, second = f'{GEOMS["plane"]} margin="0.03"', f'{GEOMS["sphere"]} margin="0.01"'
    option = 'o_margin="0.05"><flag override="enable"/>'
    text = two(first, second, 0.149, option=option)
    assert ours(text) == pytest.approx(theirs(text), abs=1e-9)
    assert ours(text) == pytest.approx([-1e-3], abs=1e-9)


def test_what_no_padding_has_is_said() -> None:
    text = two(f'{GEOMS["plane"]} margin="-0.01"', f'{GEOMS["sphere"]} margin="0.02" gap="-0.01"', 0.1, option=">")
    words = " ".join(mjcf.read(text).skeletons[0].warnings)
    assert "margins below zero are left out: contacts push where surfaces meet: 1 (geom a)" in words
    assert "gaps below zero are left out: contacts act within the whole margin: 1 (geom b)" in words
    assert "points of contact lie between surfaces that margins put outwards: 1 (geom b)" in words
    equal = two(*(f'{GEOMS[name]} margin="0.01"' for name in ("plane", "sphere")), 0.1, option=">")
    assert not any("margin" in w for w in mjcf.read(equal).skeletons[0].warnings)
    with pytest.raises(kido.FileFormatError, match="geom a: margins below zero"):
        mjcf.read(text, strict=True)


def test_points_of_contact_are_mujocos_where_margins_are_equal() -> None:
    text = two(*(f'{GEOMS[name]} margin="0.01"' for name in ("plane", "sphere")), 0.119, option=">")
    world = mjcf.read(text)
    world.step()
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(world.contacts.points[0], data.contact[0].pos, atol=1e-9)


def test_an_ant_rests_as_high_as_mujocos() -> None:
    """By the margins of its feet and of the floor, 0.01 m each, up to MuJoCo's softness; Kido/Ant is the same."""
    gymnasium = pytest.importorskip("gymnasium")
    from kido.gym import robots

    path = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "ant.xml"
    model = mjcf.compile_model(path)
    data = mujoco.MjData(model)
    worlds = kido.load_world(path), robots.ant()
    for _ in range(2000):
        mujoco.mj_step(model, data)
    for world in worlds:
        world.step(2000)
        place = next(s for s in world.skeletons if s.num_dofs == 14).positions[5]
        assert place == pytest.approx(data.qpos[2], abs=6e-4)
        assert place >= data.qpos[2]
    sunk = min(c.dist for c in data.contact) - 0.02
    assert -6e-4 < sunk < 0.0


def test_margins_are_written(tmp_path: Path) -> None:
    world = mjcf.read(two(*(f'{GEOMS[name]} margin="0.01"' for name in ("plane", "sphere")), 0.119, option=">"))
    assert not [remark for remark in kido.save(world, tmp_path / "m.xml") if "padding" in remark]
    again = (tmp_path / "m.xml").read_text()
    model = mujoco.MjModel.from_xml_string(again)
    np.testing.assert_allclose(model.geom_margin, 0.01)
    assert [s.surface.padding for k in mjcf.read(again).skeletons for b in k.bodies for s in b.shapes] == [0.01, 0.01]


# Springs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_a, of_b", [
    ('solref="0.1 1"', 'solref="0.02 0.5" solmix="3"'), ('solref="-100 -4"', 'solref="0.02 0.5"'),
    ('solref="-100 -10"', 'solref="-200 -5"'), ('solref="0.1 1" priority="1"', 'solref="0.02 0.5" solmix="3"'),
    ('solref="0.1 1" solmix="0"', 'solref="0.02 0.5" solmix="0"'), ('solref="0.1 1" solmix="0"', 'solref="0.02 0.5"'),
    ('solref="0.003 1"', 'solref="0.001 0.5"'),
])  # fmt: skip
@pytest.mark.parametrize("option", ['timestep="0.01">', 'timestep="0.01"><flag refsafe="disable"/>'])
def test_softness_of_two_geoms_is_mixed_as_there(of_a: str, of_b: str, option: str) -> None:
    """Frequency and damping of the row that MuJoCo makes of a contact at a constant impedance, from its own numbers."""
    bodies = "".join(
        f'<body pos="0 0 {z}"><freejoint/><geom name="{name}" size="0.1" solimp="0.9 0.9 0.001" {numbers}/></body>'
        for name, z, numbers in (("a", 0.0, of_a), ("b", 0.199, of_b))
    )
    text = f'<mujoco><option gravity="0 0 0" {option}</option><worldbody>{bodies}</worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    stiffness, damping, impedance, _ = data.efc_KBIP[0]
    world = mjcf.read(text, contacts="springs")
    nodes = [s for k in world.skeletons[1:] for b in k.bodies for s in b.shapes]
    found = world.contact_surface_handler.pair(*nodes).softness
    assert isinstance(found, kido.TimeConstant)
    assert 1.0 / (found.time_constant * found.damping_ratio) ** 2 == pytest.approx(impedance**2 * stiffness)
    assert 2.0 / found.time_constant == pytest.approx(impedance * damping)


def test_a_softness_that_is_set_later_combines_as_usual() -> None:
    world = mjcf.read(two(GEOMS["plane"], GEOMS["sphere"], 0.1, option=">"), contacts="springs")
    a, b = (s for k in world.skeletons for body in k.bodies for s in body.shapes)
    for shape in (a, b):
        shape.set_surface(softness=kido.TimeConstant(0.1, 1.0))
    expected = kido.simulation.ContactSurfaceHandler("max").pair(a, b).softness
    assert world.contact_surface_handler.pair(a, b).softness == expected
