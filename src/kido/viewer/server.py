"""Starting the web server of viser, on this machine only."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from kido.errors import KidoError, MissingExtraError

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
