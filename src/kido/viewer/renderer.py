"""Pictures of a live scene, taken by a page that is open or by a headless browser."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from kido.viewer.browser import HeadlessBrowser, check_size
from kido.viewer.camera import CameraPose
from kido.viewer.film import on_white
from kido.viewer.server import ViewerError

CONNECT_TIMEOUT = 60.0
"""Longest wait for a headless browser to open the page [s]."""

RENDER_TIMEOUT = 60.0
"""Longest wait for one picture [s]."""


class Renderer:
    """Takes pictures of the scene of a viser server.

    A page that a person has open is used if there is one; else a headless browser, which is started when
    first needed and kept until :meth:`close`.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._browser: HeadlessBrowser | None = None
        self._own: int | None = None
        self._lock = threading.Lock()

    def people(self) -> dict[int, Any]:
        """Pages that are open, by client number, without the headless one."""
        return {k: c for k, c in self._server.get_clients().items() if k != self._own}

    def picture(self, pose: CameraPose, size: tuple[int, int]) -> np.ndarray:
        """Picture (h, w, 3) of bytes from ``pose``."""
        width, height = check_size(size)
        with self._lock:
            client = self._client()
            try:
                image = client.get_render(
                    height=height,
                    width=width,
                    wxyz=pose.wxyz,
                    position=pose.position,
                    fov=pose.fov,
                    transport_format="png",
                    timeout=RENDER_TIMEOUT,
                )
            except (TimeoutError, RuntimeError) as error:
                raise ViewerError(f"The browser gave no picture: {error}") from error
        return on_white(np.asarray(image))

    def _client(self) -> Any:
        people = self.people()
        if people:
            return next(iter(people.values()))
        clients = self._server.get_clients()
        if self._browser is not None and self._browser.running and self._own in clients:
            return clients[self._own]
        self._close_browser()
        before = set(clients)
        address = f"http://{self._server.get_host()}:{self._server.get_port()}"
        # The page's own window is kept small, because it is drawn beside every picture; fixedDpr keeps the
        # page from lowering the resolution when it is slow.
        self._browser = HeadlessBrowser(f"{address}/?fixedDpr=1", (400, 300))
        end = time.monotonic() + CONNECT_TIMEOUT
        while time.monotonic() < end:
            new = [k for k in self._server.get_clients() if k not in before]
            if new:
                self._own = new[0]
                client = self._server.get_clients()[self._own]
                # The scene arrives after the first camera message; a small picture waits for it.
                time.sleep(0.5)
                client.get_render(height=48, width=64, timeout=RENDER_TIMEOUT)
                return client
            if not self._browser.running:
                break
            time.sleep(0.05)
        self._close_browser()
        raise ViewerError(f"No browser opened {address} within {CONNECT_TIMEOUT:g} s; no picture was taken.")

    def _close_browser(self) -> None:
        if self._browser is not None:
            self._browser.close()
        self._browser, self._own = None, None

    def close(self) -> None:
        """End the headless browser."""
        self._close_browser()
