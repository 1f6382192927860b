"""Planners on graphs of states: `PRM`, whose roadmap serves many queries, `AITStar`, whose paths become shortest."""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import StateError
from kido.jit import JIT_DISABLED, LANES
from kido.planning.arguments import Clock, as_whole
from kido.planning.checker import CollisionChecker
from kido.planning.errors import NoPathError
from kido.planning.path import Path
from kido.planning.planner import Problem
from kido.planning.roadmap import AGAIN, add_nodes, cut, search
from kido.planning.samples import Samples, sampling_bounds
from kido.planning.shortening import shortened
from kido.planning.tables import ROADMAP
from kido.turns import in_turn

Array = NDArray[np.float64]
BATCH = 8  # samples that a roadmap grows by, as a power of two
NEIGHBOURS = 1.1 * math.e  # times 1 + 1 / dimension and the logarithm of how many nodes there are
SHARE = 4  # of the nodes there are, one in so many edges may be refused before a search begins anew
FEWEST = 16  # but not fewer
NEAR = -4.0, -1.0  # powers of ten, of the path's length, that samples near a path are away from its states
ROUNDS = 4  # batches of an ellipsoid of which those are taken that are within limits
CUTS = 200  # shortcuts that are tried on a path that is shorter than those before


class Roadmap:
    """A ROADMAP of a checker's states, with room for so many nodes."""

    def __init__(self, checker: CollisionChecker, most: int):
        self.checker, n = checker, checker.num_dofs
        self._factor = NEIGHBOURS * (1.0 + 1.0 / n)
        widest = self.neighbours(most)
        links = 2 * most * widest
        self.table = ROADMAP(nodes=most, columns=n, links=links, heap=links + most, most=widest)
        self.clear()

    def clear(self) -> None:
        """Forget all nodes."""
        cut(self.table.address, 0)
        self.table.edge, self.version = self.checker.edge_table, self.checker.version

    def neighbours(self, nodes: int) -> int:
        """With how many others a node is joined."""
        return math.ceil(self._factor * math.log(nodes + 1)) + 1

    def add(self, states: Array, first: int = 0) -> bool:
        """Add states that are free, joined with their nearest from node `first` on; returns whether there was room."""
        most = min(len(self.table.near), self.neighbours(self.table.count + len(states)))
        return add_nodes(self.table.address, states, first, most) == len(states)

    def shortest(self, start: int, goal: int, goals: int, bound: float, clock: Clock) -> Array | None:
        """The shortest path (n, columns) from a node to one of some goals; None: there is none below a bound.

        Raises:
            NoPathError: time is up, and it is not known.
        """
        table = self.table
        while True:
            most = max(FEWEST, table.count // SHARE)
            found = search(table.address, start, goal, goals, bound, most)
            if found != AGAIN:
                break
            clock.look(table.count)
        if found < 0:
            return None
        nodes = [found]
        while nodes[-1] != start:
            nodes.append(int(table.to[table.via[nodes[-1]] ^ 1]))
        return table.node[nodes[::-1]].copy()


class PRM(FixedAttributes):
    """A roadmap of free states, kept from query to query (lazy PRM*).

    Edges are checked when a path needs them, once. A query that the roadmap does not answer has it grow. What changes
    in the checker, obstacles or what is carried, has it begin anew. The same queries give the same paths, bit for bit.

    Args:
        checker: what is free.
        nodes: states that are sampled before the first query; those that are free become nodes.
        seed: of the samples.
        max_nodes: at most.

    Sources: Kavraki, Svestka, Latombe and Overmars, "Probabilistic roadmaps for path planning in high-dimensional
    configuration spaces", IEEE Transactions on Robotics and Automation 12 (1996); Bohlin and Kavraki, "Path planning
    using lazy PRM", ICRA 2000.
    """

    def __init__(self, checker: CollisionChecker, nodes: int = 1024, seed: int = 0, max_nodes: int = 20_000):
        if not isinstance(checker, CollisionChecker):
            raise StateError(f"checker: expected a kido.planning.CollisionChecker, got {checker!r}")
        self.checker, self.turn, self._nodes = checker, checker.turn, as_whole(nodes, "nodes", 1)
        self.seed, most = as_whole(seed, "seed", 0), as_whole(max_nodes, "max_nodes", 1)
        self._roadmap = Roadmap(checker, most)
        self._samples = Samples(checker, self.seed)
        self._taken = 0

    @property
    def num_nodes(self) -> int:
        """States of the roadmap."""
        return self._roadmap.table.count

    @in_turn
    def grow(self, samples: int) -> None:
        """Take so many samples more, or some more than that; the free ones become nodes.

        Raises:
            StateError: samples that are no whole number.
            NoPathError: there is no room for them.
        """
        self._look()
        wanted = self._taken + as_whole(samples, "samples", 1)
        while self._taken < wanted:
            states = self._samples.take(BATCH)
            self._taken += len(states)
            if not self._roadmap.add(states[self.checker.states_are_free(states)]):
                raise NoPathError(f"the roadmap is full: {self.num_nodes} nodes")

    def _look(self) -> None:
        """Begin anew if the checker has changed."""
        if self._roadmap.version != self.checker.version:
            self._roadmap.clear()
            self._samples, self._taken = Samples(self.checker, self.seed), 0

    @in_turn
    def plan(self, start: ArrayLike, goals: ArrayLike, max_seconds: float = 10.0) -> Path:
        """The shortest path on the roadmap from the start to one of the goals, which are joined to it for the query.

        Raises:
            StateError, StartError, GoalError, NoPathError: as `RRTConnect.plan`.
        """
        clock, checker = Clock(max_seconds), self.checker
        problem = Problem(checker, start, goals)
        self._look()
        before, rounds = checker.edge_table.states, 0
        if self._taken == 0:
            self.grow(self._nodes)
        while True:
            kept, ends = self.num_nodes, np.concatenate([problem.start, problem.goals])
            try:
                states = None
                if self._roadmap.add(ends):
                    states = self._roadmap.shortest(kept, kept + 1, len(ends) - 1, math.inf, clock)
            finally:
                cut(self._roadmap.table.address, kept)
            rounds += 1
            if states is not None:
                return _path(checker, states, clock, rounds, before)
            clock.look(self.num_nodes)
            self.grow(max(1, self._taken))


class AITStar(FixedAttributes):
    """Paths that become shorter until time is up, with the shortest as their limit (AIT*).

    Batches of samples, of which those are left out that cannot be on a shorter path, are joined with their nearest; in
    the graph the shortest path is found, with checks of few edges. Shortcuts make it shorter still; its states are
    nodes from then on, and every other sample is near one of them. The same seed gives the same paths, bit for bit.

    Args:
        checker: what is free.
        batch: samples to be added at a time.
        seed: of the samples.
        max_nodes: at most.

    Source: Strub and Gammell, "Adaptively Informed Trees (AIT*): fast asymptotically optimal path planning through
    adaptive heuristics", ICRA 2020; samples within an ellipsoid: Gammell, Srinivasa and Barfoot, "Informed RRT*", IROS
    2014; near a path: Islam et al., "RRT*-Smart: a rapid convergence implementation of RRT*", ICMA 2012.
    """

    def __init__(self, checker: CollisionChecker, batch: int = 128, seed: int = 0, max_nodes: int = 20_000):
        if not isinstance(checker, CollisionChecker):
            raise StateError(f"checker: expected a kido.planning.CollisionChecker, got {checker!r}")
        self.checker, self.turn, self.batch = checker, checker.turn, as_whole(batch, "batch", 1)
        self.seed, most = as_whole(seed, "seed", 0), as_whole(max_nodes, "max_nodes", 2)
        self._roadmap = Roadmap(checker, most)

    @in_turn
    def plan(
        self,
        start: ArrayLike,
        goals: ArrayLike,
        max_seconds: float = 1.0,
        max_batches: int | None = None,
        tolerance: float = 0.0,
    ) -> Path:
        """The shortest path that is found in time; `costs` are lengths after each batch, which never grow.

        Args:
            start: state (planned dofs,).
            goals: state, or states (n, planned dofs).
            max_seconds: time to be used.
            max_batches: after so many it ends as well; None: any number.
            tolerance: it also ends when the length is within this share of a straight line's.

        Raises:
            StateError, StartError, GoalError, NoPathError: as `RRTConnect.plan`.
        """
        clock = Clock(max_seconds)
        left = math.inf if max_batches is None else as_whole(max_batches, "max_batches", 1)
        problem, checker, roadmap = Problem(self.checker, start, goals), self.checker, self._roadmap
        before, goal = checker.edge_table.states, problem.goals
        roadmap.clear()
        ends = np.concatenate([problem.start, goal])
        if not roadmap.add(ends):
            raise NoPathError(
                f"no path was found: {len(ends)} ends are more than max_nodes = {len(roadmap.table.head)} hold"
            )
        straight = checker.space.distances(problem.start, goal)
        samples = Informed(checker, problem.start[0], goal, self.seed)
        best: Path | None = None
        costs = [math.inf]
        try:
            while True:
                found = roadmap.shortest(0, 1, len(goal), costs[-1], clock)
                if found is not None:
                    way = Path(found, checker.dof_names, space=checker.space)
                    short = shortened(checker, way, CUTS, self.seed + len(costs), CUTS)
                    best = short if short.length < way.length else way
                costs.append(costs[-1] if best is None else min(costs[-1], best.length))
                if costs[-1] <= (1.0 + tolerance) * straight.min() or len(costs) > left:
                    break
                clock.look(roadmap.table.count)
                states = samples.take(self.batch, costs[-1])
                if best is not None:
                    states[::2] = samples.near(best, len(states[::2]))
                states = states[checker.states_are_free(states)]
                if found is not None and best is not None:
                    states = np.concatenate([best.states[1:-1], states])
                if not roadmap.add(states):
                    break
        except NoPathError:  # time is up
            if best is None:
                raise
        if best is None:
            raise NoPathError(f"no path was found on {roadmap.table.count} nodes")
        path = _path(checker, best.states, clock, len(costs) - 1, before)
        path.costs = np.array(costs[1:])
        return path


class Informed:
    """Samples that can be on a path shorter than one that is known."""

    def __init__(self, checker: CollisionChecker, start: Array, goals: Array, seed: int):
        self._start, self._goals, self._space = start, goals, checker.space
        self._bounds = sampling_bounds(checker)
        self._samples = Samples(checker, seed)
        self._rng = np.random.default_rng(seed)
        self._left = np.zeros((0, len(start)))

    def take(self, number: int, best: float) -> Array:
        """States (number, n) within limits; with |x - start| + |x - goal| < best for some goal.

        It may be fewer: where next to none of these are within limits, or not all coordinates are lines.
        """
        if not math.isfinite(best):
            while len(self._left) < number:
                self._left = np.concatenate([self._left, self._samples.take(BATCH)])
            taken, self._left = self._left[:number], self._left[number:]
            return taken
        if not self._space.is_flat:
            x = self._samples.take(BATCH)
            ahead = self._space.distances(x[:, None], self._goals).min(axis=1)
            return x[self._space.distances(self._start, x) + ahead < best][:number]
        (lower, upper), found = self._bounds, np.zeros((0, len(self._start)))
        for _ in range(ROUNDS):
            x = self._in_ellipsoid(number, best)
            found = np.concatenate([found, x[((x >= lower) & (x <= upper)).all(axis=1)]])
        return found[:number]

    def near(self, path: Path, number: int) -> Array:
        """States (number, n) within limits, near the inner states of a path, or its ends where there are none."""
        states = path.states[1:-1] if len(path) > 2 else path.states
        x = self._rng.normal(size=(number, states.shape[1]))
        x *= (path.length * 10.0 ** self._rng.uniform(*NEAR, number) / np.linalg.norm(x, axis=1))[:, None]
        return np.clip(self._space.at(states[self._rng.integers(len(states), size=number)], x), *self._bounds)

    def _in_ellipsoid(self, number: int, best: float) -> Array:
        near = np.flatnonzero(np.linalg.norm(self._goals - self._start, axis=1) < best)
        goal, n = self._goals[near[self._rng.integers(len(near))]], len(self._start)
        way = goal - self._start
        length = float(np.linalg.norm(way))
        axes = np.linalg.qr(np.column_stack([way, np.eye(n)]))[0][:, :n]
        radii = np.full(n, 0.5 * math.sqrt(best * best - length * length))
        radii[0] = 0.5 * best
        x = self._rng.normal(size=(number, n))
        x *= (self._rng.random(number) ** (1.0 / n) / np.linalg.norm(x, axis=1))[:, None]
        return 0.5 * (self._start + goal) + (x * radii) @ axes.T


def _path(checker: CollisionChecker, states: Array, clock: Clock, rounds: int, before: int) -> Path:
    count = (checker.edge_table.states - before) * (1 if JIT_DISABLED else LANES)
    return Path(states, checker.dof_names, perf_counter() - clock.began, rounds, count, checker.space)
