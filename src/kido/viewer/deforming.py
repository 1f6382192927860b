"""Flexible bodies on a page: their surfaces as they are deformed, amplified and coloured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kido.rendering.deforming import BANDS, Deformation, Deforming, DeformingBodies
from kido.rendering.rotations import matrix_from_wxyz
from kido.viewer.batches import Layer


class DeformingSet(Layer):
    """The surfaces of a model's flexible bodies in the scene of a viser server.

    Args:
        scene: of the server.
        bodies: all bodies, in the order of the pose arrays.
        look: how they are shown.
        visible: whether they are shown at first.

    Raises:
        NameLookupError: surfaces have no such values to be coloured by.

    Attributes:
        bodies: the flexible bodies.
        largest: the largest value, without sign, that has been seen of the field of the colours.
    """

    def __init__(self, scene: Any, bodies: list[Any], look: Deformation, visible: bool = True) -> None:
        super().__init__(scene, "/flexible", visible)
        self.bodies = DeformingBodies(bodies)
        self.bodies.check(look)
        self.largest = 0.0
        self._scene, self._look = scene, look
        self._handles: dict[tuple[int, int], Any] = {}

    @property
    def look(self) -> Deformation:
        """How they are shown."""
        return self._look

    @look.setter
    def look(self, value: Deformation) -> None:
        self.bodies.check(value)
        if value.colors != self._look.colors:
            self.largest = 0.0
        self._look = value

    @property
    def limit(self) -> float:
        """Value of the last colour."""
        return self._look.limit or self.largest or 1.0

    def see(self, eta: np.ndarray) -> None:
        """Have the scale of the colours reach the values at these modal coordinates."""
        if self._look.colors is not None:
            self.largest = max(self.largest, self.bodies.largest(eta, self._look.colors))

    def poses(self, positions: np.ndarray, wxyz: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and quaternions of all bodies with amplified modal coordinates."""
        return self.bodies.poses(positions, wxyz, eta, self._look.amplification)

    def update(self, positions: np.ndarray, wxyz: np.ndarray, eta: np.ndarray) -> None:
        """Show the surfaces at poses of the bodies, (nb, 3) and (nb, 4), and modal coordinates (n,)."""
        self.see(eta)
        for k, one in enumerate(self.bodies.seen):
            pieces = self.bodies.pieces(one, eta, self._look, self.limit)
            for band in range(BANDS):
                color, vertices, faces = pieces[band] if band < len(pieces) else (one.color, _NOTHING, _NOTHING)
                self._show(one, (k, band), color, vertices, faces, positions, wxyz)

    def _show(
        self, one: Deforming, key: tuple[int, int], color: Any, vertices: Any, faces: Any, positions: Any, wxyz: Any
    ) -> None:
        handle = self._handles.get(key)
        if not len(faces):
            if handle is not None:
                handle.visible = False
            return
        if handle is None:
            handle = self._handles[key] = self._scene.add_mesh_simple(
                f"/flexible/{key[0]}_{key[1]}",
                vertices.astype(np.float32),
                faces.astype(np.uint32),
                color=color,
                flat_shading=True,
                side="double",
                # As of other shapes: the browser's maps of shadows are too coarse for the models.
                receive_shadow=False,
                opacity=None if one.opacity >= 1.0 else one.opacity,
            )
        else:
            # A browser draws no triangle without its vertices: those that come first are there in either order.
            handle.vertices, handle.faces = vertices.astype(np.float32), faces.astype(np.uint32)
            if handle.color != color:
                handle.color = color
        handle.position, handle.wxyz, handle.visible = positions[one.index], wxyz[one.index], True

    def bounds(self, positions: np.ndarray, wxyz: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners (n, 3), (n, 3) of the boxes around the undeformed surfaces, and the body of each."""
        places = [
            one.flexible.modes.surface.vertices @ matrix_from_wxyz(wxyz[one.index]).T + positions[one.index]  # type: ignore[union-attr]
            for one in self.bodies.seen
        ]
        lower = np.array([p.min(axis=0) for p in places]).reshape(-1, 3)
        upper = np.array([p.max(axis=0) for p in places]).reshape(-1, 3)
        return lower, upper, np.array([one.index for one in self.bodies.seen], dtype=int)


_NOTHING = np.zeros((0, 3))


class DeformationPanel:
    """Amplification and colours of flexible bodies.

    Args:
        page: a `Viewer` or a `Player` whose model has flexible bodies.
    """

    NONE = "none"

    def __init__(self, page: Any) -> None:
        gui, view = page.server.gui, page.view
        look = view.deformation
        self.amplification = gui.add_slider(
            "Amplified",
            min=0.0,
            max=3.0,
            step=0.05,
            initial_value=float(np.clip(np.log10(look.amplification), 0.0, 3.0)),
            hint="Power of ten that deflections are multiplied by; bodies on nodes move with these",
        )
        fields = (self.NONE, *view.deforming.bodies.fields)
        self.colors = gui.add_dropdown("Colours", fields, initial_value=look.colors or self.NONE)
        self.scale = gui.add_markdown("")
        self._view = view

        def amplify(value: float) -> None:
            view.deformation = replace(view.deformation, amplification=10.0**value)

        def color(name: str) -> None:
            view.deformation = replace(view.deformation, colors=None if name == self.NONE else name, limit=None)

        self.amplification.on_update(lambda _: page.post(lambda v=float(self.amplification.value): amplify(v)))
        self.colors.on_update(lambda _: page.post(lambda n=str(self.colors.value): color(n)))

    def refresh(self) -> None:
        """Show what the colours mean."""
        field = self._view.deformation.colors
        limit = self._view.deforming.limit
        text = "" if field is None else f"blue {-limit:.3g}, white 0, red {limit:.3g}"
        if self.scale.content != text:
            self.scale.content = text


def deformation_panel(page: Any, order: float | None = None) -> DeformationPanel | None:
    """A folder of the page with the panel; None if its model has no flexible bodies that are seen."""
    if not page.view.deforming.bodies.seen:
        return None
    with page.server.gui.add_folder("Flexible bodies", order=order):
        return DeformationPanel(page)
