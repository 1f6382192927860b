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
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass, named_arguments
from kido.errors import ModelError
from kido.flexible.modes import ModeNode, Modes, numbers
from kido.flexible.surface import ModeSurface
from kido.math.transform import number_or_nan

Array = NDArray[np.float64]
THEORIES = ("timoshenko", "euler-bernoulli")
BOUNDARIES = ("clamped", "free", "craig-bampton")
GAUSS = np.polynomial.legendre.leggauss(4)
XI, WEIGHT = 0.5 * (GAUSS[0] + 1.0), 0.5 * GAUSS[1]
STATIONS = 33  # sections that are drawn


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
        foreshortening: whether bending shortens the beam, which stiffens it where it is pulled.
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
    line = _Line(L, int(elements))
    beam = _Beam(line, section, material, thick, boundary)
    kinds = [("bending_y", bending_y), ("bending_z", bending_z), ("axial", axial), ("torsion", torsion)]
    for kind, number in kinds:
        beam.add(kind, int(number))
    return beam.modes(places, foreshortening, damping_ratio=damping_ratio, rayleigh=rayleigh)


class _Line:
    """Elements of equal length, with two numbers at each end: a field and its slope, or a section's angle."""

    def __init__(self, length: float, elements: int):
        self.length, self.elements, self.h = length, elements, length / elements
        self.x = (np.arange(elements)[:, None] + XI).ravel() * self.h  # Gauss points
        self.weight = np.tile(WEIGHT * self.h, elements)

    def shapes(self, x: Array, shear: float) -> tuple[Array, Array, Array]:
        """Field, its derivative and the section's angle at places x: (places, 2 elements + 2) each."""
        element = np.clip((x / self.h).astype(int), 0, self.elements - 1)
        s, h, c = x / self.h - element, self.h, 1.0 / (1.0 + shear)
        value = c * np.stack([
            2 * s**3 - 3 * s**2 - shear * s + 1 + shear, h * (s**3 - (2 + shear / 2) * s**2 + (1 + shear / 2) * s),
            -2 * s**3 + 3 * s**2 + shear * s, h * (s**3 - (1 - shear / 2) * s**2 - shear / 2 * s),
        ])  # fmt: skip
        slope = c * np.stack([
            (6 * s**2 - 6 * s - shear) / h, 3 * s**2 - (4 + shear) * s + 1 + shear / 2,
            (-6 * s**2 + 6 * s + shear) / h, 3 * s**2 - (2 - shear) * s - shear / 2,
        ])  # fmt: skip
        angle = c * np.stack([
            6 * (s**2 - s) / h, 3 * s**2 - (4 + shear) * s + 1 + shear,
            -6 * (s**2 - s) / h, 3 * s**2 - (2 - shear) * s,
        ])  # fmt: skip
        columns = 2 * element[:, None] + np.arange(4)
        out = np.zeros((3, len(x), 2 * self.elements + 2))
        for kind, local in zip(out, (value, slope, angle), strict=True):
            np.put_along_axis(kind, columns, local.T, axis=1)
        return out[0], out[1], out[2]

    def strains(self, x: Array, shear: float) -> tuple[Array, Array]:
        """Derivatives of the field and of the section's angle at places x: (places, 2 elements + 2) each."""
        element = np.clip((x / self.h).astype(int), 0, self.elements - 1)
        s, h, c = x / self.h - element, self.h, 1.0 / (1.0 + shear)
        stretch = self.shapes(x, shear)[1]
        local = c * np.stack([
            6 * (2 * s - 1) / h**2, (6 * s - (4 + shear)) / h, -6 * (2 * s - 1) / h**2, (6 * s - (2 - shear)) / h
        ])  # fmt: skip
        curvature = np.zeros_like(stretch)
        np.put_along_axis(curvature, 2 * element[:, None] + np.arange(4), local.T, axis=1)
        return stretch, curvature

    def bending_stiffness(self, EI: float, shear: float) -> Array:
        """K of all elements; shear = 12 EI / (k G A h^2)."""
        h, p = self.h, shear
        k = np.array([
            [12, 6 * h, -12, 6 * h], [6 * h, (4 + p) * h**2, -6 * h, (2 - p) * h**2],
            [-12, -6 * h, 12, -6 * h], [6 * h, (2 - p) * h**2, -6 * h, (4 + p) * h**2],
        ]) * (EI / (h**3 * (1 + p)))  # fmt: skip
        K = np.zeros((2 * self.elements + 2,) * 2)
        for e in range(self.elements):
            K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += k
        return K


def _gram(weights: Array, N: Array) -> Array:
    return N.T @ (weights[:, None] * N)


