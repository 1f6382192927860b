"""The commands `kido convert`, `info`, `models`, `replay`, `view`, `warmup`; what they need is imported on use."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from kido.cli.main import INTERRUPTED, OK, RECORDINGS, UsageError, check_ending
from kido.cli.options import Convert, Info, Models, Replay, View, Warmup
from kido.cli.progress import Counter, file_line, hush
from kido.errors import KidoError


def convert(options: Convert) -> int:
    """Write a model as a file of another format."""
    from kido.io import save
    from kido.skeleton import Skeleton

    target = Path(options.to)
    if target.exists() and not options.overwrite:
        raise KidoError(f"{target}: exists; replace it with --overwrite")
    if not target.absolute().parent.is_dir():
        raise KidoError(f"{target}: no such folder: {target.absolute().parent}")
    model = options.load(options.file)
    if options.skeleton is not None:
        if isinstance(model, Skeleton):
            raise UsageError(f"--skeleton {options.skeleton}: {options.file} is no world")
        model = model.skeleton(options.skeleton)
    meshes = "reference" if options.reference_meshes else "copy"
    remarks = save(model, target, approximate=options.approximate, meshes=meshes)
    if not options.quiet:
        for text in remarks:
            print(f"kido: warning: {text}", file=sys.stderr)
        print(file_line("written", target))
    return OK


def info(options: Info) -> int:
    """Print what a model or a recording holds."""
    from kido.cli.info import finite, model_lines, model_to_dict, recording_lines, recording_to_dict
    from kido.io.files import find
    from kido.recording import Recording

    if is_recording(options.file):
        with Recording.open(options.file) as recording:
            data = recording_to_dict(recording)
        text = recording_lines(data)
    else:
        data = model_to_dict(options.load(options.file), str(find(options.file)))
        text = model_lines(data)
    print(json.dumps(finite(data), indent=2, allow_nan=False) if options.json else "\n".join(text))
    return OK


def is_recording(path: str) -> bool:
    """Whether a file is to be read as a recording: by its extension."""
    return path.lower().endswith(RECORDINGS)


def is_modes(path: str) -> bool:
    """Whether a file of HDF5 holds modes of a flexible body."""
    from kido.flexible.files import holds_modes

    return holds_modes(path)


def is_motion(path: str) -> bool:
    """Whether a file is to be read as a motion: by its extension."""
    from kido.io.files import FORMATS

    return any(path.lower().endswith(found.suffix) for found in FORMATS if found.holds == "a motion")


def models(options: Models) -> int:
    """List the bundled models."""
    from kido import models as bundled

    paths = {name: str(bundled.path(name)) for name in bundled.names()}
    if options.json:
        print(json.dumps(paths, indent=2))
    else:
        width = max(map(len, paths))
        for name, path in paths.items():
            print(f"{name:<{width}}  {path}")
    return OK


def replay(options: Replay) -> int:
    """Play a recording."""
    hush(options.quiet)
    check_ending("--html", options.html, ".html", ".htm")
    check_ending("--film", options.film, ".mp4", ".webp", ".gif")
    for name, value in (("fps", options.fps), ("speed", options.speed)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"--{name} {value:g}: expected a number above 0")
    quiet = options.html is None and options.film is None and not options.view
    rate = 60.0 if options.view else options.fps
    if not is_recording(options.file):
        motion = _motion(options)
        if quiet:
            print(f"{motion}\n{', '.join(motion.names)}")
            return OK
        _check(options)
        from kido.viewer import Trajectory

        return _show(motion.skeleton, Trajectory.from_motion(motion, rate), options)
    if options.model is not None:
        raise UsageError(f"--model {options.model}: {options.file} is a recording, which has its own models")
    from kido.recording import Recording

    with Recording.open(options.file) as recording:
        if quiet:
            from kido.cli.info import recording_lines, recording_to_dict

            print("\n".join(recording_lines(recording_to_dict(recording))))
            return OK
        _check(options)
        from kido.viewer import Trajectory

        return _show(recording.display_world(), Trajectory.from_recording(recording, rate), options)


def _motion(options: Replay) -> Any:
    """The motion of a file, on the model that is named, if one is."""
    from kido.io import load_motion, load_skeleton

    motion = load_motion(options.file)
    return motion if options.model is None else motion.on(load_skeleton(options.model))


def _check(options: Replay) -> None:
    from kido.viewer.export import check_writable
    from kido.viewer.server import require_viser

    require_viser()
    for path in (options.html, options.film):
        if path is not None:
            check_writable(Path(path))


def _show(world: Any, trajectory: Any, options: Replay) -> int:
    from kido.viewer import export_film, export_html

    written = []
    exports: tuple[tuple[str, str | None, Any, dict[str, Any]], ...] = (
        ("page", options.html, export_html, {}),
        ("film", options.film, export_film, {"speed": options.speed}),
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


def view(options: View) -> int:
    """Show a model or a recording in the browser until Ctrl-C."""
    check_ending("--html", options.html, ".html", ".htm")
    if is_recording(options.file) and is_modes(options.file):
        return _view_modes(options)
    if options.mode is not None:
        raise UsageError(f"--mode {options.mode}: {options.file} is no file of modes")
    if is_recording(options.file) or is_motion(options.file):
        shown = options.html is None
        return replay(Replay(options.file, html=options.html, view=shown, port=options.port))
    from kido.viewer.server import require_viser

    require_viser()
    return _view(options.load(options.file), options)


def _view_modes(options: View) -> int:
    """Show a flexible body, held at its inboard node, whose modes move: one in turns, or by sliders."""
    from kido.flexible import FlexibleBody, read_modes
    from kido.skeleton import Skeleton, WeldJoint
    from kido.viewer.server import require_viser

    require_viser()
    modes = read_modes(options.file)
    skeleton = Skeleton(Path(options.file).stem)
    FlexibleBody(skeleton.add_body("body", WeldJoint()), modes)
    if options.mode is None:
        return _view(skeleton, options)
    if not 1 <= options.mode <= modes.number:
        raise UsageError(f"--mode {options.mode}: expected a whole number from 1 to {modes.number}")
    from kido.viewer import mode_shape

    shown = Replay(options.file, html=options.html, view=options.html is None, port=options.port)
    return _show(skeleton, mode_shape(skeleton, skeleton.dofs[options.mode - 1].name), shown)


def _view(model: Any, options: View) -> int:
    if options.html is not None:
        from kido.viewer import export_html

        export_html(model, None, options.html)
        print(file_line("page", options.html))
        return OK
    from kido.viewer import Viewer

    with Viewer(model, port=options.port, paused=True) as viewer:
        print(f"kido: {viewer.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
        return OK if viewer.run() else INTERRUPTED


def warmup(options: Warmup) -> int:
    """Compile all kernels."""
    if options.processes is not None and options.processes < 1:
        raise UsageError(f"--processes {options.processes}: expected a whole number above 0")
    from kido.jit import warmup as compile_kernels

    def report(line: str) -> None:
        print(f"kido: compiling kernels: {line}", file=sys.stderr, flush=True)

    seconds = compile_kernels(options.processes, report=None if options.quiet else report)
    if not options.quiet:
        print(f"all kernels are compiled ({seconds:.1f} s)")
    return OK
