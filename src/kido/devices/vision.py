"""Sensors that look around: lidars by rays, cameras by images. They belong to systems with a world."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.collision import CollisionGroup, RaycastOption
from kido.devices.sensors import rounded
from kido.errors import ModelError, NameLookupError, StateError
from kido.math.transform import as_transform, numbers_or_nan
from kido.rendering import Camera, CameraNode, Images, Renderer
from kido.rendering.renderer import DEVICES
from kido.simulation import World
from kido.skeleton import BodyNode
from kido.systems import Noise, Output, Parameter, PythonModel

KINDS = ("color", "depth", "segmentation")
MOST = 1 << 20  # numbers of an image that are signals


class _Looking(PythonModel):
    """What is asked of a world at each tick; it is made anew for another world."""

    nearest = Parameter(0.0, "m", low=0.0)
    farthest = Parameter(100.0, "m", low=1e-9)

    def __init__(self, name: str | None, rate: Any, **values: Any):
        super().__init__(name, rate=rate, **values)
        self._check_range()
        self._held: tuple[World, Any] | None = None

    def _check_range(self) -> None:
        least, most = self.nearest, self.farthest
        if not least < most:
            raise ModelError(f"model {self.path!r}: nearest is {least:g} m and farthest {most:g} m; expected less")

    def _make(self, world: World) -> Any:
        """What is asked."""
        raise ModelError(f"model {self.path!r}: looks at nothing")

    def _asked(self) -> Any:
        self._check_range()
        world = self.system_of(self.path).world
        if world is None:
            raise ModelError(f"model {self.path!r}: it looks at a world, and its system has none")
        if self._held is None or self._held[0] is not world:
            self._held = (world, self._make(world))
        return self._held[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_held": None}


class Lidar(_Looking):
    """Distances to what rays meet first, all of them at the time of the tick.

        range = round(d + noise n, resolution)

    Rays go from the mount's origin along (cos e cos a, cos e sin a, sin e) in its axes, with azimuths a and elevations
    e; they meet shapes that collide, of all bodies but the one that carries the lidar. A ray that meets nothing from
    `nearest` to `farthest`, or something before, reads `farthest`, and its `hits` is 0. Noise is of each ray its own.

    Args:
        body: that carries it.
        azimuths: a (n,), from x towards y [rad].
        elevations: e [rad], a number: outputs are (n,); or (m,): outputs are (m, n), row by row of one elevation.
        mount: its axes in the body's, 4x4 or what `as_transform` takes; z is the axis of azimuths.
        values: name, rate and others as of models.

    Raises:
        ModelError: no body, no finite angles or none at all, `nearest` that is not below `farthest`; when it runs, a
            system without the body's world.

    Source: S. Thrun, W. Burgard, D. Fox, Probabilistic Robotics (2005), section 6.3, the part of measurements that hit.
    """

    rate = 10
    nearest = Parameter(0.1, "m", low=0.0)
    farthest = Parameter(30.0, "m", low=1e-9)
    noise = Parameter(0.0, "m", low=0.0, doc="standard deviation of a range")
    resolution = Parameter(0.0, "m", low=0.0, doc="0: none")
    ranges = Output("m")
    hits = Output("1", doc="1 or 0")
    n = Noise()

    def __init__(
        self,
        body: BodyNode,
        azimuths: ArrayLike,
        elevations: ArrayLike = 0.0,
        mount: Any = None,
        name: str | None = None,
        *,
        rate: Any = None,
        **values: Any,
    ):
        super().__init__(name, rate, **values)
        what = f"model {self.name!r}"
        if not isinstance(body, BodyNode):
            raise ModelError(f"{what}: expected a body, got {body!r}")
        self._body, self._mount = body, as_transform(mount, f"{what}: mount")
        a, e = numbers_or_nan(azimuths), numbers_or_nan(elevations)
        for key, array, least in (("azimuths", a, 1), ("elevations", e, 0)):
            if not (least <= array.ndim <= 1 and array.size > 0 and np.isfinite(array).all()):
                raise ModelError(f"{what}: {key}: expected finite angles (n,) [rad], got {array!r:.100}")
        e = e[..., None]
        rays = np.broadcast_arrays(np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e))
        self._directions = fixed(np.stack(rays, axis=-1))
        shape = self._directions.shape[:-1]
        self.redeclare(ranges=Output("m", shape), hits=Output("1", shape), n=Noise(shape))
        self._option = RaycastOption(filter=_NotOf(body))

    @property
    def body(self) -> BodyNode:
        """That carries it."""
        return self._body

    @property
    def directions(self) -> NDArray[np.float64]:
        """(..., 3) unit vectors of the rays in axes of the mount; times ranges they are points."""
        return self._directions

    @property
    def world_transform(self) -> NDArray[np.float64]:
        """Pose (4, 4) of the mount, now."""
        return fixed(np.asarray(self._body.world_transform) @ self._mount)

    def _make(self, world: World) -> CollisionGroup:
        if self._body.skeleton not in world.skeletons:
            raise ModelError(f"model {self.path!r}: body {self._body.name!r} is not in world {world.name!r}")
        return world.collision_group

    def outputs(self):
        X, shape = self.world_transform, self._directions.shape[:-1]
        ends = X[:3, 3] + self.farthest * self._directions.reshape(-1, 3) @ X[:3, :3].T
        found = self._asked().raycast(X[:3, 3], ends, self._option)
        d = self.farthest * np.reshape(found.fractions, shape)
        hits = (d >= self.nearest) & (d <= self.farthest)
        read = rounded(np.where(hits, d, 0.0) + self.noise * self.n, self.resolution)
        return {"ranges": np.where(hits, np.clip(read, 0.0, self.farthest), self.farthest), "hits": hits}


class _NotOf:
    """Of shapes, those that are not on a body."""

    def __init__(self, body: BodyNode):
        self._body = body

    def __call__(self, thing: Any) -> bool:
        return getattr(thing, "body", None) is not self._body


class ImageSensor(_Looking):
    """What a camera of `kido.rendering` sees, at a rate of its own: visual shapes, drawn without a screen.

        depth = z + noise z^2 n

    along the optical axis, as of cameras that find depth by triangulation; what is nearer than `nearest`, farther than
    `farthest`, or nothing at all reads `farthest`. Each kind of image is an output of its own.

    Args:
        camera: a `kido.rendering.Camera` or `CameraNode`, which says where it is, and by its lens what it sees.
        kinds: which images, of "color", "depth" and "segmentation".
        oversampling, shadows, device: of the `kido.rendering.Renderer`.
        values: name, rate and others as of models.

    Raises:
        ModelError: no camera, no kinds, `nearest` that is not below `farthest`, no such device, or images of more than
            2^20 numbers; when it runs, a system without a world.
        NameLookupError: there is no such kind.
        StateError: when it runs, the camera has been given a lens with images of another size.

    Source: K. Khoshelham, S. Elberink, Accuracy and resolution of Kinect depth data (2012), equation 5: errors of
    triangulation grow with the square of depth.
    """

    rate = 25
    noise = Parameter(0.0, "1/m", low=0.0, doc="standard deviation of depth by the square of depth")
    color = Output("1", doc="(height, width, 3) red, green and blue from 0 to 255 (sRGB)")
    depth = Output("m", doc="(height, width)")
    segmentation = Output("1", doc="(height, width) numbers of shapes in `shapes`, -1 where nothing is")
    n = Noise()

    def __init__(
        self,
        camera: Camera | CameraNode,
        kinds: tuple[str, ...] = ("color",),
        name: str | None = None,
        *,
        oversampling: int = 1,
        shadows: bool = False,
        device: str = "cpu",
        rate: Any = None,
        **values: Any,
    ):
        super().__init__(name, rate, **values)
        what = f"model {self.name!r}"
        if not isinstance(camera, Camera | CameraNode):
            raise ModelError(f"{what}: expected a kido.rendering.Camera or CameraNode, got {camera!r}")
        if not isinstance(kinds, Iterable):
            raise ModelError(f"{what}: kinds: expected some of {', '.join(KINDS)}, got {kinds!r:.100}")
        if device not in DEVICES:
            raise ModelError(f"{what}: device: expected one of {', '.join(map(repr, DEVICES))}, got {device!r:.100}")
        self._camera, self._kinds = camera, (kinds,) if isinstance(kinds, str) else tuple(kinds)
        for kind in self._kinds:
            if kind not in KINDS:
                raise NameLookupError(f"{what}: kind of image", kind, list(KINDS))
        self._size = size = (camera.lens.height, camera.lens.width)
        if not self._kinds or 3 * size[0] * size[1] > MOST:
            raise ModelError(
                f"{what}: expected kinds of images, of at most {MOST} numbers each as signals; got {self._kinds} of "
                f"{size[1]} x {size[0]} pixels"
            )
        made = {"color": Output("1", (*size, 3)), "depth": Output("m", size), "segmentation": Output("1", size)}
        self.redeclare(**{kind: made[kind] if kind in self._kinds else None for kind in KINDS})
        self.redeclare(n=Noise(size) if "depth" in self._kinds else None)
        self._options = {"oversampling": oversampling, "shadows": shadows, "device": device}
        self._images: Images | None = None

    @property
    def camera(self) -> Camera | CameraNode:
        """Whose images they are."""
        return self._camera

    @property
    def images(self) -> Images | None:
        """Those of the last tick as they were drawn, colours as bytes; None before the first."""
        return self._images

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Shape nodes by their numbers in segmentation images."""
        shapes: tuple[Any, ...] = self._asked().shapes
        return shapes

    def _make(self, world: World) -> Renderer:
        return Renderer(world, **self._options)

    def outputs(self):
        self._images = self._asked().render(self._camera, kinds=self._kinds)
        size = (self._camera.lens.height, self._camera.lens.width)
        if size != self._size:
            raise StateError(
                f"model {self.path!r}: its camera now has images of {size[1]} x {size[0]} pixels, and had "
                f"{self._size[1]} x {self._size[0]}, which is the shape of its outputs; make another sensor"
            )
        found = {kind: np.asarray(getattr(self._images, kind), float) for kind in self._kinds}
        if "depth" in found:
            z = found["depth"]
            seen = (z >= self.nearest) & (z <= self.farthest)
            z = np.where(seen, z, 0.0)
            found["depth"] = np.where(seen, np.clip(z + self.noise * z * z * self.n, 0.0, self.farthest), self.farthest)
        return found


__all__ = ["ImageSensor", "Lidar"]
