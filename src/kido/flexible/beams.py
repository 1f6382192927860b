"""Modes of straight beams, from a length, a section and a material.

A beam lies along x from its inboard node, the origin. Its fields (two bendings, stretch, twist) do not couple, so each
is one line of finite elements: cubic for all, for bending with shear in their shape functions, which are then exact
for forces at nodes. The mass is taken at Gauss points, which integrate these fields exactly.

Source: Przemieniecki (1968), Theory of Matrix Structural Analysis; Craig and Bampton (1968), Coupling of substructures
for dynamic analyses; Friedman and Kosmatka (1993), An improved two-node Timoshenko beam finite element.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass, named_arguments
from kido.errors import ModelError
from kido.flexible.beam_fields import BeamFields, Line
from kido.flexible.modes import Modes, numbers
from kido.math.transform import number_or_nan

Array = NDArray[np.float64]
THEORIES = ("timoshenko", "euler-bernoulli")
BOUNDARIES = ("clamped", "free", "craig-bampton")


def _check(what: str, value: Any, least: float = 0.0) -> float:
    number = number_or_nan(value)
    if not (math.isfinite(number) and number > least):
        raise ModelError(f"{what}: expected a finite number above {least:g}, got {value!r}")
    return number


@dataclass(frozen=True)
class Material:
    """A homogeneous elastic material.

    Args:
        young: Young's modulus [Pa].
        density: [kg/m^3].
        poisson: Poisson's ratio, between -1 and 0.5.
        expansion: coefficient of linear thermal expansion [1/K].

    Raises:
        ModelError: numbers out of range.
    """

    young: float
    density: float
    poisson: float = 0.3
    expansion: float = 0.0

    def __post_init__(self) -> None:
        _check("Young's modulus", self.young)
        _check("density", self.density)
        if not -1.0 < number_or_nan(self.poisson) < 0.5:
            raise ModelError(f"Poisson's ratio: expected a number between -1 and 0.5, got {self.poisson!r}")
        if not math.isfinite(number_or_nan(self.expansion)):
            raise ModelError(f"expansion: expected a finite number, got {self.expansion!r}")

    @property
    def shear(self) -> float:
        """Shear modulus [Pa]."""
        return self.young / (2.0 * (1.0 + self.poisson))


@dataclass(frozen=True)
class Section:
    """Cross-section of a beam along x, symmetric about y and z.

    Args:
        area: [m^2].
        about_y, about_z: second moments of area about both axes [m^4]: bending along z goes with that about y.
        torsion: torsion constant [m^4]; by default the polar moment, which is right for circles alone.
        shear_factor: share of the area that carries shear.
        outline: (y, z) of the corners of what is drawn [m], counter-clockwise; by default a rectangle that has the
            moments.

    Raises:
        ModelError: numbers that are not positive, an outline that is no polygon.
    """

    area: float
    about_y: float
    about_z: float
    torsion: float | None = None
    shear_factor: float = 5.0 / 6.0
    outline: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        for what in ("area", "about_y", "about_z", "shear_factor"):
            _check(f"section: {what}", getattr(self, what))
        if self.torsion is not None:
            _check("section: torsion", self.torsion)
        if self.outline is not None and len(numbers(self.outline, "section: outline", (None, 2))) < 3:
            raise ModelError(f"section: outline: expected at least 3 corners, got {self.outline!r}")

    @classmethod
    def rectangle(cls, width: float, height: float) -> Section:
        """Of a width along y and a height along z [m]; torsion by Roark's formula, within 4 %."""
        b, h = _check("width", width), _check("height", height)
        long, short = max(b, h), min(b, h)
        torsion = long * short**3 * (1.0 / 3.0 - 0.21 * short / long * (1.0 - short**4 / (12.0 * long**4)))
        return cls(b * h, b * h**3 / 12.0, h * b**3 / 12.0, torsion)

    @classmethod
    def tube(cls, outer: float, inner: float = 0.0) -> Section:
        """Ring between two radii [m], or a disc; the shear factor is Cowper's for thin tubes, or 0.9 of a disc."""
        a, b = _check("outer radius", outer), number_or_nan(inner)
        if not 0.0 <= b < a:
            raise ModelError(f"inner radius: expected a number from 0 to below {a:g}, got {inner!r}")
        moment = math.pi * (a**4 - b**4) / 4.0
        angles = np.linspace(0.0, 2.0 * math.pi, 17)[:-1]
        outline = tuple(zip((a * np.cos(angles)).tolist(), (a * np.sin(angles)).tolist(), strict=True))
        return cls(math.pi * (a * a - b * b), moment, moment, 2.0 * moment, 0.5 if b > 0.0 else 0.9, outline)

    @property
    def corners(self) -> Array:
        """(k, 2) y and z of the corners of what is drawn [m]."""
        half = math.sqrt(3.0 / self.area) * np.sqrt([self.about_z, self.about_y])
        given = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * half if self.outline is None else self.outline
        return np.asarray(given, float)


