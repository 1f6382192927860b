"""Contact properties in SDF, URDF and SKEL: read, written, and read again."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import kido
from kido.io import sdf, urdf

SPHERE = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
SDF_INERTIAL = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
URDF_INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
URDF_SPHERE = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'


def of_sdf(inside: str) -> tuple[kido.Surface, list[str]]:
    collision = f'<collision name="c">{SPHERE}<surface>{inside}</surface></collision>'
    skeleton = sdf.read(
        f'<sdf version="1.9"><model name="m"><link name="a">{SDF_INERTIAL}{collision}</link></model></sdf>'
    )
    skeleton = skeleton.skeletons[0] if isinstance(skeleton, kido.World) else skeleton
    skeleton = skeleton[0] if isinstance(skeleton, list) else skeleton
    return skeleton.body("a").shapes[0].surface, skeleton.warnings


def of_urdf(contact: str = "", gazebo: str = "") -> tuple[kido.Surface, list[str]]:
    skeleton = urdf.read(f'<robot name="r"><link name="a">{URDF_INERTIAL}{URDF_SPHERE}{contact}</link>{gazebo}</robot>')
    return skeleton.body("a").shapes[0].surface, skeleton.warnings


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("", kido.Surface()),
        ("<friction><ode><mu>0.3</mu><mu2>0.3</mu2></ode></friction>", kido.Surface(0.3)),
        (
            "<friction><ode><mu>0.3</mu><mu2>0.1</mu2><fdir1>0 1 0</fdir1>"
            "<slip1>0.01</slip1><slip2>0.02</slip2></ode></friction>",
            kido.Surface(0.3, 0.1, (0.0, 1.0, 0.0), slip=0.01, secondary_slip=0.02),
        ),
        ("<friction><ode><mu>inf</mu><fdir1>0 0 0</fdir1></ode></friction>", kido.Surface(1e16)),
        ("<friction><ode><slip1>0.5</slip1></ode></friction>", kido.Surface(slip=0.5, secondary_slip=0.0)),
        (
            "<friction><bullet><friction>0.4</friction><friction2>0.2</friction2>"
            "<rolling_friction>0.01</rolling_friction></bullet></friction>",
            kido.Surface(0.4, 0.2, rolling_friction=0.01),
        ),
        (
            "<friction><torsional><coefficient>0.5</coefficient><patch_radius>0.02</patch_radius></torsional></friction>",
            kido.Surface(torsional_friction=3 * math.pi / 16 * 0.02 * 0.5),
        ),
        ("<bounce><restitution_coefficient>0.7</restitution_coefficient></bounce>", kido.Surface(restitution=0.7)),
        (
            "<contact><ode><kp>1e6</kp><kd>100</kd><min_depth>0.001</min_depth><max_vel>0.1</max_vel></ode></contact>",
            kido.Surface(softness=kido.SpringDamper(1e6, 100.0, at_end=True), slop=0.001, max_correction_speed=0.1),
        ),
        (
            "<contact><ode><soft_erp>0.5</soft_erp><soft_cfm>1e-4</soft_cfm></ode></contact>",
            kido.Surface(softness=kido.ErpCfm(0.5, 1e-4)),
        ),
        (
            "<contact><ode><soft_erp>0.2</soft_erp><soft_cfm>0</soft_cfm><kp>1e12</kp><kd>1</kd></ode></contact>",
            kido.Surface(),  # SDF's own defaults: rigid
        ),
    ],
)
def test_sdf(inside, expected):
    assert of_sdf(inside) == (expected, [])


def test_what_sdf_has_beyond_is_remarked():
    _, warnings = of_sdf("<bounce><threshold>1</threshold></bounce><soft_contact/>")
    assert [w.split(": ")[-1] for w in warnings] == [
        "<soft_contact> in <surface> is left out",
        "<threshold> in <bounce> is left out",
    ]
    torsional = "<torsional><use_patch_radius>0</use_patch_radius></torsional>"
    surface, warnings = of_sdf(f"<friction>{torsional}</friction>")
    assert surface == kido.Surface() and "torsional friction by the radius of the surface" in warnings[0]


@pytest.mark.parametrize(
    "inside",
    [
        "<friction><ode><mu>1</mu><mu2>-1</mu2></ode></friction>",
        "<friction><ode><mu>1</mu><fdir1>1 0</fdir1></ode></friction>",
        "<friction><ode><mu>1</mu><fdir1>1 0 nan</fdir1></ode></friction>",
        "<contact><ode><kp>hard</kp></ode></contact>",
        "<contact><ode><kd>-1</kd></ode></contact>",
    ],
)
def test_bad_sdf_is_refused_with_its_line(inside):
    with pytest.raises(kido.FileFormatError):
        of_sdf(inside)


@pytest.mark.parametrize(
    ("contact", "expected"),
    [
        (
            '<contact><lateral_friction value="0.7"/><rolling_friction value="0.01"/><spinning_friction value="0.02"/>'
            '<restitution value="0.4"/></contact>',
            kido.Surface(0.7, rolling_friction=0.01, torsional_friction=0.02, restitution=0.4),
        ),
        (
            '<contact><stiffness value="30000"/><damping value="1000"/></contact>',
            kido.Surface(softness=kido.SpringDamper(3e4, 1e3, at_end=True)),
        ),
        (
            '<contact><contact_erp value="0.8"/><contact_cfm value="0.001"/></contact>',
            kido.Surface(softness=kido.ErpCfm(0.8, 1e-3)),
        ),
    ],
)
def test_urdf_as_bullet_has_it(contact, expected):
    assert of_urdf(contact) == (expected, [])


def test_urdf_as_gazebo_has_it():
    """As text or attributes, in several elements; Bullet's first, Gazebo's over it; other links' and joints' not."""
    gazebo = (
        '<gazebo reference="a"><material>Gazebo/Grey</material><mu1>0.9</mu1><mu2 value="0.5"/></gazebo>'
        '<gazebo reference="a"><kp>1000000.0</kp><kd>100.0</kd><fdir1>0 1 0</fdir1><minDepth>0.001</minDepth>'
        "<maxVel>1.0</maxVel></gazebo>"
        '<gazebo reference="b"><mu1>0.1</mu1></gazebo><gazebo><plugin name="p" filename="q"/></gazebo>'
    )
    surface, warnings = of_urdf('<contact><lateral_friction value="0.3"/><restitution value="0.2"/></contact>', gazebo)
    assert warnings == []
    assert surface == kido.Surface(
        0.9,
        0.5,
        (0.0, 1.0, 0.0),
        restitution=0.2,
        softness=kido.SpringDamper(1e6, 100.0, at_end=True),
        slop=0.001,
        max_correction_speed=1.0,
    )


def test_what_gazebo_cannot_mean_is_remarked():
    surface, warnings = of_urdf(gazebo='<gazebo reference="a"><mu1>${mu}</mu1></gazebo>')
    assert surface == kido.Surface()
    assert "contact properties of link 'a' are left out" in warnings[0]


@pytest.mark.parametrize("contact", ['<contact><restitution value="2"/></contact>'])
def test_bad_urdf_is_refused(contact):
    with pytest.raises(kido.FileFormatError):
        of_urdf(contact)


RICH = kido.Surface(
    0.5,
    0.2,
    (0.6, 0.8, 0.0),
    rolling_friction=0.01,
    torsional_friction=0.02,
    slip=0.001,
    secondary_slip=0.003,
    restitution=0.4,
    softness=kido.SpringDamper(1e5, 300.0, at_end=True),
    slop=1e-4,
    max_correction_speed=0.25,
)


def one_body(surface) -> kido.Skeleton:
    skeleton = kido.Skeleton("thing")
    body = skeleton.add_body(
        "body", kido.WeldJoint("joint"), inertia=kido.Inertia(1.0, (0, 0, 0), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    )
    body.add_shape(kido.Box((0.1, 0.2, 0.3)), name="box", visual=False, surface=surface)
    return skeleton


@pytest.mark.parametrize("suffix", [".sdf", ".urdf"])
@pytest.mark.parametrize("softness", [RICH.softness, kido.ErpCfm(0.4, 2e-4), None])
def test_a_round_trip_keeps_what_the_format_can_say(tmp_path, suffix, softness):
    """Torsional friction of SDF goes through a patch's radius: to rounding."""
    surface = replace(RICH, softness=softness)
    assert kido.save(one_body(surface), tmp_path / f"m{suffix}") == []
    again = kido.load(tmp_path / f"m{suffix}")
    again = again.skeletons[0] if isinstance(again, kido.World) else again
    got = again.body("body").shapes[0].surface
    assert got.torsional_friction == pytest.approx(surface.torsional_friction, rel=1e-14)
    assert replace(got, torsional_friction=surface.torsional_friction) == surface


@pytest.mark.parametrize("suffix", [".sdf", ".urdf", ".skel"])
def test_what_a_format_cannot_say_is_remarked(tmp_path, suffix):
    surface = kido.Surface(
        0.5, surface_velocity=(1, 0, 0), softness=kido.TimeConstant(0.01), priority=1, friction_rule="max"
    )
    remarks = " ".join(kido.save(one_body(surface), tmp_path / f"m{suffix}"))
    for name in ("surface_velocity", "friction_rule", "priority", "softness"):
        assert name in remarks
