"""From tasks, constraints and limits to the arrays that a step reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.ik.coupling import coupling_of
from kido.ik.differential.arrays import DIFFERENTIAL, HARD_TASK, HELPER_TASK, SOFT_TASK
from kido.ik.engine.build import compile_tasks
from kido.ik.engine.tasks import CONE_ROW, RANGE, TASKS
from kido.ik.limits import HalfSpaces
from kido.ik.model import tree_of
from kido.ik.tasks import Task
from kido.joints.kinds import BALL, FREE
from kido.math.transform import as_numbers
from kido.optimization.dense_qp.arrays import QUADRATIC, sizes

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
PROGRAM_TOLERANCE = 1e-10  # [rad/s, m/s] by which programs may miss bounds


@dataclass
class Compiled:
    """The containers of a step.

    Attributes:
        tasks: TASKS of soft tasks, then hard ones, then those that half spaces need.
        own: DIFFERENTIAL.
        program: QUADRATIC.
    """

    tasks: TASKS
    own: DIFFERENTIAL
    program: QUADRATIC


def compile_differential(
    skeleton: Skeleton,
    tasks: Sequence[Task],
    constraints: Sequence[Task],
    spaces: Sequence[HalfSpaces],
    dofs: NDArray[np.int64],
    pairs: int,
    position_limits: bool,
) -> Compiled:
    """Arrays of a step, but for limits of velocities and pairs of shapes, of which `pairs` are to come.

    Raises:
        ModelError: a task of another skeleton, or a posture of the wrong size.
    """
    everything = [*tasks, *constraints, *(s.task for s in spaces)]
    made = compile_tasks(skeleton, everything, dofs, all_links=pairs > 0)
    tree = tree_of(skeleton)
    links, rows, n = len(tree.parent), int(made.first_row[-1]), len(dofs)
    turning = [i for i in range(links) if position_limits and tree.kind[i] in (BALL, FREE)]
    charts = [i for i in turning if (made.column[tree.first_dof[i] : tree.first_dof[i + 1]] >= 0).any()]
    levels = sorted({t.priority for t in tasks})
    planes = sum(len(s.offsets) for s in spaces)
    own_sizes = {
        "level_count": len(levels), "tasks": len(everything), "rows": rows, "columns": n, "hard": rows + planes + pairs
        + 6 * len(charts), "chart_count": len(charts), "planes": planes, "pairs": pairs, "work": rows,
        "program_variables": n + rows, "program_rows": n + 2 * rows + planes + pairs + 6 * len(charts),
        "conflict_count": n + rows + 3,
    }  # fmt: skip
    own = DIFFERENTIAL(**own_sizes)
    own.levels[:] = levels
    own.charts[:] = charts
    own.position_limited[:] = int(position_limits)
    own.role[:] = [SOFT_TASK] * len(tasks) + [HARD_TASK] * len(constraints) + [HELPER_TASK] * len(spaces)
    ranges = (made.row_kind == RANGE) | (made.row_kind == CONE_ROW)
    made.lower[ranges] = made.upper[ranges] = 0.0  # so that residuals of ranges are measured from zero
    first = 0
    for k, space in enumerate(spaces, start=len(tasks) + len(constraints)):
        part = slice(first, first := first + len(space.offsets))
        own.plane_task[part], own.plane_normal[part], own.plane_offset[part] = k, space.normals, space.offsets
        part = slice(int(made.first_row[k]) + 3, int(made.first_row[k + 1]))
        made.lower[part] = made.upper[part] = 0.0  # x itself
    own.velocity_low[:], own.velocity_high[:] = -np.inf, np.inf
    own.acceleration[:] = np.inf
    program = QUADRATIC(**sizes(own_sizes["program_variables"], own_sizes["program_rows"]))
    program.tolerance = PROGRAM_TOLERANCE
    program.row_floor[:] = 1.0
    return Compiled(made, own, program)


def rate_limits(skeleton: Skeleton, what: str, given: Any, dofs: NDArray[np.int64]) -> tuple[Array, Array]:
    """Lower and upper limits (n,) of velocities or accelerations of active coordinates.

    Args:
        what: "velocity" or "acceleration".
        given: True: the coordinates' own; None or False: none; or sizes, one for all or one for each.

    Raises:
        ModelError: not as many numbers, or one below zero.
    """
    n = len(dofs)
    if given is None or given is False:
        return np.full(n, -np.inf), np.full(n, np.inf)
    if given is True:
        own = skeleton.dofs
        low = np.array([getattr(dof, f"{what}_lower_limit") for dof in own], float).reshape(len(own))
        high = np.array([getattr(dof, f"{what}_upper_limit") for dof in own], float).reshape(len(own))
        return coupling_of(skeleton).limits(low, high, dofs, offsets=False)
    try:
        size = np.array(np.broadcast_to(as_numbers(given), (n,)))
    except (TypeError, ValueError):
        raise ModelError(f"differential IK: {what}_limits: expected a number or {n}, got {given!r}") from None
    if not (size >= 0.0).all():
        raise ModelError(f"differential IK: {what}_limits: expected numbers >= 0, got {size.tolist()}")
    return -size, size
