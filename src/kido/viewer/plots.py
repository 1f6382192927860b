"""Plots of signals while a model runs."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np

from kido.attributes import FixedAttributes
from kido.errors import StateError
from kido.math.transform import as_positive
from kido.systems import System
from kido.systems.log import as_ports

_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")
_PERIOD = 0.1  # [s] between two pictures of a plot
_MOST = 4000  # moments that it shows


class Plot(FixedAttributes):
    """A plot of signals of a system over time on a viewer's panel; `Viewer.add_plot` makes one.

    Attributes:
        labels: of its lines: path and unit.
    """

    def __init__(self, viewer: Any, system: Any, ports: Any, seconds: float, title: str | None, height: int):
        if not isinstance(system, System):
            raise StateError(f"Plot: expected a System, got {system!r:.100}")
        self._system, self._ports = system, as_ports(system, ports, "plot")
        self._seconds = as_positive(seconds, "Plot: seconds", "s")
        self.labels: tuple[str, ...] = tuple(
            f"{port.path}{at}{f' [{port.unit}]' if port.unit is not None and port.unit.text else ''}"
            for port in self._ports
            for at in ([list(k) for k in np.ndindex(port.shape)] if port.shape else [""])
        )
        self._rows: deque[tuple[float, np.ndarray]] = deque(maxlen=_MOST)
        self._shown = 0.0
        lines = [
            {"label": label, "stroke": _COLORS[k % len(_COLORS)], "width": 1.5} for k, label in enumerate(self.labels)
        ]
        empty = np.zeros(1)
        self._handle: Any = viewer.server.gui.add_uplot(
            (empty,) * (1 + len(lines)),
            ({"label": "time [s]"}, *lines),
            title=title,
            scales={"x": {"time": False, "auto": True}, "y": {"auto": True}},
            legend={"show": True},
            height=int(as_positive(height, "Plot: height", "px")),
        )
        self._end: Any = viewer.add_frame_callback(self._read)

    def _read(self, _: Any) -> None:
        """Before a frame."""
        now, rows = self._system.time, self._rows
        if rows and now < rows[-1][0]:  # it was reset
            rows.clear()
        if not rows or now > rows[-1][0]:
            rows.append((now, np.concatenate([np.ravel(port.value) for port in self._ports])))
        while rows[0][0] < now - self._seconds:
            rows.popleft()
        wall = time.monotonic()
        if wall >= self._shown + _PERIOD:
            self._shown = wall
            times, values = self.data
            self._handle.data = (times, *values.T.copy())

    @property
    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (n,) [s] and values (n, lines) that it shows (copies)."""
        rows = list(self._rows)
        return np.array([t for t, _ in rows]), np.array([x for _, x in rows]).reshape(len(rows), len(self.labels))

    def remove(self) -> None:
        """Take it off the page."""
        if self._handle is not None:
            self._end()
            self._handle.remove()
            self._handle = None

    def __repr__(self) -> str:
        return f"Plot({', '.join(self.labels)})"
