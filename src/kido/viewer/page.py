"""A page of one's own: a server on this machine, and what people do there, waiting for the model's thread."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any, Protocol, Self

from kido.viewer.model import Model
from kido.viewer.scene import SceneView
from kido.viewer.server import start_server, stop_server


class Page:
    """What a :class:`kido.viewer.Viewer` and a :class:`kido.viewer.Player` have in common.

    Attributes:
        model: World or Skeleton.
        server: viser's.
        view: the model in the scene.
        is_world: whether there are contacts to be shown.
        fps: frames per second.
    """

    view: SceneView
    is_world: bool

    def __init__(self, model: Model, title: str, port: int | None, fps: float) -> None:
        self.model = model
        self.fps = float(fps)
        self.server: Any = start_server(port, title=f"KIDO · {getattr(model, 'name', None) or title}")
        self._posted: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        self._closed = False

    @property
    def port(self) -> int:
        """Port of the page."""
        return int(self.server.get_port())

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{self.server.get_host()}:{self.port}"

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    def post(self, action: Callable[[], Any]) -> None:
        """From any thread: have ``action()`` called by the model's thread at its next frame."""
        self._posted.put(action)

    def work_off(self) -> None:
        """Do what other threads have posted, now."""
        while True:
            try:
                action = self._posted.get_nowait()
            except queue.Empty:
                return
            action()

    def close(self) -> None:
        """Stop the page and free its port; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self.end()
            stop_server(self.server)

    def end(self) -> None:
        """What has to end before the server does."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class LivePage(Protocol):
    """What panels and targets ask of a :class:`kido.viewer.Viewer`, where each is described."""

    model: Model
    server: Any
    view: SceneView
    is_world: bool
    paused: bool
    labels: list[str]
    cameras: dict[str, Any]
    follower: Any
    pusher: Any
    targets: list[Any]
    joint_panels: list[Any]

    @property
    def real_time_factor(self) -> float: ...
    def post(self, action: Callable[[], Any]) -> None: ...
    def add_key(self, key: str, f: Callable[[], Any], label: str | None = None) -> Any: ...
    def add_frame_callback(self, f: Callable[[Any], Any]) -> Callable[[], None]: ...
    def toggle_pause(self) -> None: ...
    def step(self, n: int = 1) -> None: ...
    def reset(self) -> None: ...
    def set_speed(self, speed: float) -> None: ...
    def show_all(self) -> None: ...
    def follow(self, body: Any) -> None: ...
    def look_through(self, camera: Any) -> None: ...
    def push(self, body: Any, force: Any, duration: float = 0.1) -> Any: ...
    def select(self, body: Any) -> None: ...
    def release_shapes(self) -> None: ...
    def typical_weight(self) -> float: ...
    def weight(self, skeleton: Any) -> float: ...
