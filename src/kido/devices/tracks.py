"""Tracks on rigid ground: belts on the shapes of a hull that touch it."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.skeleton import ShapeNode
from kido.systems import Input, Output, Parameter, PythonModel


class BeltTrack(PythonModel):
    """A track as a belt around a shape that collides, a box below a hull say: at contacts it runs backwards.

    Its speed becomes the shape's `Surface.surface_velocity`, so that contacts drive the hull within Coulomb's cones,
    and tracks on both sides steer it by skidding. What the ground gave in the step before the tick is an output: times
    the radius of a sprocket it is the torque that its motor is to hold.

    On soil that yields, see `SoilTrack`. When it is removed the surface is as it was before.

    Args:
        shape: of a body in the system's world, with collision.
        values: name, rate and others as of models.

    Raises:
        ModelError: no shape of a body, or a direction that is zero.
    """

    rate = 100
    direction = Parameter((1.0, 0.0, 0.0), doc="ahead, axes of the shape")
    speed = Input("m/s", doc="of the belt along the hull; positive drives ahead")
    belt_speed = Output("m/s", doc="as it is until the next tick")
    traction = Output("N", doc="along the belt, ahead on the hull")
    load = Output("N", doc="across the ground")

    def __init__(self, shape: ShapeNode, name: str | None = None, *, rate: Any = None, **values: Any):
        super().__init__(name, rate=rate, **values)
        if not isinstance(shape, ShapeNode) or shape.body is None:
            raise ModelError(f"model {self.name!r}: expected a shape node of a body, got {shape!r}")
        if not np.any(self.direction):
            raise ModelError(f"model {self.name!r}: direction: expected a vector that is not zero")
        self._shape, self._before = shape, shape.surface.surface_velocity

    @property
    def shape(self) -> ShapeNode:
        """That it runs around."""
        return self._shape

    def _drive(self, speed: float) -> np.ndarray:
        """Let the belt run at a speed; returns the unit vector ahead, axes of the shape."""
        ahead = np.asarray(self.direction) / np.linalg.norm(self.direction)
        velocity = tuple((-speed * ahead).tolist())
        if velocity != self._shape.surface.surface_velocity:
            self._shape.set_surface(surface_velocity=velocity)
        return ahead

    def removed(self) -> None:
        """The surface has the velocity that it had before the track was made."""
        self._shape.set_surface(surface_velocity=self._before)

    def restored(self) -> None:
        self._drive(self.port("belt_speed").value)

    def outputs(self):
        speed = float(self.speed)
        ahead = np.asarray(self._shape.world_transform)[:3, :3] @ self._drive(speed)
        world = self.system_of(self.path).world
        force, load = np.zeros(3), 0.0
        for c in () if world is None else world.contacts:
            if self._shape in (c.shape_a, c.shape_b):
                own = c.force if c.shape_b is self._shape else -c.force
                force, load = force + own, load + abs(float(c.force @ c.normal))
        return {"belt_speed": speed, "traction": float(force @ ahead), "load": load}
