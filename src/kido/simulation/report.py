"""What a step says about itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kido.simulation.schema import REPORT
from kido.solvers.problem import AT_CAP


@dataclass(frozen=True)
class StepReport:
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

    @classmethod
    def of(cls, numbers: REPORT) -> StepReport:
        """From the report of the last step, or the worst one."""
        # All in one look, as this is done after each call of a step.
        n = dict(zip(REPORT.fields, numbers.words_of_block().view(np.float64).tolist(), strict=True))
        return cls(
            contacts=int(n["num_contacts"]),
            max_penetration=n["penetration"],
            residual=n["residual"],
            iterations=int(n["iterations"]),
            converged=n["status"] < AT_CAP,
            dissipation=n["dissipation"],
            fallbacks=int(n["fallbacks"]),
            bounces=int(n["bounces"]),
            correction_energy=n["correction_energy"],
        )
