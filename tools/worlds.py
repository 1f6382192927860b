"""Our worlds, as SKEL text."""

from __future__ import annotations

import math

from scipy.spatial.transform import Rotation

from kido.models.scenes import PALETTE, Block, Scene
from urdf_text import ZERO, Vector, capsule, number, vector


def _shapes(shape: str, color: Vector) -> list[str]:
    return [
        "        <visualization_shape>",
        f"          <geometry>{shape}</geometry>",
        f"          <color>{vector(color)}</color>",
        "        </visualization_shape>",
        "        <collision_shape>",
        f"          <geometry>{shape}</geometry>",
        "        </collision_shape>",
    ]


def _body(name: str, pose: str, shapes: list[str], mass: float = 0.0, moment: Vector = ZERO) -> list[str]:
    inertia = []
    if mass:
        xx, yy, zz = (number(m) for m in moment)
        inertia = [
            "        <inertia>",
            f"          <mass>{number(mass)}</mass>",
            "          <offset>0 0 0</offset>",
            "          <moment_of_inertia>",
            f"            <ixx>{xx}</ixx><iyy>{yy}</iyy><izz>{zz}</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>",
            "          </moment_of_inertia>",
            "        </inertia>",
        ]
    return [
        f'      <body name="{name}">',
        f"        <transformation>{pose}</transformation>",
        *inertia,
        *shapes,
        "      </body>",
    ]


def _joint(name: str, kind: str, parent: str, child: str, extra: list[str]) -> list[str]:
    return [
        f'      <joint type="{kind}" name="{name}">',
        f"        <parent>{parent}</parent>",
        f"        <child>{child}</child>",
        *extra,
        "      </joint>",
    ]


def _skeleton(name: str, lines: list[str], mobile: bool = True) -> list[str]:
    return [
        f'    <skeleton name="{name}">',
        *([] if mobile else ["      <mobile>0</mobile>"]),
        *lines,
        "    </skeleton>",
    ]


def _world(name: str, remark: str, skeletons: list[str]) -> str:
    return "\n".join(
        [
            '<?xml version="1.0"?>',
            f"<!-- {remark} Written by tools/make_models.py. -->",
            '<skel version="1.0">',
            f'  <world name="{name}">',
            "    <physics>",
            "      <time_step>0.001</time_step>",
            "      <gravity>0 0 -9.81</gravity>",
            "    </physics>",
            *skeletons,
            "  </world>",
            "</skel>",
            "",
        ]
    )


def _pose(block: Block) -> str:
    """Position and the angles of R_x(a) R_y(b) R_z(c), which is how SKEL files turn things."""
    angles = Rotation.from_rotvec(block.rotation).as_euler("XYZ")
    return " ".join(f"{x:.12g}" if abs(x) > 1e-15 else "0" for x in (*block.position, *angles))


def _size(block: Block) -> str:
    return f"<box><size>{vector(block.size)}</size></box>"


def scene_text(scene: Scene, remark: str) -> str:
    """SKEL text of a scene of blocks."""
    floor = "<plane><normal>0 0 1</normal><offset>0</offset></plane>"
    body = _body("floor", "0 0 0 0 0 0", _shapes(floor, (0.82, 0.82, 0.80)))
    lines = _skeleton("ground", body + _joint("floor_joint", "weld", "world", "floor", []), mobile=False)
    fixed: list[str] = []
    for b in scene.fixed:
        fixed += _body(b.name, _pose(b), _shapes(_size(b), b.color))
        fixed += _joint(f"{b.name}_joint", "weld", "world", b.name, [])
    if fixed:
        lines += _skeleton("fixture", fixed, mobile=False)
    for b in scene.free:
        body = _body(b.name, _pose(b), _shapes(_size(b), b.color), b.mass, b.moment)
        moving = any(b.angular_velocity + b.velocity)
        start = [f"        <init_vel>{vector(b.angular_velocity)} {vector(b.velocity)}</init_vel>"] if moving else []
        lines += _skeleton(b.name, body + _joint(f"{b.name}_joint", "free", "world", b.name, start))
    return _world(scene.name, remark, lines)


def ball_chain_text(links: int = 10) -> str:
    """Links of 0.12 m on ball joints, hanging from 1.6 m, drawn aside by the first three joints."""
    length, radius, mass, top = 0.12, 0.018, 0.15, 1.6
    part = capsule(radius, length - 2 * radius)
    shape = f"<capsule><radius>{number(radius)}</radius><height>{number(part.sizes[1])}</height></capsule>"
    aside = {
        0: (0.0, math.radians(-70), 0.0),
        1: (0.0, math.radians(25), 0.0),
        2: (math.radians(20), 0.0, 0.0),
    }
    lines: list[str] = []
    for i in range(links):
        pose = f"0 0 {number(top - (i + 0.5) * length)} 0 0 0"
        lines += _body(f"link_{i}", pose, _shapes(shape, PALETTE[i % len(PALETTE)]), mass, part.moment(mass))
    for i in range(links):
        extra = [f"        <transformation>0 0 {number(length / 2)} 0 0 0</transformation>"]
        if i in aside:
            extra.append(f"        <init_pos>{vector(aside[i])}</init_pos>")
        lines += _joint(f"ball_{i}", "ball", f"link_{i - 1}" if i else "world", f"link_{i}", extra)
    remark = f"A chain of {links} links on ball joints, drawn aside."
    return _world("ball_chain", remark, _skeleton("ball_chain", lines))
