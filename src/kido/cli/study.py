"""`kido study`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from kido.cli.main import OK, UsageError, check_ending
from kido.cli.options import Study
from kido.cli.progress import file_line, hush
from kido.errors import KidoError


def study(options: Study) -> int:
    """Run a study of a Python file, print what came out. Returns the exit code."""
    hush(options.quiet)
    check_ending("--out", options.out, ".h5", ".hdf5")
    check_ending("--plot", options.plot, ".png", ".svg", ".pdf")
    if options.address is not None and options.mode != "ray":
        raise UsageError("--address: is of a Ray cluster; give --mode ray too")
    chosen = _study(Path(options.file), options.name)
    settings: dict[str, Any] = {
        "file": options.out,
        "workers": options.workers,
        "mode": options.mode,
        "address": options.address,
        "progress": not options.quiet,
    }
    if options.sweep is not None:
        found = chosen.sweep(options.sweep, **settings)
    else:
        found = chosen.monte_carlo(options.samples, options.sampler, **settings)
    lines = [f"{len(found)} samples, {len(found.errors)} failed"]
    for output in found.outputs:
        low, middle, high = found.quantiles(output)
        lines.append(f"{output:<12} median {middle:.5g}, 5 % {low:.5g}, 95 % {high:.5g}")
    lines += [f"sample {k}: {text}" for k, text in list(found.errors.items())[:3]]
    if options.out is not None:
        lines.append(file_line("result", options.out))
    if options.plot is not None:
        found.plot(options.plot)
        lines.append(file_line("plot", options.plot))
    if not options.quiet:
        print("\n".join(lines))
    return OK


def _study(path: Path, name: str | None) -> Any:
    """The study that a file defines; it is imported under its own name, so that processes find its functions."""
    from kido.analysis import Study as AnalysisStudy

    if path.suffix != ".py" or not path.is_file():
        raise KidoError(f"{path}: expected a Python file that defines a kido.analysis.Study")
    folder, stem = str(path.absolute().parent), path.stem
    if stem in sys.modules or not stem.isidentifier():
        raise KidoError(f"{path}: its name is that of another module; rename the file")
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    module = importlib.import_module(stem)
    found = {key: value for key, value in vars(module).items() if isinstance(value, AnalysisStudy)}
    if name is not None and name not in found:
        raise KidoError(f"{path}: no study {name!r}; it defines {', '.join(found) or 'none'}")
    if name is None and len(found) != 1:
        raise UsageError(f"{path}: defines {', '.join(found) or 'no study'}; --name says which is meant")
    return found[name] if name is not None else next(iter(found.values()))
