"""Headless Chromium: pictures of exported pages and of live pages, with their controls."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from kido.attributes import named_arguments
from kido.viewer.film import write_whole
from kido.viewer.painting import check_size
from kido.viewer.server import ViewerError

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Programs looked for on PATH; the environment variable KIDO_BROWSER names another one."""

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
)

NO_NOTES = "<style>.mantine-Notifications-root{display:none!important}</style>"
"""Hides the page's own note that WebGL runs in software."""


def find_browser() -> str:
    """Path of Chromium or Chrome.

    Raises:
        ViewerError: there is none; names what was looked for.
    """
    named = os.environ.get("KIDO_BROWSER")
    for program in (named,) if named else PROGRAMS:
        path = shutil.which(program)
        if path:
            return path
    if named:
        raise ViewerError(f"KIDO_BROWSER names {named!r}, which is no program that can be run.")
    raise ViewerError(
        "A picture of a page needs a browser: install Chromium or Chrome "
        f"(looked on PATH for {', '.join(PROGRAMS)}; KIDO_BROWSER may name another program)."
    )


class HeadlessBrowser:
    """A running headless Chromium with one page open; closed with :meth:`close` or as a context manager."""

    def __init__(self, url: str, size: tuple[int, int]) -> None:
        program = find_browser()
        self._profile = tempfile.TemporaryDirectory(prefix="kido-browser-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [
                program,
                *FLAGS,
                f"--window-size={size[0]},{size[1]}",
                f"--user-data-dir={self._profile.name}",
                "--remote-debugging-port=0",
                url,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def profile(self) -> str:
        """Directory of the browser's profile."""
        return self._profile.name

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the browser and delete its profile."""
        if self.running:
            self._process.terminate()
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._profile.cleanup()

    def __enter__(self) -> HeadlessBrowser:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@named_arguments
def screenshot_html(
    html_path: str | os.PathLike,
    png_path: str | os.PathLike,
    size: tuple[int, int] = (1280, 800),
    *,
    wait: float = 15.0,
    timeout: float = 180.0,
) -> Path:
    """Picture of an exported page, as headless Chromium shows it.

    Args:
        html_path: page written by :func:`kido.viewer.export_html`.
        png_path: where the picture goes.
        size: width and height in pixels.
        wait: how long the page runs before the picture, in the page's own time [s]; a motion has then played
            for somewhat less than that, and begins anew at its end.
        timeout: longest real time to wait [s].

    Returns:
        Path of the picture.

    Raises:
        ViewerError: no page, no browser, or a browser that made no picture.
    """
    width, height = check_size(size)
    page = Path(html_path)
    if not page.is_file():
        raise ViewerError(f"There is no page {str(page)!r} to take a picture of.")
    program = find_browser()
    target = Path(png_path).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kido-browser-", ignore_cleanup_errors=True) as folder:
        copy, shot = Path(folder) / "page.html", Path(folder) / "shot.png"
        html = page.read_text(encoding="utf-8")
        copy.write_text(html.replace("</head>", NO_NOTES + "</head>", 1), encoding="utf-8")
        command = [
            program,
            *FLAGS,
            f"--window-size={width},{height}",
            f"--user-data-dir={folder}/profile",
            f"--virtual-time-budget={int(1000 * wait)}",
            f"--screenshot={shot}",
            copy.as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired as error:
            message = f"The browser made no picture of {str(page)!r} within {timeout:g} s."
            raise ViewerError(message) from error
        if not shot.is_file():
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            why = f"exit {done.returncode}: {last[0]}"
            raise ViewerError(f"The browser made no picture of {str(page)!r} ({why}).")
        shutil.move(shot, target)
    return target


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

    def key(self, key: str, code: str, *, shift: bool = False) -> None:
        """Press and release a key, such as ``key("r", "KeyR")``, or ``key("?", "Slash", shift=True)``."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, modifiers=8 if shift else 0)

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
