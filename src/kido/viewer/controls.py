"""What programs add to a viewer for people to use: callbacks, keys, buttons, sliders, plots, targets."""

from __future__ import annotations

import typing
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.attributes import named_arguments
from kido.errors import NameLookupError, StateError
from kido.viewer.drawing import Drawing
from kido.viewer.plots import Plot
from kido.viewer.server import ViewerError
from kido.viewer.targets import Targets

if TYPE_CHECKING:
    from kido.ik import HierarchicalIK
    from kido.systems import System


class Controls(Drawing):
    """The ``add_...`` methods of :class:`kido.viewer.Viewer` for callbacks, keys, buttons, plots and targets."""

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
            key: a character as it is typed (letters of either case, "?", "+", "é"), or space, enter, escape, tab,
                backspace, delete, insert, home, end, pageup, pagedown, arrowup, arrowdown, arrowleft, arrowright.
            f: the function, called in the thread of the model.
            label: name in the list.
            modifier: None, "shift", "alt", "cmd/ctrl", or several joined by "+".

        Returns:
            A handle with ``.remove()``.

        Raises:
            NameLookupError: there is no such key.
            ViewerError: there is no such modifier, or "shift" with a character that is no letter: name the one that is
                typed with it.
        """
        name = _key_name(key)
        if modifier is not None and "shift" in modifier and len(key) == 1 and not key.isalpha() and key != " ":
            raise ViewerError(f"Key {key!r} cannot be pressed with Shift; name the character that is typed with it.")
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
    def add_plot(
        self, system: System, ports: Any, *, seconds: float = 10.0, title: str | None = None, height: int = 180
    ) -> Plot:
        """A plot of signals of a system over the last seconds, on the panel; they are read before each frame.

        Args:
            system: that they are of.
            ports: a port or its path, such as "rover.wheel_fl.motor.current", or a list of them; a model or an
                assembly, or its path, stands for all its own. Of an array each number is a line.
            seconds: of simulated time.
            title: above it; by default none.
            height: of the plot [px].

        Returns:
            The plot, with `.remove()`.

        Raises:
            StateError: no system.
            NameLookupError, ModelError: it has no such port, one is named twice, or a time or a height is not positive.
        """
        return Plot(self, system, ports, seconds, title, height)

    @named_arguments
    def add_targets(self, ik: HierarchicalIK) -> Targets:
        """Draggable targets for all tasks of a hierarchical inverse kinematics of a skeleton that is shown.

        The skeleton follows them whenever they move; in a world, while it is paused.

        Raises:
            ViewerError: the viewer does not show its skeleton, or has targets for it already.
            StateError: `ik` is no hierarchy.
        """
        return Targets(typing.cast(Any, self), ik)


def _key_name(key: Any) -> str:
    """Viser's name of a key."""
    from viser._messages import HotkeyKey

    if isinstance(key, str):
        typed = unicodedata.normalize("NFC", key)
        if len(typed) == 1 and typed.isprintable() and typed != " ":
            return "[plus]" if typed == "+" else typed.upper() if len(typed.upper()) == 1 else typed
        if typed.lower() in typing.get_args(HotkeyKey) or typed == " ":
            return "space" if typed == " " else typed.lower()
    raise NameLookupError("key", key, ["any character", *(k for k in typing.get_args(HotkeyKey) if len(k) > 1)])
