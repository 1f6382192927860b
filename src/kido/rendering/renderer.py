"""Images of a model: of its present state, or of as many states as one likes by one call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes, dataclass
from kido.batch import Batch
from kido.errors import StateError
from kido.math.transform import numbers_or_nan
from kido.rendering.camera import Camera, CameraNode, anchor_of
from kido.rendering.deforming import Deformation, DeformingBodies, modal_columns
from kido.rendering.geometry import MeshKey, Part
from kido.rendering.graphics import GraphicsRasterizer
from kido.rendering.model import Model, bodies_of, drawn_version, skeletons_of, up_axis
from kido.rendering.rasterizer import KINDS, Rasterizer
from kido.rendering.rotations import matrix_from_wxyz, wxyz_from_matrix
from kido.rendering.things import Instance, Scene, extent_of, instances_of, scene_of, skin_points
from kido.reprs import brief
from kido.shapes import Mesh
from kido.skeleton import Skin

DEVICES = ("cpu", "gpu")  # that draw
FADE = 24.0  # distance at which the ground fades into the horizon, by the size of the model


@dataclass(frozen=True)
class Images:
    """What a camera saw. With several states all have one more axis, the first.

    Attributes:
        color: (height, width, 3) bytes of red, green and blue (sRGB); None if not asked for, as the others.
        depth: (height, width) float32, distance along the optical axis [m]; infinite where nothing is.
        segmentation: (height, width) int32, numbers of shapes in `Renderer.shapes`; -1 where nothing is.
    """

    color: NDArray[np.uint8] | None = field(default=None, repr=False)
    depth: NDArray[np.float32] | None = field(default=None, repr=False)
    segmentation: NDArray[np.int32] | None = field(default=None, repr=False)

    __repr__ = brief


class Renderer(FixedAttributes):
    """Draws a model from any camera, without a screen: on the processor, with nothing to install, or on a card.

    Spheres, capsules, boxes, cylinders, cones, ellipsoids and planes are drawn from their equations, exactly; meshes
    and height maps by their triangles; soft skins and flexible bodies as they are deformed. Shapes with `visual` are
    drawn, or those that collide where none has. Follows what is added to the model, removed or changed. Colour has
    shapes seen through as their opacity says; depth and segmentation have them as solid. Planes are seen from their
    outer side only, and solids from outside.

    Args:
        model: a World or a Skeleton.
        oversampling: samples of colour along either edge of a pixel, 1 to 8: smooth edges from 2 on.
        shadows: whether the key light throws shadows, in the colours.
        threads: how many draw; None: one for each core.
        device: "cpu", or "gpu" for a graphics card (extra ``gpu-images``): OpenGL 3.3 by EGL, many images at once. Its
            images are those of the processor but for rounding: depth of primitives to the digits of a float32, that of
            triangles to some 1e-5 of itself, edges to a pixel.
        deformation: how flexible bodies are drawn: amplified, coloured by stress or strain.

    Raises:
        NameLookupError: flexible bodies have no such values to be coloured by.
        KidoError: no model; no graphics card that can be used, with what to install.
        StateError: numbers out of range, or there is no such device.
        MissingExtraError: the extra for graphics cards is not installed.

    Example:
        >>> from kido.rendering import Camera, Pinhole, Renderer, look_at
        >>> camera = Camera(Pinhole(64, 64), look_at((2, -1, 1), (0, 0, 0)))
        >>> images = Renderer(world).render(camera)
        >>> images.color.shape, images.depth.shape
        ((64, 64, 3), (64, 64))
    """

    def __init__(
        self,
        model: Model,
        *,
        oversampling: int = 1,
        shadows: bool = False,
        threads: int | None = None,
        device: str = "cpu",
        deformation: Deformation | None = None,
    ):
        self._model = model
        if not isinstance(deformation, Deformation | None):
            raise StateError(f"Renderer deformation is {deformation!r:.100}; expected a kido.rendering.Deformation.")
        self.deformation = Deformation() if deformation is None else deformation
        skeletons_of(model)
        if device not in DEVICES:
            raise StateError(f"Renderer device is {device!r}; expected 'cpu' or 'gpu'.")
        self.device = device
        self._rasterizer = (Rasterizer if device == "cpu" else GraphicsRasterizer)(oversampling, shadows, threads)
        self._version: Any = None
        self._batches: dict[int, Batch] = {}
        self._follow()

    def __getstate__(self) -> dict[str, Any]:
        own = {"model": self._model, "device": self.device, "deformation": self.deformation}
        return {**own, **self._rasterizer.options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    def __repr__(self) -> str:
        return f"Renderer({len(self.shapes)} shapes)"

    @property
    def shapes(self) -> tuple[Any, ...]:
        """The shape nodes by their numbers in segmentation images."""
        self._follow()
        return tuple(self._nodes)

    @property
    def body_of_shape(self) -> NDArray[np.int64]:
        """Number of each shape's body, in the order of the skeletons and their bodies: segmentation by bodies is
        ``np.where(s < 0, -1, renderer.body_of_shape[s])``."""
        self._follow()
        number = {id(body): k for k, body in enumerate(self._bodies)}
        return np.array([number[id(node.body)] for node in self._nodes], dtype=np.int64)

    def _follow(self) -> None:
        version = drawn_version(self._model)
        if version == self._version:
            return
        self._bodies = bodies_of(self._model)
        self._deforming = DeformingBodies(self._bodies)
        self._deforming.check(self.deformation)
        self._solids, self._soft, self._nodes = instances_of(self._bodies, self._deforming.is_surface)
        self._up, self._fade = up_axis(self._model), FADE * extent_of(self._bodies)
        self._scene = scene_of(self._solids, self._soft, self._up, self._fade)
        self._version, self._batches = version, {}

    def render(
        self,
        camera: Camera | CameraNode,
        *,
        positions: ArrayLike | None = None,
        transforms: ArrayLike | None = None,
        kinds: tuple[str, ...] = KINDS,
    ) -> Images:
        """Images of the present state, or of many states that are not set.

        Args:
            camera: a camera, which moves with its body in every state.
            positions: (states, n) positions: of the skeleton, or of all skeletons of the world one after another.
            transforms: instead, (states, bodies, 4, 4) world transforms of all bodies, skeleton by skeleton.
            kinds: what is drawn, of "color", "depth" and "segmentation", or one of them.

        Raises:
            StateError: no camera, positions or transforms that do not fit, both of them, numbers that are not finite,
                no kinds.
            NameLookupError: there is no such kind of image.
        """
        if not isinstance(camera, Camera | CameraNode):
            raise StateError(f"Images need a kido.rendering.Camera or CameraNode, got {camera!r}.")
        if not isinstance(kinds, Iterable):
            raise StateError(f"Kinds of images are {kinds!r:.100}; expected some of {', '.join(KINDS)}.")
        if positions is not None and transforms is not None:
            raise StateError("Images are of positions or of transforms; both were given.")
        self._follow()
        if transforms is not None and self._deforming.all:
            raise StateError("Images of flexible bodies are of positions: transforms do not say how they are bent.")
        X = self._transforms_of(positions, transforms)
        eta = np.repeat(self._deforming.coordinates()[None], len(X), axis=0)
        if positions is not None:
            eta = np.asarray(positions, float)[:, modal_columns(skeletons_of(self._model))]
        X = self._amplified(X, eta)
        body, relative = anchor_of(camera)
        if body is None:
            cameras = np.repeat(relative[None], len(X), axis=0)
        else:
            index = next((k for k, own in enumerate(self._bodies) if own is body), None)
            if index is None:
                raise StateError(f"Camera {camera.name!r} is on body {body.name!r}, which is not in the model.")
            cameras = X[:, index] @ relative
        single = positions is None and transforms is None
        draw, wanted = self._rasterizer.draw, (kinds,) if isinstance(kinds, str) else tuple(kinds)
        if not self._deforming.seen or not len(X):
            points = np.concatenate([np.zeros((0, 3)), *(skin_points(self._nodes[skin.shape]) for skin in self._soft)])
            found: dict[str, Any] = draw(self._scene, camera.lens, cameras, X, points, wanted)
        else:
            field = self.deformation.colors
            limit = self.deformation.limit or max(
                (self._deforming.largest(e, field) for e in eta if field), default=1.0
            )
            one_by_one = [
                draw(scene, camera.lens, cameras[k, None], X[k, None], points, wanted)
                for k in range(len(X))
                for scene, points in [self._deformed(eta[k], limit)]
            ]
            found = {kind: np.concatenate([one[kind] for one in one_by_one]) for kind in one_by_one[0]}
        return Images(**{kind: array[0] if single else array for kind, array in found.items()})

    def _deformed(self, eta: NDArray[np.float64], limit: float) -> tuple[Scene, NDArray[np.float64]]:
        """The scene with flexible bodies at modal coordinates, and the points of all that deforms."""
        surfaces = {id(one.node): one for one in self._deforming.seen}
        skins, points = [], [np.zeros((0, 3))]
        for skin in self._soft:
            node = self._nodes[skin.shape]
            if isinstance(node, Skin):
                skins.append(skin)
                points.append(skin_points(node))
                continue
            for color, vertices, faces in self._deforming.pieces(surfaces[id(node)], eta, self.deformation, limit):
                if len(faces):
                    part = Part(("mesh", MeshKey(Mesh(vertices, faces))), (1.0, 1.0, 1.0), np.eye(4))
                    skins.append(Instance(skin.body, part, color, skin.opacity, skin.shape, skin.casts))
                    points.append(vertices)
        return scene_of(self._solids, skins, self._up, self._fade), np.concatenate(points)

    def _amplified(self, X: NDArray[np.float64], eta: NDArray[np.float64]) -> NDArray[np.float64]:
        factor = self.deformation.amplification
        if factor == 1.0 or not self._deforming.all:
            return X
        X = X.copy()
        for k, own in enumerate(eta):
            p, wxyz = self._deforming.poses(X[k, :, :3, 3], wxyz_from_matrix(X[k, :, :3, :3]), own, factor)
            X[k, :, :3, 3], X[k, :, :3, :3] = p, matrix_from_wxyz(wxyz)
        return X

    def _transforms_of(self, positions: Any, transforms: Any) -> NDArray[np.float64]:
        skeletons, count = skeletons_of(self._model), len(self._bodies)
        if transforms is not None:
            X = numbers_or_nan(transforms)
            if X.ndim != 4 or X.shape[1:] != (count, 4, 4):
                raise StateError(
                    f"Transforms have shape {X.shape}; expected (states, {count}, 4, 4), got {transforms!r:.60}."
                )
            if not np.isfinite(X).all():
                raise StateError(f"Transforms of state {int(np.argwhere(~np.isfinite(X))[0][0])} are not finite.")
            return X
        if positions is None:
            X = [np.asarray(s.world_transforms, dtype=float) for s in skeletons]
            return np.concatenate([np.zeros((0, 4, 4)), *X])[None]
        n = [s.num_dofs for s in skeletons]
        q = numbers_or_nan(positions)
        if q.ndim != 2 or q.shape[1] != sum(n):
            raise StateError(f"Positions have shape {q.shape}; expected (states, {sum(n)}), got {positions!r:.60}.")
        if not np.isfinite(q).all():
            raise StateError(f"Positions of state {int(np.argwhere(~np.isfinite(q))[0][0])} are not finite.")
        parts = []
        for k, (s, own) in enumerate(zip(skeletons, np.split(q, np.cumsum(n)[:-1], axis=1), strict=True)):
            if s.num_dofs == 0 or len(q) == 0:
                parts.append(np.repeat(np.asarray(s.world_transforms)[None], len(q), axis=0))
                continue
            batch = self._batches.setdefault(k, Batch(s, threads=self._rasterizer.threads))
            parts.append(batch.forward_kinematics(np.ascontiguousarray(own)))
        return np.concatenate([np.zeros((len(q), 0, 4, 4)), *parts], axis=1)
