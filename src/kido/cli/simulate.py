"""`kido simulate`."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

from kido.cli.main import INTERRUPTED, OK, RECORDINGS, UsageError, check_ending
from kido.cli.options import Simulate
from kido.cli.progress import BAR, Counter, bar, file_line, hush
from kido.errors import KidoError

PAGE_FPS = 60.0
MAX_STEPS = 10**10
STILL = 1e-9  # [rad, m] that coordinates may differ from those at the start if nothing is said to move
_MAX_CHUNK = 0.1  # [s] of real time between two updates of the bar


@dataclass
class Run:
    """How a simulation went; `wall` are the seconds that `timed` of its steps took, the first one left out."""

    world: Any
    energy_before: float
    start: list[Any]
    steps: int = 0
    simulated: float = 0.0
    wall: float = 0.0
    timed: int = 0
    interrupted: bool = False


def simulate(options: Simulate) -> int:
    """Simulate, and say how it went. Returns the exit code."""
    hush(options.quiet)
    from kido.cli import scene

    scene.check(options)
    _check_outputs(options)
    world = scene.build(options)
    if not options.view or options.duration is not None:
        _number_of_steps(options, world.time_step)
    with contextlib.ExitStack() as stack:
        recorder = None
        if options.record is not None:
            from kido.recording import Recorder

            recorder = stack.enter_context(
                Recorder(world, options.record, every=options.every, overwrite=options.overwrite)
            )
        sampler = None
        if options.html is not None:
            from kido.viewer import TrajectorySampler

            sampler = TrajectorySampler(world, PAGE_FPS)
        result = _view(world, options, sampler) if options.view else _advance(world, options, sampler)
        if recorder is not None and result.interrupted:
            recorder.event("interrupted", kind="interrupt")
    output = summary(result)
    if recorder is not None:
        output.append(file_line("recorded", recorder.path, f"{recorder.num_frames} frames"))
    if sampler is not None and options.html is not None:
        _write_page(world, sampler, options, options.html)
        output.append(file_line("page", options.html))
    if not options.quiet:
        print("\n".join(output))
    return INTERRUPTED if result.interrupted else OK


def _check_outputs(options: Simulate) -> None:
    """Refuse files that cannot be written, and extras that are not there, before anything is simulated."""
    check_ending("--record", options.record, *RECORDINGS)
    check_ending("--html", options.html, ".html", ".htm")
    if options.record is not None:
        if not options.overwrite and os.path.isfile(options.record):
            raise KidoError(f"{options.record}: exists already; choose another name, or replace it with --overwrite")
        from kido.recording.tables import check_writable

        check_writable(options.record, options.overwrite)
    if options.html is not None or options.view:
        from kido.viewer.server import require_viser

        require_viser()
    if options.html is not None:
        from pathlib import Path

        from kido.viewer.film import check_writable as check_page

        check_page(Path(options.html))


def _start(world: Any) -> Any:
    """Compile what the first step needs, and note where the simulation starts."""
    world.step(0)
    world.reset_totals()
    return Run(world, world.total_energy, _positions(world))


def _positions(world: Any) -> list[Any]:
    return [s.positions for s in world.skeletons]


def _advance(world: Any, options: Simulate, sampler: Any) -> Any:
    """Step to the end or to Ctrl-C, with a bar."""
    result = _start(world)
    duration = _duration(options)
    total = _number_of_steps(options, world.time_step)
    first, origin, chunk = world.num_steps, world.time, 1
    progress = bar(duration, options.quiet, bar_format=BAR)
    try:
        while (done := world.num_steps - first) < total:
            number = min(chunk, total - done)
            if sampler is not None:
                number = min(number, _until_frame(world, origin, sampler))
            began = time.perf_counter()
            world.step(number)
            took = time.perf_counter() - began
            if done:  # the first step also loads or compiles kernels
                result.wall += took
                result.timed += number
            if sampler is not None:
                sampler(world)
            chunk = max(1, min(4 * chunk, int(number * _MAX_CHUNK / max(took, 1e-9))))
            progress.set_postfix_str(f"{len(world.contacts)} contacts", refresh=False)
            progress.update(min(world.time - origin, duration) - progress.n)
    except KeyboardInterrupt:
        result.interrupted = True
    finally:
        progress.close()
    result.steps, result.simulated = world.num_steps - first, world.time - origin
    return result


def _duration(options: Simulate) -> float:
    return 5.0 if options.duration is None else options.duration


def _number_of_steps(options: Simulate, time_step: float) -> int:
    """Steps of the whole simulation.

    Raises:
        UsageError: they are too many, or the duration is less than one of them.
    """
    duration = _duration(options)
    if duration / time_step > MAX_STEPS:
        raise UsageError(f"{duration:g} s in steps of {time_step:g} s are more than {MAX_STEPS:,} steps")
    if 0.0 < duration < time_step * (1.0 - 1e-9):
        raise UsageError(
            f"--duration {duration:g}: shorter than one step of {time_step:g} s; expected a longer time, or a shorter "
            "step (--dt)"
        )
    return round(duration / time_step)


def _until_frame(world: Any, origin: float, sampler: Any) -> int:
    """Steps to the next frame of the page."""
    frame = math.floor((world.time - origin) * sampler.fps + 1e-6) + 1
    return max(1, math.ceil((origin + frame / sampler.fps - world.time) / world.time_step - 1e-6))


def _view(world: Any, options: Simulate, sampler: Any) -> Any:
    """Show the world live until the page's program is ended, or for the duration."""
    from kido.viewer import Viewer

    result = _start(world)
    first, origin = world.num_steps, world.time
    remove = world.add_step_callback(sampler) if sampler is not None else None
    with Viewer(world, port=options.port) as viewer:
        if not options.quiet:
            print(f"kido: {viewer.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
        began = time.perf_counter()
        finished = viewer.run(options.duration)
        result.wall, result.timed = time.perf_counter() - began, world.num_steps - first
    if remove is not None:
        remove()
    result.interrupted = not finished
    result.steps, result.simulated = world.num_steps - first, world.time - origin
    return result


def _write_page(world: Any, sampler: Any, options: Simulate, target: str) -> None:
    from kido.viewer import export_html

    counter = Counter("page", options.quiet)
    try:
        export_html(world, sampler.trajectory, target, fps=PAGE_FPS, progress=counter)
    finally:
        counter.close()


def summary(run: Run) -> list[str]:
    """The summary, line by line."""
    world, totals = run.world, run.world.totals
    step = f"{1e3 * world.time_step:g} ms"
    head = f"{run.simulated:.3f} s in {run.steps} steps of {step}"
    if run.interrupted:
        head += ", interrupted"
    found = [("simulated", head)]
    if run.wall > 0 and run.timed:
        rate = run.timed / run.wall
        found.append(("speed", f"{rate:,.0f} steps/s, {rate * world.time_step:.3g} times real time"))
    found.append(("contacts", f"{len(world.contacts)} now, at most {totals.contacts}"))
    found.append(("penetration", f"{_millimetres(world.report.max_penetration)} now, at most "
                                 f"{_millimetres(totals.max_penetration)}"))  # fmt: skip
    moved = max((abs(a - b).max(initial=0.0) for a, b in zip(run.start, _positions(world))), default=0.0)
    if run.steps and moved < STILL:
        found.append(("motion", "none: what moves is in balance; start elsewhere with --set JOINT=VALUE"))
    found.append(("energy", f"{run.energy_before:.6g} J at the start, {world.total_energy:.6g} J now "
                            f"(kinetic {world.kinetic_energy:.3g} J)"))  # fmt: skip
    solver = f"residual at most {totals.residual:.2g}, at most {totals.iterations} iterations"
    missed = world.unconverged_steps
    found.append(("solver", solver + (f"; NOT CONVERGED in {missed} of {run.steps} steps" if missed else "")))
    return [f"{name:<12} {text}" for name, text in found]


def _millimetres(metres: float) -> str:
    return f"{1e3 * metres:.3g} mm"
