"""Motions on a manifold: a hand kept upright, a tool on a surface, an object held by two arms."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import StateError
from kido.ik import IkSolver
from kido.planning.arguments import as_above_zero, as_whole, positive
from kido.planning.checker import CollisionChecker
from kido.planning.errors import GoalError, NoPathError, StartError
from kido.planning.path import Path
from kido.planning.planner import Problem
from kido.planning.samples import Samples
from kido.planning.space import Space

Array = NDArray[np.float64]
STRETCH = 2.0  # longest way of a projection, in steps
PROGRESS = 0.1  # share of a step that must bring a tree nearer to where it grows
OFF = 1e-5  # how far a start or goal may be from its projection [rad or m]
TABLE = 8  # samples taken at a time, as a power of two
SHORTCUTS = 40  # that are tried when a path is found


class ConstrainedRRTConnect(FixedAttributes):
    """Two trees on the manifold where tasks of inverse kinematics are met (CBiRRT).

    Trees grow in short steps, each brought back to the manifold by the solver from where it went; so all states of a
    path meet the tasks within the solver's tolerance, and between two of them they are missed by no more than some
    share of the step squared. Tasks may be poses with bounds (task-space regions) or relate bodies to each other: a
    task whose target is a frame on another body closes a loop.

    Args:
        checker: what is free.
        solver: whose tasks, with targets of their own, hold all the time; best made with `attempts=1` and the planned
            coordinates as `dofs`.
        step: of growth [rad or m].
        seed: of the samples; the same one gives the same path.

    Raises:
        StateError: a solver of another skeleton, or that moves coordinates that are not planned; a step that is none.

    Source: Berenson, Srinivasa, Ferguson and Kuffner, "Manipulation planning on constraint manifolds", ICRA 2009.
    """

    def __init__(self, checker: CollisionChecker, solver: IkSolver, step: float = 0.1, seed: int = 0):
        if not isinstance(solver, IkSolver) or solver.skeleton is not checker.skeleton:
            raise StateError(f"solver: expected an IkSolver of skeleton {checker.skeleton.name!r}, got {solver!r}")
        if not set(solver.dofs.tolist()) <= set(checker.columns.tolist()):
            raise StateError(f"solver: it moves coordinates that are not planned; planned are {checker.dof_names}")
        self.checker, self.solver = checker, solver
        self.step, self.seed = positive(step, "step"), as_whole(seed, "seed", 0)

    def project(self, state: ArrayLike) -> Array | None:
        """The state on the manifold that the solver finds from a state; None: it finds none."""
        q = self.checker.held_positions
        q[self.checker.columns] = state
        found = self.solver.solve(start=q)
        return np.asarray(found.positions)[self.checker.columns] if found else None

    def plan(self, start: ArrayLike, goals: ArrayLike, max_seconds: float = 10.0) -> Path:
        """A path on the manifold from the start to one of the goals, which lie on it; shortened.

        Raises:
            StateError, NoPathError: as `RRTConnect.plan`.
            StartError, GoalError: the same, and states that are not on the manifold.
        """
        max_seconds = as_above_zero(max_seconds, "max_seconds")
        began, problem, checker = perf_counter(), Problem(self.checker, start, goals), self.checker
        for states, kind, what in ((problem.start, StartError, "start"), (problem.goals, GoalError, "goal")):
            for state in states:
                there = self.project(state)
                if there is None or np.abs(checker.space.ways(there, state)).max() > OFF:
                    raise kind(
                        f"{what}: {state.round(6).tolist()} does not meet the solver's tasks; `project` it first"
                    )
        samples, before, iterations = Samples(checker, self.seed), checker.edge_table.states, 0
        trees = (_Tree(problem.start, checker.space), _Tree(problem.goals, checker.space))
        table = samples.take(TABLE)
        a, b = trees
        while perf_counter() - began < max_seconds:
            if iterations and iterations % len(table) == 0:
                table = samples.take(TABLE)
            node, _ = self._grow(a, a.nearest(table[iterations % len(table)]), table[iterations % len(table)])
            other, there = self._grow(b, b.nearest(a.states[node]), a.states[node])
            iterations += 1
            if there:
                ways = {id(a): a.way_to(node), id(b): b.way_to(other)}
                forth, back = ways[id(trees[0])], ways[id(trees[1])]
                states = self._shortened(np.array([*forth, *back[::-1][1:]]))
                count = checker.edge_table.states - before
                return Path(states, checker.dof_names, perf_counter() - began, iterations, count, checker.space)
            a, b = b, a
        raise NoPathError(f"no path was found within {max_seconds:g} s and {iterations} iterations")

    def _grow(self, tree: _Tree, node: int, target: Array) -> tuple[int, bool]:
        """Have a tree grow from a node as near to a target as it comes; its last node, and whether it got there."""
        space = self.checker.space
        while True:
            at = tree.states[node]
            way = space.ways(at, target)
            left = float(np.linalg.norm(way))
            if left <= 1e-12:
                return node, True
            final = left <= self.step
            new = self.project(target if final else space.at(at, way, self.step / left))
            if new is None or space.distances(at, new) > STRETCH * self.step:
                return node, False
            rest = float(space.distances(new, target))
            if rest > left - PROGRESS * min(self.step, left) or not self._may_go(at, new):
                return node, False
            if final and rest <= OFF:
                new = target
            node = tree.add(new, node)

    def _may_go(self, start: Array, end: Array) -> bool:
        lower, upper = self.checker.limits
        inside = bool(((end >= lower) & (end <= upper)).all())
        return inside and self.checker.edge_is_free(start, end)

    def _shortened(self, states: Array) -> Array:
        """Shortcuts on the manifold between random states of a path."""
        rng = np.random.default_rng(self.seed)
        for _ in range(SHORTCUTS):
            if len(states) < 3:
                break
            i, j = np.sort(rng.choice(len(states), 2, replace=False))
            tree = _Tree(states[i : i + 1], self.checker.space)
            node, there = self._grow(tree, 0, states[j])
            short = np.array(tree.way_to(node))
            if there and self._length(short) < self._length(states[i : j + 1]):
                states = np.concatenate([states[:i], short, states[j + 1 :]])
        return states

    def _length(self, states: Array) -> float:
        return float(self.checker.space.distances(states[:-1], states[1:]).sum())


class _Tree:
    """States, and from which each was reached."""

    def __init__(self, roots: Array, space: Space):
        self._space = space
        self.states, self._parents = [np.array(root) for root in roots], [-1] * len(roots)
        self._rows = np.array(roots)

    def add(self, state: Array, parent: int) -> int:
        n = len(self.states)
        if n == len(self._rows):
            self._rows = np.concatenate([self._rows, np.full_like(self._rows, np.inf)])
        self._rows[n] = state
        self.states.append(state)
        self._parents.append(parent)
        return n

    def nearest(self, state: Array) -> int:
        rows = self._rows[: len(self.states)]
        return int(self._space.distances(rows, state).argmin())

    def way_to(self, node: int) -> list[Array]:
        found = []
        while node >= 0:
            found.append(self.states[node])
            node = self._parents[node]
        return found[::-1]
