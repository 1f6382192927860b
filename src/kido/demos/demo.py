"""What the program of a demo hands over: a model, and what people can do with it and read about it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kido.attributes import FixedAttributes
from kido.errors import ModelError, NameLookupError, StateError
from kido.simulation import World
from kido.skeleton import BodyNode, FrameNode, Skeleton

if TYPE_CHECKING:
    from kido.viewer import CameraPose, Trajectory, Viewer

FPS = 60.0
"""Frames per second: how often `every_frame` functions are called, and how many a page or film has."""

TEXT_PERIOD = 0.2
"""Seconds between two updates of the numbers on a live page."""

TAKEN = ("SPACE", "ARROWRIGHT", "R", "H", "P", *"WASDQE")
"""Keys that the viewer has itself, and its page to move the camera."""

F = TypeVar("F", bound=Callable[..., Any])
N = TypeVar("N", bound=BodyNode | FrameNode)


def ending(parts: Sequence[N], name: str) -> N:
    """The body or node with a name, or with the name of a file and an underscore before it, as in files of RTQL8.

    Raises:
        NameLookupError: there is none.
    """
    for part in parts:
        if part.name == name or part.name.endswith(f"_{name}"):
            return part
    raise NameLookupError("part of the model", name, [part.name for part in parts])


@dataclass
class Key:
    """A key, what it is for, and what it calls."""

    label: str
    f: Callable[[], Any]


@dataclass
class Slider:
    """A slider: its range, where it stands, and what it calls with its value."""

    lower: float
    upper: float
    value: float
    f: Callable[[float], Any]


class Demo(FixedAttributes):
    """An application: what `kido demo` opens in the live viewer, exports as a page, or runs without either.

    Everything is declared once, by decorators, for all of these and for tests alike::

        demo = Demo(world)

        @demo.key("1", "Push to the left")
        def push():
            world.push(box, (0, 50, 0), 0.1)

        @demo.slider("Friction", 0.0, 1.0, value=0.8)
        def friction(mu):
            floor.friction = mu

        @demo.number("speed [m/s]")
        def speed():
            return float(np.linalg.norm(box.linear_velocity()))

    Args:
        model: a world, which is simulated, or a skeleton, which `every_frame` functions move.
        duration: of a page or film, and of a run without the viewer, unless another is asked for [s].
        camera: where it is seen from and what is looked at, two points [m]; by default the whole model is seen.

    Attributes:
        keys: by key.
        sliders: by label.
        numbers: functions by label, each of which returns a number or a text.
        name, description: of the program; set by `kido.demos.load`.
        viewer: the last one that `open` made, if it did.
        real_time_factor: of the last `run`, its first frame left out; NaN before.
    """

    def __init__(
        self,
        model: World | Skeleton,
        duration: float = 5.0,
        *,
        camera: Any = None,
    ) -> None:
        self.model, self.duration = model, float(duration)
        self._camera = camera
        self.keys: dict[str, Key] = {}
        self.sliders: dict[str, Slider] = {}
        self.numbers: dict[str, Callable[[], Any]] = {}
        self.name = self.description = ""
        self.real_time_factor = math.nan
        self.viewer: Viewer | None = None
        self._frames: list[Callable[[float], Any]] = []
        self._pages: list[Callable[[Viewer], Any]] = []

    # What a program declares ---------------------------------------------------------------------------------

    def key(self, key: str, label: str) -> Callable[[F], F]:
        """Decorator: a key of the live page, as `Viewer.add_key` takes it, calls the function.

        Raises:
            ModelError: the viewer or the demo has the key already.
        """
        if key.upper() in TAKEN or key in self.keys:
            raise ModelError(f"demo: key {key!r} is taken; the viewer has {', '.join(TAKEN)}")

        def add(f: F) -> F:
            self.keys[key] = Key(label, f)
            return f

        return add

    def slider(self, label: str, lower: float, upper: float, value: float) -> Callable[[F], F]:
        """Decorator: a slider calls the function with its value; it is called with the first one at once."""

        def add(f: F) -> F:
            self.sliders[label] = Slider(lower, upper, value, f)
            f(value)
            return f

        return add

    def number(self, label: str) -> Callable[[F], F]:
        """Decorator: what the function returns, a number or a text, is shown on the page and printed in the end."""

        def add(f: F) -> F:
            self.numbers[label] = f
            return f

        return add

    def every_frame(self, f: F) -> F:
        """Decorator: the function is called with the time [s] at every frame, 60 times a second, also in a pause."""
        self._frames.append(f)
        return f

    def task(self, f: F) -> F:
        """Decorator: the generator function is run beside the world; it yields seconds to wait for.

        Begun at the first frame, and anew at the first after the world was reset.
        """
        run: Iterator[float] = iter(())
        due, last = 0.0, math.inf

        def act(now: float) -> None:
            nonlocal run, due, last
            if now < last:
                run, due = f(), now
            last = now
            while now >= due:
                due = now + next(run, math.inf)

        self._frames.append(act)
        return f

    def on_page(self, f: F) -> F:
        """Decorator: the function is called with the `Viewer` when one opens: targets, lines, cameras."""
        self._pages.append(f)
        return f

    # What keys and frames may do -----------------------------------------------------------------------------

    def push(self, body: BodyNode, force: Any, duration: float = 0.1) -> None:
        """Push a body of the world at its centre of mass, with an arrow on the page if there is one.

        Args:
            body: of the world.
            force: (3,) [N], world axes.
            duration: [s].
        """
        pusher: Any = self.model if self.viewer is None else self.viewer
        pusher.push(body, force, duration, offset=body.inertia.com)

    @property
    def paused(self) -> bool:
        """Whether the page's world stands still; without a page it never does."""
        return self.viewer is not None and self.viewer.paused

    def pause(self) -> None:
        """Let the page's world stand still."""
        if self.viewer is not None:
            self.viewer.pause()

    # What is done with it ------------------------------------------------------------------------------------

    @property
    def skeletons(self) -> tuple[Skeleton, ...]:
        """Those of the model."""
        return self.model.skeletons if isinstance(self.model, World) else (self.model,)

    @property
    def camera(self) -> CameraPose | None:
        """Where pages and films are seen from at first; None: the whole model is seen."""
        from kido.viewer import CameraPose

        return None if self._camera is None else CameraPose(*self._camera)

    def press(self, key: str) -> None:
        """Do what a key does. Raises `NameLookupError` if the demo has no such key."""
        if key not in self.keys:
            raise NameLookupError("key of the demo", key, list(self.keys))
        self.keys[key].f()

    def slide(self, label: str, value: float) -> None:
        """Do what a slider does.

        Raises:
            NameLookupError: the demo has no such slider.
            StateError: the value is outside of its range.
        """
        if label not in self.sliders:
            raise NameLookupError("slider of the demo", label, list(self.sliders))
        slider = self.sliders[label]
        if not slider.lower <= value <= slider.upper:
            raise StateError(f"slider {label!r}: {value!r} is not from {slider.lower:g} to {slider.upper:g}")
        slider.value = value
        slider.f(value)

    def read(self) -> dict[str, str]:
        """All numbers as they are now, as texts by label."""
        values = {label: f() for label, f in self.numbers.items()}
        return {label: v if isinstance(v, str) else f"{v:.4g}" for label, v in values.items()}

    def run(self, duration: float | None = None, frame: Callable[[float], Any] | None = None) -> Trajectory:
        """Run without a viewer, from where the model is now, and return the motion.

        Args:
            duration: seconds; by default those of the demo.
            frame: called with the seconds since the start after every frame.

        Raises:
            StateError: a duration that is not a finite number of at least 0.
        """
        from kido.rendering.model import body_labels, model_poses
        from kido.viewer.trajectory import Trajectory, TrajectorySampler

        duration = self.duration if duration is None else duration
        if not (math.isfinite(duration) and duration >= 0.0):
            raise StateError(f"demo: duration is {duration!r} s; expected a number not below 0")
        world = self.model if isinstance(self.model, World) else None
        sampler = None if world is None else TrajectorySampler(world, FPS)
        start, h = (0.0, 1.0) if world is None else (world.time, world.time_step)
        poses = [(0.0, *model_poses(self.model))]
        wall, done = 0.0, 0
        for k in range(math.ceil(duration * FPS - 1e-9)):
            now = min((k + 1) / FPS, duration)
            began = time.perf_counter()
            for f in self._frames:
                f(start + k / FPS)
            if world is not None:
                due = round(now / h) - done
                world.step(due, reset_command=False)
                done += due
            wall += time.perf_counter() - began if k else 0.0
            if sampler is not None:
                sampler.sample()
            else:
                poses.append((now, *model_poses(self.model)))
            if frame is not None:
                frame(now)
        self.real_time_factor = (duration - 1.0 / FPS) / wall if wall > 0.0 else math.nan
        if sampler is not None:
            return sampler.trajectory
        times, positions, wxyz = (np.array(column) for column in zip(*poses))
        return Trajectory(times, positions, wxyz, body_labels(self.model))

    def open(self, port: int | None = None) -> Viewer:
        """A live viewer with the demo's keys, sliders and numbers; `run` or `start` it. Raises like `Viewer`."""
        from kido.viewer import Viewer

        viewer = self.viewer = Viewer(self.model, port)
        for key, entry in self.keys.items():
            viewer.add_key(key, entry.f, entry.label)
        for label, slider in self.sliders.items():

            def slid(value: float, label: str = label) -> None:
                self.slide(label, value)

            viewer.add_slider(label, slider.lower, slider.upper, slid, value=slider.value)
        if self.keys:
            viewer.add_text("\n".join(f"{k.upper()}  {entry.label}" for k, entry in self.keys.items()), "bottom left")
        text = viewer.add_text(self._text(), "top left")
        began = told = time.perf_counter()

        def before_frame(_: Any) -> None:
            nonlocal told
            now = time.perf_counter()
            for f in self._frames:
                f(float(viewer.model.time) if viewer.is_world else now - began)
            if now >= told + TEXT_PERIOD:
                told, text.text = now, self._text()

        viewer.add_frame_callback(before_frame)
        if self.camera is not None:
            viewer.camera = self.camera
        self.show_on(viewer)
        return viewer

    def show_on(self, viewer: Viewer) -> None:
        """Call the `on_page` functions with a viewer."""
        for f in self._pages:
            f(viewer)

    def _text(self) -> str:
        lines = [self.description.partition("\n")[0], *(f"{label}: {value}" for label, value in self.read().items())]
        return "\n".join(line for line in lines if line)
