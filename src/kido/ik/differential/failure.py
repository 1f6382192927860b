"""Why a step has no velocities, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import KidoError, StateError
from kido.ik.differential.build import Compiled
from kido.ik.differential.schema import (
    CONTRADICTION,
    OF_BOUND,
    OF_CHART,
    OF_EQUATIONS,
    OF_PAIR,
    OF_PLANE,
    STEP_REFUSED,
)
from kido.ik.limits import InfeasibleError
from kido.optimization.dense_qp.schema import INFEASIBLE

if TYPE_CHECKING:
    from kido.ik.task import Task
    from kido.skeleton import Skeleton


def failure(
    skeleton: Skeleton,
    made: Compiled,
    tasks: Sequence[Task],
    soft: int,
    pairs: Sequence[tuple[Any, Any]],
    status: int,
    q: NDArray[np.float64],
) -> KidoError:
    """The error of a step that returned `status`.

    Args:
        tasks: the tasks and then the constraints; `soft` is the number of the former.
        pairs: shapes that are kept apart.
        q: positions of the step.
    """
    own, name = made.own, skeleton.name
    if status == STEP_REFUSED:
        return StateError(f"differential IK of {name!r}: expected finite positions, got {q.tolist()}")
    if status not in (INFEASIBLE, CONTRADICTION):
        return StateError(
            f"differential IK of {name!r}: no finite velocities at level {own.failed_level} (status "
            f"{status}); weights and damping are out of proportion"
        )
    rows = own.conflict[: own.conflicts]
    words = list(dict.fromkeys(_words(skeleton, made, tasks, soft, pairs, int(kind), int(k)) for kind, k in rows))
    what = "no velocity satisfies" if status == INFEASIBLE else "equations of constraints contradict each other;"
    return InfeasibleError(f"differential IK of {name!r}: {what} all of", words)


def _words(
    skeleton: Skeleton,
    made: Compiled,
    tasks: Sequence[Task],
    soft: int,
    pairs: Sequence[tuple[Any, Any]],
    kind: int,
    k: int,
) -> str:
    """What a row of a conflict comes from."""
    dofs, active = skeleton.dofs, made.tasks.active
    if kind == OF_BOUND:
        return f"limits of dof {dofs[int(active[k])].name!r}"
    if kind == OF_CHART:
        return f"limits of dof {dofs[k].name!r}"
    if kind == OF_PAIR:
        return "distance of {!r} and {!r}".format(*pairs[k])
    if kind == OF_PLANE:
        return f"half space {k}"
    if kind == OF_EQUATIONS:
        return "the equations of the constraints"
    row = int(np.searchsorted(made.tasks.first_row, k, side="right")) - 1
    task, component = tasks[row], k - int(made.tasks.first_row[row])
    place = f"tasks[{row}]" if row < soft else f"constraints[{row - soft}]"
    names = [dofs[int(j)].name for j in active]
    return f"{place} {task.kind.words(task, component, names)}"
