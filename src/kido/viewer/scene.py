"""A model in the scene of a viser server: shapes, ground, light, frames and contact forces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kido.errors import NameLookupError
from kido.rendering import palette
from kido.rendering.deforming import Deformation
from kido.rendering.geometry import shape_parts
from kido.rendering.model import (
    Model,
    basis,
    bodies_of,
    contacts_of,
    drawn_version,
    gravity_of,
    is_mobile,
    is_world,
    model_poses,
    nice_cell,
    planes_of,
    skeletons_of,
    typical,
    up_axis,
)
from kido.rendering.rotations import wxyz_along_z
from kido.rendering.things import Instance, node_colors
from kido.skeleton import Skin
from kido.viewer.batches import Batch, BatchSet, Layer, SkinSet, displacements_of, skin_colors
from kido.viewer.camera import CameraPose, fit
from kido.viewer.deforming import DeformingSet
from kido.viewer.forces import ArrowSet, arrow_vectors


def add_ground(scene: Any, name: str, point: np.ndarray, normal: np.ndarray, extent: float, center: np.ndarray) -> Any:
    """A grid with shadows in the plane through ``point`` (3,) with unit ``normal`` (3,).

    Args:
        scene: scene of a viser server.
        name: scene path.
        point: a point of the plane.
        normal: its unit normal, away from the solid side.
        extent: size of the model [m], sets the cells.
        center: the model's centre; the grid fades out around its foot point.
    """
    n = np.asarray(normal, dtype=float)
    wxyz = wxyz_along_z(n[None])[0]
    foot = center - n * float(n @ (center - point))
    cell = nice_cell(extent)
    # Grid lines stay on multiples of the cell, so that they can be read as coordinates.
    offset = foot - point
    foot = point + np.round(offset / (5 * cell)) * (5 * cell)
    foot = foot - n * float(n @ (foot - point))
    size = float(np.ceil(max(50.0 * extent, 40.0 * cell) / (10 * cell)) * 10 * cell)
    return scene.add_grid(
        name,
        width=size,
        height=size,
        plane="xy",
        cell_size=cell,
        section_size=5 * cell,
        cell_color=palette.GRID_CELL,
        section_color=palette.GRID_SECTION,
        cell_thickness=0.6,
        section_thickness=0.9,
        plane_color=palette.GROUND,
        plane_opacity=1.0,
        shadow_opacity=0.28,
        fade_distance=24.0 * extent,
        fade_strength=0.5,
        fade_from="camera",
        wxyz=wxyz,
        # A hair below, so that what lies in the plane is not cut by it.
        position=foot - n * 1e-4 * extent,
    )


def add_lights(scene: Any, up: np.ndarray) -> None:
    """Replace the browser's default lights, which overexpose matt colours, for a scene with this up axis."""
    scene.configure_default_lights(False)
    scene.configure_environment_map(None)
    B = basis(up)
    scene.add_frame("/light", show_axes=False)
    scene.add_light_hemisphere(
        "/light/sky",
        sky_color=(235, 242, 255),
        ground_color=(120, 116, 112),
        intensity=1.2,
        position=tuple(B @ np.array([0.0, 0.0, 1.0])),
    )
    key = B @ np.array([0.45, -0.35, 1.0])
    scene.add_light_directional("/light/key", intensity=2.9, cast_shadow=True, position=tuple(10.0 * key))
    fill = B @ np.array([0.3, 1.0, 0.4])
    scene.add_light_directional("/light/fill", intensity=0.5, position=tuple(10.0 * fill))


LAYERS = ("model", "collision", "frames", "contacts", "ground")
"""What can be shown and hidden."""


