"""The feature of worlds with prescribed coordinates."""

from __future__ import annotations

from typing import Any

from kido.simulation.actuate import actuate_stage
from kido.simulation.feature import Feature
from kido.simulation.schema import RESPOND


class Actuation(Feature):
    """Forces of prescribed coordinates."""

    def stages(self) -> dict[str | int, Any]:
        return {RESPOND: actuate_stage} if self.engine.tree.prescribed.any() else {}
