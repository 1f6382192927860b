"""Fields of a straight beam along x: two bendings, stretch and twist, in lines of finite elements, and modes of them.

To second order a beam's strains are what is linear in the modes: curvature, twist and shear in the axes of its
sections, and no stretch of its line. With theta the rotation vector of a section, e along the beam, of first order

    theta' = kappa,   u' = gamma + theta x e      and of second      theta2' = theta x kappa / 2,
    u2' = theta2 x e + theta x gamma + theta x (theta x e) / 2,   -(v'^2 + w'^2) / 2 along e

from R' = R skew(kappa), u' = R (e + gamma) - e. Bending shortens the beam, bending both ways twists it, and twist turns
the plane of bending: w2'' = phi v''. So loads at nodes do the work of theory, by which they stiffen and buckle beams.

Source: Simo and Vu-Quoc (1986), A three-dimensional finite-strain rod model; the expansion is our own. Elements and
modes as in `beams`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.flexible.modes import ModeNode, Modes
from kido.flexible.surface import ModeSurface

if TYPE_CHECKING:
    from kido.flexible.beams import Material, Section

Array = NDArray[np.float64]
GAUSS = np.polynomial.legendre.leggauss(4)
XI, WEIGHT = 0.5 * (GAUSS[0] + 1.0), 0.5 * GAUSS[1]
STATIONS = 33  # sections that are drawn


class Line:
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


def _pairs(a: Array, b: Array) -> Array:
    """(a_m x b_n + a_n x b_m) / 2 of (places, 3, modes) each."""
    both = np.cross(a[:, :, :, None], b[:, :, None, :], axis=1)
    return 0.5 * (both + both.swapaxes(2, 3))


def _gram(weights: Array, N: Array) -> Array:
    return N.T @ (weights[:, None] * N)


class BeamFields:
    """Fields of a beam and the modes of each."""

    def __init__(self, line: Line, section: Section, material: Material, thick: bool, boundary: str):
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

    def displacements(self, x: Array, offset: Array) -> tuple[Array, Array]:
        """Displacement and rotation (places, 3, modes) of points at x, off the axis by (y, z)."""
        moved, turned = [], []
        y, z = offset[:, :1], offset[:, 1:]
        for kind, shear, vectors, _ in self.fields:
            value, _, angle = (N @ vectors for N in self.line.shapes(x, shear))
            u, w = (np.zeros((*value.shape, 3)) for _ in range(2))
            if kind == "bending_y":
                u[..., 0], u[..., 1], w[..., 2] = -angle * y, value, angle
            elif kind == "bending_z":
                u[..., 0], u[..., 2], w[..., 1] = -angle * z, value, -angle
            elif kind == "axial":
                u[..., 0] = value
            else:
                u[..., 1], u[..., 2], w[..., 0] = -value * z, value * y, value
            moved.append(u)
            turned.append(w)
        return tuple(np.concatenate(part, axis=1).swapaxes(1, 2) for part in (moved, turned))  # type: ignore[return-value]

    def strains(self, x: Array) -> tuple[Array, Array]:
        """Derivatives of the rotation, and shear, of sections at x, (places, 3, modes) each."""
        curved, sheared = [], []
        for kind, shear, vectors, _ in self.fields:
            stretch, curvature = (N @ vectors for N in self.line.strains(x, shear))
            k, g = (np.zeros((*stretch.shape, 3)) for _ in range(2))
            if kind.startswith("bending"):
                about, along, sign = (2, 1, 1.0) if kind == "bending_y" else (1, 2, -1.0)
                k[..., about] = sign * curvature
                g[..., along] = stretch - self.line.shapes(x, shear)[2] @ vectors
            elif kind == "torsion":
                k[..., 0] = stretch
            curved.append(k)
            sheared.append(g)
        return tuple(np.concatenate(part, axis=1).swapaxes(1, 2) for part in (curved, sheared))  # type: ignore[return-value]

    def second_order(self, x: Array) -> tuple[Array, Array]:
        """Second derivatives of the line's displacement and of the rotation vector at x, (places, 3, modes, modes)."""
        line = self.line
        starts = np.clip((x / line.h).astype(int), 0, line.elements - 1)

        def over(first: Array, last: Array) -> Array:
            """Integrals over pieces of the line: of what turns, of that times x, and of what moves."""
            s = (first[:, None] + (last - first)[:, None] * XI).ravel()
            theta = self.displacements(s, np.zeros((len(s), 2)))[1]
            kappa, gamma = self.strains(s)
            turns, moves = _pairs(theta, kappa), _pairs(theta, 2.0 * gamma)
            moves += 0.5 * np.einsum("sm,san->samn", theta[:, 0], theta)
            moves += 0.5 * np.einsum("sn,sam->samn", theta[:, 0], theta)
            slope = np.stack([gamma[:, 1] + theta[:, 2], gamma[:, 2] - theta[:, 1]], axis=1)
            moves[:, 0] = -np.einsum("sam,san->smn", slope, slope)
            both = np.stack([turns, turns * s[:, None, None, None], moves], axis=1)
            weight = ((last - first)[:, None] * WEIGHT).ravel()
            return np.einsum("s,s...->s...", weight, both).reshape(len(first), len(XI), *both.shape[1:]).sum(axis=1)

        edges = np.linspace(0.0, line.length, line.elements + 1)
        whole = over(edges[:-1], np.nextafter(edges[1:], 0.0))
        before = np.concatenate([np.zeros((1, *whole.shape[1:])), np.cumsum(whole, axis=0)])
        turned, arms, moved = np.moveaxis(before[starts] + over(edges[starts], x), 1, 0)
        lever = x[:, None, None, None] * turned - arms  # the integral of the rotation vector
        moved[:, 1] += lever[:, 2]
        moved[:, 2] -= lever[:, 1]
        return moved, turned

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
        moved, turned = self.displacements(at, np.zeros((len(at), 2)))
        bent, node_bent, node_turn = (np.zeros((*s.shape, s.shape[2])) for s in (shapes, moved, moved))
        if foreshortening:
            bent = self.mass_bent(corners)
            node_bent, node_turn = self.second_order(at)
        nodes = [
            ModeNode(name, (place, 0.0, 0.0), moved[k], turned[k], node_bent[k], node_turn[k])
            for k, (name, place) in enumerate(places.items())
        ]
        names = [f"{kind}{k + 1}" for kind, _, vectors, _ in self.fields for k in range(vectors.shape[1])]
        stiffness = np.concatenate([k for *_, k in self.fields])
        return Modes(
            masses, np.column_stack([x, offset]), shapes, stiffness, nodes, bent, names=names,
            surface=self.surface(foreshortening), thermal=self.thermal(), **damping,
        )  # fmt: skip

    def mass_bent(self, corners: Array) -> Array:
        """Second derivatives (points, 3, modes, modes) of the displacements of the points that have the mass.

        Sideways the line itself has none here: where twist turns a bent beam, its mass would swing, and beside it the
        inertia of twist, in which that would have to be, is nothing.
        """
        line = self.line
        bent, turned = (np.repeat(part, len(corners), axis=0) for part in self.second_order(line.x))
        bent[:, 1:] = 0.0
        theta = np.repeat(self.displacements(line.x, np.zeros((len(line.x), 2)))[1], len(corners), axis=0)
        arm = np.zeros((len(theta), 3))
        arm[:, 1:] = np.tile(corners, (len(line.x), 1))
        along = np.einsum("pam,pa->pm", theta, arm)
        bent += np.cross(turned, arm[:, :, None, None], axis=1)
        bent += 0.5 * (np.einsum("pam,pn->pamn", theta, along) + np.einsum("pan,pm->pamn", theta, along))
        bent -= np.einsum("pbm,pbn,pa->pamn", theta, theta, arm)
        return bent

    def surface(self, foreshortening: bool) -> ModeSurface:
        """Sections along the beam, joined by triangles; strain along the beam, and stress, Young's modulus times it."""
        corners, (y, z) = self.section.corners, self.section.corners.T
        x = np.linspace(0.0, self.line.length, STATIONS)
        k, centre = len(corners), np.zeros((STATIONS, 2))
        moved, rotation = self.displacements(x, centre)
        bent, turned = self.second_order(x) if foreshortening else (None, None)
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
            np.column_stack([x, centre]), moved, np.concatenate(faces), rotation, bent, turned,
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


def _lowest(K: Array, M: Array, number: int, held: int, boundary: str, line: Line, kind: str) -> tuple[Array, Array]:
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
