"""Models, assemblies and systems as FMUs for other programs, by PythonFMU."""

from __future__ import annotations

import inspect
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kido.errors import ModelError
from kido.libraries import library
from kido.math.transform import as_positive
from kido.systems.assembly import Assembly
from kido.systems.model import Model

_SCRIPT = '''"""A system of KIDO as an FMU."""

import {library}
from kido.systems.fmu_slave import Slave, made_in

own = {{"fmi": {version}, "communication": {step!r}}}
Fmi{version}Slave = type({library}.Fmi{version}Slave)("Fmi{version}Slave", (Slave, {bases}), own)


class {name}(Fmi{version}Slave):
    make = made_in({module!r}, {function!r}, {file!r}, __file__)
'''

_BASES = {2: "pythonfmu.Fmi2Slave", 3: "pythonfmu3.Fmi3Slave, pythonfmu3.ModelExchange"}


def export_fmu(
    make: Callable[[], Model | Assembly],
    path: str | os.PathLike[str],
    *,
    version: int = 2,
    step: float = 1e-2,
    files: Iterable[str | os.PathLike[str]] = (),
) -> Path:
    """Write an FMU, which other programs run: for co-simulation, and of version 3 for model exchange as well.

    What `make` gives is made anew for each instance: a class of models, or a function without arguments that returns a
    model, an assembly or a `System`, with a world if it likes. It is found by its name: the file it stands in is put
    into the FMU, unless it is of a package, which has to be installed where the FMU runs, as Python and KIDO have.

    Parameters are parameters that may be changed, inputs that nothing is connected to are inputs, outputs and states
    are outputs; of an assembly that exposes some, the others are local. Names are paths in what was made, or names of
    exposed ports; arrays are numbers: "x[1]". A step of co-simulation is `System.run` up to the nanosecond next to its
    end; what is due then reads inputs of before. In model exchange the other program integrates, ticks are its events
    in time and crossings its events in state; systems with worlds, whose steps are their own, are co-simulated only.

    Args:
        make: a class or a function of a module.
        path: of the file.
        version: of FMI, 2 or 3.
        step: of communication, that the description proposes [s].
        files: others that go into the FMU, beside the file of `make`.

    Returns:
        The path.

    Raises:
        MissingExtraError: PythonFMU is not installed.
        ModelError: `make` cannot be found by its name, or gives something else; a step that is not positive, or no such
            file; PythonFMU has no binary here.
    """
    if version not in (2, 3):
        raise ModelError(f"export_fmu: version: expected 2 or 3, got {version!r}")
    step = as_positive(step, "export_fmu: step", "s")
    name, module = getattr(make, "__qualname__", ""), getattr(make, "__module__", "")
    if not callable(make) or not name.isidentifier() or getattr(sys.modules.get(module), name, None) is not make:
        raise ModelError(f"export_fmu: expected a class or a function of a module, got {make!r:.100}")
    source = None if "." in module else inspect.getsourcefile(sys.modules[module])
    if source is None and "." not in module:
        raise ModelError(f"export_fmu: {name} stands in no file, so that the FMU cannot have it")
    package = "pythonfmu" if version == 2 else "pythonfmu3"
    builder: Any = library(f"{package}.builder", "writing an FMU", "fmi").FmuBuilder
    if not builder.has_binary():
        raise ModelError(f"export_fmu: {package} has no binary for {sys.platform}")
    own = f"kido_{uuid.uuid4().hex}"  # several FMUs run in one process
    script = _SCRIPT.format(
        library=package, version=version, bases=_BASES[version], file=source and Path(source).name, own=own,
        module=module, name=name, function=name, step=step,
    )  # fmt: skip
    target, before = Path(path), list(sys.path)
    with tempfile.TemporaryDirectory(prefix="kido_fmu_") as folder:
        main = Path(folder, f"{own}.py")
        main.write_text(script)
        parts = [*([source] if source else []), *(os.fspath(file) for file in files)]
        if absent := [part for part in parts if not os.path.isfile(part)]:
            raise ModelError(f"export_fmu: files: {absent[0]!r} is no file")
        for part in parts:  # the script finds them beside it, when it is first run
            shutil.copy2(part, folder)
        try:
            made = builder.build_FMU(main, dest=folder, project_files=[Path(folder, Path(p).name) for p in parts])
            shutil.move(made, target)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"export_fmu: {name}: {error}") from error
        finally:
            sys.path[:] = before
            for key in (own, f"{own}_source"):
                sys.modules.pop(key, None)
    return target
