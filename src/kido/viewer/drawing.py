"""What programs draw into the scene beside the model, and what people drag there."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from kido.errors import KidoError, NameLookupError, StateError
from kido.rendering import palette
from kido.rendering.geometry import shape_parts
from kido.rendering.rotations import wxyz_from_matrix
from kido.rendering.things import Instance
from kido.shapes import Shape
from kido.skeleton import WORLD_FRAME, BodyNode, Frame
from kido.viewer.batches import BatchSet
from kido.viewer.dragging import Drag
from kido.viewer.forces import ArrowSet
from kido.viewer.server import Page, ViewerError
from kido.viewer.webpage import Text


class Drawable:
    """A thing in the scene; moves with ``frame`` if it has one.

    Attributes:
        name: its path in the scene.
        frame: frame or body it moves with, or None.
        transform: (4, 4) its place in the frame's axes, or in the world.
        handle: the viser handle, for what is not offered here.
    """

    def __init__(
        self,
        name: str,
        handle: Any,
        frame: Frame | None,
        transform: np.ndarray,
        on_remove: Callable[[Drawable], None],
        update: Callable[..., None] | None = None,
    ) -> None:
        self.name = name
        self.handle = handle
        self.frame = frame
        self.transform = transform
        self._on_remove = on_remove
        self._update = update
        self.removed = False

    @property
    def visible(self) -> bool:
        """Whether it is shown."""
        return bool(self.handle.visible)

    @visible.setter
    def visible(self, value: bool) -> None:
        self.handle.visible = bool(value)

    def update(self, *args: Any) -> None:
        """Give it new contents: points of a line or cloud, ends of an arrow, text of a label, a shape."""
        if self._update is None:
            raise StateError(f"Drawable {self.name!r} has nothing to update but its transform.")
        self._update(*args)

    def place(self) -> None:
        """Move it to where its frame is now."""
        X = self.transform if self.frame is None else self.frame.world_transform @ self.transform
        self.handle.position = X[:3, 3]
        self.handle.wxyz = wxyz_from_matrix(X[:3, :3])

    def remove(self) -> None:
        """Take it out of the scene; a second call does nothing."""
        if not self.removed:
            self.removed = True
            self.handle.remove()
            self._on_remove(self)


class Drawing(Page):
    """The ``add_...`` methods of :class:`kido.viewer.Viewer` that draw.

    They take ``frame`` (a body or any other `Frame` that the thing moves with), ``transform`` (4, 4) in that frame's
    axes (or the world's), ``name`` (its path below ``/user``), and return a :class:`Drawable`.

    Attributes:
        drawables: what was drawn, by path.
        drags: frames and bodies with a gizmo.
    """

    drawables: dict[str, Drawable]
    drags: list[Drag]
    _number: itertools.count[int]

    def add_line(self, points: Any, *, color: Any = None, thickness: float = 2.0, **where: Any) -> Drawable:
        """Line through ``points`` (n, 3) [m], ``thickness`` in pixels."""

        def segments(p: Any) -> np.ndarray:
            q = _points(p, 2)
            return np.stack([q[:-1], q[1:]], axis=1).astype(np.float32)

        first, rgb = segments(points), _rgb(color)

        def make(name: str) -> Any:
            return self.server.scene.add_line_segments(name, first, rgb, thickness=thickness, thickness_units="screen")

        return self._draw("line", make, lambda h, p: setattr(h, "points", segments(p)), where)

    def add_shape(self, shape: Shape, *, color: Any = None, **where: Any) -> Drawable:
        """A kido shape that is only drawn: nothing collides with it. A frame may have many.

        Example:
            >>> goal = kido.SimpleFrame(name="goal", transform=(0.4, 0.0, 0.5))
            >>> viewer.add_shape(kido.Sphere(0.03), frame=goal, color=(1, 0.2, 0.2, 0.6))
            >>> viewer.enable_drag(goal)
        """
        instances = _instances_of(shape, color)
        made: list[BatchSet] = []
        here = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]])

        def make(name: str) -> Any:
            made.append(BatchSet(self.server.scene, name, instances))
            made[0].update(*here)
            return made[0].root

        def update(_: Any, other: Shape, color: Any = color) -> None:
            made[0].draw(_instances_of(other, color))
            made[0].update(*here)

        return self._draw("shape", make, update, where)

    def add_points(self, points: Any, *, color: Any = None, size: float = 0.01, **where: Any) -> Drawable:
        """Dots at ``points`` (n, 3) [m] of ``size`` [m]; ``color`` is one colour or one for each (n, 3)."""
        p = _points(points, 1)
        c = np.asarray(_rgb(color) if color is None or np.ndim(color) == 1 else color)
        if c.ndim == 2 and c.shape != p.shape:
            raise StateError(f"Colours of {len(p)} points have shape {c.shape}; expected {p.shape}.")
        if np.issubdtype(c.dtype, np.floating):
            c = np.round(255 * np.clip(c, 0, 1)).astype(np.uint8)

        def make(name: str) -> Any:
            return self.server.scene.add_point_cloud(
                name, p.astype(np.float32), c, point_size=size, point_shape="circle", precision="float32"
            )

        return self._draw("points", make, lambda h, q: setattr(h, "points", _points(q, 1).astype(np.float32)), where)

    def add_frame(self, transform: Any = None, *, size: float = 0.1, **where: Any) -> Drawable:
        """Three axes (x red, y green, z blue) of length ``size`` [m]."""

        def make(name: str) -> Any:
            scene = self.server.scene
            return scene.add_frame(name, axes_length=size, axes_radius=0.04 * size, origin_radius=0.06 * size)

        return self._draw("frame", make, None, {**where, "transform": transform})

    def add_label(self, text: str, position: Any = (0.0, 0.0, 0.0), **where: Any) -> Drawable:
        """A text at ``position`` (3,) [m]."""
        X = np.eye(4)
        X[:3, 3] = _points([position], 1)[0]

        def make(name: str) -> Any:
            return self.server.scene.add_label(name, str(text))

        return self._draw("label", make, lambda h, t: setattr(h, "text", str(t)), {"transform": X, **where})

    def add_mesh(self, vertices: Any, faces: Any, *, color: Any = None, **where: Any) -> Drawable:
        """Triangles ``faces`` (m, 3) of ``vertices`` (n, 3) [m]."""
        v, f = _points(vertices, 3), np.asarray(faces)
        if f.ndim != 2 or f.shape[1] != 3 or not np.issubdtype(f.dtype, np.integer) or f.size == 0:
            raise StateError(f"Mesh faces have shape {f.shape} of {f.dtype}; expected whole numbers (m, 3).")
        if f.min() < 0 or f.max() >= len(v):
            raise StateError(f"Mesh faces name vertex {int(f.max())}; there are {len(v)}.")
        rgb, opacity = palette.rgba(color) if color is not None else (palette.DRAWABLE, 1.0)

        def make(name: str) -> Any:
            return self.server.scene.add_mesh_simple(
                name, v, f, color=rgb, side="double", opacity=None if opacity >= 1 else opacity
            )

        return self._draw("mesh", make, None, where)

    def add_arrow(self, start: Any, end: Any, *, color: Any = None, radius: float = 0.01, **where: Any) -> Drawable:
        """An arrow from ``start`` (3,) to ``end`` (3,) [m] with a shaft of ``radius`` [m]."""
        ends = _points([start, end], 2)
        arrows: list[ArrowSet] = []

        def make(name: str) -> Any:
            arrows.append(ArrowSet(self.server.scene, name, radius, color=_rgb(color), dot_color=None))
            arrows[0].reserve(1)
            arrows[0].update(ends[:1], ends[1:] - ends[:1])
            return arrows[0].root

        def update(_: Any, a: Any, b: Any) -> None:
            e = _points([a, b], 2)
            arrows[0].update(e[:1], e[1:] - e[:1])

        return self._draw("arrow", make, update, where)

    def add_text(self, text: str, place: str = "top left", *, size: float = 16.0, color: Any = None) -> Text:
        """A text over the picture; pictures and films have it too. Texts of one place stand below each other.

        Args:
            text: what it says; may have several lines. Set ``.text`` of what is returned to change it.
            place: "top left", "top", "top right", "bottom left", "bottom" or "bottom right".
            size: height of the letters in pixels.
            color: (r, g, b) from 0 to 1.

        Raises:
            NameLookupError: there is no such place.
            StateError: a size that is not from 1 to 500.
        """
        return self.webpage.add_text(text, place, size, color)

    def enable_drag(
        self, frame: Frame, *, size: float | None = None, on_move: Callable[[Any], Any] | None = None
    ) -> Drag:
        """Let people move a frame or body by a gizmo.

        A `SimpleFrame` goes where it is dragged. For a body, or a node on one, the joints above it are moved so that it
        comes as near as it can, by inverse kinematics; a world that runs is paused. Without a gizmo, Shift and drag
        does the same with the point of a body that is grabbed, and pulls it by a spring in a world that runs.

        Args:
            frame: a SimpleFrame, a body of the model or a node on one.
            size: length of the gizmo's arrows [m].
            on_move: called with the frame whenever it was dragged.

        Returns:
            What ends it with ``.remove()``.

        Raises:
            ViewerError: another kind of frame, or a body that no joint moves.
            NameLookupError: a body that is not in the viewer.
        """
        self._check_frame(frame)
        length = 0.3 * self.view.body_size if size is None else float(size)
        if not (np.isfinite(length) and length > 0):
            raise StateError(f"Size of a gizmo is {size!r} m; expected a number above 0.")
        drag = Drag(typing.cast(Any, self), f"/drags/{next(self._number)}", frame, length, on_move)
        self.drags.append(drag)
        return drag

    def place_drawables(self) -> None:
        """Move all that hangs on frames and bodies."""
        for drawable in list(self.drawables.values()):
            if drawable.frame is not None:
                drawable.place()
        self.drags = [drag for drag in self.drags if not drag.removed]
        for drag in self.drags:
            drag.show()

    def forget_strangers(self) -> None:
        """Take out what hangs on bodies, and nodes of bodies, that are gone."""
        for thing in [*self.drawables.values(), *self.drags]:
            if thing.frame is not None and self._is_gone(thing.frame):
                thing.remove()

    def _is_gone(self, frame: Frame) -> bool:
        try:
            above = frame
            while not isinstance(above, BodyNode) and above is not WORLD_FRAME:
                above = above.parent_frame
            frame.world_transform  # noqa: B018 (refused by a node that was taken off its body)
        except KidoError:
            return True
        return isinstance(above, BodyNode) and not any(above is b for b in self.view.bodies)

    def _check_frame(self, frame: Any) -> None:
        if not isinstance(frame, Frame):
            raise ViewerError(f"Expected a kido frame or body, got {frame!r}.")
        if self._is_gone(frame):
            raise NameLookupError("body in the viewer", frame.name, [b.name for b in self.view.bodies])

    def _draw(self, kind: str, make: Callable[[str], Any], update: Callable[..., None] | None, where: dict) -> Drawable:
        frame, transform, name = where.pop("frame", None), where.pop("transform", None), where.pop("name", None)
        if where:
            raise TypeError(
                f"add_{kind}() got unexpected arguments {', '.join(sorted(where))}; expected frame, transform, name"
            )
        if frame is not None:
            self._check_frame(frame)
        X = np.eye(4) if transform is None else np.array(transform, dtype=float)
        if X.shape != (4, 4) or not np.all(np.isfinite(X)):
            raise StateError(f"Transform of a drawable has shape {X.shape}; expected a finite (4, 4) matrix.")
        path = f"/user/{name or f'{kind}_{next(self._number)}'}"
        if path in self.drawables:
            raise StateError(f"There is a drawable {path!r} already; remove it first or choose another name.")
        handle = make(path)
        bound = None if update is None else lambda *args: update(handle, *args)
        drawable = Drawable(path, handle, frame, X, self._undraw, bound)
        self.drawables[path] = drawable
        drawable.place()
        return drawable

    def _undraw(self, drawable: Drawable) -> None:
        self.drawables.pop(drawable.name, None)


def _instances_of(shape: Shape, color: Any) -> list[Instance]:
    given = color if color is not None else getattr(shape, "color", None)
    rgb, opacity = (palette.DRAWABLE, 1.0) if given is None else palette.rgba(given)
    instances = [Instance(0, part, rgb, opacity) for part in shape_parts(shape, np.eye(4))]
    if not instances:
        raise ViewerError(f"A {type(shape).__name__} is drawn as the ground of a world, not as a shape by itself.")
    return instances


def _points(points: Any, least: int) -> np.ndarray:
    try:
        p = np.array(points, dtype=float)
    except (TypeError, ValueError):
        p = np.zeros((0, 0))
    if p.ndim != 2 or p.shape[1] != 3 or len(p) < least:
        raise StateError(f"Points of a drawable have shape {p.shape}; expected (n, 3), n at least {least}.")
    if not np.all(np.isfinite(p)):
        raise StateError(f"Point {int(np.argwhere(~np.isfinite(p))[0][0])} of a drawable is not finite.")
    return p


def _rgb(color: Any) -> tuple[int, int, int]:
    return palette.DRAWABLE if color is None else palette.rgba(color)[0]
