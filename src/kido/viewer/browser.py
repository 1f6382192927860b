"""A browser without a screen, for pictures where no person has a page open."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

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
        "A picture needs a browser: open the viewer's page in one, or install Chromium or Chrome "
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


def check_size(size: object) -> tuple[int, int]:
    """Width and height of a picture as whole numbers from 16 to 8192."""
    try:
        width, height = (int(v) for v in size)  # type: ignore[union-attr]
    except (TypeError, ValueError):
        width = height = 0
    if not (16 <= width <= 8192 and 16 <= height <= 8192):
        raise ViewerError(f"Picture size is {size!r}; expected (width, height), each from 16 to 8192 pixels.")
    return width, height


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
