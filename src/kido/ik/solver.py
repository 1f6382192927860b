"""Positions for targets, in one compiled call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike, NDArray

from kido.arrays import ReadOnlyArray, read_only_copy
from kido.attributes import FixedAttributes
from kido.errors import ModelError, StateError
from kido.ik.avoidance import Avoidance, Avoided
from kido.ik.coupling import coupling_of
from kido.ik.engine import solve as kernels
from kido.ik.engine.arrays import SearchArrays, Settings
from kido.ik.engine.batch import SearchPool, first_not_rigid
from kido.ik.engine.build import dofs_moving
from kido.ik.result import IkResult
from kido.ik.tasks import Task
from kido.ik.tasks.callback import raise_failures
from kido.ik.tasks.kind import skeleton_of
from kido.ik.twins import copied_for
from kido.jit import REFUSALS
from kido.math.transform import as_numbers, as_transform
from kido.skeleton import Skeleton
from kido.skeleton.frames.frame import Frame
from kido.skeleton.nodes.node import JacobianNode
from kido.skeleton.state.subsets import Dofs, indices_of
from kido.skeleton.state.workspace import Workspace
from kido.turns import Turn, in_turn

Array = NDArray[np.float64]


def positions_of(skeleton: Skeleton, value: ArrayLike, what: str) -> Array:
    """Positions (dofs,) as a new array.

    Raises:
        StateError: the wrong size, or not finite.
    """
    n = skeleton.num_dofs
    try:
        q = as_numbers(value)
    except (TypeError, ValueError):
        raise StateError(f"{what}: expected {n} positions, got {value!r}") from None
    if q.shape != (n,) or not np.isfinite(q).all():
        raise StateError(f"{what}: expected {n} finite positions, got {value!r}")
    return q


def _rows_of_positions(value: ArrayLike, n: int, what: str, rows: str) -> Array:
    try:
        q = np.atleast_2d(as_numbers(value))
    except (TypeError, ValueError):
        raise StateError(f"{what}: expected positions ({rows}, {n}), got {value!r}") from None
    if q.ndim != 2 or q.shape[1] != n or not np.isfinite(q).all():
        raise StateError(f"{what}: expected finite positions ({rows}, {n}), got an array of shape {q.shape}")
    return q


def _as_tasks(tasks: JacobianNode | Task | Iterable[Task | JacobianNode]) -> list[Task]:
    if isinstance(tasks, JacobianNode | Task):
        tasks = (tasks,)
    try:
        given = [] if isinstance(tasks, str) else list(tasks)
        if isinstance(tasks, str):
            raise TypeError
    except TypeError:
        raise ModelError(f"tasks: expected a node, a kido.ik.Task or a list of these, got {tasks!r}") from None
    if any(isinstance(t, Task) and not t.kind.for_positions for t in given):
        raise ModelError("tasks: Task.balance is one of DifferentialIK and of hierarchies, not of IkSolver")
    return [Task.pose(t) if isinstance(t, JacobianNode) else t for t in given]


def _checked_skeleton(value: Any) -> Skeleton:
    if not isinstance(value, Skeleton):
        raise ModelError(f"IkSolver: skeleton: expected a skeleton, got {value!r}")
    return value


class IkSolver(FixedAttributes):
    """Finds positions at which tasks are met, or as nearly as can be, within joint limits.

    It minimizes half the sum of squares of the tasks' weighted residuals, all levels alike, over the active
    coordinates by Levenberg-Marquardt steps within limits, beginning at the start and then at up to `attempts` - 1
    other positions: first the given seeds, then those of a table of sampled ones whose poses are nearest to the target.
    The first positions that meet all tasks are the result. If none do, the best ones are refined by Newton steps until
    they are a minimum, and the solution says so.

    After some attempts that failed, the others are made eight at a time, in vector lanes; then the first that meets all
    tasks is the one that takes the fewest steps.

    All of it is one call of compiled code. The skeleton's own state is not changed. The same arguments give the same
    result, to the bit. Threads that call one solver wait for each other.

    Angles whose limits leave room for a full turn are free to turn while searching, and end within their limits, as
    close to the start as full turns allow. Ball and free joints are moved on their manifolds, or, if their positions
    have limits, in these.

    With `avoid`, results touch nothing: see `kido.ik.avoidance`. What counts as met is found free by the checker, with
    its margins. A target that was not met so has a `contact`: what touches where
    the tasks are met. That it cannot be met without is not proved by it.

    Args:
        tasks: a body or other node (its pose is then the task), a `Task`, or a list of these.
        dofs: active coordinates, as for `Skeleton.get_positions`; by default those that move a task's node or target
            frame, for a centre of mass or a posture all, but for LOCKED ones. Coordinates that mimic others follow:
            the others are active in their place.
        skeleton: needed only if no task has a node.
        attempts: most positions that a search begins at.
        iterations: most steps of an attempt.
        max_iterations: most steps of a search.
        time_limit: seconds after which no further attempt begins.
        seeds: positions (n, dofs) to try after the start.
        samples: size of the table of sampled positions.
        seed: of the table.
        refine: where nothing meets, make the best ends minima; without, results are the best ends.
        avoid: what says which states collide, such as a `kido.planning.CollisionChecker` of the skeleton; coordinates
            that it holds are held where it has them. None: collisions are not looked at.

    Raises:
        ModelError: tasks that are none, or of several skeletons.
        StateError: a setting out of range; a coordinate that mimics another or is LOCKED among `dofs`; limits of
            mimics that leave nothing to what they follow.
        NameLookupError: no such coordinate.

    Source: Sugihara (2011), "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method"; limits as
    in projected Newton methods, Bertsekas (1982).

    Example:
        >>> solver = kido.ik.IkSolver(robot.body("hand"))
        >>> found = solver.solve(target)  # 4x4
        >>> if found:
        ...     robot.positions = found.positions
    """

    def __init__(
        self,
        tasks: JacobianNode | Task | Iterable[Task | JacobianNode],
        dofs: Dofs | None = None,
        *,
        skeleton: Skeleton | None = None,
        attempts: int = 100,
        iterations: int = 30,
        max_iterations: int = 5000,
        time_limit: float | None = None,
        seeds: ArrayLike | None = None,
        samples: int = 1024,
        seed: int = 0,
        refine: bool = True,
        avoid: Avoided | None = None,
    ):
        self._tasks, self.turn = _as_tasks(tasks), Turn()
        self._skeleton = _checked_skeleton(skeleton_of(self._tasks) if skeleton is None else skeleton)
        self._dofs = dofs
        self._settings = Settings(attempts, iterations, max_iterations, time_limit, samples, seed, refine)
        self._seeds = seeds
        self._arrays: SearchArrays | None = None
        self._pool: SearchPool | None = None
        self._avoidance: Avoidance | None = None
        if avoid is not None:
            options = {"attempts": attempts, "iterations": iterations, "max_iterations": max_iterations,
                       "time_limit": time_limit, "seeds": seeds, "samples": samples, "seed": seed}  # fmt: skip
            self._avoidance = Avoidance(avoid, self._skeleton, self._tasks, self.dofs, options)
        self._current()

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton whose positions it finds."""
        return self._skeleton

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Its tasks (a copy of the list)."""
        return tuple(self._tasks)

    @property
    def dofs(self) -> NDArray[np.int64]:
        """Indices of the active coordinates (a copy)."""
        return read_only_copy(ReadOnlyArray, self._current().dofs)

    def clone(self, skeleton: Skeleton | None = None) -> Self:
        """A copy for the same skeleton or for a copy of it, such as another thread has; frames elsewhere are shared.

        Raises:
            ModelError: no skeleton, or one without the bodies or nodes of the tasks.
        """
        twin = copied_for(self, self._skeleton, skeleton, self._tasks)
        twin._current()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_arrays": None, "_pool": None}

    def __repr__(self) -> str:
        return f"IkSolver({self._skeleton.name!r}, {len(self._tasks)} tasks, {len(self.dofs)} active dofs)"

    # Arrays ----------------------------------------------------------------------------------------------------

    @in_turn
    def _current(self) -> SearchArrays:
        """The arrays, made anew if the skeleton or a node has changed."""
        skeleton = self._skeleton
        if skeleton.current_state.settled is None:
            skeleton.current_state.settle()
        arrays = self._arrays
        if arrays is None or not arrays.still_fit(skeleton):
            dofs = self._active()
            arrays = SearchArrays(skeleton, self._tasks, dofs, self._settings, self._given_seeds(), sampled=False)
            self._arrays = arrays
        return arrays

    def _active(self) -> NDArray[np.int64]:
        skeleton = self._skeleton
        coupling = coupling_of(skeleton)
        if self._dofs is not None:
            found = indices_of(skeleton, self._dofs)
            if len(set(found.tolist())) != len(found):
                raise StateError(f"skeleton {skeleton.name!r}: dofs: one is named twice in {found.tolist()}")
            return coupling.checked(found)
        moving = [dofs_moving(skeleton, task) for task in self._tasks]
        return np.unique(np.concatenate(moving)) if moving else coupling.independent([])

    def _given_seeds(self) -> Array:
        n = self._skeleton.num_dofs
        if self._seeds is None:
            return np.zeros((0, n))
        return _rows_of_positions(self._seeds, n, "seeds", "n")

    # Solving ---------------------------------------------------------------------------------------------------

    def solve(self, target: Any = None, start: ArrayLike | None = None) -> IkResult:
        """Positions for one target of each task.

        Args:
            target: for a single task a 4x4 pose in the world (or what stands for one), for several a list of them.
                None: the targets that tasks have; frames are followed.
            start: positions (dofs,) to begin at; by default those that the skeleton holds.

        Raises:
            ModelError: a target that is no rigid transform, or too few or too many.
            StateError: a start of the wrong size or not finite.
        """
        if self._avoidance is not None:
            q = self._skeleton.positions if start is None else positions_of(self._skeleton, start, "start")
            X = None if target is None else self._checked_targets(target)[None]
            return self.solve_batch(X, q, threads=1)[0]
        skeleton = self._skeleton
        state = skeleton.current_state
        with self.turn:
            held = state.settled or state.settle()
            a = self._arrays
            if a is None or a.is_outdated(skeleton):
                a = self._current()
            if target is None:
                X = a.follow_targets(skeleton)
            else:
                X = target
                try:
                    if X.shape != a.shape:
                        X = X.reshape(a.shape)
                except (AttributeError, ValueError):
                    X = self._checked_targets(target)
            found = self._solved(a, held, X, target, start)
            if not a.is_complete and not found:  # the table of sampled positions is made when it is needed
                self._arrays = a = a.completed()
                if target is None:
                    a.follow_targets(skeleton)
                found = self._solved(a, held, X, target, start)
            return found

    def _solved(self, a: SearchArrays, held: Workspace, X: Array, target: Any, start: ArrayLike | None) -> IkResult:
        out = empty(a.result)
        try:
            if start is None:
                status = kernels.solve_from_held.call(held.tree, held.held, *a.addresses, X, out)
            else:
                status = kernels.solve_from.call(held.tree, *a.addresses, start, X, out)
        except REFUSALS:
            status = 1
        if status:
            skeleton = self._skeleton
            if target is not None:
                X = self._checked_targets(target)
            begin = skeleton.positions if start is None else positions_of(skeleton, start, "start")
            kernels.solve_from(held.tree, *a.addresses, begin, X, out)
        if a.callbacks:
            raise_failures(a.callbacks)
        return IkResult(out[0], a.dofs_of_skeleton)

    @in_turn
    def seeds_near(self, targets: Array | None, number: int) -> Array:
        """Sampled positions (samples, number, dofs), or fewer, with poses nearest to targets (samples, tasks, 4, 4).

        None: some for all, (1, number, dofs).
        """
        self._arrays = a = self._current().completed()
        return a.seeds_near(targets, number)

    @in_turn
    def solve_batch(
        self, targets: ArrayLike | None = None, starts: ArrayLike | None = None, threads: int | None = None
    ) -> IkResult:
        """Positions for many targets at once, in threads without Python's lock, eight by eight in vector lanes.

        Each result is that of `solve`, to the bit, whatever the other targets and however many threads there are.

        Args:
            targets: 4x4 poses in the world (samples, 4, 4), or (samples, tasks, 4, 4) for several tasks. None: the
                targets that tasks have, for each start.
            starts: positions to begin at, (samples, dofs) or (dofs,); by default those that the skeleton holds.
            threads: how many; by default as many as there are cores.

        Raises:
            ModelError: a target that is no rigid transform (the message has its index), or of the wrong shape.
            StateError: starts of the wrong shape or not finite, or a number of threads that is none.
        """
        self._arrays = a = self._current().completed()
        skeleton, n = self._skeleton, self._skeleton.num_dofs
        q, avoidance = self._checked_starts(starts), self._avoidance
        if avoidance is not None:
            q = avoidance.held(q)
        if targets is None:
            a.follow_targets(skeleton)
            X = np.zeros((len(q), 0))
        else:
            X = self._many_targets(targets)
        if len(q) not in (1, len(X)):
            raise StateError(f"starts: expected {len(X)} positions, or one for all, got {len(q)}")
        if self._pool is None:
            self._pool = SearchPool()
        found = IkResult(self._pool.run(a, X, q, 1 if any(k.in_python for k in a.callbacks) else threads), n)
        raise_failures(a.callbacks)
        return found if avoidance is None else avoidance.cleared(found, X, threads)

    def _checked_starts(self, starts: ArrayLike | None) -> Array:
        n = self._skeleton.num_dofs
        if starts is None:
            return self._skeleton.positions[None]
        q = _rows_of_positions(starts, n, "starts", "samples")
        if len(q) == 0:
            raise StateError(f"starts: expected finite positions (samples, {n}), got an array of shape {q.shape}")
        return q

    def _many_targets(self, targets: ArrayLike) -> Array:
        """Targets as rows of numbers (samples, 16 tasks)."""
        tasks = len(self._tasks)
        try:
            X = np.ascontiguousarray(targets, np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"targets: expected 4x4 transforms, got {targets!r}") from None
        if (
            X.shape[-2:] != (4, 4)
            or X.ndim != 3 + (X.ndim == 4)
            or (X.ndim == 3 and tasks != 1)
            or (X.ndim == 4 and X.shape[1] != tasks)
        ):
            raise ModelError(
                f"targets: expected an array of shape (samples, {tasks}, 4, 4)"
                f"{' or (samples, 4, 4)' if tasks == 1 else ''}, got {X.shape}"
            )
        bad = first_not_rigid(X.reshape(-1, 4, 4))
        if bad >= 0:
            X = X.copy()
            flat = X.reshape(-1, 4, 4)
            for k in range(bad, len(flat)):
                flat[k] = as_transform(flat[k], f"targets[{k // tasks}]")
        return X.reshape(len(X), 16 * tasks)

    def _checked_targets(self, target: Any) -> Array:
        n = len(self._tasks)
        if n == 1 and not (isinstance(target, Sequence) and len(target) == 1):
            target = (target,)
        try:
            given = list(target)
        except TypeError:
            given = [target]
        if len(given) != n:
            raise ModelError(f"target: expected {n} transforms, one for each task, got {len(given)}")
        return np.array(
            [as_transform(X.world_transform if isinstance(X, Frame) else X, "target") for X in given]
        ).reshape(n, 4, 4)


def solve(
    tasks: JacobianNode | Task | Iterable[Task | JacobianNode],
    target: Any = None,
    start: ArrayLike | None = None,
    **options: Any,
) -> IkResult:
    """Positions for one target, by an `IkSolver` made for it; keep an `IkSolver` to solve for many.

    Args:
        tasks: a body or other node, a `Task`, or a list of these.
        target: 4x4 pose in the world; for several tasks a list of them; None: those that tasks have.
        start: positions (dofs,) to begin at; by default those that the skeleton holds.
        **options: those of `IkSolver`.

    Raises:
        ModelError, StateError, NameLookupError: as `IkSolver` and its `solve` do.
    """
    return IkSolver(tasks, **options).solve(target, start)
