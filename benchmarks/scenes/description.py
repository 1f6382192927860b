"""What a scene is made of, without a word of any program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

G = 9.81

Vector = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Ball:
    """A sphere."""

    radius: float

    def moment(self, mass: float) -> np.ndarray:
        """Moments of inertia of the solid about its centre [kg m^2]."""
        return np.full(3, 0.4 * mass * self.radius**2)


@dataclass(frozen=True)
class Block:
    """A box by its full edges."""

    size: tuple[float, float, float]

    def moment(self, mass: float) -> np.ndarray:
        """Moments of inertia of the solid about its centre [kg m^2]."""
        squares = np.square(self.size)
        return mass / 12 * (squares.sum() - squares)


@dataclass(frozen=True, eq=False)
class Hull:
    """The convex hull of corners, given about its centre of mass along its principal axes."""

    corners: np.ndarray
    moments_per_mass: np.ndarray

    def moment(self, mass: float) -> np.ndarray:
        """Moments of inertia of the solid about its centre [kg m^2]."""
        return mass * self.moments_per_mass

    def triangles(self) -> np.ndarray:
        """Corners of the outward triangles."""
        found = ConvexHull(self.corners)
        flipped = [
            np.dot(np.cross(*(self.corners[f[1:]] - self.corners[f[0]])), e[:3]) < 0
            for f, e in zip(found.simplices, found.equations, strict=True)
        ]
        return np.array([f[::-1] if turn else f for f, turn in zip(found.simplices, flipped, strict=True)])


@dataclass(frozen=True)
class Ground:
    """The half space below z = 0 of its body."""


Shape = Ball | Block | Hull | Ground


@dataclass(frozen=True)
class Hinge:
    """A revolute joint to another body of the scene, at this body's origin; all axes aligned at the start."""

    parent: int
    axis: tuple[float, float, float]
    rate: float  # [rad/s]


@dataclass(frozen=True)
class Body:
    """A body whose origin is its centre of mass; `mass` 0: fixed to the world.

    Velocities are those of the centre of mass, in world axes. Without `moment` its inertia is that of its one shape.
    """

    mass: float
    shape: Shape | None
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Vector = (0.0, 0.0, 0.0)  # rotation vector
    velocity: Vector = (0.0, 0.0, 0.0)
    spin: Vector = (0.0, 0.0, 0.0)
    friction: float | None = None  # of all pairs with this body; None: the scene's
    belt: Vector | None = None  # surface velocity [m/s]
    moment: Vector | None = None
    parts: Sequence[tuple[Shape, Vector, float | None]] = ()  # further shapes: place, friction of pairs
    hinge: Hinge | None = None

    def moments(self) -> np.ndarray:
        """Moments of inertia about the centre of mass, along the body's axes."""
        if self.moment is not None:
            return np.asarray(self.moment, dtype=float)
        assert self.shape is not None and not isinstance(self.shape, Ground)
        return self.shape.moment(self.mass)

    def shapes(self) -> list[tuple[Shape, Vector, float | None]]:
        """Every shape with its place in the body and its own friction."""
        own = [] if self.shape is None else [(self.shape, (0.0, 0.0, 0.0), self.friction)]
        return [*own, *self.parts]


@dataclass(frozen=True)
class Scene:
    """Bodies, one coefficient of friction and of restitution, gravity, time step."""

    bodies: Sequence[Body]
    friction: float = 1.0
    restitution: float = 0.0  # of a pair of a free body and a fixed one; of two free ones: its square
    time_step: float = 2e-3
    gravity: float = G

    @property
    def has_belt(self) -> bool:
        """Some surface moves."""
        return any(body.belt is not None for body in self.bodies)

    @property
    def slippery(self) -> bool:
        """Some pairs have another friction than the rest."""
        return any(friction is not None for body in self.bodies for _, _, friction in body.shapes())


@dataclass(frozen=True)
class Touch:
    """One contact point as a program tells it."""

    a: int  # index of a body of the scene
    b: int
    gap: float  # negative: depth
    force: np.ndarray  # on b, in world axes
    point: np.ndarray
    normal: np.ndarray  # unit, from a to b


class CannotError(Exception):
    """A program has no way to say this scene; the reason."""


class TooSlowError(Exception):
    """A program used up its time."""


@dataclass(frozen=True)
class Case:
    """A scene, a number that it must give, and how to get it from a program.

    `measure(make)` builds the scene with `make(scene)` (as often as it likes) and returns the number. Errors are
    relative to `exact`, or to `scale` where that is given (`scale = 1`: absolute, in `unit`).
    """

    name: str
    exact: float
    measure: Callable[[Callable[[Scene], Any]], float]
    aim: float = 1e-3
    scale: float | None = None
    unit: str = ""
    long: bool = False  # left out of a quick run
    only_kido: str = ""  # why no peer runs it
    remark: str = ""  # to KIDO's number

    def error(self, value: float) -> float:
        """Signed error of a value."""
        return (value - self.exact) / (self.exact if self.scale is None else self.scale)


def turned(rotation: Sequence[float], vector: Sequence[float]) -> np.ndarray:
    """A vector turned by a rotation vector."""
    return Rotation.from_rotvec(rotation).apply(vector)


def floor(**options: Any) -> Body:
    """Level ground."""
    return Body(0.0, Ground(), **options)
