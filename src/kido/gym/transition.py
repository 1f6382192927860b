"""What functions of an environment see: states of many worlds, and what led from the ones before to them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kido.attributes import FixedAttributes
from kido.batch import Batch

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

__all__ = ["States", "Transition"]

Array = NDArray[np.float64]


class States(FixedAttributes):
    """States of worlds at one time. A single environment is one world.

    Attributes:
        positions, velocities: (worlds, dofs), as `World` has them.
    """

    positions: Array
    velocities: Array

    def __init__(self, positions: Array, velocities: Array, batch: Batch):
        self.positions, self.velocities = positions, velocities
        self._batch = batch

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} worlds, {self.positions.shape[1]} dofs)"

    @property
    def skeleton(self) -> Skeleton:
        """The model's skeleton, or its first that moves where coordinates of several are read."""
        return self._batch.skeleton

    @cached_property
    def transforms(self) -> Array:
        """(worlds, bodies, 4, 4) world transforms of the bodies of `skeleton`."""
        dofs = self.skeleton.num_dofs
        return self._batch.forward_kinematics(np.ascontiguousarray(self.positions[:, :dofs]))

    @cached_property
    def body_velocities(self) -> Array:
        """(worlds, bodies, 6) velocities of the bodies of `skeleton`, as `Batch.body_velocities`."""
        dofs = self.skeleton.num_dofs
        q, u = (np.ascontiguousarray(x[:, :dofs]) for x in (self.positions, self.velocities))
        return self._batch.body_velocities(q, u)

    @cached_property
    def com(self) -> Array:
        """(worlds, 3) centre of mass of `skeleton` [m], by the masses of the model."""
        bodies = [(k, b) for k, b in enumerate(self.skeleton.bodies) if b.mass > 0.0]
        X = self.transforms[:, [k for k, _ in bodies]]
        mass = np.array([b.mass for _, b in bodies])[:, None]
        local = np.array([b.inertia.com for _, b in bodies])
        points = (X[..., :3, :3] * local[:, None, :]).sum(axis=-1) + X[..., :3, 3]
        return (mass * points).sum(axis=1) / mass.sum()


class Transition(States):
    """States of worlds after a step of an environment, or at its beginning, and what led to them.

    Functions of an environment take one and return rows, one for each world. What they compute of a world may not
    depend on the others: NumPy along the first axis does so, and so do compiled loops over worlds.

    Attributes:
        before: the states before the step; the same as these at the beginning.
        actions: (worlds, ...) as they were given, not clipped; zeros at the beginning.
        time_step: of the environment [s].
        elapsed: (worlds,) steps of the environment since the beginning.
        goals: (worlds, numbers) that `Start` gave at the beginning, such as targets.
        contact_wrenches: (worlds, bodies, 6) on the `bodies` of the environment in the last time step, as
            `kido.batch.Worlds.contact_wrenches`; zero at the beginning.
        actuator_forces: (worlds, dofs) in the last time step [N, N m]; zero at the beginning.
    """

    before: States
    actions: NDArray
    time_step: float
    elapsed: NDArray[np.int64]
    goals: Array
    contact_wrenches: Array
    actuator_forces: Array

    def __init__(
        self,
        positions: Array,
        velocities: Array,
        batch: Batch,
        *,
        before: States | None = None,
        actions: NDArray,
        time_step: float,
        elapsed: NDArray[np.int64],
        goals: Array,
        contact_wrenches: Array,
        actuator_forces: Array,
    ):
        super().__init__(positions, velocities, batch)
        self.before = before or self
        self.actions, self.time_step, self.elapsed, self.goals = actions, time_step, elapsed, goals
        self.contact_wrenches, self.actuator_forces = contact_wrenches, actuator_forces

    def rate(self, positions: Array, before: Array) -> Array:
        """Mean rate of change of something during the step; 0 at the beginning."""
        return (positions - before) / self.time_step
