"""Arrays of a search for a tree, tasks and the coordinates that may move, and the positions to begin at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.errors import StateError
from kido.flexible.filling import in_lanes
from kido.ik.coupling import KEY, coupling_of
from kido.ik.engine import search
from kido.ik.engine.build import compile_tasks, place_of_target
from kido.ik.engine.levenberg import lanes_round
from kido.ik.engine.nearest import nearest_poses
from kido.ik.engine.search import EARLY, SEARCH, link_clock
from kido.ik.engine.solve import place_seeds, search_callback
from kido.ik.engine.tasks import IK_LANES, LANE_NUMBERS
from kido.ik.model import carrier_of, links_of, tree_of
from kido.ik.tasks.callback import CallbackKind
from kido.jit import JIT_DISABLED, LANES
from kido.joints import JointKind
from kido.joints.kinds import BALL, FREE, PRISMATIC
from kido.math.transform import as_flag, number_or_nan
from kido.skeleton.joints.coordinates import CoordinateKind
from kido.tree import data_for

if TYPE_CHECKING:
    from kido.ik.tasks import Task
    from kido.skeleton import Skeleton
    from kido.skeleton.joints.joint import Joint


Array = NDArray[np.float64]

_WHOLE_JOINTS = (JointKind.BALL, JointKind.FREE)


SEARCH_DAMPING = 0.1  # of the cost
MIN_SEARCH_DAMPING = 1e-9
MIN_DECREASE = 0.1  # of the cost in four iterations
STATIONARY = 1e-9  # gradient beside the residual
REFINEMENT = 300  # Newton steps
_NONE = np.zeros((0, 4, 4))


def angles_of(joint: Joint) -> tuple[bool, ...]:
    """Of each coordinate of a joint, whether it is an angle that brings the joint back after a full turn."""
    return tuple(joint.coordinate_kind(k) is CoordinateKind.ANGLE for k in range(joint.num_dofs))


def are_angles(skeleton: Skeleton) -> NDArray[np.bool_]:
    """Of each coordinate (dofs,), whether it is an angle that brings its joint back after a full turn."""
    return np.concatenate(
        [np.zeros(0, bool), *(np.array(angles_of(b.parent_joint), bool) for b in links_of(skeleton).top)]
    )


def reach_of(skeleton: Skeleton) -> float:
    """A length that tells how large a skeleton is [m]: the sum of distances of joints along its longest path."""
    tree = tree_of(skeleton)
    lengths = np.linalg.norm(tree.position_pj, axis=1) + np.linalg.norm(tree.position_jb, axis=1)
    slides = np.isin(tree.kind, [PRISMATIC]) & (tree.first_dof[1:] > tree.first_dof[:-1])
    for i in np.flatnonzero(slides):
        span = tree.upper[tree.first_dof[i]] - tree.lower[tree.first_dof[i]]
        lengths[i] += span if np.isfinite(span) else 0.0
    total = np.zeros(len(lengths))
    for i, parent in enumerate(tree.parent):
        total[i] = lengths[i] + (total[parent] if parent >= 0 else 0.0)
    return float(total.max(initial=0.0)) or 1.0


@lru_cache(16)
def _even(columns: int, number: int, seed: int) -> Array:
    """The first points (number, columns) of a scrambled Sobol sequence in the unit cube (kept: not to be written)."""
    sequence = scipy.stats.qmc.Sobol(columns, scramble=True, rng=np.random.default_rng(seed))
    return sequence.random_base2(max(0, int(np.ceil(np.log2(number)))))[:number]


def sampled_positions(skeleton: Skeleton, dofs: NDArray[np.integer], number: int, seed: int) -> Array:
    """Positions (number, dofs) of which the active coordinates are spread evenly over their limits, the rest zero.

    Angles without limits take a full turn, rotations of ball and free joints without limits are uniform, lengths
    without limits go as far as the skeleton reaches. A scrambled Sobol sequence: a longer table begins like a shorter.
    """
    tree = tree_of(skeleton)
    lower, upper = coupling_of(skeleton).limits(tree.lower, tree.upper, dofs)
    turns = are_angles(skeleton)
    is_angle = turns[dofs]
    reach = np.where(is_angle, np.pi, reach_of(skeleton))
    for k, dof in enumerate(dofs):
        i = tree.body_of_dof[dof]
        if tree.kind[i] in _WHOLE_JOINTS and dof < tree.first_dof[i] + 3:
            reach[k] = np.pi
    wide = is_angle & (upper - lower > 2.0 * np.pi)
    lower[wide], upper[wide] = np.maximum(lower[wide], -np.pi), np.minimum(upper[wide], np.pi)
    modal = coupling_of(skeleton).modal[dofs]  # searches begin without deformation
    lower[modal] = upper[modal] = np.clip(0.0, lower[modal], upper[modal])
    none, below, above = np.isinf(lower) & np.isinf(upper), np.isinf(upper), np.isinf(lower)
    lower, upper = (
        np.where(none, -reach, np.where(above, upper - 2.0 * reach, lower)),
        np.where(none, reach, np.where(below, lower + 2.0 * reach, upper)),
    )
    result = np.zeros((number, len(tree.body_of_dof)))
    if number == 0 or len(dofs) == 0:
        return result
    result[:, dofs] = lower + _even(len(dofs), number, seed) * (upper - lower)
    for i in sorted(set(tree.body_of_dof[dofs].tolist())):  # rotations: uniform, where nothing limits them
        first = int(tree.first_dof[i])
        own = np.arange(first, first + 3)
        if tree.kind[i] in _WHOLE_JOINTS and np.isin(own, dofs).all():
            if np.isinf(tree.lower[own]).all() and np.isinf(tree.upper[own]).all():
                rng = np.random.default_rng([seed, i])
                result[:, own] = scipy.spatial.transform.Rotation.random(number, rng=rng).as_rotvec()
    return result


def _whole(value: Any, what: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise StateError(f"{what}: expected a whole number from {least}, got {value!r}")
    return int(value)


class Settings:
    """How long a search may take, checked."""

    def __init__(
        self,
        attempts: Any,
        iterations: Any,
        max_iterations: Any,
        time_limit: Any,
        samples: Any,
        seed: Any,
        refine: Any,
    ) -> None:
        self.attempts = _whole(attempts, "attempts", 1)
        self.iterations = _whole(iterations, "iterations", 0)
        self.max_iterations = _whole(max_iterations, "max_iterations", 0)
        self.samples = _whole(samples, "samples", 0)
        self.seed = _whole(seed, "seed", 0)
        self.refine = as_flag(refine, "refine")
        self.time_limit = np.inf if time_limit is None else number_or_nan(time_limit)
        if not self.time_limit >= 0.0:
            raise StateError(f"time_limit: expected seconds or None, got {time_limit!r}")


class SearchArrays:
    """Containers of tasks, of the search and of the data that it works in, for one thread.

    Args:
        skeleton: compiled.
        tasks: with the targets of frames where they are now.
        dofs: active coordinates.
        settings: of the search.
        given: positions (n, dofs) to begin at before sampled ones.
        sampled: with the table of sampled positions; without it only the start and given ones are tried.
        like: arrays to share the table of seeds with.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        tasks: Sequence[Task],
        dofs: NDArray[np.int64],
        settings: Settings,
        given: Array,
        sampled: bool = True,
        like: SearchArrays | None = None,
    ):
        tree = tree_of(skeleton)
        self.tree = tree
        self.coupling = coupling_of(skeleton)
        self.coupling.limits(tree.lower, tree.upper, dofs)  # raises if there are none
        self.dofs = dofs
        self.dofs_of_skeleton = n = len(tree.body_of_dof)
        self.result = 1, n + search.REPORT
        self.shape = len(tasks), 4, 4
        self._made_from = skeleton, tuple(tasks), dofs, settings, given
        samples = settings.samples if settings.attempts > 1 + len(given) else 0
        self.is_complete = sampled or samples == 0
        self._seen = [(t.node, carrier_of(t.node)) for t in tasks if t.node is not None]
        self._made_of = [(t.kind, made) for t in tasks if (made := t.kind.made_of())]
        self.callbacks = [t.kind for t in tasks if isinstance(t.kind, CallbackKind)]
        self.tasks = compile_tasks(skeleton, tasks, dofs)
        self.data = data_for(tree)
        shared: dict[str, Any] = {}
        if like is None:
            table = sampled_positions(skeleton, dofs, samples if sampled else 0, settings.seed)
            for task in tasks:
                table = table[task.kind.admits(table)]
            shared["seed"] = np.ascontiguousarray(np.vstack([given, table]))
            shared["place"] = np.zeros((len(shared["seed"]), 12 * len(tasks)))
        else:
            shared["seed"], shared["place"] = like.work.seed, like.work.place
        whole = sorted({int(tree.body_of_dof[k]) for k in dofs if tree.kind[tree.body_of_dof[k]] in (BALL, FREE)})
        w = self.work = SEARCH(columns=len(dofs), dofs=n, joints=len(whole), seeds=len(shared["seed"]), **shared)
        w.tasks = self.tasks
        w.iterations, w.attempts, w.max_iterations = settings.iterations, settings.attempts, settings.max_iterations
        w.refinement = REFINEMENT if self.is_complete and settings.refine else 0
        w.given_seeds = len(given)
        w.seconds, w.min_decrease, w.stationary = settings.time_limit, MIN_DECREASE, STATIONARY
        w.damping, w.min_damping = SEARCH_DAMPING, MIN_SEARCH_DAMPING
        w.turning[:] = whole
        w.plain[:] = 1
        w.turns[:] = are_angles(skeleton)[dofs]
        w.turns[self.tasks.column[self.tasks.mimic[:, 0]]] = 0
        link_clock(w)
        w.search = search_callback
        if self.is_complete and all(t.kind.has_lanes for t in tasks):
            self._add_lanes()
        self.addresses = self.data.address, self.tasks.address, w.address
        if like is None and len(w.seed):
            place_seeds(tree.address, *self.addresses)

    def _add_lanes(self) -> None:
        """Room for eight descents side by side: attempts of a search, and first attempts of a batch's targets."""
        w = self.work
        samples, number = (0, 1) if JIT_DISABLED else (LANES, LANES)
        data: Any = data_for(self.tree, samples=samples)
        w.round, w.lanes_data = lanes_round, data
        w.attempt_lanes, w.attempt_numbers = self._lanes(samples, number)
        if not len(w.turning):  # rotations of lanes and of numbers may differ in the last digit
            w.target_lanes, w.target_numbers = self._lanes(samples, number)

    def _lanes(self, samples: int, number: int) -> tuple[IK_LANES, LANE_NUMBERS]:
        """Descents side by side, as lanes and as numbers."""
        tasks, n = self.tasks, self.dofs_of_skeleton
        sizes = {"columns": len(self.dofs), "rows": len(tasks.e), "targets": len(tasks.framed), "poses": 12}
        lanes = IK_LANES(samples=samples, positions=n, **sizes)
        lanes.tasks = tasks
        lanes.flex = in_lanes(tasks.flex, samples)
        shared = {f: getattr(lanes, f).reshape(-1) for f in LANE_NUMBERS.arrays if f in IK_LANES.arrays}
        shared["target"] = lanes.target.reshape(len(tasks.framed), 12 * number)
        return lanes, LANE_NUMBERS(lanes=number, pasts=EARLY * number, past_numbers=2 + n, **shared)

    def completed(self) -> SearchArrays:
        """The same with the table of sampled positions."""
        return self if self.is_complete else SearchArrays(*self._made_from)

    def seeds_near(self, X: Array | None, number: int) -> Array:
        """Of the table those (samples, number, dofs) whose poses are nearest to targets X (samples, tasks, 4, 4)."""
        w, s = self.work, self.tasks
        table, number = w.seed[w.given_seeds :], min(number, len(w.seed) - w.given_seeds)
        if X is None or not s.seeded.any():
            return np.tile(table[:number], (1 if X is None else len(X), 1, 1))
        near = np.zeros((len(X), number), np.int64)
        if number:
            place = np.ascontiguousarray(w.place[w.given_seeds :])
            aims = np.ascontiguousarray(X[:, :, :3].reshape(len(X), -1, 12))
            tasks = np.flatnonzero(s.seeded).astype(np.int64)
            nearest_poses(place, aims, tasks, np.zeros(len(table)), np.zeros(number), near)
        return table[near]

    def twin(self) -> SearchArrays:
        """Arrays for another thread, which share the table of seeds."""
        return SearchArrays(*self._made_from, like=self)

    def is_outdated(self, skeleton: Skeleton) -> bool:
        """Whether the skeleton is built anew, or its coordinates may follow each other in another way."""
        state = skeleton.current_state  # this is asked at each solve, so without calls
        return self._have_moved() or self.tree is not state.tree or state.selections.get(KEY) is not self.coupling

    def still_fit(self, skeleton: Skeleton) -> bool:
        """Whether they are for the skeleton as it is, though properties have changed.

        Raises:
            StateError: limits of coordinates that follow leave none to those that they follow.
        """
        now = coupling_of(skeleton)
        if self.tree is not tree_of(skeleton) or not now.is_like(self.coupling) or self._have_moved():
            return False
        if now is not self.coupling and len(now.mimics):
            now.limits(self.tree.lower, self.tree.upper, self.dofs)
        self.coupling = now
        return True

    def _have_moved(self) -> bool:
        """Whether a node is no longer where it was on its body, or on another body, or a task is about other things."""
        for kind, made in self._made_of:
            if any(a is not b for a, b in zip(made, kind.made_of(), strict=True)):
                return True
        for node, (body, pose) in self._seen:
            now, there = node._carrier
            moved = there is not pose and not (there is not None and pose is not None and np.array_equal(there, pose))
            if now is not body or moved:
                return True
        return False

    def follow_targets(self, skeleton: Skeleton) -> Array:
        """Bring targets that are frames to where they are; returns no targets to take."""
        for k, task in enumerate(self._made_from[1]):
            base, X = place_of_target(skeleton, task.target)
            self.tasks.base[k], self.tasks.target[k] = base, X[:3].ravel()
        return _NONE
