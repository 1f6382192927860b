"""Built-in parts in compiled code: displacements of many tasks in one call, and whole solves of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.ik.coordinates import charted_joints
from kido.ik.engine.build import compile_tasks, place_of_target
from kido.ik.engine.residuals import evaluate
from kido.ik.model import structure_of, tree_of
from kido.ik.part import Module
from kido.ik.tasks import Task
from kido.tree import data_for

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


def key_of(ik: Module) -> tuple[Any, ...]:
    """Equal as long as its error method stands for the same task, but for where the target is."""
    settings = [v.tobytes() if isinstance(v, np.ndarray) else id(v) for v in vars(ik.error_method).values()]
    target = ik.target
    places = id(ik.error_method), id(ik.node), id(target), id(target.parent_frame), id(ik.skeleton)
    own = ik.error_method.surroundings(), ik.offset.tobytes(), ik.dof_indices.tobytes()
    return (*places, structure_of(ik.skeleton), *own, *settings)


class Displacements:
    """Displacements and their Jacobians of tasks at any positions, not cut to bounds.

    Args:
        skeleton: what moves; it is compiled.
        tasks: about frames; components that are not bounded stay zero.
        dofs: (n,) places of the active coordinates.
    """

    def __init__(self, skeleton: Skeleton, tasks: Sequence[Task], dofs: NDArray[np.int64]):
        self._skeleton, self._tasks = skeleton, tasks
        # Bounds of no width about zero: the residual is the displacement, and counts everywhere.
        used = [np.isfinite(t.lower) | np.isfinite(t.upper) for t in tasks]
        bare = [
            replace(t, lower=np.where(c, 0.0, -np.inf), upper=np.where(c, 0.0, np.inf)) for t, c in zip(tasks, used)
        ]
        self._table = made = compile_tasks(skeleton, bare, dofs)
        tree = tree_of(skeleton)
        for joint in charted_joints(skeleton):
            made.chart[tree.body_of_dof[joint.start]] = 1
        self._tree, self._data = tree, data_for(tree)
        for k, task in enumerate(tasks):
            made.angle[k] = task.angle  # by the true bounds
            task.kind.uncut(made, slice(6 * k, 6 * k + 6))

    def follow_targets(self) -> None:
        """Bring targets to where they are."""
        for k, task in enumerate(self._tasks):
            base, X = place_of_target(self._skeleton, task.target)
            self._table.base[k], self._table.target[k] = base, X[:3].ravel()

    def evaluate(self, q: Array) -> None:
        """Compute all of them at positions (dofs,) of the skeleton."""
        evaluate.call(self._tree.address, self._data.address, self._table.address, q)

    def of(self, k: int) -> tuple[Array, Array]:
        """Displacement (6,) of task k and its Jacobian (6, n) at those positions; views."""
        rows = slice(6 * k, 6 * k + 6)
        return self._table.e[rows], self._table.J[rows]


class CompiledDisplacements:
    """Displacements and their Jacobians of all modules that compiled code knows, at any positions.

    Targets are where they are when this is made, but for those that hang on the skeleton.
    """

    def __init__(self, skeleton: Skeleton, modules: Sequence[Module], dofs: NDArray[np.int64]):
        known = [(ik, task) for ik in modules if (task := ik.error_method.as_task()) is not None]
        self._place = {id(ik): k for k, (ik, _) in enumerate(known)}
        self._all = Displacements(skeleton, [task for _, task in known], dofs) if known else None

    def knows(self, ik: Module) -> bool:
        """Whether it has the displacement of a module."""
        return id(ik) in self._place

    def evaluate(self, q: Array) -> None:
        """Compute all of them at positions (dofs,) of the skeleton."""
        if self._all is not None:
            self._all.evaluate(q)

    def of(self, ik: Module) -> tuple[Array, Array]:
        """Displacement (6,) of a module and its Jacobian (6, columns) at those positions; views."""
        assert self._all is not None
        return self._all.of(self._place[id(ik)])
