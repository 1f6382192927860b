"""A picture of a system: models as boxes, signals as curves from left to right, assemblies as frames.

Parts of an assembly stand in columns, each right of all whose signals it needs at once (longest path; loops are cut
where a signal is needed later only, through states), and in a column by where their signals come from and go to. What
is in an assembly is placed first, and is a part of its own in the one around it. Source: Sugiyama, Tagawa, Toda,
Methods for visual understanding of hierarchical system structures (1981).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from kido.attributes import FixedAttributes
from kido.systems.assembly import Assembly, Connection
from kido.systems.declarations import Input
from kido.systems.model import Model, Port
from kido.systems.tracing import feedthrough

_ROW, _HEAD, _GAP, _COLUMN, _LETTER = 13.0, 32.0, 14.0, 64.0, 5.6  # heights, distances, width of a letter [px]
_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf")
_SWEEPS = 6  # of ordering columns


class _Box(FixedAttributes):
    """A part, at x, y in the one around it, with the places of connected ports and what is drawn in it."""

    def __init__(self, part: Any):
        self.part: Model | Assembly = part
        self.x = self.y = self.width = self.height = 0.0
        self.ports: dict[Port, tuple[float, float]] = {}
        self.inner: list[_Box] = []


def as_svg(system: Assembly) -> str:
    """The picture, as SVG."""
    used = {port for c in system.connections for port in (c.source, c.target)}
    at_once = {(m, name) for m in system.models for names in feedthrough(m).values() for name in names}
    whole = _placed(system, used, system.connections, at_once)
    w, h = whole.width + 20, whole.height + 60
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 -20 {w:.0f} {h:.0f}" width="{w:.0f}" height="{h:.0f}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="10">',
        '<rect x="-10" y="-20" width="100%" height="100%" fill="white"/>',
        '<marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="5" markerHeight="5" orient="auto">'
        '<path d="M0 0L6 3L0 6z" fill="#555"/></marker>',
    ]
    boxes: list[tuple[_Box, float, float]] = []
    _collect(whole, 0.0, 0.0, boxes)
    places = {p: (x + px, y + py) for b, x, y in boxes if isinstance(b.part, Model) for p, (px, py) in b.ports.items()}
    bottoms = {b.part: y + b.height for b, x, y in boxes if isinstance(b.part, Model)}
    frames, models = ([box for box in boxes if isinstance(box[0].part, kind)] for kind in (Assembly, Model))
    lines += [line for box in frames for line in _drawn(*box)]
    sources = sorted({c.source.model.path for c in system.connections})
    colors = {path: _COLORS[k % len(_COLORS)] for k, path in enumerate(sources)}
    for k, c in enumerate(sorted(system.connections, key=lambda c: c.target.path)):
        low = max(bottoms[c.source.model], bottoms[c.target.model]) + 4.0 + 2.5 * (k % 4)
        lines.append(_curve(c, places[c.source], places[c.target], low, colors[c.source.model.path]))
    lines += [line for box in models for line in _drawn(*box)]
    return "\n".join([*lines, "</svg>", ""])


def _collect(box: _Box, x: float, y: float, into: list[tuple[_Box, float, float]]) -> None:
    into.append((box, x, y))
    for inner in box.inner:
        _collect(inner, x + inner.x, y + inner.y, into)


def _placed(part: Any, used: set[Port], connections: Sequence[Connection], at_once: set[tuple[Model, str]]) -> _Box:
    """A part with all that is in it."""
    box = _Box(part)
    if isinstance(part, Model):
        ports = [port for port in part.ports if port in used]
        left = [port for port in ports if isinstance(port.declared, Input)]
        right = [port for port in ports if port not in left]
        widest = [max((len(p.name) for p in side), default=0) for side in (left, right)]
        letters = max(sum(widest) + 3, len(part.name) + 2, len(_kind(part)))
        box.width, box.height = _LETTER * letters + 8.0, _HEAD + _ROW * max(len(left), len(right))
        for side, x in ((left, 0.0), (right, box.width)):
            box.ports.update({port: (x, _HEAD + _ROW * (k + 0.4)) for k, port in enumerate(side)})
        return box
    box.inner = [_placed(p, used, connections, at_once) for p in sorted(part.parts, key=lambda p: p.name)]
    owner = {port: b for b in box.inner for port in b.ports}
    links = [c for c in connections if c.source in owner and c.target in owner]
    _place(
        box, [(owner[c.source], owner[c.target], c) for c in links if owner[c.source] is not owner[c.target]], at_once
    )
    for b in box.inner:
        box.ports.update({port: (b.x + x, b.y + y) for port, (x, y) in b.ports.items()})
    return box


def _place(box: _Box, links: list[tuple[_Box, _Box, Connection]], at_once: set[tuple[Model, str]]) -> None:
    """Parts in columns, and the size of what they are in."""
    direct = {id(c) for _, _, c in links if c.delay is None and (c.target.model, c.target.name) in at_once}
    order: dict[_Box, int] = {}
    feeds = {a for a, _, _ in links}
    while len(order) < len(box.inner):
        waiting = [b for b in box.inner if b not in order]
        missing = {b: [0, 0] for b in waiting}
        for a, b, c in links:
            if a not in order and b in missing:
                missing[b][id(c) not in direct] += 1
        rank = {b: (hard, b not in feeds and soft > 0, soft, b.part.path) for b, (hard, soft) in missing.items()}
        order[min(waiting, key=lambda b: rank[b])] = len(order)
    column = dict.fromkeys(box.inner, 0)
    for b in order:  # longest path
        column[b] = max((column[a] + 1 for a, other, _ in links if other is b and order[a] < order[b]), default=0)
    for b in reversed(order):  # what needs nothing stands beside what needs it
        after = [column[other] for a, other, _ in links if a is b and order[other] > order[b]]
        if after and not any(other is b and order[a] < order[b] for a, other, _ in links):
            column[b] = min(after) - 1
    columns = [[b for b in order if column[b] == k] for k in range(max(column.values(), default=-1) + 1)]
    x = 0.0 if box.part.path == "" else 10.0
    for boxes in columns:
        width = max((b.width for b in boxes), default=0.0)
        for b in boxes:
            b.x = x + 0.5 * (width - b.width)
        x += width + _COLUMN
    for boxes in columns:
        _stack(boxes, {b: float(order[b]) for b in boxes})
    for sweep in range(_SWEEPS):
        for boxes in columns if sweep % 2 == 0 else reversed(columns):
            _stack(boxes, {b: _wanted(b, links) for b in boxes})
    top = min((b.y for b in box.inner), default=0.0) - (0.0 if box.part.path == "" else 22.0)
    for b in box.inner:
        b.y -= top
    box.width = max(x - _COLUMN, 0.0) + 10.0
    box.height = max((b.y + b.height for b in box.inner), default=0.0) + 14.0


def _wanted(b: _Box, links: Iterable[tuple[_Box, _Box, Connection]]) -> float:
    """Height at which its signals would be level, on the mean."""
    wanted = []
    for source, target, c in links:
        if b is source:
            wanted.append(target.y + target.ports[c.target][1] - b.ports[c.source][1])
        elif b is target:
            wanted.append(source.y + source.ports[c.source][1] - b.ports[c.target][1])
    return sum(wanted) / len(wanted) if wanted else b.y


def _stack(boxes: list[_Box], wanted: dict[_Box, float]) -> None:
    """One under the other in the order of the heights that they want, as near to those as may be."""
    boxes.sort(key=lambda b: (wanted[b], b.part.path))
    low = -float("inf")
    for b in boxes:
        b.y = max(wanted[b], low)
        low = b.y + b.height + _GAP
    shift = sum(wanted[b] - b.y for b in boxes) / max(len(boxes), 1)
    for b in boxes:
        b.y += shift


def _kind(m: Model) -> str:
    rate = "world" if m.is_boundary else ("" if m.clock is None else str(m.clock))
    return " ".join(filter(None, [type(m).__name__, rate, "Python" if m.is_python else ""]))


def _drawn(b: _Box, x: float, y: float) -> list[str]:
    part, w, h = b.part, b.width, b.height
    frame = f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="3" stroke="#555"'
    if isinstance(part, Assembly):
        name = f'<text x="{x + 8:.1f}" y="{y + 14:.1f}" font-weight="bold">{escape(part.name)}</text>'
        return [] if part.path == "" else [f'{frame} fill="#f4f6f8" stroke-dasharray="4 3"/>', name]
    fill = "#e3f0e3" if part.is_boundary else ("white" if part.clock is None else "#fff7d6")
    middle = x + 0.5 * w
    lines = [
        f'<g><title>{escape(part.path)}</title>{frame} fill="{fill}"/>',
        f'<text x="{middle:.1f}" y="{y + 12:.1f}" text-anchor="middle" font-weight="bold">{escape(part.name)}</text>',
        f'<text x="{middle:.1f}" y="{y + 23:.1f}" text-anchor="middle" font-size="9" fill="#555">'
        f"{escape(_kind(part))}</text></g>",
    ]
    for port, (px, py) in b.ports.items():
        side = 'text-anchor="end"' if px > 0 else ""
        at = x + px + (-4.0 if px > 0 else 5.0)
        lines.append(f'<text x="{at:.1f}" y="{y + py + 3:.1f}" font-size="9" {side}>{escape(port.name)}</text>')
    return lines


def _curve(c: Connection, start: tuple[float, float], end: tuple[float, float], low: float, color: str) -> str:
    (x, y), (u, v) = start, end
    reach = max(0.5 * (u - x), 18.0)
    if u > x:
        path = f"M{x:.1f} {y:.1f}C{x + reach:.1f} {y:.1f} {u - reach:.1f} {v:.1f} {u:.1f} {v:.1f}"
    else:  # back, below both boxes
        path = (
            f"M{x:.1f} {y:.1f}C{x + 28:.1f} {y:.1f} {x + 28:.1f} {low:.1f} {x:.1f} {low:.1f}L{u:.1f} {low:.1f}"
            f"C{u - 28:.1f} {low:.1f} {u - 28:.1f} {v:.1f} {u:.1f} {v:.1f}"
        )
    how = ' stroke-dasharray="5 3"' if c.delay is not None else (' stroke-width="2.4"' if c.solve else "")
    unit = c.source.unit or c.target.unit
    words = f"{c.source.path} to {c.target.path}" + (f" [{unit.text}]" if unit is not None and unit.text else "")
    words += f", delay {c.delay}" if c.delay is not None else (", solved" if c.solve else "")
    return (
        f'<path d="{path}" fill="none" stroke="{color}" opacity="0.8" marker-end="url(#tip)"{how}>'
        f"<title>{escape(words)}</title></path>"
    )
