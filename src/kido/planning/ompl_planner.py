"""The planners of OMPL, the Open Motion Planning Library, with KIDO's checks of states and edges (extra `ompl`)."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from kido.attributes import FixedAttributes
from kido.errors import NameLookupError, StateError
from kido.libraries import library
from kido.planning.arguments import positive
from kido.planning.checker import CollisionChecker
from kido.planning.errors import NoPathError
from kido.planning.path import Path
from kido.planning.planner import Problem
from kido.planning.samples import sampling_bounds
from kido.planning.space import CIRCLE, LINE

Array = NDArray[np.float64]


class OmplPlanner(FixedAttributes):
    """A planner of OMPL by its name. OMPL asks for one state or edge at a time, through Python.

    Args:
        checker: what is free; with `certified`, edges are as a whole.
        planner: name of one of `ompl.geometric`: "RRTConnect", "PRM", "RRTstar", "BITstar", "KPIECE1", ...
        step: longest edge, where the planner has a `range`; None: OMPL's own choice.

    Raises:
        MissingExtraError: OMPL is not installed (`pip install kido[ompl]`).
        NameLookupError: it has no such planner.

    Source: Sucan, Moll and Kavraki, "The Open Motion Planning Library", IEEE Robotics & Automation Magazine 19 (2012).
    """

    def __init__(self, checker: CollisionChecker, planner: str = "RRTConnect", step: float | None = None):
        if not isinstance(checker, CollisionChecker):
            raise StateError(f"checker: expected a kido.planning.CollisionChecker, got {checker!r}")
        rooms = ("base", "geometric", "util")
        self._base, self._geometric, self._util = (
            library(f"ompl.{room}", "planners of OMPL", "ompl") for room in rooms
        )
        names = [
            name
            for name, kind in vars(self._geometric).items()
            if isinstance(kind, type) and issubclass(kind, self._base.Planner)
        ]
        if planner not in names:
            raise NameLookupError("planner of OMPL", planner, sorted(names))
        self.checker, self.planner = checker, planner
        self._step = None if step is None else positive(step, "step")

    def plan(self, start: ArrayLike, goals: ArrayLike, max_seconds: float = 10.0) -> Path:
        """A path from the start to one of the goals; planners that optimize use all of the time.

        Args:
            start: state (planned dofs,).
            goals: state, or states (n, planned dofs).
            max_seconds: time after which the search is given up.

        Raises:
            StateError, StartError, GoalError, NoPathError: as `RRTConnect.plan`.
        """
        max_seconds = positive(max_seconds, "max_seconds")
        began = perf_counter()
        problem, checker, base = Problem(self.checker, start, goals), self.checker, self._base
        edge, states = checker.edge_table, _States(checker, base)
        space, numbers = states.space, states.numbers
        setup, before = self._geometric.SimpleSetup(space), edge.states
        information = setup.getSpaceInformation()

        class Motions(base.MotionValidator):
            def checkMotion(self, first: Any, second: Any, *more: Any) -> bool:
                return checker.edge_is_free(numbers(first), numbers(second))

        motions = Motions(information)
        information.setMotionValidator(motions)
        setup.setStateValidityChecker(lambda state: checker.is_free(numbers(state)))
        setup.setStartState(states.made(problem.start[0]))
        goal = base.GoalStates(information)
        for state in problem.goals:
            goal.addState(states.made(state))
        setup.setGoal(goal)
        planner = getattr(self._geometric, self.planner)(information)
        if self._step is not None and hasattr(planner, "setRange"):
            planner.setRange(self._step)
        setup.setPlanner(planner)
        level = self._util.getLogLevel()
        self._util.setLogLevel(self._util.LogLevel.LOG_ERROR)
        try:
            setup.solve(max_seconds)
        finally:
            self._util.setLogLevel(level)
        if not setup.haveExactSolutionPath():
            raise NoPathError(f"{self.planner} of OMPL found no path within {perf_counter() - began:.3g} s")
        found = np.array([numbers(state) for state in setup.getSolutionPath().getStates()])
        found[0] = problem.start[0]  # circles of OMPL are within a turn
        return Path(found, checker.dof_names, perf_counter() - began, 0, edge.states - before, checker.space)


class _States:
    """A space of OMPL like a checker's: of lines alone, or these with a space for each circle and each rotation."""

    def __init__(self, checker: CollisionChecker, base: Any):
        kind = checker.space.kind
        self._flat = checker.space.is_flat
        self._lines, self._circles = np.flatnonzero(kind == LINE), np.flatnonzero(kind == CIRCLE)
        self._rotations, self._bent = checker.space.rotations, int(len(self._lines) > 0)  # where other parts begin
        low, high = sampling_bounds(checker)
        bounds = base.RealVectorBounds(len(self._lines))
        for k, line in enumerate(self._lines):
            bounds.setLow(k, float(low[line]))
            bounds.setHigh(k, float(high[line]))
        lines = base.RealVectorStateSpace(len(self._lines))
        lines.setBounds(bounds)
        self.space = lines
        if not self._flat:
            self.space = base.CompoundStateSpace()
            bent = [base.SO2StateSpace() for _ in self._circles] + [base.SO3StateSpace() for _ in self._rotations]
            for part in ([lines] * self._bent) + bent:
                self.space.addSubspace(part, 1.0)

    def made(self, q: Array) -> Any:
        """A state of OMPL."""
        state = self.space.allocState()
        for k, line in enumerate(self._lines):
            (state if self._flat else state[0])[k] = float(q[line])
        for k, circle in enumerate(self._circles, start=self._bent):
            state[k].value = float(np.remainder(q[circle] + np.pi, 2.0 * np.pi) - np.pi)
        for k, at in enumerate(self._rotations, start=self._bent + len(self._circles)):
            one = state[k]
            one.x, one.y, one.z, one.w = Rotation.from_rotvec(q[at]).as_quat().tolist()
        return state

    def numbers(self, state: Any) -> Array:
        """A state of the checker."""
        q = np.empty(len(self._lines) + len(self._circles) + 3 * len(self._rotations))
        for k, line in enumerate(self._lines):
            q[line] = (state if self._flat else state[0])[k]
        for k, circle in enumerate(self._circles, start=self._bent):
            q[circle] = state[k].value
        for k, at in enumerate(self._rotations, start=self._bent + len(self._circles)):
            one = state[k]
            q[at] = Rotation.from_quat([one.x, one.y, one.z, one.w]).as_rotvec()
        return q
