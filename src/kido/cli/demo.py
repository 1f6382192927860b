"""`kido demo`."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from kido.cli.main import INTERRUPTED, OK, UsageError, check_ending
from kido.cli.options import Demo
from kido.cli.progress import BAR, Counter, bar, file_line, hush
from kido.errors import NameLookupError

NEED_NAME = ("skeleton", "motion", "duration", "html", "film", "port")


def demo(options: Demo) -> int:
    """List the demos, open one, or run it and write what is asked for. Returns the exit code."""
    hush(options.quiet)
    from kido import demos

    if options.name is None:
        given = next((name for name in NEED_NAME if getattr(options, name) not in (None, [])), None)
        if given is not None:
            raise UsageError(f"--{given}: name a demo: {', '.join(demos.names())}")
        _list()
        return OK
    demos.path(options.name)
    _check(options)
    made = demos.load(options.name, *options.skeleton, motion=options.motion)
    for key in options.press:
        if key not in made.keys:
            raise NameLookupError(f"key of the demo {options.name}", key, list(made.keys))
    if options.view or (options.duration is None and options.html is None and options.film is None):
        return _open(made, options)
    return _run(made, options)


def _list() -> None:
    from kido import demos

    width = max(map(len, demos.names()))
    for name in demos.names():
        print(f"{name:<{width}}  {demos.description(name).partition(chr(10))[0]}")
    print(f"\nkido demo NAME opens one; their programs: {demos.path(demos.names()[0]).parent}")


def _check(options: Demo) -> None:
    from kido.viewer.film import check_writable
    from kido.viewer.server import require_viser

    check_ending("--html", options.html, ".html", ".htm")
    check_ending("--film", options.film, ".mp4", ".webp", ".gif")
    if options.duration is not None and not (math.isfinite(options.duration) and options.duration >= 0):
        raise UsageError(f"--duration {options.duration:g}: expected seconds, not below 0")
    if options.port is not None and not 0 <= options.port < 65536:
        raise UsageError(f"--port {options.port}: expected 0 to 65535")
    if options.view and (options.html is not None or options.film is not None):
        raise UsageError("--view: opens the viewer; pages and films are written without it")
    for path in (options.html, options.film):
        if path is not None:
            require_viser()
            check_writable(Path(path))


def _press(made: Any, options: Demo) -> None:
    for key in options.press:
        made.press(key)


def _open(made: Any, options: Demo) -> int:
    from kido import demos
    from kido.viewer.server import require_viser

    require_viser()
    with made.open(options.port) as viewer:
        _press(made, options)
        if not options.quiet:
            print(made.description)
            print(f"\nprogram      {demos.path(made.name)}", flush=True)
            print(f"kido: {viewer.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
        return OK if viewer.run(options.duration) else INTERRUPTED


def _run(made: Any, options: Demo) -> int:
    """Run it without a viewer; Ctrl-C ends it and nothing is written."""
    from kido import demos

    duration = made.duration if options.duration is None else options.duration
    _press(made, options)
    progress = bar(duration, options.quiet, bar_format=BAR)
    try:
        motion = made.run(duration, lambda t: progress.update(t - progress.n))
    finally:
        progress.close()
    lines = [f"{label:<24} {value}" for label, value in made.read().items()]
    if math.isfinite(made.real_time_factor):
        lines.append(f"{'speed':<24} {made.real_time_factor:.3g} times real time")
    lines.append(f"{'program':<24} {demos.path(made.name)}")
    lines += _write(made, motion, options)
    if not options.quiet:
        print("\n".join(lines))
    return OK


def _write(made: Any, motion: Any, options: Demo) -> list[str]:
    from kido.demos.demo import FPS
    from kido.viewer import export_film, export_html

    written = []
    exports: tuple[tuple[str, str | None, Any, dict[str, Any]], ...] = (
        ("page", options.html, export_html, {"fps": FPS, "title": made.name}),
        ("film", options.film, export_film, {}),
    )
    for what, path, export, extra in exports:
        if path is not None:
            counter = Counter(what, options.quiet)
            try:
                export(made.model, motion, path, camera=made.camera, progress=counter, **extra)
            finally:
                counter.close()
            written.append(file_line(what, path))
    return written
