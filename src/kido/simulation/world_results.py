"""What the last step of a world gave, and its energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import NameLookupError
from kido.simulation.contacts import ContactSet
from kido.simulation.report import StepReport
from kido.skeleton import Skeleton

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


class WorldResults:
    """Results of a world's steps."""

    if TYPE_CHECKING:
        name: str
        _skeletons: list[Skeleton]
        skeleton: Any
        _compile: Any

    @property
    def contacts(self) -> ContactSet:
        """Contacts of the last step with their forces; empty before the first."""
        return self._compile().contacts()

    @property
    def report(self) -> StepReport:
        """Quality of the last step."""
        return StepReport.from_numbers(self._compile().world.last)

    @property
    def totals(self) -> StepReport:
        """Worst values over all steps since the structure last changed or `reset_totals`."""
        return StepReport.from_numbers(self._compile().world.worst)

    @property
    def unconverged_steps(self) -> int:
        """Steps, as counted by `totals`, whose contact problem was not solved to its tolerance."""
        return int(self._compile().world.unconverged[0])

    def reset_totals(self) -> None:
        """Start `totals` and `unconverged_steps` afresh."""
        world = self._compile().world
        world.worst[:] = 0.0
        world.unconverged[:] = 0

    def constraint_forces(self, skeleton: Skeleton | str | int) -> NDArray[np.float64]:
        """Generalized forces (dofs,) of contacts, limits, joint friction and gears on a skeleton in the last step."""
        engine = self._compile()
        return engine.world.constraint_force[self._dofs_of(skeleton, engine)].copy()

    def actuator_forces(self, skeleton: Skeleton | str | int) -> NDArray[np.float64]:
        """Forces (dofs,) that a skeleton's actuators gave in the last step; see `Skeleton.actuator_forces`."""
        engine = self._compile()
        return engine.world.actuator_force[self._dofs_of(skeleton, engine)].copy()

    def _dofs_of(self, skeleton: Skeleton | str | int, engine: Engine) -> slice:
        s = skeleton if isinstance(skeleton, Skeleton) else self.skeleton(skeleton)
        if s not in engine.skeletons:
            raise NameLookupError(f"skeleton in world {self.name!r}", s.name, [x.name for x in self._skeletons])
        k = engine.skeletons.index(s)
        return slice(int(engine.tree.tree_dof[k]), int(engine.tree.tree_dof[k + 1]))

    @property
    def kinetic_energy(self) -> float:
        """Sum over mobile skeletons [J]."""
        return float(sum(s.kinetic_energy for s in self._skeletons if s.mobile))

    @property
    def potential_energy(self) -> float:
        """Sum over mobile skeletons [J]."""
        return float(sum(s.potential_energy for s in self._skeletons if s.mobile))

    @property
    def total_energy(self) -> float:
        """Kinetic plus potential energy [J]."""
        return self.kinetic_energy + self.potential_energy
