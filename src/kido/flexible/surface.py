"""What is seen of a flexible body, and touched: triangles that deform with its modes, and values such as strain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.attributes import dataclass
from kido.errors import ModelError, NameLookupError
from kido.flexible.modes import numbers, symmetric
from kido.math.lie import exp_rotation
from kido.reprs import brief

Array = NDArray[np.float64]
_ARRAYS = ("positions", "translation", "faces", "rotation", "second_order", "second_rotation", "station", "arms")


@dataclass(frozen=True, eq=False)
class ModeSurface:
    """The surface of a flexible body: points that modes move, joined by triangles; body axes.

    A vertex is at an arm from a station, which modes move and turn as they do a `ModeNode`:
    rho + Phi eta + G(eta, eta) / 2 + exp(Theta eta + T(eta, eta) / 2) r. A beam's stations are its sections; of a mesh
    each vertex is a station of its own, and there are no arms.

    Args:
        positions: (s, 3) of the stations, undeformed [m].
        translation: (s, 3, n) displacement per mode.
        faces: (f, 3) vertices of each triangle, counter-clockwise from outside.
        rotation: (s, 3, n) rotation vector per mode [rad]; by default none.
        second_order: (s, 3, n, n) second derivatives of the displacement, symmetric; by default zero.
        second_rotation: (s, 3, n, n) those of the rotation vector; by default zero.
        station: (v,) of each vertex; by default vertices are the stations.
        arms: (v, 3) from a vertex's station to it, undeformed [m]; by default zero.
        fields: values at the vertices by name, linear in eta: (v, n) of a number such as a strain, or (v, 6, n) of a
            symmetric tensor such as stress (xx, yy, zz, yz, xz, xy), of which the value is von Mises' equivalent.

    Raises:
        ModelError: arrays of other shapes, numbers that are not finite, triangles or stations that there are not.
    """

    positions: Any
    translation: Any
    faces: Any
    rotation: Any = None
    second_order: Any = None
    second_rotation: Any = None
    station: Any = None
    arms: Any = None
    fields: Any = None

    def __post_init__(self) -> None:
        made: dict[str, Any] = {"positions": numbers(self.positions, "surface: positions", (None, 3))}
        s = len(made["positions"])
        made["translation"] = numbers(self.translation, "surface: translation", (s, 3, None))
        n = made["translation"].shape[2]
        zero = np.zeros((s, 3, n))
        made["rotation"] = zero if self.rotation is None else numbers(self.rotation, "surface: rotation", (s, 3, n))
        for key in ("second_order", "second_rotation"):
            made[key] = symmetric(getattr(self, key), f"surface: {key}", (s, 3, n, n))
        made["station"] = _indices(np.arange(s) if self.station is None else self.station, "station", (None,), s)
        v = len(made["station"])
        made["arms"] = np.zeros((v, 3)) if self.arms is None else numbers(self.arms, "surface: arms", (v, 3))
        made["faces"] = _indices(self.faces, "faces", (None, 3), v)
        fields: dict[str, Array] = {}
        for name, given in ({} if self.fields is None else dict(self.fields)).items():
            shape = (v, 6, n) if np.ndim(given) == 3 else (v, n)
            fields[str(name)] = fixed(numbers(given, f"surface: field {name!r}", shape))
        for key, array in made.items():
            object.__setattr__(self, key, fixed(array))
        object.__setattr__(self, "fields", fields)

    __repr__ = brief

    @property
    def number(self) -> int:
        """Of modes."""
        return self.translation.shape[2]

    @property
    def vertices(self) -> Array:
        """(v, 3) undeformed [m]."""
        return fixed(self.positions[self.station] + self.arms)

    def displacements(self, eta: Array) -> Array:
        """(v, 3) of the vertices, body axes [m], by modal coordinates (n,)."""
        moved = self.translation @ eta + 0.5 * (self.second_order @ eta) @ eta
        vectors = self.rotation @ eta + 0.5 * (self.second_rotation @ eta) @ eta
        turns = exp_rotation(vectors) if len(moved) else np.zeros((0, 3, 3))
        return moved[self.station] + np.einsum("vab,vb->va", turns[self.station], self.arms) - self.arms

    def vertex_modes(self) -> tuple[Array, Array]:
        """(v, 3, n) displacements per mode of the vertices and (v, 3, n, n) their second derivatives, body axes.

        A vertex is then at x + sum_m eta_m (Phi_m + G_m eta / 2), which is `displacements` but for terms of third order
        in a section's angle.
        """
        turn, arm = self.rotation[self.station].swapaxes(1, 2), self.arms[:, None]
        swung = np.cross(turn, arm)  # (v, n, 3)
        twice = np.cross(turn[:, :, None], swung[:, None])
        twice = 0.5 * (twice + twice.swapaxes(1, 2))
        turned = np.cross(self.second_rotation[self.station], self.arms[:, :, None, None], axis=1)
        return (
            self.translation[self.station] + swung.swapaxes(1, 2),
            self.second_order[self.station] + turned + np.moveaxis(twice, 3, 1),
        )

    def values(self, field: str, eta: Array) -> Array:
        """(v,) of a field at the vertices by modal coordinates (n,); of a tensor von Mises' equivalent.

        Raises:
            NameLookupError: there is no such field.
        """
        if field not in self.fields:
            raise NameLookupError("field of the surface", field, list(self.fields))
        found = self.fields[field] @ eta
        if found.ndim == 1:
            return found
        xx, yy, zz, yz, xz, xy = found.T
        normal = 0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2)
        return np.sqrt(normal + 3.0 * (yz**2 + xz**2 + xy**2))

    def to_dict(self) -> dict[str, Any]:
        """Arrays by name, from which `from_dict` makes the same surface."""
        return {**{key: getattr(self, key) for key in _ARRAYS}, "fields": dict(self.fields)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ModeSurface:
        """A surface from what `to_dict` gave.

        Raises:
            ModelError: something is missing, or is as the constructor refuses it; says what.
        """
        for key in _ARRAYS[:3]:
            if key not in data:
                raise ModelError(f"surface: there is no {key!r}; expected what ModeSurface.to_dict gives")
        return cls(**{key: data.get(key) for key in _ARRAYS}, fields=data.get("fields"))


def _indices(value: Any, what: str, shape: tuple[int | None, ...], count: int) -> NDArray[np.int64]:
    given = numbers(value, f"surface: {what}", shape)
    found = given.astype(np.int64)
    wrong = (found != given) | (found < 0) | (found >= count)
    if wrong.any():
        raise ModelError(
            f"surface: {what}: expected whole numbers from 0 to below {count}, got {given[wrong].flat[0]:g}"
        )
    return found