@named_arguments
def beam_modes(
    length: float,
    section: Section,
    material: Material,
    bending_y: int = 0,
    bending_z: int = 0,
    axial: int = 0,
    torsion: int = 0,
    nodes: Mapping[str, float] | None = None,
    theory: str = "timoshenko",
    boundary: str = "clamped",
    damping_ratio: ArrayLike = 0.0,
    rayleigh: ArrayLike = (0.0, 0.0),
    foreshortening: bool = True,
    elements: int = 32,
) -> Modes:
    """The lowest modes of a straight beam from x = 0, its inboard node, to x = length.

    Args:
        length: [m].
        section, material: of the beam.
        bending_y, bending_z, axial, torsion: how many modes of each kind: bending along y and along z, stretch, twist.
        nodes: distances from the inboard node [m] by name; by default {"tip": length}.
        theory: "timoshenko" has shear, inertia of sections about their axes, and twist; "euler-bernoulli" has none.
        boundary: "clamped": modes of the beam held at the inboard node; "free": those of the free beam, less the
            motion of the inboard node; "craig-bampton": deflections by forces at the tip, and modes with it held.
            Whichever, they are made orthogonal with the inboard node held.
        damping_ratio, rayleigh: as of `Modes`, kinds one after another.
        foreshortening: whether deflections of second order are kept: bending shortens the beam, which stiffens it where
            it is pulled; twist turns the plane of bending, which lets forces and moments at nodes buckle it sideways.
        elements: finite elements along the beam.

    Returns:
        Modes with a largest deflection of 1, or twist of 1 rad, positive at the tip: coordinates are metres or radians.

    Raises:
        ModelError: a number out of range, no mode at all or more than the elements have, a theory or boundary that
            there is not, nodes off the beam, twist of an Euler-Bernoulli beam.
    """
    L = _check("length", length)
    for what, value, choices in (("theory", theory, THEORIES), ("boundary", boundary, BOUNDARIES)):
        if value not in choices:
            raise ModelError(f"{what}: expected one of {', '.join(choices)}, got {value!r}")
    counts = {"bending_y": bending_y, "bending_z": bending_z, "axial": axial, "torsion": torsion, "elements": elements}
    for what, value in counts.items():
        if not isinstance(value, int | np.integer) or value < (what == "elements") or value > 2 * elements - 2:
            raise ModelError(f"{what}: expected a whole number from 0 to what the elements have, got {value!r}")
    if not bending_y + bending_z + axial + torsion:
        raise ModelError("expected at least one mode: bending_y, bending_z, axial or torsion")
    thick = theory == "timoshenko"
    if torsion and not thick:
        raise ModelError("torsion: an Euler-Bernoulli beam is a line, which does not twist; use theory='timoshenko'")
    places = {"tip": L} if nodes is None else {str(name): number_or_nan(x) for name, x in nodes.items()}
    for name, x in places.items():
        if not 0.0 <= x <= L:
            raise ModelError(f"node {name!r}: expected a place on the beam, from 0 to {L:g} m, got {nodes[name]!r}")  # type: ignore[index]
    line = Line(L, int(elements))
    beam = BeamFields(line, section, material, thick, boundary)
    kinds = [("bending_y", bending_y), ("bending_z", bending_z), ("axial", axial), ("torsion", torsion)]
    for kind, number in kinds:
        beam.add(kind, int(number))
    return beam.modes(places, foreshortening, damping_ratio=damping_ratio, rayleigh=rayleigh)
