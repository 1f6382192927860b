"""A page in headless Chromium, told what to do through the browser's DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.request
from pathlib import Path
from typing import Any

from kido.viewer.browser import NO_NOTES, HeadlessBrowser, check_size
from kido.viewer.export import write_whole
from kido.viewer.server import ViewerError


class Page:
    """One page of a :class:`HeadlessBrowser`; use as a context manager.

    Args:
        url: address, such as ``viewer.url``.
        size: width and height of the window in pixels.
    """

    def __init__(self, url: str, size: tuple[int, int] = (1280, 800)) -> None:
        from websockets.sync.client import connect

        self._browser = HeadlessBrowser(url, check_size(size))
        try:
            self._socket = connect(self._address(120.0), max_size=None)
        except BaseException:
            self._browser.close()
            raise
        self._count = 0
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=size[0],
            height=size[1],
            deviceScaleFactor=1,
            mobile=False,
        )

    def _address(self, timeout: float) -> str:
        file = Path(self._browser.profile) / "DevToolsActivePort"
        end = time.monotonic() + timeout
        while time.monotonic() < end and self._browser.running:
            if file.exists() and file.read_text().strip():
                port = int(file.read_text().split()[0])
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as answer:
                    pages = [p for p in json.load(answer) if p["type"] == "page"]
                if pages:
                    return pages[0]["webSocketDebuggerUrl"]
            time.sleep(0.1)
        raise ViewerError(f"The browser opened no page within {timeout:g} s.")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and wait for its result."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv(timeout=120))
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise ViewerError(f"The browser refused {method}: {answer['error'].get('message')}")
                return answer["result"]

    def evaluate(self, script: str) -> Any:
        """Value of a JavaScript expression in the page."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def png(self) -> bytes:
        """Picture of the window with everything on it."""
        style = NO_NOTES.removeprefix("<style>").removesuffix("</style>")
        self.evaluate(f"document.head.appendChild(document.createElement('style')).textContent={style!r};0")
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def mouse(self, kind: str, x: float, y: float, *, shift: bool = False) -> None:
        """Left mouse button: ``pressed``, ``moved`` or ``released`` at a point of the window."""
        buttons = {"pressed": 1, "moved": 1, "released": 0}[kind]
        self.call(
            "Input.dispatchMouseEvent",
            type=f"mouse{kind.capitalize()}",
            x=x,
            y=y,
            button="left",
            buttons=buttons,
            clickCount=1,
            modifiers=8 if shift else 0,
        )

    def key(self, key: str, code: str) -> None:
        """Press and release a key, such as ``key("r", "KeyR")``."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code)

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._browser.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def screenshot_page(
    url: str, png_path: str | os.PathLike, size: tuple[int, int] = (1280, 800), *, wait: float = 12.0
) -> Path:
    """Picture of a live page with its controls, such as ``viewer.url`` while the viewer runs in a thread.

    Args:
        url: address of the page.
        png_path: where the picture goes.
        size: width and height in pixels.
        wait: real time from opening the page to the picture [s].
    """
    with Page(url, size) as page:
        time.sleep(wait)
        data = page.png()
    write_whole(Path(png_path), data)
    return Path(png_path)