class _Beam:
    """Fields of a beam and the modes of each."""

    def __init__(self, line: _Line, section: Section, material: Material, thick: bool, boundary: str):
        self.line, self.section, self.material, self.thick, self.boundary = line, section, material, thick, boundary
        self.fields: list[tuple[str, float, Array, Array]] = []  # kind, shear, vectors, stiffness

    def add(self, kind: str, number: int) -> None:
        """The lowest modes of one kind."""
        if not number:
            return
        a, E, G, rho = self.section, self.material.young, self.material.shear, self.material.density
        line, shear = self.line, 0.0
        if kind.startswith("bending"):
            moment = a.about_z if kind == "bending_y" else a.about_y
            if self.thick:
                shear = 12.0 * E * moment / (a.shear_factor * G * a.area * line.h**2)
            value, _, angle = line.shapes(line.x, shear)
            K = line.bending_stiffness(E * moment, shear)
            M = _gram(line.weight * rho * a.area, value)
            if self.thick:
                M += _gram(line.weight * rho * moment, angle)
            held = 2
        else:
            value, slope, _ = line.shapes(line.x, 0.0)
            polar = a.about_y + a.about_z
            stiff, inert = (E * a.area, a.area) if kind == "axial" else (G * (a.torsion or polar), polar)
            K, M = _gram(line.weight * stiff, slope), _gram(line.weight * rho * inert, value)
            held = 1
        vectors, stiffness = _lowest(K, M, number, held, self.boundary, line, kind)
        value, _, _ = line.shapes(np.append(line.x, line.length), shear)
        reach = value @ vectors
        scale = np.where(reach[-1] < 0.0, -1.0, 1.0) / np.abs(reach).max(axis=0)
        self.fields.append((kind, shear, vectors * scale, stiffness * scale**2))

    def displacements(self, x: Array, offset: Array) -> tuple[Array, Array, Array]:
        """Displacement and rotation (places, 3, modes) of points at x, off the axis by (y, z); slopes of bending."""
        moved, turned, slopes = [], [], []
        y, z = offset[:, :1], offset[:, 1:]
        for kind, shear, vectors, _ in self.fields:
            value, slope, angle = (N @ vectors for N in self.line.shapes(x, shear))
            u, w, b = (np.zeros((*value.shape, 3)) for _ in range(3))
            if kind == "bending_y":
                u[..., 0], u[..., 1], w[..., 2], b[..., 1] = -angle * y, value, angle, slope
            elif kind == "bending_z":
                u[..., 0], u[..., 2], w[..., 1], b[..., 2] = -angle * z, value, -angle, slope
            elif kind == "axial":
                u[..., 0] = value
            else:
                u[..., 1], u[..., 2], w[..., 0] = -value * z, value * y, value
            for part, own in zip((moved, turned, slopes), (u, w, b), strict=True):
                part.append(own)
        return tuple(np.concatenate(part, axis=1).swapaxes(1, 2) for part in (moved, turned, slopes))  # type: ignore[return-value]

    def shortening(self, x: Array) -> Array:
        """Integrals of products of the modes' slopes from 0 to x, (places, modes, modes)."""
        line = self.line
        starts = np.clip((x / line.h).astype(int), 0, line.elements - 1)

        def over(first: Array, last: Array) -> Array:
            points = first[:, None] + (last - first)[:, None] * XI
            b = self.displacements(points.ravel(), np.zeros((points.size, 2)))[2].reshape(*points.shape, 3, -1)
            return np.einsum("k,g,kgam,kgan->kmn", last - first, WEIGHT, b, b)

        edges = np.linspace(0.0, line.length, line.elements + 1)
        whole = over(edges[:-1], np.nextafter(edges[1:], 0.0))
        before = np.concatenate([np.zeros((1, *whole.shape[1:])), np.cumsum(whole, axis=0)])
        return before[starts] + over(edges[starts], x)

    def modes(self, places: Mapping[str, float], foreshortening: bool, **damping: ArrayLike) -> Modes:
        line, a = self.line, self.section
        corners = np.zeros((1, 2))
        if self.thick:  # four points with the moments of the section
            corners = np.array([[y, z] for y in (-1, 1) for z in (-1, 1)]) * np.sqrt(
                [a.about_z / a.area, a.about_y / a.area]
            )
        x, offset = np.repeat(line.x, len(corners)), np.tile(corners, (len(line.x), 1))
        masses = np.repeat(line.weight, len(corners)) * self.material.density * a.area / len(corners)
        shapes = self.displacements(x, offset)[0]
        at = np.array(list(places.values()))
        moved, turned, _ = self.displacements(at, np.zeros((len(at), 2)))
        bent, node_bent = (np.zeros((*s.shape, s.shape[2])) for s in (shapes, moved))
        if foreshortening:
            bent[:, 0] = -np.repeat(self.shortening(line.x), len(corners), axis=0)
            node_bent[:, 0] = -self.shortening(at)
        nodes = [
            ModeNode(name, (place, 0.0, 0.0), moved[k], turned[k], node_bent[k])
            for k, (name, place) in enumerate(places.items())
        ]
        names = [f"{kind}{k + 1}" for kind, _, vectors, _ in self.fields for k in range(vectors.shape[1])]
        stiffness = np.concatenate([k for *_, k in self.fields])
        return Modes(
            masses, np.column_stack([x, offset]), shapes, stiffness, nodes, bent, names=names,
            surface=self.surface(foreshortening), thermal=self.thermal(), **damping,
        )  # fmt: skip

    def surface(self, foreshortening: bool) -> ModeSurface:
        """Sections along the beam, joined by triangles; strain along the beam, and stress, Young's modulus times it."""
        corners, (y, z) = self.section.corners, self.section.corners.T
        x = np.linspace(0.0, self.line.length, STATIONS)
        k, centre = len(corners), np.zeros((STATIONS, 2))
        moved, rotation, _ = self.displacements(x, centre)
        bent = np.zeros((*moved.shape, moved.shape[2]))
        if foreshortening:
            bent[:, 0] = -self.shortening(x)
        strain = []
        for kind, shear, vectors, _ in self.fields:
            stretch, curvature = (N @ vectors for N in self.line.strains(x, shear))
            along = {"bending_y": -y[:, None, None] * curvature, "bending_z": -z[:, None, None] * curvature}
            strain.append(along.get(kind, np.ones((k, 1, 1)) * (stretch if kind == "axial" else 0.0 * stretch)))
        strains = np.concatenate(strain, axis=2).swapaxes(0, 1).reshape(k * STATIONS, -1)
        a, b = np.arange(k), np.roll(np.arange(k), -1)
        side = np.concatenate([np.column_stack([a, b, b + k]), np.column_stack([a, b + k, a + k])])
        cap = np.column_stack([np.zeros(k - 2, int), a[2:], a[1:-1]])
        last = k * (STATIONS - 1)
        faces = [side + k * s for s in range(STATIONS - 1)] + [cap, cap[:, ::-1] + last]
        return ModeSurface(
            np.column_stack([x, centre]), moved, np.concatenate(faces), rotation, bent,
            station=np.repeat(np.arange(STATIONS), k), arms=np.tile(np.column_stack([0.0 * y, y, z]), (STATIONS, 1)),
            fields={"strain": strains, "stress": self.material.young * strains},
        )  # fmt: skip

    def thermal(self) -> Array:
        """Modal forces (modes, 4) by warming and by gradients along x, y and z: E alpha times integrals of strain."""
        line, a, m = self.line, self.section, self.material
        ends, out = np.array([0.0, line.length]), []
        for kind, shear, vectors, _ in self.fields:
            value, _, angle = (N @ vectors for N in line.shapes(ends, shear))
            own = np.zeros((vectors.shape[1], 4))
            if kind == "axial":
                inner = line.weight @ (line.shapes(line.x, shear)[0] @ vectors)
                own[:, 0], own[:, 1] = a.area * value[1], a.area * (line.length * value[1] - inner)
            elif kind == "bending_y":
                own[:, 2] = -a.about_z * (angle[1] - angle[0])
            elif kind == "bending_z":
                own[:, 3] = -a.about_y * (angle[1] - angle[0])
            out.append(m.young * m.expansion * own)
        return np.concatenate(out)


