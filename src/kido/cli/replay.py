"""`kido replay`."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

from kido.cli.main import UsageError
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
            return 0
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
    for what, path, export, extra in (
        ("page", options.html, export_html, {}),
        ("film", options.mp4, export_mp4, {"speed": options.speed}),
    ):
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
    if options.view:
        _play(recording, world, options)
    return 0


def _play(recording: Any, world: Any, options: Replay) -> None:
    """Play in the browser, again and again, until Ctrl-C; pause and speed are the viewer's."""
    from kido.viewer import Viewer

    frames = [(f.time, f.positions) for f in recording.play(None, 60.0)]
    names = [item["name"] for item in recording.description(0)["skeletons"]]
    with Viewer(world, port=options.port) as viewer:
        if not options.quiet:
            print(f"kido: {viewer.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
        skeletons = [world.skeleton(name) for name in names]
        while not viewer.closed:
            before = frames[0][0]
            for moment, positions in frames:
                began = time.perf_counter()
                start = 0
                for skeleton in skeletons:
                    stop = start + skeleton.num_dofs
                    if stop <= len(positions) and skeleton.num_dofs:
                        skeleton.positions = positions[start:stop]
                    start = stop
                _tick(viewer)
                rest = (moment - before) / options.speed - (time.perf_counter() - began)
                before = moment
                time.sleep(max(rest, 0.0))
            time.sleep(0.5)


def _tick(viewer: Any) -> None:
    viewer.work_off()
    viewer.update()
    while viewer.paused and not viewer.closed:
        time.sleep(1.0 / viewer.fps)
        viewer.work_off()
        viewer.update()
