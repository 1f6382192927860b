"""The feature that worlds with soft bodies have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import ModelError
from kido.integrators import MoreauMidpoint
from kido.jit import Struct
from kido.simulation.feature import Feature
from kido.simulation.soft_arrays import SoftArrays
from kido.simulation.soft_balance import balance_tree
from kido.simulation.soft_contact import soft_assemble_stage, soft_integrate_stage
from kido.simulation.soft_predict import soft_predict_stage
from kido.simulation.world_struct import EXTEND, RESPOND

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import ShapeNode


class SoftBodies(Feature):
    """Points of soft skins: displaced by springs and contacts, without coordinates of the tree."""

    key = "soft"
    engine: Engine

    def __init__(self, engine: Engine):
        super().__init__(engine)
        soft = any(s.soft_bodies for s in engine.skeletons)
        self.arrays = [SoftArrays(engine.skeletons, engine.link_index)] if soft else []  # or none

    @property
    def any(self) -> bool:
        """Whether there are soft bodies."""
        return bool(self.arrays)

    couples_bodies = is_undone = any

    @property
    def extra_dofs(self) -> int:
        return sum(arrays.dofs for arrays in self.arrays)

    @property
    def displacements(self) -> np.ndarray:
        """Displacements of all points (points,3) from their places at rest, in the axes of their links [m]."""
        return np.concatenate([np.zeros((0, 3)), *(arrays.container.q for arrays in self.arrays)])

    def stages(self) -> dict[str | int, Any]:
        if not self.any:
            return {}
        return {
            "predict": soft_predict_stage,
            "balance_tree": balance_tree,
            EXTEND: soft_assemble_stage,
            RESPOND: soft_integrate_stage,
        }

    def structs(self) -> dict[str, Struct | None]:
        return {"soft": self.arrays[0].container if self.any else None}

    def shapes_of(self, nodes: list[ShapeNode], geometries: list[Any]) -> tuple[list[ShapeNode], list[Any]]:
        return self.arrays[0].shapes_of(nodes) if self.any else (nodes, geometries)

    def options_changed(self) -> None:
        integrator = self.engine.options.integrator
        if self.any and not isinstance(integrator, MoreauMidpoint):
            raise ModelError(f"worlds with soft bodies step by MoreauMidpoint only, got {integrator!r}")

    def properties_changed(self) -> None:
        for arrays in self.arrays:
            arrays.fill()

    def undo_step(self) -> None:
        for arrays in self.arrays:
            arrays.undo_step()

    def state(self) -> Any:
        return self.arrays[0].state() if self.any else None

    def checked_state(self, state: Any, where: str) -> Any:
        return self.arrays[0].checked_state(state, where) if self.any and state is not None else None

    def set_state(self, state: Any) -> None:
        for arrays in self.arrays:
            if state is not None:
                arrays.set_state(state)
