"""An aspect that several tests attach."""

from __future__ import annotations

from dataclasses import dataclass, field

import kido


class Temperature(kido.Aspect):
    @dataclass
    class State:
        kelvin: float = 293.15

    @dataclass
    class Properties:
        conductivity: float = 50.0
        tags: list[str] = field(default_factory=list)
