"""What a step says about itself."""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from kido.reprs import brief
from kido.simulation.world_struct import REPORT
from kido.solvers.problem import AT_CAP

# Places of REPORT, as `StepReport.of` wants its numbers.
_IN_ORDER = itemgetter(
    *map(
        list(REPORT.fields).index,
        ("num_contacts", "penetration", "residual", "iterations", "status", "dissipation", "fallbacks", "bounces")
        + ("correction_energy",),
    )
)


class StepReport(NamedTuple):
    """Quality of a step, or the worst of many.

    Attributes:
        contacts: number of contact points.
        max_penetration: depth of the deepest contact at mid-step [m].
        residual: relative natural-map residual of the exact-cone contact problem, the worst island's.
        iterations: sweeps and iterations of the contact solver.
        converged: the residual met the solver's tolerance in every island.
        dissipation: sum of p . v over contacts after the solve [J]; not positive but for rounding.
        fallbacks: islands that went to the fall-back solver.
        bounces: islands with a rebound.
        correction_energy: brought by the position correction [J]: potential energy by which it lifts bodies (split
            impulse), or the work of impulses on its velocities (Baumgarte); in totals the sum over all steps.
    """

    contacts: int
    max_penetration: float
    residual: float
    iterations: int
    converged: bool
    dissipation: float
    fallbacks: int
    bounces: int
    correction_energy: float = 0.0

    __repr__ = brief

    @classmethod
    def of(cls, numbers: REPORT) -> StepReport:
        """From the report of the last step, or the worst one."""
        # In few words, as this is done after each call of a step.
        contacts, depth, residual, iterations, status, dissipation, fallbacks, bounces, energy = _IN_ORDER(
            numbers.floats_of_block()
        )
        return cls(
            int(contacts),
            depth,
            residual,
            int(iterations),
            status < AT_CAP,
            dissipation,
            int(fallbacks),
            int(bounces),
            energy,
        )
