"""Tanks whose liquid sloshes and drains: bodies that stand for it, on the body that carries the tank."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kido.errors import ModelError
from kido.math.transform import as_positive, as_transform
from kido.skeleton import BodyNode, Inertia, PrismaticJoint, UniversalJoint, WeldJoint
from kido.systems import Input, Output, Parameter, PythonModel, State

FIRST_ROOT = 1.8411837813406593  # of J_1', xi
SHALLOW = 0.02  # level by radius below which the shape of the liquid is taken as there
DRY = 1e-6  # share of the full mass that always stays


class Slosh(NamedTuple):
    """What stands for the liquid in an upright cylindrical tank.

    Attributes:
        mass: that sloshes [kg].
        height: of that mass above the bottom [m].
        length: of a pendulum in its place, whose hinge is that much above it [m].
        fixed_mass: the rest [kg].
        fixed_height: of the rest above the bottom [m].
        fixed_moment: of the rest, about axes across the tank's [kg m^2].
    """

    mass: float
    height: float
    length: float
    fixed_mass: float
    fixed_height: float
    fixed_moment: float

    def frequency(self, gravity: float) -> float:
        """Of the free surface, angular [rad/s], at an acceleration along the tank [m/s^2]."""
        return float(np.sqrt(gravity / self.length))


def slosh(radius: float, level: float, mass: float) -> Slosh:
    """The first lateral mode of a liquid in an upright cylindrical tank, and the rest of it.

        m_1 / m = 2 tanh(xi h / R) / ((xi h / R) (xi^2 - 1)),    w^2 = g (xi / R) tanh(xi h / R)
        height of m_1 = h - 2 (R / xi) tanh(xi h / (2 R)),    length of the pendulum = g / w^2

    with xi = 1.8412. The rest has what is missing of the mass, of its moment about the bottom, and of the inertia of
    the liquid if it were frozen; that of an ideal liquid is less. Small swings, no spin about the axis.

    Args:
        radius: of the tank, R [m].
        level: of the liquid, h [m].
        mass: of it, m [kg].

    Raises:
        ModelError: one is not positive.

    Source: H. Abramson (ed.), The Dynamic Behavior of Liquids in Moving Containers, NASA SP-106 (1966), chapter 6;
    F. Dodge, The New Dynamic Behavior of Liquids in Moving Containers (2000), chapter 3.
    """
    R, h, m = (as_positive(x, f"slosh: {name}") for x, name in ((radius, "radius"), (level, "level"), (mass, "mass")))
    x = FIRST_ROOT * h / R
    m1 = m * 2.0 * np.tanh(x) / (x * (FIRST_ROOT**2 - 1.0))
    z1 = h - 2.0 * R / FIRST_ROOT * np.tanh(0.5 * x)
    m0 = m - m1
    z0 = (0.5 * m * h - m1 * z1) / m0
    frozen = m * (h * h / 12.0 + R * R / 4.0)
    I0 = max(frozen - m0 * (z0 - 0.5 * h) ** 2 - m1 * (z1 - 0.5 * h) ** 2, 0.0)
    return Slosh(float(m1), float(z1), float(R / (FIRST_ROOT * np.tanh(x))), float(m0), float(z0), float(I0))


class SloshTank(PythonModel):
    """An upright cylindrical tank with liquid that sloshes, on a body, and drains as `flow` says.

    The liquid is two bodies that are added to the carrier's skeleton: one welded to it, and one that swings on a
    pendulum, or on springs (see `slosh`). At each tick their masses, places and springs become those of the level; what
    drains leaves at the speed that it has. A pendulum has the right frequency at any thrust; springs have that of
    `gravity`. Each change of the level costs a millisecond. The bodies go when it is removed from its system.

    Args:
        carrier: the body that carries the tank, whose own inertia is that without the liquid.
        radius: of the tank [m].
        mass: of the liquid at the start [kg].
        mount: the tank's axes in the body's, 4x4 or what `as_transform` takes: origin in the middle of the bottom, z
            along its axis, away from where gravity or inertia drives the liquid.
        springs: springs in place of a pendulum.
        values: name, rate and others as of models.

    Raises:
        ModelError: no body of a skeleton, a radius or a mass that is not positive, or names of its bodies or joints
            that the skeleton has already.
    """

    rate = 10
    density = Parameter(1000.0, "kg/m^3", low=1e-9)
    gravity = Parameter(9.81, "m/s^2", low=0.0, doc="acceleration along the tank, of its damping and springs")
    damping_ratio = Parameter(0.005, low=0.0, doc="of free swings; of smooth walls 0.001 to 0.01, with baffles more")
    flow = Input("kg/s", default=0.0, doc="out of the tank")
    level = Output("m")
    slosh_mass = Output("kg", doc="the part that swings")
    frequency = Output("rad/s", doc="of free swings at `gravity`")
    mass = State("kg", 1.0)
    samples = State("1", doc="number of ticks, at most 1")

    def __init__(
        self,
        carrier: BodyNode,
        radius: float,
        mass: float,
        mount: Any = None,
        springs: bool = False,
        name: str | None = None,
        *,
        rate: Any = None,
        **values: Any,
    ):
        super().__init__(name, rate=rate, mass=mass, **values)
        what = f"model {self.name!r}"
        if not isinstance(carrier, BodyNode) or carrier.skeleton is None:
            raise ModelError(f"{what}: expected a body of a skeleton, got {carrier!r}")
        self._radius, self._full = as_positive(radius, f"{what}: radius", "m"), as_positive(mass, f"{what}: mass", "kg")
        self._mount = as_transform(mount, f"{what}: mount")
        skeleton, joint = carrier.skeleton, f"{carrier.name}_{self.name}"
        bodies = {f"{joint}_{part}" for part in ("rest", "slosh", *(("across",) if springs else ()))}
        joints = {f"{joint}_rest", *((f"{joint}_x", f"{joint}_y") if springs else (joint,))}
        for kind, own, all_ in (("body", bodies, skeleton.bodies), ("joint", joints, skeleton.joints)):
            for taken in (one.name for one in all_ if one.name in own):
                raise ModelError(
                    f"{what}: skeleton {skeleton.name!r} has a {kind} {taken!r} already; give the tank another name"
                )
        now = slosh(self._radius, self._level(mass), mass)
        self._fixed = skeleton.add_body(f"{joint}_rest", WeldJoint(f"{joint}_rest"), carrier)
        if springs:
            across = skeleton.add_body(f"{joint}_across", PrismaticJoint(f"{joint}_x", (1, 0, 0)), carrier)
            self._swings = skeleton.add_body(
                f"{joint}_slosh", PrismaticJoint(f"{joint}_y", (0, 1, 0)), across, Inertia(now.mass)
            )
            self._joints = (across.parent_joint, self._swings.parent_joint)
        else:
            self._swings = skeleton.add_body(f"{joint}_slosh", UniversalJoint(joint), carrier, Inertia(now.mass))
            self._joints = (self._swings.parent_joint,)
        self._springs = bool(springs)
        self._set(float(mass))

    @property
    def swinging(self) -> BodyNode:
        """The body that sloshes."""
        return self._swings

    @property
    def resting(self) -> BodyNode:
        """The body of the rest of the liquid."""
        return self._fixed

    def _level(self, mass: float) -> float:
        return float(mass / (self.density * np.pi * self._radius**2))

    def _set(self, mass: float) -> Slosh:
        """Bodies of a mass of liquid."""
        mass = max(mass, DRY * self._full)
        made = slosh(self._radius, max(self._level(mass), SHALLOW * self._radius), mass)
        w = made.frequency(self.gravity)
        place = self._mount.copy()
        reach = 0.0 if self._springs else made.length
        place[:3, 3] += place[:3, 2] * (made.height + reach)
        self._joints[0].transform_from_parent = place
        self._swings.inertia = Inertia(made.mass, (0.0, 0.0, -reach))
        R = self._mount[:3, :3]
        moment = R @ np.diag([made.fixed_moment, made.fixed_moment, 0.0]) @ R.T
        at = self._mount[:3, 3] + self._mount[:3, 2] * made.fixed_height
        self._fixed.inertia = Inertia(made.fixed_mass, at, moment)
        carried = made.mass if self._springs else made.mass * reach**2
        for joint in self._joints:
            for dof in joint.dofs:
                dof.damping = 2.0 * self.damping_ratio * w * carried
                if self._springs:
                    dof.spring_stiffness = made.mass * w * w
        self._held = (mass, self.gravity, self.density, self.damping_ratio)
        return made

    def removed(self) -> None:
        """Its bodies go."""
        for body in (self._joints[0].child, self._fixed):
            body.remove()

    def restored(self) -> None:
        self._set(self.port("mass").value)

    def outputs(self):
        mass = max(float(self.mass), DRY * self._full)
        if self._held != (mass, self.gravity, self.density, self.damping_ratio):
            self._set(mass)
        made = slosh(self._radius, max(self._level(mass), SHALLOW * self._radius), mass)
        return {"level": self._level(mass), "slosh_mass": made.mass, "frequency": made.frequency(self.gravity)}

    def update(self):
        return {"mass": max(self.mass - self.samples * self.period * self.flow, 0.0), "samples": 1.0}
