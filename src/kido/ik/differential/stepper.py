"""Steps of compiled tasks and limits: what is read before each, the call, and what came of it, or why nothing did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import empty
from numpy.typing import NDArray

from kido.errors import KidoError, StateError
from kido.ik.coupling import coupling_of
from kido.ik.differential.arrays import CONTRADICTION, OF_BOUND, OF_CHART, OF_EQUATIONS, OF_PAIR, OF_PLANE, STEP_REFUSED
from kido.ik.differential.avoidance import Pairs
from kido.ik.differential.build import Compiled, compile_differential, rate_limits
from kido.ik.differential.levels import step
from kido.ik.engine.build import place_of_target
from kido.ik.limits import CollisionAvoidance, HalfSpaces, InfeasibleError
from kido.ik.model import compiled
from kido.ik.tasks.callback import CallbackKind, raise_failures
from kido.optimization.dense_qp.arrays import INFEASIBLE
from kido.skeleton.frames.frame import Frame

if TYPE_CHECKING:
    from kido.ik.tasks import Task
    from kido.skeleton import Skeleton


Array = NDArray[np.float64]


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


class Stepper:
    """Tasks and limits, compiled for a skeleton as it is; made anew when its structure changes.

    Args:
        skeleton: what is moved.
        tasks, constraints, spaces, avoided: as `DifferentialIK` has them.
        dofs: (n,) places of the active coordinates.
        position_limits, velocity_limits, acceleration_limits: as `DifferentialIK` has them.
        settings: numbers by name.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        tasks: Sequence[Task],
        constraints: Sequence[Task],
        spaces: Sequence[HalfSpaces],
        avoided: Sequence[CollisionAvoidance],
        dofs: NDArray[np.int64],
        position_limits: bool,
        velocity_limits: Any,
        acceleration_limits: Any,
        settings: Mapping[str, float],
    ):
        compiled(skeleton)
        self.skeleton = skeleton
        self.tasks, self._constraints = tasks, constraints
        coupling = coupling_of(skeleton)
        self.pairs = Pairs(skeleton, avoided, np.concatenate([dofs, coupling.mimics_of(dofs)]))
        count = len(self.pairs.pairs)
        self.made = made = compile_differential(skeleton, tasks, constraints, spaces, dofs, count, position_limits)
        own = made.own
        for name, value in settings.items():
            self.set(name, value)
        own.velocity_low[:], own.velocity_high[:] = rate_limits(skeleton, "velocity", velocity_limits, dofs)
        least, most = rate_limits(skeleton, "acceleration", acceleration_limits, dofs)
        own.acceleration[:] = np.minimum(-least, most)
        self.pairs.attach(made)
        everything = [*tasks, *constraints, *(s.task for s in spaces)]
        self._callbacks = [t.kind for t in everything if isinstance(t.kind, CallbackKind)]
        self.moving = [(k, t.target) for k, t in enumerate(everything) if isinstance(t.target, Frame)]
        self.workspace = skeleton.current_state.prepare()
        self.addresses = made.tasks.address, made.own.address, made.program.address

    def fits(self) -> bool:
        """Whether the skeleton, which is compiled, is built as it was."""
        state = self.skeleton.current_state
        return (state.ready or state.prepare()) is self.workspace

    def set(self, name: str, value: float) -> None:
        """Another number for a setting."""
        setattr(self.made.own, name, value)

    def go_on_from(self, before: Stepper) -> None:
        """Take over the velocities of the last step, from which acceleration limits count."""
        old, own = before.made.own, self.made.own
        if len(old.previous) == len(own.previous):
            own.previous[:] = old.previous
            own.has_previous = old.has_previous

    def invalidate(self) -> None:
        """No last step, and nothing that was active."""
        own = self.made.own
        own.has_previous = 0
        own.warm_count[:] = 0

    def solve(self, q: Array, dt: float) -> tuple[Array, Array]:
        """Velocities (dofs,) at positions q, and positions after them."""
        if self.moving:
            self.follow_targets()
        self.pairs.place()
        w = self.workspace
        u, after = empty(w.dofs), empty(w.dofs)
        try:
            if not 0.0 < dt < np.inf:
                raise TypeError
            status = step.call(w.tree, w.data, *self.addresses, q, dt, u, after)
        except (TypeError, ValueError):
            raise StateError(f"differential IK: dt: expected a finite number above 0, got {dt!r}") from None
        if self._callbacks:
            raise_failures(self._callbacks)
        if status:
            tasks = [*self.tasks, *self._constraints]
            raise failure(self.skeleton, self.made, tasks, len(self.tasks), self.pairs.things, status, q)
        return u, after

    def follow_targets(self) -> None:
        """Poses of targets that are frames."""
        tasks = self.made.tasks
        for k, frame in self.moving:
            base, X = place_of_target(self.skeleton, frame)
            if not np.isfinite(X).all():
                raise StateError(f"differential IK: the pose of target {frame!r} is not finite")
            tasks.base[k], tasks.target[k] = base, X[:3].ravel()

    def residual(self, row: int) -> Array:
        """Residual of a task at the start of the last step."""
        made = self.made.tasks
        return made.e[made.first_row[row] : made.first_row[row + 1]].copy()

    def distances(self) -> list[tuple[Any, Any, float]]:
        """Pairs of shapes within their distance of influence at the start of the last step, and how far apart [m]."""
        gap = self.made.own.pair_gap
        return [(*self.pairs.things[k], float(gap[k])) for k in np.flatnonzero(np.isfinite(gap))]
