"""What programs add to a viewer: callbacks, keys, buttons, sliders, and what they draw into the scene."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from kido.attributes import FixedAttributes, named_arguments
from kido.errors import NameLookupError, StateError
from kido.ik import HierarchicalIK
from kido.viewer import palette
from kido.viewer.forces import ArrowSet
from kido.viewer.rotations import wxyz_from_matrix
from kido.viewer.server import Page, ViewerError
from kido.viewer.targets import Targets


class Drawable(FixedAttributes):
    """A thing in the scene; moves with ``body`` if it has one.

    Attributes:
        name: its path in the scene.
        body: body it moves with, or None.
        transform: (4, 4) its place in the body's axes, or in the world.
        handle: the viser handle, for what is not offered here.
    """

    def __init__(
        self,
        name: str,
        handle: Any,
        body: Any,
        transform: np.ndarray,
        on_remove: Callable[[Drawable], None],
        update: Callable[..., None] | None = None,
    ) -> None:
        self.name = name
        self.handle = handle
        self.body = body
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
        """Give it new contents: points of a line or cloud, ends of an arrow, text of a label."""
        if self._update is None:
            raise StateError(f"Drawable {self.name!r} has nothing to update but its transform.")
        self._update(*args)

    def place(self) -> None:
        """Move it to where its body is now."""
        X = self.transform if self.body is None else np.asarray(self.body.world_transform) @ self.transform
        self.handle.position = X[:3, 3]
        self.handle.wxyz = wxyz_from_matrix(X[:3, :3])

    def remove(self) -> None:
        """Take it out of the scene; a second call does nothing."""
        if not self.removed:
            self.removed = True
            self.handle.remove()
            self._on_remove(self)


class Controls(Page):
    """The ``add_...`` methods of :class:`kido.viewer.Viewer` but for cameras.

    Those that draw take ``body`` (a body that the thing moves with), ``transform`` (4, 4) in that body's axes
    (or the world's), ``name`` (its path below ``/user``), and return a :class:`Drawable`.

    Attributes:
        drawables: what was drawn, by path.
    """

    drawables: dict[str, Drawable]
    _number: itertools.count[int]
    check_world: Callable[[str], Any]
    _frame_callbacks: list[Callable[[Any], Any]]

    def add_frame_callback(self, f: Callable[[Any], Any]) -> Callable[[], None]:
        """Call ``f(viewer)`` before every frame is shown. Returns a function that ends it."""
        self._frame_callbacks.append(f)

        def remove() -> None:
            if f in self._frame_callbacks:
                self._frame_callbacks.remove(f)

        return remove

    def add_step_callback(self, f: Callable[[Any], Any]) -> Any:
        """Call ``f(world)`` after every simulation step; what ``world.add_step_callback`` returns."""
        return self.check_world("A step callback").add_step_callback(f)

    @named_arguments
    def add_key(self, key: str, f: Callable[[], Any], label: str | None = None, modifier: str | None = None) -> Any:
        """Call ``f()`` when a key is pressed on the page. It is also listed on the page under Ctrl-K.

        Args:
            key: a letter, a digit, or space, enter, escape, tab, backspace, delete, insert, home, end,
                pageup, pagedown, arrowup, arrowdown, arrowleft, arrowright.
            f: the function, called in the thread of the model.
            label: name in the list.
            modifier: None, "shift", "alt", "cmd/ctrl", or several joined by "+".

        Returns:
            A handle with ``.remove()``.
        """
        from viser._messages import HotkeyKey

        names = typing.get_args(HotkeyKey)
        name = key.upper() if len(key) == 1 else key.lower()
        if name not in names:
            raise NameLookupError("key", key, names)
        try:
            handle = self.server.gui.add_command(label or f"Key {key}", hotkey=name, modifier=modifier)
        except ValueError as error:
            raise ViewerError(f"Modifier {modifier!r} of key {key!r} is not known: {error}") from error
        handle.on_trigger(lambda _: self.post(f))
        return handle

    @named_arguments
    def add_button(self, label: str, f: Callable[[], Any], *, hint: str | None = None) -> Any:
        """A button that calls ``f()``. Returns a handle with ``.remove()``."""
        button = self.server.gui.add_button(label, hint=hint)
        button.on_click(lambda _: self.post(f))
        return button

    @named_arguments
    def add_slider(
        self,
        label: str,
        lower: float,
        upper: float,
        f: Callable[[float], Any],
        *,
        value: float | None = None,
        step: float | None = None,
    ) -> Any:
        """A slider that calls ``f(value)``. Returns a handle with ``.value`` and ``.remove()``."""
        first = lower if value is None else value
        if not (np.isfinite(lower) and np.isfinite(upper) and lower < upper and lower <= first <= upper):
            raise StateError(
                f"Slider {label!r} runs from {lower!r} to {upper!r}, starting at {first!r}; "
                "expected finite numbers, lower below upper and the start between them."
            )
        slider = self.server.gui.add_slider(
            label,
            min=float(lower),
            max=float(upper),
            step=float(step or (upper - lower) / 200.0),
            initial_value=float(first),
        )
        slider.on_update(lambda _: self.post(lambda v=float(slider.value): f(v)))
        return slider

    @named_arguments
    def add_checkbox(self, label: str, f: Callable[[bool], Any], *, value: bool = False) -> Any:
        """A check box that calls ``f(checked)``. Returns a handle with ``.value`` and ``.remove()``."""
        box = self.server.gui.add_checkbox(label, initial_value=bool(value))
        box.on_update(lambda _: self.post(lambda v=bool(box.value): f(v)))
        return box

    @named_arguments
    def add_line(self, points: Any, *, color: Any = None, thickness: float = 2.0, **where: Any) -> Drawable:
        """Line through ``points`` (n, 3) [m], ``thickness`` in pixels."""

        def segments(p: Any) -> np.ndarray:
            q = _points(p, 2)
            return np.stack([q[:-1], q[1:]], axis=1).astype(np.float32)

        first, rgb = segments(points), _rgb(color)

        def make(name: str) -> Any:
            return self.server.scene.add_line_segments(name, first, rgb, thickness=thickness, thickness_units="screen")

        return self._draw("line", make, lambda h, p: setattr(h, "points", segments(p)), where)

    @named_arguments
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

    @named_arguments
    def add_frame(self, transform: Any = None, *, size: float = 0.1, **where: Any) -> Drawable:
        """Three axes (x red, y green, z blue) of length ``size`` [m]."""

        def make(name: str) -> Any:
            scene = self.server.scene
            return scene.add_frame(name, axes_length=size, axes_radius=0.04 * size, origin_radius=0.06 * size)

        return self._draw("frame", make, None, {**where, "transform": transform})

    @named_arguments
    def add_label(self, text: str, position: Any = (0.0, 0.0, 0.0), **where: Any) -> Drawable:
        """A text at ``position`` (3,) [m]."""
        X = np.eye(4)
        X[:3, 3] = _points([position], 1)[0]

        def make(name: str) -> Any:
            return self.server.scene.add_label(name, str(text))

        return self._draw("label", make, lambda h, t: setattr(h, "text", str(t)), {"transform": X, **where})

    @named_arguments
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

    @named_arguments
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

    def place_drawables(self) -> None:
        """Move all drawables that hang on bodies."""
        for drawable in list(self.drawables.values()):
            if drawable.body is not None:
                drawable.place()

    def _draw(self, kind: str, make: Callable[[str], Any], update: Callable[..., None] | None, where: dict) -> Drawable:
        body, transform, name = where.pop("body", None), where.pop("transform", None), where.pop("name", None)
        if where:
            raise TypeError(
                f"add_{kind}() got unexpected arguments {', '.join(sorted(where))}; expected body, transform, name"
            )
        if body is not None and not any(body is b for b in self.view.bodies):
            names = [b.name for b in self.view.bodies]
            raise NameLookupError("body in the viewer", getattr(body, "name", body), names)
        X = np.eye(4) if transform is None else np.array(transform, dtype=float)
        if X.shape != (4, 4) or not np.all(np.isfinite(X)):
            raise StateError(f"Transform of a drawable has shape {X.shape}; expected a finite (4, 4) matrix.")
        path = f"/user/{name or f'{kind}_{next(self._number)}'}"
        if path in self.drawables:
            raise StateError(f"There is a drawable {path!r} already; remove it first or choose another name.")
        handle = make(path)
        bound = None if update is None else lambda *args: update(handle, *args)
        drawable = Drawable(path, handle, body, X, self._undraw, bound)
        self.drawables[path] = drawable
        drawable.place()
        return drawable

    def _undraw(self, drawable: Drawable) -> None:
        self.drawables.pop(drawable.name, None)

    @named_arguments
    def add_targets(self, ik: HierarchicalIK) -> Targets:
        """Draggable targets for all tasks of a hierarchical inverse kinematics of a skeleton that is shown.

        The skeleton follows them whenever they move; in a world, while it is paused.

        Raises:
            ViewerError: the viewer does not show its skeleton, or has targets for it already.
            StateError: `ik` is no hierarchy.
        """
        return Targets(typing.cast(Any, self), ik)


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
