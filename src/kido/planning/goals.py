"""Goals from targets of bodies: many solutions of inverse kinematics, of which those are kept that touch nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import StateError
from kido.ik import IkSolver
from kido.planning.arguments import as_whole, numbers
from kido.planning.checker import CollisionChecker
from kido.planning.errors import GoalError
from kido.planning.samples import Samples

Array = NDArray[np.float64]
APART = 0.05  # solutions nearer to each other than this count as one [rad or m]


def goal_states(checker: CollisionChecker, solver: IkSolver, target: Any, attempts: int = 64, seed: int = 0) -> Array:
    """States (n, planned dofs) at which a solver's target is met and nothing touches, for a planner to choose from.

    Args:
        checker: what is free.
        solver: of the same skeleton; only planned coordinates should be its own (`dofs`). One that avoids what the
            checker refuses (`IkSolver(..., avoid=checker)`) finds more goals among things.
        target: as `IkSolver.solve` takes it.
        attempts: searches, each from another state within limits.
        seed: of these.

    Raises:
        StateError: a solver of another skeleton.
        GoalError: no search met the target, or something touches wherever it is met.
    """
    if solver.skeleton is not checker.skeleton:
        raise StateError(f"goal_states: expected a solver of skeleton {checker.skeleton.name!r}, got {solver!r}")
    attempts = as_whole(attempts, "attempts", 1)
    power = max(0, int(np.ceil(np.log2(attempts))))
    starts = np.tile(checker.held_positions, (attempts, 1))
    starts[:, checker.columns] = Samples(checker, as_whole(seed, "seed", 0)).take(power)[:attempts]
    goal = numbers(target, "goal_states: target")
    targets = np.tile(goal[None], (attempts, *[1] * goal.ndim))
    found = solver.solve_batch(targets, starts)
    states = np.ascontiguousarray(found.positions[np.asarray(found.success)][:, checker.columns])
    if not len(states):
        contact = next((c for c in found.contact if c is not None), None)
        told = "" if contact is None else f" free of collisions; in a state where it is met {contact}"
        if contact is None:
            best = int(np.argmin(found.linear_error + found.angular_error))
            told = f"; the nearest is {found.linear_error[best]:.3g} m and {found.angular_error[best]:.3g} rad away"
        raise GoalError(f"goal: the target is not met by any of {attempts} searches{told}", contact)
    free = checker.states_are_good(states)
    if not free.any():
        contact = checker.contact(states[0])
        raise GoalError(f"goal: the target is met in {len(states)} states; in the first one {contact}", contact)
    kept: list[Array] = []
    for state in states[free]:
        if all(np.abs(state - other).max() > APART for other in kept):
            kept.append(state)
    return np.array(kept)