class SceneView:
    """Draws a model, moves it, and follows what is added to it, changed or removed.

    Args:
        server: viser server.
        model: World or Skeleton.
        show: layers shown at first, of ``LAYERS``.
        poses: positions (nb, 3) and wxyz (nb, 4) to start with; the model's own if None.
        made: called with every batch of visual shapes that is made.
        deformation: how flexible bodies are shown; can be set later.

    Raises:
        NameLookupError: there is no such layer, or there are no such values to colour flexible bodies by.

    Attributes:
        bodies: all bodies, in the order of the pose arrays.
        extent: size of the model [m].
        body_size: typical size of one moving skeleton [m].
        force_scale: length of a contact arrow per force [m/N], times force_factor.
        force_factor: 1 unless people make the arrows longer or shorter.
    """

    def __init__(
        self,
        server: Any,
        model: Model,
        *,
        show: tuple[str, ...] = ("model", "ground", "contacts"),
        poses: tuple[np.ndarray, np.ndarray] | None = None,
        made: Callable[[Batch], None] | None = None,
        deformation: Deformation | None = None,
    ) -> None:
        for layer in show:
            if layer not in LAYERS:
                raise NameLookupError("layer to show", layer, LAYERS)
        self.server = server
        self.model = model
        self.up = up_axis(model)
        scene = server.scene
        scene.set_up_direction(self.up)
        add_lights(scene, self.up)
        self._show = set(show)
        self.force_factor = 1.0
        self._drawn = drawn_version(model)
        self.bodies = bodies_of(model)
        self.positions, self.wxyz = model_poses(model) if poses is None else poses
        self.deforming = self._make_deforming(Deformation() if deformation is None else deformation)
        visual, self._collision_instances = _instances(self.bodies, self.deforming)
        self.visual = BatchSet(scene, "/model", visual, visible="model" in self._show, made=made)
        self.skins = self._make_skins()
        self.collision: BatchSet | None = None
        self._frames: Any = None
        self.grounds: list[Any] = []
        self.ground = Layer(scene, "/ground", "ground" in self._show)
        self._measure()
        self.contacts = ArrowSet(scene, "/contacts", 0.009 * self.body_size, visible="contacts" in self._show)
        for layer in ("collision", "frames"):
            if layer in self._show:
                self.set_visible(layer, True)
        self.update() if poses is None else self.update(*poses)

    def _make_deforming(self, look: Deformation) -> DeformingSet:
        return DeformingSet(self.server.scene, self.bodies, look, "model" in self._show)

    @property
    def deformation(self) -> Deformation:
        """How flexible bodies are shown.

        Raises:
            NameLookupError: when set, there are no such values to colour them by.
        """
        return self.deforming.look

    @deformation.setter
    def deformation(self, value: Deformation) -> None:
        self.deforming.look = value

    def _make_skins(self) -> SkinSet:
        return SkinSet(self.server.scene, self.bodies, skin_colors(self.bodies), "model" in self._show)

    def _measure(self) -> None:
        """Sizes of the model, and the ground that fits them."""
        self.lower, self.upper = self.bounds(self.positions, self.wxyz)
        self.extent = max(float(np.linalg.norm(self.upper - self.lower)) / np.sqrt(3.0), 1e-3)
        self.body_size = self._typical_size()
        self.force_scale = self._default_force_scale()
        self._add_grounds()

    def _add_grounds(self) -> None:
        center = 0.5 * (self.lower + self.upper)
        planes = [(point, normal) for _, point, normal in planes_of(self.model)]
        if not planes:
            foot = center + self.up * (float(self.up @ self.lower_along_up()) - float(self.up @ center))
            planes = [(foot, self.up)]
        for grid in self.grounds:
            grid.remove()
        self.grounds = [
            add_ground(self.server.scene, f"/ground/plane_{k}", point, normal, self.extent, center)
            for k, (point, normal) in enumerate(planes)
        ]

    def follow(self) -> bool:
        """Draw what was added to the model, changed or removed since. True if bodies, joints or shapes were."""
        now, before = drawn_version(self.model), self._drawn
        if now == before:
            return False
        changed = [(s, v) for s, v, _ in now] != [(s, v) for s, v, _ in before]
        with self.server.atomic():
            if changed:
                self.bodies = bodies_of(self.model)
                self.positions, self.wxyz = model_poses(self.model)
            if changed or self.deforming.bodies.all:
                look = self.deformation
                self.deforming.remove()
                self.deforming = self._make_deforming(Deformation(look.amplification))
                if look.colors in self.deforming.bodies.fields:
                    self.deforming.look = look
            visual, self._collision_instances = _instances(self.bodies, self.deforming)
            self.visual.draw(visual)
            if changed or self.skins.points:
                self.skins.remove()
                self.skins = self._make_skins()
            if changed:
                self._measure()
                self.contacts.radius = 0.009 * self.body_size
                if self.collision is not None:
                    self.collision.draw(self._collision_instances)
                if self._frames is not None:
                    self._frames.remove()
                    self._frames = None
                    self.set_visible("frames", "frames" in self._show)
        self._drawn = now
        return changed

    def lower_along_up(self) -> np.ndarray:
        """Lowest point of the model, or the origin if the whole model is above it and stands near it."""
        lowest = min(float(self.up @ corner) for corner in (self.lower, self.upper))
        if 0.0 <= lowest < 0.25 * self.extent:
            lowest = 0.0
        return self.up * lowest

    def boxes(self, positions: np.ndarray, wxyz: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corners (n, 3), (n, 3) of the boxes around the shapes that move, or around all if none does."""
        lower, upper, bodies = self._shape_bounds(positions, wxyz)
        mobile = np.array([is_mobile(b.skeleton) for b in self.bodies], dtype=bool)
        keep = mobile[bodies] if len(bodies) else np.zeros(0, dtype=bool)
        if keep.any():
            # Scenery counts where it stands around what moves.
            low, high = lower[keep].min(axis=0), upper[keep].max(axis=0)
            margin = 0.5 * np.max(high - low)
            around = np.all((lower <= high + margin) & (upper >= low - margin), axis=1)
            small = np.max(upper - lower, axis=1) < 4.0 * np.max(high - low)
            keep = keep | (around & small)
            lower, upper = lower[keep], upper[keep]
        if len(lower):
            return lower, upper
        if len(positions):
            return positions - 0.1, positions + 0.1
        return np.full((1, 3), -0.5), np.full((1, 3), 0.5)

    def _shape_bounds(self, positions: np.ndarray, wxyz: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners (n, 3), (n, 3) of the boxes around all shapes, skins too, and the body of each."""
        kinds = (self.visual, self.skins, self.deforming)
        lower, upper, bodies = (
            np.concatenate(parts) for parts in zip(*(k.bounds(positions, wxyz) for k in kinds), strict=True)
        )
        return lower, upper, bodies.astype(int)

    def bounds(self, positions: np.ndarray, wxyz: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corners (3,), (3,) of the box around what moves."""
        lower, upper = self.boxes(positions, wxyz)
        return lower.min(axis=0), upper.max(axis=0)

    def _typical_size(self) -> float:
        """Size of a typical one of the moving skeletons [m]."""
        lower, upper, bodies = self._shape_bounds(self.positions, self.wxyz)
        moving = [s for s in skeletons_of(self.model) if is_mobile(s)]
        number = {id(s): k for k, s in enumerate(moving)}
        owner = np.array([number.get(id(b.skeleton), -1) for b in self.bodies], dtype=int)[bodies]
        own = owner >= 0
        if not own.any():
            return self.extent
        low, high = np.full((len(moving), 3), np.inf), np.full((len(moving), 3), -np.inf)
        np.minimum.at(low, owner[own], lower[own])
        np.maximum.at(high, owner[own], upper[own])
        seen = np.unique(owner[own])
        sizes = np.linalg.norm(high[seen] - low[seen], axis=1) / np.sqrt(3.0)
        return typical(sizes, [float(moving[k].mass) for k in seen])

    def typical_weight(self) -> float:
        """Weight of a typical one of the moving skeletons [N], on Earth where there is no gravity; 0: there is none."""
        masses = [float(s.mass) for s in skeletons_of(self.model) if is_mobile(s)]
        g = float(np.linalg.norm(gravity_of(self.model))) or 9.81
        return g * typical(masses, masses) if masses else 0.0

    def _default_force_scale(self) -> float:
        weight = self.typical_weight()
        return 2.5 * self.body_size / weight if weight > 0 else 0.01

    def set_visible(self, layer: str, visible: bool) -> None:
        """Show or hide a layer of ``LAYERS``; what is shown for the first time is made then.

        Raises:
            NameLookupError: there is no such layer.
        """
        scene = self.server.scene
        if layer == "model":
            self.visual.visible = self.skins.visible = self.deforming.visible = visible
        elif layer == "collision":
            if self.collision is None and visible:
                self.collision = BatchSet(scene, "/collision", self._collision_instances, plain=True)
                self.collision.update(self.positions, self.wxyz)
            if self.collision is not None:
                self.collision.visible = visible
        elif layer == "frames":
            if self._frames is None and visible:
                per_skeleton = max(1, len(self.bodies)) / max(1, len(skeletons_of(self.model)))
                size = 0.6 * self.body_size / np.sqrt(per_skeleton)
                self._frames = scene.add_batched_axes(
                    "/frames",
                    batched_positions=self.positions,
                    batched_wxyzs=self.wxyz,
                    axes_length=size,
                    axes_radius=0.022 * size,
                )
            if self._frames is not None:
                self._frames.visible = visible
        elif layer == "contacts":
            self.contacts.visible = visible
        elif layer == "ground":
            self.ground.visible = visible
        else:
            raise NameLookupError("layer", layer, LAYERS)
        (self._show.add if visible else self._show.discard)(layer)

    def visible(self, layer: str) -> bool:
        """Whether a layer is shown."""
        return layer in self._show

    def update(
        self,
        positions: np.ndarray | None = None,
        wxyz: np.ndarray | None = None,
        contacts: tuple[np.ndarray, np.ndarray] | None = None,
        displacements: np.ndarray | None = None,
        modes: np.ndarray | None = None,
    ) -> None:
        """Move everything to the poses given, or to the model's own, and show the contacts.

        Args:
            positions, wxyz: (nb, 3) and (nb, 4) of all bodies.
            contacts: points (n, 3) and forces (n, 3); the world's own if poses are not given.
            displacements: of the points of all soft bodies (n, 3), in their bodies' axes; their own if None.
            modes: modal coordinates (n,) of all flexible bodies; their own if None.
        """
        if positions is None or wxyz is None:
            positions, wxyz = model_poses(self.model)
            if contacts is None and is_world(self.model):
                contacts = contacts_of(self.model)
        eta = self.deforming.bodies.coordinates() if modes is None else modes
        positions, wxyz = self.deforming.poses(positions, wxyz, eta)
        self.positions, self.wxyz = positions, wxyz
        with self.server.atomic():
            self.deforming.update(positions, wxyz, eta)
            self.visual.update(positions, wxyz)
            if self.skins.points:
                own = displacements_of(self.bodies) if displacements is None else displacements
                self.skins.update(positions, wxyz, own)
            if self.collision is not None and self.collision.visible:
                self.collision.update(positions, wxyz)
            if self._frames is not None and self._frames.visible:
                self._frames.batched_positions = positions.astype(np.float32)
                self._frames.batched_wxyzs = wxyz.astype(np.float32)
            if self.contacts.visible:
                points, forces = contacts if contacts is not None else (np.zeros((0, 3)), np.zeros((0, 3)))
                longest = 1.5 * self.body_size
                self.contacts.update(points, arrow_vectors(forces, self.force_factor * self.force_scale, longest))

    def home(self, *, aspect: float = 1.5, frames: Any = None) -> CameraPose:
        """The camera that shows the whole model.

        Args:
            aspect: width by height of the picture.
            frames: poses [(positions, wxyz), ...] that shall all be seen; the present one if None.
        """
        frames = [(self.positions, self.wxyz)] if frames is None else frames
        pick = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T[None].astype(bool)
        boxes = [self.boxes(positions, wxyz) for positions, wxyz in frames]
        lower, upper = np.vstack([b[0] for b in boxes]), np.vstack([b[1] for b in boxes])
        if len(frames) > 1:
            # A ball that rolls away does not make the rest small.
            center = 0.5 * (lower + upper)
            away = np.linalg.norm(center - np.median(center, axis=0), axis=1)
            near = away <= 3.0 * np.median(away) + self.body_size
            lower, upper = lower[near], upper[near]
        return fit(np.where(pick, upper[:, None], lower[:, None]).reshape(-1, 3), self.up, aspect=aspect)

    def remove(self) -> None:
        """Take the model out of the scene."""
        self.visual.remove()
        self.skins.remove()
        self.deforming.remove()
        self.contacts.remove()
        self.ground.remove()
        if self.collision is not None:
            self.collision.remove()
        if self._frames is not None:
            self._frames.remove()


def _instances(bodies: list[Any], deforming: DeformingSet) -> tuple[list[Instance], list[Instance]]:
    """Instances of the visual and of the collision shapes. A model without visual shapes shows the others."""
    visual, collision = [], []
    moving = any(is_mobile(body.skeleton) for body in bodies)
    colors = node_colors(bodies)
    any_visual = any(node.visual for _, node, *_ in colors)
    for index, node, rgb, opacity in colors:
        if isinstance(node, Skin) or deforming.bodies.is_surface(node):
            continue  # drawn as they are deformed
        skeleton = bodies[index].skeleton
        # Scenery lets see what moves behind it, as in a container.
        scenery = moving and not is_mobile(skeleton) and skeleton.num_dofs == 0
        parts = shape_parts(node.shape, node.relative_transform)
        if node.visual or (not any_visual and node.collision):
            visual += [Instance(index, part, rgb, min(opacity, 0.3) if scenery else opacity) for part in parts]
        if node.collision:
            collision += [Instance(index, part, palette.COLLISION, 0.35) for part in parts]
    return visual, collision
