"""What functions of an environment see: states of many worlds, and what led from the ones before to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kido.attributes import FixedAttributes
from kido.batch import Batch
from kido.gym import measures

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

__all__ = ["Model", "States", "Transition"]

Array = NDArray[np.float64]
_OF_STATES = ("positions", "velocities", "_model", "transforms", "body_velocities", "_centres", "inertias")
Found = TypeVar("Found")


class Model:
    """What states of worlds refer to.

    Attributes:
        skeleton: the one that is driven.
        batch: its kinematics.
        dofs: number of its coordinates.
        mass, com, moment: of its bodies (bodies,), (bodies, 3), (bodies, 3, 3), about their centres of mass.
    """

    def __init__(self, skeleton: Skeleton):
        self.skeleton, self.batch, self.dofs = skeleton, Batch(skeleton, threads=1), skeleton.num_dofs
        self.mass = np.array([body.mass for body in skeleton.bodies])
        self.com = np.array([body.inertia.com for body in skeleton.bodies])
        self.moment = np.array([body.inertia.moment for body in skeleton.bodies])


class States(FixedAttributes):
    """States of worlds at one time. A single environment is one world.

    Attributes:
        positions, velocities: (worlds, dofs), as `World` has them.
    """

    positions: Array
    velocities: Array

    def __init__(self, positions: Array, velocities: Array, model: Model):
        self.positions, self.velocities = positions, velocities
        self._model = model
        self._found: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} worlds, {self.positions.shape[1]} dofs)"

    def once(self, function: Callable[[Self], Found]) -> Found:
        """`function(self)`, computed when it is asked for the first time."""
        if function not in self._found:
            self._found[function] = function(self)
        return self._found[function]

    @classmethod
    def of(cls, **fields: Any) -> Self:
        """States of attributes that fit, without another look at them: a step of a single world is quick."""
        made = cls.__new__(cls)
        vars(made).update(fields, _found={})
        return made

    def alone(self) -> States:
        """These states without what led to them; what was computed of them is shared."""
        own = vars(self)
        return States.of(**{name: own[name] for name in _OF_STATES if name in own})

    @property
    def skeleton(self) -> Skeleton:
        """The model's skeleton, or its first that moves where coordinates of several are read."""
        return self._model.skeleton

    @property
    def batch(self) -> Batch:
        """Kinematics and dynamics of `skeleton` for many states at once, by the model."""
        return self._model.batch

    @cached_property
    def transforms(self) -> Array:
        """(worlds, bodies, 4, 4) world transforms of the bodies of `skeleton`."""
        model = self._model
        return model.batch.forward_kinematics(np.ascontiguousarray(self.positions[:, : model.dofs]))

    @cached_property
    def body_velocities(self) -> Array:
        """(worlds, bodies, 6) velocities of the bodies of `skeleton`, as `Batch.body_velocities`."""
        dofs = self._model.dofs
        q, u = (np.ascontiguousarray(x[:, :dofs]) for x in (self.positions, self.velocities))
        return self._model.batch.body_velocities(q, u)

    @cached_property
    def _centres(self) -> tuple[Array, Array]:
        """Centres of mass of bodies, and of all."""
        X, model = self.transforms, self._model
        found = np.empty((*X.shape[:2], 3)), np.empty((len(X), 3))
        measures.centres(X, model.mass, model.com, *found)
        return found

    @property
    def body_coms(self) -> Array:
        """(worlds, bodies, 3) centres of mass of the bodies of `skeleton` [m], world axes."""
        return self._centres[0]

    @property
    def com(self) -> Array:
        """(worlds, 3) centre of mass of `skeleton` [m], by the masses of the model."""
        return self._centres[1]

    @cached_property
    def inertias(self) -> Array:
        """(worlds, bodies, 10) inertias of bodies about the centre of mass of all, world axes, by the model: moments
        xx, yy, zz, xy, xz, yz [kg m^2], mass times place (3) [kg m], mass [kg]."""
        X, model = self.transforms, self._model
        found = np.empty((*X.shape[:2], 10))
        measures.inertias_about(X, model.mass, model.moment, *self._centres, found)
        return found


class Transition(States):
    """States of worlds after a step of an environment, or at its beginning, and what led to them.

    Functions of an environment take one and return rows, one for each world. What they compute of a world may not
    depend on the others: NumPy along the first axis does so, and so do compiled loops over worlds.

    Attributes:
        before: the states before the step; the same as these at the beginning.
        actions: (worlds, ...) as they were given, not clipped; zeros at the beginning.
        last_actions: those of the step before; zeros at the beginning and in the first step.
        time_step: of the environment [s].
        elapsed: (worlds,) steps of the environment since the beginning.
        goals: (worlds, numbers) that `Start` gave at the beginning, such as targets.
        contact_wrenches: (worlds, bodies, 6) on the `bodies` of the environment in the last time step, as
            `kido.batch.Worlds.contact_wrenches`; zero at the beginning.
        actuator_forces: (worlds, dofs) in the last time step [N, N m]; zero at the beginning.
    """

    before: States
    actions: NDArray
    last_actions: NDArray
    time_step: float
    elapsed: NDArray[np.int64]
    goals: Array
    contact_wrenches: Array
    actuator_forces: Array

    def __init__(
        self,
        positions: Array,
        velocities: Array,
        model: Model,
        *,
        before: States | None = None,
        actions: NDArray,
        last_actions: NDArray,
        time_step: float,
        elapsed: NDArray[np.int64],
        goals: Array,
        contact_wrenches: Array,
        actuator_forces: Array,
    ):
        super().__init__(positions, velocities, model)
        self.before = before or self
        self.actions, self.last_actions, self.time_step = actions, last_actions, time_step
        self.elapsed, self.goals = elapsed, goals
        self.contact_wrenches, self.actuator_forces = contact_wrenches, actuator_forces

    def rate(self, positions: Array, before: Array) -> Array:
        """Mean rate of change of something during the step; 0 at the beginning."""
        return (positions - before) / self.time_step
