"""The feature that worlds with flexible bodies have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.collision.external import ExternalDetector
from kido.errors import ModelError
from kido.flexible.filling import fill
from kido.integrators import MoreauMidpoint
from kido.jit import Struct
from kido.joints import ActuatorType
from kido.simulation.feature import Feature
from kido.simulation.flexible_loops import answer_loops
from kido.simulation.flexible_step import (
    answer_flexible,
    flexible_actuate_stage,
    flexible_assemble_stage,
    flexible_predict_stage,
    move_flexible,
)
from kido.simulation.flexible_surfaces import FlexibleSurfaces
from kido.simulation.loop_system import LoopSystem
from kido.simulation.surface_contact import deform_contact, detect_surfaces_stage
from kido.simulation.world_struct import RESPOND

if TYPE_CHECKING:
    from kido.simulation.engine import Engine
    from kido.skeleton import ShapeNode


class FlexibleBodies(Feature):
    """Skeletons with flexible bodies: their sweeps in place of those of rigid trees."""

    engine: Engine

    def __init__(self, engine: Engine):
        super().__init__(engine)
        self.trees = np.array([any(joint.has_modes for joint in s.joints) for s in engine.skeletons], bool)
        self.surfaces = FlexibleSurfaces(engine)
        self._surfaces: Struct | None = None
        self.properties_changed()

    @property
    def any(self) -> bool:
        """Whether there are flexible bodies."""
        return bool(self.trees.any())

    couples_bodies = any

    def stages(self) -> dict[str | int, Any]:
        if not self.any:
            return {}
        made: dict[str | int, Any] = {
            "predict": flexible_predict_stage, "assemble": flexible_assemble_stage, "move_flexible": move_flexible,
        }  # fmt: skip
        if self.surfaces.found:
            made["detect"] = detect_surfaces_stage
        if self.engine.tree.prescribed.any():
            made[RESPOND] = flexible_actuate_stage
        return made

    def structs(self) -> dict[str, Struct | None]:
        """Also tells who makes the responses of their trees."""
        if self.any:
            responses: Any = self.engine.responses.container
            responses.apart[: len(self.trees)] = self.trees
            responses.others, responses.others_of = answer_flexible, self.engine.world.address
            if self.surfaces.found:
                responses.deform = deform_contact
                self._surfaces = self._surfaces or self.surfaces.container(self.engine)
            loops = self.engine.feature(LoopSystem)
            if loops.any:
                loops.container.apart[: len(self.trees)] = self.trees
                loops.container.others, loops.container.others_of = answer_loops, self.engine.world.address
        return {"flex": self.container, "flex_surfaces": self._surfaces}

    def shapes_of(self, nodes: list[ShapeNode], geometries: list[Any]) -> tuple[list[ShapeNode], list[Any]]:
        return self.surfaces.shapes_of(nodes, geometries)

    @property
    def bound_trees(self) -> list[int]:
        return np.flatnonzero(self.trees).tolist()

    def options_changed(self) -> None:
        integrator = self.engine.options.integrator
        if self.any and not isinstance(integrator, MoreauMidpoint):
            raise ModelError(
                f"worlds with flexible bodies step by MoreauMidpoint only, got {integrator!r}; a skeleton alone "
                "is moved by any integrator but Variational with kido.integrators.simulate"
            )

    def properties_changed(self) -> None:
        engine = self.engine
        self.container = fill([engine.links[s] for s in engine.skeletons]) if self.any else None

    def begin_run(self) -> None:
        """See that all that acts is known of flexible bodies.

        Raises:
            ModelError: soft bodies in the world, a coordinate that mimics another beside flexible bodies, or surfaces
                that touch others by the detector of another library.
        """
        engine = self.engine
        if not self.any:
            return
        if self.surfaces.found and isinstance(engine.detector, ExternalDetector):
            name, used = next(iter(self.surfaces.found)).body.name, engine.options.detector.name
            raise ModelError(
                f"flexible body {name!r}: its surface touches others as it is deformed, which only KIDO's own "
                f"collision detector knows of, and this world's is {used!r}; expected 'kido'"
            )
        soft = [s.name for s in engine.skeletons if s.soft_bodies]
        if soft:
            raise ModelError(f"skeleton {soft[0]!r} has soft bodies, and another one of its world flexible ones")
        tree = engine.tree
        refused = np.flatnonzero(tree.actuator == ActuatorType.MIMIC)
        for k in refused[self.trees[tree.tree_of_body[tree.body_of_dof[refused]]]]:
            raise ModelError(
                f"dof {engine.dof_name(int(k))!r}: its actuator is of type {ActuatorType(int(tree.actuator[k])).name}, "
                "which worlds do not have for skeletons with flexible bodies; expected another type"
            )
