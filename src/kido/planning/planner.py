"""Planning of motions between states: `RRTConnect`, what it is asked and what it answers."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import StateError
from kido.jit import JIT_DISABLED, LANES
from kido.planning.arguments import as_above_zero, as_ends, as_whole, numbers, positive
from kido.planning.checker import LIMIT_SLACK, CollisionChecker, Contact
from kido.planning.errors import GoalError, NoPathError, StartError
from kido.planning.growth import CONNECTED, FULL, NO_SAMPLES, NOT_FINITE, REFUSED, begin_search, grow_trees
from kido.planning.path import Path
from kido.planning.samples import Samples, sampling_bounds
from kido.planning.tables import NODES, RRT
from kido.turns import in_turn

Array = NDArray[np.float64]
FIRST_TABLE, NEXT_TABLE = 12, 14  # powers of two of samples
CHUNK = 512  # iterations between looks at the clock


class Problem:
    """A start and goals that were looked at.

    Raises:
        StateError: numbers that are not finite or of another shape.
        StartError, GoalError: states outside of limits, or that touch something.
    """

    def __init__(self, checker: CollisionChecker, start: ArrayLike, goals: ArrayLike):
        states = as_ends(start, goals, checker.num_dofs)
        good = checker.states_are_good(states)
        if not (good[0] and good[1:].any()):
            raise refusal(checker, states, good)
        self.start, self.goals = states[:1], states[1:][good[1:]]


def refusal(checker: CollisionChecker, states: Array, good: Any) -> StartError:
    """What is said of a start and goals (1 + m, n) of which some are not `good` (1 + m,), to be raised."""
    if not good[0]:
        message, contact = _fault(checker, states[0])
        return StartError(f"start: {message}", contact)
    message, contact = _fault(checker, states[1])
    more = f" (and {len(states) - 2} more goals are no better)" if len(states) > 2 else ""
    return GoalError(f"goal: {message}{more}", contact)


def _fault(checker: CollisionChecker, state: Array) -> tuple[str, Contact | None]:
    """What is wrong with a state, and what touches in it, if that is it."""
    lower, upper = checker.limits
    for name, q, low, high in zip(checker.dof_names, state, lower, upper, strict=True):
        if not low - LIMIT_SLACK <= q <= high + LIMIT_SLACK:
            return f"{name!r} is {q:.6g}; expected {low:.6g} to {high:.6g}", None
    contact = checker.contact(state)
    return str(contact), contact


class RRTConnect(FixedAttributes):
    """Two trees of states that grow towards each other until they meet (RRT-Connect), in compiled code.

    The same seed gives the same path, bit for bit.

    Args:
        checker: what is free.
        step: longest edge of a tree [rad or m].
        seed: of the samples.
        max_nodes: of each tree.

    Source: Kuffner and LaValle, "RRT-Connect: an efficient approach to single-query path planning", ICRA 2000, with
    domains of nodes by Jaillet et al., IROS 2005.
    """

    def __init__(self, checker: CollisionChecker, step: float = 1.0, seed: int = 0, max_nodes: int = 100_000):
        if not isinstance(checker, CollisionChecker):
            raise StateError(f"checker: expected a kido.planning.CollisionChecker, got {checker!r}")
        step = positive(step, "step")
        self.checker, self.turn, self.seed = checker, checker.turn, as_whole(seed, "seed", 0)
        most = as_whole(max_nodes, "max_nodes", 1)
        self._space = None if checker.space.is_flat else checker.space
        self._loose = checker.limits[0] - LIMIT_SLACK, checker.limits[1] + LIMIT_SLACK
        lower, upper = sampling_bounds(checker)
        self._samples = Samples(checker, self.seed)
        self._first = self._samples.take(FIRST_TABLE)
        n = len(lower)
        samples, lanes = (0, 1) if JIT_DISABLED else (LANES, LANES)
        self._reserve = int(np.linalg.norm(upper - lower) / step) + 2
        blocks = -(-(most + self._reserve) // lanes)
        nodes = NODES(samples=samples, blocks=2 * blocks, columns=n)
        every = 2 * blocks * lanes
        self._parts = {
            "parent": np.zeros(every, np.int64),
            "domain": np.zeros(every),
            "node": nodes.node.reshape(-1),
            "best": nodes.best.reshape(-1),
            "path": np.zeros((every, n)),
        }
        self._nodes, self._step = nodes, step
        self._rrt = self._table(self._first)
        self._compile()

    def _table(self, table: Array, like: RRT | None = None) -> RRT:
        made = RRT(columns=table.shape[1], table=table, **self._parts)
        made.nodes, made.step, made.reserve = self._nodes, self._step, self._reserve
        if like is not None:
            made.count[:] = like.count
            made.grown = like.grown
        made.edge = self.checker.edge_table
        return made

    def _compile(self) -> None:
        """Have compiled what searches, so that no search takes that long."""
        self._rrt.edge = self.checker.edge_table
        nothing, good = np.full((1, len(self._rrt.x)), np.nan), np.zeros(1, np.int64)
        begin_search(self._rrt.address, *self._loose, nothing, good, 0)
        grow_trees(self._rrt.address, 0)

    @in_turn
    def plan(
        self, start: ArrayLike, goals: ArrayLike, max_seconds: float = 10.0, max_iterations: int | None = None
    ) -> Path:
        """A path from the start to one of the goals.

        Args:
            start: state (planned dofs,).
            goals: state, or states (n, planned dofs).
            max_seconds: time after which the search is given up; Ctrl-C ends it at any time.
            max_iterations: samples after which it is given up; None: any number.

        Raises:
            StateError: numbers that are not finite or of another shape.
            StartError, GoalError: states outside of limits, or that touch something.
            NoPathError: no path was found.
        """
        began = perf_counter()
        most = as_above_zero(max_seconds, "max_seconds")
        left = math.inf if max_iterations is None else as_whole(max_iterations, "max_iterations", 0)
        rrt, edge = self._rrt, self.checker.edge_table
        if rrt.edge is not edge:
            rrt.edge = edge
        states, before = as_ends(start, goals, len(rrt.x)), edge.states
        good = np.empty(len(states), np.int64)
        status = begin_search(rrt.address, *self._loose, states, good, int(min(CHUNK, left)))
        if status == NOT_FINITE:
            numbers(states, "start, goals")
        if status == REFUSED:
            raise refusal(self.checker, states, good)
        samples, made = None, 0
        while status != CONNECTED:
            left, made = left - (rrt.grown - made), rrt.grown
            seconds = perf_counter() - began
            if status == FULL or left <= 0 or seconds >= most:
                why = f"{rrt.count[0]} and {rrt.count[1]} nodes" if status == FULL else f"{seconds:.3g} s"
                raise NoPathError(f"no path was found within {why} and {rrt.grown} iterations")
            if status == NO_SAMPLES:
                if samples is None:
                    samples = Samples(self.checker, self.seed)
                    samples.take(FIRST_TABLE)
                rrt = self._table(samples.take(NEXT_TABLE), rrt)
            status = grow_trees(rrt.address, int(min(CHUNK, left)))
        found = rrt.path[: rrt.waypoints].copy()
        found[0] = states[0]  # circles are within a turn in trees
        count = (edge.states - before) * (1 if JIT_DISABLED else LANES)
        return Path(found, self.checker.dof_names, perf_counter() - began, rrt.grown, count, self._space)
