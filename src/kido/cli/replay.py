"""`kido replay`."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from kido.cli.main import INTERRUPTED, OK, UsageError
from kido.cli.options import Replay
from kido.cli.progress import Counter, hush


def run(options: Replay) -> int:
    """Play a recording."""
    hush(options.quiet)
    for name, value in (("fps", options.fps), ("speed", options.speed)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"--{name} {value:g}: expected a number above 0")
    from kido.recording import Recording

    with Recording.open(options.file) as recording:
        if options.html is None and options.mp4 is None and not options.view:
            from kido.cli.recording_info import recording_lines, recording_to_dict

            print("\n".join(recording_lines(recording_to_dict(recording))))
            return OK
        _check(options)
        return _show(recording, options)


def _check(options: Replay) -> None:
    from kido.viewer.export import check_writable
    from kido.viewer.server import require_viser

    require_viser()
    for path in (options.html, options.mp4):
        if path is not None:
            check_writable(Path(path))


def _show(recording: Any, options: Replay) -> int:
    from kido.cli.summary import file_line
    from kido.viewer import Trajectory, export_html, export_mp4

    world = recording.display_world()
    rate = 60.0 if options.view else options.fps
    trajectory = Trajectory.from_transforms(*recording.trajectory(rate))
    written = []
    exports: tuple[tuple[str, str | None, Any, dict[str, Any]], ...] = (
        ("page", options.html, export_html, {}),
        ("film", options.mp4, export_mp4, {"speed": options.speed}),
    )
    for what, path, export, extra in exports:
        if path is None:
            continue
        counter = Counter(what, options.quiet)
        try:
            export(world, trajectory, path, fps=options.fps, progress=counter, **extra)
        finally:
            counter.close()
        written.append(file_line(what, path, f"{trajectory.duration:.3g} s"))
    if written and not options.quiet:
        print("\n".join(written), flush=True)
    return _play(world, trajectory, options) if options.view else OK


def _play(world: Any, trajectory: Any, options: Replay) -> int:
    """Play in the browser, again and again, until Ctrl-C."""
    from kido.viewer import Player

    with Player(world, trajectory, port=options.port, speed=options.speed) as player:
        if not options.quiet:
            print(f"kido: {player.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
        return OK if player.run() else INTERRUPTED
