"""Looking at a system: all that it has, its graph, and what each model costs."""

from __future__ import annotations

import os
import shutil
import subprocess
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.reprs import brief
from kido.systems import programs
from kido.systems import schema as kinds
from kido.systems.assembly import Assembly
from kido.systems.declarations import Input, Output, Parameter, State
from kido.systems.drawing import as_svg
from kido.systems.model import Model
from kido.systems.writing import writing

if TYPE_CHECKING:
    from kido.systems.engine import Engine
    from kido.systems.system import System

_PICTURES = ("svg", "pdf", "png")
_ROUNDS = 200  # of a block that is timed


@dataclass(frozen=True)
class Entry:
    """Something that a system has.

    Attributes:
        path, kind: such as "rover.motor.current", "state".
        unit: as it was written; None: any.
        shape: of its value.
        value: at present; None: the system cannot run yet.
        source: path of what an input is connected to, or "".
        rate: of the model's ticks [Hz]; None: it is continuous.
        doc: what it is.
    """

    path: str
    kind: str
    unit: str | None
    shape: tuple[int, ...]
    value: Any
    source: str
    rate: float | None
    doc: str

    __repr__ = brief


def entries(system: System, values: bool) -> list[Entry]:
    """Parameters, inputs, outputs and states, by path."""
    sources = {c.target: c.source.path for c in system.connections}
    found = []
    for m in system.models:
        for name, d in m.declared.items():
            if not isinstance(d, Parameter | Input | Output | State):
                continue
            if isinstance(d, Parameter):
                value, source = m.parameter(name), ""
            else:
                value = system.value_of(m.port(name)) if values else None
                source = sources.get(m.port(name), "")
            unit = None if d.unit is None else d.unit.text
            rate = None if m.clock is None else m.clock.hertz
            found.append(Entry(f"{m.path}.{name}", d.kind, unit, d.shape, value, source, rate, d.doc))
    return found


def as_dot(system: System) -> str:
    """Assemblies, models and connections in the language of Graphviz."""
    lines = [f"digraph {_quoted(system.name)} {{", "  rankdir=LR;", "  node [shape=box, fontname=Helvetica];"]
    lines += _part_lines(system, "  ")
    for c in sorted(system.connections, key=lambda c: c.target.path):
        unit = c.source.unit or c.target.unit
        label = f"{c.source.name} -> {c.target.name}" + (f" [{unit.text}]" if unit is not None and unit.text else "")
        style = ""
        if c.delay is not None:
            label, style = f"{label}, delay {c.delay}", ", style=dashed"
        elif c.solve:
            label, style = f"{label}, solved", ", style=bold"
        ends = f"{_quoted(c.source.model.path)} -> {_quoted(c.target.model.path)}"
        lines.append(f"  {ends} [label={_quoted(label)}{style}];")
    return "\n".join([*lines, "}", ""])


def draw(system: System, path: str | os.PathLike[str]) -> None:
    """Draw a system, as SVG or by Graphviz."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _PICTURES:
        raise ModelError(f"draw: expected a file that ends in {', '.join(f'.{k}' for k in _PICTURES)}, got {path!r}")
    if kind == "svg":
        with writing(path) as target:
            target.write_bytes(as_svg(system).encode())
        return
    program = shutil.which("dot")
    if program is None:
        raise ModelError(
            "draw: Graphviz's program dot is not on the PATH; install it (apt install graphviz, brew install graphviz) "
            "or draw an .svg"
        )
    done = subprocess.run([program, f"-T{kind}"], input=as_dot(system).encode(), capture_output=True)
    if done.returncode != 0:
        raise ModelError(f"draw: dot failed: {done.stderr.decode(errors='replace'):.300}")
    with writing(path) as target:
        target.write_bytes(done.stdout)


def _part_lines(assembly: Assembly, indent: str) -> list[str]:
    lines = []
    for part in sorted(assembly.parts, key=lambda p: p.name):
        if isinstance(part, Model):
            way = "plain Python" if part.is_python else ("world" if part.is_boundary else "")
            rate = "continuous" if part.clock is None else str(part.clock)
            label = "\n".join([part.name, type(part).__name__, ", ".join(filter(None, (rate, way)))])
            color = "" if part.clock is None else ", style=filled, fillcolor=lightyellow"
            lines.append(f"{indent}{_quoted(part.path)} [label={_quoted(label)}{color}];")
        else:
            inner = _part_lines(part, indent + "  ")
            lines += [
                f"{indent}subgraph {_quoted('cluster_' + part.path)} {{",
                f"{indent}  label={_quoted(part.name)};",
            ]
            lines += [*inner, f"{indent}}}"]
    return lines


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@dataclass(frozen=True)
class Cost:
    """What a model costs.

    Attributes:
        path: of the model.
        operations: of its equations that run at each evaluation of derivatives.
        evaluation: time that these take [s].
        ticks: time of all that it does at a tick, without calls of Python [s].
    """

    path: str
    operations: int
    evaluation: float
    ticks: float

    __repr__ = brief


def costs(engine: Engine) -> list[Cost]:
    """Costs of the models of an engine, the dearest first; its values are as before.

    Each block is timed on its own, over and over, so that its data are at hand; models share it by operations.
    """
    code, s = engine.system.code, engine.system
    kept = engine.value.copy()
    tables: tuple[dict[str, float], dict[str, float]] = ({}, {})
    number: dict[str, int] = {}
    programs.run_often(s.address, 0, 0, 1)  # loads it
    first, last = code.program[kinds.DERIVE]
    for table, spans in zip(tables, ([(first, last)], [code.tick[-1]] if len(code.tick) else []), strict=True):
        for begin, end in spans:
            for m in range(begin, end):
                owners = engine.owners(m)
                if not owners or code.block[m, 0] in (kinds.PYTHON, kinds.SOLVE, kinds.RECORD):
                    continue
                started = clock.perf_counter()
                programs.run_often(s.address, m, m + 1, _ROUNDS)
                share = (clock.perf_counter() - started) / _ROUNDS / len(owners)
                for path in owners:
                    table[path] = table.get(path, 0.0) + share
                    if table is tables[0]:
                        number[path] = number.get(path, 0) + 1
    engine.value[:] = kept
    found = [
        Cost(m.path, number.get(m.path, 0), tables[0].get(m.path, 0.0), tables[1].get(m.path, 0.0))
        for m in engine.linked.models
    ]
    return sorted(found, key=lambda c: -(c.evaluation + c.ticks))
