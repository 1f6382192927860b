"""Flexible bodies in pictures: where their surfaces are, amplified deflections, and colours by stress or strain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass as plain_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.attributes import dataclass
from kido.errors import NameLookupError, StateError
from kido.flexible import FlexibleBody, NodeJoint, flexible_bodies
from kido.math.transform import number_or_nan
from kido.rendering.rotations import matrix_from_wxyz, wxyz_from_matrix
from kido.rendering.things import node_colors

Array = NDArray[np.float64]
BANDS = 11
"""Colours of a scale: values are shown in steps, as on a map."""


@dataclass(frozen=True)
class Deformation:
    """How flexible bodies are shown.

    Args:
        amplification: of the modal coordinates: bodies on nodes are shown where these would have them. 1: as it is.
        colors: name of a field of the surfaces, such as "strain" or "stress", whose values are shown as colours from
            blue (the least) by white (none) to red (the most); None: bodies have their own colour.
        limit: value of the last colour; None: the largest that has been seen.

    Raises:
        StateError: an amplification or a limit that is not a finite number above 0.
    """

    amplification: float = 1.0
    colors: str | None = None
    limit: float | None = None

    def __post_init__(self) -> None:
        for what, value in (("amplification", self.amplification), ("limit", self.limit)):
            number = 1.0 if value is None else number_or_nan(value)
            if not (math.isfinite(number) and number > 0.0):
                raise StateError(f"Deformation {what} is {value!r}; expected a finite number above 0.")


@plain_dataclass
class Deforming:
    """A flexible body among the bodies of a model, and how it is drawn.

    Attributes:
        index: of the body.
        flexible: the body.
        part: where its coordinates stand among the modal coordinates of the model.
        node: its surface, if it is drawn, with colour (RGB bytes) and opacity.
    """

    index: int
    flexible: FlexibleBody
    part: slice
    node: Any = None
    color: tuple[int, int, int] = (150, 156, 164)
    opacity: float = 1.0


class DeformingBodies:
    """The flexible bodies of a model.

    Args:
        bodies: all bodies, in the order of the arrays of poses.

    Attributes:
        all: the flexible bodies.
        seen: those whose surface is drawn.
        fields: names of the values that their surfaces have.
        number: of modal coordinates.
    """

    def __init__(self, bodies: Sequence[Any]):
        skeletons = list({id(b.skeleton): b.skeleton for b in bodies}.values())
        index = {id(b): k for k, b in enumerate(bodies)}
        self.all: list[Deforming] = []
        self.number = 0
        for skeleton in skeletons:
            for flexible in flexible_bodies(skeleton):
                part = slice(self.number, self.number + flexible.modes.number)
                self.all.append(Deforming(index[id(flexible.body)], flexible, part))
                self.number = part.stop
        looks = {id(node): (rgb, opacity) for _, node, rgb, opacity in node_colors(list(bodies))} if self.all else {}
        for one in self.all:
            node = one.flexible.surface
            if node is not None and node.visual:
                one.node, (one.color, one.opacity) = node, looks[id(node)]
        self.seen = [one for one in self.all if one.node is not None]
        self.fields = sorted({name for one in self.seen for name in one.flexible.modes.surface.fields})  # type: ignore[union-attr]
        # Bodies below a flexible one, each with its parent and, if it is a node's, which.
        self._below: list[tuple[int, int, tuple[Deforming, str] | None]] = []
        owners = {id(one.flexible.body): one for one in self.all}
        moved: set[int] = set()
        for k, body in enumerate(bodies):
            parent, joint = body.parent, body.parent_joint
            owner = owners.get(id(parent)) if isinstance(joint, NodeJoint) else None
            if parent is not None and (owner is not None or index[id(parent)] in moved):
                moved.add(k)
                self._below.append((k, index[id(parent)], None if owner is None else (owner, joint.node)))

    def is_surface(self, node: Any) -> bool:
        """Whether a shape is drawn as it is deformed."""
        return any(one.node is node for one in self.seen)

    def coordinates(self) -> Array:
        """Modal coordinates (number,) of the model as it is."""
        found = [one.flexible.coordinates.skeleton.positions[one.flexible.dofs] for one in self.all]
        return np.concatenate([np.zeros(0), *found])

    def check(self, look: Deformation) -> None:
        """Raise a `NameLookupError` if no surface has the values that are to be shown."""
        if look.colors is not None and look.colors not in self.fields:
            raise NameLookupError("field of the flexible bodies", look.colors, self.fields)

    def poses(self, positions: Array, wxyz: Array, eta: Array, amplification: float) -> tuple[Array, Array]:
        """Positions (nb, 3) and quaternions (nb, 4) of all bodies with amplified modal coordinates."""
        if amplification == 1.0 or not self._below:
            return positions, wxyz
        before = np.tile(np.eye(4), (len(positions), 1, 1))
        before[:, :3, :3], before[:, :3, 3] = matrix_from_wxyz(wxyz), positions
        after = before.copy()
        for k, parent, node in self._below:
            if node is None:
                after[k] = after[parent] @ np.linalg.solve(before[parent], before[k])
            else:
                owner, name = node
                after[k] = after[parent] @ owner.flexible.modes.node(name).pose(amplification * eta[owner.part])
        return after[:, :3, 3].copy(), wxyz_from_matrix(after[:, :3, :3])

    def vertices(self, one: Deforming, eta: Array, look: Deformation) -> Array:
        """Of a surface, body axes [m]."""
        surface = one.flexible.modes.surface
        assert surface is not None
        return surface.vertices + surface.displacements(look.amplification * eta[one.part])

    def pieces(
        self, one: Deforming, eta: Array, look: Deformation, limit: float
    ) -> list[tuple[tuple[int, int, int], Array, NDArray[np.int64]]]:
        """A surface as it is drawn: (colour, vertices, triangles) of the whole, or of each of the scale's colours."""
        surface, points = one.flexible.modes.surface, self.vertices(one, eta, look)
        assert surface is not None
        if look.colors is None:
            return [(one.color, points, surface.faces)]
        number, made = bands(self.values(one, eta, look.colors), limit), []
        for k, rgb in enumerate(scale_colors()):
            used, corners = np.unique(surface.faces[number == k], return_inverse=True)
            color = int(rgb[0]), int(rgb[1]), int(rgb[2])
            made.append((color, points[used], corners.reshape(-1, 3)))
        return made

    def values(self, one: Deforming, eta: Array, field: str) -> Array:
        """Of a field on the triangles of a surface, the mean of their corners; zeros where it has none."""
        surface = one.flexible.modes.surface
        assert surface is not None
        if field not in surface.fields:
            return np.zeros(len(surface.faces))
        return surface.values(field, eta[one.part])[surface.faces].mean(axis=1)

    def largest(self, eta: Array, field: str) -> float:
        """The largest value of a field, without sign, on all surfaces."""
        found = [np.abs(self.values(one, eta, field)).max(initial=0.0) for one in self.seen]
        return float(max(found, default=0.0))


def modal_columns(skeletons: Sequence[Any]) -> list[int]:
    """Which of the positions of skeletons, one after another, are modal coordinates of flexible bodies."""
    dofs = [dof for skeleton in skeletons for dof in skeleton.dofs]
    return [k for k, dof in enumerate(dofs) if dof.joint.has_modes]


def scale_colors() -> NDArray[np.uint8]:
    """(BANDS, 3) bytes: blue, white, red."""
    blue, white, red = np.array([38, 88, 168.0]), np.array([238, 238, 234.0]), np.array([184, 36, 44.0])
    t = np.linspace(-1.0, 1.0, BANDS)[:, None]
    end = np.where(t < 0.0, blue, red)
    return np.round(white + np.abs(t) ** 0.8 * (end - white)).astype(np.uint8)


def bands(values: Array, limit: float) -> NDArray[np.int64]:
    """Number of the colour of each value."""
    share = np.clip(np.asarray(values) / max(limit, 1e-300), -1.0, 1.0)
    return np.round(0.5 * (share + 1.0) * (BANDS - 1)).astype(np.int64)
