"""A small writer of URDF text: bodies of primitive shapes, whose inertia follows from shape and mass."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Vector = tuple[float, float, float]
ZERO: Vector = (0.0, 0.0, 0.0)


def number(x: float) -> str:
    """A number as a person would write it."""
    return f"{x:.9g}" if abs(x) >= 1e-12 else "0"


def vector(v: Vector) -> str:
    return " ".join(number(x) for x in v)


@dataclass(frozen=True)
class Part:
    """A primitive in a link: `kind` is box (full sizes), sphere (radius) or capsule (radius, length).

    A capsule's length is that of its cylinder, along the z axis turned by `rpy`.
    """

    kind: str
    sizes: tuple[float, ...]
    xyz: Vector = ZERO
    rpy: Vector = ZERO

    def text(self) -> str:
        if self.kind == "box":
            return f'<box size="{vector(self.sizes)}"/>'  # type: ignore[arg-type]
        if self.kind == "sphere":
            return f'<sphere radius="{number(self.sizes[0])}"/>'
        return f'<capsule radius="{number(self.sizes[0])}" length="{number(self.sizes[1])}"/>'

    def moment(self, mass: float) -> Vector:
        """Principal moments about the centre, in the part's own axes [kg m^2]."""
        if self.kind == "box":
            x, y, z = self.sizes
            return mass * (y * y + z * z) / 12, mass * (z * z + x * x) / 12, mass * (x * x + y * y) / 12
        if self.kind == "sphere":
            moment = 0.4 * mass * self.sizes[0] ** 2
            return moment, moment, moment
        r, h = self.sizes
        cylinder, ball = math.pi * r * r * h, 4.0 / 3.0 * math.pi * r**3
        m_c, m_b = mass * cylinder / (cylinder + ball), mass * ball / (cylinder + ball)
        across = m_c * (h * h / 12 + r * r / 4) + m_b * (0.4 * r * r + h * h / 4 + 3 * h * r / 8)
        return across, across, m_c * r * r / 2 + m_b * 0.4 * r * r


def box(x: float, y: float, z: float, xyz: Vector = ZERO, rpy: Vector = ZERO) -> Part:
    return Part("box", (x, y, z), xyz, rpy)


def sphere(radius: float, xyz: Vector = ZERO) -> Part:
    return Part("sphere", (radius,), xyz)


def capsule(radius: float, length: float, xyz: Vector = ZERO, rpy: Vector = ZERO) -> Part:
    return Part("capsule", (radius, length), xyz, rpy)


@dataclass
class Robot:
    """URDF text under construction."""

    name: str
    remark: str
    lines: list[str] = field(default_factory=list)
    materials: dict[str, Vector] = field(default_factory=dict)

    def link(
        self,
        name: str,
        mass: float = 0.0,
        parts: tuple[Part, ...] = (),
        material: str = "",
        touch: bool = True,
    ):
        """A link whose inertia is that of its first part (a hidden sphere of 4 cm if it has none).

        `touch` tells whether its parts collide. Without mass it is a bare frame.
        """
        if not mass:
            self.lines.append(f'  <link name="{name}"/>')
            return
        shape = parts[0] if parts else sphere(0.04)
        xx, yy, zz = shape.moment(mass)
        self.lines += [
            f'  <link name="{name}">',
            "    <inertial>",
            f'      <origin xyz="{vector(shape.xyz)}" rpy="{vector(shape.rpy)}"/>',
            f'      <mass value="{number(mass)}"/>',
            f'      <inertia ixx="{number(xx)}" iyy="{number(yy)}" izz="{number(zz)}" ixy="0" ixz="0" iyz="0"/>',
            "    </inertial>",
        ]
        for part in parts:
            for tag in ("visual", "collision") if touch else ("visual",):
                self.lines += [
                    f"    <{tag}>",
                    f'      <origin xyz="{vector(part.xyz)}" rpy="{vector(part.rpy)}"/>',
                    f"      <geometry>{part.text()}</geometry>",
                    *([f'      <material name="{material}"/>'] if tag == "visual" and material else []),
                    f"    </{tag}>",
                ]
        self.lines.append("  </link>")

    def fixed(self, name: str, parent: str, child: str, xyz: Vector = ZERO, kind: str = "fixed", rpy: Vector = ZERO):
        """A joint without limits: `kind` is fixed or floating."""
        self.lines += [
            f'  <joint name="{name}" type="{kind}">',
            f'    <origin xyz="{vector(xyz)}" rpy="{vector(rpy)}"/>',
            f'    <parent link="{parent}"/>',
            f'    <child link="{child}"/>',
            "  </joint>",
        ]

    def hinge(
        self,
        name: str,
        parent: str,
        child: str,
        xyz: Vector,
        axis: Vector,
        degrees: tuple[float, float],
        effort: float,
        speed: float = 10.0,
        damping: float = 0.5,
        rpy: Vector = ZERO,
    ):
        """A revolute joint: limits [degrees], largest torque [N m], speed [rad/s], damping [N m s/rad]."""
        limits = math.radians(degrees[0]), math.radians(degrees[1])
        self._axis("revolute", name, parent, child, xyz, axis, limits, effort, speed, damping, rpy)

    def slide(
        self,
        name: str,
        parent: str,
        child: str,
        xyz: Vector,
        axis: Vector,
        limits: tuple[float, float] | None,
        effort: float,
        speed: float,
        damping: float,
    ):
        """A prismatic joint: limits [m], None: 50 m to both sides; largest force [N], speed [m/s], damping [N s/m]."""
        self._axis("prismatic", name, parent, child, xyz, axis, limits or (-50.0, 50.0), effort, speed, damping, ZERO)

    def _axis(
        self,
        kind: str,
        name: str,
        parent: str,
        child: str,
        xyz: Vector,
        axis: Vector,
        limits: tuple[float, float],
        effort: float,
        speed: float,
        damping: float,
        rpy: Vector,
    ):
        lower, upper = (number(value) for value in limits)
        self.lines += [
            f'  <joint name="{name}" type="{kind}">',
            f'    <origin xyz="{vector(xyz)}" rpy="{vector(rpy)}"/>',
            f'    <parent link="{parent}"/>',
            f'    <child link="{child}"/>',
            f'    <axis xyz="{vector(axis)}"/>',
            f'    <limit lower="{lower}" upper="{upper}" effort="{number(effort)}" velocity="{number(speed)}"/>',
            f'    <dynamics damping="{number(damping)}"/>',
            "  </joint>",
        ]

    def text(self) -> str:
        """The file's whole text."""
        colors = [
            f'  <material name="{name}"><color rgba="{vector(rgb)} 1"/></material>'
            for name, rgb in self.materials.items()
        ]
        return "\n".join(
            [
                '<?xml version="1.0"?>',
                f"<!-- {self.remark} Written by tools/make_models.py. -->",
                f'<robot name="{self.name}">',
                *colors,
                *self.lines,
                "</robot>",
                "",
            ]
        )
