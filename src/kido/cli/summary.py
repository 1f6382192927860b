"""What `kido simulate` says at the end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kido.simulation import World


@dataclass
class Run:
    """How a simulation went; `wall` are the seconds that `timed` of its steps took, the first one left out."""

    world: World
    energy_before: float
    steps: int = 0
    simulated: float = 0.0
    wall: float = 0.0
    timed: int = 0
    interrupted: bool = False


def lines(run: Run) -> list[str]:
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
    found.append(("energy", f"{run.energy_before:.6g} J at the start, {world.total_energy:.6g} J now "
                            f"(kinetic {world.kinetic_energy:.3g} J)"))  # fmt: skip
    solver = f"residual at most {totals.residual:.2g}, at most {totals.iterations} iterations"
    missed = world.unconverged_steps
    found.append(("solver", solver + (f"; NOT CONVERGED in {missed} of {run.steps} steps" if missed else "")))
    return [f"{name:<12} {text}" for name, text in found]


def file_line(what: str, path: str | Path, note: str = "") -> str:
    """A line about a file that was written."""
    size = Path(path).stat().st_size
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    text = f"{size:.3g} {unit}" if unit != "bytes" else f"{size:.0f} bytes"
    return f"{what:<12} {path} ({note + ', ' if note else ''}{text})"


def _millimetres(metres: float) -> str:
    return f"{1e3 * metres:.3g} mm"
