"""The server of a page on this machine only, and what people do there, waiting for the model's thread."""

from __future__ import annotations

import contextlib
import html
import logging
import math
import queue
from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self

from kido.attributes import FixedAttributes
from kido.errors import KidoError, MissingExtraError
from kido.math.transform import number_or_nan
from kido.rendering.model import Model
from kido.viewer.scene import SceneView
from kido.viewer.webpage import Webpage, page_title

HOST = "127.0.0.1"
DEFAULT_PORT = 8080


class ViewerError(KidoError):
    """A viewer that cannot do what was asked: a port in use, no browser, a closed viewer."""


def require_viser() -> Any:
    """The viser module; raises MissingExtraError with the command that installs it."""
    try:
        import viser
    except ImportError as error:
        raise MissingExtraError("The viewer", "viewer") from error
    return viser


def start_server(port: int | None = None, title: str = "KIDO") -> Any:
    """Start a viser server bound to 127.0.0.1.

    Args:
        port: None for 8080 or the next free port, 0 for any free port, else exactly this port.
        title: heading of the control panel.

    Raises:
        MissingExtraError: viser is not installed.
        ViewerError: the port is not a port number, or is in use.
    """
    viser = require_viser()
    if port is not None and (isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535):
        raise ViewerError(f"Viewer port is {port!r}; expected None or a whole number from 0 to 65535.")
    log = logging.getLogger("websockets.server")
    if log.level == logging.NOTSET:
        # A page that is closed while it loads is no error worth a traceback.
        log.setLevel(logging.CRITICAL)
    with quiet():
        server = _local_server(viser)(host=HOST, port=DEFAULT_PORT if port is None else port, verbose=False)
    if port and server.get_port() != port:
        stop_server(server)
        raise ViewerError(f"Port {port} on {HOST} is in use. Choose another port, or port=None for the next free one.")
    server.gui.set_panel_label(title)
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(66, 99, 141))
    return server


def stop_server(server: Any) -> None:
    """Stop a server and free its port."""
    with quiet():
        server.stop()


def _local_server(viser: Any) -> Any:
    class LocalServer(viser.ViserServer):
        """A server that cannot be asked by a page to open a tunnel to the internet."""

        def request_share_url(self, verbose: bool = True) -> None:
            return None

    return LocalServer


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep viser from printing its own banner; KIDO prints the address where a program wants it."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


class Page(FixedAttributes):
    """What a :class:`kido.viewer.Viewer` and a :class:`kido.viewer.Player` have in common.

    Attributes:
        model: World or Skeleton.
        server: viser's.
        webpage: what runs in the page.
        view: the model in the scene.
        is_world: whether there are contacts to be shown.
        fps: frames per second.
    """

    view: SceneView
    is_world: bool

    def __init__(self, model: Model, title: str, port: int | None, fps: float) -> None:
        if not 0.0 < number_or_nan(fps) < math.inf:
            raise ViewerError(f"fps: expected frames per second above 0, got {fps!r}")
        self.model = model
        self.fps = float(fps)
        name = getattr(model, "name", None) or title
        self.server: Any = start_server(port, title=page_title(name))
        self.webpage = Webpage(self.server, name)
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

    def iframe(self, height: int = 500) -> str:
        """HTML that shows the page in another one, ``height`` pixels high; notebooks show a viewer so."""
        return (
            f'<iframe src="{self.url}" style="width:100%;height:{int(height)}px;border:1px solid #ccc" '
            f'title="{html.escape(self.webpage.title)}"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.iframe()

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

    @property
    def joint_panels(self) -> list[Any]: ...

    @property
    def real_time_factor(self) -> float: ...
    def post(self, action: Callable[[], Any]) -> None: ...
    def hold_still(self) -> None: ...
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
    def weight(self, skeleton: Any) -> float: ...