def _lowest(K: Array, M: Array, number: int, held: int, boundary: str, line: _Line, kind: str) -> tuple[Array, Array]:
    """Vectors (size, number) that vanish at the inboard node, orthogonal, of modal mass 1; and their stiffness.

    held: how many numbers of an end are held there: 2 of bending, 1 of stretch and twist.
    """
    size = len(K)
    if boundary == "free":
        _, V = scipy.linalg.eigh(K, M, subset_by_index=(held, held + number - 1))
        rigid = np.zeros((size, held))
        rigid[::2, 0] = 1.0
        if held == 2:
            rigid[::2, 1], rigid[1::2, 1] = np.arange(line.elements + 1) * line.h, 1.0
        basis = V - rigid @ V[:held]
    elif boundary == "craig-bampton":
        if number < held:
            raise ModelError(f"{kind}: craig-bampton needs at least {held} modes, for forces at the tip; got {number}")
        basis = _craig_bampton(K, M, number, held)
    else:
        basis = np.eye(size)[:, held:]
    values, W = scipy.linalg.eigh(basis.T @ K @ basis, basis.T @ M @ basis, subset_by_index=(0, number - 1))
    return basis @ W, values


def _craig_bampton(K: Array, M: Array, number: int, held: int) -> Array:
    """Deflections by displacements of the tip, and the lowest modes with the tip held."""
    size = len(K)
    tip = np.arange(size - 2, size - 2 + held)
    inner = np.setdiff1d(np.arange(held, size), tip)
    inside = np.ix_(inner, inner)
    basis = np.zeros((size, number))
    basis[tip, :held] = np.eye(held)
    basis[inner, :held] = -scipy.linalg.solve(K[inside], K[np.ix_(inner, tip)], assume_a="pos")
    if number > held:
        basis[inner, held:] = scipy.linalg.eigh(K[inside], M[inside], subset_by_index=(0, number - held - 1))[1]
    return basis
