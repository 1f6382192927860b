"""What actuators and tendons are: descriptions in Python, which `Actuators` compiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kido.actuation.schema import (
    AFFINE,
    CONSTANT,
    CYLINDER,
    DIRECT,
    EXACT_FILTER,
    FILTER,
    INTEGRATOR,
    MUSCLE,
    MUSCLE_ACTIVATION,
    SPHERE,
)
from kido.errors import ModelError
from kido.reprs import brief
from kido.skeleton import BodyNode, DegreeOfFreedom, Joint

Array = NDArray[np.float64]
ANY = (-np.inf, np.inf)
DYNAMICS = {
    "none": DIRECT,
    "integrator": INTEGRATOR,
    "filter": FILTER,
    "filterexact": EXACT_FILTER,
    "muscle": MUSCLE_ACTIVATION,
}
GAINS = {"fixed": CONSTANT, "affine": AFFINE, "muscle": MUSCLE}
BIASES = {"none": CONSTANT, "affine": AFFINE, "muscle": MUSCLE}
AROUND = {"sphere": SPHERE, "cylinder": CYLINDER}


@dataclass(frozen=True, eq=False)
class Place:
    """A frame on a body, or in the world.

    Attributes:
        body: None: the world.
        pose: (4, 4) in the body's axes.
    """

    body: BodyNode | None
    pose: Array

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Around:
    """A part of a path around a sphere or the axis z of a cylinder without ends; places come before and after it.

    Attributes:
        place: its centre and axes.
        radius: [m]
        shape: "sphere" or "cylinder".
        side: where the string runs; inside of the shape: the string stays inside of it. None: the shorter way.
    """

    place: Place
    radius: float
    shape: str = "sphere"
    side: Place | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Pulley:
    """What follows in a path counts as its length by `divisor`, and its force is divided by it; the line is broken."""

    divisor: float


@dataclass(frozen=True, eq=False)
class Linear:
    """Length: sum of factor * q over coordinates."""

    terms: Sequence[tuple[DegreeOfFreedom, float]]


@dataclass(frozen=True, eq=False)
class Ball:
    """Length: rotation vector of a ball joint times the gear (3,), which is in the child's axes or the parent's."""

    joint: Joint
    gear: Array
    in_parent: bool = False

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Wrench:
    """A force and a torque at a place, times the gear (6,), force first.

    Without a reference there is no length, the moment is that of the wrench. With one it is length as well: position
    and rotation vector relative to it, in its axes, times the gear; the reference takes the opposite, and what moves
    both takes no part.

    Attributes:
        force_axes, torque_axes: "place", "reference" or "world".
    """

    place: Place
    gear: Array
    reference: Place | None = None
    force_axes: str = "place"
    torque_axes: str = "place"

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Path:
    """Length of a string through places, around bodies and over pulleys."""

    items: Sequence[Place | Around | Pulley]


Transmission = Linear | Ball | Wrench | Path


@dataclass(frozen=True, eq=False)
class Tendon:
    """A length with a spring, a damper and actuators: of coordinates (`Linear`), or of a string (`Path`).

        force along it = -stiffness * (length beyond rest) - damping * velocity

    Attributes:
        name: for messages and lookup.
        transmission: its length.
        stiffness, damping: [N/m], [N s/m]
        rest: lengths between which the spring is at rest [m].
        force_range: of all actuators on it together [N].
    """

    name: str
    transmission: Linear | Path
    stiffness: float = 0.0
    damping: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    force_range: tuple[float, float] = ANY


@dataclass(frozen=True, eq=False)
class Actuator:
    """A force along a transmission, by a control.

        force = gain(length, velocity) * input + bias(length, velocity)

    The input is the control within its range, or the activation a, a state:

        integrator: da/dt = control;  filter, filterexact: da/dt = (control - a) / T (the latter by its solution);
        muscle: as filter, with time constants of its own for rise and fall that depend on a.

    Attributes:
        name: for messages and lookup.
        transmission: what it acts along, or the tendon.
        gear: its length by that of the transmission.
        dynamics: "none", "integrator", "filter", "filterexact", "muscle".
        dynamics_parameters: time constants [s].
        gain: "fixed": g0; "affine": g0 + g1 length + g2 velocity; "muscle".
        gain_parameters, bias_parameters: up to nine numbers. Of a muscle: range of lengths by the optimal one (2),
            greatest force, unused, least and greatest normalized length with force, greatest velocity, greatest passive
            force, greatest force at stretch.
        bias: "none", "affine", "muscle".
        control_range, activation_range, force_range: within which these are brought.
        length_range: of a muscle [m].
        period: of what the input means; 0: there is none.
        early: the activation at the end of the step acts.
        active: whether it gives a force.
    """

    name: str
    transmission: Transmission | Tendon
    gear: float = 1.0
    dynamics: str = "none"
    dynamics_parameters: Sequence[float] = ()
    gain: str = "fixed"
    gain_parameters: Sequence[float] = (1.0,)
    bias: str = "none"
    bias_parameters: Sequence[float] = ()
    control_range: tuple[float, float] = ANY
    activation_range: tuple[float, float] = ANY
    force_range: tuple[float, float] = ANY
    length_range: tuple[float, float] = (0.0, 0.0)
    period: float = 0.0
    early: bool = False
    active: bool = True
    kinds: tuple[int, int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for key, kinds in (("dynamics", DYNAMICS), ("gain", GAINS), ("bias", BIASES)):
            if getattr(self, key) not in kinds:
                raise ModelError(
                    f"actuator {self.name!r}: {key}: expected one of {', '.join(kinds)}, got {getattr(self, key)!r}"
                )
        for key, most in (("gain_parameters", 9), ("bias_parameters", 9), ("dynamics_parameters", 3)):
            values = getattr(self, key)
            if len(values) > most or not np.isfinite(values).all():
                raise ModelError(
                    f"actuator {self.name!r}: {key}: expected up to {most} finite numbers, got {values!r:.100}"
                )
        object.__setattr__(self, "kinds", (DYNAMICS[self.dynamics], GAINS[self.gain], BIASES[self.bias]))


def motor(name: str, dof: DegreeOfFreedom, gear: float = 1.0, **options: object) -> Actuator:
    """A motor on a coordinate: its force is gear * control, its torque at the motor the control."""
    return Actuator(name, Linear([(dof, float(gear))]), **options)  # type: ignore[arg-type]


def position_servo(name: str, dof: DegreeOfFreedom, kp: float, kv: float = 0.0, **options: object) -> Actuator:
    """A servo on a coordinate: force kp (control - q) - kv u."""
    gains = {"gain_parameters": (kp,), "bias": "affine", "bias_parameters": (0.0, -kp, -kv)}
    return Actuator(name, Linear([(dof, 1.0)]), **gains, **options)  # type: ignore[arg-type]


def velocity_servo(name: str, dof: DegreeOfFreedom, kv: float, **options: object) -> Actuator:
    """A servo on a coordinate: force kv (control - u)."""
    gains = {"gain_parameters": (kv,), "bias": "affine", "bias_parameters": (0.0, 0.0, -kv)}
    return Actuator(name, Linear([(dof, 1.0)]), **gains, **options)  # type: ignore[arg-type]
