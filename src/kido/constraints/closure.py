"""Newton's method on rows phi = 0 of loops, and by how much rows may be off: one place for all that closes loops.

    q <- q (+) a d,    phi + G d = 0,    a = min(1, MAX_CLOSURE_MOVE / largest d)

Of the many moves d that meet the rows, each way of closing has its own, for a reason, and brings it with it:

* groups of a world (`constraints.loop_solve`): the least in kinetic energy, d = -M^-1 G^T S^+ phi, by the factor of S
  that the step of the world has anyway;
* integrated motion (`dynamics.moving`): the same, by the response of whichever solver moves the system;
* aggregates (`dynamics.embedding.project_dependent`): dependent coordinates alone, so that the independent ones stay
  what an integrator made of them; rows that are not embedded (`combined`) are met on top, by the least motion;
* aggregates at the end of a world's step (`simulation.aggregates.closing`): first the least motion, then the former.

From any start at all, within limits of joints and where rows contradict each other, Newton's method is not enough:
`dynamics.closing` descends on |phi|^2 there, with active limits, and ends with a Newton of its own on the directions
that its limits leave.
"""

from __future__ import annotations

from typing import Any

from kido.jit import inlined, kernel

CLOSURE_TOLERANCE = 1e-12  # [m or rad] rows this near to zero are met in a step of a world
MOTION_TOLERANCE = 1e-13  # [m or rad] the same where motion is integrated or a state assembled
AGGREGATE_TOLERANCE = 1e-15  # [m or rad] the same of aggregates: near singular positions velocities feel the rest
CONTRADICTION_TOLERANCE = 1e-10  # [m or rad] rows left out of a closure contradict it if they are farther from zero
OPEN_TOLERANCE = 1e-8  # [m or rad] rows farther from zero are open
DIGITS_TOLERANCE = 1e-6  # [m or rad] the same of rows that follow from others but for the digits of model files
MAX_CLOSURE_MOVE = 0.2  # [m or rad] most that one step moves a coordinate


@inlined
def share_of_move(largest):
    """Share of a move to be made, its largest number given."""
    return 1.0 if largest <= MAX_CLOSURE_MOVE else MAX_CLOSURE_MOVE / largest


def newton_closure(measure: Any, move: Any) -> Any:
    """A kernel `close(t, d, lp, x, y, z, tolerance, steps)` that closes rows; returns the largest |phi| left.

    Args:
        measure: kernel (t, d, lp, x, y, z): measures the rows at the positions; returns their largest |phi|.
        move: kernel of the same arguments: moves positions by a d. Returns whether it could.
    """

    @kernel
    def close(t, d, lp, x, y, z, tolerance, steps):
        error = measure(t, d, lp, x, y, z)
        for _ in range(steps):
            if not error > tolerance or not move(t, d, lp, x, y, z):
                break
            before, error = error, measure(t, d, lp, x, y, z)
            if error < DIGITS_TOLERANCE and not error < 0.5 * before:  # rounding, or digits of a file
                break
        return error

    return close
